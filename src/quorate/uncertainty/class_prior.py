"""How frequent the classes are by all answers together, and what that makes of the scale of centred skills.

Centred answers tell x_i x_j G, and G = 1 - sum pi² only through the class prior pi. The plurality of each task, which
the vote starts from, makes a rare class look more frequent than it is wherever workers are poor: at 9 : 1 skills come
out a fifth too low, however many answers there are. So the prior is settled by EM, under the model that the skills
rest on: worker i gives l with probability f_i(l) + x_i ([l is true] - pi(l)), with x_i² G as the moments have it.

EM would take for knowledge what is chance in the skills, and end at too uneven a prior: where all skills are 0.6, at
9 : 1 and with 400 answers a worker, skills came out a third too high. So they are first drawn to their mean, by as much
as their variances say that chance makes them differ.
"""

from dataclasses import replace

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.scatter import sampled, those_who_answered
from quorate.skills.centred import Habits
from quorate.uncertainty.centred_score import CentredInference
from quorate.voting.habit_vote import class_shares_by_habit, habit_scores

ENOUGH = 150_000  # answers that a prior is told from, at the most: they tell a share of a tenth to about .01
STEPS = 30  # at the most; two or three where classes are even
SETTLED = 3e-4  # change of a class's share
MOST_AHEAD = 0.9  # of a step that the next is taken to be: nine further steps at once, at the most
MOST_SKILL = 0.99  # of a worker that the prior is told by: nobody's answer settles a task alone
UNEVEN_EXPONENTS = 1.15 ** np.arange(1, 11)  # up to 4, at which a class of 10 % has 0.02 %
MAX_ENTRIES = 20_000_000  # of a table of tasks × classes, or workers × classes × classes: 160 MB


def settled_habits(inference: CentredInference) -> Habits:
    """Settle the class prior by all answers together.

    Args:
        inference: skills, the answers behind them, and the habits with the prior to start from.

    >>> import quorate
    >>> from quorate.skills.centred import centred_skills
    >>> crowd = quorate.simulate.crowd(4000, 50, 5, prior=np.array([0.9, 0.1]), skills=np.linspace(0, 1, 50), seed=0)
    >>> found, gold = centred_skills(crowd.answers), np.zeros(50, dtype=bool)
    >>> inference = CentredInference(
    ...     crowd.answers, found.solution.skills, gold, ~gold, found.habits, found.ridge
    ... )
    >>> found.habits.prior.round(2).tolist(), settled_habits(inference).prior.round(2).tolist()
    ([0.82, 0.18], [0.9, 0.1])
    """
    answers, habits, gold = inference.crowd, inference.habits, inference.is_gold
    some = sampled(answers, ENOUGH)
    if (some.per_task == 0).any():
        some = some.only(some.per_task > 0)
    if some.n_tasks == 0:
        return habits
    some, there = those_who_answered(some)
    parts = inference.parts(drawn_to_mean(inference, inference.noise()))
    prior, spread = habits.prior, habits.spread
    last: FloatArray | None = None
    for _ in range(STEPS):
        x, now = _at_prior(habits, gold, parts, there, prior, spread)
        before, prior = prior, class_shares_by_habit(some, x, now)
        moved = prior - before
        if np.abs(moved).max() < SETTLED:
            break
        prior, last = (prior, moved) if last is None else (_ahead(prior, moved, last), None)
        spread = float(1 - prior @ prior)
    return replace(habits, prior=prior, spread=float(1 - prior @ prior))


