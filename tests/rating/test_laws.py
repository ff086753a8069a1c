"""Laws of the fit: invariance, starts, raters of each kind, coverage."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from experiments.rating.data import KINDS, concentrated

import quorate
from quorate.arrays import FloatArray
from quorate.blocks.block import Block
from quorate.blocks.memory import MemoryBlocks
from quorate.io.scores import read_scores
from quorate.rating.fit import fit, rank_one, start_values
from quorate.rating.hyperparameters import panel_weights, to_panel_scale
from quorate.rating.passes import BY_RATER
from quorate.rating.rate import _design
from quorate.rating.scores import ScoreBlocks, score_blocks
from tests.rating.crowds import crowd, in_order, table

COLUMNS = ("score", "se", "score_low", "score_high", "disagreement")
LINES = ("bias", "scale", "noise", "weight", "bias_se", "scale_se")


def test_order_of_rows_and_names_do_not_matter() -> None:
    rows = crowd(1, n_tasks=80, n_raters=15)
    task, rater, score, _ = rows
    first = quorate.rate(table(rows))
    order = np.random.default_rng(0).permutation(len(task))
    renamed = {"task": 1000 - task[order], "worker": 500 - rater[order], "score": score[order]}
    second = quorate.rate(renamed)
    for column in COLUMNS:
        np.testing.assert_allclose(in_order(first, column), in_order(second, column)[::-1], atol=1e-9)
    for column in LINES:
        np.testing.assert_allclose(
            in_order(first, column, "workers"), in_order(second, column, "workers")[::-1], atol=1e-9
        )


@pytest.mark.parametrize(("factor", "shift"), [(3.0, 10.0), (0.01, -5.0), (1e4, 1e6)])
def test_result_follows_the_unit_of_the_scores(factor: float, shift: float) -> None:
    rows = crowd(2, n_tasks=80, n_raters=15)
    task, rater, score, _ = rows
    plain = quorate.rate(table(rows))
    moved = quorate.rate({"task": task, "worker": rater, "score": factor * score + shift})
    tolerance = 1e-7 * factor
    np.testing.assert_allclose(in_order(moved, "score"), factor * in_order(plain, "score") + shift, atol=tolerance)
    np.testing.assert_allclose(in_order(moved, "se"), factor * in_order(plain, "se"), atol=tolerance)
    for column in ("bias", "noise"):
        np.testing.assert_allclose(
            in_order(moved, column, "workers"), factor * in_order(plain, column, "workers"), atol=tolerance
        )
    for column in ("scale", "weight"):
        np.testing.assert_allclose(in_order(moved, column, "workers"), in_order(plain, column, "workers"), atol=1e-8)
    assert plain.reliability.consistency_one == pytest.approx(moved.reliability.consistency_one, abs=1e-9)


def _rank_one_table(levels: FloatArray) -> ScoreBlocks:
    """A full panel whose residuals have exactly the covariance b b' off the diagonal: one row per task."""
    n_tasks, n_raters = levels.shape
    values, label = np.unique(levels.ravel(), return_inverse=True)
    start = np.arange(n_tasks + 1) * n_raters
    worker = np.tile(np.arange(n_raters), n_tasks)
    block = Block(start, worker, label, n_raters, len(values))
    raters = np.arange(n_raters)
    names = pa.array(raters)
    return ScoreBlocks(MemoryBlocks(block), values, lambda: pa.array(range(n_tasks)), names, raters, BY_RATER)


def test_rank_one_completion_is_exact_on_exact_covariances() -> None:
    scale = np.array([1.5, 0.5, 1.0, -0.4, 0.8])
    rng = np.random.default_rng(3)
    # q and the noises are orthonormal over 16 tasks, so sample covariances are exact.
    basis, _ = np.linalg.qr(np.column_stack([np.ones(16), rng.normal(size=(16, 6))]))
    q = basis[:, 1] * 4
    noise = basis[:, 2:] * 4 * np.array([0.3, 1.0, 0.2, 0.7, 0.5])
    levels = q[:, None] * scale + noise
    scores = _rank_one_table(levels)
    found = rank_one(scores, np.zeros(5), sweeps=5000, tolerance=1e-15, ridge=0.0)
    assert found is not None
    np.testing.assert_allclose(found * scores.unit, scale, atol=1e-12)


