"""Known labels: what they turn round and correct, and that a task is never scored by its own."""

from dataclasses import replace

import numpy as np
import pytest

import quorate
from quorate.arrays import IntArray
from quorate.evaluation import simulate
from quorate.evaluation.experiments.panels import mostly_adversaries, swapped_classes
from quorate.evaluation.simulate import Crowd
from quorate.methods.opinions import opinions_of
from quorate.methods.views import weigh
from quorate.skills.evidence import gather
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.voting import known_labels as module
from quorate.voting.corrections import exchanges
from quorate.voting.known_labels import REFITS, Views, learn
from quorate.voting.population import calibrated, identity


def views_of(crowd: Crowd) -> Views:
    opinions = opinions_of(crowd.answers, centred_workforce(gather(crowd.answers)))
    return weigh(crowd.answers, opinions, group=None, independent=False, cautious=False)[0]


def known_of(crowd: Crowd, n: int, seed: int = 0) -> IntArray:
    known = np.full(crowd.answers.n_tasks, -1)
    chosen = np.random.default_rng([seed, 9]).permutation(len(known))[:n]
    known[chosen] = crowd.truth[chosen]
    return known


def error_with(crowd: Crowd, n: int) -> float:
    known = known_of(crowd, n)
    result = quorate.aggregate(crowd.answers, gold=gold_of(crowd, known))
    return float((result.ballot.label != crowd.truth)[known < 0].mean())


def gold_of(crowd: Crowd, known: IntArray) -> dict[str, list[str]] | None:
    rows = np.flatnonzero(known >= 0)
    names, classes = crowd.answers.task_names.to_pylist(), crowd.answers.classes.to_pylist()
    return {"task": [names[t] for t in rows], "label": [classes[known[t]] for t in rows]} if len(rows) else None


def test_a_crowd_of_adversaries_and_swapped_classes_are_turned_round() -> None:
    crowd = mostly_adversaries(np.random.default_rng(0))
    assert error_with(crowd, 0) > 0.9
    assert error_with(crowd, 5) < 0.05
    crowd = swapped_classes(np.random.default_rng(0))
    assert error_with(crowd, 0) > 0.4
    assert error_with(crowd, 30) < 0.1


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_label_of_its_own_hardly_changes_how_a_known_task_is_scored(n_classes: int) -> None:
    """What other folds teach has not heard of it; only how those are weighed has, and that by what it taught them."""
    crowd = simulate.crowd(300, 12, 4, n_classes=n_classes, seed=3)
    views, known = views_of(crowd), known_of(crowd, 40)
    before, parts = learn(views, known), [module._crossed(views, known, *way) for way in module.WAYS]
    rows = np.flatnonzero(known >= 0)
    for task in np.flatnonzero(known >= 0)[:6]:
        other = known.copy()
        other[task] = (known[task] + 1) % n_classes
        for part, way in zip(parts, module.WAYS, strict=True):
            again = module._crossed(views, other, *way)
            assert again.posterior[rows == task] == pytest.approx(part.posterior[rows == task], abs=0.02)
        assert learn(views, other).posterior[task] == pytest.approx(before.posterior[task], abs=0.03)


