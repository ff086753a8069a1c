"""`quorate rank`: pairwise comparisons -> strengths of items, ranks with intervals, judges."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.command import Command
from quorate.cli.exit_codes import UNDECIDED
from quorate.cli.options import Delimiter, Encoding, ExcelSafe, Json, Seed, engine_of, engine_options, split_labels

if TYPE_CHECKING:
    from quorate.ranking.ranking import Ranking

MOST_ITEMS = 40  # rows of the table on a terminal


def _rank_options(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="Comparisons or rankings: CSV, TSV, Parquet, JSON lines, a Label Studio or Argilla export, a pattern "
            "of files, a database or its URL; - for standard input.",
            show_default=False,
        ),
    ] = None,
    left: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the item shown on the left.")] = None,
    right: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the item shown on the right.")] = None,
    winner: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of the winner: an item, a side or a tie. Repeat it for one column per judge."
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the judges.")] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the tasks (questions); intervals allow for their dependence."),
    ] = None,
    tie: Annotated[str | None, typer.Option(metavar="LABELS", help="Labels that mean a tie, as equal,same.")] = None,
    abstain: Annotated[
        str | None, typer.Option(metavar="LABELS", help="Labels that are no answers, as skip,n/a; counted, left out.")
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Numeric column, left minus right, or two columns as LEFT,RIGHT. Repeatable."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Rank each value of this column, shrunk to the common ranking.")
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Rank by each criterion of this column (accuracy, style, ...), and by all."
        ),
    ] = None,
    baseline: Annotated[str | None, typer.Option(metavar="ITEM", help="Item whose strength is zero.")] = None,
    units: Annotated[str, typer.Option(help="Units of the strengths: logit or elo.")] = "logit",
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    cluster: Annotated[
        str, typer.Option(metavar="COLUMN", help="Comparisons that depend on each other: task, none or a column.")
    ] = "task",
    judge_skill: Annotated[
        str, typer.Option(help="Estimate judges' skills: auto (if it predicts held-out tasks better), on or off.")
    ] = "auto",
    position: Annotated[
        bool, typer.Option("--position/--no-position", help="Estimate each judge's preference for the left side.")
    ] = True,
    gold: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Known comparisons, in the same layout: they decide the direction."),
    ] = None,
    tie_below: Annotated[float, typer.Option(help="Two scores that differ by no more are a tie.")] = 0.0,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out rows with a missing field.")] = False,
    drop_self: Annotated[
        bool, typer.Option("--drop-self", help="Leave out comparisons in which the judge is one of the items.")
    ] = False,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Pairs were chosen because of earlier answers: warn about intervals.")
    ] = False,
    next: Annotated[int | None, typer.Option(metavar="N", help="Propose the N pairs to compare next.")] = None,
    aim: Annotated[str, typer.Option(help="What --next aims at: information, order or best.")] = "information",
    difference: Annotated[
        str | None, typer.Option(metavar="X,Y", help="State how much stronger item X is than item Y, with an interval.")
    ] = None,
    output: Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Where the items go.")] = None,
    workers_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the judges go.")] = None,
    pairs_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the pairs go.")] = None,
    next_out: Annotated[str | None, typer.Option(metavar="FILE", help="Where the pairs of --next go.")] = None,
    report: Annotated[str | None, typer.Option(metavar="FILE", help="Where a page with charts goes (HTML).")] = None,
    format: Annotated[str | None, typer.Option(help="Format of what is written: csv, parquet or jsonl.")] = None,
    input_format: Annotated[
        str | None, typer.Option(help="csv, tsv, parquet or jsonl, if the name does not show it.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    seed: Seed = 0,
    excel_safe: ExcelSafe = False,
    json: Json = False,
) -> None:
    """How comparisons are read and ranked; see `quorate.rank`."""


def _run(**given: Any) -> None:
    """Rank the items and print the ranking; the options are those of `_rank_options`."""
    from quorate.cli.terminal import print_lines
    from quorate.errors import OptionError, UndeterminedError

    if given["file"] is None and given["table"] is None:
        raise OptionError("give FILE: a file of comparisons, a pattern of files, or the URL of an engine")
    if given["units"] not in ("logit", "elo"):
        raise OptionError(f"--units takes logit or elo, not {given['units']!r}")
    if given["next_out"] is not None and given["next"] is None:
        raise OptionError("--next-out needs --next N: how many pairs to propose")
    try:
        ranking = _rank(given)
    except UndeterminedError as error:
        print_lines([f"quorate: {error}"], error=True)
        raise typer.Exit(UNDECIDED) from None
    _write(ranking, given)
    if not ranking.is_determined:
        raise typer.Exit(UNDECIDED)


def _rank(given: Mapping[str, Any]) -> "Ranking":
    from quorate.backends.choose import choose_engine
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.options import ReadOptions
    from quorate.io.pairs import PairOptions
    from quorate.ranking.rank import rank

    cluster = given["cluster"]
    winners = given["winner"] or None
    options = {
        "left": given["left"],
        "right": given["right"],
        "winner": winners[0] if winners and len(winners) == 1 else winners,
        "judge": given["judge"],
        "task": given["task"],
        "tie": split_labels(given["tie"]) if given["tie"] else (),
        "abstain": split_labels(given["abstain"]) if given["abstain"] else (),
        "covariates": tuple(given["covariate"] or ()),
        "tie_below": given["tie_below"],
        "by": given["by"],
        "criterion": given["criterion"],
        "skip_missing": given["skip_missing"],
        "drop_self": given["drop_self"],
    }
    model = {name: given[name] for name in ("baseline", "level", "judge_skill", "position", "gold", "adaptive", "seed")}
    files = {"format": given["input_format"], "delimiter": given["delimiter"], "encoding": given["encoding"]}
    where = engine_of(given)
    data = given["file"]
    with showing_progress():
        if choose_engine(given["file"], where) is not None:
            from quorate.ranking.from_engine import read_engine_pairs

            pairs = PairOptions(**(options | ({"task": cluster} if cluster not in ("task", "none") else {})))
            reading = ReadOptions(format=given["input_format"], delimiter=given["delimiter"])
            data, line = read_engine_pairs(given["file"], pairs, where, reading)
            print_lines([line], error=True)
        return rank(data, cluster=cluster, **options, **model, **files)


def _write(ranking: "Ranking", given: Mapping[str, Any]) -> None:
    from quorate.cli.terminal import print_head, print_json, print_lines
    from quorate.io.atomic import together
    from quorate.io.write_table import write_table, write_tables
    from quorate.ranking.tables import in_elo

    is_elo = given["units"] == "elo"
    items = ranking.by_criterion("items")
    if is_elo:
        items = in_elo(items)
    pairs = None if given["next"] is None else ranking.next(given["next"], given["aim"])
    output = given["output"]
    lines = [*ranking.lines(), *_difference_lines(ranking, given["difference"]), *_group_lines(ranking)]
    if pairs is not None:
        lines.append(
            "next pairs: choosing pairs by earlier answers lowers the coverage of later intervals; a fifth of these "
            "are chosen at random, and --adaptive marks the next run"
        )
    with together():
        if given["report"] is not None:
            ranking.report(given["report"])
        tables: list[tuple[Any, str | None]] = [
            (items, output),
            (lambda: ranking.by_criterion("judges"), given["workers_out"]),
            (lambda: ranking.by_criterion("pairs"), given["pairs_out"]),
        ]
        if pairs is not None:
            tables.append((pairs, given["next_out"]))
        write_tables(tables, given["format"], excel_safe=given["excel_safe"])
    if given["json"]:
        content = ranking.to_dict()
        if pairs is not None:
            content["next"] = pairs.to_arrow().to_pylist()
        if given["difference"] is not None:
            content["difference"] = ranking.difference(*_two_items(given["difference"], ranking))
        print_json(content)
        return
    if output is None and not sys.stdout.isatty():
        write_table(items, "-", given["format"], excel_safe=given["excel_safe"])
    elif output is None:
        print_head("Items", items, most=MOST_ITEMS)
        print_head("Judges", ranking.judges)
    is_data = output == "-" or (output is None and not sys.stdout.isatty())
    if pairs is not None and given["next_out"] is None and not is_data:
        print_head("Pairs to compare next", pairs, most=MOST_ITEMS)
    elif pairs is not None and given["next_out"] is None:
        rows = [
            f"next pair: {row['item_x']} and {row['item_y']} ({row['chosen']})" for row in pairs.to_arrow().to_pylist()
        ]
        lines += rows
    print_lines(lines, error=is_data)


def _two_items(text: str, ranking: "Ranking") -> tuple[str, str]:
    """Part X,Y; a comma may be in a name."""
    from quorate.errors import OptionError

    items = set(ranking.comparisons.items)
    parts = text.split(",")
    for place in range(1, len(parts)):
        x = ",".join(parts[:place]).strip()
        y = ",".join(parts[place:]).strip()
        if x in items and y in items:
            return x, y
    raise OptionError(f"--difference takes two items as X,Y, and {text!r} names no two of them")


def _difference_lines(ranking: "Ranking", text: str | None) -> list[str]:
    if text is None:
        return []
    x, y = _two_items(text, ranking)
    gap = ranking.difference(x, y)
    return [
        f"difference: {x} minus {y} is {gap['gap']:.2f} log-odds ({ranking.level:.0%} interval {gap['low']:.2f} to "
        f"{gap['high']:.2f}); probability that {x} is above {y}: {gap['p_above']:.2f}"
    ]


def _group_lines(ranking: "Ranking") -> list[str]:
    lines = []
    for kind, rankings in (("group", ranking.groups), ("criterion", ranking.criteria)):
        for name, part in rankings.items():
            leaders = [row["item"] for row in part.items.to_arrow().slice(0, 3).to_pylist()]
            n = f"{part.comparisons.n_comparisons:,.0f}"
            lines.append(f"{kind} {name}: {', '.join(leaders)} lead ({n} comparisons)")
    return lines


class RankCommand(Command):
    """Takes the options of `_rank_options`, and those of engines."""

    shared = (_rank_options, engine_options)
    left_out = frozenset({"order"})


def rank(ctx: typer.Context) -> None:
    """Rank items by pairwise comparisons of people or LLM judges, with intervals.

    Exit code 3 if the comparisons do not determine one list: several parts that nothing connects, one item, only ties,
    or judges who are divided on the direction.

    Examples:
      quorate rank comparisons.csv
      quorate rank battles.csv --left model_a --right model_b --winner winner --judge judge
    """
    _run(**ctx.obj)
