"""Share of right labels among the tasks: its interval, and how many randomly checked labels are worth as much.

`CalibrationLaw.share_right` computes the first estimate, from the law alone. If there are gold labels, the estimate is
`share_right_given_gold`. How often each worker is right is in `right_answers.py`.
"""

from dataclasses import dataclass
from typing import overload

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.statistics import Z_90, incomplete_beta

SHARE_LEVEL = 0.9  # of the interval
LARGEST_BELOW_ONE = 1 - 2**-53
N_STRATA = 5  # of confidence; conventional: five strata remove 90 % of a difference in means (Cochran 1968)


@dataclass(frozen=True)
class ShareEstimate:
    """Expected share of right labels, or of wrong ones, with an interval of level SHARE_LEVEL."""

    mean: float
    low: float
    high: float


def equivalent_checked_labels(share: ShareEstimate) -> float:
    """Return the number of randomly checked labels that would give an interval as wide as this one.

    >>> round(equivalent_checked_labels(ShareEstimate(0.8, 0.68, 0.90)))
    35
    """
    sd = max((share.high - share.low) / (2 * Z_90), 1e-6)
    return max(share.mean * (1 - share.mean) / sd**2 - 1, 0.0)


def equivalent_checked_labels_of_gold(other_confidence: FloatArray, gold_confidence: FloatArray) -> float:
    """Return the number of randomly checked labels with the same information on the share of right labels as gold.

    The share is that of the tasks without gold. Its variance is estimated in strata of confidence, weighted by their
    shares of these tasks: if gold labels are chosen among the least certain tasks, few of them are in the strata of
    most other tasks. A stratum without gold labels has the variance of a single label, the largest possible.

    Args:
        other_confidence: confidence of the tasks without gold.
        gold_confidence: confidence of the gold tasks, without their own gold label.

    >>> confidence = np.linspace(0.5, 1.0, 101)
    >>> round(equivalent_checked_labels_of_gold(confidence, confidence[::4]))  # 26 gold labels of all strata
    29
    >>> round(equivalent_checked_labels_of_gold(confidence, np.full(26, 0.5)))  # 26 gold labels of one stratum
    8
    """
    edges = np.unique(np.quantile(other_confidence, np.arange(1, N_STRATA) / N_STRATA))
    n_strata = len(edges) + 1
    stratum_of_other = np.searchsorted(edges, other_confidence, side="right")
    stratum_of_gold = np.searchsorted(edges, gold_confidence, side="right")
    n_others = np.bincount(stratum_of_other, minlength=n_strata)
    n_gold = np.bincount(stratum_of_gold, minlength=n_strata)
    mean = np.bincount(stratum_of_other, weights=other_confidence, minlength=n_strata) / np.maximum(n_others, 1)
    weight = n_others / len(other_confidence)
    variance = float((weight**2 * mean * (1 - mean) / np.maximum(n_gold, 1)).sum())
    share = float(other_confidence.mean())
    return share * (1 - share) / variance if variance > 0 else float(len(gold_confidence))


def share_with_interval(share: float, n_checked: float, n_tasks: int) -> ShareEstimate:
    """Return the share of right labels among n tasks with its interval, whose ends are whole numbers of labels.

    The probability of a right label has a beta distribution with the information of ``n_checked`` labels, and the
    number of right labels is binomial given it. A beta distribution of the same variance replaces this beta-binomial
    one.

    Args:
        share: expected share of right labels.
        n_checked: number of randomly checked labels with the same information.
        n_tasks: number of tasks.

    >>> right = share_with_interval(0.9, 30, 100)
    >>> round(right.low, 2), right.mean, round(right.high, 2)
    (0.78, 0.9, 0.98)
    """
    from scipy.special import betaincinv

    if n_tasks == 0:
        return ShareEstimate(1.0, 1.0, 1.0)
    right, wrong = _beta_parameters(share, n_checked, n_tasks)
    low, high = betaincinv(right, wrong, [(1 - SHARE_LEVEL) / 2, (1 + SHARE_LEVEL) / 2])
    return ShareEstimate(
        share,
        min(float(np.floor(low * n_tasks)) / n_tasks, share),
        max(float(np.ceil(high * n_tasks)) / n_tasks, share),
    )


