from itertools import product

import numpy as np
import pytest
from experiments.calibration.coverage import with_response_bias

import quorate
from quorate import simulate
from quorate.arrays import FloatArray
from quorate.blocks.block import Block
from quorate.skills import variance_inflation as module
from quorate.skills.centred_score import CentredInference
from quorate.skills.rank_one_score import OneCoinInference
from quorate.skills.variance_inflation import (
    AGREEMENT_SHRINKAGE,
    Curvature,
    ScoreContributions,
    displacements,
    peer_error,
    task_sums,
)
from tests.skills.interval_samples import METHODS, answer_pairs


def dense(score_of: OneCoinInference) -> tuple[FloatArray, FloatArray, FloatArray]:
    """D, the curvature and psi by task, from a double loop."""
    a, x, m = score_of.answers, score_of.skills, score_of.n_classes
    n = a.n_workers
    d, h, psi = np.zeros(n), np.zeros((n, n)), np.zeros((a.n_tasks, n))
    for task, there in answer_pairs(a):
        for (i, mine), (j, label) in product(there, there):
            if i != j:
                agreed = (m * (mine == label) - 1) / (m - 1)
                d[i] += x[j] ** 2
                h[i, j] += (2 - AGREEMENT_SHRINKAGE) * x[i] * x[j] - (1 - AGREEMENT_SHRINKAGE) * agreed
                psi[task, i] += (agreed - x[i] * x[j]) * x[j]
    return d, h, psi


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("draws", [3, 40])
def test_the_inflation_is_that_of_a_dense_solve(n_classes: int, draws: int) -> None:
    """With the same signs; conjugate gradients stop at a residual of 1 %, so f, a square, is right to 3 %."""
    crowd = simulate.crowd(300, 9, 4, n_classes=n_classes, skills=np.linspace(0.4, 0.9, 9), seed=1)
    inference = OneCoinInference(crowd.answers, crowd.skills, np.arange(9) != 4)
    d, h, psi = dense(inference)
    signs = 2.0 * np.random.default_rng(7).integers(0, 2, (300, draws), dtype=np.int8) - 1
    b, free = psi.T @ signs, inference.is_free
    moved = np.zeros_like(b)
    moved[free] = np.linalg.solve((np.diag(d) + h)[np.ix_(free, free)], b[free])
    raw, alone = (b - h @ moved) / d[:, None], b / d[:, None]
    slope = (raw * alone).sum(axis=1) / (alone**2).sum(axis=1)
    rest = ((raw - slope[:, None] * alone) ** 2).sum(axis=1) / (draws - 1)
    naive = slope**2 + rest / ((psi**2).sum(axis=0) / d**2)
    assert naive.max() > 1.01  # there is something to see
    error = inference.peer_error(draws=draws, seed=7)
    assert error.inflation == pytest.approx(np.clip(naive, 1, 25), rel=0.03)
    shared = np.zeros((9, 9))
    for _, there in answer_pairs(crowd.answers):
        for (i, _), (j, _) in product(there, there):
            shared[i, j] += i != j
    relative = shared @ (crowd.skills[:, None] * moved) / d[:, None]
    assert error.relative_variance == pytest.approx((relative**2).mean(axis=1), rel=0.03)


