"""Differences between systems: coverage, pairing, correction for many pairs, and their description."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import ConflictingGoldError, MissingColumnError
from quorate.statistics import holm


def systems(
    n_items: int, gains: dict[str, float], *, n_gold: int, spread: float, seed: int, bias: float = 0.0
) -> tuple[dict[str, list[Any]], dict[str, list[Any]], dict[str, float]]:
    """Items answered by several systems, four judges per answer who are right 75% of the time.

    Returns answers, gold of random tasks, and the pass rate of each system in the population of items.
    """
    rng = np.random.default_rng(seed)
    item_effect = spread * rng.standard_normal(n_items)
    answers: dict[str, list[Any]] = {"item": [], "system": [], "worker": [], "label": []}
    gold: dict[str, list[Any]] = {"item": [], "system": [], "label": []}
    draws = spread * np.random.default_rng(0).standard_normal(200_000)
    for name, gain in gains.items():
        passes = rng.random(n_items) < 1 / (1 + np.exp(-(gain + item_effect)))
        for item in range(n_items):
            for judge in range(4):
                right = rng.random() < 0.75
                verdict = bool(passes[item]) == right or (name == "new" and rng.random() < bias)
                answers["item"].append(f"q{item}")
                answers["system"].append(name)
                answers["worker"].append(f"judge{judge}")
                answers["label"].append("pass" if verdict else "fail")
            gold["item"].append(f"q{item}")
            gold["system"].append(name)
            gold["label"].append("pass" if passes[item] else "fail")
    chosen = rng.permutation(len(gold["item"]))[:n_gold]
    sample = {name: [values[k] for k in chosen] for name, values in gold.items()}
    rates = {name: float((1 / (1 + np.exp(-(gain + draws)))).mean()) for name, gain in gains.items()}
    return answers, sample, rates


def estimated(answers: dict[str, list[Any]], gold: dict[str, list[Any]] | None) -> Any:
    columns: Any = {"task": "item,system", "worker": "worker", "label": "label"}
    return quorate.estimate(answers, gold=gold, sampled="random" if gold else None, by="system", **columns)


def test_intervals_cover_the_difference_even_if_judges_favour_a_system() -> None:
    covered = []
    for seed in range(40):
        answers, gold, rates = systems(100, {"base": 0.4, "new": 0.9}, n_gold=70, spread=1.0, seed=seed, bias=0.15)
        (found,) = estimated(answers, gold).differences
        assert (found.one, found.two, found.label, found.n_pairs) == ("new", "base", "pass", 100)
        covered.append(found.low <= rates["new"] - rates["base"] <= found.high)
    assert np.mean(covered) >= 0.85  # 95% intervals, 40 draws: three standard errors


def test_pairing_by_item_narrows_the_interval() -> None:
    """With all labels known and items that differ much, the items' difficulty cancels in the difference."""
    answers, gold, _ = systems(200, {"base": 0.0, "new": 0.3}, n_gold=400, spread=3.0, seed=1)
    (paired,) = estimated(answers, gold).differences
    tasks = [f"{item} / {system}" for item, system in zip(answers["item"], answers["system"], strict=True)]
    flat = {"task": tasks, "worker": answers["worker"], "label": answers["label"], "system": answers["system"]}
    known = {
        "task": [f"{item} / {system}" for item, system in zip(gold["item"], gold["system"], strict=True)],
        "label": gold["label"],
    }
    (single,) = quorate.estimate(flat, gold=known, sampled="random", by="system").differences
    assert single.n_pairs == 0
    assert single.value == pytest.approx(paired.value)
    assert paired.high - paired.low < 0.85 * (single.high - single.low)


def test_all_pairs_are_listed_and_corrected_by_holm() -> None:
    answers, gold, _ = systems(80, {"a": 0.0, "b": 0.1, "c": 2.5}, n_gold=150, spread=0.5, seed=2)
    found = estimated(answers, gold)
    assert [(each.one, each.two) for each in found.differences] == [("b", "a"), ("c", "a"), ("c", "b")]
    clear = {(each.one, each.two): each.is_clear for each in found.differences}
    assert clear == {("b", "a"): False, ("c", "a"): True, ("c", "b"): True}
    assert "corrected for 3 comparisons (Holm)" in found.summary()
    assert "not a clear difference" in found.summary()
    assert len(found.to_dict()["differences"]) == 3
    assert found.table["what"].to_pylist().count("share, difference") == 3


@pytest.mark.parametrize("seed", range(5))
def test_holm_rejects_what_the_definition_rejects(seed: int) -> None:
    p = np.random.default_rng(seed).random(7) ** 3
    order = np.argsort(p)
    rejected = np.zeros(7, bool)
    for step, k in enumerate(order):  # the definition: stop at the first that is too large
        if p[k] > 0.05 / (7 - step):
            break
        rejected[k] = True
    assert ((holm(p) <= 0.05) == rejected).all()


def test_judges_that_add_nothing_are_reported_to_add_nothing() -> None:
    rng = np.random.default_rng(0)
    table = {
        "task": np.repeat(np.arange(300), 4).tolist(),
        "worker": ["a", "b", "c", "d"] * 300,
        "label": rng.choice(["yes", "no"], 1200).tolist(),
    }
    truth = {"task": list(range(60)), "label": rng.choice(["yes", "no"], 60).tolist()}
    found = quorate.estimate(table, gold=truth, sampled="random")
    assert "The workers add nothing here: the 60 known labels alone give the same intervals." in found.summary()


