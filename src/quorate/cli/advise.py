"""`quorate advise`: which worker should answer which task next, and when to stop; or what an expert should label."""

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import typer

from quorate.cli.command import ADVANCED, OUTPUT, PLAN, option
from quorate.cli.exit_codes import UNDECIDED
from quorate.cli.options import AnswersCommand, Gold, Json, OutputFormat, Quiet, Seed, Show, open_sample

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.io.extra_columns import TaskTexts
    from quorate.io.read import Reading


class AdviseCommand(AnswersCommand):
    """The command whose help lists the options that most people need."""

    rare_options = AnswersCommand.rare_options | {"key_out", "batch", "quiet"}


def advise(
    ctx: typer.Context,
    *,
    budget: float | None = option(
        "--budget N", PLAN, "Plan this many more answers; with --cost, as many as this amount pays for."
    ),
    anyway: bool = option(
        "--anyway", PLAN, "Write the assignments even if more answers are not recommended.", default=False
    ),
    expert: int | None = option("--expert N", PLAN, "Choose N tasks for an expert to label."),
    random: bool | None = option(
        "--random/--no-random",
        PLAN,
        "With --expert: draw all tasks at random, or take the least certain for two thirds of them.",
        show_default="random for LLM judges",
    ),
    available: str | None = option(
        "--available FILE",
        PLAN,
        "The workers who can be asked, also new ones: a file with your column of workers, or worker.",
    ),
    per_worker: int | None = option(
        "--per-worker K", PLAN, "At most this many new tasks per worker (default: 2 × budget / available workers)."
    ),
    cost: str | None = option("--cost COLUMN", PLAN, "The column of --available with the cost of one answer."),
    batch: int | None = option(
        "--batch K", PLAN, "Group the assignments into packages of at most K tasks for one worker each (column batch)."
    ),
    target_error: float | None = option(
        "--target-error E", PLAN, "Stop when at most this share of the labels is probably wrong."
    ),
    scores: bool = option(
        "--scores",
        ADVANCED,
        "The labels are scores: ask for more where the interval of the score is widest.",
        default=False,
    ),
    max_half_width: float | None = option(
        "--max-half-width H", ADVANCED, "With --scores: stop when the intervals are expected to be this narrow."
    ),
    gold: Gold = None,
    output: str | None = option(
        "-o, --output FILE", OUTPUT, "Write the assignments, or the expert's tasks, to this file."
    ),
    key_out: str | None = option(
        "--key FILE", OUTPUT, "With --expert: write the current labels and their confidence to this file."
    ),
    tasks_out: str | None = option(
        "--tasks-out FILE", ADVANCED, "Write one row per task to this file, with whether it has enough answers."
    ),
    show: Show = None,
    seed: Seed = 0,
    output_format: OutputFormat = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Decide what to do next: whom to ask about which task, what an expert should label, and when to stop.

    Without --budget and --expert it prints the next steps that the report has. Without -o, a terminal gets a table and
    a summary; a pipe gets the table, and the summary goes to standard error. Exit code 3: nothing was written to -o,
    because more answers are not recommended.

    Examples:
      quorate advise answers.csv
      quorate advise answers.csv --budget 200 -o next.csv
      quorate advise answers.csv --expert 30 -o expert.csv
    """
    from quorate.advice.advise import advise
    from quorate.advice.gold_tasks import suggest_gold
    from quorate.cli.outputs import for_files, refuse_filled_in, rounded
    from quorate.cli.terminal import json_text, print_data, print_lines, showing_progress, written_line
    from quorate.errors import OptionError
    from quorate.io.extra_columns import task_texts
    from quorate.io.write_table import write_tables
    from quorate.notes import expert_command

    if key_out is not None and budget is not None:
        raise OptionError(
            "--key needs --expert N instead of --budget: it writes the current labels of the expert's tasks"
        )
    available = _available_file(ctx, available)
    number, known = _number_and_files(expert, gold or [])
    with open_sample(ctx) as reading:
        refuse_filled_in(output, reading)
        tables = {"assignments": output, "tasks": tasks_out}
        if scores or max_half_width is not None:
            from quorate.rating.advice import advise_scores

            if number is not None or target_error is not None or budget is None:
                raise OptionError("--scores needs --budget N, and does not work with --expert or --target-error")
            if budget != int(budget):
                raise OptionError(f"--budget must be a whole number with --scores, got {budget:g}")
            options: dict[str, Any] = {"workers": available, "per_worker": per_worker, "cost": cost, "gold": known}
            with showing_progress():
                further = advise_scores(reading, int(budget), max_half_width=max_half_width, **options)
            _print(further, "Next", tables, ctx.params, reading)
            return
        asking = {
            "--available": available,
            "--per-worker": per_worker,
            "--cost": cost,
            "--batch": batch,
            "--target-error": target_error,
        }
        if random is not None and number is None:
            raise OptionError("--random and --no-random need --expert N: they choose the tasks of an expert")
        if number is None:
            if budget is None:
                for option, value in {**asking, "--tasks-out": tasks_out}.items():
                    if value is not None:
                        raise OptionError(f"{option} needs --budget N")
                if key_out is not None:
                    raise OptionError("--key needs --expert N")
                if output is not None:
                    raise OptionError("-o needs --budget N (more answers) or --expert N (tasks for an expert)")
                _print_next_steps(reading, known, show, is_json=json)
                return
            with showing_progress():
                advice = advise(
                    reading,
                    budget,
                    available=available,
                    per_worker=per_worker,
                    cost=cost,
                    batch=batch,
                    target_error=target_error,
                    gold=known,
                )
            if not advice.is_recommended and not anyway and not json:
                write_tables([(for_files(advice.tasks, reading), tasks_out)], output_format)
                lines = advice.summary().splitlines()
                if output is not None:
                    where = "standard output" if output == "-" else output
                    lines.append(f"No assignments were written to {where}. To write them, add --anyway.")
                print_lines(lines, error=output == "-")
                if output is not None:
                    raise typer.Exit(UNDECIDED)
                return
            _print(advice, "Next", tables, ctx.params, reading, task_texts(reading, show))
            return
        if budget is not None:
            raise OptionError(
                "--budget plans answers of workers, and --expert plans labels of an expert. Give one of them"
            )
        for option, value in {**asking, "--tasks-out": tasks_out}.items():
            if value is not None:
                raise OptionError(f"{option} does not work with --expert. It needs --budget N")
        with showing_progress():
            shown = [] if show is None else [show]
            chosen = suggest_gold(reading, number, gold=known, seed=seed, show=shown, random=random)
        content = json_text({**chosen.to_dict(tasks=output is None), **reading.sample_fields()}) if json else ""
        write_tables([(rounded(chosen.sheet), output), (for_files(chosen.tasks, reading), key_out)], output_format)
        if json:
            print_data(content)
            return
        if output is None:
            write = f"To write the tasks to a file: {expert_command(number, is_random=random)}"
            *lines, label, use = chosen.summary().splitlines()  # the labels are used after the file is written
            _print(chosen, "To label", {"sheet": None}, ctx.params, reading, lines=[*lines, write, label, use])
            return
        lines = chosen.summary(None if output == "-" else shlex.quote(output)).splitlines()
        if not quiet:
            print_lines([*lines, *written_line([output, key_out])], error=output == "-")


def _print_next_steps(reading: "Reading", gold: list[str] | None, show: str | None, *, is_json: bool) -> None:
    from quorate.advice.next_steps import next_steps
    from quorate.cli.terminal import print_json, print_lines, showing_progress

    with showing_progress():
        steps = next_steps(reading, gold=gold, show=show)
    if is_json:
        print_json({**steps.to_dict(), **reading.sample_fields()})
    else:
        print_lines(steps.summary().splitlines())


def _available_file(ctx: typer.Context, available: str | None) -> str | None:
    """Return the file of available workers; the name --workers of release 0.2 is accepted with a warning."""
    from quorate.cli.terminal import print_lines

    workers = ctx.obj["workers"]
    if workers is None or available is not None or not os.path.isfile(workers):
        return available
    print_lines([f"Warning: --workers {workers} is now --available {workers}"], error=True)
    ctx.obj["workers"] = None
    return str(workers)


def _number_and_files(expert: int | None, gold: list[str]) -> tuple[int | None, list[str] | None]:
    """Return the number of tasks for an expert, and the files of known labels; None if not given.

    A number as the value of --gold, as in release 0.2.0, is accepted with a warning.

    Raises:
        OptionError: there are two numbers.
    """
    from quorate.cli.terminal import print_lines
    from quorate.errors import OptionError

    numbers = [value for value in gold if value.isdecimal()]
    files = [value for value in gold if not value.isdecimal()]
    if numbers:
        print_lines([f"Warning: --gold {numbers[0]} is now --expert {numbers[0]}; --gold takes a file"], error=True)
    counts = [*([] if expert is None else [expert]), *(int(number) for number in numbers)]
    if len(counts) > 1:
        raise OptionError(
            f"The number of tasks for the expert is given twice, {counts[0]} and {counts[1]}. Give --expert once"
        )
    return counts[0] if counts else None, files or None


def _print(
    result: Any,
    title: str,
    tables: dict[str, str | None],
    parameters: dict[str, Any],
    reading: Any,
    texts: "TaskTexts | None" = None,
    lines: list[str] | None = None,
) -> None:
    """Write the tables that have a path; without a path, the first is printed to the terminal or the pipe."""
    from quorate.cli.outputs import for_files, with_texts
    from quorate.cli.terminal import json_text, print_data, print_head, print_lines, written_line
    from quorate.io.write_table import write_table, write_tables

    def table_of(name: str) -> "Table":
        return with_texts(getattr(result, name), texts, reading.answers)

    (first, output), *_ = tables.items()
    file_format = parameters["output_format"]
    if lines is None:
        is_plan = hasattr(result, "is_recommended")
        lines = (result.summary(anyway=parameters["anyway"]) if is_plan else result.summary()).splitlines()
    lines = [] if parameters["quiet"] else lines
    listed = {name: path is None for name, path in tables.items()}
    content = json_text({**result.to_dict(**listed), **reading.sample_fields()}) if parameters["json"] else ""
    write_tables([(for_files(table_of(table), reading), path) for table, path in tables.items()], file_format)
    if parameters["json"]:
        print_data(content)
    elif output is not None:
        files = [] if parameters["quiet"] else written_line(tables.values())
        print_lines([*lines, *files], error=output == "-")
    elif sys.stdout.isatty():
        print_head(title, table_of(first))
        print_lines(["", *lines])
    else:
        write_table(for_files(table_of(first), reading), "-", file_format)
        print_lines(lines, error=True)
