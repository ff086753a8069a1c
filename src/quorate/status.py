"""What is known of a worker's skill, and why not more."""

import numpy as np

from quorate.arrays import IntArray
from quorate.evidence import Evidence

# A worker's status is a position in this list.
STATUSES = (
    "identified",
    "undetermined: shares no task with anyone",
    "undetermined: its component is bipartite",
    "undetermined: only one class was ever given",
    "undetermined: all its mates have skill zero",
    "undetermined: none of its answers was left",
    "ignored: no correlation above the threshold",
    "not estimated by this method",
)
IDENTIFIED, ISOLATED, BIPARTITE, ONE_CLASS, UNINFORMED, NO_ANSWERS, IGNORED, NOT_ESTIMATED = range(len(STATUSES))


def statuses(evidence: Evidence) -> IntArray:
    """Judge each worker by the graph; gold, if there is any, is the last.

    >>> import quorate
    >>> from quorate.evidence import gather
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> [STATUSES[k] for k in statuses(gather(answers))[1:]]
    ['undetermined: its component is bipartite', 'undetermined: shares no task with anyone']
    """
    verdict = evidence.verdict
    status = np.where(verdict.determined, IDENTIFIED, BIPARTITE)
    status[~verdict.determined & verdict.isolated] = ISOLATED
    if evidence.chosen is not None:  # pairs were dropped: those who met someone all the same are told apart
        pairs = evidence.all_pairs()
        met = np.isin(np.arange(len(status)), np.concatenate([pairs.i, pairs.j]))
        status[(status == ISOLATED) & met] = IGNORED
    if evidence.n_classes < 2:
        status[:] = ONE_CLASS
    status[evidence.per_worker == 0] = NO_ANSWERS
    return status


def undetermined_note(status: IntArray) -> list[str]:
    """Tell in one line how many workers are not determined, and why; nothing if all are.

    >>> undetermined_note(np.array([0, 1, 1]))
    ["2 of 3 workers' skills are not determined: shares no task with anyone (2)"]
    """
    counts = {
        text.removeprefix("undetermined: "): int((status == code).sum())
        for code, text in enumerate(STATUSES)
        if text.startswith("undetermined") and np.any(status == code)
    }
    if not counts:
        return []
    reasons = ", ".join(f"{reason} ({n:,})" for reason, n in counts.items())
    return [f"{sum(counts.values()):,} of {len(status):,} workers' skills are not determined: {reasons}"]


def orientation_note(evidence: Evidence) -> list[str]:
    """Say that agreement leaves the sign of a group open, where several groups were each given one by assumption.

    >>> import quorate
    >>> from quorate.evidence import gather
    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyxx")}
    >>> orientation_note(gather(quorate.read(rows)))
    ['2 groups of workers never met: each is taken to be right more often than wrong; known labels would settle it']
    """
    verdict = evidence.verdict
    anchored = np.isin(np.arange(verdict.n_components), evidence.gold_component)
    free = int((verdict.identifiable & ~anchored).sum())
    if free == 0 or free + int(anchored.sum()) < 2:
        return []
    if free == 1:
        return ["1 group of workers never met gold: it is taken to be right more often than wrong"]
    return [
        f"{free:,} groups of workers never met: each is taken to be right more often than wrong; known labels would "
        "settle it"
    ]
