"""aggregate, diagnose, advise, check, report and the notebook view state the same problems in the same words."""

import html
import re
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

import quorate
from quorate.answers import Answers
from quorate.diagnostics.finding import KINDS, STOP, TRAIN
from quorate.diagnostics.ratings import possible_guessers_text
from quorate.reporting.report import report
from quorate.simulate import crowd
from tests.cli.running import quorate as run


def tara() -> Answers:
    """Six workers, one of whom guesses in 126 of 800 answers: the crowd of an example where outputs contradicted."""
    skills = np.array([0.8, 0.75, 0.8, 0.7, 0.85, 0.0])
    activity = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.9])
    return crowd(200, 6, 4, skills=skills, activity=activity, seed=1).answers


def one_class() -> Answers:
    """A worker who gives one class, whatever the task."""
    answers = crowd(300, 8, 4, skills=np.full(8, 0.7), n_classes=3, seed=1).answers
    label = np.where(answers.worker == 2, 1, answers.label)
    table = answers.to_table().arrow.to_pydict()
    classes = answers.classes.to_pylist()
    rows = sorted(zip(answers.task.tolist(), answers.worker.tolist(), label.tolist(), strict=True))
    assert len(rows) == len(table["task"])
    tasks = answers.task_names.to_pylist()
    workers = answers.worker_names.to_pylist()
    return quorate.read(
        {
            "task": [tasks[t] for t, _, _ in rows],
            "worker": [workers[w] for _, w, _ in rows],
            "label": [classes[c] for _, _, c in rows],
        }
    )


def models() -> Answers:
    """A panel of language models without known labels."""
    skills = np.array([0.9, 0.8, 0.9, 0.5])
    answers = crowd(300, 4, 4, skills=skills, seed=2).answers
    names = {"w0": "gpt-4o-mini", "w1": "claude-3-haiku", "w2": "gemini-1.5-pro", "w3": "llama-3-8b-instruct"}
    table = answers.to_table().arrow.to_pydict()
    return quorate.read({**table, "worker": [names[worker] for worker in table["worker"]]})


CROWDS: dict[str, Any] = {
    "a guesser": tara,
    "one class": one_class,
    "swapped labels": lambda: crowd(400, 8, 4, skills=np.array([0.8] * 6 + [-0.7, -0.6]), seed=0).answers,
    "nothing wrong": lambda: crowd(400, 8, 5, skills=np.full(8, 0.75), seed=0).answers,
    "few answers": lambda: crowd(60, 20, 2, seed=0).answers,
    "language models": models,
}


def outputs(answers: Answers) -> dict[str, Any]:
    result = quorate.aggregate(answers)
    return {
        "result": result,
        "aggregate": result.summary(),
        "notebook": html.unescape(result._repr_html_()),
        "diagnosis": quorate.diagnose(answers),
        "of result": result.diagnosis,
        "advise": quorate.next_steps(answers),
        "check": quorate.check(answers, fail_on=["any"]),
        "report": report(answers, methods=[]),
    }


def compare(answers: Answers) -> None:
    made = outputs(answers)
    findings = made["diagnosis"].findings
    assert [each.line for each in made["of result"].findings] == [each.line for each in findings]
    assert [each.line for each in made["report"].diagnosis.findings] == [each.line for each in findings]
    page = html.unescape(made["report"].html())
    advised = made["advise"].summary()
    diagnosed = made["diagnosis"].summary()
    acted = [each for each in findings if each.action]
    # What is to be done about workers: every output, the same sentence with the same figures.
    for finding in acted[:3]:
        for name, text in {
            "aggregate": made["aggregate"],
            "notebook": made["notebook"],
            "diagnose": diagnosed,
            "advise": advised,
            "report": page,
        }.items():
            assert finding.line in text, (name, finding.line)
    # Counts: of problems, of workers, of labels.
    for action in (STOP, TRAIN):
        n = sum(len(each.workers) for each in acted if each.action == action)
        title = f"{action.capitalize()} {n} worker"
        for text in (advised, page):
            assert (title in text) == (n > 0)
    n_unreliable = sum(len(each.workers) for each in acted)
    if n_unreliable:
        assert re.search(rf"^{n_unreliable} unreliable workers?:", made["aggregate"], re.MULTILINE)
    else:
        assert "unreliable worker" not in made["aggregate"] or "No unreliable workers found" in made["aggregate"]
    assert made["diagnosis"].headline() in page
    assert made["diagnosis"].headline() in diagnosed
    # check --fail-on any fails exactly where there is a finding, kind by kind.
    failed = {each.name.removeprefix("fail-on ") for each in made["check"].failed}
    assert failed == {each.kind for each in findings}
    assert made["check"].holds == (not findings)
    for finding in findings:
        line = next(each.line() for each in made["check"].checks if each.name == f"fail-on {finding.kind}")
        if made["diagnosis"].of_kind(finding.kind).index(finding) < 3:
            assert finding.line in line
    # Workers who may be guessing, without a finding, are named alike.
    unsure = possible_guessers_text(made["result"], findings)
    for text in (made["aggregate"], made["notebook"], diagnosed, page):
        assert ("may be guessing, but" in text) == ("may be guessing, but" in unsure)
        assert unsure in text
    # Whether more answers help is one decision, whatever the budget.
    assert made["advise"].prospect.helps == made["report"].next.prospect.helps
    for budget in (5, 50):
        try:
            advice = quorate.advise(answers, budget)
        except quorate.errors.OptionError:
            continue
        if not advice.reasons:
            assert advice.is_recommended == made["advise"].prospect.helps
            assert ("Not recommended" in advice.summary()) == (not advice.is_recommended)
    # The share of wrong labels is one figure.
    share = re.search(r"About (\S+%) of the labels are probably wrong", made["aggregate"])
    if share is not None:
        assert f"About {share[1]} of the labels are probably wrong now" in advised
        assert f"About {share[1]}" in page


