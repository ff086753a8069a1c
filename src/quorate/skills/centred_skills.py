"""Worker estimates from centred rank-one skills: class prior, scale and signs.

Centred answers determine x_i x_j G, where G = 1 - sum pi² depends on the class prior pi. The pluralities of the tasks,
with which the vote starts, overestimate a rare class if the workers are poor: with classes 9 : 1, skills were a fifth
too low, for any number of answers. So the prior is fitted by EM under the model of the skills: worker i gives l with
probability f_i(l) + x_i ([l is true] - pi(l)), where x_i² G keeps the value from the moments.

EM alone would attribute the sampling error of the skills to knowledge and end at a prior that is too uneven: with all
skills 0.6, classes 9 : 1 and 400 answers per worker, skills were a third too high. So skills are first shrunk toward
their mean, according to their variances.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.sampling import active_workers, sampled
from quorate.models.response_bias import ResponseBias, class_prior_by_response_bias, response_bias_scores
from quorate.notes import Note
from quorate.skills.centred import Centred, centred_skills
from quorate.skills.centred_score import CentredInference
from quorate.skills.identification import BIPARTITE, IDENTIFIED, ISOLATED, AnswersIdentification, statuses
from quorate.skills.priors import Priors, determined_by, oriented_components
from quorate.skills.signs import orient
from quorate.skills.skill_notes import orientation_note, sign_note, undetermined_note
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.posterior import logsumexp_rows
from quorate.voting.vote import weight

MAX_PRIOR_ANSWERS = 150_000  # size of the sample for the prior: standard error about .01 for a class of 10 %
MAX_PRIOR_STEPS = 30  # of EM; two or three are enough if the classes are even
PRIOR_TOLERANCE = 3e-4  # EM stops when no class probability changes by more
MAX_EXTRAPOLATION_RATIO = 0.9  # of the lengths of two steps: an extrapolation takes at most nine further steps at once
MAX_PRIOR_SKILL = 0.99  # in the EM of the prior, so that no single answer decides a task
UNEVEN_EXPONENTS = 1.15 ** np.arange(1, 11)  # up to 4, where a class of 10 % becomes one of 0.02 %
MAX_ENTRIES = 20_000_000  # of a table of tasks × classes, or workers × classes × classes: 160 MB


def converged_response_bias(inference: CentredInference) -> ResponseBias:
    """Return the response bias with the class prior fitted by EM over the answers, or over a sample of them.

    Args:
        inference: skills, their answers, and the response bias with the first class prior.

    >>> import quorate
    >>> from quorate.skills.centred import centred_skills
    >>> crowd = quorate.simulate.crowd(4000, 50, 5, prior=np.array([0.9, 0.1]), skills=np.linspace(0, 1, 50), seed=0)
    >>> centred, gold = centred_skills(crowd.answers), np.zeros(50, dtype=bool)
    >>> inference = CentredInference(
    ...     crowd.answers, centred.solution.skills, gold, ~gold, centred.bias_of_workers, centred.ridge
    ... )
    >>> centred.bias_of_workers.prior.round(2).tolist(), converged_response_bias(inference).prior.round(2).tolist()
    ([0.82, 0.18], [0.9, 0.1])
    """
    answers = inference.crowd
    bias_of_workers = inference.bias_of_workers
    sample = sampled(answers, MAX_PRIOR_ANSWERS)
    if (sample.per_task == 0).any():
        sample = sample.only(sample.per_task > 0)
    if sample.n_tasks == 0:
        return bias_of_workers
    sample, has_answers = active_workers(sample)
    at_prior = _at_prior(inference, has_answers)
    prior = bias_of_workers.prior
    spread = bias_of_workers.spread
    last_change: FloatArray | None = None
    for _ in range(MAX_PRIOR_STEPS):
        x, bias_at_prior = at_prior(prior, spread)
        before = prior
        prior = class_prior_by_response_bias(sample, x, bias_at_prior)
        change = prior - before
        if np.abs(change).max() < PRIOR_TOLERANCE:
            break
        if last_change is None:
            last_change = change
        else:  # after every second step
            prior = _aitken_extrapolation(prior, change, last_change)
            last_change = None
        spread = float(1 - prior @ prior)
    return replace(bias_of_workers, prior=prior, spread=float(1 - prior @ prior))


def prior_scale_range(inference: CentredInference) -> tuple[float, float]:
    """Return the least and greatest factor on the skills within one standard error of the class prior.

    The prior pi is made more and less even, pi^s, and the skills are rescaled such that x² G stays the same. One
    standard error is reached where the log-likelihood of the answers is one half lower than for pi. One is enough: the
    interval to which the factors are applied extends 1.96 standard errors a of all other sources, and 1.96 a + b is
    more than 1.96 sqrt(a² + b²) if b is less than 1.4 a.

    Args:
        inference: skills on the scale of the fitted prior, and their answers.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 5, prior=np.array([0.95, 0.05]), skills=np.full(10, 0.7), seed=0)
    >>> even = quorate.simulate.crowd(300, 10, 5, skills=np.full(10, 0.7), seed=0)
    >>> results = [quorate.aggregate(simulated.answers, "rank-one-centred") for simulated in (crowd, even)]
    >>> [greatest > 1.05 for _, greatest in (prior_scale_range(result.inference) for result in results)]
    [True, False]
    """
    bias_of_workers = inference.bias_of_workers
    sample = sampled(inference.crowd, MAX_PRIOR_ANSWERS)
    if (sample.per_task == 0).any():
        sample = sample.only(sample.per_task > 0)
    entries = max(sample.n_workers * sample.n_classes, sample.n_tasks) * sample.n_classes
    if sample.n_tasks == 0 or entries > MAX_ENTRIES:  # with so many classes, G is close to one for any prior
        return 1.0, 1.0
    sample, has_answers = active_workers(sample)
    at_prior = _at_prior(inference, has_answers)

    def likelihood_and_factor(exponent: float) -> tuple[float, float]:
        """Return the log-likelihood of the answers under pi^s, and the factor on the skills."""
        prior = bias_of_workers.prior**exponent
        prior = prior / prior.sum()
        spread = float(1 - prior @ prior)
        x, bias_at_prior = at_prior(prior, spread)
        likelihood = float(logsumexp_rows(response_bias_scores(sample, x, bias_at_prior)).sum())
        return likelihood, float(np.sqrt(bias_of_workers.spread / spread))

    fitted_likelihood, _ = likelihood_and_factor(1.0)
    factors = [1.0]
    for exponents in (UNEVEN_EXPONENTS, 1 / UNEVEN_EXPONENTS):
        for exponent in exponents:
            likelihood, factor = likelihood_and_factor(float(exponent))
            if likelihood < fitted_likelihood - 0.5:
                break
            factors.append(factor)
    return min(factors), max(factors)


def _at_prior(
    inference: CentredInference, has_answers: BoolArray
) -> Callable[[FloatArray, float], tuple[FloatArray, ResponseBias]]:
    """Return a function (prior, G) -> skills and response bias of the workers with answers; x² G stays the same."""
    bias_of_workers = inference.bias_of_workers
    estimated, from_priors = inference.parts(shrink_to_mean(inference, inference.noise()))
    estimated = estimated[has_answers]
    if isinstance(from_priors, np.ndarray):
        from_priors = from_priors[has_answers]
    is_gold = inference.is_gold[has_answers]
    worker_frequency = bias_of_workers.frequency[has_answers]

    def skills_and_bias(prior: FloatArray, spread: float) -> tuple[FloatArray, ResponseBias]:
        skills = np.where(is_gold, 1.0, estimated * np.sqrt(bias_of_workers.spread / spread) + from_priors)
        x = np.clip(skills, -MAX_PRIOR_SKILL, MAX_PRIOR_SKILL)[:, None]
        frequency = np.maximum(worker_frequency - x * prior, 0.0) / (1 - x)
        return x[:, 0], replace(bias_of_workers, frequency=frequency, prior=prior, spread=spread)

    return skills_and_bias


def _aitken_extrapolation(prior: FloatArray, change: FloatArray, last_change: FloatArray) -> FloatArray:
    """Return the prior extrapolated from its last two steps as a geometric series."""
    ratio = float(change @ last_change) / max(float(last_change @ last_change), 1e-300)
    ratio = min(max(ratio, 0.0), MAX_EXTRAPOLATION_RATIO)
    limit = np.maximum(prior + change * ratio / (1 - ratio), prior / 2)
    extrapolated: FloatArray = limit / limit.sum()
    return extrapolated


def shrink_to_mean(inference: CentredInference, noise: FloatArray) -> FloatArray:
    """Return the skills shrunk toward their mean according to their sampling variance; zero if undetermined or gold.

    Args:
        inference: the skills.
        noise: sampling variance of each skill.

    >>> import quorate
    >>> from quorate.skills.shrinkage import response_bias
    >>> crowd, gold = quorate.simulate.crowd(90, 3, 3, seed=0), np.zeros(3, dtype=bool)
    >>> skills = np.array([0.2, 0.5, 0.8])
    >>> inference = CentredInference(crowd.answers, skills, gold, ~gold, response_bias(crowd.answers), 0.5)
    >>> shrink_to_mean(inference, np.full(3, 0.03)).round(2).tolist()
    [0.35, 0.5, 0.65]
    """
    is_estimated = ~np.isnan(inference.skills) & ~inference.is_gold
    share = np.where(is_estimated, inference.per_worker, 0)
    share = share / max(int(share.sum()), 1)
    skills = np.where(is_estimated, inference.skills, 0.0)
    mean = float(share @ skills)
    variance = max(float(share @ np.where(is_estimated, (skills - mean) ** 2 - noise, 0.0)), 0.0)
    reliability = variance / np.maximum(variance + noise, 1e-12)
    return np.where(is_estimated, mean + (skills - mean) * reliability, 0.0)


@dataclass(frozen=True, eq=False)
class CentredEstimates:
    """Centred estimates of the workers, and the parameters of their vote."""

    identification: AnswersIdentification
    status: IntArray  # of each worker without gold
    skills: FloatArray  # for the vote: the crowd's mean where they are not determined
    mean: float  # the crowd's mean skill
    centred: Centred | None = None  # None where no skill is determined; so are the next two
    orientation: "_Orientation | None" = None
    bias_of_workers: ResponseBias | None = None  # of the workers, with the class prior with which the vote starts
    priors: Priors | None = None  # skills from earlier runs, on the reported scale
    prior_scale: float = 1.0  # factor from the reported scale to the scale of the solution

    @cached_property
    def skill_estimates(self) -> WorkerEstimates:
        """Estimates of the workers, on the scale of the fitted class prior."""
        n = len(self.status)
        m = self.identification.n_classes
        if self.centred is None:
            return WorkerEstimates(
                skills=np.full(n, np.nan), weights=np.zeros(n) if m > 1 else np.ones(n), status=self.status
            )
        identified_skills = np.where(self.status == IDENTIFIED, self.inference.skills[:n], np.nan)
        return WorkerEstimates(
            skills=identified_skills,
            weights=weight(self.skills, m) if m > 1 else np.ones(n),
            status=self.status,
            solution=replace(self.centred.solution, skills=identified_skills),
            inference=self.inference,
        )

    @cached_property
    def inference(self) -> CentredInference:
        """Inference on the skills, on the scale of the fitted class prior.

        The vote uses the prior of the pluralities: over the 26 public crowds the error is the same (.180), and the
        fitted prior changes the error of single crowds by up to a percentage point in either direction.
        """
        centred = self.centred
        orientation = self.orientation
        assert centred is not None  # callers ask only if some skill is determined
        assert orientation is not None
        first = _inference(self.identification, centred, orientation, self.priors, self.prior_scale)
        bias_of_workers = converged_response_bias(first)
        scaled_skills = centred.clip(first.on_scale(centred.solution.skills, bias_of_workers.spread))
        scaled = (scaled_skills, bias_of_workers, centred.bias_of_workers.spread / bias_of_workers.spread)
        return _inference(self.identification, centred, orientation, self.priors, scaled=scaled)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """Notes on undetermined skills, prior skills, and the assumptions behind the signs."""
        notes = (
            *undetermined_note(self.status, self.identification.graph.component),
            *(() if self.priors is None else self.priors.notes),
            *orientation_note(self.identification),
        )
        if self.centred is None or not self._sign_is_uncertain():
            return notes
        information = 1 / np.maximum(self.inference.noise(), 1e-12)
        component = self.identification.graph.component
        unanchored = self.identification.unanchored
        return (*notes, *sign_note(self.inference.skills, information, component, unanchored))

    def _sign_is_uncertain(self) -> bool:
        """Whether the skills of a component without anchor may sum to zero, with a standard error of one per worker."""
        skills = self.inference.skills
        component = self.identification.graph.component
        n = len(self.identification.unanchored)
        is_rated = ~np.isnan(skills)
        count = np.bincount(component[is_rated], minlength=n)
        total = np.bincount(component[is_rated], skills[is_rated], minlength=n)
        return bool((np.abs(total) < np.sqrt(count))[self.identification.unanchored].any())


def centred_estimates(identification: AnswersIdentification, priors: Priors | None = None) -> CentredEstimates:
    """Estimate skills from centred answers, and orient every component.

    Args:
        identification: of the answers; its last worker is the known labels, if there are any.
        priors: skills of workers from earlier runs.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool(np.abs(centred_estimates(identify_workers(crowd.answers)).skills - crowd.skills).mean() < 0.1)
    True
    """
    n = int((~identification.is_gold).sum())
    if priors is not None:
        identification = replace(identification, oriented=oriented_components(identification.graph, priors))
    status = statuses(identification)[:n]
    determined = identification.graph.determined
    if priors is not None:
        determined = determined_by(identification.graph, priors)
        status = np.where(np.isin(status, (BIPARTITE, ISOLATED)) & determined[:n], IDENTIFIED, status)
    is_identified: BoolArray = status == IDENTIFIED
    if not np.any(is_identified):
        return CentredEstimates(identification, status, np.zeros(n), 0.0)
    all_priors = None if priors is None else priors.of_first(identification.crowd.n_workers)
    factor = 1.0
    centred = centred_skills(identification.crowd, is_gold=identification.is_gold, priors=all_priors)
    if all_priors is not None:
        # Skills are reported on the scale of the fitted class prior, but estimated on that of the pluralities.
        orientation = _orientation(identification, determined, centred)
        fitted_bias = converged_response_bias(_inference(identification, centred, orientation, all_priors))
        factor = float(np.sqrt(fitted_bias.spread / centred.bias_of_workers.spread))
        centred = centred_skills(identification.crowd, is_gold=identification.is_gold, priors=all_priors.scaled(factor))
    orientation = _orientation(identification, determined, centred)
    filled = np.where(is_identified, (orientation.sign * centred.solution.skills)[:n], centred.mean)
    return CentredEstimates(
        identification, status, filled, centred.mean, centred, orientation, centred.bias_of_workers, all_priors, factor
    )


@dataclass(frozen=True, eq=False)
class _Orientation:
    """Properties of each worker, gold included, that do not depend on the scale of the skills."""

    determined: BoolArray  # whether the skill is determined
    sign: FloatArray  # by which the skills of the worker's component are multiplied: 1 or -1


def _orientation(identification: AnswersIdentification, determined: BoolArray, centred: Centred) -> _Orientation:
    """Orient every component without gold and without workers of known skill."""
    skills = centred.solution.skills
    component = identification.graph.component
    is_flipped = orient(skills, component, identification.anchored)[1]
    return _Orientation(determined, np.where(is_flipped[component], -1.0, 1.0))


def _inference(
    identification: AnswersIdentification,
    centred: Centred,
    orientation: _Orientation,
    priors: Priors | None,
    prior_scale: float = 1.0,
    *,
    scaled: tuple[FloatArray, ResponseBias, float] | None = None,
) -> CentredInference:
    """Return the inference on the scale of the solution, or on another scale with the ridge multiplied by its factor.

    Args:
        identification: of the answers.
        centred: the solution.
        orientation: which skills are determined, and their signs.
        priors: skills of workers from earlier runs.
        prior_scale: factor from the scale of the priors to that of the solution.
        scaled: skills on another scale, the response bias with its class prior, and the factor on the ridge.
    """
    skills, bias_of_workers, factor = (
        (centred.solution.skills, centred.bias_of_workers, 1.0) if scaled is None else scaled
    )
    oriented_skills = np.where(orientation.determined, orientation.sign * skills, np.nan)
    prior_strength = None if centred.prior_strength is None else centred.prior_strength * factor
    return CentredInference(
        identification.crowd,
        oriented_skills,
        identification.is_gold,
        ~identification.is_gold,
        bias_of_workers,
        centred.ridge * factor,
        priors,
        prior_strength,
        prior_scale,
    )
