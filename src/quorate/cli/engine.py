"""The options that let a command run inside the engine that holds the answers, and what it then does."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.arguments import read_options_of
from quorate.cli.options import offering
from quorate.errors import OptionError

if TYPE_CHECKING:
    from quorate.reading.options import ReadOptions
    from quorate.result import Result
    from quorate.warehouse.engine import EngineOptions


def _engine_options(
    engine: Annotated[
        str | None, typer.Option(help="duckdb or spark: count and vote inside it; FILE may be a pattern.")
    ] = None,
    memory: Annotated[str | None, typer.Option(help="duckdb: what it may use, as 4GB; beyond it, it spills.")] = None,
    temp: Annotated[str | None, typer.Option(metavar="DIR", help="duckdb: where it spills to.")] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="spark: its master, as local[4].")] = None,
    connect: Annotated[str | None, typer.Option(metavar="URL", help="An ibis connection, for other engines.")] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="A table of the engine, instead of FILE.")] = None,
    order: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="In an engine: what says which of two answers came first.")
    ] = None,
) -> None:
    """Where the answers are."""


OURS = inspect.signature(_engine_options).parameters
WHICH = ("engine", "connect", "table")  # any of these sends the command into an engine
READING = ("task", "worker", "label", "on_conflict", "skip_missing", "input_format", "delimiter")  # that it can heed
METHOD = typer.Option(help="See `quorate methods`.", show_default="quorate; in an engine rank-one")
OUTPUT_TABLE = inspect.Parameter(
    "output_table",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None, typer.Option(metavar="NAME", help="In an engine: make a table of the labels there.")
    ],
)


def in_engine(there: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that reads answers the engine options; with one of them, ``there`` runs instead.

    ``there`` takes how the answers are read and where they are, and names as its other parameters the options of the
    command that mean something inside an engine; any other that is given says that it does not.
    """

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        taken = {name for name in inspect.signature(there).parameters if name not in ("reading", "where")}
        extra = [OURS[name] for name in OURS] + ([OUTPUT_TABLE] if "output_table" in taken else [])

        @wraps(command)
        def run(**given: Any) -> None:
            if any(given[name] is not None for name in WHICH):
                from quorate.warehouse.engine import EngineOptions

                _refuse_others(given, own, taken | set(READING))
                chosen = {name: value for name, value in given.items() if name in taken}
                where = EngineOptions(**{name: given[name] for name in OURS})
                there(reading=read_options_of({name: given[name] for name in READING}), where=where, **chosen)
                return
            here = {name: given[name] for name in own}
            for parameter in extra:
                if given[parameter.name] is not None:
                    raise OptionError(f"{_flag(parameter.name)} needs --engine, --connect or --table")
            if here["file"] is None:
                raise OptionError("give FILE, or the --table of an engine")
            if here.get("method", "") is None:
                here["method"] = own["method"].default
            command(**here)

        return offering([*map(_shown, own.values()), *extra], run)

    return wrap


def _shown(parameter: inspect.Parameter) -> inspect.Parameter:
    """Let FILE and --method be left out: a table stands for the one, and the engine decides the other's default."""
    if parameter.name == "file":
        help_text = parameter.annotation.__metadata__[0].help
        optional = typer.Argument(metavar="FILE", help=help_text, show_default=False)
        return parameter.replace(default=None, annotation=Annotated[str | None, optional])
    if parameter.name == "method":
        return parameter.replace(default=None, annotation=Annotated[str | None, METHOD])
    return parameter


def _refuse_others(given: dict[str, Any], own: Any, taken: set[str]) -> None:
    """Say which of the options given mean nothing inside an engine; none is passed over in silence."""
    for name, parameter in own.items():
        default = None if name in ("file", "method") else parameter.default
        if name not in taken and given[name] != default:
            there = " and ".join(_flag(each) for each in WHICH if given[each] is not None)
            raise OptionError(f"{_flag(name)} does not work inside an engine; leave it out, or leave out {there}")


def _flag(name: str) -> str:
    return "--from" if name == "tool" else f"--{name.replace('_', '-')}"


def aggregate_there(
    reading: "ReadOptions",
    where: "EngineOptions",
    *,
    file: str | None,
    method: str | None,
    output: str | None,
    output_table: str | None,
    workers_out: str | None,
    gold: str | None,
    level: float,
    intervals: str,
    solver: str | None,
    tau: float | None,
    weighting: str | None,
    threshold: float | None,
    signs: str | None,
    json: bool,
) -> None:
    """Aggregate inside an engine, and print what `quorate aggregate` prints."""
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.warehouse import aggregate
    from quorate.warehouse.engine_labels import labels_there
    from quorate.writing.tables import to_json, write_table

    chosen = {"solver": solver, "tau": tau, "weighting": weighting, "threshold": threshold, "signs": signs}
    options: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    with showing_progress():
        result = aggregate(
            file,
            method,
            gold=gold,
            output=None if output == "-" else output,
            output_table=output_table,
            intervals=intervals,
            level=level,
            **vars(reading),
            **vars(where),
            **options,
        )
    told = ""
    if json:
        found = result.to_dict(labels=output is None and output_table is None, workers=workers_out is None)
        told = to_json({**found, **labels_there(result).run()})
    if workers_out is not None:
        write_table(result.workers, workers_out)
    if json:
        print_data(told)
    elif labels_there(result).output is not None:
        print_lines(result.summary().splitlines())
    else:
        _show(result, whole=output == "-" or not sys.stdout.isatty())


def diagnose_there(
    reading: "ReadOptions", where: "EngineOptions", *, file: str | None, gold: str | None, delta: float, json: bool
) -> None:
    """Diagnose inside an engine, and print what `quorate diagnose` prints."""
    from quorate.cli.terminal import print_data, print_lines, print_table, showing_progress
    from quorate.warehouse import diagnose
    from quorate.warehouse.engine_labels import labels_there
    from quorate.writing.tables import to_json

    with showing_progress():
        found = diagnose(file, gold=gold, delta=delta, **vars(reading), **vars(where))
    if json:
        print_data(to_json({**found.to_dict(), **labels_there(found.result).run()}))
        return
    print_lines(found.lines())
    print_table("Components", found.columns(), found.rows())


def _show(result: "Result", *, whole: bool) -> None:
    """Print the first labels on a terminal, and all of them in a pipe, piece by piece."""
    import pyarrow as pa
    from pyarrow import csv

    from quorate.arrays import Table
    from quorate.cli.terminal import print_head, print_lines
    from quorate.warehouse.engine_labels import labels_there

    there = labels_there(result)
    if not whole:
        print_head("Labels", Table(there.table.limit(11).to_pyarrow()))
        print_head("Workers", result.workers)
        print_lines(["", *result.summary().splitlines()])
        return
    stream = getattr(sys.stdout, "buffer", None)
    for number, batch in enumerate(there.engine.stream(there.table, "handing out the labels")):
        piece = pa.BufferOutputStream()
        csv.write_csv(batch, piece, csv.WriteOptions(include_header=number == 0, quoting_style="needed"))
        data = piece.getvalue().to_pybytes()
        if stream is None:  # a stand-in for standard output that takes text only
            sys.stdout.write(data.decode())
        else:
            stream.write(data)
    print_lines(result.summary().splitlines(), error=True)
