from itertools import product

import numpy as np
import pytest

import quorate
from quorate.skills.signs import breadth_first_signs, contradicted_share, orient, settle, weighed_signs
from tests.crowds import connected_odd_graph, random_edges, signed_skills


@pytest.mark.parametrize("seed", range(30))
def test_consistent_evidence_is_followed_without_contradiction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 20))
    i, j = connected_odd_graph(n, rng)
    skills = signed_skills(n, rng)
    evidence = skills[i] * skills[j] * rng.integers(1, 9, len(i))
    for rule in (breadth_first_signs, weighed_signs):
        found = rule(n, i, j, evidence)
        assert found.contradicted == 0
        assert found.sign * found.sign[0] == pytest.approx(np.sign(skills) * np.sign(skills[0]))


@pytest.mark.parametrize("seed", range(30))
def test_weighing_contradicts_less_evidence_than_a_breadth_first_tree_and_no_single_turn_helps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    i, j = connected_odd_graph(n, rng, share=0.5)
    evidence = rng.normal(0.5, 1, len(i))
    weighed, plain = weighed_signs(n, i, j, evidence), breadth_first_signs(n, i, j, evidence)
    assert weighed.contradicted <= settle(plain.sign, i, j, evidence).contradicted + 0.25
    for worker in range(n):
        turned = weighed.sign.copy()
        turned[worker] *= -1
        assert contradicted_share(turned, i, j, evidence) >= weighed.contradicted - 1e-12


def test_weighing_is_near_the_best_of_all_signs() -> None:
    """Over 40 small noisy graphs, compared with all 2^(n-1) choices."""
    excess = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        i, j = connected_odd_graph(7, rng, share=0.5)
        evidence = rng.normal(0.4, 0.6, len(i))
        choices = product([-1.0, 1.0], repeat=6)
        best = min(contradicted_share(np.array([1.0, *rest]), i, j, evidence) for rest in choices)
        excess.append(weighed_signs(7, i, j, evidence).contradicted - best)
    assert min(excess) >= -1e-12
    assert np.mean(excess) < 0.02


def test_components_without_links_each_start_positive() -> None:
    found = breadth_first_signs(5, np.array([0, 2]), np.array([1, 3]), np.array([-1.0, 1.0]))
    assert found.sign.tolist() == [1, -1, 1, 1, 1]
    assert weighed_signs(3, np.array([], int), np.array([], int), np.array([])).sign.tolist() == [1, 1, 1]


def test_each_component_is_oriented_by_its_own_sum() -> None:
    rng = np.random.default_rng(0)
    i, _ = random_edges(9, rng, 0.2)
    skills, component = rng.uniform(-1, 1, 9), np.repeat([0, 1, 2], 3)
    anchored = np.array([False, False, True])
    oriented, turned = orient(skills, component, anchored)
    sums = np.bincount(component, oriented)
    assert (sums[:2] >= 0).all()
    assert not turned[2]
    assert oriented[6:].tolist() == skills[6:].tolist()
    assert np.abs(oriented).tolist() == np.abs(skills).tolist()
    assert len(i) > 0


def test_a_sign_given_by_assumption_is_stated() -> None:
    """Two groups that never met: agreement tells nothing of their signs. Gold in both settles it, in one only that."""
    rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyxx")}
    for method in ("rank-one", "quorate"):
        assert any("groups of workers never met" in note for note in quorate.aggregate(rows, method).notes)
        one = quorate.aggregate(rows, method, gold={"task": [1], "label": ["x"]}).notes
        assert any("1 group of workers never met gold" in note for note in one)
        both = quorate.aggregate(rows, method, gold={"task": [1, 2], "label": ["x", "x"]}).notes
        assert not any("taken to be right" in note for note in both)
