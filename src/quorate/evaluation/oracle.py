"""The rule that knows the skills: its error bounds, its loss, and the regret of a rule that has to estimate them."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.evaluation.simulate import Crowd, answer
from quorate.voting.vote import tally, weight


def committee_potential(skills: FloatArray) -> float:
    """Return Phi = 1/2 sum_i s_i log((1+s_i)/(1-s_i)) of the workers who answer a two-class task [BK14].

    The paper [Ma20, §twostep] leaves out the half, sum_i (p_i - 1/2) v_i being meant; without it the upper bound
    below is false: four workers of skill 0.875 err more often than it allows.

    >>> round(committee_potential(np.array([0.6, 0.6])), 4)
    0.8318
    """
    return float(skills @ weight(skills, 2) / 2)


def optimal_error_bounds(skills: FloatArray) -> tuple[float, float]:
    """Bound the error of the optimal rule on a two-class task: 3/(4(1 + exp(2Phi + 4 sqrt(Phi)))) and exp(-Phi/2).

    >>> low, high = optimal_error_bounds(np.array([0.6, 0.6, 0.6]))
    >>> low < optimal_error(np.array([0.6, 0.6, 0.6])) < high
    True
    """
    phi = committee_potential(skills)
    return float(3 / (4 * (1 + np.exp(min(2 * phi + 4 * np.sqrt(phi), 700.0))))), float(np.exp(-phi / 2))


def optimal_error(skills: FloatArray) -> float:
    """Compute the optimal rule's error on a two-class task exactly, by going through all 2^W answers (W <= 20).

    >>> round(optimal_error(np.array([0.6, 0.6, 0.6])), 4)
    0.104
    """
    n = len(skills)
    right = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    p = (1 + skills) / 2
    chance = np.prod(np.where(right == 1, p, 1 - p), axis=1)
    score = np.where(right == 1, 1.0, -1.0) @ weight(skills, 2)
    return float(chance[score < -1e-12].sum() + chance[np.abs(score) <= 1e-12].sum() / 2)


def weight_error_bound(skill: FloatArray, estimate: FloatArray) -> FloatArray:
    """Bound |v(s) - v(s')| by 2 artanh(d), d the largest relative error of 1+s' and 1-s' (two classes).

    The paper's lemma [Ma20, Lemma errorV] prints 2d, which fails at s = 0, s' = d: there the difference is 2 artanh(d).

    >>> weight_error_bound(np.array([0.0]), np.array([0.1])).round(4).tolist()
    [0.2007]
    """
    off = np.maximum(np.abs((estimate - skill) / (1 + skill)), np.abs((estimate - skill) / (1 - skill)))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound: FloatArray = np.where(off < 1, 2 * np.arctanh(np.minimum(off, 1)), np.inf)
    return bound


def margins(answers: Answers, truth: IntArray, skills: FloatArray) -> FloatArray:
    """By how much each task's true class beats the best other in the vote with these skills; negative: a mistake.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=5, n_workers=5, skills=np.full(5, 0.999999), seed=0)
    >>> bool((margins(crowd.answers, crowd.truth, crowd.skills) > 0).all())
    True
    """
    scores = tally(answers, weight(skills, answers.n_classes))
    rows = np.arange(len(truth))
    own = scores[rows, truth].copy()
    scores[rows, truth] = -np.inf
    ahead: FloatArray = own - scores.max(axis=1)
    return ahead


def loss(crowd: Crowd, skills: FloatArray) -> float:
    """Return the share of tasks that the vote with these skills gets wrong; a tie counts as wrong [Ma20, §prob].

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, skills=np.full(5, 0.9), seed=0)
    >>> loss(crowd, crowd.skills) <= loss(crowd, -crowd.skills)
    True
    """
    return float((margins(crowd.answers, crowd.truth, skills) <= 0).mean())


def expected_loss(crowd: Crowd, skills: FloatArray | None = None, *, draws: int = 100, seed: int = 0) -> float:
    """Average the loss over fresh truths and answers for the same workers on the same tasks.

    Args:
        crowd: the assignment and the true skills.
        skills: what the vote believes; by default the true skills, which gives the optimal rule's loss.
        draws: how many times to draw.
        seed: of the draws; the same for two rules, so that their difference is not blurred.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, skills=np.full(5, 0.6), seed=0)
    >>> abs(expected_loss(crowd) - optimal_error(np.full(3, 0.6))) < 0.02
    True
    """
    rng = np.random.default_rng(seed)
    believed = crowd.skills if skills is None else skills
    a = crowd.answers
    fresh = (answer(a.task, a.worker, crowd.skills, a.n_tasks, a.n_classes, None, rng) for _ in range(draws))
    return float(np.mean([loss(other, believed) for other in fresh]))


def average_regret(crowd: Crowd, skills: FloatArray, *, draws: int = 100, seed: int = 0) -> float:
    """Return the loss of the vote with these skills in excess of the loss with the true ones [Ma20, §prob].

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, seed=0)
    >>> average_regret(crowd, crowd.skills)
    0.0
    """
    return expected_loss(crowd, skills, draws=draws, seed=seed) - expected_loss(crowd, draws=draws, seed=seed)


def plug_in_bound(crowd: Crowd, estimates: FloatArray, epsilon: float) -> float:
    """Bound the loss of a vote with estimated weights [Ma20, Lemma predictionerror].

    It is the share of tasks that the optimal rule wins by no more than epsilon, plus the chance that the weights are
    off by epsilon or more in sum.

    Args:
        crowd: with the true skills.
        estimates: estimated skills, one row a trial; shape (trials, workers).
        epsilon: any positive number.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=50, n_workers=5, seed=0)
    >>> plug_in_bound(crowd, crowd.skills[None], epsilon=1e-6) >= loss(crowd, crowd.skills)
    True
    """
    m = crowd.answers.n_classes
    narrow = (margins(crowd.answers, crowd.truth, crowd.skills) <= epsilon).mean()
    off = np.abs(weight(estimates, m) - weight(crowd.skills, m)).sum(axis=1)
    return float(narrow + (off >= epsilon).mean())
