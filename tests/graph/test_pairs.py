from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.arrays import BoolArray
from quorate.graph import pairs as pairs_module
from quorate.graph.pairs import (
    PairStats,
    answer_pairs,
    correlations,
    drop_weak,
    n_answer_pairs,
    pair_stats,
    too_many_pairs,
)
from tests.crowds import answers_of, rows

Counts = dict[tuple[int, int], tuple[int, int]]


def naive(answers: Answers) -> Counts:
    """Count pairs with a double loop over each task."""
    counts: Counts = {}
    for task in range(answers.n_tasks):
        given = [(w, c) for t, w, c in zip(answers.task, answers.worker, answers.label, strict=True) if t == task]
        for (one, label), (two, other_label) in combinations(sorted(given), 2):
            shared, agreed = counts.get((one, two), (0, 0))
            counts[one, two] = (shared + 1, agreed + int(label == other_label))
    return counts


def as_dict(pairs: PairStats) -> Counts:
    columns = (pairs.i.tolist(), pairs.j.tolist(), pairs.shared.tolist(), pairs.agreed.tolist())
    return {(i, j): (shared, agreed) for i, j, shared, agreed in zip(*columns, strict=True)}


@given(rows())
def test_the_counts_equal_a_naive_double_loop(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    assert as_dict(pair_stats(answers)) == naive(answers)
    assert n_answer_pairs(answers) == sum(shared for shared, _ in naive(answers).values())


@given(rows(), st.integers(1, 7))
def test_counting_in_chunks_changes_nothing(table: list[tuple[int, str, str]], chunk: int) -> None:
    answers = answers_of(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "CHUNK_PAIRS", chunk)
        assert as_dict(pair_stats(answers)) == naive(answers)
        assert sum(len(first) for first, _ in answer_pairs(answers)) == n_answer_pairs(answers)


@given(rows(), st.integers(1, 40), st.sampled_from([0, 1 << 20]))
def test_a_table_of_all_pairs_in_bands_changes_nothing(
    table: list[tuple[int, str, str]], band: int, most_cells: int
) -> None:
    """The table of all pairs is counted in C, if that was built; without it, the answer pairs are sorted."""
    answers = answers_of(table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "BAND_CELLS", band)
        patch.setattr(pairs_module, "MAX_CELLS_PER_ANSWER_PAIR", most_cells)
        pairs = pair_stats(answers)
    assert as_dict(pairs) == naive(answers)
    assert list(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)) == sorted(naive(answers))


@given(rows(max_tasks=10), st.integers(0, 10))
def test_statistics_of_two_sets_of_tasks_add_up(table: list[tuple[int, str, str]], cut: int) -> None:
    answers = answers_of(table)

    def part(chosen: BoolArray) -> PairStats:
        names = (answers.task_names, answers.worker_names, answers.classes)
        return pair_stats(Answers(answers.task[chosen], answers.worker[chosen], answers.label[chosen], *names))

    first = answers.task < cut
    assert as_dict(part(first) + part(~first)) == as_dict(pair_stats(answers))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_correlations_are_unbiased_for_the_product_of_skills(n_classes: int) -> None:
    skills = np.array([0.8, 0.5, -1 / (n_classes - 1) / 2])
    crowd = simulate.crowd(40_000, 3, 3, n_classes=n_classes, skills=skills, seed=n_classes)
    pairs = pair_stats(crowd.answers)
    # An entry has a standard deviation of at most 1/sqrt(40,000) = 0.005; five of them leave one failure in 10^6.
    assert correlations(pairs, n_classes) == pytest.approx(skills[pairs.i] * skills[pairs.j], abs=0.025)


def test_the_threshold_drops_spammers_and_keeps_the_skilled() -> None:
    skills = np.array([0.9, 0.8, 0.7, 0.0, 0.0])
    answers = simulate.crowd(2000, 5, 5, skills=skills, seed=0).answers
    kept = drop_weak(pair_stats(answers), 2, 5, delta=0.05)
    assert set(kept.i.tolist()) | set(kept.j.tolist()) == {0, 1, 2}
    assert len(kept) == 3


def test_a_task_that_thousands_answered_has_too_many_pairs_before_any_is_counted() -> None:
    n = 5_000
    one = quorate.read({"task": [1] * n, "worker": range(n), "label": [k % 2 for k in range(n)]})
    assert "12,497,500 pairs" in str(too_many_pairs(one))


def test_many_answers_by_few_workers_have_few_pairs() -> None:
    n = 3_000
    each = quorate.read(
        {"task": np.repeat(range(n), 60), "worker": np.tile(range(60), n), "label": np.arange(60 * n) % 3}
    )
    assert n_answer_pairs(each) > 5_000_000
    assert too_many_pairs(each) is None
