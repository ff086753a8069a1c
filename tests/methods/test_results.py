"""Result: the same for every method, independent of which attribute was read first, and picklable."""

import copy
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.methods.registry import METHODS
from quorate.notes import KINDS, UNDETERMINED, Note
from quorate.result import Result
from quorate.skills.intervals import AUTO_FULL, interval_kind

QUICK: dict[str, dict[str, Any]] = {"m3v": {"sweeps": 12, "burn_in": 2}, "opt-ds": {"starts": 10, "power_steps": 20}}


def crowd() -> Answers:
    """A connected crowd, and beside it two workers who met nobody else, so that there is something to note."""
    rows = simulate.crowd(60, 7, 4, n_classes=3, seed=2).answers.to_table().to_pylist()
    rows += [{"task": "apart", "worker": worker, "label": "c0"} for worker in ("x", "y")]
    return quorate.read({name: [row[name] for row in rows] for name in ("task", "worker", "label")})


def result_of(name: str, gold: dict[str, str] | None = None) -> Result:
    return quorate.aggregate(crowd(), name, gold=gold, **QUICK.get(name, {}))


def assert_same(one: Result, two: Result) -> None:
    assert one.labels == two.labels
    assert one.workers == two.workers
    assert one.posterior == two.posterior
    assert one.summary() == two.summary()
    assert one.to_dict() == two.to_dict()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("looked_at", [False, True])
def test_a_result_can_be_pickled_and_copied(name: str, looked_at: bool) -> None:
    result = result_of(name, gold={"t0": "c0"})
    if looked_at:  # what was computed on the way does not stand in the way
        result.workers, result.labels, list(result.identifiability.components())
    assert_same(pickle.loads(pickle.dumps(result)), result)
    assert_same(copy.deepcopy(result), result)


@pytest.mark.parametrize("options", [{"weighting": "binary"}, {"signs": "weighed"}, {"record": True}])
def test_a_result_of_pairs_can_be_pickled(options: dict[str, Any]) -> None:
    result = quorate.aggregate(crowd(), "rank-one", **options)
    assert_same(pickle.loads(pickle.dumps(result)), result)


def test_answers_and_a_diagnosis_can_be_pickled_and_copied() -> None:
    answers = crowd()
    found = quorate.diagnose(answers)
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert copied.summary() == found.summary()
        assert copied.to_dict() == found.to_dict()
    for again in (pickle.loads(pickle.dumps(answers)), copy.deepcopy(answers)):
        assert again.to_table() == answers.to_table()
        assert again.worker_names.equals(answers.worker_names)


@pytest.mark.parametrize("name", METHODS)
def test_the_summary_says_the_same_whether_or_not_the_workers_were_looked_at(name: str) -> None:
    result = result_of(name)
    before = result.summary(verbose=True)
    result.workers  # noqa: B018
    assert result.summary(verbose=True) == before
    has_intervals = result.workers["skill_low"].null_count < len(result.workers)
    assert ("intervals (full)" in before or "intervals (fast)" in before) == has_intervals


def test_the_summary_names_the_intervals_that_the_workers_will_have() -> None:
    answers = crowd()
    for kind in ("auto", "full", "fast", "none"):
        result = quorate.aggregate(answers, "rank-one", intervals=kind, level=0.9)
        summary = result.summary(verbose=True)
        assert (f"0.9 intervals ({result.intervals.kind})" in summary) == (kind != "none")


class Sized:
    """An estimate of which only the size is known."""

    skills = np.zeros(1)

    def __init__(self, n_answers: int, n_classes: int = 2, *, needs_peer_error: bool = True) -> None:
        self.n_answers, self.n_classes = n_answers, n_classes
        self.needs_peer_error = needs_peer_error

    def score(self) -> Any:
        raise AssertionError("nothing is computed to know the kind")

    def peer_error(self, *, draws: int, seed: int) -> Any:
        raise AssertionError("nothing is computed to know the kind")

    def weak(self, n_workers: int) -> Any:
        raise AssertionError("nothing is computed to know the kind")

    def scale_range(self) -> Any:
        raise AssertionError("nothing is computed to know the kind")


def test_the_kind_of_interval_is_known_without_computing_one() -> None:
    assert interval_kind(Sized(AUTO_FULL), "auto") == "full"
    assert interval_kind(Sized(AUTO_FULL + 1), "auto") == "fast"
    assert interval_kind(Sized(AUTO_FULL + 1), "full") == "full"
    assert interval_kind(Sized(5, needs_peer_error=False), "auto") == "fast"
    assert interval_kind(Sized(5, needs_peer_error=False), "full") == "full"
    assert interval_kind(Sized(5), "none") == "none"
    assert interval_kind(Sized(5, n_classes=1), "full") == "none"


@pytest.mark.parametrize("name", METHODS)
def test_a_result_holds_its_gold(name: str) -> None:
    assert result_of(name).gold is None
    result = result_of(name, gold={"t3": "c1"})
    assert result.gold is not None
    known = np.flatnonzero(result.gold >= 0)
    assert [result.answers.task_names[int(t)].as_py() for t in known] == ["t3"]
    assert [result.answers.classes[int(c)].as_py() for c in result.gold[known]] == ["c1"]


def test_the_diagnosis_of_any_result_knows_its_gold() -> None:
    """Known labels make a bipartite pair identifiable, also where the method itself makes no use of them."""
    rows = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}
    assert not quorate.aggregate(rows, "majority").diagnosis.result.identifiability.identifiable.any()
    assert quorate.aggregate(rows, "majority", gold={1: "x"}).diagnosis.result.identifiability.identifiable.all()


def test_a_result_is_built_by_keyword_from_few_parts() -> None:
    assert all(field.kw_only for field in fields(Result))
    assert len(fields(Result)) <= 10


@pytest.mark.parametrize("name", METHODS)
def test_notes_carry_a_kind_and_json_their_texts(name: str) -> None:
    result = result_of(name)
    assert all(isinstance(note, Note) and note.kind in KINDS for note in result.notes)
    assert result.to_dict()["notes"] == [note.text for note in result.notes]
    assert all(note.text in result.summary() for note in result.notes)


def test_workers_who_are_not_determined_are_noted_by_kind() -> None:
    assert [note.kind for note in result_of("rank-one").notes] == [UNDETERMINED]
