"""`quorate datasets`: public data with known truth."""

from typing import Annotated

import typer

from quorate.cli.options import Json

app = typer.Typer(help="Public data sets with known truth.", no_args_is_help=True)


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets: what was asked, and who published them."""
    from quorate.cli.terminal import print_data, print_table
    from quorate.datasets.sources import SOURCES
    from quorate.io.write_table import to_json

    if json:
        listed = [
            {"name": each.name, "about": each.about, "citation": each.citation, "addresses": list(each.addresses)}
            for each in SOURCES.values()
        ]
        print_data(to_json({"datasets": listed}))
    else:
        rows = [[source.name, source.about, source.citation] for source in SOURCES.values()]
        print_table("Data sets", ["name", "what was asked", "published by"], rows)


@app.command("fetch")
def fetch_datasets(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="All of them by default.")] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            writable=True,
            file_okay=False,
            help="Also write answers and truth as CSV there.",
        ),
    ] = None,
) -> None:
    """Fetch data sets, check them against their hashes, and keep them in a cache."""
    from pathlib import Path

    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.datasets import load
    from quorate.datasets.sources import SOURCES
    from quorate.io.atomic import make_folder
    from quorate.io.write_table import write_tables
    from quorate.progress import report

    chosen = names or list(SOURCES)
    with showing_progress():
        for number, name in enumerate(chosen):
            report("data sets", number, len(chosen))
            data = load(name)
            a = data.answers
            print_lines([f"{name}: {a.n_answers:,} answers to {a.n_tasks:,} tasks by {a.n_workers:,} workers"])
            if output is not None:
                folder = Path(output) / name
                make_folder(folder)
                write_tables([(a.to_table(), folder / "answers.csv"), (data.truth, folder / "truth.csv")])
