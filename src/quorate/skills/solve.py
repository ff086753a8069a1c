"""Evidence -> skills with their signs, wherever the evidence was counted."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.skills import Problem, box
from quorate.skills.evidence import IDENTIFIED, IGNORED, UNINFORMED, Evidence, statuses
from quorate.skills.signs import Signs, solve_signed
from quorate.skills.solution import Solution


@dataclass(frozen=True)
class Estimate:
    """What the evidence says of every worker, gold's own entry included."""

    skills: FloatArray  # NaN where not determined
    status: IntArray
    is_free: BoolArray  # off the ends of the range it was kept in
    solution: Solution | None  # without gold; None where no skill is determined
    signs: Signs | None


def solve(
    evidence: Evidence, *, solver: str = "coordinate", tau: float = 1.0, signs: str = "descent", **options: Any
) -> Estimate:
    """Solve for the skills that the evidence determines.

    Args:
        evidence: of the pairs.
        solver: ``coordinate``, ``gradient`` or ``exponentiated``.
        tau: keeps each skill tau/sqrt(N_i) away from ±1.
        signs: how they are found; see `quorate.skills.signs.solve_signed`.
        options: for the solver.

    >>> import quorate
    >>> from quorate.skills.evidence import gather
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> solve(gather(crowd.answers)).solution.converged
    True
    """
    status = statuses(evidence)
    skills = np.where(status == IGNORED, 0.0, np.nan)
    if not np.any(status == IDENTIFIED):
        return Estimate(skills, status, np.zeros(len(skills), dtype=bool), None, None)
    lower, upper = box(evidence.per_worker, evidence.n_classes, tau)
    lower[evidence.is_gold] = upper[evidence.is_gold] = 1.0
    problem = Problem(evidence.moments, lower, upper, evidence.per_worker.astype(np.float64))
    solution, found_signs = solve_signed(problem, evidence, solver=solver, rule=signs, **options)
    uninformed = (evidence.moments.shared @ solution.skills**2 == 0) & ~evidence.is_gold  # gold's skill is known
    status[(status == IDENTIFIED) & uninformed] = UNINFORMED
    skills = np.where(status == IDENTIFIED, solution.skills, skills)
    solution = replace(solution, skills=skills[~evidence.is_gold])
    return Estimate(skills, status, problem.is_inside(skills), solution, found_signs)
