"""Known and true labels as a dictionary, a Series, an indexed data frame or a table: all are the same labels."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import quorate
from quorate.errors import QuorateError

CROWD = quorate.simulate.crowd(120, 8, 4, seed=5)
FRAME = CROWD.answers.to_table().to_pandas().rename(columns={"task": "item_id", "worker": "who", "label": "verdict"})
COLUMNS: Any = {"task": "item_id", "worker": "who", "label": "verdict"}
TRUTH = {row["task"]: row["label"] for row in CROWD.truth_table.to_pylist()[:60]}
SERIES = pd.Series(TRUTH)
NAMED = SERIES.rename("verdict").rename_axis("item_id")
FORMS: dict[str, Any] = {
    "dictionary": TRUTH,
    "Series": SERIES,
    "named Series": NAMED,
    "categorical Series": SERIES.astype("category"),
    "frame with another column name": SERIES.to_frame("anything"),
    "indexed frame": NAMED.to_frame(),
    "frame": NAMED.reset_index(),
    "usual names": SERIES.rename("label").rename_axis("task").reset_index(),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "aggregate": lambda labels: quorate.aggregate(FRAME, gold=labels, **COLUMNS).labels.to_pylist(),
    "estimate": lambda labels: quorate.estimate(FRAME, gold=labels, **COLUMNS).to_dict(),
    "compare": lambda labels: quorate.compare(FRAME, labels, methods=["majority"], **COLUMNS).entries[0].error,
    "check": lambda labels: quorate.check(FRAME, gold=labels, max_error=0.2, **COLUMNS).to_dict(),
    "diagnose": lambda labels: quorate.diagnose(FRAME, gold=labels, **COLUMNS).summary(),
    "advise": lambda labels: quorate.advise(FRAME, 3, gold=labels, **COLUMNS).assignments.to_pylist(),
    "suggest_gold": lambda labels: quorate.suggest_gold(FRAME, 3, gold=labels, **COLUMNS).tasks.to_pylist(),
    "next_steps": lambda labels: quorate.next_steps(FRAME, gold=labels, **COLUMNS).summary(),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_form_of_labels_gives_the_same_result(name: str) -> None:
    expected = CALLS[name](TRUTH)
    for form, labels in FORMS.items():
        assert CALLS[name](labels) == expected, form


def test_a_result_is_scored_by_every_form() -> None:
    result = quorate.aggregate(FRAME, "majority", **COLUMNS)
    expected = result.score(TRUTH)
    for form in ("Series", "named Series", "categorical Series", "frame with another column name", "indexed frame"):
        assert result.score(FORMS[form]) == expected, form
        assert quorate.score(result.labels, FORMS[form]).n_scored == expected.n_scored


def test_predictions_may_be_a_series() -> None:
    by_table = quorate.estimate(FRAME, gold=TRUTH, predictions=TRUTH, **COLUMNS)
    assert quorate.estimate(FRAME, gold=TRUTH, predictions=SERIES, **COLUMNS).to_dict() == by_table.to_dict()


def test_known_scores_may_be_a_series() -> None:
    rows = {"task": list("aabbcc"), "worker": list("xyxyxy"), "label": [1, 2, 2, 3, 4, 5]}
    known = {"a": 1.5, "b": 2.5}
    assert quorate.rate(rows, gold=pd.Series(known)).scores == quorate.rate(rows, gold=known).scores


def test_a_series_with_an_index_of_its_own_is_refused_with_the_ids() -> None:
    with pytest.raises(QuorateError, match="tasks that nobody answered"):
        quorate.aggregate(FRAME, gold=SERIES.reset_index(drop=True).set_axis([f"x{k}" for k in range(60)]), **COLUMNS)


@pytest.mark.parametrize("series", [SERIES, pl.Series("label", ["a"])], ids=["pandas", "polars"])
def test_a_series_of_answers_is_refused_in_words(series: Any) -> None:
    with pytest.raises(QuorateError, match="one column, and a table is needed"):
        quorate.aggregate(series)


def test_a_polars_series_of_known_labels_is_refused_in_words() -> None:
    with pytest.raises(QuorateError, match="one column, and a table is needed"):
        quorate.aggregate(FRAME, gold=pl.Series("label", ["a"]), **COLUMNS)
