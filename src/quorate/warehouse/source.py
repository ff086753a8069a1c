"""Files, a table of an engine, or an ibis table -> a connection and the columns task, worker, label there."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from quorate.addresses import public_cause, render_address
from quorate.errors import (
    ColumnTypeError,
    EngineError,
    OptionError,
    PairwiseFileError,
    QuorateError,
    UnknownFormatError,
    UnreadableFileError,
    count,
    listing,
)
from quorate.reading.files import Source, format_of, read_table
from quorate.reading.objects import check_columns
from quorate.reading.options import AS_USUAL, ROLES, ReadOptions, read_options, split_reading
from quorate.reading.pairs import looks_like_pairs
from quorate.reading.usual_names import refuse_other_names
from quorate.warehouse.engine import DUCKDB, Engine, EngineOptions, connect, first_line
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.input_files import record_engine_inputs
from quorate.warehouse.statements import quoted

# What can be said about reading answers in an engine.
MEANINGFUL = (
    *("task", "worker", "label", "on_conflict", "skip_missing", "classes", "format", "delimiter", "group", "judges"),
    *("abstain", "map"),
)
# What memory takes for CSV; DuckDB would guess it from the first rows, and take 'yes' for yes.
DIALECT: dict[str, Any] = {
    "header": True,
    "all_varchar": True,
    "quote": '"',
    "escape": '"',
    "comment": "",
    "skip": 0,
    "null_padding": False,
    "strict_mode": True,
}
MADE_OF_TEXT = ("DATE", "TIME", "UUID")  # the types that DuckDB makes of text in JSON; TIMESTAMP is one, too
WHERE = tuple(field.name for field in fields(EngineOptions))


def split_options(options: Mapping[str, Any]) -> tuple[ReadOptions, EngineOptions, dict[str, Any]]:
    """Part keyword arguments into those that say how to read, those that say where the answers are, and all others.

    Raises:
        OptionError: one of them means nothing inside an engine, or cannot have such a value.

    >>> reading, where, others = split_options({"task": "item", "memory": "4GB", "tau": 0.5})
    >>> reading.task, where.memory, others
    ('item', '4GB', {'tau': 0.5})
    """
    reading, others = split_reading(options)
    how = read_options(reading)
    how.refuse_but(MEANINGFUL, "inside an engine")
    if others.get("group", "") is None:  # no column of groups, and no mapping of workers to groups either
        others.pop("group")
    where = EngineOptions(**{name: others.pop(name) for name in WHERE if name in others})
    return how, where, others


def open_source(
    source: Source = None, reading: ReadOptions = AS_USUAL, where: EngineOptions = DUCKDB
) -> tuple[Engine, EngineTable]:
    """Find the answers: where they lie, and as an ibis table with the columns task, worker, label (and order).

    Takes what `open_table` takes, and raises what it raises.

    >>> _, answers = open_source({"item": [1], "who": ["ann"], "label": ["cat"]}, ReadOptions("item", "who"))
    >>> answers.columns
    ('task', 'worker', 'label')
    """
    home, found = open_table(source, reading, where)
    return home, by_role(found, reading, where)


def open_table(
    source: Source = None, reading: ReadOptions = AS_USUAL, where: EngineOptions = DUCKDB
) -> tuple[Engine, EngineTable]:
    """Find the answers: where they lie, and the table there as it is.

    Args:
        source: a path or a pattern (``answers/*.parquet``; CSV and JSON lines too), an ibis table, or one in memory.
        reading: the columns, and the format and delimiter of files.
        where: the engine and, instead of a source, a table there; the column that orders the answers.

    Raises:
        EngineError: the engine is not there.
        InputError: the answers are not there, or have no such columns.

    >>> open_table({"item": [1], "who": ["ann"], "label": ["cat"]}, ReadOptions("item", "who"))[1].columns
    ('item', 'who', 'label')
    """
    if where.table is not None and source is not None:
        raise OptionError("give files or a table (--table), not both")
    if source is None and where.table is None and where.connect is None:
        raise OptionError("no answers: give files, or the name of a table (--table)")
    is_there = type(source).__module__.partition(".")[0] == "ibis"
    home = Engine(source.get_backend()) if is_there else connect(where)
    try:
        found = source if is_there else found_in(home, source, reading, where)
        record_engine_inputs(home, found, source)
        found = _completed(found, reading)
        if not set(reading.columns) <= set(found.columns):
            proposal = looks_like_pairs(list(found.columns), render_address(source) if source is not None else "FILE")
            if proposal is not None and not any(reading.chosen.values()):
                raise PairwiseFileError(f"{proposal.sentence}. Rank its items with: {proposal.command}")
            refuse_other_names(found.columns, reading.chosen, "the table")
        check_columns(found.columns, wanted_columns(reading, where), "the table")
        for name in wanted_columns(reading, where):
            kind = found[name].type()
            if kind.is_nested():
                raise ColumnTypeError(
                    f"column {name!r} holds {kind} values; an id or a label must be text, a number or a date"
                )
    except BaseException:
        home.close()
        raise
    return home, found


def _completed(table: EngineTable, reading: ReadOptions) -> EngineTable:
    """Add the columns that scores may lack: one worker for all, and the scores under another usual name."""
    if not reading.is_score:
        return table
    from quorate.reading.scores import COLUMN_NAMES

    _, worker, score = reading.columns
    if not reading.has_workers:
        import ibis

        table = table.mutate(**{worker: ibis.literal(worker)})
    other = next((name for name in COLUMN_NAMES if name in table.columns), None)
    if reading.label is None and score not in table.columns and other is not None:
        table = table.mutate(**{score: table[other]})
    return table


def found_in(home: Engine, source: Source, reading: ReadOptions, where: EngineOptions) -> EngineTable:
    """Return the table of an engine, or what the engine makes of files or of a table in memory."""
    if source is None:
        return _table(home, where.table or _only_table(home))
    if isinstance(source, str | Path):
        if where.connect is not None and not format_of(str(source)):  # a name, where a table was meant
            raise OptionError(
                f"with --connect the answers are a table of {home.name}: say --table {render_address(source)}"
            )
        return _file(home, source, reading)
    return home.upload(read_table(source, wanted_columns(reading, where)))


def wanted_columns(reading: ReadOptions, where: EngineOptions = DUCKDB) -> dict[str, str]:
    """Name the columns and, for each, what to do where it is not there.

    >>> list(wanted_columns(ReadOptions("item"), EngineOptions(order="day")))
    ['item', 'worker', 'label', 'day']
    """
    order = {} if where.order is None else {where.order: "Let order= (--order) name one of those"}
    return reading.wanted() | order


def _table(home: Engine, name: str) -> EngineTable:
    database, _, own = name.rpartition(".")
    try:
        return home.backend.table(own, database=database or None)
    except Exception as error:
        raise EngineError(_not_opened(home, name, error)) from public_cause(error)


def _only_table(home: Engine) -> str:
    """Name the one table that an engine has."""
    there = sorted(home.backend.list_tables())
    if len(there) != 1:
        named = f": {listing(there, 12)}. Name the one with the answers (--table)" if there else ""
        raise OptionError(f"{home.name} has {count(len(there), 'table')}{named}")
    return there[0]


def _not_opened(home: Engine, name: str, error: Exception) -> str:
    """Say why a table cannot be opened: it is not there, and what is, or it is there and fails."""
    database, _, own = name.rpartition(".")
    try:
        there = sorted(home.backend.list_tables(database=database or None))
    except Exception:  # no such schema, or none that may be looked into
        there = []
    if own in there:
        return f"{home.name} cannot open the table {name!r}: {first_line(error)}"
    listed = f"{f'in {database} ' if database else ''}there is {listing(there, 12) or 'none'}"
    elsewhere = "" if database else ". Name a table of another schema as schema.table"
    return f"{home.name} has no table {name!r}; {listed}{elsewhere}"


def _file(home: Engine, source: str | Path, reading: ReadOptions) -> EngineTable:
    path = str(source)
    if path == "-":
        raise OptionError("an engine reads files and tables, not standard input; write the answers to a file first")
    written_as = reading.format or _format(path)
    backend, spark = home.backend, home.name == "pyspark"
    mark = reading.delimiter or ("\t" if written_as == "tsv" else ",")
    try:
        if written_as == "parquet":
            return backend.read_parquet(path)
        if written_as == "jsonl":
            return backend.read_json(path) if spark else json_lines_in(home, path, reading.columns)
        # As text, so that an id like 007 comes back as it went in.
        if spark:
            return backend.read_csv(path, header=True, inferSchema=False, sep=mark, multiLine=True, escape='"')
        return backend.read_csv(path, delim=mark, **DIALECT)
    except QuorateError:
        raise
    except Exception as error:
        why = first_line(error, path)
        cause = public_cause(error, path)
        raise UnreadableFileError(f"{home.name} cannot read {render_address(path)}: {why}") from cause


def json_lines_in(home: Engine, path: str, columns: Sequence[str]) -> EngineTable:
    """Let DuckDB read JSON lines; text stays text, where DuckDB would make dates, times and UUIDs of it.

    It would take two spellings of one time, or of one UUID, for one id.

    Args:
        home: a DuckDB.
        path: of the file, or a pattern of files.
        columns: those that hold ids and labels.

    Raises:
        ColumnTypeError: one of these columns holds values of several types.
    """
    found = home.backend.read_json(path)
    described = home.backend.con.sql(f"DESCRIBE {quoted(home.backend, found.op().name)}").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    for name in columns:
        if kinds.get(name) == "JSON" and home.fetch(found[name].notnull().sum(), "counting values")[0][0].as_py():
            raise ColumnTypeError(f"column {name!r} of {path} changes its type from line to line; make it one type")
    made = [name for name in columns if kinds.get(name, "").startswith(MADE_OF_TEXT)]
    if not made:
        return found
    return home.backend.read_json(path, columns={**kinds, **dict.fromkeys(made, "VARCHAR")})


def _format(path: str) -> str:
    found = format_of(path)
    if found is None:
        raise UnknownFormatError(
            f"cannot tell what kind of files {render_address(path)} are; end the pattern in .parquet, .csv, .tsv or "
            ".jsonl, or say format= (--input-format)"
        )
    return found


def by_role(table: EngineTable, reading: ReadOptions, where: EngineOptions = DUCKDB) -> EngineTable:
    """Call the columns task, worker, label and order, whatever they are called.

    >>> import ibis
    >>> by_role(ibis.table({"item": "int64", "worker": "int64", "label": "string"}), ReadOptions("item")).columns
    ('task', 'worker', 'label')
    """
    named = dict(zip(ROLES, reading.columns, strict=True)) | ({} if where.order is None else {"order": where.order})
    return table.select(**{own: table[name] for own, name in named.items()})
