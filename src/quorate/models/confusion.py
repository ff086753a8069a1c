"""Partially pooled confusion matrices: each worker's matrix is shrunk toward the crowd's, by the method of moments.

theta_w = (K_w + s P_w), normalised by column, where K_w has the expected counts of worker w (answer × class), P_w is
the pooled matrix P with its errors scaled by the worker's error rate relative to the mean, and s is the Dirichlet
concentration; `confusion_prior.py` estimates P, P_w and s. If the matrices would have too many entries or too few
answers, each worker has one error rate instead, shrunk by the same method, and errors distributed as in P.

With q the posterior (tasks × classes) and theta_i(l, g) the probability that worker i answers l where the truth is g,
the M-step sums q over a worker's tasks and the E-step sums log theta over a task's workers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Sized
from quorate.arrays import BoolArray, FloatArray, IntArray, from_strings, null_where
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import add_pooled_counts, e_step, task_scores
from quorate.blocks.memory import blocks_of, stack_tables
from quorate.blocks.worker_rows import ObservedRows, map_parts, parts, rows_at
from quorate.blocks.worker_tables import log_matrices
from quorate.errors import TooLargeError
from quorate.models.confusion_prior import (
    MAX_COLUMN_ERROR,
    concentration_of_similarity,
    dirichlet_concentration,
    error_scale,
    pooled_matrix,
)
from quorate.models.em import Posterior, counts_by_posterior
from quorate.models.scorer import HasScores, MatrixScorer, SkillScorer
from quorate.statistics import is_significant
from quorate.voting.posterior import FLOOR, add_one_proportions, clamp_gold, softmax

MAX_MATRIX_ENTRIES = 20_000_000  # workers × classes²: 160 MB per table
MIN_ANSWERS_PER_COLUMN = 2.0  # on average over workers and classes, for one matrix per worker
# Threads that start a pass together wait until one of them has computed the matrices; `cached_property` has a lock only
# up to Python 3.11.
_LOG_THETA_LOCK = Lock()


@dataclass(frozen=True, eq=False)
class ConfusionModel:
    """A confusion matrix per worker; a `Scorer`. Only its fields are pickled (for Spark), not the matrices."""

    counts: FloatArray | ObservedRows  # expected counts, workers × answers × classes
    pooled: FloatArray  # P, answers × classes
    relative_error: FloatArray  # [workers]: error rate by skill over that of the mean skill
    concentration: float  # s, in pseudo-answers per column
    log_prior: FloatArray  # [classes]

    @property
    def log_theta(self) -> FloatArray | ObservedRows:
        """The logarithms of the matrices, workers × answers × classes; only for the rows that `counts` stores."""
        with _LOG_THETA_LOCK:
            return self._log_theta

    @cached_property
    def _log_theta(self) -> FloatArray | ObservedRows:
        scale = error_scale(self.pooled, self.relative_error)

        def logs(counts: FloatArray, workers: slice) -> FloatArray:
            return log_matrices(counts, self.pooled, scale[workers], self.concentration, FLOOR)

        return map_parts(logs, self.counts)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def theta(self) -> FloatArray:
        """Return the matrices of all workers in full."""
        scale = error_scale(self.pooled, self.relative_error)
        if isinstance(self.log_theta, np.ndarray):
            return np.exp(self.log_theta)
        logs = [
            log_matrices(part, self.pooled, scale[workers], self.concentration, FLOOR)
            for workers, part in parts(self.counts)
        ]
        return np.exp(np.concatenate(logs))

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        return task_scores(block, self.log_theta, self.log_prior)

    def answer_probabilities(self, worker: IntArray, class_: IntArray) -> FloatArray:
        """Return the probability of every answer, for pairs of a worker and a class; pairs × answers."""
        columns: FloatArray
        if isinstance(self.log_theta, np.ndarray):
            n_workers, m, _ = self.log_theta.shape
            if n_workers * m > len(worker):
                columns = np.exp(self.log_theta[worker, :, class_])
            else:  # fewer exponentials: one row per worker and class
                columns = np.exp(self.log_theta.transpose(0, 2, 1)).reshape(-1, m)[worker * m + class_]
            return columns
        m = len(self.pooled)
        scale = error_scale(self.pooled, self.relative_error)[worker]
        columns = scale[:, None] * self.pooled.T[class_]
        pair = np.arange(len(worker))
        columns[pair, class_] = 0.0
        columns[pair, class_] = 1 - columns.sum(axis=1)
        columns *= self.concentration
        for label in range(m):
            columns[:, label] += rows_at(self.counts, worker.astype(np.int64) * m + label)[pair, class_]
        columns /= columns.sum(axis=1, keepdims=True)
        return columns

    def renamed(self, order: IntArray) -> "ConfusionModel":
        """Return the model of answers whose class c is renamed ``order[c]``."""
        back = np.argsort(order)
        counts = self.counts
        return ConfusionModel(
            counts[:, back][:, :, back] if isinstance(counts, np.ndarray) else counts.renamed(order),
            self.pooled[back][:, back],
            self.relative_error,
            self.concentration,
            self.log_prior[back],
        )

    def refit(self, blocks: Blocks, posterior: Posterior) -> "ConfusionModel | AccuracyModel":
        """Return the matrices fitted to a posterior; gold is clamped."""
        return fit_confusion(blocks, posterior, self.relative_error)


@dataclass(frozen=True)
class LeaveOneOut:
    """Confusion matrices that score each answer by the other answers of its worker; a `Scorer`.

    A worker's matrix is computed from all its answers, weighted by the posteriors of their tasks, so that an answer
    confirms itself. Here its own weight is subtracted from the counts, which is exact for expected counts.
    """

    model: ConfusionModel  # fitted to the posterior of ``previous``
    previous: ConfusionModel

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        inside = block.answers
        worker = block.worker[inside]
        label = block.label[inside]
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        posterior = softmax(self.previous.scores(block))[task]
        answers_per_column = [part.sum(axis=1) for _, part in parts(self.model.counts)]
        column_total = np.concatenate(answers_per_column) + self.model.concentration
        total_of_others = column_total[worker] - posterior
        row = worker.astype(np.int64) * block.n_classes + label
        probability = (np.exp(rows_at(self.model.log_theta, row)) * column_total[worker] - posterior) / total_of_others
        logs = np.log(np.maximum(probability, FLOOR))
        sums = np.stack([np.bincount(task, logs_of_class, block.n_tasks) for logs_of_class in logs.T], axis=1)
        scores: FloatArray = sums + self.model.log_prior
        return scores

    def renamed(self, order: IntArray) -> "LeaveOneOut":
        """Return the model of answers whose class c is renamed ``order[c]``."""
        return LeaveOneOut(self.model.renamed(order), self.previous.renamed(order))

    def refit(self, blocks: Blocks, posterior: Posterior) -> "ConfusionModel | AccuracyModel":
        """Return the matrices fitted to a posterior; gold is clamped."""
        return self.model.refit(blocks, posterior)


@dataclass(frozen=True, eq=False)
class AccuracyModel:
    """One error rate per worker, with the errors of the pooled matrix; a `Scorer` for many classes or few answers."""

    error: FloatArray  # [workers]: factor on the errors of the pooled matrix
    pooled: FloatArray  # P, answers × classes
    log_prior: FloatArray
    relative_error: FloatArray
    log_pooled: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "log_pooled", np.log(np.maximum(self.pooled, FLOOR)))

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task: as if all answers were errors, then corrected for right ones."""
        from scipy import sparse

        m = block.n_classes
        inside = block.answers
        label = block.label[inside].astype(np.int64)
        error = self.error[block.worker[inside]]
        start = block.start - block.start[0]
        votes = sparse.csr_array((np.ones(len(label)), label, start), shape=(block.n_tasks, m))
        scores: FloatArray = votes @ self.log_pooled + self.log_prior
        log_error = np.log(np.maximum(error, FLOOR))
        right = 1 - error * (1 - self.pooled[label, label])
        own_class = np.log(np.maximum(right, FLOOR)) - log_error - self.log_pooled[label, label]
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        np.add.at(scores, (task, label), own_class)
        scores += np.bincount(task, log_error, block.n_tasks)[:, None]
        return scores

    def answer_probabilities(self, worker: IntArray, class_: IntArray) -> FloatArray:
        """Return the probability of every answer, for pairs of a worker and a class; pairs × answers."""
        error = self.error[worker]
        columns: FloatArray = error[:, None] * self.pooled.T[class_]
        columns[np.arange(len(worker)), class_] = 1 - error * (1 - self.pooled[class_, class_])
        return columns

    def renamed(self, order: IntArray) -> "AccuracyModel":
        """Return the model of answers whose class c is renamed ``order[c]``."""
        back = np.argsort(order)
        return AccuracyModel(self.error, self.pooled[back][:, back], self.log_prior[back], self.relative_error)

    def refit(self, blocks: Blocks, posterior: Posterior) -> "ConfusionModel | AccuracyModel":
        """Return the error rates fitted to a posterior; gold is clamped."""
        return fit_confusion(blocks, posterior, self.relative_error)


