"""Workers whose skill is identified only by way of workers whose skill may be zero.

From exact correlations, with Z the workers of skill zero: a skill that is not zero is identified if and only if its
component of the graph **without Z** has an odd cycle; a skill of zero is identified if and only if the worker shares a
task with somebody outside Z. The paper's lemma [Ma20, Lemma 9, asylearn] divides by correlations along the cycle and
the path and so needs them to be non-zero. With skills (0, .9, .3, .7) and every odd cycle through the first worker,
only two products of the other three are known.

With noise, a worker is *strong* if its skill differs from zero at the 1 % level, all of its shared tasks together.
Identified are the strong workers of a component of strong workers with an odd cycle (or gold), and whoever shares a
task with one of them. The others are weakly identified: as determined as if the workers that are not strong had not
answered. The skills of a bipartite component of strong workers may be scaled, one side by a and the other by 1/a, as
far as no skill leaves its range; without strong peers every skill is possible.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple, Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.blocks.kernels import agreement_products, joined_workers, pair_counts
from quorate.blocks.numpy_kernels import unite
from quorate.blocks.sampling import MAX_TESTED_ANSWERS
from quorate.graph.components import parted
from quorate.graph.pairs import PairStats, correlations, n_answer_pairs, pair_stats, pair_table
from quorate.skills.intervals import WorkerScore, invert
from quorate.skills.signs import orient_components, tree_signs

# |skill| over its standard error at skill zero, from which on a worker is strong: two-sided level 1 %. A reference
# implementation tried 2.0, 2.6 and 3.2: identified workers were covered .939, .947 and .951, with 35, 45 and 52 % weak.
STRONG_Z = 2.576
MAX_ANSWER_PAIRS = 2_000_000  # above, no crowd is so sparse that its odd cycles rest on a few pairs; counting takes 1 s
# Logarithms of the scales whose deviance is computed: up to a factor of 20 either way, finest near 1 (steps of 0.007).
LOG_SCALES = 3.0 * np.sinh(4.0 * np.linspace(-1.0, 1.0, 121)) / np.sinh(4.0)
# Fieller's g, (z · standard error / estimate)² at 95 %, below which a ratio counts as normal; conventional (Finney).
MAX_LINEAR_G = 0.05


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
    # Of identified workers: the skill is multiplied by e^(exponent·t) where the component's scale is e^t; else zero.
    scale_exponent: FloatArray
    scale_component: IntArray  # a row of `scale_deviance`
    scale_deviance: FloatArray  # components × LOG_SCALES: twice the log-likelihood that the scale loses

    def first(self, n_workers: int) -> "WeakIdentification":
        """Return the entries of the first workers: those without gold."""
        return self.of(np.arange(n_workers))

    def of(self, unit: IntArray) -> "WeakIdentification":
        """Return one entry for each worker, that of the unit it belongs to."""
        of_worker = [name for name in self.__dataclass_fields__ if name != "scale_deviance"]
        return replace(self, **{name: getattr(self, name)[unit] for name in of_worker})

    def widen(
        self, low: FloatArray, high: FloatArray, score: WorkerScore, z: float, lowest: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return intervals that contain the identified set of every weakly identified worker.

        Those of identified workers contain their profile likelihood interval over the scale of their component.
        """
        low, high = self._profile(low, high, score, z, lowest)
        set_low = np.maximum(self.low - z * self.error, lowest)
        set_high = np.minimum(self.high + z * self.error, 1.0)
        is_weak = self.is_weak & ~np.isnan(low)
        return np.where(is_weak, np.minimum(low, set_low), low), np.where(is_weak, np.maximum(high, set_high), high)

    def _profile(
        self, low: FloatArray, high: FloatArray, score: WorkerScore, z: float, lowest: float
    ) -> tuple[FloatArray, FloatArray]:
        """Extend the intervals to every skill u for which some scale e^t has deviance(t) + own deviance(u, t) <= z².

        The standard errors of `low` and `high` are linear in the scale. Where the odd cycles of a component rest on
        few pairs, its scale is a ratio whose denominator may be near zero, and its error is far from normal (Fieller).
        """
        left = z * z - self.scale_deviance
        is_scaled = (self.scale_exponent != 0) & ~np.isnan(low) & ~np.isnan(score.raw[: len(low)])
        is_scaled &= ((left >= 0).sum(axis=1) > 1)[self.scale_component]
        chosen = np.flatnonzero(is_scaled)
        chosen_score = WorkerScore(*(column[chosen] for column in (score.raw, score.alpha, score.beta, score.gamma)))
        low = low.copy()
        high = high.copy()
        for t, left_at in zip(LOG_SCALES, left[self.scale_component[chosen]].T, strict=True):
            is_possible = left_at >= 0
            if not is_possible.any():
                continue
            factor = np.exp(self.scale_exponent[chosen] * t)
            ends = invert(chosen_score, np.maximum(left_at, 0.0), 1.0, -np.inf, np.inf)
            for end, best, extreme in zip(ends, (low, high), (np.minimum, np.maximum), strict=True):
                scaled = np.clip(end * factor, lowest, 1.0)
                best[chosen] = np.where(is_possible, extreme(best[chosen], scaled), best[chosen])
        return low, high


