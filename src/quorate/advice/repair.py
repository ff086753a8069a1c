"""Answers that connect components, and shared tasks that determine sign and scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.advice.available_workers import AvailableWorkers
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.sampling import sample_for_tests
from quorate.errors import count
from quorate.graph.components import Identifiability, grouped, identify
from quorate.graph.pairs import pair_stats, too_many_pairs
from quorate.graph.repair import Repair, repair
from quorate.graph.sampled_ties import sampled_ties
from quorate.graph.weak_ties import MAX_GROUPS, LooseGroup, loose_groups
from quorate.skills.weak_identification import ProposedComparison, WeakIdentification, comparisons
from quorate.statistics import Z_95
from quorate.voting.vote import skill_of

# Limits of the number of shared tasks that are planned: fewer do not determine the sign (`quorate.graph.weak_ties`).
MIN_SHARED_TASKS = 10
MAX_SHARED_TASKS = 100


@dataclass(frozen=True)
class ComponentRepair:
    """Assignments that connect components, then those that determine sign and scale."""

    task: IntArray
    worker: IntArray
    reason: tuple[str, ...]  # of each assignment
    n_repair: int  # number of assignments that connect components; they come first
    possible: bool  # False: these workers cannot connect the components
    n_left_out: int  # further assignments that are needed but exceed the budget or the room of the workers

    def only(self, chosen: IntArray) -> "ComponentRepair":
        """Return the repair with these assignments only, given by their indices."""
        return ComponentRepair(
            self.task[chosen],
            self.worker[chosen],
            tuple(self.reason[k] for k in chosen.tolist()),
            int((chosen < self.n_repair).sum()),
            self.possible,
            self.n_left_out + len(self.task) - len(chosen),
        )


def shared_tasks_needed(accuracy: float, confidence: float, n_classes: int, width: float) -> int:
    """Return the number of shared tasks for which the 95 % interval of a bridging worker's skill has a given width.

    The worker is compared with labels that are right with probability ``confidence``. Its agreement with them is a
    proportion of n answers, and the derivative of the agreement by the worker's skill is (M - 1)/M times the skill c of
    the labels, so the interval has the width 2 z M/(M - 1) sqrt(p (1 - p)/n)/c. The number is limited to the range
    from MIN_SHARED_TASKS to MAX_SHARED_TASKS.

    Args:
        accuracy: of the bridging worker.
        confidence: the mean confidence of the labels that it is compared with.
        n_classes: M.
        width: of the 95 % interval of its skill.

    >>> shared_tasks_needed(0.8, 1.0, 2, 0.4), shared_tasks_needed(0.8, 0.9, 2, 0.4)
    (62, 97)
    """
    c = max(float(skill_of(np.array(confidence), n_classes)), 0.1)
    scale = 2 * Z_95 * n_classes / (n_classes - 1) / (width * c)
    return int(np.clip(np.ceil(scale**2 * accuracy * (1 - accuracy)), MIN_SHARED_TASKS, MAX_SHARED_TASKS))


def repair_component(
    answers: Answers,
    crowd: Answers,
    identifiability: Identifiability,
    worker_pool: AvailableWorkers,
    accuracy: FloatArray,
    posterior: FloatArray,
    budget: int,
    width: float,
    weak: WeakIdentification | None = None,
    groups: Sequence[LooseGroup] | None = None,
) -> ComponentRepair:
    """Choose the answers that make all skills identifiable, and then those that determine sign and scale.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        identifiability: the components of that crowd.
        worker_pool: who can be asked.
        accuracy: of each worker of the pool.
        posterior: tasks × classes.
        budget: largest number of answers.
        width: target width of the interval of a bridging worker's skill.
        weak: weakly identified workers, who are compared with workers whose skill differs from zero.
        groups: of `groups_to_tie`; None: computed here.

    >>> import quorate
    >>> from quorate.advice.available_workers import gather_available_workers
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> worker_pool, even = gather_available_workers(answers, 5), np.full((2, 2), 0.5)
    >>> repaired = repair_component(answers, answers, identify(answers), worker_pool, np.full(3, 0.8), even, 5, 0.4)
    >>> repaired.task.tolist(), repaired.worker.tolist(), repaired.reason
    ([0], [2], ('repair: joins 1 worker to the rest',))
    """
    free = np.flatnonzero(worker_pool.available & (worker_pool.room > 0))
    order = free[np.lexsort([free, -worker_pool.load[free], -accuracy[free]])]
    first = repair(answers, identifiability, available=order)
    draft = _Draft(answers, worker_pool, accuracy, posterior.max(axis=1), order, budget, width)
    for task, worker in zip(first.task.tolist(), first.worker.tolist(), strict=True):
        draft.add(task, worker, _repair_reason(identifiability, worker, task, answers))
    n_repair = len(draft.task)
    for group in groups_to_tie(answers, crowd, identifiability) if groups is None else groups:
        if len(draft.task) < budget:
            draft.tie(group, first)
    if weak is not None and not draft.task:  # answers that connect groups come first, and may be sufficient
        with_answers = order[order < answers.n_workers]  # no new workers
        for comparison in comparisons(answers, weak, with_answers.tolist()):
            if len(draft.task) < budget:
                draft.compare(comparison)
    draft.scale(identifiability)
    return ComponentRepair(
        np.array(draft.task, np.int64),
        np.array(draft.worker, np.int64),
        tuple(draft.reason),
        n_repair,
        first.possible,
        draft.left_out,
    )


def _repair_reason(identifiability: Identifiability, worker: int, task: int, answers: Answers) -> str:
    component_of_task = identifiability.component[answers.worker[np.searchsorted(answers.task, task)]]
    component_of_worker = identifiability.component[worker] if worker < answers.n_workers else -1
    if component_of_worker == component_of_task:
        return "repair: makes ratings possible"
    n_joined = identifiability.sizes[component_of_task]
    if component_of_worker >= 0:
        n_joined = min(identifiability.sizes[component_of_worker], n_joined)
    return f"repair: joins {count(int(n_joined), 'worker')} to the rest"


def groups_to_tie(answers: Answers, crowd: Answers, identifiability: Identifiability) -> list[LooseGroup]:
    """Return the groups of workers that share no tasks, or few, with the rest, the largest first.

    They are the groups that `quorate diagnose` names. In a large crowd, a sample of whole tasks is searched.

    Args:
        answers: who answered what.
        crowd: the same, with the known labels as one more worker.
        identifiability: the components of that crowd.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 8, 4, seed=0).answers
    >>> groups_to_tie(answers, answers, identify(answers))
    []
    """
    if identifiability.n_components > 1:
        return _apart(identifiability, answers)
    n_workers = answers.n_workers
    sample = sample_for_tests(answers)
    if sample is not None:
        return list(sampled_ties(crowd, sample.of(crowd), identifiability, n_workers).loose)
    pairs = pair_stats(crowd) if too_many_pairs(crowd) is None else None
    anchor = n_workers if crowd.n_workers > n_workers else None
    return loose_groups(np.arange(crowd.n_workers), pairs, crowd, anchor=anchor)


def _apart(identifiability: Identifiability, answers: Answers) -> list[LooseGroup]:
    """Return the components except the first, as groups that share no task with the rest yet; the largest first."""
    first = np.flatnonzero(np.diff(answers.task, prepend=-1))  # all workers of a task are in the same component
    tasks = np.bincount(identifiability.component[answers.worker[first]], minlength=identifiability.n_components)
    members = grouped(identifiability.component[: answers.n_workers], identifiability.n_components)
    # Components with a single task are left out: one task determines no skill.
    chosen = np.flatnonzero(tasks > 1)[:MAX_GROUPS].tolist()
    return [LooseGroup(members[k], 0, int(tasks[k])) for k in chosen if k > 0]


class _Draft:
    """The assignments so far, within budget and room. The methods add assignments to the object."""

    def __init__(
        self,
        answers: Answers,
        worker_pool: AvailableWorkers,
        accuracy: FloatArray,
        confidence: FloatArray,
        order: IntArray,
        budget: int,
        width: float,
    ) -> None:
        self.answers = answers
        self.accuracy = accuracy
        self.confidence = confidence
        self.order = order
        self.budget = budget
        self.width = width
        self.room = worker_pool.room.copy()
        self.task: list[int] = []
        self.worker: list[int] = []
        self.reason: list[str] = []
        self.left_out = 0

    def add(self, task: int, worker: int, reason: str) -> bool:
        if len(self.task) >= self.budget or self.room[worker] < 1:
            self.left_out += 1
            return False
        self.room[worker] -= 1
        self.task.append(task)
        self.worker.append(worker)
        self.reason.append(reason)
        return True

    def done_by(self, worker: int) -> BoolArray:
        """Return which tasks a worker has answered or is assigned to answer."""
        done = np.zeros(self.answers.n_tasks, dtype=bool)
        done[self.answers.task[self.answers.worker == worker]] = True
        done[[t for t, w in zip(self.task, self.worker, strict=True) if w == worker]] = True
        return done

    def ask(self, askers: IntArray, tasks: BoolArray, have: int, most: int, reason: str) -> None:
        """Assign tasks with the most certain labels to the workers in turn, until enough tasks are shared.

        Args:
            askers: workers, the preferred first.
            tasks: which tasks may be assigned.
            have: number of tasks that are shared already.
            most: largest number of shared tasks.
            reason: of the assignments.
        """
        n_wanted = None
        for worker in askers.tolist():
            free = np.flatnonzero(tasks & ~self.done_by(worker))
            free = free[np.lexsort([free, -self.confidence[free]])][:MAX_SHARED_TASKS]
            if n_wanted is None and len(free):
                mean_confidence = float(self.confidence[free].mean())
                needed = shared_tasks_needed(
                    float(self.accuracy[worker]), mean_confidence, self.answers.n_classes, self.width
                )
                n_wanted = min(needed, most) - have
            if n_wanted is None:
                continue
            if n_wanted <= 0:
                break
            takes = free[: min(n_wanted, int(self.room[worker]), max(self.budget - len(self.task), 0))]
            for task in takes.tolist():
                self.add(task, worker, reason)
            n_wanted -= len(takes)
            tasks = tasks & ~np.isin(np.arange(len(tasks)), takes)  # the next worker gets other tasks
            if len(self.task) >= self.budget:
                break
        self.left_out += max(n_wanted or 0, 0)

    def tie(self, group: LooseGroup, first: Repair) -> None:
        """Assign tasks of the other workers to members of the group or, if no member can be asked, the other way."""
        a = self.answers
        inside = np.zeros(max(a.n_workers, int(self.order.max(initial=0)) + 1), dtype=bool)
        inside[group.workers[group.workers < a.n_workers]] = True  # without gold, which cannot be asked
        n_inside = a.by_task(inside[a.worker])
        is_of_group = n_inside == a.per_task  # tasks that only the group answered
        most = int((is_of_group & (a.per_task > 0)).sum())  # with more answers, others could answer all of these tasks
        size = int(inside.sum())
        reason = f"settle: compares {count(size, 'worker')} with the others"
        joined = [
            t for t, w in zip(first.task.tolist(), first.worker.tolist(), strict=True) if is_of_group[t] or inside[w]
        ]
        have = group.ties + (len(joined) > 0)
        bridges = [*first.worker.tolist(), group.by]  # workers who share a task already are preferred
        preferred = np.lexsort([np.arange(len(self.order)), ~np.isin(self.order, bridges)])
        askers = self.order[preferred]
        members = askers[inside[askers]]
        if len(members):
            self.ask(members, ~is_of_group & (n_inside == 0) & (a.per_task > 1), have, most, reason)
        else:
            self.ask(askers, is_of_group & (a.per_task > 0), have, most, reason)

    def compare(self, comparison: ProposedComparison) -> None:
        """Assign tasks of one worker to another, so that a group of weakly identified workers is identified."""
        a = self.answers
        of_partner = np.zeros(a.n_tasks, dtype=bool)
        of_partner[a.task[a.worker == comparison.partner]] = True
        n_shared = int((of_partner & self.done_by(comparison.worker)).sum())
        n_weak = count(len(comparison.workers), "weakly identified worker")
        reason = f"settle: identifies {n_weak}"
        self.ask(np.array([comparison.worker]), of_partner, n_shared, int(of_partner.sum()), reason)

    def scale(self, identifiability: Identifiability) -> None:
        """Assign a third worker to tasks with two answers, if too few tasks close an odd cycle."""
        a = self.answers
        n = a.per_task + np.bincount(np.array(self.task, np.int64), minlength=a.n_tasks)
        have = int((n >= 3).sum())
        has_scale_by_gold = identifiability.identifiable[0] != (not identifiability.bipartite[0])
        if have >= MAX_SHARED_TASKS or has_scale_by_gold:
            return
        has_two = a.per_task == 2
        if not identifiability.bipartite[0]:
            # If tasks with two answers close an odd cycle, they determine the scale without a third answer.
            is_two_sided = identify(a.where(has_two[a.task])).bipartite.all()
            if not is_two_sided:
                return
        self.ask(self.order, has_two & (n == 2), have, int((n >= 2).sum()), "settle: a third answer to the task")
