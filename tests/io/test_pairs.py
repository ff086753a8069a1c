"""Layouts of pairwise comparisons: what each is read as, and what is refused with rows and remedy."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    InputError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    PairwiseFileError,
    UndeterminedError,
    WrongFormatError,
)
from quorate.io.exports.pairwise import read_pairs
from quorate.io.pairs import PairOptions, PairRows, looks_like_pairs
from quorate.io.read import read


def comparisons(rows: PairRows) -> list[tuple[str, str, str, str, float]]:
    """Return rows with names: judge, left, right, outcome, weight."""
    words = {1: "left", 0: "tie", -1: "right"}
    return [
        (
            rows.judges[rows.judge[place]],
            rows.items[rows.left[place]],
            rows.items[rows.right[place]],
            words[int(rows.outcome[place])],
            float(rows.weight[place]),
        )
        for place in range(rows.n_rows)
    ]


ARENA = {
    "question_id": [1, 1],
    "model_a": ["x", "y"],
    "model_b": ["y", "z"],
    "winner": ["model_a", "tie (bothbad)"],
    "judge": ["gpt", "eva"],
}
LAYOUTS: dict[str, tuple[dict[str, Any], list[tuple[str, str, str, str, float]]]] = {
    "arena": (ARENA, [("gpt", "x", "y", "left", 1), ("eva", "y", "z", "tie", 1)]),
    "crowd-kit, the winner by its name": (
        {"worker": ["w", "w"], "left": ["x", "y"], "right": ["y", "z"], "label": ["y", "y"]},
        [("w", "x", "y", "right", 1), ("w", "y", "z", "left", 1)],
    ),
    "a column per judge": (
        {"model_1": ["x"], "model_2": ["y"], "winner1": ["model_2"], "winner2": ["tie"], "winner3": [None]},
        [("winner1", "x", "y", "right", 1), ("winner2", "x", "y", "tie", 1)],
    ),
    "chosen and rejected": ({"chosen": ["x"], "rejected": ["y"]}, [("judge", "x", "y", "left", 1)]),
    "winner and loser": ({"winner": ["x"], "loser": ["y"]}, [("judge", "x", "y", "left", 1)]),
    "counts": (
        {"player1": ["x"], "player2": ["y"], "win1": [3], "win2": [2], "ties": [1]},
        [("judge", "x", "y", "left", 3), ("judge", "x", "y", "right", 2), ("judge", "x", "y", "tie", 1)],
    ),
    "matrix of wins": (
        {"": ["y", "x"], "x": [2, 0], "y": [None, 3]},
        [("judge", "y", "x", "left", 2), ("judge", "x", "y", "left", 3)],
    ),
    "both orders": (
        {"model_a": ["x"], "model_b": ["y"], "pick_original": ["a"], "pick_swapped": ["b"]},
        [("judge", "x", "y", "left", 1), ("judge", "y", "x", "left", 1)],
    ),
    "rankings": (
        {"system1": ["x"], "system2": ["y"], "system3": ["z"], "rank1": [1], "rank2": [2], "rank3": [2]},
        [
            ("judge", "x", "y", "left", 2 / 3),
            ("judge", "x", "z", "left", 2 / 3),
            ("judge", "y", "z", "tie", 2 / 3),
        ],
    ),
    "scores": (
        {"model_a": ["x", "x"], "model_b": ["y", "y"], "score_a": [7.0, 5.0], "score_b": [3.0, 5.0]},
        [("judge", "x", "y", "left", 1), ("judge", "x", "y", "tie", 1)],
    ),
    "whole preferences": (
        {"generator_1": ["x", "x"], "generator_2": ["y", "y"], "output_1": ["t", "u"], "output_2": ["v", "w"],
         "preference": [1, 2]},
        [("judge", "x", "y", "left", 1), ("judge", "x", "y", "right", 1)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_gives_its_comparisons(name: str) -> None:
    columns, expected = LAYOUTS[name]
    found = comparisons(read_pairs(columns))
    assert [row[:4] for row in found] == [row[:4] for row in expected]
    np.testing.assert_allclose([row[4] for row in found], [row[4] for row in expected])


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout_is_proposed_with_a_command_that_reads_it(name: str) -> None:
    table = pa.table(LAYOUTS[name][0])
    proposal = looks_like_pairs(table, "votes.csv")
    assert proposal is not None
    words = proposal.command.split()
    assert words[:3] == ["quorate", "rank", "votes.csv"]
    given: dict[str, Any] = {}
    for flag, value in zip(words[3::2], words[4::2], strict=True):
        given.setdefault(flag.removeprefix("--"), []).append(value)
    options = {key: values if key == "winner" and len(values) > 1 else values[0] for key, values in given.items()}
    again = read_pairs(LAYOUTS[name][0], PairOptions(**options))
    assert comparisons(again) == comparisons(read_pairs(LAYOUTS[name][0]))


def test_real_preferences_are_weights_that_share_a_task() -> None:
    rows = read_pairs({"generator_1": ["x", "x"], "generator_2": ["y", "z"], "preference": [1.25, 1.9]})
    assert sorted(rows.weight.round(6).tolist()) == [0.1, 0.25, 0.75, 0.9]
    assert rows.task is not None
    assert np.bincount(rows.task, rows.weight).tolist() == [1.0, 1.0]


def test_a_ranking_is_one_task_whatever_the_order_of_rows() -> None:
    columns = {"system1": ["x", "x"], "system2": ["y", "y"], "rank1": [1, 1], "rank2": [2, 2], "judge": ["a", "a"]}
    assert len(read_pairs(columns).tasks) == 2


def test_sides_of_both_orders_are_exchanged_with_their_covariates() -> None:
    columns = {**LAYOUTS["both orders"][0], "length": [3.0]}
    rows = read_pairs(columns, PairOptions(covariates=("length",)))
    assert rows.covariates.ravel().tolist() == [3.0, -3.0]


def test_the_difference_of_two_columns_is_a_covariate() -> None:
    rows = read_pairs({**ARENA, "la": ["5", "6"], "lb": ["1", "8"]}, PairOptions(covariates=("la,lb",)))
    assert rows.covariates.ravel().tolist() == [4.0, -2.0]
    assert rows.covariate_names == ("la,lb",)


def test_label_studio_pairwise_and_ranker() -> None:
    def task(number: int, kind: str, value: dict[str, Any]) -> dict[str, Any]:
        result = {"from_name": "q", "to_name": "t", "type": kind, "value": value}
        annotation = {"id": number, "completed_by": 3, "result": [result]}
        return {"id": number, "data": {"model_a": "x", "model_b": "y"}, "annotations": [annotation]}

    pairwise = [task(1, "pairwise", {"selected": "left"}), task(2, "pairwise", {"selected": ["right"]})]
    assert comparisons(read_pairs(pairwise)) == [("3", "x", "y", "left", 1.0), ("3", "x", "y", "right", 1.0)]
    ranked = [task(1, "ranker", {"ranker": {"rank": ["p", "q", "r"]}})]
    assert [row[1:4] for row in comparisons(read_pairs(ranked))] == [
        ("p", "q", "left"),
        ("p", "r", "left"),
        ("q", "r", "left"),
    ]
    with pytest.raises(InputError, match="buckets"):
        read_pairs([task(1, "ranker", {"ranker": {"good": ["p"], "bad": ["q"]}})])


def test_argilla_rankings() -> None:
    value = [{"value": "p", "rank": 1}, {"value": "q", "rank": 2}, {"value": "r", "rank": 2}]
    record = {"id": "1", "fields": {"text": "t"}, "responses": {"rank": [{"value": value, "user_id": "u"}]}}
    found = comparisons(read_pairs([record]))
    assert [row[:4] for row in found] == [
        ("u", "p", "q", "left"),
        ("u", "p", "r", "left"),
        ("u", "q", "r", "tie"),
    ]


PICK = {"type": "pairwise", "from_name": "pick", "value": {"selected": "left"}}


@pytest.mark.parametrize(
    "changed",
    [{"annotations": 3}, {"annotations": [{"result": True}]}, {"annotations": [{"result": [PICK]}], "data": 3}],
)
def test_label_studio_tasks_of_another_shape_are_refused(changed: dict[str, Any]) -> None:
    good = {"id": 1, "data": {"model_a": "p", "model_b": "q"}, "annotations": [{"result": [PICK]}]}
    assert len(read_pairs([good]).left) == 1
    with pytest.raises(WrongFormatError, match="Label Studio writes a"):
        read_pairs([good, good | changed])


@pytest.mark.parametrize("responses", [{"rank": [3]}, [3], [{"values": 3}]])
def test_argilla_responses_of_another_shape_are_refused(responses: Any) -> None:
    record = {"id": "1", "fields": {"text": "t"}, "responses": responses}
    with pytest.raises(WrongFormatError, match="Argilla writes a"):
        read_pairs([record])


@pytest.mark.parametrize(
    ("ranks", "says"),
    [
        (["first", "second"], "holds no answers to a ranking question"),
        ([float("nan"), None], "fewer than two items ranked: 1"),
        ([1], "fewer than two items ranked: 1"),
    ],
)
def test_argilla_ranks_that_make_no_comparison_are_refused(ranks: list[Any], says: str) -> None:
    value = [{"value": item, "rank": rank} for item, rank in zip("pq", ranks, strict=False)]
    record = {"id": "1", "fields": {"text": "t"}, "responses": {"rank": [{"value": value, "user_id": "u"}]}}
    with pytest.raises(InputError, match=says):
        read_pairs([record])


@pytest.mark.parametrize("option", ["judge", "task", "by", "criterion", "covariates"])
def test_a_matrix_lacks_a_column_that_an_option_names(option: str) -> None:
    matrix = {"item": ["a", "b"], "a": [None, 3], "b": [2, None]}
    column: Any = ("length",) if option == "covariates" else "length"
    with pytest.raises(MissingColumnError, match="has no column 'length'"):
        read_pairs(matrix, replace(PairOptions(), **{option: column}))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
def test_files_of_every_format_agree(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"votes.{ending}"
    rows = [dict(zip(ARENA, values, strict=True)) for values in zip(*ARENA.values(), strict=True)]
    if ending == "parquet":
        pq.write_table(pa.table(ARENA), path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        mark = "\t" if ending == "tsv" else ","
        lines = [mark.join(ARENA), *(mark.join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    assert comparisons(read_pairs(str(path))) == LAYOUTS["arena"][1]


def pairs(**changed: list[Any]) -> dict[str, list[Any]]:
    return {"left": ["x", "y", "x"], "right": ["y", "z", "z"], "winner": ["left", "right", "tie"], **changed}


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (pairs(winner=["left", "w", "left"]), InputError, r"'w' in row 2.*is neither one of the two items"),
        (pairs(winner=["x", "x", "x"]), InputError, r"'x' in row 2.*is neither one of the two items"),
        (pairs(winner=["left", None, "left"]), BlankFieldError, r"winner is missing in row 2.*skip_missing"),
        (pairs(left=["x", " ", "x"]), BlankFieldError, r"item is missing in row 2"),
        (pairs(judge=["a", "", "b"]), BlankFieldError, r"judge is missing in row 2"),
        (pairs(task=["1", None, "2"]), BlankFieldError, r"task is missing in row 2"),
        (pairs(left=["y", "z", "z"]), UndeterminedError, r"rows 1, 2, 3.*two different items"),
        ({"a1": ["x"], "b1": ["y"]}, MissingColumnError, r"'a1', 'b1'.*left=, right= and winner="),
        ({"left": [], "right": [], "winner": []}, NoRowsError, "no rows"),
        ({"player1": ["x"], "player2": ["y"], "win1": [-1], "win2": [2]}, InputError, r"negative in row 1"),
        ({"left": ["x"], "right": ["y"], "score_a": ["high"], "score_b": ["2"]}, ColumnTypeError, r"'high' in row 1"),
    ],
)
def test_bad_rows_are_named(columns: dict[str, list[Any]], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read_pairs(columns)


def test_rows_left_out_are_counted() -> None:
    columns = pairs(left=["x", "z", "x"], winner=["left", "left", "pass"])
    rows = read_pairs(columns, PairOptions(abstain=("pass",)))
    assert rows.left_out == {"no answer": 1, "an item compared with itself": 1}
    assert rows.n_rows == 1
    skipped = read_pairs(pairs(winner=["left", None, "left"]), PairOptions(skip_missing=True))
    assert skipped.left_out == {"winner missing": 1}


def test_further_labels_of_ties_and_self_comparisons() -> None:
    columns = pairs(winner=["left", "unclear", "left"], judge=["x", "q", "x"])
    rows = read_pairs(columns, PairOptions(tie=("unclear",)))
    assert rows.outcome.tolist() == [1, 0, 1]
    assert rows.n_self == 2
    dropped = read_pairs(columns, PairOptions(tie=("unclear",), drop_self=True))
    assert dropped.n_rows == 1


def test_labels_of_sides_among_items_that_are_numbers() -> None:
    columns = {"left": ["1", "3", "5"], "right": ["2", "4", "1"], "winner": ["1", "2", "1"]}
    assert read_pairs(columns).outcome.tolist() == [1, -1, 1]


def test_matrices_of_numpy_and_pandas_have_their_items() -> None:
    wins = np.array([[0, 3, 2], [1, 0, 4], [2, 1, 0]])
    by_number = read_pairs(wins)
    assert by_number.items == ("0", "1", "2")
    frame = pd.DataFrame(wins, index=list("abc"), columns=list("abc"))
    by_name = read_pairs(frame.loc[list("cab")])
    assert by_name.items == ("a", "b", "c")
    assert not by_name.has_sides
    expected = {(i, j): wins[i, j] for i in range(3) for j in range(3) if i != j}
    found = {(int(i), int(j)): n for i, j, n in zip(by_name.left, by_name.right, by_name.weight, strict=True)}
    assert found == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"": ["x", "y"], "x": [0, 1], "y": [2, 0], "z": [1, 1]}, "no row is named 'z'"),
        ({"": ["x", "y"], "x": [0, -1], "y": [2, 0]}, "wins against 'x' are negative in row 2"),
        ({"": ["x", "y"], "x": ["0", "one"], "y": ["2", "0"]}, "has 'one' in row 2"),
    ],
)
def test_bad_matrices_are_named(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_pairs(columns)


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(OptionError, match="must be used together"):
        read_pairs(pairs(), PairOptions(left="left"))
    with pytest.raises(MissingColumnError, match="no column 'nothing' for judge"):
        read_pairs(pairs(), PairOptions(judge="nothing"))


@pytest.mark.parametrize(
    "columns",
    [
        {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]},
        {"left": ["1", "2"], "right": ["3", "4"], "label": ["red", "green"], "worker": ["a", "b"]},
        {"id": [1], "text": ["t"], "a": [0.3], "b": [0.7], "class": ["a"]},
        {"": ["x", "y"], "x": [1.0, 0.4], "y": [0.4, 1.0]},  # correlations
        {"task": ["t1", "t2"], "x": [1, 0], "y": [0, 1]},
    ],
)
def test_other_tables_do_not_look_like_pairs(columns: dict[str, list[Any]]) -> None:
    assert looks_like_pairs(pa.table(columns)) is None


def test_aggregate_points_to_rank(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner,judge\nx,y,model_a,g\ny,z,tie,g\n")
    call = f"quorate.rank('{path}', left='model_a', right='model_b', winner='winner', judge='judge')"
    with pytest.raises(PairwiseFileError, match=re.escape(call)):
        read(str(path))
