"""Smallest number of additional answers that make all workers one identifiable component."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.graph.components import Identifiability


@dataclass(frozen=True)
class Repair:
    """Additional answers: which worker should answer which task; empty if none is needed or none is possible."""

    task: IntArray  # codes
    worker: IntArray
    possible: bool = True  # False: too few workers for an odd cycle
    counted: int | None = None  # number of answers, if only their number is known

    @property
    def n_answers(self) -> int:
        """Number of additional answers."""
        return len(self.task) if self.counted is None else self.counted


def repair(answers: Answers, identifiability: Identifiability, *, available: IntArray | None = None) -> Repair:
    """Return a smallest set of assignments after which the interaction graph is connected and has an odd cycle.

    Each new answer connects at most two components, so c components need c - 1 answers. If one worker of every other
    component answers the same task, which has two answers, this closes a triangle as well; if there is only one
    component and it is bipartite, a third worker on such a task closes a triangle. If no worker of a component can be
    asked, another worker answers one of its tasks. One shared task connects two groups, but is little evidence of their
    skills.

    Args:
        answers: who answered what.
        identifiability: the components of their graph.
        available: workers who can be asked, in order of preference; codes from ``n_workers`` on are workers without
            answers. By default all workers, those with most answers first.

    >>> import quorate
    >>> from quorate.graph.components import identify
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> further = repair(answers, identify(answers))
    >>> [(answers.task_names[t].as_py(), answers.worker_names[w].as_py()) for t, w in zip(further.task, further.worker)]
    [(1, 'c')]
    """
    empty = np.zeros(0, np.int64)
    if identifiability.n_components == 1 and identifiability.identifiable[0]:
        return Repair(empty, empty)
    order = np.lexsort([np.arange(answers.n_workers), -answers.per_worker]) if available is None else available
    if len(np.union1d(order, np.arange(answers.n_workers))) < 3 or answers.n_answers == 0 or len(order) == 0:
        return Repair(empty, empty, possible=bool(identifiability.identifiable.all()))
    # The hub, which connects the components, is preferably a task with two answers, then one without available workers.
    n_available = answers.by_task(np.isin(answers.worker, order))
    is_without_available = (n_available == 0) & (answers.per_task > 0)
    hub = int(np.argmax(2 * np.minimum(answers.per_task, 2) + is_without_available))
    hub_component = int(identifiability.component[answers.worker[np.searchsorted(answers.task, hub)]])
    known = order[order < answers.n_workers]
    component, first = np.unique(identifiability.component[known], return_index=True)
    to_ask = known[first][component != hub_component]  # the preferred worker of each other component
    tasks = np.full(len(to_ask), hub)
    workers = to_ask
    unavailable = np.setdiff1d(identifiability.component[answers.worker], np.append(component, hub_component))
    if len(unavailable):
        of_hub = known[identifiability.component[known] == hub_component]
        if len(of_hub) + len(to_ask) == 0:  # only new workers are available: the first of them also answers the hub
            tasks = np.append(tasks, hub)
            workers = np.append(workers, order[0])
        connecting_worker = np.concatenate([of_hub, workers])[0]
        task_of_component = _task_of_each_component(answers, identifiability, unavailable)
        tasks = np.concatenate([tasks, task_of_component])
        workers = np.concatenate([workers, np.full(len(task_of_component), connecting_worker)])
    if not identifiability.identifiable.any():
        closing = _third_worker(answers, tasks, workers, order)
        if closing is None:
            return Repair(empty, empty, possible=False)
        tasks = np.append(tasks, closing[0])
        workers = np.append(workers, closing[1])
    return Repair(tasks.astype(np.int64), workers.astype(np.int64))


def _task_of_each_component(answers: Answers, identifiability: Identifiability, components: IntArray) -> IntArray:
    """Return a task that workers of each component answered, with two answers if there is such a task."""
    component = identifiability.component[answers.worker]
    order = np.lexsort([answers.task, -np.minimum(answers.per_task[answers.task], 2), component])
    component_of_first, first = np.unique(component[order], return_index=True)
    return answers.task[order][first[np.searchsorted(component_of_first, components)]]


def _third_worker(
    answers: Answers, tasks: IntArray, workers: IntArray, order: IntArray
) -> tuple[IntArray, IntArray] | None:
    """Return a task and a third worker for it, empty if an assigned task has three workers; None if impossible."""
    empty = np.zeros(0, np.int64)
    n = answers.per_task + np.bincount(tasks, minlength=answers.n_tasks)
    if np.any(n[tasks] >= 3):
        return empty, empty
    pairs = np.flatnonzero(n >= 2)
    for worker in order.tolist():
        tasks_of_worker = np.concatenate([answers.task[answers.worker == worker], tasks[workers == worker]])
        free = np.setdiff1d(pairs, tasks_of_worker)
        if len(free):
            return free[:1], np.array([worker])
    return None
