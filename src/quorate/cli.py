"""The command line: parse, call one library function, print. What a command needs is imported when it runs."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from quorate import __version__
from quorate.errors import QuorateError
from quorate.reading import Reading, reads_answers

# Nothing here gains from threads inside numpy's linear algebra, and idle ones spin. The user's own setting stands.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

app = typer.Typer(
    name="quorate",
    help="Labels you can trust from many unreliable workers, and an honest account of what the data cannot tell.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Gold = Annotated[str | None, typer.Option(metavar="FILE", help="Known labels of some tasks, in the same columns.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same bytes.")]


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"quorate {__version__}")
        raise typer.Exit


@app.callback()
def quorate(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Labels you can trust from many unreliable workers."""


@app.command()
@reads_answers
def aggregate(
    reading: Reading,
    *,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Where the labels go.")] = None,
    workers_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the workers' skills go.")] = None,
    posterior_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the posterior goes.")] = None,
    method: Annotated[str, typer.Option(help="See `quorate methods`.")] = "quorate",
    cautious: Annotated[
        bool, typer.Option("--cautious", help="quorate: lean to the majority where a group agrees beyond its skills.")
    ] = False,
    solver: Annotated[str | None, typer.Option(help="rank-one: coordinate, gradient or exponentiated.")] = None,
    tau: Annotated[float | None, typer.Option(help="rank-one: keep skills tau/sqrt(answers) away from 1.")] = None,
    weighting: Annotated[str | None, typer.Option(help="rank-one: of pairs: shared, binary or squared.")] = None,
    threshold: Annotated[float | None, typer.Option(help="rank-one: drop pairs of smaller correlation.")] = None,
    signs: Annotated[str | None, typer.Option(help="rank-one: descent, weighed or breadth-first.")] = None,
    gold: Gold = None,
    format: Annotated[str | None, typer.Option(help="Of what is written: csv, parquet or jsonl.")] = None,
    json: Json = False,
) -> None:
    """Turn answers into one label a task and a skill for each worker.

    Without -o, a terminal gets tables and a summary; a pipe gets the labels, and the summary goes to standard error.
    """
    from quorate.methods import aggregate
    from quorate.output import to_json, write_table
    from quorate.terminal import print_head, print_lines, showing_progress

    chosen = {
        "cautious": cautious or None,
        "solver": solver,
        "tau": tau,
        "weighting": weighting,
        "threshold": threshold,
        "signs": signs,
    }
    options = {name: value for name, value in chosen.items() if value is not None}
    with showing_progress():
        result = aggregate(reading.answers, method, gold=reading.gold(gold), **options)
    for table, path in (("labels", output), ("workers", workers_out), ("posterior", posterior_out)):
        if path is not None:
            write_table(getattr(result, table), path, format)
    if json:
        typer.echo(to_json(result.to_dict(labels=output is None, workers=workers_out is None)))
    elif output is not None:
        print_lines(result.summary().splitlines(), error=output == "-")
    elif sys.stdout.isatty():
        print_head("Labels", result.labels)
        print_head("Workers", result.workers)
        print_lines(["", *result.summary().splitlines()])
    else:
        write_table(result.labels, "-", format)
        print_lines(result.summary().splitlines(), error=True)


@app.command()
@reads_answers
def diagnose(
    reading: Reading,
    *,
    gold: Gold = None,
    delta: Annotated[float, typer.Option(help="With what probability the finite-task bounds may fail.")] = 0.05,
    json: Json = False,
) -> None:
    """Say what the answers determine, who cannot be identified and why, and what would repair it."""
    from quorate.diagnosis import diagnose
    from quorate.output import to_json
    from quorate.terminal import print_lines, print_table, showing_progress

    with showing_progress():
        found = diagnose(reading.answers, gold=reading.gold(gold), delta=delta)
    if json:
        typer.echo(to_json(found.to_dict()))
        return
    print_lines(found.lines())
    print_table("Components", found.columns(), found.rows())


