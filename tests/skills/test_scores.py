"""Intervals on skills: the score, its inversion, the inflation, and how often they hold."""

from itertools import product

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.models.response_bias import ResponseBias
from quorate.skills.centred_score import CentredInference, _spread_traces, _third_moments, _traces
from quorate.skills.rank_one_score import OneCoinInference
from tests.crowds import answers_of
from tests.skills.interval_samples import answer_pairs, held


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_one_coin_score_is_that_of_a_loop_over_all_pairs(n_classes: int) -> None:
    crowd = simulate.crowd(40, 8, 4, n_classes=n_classes, seed=n_classes)
    x, m, n = crowd.skills, n_classes, crowd.answers.n_workers
    d, psi, alpha, beta, gamma = np.zeros((5, n))
    for _, there in answer_pairs(crowd.answers):
        for i, mine in there:
            peers = [(j, label) for j, label in there if j != i]
            q2, q3, q4 = (sum(x[j] ** power for j, _ in peers) for power in (2, 3, 4))
            d[i] += q2
            for j, label in peers:
                psi[i] += ((m * (label == mine) - 1) / (m - 1) - x[i] * x[j]) * x[j]
            alpha[i] += (q2 + q2**2 - q4) / (m - 1)
            beta[i] += (m - 2) / (m - 1) * (q3 + q2**2 - q4)
            gamma[i] += q2**2
    found = OneCoinInference(crowd.answers, x, np.ones(n, dtype=bool)).score()
    assert found.raw == pytest.approx(x + psi / d)
    assert found.alpha == pytest.approx(alpha / d**2)
    assert found.beta == pytest.approx(beta / d**2)
    assert found.gamma == pytest.approx(gamma / d**2)
    inference = OneCoinInference(crowd.answers, x, np.ones(n, dtype=bool))
    assert inference.per_worker.tolist() == crowd.answers.per_worker.tolist()


@pytest.mark.parametrize(("m", "u"), [(2, 0.3), (2, -0.4), (3, 0.7), (4, 0.0), (4, 1.0)])
def test_the_variance_of_the_score_is_that_of_every_possible_answer(m: int, u: float) -> None:
    """One task, three workers: sum over all answers by their probability, the true class being the first."""
    x = np.array([0.9, 0.5, 0.2])
    accuracy = [((m - 1) * skill + 1) / m for skill in (u, x[1], x[2])]
    mean = square = 0.0
    for labels in product(range(m), repeat=3):
        chance = np.prod([p if c == 0 else (1 - p) / (m - 1) for p, c in zip(accuracy, labels, strict=True)])
        a = [(m * (labels[0] == label) - 1) / (m - 1) for label in labels[1:]]
        r = (a[0] * x[1] + a[1] * x[2]) / (x[1] ** 2 + x[2] ** 2)
        mean, square = mean + chance * r, square + chance * r**2
    answers = answers_of([(1, w, k) for k, w in enumerate("abc")], classes=list(range(max(m, 3))))
    if m == 2:
        answers = answers_of([(1, w, k % 2) for k, w in enumerate("abc")])
    score = OneCoinInference(answers, x, np.ones(3, dtype=bool)).score()
    assert mean == pytest.approx(u)
    assert score.variance(np.full(3, u))[0] == pytest.approx(square - mean**2)


def test_the_moments_of_response_bias_are_those_of_every_possible_answer() -> None:
    """E[(z_i · z_j)² | skills u and v], summed over the true class and both answers."""
    rng = np.random.default_rng(0)
    m, u, v = 3, 0.3, 0.2
    mine, theirs, prior = (rng.dirichlet(np.full(m, 5.0)) for _ in range(3))
    second = 0.0
    for g, label, other in product(range(m), repeat=3):
        true = np.eye(m)[g]
        chance = prior[g] * (mine + u * (true - prior))[label] * (theirs + v * (true - prior))[other]
        second += chance * float((np.eye(m)[label] - mine) @ (np.eye(m)[other] - theirs)) ** 2
    matrix = np.diag(theirs) - np.outer(theirs, theirs)
    _, e = _third_moments(mine[None], theirs, prior)
    assert _traces(mine[None], matrix)[0] + u * v * e[0] == pytest.approx(second)


