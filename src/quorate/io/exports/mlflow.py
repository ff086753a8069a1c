"""MLflow: traces with assessments. The judge is the source of a feedback; an expectation is a known label.

Field names: https://mlflow.org/docs/latest/genai/concepts/trace and
https://mlflow.org/docs/latest/api_reference/python_api/mlflow.entities.html (Assessment, AssessmentSource); seen in
the output of `Trace.to_json`, version 3.17.2 (``tests/io/exports/make_trace_samples.py``).
"""

from collections.abc import Iterator
from typing import Any

from quorate.errors import shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, part
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.json_documents import parse_json
from quorate.io.options import ReadOptions

# The fields of a trace that are read here; `search_traces` returns the fields of `info` as columns.
ASSESSED = {"value": ANYTHING, "serialized_value": {"value": VALUE}, "error": {"error_code": VALUE}}
ASSESSMENT = {
    **dict.fromkeys(("assessment_name", "name", "valid"), VALUE),
    "source": {"source_type": VALUE, "source_id": VALUE},
    **dict.fromkeys(("feedback", "expectation"), ASSESSED),
    "error": {"error_code": VALUE},
}
INFO = {"trace_id": VALUE, "request_id": VALUE, "assessments": [ASSESSMENT], "tags": Either(Each(ANYTHING), [ANYTHING])}
TRACE = {**INFO, "info": INFO}
OVERRIDDEN = "overridden by a later assessment"


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    return fields == {"info", "data"} or {"trace_id", "assessments"} <= fields


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, TRACE, "MLflow", "trace")
    return judged("mlflow", content, reading, list(_verdicts(content.records, reading)))


FORMAT = Format(
    "mlflow",
    "MLflow traces with assessments: JSON, JSON lines, or the table of search_traces",
    "objects with only 'info' and 'data', or with 'trace_id' and 'assessments'",
    _recognise,
    _read,
)


def _verdicts(traces: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    for number, trace in enumerate(traces, start=1):
        info = trace.get("info") or trace
        default_task = info.get("trace_id") or info.get("request_id")
        task = first_of(reading.task, default_task, info, info.get("tags"))
        where = f"trace {shown(default_task or number)}"
        if not info.get("assessments"):
            yield Verdict("", task, None, None, where, left_out=UNJUDGED)
        for assessment in info.get("assessments") or []:
            name = as_text(assessment.get("assessment_name") or assessment.get("name")) or "feedback"
            feedback = assessment.get("feedback") or {}
            known = bool(assessment.get("expectation"))
            kind = as_text(part(assessment, "source", "source_type")) or "CODE"
            value = assessment.get("expectation") if known else feedback
            serialized = part(value, "serialized_value", "value")  # a list, as JSON text
            yield Verdict(
                name,
                task,
                part(assessment, "source", "source_id") or kind,
                parse_json(serialized) if isinstance(serialized, str) else value.get("value"),
                f"assessment {name!r} of {where}",
                abstained=_abstained(feedback.get("error") or assessment.get("error")),
                left_out=OVERRIDDEN if assessment.get("valid") is False else "",
                known=known,
                alone=kind not in ("LLM_JUDGE", "AI_JUDGE"),
            )


def _abstained(error: Any) -> str:
    if not error:
        return ""
    return UNPARSED if "PARSE" in str(part(error, "error_code")).upper() else FAILED