def has_matrices(blocks: Blocks) -> bool:
    """Return whether each worker gets a confusion matrix: not too many entries, and enough answers per column.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> has_matrices(blocks_of(quorate.simulate.crowd(100, 10, 5, seed=0).answers))
    True
    """
    n_columns = blocks.n_workers * blocks.n_classes
    fits = n_columns * blocks.n_classes <= MAX_MATRIX_ENTRIES
    return fits and MIN_ANSWERS_PER_COLUMN * n_columns <= blocks.n_answers


def pooled_confusion(
    blocks: Blocks, start: HasScores, relative_error: FloatArray, *, n_steps: int
) -> ConfusionModel | AccuracyModel:
    """Fit confusion matrices by some EM steps from a first model; gold in the blocks is clamped.

    Args:
        blocks: blocks of tasks.
        start: model whose posterior is the first E-step.
        relative_error: of each worker, its error rate by skill over that of the mean skill.
        n_steps: number of EM steps.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = blocks_of(quorate.simulate.crowd(100, 10, 5, seed=0).answers)
    >>> pooled_confusion(blocks, PluralityScorer(1.0), np.ones(10), n_steps=2).log_theta.shape
    (10, 2, 2)
    """
    model = _em_step(blocks, start, relative_error)
    for _ in range(n_steps - 1):
        model = _em_step(blocks, model, relative_error)
    return model


