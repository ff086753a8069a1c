"""EM of Dawid and Skene [Dawid79] over blocks of any backend: the loop, and one confusion matrix per worker.

`run_em` alternates M- and E-steps. `fit_confusion_em` runs it with a confusion matrix per worker, and
`quorate.models.one_coin.fit_one_coin_em` with one accuracy per worker. An iteration is one pass over the blocks, and
the posterior is not kept: a fit returns parameters, whose `scores` give the posterior of any block. The E-steps are
`e_step` and `one_coin_e_step` in `quorate.blocks.kernels`; the M-steps are `m_step` in this module and
`quorate.models.one_coin.one_coin_m_step`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sums, added
from quorate.blocks.kernels import e_step, expected_counts, vote_sums
from quorate.blocks.worker_rows import ObservedRows, column_totals, dense, distance, parts
from quorate.models.scorer import MatrixScorer
from quorate.progress import report
from quorate.voting.posterior import FLOOR, clamp_gold, logarithm

Posterior = Callable[[Block], FloatArray]  # tasks × classes of a block
Parameters = TypeVar("Parameters")


@dataclass(frozen=True)
class EMRun(Generic[Parameters]):
    """Result of EM."""

    parameters: Parameters
    log_likelihoods: tuple[float, ...]  # after each iteration
    converged: bool


def run_em(
    e_step: Callable[[Parameters], Sums],
    m_step: Callable[[FloatArray, FloatArray], Parameters],
    first_counts: Sums,
    *,
    start: Parameters | None = None,
    watched: Callable[[Parameters], FloatArray] | None = None,
    n_answers: int,
    max_iterations: int,
    tolerance: float,
) -> EMRun[Parameters]:
    """Alternate M- and E-steps until the watched numbers no longer change.

    Args:
        e_step: parameters -> expected counts of the answers, expected tasks of each class, log-likelihood.
        m_step: expected counts, expected tasks of each class -> parameters.
        first_counts: expected counts and tasks of each class to start from; empty if EM starts from parameters.
        start: parameters of the first iteration; by default the M-step of the first counts.
        watched: parameters -> numbers whose change stops EM; by default the expected counts.
        n_answers: number of answers, over which the change is averaged.
        max_iterations: maximum number of iterations.
        tolerance: mean change per answer at which EM stops.
    """
    counts, class_counts = first_counts or (np.zeros(0), np.zeros(0))
    parameters = m_step(counts, class_counts) if start is None else start
    before = counts if first_counts and watched is None else None
    log_likelihoods: list[float] = []
    converged = False
    for iteration in range(1, max_iterations + 1):
        if iteration > 1:
            parameters = m_step(counts, class_counts)
        counts, class_counts, value = e_step(parameters)
        now = counts if watched is None else watched(parameters)
        change = float("inf") if before is None else distance(now, before) / max(n_answers, 1)
        before = now
        log_likelihoods.append(float(value[0]))
        report("estimating workers", iteration, max_iterations)
        if change <= tolerance:
            converged = True
            break
    return EMRun(parameters, tuple(log_likelihoods), converged)


def vote_shares(block: Block) -> FloatArray:
    """Return the shares of the votes, tasks × classes; equal shares for a task without answers.

    >>> vote_shares(Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)).tolist()
    [[1.0, 0.0]]
    """
    votes = vote_sums(block, np.ones(block.n_workers))
    total = votes.sum(axis=1, keepdims=True)
    shares: FloatArray = np.where(total > 0, votes / np.maximum(total, 1.0), 1 / block.n_classes)
    return shares


def counts_by_posterior(blocks: Iterable[Block], posterior: Posterior, use_gold: bool = True) -> Sums:
    """Return expected counts of answers (workers × answers × classes) and of tasks by class under a posterior.

    Gold is clamped if `use_gold`, otherwise ignored.

    >>> block = Block(np.array([0, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)
    >>> from quorate.blocks.worker_rows import dense
    >>> counts, class_counts = counts_by_posterior([block], vote_shares)
    >>> dense(counts).tolist(), class_counts.tolist()
    ([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]], [1.0, 0.0])
    """

    def counts(block: Block) -> Sums:
        q = clamp_gold(posterior(block), block.gold if use_gold else None)
        return expected_counts([replace(block, first=0)], q)[0], q.sum(axis=0)

    return added(counts(block) for block in blocks)


def log_class_prior(class_counts: FloatArray, n_tasks: int, *, estimate: bool, pseudo_tasks: float = 0.0) -> FloatArray:
    """M-step of the class prior: return the log of the expected proportions, or of equal ones if it is not estimated.

    Args:
        class_counts: expected tasks of each class.
        n_tasks: number of tasks.
        estimate: whether the prior is estimated.
        pseudo_tasks: added to each class.

    >>> np.exp(log_class_prior(np.array([3.0, 1.0]), 4, estimate=True)).round(9).tolist()
    [0.75, 0.25]
    """
    m = len(class_counts)
    prior = (class_counts + pseudo_tasks) / max(n_tasks + pseudo_tasks * m, 1) if estimate else np.full(m, 1 / m)
    return np.log(np.maximum(prior, FLOOR))


@dataclass(frozen=True)
class ConfusionFit(MatrixScorer):
    """Confusion matrices fitted by EM, and the class prior."""

    theta: FloatArray | ObservedRows  # workers × answers × classes; columns sum to one
    counts: FloatArray | ObservedRows  # the expected counts from which theta is computed
    zeros: str = "exact"  # as in `fit_confusion_em`
    log_likelihoods: tuple[float, ...] = ()  # after each iteration
    converged: bool = False

    @property
    def accuracy(self) -> FloatArray:
        """Each worker's probability of the right class, for classes of equal frequency."""
        if isinstance(self.theta, ObservedRows):
            # Computed again, because rows without answers also have entries in columns without counts.
            diagonals = [np.einsum("wcc->w", m_step(part, self.zeros)) for _, part in parts(self.counts)]
        else:
            diagonals = [np.einsum("wcc->w", self.theta)]
        accuracy: FloatArray = np.concatenate(diagonals) / self.theta.shape[2]
        return accuracy


def fit_confusion_em(
    blocks: Blocks,
    *,
    posterior: Posterior = vote_shares,
    start: FloatArray | None = None,
    class_prior: bool = False,
    zeros: str = "exact",
    max_iterations: int = 10,
    tolerance: float = 1e-6,
) -> ConfusionFit:
    """Fit a confusion matrix per worker by EM; gold in the blocks is clamped.

    Args:
        blocks: blocks of tasks.
        posterior: posterior of each block to start from; by default the vote shares.
        start: matrices of the first iteration, workers × answers × classes; by default those of the posterior.
        class_prior: estimate the class frequencies instead of assuming equal ones.
        zeros: effect of an answer of estimated probability zero: ``exact`` makes the class (almost) impossible;
            ``skip`` ignores the answer, as the code of the published figures does; this is not EM, and the likelihood
            may fall.
        max_iterations: maximum number of iterations.
        tolerance: mean change of the expected counts per answer at which EM stops.
    """

    def parameters(
        counts: FloatArray | ObservedRows, class_counts: FloatArray, matrices: FloatArray | None = None
    ) -> ConfusionFit:
        theta: FloatArray | ObservedRows
        log_theta: FloatArray | ObservedRows
        if matrices is None and isinstance(counts, ObservedRows):
            theta = m_step_of_rows(counts, zeros)
            log_theta = replace(theta, values=logarithm(theta.values, zeros))
        else:
            theta = m_step(dense(counts), zeros) if matrices is None else matrices
            log_theta = logarithm(theta, zeros)
        log_prior = log_class_prior(class_counts, blocks.n_tasks, estimate=class_prior)
        return ConfusionFit(log_theta, log_prior, theta, counts, zeros)

    first_counts = blocks.sum(counts_by_posterior, posterior)
    run = run_em(
        lambda fit: blocks.sum(e_step, fit.log_theta, fit.log_prior, True, True),
        parameters,
        first_counts,
        start=None if start is None else parameters(first_counts[0], first_counts[1], start),
        n_answers=blocks.n_answers,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    return replace(run.parameters, log_likelihoods=run.log_likelihoods, converged=run.converged)


def m_step(counts: FloatArray, zeros: str) -> FloatArray:
    """M-step of the confusion matrices: return each worker's expected counts with columns normalised to sum to one.

    Args:
        counts: workers × answers × classes.
        zeros: as in `fit_confusion_em`; for a class without counts, ``exact`` gives equal probabilities.

    >>> m_step(np.array([[[3.0, 0.0], [1.0, 0.0]]]), "exact").tolist()
    [[[0.75, 0.5], [0.25, 0.5]]]
    """
    return normalise_columns(counts, 0.0 if zeros == "skip" else 1 / counts.shape[1])


def m_step_of_rows(counts: ObservedRows, zeros: str) -> ObservedRows:
    """Return what `m_step` returns, for the rows that are stored.

    >>> m_step_of_rows(ObservedRows(np.array([1]), np.array([[3.0, 0.0]]), (1, 2, 2)), "exact").values.tolist()
    [[1.0, 0.5]]
    """
    total = column_totals(counts)[counts.row // counts.shape[1]]
    theta = np.full(counts.values.shape, 0.0 if zeros == "skip" else 1 / counts.shape[1])
    np.divide(counts.values, total, out=theta, where=total > 0)
    return replace(counts, values=theta)


def normalise_columns(counts: FloatArray, empty: float = 0.0) -> FloatArray:
    """Return the matrices with columns that sum to one; a column without counts is filled with ``empty``.

    >>> normalise_columns(np.array([[[3.0, 0.0], [1.0, 0.0]]])).tolist()
    [[[0.75, 0.0], [0.25, 0.0]]]
    """
    total = np.einsum("wac->wc", counts)[:, None]  # for small matrices a fifth of the time of sum()
    normalised = np.full(counts.shape, empty)
    np.divide(counts, total, out=normalised, where=total > 0)
    return normalised
