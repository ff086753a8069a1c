"""How much each opinion of a task counts: the less one factor explains who agrees with whom, the plainer the vote."""

import numpy as np

from quorate.arrays import FloatArray

# At and below the first, the plain vote has nearly all the say; from the second on, none; the warning (LOW_TRUST) lies
# between. Nine other pairs, from (.5, .8) to (.8, .95), give mean errors of .177 to .181 over the 26 public crowds, and
# those that end at .8 let a second crowd lose more than two points to majority vote
NO_TRUST, FULL_TRUST = 0.75, 0.82
LEAST_SAY = 0.05  # of skills and matrices, and of every opinion before known labels speak: 0 to .1 are alike
INDEPENDENT = np.array([0.5, 0.5, 0.0])  # where workers are said to err independently, skills and matrices decide


def opinion_weights(trust: float) -> FloatArray:
    """Weigh the opinions by skill, by matrix and by plain majority.

    >>> opinion_weights(1.0).round(3).tolist(), opinion_weights(0.2).round(3).tolist()
    ([0.5, 0.5, 0.0], [0.045, 0.045, 0.909])
    """
    share = float(np.clip((trust - NO_TRUST) / (FULL_TRUST - NO_TRUST), 0.0, 1.0))
    wanted = np.array([share / 2, share / 2, 1 - share])
    said = np.maximum(wanted, np.array([LEAST_SAY, LEAST_SAY, 0.0]))
    weights: FloatArray = said / said.sum()
    return weights


def open_minded(weights: FloatArray) -> FloatArray:
    """Give every opinion a say, so that known labels may speak for it.

    >>> open_minded(np.array([0.5, 0.5, 0.0])).round(3).tolist()
    [0.476, 0.476, 0.048]
    """
    said = np.maximum(weights, LEAST_SAY)
    heard: FloatArray = said / said.sum()
    return heard
