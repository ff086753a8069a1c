"""Workers who answer much faster than the others: a sign that they do not read the tasks.

A worker's typical duration is the median of its durations, and the usual duration is the median over workers, so that
neither a long break nor a worker with many answers decides it. The test of a worker is whether more than half of its
answers took less than a third of the usual duration: if half of them do, their number is binomial.
"""

from collections.abc import Iterator

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.diagnostics.finding import MAX_FALSE_DISCOVERIES, Finding, plain
from quorate.statistics import benjamini_hochberg

# Share of the usual duration. Conventional: surveys call a respondent a speeder below a third of the median duration.
MAX_FAST_RATIO = 1 / 3
MIN_TIMED = 10  # answers with a duration that a worker needs to be tested
MIN_WORKERS = 3  # tested workers needed for a usual duration
# Names that annotation tools and tables give to the duration of an answer, in lower case, without separators.
DURATION_NAMES = (
    *("worktimeinseconds", "seconds", "duration", "durationseconds", "durationinseconds", "leadtime", "timespent"),
    *("timetaken", "elapsed", "elapsedseconds", "elapsedtime", "responsetime", "answertime"),
)


def is_duration_name(name: str) -> bool:
    """Whether a column is named as tools name the duration of an answer.

    >>> is_duration_name("WorkTimeInSeconds"), is_duration_name("lead_time"), is_duration_name("time")
    (True, True, False)
    """
    return "".join(letter for letter in name.lower() if letter.isalnum()) in DURATION_NAMES


def gaps_between(answers: Answers, times: FloatArray) -> FloatArray:
    """Return the time since the previous answer of the same worker, per answer; NaN for the first or without a time.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2, 3], "worker": ["a", "a", "b"], "label": list("xyx")})
    >>> gaps_between(answers, np.array([5.0, 9.0, 7.0])).tolist()
    [nan, 4.0, nan]
    """
    order = np.lexsort([times, answers.worker])
    gap = np.full(len(times), np.nan)
    same_worker = answers.worker[order][1:] == answers.worker[order][:-1]
    gap[order[1:]] = np.where(same_worker, np.diff(times[order]), np.nan)
    return gap


def haste_findings(answers: Answers, durations: FloatArray, unit: str = " seconds") -> Iterator[Finding]:
    """Yield a finding for each worker who answers much faster than the others, the fastest first.

    Args:
        answers: who answered what.
        durations: of each answer, 0 or more; NaN where it is not known.
        unit: of the durations, with a blank before it; empty where it is not known.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(100, 5, 3, seed=0).answers
    >>> [finding.sentence for finding in haste_findings(crowd, np.where(crowd.worker == 2, 2.0, 30.0))]
    ['w2 answers much faster than the others: 2 seconds per answer (median); others take 30. Check ...']
    """
    from scipy.stats import binom

    is_timed = durations >= 0
    n_timed = np.bincount(answers.worker[is_timed], minlength=answers.n_workers)
    tested = np.flatnonzero(n_timed >= MIN_TIMED)
    if len(tested) < MIN_WORKERS:
        return
    typical = np.full(answers.n_workers, np.nan)
    for worker in tested.tolist():
        typical[worker] = np.median(durations[is_timed & (answers.worker == worker)])
    usual = float(np.median(typical[tested]))
    is_fast = is_timed & (durations < MAX_FAST_RATIO * usual)
    n_fast = np.bincount(answers.worker[is_fast], minlength=answers.n_workers)
    p = np.full(answers.n_workers, np.nan)
    p[tested] = binom.sf(n_fast[tested] - 1, n_timed[tested], 0.5)
    corrected = benjamini_hochberg(p)
    named = [worker for worker in tested.tolist() if corrected[worker] <= MAX_FALSE_DISCOVERIES]
    for worker in sorted(named, key=lambda worker: typical[worker]):
        yield Finding(
            "answers-very-fast",
            (
                f"{plain(answers.worker_names[worker].as_py())} answers much faster than the others: "
                f"{typical[worker]:.3g}{unit} per answer (median); others take {usual:.3g}. Check whether the "
                "worker read the tasks"
            ),
            float(corrected[worker]),
            "adjusted p-value",
            workers=(worker,),
            evidence={
                "median": float(typical[worker]),
                "usual": usual,
                "fast_answers": int(n_fast[worker]),
                "timed_answers": int(n_timed[worker]),
            },
            figures=f"{n_fast[worker]:,} of {n_timed[worker]:,} timed answers took less than a third of that",
        )
