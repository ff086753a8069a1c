"""GLAD: its model by a double loop, its ascent, and where it ends."""

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.methods.glad import Glad, GladPriors, fit_glad, glad
from quorate.voting.posterior import log_likelihood
from tests.crowds import answers_of


def crowd(n_classes: int = 3, seed: int = 0) -> Answers:
    return quorate.simulate.crowd(40, 6, 4, n_classes=n_classes, seed=seed).answers


def log_joint(answers: Answers, ability: FloatArray, ease: FloatArray, prior: FloatArray) -> FloatArray:
    """Answer by answer: right with probability sigmoid(a·e^b), else each other class alike."""
    scores = np.tile(np.log(prior), (answers.n_tasks, 1))
    for t, w, label in zip(answers.task, answers.worker, answers.label, strict=True):
        x = ability[w] * np.exp(ease[t])
        right, wrong = -np.logaddexp(0, -x), -np.logaddexp(0, x) - np.log(answers.n_classes - 1)
        for c in range(answers.n_classes):
            scores[t, c] += right if c == label else wrong
    return scores


def log_posterior(answers: Answers, ability: FloatArray, ease: FloatArray, priors: GladPriors) -> float:
    surprise = ((ability - priors.ability) ** 2).sum() + ((ease - priors.ease) ** 2).sum()
    return log_likelihood(log_joint(answers, ability, ease, priors.prior), None) - float(surprise) / 2


def fit_to_convergence(answers: Answers, priors: GladPriors) -> Glad:
    return fit_glad(answers, None, priors, max_iterations=3000, tolerance=0.0)


def test_before_anything_is_learnt_one_answer_is_right_by_the_sigmoid_of_e() -> None:
    first = glad(answers_of([("t", "w", "x")], classes=["x", "y"]), max_iterations=1)
    assert first.vote.posterior[0] == pytest.approx([1 / (1 + np.exp(-np.e)), 1 / (1 + np.exp(np.e))])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_scores_are_those_of_a_double_loop(n_classes: int) -> None:
    answers = crowd(n_classes)
    prior = np.arange(1.0, n_classes + 1)
    priors = GladPriors.of(answers, prior)
    first = fit_glad(answers, None, priors, max_iterations=1)
    expected = log_joint(answers, priors.ability, priors.ease, prior / prior.sum())
    assert first.scores == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_the_log_posterior_never_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = crowd(seed=seed)
    priors = GladPriors.of(answers, None, rng.normal(0, 3, 6), rng.normal(0, 3, 40))  # far from where it will end
    history = fit_glad(answers, None, priors).log_posteriors
    assert np.diff(history).min() >= -1e-9  # rounding in sums of some hundred terms
    assert history[0] == pytest.approx(log_posterior(answers, priors.ability, priors.ease, priors))


def test_it_ends_where_no_ability_and_no_ease_can_be_bettered() -> None:
    answers = crowd()
    priors = GladPriors.of(answers)
    fit = fit_to_convergence(answers, priors)
    step = 1e-4
    for values, index in ((fit.ability, 0), (fit.ability, 5), (fit.ease, 0), (fit.ease, 17)):
        heights = []
        for sign in (-1, 1):
            values[index] += sign * step
            heights.append(log_posterior(answers, fit.ability, fit.ease, priors))
            values[index] -= sign * step
        assert (heights[1] - heights[0]) / (2 * step) == pytest.approx(0, abs=1e-3)


def test_exchanging_the_classes_exchanges_the_labels() -> None:
    answers = crowd()
    rows = answers.to_table().to_pylist()
    other = {"c0": "c2", "c1": "c0", "c2": "c1"}
    exchanged = answers_of([(row["task"], row["worker"], other[row["label"]]) for row in rows])
    labels = [other[label] for label in glad(answers).labels["label"].to_pylist()]
    assert glad(exchanged).labels["label"].to_pylist() == labels


def test_a_task_of_discord_is_harder_and_a_worker_against_all_is_less_able() -> None:
    rows = [(f"t{t}", f"w{w}", "x" if t % 2 else "y") for t in range(12) for w in range(5)]
    rows += [(f"t{t}", "odd", "y" if t % 2 else "x") for t in range(12)]
    rows += [("hard", f"w{w}", "xy"[w % 2]) for w in range(5)]
    answers = answers_of(rows)
    fit = fit_glad(answers, None, GladPriors.of(answers))
    odd = answers.worker_names.to_pylist().index("odd")
    assert fit.ability.argmin() == odd
    assert fit.ability[odd] < 0
    assert answers.task_names[int(fit.ease.argmin())].as_py() == "hard"
    result = glad(answers)
    other = answers.worker_names.to_pylist().index("w0")
    assert result.skills[odd] < 0 < result.skills[other]
    assert result.weights[odd] < 0 < result.weights[other]


def test_known_labels_turn_the_abilities() -> None:
    rows = [(f"t{t}", f"w{w}", "x" if w < 3 else "y") for t in range(10) for w in range(5)]
    answers = answers_of(rows)
    result = glad(answers, gold={f"t{t}": "y" for t in range(5)})
    assert set(result.labels["label"].to_pylist()) == {"y"}
    assert (result.skills[:3] < 0).all()


def test_what_does_not_fit_is_refused() -> None:
    answers = crowd()
    with pytest.raises(OptionError, match="max_iterations must be at least 1"):
        glad(answers, max_iterations=0)
    with pytest.raises(OptionError, match="40 numbers, one for each task"):
        glad(answers, ease=np.ones(3))
    with pytest.raises(OptionError, match="6 numbers, one for each worker"):
        glad(answers, ability=np.full(6, np.nan))
    with pytest.raises(OptionError, match="3 positive numbers"):
        glad(answers, prior=np.array([0.5, 0.5]))