@overload
def _beta_parameters(share: float, n_checked: float, n_tasks: int) -> tuple[float, float]: ...


@overload
def _beta_parameters(share: float, n_checked: FloatArray, n_tasks: IntArray) -> tuple[FloatArray, FloatArray]: ...


def _beta_parameters(
    share: float, n_checked: float | FloatArray, n_tasks: int | IntArray
) -> tuple[float | FloatArray, float | FloatArray]:
    """Return the parameters of the beta distribution of the share of right labels (see `share_with_interval`)."""
    centre = np.minimum(np.maximum(share, 0.5 / (n_tasks + 1)), 1 - 0.5 / (n_tasks + 1))
    variance = (n_tasks + n_checked) / (n_tasks * (n_checked + 1))  # over p (1 - p)
    size = np.maximum(1 / variance - 1, 1e-3)
    return centre * size, (1 - centre) * size


def is_interval_on_side(
    share: float, n_checked: FloatArray, n_tasks: IntArray, limit: FloatArray, *, above: bool
) -> BoolArray:
    """Return whether the interval of `share_with_interval` is above (or at) a limit, or is below it.

    The lower end is at k labels or more if the probability of fewer is at most half of 1 - SHARE_LEVEL. So no quantile
    is needed: the import of scipy.special for its quantile function takes 0.1 CPU seconds.

    Args:
        share: expected share of right labels.
        n_checked: numbers of randomly checked labels with the same information.
        n_tasks: numbers of tasks, at least one.
        limit: shares of right labels.
        above: whether the lower end is compared with the limits; otherwise the upper end.

    >>> limits = np.array([0.77, 0.79])
    >>> is_interval_on_side(0.9, np.full(2, 30.0), np.full(2, 100), limits, above=True).tolist()  # 0.78 to 0.98
    [True, False]
    """
    n_labels = np.ceil(limit * n_tasks - 1e-9)  # the product may be a whole number plus a rounding error
    if not above:
        n_labels -= 1
    right, wrong = _beta_parameters(share, n_checked, n_tasks)
    at = np.minimum(n_labels / n_tasks, LARGEST_BELOW_ONE)  # a lower end above this is rounded to all labels
    probability = np.zeros(len(at))
    inside = at > 0
    probability[inside] = incomplete_beta(right[inside], wrong[inside], at[inside])
    if above:
        is_above: BoolArray = (limit <= share) & (probability <= (1 - SHARE_LEVEL) / 2)
        return is_above
    is_below: BoolArray = (limit > share) & ((probability >= (1 + SHARE_LEVEL) / 2) | (n_labels >= n_tasks))
    return is_below


def share_right_given_gold(
    without_gold: ShareEstimate, other_confidence: FloatArray, gold_confidence: FloatArray, n_others: int
) -> ShareEstimate:
    """Return the share of right labels among the tasks without gold: their mean confidence, which gold has corrected.

    The interval has the information of the gold labels or, if that is more, of the share that was estimated without
    gold. The two are not added, because both are already part of the confidence.

    Args:
        without_gold: the share that was estimated without gold.
        other_confidence: confidence of a sample of the tasks without gold.
        gold_confidence: confidence of the gold tasks, without their own gold label.
        n_others: number of tasks without gold.

    >>> right = share_right_given_gold(ShareEstimate(0.7, 0.4, 0.9), np.full(970, 0.9), np.full(30, 0.9), 970)
    >>> bool(0.75 < right.low < right.mean < right.high < 0.99)
    True
    """
    if len(other_confidence) == 0:
        return ShareEstimate(1.0, 1.0, 1.0)
    n_checked = max(
        equivalent_checked_labels(without_gold), equivalent_checked_labels_of_gold(other_confidence, gold_confidence)
    )
    return share_with_interval(float(other_confidence.mean()), n_checked, n_others)
