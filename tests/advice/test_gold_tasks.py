import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.advice.gold_tasks import gold_tasks, suggest_gold
from quorate.errors import BlankFieldError, OptionError
from quorate.io.write_table import write_table
from quorate.simulate import crowd
from tests.advice.samples import run

CROWD = crowd(120, 15, 4, n_classes=3, seed=4)


def test_two_thirds_are_of_the_least_sure_and_the_rest_is_drawn() -> None:
    found = suggest_gold(CROWD.answers, 30)
    assert len(set(found.task.tolist())) == 30
    assert found.is_random.sum() == 10
    doubt = 1 - found.result.vote.confidence
    assert doubt[found.task[~found.is_random]].mean() > np.sort(doubt)[-40:].mean()
    assert doubt[found.task[~found.is_random]].mean() > doubt[found.task[found.is_random]].mean()
    assert np.all(found.inclusion_probability[~found.is_random] == 1)


def test_the_same_seed_gives_the_same_tasks_and_another_draws_others() -> None:
    result = quorate.aggregate(CROWD.answers)
    one, two, other = gold_tasks(result, 30), gold_tasks(result, 30), gold_tasks(result, 30, seed=1)
    assert one.tasks == two.tasks
    assert one.tasks != other.tasks
    assert set(one.task[~one.is_random]) == set(other.task[~other.is_random])


def test_a_mean_weighed_by_the_inclusion_probability_is_unbiased_for_all_tasks() -> None:
    """Over 400 draws; the standard error of the mean is printed by the test itself where it fails."""
    result = quorate.aggregate(CROWD.answers)
    wrong = (result.vote.label != CROWD.truth).astype(float)
    totals = []
    for seed in range(400):
        found = gold_tasks(result, 30, seed=seed)
        totals.append((wrong[found.task] / found.inclusion_probability).sum() / len(wrong))
    error = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - wrong.mean()) < 4 * error
    naive = wrong[found.task].mean()
    assert naive > 1.5 * wrong.mean()  # what the least sure alone would say of all


def test_every_task_is_drawn_as_often_as_its_probability_says() -> None:
    result = quorate.aggregate(CROWD.answers)
    times, stated = np.zeros(120), np.full(120, np.nan)
    for seed in range(300):
        found = gold_tasks(result, 15, seed=seed)
        times[found.task[found.is_random]] += 1
        stated[found.task[found.is_random]] = found.inclusion_probability[found.is_random]
    never = np.isnan(stated)
    assert never.sum() == 10  # those that are always asked
    assert times[~never].mean() / 300 == pytest.approx(stated[~never].mean(), rel=0.02)
    assert np.abs(times[~never] / 300 - stated[~never]).max() < 4 * np.sqrt(0.05 * 0.95 / 300)


def test_the_least_sure_are_spread_over_workers_labels_and_parts_of_the_crowd() -> None:
    one, two = crowd(60, 6, 3, seed=1), crowd(60, 6, 3, seed=2)
    rows = [(f"a{r['task']}", f"a{r['worker']}", r["label"]) for r in one.answers.to_table().to_pylist()]
    rows += [(f"b{r['task']}", f"b{r['worker']}", r["label"]) for r in two.answers.to_table().to_pylist()]
    task, worker, label = (list(column) for column in zip(*rows, strict=True))
    found = suggest_gold({"task": task, "worker": worker, "label": label}, 12)
    asked = [
        name for name, is_random in zip(found.tasks["task"].to_pylist(), found.is_random, strict=True) if not is_random
    ]
    assert {name[0] for name in asked} == {"a", "b"}
    labels = [row["current_label"] for row in found.tasks.to_pylist()]
    assert len(set(labels)) == 2
    a = found.result.answers
    plain = np.argsort(found.result.vote.confidence, kind="stable")[:8]
    spread, alone = (len(np.unique(a.worker[np.isin(a.task, some)])) for some in (found.task[~found.is_random], plain))
    assert spread > alone  # of twelve, by eight tasks of three answers


def test_known_tasks_are_not_asked_and_nothing_left_is_reported() -> None:
    gold = {f"t{k}": f"c{CROWD.truth[k]}" for k in range(110)}
    found = suggest_gold(CROWD.answers, 30, gold=gold)
    assert sorted(found.tasks["task"].to_pylist()) == sorted(f"t{k}" for k in range(110, 120))
    assert np.all(found.inclusion_probability == 1)
    everything = {f"t{k}": f"c{CROWD.truth[k]}" for k in range(120)}
    with pytest.raises(OptionError, match="nothing is left to label"):
        suggest_gold(CROWD.answers, 3, gold=everything)
    with pytest.raises(OptionError, match="must be at least 1, got 0"):
        suggest_gold(CROWD.answers, 0)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_table(CROWD.answer_table, tmp_path / "answers.csv")
    (tmp_path / "known.csv").write_text("task,label\nt0,c0\nt1,c1\n")
    return tmp_path


