"""The optimal rule with known skills: bounds on its error, its loss, and the regret of a plug-in rule."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Table, from_numpy, table_of
from quorate.errors import QuorateError
from quorate.graph.pairs import pair_stats
from quorate.io.arguments import check_arguments
from quorate.result import Result
from quorate.theory.tasks_needed import SkillErrorBound, pair_error
from quorate.voting.vote import accuracy, tally, weight


class CrowdWithTruth(Protocol):
    """Answers with the true classes and skills, for example from `quorate.simulate`."""

    @property
    def answers(self) -> Answers:
        """Who answered what."""

    @property
    def truth(self) -> IntArray:
        """True class of each task."""

    @property
    def skills(self) -> FloatArray:
        """True skill of each worker."""


@check_arguments
def committee_potential(skills: FloatArray) -> float:
    """Return Phi = 1/2 sum_i s_i log((1+s_i)/(1-s_i)) of the workers who answer a two-class task [BK14].

    The paper [Ma20, Section 3.1] omits the factor 1/2 of sum_i (p_i - 1/2) v_i. Without it the upper bound in
    `optimal_error_bounds` is false: four workers of skill 0.875 err more often than it allows.

    >>> round(committee_potential(np.array([0.6, 0.6])), 4)
    0.8318
    """
    return float(skills @ weight(skills, 2) / 2)


@check_arguments
def optimal_error_bounds(skills: FloatArray) -> tuple[float, float]:
    """Return bounds on the optimal rule's error for two classes, 3/(4(1 + exp(2Phi + 4 sqrt(Phi)))) and exp(-Phi/2).

    >>> low, high = optimal_error_bounds(np.array([0.6, 0.6, 0.6]))
    >>> low < optimal_error(np.array([0.6, 0.6, 0.6])) < high
    True
    """
    phi = committee_potential(skills)
    return float(3 / (4 * (1 + np.exp(min(2 * phi + 4 * np.sqrt(phi), 700.0))))), float(np.exp(-phi / 2))


@check_arguments
def optimal_error(skills: FloatArray) -> float:
    """Return the exact error of the optimal rule on a two-class task, summed over all 2^W answers (for W up to 20).

    >>> round(optimal_error(np.array([0.6, 0.6, 0.6])), 4)
    0.104
    """
    n = len(skills)
    right = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    p = (1 + skills) / 2
    probability = np.prod(np.where(right == 1, p, 1 - p), axis=1)
    score = np.where(right == 1, 1.0, -1.0) @ weight(skills, 2)
    return float(probability[score < -1e-12].sum() + probability[np.abs(score) <= 1e-12].sum() / 2)


@check_arguments
def weight_error_bound(skill: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return the bound 2 artanh(d) of |v(s) - v(s')|, with d the largest relative error of 1+s' and 1-s' (two classes).

    The paper prints 2d [Ma20, Lemma 5, errorV], which is wrong for s = 0, s' = d: the difference is then 2 artanh(d).

    >>> weight_error_bound(np.array([0.0]), np.array([0.1])).round(4).tolist()
    [0.2007]
    """
    error = np.maximum(np.abs((estimate - skill) / (1 + skill)), np.abs((estimate - skill) / (1 - skill)))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound: FloatArray = np.where(error < 1, 2 * np.arctanh(np.minimum(error, 1)), np.inf)
    return bound


def margins(answers: Answers, truth: IntArray, skills: FloatArray) -> FloatArray:
    """Return for each task the score of its true class minus the best other score; negative: the vote is wrong.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=5, n_workers=5, skills=np.full(5, 0.999999), seed=0)
    >>> bool((margins(crowd.answers, crowd.truth, crowd.skills) > 0).all())
    True
    """
    scores = tally(answers, weight(skills, answers.n_classes))
    rows = np.arange(len(truth))
    score_of_truth = scores[rows, truth].copy()
    scores[rows, truth] = -np.inf
    margin: FloatArray = score_of_truth - scores.max(axis=1)
    return margin


def loss(crowd: CrowdWithTruth, skills: FloatArray) -> float:
    """Return the share of wrong labels of the vote with these skills; a tie counts as wrong [Ma20, Section 3].

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, skills=np.full(5, 0.9), seed=0)
    >>> loss(crowd, crowd.skills) <= loss(crowd, -crowd.skills)
    True
    """
    return float((margins(crowd.answers, crowd.truth, skills) <= 0).mean())


@check_arguments
def expected_loss(crowd: CrowdWithTruth, skills: FloatArray | None = None, *, draws: int = 100, seed: int = 0) -> float:
    """Return the mean loss over new draws of truths and answers for the same workers and tasks.

    Args:
        crowd: the assignment and the true skills.
        skills: skills that the vote uses; by default the true ones, which gives the loss of the optimal rule.
        draws: number of draws.
        seed: of the draws; use the same seed to compare two rules.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, skills=np.full(5, 0.6), seed=0)
    >>> abs(expected_loss(crowd) - optimal_error(np.full(3, 0.6))) < 0.02
    True
    """
    rng = np.random.default_rng(seed)
    vote_skills = crowd.skills if skills is None else skills
    losses = [
        (margins(answers, truth, vote_skills) <= 0).mean()
        for answers, truth in _new_draws(crowd.answers, crowd.skills, draws, rng)
    ]
    return float(np.mean(losses))


