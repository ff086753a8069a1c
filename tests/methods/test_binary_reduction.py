"""Laws of the two extensions of a binary method to more classes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import TooLargeError, UnknownNameError
from quorate.methods.binary_reduction import (
    REDUCTIONS,
    SLOW,
    BinaryAnswers,
    BinaryScores,
    ClassVote,
    vote_by_class,
    weigh,
)
from quorate.methods.er import er
from quorate.methods.ghosh_svd import ghosh_svd
from quorate.methods.kos import kos, kos_svd
from quorate.methods.m_msr import m_msr
from quorate.notes import NOT_CONVERGED, Note
from quorate.result import Result
from quorate.simulate import crowd
from quorate.voting.vote import majority, weighted_majority

METHODS: list[Callable[..., Result]] = [kos, kos_svd, ghosh_svd, er, m_msr]


def even(binary: BinaryAnswers) -> BinaryScores:
    return weigh(binary, np.ones(binary.n_workers))


def dictated(scores: FloatArray) -> Callable[[BinaryAnswers], BinaryScores]:
    """Return a method whose k-th run gives the k-th column of scores."""
    columns = iter(scores.T)
    return lambda binary: BinaryScores(next(columns), np.full(binary.n_tasks, 9.0), np.ones(binary.n_workers))


def everything(n_tasks: int, n_classes: int) -> Answers:
    """Return tasks of two answers each, such that every class is given somewhere."""
    task = np.repeat(np.arange(n_tasks), 2)
    return quorate.read(
        {"task": task, "worker": np.arange(2 * n_tasks) % 2, "label": np.arange(2 * n_tasks) % n_classes},
        classes=list(range(n_classes)),
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_one_against_the_rest_with_even_weights_is_majority_vote_ties_and_shares_included(n_classes: int) -> None:
    answers = crowd(300, 20, 4, n_classes=n_classes, seed=3).answers
    found, plain = vote_by_class(answers, even, "one-vs-rest").task_vote, majority(answers)
    np.testing.assert_array_equal(found.leaders, plain.leaders)
    np.testing.assert_array_equal(found.label, plain.label)
    np.testing.assert_allclose(found.posterior, plain.posterior, atol=1e-12)


@pytest.mark.parametrize("classes", REDUCTIONS)
def test_with_two_classes_both_are_the_weighted_vote_itself(classes: str) -> None:
    answers = crowd(200, 15, 4, seed=4).answers
    weights = np.random.default_rng(4).normal(0.4, 1.0, 15)
    found = vote_by_class(answers, lambda binary: weigh(binary, weights), classes)
    expected = weighted_majority(answers, weights)
    np.testing.assert_array_equal(found.task_vote.label, expected.label)
    np.testing.assert_allclose(found.task_vote.posterior, expected.posterior, atol=1e-12)
    np.testing.assert_allclose(found.weights, weights / np.abs(weights).mean())


def test_thresholds_are_scanned_from_below_and_a_zero_only_ties() -> None:
    rng = np.random.default_rng(5)
    leans = rng.integers(-2, 3, (400, 3)).astype(float)  # with many zeros
    task_vote = vote_by_class(everything(400, 4), dictated(leans), "ordered").task_vote
    for lean, leaders in zip(leans, task_vote.leaders, strict=True):
        stop = next((k for k, value in enumerate(lean) if value < 0), 3)
        level = {k for k in range(stop) if lean[k] == 0} | {stop}
        assert set(np.flatnonzero(leaders).tolist()) == level


def test_thresholds_with_even_weights_give_the_median() -> None:
    answers = quorate.read({"task": [1] * 5, "worker": list("abcde"), "label": [1, 1, 2, 4, 4]})
    assert vote_by_class(answers, even, "ordered").task_vote.label.tolist() == [1]  # the class 2


def test_the_label_has_the_largest_share() -> None:
    answers = crowd(300, 20, 4, n_classes=4, seed=6).answers
    rng = np.random.default_rng(6)
    for classes, runs in (("ordered", 3), ("one-vs-rest", 4)):
        task_vote = vote_by_class(answers, dictated(rng.uniform(-9, 9, (300, runs))), classes).task_vote
        np.testing.assert_allclose(task_vote.posterior.sum(axis=1), 1.0)
        np.testing.assert_array_equal(task_vote.posterior.argmax(axis=1), task_vote.label)


def test_a_score_of_zero_is_a_tie_and_the_majority_decides_it() -> None:
    answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    task_vote = vote_by_class(answers, lambda binary: weigh(binary, np.zeros(3)), "one-vs-rest").task_vote
    assert task_vote.tied.tolist() == [True, True]
    assert task_vote.label.tolist() == [1, 0]
    np.testing.assert_array_equal(task_vote.posterior, 0.5)


def test_a_tie_is_one_however_faint_the_weights() -> None:
    answers = quorate.read({"task": [1, 1, 2, 2, 3], "worker": list("abcda"), "label": list("xyxyx")})
    faint = np.array([1.0, 1.0, 2e-14, 1e-14])
    assert vote_by_class(answers, lambda b: weigh(b, faint), "one-vs-rest").task_vote.tied.tolist() == [
        True,
        False,
        False,
    ]


def test_a_run_without_weight_on_a_task_judges_it_by_plain_votes() -> None:
    answers = quorate.read({"task": [1] * 5, "worker": list("abcde"), "label": list("xxyyz")})
    weights = iter([np.array([1.0, 1, 1, 1, 1]), np.zeros(5), np.array([1.0, 1, 1, 1, 1])])
    task_vote = vote_by_class(answers, lambda binary: weigh(binary, next(weights)), "one-vs-rest").task_vote
    np.testing.assert_allclose(task_vote.scores, [[-0.2, -0.2, -0.6]])


def test_a_class_that_nobody_gave_never_wins() -> None:
    simulated = crowd(200, 6, 6, n_classes=3, seed=7).answers
    names = {"task": simulated.task, "worker": simulated.worker, "label": simulated.label * 2}
    answers = quorate.read(names, classes=range(6))
    for method in METHODS[:-1]:
        assert set(np.unique(method(answers).vote.label)) <= {0, 2, 4}, method


def test_unknown_extensions_are_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match=r"ordinal.*one-vs-rest, ordered"):
        vote_by_class(everything(3, 3), even, "ordinal")


def test_a_run_that_did_not_converge_is_reported() -> None:
    task_vote = majority(everything(3, 2))
    assert ClassVote(task_vote, np.ones(2), converged=False).notes == (Note(NOT_CONVERGED, SLOW),)
    answers = everything(3, 3)
    slow = vote_by_class(
        answers, lambda b: BinaryScores(np.ones(3), np.ones(3), np.ones(2), converged=False), "ordered"
    )
    assert not slow.converged


CASES = {
    "one worker": {"task": [1, 2, 3], "worker": list("aaa"), "label": list("xyx")},
    "one answer": {"task": [1], "worker": ["a"], "label": ["x"]},
    "one task": {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")},
    "one class": {"task": [1, 1, 2], "worker": list("aba"), "label": list("xxx")},
    "three classes, one worker": {"task": [1, 2, 3], "worker": list("aaa"), "label": list("xyz")},
    "strangers": {"task": [1, 2, 3], "worker": list("abc"), "label": list("xyz")},
    "two who never agree": {"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyyx")},
    "two groups": {"task": [1, 1, 1, 2, 2, 3, 3], "worker": list("abcdede"), "label": list("xxyxyxx")},
    "a chain": {"task": [1, 1, 2, 2, 3, 3], "worker": list("abbccd"), "label": list("xxxyyy")},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_small_crowds_are_safe(method: Callable[..., Result], case: str) -> None:
    _check(method(quorate.read(CASES[case])))
    _check(method(quorate.read(CASES[case], classes=["w", "x", "y", "z"])))


@pytest.mark.parametrize("method", METHODS)
def test_a_task_whose_answers_were_all_dropped_has_no_label(method: Callable[..., Result]) -> None:
    data = {"task": [1, 1, 2, 2, 2], "worker": list("aaabc"), "label": list("xyxxy")}
    result = method(quorate.read(data, on_conflict="drop"))
    _check(result)
    assert result.labels["label"].to_pylist()[0] is None


@pytest.mark.parametrize("method", METHODS)
def test_known_labels_are_kept(method: Callable[..., Result]) -> None:
    answers = crowd(60, 8, 4, n_classes=3, seed=8).answers
    gold = {"t0": "c2", "t1": "c0"}
    result = method(answers, gold=gold)
    assert result.labels["label"].to_pylist()[:2] == ["c2", "c0"]
    assert result.vote.confidence[:2].tolist() == [1.0, 1.0]


@settings(max_examples=40)
@given(st.data())
def test_whatever_the_answers_every_task_gets_a_label(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 4))
    triples = st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, m - 1))
    rows = data.draw(st.lists(triples, min_size=1, max_size=25, unique_by=lambda row: row[:2]))
    task, worker, label = zip(*rows, strict=True)
    answers = quorate.read({"task": task, "worker": worker, "label": label}, classes=range(m))
    for method in METHODS:
        _check(method(answers))
    for method in METHODS[:-1]:
        _check(method(answers, classes="ordered"))


def _check(result: Result) -> None:
    task_vote, n = result.vote, result.answers.n_classes
    assert task_vote.label.shape == (result.answers.n_tasks,)
    assert np.all((task_vote.label >= 0) == (result.answers.per_task > 0))
    assert np.all(task_vote.label < n)
    np.testing.assert_allclose(task_vote.posterior.sum(axis=1), 1.0)
    assert np.all(task_vote.posterior >= 0)
    assert np.isfinite(result.weights).all()
    assert result.summary()


@pytest.mark.parametrize("method", [er, kos, kos_svd, ghosh_svd])
def test_thousands_of_questions_are_refused_before_the_first(method: Callable[..., Result]) -> None:
    """As many runs as classes, each over all answers: thousands of classes would take minutes."""
    table = {"task": np.arange(1200) // 2, "worker": np.arange(1200) % 7, "label": np.arange(1200) % 600}
    answers = quorate.read(table)
    for classes in ("one-vs-rest", "ordered"):
        with pytest.raises(TooLargeError, match=r"there are 600 classes.*rank-one or iwmv"):
            method(answers, classes=classes)
