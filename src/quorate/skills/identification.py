"""Statistics of worker pairs and what they identify: moments, interaction graph, status of each worker.

Gold labels act as a worker of skill one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import NamedTuple

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.kernels import coincidences
from quorate.blocks.memory import Answered, blocks_of
from quorate.graph.components import Identifiability, identify, identify_pairs
from quorate.graph.pairs import MAX_ANSWER_PAIRS, PairStats, correlations, drop_weak, pair_table
from quorate.skills.moments import Moments, Weighting, from_answers, from_pairs, weights_of

# Up to this number of worker pairs a table of pairs is made and the gradient flow followed: 17 s and 100 MB in the
# worst case (45,000 workers with four answers each). Above, coordinate descent by sums over tasks, on every backend.
MAX_PAIRS = 200_000
# number of tasks on which the threshold of a pair depends
SHARED_TASKS = "shared"
ALL_TASKS = "all"
THRESHOLDS = (SHARED_TASKS, ALL_TASKS)


@dataclass(frozen=True, eq=False)
class Identification:
    """The pairs that are used, with their weights, and the interaction graph; pairs are computed when needed."""

    per_worker: IntArray  # N_i; the last worker is the known labels, if there are any
    n_classes: int
    is_gold: BoolArray  # of each worker
    chosen: PairStats | None  # the pairs that are used; None for all pairs with weights N_ij: no table is needed
    weighting: Weighting
    graph: Identifiability  # the interaction graph: its components, and which are identifiable
    n_answer_pairs: int  # pairs of two answers to one task
    all_pairs: Callable[[], PairStats]
    all_moments: Callable[[], Moments]  # with the weights N_ij
    oriented: BoolArray | None = field(default=None, kw_only=True)  # components whose sign prior skills determine

    @property
    def most_pairs(self) -> int:
        """Upper bound of the number of worker pairs, computed without a table."""
        n_workers = len(self.per_worker)
        return min(self.n_answer_pairs, n_workers * (n_workers - 1) // 2)

    @property
    def has_pair_table(self) -> bool:
        """Whether a table of all worker pairs is made; it depends only on the crowd's size, not on the backend."""
        return self.most_pairs <= MAX_PAIRS and self.n_answer_pairs <= MAX_ANSWER_PAIRS

    @cached_property
    def moments(self) -> Moments:
        """The products that the solvers need: from the pair table, or as sums over tasks if the table is too large."""
        if self.chosen is None and not self.has_pair_table:
            return self.all_moments()
        return from_pairs(len(self.per_worker), *self.table)

    @cached_property
    def absolute_moments(self) -> Moments:
        """The moments of the absolute correlations, whose solution is |s|."""
        i, j, weights, correlation = self.table
        return from_pairs(len(self.per_worker), i, j, weights, np.abs(correlation))

    @cached_property
    def table(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """All pairs that are used: i, j, weight, correlation."""
        pairs = self.all_pairs() if self.chosen is None else self.chosen
        return pairs.i, pairs.j, weights_of(self.weighting, pairs.shared), correlations(pairs, self.n_classes)

    @cached_property
    def gold_component(self) -> IntArray:
        """Number of the component of the known labels, as an array; empty without known labels."""
        return self.graph.component[self.is_gold]

    @cached_property
    def anchored(self) -> BoolArray:
        """Which components have their sign determined by known labels or by skills from earlier runs."""
        by_gold = np.zeros_like(self.graph.bipartite)
        by_gold[self.gold_component] = True
        return by_gold if self.oriented is None else by_gold | self.oriented

    @cached_property
    def unanchored(self) -> BoolArray:
        """Which components are determined up to their sign, for which only the sum rule remains."""
        return self.graph.identifiable & ~self.anchored


@dataclass(frozen=True)
class AnswersIdentification(Identification):
    """The identification of a crowd, and its answers, from which moments are summed."""

    crowd: Answered  # its last worker is the known labels, if there are any


def identify_workers(
    answers: Answered,
    gold: IntArray | None = None,
    *,
    use_block_gold: bool = False,
    weighting: Weighting = "shared",
    threshold: float | None = None,
    threshold_by: str = SHARED_TASKS,
) -> AnswersIdentification:
    """Choose the pairs to use, and test which workers their graph identifies.

    Args:
        answers: who answered what.
        gold: for answers in memory: the known class of each task, -1 where unknown; used as one more worker.
        use_block_gold: for blocks: use the gold that they contain as one more worker.
        weighting: of the pairs: ``shared`` (N_ij), ``binary``, ``squared``, or a function of N_ij.
        threshold: drop pairs of small correlation; see `quorate.graph.pairs.drop_weak`.
        threshold_by: ``shared`` for the number of tasks of each pair, ``all`` for the paper's T, all tasks.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> identify_workers(answers).graph.identifiable.tolist()
    [False]
    >>> identify_workers(answers, gold=np.array([1])).graph.identifiable.tolist()
    [True]
    """
    crowd = answers
    if use_block_gold:
        from quorate.blocks.transform import GoldAsWorker, TransformedBlocks  # a crowd without gold does not need it

        crowd = TransformedBlocks(blocks_of(answers), GoldAsWorker())
    elif gold is not None:
        assert isinstance(answers, Answers)  # blocks contain their gold
        crowd = answers.with_worker(gold)
    is_gold = np.arange(crowd.n_workers) >= answers.n_workers
    all_pairs = cache(partial(pair_table, crowd))
    n_tasks = crowd.n_tasks if threshold_by == ALL_TASKS else None
    chosen = choose(
        all_pairs, crowd.n_workers, crowd.n_classes, weighting=weighting, threshold=threshold, n_tasks=n_tasks
    )
    graph = identify(crowd, is_gold) if chosen is None else identify_pairs(chosen, crowd.n_workers, is_gold)
    return AnswersIdentification(
        crowd.per_worker,
        crowd.n_classes,
        is_gold,
        chosen,
        weighting,
        graph,
        int(blocks_of(crowd).sum(coincidences, crowd.n_classes)[0].sum()),
        all_pairs,
        partial(from_answers, crowd),
        crowd,
    )


def choose(
    all_pairs: Callable[[], PairStats],
    n_workers: int,
    n_classes: int,
    *,
    weighting: Weighting,
    threshold: float | None,
    n_tasks: int | None = None,
) -> PairStats | None:
    """Return the pairs to use; None for all pairs with weights N_ij, for which no table of pairs is needed.

    >>> choose(lambda: PairStats(*np.array([[0], [1], [4], [3]])), 2, 2, weighting="binary", threshold=None).agreed
    array([3])
    >>> choose(lambda: PairStats(*np.array([[0], [1], [4], [3]])), 2, 2, weighting="shared", threshold=None) is None
    True
    """
    if n_classes < 2 or (weighting == "shared" and threshold is None):
        return None
    pairs = all_pairs()
    return pairs if threshold is None else drop_weak(pairs, n_classes, n_workers, threshold, n_tasks=n_tasks)


IDENTIFIED, ISOLATED, BIPARTITE, ONE_CLASS, UNINFORMED, NO_ANSWERS, IGNORED, NOT_ESTIMATED, COPYING = range(9)
WEAKLY_IDENTIFIED = 9  # see `quorate.skills.weak_identification`
DETERMINED = (IDENTIFIED, COPYING, WEAKLY_IDENTIFIED)  # those with a skill


class UndeterminedReason(NamedTuple):
    """Why a skill is not determined: text of the status, and predicate of a sentence on one worker or on several."""

    status: str
    of_one: str
    of_several: str


# By status.
UNDETERMINED_REASONS = {
    ISOLATED: UndeterminedReason(
        "shares no task with others",
        of_one="shares no task with others",
        of_several="share no task with others",
    ),
    BIPARTITE: UndeterminedReason(
        "the workers form two sides that share tasks only with each other",
        of_one="is on one of two sides that share tasks only with each other",
        of_several="form two sides that share tasks only with each other",
    ),
    ONE_CLASS: UndeterminedReason(
        "all answers are the same",
        of_one="gave the same answer as everyone else",
        of_several="gave the same answer every time",
    ),
    UNINFORMED: UndeterminedReason(
        "shares tasks only with workers who guess",
        of_one="shares tasks only with workers who guess",
        of_several="share tasks only with workers who guess",
    ),
    NO_ANSWERS: UndeterminedReason(
        "has no answer left",
        of_one="has no answer left",
        of_several="have no answer left",
    ),
}
BELOW_THRESHOLD = "no correlation above the threshold"
# A worker's status is a position in this list.
STATUSES = (
    "identified",
    *(f"undetermined: {reason.status}" for reason in UNDETERMINED_REASONS.values()),
    f"ignored: {BELOW_THRESHOLD}",
    "not estimated by this method",
    "copies: repeats the answers of other workers",
    "weakly identified",
)


def statuses(identification: Identification) -> IntArray:
    """Return the status of each worker, as a position in `STATUSES`, by the graph; gold, if there is any, is last.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> [STATUSES[k] for k in statuses(identify_workers(answers))[1:]]
    ['undetermined: the workers form two sides ...', 'undetermined: shares no task with others']
    """
    graph = identification.graph
    status = np.where(graph.determined, IDENTIFIED, BIPARTITE)
    status[~graph.determined & graph.isolated] = ISOLATED
    if identification.chosen is not None:
        # Workers who share a task, but have only dropped pairs, have a status of their own.
        pairs = identification.all_pairs()
        has_shared_task = np.isin(np.arange(len(status)), np.concatenate([pairs.i, pairs.j]))
        status[(status == ISOLATED) & has_shared_task] = IGNORED
    if identification.n_classes < 2:
        status[:] = ONE_CLASS
    status[identification.per_worker == 0] = NO_ANSWERS
    return status
