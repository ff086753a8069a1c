"""Workers who cannot be judged because nothing in the answers determines their skill, and why."""

from collections.abc import Iterator

import numpy as np

from quorate.diagnosis.finding import Finding, named
from quorate.meetings.graph import Component
from quorate.result import Result, count
from quorate.skills.evidence import (
    BELOW_THRESHOLD,
    BIPARTITE,
    DETERMINED,
    NOT_ESTIMATED,
    STATUSES,
    UNDETERMINED,
    WEAKLY_IDENTIFIED,
)


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


def weak_findings(result: Result) -> Iterator[Finding]:
    """Return a finding for the weakly identified workers, with the workers in between.

    Args:
        result: of `quorate.methods.rank_one.rank_one`.

    >>> import quorate
    >>> edges = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3])
    >>> crowd = quorate.simulate.crowd_on_graph(edges, np.array([0.0, 0.9, 0.3, 0.7]), 4000, seed=0)
    >>> next(weak_findings(quorate.aggregate(crowd.answers, "rank-one"))).sentence
    "4 workers are weakly identified, only by way of 'w0': a skill there cannot be told from zero"
    """
    is_weak = result.status == WEAKLY_IDENTIFIED
    weak = result.workforce.weak
    if weak is None or not is_weak.any():
        return
    names = result.roster.worker_names
    workers = np.flatnonzero(is_weak)
    between = np.flatnonzero(weak.is_between)
    verb = "is" if len(workers) == 1 else "are"
    reason = f"only by way of {named(names, between)}: a skill there" if len(between) else "because a skill"
    comma = "," if len(between) else ""
    yield Finding(
        "weakly-identified",
        f"{count(len(workers), 'worker')} {verb} weakly identified{comma} {reason} cannot be told from zero",
        float(len(workers)),
        "workers",
        workers=tuple(workers.tolist()),
        evidence={
            "between": [names[int(code)].as_py() for code in between],
            "strong": [names[int(code)].as_py() for code in workers if weak.is_strong[code]],
        },
        figures="no odd cycle among workers whose skill differs from zero (|z| of at least 2.576)",
    )


def _names(result: Result, codes: tuple[int, ...]) -> list[object]:
    return [result.roster.worker_names[code].as_py() for code in codes]
