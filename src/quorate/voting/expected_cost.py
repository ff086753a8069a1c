"""Labels of least expected cost, and labels of least expected distance for ordered classes."""

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray
from quorate.voting.ties import TIE_TOLERANCE
from quorate.voting.vote import EXPECTED_COST as EXPECTED_COST  # re-exported for callers of `least_expected_cost`
from quorate.voting.vote import Vote, changed_vote

SCORE_QUANTILES = (0.025, 0.975)  # of the posterior: a 95 % interval of the score


def least_expected_cost(task_vote: Vote, costs: FloatArray, column: str = "") -> Vote:
    """Return the vote with the labels of least expected cost; of several such classes, the most probable.

    Args:
        task_vote: the posterior, and the most probable labels.
        costs: cost of each label (rows) for each true class (columns).
        column: name of a column of the labels with the expected costs; without a name there is no column.

    >>> task_vote = Vote(np.zeros((1, 2)), np.array([[0.8, 0.2]]), np.array([0]), np.array([False]))
    >>> decided = least_expected_cost(task_vote, np.array([[0.0, 9.0], [1.0, 0.0]]), EXPECTED_COST)
    >>> decided.label.tolist(), decided.extra_columns["expected_cost"].round(6).tolist()
    ([1], [0.8])
    """
    expected = task_vote.posterior @ costs.T
    least = expected.min(axis=1, keepdims=True)
    is_least = expected <= least + TIE_TOLERANCE * np.maximum(np.abs(least), 1)
    rows = np.arange(len(expected))
    is_unchanged = is_least[rows, task_vote.label]
    most_probable = np.where(is_least, task_vote.posterior, -1.0).argmax(axis=1)
    is_unchanged |= task_vote.label < 0
    label = np.where(is_unchanged, task_vote.label, most_probable)
    tied = np.where(is_unchanged, task_vote.tied, is_least.sum(axis=1) > 1)
    # The expected cost is computed from the confidence, so it is stated only where the confidence is.
    cost = expected[rows, label]
    if task_vote.is_stated is not None:
        cost = np.where(task_vote.is_stated, cost, np.nan)
    extra_columns = {**task_vote.extra_columns, **({column: cost} if column else {})}
    return changed_vote(task_vote, label=label, tied=tied, extra_columns=extra_columns)


def in_the_middle(task_vote: Vote, classes: pa.Array) -> Vote:
    """Return the vote with the labels of least expected distance; numeric classes also get columns with a score.

    The score is the posterior mean; its interval contains the mean and 95 % of the posterior.

    >>> task_vote = Vote(np.zeros((1, 3)), np.array([[0.4, 0.25, 0.35]]), np.array([0]), np.array([False]))
    >>> decided = in_the_middle(task_vote, pa.array(["1", "2", "3"]))
    >>> decided.label.tolist(), {name: values.round(2).tolist() for name, values in decided.extra_columns.items()}
    ([1], {'score': [1.95], 'score_low': [1.0], 'score_high': [3.0]})
    """
    m = len(classes)
    decided = least_expected_cost(task_vote, distances(m)) if m > 2 else task_vote
    value = numbers_of(classes)
    if value is None:
        return decided
    up_to = np.cumsum(task_vote.posterior, axis=1)
    low, high = (value[np.minimum((up_to < share - TIE_TOLERANCE).sum(axis=1), m - 1)] for share in SCORE_QUANTILES)
    mean = task_vote.posterior @ value
    scores = {"score": mean, "score_low": np.minimum(low, mean), "score_high": np.maximum(high, mean)}
    scores["score"] = np.where(decided.label < 0, np.nan, mean)
    if decided.is_stated is not None:
        scores |= {name: np.where(decided.is_stated, scores[name], np.nan) for name in ("score_low", "score_high")}
    return changed_vote(decided, extra_columns={**decided.extra_columns, **scores})


def numbers_of(classes: pa.Array) -> FloatArray | None:
    """Return the classes as numbers; None if one is not a number, or they are not in ascending order.

    >>> numbers_of(pa.array(["1", "2.5"])).tolist(), numbers_of(pa.array(["low", "high"]))
    ([1.0, 2.5], None)
    """
    try:
        value = np.array([float(name) for name in classes.to_pylist()])
    except (TypeError, ValueError):
        return None
    return value if np.isfinite(value).all() and (np.diff(value) > 0).all() else None


def distances(n_classes: int) -> FloatArray:
    """Return the number of steps between every two ordered classes.

    >>> distances(3).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    steps = np.arange(n_classes, dtype=np.float64)
    distance: FloatArray = np.abs(steps[:, None] - steps[None, :])
    return distance
