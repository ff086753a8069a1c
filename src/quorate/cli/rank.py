"""`quorate rank`: strengths and ranks of items with intervals, and skills of judges, from pairwise comparisons."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from quorate.cli.command import ADVANCED, INPUT, METHOD, OUTPUT, Command, option
from quorate.cli.exit_codes import UNDECIDED
from quorate.cli.options import (
    Delimiter,
    Encoding,
    ExcelSafe,
    Json,
    Level,
    OutputFormat,
    Quiet,
    Seed,
    declare_engine_options,
    engine_options_of,
    needs_no_engine,
    one_source,
    split_labels,
)

if TYPE_CHECKING:
    from quorate.ranking.ranking import Ranking

MAX_ITEMS = 40  # rows of the table on a terminal


def _declare_rank_options(
    file: list[str] | None = typer.Argument(
        None,
        metavar="[FILE]...",
        show_default=False,
        help="The comparisons or rankings: a table (CSV, Parquet, JSON), a Label Studio or Argilla export, or a "
        "database URL. Several files, a folder or a pattern are read together. Use - for standard input.",
    ),
    left: str | None = option(
        "--left COLUMN", INPUT, "The column with the item shown on the left. Found automatically if its name is common."
    ),
    right: str | None = option(
        "--right COLUMN",
        INPUT,
        "The column with the item shown on the right. Found automatically if its name is common.",
    ),
    winner: list[str] | None = option(
        "--winner COLUMN",
        INPUT,
        "The column with the winner: an item, a side (left, A) or a tie. Repeat the option if each judge has a column.",
    ),
    judge: str | None = option("--judge COLUMN", INPUT, "The column that identifies the judge."),
    task: str | None = option(
        "--task COLUMN",
        INPUT,
        "The column that identifies the question or prompt. The intervals take into account that comparisons "
        "of one task are not independent.",
    ),
    tie: str | None = option("--tie LABELS", INPUT, "Answers that mean a tie, e.g. equal,same."),
    abstain: str | None = option(
        "--abstain LABELS", INPUT, 'Answers that mean "no answer", e.g. skip,n/a. They are counted and left out.'
    ),
    skip_missing: bool = option("--skip-missing", INPUT, "Ignore rows with an empty field.", default=False),
    by: str | None = option(
        "--by COLUMN",
        METHOD,
        "Also rank separately for each value of this column, e.g. the topic. Values with few comparisons "
        "stay close to the overall ranking.",
    ),
    criterion: str | None = option(
        "--criterion COLUMN",
        METHOD,
        "The column that names the criterion (accuracy, style): one ranking for each, and one for all.",
    ),
    covariate: list[str] | None = option(
        "--covariate COLUMN",
        METHOD,
        "Remove the effect of a number such as the length. Name a column that has left minus right, or "
        "two columns LEFT,RIGHT. Repeatable.",
    ),
    position: bool = option(
        "--position/--no-position",
        METHOD,
        "Whether to estimate and remove each judge's preference for the left side.",
        default=True,
    ),
    gold: list[str] | None = option(
        "--gold FILE",
        METHOD,
        "Known comparisons, in the same columns. They show which items are better if the judges disagree. Repeatable.",
    ),
    baseline: str | None = option(
        "--baseline ITEM", METHOD, "Measure all strengths relative to this item, which gets strength 0."
    ),
    units: str = option("--units NAME", METHOD, "The unit of the strengths: logit or elo.", default="logit"),
    next: int | None = option("--next N", OUTPUT, "Propose N pairs to compare next."),
    difference: str | None = option(
        "--difference X,Y", OUTPUT, "Print how much stronger item X is than item Y, with an interval."
    ),
    output: str | None = option(
        "-o, --output FILE",
        OUTPUT,
        "Write one row per item to this file (.csv, .parquet, .jsonl, .xlsx). Without it: a table, or CSV in a pipe.",
    ),
    workers_out: str | None = option("--workers-out FILE", OUTPUT, "Write one row per judge to this file."),
    next_out: str | None = option("--next-out FILE", OUTPUT, "Write the pairs of --next to this file."),
    report_out: str | None = option("--report-out FILE", OUTPUT, "Write an HTML page with charts to this file."),
    level: Level = 0.95,
    cluster: str = option(
        "--cluster COLUMN",
        ADVANCED,
        "Which comparisons are not independent of each other: those of one task (task), those with the same "
        "value of a column (its name), or none.",
        default="task",
    ),
    judge_skill: str = option(
        "--judge-skill HOW",
        ADVANCED,
        "Whether to estimate the judges' skills: on, off, or auto (if that predicts held-out tasks better).",
        default="auto",
    ),
    tie_below: float = option(
        "--tie-below X", ADVANCED, "Treat two scores that differ by at most X as a tie.", default=0.0
    ),
    drop_self: bool = option(
        "--drop-self", ADVANCED, "Leave out comparisons in which the judge is one of the two items.", default=False
    ),
    adaptive: bool = option(
        "--adaptive",
        ADVANCED,
        "The pairs were chosen because of earlier answers: warn that intervals may be too narrow.",
        default=False,
    ),
    aim: str = option(
        "--aim AIM",
        ADVANCED,
        "What the pairs of --next should make more precise: all strengths (information), the order (order) or "
        "the first place (best).",
        default="information",
    ),
    pairs_out: str | None = option(
        "--pairs-out FILE",
        ADVANCED,
        "Write the counts and the probability of winning of each pair of items to this file.",
    ),
    output_format: OutputFormat = None,
    file_format: str | None = option(
        "--from FORMAT", ADVANCED, "The format of the file, if it is not recognised: csv, tsv, parquet or jsonl."
    ),
    delimiter: Delimiter = None,
    encoding: Encoding = "auto",
    seed: Seed = 0,
    excel_safe: ExcelSafe = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Declare the options of reading and ranking comparisons; see `quorate.rank`."""


