"""`quorate advise`: which worker should answer which task next, and when to stop; or what an expert should label."""

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import Json, Seed, reads_answers

if TYPE_CHECKING:
    from quorate.io.read import Reading


@reads_answers
def advise(
    reading: "Reading",
    *,
    budget: Annotated[int | None, typer.Option(metavar="N", help="How many further answers there can be.")] = None,
    available: Annotated[
        str | None, typer.Option(metavar="FILE", help="Who can be asked, new workers too: a file with a column worker.")
    ] = None,
    per_worker: Annotated[
        int | None, typer.Option(metavar="K", help="How many further tasks each may get; else twice the mean load.")
    ] = None,
    cost: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the workers' file with the cost of an answer.")
    ] = None,
    target_error: Annotated[
        float | None, typer.Option(metavar="E", help="Stop where labels are expected to be wrong as rarely as this.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="The labels are scores: the next answer goes where the interval is widest.")
    ] = False,
    max_half_width: Annotated[
        float | None,
        typer.Option(metavar="H", help="Of scores: stop where the intervals are expected to be as narrow."),
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write the assignments even if more answers are not recommended.")
    ] = False,
    expert: Annotated[
        int | None, typer.Option(metavar="N", help="Choose N tasks for an expert to label, instead of whom to ask.")
    ] = None,
    gold: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Known labels of some tasks, in the same columns.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the assignments, or those tasks, go."
        ),
    ] = None,
    key_out: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="FILE",
            writable=True,
            help="With --expert: write the current labels and their confidence here.",
        ),
    ] = None,
    tasks_out: Annotated[
        str | None, typer.Option(metavar="FILE", writable=True, help="Where it goes which tasks have enough answers.")
    ] = None,
    seed: Seed = 0,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Say which worker should answer which task next: repair first, then what tells most; and when to stop.

    Or, with --expert N, which N tasks an expert should label: the least certain ones, and some drawn at random, which
    check the rest.

    Without -o, a terminal gets a table and a summary; a pipe gets the table, and the summary goes to standard error.
    """
    from quorate.advice.advise import advise
    from quorate.advice.gold_tasks import suggest_gold
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.errors import OptionError
    from quorate.io.write_table import to_json, write_tables

    number, known = _number_and_file(expert, gold or [])
    if scores or max_half_width is not None:
        from quorate.rating.advice import advise_scores

        if number is not None or target_error is not None or budget is None:
            raise OptionError("with --scores say --budget N; --expert and --target-error are about labels")
        options: dict[str, Any] = {"workers": available, "per_worker": per_worker, "cost": cost, "gold": known}
        with showing_progress():
            further = advise_scores(reading, budget, max_half_width=max_half_width, **options)
        _print(further, "Next", {"assignments": output, "tasks": tasks_out}, format, json, reading.sample_fields())
        return
    asking = {"--available": available, "--per-worker": per_worker, "--cost": cost, "--target-error": target_error}
    if number is None:
        if budget is None:
            for option, value in {**asking, "-o": output, "--tasks-out": tasks_out, "--key": key_out}.items():
                if value is not None:
                    raise OptionError(f"{option} needs --budget N (more answers) or --expert N (labels of an expert)")
            _print_next_steps(reading, known, json)
            return
        with showing_progress():
            found = advise(
                reading,
                budget,
                available=available,
                per_worker=per_worker,
                cost=cost,
                target_error=target_error,
                gold=known,
            )
        tables = {"assignments": output, "tasks": tasks_out}
        if not found.is_recommended and not anyway and not json:
            _print_only_summary(found, tasks_out, format, output)
            return
        _print(found, "Next", tables, format, json, reading.sample_fields())
        return
    if budget is not None:
        raise OptionError("--budget N asks workers and --expert N asks an expert: give one of them")
    for option, value in {**asking, "--tasks-out": tasks_out}.items():
        if value is not None:
            raise OptionError(
                f"{option} is about workers who are asked, and --expert {number} asks an expert. Leave one out"
            )
    with showing_progress():
        chosen = suggest_gold(reading, number, gold=known, seed=seed)
    write_tables([(chosen.sheet, output), (chosen.tasks, key_out)], format)
    if json:
        print_data(to_json({**chosen.to_dict(tasks=output is None), **reading.sample_fields()}))
        return
    if output is None:
        _print(chosen, "To label", {"sheet": None}, format, json, reading.sample_fields())
        return
    lines = chosen.summary().replace("--gold expert.csv", f"--gold {shlex.quote(output)}").splitlines()
    print_lines([*lines, *([] if output == "-" else [f"Written to {output}."])], error=output == "-")


def _print_next_steps(reading: "Reading", gold: str | None, json: bool) -> None:
    from quorate.advice.next_steps import next_steps
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.io.write_table import to_json

    with showing_progress():
        steps = next_steps(reading, gold=gold)
    if json:
        print_data(to_json({**steps.to_dict(), **reading.sample_fields()}))
    else:
        print_lines(steps.summary().splitlines())


def _print_only_summary(found: Any, tasks_out: str | None, format: str | None, output: str | None) -> None:
    """Print why no assignments are written, and write the table of tasks if it was asked for."""
    from quorate.cli.terminal import print_lines
    from quorate.io.write_table import write_tables

    write_tables([(found.tasks, tasks_out)], format)
    print_lines(found.summary().splitlines(), error=output == "-")


def _number_and_file(expert: int | None, gold: list[str]) -> tuple[int | None, str | None]:
    """Return how many tasks an expert is to label, and the file of known labels.

    A number given to --gold, as 0.2.0 had it, is taken with a warning.

    Raises:
        OptionError: there are two numbers, or two files.
    """
    from quorate.cli.terminal import print_lines
    from quorate.errors import OptionError

    numbers = [each for each in gold if each.isdecimal()]
    files = [each for each in gold if not each.isdecimal()]
    if len(files) > 1:
        raise OptionError(f"--gold was given two files, {' and '.join(files[:2])}; give one")
    if numbers:
        print_lines([f"warning: --gold {numbers[0]} is now --expert {numbers[0]}; --gold takes a file"], error=True)
    counts = [*([] if expert is None else [expert]), *(int(number) for number in numbers)]
    if len(counts) > 1:
        raise OptionError(f"two numbers of tasks were given, {counts[0]} and {counts[1]}; give --expert once")
    return counts[0] if counts else None, files[0] if files else None


def _print(
    found: Any, title: str, tables: dict[str, str | None], format: str | None, json: bool, also: dict[str, Any]
) -> None:
    """Write the tables that have a place to go to; the first goes to the terminal or the pipe if it has none."""
    from quorate.cli.terminal import print_data, print_head, print_lines
    from quorate.io.write_table import to_json, write_table, write_tables

    (first, output), *_ = tables.items()
    lines = found.summary().splitlines()
    told = to_json({**found.to_dict(**{name: path is None for name, path in tables.items()}), **also}) if json else ""
    write_tables([(getattr(found, table), path) for table, path in tables.items()], format)
    if json:
        print_data(told)
    elif output is not None:
        print_lines(lines, error=output == "-")
    elif sys.stdout.isatty():
        print_head(title, getattr(found, first))
        print_lines(["", *lines])
    else:
        write_table(getattr(found, first), "-", format)
        print_lines(lines, error=True)
