"""Language models without known labels: every method and output warns, and none states how often they are right."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate.methods.registry import METHODS
from tests.cli.running import quorate as run

JUDGES = ["gpt-4o", "claude-3-opus", "gemini-1.5-pro", "mistral-large"]
PEOPLE = ["ann", "bob", "cy", "dora"]


def panel(names: list[str], n: int = 120) -> tuple[pd.DataFrame, dict[str, str]]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    labels = np.where(rng.random((n, len(names))) < 0.85, truth[:, None], 1 - truth[:, None])
    frame = pd.DataFrame(
        {
            "task": np.repeat([f"t{task}" for task in range(n)], len(names)),
            "worker": names * n,
            "label": np.array(["no", "yes"])[labels.ravel()],
        }
    )
    return frame, {f"t{task}": ["no", "yes"][truth[task]] for task in range(n)}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_warns_and_hides_accuracy(method: str) -> None:
    frame, truth = panel(JUDGES)
    if method == "gold-majority":  # which needs known labels
        return
    result = quorate.aggregate(frame, method)
    assert result.summary().startswith("Warning: These 4 workers look like LLM judges")
    workers = result.workers.to_pandas().set_index("worker")
    assert workers["accuracy"].isna().all()
    assert workers["skill_low"].isna().all()
    merged = frame.merge(result.labels.to_pandas()[["task", "label"]], on="task", suffixes=("", "_of_task"))
    share = (merged["label"] == merged["label_of_task"]).groupby(merged["worker"]).mean()
    pd.testing.assert_series_equal(workers["agreement"], share, check_names=False, check_index=True)
    known = dict(list(truth.items())[:40])
    if "gold" in METHODS[method].load().__code__.co_varnames or METHODS[method].runs_over_blocks:
        checked = quorate.aggregate(frame, method, gold=known)
        assert "agreement" not in checked.workers.column_names


@pytest.mark.parametrize("method", ["dawid-skene", "majority", "quorate"])
def test_people_and_declared_people_have_no_warning(method: str) -> None:
    for frame, judges in ((panel(PEOPLE)[0], None), (panel(JUDGES)[0], False)):
        answers = quorate.read(frame, judges=judges)
        result = quorate.aggregate(answers, method)
        assert "LLM" not in result.summary()
        assert "agreement" not in result.workers.column_names
        assert "LLM" not in quorate.agreement(answers).summary()
    declared = quorate.aggregate(quorate.read(panel(PEOPLE)[0], judges=True), method)
    assert "These 4 workers are LLM judges" in declared.summary()
    assert "agreement" in declared.workers.column_names


def test_every_output_warns() -> None:
    frame, truth = panel(JUDGES)
    outputs: list[Any] = [
        quorate.agreement(frame),
        quorate.compare(frame, methods=["majority", "quorate"]),
        quorate.estimate(frame),
        quorate.check(frame, max_error=0.3),
        quorate.check(frame, min_agreement=0.1),
        quorate.diagnose(frame),
        quorate.next_steps(frame),
        quorate.report(frame, methods=[]),
        quorate.report(frame, method="dawid-skene", methods=[]),
        quorate.advise(frame.sample(300, random_state=0), 5),
        quorate.aggregate(frame, "dawid-skene"),
    ]
    for output in outputs:
        assert "LLM judges" in output._repr_html_(), output
        assert len(repr(output)) < 200
    scored = quorate.compare(frame, truth=truth, methods=["majority", "quorate"])
    assert "LLM" not in scored.summary()


def test_a_method_without_a_law_for_models_states_no_share_of_right_labels() -> None:
    frame, _ = panel(JUDGES)
    result = quorate.aggregate(frame, "dawid-skene")
    assert result.expected_wrong() is None
    page = quorate.report(frame, method="dawid-skene", methods=[])
    for text in (page.summary(), page.html()):
        assert "You can use" not in text
        assert "probably wrong" not in text
    assert quorate.aggregate(panel(PEOPLE)[0], "dawid-skene").expected_wrong() is not None


def test_one_number_of_labels_is_proposed() -> None:
    for n in (40, 120, 400):
        text = quorate.aggregate(panel(JUDGES, n)[0]).summary()
        assert text.count("suggest_gold(answers, 30)") == 1
        assert text.count("suggest_gold") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["aggregate", "-o", "labels.csv"],
        ["check", "--max-error", "0.1", "--summary", "summary.md"],
        ["estimate"],
        ["advise"],
        ["advise", "--budget", "20", "--available", "people.csv"],
        ["report"],
        ["diagnose"],
        ["agreement"],
        ["compare", "--methods", "majority,wawa"],
    ],
    ids=" ".join,
)
def test_every_command_warns_and_proposes_known_labels_once(
    command: list[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    panel(JUDGES)[0].to_csv("verdicts.csv", index=False)
    pd.DataFrame({"worker": ["ann", "bob"]}).to_csv("people.csv", index=False)
    _, out, err = run(capsys, command[0], "verdicts.csv", *command[1:])
    texts = [out + err]
    if "--summary" in command:
        texts.append((tmp_path / "summary.md").read_text().replace("\\", ""))
    for text in texts:
        assert text.count("look like LLM judges") == 1
        assert text.count("quorate advise verdicts.csv --expert 30 -o expert.csv") == 1
        assert len(re.findall("[Ll]abel 30 tasks", text)) == 1


def test_one_output_for_people_proposes_known_labels_once() -> None:
    """A shared bias and the calibration both call for known labels."""
    biased, _ = panel(PEOPLE, 400)
    same = biased[biased["worker"] == "ann"]
    copies = [same.assign(worker=f"copy{k}") for k in range(3)]
    result = quorate.aggregate(pd.concat([biased, *copies]))
    assert result.summary().count("suggest_gold") <= 1


def test_commands_warn(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verdicts.csv"
    panel(JUDGES)[0].to_csv(file, index=False)
    for command in (["agreement"], ["compare", "--methods", "majority,wawa"], ["aggregate", "--method", "dawid-skene"]):
        code, out, err = run(capsys, command[0], file, *command[1:])
        assert code == 0
        assert "look like LLM judges" in out + err
        assert f"quorate advise {file} --expert 30" in out + err
