"""Small crowds for the tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.io.read import read
from quorate.simulate import collect


def answers_of(rows: Sequence[tuple[Any, Any, Any]], **options: Any) -> Answers:
    """Answers from (task, worker, label) rows."""
    task, worker, label = (list(column) for column in zip(*rows, strict=True))
    return read({"task": task, "worker": worker, "label": label}, **options)


@st.composite
def rows(draw: st.DrawFn, max_tasks: int = 8, max_workers: int = 6, max_classes: int = 4) -> list[tuple[int, str, str]]:
    """Tables with no conflict: every worker answers a task at most once."""
    n_tasks, n_workers = draw(st.integers(1, max_tasks)), draw(st.integers(1, max_workers))
    labels = "abcd"[: draw(st.integers(1, max_classes))]
    cells = [(task, f"w{worker}") for task in range(n_tasks) for worker in range(n_workers)]
    chosen = draw(st.lists(st.sampled_from(cells), min_size=1, unique=True))
    return [(task, worker, draw(st.sampled_from(labels))) for task, worker in chosen]


@st.composite
def of_several_classes(draw: st.DrawFn, max_tasks: int = 8) -> Answers:
    """Answers in two to four classes, not all of which need be given."""
    table = draw(rows(max_tasks=max_tasks))
    given = "abcd".index(max(label for _, _, label in table)) + 1
    return answers_of(table, classes=list("abcd"[: draw(st.integers(max(given, 2), 4))]))


def random_edges(n: int, rng: np.random.Generator, share: float) -> tuple[IntArray, IntArray]:
    i, j = np.triu_indices(n, k=1)
    kept = rng.random(len(i)) < share
    return i[kept], j[kept]


def connected_odd_graph(n: int, rng: np.random.Generator, share: float = 0.3) -> tuple[IntArray, IntArray]:
    """A random connected graph with an odd cycle: a random tree, a triangle, and random edges."""
    parents = [int(rng.integers(0, k)) for k in range(1, n)]
    edges = {(parent, k + 1) for k, parent in enumerate(parents)}
    edges |= set(zip(*(ends.tolist() for ends in random_edges(n, rng, share)), strict=True))
    a, b, c = sorted(rng.choice(n, 3, replace=False).tolist())
    edges |= {(a, b), (b, c), (a, c)}
    i, j = np.array(sorted(edges)).T
    return i, j


def signed_skills(n: int, rng: np.random.Generator) -> FloatArray:
    """Skills of either sign, none near zero, that sum to more than zero."""
    skills = rng.uniform(0.2, 0.9, n) * np.where(rng.random(n) < 0.3, -1, 1)
    return skills if skills.sum() > 0 else -skills


def coded(cells: set[tuple[int, int]], n_tasks: int, n_workers: int) -> Answers:
    """Let the workers answer these (task, worker) cells; the class is the task's parity, and so is the truth."""
    task, worker = (np.array(column) for column in zip(*sorted(cells), strict=True))
    return collect(task, worker, task % 2, np.arange(n_tasks) % 2, np.ones(n_workers), 2).answers
