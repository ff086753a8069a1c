"""`quorate ledger`: answers that arrive in batches, kept in a folder."""

import inspect
import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import FLAGS, Gold, Json, offering, read_options_of

if TYPE_CHECKING:
    from quorate.io.options import ReadOptions

app = typer.Typer(help="Answers that arrive in batches, kept in a folder.", no_args_is_help=True)

READING = ("task", "worker", "label", "on_conflict", "skip_missing", "input_format", "delimiter", "encoding")
OnConflict = Annotated[
    str, typer.Option(help="When two ledgers differ: error, or keep the first's, the last's, or drop both.")
]
Book = Annotated[str, typer.Argument(metavar="LEDGER", help="The folder that keeps the answers.")]


def _takes_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options by which a plain table of answers is read, as one value."""
    own = [each for each in inspect.signature(command).parameters.values() if each.name != "reading"]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = read_options_of({name: given[name] for name in READING})
        command(**{each.name: given[each.name] for each in own}, reading=reading)

    return offering((*own, *(FLAGS[name] for name in READING)), run)


@app.command("add")
@_takes_reading_options
def add_answers(
    ledger: Book,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Answers: CSV, TSV, Parquet, JSON lines; - for standard input."),
    ],
    reading: "ReadOptions",
) -> None:
    """Add files of answers to a ledger, all or none; a ledger that is not there is made."""
    from quorate.addresses import render_address
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import count
    from quorate.ledger.ledger import sizes_text
    from quorate.ledger.storage import append
    from quorate.progress import report

    with showing_progress():
        appended = append(ledger, files, reading, on_source=lambda number: report("files", number, len(files)))
        report("files", len(files), len(files))
    lines = []
    for file, added in zip(files, appended.batches, strict=True):
        left_out = {
            "exact repeats": added.n_repeats,
            "left out for a conflict": added.n_conflicting,
            "without a field": added.n_skipped,
        }
        notes = "".join(f", {n:,} {what}" for what, n in left_out.items() if n)
        lines.append(f"{render_address(file)}: {count(added.n_rows, 'row')}, {added.n_answers:+,} answers{notes}")
    sizes = sizes_text(appended.n_answers, appended.n_tasks, appended.n_workers)
    print_lines([*lines, f"{render_address(ledger)}: {sizes}"])


@app.command("compact")
def compact_ledger(ledger: Book) -> None:
    """Put the batches of a ledger into one; convert a ledger of version 0.2; make a lost index again."""
    from quorate.addresses import render_address
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.ledger.ledger import sizes_text
    from quorate.ledger.storage import compact

    with showing_progress():
        compacted = compact(ledger)
    sizes = sizes_text(compacted.n_answers, compacted.n_tasks, compacted.n_workers)
    batches = f"{compacted.n_batches:,} batch{'' if compacted.n_batches == 1 else 'es'}"
    print_lines([f"{render_address(ledger)}: {batches} put into one; {sizes}"])


@app.command("show")
def show_ledger(
    ledger: Book,
    *,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", writable=True, help="Where the labels go.")
    ] = None,
    workers_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where the workers' skills go.")
    ] = None,
    answers_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where all the answers go.")
    ] = None,
    method: Annotated[str, typer.Option(help="See `quorate methods`.")] = "quorate",
    gold: Gold = None,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Say what a ledger holds, and what label and skill its answers give."""
    from quorate.cli.terminal import print_data, print_labels, print_lines, print_workers, showing_progress
    from quorate.io.write_table import to_json, write_tables
    from quorate.ledger import Ledger

    with showing_progress():
        book = Ledger.load(ledger)
        result = book.aggregate(method, gold=gold)
    told = to_json(result.to_dict(labels=output is None, workers=workers_out is None)) if json else ""
    tables = (result.labels, book.answers.to_table(), lambda: result.workers)
    write_tables(zip(tables, (output, answers_out, workers_out), strict=True), format)
    if json:
        print_data(told)
        return
    piped = "-" in (output, workers_out, answers_out)
    if not piped:
        for show, path in ((print_labels, output), (print_workers, workers_out)):
            if path is None:
                show(result)
    print_lines([f"{ledger}: {book.sizes()}", *result.summary().splitlines()], error=piped)


@app.command("merge")
def merge_ledgers(
    ledgers: Annotated[list[str], typer.Argument(metavar="LEDGER LEDGER...", help="Two ledgers or more.")],
    *,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="LEDGER", writable=True, help="Where the merged ledger goes.")
    ],
    on_conflict: OnConflict = "error",
) -> None:
    """Merge ledgers into one, as if all their answers had been added to it."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import OptionError, UnwritableFileError
    from quorate.io.inputs import local_path
    from quorate.ledger import Ledger

    if len(ledgers) < 2:
        raise OptionError(f"there is nothing to merge {ledgers[0]} with; name two ledgers or more")
    local = local_path(output)
    if os.path.isfile(local) or os.path.isdir(local):
        what = "folder" if os.path.isdir(local) else "file"
        raise UnwritableFileError(
            f"cannot write {output}: the {what} exists, and merge makes a new ledger. Choose another name, or remove "
            f"the {what} first"
        )
    with showing_progress():
        book = Ledger()
        for path in ledgers:
            book.merge(Ledger.load(path), on_conflict=on_conflict)
        book.save(output)
    print_lines([f"{output}: {book.sizes()}"])
