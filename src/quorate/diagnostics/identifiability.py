"""Workers who cannot be judged because nothing in the answers determines their skill, and why.

Groups of workers whose skills hang on a few shared tasks: their sign, or their scale.

What the interaction graph does not determine, and what it determines only by a thread.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from quorate.answers import Answers, Counted
from quorate.arrays import IntArray
from quorate.diagnostics.components import PartPairs
from quorate.diagnostics.finding import Finding, ids, named
from quorate.graph.components import Component, Identifiability, grouped
from quorate.graph.pairs import PairStats
from quorate.graph.weak_ties import LooseGroup, held_by_few, loose_groups, weakest_cut, within
from quorate.result import Result, count
from quorate.skills.identification import (
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
    answers = result.crowd_info
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
    weak = result.skill_estimates.weak
    if weak is None or not is_weak.any():
        return
    names = result.crowd_info.worker_names
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
    return [result.crowd_info.worker_names[code].as_py() for code in codes]


LEAST_COMPONENT = 4  # workers: two sides of two are the least that can be nearly bipartite


def tie_findings(
    parts: Iterable[PartPairs], verdict: Identifiability, crowd: Answers | None, answers: Counted
) -> Iterator[Finding]:
    """Tell of the groups of every identifiable component whose sign or scale hangs on a few shared tasks.

    Args:
        parts: every component with its pairs.
        verdict: that they are of.
        crowd: who answered what, the known labels as one more worker; None where only counts are at hand.
        answers: who is named.

    >>> import quorate
    >>> from quorate.diagnostics.components import parts
    >>> from quorate.graph.components import identify
    >>> from quorate.graph.pairs import pair_stats
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> verdict = identify(answers)
    >>> list(tie_findings(parts(verdict, pair_stats(answers), complete=True), verdict, answers, answers))
    []
    """
    positions = None if crowd is None else grouped(verdict.component[crowd.worker], verdict.n_components)
    for number, each in enumerate(parts):
        if not each.part.identifiable or each.part.bipartite or each.n_codes < LEAST_COMPONENT:
            continue
        if crowd is not None and positions is not None and np.diff(crowd.task[positions[number][[0, -1]]])[0] == 0:
            continue  # one task, which everyone answered: no group of them is held by less than any other
        gold = np.flatnonzero(each.members >= answers.n_workers)
        anchor = int(gold[0]) if len(gold) else None
        own = None if crowd is None or positions is None else within(crowd, positions[number], each.members)
        yield from loose_findings(loose_groups(each.members, each.pairs, own, anchor=anchor), answers)
        if each.pairs is not None:
            yield from scale_findings(each.pairs, each.members, answers, anchor=anchor)


def loose_findings(groups: list[LooseGroup], answers: Counted) -> Iterator[Finding]:
    """Tell of the groups whose sign hangs on a few shared tasks.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> [finding.sentence for finding in loose_findings([LooseGroup(np.array([1, 2, 3]), 4, 90, 2)], answers)]
    ["3 workers met the rest on 4 shared tasks only, all by 'w2', which decide alone whether their skills are ..."]
    """
    names = answers.worker_names
    for group in groups:
        gold = group.by >= answers.n_workers
        by = None if group.by < 0 or gold else names[group.by].as_py()
        through = ", all by the known labels" if gold else "" if by is None else f", all by {by!r}"
        most = "" if group.exact else " at the most"
        yield Finding(
            "loosely-tied",
            f"{count(len(group.workers), 'worker')} met the rest on {count(group.ties, 'shared task')}{most} only"
            f"{through}, which decide alone whether their skills are turned the right way round: "
            f"{named(names, group.workers)}",
            float(group.ties),
            "shared tasks",
            workers=tuple(group.workers.tolist()),
            evidence={"ties": group.ties, "tasks": group.own, "by": by},
        )


def scale_findings(
    pairs: PairStats, members: IntArray, answers: Counted, *, anchor: int | None = None
) -> Iterator[Finding]:
    """Tell of the group of a component that is nearly of two sides, whose scale hangs on a few meetings.

    Args:
        pairs: of the component, over its own codes.
        members: the component's workers, gold's own code among them if it belongs there.
        answers: who answered what.
        anchor: the place of gold among the members: it gives its group a scale.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> from quorate.graph.pairs import pair_stats
    >>> list(scale_findings(pair_stats(answers), np.arange(8), answers))
    []
    """
    near = weakest_cut(pairs, len(members), two_sided=True)
    if near is None or not held_by_few(near) or (anchor is not None and near.workers[anchor]):
        return
    names = answers.worker_names
    one, two = members[near.side], members[near.workers & ~near.side]
    yield Finding(
        "near-bipartite",
        f"{named(names, one)} met almost only {named(names, two)}, and the reverse: "
        f"{count(near.holding, 'shared task')} of {near.own:,} fix the scale of their skills",
        float(near.holding),
        "shared tasks",
        workers=tuple(members[near.workers].tolist()),
        evidence={
            "sides": [ids(names, side) for side in (one, two)],
            "ties": near.holding,
            "meetings": near.own,
            "eigenvalue": near.eigenvalue,
        },
    )


def graph_findings(result: Result, everyone: Sequence[PartPairs], crowd: Answers | None = None) -> Iterator[Finding]:
    """Tell what the interaction graph does not determine, and which groups of it hang on a few shared tasks.

    Args:
        result: of rank-one, wherever the answers lie.
        everyone: its components with their pairs.
        crowd: who answered what, the known labels as one more worker; None where only counts are at hand.

    >>> import quorate
    >>> from quorate.diagnostics.components import parts
    >>> from quorate.graph.pairs import pair_stats
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = quorate.aggregate(answers, "rank-one")
    >>> everyone = list(parts(result.identifiability, pair_stats(answers), complete=True))
    >>> [finding.kind for finding in graph_findings(result, everyone)]
    ['cannot-be-judged', 'cannot-be-judged']
    """
    yield from identification_findings(result, (each.part for each in everyone))
    yield from tie_findings(everyone, result.identifiability, crowd, result.crowd_info)
