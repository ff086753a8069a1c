"""The signless Laplacian of the interaction graph, whose smallest eigenvalue bounds the error of the skills.

Small components are batched: the matrices of components of equal size form one stack, so that ten thousand of them need
only one call.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, distinct, starts_of
from quorate.graph.pairs import PairStats, sums_of_ends

if TYPE_CHECKING:
    from scipy import sparse  # importing it takes 0.15 CPU seconds, and small crowds do not need it
    from scipy.sparse.linalg import LinearOperator

MAX_STACK_ENTRIES = 1 << 20  # of the matrices of a stack: 8 MB; a stack has at least one component


@dataclass(frozen=True)
class Parts:
    """Several components; the workers of each component have consecutive codes."""

    size: IntArray  # number of workers of each component
    n_pairs: IntArray  # number of pairs of each component
    pairs: PairStats  # of all components, one after the other

    @staticmethod
    def concatenated(size: Sequence[int], pairs: Sequence[PairStats]) -> "Parts":
        """Return components concatenated from their sizes and pairs, whose codes start from zero in each component."""
        sizes = np.array(size, np.int64)
        n_pairs = np.array([len(part) for part in pairs], np.int64)
        before = np.repeat(starts_of(sizes)[:-1], n_pairs)
        i, j, shared, agreed = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in pairs)])
            for name in ("i", "j", "shared", "agreed")
        )
        return Parts(sizes, n_pairs, PairStats(i + before, j + before, shared, agreed))

    @cached_property
    def of_worker(self) -> IntArray:
        """The component of each worker."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @property
    def n_workers(self) -> int:
        """Number of workers of all components."""
        return int(self.size.sum())

    def among(self, workers: BoolArray, pairs: BoolArray | None = None) -> tuple["Parts", BoolArray]:
        """Return the components with some workers and all or some pairs between them, and which pairs these are.

        A component without any of these workers stays, with size zero.
        """
        kept = workers[self.pairs.i] & workers[self.pairs.j]
        if pairs is not None:
            kept &= pairs
        new_code = np.cumsum(workers) - 1
        size, n_pairs = (
            np.bincount(of[which], minlength=len(self.size))
            for of, which in ((self.of_worker, workers), (np.repeat(np.arange(len(self.size)), self.n_pairs), kept))
        )
        kept_pairs = self.pairs.among(kept)
        return Parts(
            size,
            n_pairs,
            PairStats(new_code[kept_pairs.i], new_code[kept_pairs.j], kept_pairs.shared, kept_pairs.agreed),
        ), kept

    def batched_components(self) -> Iterator["Stack"]:
        """Yield stacks of the non-empty components of equal size."""
        first = starts_of(self.size)
        first_pair = starts_of(self.n_pairs)
        for n in distinct(self.size[self.size > 0]).tolist():
            of_size = np.flatnonzero(self.size == n)
            for numbers in np.array_split(of_size, min(-(-len(of_size) * n * n // MAX_STACK_ENTRIES), len(of_size))):
                n_pairs = self.n_pairs[numbers]
                offset = first_pair[numbers] - starts_of(n_pairs)[:-1]
                pair_index = np.arange(n_pairs.sum()) + np.repeat(offset, n_pairs)
                before = np.repeat(first[numbers], n_pairs)
                yield Stack(
                    numbers,
                    first[numbers][:, np.newaxis] + np.arange(n),
                    pair_index,
                    (
                        np.repeat(np.arange(len(numbers)), n_pairs),
                        self.pairs.i[pair_index] - before,
                        self.pairs.j[pair_index] - before,
                    ),
                )


@dataclass(frozen=True)
class Stack:
    """Components of equal size, and the positions of their pairs in a stack of matrices."""

    numbers: IntArray  # of the components
    workers: IntArray  # codes of the workers, one row per component
    pairs: IntArray  # positions of the pairs in `Parts.pairs`
    places: tuple[IntArray, IntArray, IntArray]  # of each pair: component in the stack, row, column

    def matrices(self, of_pairs: FloatArray, of_workers: FloatArray) -> FloatArray:
        """Return a symmetric matrix per component, with values of pairs off the diagonal and of workers on it."""
        count, n = self.workers.shape
        table = np.zeros((count, n, n))
        which, i, j = self.places
        table[which, i, j] = table[which, j, i] = of_pairs[self.pairs]
        table[:, np.arange(n), np.arange(n)] = of_workers[self.workers]
        return table


def products(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the products `one[k] @ two[k]` of the rows, bit-identical to single products.

    >>> products(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [3.0, 8.0]
    """
    rows: FloatArray = (one[:, np.newaxis, :] @ two[:, :, np.newaxis])[:, 0, 0]
    return rows


MAX_DENSE_WORKERS = 1_000  # up to this LAPACK computes all eigenvalues: a third of a second
# Up to this matrices are dense: 2 MB each, and no import of scipy. LAPACK computes all eigenvectors, which takes about
# five times as long as all eigenvalues.
MAX_TABLE_WORKERS = 500


def symmetric(n: int, i: IntArray, j: IntArray, values: FloatArray) -> "sparse.csr_array":
    """Return the symmetric matrix with these entries above the diagonal.

    >>> symmetric(2, np.array([0]), np.array([1]), np.array([5.0])).toarray().tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    from scipy import sparse

    upper = sparse.coo_array((values, (i, j)), shape=(n, n))
    return (upper + upper.T).tocsr()


def symmetric_operator(n: int, i: IntArray, j: IntArray, values: FloatArray) -> "FloatArray | LinearOperator":
    """Return `symmetric` for products with vectors only; for few workers as a dense matrix.

    >>> (symmetric_operator(2, np.array([0]), np.array([1]), np.array([5.0])) @ np.array([1.0, 0.0])).tolist()
    [0.0, 5.0]
    """
    if n <= MAX_TABLE_WORKERS:
        return _table(n, i, j, values)
    from scipy import sparse
    from scipy.sparse.linalg import LinearOperator

    upper = sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
    lower = upper.T
    return LinearOperator((n, n), matvec=lambda v: upper @ v + lower @ v, dtype=np.float64)


def symmetric_table(n: int, i: IntArray, j: IntArray, values: FloatArray) -> "FloatArray | sparse.csr_array":
    """Return `symmetric`; for few workers as a dense matrix, which needs no import of scipy.

    >>> symmetric_table(2, np.array([0]), np.array([1]), np.array([5.0])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    return symmetric(n, i, j, values) if n > MAX_TABLE_WORKERS else _table(n, i, j, values)


def signless_laplacian(n: int, i: IntArray, j: IntArray, weights: FloatArray | None = None) -> "sparse.csr_array":
    """Return L_s, with the weights off the diagonal and their row sums on it [Ma20, before Theorem 12, pert].

    >>> signless_laplacian(3, np.array([0, 0, 1]), np.array([1, 2, 2])).toarray().tolist()
    [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    """
    from scipy import sparse

    values = np.ones(len(i)) if weights is None else weights
    adjacency = symmetric(n, i, j, values)
    return adjacency + sparse.diags_array(adjacency.sum(axis=1), format="csr")


def smallest_eigenvalue(laplacian: "sparse.csr_array") -> float:
    """Return lambda_min(L_s) of a connected graph; exactly zero if the graph is bipartite.

    >>> smallest_eigenvalue(signless_laplacian(3, np.array([0, 0, 1]), np.array([1, 2, 2])))
    1.0
    """
    n = laplacian.shape[0]
    if n == 1 or is_bipartite(laplacian):
        return 0.0
    if n <= MAX_DENSE_WORKERS:
        return float(round(np.linalg.eigvalsh(laplacian.toarray())[0], 12))
    from scipy.sparse.linalg import eigsh

    # The eigenvalue is used in a bound, for which this tolerance is enough.
    options = {"v0": _start(n), "tol": 1e-6, "maxiter": 50 * n, "return_eigenvectors": False}
    return float(max(eigsh(laplacian, k=1, which="SA", **options)[0], 0))


def smallest_of(parts: Parts, bipartite: BoolArray, weights: FloatArray | None = None) -> FloatArray:
    """Return lambda_min(L_s) of connected components, computed with dense matrices for small components.

    >>> from quorate.graph.pairs import PairStats
    >>> triangle, pair = (PairStats.linked(*np.array(ends)) for ends in ([[0, 0, 1], [1, 2, 2]], [[0], [1]]))
    >>> smallest_of(Parts.concatenated([3, 2], [triangle, pair]), np.array([False, True])).tolist()
    [1.0, 0.0]
    """
    smallest = np.zeros(len(parts.size))
    asked, kept = parts.among(~bipartite[parts.of_worker])
    values = (np.ones(len(kept)) if weights is None else weights)[kept]
    sums = asked.pairs.by_worker(asked.n_workers, values)
    for stack in asked.batched_components():
        n = stack.workers.shape[1]
        if n <= MAX_DENSE_WORKERS:
            smallest[stack.numbers] = np.linalg.eigvalsh(stack.matrices(values, sums))[:, 0].round(12)
        else:
            _, i, j = stack.places
            smallest[stack.numbers] = smallest_eigenvalue(signless_laplacian(n, i, j, values[stack.pairs]))
    return smallest


def is_bipartite(laplacian: "sparse.csr_array") -> bool:
    """Return whether a connected graph has no odd cycle, by a graph search: an eigenvalue has a rounding error.

    >>> is_bipartite(signless_laplacian(2, np.array([0]), np.array([1])))
    True
    """
    from scipy import sparse
    from scipy.sparse import csgraph

    n = laplacian.shape[0]
    edges = laplacian.tocoo()
    is_off_diagonal = edges.row != edges.col
    rows = edges.row[is_off_diagonal]
    columns = edges.col[is_off_diagonal] + n
    cover = sparse.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
    _, copies = csgraph.connected_components(cover, directed=False)
    return bool(copies[0] != copies[n])


ARPACK_TOLERANCE = 1e-3  # of the residual of an eigenvector, relative to its eigenvalue: enough to rank workers by it
# For these numbers of workers Lanczos's method is tried first, with products that are sums over pairs in numpy. Most
# crowds need 10 products, of at most a millisecond each. LAPACK takes 8 ms for 200 workers and 60 ms for 500, and the
# import of scipy.sparse.linalg, which has ARPACK, takes 0.2 CPU seconds.
MIN_LANCZOS_WORKERS = 100
MAX_LANCZOS_WORKERS = 5_000
MAX_LANCZOS_PAIRS = 500_000
MAX_CELLS_PER_PAIR = 8  # of a dense matrix, with which a product takes a fifth of the time
MAX_LANCZOS_STEPS = 100  # if more are needed, as for a chain of workers, the others take less time
LANCZOS_TOLERANCE = 1e-8  # of the residual, as above; the error of the eigenvalue is about its square
LANCZOS_STEPS_BETWEEN_TESTS = 10  # a test takes about as long as one step
# A group whose linking answer pairs are a share s of all has an eigenvalue of at least 1 - 2 s in absolute value. If
# the eigenvalue is below this, each group has a share above 0.35 and is not reported, so no vector is needed.
MIN_USED_EIGENVALUE = 0.3
MIN_LENGTH = 1e-10  # of a new vector of Lanczos's method; a shorter one is rounding


def eigenvector(
    n: int, i: IntArray, j: IntArray, values: FloatArray, *, lowest: bool
) -> tuple[float, FloatArray] | None:
    """Return the lowest eigenvalue of the matrix `symmetric`, or else the second highest, with its eigenvector.

    None if ARPACK does not converge, and if Lanczos's method finds an absolute value below MIN_USED_EIGENVALUE.

    >>> value, vector = eigenvector(2, np.array([0]), np.array([1]), np.ones(1), lowest=True)
    >>> round(value, 9), round(abs(float(vector.sum())), 9)
    (-1.0, 0.0)
    """
    product: Callable[[FloatArray], FloatArray] | None = None
    if MIN_LANCZOS_WORKERS <= n <= MAX_LANCZOS_WORKERS and n * n <= MAX_CELLS_PER_PAIR * len(values):
        product = _table(n, i, j, values).__matmul__
    elif MIN_LANCZOS_WORKERS <= n <= MAX_LANCZOS_WORKERS and len(values) <= MAX_LANCZOS_PAIRS:
        product = partial(_product, n, i, j, values)
    eigenpair = None if product is None else _lanczos(n, product, lowest=lowest)
    if eigenpair is not None:
        return None if abs(eigenpair[0]) < MIN_USED_EIGENVALUE else eigenpair
    matrix = symmetric_operator(n, i, j, values)
    if isinstance(matrix, np.ndarray):
        every_value, vectors = np.linalg.eigh(matrix)
        at = 0 if lowest else n - 2
        return float(every_value[at]), vectors[:, at]
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        k, which = (1, "SA") if lowest else (2, "LA")
        options = {"v0": _start(n), "tol": ARPACK_TOLERANCE, "maxiter": 500}
        few_values, vectors = eigsh(matrix, k=k, which=which, **options)
    except ArpackNoConvergence:
        return None
    at = int(np.argmin(few_values))
    return float(few_values[at]), vectors[:, at]


def _table(n: int, i: IntArray, j: IntArray, values: FloatArray) -> FloatArray:
    """Return `symmetric` as a dense matrix."""
    table = np.zeros((n, n))
    table[i, j] = table[j, i] = values
    return table


def _product(n: int, i: IntArray, j: IntArray, values: FloatArray, vector: FloatArray) -> FloatArray:
    """Return the product of the matrix `symmetric` with a vector."""
    return sums_of_ends(n, i, j, values * vector[j], values * vector[i])


def _lanczos(n: int, product: Callable[[FloatArray], FloatArray], *, lowest: bool) -> tuple[float, FloatArray] | None:
    """Return `eigenvector` by Lanczos's method, in which each new vector is orthogonal to all before it, or None."""
    basis = np.empty((MAX_LANCZOS_STEPS + 1, n))
    basis[0] = _start(n) / np.linalg.norm(_start(n))
    tridiagonal = np.zeros((MAX_LANCZOS_STEPS + 1, MAX_LANCZOS_STEPS + 1))
    for step in range(MAX_LANCZOS_STEPS):
        vector = basis[step]
        image = product(vector)
        tridiagonal[step, step] = image @ vector
        size = step + 1
        for _ in range(2):  # after one subtraction, rounding errors would grow from step to step
            image = image - (basis[:size] @ image) @ basis[:size]
        length = float(np.linalg.norm(image))
        if size % LANCZOS_STEPS_BETWEEN_TESTS == 0 or length < MIN_LENGTH:
            ritz_values, coefficients = np.linalg.eigh(tridiagonal[:size, :size])
            at = 0 if lowest else max(size - 2, 0)
            value = float(ritz_values[at])
            residual = length * abs(coefficients[-1, at])
            if residual <= LANCZOS_TOLERANCE * abs(value) or abs(value) + residual < MIN_USED_EIGENVALUE:
                return value, coefficients[:, at] @ basis[:size]
            if length < MIN_LENGTH:
                return None
        tridiagonal[step, size] = tridiagonal[size, step] = length
        basis[size] = image / length
    return None


def _start(n: int) -> FloatArray:
    """Return a fixed start vector that is not an eigenvector of a regular graph."""
    start: FloatArray = np.ones(n) + np.arange(n) / n
    return start
