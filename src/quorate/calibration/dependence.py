"""Correlated errors of the workers, and the design effect that they have on a task's score.

Given the posterior and the confusion matrices, the residual of an answer is its unit vector minus the matrix's column
of the class. Residuals of independent workers on a task are uncorrelated; rho is the mean correlation of two of them.
The posterior is computed from the same answers, so it hides most of a shared error: the measured correlation is
multiplied by CORRELATION_SCALE. R answers of correlation rho have the information of R/(1 + rho (R - 1)) independent
ones (Kish's design effect).

rho is chosen to make the confidence right, which is too high for other reasons, too. So it is greater than the
correlation of errors given the truth, which determines the value of further answers; `Dependence.of_errors` estimates
that correlation.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from quorate.arrays import FloatArray, IntArray, sum_rows, sums_of
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import add_residuals
from quorate.blocks.memory import blocks_of
from quorate.models.confusion import AccuracyModel, ConfusionModel
from quorate.models.scorer import Scorer
from quorate.statistics import Z_90, Z_95
from quorate.voting.posterior import softmax, tempering

MEASURED = "measured"
INDEPENDENT = "independent"
DependenceKind: TypeAlias = Literal["measured", "independent"]
DEPENDENCES: tuple[str, ...] = get_args(DependenceKind)
# Fitted by `python -m experiments.default_method.fit_law`; the log-loss is flat (within .002) for scales from 4 to 8,
# rho from .3 to .5 and 500 to 1000 answers. The smallest number of answers is used: with it, small crowds of
# independent workers get the least additional rho.
CORRELATION_SCALE = 6.0  # true correlation over measured one
TYPICAL_RHO = 0.4  # toward which rho is shrunk
TYPICAL_ANSWERS = 500.0  # pseudo-answers of this shrinkage
# Ratio of the correlation of errors given the truth to rho for people and for models, and standard deviation of the
# difference, in 25 public crowds of people and 47 panels of language models
# (`python -m experiments.calibration.error_correlation`).
ERROR_SHARE = 0.55
ERROR_SHARE_OF_MODELS = 0.66
ERROR_DEVIATION = 0.1
N_RESIDUAL_CLASSES = 2  # most probable classes of a task that are used; the others have almost no probability
MAX_SAMPLE_ANSWERS = 150_000  # with them the error of rho is about .007
MAX_SAMPLE_ENTRIES = 30_000_000  # answers × classes, 240 MB


@dataclass(frozen=True)
class DependenceConstants:
    """Constants of the measured dependence; experiments replace them."""

    scale: float = CORRELATION_SCALE
    typical_rho: float = TYPICAL_RHO
    typical_answers: float = TYPICAL_ANSWERS


DEPENDENCE = DependenceConstants()


@dataclass(frozen=True)
class Dependence:
    """The intraclass correlation of two workers' errors on a task, with an interval (95 %)."""

    rho: float
    low: float
    high: float

    def effective_votes(self, votes_per_task: FloatArray | IntArray) -> tuple[float, float, float]:
        """Return the mean number of effective votes per task, and its interval (low, high).

        >>> [round(n, 2) for n in Dependence(0.5, 0.25, 1.0).effective_votes(np.array([3]))]
        [1.5, 1.0, 2.0]
        """
        means = [float((votes_per_task * tempering(votes_per_task, r)).mean()) for r in (self.rho, self.high, self.low)]
        return means[0], means[1], means[2]

    def of_errors(self, share_of_models: float = 0.0) -> "Dependence":
        """Return the correlation of two workers' errors given the truth, with the 90 % interval of comparable crowds.

        Args:
            share_of_models: share of the workers that are language models.

        >>> found = Dependence(0.4, 0.35, 0.45).of_errors()
        >>> [round(value, 2) for value in (found.rho, found.low, found.high)]
        [0.22, 0.06, 0.38]
        """
        if self.rho == 0:
            return self
        mean = self.rho * (ERROR_SHARE + share_of_models * (ERROR_SHARE_OF_MODELS - ERROR_SHARE))
        half = Z_90 * ERROR_DEVIATION
        return Dependence(mean, max(mean - half, 0.0), min(mean + half, 1.0))


NO_DEPENDENCE = Dependence(0.0, 0.0, 0.0)


