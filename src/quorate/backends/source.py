"""Files, a table of an engine, or an ibis table -> a connection and the columns task, worker, label there.

Answers in an engine that fit into memory -> `Answers`, by the same code as any other table.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.addresses import public_cause, render_address
from quorate.answers import Answers
from quorate.arrays import from_numpy
from quorate.backends.choose_engine import EngineChoice, chosen_or_default
from quorate.backends.engine import DUCKDB, Engine, EngineOptions, connect, first_line
from quorate.backends.expressions import EngineTable
from quorate.backends.input_files import record_engine_inputs
from quorate.backends.partition import hashes_of, plain_column
from quorate.backends.task_rows import row_order
from quorate.backends.transfer import quoted
from quorate.blocks.block import OUT_OF_CORE_METHODS
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    EngineError,
    NoRowsError,
    NotInMemoryError,
    OptionError,
    PairwiseFileError,
    QuorateError,
    UnknownFormatError,
    UnreadableFileError,
    count,
    listing,
)
from quorate.io.columns import encode, order_classes, refuse_other_names
from quorate.io.dataframes import check_columns
from quorate.io.options import AS_USUAL, ROLES, ReadOptions, read_options, split_reading
from quorate.io.pairs import looks_like_pairs
from quorate.io.pipes import keep_pipes
from quorate.io.read import Reading
from quorate.io.read_table import Source, format_of, read_table
from quorate.io.rows import read_rows

# Options for reading answers in an engine.
READING_OPTION_NAMES = (
    "task",
    "worker",
    "label",
    "on_conflict",
    "skip_missing",
    "classes",
    "format",
    "delimiter",
    "group",
    "judges",
    "abstain",
    "map",
)
# The dialect of CSV of the reader in memory; DuckDB would guess it from the first rows, and remove single quotes.
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
MADE_OF_TEXT = ("DATE", "TIME", "UUID")  # types to which DuckDB converts text in JSON; TIME includes TIMESTAMP
ENGINE_OPTION_NAMES = tuple(field.name for field in fields(EngineOptions))


def split_options(options: Mapping[str, Any]) -> tuple[ReadOptions, EngineOptions, dict[str, Any]]:
    """Divide keyword arguments into reading options, engine options, and all others.

    Raises:
        OptionError: one of them has no meaning inside an engine, or an invalid value.

    >>> reading, engine_options, others = split_options({"task": "item", "memory": "4GB", "tau": 0.5})
    >>> reading.task, engine_options.memory, others
    ('item', '4GB', {'tau': 0.5})
    """
    reading, more_options = split_reading(options)
    how = read_options(reading)
    how.refuse_but(READING_OPTION_NAMES, "inside an engine")
    if more_options.get("group", "") is None:  # neither a column of groups nor a mapping of workers to groups
        more_options.pop("group")
    engine_options = EngineOptions(
        **{name: more_options.pop(name) for name in ENGINE_OPTION_NAMES if name in more_options}
    )
    return how, engine_options, more_options


def open_table(
    source: Source = None, reading: ReadOptions = AS_USUAL, engine_options: EngineOptions = DUCKDB
) -> tuple[Engine, EngineTable]:
    """Return the engine that has the answers, and the table there, with its own columns.

    Args:
        source: a path or a pattern (``answers/*.parquet``; also CSV and JSON lines), an ibis table, or one in memory.
        reading: the columns, and the format and delimiter of files.
        engine_options: the engine and, instead of a source, a table there; the column that orders the answers.

    Raises:
        EngineError: the engine is not available.
        InputError: the answers do not exist, or have no such columns.

    >>> open_table({"item": [1], "who": ["ann"], "label": ["cat"]}, ReadOptions("item", "who"))[1].columns
    ('item', 'who', 'label')
    """
    if engine_options.table is not None and source is not None:
        raise OptionError("give files or a table (--table), not both")
    if source is None and engine_options.table is None and engine_options.connect is None:
        raise OptionError("No answers are given. Give files, or the name of a table (table=, --table)")
    ibis_table: Any = source if type(source).__module__.partition(".")[0] == "ibis" else None
    engine = connect(engine_options) if ibis_table is None else Engine(ibis_table.get_backend())
    try:
        table = found_in(engine, source, reading, engine_options) if ibis_table is None else ibis_table
        record_engine_inputs(engine, table, source)
        table = _with_optional_columns(table, reading)
        if not set(reading.columns) <= set(table.columns):
            proposal = looks_like_pairs(list(table.columns), render_address(source) if source is not None else "FILE")
            if proposal is not None and not any(reading.chosen.values()):
                raise PairwiseFileError(f"The table holds {proposal.sentence}. To rank its items: {proposal.command}")
            refuse_other_names(table.columns, reading.chosen, "the table")
        check_columns(table.columns, required_columns(reading, engine_options), "the table")
        for name in required_columns(reading, engine_options):
            kind = table[name].type()
            if kind.is_nested():
                raise ColumnTypeError(
                    f"column {name!r} holds {kind} values; an id or a label must be text, a number or a date"
                )
    except BaseException:
        engine.close()
        raise
    return engine, table


def _with_optional_columns(table: EngineTable, reading: ReadOptions) -> EngineTable:
    """Add columns that scores may lack: a single worker for all rows, and scores under another usual name."""
    if not reading.is_score:
        return table
    from quorate.io.scores import COLUMN_NAMES

    _, worker, score = reading.columns
    if not reading.has_workers:
        import ibis

        table = table.mutate(**{worker: ibis.literal(worker)})
    other = next((name for name in COLUMN_NAMES if name in table.columns), None)
    if reading.label is None and score not in table.columns and other is not None:
        table = table.mutate(**{score: table[other]})
    return table


def found_in(engine: Engine, source: Source, reading: ReadOptions, engine_options: EngineOptions) -> EngineTable:
    """Return the table of an engine, or the table that the engine makes from files or a table in memory."""
    if source is None:
        return _table(engine, engine_options.table or _only_table(engine))
    if isinstance(source, str | Path):
        if engine_options.connect is not None and not format_of(str(source)):  # a name that was meant as a table
            raise OptionError(
                f"With connect= the answers are a table of {engine.name}. Name it with table={render_address(source)}"
            )
        return _file(engine, source, reading)
    return engine.upload(read_table(source, required_columns(reading, engine_options)))


def required_columns(reading: ReadOptions, engine_options: EngineOptions = DUCKDB) -> dict[str, str]:
    """Return the names of the columns and, for each, the remedy if it is missing.

    >>> list(required_columns(ReadOptions("item"), EngineOptions(order="day")))
    ['item', 'worker', 'label', 'day']
    """
    order = {} if engine_options.order is None else {engine_options.order: "Choose one with order= (--order)"}
    return reading.required_columns() | order


def _table(engine: Engine, name: str) -> EngineTable:
    database, _, table_name = name.rpartition(".")
    try:
        return engine.backend.table(table_name, database=database or None)
    except Exception as error:
        raise EngineError(_not_opened(engine, name, error)) from public_cause(error)


def _only_table(engine: Engine) -> str:
    """Return the name of the only table of an engine."""
    tables = sorted(engine.backend.list_tables())
    if len(tables) != 1:
        named = [*tables, *_tables_elsewhere(engine)]
        one_of_them = f": {listing(named, 12)}. Name the one with the answers (--table)"
        proposal = one_of_them if named else "; give a database that has the answers"
        raise OptionError(f"The database has {count(len(tables), 'table')}{proposal}")
    return tables[0]


SYSTEM_SCHEMAS = ("information_schema", "pg_catalog", "pg_toast")


def _tables_elsewhere(engine: Engine) -> list[str]:
    """List the tables of other schemas as schema.table; none where the engine does not list schemas."""
    backend: Any = engine.backend
    try:
        schemas = [name for name in backend.list_databases() if name not in SYSTEM_SCHEMAS]
        current = backend.current_database
        return sorted(
            f"{name}.{table}" for name in schemas if name != current for table in backend.list_tables(database=name)
        )
    except Exception:  # every engine has its own exceptions, and some list no schemas
        return []


def _not_opened(engine: Engine, name: str, error: Exception) -> str:
    """Explain why a table cannot be opened: it does not exist (with those that do), or reading it fails."""
    database, _, table_name = name.rpartition(".")
    try:
        tables = sorted(engine.backend.list_tables(database=database or None))
    except Exception:  # no such schema, or one without permission
        tables = []
    if table_name in tables:
        return f"the engine {engine.name} cannot open the table {name!r}: {first_line(error)}"
    has = listing(tables, 12) or "no tables"
    listed = f"{database or 'it'} has {has}"
    other_tables = [] if database else _tables_elsewhere(engine)
    elsewhere = f". Other schemas have {listing(other_tables, 12)}" if other_tables else ""
    return f"the engine {engine.name} has no table {name!r}; {listed}{elsewhere}"


def _file(engine: Engine, source: str | Path, reading: ReadOptions) -> EngineTable:
    path = str(source)
    if path == "-":
        raise OptionError("an engine reads files and tables, not standard input; write the answers to a file first")
    written_as = reading.format or _format(path)
    backend = engine.backend
    spark = engine.name == "pyspark"
    mark = reading.delimiter or ("\t" if written_as == "tsv" else ",")
    try:
        if written_as == "parquet":
            return backend.read_parquet(path)
        if written_as == "jsonl":
            return backend.read_json(path) if spark else json_lines_in(engine, path, reading.columns)
        # As text, so that an id such as 007 is not changed.
        if spark:
            return backend.read_csv(path, header=True, inferSchema=False, sep=mark, multiLine=True, escape='"')
        return backend.read_csv(path, delim=mark, **DIALECT)
    except QuorateError:
        raise
    except Exception as error:
        why = first_line(error, path)
        cause = public_cause(error, path)
        message = f"the file {render_address(path)} cannot be read with {engine.name}: {why}"
        raise UnreadableFileError(message) from cause


def json_lines_in(engine: Engine, path: str, columns: Sequence[str]) -> EngineTable:
    """Let DuckDB read JSON lines; text stays text.

    DuckDB would convert text to dates, times and UUIDs, and so take two spellings of one time or UUID for one id.

    Args:
        engine: an engine of DuckDB.
        path: path of the file, or a pattern of files.
        columns: the columns of ids and labels.

    Raises:
        ColumnTypeError: one of these columns holds values of several types.
    """
    table = engine.backend.read_json(path)
    described = engine.backend.con.sql(f"DESCRIBE {quoted(engine.backend, table.op().name)}").fetchall()
    kinds = {name: kind for name, kind, *_ in described}
    for name in columns:
        if kinds.get(name) == "JSON" and engine.fetch(table[name].notnull().sum(), "counting values")[0][0].as_py():
            raise ColumnTypeError(
                f"column {name!r} of {path} changes its type from line to line; give all its values one type"
            )
    converted_to_text = [name for name in columns if kinds.get(name, "").startswith(MADE_OF_TEXT)]
    if not converted_to_text:
        return table
    return engine.backend.read_json(path, columns={**kinds, **dict.fromkeys(converted_to_text, "VARCHAR")})


def _format(path: str) -> str:
    file_format = format_of(path)
    if file_format is None:
        raise UnknownFormatError(
            f"The format of {render_address(path)} is not clear. End the pattern in .parquet, .csv, .tsv or "
            ".jsonl, or use format= (--from csv)"
        )
    return file_format


MAX_ANSWERS = 20_000_000  # read into memory by default: at most four gigabytes, which laptops have
ANSWER_BYTES = 200  # per answer at the peak of the default method (`make bench`: the peak of m10 over its answers)
SAMPLE_FRACTION = 0.95  # of the answers that fit in memory; a margin, because tasks differ in their number of answers
SIZES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class EngineReading(Reading):
    """Answers that were read from an engine, with their engine, to which labels can be written."""

    engine_source: "EngineSource | None" = None

    @property
    def name(self) -> str | None:
        """The table or the files that the answers are in, for messages and reports."""
        return super().name if self.engine_source is None else self.engine_source.name

    @property
    def home(self) -> Engine:
        """The engine of the answers."""
        assert self.engine_source is not None  # None only because the base class has defaults
        return self.engine_source.engine

    def lines(self) -> list[str]:
        """Return a line that names the engine, why it was chosen, and whether the output describes a sample."""
        if self.engine_source is None:
            return []
        (line,) = self.engine_source.lines()
        sample_size = f"{count(self.answers.n_answers, 'answer')} to {count(self.answers.n_tasks, 'task')}"
        sample = f"; the output describes a sample of complete tasks, chosen by a hash of their ids: {sample_size}"
        return [f"{line.removesuffix('.')}{sample}." if self.is_sample else line]

    def sample_fields(self) -> dict[str, Any]:
        """Return the size of the sample and of the table, for programs; empty where everything was read."""
        if not self.is_sample or self.engine_source is None:
            return {}
        sample_size = {"n_answers": self.answers.n_answers, "n_tasks": self.answers.n_tasks}
        return {"sample": {"of_rows": self.engine_source.n_rows, **sample_size, "drawn_by": "hash of the task's id"}}


@dataclass(frozen=True)
class EngineSource:
    """A table of answers in an engine, with its number of rows; not read yet."""

    engine: Engine
    table: EngineTable  # with the columns that the caller names, and others
    n_rows: int
    reading: ReadOptions
    choice: EngineChoice

    @property
    def engine_options(self) -> EngineOptions:
        """The options of the caller, with the engine that was chosen."""
        return self.choice.engine_options

    def by_role(self) -> EngineTable:
        """Return the table with the columns task, worker and label; and order, if it resolves conflicting answers."""
        columns = dict(zip(ROLES, self.reading.columns, strict=True))
        order = self.engine_options.order
        if order is not None and self.reading.on_conflict in ("first", "last"):
            columns["order"] = order
        return self.table.select(**{role: self.table[name] for role, name in columns.items()})

    @property
    def is_small(self) -> bool:
        """Whether they are few enough to be read into memory."""
        return self.n_rows <= most_answers(self.engine_options)

    @property
    def name(self) -> str | None:
        """The table or the files of the answers; None for an object of the caller."""
        source = self.choice.source
        if isinstance(source, str | Path):
            return render_address(source)
        return self.table.op().name if source is None else None

    def lines(self) -> list[str]:
        """Return a line with the engine, the reason for it, and the number of rows."""
        size = "which fit into memory" if self.is_small else "which do not fit into memory"
        return [f"Read with {self.choice.name}, because {self.choice.why}: {count(self.n_rows, 'row')}, {size}."]

    def refuse(self, what: str) -> NotInMemoryError:
        """Return the error that `what` needs the answers in memory."""
        allow = "" if self.engine_options.memory is None else ", or allow more memory= (--engine duckdb:memory=16GB)"
        return NotInMemoryError(
            f"{what} needs every answer in memory, and {self.engine.name} has {count(self.n_rows, 'row')}, more than "
            f"the {most_answers(self.engine_options):,} that are read. Take a sample of whole tasks{allow}; "
            f"{', '.join(OUT_OF_CORE_METHODS)} (--method) run on data larger than memory"
        )


def find_answers(source: Source, reading: ReadOptions, engine_options: EngineOptions) -> EngineSource:
    """Return the answers in an engine, counted; the engine is chosen if none is named.

    Raises:
        EngineError: the engine is not available.
        OptionError: the first or the last of conflicting answers is to count, and no column has their order.
        InputError: the answers do not exist, or have no such columns.

    >>> find_answers({"task": [1], "worker": ["ann"], "label": ["cat"]}, ReadOptions(), EngineOptions()).n_rows
    1
    """
    choice = chosen_or_default(source, engine_options)
    check_order(reading.on_conflict, choice.engine_options.order)
    engine, table = open_table(choice.source, reading, choice.engine_options)
    n_rows = int(engine.fetch(table.agg(n=table.count()), "counting the rows").column("n")[0].as_py())
    if n_rows == 0:
        engine.close()
        raise NoRowsError("There is a header, but no answers below it")
    return EngineSource(engine, table, n_rows, reading, choice)


def read_into_memory(
    engine_source: EngineSource, extra_columns: Sequence[str] = (), *, sample: bool = False
) -> EngineReading:
    """Read the engine's answers into memory, or a sample of whole tasks.

    Args:
        engine_source: the answers.
        extra_columns: such as times; the ``source`` of the result is then the table.
        sample: if there are too many answers, read as many whole tasks as memory holds, chosen by a hash of their ids.

    Raises:
        NotInMemoryError: there are too many answers.
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> engine_source = find_answers({"task": [1], "worker": ["ann"], "label": ["cat"]}, ReadOptions(), EngineOptions())
    >>> read_into_memory(engine_source).answers.n_answers
    1
    """
    if not engine_source.is_small and not sample:
        raise engine_source.refuse("this")
    reading = engine_source.reading
    order = engine_source.engine_options.order
    names = dict.fromkeys([*required_columns(reading, engine_source.engine_options), *extra_columns])
    check_columns(engine_source.table.columns, dict.fromkeys(extra_columns, "Choose one of them"), "the table")
    query = engine_source.table.select(*names)
    batches = engine_source.engine.stream(query, "reading the answers", engine_source.n_rows)
    table = pa.Table.from_batches(batches if engine_source.is_small else _sampled_rows(batches, engine_source))
    table = pa.table({name: _plain(table.column(name)) for name in names})
    if order is not None:
        table = _put_in_order(table, reading, order)
    answers = replace(read_rows(table, reading, ordered=False), judges=reading.judges)
    source = table if extra_columns else engine_source.choice.source
    return EngineReading(answers, source, reading, is_sample=not engine_source.is_small, engine_source=engine_source)


def _sampled_rows(batches: Iterator[pa.RecordBatch], engine_source: EngineSource) -> Iterator[pa.RecordBatch]:
    """Yield the rows of tasks whose hash is small, and rows without a task, so that they are counted."""
    share = SAMPLE_FRACTION * most_answers(engine_source.engine_options) / engine_source.n_rows
    for batch in batches:
        yield batch.filter(from_numpy(hashes_of(batch.column(0)) <= np.uint64(share * 2**64)))


@keep_pipes()
def read(source: Source = None, **options: Any) -> Answers:
    """Read answers from an engine: files that DuckDB or Spark reads, a database, or any engine that ibis connects to.

    It is to engines what `quorate.read` is to files: every command and function takes the answers that it returns.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table; None with ``table``.
        options: where the answers are, see `quorate.backends.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order, most; how to read them, as `quorate.read`: task, worker, label, on_conflict,
            skip_missing, classes, format, delimiter, group.

    Raises:
        NotInMemoryError: there are more than 20 million, or more than ``memory`` holds.
        EngineError: the engine is not available, or failed.
        InputError: the answers cannot be used as they are.

    >>> read({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "dog"]}, engine="duckdb").n_answers
    2
    """
    reading, engine_options, unknown_options = split_options(options)
    if unknown_options:
        raise OptionError(f"there is no option {next(iter(unknown_options))!r} for reading from a database or engine")
    engine_source = find_answers(source, reading, engine_options)
    try:
        return read_into_memory(engine_source).answers
    finally:
        engine_source.engine.close()


def most_answers(engine_options: EngineOptions) -> int:
    """Return the maximum number of answers that are read into memory: 20 million, or what the allowed memory holds.

    >>> most_answers(EngineOptions()), most_answers(EngineOptions(memory="500MB"))
    (20000000, 2500000)
    """
    if engine_options.most is not None:
        return engine_options.most
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?)b?\s*", engine_options.memory or "", re.IGNORECASE)
    if match is None:  # no limit, or a percentage, whose base only DuckDB knows
        return MAX_ANSWERS
    return min(MAX_ANSWERS, int(float(match[1]) * SIZES.get(match[2].lower(), 1) / ANSWER_BYTES))


def check_order(on_conflict: str, order: str | None) -> None:
    """Check that a column has the order of the answers if the first or the last of conflicting ones is to count.

    Raises:
        OptionError: there is no such column.

    >>> check_order("drop", None)
    """
    if on_conflict in ("first", "last") and order is None:
        raise OptionError(
            f"on_conflict= (--on-conflict {on_conflict}) needs the order of the answers, and the rows of a "
            "database have none. Name the column that has it with order= (--order), or choose 'drop'"
        )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return `plain_column` of every chunk."""
    return pa.chunked_array([plain_column(chunk) for chunk in column.chunks]) if column.num_chunks else column


def _put_in_order(table: pa.Table, reading: ReadOptions, order: str) -> pa.Table:
    """Return the rows in their order, if the first or the last answer is to count; see `row_order`."""
    missing = table.column(order).null_count
    if missing:
        raise BlankFieldError(f"the column that orders the answers is missing in {count(missing, 'row')}")
    if reading.on_conflict not in ("first", "last"):
        return table
    codes, names = encode(table.column(reading.columns[2]), reading.columns[2], is_label=True)
    present = codes >= 0
    if present.any():
        codes = codes.copy()
        more = reading.abstain or reading.map is not None  # labels that are not classes
        codes[present] = order_classes(codes[present], names, None if more else reading.classes)[0]
    return table.take(row_order(table.column(order), codes, reading.on_conflict))
