import datetime
from typing import Any

import numpy as np
import pytest

from quorate.errors import BlankFieldError, ColumnTypeError
from quorate.io.read import read
from quorate.io.timestamps import read_times

TABLE = {"task": ["t1", "t1", "t2"], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}


@pytest.mark.parametrize(
    "times",
    [
        [3, 1, 2],
        [3.5, -1.0, 2.0],
        ["30", "4", "12"],
        ["2024-05-03", "2024-05-01", "2024-05-02"],
        ["2024-05-01 12:30:00", "2024-05-01 11:30:00", "2024-05-01 12:29:59"],
        ["2024-05-01T12:00:00+02:00", "2024-05-01T08:00:00Z", "2024-05-01T09:00:00Z"],
        [datetime.date(2024, 5, 3), datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)],
    ],
)
def test_times_of_every_kind_are_put_in_order(times: list[Any]) -> None:
    table = {**TABLE, "time": times}
    assert np.argsort(read_times(table, read(table))).tolist() == [1, 2, 0]


def test_times_follow_the_answers_whatever_the_order_of_the_rows() -> None:
    rows = [(f"t{t}", f"w{w}", "xy"[(t + w) % 2], 100 * t + w) for t in range(9) for w in range(4)]
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    names = ("task", "worker", "label", "time")
    table = dict(zip(names, map(list, zip(*shuffled, strict=True)), strict=True))
    answers = read(table)
    for task, worker, time in zip(answers.task, answers.worker, read_times(table, answers), strict=True):
        t, w = (int(n[int(k)].as_py()[1:]) for n, k in ((answers.task_names, task), (answers.worker_names, worker)))
        assert time == 100 * t + w


def test_a_repeat_has_its_first_time_and_rows_left_out_have_none() -> None:
    table = {
        "task": ["t", "t", "t", "t", "u"],
        "worker": ["a", "a", "b", "b", "a"],
        "label": ["x", "x", "x", "y", "x"],
        "time": [5, 3, 7, 8, 9],
    }
    answers = read(table, on_conflict="last")
    assert read_times(table, answers).tolist() == [3.0, 8.0, 9.0]


def test_a_missing_time_is_an_error_that_names_the_row_unless_skipped() -> None:
    table = {**TABLE, "time": ["1", " ", "3"]}
    with pytest.raises(BlankFieldError, match="'time' is missing in row 2"):
        read_times(table, read(table))
    assert np.isnan(read_times(table, read(table), skip_missing=True)).tolist() == [False, True, False]


def test_what_is_no_time_is_an_error_that_names_the_row() -> None:
    table = {**TABLE, "time": ["2024-05-01", "2024-05-02", "yesterday"]}
    with pytest.raises(ColumnTypeError, match="'yesterday', which is not a time like the others, in row 3"):
        read_times(table, read(table))
