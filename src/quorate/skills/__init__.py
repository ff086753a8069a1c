"""Skills by weighted least squares over the observed pairs: three solvers of one interface, and the theory's steps."""

from collections.abc import Callable

from quorate.skills.coordinate import coordinate_descent
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.gradient import projected_gradient
from quorate.skills.moments import WEIGHTINGS, Moments, from_answers, from_pairs
from quorate.skills.objective import Problem, box
from quorate.skills.solution import Solution

# The first is the default: the fewest sweeps to the least-squares optimum (docs/method.md has the counts).
SOLVERS: dict[str, Callable[..., Solution]] = {
    "coordinate": coordinate_descent,
    "gradient": projected_gradient,
    "exponentiated": exponentiated_gradient,
}

__all__ = [
    "SOLVERS",
    "WEIGHTINGS",
    "Moments",
    "Problem",
    "Solution",
    "box",
    "coordinate_descent",
    "exponentiated_gradient",
    "from_answers",
    "from_pairs",
    "projected_gradient",
]
