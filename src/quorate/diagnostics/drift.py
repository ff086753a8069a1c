"""Workers whose skill drifts: their agreement with the others' consensus rises or falls over their own answers.

On each task, the answers of the peers alone give a posterior q over the classes. If worker i has skill s, then
c = (M q(its answer) - 1)/(M - 1) averages to s·k, with k = (M sum q² - 1)/(M - 1) how sure the peers are. So
c - s·k averages to nothing at any time, unless the skill changes; its covariance with the worker's own order in time is
tested. Workers who drift are set aside as peers, and everyone is tested again: a peer who drifts makes others seem to.

Workers whose skill in this batch is not what was known of them: drift against `skills=`.

The estimate r of a worker's skill from these answers alone has the variance f·(alpha + beta u - gamma u²) if its
skill is still the known one, u; the known skill has a variance of its own. Their difference over the root of the sum
is tested on both sides, adjusted over all workers of known skill.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.diagnostics.finding import MAX_FALSE_DISCOVERIES, Finding, named
from quorate.errors import OptionError
from quorate.result import Result, count
from quorate.skills.centred_score import CentredInference
from quorate.statistics import benjamini_hochberg, normal_cdf
from quorate.voting.posterior import softmax
from quorate.voting.vote import tally, weight

MIN_TIMED_ANSWERS = 20  # timed answers on tasks with a consensus, below which a worker is not tested
ROUNDS = 5  # of setting those who drift aside, at the most
WEIGHTIEST = 1e-3  # how far from the ends of the range the skills of peers are kept


@dataclass(frozen=True)
class DriftTest:
    """Every worker with enough timed answers."""

    early: FloatArray  # skill in the first half of a worker's answers
    late: FloatArray  # and in the second
    n_answers: FloatArray  # with a time and a consensus
    p: FloatArray  # of so strong a trend either way, without drift; NaN where not tested
    adjusted: FloatArray  # over all workers tested

    @property
    def flagged(self) -> IntArray:
        """The workers named, the surest first."""
        named = np.flatnonzero(self.adjusted <= MAX_FALSE_DISCOVERIES)
        return named[np.lexsort([named, self.p[named]])]


def drift_test(answers: Answers, skills: FloatArray, times: FloatArray) -> DriftTest:
    """Test every worker's skill for a trend over its own answers.

    Args:
        answers: who answered what.
        skills: of each worker; NaN where unknown.
        times: when each answer was given, by any clock; NaN where that is not known. See `quorate.io.timestamps`.

    Raises:
        OptionError: there is not one time an answer.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 5, 4, skills=np.full(5, 0.8), seed=0)
    >>> len(drift_test(crowd.answers, crowd.skills, crowd.answers.task.astype(float)).flagged)
    0
    """
    times = np.asarray(times, dtype=np.float64)
    if times.shape != (answers.n_answers,):
        raise OptionError(
            f"times= needs one number for each of {answers.n_answers:,} answers. quorate.io.timestamps.read_times "
            "reads them from a file"
        )
    order = _own_order(answers, times)
    steady = np.ones(answers.n_workers, dtype=bool)
    for _ in range(ROUNDS):
        test = _trends(answers, order, *_consensus(answers, np.where(steady, skills, 0.0)))
        before = steady
        steady = ~(test.adjusted <= MAX_FALSE_DISCOVERIES)
        if np.array_equal(before, steady):
            break
    return test


def _own_order(answers: Answers, times: FloatArray) -> FloatArray:
    """Give each answer its place among its worker's, from -1/2 to 1/2; equal times share one, and no time is NaN."""
    order = np.lexsort([times, answers.worker])  # NaN comes last
    timed = ~np.isnan(times)
    n = np.bincount(answers.worker[timed], minlength=answers.n_workers)
    place = np.arange(answers.n_answers) - starts_of(answers.per_worker)[answers.worker[order]]
    # The mean place of each run of equal times.
    same = (np.diff(times[order], prepend=np.nan) == 0) & (np.diff(answers.worker[order], prepend=-1) == 0)
    run = np.cumsum(~same) - 1
    shared = (np.bincount(run, place) / np.bincount(run))[run]
    rank = np.empty(answers.n_answers)
    rank[order] = shared
    rank = rank / np.maximum(n - 1, 1)[answers.worker] - 0.5
    return np.where(timed, rank, np.nan)


