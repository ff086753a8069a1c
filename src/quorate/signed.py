"""Problem -> signed skills: descent from a positive start, or absolute values first and signs from the pairs."""

from dataclasses import replace
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.evidence import Evidence
from quorate.signs import Signs, breadth_first_signs, contradiction, orient, weighed_signs
from quorate.skills import SOLVERS, Problem, Solution

SIGN_RULES = ("descent", "weighed", "breadth-first")
CHECKED = 1_000_000  # meetings of two answers up to which the signs found by descent are checked pair by pair


def solve_signed(
    problem: Problem, evidence: Evidence, *, solver: str = "coordinate", rule: str = "descent", **options: Any
) -> tuple[Solution, Signs | None]:
    """Solve for the skills and their signs, and orient every component.

    Returns the solution, and the signs with the share of the pairs that contradict them (None where the crowd was
    too large for a table of pairs, and none was asked for).
    """
    if rule == "descent" and solver != "exponentiated":
        solution, signs = _descend(problem, evidence, solver, options)
    else:
        solution, signs = _absolute_first(problem, evidence, solver, rule, options)
    anchored = np.isin(np.arange(evidence.verdict.n_components), evidence.gold_component)
    skills, _ = orient(solution.skills, evidence.verdict.component, anchored)
    return replace(solution, skills=problem.clip(skills)), signs


def _descend(
    problem: Problem, evidence: Evidence, solver: str, options: dict[str, Any]
) -> tuple[Solution, Signs | None]:
    """Descend from a positive start; where the pairs say that a whole group has the wrong sign, turn it and go on."""
    solution = SOLVERS[solver](problem, **options)
    if evidence.chosen is None and evidence.n_meetings > CHECKED:
        return solution, None
    i, j, strength = _sign_evidence(evidence, solution.skills)
    found = np.where(solution.skills < 0, -1.0, 1.0)
    signs = Signs(found, contradiction(found, i, j, strength))
    better = _anchor(weighed_signs(len(found), i, j, strength), evidence)
    if better.contradicted < signs.contradicted - 1e-12:
        again = SOLVERS[solver](problem, problem.clip(better.sign * np.abs(solution.skills)), **options)
        if again.loss < solution.loss:
            iterations = solution.iterations + again.iterations
            return replace(again, iterations=iterations, trajectory=solution.trajectory + again.trajectory), better
    return solution, signs


def _absolute_first(
    problem: Problem, evidence: Evidence, solver: str, rule: str, options: dict[str, Any]
) -> tuple[Solution, Signs]:
    """Solve for |s| from the absolute correlations, then follow the signs of the pairs [Ma20, post-processing]."""
    absolute = replace(problem, moments=evidence.absolute_moments, lower=np.maximum(problem.lower, 0.0))
    solution = SOLVERS[solver](absolute, **options)
    spread = breadth_first_signs if rule == "breadth-first" else weighed_signs
    signs = _anchor(spread(len(problem.lower), *_sign_evidence(evidence, solution.skills)), evidence)
    return replace(solution, skills=signs.sign * np.minimum(solution.skills, problem.upper)), signs


def _sign_evidence(evidence: Evidence, skills: FloatArray) -> tuple[Any, Any, FloatArray]:
    """How strongly each pair speaks for like signs (positive) or unlike ones: N_ij C_ij |x_i x_j|."""
    i, j, weights, correlation = evidence.table
    return i, j, weights * correlation * np.abs(skills[i] * skills[j])


def _anchor(signs: Signs, evidence: Evidence) -> Signs:
    """Turn the component of the known labels so that they come out right."""
    wrong = evidence.gold_component[signs.sign[evidence.is_gold] < 0]
    turned = np.isin(evidence.verdict.component, wrong)
    return replace(signs, sign=np.where(turned, -signs.sign, signs.sign))
