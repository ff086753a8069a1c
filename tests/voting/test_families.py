"""Families: the model against a sum over all that may have happened, and panels in which a family errs together."""

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import quorate
from quorate.evaluation.experiments.panels import family_panel
from quorate.evaluation.simulate import crowd
from quorate.skills.clusters import groupings
from quorate.voting.families import MOST_SHARED, SHARED, SHARED_WORTH, Families, _Model, effective_votes, learn_families
from quorate.voting.group_units import Units, one_voice
from quorate.voting.kin import MEMBER, cost_of, start_of
from tests.crowds import answers_of

FAMILY = tuple(f"w{k}" for k in range(6))
GROUP = np.array([0] * 6 + [1, 2, 3, 4])


def test_the_likelihood_is_the_sum_over_what_the_group_drew() -> None:
    answers = crowd(12, 5, 4, n_classes=3, seed=0).answers
    group = np.array([0, 0, 0, 1, 2])
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.ones(3), (5, 3)).transpose(0, 2, 1)
    drawn = rng.dirichlet(np.ones(4), (3, 3)).transpose(0, 2, 1)
    shared = np.array([0.7, 0.5, 0.9, 0.0, 0.0])
    prior = np.array([0.5, 0.3, 0.2])
    expected = np.zeros((12, 3))
    for t, g in product(range(12), range(3)):
        rows = np.flatnonzero(answers.task == t)
        total = 0.0
        for draw in range(4):  # the last: nothing
            p = drawn[0, draw, g]
            for k in rows:
                w, said = answers.worker[k], answers.label[k]
                own = theta[w, said, g]
                repeats = shared[w] if group[w] == 0 and draw < 3 else 0.0
                p *= repeats * (said == draw) + (1 - repeats) * own
            total += p
        expected[t, g] = np.log(prior[g] * total)
    assert _Model(Units(answers, group), theta, drawn, shared).scores(prior) == pytest.approx(expected)


@example([(0, 2, 0), (0, 3, 0), (1, 4, 0), (2, 4, 0), (3, 0, 0), (3, 1, 1)])
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=25))
def test_units_are_the_answers_of_one_group_to_one_task(table: list[tuple[int, int, int]]) -> None:
    """By sets: also where tasks between two units have no answer of any group."""
    said = {(t, w): c for t, w, c in table}
    answers = answers_of([(t, f"w{w}", f"c{c}") for (t, w), c in said.items()])
    names = [int(name[1:]) for name in answers.worker_names.to_pylist()]
    group = np.array([[0, 0, 1, 1, 2][w] for w in names])
    units = Units(answers, group)
    shared = {g for g in group.tolist() if (group == g).sum() > 1}
    codes = zip(answers.task.tolist(), group[answers.worker].tolist(), answers.label.tolist(), strict=True)
    inside = sorted({(t, g, c) for t, g, c in codes if g in shared})
    cells = zip(
        answers.task[units.first].tolist(), units.cell_groups.tolist(), answers.label[units.first].tolist(), strict=True
    )
    assert list(cells) == inside
    found = list(zip(units.unit_tasks.tolist(), units.unit_groups.tolist(), strict=True))
    assert found == sorted({(t, g) for t, g, _ in inside})


def test_a_family_of_thousands_is_no_number_too_large() -> None:
    n = 3000
    answers = answers_of([(t, f"w{w}", "xy"[t]) for t in range(2) for w in range(n)])
    theta = np.tile(np.array([[0.6, 0.4], [0.4, 0.6]]), (n, 1, 1))
    drawn = np.tile(np.array([[0.5, 0.3], [0.3, 0.5], [0.2, 0.2]]), (1, 1, 1))
    scores = _Model(Units(answers, np.zeros(n, int)), theta, drawn, np.full(n, 0.9)).scores(np.ones(2) / 2)
    assert np.isfinite(scores).all()
    assert scores.argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("n_tasks", [3, 30])
def test_what_a_family_of_few_answers_draws_is_what_the_crowd_says(n_tasks: int) -> None:
    """It is drawn toward the matrix of all answers: of a crowd that mostly knows, toward the truth."""
    made = crowd(n_tasks, 8, 8, n_classes=3, skills=np.full(8, 0.7), seed=2)
    found = learn_families(made.answers, np.array([0, 0, 1, 2, 3, 4, 5, 6]), np.eye(3)[made.truth], steps=1)
    drawn = found.drawn[0]  # answers and nothing, by true class
    assert drawn.sum(axis=0) == pytest.approx(np.ones(3))
    assert drawn[:3].argmax(axis=0).tolist() == [0, 1, 2]


def test_without_groups_em_does_not_lower_the_likelihood() -> None:
    panel = family_panel(np.random.default_rng(1), 0.8)
    values = [
        learn_families(panel.answers, GROUP, panel.answers.counts / 10, steps=n).log_likelihood for n in (2, 5, 10)
    ]
    assert values[0] < values[1] < values[2]