def _new_draws(
    answers: Answers, skills: FloatArray, draws: int, rng: np.random.Generator
) -> Iterator[tuple[Answers, IntArray]]:
    """Yield draws of answers and truths for the same assignment; classes and errors are equally probable."""
    m = answers.n_classes
    p = accuracy(skills, m)[answers.worker]
    for _ in range(draws):
        truth = rng.integers(0, m, answers.n_tasks)
        is_right = rng.random(answers.n_answers) < p
        shift = rng.integers(1, m, answers.n_answers)
        label = np.where(is_right, truth[answers.task], (truth[answers.task] + shift) % m)
        yield replace(answers, label=label.astype(answers.label.dtype)), truth


@check_arguments
def average_regret(crowd: CrowdWithTruth, skills: FloatArray, *, draws: int = 100, seed: int = 0) -> float:
    """Return the expected loss of the vote with these skills minus that with the true skills [Ma20, Section 3].

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, seed=0)
    >>> average_regret(crowd, crowd.skills)
    0.0
    """
    return expected_loss(crowd, skills, draws=draws, seed=seed) - expected_loss(crowd, draws=draws, seed=seed)


@check_arguments
def plug_in_bound(crowd: CrowdWithTruth, estimates: FloatArray, epsilon: float) -> float:
    """Return a bound on the loss of a vote with estimated weights [Ma20, Lemma 4, predictionerror].

    It is the share of tasks whose margin under the optimal rule is at most epsilon, plus the share of trials in which
    the absolute errors of the weights sum to epsilon or more.

    Args:
        crowd: with the true skills.
        estimates: estimated skills, one row per trial; shape (trials, workers).
        epsilon: any positive number.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, seed=0)
    >>> plug_in_bound(crowd, crowd.skills[None], epsilon=1e-6) >= loss(crowd, crowd.skills)
    True
    """
    m = crowd.answers.n_classes
    narrow = (margins(crowd.answers, crowd.truth, crowd.skills) <= epsilon).mean()
    error = np.abs(weight(estimates, m) - weight(crowd.skills, m)).sum(axis=1)
    return float(narrow + (error >= epsilon).mean())


@check_arguments
def skill_error(result: Result, *, delta: float = 0.05) -> SkillErrorBound:
    """Return the expected error of the skills of a result, from which the tasks needed for a given error follow.

    Args:
        result: of `rank-one`, to which the theory applies, or of `quorate`, for which the error is approximate.
        delta: probability with which the bound may fail.

    Raises:
        QuorateError: the method estimates no skills.
        OptionError: delta is no probability.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 10, 5, seed=1).answers, "rank-one")
    >>> error = skill_error(result)
    >>> error.tasks_needed(300, epsilon=0.02) > 0
    True
    """
    answers = result.answers
    if np.isnan(result.skills).all():
        raise QuorateError(f"the method {result.method!r} estimates no skills; use rank-one or quorate")
    return pair_error(pair_stats(answers), answers.n_classes, result.skills, answers.per_worker, delta=delta)


@check_arguments
def task_bounds(result: Result) -> Table:
    """Return bounds on the error of each task's label, if the estimated skills are true and errors independent.

    With two classes, Phi is the committee potential of the workers who answered, and the error of the optimal rule is
    at most exp(-Phi/2). With more classes it is at most M-1 times the product over the workers of
    sum_l sqrt(P(l | true) P(l | other)), Bhattacharyya's bound for each other class.

    Returns:
        A table: ``task``, ``potential`` (null for more than two classes), ``error_at_most``.

    Raises:
        QuorateError: the method estimates no skills.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 5, seed=1)
    >>> result = quorate.aggregate(crowd.answers, "rank-one")
    >>> bounds = task_bounds(result).to_pylist()[0]
    >>> sorted(bounds), bounds["error_at_most"] <= 1
    (['error_at_most', 'potential', 'task'], True)
    """
    answers = result.answers
    skills = result.skills
    if np.isnan(skills).all():
        raise QuorateError(f"the method {result.method!r} estimates no skills; use rank-one or quorate")
    m = answers.n_classes
    clipped = np.clip(np.nan_to_num(skills), -1 / (m - 1) + 1e-9, 1 - 1e-9)  # undetermined skills contribute zero
    if m == 2:
        potential = np.bincount(answers.task, (clipped * weight(clipped, 2) / 2)[answers.worker], answers.n_tasks)
        bound = np.exp(-potential / 2)
    else:
        p = accuracy(clipped, m)
        other = (1 - p) / (m - 1)
        factor = np.log(2 * np.sqrt(p * other) + (m - 2) * other)
        potential = np.full(answers.n_tasks, np.nan)
        bound = (m - 1) * np.exp(np.bincount(answers.task, factor[answers.worker], answers.n_tasks))
    bound = np.minimum(bound, 1 - 1 / m)  # the error of a guess
    columns = {
        "task": answers.task_names,
        "potential": from_numpy(potential, mask=np.isnan(potential)),
        "error_at_most": bound,
    }
    return Table(table_of(columns))
