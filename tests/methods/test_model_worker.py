"""A model as one more worker: its labels, its bands of probability, and whether it has seen the answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.errors import OptionError
from quorate.io.predictions import read_predictions
from quorate.methods.model_worker import bands_of, doubtful_agreement, with_model
from quorate.notes import MODEL, TRAINED
from tests.cli.running import quorate as command

CROWD = simulate.crowd(200, 12, 3, skills=np.linspace(0.2, 0.8, 12), seed=5)
ANSWERS, TRUTH = CROWD.answers, CROWD.truth
TASKS = ANSWERS.task_names.to_pylist()


def labels(codes: Any) -> dict[str, list[Any]]:
    return {"task": TASKS, "label": [f"c{code}" for code in codes]}


def noisy(p: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(TRUTH)) < p, TRUTH, 1 - TRUTH)


def test_labels_of_a_model_count_as_those_of_any_worker() -> None:
    model = noisy(0.9, 0)
    joined = quorate.aggregate(ANSWERS, predictions={"tiny": labels(model)})
    rows = ANSWERS.to_table().to_pylist() + [
        {"task": task, "worker": "tiny", "label": f"c{code}"} for task, code in zip(TASKS, model, strict=True)
    ]
    plain = quorate.aggregate({name: [row[name] for row in rows] for name in ("task", "worker", "label")})
    # Workers are numbered in another order, and sums rounded in another.
    np.testing.assert_allclose(joined.vote.posterior, plain.vote.posterior, atol=1e-9)
    skills = [
        dict(zip(*(each.workers[name].to_pylist() for name in ("worker", "skill")), strict=True))
        for each in (joined, plain)
    ]
    assert skills[0] == pytest.approx(skills[1])
    assert joined.workers["kind"].to_pylist() == ["worker"] * 12 + ["model"]
    assert "kind" not in plain.workers.column_names  # only where there is a model


def test_a_model_is_named_by_its_file_or_as_the_caller_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quorate.write_table(ANSWERS.to_table(), tmp_path / "answers.csv")
    lines = "".join(f"{task},{code}\n" for task, code in zip(TASKS, labels(TRUTH)["label"], strict=True))
    (tmp_path / "bert.csv").write_text("task,label\n" + lines)
    given: tuple[str | Path, ...] = ("aggregate", tmp_path / "answers.csv", "--predictions", tmp_path / "bert.csv")
    given = (*given, "-o", tmp_path / "l.csv", "--workers-out", tmp_path / "w.csv")
    for more, name in (((), "bert"), (("--predictions-name", "gpt"), "gpt")):
        assert command(capsys, *given, *more)[0] == 0
        assert (tmp_path / "w.csv").read_text().splitlines()[-1].startswith(f"{name},")
    with pytest.raises(OptionError, match="a worker has the name 'w0', too"):
        with_model(ANSWERS, labels(TRUTH), "w0")


def test_what_is_left_out_of_predictions_is_reported() -> None:
    some = {"task": [*TASKS[:150], "elsewhere"], "label": ["c9", *labels(TRUTH)["label"][1:150], "c0"]}
    joined, notes = with_model(ANSWERS, some, "tiny")
    assert joined.per_worker[-1] == 149
    assert [note.kind for note in notes] == [MODEL] * 3
    text = " ".join(map(str, notes))
    assert "1 prediction for tasks that nobody answered; it is ignored" in text
    assert "has no prediction for 50 tasks" in text
    assert "1 prediction of a class that nobody gave; it is left out" in text


def test_three_ways_to_write_probabilities_say_the_same() -> None:
    p = np.round(np.random.default_rng(0).random(200), 3)
    wide = {"task": TASKS, "c0": p, "c1": 1 - p}
    long = {"task": TASKS * 2, "label": ["c0"] * 200 + ["c1"] * 200, "probability": [*p, *(1 - p)]}
    found = [read_predictions(each, ANSWERS)[0] for each in (wide, long)]
    for each in found:
        assert each.label.tolist() == (p < 0.5).astype(int).tolist()
        np.testing.assert_allclose(each.probability[:, 0], p)  # type: ignore[index]


def test_bands_are_grades_that_point_to_the_class() -> None:
    p = np.clip(np.random.default_rng(1).random(200), 0.01, 0.99)
    joined, _ = with_model(ANSWERS, {"task": TASKS, "c0": p, "c1": 1 - p}, "tiny")
    answer_symbols = joined.answer_symbols
    assert answer_symbols is not None
    assert answer_symbols.class_of_symbol[answer_symbols.symbol].tolist() == joined.label.tolist()
    mine = joined.worker == 12
    assert (np.bincount(answer_symbols.symbol[mine])[2:] > 0).all()
    assert answer_symbols.symbol[~mine].tolist() == ANSWERS.label.tolist()
    codes, names = bands_of(np.stack([p, 1 - p], axis=1), (p < 0.5).astype(int))
    assert np.bincount(codes).tolist() == [40] * 5
    assert len(names) == 5


def test_a_model_that_is_sure_where_it_is_right_is_worth_more_by_its_bands() -> None:
    """Half of its predictions are right in 98 of 100, half in 60: the argmax alone mixes them."""
    worse = better = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        crowd = simulate.crowd(600, 20, 3, skills=rng.uniform(0.1, 0.6, 20), seed=seed)
        sure = rng.random(600) < 0.5
        model = np.where(rng.random(600) < np.where(sure, 0.98, 0.6), crowd.truth, 1 - crowd.truth)
        top = np.where(sure, rng.uniform(0.9, 1.0, 600), rng.uniform(0.5, 0.7, 600))
        p = np.where(model == 1, top, 1 - top)
        tasks = crowd.answers.task_names.to_pylist()
        by_band = quorate.aggregate(crowd.answers, predictions={"m": {"task": tasks, "c0": 1 - p, "c1": p}})
        plain = {"task": tasks, "label": [f"c{code}" for code in model]}
        by_class = quorate.aggregate(crowd.answers, predictions={"m": plain})
        worse += (by_class.vote.label != crowd.truth).sum()
        better += (by_band.vote.label != crowd.truth).sum()
    assert better < worse - 10  # two standard errors of how many labels differ


def test_a_model_that_repeats_the_vote_is_warned_of_and_one_that_never_saw_it_is_not() -> None:
    vote = quorate.aggregate(ANSWERS, "majority").vote.label
    (note,) = (note for note in quorate.aggregate(ANSWERS, predictions=labels(vote)).notes if note.kind == TRAINED)
    assert "trained on these answers" in note.text
    for seed in range(5):
        for p in (0.7, 0.9, 1.0):
            test = doubtful_agreement(ANSWERS, noisy(p, seed))
            assert test is not None
            assert test.z < 2.33
    assert not [note for note in quorate.aggregate(ANSWERS, predictions=labels(TRUTH)).notes if note.kind == TRAINED]


def test_several_models_and_several_labels_are_refused() -> None:
    with pytest.raises(OptionError, match="takes one model"):
        quorate.aggregate(ANSWERS, predictions={"a": labels(TRUTH), "b": labels(TRUTH)})
    with pytest.raises(OptionError, match="may have several labels"):
        quorate.aggregate({"task": [1], "worker": ["a"], "label": [["x"]]}, predictions={"m": {1: "x"}})
