"""The consensus of one output, from stored skills, is the vote of `aggregate` by these skills."""

import importlib
import sys
import tomllib
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate.errors import ColumnTypeError, ConflictingGoldError, MissingColumnError, NoRowsError, OptionError
from quorate.voting.vote import plug_in_vote, vote_weights

CROWD = quorate.simulate.crowd(200, 9, 5, n_classes=3, seed=7)
RESULT = quorate.aggregate(CROWD.answers, "rank-one")
CLASSES = CROWD.answers.classes.to_pylist()
PANEL = quorate.consensus(RESULT, classes=CLASSES)
WORKERS = CROWD.answers.worker_names.to_pylist()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("skills") / "workers.csv"
    quorate.write_table(RESULT.workers, path)
    return path


def test_every_task_gets_the_label_that_a_vote_by_these_skills_gives(stored: Path) -> None:
    answers = CROWD.answers
    task_vote = plug_in_vote(answers, vote_weights(answers, RESULT.skills))
    for source, classes in ((stored, CLASSES), (RESULT, CLASSES), (stored, None)):
        panel = quorate.consensus(source, classes=classes)
        assert panel.n_classes == 3  # of a file without classes, read off skills and accuracies
        for task in range(0, answers.n_tasks, 7):
            mine = answers.task == task
            verdicts = {WORKERS[w]: CLASSES[c] for w, c in zip(answers.worker[mine], answers.label[mine], strict=True)}
            agreed = panel(verdicts)
            assert (agreed.label, agreed.tied) == (CLASSES[task_vote.label[task]], bool(task_vote.tied[task]))
            assert agreed.n_verdicts == len(verdicts)


@given(st.dictionaries(st.sampled_from(WORKERS), st.sampled_from(CLASSES), min_size=1), st.randoms())
def test_the_order_of_verdicts_and_abstentions_change_nothing(verdicts: dict[str, str], rng: Any) -> None:
    shuffled = list(verdicts.items())
    rng.shuffle(shuffled)
    abstentions = {"nobody": None, "blank": " ", "unscored": float("nan")}
    once, again = PANEL(verdicts), PANEL({**abstentions, **dict(shuffled)})
    assert (once.label, once.tied, once.n_verdicts) == (again.label, again.tied, again.n_verdicts)
    assert once.confidence == pytest.approx(again.confidence, abs=1e-12)  # sums in another order
    assert 1 / 3 <= once.confidence + 1e-9 <= 1


def test_one_more_answer_for_the_label_makes_it_surer() -> None:
    panel = quorate.consensus({"a": 0.6, "b": 0.6, "c": 0.6}, classes=["x", "y"])
    sure = [panel(dict.fromkeys(judges, "x")).confidence for judges in ("a", "ab", "abc")]
    assert sure == sorted(sure)
    assert len(set(sure)) == 3


def test_unknown_workers_have_the_mean_skill_and_nobody_is_no_consensus() -> None:
    panel = quorate.consensus({"worker": ["a", "b"], "skill": [0.9, 0.1], "n_answers": [10, 30]}, classes=["x", "y"])
    assert panel.mean == pytest.approx(0.3)
    assert panel({"b": "x", "stranger": "y"}).label == "y"
    assert quorate.consensus({"a": (0.9, 0.8, 1.0)}).skills == {"a": 0.9}  # as skills= takes them
    assert panel({}) == quorate.consensus({"a": 1.0})({"a": None})
    assert panel({}).label is None


def test_labels_come_back_as_they_were_given() -> None:
    panel = quorate.consensus({"a": 0.9, "b": 0.2})
    assert panel({"a": 1, "b": 0}).label == 1
    assert panel({"a": True, "b": False}).label is True
    tied = quorate.consensus({"a": 0.5, "b": 0.5})({"a": "10", "b": "9"})
    assert (tied.label, tied.tied) == ("9", True)  # the order of the classes, numbers by value


def test_a_judge_who_is_mostly_wrong_speaks_for_the_other_class() -> None:
    assert quorate.consensus({"liar": -0.8, "b": 0.1}, classes=["x", "y"])({"liar": "x"}).label == "y"
    with pytest.raises(OptionError, match="name all classes"):
        quorate.consensus({"liar": -0.8, "b": 0.1})({"liar": "x"})