class Graph(Protocol):
    """The interaction graph as this test needs it."""

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Return a root for each worker and for its other copy, joined by the tasks that kept workers share."""

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Return which workers share a task with a chosen one."""

    def all_pairs(self) -> PairStats | None:
        """Return the pairs of workers; None where counting them costs too much."""

    def sampled_pairs(self) -> PairStats | None:
        """Return the pairs of workers in a sample of complete tasks; None where all pairs are as cheap."""


@dataclass(frozen=True)
class BlockGraph:
    """The graph of answers in blocks, wherever they are."""

    blocks: Blocks

    def roots(self, is_kept: BoolArray) -> IntArray:
        """Join the kept workers block by block."""
        n = self.blocks.n_workers
        all_nodes = np.arange(2 * n, dtype=np.int32)
        parent = all_nodes.copy()
        for roots_of_block in self.blocks.map(_joined_among, is_kept):
            unite(parent, all_nodes, roots_of_block)
        return parent

    def has_peer(self, is_chosen: BoolArray) -> BoolArray:
        """Sum the chosen peers of each worker."""
        (_, n_peers) = self.blocks.sum(agreement_products, is_chosen.astype(np.float64), self.blocks.n_classes)
        has_peer: BoolArray = n_peers > 0.5
        return has_peer

    def all_pairs(self) -> PairStats | None:
        """Count the pairs of a crowd with few answer pairs."""
        (counts,) = self.blocks.sum(pair_counts)
        return None if counts.sum() > MAX_ANSWER_PAIRS else pair_table(self.blocks)

    def sampled_pairs(self) -> PairStats | None:
        """Count the pairs of a sample of a large crowd."""
        if self.blocks.n_answers <= MAX_TESTED_ANSWERS:
            return None
        sample = self.blocks.sample(MAX_TESTED_ANSWERS).answers
        return None if n_answer_pairs(sample) > MAX_ANSWER_PAIRS else pair_stats(sample)


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

    def all_pairs(self) -> PairStats | None:
        """Return the table."""
        return self.pairs

    def sampled_pairs(self) -> None:
        """Return None: all pairs are counted."""


