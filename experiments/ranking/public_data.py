"""Print the figures on public comparisons with their targets: LLMFAO, WMT 2013, AlpacaEval, and clustered rows.

    python -m experiments.ranking.public_data [--splits 10]

The data are read from the folder `pairs` of QUORATE_DATASETS (by default `../shared/datasets`, seen from the
repository).
"""

import argparse
import csv
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau, spearmanr

import quorate
from experiments.ranking.figures import decided_log_loss, three_way_loss
from experiments.ranking.simulated import coded
from quorate.arrays import FloatArray
from quorate.io.exports.pairwise import read_pairs
from quorate.io.pairs import PairOptions
from quorate.ranking.bradley_terry import outcome_moments
from quorate.ranking.comparisons import LEFT, RIGHT, Comparisons, make_cells
from quorate.ranking.connectivity import connectivity
from quorate.ranking.cross_validation import choose_skill
from quorate.ranking.fit import fit_ranking
from quorate.ranking.intervals import uncertainty
from quorate.ranking.rank import comparisons_of

MAX_LLMFAO_LOSS = 0.535
HELD_OUT = 0.2


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    folder = Path(os.environ.get("QUORATE_DATASETS", "../shared/datasets"), "pairs")
    llmfao(folder / "llmfao.csv", given.splits)
    wmt(folder / "wmt13_fr_en.csv")
    wmt_subsets(folder / "wmt13_fr_en.csv")
    alpaca(folder)
    clustered_rows()


def llmfao(path: Path, splits: int) -> None:
    """Hold out a fifth of the tasks whole (an `id` is one pair of answers to one prompt)."""
    rows = read_pairs(str(path), PairOptions(task="id"))
    comparisons, _ = comparisons_of(rows)
    assert comparisons.task is not None
    part = connectivity(comparisons).part
    results = []
    for split in range(splits):
        rng = np.random.default_rng([split, 33])
        n_tasks = int(comparisons.task.max()) + 1
        held = rng.random(n_tasks) < HELD_OUT
        is_test = held[comparisons.task]
        train = comparisons.select(~is_test)
        test = make_cells(comparisons.select(is_test), part, position=True)
        train_cells = make_cells(train, part, position=True)
        line = []
        for skill in (True, False):
            fit = fit_ranking(train, train_cells, skill=skill)
            line += [decided_log_loss(train, test, fit), three_way_loss(test, fit)]
        results.append(line)
    with_skill, three_way, without, three_way_without = np.mean(results, axis=0)
    verdict = "held" if with_skill <= MAX_LLMFAO_LOSS else "MISSED"
    target = f"(target <= {MAX_LLMFAO_LOSS}: {verdict})"
    print(f"LLMFAO, {splits} splits: log-loss of decided held-out rows {with_skill:.3f} {target}")
    print(f"  without skills {without:.3f}; three-way {three_way:.3f} against {three_way_without:.3f}")


def wmt(path: Path) -> None:
    """Rank WMT 2013 by rankings of five; intervals by ranking against rows taken as independent."""
    start = time.process_time()
    by_ranking = quorate.rank(str(path))
    cpu = time.process_time() - start
    independent = quorate.rank(str(path), cluster="none", judge_skill="on")
    widths = [np.asarray(each.uncertainty.standard_error) for each in (by_ranking, independent)]
    ratio = widths[0] / widths[1]
    print(f"WMT 2013 fr-en: {cpu:.1f} s CPU with cross-validation")
    print(f"  widths by ranking over those by row: {ratio.min():.2f} to {ratio.max():.2f}")
    choice = by_ranking.choice
    print(f"  held-out log-loss with skills {choice.loss_with:.4f}, without {choice.loss_without:.4f}")


