"""Weakly linked groups of a large crowd: searched in a sample of complete tasks, confirmed with all answers.

The search for weakest cuts and articulation points needs a table of pairs and a spanning tree of workers and tasks,
which are too large for millions of answers. A group that few tasks link to the rest is linked by at most as many tasks
in a sample, so the search in the sample finds it; but it also finds groups that are linked by many tasks in all
answers. So the tasks that link each group are counted over all answers, in one pass for 64 groups, and only groups that
few tasks link are returned. Groups of which the sample has too few tasks are missed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.graph.components import Identifiability, grouped, identify
from quorate.graph.pairs import pair_stats, too_many_pairs
from quorate.graph.weak_ties import (
    MAX_GROUPS,
    MAX_SHARED_TASKS,
    MIN_GROUP_WORKERS,
    MIN_SAFE_TIES,
    Cut,
    LooseGroup,
    has_few_links,
    loose_groups,
    weakest_cut,
    within,
)

BITS = 64  # number of groups that one integer per worker can mark


@dataclass(frozen=True)
class SampledTies:
    """Groups that were found in the sample and confirmed with all answers."""

    loose: tuple[LooseGroup, ...]  # the largest first
    near_bipartite: tuple[Cut, ...]  # over the codes of all workers


def sampled_ties(crowd: Answers, sample: Answers, identifiability: Identifiability, n_workers: int) -> SampledTies:
    """Return groups that few tasks link to the rest, searched in a sample and counted over all answers.

    The result is cached in the crowd, because `diagnose` and `advise` both need it.

    Args:
        crowd: who answered what, the known labels as one more worker.
        sample: the answers to some of its tasks, with the same codes of workers.
        identifiability: the components of the crowd.
        n_workers: number of workers without the known labels.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(400, 12, 4, seed=0).answers
    >>> sample = answers.only(np.arange(400) < 200)
    >>> sampled_ties(answers, sample, identify(answers), 12)
    SampledTies(loose=(), near_bipartite=())
    """
    cached: tuple[Answers, SampledTies] | None = crowd.__dict__.get("_sampled_ties")
    if cached is not None and cached[0] is sample:
        return cached[1]
    ties = _search_ties(crowd, sample, identifiability, n_workers)
    crowd.__dict__["_sampled_ties"] = (sample, ties)
    return ties


def _search_ties(crowd: Answers, sample: Answers, identifiability: Identifiability, n_workers: int) -> SampledTies:
    groups: list[IntArray] = []
    cuts: list[Cut] = []
    pieces = identify(sample)
    positions = grouped(pieces.component[sample.worker], pieces.n_components)
    members_of = grouped(pieces.component, pieces.n_components)
    largest = sorted(range(len(members_of)), key=lambda number: (-len(members_of[number]), number))[:MAX_GROUPS]
    for number in largest:
        members = members_of[number]
        if len(members) < MIN_GROUP_WORKERS:
            break
        groups.append(members)
        within_component = within(sample, positions[number], members)
        # With one task only, all groups are linked by this task.
        if within_component.n_tasks < 2:
            continue
        pairs = pair_stats(within_component) if too_many_pairs(within_component) is None else None
        groups += [group.workers for group in loose_groups(members, pairs, within_component)]
        cut = None if pairs is None else weakest_cut(pairs, len(members), two_sided=True)
        if cut is not None:
            cuts.append(_over_all_workers(cut, members, crowd.n_workers))
    sides = [side for group in groups if (side := _smaller_side(group, identifiability, n_workers)) is not None]
    unique = sorted({tuple(side.tolist()) for side in sides}, key=lambda codes: (-len(codes), codes))[:MAX_GROUPS]
    loose = tuple(_confirmed_groups(crowd, [np.array(codes, np.int64) for codes in unique]))
    counted = (_counted_cut(crowd, cut) for cut in cuts)
    has_gold = np.arange(crowd.n_workers) >= n_workers
    near = tuple(cut for cut in counted if has_few_links(cut) and not (cut.workers & has_gold).any())
    return SampledTies(loose, near)


def _smaller_side(group: IntArray, identifiability: Identifiability, n_workers: int) -> IntArray | None:
    """Return the group or the rest of its component: the side without known labels, or the smaller; None if no rest."""
    component = np.flatnonzero(identifiability.component == identifiability.component[group[0]])
    rest = component[~np.isin(component, group)]
    if len(rest) == 0:
        return None
    has_gold = bool((component >= n_workers).any())
    is_rest = bool((group >= n_workers).any()) if has_gold else len(rest) < len(group)
    return rest if is_rest else group


def _confirmed_groups(answers: Answers, groups: Sequence[IntArray]) -> Iterator[LooseGroup]:
    """Yield the groups that few tasks link to the rest in all answers, with the number of these tasks."""
    for start in range(0, len(groups), BITS):
        batch = groups[start : start + BITS]
        marks = np.zeros(answers.n_workers, np.uint64)
        for bit, group in enumerate(batch):
            marks[group] |= np.uint64(1 << bit)
        answered = np.flatnonzero(answers.per_task)
        of_answer = marks[answers.worker]
        any_member = np.bitwise_or.reduceat(of_answer, answers.start[answered])
        every_member = np.bitwise_and.reduceat(of_answer, answers.start[answered])
        reached = any_member != 0
        any_member = any_member[reached]
        every_member = every_member[reached]
        tasks = answered[reached]
        for bit, group in enumerate(batch):
            is_own = (any_member >> np.uint64(bit)) & np.uint64(1) == 1
            is_tie = is_own & ((every_member >> np.uint64(bit)) & np.uint64(1) == 0)
            ties = int(is_tie.sum())
            n_own_tasks = int(is_own.sum())
            if not 0 < ties < MIN_SAFE_TIES:
                continue
            by = _linking_worker(answers, tasks[is_tie], group)
            if by >= 0 or ties <= MAX_SHARED_TASKS * n_own_tasks:
                yield LooseGroup(group, ties, n_own_tasks, by)


def _linking_worker(answers: Answers, tasks: IntArray, group: IntArray) -> int:
    """Return the worker who is the only one of a side in all linking tasks; -1 if both sides have several."""
    linked = np.concatenate([answers.worker[answers.start[task] : answers.start[task + 1]] for task in tasks.tolist()])
    is_inside = np.isin(linked, group)
    for side in (np.unique(linked[is_inside]), np.unique(linked[~is_inside])):
        if len(side) == 1:
            return int(side[0])
    return -1


def _over_all_workers(cut: Cut, members: IntArray, n_workers: int) -> Cut:
    workers = np.zeros(n_workers, dtype=bool)
    side = np.zeros(n_workers, dtype=bool)
    workers[members] = cut.workers
    side[members] = cut.side
    return replace(cut, workers=workers, side=side)


def _counted_cut(answers: Answers, cut: Cut) -> Cut:
    """Return a cut of two sides with its answer pairs, and those that link it, counted over all answers."""

    def per_task(is_member: BoolArray) -> IntArray:
        counts = np.zeros(answers.n_tasks, np.int64)
        answered = np.flatnonzero(answers.per_task)
        counts[answered] = np.add.reduceat(is_member[answers.worker], answers.start[answered], dtype=np.int64)
        return counts

    n_first = per_task(cut.side)
    n_second = per_task(cut.workers & ~cut.side)
    outward = (n_first + n_second) * (answers.per_task - n_first - n_second)
    within_sides = (n_first * (n_first - 1) + n_second * (n_second - 1)) // 2
    linking = outward + within_sides
    return replace(cut, n_linking=int(linking.sum()), n_pairs=int((linking + n_first * n_second).sum()))
