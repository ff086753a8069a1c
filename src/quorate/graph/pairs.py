"""Shared tasks and agreements of each pair of workers; the statistics of batches of tasks can be added."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks import kernels
from quorate.blocks.block import Block, Blocks
from quorate.blocks.memory import Answered, MemoryBlocks, answers_in, memory_blocks

MAX_ANSWER_PAIRS = 50_000_000  # pairs of answers to one task; to count this number takes 10 s
# The largest table of pairs has MIN_TABLE_PAIRS and TABLE_PAIRS_PER_ANSWER for each answer, at about 300 bytes and 2
# microseconds per pair (`python benchmarks/sizes.py`). Eleven answers per task make five pairs per answer, so crowds of
# any size with up to eleven answers per task have a table; a task with thousands of answers has none.
MIN_TABLE_PAIRS = 2_000_000
TABLE_PAIRS_PER_ANSWER = 5
MAX_CACHED_PAIRS = 2_000_000  # 64 MB
CHUNK_PAIRS = 1 << 22  # answer pairs counted at once, which limits the memory
# In C, pairs are counted in a table of all pairs of workers, 5 ns per cell; sorting the answer pairs takes 35 ns each.
# Bands of rows limit the memory to 32 MB.
MAX_CELLS_PER_ANSWER_PAIR = 4
BAND_CELLS = 1 << 22


@dataclass(frozen=True, slots=True)
class PairStats:
    """All pairs of workers i < j who share a task, and how often they agreed; sorted by i, then j."""

    i: IntArray
    j: IntArray
    shared: IntArray  # N_ij: number of tasks that both answered
    agreed: IntArray  # number of these tasks with equal answers

    def __len__(self) -> int:
        return len(self.i)

    @staticmethod
    def none() -> "PairStats":
        """Return a table without pairs."""
        empty = np.zeros(0, np.int64)
        return PairStats(empty, empty, empty, empty)

    @staticmethod
    def linked(i: IntArray, j: IntArray) -> "PairStats":
        """Return pairs with one shared task each, for functions that use only their graph."""
        ones = np.ones(len(i), np.int64)
        return PairStats(i, j, ones, ones)

    @staticmethod
    def concatenated(parts: "Sequence[PairStats]") -> "PairStats":
        """Return the pairs of several tables, one table after another."""
        columns = ([getattr(part, name) for part in parts] for name in ("i", "j", "shared", "agreed"))
        return PairStats(*(np.concatenate(column) for column in columns))

    def among(self, which: BoolArray | IntArray | slice) -> "PairStats":
        """Return some of the pairs, selected by a mask, by positions or by a slice."""
        return PairStats(self.i[which], self.j[which], self.shared[which], self.agreed[which])

    def renamed(self, workers: IntArray) -> "PairStats":
        """Return the pairs with each worker's position in ``workers`` (sorted, with all workers) as its code."""
        i, j = (np.searchsorted(workers, codes) for codes in (self.i, self.j))
        return PairStats(i, j, self.shared, self.agreed)

    def by_worker(self, n_workers: int, for_i: FloatArray, for_j: FloatArray | None = None) -> FloatArray:
        """Return for each worker the sum over its pairs of `for_i` (as worker i) or `for_j` (as j; default `for_i`)."""
        return sums_of_ends(n_workers, self.i, self.j, for_i, for_j)

    def n_peers(self, n_workers: int) -> IntArray:
        """Number of other workers with whom each worker shares a task."""
        return np.bincount(self.i, minlength=n_workers) + np.bincount(self.j, minlength=n_workers)

    def __add__(self, other: "PairStats") -> "PairStats":
        """Merge the statistics of two disjoint sets of tasks, over the same worker codes."""
        return _merge([self, other])


def pair_stats(answers: Answers) -> PairStats:
    """Return N_ij and the agreements of every pair; the time is the sum over tasks of the squared number of answers.

    A table of at most MAX_CACHED_PAIRS pairs is cached with the answers, because the skills, the tests of pairs and the
    advice need the same one.

    >>> import quorate
    >>> pairs = pair_stats(quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}))
    >>> pairs.shared.tolist(), pairs.agreed.tolist()
    ([2], [1])
    """
    return _cached_pairs(memory_blocks(answers), lambda: _pair_stats(answers))


def _cached_pairs(blocks: MemoryBlocks, count: Callable[[], PairStats]) -> PairStats:
    """Return the pairs that are cached with the blocks of answers in memory, or else count them."""
    pairs: PairStats | None = blocks.__dict__.get("_pairs")
    if pairs is None:
        pairs = count()
        if len(pairs) <= MAX_CACHED_PAIRS:
            blocks.__dict__["_pairs"] = pairs
    return pairs


