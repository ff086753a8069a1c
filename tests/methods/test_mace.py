"""MACE: its model by a double loop, its ascent, and its estimates for workers of known response bias."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import OptionError, UnknownNameError
from quorate.methods import mace as module
from quorate.methods.mace import fit_mace, inference_of, mace
from tests.crowds import answers_of


def crowd(n_classes: int = 3) -> Answers:
    return quorate.simulate.crowd(40, 6, 4, n_classes=n_classes, seed=0).answers


def one_step(answers: Answers, name: str, start: Any, iterations: int = 0) -> module.Mace:
    way = inference_of(name, answers.n_classes)
    return module._from_start(answers, module._answer_matrix(answers), None, way, iterations, start)


def test_who_knows_half_the_time_is_right_three_times_in_four() -> None:
    answers = answers_of([("t", "w", "x")], classes=["x", "y"])
    half = np.full((2, 1), 0.5), np.full((1, 2), 0.5)  # knows with 1/2, and else says each class with 1/2
    assert one_step(answers, "em", half).posterior[0] == pytest.approx([0.75, 0.25])


def naive_step(answers: Answers, start: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Answer by answer: the log joint, and the expected answers by bias_rate and by knowledge."""
    (bias_rate, knowledge), strategy = start
    m = answers.n_classes
    scores = np.full((answers.n_tasks, m), -np.log(m))
    rows = list(zip(answers.task, answers.worker, answers.label, strict=True))
    for t, w, label in rows:
        for c in range(m):
            scores[t, c] += np.log(bias_rate[w] * strategy[w, label] + knowledge[w] * (label == c))
    q = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    guessed, known = np.zeros((answers.n_workers, m)), np.zeros(answers.n_workers)
    for t, w, label in rows:
        by_knowledge = knowledge[w] / (bias_rate[w] * strategy[w, label] + knowledge[w])
        known[w] += q[t, label] * by_knowledge
        guessed[w, label] += 1 - q[t, label] * by_knowledge
    return scores, guessed, known


def test_a_step_is_that_of_a_double_loop() -> None:
    answers = crowd()
    start = module._start(answers, 0.5, np.random.default_rng(1))
    scores, guessed, known = naive_step(answers, start)
    assert one_step(answers, "em", start).scores == pytest.approx(scores)
    stepped = one_step(answers, "em", start, iterations=1)
    extra = 0.01 / 3
    assert stepped.strategy == pytest.approx((guessed + extra) / (guessed + extra).sum(axis=1, keepdims=True))
    chances = np.stack([guessed.sum(axis=1), known], axis=1) + extra
    assert stepped.competence == pytest.approx(chances[:, 1] / chances.sum(axis=1))


def test_em_climbs_until_its_smoothing_holds_it() -> None:
    answers = crowd()
    start = module._start(answers, 0.5, np.random.default_rng(1))
    climbed = [one_step(answers, "em", start, n).log_likelihood for n in range(8)]
    assert np.diff(climbed).min() > 0
    assert fit_mace(answers, None, inference="em", restarts=5).log_likelihood >= climbed[-1]


@pytest.mark.parametrize("inference", ["vb", "em"])
def test_response_bias_are_found_and_count_for_nothing(inference: str) -> None:
    """Six who are right four times in five; one who always says x; one who tosses a coin."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=300)
    rows = [(f"t{t}", f"w{w}", "xy"[c if rng.random() < 0.8 else 1 - c]) for t, c in enumerate(truth) for w in range(6)]
    rows += [(f"t{t}", "lazy", "x") for t in range(300)]
    rows += [(f"t{t}", "coin", "xy"[rng.integers(2)]) for t in range(300)]
    answers = answers_of(rows)
    fit = fit_mace(answers, None, inference=inference)
    names = answers.worker_names.to_pylist()
    lazy, coin = names.index("lazy"), names.index("coin")
    good = [w for w, name in enumerate(names) if name.startswith("w")]
    assert fit.competence[good] == pytest.approx(0.6, abs=0.12)  # right in 0.6 + 0.4/2
    assert fit.competence[[lazy, coin]].max() < 0.15
    assert fit.strategy[lazy, 0] > 0.9
    result = mace(answers, inference=inference)
    assert (result.vote.label == truth).mean() > 0.88
    assert result.weights[lazy] < 0.3 * result.weights[good].min()


def test_variational_inference_draws_a_worker_of_one_answer_to_the_middle() -> None:
    rows = [(f"t{t}", f"w{w}", "xy"[t % 2]) for t in range(30) for w in range(4)]
    answers = answers_of([*rows, ("t0", "once", "x")])
    once = answers.worker_names.to_pylist().index("once")
    many = fit_mace(answers, None, inference="vb").competence
    assert many[once] < many[answers.worker_names.to_pylist().index("w0")]


def test_more_restarts_are_never_less_likely_and_start_elsewhere() -> None:
    answers = crowd()
    found = [fit_mace(answers, None, restarts=n, iterations=3).log_likelihood for n in (1, 2, 4, 8)]
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_known_labels_stay() -> None:
    answers = crowd()
    fit = fit_mace(answers, np.where(np.arange(40) < 4, 2, -1))
    assert (fit.posterior[:4, 2] == 1).all()


def test_what_means_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="restarts must be a positive number"):
        mace(crowd(), restarts=0)
    with pytest.raises(UnknownNameError, match="vb, em"):
        mace(crowd(), inference="gibbs")


@pytest.mark.parametrize("with_gold", [False, True])
def test_classes_that_nobody_gave_a_task_need_no_step(with_gold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the cells that occur, and by a table of tasks and classes."""
    crowd = quorate.simulate.crowd(60, 8, 4, n_classes=9, seed=3)
    gold = np.where(np.arange(60) < 10, crowd.truth, -1) if with_gold else None
    fits = []
    for cells in (1 << 40, 0):
        monkeypatch.setattr(module, "MAX_CELLS_PER_ANSWER", cells)
        fits.append(fit_mace(crowd.answers, gold, restarts=2, iterations=10))
    assert fits[1].posterior == pytest.approx(fits[0].posterior, abs=1e-9)
    assert fits[1].strategy == pytest.approx(fits[0].strategy, abs=1e-9)
