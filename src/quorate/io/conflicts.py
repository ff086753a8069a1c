"""Several rows of a worker for a task: `resolve_conflicts` keeps one answer, on every backend.

Rows that repeat an answer exactly count once. Rows that contradict each other are resolved by the policy
``on_conflict``; ``error`` refuses them, by `refuse_conflict`.

A ledger applies the policy of each batch to the answers before it: `combine` in `ledger/entries.py` to all batches at
once, `EntryTable.add` in `ledger/entry_table.py` and `Index.add` in `ledger/index.py` batch by batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, IntArray
from quorate.blocks.ordering import sort_answers
from quorate.errors import ConflictingAnswersError, NoRowsError, shown

MAX_LABELS_SHOWN = 5  # answers of one worker to one task that a message lists
POLICIES_TEXT = "'first', 'last' or 'drop'"  # values of on_conflict= other than 'error', as text for messages
SCORE_POLICIES_TEXT = f"'mean', {POLICIES_TEXT}"


@dataclass(frozen=True, eq=False)
class ResolvedRows:
    """Answers sorted by task and worker, one for each task and worker, and the numbers of rows left out."""

    task: IntArray
    worker: IntArray
    label: IntArray
    n_repeats: int = 0  # rows that repeat an answer exactly
    n_conflicting: int = 0  # rows left out by the policy
    clashing: IntArray | None = None  # input rows of every worker and task with more than one label


def resolve_conflicts(
    task: IntArray, worker: IntArray, label: IntArray, policy: str, *, overwrite: bool = False
) -> ResolvedRows:
    """Return answers sorted by task and worker, with one of those that repeat or contradict each other.

    Args:
        task: code of each row.
        worker: code of each row.
        label: code of each row.
        policy: of rows that contradict each other, keep the ``first`` or the ``last``, or ``drop`` them all. ``error``
            drops them too, and the caller must refuse the ``clashing`` rows. ``mean`` keeps every row, for scores,
            which are averaged later.
        overwrite: whether the result may be written into the arrays given.

    >>> resolved = resolve_conflicts(np.array([1, 0, 1]), np.array([0, 0, 0]), np.array([2, 1, 3]), "last")
    >>> resolved.task.tolist(), resolved.label.tolist(), resolved.n_conflicting, resolved.clashing.tolist()
    ([0, 1], [1, 3], 1, [0, 2])
    """
    columns, has_repeats = sort_answers(task, worker, label, overwrite=overwrite)
    if not has_repeats or policy == "mean":
        return ResolvedRows(*columns)
    order = np.lexsort([worker, task])  # stable: the rows of a repeat stay in their order
    task = task[order]
    worker = worker[order]
    label = label[order]
    keep, clash = _kept_rows(task, worker, label, policy)
    n_conflicting = int((~keep & clash).sum())
    n_repeats = int((~keep).sum()) - n_conflicting
    return ResolvedRows(task[keep], worker[keep], label[keep], n_repeats, n_conflicting, order[clash])


def _kept_rows(tasks: IntArray, workers: IntArray, labels: IntArray, policy: str) -> tuple[BoolArray, BoolArray]:
    """Return two masks: the rows to keep, and the rows of a worker and task with several labels."""
    same = (tasks[1:] == tasks[:-1]) & (workers[1:] == workers[:-1])
    first = np.concatenate([[True], ~same])
    group = np.cumsum(first) - 1
    differs = same & (labels[1:] != labels[:-1])
    clash = np.bincount(group[1:][differs], minlength=group[-1] + 1)[group] > 0
    last = np.concatenate([~same, [True]])
    keep = np.where(clash, {"first": first, "last": last}.get(policy, np.zeros_like(first)), first)
    return keep, clash


def refuse_conflict(
    worker: Any, task: Any, labels: Sequence[Any], n_conflicts: int, *, rows: Sequence[int] = (), is_score: bool = False
) -> NoReturn:
    """Raise the error that a worker gave a task different answers.

    Args:
        worker: id of the worker.
        task: id of the task.
        labels: the answers of the worker to the task.
        n_conflicts: number of pairs of a worker and a task with different answers.
        rows: row numbers of the answers, from 0; empty where rows have no numbers.
        is_score: whether the labels are scores.

    Raises:
        ConflictingAnswersError: always.

    >>> refuse_conflict("ann", 7, ["cat", "dog"], 3, rows=[0, 4])
    Traceback (most recent call last):
    quorate.errors.ConflictingAnswersError: Worker 'ann' answered task 7 twice: 'cat' (row 1) and 'dog' (row 5). ...
    """
    suffixes = [f" (row {row + 1:,})" for row in rows[:MAX_LABELS_SHOWN]] or [""] * len(labels)
    *first_labels, last_label = (
        f"{shown(label)}{suffix}" for label, suffix in zip(labels[:MAX_LABELS_SHOWN], suffixes, strict=False)
    )
    times = "twice" if len(labels) == 2 else f"{len(labels):,} times"
    text = f"Worker {shown(worker)} answered task {shown(task)} {times}: {', '.join(first_labels)} and {last_label}."
    more = n_conflicts - 1
    if more:
        text += " There is 1 more such case." if more == 1 else f" There are {more:,} more such cases."
    policies = SCORE_POLICIES_TEXT if is_score else POLICIES_TEXT
    raise ConflictingAnswersError(f"{text} Choose which answers to keep with on_conflict={policies} (--on-conflict)")


def refuse_first_conflict(
    rows: IntArray,
    codes: Sequence[IntArray],
    names: Sequence[pa.Array],
    *,
    have_numbers: bool,
    is_score: bool,
) -> NoReturn:
    """Raise the error about the first of several conflicts.

    Args:
        rows: input rows of the conflicting answers.
        codes: codes of the task, the worker and the label of each of these rows.
        names: the values that the codes of tasks, workers and labels stand for.
        have_numbers: whether the user can find a row by its number.
        is_score: whether the labels are scores.

    Raises:
        ConflictingAnswersError: always.
    """
    tasks, workers, labels = codes
    task_names, worker_names, label_names = names
    answers_of: dict[tuple[Any, Any], list[tuple[int, Any]]] = {}
    for k, row in enumerate(rows.tolist()):
        pair = (task_names[int(tasks[k])].as_py(), worker_names[int(workers[k])].as_py())
        answers_of.setdefault(pair, []).append((row, label_names[int(labels[k])].as_py()))
    (task, worker), answers = min(answers_of.items(), key=lambda item: item[1][0])
    row_numbers = [row for row, _ in answers] if have_numbers else []
    labels_given = [label for _, label in answers]
    refuse_conflict(worker, task, labels_given, len(answers_of), rows=row_numbers, is_score=is_score)


def refuse_if_none_left(n_left: int, n_rows: int) -> None:
    """Raise an error if the policy ``drop`` left no answer.

    Raises:
        NoRowsError: no answer is left.

    >>> refuse_if_none_left(1, 5)
    """
    if n_left == 0:
        raise NoRowsError(
            f"all {n_rows:,} rows conflict; no answer is left. Keep some with on_conflict='first' or 'last' "
            "(--on-conflict)"
        )
