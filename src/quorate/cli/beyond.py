"""What commands do where the answers are too many for memory: they run inside the engine that holds them."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.result import Result
    from quorate.warehouse.taken_out import Held


def aggregate_beyond(
    held: "Held",
    *,
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
    from quorate.warehouse.engine_labels import labels_there
    from quorate.warehouse.estimate import aggregate_held, interval_choice
    from quorate.writing.tables import to_json, write_table

    chosen = {"solver": solver, "tau": tau, "weighting": weighting, "threshold": threshold, "signs": signs}
    options: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    with showing_progress():
        result = aggregate_held(
            held,
            method,
            gold=gold,
            output=None if output == "-" else output,
            output_table=output_table,
            choice=interval_choice(intervals, level),
            **options,
        )
    if workers_out is not None:
        write_table(result.workers, workers_out)
    if json:
        told = result.to_dict(labels=output is None and output_table is None, workers=workers_out is None)
        print_data(to_json({**told, **labels_there(result).run()}))
    elif labels_there(result).output is not None:
        print_lines(result.summary().splitlines())
    else:
        _show(result, whole=output == "-" or not sys.stdout.isatty())


def diagnose_beyond(held: "Held", *, gold: str | None, delta: float, json: bool) -> None:
    """Diagnose inside an engine, and print what `quorate diagnose` prints."""
    from quorate.cli.terminal import print_data, print_lines, print_table, showing_progress
    from quorate.warehouse.diagnosis import diagnose_held
    from quorate.warehouse.engine_labels import labels_there
    from quorate.writing.tables import to_json

    with showing_progress():
        found = diagnose_held(held, gold=gold, delta=delta)
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
    from quorate.cli.terminal import print_head, print_lines, print_workers
    from quorate.warehouse.engine_labels import labels_there

    there = labels_there(result)
    if not whole:
        print_head("Labels", Table(there.table.limit(11).to_pyarrow()))
        print_workers(result)
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
