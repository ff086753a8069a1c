"""Expectation maximisation over confusion matrices [Dawid79]; `one_coin.py` has that of one accuracy a worker."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.progress import report
from quorate.voting.confusion import cells_of
from quorate.voting.posterior import alike_shares, class_shares, hold_known, log_likelihood, logarithm, softmax


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
    cells = cells_of(answers)
    empty = 0.0 if zeros == "skip" else 1 / answers.n_classes
    q = hold_known(posterior, gold)
    theta = column_shares(cells.expected_counts(q), empty) if confusion is None else confusion
    history: list[float] = []
    converged = False
    for step in range(1, max_iterations + 1):
        if step > 1:
            theta = column_shares(cells.expected_counts(q), empty)
        prior = class_shares(q) if class_prior else alike_shares(q)
        scores = cells.log_joint(logarithm(theta, zeros), prior)
        history.append(log_likelihood(scores, gold))
        new = hold_known(softmax(scores), gold)
        change = np.abs(new - q).sum(axis=1).mean()
        q = new
        report("EM steps", step, max_iterations)
        if change <= tolerance:
            converged = True
            break
    return Fit(q, scores, theta, tuple(history), converged)


def column_shares(counts: FloatArray, empty: float = 0.0) -> FloatArray:
    """Make the columns of each matrix sum to one.

    Args:
        counts: workers × answers × classes.
        empty: what a column without counts is filled with.

    >>> column_shares(np.array([[[3.0, 0.0], [1.0, 0.0]]]), empty=0.5).tolist()
    [[[0.75, 0.5], [0.25, 0.5]]]
    """
    total = counts.sum(axis=1, keepdims=True)
    shares = np.full(counts.shape, empty)
    np.divide(counts, total, out=shares, where=total > 0)
    return shares