@pytest.mark.parametrize("shared", [0.7, 0.9])
@pytest.mark.parametrize("together", [False, True])
def test_six_who_err_together_do_not_outvote_four_who_do_not(shared: float, together: bool) -> None:
    """Right nine times in ten with the groups, and without them: then the family is found, and named."""
    right, stated, found, named = [], [], [], []
    for seed in range(4):
        panel = family_panel(np.random.default_rng(100 + seed), shared, together=together)
        told, looked = quorate.aggregate(panel.answers, group=GROUP), quorate.aggregate(panel.answers)
        right.append((told.ballot.label == panel.truth).mean())
        stated.append(told.ballot.confidence.mean())
        found.append((looked.ballot.label == panel.truth).mean())
        assert looked.confidence_basis is not None
        named.append(looked.confidence_basis.families == (FAMILY,))
    assert np.mean(right) >= 0.9
    assert np.mean(stated) == pytest.approx(np.mean(right), abs=0.05)
    assert np.mean(found) >= 0.85
    assert np.mean(named) >= 0.75


def test_a_family_that_is_found_is_named_in_the_summary_and_lowers_trust() -> None:
    result = quorate.aggregate(family_panel(np.random.default_rng(0), 0.9).answers)
    assert result.trust is not None
    assert result.trust < 0.8
    assert "6 workers repeat each other beyond what they know, and count for less: 'w0'" in result.summary()
    assert {note.kind for note in result.notes} >= {"family"}


def test_no_family_is_found_where_workers_are_independent() -> None:
    for seed in range(3):
        basis = quorate.aggregate(crowd(400, 10, 10, seed=seed).answers).confidence_basis
        assert basis is not None
        assert basis.families == ()


def test_one_voice_is_what_most_of_a_group_say() -> None:
    answers = answers_of([(1, w, c) for w, c in zip("abcde", "xxyyy", strict=True)])
    voices = one_voice(answers, np.array([0, 0, 0, 1, 1]))
    assert voices.to_table().to_pylist() == [
        {"task": 1, "worker": "group 0", "label": "x"},
        {"task": 1, "worker": "group 1", "label": "y"},
    ]


def test_groupings_leave_out_whoever_gave_few_answers() -> None:
    panel = family_panel(np.random.default_rng(0), 0.9).answers
    few = panel.where((panel.worker > 0) | (panel.task < 5))
    assert all((group == group[0]).sum() == 1 for group in groupings(few))


def test_groups_begin_by_what_they_believe_where_three_voices_are_left() -> None:
    answers = crowd(9, 4, 4, seed=0).answers
    own, voiced = np.full((9, 2), 0.5), np.full((9, 2), 0.25)
    heard = [start_of(answers, np.array(group), own, lambda _: voiced) for group in ([0, 0, 0, 1], [0, 0, 1, 2])]
    assert heard[0] is own
    assert heard[1] is voiced


def test_where_nothing_is_seen_members_repeat_as_much_as_is_usual() -> None:
    """One task, two members: at most two answers could be repeats, against SHARED_WORTH that are taken for granted."""
    answers = answers_of([(1, "a", "x"), (1, "b", "x"), (2, "c", "y"), (3, "d", "x")])
    found = learn_families(answers, np.array([0, 0, 1, 2]), np.full((3, 2), 0.5)).shared
    low, high = SHARED * SHARED_WORTH / (SHARED_WORTH + 2), (SHARED * SHARED_WORTH + 2) / (SHARED_WORTH + 2)
    assert (found[:2] >= low - 1e-12).all()
    assert (found[:2] <= min(high, MOST_SHARED) + 1e-12).all()


def test_a_group_s_votes_count_by_how_far_its_members_repeat_each_other() -> None:
    answers = crowd(30, 7, 5, seed=2).answers
    group = np.array([0, 0, 0, 1, 1, 2, 3])
    shared, draws = np.array([0.9, 0.5, 0.4, 0.8, 0.6, 0.0, 0.0]), np.array([0.7, 0.5, 0.0, 0.0])
    drawn = np.zeros((4, 3, 2))
    drawn[:, 0] = draws[:, None]
    drawn[:, 2] = 1 - draws[:, None]
    found = effective_votes(answers, group, Families(np.zeros((1, 1)), np.zeros((1, 1)), drawn, shared, 0.0))
    for t in range(30):
        here = group[answers.worker[answers.task == t]]
        votes = 0.0
        for k in set(here.tolist()):
            n, both = (here == k).sum(), draws[k] * shared[group == k].mean() ** 2
            votes += n / (1 + both * (n - 1))
        assert found[t] == pytest.approx(votes)


def test_a_grouping_costs_its_matrices_and_its_members() -> None:
    """Two families of three and two, three classes: ten entries each, half a log(100) an entry, and five members."""
    assert cost_of(np.array([0, 0, 0, 1, 2, 2]), 3, 100) == pytest.approx(2 * 10 * 0.5 * np.log(100) + 5 * MEMBER)
    assert cost_of(np.array([0, 0]), 2, 1) == pytest.approx(5 * 0.5 * np.log(2) + 2 * MEMBER)
