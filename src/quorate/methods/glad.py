"""GLAD: the ability of each worker and the ease of each task, by EM [Whitehill09].

A worker of ability a is right on a task of ease e^b with probability sigmoid(a·e^b), and else gives each other class
with equal probability. Abilities and log-eases are normal a priori, with variance one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, check_at_least_one
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import fit_notes, outcome, with_gold_counts
from quorate.models.confusion import check_size
from quorate.progress import report
from quorate.result import Result
from quorate.voting.posterior import clamp_gold, log_likelihood, softmax
from quorate.voting.vote import MAX_LOG_ODDS, check_prior, decide, skill_of

PRIOR_MEAN = 1.0  # of abilities and log-eases, as [Whitehill09] and crowd-kit have it
MAX_HALVINGS = 8  # of a step that would lower the objective; then the value stays
MAX_STEP = 1.0  # change of an ability or log-ease in one step; where the sigmoid is flat, Newton steps are too long


def glad(
    answers: Answers,
    *,
    gold: Source = None,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
    prior: FloatArray | None = None,
    ability: FloatArray | None = None,
    ease: FloatArray | None = None,
) -> Result:
    """Fit an ability for each worker and an ease for each task; the weight of a vote grows with their product.

    A worker's skill is that of its mean probability of being right on the tasks it answered, and its weight the mean
    weight of its votes.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        max_iterations: maximum number of EM steps.
        tolerance: stop when the log-posterior per answer increases by less.
        prior: probability of each class, in order (Python only); uniform by default.
        ability: prior mean of each worker's ability (Python only); 1 by default.
        ease: prior mean of each task's log-ease (Python only); 1 by default.

    Raises:
        OptionError: a number that must be positive is not, or an array has the wrong length.
        TooLargeError: the posterior would not fit.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((glad(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    known = known_classes(gold, answers)
    priors = GladPriors.of(answers, prior, ability, ease)
    fit = fit_glad(answers, known, priors, max_iterations=max_iterations, tolerance=tolerance)
    return glad_result(answers, fit, known)


@dataclass(frozen=True)
class GladPriors:
    """Priors of classes, abilities and eases."""

    prior: FloatArray  # of each class
    ability: FloatArray  # the mean, of each worker
    ease: FloatArray  # the mean of the logarithm, of each task

    @classmethod
    def of(
        cls,
        answers: Answers,
        prior: FloatArray | None = None,
        ability: FloatArray | None = None,
        ease: FloatArray | None = None,
    ) -> "GladPriors":
        """Fill in defaults; refuse arrays that do not fit the answers."""
        m = answers.n_classes
        return cls(
            prior=np.full(m, 1 / m) if prior is None else check_prior(prior, m),
            ability=_prior_means(ability, answers.n_workers, "ability", "worker"),
            ease=_prior_means(ease, answers.n_tasks, "ease", "task"),
        )


def _prior_means(means: FloatArray | None, n: int, name: str, owner: str) -> FloatArray:
    """Return the prior means of the workers or tasks; refuse means that do not fit the answers."""
    if means is None:
        return np.full(n, PRIOR_MEAN)
    means = np.asarray(means, np.float64)
    if means.shape != (n,) or not np.isfinite(means).all():
        raise OptionError(f"{name} must be {n:,} numbers, one for each {owner}")
    return means


@dataclass(frozen=True)
class Glad:
    """Parameters and posterior after the last step of EM."""

    ability: FloatArray  # of each worker
    ease: FloatArray  # the logarithm, of each task
    posterior: FloatArray
    scores: FloatArray  # log joint probability, tasks × classes
    log_posteriors: tuple[float, ...]  # of answers, abilities and eases together, after each step
    converged: bool


def fit_glad(
    answers: Answers,
    gold: IntArray | None,
    priors: GladPriors,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
) -> Glad:
    """Alternate between the posterior of the labels and Newton steps for abilities and eases.

    The paper uses gradient ascent in all parameters together. Given the eases, the abilities are independent of each
    other, and eases given the abilities, so here each parameter has its own Newton step, halved while it would lower
    the objective. So no step of EM lowers the log-posterior, and a step costs a few sums over the answers.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = fit_glad(answers, None, GladPriors.of(answers))
    >>> bool(np.all(np.diff(fit.log_posteriors) >= -1e-9))
    True
    """
    check_size(answers, "glad", matrices=False)
    check_at_least_one(max_iterations=max_iterations)
    ability = priors.ability.copy()
    ease = priors.ease.copy()
    history: list[float] = []
    converged = False
    for step in range(1, max_iterations + 1):
        scores = _log_joint(answers, ability, ease, priors.prior)
        # minus the log-density of abilities and eases under their prior, up to a constant
        penalty = ((ability - priors.ability) ** 2).sum() + ((ease - priors.ease) ** 2).sum()
        history.append(log_likelihood(scores, gold) - float(penalty) / 2)
        q = clamp_gold(softmax(scores), gold)
        report("estimating workers", step, max_iterations)
        if len(history) > 1 and history[-1] - history[-2] < tolerance * answers.n_answers:
            converged = True
            break
        ability, ease = _newton_steps(answers, q.ravel()[answers.cells], ability, ease, priors)
    return Glad(ability, ease, q, scores, tuple(history), converged)


def _log_joint(answers: Answers, ability: FloatArray, ease: FloatArray, prior: FloatArray) -> FloatArray:
    """Return log P(answers, class): an answer adds log s to its own class and log (1-s)/(M-1) to every other."""
    x = ability[answers.worker] * np.exp(ease)[answers.task]
    log_others = np.log(max(answers.n_classes - 1, 1))
    wrong = answers.by_task(-_softplus(x)) - log_others * answers.per_task
    voted = np.bincount(answers.cells, x + log_others, answers.n_tasks * answers.n_classes)
    scores: FloatArray = voted.reshape(-1, answers.n_classes) + wrong[:, None] + np.log(prior)
    return scores


def _newton_steps(
    answers: Answers, right: FloatArray, ability: FloatArray, ease: FloatArray, priors: GladPriors
) -> tuple[FloatArray, FloatArray]:
    """Take one step for every ability, then one for every log-ease, given the probability that each answer is right.

    What an answer adds to the expected log-likelihood is r·x - log(1 + e^x), with x = a·e^b; x is linear in a, and is
    its own first and second derivative by b.
    """
    ease_of_answer = np.exp(ease)[answers.task]
    ability = _newton(
        ability,
        priors.ability,
        right,
        lambda a: a[answers.worker] * ease_of_answer,
        lambda x: (ease_of_answer, None),
        answers.by_worker,
    )
    ability_of_answer = ability[answers.worker]
    ease = _newton(
        ease,
        priors.ease,
        right,
        lambda b: ability_of_answer * np.exp(b)[answers.task],
        lambda x: (x, x),
        answers.by_task,
    )
    return ability, ease


def _newton(
    value: FloatArray,
    mean: FloatArray,
    right: FloatArray,
    product: Callable[[FloatArray], FloatArray],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray | None]],
    sums: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the values after a Newton step each, halved while it would lower the objective."""
    x = product(value)
    first, second = derivatives(x)
    p = 1 / (1 + np.exp(-np.clip(x, -MAX_LOG_ODDS, MAX_LOG_ODDS)))
    curvature = sums(p * (1 - p) * first**2) + 1  # one from the normal prior
    if second is not None:  # where the objective is convex, a plain Newton step would lower it
        curvature += np.maximum(sums((p - right) * second), 0.0)
    step: FloatArray = np.clip((sums((right - p) * first) - (value - mean)) / curvature, -MAX_STEP, MAX_STEP)

    def objective(parameter: FloatArray, x: FloatArray) -> FloatArray:
        log_posterior: FloatArray = sums(right * x - _softplus(x)) - (parameter - mean) ** 2 / 2
        return log_posterior

    before = objective(value, x)
    for _ in range(MAX_HALVINGS):
        is_lower = objective(value + step, product(value + step)) < before
        if not is_lower.any():
            return value + step
        step[is_lower] /= 2
    new_value: FloatArray = value + np.where(is_lower, 0.0, step)
    return new_value


def _softplus(x: FloatArray) -> FloatArray:
    """Return log(1 + e^x), for any x, in half the time of ``np.logaddexp(0, x)``."""
    soft: FloatArray = np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    return soft


def glad_result(answers: Answers, fit: Glad, gold: IntArray | None) -> Result:
    """Return the result of a fit.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> glad_result(answers, fit_glad(answers, None, GladPriors.of(answers)), None).method
    'glad'
    """
    n = np.maximum(answers.per_worker, 1)
    m = answers.n_classes
    x = fit.ability[answers.worker] * np.exp(fit.ease)[answers.task]
    result = outcome(
        "glad",
        answers,
        decide(answers, fit.scores, fit.posterior),
        gold=gold,
        skills=skill_of(answers.by_worker(np.exp(-_softplus(-x))) / n, m) if m > 1 else None,
        weights=answers.by_worker(x + np.log(max(m - 1, 1))) / n,
        notes=fit_notes("glad", fit.log_posteriors, fit.converged, answers.n_answers),
    )
    return with_gold_counts(result)
