"""Tables of observed rows: the same sums, scores and fits as tables that are stored in full."""

import pickle
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quorate import simulate
from quorate.arrays import FloatArray
from quorate.blocks.block import Block, added
from quorate.blocks.kernels import e_step, expected_counts, task_scores
from quorate.blocks.memory import memory_blocks
from quorate.blocks.worker_rows import (
    ObservedRows,
    OwnClassRows,
    RowNumbers,
    column_totals,
    dense,
    diagonals,
    is_smaller,
    joined_slices,
    map_parts,
    observed_rows,
    parts,
    rows_at,
    slices_of,
    sum_tables,
)
from quorate.blocks.worker_tables import log_matrices
from quorate.models.confusion import ConfusionModel, LeaveOneOut, fit_matrices
from quorate.models.em import fit_confusion_em

SHAPE = (40, 6, 6)


def a_table(seed: int, share: float) -> ObservedRows:
    """A table of which about such a share of the rows is observed."""
    rng = np.random.default_rng(seed)
    row = np.flatnonzero(rng.random(SHAPE[0] * SHAPE[1]) < share).astype(np.int32)
    return ObservedRows(row, rng.random((len(row), SHAPE[2])), SHAPE)


def few_answers() -> Block:
    """A crowd in which most pairs of a worker and a label do not occur."""
    crowd = simulate.crowd(60, SHAPE[0], 3, n_classes=SHAPE[1], seed=0)
    return memory_blocks(crowd.answers).all_tasks


def log_theta() -> FloatArray:
    matrices = np.random.default_rng(1).random(SHAPE) + 0.1
    logs: FloatArray = np.log(matrices / matrices.sum(axis=1, keepdims=True))
    return logs


def in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.blocks.worker_rows.is_smaller", lambda n_observed, shape: False)


def test_an_e_step_over_few_answers_stores_only_what_they_observe(monkeypatch: pytest.MonkeyPatch) -> None:
    block = few_answers()
    counts, *totals = e_step([block], log_theta(), np.zeros(SHAPE[1]), True, True)
    assert isinstance(counts, ObservedRows)
    assert set(counts.row.tolist()) == set((block.worker * SHAPE[1] + block.label).tolist())
    in_full(monkeypatch)
    full, *full_totals = e_step([block], log_theta(), np.zeros(SHAPE[1]), True, True)
    assert isinstance(full, np.ndarray)
    assert dense(counts).tolist() == full.tolist()
    assert [total.tolist() for total in totals] == [total.tolist() for total in full_totals]


def test_scores_by_observed_rows_are_those_by_the_full_table() -> None:
    block = few_answers()
    full = log_theta()
    numbers = observed_rows([block], SHAPE)
    assert isinstance(numbers, RowNumbers)
    table = ObservedRows(numbers.observed, rows_at(full, numbers.observed), SHAPE)
    expected = task_scores(block, full, np.zeros(SHAPE[1]))
    assert task_scores(block, table, np.zeros(SHAPE[1])).tolist() == expected.tolist()
    own = OwnClassRows(np.einsum("wcc->wc", full).copy())
    expected = task_scores(block, dense(own), np.zeros(SHAPE[1]))
    assert task_scores(block, own, np.zeros(SHAPE[1])).tolist() == expected.tolist()


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_sums_are_those_of_full_tables_in_the_form_that_takes_fewer_bytes(share: float) -> None:
    tables = [a_table(seed, share) for seed in range(3)]
    expected = sum(dense(table) for table in tables)
    for total in (sum_tables(tables), *added((table,) for table in tables)):
        np.testing.assert_allclose(dense(total), expected, rtol=1e-14)
        n_observed = int((dense(total).sum(axis=2) > 0).sum())
        assert isinstance(total, ObservedRows) == is_smaller(n_observed, SHAPE)
    (mixed,) = added([(tables[0],), (dense(tables[1]),), (tables[2],)])
    np.testing.assert_allclose(mixed, expected, rtol=1e-14)


