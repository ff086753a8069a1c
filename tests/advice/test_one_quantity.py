"""How sure the labels are is one quantity: labels, advice, ledger and report say the same of the same answers."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.advice.advise import advise, advise_result
from quorate.advice.information_gain import expected_gain, tempered_accuracy
from quorate.advice.stopping import effective_votes, effective_votes_added, estimate_answers_needed
from quorate.ledger import Ledger
from quorate.reporting.page_text import tiles as tiles_of
from quorate.simulate import crowd
from tests.advice.samples import posteriors

SEVEN = ["rte1", "temp", "wsd", "dogs", "web", "bluebird", "trec"]


@pytest.mark.parametrize("name", SEVEN)
def test_labels_advice_and_report_never_contradict_each_other(real: Any, name: str) -> None:
    answers = real.load(name).answers
    result = quorate.aggregate(answers)
    advice = advise(answers, 10, available=["someone new"], target_error=0.1)  # of bluebird nobody is left to ask
    confidence = result.vote.confidence
    assert advice.answers_needed.expected_error == pytest.approx(1 - confidence.mean(), abs=1e-9)
    assert np.array(advice.tasks["confidence"].to_pylist()) == pytest.approx(confidence, abs=1e-9)
    tiles = {tile.what: tile.figure for tile in tiles_of(result, 0.9)}
    stated = 100 * (1 - advice.answers_needed.expected_error)
    shown = next(figure for what, figure in tiles.items() if "probably right" in what)
    assert shown == f"{stated:.0f}%" or (shown == ">99%" and stated >= 99.5)
    needs_more = next(figure for what, figure in tiles.items() if "to review" in what)
    # The report asks for more below 0.9, advice above an error of 0.1: the two may part at the edge itself only.
    n_open = int((~advice.answers_needed.is_task_done).sum())
    assert abs(int(needs_more.replace(",", "")) - n_open) <= int((confidence == 0.9).sum())


def test_the_ledger_says_the_same() -> None:
    simulated = crowd(80, 8, 3, seed=3)
    ledger = Ledger()
    ledger.add(simulated.answer_table)
    advice = advise(ledger.answers, 5)
    expected_error = 1 - ledger.aggregate().vote.confidence.mean()
    assert expected_error == pytest.approx(advice.answers_needed.expected_error, abs=1e-9)


def test_advice_of_a_result_is_what_that_result_is_sure_of() -> None:
    answers = crowd(80, 8, 3, seed=3).answers
    for method in ("dawid-skene", "rank-one"):
        result = quorate.aggregate(answers, method)
        assert np.array_equal(advise_result(result, 5).posterior, result.vote.posterior)
    assert advise_result(quorate.aggregate(answers), 5).assignments == advise(answers, 5).assignments


def test_answers_that_repeat_each_other_count_as_the_number_of_independent_ones_rises() -> None:
    n, rho = np.arange(1, 30), 0.3
    independent = n / (1 + rho * (n - 1))
    assert effective_votes(n, rho) == pytest.approx(independent)
    assert effective_votes_added(n[:-1], rho) == pytest.approx(np.diff(independent))
    assert effective_votes_added(n, 0.0) == pytest.approx(1.0)


def test_the_more_workers_depend_the_more_answers_are_needed_until_no_number_will_do() -> None:
    q = posteriors(40, 2, 0)
    answered = np.full(40, 5)
    found = [estimate_answers_needed(q, 0.8, 0.05, answered=answered, dependence=rho) for rho in (0.0, 0.1, 0.2, 0.5)]
    for less, more in pairwise(found):
        assert np.all(more.per_task >= less.per_task)
        assert more.answers_for_mean_error >= less.answers_for_mean_error
    assert not found[0].is_unreachable.any()
    assert np.array_equal(found[-1].is_unreachable, ~found[-1].is_task_done)
    assert np.isinf(found[-1].answers_for_mean_error)
    assert found[-1].answers_for_reachable_tasks == 0.0


def test_where_workers_depend_advice_turns_to_tasks_of_fewer_answers_and_says_what_cannot_be_had() -> None:
    answers = crowd(120, 20, 3, seed=2).answers
    many = answers.per_task[advise(answers, 40, dependence=0.0).task].mean()
    few = answers.per_task[advise(answers, 40, dependence=0.8).task].mean()
    assert few <= many
    advice = advise(answers, 40, dependence=0.8)
    assert "because these workers share mistakes, as you declared" in advice.summary()
    listed = advice.to_dict(assignments=False)
    assert listed["further_answers_for_the_whole"] is None
    assert listed["tasks_beyond_more_answers"] == sum(row["further"] is None for row in listed["task_needs"]) > 0


def test_an_answer_that_is_half_used_counts_less() -> None:
    q, p = np.array([0.6, 0.4]), np.array([0.8])
    assert expected_gain(q, tempered_accuracy(p, np.array([0.5]), 2)) < expected_gain(q, p)
    assert tempered_accuracy(p, np.ones(1), 3) is p
