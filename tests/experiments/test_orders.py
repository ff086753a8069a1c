"""Simulated crowds with an order, and the tables of their results."""

import numpy as np
import pytest
from experiments.ordinal.ordered_crowds import DECIDED_BY_EXPERTS, READ, Kind, ordered_crowd
from experiments.ordinal.orders import RUNS, averaged, fared, middle_of, thresholds

from quorate.methods.aggregate import aggregate

BY_NAME = {kind.name: kind for kind in (*READ, *DECIDED_BY_EXPERTS)}


@pytest.mark.parametrize("kind", [*READ, *DECIDED_BY_EXPERTS], ids=lambda kind: kind.name)
def test_every_kind_answers_as_often_as_it_says(kind: Kind) -> None:
    answers, truth = ordered_crowd(kind, 4, seed=3)
    assert answers.per_task.max() == kind.per_task
    assert set(np.unique(truth)) <= set(range(4))
    again, same = ordered_crowd(kind, 4, seed=3)
    assert np.array_equal(answers.label, again.label)
    assert np.array_equal(truth, same)


def test_three_experts_decide_the_truth_by_their_middle() -> None:
    answers, truth = ordered_crowd(BY_NAME["three experts, three others"], 5, seed=1)
    panel = np.array([int(name) < 8 for name in answers.worker_names.to_pylist()], dtype=float)
    assert np.array_equal(middle_of(answers, panel), truth)


def test_the_majority_of_thresholds_is_the_median() -> None:
    answers, _ = ordered_crowd(BY_NAME["widths of their own"], 5, seed=2)
    assert np.array_equal(thresholds(answers, "majority"), middle_of(answers, np.ones(answers.n_workers)))


@pytest.mark.parametrize("kinds", [READ[:8], DECIDED_BY_EXPERTS], ids=["read", "settled"])
def test_an_order_lowers_the_error_and_overstates_nothing_by_it(kinds: tuple[Kind, ...]) -> None:
    crowds = [ordered_crowd(kind, 5, seed=5) for kind in kinds]
    plain, ordered = (averaged(fared(aggregate(a, **run).vote, truth) for a, truth in crowds) for run in RUNS[:2])
    assert ordered.error < 0.95 * plain.error
    assert ordered.log_loss < 0.95 * plain.log_loss
    over = [each.stated + each.error - 1 for each in (plain, ordered)]
    assert over[1] < max(over[0], 0.0) + 0.02  # so many tasks tell it to .007
