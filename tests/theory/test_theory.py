"""The paper's statements by one import."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import simulate, theory
from quorate.errors import OptionError
from tests.crowds import connected_odd_graph


def exact(seed: int, n: int = 8) -> tuple[theory.PairObjective, np.ndarray]:
    rng = np.random.default_rng(seed)
    i, j = connected_odd_graph(n, rng, share=0.3)
    skills = rng.uniform(0.3, 0.9, n)
    return theory.PairObjective(n, i, j, rng.uniform(1, 5, len(i)), skills[i] * skills[j]), skills


@given(st.integers(0, 10**6))
def test_the_gradient_is_the_slope_of_the_loss(seed: int) -> None:
    objective, _ = exact(seed % 100)
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 8)
    way = rng.normal(size=8)
    slope = (objective.loss(x + 1e-6 * way) - objective.loss(x - 1e-6 * way)) / 2e-6
    assert objective.gradient(x) @ way == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_all_three_algorithms_find_positive_skills(seed: int) -> None:
    objective, skills = exact(seed)
    assert theory.pgd(objective).skills == pytest.approx(skills, abs=1e-4)
    assert theory.flow(objective).skills == pytest.approx(skills, abs=1e-6)
    assert theory.expgrad(objective, kappa=0.2).skills == pytest.approx(skills, abs=1e-3)


def test_pgd_never_leaves_the_range_of_the_corollary() -> None:
    """[Ma20, Corollary 14]: with its step x stays in [kappa²/K, K²/kappa]."""
    objective, _ = exact(1)
    step = theory.corollary_step(objective.problem().moments, kappa=0.3, K=0.9)
    low, high = theory.corollary_range(kappa=0.3, K=0.9)
    for x in theory.pgd(objective, 0.4, step=step, max_iterations=300, record=True).trajectory:
        assert low <= x.min()
        assert x.max() <= high


def test_the_perturbation_bound_holds() -> None:
    """[Ma20, Theorem 12]: the limit of exponentiated gradient under bounded disturbances."""
    from quorate.graph.pairs import PairStats

    for seed in range(5):
        objective, skills = exact(seed)
        rng = np.random.default_rng(seed)
        shared = np.full(len(objective.i), 100)
        disturbance = rng.uniform(-1e-3, 1e-3, len(objective.i))
        noisy = theory.PairObjective(
            8, objective.i, objective.j, shared.astype(float), objective.correlations + disturbance
        )
        found = theory.expgrad(noisy, kappa=0.2, step=1e-3).skills
        pairs = PairStats(objective.i, objective.j, shared, shared)
        bound = theory.skill_bound(pairs, 8, 2, skills).perturbation(1e-3)
        assert np.linalg.norm(found - skills) <= bound


def test_the_conditions_of_learnability_and_their_gap() -> None:
    i, j = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3])
    good = theory.learnability_conditions(4, i, j, np.array([0.5, 0.9, 0.3, 0.7]))
    assert good.as_stated
    assert good.holds
    gap = theory.learnability_conditions(4, i, j, np.array([0.0, 0.9, 0.3, 0.7]))
    assert gap.as_stated
    assert not gap.holds
    negative = theory.learnability_conditions(4, i, j, np.array([-0.5, 0.1, -0.3, 0.2]))
    assert not negative.as_stated
    ring = theory.learnability_conditions(4, *simulate.ring(4), np.full(4, 0.5))
    assert not ring.is_nonbipartite
    assert not ring.is_determined.any()
    with pytest.raises(OptionError, match="each of 4 workers, got 3"):
        theory.learnability_conditions(4, i, j, np.ones(3))


def test_where_the_conditions_fail_two_skill_vectors_agree() -> None:
    """Any scaling of the workers who are not determined leaves every correlation of the counterexample as it is."""
    i, j = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3])
    s = np.array([0.0, 0.9, 0.3, 0.7])
    other = s * np.array([1.0, 0.8, 1 / 0.8, 0.8])
    assert other[i] * other[j] == pytest.approx(s[i] * s[j])
    assert np.isnan(theory.constructive_skills(4, i, j, s[i] * s[j])[1:]).all()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_shared", [20, 400])
def test_a_guesser_loses_every_pair(n_classes: int, n_shared: int) -> None:
    """With probability above 1 - 2/W; 2,000 guessers of 50 workers, so that 1 - 2/W - 3 errors is .948."""
    n_workers = 50
    rng = np.random.default_rng(0)
    agreed = rng.binomial(n_shared, 1 / n_classes, (2000, n_workers - 1))
    correlation = (n_classes * agreed / n_shared - 1) / (n_classes - 1)
    threshold = theory.guesser_threshold(n_workers, n_shared, n_classes)
    loses_all = (np.abs(correlation) < threshold).all(axis=1).mean()
    assert loses_all >= 1 - 2 / n_workers - 3 * np.sqrt(2 / n_workers / 2000)
    if n_classes == 2:  # the paper's form without the constant
        assert (np.abs(correlation) < np.sqrt(np.log(n_workers) / n_shared)).all(axis=1).mean() < 0.3


def test_a_pair_of_twice_the_threshold_is_kept() -> None:
    n_workers, n_shared = 50, 400
    threshold = float(theory.guesser_threshold(n_workers, n_shared, 2))
    rng = np.random.default_rng(0)
    agreed = rng.binomial(n_shared, (1 + 2 * threshold) / 2, 20_000)
    assert (2 * agreed / n_shared - 1 >= threshold).mean() >= 1 - 2 / n_workers**2 - 1e-3
    assert theory.guesser_threshold(n_workers, n_shared, 2, for_all=True) == pytest.approx(1.5**0.5 * threshold)