@pytest.mark.parametrize("full", range(5))
def test_a_full_table_is_added_wherever_it_comes(full: int) -> None:
    """Four tables of the same half of the rows take more bytes than a full one, so that they are added up before."""
    observed = a_table(0, 0.5)
    full_table = dense(a_table(1, 1.0))
    (total,) = added((full_table if k == full else observed,) for k in range(5))
    np.testing.assert_allclose(total, 4 * dense(observed) + full_table, rtol=1e-14)


def test_many_tables_are_added_up_before_they_take_more_bytes_than_a_full_one(monkeypatch: pytest.MonkeyPatch) -> None:
    most = []

    def noted(tables: list[ObservedRows]) -> FloatArray | ObservedRows:
        most.append(sum(table.nbytes for table in tables))
        return sum_tables(tables)

    monkeypatch.setattr("quorate.blocks.block.sum_tables", noted)
    tables = [a_table(seed, 0.2) for seed in range(60)]
    (total,) = added((table,) for table in tables)
    np.testing.assert_allclose(dense(total), sum(dense(table) for table in tables), rtol=1e-13)
    assert max(most) < 3 * 8 * np.prod(SHAPE)


@pytest.mark.parametrize("share", [0.05, 0.9])
@pytest.mark.parametrize("n", [1, 7])
def test_slices_of_a_table_of_either_form_join(share: float, n: int) -> None:
    observed, full = a_table(0, share), dense(a_table(1, share))
    for table in (observed, full):
        np.testing.assert_array_equal(dense(joined_slices(slices_of(table, n), SHAPE)), dense(table))
    both = [added([(one,), (two,)])[0] for one, two in zip(slices_of(observed, n), slices_of(full, n), strict=True)]
    np.testing.assert_allclose(dense(joined_slices(both, SHAPE)), dense(observed) + full)


@pytest.mark.parametrize("n", [1, 3])
def test_slices_of_one_class_join(n: int) -> None:
    shape = (6, 1, 1)
    observed = ObservedRows(np.array([1, 4], dtype=np.int32), np.array([[2.0], [3.0]]), shape)
    full = np.arange(6.0).reshape(shape)
    both = [added([(one,), (two,)])[0] for one, two in zip(slices_of(observed, n), slices_of(full, n), strict=True)]
    np.testing.assert_array_equal(dense(joined_slices(both, shape)), dense(observed) + full)


def test_parts_and_changes_are_those_of_the_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.arrays.CELLS", 100)  # three workers at a time
    table = a_table(0, 0.3)
    pieces = list(parts(table))
    assert len(pieces) > 5
    np.testing.assert_array_equal(np.concatenate([part for _, part in pieces]), dense(table))
    order = np.array([2, 0, 1, 5, 3, 4])
    back = np.argsort(order)
    np.testing.assert_array_equal(dense(table.renamed(order)), dense(table)[:, back][:, :, back])
    shifts = np.arange(SHAPE[0], dtype=float)
    shifted = map_parts(lambda part, workers: part + shifts[workers, None, None], table)
    expected = (dense(table) + shifts[:, None, None]).reshape(-1, SHAPE[2])[table.row]
    assert isinstance(shifted, ObservedRows)
    np.testing.assert_array_equal(shifted.values, expected)


@pytest.mark.parametrize("stored", ["observed", "full"])
def test_an_e_step_does_not_hold_all_blocks_of_many_answers(stored: str) -> None:
    """Blocks may be read, or changed, one after another; together they have 50 times as many answers as rows."""
    tasks = memory_blocks(simulate.crowd(600, 10, 4, n_classes=3, seed=0).answers).all_tasks
    theta = np.full((10, 3, 3), 1 / 3)
    read: list[weakref.ref[Block]] = []
    most = 0

    def blocks() -> Iterator[Block]:
        nonlocal most
        for block in tasks.pieces(40):
            copy = replace(block)
            read.append(weakref.ref(copy))
            most = max(most, sum(block() is not None for block in read))
            yield copy
            del copy

    log_theta = ObservedRows(np.arange(30, dtype=np.int32), np.log(theta).reshape(-1, 3), theta.shape)
    counts = e_step(blocks(), log_theta if stored == "observed" else np.log(theta), np.zeros(3))[0]
    assert dense(counts).sum() == pytest.approx(tasks.start[-1])
    (counts,) = expected_counts((replace(block, first=0) for block in blocks()), np.full((600, 3), 1 / 3))
    assert dense(counts).sum() == pytest.approx(tasks.start[-1])
    assert len(read) > 60
    assert most <= 3


