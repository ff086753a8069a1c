"""Simulate crowds: answers of workers with known skills, with given interaction graphs and true labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Table, from_numpy, table_of, take
from quorate.errors import OptionError
from quorate.io.arguments import check_arguments
from quorate.voting.vote import accuracy

Edges = tuple[IntArray, IntArray]


@dataclass(frozen=True)
class Crowd:
    """Simulated answers with the true labels and skills."""

    answers: Answers
    truth: IntArray  # the class code of each task
    skills: FloatArray  # the skill of each worker

    @property
    def answer_table(self) -> Table:
        """The answers as a table for `quorate.read`: task, worker, label."""
        return self.answers.to_table()

    @property
    def skill_table(self) -> Table:
        """The true skill of each worker: worker, skill."""
        return Table(table_of({"worker": self.answers.worker_names, "skill": self.skills}))

    @property
    def truth_table(self) -> Table:
        """The true label of each task: task, label."""
        labels = take(self.answers.classes, self.truth)
        return Table(table_of({"task": self.answers.task_names, "label": labels}))


@check_arguments
def crowd(
    n_tasks: int = 1000,
    n_workers: int = 50,
    per_task: int = 3,
    *,
    n_classes: int = 2,
    skills: FloatArray | None = None,
    activity: FloatArray | None = None,
    prior: FloatArray | None = None,
    seed: int | np.random.Generator = 0,
) -> Crowd:
    """Simulate a crowd in which each task is answered by ``per_task`` workers drawn at random.

    Args:
        n_tasks: number of tasks.
        n_workers: number of workers.
        per_task: number of answers per task.
        n_classes: number of classes, M.
        skills: skill of each worker; by default drawn uniformly from [0, 1].
        activity: relative frequency with which each worker is drawn; equal by default. See `zipf_activity`.
        prior: probability of each class; uniform by default.
        seed: seed or generator; the same seed gives the same crowd.

    >>> simulated = crowd(n_tasks=100, n_workers=20, per_task=3, seed=7)
    >>> simulated.answers.n_answers, simulated.answers.n_workers
    (300, 20)
    """
    rng = np.random.default_rng(seed)
    if not 1 <= per_task <= n_workers:
        raise OptionError(f"{per_task} answers per task need at least {per_task} workers, and there are {n_workers}")
    skills = rng.random(n_workers) if skills is None else np.asarray(skills, dtype=np.float64)
    workers = draw_workers(n_tasks, n_workers, per_task, activity=activity, rng=rng)
    return answer(np.repeat(np.arange(n_tasks), per_task), workers.ravel(), skills, n_tasks, n_classes, prior, rng)


@check_arguments
def crowd_on_graph(
    edges: Edges, skills: FloatArray, n_tasks: int, *, n_classes: int = 2, seed: int | np.random.Generator = 0
) -> Crowd:
    """Simulate a crowd with a given interaction graph: the two workers of a random edge answer each task.

    Every edge gets at least one task if there are as many tasks as edges.

    >>> simulated = crowd_on_graph(ring(5), np.full(5, 0.8), n_tasks=50)
    >>> simulated.answers.per_task.tolist() == [2] * 50
    True
    """
    rng = np.random.default_rng(seed)
    i, j = edges
    n_edges = len(i)
    each_edge_once = rng.permutation(n_edges)
    further_edges = rng.integers(0, n_edges, max(n_tasks - n_edges, 0))
    edge_of_task = np.concatenate([each_edge_once, further_edges])[:n_tasks]
    workers = np.stack([i[edge_of_task], j[edge_of_task]], axis=1)
    task = np.repeat(np.arange(n_tasks), 2)
    return answer(task, workers.ravel(), np.asarray(skills), n_tasks, n_classes, None, rng)


@check_arguments
def answer(
    task: IntArray,
    worker: IntArray,
    skills: FloatArray,
    n_tasks: int,
    n_classes: int,
    prior: FloatArray | None,
    rng: np.random.Generator,
) -> Crowd:
    """Simulate the answers of workers to tasks: right with probability ((M-1)s + 1)/M, else a random other class.

    >>> rng = np.random.default_rng(0)
    >>> answer(np.array([0, 0]), np.array([0, 1]), np.array([1.0, 1.0]), 1, 3, None, rng).answers.n_answers
    2
    """
    if np.any(skills < -1 / (n_classes - 1) - 1e-12) or np.any(skills > 1):
        raise OptionError(f"with {n_classes} classes a skill must lie between {-1 / (n_classes - 1):.3g} and 1")
    truth = rng.choice(n_classes, size=n_tasks, p=None if prior is None else prior)
    right = rng.random(len(task)) < accuracy(skills, n_classes)[worker]
    shift = rng.integers(1, n_classes, len(task))
    label = np.where(right, truth[task], (truth[task] + shift) % n_classes)
    return collect(task, worker, label, truth, skills, n_classes)


@check_arguments
def collect(
    task: IntArray, worker: IntArray, label: IntArray, truth: IntArray, skills: FloatArray, n_classes: int
) -> Crowd:
    """Return the crowd of simulated answers; names are numbers with a prefix (t0, w0, c0).

    >>> codes = np.array([0, 0]), np.array([0, 1]), np.array([1, 1])
    >>> collect(*codes, truth=np.array([1]), skills=np.ones(2), n_classes=2).answers.classes.to_pylist()
    ['c0', 'c1']
    """
    n_tasks = len(truth)
    order = np.lexsort([worker, task])
    tasks, workers, labels = (column[order].astype(np.int32) for column in (task, worker, label))
    names = (_names(prefix, n) for prefix, n in (("t", n_tasks), ("w", len(skills)), ("c", n_classes)))
    return Crowd(Answers(tasks, workers, labels, *names), truth, skills)


@check_arguments
def draw_workers(
    n_tasks: int, n_workers: int, per_task: int, *, activity: FloatArray | None = None, rng: np.random.Generator
) -> IntArray:
    """Return different random workers for each task, in proportion to their activity; shape (tasks, per_task).

    >>> draw_workers(2, 3, 3, rng=np.random.default_rng(0)).shape
    (2, 3)
    """
    share = np.full(n_workers, 1.0) if activity is None else np.asarray(activity, dtype=np.float64)
    cumulative = np.cumsum(share / share.sum())
    chosen = np.full((n_tasks, per_task), -1)
    # Draw one column at a time, and draw again where the task already has this worker: sampling without replacement.
    for column in range(per_task):
        open_rows = np.arange(n_tasks)
        for _ in range(1000):
            candidate = np.minimum(np.searchsorted(cumulative, rng.random(len(open_rows)), side="right"), n_workers - 1)
            fresh = (chosen[open_rows, :column] != candidate[:, None]).all(axis=1)
            chosen[open_rows[fresh], column] = candidate[fresh]
            open_rows = open_rows[~fresh]
            if len(open_rows) == 0:
                break
        for row in open_rows:  # a few workers have nearly all the activity: draw from the others directly
            rest = np.setdiff1d(np.arange(n_workers), chosen[row, :column])
            chosen[row, column] = rng.choice(rest, p=share[rest] / share[rest].sum())
    return chosen


@check_arguments
def zipf_activity(n_workers: int, exponent: float = 1.0) -> FloatArray:
    """Return the activity of each worker by Zipf's law, so that few workers give most of the answers.

    >>> zipf_activity(3).round(3).tolist()
    [1.0, 0.5, 0.333]
    """
    return np.arange(1, n_workers + 1, dtype=np.float64) ** -exponent


@check_arguments
def grid_skills(
    n_workers: int, low: float = -0.3, high: float = 0.8, *, seed: int | np.random.Generator = 0
) -> FloatArray:
    """Return equally spaced skills from ``low`` to ``high``, in random order.

    >>> np.sort(grid_skills(3, 0.2, 0.8)).round(3).tolist()
    [0.2, 0.5, 0.8]
    """
    return np.random.default_rng(seed).permutation(np.linspace(low, high, n_workers))


@check_arguments
def beta_skills(
    n_workers: int, alpha: float, beta: float, *, n_classes: int = 2, seed: int | np.random.Generator = 0
) -> FloatArray:
    """Return random skills of workers whose accuracy has a Beta distribution.

    >>> bool((np.abs(beta_skills(100, 5, 1)) <= 1).all())
    True
    """
    p = np.random.default_rng(seed).beta(alpha, beta, n_workers)
    return np.maximum((n_classes * p - 1) / (n_classes - 1), -1 / (n_classes - 1))


@check_arguments
def parse_skills(law: str, n_workers: int, *, n_classes: int = 2, seed: int = 0) -> FloatArray:
    """Return random skills for a law written as ``uniform:LOW:HIGH``, ``grid:LOW:HIGH`` or ``beta:ALPHA:BETA``.

    Raises:
        OptionError: the law is not one of these.

    >>> np.sort(parse_skills("grid:0.2:0.8", 3)).round(3).tolist()
    [0.2, 0.5, 0.8]
    """
    name, first, second = _parse(law, 2, "skills", "uniform:0:1, grid:-0.3:0.8 or beta:5:1")
    rng = np.random.default_rng([seed, 1])  # independent of the random numbers for the answers
    if name == "uniform":
        return rng.uniform(first, second, n_workers)
    if name == "grid":
        return grid_skills(n_workers, first, second, seed=rng)
    if name == "beta" and first > 0 and second > 0:
        return beta_skills(n_workers, first, second, n_classes=n_classes, seed=rng)
    raise OptionError(
        f"skills= (--skills) has an unknown distribution {law!r}. Write uniform:0:1, grid:-0.3:0.8 or beta:5:1"
    )


@check_arguments
def parse_activity(law: str, n_workers: int) -> FloatArray | None:
    """Return the activity of each worker for a law written as ``even`` (None) or ``zipf:EXPONENT``.

    Raises:
        OptionError: the law is not one of these.

    >>> parse_activity("even", 3) is None, len(parse_activity("zipf:1.0", 3))
    (True, 3)
    """
    if law == "even":
        return None
    name, exponent = _parse(law, 1, "activity", "even or zipf:1.0")
    if name != "zipf":
        raise OptionError(f"activity= (--activity) has an unknown distribution {law!r}. Write even or zipf:1.0")
    return zipf_activity(n_workers, exponent)


def _parse(law: str, n_numbers: int, what: str, examples: str) -> tuple[Any, ...]:
    name, *numbers = law.split(":")
    try:
        values = [float(number) for number in numbers]
    except ValueError:
        values = []
    if len(values) != n_numbers:
        raise OptionError(f"{what}= (--{what}) has an unknown distribution {law!r}. Write {examples}")
    return name, *values


@check_arguments
def clique(n: int) -> Edges:
    """Return the edges of the complete graph.

    >>> len(clique(4)[0])
    6
    """
    i, j = np.triu_indices(n, k=1)
    return i, j


@check_arguments
def ring(n: int) -> Edges:
    """Return the edges of a ring: each worker is joined to the next, and the last to the first.

    >>> [ends.tolist() for ends in ring(3)]
    [[0, 1, 0], [1, 2, 2]]
    """
    i = np.arange(n)
    return np.minimum(i, (i + 1) % n), np.maximum(i, (i + 1) % n)


@check_arguments
def star(n: int, *, odd_cycle: bool = True) -> Edges:
    """Return the edges of a star: the first worker is joined to all; for an odd cycle, also the second to the third.

    >>> [ends.tolist() for ends in star(4)]
    [[0, 0, 0, 1], [1, 2, 3, 2]]
    """
    i = np.zeros(n - 1, np.int64)
    j = np.arange(1, n)
    return (np.append(i, 1), np.append(j, 2)) if odd_cycle else (i, j)


@check_arguments
def grid(rows: int, columns: int, *, odd_cycle: bool = True) -> Edges:
    """Return the edges of a rectangular grid: neighbours are joined; for an odd cycle, also one diagonal.

    >>> [ends.tolist() for ends in grid(2, 2)]
    [[0, 2, 0, 1, 0], [1, 3, 2, 3, 3]]
    """
    at = np.arange(rows * columns).reshape(rows, columns)
    i = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    j = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return (np.append(i, at[0, 0]), np.append(j, at[1, 1])) if odd_cycle else (i, j)


@check_arguments
def random_graph(n: int, probability: float, *, seed: int | np.random.Generator = 0) -> Edges:
    """Return the edges of a random graph, in which each pair is joined with this probability (Erdős and Rényi).

    >>> len(random_graph(10, 1.0)[0])
    45
    """
    i, j = clique(n)
    is_edge = np.random.default_rng(seed).random(len(i)) < probability
    return i[is_edge], j[is_edge]


def _names(prefix: str, n: int) -> pa.Array:
    return pc.binary_join_element_wise(prefix, from_numpy(np.arange(n)).cast(pa.string()), "")
