from typing import Any

import numpy as np
import pytest

from quorate import simulate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.models.response_bias import class_prior_by_response_bias
from quorate.skills import centred_skills as class_prior
from quorate.skills.centred import centred_skills
from quorate.skills.centred_score import CentredInference, rescaled
from quorate.skills.centred_skills import centred_estimates, converged_response_bias, shrink_to_mean
from quorate.skills.identification import identify_workers

SKEWED = np.array([0.85, 0.1, 0.05])


def skewed(seed: int = 0) -> simulate.Crowd:
    return simulate.crowd(6000, 60, 5, n_classes=3, prior=SKEWED, skills=np.full(60, 0.6), seed=seed)


def first(answers: Answers) -> CentredInference:
    """The skills on the scale of the plurality's prior."""
    found, gold = centred_skills(answers), np.zeros(answers.n_workers, dtype=bool)
    return CentredInference(answers, found.solution.skills, gold, ~gold, found.bias_of_workers, float(found.ridge))


def test_the_converged_prior_is_the_true_one_where_the_pluralitys_is_not() -> None:
    """Within .02: four standard errors of a share of .85 among 6,000 tasks would be .018."""
    crowd = skewed()
    found = first(crowd.answers)
    fitted = converged_response_bias(found)
    assert np.abs(fitted.prior - SKEWED).max() < 0.02 < 0.05 < np.abs(found.bias_of_workers.prior - SKEWED).max()
    assert fitted.spread == pytest.approx(1 - fitted.prior @ fitted.prior)
    assert np.array_equal(fitted.frequency, found.bias_of_workers.frequency)


def test_the_order_of_classes_makes_no_difference() -> None:
    crowd = skewed()
    a = crowd.answers
    turned = simulate.collect(a.task, a.worker, 2 - a.label, crowd.truth, crowd.skills, 3)
    one, other = (converged_response_bias(first(answers)).prior for answers in (a, turned.answers))
    assert np.allclose(one, other[::-1])


def test_skills_are_stated_on_the_converged_scale_and_labels_vote_on_the_other() -> None:
    workers = centred_estimates(identify_workers(skewed().answers))
    assert workers.bias_of_workers is not None
    inference = workers.skill_estimates.inference
    assert inference is not None
    assert abs(workers.skill_estimates.skills.mean() - 0.6) < 0.02 < 0.05 < abs(workers.skills.mean() - 0.6)
    assert abs(inference.score().raw.mean() - 0.6) < 0.02


def test_a_known_label_has_skill_one_on_any_scale() -> None:
    crowd = skewed()
    known = np.where(np.arange(6000) < 300, crowd.truth, -1)
    inference = centred_estimates(identify_workers(crowd.answers, known)).skill_estimates.inference
    assert inference is not None
    assert inference.skills[-1] == 1.0


def test_even_classes_leave_the_scale_alone() -> None:
    crowd = simulate.crowd(3000, 30, 5, seed=0)
    workers = centred_estimates(identify_workers(crowd.answers))
    assert np.abs(workers.skill_estimates.skills - workers.skills).max() < 1e-3


def test_x_squared_times_the_spread_stays() -> None:
    skills = np.array([-0.2, 0.0, 0.5])
    assert np.allclose(rescaled(skills, 0.3, 0.5) ** 2 * 0.5, skills**2 * 0.3)


def test_differences_that_chance_explains_are_none() -> None:
    """All skills are 0.6: what is left of the spread of the estimates is at most a third."""
    found = first(skewed().answers)
    assert shrink_to_mean(found, found.noise()).std() < found.skills.std() / 3


def test_the_noise_is_how_far_skills_lie_from_the_truth() -> None:
    """Skills of 0.6 each, 150 per crowd: the mean square distance from their mean, to a fifth."""
    crowd = simulate.crowd(12_000, 150, 5, skills=np.full(150, 0.6), seed=1)
    found = first(crowd.answers)
    assert 0.8 < found.noise().mean() / found.skills.var() < 1.2


def test_a_sample_of_the_tasks_tells_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 of 6,000 tasks, by which six random samples put the share of the first class at .77 to .93."""
    found = first(skewed().answers)
    of_all = converged_response_bias(found).prior
    monkeypatch.setattr(class_prior, "MAX_PRIOR_ANSWERS", 10_000)
    some = converged_response_bias(found).prior
    assert 0 < np.abs(some - of_all).max() < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_extrapolated_to_where_plain_ones_lead(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 32 : 1 plain steps shrink by a tenth each: thirty end a hundredth off, half as many ahead do not."""
    prior, skills = np.array([0.97, 0.03]), np.linspace(0, 1, 50)
    found = first(simulate.crowd(4000, 50, 5, prior=prior, skills=skills, seed=seed).answers)
    counted: list[int] = []

    def steps(*given: Any) -> FloatArray:
        counted.append(1)
        return class_prior_by_response_bias(*given)

    monkeypatch.setattr(class_prior, "class_prior_by_response_bias", steps)
    ahead, n_ahead = converged_response_bias(found).prior, len(counted)
    monkeypatch.setattr(class_prior, "MAX_EXTRAPOLATION_RATIO", 0.0)
    plain, n_plain = converged_response_bias(found).prior, len(counted) - n_ahead
    monkeypatch.setattr(class_prior, "PRIOR_TOLERANCE", 1e-9)
    monkeypatch.setattr(class_prior, "MAX_PRIOR_STEPS", 2000)
    end = converged_response_bias(found).prior
    assert n_ahead < n_plain / 2
    assert np.abs(ahead - end).max() < 0.01
    assert np.abs(ahead - end).max() <= np.abs(plain - end).max() + 1e-4


def test_tasks_that_nobody_answered_tell_nothing_of_the_prior() -> None:
    """Those that one worker answered do."""
    a, answered = skewed().answers, np.arange(6000) % 3 > 0
    is_first = np.arange(a.n_answers) == a.start[a.task]
    few = a.where(is_first | (a.task % 7 > 0))
    without, beside = few.only(answered), few.where(answered[few.task])
    assert beside.n_tasks == 6000 > without.n_tasks
    assert np.allclose(first(beside).bias_of_workers.prior, first(without).bias_of_workers.prior, atol=1e-12)
    assert np.allclose(
        converged_response_bias(first(beside)).prior, converged_response_bias(first(without)).prior, atol=1e-12
    )


def test_who_is_not_determined_has_no_part_in_the_mean() -> None:
    """Two skills .3 from their mean, with a variance of .01 each: of .09 between them .08 are real."""
    answers, gold = simulate.crowd(90, 3, 3, seed=0).answers, np.zeros(3, dtype=bool)
    skills, noise = np.array([np.nan, 0.2, 0.8]), np.array([9.0, 0.01, 0.01])
    inference = CentredInference(answers, skills, gold, ~gold, first(answers).bias_of_workers, 0.5)
    assert shrink_to_mean(inference, noise).tolist() == pytest.approx([0.0, 0.5 - 0.3 * 8 / 9, 0.5 + 0.3 * 8 / 9])