def models(block: Block) -> tuple[ConfusionModel, ConfusionModel]:
    """The model fitted to expected counts of which the observed rows are stored, and to all."""
    posterior = np.random.default_rng(2).dirichlet(np.ones(SHAPE[1]), block.n_tasks)
    (counts,) = expected_counts([block], posterior)
    assert isinstance(counts, ObservedRows)
    totals = posterior.sum(axis=0)
    relative_error = np.linspace(0.5, 2, SHAPE[0])
    return fit_matrices(counts, totals, relative_error), fit_matrices(dense(counts), totals, relative_error)


def test_a_model_of_observed_rows_is_that_of_the_full_table() -> None:
    block = few_answers()
    model, full = models(block)
    assert model.concentration == pytest.approx(full.concentration, rel=1e-12)
    np.testing.assert_allclose(model.theta(), full.theta(), rtol=1e-12)
    np.testing.assert_allclose(model.scores(block), full.scores(block), rtol=1e-12)
    worker, class_ = np.repeat(np.arange(SHAPE[0]), SHAPE[1]), np.tile(np.arange(SHAPE[1]), SHAPE[0])
    np.testing.assert_allclose(
        model.answer_probabilities(worker, class_), full.answer_probabilities(worker, class_), rtol=1e-12
    )
    order = np.array([2, 0, 1, 5, 3, 4])
    np.testing.assert_allclose(model.renamed(order).theta(), full.renamed(order).theta(), rtol=1e-12)
    without_own = LeaveOneOut(full, full).scores(block)
    np.testing.assert_allclose(LeaveOneOut(model, model).scores(block), without_own, rtol=1e-9)


def test_a_model_is_sent_without_its_matrices() -> None:
    block = few_answers()
    model, full = models(block)
    for form in (model, full):
        form.scores(block)  # which makes the matrices
        assert len(pickle.dumps(form)) < form.counts.nbytes + 8 * (SHAPE[0] + SHAPE[1] ** 2) + 2000
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(form)).scores(block), form.scores(block))


def test_threads_that_start_together_make_the_matrices_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From Python 3.12 on, `cached_property` alone would let each of them make its own."""
    model, _ = models(few_answers())
    n_made = 0

    def slowly(*given: Any) -> FloatArray:
        nonlocal n_made
        n_made += 1
        time.sleep(0.05)
        return log_matrices(*given)

    monkeypatch.setattr("quorate.models.confusion.log_matrices", slowly)
    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda _: model.log_theta, range(4)))
    assert n_made == 1
    assert all(table is tables[0] for table in tables)


@pytest.mark.parametrize("zeros", ["exact", "skip"])
def test_em_of_observed_rows_is_that_of_full_tables(zeros: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = memory_blocks(simulate.crowd(60, SHAPE[0], 3, n_classes=SHAPE[1], seed=0).answers)
    fit = fit_confusion_em(blocks, zeros=zeros, class_prior=True)
    assert isinstance(fit.log_theta, ObservedRows)
    in_full(monkeypatch)
    full = fit_confusion_em(blocks, zeros=zeros, class_prior=True)
    assert isinstance(full.log_theta, np.ndarray)
    np.testing.assert_allclose(fit.accuracy, full.accuracy, rtol=1e-12)
    np.testing.assert_allclose(fit.log_likelihoods, full.log_likelihoods, rtol=1e-12)
    assert fit.converged == full.converged
    np.testing.assert_allclose(fit.log_prior, full.log_prior, rtol=1e-12)


def test_totals_and_diagonals_of_observed_rows_are_those_of_the_full_table() -> None:
    for share in (0.0, 0.3, 1.0):
        table = a_table(7, share)
        np.testing.assert_allclose(column_totals(table), column_totals(dense(table)), atol=1e-12)
        np.testing.assert_array_equal(diagonals(table), diagonals(dense(table)))
