"""The other half of `tests/io/exports/make_samples.py`: tools that keep verdicts beside traces, and lines of replies.

python -m tests.io.exports.make_trace_samples TOOL [FOLDER]
"""

import csv
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.io.exports.make_samples import NOTHING, SAMPLES, WHEN, each_verdict, without


def mlflow(folder: Path) -> None:
    """Log feedback of three judges on three traces; a judge that fails logs its error."""
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
    import mlflow
    from mlflow.entities import AssessmentError, AssessmentSource

    with tempfile.TemporaryDirectory() as place:
        mlflow.set_tracking_uri(f"file:{place}/mlruns")
        mlflow.set_experiment("animals")
        ids = {}
        for number in (1, 2, 3):
            with mlflow.start_span(f"output {number}") as span:
                span.set_inputs({"number": number})
            ids[number] = span.trace_id
        for number, judge, good in each_verdict():
            mlflow.log_feedback(
                trace_id=ids[number],
                name="good",
                value=good,
                error=AssessmentError("PARSE_ERROR", NOTHING) if good is None else None,
                source=AssessmentSource("LLM_JUDGE", f"mock/{judge}"),
            )
        mlflow.log_expectation(
            trace_id=ids[1], name="good", value=True, source=AssessmentSource("HUMAN", "lead@example.org")
        )
        traces = [mlflow.get_trace(each).to_dict() for each in ids.values()]
    cut = {"spans", "trace_metadata", "stack_trace", "tags", "trace_location"}
    text = "".join(json.dumps(without(trace, cut)) + "\n" for trace in traces)
    for number, trace in ids.items():
        text = text.replace(trace, f"tr-{number}")
    (folder / "mlflow.jsonl").write_text(text)


def langfuse(folder: Path) -> None:
    """Scores as the API pages them, in the client's own types, and as blob storage gets them."""
    from langfuse.api import Score_Categorical

    scores = []
    for number, judge, good in each_verdict():
        value = None if good is None else "good" if good else "bad"
        score = Score_Categorical(
            id=f"s-{number}-{judge}",
            trace_id=f"tr-{number}",
            name="quality",
            source="EVAL",
            timestamp=WHEN,
            created_at=WHEN,
            updated_at=WHEN,
            comment=NOTHING if good is None else "by rote",
            metadata={"model": f"mock/{judge}"},
            environment="default",
            value=float(good or 0),
            string_value=value or "",
        )
        scores.append(json.loads(score.json(by_alias=True)))
    page = {"data": scores, "meta": {"page": 1, "limit": 50, "totalItems": len(scores), "totalPages": 1}}
    (folder / "langfuse.json").write_text(json.dumps(page, indent=1) + "\n")


def langfuse_blob(folder: Path) -> None:
    """Write scores as blob storage gets them, by the documentation."""
    names = [
        "id",
        "timestamp",
        "project_id",
        "environment",
        "trace_id",
        "observation_id",
        "session_id",
        "name",
        "value",
    ]
    names += ["source", "comment", "data_type", "string_value", "metadata", "created_at", "updated_at"]
    with open(folder / "langfuse_blob.csv", "w", newline="") as file:
        rows = csv.DictWriter(file, names)
        rows.writeheader()
        for number, judge, good in each_verdict():
            reply = "" if good is None else "good" if good else "bad"
            row = {"id": f"s-{number}-{judge}", "project_id": "p", "environment": "default", "trace_id": f"tr-{number}"}
            row |= {"name": "quality", "value": int(good or 0), "source": "EVAL", "data_type": "CATEGORICAL"}
            row |= {"string_value": reply, "metadata": json.dumps({"model": f"mock/{judge}"}), "timestamp": WHEN}
            rows.writerow(row)


def phoenix(folder: Path) -> None:
    """Span annotations as the REST API pages them and as the client's data frame has them, by the client's types."""
    found: list[dict[str, Any]] = []
    for number, judge, good in each_verdict():
        label = "NOT_PARSABLE" if good is None else "good" if good else "bad"
        result = {"label": label, "score": None if good is None else float(good), "explanation": "by rote"}
        found.append(
            {
                "id": f"U3BhbkFubm90YXRpb246{len(found)}",
                "created_at": WHEN,
                "updated_at": WHEN,
                "source": "API",
                "user_id": None,
                "name": "quality",
                "annotator_kind": "LLM",
                "span_id": f"span-{number}",
                "result": result,
                "metadata": {"model": f"mock/{judge}"},
                "identifier": f"mock/{judge}",
            }
        )
    (folder / "phoenix.json").write_text(json.dumps({"data": found, "next_cursor": None}, indent=1) + "\n")
    with open(folder / "phoenix.csv", "w", newline="") as file:
        names = ["span_id", "annotation_name", "annotator_kind", "metadata", "identifier", "id", "source", "user_id"]
        rows = csv.DictWriter(file, [*names, "result.label", "result.score", "result.explanation"])
        rows.writeheader()
        for each in found:
            row = {name: each[name] for name in names if name in each} | {"annotation_name": each["name"]}
            rows.writerow(row | {f"result.{name}": value for name, value in each["result"].items()})


def openai(folder: Path) -> None:
    """Write replies of three models to a batch, in its output's lines."""
    from openai.types.chat import ChatCompletion

    lines = []
    for number, judge, good in each_verdict():
        reply = NOTHING if good is None else json.dumps({"reason": "by rote", "verdict": "good" if good else "bad"})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
        body = ChatCompletion(
            id=f"chatcmpl-{len(lines)}",
            choices=[choice],
            created=1767225600,
            model=f"mock/{judge}",
            object="chat.completion",
        )
        response = {"status_code": 200, "request_id": f"r{len(lines)}", "body": json.loads(body.model_dump_json())}
        lines.append({"id": f"batch_req_{len(lines)}", "custom_id": f"{number}", "response": response, "error": None})
    (folder / "openai.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


TOOLS: dict[str, Callable[[Path], None]] = {
    "mlflow": mlflow,
    "langfuse": langfuse,
    "langfuse_blob": langfuse_blob,
    "phoenix": phoenix,
    "openai": openai,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else SAMPLES)