def measure_dependence(
    blocks: Blocks,
    model: ConfusionModel | AccuracyModel,
    groups: IntArray | None = None,
    group_model: Scorer | None = None,
) -> Dependence:
    """Return the correlation of the workers' errors, measured on a sample of complete tasks.

    Args:
        blocks: blocks of tasks.
        model: of the answers.
        groups: code of each worker's group; only pairs of workers of different groups are used.
        group_model: model of the groups, whose posterior is used; by default that of `model`.

    >>> import quorate
    >>> from quorate.models.confusion import pooled_confusion
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = blocks_of(quorate.simulate.crowd(1000, 20, 5, seed=0).answers)
    >>> model = pooled_confusion(blocks, PluralityScorer(1.0), np.ones(20), n_steps=2)
    >>> bool(measure_dependence(blocks, model).rho < 0.3)
    True
    """
    n_answers = min(MAX_SAMPLE_ANSWERS, MAX_SAMPLE_ENTRIES // max(blocks.n_classes, 1))
    sample = blocks_of(blocks.sample(n_answers).answers)
    parts = list(sample.map(residual_products, model, groups, group_model))
    products = np.concatenate([part[0] for part in parts])
    scales = np.concatenate([part[1] for part in parts])
    return dependence_of(products, scales)


def dependence_of(products: FloatArray, scales: FloatArray) -> Dependence:
    """Return rho from each task's residual products, shrunk toward that of a typical crowd.

    The interval is that of a ratio of two sums over tasks (delta method). It does not include the uncertainty of
    CORRELATION_SCALE.

    >>> dependence_of(np.zeros(0), np.zeros(0)).rho
    0.4
    """
    constants = DEPENDENCE
    total = float(scales.sum()) + constants.typical_answers
    prior = constants.typical_answers * constants.typical_rho
    rho = (constants.scale * float(products.sum()) + prior) / total
    residual = constants.scale * products - rho * scales
    error = float(np.sqrt((residual**2).sum())) / total
    half = Z_95 * error
    low, mean, high = np.clip([rho - half, rho, rho + half], 0.0, 1.0)
    return Dependence(float(mean), float(low), float(high))


def residual_products(
    block: Block,
    model: ConfusionModel | AccuracyModel,
    groups: IntArray | None = None,
    group_model: Scorer | None = None,
) -> Sums:
    """Return for each task the sums over pairs of the products of residuals, and of their standard deviations.

    The pairs are those of workers of different groups, or all pairs without groups. The weight of a task is the inverse
    of its mean number of such peers, so that each answer counts once. The ratio of the sums is the measured
    correlation.
    """
    inside = block.answers
    worker = block.worker[inside].astype(np.int64)
    per_task = block.per_task
    task = np.repeat(np.arange(block.n_tasks), per_task)
    posterior = softmax((model if group_model is None else group_model).scores(block))
    cells = None if groups is None else _Cells.of(block, task, groups[worker])
    n_same_group = per_task.astype(np.float64) if cells is None else cells.n_same_group
    n_pairs = per_task.astype(np.float64) ** 2 - n_same_group
    weight = np.divide(per_task, n_pairs, out=np.zeros(block.n_tasks), where=n_pairs > 0)
    most_probable = np.argsort(-posterior, axis=1, kind="stable")[:, :N_RESIDUAL_CLASSES]
    products = np.zeros(block.n_tasks)
    scales = np.zeros(block.n_tasks)
    for class_ in most_probable.T:
        probabilities = model.answer_probabilities(worker, class_[task])
        of_class = posterior[np.arange(block.n_tasks), class_] * weight
        if cells is None:
            add_residuals(block, probabilities, of_class, products, scales)
        else:
            cells.add_residuals(block, probabilities, of_class, products, scales)
    return products, scales


@dataclass(frozen=True, eq=False)
class _Cells:
    """The answers of a block by cells; a cell is a group on a task."""

    cell_of_answer: IntArray
    task: IntArray  # of each cell
    n_same_group: FloatArray  # [tasks]: ordered pairs of answers of one group, including each answer with itself

    @staticmethod
    def of(block: Block, task: IntArray, group: IntArray) -> "_Cells":
        """Return the cells of a block from the task and the group of each answer."""
        n_groups = int(group.max(initial=0)) + 1
        keys, cell_of_answer = np.unique(task * n_groups + group, return_inverse=True)
        task_of_cell = keys // n_groups
        squares = np.bincount(cell_of_answer, minlength=len(keys)) ** 2.0
        n_same_group = np.bincount(task_of_cell, squares, block.n_tasks).astype(np.float64, copy=False)
        return _Cells(cell_of_answer, task_of_cell, n_same_group)

    def add_residuals(
        self, block: Block, probabilities: FloatArray, weight: FloatArray, products: FloatArray, scales: FloatArray
    ) -> None:
        """Add the sums of `quorate.blocks.kernels.add_residuals`, but only over pairs of different groups."""
        residual = -probabilities
        deviation = np.sqrt(np.maximum(1 - np.einsum("al,al->a", residual, residual), 0.0))
        residual[np.arange(len(residual)), block.label[block.answers]] += 1
        of_cell = sum_rows(self.cell_of_answer, residual, len(self.task))
        deviation_of_cell = np.bincount(self.cell_of_answer, deviation, len(self.task))
        total = sums_of(residual, block.start - block.start[0])
        total_deviation = np.bincount(self.task, deviation_of_cell, block.n_tasks)
        within = np.bincount(self.task, np.einsum("cl,cl->c", of_cell, of_cell), block.n_tasks)
        within_deviation = np.bincount(self.task, deviation_of_cell**2, block.n_tasks)
        products += weight * (np.einsum("tl,tl->t", total, total) - within)
        scales += weight * (total_deviation**2 - within_deviation)
