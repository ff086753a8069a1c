"""Workers whose skill is identified only by way of workers whose skill may be zero.

From exact correlations, with Z the workers of skill zero: a skill that is not zero is identified if and only if its
component of the graph **without Z** has an odd cycle; a skill of zero is identified if and only if the worker shares a
task with somebody outside Z. The paper's lemma [Ma20, Lemma 9, asylearn] divides by correlations along the cycle and
the path and so needs them to be non-zero. With skills (0, .9, .3, .7) and every odd cycle through the first worker,
only two products of the other three are known.

With noise, a worker is *strong* if its skill differs from zero at the 1 % level, all of its shared tasks together;
workers who are joined to the rest by it alone are no evidence about its skill (`quorate.skills.pendant`).
Identified are the strong workers of a component of strong workers with an odd cycle (or gold), and whoever shares a
task with one of them. The others are weakly identified: as determined as if the workers that are not strong had not
answered. The skills of a bipartite component of strong workers may be scaled, one side by a and the other by 1/a, as
far as no skill leaves its range; without strong peers every skill is possible.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import agreement_products
from quorate.blocks.numpy_kernels import unite
from quorate.graph.components import parted
from quorate.graph.pairs import PairStats
from quorate.skills.pendant import PendantTrees
from quorate.statistics import critical_value

# |skill| over its standard error at skill zero, from which on a worker is strong: two-sided level 1 % if the peers'
# skills are known. They are estimates: of guessers in sparse graphs 1 to 5 % pass, and more in the centre of a star,
# where the peers' skills follow the noise of the centre. At the exact level too few other workers pass (power .47
# instead of .59 in 3-regular graphs). Tried: 2.0, 2.6 and 3.2: 35, 45 and 52 % of workers in sparse crowds are weak.
STRONG_Z = 2.576
# Level of the test by pairs with pendant trees, which does not decide below STRONG_Z either. With the same 1 % instead,
# 46 % of workers in sparse crowds are weak, 83 % of them in trees, instead of 44 and 68 % without this test.
PENDANT_LEVEL = 0.05


@dataclass(frozen=True)
class WeakIdentification:
    """Which workers are weakly identified, and the set of skills that is left to each; one entry per worker."""

    skills: FloatArray  # the estimate
    is_weak: BoolArray
    is_strong: BoolArray
    is_between: BoolArray  # not strong, and sharing tasks with weakly identified strong workers
    low: FloatArray  # least skill of the identified set
    high: FloatArray
    error: FloatArray  # standard error at skill zero; zero where the set is the whole range
    component: IntArray  # of the graph of strong workers
    side: BoolArray  # in a bipartite component of strong workers

    def first(self, n_workers: int) -> "WeakIdentification":
        """Return the entries of the first workers: those without gold."""
        return self.of(np.arange(n_workers))

    def of(self, unit: IntArray) -> "WeakIdentification":
        """Return one entry for each worker, that of the unit it belongs to."""
        return WeakIdentification(*(getattr(self, name)[unit] for name in self.__dataclass_fields__))

    def widen(self, low: FloatArray, high: FloatArray, z: float, lowest: float) -> tuple[FloatArray, FloatArray]:
        """Return intervals that contain the identified set of every weakly identified worker."""
        set_low = np.maximum(self.low - z * self.error, lowest)
        set_high = np.minimum(self.high + z * self.error, 1.0)
        is_weak = self.is_weak & ~np.isnan(low)
        return np.where(is_weak, np.minimum(low, set_low), low), np.where(is_weak, np.maximum(high, set_high), high)


class Graph(Protocol):
    """The interaction graph as this test needs it."""

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Return a root for each worker and for its other copy, joined by the tasks that kept workers share."""

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Return which workers share a task with a chosen one."""


@dataclass(frozen=True)
class BlockGraph:
    """The graph of answers in blocks, wherever they are."""

    blocks: Blocks

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Join the kept workers block by block."""
        return self.blocks.joined(is_kept)

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Sum the chosen peers of each worker."""
        if not is_chosen.any():
            return np.zeros(self.blocks.n_workers, dtype=bool)
        (_, n_peers) = self.blocks.sum(agreement_products, is_chosen.astype(np.float64), self.blocks.n_classes)
        has_peer: BoolArray = n_peers > 0.5
        return has_peer


@dataclass(frozen=True)
class PairGraph:
    """The graph of a table of pairs."""

    pairs: PairStats
    n: int

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Join the pairs of kept workers."""
        kept = self.pairs.among(is_kept[self.pairs.i] & is_kept[self.pairs.j])
        root = np.arange(2 * self.n)
        unite(root, np.concatenate([kept.i, kept.i + self.n]), np.concatenate([kept.j + self.n, kept.j]))
        return root

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Look at both ends of every pair."""
        has_peer = np.zeros(self.n, dtype=bool)
        has_peer[self.pairs.i[is_chosen[self.pairs.j]]] = True
        has_peer[self.pairs.j[is_chosen[self.pairs.i]]] = True
        return has_peer


def weak_identification(
    graph: Graph,
    skills: FloatArray,
    z: FloatArray,
    error: FloatArray,
    *,
    lowest: float,
    is_anchor: BoolArray,
    pendant: PendantTrees | None = None,
) -> WeakIdentification:
    """Test which workers are strong, and who is identified without the others.

    Args:
        graph: who shares tasks with whom.
        skills: the estimate; NaN where the graph of all workers does not determine it.
        z: estimate of each skill from the worker's own answers, its peers being known, over its standard error at skill
            zero; peers on pendant trees left out. NaN where there are no others.
        error: standard error at skill zero of the estimate from all peers.
        lowest: least skill, -1/(M-1).
        is_anchor: workers of known skill: gold.
        pendant: pairs with pendant trees, if there are any.

    >>> skills = np.array([0.0, 0.9, 0.3, 0.7])
    >>> pairs = PairStats.linked(np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3]))
    >>> nobody = np.zeros(4, dtype=bool)
    >>> graph = PairGraph(pairs, 4)
    >>> error = np.full(4, 0.05)
    >>> weak = weak_identification(graph, skills, skills / error, error, lowest=-1.0, is_anchor=nobody)
    >>> weak.is_weak.tolist(), weak.is_between.tolist()
    ([True, True, True, True], [True, False, False, False])
    >>> weak.low[1:].round(2).tolist(), weak.high[1:].round(2).tolist()
    ([0.27, 0.27, 0.21], [1.0, 1.0, 0.78])
    """
    is_determined = ~np.isnan(skills)
    is_strong = is_anchor | (is_determined & differs_from_zero(z, pendant))
    root = graph.roots(is_strong)
    component, bipartite = parted(root)
    is_identifiable = ~bipartite
    is_identifiable[component[is_anchor]] = True
    is_core = is_strong & is_identifiable[component]
    is_known = is_core if is_core.all() else is_core | graph.has_peer(is_core)
    is_weak = is_determined & ~is_known & ~is_anchor
    n = len(skills)
    side = root[:n] < root[n:]
    low, high, set_error = _identified_sets(skills, error, lowest, is_weak & is_strong, component, side)
    is_between = ~is_strong & is_determined & graph.has_peer(is_weak & is_strong)
    return WeakIdentification(skills, is_weak, is_strong, is_between, low, high, set_error, component, side)


def differs_from_zero(z: FloatArray, pendant: PendantTrees | None = None) -> BoolArray:
    """Test of each skill whether it differs from zero, by z and by the pairs with pendant trees.

    >>> differs_from_zero(np.array([2.5, -2.6, np.nan])).tolist()
    [False, True, False]
    >>> trees = PendantTrees(np.array([False, True]), np.array([4.0, 4.0]), np.array([1, 1]))
    >>> differs_from_zero(np.array([2.6, np.nan]), trees).tolist()  # 2.6² + 4 > 6.63; 4 < 6.63
    [True, False]
    """
    is_tested = ~np.isnan(z)
    statistic = np.where(is_tested, z, 0.0) ** 2
    if pendant is None:
        return np.asarray(statistic >= STRONG_Z**2)
    degrees = is_tested + pendant.n_pairs
    numbers, which = np.unique(np.maximum(degrees, 1), return_inverse=True)
    quantiles = np.array([critical_value(number, PENDANT_LEVEL) for number in numbers.tolist()])
    quantile = np.maximum(quantiles[which], STRONG_Z**2)
    return np.asarray((statistic + pendant.square >= quantile) & (degrees > 0))


def _identified_sets(
    skills: FloatArray,
    error: FloatArray,
    lowest: float,
    is_scaled: BoolArray,
    component: IntArray,
    side: BoolArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the ends of each set and its standard error: what scaling leaves within the range of skills.

    A side may grow until its greatest skill is one, or shrink until the other side's is.
    """
    n = len(skills)
    low = np.full(n, lowest)
    high = np.ones(n)
    set_error = np.zeros(n)
    size = np.bincount(component[is_scaled], minlength=n)
    members = np.flatnonzero(is_scaled & (size[component] > 1))
    greatest = np.zeros((2, n))
    own_side = side.astype(np.int64)
    np.maximum.at(greatest, (own_side[members], component[members]), np.abs(skills[members]))
    greatest_on_side = greatest[own_side[members], component[members]]
    other = greatest[1 - own_side[members], component[members]]
    ends = np.stack([skills[members] / np.maximum(greatest_on_side, 1e-12), skills[members] * other])
    low[members] = np.maximum(ends.min(axis=0), lowest)
    high[members] = np.minimum(ends.max(axis=0), 1.0)
    set_error[members] = np.nan_to_num(error[members])
    return low, high, set_error