def _pair_stats(answers: Answers) -> PairStats:
    if kernels.native is not None and answers.n_workers**2 <= MAX_CELLS_PER_ANSWER_PAIR * n_answer_pairs(answers):
        return _counted_in_bands(answers)
    total = PairStats.none()
    for first, second in answer_pairs(answers):
        one = answers.worker[first].astype(np.int64)
        two = answers.worker[second].astype(np.int64)
        agreed = (answers.label[first] == answers.label[second]).astype(np.int64)
        chunk = _count(np.minimum(one, two), np.maximum(one, two), agreed)
        total = total + chunk if len(total) else chunk
    return total


def _counted_in_bands(answers: Answers) -> PairStats:
    """Return the pairs from tables of all pairs of workers, one table for each band of workers."""
    n = answers.n_workers
    block = memory_blocks(answers).all_tasks
    height = max(BAND_CELLS // n, 1)
    bands = []
    for low in range(0, n, height):
        counts = kernels.pair_counts(block, low, min(low + height, n))
        # In place: new arrays of this size take more time than the counts.
        j = np.flatnonzero(counts)
        shared = counts.ravel()[j].view(np.int64)
        i = np.repeat(np.arange(low, low + len(counts)), np.count_nonzero(counts, axis=1))
        agreed = i - low
        agreed *= n
        j -= agreed
        np.right_shift(shared, 32, out=agreed)
        shared &= 0xFFFFFFFF
        bands.append(PairStats(i, j, shared, agreed))
    return bands[0] if len(bands) == 1 else PairStats.concatenated(bands)


def pair_table(answered: Answered) -> PairStats:
    """Return N_ij and the agreements of every pair as a sum over blocks, on any backend.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")})
    >>> pair_table(blocks_of(answers)).agreed.tolist()
    [1]
    """
    if isinstance(answered, Answers):
        return pair_stats(answered)
    if isinstance(answered, MemoryBlocks):
        return _cached_pairs(answered, lambda: _sum_of_blocks(answered))
    return _sum_of_blocks(answered)


def _sum_of_blocks(blocks: Blocks) -> PairStats:
    total = PairStats.none()
    waiting: list[PairStats] = []
    n_waiting = 0
    for part in blocks.map(_pairs_of_block):
        waiting.append(part)
        n_waiting += len(part)
        if n_waiting > max(len(total), CHUNK_PAIRS):  # merged in batches, so that merging takes no longer than counting
            total = _merge([total, *waiting])
            waiting = []
            n_waiting = 0
    return _merge([total, *waiting])


def pairs_of_two(block: Block, is_chosen: BoolArray) -> PairStats:
    """Return the pairs of those tasks of a block that have two answers, one of them by a chosen worker.

    >>> block = Block(np.array([0, 2, 5]), np.array([1, 0, 0, 1, 2]), np.zeros(5, int), n_workers=3, n_classes=2)
    >>> pairs = pairs_of_two(block, np.ones(3, dtype=bool))
    >>> pairs.i.tolist(), pairs.j.tolist(), pairs.agreed.tolist()
    ([0], [1], [1])
    """
    first = block.start[:-1][block.per_task == 2]
    one = block.worker[first].astype(np.int64)
    two = block.worker[first + 1].astype(np.int64)
    agreed = (block.label[first] == block.label[first + 1]).astype(np.int64)
    has_chosen = is_chosen[one] | is_chosen[two]
    return _count(np.minimum(one, two)[has_chosen], np.maximum(one, two)[has_chosen], agreed[has_chosen])


def _pairs_of_block(block: Block) -> PairStats:
    return _pair_stats(answers_in(block))


def _merge(parts: list[PairStats]) -> PairStats:
    pairs = PairStats.concatenated(parts)
    return _collect(pairs.i, pairs.j, pairs.shared, pairs.agreed)


def answer_pairs(answers: Answers) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in chunks, the positions (first, second) of all pairs of answers to one task.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> [(first.tolist(), second.tolist()) for first, second in answer_pairs(answers)]
    [([0, 0, 1], [1, 2, 2])]
    """
    # The answers are ordered by task, so the second answers are the next `n_later` ones.
    n_later = answers.start[answers.task + 1] - np.arange(answers.n_answers) - 1
    before = starts_of(n_later)
    start = 0
    while start < answers.n_answers:
        stop = max(start + 1, int(np.searchsorted(before, before[start] + CHUNK_PAIRS, side="right")) - 1)
        first = np.repeat(np.arange(start, stop), n_later[start:stop])
        if len(first):
            yield first, first + 1 + np.arange(len(first)) - (before[first] - before[start])
        start = stop


def n_answer_pairs(answers: Answers) -> int:
    """Return the number of pairs of answers to one task, to which the time of `pair_stats` is proportional.

    >>> import quorate
    >>> n_answer_pairs(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}))
    3
    """
    redundancy = answers.per_task.astype(np.int64)
    return int((redundancy * (redundancy - 1) // 2).sum())


def too_many_pairs(answers: Answers) -> str | None:
    """Return the reason why no table of pairs is made; None if a table can be made.

    Pairs are not counted: the number of answer pairs and the largest possible number of pairs are enough.

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
    """Return the unbiased estimate of s_i s_j for each pair [Ma20, Section 4.2].

    >>> correlations(PairStats(*np.array([[0], [1], [4], [3]])), n_classes=2).tolist()
    [0.5]
    """
    # The lemma once prints (M-1)/M instead of M/(M-1).
    agreement = pairs.agreed / pairs.shared
    return (n_classes * agreement - 1) / (n_classes - 1)


