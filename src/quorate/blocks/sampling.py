"""Random samples of tasks that can be repeated: by a hash of the task ids.

Every k-th task is not a random sample if tasks are in an order (by day, by kind), and folds of every k-th task can be
empty. A hash of the id, rather than of the task's number, gives the same sample for any order of the rows and on every
backend. Samples are nested: the tasks of a smaller sample are among those of a larger one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import quorate.arrow_compute as pc
from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, from_numpy
from quorate.blocks import kernels
from quorate.blocks.block import Sampled
from quorate.blocks.memory import Answered

INCREMENT = np.uint64(0x9E3779B97F4A7C15)  # the constants are those of splitmix64
MIX_STEPS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
# Answers above which tests of pairs use a sample of complete tasks. In a crowd of 100 workers, so many answers show all
# copying pairs, and 100,000 show half of them (experiments/diagnostics/sample_sizes.py).
MAX_PAIR_TEST_ANSWERS = 250_000
# Answers above which tests of tasks, searches for groups that share few tasks, and plans of further answers use a
# sample. A sample has fewer tasks to test, each with the same power; the links of groups are counted over all answers.
MAX_TESTED_ANSWERS = 100_000
MAX_PLANNED_CELLS = 1 << 25  # tasks × classes of a plan: 256 MB for each table of probabilities
IDS_AT_ONCE = 1 << 16  # whose bytes numpy handles together


def hash_ids(ids: pa.Array) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the UTF-8 text of each id, with practically random bits.

    >>> same = hash_ids(pa.array([7, 8], pa.int32())), hash_ids(pa.array(["7", "8"]))
    >>> bool((same[0] == same[1]).all()), bool(abs((hash_ids(pa.array(range(9999))) % 4 == 0).mean() - 0.25) < 0.02)
    (True, True)
    """
    if not pa.types.is_large_string(ids.type):
        ids = pc.cast(pc.cast(ids, pa.string()), pa.large_string())
    _, ends, data = ids.buffers()
    start = np.frombuffer(ends, np.int64, len(ids) + 1, 8 * ids.offset)
    letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return splitmix64(hash_texts(start, letters))


