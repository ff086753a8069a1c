"""Comparisons as integer codes: the items on each side, the judge, the outcome and the task.

Comparisons with the same judge, left item, right item, outcome and covariates, of all tasks, form a *cell*. Its weight
is the sum of theirs. The likelihood depends on the comparisons only through these weights (`ComparisonCells`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quorate.arrays import BoolArray, FloatArray, IntArray, sums_of

# Outcomes.
LEFT = 1
TIE = 0
RIGHT = -1
MAX_KEY = 1 << 62  # keys above it could exceed 64 bits
# Cells that numpy handles at a time: their arrays stay in the cache, and below malloc's mmap threshold.
PIECE_CELLS = 1 << 15
MIN_WEIGHT = 1e-9  # of a row or a cell; smaller weights are rounding errors of subtractions


def sum_by(codes: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sum of the values of each code, 0 to n - 1.

    >>> sum_by(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)


@dataclass(frozen=True)
class Comparisons:
    """Comparisons in canonical order: equal rows of one task are one row with their summed weight.

    Attributes:
        left, right: item codes [rows].
        outcome: 1 where the left item won, -1 where the right one did, 0 for a tie [rows].
        judge: judge codes [rows].
        weight: number of answers of a row [rows].
        covariates: numeric covariates, oriented left minus right [rows, covariates].
        task: task codes [rows], ascending; None if every answer is its own task.
        task_hash: a hash of each task's id [tasks], the same on every engine; empty without tasks.
        items, judges: names, in canonical order.
        covariate_names: names of the columns of ``covariates``.
        has_sides: whether the file states which item was shown on the left.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    judge: IntArray
    weight: FloatArray
    covariates: FloatArray
    task: IntArray | None
    task_hash: NDArray[np.uint64]
    items: tuple[str, ...]
    judges: tuple[str, ...]
    covariate_names: tuple[str, ...] = ()
    has_sides: bool = True

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return len(self.left)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_judges(self) -> int:
        """Number of judges."""
        return len(self.judges)

    @cached_property
    def n_comparisons(self) -> float:
        """Total weight of the rows."""
        return float(self.weight.sum())

    @cached_property
    def repeats_judge_on_task(self) -> bool:
        """Whether a judge compared several pairs on one task, as in a ranking of five items."""
        if self.task is None:
            return False
        key = self.task.astype(np.int64) * self.n_judges + self.judge
        return bool((np.diff(key) == 0).any()) or bool((self.weight > 1).any())

    def select(self, keep: BoolArray | slice) -> "Comparisons":
        """Return the rows in the mask or the slice; items and judges keep their codes."""
        return replace(
            self,
            left=self.left[keep],
            right=self.right[keep],
            outcome=self.outcome[keep],
            judge=self.judge[keep],
            weight=self.weight[keep],
            covariates=self.covariates[keep],
            task=None if self.task is None else self.task[keep],
        )


def canonical_comparisons(
    left: IntArray,
    right: IntArray,
    outcome: IntArray,
    judge: IntArray,
    *,
    items: Sequence[str],
    judges: Sequence[str],
    task: IntArray | None = None,
    task_hash: NDArray[np.uint64] | None = None,
    weight: FloatArray | None = None,
    covariates: FloatArray | None = None,
    covariate_names: Sequence[str] = (),
    has_sides: bool = True,
) -> Comparisons:
    """Return rows sorted by task, judge, items and outcome, with the weights of equal rows added.

    The result does not depend on the order of the rows, so sums over it do not either.

    >>> codes = np.array([0, 0]), np.array([1, 1]), np.array([1, 1]), np.array([0, 0])
    >>> canonical_comparisons(*codes, items=["a", "b"], judges=["ann"]).weight.tolist()
    [2.0]
    """
    n_rows = len(left)
    if weight is None:
        weight = np.ones(n_rows)
    if covariates is None:
        covariates = np.zeros((n_rows, 0))
    key = _row_key(len(items), len(judges), left, right, outcome, judge, task)
    order, first, group = _group_rows(key, covariates)
    kept = order[first]
    return Comparisons(
        left=left[kept].astype(np.int32),
        right=right[kept].astype(np.int32),
        outcome=outcome[kept].astype(np.int8),
        judge=judge[kept].astype(np.int32),
        weight=sum_by(group, weight[order], len(kept)),
        covariates=covariates[kept],
        task=None if task is None else task[kept].astype(np.int32),
        task_hash=np.zeros(0, np.uint64) if task_hash is None else task_hash,
        items=tuple(items),
        judges=tuple(judges),
        covariate_names=tuple(covariate_names),
        has_sides=has_sides,
    )


def _row_key(
    n_items: int,
    n_judges: int,
    left: IntArray,
    right: IntArray,
    outcome: IntArray,
    judge: IntArray,
    task: IntArray | None,
) -> IntArray:
    """Return one integer per row that sorts by task, judge, left, right, outcome."""
    sides = ((left, n_items), (right, n_items), (outcome + 1, 3))
    return combine_codes(judge, *sides) if task is None else combine_codes(task, (judge, n_judges), *sides)


