"""Sparse crowds: two answers to each task, the pairs of workers along the edges of ten families of graphs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quorate import simulate

IntArray: TypeAlias = NDArray[np.integer[Any]]
FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Edges = list[tuple[int, int]]

SIZES = (21, 80)
TASKS_PER_EDGE = (3, 10, 30, 100)


@dataclass(frozen=True)
class SparseCrowd:
    """A simulated crowd with its graph."""

    simulated: simulate.Crowd
    edges: IntArray  # (edges, 2)


def regular(degree: int) -> Callable[[int, np.random.Generator], Edges]:
    """Return the family of random regular graphs: ends are matched until no pair is repeated."""

    def draw(n: int, rng: np.random.Generator) -> Edges:
        odd_one = [] if n * degree % 2 == 0 else [0]  # one worker has one more peer if the number of ends is odd
        ends = np.concatenate([np.repeat(np.arange(n), degree), np.array(odd_one, dtype=np.int64)])
        while True:
            pairs = np.sort(rng.permutation(ends).reshape(-1, 2), axis=1)
            edges = sorted({(int(one), int(two)) for one, two in pairs})
            if len(edges) == len(pairs) and all(one != two for one, two in edges):
                return edges

    return draw


def tree_and_triangle(n: int, rng: np.random.Generator) -> Edges:
    """Return a random tree, each worker joined to an earlier one, with an edge that closes a triangle."""
    edges = [(int(rng.integers(0, worker)), worker) for worker in range(1, n)]
    peers: dict[int, list[int]] = {worker: [] for worker in range(n)}
    for one, two in edges:
        peers[one].append(two)
        peers[two].append(one)
    centre = next(worker for worker in range(n) if len(peers[worker]) > 1)
    one, two = sorted(peers[centre][:2])
    return [*edges, (one, two)]


def ring(n: int, rng: np.random.Generator) -> Edges:
    """Return a ring; an even one has a chord that closes a triangle."""
    edges = [(worker, (worker + 1) % n) for worker in range(n)]
    return edges if n % 2 else [*edges, (0, 2)]


def cliques_and_bridge(n: int, rng: np.random.Generator) -> Edges:
    """Return two cliques joined by one edge."""
    half = n // 2
    one = list(combinations(range(half), 2))
    two = list(combinations(range(half, n), 2))
    return [*one, *two, (half - 1, half)]


def star(n: int, rng: np.random.Generator) -> Edges:
    """Return a star with one edge between two of its leaves."""
    return [*((0, worker) for worker in range(1, n)), (1, 2)]


def barbell(n: int, rng: np.random.Generator) -> Edges:
    """Return two triangles joined by a path of all other workers."""
    path = [(worker, worker + 1) for worker in range(n - 1)]
    return [*path, (0, 2), (n - 3, n - 1)]


def power_law(n: int, rng: np.random.Generator) -> Edges:
    """Return a graph by preferential attachment: each new worker gets two peers in proportion to their edges."""
    edges = [(0, 1), (0, 2), (1, 2)]
    for worker in range(3, n):
        degree = np.bincount(np.ravel(edges), minlength=worker)
        peers = rng.choice(worker, 2, replace=False, p=degree / degree.sum())
        edges += [(int(peer), worker) for peer in peers]
    return edges


def random_pairs(n: int, rng: np.random.Generator) -> Edges:
    """Return a graph of random pairs, four peers a worker on average (Erdős and Rényi)."""
    pairs = complete(n, rng)
    chosen = rng.choice(len(pairs), 2 * n, replace=False)
    return [pairs[index] for index in sorted(chosen.tolist())]


def complete(n: int, rng: np.random.Generator) -> Edges:
    """Return all pairs."""
    return list(combinations(range(n), 2))


def caterpillar(n: int, rng: np.random.Generator) -> Edges:
    """Return a path with one leaf at each worker and a triangle at its beginning."""
    half = n // 2
    path = [(worker, worker + 1) for worker in range(half - 1)]
    leaves = [(worker % half, worker) for worker in range(half, n)]
    return [*path, *leaves, (0, 2)]


def wheel(n: int, rng: np.random.Generator) -> Edges:
    """Return a ring of an even number of workers, all of whom have the first worker as a peer."""
    rim = 2 * ((n - 1) // 2)
    return [*((0, worker) for worker in range(1, n)), *((1 + k, 1 + (k + 1) % rim) for k in range(rim))]


def cliques_and_path(n: int, rng: np.random.Generator) -> Edges:
    """Return two cliques of five joined by a path of all others."""
    path = [(worker, worker + 1) for worker in range(4, n - 5)]
    return [*combinations(range(5), 2), *path, *combinations(range(n - 5, n), 2)]


def book(n: int, rng: np.random.Generator) -> Edges:
    """Return triangles that share one edge."""
    return [(0, 1), *((end, worker) for worker in range(2, n) for end in (0, 1))]


def bipartite_and_edge(n: int, rng: np.random.Generator) -> Edges:
    """Return a random bipartite graph, three peers for each worker of one side, with one edge within that side."""
    half = n // 2
    edges = {(worker, int(half + k)) for worker in range(half) for k in rng.choice(n - half, 3, replace=False)}
    return [*sorted(edges), (0, 1)]


FAMILIES: dict[str, Callable[[int, np.random.Generator], Edges]] = {
    "regular 3": regular(3),
    "regular 4": regular(4),
    "tree+triangle": tree_and_triangle,
    "ring": ring,
    "cliques+bridge": cliques_and_bridge,
    "star": star,
    "barbell": barbell,
    "power law": power_law,
    "random": random_pairs,
    "complete": complete,
}
# For validation: no constant was chosen on these.
OTHER_FAMILIES: dict[str, Callable[[int, np.random.Generator], Edges]] = {
    "caterpillar": caterpillar,
    "wheel, guesser hub": wheel,
    "cliques+path": cliques_and_path,
    "book of triangles": book,
    "bipartite+edge": bipartite_and_edge,
}
ALL_FAMILIES = {**FAMILIES, **OTHER_FAMILIES}
GUESSER_HUB = "wheel, guesser hub"  # of this family the first worker's skill is zero


def _guessers(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.3, 0.0, rng.uniform(0.3, 0.9, n))


def _adversaries(rng: np.random.Generator, n: int) -> FloatArray:
    size = rng.uniform(0.2, 0.9, n)
    return np.where(rng.random(n) < 0.1, -size, size)


SKILLS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "U(0,1)": lambda rng, n: rng.uniform(0.0, 1.0, n),
    "U(.2,.9)": lambda rng, n: rng.uniform(0.2, 0.9, n),
    "30 % guessers": _guessers,
    "U(-.3,.8)": lambda rng, n: rng.uniform(-0.3, 0.8, n),
    "10 % adversaries": _adversaries,
}
POSITIVE = ("U(0,1)", "U(.2,.9)", "30 % guessers")  # no skill below zero


def draw(family: str, n_workers: int, tasks_per_edge: int, skills: str, n_classes: int, seed: int) -> SparseCrowd:
    """Simulate one crowd; with M classes a negative skill s becomes s/(M-1), the same share of the range."""
    rng = np.random.default_rng(
        [seed, n_workers, tasks_per_edge, n_classes, [*ALL_FAMILIES].index(family), [*SKILLS].index(skills)]
    )
    edges = np.array(ALL_FAMILIES[family](n_workers, rng), dtype=np.int64)
    skill = SKILLS[skills](rng, n_workers)
    if family == GUESSER_HUB:
        skill[0] = 0.0
    skill = np.where(skill < 0, skill / (n_classes - 1), skill)
    worker = np.repeat(edges, tasks_per_edge, axis=0)
    task = np.repeat(np.arange(len(worker)), 2)
    simulated = simulate.answer(task, worker.ravel(), skill, len(worker), n_classes, None, rng)
    return SparseCrowd(simulated, edges)
