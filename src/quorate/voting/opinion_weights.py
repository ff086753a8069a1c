"""How much each opinion of a task counts: the less one factor explains who agrees with whom, the plainer the vote."""

import numpy as np

from quorate.arrays import FloatArray
from quorate.skills.notes import LOW_TRUST

NO_TRUST = 0.5  # at and below this, the plain vote has nearly all the say; above LOW_TRUST, nearly none.
# Seven other pairs, from (.3, .8) to (.7, .95), give mean errors of .177 to .179 over the 26 public crowds
LEAST_SAY = 0.05  # of every opinion: 0 to .1 are alike (.177 each), and known labels may speak for it later
INDEPENDENT = np.array([0.5, 0.5, 0.0])  # where workers are said to err independently, skills and matrices decide


def opinion_weights(trust: float) -> FloatArray:
    """Weigh the opinions by skill, by matrix and by plain majority.

    >>> opinion_weights(1.0).round(3).tolist(), opinion_weights(0.2).round(3).tolist()
    ([0.476, 0.476, 0.048], [0.045, 0.045, 0.909])
    """
    share = float(np.clip((trust - NO_TRUST) / (LOW_TRUST - NO_TRUST), 0.0, 1.0))
    wanted = np.array([share / 2, share / 2, 1 - share])
    said = np.maximum(wanted, LEAST_SAY)
    weights: FloatArray = said / said.sum()
    return weights
