"""Judges' logs for `make fuzz`: which samples are damaged, an archive put together again, and what each holds."""

import io
import json
import random
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.damage import distorted, mutilated

# sample -> the question that it is asked
RECORDS = {
    "inspect.json": "model_graded_qa",
    "promptfoo.json": "llm-rubric",
    "promptfoo.jsonl": "llm-rubric",
    "lm-eval.jsonl": "grade",
    "deepeval.json": "Good [GEval]",
    "mlflow.jsonl": "good",
    "langfuse.json": "quality",
    "phoenix.json": "quality",
    "openai.jsonl": "verdict",
}
TABLES = ("langfuse_blob.csv", "phoenix.csv")
ARCHIVE = "inspect.eval"


def archive_of(samples: Path, rng: random.Random) -> bytes:
    """Damage an archive: its bytes, or the JSON of its members, packed anew in one of several ways."""
    if rng.random() < 0.4:
        return mutilated((samples / ARCHIVE).read_bytes(), rng)
    log = distorted(json.loads((samples / "inspect.json").read_text()), rng)
    header = {key: value for key, value in log.items() if key != "samples"} if isinstance(log, dict) else log
    held = log.get("samples") if isinstance(log, dict) else None
    stream = io.BytesIO()
    with zipfile.ZipFile(
        stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    ) as archive:
        for number, sample in enumerate(held if isinstance(held, list) else []):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
        archive.writestr(
            rng.choice(("header.json", "header.json", "_journal/start.json", "else.json")), json.dumps(header)
        )
    return stream.getvalue()


def verdicts_in(tool: str, records: Sequence[Mapping[str, Any]]) -> int | None:
    """Count by hand the verdicts that a log holds, and the outputs without any; None of another tool's.

    >>> verdicts_in("deepeval", [{"testCases": [{"metricsData": [{}, {}]}, {}]}])
    3
    """
    if tool == "inspect":
        samples = [sample for log in records for sample in log.get("samples") or []]
        values = [[(score or {}).get("value") for score in (each.get("scores") or {}).values()] for each in samples]
        return sum(sum(len(value) or 1 if isinstance(value, dict) else 1 for value in some) or 1 for some in values)
    if tool == "promptfoo":
        runs = [record for record in records if "results" in record]
        results = [result for each in runs for result in (each["results"] or {}).get("results") or []] or records
        graded = [(result.get("gradingResult") or {}).get("componentResults") for result in results]
        return sum(len(each or []) or 1 for each in graded)
    if tool == "deepeval":
        runs = [record.get("testRunData") or record for record in records]
        names = ("testCases", "conversationalTestCases", "test_results")
        cases = [case for run in runs for name in names for case in run.get(name) or []]
        return sum(len([*(c.get("metricsData") or []), *(c.get("metrics_data") or [])]) or 1 for c in cases)
    if tool == "mlflow":
        return sum(len((each.get("info") or each).get("assessments") or []) or 1 for each in records)
    return None