def _em_step(blocks: Blocks, model: HasScores, relative_error: FloatArray) -> ConfusionModel | AccuracyModel:
    """Return the matrices fitted to the posterior of a model; in one pass if both are matrices."""
    if isinstance(model, ConfusionModel | SkillScorer) and has_matrices(blocks):
        counts, class_counts = blocks.sum(model_e_step, model)
        return fit_matrices(counts, class_counts, relative_error)
    return fit_confusion(blocks, ModelPosterior(model), relative_error)


def model_e_step(blocks: Iterable[Block], model: ConfusionModel | SkillScorer) -> Sums:
    """E-step: return expected counts of answers and tasks under a model's posterior, with gold clamped."""
    return e_step(blocks, model.log_theta, model.log_prior)


@dataclass(frozen=True)
class ModelPosterior:
    """The posterior of a model without tempering, as a function that can be pickled."""

    model: HasScores

    def __call__(self, block: Block) -> FloatArray:
        """Return P(class | answers) of each task."""
        return softmax(self.model.scores(block))


def fit_confusion(blocks: Blocks, posterior: Posterior, relative_error: FloatArray) -> ConfusionModel | AccuracyModel:
    """Fit the matrices, or one error rate per worker, to a posterior; gold in the blocks is clamped.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = blocks_of(quorate.simulate.crowd(100, 10, 5, seed=0).answers)
    >>> fit_confusion(blocks, ModelPosterior(PluralityScorer(1.0)), np.ones(10)).counts.shape
    (10, 2, 2)
    """
    if has_matrices(blocks):
        counts, class_counts = blocks.sum(counts_by_posterior, posterior)
        return fit_matrices(counts, class_counts, relative_error)
    class_counts, pooled, right = blocks.sum(_accuracy_counts, posterior, blocks.n_workers)
    return _accuracies(class_counts, pooled, right, blocks.per_worker.astype(np.float64), relative_error)


