"""Whether known labels can be a random sample of the tasks: a permutation test on the posterior without them.

An aggregation without the known labels gives each task a posterior, and so a probability of each class and a rank by
confidence. Their means over the tasks with known labels are compared with those over all tasks. The null distribution
is that of the same means over random samples of as many tasks. So the level of the test is exact for any workers, even
if the posterior is wrong; the test has power if the posterior is related to the rule by which the tasks were chosen.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.errors import shown
from quorate.result import Result

# Probability that a random sample is rejected. Conventional; the coverage of the intervals falls by less than this,
# because the interval of the model replaces that of the rejected sample.
SIGNIFICANCE_LEVEL = 0.01
N_SAMPLES = 999  # random samples with which the known labels are compared: p-values are multiples of 0.001
# Number of known labels from which the means are taken as normal, and no samples are drawn.
MIN_NORMAL = 1000


@dataclass(frozen=True)
class Imbalance:
    """The quantity in which the known labels differ most from a random sample."""

    kind: str  # what differs, in words
    among_known: float  # its mean over the known tasks
    among_all: float
    p_value: float  # probability that a random sample differs as much in any quantity

    def sentence(self) -> str:
        """Return a sentence on the difference.

        >>> Imbalance("the probability of 'cat'", 0.93, 0.48, 0.001).sentence()
        "by the answers alone, the probability of 'cat' is 0.93 on average for the tasks with known labels and 0.48 ..."
        """
        return (
            f"by the answers alone, {self.kind} is {self.among_known:.2f} on average for the tasks with known labels "
            f"and {self.among_all:.2f} for all tasks"
        )


def find_imbalance(rows: IntArray, result: Result) -> Imbalance | None:
    """Return the quantity in which the known tasks differ most from a random sample; None if it is not significant.

    Args:
        rows: the tasks with a known label.
        result: of an aggregation without these labels.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 12, 5, seed=0)
    >>> result = quorate.aggregate(crowd.answers)
    >>> find_imbalance(np.arange(50), result) is None
    True
    >>> find_imbalance(np.flatnonzero(crowd.truth == 1)[:50], result).kind
    "the probability of 'c1'"
    """
    posterior = result.vote.posterior
    n_tasks, n_classes = posterior.shape
    n = len(rows)
    if n == 0 or n == n_tasks:
        return None
    confidence = posterior.max(axis=1)
    features = np.column_stack([posterior[:, 1:] if n_classes == 2 else posterior, _midranks(confidence)])
    centred = features - features.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0) / n * (n_tasks - n) / max(n_tasks - 1, 1))
    varies = scale > 0
    if not varies.any():
        return None
    standardized = centred[:, varies] / scale[varies]
    difference = standardized[rows].mean(axis=0)
    largest = int(np.abs(difference).argmax())
    p_value = _p_value(standardized, n, float(np.abs(difference[largest])))
    if p_value > SIGNIFICANCE_LEVEL:
        return None
    column = int(np.flatnonzero(varies)[largest])
    if column == features.shape[1] - 1:
        return Imbalance("the confidence", float(confidence[rows].mean()), float(confidence.mean()), p_value)
    name = result.answers.classes[column + 1 if n_classes == 2 else column].as_py()
    return Imbalance(
        f"the probability of {shown(name)}",
        float(features[rows, column].mean()),
        float(features[:, column].mean()),
        p_value,
    )


def _p_value(standardized: FloatArray, n: int, observed: float) -> float:
    """Return the probability that the largest mean over n random tasks is as large as the observed one.

    It is simulated, or for many known labels by the normal distribution with Bonferroni's bound.
    """
    if n >= MIN_NORMAL:
        from scipy.special import ndtr

        return float(min(2 * ndtr(-observed) * standardized.shape[1], 1.0))
    # Sorted by value, so that the result does not depend on the order of the tasks.
    ordered = standardized[np.lexsort(standardized.T)]
    rng = np.random.default_rng(0)
    larger = 0
    for _ in range(N_SAMPLES):
        sampled = rng.choice(len(ordered), n, replace=False, shuffle=False)
        larger += bool(np.abs(ordered[sampled].mean(axis=0)).max() >= observed * (1 - 1e-12))
    return (1 + larger) / (1 + N_SAMPLES)


def _midranks(values: FloatArray) -> FloatArray:
    """Return the ranks of values, from 1; equal values have their mean rank.

    >>> _midranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: FloatArray = (last - (counts - 1) / 2)[inverse]
    return ranks
