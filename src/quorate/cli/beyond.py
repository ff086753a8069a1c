"""What `quorate aggregate` does where the answers are too many for memory: they are packed into blocks on disk."""

import sys
from typing import TYPE_CHECKING

from quorate.cli.options import said

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
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.warehouse.beyond import aggregate_held
    from quorate.warehouse.estimate import interval_choice
    from quorate.warehouse.labels_kept import kept_labels
    from quorate.warehouse.write import all_or_none
    from quorate.writing.tables import to_json, write_table

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
    from quorate.warehouse.labels_kept import kept_labels

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
