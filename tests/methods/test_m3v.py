import numpy as np

from quorate.methods import m3v as gibbs
from quorate.voting.vote import tally
from tests.methods.m3v_samples import awkward, votes_for


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
