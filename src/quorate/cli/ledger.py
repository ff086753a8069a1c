"""`quorate ledger`: answers that arrive in batches, stored in a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.command import CLEANING, MAIN, OUTPUT, Command, CommandGroup, option
from quorate.cli.options import (
    Gold,
    Json,
    Method,
    OutputFormat,
    Quiet,
    Verbose,
    declare_reading_options,
    read_options_of,
)

if TYPE_CHECKING:
    from quorate.ledger import Ledger
    from quorate.result import Result

SHOWN_LINES = 6  # largest number of lines of `ledger show`

app = typer.Typer(cls=CommandGroup, help="Keep answers that arrive in batches in one folder.")

LedgerPath = Annotated[str, typer.Argument(metavar="LEDGER", help="The folder that keeps the answers.")]


class AddCommand(Command):
    """The command with the options for reading a plain table of answers."""

    shared = (declare_reading_options,)
    shown_panels = frozenset({CLEANING})
    left_out = frozenset(
        {
            *("file", "workers", "question", "group", "judges", "abstain", "classes", "multi", "merge_spellings"),
            *("worker_name", "fold", "gold_column", "columns", "map", "keep_rejected"),
        }
    )


@app.command("add", cls=AddCommand)
def add_answers(
    ctx: typer.Context,
    ledger: LedgerPath,
    files: list[str] = typer.Argument(
        ..., metavar="FILE...", help="The answers: tables (CSV, Parquet, JSON). Use - for standard input."
    ),
) -> None:
    """Add files to a ledger; creates it if needed. All files are added, or none.

    Examples:
      quorate ledger add answers.ledger monday.csv tuesday.csv
    """
    from quorate.addresses import render_address
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import count
    from quorate.ledger.ledger import sizes_text
    from quorate.ledger.storage import append
    from quorate.progress import report

    reading = read_options_of(ctx.obj)
    with showing_progress():
        appended = append(ledger, files, reading, on_source=lambda number: report("files", number, len(files)))
        report("files", len(files), len(files))
    lines = []
    for file, added in zip(files, appended.batches, strict=True):
        left_out = {
            "repeated": added.n_repeats,
            "left out because of a conflict": added.n_conflicting,
            "left out because a field is empty": added.n_skipped,
        }
        notes = "".join(f", {n:,} {what}" for what, n in left_out.items() if n)
        change = f"{count(added.n_answers, 'answer')} added"
        if added.n_answers < 0:
            change = f"{count(-added.n_answers, 'answer')} removed"
        lines.append(f"{render_address(file)}: {count(added.n_rows, 'row')}, {change}{notes}.")
    sizes = sizes_text(appended.n_answers, appended.n_tasks, appended.n_workers)
    print_lines([*lines, f"{render_address(ledger)} now holds {sizes}."])


@app.command("compact", cls=Command)
def compact_ledger(ledger: LedgerPath) -> None:
    """Put the batches of a ledger into one; convert a ledger of version 0.2; rebuild a lost index.

    Examples:
      quorate ledger compact answers.ledger
    """
    from quorate.addresses import render_address
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.ledger.ledger import sizes_text
    from quorate.ledger.storage import compact

    with showing_progress():
        compacted = compact(ledger)
    sizes = sizes_text(compacted.n_answers, compacted.n_tasks, compacted.n_workers)
    batches = f"{compacted.n_batches:,} batch{'' if compacted.n_batches == 1 else 'es'}"
    print_lines([f"{batches} of {render_address(ledger)} were put into one; it holds {sizes}."])


@app.command("aggregate", cls=Command)
def aggregate_ledger(
    ledger: LedgerPath,
    *,
    output: str | None = option(
        "-o, --output FILE",
        OUTPUT,
        "Write the labels to this file (.csv, .parquet, .jsonl, .xlsx). Without it: a table.",
    ),
    workers_out: str | None = option("--workers-out FILE", OUTPUT, "Write one row per worker to this file."),
    answers_out: str | None = option("--answers-out FILE", OUTPUT, "Write all answers to this file."),
    method: Method = "quorate",
    gold: Gold = None,
    output_format: OutputFormat = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Combine everything in a ledger into one label per task, and rate every worker.

    Examples:
      quorate ledger aggregate answers.ledger -o labels.csv --workers-out workers.csv
    """
    from quorate.cli.outputs import rounded
    from quorate.cli.terminal import (
        json_text,
        print_data,
        print_labels,
        print_lines,
        print_workers,
    )
    from quorate.io.write_table import write_tables

    with _result_of_ledger(ledger, method, gold) as (book, result):
        included = {"labels": output is None, "workers": workers_out is None}
        content = json_text(result.to_dict(**included)) if json else ""
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


