"""Groups of workers whose skills hang on a few shared tasks: their sign, or their scale."""

from collections.abc import Iterable, Iterator

import numpy as np

from quorate.answers import Answers, Counted
from quorate.arrays import IntArray
from quorate.diagnosis.components import PartPairs
from quorate.diagnosis.finding import Finding, ids, named
from quorate.meetings.cuts import weakest_cut
from quorate.meetings.graph import Identifiability, grouped
from quorate.meetings.pairs import PairStats
from quorate.meetings.ties import LooseGroup, held_by_few, loose_groups, within
from quorate.result import count

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
    >>> from quorate.diagnosis.components import parts
    >>> from quorate.meetings.graph import identify
    >>> from quorate.meetings.pairs import pair_stats
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
    >>> from quorate.meetings.pairs import pair_stats
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
