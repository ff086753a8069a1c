"""Cross-validation over four folds of tasks: whether judges' skills improve the prediction of comparisons."""

from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.sampling import splitmix64
from quorate.progress import report
from quorate.ranking.bradley_terry import mean_log_loss
from quorate.ranking.comparisons import MIN_WEIGHT, ComparisonCells, Comparisons, make_cells
from quorate.ranking.fit import fit_ranking

N_FOLDS = 4
FOLD_BITS = 8  # shift of the task hash for folds
SAMPLE_BITS = 24  # shift of the task hash for samples
FOLD_TOLERANCE = 1e-3  # of the fits on folds, which need less precision
# Above twice as many comparisons, a sample of tasks is tried first. Skills are more precise with more answers per
# judge, so if they help in the sample they help in all comparisons; if not, all comparisons decide.
SAMPLE_COMPARISONS = 50_000


@dataclass(frozen=True)
class SkillChoice:
    """Held-out log-loss per comparison with and without skills.

    Attributes:
        used: whether skills are estimated.
        loss_with, loss_without: nats; None without cross-validation, if the caller chose or there is one judge.
    """

    used: bool
    loss_with: float | None = None
    loss_without: float | None = None


MIN_JUDGES_AND_ITEMS = 3  # if two judges differ, or with a single pair of items, nothing shows which judge is better


def shows_skill(comparisons: Comparisons) -> bool:
    """Return whether there are enough judges and items to compare the skills of judges."""
    return comparisons.n_judges >= MIN_JUDGES_AND_ITEMS and comparisons.n_items >= MIN_JUDGES_AND_ITEMS


def choose_skill(
    comparisons: Comparisons, cells: ComparisonCells, *, position: bool, shrink: bool = True
) -> SkillChoice:
    """Return whether skills predict held-out tasks better, on average over the folds.

    Args:
        comparisons: the rows.
        cells: the same rows added up over tasks.
        position: whether the preference for the left side is estimated.
        shrink: as in `quorate.ranking.fit.fit_ranking`.
    """
    n_samples = int(comparisons.n_comparisons // SAMPLE_COMPARISONS)
    if n_samples >= 2:
        sample = _weighted(comparisons, fold_weight(comparisons, 0, n_samples, shift=SAMPLE_BITS))
        sample_cells = make_cells(sample, cells.part, position=position)
        choice = _cross_validate(sample, sample_cells, position=position, shrink=shrink)
        if choice.used:
            return choice
    return _cross_validate(comparisons, cells, position=position, shrink=shrink)


def _cross_validate(comparisons: Comparisons, cells: ComparisonCells, *, position: bool, shrink: bool) -> SkillChoice:
    losses = np.zeros(2)
    total = 0.0
    for fold in range(N_FOLDS):
        report("cross-validation", fold, N_FOLDS)
        held_out = fold_weight(comparisons, fold)
        train_weight = comparisons.weight - held_out
        # Rows are needed for the design effect only, which is 1 if no judge answered twice on a task.
        train = _weighted(comparisons, train_weight) if comparisons.repeats_judge_on_task else comparisons
        train_cells = cells.weighted(train_weight)
        del train_weight
        test_cells = cells.weighted(held_out)
        n_held_out = float(held_out.sum())
        del held_out
        if not len(test_cells.left) or not len(train_cells.left):
            continue
        for index, skill in enumerate((True, False)):
            fit = fit_ranking(
                train, train_cells, skill=skill, position=position, shrink=shrink, tolerance=FOLD_TOLERANCE
            )
            losses[index] += mean_log_loss(test_cells, fit.parameters) * n_held_out
        total += n_held_out
    if total == 0:
        return SkillChoice(False)
    with_skill, without = losses / total
    return SkillChoice(bool(with_skill < without), float(with_skill), float(without))


def fold_weight(comparisons: Comparisons, fold: int, n_folds: int = N_FOLDS, *, shift: int = FOLD_BITS) -> FloatArray:
    """Return the weight of each row that belongs to a fold [rows].

    All rows of a task go to one fold, by a hash of the task's id. Without tasks the repeats of a row go to the folds in
    turn, starting with a fold that depends on the row.

    Args:
        comparisons: the rows.
        fold: number of the fold.
        n_folds: number of folds.
        shift: first bit of the hash that is used; folds by other bits are independent.
    """
    if comparisons.task is not None:
        fold_of_task = (comparisons.task_hash >> np.uint64(shift)) % np.uint64(n_folds)
        in_fold: FloatArray = np.where((fold_of_task == fold)[comparisons.task], comparisons.weight, 0.0)
        return in_fold
    rows = np.arange(comparisons.n_rows, dtype=np.uint64)
    per_fold = np.floor(comparisons.weight / n_folds)
    rest = comparisons.weight - n_folds * per_fold
    start = ((splitmix64(rows) >> np.uint64(shift)) % np.uint64(n_folds)).astype(np.int64)
    weight: FloatArray = per_fold + np.clip(rest - (fold - start) % n_folds, 0, 1)
    return weight


def _weighted(comparisons: Comparisons, weight: FloatArray) -> Comparisons:
    """Return the rows of positive weight, with that weight."""
    keep = weight > MIN_WEIGHT
    return replace(comparisons.select(keep), weight=weight[keep])
