"""`quorate ledger`: answers that arrive in batches, kept in one file."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.command import CLEANING, Command
from quorate.cli.options import Gold, Json, OutputFormat, Quiet, Verbose, read_options_of, reading_options

if TYPE_CHECKING:
    from quorate.ledger import Ledger

app = typer.Typer(help="Keep answers that arrive in batches in one file.", no_args_is_help=True)

OnConflict = Annotated[
    str,
    typer.Option(
        "--on-conflict",
        help="What to do if two ledgers have different answers: error, first, last or drop.",
    ),
]
Book = Annotated[str, typer.Argument(metavar="LEDGER", help="The file that keeps the answers.")]


class AddCommand(Command):
    """Takes the options by which a plain table of answers is read."""

    shared = (reading_options,)
    shown = frozenset({CLEANING})
    left_out = frozenset(
        {
            *("file", "workers", "question", "group", "judges", "abstain", "classes", "multi", "merge_spellings"),
            *("worker_name", "fold", "gold_column", "columns", "map", "keep_rejected"),
        }
    )


@app.command("add", cls=AddCommand)
def add_answers(
    ctx: typer.Context,
    ledger: Book,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Answers: CSV, TSV, Parquet, JSON lines; - for standard input."),
    ],
) -> None:
    """Add files to a ledger; creates it if needed. All files are added, or none.

    Examples:
      quorate ledger add answers.ledger monday.csv tuesday.csv
    """
    from quorate.addresses import render_address
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.inputs import allow_replacing
    from quorate.ledger import Ledger
    from quorate.ledger.storage import alone_with
    from quorate.progress import report
    from quorate.result import count

    reading = read_options_of(ctx.obj)
    with showing_progress(), alone_with(ledger):
        before = _state(ledger)
        book = Ledger() if before is None else Ledger.load(ledger)
        if before is not None:
            allow_replacing(ledger)  # it is a ledger, and is updated in place
        lines = []
        for number, file in enumerate(files):
            report("files", number, len(files))
            batch = book.add(file, **vars(reading))
            left_out = {
                "exact repeats": batch.n_repeats,
                "left out for a conflict": batch.n_conflicting,
                "without a field": batch.n_skipped,
            }
            notes = "".join(f", {n:,} {what}" for what, n in left_out.items() if n)
            lines.append(f"{render_address(file)}: {count(batch.n_rows, 'row')}, {batch.n_answers:+,} answers{notes}")
        report("files", len(files), len(files))
        _save(book, ledger, before)
    print_lines([*lines, f"{ledger}: {book.sizes()}"])


@app.command("show", cls=Command)
def show_ledger(
    ledger: Book,
    *,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the labels to this file.")
    ] = None,
    workers_out: Annotated[
        str | None, typer.Option("--workers-out", metavar="FILE", help="Write one row per worker to this file.")
    ] = None,
    answers_out: Annotated[
        str | None, typer.Option("--answers-out", metavar="FILE", help="Write all answers to this file.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="How to combine the answers (list: quorate methods).")
    ] = "quorate",
    gold: Gold = None,
    output_format: OutputFormat = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the labels and worker ratings for everything in a ledger.

    Examples:
      quorate ledger show answers.ledger -o labels.csv
    """
    from quorate.cli.outputs import rounded
    from quorate.cli.terminal import (
        json_text,
        print_data,
        print_labels,
        print_lines,
        print_workers,
        showing_progress,
    )
    from quorate.io.write_table import write_tables
    from quorate.ledger import Ledger

    with showing_progress():
        book = Ledger.load(ledger)
        result = book.aggregate(method, gold=gold)
    listed = {"labels": output is None, "workers": workers_out is None}
    content = json_text(result.to_dict(**listed)) if json else ""
    write_tables(
        [
            (lambda: rounded(result.labels), output),
            (lambda: book.answers.to_table(), answers_out),
            (lambda: rounded(result.workers), workers_out),
        ],
        output_format,
    )
    if json:
        print_data(content)
        return
    is_data = "-" in (output, workers_out, answers_out)
    if not is_data and not quiet:
        for show, path in ((print_labels, output), (print_workers, workers_out)):
            if path is None:
                show(result)
    if not quiet:
        print_lines([f"{ledger}: {book.sizes()}", *result.summary(verbose=verbose).splitlines()], error=is_data)


@app.command("merge", cls=Command)
def merge_ledgers(
    ledgers: Annotated[list[str], typer.Argument(metavar="LEDGER LEDGER...", help="Two ledgers or more.")],
    *,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="LEDGER", help="Write the merged ledger to this file.")
    ],
    on_conflict: OnConflict = "error",
) -> None:
    """Combine several ledgers into one, as if all their answers had been added to it.

    Examples:
      quorate ledger merge one.ledger two.ledger -o both.ledger
    """
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import OptionError, UnwritableFileError
    from quorate.io.inputs import local_path
    from quorate.ledger import Ledger
    from quorate.ledger.storage import alone_with

    if len(ledgers) < 2:
        raise OptionError(f"only one ledger was named, {ledgers[0]}; name two or more")
    with showing_progress(), alone_with(output):
        before = _state(output)
        if os.path.isfile(local_path(output)):
            raise UnwritableFileError(
                f"cannot write {output}: the file exists, and merge makes a new ledger. Choose another name, or remove "
                "the file first"
            )
        book = Ledger()
        for path in ledgers:
            book.merge(Ledger.load(path), on_conflict=on_conflict)
        _save(book, output, before)
    print_lines([f"{output}: {book.sizes()}"])


def _state(path: str) -> tuple[int, int, int] | None:
    """Return what changes when a file is written: its inode, size and time; None where there is no file."""
    from quorate.io.inputs import local_path

    try:
        status = os.stat(local_path(path))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _save(book: "Ledger", path: str, before: tuple[int, int, int] | None) -> None:
    """Write the ledger, unless someone who asked for no lock has written it since: their answers would be lost."""
    from quorate.errors import LedgerFileError

    if _state(path) != before:
        raise LedgerFileError(f"{path} has changed while this command ran; nothing was written. Run the command again")
    book.save(path)
