"""Draw tasks at random, the same ones every time: by a hash of their ids.

Every k-th task is no sample where tasks come in an order (by day, by kind), and folds of every k-th task can be empty.
A hash of the id, rather than of the task's number, draws the same tasks in whatever order the rows come and wherever
they lie. Samples are nested: the tasks of a small one are among those of a larger one.
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
# Answers above which tests of pairs use a sample of complete tasks. In a crowd of 100 workers so many show every pair
# that copies, and 100,000 show half of them (experiments/diagnostics/sample_sizes.py).
MAX_PAIR_TEST_ANSWERS = 250_000
# Answers above which tests of tasks, searches for groups that share few tasks, and plans of further answers do. A
# smaller sample has fewer tasks to test, each with the same power; what links a group is counted over all answers.
MAX_TESTED_ANSWERS = 100_000
AT_ONCE = 1 << 16  # ids whose bytes numpy looks at together


def hash_ids(ids: pa.Array) -> NDArray[np.uint64]:
    """Return a hash of the UTF-8 text of each id, whose bits are as good as random.

    >>> same = hash_ids(pa.array([7, 8], pa.int32())), hash_ids(pa.array(["7", "8"]))
    >>> bool((same[0] == same[1]).all()), bool(abs((hash_ids(pa.array(range(9999))) % 4 == 0).mean() - 0.25) < 0.02)
    (True, True)
    """
    if not pa.types.is_large_string(ids.type):
        ids = pc.cast(pc.cast(ids, pa.string()), pa.large_string())
    _, ends, data = ids.buffers()
    start = np.frombuffer(ends, np.int64, len(ids) + 1, 8 * ids.offset)
    letters = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return splitmix64(hashed(start, letters))


def order_by_hash(hashes: NDArray[np.uint64]) -> IntArray:
    """Return the order of hashes; where two are equal, the first comes first.

    A sort that need not keep the order of equals takes a fifth of the time where the processor has wide registers.

    >>> order_by_hash(np.array([7, 2, 7], np.uint64)).tolist()
    [1, 0, 2]
    """
    order: IntArray = np.argsort(hashes)
    ordered = hashes[order]
    return np.argsort(hashes, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def hashed(start: IntArray, letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Sum, over the bytes of each text, the byte plus one times a number of its place.

    >>> [int(code) for code in hashed(np.array([0, 1, 1]), np.frombuffer(b"a", np.uint8))]
    [10412434493522099454, 0]
    """
    longest = int(np.diff(start).max(initial=0))
    mixed = splitmix64(np.arange(longest, dtype=np.uint64))
    out = np.zeros(len(start) - 1, np.uint64)
    if kernels.native is not None:
        kernels.native.hashed(np.ascontiguousarray(start), None, letters, mixed, out)
        return out
    for low in range(0, len(out), AT_ONCE):
        ends = start[low : low + AT_ONCE + 1]
        n = np.diff(ends)
        place = np.arange(ends[0], ends[-1]) - np.repeat(ends[:-1], n)
        with np.errstate(over="ignore"):
            terms = (letters[ends[0] : ends[-1]].astype(np.uint64) + np.uint64(1)) * mixed[place]
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
    """Put each task into one of n folds; other divisions, of which there are some, put them into others.

    >>> import quorate
    >>> folds = folds_by_id(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 4)
    >>> bool(np.abs(np.bincount(folds) - 250).max() < 60)
    True
    """
    # The high bits choose the sample; the fold must not depend on them. A division has four bits of its own.
    folds: IntArray = ((hash_ids(answers.task_names) >> np.uint64(4 * division)) % np.uint64(n)).astype(np.int64)
    return folds


def divided(answers: Answers, n: int, n_divisions: int) -> IntArray:
    """Put each task into one of n folds, in so many ways; divisions × tasks.

    >>> import quorate
    >>> divided(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 4, 2).shape
    (2, 1000)
    """
    return np.stack([folds_by_id(answers, n, division) for division in range(n_divisions)])


def choose_tasks(answers: Answers, enough: int) -> BoolArray | None:
    """Choose tasks with at most so many answers between them, in the order of their hashes; None: all of them.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(1000, 10, 3, seed=0).answers
    >>> choose_tasks(answers, 3000) is None, int(choose_tasks(answers, 600).sum())
    (True, 200)
    """
    return first_tasks_by_hash(answers.task_names, answers.per_task, enough)


def first_tasks_by_hash(task_names: pa.Array, per_task: IntArray, enough: int) -> BoolArray | None:
    """Do what `choose_tasks` does, for tasks with these names and numbers of answers.

    >>> first_tasks_by_hash(pa.array(["a", "b"]), np.array([2, 2]), 3).tolist()
    [True, False]
    """
    n_answers = int(per_task.sum())
    if n_answers <= enough:
        return None
    hashes = hash_ids(task_names)
    few = np.flatnonzero(hashes <= hash_below(expected_share(n_answers, enough)))
    if per_task[few].sum() < enough:  # likely only where few tasks are drawn
        few = np.arange(len(per_task))
    order = few[order_by_hash(hashes[few])]
    fits = np.cumsum(per_task[order]) <= enough
    kept = np.zeros(len(per_task), dtype=bool)
    kept[order[fits]] = True
    return kept


