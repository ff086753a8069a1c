"""Shared tasks and agreements of each pair of workers; the statistics of two batches add."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks.block import Block
from quorate.blocks.memory import Answered, answers_in

MAX_ANSWER_PAIRS = 50_000_000  # two answers to one task; counting as many takes 10 s
# Largest table of pairs: about 300 bytes and 2 microseconds per pair (`python benchmarks/sizes.py`). Eleven answers per
# task make five pairs per answer, so such crowds have a table whatever their size; a task with thousands of answers
# has none.
MIN_TABLE_PAIRS = 2_000_000
TABLE_PAIRS_PER_ANSWER = 5
CHUNK_PAIRS = 1 << 22  # pairs counted at a time, which bounds the memory


@dataclass(frozen=True, slots=True)
class PairStats:
    """Every pair of workers i < j who share a task, and how often they agreed; sorted by i, then j."""

    i: IntArray
    j: IntArray
    shared: IntArray  # N_ij: tasks both answered
    agreed: IntArray  # of those, answered alike

    def __len__(self) -> int:
        return len(self.i)

    @staticmethod
    def none() -> "PairStats":
        """The empty table."""
        empty = np.zeros(0, np.int64)
        return PairStats(empty, empty, empty, empty)

    @staticmethod
    def linked(i: IntArray, j: IntArray) -> "PairStats":
        """Pairs with one shared task each, for their graph only."""
        ones = np.ones(len(i), np.int64)
        return PairStats(i, j, ones, ones)

    def among(self, which: BoolArray | IntArray) -> "PairStats":
        """Keep some pairs, by a mask or by positions."""
        return PairStats(self.i[which], self.j[which], self.shared[which], self.agreed[which])

    def renamed(self, workers: IntArray) -> "PairStats":
        """Code each worker by its position among ``workers``, which are sorted and include all of them."""
        i, j = (np.searchsorted(workers, codes) for codes in (self.i, self.j))
        return PairStats(i, j, self.shared, self.agreed)

    def by_worker(self, n_workers: int, for_i: FloatArray, for_j: FloatArray | None = None) -> FloatArray:
        """Sum a value of each pair over the pairs of each worker; its two workers may have different values."""
        return sums_of_ends(n_workers, self.i, self.j, for_i, for_j)

    def n_peers(self, n_workers: int) -> IntArray:
        """Number of other workers with whom each worker shares a task."""
        return np.bincount(self.i, minlength=n_workers) + np.bincount(self.j, minlength=n_workers)

    def __add__(self, other: "PairStats") -> "PairStats":
        """Merge the statistics of two disjoint sets of tasks, over the same worker codes."""
        return _merge([self, other])


def pair_stats(answers: Answers) -> PairStats:
    """Count N_ij and the agreements of every pair; costs the sum of the squared redundancies.

    >>> import quorate
    >>> pairs = pair_stats(quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}))
    >>> pairs.shared.tolist(), pairs.agreed.tolist()
    ([2], [1])
    """
    total = PairStats.none()
    for first, second in answer_pairs(answers):
        one = answers.worker[first].astype(np.int64)
        two = answers.worker[second].astype(np.int64)
        agreed = (answers.label[first] == answers.label[second]).astype(np.int64)
        counted = _collect(np.minimum(one, two), np.maximum(one, two), np.ones(len(one), np.int64), agreed)
        total = total + counted if len(total) else counted
    return total


def pair_table(answered: Answered) -> PairStats:
    """Count N_ij and the agreements of every pair as a sum over blocks, wherever the answers are.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> pair_table(blocks_of(answers)).agreed.tolist()
    [1]
    """
    if isinstance(answered, Answers):
        return pair_stats(answered)
    total = PairStats.none()
    waiting: list[PairStats] = []
    n_waiting = 0
    for part in answered.map(_pairs_of_block):
        waiting.append(part)
        n_waiting += len(part)
        if n_waiting > max(len(total), CHUNK_PAIRS):  # merged in batches, so that merging costs no more than counting
            total = _merge([total, *waiting])
            waiting = []
            n_waiting = 0
    return _merge([total, *waiting])


def pairs_of_two(block: Block, is_chosen: BoolArray) -> PairStats:
    """Count the pairs of the tasks of a block with two answers, one of them by a chosen worker.

    >>> block = Block(np.array([0, 2, 5]), np.array([1, 0, 0, 1, 2]), np.zeros(5, int), n_workers=3, n_classes=2)
    >>> pairs = pairs_of_two(block, np.ones(3, dtype=bool))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.agreed.tolist()
    ([0], [1], [1])
    """
    first = block.start[:-1][block.per_task == 2]
    one = block.worker[first].astype(np.int64)
    two = block.worker[first + 1].astype(np.int64)
    agreed = (block.label[first] == block.label[first + 1]).astype(np.int64)
    kept = is_chosen[one] | is_chosen[two]
    counts = np.ones(int(kept.sum()), np.int64)
    return _collect(np.minimum(one, two)[kept], np.maximum(one, two)[kept], counts, agreed[kept])


def _pairs_of_block(block: Block) -> PairStats:
    return pair_stats(answers_in(block))


def _merge(parts: list[PairStats]) -> PairStats:
    columns = ([getattr(part, name) for part in parts] for name in ("i", "j", "shared", "agreed"))
    return _collect(*(np.concatenate(column) for column in columns))


def answer_pairs(answers: Answers) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in chunks, the positions of every two answers to one task, the earlier first.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> [(first.tolist(), second.tolist()) for first, second in answer_pairs(answers)]
    [([0, 0, 1], [1, 2, 2])]
    """
    # The answers are ordered by task, so an answer's later peers are the `ahead` ones that follow it.
    ahead = answers.start[answers.task + 1] - np.arange(answers.n_answers) - 1
    before = starts_of(ahead)
    start = 0
    while start < answers.n_answers:
        stop = max(start + 1, int(np.searchsorted(before, before[start] + CHUNK_PAIRS, side="right")) - 1)
        first = np.repeat(np.arange(start, stop), ahead[start:stop])
        if len(first):
            yield first, first + 1 + np.arange(len(first)) - (before[first] - before[start])
        start = stop


