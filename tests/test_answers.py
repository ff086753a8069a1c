import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quorate.advice.advise import advise
from quorate.arrays import starts_of
from quorate.diagnostics.diagnose import diagnose
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd
from tests.crowds import answers_of, rows


@given(rows(max_tasks=8), st.integers(0, 255), st.integers(0, 2**30))
def test_a_part_holds_the_chosen_answers_and_nothing_else(
    table: list[tuple[int, str, str]], tasks: int, some: int
) -> None:
    answers = answers_of(table)
    everything = answers.to_table().to_pylist()
    chosen = np.array([bool(tasks >> t & 1) for t in range(answers.n_tasks)])
    only = answers.only(chosen)
    assert only.to_table().to_pylist() == [row for row, t in zip(everything, answers.task, strict=True) if chosen[t]]
    assert (only.n_tasks, only.n_workers, only.n_classes) == (chosen.sum(), answers.n_workers, answers.n_classes)
    kept = np.array([bool(some >> k & 1) for k in range(answers.n_answers)])
    where = answers.where(kept)
    assert where.to_table().to_pylist() == [row for row, k in zip(everything, kept, strict=True) if k]
    assert where.n_tasks == answers.n_tasks


@given(rows(max_tasks=8))
def test_places_and_sums_are_those_of_plain_loops(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    m = answers.n_classes
    triples = list(zip(answers.task.tolist(), answers.worker.tolist(), answers.label.tolist(), strict=True))
    assert answers.cells.tolist() == [t * m + c for t, _, c in triples]
    assert answers.worker_cells.tolist() == [w * m + c for _, w, c in triples]
    for t in range(answers.n_tasks):
        assert set(answers.task[answers.start[t] : answers.start[t + 1]].tolist()) <= {t}
    assert answers.start[-1] == answers.n_answers
    values = np.arange(answers.n_answers) + 1.0
    by_task, by_worker, alike = np.zeros(answers.n_tasks), np.zeros(answers.n_workers), np.zeros(answers.n_workers)
    label = np.arange(answers.n_tasks) % m
    for (t, w, c), value in zip(triples, values, strict=True):
        by_task[t] += value
        by_worker[w] += value
        alike[w] += c == label[t]
    assert answers.by_task(values).tolist() == by_task.tolist()
    assert answers.by_task(np.stack([values, 2 * values], axis=1)).tolist() == [[x, 2 * x] for x in by_task]
    assert answers.by_worker(values).tolist() == by_worker.tolist()
    assert answers.alike(label).tolist() == alike.tolist()


def test_runs_begin_where_the_one_before_ends() -> None:
    assert starts_of(np.array([], np.int64)).tolist() == [0]
    assert starts_of(np.array([3, 0, 1])).tolist() == [0, 3, 3, 4]


def test_a_pickle_has_the_answers_and_not_what_was_computed_from_them() -> None:
    answers = crowd(100, 8, 4, seed=0).answers
    before = pickle.dumps(answers)
    result = aggregate(answers)
    summaries = [diagnose(result).summary(), advise(result, 10).summary()]
    assert pickle.dumps(answers) == before
    loaded = aggregate(pickle.loads(before))
    assert [diagnose(loaded).summary(), advise(loaded, 10).summary()] == summaries
