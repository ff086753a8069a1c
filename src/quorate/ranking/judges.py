"""Each judge's skill, preference for a side and tie rate: Newton steps, all judges at once, and the direction.

The likelihood does not change under (theta, a) -> (-theta, -a). Only the assumption that most judges are better than
chance decides the direction. So each judge has one vote, weighted by its evidence: with a vote per row, one busy judge
who answers the opposite could decide.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from quorate.arrays import FloatArray
from quorate.ranking.bradley_terry import Derivatives, RankingParameters, cell_derivatives
from quorate.ranking.comparisons import ComparisonCells, Comparisons

MAX_JUDGE_STEP = 1.0  # change of a judge's parameter in one Newton step
MAX_RAW_SKILL = 5.0  # unshrunk skills are clipped to this; a judge who was never wrong has an infinite one
# The standard deviation of skills is at least 1/4. The value is that of the reference implementation, which
# measured a coverage of skills of 0.92 with it and 0.70 without; no script of this repository repeats the comparison.
MIN_SKILL_VARIANCE = 1 / 16
TANH_VARIANCE = 0.394  # of tanh(z), z standard normal (numerical integration)
MIN_DIRECTION_VOTES = 0.5  # half of what one judge can contribute


class JudgeStep(NamedTuple):
    """New parameters of the judges, with their covariance and information."""

    skill: FloatArray
    side_bias: FloatArray
    log_tie: FloatArray
    covariance: FloatArray  # conditional on the items [judges, 3, 3]
    skill_information: FloatArray  # of the answers alone [judges]


@dataclass(frozen=True)
class EstimatedParameters:
    """Which parameters of judges are estimated."""

    skill: bool
    side: bool
    tie: bool


def judge_step(
    cells: ComparisonCells,
    parameters: RankingParameters,
    estimated: EstimatedParameters,
    design_effect: float,
) -> JudgeStep:
    """Return every judge's skill, side bias and tie propensity after one Newton step.

    Args:
        cells: the comparisons.
        parameters: current parameters.
        estimated: which parameters change.
        design_effect: by which the evidence of the answers is divided; see `estimate_design_effect`.
    """
    n = cells.n_judges
    variances = parameters.variances
    information = np.zeros((n, 3, 3))
    gradient = np.zeros((n, 3))
    for piece, judges in cells.pieces():
        derivatives = cell_derivatives(piece, parameters.of_judges(judges))
        gap = derivatives.gap
        weighted = derivatives.information * gap
        information[judges, 0, 0] += piece.by_judge(weighted * gap)
        information[judges, 0, 1] += piece.by_judge(weighted)
        information[judges, 1, 1] += piece.by_judge(derivatives.information)
        gradient[judges, 0] += piece.by_judge(derivatives.score * gap)
        gradient[judges, 1] += piece.by_judge(derivatives.score)
        if estimated.tie:
            information[judges, 2, 2] += piece.by_judge(derivatives.tie_information)
            information[judges, 0, 2] += piece.by_judge(derivatives.tie_cross * gap)
            information[judges, 1, 2] += piece.by_judge(derivatives.tie_cross)
            gradient[judges, 2] += piece.by_judge(derivatives.tie_score)
    information[:, 1, 0] = information[:, 0, 1]
    information[:, 2, 0] = information[:, 0, 2]
    information[:, 2, 1] = information[:, 1, 2]
    information /= design_effect
    gradient /= design_effect
    skill_information = np.maximum(information[:, 0, 0], 1e-9)

    gradient[:, 0] -= (parameters.skill - parameters.mean_skill) / variances.skill
    gradient[:, 1] -= parameters.side_bias / variances.side
    information[:, 0, 0] += 1 / variances.skill
    information[:, 1, 1] += 1 / variances.side
    information[:, 2, 2] += 1 / variances.tie
    if estimated.tie:
        gradient[:, 2] -= (parameters.log_tie - parameters.mean_log_tie) / variances.tie
    for index, is_estimated in enumerate((estimated.skill, estimated.side, estimated.tie)):
        if not is_estimated:
            information[:, index, :] = 0
            information[:, :, index] = 0
            information[:, index, index] = 1
            gradient[:, index] = 0
    covariance: FloatArray = np.linalg.inv(information).astype(np.float64)
    step = np.einsum("kab,kb->ka", covariance, gradient)
    step = np.clip(step, -MAX_JUDGE_STEP, MAX_JUDGE_STEP)
    log_tie = parameters.log_tie + step[:, 2] if estimated.tie else parameters.log_tie
    return JudgeStep(
        parameters.skill + step[:, 0], parameters.side_bias + step[:, 1], log_tie, covariance, skill_information
    )


def estimate_design_effect(comparisons: Comparisons, derivatives: Derivatives) -> float:
    """Return the design effect of the correlation between the answers of one judge on one task, at least 1.

    It is the sum over judges and tasks of the squared score of the skill, divided by the information: 1 for independent
    answers, 2.2 to 2.5 if a judge ranks five items, which gives ten pairs (WMT 2013).
    """
    if comparisons.task is None or not comparisons.repeats_judge_on_task:
        return 1.0
    key = comparisons.task.astype(np.int64) * comparisons.n_judges + comparisons.judge
    cell = np.cumsum(np.r_[0, np.diff(key) != 0])
    score = np.bincount(cell, derivatives.score * derivatives.gap)
    information = float((derivatives.information * derivatives.gap**2).sum())
    return max(1.0, float(score @ score) / max(information, 1e-9))


def skill_moments(
    skill: FloatArray, information: FloatArray, prior_mean: float, prior_variance: float
) -> tuple[float, float]:
    """Return the mean and variance of the skills, by moments of the unshrunk skills.

    E[(raw_k - mean)^2] = v + 1/I_k, each judge weighted by the inverse square of that (Paule and Mandel). EM on joint
    modes overstates v if judges have few answers, because the modes of strengths and skills are dependent: 0.36 for a
    true 0.23 on the set "10 rows per judge" (the code of this EM update is not kept).

    Args:
        skill: shrunk estimates [judges].
        information: information of each judge's answers on its skill [judges].
        prior_mean: prior mean to which the skills were shrunk.
        prior_variance: variance of that prior.
    """
    raw = unshrunk_skill(skill, information, prior_mean, prior_variance)
    total_variance = prior_variance + 1 / information
    precision = 1 / total_variance
    mean = float(precision @ raw) / float(precision.sum())
    weight = precision**2
    excess = float(weight @ ((raw - mean) ** 2 - 1 / information))
    return mean, excess / float(weight.sum())


def unshrunk_skill(skill: FloatArray, information: FloatArray, prior_mean: float, prior_variance: float) -> FloatArray:
    """Return each skill without the prior: the estimate from the judge's answers alone."""
    raw = skill + (skill - prior_mean) / (prior_variance * information)
    return np.clip(raw, -MAX_RAW_SKILL, MAX_RAW_SKILL)