@pytest.mark.parametrize(
    ("skills", "classes", "error", "says"),
    [
        ({"worker": ["a"], "skill": [None]}, None, NoRowsError, "no skill is determined"),
        ({"worker": ["a"], "skill": ["high"]}, None, ColumnTypeError, "must hold numbers"),
        ({"worker": ["a"], "skill": [7.0]}, None, ColumnTypeError, "between -1 and 1"),
        ({"worker": ["a", "a"], "skill": [0.5, 0.6]}, None, ConflictingGoldError, "'a' has two skills"),
        ([{"worker": "a"}], None, MissingColumnError, "write_table"),
        ({"a": 0.5}, ["x"], OptionError, "at least two classes"),
        ({"a": 0.5}, ["x", "y"], OptionError, "'z' is none of the classes"),
    ],
)
def test_what_cannot_be_a_panel_is_refused(skills: Any, classes: Any, error: type[Exception], says: str) -> None:
    if isinstance(skills, list):
        import pyarrow as pa

        skills = pa.Table.from_pylist(skills)
    with pytest.raises(error, match=says):
        quorate.consensus(skills, classes=classes)({"a": "z"})


@dataclass
class Score:
    """What Inspect's scores have, as far as a reducer needs it."""

    value: Any
    answer: str | None = None
    explanation: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def reducer(monkeypatch: Any) -> Any:
    """A reducer, with a stand-in for Inspect that registers what it is given."""
    registered: dict[str, Any] = {}
    scorer = types.ModuleType("inspect_ai.scorer")
    scorer.Score = Score  # type: ignore[attr-defined]
    scorer.score_reducer = lambda name: lambda made: registered.setdefault(name, made)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "inspect_ai", types.ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", scorer)
    made = quorate.inspect_reducer({"m/a": 0.9, "m/b": 0.2, "m/c": 0.2}, judges=["m/a", "m/b"], classes=["C", "I"])
    assert list(registered) == ["quorate_consensus"]
    return made


def test_the_reducer_of_inspect_is_the_consensus(reducer: Any) -> None:
    by = {"m/a": "C", "m/b": "I", "m/c": "I"}
    graded = [Score(verdicts, metadata={"grading": ["prompt", {"model": judge}]}) for judge, verdicts in by.items()]
    found = reducer(graded)
    panel = quorate.consensus({"m/a": 0.9, "m/b": 0.2, "m/c": 0.2}, classes=["C", "I"])
    assert (found.value, found.metadata["confidence"]) == (panel(by).label, panel(by).confidence)
    assert found.metadata["verdicts"] == by
    assert reducer([Score("I", metadata={"judge": "m/b"}), Score(float("nan"), metadata={"judge": "m/a"})]).value == "I"
    assert np.isnan(reducer([Score(float("nan"), metadata={"judge": "m/a"})]).value)
    assert reducer([Score("C"), Score("I")]).value == "C"  # in the order of judges=


def test_inspect_finds_the_reducer_by_its_name(monkeypatch: Any, tmp_path: Path) -> None:
    registered: dict[str, Any] = {}
    scorer = types.ModuleType("inspect_ai.scorer")
    scorer.Score = Score  # type: ignore[attr-defined]
    scorer.score_reducer = lambda name: lambda made: registered.setdefault(name, made)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "inspect_ai", types.ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", scorer)
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module = project["entry-points"]["inspect_ai"]["quorate"]
    monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.import_module(module)
    with pytest.raises(OptionError, match="QUORATE_JUDGES"):
        registered["quorate_consensus"]()
    skills = tmp_path / "judges.csv"
    skills.write_text("worker,skill\nm/a,0.9\nm/b,0.2\n")
    monkeypatch.setenv("QUORATE_JUDGES", str(skills))
    make = registered["quorate_consensus"]
    registered.clear()
    graded = [Score("C", metadata={"judge": "m/a"}), Score("I", metadata={"judge": "m/b"})]
    assert make()(graded).value == "C"


def test_the_reducer_refuses_what_it_cannot_weigh(reducer: Any, monkeypatch: Any) -> None:
    with pytest.raises(OptionError, match="score 1 of 3 does not name its judge"):
        reducer([Score("C"), Score("I"), Score("C")])
    with pytest.raises(OptionError, match="score each value separately"):
        reducer([Score({"a": 1}, metadata={"judge": "m/a"})])
    monkeypatch.setitem(sys.modules, "inspect_ai.scorer", None)
    with pytest.raises(OptionError, match="pip install inspect_ai"):
        quorate.inspect_reducer({"a": 0.5})
