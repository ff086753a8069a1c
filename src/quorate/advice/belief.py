"""What each worker's accuracy is best taken to be."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.advice.coins import Coins, without_own
from quorate.advice.orientation import fit_either_way
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import Identifiability


@dataclass(frozen=True)
class Belief:
    """What each worker's accuracy is best taken to be: a Beta law of this mean, worth so many answers."""

    accuracy: FloatArray  # of each worker
    answers: FloatArray  # the parameters of the law add up to this
    mean: float  # of the crowd: what a newcomer is taken for
    strength: float  # in answers, how firmly
    fit: Coins

    def with_newcomers(self, n: int) -> "Belief":
        """Add workers of whom nothing is known."""
        accuracy = np.concatenate([self.accuracy, np.full(n, self.mean)])
        return replace(self, accuracy=accuracy, answers=np.concatenate([self.answers, np.full(n, self.strength)]))


def believe(
    answers: Answers, crowd: Answers, known: IntArray | None, verdict: Identifiability, **options: Any
) -> Belief:
    """Say what each worker's accuracy is best taken to be in a vote.

    An accuracy found from few answers is often 0 or 1 by chance, and a posterior that believes it is far too sure. So
    EM shrinks every worker toward the crowd's mean, as strongly as accuracies spread if skills are uniform on [0, 1].
    An answer counts as much as it tells: next to nothing where the label is as good as unknown without it. A worker who
    is not determined has the mean.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        known: the known class of each task, -1 where unknown; None where no gold is given.
        verdict: the components of that crowd.
        options: ``max_iterations`` and ``tolerance`` of `quorate.advice.coins.fit_coins`.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=20, n_workers=8, per_task=3, seed=0).answers
    >>> from quorate.meetings.graph import identify
    >>> raw = fit_either_way(answers, answers, None, identify(answers))
    >>> drawn = believe(answers, answers, None, identify(answers))
    >>> bool(raw.accuracy.max() > 0.999), bool(drawn.accuracy.max() < 0.9)
    (True, True)
    """
    m, n_workers = answers.n_classes, answers.n_workers
    middle, variance = (1 + 1 / m) / 2, (1 - 1 / m) ** 2 / 12
    strength = middle * (1 - middle) / variance - 1  # of the Beta law with this mean and variance: 8 for two classes
    coins = fit_either_way(answers, crowd, known, verdict, strength=strength, **options)
    mean = min(max(coins.mean, 1.01 / m), 0.999)
    n = answers.per_worker * np.where(verdict.determined[:n_workers], 1.0, 0.0)
    q = without_own(answers, coins.accuracy, known)
    slope = (q - (1 - q) / (m - 1)) / (q * mean + (1 - q) * (1 - mean) / (m - 1))
    # Fisher's information at the mean, in answers of which the truth is known.
    told = np.minimum(answers.by_worker(slope**2) * mean * (1 - mean), n)
    own = np.clip(coins.accuracy + strength / np.maximum(n, 1) * (coins.accuracy - coins.mean), 0, 1)
    drawn = (told * own + strength * mean) / (told + strength)
    return Belief(drawn, told + strength, mean, strength, coins)