def test_two_mates_add_what_they_say_of_the_truth() -> None:
    """E[(z_i · (e_g - pi))² | skill u] is tr(F_i Pi) + u B_i."""
    rng = np.random.default_rng(1)
    m, u = 4, 0.2
    mine, prior = (rng.dirichlet(np.full(m, 5.0)) for _ in range(2))
    second = sum(
        prior[g]
        * (mine + u * (np.eye(m)[g] - prior))[label]
        * float((np.eye(m)[label] - mine) @ (np.eye(m)[g] - prior)) ** 2
        for g, label in product(range(m), repeat=2)
    )
    b, _ = _third_moments(mine[None], prior, prior)
    assert _traces(mine[None], np.diag(prior) - np.outer(prior, prior))[0] + u * b[0] == pytest.approx(second)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_without_response_bias_the_centred_score_is_the_one_coin_score(n_classes: int) -> None:
    """But for what centring takes, one answer in a thousand, and for the classes' shares in the sample, 1 or 2 %."""
    crowd = simulate.crowd(3000, 6, 4, n_classes=n_classes, skills=np.linspace(0.2, 0.8, 6), seed=3)
    even = np.full((6, n_classes), 1 / n_classes)
    bias_of_workers = ResponseBias(even, even[0], 1 - 1 / n_classes, even[0])
    free, gold = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    one = OneCoinInference(crowd.answers, crowd.skills, free).score()
    two = CentredInference(crowd.answers, crowd.skills, gold, free, bias_of_workers, 0.0).score()
    assert two.raw == pytest.approx(one.raw, rel=1e-3)
    for name in ("alpha", "gamma"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=0.03)
    assert two.beta == pytest.approx(one.beta, rel=0.03, abs=0.03 * one.alpha.max())


def against_gold(seed: int, law: tuple[float, float], per_worker: int = 8) -> tuple[simulate.Crowd, quorate.Result]:
    """A thousand workers of few answers who met nobody but gold, by the standard method."""
    rng = np.random.default_rng(seed)
    crowd = simulate.crowd(1000 * per_worker, 1000, 1, skills=rng.uniform(*law, 1000), seed=rng)
    known = {f"t{t}": f"c{c}" for t, c in enumerate(crowd.truth.tolist())}
    return crowd, quorate.aggregate(crowd.answers, "rank-one-centred", gold=known)


def test_what_centring_takes_from_few_answers_is_given_back() -> None:
    """Eight answers: a tenth. The raw skills of 1,000 workers, each known to .33, average to .03 from the truth."""
    crowd, result = against_gold(0, (0.5, 1.0))
    assert result.inference is not None
    off = result.inference.score().raw[:1000] - crowd.skills
    assert abs(off[crowd.answers.per_worker >= 3].mean()) < 0.03
    others = simulate.crowd(3000, 1000, 3, skills=crowd.skills, seed=1)
    found = quorate.aggregate(others.answers, "rank-one-centred").inference
    assert found is not None
    few, many = (
        (found.score().raw - others.skills)[mask].mean()
        for mask in ((others.answers.per_worker < 8) & (others.answers.per_worker > 3), others.answers.per_worker > 10)
    )
    assert abs(few - many) < 0.05  # the scale is common to both; three standard errors of the difference


def test_perfect_workers_who_met_gold_are_not_thought_certain() -> None:
    """Their response bias is the share of the classes in eight tasks: .95 less 2.6 standard errors, .018."""
    crowd, result = against_gold(2, (0.95, 1.0))
    assert np.mean(held(result.intervals, crowd.skills, crowd.answers.per_worker)) >= 0.95 - 0.018


@pytest.mark.parametrize("n_workers", [3, 40])
def test_traces_by_every_two_workers_are_those_of_a_matrix_of_classes(n_workers: int) -> None:
    """Of three workers and ten classes the products of every two, of forty a matrix of classes."""
    rng = np.random.default_rng(n_workers)
    f, weight = rng.dirichlet(np.ones(10), n_workers), rng.random(n_workers)
    crowd = sum(w * (np.diag(own) - np.outer(own, own)) for w, own in zip(weight, f, strict=True))
    assert _spread_traces(f, f, weight) == pytest.approx(_traces(f, crowd), abs=1e-12)
    prior = np.full(10, 0.1)
    expected = _traces(f, np.diag(prior) - np.outer(prior, prior))
    assert _spread_traces(f, prior[None], np.ones(1)) == pytest.approx(expected, abs=1e-12)
