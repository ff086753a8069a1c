"""Uncertainty of the strengths: sandwich covariance with scores summed by task, or multiplier draws for many items.

The answers of judges who see the same task are not independent, so scores are added up by task before squaring.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.sampling import splitmix64
from quorate.progress import report
from quorate.ranking.bradley_terry import (
    EFFECT_PRECISION,
    cell_derivatives,
    centre_by_part,
    row_covariates,
    row_derivatives,
)
from quorate.ranking.comparisons import ComparisonCells, Comparisons
from quorate.ranking.fit import RankingFit
from quorate.ranking.information import JointInformation, inverse_of, joint_information
from quorate.skills.conjugate_gradients import block_cg

MAX_COVARIANCE_ITEMS = 1200  # above it draws replace the covariance, which needs n^3 operations and n^2 numbers
N_DRAWS = 4000  # from the covariance: the standard error of a probability is below 0.008
N_MULTIPLIER_DRAWS = 128  # each needs a sparse solve, and two words of 64 random signs per task
CG_TOLERANCE = 1e-5
CG_MAX_ITERATIONS = 300
WORD_BITS = 64
MAX_ROWS = 1 << 20  # rows whose scores are computed at a time
MAX_SIGNS = 1 << 22  # random signs (tasks × draws) in memory at a time


@dataclass(frozen=True)
class Uncertainty:
    """Joint uncertainty of the strengths.

    Attributes:
        covariance: of the strengths, centred in each part [items, items]; None above `MAX_COVARIANCE_ITEMS`.
        draws: deviations from the estimates [draws, items].
        standard_error: of each strength [items].
        effect_error: standard error of each common effect [effects].
        skill_error: standard error of each judge's skill [judges].
        side_error: standard error of each judge's side bias [judges].
        n_clusters: number of tasks, or of comparisons if each is its own cluster.
    """

    covariance: FloatArray | None
    draws: FloatArray
    standard_error: FloatArray
    effect_error: FloatArray
    skill_error: FloatArray
    side_error: FloatArray
    n_clusters: int

    def gap_error(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return the standard error of the difference of each pair of strengths."""
        if self.covariance is None:
            error: FloatArray = (self.draws[:, i] - self.draws[:, j]).std(axis=0)
            return error
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        return np.sqrt(np.maximum(variance, 0))


def uncertainty(
    comparisons: Comparisons, cells: ComparisonCells, fit: RankingFit, *, by_task: bool = True, seed: int = 0
) -> Uncertainty:
    """Return the uncertainty of a fit.

    Args:
        comparisons: rows by task.
        cells: the same rows added up over tasks.
        fit: the estimates.
        by_task: sum scores by task; otherwise every comparison counts as independent.
        seed: seed of the draws.
    """
    joint = joint_information(cells, fit.parameters, fit.estimated, fit.strength_precision)
    has_tasks = by_task and comparisons.task is not None
    rows = _ClusteredRows.of_tasks(comparisons, cells, fit) if has_tasks else _ClusteredRows.of_cells(cells, fit)
    if cells.n_items <= MAX_COVARIANCE_ITEMS:
        return _sandwich(rows, joint, cells, fit, seed)
    return _multiplier_draws(rows, joint, cells, fit, comparisons.task_hash if has_tasks else None, seed)


@dataclass(frozen=True)
class _ClusteredRows:
    """Rows in clusters: tasks or cells.

    Attributes:
        n_clusters: number of independent clusters.
        weight: number of comparisons.
        pieces: yields consecutive rows of whole clusters.
    """

    n_clusters: int
    weight: float
    pieces: Callable[[], Iterator["_Rows"]]

    @classmethod
    def of_tasks(cls, comparisons: Comparisons, cells: ComparisonCells, fit: RankingFit) -> "_ClusteredRows":
        """Return the rows of each task as a cluster."""
        assert comparisons.task is not None
        starts = np.flatnonzero(np.diff(comparisons.task, prepend=-1))

        def pieces() -> Iterator[_Rows]:
            low = 0
            while low < comparisons.n_rows:
                following = np.searchsorted(starts, low + MAX_ROWS)  # the first task that begins later
                high = int(starts[following]) if following < len(starts) else comparisons.n_rows
                part = comparisons.select(slice(low, high))
                assert part.task is not None
                derivatives = row_derivatives(part, cells, fit.parameters)
                yield _Rows(
                    np.cumsum(np.diff(part.task, prepend=part.task[0]) != 0),
                    derivatives.score,
                    derivatives.gap,
                    part.left,
                    part.right,
                    part.judge,
                    fit.parameters.skill[part.judge],
                    row_covariates(part, cells),
                )
                low = high

        return cls(len(starts), comparisons.n_comparisons, pieces)

    @classmethod
    def of_cells(cls, cells: ComparisonCells, fit: RankingFit) -> "_ClusteredRows":
        """Return cells as clusters: the w comparisons of a cell are independent, so they add w squares, not w²."""
        total = float(cells.weight.sum())

        def pieces() -> Iterator[_Rows]:
            derivatives = cell_derivatives(cells, fit.parameters)
            yield _Rows(
                np.arange(len(cells.left)),
                derivatives.score / np.sqrt(cells.weight),
                derivatives.gap,
                cells.left,
                cells.right,
                cells.judge,
                fit.parameters.skill[cells.judge],
                cells.covariates,
            )

        return cls(max(round(total), 1), total, pieces)


