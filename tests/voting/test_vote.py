import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import arrays, simulate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.voting.vote import (
    accuracy,
    by_posterior,
    check_prior,
    decide,
    majority,
    plug_in_vote,
    reveal,
    skill_of,
    tally,
    weight,
    weighted_majority,
)
from tests.crowds import answers_of, of_several_classes, rows


@given(st.floats(-1.0, 1.0), st.integers(2, 6))
def test_skill_accuracy_and_weight_are_three_quantities(skill: float, n_classes: int) -> None:
    s = np.array([skill if skill > 0 else skill / (n_classes - 1)])
    p = accuracy(s, n_classes)
    assert 0 <= p[0] <= 1
    assert skill_of(p, n_classes) == pytest.approx(s)
    assert np.isfinite(weight(s, n_classes)).all()
    assert np.sign(weight(s, n_classes)) == np.sign(s)
    if 1e-6 < p[0] < 1 - 1e-6:
        assert weight(s, n_classes) == pytest.approx(np.log((n_classes - 1) * p / (1 - p)), abs=1e-6)


@given(of_several_classes(), st.integers(0, 10**6))
def test_the_posterior_is_bayes_rule(answers: Answers, seed: int) -> None:
    """By the definition: prior times the product of each worker's probability of its answer."""
    m = answers.n_classes
    rng = np.random.default_rng(seed)
    skills, prior = rng.uniform(-0.9 / (m - 1), 0.95, answers.n_workers), rng.dirichlet(np.ones(m) * 3)
    p = accuracy(skills, m)
    expected = np.tile(prior, (answers.n_tasks, 1))
    for t, w, c in zip(answers.task, answers.worker, answers.label, strict=True):
        likelihood = np.full(m, (1 - p[w]) / (m - 1))
        likelihood[c] = p[w]
        expected[t] *= likelihood
    expected /= expected.sum(axis=1, keepdims=True)
    task_vote = plug_in_vote(answers, weight(skills, m), prior)
    assert task_vote.posterior == pytest.approx(expected, abs=1e-9)
    assert task_vote.posterior.sum(axis=1) == pytest.approx(1)
    assert task_vote.confidence == pytest.approx(expected[np.arange(answers.n_tasks), task_vote.label], abs=1e-9)


def test_ties_go_by_score_then_majority_then_prior_then_order() -> None:
    votes = [(1, "a", "x"), (1, "b", "y"), (1, "c", "y"), (2, "a", "y"), (2, "b", "x")]
    answers = answers_of(votes)
    by_score = plug_in_vote(answers, np.array([3.0, 1.0, 1.0]))
    assert (by_score.label.tolist(), by_score.tied.tolist()) == ([0, 1], [False, False])
    by_majority = plug_in_vote(answers, np.array([2.0, 1.0, 1.0]))
    assert by_majority.label[0] == 1
    assert by_majority.tied[0]
    level = plug_in_vote(answers, np.ones(3))
    assert (level.label[1], level.tied[1]) == (0, True)
    # The prior enters the score; what it levels, the majority decides.
    levelled = plug_in_vote(answers, np.array([1.0, 1.0, 1.0]), np.array([np.e, 1.0]))
    assert levelled.tied.tolist() == [True, False]
    assert levelled.label.tolist() == [1, 0]


def test_a_tie_of_scores_and_majority_goes_to_the_class_of_larger_prior() -> None:
    """Task 1: log .4 + log 1.5 for x and log .6 for y, one answer each."""
    answers = answers_of([(1, "a", "x"), (1, "b", "y")])
    prior = np.array([0.4, 0.6])
    task_vote = plug_in_vote(answers, np.array([np.log(1.5), 0.0]), prior)
    assert task_vote.tied.tolist() == [True]
    assert task_vote.label.tolist() == [1]
    assert plug_in_vote(answers, np.zeros(2)).label.tolist() == [0]  # without a prior by the order of classes


def test_a_tie_of_probabilities_goes_to_the_majority_then_the_first_class() -> None:
    votes = [(1, "a", "x"), (1, "b", "y"), (1, "c", "y"), (2, "a", "y"), (2, "b", "x"), (3, "a", "y"), (3, "b", "y")]
    answers = answers_of(votes)
    rounding = 1e-13
    posterior = np.array([[0.5 + rounding, 0.5 - rounding], [0.5, 0.5], [0.5 + 1e-6, 0.5 - 1e-6]])
    task_vote = by_posterior(answers, posterior)
    assert task_vote.tied.tolist() == [True, True, False]
    assert task_vote.label.tolist() == [1, 0, 0]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_weights_of_the_extreme_skills_are_finite_and_opposite_in_sign(n_classes: int) -> None:
    low, high = weight(np.array([-1 / (n_classes - 1), 1.0]), n_classes)
    assert high == pytest.approx(-np.log(np.finfo(float).eps))
    assert low == pytest.approx(-high)


def test_sums_in_another_order_still_tie() -> None:
    weights = np.array([0.1, 0.2, 0.3, 0.6])
    answers = answers_of([(1, "a", "x"), (1, "b", "x"), (1, "c", "x"), (1, "d", "y")])
    assert 0.1 + 0.2 + 0.3 != 0.6
    assert plug_in_vote(answers, weights).tied[0]


@given(rows())
def test_majority_vote_counts_heads(table: list[tuple[int, str, str]]) -> None:
    answers = answers_of(table)
    task_vote = majority(answers)
    for task in range(answers.n_tasks):
        given = answers.label[answers.task == task]
        heads = np.bincount(given, minlength=answers.n_classes)
        assert task_vote.posterior[task] == pytest.approx(heads / heads.sum())
        assert task_vote.label[task] == heads.argmax()
        assert task_vote.tied[task] == ((heads == heads.max()).sum() > 1)


