"""Limits of a batch: what holds, what fails, and what each says."""

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.diagnostics.check import NEEDED_COLUMN, Limits, check, limits_of
from quorate.diagnostics.finding import KINDS
from quorate.errors import OptionError, UnreadableFileError, WrongFormatError


@pytest.fixture(scope="module")
def answers() -> Answers:
    skills = np.array([0.0, 0.8, 0.8, 0.8, 0.85, 0.9, 0.7, 0.75])
    return quorate.simulate.crowd(800, 8, 5, skills=skills, seed=2).answers


def test_every_figure_is_the_one_that_the_other_commands_state(answers: Answers) -> None:
    found = check(
        answers,
        min_alpha=0.0,
        min_kappa=0.0,
        min_ac1=0.0,
        min_agreement=0.0,
        min_answers=1,
        max_error=1.0,
        max_unsure=1.0,
        max_undetermined=1.0,
        fail_on=["any"],
    )
    figure = {each.name: each.figure for each in found.checks}
    alike, result = quorate.agreement(answers).overall, quorate.aggregate(answers)
    assert figure["min-alpha"] == alike["krippendorff_alpha"].value
    assert figure["min-kappa"] == alike["fleiss_kappa"].value
    assert figure["min-ac1"] == alike["gwet_ac1"].value
    assert figure["min-agreement"] == alike["percent_agreement"].value
    assert figure["min-answers"] == 5
    confidence = result.vote.confidence
    assert figure["max-error"] == pytest.approx(1 - confidence.mean())
    assert figure["max-unsure"] == pytest.approx((confidence < 0.9).mean())
    assert figure["max-undetermined"] == 0
    diagnosis = quorate.diagnose(answers)
    tested = [kind for kind in KINDS if kind not in NEEDED_COLUMN]
    assert {kind: figure[f"fail-on {kind}"] for kind in tested} == {
        kind: len(diagnosis.of_kind(kind)) for kind in tested
    }
    assert set(found.not_tested) == set(NEEDED_COLUMN)


def test_a_figure_at_its_limit_holds(answers: Answers) -> None:
    alpha = quorate.agreement(answers).overall["krippendorff_alpha"].value
    assert alpha is not None
    assert check(answers, min_alpha=alpha).holds
    assert not check(answers, min_alpha=alpha + 1e-9).holds


def test_a_failing_line_names_figure_limit_and_remedy(answers: Answers) -> None:
    found = check(answers, min_alpha=0.9, max_unsure=0.99, fail_on=["spammer", "copying"])
    assert [each.name for each in found.failed] == ["min-alpha", "fail-on spammer"]
    alpha, spammer = (each.line() for each in found.failed)
    assert "(at least 0.9)" in alpha
    assert "quorate.agreement(answers)" in alpha
    assert f"{found.failed[0].figure:.2f}" in alpha
    assert "w0 answers almost at random" in spammer
    assert "quorate.diagnose(answers)" in spammer
    assert found.lines()[0] == "2 of 3 limits fail."
    assert found.to_dict()["checks"][0]["remedy"]


def test_a_figure_that_is_not_defined_is_undecided() -> None:
    alone = {"task": [1, 2], "worker": ["a", "b"], "label": ["x", "y"]}
    found = check(alone, min_alpha=0.1)
    assert (found.holds, found.decision, found.checks[0].figure) == (False, "undecided", None)
    assert found.to_dict()["decision"] == "undecided"
    assert found.lines()[0] == "The limit cannot be decided."
    assert found.lines()[1].startswith("UNDECIDED  min-alpha")
    assert "Let several workers answer the same tasks" in found.checks[0].remedy


