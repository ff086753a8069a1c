"""The HTML page of a ranking: the result in one sentence, items, judges, pairs, undetermined parts, next pairs."""

from pathlib import Path
from typing import Any

from quorate import __version__
from quorate.arrays import Table
from quorate.charts.ranking import MAX_ITEMS, item_chart, judge_chart, pair_chart
from quorate.errors import count
from quorate.io.write_table import write_text
from quorate.ranking.ranking import Ranking
from quorate.reporting.html import render
from quorate.reporting.svg import to_svg
from quorate.reporting.tables import MAX_ROWS, Badge, Cell, Column, Sheet, number, percent

N_NEXT = 10  # pairs that the page proposes
TONES = {
    "ranked": "good",
    "identified": "good",
    "reversed": "bad",
    "uninformative": "doubt",
    "weakly identified": "doubt",
}
ITEM_CAPTION = "Items, the strongest first"
JUDGE_CAPTION = "Judges, the busiest first"
CRITERIA_CAPTION = "Items by each criterion, ranked from its comparisons alone"
PAIR_CAPTION = "Compared pairs, the worst fit first"


def write_ranking_page(ranking: Ranking, path: str | Path, title: str | None = None) -> None:
    """Write the page; ``-`` is standard output.

    Raises:
        QuorateError: jinja2 is not installed.
    """
    write_text(ranking_page(ranking, title), Path(path))


def ranking_page(ranking: Ranking, title: str | None = None) -> str:
    """Return the page of a ranking as HTML."""
    name = title or (Path(ranking.source).name if ranking.source else "The comparisons")
    comparisons = ranking.comparisons
    drawings = {"items": to_svg(item_chart(ranking), "strength of each item with its interval")}
    if comparisons.n_judges > 1:
        drawings["judges"] = to_svg(judge_chart(ranking), "skill of each judge, and preference for the left side")
    drawings["pairs"] = to_svg(pair_chart(ranking), "share of wins of each pair of items")
    context = {
        "title": name,
        "version": __version__,
        "headline": ranking.headline,
        "lead": ranking.lines()[1],
        "level": f"{ranking.level:.0%}",
        "tiles": _tiles(ranking),
        "warnings": [{"kind": warning.kind, "text": warning.text} for warning in ranking.warnings],
        "n_parts": ranking.connectivity.n_parts,
        "n_judges": comparisons.n_judges,
        "n_cut": max(comparisons.n_items - MAX_ITEMS, 0),
        "skill_line": ranking._skill_line(),
        "effects": _sheet("effects-table", "Effects that all items share", ranking.effects, _effect_cells),
        "items": _sheet("items-table", ITEM_CAPTION, ranking.items, _item_cells),
        "criteria": _sheet("criteria-table", CRITERIA_CAPTION, _criteria(ranking), _criterion_cells),
        "judges": _sheet("judges-table", JUDGE_CAPTION, _sorted(ranking.judges, "comparisons"), _judge_cells),
        "pairs": _sheet("pairs-table", PAIR_CAPTION, _sorted(ranking.pairs, "misfit"), _pair_cells),
        "next_pairs": _sheet("next-table", "Pairs to compare next", ranking.next(N_NEXT), _next_cells),
        "left_out": [f"{reason}: {n:,}" for reason, n in ranking.left_out.items()],
    }
    return render(context, drawings, "ranking.html.j2")


def _tiles(ranking: Ranking) -> list[dict[str, str]]:
    comparisons = ranking.comparisons
    tiers = ranking.items["tier"].to_pylist()
    status = ranking.judges["status"].to_pylist()
    poor = sum(value in ("reversed", "uninformative") for value in status)
    tiles = [
        {
            "figure": f"{comparisons.n_items:,}",
            "what": "items",
            "more": f"in {count(max(tiers), 'tier')}",
            "tone": "good",
        },
        {
            "figure": f"{comparisons.n_comparisons:,.0f}",
            "what": "comparisons",
            "more": f"{comparisons.n_comparisons / comparisons.n_items * 2:.0f} per item",
            "tone": "good",
        },
        {
            "figure": f"{comparisons.n_judges:,}",
            "what": "judges",
            "more": f"{poor:,} no better than chance or reversed" if poor else "none found to be worse than chance",
            "tone": "doubt" if poor else "good",
        },
    ]
    if not ranking.is_determined:
        parts = f"{ranking.connectivity.n_parts:,}"
        tiles.append({"figure": parts, "what": "separate parts", "more": "no common order", "tone": "bad"})
    return tiles


def _sorted(table: Table, column: str) -> Table:
    rows = table.to_arrow()
    values = [abs(float(value)) for value in rows.column(column).to_pylist()]
    order = sorted(range(len(values)), key=lambda index: -values[index])
    return Table(rows.take(order))


