"""Bradley–Terry–Davidson: probabilities of the three outcomes, and Fisher scoring of items and common effects.

Judge k saw item i on the left and j on the right:

    eta = a_k (theta_i - theta_j) + b_k + x'gamma,    P(left), P(right) ~ exp(± eta/2),    P(tie) ~ exp(t_k).

Davidson (1970); without ties this is Bradley–Terry. Every step is a sum over cells; a cell is the comparisons with the
same judge, left item, right item, outcome and covariates x. This module has the probabilities, their derivatives and
one step; the loop that repeats the steps until convergence is `quorate.ranking.fit.fit_ranking`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

from quorate.arrays import FloatArray, IntArray
from quorate.ranking.comparisons import MIN_WEIGHT, TIE, ComparisonCells, Comparisons, sum_by

MAX_DENSE_ITEMS = 250  # the Laplacian is inverted up to this size; above it conjugate gradients are faster
MAX_LOG_ODDS = 60.0  # above it a probability is 0 or 1 in double precision
MIN_INFORMATION = 1e-9  # lower bound per comparison, so that no system is singular
MIN_PROBABILITY = 1e-9  # lower bound of the probability of an outcome, so that the log-loss is finite
# Precision of the prior of common effects: a standard deviation of 5 log-odds per standard deviation of a covariate. It
# keeps an effect finite that no row contradicts (left wins always), and is worth less than one comparison (1/4).
EFFECT_PRECISION = 0.04
MAX_STRENGTH_STEP = 3.0  # log-odds, change of a strength in one Fisher step
MAX_EFFECT_STEP = 2.0  # log-odds, change of an effect in one Fisher step


class Derivatives(NamedTuple):
    """Derivatives of the log-likelihood of each cell or row, times its weight, at given parameters.

    The first field is the gap in strength, which is the derivative of eta by the judge's skill.
    """

    gap: FloatArray  # theta_left - theta_right
    score: FloatArray  # by eta
    information: FloatArray  # expected, of eta
    tie_score: FloatArray  # by t
    tie_information: FloatArray
    tie_cross: FloatArray  # expected information between eta and t


@dataclass(frozen=True)
class Variances:
    """Variances of the normal priors of strengths, skills, side biases and tie propensities."""

    strength: float = 1.0
    skill: float = 0.25
    side: float = 0.1
    tie: float = 0.25


@dataclass(frozen=True)
class RankingParameters:
    """The parameters that predict an answer.

    Attributes:
        strength: theta [items], mean zero in each part.
        skill: a [judges], on the scale of `skill_scale`.
        side_bias: b [judges], deviation from the common one.
        log_tie: t [judges]; -inf without ties.
        effects: gamma [effects].
        variances: of the priors.
        mean_skill: centre of the prior of a.
        mean_log_tie: centre of the prior of t.
    """

    strength: FloatArray
    skill: FloatArray
    side_bias: FloatArray
    log_tie: FloatArray
    effects: FloatArray
    variances: Variances
    mean_skill: float
    mean_log_tie: float

    def of_judges(self, judges: slice) -> "RankingParameters":
        """Return the parameters of these judges, and those of all items."""
        return replace(self, skill=self.skill[judges], side_bias=self.side_bias[judges], log_tie=self.log_tie[judges])


def log_odds(
    gap: FloatArray, skill: FloatArray, side_bias: FloatArray, covariates: FloatArray, effects: FloatArray
) -> FloatArray:
    """Return eta of each row, from its gap in strength, the skill and side bias of its judge, and its covariates."""
    eta = skill * gap
    eta += side_bias
    if len(effects):
        eta += covariates @ effects
    np.clip(eta, -MAX_LOG_ODDS, MAX_LOG_ODDS, out=eta)
    return eta


def outcome_moments(eta: FloatArray, log_tie: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the mean outcome, P(left) - P(right), and P(tie); stable for any eta.

    >>> mean, tie = outcome_moments(np.array([0.0]), np.array([0.0]))
    >>> float(mean[0]), round(float(tie[0]), 4)
    (0.0, 0.3333)
    """
    if log_tie is None:
        return np.tanh(eta / 2), np.zeros(len(eta))
    size = np.abs(eta)
    small = np.exp(-size)
    tie = np.exp(log_tie - size / 2)
    total = 1 + small + tie
    return np.sign(eta) * (1 - small) / total, tie / total


