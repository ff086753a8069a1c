"""The pass: numpy and C against a naive double loop; blocks of any size."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.blocks import kernels, memory
from quorate.blocks.block import Block
from quorate.rating import passes
from quorate.rating.passes import BY_ANSWER, BY_GROUP, BY_RATER, CrowdParameters, rating_sums, task_posteriors
from tests.rating.crowds import crowd, in_order, table

NATIVE = kernels.native
FORMS = ["numpy", *(["C"] if NATIVE is not None else [])]


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(kernels, "native", NATIVE if request.param == "C" else None)
    return str(request.param)


def one_posterior(
    numbers: Any, y: list[float], cell: list[int], lines: Any, variances: Any, without: int | None
) -> tuple[float, float]:
    mean, prior, _, _, rho, _ = numbers
    p, h = prior, mean * prior
    for i in range(len(y)):
        if without is None or cell[i] != cell[without]:
            thin = 1 / (1 + rho * (cell.count(cell[i]) - 1))
            p += thin * lines[i][1] ** 2 / variances[i]
            h += thin * lines[i][1] * (y[i] - lines[i][0]) / variances[i]
    return h / p, 1 / p


def naive(block: Block, values: Any, raters: Any, numbers: Any, group: Any, cells: int) -> tuple[Any, Any, Any]:
    """Every posterior formed anew for every answer, by loops."""
    mean, _, least11, least22, _, is_first = numbers
    sums = np.zeros((len(raters), 8))
    totals = np.zeros(10)
    out = []
    for t in range(block.n_tasks):
        span = range(int(block.start[t]), int(block.start[t + 1]))
        who = [int(block.worker[k]) for k in span]
        y = [float(values[block.label[k]]) for k in span]
        cell = {BY_RATER: who, BY_GROUP: [int(group[w]) for w in who], BY_ANSWER: list(range(len(who)))}[cells]
        stand = [(raters[w, 0], raters[w, 1]) for w in who]
        noise = [raters[w, 2] for w in who]
        lines, wide = [], []
        for i, w in enumerate(who):
            m, v = one_posterior(numbers, y, cell, stand, noise, i)
            precision = np.array([[raters[w, 3], raters[w, 4]], [raters[w, 4], raters[w, 5]]])
            shift = raters[w, 6:8].copy()
            d = noise[i] + stand[i][1] ** 2 * v
            sums[w, :5] += [1 / d, m / d, m * m / d, y[i] / d, y[i] * m / d]
            if not is_first:
                x = np.array([1.0, m])
                precision = precision - np.outer(x, x) / d
                shift = shift - x * y[i] / d
                precision[0, 0] = max(precision[0, 0], least11)
                precision[1, 1] = max(precision[1, 1], least22)
            covariance = np.linalg.inv(precision)
            lines.append(tuple(covariance @ shift))
            x = np.array([1.0, m])
            wide.append(noise[i] + max(x @ covariance @ x, 0.0))
        task_mean, task_variance = one_posterior(numbers, y, cell, lines, wide, None)
        ratio = density = 0.0
        errors: dict[int, list[float]] = {}
        fits: dict[int, list[float]] = {}
        for i, w in enumerate(who):
            m, v = one_posterior(numbers, y, cell, lines, wide, i)
            error = y[i] - lines[i][0] - lines[i][1] * m
            predictive = wide[i] + lines[i][1] ** 2 * v
            part = noise[i] / predictive
            square = part**2 * error**2 + part * (predictive - noise[i])
            sums[w, 5:] += [square, error**2, error**4]
            ratio += square / noise[i]
            density -= 0.5 * (np.log(2 * np.pi * predictive) + error**2 / predictive)
            errors.setdefault(cell[i], []).append(error / noise[i] ** 0.5)
            fits.setdefault(cell[i], []).append(lines[i][1] * v**0.5 / noise[i] ** 0.5)
        for i in range(len(who)):
            for j in range(len(who)):
                if cell[i] != cell[j]:
                    r = [(y[k] - stand[k][0] - stand[k][1] * mean) * stand[k][1] for k in (i, j)]
                    totals[4] += r[0] * r[1]
                    totals[5] += (stand[i][1] * stand[j][1]) ** 2
        for c, e in errors.items():
            totals[6] += sum(e) ** 2 - sum(x * x for x in e)
            totals[7] += sum(fits[c]) ** 2 - sum(x * x for x in fits[c])
            totals[8] += len(e) * (len(e) - 1)
        if who:
            totals[:4] += [len(who) * task_mean, task_mean, task_mean**2, task_variance]
        totals[9] += density
        out.append([task_mean, task_variance, ratio])
    return sums, totals, np.array(out)


def example(seed: int, repeats: bool) -> tuple[Block, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    n_raters, n_values = 7, 300 if seed % 2 else 9  # wide and narrow labels
    workers = []
    for _ in range(12):
        some = rng.choice(n_raters, rng.integers(0, 6), replace=repeats)
        workers.append(np.sort(some))
    start = np.concatenate([[0], np.cumsum([len(each) for each in workers])])
    worker = np.concatenate(workers).astype(np.int32)
    block = Block(start, worker, rng.integers(0, n_values, len(worker)), n_raters, n_values)
    raters = np.column_stack(
        [
            0.3 * rng.normal(size=n_raters),
            1 + 0.3 * rng.normal(size=n_raters),
            rng.uniform(0.2, 1.5, n_raters),
            rng.uniform(8, 12, n_raters),
            rng.normal(size=n_raters),
            rng.uniform(20, 30, n_raters),
            rng.normal(size=n_raters),
            rng.uniform(20, 30, n_raters),
        ]
    )
    return block, rng.normal(size=n_values), raters, rng.integers(0, 3, n_raters)


@pytest.mark.parametrize("cells", [BY_RATER, BY_GROUP, BY_ANSWER])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_pass_equals_the_naive_loops(form: str, cells: int, is_first: bool, seed: int) -> None:
    block, values, raters, group = example(seed, repeats=cells != BY_ANSWER)
    numbers = CrowdParameters(0.1, 0.8, 0.2, 0.1, 0.3, is_first).numbers()
    sums, totals, posteriors = naive(block, values, raters, numbers, group, cells)
    found, found_totals = rating_sums([block], values, raters, numbers, group, cells)
    np.testing.assert_allclose(found, sums, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found_totals[:9], totals[:9], rtol=1e-11, atol=1e-11)
    tasks, density = task_posteriors(block, values, raters, numbers, group, cells)
    np.testing.assert_allclose(tasks, posteriors, rtol=1e-11, atol=1e-12)
    assert density == pytest.approx(totals[9], rel=1e-11)


@pytest.mark.skipif(NATIVE is None, reason="the extension was not built")
def test_kernel_in_c_equals_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(crowd(9, n_tasks=150, n_raters=20, points=5))
    ours = quorate.rate(rows)
    monkeypatch.setattr(kernels, "native", None)
    theirs = quorate.rate(rows)
    assert ours.passes == theirs.passes
    for column in ("score", "se", "score_low"):
        np.testing.assert_allclose(in_order(ours, column), in_order(theirs, column), rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(NATIVE is None, reason="the extension was not built")
def test_one_pass_in_c_equals_numpy_to_1e_12(monkeypatch: pytest.MonkeyPatch) -> None:
    block, values, raters, group = example(3, repeats=True)
    numbers = CrowdParameters(0.1, 0.8, 0.2, 0.1, 0.3).numbers()
    for cells in (BY_RATER, BY_GROUP, BY_ANSWER):
        monkeypatch.setattr(kernels, "native", NATIVE)
        ours = rating_sums([block], values, raters, numbers, group, cells)
        monkeypatch.setattr(kernels, "native", None)
        theirs = rating_sums([block], values, raters, numbers, group, cells)
        for one, two in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_blocks_of_any_size_give_the_same(form: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    task, rater, score, _ = crowd(10, n_tasks=60, n_raters=10)
    gold = {int(t): float(s) for t, s in zip(task[::10], score[::10], strict=True)}
    group = {int(r): int(r) % 4 for r in np.unique(rater)}
    rows = {"task": task, "worker": rater, "score": score}
    in_one_block = quorate.rate(rows, gold=gold, group=group)
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
    monkeypatch.setattr(passes, "PIECE_ANSWERS", piece)
    parts = quorate.rate(rows, gold=gold, group=group)
    for column in ("score", "se"):
        np.testing.assert_allclose(in_order(in_one_block, column), in_order(parts, column), atol=1e-9)
