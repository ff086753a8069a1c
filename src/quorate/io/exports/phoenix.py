"""Phoenix: annotations of spans from its API or client. The judge is the model or identifier of an annotation.

Field names: https://arize.com/docs/phoenix/tracing/how-to-tracing/feedback-and-annotations/capture-feedback; the table
is that of `get_span_annotations_dataframe`, in which ``result.label`` and ``result.score`` are columns.
"""

from collections.abc import Iterator

from quorate.errors import shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import UNPARSED, Verdict, first_of, judged, model_in
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.json_documents import parse_json
from quorate.io.options import ReadOptions
from quorate.io.values import first_filled

ANNOTATED_IDS = ("span_id", "trace_id", "session_id")
NAMES = ("name", "annotation_name")
# The fields of an annotation that are read here.
ANNOTATION = {
    **dict.fromkeys((*NAMES, *ANNOTATED_IDS, "annotator_kind", "identifier", "user_id", "document_position"), VALUE),
    **dict.fromkeys(("label", "score", "result.label", "result.score"), VALUE),
    "result": {"label": VALUE, "score": VALUE},
    "metadata": Either(Each(ANYTHING), VALUE),
}
NOT_PARSABLE = "NOT_PARSABLE"  # label of Phoenix's evaluators for a reply without a label


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    return "annotator_kind" in fields and bool(fields & set(ANNOTATED_IDS)) and bool(fields & set(NAMES))


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, ANNOTATION, "Phoenix", "annotation")
    return judged("phoenix", content, reading, list(_verdicts(content.records, reading)))


FORMAT = Format(
    "phoenix",
    "Phoenix annotations: JSON, JSON lines, CSV or Parquet",
    "'annotator_kind', 'name' or 'annotation_name', and 'span_id', 'trace_id' or 'session_id'",
    _recognise,
    _read,
)


def _verdicts(records: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    for number, record in enumerate(records, start=1):
        result = {name: record.get(f"result.{name}", record.get(name)) for name in ("label", "score")}
        result |= record.get("result") or {}
        default_task = as_text(first_filled(map(record.get, ANNOTATED_IDS)))
        if default_task is not None and as_text(record.get("document_position")) is not None:
            default_task = f"{default_task}[{as_text(record.get('document_position'))}]"
        name = as_text(next((record[name] for name in NAMES if record.get(name)), None)) or "annotation"
        kind = as_text(record.get("annotator_kind")) or "CODE"
        metadata = parse_json(record.get("metadata"))
        model = model_in({"metadata": metadata})
        named = as_text(first_filled((record.get("identifier"), record.get("user_id"))))
        label = as_text(result["label"])
        yield Verdict(
            name,
            first_of(reading.task, default_task, record, metadata),
            model or named or kind,
            result["score"] if label is None else label,
            f"annotation {number:,}, {shown(name)}",
            score=result["score"],
            abstained=UNPARSED if label == NOT_PARSABLE else "",
            alone=kind != "LLM",
        )
