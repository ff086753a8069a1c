"""Skills that are valid if the next answers were chosen from the first ones: one-coin EM [Dawid79].

Adaptive collection asks more answers for tasks on which workers disagree, so skills estimated from agreement are too
low. The likelihood is not biased: given all answers so far, the choice of the next task has no further information
about the skills.

`fit_one_coin_skills` fits one accuracy per worker by EM; with two classes, each component gets the sign with which its
workers are mostly right. `fit_from_two_starts` starts EM with all workers better than guessing, and with the signs of
rank-one, and returns the fit with the larger likelihood. One start is not enough, because EM finds a local maximum: a
group that is mostly wrong and shares few tasks with the rest stays mostly right if it starts there, because to change
its sign EM would have to pass through guessing. `fit_worker_posterior` shrinks the accuracies toward the crowd's mean.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Shown, Table, from_numpy, table_of
from quorate.blocks.block import Block, Sums
from quorate.blocks.memory import answers_in, blocks_of
from quorate.blocks.numpy_kernels import by_row
from quorate.diagnostics.diagnose import rank_one_result
from quorate.errors import OptionError, check_level, count
from quorate.graph.components import Identifiability, identify
from quorate.io.arguments import check_arguments
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.models.one_coin import fit_one_coin_em, one_coin_log_likelihood
from quorate.statistics import critical_value
from quorate.voting.vote import accuracy, skill_of, tally, weight

START_SKILL = 0.5  # skill of all workers at the start of EM


@dataclass(frozen=True)
class OneCoinSkills:
    """Result of one-coin EM."""

    accuracy: FloatArray  # of each worker; 1/M or the mean for a worker without a shared task
    mean: float  # over the workers whose skill is determined, weighted by their answers
    iterations: int
    converged: bool


def fit_one_coin_skills(
    answers: Answers,
    known: IntArray | None,
    identifiability: Identifiability,
    *,
    strength: float = 0.0,
    start: FloatArray | None = None,
    max_iterations: int = 300,
    tolerance: float = 1e-5,
) -> OneCoinSkills:
    """Fit one accuracy per worker by `quorate.models.one_coin`, with equally frequent classes.

    Tasks with one answer are left out: their likelihood does not depend on the accuracy, and they would only slow EM
    down.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown; None without gold.
        identifiability: the components; the sign of each is chosen separately.
        strength: prior strength in answers, with which each accuracy is shrunk toward the crowd's mean.
        start: accuracies to start from; by default all workers have skill 0.5.
        max_iterations: largest number of iterations.
        tolerance: of the mean change of the accuracies, weighted by answers.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=2000, n_workers=8, per_task=4, seed=0)
    >>> one_coin_skills = fit_one_coin_skills(crowd.answers, None, identify(crowd.answers))
    >>> bool(np.abs(skill_of(one_coin_skills.accuracy, 2) - crowd.skills).max() < 0.1)
    True
    """
    m = answers.n_classes
    is_compared = answers.per_task > 1
    if known is not None:
        is_compared |= known >= 0
    compared = answers if is_compared.all() else answers.where(is_compared[answers.task])
    start_accuracy = np.full(answers.n_workers, float(accuracy(np.array(START_SKILL), m)))
    determined = identifiability.determined[: answers.n_workers]
    fit = fit_one_coin_em(
        blocks_of(compared, known),
        start=start_accuracy if start is None else start,
        strength=strength,
        among=determined,
        stop_by="accuracy",
        max_iterations=max_iterations + 1,  # the first iteration only computes the posterior of the start
        tolerance=tolerance,
    )
    p = fit.accuracy
    mean = fit.mean
    if m == 2:
        counted = np.where(determined, compared.per_worker, 0)
        p = _oriented(p, compared.per_worker, identifiability)
        mean = float(p @ counted / counted.sum()) if counted.any() else mean
    return OneCoinSkills(p, mean, len(fit.log_likelihoods) - 1, fit.converged)


def log_likelihood_of(answers: Answers, p: FloatArray, known: IntArray | None) -> float:
    """Return the log-probability of all answers and known labels, with equally frequent classes.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> round(float(np.exp(log_likelihood_of(answers, np.array([0.8, 0.6]), None))), 3)  # (0.8·0.4 + 0.2·0.6)/2
    0.22
    """
    return one_coin_log_likelihood(blocks_of(answers, known), np.clip(p, 1e-12, 1 - 1e-12))


def _oriented(p: FloatArray, n: IntArray, identifiability: Identifiability) -> FloatArray:
    """Return 1 - p for components that are worse than guessing: with two classes, p and 1 - p fit equally well."""
    component = identifiability.component[: len(p)]
    total = np.bincount(component, n * (2 * p - 1), identifiability.n_components)
    anchored = np.zeros(identifiability.n_components, dtype=bool)
    anchored[identifiability.component[len(p) :]] = True  # gold is the last worker of the crowd
    oriented: FloatArray = np.where(((total < 0) & ~anchored)[component], 1 - p, p)
    return oriented


def class_probability_by_others(answers: Answers, p: FloatArray, known: IntArray | None) -> FloatArray:
    """Return for each answer the probability of its class, given the answers of the other workers to the task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> class_probability_by_others(answers, np.array([0.8, 0.6]), None).round(3).tolist()
    [0.6, 0.8, 0.5]
    """
    own_log_odds = weight(skill_of(p, answers.n_classes), answers.n_classes)[answers.worker]
    all_log_odds = log_odds(answers, p, _gold_odds(answers, known))  # infinite if the label is known
    with np.errstate(over="ignore"):  # then the exponential is 0 or infinite, and the probability 1 or 0
        probability: FloatArray = 1 / (1 + np.exp(own_log_odds - all_log_odds))
    return probability


def log_odds(answers: Answers, p: FloatArray, certain: FloatArray | None = None) -> FloatArray:
    """Return for each answer the log-odds of its class against all other classes, given all answers to the task.

    Args:
        answers: who answered what.
        p: accuracy of each worker.
        certain: for each answer the log-odds if the label is known, else NaN.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> log_odds(answers, np.array([0.9, 0.5])).round(3).tolist()
    [2.197, -2.197]
    """
    scores = tally(answers, weight(skill_of(p, answers.n_classes), answers.n_classes))
    if answers.n_classes == 2:
        odds = scores - scores[:, ::-1]
    else:
        rows = np.arange(len(scores))
        top = scores.argmax(axis=1)
        best = scores[rows, top]
        share = np.exp(scores - best[:, None])
        # The sum of the other classes: by subtraction, but directly for the leading class, for which it is not exact.
        rest = by_row(np.add, share)[:, None] - share
        share[rows, top] = 0.0
        rest[rows, top] = by_row(np.add, share)
        with np.errstate(divide="ignore"):
            odds = scores - best[:, None] - np.log(rest)
    odds_of_answer: FloatArray = odds.ravel()[answers.cells]
    return odds_of_answer if certain is None else np.where(np.isnan(certain), odds_of_answer, certain)


def _gold_odds(answers: Answers, known: IntArray | None) -> FloatArray | None:
    """Return the log-odds of each answer, ±infinity, if the label is known, else NaN."""
    if known is None:
        return None
    truth = known[answers.task]
    odds: FloatArray = np.where(truth < 0, np.nan, np.where(truth == answers.label, np.inf, -np.inf))
    return odds


def with_gold(answers: Answers, known: IntArray | None) -> Answers:
    """Return the answers with the known labels as one more, last worker; unchanged if ``known`` is None.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> with_gold(answers, np.array([1])).n_workers, with_gold(answers, None).n_workers
    (3, 2)
    """
    return answers if known is None else answers.with_worker(known)


def identify_crowd(crowd: Answers, n_workers: int) -> Identifiability:
    """Return the identifiability of a crowd whose workers from code ``n_workers`` on are known labels.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> identify_crowd(answers, 2).identifiable.tolist()
    [False]
    >>> identify_crowd(with_gold(answers, np.array([1])), 2).identifiable.tolist()
    [True]
    """
    return identify(crowd, np.arange(crowd.n_workers) >= n_workers)


def check_classes(answers: Answers) -> None:
    """Raise an error if all answers are of one class: they determine no skill.

    Raises:
        OptionError: there are fewer than two classes.

    >>> import quorate
    >>> check_classes(quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    """
    if answers.n_classes < 2:
        raise OptionError(
            "Every answer is the same, so nothing shows who is reliable. Collect more answers, or list all "
            "classes (classes=, --classes)"
        )


# With more answers only the first start is used: loosely tied groups are rare there, and it saves half of the time.
MAX_TWO_START_ANSWERS = 200_000


def fit_from_two_starts(
    answers: Answers, crowd: Answers, known: IntArray | None, identifiability: Identifiability, **options: Any
) -> OneCoinSkills:
    """Fit one accuracy per worker by EM from both starts, and return the fit with the larger likelihood.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        known: the known class of each task, -1 where unknown; None without gold.
        identifiability: the components of that crowd.
        options: of `fit_one_coin_skills`.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=8, per_task=3, seed=0)
    >>> from quorate.graph.components import identify
    >>> fit_from_two_starts(crowd.answers, crowd.answers, None, identify(crowd.answers)).converged
    True
    """
    first = fit_one_coin_skills(answers, known, identifiability, **options)
    if answers.n_answers > MAX_TWO_START_ANSWERS:
        return first
    start = _signed_start(crowd, answers.n_workers, identifiability)
    if np.all(start >= 1 / answers.n_classes):
        return first
    second = fit_one_coin_skills(answers, known, identifiability, **{**options, "start": start})
    fits = [log_likelihood_of(answers, fit.accuracy, known) for fit in (first, second)]
    return second if fits[1] > fits[0] + 1e-6 else first


def _signed_start(crowd: Answers, n_workers: int, identifiability: Identifiability) -> FloatArray:
    """Return start accuracies: skill 0.5, or -0.5/(M-1) for workers with a negative rank-one skill."""
    m = crowd.n_classes
    skills = rank_one_result(crowd).skills
    for gold in range(n_workers, crowd.n_workers):  # known labels are right: their component takes this sign
        if skills[gold] < 0:
            skills = np.where(identifiability.component == identifiability.component[gold], -skills, skills)
    return accuracy(np.where(skills[:n_workers] < 0, -START_SKILL / (m - 1), START_SKILL), m)


HALVINGS = 30  # bisection steps of an interval of length 1: the error is then 1e-9


@dataclass(frozen=True, repr=False)
class AdaptiveSkills(Shown):
    """Skills with likelihood-ratio intervals; NaN where the data do not determine them."""

    skills: FloatArray
    low: FloatArray
    high: FloatArray
    level: float  # probability with which an interval contains the skill
    converged: bool

    def summary(self) -> str:
        """Return a sentence on the number of workers with a skill, and the median skill."""
        skills = self.skills[~np.isnan(self.skills)]
        if len(skills) == 0:
            return f"No skill of {count(len(self.skills), 'worker')} is determined"
        of = f"of {len(skills):,} of {count(len(self.skills), 'worker')}"
        return f"Skills {of}: median {np.median(skills):.2f}; {self.level:.0%} intervals"

    def _tables(self) -> tuple[Table, ...]:
        columns = {"skill": self.skills, "low": self.low, "high": self.high}
        return (Table(table_of({name: from_numpy(x, mask=np.isnan(x)) for name, x in columns.items()})),)


@check_arguments
def adaptive_skills(answers: Answers, *, gold: Source = None, level: float = 0.95) -> AdaptiveSkills:
    """Estimate skills by one-coin EM, with intervals that are also valid after adaptive collection.

    The interval of worker i is {p : 2 (l_max - l_i(p)) <= chi²}, where l_i = sum ln(q p + (1 - q)(1 - p)/(M - 1)) over
    its answers, and q is the probability of the answered class given the answers of all others.

    Args:
        answers: who answered what, collected by advice or not.
        gold: known labels of some tasks.
        level: level of the intervals.

    Raises:
        OptionError: the level is not between 0 and 1, or there is one class only.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> result = adaptive_skills(crowd.answers)
    >>> int(((result.low <= crowd.skills) & (crowd.skills <= result.high)).sum())  # of ten
    9
    """
    check_level(level)
    check_classes(answers)
    known = known_classes(gold, answers)
    crowd = with_gold(answers, known)
    identifiability = identify_crowd(crowd, answers.n_workers)
    one_coin_skills = fit_from_two_starts(answers, crowd, known, identifiability)
    low, high = likelihood_intervals(answers, one_coin_skills.accuracy, known, critical_value(1, 1 - level))
    unknown = ~identifiability.determined[: answers.n_workers]
    skills, skill_low, skill_high = (
        np.where(unknown, np.nan, skill_of(p, answers.n_classes)) for p in (one_coin_skills.accuracy, low, high)
    )
    return AdaptiveSkills(skills, skill_low, skill_high, level, one_coin_skills.converged)


def likelihood_intervals(
    answers: Answers, accuracy: FloatArray, known: IntArray | None, threshold: float
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of each worker's interval of accuracy, by bisection: the log-likelihood is concave.

    Args:
        answers: who answered what.
        accuracy: of each worker at the largest likelihood.
        known: the known class of each task, -1 where unknown; None without gold.
        threshold: largest value of twice the decrease of the log-likelihood.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(40, 1, 1, skills=np.array([0.6]), seed=0).answers
    >>> truth = answers.label.copy()
    >>> truth[:8] = 1 - truth[:8]  # of 40 known answers 32 are right
    >>> low, high = likelihood_intervals(answers, np.array([0.8]), truth, 3.841)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.66, 0.903)
    """
    m = answers.n_classes
    n = answers.n_workers
    worker = answers.worker
    peers_posterior = class_probability_by_others(answers, accuracy, known)

    def likelihood(p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each worker's log-likelihood and its derivative."""
        accuracy_of_answer = p[worker]
        inside = np.maximum(
            peers_posterior * accuracy_of_answer + (1 - peers_posterior) * (1 - accuracy_of_answer) / (m - 1), 1e-300
        )
        slope = (peers_posterior - (1 - peers_posterior) / (m - 1)) / inside
        value, rise = (np.bincount(worker, values, n).astype(np.float64) for values in (np.log(inside), slope))
        return value, rise

    low = np.full(n, 0.0)
    high = np.full(n, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        rising = likelihood(middle)[1] > 0
        low = np.where(rising, middle, low)
        high = np.where(rising, high, middle)
    best = (low + high) / 2
    least = likelihood(best)[0] - threshold / 2

    def end(edge: float) -> FloatArray:
        outside = np.full(n, edge)
        inner = best
        reached = likelihood(outside)[0] >= least  # the interval extends to the end of the scale
        for _ in range(HALVINGS):
            middle = (outside + inner) / 2
            inside = likelihood(middle)[0] >= least
            outside = np.where(inside, outside, middle)
            inner = np.where(inside, middle, inner)
        ends: FloatArray = np.where(reached, np.full(n, edge), inner)
        return ends

    return end(0.0), end(1.0)


@dataclass(frozen=True)
class WorkerPosterior:
    """Posterior of each worker's accuracy: a Beta distribution with this mean and sum of parameters."""

    accuracy: FloatArray  # posterior mean of each worker
    answers: FloatArray  # sum of the two parameters of each worker, in answers
    mean: float  # of the crowd: the prior mean, and the mean of a new worker
    strength: float  # sum of the two parameters of the prior, in answers
    fit: OneCoinSkills

    def with_newcomers(self, n: int) -> "WorkerPosterior":
        """Return the posterior with n new workers, who have the prior."""
        accuracy = np.concatenate([self.accuracy, np.full(n, self.mean)])
        return replace(self, accuracy=accuracy, answers=np.concatenate([self.answers, np.full(n, self.strength)]))


def fit_worker_posterior(
    answers: Answers, crowd: Answers, known: IntArray | None, identifiability: Identifiability, **options: Any
) -> WorkerPosterior:
    """Return the posterior of each worker's accuracy: the accuracies that a vote should use.

    An accuracy estimated from few answers is often 0 or 1 by chance, and makes the labels overconfident. So EM shrinks
    every worker toward the crowd's mean, with the prior strength that follows if skills are uniform on [0, 1]. An
    answer counts by its information, which is almost zero if the label is not known without this answer. A worker whose
    skill is not determined has the mean.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        known: the known class of each task, -1 where unknown; None without gold.
        identifiability: the components of that crowd.
        options: ``max_iterations`` and ``tolerance`` of `quorate.advice.adaptive_skills.fit_one_coin_skills`.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=20, n_workers=8, per_task=3, seed=0).answers
    >>> from quorate.graph.components import identify
    >>> raw = fit_from_two_starts(answers, answers, None, identify(answers))
    >>> shrunk = fit_worker_posterior(answers, answers, None, identify(answers))
    >>> bool(raw.accuracy.max() > 0.999), bool(shrunk.accuracy.max() < 0.9)
    (True, True)
    """
    m = answers.n_classes
    n_workers = answers.n_workers
    middle = (1 + 1 / m) / 2
    variance = (1 - 1 / m) ** 2 / 12
    strength = middle * (1 - middle) / variance - 1  # of the Beta distribution with this mean and variance: 8 if m = 2
    one_coin_skills = fit_from_two_starts(answers, crowd, known, identifiability, strength=strength, **options)
    mean = min(max(one_coin_skills.mean, 1.01 / m), 0.999)
    n = answers.per_worker * np.where(identifiability.determined[:n_workers], 1.0, 0.0)
    (squared_slopes,) = blocks_of(answers, known).sum(_squared_slopes, one_coin_skills.accuracy, mean)
    # Fisher information at the mean, in units of answers with a known label.
    information = np.minimum(squared_slopes * mean * (1 - mean), n)
    observed_skill = np.clip(
        one_coin_skills.accuracy + strength / np.maximum(n, 1) * (one_coin_skills.accuracy - one_coin_skills.mean), 0, 1
    )
    shrunk_accuracy = (information * observed_skill + strength * mean) / (information + strength)
    return WorkerPosterior(shrunk_accuracy, information + strength, mean, strength, one_coin_skills)


def _squared_slopes(blocks: Iterable[Block], p: FloatArray, mean: float) -> Sums:
    """Return for each worker the sum of squared derivatives of the log-probability of its answers by its accuracy.

    The derivatives are taken at the mean accuracy.
    """
    sums = np.zeros(len(p))
    for block in blocks:
        part = answers_in(block)
        n_other_classes = part.n_classes - 1
        q = class_probability_by_others(part, p, block.gold)
        slope = (q - (1 - q) / n_other_classes) / (q * mean + (1 - q) * (1 - mean) / n_other_classes)
        sums += part.by_worker(slope**2)
    return (sums,)
