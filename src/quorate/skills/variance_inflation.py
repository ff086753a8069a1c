"""f: by how much the variance of a raw skill grows because the skills of the peers are estimates too.

Turn what each task says round at random, e_t = ±1, and see where the solution goes: the pull b = sum_t e_t psi_t moves
it by d, with H d = b and H the curvature, while a worker whose peers stood still would move by o = b/D. Over many draws
the spread of d beside that of o is f. Most of the two is common chance, so d is first explained by o, whose variance is
known, and only the rest is estimated from the draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.progress import tracked

MOST_INFLATION = 25.0  # f at the most: by then the interval is as wide as the range of skills
TOLERANCE = 0.01  # of the residual, relative to b: the draws do not tell f any better
STEPS = 30  # of conjugate gradients at the most
FLAT = 0.02  # curvature, relative to the diagonal, below which a direction is given up: the data hardly determine it
BLOCK = 2_000  # tasks whose sums, for all draws at once, fit in the cache
HIGH = 50  # rows of a task, a row a class: above, a block has fewer tasks, so that its sums stay below 50 MB
DRAWN = (
    0.05  # how far the agreements inside H are shrunk toward what the skills predict, lest noise alone make H singular
)
ENTRIES = 4_000_000  # of a matrix of workers × draws: 32 MB


@dataclass(frozen=True)
class Gram:
    """The off-diagonal part of sum_k w_k g_k g_kᵀ, with sparse g_k over workers: all that peers do to each other."""

    blocks: tuple[tuple[sparse.csr_array, FloatArray], ...]  # the g_k of some tasks as rows, and their w_k
    own: FloatArray  # the diagonal, which is left out
    pairs: sparse.csr_array | None = None  # workers × workers, what else every two do to each other

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by workers × draws."""
        product = -self.own[:, None] * v
        for rows, weights in self.blocks:
            product += rows.T @ (weights[:, None] * (rows @ v))
        return product if self.pairs is None else product + self.pairs @ v


@dataclass(frozen=True)
class Curvature:
    """The least squares near their solution: H = diag(D + ridge) + peers, over the workers that are free to move."""

    diagonal: FloatArray  # D
    peers: Gram
    is_free: BoolArray
    ridge: float | FloatArray = 0.0  # by which skills are shrunk toward their mean; raw estimates are not


def agreement_parts(
    by_skill: tuple[sparse.csr_array, FloatArray], agreements: list[tuple[sparse.csr_array, FloatArray]]
) -> list[tuple[sparse.csr_array, FloatArray]]:
    """Weigh the two parts of the curvature among peers: 2 N∘xxᵀ - N∘C, the latter drawn a little to N∘xxᵀ.

    Args:
        by_skill: rows and weights that make N∘xxᵀ.
        agreements: those that make N∘C.

    >>> rows = sparse.csr_array(np.array([[1.0, 1.0]]))
    >>> [float(weights[0]) for _, weights in agreement_parts((rows, np.ones(1)), [(rows, np.ones(1))])]
    [1.95, -0.95]
    """
    rows, weights = by_skill
    return [(rows, (2 - DRAWN) * weights), *((each, (DRAWN - 1) * scale) for each, scale in agreements)]


