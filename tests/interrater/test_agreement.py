"""Coefficients of agreement: tables worked by hand in the literature, other people's code, and laws."""

from importlib.util import find_spec
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate
from quorate.answers import Answers
from quorate.errors import OptionError
from quorate.interrater import sums
from quorate.interrater.agreement import SCALES, agreement
from tests.conftest import need

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")
# Fleiss (1971) as every textbook has it: ten subjects, fourteen raters, five classes; how many gave each.
RATED = (
    """0 0 0 0 14; 0 2 6 4 2; 0 0 3 5 6; 0 3 9 2 0; 2 2 8 1 1; 7 7 0 0 0; 3 2 6 3 0; 2 5 3 2 2; 6 5 2 1 0; 0 2 2 3 7"""
)


def krippendorffs_units() -> Answers:
    rows = [
        (unit, observer, int(value))
        for observer, line in enumerate(OBSERVERS)
        for unit, value in enumerate(line.split())
        if value != "."
    ]
    return quorate.read(dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)))


def fleiss_subjects() -> Answers:
    rows = []
    for subject, line in enumerate(RATED.split(";")):
        used_classes = [c for c, n in enumerate(line.split()) for _ in range(int(n))]
        rows += [(subject, rater, c) for rater, c in enumerate(used_classes)]
    return quorate.read(dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True)))


def crowd(seed: int, n_tasks: int = 40, n_workers: int = 6, n_classes: int = 4) -> Answers:
    """Answers of uneven redundancy: some tasks have one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_tasks)
    rows = [
        (t, w, int(truth[t] if rng.random() < 0.6 else rng.integers(0, n_classes)))
        for t in range(n_tasks)
        for w in rng.permutation(n_workers)[: rng.integers(1, n_workers + 1)]
    ]
    columns = dict(zip(("task", "worker", "label"), zip(*rows, strict=True), strict=True))
    return quorate.read(columns, classes=list(range(n_classes)))


def value(answers: Any, name: str, **options: Any) -> float:
    found = agreement(answers, draws=20, **options).overall[name].value
    assert found is not None
    return found


# --- tables of the literature ---


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(scale: str, alpha: float) -> None:
    assert value(krippendorffs_units(), "krippendorff_alpha", scale=scale) == pytest.approx(alpha, abs=5e-4)


def test_fleiss_own_example() -> None:
    assert value(fleiss_subjects(), "fleiss_kappa") == pytest.approx(0.210, abs=5e-4)
    assert value(fleiss_subjects(), "percent_agreement") == pytest.approx(0.378, abs=5e-4)


def test_the_same_units_by_gwets_coefficients() -> None:
    """Gwet's handbook prints 0.775 (AC1), and his software 0.899 and 0.914 for ordinal and quadratic weights."""
    units = krippendorffs_units()
    assert value(units, "gwet_ac1") == pytest.approx(0.77544, abs=5e-6)
    assert value(units, "fleiss_kappa") == pytest.approx(0.76117, abs=5e-6)
    assert value(units, "gwet_ac2", scale="ordinal") == pytest.approx(0.89894, abs=5e-6)
    assert value(units, "gwet_ac2", scale="interval") == pytest.approx(0.91400, abs=5e-6)


# --- other people's code, and a naive reference ---


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_what_evalica_computes(scale: str, seed: int) -> None:
    need("evalica", find_spec("evalica"), "pip install 'quorate[dev]'")
    import evalica
    import pandas

    answers = crowd(seed)
    table = np.full((answers.n_workers, answers.n_tasks), np.nan)
    table[answers.worker, answers.task] = answers.label
    theirs = evalica.alpha(pandas.DataFrame(table), distance=scale).alpha  # type: ignore[arg-type]
    assert value(answers, "krippendorff_alpha", scale=scale) == pytest.approx(theirs, abs=1e-12)


