"""Which workers are a family: the grouping that the answers speak for, among none and the candidates."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.scatter import drawn
from quorate.skills.clusters import groupings
from quorate.voting.families import Families, learn_families
from quorate.voting.group_units import one_voice

ENOUGH = 50_000  # answers on which groupings are compared, at the most
MEMBER = 1.1  # nats that each member costs: one worker in four belongs to some family, log 3
REPEATED = 0.6  # of a family's answers, at the least: simulated families (70 to 90 % shared, copying) repeat .65 to .9;
# the groups that real crowds fall into by skill or kind of task .2 to .58, and the others of a crowd with a family .6
LEAST_ALONE = 3  # voices outside the families, or two families would only contradict each other

Belief = Callable[[Answers], FloatArray]  # a first posterior of some answers


@dataclass(frozen=True)
class Kin:
    """The grouping found."""

    group: IntArray  # of each worker
    gain: float  # nats over no grouping, after what it costs; 0 where none was found


def find_kin(answers: Answers, posterior: FloatArray, belief: Belief) -> Kin:
    """Try every candidate grouping, and keep the likeliest that costs less than it gains.

    Args:
        answers: who answered what.
        posterior: what the tasks are believed to be where nobody is in a family.
        belief: gives the posterior of other answers, those of groups that speak with one voice.

    >>> import quorate
    >>> from quorate.voting.vote import majority
    >>> answers = quorate.simulate.crowd(300, 10, 5, seed=0).answers
    >>> find_kin(answers, majority(answers).posterior, lambda voices: majority(voices).posterior).gain
    0.0
    """
    kept = drawn(answers, ENOUGH)
    if kept is not None:
        answers, posterior = answers.only(kept), posterior[kept]
    alone = np.arange(answers.n_workers)
    none = learn_families(answers, alone, posterior)
    best = Kin(alone, 0.0)
    for group in groupings(answers):
        if int((np.bincount(group) == 1).sum()) < LEAST_ALONE:
            continue
        fitted = learn_families(answers, group, start_of(answers, group, posterior, belief))
        gain = fitted.log_likelihood - none.log_likelihood - cost_of(group, answers.n_classes, answers.n_tasks)
        if gain > best.gain and repeated(group, fitted, answers.per_worker) >= REPEATED:
            best = Kin(group, gain)
    return best


def start_of(answers: Answers, group: IntArray, posterior: FloatArray, belief: Belief) -> FloatArray:
    """Say where to begin: what groups believe that speak with one voice, if three voices or more are left.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(9, 4, 4, seed=0).answers
    >>> start_of(answers, np.array([0, 0, 0, 1]), answers.counts / 4, lambda _: answers.counts)[0].sum().item()
    1.0
    """
    return posterior if int(group.max()) + 1 < LEAST_ALONE else belief(one_voice(answers, group))


def cost_of(group: IntArray, n_classes: int, n_tasks: int) -> float:
    """Return what a grouping costs: half a log(tasks) for each entry of a family's matrix, and its members.

    >>> cost_of(np.array([0, 1, 2]), 2, 100)
    0.0
    """
    size = np.bincount(group)
    families, members = int((size > 1).sum()), int(size[size > 1].sum())
    return float(families * (n_classes**2 + 1) * 0.5 * np.log(max(n_tasks, 2)) + MEMBER * members)


def repeated(group: IntArray, fitted: Families, per_worker: IntArray) -> float:
    """Return how much of the answers of the loosest family repeats the family's own.

    >>> none = Families(*(np.zeros((1, 1)),) * 2, np.zeros((2, 3, 2)), np.array([1.0, 0.5, 0.0]), 0.0)
    >>> repeated(np.array([0, 0, 1]), none, np.array([3, 1, 9]))
    0.875
    """
    shares = [
        np.average(fitted.shared[group == k], weights=np.maximum(per_worker[group == k], 1)) * fitted.draws[k]
        for k in np.flatnonzero(np.bincount(group) > 1)
    ]
    return float(min(shares))


def own_groups(group: IntArray) -> IntArray | None:
    """Give groups numbers from 0, whoever is in none (-1) being one of its own; None where nobody shares one.

    >>> own_groups(np.array([5, -1, 5, -1])).tolist(), own_groups(np.array([0, 1]))
    ([2, 1, 2, 0], None)
    """
    apart = np.where(group >= 0, group, -1 - np.arange(len(group)))
    codes = np.unique(apart, return_inverse=True)[1].astype(np.int64)
    return None if int(codes.max(initial=0)) + 1 == len(group) else codes
