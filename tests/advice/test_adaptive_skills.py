import numpy as np
import pytest
from experiments.advice.collection import ADVICE, collect_by

from quorate.advice.adaptive_skills import (
    adaptive_skills,
    class_probability_by_others,
    fit_one_coin_skills,
    fit_worker_posterior,
    identify_crowd,
    likelihood_intervals,
    log_likelihood_of,
)
from quorate.blocks.memory import blocks_of
from quorate.graph.components import identify
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.models.one_coin import fit_one_coin_em
from quorate.simulate import crowd
from tests.crowds import answers_of


@pytest.mark.parametrize("m", [2, 4])
def test_the_fit_from_accuracies_ends_where_that_from_the_majority_does(m: int) -> None:
    answers = crowd(300, 12, 4, n_classes=m, seed=m).answers
    ours = fit_one_coin_skills(answers, None, identify(answers), tolerance=1e-11, max_iterations=5000)
    theirs = fit_one_coin_em(blocks_of(answers), tolerance=1e-12, max_iterations=5000)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-6)  # both stop that near the same point
    assert log_likelihood_of(answers, ours.accuracy, None) == pytest.approx(theirs.log_likelihoods[-1], rel=1e-6)


def test_drawn_to_the_mean_each_accuracy_counts_the_mean_as_so_many_answers() -> None:
    answers = crowd(60, 8, 3, seed=2).answers
    found = fit_one_coin_skills(answers, None, identify(answers), strength=5.0, tolerance=1e-12, max_iterations=5000)
    p = found.accuracy
    votes = np.zeros((60, 2))
    np.add.at(votes, (answers.task, answers.label), np.log(p / (1 - p))[answers.worker])
    q = np.exp(votes) / np.exp(votes).sum(axis=1, keepdims=True)
    right = np.bincount(answers.worker, q[answers.task, answers.label], 8)
    assert p == pytest.approx((right + 5 * right.sum() / answers.n_answers) / (answers.per_worker + 5), abs=1e-9)


def test_a_fit_that_starts_with_everyone_contrary_ends_the_right_way_up() -> None:
    answers = crowd(200, 9, 4, skills=np.full(9, 0.6), seed=0).answers
    up, down = (
        fit_one_coin_skills(answers, None, identify(answers), start=np.full(9, p)).accuracy for p in (0.75, 0.25)
    )
    assert up.min() > 0.5
    assert down == pytest.approx(up, abs=1e-3)  # both have stopped within the tolerance of the same point


def test_gold_counts_in_the_fit_as_in_that_from_the_majority() -> None:
    simulated = crowd(100, 8, 3, seed=5)
    known = np.where(np.arange(100) < 30, simulated.truth, -1)
    answers = simulated.answers
    identifiability = identify_crowd(answers.with_worker(known), 8)
    ours = fit_one_coin_skills(answers, known, identifiability, tolerance=1e-11, max_iterations=5000)
    theirs = fit_one_coin_em(blocks_of(answers, known), tolerance=1e-12, max_iterations=5000)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-6)


def test_a_single_answer_changes_no_skill_and_no_interval() -> None:
    """The likelihood of a task with one answer is 1/M, whoever gave it."""
    simulated = crowd(100, 8, 3, seed=6)
    a = simulated.answers
    table = a.to_table().to_pylist()
    more = [*table, *({"task": f"extra{k}", "worker": "w1", "label": "c0"} for k in range(20))]
    with_singles = answers_of([(row["task"], row["worker"], row["label"]) for row in more])
    one, two = adaptive_skills(a), adaptive_skills(with_singles)
    place = [with_singles.worker_names.to_pylist().index(name) for name in a.worker_names.to_pylist()]
    for name in ("skills", "low", "high"):
        assert getattr(one, name) == pytest.approx(getattr(two, name)[place], abs=1e-6)


@pytest.mark.parametrize("m", [2, 3])
def test_the_probability_without_a_workers_own_answer_is_that_of_the_others(m: int) -> None:
    answers = crowd(40, 6, 3, n_classes=m, seed=m).answers
    p = np.random.default_rng(0).uniform(0.3, 0.99, 6)
    found = class_probability_by_others(answers, p, None)
    for k in range(answers.n_answers):
        others = np.flatnonzero((answers.task == answers.task[k]) & (np.arange(answers.n_answers) != k))
        q = np.ones(m)
        for other in others:
            own = p[answers.worker[other]]
            q *= np.where(np.arange(m) == answers.label[other], own, (1 - own) / (m - 1))
        assert found[k] == pytest.approx(q[answers.label[k]] / q.sum(), abs=1e-12)