def wmt_subsets(path: Path, subsets: int = 6) -> None:
    """Rank few rankings of turkers, with and without skills and by the data's choice; truth: all researchers' rankings.

    With about one ranking per judge skills are noise, and the held-out log-loss must drop them.
    """
    rows = read_pairs(str(path))
    comparisons, _ = comparisons_of(rows)
    assert comparisons.task is not None
    is_turker = np.array([name.startswith("turker") for name in comparisons.judges])[comparisons.judge]
    reference = _strengths(comparisons.select(~is_turker), skill=False)
    for n_rankings in (100, 400):
        taus = np.zeros(3)
        n_used = 0
        for subset in range(subsets):
            rng = np.random.default_rng([subset, n_rankings])
            tasks = rng.choice(np.unique(comparisons.task[is_turker]), n_rankings, replace=False)
            part = comparisons.select(is_turker & np.isin(comparisons.task, tasks))
            used = choose_skill(part, make_cells(part, connectivity(part).part, position=False), position=False).used
            n_used += used
            by_skill = [kendalltau(_strengths(part, skill=skill), reference)[0] for skill in (True, False)]
            taus += [*by_skill, by_skill[0 if used else 1]]
        with_skill, without, chosen = taus / subsets
        print(
            f"WMT, {n_rankings} rankings of turkers: tau {with_skill:.3f} with skills, {without:.3f} without, "
            f"{chosen:.3f} by choice (skills in {n_used} of {subsets})"
        )


def _strengths(comparisons: Comparisons, *, skill: bool) -> FloatArray:
    cells = make_cells(comparisons, connectivity(comparisons).part, position=False)
    return fit_ranking(comparisons, cells, skill=skill, position=False).parameters.strength


def alpaca(folder: Path) -> None:
    """Compare strengths, without and with length as covariate, with the official length-controlled leaderboard."""
    official = {}
    with (folder / "alpaca_eval_leaderboard.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            official[row[""]] = (float(row["length_controlled_winrate"] or "nan"), float(row["avg_length"] or "nan"))
    for name, covariates in (("raw", []), ("length", ["l1,l2"])):
        ranking = quorate.rank(str(folder / "alpaca_eval.parquet"), covariates=covariates)
        strength = dict(zip(ranking.comparisons.items, ranking.strengths, strict=True))
        shared = [item for item in strength if item in official and np.isfinite(official[item][0])]
        values = [strength[item] for item in shared]
        controlled = spearmanr(values, [official[item][0] for item in shared])[0]
        length = spearmanr(values, [official[item][1] for item in shared])[0]
        print(
            f"AlpacaEval 2, {name}: Spearman with the length-controlled leaderboard {controlled:.3f}, with length "
            f"{length:.3f} ({len(shared)} models)"
        )


def clustered_rows(repetitions: int = 12) -> None:
    """Simulate answers to questions that deviate by question: coverage of intervals by question and by row."""
    for n_questions, deviation in ((20, 1.0), (80, 1.0), (20, 0.0)):
        covers = np.zeros(2)
        for repetition in range(repetitions):
            rng = np.random.default_rng([repetition, n_questions, 77])
            strength = rng.standard_normal(15)
            skill = np.r_[np.zeros(3), rng.normal(1, 0.3, 7)]
            answer = strength[:, None] + deviation * rng.standard_normal((15, n_questions))
            n_rows = 3000
            left = rng.integers(0, 15, n_rows)
            right = (left + rng.integers(1, 15, n_rows)) % 15
            judge = rng.integers(0, 10, n_rows)
            question = rng.integers(0, n_questions, n_rows)
            eta = skill[judge] * (answer[left, question] - answer[right, question])
            mean, _ = outcome_moments(eta, None)
            outcome = np.where(rng.random(n_rows) < (1 + mean) / 2, LEFT, RIGHT)
            rows = coded(left, right, outcome, judge, 15, 10, task=question)
            rows = replace(rows, task_hash=np.arange(n_questions).astype(np.uint64))
            connected = connectivity(rows)
            cells = make_cells(rows, connected.part, position=True)
            fit = fit_ranking(rows, cells)
            # One strength per item estimates a flattened scale where answers deviate, so the truth is put on the
            # scale of the estimate.
            truth = strength - strength.mean()
            truth = truth * float(fit.parameters.strength @ truth / (truth @ truth))
            for place, by_task in enumerate((False, True)):
                spread = uncertainty(rows, cells, fit, by_task=by_task)
                covers[place] += np.mean(np.abs(fit.parameters.strength - truth) <= 1.96 * spread.standard_error)
        rows_cover, task_cover = covers / repetitions
        print(
            f"{n_questions} questions, deviation {deviation:.0f}: coverage {task_cover:.3f} by question, "
            f"{rows_cover:.3f} if rows were independent"
        )


if __name__ == "__main__":
    main()
