"""The fewest further answers that make one identifiable component of all workers."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.graph.components import Identifiability


@dataclass(frozen=True)
class Repair:
    """Further answers: who should answer which task; empty if none is needed or none is possible."""

    task: IntArray  # codes
    worker: IntArray
    possible: bool = True  # False: too few workers for an odd cycle
    counted: int | None = None  # number of answers, where only that is known

    @property
    def n_answers(self) -> int:
        """Number of further answers."""
        return len(self.task) if self.counted is None else self.counted


def repair(answers: Answers, verdict: Identifiability, *, available: IntArray | None = None) -> Repair:
    """Return a smallest set of assignments after which the interaction graph is connected and has an odd cycle.

    Each new answer connects at most two components, so c components need c - 1 of them. One worker of every other
    component on one task that has two answers closes a triangle as well; if there is one component only, and it is
    bipartite, a third worker on such a task does. A component none of whose workers can be asked is connected by
    another worker who answers one of its tasks. One shared task connects two groups, but is little evidence of their
    skills.


    Args:
        answers: who answered what.
        verdict: the components of their graph.
        available: workers who can be asked, in order of preference; codes of ``n_workers`` and more are workers without
            answers. By default all workers, the most active first.

    >>> import quorate
    >>> from quorate.graph.components import identify
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> further = repair(answers, identify(answers))
    >>> [(answers.task_names[t].as_py(), answers.worker_names[w].as_py()) for t, w in zip(further.task, further.worker)]
    [(1, 'c')]
    """
    empty = np.zeros(0, np.int64)
    if verdict.n_components == 1 and verdict.identifiable[0]:
        return Repair(empty, empty)
    order = np.lexsort([np.arange(answers.n_workers), -answers.per_worker]) if available is None else available
    if len(np.union1d(order, np.arange(answers.n_workers))) < 3 or answers.n_answers == 0 or len(order) == 0:
        return Repair(empty, empty, possible=bool(verdict.identifiable.all()))
    hub = _hub(answers, order)
    hub_component = int(verdict.component[answers.worker[np.searchsorted(answers.task, hub)]])
    known = order[order < answers.n_workers]
    component, first = np.unique(verdict.component[known], return_index=True)
    callers = known[first][component != hub_component]  # the first to ask of each other component
    tasks = np.full(len(callers), hub)
    workers = callers
    unavailable = np.setdiff1d(verdict.component[answers.worker], np.append(component, hub_component))
    if len(unavailable):
        of_hub = known[verdict.component[known] == hub_component]
        if len(of_hub) + len(callers) == 0:  # new workers only: the first answers the hub as well
            tasks = np.append(tasks, hub)
            workers = np.append(workers, order[0])
        carrier = np.concatenate([of_hub, workers])[0]
        task_of_component = _a_task_of_each(answers, verdict, unavailable)
        tasks = np.concatenate([tasks, task_of_component])
        workers = np.concatenate([workers, np.full(len(task_of_component), carrier)])
    if not verdict.identifiable.any():
        closing = _third(answers, tasks, workers, order)
        if closing is None:
            return Repair(empty, empty, possible=False)
        tasks = np.append(tasks, closing[0])
        workers = np.append(workers, closing[1])
    return Repair(tasks.astype(np.int64), workers.astype(np.int64))


def _hub(answers: Answers, available: IntArray) -> int:
    """Return the task on which the components are connected: with two answers, else one whose worker is unavailable."""
    able = answers.by_task(np.isin(answers.worker, available))
    return int(np.argmax(2 * np.minimum(answers.per_task, 2) + ((able == 0) & (answers.per_task > 0))))


def _a_task_of_each(answers: Answers, verdict: Identifiability, components: IntArray) -> IntArray:
    """Return a task that the workers of each component answered, one with two answers where there is one."""
    at = verdict.component[answers.worker]
    order = np.lexsort([answers.task, -np.minimum(answers.per_task[answers.task], 2), at])
    component_of_first, first = np.unique(at[order], return_index=True)
    return answers.task[order][first[np.searchsorted(component_of_first, components)]]


def _third(answers: Answers, tasks: IntArray, workers: IntArray, order: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return a third worker for a task, none if some task has three already; None if nobody can be asked."""
    nobody = np.zeros(0, np.int64)
    n = answers.per_task + np.bincount(tasks, minlength=answers.n_tasks)
    if np.any(n[tasks] >= 3):
        return nobody, nobody
    pairs = np.flatnonzero(n >= 2)
    for worker in order.tolist():
        tasks_of_worker = np.concatenate([answers.task[answers.worker == worker], tasks[workers == worker]])
        free = np.setdiff1d(pairs, tasks_of_worker)
        if len(free):
            return free[:1], np.array([worker])
    return None