def combine_codes(first: IntArray, *more: tuple[IntArray, int]) -> IntArray:
    """Return one integer per row that sorts like the codes, with the first codes most significant.

    Args:
        first: codes.
        more: further codes, each with the number of its values.

    >>> combine_codes(np.array([1, 0]), (np.array([0, 2]), 3)).tolist()
    [3, 2]
    """
    key = first.astype(np.int64)
    for codes, size in more:
        if len(key) and int(key.max()) >= MAX_KEY // max(size, 1):  # renumbered before keys exceed 64 bits
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
        key = key * max(size, 1) + codes
    return key


def _group_rows(key: IntArray, covariates: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the sorting order, the start of each group of equal rows in it, and the group of each sorted row."""
    order = np.lexsort((*covariates.T[::-1], key)) if covariates.shape[1] else np.argsort(key, kind="stable")
    is_new = np.ones(len(key), dtype=bool)
    if len(key):
        sorted_key = key[order]
        is_new[1:] = sorted_key[1:] != sorted_key[:-1]
        if covariates.shape[1]:
            sorted_covariates = covariates[order]
            is_new[1:] |= (sorted_covariates[1:] != sorted_covariates[:-1]).any(axis=1)
    return order, np.flatnonzero(is_new), np.cumsum(is_new) - 1


def _kept_covariates(covariates: FloatArray, keep: BoolArray) -> FloatArray:
    """Return the rows in the mask; a single number that stands for all rows is not copied."""
    if covariates.size and not any(covariates.strides):
        return np.broadcast_to(covariates[0, 0], (int(np.count_nonzero(keep)), covariates.shape[1]))
    return covariates[keep]


def numbered(one: IntArray, other: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return the distinct pairs of codes as one * n + other, ascending, and the number of each row's pair among them.

    >>> pairs, number = numbered(np.array([1, 0, 1]), np.array([2, 1, 2]), 3)
    >>> pairs.tolist(), number.tolist()
    ([1, 5], [1, 0, 1])
    """
    key = one.astype(np.int64) * n + other
    if n * n > 4 * len(key):
        pairs, number = np.unique(key, return_inverse=True)
        return pairs, number.reshape(-1).astype(np.int32)
    # A table of all pairs is faster than sorting.
    is_used = np.bincount(key, minlength=n * n) > 0
    new_code = np.cumsum(is_used, dtype=np.int32) - 1
    return np.flatnonzero(is_used), new_code[key]


@dataclass(frozen=True)
class ComparisonCells:
    """Comparisons added up over tasks, which is all that the fit needs.

    They are in the order of judge, left item, right item and outcome.

    Attributes:
        left, right, judge, outcome, weight: as in `Comparisons` [cells].
        covariates: the values that the common effects multiply [cells, effects]; if an effect of the left side is
            estimated, the first column is 1.
        pair: twice the number of the unordered pair of items, plus 1 if the left item comes first in it [cells].
        pair_low, pair_high: items of each pair [pairs].
        part: connected component of each item in the comparison graph [items].
        has_ties: whether any comparison is a tie.
        cell_of_row: the cell of each row [rows].
    """

    left: IntArray
    right: IntArray
    judge: IntArray
    outcome: IntArray
    weight: FloatArray
    covariates: FloatArray
    n_items: int
    n_judges: int
    pair: IntArray = field(repr=False)
    pair_low: IntArray = field(repr=False)
    pair_high: IntArray = field(repr=False)
    part: IntArray = field(repr=False)
    has_ties: bool
    cell_of_row: IntArray = field(repr=False)

    def pieces(self) -> Iterator[tuple["ComparisonCells", slice]]:
        """Yield consecutive cells whose arrays stay in the cache, each with the slice of its judges.

        The codes of the judges of a piece begin at 0. Items and pairs keep their codes.
        """
        size = max(PIECE_CELLS, self.n_items, len(self.pair_low))
        if len(self.left) <= size:
            yield self, slice(0, self.n_judges)
            return
        no_rows = np.zeros(0, np.int32)
        for low in range(0, len(self.left), size):
            part = slice(low, low + size)
            judge = self.judge[part]
            judges = slice(int(judge[0]), int(judge[-1]) + 1)
            yield (
                replace(
                    self,
                    left=self.left[part],
                    right=self.right[part],
                    judge=judge - judge[0],
                    outcome=self.outcome[part],
                    weight=self.weight[part],
                    covariates=self.covariates[part],
                    n_judges=judges.stop - judges.start,
                    pair=self.pair[part],
                    cell_of_row=no_rows,
                ),
                judges,
            )

    def by_item(self, values: FloatArray) -> FloatArray:
        """Return for each item the sum over cells with the item on the left minus that with the item on the right."""
        by_side = self._by_side(values)
        by_pair = by_side[:, 1] - by_side[:, 0]
        positive = sum_by(self.pair_low, by_pair, self.n_items)
        return positive - sum_by(self.pair_high, by_pair, self.n_items)

    def by_pair(self, values: FloatArray) -> FloatArray:
        """Return the sum over the cells of each pair."""
        by_pair: FloatArray = self._by_side(values).sum(axis=1)
        return by_pair

    def _by_side(self, values: FloatArray) -> FloatArray:
        """Return sums over the cells of each pair: with the item of `pair_high` on the left, and on the right."""
        return sum_by(self.pair, values, 2 * len(self.pair_low)).reshape(-1, 2)

    def gap_of(self, strength: FloatArray) -> FloatArray:
        """Return for each cell the strength of the left item minus that of the right item."""
        if len(self.left) < len(self.pair_low):
            difference: FloatArray = strength[self.left] - strength[self.right]
            return difference
        gap = strength[self.pair_low] - strength[self.pair_high]
        return np.stack([-gap, gap], axis=1).ravel()[self.pair]

    @cached_property
    def _judge_starts(self) -> IntArray:
        """The start of the cells of each judge, and the end of the last."""
        return np.searchsorted(self.judge, np.arange(self.n_judges + 1))

    def by_judge(self, values: FloatArray) -> FloatArray:
        """Return the sum over the cells of each judge; ten times as fast as `sum_by`, because judges are sorted."""
        return sums_of(values, self._judge_starts)

    def of_judge(self, values: FloatArray) -> FloatArray:
        """Return for each cell the value of its judge."""
        return np.repeat(values, np.diff(self._judge_starts))

    def by_item_and_judge(self, values: FloatArray) -> FloatArray:
        """Return sums by item, left minus right, and judge [items, judges]."""
        right = sum_by(self._right_of_judge, values, self.n_judges * self.n_items)
        starts, left = self._left_runs
        right[left] -= sums_of(values, starts)
        return -right.reshape(self.n_judges, self.n_items).T

    @cached_property
    def _right_of_judge(self) -> IntArray:
        """The position of each cell's judge and right item in a table of judges × items."""
        return self.judge.astype(np.int64) * self.n_items + self.right

    @cached_property
    def _left_runs(self) -> tuple[IntArray, IntArray]:
        """The start of the cells of each judge and left item, and their position in a table of judges × items."""
        key = self.judge.astype(np.int64) * self.n_items + self.left
        first = np.flatnonzero(np.diff(key, prepend=-1))
        return np.append(first, len(key)), key[first]

    def weighted(self, weight: FloatArray) -> "ComparisonCells":
        """Return the cells of the same rows with other weights [rows]; cells without weight are left out."""
        total = sum_by(self.cell_of_row, weight, len(self.left))
        keep = total > MIN_WEIGHT
        pair = self.pair[keep]
        has_pair = np.bincount(pair // 2, minlength=len(self.pair_low)) > 0
        number = np.cumsum(has_pair, dtype=np.int32) - 1
        outcome = self.outcome[keep]
        return replace(
            self,
            left=self.left[keep],
            right=self.right[keep],
            judge=self.judge[keep],
            outcome=outcome,
            has_ties=bool((outcome == TIE).any()),
            weight=total[keep],
            covariates=_kept_covariates(self.covariates, keep),
            pair=2 * number[pair // 2] + pair % 2,
            pair_low=self.pair_low[has_pair],
            pair_high=self.pair_high[has_pair],
            cell_of_row=np.zeros(0, np.int32),
        )


def make_cells(comparisons: Comparisons, part: IntArray, *, position: bool) -> ComparisonCells:
    """Return comparisons added up over tasks.

    Args:
        comparisons: the rows.
        part: component of each item.
        position: whether a common preference for the left side is among the effects; the first covariate is then 1.
    """
    key = _row_key(
        comparisons.n_items,
        comparisons.n_judges,
        comparisons.left,
        comparisons.right,
        comparisons.outcome,
        comparisons.judge,
        None,
    )
    order, first, group = _group_rows(key, comparisons.covariates)
    kept = order[first]
    left = comparisons.left[kept]
    right = comparisons.right[kept]
    low = np.minimum(left, right)
    high = np.maximum(left, right)
    pairs, pair = numbered(low, high, comparisons.n_items)
    outcome = comparisons.outcome[kept]
    covariates = comparisons.covariates[kept]
    if position and covariates.shape[1]:
        covariates = np.column_stack([np.ones(len(kept)), covariates])
    elif position:
        covariates = np.broadcast_to(1.0, (len(kept), 1))
    cell_of_row = np.empty(comparisons.n_rows, np.int32)
    cell_of_row[order] = group
    return ComparisonCells(
        left=left,
        right=right,
        judge=comparisons.judge[kept],
        outcome=outcome,
        weight=sum_by(group, comparisons.weight[order], len(kept)),
        covariates=covariates,
        n_items=comparisons.n_items,
        n_judges=comparisons.n_judges,
        pair=2 * pair + (left < right),
        pair_low=pairs // comparisons.n_items,
        pair_high=pairs % comparisons.n_items,
        part=part,
        has_ties=bool((outcome == TIE).any()),
        cell_of_row=cell_of_row,
    )