def test_an_interval_holds_exactly_what_is_likely_enough() -> None:
    """Against the likelihood on a fine grid."""
    answers = crowd(80, 6, 3, n_classes=3, seed=1).answers
    p = fit_one_coin_skills(answers, None, identify(answers)).accuracy
    low, high = likelihood_intervals(answers, p, None, 3.841)
    q = class_probability_by_others(answers, p, None)
    grid = np.linspace(0.0005, 0.9995, 2000)
    for worker in range(6):
        own = q[answers.worker == worker][:, None]
        likelihood = np.log(own * grid + (1 - own) * (1 - grid) / 2).sum(axis=0)
        likely = grid[2 * (likelihood.max() - likelihood) <= 3.841]
        assert (low[worker], high[worker]) == pytest.approx((likely[0], likely[-1]), abs=0.001)  # two steps of the grid


def test_a_crowd_that_is_mostly_contrary_is_turned_by_gold_only() -> None:
    simulated = crowd(200, 9, 4, skills=np.full(9, -0.6), seed=0)
    assert adaptive_skills(simulated.answers).skills.min() > 0  # the sum of skills is taken to be positive
    gold = {f"t{k}": f"c{simulated.truth[k]}" for k in range(60)}
    assert adaptive_skills(simulated.answers, gold=gold).skills.max() < 0


def test_who_is_not_determined_has_no_skill_and_counts_as_the_mean() -> None:
    triangle = [(f"t{t}", w, "xy"[(t * k) % 2]) for t in range(12) for k, w in enumerate("abc")]
    answers = answers_of([*triangle, *((f"u{t}", "z", "x") for t in range(9))])
    found = adaptive_skills(answers)
    assert np.isnan([found.skills[3], found.low[3], found.high[3]]).all()
    worker_posterior = fit_worker_posterior(answers, answers, None, identify(answers))
    assert worker_posterior.accuracy[3] == pytest.approx(worker_posterior.mean)


def test_an_answer_counts_as_much_as_it_tells_of_its_worker() -> None:
    simulated = crowd(400, 5, 3, skills=np.full(5, 0.6), seed=0)
    table = [(row["task"], row["worker"], row["label"]) for row in simulated.answers.to_table().to_pylist()]
    answers = answers_of([*table, *((f"extra{k}", "w1", "c0") for k in range(30))])
    fitted = fit_worker_posterior(answers, answers, None, identify(answers))
    information = fitted.answers - fitted.strength
    assert np.all(information <= answers.per_worker)
    w1 = answers.worker_names.to_pylist().index("w1")
    assert information[w1] < answers.per_worker[w1] - 30 + 1e-9  # thirty tasks that nobody else answered tell nothing
    gold = simulated.answers.with_worker(simulated.truth)
    known = fit_worker_posterior(simulated.answers, gold, simulated.truth, identify_crowd(gold, 5))
    # With every label known an answer is an answer; the two kinds, right and wrong, average out to one.
    assert known.answers - known.strength == pytest.approx(simulated.answers.per_worker, rel=0.2)


def test_after_advice_the_likelihood_is_unbiased_and_agreement_is_not() -> None:
    """Four collections, 160 workers: the standard error of a mean bias is about .015, of a coverage .018."""
    biases, pairwise, held, gaps = [], [], [], []
    for seed in range(4):
        trace = collect_by(ADVICE, 2, seed, batch=100, most=1500, after=1500, target=0.05)
        truth = trace.at_the_end.skills
        found = adaptive_skills(trace.at_the_end.answers)
        biases.append(found.skills - truth)
        pairwise.append(aggregate_in_memory("rank-one", trace.at_the_end.answers).skills - truth)
        held.append((found.low <= truth) & (truth <= found.high))
        assert trace.heaviest <= 2.1
        gaps.append(trace.error - trace.expected)
    assert abs(np.mean(biases)) < 0.06
    assert np.nanmean(pairwise) < -0.06
    assert 0.89 <= np.mean(held) <= 0.995
    assert abs(np.mean(gaps)) < 0.03  # what the advice expects on the way is what comes; the standard error is .008