def naive(answers: Answers) -> dict[str, float]:
    """Every ordered pair of answers, one by one."""
    by_task = [answers.label[answers.task == t].tolist() for t in range(answers.n_tasks)]
    several = [labels for labels in by_task if len(labels) > 1]
    alike = np.mean([np.mean([a == b for a, b in permutations(labels, 2)]) for labels in several])
    m = answers.n_classes
    pi = np.mean([np.bincount(labels, minlength=m) / len(labels) for labels in by_task if labels], axis=0)
    units = np.concatenate([np.array(labels) for labels in several])
    differ = sum(sum(a != b for a, b in permutations(labels, 2)) / (len(labels) - 1) for labels in several) / len(units)
    by_chance = np.mean([a != b for a, b in permutations(units.tolist(), 2)])
    ac1 = (pi * (1 - pi)).sum() / (m - 1)
    kappa = (pi**2).sum()
    return {
        "krippendorff_alpha": 1 - differ / by_chance,
        "fleiss_kappa": (alike - kappa) / (1 - kappa),
        "gwet_ac1": (alike - ac1) / (1 - ac1),
        "percent_agreement": float(alike),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_sums_equal_a_loop_over_all_pairs(seed: int) -> None:
    answers = crowd(seed)
    found = agreement(answers, draws=1)
    assert {name: each.value for name, each in found.overall.items()} == pytest.approx(naive(answers), abs=1e-12)
    for c, row in enumerate(found.by_class):
        one = quorate.read(
            {"task": answers.task, "worker": answers.worker, "label": (answers.label == c).astype(int)}, classes=[0, 1]
        )
        binary = {name: row[name].value for name in naive(one)}
        assert binary == pytest.approx(naive(one), abs=1e-12)


def test_many_classes_are_counted_without_a_table_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = crowd(5)
    dense = {name: each.value for name, each in agreement(answers, scale="ordinal", draws=1).overall.items()}
    monkeypatch.setattr(sums, "MAX_DENSE_ENTRIES_PER_CELL", 0)
    monkeypatch.setattr("quorate.answers.MAX_CELLS_PER_ANSWER", 0)
    sparse = agreement(answers, scale="ordinal", draws=1)
    assert {name: each.value for name, each in sparse.overall.items()} == pytest.approx(dense, abs=1e-12)
    assert sparse.by_worker.agreeing_share == pytest.approx(agreement(answers, draws=1).by_worker.agreeing_share)


# --- laws ---


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.permutations(range(4)))
def test_names_of_workers_tasks_and_classes_do_not_matter(seed: int, order: list[int]) -> None:
    answers = crowd(seed, n_tasks=8, n_workers=4)
    rng = np.random.default_rng(seed)
    tasks, workers = rng.permutation(answers.n_tasks), rng.permutation(answers.n_workers)
    again = quorate.read(
        {"task": tasks[answers.task], "worker": workers[answers.worker], "label": np.array(order)[answers.label]},
        classes=list(range(4)),
    )
    one, two = (agreement(each, draws=1) for each in (answers, again))
    assert {n: c.value for n, c in one.overall.items()} == pytest.approx({n: c.value for n, c in two.overall.items()})
    for c in range(4):
        assert one.by_class[c]["gwet_ac1"].value == pytest.approx(two.by_class[order[c]]["gwet_ac1"].value)


def test_two_classes_are_alike_on_every_scale() -> None:
    answers = crowd(1, n_classes=2)
    alphas = [value(answers, "krippendorff_alpha", scale=scale) for scale in SCALES]
    assert alphas == pytest.approx([alphas[0]] * 3)
    assert value(answers, "gwet_ac2", scale="ordinal") == pytest.approx(value(answers, "gwet_ac1"))


def test_guessing_has_no_agreement_above_chance_and_knowing_has_all() -> None:
    guessing = quorate.simulate.crowd(4000, 20, 5, skills=np.zeros(20), seed=3).answers
    knowing = quorate.simulate.crowd(50, 8, 4, skills=np.ones(8), seed=3).answers
    for name in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
        # 40,000 pairs of two classes: a standard error of 0.005.
        assert abs(value(guessing, name)) < 0.02
        assert value(knowing, name) == 1.0


def test_a_worker_against_the_rest_is_what_its_pairs_say() -> None:
    answers = crowd(7)
    found = agreement(answers, draws=1).by_worker
    for w in range(answers.n_workers):
        alike = []
        for t in answers.task[answers.worker == w]:
            labels = answers.label[answers.task == t].tolist()
            own = labels.pop(answers.worker[answers.task == t].tolist().index(w))
            alike += [np.mean([other == own for other in labels])] if labels else []
        assert found.shared[w] == len(alike)
        assert found.agreeing_share[w] == pytest.approx(np.mean(alike))
        assert found.low[w] <= found.kappa[w] <= found.high[w]


