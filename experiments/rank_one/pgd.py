"""The paper's PGD for many crowds at a time: signed correlations, fixed step, start one half, box with tau = 1.

It shares no code with the package, and is run until the projected-gradient norm of every crowd is below 1e-8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from experiments.rank_one.crowds import FloatArray, IntArray, SparseCrowd

TOLERANCE = 1e-8
LOOK_EVERY = 200  # number of sweeps between two tests of convergence


@dataclass(frozen=True)
class Table:
    """Pairs of one crowd."""

    n: int
    i: IntArray
    j: IntArray
    shared: FloatArray
    correlation: FloatArray
    n_answers: FloatArray
    n_classes: int


def pair_table(crowd: SparseCrowd) -> Table:
    """Count shared tasks and agreements of a crowd whose tasks have two answers each."""
    answers = crowd.simulated.answers
    m = answers.n_classes
    n = answers.n_workers
    worker = np.sort(np.asarray(answers.worker, dtype=np.int64).reshape(-1, 2), axis=1)
    label = np.asarray(answers.label).reshape(-1, 2)
    keys, pair = np.unique(worker[:, 0] * n + worker[:, 1], return_inverse=True)
    shared = np.bincount(pair).astype(np.float64)
    agreed = np.bincount(pair, label[:, 0] == label[:, 1])
    correlation = (m * agreed / shared - 1) / (m - 1)
    n_answers = np.bincount(worker.ravel(), minlength=n).astype(np.float64)
    return Table(n, keys // n, keys % n, shared, correlation, n_answers, m)


def run(tables: Sequence[Table], max_sweeps: int) -> tuple[list[FloatArray], int]:
    """Return the skills of every crowd, oriented by the sum rule, and how many had not converged at the cap."""
    skills: list[FloatArray] = [np.zeros(0)] * len(tables)
    waiting = list(range(len(tables)))
    starts = [np.full(table.n, 0.5) for table in tables]
    n_sweeps = 0
    while waiting and n_sweeps < max_sweeps:
        sweeps = min(max(4 * n_sweeps, 2_000), max_sweeps - n_sweeps)
        ends, norms = _sweeps([tables[k] for k in waiting], [starts[k] for k in waiting], sweeps)
        n_sweeps += sweeps
        left = []
        for k, end, norm in zip(waiting, ends, norms, strict=True):
            skills[k] = end
            starts[k] = end
            if norm > TOLERANCE:
                left.append(k)
        waiting = left
    return [oriented(table, x) for table, x in zip(tables, skills, strict=True)], len(waiting)


def _sweeps(
    tables: Sequence[Table], starts: Sequence[FloatArray], max_sweeps: int
) -> tuple[list[FloatArray], list[float]]:
    """Run all crowds together, as components of one graph; each crowd has its own step."""
    offsets = np.concatenate([[0], np.cumsum([table.n for table in tables])])
    i = np.concatenate([table.i + low for table, low in zip(tables, offsets, strict=False)])
    j = np.concatenate([table.j + low for table, low in zip(tables, offsets, strict=False)])
    shared = np.concatenate([table.shared for table in tables])
    signed = shared * np.concatenate([table.correlation for table in tables])
    n = int(offsets[-1])
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    weights = sparse.csr_array((np.tile(shared, 2), both), shape=(n, n))
    products = sparse.csr_array((np.tile(signed, 2), both), shape=(n, n))
    degree = weights @ np.ones(n)
    greatest = np.maximum.reduceat(degree, offsets[:-1])
    owner = np.repeat(np.arange(len(tables)), np.diff(offsets))
    step = (1 / (4 * greatest))[owner]  # with this step the loss never rises
    reach = np.concatenate([np.maximum(1 - 1 / np.sqrt(np.maximum(table.n_answers, 1)), 0.0) for table in tables])
    lowest = np.concatenate([np.full(table.n, -1 / (table.n_classes - 1)) for table in tables])
    lower = np.maximum(-reach, lowest)
    x = np.clip(np.concatenate(starts), lower, reach)
    norms = np.zeros(len(tables))
    for sweep in range(max_sweeps):
        ascent = products @ x - x * (weights @ (x * x))
        new = np.clip(x + step * ascent, lower, reach)
        if sweep % LOOK_EVERY == 0 or sweep == max_sweeps - 1:
            moved = np.abs(np.clip(x + ascent / np.maximum(degree, 1e-300), lower, reach) - x)
            norms = np.maximum.reduceat(moved, offsets[:-1])
            if norms.max() <= TOLERANCE:
                break
        x = new
    return [x[low:high] for low, high in pairwise(offsets)], norms.tolist()


def oriented(table: Table, x: FloatArray) -> FloatArray:
    """Return the skills with the sign of components with a negative sum changed, if the box allows it."""
    links = sparse.coo_array((np.ones(len(table.i)), (table.i, table.j)), shape=(table.n, table.n))
    component = sparse.csgraph.connected_components(links, directed=False)[1]
    flipped = np.where((np.bincount(component, x) < 0)[component], -x, x)
    outside = np.bincount(component, flipped < -1 / (table.n_classes - 1)) > 0
    return np.where(outside[component], x, flipped)


def label_error(crowd: SparseCrowd, skills: FloatArray) -> float:
    """Return the error of the vote by log-odds, ties split evenly."""
    answers = crowd.simulated.answers
    m = answers.n_classes
    accuracy = np.clip(((m - 1) * skills + 1) / m, 1e-9, 1 - 1e-9)
    weight = np.log((m - 1) * accuracy / (1 - accuracy))
    n_tasks = answers.n_tasks
    cells = np.asarray(answers.task, dtype=np.int64) * m + answers.label
    votes = np.bincount(cells, weight[answers.worker], n_tasks * m).reshape(n_tasks, m)
    is_top = votes >= votes.max(axis=1, keepdims=True) - 1e-12
    right = is_top[np.arange(n_tasks), crowd.simulated.truth] / is_top.sum(axis=1)
    return float(1 - right.mean())