def test_the_inflation_of_centred_skills_is_that_of_a_dense_solve() -> None:
    """To 3 %, as above."""
    crowd = with_response_bias("four classes, 7 : 1 : 1 : 1", 10, 120, np.random.default_rng(3))
    inference = quorate.aggregate(crowd.answers, "rank-one-centred").inference
    assert isinstance(inference, CentredInference)
    a, x, f, spread = (
        crowd.answers,
        inference.skills,
        inference.bias_of_workers.frequency,
        inference.bias_of_workers.spread,
    )
    tried = np.clip(inference.score().raw, -1 / 3, 1) * inference._centring_factor / inference._peer_factor
    d, h, psi = np.zeros(10), np.zeros((10, 10)), np.zeros((a.n_tasks, 10))
    for task, there in answer_pairs(a):
        for (i, mine), (j, label) in product(there, there):
            if i != j:
                omega = 1 / (len(there) - 1)
                agreed = float((np.eye(4)[mine] - f[i]) @ (np.eye(4)[label] - f[j])) / spread
                d[i] += omega * x[j] ** 2
                h[i, j] += omega * ((2 - AGREEMENT_SHRINKAGE) * x[i] * x[j] - (1 - AGREEMENT_SHRINKAGE) * agreed)
                psi[task, i] += omega * (agreed - tried[i] * x[j]) * x[j]
    signs = 2.0 * np.random.default_rng(7).integers(0, 2, (a.n_tasks, 40), dtype=np.int8) - 1
    b = psi.T @ signs
    moved = np.linalg.solve(np.diag(d + inference.ridge) + h, b)
    raw, alone = (b - h @ moved) / d[:, None], b / d[:, None]
    slope = (raw * alone).sum(axis=1) / (alone**2).sum(axis=1)
    rest = ((raw - slope[:, None] * alone) ** 2).sum(axis=1) / 39
    naive = slope**2 + rest / ((psi**2).sum(axis=0) / d**2)
    assert inference.is_free.all()
    assert naive.max() > 1.1
    assert inference.peer_error(draws=40, seed=7).inflation == pytest.approx(np.clip(naive, 1, 25), rel=0.03)


