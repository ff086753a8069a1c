"""Two tests for workers whose skill changes: over their own answers, and since an earlier run.

Over time. On each task, the answers of the other workers (peers) give a posterior q over the classes. If worker i has
skill s, then c = (M q(its answer) - 1)/(M - 1) has mean s·k, where k = (M sum q² - 1)/(M - 1) is the certainty of the
peers. So c - s·k has mean zero at any time, unless the skill changes; its covariance with the order of the worker's
answers in time is tested. Workers who drift are removed as peers and all workers are tested again, because a peer who
drifts makes other workers seem to drift.

Since an earlier run (`skills=`). The estimate r of a worker's skill from the new answers alone has the variance
f·(alpha + beta u - gamma u²) if its skill is still the earlier one, u; the earlier skill has a variance of its own.
Their difference, divided by the root of the sum of both variances, is tested on both sides, adjusted over all workers
with an earlier skill.
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

MIN_TIMED_ANSWERS = 20  # timed answers on tasks with a consensus that a worker needs to be tested
MAX_TESTS = 5  # largest number of tests, each without the peers who drift by the test before
SKILL_MARGIN = 1e-3  # smallest distance of the skills of peers from the ends of their range, so that weights are finite


@dataclass(frozen=True)
class DriftTest:
    """Test of every worker with enough timed answers; shapes (workers,)."""

    early: FloatArray  # skill in the first half of a worker's answers
    late: FloatArray  # skill in the second half
    n_answers: FloatArray  # with a time and a consensus
    p: FloatArray  # two-sided p-value of the trend; NaN where not tested
    adjusted: FloatArray  # over all workers tested

    @property
    def flagged(self) -> IntArray:
        """The codes of the workers who are named, smallest p-value first."""
        named = np.flatnonzero(self.adjusted <= MAX_FALSE_DISCOVERIES)
        return named[np.lexsort([named, self.p[named]])]


def drift_test(answers: Answers, skills: FloatArray, times: FloatArray) -> DriftTest:
    """Test every worker's skill for a trend over its own answers.

    Args:
        answers: who answered what.
        skills: of each worker; NaN where unknown.
        times: when each answer was given, in any unit; NaN where not known. See `quorate.io.timestamps`.

    Raises:
        OptionError: there is not one time per answer.

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
    for _ in range(MAX_TESTS):
        test = _trends(answers, order, *_consensus(answers, np.where(steady, skills, 0.0)))
        before = steady
        steady = ~(test.adjusted <= MAX_FALSE_DISCOVERIES)
        if np.array_equal(before, steady):
            break
    return test


def _own_order(answers: Answers, times: FloatArray) -> FloatArray:
    """Return the rank in time of each answer among those of its worker, scaled to -1/2 to 1/2.

    Answers with equal times have their mean rank; answers without a time have NaN.
    """
    order = np.lexsort([times, answers.worker])  # NaN comes last
    has_time = ~np.isnan(times)
    n = np.bincount(answers.worker[has_time], minlength=answers.n_workers)
    position = np.arange(answers.n_answers) - starts_of(answers.per_worker)[answers.worker[order]]
    # The mean rank of each run of equal times.
    same = (np.diff(times[order], prepend=np.nan) == 0) & (np.diff(answers.worker[order], prepend=-1) == 0)
    run = np.cumsum(~same) - 1
    mean_rank = (np.bincount(run, position) / np.bincount(run))[run]
    rank = np.empty(answers.n_answers)
    rank[order] = mean_rank
    rank = rank / np.maximum(n - 1, 1)[answers.worker] - 0.5
    return np.where(has_time, rank, np.nan)


