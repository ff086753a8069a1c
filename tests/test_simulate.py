import numpy as np
import pytest

from quorate import simulate
from quorate.errors import OptionError


def test_workers_are_right_as_often_as_their_skill_says() -> None:
    skills = np.array([0.9, 0.5, 0.0, -0.3])
    crowd = simulate.crowd(20_000, 4, 4, n_classes=4, skills=skills, prior=np.array([0.1, 0.2, 0.3, 0.4]), seed=0)
    a = crowd.answers
    right = np.bincount(a.worker, a.label == crowd.truth[a.task]) / a.per_worker
    assert right == pytest.approx((3 * skills + 1) / 4, abs=0.02)  # a standard deviation is at most 0.0035
    wrong = a.label != crowd.truth[a.task]
    shift = np.bincount((a.label - crowd.truth[a.task])[wrong] % 4, minlength=4)[1:]
    assert shift / shift.sum() == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert np.bincount(crowd.truth) / 20_000 == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)


def test_the_same_seed_gives_the_same_crowd_and_no_worker_answers_twice() -> None:
    one, two = (simulate.crowd(500, 20, 5, activity=simulate.zipf_activity(20), seed=3) for _ in range(2))
    assert one.answer_table == two.answer_table
    keys = one.answers.task.astype(np.int64) * 20 + one.answers.worker
    assert len(np.unique(keys)) == len(keys) == 2500
    assert one.answers.per_worker[0] > 5 * one.answers.per_worker[-1]


def test_extreme_activity_still_finds_different_workers() -> None:
    activity = np.array([1.0, 1e-12, 1e-12, 1e-12])
    workers = simulate.draw_workers(20, 4, 3, activity=activity, rng=np.random.default_rng(0))
    assert all(len(set(row)) == 3 for row in workers.tolist())


@pytest.mark.parametrize("edges", [simulate.clique(6), simulate.ring(7), simulate.star(6), simulate.grid(3, 3)])
def test_a_crowd_on_a_graph_has_that_graph(edges: simulate.Edges) -> None:
    from quorate.graph.pairs import pair_stats

    n = int(max(edges[1])) + 1
    pairs = pair_stats(simulate.crowd_on_graph(edges, np.full(n, 0.5), 200, seed=1).answers)
    assert set(zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)) == set(
        zip(edges[0].tolist(), edges[1].tolist(), strict=True)
    )


@pytest.mark.parametrize("law", ["uniform", "normal:0:1", "beta:-1:2", "grid:a:b", "zipf:1"])
def test_an_unknown_law_of_skills_is_named(law: str) -> None:
    with pytest.raises(OptionError, match=law):
        simulate.parse_skills(law, 5)
    with pytest.raises(OptionError):
        simulate.parse_activity(law.replace("zipf:1", "zipf"), 5)


def test_impossible_crowds_are_refused() -> None:
    with pytest.raises(OptionError, match="need at least 4 workers"):
        simulate.crowd(10, 3, 4)
    with pytest.raises(OptionError, match=r"between -0\.5 and 1"):
        simulate.crowd(10, 3, 3, n_classes=3, skills=np.array([0.5, -0.9, 0.5]))
