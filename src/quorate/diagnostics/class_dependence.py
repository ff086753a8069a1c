"""Test on held-out answers whether accuracy depends on the class, and the share right on each class as a range.

The test. Models are fitted on three quarters of the tasks, and each answer to the remaining tasks is predicted from the
other answers to its task. Every confusion model has a one-coin counterpart, in which each worker has the mean accuracy
of its matrix. The confusion models are compared with the best one-coin model, so that a gain is due to the classes and
not to a different shrinkage of the accuracies. A model with more parameters than needed predicts held-out answers
worse; this protects against false findings.

The range. Estimated from the labels themselves, the share right has a mean absolute error of 0.061 over 74 classes of
21 public crowds, and an error above 0.2 if most of a crowd gets a class wrong, because its labels are then wrong as
well. So a range is stated that contains the true share for 90 % of these classes. If at least ten tasks of a class have
known labels, the range is estimated from these instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import e_step, vote_sums
from quorate.blocks.memory import blocks_of, memory_blocks
from quorate.blocks.numpy_kernels import by_row
from quorate.blocks.sampling import TaskSample, sample_of_tasks
from quorate.blocks.worker_rows import ObservedRows, column_totals, diagonals, parts, rows_at
from quorate.diagnostics.finding import Finding, quoted
from quorate.models.confusion import ModelPosterior, fit_matrices
from quorate.models.confusion_prior import error_scale
from quorate.models.em import counts_by_posterior, fit_confusion_em
from quorate.models.one_coin import OneCoinFit, fit_one_coin_em
from quorate.progress import report
from quorate.statistics import Z_90, normal_cdf, wilson_interval
from quorate.voting.posterior import FLOOR, add_one_proportions, logsumexp_rows
from quorate.voting.vote import skill_of

MAX_SHARE_ERROR = 0.16  # largest error of the estimated share right for 90 % of the classes of 21 public crowds
# Limits of the range that is stated: it never reaches 0 % or 100 %.
MIN_SHARE = 0.01
MAX_SHARE = 0.99
MIN_GOLD_TASKS_OF_CLASS = 10  # tasks of a class with known labels, from which its range is estimated from these


@dataclass(frozen=True)
class RightByClass:
    """The share of answers that are right on tasks of each class; shapes (classes,)."""

    share: FloatArray
    low: FloatArray
    high: FloatArray
    checked: BoolArray  # whether estimated from known labels
    occurs: BoolArray  # whether some task is of the class

    def text(self, k: int) -> str:
        """Return the range of a class as text.

        >>> RightByClass(*np.array([[0.6], [0.42], [0.68]]), *np.array([[False], [True]])).text(0)
        '42% to 68%'
        """
        return f"{self.low[k]:.0%} to {self.high[k]:.0%}"


def right_by_class(answers: Answers, posterior: FloatArray, known: IntArray | None = None) -> RightByClass:
    """Estimate the share of right answers to tasks of each class, with a 90 % range.

    Args:
        answers: who answered what.
        posterior: probability of each class, tasks × classes.
        known: the known class of each task, -1 where unknown; None where no gold is given.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 10, 5, skills=np.full(10, 0.6), seed=0)
    >>> result = right_by_class(crowd.answers, quorate.aggregate(crowd.answers).vote.posterior)
    >>> bool(((result.low < 0.8) & (0.8 < result.high)).all())
    True
    """
    m = answers.n_classes
    right_answers = np.zeros(m)  # expected number per class
    total = np.zeros(m)
    first = 0
    for block in memory_blocks(answers).pieces:
        of_block = posterior[first : first + block.n_tasks]
        right_answers += np.einsum("tm,tm->m", vote_sums(block, np.ones(answers.n_workers)), of_block)
        total += block.per_task @ of_block
        first += block.n_tasks
    share = right_answers / np.maximum(total, 1e-9)
    low = share - MAX_SHARE_ERROR
    high = share + MAX_SHARE_ERROR
    checked = np.zeros(answers.n_classes, dtype=bool)
    occurs: BoolArray = posterior.sum(axis=0) >= 0.5  # at least one task, rounded
    if known is not None:
        right = answers.by_task(answers.label == known[answers.task])
        tasks = np.bincount(known[(known >= 0) & (answers.per_task > 0)], minlength=m)
        is_all_known = bool((known[answers.per_task > 0] >= 0).all())
        occurs = tasks > 0 if is_all_known else occurs
        for k in np.flatnonzero(tasks >= (1 if is_all_known else MIN_GOLD_TASKS_OF_CLASS)).tolist():
            is_class = known == k
            n = int(tasks[k])
            checked[k] = True
            share[k] = right[is_class].sum() / answers.per_task[is_class].sum()
            # n is the number of tasks, not of answers: answers to one task are correlated.
            low[k], high[k] = wilson_interval(share[k] * n, n, Z_90)
    low = np.clip(low, MIN_SHARE, MAX_SHARE)
    high = np.clip(high, MIN_SHARE, MAX_SHARE)
    return RightByClass(share, low, high, checked, occurs)


FOLDS = 4
MIN_STATED_DIFFERENCE = 0.1  # smallest difference of the shares right of two classes that is stated: about their error
SIGNIFICANCE_LEVEL = 0.01  # significance level of the test, by the normal distribution
MAX_CLASS_TEST_ANSWERS = 50_000  # a larger crowd is sampled: see experiments/diagnostics/sample_sizes.py
MAX_MATRIX_ENTRIES = 20_000_000  # largest number of entries of all confusion matrices; above, there is no test
MIN_TASKS = 20  # tasks with at least two answers that the test needs
# Limits of EM: more iterations change the predictions by far less than their standard error.
EM_MAX_ITERATIONS = 20
EM_TOLERANCE = 1e-4
PSEUDO_ANSWERS = 0.5  # pseudo-answers in each cell of the Dawid-Skene matrices, so that no answer has probability zero
# Models in which accuracy depends on the class, each with the method it belongs to: one confusion matrix for the crowd,
# scaled to each worker's accuracy; one matrix per worker, shrunk toward that of the crowd; one matrix per worker
# without shrinkage.
METHOD_OF_MODEL = {"pooled": "quorate", "quorate": "quorate", "dawid-skene": "dawid-skene"}
# The matrices without shrinkage take most of the time. If they are worse than one coin by so many standard errors on
# the first fold, they are fitted to the other folds only if another model is better than one coin by at least
# MIN_FURTHER_Z, so that the finding and its figures do not depend on it.
MAX_DEFICIT_Z = 6.0
MIN_FURTHER_Z = 1.0
MIN_PROBABILITY = 1e-12  # of an answer


_Columns: TypeAlias = dict[str, FloatArray]  # by model, the sums of the log-probabilities over each task


@dataclass(frozen=True)
class HeldOut:
    """How well each model predicts an answer from the other answers to its task: means over held-out answers."""

    n_answers: int
    log_likelihood: dict[str, float]  # per answer, by model
    gain: dict[str, float]  # log-likelihood per answer of each confusion model minus that of one coin
    standard_error: dict[str, float]  # of the gain, from its variance over tasks

    @property
    def best(self) -> str:
        """The confusion model with the largest gain; METHOD_OF_MODEL names the method it belongs to."""
        return max(METHOD_OF_MODEL, key=lambda name: self.gain[name])

    def z(self, name: str) -> float:
        """Return the gain of a model over its standard error."""
        return self.gain[name] / self.standard_error[name] if self.standard_error[name] > 0 else 0.0

    @property
    def p(self) -> float:
        """The p-value of the largest gain if one coin per worker is true, with Bonferroni's correction over models."""
        z = max(self.z(name) for name in METHOD_OF_MODEL)
        return min(len(METHOD_OF_MODEL) * float(normal_cdf(np.array([-z]))[0]), 1.0)