def _run(**parameters: Any) -> None:
    """Rank the items and print the ranking; the options are those of `_declare_rank_options`."""
    from quorate.errors import OptionError

    if parameters["file"] is None and parameters["table"] is None:
        raise OptionError("No file is given. Example: quorate rank comparisons.csv")
    if parameters["units"] not in ("logit", "elo"):
        raise OptionError(f"--units takes logit or elo, got {parameters['units']!r}")
    if parameters["next_out"] is not None and parameters["next"] is None:
        raise OptionError("--next-out needs --next N")
    ranking = _rank(parameters)
    _write(ranking, parameters)
    if not ranking.is_determined:
        raise typer.Exit(UNDECIDED)


def _rank(parameters: Mapping[str, Any]) -> "Ranking":
    from quorate.backends.choose_engine import choose_engine
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.options import ReadOptions
    from quorate.io.pairs import PairOptions
    from quorate.ranking.rank import rank

    cluster = parameters["cluster"]
    winners = parameters["winner"] or None
    options = {name: parameters[name] for name in ("left", "right", "judge", "task", "by", "criterion", "tie_below")}
    options |= {
        "winner": winners[0] if winners and len(winners) == 1 else winners,
        "tie": split_labels(parameters["tie"]) if parameters["tie"] else (),
        "abstain": split_labels(parameters["abstain"]) if parameters["abstain"] else (),
        "covariates": tuple(parameters["covariate"] or ()),
        "skip_missing": parameters["skip_missing"],
        "drop_self": parameters["drop_self"],
    }
    model = {name: parameters[name] for name in ("baseline", "level", "judge_skill", "position", "adaptive", "seed")}
    model["gold"] = one_source(parameters["gold"])
    reading = {"format": parameters["file_format"], "delimiter": parameters["delimiter"]}
    engine_options = engine_options_of(parameters)
    data = one_source(parameters["file"])
    is_local = isinstance(data, list) or (isinstance(data, str) and os.path.isdir(data))
    is_in_engine = (
        not (is_local and needs_no_engine(data, engine_options)) and choose_engine(data, engine_options) is not None
    )
    with showing_progress():
        if is_in_engine:
            from quorate.ranking.from_engine import read_engine_pairs

            pairs = PairOptions(**(options | ({"task": cluster} if cluster not in ("task", "none") else {})))
            data, line = read_engine_pairs(data, pairs, engine_options, ReadOptions(**reading))
            print_lines([line], error=True)
        return rank(data, cluster=cluster, encoding=parameters["encoding"], **options, **model, **reading)


