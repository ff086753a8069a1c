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
    n_answers: FloatArray  # N_i: how much worker i counts in the stopping rule
    # How strongly each skill is shrunk toward the centre: + ridge/2 (x_i - centre)^2; alike for all, or one each.
    ridge: float | FloatArray = 0.0
    centre: float | FloatArray = 0.0

    def middle(self) -> FloatArray:
        """Return the default start: skill one half (the theory needs x(0) > 0), or as near as the box allows."""
        return self.clip(np.full(len(self.lower), 0.5))

    def clip(self, x: FloatArray) -> FloatArray:
        """Project onto the box."""
        return np.clip(x, self.lower, self.upper)

    def loss_and_gradient(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the objective and its gradient with one product of each kind."""
        return self.evaluate(x, *self.moments.products(x))

    def evaluate(self, x: FloatArray, signed: FloatArray, squares: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate the objective and its gradient from the products (N∘C) x and N x²."""
        loss = (self.moments.energy - x @ signed + (x * x) @ squares / 2) / 2
        off = x - self.centre
        return float(loss + (self.ridge * off) @ off / 2), x * squares - signed + self.ridge * off

    def own_best(self, x: FloatArray, signed: FloatArray, squares: FloatArray) -> FloatArray:
        """Return each worker's best skill given the others'; where there is no information, the skill it has."""
        weight = squares + self.ridge
        return self.clip(np.divide(signed + self.ridge * self.centre, weight, out=x.copy(), where=weight > 0))

    @property
    def rounding(self) -> float:
        """Rounding error of the loss, which is a small difference of large sums; a smaller rise is no rise."""
        return 1e-14 * (self.moments.energy + float(self.moments.degree.sum()))

    def mean_size(self, change: FloatArray) -> float:
        """Average a change over answers: a maximum would be decided by workers with two answers."""
        return float(self.n_answers @ np.abs(change) / max(self.n_answers.sum(), 1))

    def stationarity(self, x: FloatArray, gradient: FloatArray) -> float:
        """Return the projected-gradient norm: how far a step of gradient / degree moves x, on average over answers."""
        scale = np.maximum(self.moments.degree + self.ridge, 1e-300)
        return self.mean_size(self.clip(x - gradient / scale) - x)


def box(n_answers: IntArray, n_classes: int, tau: float) -> tuple[FloatArray, FloatArray]:
    """Keep skills away from ±1 by tau / sqrt(N_i), where a vote would outweigh all others [Ma20, Section 6].

    The paper's box is [-1 + tau/sqrt(N_i), 1 - tau/sqrt(N_i)]; below, skill ends at -1/(M-1). N_i is the number of
    tasks that worker i answered (the paper once equates it with the sum of N_ij, which it is not).

    >>> [bound.round(2).tolist() for bound in box(np.array([1, 4, 100]), n_classes=3, tau=1.0)]
    [[0.0, -0.5, -0.5], [0.0, 0.5, 0.9]]
    """
    reach = np.maximum(1 - tau / np.sqrt(np.maximum(n_answers, 1)), 0.0)
    return np.maximum(-reach, -1 / (n_classes - 1)) + 0.0, reach


CONVERGED = "converged"
CAPPED = "iteration cap reached"
STALLED = "stalled: no step lowers the loss in floating point"
EXACT = 1e-10  # a projected gradient below which digits depend only on the order of additions


@dataclass(frozen=True)
class AlternativeOptimum:
    """Skills of a group of workers with the other sign, which fit the correlations nearly as well, or better."""

    gain: float  # in log-likelihood over the solution, nats; negative where it fits worse
    required: float  # gain from which on it is adopted
    n_workers: int  # whose skill differs by more than 0.1
    difference: float  # of a skill, at the most
    is_adopted: bool


@dataclass(frozen=True, eq=False)
class Solution:
    """Skills, and how they were reached.

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
    loss: float  # the objective that this solver minimises; of centred answers up to a constant
    gradient_norm: float  # of the projected gradient, in units of skill, averaged over answers
    trajectory: tuple[FloatArray, ...] = field(default=(), repr=False)  # the start, then x after each sweep
    distance: float | None = None  # of a skill from the optimum, on average over answers; None where not computed
    alternatives: tuple[AlternativeOptimum, ...] = ()  # optima that fit nearly as well or were adopted

    @property
    def converged(self) -> bool:
        """Whether the stopping rule was met."""
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
        norm = f"{self.gradient_norm:.1e}" if self.gradient_norm > EXACT else f"below {EXACT:.0e}"
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
