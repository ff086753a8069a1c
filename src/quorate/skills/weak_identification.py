"""Workers whose skill is identified only through workers whose skill may be zero.

For exact correlations, let Z be the workers of skill zero. A skill that is not zero is identified if and only if its
component of the graph **without Z** has an odd cycle; a skill of zero is identified if and only if the worker shares a
task with a worker outside Z. The paper's lemma [Ma20, Lemma 9, asylearn] divides by the correlations along the cycle
and the path, so it needs them to be non-zero. With skills (0, .9, .3, .7) and every odd cycle through the first worker,
only two products of the other three skills are known.

With noise, a worker is *informative* if its skill differs from zero at the 1 % level, in a test over all of its shared
tasks; workers whom only this worker joins to the rest of the graph are no evidence about its skill
(`quorate.skills.pendant`). The informative workers of a component of informative workers with an odd cycle (or gold)
are identified, and so are all workers who share a task with one of them. The others are *weakly identified*: their
skills are determined only as far as without the answers of the workers who are not informative. So a worker may be
informative and weakly identified. In a bipartite component of informative workers, the skills of one side can be
multiplied by a and those of the other by 1/a, as long as no skill leaves its range; without informative peers every
skill is possible.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import agreement_products
from quorate.blocks.numpy_kernels import unite
from quorate.graph.components import components_of_roots, grouped
from quorate.graph.pairs import PairStats
from quorate.skills.pendant import PendantTrees
from quorate.statistics import critical_value

# A worker is informative if |skill| over its standard error at skill zero is at least this: a two-sided test at the 1 %
# level if the peers' skills are known. They are estimates: in sparse graphs 1 to 5 % of guessers pass, and more in the
# centre of a star, where the peers' skills follow the noise of the centre. With the exact level too few other workers
# pass (power .47 instead of .59 in 3-regular graphs). Tried: with 2.0, 2.6 and 3.2, 35, 45 and 52 % of workers in
# sparse crowds are weakly identified.
INFORMATIVE_Z = 2.576
# Level of the test that includes pairs with pendant trees; its critical value is at least INFORMATIVE_Z². At the level
# 1 %, 46 % of workers in sparse crowds would be weakly identified, 83 % of them in trees, instead of 44 and 68 %
# without this test.
PENDANT_LEVEL = 0.05


@dataclass(frozen=True)
class WeakIdentification:
    """Which workers are weakly identified, and which skills are possible for them; one entry per worker."""

    skills: FloatArray  # the estimate
    is_weakly_identified: BoolArray  # the skill is determined only through workers whose skill may be zero
    is_informative: BoolArray  # the skill differs from zero, so the worker's answers identify the skills of its peers
    is_between: BoolArray  # not informative, and sharing tasks with weakly identified informative workers
    low: FloatArray  # least possible skill
    high: FloatArray  # greatest possible skill
    error: FloatArray  # standard error at skill zero; zero where the set is the whole range
    component: IntArray  # of each worker in the graph of informative workers
    side: BoolArray  # of each worker in a bipartite component of informative workers

    def first(self, n_workers: int) -> "WeakIdentification":
        """Return the entries of the first workers, without gold."""
        return self.of(np.arange(n_workers))

    def of(self, unit: IntArray) -> "WeakIdentification":
        """Return one entry per worker: the entry of its unit."""
        return WeakIdentification(*(getattr(self, name)[unit] for name in self.__dataclass_fields__))

    def widen(self, low: FloatArray, high: FloatArray, z: float, lowest: float) -> tuple[FloatArray, FloatArray]:
        """Return intervals extended to contain all possible skills of weakly identified workers."""
        set_low = np.maximum(self.low - z * self.error, lowest)
        set_high = np.minimum(self.high + z * self.error, 1.0)
        is_widened = self.is_weakly_identified & ~np.isnan(low)
        wide_low = np.where(is_widened, np.minimum(low, set_low), low)
        wide_high = np.where(is_widened, np.maximum(high, set_high), high)
        return wide_low, wide_high


class Graph(Protocol):
    """The operations of the interaction graph that this test needs."""

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Return the roots of the two copies of each worker in the double cover of the graph of kept workers."""

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Return which workers share a task with a chosen one."""


@dataclass(frozen=True)
class BlockGraph:
    """The graph of answers in blocks, on any backend."""

    blocks: Blocks

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Connect the kept workers block by block."""
        return self.blocks.component_roots(is_kept)

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Count the chosen peers of each worker."""
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
        """Connect the pairs of kept workers."""
        kept = self.pairs.among(is_kept[self.pairs.i] & is_kept[self.pairs.j])
        root = np.arange(2 * self.n)
        unite(root, np.concatenate([kept.i, kept.i + self.n]), np.concatenate([kept.j + self.n, kept.j]))
        return root

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Check both workers of every pair."""
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
    """Test which workers are informative, and which workers are identified by informative workers alone.

    Args:
        graph: who shares tasks with whom.
        skills: the estimate; NaN where the graph of all workers does not determine it.
        z: estimate of each skill from the worker's own answers, for known skills of its peers, over its standard error
            at skill zero. Peers on pendant trees are left out; NaN if there are no other peers.
        error: standard error at skill zero of the estimate from all peers.
        lowest: least skill, -1/(M-1).
        is_anchor: workers of known skill (gold, or known from earlier runs).
        pendant: pairs with pendant trees, if there are any.

    >>> skills = np.array([0.0, 0.9, 0.3, 0.7])
    >>> pairs = PairStats.linked(np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3]))
    >>> nobody = np.zeros(4, dtype=bool)
    >>> graph = PairGraph(pairs, 4)
    >>> error = np.full(4, 0.05)
    >>> weak = weak_identification(graph, skills, skills / error, error, lowest=-1.0, is_anchor=nobody)
    >>> weak.is_weakly_identified.tolist(), weak.is_between.tolist()
    ([True, True, True, True], [True, False, False, False])
    >>> weak.low[1:].round(2).tolist(), weak.high[1:].round(2).tolist()
    ([0.27, 0.27, 0.21], [1.0, 1.0, 0.78])
    """
    is_determined = ~np.isnan(skills)
    is_informative = is_anchor | (is_determined & differs_from_zero(z, pendant))
    root = graph.roots(is_informative)
    component, bipartite = components_of_roots(root)
    is_identifiable = ~bipartite
    is_identifiable[component[is_anchor]] = True
    is_core = is_informative & is_identifiable[component]
    is_known = is_core if is_core.all() else is_core | graph.has_peer(is_core)
    is_weakly_identified = is_determined & ~is_known & ~is_anchor
    n = len(skills)
    side = root[:n] < root[n:]
    low, high, set_error = _identified_sets(
        skills, error, lowest, is_weakly_identified & is_informative, component, side
    )
    is_between = ~is_informative & is_determined & graph.has_peer(is_weakly_identified & is_informative)
    return WeakIdentification(
        skills, is_weakly_identified, is_informative, is_between, low, high, set_error, component, side
    )


