"""What the answers say of pairs of workers: their moments and their graph, with gold as a worker of skill one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.graph import Identifiability, identify, identify_pairs
from quorate.pairs import PairStats, correlations, drop_weak, pair_stats
from quorate.skills.moments import WEIGHTINGS, Moments, from_answers, from_pairs


@dataclass(frozen=True)
class Evidence:
    """The pairs that count, and how much; formed only where a step asks for them."""

    crowd: Answers  # its last worker is the known labels, if there are any
    is_gold: BoolArray  # of each worker
    chosen: PairStats | None  # the pairs that count; None for all of them, by N_ij, so that sums over tasks do
    weighting: str
    verdict: Identifiability

    @cached_property
    def moments(self) -> Moments:
        """The products that the solvers need."""
        return from_answers(self.crowd) if self.chosen is None else from_pairs(self.crowd.n_workers, *self.table)

    @cached_property
    def absolute_moments(self) -> Moments:
        """The same of the absolute correlations, whose solution is |s|."""
        i, j, weights, correlation = self.table
        return from_pairs(self.crowd.n_workers, i, j, weights, np.abs(correlation))

    @cached_property
    def table(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Every pair that counts: i, j, weight, correlation."""
        pairs = pair_stats(self.crowd) if self.chosen is None else self.chosen
        return pairs.i, pairs.j, WEIGHTINGS[self.weighting](pairs.shared), correlations(pairs, self.crowd.n_classes)

    @property
    def gold_component(self) -> IntArray:
        """The component that the known labels anchor: one number, or none."""
        return self.verdict.component[self.is_gold]


def gather(
    answers: Answers, gold: IntArray | None = None, *, weighting: str = "shared", threshold: float | None = None
) -> Evidence:
    """Choose the pairs that count, and judge their graph.

    Args:
        answers: who answered what.
        gold: the known class of each task, -1 where unknown; answers them as one more worker.
        weighting: of the pairs: ``shared`` (N_ij), ``binary`` or ``squared``.
        threshold: drop pairs of small correlation; see `quorate.pairs.drop_weak`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> gather(answers).verdict.identifiable.tolist(), gather(answers, np.array([1])).verdict.identifiable.tolist()
    ([False], [True])
    """
    crowd = answers if gold is None else answers.with_worker(gold)
    is_gold = np.arange(crowd.n_workers) >= answers.n_workers
    chosen = None
    if crowd.n_classes > 1 and (weighting != "shared" or threshold is not None):
        chosen = pair_stats(crowd)
        if threshold is not None:
            chosen = drop_weak(chosen, crowd.n_classes, crowd.n_workers, threshold)
    verdict = identify(crowd, is_gold) if chosen is None else identify_pairs(chosen, crowd.n_workers, is_gold)
    return Evidence(crowd, is_gold, chosen, weighting, verdict)
