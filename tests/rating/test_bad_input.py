"""Scores that cannot be used: each has its error, with rows and remedy."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import quorate
from quorate.errors import (
    ColumnTypeError,
    ConflictingAnswersError,
    ConflictingGoldError,
    InputError,
    MissingColumnError,
    MissingFieldError,
    OptionError,
    QuorateError,
    ScoreError,
    UnknownGoldTaskError,
)
from quorate.io.scores import read_scores
from quorate.io.warnings import looks_like_scores

GOOD: dict[str, list[Any]] = {
    "task": [1, 1, 1, 2, 2, 2, 3, 3, 3],
    "worker": list("abcabcabc"),
    "score": ["1", "2", "1.5", "3", "4", "3", "5", "5", "4"],
}


def with_score(text: str) -> dict[str, list[Any]]:
    return {**GOOD, "score": [*GOOD["score"][:6], text, *GOOD["score"][7:]]}


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("4/5", "In every row, write only the score"),
        ("4,5", "decimal point"),
        ("n/a", "abstain=['n/a']"),
        ("good", "quorate aggregate"),
        ("80%", "without the percent sign"),
        ("inf", "end of the scale"),
        ("1_000", "not a number"),
        ("٤", "not a number"),
    ],
)
def test_text_that_is_no_number_names_row_and_remedy(text: str, remedy: str) -> None:
    with pytest.raises(ScoreError) as error:
        quorate.rate(with_score(text))
    assert "row 7" in str(error.value)
    assert repr(text) in str(error.value)
    assert remedy in str(error.value)


@pytest.mark.parametrize("text", ["", " ", "nan", "NaN"])
def test_missing_score_names_its_row_or_is_skipped(text: str) -> None:
    with pytest.raises(MissingFieldError, match="row 7"):
        quorate.rate(with_score(text))
    found = quorate.rate(with_score(text), skip_missing=True)
    assert found.n_answers == 8


def test_abstentions_are_no_scores() -> None:
    assert quorate.rate(with_score("n/a"), abstain=["n/a"]).n_answers == 8


def test_spellings_of_one_number_are_one_score() -> None:
    scores = read_scores({"task": [1, 1], "worker": ["a", "b"], "score": ["4", "4.0"]})
    assert scores.values.tolist() == [4.0]


def test_booleans_and_dates_are_no_scores() -> None:
    for column in (pa.array([True, False]), pa.array([1, 2], pa.date32())):
        with pytest.raises(ColumnTypeError, match="number"):
            read_scores(pa.table({"task": [1, 2], "worker": ["a", "b"], "score": column}))


def test_two_scores_of_one_rater_for_one_task() -> None:
    rows = {"task": [1, 1, 1, 2, 2], "worker": list("aabab"), "score": [1, 3, 2, 4, 5]}
    with pytest.raises(ConflictingAnswersError, match=r"\(row 1\) and 3.0 \(row 2\)"):
        quorate.rate(rows)
    kept = quorate.rate(rows, on_conflict="mean")
    assert kept.n_answers == 5
    assert any(note.kind == "repeats" for note in kept.notes)
    assert quorate.rate(rows, on_conflict="first").n_answers == 4
    with pytest.raises(OptionError, match=r"on_conflict= takes .*, not 'average'"):
        quorate.rate(rows, on_conflict="average")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"on_conflict= takes .*, not 'mean'"):
        quorate.read(rows, label="score", on_conflict="mean")  # type: ignore[arg-type]  # labels have no mean


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"task": [1, 2, 3], "worker": ["a"] * 3, "score": [1, 2, 3]}, "only one rater"),
        ({"task": [1, 2, 3], "worker": list("abc"), "score": [1, 2, 3]}, "has two raters"),
        ({"task": [1, 1, 2, 2], "worker": list("abab"), "score": [3, 3, 3, 3]}, "all 4 scores are 3"),
        ({"task": [1, 1, 1], "worker": list("abc"), "score": [1, 2, 3]}, "only 1 task"),
    ],
)
def test_scores_that_determine_nothing_are_refused(rows: dict[str, Any], words: str) -> None:
    with pytest.raises(ScoreError, match=words):
        quorate.rate(rows)


def test_columns_are_found_by_their_usual_names_or_refused() -> None:
    for name in ("score", "label", "rating"):
        assert read_scores({"task": [1], "worker": ["a"], name: [2.5]}).score.tolist() == [2.5]
    with pytest.raises(InputError, match="points"):
        read_scores({"task": [1], "worker": ["a"], "points": [2.5]})
    with pytest.raises(MissingColumnError, match="worker='none'"):
        read_scores({"task": [1], "score": [2.5]}, tool="table")


def test_options_of_classes_are_refused() -> None:
    with pytest.raises(OptionError, match="no argument classes="):
        quorate.rate(GOOD, classes=["1"])  # type: ignore[call-arg]
    for options in ({"level": 2.0}, {"bounds": (5, 1)}, {"cut": float("nan")}, {"passes": 0}, {"tol": 0.0}):
        with pytest.raises(OptionError):
            quorate.rate(GOOD, **options)


def test_gold_that_cannot_be_used() -> None:
    with pytest.raises(UnknownGoldTaskError, match="99"):
        quorate.rate(GOOD, gold={1: 2.0, 99: 3.0})
    with pytest.raises(ScoreError, match="'good', which is not a number, in row 2 of the known scores"):
        quorate.rate(GOOD, gold={"task": [1, 2], "score": ["1", "good"]})
    with pytest.raises(ConflictingGoldError, match="two known scores"):
        quorate.rate(GOOD, gold={"task": [1, 1], "score": [1, 2]})


def test_raters_may_be_unknown() -> None:
    rows = {"task": GOOD["task"], "score": GOOD["score"]}
    found = quorate.rate(rows, worker="none", cut=2.5)
    assert len(found.workers) == 0
    assert found.scores["n_answers"].to_pylist() == [3, 3, 3]
    assert any(note.kind == "raters-unknown" for note in found.notes)
    score = found.scores["score"].to_pylist()
    assert score[0] < score[1] < score[2]
    mean = sum(map(float, GOOD["score"])) / 9
    assert abs(score[0] - mean) < abs(1.5 - mean)  # shrunk from its own mean, 1.5, to that of all
    with pytest.raises(OptionError, match="group="):
        quorate.rate(rows, worker="none", group={"a": 1})
    with pytest.raises(ScoreError, match="has two scores"):
        quorate.rate({"task": [1, 2, 3], "score": [1, 2, 3]}, worker="none")


@pytest.mark.parametrize("text", ["", "task,worker,score\n", "task,worker,score\n1,a,1,9\n", "{"])
def test_broken_files_have_named_errors(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(QuorateError):
        quorate.rate(path)


def test_numeric_scales_are_recognised_and_classes_are_not() -> None:
    many = pa.array([str(value) for value in range(0, 100, 5)])
    text = looks_like_scores(many, 500, file="a b.csv")
    assert text is not None
    assert text.endswith("run: quorate rate 'a b.csv' --score label")
    assert looks_like_scores(pa.array([1.5, 2.0, 3.0]), 30) is not None
    for labels, n in (
        (pa.array(["1", "2", "3", "4", "5"]), 100),  # a few whole numbers
        (pa.array(["cat", "dog", "elk"]), 100),
        (pa.array([str(k) for k in range(400)]), 400),  # identifiers: each once
        (pa.array([True, False]), 100),
        (pa.array(["1", "x", "2.5"]), 100),
    ):
        assert looks_like_scores(labels, n) is None


def test_aggregate_points_to_rate() -> None:
    rows = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": list("abababab"), "label": [83.5, 20, 71, 33, 83.5, 20, 50, 33]}
    result = quorate.aggregate(rows)
    notes = [note for note in result.notes if note.kind == "like-scores"]
    assert len(notes) == 1
    assert "quorate rate FILE --score label" in notes[0].text
    plain = quorate.aggregate({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxx")})
    assert not [note for note in plain.notes if note.kind == "like-scores"]
