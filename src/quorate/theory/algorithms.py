"""The paper's objective and algorithms on a table of pairs, each as one function of arrays.

They call the solvers of `quorate.skills`. These functions are for experiments with the theory: correlations may be
exact or perturbed, with any weights.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError
from quorate.io.arguments import check_arguments
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.moments import from_pairs
from quorate.skills.objective import Problem, Solution
from quorate.skills.pgd import projected_gradient


@dataclass(frozen=True)
class PairObjective:
    """L(x) = 1/2 sum over pairs of N_ij (C_ij - x_i x_j)² [Ma20, Lemma 6, equiv], over a box.

    >>> s = np.array([0.8, 0.6, 0.5])
    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> objective = PairObjective(3, i, j, np.ones(3), s[i] * s[j])
    >>> objective.loss(s), objective.gradient(s).tolist()
    (0.0, [0.0, 0.0, 0.0])
    """

    n_workers: int
    i: IntArray
    j: IntArray
    weights: FloatArray  # N_ij
    correlations: FloatArray  # C_ij
    lower: float | FloatArray = -1.0
    upper: float | FloatArray = 1.0

    def __post_init__(self) -> None:
        lengths = {len(self.i), len(self.j), len(self.weights), len(self.correlations)}
        if len(lengths) > 1:
            raise OptionError(f"i, j, weights and correlations must have equal lengths, got {sorted(lengths)}")

    def loss(self, x: FloatArray) -> float:
        """Return L(x)."""
        return 0.5 * float(self.weights @ (self.correlations - x[self.i] * x[self.j]) ** 2)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient, -sum_j N_ij (C_ij - x_i x_j) x_j for each worker i."""
        residual = self.weights * (self.correlations - x[self.i] * x[self.j])
        for_i = np.bincount(self.i, residual * x[self.j], self.n_workers)
        for_j = np.bincount(self.j, residual * x[self.i], self.n_workers)
        return np.asarray(0.0 - for_i - for_j, dtype=np.float64)

    def start_vector(self, start: float | FloatArray) -> FloatArray:
        """Return x(0) as a vector, from one value or one per worker."""
        return np.broadcast_to(np.asarray(start, dtype=np.float64), (self.n_workers,))

    def problem(self) -> Problem:
        """Return the objective in the form that the solvers take."""
        n = self.n_workers
        lower = np.broadcast_to(np.asarray(self.lower, dtype=np.float64), (n,))
        upper = np.broadcast_to(np.asarray(self.upper, dtype=np.float64), (n,))
        moments = from_pairs(n, self.i, self.j, self.weights, self.correlations)
        return Problem(moments, lower, upper, np.ones(n))


@check_arguments
def pgd(
    objective: PairObjective,
    start: float | FloatArray = 0.5,
    *,
    step: float | str | None = None,
    max_iterations: int = 100_000,
    tolerance: float = 1e-8,
    record: bool = False,
) -> Solution:
    """Run plug-in gradient descent with a fixed step [Ma20, Section 4.1; Theorem 11, noiselessPGD].

    Args:
        objective: what to minimise.
        start: x(0), one value or one per worker; the theorem requires it to be positive.
        step: a number, or ``theory`` for the theorem's; by default 1/(4 max degree), with which the loss never rises.
        max_iterations: maximum number of iterations.
        tolerance: for the projected-gradient norm and the mean change of a skill.
        record: keep the trajectory.

    >>> s = np.array([0.8, 0.6, 0.5])
    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> pgd(PairObjective(3, i, j, np.ones(3), s[i] * s[j])).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    first_x = objective.start_vector(start)
    return projected_gradient(
        objective.problem(), first_x, step=step, max_iterations=max_iterations, tolerance=tolerance, record=record
    )


@check_arguments
def flow(objective: PairObjective, start: float | FloatArray = 0.5, *, record: bool = False) -> Solution:
    """Follow the gradient flow to its end by linearly implicit steps; `pgd` approaches this flow as its step shrinks.

    >>> s = np.array([0.8, 0.6, 0.5])
    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> flow(PairObjective(3, i, j, np.ones(3), s[i] * s[j])).skills.round(6).tolist()
    [0.8, 0.6, 0.5]
    """
    first_x = objective.start_vector(start)
    return follow_gradient_flow(objective.problem(), first_x, record=record)


@check_arguments
def expgrad(
    objective: PairObjective,
    start: float | FloatArray = 0.5,
    *,
    step: float | str = "theory",
    kappa: float = 0.01,
    K: float = 1.0,
    max_iterations: int = 100_000,
    tolerance: float = 1e-8,
    record: bool = False,
) -> Solution:
    """Run exponentiated gradient on |C| in the cube [kappa, K] [Ma20, Eq. (4), expgrad; Theorem 12, pert].

    Args:
        objective: what to minimise; its correlations are replaced by their absolute values.
        start: x(0) in the cube.
        step: alpha; ``theory`` for 1/(2 sqrt(W) ||N||_2 K²).
        kappa: least skill, above zero.
        K: greatest skill.
        max_iterations: maximum number of iterations.
        tolerance: for the projected-gradient norm and the mean change of a skill.
        record: keep the trajectory.

    >>> s = np.array([0.8, 0.6, 0.5])
    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> expgrad(PairObjective(3, i, j, np.ones(3), s[i] * s[j])).skills.round(4).tolist()
    [0.8, 0.6, 0.5]
    """
    first_x = objective.start_vector(start)
    return exponentiated_gradient(
        objective.problem(),
        first_x,
        step=step,
        kappa=kappa,
        K=K,
        max_iterations=max_iterations,
        tolerance=tolerance,
        record=record,
    )