def log_likelihood_derivatives(
    gap: FloatArray, eta: FloatArray, log_tie: FloatArray | None, outcome: IntArray, weight: FloatArray
) -> Derivatives:
    """Return score and expected information of rows; without ties ``log_tie`` is None."""
    mean, tie = outcome_moments(eta, log_tie)
    information = np.maximum((1 - tie - mean**2) / 4, MIN_INFORMATION) * weight
    score = weight * (outcome - mean) / 2
    if log_tie is None:
        zeros = np.zeros(0)
        return Derivatives(gap, score, information, zeros, zeros, zeros)
    return Derivatives(
        gap,
        score,
        information,
        weight * ((outcome == TIE) - tie),
        weight * tie * (1 - tie),
        -weight * mean * tie / 2,
    )


def cell_log_odds(cells: ComparisonCells, parameters: RankingParameters) -> tuple[FloatArray, FloatArray]:
    """Return the gap in strength and eta of every cell."""
    gap = cells.gap_of(parameters.strength)
    skill = cells.of_judge(parameters.skill)
    side_bias = cells.of_judge(parameters.side_bias)
    return gap, log_odds(gap, skill, side_bias, cells.covariates, parameters.effects)


def cell_derivatives(cells: ComparisonCells, parameters: RankingParameters) -> Derivatives:
    """Return score and information of every cell."""
    gap, eta = cell_log_odds(cells, parameters)
    log_tie = cells.of_judge(parameters.log_tie) if cells.has_ties else None
    return log_likelihood_derivatives(gap, eta, log_tie, cells.outcome, cells.weight)


def row_covariates(comparisons: Comparisons, cells: ComparisonCells) -> FloatArray:
    """Return the covariates of every row, after a column of ones if the cells have one for the left side."""
    covariates = comparisons.covariates
    if cells.covariates.shape[1] > covariates.shape[1]:
        covariates = np.column_stack([np.ones(comparisons.n_rows), covariates])
    return covariates


def row_derivatives(comparisons: Comparisons, cells: ComparisonCells, parameters: RankingParameters) -> Derivatives:
    """Return score and information of every row, with the covariates that the cells have."""
    covariates = row_covariates(comparisons, cells)
    judge = comparisons.judge
    gap = parameters.strength[comparisons.left] - parameters.strength[comparisons.right]
    eta = log_odds(gap, parameters.skill[judge], parameters.side_bias[judge], covariates, parameters.effects)
    log_tie = parameters.log_tie[judge] if cells.has_ties else None
    return log_likelihood_derivatives(gap, eta, log_tie, comparisons.outcome, comparisons.weight)


def mean_log_loss(cells: ComparisonCells, parameters: RankingParameters) -> float:
    """Return the weighted mean of minus the log-probability of the outcomes, in nats."""
    total = 0.0
    for piece, judges in cells.pieces():
        of_piece = parameters.of_judges(judges)
        _, eta = cell_log_odds(piece, of_piece)
        log_tie = piece.of_judge(of_piece.log_tie)
        log_win = eta / 2
        log_total = np.logaddexp(np.logaddexp(log_win, -log_win), log_tie)
        is_tie = piece.outcome == TIE
        log_outcome = np.where(is_tie, log_tie, piece.outcome * log_win)
        # A tie where the training rows had none, or the reverse, has probability zero.
        loss = np.minimum(log_total - log_outcome, -np.log(MIN_PROBABILITY))
        total += float(loss @ piece.weight)
    return total / max(float(cells.weight.sum()), MIN_WEIGHT)


