"""lm-evaluation-harness: the samples of a run (``--log_samples``). The model is the worker, and its reply the answer.

Field names: https://github.com/EleutherAI/lm-evaluation-harness/blob/main/docs/interface.md; seen in files of version
0.4.13 (``make_samples.py``). Each file is of one model, which only the name of its folder states. All files of a folder
are read. If files were concatenated, each line must have a field ``model``.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import numpy as np

from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import UNPARSED, Verdict, first_of, judged
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.options import ReadOptions

# The fields of a sample that are read here.
SAMPLE = {
    **dict.fromkeys(("doc_id", "filter", "model", "model_name", "task_name"), VALUE),
    "doc": Either(Each(ANYTHING), VALUE),
    "filtered_resps": Either([ANYTHING], VALUE),
}
FILE = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT")
INVALID = "[invalid]"  # result of a filter that finds no answer


def _recognise(content: Content) -> bool:
    return content.layout == "records" and {"doc_id", "filtered_resps"} <= set(content.fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, SAMPLE, "lm-evaluation-harness", "sample")
    return judged("lm-eval", content, reading, list(_verdicts(content, reading)))


FORMAT = Format(
    "lm-eval",
    "lm-evaluation-harness samples: JSON lines, or the folder of a run",
    "lines with 'doc_id' and 'filtered_resps'",
    _recognise,
    _read,
)


def _verdicts(content: Content, reading: ReadOptions) -> Iterator[Verdict]:
    benchmarks = [_task_name(sample, content.name) for sample in content.records]
    filters = {as_text(sample.get("filter")) for sample in content.records}
    for number, (sample, task) in enumerate(zip(content.records, benchmarks, strict=True), start=1):
        default_task = as_text(sample.get("doc_id"))
        filtered = as_text(sample.get("filter")) or "none"
        question = filtered
        if len(set(benchmarks)) > 1:  # each benchmark is a different question
            question = task if len(filters) == 1 else f"{task} ({filtered})"
        value = _answer(sample.get("filtered_resps"))
        yield Verdict(
            question,
            first_of(reading.task, default_task, sample, sample.get("doc")),
            _model(sample, content.name),
            value,
            f"sample {number:,}",
            abstained=UNPARSED if value == INVALID or as_text(value) is None else "",
        )


def _model(sample: Record, file: str) -> str | None:
    """Return the model that a sample names or, without one, the folder of its file, with ``/`` for ``__``."""
    model = as_text(sample.get("model")) or as_text(sample.get("model_name"))
    return model or PurePath(as_text(sample.get("from_file")) or file).parent.name.replace("__", "/") or None


def _task_name(sample: Record, file: str) -> str:
    """Return the task that a sample names or, without one, that in the file's name: ``samples_TASK_DATE.jsonl``."""
    named = FILE.match(PurePath(as_text(sample.get("from_file")) or file).name)
    return as_text(sample.get("task_name")) or (named[1] if named else "")


def _answer(response: Any) -> Any:
    """Return a reply or, for a multiple choice, the index of the choice to which the model gives most probability."""
    if not isinstance(response, list):
        return response
    if len(response) > 1 and all(isinstance(choice, list) and choice for choice in response):
        try:
            log_likelihoods = [float(choice[0]) for choice in response]
        except (TypeError, ValueError):
            return None
        return None if np.isnan(log_likelihoods).any() else int(np.argmax(log_likelihoods))
    only = response[0] if response else None
    while isinstance(only, list):
        only = only[0] if only else None
    return only if not isinstance(only, dict) else None
