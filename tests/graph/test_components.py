import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from quorate.arrays import IntArray
from quorate.graph.components import identify, identify_pairs
from quorate.graph.laplacian import signless_laplacian, smallest_eigenvalue
from quorate.graph.pairs import PairStats, pair_stats
from tests.crowds import answers_of, random_edges, rows


def stats(i: IntArray, j: IntArray) -> PairStats:
    ones = np.ones(len(i), np.int64)
    return PairStats(i, j, ones, ones)


@pytest.mark.parametrize("block", range(10))
def test_identifiability_and_witnesses_agree_with_networkx(block: int) -> None:
    """1,000 random graphs in all, sparse enough that many components are bipartite."""
    for seed in range(100 * block, 100 * block + 100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 15))
        i, j = random_edges(n, rng, rng.uniform(0, 2.5 / n))
        graph = nx.Graph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(zip(i.tolist(), j.tolist(), strict=True))
        found = list(identify_pairs(stats(i, j), n).components())
        expected = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
        assert [set(part.workers.tolist()) for part in found] == expected
        for part, nodes in zip(found, expected, strict=True):
            assert part.bipartite == nx.is_bipartite(graph.subgraph(nodes))
            assert part.identifiable != part.bipartite
            if part.bipartite:
                left, right = part.sides
                assert set(left) | set(right) == nodes
                assert len(left) + len(right) == len(nodes)
                assert graph.subgraph(left).number_of_edges() == graph.subgraph(right).number_of_edges() == 0
            else:
                cycle = part.odd_cycle
                assert len(cycle) % 2 == 1
                assert len(cycle) == len(set(cycle)) >= 3
                assert all(graph.has_edge(*edge) for edge in zip(cycle, (*cycle[1:], cycle[0]), strict=True))


@given(rows())
def test_the_linear_identifiability_equals_that_of_all_pairs(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    fast, slow = identify(answers), identify_pairs(pair_stats(answers), answers.n_workers)
    assert fast.component.tolist() == slow.component.tolist()
    assert fast.bipartite.tolist() == slow.bipartite.tolist()


def test_a_worker_of_known_skill_makes_its_component_identifiable() -> None:
    i, j = np.array([0, 2]), np.array([1, 3])
    known = np.array([False, True, False, False, False])
    identifiability = identify_pairs(stats(i, j), 5, known)
    assert identifiability.determined.tolist() == [True, True, False, False, False]
    assert identifiability.isolated.tolist() == [False, False, False, False, True]


@pytest.mark.parametrize("n", [3, 4, 5, 8, 9])
def test_the_smallest_eigenvalue_of_a_ring_is_known(n: int) -> None:
    i = np.arange(n)
    laplacian = signless_laplacian(n, i, (i + 1) % n)
    # Eigenvalues of a ring's signless Laplacian: 2 + 2 cos(2 pi k / n).
    expected = min(2 + 2 * np.cos(2 * np.pi * k / n) for k in range(n))
    assert smallest_eigenvalue(laplacian) == pytest.approx(expected, abs=1e-9)
    assert (smallest_eigenvalue(laplacian) == 0) == (n % 2 == 0)


def test_large_graphs_use_an_iterative_method_with_the_same_answer() -> None:
    rng = np.random.default_rng(0)
    i, j = random_edges(1200, rng, 0.02)
    weights = rng.integers(1, 9, len(i)).astype(float)
    laplacian = signless_laplacian(1200, i, j, weights)
    assert smallest_eigenvalue(laplacian) == pytest.approx(np.linalg.eigvalsh(laplacian.toarray())[0], rel=1e-4)


def test_of_several_odd_cycles_a_short_one_is_shown() -> None:
    """A triangle at the first worker, and a ring of five behind it."""
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (3, 7)]
    for order in (edges, edges[::-1]):
        i, j = np.array(order).T
        (part,) = identify_pairs(stats(i, j), 8).components()
        assert set(part.odd_cycle) == {0, 1, 2}


def test_witnesses_of_many_components_are_those_of_each_alone() -> None:
    """One walk goes through all of them, in the order in which it would go through each."""
    rng = np.random.default_rng(3)
    i, j = random_edges(400, rng, 0.004)
    found = list(identify_pairs(stats(i, j), 400).components())
    assert len(found) > 60
    for part in found:
        inside = np.isin(i, part.workers)
        own_i, own_j = (np.searchsorted(part.workers, ends[inside]) for ends in (i, j))
        (alone,) = identify_pairs(stats(own_i, own_j), len(part.workers)).components()
        assert part.odd_cycle == tuple(part.workers[list(alone.odd_cycle)].tolist())
        assert part.sides == tuple(tuple(part.workers[list(side)].tolist()) for side in alone.sides)
