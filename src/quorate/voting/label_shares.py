"""How frequent each label is, where labels are yes/no questions of one crowd: a rare one needs more to be believed.

Skills are shared by all labels, and so is the prior of yes that they were voted with. Here each label gets its own: the
log-odds of its questions move by how much more or less frequent it is than labels are on average, until the share of
yes is what the moved odds say. One label alone is the average, and moves nothing.
"""

import numpy as np

from quorate.arrays import FloatArray, IntArray

WORTH = 10.0  # tasks that the average share is worth for one label; by benchmarks/several_labels.py 3 to 30 are alike
STEPS = 50  # at the most
SETTLED = 1e-6  # change of a share
LEAST = 1e-12  # of a probability whose odds are taken


def by_share(yes: FloatArray, label: IntArray) -> FloatArray:
    """Move the probability of yes by how frequent each label is.

    Args:
        yes: of each question.
        label: of each question.

    >>> by_share(np.array([0.5, 0.9, 0.1, 0.1]), np.array([0, 0, 0, 0])).round(9).tolist()
    [0.5, 0.9, 0.1, 0.1]
    >>> found = by_share(np.array([0.5] + [0.99] * 50 + [0.5] + [0.01] * 50), np.repeat([0, 1], 51))
    >>> bool(found[0] > 0.9), bool(found[51] < 0.1)
    (True, True)
    """
    p = np.clip(yes, LEAST, 1 - LEAST)
    odds = np.log(p / (1 - p))
    mean = float(np.clip(p.mean(), LEAST, 1 - LEAST))
    n = np.bincount(label).astype(np.float64)
    share = np.full(len(n), mean)
    for _ in range(STEPS):
        moved = 1 / (1 + np.exp(-(odds + _apart(share, mean)[label])))
        before, share = share, (np.bincount(label, moved, len(n)) + WORTH * mean) / (n + WORTH)
        if np.abs(share - before).max() < SETTLED:
            break
    moved = 1 / (1 + np.exp(-(odds + _apart(share, mean)[label])))
    return np.where((yes <= 0) | (yes >= 1), yes, moved)


def _apart(share: FloatArray, mean: float) -> FloatArray:
    share = np.clip(share, LEAST, 1 - LEAST)
    apart: FloatArray = np.log(share / (1 - share)) - np.log(mean / (1 - mean))
    return apart
