from itertools import product

import networkx
import numpy as np
import pytest

import quorate
from quorate.notes import ORIENTATION
from quorate.skills.signs import (
    breadth_first_signs,
    contradicted_share,
    orient,
    orient_components,
    strongest_tree,
    weighed_signs,
)
from tests.crowds import connected_odd_graph, signed_skills


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


def test_weighing_contradicts_less_evidence_than_a_breadth_first_tree_and_no_single_turn_helps() -> None:
    gaps = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        i, j = connected_odd_graph(8, rng, share=0.5)
        evidence = rng.normal(0.5, 1, len(i))
        weighed, plain = weighed_signs(8, i, j, evidence), breadth_first_signs(8, i, j, evidence)
        assert weighed.contradicted == contradicted_share(weighed.sign, i, j, evidence)
        gaps.append(plain.contradicted - weighed.contradicted)
        for worker in range(8):
            turned = weighed.sign.copy()
            turned[worker] *= -1
            assert contradicted_share(turned, i, j, evidence) >= weighed.contradicted - 1e-12
    assert min(gaps) >= -0.05  # now and then the tree is lucky, by little
    assert np.mean(gaps) > 0.05


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
    """The second and the third are mostly wrong, and the third is anchored: only the second is turned."""
    skills, component = np.array([0.5, 0.4, -0.3, -0.9, 0.1, 0.2, -0.6, -0.7, 0.3]), np.repeat([0, 1, 2], 3)
    oriented, turned = orient(skills, component, np.array([False, False, True]))
    assert turned.tolist() == [False, True, False]
    assert oriented.tolist() == [0.5, 0.4, -0.3, 0.9, -0.1, -0.2, -0.6, -0.7, 0.3]


def test_a_sign_given_by_assumption_is_stated() -> None:
    """Two groups that never met: agreement tells nothing of their signs. Gold in both settles it, in one only that."""
    rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyxx")}
    for method in ("rank-one", "quorate"):
        assert any("groups of workers share no task" in note.text for note in quorate.aggregate(rows, method).notes)
        one = quorate.aggregate(rows, method, gold={"task": [1], "label": ["x"]}).notes
        assert any("1 group of workers has no known labels" in note.text for note in one)
        both = quorate.aggregate(rows, method, gold={"task": [1, 2], "label": ["x", "x"]}).notes
        assert not any(note.kind == ORIENTATION for note in both)


def test_the_contradicted_share_is_of_the_evidence_whatever_its_size() -> None:
    sign, i, j = np.array([1.0, -1.0, 1.0]), np.array([0, 0, 1]), np.array([1, 2, 2])
    for size in (1e-6, 1.0, 1e6):
        assert contradicted_share(sign, i, j, size * np.array([3.0, 1.0, -4.0])) == pytest.approx(3 / 8)
    assert contradicted_share(sign, i, j, np.zeros(3)) == 0


def test_evidence_of_nothing_joins_nobody() -> None:
    """A pair whose evidence is zero tells no sign: the second starts anew."""
    i, j = np.array([0, 1, 2]), np.array([1, 2, 3])
    assert breadth_first_signs(4, i, j, np.array([-1.0, 0.0, -1.0])).sign.tolist() == [1, -1, 1, -1]


def test_the_strongest_evidence_is_followed_first() -> None:
    """Around a ring with one weak pair that contradicts the rest, all but that pair are agreed with."""
    i, j = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 3, 4, 4])
    for weak in range(5):
        evidence = np.array([4.0, -5.0, 6.0, -7.0, 8.0])
        evidence[weak] = -0.5 * np.sign(evidence[weak])
        found = weighed_signs(5, i, j, evidence)
        assert found.contradicted == pytest.approx(0.5 / np.abs(evidence).sum())


@pytest.mark.parametrize("law", ["ties", "of all sizes"])
@pytest.mark.parametrize("share", [0.02, 0.1, 1.0])
def test_large_and_small_crowds_have_the_same_strongest_tree(
    law: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of pairs of equal strength too, and of strengths that vanish beside the largest; components are separate."""
    rng = np.random.default_rng(0)
    i, j = np.stack(np.triu_indices(40, 1))[:, rng.random(780) < share]
    strength = rng.integers(1, 4, len(i)) if law == "ties" else 10.0 ** rng.uniform(-200, 0, len(i))
    small = strongest_tree(40, i, j, strength.astype(np.float64))
    monkeypatch.setattr("quorate.skills.signs.MAX_TABLE_WORKERS", 0)
    assert strongest_tree(40, i, j, strength.astype(np.float64)).tolist() == small.tolist()
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(i.tolist(), j.tolist(), np.log(strength).tolist(), strict=True))
    weights = [data["weight"] for *_, data in networkx.maximum_spanning_edges(graph)]
    assert sorted(weights) == sorted(np.log(strength[small]).tolist())


@pytest.mark.parametrize("seed", range(20))
def test_settling_ends_where_no_single_turn_helps_from_any_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(12, rng, share=0.6)
    evidence, start = rng.normal(0.2, 1, len(i)), rng.choice([-1.0, 1.0], 12)
    given = start.copy()
    found = orient_components(start, i, j, evidence)
    assert start.tolist() == given.tolist()  # what was given is left alone
    assert found.contradicted == contradicted_share(found.sign, i, j, evidence)
    assert found.contradicted <= contradicted_share(start, i, j, evidence)
    for worker in range(12):
        turned = np.where(np.arange(12) == worker, -found.sign, found.sign)
        assert contradicted_share(turned, i, j, evidence) >= found.contradicted - 1e-12
