"""What every solver returns: never a bare array, and never "converged" because the cap was reached."""

from dataclasses import asdict, dataclass, field
from typing import Any

from quorate.arrays import FloatArray

CONVERGED = "converged"
CAPPED = "iteration cap reached"
STALLED = "stalled: no step lowers the loss in floating point"
EXACT = 1e-10  # a projected gradient below which digits tell the order of additions, and nothing else


@dataclass(frozen=True)
class AlternativeOptimum:
    """Skills of a group of workers with the other sign, which fit the correlations nearly as well, or better."""

    gain: float  # in log-likelihood over the solution, nats; negative where it fits worse
    required: float  # gain from which on it is adopted
    n_workers: int  # whose skill differs by more than 0.1
    difference: float  # of a skill, at the most
    is_adopted: bool


@dataclass(frozen=True)
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
        """Return how the skills were reached, as JSON can say it."""
        return {
            "solver": self.solver,
            "status": self.status,
            "iterations": self.iterations,
            "loss": self.loss,
            "gradient_norm": self.gradient_norm,
            **({} if self.distance is None else {"distance": self.distance}),
            **({"alternatives": [asdict(each) for each in self.alternatives]} if self.alternatives else {}),
        }

    def __str__(self) -> str:
        norm = f"{self.gradient_norm:.1e}" if self.gradient_norm > EXACT else f"below {EXACT:.0e}"
        return f"{self.solver}: {self.status} after {self.iterations} sweeps, projected gradient {norm}"