def differs_from_zero(z: FloatArray, pendant: PendantTrees | None = None) -> BoolArray:
    """Return whether each skill differs from zero, tested by z and by the pairs with pendant trees.

    >>> differs_from_zero(np.array([2.5, -2.6, np.nan])).tolist()
    [False, True, False]
    >>> trees = PendantTrees(np.array([False, True]), np.array([4.0, 4.0]), np.array([1, 1]))
    >>> differs_from_zero(np.array([2.6, np.nan]), trees).tolist()  # 2.6² + 4 > 6.63; 4 < 6.63
    [True, False]
    """
    is_tested = ~np.isnan(z)
    statistic = np.where(is_tested, z, 0.0) ** 2
    if pendant is None:
        return np.asarray(statistic >= INFORMATIVE_Z**2)
    degrees = is_tested + pendant.n_pairs
    numbers, which = np.unique(np.maximum(degrees, 1), return_inverse=True)
    quantiles = np.array([critical_value(number, PENDANT_LEVEL) for number in numbers.tolist()])
    quantile = np.maximum(quantiles[which], INFORMATIVE_Z**2)
    return np.asarray((statistic + pendant.square >= quantile) & (degrees > 0))


def _identified_sets(
    skills: FloatArray,
    error: FloatArray,
    lowest: float,
    is_scaled: BoolArray,
    component: IntArray,
    side: BoolArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the least and greatest possible skill of each worker, and their standard error.

    Scaling can increase the skills of a side until its greatest is one, or reduce them until the greatest of the other
    side is one.
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
    workers: tuple[int, ...]  # the weakly identified workers whom it would identify


def comparisons(
    answers: Answers, weak: WeakIdentification, available: Iterable[int] | None = None
) -> list[ProposedComparison]:
    """Return, for every group of weakly identified workers, a comparison that would identify it, if there is one.

    In a bipartite component of informative workers, a common task of two workers of one side closes an odd cycle. If
    there is none, and for a worker who is not informative, the comparison is with an identified informative worker, or
    with any informative worker if there is no identified one.

    Args:
        answers: who answered what.
        weak: the test of these workers, without gold.
        available: codes of the workers who can be asked; by default all workers.
    """
    can_be_asked = np.zeros(answers.n_workers, dtype=bool)
    can_be_asked[list(range(answers.n_workers) if available is None else available)] = True
    is_core = weak.is_informative & ~weak.is_weakly_identified
    by_worker = np.argsort(answers.worker, kind="stable")
    tasks_by_worker = _TasksByWorker(answers.task[by_worker], starts_of(answers.per_worker))
    most_answers_first = np.lexsort([np.arange(answers.n_workers), -answers.per_worker])
    # The last partners of a group: identified informative workers or, if there are none, any informative worker.
    outside = most_answers_first[(is_core if is_core.any() else weak.is_informative)[most_answers_first]]
    scaled = np.flatnonzero(weak.is_weakly_identified & weak.is_informative)
    components, component = np.unique(weak.component[scaled], return_inverse=True)
    groups = [scaled[positions] for positions in grouped(component, len(components))]
    proposed: list[ProposedComparison] = []
    for group in groups:
        in_order = group[np.lexsort([group, -answers.per_worker[group]])]
        sides = (in_order[weak.side[in_order]], in_order[~weak.side[in_order]])
        pairs_of_set = [(side, side, frozenset[int]()) for side in sides]
        excluded = set(group.tolist())
        for askers, partners, left_out in (*pairs_of_set, (in_order, outside, excluded)):
            comparison = tasks_by_worker.first_comparison(askers[can_be_asked[askers]], partners, left_out)
            if comparison is not None:
                proposed.append(ProposedComparison(*comparison, tuple(group.tolist())))
                break
    alone = np.flatnonzero(weak.is_weakly_identified & ~weak.is_informative & can_be_asked)
    if len(alone) and len(outside):
        # Nearly every worker has not answered the first task of the first partner.
        task = int(tasks_by_worker.of(int(outside[0]))[0])
        has_answered = np.zeros(answers.n_workers, dtype=bool)
        has_answered[answers.worker[answers.task == task]] = True
        for worker in alone.tolist():
            if not has_answered[worker]:
                proposed.append(ProposedComparison(task, worker, int(outside[0]), (worker,)))
                continue
            comparison = tasks_by_worker.first_comparison(np.array([worker]), outside)
            if comparison is not None:
                proposed.append(ProposedComparison(*comparison, (worker,)))
    return proposed


@dataclass(frozen=True, eq=False)
class _TasksByWorker:
    """The tasks that each worker answered, ascending."""

    task: IntArray  # of each answer, sorted by worker
    start: IntArray  # [workers + 1]

    def of(self, worker: int) -> IntArray:
        """Return the tasks of a worker."""
        return self.task[self.start[worker] : self.start[worker + 1]]

    def first_comparison(
        self, askers: IntArray, partners: IntArray, excluded: Collection[int] = frozenset()
    ) -> tuple[int, int, int] | None:
        """Return a task of a partner that an asker has not answered, the asker and the partner; the first there is."""
        for worker in askers.tolist():
            done = set(self.of(worker).tolist())
            for partner in map(int, partners):  # one by one: usually the first is chosen
                if partner == worker or partner in excluded:
                    continue
                for task in self.of(partner).tolist():
                    if task not in done:
                        return task, worker, partner
        return None
