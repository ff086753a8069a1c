"""Print tau and coverage for pairs chosen from earlier answers, and for random pairs.

    python -m experiments.ranking.adaptive [--repetitions 8] [--first-seed 80000]

30 items, 10 judges; 60 comparisons at random, then batches of 30 that `next_pairs` chooses, up to 900. A share of each
batch is random, as in `Ranking.next` by default. `best` is the strength of the best item minus that of the item ranked
first, in log-odds.
"""

import argparse

import numpy as np
from scipy.stats import kendalltau, norm

from experiments.ranking.simulated import coded
from quorate.arrays import FloatArray, IntArray
from quorate.ranking.bradley_terry import outcome_moments
from quorate.ranking.comparisons import LEFT, RIGHT, make_cells
from quorate.ranking.connectivity import connectivity
from quorate.ranking.fit import RankingFit, fit_ranking
from quorate.ranking.intervals import Uncertainty, uncertainty
from quorate.ranking.next_pairs import AIMS, RANDOM_SHARE, next_pairs
from quorate.ranking.ranks import ranks_of

N_ITEMS = 30
N_JUDGES = 10
N_FIRST = 60
BATCH = 30
N_LAST = 900
LEVEL = 0.95


def main() -> None:
    """Print one line per aim and share of random pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=80_000)
    options = parser.parse_args()
    print(f"{'pairs':28} {'tau':>6} {'cover':>6} {'ranks':>6} {'best':>6}")
    for aim, share in (("random", 1.0), *((aim, share) for aim in AIMS for share in (RANDOM_SHARE, 0.0))):
        seeds = range(options.first_seed, options.first_seed + options.repetitions)
        tau, cover, ranks, best = np.mean([run(aim, share, seed) for seed in seeds], axis=0)
        name = aim if aim == "random" else f"{aim}, {share:.0%} at random"
        print(f"{name:28} {tau:6.3f} {cover:6.3f} {ranks:6.3f} {best:6.3f}", flush=True)


def run(aim: str, random_share: float, seed: int) -> tuple[float, float, float, float]:
    """Return tau, coverage of strengths and of ranks, and the strength lost by choosing the item ranked first."""
    rng = np.random.default_rng([seed, 33])
    strength = rng.standard_normal(N_ITEMS)
    skill = rng.normal(1.0, 0.3, N_JUDGES)
    left, right = _random_pairs(rng, N_FIRST)
    judge = rng.integers(0, N_JUDGES, N_FIRST)
    outcome = _answers(rng, strength, skill, left, right, judge)
    fit, spread, part = _fit(left, right, outcome, judge, seed)
    while len(left) < N_LAST:
        if aim == "random":
            new_left, new_right = _random_pairs(rng, BATCH)
        else:
            new_left, new_right, _, _ = next_pairs(
                fit.parameters.strength,
                spread.draws,
                part,
                BATCH,
                aim=aim,  # type: ignore[arg-type]
                random_share=random_share,
                seed=len(left),
            )
        is_swapped = rng.random(len(new_left)) < 0.5
        new_left, new_right = np.where(is_swapped, new_right, new_left), np.where(is_swapped, new_left, new_right)
        new_judge = rng.integers(0, N_JUDGES, len(new_left))
        new_outcome = _answers(rng, strength, skill, new_left, new_right, new_judge)
        left = np.concatenate([left, new_left])
        right = np.concatenate([right, new_right])
        judge = np.concatenate([judge, new_judge])
        outcome = np.concatenate([outcome, new_outcome])
        fit, spread, part = _fit(left, right, outcome, judge, seed)
    estimate = fit.parameters.strength
    counts = np.bincount(judge, minlength=N_JUDGES)
    scale = float(counts @ skill**2 / (counts @ np.abs(skill)))
    truth = (strength - strength.mean()) * scale
    covered = np.abs(estimate - truth) <= norm.ppf(0.5 + LEVEL / 2) * spread.standard_error
    ranks = ranks_of(estimate, spread.draws, part, LEVEL)
    true_rank = np.argsort(np.argsort(-strength)) + 1
    rank_covered = (ranks.low <= true_rank) & (true_rank <= ranks.high)
    missed = float(strength.max() - strength[estimate.argmax()])
    return float(kendalltau(estimate, strength)[0]), float(covered.mean()), float(rank_covered.mean()), missed


def _random_pairs(rng: np.random.Generator, n: int) -> tuple[IntArray, IntArray]:
    left = rng.integers(0, N_ITEMS, n)
    return left, (left + rng.integers(1, N_ITEMS, n)) % N_ITEMS


def _answers(
    rng: np.random.Generator,
    strength: FloatArray,
    skill: FloatArray,
    left: IntArray,
    right: IntArray,
    judge: IntArray,
) -> IntArray:
    mean, _ = outcome_moments(skill[judge] * (strength[left] - strength[right]), None)
    return np.where(rng.random(len(left)) < (1 + mean) / 2, LEFT, RIGHT)


def _fit(
    left: IntArray, right: IntArray, outcome: IntArray, judge: IntArray, seed: int
) -> tuple[RankingFit, Uncertainty, IntArray]:
    rows = coded(left, right, outcome, judge, N_ITEMS, N_JUDGES)
    part = connectivity(rows).part
    cells = make_cells(rows, part, position=True)
    fit = fit_ranking(rows, cells)
    return fit, uncertainty(rows, cells, fit, seed=seed), part


if __name__ == "__main__":
    main()
