"""Ordered classes: workers who read the true class with normal noise, and the median of the best workers' answers.

There are two models of the truth. In the first, every answer is a noisy reading of the true class: a worker answers the
class of its reading, which is normal around the true class with a standard deviation (width) of its own, or otherwise
answers according to the crowd's response bias. EM estimates how many workers are of each kind (width, and frequency of
readings), and each worker's matrix is shrunk toward the expected matrix of its kind. In the second, the truth is the
weighted median of the answers of the best workers: those who are at least half as skilled as the best worker of the
task. The answers do not show which of the two models is right, so each has half the weight.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.kernels import e_step
from quorate.blocks.memory import answers_in
from quorate.blocks.worker_rows import dense
from quorate.models.em import counts_by_posterior
from quorate.models.scorer import MatrixScorer
from quorate.voting.posterior import FLOOR, add_one_proportions, softmax, tempering

EM_STEPS = 10
MIN_WIDTH = 0.2  # in classes: almost all readings are of the true class
WIDTH_FACTOR = 2.0**0.5  # ratio of successive widths; with few answers, closer widths cannot be distinguished
READING_RATES = np.array([0.05, 0.25, 0.5, 0.75, 0.9, 0.98])  # how often workers of a kind answer by their reading
PRIOR_WORKERS = 10.0  # pseudo-workers, spread equally over the kinds; 1 and 50 do as well on simulated crowds
MIN_SKILL = 0.01  # of a worker in the median, whose weight must be above zero
MIN_PROBABILITY = 1e-3  # of an answer of any kind of worker
PRIOR_ANSWERS = 2.5  # pseudo-answers of the kind's matrix per column, times the number of classes
# Least skill of a worker in the median, relative to the best worker of the task, and number of answers that one such
# answer counts as; chosen on simulated crowds of both models: `python -m experiments.ordinal.orders --choose`.
MIN_RELATIVE_SKILL = 0.5
MEDIAN_ANSWER_WEIGHT = 4.0


@dataclass(frozen=True, eq=False)
class OrdinalModel(MatrixScorer):
    """Each worker's confusion matrix, shrunk toward that of its kind; a `Scorer`."""

    log_theta: FloatArray  # workers × answers × classes
    kind_theta: FloatArray  # expected matrix of each worker over the kinds
    skill: FloatArray  # [workers]: (accuracy - chance)/(1 - chance)

    def renamed(self, new_class: IntArray) -> "OrdinalModel":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""
        back = np.argsort(new_class)
        return replace(
            self,
            log_theta=self.log_theta[:, back][:, :, back],
            log_prior=self.log_prior[back],
            kind_theta=self.kind_theta[:, back][:, :, back],
        )

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "OrdinalModel":
        """Return the matrices fitted to a posterior, shrunk toward the same kinds; gold is clamped."""
        counts, class_counts = blocks.sum(counts_by_posterior, posterior)
        log_theta, log_prior = _shrink_to_kind(dense(counts), class_counts, self.kind_theta)
        return replace(self, log_theta=log_theta, log_prior=log_prior)


@dataclass(frozen=True)
class MedianScorer:
    """The weighted median of the best workers' answers; a `Scorer` whose scores cancel the later tempering."""

    skill: FloatArray  # [workers]
    rho: float  # correlation of errors by which the scores will be tempered

    def scores(self, block: Block) -> FloatArray:
        """Return the log probability that each class is the median, divided by the tempering factor."""
        median = median_probabilities(answers_in(block), self.skill)
        factor = tempering(block.per_task, self.rho)[:, None]
        scores: FloatArray = np.log(np.maximum(median, FLOOR)) / factor
        return scores

    def renamed(self, new_class: IntArray) -> "MedianScorer":
        """Return this scorer unchanged: it has no parameters by class."""
        return self

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "MedianScorer":
        """Return this scorer unchanged: there is nothing to fit."""
        return self


def fit_ordinal(blocks: Blocks, skill: FloatArray, crowd_bias: FloatArray, rho: float) -> OrdinalModel:
    """Fit kinds of workers by EM, then each worker's matrix from both models of the truth; gold is not used.

    Args:
        blocks: blocks of tasks.
        skill: first skill of each worker.
        crowd_bias: how often the crowd gives each class.
        rho: intraclass correlation of the workers' errors.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(300, 8, 5, n_classes=4, seed=1)
    >>> model = fit_ordinal(blocks_of(crowd.answers), np.full(8, 0.5), np.full(4, 0.25), 0.0)
    >>> bool(np.corrcoef(model.skill, crowd.skills)[0, 1] > 0.8)
    True
    """
    m = blocks.n_classes
    n_rates = len(READING_RATES)
    counts, class_counts = blocks.sum(counts_by_posterior, _MedianPosterior(np.maximum(skill, MIN_SKILL)), False)
    prior = add_one_proportions(class_counts)
    kinds = list(_kinds_of_workers(crowd_bias))
    kind_prior: FloatArray | float = 1.0
    logs = np.zeros((blocks.n_workers, m * m))
    theta = np.zeros((blocks.n_workers, m * m))
    for _ in range(EM_STEPS):
        fits = [dense(counts).reshape(-1, m * m) @ np.log(matrices).T for matrices in kinds]
        kind = softmax(np.hstack(fits) + np.log(kind_prior))
        kind_prior = (kind.sum(axis=0) + PRIOR_WORKERS / kind.shape[1]) / (len(kind) + PRIOR_WORKERS)
        logs = np.zeros((blocks.n_workers, m * m))
        theta = np.zeros((blocks.n_workers, m * m))
        for k, matrices in enumerate(kinds):
            part = kind[:, k * n_rates : (k + 1) * n_rates]
            logs += part @ np.log(matrices)
            theta += part @ matrices
        counts, class_counts = blocks.sum(e_step, logs.reshape(-1, m, m), np.log(prior), False)
        prior = add_one_proportions(class_counts)
    kind_theta = theta.reshape(-1, m, m)
    right = np.einsum("wkk,k->w", kind_theta, prior)
    by_chance = float(prior @ prior)
    fitted_skill = np.clip((right - by_chance) / max(1 - by_chance, FLOOR), MIN_SKILL, 1.0)
    both = _BothTruths(logs.reshape(-1, m, m), np.log(np.maximum(prior, FLOOR)), fitted_skill, rho)
    counts, class_counts = blocks.sum(counts_by_posterior, both, False)
    log_theta, log_prior = _shrink_to_kind(dense(counts), class_counts, kind_theta)
    return OrdinalModel(log_theta, log_prior, kind_theta, fitted_skill)