def _consensus(answers: Answers, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return c, how much each answer agrees with its peers' posterior, and k, how certain that posterior is."""
    m = answers.n_classes
    known = np.clip(np.nan_to_num(skills), -1 / (m - 1) + WEIGHTIEST, 1 - WEIGHTIEST)
    weights = weight(known, m)
    scores = tally(answers, weights)[answers.task]
    rows = np.arange(answers.n_answers)
    scores[rows, answers.label] -= weights[answers.worker]
    q = softmax(scores)
    return (m * q[rows, answers.label] - 1) / (m - 1), (m * (q * q).sum(axis=1) - 1) / (m - 1)


def _trends(answers: Answers, order: FloatArray, agreement: FloatArray, sure: FloatArray) -> DriftTest:
    """Test the covariance of c - s·k with the order in time, each worker's skill s fitted."""
    from scipy.special import stdtr

    used = ~np.isnan(order) & (sure > 1e-9)

    def by_worker(values: FloatArray, where: BoolArray = used) -> FloatArray:
        sums: FloatArray = np.bincount(answers.worker[where], values[where], answers.n_workers).astype(np.float64)
        return sums

    def skill_in(where: BoolArray) -> FloatArray:
        known = by_worker(sure, where)
        skill = np.full(answers.n_workers, np.nan)
        np.divide(by_worker(agreement, where), known, out=skill, where=known > 0)
        return skill

    n = by_worker(np.ones(len(agreement)))
    middle = np.divide(by_worker(sure * np.nan_to_num(order)), by_worker(sure), out=np.zeros(len(n)), where=n > 0)
    centred = np.nan_to_num(order) - middle[answers.worker]  # so that the fit of s takes nothing away
    left = agreement - np.nan_to_num(skill_in(used))[answers.worker] * sure
    variance = by_worker((centred * left) ** 2) * n / np.maximum(n - 2, 1)
    tested = (n >= MIN_TIMED_ANSWERS) & (variance > 0)
    z = np.divide(by_worker(centred * left), np.sqrt(variance), out=np.zeros(len(n)), where=tested)
    p = np.where(tested, 2 * stdtr(np.maximum(n - 2, 1), -np.abs(z)), np.nan)
    return DriftTest(skill_in(used & (order < 0)), skill_in(used & (order >= 0)), n, p, benjamini_hochberg(p))


def drift_findings(test: DriftTest, answers: Answers) -> Iterator[Finding]:
    """Return the workers whose skill rises or falls over time, the most certain first.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 5, 4, skills=np.full(5, 0.8), seed=0)
    >>> test = drift_test(crowd.answers, crowd.skills, crowd.answers.task.astype(float))
    >>> list(drift_findings(test, crowd.answers))
    []
    """
    for worker in test.flagged.tolist():
        early = float(test.early[worker])
        late = float(test.late[worker])
        n = int(test.n_answers[worker])
        change = "worse" if late < early else "better"
        yield Finding(
            "drift",
            f"{named(answers.worker_names, [worker])} got {change}: skill {early:.2f} in the first half of {n:,} "
            f"answers, {late:.2f} in the second half",
            float(test.adjusted[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"first_half": early, "second_half": late, "answers": n, "p": float(test.p[worker])},
        )


MIN_ANSWERS_IN_BATCH = 5  # answers in this batch, below which its estimate is no normal one


def changed_p(result: Result) -> FloatArray:
    """Return the p-value of each worker being as skilled as was known; NaN where that is not tested.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 6, 6, skills=[0.8, 0.8, 0.8, 0.8, 0.8, 0.1], seed=0)
    >>> before = {name: (0.8, 0.7, 0.9) for name in crowd.answers.worker_names.to_pylist()}
    >>> int(changed_p(quorate.aggregate(crowd.answers, skills=before)).argmin())
    5
    """
    n = result.info.n_workers
    inference = result.inference
    if not isinstance(inference, CentredInference) or inference.priors is None:
        return np.full(n, np.nan)
    priors = inference.priors
    score = inference.batch_score()
    # Their own spread stands beside that of the draws where intervals were left out.
    inflation = np.nan_to_num(result.intervals.inflation, nan=1.0)
    spread = score.variance(priors.skill)[:n] * inflation
    tested = priors.is_known[:n] & (result.info.per_worker >= MIN_ANSWERS_IN_BATCH) & ~np.isnan(score.raw[:n])
    error = np.sqrt(spread + 1 / np.maximum(priors.precision[:n], 1e-12))
    z = np.where(tested, (score.raw[:n] - priors.skill[:n]) / error, np.nan)
    p: FloatArray = 2 * normal_cdf(-np.abs(z))
    return p


def since_before(result: Result) -> Iterator[Finding]:
    """Yield a finding for each worker whose skill differs from the earlier one, the most certain first.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 6, 6, skills=[0.8, 0.8, 0.8, 0.8, 0.8, 0.1], seed=0)
    >>> before = {name: (0.8, 0.7, 0.9) for name in crowd.answers.worker_names.to_pylist()}
    >>> [finding.workers for finding in since_before(quorate.aggregate(crowd.answers, skills=before))]
    [(5,)]
    """
    p = changed_p(result)
    inference = result.inference
    if np.isnan(p).all() or not isinstance(inference, CentredInference) or inference.priors is None:
        return
    priors = inference.priors
    now = inference.batch_score().raw
    least = -1 / (result.info.n_classes - 1)
    sure = benjamini_hochberg(p)
    chosen = np.flatnonzero(sure <= MAX_FALSE_DISCOVERIES)
    for worker in chosen[np.lexsort([chosen, p[chosen]])].tolist():
        known = float(priors.skill[worker])
        current = float(np.clip(now[worker], least, 1.0))
        n = int(result.info.per_worker[worker])
        change = "worse" if current < known else "better"
        yield Finding(
            "drift",
            f"{named(result.info.worker_names, [worker])} got {change} since the earlier run: skill {known:.2f} "
            f"then, {current:.2f} in {count(n, 'answer')} now",
            float(sure[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"known": known, "here": current, "answers": n, "p": float(p[worker])},
        )
