"""One-coin EM: one accuracy per worker, with equally probable wrong classes [Dawid79].

The E-step is `quorate.blocks.kernels.one_coin_e_step`, the M-step `one_coin_m_step`, and the loop
`quorate.models.em.run_em`. A worker is right with probability p. The scores of a task are one sum over its answers and
one over the answers of each class, and a worker's p is a mean over its answers, so no matrices are needed. With a
uniform prior the classes that a task did not receive are equally probable. So with many classes the E-step in memory
stores only the classes that each task received (`quorate.models.many_classes`), and its time is linear in the answers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums, added
from quorate.blocks.kernels import one_coin_e_step, vote_sums
from quorate.blocks.memory import MemoryBlocks, answers_in
from quorate.blocks.numpy_kernels import MAX_CELLS_PER_ANSWER
from quorate.models.accuracy_prior import above_guessing, prior_strength_of_crowd
from quorate.models.em import Posterior, log_class_prior, run_em, vote_shares
from quorate.models.many_classes import SparseScores
from quorate.voting.posterior import clamp_gold, logarithm


@dataclass(frozen=True)
class OneCoinFit:
    """One accuracy per worker fitted by EM, and the class prior."""

    accuracy: FloatArray  # [workers]; 1/M for a worker without answers, if there is no shrinkage
    mean: float  # mean accuracy of the crowd, weighted by answers
    log_right: FloatArray  # log p
    log_wrong: FloatArray  # log((1 - p)/(M - 1))
    log_prior: FloatArray
    log_likelihoods: tuple[float, ...] = ()  # after each iteration
    converged: bool = False

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task: all answers wrong, corrected for the answers of the class."""
        wrong = vote_sums(block, self.log_wrong).sum(axis=1, keepdims=True)
        scores: FloatArray = vote_sums(block, self.log_right - self.log_wrong) + wrong + self.log_prior
        return scores


