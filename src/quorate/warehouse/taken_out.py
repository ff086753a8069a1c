"""Answers in an engine that fit into memory -> `Answers`, by the path of any other table: nothing is decided twice."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.addresses import render_address
from quorate.answers import Answers
from quorate.arrays import from_numpy
from quorate.errors import BlankFieldError, NoRowsError, NotInMemoryError, OptionError, count
from quorate.methods.over_blocks import BLOCK_METHODS
from quorate.reading.columns import encode, order_classes
from quorate.reading.files import Source
from quorate.reading.objects import check_columns
from quorate.reading.options import ReadOptions
from quorate.reading.pipes import keep_pipes
from quorate.reading.read import Reading
from quorate.reading.rows import read_rows
from quorate.warehouse.choose import Choice, choose_engine
from quorate.warehouse.engine import Engine, EngineOptions
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.source import open_table, split_options, wanted_columns
from quorate.warehouse.spreading import hashes_of, plain_column

MOST = 20_000_000  # answers that are simply read: four gigabytes at the most, which laptops have
BYTES = 200  # that an answer takes at the peak of the default method (`make bench`: the peak of m10 over its answers)
SPARE = 0.95  # of what memory holds, that a sample aims at: tasks have more answers and fewer
SIZES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class EngineReading(Reading):
    """Answers that were read out of an engine, and where they lie; the labels can go there, too."""

    held: "Held | None" = None

    @property
    def name(self) -> str | None:
        """The table or the files that the answers are in, for messages and reports."""
        return super().name if self.held is None else self.held.name

    @property
    def home(self) -> Engine:
        """The engine."""
        assert self.held is not None  # a default, because what this is built on has defaults
        return self.held.engine

    def lines(self) -> list[str]:
        """Say in a line which engine has the answers, why, and whether all that follows is told of a sample."""
        if self.held is None:
            return []
        (line,) = self.held.lines()
        drawn = f"{count(self.answers.n_answers, 'answer')} to {count(self.answers.n_tasks, 'task')}"
        told = f"; this is told of a sample of whole tasks, drawn by a hash of their ids: {drawn}"
        return [f"{line}{told}" if self.is_sample else line]

    def told(self) -> dict[str, Any]:
        """Return what a program must be told of a sample: of how many rows, and how much was drawn."""
        if not self.is_sample or self.held is None:
            return {}
        drawn = {"n_answers": self.answers.n_answers, "n_tasks": self.answers.n_tasks}
        return {"sample": {"of_rows": self.held.n_rows, **drawn, "drawn_by": "hash of the task's id"}}


@dataclass(frozen=True)
class Held:
    """Answers that lie in an engine, counted and not yet read."""

    engine: Engine
    table: EngineTable  # with the columns of the caller's names, and any others
    n_rows: int
    reading: ReadOptions
    choice: Choice

    @property
    def is_small(self) -> bool:
        """Whether they are few enough to be read."""
        return self.n_rows <= most_answers(self.choice.where)

    @property
    def name(self) -> str | None:
        """The table or the files that they are in; None for an object of the caller."""
        source = self.choice.source
        if isinstance(source, str | Path):
            return render_address(source)
        return self.table.op().name if source is None else None

    def lines(self) -> list[str]:
        """Say which engine holds the answers, and why."""
        size = "few enough for memory" if self.is_small else "too many for memory"
        return [f"{self.choice.name} has the answers, because {self.choice.why}: {count(self.n_rows, 'row')}, {size}"]

    def refuse(self, what: str) -> NotInMemoryError:
        """Return an error that says what needs the answers in memory."""
        allow = "" if self.choice.where.memory is None else ", or allow more memory= (--memory)"
        return NotInMemoryError(
            f"{what} needs every answer in memory, and {self.engine.name} has {count(self.n_rows, 'row')}, more than "
            f"the {most_answers(self.choice.where):,} that are read. Take a sample of whole tasks{allow}; "
            f"{', '.join(BLOCK_METHODS)} (--method) run beyond memory"
        )


def find_answers(source: Source, reading: ReadOptions, where: EngineOptions) -> Held:
    """Find answers in an engine, which is chosen where none is named, and count them.

    Raises:
        EngineError: the engine is not there.
        OptionError: the first or the last of two answers is to stand, and nothing says which that is.
        InputError: the answers are not there, or have no such columns.

    >>> find_answers({"task": [1], "worker": ["ann"], "label": ["cat"]}, ReadOptions(), EngineOptions()).n_rows
    1
    """
    choice = choose_engine(source, where) or Choice(source, where, where.name, "it is the usual one")
    check_order(reading.on_conflict, choice.where.order)
    engine, table = open_table(choice.source, reading, choice.where)
    n_rows = int(engine.fetch(table.agg(n=table.count()), "counting the rows").column("n")[0].as_py())
    if n_rows == 0:
        engine.close()
        raise NoRowsError("there are columns, but no answers under them")
    return Held(engine, table, n_rows, reading, choice)


def take_out(held: Held, also: Sequence[str] = (), *, sample: bool = False) -> EngineReading:
    """Read answers out of their engine.

    Args:
        held: where they are.
        also: further columns to keep (``source`` of what is returned is then the table), as times.
        sample: where they are too many, take as many tasks, whole, as memory holds, drawn by a hash of their ids.

    Raises:
        NotInMemoryError: they are too many.
        InputError: they cannot be used as they are; each cause has its own class.

    >>> held = find_answers({"task": [1], "worker": ["ann"], "label": ["cat"]}, ReadOptions(), EngineOptions())
    >>> take_out(held).answers.n_answers
    1
    """
    if not held.is_small and not sample:
        raise held.refuse("this")
    reading, order = held.reading, held.choice.where.order
    names = dict.fromkeys([*wanted_columns(reading, held.choice.where), *also])
    check_columns(held.table.columns, dict.fromkeys(also, "Name the right one"), "the table")
    query = held.table.select(*names)
    batches = held.engine.stream(query, "reading the answers", held.n_rows)
    table = pa.Table.from_batches(batches if held.is_small else _drawn(batches, held))
    table = pa.table({name: _plain(table.column(name)) for name in names})
    if order is not None:
        table = _put_in_order(table, reading, order)
    answers = replace(read_rows(table, reading, ordered=False), judges=reading.judges)
    source = table if also else held.choice.source
    return EngineReading(answers, source, reading, is_sample=not held.is_small, held=held)


def _drawn(batches: Iterator[pa.RecordBatch], held: Held) -> Iterator[pa.RecordBatch]:
    """Keep the rows of tasks whose hash is small; those without a task too, so that they are told of."""
    share = SPARE * most_answers(held.choice.where) / held.n_rows
    for batch in batches:
        yield batch.filter(from_numpy(hashes_of(batch.column(0)) <= np.uint64(share * 2**64)))


@keep_pipes()
def read(source: Source = None, **options: Any) -> Answers:
    """Read answers out of an engine: files that DuckDB or Spark reads, a database, whatever ibis connects to.

    What `quorate.read` is for one file. Every command and function takes what it returns.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table; None with ``table``.
        options: where the answers are, see `quorate.warehouse.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order, most; how to read them, as `quorate.read`: task, worker, label, on_conflict,
            skip_missing, classes, format, delimiter, group.

    Raises:
        NotInMemoryError: there are more than 20 million, or more than ``memory`` holds.
        EngineError: the engine is not there, or failed.
        InputError: the answers cannot be used as they are.

    >>> read({"task": [1, 1], "worker": ["ann", "bob"], "label": ["cat", "dog"]}, engine="duckdb").n_answers
    2
    """
    reading, where, others = split_options(options)
    if others:
        raise OptionError(f"there is no option {next(iter(others))!r} for reading out of an engine")
    held = find_answers(source, reading, where)
    try:
        return take_out(held).answers
    finally:
        held.engine.close()


def most_answers(where: EngineOptions) -> int:
    """Return how many answers are read, at the most: fewer than usual where only so much memory may be used.

    >>> most_answers(EngineOptions()), most_answers(EngineOptions(memory="500MB"))
    (20000000, 2500000)
    """
    if where.most is not None:
        return where.most
    found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?)b?\s*", where.memory or "", re.IGNORECASE)
    if found is None:  # none is said, or a share, as 80%, of which DuckDB knows the whole
        return MOST
    return min(MOST, int(float(found[1]) * SIZES.get(found[2].lower(), 1) / BYTES))


def check_order(on_conflict: str, order: str | None) -> None:
    """Refuse to keep the first or the last where nothing says which that is.

    Raises:
        OptionError: there is no column of that kind.

    >>> check_order("drop", None)
    """
    if on_conflict in ("first", "last") and order is None:
        raise OptionError(
            f"on_conflict={on_conflict!r} needs to know which answer came {on_conflict}, and the rows of an engine "
            "have no order of their own: name the column that says so with order= (--order), or choose 'drop'"
        )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Take an engine's own types, as DuckDB's UUIDs, for the text or bytes behind them."""
    return pa.chunked_array([plain_column(chunk) for chunk in column.chunks]) if column.num_chunks else column


def _put_in_order(table: pa.Table, reading: ReadOptions, order: str) -> pa.Table:
    """Sort rows so that the first and the last answer stand first and last.

    Two labels at one place in the order: the engine has no further order, so the first class counts.
    """
    missing = table.column(order).null_count
    if missing:
        raise BlankFieldError(f"the column that orders the answers is missing in {count(missing, 'row')}")
    if reading.on_conflict not in ("first", "last"):
        return table
    codes, names = encode(table.column(reading.columns[2]), reading.columns[2], is_label=True)
    present = codes >= 0
    if present.any():
        codes = codes.copy()
        more = reading.abstain or reading.map is not None  # labels that are no classes
        codes[present] = order_classes(codes[present], names, None if more else reading.classes)[0]
    towards = "ascending" if reading.on_conflict == "first" else "descending"
    keyed = pa.table({"order": table.column(order), "class": from_numpy(codes)})
    return table.take(pc.sort_indices(keyed, [("order", "ascending"), ("class", towards)]))
