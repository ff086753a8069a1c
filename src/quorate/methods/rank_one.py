"""The paper's whole method in one place: answers -> evidence -> skills -> signs -> weights -> vote. Start here."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError, one_of
from quorate.gold import known_classes
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills import SOLVERS, WEIGHTINGS, Problem, box
from quorate.skills.evidence import (
    IDENTIFIED,
    IGNORED,
    UNINFORMED,
    Evidence,
    gather,
    orientation_note,
    statuses,
    undetermined_note,
)
from quorate.skills.signs import SIGN_RULES, Signs, solve_signed
from quorate.skills.solution import Solution
from quorate.uncertainty import OneCoinInference
from quorate.voting.vote import check_prior, majority, plug_in_vote, reveal, weight


def rank_one(
    answers: Answers,
    *,
    gold: Source = None,
    solver: str = "coordinate",
    tau: float = 1.0,
    weighting: str = "shared",
    threshold: float | None = None,
    signs: str = "descent",
    prior: FloatArray | None = None,
    **solver_options: Any,
) -> Result:
    """Estimate skills by rank-one completion of the agreement matrix, then vote by log-odds [Ma20].

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they act as a worker of skill one.
        solver: ``coordinate``, ``gradient`` or ``exponentiated``.
        tau: keeps each skill tau/sqrt(N_i) away from ±1.
        weighting: of the pairs: ``shared`` (N_ij), ``binary`` or ``squared``.
        threshold: the paper's delta; pairs with |C_ij| < delta + sqrt(log W / N_ij) are dropped. Off by default.
        signs: ``descent`` finds them with the skills; ``weighed`` and ``breadth-first`` afterwards, from the pairs.
        prior: probability of each class in order; uniform by default.
        solver_options: for the solver: ``max_iterations``, ``tolerance``, ``record``, ``step``, ``kappa``, ``K``.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> result = rank_one(crowd.answers)
    >>> bool(np.abs(result.skills - crowd.skills).mean() < 0.1)
    True
    """
    one_of(solver, SOLVERS, "solver")
    one_of(weighting, WEIGHTINGS, "weighting")
    one_of(signs, SIGN_RULES, "sign rule")
    if not tau >= 0:
        raise OptionError(f"tau must be zero or more, not {tau}")
    prior = None if prior is None else check_prior(prior, answers.n_classes)

    known_labels = known_classes(gold, answers)
    evidence = gather(answers, known_labels, weighting=weighting, threshold=threshold)
    found = solve(evidence, solver=solver, tau=tau, signs=signs, **solver_options)
    inference = None if found.solution is None else OneCoinInference(evidence.crowd, found.skills, found.is_free)
    solution, found_signs = found.solution, found.signs
    skills, status = found.skills[: answers.n_workers], found.status[: answers.n_workers]  # without gold's own

    weights = vote_weights(answers, skills)
    ballot = majority(answers) if np.isnan(skills).all() else plug_in_vote(answers, weights, prior)
    if known_labels is not None:
        ballot = reveal(ballot, known_labels)
    notes = (*undetermined_note(status), *orientation_note(evidence))
    return Result(
        "rank-one",
        answers,
        ballot,
        skills,
        weights,
        status,
        evidence.verdict,
        solution,
        found_signs,
        notes,
        inference=inference,
    )


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
    """Evidence -> skills with their signs, wherever the evidence was counted.

    >>> import quorate
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


def vote_weights(answers: Counted, skills: FloatArray) -> FloatArray:
    """Weigh each vote by its log-odds; a worker of undetermined skill (NaN) takes part with the crowd's mean skill.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> vote_weights(answers, np.array([0.6, 0.6, np.nan])).round(3).tolist()
    [1.386, 1.386, 1.386]
    """
    known = ~np.isnan(skills)
    n_answers = answers.per_worker[known]
    if answers.n_classes < 2 or n_answers.sum() == 0:
        return np.ones(len(skills))
    # By the sum rule the mean is positive but for workers of many answers and negative skill; their votes are not
    # to turn the others' round.
    mean = max(float(n_answers @ skills[known] / n_answers.sum()), 0.0)
    return weight(np.where(known, skills, mean), answers.n_classes)
