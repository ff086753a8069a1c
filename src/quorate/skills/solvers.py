"""The solvers of `rank-one` by name: skills by weighted least squares over the observed pairs."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from quorate.skills.coordinate import coordinate_descent
from quorate.skills.exponentiated import exponentiated_gradient
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.objective import Solution
from quorate.skills.pgd import projected_gradient

SolverName: TypeAlias = Literal["flow", "coordinate", "gradient", "exponentiated"]
# "flow" is the default if a table of pairs fits, otherwise "coordinate" (docs/theory.md).
SOLVERS: dict[str, Callable[..., Solution]] = {
    "flow": follow_gradient_flow,
    "coordinate": coordinate_descent,
    "gradient": projected_gradient,
    "exponentiated": exponentiated_gradient,
}