@app.command()
@reads_answers
def compare(
    reading: Reading,
    *,
    truth: Annotated[
        str | None, typer.Option(metavar="FILE", help="True labels to score against, in the same columns.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Names, parted by commas, each with options if wanted: er:classes=ordered.")
    ] = None,
    gold: Gold = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Run many methods on the same answers, and compare their errors or, without truth, their agreement."""
    from quorate.compare import compare
    from quorate.output import to_json
    from quorate.terminal import print_table, showing_progress

    chosen = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    with showing_progress():
        known, true = reading.gold(gold), reading.gold(truth)
        found = compare(reading.answers, true, methods=chosen, gold=known, seed=seed)
    if json:
        typer.echo(to_json(found.to_dict()))
        return
    scored = "" if found.n_scored is None else f", {found.n_scored:,} of them with truth"
    print_table(f"Methods on {found.n_tasks:,} tasks{scored}", found.columns(), found.rows())


@app.command()
def methods(json: Json = False) -> None:
    """List every method, with one line and the paper it comes from."""
    from quorate.methods import METHODS
    from quorate.output import to_json
    from quorate.terminal import print_table

    rows = [[name, method.about, method.paper] for name, method in METHODS.items()]
    if json:
        listed = [dict(zip(("method", "about", "paper"), row, strict=True)) for row in rows]
        typer.echo(to_json({"methods": listed}))
    else:
        print_table("Methods", ["method", "what it does", "paper"], rows)


@app.command()
def simulate(
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where the answers go; - for standard output.")
    ],
    truth_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the true labels go.")] = None,
    skills_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the true skills go.")] = None,
    tasks: Annotated[int, typer.Option(min=1)] = 1000,
    workers: Annotated[int, typer.Option(min=1)] = 50,
    per_task: Annotated[int, typer.Option(min=1, help="Answers a task.")] = 3,
    classes: Annotated[int, typer.Option(min=2)] = 2,
    skills: Annotated[
        str, typer.Option(help="uniform:LOW:HIGH, grid:LOW:HIGH or beta:ALPHA:BETA (of accuracy).")
    ] = "uniform:0:1",
    activity: Annotated[str, typer.Option(help="How work is spread over workers: even, or zipf:EXPONENT.")] = "even",
    seed: Seed = 0,
    format: Annotated[str | None, typer.Option(help="csv, parquet or jsonl.")] = None,
) -> None:
    """Simulate a one-coin crowd with known truth."""
    from quorate.output import write_table
    from quorate.simulate import crowd, parse_activity, parse_skills

    simulated = crowd(
        tasks,
        workers,
        per_task,
        n_classes=classes,
        skills=parse_skills(skills, workers, n_classes=classes, seed=seed),
        activity=parse_activity(activity, workers),
        seed=seed,
    )
    write_table(simulated.answer_table, output, format)
    for table, path in ((simulated.truth_table, truth_out), (simulated.skill_table, skills_out)):
        if path is not None:
            write_table(table, path, format)


@app.command()
def score(
    labels: Annotated[str, typer.Argument(help="A file with the columns task and label.")],
    truth: Annotated[str, typer.Argument(help="The same, with the true labels.")],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids, in both.")] = "task",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels, in both.")] = "label",
    json: Json = False,
) -> None:
    """Compare labels with the truth."""
    from dataclasses import asdict

    from quorate.output import to_json
    from quorate.score import score_labels
    from quorate.terminal import print_lines

    found = score_labels(labels, truth, task=task, label=label)
    print_lines([to_json(asdict(found))] if json else found.lines())


@app.command()
def reproduce(
    items: Annotated[list[str] | None, typer.Argument(metavar="[ITEM]...", help="All by default; see --list.")] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FOLDER", help="Where it all goes.")
    ] = "reproduction",
    quick: Annotated[bool, typer.Option("--quick", help="Fewer trials: minutes instead of half an hour.")] = False,
    seed: Seed = 0,
    show: Annotated[bool, typer.Option("--list", help="List the items and stop.")] = False,
) -> None:
    """Run the paper's experiments again, and write tables, figures and a page that shows them beside the paper's."""
    from pathlib import Path

    from quorate.experiments.reproduce import ITEMS, reproduce
    from quorate.terminal import print_lines, print_table, showing_progress

    if show:
        print_table("Items", ["item", "what it shows"], [[name, item.title] for name, item in ITEMS.items()])
        return
    with showing_progress():
        said = reproduce(items or ("all",), Path(output), quick=quick, seed=seed)
    print_lines(f"{each.name}: {each.status}{f' ({each.reason})' if each.reason else ''}" for each in said)
    print_lines([f"open {Path(output) / 'index.html'}"])
    if any(each.status == "failed" for each in said):
        raise typer.Exit(1)


datasets_app = typer.Typer(help="Public data sets with known truth.", no_args_is_help=True)
app.add_typer(datasets_app, name="datasets")


@datasets_app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets: what was asked, and who published them."""
    from quorate.datasets import SOURCES
    from quorate.output import to_json
    from quorate.terminal import print_table

    rows = [[source.name, source.about, source.citation] for source in SOURCES.values()]
    if json:
        typer.echo(to_json({"datasets": [dict(zip(("name", "about", "citation"), row, strict=True)) for row in rows]}))
    else:
        print_table("Data sets", ["name", "what was asked", "published by"], rows)


@datasets_app.command("fetch")
def fetch_datasets(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="All of them by default.")] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FOLDER", help="Also write answers and truth as CSV there.")
    ] = None,
) -> None:
    """Fetch data sets, check them against their hashes, and keep them in a cache."""
    from pathlib import Path

    from quorate.datasets import SOURCES, load
    from quorate.output import write_table
    from quorate.progress import report
    from quorate.terminal import print_lines, showing_progress

    chosen = names or list(SOURCES)
    with showing_progress():
        for number, name in enumerate(chosen):
            report("data sets", number, len(chosen))
            data = load(name)
            a = data.answers
            print_lines([f"{name}: {a.n_answers:,} answers to {a.n_tasks:,} tasks by {a.n_workers:,} workers"])
            if output is not None:
                folder = Path(output) / name
                folder.mkdir(parents=True, exist_ok=True)
                write_table(a.to_table(), folder / "answers.csv")
                write_table(data.truth, folder / "truth.csv")


@app.command()
def demo(seed: Seed = 1) -> None:
    """Simulate a sparse crowd with known truth, aggregate it, and compare with the truth and with majority vote."""
    from quorate.demo import run

    run(seed)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; errors are one line on standard error, with exit code 2."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given, standalone_mode=False)
    except typer.TyperException as error:
        _fail(error.format_message())
    except QuorateError as error:
        _fail(str(error))
    except typer.Abort:
        _fail("interrupted", 130)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int = 2) -> None:
    sys.stderr.write(f"quorate: {' '.join(message.split())}\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
