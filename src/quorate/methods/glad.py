"""GLAD: the ability of each worker and the ease of each task, by EM [Whitehill09].

A worker of ability a is right on a task of ease e^b with probability sigmoid(a·e^b), and else gives each other class
alike often. Abilities and log-eases are normal beforehand, of variance one.
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

BEFOREHAND = 1.0  # the mean of abilities and log-eases before anything is seen, as [Whitehill09] and crowd-kit have it
HALVINGS = 8  # of a step that would lower what is climbed: 1/256 of it is next to none
STRIDE = 1.0  # at the most in one step, of an ability or a log-ease: where a sigmoid is flat, a parabola leads too far


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
    """Fit an ability for each worker and an ease for each task; a vote counts their product.

    A worker's skill is that of its mean probability of being right on the tasks it answered, and its weight the mean of
    what its votes counted.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        max_iterations: maximum number of EM steps.
        tolerance: stop when the log-posterior per answer increases by less.
        prior: probability of each class, in order (Python only); uniform by default.
        ability: prior mean of each worker's ability (Python only); 1 by default.
        ease: prior mean of each task's log-ease (Python only); 1 by default.

    Raises:
        OptionError: a number that must be positive is not, or there is not one for each.
        TooLargeError: the posterior would not fit.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((glad(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    known = known_classes(gold, answers)
    beforehand = Beforehand.of(answers, prior, ability, ease)
    fit = fit_glad(answers, known, beforehand, max_iterations=max_iterations, tolerance=tolerance)
    return glad_result(answers, fit, known)


@dataclass(frozen=True)
class Beforehand:
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
    ) -> "Beforehand":
        """Fill in defaults; refuse arrays that do not fit the answers."""
        beforehand = {"ability": (ability, answers.n_workers), "ease": (ease, answers.n_tasks)}
        means = []
        for name, (values, n) in beforehand.items():
            mean = np.full(n, BEFOREHAND) if values is None else np.asarray(values, np.float64)
            if mean.shape != (n,) or not np.isfinite(mean).all():
                raise OptionError(
                    f"{name} must be {n:,} numbers, one for each {'task' if name == 'ease' else 'worker'}"
                )
            means.append(mean)
        m = answers.n_classes
        return cls(np.full(m, 1 / m) if prior is None else check_prior(prior, m), *means)


@dataclass(frozen=True)
class Glad:
    """Where EM ended."""

    ability: FloatArray  # of each worker
    ease: FloatArray  # the logarithm, of each task
    posterior: FloatArray
    scores: FloatArray  # log joint probability, tasks × classes
    log_posteriors: tuple[float, ...]  # of answers, abilities and eases together, after each step
    converged: bool


def fit_glad(
    answers: Answers,
    gold: IntArray | None,
    beforehand: Beforehand,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
) -> Glad:
    """Alternate between the posterior of the labels and steps uphill for abilities and eases.

    The paper climbs by the gradient of both together. Given the eases, abilities do not depend on each other, nor
    eases given the abilities, so each of them has its own Newton step here, halved where it would lead down: every step
    of EM then raises the likelihood, and none costs more than a few sums over the answers.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = fit_glad(answers, None, Beforehand.of(answers))
    >>> bool(np.all(np.diff(fit.log_posteriors) >= -1e-9))
    True
    """
    check_size(answers, "glad", matrices=False)
    check_at_least_one(max_iterations=max_iterations)
    ability = beforehand.ability.copy()
    ease = beforehand.ease.copy()
    history: list[float] = []
    converged = False
    for step in range(1, max_iterations + 1):
        scores = _log_joint(answers, ability, ease, beforehand.prior)
        history.append(log_likelihood(scores, gold) - _surprise(ability, ease, beforehand))
        q = clamp_gold(softmax(scores), gold)
        report("estimating workers", step, max_iterations)
        if len(history) > 1 and history[-1] - history[-2] < tolerance * answers.n_answers:
            converged = True
            break
        ability, ease = _climb(answers, q.ravel()[answers.cells], ability, ease, beforehand)
    return Glad(ability, ease, q, scores, tuple(history), converged)


def _log_joint(answers: Answers, ability: FloatArray, ease: FloatArray, prior: FloatArray) -> FloatArray:
    """Return log P(answers, class): an answer adds log s to its own class and log (1-s)/(M-1) to every other."""
    x = ability[answers.worker] * np.exp(ease)[answers.task]
    spread = np.log(max(answers.n_classes - 1, 1))
    wrong = answers.by_task(-_softplus(x)) - spread * answers.per_task
    voted = np.bincount(answers.cells, x + spread, answers.n_tasks * answers.n_classes)
    scores: FloatArray = voted.reshape(-1, answers.n_classes) + wrong[:, None] + np.log(prior)
    return scores


def _surprise(ability: FloatArray, ease: FloatArray, beforehand: Beforehand) -> float:
    """Return how unlikely abilities and eases were beforehand, up to a constant."""
    return float(((ability - beforehand.ability) ** 2).sum() + ((ease - beforehand.ease) ** 2).sum()) / 2


def _climb(
    answers: Answers, right: FloatArray, ability: FloatArray, ease: FloatArray, beforehand: Beforehand
) -> tuple[FloatArray, FloatArray]:
    """Take one step for every ability, then one for every log-ease, given how likely each answer is right.

    What an answer adds to the expected log-likelihood is r·x - log(1 + e^x), with x = a·e^b; x is linear in a, and is
    its own first and second derivative by b.
    """
    ease_of_answer = np.exp(ease)[answers.task]
    ability = _newton(
        ability,
        beforehand.ability,
        right,
        lambda a: a[answers.worker] * ease_of_answer,
        lambda x: (ease_of_answer, None),
        answers.by_worker,
    )
    ability_of_answer = ability[answers.worker]
    ease = _newton(
        ease,
        beforehand.ease,
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
    """Move each value by its own Newton step, halved until it does not lead down."""
    x = product(value)
    first, second = derivatives(x)
    p = 1 / (1 + np.exp(-np.clip(x, -MAX_LOG_ODDS, MAX_LOG_ODDS)))
    curvature = sums(p * (1 - p) * first**2) + 1  # that of the normal law is one
    if second is not None:  # where the ascent bends upwards, a parabola would lead down
        curvature += np.maximum(sums((p - right) * second), 0.0)
    step: FloatArray = np.clip((sums((right - p) * first) - (value - mean)) / curvature, -STRIDE, STRIDE)

    def height(at: FloatArray, x: FloatArray) -> FloatArray:
        reached: FloatArray = sums(right * x - _softplus(x)) - (at - mean) ** 2 / 2
        return reached

    before = height(value, x)
    for _ in range(HALVINGS):
        falls = height(value + step, product(value + step)) < before
        if not falls.any():
            return value + step
        step[falls] /= 2
    moved: FloatArray = value + np.where(falls, 0.0, step)
    return moved


def _softplus(x: FloatArray) -> FloatArray:
    """Return log(1 + e^x), for any x, in half the time of ``np.logaddexp(0, x)``."""
    soft: FloatArray = np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    return soft


def glad_result(answers: Answers, fit: Glad, gold: IntArray | None) -> Result:
    """Put a result together from where EM ended.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> glad_result(answers, fit_glad(answers, None, Beforehand.of(answers)), None).method
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
