"""Groups that are loosely tied to the rest: one rule, for the finding that names them and the advice that settles them.

Whether the skills of a group are turned the right way round against the rest's is told by the tasks that both answered,
and by nothing else. Three workers a task, ten workers and a group of five, half of the groups contrary: with so many
tying tasks, the sign came out wrong in this share of 100 crowds (rank-one; `python benchmarks/tied_groups.py`).

| tying tasks | 2 | 5 | 10 | 20 | 35 | 50 | 75 | 100 |
|---|---|---|---|---|---|---|---|---|
| one worker ties | .26 | .12 | .06 | .05 | .01 | .01 | .00 | .00 |
| two do | .24 | .12 | .11 | .06 | .02 | .02 | .00 | .00 |
| five do | | .25 | .12 | .08 | .04 | .00 | .00 | .00 |

So what counts is the number of tasks, however many workers bridge, and at FEW_TIES the risk has come down to one or two
in a hundred. The rule needs a group to ask about, and any half of a small crowd shares few tasks with the other half. A
group is one that hangs by a single worker (`joints.py`), or shares a quarter of its tasks at the most (`cuts.py`).
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, take
from quorate.meetings.cuts import Cut, weakest_cut
from quorate.meetings.joints import joints
from quorate.meetings.pairs import PairStats

FEW_TIES = 50  # tasks: from so many on the sign is settled, by the table above
MOST_SHARED = 0.25  # of a group's tasks; in 600 crowds drawn at random, the weakest cut shared 0.27 of them and more
MOST_MET = 0.1  # of a group's meetings: where a few tasks have many answers, their meetings tell a group sooner


@dataclass(frozen=True)
class LooseGroup:
    """A group of workers that few tasks tie to the rest."""

    workers: IntArray  # codes; never gold's own
    ties: int  # tasks that someone of the group and someone of the rest answered
    own: int  # tasks that someone of the group answered, those included
    by: int = -1  # the only worker of either side who bridges, if it is one
    exact: bool = True  # False: the ties, and the group's own, are counted as meetings, of which a task has one or more


def loose_groups(
    members: IntArray, pairs: PairStats | None, answers: Answers | None, *, anchor: int | None = None
) -> list[LooseGroup]:
    """Find the loosely tied groups of a component: those that hang by one worker, and the one of the weakest cut.

    Args:
        members: the component's workers, gold's own code among them if it belongs there.
        pairs: of the component, over its own codes (places among the members); without, no cut is looked for.
        answers: of the component, over its own codes too, as `within` gives them. Without, as where only counts are at
            hand, the one group of the weakest cut is looked for, and its ties are counted as meetings: it is named less
            often, and never wrongly.
        anchor: the place of gold among the members: the groups are those without it, else the smaller side.

    >>> import quorate
    >>> from quorate.meetings.pairs import pair_stats
    >>> two = [(t, w) for t in range(9) for w in "abc"] + [(t, w) for t in range(9, 18) for w in "xyz"] + [(0, "x")]
    >>> tasks, workers = zip(*two)
    >>> answers = quorate.read({"task": tasks, "worker": workers, "label": ["lr"[t % 2] for t in tasks]})
    >>> (group,) = loose_groups(np.arange(6), pair_stats(answers), answers)
    >>> group.workers.tolist(), group.ties, group.own, group.by
    ([3, 4, 5], 1, 10, 3)
    """
    found: list[LooseGroup] = []
    if answers is not None:
        for joint in joints(answers, FEW_TIES):
            inside = _without(anchor, joint.members, len(members))
            found.append(LooseGroup(inside, joint.shared, tying_tasks(answers, inside)[1], joint.by))
    cut = weakest_cut(pairs, len(members), two_sided=False, anchor=anchor) if pairs is not None else None
    # A joint may stand on either side of one and the same division.
    if cut is not None and all(_apart(cut.workers, each.workers) > 1 for each in found):
        found += _of_cut(cut, answers)
    found.sort(key=lambda group: (-len(group.workers), group.workers.tolist()))
    return [
        replace(group, workers=members[group.workers], by=int(members[group.by]) if group.by >= 0 else -1)
        for group in found
    ]


def _of_cut(cut: Cut, answers: Answers | None) -> list[LooseGroup]:
    inside = np.flatnonzero(cut.workers)
    if answers is None:
        return [LooseGroup(inside, cut.holding, cut.own, exact=False)] if held_by_few(cut) else []
    ties, own = tying_tasks(answers, inside)
    is_group = ties <= MOST_SHARED * own or cut.holding <= MOST_MET * cut.own
    return [LooseGroup(inside, ties, own)] if is_group and ties < FEW_TIES else []


def _without(anchor: int | None, group: IntArray, n: int) -> IntArray:
    """Take the other side of a division if gold is on this one."""
    return np.setdiff1d(np.arange(n), group) if anchor is not None and anchor in group else group


def within(crowd: Answers, positions: IntArray, members: IntArray) -> Answers:
    """Keep the answers of one component, its workers called by their places among the members, and its tasks alone.

    Args:
        crowd: who answered what.
        positions: of the component's answers, in order.
        members: the component's workers, sorted.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2, 3], "worker": list("aba"), "label": list("xyx")})
    >>> within(answers, np.array([1]), np.array([1])).worker.tolist()
    [0]
    """
    kept, task = np.unique(crowd.task[positions], return_inverse=True)
    return Answers(
        task,
        np.searchsorted(members, crowd.worker[positions]),
        crowd.label[positions],
        take(crowd.task_names, kept),
        take(crowd.worker_names, members),
        crowd.classes,
    )


def held_by_few(cut: Cut) -> bool:
    """Whether so few meetings hold a group that, counted as they are, they settle nothing.

    >>> held_by_few(Cut(np.ones(4, dtype=bool), np.array([True, True, False, False]), 1, 241, 0.01))
    True
    """
    return cut.holding < FEW_TIES and cut.holding <= MOST_MET * cut.own


def tying_tasks(answers: Answers, workers: IntArray) -> tuple[int, int]:
    """Count the tasks that both these workers and others answered, and all that these answered.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2, 3], "worker": list("abab"), "label": list("xyxx")})
    >>> tying_tasks(answers, np.array([0]))
    (1, 2)
    """
    inside: BoolArray = np.zeros(answers.n_workers, dtype=bool)
    inside[workers] = True
    n = answers.by_task(inside[answers.worker])
    return int(((n > 0) & (n < answers.per_task)).sum()), int((n > 0).sum())


def _apart(one: BoolArray, other: IntArray) -> int:
    """Count the workers by whom two divisions of a component differ, whichever side each names."""
    unlike = len(np.setxor1d(np.flatnonzero(one), other))
    return min(unlike, len(one) - unlike)
