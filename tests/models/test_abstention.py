"""Abstentions and grades change labels where they depend on the class, and nothing otherwise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.answers import Answers, AnswerSymbols
from quorate.blocks.memory import blocks_of
from quorate.models.abstention import ClassModel, expected_symbol_counts, symbol_log_probabilities
from quorate.simulate import Crowd
from quorate.voting.posterior import softmax


def abstaining(crowd: Crowd, rate: np.ndarray, seed: int = 0) -> tuple[Answers, Answers]:
    """Let workers abstain at a rate for each worker and true class; the answers without, and with, the abstentions."""
    answers, m = crowd.answers, crowd.answers.n_classes
    abstentions = (
        np.random.default_rng(seed).random(answers.n_answers) < rate[answers.worker, crowd.truth[answers.task]]
    )
    kept = answers.where(~abstentions)
    rows = (answers.task[abstentions], answers.worker[abstentions], np.full(abstentions.sum(), m))
    symbols = pa.array([*(str(k) for k in range(m)), "unsure"])
    return kept, replace(kept, answer_symbols=AnswerSymbols(symbols, np.append(np.arange(m), -1), kept.label, *rows))


def error(answers: Answers, crowd: Crowd) -> float:
    """By the posterior, which has a value for tasks on which everyone abstains, too."""
    return float((quorate.aggregate(answers).vote.posterior.argmax(axis=1) != crowd.truth).mean())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_abstaining_at_random_changes_no_label_and_no_confidence(seed: int, n_classes: int) -> None:
    crowd = quorate.simulate.crowd(200, 12, 4, n_classes=n_classes, seed=seed)
    rate = np.repeat(np.random.default_rng(seed).uniform(0, 0.5, (12, 1)), n_classes, axis=1)
    without, beside = abstaining(crowd, rate, seed)
    plain, informed = quorate.aggregate(without), quorate.aggregate(beside)
    assert np.array_equal(plain.vote.label, informed.vote.label)
    assert np.array_equal(plain.vote.posterior, informed.vote.posterior)


def test_one_abstention_more_changes_no_label() -> None:
    crowd = quorate.simulate.crowd(200, 12, 4, seed=9)
    without, beside = abstaining(crowd, np.full((12, 2), 0.005))
    assert beside.n_abstained > 0
    assert np.array_equal(quorate.aggregate(without).vote.label, quorate.aggregate(beside).vote.label)


def test_abstaining_on_one_class_helps() -> None:
    crowds = [quorate.simulate.crowd(400, 20, 3, seed=seed) for seed in range(4)]
    pairs = [abstaining(crowd, np.tile([0.05, 0.4], (20, 1)), seed) for seed, crowd in enumerate(crowds)]
    plain, informed = (
        np.mean([error(pair[k], crowd) for pair, crowd in zip(pairs, crowds, strict=True)]) for k in (0, 1)
    )
    assert informed < plain - 0.03  # standard error .01 for so many tasks


def graded(seed: int, n_tasks: int = 400, n_judges: int = 9) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Judges who grade from 0 to 9, each on a scale of its own, what is true or not."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    scale, offset, noise = rng.uniform(1, 2.5, n_judges), rng.uniform(3, 5, n_judges), rng.uniform(0.6, 1.4, n_judges)
    seen = (2 * truth - 1)[:, None] + rng.normal(0, noise, (n_tasks, n_judges))
    grade = np.clip(np.rint(offset + scale * seen), 0, 9).astype(int)
    task, worker = (each.ravel() for each in np.indices(grade.shape))
    return {"task": task, "worker": worker, "label": grade.ravel()}, truth


SCALE = {grade: int(grade > 4.5) for grade in range(10)}


@pytest.mark.parametrize("at_once", [7, 1000])
def test_expected_symbol_counts_equal_a_loop_over_rows(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", at_once)
    table, _ = graded(5, 12, 4)
    answers = quorate.read(table, map={**SCALE, 5: None})
    assert answers.answer_symbols is not None
    rng = np.random.default_rng(2)
    logs, prior, factor = np.log(rng.uniform(size=(4, 2, 2))), np.log([0.3, 0.7]), rng.uniform(0.3, 1, answers.n_tasks)
    answer_symbols, n_symbols = answers.answer_symbols, len(answers.answer_symbols.symbols)
    rows = [*zip(answers.task, answers.worker, answer_symbols.symbol, answers.label, strict=True)]
    rows += [
        (*row, -1)
        for row in zip(answer_symbols.task, answer_symbols.worker, answer_symbols.abstention_symbol, strict=True)
    ]
    expected, before = np.zeros((4, n_symbols, 2)), np.zeros(2)
    for t in range(answers.n_tasks):
        here = [row for row in rows if row[0] == t]
        scores = prior + sum(logs[worker, label] for _, worker, _, label in here if label >= 0)
        before += softmax(scores[None] * factor[t])[0]
        for _, worker, symbol, label in here:
            others = scores - (logs[worker, label] if label >= 0 else 0.0)
            expected[worker, symbol] += softmax(others[None] * factor[t])[0]
    counts, total = blocks_of(answers).sum(expected_symbol_counts, ClassModel(logs, prior, factor), n_symbols)
    assert np.allclose(counts.reshape(expected.shape), expected, atol=1e-12)  # rounding of sums of a few dozen
    assert np.allclose(total, before, atol=1e-12)


def test_grades_are_worth_more_than_their_cut() -> None:
    losses = []
    for seed in range(4):
        table, truth = graded(seed)
        cut = {**table, "label": [SCALE[grade] for grade in table["label"].tolist()]}
        for result in (quorate.aggregate(cut), quorate.aggregate(table, map=SCALE)):
            losses.append(-np.log(result.vote.posterior[np.arange(len(truth)), truth]).mean())
    by_cut, by_grade = np.reshape(losses, (4, 2)).T
    assert (by_grade < by_cut).all()


def test_renaming_grades_with_their_map_changes_nothing() -> None:
    table, _ = graded(0, 150)
    turn = np.random.default_rng(1).permutation(10)
    names = {grade: f"g{turn[grade]}" for grade in range(10)}
    other = {**table, "label": [names[grade] for grade in table["label"].tolist()]}
    renamed = quorate.aggregate(other, map={names[grade]: point for grade, point in SCALE.items()})
    found = quorate.aggregate(table, map=SCALE)
    assert np.array_equal(found.vote.label, renamed.vote.label)
    assert np.allclose(found.vote.posterior, renamed.vote.posterior, atol=1e-9)  # sums in another order


def test_a_map_that_is_the_identity_equals_no_map() -> None:
    answers = quorate.simulate.crowd(150, 8, 4, n_classes=3, seed=2).answers
    table = {name: answers.to_table()[name].to_pylist() for name in ("task", "worker", "label")}
    plain = quorate.aggregate(table)
    same = quorate.aggregate(table, map={name: name for name in plain.answers.classes.to_pylist()})
    assert plain.labels == same.labels
    assert plain.workers == same.workers


def test_known_labels_and_groups_go_on_working_with_grades() -> None:
    table, truth = graded(3, 200)
    gold = {task: int(truth[task]) for task in range(0, 200, 8)}
    chosen: tuple[dict[str, Any], ...] = ({"gold": gold}, {"group": dict.fromkeys(range(3), "a")}, {"cautious": True})
    for options in chosen:
        result = quorate.aggregate(table, map=SCALE, **options)
        assert (result.vote.label == truth).mean() > 0.9
        assert np.allclose(result.vote.posterior.sum(axis=1), 1)


def test_a_worker_departs_from_the_crowd_only_where_its_rows_do() -> None:
    crowd = [[20.0, 20.0], [20.0, 20.0]]
    alone = [[60.0, 5.0], [0.0, 55.0]]
    logs = symbol_log_probabilities(np.array([crowd, crowd, alone]), np.zeros(2, int))
    assert logs is not None
    assert np.ptp(logs[2], axis=1).min() > 2
    assert np.ptp(logs[0], axis=1).max() < 1


def rare_class(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Tasks of seven grades, of which workers see each with noise; few are of the highest."""
    rng = np.random.default_rng(seed)
    place = 7 * rng.beta(1, 2, 400) - 0.5
    grade = np.rint(place[:, None] + rng.normal(0, rng.uniform(0.5, 1.5, 8), (400, 8))).clip(0, 6).astype(int)
    task, worker = (each.ravel() for each in np.indices(grade.shape))
    return {"task": task, "worker": worker, "label": grade.ravel()}, np.rint(place).clip(0, 6).astype(int)


def test_grades_near_the_cut_do_not_make_a_rare_class_frequent() -> None:
    frequent, errors = [], []
    for seed in range(4):
        table, place = rare_class(seed)
        for cut in (4, 5):
            scale = {grade: int(grade > cut) for grade in range(7)}
            by_cut = {**table, "label": [scale[grade] for grade in table["label"].tolist()]}
            for result in (quorate.aggregate(by_cut), quorate.aggregate(table, map=scale)):
                frequent.append(result.vote.label.mean())
                errors.append((result.vote.label != (place > cut)).mean())
    shares, wrong = (np.reshape(found, (-1, 2)).mean(axis=0) for found in (frequent, errors))
    assert shares[1] == pytest.approx(shares[0], abs=0.005)  # two tasks of 400
    assert wrong[1] <= wrong[0] + 0.0025  # one
