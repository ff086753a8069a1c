"""Next steps: whom to stop or train, what to collect, what an expert should label, and the effect."""

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.advice.advise import advise_result
from quorate.advice.expected_error import error_after
from quorate.cli.app import main
from quorate.diagnostics.right_shares import extra_wrong_answers, wrong_answers
from quorate.evaluation.metrics import expected_error
from quorate.io.options import ReadOptions
from quorate.io.proposals import source_as_typed
from quorate.reporting.page_text import tiles, title_of
from quorate.reporting.report import Report, report

SKILLS = np.array([*np.linspace(0.6, 0.9, 16), 0.0, 0.0, -0.7, -0.7])


@pytest.fixture(scope="module")
def crowd() -> Any:
    return quorate.simulate.crowd(600, 20, 4, skills=SKILLS, seed=5)


@pytest.fixture(scope="module")
def made(crowd: Any) -> Report:
    return report(crowd.answers, methods=[], truth=crowd.truth_table)


@pytest.fixture(scope="module")
def large() -> Report:
    """The same workers with answers enough to tell one who guesses from one who knows little."""
    return report(quorate.simulate.crowd(1500, 20, 4, skills=SKILLS, seed=5).answers, methods=[])


def test_the_page_opens_with_what_to_do(made: Report) -> None:
    page = made.html()
    assert page.index("At a glance</h2>") < page.index("What to do next</h2>") < page.index("Problems found</h2>")
    for step in made.next.all():
        assert f"<h3>{step.title}</h3>" in page


def test_guessers_are_stopped_and_the_systematically_wrong_are_trained(made: Report, large: Report) -> None:
    for each in (made, large):
        steps = {step.title.split()[0]: step for step in each.next.all()}
        assert {"w18", "w19"} <= {name for name, _ in steps["Train"].named}  # they exchange the labels
        assert steps["Train"].effect
        stopped = {name for name, _ in steps["Stop"].named} if "Stop" in steps else set()
        assert stopped <= {"w16", "w17"}
    assert stopped == {"w16", "w17"}  # with enough answers, those who guess are named
    assert steps["Stop"].effect


def test_a_step_and_the_problems_state_a_finding_in_the_same_words(large: Report) -> None:
    steps = [what for step in large.next.all() for _, what in step.named]
    findings = [each for each in large.diagnosis.findings if each.action]
    assert findings
    for finding in findings:
        assert finding.line in steps


def test_what_workers_cost_is_counted_in_answers(crowd: Any, made: Report) -> None:
    cost, wrong = extra_wrong_answers(made.result), wrong_answers(made.result)
    assert set(np.argsort(-cost)[:4].tolist()) == {16, 17, 18, 19}
    answers = crowd.answers
    truly = answers.by_worker(answers.label != crowd.truth[answers.task])
    assert (
        np.abs(wrong - truly).max() < 0.15 * answers.per_worker.max()
    )  # 120 answers: three standard errors of a share


def test_the_expected_error_after_asking_comes_true(crowd: Any) -> None:
    """Collect the advised answers from workers of known skill: the error of the labels is about the one stated."""
    result = quorate.aggregate(crowd.answers, dependence="independent")
    advice = advise_result(result, 300)
    stated = error_after(advice).mean()
    assert stated < 0.9 * advice.answers_needed.error.mean()
    rng = np.random.default_rng(0)
    truth = crowd.truth[advice.task]
    right = rng.random(len(truth)) < (1 + crowd.skills[advice.worker]) / 2
    table = crowd.answers.to_table().arrow.to_pydict()
    more = advice.assignments.arrow.to_pydict()
    classes = crowd.answers.classes.to_pylist()
    table["task"] += more["task"]
    table["worker"] += more["worker"]
    table["label"] += [classes[c] for c in np.where(right, truth, 1 - truth)]
    after = expected_error(quorate.aggregate(table), crowd.truth_table).error
    before = expected_error(result, crowd.truth_table).error
    assert after < before
    assert abs(after - stated) < 3 * np.sqrt(stated / 600)  # three standard errors of a share of 600 tasks


def test_nothing_gets_worse_by_asking(made: Report) -> None:
    assert (made.next.prospect.error <= made.next.now + 1e-12).all()
    assert made.next.after <= made.next.prospect.error.mean() <= made.next.now.mean()


def test_the_truth_stands_beside_what_should_be_right(crowd: Any, made: Report) -> None:
    shown = tiles(made.result, 0.9, made.score)
    places = [k for k, tile in enumerate(shown) if "of labels" in tile.what]
    assert len(places) == 2
    assert places[1] == places[0] + 1
    error = expected_error(made.result, crowd.truth_table).error
    assert shown[places[1]].figure == f"{1 - error:.0%}"


@pytest.mark.parametrize(
    ("options", "tone", "words"),
    [
        ({}, "doubt", "estimated from 26 public datasets"),
        ({"gold": {f"t{k}": "c0" for k in range(5)}}, "good", "estimated with 5 known labels"),
        ({"dependence": "independent"}, "doubt", "as you declared"),
        ({"method": "one-coin"}, "unknown", "as stated by the method"),
    ],
)
def test_what_should_be_right_is_coloured_by_what_it_rests_on(
    crowd: Any, options: dict[str, Any], tone: str, words: str
) -> None:
    tile = next(t for t in tiles(quorate.aggregate(crowd.answers, **options), 0.9) if "probably right" in t.what)
    assert tile.tone == tone
    assert words in tile.more


def test_the_commands_do_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my answers.csv").write_text(
        "item,worker,label\n"
        + "".join(f"t{k},w{k % 5},c{k % 2}\nt{k},w{(k + 1) % 5},c{k % 3 % 2}\n" for k in range(40))
    )
    again = report("my answers.csv", task="item", methods=[])
    commands = [command for step in again.next.all() for command in step.commands if " advise " in command]
    assert commands
    for command in commands:
        assert "'my answers.csv' --task item" in command
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0
        assert (tmp_path / command.split()[-1]).exists()


def test_a_page_goes_to_standard_output(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("task,worker,label\n" + "".join(f"{t},{w},x{t % 2}\n" for t in range(9) for w in "abc"))
    with pytest.raises(SystemExit):
        main(["report", str(path), "-o", "-", "--compare", ""])
    out = capfd.readouterr().out
    assert out.startswith("<!DOCTYPE html>")
    assert out.rstrip().endswith("</html>")
    assert "<h1>Reviews</h1>" in out


def test_a_title_is_not_the_name_of_a_file() -> None:
    answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    for name in ("labels.csv", "data/export.json", None, "project-1-at-2024.json"):
        assert title_of(name, answers) == "3 workers on 2 tasks"
    assert not re.search(r"\.csv", title_of("tone.csv", answers))
    assert source_as_typed(None, ReadOptions()) == "FILE"
