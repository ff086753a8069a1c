"""Tasks drawn by a hash of their ids: the same ones every time and in any order, as many as asked for."""

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate import simulate
from quorate.blocks import kernels
from quorate.blocks.sampling import choose_tasks, folds_by_id, hash_ids, hash_texts, sampled, splitmix64

MASK = 2**64 - 1


def slow(k: int) -> int:
    """splitmix64 of a number."""
    z = (k + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def test_ids_are_hashed_by_the_bytes_of_their_text_and_their_places() -> None:
    texts = ["", "a", "ab", "ça", "x" * 300]
    sums = [sum((byte + 1) * slow(place) for place, byte in enumerate(text.encode())) & MASK for text in texts]
    assert hash_ids(pa.array(texts)).tolist() == [slow(total) for total in sums]


@pytest.mark.skipif(kernels.native is None, reason="the kernels in C were not built")
def test_both_forms_hash_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f"{'é' * (k % 7)}{k}" for k in range(2000)] + [""]).slice(3)
    in_c = hash_ids(texts)
    monkeypatch.setattr(kernels, "native", None)
    monkeypatch.setattr("quorate.blocks.sampling.IDS_AT_ONCE", 99)
    assert np.array_equal(hash_ids(texts), in_c)
    assert hash_texts(np.array([0]), np.zeros(0, np.uint8)).tolist() == []


def test_ids_of_other_types_are_hashed_by_their_text() -> None:
    assert hash_ids(pa.array([0, 5, -1])).tolist() == hash_ids(pa.array(["0", "5", "-1"])).tolist()
    assert hash_ids(pa.array([1.5, 2.0])).tolist() == hash_ids(pa.array(["1.5", "2"])).tolist()
    assert hash_ids(pa.array([True, False])).tolist() == hash_ids(pa.array(["true", "false"])).tolist()


def test_residues_and_halves_are_independent_of_each_other() -> None:
    for mixed in (
        splitmix64(np.arange(100_000, dtype=np.uint64)),
        hash_ids(pa.array([f"t{k}" for k in range(100_000)])),
    ):
        for modulus in (2, 4, 7):
            shares = np.bincount((mixed % np.uint64(modulus)).astype(np.int64)) / len(mixed)
            assert np.abs(shares - 1 / modulus).max() < 0.01
        high = mixed >= np.uint64(2**63)
        assert abs(high[mixed % np.uint64(4) == 0].mean() - 0.5) < 0.01


def test_a_sample_has_at_most_the_answers_asked_for_and_samples_are_nested() -> None:
    answers = simulate.crowd(4000, 20, 5, seed=0).answers
    large, small = choose_tasks(answers, 5000), choose_tasks(answers, 1000)
    assert large is not None
    assert small is not None
    assert answers.per_task[large].sum() == 5000
    assert not (small & ~large).any()
    assert choose_tasks(answers, 20_000) is None
    assert sampled(sampled(answers, 5000), 1000).to_table().to_pylist() == sampled(answers, 1000).to_table().to_pylist()


@pytest.mark.parametrize("n_tasks", [50, 20_000])
def test_those_of_the_least_hashes_are_drawn_as_long_as_they_fit(n_tasks: int) -> None:
    """By sorting all of them: whatever is looked at first, none is left out."""
    task = np.arange(n_tasks)
    rows = {"task": task.tolist(), "worker": (task % 7).tolist(), "label": (task % 2).tolist()}
    answers = quorate.read(rows)
    order = np.argsort(hash_ids(answers.task_names), kind="stable")
    for enough in (1, 5, n_tasks // 300 + 1, n_tasks // 3, n_tasks - 2, n_tasks - 1):
        found = choose_tasks(answers, enough)
        assert found is not None
        assert sorted(np.flatnonzero(found).tolist()) == sorted(order[:enough].tolist())


def test_samples_and_folds_do_not_depend_on_the_order_of_rows() -> None:
    table = simulate.crowd(400, 20, 5, seed=0).answer_table.arrow
    one, other = quorate.read(table), quorate.read(table.take(np.random.default_rng(0).permutation(table.num_rows)))
    tasks = [set(sampled(answers, 500).task_names.to_pylist()) for answers in (one, other)]
    assert tasks[0] == tasks[1]
    folds = [dict(zip(a.task_names.to_pylist(), folds_by_id(a, 4).tolist(), strict=True)) for a in (one, other)]
    assert folds[0] == folds[1]
