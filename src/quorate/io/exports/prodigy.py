"""Prodigy: the JSON lines that `prodigy db-out` writes.

Field names: https://prodi.gy/docs/api-interfaces (answer, accept, options, label), https://prodi.gy/docs/api-loaders
(_input_hash, _task_hash), https://prodi.gy/docs/review (_session_id, _annotator_id).
"""

from collections.abc import Iterator

from quorate.errors import ColumnTypeError, NoRowsError, listing
from quorate.io.exports.content import Content, Record
from quorate.io.exports.export import OTHER_QUESTION, Export, Format, FoundAnswer, assemble
from quorate.io.exports.schema import VALUE, Either, check_records
from quorate.io.options import ReadOptions

MARKS = ("spans", "relations", "audio_spans")
CHOICE = "choice"  # question of rows from the choice interface
# The fields of a line that are read here.
ROW = {
    **dict.fromkeys(("_input_hash", "_annotator_id", "_session_id", "answer"), VALUE),
    "accept": Either([VALUE], VALUE),
}
ANSWER = "answer"  # question of rows without a label to accept or reject


def _recognise(content: Content) -> bool:
    return content.layout == "records" and {"_input_hash", "answer"} <= set(content.fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, ROW, "Prodigy", "line")
    questions = list(dict.fromkeys(map(_question, content.records)))
    _check_marks(content)
    return assemble("prodigy", content, reading, questions, lambda q: _find(content, reading, q))


FORMAT = Format(
    "prodigy",
    "Prodigy annotations: JSON lines",
    "objects with '_input_hash' and 'answer'",
    _recognise,
    _read,
)


def _check_marks(content: Content) -> None:
    """Refuse spans and relations, where ``answer`` only says that they were accepted, and rows without annotators."""
    rows = content.records
    marked = sorted({name for row in rows for name in MARKS if row.get(name)})
    statuses = {row.get("answer") for row in rows}
    if marked and statuses <= {"accept", None} and not any(_is_choice(row) for row in rows):
        raise ColumnTypeError(
            f"{content.name} holds spans or relations ({listing(marked)}), and answer is 'accept' in every line, "
            "which is a status and not a label. Quorate needs a limited set of labels"
        )
    if not any(row.get("_annotator_id") or row.get("_session_id") for row in rows):
        raise NoRowsError(
            f"No line of {content.name} names its annotator, so there is nothing to combine. Start one "
            "session per annotator (?session=NAME)"
        )


def _question(row: Record) -> str:
    """Return the question of a row: a choice of options, its label (does it apply?), or whether it is accepted."""
    if _is_choice(row):
        return CHOICE
    label = row.get("label")
    return label if isinstance(label, str) and label else ANSWER


def _is_choice(row: Record) -> bool:
    return "options" in row or isinstance(row.get("accept"), list)


def _find(content: Content, reading: ReadOptions, question: str) -> Iterator[FoundAnswer]:
    name = reading.task or "_input_hash"
    for number, row in enumerate(content.records, start=1):
        if _question(row) != question:
            yield FoundAnswer(None, None, None, f"line {number:,}", OTHER_QUESTION)
            continue
        worker = row.get("_annotator_id") or row.get("_session_id")
        answer = row.get("answer")
        where = f"line {number:,}"
        left_out = ""
        value = answer
        if answer == "ignore":
            left_out = "ignored tasks"
        elif question == CHOICE:  # "reject" of a choice means that the task is unusable, not that an option is wrong
            left_out = "rejected tasks" if answer == "reject" else ""
            value = row.get("accept") or []
        yield FoundAnswer(row.get(name), worker, value, where, left_out)