@dataclass(frozen=True)
class _MedianPosterior:
    """Function of a block: probability of each class to be the median of the best workers' answers."""

    skill: FloatArray  # [workers]

    def __call__(self, block: Block) -> FloatArray:
        return median_probabilities(answers_in(block), self.skill)


@dataclass(frozen=True, eq=False)
class _BothTruths(MatrixScorer):
    """Mean of the posterior by readings and the probabilities of the median of the best answers."""

    skill: FloatArray
    rho: float

    def __call__(self, block: Block) -> FloatArray:
        by_reading = softmax(self.scores(block) * tempering(block.per_task, self.rho)[:, None])
        mean: FloatArray = (by_reading + median_probabilities(answers_in(block), self.skill)) / 2
        return mean


def _shrink_to_kind(
    counts: FloatArray, class_counts: FloatArray, kind_theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log matrices and log class prior, each worker's matrix shrunk toward that of its kind."""
    theta = counts + PRIOR_ANSWERS * kind_theta.shape[1] * kind_theta
    theta = theta / theta.sum(axis=1, keepdims=True)
    prior = add_one_proportions(class_counts)
    return np.log(np.maximum(theta, FLOOR)), np.log(prior)


def _kinds_of_workers(crowd_bias: FloatArray) -> Iterator[FloatArray]:
    """Yield for each width the matrices of its kinds: READING_RATES × (answers × classes, flat)."""
    from scipy.special import ndtr

    m = len(crowd_bias)
    width = MIN_WIDTH
    bounds = np.concatenate([[-np.inf], np.arange(m - 1) + 0.5, [np.inf]])
    distance = bounds[:, None] - np.arange(m)
    while width < WIDTH_FACTOR * m / 2:
        reading = np.diff(ndtr(distance / width), axis=0)
        mixed = READING_RATES[:, None, None] * reading + (1 - READING_RATES)[:, None, None] * crowd_bias[:, None]
        kinds = np.maximum(mixed, MIN_PROBABILITY)
        kinds /= kinds.sum(axis=1, keepdims=True)
        yield kinds.reshape(len(READING_RATES), -1)
        width *= WIDTH_FACTOR


def median_probabilities(answers: Answers, skill: FloatArray) -> FloatArray:
    """Return the probability of each class to be the median of the best workers' answers, weighted by squared skill.

    The share of the weight up to a class is treated as a proportion of MEDIAN_ANSWER_WEIGHT times Kish's effective
    number of answers. The probability that it is more than one half follows from its Beta posterior (Jeffreys' prior).

    Args:
        answers: who answered what.
        skill: of each worker, above zero.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": [1, 2, 3]})
    >>> median_probabilities(answers, np.ones(3)).argmax(axis=1).tolist()
    [1]
    >>> median_probabilities(answers, np.array([0.9, 0.3, 0.3])).argmax(axis=1).tolist()
    [0]
    """
    from scipy.special import betainc

    worker_skill = skill[answers.worker]
    best = np.zeros(answers.n_tasks)
    np.maximum.at(best, answers.task, worker_skill)
    weight = np.where(worker_skill >= MIN_RELATIVE_SKILL * best[answers.task], worker_skill**2, 0.0)
    total = answers.by_task(weight)
    squares = answers.by_task(weight**2)
    share = np.bincount(answers.cells, weight, answers.n_tasks * answers.n_classes).reshape(-1, answers.n_classes)
    up_to = np.cumsum(share, axis=1) / np.maximum(total, FLOOR)[:, None]
    size = MEDIAN_ANSWER_WEIGHT * (total**2 / np.maximum(squares, FLOOR))[:, None]
    median_at_most = 1 - betainc(size * up_to + 0.5, size * np.maximum(1 - up_to, 0.0) + 0.5, 0.5)
    median_at_most[total <= 0] = np.arange(1, answers.n_classes + 1) / answers.n_classes
    median_at_most[:, -1] = 1.0
    probabilities: FloatArray = np.diff(median_at_most, axis=1, prepend=0.0)
    return np.maximum(probabilities, 0.0)
