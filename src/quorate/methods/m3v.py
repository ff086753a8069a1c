"""M3V, max-margin majority vote: weights that separate each label from its rival, sampled by Gibbs [Tian15].

This is Gibbs-CrowdSVM, the Bayesian form, which "M3V" usually means; the alternating form is in `m3v_svm`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from quorate.answers import Answers, UsedClasses, used_classes
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, TooLargeError, check_positive
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome, with_gold_counts
from quorate.models.confusion import check_size, log_joint
from quorate.result import Result
from quorate.voting.posterior import hold_labels
from quorate.voting.vote import decide, majority, skill_of, tally

MAX_WORKERS = 2_000  # each sweep factors a workers × workers matrix, which takes 0.2 seconds at this size
EPSILON = 2e-6  # keeps logarithms and reciprocals finite; the value of the port of the authors' code


def m3v(
    answers: Answers,
    *,
    gold: Source = None,
    margin: float = 3.0,
    c: float = 0.25,
    prior_variance: float = 1.0,
    sweeps: int = 50,
    burn_in: int = 10,
    seed: int = 0,
) -> Result:
    """Sample weights with a wide margin, confusion matrices and labels in turn; a task's label is its most frequent.

    The posterior is the share of the samples, the weight of a worker its mean over them, and its skill that of its mean
    accuracy over the classes.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        margin: by how much the weighted vote for the right class should exceed that for any other.
        c: cost per unit by which the margin is missed.
        prior_variance: variance of the prior of each weight.
        sweeps: number of sweeps of the sampler, with those of the burn-in.
        burn_in: number of first sweeps that are discarded.
        seed: random seed of the sampler.

    Raises:
        OptionError: a number that must be positive is not, or no sweep is left after the burn-in.
        TooLargeError: there are more than 2,000 workers, or the confusion matrices would not fit.

    >>> from quorate.simulate import crowd
    >>> simulated = crowd(n_tasks=200, n_workers=10, per_task=7, seed=1)
    >>> bool((m3v(simulated.answers).vote.label == simulated.truth).mean() > 0.95)
    True
    """
    check_positive(margin=margin, c=c, prior_variance=prior_variance)
    if not 0 <= burn_in < sweeps:
        raise OptionError(f"{sweeps} sweeps with {burn_in} of burn-in leave no sample; give more sweeps than burn-in")
    known = known_classes(gold, answers)
    used = used_classes(answers, known)
    check_workers(answers, "m3v")
    check_size(used.answers, "m3v")
    if used.answers.n_classes < 2:
        return outcome("m3v", answers, majority(answers), gold=known)
    sampled = _sample(used, margin, c, prior_variance, sweeps, burn_in, np.random.default_rng(seed))
    shares = used.spread(sampled.shares, 0.0)
    task_vote = decide(answers, shares, shares)
    result = outcome(
        "m3v",
        answers,
        task_vote,
        gold=known,
        skills=skill_of(sampled.accuracy, answers.n_classes),
        weights=sampled.weights,
    )
    return with_gold_counts(result)


def check_workers(answers: Answers, method: str) -> None:
    """Refuse more workers than a dense matrix of their pairs allows.

    Raises:
        TooLargeError: there are more than 2,000.

    >>> import quorate
    >>> check_workers(quorate.read({"task": [1], "worker": ["a"], "label": ["x"]}), "m3v")
    """
    n = answers.n_workers
    if n > MAX_WORKERS:
        raise TooLargeError(
            f"the method {method!r} factors a workers × workers matrix in every iteration: with {n:,} workers it has "
            f"{n * n:,} entries, and the method stops at {MAX_WORKERS:,} workers. "
            "Leave out workers with few answers, or use rank-one, iwmv or opt-ds, whose cost is linear in the answers"
        )


@dataclass(frozen=True)
class _Sampled:
    """Means over the samples after the burn-in."""

    shares: FloatArray  # of each class among a task's labels; (tasks, classes)
    weights: FloatArray  # η
    accuracy: FloatArray  # mean over the classes


def _sample(
    used: UsedClasses,
    margin: float,
    c: float,
    prior_variance: float,
    sweeps: int,
    burn_in: int,
    rng: np.random.Generator,
) -> _Sampled:
    """Run the Gibbs sampler from the majority vote, with weights 0 and scales 1."""
    answers = used.answers
    n_tasks = answers.n_tasks
    n_classes = answers.n_classes
    flat_prior = np.ones(n_classes)
    label = hold_labels(majority(answers).label, used.known)
    weights = np.zeros(answers.n_workers)
    scale = np.ones(n_tasks)
    votes = np.zeros((n_tasks, n_classes))
    total = np.zeros(len(weights))
    right = np.zeros(len(weights))
    for sweep in range(sweeps):
        separations = separation(answers, label, rival(tally(answers, weights), label))
        weights = _draw_weights(separations, scale, margin, c, prior_variance, rng)
        confusion = _draw_confusion(answers, label, rng)
        short = np.abs(c * (margin - separations @ weights) + EPSILON)
        scale = np.maximum(rng.wald(1 / np.maximum(short, EPSILON), 1.0), 0.0)  # rounding may make it negative
        evidence = log_joint(answers, np.log(confusion + EPSILON), flat_prior)
        log_odds = _label_log_odds(tally(answers, weights), evidence, scale, margin, c)
        # The argmax of log-odds with Gumbel noise is a draw from their softmax.
        label = hold_labels((log_odds + rng.gumbel(size=log_odds.shape)).argmax(axis=1), used.known)
        # The port of the authors' code drops one sweep more; here exactly `burn_in` sweeps are dropped.
        if sweep >= burn_in:
            votes[np.arange(n_tasks), label] += 1
            total += weights
            right += np.diagonal(confusion, axis1=1, axis2=2).mean(axis=1)
    n_samples = sweeps - burn_in
    votes[answers.per_task == 0] = n_samples / n_classes  # no answers: random draws must not look like a label
    return _Sampled(votes / n_samples, total / n_samples, right / n_samples)


def rival(scores: FloatArray, label: IntArray) -> IntArray:
    """Return for each task the class with the best score except the label; the first of equal ones.

    >>> rival(np.array([[3.0, 1.0, 2.0]]), np.array([0])).tolist()
    [2]
    """
    other_scores = scores.copy()
    other_scores[np.arange(len(label)), label] = -np.inf
    best: IntArray = other_scores.argmax(axis=1)
    return best


def lead(scores: FloatArray) -> FloatArray:
    """Return by how much the score of each class exceeds the best of the other classes; needs two classes.

    >>> lead(np.array([[3.0, 1.0, 2.0]])).tolist()
    [[1.0, -2.0, -1.0]]
    """
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    top = scores[rows, best]
    gap: FloatArray = scores - top[:, None]
    gap[rows, best] = top - scores[rows, rival(scores, best)]
    return gap


def separation(answers: Answers, label: IntArray, against: IntArray) -> Any:
    """Return g(label) - g(against), sparse (tasks, workers): 1 if the worker gave the label, -1 if the other class.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> separation(answers, np.array([1]), np.array([0])).toarray().tolist()
    [[-1.0, 1.0, 1.0]]
    """
    sign = (answers.label == label[answers.task]) * 1.0 - (answers.label == against[answers.task])
    return answers.matrix(sign)


def _draw_weights(
    separations: Any, scale: FloatArray, margin: float, c: float, prior_variance: float, rng: np.random.Generator
) -> FloatArray:
    """Draw η from N(B⁻¹a, B⁻¹), B = I/v + c² Σ u d d' and a = c² Σ (ℓu + 1/c) d, d the rows of ``separations``."""
    precision = (separations.T @ (sparse.diags_array(c**2 * scale) @ separations)).toarray()
    precision[np.diag_indices_from(precision)] += 1 / prior_variance
    linear_term = separations.T @ (c**2 * (margin * scale + 1 / c))
    factor = linalg.cholesky(precision, lower=True, overwrite_a=True)
    noise = rng.standard_normal(len(linear_term))
    # With B = LL', L⁻ᵀ(L⁻¹a + z) has the mean B⁻¹a and the covariance B⁻¹.
    forward = linalg.solve_triangular(factor, linear_term, lower=True)
    weights: FloatArray = linalg.solve_triangular(factor, forward + noise, lower=True, trans="T")
    return weights


def _draw_confusion(answers: Answers, label: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw each worker's confusion matrix, column by column, from its Dirichlet law under a uniform prior."""
    k = answers.n_classes
    cells = answers.worker_cells * k + label[answers.task]
    counts = np.bincount(cells, minlength=answers.n_workers * k * k).reshape(-1, k, k)
    gamma = rng.standard_gamma(1.0 + counts)
    confusion: FloatArray = gamma / gamma.sum(axis=1, keepdims=True)
    return confusion


def _label_log_odds(scores: FloatArray, evidence: FloatArray, scale: FloatArray, margin: float, c: float) -> FloatArray:
    """Return the log-probability of each task's classes given everything else, up to a constant per task.

    The square -u/2·(1/u + cζ)² is expanded without its term in 1/u, which is equal for all classes and may overflow.
    """
    short = c * (margin - lead(scores))
    log_odds: FloatArray = evidence - short - scale[:, None] / 2 * short**2
    return log_odds