def order_by_hash(hashes: NDArray[np.uint64]) -> IntArray:
    """Return the stable ascending order of hashes.

    An unstable sort takes a fifth of the time on processors with wide vectors; a stable one follows if two are equal.

    >>> order_by_hash(np.array([7, 2, 7], np.uint64)).tolist()
    [1, 0, 2]
    """
    order: IntArray = np.argsort(hashes)
    ordered = hashes[order]
    return np.argsort(hashes, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def hash_texts(start: IntArray, letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return for each text the sum over its bytes of (byte + 1) times a number that depends on the position.

    >>> [int(code) for code in hash_texts(np.array([0, 1, 1]), np.frombuffer(b"a", np.uint8))]
    [10412434493522099454, 0]
    """
    longest = int(np.diff(start).max(initial=0))
    mixed = splitmix64(np.arange(longest, dtype=np.uint64))
    out = np.zeros(len(start) - 1, np.uint64)
    if kernels.native is not None:
        kernels.native.hash_texts(np.ascontiguousarray(start), None, letters, mixed, out)
        return out
    for low in range(0, len(out), IDS_AT_ONCE):
        ends = start[low : low + IDS_AT_ONCE + 1]
        n = np.diff(ends)
        position = np.arange(ends[0], ends[-1]) - np.repeat(ends[:-1], n)
        with np.errstate(over="ignore"):
            terms = (letters[ends[0] : ends[-1]].astype(np.uint64) + np.uint64(1)) * mixed[position]
            full = np.flatnonzero(n)
            if len(full):
                out[low + full] = np.add.reduceat(terms, ends[full] - ends[0])
    return out


def splitmix64(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return splitmix64's hash of each number.

    >>> splitmix64(np.array([0], np.uint64)).tolist()
    [16294208416658607535]
    """
    with np.errstate(over="ignore"):
        mixed = (numbers + np.uint64(1)) * INCREMENT
        for shift, factor in MIX_STEPS:
            mixed = (mixed ^ (mixed >> shift)) * factor
        return mixed ^ (mixed >> np.uint64(31))


def folds_by_id(answers: Answers, n: int, division: int = 0) -> IntArray:
    """Return the fold of each task, 0 to n - 1; each number `division` gives another partition.

    >>> import quorate
    >>> folds = folds_by_id(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 4)
    >>> bool(np.abs(np.bincount(folds) - 250).max() < 60)
    True
    """
    # The high bits choose the sample, so the fold must not depend on them. Each division begins four bits higher.
    folds: IntArray = ((hash_ids(answers.task_names) >> np.uint64(4 * division)) % np.uint64(n)).astype(np.int64)
    return folds


def choose_tasks(answers: Answers, max_answers: int) -> BoolArray | None:
    """Return a mask of the tasks with the smallest hashes, at most `max_answers` answers in total; None for all tasks.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(1000, 10, 3, seed=0).answers
    >>> choose_tasks(answers, 3000) is None, int(choose_tasks(answers, 600).sum())
    (True, 200)
    """
    return first_tasks_by_hash(answers.task_names, answers.per_task, max_answers)


def first_tasks_by_hash(task_names: pa.Array, per_task: IntArray, max_answers: int) -> BoolArray | None:
    """Return the mask of `choose_tasks`, from the names and the numbers of answers of the tasks.

    >>> first_tasks_by_hash(pa.array(["a", "b"]), np.array([2, 2]), 3).tolist()
    [True, False]
    """
    n_answers = int(per_task.sum())
    if n_answers <= max_answers:
        return None
    hashes = hash_ids(task_names)
    candidates = np.flatnonzero(hashes <= hash_below(expected_share(n_answers, max_answers)))
    if per_task[candidates].sum() < max_answers:  # by chance, if few tasks are sampled
        candidates = np.arange(len(per_task))
    order = candidates[order_by_hash(hashes[candidates])]
    fits = np.cumsum(per_task[order]) <= max_answers
    is_chosen = np.zeros(len(per_task), dtype=bool)
    is_chosen[order[fits]] = True
    return is_chosen


def expected_share(n_answers: int, max_answers: int) -> float:
    """Return a share of the tasks that has more than `max_answers` answers, except by chance if few tasks are sampled.

    >>> round(expected_share(1000, 100), 3)
    0.121
    """
    return 1.2 * max_answers / max(n_answers, 1) + 0.001


def hash_below(share: float) -> np.uint64:
    """Return the hash up to which this share of the tasks is expected; the largest hash for a share of one.

    >>> round(float(hash_below(0.25) / hash_below(1.0)), 9)
    0.25
    """
    return np.uint64(share * float(2**64 - 2**12)) if share < 1 else np.uint64(2**64 - 1)


def trim_sample(sample: Sampled, max_answers: int) -> Sampled:
    """Return the tasks of a sample that `choose_tasks` keeps, so that every backend has the same sample.

    Args:
        sample: the tasks with the smallest hashes, with at least `max_answers` answers if there are as many.
        max_answers: maximum number of answers.
    """
    is_chosen = choose_tasks(sample.answers, max_answers)
    if is_chosen is None:
        return sample
    return Sampled(sample.answers.only(is_chosen), None if sample.gold is None else sample.gold[is_chosen])


def sampled(answers: Answered, max_answers: int) -> Answers:
    """Return the answers to a sample of tasks, at most `max_answers`; all, if there are no more. Cached with them.

    >>> import quorate
    >>> sampled(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 600).n_answers
    600
    """
    if not isinstance(answers, Answers):
        return sampled(answers.sample(max_answers).answers, max_answers)
    samples: dict[int, Answers] = answers.__dict__.setdefault("_samples", {})
    if max_answers not in samples:
        kept = choose_tasks(answers, max_answers)
        if kept is None:
            return answers
        samples[max_answers] = answers.only(kept)
    return samples[max_answers]


@dataclass(frozen=True, eq=False)
class TaskSample:
    """Complete tasks of a large crowd on which tests, simulations and pairwise searches run."""

    answers: Answers  # to these tasks, with new task codes; workers and classes keep their codes
    is_chosen: BoolArray  # mask of these tasks among all
    n_answers: int  # to all tasks

    def of(self, crowd: Answers) -> Answers:
        """Return the answers of a crowd to the same tasks; the crowd may have the gold as an additional worker."""
        if crowd.n_workers == self.answers.n_workers:  # no gold
            return self.answers
        return crowd.only(self.is_chosen)

    def text(self) -> str:
        """Name the sample, for the outputs of commands."""
        return f"a sample of {self.size_text()}, chosen by a hash of the task ids"

    def size_text(self) -> str:
        """State the numbers of tasks and answers."""
        return f"{self.answers.n_tasks:,} tasks ({self.answers.n_answers:,} answers)"

    def to_dict(self) -> dict[str, Any]:
        """Return the sizes of the sample and of all answers, for ``--json``."""
        return {
            "n_tasks": self.answers.n_tasks,
            "n_answers": self.answers.n_answers,
            "of_tasks": len(self.is_chosen),
            "of_answers": self.n_answers,
            "drawn_by": "hash of the task's id",
        }


def sample_for_tests(answers: Answers) -> TaskSample | None:
    """Return the sample for tests of a large crowd; None, for all tasks, up to `MAX_TESTED_ANSWERS`.

    >>> import quorate
    >>> sample_for_tests(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    >>> sample_for_tests(quorate.simulate.crowd(100_000, 10, 3, seed=0).answers).answers.n_answers
    99999
    """
    return sample_of_tasks(answers, MAX_TESTED_ANSWERS)


def sample_for_plans(answers: Answers) -> TaskSample | None:
    """Return the sample for plans of further answers: that for tests, or fewer tasks if there are many classes.

    >>> import quorate
    >>> sample_for_plans(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    """
    n_tasks = MAX_PLANNED_CELLS // max(answers.n_classes, 1)
    return sample_of_tasks(answers, min(MAX_TESTED_ANSWERS, n_tasks * answers.n_answers // max(answers.n_tasks, 1)))


def sample_for_pair_tests(answers: Answers) -> TaskSample | None:
    """Return the sample for tests of pairs of workers; None, for all tasks, up to `MAX_PAIR_TEST_ANSWERS`.

    >>> import quorate
    >>> sample_for_pair_tests(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    """
    return sample_of_tasks(answers, MAX_PAIR_TEST_ANSWERS)


def sample_of_tasks(answers: Answers, max_answers: int) -> TaskSample | None:
    """Return a sample of tasks with at most `max_answers` answers; None if there are no more answers.

    The sample is cached with the answers, so that the tests of one command share it.

    >>> import quorate
    >>> sample_of_tasks(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 600).answers.n_tasks
    200
    """
    samples: dict[int, TaskSample] = answers.__dict__.setdefault("_task_samples", {})
    if max_answers not in samples:
        is_chosen = choose_tasks(answers, max_answers)
        if is_chosen is None:
            return None
        samples[max_answers] = TaskSample(answers.only(is_chosen), is_chosen, answers.n_answers)
    return samples[max_answers]


def active_workers(answers: Answers) -> tuple[Answers, BoolArray]:
    """Return the answers without workers who have none, and a mask of the workers who stay.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> few, is_active = active_workers(answers.only(np.array([False, True])))
    >>> few.worker_names.to_pylist(), is_active.tolist()
    (['a'], [True, False])
    """
    has_answers: BoolArray = answers.per_worker > 0
    if has_answers.all():
        return answers, has_answers
    worker = (np.cumsum(has_answers) - 1).astype(answers.worker.dtype)[answers.worker]
    names = pc.select(answers.worker_names, from_numpy(has_answers))
    return Answers(answers.task, worker, answers.label, answers.task_names, names, answers.classes), has_answers