def test_a_negative_vote_speaks_for_the_others_and_the_shares_follow_the_scores() -> None:
    rng = np.random.default_rng(0)
    answers = simulate.crowd(200, 9, 4, n_classes=3, seed=0).answers
    weights = rng.normal(size=9)
    task_vote = weighted_majority(answers, weights)
    assert (task_vote.posterior >= 0).all()
    assert task_vote.posterior.sum(axis=1) == pytest.approx(1)
    assert (task_vote.posterior.argmax(axis=1) == tally(answers, weights).argmax(axis=1)).all()


def test_known_labels_are_certain() -> None:
    answers = answers_of([(1, "a", "x"), (1, "b", "x"), (2, "a", "y")])
    task_vote = reveal(majority(answers), np.array([1, -1]))
    assert task_vote.label.tolist() == [1, 1]
    assert task_vote.confidence.tolist() == [1, 1]
    assert task_vote.leaders.tolist() == [[False, True], [False, True]]


@given(rows(), st.integers(0, 10**6))
def test_the_margin_is_what_the_label_is_ahead_of_the_best_other_class(
    table: list[tuple[int, str, str]], seed: int
) -> None:
    answers = answers_of(table)
    task_vote = plug_in_vote(answers, np.random.default_rng(seed).normal(size=answers.n_workers))
    for task, label in enumerate(task_vote.label):
        others = [task_vote.posterior[task, c] for c in range(answers.n_classes) if c != label]
        assert task_vote.margin[task] == pytest.approx(task_vote.posterior[task, label] - max(others, default=0.0))


@pytest.mark.parametrize("difference", [1e-7, 1e-3])
def test_scores_that_differ_by_more_than_rounding_do_not_tie(difference: float) -> None:
    """Whatever their size: small scores are compared as such, large ones in proportion."""
    answers = answers_of([(1, "a", "x"), (1, "b", "y")])
    for size in (0.001, 1.0, 50.0):
        assert not plug_in_vote(answers, np.array([size, size * (1 + difference) + difference])).tied[0]
        assert plug_in_vote(answers, np.array([size, size * (1 + 1e-12)])).tied[0]
    assert plug_in_vote(answers, np.array([1e6, 1e6 + 1e-4])).tied[0]  # ten digits alike
    assert not plug_in_vote(answers, np.array([0.5, 0.5 + 1.5e-9])).tied[0]
    assert plug_in_vote(answers, np.array([0.5, 0.5 + 0.5e-9])).tied[0]


@pytest.mark.parametrize("prior", [[0.5, 0.5, 0.0], [0.5, 0.5], [1.0, np.inf, 1.0], [1.0, -1.0, 1.0], [np.nan] * 3])
def test_a_prior_that_is_none_is_refused(prior: list[float]) -> None:
    with pytest.raises(OptionError, match="3 positive numbers"):
        check_prior(np.array(prior), 3)


def test_a_known_label_outweighs_every_vote_and_the_vote_stays_as_it_was() -> None:
    answers = answers_of([(t, w, "x") for t in (1, 2) for w in "abc"] + [(3, "a", "y")])
    task_vote = plug_in_vote(answers, np.full(3, 30.0))
    before = (task_vote.scores.copy(), task_vote.posterior.copy())
    known = reveal(task_vote, np.array([1, -1, 0]))
    assert known.label.tolist() == [1, 0, 0]
    assert known.posterior[[0, 2]].tolist() == [[0, 1], [1, 0]]
    # By more than the log-odds at which a probability rounds to one.
    assert known.scores[0, 1] - known.scores[0, 0] > 36
    assert known.scores[2, 0] - known.scores[2, 1] > 36
    assert known.scores[1].tolist() == task_vote.scores[1].tolist()
    assert (task_vote.scores.tolist(), task_vote.posterior.tolist()) == tuple(each.tolist() for each in before)


def test_a_known_label_is_no_tie() -> None:
    level = majority(answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "y")]))
    assert level.tied.tolist() == [True, True]
    assert reveal(level, np.array([1, -1])).tied.tolist() == [False, True]
    assert level.tied.tolist() == [True, True]


def test_a_vote_against_every_class_leaves_them_even() -> None:
    answers = answers_of([(1, "a", "x"), (1, "b", "y"), (2, "a", "x")], classes=["x", "y", "z"])
    task_vote = weighted_majority(answers, np.array([0.0, 0.0]))
    assert task_vote.posterior == pytest.approx(np.full((2, 3), 1 / 3))
    against = weighted_majority(answers, np.array([-1.0, -2.0]))
    # A vote of -1 against x is one for y and one for z, and that of -2 against y is two for x and two for z.
    assert against.posterior[0] == pytest.approx(np.array([2, 1, 3]) / 6)
    assert against.posterior[1] == pytest.approx(np.array([0, 1, 1]) / 2)


@pytest.mark.parametrize("prior", [None, np.array([0.2, 0.5, 0.3])])
def test_ties_are_decided_alike_a_few_tasks_at_a_time(
    prior: FloatArray | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = simulate.crowd(50, 6, 4, n_classes=3, seed=0).answers
    scores = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(float)
    complete = decide(answers, scores, scores, prior)
    assert 0 < complete.tied.sum() < 50
    monkeypatch.setattr(arrays, "CELLS", 9)
    some = decide(answers, scores, scores, prior)
    assert (some.label.tolist(), some.tied.tolist()) == (complete.label.tolist(), complete.tied.tolist())