def _consensus(answers: Answers, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each answer c, its agreement with the peers' posterior, and k, the certainty of that posterior."""
    m = answers.n_classes
    known = np.clip(np.nan_to_num(skills), -1 / (m - 1) + SKILL_MARGIN, 1 - SKILL_MARGIN)
    weights = weight(known, m)
    scores = tally(answers, weights)[answers.task]
    rows = np.arange(answers.n_answers)
    scores[rows, answers.label] -= weights[answers.worker]
    q = softmax(scores)
    return (m * q[rows, answers.label] - 1) / (m - 1), (m * (q * q).sum(axis=1) - 1) / (m - 1)


def _trends(answers: Answers, order: FloatArray, agreement: FloatArray, certainty: FloatArray) -> DriftTest:
    """Test the covariance of c - s·k with the order in time, with the fitted skill s of each worker."""
    from scipy.special import stdtr

    used = ~np.isnan(order) & (certainty > 1e-9)

    def by_worker(values: FloatArray, where: BoolArray = used) -> FloatArray:
        sums: FloatArray = np.bincount(answers.worker[where], values[where], answers.n_workers).astype(np.float64)
        return sums

    def skill_in(where: BoolArray) -> FloatArray:
        known = by_worker(certainty, where)
        skill = np.full(answers.n_workers, np.nan)
        np.divide(by_worker(agreement, where), known, out=skill, where=known > 0)
        return skill

    n = by_worker(np.ones(len(agreement)))
    mean_order = np.divide(
        by_worker(certainty * np.nan_to_num(order)), by_worker(certainty), out=np.zeros(len(n)), where=n > 0
    )
    centred = np.nan_to_num(order) - mean_order[answers.worker]  # makes the covariance independent of the fit of s
    residual = agreement - np.nan_to_num(skill_in(used))[answers.worker] * certainty
    variance = by_worker((centred * residual) ** 2) * n / np.maximum(n - 2, 1)
    tested = (n >= MIN_TIMED_ANSWERS) & (variance > 0)
    z = np.divide(by_worker(centred * residual), np.sqrt(variance), out=np.zeros(len(n)), where=tested)
    p = np.where(tested, 2 * stdtr(np.maximum(n - 2, 1), -np.abs(z)), np.nan)
    return DriftTest(skill_in(used & (order < 0)), skill_in(used & (order >= 0)), n, p, benjamini_hochberg(p))


def drift_findings(test: DriftTest, answers: Answers) -> Iterator[Finding]:
    """Yield a finding for each worker whose skill rises or falls over time, smallest p-value first.

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


MIN_ANSWERS_IN_BATCH = 5  # new answers that a worker needs to be tested; with fewer, the estimate is not normal


def changed_p(result: Result) -> FloatArray:
    """Return the two-sided p-value of each worker having its earlier skill; NaN where not tested.

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
    # Without intervals there is no inflation factor: it is taken as 1.
    inflation = np.nan_to_num(result.intervals.inflation, nan=1.0)
    variance = score.variance(priors.skill)[:n] * inflation
    tested = priors.is_known[:n] & (result.info.per_worker >= MIN_ANSWERS_IN_BATCH) & ~np.isnan(score.raw[:n])
    error = np.sqrt(variance + 1 / np.maximum(priors.precision[:n], 1e-12))
    z = np.where(tested, (score.raw[:n] - priors.skill[:n]) / error, np.nan)
    p: FloatArray = 2 * normal_cdf(-np.abs(z))
    return p


def since_before(result: Result) -> Iterator[Finding]:
    """Yield a finding for each worker whose skill differs from the earlier one, smallest p-value first.

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
    adjusted_p = benjamini_hochberg(p)
    chosen = np.flatnonzero(adjusted_p <= MAX_FALSE_DISCOVERIES)
    for worker in chosen[np.lexsort([chosen, p[chosen]])].tolist():
        known = float(priors.skill[worker])
        current = float(np.clip(now[worker], least, 1.0))
        n = int(result.info.per_worker[worker])
        change = "worse" if current < known else "better"
        yield Finding(
            "drift",
            f"{named(result.info.worker_names, [worker])} got {change} since the earlier run: skill {known:.2f} "
            f"then, {current:.2f} in {count(n, 'answer')} now",
            float(adjusted_p[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"known": known, "here": current, "answers": n, "p": float(p[worker])},
        )
