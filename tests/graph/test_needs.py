"""How far off skills are, in figures to act on."""

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.errors import OptionError, QuorateError
from quorate.graph.pairs import PairStats, pair_stats
from quorate.theory.skill_bounds import skill_bound
from quorate.theory.tasks_needed import CUBE_FACTOR, pair_error


def crowd_of(n_tasks: int, seed: int, n_classes: int = 2) -> simulate.Crowd:
    return simulate.crowd(n_tasks, 12, 5, n_classes=n_classes, skills=np.linspace(0.2, 0.9, 12), seed=seed)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_expected_error_is_the_error_on_average(n_classes: int) -> None:
    """Over 30 crowds the mean squared error over answers is what was expected, give or take a third."""
    off, expected = [], []
    for seed in range(30):
        crowd = crowd_of(400, seed, n_classes)
        result = quorate.aggregate(crowd.answers, "rank-one")
        share = crowd.answers.per_worker / crowd.answers.n_answers
        off.append(share @ (result.skills - crowd.skills) ** 2)
        expected.append(quorate.theory.skill_error(result).expected ** 2)
    assert np.mean(expected) == pytest.approx(np.mean(off), rel=0.33)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_holds_and_is_tighter_than_the_printed_one(seed: int) -> None:
    """In a crowd like most: few do most of the work."""
    skills, activity = np.linspace(0.2, 0.9, 12)[::-1], simulate.zipf_activity(12)
    crowd = simulate.crowd(2_000, 12, 4, skills=skills, activity=activity, seed=seed)
    result = quorate.aggregate(crowd.answers, "rank-one", solver="exponentiated")
    found = quorate.theory.skill_error(result)
    pairs = pair_stats(crowd.answers)
    printed = skill_bound(pairs, 12, 2, result.skills)
    assert np.linalg.norm((result.skills - crowd.skills)[found.kept]) <= found.bound
    assert found.bound < printed.finite_task_hoeffding


def test_with_tasks_enough_the_noise_is_small_enough() -> None:
    """The bound falls as one over the root of the tasks, and so does the error to expect."""
    skills = np.linspace(0.5, 0.9, 12)
    p = pair_stats(simulate.crowd(2_000, 12, 12, skills=skills, seed=0).answers)
    few, many = (
        pair_error(PairStats(p.i, p.j, p.shared * k, p.agreed * k), 2, skills, np.full(12, 2_000 * k))
        for k in (1, 10_000)
    )
    assert not few.small_enough
    assert many.small_enough
    assert many.bound == pytest.approx(few.bound / 100, rel=0.01)
    assert many.expected == pytest.approx(few.expected / 100, rel=0.01)


def test_tasks_still_needed() -> None:
    found = quorate.theory.skill_error(quorate.aggregate(crowd_of(400, 0).answers, "rank-one"))
    assert found.tasks_needed(400, found.expected * 2) == 0
    assert found.tasks_needed(400, found.expected / 3) == 3_200
    assert (found.tasks_needed_for_sure(400, 0.05) or 0) > (found.tasks_needed(400, 0.05) or 0)
    with pytest.raises(OptionError, match="positive error"):
        found.tasks_needed(400, 0.0)


def test_where_nothing_is_known_nothing_is_reported() -> None:
    two = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    found = pair_error(pair_stats(two), 2, np.array([np.nan, np.nan]), two.per_worker)
    assert found.tasks_needed(1, 0.05) is None
    assert not found.kept.any()
    with pytest.raises(OptionError, match="must be between 0 and 1"):
        pair_error(pair_stats(two), 2, np.array([0.5, 0.5]), two.per_worker, delta=1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_are_wrong_no_more_often_than_their_bounds(n_classes: int) -> None:
    crowd = crowd_of(3_000, 1, n_classes)
    result = quorate.aggregate(crowd.answers, "rank-one")
    table = quorate.theory.task_bounds(result)
    bound = np.array(table["error_at_most"].to_pylist())
    assert (result.vote.label != crowd.truth).mean() <= bound.mean()
    assert (table["potential"].to_pylist()[0] is None) is (n_classes > 2)
    if n_classes == 2:
        first = crowd.answers.worker[crowd.answers.task == 0]
        assert bound[0] == pytest.approx(min(quorate.theory.optimal_error_bounds(result.skills[first])[1], 0.5))


def test_a_method_without_skills_has_no_bounds() -> None:
    result = quorate.aggregate(crowd_of(50, 0).answers, "majority")
    with pytest.raises(QuorateError, match="no skills"):
        quorate.theory.task_bounds(result)
    with pytest.raises(QuorateError, match="no skills"):
        quorate.theory.skill_error(result)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_the_bound_of_three_alike_is_what_one_finds_by_hand(n_classes: int, delta: float) -> None:
    """Each pair shares N tasks: curvature 2Nx², of which the least eigenvalue has a half; Hoeffding for six events."""
    n, x = 4_000, 0.7
    agreed = round(n * ((n_classes - 1) * x * x + 1) / n_classes)
    trio = PairStats(np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, n), np.full(3, agreed))
    found = pair_error(trio, n_classes, np.full(3, x), np.full(3, n), delta=delta)
    noise = n_classes / (n_classes - 1) * np.sqrt(n * np.log(2 * 3 / delta) / 2)
    scale = np.sqrt(2 * n * x * x)
    pull = np.sqrt(3) * 2 * noise / scale
    assert found.bound == pytest.approx(pull * CUBE_FACTOR**2 / 0.5 * CUBE_FACTOR * x / scale)


def test_a_skill_is_never_expected_to_be_off_by_more_than_one() -> None:
    """Three who met on one task, and hardly know more than chance."""
    trio = PairStats(np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3, int), np.ones(3, int))
    for x in (1e-3, 0.05, 0.3):
        assert pair_error(trio, 2, np.full(3, x), np.ones(3, int)).expected <= 1


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("x", [0.3, 0.8])
def test_the_expected_error_of_three_alike_is_what_one_finds_by_hand(n_classes: int, x: float) -> None:
    """All three answer the same N tasks: H has eigenvalues 4Nx² and Nx², the noise of a worker its own and shared."""
    n = 4_000
    agreement = ((n_classes - 1) * x * x + 1) / n_classes
    trio = PairStats(np.array([0, 0, 1]), np.array([1, 2, 2]), np.full(3, n), np.full(3, round(n * agreement)))
    v = (n_classes / (n_classes - 1)) ** 2 * agreement * (1 - agreement)  # of one a_ijt
    shared = (x + 1 / (n_classes - 1)) * (1 - x)  # what an answer leaves open, common to both pairs of its worker
    own, between = 2 * n * v * x**2 + 2 * n * x**4 * shared, n * v * x**2
    squared = (own + 2 * between) / (4 * n * x * x) ** 2 / 3 + 2 * (own - between) / (n * x * x) ** 2 / 3
    found = pair_error(trio, n_classes, np.full(3, x), np.full(3, n))
    assert found.expected == pytest.approx(np.sqrt(squared))
