import numpy as np
import pytest

from quorate.advice.advise import advise
from quorate.answers import Answers
from quorate.diagnostics.diagnose import diagnose
from quorate.graph.pairs import pair_stats
from quorate.graph.weak_ties import (
    MAX_SHARED_PAIRS,
    MIN_SAFE_TIES,
    Cut,
    LooseGroup,
    count_linking_tasks,
    has_few_links,
    loose_groups,
    weakest_cut,
    within,
)
from quorate.simulate import crowd
from tests.crowds import coded
from tests.graph.samples import bridged, two_halves


def groups_of(answers: Answers, anchor: int | None = None) -> list[LooseGroup]:
    return loose_groups(np.arange(answers.n_workers), pair_stats(answers), answers, anchor=anchor)


@pytest.mark.parametrize("n_bridges", [1, 2, 5])
@pytest.mark.parametrize("ties", [5, 20, 29])
def test_a_group_is_named_however_many_workers_bridge(n_bridges: int, ties: int) -> None:
    for seed in range(3):
        answers = bridged(np.arange(ties) % n_bridges, seed)
        (group,) = groups_of(answers)
        assert group.workers.tolist() == list(range(10, 15))
        assert (group.ties, group.n_tasks) == (ties, 100 + ties)
        assert group.by == (10 if n_bridges == 1 else -1)


def test_from_as_many_tasks_on_as_decide_the_sign_nothing_is_named() -> None:
    one_less, enough = (groups_of(bridged(np.zeros(k, np.int64), 0)) for k in (MIN_SAFE_TIES - 1, MIN_SAFE_TIES))
    assert [group.ties for group in one_less] == [MIN_SAFE_TIES - 1]
    assert enough == []
    assert groups_of(two_halves(40, MIN_SAFE_TIES, 0)) == []
    assert [group.ties for group in groups_of(two_halves(40, MIN_SAFE_TIES - 1, 0))] == [MIN_SAFE_TIES - 1]


def test_crowds_whose_workers_all_met_have_no_loose_group() -> None:
    for seed in range(20):
        answers = crowd(400, 20, 3, seed=seed).answers
        assert groups_of(answers) == []
        near = weakest_cut(pair_stats(answers), 20, two_sided=True)
        assert near is None or not has_few_links(near)


def test_two_halves_that_one_worker_ties_are_reported_once() -> None:
    """Of two sides alike in size, the joint and the cut may name different ones."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        half = [(t, w) for t in range(20) for w in rng.permutation(5)[:3]]
        other = [(t + 20, w + 5) for t in range(20) for w in rng.permutation(5)[:3]]
        answers = coded({(int(t), int(w)) for t, w in [*half, *other]} | {(0, 5), (1, 5)}, 40, 10)
        (group,) = groups_of(answers)
        assert (len(group.workers), group.ties, group.by) == (5, 2, 5)


def test_the_groups_are_those_without_gold() -> None:
    answers = bridged(np.array([0, 0, 0]), 1)
    for gold, group in ((0, range(10, 15)), (12, range(10))):
        (found,) = groups_of(answers, anchor=gold)
        assert found.workers.tolist() == list(group)
        assert found.ties == 3


def test_where_only_pairs_are_counted_ties_are_answer_pairs_and_no_group_is_named_that_would_not_be() -> None:
    for seed in range(5):
        for k in (3, 6, 20, 45):
            answers = bridged(np.arange(k) % 2, seed)
            by_pairs = loose_groups(np.arange(15), pair_stats(answers), None)
            exact = {tuple(group.workers.tolist()) for group in groups_of(answers)}
            assert {tuple(group.workers.tolist()) for group in by_pairs} <= exact
            for group in by_pairs:
                assert not group.exact
                assert group.ties == 3 * k  # three of the rest on each


@pytest.mark.parametrize("seed", range(5))
def test_tying_tasks_are_counted_as_by_hand(seed: int) -> None:
    answers = crowd(60, 9, 3, seed=seed).answers
    group = np.random.default_rng(seed).permutation(9)[:4]
    by_task = [set(answers.worker[answers.task == t].tolist()) for t in range(60)]
    mine = set(group.tolist())
    own = [workers for workers in by_task if workers & mine]
    assert count_linking_tasks(answers, group) == (sum(bool(workers - mine) for workers in own), len(own))


def test_a_component_by_itself_has_the_same_answers_under_its_own_codes() -> None:
    answers = crowd(30, 8, 3, seed=0).answers
    mine = np.flatnonzero(answers.worker % 2 == 1)
    own = within(answers, mine, np.array([1, 3, 5, 7]))
    everything = answers.to_table().to_pylist()
    assert own.to_table().to_pylist() == [everything[k] for k in mine]


@pytest.mark.parametrize("bridges", [[0, 0, 0], [0, 1, 2, 3], [0] * 40])
def test_the_advice_settles_the_groups_that_the_diagnosis_names(bridges: list[int]) -> None:
    answers = bridged(np.array(bridges), 2)
    (finding,) = diagnose(answers).of_kind("loosely-tied")
    assert finding.strength == len(bridges)
    assert set(finding.workers) == set(range(10, 15))
    rows = [row for row in advise(answers, 60).assignments.to_pylist() if row["reason"].startswith("settle")]
    assert {row["reason"] for row in rows} == {"settle: compares 5 workers with the others"}
    assert {row["worker"] for row in rows} <= {f"w{code}" for code in finding.workers}
    assert not advise(bridged(np.zeros(MIN_SAFE_TIES, np.int64), 2), 60).reasons


def test_few_answer_pairs_hold_a_group_only_if_they_are_few_of_its_own_too() -> None:
    """A small group whose answer pairs are mostly with others is no group."""
    everyone, own = np.ones(4, dtype=bool), round(10 / MAX_SHARED_PAIRS)
    assert has_few_links(Cut(everyone, everyone, 10, own, 0.01))
    assert not has_few_links(Cut(everyone, everyone, 11, own, 0.01))
    assert not has_few_links(Cut(everyone, everyone, MIN_SAFE_TIES, 10 * own, 0.01))
