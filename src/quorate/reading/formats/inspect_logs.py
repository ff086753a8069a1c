"""Inspect: an evaluation's log, as JSON or as the archive ``.eval``. The judge is the model that graded.

Field names: https://inspect.aisi.org.uk/eval-logs.html and https://inspect.aisi.org.uk/reference/inspect_ai.log.html;
what `model_graded_qa` writes was seen in logs of version 0.3.285 (``tools/judge_samples.py``).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import Export, Format
from quorate.reading.formats.judging import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, part
from quorate.reading.formats.shape import ANYTHING, VALUE, Each, Either, check_records
from quorate.reading.options import ReadOptions

# What Inspect writes, of what is read here.
VALUES = Either(VALUE, [VALUE], Each(VALUE))
GRADED = {"value": VALUES, "reason": VALUE, "explanation": VALUE, "metadata": Each(ANYTHING)}
SAMPLE = {"id": VALUE, "epoch": VALUE, "scores": Each(GRADED), "metadata": Each(ANYTHING)}
SCORER = {"name": VALUE, "options": {"model": ANYTHING}}
LOG = {"eval": {"task": VALUE, "model": VALUE, "scorers": [SCORER], "model_roles": ANYTHING}, "samples": [SAMPLE]}
UNGRADED = "Grade not found"  # how an explanation begins, where a version before 0.3.200 made "incorrect" of it


def _recognise(content: Content) -> bool:
    return content.layout == "records" and {"eval", "version", "status"} <= set(content.fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, LOG, "Inspect", "log")
    return judged("inspect", content, reading, list(_verdicts(content.records, reading)))


FORMAT = Format(
    "inspect",
    "Inspect logs: .eval or JSON",
    "'eval', 'version' and 'status', or an archive that holds header.json",
    _recognise,
    _read,
)


def _verdicts(logs: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    samples = [(log, sample) for log in logs for sample in log.get("samples") or []]
    several = len({_run(log) for log in logs}) > 1
    epochs = any(sample.get("epoch") not in (None, 1) for _, sample in samples)
    for log, sample in samples:
        usual = as_text(sample.get("id"))
        if usual is not None and epochs:  # each epoch is an output of its own
            usual = f"{usual}#{as_text(sample.get('epoch'))}"
        if usual is not None and several:
            usual = f"{_run(log)}/{usual}"
        task = first_of(reading.task, usual, sample, sample.get("metadata"))
        scorers = _scorers(log)
        scores = sample.get("scores") or {}
        if not scores:
            yield Verdict("", task, None, None, f"sample {usual}", left_out=UNJUDGED)
        for key, score in scores.items():
            name, model = scorers.get(key, (key, None))
            yield from _of_score(log, name, model, task, score or {}, f"score {key!r} of sample {usual}")


def _run(log: Record) -> str:
    """Name what was evaluated: the task and the model."""
    about = log.get("eval") or {}
    return f"{as_text(about.get('task'))}/{as_text(about.get('model'))}"


def _scorers(log: Record) -> dict[str, tuple[str, Any]]:
    """Return the scorer's name and model by the key of its scores, in which a name that comes again is numbered."""
    found: dict[str, tuple[str, Any]] = {}
    seen: Counter[str] = Counter()
    for scorer in part(log, "eval", "scorers") or []:
        name = (as_text(part(scorer, "name")) or "").removeprefix("inspect_ai/")
        model = part(scorer, "options", "model") or None
        if isinstance(model, dict):
            model = model.get("model")
        found[f"{name}{seen[name] or ''}"] = (name, None if isinstance(model, list | dict) else model)
        seen[name] += 1
    return found


def _of_score(log: Record, name: str, model: Any, task: Any, score: Record, where: str) -> Iterator[Verdict]:
    """Give the verdicts of one score: several, where its value is a record of several."""
    graded = part(score, "metadata", "grading")
    said_by = part(graded[-1], "model") if isinstance(graded, list) and graded else None
    bound = part(log, "eval", "model_roles", "grader", "model") if said_by or graded else None
    judge = next((each for each in (said_by, model, bound) if isinstance(each, str) and each), None)
    value = score.get("value")
    for inner, each in value.items() if isinstance(value, dict) and value else [("", value)]:
        yield Verdict(
            f"{name}.{inner}" if inner else name,
            task,
            judge or name,
            each,
            where,
            abstained=_abstained(score, each),
            alone=judge is None,
        )


def _abstained(score: Record, value: Any) -> str:
    explanation = score.get("explanation")
    if isinstance(explanation, str) and explanation.startswith(UNGRADED):
        return UNPARSED
    missing = value is None or value != value  # NaN is what Inspect calls unscored
    return (UNPARSED if score.get("reason") in (None, "grader_failed") else FAILED) if missing else ""
