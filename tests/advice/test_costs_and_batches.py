"""Costs and batches: a budget in money is never exceeded and buys at least as much; packages are of one worker each."""

from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.errors import OptionError
from quorate.simulate import crowd

ANSWERS = crowd(150, 8, 3, seed=1).answers
WORKERS = ANSWERS.worker_names.to_pylist()


def pool(costs: list[float]) -> dict[str, list[object]]:
    return {"worker": list(WORKERS), "fee": list(costs)}


@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_what_the_answers_may_cost(seed: int) -> None:
    costs = np.random.default_rng(seed).uniform(0.5, 3.0, len(WORKERS)).round(2).tolist()
    advice = quorate.advise(ANSWERS, 25.5, available=pool(costs), cost="fee")
    fee = dict(zip(WORKERS, costs, strict=True))
    rows = advice.assignments.to_pylist()
    total = sum(fee[row["worker"]] for row in rows)
    assert total <= 25.5 + 1e-9
    assert total > 25.5 - max(costs)  # nothing is left that would pay for one more answer of everybody
    assert advice.total_cost == pytest.approx(total)
    assert [row["cost"] for row in rows] == [fee[row["worker"]] for row in rows]
    assert f"of a budget of {25.5:g}" in advice.summary()


def test_equal_costs_of_one_are_a_number_of_answers() -> None:
    free = quorate.advise(ANSWERS, 30, available=WORKERS)
    priced = quorate.advise(ANSWERS, 30, available=pool([1.0] * len(WORKERS)), cost="fee")
    assert priced.n_assignments == free.n_assignments == 30
    assert priced.gain.sum() == pytest.approx(free.gain.sum(), rel=0.02)


def test_a_budget_that_pays_for_nobody_advises_nothing() -> None:
    advice = quorate.advise(ANSWERS, 1.5, available=pool([2.0] * len(WORKERS)), cost="fee")
    assert advice.n_assignments == 0


def test_cheaper_workers_of_the_same_skill_come_first() -> None:
    answers = crowd(300, 6, 4, skills=np.full(6, 0.7), seed=3).answers
    names = answers.worker_names.to_pylist()
    table = {"worker": names, "fee": [1.0, 1.0, 1.0, 5.0, 5.0, 5.0]}
    rows = quorate.advise(answers, 30, available=table, cost="fee").assignments.to_pylist()
    n_cheap = sum(row["worker"] in names[:3] for row in rows)
    assert n_cheap >= 0.8 * len(rows)


def test_a_fraction_of_an_answer_is_refused() -> None:
    with pytest.raises(OptionError, match="must be a whole number"):
        quorate.advise(ANSWERS, 2.5)


def test_batches_are_of_one_worker_and_numbered_by_use() -> None:
    advice = quorate.advise(ANSWERS, 40, batch=6)
    rows = advice.assignments.to_pylist()
    first_seen = list(dict.fromkeys(row["batch"] for row in rows))
    assert first_seen == list(range(1, len(first_seen) + 1))
    for number in first_seen:
        own = [row for row in rows if row["batch"] == number]
        assert len({row["worker"] for row in own}) == 1
        assert 1 <= len(own) <= 6
    per_worker = {worker: sum(row["worker"] == worker for row in rows) for worker in WORKERS}
    assert len(first_seen) == sum(-(-n // 6) for n in per_worker.values())
    assert f"{len(first_seen)} batches of at most 6 tasks" in advice.summary()


def test_available_workers_under_the_users_name(tmp_path: Path) -> None:
    table = ANSWERS.to_table().to_pandas().rename(columns={"worker": "Annotator"})
    file = tmp_path / "people.csv"
    file.write_text("Annotator\n" + "\n".join(WORKERS[:3]) + "\n")
    advice = quorate.advise(table, 5, available=str(file), worker="Annotator")
    assert set(advice.assignments["worker"].to_pylist()) <= set(WORKERS[:3])
