"""One answer by a worker of whom nothing is known: never surer than two such workers against one.

Such a worker takes part with the crowd's mean skill. Of three answers, two against one, one vote is left over, and that
is flattened because workers err together; a single answer is not, and its worker's own matrix would vouch for itself.
So its task would be called surer than a majority, by someone whom nobody could check. What is left of two against one
among workers of mean skill is therefore the most that it may be.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.voting.dependence import flattening
from quorate.voting.population import calibrated
from quorate.voting.posterior import softmax

AGAINST = np.array([3])  # answers: two alike, and one against them


@dataclass(frozen=True)
class LoneVotes:
    """All that two against one, by workers of mean skill, would come to."""

    unjudged: BoolArray  # workers whose skill is not determined
    vote: float  # log-odds of a worker of mean skill
    shifts: FloatArray | None  # log priors of the classes that go with the opinions by skill and by matrix
    weights: FloatArray  # of the opinions
    rho: float
    calibration: FloatArray

    def most(self, label: IntArray, n_classes: int) -> FloatArray:
        """Return how sure two against one make a task, for each of these majorities.

        >>> from quorate.voting.population import identity
        >>> lone = LoneVotes(np.ones(1, dtype=bool), np.log(4.0), None, np.array([0.5, 0.5, 0.0]), 0.5, identity())
        >>> lone.most(np.array([0]), 2).round(9).tolist()  # odds of 4 to the power of a half
        [0.666666667]
        """
        votes = np.zeros((len(label), n_classes))
        votes[np.arange(len(label)), label] = self.vote
        shifts = [0.0, 0.0, 0.0] if self.shifts is None else [*self.shifts, 0.0]
        factor = float(flattening(AGAINST, self.rho)[0])
        belief = np.zeros_like(votes)
        for weight, shift in zip(self.weights, shifts, strict=True):
            belief += weight * softmax((votes + shift) * factor)
        sure: FloatArray = calibrated(belief, self.calibration).max(axis=1)
        return sure

    def capped(self, posterior: FloatArray, start: IntArray, worker: IntArray, label: IntArray) -> FloatArray:
        """Return the posterior of some tasks, whose lone answers by unjudged workers are no surer than that.

        Args:
            posterior: tasks × classes.
            start: where each task's answers begin, and where the last one's end.
            worker: of each answer.
            label: of each answer.

        >>> from quorate.voting.population import identity
        >>> lone = LoneVotes(np.ones(1, dtype=bool), np.log(4.0), None, np.array([0.5, 0.5, 0.0]), 0.5, identity())
        >>> lone.capped(np.array([[0.8, 0.2]]), np.array([0, 1]), np.array([0]), np.array([0])).round(3).tolist()
        [[0.667, 0.333]]
        """
        m = posterior.shape[1]
        single = np.flatnonzero(np.diff(start) == 1)
        single = single[self.unjudged[worker[start[single]]]]
        if len(single) == 0 or m < 2:
            return posterior
        given, which = np.unique(label[start[single]], return_inverse=True)
        most, sure = self.most(given, m)[which], posterior[single].max(axis=1)
        part = np.where(sure > most, (most - 1 / m) / np.maximum(sure - 1 / m, 1e-300), 1.0)[:, None]
        humbler = posterior.copy()
        humbler[single] = 1 / m + (posterior[single] - 1 / m) * part
        return humbler
