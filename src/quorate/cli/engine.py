"""The options that say which engine holds the answers, and what is read there."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.errors import OptionError

if TYPE_CHECKING:
    from quorate.reading.options import ReadOptions
    from quorate.reading.read import Reading
    from quorate.result import Result
    from quorate.warehouse.engine import EngineOptions
    from quorate.warehouse.taken_out import EngineReading, Held


def _engine_options(
    engine: Annotated[
        str | None,
        typer.Option(help="duckdb or spark, to read FILE, which may be a pattern; mostly it is chosen for you."),
    ] = None,
    memory: Annotated[str | None, typer.Option(help="What may be used, as 4GB; beyond it, duckdb spills.")] = None,
    temp: Annotated[str | None, typer.Option(metavar="DIR", help="duckdb: where it spills to.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="spark: its master, as local[4].")] = None,
    connect: Annotated[
        str | None, typer.Option(metavar="URL", help="Of an engine, as postgres://host/name; or give it for FILE.")
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="The table there, if it has more than one.")] = None,
    order: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="In an engine: what says which of two answers came first.")
    ] = None,
) -> None:
    """Where the answers are."""


ENGINE = inspect.signature(_engine_options).parameters
# How a file is read that an engine does not read.
NOT_THERE = {"tool": "auto", "question": None, "join_choices": False, "keep_rejected": False, "encoding": "utf-8"}


def find_in_engine(given: Mapping[str, Any], reading: "ReadOptions", *, sample: bool) -> "EngineReading | Held | None":
    """Read answers that an engine holds; where they are too many a sample, or none of them. None without an engine.

    The first line that is printed says which engine it is, and why.
    """
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.warehouse.choose import choose_engine
    from quorate.warehouse.engine import EngineOptions

    where = EngineOptions(**{name: given[name] for name in ENGINE})
    choice = None if _needs_no_engine(given["file"], where) else choose_engine(given["file"], where)
    if choice is None:
        if given["file"] is None:
            raise OptionError("give FILE: a file or a pattern of files, the URL of an engine, or a database")
        if where.order is not None or given.get("output_table") is not None:
            flag = "--order" if where.order is not None else "--output-table"
            raise OptionError(f"{flag} is for an engine, and {given['file']} is read without one; say --engine duckdb")
        return None
    _refuse_others(given, choice.name)
    from quorate.warehouse.taken_out import find_answers, take_out

    with showing_progress():
        held, time = find_answers(given["file"], reading, where), given.get("time")
        try:
            also = [] if time is None else [time]
            found = take_out(held, also, sample=sample) if held.is_small or sample else held
        except BaseException:
            held.engine.close()
            raise
    print_lines(found.lines(), error=_has_data(given))
    return found


def _needs_no_engine(source: Any, where: "EngineOptions") -> bool:
    """Whether several files, a folder or a pattern are small enough to be read without an engine, and none is named."""
    from quorate.reading.several_files import expand_files, fit_in_memory

    if where != type(where)() or source is None:
        return False
    if isinstance(source, str) and "://" in source:
        return False
    files = expand_files(source)
    return files is not None and fit_in_memory(files)


@contextmanager
def closing_engine(reading: "Reading") -> Iterator[None]:
    """End the connection to the engine that the answers came from, if there is one, after the block."""
    try:
        yield
    finally:
        held = getattr(reading, "held", None)
        if held is not None:
            held.engine.close()


def _refuse_others(given: Mapping[str, Any], engine: str) -> None:
    """Say which of the options given mean nothing to an engine; none is passed over in silence."""
    for name, default in NOT_THERE.items():
        if given.get(name, default) != default:
            raise OptionError(f"{flag_of(name)} does not work where {engine} reads the answers; leave it out")


def flag_of(name: str) -> str:
    """Write an option as people type it."""
    return "--from" if name == "tool" else f"--{name.replace('_', '-')}"


def _has_data(given: Mapping[str, Any]) -> bool:
    """Whether standard output is for a program: JSON, or a table in a pipe."""
    in_pipe = "output" in given and given["output"] in (None, "-") and not sys.stdout.isatty()
    return bool(given.get("json")) or (in_pipe and given.get("output_table") is None)


def table_maker(reading: "Reading", name: str | None) -> Callable[["Result"], None]:
    """Return what makes a table of the labels in the engine that the answers came from; nothing, without a name.

    Raises:
        EngineError: there is a table of that name.
    """
    if name is None:
        return lambda result: None
    from quorate.warehouse.taken_out import EngineReading
    from quorate.warehouse.write import check_table, put_table

    assert isinstance(reading, EngineReading)  # `find_in_engine` refuses the option where there is none
    engine = reading.home
    check_table(engine, name)
    return lambda result: put_table(engine, result.labels.arrow, name)
