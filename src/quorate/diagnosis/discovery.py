"""Many tests at once: how often what is named is named wrongly (Benjamini and Hochberg 1995)."""

import numpy as np

from quorate.arrays import FloatArray

LEVEL = 0.05  # the share of what is named that may be named wrongly, on average


def adjusted(p: FloatArray) -> FloatArray:
    """Adjust p-values by Benjamini and Hochberg: naming all at most q keeps the false-discovery rate at q.

    NaN stands for what was not tested: it stays NaN, and does not count as a test.

    >>> adjusted(np.array([0.01, np.nan, 0.04, 0.03])).round(3).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    found = np.full(len(p), np.nan)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found
