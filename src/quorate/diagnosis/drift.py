"""Workers whose skill drifts: their agreement with the others' consensus rises or falls over their own answers.

On each task, what the peers alone say is a posterior q over the classes. If worker i has skill s, then
c = (M q(its answer) - 1)/(M - 1) averages to s·k, with k = (M sum q² - 1)/(M - 1) how sure the peers are. So
c - s·k averages to nothing at any time, unless the skill changes; its covariance with the worker's own order in time is
tested. Workers who drift are set aside as peers, and everyone is tested again: a peer who drifts makes others seem to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.diagnosis.discovery import LEVEL, adjusted
from quorate.diagnosis.finding import Finding, named
from quorate.errors import OptionError
from quorate.voting.posterior import softmax
from quorate.voting.vote import tally, weight

ENOUGH = 20  # timed answers on tasks with a consensus, below which a worker is not tested
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
        named = np.flatnonzero(self.adjusted <= LEVEL)
        return named[np.lexsort([named, self.p[named]])]


def drift_test(answers: Answers, skills: FloatArray, times: FloatArray) -> DriftTest:
    """Test every worker's skill for a trend over its own answers.

    Args:
        answers: who answered what.
        skills: of each worker; NaN tells nothing.
        times: when each answer was given, by any clock; NaN where that is not known. See `quorate.reading.times`.

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
            f"times= needs one number for each of {answers.n_answers:,} answers; see quorate.reading.times"
        )
    order = _own_order(answers, times)
    steady = np.ones(answers.n_workers, dtype=bool)
    for _ in range(ROUNDS):
        test = _trends(answers, order, *_consensus(answers, np.where(steady, skills, 0.0)))
        before, steady = steady, ~(test.adjusted <= LEVEL)
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
    found = np.empty(answers.n_answers)
    found[order] = shared
    found = found / np.maximum(n - 1, 1)[answers.worker] - 0.5
    return np.where(timed, found, np.nan)


def _consensus(answers: Answers, skills: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return c, how much each answer is what its peers say, and k, how sure they are."""
    m = answers.n_classes
    known = np.clip(np.nan_to_num(skills), -1 / (m - 1) + WEIGHTIEST, 1 - WEIGHTIEST)
    weights = weight(known, m)
    scores = tally(answers, weights)[answers.task]
    rows = np.arange(answers.n_answers)
    scores[rows, answers.label] -= weights[answers.worker]
    q = softmax(scores)
    return (m * q[rows, answers.label] - 1) / (m - 1), (m * (q * q).sum(axis=1) - 1) / (m - 1)


def _trends(answers: Answers, order: FloatArray, said: FloatArray, sure: FloatArray) -> DriftTest:
    """Test the covariance of c - s·k with the order in time, each worker's skill s fitted."""
    from scipy.special import stdtr

    used = ~np.isnan(order) & (sure > 1e-9)

    def by_worker(values: FloatArray, where: BoolArray = used) -> FloatArray:
        sums: FloatArray = np.bincount(answers.worker[where], values[where], answers.n_workers).astype(np.float64)
        return sums

    def skill_in(where: BoolArray) -> FloatArray:
        known, found = by_worker(sure, where), np.full(answers.n_workers, np.nan)
        np.divide(by_worker(said, where), known, out=found, where=known > 0)
        return found

    n = by_worker(np.ones(len(said)))
    middle = np.divide(by_worker(sure * np.nan_to_num(order)), by_worker(sure), out=np.zeros(len(n)), where=n > 0)
    centred = np.nan_to_num(order) - middle[answers.worker]  # so that the fit of s takes nothing away
    left = said - np.nan_to_num(skill_in(used))[answers.worker] * sure
    variance = by_worker((centred * left) ** 2) * n / np.maximum(n - 2, 1)
    tested = (n >= ENOUGH) & (variance > 0)
    z = np.divide(by_worker(centred * left), np.sqrt(variance), out=np.zeros(len(n)), where=tested)
    p = np.where(tested, 2 * stdtr(np.maximum(n - 2, 1), -np.abs(z)), np.nan)
    return DriftTest(skill_in(used & (order < 0)), skill_in(used & (order >= 0)), n, p, adjusted(p))


def drift_findings(test: DriftTest, answers: Answers) -> Iterator[Finding]:
    """Tell of the workers whose skill rises or falls, the surest first.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 5, 4, skills=np.full(5, 0.8), seed=0)
    >>> test = drift_test(crowd.answers, crowd.skills, crowd.answers.task.astype(float))
    >>> list(drift_findings(test, crowd.answers))
    []
    """
    for worker in test.flagged.tolist():
        early, late, n = float(test.early[worker]), float(test.late[worker]), int(test.n_answers[worker])
        verb = "falls" if late < early else "rises"
        yield Finding(
            "drift",
            f"the skill of worker {named(answers.worker_names, [worker])} {verb}: {early:.2f} in the first half of "
            f"{n:,} answers, {late:.2f} in the second",
            float(test.adjusted[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={"first_half": early, "second_half": late, "answers": n, "p": float(test.p[worker])},
        )
