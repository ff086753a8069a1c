"""Score intervals for the mean of bounded values that need no law: the law is the sample itself, tilted.

Wilson's interval for a share [Wilson27] holds every share p at which what was seen is within z standard errors, by the
variance p(1-p) that the share would have. For values that are no mere yes or no the law of mean u is the sample's own,
tilted: each value weighs exp(eta·value), and eta is what makes the mean u. The variance of that law takes the place of
p(1-p). A little weight at either end of the range stands for what was not seen; on yes and no it changes nothing, and
the interval is Wilson's.
"""

import numpy as np

from quorate.arrays import FloatArray

# Observations that stand at either end of the range. `quorate reproduce estimates` shows how little it matters.
UNSEEN = 0.05
STEEPEST = 60.0  # eta times the range: nearly all weight is then at one end
HALVINGS = 27  # of twice that, which leaves a millionth


def score_ends(
    values: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    *,
    weights: FloatArray | None = None,
    shrink: FloatArray | float = 1.0,
    z: float = 1.959963984540054,
    unseen: float = UNSEEN,
    least: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the interval for the mean of each row.

    Args:
        values: rows × observations.
        lowest: that a value of each row can be; shape (rows,).
        highest: the same.
        weights: of the observations; even by default.
        shrink: what the variance of the mean is times 1/n: (N-n)/(N-1) for a sample of a population of N.
        z: the quantile of the normal law.
        unseen: observations at either end of the range.
        least: variance of one observation that is allowed for, whatever the tilted law says.

    >>> yes = np.array([[1.0] * 26 + [0.0] * 4])
    >>> [round(float(end[0]), 3) for end in score_ends(yes, np.zeros(1), np.ones(1))]  # Wilson's
    [0.703, 0.947]
    """
    n = values.shape[1]
    weights = np.ones(n) if weights is None else weights * (n / weights.sum())
    scale = z * np.sqrt(shrink * (weights**2).sum()) / n
    points = np.concatenate([values, lowest[:, None], highest[:, None]], axis=1)
    base = np.concatenate([weights, [unseen, unseen]])
    middle = values @ weights / n
    span = np.maximum(highest - lowest, np.finfo(np.float64).tiny)
    left, right = (_end(points, base, middle, span, side, scale, least) for side in (-1.0, 1.0))
    return np.minimum(left, middle), np.maximum(right, middle)


def _end(
    points: FloatArray,
    base: FloatArray,
    middle: FloatArray,
    span: FloatArray,
    side: float,
    scale: FloatArray | float,
    least: FloatArray | float,
) -> FloatArray:
    """Tilt to one side until the mean is no longer within reach; by halving, every row at once."""
    near, far = (np.full(len(points), end) for end in (-STEEPEST, STEEPEST))
    mean = middle
    for _ in range(HALVINGS):
        steep = (near + far) / 2
        lifted = side * (steep / span)[:, None] * points
        law = base * np.exp(lifted - lifted.max(axis=1, keepdims=True))
        law /= law.sum(axis=1, keepdims=True)
        mean = (law * points).sum(axis=1)
        spread = np.sqrt(np.maximum((law * (points - mean[:, None]) ** 2).sum(axis=1), least))
        inside = side * (mean - middle) <= scale * spread
        near, far = np.where(inside, steep, near), np.where(inside, far, steep)
    return mean