def guesser_threshold(
    n_workers: int | IntArray, n_shared: FloatArray | IntArray | int, n_classes: int, *, for_all: bool = False
) -> FloatArray:
    """Return M/(M-1)·sqrt(log W / N), above all correlations of a worker of skill zero with high probability.

    A worker of skill zero agrees with any peer on a share Bin(N, 1/M)/N of N shared tasks, so its correlation has mean
    zero and range M/(M-1). By Hoeffding's inequality it reaches the threshold with probability at most 2/W²; the
    probability that any of its at most W - 1 pairs does is less than 2/W.

    Args:
        n_workers: W, or the number of workers of each pair's component.
        n_shared: N_ij of each pair; the paper writes T, all tasks, which is right if each pair shares all tasks.
        n_classes: M.
        for_all: multiply by sqrt(3/2), so that the probability that **any** guesser of the crowd keeps a pair is below
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
    """Return the pairs with an absolute correlation of at least delta + M/(M-1)·sqrt(log W / N_ij).

    A worker of skill zero loses all of its pairs with probability above 1 - 2/W and then has no effect on the estimate.
    With the same probability a pair is kept if |s_i s_j| is at least delta plus twice the threshold (with W = 100,
    N = 400, two classes and delta = 0 this is .43; with N = 20 no pair can be kept).

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
    return pairs.among(exceeds_threshold(pairs, n_classes, n_workers, delta, n_tasks=n_tasks))


def exceeds_threshold(
    pairs: PairStats, n_classes: int, n_workers: int | IntArray, delta: float, *, n_tasks: int | None = None
) -> BoolArray:
    """Return a mask of the pairs that `drop_weak` keeps; W may be the number of workers of each pair's component.

    >>> pairs = PairStats(*np.array([[0, 0], [1, 2], [400, 400], [300, 205]]))
    >>> exceeds_threshold(pairs, 2, np.array([3, 3]), 0.05).tolist()
    [True, False]
    """
    n_shared = pairs.shared if n_tasks is None else np.full(len(pairs), n_tasks)
    threshold = delta + guesser_threshold(n_workers, n_shared, n_classes)
    strong: BoolArray = np.abs(correlations(pairs, n_classes)) >= threshold
    return strong


def sums_of_ends(n: int, i: IntArray, j: IntArray, for_i: FloatArray, for_j: FloatArray | None = None) -> FloatArray:
    """Return for each of n nodes the sum over its links of `for_i` (as node i) or `for_j` (as j; default `for_i`).

    >>> sums_of_ends(3, np.array([0, 0]), np.array([1, 2]), np.array([1.0, 10.0])).tolist()
    [11.0, 1.0, 10.0]
    """
    sums: FloatArray = np.bincount(i, for_i, n).astype(np.float64, copy=False)
    sums += np.bincount(j, for_i if for_j is None else for_j, n)
    return sums


def _count(i: IntArray, j: IntArray, agreed: IntArray) -> PairStats:
    """Return the pairs sorted, from one entry per shared task; ``agreed`` is 0 or 1.

    Sorting the keys together with ``agreed`` takes a third of the time of `_collect`, which needs their order.
    """
    if len(i) == 0:
        return PairStats(i, j, agreed, agreed)
    width = int(j.max()) + 1
    if width * width <= 4 * len(i):
        return _collect(i, j, np.ones(len(i), np.int64), agreed)
    sorted_keys = np.sort((i * width + j) * 2 + agreed)
    keys = sorted_keys >> 1
    start = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    keys = keys[start]
    shared = np.diff(np.append(start, len(i)))
    return PairStats(keys // width, keys % width, shared, np.add.reduceat(sorted_keys & 1, start))


def _collect(i: IntArray, j: IntArray, shared: IntArray, agreed: IntArray) -> PairStats:
    """Return the pairs sorted, with the counts of equal pairs added."""
    if len(i) == 0:
        return PairStats(i, j, shared, agreed)
    width = int(j.max()) + 1
    # Counts are far below 2^53, so that sums of floats are exact.
    if width * width <= 4 * len(i):  # few workers: a dense table instead of sorting
        dense = [np.bincount(i * width + j, counts, width * width).astype(np.int64) for counts in (shared, agreed)]
        keys = np.flatnonzero(dense[0])
        return PairStats(keys // width, keys % width, dense[0][keys], dense[1][keys])
    keys, key_index = np.unique(i * width + j, return_inverse=True)
    sums = [np.bincount(key_index, counts, len(keys)).astype(np.int64) for counts in (shared, agreed)]
    return PairStats(keys // width, keys % width, *sums)
