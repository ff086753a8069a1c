"""Expectation maximisation over confusion matrices, the step that several methods share [Dawid79]."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import one_of
from quorate.progress import report
from quorate.voting.confusion import FLOOR, cells_of, clamp, softmax

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

    >>> import quorate
    >>> from quorate.voting.vote import majority
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = expectation_maximisation(answers, majority(answers).posterior)
    >>> bool(np.all(np.diff(fit.log_likelihoods) >= -1e-9))
    True
    """
    one_of(zeros, ZEROS, "treatment of zeros")
    cells, m = cells_of(answers), answers.n_classes
    empty = 0.0 if zeros == "skip" else 1 / m
    q = clamp(posterior, gold)
    theta = column_shares(cells.expected_counts(q), one_coin, empty) if confusion is None else confusion
    history: list[float] = []
    converged = False
    for step in range(1, max_iterations + 1):
        if step > 1:
            theta = column_shares(cells.expected_counts(q), one_coin, empty)
        prior = q.mean(axis=0) if class_prior else np.full(m, 1 / m)
        scores = cells.log_joint(_logarithm(theta, zeros), prior)
        history.append(_log_likelihood(scores, gold))
        new = clamp(softmax(scores), gold)
        change = np.abs(new - q).sum(axis=1).mean()
        q = new
        report("EM steps", step, max_iterations)
        if change <= tolerance:
            converged = True
            break
    return Fit(q, scores, theta, tuple(history), converged)


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


def _logarithm(theta: FloatArray, zeros: str) -> FloatArray:
    logs: FloatArray = np.log(np.maximum(theta, FLOOR))
    if zeros == "skip":
        logs[theta == 0] = 0.0
    return logs


def _log_likelihood(scores: FloatArray, gold: IntArray | None) -> float:
    """Sum the log-probability of all answers, and of the known labels."""
    value = np.logaddexp.reduce(scores, axis=1)
    if gold is not None:
        known = gold >= 0
        value = np.where(known, scores[np.arange(len(gold)), np.maximum(gold, 0)], value)
    return float(value.sum())