@pytest.mark.parametrize("name", CROWDS)
def test_outputs_state_the_same_findings(name: str) -> None:
    compare(CROWDS[name]())


@pytest.mark.parametrize("name", ["dogs", "bluebird", "web", "rte1"])
def test_outputs_on_public_crowds_state_the_same_findings(real: Any, name: str) -> None:
    compare(real.load(name).answers)


def test_a_worker_who_guesses_is_named_everywhere_with_what_to_do() -> None:
    findings = quorate.diagnose(tara()).findings
    (finding,) = [each for each in findings if each.action]
    assert finding.workers == (5,)
    assert finding.line.endswith("[stop or retest]")


def test_causes_come_before_their_effects() -> None:
    """A worker who gives one class makes accuracy depend on the class; that is no finding of its own."""
    findings = quorate.diagnose(one_class()).findings
    kinds = [each.kind for each in findings]
    assert kinds[0] == "one-button"
    assert "class-dependent-accuracy" not in kinds
    ranks = [KINDS.index(kind) for kind in kinds]
    assert ranks == sorted(ranks)


def test_language_models_without_known_labels_are_warned_about_everywhere() -> None:
    made = outputs(models())
    sentence = "Judges often share mistakes, so agreement shows little about accuracy"
    page = html.unescape(made["report"].html())
    for text in (made["aggregate"], made["notebook"], made["diagnosis"].summary(), page):
        assert sentence in text
    assert "reliable</span>" not in page
    assert "agreement" in made["result"].workers.column_names
    assert "Judges agree with these labels" in made["aggregate"]
    checked = quorate.check(models(), max_error=0.2)
    assert checked.decision == "undecided"


def test_every_output_warns_of_unchecked_language_models() -> None:
    """The same sentence stands in aggregate, diagnose, advise, check, estimate, report and the notebook view."""
    answers = models()
    result = quorate.aggregate(answers)
    (warning,) = result.judge_warnings()
    sentence = warning.removeprefix("Warning: ")
    outputs = {
        "aggregate": result.summary(),
        "diagnose": quorate.diagnose(result).summary(),
        "next steps": quorate.next_steps(answers).summary(),
        "advise": quorate.advise(result, 5, available=["new"]).summary(),
        "check": quorate.check(answers, max_error=0.1).summary(),
        "check of agreement": quorate.check(answers, min_alpha=0.1).summary(),
        "estimate": quorate.estimate(answers).summary(),
        "notebook": html.unescape(result._repr_html_()),
        "report": html.unescape(report(answers, methods=[]).html()),
    }
    assert [name for name, text in outputs.items() if sentence not in text] == []
    truth = dict.fromkeys(answers.task_names.to_pylist()[:30], "c0")
    for checked in (quorate.check(answers, gold=truth, max_error=0.1), quorate.estimate(answers, gold=truth)):
        assert sentence not in checked.summary()
        assert checked.warnings == ()


def test_unchecked_language_models_have_agreement_and_no_accuracy() -> None:
    """Neither an accuracy nor one by class is stated before there are known labels."""
    workers = quorate.aggregate(models()).workers
    assert workers["agreement"].null_count == 0
    for column in ("accuracy", "class_accuracy", "skill_low", "skill_high"):
        assert workers[column].null_count == len(workers), column


def test_the_warning_remains_with_quiet(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verdicts.parquet"
    table = models().to_table().arrow
    parquet.write_table(table, file)
    code, out, error = run(capsys, "aggregate", file, "-o", tmp_path / "labels.csv", "--quiet")
    assert (code, out) == (0, "")
    assert "look like LLM judges" in error


def test_known_labels_come_first_for_language_models() -> None:
    """Its first step is the expert's, whose labels go to estimate; of people, it is the last and goes to aggregate."""
    first = quorate.next_steps(models()).all()[0]
    assert first.title.startswith("Have an expert label")
    assert "quorate estimate" in first.commands[1]
    last = quorate.next_steps(tara()).all()[-1]
    assert "quorate aggregate" in last.commands[1]


def test_every_kind_of_finding_has_a_phrase() -> None:
    """`check --fail-on any` states a line for every kind."""
    found = quorate.check(tara(), fail_on=["any"])
    kinds = [*(check.name.removeprefix("fail-on ") for check in found.checks), *found.not_tested]
    assert sorted(kinds) == sorted(KINDS)
    assert all(check.line() for check in found.checks)