def weak_identification(
    graph: Graph,
    skills: FloatArray,
    raw: FloatArray,
    error: FloatArray,
    *,
    lowest: float,
    is_anchor: BoolArray,
    scale_by_cycles: bool = True,
) -> WeakIdentification:
    """Test which workers are strong, and who is identified without the others.

    Args:
        graph: who shares tasks with whom.
        skills: the estimate; NaN where the graph of all workers does not determine it.
        raw: estimate of each skill from the worker's own answers, its peers being known.
        error: standard error of that at skill zero.
        lowest: least skill, -1/(M-1).
        is_anchor: workers of known skill: gold.
        scale_by_cycles: the scale of a component rests on its odd cycles, so that its error is that of their pairs;
            otherwise the scale has no error.

    >>> skills = np.array([0.0, 0.9, 0.3, 0.7])
    >>> pairs = PairStats.linked(np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3]))
    >>> nobody = np.zeros(4, dtype=bool)
    >>> graph = PairGraph(pairs, 4)
    >>> weak = weak_identification(graph, skills, skills, np.full(4, 0.05), lowest=-1.0, is_anchor=nobody)
    >>> weak.is_weak.tolist(), weak.is_between.tolist()
    ([True, True, True, True], [True, False, False, False])
    >>> weak.low[1:].round(2).tolist(), weak.high[1:].round(2).tolist()
    ([0.27, 0.27, 0.21], [1.0, 1.0, 0.78])
    """
    n = len(skills)
    is_determined = ~np.isnan(skills)
    z = np.divide(np.abs(raw), error, out=np.zeros(n), where=(error > 0) & ~np.isnan(raw) & ~np.isnan(error))
    is_strong = is_anchor | (is_determined & (z >= STRONG_Z))
    root = graph.roots(is_strong)
    component, bipartite = parted(root)
    is_identifiable = ~bipartite
    is_identifiable[component[is_anchor]] = True
    is_core = is_strong & is_identifiable[component]
    is_known = is_core | graph.has_peer(is_core)
    is_weak = is_determined & ~is_known & ~is_anchor
    side = root[:n] < root[n:]
    low, high, set_error = _identified_sets(skills, error, lowest, is_weak & is_strong, component, side)
    is_between = ~is_strong & is_determined & graph.has_peer(is_weak & is_strong)
    scale = _no_scale_profile(n)
    if scale_by_cycles:
        scale = _scale_profile(graph, skills, raw, error, is_core, component, is_anchor, lowest)
    return WeakIdentification(skills, is_weak, is_strong, is_between, low, high, set_error, component, side, *scale)


