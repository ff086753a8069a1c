"""Labels of tasks that may have several: the fold of yes/no questions, with skills shared and a prior a label."""

import json
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.methods.multilabel import SeveralLabels, shift_by_frequency
from tests.cli.running import quorate as command

CROWD = simulate.crowd(60, 8, 5, skills=np.linspace(0.4, 0.9, 8), seed=2)


def several(rows: list[dict[str, object]]) -> dict[str, list[object]]:
    return {name: [row[name] for row in rows] for name in ("task", "worker", "label")}


def test_one_label_is_a_plain_yes_or_no() -> None:
    rows = CROWD.answers.to_table().to_pylist()
    plain = quorate.aggregate(several([{**row, "label": "yes" if row["label"] == "c1" else "no"} for row in rows]))
    multi = quorate.aggregate(several([{**row, "label": ["cat"] if row["label"] == "c1" else []} for row in rows]))
    assert isinstance(multi, SeveralLabels)
    assert multi.vote.posterior.tolist() == plain.vote.posterior.tolist()
    assert multi.skills.tolist() == plain.skills.tolist()
    assert [bool(labels) for labels in multi.labels["labels"].to_pylist()] == [
        label == "yes" for label in plain.labels["label"].to_pylist()
    ]
    assert multi.labels["least_confidence"].to_pylist() == plain.labels["confidence"].to_pylist()
    assert multi.labels["n_answers"].to_pylist() == plain.labels["n_answers"].to_pylist()


def test_one_of_two_labels_a_row_is_that_one() -> None:
    """Either is the other's no: exactly one is given, and where a plain vote is sure, the same one.

    Not where it is not: a worker errs alike on all labels here, and on each class in its own way there.
    """
    rows = several(CROWD.answers.to_table().to_pylist())
    plain, multi = quorate.aggregate(rows).vote, quorate.aggregate(rows, multi=",")
    np.testing.assert_allclose(multi.vote.posterior[::2, 1] + multi.vote.posterior[1::2, 1], 1.0, atol=1e-3)
    sure = plain.confidence > 0.8
    assert sure.mean() > 0.4
    given = [labels for labels, kept in zip(multi.labels["labels"].to_pylist(), sure, strict=True) if kept]
    assert given == [[f"c{code}"] for code in plain.label[sure]]


def test_confidences_are_of_the_labels_given_and_mean_and_least_of_all() -> None:
    rows = {"task": [1, 1, 1], "worker": list("abc"), "label": [["x", "y"], ["x"], ["x"]]}
    result = quorate.aggregate(rows)
    (row,) = result.labels.to_pylist()
    (x, y) = result.posterior["probability"].to_pylist()
    assert (row["labels"], row["confidences"]) == (["x"], [x])
    assert row["least_confidence"] == pytest.approx(min(x, 1 - y))
    assert row["mean_confidence"] == pytest.approx((x + 1 - y) / 2)


def test_a_prior_a_label_moves_odds_and_keeps_their_order() -> None:
    rng = np.random.default_rng(0)
    yes, label = rng.random(300), np.tile([0, 1, 2], 100)
    yes[label == 1] **= 4  # a rare one
    moved = shift_by_frequency(yes, label)
    assert (moved[label == 1] < yes[label == 1]).all()
    for k in range(3):
        assert (np.argsort(moved[label == k]) == np.argsort(yes[label == k])).all()
    # A permutation of the labels permutes the result, and what is certain stays so.
    np.testing.assert_allclose(shift_by_frequency(yes, 2 - label), moved)
    assert shift_by_frequency(np.array([0.0, 1.0, 0.3]), np.array([0, 1, 1]))[:2].tolist() == [0.0, 1.0]


def test_the_command_writes_lists_with_the_separator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path
    (folder / "a.csv").write_text("task,worker,label\n" + "".join(f"1,{w},x;y\n" for w in "abc"))
    code, _, _ = command(capsys, "aggregate", folder / "a.csv", "--multi", ";", "-o", folder / "l.csv")
    assert code == 0
    header, row = (folder / "l.csv").read_text().splitlines()
    assert header == "task,labels,confidences,mean_confidence,least_confidence,n_answers,tied"
    assert row.startswith("1,x;y,0.")
    assert row.split(",")[2].count(";") == 1


def test_outputs_count_the_answers_of_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer with any number of labels is one answer; the yes/no questions it answers are counted apart."""
    file = tmp_path / "a.csv"
    rows = [(f"t{k}", worker, "x;y" if k % 2 else "z") for k in range(20) for worker in "abc"]
    rows.append(("t0", "once", "x"))
    file.write_text("task,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    options = ["aggregate", file, "--multi", ";"]
    _, out, _ = command(capsys, *options, "--json")
    listed = json.loads(out)
    assert (listed["tasks"], listed["workers"], listed["answers"]) == (20, 4, len(rows))
    assert listed["yes_no_answers"] == 3 * len(rows)  # there are three labels
    assert sum(row["n_answers"] for row in listed["labels"]) == len(rows)
    _, out, _ = command(capsys, *options, "-o", tmp_path / "l.csv")
    assert f"20 tasks labelled from {len(rows)} answers by 4 workers" in out
    assert "1 of 4 workers has too few answers to be rated (1): once" in out
