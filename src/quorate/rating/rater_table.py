"""The table of raters of `rate`: bias, scale, noise, weight and status of each rater, in the units of the scores.

The values are estimated in `quorate.rating.hyperparameters.update`.
"""

from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.rating.fit import RatingFit
from quorate.rating.rating import (
    FEW_ANSWERS,
    IDENTIFIED,
    NOT_IDENTIFIED,
    REVERSED,
    STATUSES,
    UNINFORMATIVE,
    WEAKLY_IDENTIFIED,
    RaterLines,
)
from quorate.rating.scores import ScoreBlocks

MIN_ANSWERS = 4  # of a rater; with fewer its status is `few answers`


def rater_table(
    table: ScoreBlocks,
    fitted: RatingFit,
    log_scale_se: FloatArray | None,
    is_weak: np.ndarray,
    same_scale: bool,
    is_restricted: bool,
) -> RaterLines:
    """Return the line of each rater in the units of the scores, with standard errors and status.

    Args:
        table: the answers.
        fitted: raters and hyperparameters; standardised scores.
        log_scale_se: standard error of each log scale from pairs of raters; None if not computed.
        is_weak: raters whose scale is weakly identified.
        same_scale: whether all scales are kept at 1.
        is_restricted: whether a simpler design replaced the full one.
    """
    raters = fitted.raters
    n = fitted.design.n_answers
    assert raters.covariance is not None
    bias, scale = raters.line
    bias_se = np.sqrt(np.maximum(raters.covariance[0], 0.0))
    scale_se = np.sqrt(np.maximum(raters.covariance[2], 0.0))
    if log_scale_se is not None:
        inflated = np.abs(scale) * log_scale_se
        scale_se = np.where(is_weak, np.maximum(scale_se, inflated), scale_se)
    if not table.has_workers:
        numbers = ("bias", "bias_se", "scale", "scale_se", "noise", "weight")
        codes = ("n_answers", "n_peers", "component", "status")
        empty: dict[str, Any] = dict.fromkeys(numbers, np.zeros(0)) | dict.fromkeys(codes, np.zeros(0, np.int64))
        return RaterLines(**empty)
    component, bipartite = table.graph
    sizes = np.bincount(component, minlength=len(bipartite))
    is_free = fitted.design.scale_is_free
    status = np.full(len(n), STATUSES.index(IDENTIFIED))
    status[is_weak & is_free] = STATUSES.index(WEAKLY_IDENTIFIED)
    status[is_free & (scale < -2 * scale_se)] = STATUSES.index(REVERSED)
    status[is_free & (np.abs(scale) < scale_se)] = STATUSES.index(UNINFORMATIVE)
    status[n < MIN_ANSWERS] = STATUSES.index(FEW_ANSWERS)
    undetermined = bipartite[component] & (sizes[component] > 0) if not same_scale else sizes[component] == 1
    # Scales that are fixed only because the fit did not converge are not identified either.
    status[undetermined | (is_restricted & (n >= MIN_ANSWERS))] = STATUSES.index(NOT_IDENTIFIED)
    information = scale**2 / raters.noise
    weight = np.where(n > 0, information, 0.0)
    group = None
    group_names = None
    if table.has_groups:
        group = table.group
        group_names = table.group_names
        if group_names is not None:
            group = np.where(group < len(group_names), group, len(group_names))
    return RaterLines(
        bias=bias * table.unit,
        bias_se=np.where(sizes[component] == 1, np.nan, bias_se * table.unit),
        scale=scale,
        scale_se=np.where(is_free, scale_se, np.nan),
        noise=np.sqrt(raters.noise) * table.unit,
        weight=weight / max(weight.max(), 1e-300),
        n_answers=n.astype(np.int64),
        n_peers=table.blocks.n_peers(),
        component=component,
        status=status,
        group=group,
        group_names=group_names,
    )
