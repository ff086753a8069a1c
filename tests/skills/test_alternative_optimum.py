"""The limit of the gradient flow, and when another optimum replaces it."""

import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import quorate
from quorate import simulate
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError
from quorate.notes import ALTERNATIVE, DOUBTFUL_SIGN, SOLVER
from quorate.skills.alternative_optimum import PairTable, check_alternative, fit_logarithms, logarithmic_start
from quorate.skills.gradient_flow import follow_gradient_flow
from quorate.skills.identification import identify_workers
from quorate.skills.moments import from_answers, from_pairs
from quorate.skills.objective import Problem, Solution
from quorate.skills.pgd import projected_gradient
from tests.crowds import connected_odd_graph, signed_skills


def problem_of(
    skills: FloatArray, i: IntArray, j: IntArray, shared: float, noise: FloatArray | float = 0.0
) -> tuple[Problem, PairTable]:
    weights = np.full(len(i), shared)
    correlation = skills[i] * skills[j] + noise
    n = len(skills)
    pairs = PairTable(i, j, weights, correlation)
    return Problem(from_pairs(n, i, j, weights, correlation), -np.ones(n), np.ones(n), np.ones(n)), pairs


def checked(problem: Problem, pairs: PairTable) -> Solution:
    return check_alternative(
        problem, pairs, follow_gradient_flow(problem), lambda start: follow_gradient_flow(problem, start)
    )


@pytest.mark.parametrize("graph", ["star", "ring", "tree", "clique"])
@pytest.mark.parametrize("seed", range(3))
def test_the_flow_ends_where_gradient_descent_ends(graph: str, seed: int) -> None:
    """The reference is plain gradient descent with a short fixed step, in numpy; noise as of 30 shared tasks."""
    rng = np.random.default_rng(seed)
    n = 15
    i, j = {
        "star": (np.array([0] * (n - 1) + [1]), np.array([*range(1, n), 2])),
        "ring": simulate.ring(n),
        "tree": (np.array([int(rng.integers(0, k)) for k in range(1, n)] + [0]), np.array([*range(1, n), 2])),
        "clique": simulate.clique(n),
    }[graph]
    keys = np.unique(np.minimum(i, j) * n + np.maximum(i, j))
    i, j = keys // n, keys % n
    skills = rng.uniform(0.2, 0.9, n)
    problem, pairs = problem_of(skills, i, j, 30.0, rng.normal(0, 0.15, len(i)))
    x = np.full(n, 0.5)
    step = 0.25 / problem.moments.degree.max()
    for _ in range(200_000):
        residual = pairs.weights * (pairs.correlation - x[i] * x[j])
        ascent = np.bincount(i, residual * x[j], n) + np.bincount(j, residual * x[i], n)
        new = np.clip(x + step * ascent, -1, 1)
        if np.abs(new - x).max() < 1e-12:
            break
        x = new
    found = follow_gradient_flow(problem)
    assert found.converged
    assert found.skills == pytest.approx(x, abs=1e-4)  # the reference stops at steps of 1e-12


def test_a_component_at_a_saddle_does_not_hold_up_the_others() -> None:
    """At skills of zero a pair with a correlation is at a saddle, where no longer step is convex.

    A pair without correlation falls towards zero slowly, and a triangle has exact correlations.
    """
    i = np.array([0, 2, 4, 4, 5])
    j = np.array([1, 3, 5, 6, 6])
    correlation = np.array([0.5, 0.0, 0.72, 0.63, 0.56])
    problem = Problem(from_pairs(7, i, j, np.ones(5), correlation), np.full(7, -0.95), np.full(7, 0.95), np.ones(7))
    found = follow_gradient_flow(problem, np.array([0.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5]))
    assert found.converged
    assert found.iterations < 500
    assert (found.skills[:2] == 0).all()
    assert found.skills[2:4] == pytest.approx(0.0, abs=1e-3)
    assert found.skills[4:] == pytest.approx([0.9, 0.8, 0.7], abs=1e-6)


