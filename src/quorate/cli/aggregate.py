"""`quorate aggregate`: answers -> labels, skills, posterior.

What `quorate aggregate` does where the answers are too many for memory: they are packed into blocks on disk.
"""

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.options import ExcelSafe, Gold, Json, Skills, reads_answers, said, table_maker

if TYPE_CHECKING:
    from quorate.backends.source import EngineSource
    from quorate.result import Result


def aggregate_out_of_core(
    held: "EngineSource",
    *,
    method: str | None,
    output: str | None,
    output_table: str | None,
    workers_out: str | None,
    gold: str | None,
    level: float,
    intervals: str,
    cautious: bool,
    ordered: bool,
    dependence: str | None,
    skills: str | None,
    solver: str | None,
    tau: float | None,
    weighting: str | None,
    threshold: float | None,
    signs: str | None,
    costs: str | None,
    json: bool,
) -> None:
    """Aggregate beyond memory, and print what `quorate aggregate` prints."""
    from quorate.backends.output import all_or_none
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.io.write_table import to_json, write_table
    from quorate.methods.aggregate import aggregate_held, interval_choice, kept_labels

    by_skill = {"cautious": cautious or None, "dependence": dependence, "skills": skills, "solver": solver, "tau": tau}
    by_skill |= {"ordered": ordered or None, "costs": costs}
    options = said(**by_skill, weighting=weighting, threshold=threshold, signs=signs)
    with showing_progress(), all_or_none(held.engine) as made:  # labels and workers appear together
        result = aggregate_held(
            held,
            method,
            gold=gold,
            output=None if output == "-" else output,
            output_table=output_table,
            choice=interval_choice(intervals, level),
            **options,
        )
        made.append(output_table)
        if workers_out is not None:
            write_table(result.workers, workers_out)
    if json:
        told = result.to_dict(labels=output is None and output_table is None, workers=workers_out is None)
        print_data(to_json({**told, **kept_labels(result).run()}))
    elif kept_labels(result).output is not None:
        print_lines(result.summary().splitlines())
    else:
        _show(result, whole=output == "-" or not sys.stdout.isatty())


def _show(result: "Result", *, whole: bool) -> None:
    """Print the first labels on a terminal, and all of them in a pipe, piece by piece."""
    import pyarrow as pa
    from pyarrow import csv

    from quorate.arrays import Table
    from quorate.cli.terminal import print_head, print_lines, print_workers
    from quorate.methods.aggregate import kept_labels

    there = kept_labels(result)
    if not whole:
        print_head("Labels", Table(there.table.limit(11).to_pyarrow()))
        print_workers(result)
        print_lines(["", *result.summary().splitlines()])
        return
    stream = getattr(sys.stdout, "buffer", None)
    for number, batch in enumerate(there.batches()):
        piece = pa.BufferOutputStream()
        csv.write_csv(batch, piece, csv.WriteOptions(include_header=number == 0, quoting_style="needed"))
        data = piece.getvalue().to_pybytes()
        if stream is None:  # a stand-in for standard output that takes text only
            sys.stdout.write(data.decode())
        else:
            stream.write(data)
    print_lines(result.summary().splitlines(), error=True)


if TYPE_CHECKING:
    from quorate.io.read import Reading


@partial(reads_answers, beyond=aggregate_out_of_core)
def aggregate(
    reading: "Reading",
    *,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", writable=True, help="Where the labels go.")
    ] = None,
    output_table: Annotated[
        str | None, typer.Option(metavar="NAME", help="In an engine: make a table of the labels there.")
    ] = None,
    workers_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where the workers' skills go.")
    ] = None,
    posterior_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where the posterior goes.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="See `quorate methods`.", show_default="quorate")] = None,
    cautious: Annotated[
        bool,
        typer.Option("--cautious", help="quorate: follow the plain vote; it leans so by itself where trust is low."),
    ] = False,
    dependence: Annotated[
        str | None, typer.Option(help="quorate: measured, or independent if you know that workers err so.")
    ] = None,
    ordered: Annotated[
        bool, typer.Option("--ordered", help="quorate: the classes are grades, in order; labels by least distance.")
    ] = False,
    costs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What labels cost (said, true, cost): those of least expected cost."),
    ] = None,
    skills: Skills = None,
    predictions: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A model's labels, or probabilities of each class: one more worker."),
    ] = None,
    predictions_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the model is called among the workers.")
    ] = None,
    solver: Annotated[str | None, typer.Option(help="rank-one: flow, coordinate, gradient or exponentiated.")] = None,
    tau: Annotated[float | None, typer.Option(help="rank-one: keep skills tau/sqrt(answers) away from 1.")] = None,
    weighting: Annotated[str | None, typer.Option(help="rank-one: of pairs: shared, binary or squared.")] = None,
    threshold: Annotated[float | None, typer.Option(help="rank-one: drop pairs of smaller correlation.")] = None,
    signs: Annotated[str | None, typer.Option(help="rank-one: descent, weighed or breadth-first.")] = None,
    level: Annotated[float, typer.Option(help="Of the intervals on skills.")] = 0.95,
    intervals: Annotated[str, typer.Option(help="On skills: full, fast, none or auto.")] = "auto",
    gold: Gold = None,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="TOOL", help="Write the labels for the tool that the answers came from: see `convert`."),
    ] = None,
    excel_safe: ExcelSafe = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print how the result was computed, too.")] = False,
    json: Json = False,
) -> None:
    """Turn answers into one label a task and a skill for each worker.

    Without -o, a terminal gets tables and a summary; a pipe gets the labels, and the summary goes to standard error.
    """
    from quorate.cli.terminal import print_data, print_labels, print_lines, print_workers, showing_progress
    from quorate.errors import OptionError
    from quorate.io.atomic import together
    from quorate.io.exports.write_back import write_back
    from quorate.io.write_table import to_json, write_table, write_tables
    from quorate.methods.registry import aggregate

    if json and to is not None and output is None:
        raise OptionError(f"--json and the file for {to} would both go to standard output; name a file with -o")
    if to is not None and reading.export is None:
        raise OptionError(f"--to {to} writes into the tasks of an export, and the answers are a plain table")
    by_skill = {"cautious": cautious or None, "dependence": dependence, "solver": solver, "tau": tau}
    by_skill |= {"ordered": ordered or None, "costs": costs, "skills": skills}
    by_skill |= {"predictions": predictions, "predictions_name": predictions_name}
    options = said(**by_skill, weighting=weighting, threshold=threshold, signs=signs)
    make_table = table_maker(reading, output_table)
    with showing_progress():
        result = aggregate(reading, method or "quorate", gold=gold, level=level, intervals=intervals, **options)
    is_written = output is not None or output_table is not None
    told = to_json(result.to_dict(labels=not is_written, workers=workers_out is None)) if json else ""
    lines = [] if json else result.summary(verbose=verbose).splitlines()
    with together():  # the files appear all or none
        if to is not None and reading.export is not None:
            write_back(reading.export, result.labels, output or "-", to)
        places = (None if to else output, workers_out, posterior_out)
        tables = (lambda: result.labels, lambda: result.workers, lambda: result.posterior)
        write_tables(zip(tables, places, strict=True), format, excel_safe=excel_safe)
        make_table(result)
    if json:
        print_data(told)
    elif is_written:
        print_lines(lines, error=output == "-")
    elif sys.stdout.isatty() and to is None:
        print_labels(result)
        print_workers(result)
        print_lines(["", *lines])
    else:
        if to is None:
            write_table(result.labels, "-", format, excel_safe=excel_safe)
        print_lines(lines, error=True)