def _accuracy_counts(blocks: Iterable[Block], posterior: Posterior, n_workers: int) -> Sums:
    """Return expected tasks of each class, expected answers by given and true class, and right ones per worker."""
    class_counts: FloatArray | None = None
    pooled = np.zeros((0, 0))
    right = np.zeros(n_workers)
    for block in blocks:
        m = block.n_classes
        q = clamp_gold(posterior(block), block.gold)
        inside = block.answers
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        if class_counts is None:
            class_counts = np.zeros(m)
            pooled = np.zeros((m, m))
        class_counts += q.sum(axis=0)
        add_pooled_counts(block, q, pooled)
        right += np.bincount(block.worker[inside], q[task, block.label[inside]], n_workers)
    assert class_counts is not None  # there is at least one block; it may be empty
    return class_counts, pooled, right


def fit_matrices(
    counts: FloatArray | ObservedRows, class_counts: FloatArray, relative_error: FloatArray
) -> ConfusionModel:
    """M-step: shrink expected counts toward the pooled matrix, scaled by each worker's error rate.

    Args:
        counts: expected counts, workers × answers × classes.
        class_counts: expected tasks of each class.
        relative_error: of each worker, its error rate by skill over that of the mean skill.
    """
    pooled, _ = pooled_matrix(sum(part.sum(axis=0) for _, part in parts(counts)))
    concentration = dirichlet_concentration(counts, pooled)
    log_prior = np.log(add_one_proportions(class_counts))
    return ConfusionModel(counts, pooled, relative_error, concentration, log_prior)


def _accuracies(
    class_counts: FloatArray, pooled_counts: FloatArray, right: FloatArray, n: FloatArray, relative_error: FloatArray
) -> AccuracyModel:
    """Return the model in which each worker's error rate is shrunk toward the rate that its skill predicts."""
    pooled, mean = pooled_matrix(pooled_counts)
    use: BoolArray = n > 1
    weight = np.where(use, 1 / np.maximum(n - 1, 1.0), 0.0)
    excess = float((weight * (right * right - right - n * (n - 1) * mean**2)).sum())
    largest = float((weight * n * (n - 1)).sum()) * mean * (1 - mean)
    strength = concentration_of_similarity(excess, largest)
    expected_error = np.minimum(relative_error * (1 - mean), MAX_COLUMN_ERROR)
    rate = (n - right + strength * expected_error) / (n + strength)
    largest_error = float((1 - pooled.diagonal()).max())
    error = np.minimum(rate / (1 - mean), MAX_COLUMN_ERROR / largest_error)
    return AccuracyModel(error, pooled, np.log(add_one_proportions(class_counts)), relative_error)


@dataclass(frozen=True, eq=False)
class ConfusionMatrices:
    """Confusion matrices of a result, with their expected counts; shapes (workers, answers, classes)."""

    theta: FloatArray  # the probability of an answer, given the class
    counts: FloatArray  # the expected number of answers for each entry
    class_prior: FloatArray  # [classes]

    def class_accuracy(self, classes: pa.Array, hidden: BoolArray | None = None) -> pa.Array:
        """Return each worker's accuracy by class as text; null if it does not differ significantly, or is hidden."""
        right = np.einsum("wcc->wc", self.theta)
        differs = accuracy_differs(self.counts)
        if hidden is not None:
            differs = differs & ~hidden
        names = [str(name) for name in classes.to_pylist()]
        texts = [
            ", ".join(f"{name} {p:.2f}" for name, p in zip(names, row, strict=True)) if is_different else ""
            for row, is_different in zip(right.tolist(), differs.tolist(), strict=True)
        ]
        return null_where(from_strings(texts), ~differs)