def test_start_does_not_matter() -> None:
    scores = score_blocks(read_scores(table(crowd(4, n_tasks=150, n_raters=20))))
    design = _design(scores, same_scale=False)
    usual = fit(scores, design, passes=300, tol=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(3):
        start = start_values(scores, design)
        line = start.line + 0.5 * rng.normal(size=start.line.shape)
        shifted = replace(start, line=line, variance=start.variance * rng.uniform(0.3, 3))
        found = fit(scores, design, passes=300, tol=1e-7, start=shifted)
        np.testing.assert_allclose(found.raters.line, usual.raters.line, atol=1e-4)


@pytest.mark.parametrize("seed", [5, 11, 12, 306])
def test_rater_at_random_hardly_moves_scores(seed: int) -> None:
    rows = crowd(seed)
    task, rater, score, _ = rows
    before = quorate.rate(table(rows))
    rng = np.random.default_rng(1)
    with_random = {
        "task": np.append(task, np.arange(300)),
        "worker": np.append(rater, np.full(300, 99)),
        "score": np.append(score, score.mean() + score.std() * rng.normal(size=300)),
    }
    after = quorate.rate(with_random)
    weight = dict(zip(after.workers["worker"].to_pylist(), after.workers["weight"].to_pylist(), strict=True))
    assert weight[99] < 0.01
    moved = np.abs(in_order(after, "score") - in_order(before, "score")) / in_order(before, "se")
    # The random scores correlate with the truth by chance, up to .1.
    assert moved.max() < 0.25


def test_constant_rater_has_no_weight() -> None:
    task, rater, score, _ = crowd(6, n_tasks=100, n_raters=10)
    rows = {
        "task": np.append(task, np.arange(100)),
        "worker": np.append(rater, np.full(100, 99)),
        "score": np.append(score, np.full(100, 0.5)),
    }
    workers = quorate.rate(rows).workers.to_pylist()
    constant = next(row for row in workers if row["worker"] == 99)
    assert abs(constant["scale"]) < 0.1
    assert constant["weight"] < 0.01
    assert constant["status"] == "uninformative"


def test_reversed_rater_is_found_and_used() -> None:
    task, rater, score, q = crowd(7, n_tasks=100, n_raters=10, per_task=4)
    rows = {
        "task": np.append(task, np.arange(100)),
        "worker": np.append(rater, np.full(100, 99)),
        "score": np.append(score, -q),
    }
    found = quorate.rate(rows)
    row = next(row for row in found.workers.to_pylist() if row["worker"] == 99)
    assert row["status"] == "reversed"
    assert row["scale"] < 0
    assert row["weight"] > 0.5
    without = quorate.rate({"task": task, "worker": rater, "score": score})
    assert np.corrcoef(in_order(found, "score"), q)[0, 1] > np.corrcoef(in_order(without, "score"), q)[0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_on_simulated_crowds(kind: str) -> None:
    covered = []
    for seed in range(6):
        rows = crowd(100 + seed, **KINDS[kind])
        found = quorate.rate(table(rows))
        truth = rows[3]
        if "points" in KINDS[kind] or "skewed" in KINDS[kind]:
            truth = np.clip(truth, rows[2].min(), rows[2].max())  # a true score lies on the scale
        score, low, high = (in_order(found, name) for name in ("score", "score_low", "score_high"))
        moved = truth + np.mean(score - truth)  # the level is the panel's, as no gold is given
        covered.append(np.mean((low <= moved) & (moved <= high)))
    # 6 crowds of 300 tasks; the standard error of a coverage of .96 is about .005, and .01 between crowds.
    assert 0.92 <= np.mean(covered) <= 0.99


def test_extreme_scores_carry_the_uncertainty_of_the_unit() -> None:
    # The unit is the mean scale of 8 raters: repeated panels put an extreme task at 1 ± .1 times its distance.
    distances = []
    stated = []
    for seed in range(20):
        task, rater, score, q = crowd(400 + seed, n_tasks=100, n_raters=8, per_task=8)
        found = quorate.rate({"task": task, "worker": rater, "score": score}).tasks
        far = int(np.abs(q - q.mean()).argmax())
        distances.append((found.score[far] - found.score.mean()) / (q[far] - q.mean()))
        stated.append(found.se[far] / abs(q[far] - q.mean()))
    assert np.std(distances) < 1.3 * np.mean(stated)  # 20 panels: a standard deviation is known to 16 %


def test_rate_is_better_than_a_mean_on_every_kind() -> None:
    for kind, options in KINDS.items():
        better = 0.0
        for seed in range(3):
            rows = crowd(200 + seed, **options)
            task, _, score, truth = rows
            mean = np.bincount(task, score) / np.bincount(task)
            ours = np.corrcoef(in_order(quorate.rate(table(rows)), "score"), truth)[0, 1]
            better += ours - np.corrcoef(mean, truth)[0, 1]
        assert better > 0, kind


@pytest.mark.parametrize("at_zero", [0.6, 0.85])
def test_small_crowds_with_scores_at_one_end_converge_or_hold_their_scales(at_zero: float) -> None:
    for seed in range(6):
        task, rater, score, _ = crowd(300 + seed, n_tasks=100, n_raters=38, per_task=3)
        score = np.clip(np.round((score - np.quantile(score, at_zero)) * 8) * 5, 0, 100)
        found = quorate.rate({"task": task, "worker": rater, "score": score})
        assert found.status == "converged"
        assert "mean" in found.scores.column_names  # the plain mean is beside a concentrated scale
        assert any(note.kind == "scores-at-one-end" for note in found.notes)


def test_too_few_passes_are_stated_and_the_mean_is_shown() -> None:
    rows = crowd(8, n_tasks=60, n_raters=10)
    found = quorate.rate(table(rows), passes=3)
    assert found.status == "not converged"
    assert "did not converge" in found.summary()
    mean = np.bincount(rows[0], rows[2]) / np.bincount(rows[0])
    np.testing.assert_allclose(in_order(found, "mean"), mean)


def test_panel_scale_changes_no_predicted_answer() -> None:
    scores = score_blocks(read_scores(table(crowd(14, n_tasks=60, n_raters=12))))
    design = _design(scores, same_scale=False)
    fitted = fit(scores, design, passes=300, tol=1e-4).raters
    bias, scale = fitted.line
    moved = replace(fitted, line=np.stack([bias + 0.3 * scale + 0.2, 1.4 * scale]))
    panel = to_panel_scale(moved, design)
    np.testing.assert_allclose(panel.line[0] + panel.line[1] * panel.mean, moved.line[0] + moved.line[1] * moved.mean)
    np.testing.assert_allclose(panel.line[1] ** 2 * panel.variance, moved.line[1] ** 2 * moved.variance)
    weight = panel_weights(panel, design)
    assert weight @ panel.line[0] == pytest.approx(0, abs=1e-9)
    assert weight @ panel.line[1] == pytest.approx(weight.sum())


def test_intervals_at_the_ends_of_the_scale_are_not_the_narrowest() -> None:
    narrowest = []
    for seed in range(4):
        found = quorate.rate(table(crowd(500 + seed, points=5, per_task=6))).tasks
        distance = np.abs(found.score - 3)
        is_end = distance > np.quantile(distance, 0.85)
        is_middle = distance < np.quantile(distance, 0.5)
        narrowest.append(np.median(found.se[is_end]) / np.median(found.se[is_middle]))
    assert np.mean(narrowest) > 0.97


@pytest.mark.parametrize("seed", [603, 604, 605])
def test_near_constant_raters_do_not_remove_the_differences_of_tasks(seed: int) -> None:
    # 85 % of the answers are 0. By expectation steps alone the task variance falls to the smallest one allowed, .001.
    answers, _ = concentrated(seed, per_task=5, at_zero=0.85)
    scores = score_blocks(answers.scores())
    fitted = fit(scores, _design(scores, same_scale=False), passes=300, tol=1e-4)
    assert fitted.raters.variance > 0.02


def test_converged_fit_is_near_the_limit_of_the_passes() -> None:
    scores = score_blocks(read_scores(table(crowd(15, n_tasks=100, n_raters=20, per_task=3))))
    design = _design(scores, same_scale=False)
    usual = fit(scores, design, passes=300, tol=1e-4)
    limit = fit(scores, design, passes=300, tol=1e-9)
    np.testing.assert_allclose(usual.raters.line, limit.raters.line, atol=1e-3)


def test_intervals_of_correlated_errors_are_widened() -> None:
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(700 + seed)
        truth = rng.normal(size=150)
        shared = 0.7 * rng.normal(size=(3, 150))
        y = truth + shared[np.repeat(np.arange(3), 3)] + 0.5 * rng.normal(size=(9, 150))
        rows = {"task": np.tile(np.arange(150), 9), "worker": np.repeat(np.arange(9), 150), "score": y.ravel()}
        found = quorate.rate(rows).tasks
        moved = truth + np.mean(found.score - truth)
        covered.append(np.mean((found.low <= moved) & (moved <= found.high)))
    assert np.mean(covered) > 0.85  # 0.6 to 0.7 if errors were independent


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_small_panels_of_little_noise_keep_their_order(noise: float) -> None:
    rng = np.random.default_rng(9)
    for _ in range(12):
        n_tasks, n_raters = int(rng.integers(4, 9)), int(rng.integers(3, 5))
        q = 2 * rng.normal(size=n_tasks)
        y = q[:, None] + rng.normal(size=n_raters) + noise * rng.normal(size=(n_tasks, n_raters))
        rows = {
            "task": np.repeat(np.arange(n_tasks), n_raters),
            "worker": np.tile(np.arange(n_raters), n_tasks),
            "score": y.ravel(),
        }
        found = quorate.rate(rows)
        assert found.status == "converged"
        assert np.corrcoef(found.tasks.score, y.mean(axis=1))[0, 1] > 0.97
