"""Components side by side give what each gives alone."""

import numpy as np
import pytest

from quorate.arrays import FloatArray, IntArray
from quorate.graph import laplacian
from quorate.graph.components import identify_pairs
from quorate.graph.laplacian import Parts, products, signless_laplacian, smallest_eigenvalue, smallest_of
from quorate.graph.pairs import PairStats
from quorate.theory.skill_bounds import skill_bound, skill_bounds, two_sided
from quorate.theory.tasks_needed import pair_error, pair_errors
from tests.crowds import random_edges


def components(seed: int, n_parts: int = 30) -> list[tuple[int, PairStats]]:
    """Random connected components of two to nine workers: a chain, and links at random."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_parts):
        n = int(rng.integers(2, 10))
        i, j = random_edges(n, rng, rng.uniform(0, 0.6))
        linked = np.zeros((n, n), dtype=bool)
        linked[i, j] = linked[np.arange(n - 1), np.arange(1, n)] = True
        i, j = np.nonzero(np.triu(linked, 1))
        shared = rng.integers(1, 400, len(i))
        found.append((n, PairStats(i, j, shared, rng.binomial(shared, 0.8))))
    return found


def workers_of(alone: list[tuple[int, PairStats]], seed: int) -> tuple[FloatArray, IntArray]:
    """Skills, some of them unknown or zero, and numbers of answers."""
    rng, n = np.random.default_rng(seed), sum(size for size, _ in alone)
    skills = rng.uniform(-0.3, 0.95, n)
    skills[rng.random(n) < 0.1] = np.nan
    skills[rng.random(n) < 0.1] = 0.0
    return skills, rng.integers(1, 900, n)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("entries", [1, 200, 1 << 20])
def test_bounds_and_errors_side_by_side_are_those_of_each_alone(
    seed: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of them fit into one stack."""
    monkeypatch.setattr(laplacian, "MAX_STACK_ENTRIES", entries)
    alone = components(seed)
    skills, per_worker = workers_of(alone, seed)
    parts = Parts.concatenated([n for n, _ in alone], [pairs for _, pairs in alone])
    sides = np.array([two_sided(pairs, n) for n, pairs in alone])
    assert 0 < sides.sum() < len(sides)
    errors = pair_errors(parts, 3, skills, per_worker)
    bounds = skill_bounds(parts, 3, skills, sides)
    first = 0
    for (n, pairs), error, bound in zip(alone, errors, bounds, strict=True):
        own = slice(first, first := first + n)
        expected = pair_error(pairs, 3, skills[own], per_worker[own])
        assert error.kept.tolist() == expected.kept.tolist()
        for name in ("eigenvalue", "bound", "small_enough", "expected"):
            assert getattr(error, name) == pytest.approx(getattr(expected, name), nan_ok=True)
        assert bound == skill_bound(pairs, n, 3, skills[own])


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_that_of_a_plain_loop(seed: int) -> None:
    """Whom it keeps and its eigenvalue, of one component after the other, by loops over pairs and a dense matrix."""
    alone = components(seed)
    skills, per_worker = workers_of(alone, seed)
    found = pair_errors(Parts.concatenated(*zip(*alone, strict=True)), 2, skills, per_worker)
    first = 0
    for (n, pairs), error in zip(alone, found, strict=True):
        x = skills[first : first + n]
        first += n
        table, links = np.zeros((n, n)), []
        for i, j, shared, agreed in zip(pairs.i, pairs.j, pairs.shared, pairs.agreed, strict=True):
            stands_out = abs(2 * agreed / shared - 1) >= 2 * np.sqrt(np.log(max(n, 2)) / shared)
            if stands_out and all(not np.isnan(x[k]) and x[k] != 0 for k in (i, j)):
                links.append((i, j))
                table[i, j] = table[j, i] = shared * abs(x[i] * x[j])
        graph = identify_pairs(PairStats.linked(*np.array(links, np.int64).reshape(-1, 2).T), n)
        good = [k for k in range(graph.n_components) if graph.identifiable[k] and graph.sizes[k] > 2]
        kept = graph.component == good[0] if good else np.zeros(n, dtype=bool)
        assert error.kept.tolist() == kept.tolist()
        if good:
            own = table[np.ix_(kept, kept)]
            scale = np.sqrt(own.sum(axis=1))
            level = (own + np.diag(own.sum(axis=1))) / np.outer(scale, scale)
            assert error.eigenvalue == pytest.approx(np.linalg.eigvalsh(level)[0], abs=1e-12)
        else:
            assert error.bound == np.inf


@pytest.mark.parametrize("weighted", [False, True])
def test_the_smallest_eigenvalues_are_those_of_sparse_matrices(weighted: bool) -> None:
    alone = components(7)
    parts = Parts.concatenated([n for n, _ in alone], [pairs for _, pairs in alone])
    weights = parts.pairs.shared.astype(float) if weighted else None
    found = smallest_of(parts, np.array([two_sided(pairs, n) for n, pairs in alone]), weights)
    for (n, pairs), value in zip(alone, found.tolist(), strict=True):
        own = pairs.shared.astype(float) if weighted else None
        assert value == pytest.approx(smallest_eigenvalue(signless_laplacian(n, pairs.i, pairs.j, own)), abs=1e-9)


def test_keeping_some_workers_keeps_the_pairs_between_them() -> None:
    triangle = PairStats(*np.array([[0, 0, 1], [1, 2, 2], [5, 6, 7], [1, 2, 3]]))
    parts = Parts.concatenated([3, 3, 3], [triangle] * 3)
    kept, pairs = parts.among(np.array([True, True, True, False, False, False, True, False, True]))
    assert kept.size.tolist() == [3, 0, 2]
    assert kept.n_pairs.tolist() == [3, 0, 1]
    assert pairs.tolist() == [True] * 3 + [False] * 3 + [False, True, False]
    assert (kept.pairs.i.tolist(), kept.pairs.j.tolist()) == ([0, 0, 1, 3], [1, 2, 2, 4])
    assert [stack.numbers.tolist() for stack in kept.batched_components()] == [[2], [0]]


def test_products_are_to_the_bit_those_of_rows() -> None:
    one, two = np.random.default_rng(0).random((2, 50, 37))
    assert products(one, two).tolist() == [float(a @ b) for a, b in zip(one, two, strict=True)]


def test_a_component_larger_than_a_stack_is_one_stack_and_no_empty_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever goes through the stacks makes a matrix for each, of as many workers, empty or not."""
    monkeypatch.setattr(laplacian, "MAX_STACK_ENTRIES", 4)
    parts = components(0)
    numbers = [stack.numbers.tolist() for stack in Parts.concatenated(*zip(*parts, strict=True)).batched_components()]
    assert all(numbers)
    assert sorted(each for some in numbers for each in some) == list(range(len(parts)))
