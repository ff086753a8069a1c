"""Workers whose skill the answers do not determine, and groups whose sign or scale depends on a few shared tasks."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted
from quorate.arrays import IntArray, distinct
from quorate.diagnostics.components import PartPairs
from quorate.diagnostics.finding import Finding, ids, named, plain, subject
from quorate.graph.components import Component, Identifiability, grouped
from quorate.graph.sampled_ties import sampled_ties
from quorate.graph.weak_ties import Cut, LooseGroup, has_few_links, loose_groups, weakest_cut, within
from quorate.result import Result, count
from quorate.skills.identification import (
    BIPARTITE,
    DETERMINED,
    IGNORED,
    ISOLATED,
    NO_ANSWERS,
    NOT_ESTIMATED,
    ONE_CLASS,
    STATUSES,
    UNINFORMED,
    WEAKLY_IDENTIFIED,
)

# Why a worker cannot be rated, for one worker and for several, by status.
REASONS = {
    ISOLATED: ("no other worker answered the same tasks", "no other worker answered the same tasks"),
    BIPARTITE: ("too few tasks are shared with others", "they share too few tasks with others"),
    ONE_CLASS: ("every answer is the same", "every answer is the same"),
    UNINFORMED: (
        "the workers who share the tasks answer at random",
        "the workers who share their tasks answer at random",
    ),
    NO_ANSWERS: ("no answer could be used", "none of their answers could be used"),
    IGNORED: (
        "no correlation with other workers exceeds the threshold",
        "no correlation with other workers exceeds the threshold",
    ),
}


def _bipartite_sentence(names: pa.Array, sides: list[tuple[int, ...]]) -> str:
    """Describe two sides that share tasks only with each other."""
    if [len(side) for side in sides] == [1, 1]:
        both = subject(names, [*sides[0], *sides[1]])
        return f"{both} cannot be rated: they share tasks only with each other, so nothing shows which one is right"
    n = len(sides[0]) + len(sides[1])
    return (
        f"{n:,} workers cannot be rated: {named(names, sides[0])} share tasks only with {named(names, sides[1])}, so "
        "nothing shows which side is right"
    )


def identification_findings(result: Result, components: Iterator[Component]) -> Iterator[Finding]:
    """Yield a finding for every bipartite component, and one per reason for the other workers not identified.

    Args:
        result: of the method ``rank-one``.
        components: of its interaction graph.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = quorate.aggregate(answers, "rank-one")
    >>> for finding in identification_findings(result, result.identifiability.components()):
    ...     print(finding.sentence)
    a and b cannot be rated: they share tasks only with each other, so nothing shows which one is right
    c cannot be rated: no other worker answered the same tasks
    """
    answers = result.info
    names = answers.worker_names
    for part in components:
        workers = part.workers[part.workers < answers.n_workers]
        workers = workers[result.status[workers] == BIPARTITE]
        if len(workers) == 0:
            continue
        sides = [tuple(code for code in side if code < answers.n_workers) for side in part.sides]
        yield Finding(
            "cannot-be-judged",
            _bipartite_sentence(names, sides),
            float(len(workers)),
            "workers",
            workers=tuple(workers.tolist()),
            evidence={"reason": STATUSES[BIPARTITE], "sides": [_names(result, side) for side in sides]},
            figures="a bipartite component of the interaction graph: the answers do not determine its skills",
        )
    for status in distinct(result.status).tolist():
        if status in (*DETERMINED, BIPARTITE, NOT_ESTIMATED):
            continue
        workers = np.flatnonzero(result.status == status)
        is_one = len(workers) == 1
        reason = REASONS[status]
        who = subject(names, workers) if len(workers) <= 2 else f"{len(workers):,} workers ({named(names, workers)})"
        yield Finding(
            "cannot-be-judged",
            f"{who} cannot be rated: {reason[0] if is_one else reason[1]}",
            float(len(workers)),
            "workers",
            workers=tuple(workers.tolist()),
            evidence={"reason": STATUSES[status]},
        )


def weak_findings(result: Result) -> Iterator[Finding]:
    """Yield one finding about the weakly identified workers and the workers through whom they are compared.

    Args:
        result: of ``rank-one`` or the default method.

    >>> import quorate
    >>> edges = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3])
    >>> crowd = quorate.simulate.crowd_on_graph(edges, np.array([0.0, 0.9, 0.3, 0.7]), 4000, seed=0)
    >>> next(weak_findings(quorate.aggregate(crowd.answers, "rank-one"))).sentence
    '4 workers (w0, w1, w2, w3) can be rated only roughly: they are compared through w0, whose answers carry ...
    """
    is_weakly_identified = result.status == WEAKLY_IDENTIFIED
    weak = result.skill_estimates.weak
    if weak is None or not is_weakly_identified.any():
        return
    names = result.info.worker_names
    workers = np.flatnonzero(is_weakly_identified)
    between = np.flatnonzero(weak.is_between)
    yield Finding(
        "weakly-identified",
        result.weak_sentence(),
        float(len(workers)),
        "workers",
        workers=tuple(workers.tolist()),
        evidence={
            "between": [names[int(code)].as_py() for code in between],
            "strong": [names[int(code)].as_py() for code in workers if weak.is_informative[code]],
        },
        figures="no odd cycle among workers whose skill differs from zero (|z| of at least 2.576)",
    )


def _names(result: Result, codes: tuple[int, ...]) -> list[object]:
    return [result.info.worker_names[code].as_py() for code in codes]


MIN_COMPONENT_WORKERS = 4  # workers: the smallest component that can be nearly bipartite has two sides of two


def tie_findings(
    parts: Iterable[PartPairs], identifiability: Identifiability, crowd: Answers | None, answers: Counted
) -> Iterator[Finding]:
    """Yield findings about groups of workers whose sign or scale depends on a few shared tasks.

    Args:
        parts: every component with its pairs; only identifiable ones are examined.
        identifiability: the components of the interaction graph.
        crowd: who answered what, the known labels as one more worker; None where only counts are available.
        answers: the ids of the workers.

    >>> import quorate
    >>> from quorate.diagnostics.components import parts
    >>> from quorate.graph.components import identify
    >>> from quorate.graph.pairs import pair_stats
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> identifiability = identify(answers)
    >>> components = parts(identifiability, pair_stats(answers), complete=True)
    >>> list(tie_findings(components, identifiability, answers, answers))
    []
    """
    positions = None  # of the answers of each component
    if crowd is not None:
        positions = grouped(identifiability.component[crowd.worker], identifiability.n_components)
    for number, part in enumerate(parts):
        if not part.part.identifiable or part.part.bipartite or part.n_codes < MIN_COMPONENT_WORKERS:
            continue
        if crowd is not None and positions is not None and np.diff(crowd.task[positions[number][[0, -1]]])[0] == 0:
            continue  # all workers answered the same single task: no group is connected by fewer tasks than another
        gold = np.flatnonzero(part.members >= answers.n_workers)
        anchor = int(gold[0]) if len(gold) else None
        crowd_of_part = None if crowd is None or positions is None else within(crowd, positions[number], part.members)
        yield from loose_findings(loose_groups(part.members, part.pairs, crowd_of_part, anchor=anchor), answers)
        if part.pairs is None:
            continue
        near = weakest_cut(part.pairs, part.n_codes, two_sided=True)
        if near is None or not has_few_links(near):
            continue
        has_gold = anchor is not None and near.workers[anchor]  # then gold determines the scale of the group
        if not has_gold:
            yield scale_finding(near, part.members, answers)


def loose_findings(groups: list[LooseGroup], answers: Counted) -> Iterator[Finding]:
    """Yield a finding for each group of workers whose sign depends on a few shared tasks.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> [finding.sentence for finding in loose_findings([LooseGroup(np.array([1, 2, 3]), 4, 90, 2)], answers)]
    ['3 workers (w1, w2 and w3) share only 4 tasks with everyone else, all through w2. Their ratings depend on ...']
    """
    names = answers.worker_names
    for group in groups:
        is_gold = group.by >= answers.n_workers
        by = None if group.by < 0 or is_gold else names[group.by].as_py()
        if is_gold:
            through = ", all through the known labels"
        elif by is None:
            through = ""
        else:
            through = f", all through {plain(by)}"
        most = "" if group.exact else "at most "
        n = len(group.workers)
        who = f"{count(n, 'worker')} ({named(names, group.workers)})"
        share = "shares" if n == 1 else "share"
        their = "The rating depends" if n == 1 else "Their ratings depend"
        yield Finding(
            "loosely-tied",
            f"{who} {share} only {most}{count(group.ties, 'task')} with everyone else{through}. {their} on those few "
            "answers",
            float(group.ties),
            "shared tasks",
            workers=tuple(group.workers.tolist()),
            evidence={"ties": group.ties, "tasks": group.n_tasks, "by": by},
        )


def scale_finding(near: Cut, members: IntArray, answers: Counted) -> Finding:
    """Return the finding about a group that is nearly bipartite: its scale depends on a few shared tasks.

    Args:
        near: the group, over codes of the members.
        members: workers.
        answers: the ids of the workers.
    """
    names = answers.worker_names
    one = members[near.side]
    two = members[near.workers & ~near.side]
    return Finding(
        "near-bipartite",
        f"{subject(names, one)} and {named(names, two)} share tasks almost only with each other. Their ratings depend "
        f"on {near.n_linking:,} of {count(near.n_pairs, 'shared task')}",
        float(near.n_linking),
        "shared tasks",
        workers=tuple(members[near.workers].tolist()),
        evidence={
            "sides": [ids(names, side) for side in (one, two)],
            "ties": near.n_linking,
            "meetings": near.n_pairs,
            "eigenvalue": near.eigenvalue,
        },
    )


def graph_findings(
    result: Result, all_parts: Sequence[PartPairs], crowd: Answers | None = None, sample: Answers | None = None
) -> Iterator[Finding]:
    """Yield findings about skills that the interaction graph does not determine, or that depend on a few shared tasks.

    Args:
        result: of rank-one, on any backend.
        all_parts: its components with their pairs.
        crowd: who answered what, the known labels as one more worker; None where only counts are available.
        sample: the answers to some tasks of the crowd, in which such groups are searched for; None: all answers.

    >>> import quorate
    >>> from quorate.diagnostics.components import parts
    >>> from quorate.graph.pairs import pair_stats
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> result = quorate.aggregate(answers, "rank-one")
    >>> everyone = list(parts(result.identifiability, pair_stats(answers), complete=True))
    >>> [finding.kind for finding in graph_findings(result, everyone)]
    ['cannot-be-judged', 'cannot-be-judged']
    """
    yield from identification_findings(result, (part.part for part in all_parts))
    if crowd is None or sample is None:
        yield from tie_findings(all_parts, result.identifiability, crowd, result.info)
        return
    ties = sampled_ties(crowd, sample, result.identifiability, result.info.n_workers)
    yield from loose_findings(list(ties.loose), result.info)
    for near in ties.near_bipartite:
        yield scale_finding(near, np.arange(crowd.n_workers), result.info)
