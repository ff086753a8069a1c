"""Tasks that look hard or ill-posed: their answers are improbable for workers of these skills.

Two hypotheses are compared for each task: the workers answer with their full skills (the null hypothesis), or with a
fraction of them (none, a quarter, a half or three quarters, with equal probability). The statistic is the likelihood
ratio. Its null distribution is simulated by importance sampling: answers are drawn with the full skills and with each
fraction of them, and each draw is weighted by its probability under the full skills divided by that under the mixture.
Thousands of draws then suffice for a p-value of one in a million. Few draws are made for every task with a large
ratio, and more for tasks that can still be named at the false discovery rate of Benjamini and Hochberg.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, runs
from quorate.blocks.numpy_kernels import MAX_CELLS_PER_ANSWER
from quorate.blocks.sampling import sample_for_tests
from quorate.diagnostics.finding import MAX_FALSE_DISCOVERIES, Finding, named, quoted
from quorate.progress import report
from quorate.result import Result, count
from quorate.statistics import benjamini_hochberg
from quorate.voting.posterior import logsumexp_rows
from quorate.voting.vote import accuracy

SKILL_FRACTIONS = (0.0, 0.25, 0.5, 0.75)  # fractions of their skills that workers may have on a hard task
N_DRAWS = (10, 40, 160, 640)  # number of draws with each fraction, in successive stages; factor four: conventional
STANDARD_ERRORS = 3  # conventional: by this number of them, the p-value of a task may be smaller than its estimate
MIN_LOG_RATIO = 1.0  # log-likelihood ratio above which a task is simulated; below, its p-value is 1
MAX_DRAWN_ANSWERS = 2_000_000  # answers that are drawn at a time
MAX_CACHED_ANSWERS = 65_536  # answers whose probabilities are computed at a time: these stay in the processor's cache
MIN_PROBABILITY = 1e-6  # of a right or a wrong answer: no answer is impossible


@dataclass(frozen=True)
class TaskTest:
    """Test of every task with at least two answers, or of a sample of them; shapes (tasks,)."""

    log_ratio: FloatArray  # log-likelihood ratio: a fraction of the skills against the full skills
    p: FloatArray  # probability of at least this ratio under the full skills; NaN for a task that is not tested
    adjusted: FloatArray  # over all tasks tested

    @property
    def flagged(self) -> IntArray:
        """The codes of the tasks that are named, smallest p-value first."""
        named = np.flatnonzero(self.adjusted <= MAX_FALSE_DISCOVERIES)
        return named[np.lexsort([named, -self.log_ratio[named], self.p[named]])]


def task_test(answers: Answers, skills: FloatArray, *, seed: int = 0) -> TaskTest:
    """Test tasks for answers that are improbable for workers of these skills.

    In a large crowd, a sample of complete tasks is tested (`quorate.blocks.sampling.sample_for_tests`); the p-value
    of the other tasks is NaN.

    Args:
        answers: who answered what.
        skills: of each worker; NaN where unknown.
        seed: of the draws.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(100, 20, 10, skills=np.full(20, 0.9), seed=0)
    >>> len(task_test(crowd.answers, crowd.skills).flagged)
    0
    """
    sample = sample_for_tests(answers)
    if sample is not None:
        tested = task_test(sample.answers, skills, seed=seed)
        ratio = np.zeros(answers.n_tasks)
        p = np.full(answers.n_tasks, np.nan)
        ratio[sample.is_chosen] = tested.log_ratio
        p[sample.is_chosen] = tested.p
        return TaskTest(ratio, p, benjamini_hochberg(p))
    model = _Model.of(skills, answers.n_classes)
    ratio = model.ratio(model.log_chances(answers.task, answers.worker, answers.label[None], answers.n_tasks))
    p = np.where(answers.per_task >= 2, 1.0, np.nan)
    rng = np.random.default_rng(seed)
    n_tested = np.count_nonzero(~np.isnan(p))
    tasks = np.flatnonzero((ratio > MIN_LOG_RATIO) & ~np.isnan(p))
    for draws in N_DRAWS:
        if len(tasks) == 0:
            break
        p[tasks], least_p = _simulated_p(model, answers, tasks, ratio[tasks], draws, rng)
        # If at most k of n tasks are named, the p-value of each is at most k / n times the false discovery rate.
        tasks = tasks[least_p <= MAX_FALSE_DISCOVERIES * len(tasks) / n_tested]
    return TaskTest(ratio, p, benjamini_hochberg(p))


@dataclass(frozen=True)
class _Model:
    """Probabilities of the answers of each worker with each fraction of its skill; shapes (fractions + 1, workers).

    The last row is for the full skill.
    """

    chance: FloatArray  # of a right answer
    right: FloatArray  # log-probability of the right class
    wrong: FloatArray  # log-probability of each wrong class
    n_classes: int

    @staticmethod
    def of(skills: FloatArray, n_classes: int) -> "_Model":
        known = np.nan_to_num(skills)
        p = np.stack([accuracy(part * known, n_classes) for part in (*SKILL_FRACTIONS, 1.0)])
        p = np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        return _Model(p, np.log(p), np.log((1 - p) / max(n_classes - 1, 1)), n_classes)

    def log_chances(self, task: IntArray, worker: IntArray, labels: IntArray, n_tasks: int) -> FloatArray:
        """Return log P(answers to each task) for several rows of labels, with equally probable classes.

        The shape is (fractions + 1, rows * tasks).
        """
        m = self.n_classes
        n = len(labels)
        row = (np.arange(n)[:, None] * n_tasks + task).ravel()
        is_sparse = n_tasks * m > MAX_CELLS_PER_ANSWER * len(task)
        sums = _cell_sums(row * m + labels.ravel()) if is_sparse else _table_sums(labels.ravel() * (n * n_tasks) + row)
        log_chances: FloatArray = np.full((len(self.right), n * n_tasks), -np.log(m))
        for k, (right, wrong) in enumerate(zip(self.right, self.wrong, strict=True)):
            gains = np.tile((right - wrong)[worker], n)
            log_chances[k] += np.tile(np.bincount(task, wrong[worker], n_tasks), n) + sums(gains, n * n_tasks, m)
        return log_chances

    def ratio(self, chances: FloatArray) -> FloatArray:
        """Return the log-likelihood ratio: a fraction of the skills, with equal prior probabilities, against all."""
        ratio: FloatArray = logsumexp_rows(chances[:-1].T) - np.log(len(SKILL_FRACTIONS)) - chances[-1]
        return ratio

    def weights(self, task: IntArray, worker: IntArray, labels: IntArray, ratio: FloatArray) -> FloatArray:
        """Return the importance weight of each draw for each task; 0 if the draw does not reach the task's ratio.

        The weight is the probability under the full skills divided by that under the mixture of all rows of `chance`.

        Args:
            task: of each answer.
            worker: of each answer.
            labels: that are drawn, draws × answers.
            ratio: log-likelihood ratio of each task that a draw must reach.

        Returns:
            Draws × tasks.
        """
        chances = self.log_chances(task, worker, labels, len(ratio))
        reached = np.flatnonzero(self.ratio(chances) >= np.tile(ratio, len(labels)) - 1e-9)
        weights = np.zeros(chances.shape[1])
        of_reached = np.ascontiguousarray(chances[:, reached])
        mixed = logsumexp_rows(of_reached.T) - np.log(len(chances))
        weights[reached] = np.exp(of_reached[-1] - mixed)
        return weights.reshape(len(labels), -1)


def _table_sums(cell: IntArray) -> Callable[[FloatArray, int, int], FloatArray]:
    """Return a function that sums gains by cell and takes the logsumexp over the classes of each row.

    The cells are numbered class by class: numpy is slow along rows of a few cells.
    """

    def sums(gains: FloatArray, n_rows: int, n_classes: int) -> FloatArray:
        scores = np.bincount(cell, gains, n_rows * n_classes).astype(np.float64, copy=False)
        return logsumexp_rows(scores.reshape(n_classes, n_rows).T)

    return sums


def _cell_sums(cell: IntArray) -> Callable[[FloatArray, int, int], FloatArray]:
    """Return the same function as `_table_sums`, without a table of rows × classes, which would be mostly zeros.

    The cells are numbered row by row. A class without answers has gain 0 and adds exp(0) = 1.
    """
    cells_with_answers, index = np.unique(cell, return_inverse=True)

    def sums(gains: FloatArray, n_rows: int, n_classes: int) -> FloatArray:
        row = cells_with_answers // n_classes
        scores = np.bincount(index, gains, len(cells_with_answers))
        most = np.zeros(n_rows)
        np.maximum.at(most, row, scores)
        observed = np.bincount(row, np.exp(scores - most[row]), n_rows).astype(np.float64, copy=False)
        total: FloatArray = observed + (n_classes - np.bincount(row, minlength=n_rows)) * np.exp(-most)
        return np.log(total) + most

    return sums


def _simulated_p(
    model: _Model, answers: Answers, tasks: IntArray, ratio: FloatArray, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Estimate p-values by ``draws`` draws from each part of the skills and from all of them.

    Returns:
        the estimates plus one standard error, and the estimates less `STANDARD_ERRORS`.
    """
    index_of_task = np.full(answers.n_tasks, -1)
    index_of_task[tasks] = np.arange(len(tasks))
    is_chosen = index_of_task[answers.task] >= 0
    task = index_of_task[answers.task[is_chosen]]
    worker = answers.worker[is_chosen]
    at_once = max(MAX_DRAWN_ANSWERS // len(task), 1)
    total = np.zeros(len(tasks))
    squares = np.zeros(len(tasks))
    done = 0
    for part in range(len(model.chance)):
        for start in range(0, draws, at_once):
            n = min(at_once, draws - start)
            # By symmetry, class 0 is taken as the true class.
            wrong = rng.random((n, len(worker))) >= model.chance[part, worker]
            labels = np.where(wrong, rng.integers(1, model.n_classes, wrong.shape), 0)
            weight = np.empty((n, len(tasks)))
            for rows in runs(n, len(worker), MAX_CACHED_ANSWERS):
                weight[rows] = model.weights(task, worker, labels[rows], ratio)
            total = total + weight.sum(axis=0)
            squares = squares + (weight**2).sum(axis=0)
            done += n
            report("testing tasks", done, len(model.chance) * draws)
    mean = total / done
    error = np.sqrt(np.maximum(squares / done - mean**2, 0.0) / done)
    # Where no draw reached the ratio, Markov's inequality still holds: P(ratio >= e^l) <= e^-l.
    return np.minimum(np.where(mean > 0, mean + error, 1.0), np.exp(-ratio)), mean - STANDARD_ERRORS * error


def task_findings(test: TaskTest, result: Result) -> Iterator[Finding]:
    """Yield a finding for each task on which skilled workers disagree, smallest p-value first.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(100, 20, 10, skills=np.full(20, 0.9), seed=0)
    >>> result = quorate.aggregate(crowd.answers, "rank-one")
    >>> list(task_findings(task_test(crowd.answers, result.skills), result))
    []
    """
    answers = result.answers
    for task in test.flagged.tolist():
        labels, n = np.unique(answers.label[answers.start[task] : answers.start[task + 1]], return_counts=True)
        most = np.argsort(-n, kind="stable")
        ranked = [(answers.classes[int(k)].as_py(), int(times)) for k, times in zip(labels[most], n[most], strict=True)]
        votes = {str(name): times for name, times in ranked}
        counts = ", ".join(f"{count(times, 'answer')} {quoted(name)}" for name, times in ranked[:4])
        yield Finding(
            "hard-task",
            f"Task {named(answers.task_names, [task])} may be unclear: {counts}",
            float(test.adjusted[task]),
            "adjusted p-value",
            tasks=(task,),
            evidence={
                "votes": votes,
                "p": float(test.p[task]),
                "likelihood_ratio": float(np.exp(test.log_ratio[task])),
            },
        )
