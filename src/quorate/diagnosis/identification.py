"""Workers who cannot be judged because nothing in the answers determines their skill, and why."""

from collections.abc import Iterator

import numpy as np

from quorate.diagnosis.finding import Finding, named
from quorate.meetings.graph import Component
from quorate.result import Result, count
from quorate.skills.evidence import BELOW_THRESHOLD, BIPARTITE, DETERMINED, NOT_ESTIMATED, STATUSES, UNDETERMINED


def identification_findings(result: Result, components: Iterator[Component]) -> Iterator[Finding]:
    """Tell of every bipartite component with its two sides, and of the other workers not determined by their reason.

    Args:
        result: of `quorate.methods.rank_one.rank_one`.
        components: of its interaction graph.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = quorate.aggregate(answers, "rank-one")
    >>> for finding in identification_findings(result, result.identifiability.components()):
    ...     print(finding.sentence)
    2 workers cannot be judged: 'a' only ever shared tasks with 'b' and the reverse, so nothing tells which ...
    1 worker cannot be judged (shares no task with anyone): 'c'
    """
    answers = result.roster
    names = answers.worker_names
    for part in components:
        workers = part.workers[part.workers < answers.n_workers]
        workers = workers[result.status[workers] == BIPARTITE]
        if len(workers) == 0:
            continue
        sides = [tuple(code for code in side if code < answers.n_workers) for side in part.sides]
        yield Finding(
            "cannot-be-judged",
            f"{count(len(workers), 'worker')} cannot be judged: {named(names, sides[0])} only ever shared tasks with "
            f"{named(names, sides[1])} and the reverse, so nothing tells which side is right",
            float(len(workers)),
            "workers",
            workers=tuple(workers.tolist()),
            evidence={"reason": STATUSES[BIPARTITE], "sides": [_names(result, side) for side in sides]},
            figures="a bipartite component of the interaction graph: no method can tell its skills",
        )
    for status in np.unique(result.status).tolist():
        if status in (*DETERMINED, BIPARTITE, NOT_ESTIMATED):
            continue
        workers = np.flatnonzero(result.status == status)
        reason = UNDETERMINED.get(status, BELOW_THRESHOLD)
        yield Finding(
            "cannot-be-judged",
            f"{count(len(workers), 'worker')} cannot be judged ({reason}): {named(names, workers)}",
            float(len(workers)),
            "workers",
            workers=tuple(workers.tolist()),
            evidence={"reason": STATUSES[status]},
        )


def _names(result: Result, codes: tuple[int, ...]) -> list[object]:
    return [result.roster.worker_names[code].as_py() for code in codes]
