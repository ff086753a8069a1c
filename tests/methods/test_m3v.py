"""M3V in both forms: updates against naive loops, the certificate of the machine, and crowds of every awkward shape."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import OptionError, TooLargeError
from quorate.evaluation.simulate import crowd
from quorate.methods import m3v as gibbs
from quorate.methods import m3v_svm as svm
from quorate.methods.m3v import m3v
from quorate.methods.m3v_svm import m3v_svm
from quorate.result import Result
from quorate.voting import confusion
from quorate.voting.vote import majority, tally

EASY = crowd(n_tasks=400, n_workers=25, per_task=6, n_classes=3, skills=np.linspace(0.2, 0.9, 25), seed=1)
METHODS: dict[str, Callable[..., Result]] = {"m3v": m3v, "m3v-svm": m3v_svm}


def votes_for(answers: Answers, task: int, klass: int) -> FloatArray:
    """g_i(k), one worker at a time."""
    mine = (answers.task == task) & (answers.label == klass)
    return np.isin(np.arange(answers.n_workers), answers.worker[mine]).astype(np.float64)


def awkward() -> tuple[Answers, IntArray, FloatArray]:
    """Answers of three classes, labels that are not always the majority, and weights of both signs."""
    answers = crowd(n_tasks=25, n_workers=8, per_task=4, n_classes=3, seed=3).answers
    rng = np.random.default_rng(0)
    return answers, rng.integers(0, 3, 25), rng.standard_normal(8)


# The sampler's steps


def test_label_update_equals_the_loop_over_tasks() -> None:
    answers, _, eta = awkward()
    rng = np.random.default_rng(1)
    u, evidence = rng.random(25) + 0.1, rng.standard_normal((25, 3))
    margin, c = 3.0, 0.25
    found = gibbs._label_log_odds(tally(answers, eta), evidence, u, margin, c)
    for i in range(25):
        naive = np.zeros(3)
        for k in range(3):
            s = max((k2 for k2 in range(3) if k2 != k), key=lambda k2: float(eta @ votes_for(answers, i, k2)))
            d = votes_for(answers, i, k) - votes_for(answers, i, s)
            naive[k] = -u[i] / 2 * (1 / u[i] + c * (margin - eta @ d)) ** 2 + evidence[i, k]
        # Equal up to the constant that all classes of a task share.
        np.testing.assert_allclose(found[i] - found[i, 0], naive - naive[0], atol=1e-10)


def test_separation_equals_the_loop_over_tasks() -> None:
    answers, label, eta = awkward()
    against = gibbs.rival(tally(answers, eta), label)
    rows = gibbs.separation(answers, label, against).toarray()
    for i in range(25):
        assert against[i] != label[i]
        np.testing.assert_array_equal(rows[i], votes_for(answers, i, label[i]) - votes_for(answers, i, against[i]))


def test_weights_are_drawn_from_their_normal_law() -> None:
    answers, label, eta = awkward()
    apart = gibbs.separation(answers, label, gibbs.rival(tally(answers, eta), label))
    u, margin, c, variance = np.linspace(0.1, 2, 25), 3.0, 0.5, 2.0
    d = apart.toarray()
    precision = np.eye(8) / variance + c**2 * sum(u[i] * np.outer(d[i], d[i]) for i in range(25))
    pull = c**2 * sum((margin * u[i] + 1 / c) * d[i] for i in range(25))
    rng = np.random.default_rng(0)
    drawn = np.array([gibbs._draw_weights(apart, u, margin, c, variance, rng) for _ in range(1500)])
    covariance = np.linalg.inv(precision)
    # Five standard errors of a mean and, for the variances, of 1,500 draws: 5·sqrt(2/1500) = 0.18.
    limit = 5 * np.sqrt(np.diag(covariance) / 1500)
    assert (np.abs(drawn.mean(axis=0) - covariance @ pull) < limit).all()
    np.testing.assert_allclose(drawn.var(axis=0), np.diag(covariance), rtol=0.18)


def test_confusion_matrices_follow_the_counts() -> None:
    answers, label, _ = awkward()
    rng = np.random.default_rng(0)
    drawn = np.array([gibbs._draw_confusion(answers, label, rng) for _ in range(4000)])
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0)
    counts = np.ones((8, 3, 3))
    np.add.at(counts, (answers.worker, answers.label, label[answers.task]), 1)
    # The standard deviation of an entry is at most 0.29 (uniform), of its mean over 4,000 draws 0.005.
    np.testing.assert_allclose(drawn.mean(axis=0), counts / counts.sum(axis=1, keepdims=True), atol=0.025)


# The machine


def test_constraints_equal_the_loop_over_tasks_and_rivals() -> None:
    answers, label, _ = awkward()
    a, item = svm._constraints(answers, label)
    for i in range(25):
        naive = {tuple(votes_for(answers, i, label[i]) - votes_for(answers, i, k)) for k in range(3) if k != label[i]}
        assert {tuple(row) for row in a[item == i].toarray()} == naive


@pytest.mark.parametrize("c", [0.01, 0.25, 10.0, 1000.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_duality_gap_certifies_the_machine(n_classes: int, c: float) -> None:
    answers = crowd(n_tasks=200, n_workers=15, per_task=5, n_classes=n_classes, seed=2).answers
    label = np.where(np.arange(200) % 10 == 0, 0, majority(answers).label)  # some labels that no weights can reach
    machine = svm._solve(answers, label, 1.0, c)
    assert 0 <= machine.gap <= svm.GAP
    # The gap bounds the distance to the least objective; no weights nearby may beat it by more.
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            other = machine.weights + size * rng.standard_normal(15)
            assert svm._objective(answers, other, label, 1.0, c) >= machine.objective * (1 - machine.gap)


def test_the_machine_agrees_with_a_general_solver() -> None:
    answers, label, _ = awkward()
    a, item = svm._constraints(answers, label)
    n, m = answers.n_workers, answers.n_tasks

    def objective(x: FloatArray) -> float:
        return float(x[:n] @ x[:n] / 2 + 0.25 * x[n:].sum())

    rows = {"type": "ineq", "fun": lambda x: a @ x[:n] + x[n:][item] - 1.0}
    bounds = [(None, None)] * n + [(0, None)] * m
    start = np.concatenate([np.zeros(n), np.full(m, 2.0)])
    reference = optimize.minimize(objective, start, bounds=bounds, constraints=rows, method="SLSQP", tol=1e-12)
    machine = svm._solve(answers, label, 1.0, 0.25)
    assert reference.success
    np.testing.assert_allclose(machine.objective, reference.fun, rtol=1e-5)
    np.testing.assert_allclose(machine.weights, reference.x[:n], atol=1e-3)


def test_a_machine_that_can_be_solved_by_eye() -> None:
    # Two workers who agree on four tasks: both weights are 1/2, and every margin of 1 is met exactly.
    answers = quorate.read({"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": list("abababab"), "label": list("xxyyxxyy")})
    machine = svm._solve(answers, majority(answers).label, 1.0, 10.0)
    np.testing.assert_allclose(machine.weights, 0.5, atol=1e-3)
    assert machine.objective == pytest.approx(0.25, rel=1e-5)


def test_alternation_never_raises_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[svm.Machine] = []
    solve = svm._solve

    def watched(answers: Answers, label: IntArray, margin: float, c: float) -> svm.Machine:
        reached.append(solve(answers, label, margin, c))
        return reached[-1]

    monkeypatch.setattr(svm, "_solve", watched)
    answers = crowd(n_tasks=500, n_workers=40, per_task=3, n_classes=3, seed=6).answers
    result = m3v_svm(answers)
    objectives = np.array([machine.objective for machine in reached])
    assert len(objectives) > 2
    assert (np.diff(objectives) <= svm.GAP * objectives[:-1]).all()
    assert not result.notes


def test_labels_that_do_not_settle_are_noted() -> None:
    answers = crowd(n_tasks=500, n_workers=40, per_task=3, n_classes=3, seed=6).answers
    assert "not settled after 1" in m3v_svm(answers, max_iterations=1).notes[0]


def test_a_machine_that_is_not_solved_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svm, "MOST_STEPS", 2)
    assert "duality gap" in m3v_svm(EASY.answers).notes[-1]


# The methods


@pytest.mark.parametrize("method", METHODS)
def test_an_easy_crowd_is_labelled_at_least_as_well_as_by_the_majority(method: str) -> None:
    result = METHODS[method](EASY.answers)
    plain = np.mean(majority(EASY.answers).label != EASY.truth)
    assert np.mean(result.ballot.label != EASY.truth) <= plain + 0.005  # two tasks of 400 may go by chance
    assert not result.notes


def test_only_the_sampler_estimates_skills() -> None:
    result = m3v(EASY.answers)
    assert np.corrcoef(result.skills, EASY.skills)[0, 1] > 0.8
    assert np.corrcoef(result.weights, EASY.skills)[0, 1] > 0.6
    assert np.isnan(m3v_svm(EASY.answers).skills).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    first, again, other = (m3v(EASY.answers, seed=seed, sweeps=15) for seed in (7, 7, 8))
    assert first.ballot.posterior.tobytes() == again.ballot.posterior.tobytes()
    assert first.weights.tobytes() == again.weights.tobytes()
    assert first.weights.tobytes() != other.weights.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_names_do_not_matter(method: str) -> None:
    a = EASY.answers
    names = pa.array([f"z{t * 7}" for t in range(a.n_tasks)])
    renamed = replace(a, worker_names=pa.array(range(a.n_workers, 0, -1)), task_names=names)
    np.testing.assert_array_equal(METHODS[method](renamed).ballot.posterior, METHODS[method](a).ballot.posterior)


def test_the_posterior_is_the_share_of_the_samples() -> None:
    posterior = m3v(EASY.answers, sweeps=14, burn_in=4).ballot.posterior
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
    assert result.ballot.label.tolist() == truth.tolist()


# Awkward crowds

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
    np.testing.assert_allclose(result.ballot.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.weights).all()
    assert result.labels.num_rows == answers.n_tasks
    assert result.workers.num_rows == answers.n_workers
    if method == "m3v-svm" or case == "one class":  # the sampler may doubt a lone answer
        assert result.ballot.label.tolist() == majority(answers).label.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_task_without_answers_is_tied_and_a_class_that_nobody_gave_is_never_a_label(method: str) -> None:
    # Worker c contradicts itself on task 4, which no one else answered.
    rows = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": [*"abababcc"], "label": list("xxyyxyxy")}
    answers = quorate.read(rows, on_conflict="drop", classes=["w", "x", "y", "z"])
    assert answers.per_task.min() == 0
    result = METHODS[method](answers)
    assert result.ballot.posterior[3].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert result.ballot.tied[3]
    assert set(result.ballot.label.tolist()) <= {1, 2}
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
    np.testing.assert_allclose(result.ballot.posterior.sum(axis=1), 1.0)
    assert np.isfinite(result.ballot.scores).all()
    assert not any("settled" in note or "gap" in note for note in result.notes)


# Refusals


@pytest.mark.parametrize("method", METHODS)
def test_too_many_workers_are_refused(method: str) -> None:
    answers = crowd(n_tasks=10, n_workers=5001, per_task=2, seed=0).answers
    with pytest.raises(TooLargeError, match=r"5,001 workers.*25,010,001 entries.*rank-one"):
        METHODS[method](answers)


def test_too_many_confusion_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "ENTRIES", 1000)
    with pytest.raises(TooLargeError, match=r"m3v keeps .* 60 workers"):
        m3v(crowd(n_tasks=400, n_workers=60, per_task=3, n_classes=10, seed=0).answers)


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(OptionError, match="margin must be a positive number, not 0"):
        m3v(EASY.answers, margin=0)
    with pytest.raises(OptionError, match="prior_variance"):
        m3v(EASY.answers, prior_variance=float("nan"))
    with pytest.raises(OptionError, match="10 sweeps with 10 of burn-in"):
        m3v(EASY.answers, sweeps=10)
    with pytest.raises(OptionError, match="c must be"):
        m3v_svm(EASY.answers, c=-1)
    with pytest.raises(OptionError, match="at least one iteration"):
        m3v_svm(EASY.answers, max_iterations=0)
