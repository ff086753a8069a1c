"""crowd-kit's initial_error: where Dawid and Skene's EM starts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from quorate.errors import InputError
from quorate.estimators import DawidSkene

# Two workers against one; by the vote the two are right.
ROWS = {"task": [f"t{t}" for t in range(6) for _ in "abc"], "worker": list("abc") * 6}
DATA = pd.DataFrame({**ROWS, "label": [each for t in range(6) for each in ("xxy" if t % 2 else "yyx")]})


def frame(**right: float) -> Any:
    """The matrices of workers who are right with some probability on both classes."""
    rows = pd.MultiIndex.from_product([right, ["x", "y"]], names=["worker", "label"])
    values = [row for p in right.values() for row in ([p, 1 - p], [1 - p, p])]
    return pd.DataFrame(values, index=rows, columns=["x", "y"])


def test_initial_errors_decide_a_vote() -> None:
    initial_error = frame(a=0.1, b=0.1, c=0.9)
    assert DawidSkene().fit_predict(DATA)["t1"] == "x"
    assert DawidSkene(initial_error_strategy="assign").fit_predict(DATA, initial_error=initial_error)["t1"] == "y"
    assert DawidSkene(initial_error_strategy="addition").fit_predict(DATA, None, 100 * initial_error)["t1"] == "y"


def test_counts_and_their_shares_are_assigned_alike() -> None:
    initial_error = frame(a=0.6, b=0.7, c=0.8)
    one, two = (
        DawidSkene(n_iter=1, initial_error_strategy="assign").fit(DATA, initial_error=each).probas_
        for each in (initial_error, 50 * initial_error)
    )
    assert np.allclose(one, two)


def test_the_first_step_is_bayes_rule_with_the_matrices_given() -> None:
    """By hand: a and b say x, c says y; the prior is the mean of the votes, one half each."""
    made = DawidSkene(n_iter=1, initial_error_strategy="assign")
    p = made.fit(DATA, initial_error=frame(a=0.6, b=0.7, c=0.8)).probas_.loc["t1", "x"]
    assert p == pytest.approx(0.6 * 0.7 * 0.2 / (0.6 * 0.7 * 0.2 + 0.4 * 0.3 * 0.8))


def test_an_addition_worth_nothing_changes_nothing() -> None:
    nothing = 0 * frame(a=0.5, b=0.5, unknown=0.5)
    plain = DawidSkene().fit(DATA)
    added = DawidSkene(initial_error_strategy="addition").fit(DATA, initial_error=nothing)
    assert np.allclose(plain.probas_, added.probas_)


def test_its_own_errors_are_where_it_stays(data: Any) -> None:
    fitted = DawidSkene(n_iter=500, tol=1e-12).fit(data)
    again = DawidSkene(n_iter=1, initial_error_strategy="assign").fit(data, initial_error=fitted.errors_)
    assert again.labels_.equals(fitted.labels_)


@pytest.mark.parametrize(
    ("initial_error", "message"),
    [
        (frame(a=0.5, b=0.5), "no row for some answers of 1 workers: 'c'"),
        (frame(a=0.5, b=0.5, c=0.5)[["x"]], "no column for 'y'"),
        (frame(a=0.5, b=0.5, c=0.5).rename_axis(["who", "what"]), "must be worker and label, not 'who', 'what'"),
        (frame(a=0.5, b=0.5, c=0.5) - 1, "negative"),
        (0.5 * frame(a=0.5, b=0.5, c=0.5), "must sum to one"),
        ("matrix", "must be worker and label, not none"),
    ],
)
def test_what_cannot_be_used_is_refused(initial_error: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DawidSkene(initial_error_strategy="assign").fit(DATA, initial_error=initial_error)


@pytest.mark.parametrize("name", ["DawidSkene", "OneCoinDawidSkene", "GLAD"])
def test_losses_are_kept_and_rise(name: str, data: Any) -> None:
    from quorate import estimators

    history = getattr(estimators, name)().fit(data).loss_history_
    assert len(history) > 1
    assert np.diff(history).min() >= -1e-9