def sample_for_class_test(answers: Answers) -> TaskSample | None:
    """Return the sample of tasks on which the models are compared; None (all tasks) up to `MAX_CLASS_TEST_ANSWERS`.

    >>> import quorate
    >>> sample_for_class_test(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    """
    return sample_of_tasks(answers, MAX_CLASS_TEST_ANSWERS)


def held_out(answers: Answers) -> HeldOut | None:
    """Compare the models on answers they were not fitted to; None if there are too few tasks or too many cells.

    >>> import quorate
    >>> held_out(quorate.simulate.crowd(400, 10, 5, seed=0).answers).p > 0.01
    True
    """
    m = answers.n_classes
    tasks = np.flatnonzero(answers.per_task >= 2)
    if m < 2 or len(tasks) < MIN_TASKS or answers.n_workers * m**2 > MAX_MATRIX_ENTRIES:
        return None
    fold = np.full(answers.n_tasks, -1)
    fold[tasks] = np.arange(len(tasks)) % FOLDS
    folds = []
    columns: list[_Columns] = []
    for k in range(FOLDS):
        report("testing classes", k, FOLDS)
        folds.append(_Fold.of(answers.only((fold >= 0) & (fold != k)), answers.only(fold == k)))
        columns.append(folds[k].shrunk_models())
    n_per_task = np.concatenate([part.tested.per_task for part in folds])
    free = [folds[0].free_model()]
    first = _summarise([columns[0] | free[0]], folds[0].tested.per_task)
    if first.z("dawid-skene") < -MAX_DEFICIT_Z:
        others = _summarise(columns, n_per_task)
        if max(others.z(name) for name in others.gain) < MIN_FURTHER_Z:
            return HeldOut(
                others.n_answers,
                first.log_likelihood | others.log_likelihood,
                first.gain | others.gain,
                first.standard_error | others.standard_error,
            )
    free += [part.free_model() for part in folds[1:]]
    report("testing classes", FOLDS, FOLDS)
    return _summarise([shrunk | other for shrunk, other in zip(columns, free, strict=True)], n_per_task)


