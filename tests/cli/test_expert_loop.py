"""The loop of advising, labelling and aggregating: no known label is lost, and printed commands keep the files."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate as library
from quorate import simulate
from quorate.errors import ConflictingGoldError
from tests.cli.command_lines import table
from tests.cli.running import quorate
from tests.cli.test_printed_commands import printed_commands


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Write answers.csv; return the true label of each task."""
    monkeypatch.chdir(tmp_path)
    crowd = simulate.crowd(120, 5, 3, skills=np.array([0.7, 0.6, 0.6, 0.5, 0.3]), seed=5)
    rows = [tuple(map(str, row.values())) for row in crowd.answers.to_table().to_pylist()]
    Path("answers.csv").write_text(table("task,worker,label", rows))
    return {str(row["task"]): str(row["label"]) for row in crowd.truth_table.to_pylist()}


def fill_in(path: str, truth: dict[str, str], most: int | None = None) -> dict[str, str]:
    """Fill in the expert's labels; return them."""
    with Path(path).open() as file:
        rows = list(csv.DictReader(file))
    for row in rows[:most]:
        row["label"] = truth[row["task"]]
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return {row["task"]: row["label"] for row in rows[:most]}


def test_two_rounds_by_the_printed_commands_keep_every_known_label(truth: dict[str, str], capsys: Any) -> None:
    known: dict[str, str] = {}
    command = ["advise", "answers.csv"]
    for _ in range(2):
        code, out, err = quorate(capsys, *command)
        assert code == 0, err
        ask, use = (
            next(words for words in printed_commands(out) if words[0] == name and name_of in words)
            for name, name_of in (("advise", "--expert"), ("aggregate", "--gold"))
        )
        code, out, err = quorate(capsys, *ask)
        assert code == 0, err
        assert use in list(printed_commands(out))
        labels = fill_in(ask[ask.index("-o") + 1], truth)
        assert not labels.keys() & known.keys()
        known |= labels
        code, out, err = quorate(capsys, *use, "-o", "labels.csv")
        assert code == 0, err
        assert f"your {len(known)} known labels" in out
        files = [word for k, word in enumerate(use) if use[k - 1] == "--gold"]
        command = ["advise", "answers.csv", *(word for file in files for word in ("--gold", file))]
    with Path("labels.csv").open() as file:
        written = {row["task"]: row["label"] for row in csv.DictReader(file)}
    assert {task: written[task] for task in known} == known
    for name in ("expert.csv", "expert-2.csv"):
        with Path(name).open() as stream:
            assert all(row["label"] for row in csv.DictReader(stream))


@pytest.mark.parametrize("limits", [["--max-error", "0.12"], ["--max-unsure", "0"], ["--fail-on", "any"]])
def test_commands_that_check_prints_keep_known_labels_and_replace_none(
    limits: list[str], truth: dict[str, str], capsys: Any
) -> None:
    quorate(capsys, "advise", "answers.csv", "--expert", "20", "-o", "expert.csv")
    fill_in("expert.csv", truth)
    before = Path("expert.csv").read_bytes()
    _, out, _ = quorate(capsys, "check", "answers.csv", "--gold", "expert.csv", *limits)
    for words in printed_commands(out):
        assert words[words.index("--gold") + 1] == "expert.csv"
        assert quorate(capsys, *words)[0] == 0
    assert Path("expert.csv").read_bytes() == before


