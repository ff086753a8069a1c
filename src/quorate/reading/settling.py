"""Answers in any order -> answers ordered by task and worker, of which each worker has one a task."""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class Settled:
    """Answers as they count, and what was left out of them."""

    task: IntArray
    worker: IntArray
    label: IntArray
    n_repeats: int = 0  # rows that repeat an answer exactly
    n_conflicting: int = 0  # rows left out by the policy
    clashing: IntArray | None = None  # rows, as they were given, of workers and tasks with more than one label


def settle(task: IntArray, worker: IntArray, label: IntArray, policy: str) -> Settled:
    """Order answers, and let one of those stand that repeat or contradict each other.

    Args:
        task: code of each row.
        worker: code of each row.
        label: code of each row.
        policy: of rows that contradict each other keep the ``first`` or the ``last``, or ``drop`` them all; ``error``
            drops them too, and leaves it to the caller to refuse what is ``clashing``; ``mean`` keeps every row, for
            scores, which are averaged later.

    >>> found = settle(np.array([1, 0, 1]), np.array([0, 0, 0]), np.array([2, 1, 3]), "last")
    >>> found.task.tolist(), found.label.tolist(), found.n_conflicting, found.clashing.tolist()
    ([0, 1], [1, 3], 1, [0, 2])
    """
    in_order = _sorted(task, worker, label)
    if not np.any((in_order[0][1:] == in_order[0][:-1]) & (in_order[1][1:] == in_order[1][:-1])):
        return Settled(*in_order)
    if policy == "mean":
        return Settled(*in_order)
    order = np.lexsort([worker, task])  # stable: the rows of a repeat stay in their order
    task, worker, label = task[order], worker[order], label[order]
    keep, clash = _settle_repeats(task, worker, label, policy)
    n_conflicting = int((~keep & clash).sum())
    n_repeats = int((~keep).sum()) - n_conflicting
    return Settled(task[keep], worker[keep], label[keep], n_repeats, n_conflicting, order[clash])


def _sorted(task: IntArray, worker: IntArray, label: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort by task, then worker, then label: as one 64-bit number an answer, which numpy sorts fastest."""
    step = task[1:] - task[:-1]
    if np.all((step > 0) | ((step == 0) & (worker[1:] >= worker[:-1]))):
        return task, worker, label
    bits = [max(int(codes.max()).bit_length(), 1) for codes in (task, worker, label)]
    if sum(bits) > 63:
        order = np.lexsort([label, worker, task])
        return task[order], worker[order], label[order]
    packed = task.astype(np.int64)
    for codes, width in ((worker, bits[1]), (label, bits[2])):
        packed <<= width
        packed |= codes
    packed.sort()
    labels = (packed & ((1 << bits[2]) - 1)).astype(np.int32)
    packed >>= bits[2]
    workers = (packed & ((1 << bits[1]) - 1)).astype(np.int32)
    packed >>= bits[1]
    return packed.astype(np.int32), workers, labels


def _settle_repeats(tasks: IntArray, workers: IntArray, labels: IntArray, policy: str) -> tuple[BoolArray, BoolArray]:
    """Which answers stay, and which belong to a worker and task with more than one label."""
    same = (tasks[1:] == tasks[:-1]) & (workers[1:] == workers[:-1])
    first = np.concatenate([[True], ~same])
    group = np.cumsum(first) - 1
    differs = same & (labels[1:] != labels[:-1])
    clash = np.bincount(group[1:][differs], minlength=group[-1] + 1)[group] > 0
    last = np.concatenate([~same, [True]])
    keep = np.where(clash, {"first": first, "last": last}.get(policy, np.zeros_like(first)), first)
    return keep, clash