def prior_scale_range(inference: CentredInference) -> tuple[float, float]:
    """Return the least and greatest factor on the skills within one standard error of the class prior.

    The prior pi is made more and less even, pi^s, and the skills follow with x² G as it is; the standard error is where
    the likelihood of the answers has fallen by one half from that of pi. One suffices: the interval to which the
    factors are applied reaches 1.96 standard errors of all else, and 1.96 a + b is more than 1.96 sqrt(a² + b²) while
    b is less than 1.4 a.

    Args:
        inference: skills on the scale of the settled prior, and the answers behind them.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 5, prior=np.array([0.95, 0.05]), skills=np.full(10, 0.7), seed=0)
    >>> even = quorate.simulate.crowd(300, 10, 5, skills=np.full(10, 0.7), seed=0)
    >>> results = [quorate.aggregate(each.answers, "rank-one-centred") for each in (crowd, even)]
    >>> [greatest > 1.05 for _, greatest in (prior_scale_range(result.inference) for result in results)]
    [True, False]
    """
    habits = inference.habits
    some = sampled(inference.crowd, ENOUGH)
    if (some.per_task == 0).any():
        some = some.only(some.per_task > 0)
    entries = max(some.n_workers * some.n_classes, some.n_tasks) * some.n_classes
    if some.n_tasks == 0 or entries > MAX_ENTRIES:  # of so many classes G is next to one, whatever the prior
        return 1.0, 1.0
    some, there = those_who_answered(some)
    parts = inference.parts(drawn_to_mean(inference, inference.noise()))

    def at(exponent: float) -> tuple[float, float]:
        """Return the log-likelihood of the answers under pi^s, and the factor on the skills."""
        prior = habits.prior**exponent
        prior = prior / prior.sum()
        spread = float(1 - prior @ prior)
        x, now = _at_prior(habits, inference.is_gold, parts, there, prior, spread)
        scores = habit_scores(some, x, now)
        top = scores.max(axis=1, keepdims=True)
        likelihood = float((np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0]).sum())
        return likelihood, float(np.sqrt(habits.spread / spread))

    fitted, _ = at(1.0)
    factors = [1.0]
    for exponents in (UNEVEN_EXPONENTS, 1 / UNEVEN_EXPONENTS):
        for exponent in exponents:
            likelihood, factor = at(float(exponent))
            if likelihood < fitted - 0.5:
                break
            factors.append(factor)
    return min(factors), max(factors)


def _at_prior(
    habits: Habits,
    is_gold: BoolArray,
    parts: tuple[FloatArray, float | FloatArray],
    there: BoolArray,
    prior: FloatArray,
    spread: float,
) -> tuple[FloatArray, Habits]:
    """Return skills and habits of the workers in ``there`` under another class prior, with x² G as it is."""
    scaled, from_before = parts
    skills = np.where(is_gold, 1.0, scaled * np.sqrt(habits.spread / spread) + from_before)
    x = np.clip(skills[there], -MOST_SKILL, MOST_SKILL)[:, None]
    frequency = np.maximum(habits.frequency[there] - x * prior, 0.0) / (1 - x)
    return x[:, 0], replace(habits, frequency=frequency, prior=prior, spread=spread)


def _ahead(prior: FloatArray, moved: FloatArray, last: FloatArray) -> FloatArray:
    """Go where steps lead that shrink as the last two did (Aitken's extrapolation)."""
    shrinking = min(max(float(moved @ last) / max(float(last @ last), 1e-300), 0.0), MOST_AHEAD)
    further = np.maximum(prior + moved * shrinking / (1 - shrinking), prior / 2)
    ahead: FloatArray = further / further.sum()
    return ahead


def drawn_to_mean(inference: CentredInference, noise: FloatArray) -> FloatArray:
    """Take from the skills what is chance in their differences; undetermined ones are zero.

    Args:
        inference: the skills.
        noise: the variance that chance gives each.

    >>> import quorate
    >>> from quorate.skills.centred import habits_of
    >>> crowd, gold = quorate.simulate.crowd(90, 3, 3, seed=0), np.zeros(3, dtype=bool)
    >>> skills = np.array([0.2, 0.5, 0.8])
    >>> inference = CentredInference(crowd.answers, skills, gold, ~gold, habits_of(crowd.answers), 0.5)
    >>> drawn_to_mean(inference, np.full(3, 0.03)).round(2).tolist()
    [0.35, 0.5, 0.65]
    """
    known = ~np.isnan(inference.skills) & ~inference.is_gold
    share = np.where(known, inference.per_worker, 0)
    share = share / max(int(share.sum()), 1)
    skills = np.where(known, inference.skills, 0.0)
    mean = float(share @ skills)
    apart = max(float(share @ np.where(known, (skills - mean) ** 2 - noise, 0.0)), 0.0)
    real = apart / np.maximum(apart + noise, 1e-12)
    return np.where(known, mean + (skills - mean) * real, 0.0)
