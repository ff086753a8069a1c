"""Statements of several commands that were once untrue: each is compared with what it is about."""

from typing import Any

import numpy as np
import pytest

import quorate
from quorate.estimation.estimate import MIN_SUM_OFF


def scores_of(names: list[str]) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    level = rng.normal(50, 20, 40)
    tasks = [task for task in range(40) for _ in names]
    values = [float(level[task] + rng.normal(0, 5)) for task in tasks]
    return {"task": [*tasks], "worker": [*names] * 40, "score": [*values]}


def test_rate_warns_of_language_models_as_aggregate_does() -> None:
    judges = quorate.rate(scores_of(["gpt-4o", "claude-3-opus", "llama-3.1-8b-instruct"])).summary()
    people = quorate.rate(scores_of(["ann", "bob", "cy"])).summary()
    assert "look like LLM judges" in judges
    assert "the intervals do not include such mistakes" in judges
    assert "LLM judges" not in people


@pytest.mark.parametrize(("n_items", "n_judges"), [(2, 2), (2, 4), (4, 2)])
def test_two_judges_or_two_items_show_no_skill(n_items: int, n_judges: int) -> None:
    """One judge sees no difference and the others do: nothing shows who is right."""
    rng = np.random.default_rng(1)
    rows = []
    for judge in range(n_judges):
        for _ in range(150):
            left, right = rng.choice(n_items, 2, replace=False)
            better = min(left, right)
            chance = 0.5 if judge == 0 else 0.8
            winner = better if rng.random() < chance else max(left, right)
            rows.append((f"m{left}", f"m{right}", f"m{winner}", f"j{judge}"))
    columns = dict(zip(("left", "right", "winner", "judge"), map(list, zip(*rows, strict=True)), strict=True))
    found = quorate.rank(columns)
    assert not found.choice.used
    assert "nothing shows which judge is better" in found.summary()
    assert "no better than chance" not in found.summary()


def test_shares_of_classes_that_do_not_add_up_to_one_are_marked() -> None:
    for seed in range(6):
        crowd = quorate.simulate.crowd(200, 6, 3, n_classes=3, seed=seed)
        known = np.random.default_rng(seed).choice(200, 25, replace=False)
        gold = {f"t{task}": f"c{crowd.truth[task]}" for task in known}
        found = quorate.estimate(crowd.answers, gold=gold, sampled="random")
        total = sum(each.value for each in found.prevalence.values() if each.value is not None)
        assert ("the shares add up to" in found.summary()) == (abs(total - 1) >= MIN_SUM_OFF)


def test_with_every_label_known_the_summary_says_how_good_the_answers_alone_are() -> None:
    crowd = quorate.simulate.crowd(200, 8, 5, seed=0)
    alone = float((quorate.aggregate(crowd.answers).vote.label == crowd.truth).sum())
    result = quorate.aggregate(crowd.answers, gold={f"t{k}": f"c{c}" for k, c in enumerate(crowd.truth)})
    text = result.summary()
    assert "Every task has a known label, so the 200 labels are the known ones." in text
    assert "probably wrong" not in text
    assert result.confidence_basis is not None
    assert result.confidence_basis.known is not None
    assert abs(result.confidence_basis.known.right_alone - alone) <= 4


def test_the_report_does_not_change_ids() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    rows: dict[str, list[object]] = {"task": [], "worker": [], "label": []}
    for name in ("ann", "bob", "cy", "dee", "finn"):
        given = np.where(rng.random(300) < 0.85, truth, 1 - truth) if name != "finn" else np.zeros(300, int)
        rows["task"] += range(300)
        rows["worker"] += [name] * 300
        rows["label"] += given.tolist()
    page = quorate.report(rows).html()
    assert "finn" in page
    assert "Finn" not in page


def test_every_skill_lies_in_its_own_interval() -> None:
    for seed in range(4):
        crowd = quorate.simulate.crowd(150, 8, 4, skills=np.linspace(-0.5, 0.9, 8), seed=seed)
        known = {f"t{k}": f"c{crowd.truth[k]}" for k in range(40 * (seed % 2))}
        for method in ("quorate", "rank-one"):
            result = quorate.aggregate(crowd.answers, method, gold=known or None)
            rated = ~np.isnan(result.intervals.low)
            assert (result.intervals.low <= result.skills)[rated].all()
            assert (result.skills <= result.intervals.high)[rated].all()
            shares = result.right_answers
            if shares is not None:
                assert ((shares.low <= shares.share) & (shares.share <= shares.high)).all()
