"""Simulated panels of known strengths, skills, side biases and ties; the sets of the table in the documentation."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.ranking.bradley_terry import outcome_moments
from quorate.ranking.comparisons import LEFT, RIGHT, TIE, Comparisons, canonical_comparisons


@dataclass(frozen=True)
class Panel:
    """How one simulated set is made."""

    n_items: int = 20
    n_judges: int = 30
    n_rows: int = 2000
    spammers: float = 0.0
    reversed: float = 0.0
    log_tie: float = -np.inf
    side: float = 0.0
    strong_side: int = 0  # 1: strong items are on the left more often; -1: on the right
    pareto: bool = False
    skill_deviation: float = 0.3


PANELS = {
    "plain": Panel(),
    "sparse": Panel(n_items=100, n_rows=1500),
    "spammers": Panel(spammers=0.4),
    "reversed": Panel(spammers=0.2, reversed=0.2),
    "ties": Panel(log_tie=0.0, n_rows=2000),
    "favoured side": Panel(side=0.7, strong_side=1),
    "other side": Panel(side=0.7, strong_side=-1),
    "all, Pareto": Panel(
        n_judges=60, n_rows=4000, spammers=0.2, reversed=0.2, log_tie=-1.0, side=0.4, strong_side=1, pareto=True
    ),
    "LLM panel": Panel(n_judges=5, n_rows=10_000, side=0.3),
    "one judge": Panel(n_judges=1, skill_deviation=0.0),
    "10 rows per judge": Panel(n_judges=400, n_rows=4000, spammers=0.3),
}


@dataclass(frozen=True)
class Simulation:
    """Comparisons with the parameters that made them; the held-out rows are of the same judges and items."""

    train: Comparisons
    test: Comparisons
    strength: FloatArray
    skill: FloatArray
    side: FloatArray | None = None  # of each judge
    log_tie: float = -np.inf


def simulate(panel: Panel, seed: int, *, test_rows: int = 2000) -> Simulation:
    """Draw strengths, judges and answers."""
    rng = np.random.default_rng([seed, 33])
    strength = rng.standard_normal(panel.n_items)
    skill = rng.normal(1.0, panel.skill_deviation, panel.n_judges)
    kind = rng.permutation(panel.n_judges)
    n_spammers = round(panel.spammers * panel.n_judges)
    n_reversed = round(panel.reversed * panel.n_judges)
    skill[kind[:n_spammers]] = 0.0
    skill[kind[n_spammers : n_spammers + n_reversed]] *= -1
    side = panel.side + 0.3 * rng.standard_normal(panel.n_judges) * (panel.side > 0)
    workload = rng.pareto(1.0, panel.n_judges) + 0.05 if panel.pareto else np.ones(panel.n_judges)
    total = panel.n_rows + test_rows
    left = rng.integers(0, panel.n_items, total)
    right = (left + rng.integers(1, panel.n_items, total)) % panel.n_items
    if panel.strong_side:
        is_ordered = (strength[left] > strength[right]) == (panel.strong_side > 0)
        swap = ~is_ordered & (rng.random(total) < 0.6)
        left, right = np.where(swap, right, left), np.where(swap, left, right)
    judge = rng.choice(panel.n_judges, total, p=workload / workload.sum())
    eta = skill[judge] * (strength[left] - strength[right]) + side[judge]
    log_tie = None if np.isneginf(panel.log_tie) else np.full(total, panel.log_tie)
    mean, tie = outcome_moments(eta, log_tie)
    draw = rng.random(total)
    is_left = draw < (1 - tie + mean) / 2
    is_tie = draw > 1 - tie
    outcome = np.where(is_tie, TIE, np.where(is_left, LEFT, RIGHT))
    train = slice(0, panel.n_rows)
    test = slice(panel.n_rows, total)

    def rows(part: slice) -> Comparisons:
        return coded(left[part], right[part], outcome[part], judge[part], panel.n_items, panel.n_judges)

    return Simulation(rows(train), rows(test), strength, skill, side, panel.log_tie)


def coded(
    left: IntArray,
    right: IntArray,
    outcome: IntArray,
    judge: IntArray,
    n_items: int,
    n_judges: int,
    task: IntArray | None = None,
) -> Comparisons:
    """Return comparisons of codes, with the codes as names."""
    items = [f"item {number}" for number in range(n_items)]
    judges = [f"judge {number}" for number in range(n_judges)]
    return canonical_comparisons(left, right, outcome, judge, items=items, judges=judges, task=task)
