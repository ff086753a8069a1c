"""The default method: the same in any blocks, with gold of every kind, groups, order, abstentions and priors."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import simulate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks import memory
from quorate.blocks.memory import blocks_of
from quorate.calibration.gold_correction import class_swaps
from quorate.io.model_names import Models
from quorate.methods.fit import Fitted
from quorate.methods.quorate import fit
from quorate.skills.priors import priors_of
from tests.models.test_copying import copied_crowd


def posterior_of(answers: Answers, known: IntArray | None = None, **options: Any) -> tuple[FloatArray, Fitted]:
    blocks = blocks_of(answers, known)
    fitted = fit(blocks, **options)
    return np.concatenate([vote.posterior for vote in blocks.map(fitted.vote)]), fitted


def gold_of(crowd: simulate.Crowd, n: int) -> IntArray:
    return np.where(np.arange(len(crowd.truth)) < n, crowd.truth, -1).astype(np.int32)


def crowd_of_two_components(seed: int = 0) -> simulate.Crowd:
    """Twelve workers who share tasks, and two whose component is bipartite: only gold identifies them."""
    one = simulate.crowd(150, 12, 4, n_classes=3, seed=seed)
    two = simulate.crowd(40, 2, 2, n_classes=3, seed=seed + 1)
    a, b = one.answers, two.answers
    return simulate.collect(
        np.concatenate([a.task, b.task + 150]),
        np.concatenate([a.worker, b.worker + 12]),
        np.concatenate([a.label, b.label]),
        np.concatenate([one.truth, two.truth]),
        np.concatenate([one.skills, two.skills]),
        3,
    )


CASES: dict[str, Callable[[simulate.Crowd], dict[str, Any]]] = {
    "no gold": lambda crowd: {},
    "gold": lambda crowd: {"known": gold_of(crowd, 30)},
    "gold in both components": lambda crowd: {"known": np.where(np.arange(190) % 6 == 0, crowd.truth, -1).astype("i4")},
    "gold against the crowd": lambda crowd: {"known": np.where(crowd.truth == 0, 1, crowd.truth).astype("i4")},
    "everything known": lambda crowd: {"known": crowd.truth.astype("i4")},
    "independent": lambda crowd: {"dependence": "independent", "known": gold_of(crowd, 30)},
    "cautious": lambda crowd: {"cautious": True},
    "ordered": lambda crowd: {"ordered": True, "known": gold_of(crowd, 30)},
    "groups": lambda crowd: {"group": np.array([0, 0, 0, 1, 1, *[-1] * 9]), "known": gold_of(crowd, 30)},
    "models": lambda crowd: {"models": Models(np.arange(14) < 7, by_name=True)},
}


@pytest.mark.parametrize("case", CASES)
def test_blocks_change_nothing(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for piece in (1 << 18, 60):
        monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
        crowd = crowd_of_two_components()
        posterior, fitted = posterior_of(crowd.answers, **CASES[case](crowd))
        found.append((posterior, fitted))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-9)
    np.testing.assert_allclose(found[0][0].sum(axis=1), 1.0)
    one, many = (each[1] for each in found)
    np.testing.assert_allclose(one.skill_estimates.skills, many.skill_estimates.skills, atol=1e-9)
    assert [note.text for note in one.notes] == [note.text for note in many.notes]
    assert one.basis is not None
    assert one.basis.share_right is not None
    assert 0 <= one.basis.share_right.low <= one.basis.share_right.high <= 1


@pytest.mark.parametrize("seed", range(3))
def test_labels_are_at_least_as_good_as_the_vote_on_simulated_crowds(seed: int) -> None:
    crowd = simulate.crowd(400, 20, 5, seed=seed)
    posterior, fitted = posterior_of(crowd.answers)
    vote = quorate.aggregate(crowd.answers, "majority").vote.label
    assert (posterior.argmax(axis=1) == crowd.truth).mean() >= (vote == crowd.truth).mean() - 0.005
    share = fitted.basis.share_right  # type: ignore[union-attr]
    assert share is not None
    assert (
        share.low <= (posterior.argmax(axis=1) == crowd.truth).mean() <= share.high + 0.05
    )  # independent: better than most


def test_gold_of_a_crowd_that_swaps_classes_swaps_them_back() -> None:
    crowd = simulate.crowd(400, 15, 5, n_classes=3, seed=2)
    swapped = np.array([1, 0, 2])[crowd.answers.label]
    answers = simulate.collect(crowd.answers.task, crowd.answers.worker, swapped, crowd.truth, crowd.skills, 3).answers
    posterior, fitted = posterior_of(answers, gold_of(crowd, 40))
    rest = slice(40, None)
    straight, _ = posterior_of(crowd.answers, gold_of(crowd, 40))
    right = [(p.argmax(axis=1)[rest] == crowd.truth[rest]).mean() for p in (posterior, straight)]
    assert right[0] == pytest.approx(right[1], abs=0.01)  # as if the classes had never been swapped
    assert fitted.basis is not None
    assert fitted.basis.known is not None
    assert fitted.basis.known.swapped == (("0", "1"),)


def test_swaps_need_several_labels() -> None:
    assert class_swaps(np.array([[0.98, 0.01, 0.01]]), np.array([1])) == ()
    assert class_swaps(np.zeros((0, 2)), np.zeros(0, int)) == ()
    # However certain the posterior is: four wrong labels of four are no more than one sequence of coin tosses in 16.
    certain = np.tile([[1 - 1e-9, 1e-9]], (4, 1))
    assert class_swaps(certain, np.ones(4, dtype=int)) == ()


def test_swaps_compose() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 4, 80)
    crowd_class = np.array([1, 2, 0, 3])  # the crowd gives class 1 for 0, 2 for 1 and 0 for 2
    posterior = 0.7 * np.eye(4)[crowd_class[label]] + 0.075
    swaps = class_swaps(posterior, label)
    renamed = crowd_class.copy()
    for one, two in swaps:
        exchange = np.arange(4)
        exchange[[one, two]] = two, one
        renamed = exchange[renamed]
    assert renamed.tolist() == [0, 1, 2, 3]


def test_a_copying_group_is_found_and_outvoted() -> None:
    crowd, group = copied_crowd(seed=3, n_tasks=500)
    alone, fitted = posterior_of(crowd.answers)
    named, _ = posterior_of(crowd.answers, group=group)
    assert fitted.basis is not None
    assert fitted.basis.is_detected
    assert {len(family) for family in fitted.basis.families} == {10}
    for posterior in (alone, named):
        assert (posterior.argmax(axis=1) == crowd.truth).mean() > 0.8


def test_a_component_of_two_follows_its_gold() -> None:
    crowd = crowd_of_two_components(seed=5)
    posterior, fitted = posterior_of(crowd.answers, np.where(np.arange(190) >= 165, crowd.truth, -1).astype("i4"))
    assert not np.isnan(fitted.skill_estimates.skills[12:]).any()
    nothing, unknown = posterior_of(crowd.answers)
    assert np.isnan(unknown.skill_estimates.skills[12:]).all()
    assert posterior.shape == nothing.shape


def test_skills_from_before_weigh_a_small_batch() -> None:
    crowd = simulate.crowd(20, 6, 3, skills=np.array([0.95, 0.0, 0.0, 0.0, 0.9, 0.0]), seed=0)
    names = crowd.answers.worker_names
    table = {name: (s, s - 0.05, min(s + 0.05, 1)) for name, s in zip(names.to_pylist(), crowd.skills, strict=True)}
    with_priors, _ = posterior_of(crowd.answers, skills=priors_of(table, names, crowd.answers.classes))
    without, _ = posterior_of(crowd.answers)
    answered = [int(k) for k in range(20) if {0, 4} & set(crowd.answers.worker[crowd.answers.task == k].tolist())]
    right = [(p.argmax(axis=1) == crowd.truth)[answered].mean() for p in (with_priors, without)]
    assert right[0] >= right[1]
    assert right[0] > 0.85


def test_models_are_less_certain_than_people_who_agree_as_much() -> None:
    answers = simulate.crowd(200, 8, 4, seed=1).answers
    people, _ = posterior_of(answers)
    models, fitted = posterior_of(answers, models=Models(np.ones(8, dtype=bool), by_name=True))
    assert models.max(axis=1).mean() < people.max(axis=1).mean()
    assert [note.kind for note in fitted.notes] == ["judges"]


def test_a_prediction_can_be_sent_to_where_the_blocks_are() -> None:
    crowd = simulate.crowd(80, 8, 3, seed=0)
    blocks = blocks_of(crowd.answers, gold_of(crowd, 20))
    predict = fit(blocks).vote
    again = pickle.loads(pickle.dumps(predict))
    for block in blocks.map(lambda block: block):
        np.testing.assert_array_equal(again(block).posterior, predict(block).posterior)


def test_abstentions_that_depend_on_the_class_are_used() -> None:
    rng = np.random.default_rng(0)
    crowd = simulate.crowd(500, 12, 5, seed=4)
    a = crowd.answers
    abstentions = rng.random(a.n_answers) < np.where(crowd.truth[a.task] == 1, 0.6, 0.02)
    label = np.where(abstentions, "unsure", a.classes.to_numpy(zero_copy_only=False)[a.label])
    rows = {"task": a.task, "worker": a.worker, "label": label}
    answers = quorate.read(rows, abstain=["unsure"])
    truth = crowd.truth[[int(str(name)) for name in answers.task_names.to_pylist()]]
    without = quorate.read({name: np.asarray(values)[~abstentions] for name, values in rows.items()})
    with_abstentions, _ = posterior_of(answers)
    plain, _ = posterior_of(without)
    kept = [int(str(name)) for name in without.task_names.to_pylist()]
    error = (with_abstentions.argmax(axis=1) != truth).mean()
    assert error < (plain.argmax(axis=1) != crowd.truth[kept]).mean() + 0.01
