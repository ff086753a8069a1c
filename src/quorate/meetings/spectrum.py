"""The signless Laplacian of the interaction graph: its smallest eigenvalue says how firmly skills are determined."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh

from quorate.arrays import FloatArray, IntArray

DENSE = 1_000  # workers up to which all eigenvalues are computed at once


def signless_laplacian(n: int, i: IntArray, j: IntArray, weights: FloatArray | None = None) -> sparse.csr_array:
    """Form L_s: the weights off the diagonal, their row sums on it [Ma20, before Thm pert].

    >>> signless_laplacian(3, np.array([0, 0, 1]), np.array([1, 2, 2])).toarray().tolist()
    [[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]]
    """
    values = np.ones(len(i)) if weights is None else weights
    upper = sparse.coo_array((values, (i, j)), shape=(n, n))
    adjacency = (upper + upper.T).tocsr()
    return adjacency + sparse.diags_array(adjacency.sum(axis=1), format="csr")


def smallest_eigenvalue(laplacian: sparse.csr_array) -> float:
    """Compute lambda_min(L_s) of a connected graph; zero exactly when the graph is bipartite.

    >>> smallest_eigenvalue(signless_laplacian(3, np.array([0, 0, 1]), np.array([1, 2, 2])))
    1.0
    """
    n = laplacian.shape[0]
    if n == 1 or is_bipartite(laplacian):
        return 0.0
    if n <= DENSE:
        return float(round(np.linalg.eigvalsh(laplacian.toarray())[0], 12))
    # A start that does not depend on the run; the tolerance is for a figure that enters a bound.
    start = np.ones(n) + np.arange(n) / n
    return float(
        max(eigsh(laplacian, k=1, which="SA", v0=start, tol=1e-6, maxiter=50 * n, return_eigenvectors=False)[0], 0)
    )


def is_bipartite(laplacian: sparse.csr_array) -> bool:
    """Whether a connected graph has no odd cycle, decided by the graph, since rounding blurs a zero eigenvalue.

    >>> is_bipartite(signless_laplacian(2, np.array([0]), np.array([1])))
    True
    """
    n = laplacian.shape[0]
    edges = laplacian.tocoo()
    off = edges.row != edges.col
    rows, columns = edges.row[off], edges.col[off] + n
    cover = sparse.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
    _, copies = csgraph.connected_components(cover, directed=False)
    return bool(copies[0] != copies[n])


def spectral_norm(shared: sparse.csr_array) -> float:
    """Compute ||N||_2 of a symmetric matrix of counts: its largest eigenvalue, by Perron and Frobenius.

    >>> round(spectral_norm(sparse.csr_array(np.ones((3, 3)) - np.eye(3))), 9)
    2.0
    """
    n = shared.shape[0]
    if n <= DENSE:
        return float(np.linalg.norm(shared.toarray(), 2))
    return float(eigsh(shared, k=1, which="LA", v0=np.ones(n), return_eigenvectors=False)[0])
