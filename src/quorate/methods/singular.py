"""The leading singular vector of each component's answers, and which way round it is."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from quorate.arrays import FloatArray, IntArray
from quorate.methods.reduction import BinaryAnswers

STEPS = 60  # Lanczos vectors before a restart, once the first short runs have not done it
RESTARTS = 100
TOLERANCE = 1e-12  # of the residual, relative to the eigenvalue
FAINT = 1e-10  # entries of a singular vector this much below its largest are rounding noise


def side_of(score: FloatArray, plain: FloatArray) -> float:
    """Return the sign of the sum of products, or zero where rounding decides it.

    A component that no rule orients abstains, so that its tasks are ties and no label hangs on the order of the rows.

    >>> side_of(np.array([0.1, 0.2, -0.3]), np.ones(3))
    0.0
    """
    products = score * plain
    total = products.sum()
    return float(np.sign(total)) if abs(total) > FAINT * np.abs(products).sum() else 0.0


def blocks(binary: BinaryAnswers) -> Iterator[tuple[IntArray, IntArray, sparse.csr_array]]:
    """Yield each component's tasks, its workers, and its matrix of ±1 answers, tasks × workers.

    >>> answers = BinaryAnswers(np.array([0, 1]), np.array([1, 0]), np.array([1.0, -1.0]), 2, 2, np.array([0, 1]))
    >>> [(tasks.tolist(), workers.tolist(), block.toarray().tolist()) for tasks, workers, block in blocks(answers)]
    [([1], [0], [[-1.0]]), ([0], [1], [[1.0]])]
    """
    at = binary.component[binary.worker]
    order = np.argsort(at, kind="stable")
    ends = np.cumsum(np.bincount(at, minlength=int(binary.component.max(initial=-1)) + 1))
    for inside in np.split(order, ends[:-1]):
        if len(inside):
            tasks, row = np.unique(binary.task[inside], return_inverse=True)
            workers, column = np.unique(binary.worker[inside], return_inverse=True)
            entries = (binary.value[inside], (row, column))
            yield tasks, workers, sparse.coo_array(entries, shape=(len(tasks), len(workers))).tocsr()


def leading_vector(
    apply: Callable[[FloatArray], FloatArray], n: int, *, scale: float, restarts: int = RESTARTS
) -> tuple[FloatArray, bool]:
    """Find the eigenvector of the eigenvalue of largest size of a symmetric matrix, by Lanczos from all ones.

    Starting from all ones, a repeated eigenvalue gives the vector nearest to them, however the rows are ordered.

    Args:
        apply: multiplies the matrix by a vector.
        n: its rows.
        scale: of its entries, e.g. its trace; an eigenvalue that is zero next to it gives the zero vector.
        restarts: at most, with the best vector so far.

    Returns the vector, of length one, and whether the residual fell below the tolerance.

    >>> vector, converged = leading_vector(lambda x: np.array([[2.0, 1.0], [1.0, 2.0]]) @ x, 2, scale=4)
    >>> vector.round(3).tolist(), converged
    ([0.707, 0.707], True)
    """
    v = np.full(n, 1 / np.sqrt(n))
    converged = False
    for attempt in range(restarts):
        v, value, residual = _lanczos(apply, v, min(n, STEPS, 15 << attempt))
        if abs(value) <= TOLERANCE * scale:
            return np.zeros(n), True
        converged = residual <= TOLERANCE * abs(value)
        if converged:
            break
    return np.where(np.abs(v) > FAINT * np.abs(v).max(), v, 0.0), converged


def _lanczos(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, most: int
) -> tuple[FloatArray, float, float]:
    """Return the best eigenvector in the Krylov space of the start, its eigenvalue and the size of its residual."""
    basis = np.zeros((most, len(start)))
    diagonal, beside = np.zeros(most), np.zeros(most)
    basis[0] = start
    for k in range(most):
        w = apply(basis[k])
        diagonal[k] = w @ basis[k]
        for _ in range(2):  # one pass leaves rounding errors in the old directions, the second takes them out
            w = w - basis[: k + 1].T @ (basis[: k + 1] @ w)
        beside[k] = np.linalg.norm(w)
        if k + 1 == most or beside[k] <= 1e-14 * np.abs(diagonal).max():
            break
        basis[k + 1] = w / beside[k]
    values, vectors = np.linalg.eigh(np.diag(diagonal[: k + 1]) + _both_sides(beside[:k]))
    best = int(np.argmax(np.abs(values)))
    v = vectors[:, best] @ basis[: k + 1] * (1 if vectors[0, best] >= 0 else -1)  # towards the start
    return v / np.linalg.norm(v), float(values[best]), float(beside[k] * abs(vectors[k, best]))


def _both_sides(beside: FloatArray) -> FloatArray:
    return np.diag(beside, 1) + np.diag(beside, -1)
