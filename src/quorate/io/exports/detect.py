"""Read another tool's export into `Export`: recognise the format, and read the answers to one question."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from quorate.errors import OptionError, PairwiseFileError, UnknownFormatError, WrongFormatError, in_shell, listing
from quorate.io.arguments import check_arguments
from quorate.io.exports.content import Content, look
from quorate.io.open_file import hold
from quorate.io.options import AS_USUAL, ExportKeywords, ReadOptions, layout_is_plain, names_resolved, read_options
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table
from quorate.io.values import is_missing

if TYPE_CHECKING:
    from quorate.io.exports.export import Export

LAYOUT = "layout"  # a table that `quorate.io.layouts` reads: wide, lists, other names of columns
TABLE = "table"  # a plain table, which `quorate.io.rows` reads
PLAIN = "crowdkit"  # a plain table, if it is read as an export
UNCHECKED = (PLAIN, "cleanlab")  # formats whose readers check the columns themselves
FIRST_ROWS = 20  # rows that show whether fields contain lists
EXPORT_OPTIONS = ExportKeywords.__optional_keys__ | {"tool"}


def recognise(source: Source, reading: ReadOptions = AS_USUAL) -> str:
    """Return the name of the tool that made an export, from its first bytes; ``table`` for a table of answers.

    ``table`` is also returned for a source that cannot be read, because the reader then reports the error.

    Args:
        source: what `quorate.read` takes.
        reading: reading options.

    Raises:
        UnknownFormatError: the format is unknown, or two formats are possible.
        MissingColumnError: the columns of a table have other names than requested; the error proposes how to read it.

    >>> recognise({"task": [1], "worker": ["ann"], "label": ["cat"]})
    'table'
    >>> recognise([{"_input_hash": 1, "answer": "accept"}])
    'prodigy'
    """
    content = _look(source, reading)
    tool = recognise_content(content, names_resolved(reading, content.fields))
    if tool != LAYOUT:
        return tool
    from quorate.io.layouts import read_unknown_layout

    read_unknown_layout(content, reading)
    return TABLE


def fields_of(source: Source, reading: ReadOptions = AS_USUAL) -> tuple[str, ...]:
    """Return the columns or fields of a source, from its first bytes; empty if it cannot be read.

    >>> fields_of({"task": [1], "score": [2.5]})
    ('task', 'score')
    """
    return tuple(_look(source, reading).fields)


def _look(source: Source, reading: ReadOptions) -> Content:
    if reading.tool == TABLE and not isinstance(source, list | tuple):
        return look(source, reading)
    from quorate.io.several_files import content_of

    return content_of(source, reading)


def recognise_content(content: Content, reading: ReadOptions) -> str:
    """Return the name of the tool, ``table`` for a plain table, or ``layout`` for a table in another layout.

    Raises:
        UnknownFormatError: several formats are possible.

    >>> recognise_content(look({"task": [1], "worker": ["ann"], "label": ["cat"]}), AS_USUAL)
    'table'
    """
    if not content.fields and not content.parts and content.layout == "unknown":
        return TABLE
    is_plain = layout_is_plain(reading) and not content.parts and not content.is_joined
    readable = content.layout == "rows" or content.json_lines or isinstance(content.source, list | tuple)
    present = set(reading.columns) & set(content.fields)
    if is_plain and readable and len(present) == len(set(reading.columns)):
        return LAYOUT if lists_workers(content, reading) else TABLE
    from quorate.io.exports.formats import matching

    named = [name for name in (reading.worker, reading.label) if name is not None]
    has_named_columns = bool(named) and all(name in content.fields for name in named)
    names_columns = (has_named_columns and reading.worker is not None) or reading.workers is not None
    matches = [] if names_columns or content.parts or reading.worker_name is not None else matching(content)
    if matches == [PLAIN] and (reading.fold is not None or reading.gold_column is not None):
        return LAYOUT  # its reader supports these options
    if len(matches) > 1:
        raise UnknownFormatError(f"{content.name} may be {' or '.join(matches)}. Name it with tool= (--from)")
    if matches and not content.parts:
        return matches[0]
    if content.layout == "rows" and len(content.fields) < 2 and not content.parts and not content.headerless:
        return TABLE  # its reader reports what the file may be
    if layout_is_plain(reading) and not content.parts and not named:
        refuse_pairs(content)
    return LAYOUT


def lists_workers(content: Content, reading: ReadOptions) -> bool:
    """Whether the fields of workers and labels contain lists in the first rows, so that rows have several answers."""
    _, worker, label = reading.columns
    if content.parts or not {worker, label} <= set(content.fields):
        return False
    rows: list[Any] = []
    if content.layout == "rows" and (content.head or content.ready is not None):
        rows = content.sample[:FIRST_ROWS]
    elif content.layout == "records":
        rows = content.first_records(FIRST_ROWS)
    pairs = [(row.get(worker), row.get(label)) for row in rows if isinstance(row, dict)]
    pairs = [(a, b) for a, b in pairs if not is_missing(a) and not is_missing(b) and a != "" and b != ""]
    return bool(pairs) and all(_is_list(a) and _is_list(b) for a, b in pairs)


def _is_list(value: Any) -> bool:
    if isinstance(value, list):
        return True
    return isinstance(value, str) and (value.strip()[:1] == "[" and value.strip()[-1:] == "]")


def refuse_pairs(content: Content) -> None:
    """Refuse a file of pairwise comparisons, and name the command that ranks its items.

    Raises:
        PairwiseFileError: the file contains pairwise comparisons.
    """
    from quorate.io.exports.pairwise import propose_rank

    proposal = propose_rank(content)
    if proposal is not None:
        # The command line prints the command itself.
        run = "" if in_shell.get() else f". To rank its items: {proposal.command}"
        error = PairwiseFileError(f"{content.name} holds {proposal.sentence}{run}")
        error.commands = (proposal.command,)
        raise error


@check_arguments
@keep_pipes()
def read_export(source: Source, tool: str = "auto", **reading: Unpack[ExportKeywords]) -> "Export":
    """Read the answers to one question from another tool's export.

    Args:
        source: a path, ``"-"``, a list of records, or a table object.
        tool: the tool that wrote the export, a name from `quorate.io.exports.formats.FORMATS`; by default it is
            detected from the content.
        question: which question to read, if there are several.
        task: the field that identifies a task, if it is not the tool's own id.
        worker: the column of workers, for a plain table.
        label: the column of labels, for a plain table.
        join_choices: treat several ticked classes as one combined class, ``a|b``.
        keep_rejected: count assignments that the requester rejected (Mechanical Turk, Toloka).
        skip_missing: leave out answers without a task or worker, and count them, instead of refusing.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, if the file name does not show it.
        delimiter: separator of the fields of a CSV file.
        encoding: encoding of a CSV file; ``auto`` detects UTF-8, UTF-16 (by its byte order mark) and cp1252.

    Raises:
        UnknownFormatError: the format cannot be detected from the content.
        OptionError: there are several questions, and none was chosen.
        InputError: the answers cannot be used; the message names the row.

    >>> row = {"_input_hash": 7, "_annotator_id": "ann", "answer": "accept"}
    >>> export = read_export([row, {**row, "_annotator_id": "bob", "answer": "ignore"}])
    >>> export.tool, export.left_out, export.table.to_pylist()
    ('prodigy', {'ignored tasks': 1}, [{'task': '7', 'worker': 'ann', 'label': 'accept'}])
    """
    keywords: dict[str, Any] = {"tool": tool, **reading}
    options = read_options(keywords)
    options.refuse_but(EXPORT_OPTIONS, "before the answers of an export are read; quorate.read takes it")
    return export_of(source, options)


def export_of(source: Source, reading: ReadOptions) -> "Export":
    """Read the answers to one question from another tool's export, as `read_export` with the options in one object.

    >>> export_of([{"_input_hash": 7, "_annotator_id": "ann", "answer": "accept"}], AS_USUAL).tool
    'prodigy'
    """
    from quorate.io.exports.formats import FORMATS

    source = hold(source)
    content = _look(source, reading)
    if content.layout == "unknown":
        # Reading it as a table raises the error that says what is wrong.
        read_table(source, reading.required_columns(), replace(reading, format=reading.format or "csv"))
    reading = names_resolved(reading, content.fields)
    name = recognise_content(content, reading) if reading.tool == "auto" else reading.tool
    if name == LAYOUT:
        return _layout_export(content, reading)
    name = PLAIN if name == TABLE else name
    if name != PLAIN and (reading.worker or reading.label):
        raise OptionError(
            f"An export of {name} has its own fields for workers and labels. Leave out worker= and label= "
            "(--worker and --label), and choose with question= (--question)"
        )
    if reading.tool == name and name not in UNCHECKED and not FORMATS[name].recognise(content):
        raise WrongFormatError(
            f"{content.name} is not an export of {name}, which has {FORMATS[name].signs}; "
            f"it has the fields {listing(content.fields, 12)}. Leave out tool= (--from), or name another tool"
        )
    return FORMATS[name].read(content, reading)


def _layout_export(content: Content, reading: ReadOptions) -> "Export":
    from quorate.io.frame import frame_of
    from quorate.io.layouts import read_layout, read_unknown_layout

    layout = read_unknown_layout(content, reading)
    if layout.export is not None:
        return layout.export
    return read_layout(frame_of(content, sample=False), layout.options)
