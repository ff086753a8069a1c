"""Opt-D&S: the pieces against naive loops, the laws of EM, and crowds too small for moments."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import special

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.memory import blocks_of
from quorate.errors import OptionError, TooLargeError
from quorate.methods import opt_ds as spectral
from quorate.methods.contradiction import contradiction
from quorate.methods.opt_ds import opt_ds
from quorate.models import confusion
from quorate.models.em import fit_confusion_em, normalise_columns
from quorate.models.one_coin import fit_one_coin_em
from quorate.notes import OTHER_START
from quorate.simulate import crowd
from quorate.voting.vote import majority

EASY = crowd(n_tasks=600, n_workers=30, per_task=6, n_classes=3, skills=np.linspace(0.3, 0.9, 30), seed=1)


def wrong(answers: Answers, label: IntArray, truth: IntArray) -> float:
    assert len(label) == answers.n_tasks
    return float(np.mean(label != truth))


def biased_crowd(n_tasks: int, n_workers: int, seed: int) -> tuple[Answers, IntArray, FloatArray]:
    """Two classes, everyone answers everything, and each worker is far better at one class than at the other.

    In every third of the workers the right class is still the likeliest answer, which the spectral start needs.
    """
    rng = np.random.default_rng(seed)
    confusion = np.zeros((n_workers, 2, 2))
    confusion[:, 0, 0] = np.where(np.arange(n_workers) % 4 == 0, 0.55, 0.95)
    confusion[:, 1, 1] = np.where(np.arange(n_workers) % 4 == 0, 0.95, 0.52)
    confusion[:, 1, 0], confusion[:, 0, 1] = 1 - confusion[:, 0, 0], 1 - confusion[:, 1, 1]
    truth = rng.integers(0, 2, n_tasks)
    label = (rng.random((n_tasks, n_workers)) < confusion[:, 1, :][:, truth].T).astype(int)
    task, worker = (grid.ravel() for grid in np.indices(label.shape))
    return quorate.read({"task": task, "worker": worker, "label": label.ravel()}), truth, confusion


# The pieces


@pytest.mark.parametrize("n", [1, 2, 5])
def test_power_method_recovers_an_orthogonal_decomposition(n: int) -> None:
    rng = np.random.default_rng(n)
    vectors = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.arange(1.0, n + 1)
    tensor = np.einsum("h,hp,hq,hr->pqr", values, vectors, vectors, vectors)
    found, rows = spectral._tensor_components(tensor, 50, 100, rng)
    order = np.argsort(found)
    np.testing.assert_allclose(found[order], values, atol=1e-10)  # convergence is quadratic: to rounding
    np.testing.assert_allclose(rows[order], vectors, atol=1e-10)


def test_power_method_survives_a_tensor_of_zeros() -> None:
    values, _ = spectral._tensor_components(np.zeros((3, 3, 3)), 4, 4, np.random.default_rng(0))
    assert values.tolist() == [0.0, 0.0, 0.0]


def test_third_moment_equals_the_loop_over_tasks() -> None:
    answers = crowd(n_tasks=40, n_workers=9, per_task=5, n_classes=3, seed=2).answers
    group = np.arange(9) % 3
    x = [spectral._group_counts(answers, group == g) for g in range(3)]
    naive = np.zeros((3, 3, 3))
    for task in range(answers.n_tasks):
        mine = answers.task == task
        for p in np.flatnonzero(mine & (group[answers.worker] == 0)):
            for q in np.flatnonzero(mine & (group[answers.worker] == 1)):
                for r in np.flatnonzero(mine & (group[answers.worker] == 2)):
                    naive[answers.label[p], answers.label[q], answers.label[r]] += 1
    np.testing.assert_array_equal(spectral._third_moment(x), naive)


def test_spectral_start_is_consistent() -> None:
    # The moments of 60,000 tasks have errors near 1/sqrt(60,000) = 0.004; solving for the matrices multiplies them.
    answers, _, truth = biased_crowd(60_000, 9, seed=4)
    start = spectral.spectral_start(answers, starts=20, power_steps=50, rng=np.random.default_rng(0))
    assert not isinstance(start, str)
    np.testing.assert_allclose(normalise_columns(start), truth, atol=0.05)


def test_em_never_lowers_its_likelihood_from_the_spectral_start() -> None:
    answers = EASY.answers
    start = spectral.spectral_start(answers, starts=20, power_steps=50, rng=np.random.default_rng(0))
    assert not isinstance(start, str)
    counts = np.maximum(start, 1e-6)
    blocks = blocks_of(answers)
    options: dict[str, Any] = {"max_iterations": 25, "tolerance": 0.0}
    mean_accuracy = np.einsum("wcc->w", counts) / counts.sum(axis=(1, 2))
    for reached in (
        fit_confusion_em(blocks, start=normalise_columns(counts), **options).log_likelihoods,
        fit_one_coin_em(blocks, start=mean_accuracy, **options).log_likelihoods,
    ):
        assert (np.diff(reached) >= -1e-9 * abs(reached[0])).all()
        assert reached[-1] > reached[0]


# The method


@pytest.mark.parametrize("one_coin", [False, True])
def test_an_easy_crowd_is_labelled_at_least_as_well_as_by_the_majority(one_coin: bool) -> None:
    result = opt_ds(EASY.answers, one_coin=one_coin)
    plain = wrong(EASY.answers, majority(EASY.answers).label, EASY.truth)
    assert wrong(EASY.answers, result.vote.label, EASY.truth) <= plain + 0.005  # three tasks of 600 may go by chance
    assert not result.notes
    assert np.corrcoef(result.skills, EASY.skills)[0, 1] > 0.8


def test_bias_towards_a_class_is_seen_through() -> None:
    answers, truth, _ = biased_crowd(500, 12, seed=5)
    assert wrong(answers, majority(answers).label, truth) > 0.1
    assert wrong(answers, opt_ds(answers).vote.label, truth) < 0.02


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, again = opt_ds(EASY.answers, seed=7), opt_ds(EASY.answers, seed=7)
    assert first.vote.posterior.tobytes() == again.vote.posterior.tobytes()
    assert first.skills.tobytes() == again.skills.tobytes()


def test_names_do_not_matter() -> None:
    a = EASY.answers
    renamed = replace(
        a,
        worker_names=pa.array(range(a.n_workers, 0, -1)),
        task_names=pa.array([f"z{t * 7}" for t in range(a.n_tasks)]),
    )
    np.testing.assert_array_equal(opt_ds(renamed).vote.posterior, opt_ds(a).vote.posterior)


def test_the_posterior_sums_to_one_and_agrees_with_the_scores() -> None:
    task_vote = opt_ds(EASY.answers).vote
    np.testing.assert_allclose(task_vote.posterior.sum(axis=1), 1.0)
    np.testing.assert_allclose(special.softmax(task_vote.scores, axis=1), task_vote.posterior, atol=1e-12)


def test_known_labels_hold_and_teach() -> None:
    # Five of six workers always say the opposite: the majority is wrong, and forty known labels show it.
    truth = np.arange(120) % 2
    label = np.where(np.arange(6) == 0, truth[:, None], 1 - truth[:, None])
    task, worker = (grid.ravel() for grid in np.indices(label.shape))
    answers = quorate.read({"task": task, "worker": worker, "label": label.ravel()})
    result = opt_ds(answers, gold={t: int(truth[t]) for t in range(40)})
    assert wrong(answers, result.vote.label, truth) == 0.0
    assert result.skills[0] > 0.9
    assert result.skills[1] < -0.9


# Crowds too small for moments

SMALL = {
    "one worker": {"task": [1, 2, 3], "worker": ["a"] * 3, "label": list("xyx")},
    "one task": {"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xyyy")},
    "one answer": {"task": [1], "worker": ["a"], "label": ["x"]},
    "one class": {"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxxxx")},
    "two workers": {"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxx")},
    "groups that share no task": {"task": [1, 1, 2, 2, 3, 3], "worker": list("adbecf"), "label": list("xxyyxy")},
    "single answers": {"task": [1, 2, 3, 4], "worker": list("abcd"), "label": list("xyxy")},
    "disconnected": {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyyx")},
}


@pytest.mark.parametrize("one_coin", [False, True])
@pytest.mark.parametrize("case", SMALL)
def test_small_crowds_get_labels_and_a_note(case: str, one_coin: bool) -> None:
    answers = quorate.read(SMALL[case])
    result = opt_ds(answers, starts=5, power_steps=5, one_coin=one_coin)
    np.testing.assert_allclose(result.vote.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.weights).all()
    assert result.labels.num_rows == answers.n_tasks
    assert result.workers.num_rows == answers.n_workers
    if case not in ("one class", "disconnected"):  # these two have moments that can be solved
        assert result.notes[0].kind == OTHER_START
    if case in ("one worker", "single answers", "one class", "one task", "one answer"):
        assert result.vote.label.tolist() == majority(answers).label.tolist()


def test_a_task_without_answers_has_no_label_and_a_class_that_nobody_gave_is_never_a_label() -> None:
    # Worker c contradicts itself on task 4, which no one else answered.
    rows = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": [*"abababcc"], "label": list("xxyyxyxy")}
    answers = quorate.read(rows, on_conflict="drop", classes=["w", "x", "y", "z"])
    assert answers.per_task.min() == 0
    result = opt_ds(answers, starts=5)
    assert result.vote.posterior[3].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert result.labels["label"].to_pylist()[3] is None
    assert set(result.vote.label.tolist()) <= {-1, 1, 2}
    assert np.isnan(result.skills[2])  # worker c has no answer left
    known = opt_ds(answers, starts=5, gold={1: "z"})
    assert known.labels["label"].to_pylist()[0] == "z"


@pytest.mark.parametrize("seed", range(15))
def test_random_scraps_are_safe(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    rows = {"task": rng.integers(0, 12, n), "worker": rng.integers(0, 7, n), "label": rng.integers(0, 4, n)}
    result = opt_ds(quorate.read(rows, on_conflict="drop", classes=range(5)), starts=4, power_steps=10)
    np.testing.assert_allclose(result.vote.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.vote.scores).all()


def test_labels_that_contradict_the_majority_are_noted() -> None:
    label = majority(EASY.answers).label
    assert contradiction(EASY.answers, label, "m") == ()
    other, counts = (label + 1) % 3, EASY.answers.counts
    share = np.mean(counts[np.arange(len(other)), other] < counts.max(axis=1))  # a tie contradicts nobody
    assert f"{share:.0%} of the labels" in contradiction(EASY.answers, other, "m")[0].text


# Refusals


def test_confusion_matrices_or_a_posterior_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "MAX_ENTRIES", 1000)
    with pytest.raises(TooLargeError, match=r"200 workers: 1,800 entries.*Merge rare classes"):
        opt_ds(crowd(n_tasks=300, n_workers=200, per_task=3, n_classes=3).answers)
    with pytest.raises(TooLargeError, match=r"600 tasks and 2 classes"):
        opt_ds(crowd(n_tasks=600, n_workers=3, per_task=3).answers)


@pytest.mark.parametrize("option", ["rounds", "starts", "power_steps"])
def test_options_must_be_positive(option: str) -> None:
    with pytest.raises(OptionError, match=option):
        opt_ds(EASY.answers, **{option: 0})  # type: ignore[arg-type]  # the name is a parameter of this test