@pytest.mark.parametrize("even", [True, False])
def test_a_matrix_of_workers_and_passes_give_the_same_products(even: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made where workers are few, the other where they are many."""
    crowd = simulate.crowd(300, 40, 5, n_classes=3, seed=2)
    rng = np.random.default_rng(0)
    frequency, x, v = rng.dirichlet(np.ones(3), 40), rng.random(40), rng.normal(size=(40, 6))
    by_matrix = task_sums(crowd.answers, x, frequency, 0.6, even=even).peers
    monkeypatch.setattr(module, "ENTRIES_PER_ANSWER", 0)
    by_passes = task_sums(crowd.answers, x, frequency, 0.6, even=even).peers
    assert isinstance(by_matrix, np.ndarray)
    assert not isinstance(by_passes, np.ndarray)
    np.testing.assert_allclose(by_passes @ v, by_matrix @ v, atol=1e-12)


def test_mates_who_know_nothing_more_make_no_difference() -> None:
    """Workers who met gold alone move as if alone: f = 1."""
    crowd = simulate.crowd(200, 5, 1, seed=0)
    gold = dict(zip(crowd.truth_table["task"].to_pylist(), crowd.truth_table["label"].to_pylist(), strict=True))
    for method in METHODS:
        found = quorate.aggregate(crowd.answers, method, gold=gold).intervals
        assert found.inflation == pytest.approx(np.ones(5))


def test_a_direction_that_the_data_do_not_determine_is_given_up() -> None:
    """Two workers who met each other alone: their ratio is free. It does not move then, and f is one."""
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    contributions = ScoreContributions(
        Block(np.array([0, 2]), np.array([0, 1]), np.zeros(2, int), 2, 2), np.array([1.0, -1.0])
    )
    curvature = Curvature(np.ones(2), pair, np.ones(2, dtype=bool))
    f = peer_error(curvature, contributions, pair, np.ones(2), draws=10, seed=0).inflation
    assert f == pytest.approx(np.ones(2))


def test_draws_that_do_not_fit_at_once_are_made_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight workers, room for four draws of each: thirty draws are made in eight rounds, with other signs."""
    crowd = simulate.crowd(400, 8, 4, skills=np.linspace(0.4, 0.9, 8), seed=1)
    inference = OneCoinInference(crowd.answers, crowd.skills, np.ones(8, dtype=bool))
    asked, draw = [], ScoreContributions.draw

    def note(self: ScoreContributions, k: int, rng: np.random.Generator) -> FloatArray:
        asked.append(k)
        return draw(self, k, rng)

    monkeypatch.setattr(ScoreContributions, "draw", note)
    complete = inference.peer_error(draws=30, seed=0).inflation
    monkeypatch.setattr(module, "MAX_ENTRIES", 32)
    parts = inference.peer_error(draws=30, seed=0).inflation
    assert asked == [30, 4, 4, 4, 4, 4, 4, 4, 2]
    assert parts == pytest.approx(complete, rel=0.25)  # chance of thirty draws


@pytest.mark.parametrize("rounding", [0.0, 1e-16])
def test_who_met_nobody_skilled_or_gave_no_pull_has_one(rounding: float) -> None:
    """The first worker's peers tell nothing (D = 0), the second's answers say what was thought (psi = 0)."""
    pair = np.zeros((3, 3))
    pair[1, 2] = pair[2, 1] = 0.5
    tasks = Block(np.array([0, 3, 6]), np.tile(np.arange(3), 2), np.zeros(6, int), 3, 2)
    contributions = ScoreContributions(tasks, np.array([1.0, rounding, 1.0, 1.0, -rounding, -2.0]))
    curvature = Curvature(np.array([0.0, 1.0, 1.0]), pair, np.ones(3, dtype=bool))
    error = peer_error(curvature, contributions, pair, np.ones(3), draws=20, seed=0)
    f = error.inflation
    assert error.relative_variance[0] == 0
    assert f[:2].tolist() == [1, 1]
    assert 1 < f[2] < 25


def test_the_scale_of_a_large_star_is_followed() -> None:
    """Its curvature is .2 % of the diagonal, and so its share in b is small; the errors are as a dense solve has them.

    At a residual of 1 % of b the error of the centre was 3 % of this.
    """
    n = 400
    rng = np.random.default_rng(0)
    x = rng.uniform(0.3, 0.9, n)
    x[1:3] = 0.7
    i = np.append(np.zeros(n - 1, dtype=int), 1)
    j = np.append(np.arange(1, n), 2)
    products = np.zeros((n, n))
    products[i, j] = products[j, i] = 300 * x[i] * x[j]
    diagonal = (products / x[:, None] * x).sum(axis=1)
    noise = np.sqrt(300) * rng.normal(size=(len(i), 20))
    b = np.zeros((n, 20))
    np.add.at(b, i, noise * x[j, None])
    np.add.at(b, j, noise * x[i, None])
    found, from_peers = displacements(Curvature(diagonal, products, np.ones(n, dtype=bool)), b)
    np.testing.assert_allclose(from_peers, products @ found, atol=1e-6)
    exact = np.linalg.solve(products + np.diag(diagonal), b)
    assert found[0].std() == pytest.approx(exact[0].std(), rel=0.05)


def test_one_answer_excludes_no_skill_of_medium_size() -> None:
    """Such a worker's only pull may be zero; a factor of the variance relative to it is then no bound for the skill."""
    columns = simulate.crowd(100, 8, 4, skills=np.linspace(0.2, 0.9, 8), seed=1).answer_table.to_pydict()
    columns = {name: list(values) for name, values in columns.items()}
    for k in range(6):
        columns["task"].append(f"t{k}")
        columns["worker"].append(f"once{k}")
        columns["label"].append(f"c{k % 2}")
    for method in ("quorate", "rank-one", "rank-one-centred"):
        workers = quorate.aggregate(columns, method).workers.to_pandas().set_index("worker")
        once = workers.loc[[f"once{k}" for k in range(6)]]
        assert once["skill_low"].max() <= -0.5
        assert once["skill_high"].min() >= 0.5


def test_conjugate_gradients_solve_for_the_free_and_leave_the_others() -> None:
    """Workers of a hundred answers beside workers of one."""
    rng = np.random.default_rng(0)
    rows_of = rng.random((50, 6)) * (rng.random((50, 6)) < 0.5) * np.geomspace(1, 30, 6)
    free = np.array([True, True, False, True, True, True])
    complete = 0.1 * rows_of.T @ rows_of
    diagonal = np.diag(complete) + 0.2
    peers = complete - np.diag(np.diag(complete))
    curvature = Curvature(diagonal, peers, free, ridge=0.3)
    h = peers + np.diag(diagonal + 0.3)
    b = rng.normal(size=(6, 9))
    b[:, 4] = 0.0
    found, from_peers = displacements(curvature, b)
    np.testing.assert_allclose(from_peers, peers @ found, atol=1e-9)
    exact = np.zeros_like(b)
    exact[free] = np.linalg.solve(h[np.ix_(free, free)], b[free])
    off, size = found - exact, np.einsum("wk,wk->k", exact, h @ exact)
    assert np.all(np.einsum("wk,wk->k", off, h @ off) <= 1e-3 * size)  # in H's own measure, about ERROR_TOLERANCE²
    assert found[2].tolist() == found[:, 4].tolist()[:1] * 9 == [0] * 9