@dataclass(frozen=True)
class ProposedComparison:
    """A task for a worker that would resolve a weak identification."""

    task: int  # code
    worker: int  # who should answer it
    partner: int  # who answered it already
    workers: tuple[int, ...]  # weakly identified, whom it concerns


def comparisons(
    answers: Answers, weak: WeakIdentification, available: Iterable[int] | None = None
) -> list[ProposedComparison]:
    """Propose, for every group of weakly identified workers, the comparison that would identify it.

    In a bipartite component of strong workers, two of one side close an odd cycle through strong workers; failing that,
    and for a worker without strong peers, a comparison with an identified strong worker, or with any strong one.

    Args:
        answers: who answered what.
        weak: the test of these workers, without gold.
        available: codes of the workers who can be asked; by default everyone.
    """
    can_be_asked = np.zeros(answers.n_workers, dtype=bool)
    can_be_asked[list(range(answers.n_workers) if available is None else available)] = True
    is_core = weak.is_strong & ~weak.is_weak
    proposed: list[ProposedComparison] = []
    is_scaled = weak.is_weak & weak.is_strong
    groups = [np.flatnonzero(is_scaled & (weak.component == k)) for k in np.unique(weak.component[is_scaled])]
    groups += [np.array([worker]) for worker in np.flatnonzero(weak.is_weak & ~weak.is_strong)]
    for group in groups:
        partners = [group[weak.side[group]], group[~weak.side[group]], np.flatnonzero(is_core)]
        if not is_core.any():
            partners.append(np.setdiff1d(np.flatnonzero(weak.is_strong), group))
        comparison = _first_comparison(answers, group, partners, can_be_asked)
        if comparison is not None:
            task, worker, partner = comparison
            proposed.append(ProposedComparison(task, worker, partner, tuple(group.tolist())))
    return proposed


def _first_comparison(
    answers: Answers, group: IntArray, partner_sets: Sequence[IntArray], can_be_asked: BoolArray
) -> tuple[int, int, int] | None:
    """Return a task of a partner for a worker of the group who has not answered it, the most active pair first."""
    is_member = np.zeros(answers.n_workers, dtype=bool)
    is_member[group] = True
    for partners in partner_sets:
        inside = bool(is_member[partners].any())
        askers = partners if inside else group
        for worker in sorted(askers[can_be_asked[askers]].tolist(), key=lambda code: -int(answers.per_worker[code])):
            done = set(answers.task[answers.worker == worker].tolist())
            for partner in sorted(partners.tolist(), key=lambda code: -int(answers.per_worker[code])):
                if partner == worker:
                    continue
                for task in answers.task[answers.worker == partner].tolist():
                    if task not in done:
                        return int(task), int(worker), int(partner)
    return None