def gram_of_pairs(by_skill: tuple[sparse.csr_array, FloatArray], agreements: sparse.csr_array, n_tasks: int) -> Gram:
    """Do what `agreement_parts` and `gram` do where N∘C is at hand as a table of pairs, without a diagonal.

    >>> rows, pairs = sparse.csr_array(np.array([[1.0, 1.0]])), sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> (gram_of_pairs((rows, np.ones(1)), pairs, 1) @ np.eye(2)).round(9).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return replace(gram(agreement_parts(by_skill, []), n_tasks), pairs=(DRAWN - 1) * agreements)


def gram(parts: list[tuple[sparse.csr_array, FloatArray]], n_tasks: int) -> Gram:
    """Lay rows over workers out in blocks of tasks; a part has as many rows for every task.

    >>> rows = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]]))
    >>> (gram([(rows, np.array([1.0, 10.0]))], n_tasks=2) @ np.eye(3)).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 20.0], [0.0, 20.0, 0.0]]
    """
    n_workers = parts[0][0].shape[1]
    own = np.zeros(n_workers)
    for rows, weights in parts:
        squares = rows.data**2 * np.repeat(weights, np.diff(rows.indptr))
        own += np.bincount(rows.indices, squares, n_workers)
    blocks = []
    height = sum(rows.shape[0] // max(n_tasks, 1) for rows, _ in parts)
    for start, stop in _spans(n_tasks, n_workers, height):
        pieces = []
        scales = []
        for rows, weights in parts:
            per_task = rows.shape[0] // n_tasks
            chosen = slice(start * per_task, stop * per_task)
            pieces.append(rows[chosen])
            scales.append(weights[chosen])
        blocks.append((sparse.vstack(pieces, format="csr"), np.concatenate(scales)))
    return Gram(tuple(blocks), own)


def inflation(curvature: Curvature, pulls: sparse.csr_array, *, draws: int, seed: int) -> FloatArray:
    """Return f of each worker.

    Args:
        curvature: of the least squares at their solution.
        pulls: psi, tasks × workers: each answer's contribution to the score, D·(r - x).
        draws: of random signs.
        seed: of those.

    >>> one_pair = gram([(sparse.csr_array(np.array([[1.0, 1.0]])), np.array([1.0]))], 1)
    >>> pulls = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> alone = Curvature(np.full(2, 1e9), one_pair, np.ones(2, dtype=bool))
    >>> inflation(alone, pulls, draws=4, seed=0).round(6).tolist()
    [1.0, 1.0]
    """
    rng = np.random.default_rng(seed)
    n_workers = pulls.shape[1]
    is_informed = curvature.diagonal > 0
    scale = np.where(is_informed, curvature.diagonal, 1.0)[:, None]
    known = np.bincount(pulls.indices, pulls.data**2, n_workers)[:, None] / scale**2  # the variance of o
    at_once = max(1, min(draws, ENTRIES // max(n_workers, 1)))
    both, own, total = (np.zeros(n_workers) for _ in range(3))
    for done in tracked("draws", range(0, draws, at_once)):
        b = _draw(pulls, min(at_once, draws - done), rng)
        moved = _respond(curvature, b, scale)
        alone = b / scale
        both += (moved * alone).sum(axis=1)
        own += (alone * alone).sum(axis=1)
        total += (moved * moved).sum(axis=1)
    slope = np.divide(both, own, out=np.ones(n_workers), where=own > 0)
    rest = np.maximum(total - slope * both, 0.0) / max(draws - 1, 1)
    f = slope**2 + np.divide(rest, known[:, 0], out=np.zeros(n_workers), where=known[:, 0] > 0)
    return np.where(is_informed, np.clip(f, 1.0, MOST_INFLATION), 1.0)


def _draw(pulls: sparse.csr_array, k: int, rng: np.random.Generator) -> FloatArray:
    """Return b = sum_t e_t psi_t for k draws of signs; workers × draws."""
    n_tasks, n_workers = pulls.shape
    b = np.zeros((n_workers, k))
    for start, stop in _spans(n_tasks, n_workers):
        signs = 2.0 * rng.integers(0, 2, (stop - start, k), dtype=np.int8) - 1.0
        b += pulls[start:stop].T @ signs
    return b


def _respond(curvature: Curvature, b: FloatArray, scale: FloatArray) -> FloatArray:
    """Return how far each raw estimate moves under a pull, everyone moving at once: (b - peers d)/D."""
    d = conjugate_gradients(curvature, b)
    moved: FloatArray = (b - curvature.peers @ d) / scale
    return moved


def conjugate_gradients(curvature: Curvature, b: FloatArray) -> FloatArray:
    """Solve H d = b over the free workers, all draws at once; directions that the data hardly determine are left.

    >>> pair = gram([(sparse.csr_array(np.array([[1.0, 1.0]])), np.array([1.0]))], 1)
    >>> curvature = Curvature(np.array([2.0, 2.0]), pair, np.ones(2, dtype=bool))
    >>> conjugate_gradients(curvature, np.array([[3.0], [3.0]])).round(6).tolist()
    [[1.0], [1.0]]
    """
    free = (curvature.is_free & (curvature.diagonal + curvature.ridge > 0))[:, None]
    diagonal = np.where(free[:, 0], curvature.diagonal + curvature.ridge, 1.0)[:, None]
    d = np.zeros_like(b)
    r = np.where(free, b, 0.0)
    p = r / diagonal
    size = (r * p).sum(axis=0)
    enough = TOLERANCE**2 * size
    active = np.flatnonzero(size > 0)
    for _ in range(STEPS):
        if len(active) == 0:
            break
        direction = p[:, active]
        curved = diagonal * direction + np.where(free, curvature.peers @ direction, 0.0)
        bend = (direction * curved).sum(axis=0)
        flat = (direction * diagonal * direction).sum(axis=0)
        going = bend > FLAT * flat
        active = active[going]
        direction = direction[:, going]
        curved = curved[:, going]
        bend = bend[going]
        step = size[active] / bend
        d[:, active] += step * direction
        r[:, active] -= step * curved
        new = r[:, active] / diagonal
        size_now = (r[:, active] * new).sum(axis=0)
        p[:, active] = new + size_now / size[active] * direction
        size[active] = size_now
        active = active[size_now > enough[active]]
    return d


def by_task(rows: IntArray, values: FloatArray, per_row: IntArray, n_workers: int) -> sparse.csr_array:
    """Form a matrix of rows × workers from values of the answers, which lie row by row.

    >>> by_task(np.array([0, 1, 1]), np.array([5.0, 6.0, 7.0]), np.array([2, 1]), 2).toarray().tolist()
    [[5.0, 6.0], [0.0, 7.0]]
    """
    return sparse.csr_array((values, rows, starts_of(per_row)), shape=(len(per_row), n_workers))


def with_known(pulls: sparse.csr_array, pull: FloatArray, precision: FloatArray) -> sparse.csr_array:
    """Add a row for each worker who is known from before: by how much that may be off, as a pull.

    Args:
        pulls: psi, tasks × workers.
        pull: by which each skill is shrunk toward what is known.
        precision: of that; zero where nothing is.

    >>> one_task = sparse.csr_array(np.array([[1.0, 2.0]]))
    >>> with_known(one_task, np.array([0.0, 8.0]), np.array([0.0, 4.0])).toarray().tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    known = np.flatnonzero(precision > 0)
    size = pull[known] / np.sqrt(precision[known])
    rows = sparse.csr_array((size, known, np.arange(len(known) + 1)), shape=(len(known), pulls.shape[1]))
    return sparse.vstack([pulls, rows], format="csr")


def _spans(n_tasks: int, n_workers: int, height: int = 1) -> Iterator[tuple[int, int]]:
    """Divide the tasks into blocks; not smaller than the crowd, or adding up would cost more than the sums.

    Of tasks with many rows each, as many classes have, fewer.
    """
    size = max(max(BLOCK, n_workers) * HIGH // max(height, HIGH), 1)
    for start in range(0, n_tasks, size):
        yield start, min(start + size, n_tasks)
