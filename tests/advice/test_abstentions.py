"""Advice reckons with workers who abstain."""

import numpy as np

import quorate
from quorate.advice.available_workers import gather_available_workers
from quorate.advice.expected_error import error_after


def crowd(share: float) -> quorate.Answers:
    """Eight workers alike, of whom the first abstains on some share of its tasks."""
    answers = quorate.simulate.crowd(200, 8, 4, seed=1).answers
    table = {name: answers.to_table()[name].to_pylist() for name in ("task", "worker", "label")}
    rng = np.random.default_rng(0)
    first = answers.worker_names[0].as_py()
    table["label"] = [
        "unsure" if worker == first and rng.random() < share else label
        for worker, label in zip(table["worker"], table["label"], strict=True)
    ]
    return quorate.read(table, abstain=["unsure"])


def test_an_answer_that_may_not_come_is_worth_less() -> None:
    answers = crowd(0.6)
    assert answers.answer_symbols is not None
    shy = int(answers.answer_symbols.worker[0])
    gives = gather_available_workers(answers, 50).gives
    assert 0.3 < gives[shy] < 0.5
    assert (np.delete(gives, shy) > 0.9).all()
    advice = quorate.advise(answers, budget=60)
    asked = [quorate.advise(some, budget=60).worker.tolist().count(shy) for some in (crowd(0.0), answers)]
    assert asked[1] <= asked[0]
    assert error_after(advice).mean() < advice.answers_needed.error.mean()


def test_nobody_is_asked_a_task_again_on_which_it_abstained() -> None:
    answers = crowd(0.6)
    assert answers.answer_symbols is not None
    abstained = set(zip(answers.answer_symbols.task.tolist(), answers.answer_symbols.worker.tolist(), strict=True))
    advice = quorate.advise(answers, budget=300)
    assert not abstained & set(zip(advice.task.tolist(), advice.worker.tolist(), strict=True))


def test_where_nobody_abstains_everyone_gives() -> None:
    answers = quorate.simulate.crowd(50, 8, 3, seed=0).answers
    assert (gather_available_workers(answers, 5).gives == 1).all()
