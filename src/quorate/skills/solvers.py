"""Skills by weighted least squares over the observed pairs: four solvers of one interface, and the theory's steps."""

from collections.abc import Callable

from quorate.skills.coordinate import coordinate_descent
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.moments import WEIGHTINGS, Moments, from_answers, from_pairs
from quorate.skills.objective import Problem, Solution, box
from quorate.skills.pgd import projected_gradient

# The first is the default where a pair table fits, the second above (docs/theory.md).
SOLVERS: dict[str, Callable[..., Solution]] = {
    "flow": follow_gradient_flow,
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
    "follow_gradient_flow",
    "from_answers",
    "from_pairs",
    "projected_gradient",
]