def test_large_crowds_end_at_the_optimum_by_conjugate_gradients() -> None:
    crowd = simulate.crowd(6000, 700, 5, seed=0)
    found = quorate.aggregate(crowd.answers, "rank-one", intervals="none").solution
    other = quorate.aggregate(crowd.answers, "rank-one", solver="coordinate", tolerance=1e-9, intervals="none").solution
    assert found is not None
    assert other is not None
    assert found.converged
    assert found.skills == pytest.approx(other.skills, abs=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_exact_correlations_of_mixed_signs_are_recovered(seed: int) -> None:
    """With 1,000 shared tasks per pair, and more pairs than workers."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    i, j = connected_odd_graph(n, rng, share=0.3)
    skills = signed_skills(n, rng)
    found = checked(*problem_of(skills, i, j, 1000.0)).skills
    assert np.abs(np.where(found.sum() < 0, -found, found) - skills).max() < 1e-6


def test_exact_correlations_start_at_the_skills() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        i, j = connected_odd_graph(12, rng, share=0.1)
        skills = signed_skills(12, rng)
        problem, pairs = problem_of(skills, i, j, 10.0)
        start = logarithmic_start(problem, pairs)
        assert np.abs(start * np.sign(start @ skills) - skills).max() < 1e-6


def two_cliques(joint: float, shared: float = 100.0) -> tuple[Problem, PairTable]:
    """Two cliques of five joined by one pair of this correlation."""
    (i, j), skills = simulate.clique(5), np.full(10, 0.7)
    i, j = np.concatenate([i, i + 5, [0]]), np.concatenate([j, j + 5, [5]])
    correlation = skills[i] * skills[j]
    correlation[-1] = joint
    weights = np.full(len(i), shared)
    ones = np.ones(10)
    return Problem(from_pairs(10, i, j, weights, correlation), -ones, ones, ones), PairTable(i, j, weights, correlation)


@pytest.mark.parametrize("n", [8, 30])
@pytest.mark.parametrize("n_known", [0, 3])
def test_logarithms_of_small_and_large_crowds_are_equal(n: int, n_known: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n)
    i, j = connected_odd_graph(n, rng, share=0.2)
    weights, target = 10.0 ** rng.uniform(-6, 0, len(i)), rng.normal(size=len(i))
    known = np.where(np.arange(n) < n_known, rng.normal(size=n), np.nan)
    small = fit_logarithms(n, i, j, weights, target, known)
    monkeypatch.setattr("quorate.skills.alternative_optimum.MAX_TABLE_WORKERS", 0)
    np.testing.assert_allclose(fit_logarithms(n, i, j, weights, target, known), small, rtol=1e-6, atol=1e-9)


def test_logarithms_of_a_large_crowd_need_no_table_of_all_its_pairs() -> None:
    """Three of 20,000 workers share tasks; a table of all pairs would take 3.2 GB."""
    tracemalloc.start()
    try:
        z = fit_logarithms(20_000, np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3), np.array([3.0, 4.0, 5.0]))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert z[:4] == pytest.approx([1, 2, 3, 0])
    assert most < 20_000 * 8 * 100


@pytest.mark.parametrize(
    ("joint", "n_reported", "n_adopted"),
    [
        (0.4, 0, 0),  # the positive optimum fits better by far
        (-0.02, 1, 0),  # a gain of 1.4 nats
        (-0.15, 1, 0),  # 10.4 nats, and five more negative workers cost 5 log 19 + 1.92 = 16.6
        (-0.25, 1, 1),  # 17.3 nats
    ],
)
def test_a_group_is_flipped_where_its_gain_exceeds_the_prior(joint: float, n_reported: int, n_adopted: int) -> None:
    problem, pairs = two_cliques(joint)
    found = checked(problem, pairs)
    signs = np.repeat([1.0, -1.0], 5)
    losses = [
        minimize(lambda x: problem.loss_and_gradient(x), 0.7 * start, jac=True, bounds=[(-1, 1)] * 10, tol=1e-14).fun
        for start in (np.ones(10), signs)
    ]
    assert len(found.alternatives) == n_reported
    assert sum(each.is_adopted for each in found.alternatives) == n_adopted
    assert int((found.skills < 0).sum()) == 5 * n_adopted
    for each in found.alternatives:
        assert each.n_workers >= 5
        assert each.gain == pytest.approx(losses[0] - losses[1], rel=1e-4)
        assert each.required == pytest.approx(5 * np.log(19) + 1.92)


def test_the_noise_of_a_pair_is_that_of_its_number_of_classes() -> None:
    """At skill zero the variance of one shared task is 1/(M-1): five classes need a quarter of the gain in loss."""
    problem, pairs = two_cliques(-0.05)
    few = checked(problem, pairs).alternatives[0].gain
    many = checked(problem, PairTable(pairs.i, pairs.j, pairs.weights, pairs.correlation, noise=0.25)).alternatives
    assert many[0].gain == pytest.approx(4 * few)


def groups_that_met_once() -> tuple[dict[str, list[str]], dict[str, str]]:
    strong = simulate.crowd(300, 3, 3, skills=np.full(3, 0.8), seed=0).answers
    rows = {"task": [], "worker": [], "label": []}  # type: dict[str, list[str]]
    for group in "ab":
        for task, worker, label in zip(strong.task, strong.worker, strong.label, strict=True):
            rows["task"].append(f"{group}{task}")
            rows["worker"].append(f"{group}{worker}")
            rows["label"].append(str(label))
    for label, worker in (("0", "a0"), ("1", "b0")):
        rows["task"].append("joint")
        rows["worker"].append(worker)
        rows["label"].append(label)
    gold = {f"{group}{t}": "0" if strong.counts[t, 0] > 1 else "1" for group in "ab" for t in range(60)}
    return rows, gold


def test_an_alternative_and_an_open_sign_are_noted() -> None:
    """Two groups of three that disagreed on one shared task; gold decides between them."""
    rows, gold = groups_that_met_once()
    result = quorate.aggregate(rows, "rank-one")
    assert ALTERNATIVE in [note.kind for note in result.notes]
    assert (result.skills > 0.5).all()  # one task is no evidence against the prior
    assert result.solution is not None
    assert result.solution.to_dict()["alternatives"][0]["n_workers"] == 3
    kinds_with_gold = [note.kind for note in quorate.aggregate(rows, "rank-one", gold=gold).notes]
    assert ALTERNATIVE not in kinds_with_gold
    assert DOUBTFUL_SIGN not in kinds_with_gold


def test_a_crowd_that_determines_its_skills_has_no_such_notes() -> None:
    for seed in range(10):
        notes = quorate.aggregate(simulate.crowd(300, 12, 4, seed=seed).answers, "rank-one").notes
        assert not [note for note in notes if note.kind in (ALTERNATIVE, DOUBTFUL_SIGN)]


def test_above_the_limit_coordinate_descent_runs_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    usual = quorate.aggregate(answers, "rank-one")
    monkeypatch.setattr("quorate.skills.identification.MAX_PAIRS", 10)
    found = quorate.aggregate(answers, "rank-one")
    assert [note.kind for note in found.notes] == [SOLVER]
    assert found.solution is not None
    assert found.solution.solver == "coordinate"
    assert found.skills == pytest.approx(usual.skills, abs=1e-4)


def test_the_flow_needs_a_pair_table() -> None:
    answers = simulate.crowd(30, 5, 3, seed=1).answers
    with pytest.raises(OptionError, match="no pair table"):
        follow_gradient_flow(Problem(from_answers(answers), -np.ones(5), np.ones(5), np.ones(5)))


@pytest.mark.parametrize("solver", ["flow", "coordinate", "gradient", "exponentiated"])
@pytest.mark.parametrize("signs", ["descent", "weighed", "breadth-first"])
def test_any_start_ends_at_the_same_skills(solver: str, signs: str) -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    options: dict[str, Any] = {"tolerance": 1e-7} if solver == "gradient" else {}
    usual = quorate.aggregate(answers, "rank-one", solver=solver, signs=signs, **options).skills
    own = np.random.default_rng(0).uniform(0.2, 0.9, 12)
    for start in (0.9, own, own.tolist(), -own):
        found = quorate.aggregate(answers, "rank-one", solver=solver, signs=signs, start=start, **options)
        assert found.skills == pytest.approx(usual, abs=1e-4)


def test_with_a_fixed_step_the_path_begins_at_the_start() -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    options: dict[str, Any] = {"solver": "gradient", "step": 1e-4, "record": True, "max_iterations": 3}
    solution = quorate.aggregate(answers, "rank-one", start=0.3, **options).solution
    assert solution is not None
    assert solution.trajectory[0] == pytest.approx(np.full(12, 0.3))
    assert len(solution.trajectory) == 4


def test_gradient_descent_has_the_same_step_throughout() -> None:
    """The paper's algorithm: every move is the gradient times one step, projected onto the box."""
    crowd = simulate.crowd(300, 12, 4, seed=1)
    identification = identify_workers(crowd.answers)
    problem = Problem(identification.moments, -np.ones(12), np.ones(12), np.ones(12))
    path = projected_gradient(problem, max_iterations=20, record=True, tolerance=0.0).trajectory
    step = 1 / (4 * problem.moments.degree.max())
    for before, after in pairwise(path):
        expected = np.clip(before - step * problem.loss_and_gradient(before)[1], -1, 1)
        assert after == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("start", "message"), [(np.ones(3), "each of the 12 workers, got 3"), (1.5, "got 1.5"), ([np.nan] * 12, "got nan")]
)
def test_a_start_that_is_none_is_refused(start: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quorate.aggregate(simulate.crowd(300, 12, 4, seed=1).answers, "rank-one", start=start)


def test_a_function_of_the_shared_tasks_can_weigh_pairs() -> None:
    answers = simulate.crowd(300, 12, 4, seed=1).answers
    named = quorate.aggregate(answers, "rank-one", weighting="squared").skills
    given = quorate.aggregate(answers, "rank-one", weighting=lambda shared: shared**2.0).skills
    assert given == pytest.approx(named, abs=1e-9)
    with pytest.raises(OptionError, match="finite weights above zero"):
        quorate.aggregate(answers, "rank-one", weighting=lambda shared: 0.0 * shared)