@contextmanager
def _result_of_ledger(ledger: str, method: str, gold: list[str] | None) -> "Iterator[tuple[Ledger, Result]]":
    """Aggregate a ledger; commands that are printed inside the block name the ledger and the files of known labels."""
    import shlex

    from quorate.cli.options import method_options
    from quorate.cli.terminal import showing_progress
    from quorate.ledger import Ledger
    from quorate.notes import printed_commands_use

    name, options = method_options(method)
    known = shlex.join(word for file in gold or [] for word in ("--gold", file))
    with printed_commands_use(shlex.quote(ledger), lambda _: known):
        with showing_progress():
            book = Ledger.load(ledger)
            result = book.aggregate(name, gold=gold, **options)
        yield book, result


@app.command("show", cls=Command)
def show_ledger(
    ledger: LedgerPath,
    *,
    gold: Gold = None,
    json: Json = False,
    # Options of release 0.2, which work for one more release.
    output: str | None = option("-o, --output FILE", MAIN, hidden=True),
    workers_out: str | None = option("--workers-out FILE", MAIN, hidden=True),
    answers_out: str | None = option("--answers-out FILE", MAIN, hidden=True),
    method: str = option("--method", MAIN, default="quorate", hidden=True),
    output_format: str | None = option("--output-format", MAIN, hidden=True),
) -> None:
    """Show what a ledger holds in at most six lines: its size, the share of wrong labels, the first problem.

    Examples:
      quorate ledger show answers.ledger
    """
    import shlex

    from quorate.cli.terminal import print_json, print_lines
    from quorate.errors import count

    if any((output, workers_out, answers_out, output_format, method != "quorate")):
        print_lines(["Warning: ledger show with these options is now quorate ledger aggregate"], error=True)
        aggregate_ledger(
            ledger,
            output=output,
            workers_out=workers_out,
            answers_out=answers_out,
            method=method,
            gold=gold,
            output_format=output_format,
            json=json,
        )
        return
    with _result_of_ledger(ledger, method, gold) as (_, result):
        if json:
            print_json(result.to_dict(labels=False, workers=False))
            return
        lines = result.summary().splitlines()
        if len(lines) > SHOWN_LINES:
            n_kept = SHOWN_LINES - 1
            while n_kept < len(lines) and lines[n_kept].startswith(("- ", "  ")):  # lists are not cut
                n_kept += 1
            rest = len(lines) - n_kept
            more = f"{count(rest, 'more line')} of the summary: quorate ledger aggregate {shlex.quote(ledger)}"
            lines = [*lines[:n_kept], *([more] if rest else [])]
        print_lines(lines)


@app.command("merge", cls=Command)
def merge_ledgers(
    ledgers: list[str] = typer.Argument(..., metavar="LEDGER LEDGER...", help="Two ledgers or more."),
    *,
    output: str = option("-o, --output LEDGER", MAIN, "Write the merged ledger to this new folder.", default=...),
    on_conflict: str = option(
        "--on-conflict HOW",
        MAIN,
        "What to do if a worker gave one task different answers in two ledgers: error, first, last or drop.",
        default="error",
    ),
) -> None:
    """Combine several ledgers into one, as if all their answers had been added to it.

    Examples:
      quorate ledger merge one.ledger two.ledger -o both.ledger
    """
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import OptionError, UnwritableFileError
    from quorate.io.inputs import local_path
    from quorate.ledger import Ledger

    if len(ledgers) < 2:
        raise OptionError(f"Only one ledger is given, {ledgers[0]}. Give two or more")
    local = local_path(output)
    if os.path.isfile(local) or os.path.isdir(local):
        what = "folder" if os.path.isdir(local) else "file"
        raise UnwritableFileError(
            f"{output} exists already, and merge makes a new ledger. Choose another name, or remove the {what} first"
        )
    with showing_progress():
        book = Ledger()
        for path in ledgers:
            book.merge(Ledger.load(path), on_conflict=on_conflict)  # type: ignore[arg-type]  # checked there
        book.save(output)
    print_lines([f"{output}: {book.sizes()}"])