@pytest.mark.parametrize(
    "rows",
    [
        {"task": [1], "worker": ["a"], "label": ["x"]},
        {"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]},
        {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x"] * 4},
    ],
)
def test_one_worker_or_one_class_decides_nothing_about_errors(rows: dict[str, Any]) -> None:
    found = check(rows, max_error=0.001, max_unsure=0.5)
    assert [each.decision for each in found.checks] == ["undecided"] * 2
    assert (found.decision, found.holds) == ("undecided", False)
    assert "No confidence can be given" in found.lines()[1]


def test_one_limit_that_fails_decides_whatever_the_others() -> None:
    alone = {"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]}
    found = check(alone, max_error=0.1, min_answers=2)
    assert found.decision == "fail"
    assert found.head() == "1 of 2 limits fails, and 1 cannot be decided"
    assert [each.name for each in found.undecided] == ["max-error"]


def test_tasks_without_answers_are_not_sure(answers: Answers) -> None:
    rows = {
        "task": [1, 1, 1, 2, 2, 2, 3, 3],
        "worker": list("abcabcab"),
        "label": ["x", "x", "x", "y", "y", "y", "?", "?"],
    }
    found = check(rows, max_unsure=1.0, max_error=1.0, confident=0.0, abstain=["?"])
    unsure, error = found.checks[1], found.checks[0]
    assert unsure.figure == pytest.approx(1 / 3)
    assert "missing or below 0% confidence" in unsure.what
    stated = [each for each in quorate.aggregate(rows, abstain=["?"]).labels["confidence"].to_pylist() if each]
    assert error.figure == pytest.approx(1 - np.mean(stated))


def test_known_labels_count(answers: Answers) -> None:
    truth = quorate.aggregate(answers).labels.select(["task", "label"])
    assert check(answers, max_error=0.0, gold=truth).holds
    assert not check(answers, max_error=0.0).holds


# --- where limits come from ---


def test_options_count_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('[check]\nmin-alpha = 0.6\nmax_error = 0.1\nfail-on = ["spammer", "copying"]\n')
    found = limits_of({"min_alpha": 0.2}, file)
    assert (found.min_alpha, found.max_error, found.fail_on) == (0.2, 0.1, ("spammer", "copying"))
    file.write_text('fail-on = "any"\n')
    assert limits_of({}, file).kinds == KINDS


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("min-alfa = 0.6", OptionError, "Did you mean 'min-alpha'"),
        ("min-alpha = 'much'", OptionError, "min_alpha= must be a number between -1 and 1, got 'much'"),
        ("max-error = 10", OptionError, "max_error= must be a number between 0 and 1, got 10"),
        ("max-error = true", OptionError, "got True"),
        ("fail-on = ['thief']", OptionError, "has an unknown kind 'thief'"),
        ("fail-on = 3", OptionError, "must be a list of kinds"),
        ("check = 3", WrongFormatError, "must be a table"),
        ("min-alpha =", WrongFormatError, "is not a valid TOML file"),
        ("", OptionError, "No limits are given"),
    ],
)
def test_a_bad_file_of_limits_is_reported(tmp_path: Path, text: str, error: type[Exception], message: str) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(text)
    with pytest.raises(error, match=message):
        limits_of({}, file)


def test_a_limit_of_version_0_2_works_and_warns(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text("max-unsure = 0.5\nsure = 0.8\n")
    with pytest.warns(DeprecationWarning, match="the limit sure in .* is now confident"):
        assert limits_of({}, file) == Limits(max_unsure=0.5, confident=0.8)
    with pytest.warns(DeprecationWarning, match="the limit sure") as warned:
        check({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}, config=file)
    assert warned[0].filename == __file__  # Python shows the warning only at the line of the caller


def test_no_file_and_no_limit_are_reported(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="cannot be read"):
        limits_of({}, tmp_path / "none.toml")
    with pytest.raises(OptionError, match="No limits are given"):
        limits_of({"confident": 0.8})
    with pytest.raises(OptionError, match="of 0 or more"):
        Limits(min_answers=-1)


def test_everything_is_stated_of_a_limit_in_one_place(answers: Answers) -> None:
    found: dict[str, Any] = check(answers, min_answers=99).to_dict()
    keys = {"name", "holds", "decision", "what", "figure", "interval", "limit", "detail", "remedy"}
    assert set(found["checks"][0]) == keys
    assert found["decision"] == found["checks"][0]["decision"] == "fail"
    assert found["answers"] == answers.n_answers


def test_the_interval_of_the_share_of_wrong_labels_decides(answers: Answers) -> None:
    basis = quorate.aggregate(answers).confidence_basis
    assert basis is not None
    wrong = basis.share_wrong
    assert wrong is not None
    assert wrong.low < wrong.mean < wrong.high
    outcomes = {
        wrong.high: "pass",
        wrong.high - 1e-9: "undecided",
        wrong.low: "undecided",
        wrong.low - 1e-9: "fail",
    }
    for limit, decision in outcomes.items():
        assert check(answers, max_error=limit).decision == decision, limit


def test_an_undecided_limit_names_how_many_known_labels_would_decide_it() -> None:
    """The number is enough: with so many the limit is decided in most draws, if the share is as expected."""
    crowd = quorate.simulate.crowd(2000, 12, 4, seed=3)
    basis = quorate.aggregate(crowd.answers).confidence_basis
    assert basis is not None
    assert basis.share_wrong is not None
    limit = basis.share_wrong.mean + 0.06
    (found,) = check(crowd.answers, max_error=limit).checks
    assert found.decision == "undecided"
    n = basis.labels_to_decide(limit)
    assert n is not None
    assert f"About {n:,} known labels would decide this limit" in found.remedy
    assert found.remedy.startswith("About ")
    assert "quorate.suggest_gold(answers" in found.remedy
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(5):
        chosen = rng.choice(2000, min(n, 1000), replace=False)
        gold = {f"t{task}": f"c{crowd.truth[task]}" for task in chosen}
        decided += check(crowd.answers, max_error=limit, gold=gold).decision == "pass"
    assert decided >= 3


def test_the_least_certain_tasks_as_known_labels_hardly_lower_the_share_of_right_labels() -> None:
    """`advise --expert` chooses two thirds for their doubt, whose labels are right less often than the others."""
    off = []
    for seed in range(5):
        crowd = quorate.simulate.crowd(600, 12, 4, skills=np.full(12, 0.45), seed=seed)
        tasks = quorate.suggest_gold(crowd.answers, 60).tasks["task"].to_pylist()
        gold = {task: f"c{crowd.truth[int(task[1:])]}" for task in tasks}
        result = quorate.aggregate(crowd.answers, gold=gold)
        rest = np.array([f"t{k}" not in gold for k in range(600)])
        right = float((result.vote.label == crowd.truth)[rest].mean())
        basis = result.confidence_basis
        assert basis is not None
        assert basis.share_right is not None
        assert basis.known is not None
        off.append((basis.share_right.mean - right, basis.known.accuracy - right))
    stated, counted = np.mean(off, axis=0)
    assert counted < -0.1
    assert abs(stated) < 0.06


@pytest.mark.parametrize("kind", NEEDED_COLUMN)
def test_a_kind_that_was_not_tested_is_undecided(answers: Answers, kind: str) -> None:
    found = check(answers, fail_on=[kind])
    assert found.decision == "undecided"
    assert "column" in found.checks[0].line()
    assert check(answers, fail_on=[kind, "any"]).undecided[0].name == f"fail-on {kind}"


def test_drift_is_tested_where_times_are_named(answers: Answers) -> None:
    rows = answers.to_table().to_pandas().assign(when=range(answers.n_answers))
    assert check(rows, fail_on=["drift"], time="when").decision == "pass"


def test_workers_who_press_one_button_are_unreliable() -> None:
    crowd = quorate.simulate.crowd(80, 6, 4, skills=np.full(6, 0.8), seed=1)
    rows = crowd.answers.to_table().to_pandas()
    rows.loc[rows["worker"] == "w5", "label"] = "c0"
    found = check(rows, fail_on=["unreliable"])
    assert [limit.name for limit in found.failed] == ["fail-on one-button"]


def test_a_misspelt_argument_is_refused(answers: Answers) -> None:
    misspelt: Any = {"max_err": 0.1}
    with pytest.raises(OptionError, match=r"max_err=\. Did you mean max_error="):
        check(answers, **misspelt)
    with pytest.raises(OptionError, match="max_err"):
        check(answers, min_alpha=0.5, **misspelt)


PANELS = Path(os.environ.get("QUORATE_DATASETS", Path(__file__).parents[2].parent / "shared" / "datasets")) / "panels"


def test_the_farther_a_limit_is_from_the_share_the_fewer_labels_decide_it(answers: Answers) -> None:
    for judges in (True, False):
        basis = quorate.aggregate(answers, judges=judges).confidence_basis
        assert basis is not None
        assert basis.share_wrong is not None
        share = basis.share_wrong.mean
        for side in (1, -1):
            limits = [share + side * step / 100 for step in range(1, 100) if 0 < share + side * step / 100 < 1]
            needed = [basis.labels_to_decide(limit) for limit in limits]
            known = [np.inf if n is None else n for n in needed]
            assert known == sorted(known, reverse=True)
            assert side < 0 or known[-1] < np.inf


@pytest.mark.skipif(not PANELS.is_dir(), reason="the panels are not beside this checkout")
def test_so_many_random_labels_decide_a_limit_of_real_panels() -> None:
    """On the panels of at most 350 tasks whose share of wrong labels is within .05 of the stated one, as is assumed."""
    decided = []
    rng = np.random.default_rng(0)
    for name in ("care_asset2", "css_tempowic", "llmbar_llmeval2", "llmbar_natural"):
        with (PANELS / name / "truth.csv").open(newline="") as file:
            truth = {row["task"]: row["label"] for row in csv.DictReader(file)}
        answers = quorate.read(PANELS / name / "labels.csv", judges=True)
        basis = quorate.aggregate(answers).confidence_basis
        assert basis is not None
        assert basis.share_wrong is not None
        for distance in (0.1, 0.15):
            limit = basis.share_wrong.mean + distance
            n = basis.labels_to_decide(limit)
            assert n is not None
            for _ in range(4):
                gold = {task: truth[task] for task in rng.choice(sorted(truth), n, replace=False)}
                decided.append(check(answers, max_error=limit, gold=gold).decision != "undecided")
    assert np.mean(decided) > 0.5