def laplacian(
    cells: ComparisonCells, by_pair: FloatArray, prior_precision: float
) -> tuple[sparse.csr_matrix, FloatArray]:
    """Return the weighted Laplacian of the comparison graph plus the prior's precision, and its diagonal.

    Args:
        cells: cells of the comparison graph.
        by_pair: sum of a_k^2 times the information over the cells of each pair.
        prior_precision: prior precision of each strength.
    """
    n = cells.n_items
    diagonal = sum_by(cells.pair_low, by_pair, n) + sum_by(cells.pair_high, by_pair, n) + prior_precision
    items = np.arange(n)
    values = np.concatenate([diagonal, -by_pair, -by_pair])
    rows = np.concatenate([items, cells.pair_low, cells.pair_high])
    columns = np.concatenate([items, cells.pair_high, cells.pair_low])
    return sparse.csr_matrix((values, (rows, columns)), shape=(n, n)), np.asarray(diagonal)


Solver = Callable[[FloatArray], FloatArray]


def laplacian_solver(cells: ComparisonCells, by_pair: FloatArray, prior_precision: float) -> Solver:
    """Return a function that solves the Laplacian system for one or several right-hand sides; see `laplacian`."""
    matrix, diagonal = laplacian(cells, by_pair, prior_precision)
    if cells.n_items <= MAX_DENSE_ITEMS:
        inverse = np.linalg.inv(matrix.toarray())
        return lambda values: inverse @ values
    preconditioner = sparse.diags(1 / diagonal)

    def solve(values: FloatArray) -> FloatArray:
        if values.ndim == 1:
            solution: FloatArray = cg(matrix, values, rtol=1e-5, M=preconditioner, maxiter=300)[0]
            return solution
        return np.column_stack([solve(column) for column in values.T])

    return solve


def centre_by_part(strength: FloatArray, part: IntArray) -> FloatArray:
    """Subtract from each strength the mean of its part.

    >>> centre_by_part(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 1.0, 0.0]
    """
    mean = np.bincount(part, strength) / np.bincount(part)
    centred: FloatArray = strength - mean[part]
    return centred


def effect_information(
    cells: ComparisonCells, information: FloatArray, skill: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the information between items and effects [items, effects], and of the effects without their prior.

    Args:
        cells: cells with at least one covariate.
        information: expected information of eta of each cell.
        skill: of the judge of each cell.
    """
    weighted = information * skill
    border = np.column_stack([cells.by_item(weighted * column) for column in cells.covariates.T])
    return border, (cells.covariates * information[:, None]).T @ cells.covariates


def fisher_step(
    cells: ComparisonCells, parameters: RankingParameters, prior_precision: float, prior_mean: FloatArray | float = 0.0
) -> tuple[FloatArray, FloatArray, Solver]:
    """Move strengths and common effects together by one step of Fisher scoring.

    Returns:
        The new strengths, the new effects, and the solver of the items' system at the old ones.
    """
    effects = parameters.effects
    n_effects = len(effects)
    by_pair = np.zeros(len(cells.pair_low))
    gradient = -(parameters.strength - prior_mean) * prior_precision
    border = np.zeros((cells.n_items, n_effects))
    of_effects = EFFECT_PRECISION * np.eye(n_effects)
    effect_gradient = -EFFECT_PRECISION * effects
    for piece, judges in cells.pieces():
        of_piece = parameters.of_judges(judges)
        derivatives = cell_derivatives(piece, of_piece)
        skill = piece.of_judge(of_piece.skill)
        by_pair += piece.by_pair(derivatives.information * skill**2)
        gradient += piece.by_item(skill * derivatives.score)
        if n_effects:
            piece_border, piece_effects = effect_information(piece, derivatives.information, skill)
            border += piece_border
            of_effects += piece_effects
            effect_gradient += piece.covariates.T @ derivatives.score
    solve = laplacian_solver(cells, by_pair, prior_precision)
    if n_effects:
        solved = solve(border)
        schur = of_effects - border.T @ solved
        step = np.linalg.solve(schur, effect_gradient - solved.T @ gradient)
        step = np.clip(step, -MAX_EFFECT_STEP, MAX_EFFECT_STEP)
        effects = effects + step
        gradient = gradient - border @ step
    step = solve(gradient)
    largest = max(float(np.abs(step).max(initial=0.0)), 1e-9)
    strength = parameters.strength + step * min(1.0, MAX_STRENGTH_STEP / largest)
    return strength, effects, solve
