import json
from pathlib import Path
from typing import Any

import pytest

from quorate.advice.adaptive_skills import adaptive_skills
from quorate.advice.advise import advise
from quorate.errors import InputError, OptionError, QuorateError
from quorate.simulate import crowd
from tests.advice.samples import run
from tests.crowds import answers_of


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "at least 1, got 0"),
        ({"target_error": 0.0}, "between 0 and 1.*got 0"),
        ({"target_error": 1.0}, "between 0 and 1.*got 1"),
        ({"per_worker": 0}, "at least one task, got 0"),
        ({"cost": "price"}, "needs a table of workers"),
        ({"width": 0.0}, "between 0 and 2"),
        ({"available": {"who": ["a"]}}, "no column 'worker'.*needs the column 'worker'"),
        ({"available": {"worker": ["a"]}, "cost": "price"}, "no column 'price'.*cost="),
        (
            {"available": {"worker": ["a", "b"], "price": [1, -2]}, "cost": "price"},
            "not a positive number.*row 2|row 2.*not a positive number",
        ),
        ({"available": {"worker": ["a", "b"], "price": ["1", "x"]}, "cost": "price"}, "not a number"),
        ({"available": {"worker": ["a", "a"], "price": [1, 2]}, "cost": "price"}, "two costs in row 1"),
        ({"available": {"worker": ["a", " "]}}, "'worker' is missing in row 2"),
        ({"available": {"worker": []}}, "is empty"),
        ({"available": ["a", "b", "c"]}, "All 3 available workers have already answered all 8 tasks"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(options: dict[str, Any], message: str) -> None:
    answers = answers_of([(t, w, "xy"[(t * k) % 2]) for t in range(8) for k, w in enumerate("abc")])
    with pytest.raises((OptionError, InputError), match=message):
        advise(answers, **{"budget": 5, **options})


def test_one_class_is_refused() -> None:
    with pytest.raises(OptionError, match="Every answer is the same"):
        advise({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, 3)
    with pytest.raises(OptionError, match="level"):
        adaptive_skills(crowd(10, 4, 3).answers, level=1.0)


def test_two_workers_cannot_be_repaired_and_a_newcomer_can() -> None:
    answers = answers_of([(t, w, "xy"[t % 2]) for t in range(6) for w in "ab"])
    with pytest.raises(QuorateError, match="already answered"):
        advise(answers, 3)
    advice = advise(answers, 3, available=["c"])
    assert advice.assignments["reason"].to_pylist()[0].startswith("repair")
    apart = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (3, "b", "y")])
    assert "Add a third worker" in advise(apart, 1).summary()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    from quorate.io.write_table import write_table

    write_table(crowd(60, 8, 3, seed=0).answer_table, tmp_path / "answers.csv")
    (tmp_path / "workers.csv").write_text("worker,price\nw1,1\nw2,2\nnew,1.5\n")
    return tmp_path


def test_the_command_writes_what_the_function_advises(files: Path) -> None:
    chosen = [files / "answers.csv", "--budget", 12, "--available", files / "workers.csv", "--cost", "price"]
    done = run(*chosen, "--per-worker", 5, "-o", files / "next.csv", "--tasks-out", files / "tasks.csv")
    assert done.exit_code == 0, done.output
    lines = (files / "next.csv").read_text().splitlines()
    assert lines[0] == "task,worker,reason,gain,cost"
    advice = advise(str(files / "answers.csv"), 12, available=str(files / "workers.csv"), cost="price", per_worker=5)
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [row["task"], row["worker"]] for row in advice.assignments.to_pylist()
    ]
    assert f"{advice.n_assignments} assignments: " in done.output
    assert (files / "tasks.csv").read_text().startswith("task,confidence,enough,further\n")


def test_json_is_one_object_and_a_pipe_gets_the_table(files: Path) -> None:
    found = json.loads(run(files / "answers.csv", "--budget", 4, "--json", "--target-error", 0.01).stdout)
    assert found["advised"] == len(found["assignments"]) == 4
    assert found["stop"] is False
    assert len(found["task_needs"]) == 60
    assert found["skills_by"] == "one-coin"
    assert found["tasks_with_enough"] == sum(row["enough"] for row in found["task_needs"])
    assert run(files / "answers.csv", "--budget", 4).stdout.splitlines()[0] == "task,worker,reason,gain"