def n_answer_pairs(answers: Answers) -> int:
    """Number of pairs of answers to one task, which is the cost of `pair_stats`.

    >>> import quorate
    >>> n_answer_pairs(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}))
    3
    """
    redundancy = answers.per_task.astype(np.int64)
    return int((redundancy * (redundancy - 1) // 2).sum())


def too_many_pairs(answers: Answers) -> str | None:
    """Return why no table of pairs is made; None where one may be made.

    The decision needs no counting: it uses the number of answer pairs and the largest possible number of pairs.

    >>> import quorate
    >>> too_many_pairs(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})) is None
    True
    """
    n_pairs = n_answer_pairs(answers)
    if n_pairs > MAX_ANSWER_PAIRS:
        return f"the answers form {n_pairs:,} pairs; at most {MAX_ANSWER_PAIRS:,} are counted pair by pair"
    pairs = min(n_pairs, answers.n_workers * (answers.n_workers - 1) // 2)
    most = MIN_TABLE_PAIRS + TABLE_PAIRS_PER_ANSWER * answers.n_answers
    if pairs > most:
        return f"up to {pairs:,} pairs of workers share a task; the limit for {answers.n_answers:,} answers is {most:,}"
    return None


def correlations(pairs: PairStats, n_classes: int) -> FloatArray:
    """Estimate s_i s_j for each observed pair, without bias [Ma20, Section 4.2].

    >>> correlations(PairStats(*np.array([[0], [1], [4], [3]])), n_classes=2).tolist()
    [0.5]
    """
    # The lemma prints (M-1)/M once where M/(M-1) is meant.
    agreement = pairs.agreed / pairs.shared
    return (n_classes * agreement - 1) / (n_classes - 1)


def guesser_threshold(
    n_workers: int | IntArray, n_shared: FloatArray | IntArray | int, n_classes: int, *, for_all: bool = False
) -> FloatArray:
    """Return M/(M-1)·sqrt(log W / N), which no correlation of a worker of skill zero reaches, with high probability.

    A worker of skill zero agrees with any peer on a share Bin(N, 1/M)/N of N shared tasks, so its correlation has mean
    zero and range M/(M-1). By Hoeffding's inequality it reaches the threshold with probability at most 2/W², and any of
    its at most W - 1 pairs does with less than 2/W.

    Args:
        n_workers: W, or that of each pair's component.
        n_shared: N_ij of each pair; the paper writes T, all tasks, which is right where each pair shares all of them.
        n_classes: M.
        for_all: longer by sqrt(3/2), so that the probability that **any** guesser of the crowd keeps a pair is below
            1/W.

    >>> guesser_threshold(100, 400, 2).round(3).item()
    0.215
    """
    exponent = 1.5 if for_all else 1.0
    noise = np.sqrt(exponent * np.log(np.maximum(n_workers, 2)) / np.asarray(n_shared, dtype=np.float64))
    threshold: FloatArray = n_classes / (n_classes - 1) * noise
    return threshold


def drop_weak(
    pairs: PairStats, n_classes: int, n_workers: int, delta: float, *, n_tasks: int | None = None
) -> PairStats:
    """Drop the pairs whose correlation is below delta + M/(M-1)·sqrt(log W / N_ij) in absolute value.

    A worker of skill zero loses all of its pairs with probability above 1 - 2/W and so leaves the estimate. With the
    same probability a pair with |s_i s_j| of at least delta and twice the threshold is kept (at W = 100 and N = 400
    with two classes .43; at N = 20 none can be).

    Args:
        pairs: of workers.
        n_classes: M.
        n_workers: W.
        delta: added to the threshold.
        n_tasks: T, for the paper's form with T in place of every N_ij [Ma20, after Theorem 12, pert].

    >>> pairs = PairStats(*np.array([[0, 0], [1, 2], [400, 400], [300, 205]]))
    >>> len(drop_weak(pairs, n_classes=2, n_workers=3, delta=0.05))
    1
    """
    return pairs.among(stand_out(pairs, n_classes, n_workers, delta, n_tasks=n_tasks))


def stand_out(
    pairs: PairStats, n_classes: int, n_workers: int | IntArray, delta: float, *, n_tasks: int | None = None
) -> BoolArray:
    """Return which pairs `drop_weak` keeps; the number of workers W may be that of each pair's component.

    >>> stand_out(PairStats(*np.array([[0, 0], [1, 2], [400, 400], [300, 205]])), 2, np.array([3, 3]), 0.05).tolist()
    [True, False]
    """
    n_shared = pairs.shared if n_tasks is None else np.full(len(pairs), n_tasks)
    threshold = delta + guesser_threshold(n_workers, n_shared, n_classes)
    strong: BoolArray = np.abs(correlations(pairs, n_classes)) >= threshold
    return strong


def sums_of_ends(n: int, i: IntArray, j: IntArray, for_i: FloatArray, for_j: FloatArray | None = None) -> FloatArray:
    """Sum a value of each link over the links that end in each of n nodes; its two ends may have different values.

    >>> sums_of_ends(3, np.array([0, 0]), np.array([1, 2]), np.array([1.0, 10.0])).tolist()
    [11.0, 1.0, 10.0]
    """
    sums: FloatArray = np.bincount(i, for_i, n).astype(np.float64, copy=False)
    sums += np.bincount(j, for_i if for_j is None else for_j, n)
    return sums


def _collect(i: IntArray, j: IntArray, shared: IntArray, agreed: IntArray) -> PairStats:
    """Sum the counts of equal pairs."""
    if len(i) == 0:
        return PairStats(i, j, shared, agreed)
    width = int(j.max()) + 1
    # Counts stay far below 2^53, so summing them as floats is exact.
    if width * width <= 4 * len(i):  # few workers: a dense table instead of sorting
        dense = [np.bincount(i * width + j, counts, width * width).astype(np.int64) for counts in (shared, agreed)]
        keys = np.flatnonzero(dense[0])
        return PairStats(keys // width, keys % width, dense[0][keys], dense[1][keys])
    keys, place = np.unique(i * width + j, return_inverse=True)
    sums = [np.bincount(place, counts, len(keys)).astype(np.int64) for counts in (shared, agreed)]
    return PairStats(keys // width, keys % width, *sums)
