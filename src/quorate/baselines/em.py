"""Expectation maximisation over confusion matrices, the step that several methods share [Dawid79].

With q the posterior of each task (tasks × classes) and theta_j(l, c) the probability that worker j answers l where the
truth is c, both steps are products with one sparse matrix: tasks × (worker, answer) cells, a one for every answer.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import TooLargeError, one_of
from quorate.progress import report

ENTRIES = 100_000_000  # of all confusion matrices together: 800 MB
FLOOR = float(np.finfo(np.float64).tiny)  # the least probability of an answer: its logarithm is finite
ZEROS = ("exact", "skip")


@dataclass(frozen=True)
class Fit:
    """Where EM ended."""

    posterior: FloatArray  # tasks × classes
    scores: FloatArray  # log joint probability, tasks × classes
    confusion: FloatArray  # workers × answers × classes; columns sum to one
    log_likelihoods: tuple[float, ...]  # after each step
    converged: bool

    @property
    def accuracy(self) -> FloatArray:
        """Each worker's probability of the right class, the classes being alike frequent."""
        mean: FloatArray = np.einsum("wcc->w", self.confusion) / self.confusion.shape[2]
        return mean


def expectation_maximisation(
    answers: Answers,
    posterior: FloatArray,
    *,
    confusion: FloatArray | None = None,
    one_coin: bool = False,
    gold: IntArray | None = None,
    class_prior: bool = False,
    zeros: str = "exact",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> Fit:
    """Alternate between confusion matrices and posterior until the posterior stands still.

    Args:
        answers: who answered what.
        posterior: where to start, tasks × classes.
        confusion: where to start instead, workers × answers × classes.
        one_coin: tie each matrix to one accuracy, wrong answers being alike likely.
        gold: the known class of each task, -1 where unknown.
        class_prior: estimate the share of each class, instead of taking them all for alike.
        zeros: what an answer of estimated probability zero does: ``exact`` makes the class (next to) impossible;
            ``skip`` leaves the answer out, as the code behind the published figures does, which is no EM any more:
            the likelihood may fall.
        max_iterations: steps at the most.
        tolerance: for the mean change of the posterior.

    Raises:
        TooLargeError: the confusion matrices would not fit.

    >>> import quorate
    >>> from quorate.vote import majority
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = expectation_maximisation(answers, majority(answers).posterior)
    >>> bool(np.all(np.diff(fit.log_likelihoods) >= -1e-9))
    True
    """
    one_of(zeros, ZEROS, "treatment of zeros")
    cells = answer_matrix(answers)
    by_worker = cells.T.tocsr()
    q = clamp(posterior, gold)
    theta = _maximise(by_worker, q, answers, one_coin, zeros) if confusion is None else confusion
    history: list[float] = []
    converged = False
    for step in range(1, max_iterations + 1):
        if step > 1:
            theta = _maximise(by_worker, q, answers, one_coin, zeros)
        prior = q.mean(axis=0) if class_prior else np.full(answers.n_classes, 1 / answers.n_classes)
        scores = _expect(cells, theta, prior, zeros)
        top = scores.max(axis=1, keepdims=True)
        likelihood = np.exp(scores - top)
        total = likelihood.sum(axis=1, keepdims=True)
        history.append(_log_likelihood(scores, top + np.log(total), gold))
        new = clamp(likelihood / total, gold)
        change = np.abs(new - q).sum(axis=1).mean()
        q = new
        report("EM steps", step, max_iterations)
        if change <= tolerance:
            converged = True
            break
    return Fit(q, scores, theta, tuple(history), converged)


def check_size(answers: Answers, method: str) -> None:
    """Refuse a crowd whose confusion matrices or posterior would not fit in memory, before it is tried.

    Raises:
        TooLargeError: workers × classes × classes, or tasks × classes, is too much.

    >>> import quorate
    >>> check_size(quorate.simulate.crowd(10, 5, 3).answers, "dawid-skene")
    """
    m = answers.n_classes
    sizes = {
        f"a {m:,} × {m:,} confusion matrix for each of {answers.n_workers:,} workers": answers.n_workers * m**2,
        f"a probability for each of {answers.n_tasks:,} tasks and {m:,} classes": answers.n_tasks * m,
    }
    for what, entries in sizes.items():
        if entries > ENTRIES:
            raise TooLargeError(
                f"{method} keeps {what}: {entries:,} entries, of which it may take {ENTRIES:,}. "
                "Merge rare classes, or use a method with one skill a worker, such as rank-one or iwmv"
            )


def clamp(posterior: FloatArray, gold: IntArray | None) -> FloatArray:
    """Make the known tasks certain.

    >>> clamp(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([1, -1])).tolist()
    [[0.0, 1.0], [0.5, 0.5]]
    """
    if gold is None:
        return posterior
    known = gold >= 0
    fixed = posterior.copy()
    fixed[known] = 0.0
    fixed[known, gold[known]] = 1.0
    return fixed


def answer_matrix(answers: Answers) -> sparse.csr_array:
    """Form the matrix with a one at (task, worker·M + answer), for every answer.

    >>> import quorate
    >>> answer_matrix(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["y", "x"]})).toarray().tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    column = answers.worker.astype(np.int64) * answers.n_classes + answers.label
    start = np.concatenate([[0], np.cumsum(answers.per_task)])  # the answers lie ordered by task
    shape = (answers.n_tasks, answers.n_workers * answers.n_classes)
    return sparse.csr_array((np.ones(answers.n_answers), column, start), shape=shape)


def _maximise(by_worker: sparse.csr_array, q: FloatArray, answers: Answers, one_coin: bool, zeros: str) -> FloatArray:
    """Estimate the confusion matrices from expected counts."""
    m = answers.n_classes
    counts = (by_worker @ q).reshape(answers.n_workers, m, m)
    return column_shares(counts, one_coin, empty=0.0 if zeros == "skip" else 1 / m)


def column_shares(counts: FloatArray, one_coin: bool, empty: float = 0.0) -> FloatArray:
    """Make the columns of each matrix sum to one; with one coin, from one accuracy for all classes.

    Args:
        counts: workers × answers × classes.
        one_coin: whether wrong answers are alike likely, and all classes alike hard.
        empty: what a column without counts is filled with.

    >>> column_shares(np.array([[[3.0, 0.0], [1.0, 0.0]]]), one_coin=False, empty=0.5).tolist()
    [[[0.75, 0.5], [0.25, 0.5]]]
    """
    m = counts.shape[2]
    if one_coin and m > 1:
        right, n = np.einsum("wcc->w", counts), counts.sum(axis=(1, 2))
        p = np.divide(right, n, out=np.full(len(n), 1 / m), where=n > 0)
        coin: FloatArray = np.where(np.eye(m, dtype=bool), p[:, None, None], ((1 - p) / (m - 1))[:, None, None])
        return coin
    total = counts.sum(axis=1, keepdims=True)
    shares = np.full(counts.shape, empty)
    np.divide(counts, total, out=shares, where=total > 0)
    return shares


def _expect(cells: sparse.csr_array, theta: FloatArray, prior: FloatArray, zeros: str) -> FloatArray:
    """Sum the log-probabilities of each task's answers under each class, and the class's own."""
    logs = np.log(np.maximum(theta, FLOOR))
    if zeros == "skip":
        logs[theta == 0] = 0.0
    m = theta.shape[2]
    scores: FloatArray = cells @ logs.reshape(-1, m) + np.log(np.maximum(prior, FLOOR))
    return scores


def _log_likelihood(scores: FloatArray, marginal: FloatArray, gold: IntArray | None) -> float:
    """Sum the log-probability of all answers, and of the known labels."""
    value = marginal[:, 0]
    if gold is not None:
        known = gold >= 0
        value = np.where(known, scores[np.arange(len(gold)), np.maximum(gold, 0)], value)
    return float(value.sum())
