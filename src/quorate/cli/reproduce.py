"""`quorate reproduce`: the paper's experiments, run again."""

from typing import Annotated

import typer

from quorate.cli.options import Seed


def reproduce(
    items: Annotated[list[str] | None, typer.Argument(metavar="[ITEM]...", help="All by default; see --list.")] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FOLDER", writable=True, file_okay=False, help="Where it all goes.")
    ] = "reproduction",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials: minutes instead of half an hour.")] = False,
    seed: Seed = 0,
    show: Annotated[bool, typer.Option("--list", help="List the items and stop.")] = False,
) -> None:
    """Run the paper's experiments again, and write tables, figures and a page that shows them beside the paper's."""
    from pathlib import Path

    from quorate.cli.terminal import print_lines, print_table, showing_progress
    from quorate.evaluation.experiments.reproduce import ITEMS, reproduce

    if show:
        print_table("Items", ["item", "what it shows"], [[name, item.title] for name, item in ITEMS.items()])
        return
    with showing_progress():
        said = reproduce(items or ("all",), Path(output), quick=quick, seed=seed)
    print_lines(f"{each.name}: {each.status}{f' ({each.reason})' if each.reason else ''}" for each in said)
    print_lines([f"open {Path(output) / 'index.html'}"])
    if any(each.status == "failed" for each in said):
        raise typer.Exit(1)
