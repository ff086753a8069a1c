"""Where every task has a known label, outputs state what the answers alone give, and propose nothing to label."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import OptionError
from tests.cli.command_lines import table
from tests.cli.running import quorate as run

N = 60


def write(n_workers: int, n_tasks: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Write answers of workers who are right about 70% of the time, and the known label of every task."""
    rng = np.random.default_rng(n_workers)
    truth = rng.integers(0, 2, n_tasks)
    answers = np.where(rng.random((n_workers, n_tasks)) < 0.7, truth, 1 - truth)
    rows = [(f"t{t}", f"judge{w}", "ny"[answers[w, t]]) for t in range(n_tasks) for w in range(n_workers)]
    Path("answers.csv").write_text(table("task,worker,label", rows))
    Path("gold.csv").write_text(table("task,label", [(f"t{t}", "ny"[truth[t]]) for t in range(n_tasks)]))
    return truth, answers


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("judges", ["--judges", "--no-judges"])
@pytest.mark.parametrize("n_workers", [1, 2, 3, 7])
def test_outputs_state_what_the_answers_alone_give(n_workers: int, judges: str, capsys: Any) -> None:
    truth, answers = write(n_workers)
    code, out, err = run(capsys, "aggregate", "answers.csv", "--gold", "gold.csv", judges, "-o", "labels.csv")
    assert code == 0, err
    assert "By the answers alone, " in out
    assert "probably wrong" not in out + err
    assert "No confidence can be given" not in out + err
    assert "--expert" not in out + err
    if n_workers == 1:
        assert f"By the answers alone, {(answers[0] == truth).sum()} of {N} labels are right" in out


@pytest.mark.parametrize("n_workers", [1, 3, 7])
def test_check_decides_by_what_the_answers_alone_give(n_workers: int, capsys: Any) -> None:
    write(n_workers)
    arguments = ["check", "answers.csv", "--gold", "gold.csv", "--json", "--max-error"]
    share = json.loads(run(capsys, *arguments, "0.5")[1])["checks"][0]["figure"]
    assert 0.02 < share < 0.5
    for limit, expected in ((share - 0.01, 1), (share + 0.01, 0)):
        code, out, _ = run(capsys, *arguments[:-2], "--max-error", limit)
        assert code == expected
        assert f"({N} known labels; limit" in out


def test_shares_are_exact_and_have_no_interval(capsys: Any) -> None:
    truth, _ = write(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = quorate.estimate("answers.csv", gold="gold.csv")
    share = found.prevalence["y"]
    assert share.value == share.low == share.high == truth.mean()
    assert found.table["low"].null_count == len(found.table["low"])
    code, out, err = run(capsys, "estimate", "answers.csv", "--gold", "gold.csv")
    assert (code, err) == (0, "")
    assert "these shares are exact" in out
    assert "interval" not in out
    assert "-0.000" not in out


@pytest.mark.parametrize("n_known", range(1, 5))
def test_fewer_known_labels_than_documented_are_refused(n_known: int) -> None:
    truth, _ = write(3)
    gold = {"task": [f"t{k}" for k in range(n_known)], "label": ["ny"[truth[k]] for k in range(n_known)]}
    with pytest.raises(OptionError, match="too few for an interval"):
        quorate.estimate("answers.csv", gold=gold)


@pytest.mark.parametrize("n_tasks", [1, 2, 3])
def test_a_few_tasks_that_are_all_known_cause_no_warning(n_tasks: int) -> None:
    truth, _ = write(1, n_tasks)
    gold = {"task": [f"t{k}" for k in range(n_tasks)], "label": ["ny"[code] for code in truth]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = quorate.estimate("answers.csv", gold=gold, classes=["n", "y"])
    assert found.prevalence["y"].value == truth.mean()
