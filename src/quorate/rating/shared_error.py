"""Raters whose errors are correlated: a test over pairs of raters; and the standard errors of scales from pairs.

The product of the residuals of two raters on one task, e_w e_v, has mean -b_w b_v var(q_t) if their errors are
independent. The deviation of pairs from it beyond chance is the mean square correlation of errors that have another
cause than the score, such as a common source, a dialect or a taste. Scores alone do not show which of the raters is
right; groups (`group=`) or known scores (`gold=`) do.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Sums
from quorate.rating.fit import RatingFit
from quorate.rating.passes import scored_answers
from quorate.rating.scores import ScoreBlocks

MAX_RATERS = 1000  # raters with most answers, whose pairs are formed: three tables of 8 MB
MAX_SOLVED_RATERS = 500  # raters of the information matrix that is inverted
MIN_SHARED_TASKS = 10  # of a pair, to take part in the test
MIN_PAIRS = 3
SIGNIFICANT_Z = 3.0  # conventional; independent raters give -3.9 to 1.2
N_LISTED_PAIRS = 5
WIDENING = 2.0  # relative increase of a task's variance per further answer and unit of correlation
MAX_LOG_SCALE_SE = 0.5  # a scale known to less than a factor of e at 95 % is weakly identified
MIN_VARIANCE_RATIO = 4.0  # of a weak scale: its variance over that with the other scales known


@dataclass(frozen=True)
class SharedError:
    """Test for correlated errors of pairs of raters."""

    size: float | None  # typical correlation of errors; None if too few pairs share enough tasks
    z: float | None
    pairs: tuple[tuple[int, int, float], ...] = ()  # rater, rater, correlation: the most correlated first
    correlation: FloatArray | None = None  # of the raters in `raters`, NaN where too few tasks are shared
    raters: IntArray | None = None  # codes
    rho: float = 0.0  # correlation of errors within groups or repeats

    @property
    def is_present(self) -> bool:
        """Whether errors are significantly correlated."""
        return self.z is not None and self.z > SIGNIFICANT_Z

    def widening(self, per_task: IntArray) -> FloatArray:
        """Return the factor by which the variance of each task increases."""
        if not self.is_present or self.size is None:
            return np.ones(len(per_task))
        return 1 + np.maximum(per_task - 1, 0) * WIDENING * self.size


@dataclass(frozen=True)
class PairTables:
    """Shared tasks, sums of products of residuals and their expectation, for the raters in `raters`."""

    raters: IntArray
    shared: FloatArray
    products: FloatArray
    expected: FloatArray


def pair_tables(table: ScoreBlocks, fit: RatingFit, means: FloatArray, variances: FloatArray) -> PairTables:
    """Return the tables of all pairs of at most `MAX_RATERS` raters, by one pass."""
    n = fit.design.n_answers
    raters = np.sort(np.lexsort([np.arange(len(n)), -n])[:MAX_RATERS])
    index = np.full(len(n), -1)
    index[raters] = np.arange(len(raters))
    arguments = (table.values, fit.raters.line, fit.raters.noise, means, variances, index, len(raters))
    shared, products, expected = table.blocks.sum(pair_sums, *arguments)
    return PairTables(raters, shared, products, expected)


def pair_sums(
    blocks: Iterable[Block],
    values: FloatArray,
    line: FloatArray,
    noise: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    index: IntArray,
    n: int,
) -> Sums:
    """Return per pair of raters the shared tasks, Σ e_w e_v and Σ u_w u_v, u = b sqrt(var q) / s; repeats averaged."""
    shared = np.zeros((n, n))
    products = np.zeros((n, n))
    expected = np.zeros((n, n))
    for block in blocks:
        task, worker, y = scored_answers(block, values)
        kept = index[worker] >= 0
        task = task[kept]
        worker = worker[kept]
        y = y[kept]
        q = means[block.tasks][task]
        standard = np.sqrt(noise[worker])
        error = (y - line[0, worker] - line[1, worker] * q) / standard
        fit = line[1, worker] * np.sqrt(variances[block.tasks][task]) / standard
        shape = (block.n_tasks, n)
        column = index[worker]
        count = sparse.csr_matrix((np.ones(len(y)), (task, column)), shape=shape)
        for sums, x in ((shared, np.ones(len(y))), (products, error), (expected, fit)):
            means_of_raters = sparse.csr_matrix((x, (task, column)), shape=shape)  # repeats are added up
            means_of_raters.data = means_of_raters.data / count.data
            sums += np.asarray((means_of_raters.T @ means_of_raters).todense())
    return shared, products, expected


def correlated_errors(pairs: PairTables, group: IntArray, rho: float) -> SharedError:
    """Return the test whether the errors of raters of different groups are correlated more than by chance."""
    is_pair = np.triu(pairs.shared >= MIN_SHARED_TASKS, 1)
    group = group[pairs.raters]
    is_pair &= group[:, None] != group[None, :]
    i, j = np.nonzero(is_pair)
    if len(i) < MIN_PAIRS:
        return SharedError(None, None, rho=rho)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (pairs.products + pairs.expected) / pairs.shared
    shared = pairs.shared[i, j]
    z = correlation[i, j] * np.sqrt(shared)
    excess = float((z**2).mean() - 1)
    size = float(np.sqrt(max(excess, 0.0) / shared.mean()))
    top = np.lexsort([j, i, -np.round(z, 12)])[:N_LISTED_PAIRS]
    listed = tuple((int(pairs.raters[i[k]]), int(pairs.raters[j[k]]), float(correlation[i[k], j[k]])) for k in top)
    correlation = np.where(pairs.shared >= MIN_SHARED_TASKS, correlation, np.nan)
    return SharedError(size, excess / np.sqrt(2 / len(z)), listed, correlation, pairs.raters, rho)


def log_scale_errors(pairs: PairTables, fit: RatingFit) -> tuple[FloatArray, BoolArray]:
    """Return the standard error of each log scale from the raters' covariances, and whether it is weakly identified.

    cov(r_w, r_v) = b_w b_v tau²: each pair has information n rho_w rho_v / (1 + rho_w rho_v) about log|b_w| + log|b_v|,
    rho the reliability of one answer; the matrix of information is a signless Laplacian, singular if the graph is
    bipartite. Infinite for raters after the first `MAX_RATERS`, who are not marked.
    """
    n_raters = len(fit.design.n_answers)
    if len(pairs.raters) > MAX_SOLVED_RATERS:
        n = fit.design.n_answers[pairs.raters]
        kept = np.sort(np.lexsort([pairs.raters, -n])[:MAX_SOLVED_RATERS])
        within = np.ix_(kept, kept)
        pairs = PairTables(pairs.raters[kept], pairs.shared[within], pairs.products[within], pairs.expected[within])
    signal = fit.raters.line[1] ** 2 * fit.raters.variance
    reliability = (signal / (signal + fit.raters.noise))[pairs.raters]
    product = np.outer(reliability, reliability)
    information = pairs.shared * product / (1 + product)
    np.fill_diagonal(information, 0.0)
    total = information.sum(axis=1)
    matrix = information + np.diag(total + 1e-9)
    variance = _inverse_diagonal(matrix)
    errors = np.full(n_raters, np.inf)
    errors[pairs.raters] = np.sqrt(np.maximum(variance, 0.0))
    weak = np.zeros(n_raters, bool)
    weak[pairs.raters] = (variance > MAX_LOG_SCALE_SE**2) & (variance * total > MIN_VARIANCE_RATIO)
    return errors, weak


def _inverse_diagonal(matrix: FloatArray) -> FloatArray:
    """Return the diagonal of the inverse of a matrix that may be singular; its rows are scaled first."""
    scale = np.sqrt(np.diag(matrix))
    normalised = matrix / np.outer(scale, scale) + 1e-9 * np.eye(len(matrix))
    inverse: FloatArray = np.diag(np.linalg.inv(normalised)) / scale**2
    return inverse
