"""Tables of a ranking: items, judges, pairs."""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from scipy.special import ndtr, ndtri

from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, table_of
from quorate.ranking.bradley_terry import cell_log_odds, outcome_moments
from quorate.ranking.comparisons import LEFT, RIGHT, TIE, ComparisonCells, Comparisons, combine_codes, sum_by
from quorate.ranking.connectivity import Connectivity
from quorate.ranking.fit import RankingFit
from quorate.ranking.intervals import Uncertainty
from quorate.ranking.ranks import Ranks

ELO_PER_LOGIT = 400 / np.log(10)
ELO_CENTRE = 1000.0
MIN_JUDGE_COMPARISONS = 10  # with fewer, a skill depends mostly on the prior: status "few answers"
UNINFORMATIVE_SKILL = 0.5  # of the typical skill; a judge whose interval contains 0 and is below it adds little
MAX_MORE_NEEDED = 10**9  # comparisons; if more are needed, two items are practically equal


def items_table(
    comparisons: Comparisons,
    cells: ComparisonCells,
    connected: Connectivity,
    strength: FloatArray,
    uncertainty: Uncertainty,
    ranks: Ranks,
    tier: IntArray,
    *,
    level: float,
    baseline: int | None,
) -> Table:
    """Return one row per item, by part and rank.

    Bounds that only the prior sets (an item that never loses, or never wins) are absent. With a baseline, strengths and
    bounds are differences to it.
    """
    z = ndtri(0.5 + level / 2)
    n = comparisons.n_items
    if baseline is None:
        centre = strength
        error = uncertainty.standard_error
    else:
        centre = strength - strength[baseline]
        error = uncertainty.gap_error(np.arange(n), np.full(n, baseline))
    n_comparisons = _by_either(cells, cells.weight)
    decided = _by_either(cells, np.where(cells.outcome == TIE, 0.0, cells.weight))
    wins = sum_by(cells.left, cells.weight * (cells.outcome == LEFT), n)
    wins = wins + sum_by(cells.right, cells.weight * (cells.outcome == RIGHT), n)
    ties = _by_either(cells, np.where(cells.outcome == TIE, cells.weight, 0.0))
    pairs = np.unique(
        np.concatenate([cells.left, cells.right]) * cells.n_judges + np.concatenate([cells.judge, cells.judge])
    )
    n_judges = np.bincount(pairs // cells.n_judges, minlength=n)
    open_above = connected.never_loses
    open_below = connected.never_wins
    is_alone = np.bincount(connected.part)[connected.part] == 1
    status = np.where(open_above, "open above", np.where(open_below, "open below", "ranked"))
    status = np.where(is_alone, "alone", status)
    order = np.lexsort((ranks.rank, connected.part))
    columns = {
        "item": from_strings([comparisons.items[code] for code in order]),
        "rank": ranks.rank[order],
        "strength": centre[order],
        "low": from_numpy((centre - z * error)[order], mask=open_below[order]),
        "high": from_numpy((centre + z * error)[order], mask=open_above[order]),
        "elo": (ELO_CENTRE + ELO_PER_LOGIT * centre)[order],
        "rank_low": ranks.low[order],
        "rank_high": ranks.high[order],
        "tier": tier[order],
        "p_best": ranks.p_best[order],
        "comparisons": _counts(n_comparisons[order]),
        "decided": _counts(decided[order]),
        "win_rate": ((wins + ties / 2) / np.maximum(n_comparisons, 1e-12))[order],
        "judges": n_judges[order],
        "part": connected.part[order] + 1,
        "status": from_strings([str(value) for value in status[order]]),
    }
    return Table(table_of(columns))


def _by_either(cells: ComparisonCells, values: FloatArray) -> FloatArray:
    return sum_by(cells.left, values, cells.n_items) + sum_by(cells.right, values, cells.n_items)


def _counts(weights: FloatArray) -> np.ndarray:
    """Return weights as integers if all are whole numbers; weights may be fractions."""
    rounded = np.round(weights, 6)
    return rounded.astype(np.int64) if (rounded == np.rint(rounded)).all() else rounded


@dataclass(frozen=True)
class JudgeCounts:
    """Counts of each judge [judges] that need rows by task."""

    comparisons: FloatArray
    tasks: IntArray
    ties: FloatArray
    swap_pairs: FloatArray
    swap_agreed: FloatArray


def judge_counts(comparisons: Comparisons) -> JudgeCounts:
    """Return the comparisons, tasks and ties of each judge, and the answers repeated with exchanged sides."""
    n_judges = comparisons.n_judges
    n_items = comparisons.n_items
    judge = comparisons.judge
    weight = comparisons.weight
    total = sum_by(judge, weight, n_judges)
    if comparisons.task is None:
        task_count = np.rint(total).astype(np.int64)
        task: IntArray = np.zeros(comparisons.n_rows, np.int64)
    else:
        task = comparisons.task
        # Rows are in the order of task and judge.
        is_first = np.diff(task.astype(np.int64) * n_judges + judge, prepend=-1) != 0
        task_count = np.bincount(judge[is_first], minlength=n_judges)
    n_ties = sum_by(judge, np.where(comparisons.outcome == TIE, weight, 0.0), n_judges)
    if comparisons.task is not None:
        # A pair repeated with exchanged sides is in several rows of its task and judge, which few rows are.
        is_alone = is_first & np.append(is_first[1:], True)
        comparisons = comparisons.select(~is_alone)
        task = task[~is_alone]
        judge = comparisons.judge
        weight = comparisons.weight
    low = np.minimum(comparisons.left, comparisons.right)
    high = np.maximum(comparisons.left, comparisons.right)
    is_swapped = comparisons.left > comparisons.right
    winner = np.where(is_swapped, -comparisons.outcome, comparisons.outcome)
    key = combine_codes(task, (judge, n_judges), (low, n_items), (high, n_items))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    n_groups = len(first)
    one_way = np.where(is_swapped, 0.0, weight)
    other_way = np.where(is_swapped, weight, 0.0)
    n_swapped = sum_by(group, one_way, n_groups) * sum_by(group, other_way, n_groups)
    agreed = np.zeros(n_groups)
    for value in (LEFT, TIE, RIGHT):
        is_value = winner == value
        agreed += sum_by(group, one_way * is_value, n_groups) * sum_by(group, other_way * is_value, n_groups)
    is_swapped_pair = n_swapped > 0
    of_judge = judge[first]
    rate = np.where(is_swapped_pair, agreed / np.where(is_swapped_pair, n_swapped, 1.0), 0.0)
    return JudgeCounts(
        total,
        task_count,
        n_ties,
        sum_by(of_judge, is_swapped_pair.astype(float), n_judges),
        sum_by(of_judge, rate, n_judges),
    )


def judges_table(
    comparisons: Comparisons,
    cells: ComparisonCells,
    fit: RankingFit,
    uncertainty: Uncertainty,
    *,
    level: float,
    has_position: bool,
) -> Table:
    """Return one row per judge: skill, side bias, ties, and how often it agrees with the ranking."""
    z = ndtri(0.5 + level / 2)
    parameters = fit.parameters
    counts = judge_counts(comparisons)
    n_judges = comparisons.n_judges
    gap = parameters.strength[cells.left] - parameters.strength[cells.right]
    decided = np.where(cells.outcome == TIE, 0.0, cells.weight)
    agreed = sum_by(cells.judge, decided * (np.sign(gap) == cells.outcome), n_judges)
    n_decided = sum_by(cells.judge, decided, n_judges)
    median_gap = float(np.median(np.abs(gap))) if len(gap) else 0.0
    tie_term = parameters.log_tie if cells.has_ties else None
    mean, tie = outcome_moments(parameters.skill * median_gap, tie_term)
    accuracy = (1 - tie + mean) / 2 / np.maximum(1 - tie, 1e-12)
    estimated = fit.estimated.skill
    low = parameters.skill - z * uncertainty.skill_error
    high = parameters.skill + z * uncertainty.skill_error
    common = parameters.effects[0] if has_position else 0.0
    common_error = uncertainty.effect_error[0] if has_position else 0.0
    side = parameters.side_bias + common
    side_error = np.sqrt(uncertainty.side_error**2 + (common_error**2 if n_judges == 1 else 0.0))
    no_skill = np.full(n_judges, not estimated)
    no_side = np.full(n_judges, not has_position)
    status = [
        _judge_status(estimated, low[judge_code], high[judge_code], counts.comparisons[judge_code])
        for judge_code in range(n_judges)
    ]
    is_swapped = counts.swap_pairs > 0
    columns = {
        "judge": from_strings(list(comparisons.judges)),
        "comparisons": _counts(counts.comparisons),
        "tasks": counts.tasks,
        "skill": parameters.skill,
        "skill_low": from_numpy(low, mask=no_skill),
        "skill_high": from_numpy(high, mask=no_skill),
        "accuracy_mid": accuracy,
        "left_bias": from_numpy(side, mask=no_side),
        "left_bias_low": from_numpy(side - z * side_error, mask=no_side),
        "left_bias_high": from_numpy(side + z * side_error, mask=no_side),
        "tie_rate": counts.ties / np.maximum(counts.comparisons, 1e-12),
        "swap_agreement": from_numpy(
            np.where(is_swapped, counts.swap_agreed / np.where(is_swapped, counts.swap_pairs, 1.0), 0.0),
            mask=~is_swapped,
        ),
        "agrees": from_numpy(np.where(n_decided > 0, agreed / np.maximum(n_decided, 1e-12), 0.0), mask=n_decided == 0),
        "status": from_strings(status),
    }
    return Table(table_of(columns))


def _judge_status(estimated: bool, low: float, high: float, comparisons: float) -> str:
    if not estimated:
        return "not identified"
    if high < 0:
        return "reversed"
    if low > 0:
        return "identified"
    if comparisons < MIN_JUDGE_COMPARISONS:
        return "few answers"
    return "uninformative" if high < UNINFORMATIVE_SKILL else "weakly identified"


@dataclass(frozen=True)
class PairFit:
    """Observed and expected wins of every compared pair [pairs], for the first item of the pair.

    Attributes:
        low, high: items of the pair.
        comparisons, wins, ties: observed numbers, for the item ``low``.
        expected: wins plus half of the ties, expected by the model.
        variance: variance of wins plus half of the ties, by the model.
    """

    low: IntArray
    high: IntArray
    comparisons: FloatArray
    wins: FloatArray
    ties: FloatArray
    expected: FloatArray
    variance: FloatArray

    @property
    def misfit(self) -> FloatArray:
        """Standardised difference of observed and expected wins."""
        return (self.wins + self.ties / 2 - self.expected) / np.sqrt(np.maximum(self.variance, 1e-12))

    def dispersion(self, n_parameters: float) -> float:
        """Sum of squared misfits per degree of freedom; about 1 if one strength per item suffices."""
        free = len(self.low) - n_parameters
        return float((self.misfit**2).sum() / free) if free >= 1 else float("nan")


def pair_fit(cells: ComparisonCells, fit: RankingFit) -> PairFit:
    """Return observed and expected wins of every compared pair."""
    _, eta = cell_log_odds(cells, fit.parameters)
    mean, tie = outcome_moments(eta, fit.parameters.log_tie[cells.judge] if cells.has_ties else None)
    sign = np.where(cells.left < cells.right, 1.0, -1.0)
    by_pair = cells.by_pair
    return PairFit(
        cells.pair_low,
        cells.pair_high,
        by_pair(cells.weight),
        by_pair(cells.weight * (sign * cells.outcome > 0)),
        by_pair(cells.weight * (cells.outcome == TIE)),
        by_pair(cells.weight * (1 + sign * mean) / 2),
        by_pair(cells.weight * (1 - tie - mean**2) / 4),
    )


def more_comparisons_needed(gap: FloatArray, error: FloatArray, z: float) -> tuple[FloatArray, BoolArray]:
    """Return how many more comparisons by a typical judge each gap needs to exclude zero, and where they are too many.

    One answer adds the information 1/(4 cosh^2(gap/2)) to 1/error^2; (z/gap)^2 is needed.
    """
    size = np.maximum(np.abs(gap), 1e-9)
    per_answer = 1 / (4 * np.cosh(np.minimum(size / 2, 300)) ** 2)
    current = 1 / np.maximum(error, 1e-9) ** 2
    needed = np.ceil(np.maximum((z / size) ** 2 - current, 0) / np.maximum(per_answer, 1e-12))
    return needed, needed > MAX_MORE_NEEDED


def pairs_table(
    comparisons: Comparisons, pairs: PairFit, strength: FloatArray, uncertainty: Uncertainty, *, level: float
) -> Table:
    """Return one row per compared pair; item_x is the stronger item."""
    z = ndtri(0.5 + level / 2)
    is_low_stronger = strength[pairs.low] >= strength[pairs.high]
    x = np.where(is_low_stronger, pairs.low, pairs.high)
    y = np.where(is_low_stronger, pairs.high, pairs.low)
    wins_low = pairs.wins
    wins_high = pairs.comparisons - pairs.ties - pairs.wins
    gap = strength[x] - strength[y]
    error = uncertainty.gap_error(x, y)
    needed, is_hopeless = more_comparisons_needed(gap, error, float(z))
    expected = np.where(is_low_stronger, pairs.expected, pairs.comparisons - pairs.expected)
    misfit = np.where(is_low_stronger, pairs.misfit, -pairs.misfit)
    order = np.lexsort((y, x, -strength[y], -strength[x]))
    columns = {
        "item_x": from_strings([comparisons.items[item] for item in x[order]]),
        "item_y": from_strings([comparisons.items[item] for item in y[order]]),
        "comparisons": _counts(pairs.comparisons[order]),
        "wins_x": _counts(np.where(is_low_stronger, wins_low, wins_high)[order]),
        "ties": _counts(pairs.ties[order]),
        "expected": expected[order],
        "misfit": misfit[order],
        "p_above": ndtr(gap / np.maximum(error, 1e-12))[order],
        "gap": gap[order],
        "low": (gap - z * error)[order],
        "high": (gap + z * error)[order],
        "more_needed": from_numpy(np.minimum(needed, MAX_MORE_NEEDED).astype(np.int64)[order], mask=is_hopeless[order]),
    }
    return Table(table_of(columns))


def in_elo(items: Table) -> Table:
    """Return an items table with strengths and bounds on the Elo scale, 400/log(10) per log-odds.

    The mean item, or the baseline, has 1000.
    """
    arrow = items.to_arrow()
    for name in ("strength", "low", "high"):
        column = pc.add(pc.multiply(arrow.column(name), float(ELO_PER_LOGIT)), ELO_CENTRE)
        arrow = arrow.set_column(arrow.column_names.index(name), name, column)
    return Table(arrow)