@dataclass(frozen=True, eq=False)
class _Fold:
    """Three quarters of the tasks, to which models are fitted, and the others, whose answers they predict."""

    blocks: Blocks  # to which models are fitted
    tested: Answers
    coin: OneCoinFit

    @staticmethod
    def of(fitted: Answers, tested: Answers) -> "_Fold":
        blocks = blocks_of(fitted)
        coin = fit_one_coin_em(
            blocks,
            class_prior=True,
            pseudo_tasks=1.0,
            strength=None,
            max_iterations=EM_MAX_ITERATIONS,
            tolerance=EM_TOLERANCE,
        )
        return _Fold(blocks, tested, coin)

    def shrunk_models(self) -> _Columns:
        """Return the columns of the one coin, of both shrunk confusion models, and of the one coins of these."""
        coin = self.coin
        skill = skill_of(coin.accuracy, self.blocks.n_classes)
        per_worker = self.blocks.per_worker
        relative_error = (1 - skill) / max(1 - float(np.average(skill, weights=per_worker)), 0.02)
        counts, class_counts = self.blocks.sum(counts_by_posterior, ModelPosterior(coin))
        shrunk = fit_matrices(counts, class_counts, relative_error)
        counts, class_counts = self.blocks.sum(e_step, shrunk.log_theta, shrunk.log_prior)
        shrunk = fit_matrices(counts, class_counts, relative_error)
        prior = np.exp(shrunk.log_prior)
        s = shrunk.concentration
        # The crowd's matrix, with its errors scaled to each worker's error rate.
        total = sum(part.sum(axis=0) for _, part in parts(shrunk.counts)) + PSEUDO_ANSWERS
        error = float((total.sum() - np.trace(total)) / total.sum())
        pooled_rows, pooled_diagonal = self._scaled(total / total.sum(axis=0), (1 - coin.accuracy) / error)
        prior_rows, prior_diagonal = self._scaled(shrunk.pooled, relative_error)
        rows, diagonal = self._normalised(shrunk.counts, s * prior_rows, s * prior_diagonal, s)
        return {
            **self._one_coin("of all", coin.accuracy, np.exp(coin.log_prior)),
            **self._confusion("pooled", pooled_rows, pooled_diagonal, prior),
            **self._confusion("quorate", rows, diagonal, prior),
        }

    def free_model(self) -> _Columns:
        """Return the columns of the matrices without shrinkage, and of the one coin of their accuracies."""
        posterior = ModelPosterior(self.coin)
        free = fit_confusion_em(self.blocks, posterior=posterior, class_prior=True, max_iterations=EM_MAX_ITERATIONS)
        counts, class_counts = self.blocks.sum(counts_by_posterior, ModelPosterior(free))
        pseudo = np.full(1, PSEUDO_ANSWERS)
        rows, diagonal = self._normalised(counts, pseudo, pseudo, PSEUDO_ANSWERS * self.blocks.n_classes)
        return self._confusion("dawid-skene", rows, diagonal, add_one_proportions(class_counts))

    def _scaled(self, pooled: FloatArray, relative_error: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows and diagonals of a matrix with its errors scaled by the relative error of each worker.

        The rows are those of the tested answers, (answers, classes), and the diagonals are (workers, classes).
        """
        scale = error_scale(pooled, relative_error)
        diagonal = 1 - scale[:, None] * (1 - pooled.diagonal())
        worker = self.tested.worker
        label = self.tested.label
        rows = scale[worker, None] * pooled[label]
        rows[np.arange(len(rows)), label] = diagonal[worker, label]
        return rows, diagonal

    def _normalised(
        self, counts: FloatArray | ObservedRows, rows: FloatArray, diagonal: FloatArray, pseudo_answers: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return rows and diagonals, as `_scaled` does, of counts plus pseudo-answers, normalised by column.

        Args:
            counts: workers × answers × classes.
            rows: pseudo-answers in the rows of the tested answers.
            diagonal: pseudo-answers on the diagonals.
            pseudo_answers: their sum over a column.
        """
        worker = self.tested.worker
        total = column_totals(counts) + pseudo_answers
        row = worker.astype(np.int64) * self.tested.n_classes + self.tested.label
        return (rows_at(counts, row) + rows) / total[worker], (diagonals(counts) + diagonal) / total

    def _confusion(self, name: str, rows: FloatArray, diagonal: FloatArray, prior: FloatArray) -> _Columns:
        """Return the columns of a confusion model and of the one coin that has its accuracies."""
        columns = self._one_coin(f"of {name}", diagonal @ prior, prior)
        return {**columns, name: self.tested.by_task(_log_probability(self.tested, rows, prior))}

    def _one_coin(self, name: str, accuracy: FloatArray, prior: FloatArray) -> _Columns:
        return {name: self.tested.by_task(_one_coin_log_probability(self.tested, accuracy, prior))}


def _log_probability(tested: Answers, rows: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the log-probability of each answer given the other answers to its task.

    Args:
        tested: the answers; every task has some.
        rows: of each answer, its probability for each class, (answers, classes).
        prior: of the classes.
    """
    logs = np.log(np.maximum(rows, MIN_PROBABILITY))
    joint = np.add.reduceat(logs, tested.start[:-1]) + np.log(np.maximum(prior, FLOOR))
    log_probability: FloatArray = logsumexp_rows(joint)[tested.task] - logsumexp_rows(joint[tested.task] - logs)
    return log_probability


def _one_coin_log_probability(tested: Answers, accuracy: FloatArray, prior: FloatArray) -> FloatArray:
    """Return what `_log_probability` returns if each worker has one accuracy, and all wrong answers are as probable.

    Apart from a factor, an answer changes the joint probability of its own class only, so the exponentials of a task
    serve all of its answers.

    Args:
        tested: the answers; every task has some.
        accuracy: of each worker.
        prior: of the classes.
    """
    task = tested.task
    label = tested.label
    log_right = np.log(np.maximum(accuracy, MIN_PROBABILITY))[tested.worker]
    log_wrong = np.log(np.maximum((1 - accuracy) / (len(prior) - 1), MIN_PROBABILITY))[tested.worker]
    joint = np.repeat(np.log(np.maximum(prior, FLOOR))[None], tested.n_tasks, axis=0)
    np.add.at(joint, (task, label), log_right - log_wrong)
    joint = np.exp(joint - by_row(np.maximum, joint)[:, None])
    without_answer = joint[task]
    without_answer[np.arange(len(task)), label] *= np.exp(log_wrong - log_right)
    total = np.log(by_row(np.add, joint))[task]
    log_probability: FloatArray = total - np.log(by_row(np.add, without_answer)) + log_wrong
    return log_probability


def _summarise(folds: Sequence[_Columns], n_per_task: IntArray) -> HeldOut:
    """Return the means over answers; standard errors are over tasks, because answers to one task are correlated.

    Args:
        folds: of each, the sums of the log-probabilities over the answers to each task, by model.
        n_per_task: number of answers to each task.
    """
    sums = {name: np.concatenate([columns[name] for columns in folds]) for name in folds[0]}
    n = n_per_task.sum()
    coin = max((column for name, column in sums.items() if name not in METHOD_OF_MODEL), key=np.sum)
    gain = {}
    error = {}
    likelihood = {"one-coin": float(coin.sum() / n)}
    for name in METHOD_OF_MODEL:
        if name in sums:
            differences = sums[name] - coin
            gain[name] = float(differences.sum() / n)
            error[name] = float(np.sqrt(((differences - n_per_task * gain[name]) ** 2).sum()) / n)
            likelihood[name] = float(sums[name].sum() / n)
    return HeldOut(int(n), likelihood, gain, error)


def misfit_findings(
    held_out: HeldOut | None, answers: Answers, right: RightByClass, *, is_agreement: bool = False
) -> list[Finding]:
    """Return one finding if accuracy depends on the class; else an empty list.

    Args:
        held_out: of `held_out`.
        answers: the answers of the test.
        right: share of right answers on each class.
        is_agreement: whether the shares are only agreement with the labels, as of language models without known labels.

    >>> import quorate
    >>> from quorate.diagnostics.class_dependence import right_by_class
    >>> result = quorate.aggregate(quorate.simulate.crowd(400, 10, 5, seed=0).answers)
    >>> right = right_by_class(result.answers, result.vote.posterior)
    >>> misfit_findings(held_out(result.answers), result.answers, right)
    []
    """
    if held_out is None or held_out.p > SIGNIFICANCE_LEVEL or right.occurs.sum() < 2:
        return []
    best = held_out.best
    method = METHOD_OF_MODEL[best]
    names = answers.classes.to_pylist()
    listed = zip(names, right.share, right.low, right.high, right.checked, strict=True)
    return [
        Finding(
            "class-dependent-accuracy",
            (
                f"{_by_class(right, names, is_agreement=is_agreement)}. Nothing needs to be done: the default "
                "method takes this into account"
            ),
            held_out.p,
            "p-value",
            evidence={
                "better_method": method,
                "better_model": best,
                "log_likelihood_an_answer": held_out.log_likelihood,
                "gain_an_answer": held_out.gain,
                "standard_error": held_out.standard_error,
                "held_out_answers": held_out.n_answers,
                "right_by_class": {
                    str(name): {"share": float(share), "low": float(low), "high": float(high), "checked": bool(checked)}
                    for name, share, low, high, checked in listed
                },
            },
            figures="accuracy per class predicts held-out answers better than one accuracy per worker "
            f"(log-likelihood per answer +{held_out.gain[best]:.3f} ± {held_out.standard_error[best]:.3f}; {method})",
        )
    ]


def _by_class(right: RightByClass, names: Sequence[object], *, is_agreement: bool) -> str:
    """Return a phrase that compares the hardest class with the easiest, if they differ by MIN_STATED_DIFFERENCE."""
    low = int(np.where(right.occurs, right.share, np.inf).argmin())
    high = int(np.where(right.occurs, right.share, -np.inf).argmax())
    if right.share[high] - right.share[low] < MIN_STATED_DIFFERENCE:
        return "Different workers find different classes hard"
    basis = "counted on known labels" if right.checked[[low, high]].all() else "estimated"
    are = "agree with the labels" if is_agreement else "are right"
    return (
        f"Class {quoted(names[low])} is harder than class {quoted(names[high])}: {right.text(low)} of the answers to "
        f"its tasks {are}, against {right.text(high)} ({basis})"
    )
