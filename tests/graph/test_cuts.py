from itertools import combinations

import numpy as np
import pytest

from quorate.graph import laplacian
from quorate.graph.pairs import PairStats, pair_stats
from quorate.graph.weak_ties import weakest_cut
from tests.graph.samples import two_halves


def pairs_of(edges: dict[tuple[int, int], int]) -> PairStats:
    i, j = np.array(sorted(edges)).T
    shared = np.array([edges[edge] for edge in sorted(edges)])
    return PairStats(i, j, shared, shared)


@pytest.mark.parametrize("n_workers", [12, 1200])
def test_two_halves_joined_by_few_tasks_are_distinguished(n_workers: int) -> None:
    """In both ways of finding eigenvectors: all at once, and by Lanczos."""
    cut = weakest_cut(pair_stats(two_halves(n_workers, 4, 0)), n_workers, two_sided=False)
    assert cut is not None
    assert cut.n_linking == 4
    assert 1e-9 < cut.eigenvalue < 0.05  # the first eigenvalue is exactly zero, and tells nothing
    group = np.flatnonzero(cut.workers)
    assert len(group) == n_workers // 2
    assert len(set((group % 2).tolist())) == 1


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_all_ways_of_finding_eigenvectors_give_one_cut(
    monkeypatch: pytest.MonkeyPatch, seed: int, two_sided: bool
) -> None:
    rng = np.random.default_rng(seed)
    # 60 of 200 workers answer only with each other and, in the search for two sides, only across; few tasks link them.
    edges: dict[tuple[int, int], int] = {}
    for _ in range(6_000):
        pair = rng.integers(0, 140, 2)
        if rng.random() < 0.3:
            sides = [0, 30] if two_sided else [0, 0]
            pair = 140 + np.array(sides) + rng.integers(0, 30 if two_sided else 60, 2)
        i, j = sorted(pair.tolist())
        if i < j:
            edges[i, j] = edges.get((i, j), 0) + 1
    edges |= {(int(rng.integers(0, 140)), int(rng.integers(140, 200))): 1 for _ in range(9)}
    pairs = pairs_of(edges)
    lanczos = weakest_cut(pairs, 200, two_sided=two_sided)
    monkeypatch.setattr(laplacian, "MAX_LANCZOS_WORKERS", 100)
    dense = weakest_cut(pairs, 200, two_sided=two_sided)
    monkeypatch.setattr(laplacian, "MAX_TABLE_WORKERS", 100)
    arpack = weakest_cut(pairs, 200, two_sided=two_sided)
    assert dense is not None
    assert np.flatnonzero(dense.workers).tolist() == list(range(140, 200))
    for cut, tolerance in ((lanczos, 1e-12), (arpack, 1e-4)):
        assert cut is not None
        assert cut.workers.tolist() == dense.workers.tolist()
        assert cut.side.tolist() == dense.side.tolist()
        assert cut.eigenvalue == pytest.approx(dense.eigenvalue, abs=tolerance)


def test_the_weakest_cut_of_a_chain_of_workers_is_one_link() -> None:
    n = laplacian.MAX_TABLE_WORKERS + 100
    chain = pairs_of({(k, k + 1): 1 for k in range(n - 1)})
    cut = weakest_cut(chain, n, two_sided=False)
    assert cut is not None
    assert cut.n_linking == 1
    assert 0 < cut.eigenvalue < 1e-3


def test_the_group_is_the_one_without_gold() -> None:
    pairs = pair_stats(two_halves(12, 4, 0))
    for anchor in (0, 11):
        cut = weakest_cut(pairs, 12, two_sided=False, anchor=anchor)
        assert cut is not None
        assert not cut.workers[anchor]


def test_a_nearly_bipartite_crowd_is_reported_with_its_sides() -> None:
    """Four raters and four checkers who met across 100 times each, and one pair of raters once."""
    edges = {(i, j): 100 for i in range(4) for j in range(4, 8)} | {(0, 1): 1}
    cut = weakest_cut(pairs_of(edges), 8, two_sided=True)
    assert cut is not None
    assert (cut.n_linking, cut.n_pairs) == (1, 1601)
    assert np.flatnonzero(cut.side).tolist() == [0, 1, 2, 3]


def test_a_nearly_bipartite_group_is_distinguished_from_the_rest_that_it_hangs_on() -> None:
    """The same, tied by two tasks to five workers who all met each other."""
    edges = {(i, j): 100 for i in range(4) for j in range(4, 8)} | {(0, 1): 1, (7, 8): 2}
    edges |= dict.fromkeys(combinations(range(8, 13), 2), 100)
    cut = weakest_cut(pairs_of(edges), 13, two_sided=True)
    assert cut is not None
    assert np.flatnonzero(cut.workers).tolist() == list(range(8))
    assert (cut.n_linking, cut.n_pairs) == (3, 1603)


@pytest.mark.parametrize("seed", range(10))
def test_what_holds_a_group_is_counted_as_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = {edge: int(rng.integers(1, 40)) for edge in combinations(range(9), 2) if rng.random() < 0.6}
    edges |= {(k, k + 1): 5 for k in range(8)}
    for two_sided in (True, False):
        cut = weakest_cut(pairs_of(edges), 9, two_sided=two_sided)
        assert cut is not None
        out = sum(n for (i, j), n in edges.items() if cut.workers[i] != cut.workers[j])
        inside = {(i, j): n for (i, j), n in edges.items() if cut.workers[i] and cut.workers[j]}
        within = sum(n for (i, j), n in inside.items() if cut.side[i] == cut.side[j]) if two_sided else 0
        assert cut.n_linking == out + within
        assert cut.n_pairs == out + sum(inside.values())
