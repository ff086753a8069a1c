"""`quorate compare` and `quorate methods`: many methods side by side, and the list of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.options import Gold, Json, Seed, reads_answers

if TYPE_CHECKING:
    from quorate.io.read import Reading


@reads_answers
def compare(
    reading: "Reading",
    *,
    truth: Annotated[
        str | None, typer.Option(metavar="FILE", help="True labels to score against, in the same columns.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names, separated by commas, each with options if wanted: er:classes=ordered.")
    ] = None,
    scores: Annotated[
        bool,
        typer.Option("--scores", help="Labels are scores: compare mean, median, z-score, bias-removed, p910 and rate."),
    ] = False,
    gold: Gold = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run many methods on the same answers, and compare their errors or, without truth, their agreement."""
    from quorate.cli.terminal import print_data, print_lines, print_table, showing_progress
    from quorate.evaluation.compare import compare
    from quorate.io.write_table import to_json

    chosen = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if scores:
        from quorate.rating.metrics import compare_scores

        with showing_progress():
            side_by_side = compare_scores(reading, truth, methods=chosen, gold=gold)
        if json:
            print_data(to_json({**side_by_side.to_dict(), **reading.sample_fields()}))
            return
        table = side_by_side.table
        known = "" if side_by_side.n_scored is None else f", {side_by_side.n_scored:,} of them with known scores"
        rows = [list(row.values()) for row in table.to_pylist()]
        print_table(f"Methods for scores on {side_by_side.n_tasks:,} tasks{known}", table.column_names, rows)
        print_lines(side_by_side.failures)
        return
    with showing_progress():
        found = compare(reading, truth, methods=chosen, gold=gold, seed=seed)
    if json:
        print_data(to_json({**found.to_dict(), **reading.sample_fields()}))
        return
    scored = "" if found.n_scored is None else f", {found.n_scored:,} of them with truth"
    print_table(f"Methods on {found.n_tasks:,} tasks{scored}", found.columns(), found.rows())
    print_lines(found.doubts())


def methods(json: Json = False) -> None:
    """List every method, with one line and the paper it comes from."""
    from quorate.cli.terminal import print_data, print_table
    from quorate.io.write_table import to_json
    from quorate.methods.registry import METHODS

    rows = [[name, method.about, method.paper] for name, method in METHODS.items()]
    if json:
        listed = [dict(zip(("method", "about", "paper"), row, strict=True)) for row in rows]
        print_data(to_json({"methods": listed}))
    else:
        print_table("Methods", ["method", "what it does", "paper"], rows)
