"""An export of any format -> `Export`; and a file of which nothing is known -> `Answers`."""

from collections.abc import Sequence

from quorate.answers import Answers
from quorate.errors import OptionError, UnknownFormatError, WrongFormatError, listing, one_of
from quorate.reading.files import Source, read_table
from quorate.reading.formats.content import Content, look
from quorate.reading.formats.export import Export, Wishes
from quorate.reading.read import read

TABLE = "table"  # what `quorate.read` takes by itself
PLAIN = "crowdkit"  # the same, read here
UNCHECKED = (PLAIN, "cleanlab")  # these check their columns themselves
COLUMNS = ("task", "worker", "label")


def recognise(
    source: Source,
    *,
    columns: Sequence[str] = COLUMNS,
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> str:
    """Name the format of a source by its first bytes; ``table`` is a plain table with the columns asked for.

    What cannot be read at all is called a table too: `quorate.read` says what is wrong with it.

    Args:
        source: what `read_export` takes.
        columns: those of a plain table.
        kind: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, if it is known.
        delimiter: what separates the fields of a CSV file.
        encoding: of a CSV file.

    Raises:
        UnknownFormatError: it is none of those known, or may be two of them.

    >>> recognise({"task": [1], "worker": ["ann"], "label": ["cat"]})
    'table'
    >>> recognise([{"_input_hash": 1, "answer": "accept"}])
    'prodigy'
    """
    return _recognise(look(source, kind=kind, delimiter=delimiter, encoding=encoding), columns)


def _recognise(content: Content, columns: Sequence[str]) -> str:
    readable = content.layout == "rows" or content.json_lines
    if not content.fields or (readable and set(columns) <= set(content.fields)):
        return TABLE
    from quorate.reading.formats.known import looked_for, matching

    found = matching(content)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownFormatError(f"{content.name} may be {' or '.join(found)}; say which with format= (--from)")
    if readable and len(content.fields) < 3:  # no export: a header separated by something else, or a column too few
        return TABLE
    raise UnknownFormatError(
        f"{content.name} is of no format known here; it has the fields {listing(content.fields, 12)}. Name the columns "
        "of a plain table with task=, worker=, label= (--task, --worker, --label), or the format with format= "
        f"(--from). Looked for: {looked_for()}"
    )


def read_export(
    source: Source,
    format: str = "auto",
    *,
    question: str | None = None,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    join_choices: bool = False,
    keep_rejected: bool = False,
    skip_missing: bool = False,
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> Export:
    """Read the answers to one question from another tool's export.

    Args:
        source: a path, ``"-"``, a list of records, or a table that speaks Arrow.
        format: a name from `quorate.reading.formats.known.FORMATS`; by default the content tells.
        question: which, if there are several.
        task: the field that tells tasks apart, where it is not the tool's own id.
        worker: the column of workers, of a plain table.
        label: the column of labels, of a plain table.
        join_choices: take several classes chosen at once for a class of their own, ``a|b``.
        keep_rejected: count assignments that the requester rejected (Mechanical Turk, Toloka).
        skip_missing: leave out answers without a task or worker, and count them, instead of refusing.
        kind: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, where the name does not say.
        delimiter: what separates the fields of a CSV file.
        encoding: of a CSV file.

    Raises:
        UnknownFormatError: the content does not tell the format.
        OptionError: there are several questions, and none was chosen.
        InputError: the answers cannot be used; the message names the row.

    >>> row = {"_input_hash": 7, "_annotator_id": "ann", "answer": "accept"}
    >>> export = read_export([row, {**row, "_annotator_id": "bob", "answer": "ignore"}])
    >>> export.format, export.left_out, export.table.to_pylist()
    ('prodigy', {'ignored': 1}, [{'task': '7', 'worker': 'ann', 'label': 'accept'}])
    """
    from quorate.reading.formats.known import FORMATS

    one_of(format, ["auto", TABLE, *FORMATS], "format")
    content = look(source, kind=kind, delimiter=delimiter, encoding=encoding)
    if content.layout == "unknown":
        read_table(source, COLUMNS, format=kind or "csv", encoding=encoding)  # says what is wrong with it
    name = _recognise(content, (task or "task", worker or "worker", label or "label")) if format == "auto" else format
    name = PLAIN if name == TABLE else name
    if name != PLAIN and (worker or label):
        raise OptionError(
            f"{name} has its own fields for workers and labels; leave out worker= and label= (--worker, --label), "
            "and choose with question= (--question)"
        )
    if format == name and name not in UNCHECKED and not FORMATS[name].recognise(content):
        raise WrongFormatError(
            f"{content.name} is not of the format {name}, which has {FORMATS[name].signs}; "
            f"it has the fields {listing(content.fields, 12)}"
        )
    wishes = Wishes(question, task, worker, label, join_choices, keep_rejected, skip_missing)
    return FORMATS[name].read(content, wishes)


def read_answers(
    source: Source,
    format: str = "auto",
    *,
    question: str | None = None,
    join_choices: bool = False,
    keep_rejected: bool = False,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    on_conflict: str = "error",
    skip_missing: bool = False,
    kind: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> tuple[Answers, Export | None]:
    """Read answers from a plain table or an export; for an export, also what was read from it.

    A plain table with the columns asked for goes straight to `quorate.read`: only its first bytes are looked at.

    Takes what `read_export` and `quorate.read` take.

    >>> answers, export = read_answers({"task": [1], "worker": ["ann"], "label": ["cat"]})
    >>> answers.n_answers, export
    (1, None)
    """
    columns = (task, worker, label)
    name = (
        recognise(source, columns=columns, kind=kind, delimiter=delimiter, encoding=encoding)
        if format == "auto"
        else format
    )
    if name == TABLE:
        return read(
            source,
            task=task,
            worker=worker,
            label=label,
            on_conflict=on_conflict,
            skip_missing=skip_missing,
            format=kind,
            delimiter=delimiter,
            encoding=encoding,
        ), None
    export = read_export(
        source,
        name,
        question=question,
        task=None if task == "task" else task,
        worker=None if worker == "worker" else worker,
        label=None if label == "label" else label,
        join_choices=join_choices,
        keep_rejected=keep_rejected,
        skip_missing=skip_missing,
        kind=kind,
        delimiter=delimiter,
        encoding=encoding,
    )
    return read(export.table, on_conflict=on_conflict, classes=export.classes), export