def _no_scale_profile(n: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the profile of workers whose scale has no error: exponents of zero."""
    return np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros((1, len(LOG_SCALES)))


class _Coloured(NamedTuple):
    """A two-colouring of components, and which of them rest on little evidence within a colour."""

    core: PairStats  # pairs of the workers that were coloured
    product: FloatArray  # of the two skills of each of these pairs
    colour: FloatArray  # of each worker: 1 or -1
    is_within: BoolArray  # which pairs have one colour
    is_scaled: BoolArray  # workers of components whose scale is a ratio with a large error


def _coloured(pairs: PairStats, x: FloatArray, m: int, component: IntArray, is_scaled: BoolArray) -> _Coloured:
    """Colour the components of some workers so that little evidence lies within a colour; see `_scale_profile`."""
    n = len(x)
    core = pairs.among(is_scaled[pairs.i] & is_scaled[pairs.j])
    product = x[core.i] * x[core.j]
    evidence = core.shared * product**2 * (m - 1)
    colour = orient_components(tree_signs(n, core.i, core.j, -evidence), core.i, core.j, -evidence).sign
    is_within = colour[core.i] == colour[core.j]
    within_evidence = np.bincount(component[core.i], np.where(is_within, evidence, 0.0), n)
    # The products of the pairs within a colour are multiplied by e^2t, so that the variance of t is 1 / (4 evidence).
    is_loose = within_evidence[component] < NormalDist().inv_cdf(0.975) ** 2 / (4 * MAX_LINEAR_G)
    return _Coloured(core, product, colour, is_within, is_scaled & is_loose)


def _scale_profile(
    graph: Graph,
    skills: FloatArray,
    raw: FloatArray,
    error: FloatArray,
    is_core: BoolArray,
    component: IntArray,
    is_anchor: BoolArray,
    lowest: float,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return each identified worker's exponent of the scale and its row, and the deviance of each row's scales.

    A two-colouring of a component of strong workers leaves some pairs within a colour. Multiplying one colour by e^t
    and the other by e^-t changes only the products of these pairs, by e^2t or e^-2t, so that they alone determine t:
    the deviance is the sum of (C - product)² over the variance of C at that product. The colouring is one that leaves
    little evidence within, where the evidence of a pair is its information on ln|x|, N (x_i x_j)² (M - 1). A skill that
    the scale moves out of its range adds (skill - end of the range)² over the variance of the raw estimate.
    Workers who are not strong move against the peers that identify them. A component whose squared coefficient of
    variation of the scale is below `MAX_LINEAR_G` has no row: there errors are linear in the scale.
    """
    n = len(skills)
    nowhere = _no_scale_profile(n)
    is_scaled = is_core & ~np.isin(component, component[is_anchor])
    m = round(1 - 1 / lowest)
    x = np.nan_to_num(skills)
    if is_scaled.any():
        # More tasks only add evidence: what a sample of them determines need not be counted in all.
        some = graph.sampled_pairs()
        if some is not None:
            is_scaled = _coloured(some, x, m, component, is_scaled).is_scaled
    if not is_scaled.any():
        return nowhere
    pairs = graph.all_pairs()
    if pairs is None:
        return nowhere
    core, product, colour, is_within, is_scaled = _coloured(pairs, x, m, component, is_scaled)
    if not is_scaled.any():
        return nowhere
    is_within &= is_scaled[core.i]
    kept, row = np.unique(component[is_scaled], return_inverse=True)
    row_of = np.zeros(n, dtype=np.int64)
    row_of[is_scaled] = row
    within = core.among(is_within)
    fitted = product[is_within]
    observed = correlations(within, m)
    members = np.flatnonzero(is_scaled)
    end = np.where(x[members] > 0, 1.0, -lowest)
    deviance = np.empty((len(kept), len(LOG_SCALES)))
    for k, t in enumerate(LOG_SCALES):
        mean = np.clip(fitted * np.exp(2 * t * colour[within.i]), lowest, 1.0)
        variance = np.maximum((1 + (m - 1) * mean) * (1 - mean) / (m - 1), 1e-12) / within.shared
        excess = np.maximum(np.abs(raw[members]) - end * np.exp(-t * colour[members]), 0.0) / error[members]
        deviance[:, k] = np.bincount(row_of[within.i], (observed - mean) ** 2 / variance, len(kept))
        deviance[:, k] += np.bincount(row_of[members], excess**2, len(kept))
    deviance -= deviance.min(axis=1, keepdims=True)
    for one, other in ((pairs.i, pairs.j), (pairs.j, pairs.i)):
        by_core = is_scaled[other] & ~is_core[one]
        row_of[one[by_core]] = row_of[other[by_core]]
    weight = pairs.shared.astype(np.float64)
    to_i, to_j = (weight * x[peer] ** 2 * is_scaled[peer] for peer in (pairs.j, pairs.i))
    moved = pairs.by_worker(n, to_i * colour[pairs.j], to_j * colour[pairs.i])
    total = pairs.by_worker(n, to_i, to_j)
    against = -np.divide(moved, total, out=np.zeros(n), where=total > 0)
    against[is_core | is_anchor] = 0.0
    return np.where(is_scaled, colour, against), row_of, deviance


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


def _joined_among(block: Block, is_kept: BoolArray) -> IntArray:
    """Join the kept workers of a block by the tasks that they share."""
    kept = is_kept[block.worker[block.answers]]
    task = np.repeat(np.arange(block.n_tasks), block.per_task)[kept]
    start = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=block.n_tasks))])
    worker = block.worker[block.answers][kept]
    label = block.label[block.answers][kept]
    small = replace(block, start=start, worker=worker, label=label, symbol=None, abstentions=None)
    return joined_workers([small], block.n_workers)


@dataclass(frozen=True)
class Comparison:
    """A task for a worker that would resolve a weak identification."""

    task: int  # code
    worker: int  # who should answer it
    partner: int  # who answered it already
    workers: tuple[int, ...]  # weakly identified, whom it concerns


def comparisons(answers: Answers, weak: WeakIdentification, available: Iterable[int] | None = None) -> list[Comparison]:
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
    proposed: list[Comparison] = []
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
            proposed.append(Comparison(task, worker, partner, tuple(group.tolist())))
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