@pytest.mark.parametrize("plan", [["--expert", "10"], ["--budget", "10", "--anyway"]])
def test_advise_refuses_to_overwrite_labels(plan: list[str], truth: dict[str, str], capsys: Any) -> None:
    quorate(capsys, "advise", "answers.csv", "--expert", "10", "-o", "expert.csv")
    assert quorate(capsys, "advise", "answers.csv", "--expert", "12", "-o", "expert.csv")[0] == 0  # still empty
    fill_in("expert.csv", truth, most=1)
    before = Path("expert.csv").read_bytes()
    code, _, err = quorate(capsys, "advise", "answers.csv", *plan, "-o", "expert.csv")
    assert code == 2
    assert "-o expert.csv" in err
    assert "expert-2.csv" in err
    assert "--gold expert.csv" in err
    assert Path("expert.csv").read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [["aggregate"], ["advise"], ["diagnose"], ["estimate", "--sampled", "random"], ["check", "--max-error", "1"]],
)
def test_known_labels_of_two_files_that_differ_are_an_error(
    command: list[str], truth: dict[str, str], capsys: Any
) -> None:
    tasks = list(truth)
    one = [(task, truth[task]) for task in tasks[:12]]
    Path("one.csv").write_text(table("task,label", one))
    Path("same.csv").write_text(table("task,label", [*one[:2], (tasks[20], truth[tasks[20]])]))
    other = next(label for label in truth.values() if label != truth[tasks[3]])
    Path("other.csv").write_text(table("task,label", [(tasks[3], other)]))
    name, *options = command
    code, _, err = quorate(capsys, name, "answers.csv", *options, "--gold", "one.csv", "--gold", "same.csv")
    assert code in (0, 3), err
    code, _, err = quorate(capsys, name, "answers.csv", *options, "--gold", "one.csv", "--gold", "other.csv")
    assert code == 2
    assert tasks[3] in err
    assert "one.csv" in err
    assert "other.csv" in err


def test_an_experts_file_without_labels_among_several_is_an_error(truth: dict[str, str], capsys: Any) -> None:
    quorate(capsys, "advise", "answers.csv", "--expert", "10", "-o", "expert.csv")
    fill_in("expert.csv", truth)
    quorate(capsys, "advise", "answers.csv", "--gold", "expert.csv", "--expert", "10", "-o", "expert-2.csv")
    code, _, err = quorate(capsys, "aggregate", "answers.csv", "--gold", "expert.csv", "--gold", "expert-2.csv")
    assert code == 2
    assert "expert-2.csv" in err


def test_several_files_equal_one_file_with_all_labels(truth: dict[str, str]) -> None:
    tasks = list(truth)
    parts = {"one.csv": tasks[:10], "two.csv": tasks[5:30], "all.csv": tasks[:30]}
    for file, named in parts.items():
        Path(file).write_text(table("task,label", [(task, truth[task]) for task in named]))
    one = library.aggregate("answers.csv", gold="all.csv")
    two = library.aggregate("answers.csv", gold=["one.csv", Path("two.csv")])
    np.testing.assert_array_equal(one.vote.posterior, two.vote.posterior)
    Path("bad.csv").write_text(table("task,label", [(tasks[0], "c0"), (tasks[0], "c1")]))
    with pytest.raises(ConflictingGoldError, match="two different known labels"):
        library.aggregate("answers.csv", gold=["one.csv", "bad.csv"])


def test_estimates_after_two_rounds_are_unbiased(truth: dict[str, str]) -> None:
    # Given the first round, the second is drawn among the tasks that it leaves open: the mean over many draws of the
    # second round is the true share, within three standard errors of that mean.
    answers = library.read("answers.csv")
    first = library.suggest_gold(answers, 15, seed=0)
    first.sheet.to_pandas().assign(label=lambda rows: rows["task"].map(truth)).to_csv("one.csv", index=False)
    share = np.mean([label == "c0" for label in truth.values()])
    estimates = []
    for seed in range(30):
        second = library.suggest_gold(answers, 45, gold="one.csv", seed=seed)
        second.sheet.to_pandas().assign(label=lambda rows: rows["task"].map(truth)).to_csv("two.csv", index=False)
        found = library.estimate(answers, gold=["one.csv", "two.csv"], sampled="advised")
        value = found.prevalence["c0"].value
        assert value is not None
        estimates.append(value)
    error = np.std(estimates, ddof=1) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - share) < 3 * error


def test_known_labels_with_semicolons_are_read(truth: dict[str, str]) -> None:
    rows = [(task, truth[task]) for task in list(truth)[:20]]
    Path("commas.csv").write_text(table("task,label", rows))
    Path("semicolons.csv").write_text(table("task,label", rows).replace(",", ";"))
    one = library.aggregate("answers.csv", gold="commas.csv")
    two = library.aggregate("answers.csv", gold="semicolons.csv")
    np.testing.assert_array_equal(one.vote.posterior, two.vote.posterior)