def test_the_command_takes_a_number_and_a_file_of_known_labels(files: Path) -> None:
    done = run(files / "answers.csv", "--gold", 9, "--gold", files / "known.csv", "-o", files / "gold.csv")
    assert done.exit_code == 0, done.output
    lines = (files / "gold.csv").read_text().splitlines()
    assert lines[0] == "task,label,inclusion_probability"
    assert len(lines) == 10
    assert not any(line.startswith(("t0,", "t1,")) for line in lines)
    assert "9 tasks for an expert" in done.output
    again = run(files / "answers.csv", "--gold", 9, "--gold", files / "known.csv", "-o", files / "again.csv")
    assert again.exit_code == 0
    assert "--gold 9 is now --expert 9" in again.output
    assert (files / "again.csv").read_bytes() == (files / "gold.csv").read_bytes()
    found = json.loads(run(files / "answers.csv", "--expert", 9, "--json").stdout)
    assert found["advised"] == len(found["gold_tasks"]) == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "next.csv"), "-o needs --budget N"),
        (("--expert", "3", "--budget", "2"), "Give one of them"),
        (("--expert", "3", "--gold", "4"), "is given twice"),
        (("--expert", "3", "--available", "known.csv"), "--available"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(files: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run(files / "answers.csv", *arguments)
    assert done.exit_code != 0
    assert message in str(done.exception)


def test_the_expert_fills_in_the_users_own_columns(files: Path) -> None:
    rows = ["Item ID,Text,Annotator,Sentiment,Seconds"]
    rng = np.random.default_rng(0)
    for k in range(120):
        for worker in "abc":
            label = ("good", "bad")[(k + (rng.random() < 0.3)) % 2]
            rows.append(f"i{k},text {k},{worker},{label},{rng.integers(99)}")
    (files / "team.csv").write_text("\n".join(rows) + "\n")
    names = ("--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment")
    done = run(files / "team.csv", *names, "--expert", 12, "-o", files / "expert.csv", "--key", files / "key.csv")
    assert done.exit_code == 0, done.output
    header, *lines = (files / "expert.csv").read_text().splitlines()
    assert header == "Item ID,Text,Sentiment,inclusion_probability"
    assert all(line.split(",")[1] == f"text {line.split(',')[0][1:]}" for line in lines)
    assert all(line.split(",")[2] == "" for line in lines)
    assert "current_label" in (files / "key.csv").read_text().splitlines()[0]
    probabilities = [float(line.split(",")[3]) for line in lines]
    assert probabilities.count(1.0) == 8
    assert all(0 < each < 1 for each in probabilities if each != 1.0)
    gold: Any = {"task": "Item ID", "worker": "Annotator", "label": "Sentiment"}
    with pytest.raises(BlankFieldError, match="Fill in the column 'Sentiment'"):
        quorate.aggregate(str(files / "team.csv"), gold=str(files / "expert.csv"), **gold)
    filled = [line.replace(",,", ",good,") for line in lines[:9]] + lines[9:]
    (files / "expert.csv").write_text("\n".join([header, *filled]) + "\n")
    result = quorate.aggregate(str(files / "team.csv"), gold=str(files / "expert.csv"), **gold)
    assert result.gold is not None
    assert (result.gold >= 0).sum() == 9  # tasks without a label yet are left out
    # The usual names of the columns do as well.
    (files / "usual.csv").write_text("task,label\ni3,good\ni4,bad\n")
    result = quorate.aggregate(str(files / "team.csv"), gold=str(files / "usual.csv"), **gold)
    assert result.gold is not None
    assert (result.gold >= 0).sum() == 2


def test_a_column_that_could_be_the_label_is_not_shown() -> None:
    table = {
        "task": [1, 1, 2, 2],
        "worker": list("abab"),
        "label": list("xyyx"),
        "answer key": list("xxyy"),
        "text": ["p", "p", "q", "q"],
    }
    assert quorate.suggest_gold(table, 2).sheet.column_names == ["task", "text", "label", "inclusion_probability"]


def test_advise_without_options_prints_the_next_steps(files: Path) -> None:
    done = run(files / "answers.csv")
    assert done.exit_code == 0, done.output
    assert "Have an expert label" in done.output
    found = json.loads(run(files / "answers.csv", "--json").stdout)
    assert [step["title"] for step in found["steps"]]


def test_labels_of_an_expert_do_not_make_the_other_labels_worse(real: Any) -> None:
    """Most advised labels are of uncertain tasks: unweighted, they shifted the class prior of all tasks (error .23)."""
    data = real.load("dogs")
    result = quorate.aggregate(data.answers)
    error_without = result.score(data.truth).error
    class_of_task = dict(zip(data.truth["task"].to_pylist(), data.truth["label"].to_pylist(), strict=True))
    for seed in range(6):
        tasks = gold_tasks(result, 30, seed=seed).tasks["task"].to_pylist()
        gold = {task: class_of_task[task] for task in tasks}
        assert quorate.aggregate(data.answers, gold=gold).score(data.truth).error < error_without
