"""What people work with in a notebook shows itself shortly, as HTML, pickles, and speaks Python."""

import pickle
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.errors import in_python, in_shell
from quorate.methods.registry import METHODS

CROWD = quorate.simulate.crowd(80, 8, 3, seed=0)


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    result = quorate.aggregate(CROWD.answers)
    return {
        "Answers": CROWD.answers,
        "Result": result,
        "Advice": quorate.advise(result, 5),
        "GoldAdvice": quorate.suggest_gold(CROWD.answers, 6),
        "Diagnosis": result.diagnosis,
        "Comparison": quorate.compare(CROWD.answers, methods=["majority", "rank-one"]),
        "Report": quorate.report(CROWD.answers, methods=[]),
        "Agreement": quorate.agreement(CROWD.answers),
        "Estimates": quorate.estimate(CROWD.answers),
        "CheckReport": quorate.check(CROWD.answers, max_error=0.3),
        "Score": result.score(CROWD.truth_table),
        "NextSteps": quorate.next_steps(CROWD.answers),
        "Rating": quorate.rate({"task": list("aabb"), "worker": list("xyxy"), "label": [1.0, 2.0, 3.0, 3.5]}),
        "Completion": quorate.complete_rank_one([0, 1, 2], [1, 2, 0], [0.5, 0.5, 0.5]),
        "Consensus": quorate.consensus({"gpt-4o": 0.8, "claude-3-opus": 0.3}),
        "ScoreConsensus": quorate.consensus(
            {"worker": ["a", "b"], "intercept": [1.0, 0.0], "scale": [1.0, 1.0], "noise": [0.5, 0.5]}
        ),
        "ScoreComparison": quorate.compare_scores(
            {"task": list("aabb"), "worker": list("xyxy"), "label": [1, 2, 3, 4]}
        ),
        "AdaptiveSkills": quorate.adaptive_skills(CROWD.answers),
        "SkillErrorBound": quorate.theory.skill_error(result),
        "Ranking": quorate.rank({"left": list("abca"), "right": list("bcac"), "winner": ["left"] * 4}),
    }


def test_everything_has_a_short_repr_and_a_view(things: dict[str, Any]) -> None:
    for name, thing in things.items():
        assert repr(thing).startswith(f"<{name}")
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)
        assert thing._repr_html_().startswith("<div")


def test_everything_pickles(things: dict[str, Any]) -> None:
    for thing in things.values():
        assert repr(pickle.loads(pickle.dumps(thing))) == repr(thing)


def test_names_in_views_stay_text() -> None:
    answers = quorate.read({"task": ["<i>"], "worker": ["<script>"], "label": ["<b>"]})
    page = answers._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_result_scores_itself() -> None:
    result = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}, "majority")
    score = result.score({1: "x", 2: "x"})
    assert (score.error, score.n_scored) == (0.25, 2)  # a tie is half wrong


def test_python_advises_python_and_the_shell_the_shell(
    things: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # an expert.csv in the working directory would change the name in the command
    assert "quorate.suggest_gold(answers, 10)" in things["Result"].summary()
    assert "quorate advise" not in things["Result"].summary()
    speaking = in_shell.set(True)
    try:
        assert "quorate advise FILE --expert 10 -o expert.csv" in things["Result"].summary()
        assert in_python("`quorate diagnose`") == "`quorate diagnose`"
    finally:
        in_shell.reset(speaking)
    assert in_python("see `quorate diagnose`") == "see `quorate.diagnose(answers)`"


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("majority", "quorate")])
def test_labels_opposed_to_the_vote_are_reported(method: str) -> None:
    """A method may be right against the vote, and then still says that it is."""
    result = quorate.aggregate(CROWD.answers, method)
    against = (result.vote.label != quorate.aggregate(CROWD.answers, "majority").vote.label).mean()
    assert any(note.kind == "contradiction" for note in result.notes) == (against > 0.5)


def test_opt_ds_says_when_it_mixes_up_the_classes() -> None:
    """The crowd of the tutorial's size, in which its spectral start may exchange the classes."""
    for seed in range(6):
        crowd = quorate.simulate.crowd(40, 6, 3, seed=seed)
        result = quorate.aggregate(crowd.answers, "opt-ds")
        against = (result.vote.label != quorate.aggregate(crowd.answers, "majority").vote.label).mean()
        assert any(note.kind == "contradiction" for note in result.notes) == (against > 0.5)
