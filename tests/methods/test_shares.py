"""Votes weighed by shares of right answers: Wawa, zero-based skill, and shares of known labels."""

import numpy as np
import pytest

import quorate
from quorate.errors import OptionError
from quorate.methods.aggregate import majority_vote
from quorate.methods.gold_majority import gold_majority
from quorate.methods.wawa import wawa
from quorate.methods.zero_based_skill import zero_based_skill
from quorate.notes import OTHER_METHOD, UNDETERMINED
from tests.crowds import answers_of

# Three tasks decide who agrees with whom: a and b are always with the majority, c, d and e on one task in three each.
VOTES_OF_TASK = {"t1": "xxyyx", "t2": "xxyxy", "t3": "xxxyy"}
ROWS = [
    (task, worker, answer_symbols)
    for task, votes in VOTES_OF_TASK.items()
    for worker, answer_symbols in zip("abcde", votes, strict=True)
]


def test_wawa_weighs_by_the_share_of_agreement_and_votes_once_more() -> None:
    # On the fourth task c, d and e have the majority: they agree on two of four, a and b on three of four.
    rows = [*ROWS, *zip(["t4"] * 5, "abcde", "xxyyy", strict=True)]
    result = wawa(answers_of(rows))
    assert result.weights.tolist() == [0.75, 0.75, 0.5, 0.5, 0.5]
    assert result.skills.tolist() == [0.5, 0.5, 0.0, 0.0, 0.0]
    assert result.vote.scores[3].tolist() == [1.5, 1.5]
    assert result.vote.tied.tolist() == [False, False, False, True]
    assert result.labels["label"][3].as_py() == "y"  # as many for as against


def test_known_labels_are_what_wawa_scores_by() -> None:
    rows = [*ROWS, *zip(["t4"] * 5, "abcde", "xxyyy", strict=True)]
    result = wawa(answers_of(rows), gold={"t4": "x"})
    assert result.weights.tolist() == [1.0, 1.0, 0.25, 0.25, 0.25]
    assert result.labels["label"][3].as_py() == "x"


def test_zero_based_skill_moves_all_the_way_at_a_rate_of_one() -> None:
    """After the first vote the weights are the shares of agreement: with two votes, that is Wawa."""
    answers = quorate.simulate.crowd(80, 9, 4, n_classes=3, seed=4).answers
    one = zero_based_skill(answers, iterations=1)
    assert one.weights == pytest.approx(wawa(answers).weights)
    assert (one.vote.label == wawa(answers).vote.label).all()


def test_zero_based_skill_moves_part_of_the_way_and_ever_less() -> None:
    answers = answers_of([("t1", "a", "x"), ("t1", "b", "x"), ("t1", "c", "y")])
    start = 0.5 + 1e-5
    one = zero_based_skill(answers, rate=0.5, iterations=1).weights
    assert one == pytest.approx([(1 + start) / 2, (1 + start) / 2, start / 2])
    two = zero_based_skill(answers, rate=0.5, slower_every=2, slower_by=0.1, iterations=2).weights
    assert two == pytest.approx(one + 0.05 * (np.array([1.0, 1.0, 0.0]) - one))


def test_zero_based_skill_stands_where_it_agrees_with_itself() -> None:
    answers = quorate.simulate.crowd(80, 9, 4, seed=4).answers
    few, many = (zero_based_skill(answers, iterations=n).weights for n in (19, 1000))
    assert few.tolist() == many.tolist()
    with pytest.raises(OptionError, match="slower_by must be a positive number"):
        zero_based_skill(answers, slower_by=0)
    with pytest.raises(OptionError, match="head_start"):
        zero_based_skill(answers, head_start=-1)


def test_gold_majority_counts_right_answers_to_known_labels() -> None:
    rows = [*ROWS, *zip(["t4"] * 5, "abcde", "xxyyy", strict=True), ("t4", "new", "x")]
    result = gold_majority(answers_of(rows), gold={"t1": "x", "t2": "x", "t3": "x"})
    assert result.weights == pytest.approx([1, 1, 1 / 3, 1 / 3, 1 / 3, 9 / 15])
    assert result.skills[:5] == pytest.approx([1, 1, -1 / 3, -1 / 3, -1 / 3])
    assert np.isnan(result.skills[5])
    assert result.labels["label"].to_pylist() == ["x", "x", "x", "x"]
    assert result.vote.scores[3] == pytest.approx([2.6, 1.0])
    (note,) = result.notes
    assert note.kind == UNDETERMINED
    assert (
        "1 worker answered no task with a known label; their votes have the weight of the whole crowd, 0.60"
        in note.text
    )


def test_without_known_labels_every_vote_counts_the_same_and_it_is_reported() -> None:
    answers = quorate.simulate.crowd(40, 6, 4, seed=0).answers
    result = gold_majority(answers)
    assert (result.vote.label == majority_vote(answers).vote.label).all()
    assert [note.kind for note in result.notes] == [OTHER_METHOD]