def fit_one_coin_em(
    blocks: Blocks,
    *,
    posterior: Posterior = vote_shares,
    start: FloatArray | None = None,
    class_prior: bool = False,
    pseudo_tasks: float = 0.0,
    strength: float | None = 0.0,
    among: BoolArray | None = None,
    zeros: str = "exact",
    stop_by: Literal["counts", "accuracy"] = "counts",
    max_iterations: int = 10,
    tolerance: float = 1e-6,
) -> OneCoinFit:
    """Fit one accuracy per worker by EM, with equally probable wrong classes; gold in the blocks is clamped.

    Args:
        blocks: blocks of tasks.
        posterior: posterior of each block to start from; by default the vote shares.
        start: accuracies to start from, instead of a posterior.
        class_prior: estimate the class frequencies instead of assuming equal ones.
        pseudo_tasks: added to each class in this estimate.
        strength: pseudo-answers of the crowd's mean, toward which each accuracy is shrunk; None for the strength of
            `quorate.models.accuracy_prior`.
        among: mask of the workers over whom the crowd's mean is computed; all by default.
        zeros: as in `quorate.models.em.fit_confusion_em`.
        stop_by: whether the change of the expected right answers or of the accuracies stops EM.
        max_iterations: maximum number of iterations.
        tolerance: mean change per answer at which EM stops.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=2000, n_workers=8, per_task=4, seed=0)
    >>> fit = fit_one_coin_em(blocks_of(crowd.answers), max_iterations=100)
    >>> bool(np.abs(2 * fit.accuracy - 1 - crowd.skills).max() < 0.1)
    True
    """
    m = blocks.n_classes
    n = blocks.per_worker
    default_mean = (1 + 1 / m) / 2  # half way between guessing and always right, if no worker in `among` has answers

    def parameters(accuracy: FloatArray, mean: float, class_counts: FloatArray) -> OneCoinFit:
        log_right = logarithm(accuracy, zeros)
        log_wrong = logarithm((1 - accuracy) / max(m - 1, 1), zeros)
        log_prior = log_class_prior(class_counts, blocks.n_tasks, estimate=class_prior, pseudo_tasks=pseudo_tasks)
        return OneCoinFit(accuracy, mean, log_right, log_wrong, log_prior)

    def maximise(right: FloatArray, class_counts: FloatArray) -> OneCoinFit:
        accuracy, mean = one_coin_m_step(right, n, m, default_mean, strength, among)
        return parameters(accuracy, mean, class_counts)

    run = run_em(
        _e_step(blocks, is_uniform=not class_prior),
        maximise,
        () if start is not None else blocks.sum(_right_by_posterior, posterior, blocks.n_workers),
        start=None if start is None else parameters(start, default_mean, np.full(m, blocks.n_tasks / m)),
        watched=None if stop_by == "counts" else (lambda fit: fit.accuracy * n),
        n_answers=blocks.n_answers,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    return replace(run.parameters, log_likelihoods=run.log_likelihoods, converged=run.converged)


def one_coin_log_likelihood(blocks: Blocks, accuracy: FloatArray) -> float:
    """Return the log-probability of all answers and of the gold in the blocks, for equally frequent classes.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> round(float(np.exp(one_coin_log_likelihood(blocks_of(answers), np.array([0.8, 0.6])))), 3)
    0.22
    """
    return fit_one_coin_em(blocks, start=accuracy, max_iterations=1).log_likelihoods[0]


def _right_by_posterior(blocks: Iterable[Block], posterior: Posterior, n_workers: int) -> Sums:
    """Return each worker's expected right answers, and expected tasks of each class; gold is clamped."""

    def counts(block: Block) -> Sums:
        q = clamp_gold(posterior(block), block.gold)
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        inside = block.answers
        right = np.bincount(block.worker[inside], q[task, block.label[inside]], n_workers)
        return right.astype(np.float64, copy=False), q.sum(axis=0)

    return added(counts(block) for block in blocks)


def _e_step(blocks: Blocks, *, is_uniform: bool) -> Callable[[OneCoinFit], Sums]:
    """Return the E-step: over blocks or, for a uniform prior over many classes in memory, over cells with an answer."""
    is_sparse = blocks.n_tasks * blocks.n_classes > MAX_CELLS_PER_ANSWER * blocks.n_answers
    if is_uniform and is_sparse and isinstance(blocks, MemoryBlocks):
        answers = answers_in(blocks.all_tasks)
        cells = SparseScores.of(answers)
        gold = blocks.all_tasks.gold
        return lambda fit: _sparse_e_step(fit, cells, answers.worker, gold)
    return lambda fit: blocks.sum(one_coin_e_step, fit.log_right, fit.log_wrong, fit.log_prior)


def _sparse_e_step(fit: OneCoinFit, cells: SparseScores, worker: IntArray, gold: IntArray | None) -> Sums:
    """Return the result of `one_coin_e_step` for a uniform prior, with zeros as class counts, which are not needed.

    Args:
        fit: the parameters.
        cells: the cells of tasks × classes with an answer.
        worker: of each answer.
        gold: class of each task, -1 where unknown.
    """
    scores = cells.sum_answers((fit.log_right - fit.log_wrong)[worker])
    posterior, log_total = cells.posterior(scores)
    if gold is not None:
        gold_of_cell = gold[cells.task]
        is_right = gold_of_cell == cells.label
        posterior = np.where(gold_of_cell >= 0, is_right, posterior)
        log_total = np.where(gold >= 0, np.bincount(cells.task, is_right * scores, cells.n_tasks), log_total)
    n_workers = len(fit.accuracy)
    right = np.bincount(worker, posterior[cells.cell_of_answer], n_workers).astype(np.float64, copy=False)
    value = log_total.sum() + fit.log_wrong[worker].sum() + cells.n_tasks * fit.log_prior[0]
    return right, np.zeros(cells.n_classes), np.array([value])


def one_coin_m_step(
    right: FloatArray,
    n: IntArray,
    m: int,
    mean: float,
    strength: float | None = 0.0,
    among: BoolArray | None = None,
) -> tuple[FloatArray, float]:
    """M-step: return each worker's expected accuracy, shrunk toward the crowd's mean, and this mean.

    Args:
        right: expected right answers of each worker.
        n: answers of each worker.
        m: number of classes; without shrinkage a worker without answers has the accuracy 1/m.
        mean: the mean that is used if no worker in `among` has answers.
        strength: pseudo-answers of the mean; None for the strength of `quorate.models.accuracy_prior`.
        among: mask of the workers over whom the mean is computed; all by default.

    >>> accuracy, mean = one_coin_m_step(np.array([3.0, 1.0, 0.0]), np.array([4, 4, 0]), 2, 0.75)
    >>> accuracy.tolist(), mean
    ([0.75, 0.25, 0.5], 0.5)
    """
    counted = n if among is None else np.where(among, n, 0)
    if counted.any():
        mean = float((right if among is None else np.where(among, right, 0.0)).sum() / counted.sum())
    if strength is None:
        mean = above_guessing(mean, m)
        strength = prior_strength_of_crowd(mean, m)
    p = np.divide(right + strength * mean, n + strength, out=np.full(len(n), 1 / m), where=n + strength > 0)
    return p, mean
