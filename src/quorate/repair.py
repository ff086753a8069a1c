"""The fewest further answers that would join everyone in one identifiable component."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.graph import Identifiability


@dataclass(frozen=True)
class Repair:
    """Who should answer which task; none if nothing is broken, or if nobody is there to mend it."""

    task: IntArray  # codes
    worker: IntArray
    possible: bool = True  # False: too few workers for an odd cycle

    @property
    def n_answers(self) -> int:
        """How many further answers."""
        return len(self.task)


def repair(answers: Answers, verdict: Identifiability) -> Repair:
    """Find a smallest set of assignments after which the interaction graph is connected and has an odd cycle.

    Each new answer joins at most two components, so c components need c - 1 of them. One worker of every other
    component on one task that has two answers closes a triangle as well; if there is one component only, and it is
    bipartite, a third worker on such a task does. Fewest is not best: one shared task joins two groups, but says
    little about their skills.

    >>> import quorate
    >>> from quorate.graph import identify
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> mended = repair(answers, identify(answers))
    >>> [(answers.task_names[t].as_py(), answers.worker_names[w].as_py()) for t, w in zip(mended.task, mended.worker)]
    [(1, 'c')]
    """
    nothing = np.zeros(0, np.int64)
    if verdict.n_components == 1 and verdict.identifiable[0]:
        return Repair(nothing, nothing)
    if answers.n_workers < 3 or answers.n_answers == 0:
        return Repair(nothing, nothing, possible=bool(verdict.identifiable.all()))
    task = int(np.argmax(np.minimum(answers.per_task, 2)))  # the first with two answers, or with one if none has two
    on_task = answers.worker[answers.task == task]
    home = verdict.component[on_task[0]]
    # The most active worker of each other component is the likeliest to be there still.
    order = np.lexsort([np.arange(answers.n_workers), -answers.per_worker])
    component, first = np.unique(verdict.component[: answers.n_workers][order], return_index=True)
    workers = order[first][component != home]
    bipartite_still = verdict.bipartite[home] and len(on_task) + len(workers) < 3
    if bipartite_still:
        others = order[~np.isin(order, on_task) & ~np.isin(order, workers)]
        workers = np.append(workers, others[:1])
    return Repair(np.full(len(workers), task), workers)