@dataclass(frozen=True)
class Direction:
    """The votes of the judges on which end of the scale is the better one.

    Attributes:
        votes: between -1 and 1 [judges]: tanh of the unshrunk skill over its standard error.
    """

    votes: FloatArray

    @property
    def total(self) -> float:
        """Sum of the votes; negative: most judges support the opposite of the fitted direction."""
        return float(self.votes.sum())

    @property
    def standard_error(self) -> float:
        """Standard error of the total: tanh(z), z normal, has variance 0.39 at 0 and (1 - vote^2)^2 far from it."""
        return float(np.sqrt(np.minimum(TANH_VARIANCE, (1 - self.votes**2) ** 2).sum()))

    @property
    def is_decided(self) -> bool:
        """Whether the absolute total is larger than half a vote and than its standard error.

        Two judges with opposite evidence sum to zero; with half a vote or less, one judge would decide the sign.
        """
        return abs(self.total) > max(MIN_DIRECTION_VOTES, self.standard_error)


def vote_on_direction(
    skill: FloatArray, information: FloatArray, prior_mean: float, prior_variance: float
) -> Direction:
    """Return each judge's vote by the evidence of its own answers, without the prior of the skills."""
    raw = unshrunk_skill(skill, information, prior_mean, prior_variance)
    return Direction(np.tanh(raw * np.sqrt(information)))


def skill_scale(skill: FloatArray, variance: FloatArray, weight: FloatArray) -> float:
    """Return the skill of the typical comparison, weighted by skill: sum of n E[a^2] over sum of n E|a|.

    Strengths are log-odds for a judge of this skill. A judge who answers at random has a = 0 and adds to neither sum,
    so no strength changes; with the plain mean skill as scale, all strengths would shrink. The expectations are over
    the posterior of each skill: without its variance, skills that are shrunk because of few answers would shrink the
    scale.

    Args:
        skill: posterior mean of each judge's skill.
        variance: posterior variance of each skill.
        weight: number of comparisons of each judge.

    >>> round(skill_scale(np.array([1.0, 1.0, 0.0]), np.zeros(3), np.array([5.0, 5.0, 90.0])), 3)
    1.0
    """
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    ratio = skill / deviation
    mean_size = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + skill * (2 * ndtr(ratio) - 1)
    total = float(weight @ mean_size)
    return float(weight @ (skill**2 + variance)) / total if total > 0 else 1.0