def test_a_worker_of_few_shared_tasks_gets_no_interval() -> None:
    found = agreement({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    assert found.workers.to_pylist()[0]["kappa_low"] is None
    assert found.by_worker.agreeing_share.tolist() == [1.0, 1.0]


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Over 200 crowds of 150 tasks from one population; the coefficients of 200,000 tasks are the truth."""

    def drawn(seed: int, n_tasks: int) -> Answers:
        skills = np.tile([0.2, 0.5, 0.8, 0.9], 3)
        return quorate.simulate.crowd(n_tasks, 12, 3, n_classes=3, skills=skills, seed=seed).answers

    true = {name: each.value for name, each in agreement(drawn(0, 200_000), draws=1).overall.items()}
    hits = dict.fromkeys(true, 0)
    for seed in range(1, 201):
        for name, each in agreement(drawn(seed, 150), draws=300, seed=seed).overall.items():
            assert each.low is not None
            assert each.high is not None
            hits[name] += each.low <= (true[name] or 0) <= each.high
    # A coverage of 0.95 has a standard error of 0.015 over 200 crowds.
    assert min(hits.values()) >= 180
    assert max(hits.values()) <= 200


def test_sums_over_groups_of_tasks_give_the_interval_of_single_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = quorate.simulate.crowd(3000, 12, 3, seed=2).answers
    widths = []
    for most in (3000, 400):
        monkeypatch.setattr(sums, "MAX_GROUPS", most)
        found = agreement(answers, draws=2000).overall["krippendorff_alpha"]
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    # 400 groups tell a standard error to within 1/sqrt(800), 2000 draws each end to within 3 %.
    assert widths[1] == pytest.approx(widths[0], rel=0.15)


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert agreement(crowd(2), seed=4).to_dict() == agreement(crowd(2), seed=4).to_dict()


# --- groups, and what is undefined ---


def test_groups_are_judged_among_themselves() -> None:
    table = {
        "task": [1, 1, 2, 2, 1, 1, 2, 2],
        "worker": list("ababcdcd"),
        "label": list("xxyyxyyx"),
        "site": ["north"] * 4 + ["south"] * 4,
    }
    found = agreement(table, group="site")
    assert found.groups["group"].to_pylist() == ["north", "south"]
    assert found.groups["percent_agreement"].to_pylist() == [1.0, 0.0]
    assert [row["n_workers"] for row in found.to_dict()["by_group"]] == [2, 2]
    assert agreement({**table, "site": ["all"] * 8}, group="site").by_group[0]["gwet_ac1"].value == pytest.approx(
        value(table, "gwet_ac1")
    )


def test_agreement_without_pairs_is_undefined() -> None:
    alone = agreement({"task": [1, 2], "worker": list("ab"), "label": list("xy")})
    assert all(each.value is None for each in alone.overall.values())
    assert alone.lines() == ["No task has two answers, so agreement cannot be measured."]
    one = agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxx")})
    assert (one.overall["percent_agreement"].value, one.overall["krippendorff_alpha"].value) == (1.0, None)
    assert "every answer is the same" in one.line()


def test_few_tasks_give_no_interval() -> None:
    """A bootstrap over fewer than five tasks says nothing."""
    few = {"task": [1, 1, 2, 2, 3, 3, 4, 4], "worker": list("abababab"), "label": list("xxxyyyxy")}
    assert agreement(few).overall["gwet_ac1"].low is None
    more = {"task": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5], "worker": list("ababababab"), "label": list("xxxyyyxyyy")}
    assert agreement(more).overall["gwet_ac1"].low is not None


def test_a_scale_needs_an_order() -> None:
    table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["low", "high", "mid", "mid"]}
    with pytest.raises(OptionError, match=r"not numbers. Give their order"):
        agreement(table, scale="ordinal")
    with pytest.raises(OptionError, match="needs classes that are numbers"):
        agreement(table, scale="interval")
    with pytest.raises(OptionError, match="'mid' is not in it"):
        agreement(table, scale="ordinal", ranked=["low", "high"])
    with pytest.raises(OptionError, match="has no effect on a nominal scale"):
        agreement(table, ranked=["low", "mid", "high"])
    with pytest.raises(OptionError, match="level= must lie between 0 and 1"):
        agreement(table, level=95)
    found = agreement(table, scale="ordinal", ranked=["low", "mid", "high"])
    assert found.overall["krippendorff_alpha"].value == pytest.approx(
        value({**table, "label": [1, 3, 2, 2]}, "krippendorff_alpha", scale="ordinal")
    )
