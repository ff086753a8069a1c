"""Weighted least-squares objective over observed pairs, its gradient and its box [Ma20, Lemma 6, equiv]; Solution."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.skills.moments import Moments, from_pairs


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise 1/2 sum over pairs of N_ij (C_ij - x_i x_j)^2 for x in a box."""

    moments: Moments
    lower: FloatArray
    upper: FloatArray
    n_answers: FloatArray  # N_i: weight of worker i in the stopping rule
    # Shrinkage of each skill toward the centre, + ridge/2 (x_i - centre)²: one value for all workers or one per worker.
    ridge: float | FloatArray = 0.0
    centre: float | FloatArray = 0.0

    def middle(self) -> FloatArray:
        """Return the default start: skill one half (the theory needs x(0) > 0), clipped to the box."""
        return self.clip(np.full(len(self.lower), 0.5))

    def clip(self, x: FloatArray) -> FloatArray:
        """Project onto the box."""
        return np.clip(x, self.lower, self.upper)

    def loss_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient, with one product of each kind."""
        return self.evaluate(x, *self.moments.products(x))

    def evaluate(self, x: FloatArray, signed: FloatArray, squares: FloatArray) -> tuple[float, FloatArray]:
        """Return the objective and its gradient from the products (N∘C) x and N x²."""
        loss = (self.moments.energy - x @ signed + (x * x) @ squares / 2) / 2
        offset = x - self.centre
        return float(loss + (self.ridge * offset) @ offset / 2), x * squares - signed + self.ridge * offset

    def own_best(self, x: FloatArray, signed: FloatArray, squares: FloatArray) -> FloatArray:
        """Return each worker's best skill given the skills of the others; x itself where there is no information."""
        weight = squares + self.ridge
        return self.clip(np.divide(signed + self.ridge * self.centre, weight, out=x.copy(), where=weight > 0))

    @property
    def rounding(self) -> float:
        """Rounding error of the loss, which is a small difference of large sums; smaller changes are ignored."""
        return 1e-14 * (self.moments.energy + float(self.moments.degree.sum()))

    def mean_size(self, change: FloatArray) -> float:
        """Return the mean absolute change, weighted by answers; workers with two answers would decide a maximum."""
        return float(self.n_answers @ np.abs(change) / max(self.n_answers.sum(), 1))

    def stationarity(self, x: FloatArray, gradient: FloatArray) -> float:
        """Return the projected-gradient norm: mean move of x by a step of gradient / degree, weighted by answers."""
        scale = np.maximum(self.moments.degree + self.ridge, 1e-300)
        return self.mean_size(self.clip(x - gradient / scale) - x)


def box(n_answers: IntArray, n_classes: int, tau: float) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of the skills, at least tau/sqrt(N_i) from ±1 [Ma20, Section 6].

    At ±1 one vote would outweigh all others. The paper's box is [-1 + tau/sqrt(N_i), 1 - tau/sqrt(N_i)]; its lower end
    is at least -1/(M-1), the least skill. N_i is the number of tasks that worker i answered (the paper once writes that
    it equals the sum of N_ij, which is not true).

    >>> [bound.round(2).tolist() for bound in box(np.array([1, 4, 100]), n_classes=3, tau=1.0)]
    [[0.0, -0.5, -0.5], [0.0, 0.5, 0.9]]
    """
    reach = np.maximum(1 - tau / np.sqrt(np.maximum(n_answers, 1)), 0.0)
    return np.maximum(-reach, -1 / (n_classes - 1)) + 0.0, reach


CONVERGED = "converged"
CAPPED = "iteration cap reached"
STALLED = "stalled: no step lowers the loss in floating point"
MIN_GRADIENT = 1e-10  # the digits of smaller projected gradients depend on the order of additions


@dataclass(frozen=True)
class AlternativeOptimum:
    """Skills of a group of workers with the other sign that fit the correlations nearly as well, or better."""

    gain: float  # in log-likelihood over the solution, in nats; negative if it fits worse
    required: float  # it is adopted if its gain is greater
    n_workers: int  # number of workers whose skill differs by more than 0.1
    difference: float  # greatest difference of a skill
    is_adopted: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Skills, and how they were computed.

    >>> import numpy as np
    >>> print(Solution(np.ones(1), "coordinate", CONVERGED, 9, 0.0, 3e-5))
    coordinate: converged after 9 sweeps, projected gradient 3.0e-05
    >>> print(Solution(np.ones(1), "coordinate", CONVERGED, 9, 0.0, 3e-12))
    coordinate: converged after 9 sweeps, projected gradient below 1e-10
    """

    skills: FloatArray
    solver: str
    status: str
    iterations: int  # sweeps over the data
    loss: float  # the objective that this solver minimises; for centred answers without a constant
    gradient_norm: float  # of the projected gradient, in units of skill, averaged over answers
    trajectory: tuple[FloatArray, ...] = field(default=(), repr=False)  # the start, then x after each sweep
    distance: float | None = None  # of a skill from the optimum, on average over answers; None where not computed
    alternatives: tuple[AlternativeOptimum, ...] = ()  # optima that fit nearly as well or were adopted

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was satisfied."""
        return self.status == CONVERGED

    def to_dict(self) -> dict[str, Any]:
        """Return how the skills were computed, for JSON."""
        return {
            "solver": self.solver,
            "status": self.status,
            "iterations": self.iterations,
            "loss": self.loss,
            "gradient_norm": self.gradient_norm,
            **({} if self.distance is None else {"distance": self.distance}),
            **(
                {"alternatives": [asdict(alternative) for alternative in self.alternatives]}
                if self.alternatives
                else {}
            ),
        }

    def __str__(self) -> str:
        norm = f"{self.gradient_norm:.1e}" if self.gradient_norm > MIN_GRADIENT else f"below {MIN_GRADIENT:.0e}"
        return f"{self.solver}: {self.status} after {self.iterations} sweeps, projected gradient {norm}"


def triangle(skills: Sequence[float]) -> Problem:
    """Return the problem of three workers with the exact correlations of these skills, for examples.

    >>> triangle([0.8, 0.6, 0.5]).moments.energy > 0
    True
    """
    s = np.asarray(skills, dtype=np.float64)
    i = np.array([0, 0, 1])
    j = np.array([1, 2, 2])
    ones = np.ones(3)
    return Problem(from_pairs(3, i, j, ones, s[i] * s[j]), -ones, ones, ones)
