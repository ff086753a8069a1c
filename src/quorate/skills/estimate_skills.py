"""Skills and their signs from the statistics of worker pairs, on any backend."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError
from quorate.notes import Note
from quorate.skills.alternative_optimum import PairTable, check_alternative
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.identification import IDENTIFIED, IGNORED, MAX_PAIRS, UNINFORMED, Identification, statuses
from quorate.skills.objective import Problem, Solution, box
from quorate.skills.signs import Signs, breadth_first_signs, contradicted_share, orient, weighed_signs
from quorate.skills.skill_notes import alternative_note, sign_note, solver_note
from quorate.skills.solvers import SOLVERS

SIGN_RULES = ("descent", "weighed", "breadth-first")
# default solvers with a pair table and, above its limit, without
FLOW = "flow"
COORDINATE = "coordinate"


@dataclass(frozen=True)
class Estimate:
    """Estimate for every worker, with an entry for gold."""

    skills: FloatArray  # NaN where not determined
    status: IntArray
    solution: Solution | None  # without gold; None where no skill is determined
    signs: Signs | None
    notes: tuple[Note, ...] = ()  # on the solution: solver, alternative optimum, uncertain sign


def solve(
    identification: Identification,
    *,
    solver: str = FLOW,
    tau: float = 1.0,
    signs: str = "descent",
    start: float | FloatArray | None = None,
    **options: Any,
) -> Estimate:
    """Solve for the skills that the pairs of workers determine.

    Args:
        identification: statistics of the pairs.
        solver: ``flow``, replaced by ``coordinate`` above the limit of the pair table; ``coordinate``, ``gradient`` or
            ``exponentiated``.
        tau: keeps each skill tau/sqrt(N_i) away from ±1.
        signs: rule for the signs, one of `SIGN_RULES`; see `solve_signed`.
        start: x(0): one skill for all workers, or one per worker without gold; one half by default.
        options: for the solver.

    Raises:
        OptionError: the start has another length, or a value outside [-1, 1].

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> solve(identify_workers(crowd.answers)).solution.converged
    True
    """
    status = statuses(identification)
    skills = np.where(status == IGNORED, 0.0, np.nan)
    if not np.any(status == IDENTIFIED):
        return Estimate(skills, status, None, None)
    lower, upper = box(identification.per_worker, identification.n_classes, tau)
    lower[identification.is_gold] = upper[identification.is_gold] = 1.0
    problem = Problem(identification.moments, lower, upper, identification.per_worker.astype(np.float64))
    first_skills = _gold_start(identification) if start is None else _start_with_gold(start, identification)
    solver_notes: tuple[Note, ...] = ()
    if solver == FLOW and not identification.has_pair_table:
        solver = COORDINATE
        solver_notes = (solver_note(identification.most_pairs, MAX_PAIRS),)
    solution, fitted_signs = solve_signed(
        problem, identification, solver=solver, rule=signs, start=first_skills, **options
    )
    information = identification.moments.shared @ solution.skills**2
    uninformed = (information == 0) & ~identification.is_gold  # the skill of gold is known
    status[(status == IDENTIFIED) & uninformed] = UNINFORMED
    skills = np.where(status == IDENTIFIED, solution.skills, skills)
    solution = replace(solution, skills=skills[~identification.is_gold])
    # Weights other than N_ij are not counts, so the information is known only up to a scale.
    usable_information = information if identification.weighting == "shared" else np.full(len(skills), np.inf)
    notes = (
        *solver_notes,
        *alternative_note(solution),
        *sign_note(skills, usable_information, identification.graph.component, identification.unanchored),
    )
    return Estimate(skills, status, solution, fitted_signs, notes)


def _gold_start(identification: Identification) -> FloatArray | None:
    """Return a start of -0.5 in the component of gold if its workers mostly contradict gold; else None.

    Descent from a positive start assumes positive skills; None stands for the default start.
    """
    if not identification.is_gold.any():
        return None
    agreement = identification.moments.signed @ identification.is_gold.astype(np.float64)
    if agreement[~identification.is_gold].sum() >= 0:
        return None
    first_skills = np.full(len(identification.is_gold), 0.5)
    first_skills[np.isin(identification.graph.component, identification.gold_component)] = -0.5
    first_skills[identification.is_gold] = 1.0
    return first_skills


def _start_with_gold(start: float | FloatArray, identification: Identification) -> FloatArray:
    """Return the caller's start as one skill per worker, with skill one for gold.

    Raises:
        OptionError: the start has another length than there are workers, or a value outside [-1, 1].
    """
    start_skills = np.asarray(start, dtype=np.float64)
    n = int((~identification.is_gold).sum())
    if start_skills.ndim > 1 or (start_skills.ndim == 1 and len(start_skills) != n):
        raise OptionError(
            f"The option start must be one skill, or one for each of the {n:,} workers, got {start_skills.size:,}"
        )
    if not np.all(np.abs(start_skills) <= 1):
        raise OptionError(
            f"The option start must lie between -1 and 1, got {start_skills[~(np.abs(start_skills) <= 1)].flat[0]:g}"
        )
    with_gold = np.ones(len(identification.is_gold))
    with_gold[~identification.is_gold] = start_skills
    return with_gold


def solve_signed(
    problem: Problem,
    identification: Identification,
    *,
    solver: str = FLOW,
    rule: str = "descent",
    start: FloatArray | None = None,
    **options: Any,
) -> tuple[Solution, Signs | None]:
    """Solve for the skills and their signs, and orient every component.

    Returns the solution, and the signs with the share of the evidence that contradicts them. The signs are None if the
    crowd is too large for a table of pairs and the rule does not need one.
    """
    if rule == "descent" and solver != "exponentiated":
        solution, signs = _descend(problem, identification, solver, start, options)
    else:
        solution, signs = _absolute_first(problem, identification, solver, rule, start, options)
    skills = _orient(problem, identification, solution.skills)
    return replace(solution, skills=problem.clip(skills)), signs


def _orient(problem: Problem, identification: Identification, skills: FloatArray) -> FloatArray:
    """Flip every component whose skills sum to less than zero, unless it is anchored or would leave the box.

    With more than two classes the box ends at -1/(M-1), so a component with a skill above 1/(M-1) cannot be flipped.
    """
    component = identification.graph.component
    flipped, _ = orient(skills, component, identification.anchored)
    outside = np.bincount(component, flipped < problem.lower, minlength=len(identification.anchored)) > 0
    return np.where(outside[component], skills, flipped)


def _descend(
    problem: Problem, identification: Identification, solver: str, start: FloatArray | None, options: dict[str, Any]
) -> tuple[Solution, Signs | None]:
    """Descend on the signed correlations; after the gradient flow, check one alternative optimum."""
    solution = SOLVERS[solver](problem, start, **options)
    if not identification.has_pair_table:
        return solution, None
    if solver == FLOW:
        solution = replace(solution, skills=_orient(problem, identification, solution.skills))
        solution = check_alternative(
            problem,
            _pair_table(identification),
            solution,
            lambda other: follow_gradient_flow(problem, other, **options),
        )
    i, j, strength = _sign_evidence(identification, solution.skills)
    sign = np.where(solution.skills < 0, -1.0, 1.0)
    return solution, Signs(sign, contradicted_share(sign, i, j, strength))


def _pair_table(identification: Identification) -> PairTable:
    """Return the pair table; its correlations have the variance 1/((M-1) N_ij) at skill zero."""
    pairs = identification.all_pairs() if identification.chosen is None else identification.chosen
    i, j, weights, correlation = identification.table
    mean_weight = float(np.mean(weights / pairs.shared)) if len(i) else 1.0
    return PairTable(i, j, weights, correlation, noise=mean_weight / (identification.n_classes - 1))


def _absolute_first(
    problem: Problem,
    identification: Identification,
    solver: str,
    rule: str,
    start: FloatArray | None,
    options: dict[str, Any],
) -> tuple[Solution, Signs]:
    """Solve for |s| from the absolute correlations, then choose signs by the signs of the pairs.

    This is the post-processing of the paper's theorem [Ma20, Section 5.2].
    """
    absolute = replace(problem, moments=identification.absolute_moments, lower=np.maximum(problem.lower, 0.0))
    solution = SOLVERS[solver](absolute, None if start is None else np.abs(start), **options)
    choose_signs = breadth_first_signs if rule == "breadth-first" else weighed_signs
    signs = choose_signs(len(problem.lower), *_sign_evidence(identification, solution.skills))
    # The component of the known labels is flipped if the sign of gold is negative.
    flipped_components = identification.gold_component[signs.sign[identification.is_gold] < 0]
    is_flipped = np.isin(identification.graph.component, flipped_components)
    signs = replace(signs, sign=np.where(is_flipped, -signs.sign, signs.sign))
    return replace(solution, skills=signs.sign * np.minimum(solution.skills, problem.upper)), signs


def _sign_evidence(identification: Identification, skills: FloatArray) -> tuple[Any, Any, FloatArray]:
    """Return i, j and the evidence of each pair for equal signs (positive) or opposite ones: N_ij C_ij |x_i x_j|."""
    i, j, weights, correlation = identification.table
    return i, j, weights * correlation * np.abs(skills[i] * skills[j])