@dataclass(frozen=True)
class _Rows:
    """Scores of rows, each belonging to a cluster; the clusters are numbered from 0."""

    cluster: IntArray
    score: FloatArray
    gap: FloatArray
    left: IntArray
    right: IntArray
    judge: IntArray
    skill: FloatArray
    covariates: FloatArray

    def score_matrices(self, n_items: int, n_judges: int, kept: tuple[int, ...]) -> tuple[sparse.csr_matrix, ...]:
        """Return scores by cluster: of items and effects [clusters, core], of judge parameters [clusters, judges]."""
        n_rows = len(self.score)
        row = np.arange(n_rows)
        n_groups = int(self.cluster[-1]) + 1
        by_cluster = sparse.csr_matrix((self.score, (self.cluster, row)), shape=(n_groups, n_rows))
        values = np.concatenate([self.skill, -self.skill])
        positions = (np.concatenate([row, row]), np.concatenate([self.left, self.right]))
        design = sparse.csr_matrix((values, positions), shape=(n_rows, n_items))
        if self.covariates.shape[1]:
            design = sparse.hstack([design, sparse.csr_matrix(self.covariates)], format="csr")
        columns = {0: self.gap, 1: np.ones(n_rows)}
        first_column = len(kept) * self.judge.astype(np.int64)
        values = np.concatenate([columns[index] for index in kept]) if kept else np.zeros(0)
        rows = np.tile(row, len(kept))
        column = np.zeros(0, np.int64)
        if kept:
            column = np.concatenate([first_column + offset for offset in range(len(kept))])
        judges = sparse.csr_matrix((values, (rows, column)), shape=(n_rows, len(kept) * n_judges))
        return (by_cluster @ design).tocsr(), (by_cluster @ judges).tocsr()


def _sandwich(
    rows: _ClusteredRows, joint: JointInformation, cells: ComparisonCells, fit: RankingFit, seed: int
) -> Uncertainty:
    """Return the sandwich covariance, with variances at least those of the model, and draws from it."""
    n = cells.n_items
    bread = inverse_of(joint.schur())
    variances = joint.judge_variances(bread)
    # Products of the scores of items and effects, of these with judges, and of judges, summed over clusters.
    core_products: Any = 0
    core_by_judges: Any = 0
    judge_products: Any = 0
    for piece in rows.pieces():
        scores, judge_scores = piece.score_matrices(n, cells.n_judges, joint.kept)
        core_products = core_products + scores.T @ scores
        core_by_judges = core_by_judges + scores.T @ judge_scores
        judge_products = judge_products + judge_scores.T @ judge_scores
    meat = _dense(core_products)
    prior = np.zeros(len(bread))
    prior[:n] = fit.strength_precision
    prior[n:] = EFFECT_PRECISION
    n_parameters = len(bread) - float(np.diag(bread) @ prior)
    judge_prior = np.zeros_like(bread)
    if joint.kept:
        gain = joint.gain
        mixed = _dense(core_by_judges @ gain.T)
        meat = meat - mixed - mixed.T + _dense(gain @ judge_products @ gain.T)
        flat = np.stack([variances[index] for index in joint.kept], axis=1).ravel()
        n_parameters += len(flat) - float(flat @ joint.prior_precision)
        scaled = gain.multiply(joint.prior_precision) if sparse.issparse(gain) else gain * joint.prior_precision
        judge_prior = _dense(scaled @ gain.T)
    small_sample = rows.n_clusters / max(rows.n_clusters - 1, 1) * rows.weight / max(rows.weight - n_parameters, 1.0)
    middle_matrix = meat * small_sample + np.diag(prior) + judge_prior
    covariance = bread @ middle_matrix @ bread
    inflation = np.sqrt(np.maximum(1.0, np.diag(bread) / np.diag(covariance)))
    covariance = covariance * np.outer(inflation, inflation)
    effect_error = np.sqrt(np.diag(covariance)[n:])
    strength_covariance = _centre_covariance(covariance[:n, :n], cells.part)
    values, vectors = np.linalg.eigh(strength_covariance)
    # The largest entry of each vector is made positive: draws must not depend on the sign that the solver returns.
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(n)])
    normal = np.random.default_rng(seed).standard_normal((N_DRAWS, n))
    draws = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    zeros = np.zeros(cells.n_judges)
    return Uncertainty(
        strength_covariance,
        draws,
        np.sqrt(np.maximum(np.diag(strength_covariance), 0)),
        effect_error,
        np.sqrt(variances[0]) if 0 in variances else zeros,
        np.sqrt(variances[1]) if 1 in variances else zeros,
        rows.n_clusters,
    )


