"""`quorate datasets`: public datasets with true labels."""

import typer

from quorate.cli.command import MAIN, Command, CommandGroup, option
from quorate.cli.options import Json

app = typer.Typer(cls=CommandGroup, help="Public datasets with true labels, for trying things out.")


@app.command("list", cls=Command)
def list_datasets(json: Json = False) -> None:
    """List the datasets: what was asked, and who published them.

    Examples:
      quorate datasets list
    """
    from quorate.cli.terminal import print_json, print_table
    from quorate.datasets.sources import SOURCES

    if json:
        listed = [
            {
                "name": source.name,
                "about": source.about,
                "citation": source.citation,
                "addresses": list(source.addresses),
            }
            for source in SOURCES.values()
        ]
        print_json({"datasets": listed})
    else:
        rows = [[source.name, source.about, source.citation] for source in SOURCES.values()]
        print_table("Datasets", ["name", "what was asked", "published by"], rows)


@app.command("fetch", cls=Command)
def fetch_datasets(
    names: list[str] | None = typer.Argument(
        None, metavar="[NAME]...", help="The datasets to download (default: all)."
    ),
    output: str | None = option(
        "-o, --output FOLDER", MAIN, "Also write the answers and the true labels to this folder, as CSV."
    ),
) -> None:
    """Download datasets. They are kept in a cache, and their checksums are verified.

    Examples:
      quorate datasets fetch bluebirds -o data
    """
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
            report("datasets", number, len(chosen))
            data = load(name)
            answers = data.answers
            sizes = f"{answers.n_answers:,} answers to {answers.n_tasks:,} tasks by {answers.n_workers:,} workers"
            print_lines([f"{name}: {sizes}"])
            if output is not None:
                folder = Path(output) / name
                make_folder(folder)
                write_tables([(answers.to_table(), folder / "answers.csv"), (data.truth, folder / "truth.csv")])