def test_a_column_that_is_missing_or_varies_within_a_task_is_refused(tmp_path: Path) -> None:
    table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxx"), "system": list("pqrr")}
    with pytest.raises(MissingColumnError, match='by= needs a column "model"'):
        quorate.estimate(table, by="model")
    with pytest.raises(ConflictingGoldError, match="task 1 has two values in the column 'system'"):
        quorate.estimate(table, by="system")
    with pytest.raises(MissingColumnError, match="to pair by"):
        quorate.estimate({**table, "system": list("ppqq")}, by="system", pair_by="question")


def several_outputs(
    n_items: int, n_outputs: int, n_gold: int, seed: int
) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Return answers about several outputs per item and system, and the true labels of some of them."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 1.5, n_items)
    rows = []
    truth = {}
    for item in range(n_items):
        for system, better in (("base", 0.0), ("new", 0.4)):
            for k in range(n_outputs):
                right = rng.random() < 1 / (1 + np.exp(-(ease[item] + better)))
                task = f"{item}-{system}-{k}"
                truth[task] = "pass" if right else "fail"
                for judge in range(3):
                    label = truth[task] if rng.random() < 0.75 else ("fail" if right else "pass")
                    rows.append((task, f"j{judge}", label, system, f"q{item}"))
    columns = ("task", "worker", "label", "system", "item")
    table = {name: [row[k] for row in rows] for k, name in enumerate(columns)}
    return table, {task: truth[task] for task in rng.permutation(list(truth))[:n_gold].tolist()}


@pytest.mark.parametrize("n_outputs", [1, 4, 8])
def test_a_paired_difference_is_that_of_the_shares(n_outputs: int) -> None:
    table, gold = several_outputs(60, n_outputs, 90, seed=n_outputs)
    found = quorate.estimate(table, gold=gold, sampled="random", by="system", pair_by="item")
    (difference,) = found.differences
    shares = {part.value: part.prevalence["pass"].value for part in found.parts}
    new, base = shares["new"], shares["base"]
    assert new is not None
    assert base is not None
    assert difference.value == pytest.approx(new - base, abs=1e-6)
    assert difference.low <= difference.value <= difference.high
    assert difference.n_pairs == 60


def test_paired_intervals_with_several_outputs_per_item_cover_the_truth() -> None:
    # 95% intervals: of 60 draws, 51 or more hold the true difference with probability above 0.999.
    covered = 0
    for seed in range(60):
        table, truth = several_outputs(30, 4, 240, seed=100 + seed)
        gold = dict(list(truth.items())[:120])
        (difference,) = quorate.estimate(table, gold=gold, sampled="random", by="system", pair_by="item").differences
        right = {name: np.mean([truth[t] == "pass" for t in truth if f"-{name}-" in t]) for name in ("new", "base")}
        covered += int(difference.low <= right["new"] - right["base"] <= difference.high)
    assert covered >= 51


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize("gains", [{"base": 0.4, "new": 0.9}, {"base": 0.0, "mid": 0.5, "new": 1.0}], ids=len)
def test_biased_judges_do_not_widen_the_interval_beyond_that_of_the_known_labels(
    gains: dict[str, float], is_paired: bool
) -> None:
    """A bias that judges have everywhere cancels; before, its square was part of the variance."""
    covered, widths, known_widths = [], [], []
    for seed in range(15):
        answers, gold, rates = systems(100, gains, n_gold=35 * len(gains), spread=1.0, seed=500 + seed, bias=0.3)
        if not is_paired:
            answers, gold = (
                {
                    **{name: values for name, values in table.items() if name != "item"},
                    "task": [f"{i} / {s}" for i, s in zip(table["item"], table["system"], strict=True)],
                }
                for table in (answers, gold)
            )
            labels = {"task": gold["task"], "label": gold["label"]}
            found = quorate.estimate(answers, gold=labels, sampled="random", by="system")
        else:
            found = estimated(answers, gold)
        assert len(found.differences) == len(gains) * (len(gains) - 1) // 2
        for each in found.differences:
            assert (each.n_pairs > 0) == is_paired
            assert each.known_only_low is not None
            assert each.known_only_high is not None
            covered.append(each.low <= rates[each.one] - rates[each.two] <= each.high)
            widths.append(each.high - each.low)
            known_widths.append(each.known_only_high - each.known_only_low)
            assert widths[-1] <= known_widths[-1] + 1e-9
    assert np.mean(widths) < 0.92 * np.mean(known_widths)
    # 95% intervals of 15 draws; differences of one draw are dependent. Three standard errors of 15 draws are 0.17.
    assert np.mean(covered) >= 0.78


def test_a_bias_of_every_judge_has_no_effect_on_the_interval() -> None:
    """The guess enters by its deviations from its mean alone: a constant added to it changes nothing."""
    from quorate.estimation.differences import _mean_and_influence
    from quorate.estimation.estimands import Prevalence
    from quorate.estimation.means import ByKnown
    from quorate.estimation.prediction_powered import KnownSample

    rng = np.random.default_rng(0)
    truth = (rng.random(200) < 0.6).astype(int)
    share = np.clip(0.4 * truth + 0.1 + 0.1 * rng.random(200), 0, 1)
    sample = KnownSample.random(np.sort(rng.permutation(200)[:60]), 200)
    part = np.ones(200, dtype=bool)
    found = []
    for bias in (0.0, 0.3):
        posterior = np.stack([1 - share - bias, share + bias], axis=1)
        meter = ByKnown(posterior, truth[sample.rows], sample, 1.96)
        found.append(_mean_and_influence(meter, Prevalence(2), 1, part, uses_guess=True))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-9)
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-9)
    assert abs(found[0][1].sum()) < 1e-9  # an influence function has the mean zero