def test_the_fold_of_a_task_learns_nothing_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.crowd(200, 8, 4, seed=1)
    views, known = views_of(crowd), known_of(crowd, 23)
    seen: list[tuple[IntArray, IntArray]] = []
    whole = module._opinions

    def spied(views: Views, taught: IntArray, *rest: object) -> object:
        if len(rest) == 3:
            seen.append((taught, np.asarray(rest[2])))
        return whole(views, taught, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_opinions", spied)
    learn(views, known)
    assert len(seen) == 3 * 10 + 2 * REFITS
    for taught, scored in seen:
        assert (taught[scored] == -1).all()
        assert ((taught == known) | (taught == -1)).all()


def test_whether_classes_are_exchanged_is_decided_without_the_task() -> None:
    """Two labels of classes that the crowd exchanges: one alone would not show it, so neither task is turned round."""
    counts = np.array([[6.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 0.0]])
    answers = simulate.crowd(4, 6, 6, seed=0).answers
    views = Views(answers, (counts,) * 3, np.ones(4), 0.0, np.ones(3) / 3, identity())
    learned = learn(views, np.array([1, 1, -1, -1]))
    assert learned.turned == ((0, 1),)
    assert learned.posterior.argmax(axis=1).tolist() == [0, 0, 0, 1]


def test_no_label_alone_turns_classes_round_however_sure_the_crowd_was() -> None:
    sure = np.array([[1 - 2e-9, 1e-9, 1e-9]])
    assert exchanges(sure, np.array([1])) == ()
    assert exchanges(np.repeat(sure, 2, axis=0), np.array([1, 1])) == ((0, 1),)
    many = np.full((2, 30), 1e-9)
    many[:, 0] = 1 - 29e-9
    assert exchanges(many, np.array([1, 1])) == ()  # two are chance where 435 exchanges were tried


def test_ways_of_learning_count_as_they_foretell_the_known_labels() -> None:
    """Bayes' rule by hand: not to correct is as likely beforehand as all others, and what hardly counts is left out."""
    assert module._way_weights(np.zeros(5)).tolist() == pytest.approx([0.5, *[0.125] * 4])
    fit = np.log([0.2, 0.8, 0.4])
    assert module._way_weights(fit - 1000) == pytest.approx(np.array([0.1, 0.2, 0.1]) / 0.4)
    assert module._way_weights(np.array([0.0, -50.0, -60.0])).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("way", module.WAYS)
def test_how_likely_each_known_label_was_is_what_the_task_was_given(way: tuple[float | None, int]) -> None:
    crowd = simulate.crowd(200, 10, 4, n_classes=3, seed=4)
    views, known = views_of(crowd), known_of(crowd, 30)
    crossed, rows = module._crossed(views, known, *way), np.flatnonzero(known >= 0)
    said = calibrated(crossed.posterior, views.calibration)
    assert np.exp(crossed.logs) == pytest.approx([said[k, known[t]] for k, t in enumerate(rows)])
    assert 0.5 < np.exp(crossed.logs).mean() < 1  # they are mostly foretold


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_what_is_said_beside_classes_still_counts_when_matrices_are_learned_again(passes: int) -> None:
    """Beside the answers, which speak for the first class, something speaks for the second on one task."""
    rows = {"task": [t for t in range(20) for _ in "abc"], "worker": list("abc") * 20, "label": list("xxyyxy" * 10)}
    answers = quorate.read(rows)
    added = np.zeros((20, 2))
    added[0] = [0.0, 50.0]
    plain = tuple(answers.counts * weight for weight in (1.0, 1.0, 1.0))
    said = (plain[0], plain[1] + added, plain[2])
    views = Views(answers, said, np.ones(20), 0.0, np.ones(3) / 3, identity(), added=added)
    found = module._opinions(views, np.full(20, -1), None, passes)[1]
    assert found[0, 1] > 0.99
    silent = replace(views, opinions=plain, added=None)
    assert module._opinions(silent, np.full(20, -1), None, passes)[1][0, 1] < 0.5


def biased_crowd(seed: int = 0) -> Crowd:
    """Workers who all call most tasks of the last class the one before it, and are mostly right of the others."""
    rng = np.random.default_rng(seed)
    made = simulate.crowd(600, 12, 4, n_classes=3, skills=np.full(12, 0.85), seed=seed)
    misled = (made.truth[made.answers.task] == 2) & (rng.random(made.answers.n_answers) < 0.7)
    return replace(made, answers=replace(made.answers, label=np.where(misled, 1, made.answers.label).astype(np.int32)))


def test_the_gain_is_over_using_no_known_label() -> None:
    """How many times as likely the ways make the known labels as the first does, which corrects nothing, on average."""
    plain = simulate.crowd(600, 12, 4, n_classes=3, skills=np.full(12, 0.85), seed=0)
    gains = []
    for crowd in (biased_crowd(), plain):
        views, known = views_of(crowd), known_of(crowd, 90)
        learned = learn(views, known)
        assert learned.turned == ()
        likely = [module._crossed(views, known, *way).logs.sum() for way in module.WAYS]
        gains.append(learned.gain)
        assert learned.gain == pytest.approx(np.log(np.mean(np.exp(np.array(likely) - likely[0]))))
    assert gains[0] > np.log(100)  # where all err alike
    assert gains[1] < 2


def test_without_disagreement_known_labels_leave_the_labels_alone() -> None:
    crowd = simulate.crowd(400, 10, 5, skills=np.full(10, 0.9), seed=2)
    views = views_of(crowd)
    learned = learn(views, known_of(crowd, 30))
    assert learned.turned == ()
    assert (learned.posterior.argmax(axis=1) == views.belief.argmax(axis=1)).mean() > 0.99
    assert learned.posterior.sum(axis=1) == pytest.approx(1)


def test_a_large_crowd_compares_ways_of_learning_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENOUGH", 400)
    crowd = simulate.crowd(400, 10, 4, seed=2)
    known = known_of(crowd, 20)
    small, mine = module._sample(views_of(crowd), known)
    assert small.answers.n_tasks < 250
    assert (mine >= 0).sum() == 20
    assert learn(views_of(crowd), known).posterior.shape == (400, 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_rows_changes_nothing(seed: int) -> None:
    """Known tasks are dealt into folds by their ids."""
    crowd = simulate.crowd(120, 12, 4, n_classes=3, seed=seed)
    gold = gold_of(crowd, known_of(crowd, 30))
    rows = crowd.answers.to_table().to_arrow()
    mixed = rows.take(np.random.default_rng(seed).permutation(rows.num_rows))
    found = [quorate.aggregate(each, gold=gold).labels.to_arrow().sort_by("task") for each in (rows, mixed)]
    assert found[0]["label"].to_pylist() == found[1]["label"].to_pylist()
    assert found[0]["confidence"].to_numpy() == pytest.approx(found[1]["confidence"].to_numpy(), abs=1e-9)
