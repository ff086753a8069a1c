from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate.errors import OptionError, TooLargeError
from quorate.methods.m3v import m3v
from quorate.methods.m3v_svm import m3v_svm
from quorate.models import confusion
from quorate.notes import NOT_CONVERGED
from quorate.result import Result
from quorate.simulate import crowd
from quorate.voting.vote import majority
from tests.methods.m3v_samples import EASY

METHODS: dict[str, Callable[..., Result]] = {"m3v": m3v, "m3v-svm": m3v_svm}


@pytest.mark.parametrize("method", METHODS)
def test_an_easy_crowd_is_labelled_at_least_as_well_as_by_the_majority(method: str) -> None:
    result = METHODS[method](EASY.answers)
    plain = np.mean(majority(EASY.answers).label != EASY.truth)
    assert np.mean(result.vote.label != EASY.truth) <= plain + 0.005  # two tasks of 400 may go by chance
    assert not result.notes


def test_only_the_sampler_estimates_skills() -> None:
    result = m3v(EASY.answers)
    assert np.corrcoef(result.skills, EASY.skills)[0, 1] > 0.8
    assert np.corrcoef(result.weights, EASY.skills)[0, 1] > 0.6
    assert np.isnan(m3v_svm(EASY.answers).skills).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    first, again, other = (m3v(EASY.answers, seed=seed, sweeps=15) for seed in (7, 7, 8))
    assert first.vote.posterior.tobytes() == again.vote.posterior.tobytes()
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.weights.tobytes() != other.weights.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_names_do_not_matter(method: str) -> None:
    a = EASY.answers
    names = pa.array([f"z{t * 7}" for t in range(a.n_tasks)])
    renamed = replace(a, worker_names=pa.array(range(a.n_workers, 0, -1)), task_names=names)
    np.testing.assert_array_equal(METHODS[method](renamed).vote.posterior, METHODS[method](a).vote.posterior)


def test_the_posterior_is_the_share_of_the_samples() -> None:
    posterior = m3v(EASY.answers, sweeps=14, burn_in=4).vote.posterior
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    np.testing.assert_allclose(posterior * 10, np.round(posterior * 10), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_known_labels_hold_and_teach(method: str) -> None:
    # Two of three workers always say the opposite: the majority is wrong, and ninety known labels show it.
    truth = np.arange(120) % 2
    label = np.where(np.arange(3) == 0, truth[:, None], 1 - truth[:, None])
    task, worker = (grid.ravel() for grid in np.indices(label.shape))
    answers = quorate.read({"task": task, "worker": worker, "label": label.ravel()})
    result = METHODS[method](answers, gold={t: int(truth[t]) for t in range(90)})
    assert result.vote.label.tolist() == truth.tolist()


SMALL = {
    "one worker": {"task": [1, 2, 3], "worker": ["a"] * 3, "label": list("xyx")},
    "one task": {"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xyyy")},
    "one answer": {"task": [1], "worker": ["a"], "label": ["x"]},
    "one class": {"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxxxx")},
    "single answers": {"task": [1, 2, 3, 4], "worker": list("abcd"), "label": list("xyxy")},
    "disconnected": {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcdef"), "label": list("xxyyyx")},
}


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("method", METHODS)
def test_small_crowds_are_safe(method: str, case: str) -> None:
    answers = quorate.read(SMALL[case])
    result = METHODS[method](answers)
    np.testing.assert_allclose(result.vote.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.weights).all()
    assert result.labels.num_rows == answers.n_tasks
    assert result.workers.num_rows == answers.n_workers
    if method == "m3v-svm" or case == "one class":  # the sampler may label a task unlike its only answer
        assert result.vote.label.tolist() == majority(answers).label.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_task_without_answers_has_no_label_and_a_class_that_nobody_gave_is_never_a_label(method: str) -> None:
    # Worker c contradicts itself on task 4, which no one else answered.
    rows = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": [*"abababcc"], "label": list("xxyyxyxy")}
    answers = quorate.read(rows, on_conflict="drop", classes=["w", "x", "y", "z"])
    assert answers.per_task.min() == 0
    result = METHODS[method](answers)
    assert result.vote.posterior[3].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert result.labels["label"].to_pylist()[3] is None
    assert set(result.vote.label.tolist()) <= {-1, 1, 2}
    assert METHODS[method](answers, gold={1: "z"}).labels["label"].to_pylist()[0] == "z"


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("method", METHODS)
def test_random_scraps_are_safe(method: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    rows = {"task": rng.integers(0, 12, n), "worker": rng.integers(0, 7, n), "label": rng.integers(0, 4, n)}
    answers = quorate.read(rows, on_conflict="drop", classes=range(5))
    options = {"c": float(10 ** rng.uniform(-4, 3)), "margin": float(10 ** rng.uniform(-2, 2))}
    known = int(answers.task_names[0].as_py())
    result = METHODS[method](answers, gold={known: int(rng.integers(0, 5))}, **options)
    np.testing.assert_allclose(result.vote.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.vote.scores).all()
    assert not any(note.kind == NOT_CONVERGED for note in result.notes)


@pytest.mark.parametrize("method", METHODS)
def test_too_many_workers_are_refused(method: str) -> None:
    answers = crowd(n_tasks=10, n_workers=5001, per_task=2, seed=0).answers
    with pytest.raises(TooLargeError, match=r"5,001 workers.*25,010,001 entries.*rank-one"):
        METHODS[method](answers)


def test_too_many_confusion_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "MAX_ENTRIES", 1000)
    with pytest.raises(TooLargeError, match=r"the method 'm3v' keeps .* 60 workers"):
        m3v(crowd(n_tasks=400, n_workers=60, per_task=3, n_classes=10, seed=0).answers)


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(OptionError, match="margin must be a positive number, got 0"):
        m3v(EASY.answers, margin=0)
    with pytest.raises(OptionError, match="prior_variance"):
        m3v(EASY.answers, prior_variance=float("nan"))
    with pytest.raises(OptionError, match="10 sweeps with 10 of burn-in"):
        m3v(EASY.answers, sweeps=10)
    with pytest.raises(OptionError, match="c must be"):
        m3v_svm(EASY.answers, c=-1)
    with pytest.raises(OptionError, match="max_iterations must be at least 1"):
        m3v_svm(EASY.answers, max_iterations=0)
