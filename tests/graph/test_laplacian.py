"""The iterative method of large graphs, on graphs small enough for both."""

import numpy as np
import pytest

from quorate.arrays import FloatArray
from quorate.graph import laplacian as spectrum
from quorate.graph.laplacian import is_bipartite, signless_laplacian, smallest_eigenvalue
from tests.crowds import connected_odd_graph, random_edges


def weighted(seed: int, share: float) -> tuple[object, FloatArray]:
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(30, rng, share)
    weights = rng.integers(1, 9, len(i)).astype(float)
    dense = np.zeros((30, 30))
    dense[i, j] = dense[j, i] = weights
    return signless_laplacian(30, i, j, weights), dense


@pytest.mark.parametrize("dense_up_to", [1000, 30, 29, 5])
@pytest.mark.parametrize("seed", range(3))
def test_both_methods_give_the_least_eigenvalue(monkeypatch: pytest.MonkeyPatch, seed: int, dense_up_to: int) -> None:
    laplacian, n = weighted(seed, 0.2)
    every = np.linalg.eigvalsh(n + np.diag(n.sum(axis=1)))
    monkeypatch.setattr(spectrum, "MAX_DENSE_WORKERS", dense_up_to)
    assert smallest_eigenvalue(laplacian) == pytest.approx(every[0], rel=1e-5)


@pytest.mark.parametrize("dense_up_to", [1000, 3])
def test_two_sides_have_the_eigenvalue_zero_exactly(monkeypatch: pytest.MonkeyPatch, dense_up_to: int) -> None:
    monkeypatch.setattr(spectrum, "MAX_DENSE_WORKERS", dense_up_to)
    i, j = np.arange(8), (np.arange(8) + 1) % 8
    for size in (1.0, 1e9):  # rounding alone would leave a millionth of the latter
        ring = signless_laplacian(8, i, j, size * np.linspace(0.1, 0.7, 8))
        assert is_bipartite(ring)
        assert smallest_eigenvalue(ring) == 0
    assert smallest_eigenvalue(signless_laplacian(1, i[:0], j[:0])) == 0
    odd = signless_laplacian(7, np.arange(7), (np.arange(7) + 1) % 7)
    assert not is_bipartite(odd)
    assert 0 < smallest_eigenvalue(odd) == pytest.approx(2 + 2 * np.cos(6 * np.pi / 7), rel=1e-5)


def test_an_eigenvalue_is_rounded_where_the_arithmetic_ends() -> None:
    i, j = random_edges(9, np.random.default_rng(0), 2.0)
    assert smallest_eigenvalue(signless_laplacian(9, i, j)) == 7.0  # a clique: n - 2
