"""A batch that says something else than the ledger does -> an error that names the worker and the task."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.errors import ConflictingAnswersError, shown
from quorate.ledger.entries import DROPPED, Entries, coded
from quorate.ledger.names import Names


def refuse_contradictions(
    entries: Entries, known: Sequence[IntArray], said: Sequence[Mapping[int, int]], labels: Names
) -> None:
    """Refuse entries that say something else than what is known of the same task and worker.

    Args:
        entries: what is new.
        known: the ledger's codes for the entries' tasks, workers and labels; -1 for strangers.
        said: of each of the ledger's tasks, worker -> label.
        labels: of the ledger.

    Raises:
        ConflictingAnswersError: some do.

    >>> from quorate.ledger.entries import read_entries
    >>> from quorate.reading.options import AS_USUAL
    >>> entries = read_entries({"task": [1], "worker": ["ann"], "label": ["cat"]}, AS_USUAL)
    >>> labels = Names("labels")
    >>> code = labels.learn(pa.array(["cat"]))
    >>> refuse_contradictions(entries, [code, code, code], [{0: 0}], labels)
    """
    tasks, workers, codes = known
    task, worker = tasks[entries.task], workers[entries.worker]
    label = coded(entries.label, np.where(codes < 0, len(labels), codes))  # a new label differs from all
    met = np.flatnonzero((task >= 0) & (worker >= 0))
    columns = (each[met].tolist() for each in (task, worker, label))
    clashes = [
        (k, old)
        for k, t, w, new in zip(met.tolist(), *columns, strict=True)
        if (old := said[t].get(w)) is not None and old != new
    ]
    if not clashes:
        return
    (k, old), n = clashes[0], len(clashes)
    of_task, of_worker = (entries.names[0][int(entries.task[k])], entries.names[1][int(entries.worker[k])])
    raise ConflictingAnswersError(
        f"{n:,} answer{'s' if n > 1 else ''} of this batch contradict{'s' if n == 1 else ''} the ledger; worker "
        f"{shown(of_worker.as_py())} gave task {shown(of_task.as_py())} {_told(labels.array(), old)} before and now "
        f"{_told(entries.names[2], int(entries.label[k]))}. Nothing was added. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )


def _told(names: pa.Array, label: int) -> str:
    return "several labels, which were dropped," if label == DROPPED else shown(names[label].as_py())