def _dense(matrix: object) -> FloatArray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)  # type: ignore[attr-defined]


def _centre_covariance(covariance: FloatArray, part: IntArray) -> FloatArray:
    """Return the covariance of strengths after the mean of their part is subtracted."""
    size = np.bincount(part)
    same = (part[:, None] == part[None, :]) / size[part][:, None]
    centring = np.eye(len(part)) - same
    return np.asarray(centring @ covariance @ centring.T)


def _multiplier_draws(
    rows: _ClusteredRows,
    joint: JointInformation,
    cells: ComparisonCells,
    fit: RankingFit,
    task_hash: NDArray[np.uint64] | None,
    seed: int,
) -> Uncertainty:
    """Return draws of the strengths by a Newton step with random signs per task; needs no items × items matrix."""
    n = cells.n_items
    n_core = n + cells.covariates.shape[1]
    right_side = np.zeros((n_core, N_MULTIPLIER_DRAWS))
    at_once = max(MAX_SIGNS // N_MULTIPLIER_DRAWS, 1)
    first = 0  # cluster of the piece
    for piece in rows.pieces():
        item_scores, judges = piece.score_matrices(n, cells.n_judges, joint.kept)
        n_clusters = item_scores.shape[0]
        for start in range(0, n_clusters, at_once):
            report("estimating intervals", first + start, rows.n_clusters)
            block = slice(start, start + at_once)
            clusters = np.arange(first + start, first + min(start + at_once, n_clusters))
            keys = splitmix64(clusters.astype(np.uint64)) if task_hash is None else task_hash[clusters]
            signs = random_signs(keys, N_MULTIPLIER_DRAWS, seed)
            right_side += item_scores[block].T @ signs
            if joint.kept:
                right_side -= joint.gain @ (judges[block].T @ signs)
        first += n_clusters
    n_parameters = n_core + joint.gain.shape[1]
    right_side *= np.sqrt(rows.n_clusters / max(rows.n_clusters - 1, 1))
    right_side *= np.sqrt(rows.weight / max(rows.weight - min(n_parameters, rows.weight / 2), 1.0))
    rng = np.random.default_rng(seed)
    right_side[:n] += rng.standard_normal((n, N_MULTIPLIER_DRAWS)) * np.sqrt(fit.strength_precision)
    if joint.kept:
        noise = rng.standard_normal((len(joint.prior_precision), N_MULTIPLIER_DRAWS))
        right_side -= joint.gain @ (noise * np.sqrt(joint.prior_precision)[:, None])

    def apply(vectors: FloatArray) -> FloatArray:
        product: FloatArray = joint.core @ vectors
        if joint.kept:
            product = product - joint.gain @ (joint.cross.T @ vectors)
        return product

    solution, _ = block_cg(
        apply, right_side, joint.core.diagonal(), tolerance=CG_TOLERANCE, max_products=CG_MAX_ITERATIONS
    )
    draws = solution[:n].T
    for number, draw in enumerate(draws):
        draws[number] = centre_by_part(draw, cells.part)
    return Uncertainty(
        None,
        draws,
        draws.std(axis=0),
        solution[n:].std(axis=1),
        np.sqrt(fit.skill_variance),
        np.sqrt(fit.side_variance),
        rows.n_clusters,
    )


def random_signs(keys: NDArray[np.uint64], n_draws: int, seed: int) -> FloatArray:
    """Return random signs [keys, draws] that depend only on the key and the seed.

    >>> random_signs(np.array([5, 6], np.uint64), 3, 0).shape
    (2, 3)
    """
    n_words = -(-n_draws // WORD_BITS)
    salts = splitmix64(np.arange(n_words, dtype=np.uint64) + np.uint64(seed * n_words))
    words = splitmix64(keys[:, None] ^ salts[None, :])
    bits = np.unpackbits(words.view(np.uint8).reshape(len(keys), -1), axis=1)[:, :n_draws]
    return np.asarray(2.0 * bits - 1.0, dtype=np.float64)
