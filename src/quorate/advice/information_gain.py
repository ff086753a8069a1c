"""Expected information of an answer about the label of its task, and which workers should give it.

If a worker of accuracy p answers a task with posterior q, the entropy of the posterior is expected to fall by
H(pi) - h(p), where pi_l = a + q_l (p - a) is the probability of the answer l, a = (1 - p)/(M - 1), and
h = -p ln p - (1 - p) ln a.
"""

from dataclasses import dataclass

import numpy as np

from quorate.advice.available_workers import AvailableWorkers
from quorate.advice.stopping import effective_votes_added
from quorate.arrays import BoolArray, FloatArray, IntArray, runs, sortable, starts_of
from quorate.voting.vote import skill_of, weight

MIN_GAIN = 1e-9  # nats: answers with less information are not planned
MAX_CELLS = 1 << 20  # probabilities of which temporary tables are made at once, to limit memory
N_SAMPLE_TASKS = 64  # number of tasks on which workers of different cost are compared


@dataclass(frozen=True)
class AssignmentPlan:
    """Assignments; `gain` is the expected information in nats, after the better assignments of the same task."""

    task: IntArray
    worker: IntArray
    gain: FloatArray

    def __len__(self) -> int:
        return len(self.task)


def expected_gain(posterior: FloatArray, accuracy: FloatArray) -> FloatArray:
    """Return the expected decrease of a posterior's entropy, in nats, if a worker of this accuracy answers.

    Args:
        posterior: shape (…, classes).
        accuracy: shape (…), or any shape that broadcasts with it.

    >>> expected_gain(np.array([0.5, 0.5]), np.array([1.0, 0.8, 0.5])).round(3).tolist()
    [0.693, 0.193, 0.0]
    """
    if posterior.ndim == 2 and posterior.size > MAX_CELLS:
        of_rows = np.broadcast_to(accuracy, posterior.shape[:1])
        return np.concatenate([expected_gain(posterior[rows], of_rows[rows]) for rows in _row_slices(posterior)])
    m = posterior.shape[-1]
    p = np.asarray(accuracy, dtype=np.float64)
    a = (1 - p) / (m - 1)
    pi = a[..., None] + posterior * (p - a)[..., None]
    noise = -_times_log(p) - (m - 1) * _times_log(a)
    gain: FloatArray = np.maximum(entropy(pi) - noise, 0.0)
    return gain


def tempered_accuracy(accuracy: FloatArray, share: FloatArray, n_classes: int) -> FloatArray:
    """Return the accuracy of a worker whose log-odds are those of the given accuracy times a share.

    >>> tempered_accuracy(np.array([0.8, 0.8]), np.array([1.0, 0.5]), 2).round(3).tolist()
    [0.8, 0.667]
    """
    if (share == 1).all():  # unchanged: the conversion to log-odds and back would change the last digit
        return accuracy
    odds = weight(skill_of(accuracy, n_classes), n_classes) * share
    tempered: FloatArray = 1 / (1 + (n_classes - 1) * np.exp(-odds))
    return tempered


def entropy(posterior: FloatArray) -> FloatArray:
    """Return the entropy over the last axis, in nats.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.693, 0.0]
    """
    if posterior.ndim == 2 and posterior.size > MAX_CELLS:
        return np.concatenate([entropy(posterior[rows]) for rows in _row_slices(posterior)])
    total: FloatArray = 0.0 - _times_log(posterior).sum(axis=-1)
    return total


def _row_slices(posterior: FloatArray) -> list[slice]:
    """Return slices of rows with at most MAX_CELLS probabilities each."""
    return runs(len(posterior), posterior.shape[1], MAX_CELLS)


def _times_log(p: FloatArray) -> FloatArray:
    product: FloatArray = p * np.log(np.maximum(p, 1e-300))
    return product


