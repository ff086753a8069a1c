"""The paper's method: answers, pair statistics, skills, signs, weights, vote [Ma20]."""

from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Blocks, count_gold
from quorate.blocks.memory import Answered
from quorate.errors import OptionError, unknown_name_error
from quorate.methods.fit import ByLogOdds, ByWeights, Fitted
from quorate.notes import Note
from quorate.skills.estimate_skills import SIGN_RULES, solve
from quorate.skills.identification import SHARED_TASKS, THRESHOLDS, AnswersIdentification, identify_workers
from quorate.skills.moments import WEIGHTINGS, Weighting
from quorate.skills.rank_one_score import OneCoinInference
from quorate.skills.skill_notes import orientation_note, undetermined_note
from quorate.skills.solvers import SOLVERS
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import check_prior, vote_weights


def fit(
    blocks: Blocks,
    *,
    solver: str = "flow",
    tau: float = 1.0,
    weighting: Weighting = "shared",
    threshold: float | None = None,
    threshold_by: str = SHARED_TASKS,
    signs: str = "descent",
    prior: FloatArray | None = None,
    start: float | FloatArray | None = None,
    **solver_options: Any,
) -> Fitted:
    """Estimate skills by rank-one completion of the agreement matrix, then vote by log-odds [Ma20].

    Args:
        blocks: blocks of tasks; the gold that they carry acts as a worker of skill one.
        solver: ``flow`` (limit of the gradient flow; above 200,000 pairs of workers ``coordinate`` is used instead),
            ``coordinate`` (coordinate descent), ``gradient`` (the paper's projected gradient descent with a fixed
            step) or ``exponentiated`` (the paper's exponentiated gradient).
        tau: keep each skill at least tau/sqrt(answers of the worker) away from ±1.
        weighting: weight of a pair of workers: its number of shared tasks N_ij (``shared``), ``binary``, ``squared``,
            or a function of N_ij.
        threshold: drop pairs of low correlation, |C_ij| < threshold + M/(M-1)·sqrt(log W / N_ij).
        threshold_by: what N_ij in that formula is: the number of shared tasks (``shared``), or of all tasks (``all``),
            as in the paper.
        signs: how the signs of the skills are found: together with the skills (``descent``), or afterwards from the
            pairs (``weighed``, ``breadth-first``).
        prior: probability of each class, in order (Python only); uniform by default.
        start: the skill at which the solver starts, for all workers or for each; one half by default.
        solver_options: for the solver: ``max_iterations``, ``tolerance``, ``record``, ``step``, ``kappa``, ``K``.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool(np.abs(fit(blocks_of(crowd.answers)).skill_estimates.skills - crowd.skills).mean() < 0.1)
    True
    """
    check_choices(solver=solver, tau=tau, weighting=weighting, signs=signs, threshold_by=threshold_by)
    prior = None if prior is None else check_prior(prior, blocks.n_classes)
    identification = identify_workers(
        blocks,
        use_block_gold=count_gold(blocks) > 0,
        weighting=weighting,
        threshold=threshold,
        threshold_by=threshold_by,
    )
    workers, notes = estimate_workers(
        blocks, identification, solver=solver, tau=tau, signs=signs, start=start, **solver_options
    )
    workers = workers.with_gold(blocks, None, centred=False)
    none_identified = bool(np.isnan(workers.skills).all())
    vote: ByWeights | ByLogOdds = ByLogOdds(workers.weights, prior)
    if none_identified:
        vote = ByWeights(np.ones(blocks.n_workers))
    return Fitted(vote=vote, skill_estimates=workers, identifiability=identification.graph, notes=notes)


def estimate_workers(
    answers: Answered, identification: AnswersIdentification, **choices: Any
) -> tuple[WorkerEstimates, tuple[Note, ...]]:
    """Solve for the skills, and weigh the workers by them.

    Args:
        answers: who answered what.
        identification: statistics of the pairs; if there is gold, its last worker is the gold.
        choices: options of the solver; see `fit`.

    Returns the estimates of the workers, without the gold worker, and notes on them.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> estimate_workers(crowd.answers, identify_workers(crowd.answers))[0].solution.converged
    True
    """
    estimates = solve(identification, **choices)
    # without the gold worker
    skills = estimates.skills[: answers.n_workers]
    status = estimates.status[: answers.n_workers]
    skill_estimates = WorkerEstimates(
        skills=skills,
        weights=vote_weights(answers, skills),
        status=status,
        solution=estimates.solution,
        signs=estimates.signs,
        inference=None
        if estimates.solution is None
        else OneCoinInference(identification.crowd, estimates.skills, ~identification.is_gold),
    )
    return skill_estimates, (
        *undetermined_note(status, identification.graph.component),
        *orientation_note(identification),
        *estimates.notes,
    )


def check_choices(
    *,
    solver: str = "flow",
    tau: float = 1.0,
    weighting: Weighting = "shared",
    signs: str = "descent",
    threshold_by: str = SHARED_TASKS,
) -> None:
    """Check the options before any computation.

    Raises:
        OptionError: a value is none of the choices, or tau is negative.

    >>> check_choices(solver="gradient")
    """
    if solver not in SOLVERS:
        raise unknown_name_error(solver, SOLVERS, "solver")
    if threshold_by not in THRESHOLDS:
        raise unknown_name_error(threshold_by, THRESHOLDS, "threshold_by")
    if not callable(weighting) and weighting not in WEIGHTINGS:
        raise unknown_name_error(weighting, WEIGHTINGS, "weighting")
    if signs not in SIGN_RULES:
        raise unknown_name_error(signs, SIGN_RULES, "signs")
    if not tau >= 0:
        raise OptionError(f"The option tau must be zero or more, got {tau}")
