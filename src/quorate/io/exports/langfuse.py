"""Langfuse: scores from the API, the web interface or blob storage. The judge is the model that a score names.

Field names: https://api.reference.langfuse.com (scores) and, with underscores,
https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields.
"""

from collections.abc import Iterator
from typing import Any

from quorate.errors import shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import Verdict, first_of, judged, model_in
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.json_documents import parse_json
from quorate.io.options import ReadOptions
from quorate.io.values import first_filled

# Id of the object that was scored, the most specific first.
SCORED_IDS = ("observationId", "traceId", "sessionId", "datasetRunId")
# The fields of a score that are read here.
SCORE = {
    **dict.fromkeys(("name", "source", "dataType", "value", "stringValue", "authorUserId", *SCORED_IDS), VALUE),
    "metadata": Either(Each(ANYTHING), VALUE),
}
TEXT_TYPES = ("CATEGORICAL", "BOOLEAN", "TEXT")  # data types with a text in addition to the number


def _recognise(content: Content) -> bool:
    fields = {_name(field) for field in content.fields}
    is_score = {"name", "source", "dataType", "value"} <= fields and bool(set(SCORED_IDS) & fields)
    return is_score or _are_traces(content)


def _are_traces(content: Content) -> bool:
    """Whether the content is traces with their scores, under ``trace`` or as in a list of traces."""
    fields = set(content.fields)
    listed = {"scores", "observations"} <= fields and bool({"projectId", "timestamp"} & fields)
    return content.layout == "records" and ({"trace", "observations"} <= fields or listed)


def _scores_in(records: list[Record]) -> list[Record]:
    """Return the scores of traces, each with the id of its trace."""
    with_trace = []
    for record in records:
        trace = record["trace"] if isinstance(record.get("trace"), dict) else record
        scores = trace.get("scores")
        for score in scores if isinstance(scores, list) else []:
            if isinstance(score, dict):
                with_trace.append({"traceId": trace.get("id"), **score})
    return with_trace


def _read(content: Content, reading: ReadOptions) -> Export:
    records = _scores_in(content.records) if _are_traces(content) else content.records
    scores = [{_name(field): value for field, value in record.items()} for record in records]
    check_records(scores, SCORE, "Langfuse", "score")
    verdicts = list(_verdicts(scores, records, reading))
    return judged("langfuse", content, reading, verdicts, needs_panel=_are_traces(content))


FORMAT = Format(
    "langfuse",
    "Langfuse scores, or traces with scores: JSON, JSON lines or CSV",
    "'name', 'source', 'dataType' and 'value', and an id such as 'traceId' (also written with underscores)",
    _recognise,
    _read,
)


def _name(field: Any) -> str:
    """Return the name of a field in camel case: trace_id becomes traceId."""
    first, *rest = str(field).split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _verdicts(scores: list[Record], records: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    for number, (score, record) in enumerate(zip(scores, records, strict=True), start=1):
        default_task = first_filled(map(score.get, SCORED_IDS))
        name = as_text(score.get("name")) or "score"
        unpacked_score = {**score, "metadata": parse_json(score.get("metadata"))}
        model = model_in(unpacked_score)
        author = as_text(score.get("authorUserId"))
        kind = (as_text(score.get("dataType")) or "").upper()
        words = kind in TEXT_TYPES and "stringValue" in score
        yield Verdict(
            name,
            first_of(reading.task, default_task, record, score, unpacked_score["metadata"]),
            model or author or score.get("source") or name,
            score.get("stringValue") if words else score.get("value"),
            f"score {number:,}, {shown(name)}",
            score=score.get("value"),
            left_out="corrections" if kind == "CORRECTION" else "",
            alone=model is None,
        )
