"""How likely each symbol of a worker is given the class, learnt where that is more than chance."""

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.voting.posterior import FLOOR
from quorate.voting.shrinkage import LEAST_WORTH

CHANCE = 0.01  # that one of the factors is heard at all where nothing is said, over the crowd and over its workers


def chances(counts: FloatArray, among: IntArray) -> FloatArray | None:
    """Return how likely each symbol of a worker is among its kind, given the class; None where no class matters.

    Args:
        counts: expected rows, workers × symbols × classes.
        among: the kind of each symbol, which the other symbols of that kind are the alternatives to; one that nobody
            said is none.

    Returns logarithms, less what is the same for every class.

    >>> often, seldom = [[60.0, 5.0], [0.0, 55.0]], [[3.0, 3.0], [3.0, 3.0]]
    >>> chances(np.array([often]), np.zeros(2, int))[0, 1].round(1).tolist()
    [-5.1, 0.0]
    >>> chances(np.array([seldom]), np.zeros(2, int)) is None
    True
    """
    logs, heard = np.zeros_like(counts), False
    used = counts.sum(axis=(0, 2)) > 0
    for kind in np.unique(among):
        here = np.flatnonzero((among == kind) & used)
        if len(here) < 2:
            continue
        found = _of_kind(counts[:, here])
        if found is not None:
            heard = True
            logs[:, here] = found
    return logs - logs.max(axis=2, keepdims=True) if heard else None


def _of_kind(counts: FloatArray) -> FloatArray | None:
    """Do it for symbols that are alternatives to each other."""
    n_symbols = counts.shape[1]
    worth = LEAST_WORTH * n_symbols / 2  # rows, as `quorate.voting.refine.pooled_matrix` has it of two classes
    given, by_class = counts.sum(axis=2), counts.sum(axis=1)
    total = np.maximum(given.sum(axis=1), FLOOR)
    habit = (given + worth * _shares(given.sum(axis=0))) / (total + worth)[:, None]
    alike = np.einsum("ws,wk->wsk", given / total[:, None], by_class)  # as often as if the class did not matter
    crowd, crowd_alike = counts.sum(axis=0), alike.sum(axis=0)
    ratio = np.ones_like(crowd)
    matters = _matters(crowd[None], crowd_alike[None], CHANCE)[0]
    if matters:
        ratio = (crowd + worth) / (crowd_alike + worth)
    prior = habit[:, :, None] * ratio
    prior /= prior.sum(axis=1, keepdims=True)
    expected = prior * by_class[:, None, :]
    speaks = _matters(counts, expected, CHANCE / len(counts))
    if not matters and not speaks.any():
        return None
    own = (counts + worth * prior) / (by_class[:, None, :] + worth)
    logs: FloatArray = np.log(np.maximum(np.where(speaks[:, None, None], own, prior), FLOOR))
    return logs


def _shares(counts: FloatArray) -> FloatArray:
    shares: FloatArray = (counts + 1) / (counts + 1).sum()
    return shares


def _matters(counts: FloatArray, expected: FloatArray, chance: float) -> BoolArray:
    """Test by likelihood ratio whether tables depart from what is expected of them; one answer a table."""
    from scipy.special import chdtrc

    terms = counts * np.log(np.maximum(counts, FLOOR) / np.maximum(expected, FLOOR))
    statistic = 2 * (terms - counts + expected).sum(axis=(1, 2))
    symbols, classes = (counts.sum(axis=axis) > 0 for axis in (2, 1))
    freedom = np.maximum(symbols.sum(axis=1) - 1, 0) * np.maximum(classes.sum(axis=1) - 1, 0)
    significant: BoolArray = (freedom > 0) & (chdtrc(np.maximum(freedom, 1), np.maximum(statistic, 0.0)) < chance)
    return significant