def _sheet(name: str, caption: str, table: Table, cells: Any) -> Sheet:
    columns, make = cells()
    rows = tuple(make(row) for row in table.to_arrow().slice(0, MAX_ROWS).to_pylist())
    return Sheet(name, caption, columns, rows, len(table))


def _criteria(ranking: Ranking) -> Table:
    """Return the items by each criterion; no rows without criteria."""
    rows = ranking.by_criterion("items").to_arrow()
    if not ranking.criteria:
        return Table(rows.slice(0, 0))
    return Table(rows.filter(rows.column("criterion").is_valid()))


def _criterion_cells() -> tuple[tuple[Column, ...], Any]:
    columns, make = _item_cells()

    def with_criterion(row: dict[str, Any]) -> tuple[Cell, ...]:
        return (Cell(row["criterion"]), *make(row))

    return (Column("criterion"), *columns), with_criterion


def _interval(low: float | None, high: float | None) -> Cell:
    if low is None and high is None:
        return Cell("–")
    bounds = ["open" if value is None else f"{value:.2f}" for value in (low, high)]
    return Cell(f"{bounds[0]} to {bounds[1]}", low)


def _status(text: str) -> Cell:
    return Cell(badges=(Badge(text, TONES.get(text, "unknown")),))


def _item_cells() -> tuple[tuple[Column, ...], Any]:
    columns = (
        Column("item"), Column("part", True, True), Column("rank", True), Column("rank interval"),
        Column("strength", True), Column("interval"), Column("tier", True), Column("probability of being best", True),
        Column("win rate", True, True), Column("comparisons", True, True), Column("status"),
    )  # fmt: skip

    def make(row: dict[str, Any]) -> tuple[Cell, ...]:
        return (
            Cell(row["item"]),
            number(row["part"], 0),
            number(row["rank"], 0),
            Cell(f"{row['rank_low']} to {row['rank_high']}", row["rank_low"]),
            number(row["strength"]),
            _interval(row["low"], row["high"]),
            number(row["tier"], 0),
            percent(row["p_best"]),
            percent(row["win_rate"]),
            number(row["comparisons"], 0),
            _status(row["status"]),
        )

    return columns, make


def _judge_cells() -> tuple[tuple[Column, ...], Any]:
    columns = (
        Column("judge"), Column("comparisons", True), Column("skill", True), Column("interval"),
        Column("preference for the left", True), Column("ties", True, True), Column("agrees with the ranking", True),
        Column("same answer after swapping", True, True), Column("status"),
    )  # fmt: skip

    def make(row: dict[str, Any]) -> tuple[Cell, ...]:
        return (
            Cell(row["judge"]),
            number(row["comparisons"], 0),
            number(row["skill"]),
            _interval(row["skill_low"], row["skill_high"]),
            number(row["left_bias"]),
            percent(row["tie_rate"]),
            percent(row["agrees"]),
            percent(row["swap_agreement"]),
            _status(row["status"]),
        )

    return columns, make


def _pair_cells() -> tuple[tuple[Column, ...], Any]:
    columns = (
        Column("stronger item"), Column("weaker item"), Column("comparisons", True), Column("won", True),
        Column("expected", True), Column("misfit", True), Column("gap", True), Column("interval"),
        Column("more needed", True, True),
    )  # fmt: skip

    def make(row: dict[str, Any]) -> tuple[Cell, ...]:
        return (
            Cell(row["item_x"]),
            Cell(row["item_y"]),
            number(row["comparisons"], 0),
            number(row["wins_x"] + row["ties"] / 2, 1),
            number(row["expected"], 1),
            number(row["misfit"], 1),
            number(row["gap"]),
            _interval(row["low"], row["high"]),
            number(row["more_needed"], 0),
        )

    return columns, make


def _effect_cells() -> tuple[tuple[Column, ...], Any]:
    columns = (Column("effect"), Column("log-odds", True), Column("interval"), Column("not due to items", True))

    def make(row: dict[str, Any]) -> tuple[Cell, ...]:
        low = row["low"]
        high = row["high"]
        return (
            Cell(row["effect"]),
            Cell(f"{row['estimate']:.3g}", row["estimate"]),
            Cell(f"{low:.3g} to {high:.3g}", low),
            percent(row["free_share"]),
        )

    return columns, make


def _next_cells() -> tuple[tuple[Column, ...], Any]:
    columns = (Column("item"), Column("with"), Column("gain", True), Column("chosen"))

    def make(row: dict[str, Any]) -> tuple[Cell, ...]:
        return Cell(row["item_x"]), Cell(row["item_y"]), number(row["gain"], 4), Cell(row["chosen"])

    return columns, make