def expected_share(n_answers: int, enough: int) -> float:
    """Return a share of the tasks that has more than enough answers, except by chance if few tasks are sampled.

    >>> round(expected_share(1000, 100), 3)
    0.121
    """
    return 1.2 * enough / max(n_answers, 1) + 0.001


def hash_below(share: float) -> np.uint64:
    """Return the hash up to which this share of the tasks lies; the greatest of all for all tasks.

    >>> round(float(hash_below(0.25) / hash_below(1.0)), 9)
    0.25
    """
    return np.uint64(share * float(2**64 - 2**12)) if share < 1 else np.uint64(2**64 - 1)


def trimmed(sample: Sampled, enough: int) -> Sampled:
    """Leave as many tasks of a sample as memory would draw: the same on every backend.

    Args:
        sample: the first tasks by the hash of their ids, with at least so many answers.
        enough: answers.
    """
    kept = choose_tasks(sample.answers, enough)
    if kept is None:
        return sample
    return Sampled(sample.answers.only(kept), None if sample.gold is None else sample.gold[kept])


def sampled(answers: Answered, enough: int) -> Answers:
    """Return the answers to the tasks that are drawn; all, if there are no more. Kept with them for whoever asks next.

    >>> import quorate
    >>> sampled(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 600).n_answers
    600
    """
    if not isinstance(answers, Answers):
        return sampled(answers.sample(enough).answers, enough)
    samples: dict[int, Answers] = answers.__dict__.setdefault("_samples", {})
    if enough not in samples:
        kept = choose_tasks(answers, enough)
        if kept is None:
            return answers
        samples[enough] = answers.only(kept)
    return samples[enough]


@dataclass(frozen=True, eq=False)
class TaskSample:
    """Complete tasks of a large crowd on which tests, simulations and pairwise searches run."""

    answers: Answers  # to these tasks, which are numbered anew; workers and classes keep their codes
    is_chosen: BoolArray  # which of all tasks they are
    n_answers: int  # to all tasks

    def of(self, crowd: Answers) -> Answers:
        """Return the answers of a crowd to the same tasks: of one that has the known labels as a further worker."""
        if crowd.n_workers == self.answers.n_workers:  # there are no known labels
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
    """Return the tasks on which the tests of a large crowd run; None up to `MAX_TESTED_ANSWERS`: all of them.

    >>> import quorate
    >>> sample_for_tests(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    >>> sample_for_tests(quorate.simulate.crowd(100_000, 10, 3, seed=0).answers).answers.n_answers
    99999
    """
    return sample_of_tasks(answers, MAX_TESTED_ANSWERS)


def sample_for_pair_tests(answers: Answers) -> TaskSample | None:
    """Return the tasks on which pairs of workers are tested; None up to `MAX_PAIR_TEST_ANSWERS`: all of them.

    >>> import quorate
    >>> sample_for_pair_tests(quorate.simulate.crowd(1000, 10, 3, seed=0).answers) is None
    True
    """
    return sample_of_tasks(answers, MAX_PAIR_TEST_ANSWERS)


def sample_of_tasks(answers: Answers, enough: int) -> TaskSample | None:
    """Return tasks with at most so many answers; None where there are no more: all of them.

    It is kept with the answers, so that the tests of one command share it.

    >>> import quorate
    >>> sample_of_tasks(quorate.simulate.crowd(1000, 10, 3, seed=0).answers, 600).answers.n_tasks
    200
    """
    kept: dict[int, TaskSample] = answers.__dict__.setdefault("_task_samples", {})
    if enough not in kept:
        is_chosen = choose_tasks(answers, enough)
        if is_chosen is None:
            return None
        kept[enough] = TaskSample(answers.only(is_chosen), is_chosen, answers.n_answers)
    return kept[enough]


def those_who_answered(answers: Answers) -> tuple[Answers, BoolArray]:
    """Leave out workers without an answer, as most of a large crowd are in a sample of it; and return who is left.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> few, there = those_who_answered(answers.only(np.array([False, True])))
    >>> few.worker_names.to_pylist(), there.tolist()
    (['a'], [True, False])
    """
    has_answers: BoolArray = answers.per_worker > 0
    if has_answers.all():
        return answers, has_answers
    worker = (np.cumsum(has_answers) - 1).astype(answers.worker.dtype)[answers.worker]
    names = pc.select(answers.worker_names, from_numpy(has_answers))
    return Answers(answers.task, worker, answers.label, answers.task_names, names, answers.classes), has_answers