def accuracy_differs(counts: FloatArray, *, most: float = 0.01) -> BoolArray:
    """Return for each worker whether accuracy differs between classes, by a chi-square test of the expected counts.

    Args:
        counts: expected answers, workers × answers × classes.
        most: probability of a false positive.

    >>> alike, unlike = [[40.0, 10.0], [10.0, 40.0]], [[50.0, 30.0], [0.0, 20.0]]
    >>> accuracy_differs(np.array([alike, unlike])).tolist()
    [False, True]
    """
    n = counts.sum(axis=1)
    right = np.einsum("wcc->wc", counts)
    is_counted = n >= 5  # the conventional minimum count for the test
    n = np.where(is_counted, n, 0.0)
    right = np.where(is_counted, right, 0.0)
    total = np.maximum(n.sum(axis=1), 1e-300)
    mean = right.sum(axis=1) / total
    share = np.divide(right, n, out=np.zeros_like(right), where=n > 0)
    statistic = (n * (share - mean[:, None]) ** 2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-300)
    freedom = is_counted.sum(axis=1) - 1
    return is_significant(statistic, freedom, most)


MAX_ENTRIES = 100_000_000  # of all confusion matrices together, or of the posterior: 800 MB
# Few answers do not determine so many entries, and a fit has several tables of this size: at most 80 MB each, or 400
# bytes per answer, if that is more.
MAX_ENTRIES_OF_FEW_ANSWERS = 10_000_000
MAX_ENTRIES_PER_ANSWER = 50
MAX_LOOPED_CLASSES = 8  # up to this a loop over the classes is faster than numpy's sum: three times with two classes


def log_joint(answers: Answers, log_theta: FloatArray, prior: FloatArray) -> FloatArray:
    """Return log P(answers, class), tasks × classes, from log matrices, workers × answers × classes.

    >>> import quorate
    >>> log_joint(quorate.simulate.crowd(10, 5, 3).answers, np.zeros((5, 2, 2)), np.ones(2)).shape
    (10, 2)
    """
    model = MatrixScorer(log_theta, np.log(np.maximum(prior, FLOOR)))
    return stack_tables(blocks_of(answers).map(model.scores), answers.n_tasks)


def sum_over_answers(table: FloatArray) -> FloatArray:
    """Return the sums of workers × answers × classes over the answers, bit-identical to numpy's, but faster.

    >>> sum_over_answers(np.array([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
    [[[4.0, 6.0]]]
    """
    if table.shape[1] > MAX_LOOPED_CLASSES:
        totals: FloatArray = table.sum(axis=1, keepdims=True)
        return totals
    total: FloatArray = table[:, :1].copy()
    for answer in range(1, table.shape[1]):
        total += table[:, answer : answer + 1]
    return total


def max_entries(n_answers: int) -> int:
    """Return the maximum number of entries of the confusion matrices of a crowd with this number of answers.

    >>> max_entries(1000), max_entries(1_000_000)
    (10000000, 50000000)
    """
    return min(MAX_ENTRIES, max(MAX_ENTRIES_OF_FEW_ANSWERS, MAX_ENTRIES_PER_ANSWER * n_answers))


def check_size(answers: Sized, method: str, *, matrices: bool = True, posterior: bool = True) -> None:
    """Raise an error if the confusion matrices or the posterior of a crowd would not fit in memory.

    Args:
        answers: who answered what.
        method: name of the method, for the message.
        matrices: whether the method keeps a confusion matrix for each worker.
        posterior: whether the method keeps the posterior of every task.

    Raises:
        TooLargeError: workers × classes × classes, or tasks × classes, is too large.

    >>> import quorate
    >>> check_size(quorate.simulate.crowd(10, 5, 3).answers, "dawid-skene")
    """
    m = answers.n_classes
    fewer_classes = "Merge rare classes, or use a method with one skill per worker, such as rank-one or iwmv"
    size = f"a {m:,} × {m:,} confusion matrix for each of {answers.n_workers:,} workers"
    sizes = [(size, answers.n_workers * m**2, max_entries(answers.n_answers), fewer_classes)] if matrices else []
    every = "If the labels are free text, make classes of them; merge rare ones, or give the tasks in parts"
    if posterior:
        of_tasks = f"a probability for each of {answers.n_tasks:,} tasks and {m:,} classes"
        sizes.append((of_tasks, answers.n_tasks * m, MAX_ENTRIES, every))
    for what, entries, most, remedy in sizes:
        if entries > most:
            raise TooLargeError(
                f"the method {method!r} keeps {what}: {entries:,} entries, and the limit is {most:,}. {remedy}"
            )