def _write(ranking: "Ranking", parameters: Mapping[str, Any]) -> None:
    from quorate.cli.outputs import rounded
    from quorate.cli.terminal import print_head, print_json, print_lines, written_line
    from quorate.io.atomic import atomic_batch
    from quorate.io.write_table import write_table, write_tables
    from quorate.ranking.tables import in_elo

    is_elo = parameters["units"] == "elo"
    items = ranking.by_criterion("items")
    if is_elo:
        items = in_elo(items)
    pairs = None if parameters["next"] is None else ranking.next(parameters["next"], parameters["aim"])
    output = parameters["output"]
    lines = [*ranking.lines(), *_difference_lines(ranking, parameters["difference"]), *_group_lines(ranking)]
    if pairs is not None:
        lines.append(
            "Pairs chosen because of earlier answers make later intervals too narrow. A fifth of the proposed pairs "
            "are random to limit this. Add --adaptive next time for a warning about it."
        )
    with atomic_batch():
        if parameters["report_out"] is not None:
            ranking.report(parameters["report_out"])
        tables: list[tuple[Any, str | None]] = [
            (lambda: rounded(items), output),
            (lambda: rounded(ranking.by_criterion("judges")), parameters["workers_out"]),
            (lambda: rounded(ranking.by_criterion("pairs")), parameters["pairs_out"]),
        ]
        if pairs is not None:
            tables.append((lambda: rounded(pairs), parameters["next_out"]))
        write_tables(tables, parameters["output_format"], excel_safe=parameters["excel_safe"])
    if parameters["json"]:
        content = ranking.to_dict()
        if pairs is not None:
            content["next"] = pairs.to_arrow().to_pylist()
        if parameters["difference"] is not None:
            content["difference"] = ranking.difference(*_two_items(parameters["difference"], ranking))
        print_json(content)
        return
    if output is None and not sys.stdout.isatty():
        write_table(rounded(items), "-", parameters["output_format"], excel_safe=parameters["excel_safe"])
    elif output is None:
        print_head("Items", items, most=MAX_ITEMS)
        print_head("Judges", ranking.judges)
    is_data = output == "-" or (output is None and not sys.stdout.isatty())
    if pairs is not None and parameters["next_out"] is None and not is_data:
        print_head("Pairs to compare next", pairs, most=MAX_ITEMS)
    elif pairs is not None and parameters["next_out"] is None:
        rows = [
            f"Next pair: {row['item_x']} and {row['item_y']} ({row['chosen']})" for row in pairs.to_arrow().to_pylist()
        ]
        lines += rows
    if not parameters["quiet"]:
        files = [parameters[name] for name in ("output", "workers_out", "next_out", "report_out", "pairs_out")]
        print_lines([*lines, *written_line(files)], error=is_data)


def _two_items(text: str, ranking: "Ranking") -> tuple[str, str]:
    """Return the two items of a text X,Y; the names may contain commas."""
    from quorate.errors import OptionError, listing

    items = set(ranking.comparisons.items)
    parts = text.split(",")
    for n_parts in range(1, len(parts)):
        x = ",".join(parts[:n_parts]).strip()
        y = ",".join(parts[n_parts:]).strip()
        if x in items and y in items:
            return x, y
    known = listing(ranking.comparisons.items)
    raise OptionError(f"--difference takes two items as X,Y, got {text!r}. The items are {known}")


def _difference_lines(ranking: "Ranking", text: str | None) -> list[str]:
    if text is None:
        return []
    x, y = _two_items(text, ranking)
    gap = ranking.difference(x, y)
    return [
        f"The strength of {x} minus that of {y} is {gap['gap']:.2f} ({ranking.level:.0%} interval {gap['low']:.2f} to "
        f"{gap['high']:.2f}, in log-odds); {x} is above {y} with probability {gap['p_above']:.0%}."
    ]


def _group_lines(ranking: "Ranking") -> list[str]:
    lines = []
    for kind, rankings in (("group", ranking.groups), ("criterion", ranking.criteria)):
        for name, part in rankings.items():
            leaders = [row["item"] for row in part.items.to_arrow().slice(0, 3).to_pylist()]
            n = f"{part.comparisons.n_comparisons:,.0f}"
            leads = "leads" if len(leaders) == 1 else "lead"
            lines.append(f"{kind.capitalize()} {name}: {', '.join(leaders)} {leads} ({n} comparisons).")
    return lines


class RankCommand(Command):
    """The command with the options of `_declare_rank_options`, and those of engines."""

    shared = (_declare_rank_options, declare_engine_options)
    left_out = frozenset({"order"})
    rare_options = frozenset({"criterion", "baseline", "units", "position", "next_out"})


def rank(ctx: typer.Context) -> None:
    """Rank items by pairwise comparisons of people or LLM judges, with intervals.

    The exit code is 3 if there is no single ranking: unconnected items, one item, only ties, or judges who contradict
    each other.

    Examples:
      quorate rank comparisons.csv
      quorate rank battles.csv --left model_a --right model_b --winner winner --judge judge
    """
    _run(**ctx.obj)