def plan(
    done: tuple[IntArray, IntArray],
    posterior: FloatArray,
    accuracy: FloatArray,
    worker_pool: AvailableWorkers,
    budget: int,
    open_tasks: BoolArray,
    answered: IntArray | None = None,
    dependence: float = 0.0,
) -> AssignmentPlan:
    """Choose the answers with the most expected information, the best first.

    Tasks are ranked by the information of the best worker's answer. If one answer removes the share r of the entropy of
    a task, a second answer is assumed to remove the same share of the rest (the exact value is a sum over all first
    answers; the two differ by a few per cent). If errors are correlated, the second answer has less information, by the
    square of the share that it adds: the information of weak evidence is proportional to its square. Workers take tasks
    from the top of this list in the order of their accuracy (with costs, of the information per unit of cost), as many
    as they have room for, and no task twice: the same as if each task in turn chose the best worker who is left.

    Args:
        done: tasks and workers of existing answers, which are not assigned again; one entry per answer.
        posterior: tasks × classes.
        accuracy: of each worker of the pool.
        worker_pool: the workers who can be asked.
        budget: largest number of answers.
        open_tasks: which tasks may get answers.
        answered: number of answers that each task has; needed if errors are correlated.
        dependence: correlation of the errors of two answers to a task.

    >>> import quorate
    >>> from quorate.advice.available_workers import gather_available_workers
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxx")})
    >>> worker_pool = gather_available_workers(answers, 1, available=["c"])
    >>> done, posterior = (answers.task, answers.worker), np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> chosen = plan(done, posterior, np.full(3, 0.8), worker_pool, 1, np.array([True, True]))
    >>> chosen.task.tolist(), chosen.worker.tolist(), chosen.gain.round(3).tolist()
    ([0], [2], [0.193])
    """
    ranked = _ranked(posterior, open_tasks, accuracy, worker_pool)
    if len(ranked) == 0 or not open_tasks.any():
        return AssignmentPlan(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    n_answered = np.zeros(len(posterior), np.int64) if answered is None else answered
    best = tempered_accuracy(accuracy[ranked[:1]], effective_votes_added(n_answered, dependence), posterior.shape[1])
    once = np.where(open_tasks, expected_gain(posterior, best), 0.0) * worker_pool.gives[ranked[0]]
    before = entropy(posterior)
    remaining = 1 - np.divide(once, before, out=np.ones_like(once), where=before > 0)
    assignments = _Assignments(done, len(posterior), worker_pool)
    n_done = np.bincount(done[0], worker_pool.available[done[1]], len(posterior)).astype(np.int64)
    per_task = int(worker_pool.available.sum()) - n_done  # workers who can still be asked
    n_asked: IntArray = np.zeros(len(posterior), np.int64)
    while assignments.n < budget:
        information = _AnswerInformation(once, remaining, n_answered, dependence)
        wanted = _most_informative(information, n_asked, per_task - n_asked, budget - assignments.n)
        if len(wanted) == 0:
            break
        due = n_asked + np.bincount(wanted, minlength=len(posterior))
        assignments.take(wanted, ranked)
        n_asked = assignments.per_task()
        # Tasks that got fewer answers than wanted have no further workers: they get no more answers.
        per_task = np.where(n_asked < due, n_asked, per_task)
    task, worker = assignments.pairs()
    order = np.lexsort([worker, -accuracy[worker], task])  # within a task, the more accurate worker first
    task = task[order]
    worker = worker[order]
    turn = np.arange(len(task)) - np.searchsorted(task, task)
    tempered = tempered_accuracy(
        accuracy[worker], effective_votes_added(n_answered[task] + turn, dependence), posterior.shape[1]
    )
    return _with_gains(task, worker, posterior, tempered, worker_pool)


def _ranked(
    posterior: FloatArray, open_tasks: BoolArray, accuracy: FloatArray, worker_pool: AvailableWorkers
) -> IntArray:
    """Return the workers who can be asked, the best first: by accuracy, or by gain per unit of cost.

    The gain is multiplied by the probability that the worker answers.
    """
    free = np.flatnonzero(worker_pool.available & (worker_pool.room > 0))
    value = accuracy[free]
    if (worker_pool.priced or not (worker_pool.gives == 1).all()) and open_tasks.any():
        # The gain per cost depends on the task: it is averaged over tasks of all entropies, most of them high.
        order = np.flatnonzero(open_tasks)
        order = order[np.argsort(-entropy(posterior)[order], kind="stable")]
        sample = posterior[order[np.unique(np.geomspace(1, len(order), N_SAMPLE_TASKS).astype(np.int64)) - 1]]
        value = (
            expected_gain(sample[None], accuracy[free, None]).mean(axis=1)
            * worker_pool.gives[free]
            / worker_pool.cost[free]
        )
    return free[np.lexsort([free, -value])]


@dataclass(frozen=True)
class _AnswerInformation:
    """Information of the next answers to each task, which decreases with their number."""

    once: FloatArray  # information of the first further answer, in nats
    remaining: FloatArray  # share of the entropy that remains after one answer
    answered: IntArray  # number of answers that each task has
    dependence: float

    def log_information(self, tasks: IntArray, number: IntArray) -> FloatArray:
        """Return the log of the information of an answer to each task after ``number`` further answers."""
        fresh, later = (effective_votes_added(self.answered[tasks] + n, self.dependence) for n in (0, number))
        with np.errstate(divide="ignore"):
            repeats = 2 * (np.log(later) - np.log(fresh)) if self.dependence < 1 else np.where(number > 0, -np.inf, 0.0)
            log_gain = np.log(self.once[tasks]) + number * np.log(np.clip(self.remaining[tasks], 1e-12, 1 - 1e-12))
        total: FloatArray = log_gain + repeats
        return total


def _most_informative(information: _AnswerInformation, n_asked: IntArray, room: IntArray, n: int) -> IntArray:
    """Return the tasks of the n answers with most information, the best first; a task may occur several times."""
    tasks = np.flatnonzero((information.once > MIN_GAIN) & (room > 0))
    turn = 0
    level = np.log(MIN_GAIN)
    rounds: list[tuple[IntArray, FloatArray]] = []
    while len(tasks):
        value = information.log_information(tasks, n_asked[tasks] + turn)
        is_large = value > level
        rounds.append((tasks[is_large], value[is_large]))
        values = np.concatenate([round_values for _, round_values in rounds])
        if len(values) > n:  # values below the n best so far are dropped: later answers have less information
            level = max(level, float(np.partition(values, -n)[-n]) - 1e-9)
        turn += 1
        tasks = tasks[is_large & (room[tasks] > turn)]
    if not rounds:
        return np.zeros(0, np.int64)
    task, values = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
    turns = np.repeat(np.arange(len(rounds)), [len(round_tasks) for round_tasks, _ in rounds])
    chosen: IntArray = task[np.lexsort([turns, task, -sortable(values)])[:n]]
    return chosen


class _Assignments:
    """The assignments so far. `take` changes the object."""

    def __init__(self, done: tuple[IntArray, IntArray], n_tasks: int, worker_pool: AvailableWorkers) -> None:
        self.n_tasks = n_tasks
        self.room = worker_pool.room.copy()
        task, worker = done
        self.done = task[np.argsort(worker, kind="stable")]
        self.start = starts_of(np.bincount(worker, minlength=worker_pool.size))
        self.new: dict[int, list[IntArray]] = {}
        self.n = 0

    def take(self, wanted: IntArray, ranked: IntArray) -> int:
        """Assign to each worker in turn the first tasks of the list that it has not answered; return the number."""
        refused = np.zeros(self.n_tasks, dtype=bool)
        skipped = wanted[:0]
        at = 0
        before = self.n
        for worker in ranked.tolist():
            room = int(self.room[worker])
            if room == 0:
                continue
            if at >= len(wanted) and len(skipped) == 0:
                break
            done_tasks = np.concatenate(
                [self.done[self.start[worker] : self.start[worker + 1]], *self.new.get(worker, [])]
            )
            refused[done_tasks] = True
            step = room + 8
            while True:  # read the list until the room is filled, or to its end
                reach = min(len(wanted), at + step)
                step = 2 * step
                seen = np.concatenate([skipped, wanted[at:reach]])
                first = np.zeros(len(seen), dtype=bool)
                first[np.unique(seen, return_index=True)[1]] = True
                chosen = np.flatnonzero(first & ~refused[seen])[:room]
                if len(chosen) == room or reach == len(wanted):
                    break
            refused[done_tasks] = False
            # The entries after the last chosen one remain on the list.
            last = max(int(chosen[-1]) + 1 if len(chosen) else 0, len(skipped))
            is_skipped = np.ones(last, dtype=bool)
            is_skipped[chosen] = False
            at += last - len(skipped)
            skipped = seen[:last][is_skipped]
            if len(chosen):
                self.new.setdefault(worker, []).append(seen[chosen])
                self.room[worker] -= len(chosen)
                self.n += len(chosen)
        return self.n - before

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return tasks and workers of the new assignments, grouped by worker."""
        if not self.new:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        task = np.concatenate([part for parts in self.new.values() for part in parts])
        worker = np.repeat(list(self.new), [sum(map(len, parts)) for parts in self.new.values()])
        return task, worker

    def per_task(self) -> IntArray:
        """Return the number of new answers of each task."""
        return np.bincount(self.pairs()[0], minlength=self.n_tasks)


def _with_gains(
    task: IntArray, worker: IntArray, posterior: FloatArray, accuracy: FloatArray, worker_pool: AvailableWorkers
) -> AssignmentPlan:
    """Return the assignments with their expected information after the better ones of the same task, the best first.

    Args:
        task: of each assignment, sorted; within a task, the better assignment first.
        worker: of each assignment.
        posterior: tasks × classes.
        accuracy: of each assignment, reduced by the dependence.
        worker_pool: with the cost and the probability of an answer.
    """
    alone = np.empty(len(task))
    before = np.empty(len(task))
    for rows in runs(len(task), posterior.shape[1], MAX_CELLS):
        of_rows = posterior[task[rows]]
        alone[rows] = expected_gain(of_rows, accuracy[rows]) * worker_pool.gives[worker[rows]]
        before[rows] = entropy(of_rows)
    remains = np.log1p(-np.minimum(np.divide(alone, before, out=np.zeros_like(alone), where=alone > 0), 1 - 1e-9))
    so_far = np.cumsum(remains) - remains
    first = np.searchsorted(task, task)  # where each task's run begins
    gain = alone * np.exp(so_far - so_far[first])
    best = np.lexsort([worker, task, -sortable(gain / worker_pool.cost[worker])])
    return AssignmentPlan(task[best], worker[best], gain[best])
