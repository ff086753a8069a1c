"""The paper's whole method in one place: answers -> evidence -> skills -> signs -> weights -> vote. Start here."""

from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.memory import Answered
from quorate.errors import OptionError, one_of
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills import SOLVERS, WEIGHTINGS
from quorate.skills.evidence import AnswerEvidence, gather
from quorate.skills.notes import orientation_note, undetermined_note
from quorate.skills.signs import SIGN_RULES
from quorate.skills.solve import solve
from quorate.uncertainty import OneCoinInference, Workforce
from quorate.voting.vote import check_prior, majority, plug_in_vote, vote_weights


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
    check_choices(solver=solver, tau=tau, weighting=weighting, signs=signs)
    prior = None if prior is None else check_prior(prior, answers.n_classes)
    known = known_classes(gold, answers)

    evidence = gather(answers, known, weighting=weighting, threshold=threshold)
    workers = solved(evidence, answers, solver=solver, tau=tau, signs=signs, **solver_options)
    is_lost = np.isnan(workers.skills).all()
    ballot = majority(answers) if is_lost else plug_in_vote(answers, workers.weights, prior)
    notes = (*undetermined_note(workers.status), *orientation_note(evidence))
    return outcome("rank-one", answers, ballot, gold=known, workforce=workers, graph=evidence.verdict, notes=notes)


def solved(evidence: AnswerEvidence, answers: Answered, **choices: Any) -> Workforce:
    """Solve for skills and signs, and weigh the votes: what the evidence tells of those who answered.

    Args:
        evidence: of the answers; its last worker is the known labels, if there are any.
        answers: without them.
        choices: what `quorate.skills.solve.solve` takes.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> workers = solved(gather(answers), answers)
    >>> workers.skills.argmax() == workers.weights.argmax()
    True
    """
    found, n = solve(evidence, **choices), answers.n_workers
    skills = found.skills[:n]
    return Workforce(
        skills=skills,
        weights=vote_weights(answers, skills),
        status=found.status[:n],
        solution=found.solution,
        signs=found.signs,
        inference=None if found.solution is None else OneCoinInference(evidence.crowd, found.skills, found.is_free),
    )


def check_choices(
    *, solver: str = "coordinate", tau: float = 1.0, weighting: str = "shared", signs: str = "descent"
) -> None:
    """Refuse choices that there are not, before any work is done.

    Raises:
        OptionError: a name is on no list, or tau is negative.

    >>> check_choices(solver="gradient")
    """
    one_of(solver, SOLVERS, "solver")
    one_of(weighting, WEIGHTINGS, "weighting")
    one_of(signs, SIGN_RULES, "sign rule")
    if not tau >= 0:
        raise OptionError(f"tau must be zero or more, not {tau}")
