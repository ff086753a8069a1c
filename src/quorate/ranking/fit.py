"""Empirical-Bayes fit: items and common effects, then judges, then the variances of the priors, until convergence."""

from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.progress import report
from quorate.ranking.bradley_terry import (
    RankingParameters,
    Solver,
    Variances,
    centre_by_part,
    fisher_step,
    row_derivatives,
)
from quorate.ranking.comparisons import TIE, ComparisonCells, Comparisons
from quorate.ranking.information import inverse_of, joint_information
from quorate.ranking.judges import (
    MIN_SKILL_VARIANCE,
    Direction,
    EstimatedParameters,
    estimate_design_effect,
    judge_step,
    skill_moments,
    skill_scale,
    vote_on_direction,
)

MAX_ROUNDS = 60  # of EM; up to as many again after the direction was reversed
EM_TOLERANCE = 1e-4  # largest change of a strength, a skill or an effect, relative to the largest strength
UNSHRUNK_TOLERANCE = 1e-10  # without estimation of the strengths' variance, convergence is quadratic
MAX_MARGINAL_ITEMS = 600  # up to this size EM uses marginal variances, which need an inverse in each round
UNSHRUNK_PRECISION = 1e-8  # prior precision of strengths without shrinkage; fixes the mean only
N_TRACE_PROBES = 6  # vectors of random signs for the trace of the inverse above that size
MAX_DESIGN_EFFECT_ROUNDS = 3  # fits with the design effect measured at the previous fit
DESIGN_EFFECT_TOLERANCE = 0.02  # change of the design effect
MAX_VARIANCE = 25.0
MIN_SCALE = 0.05  # a step never shrinks strengths by more than twenty times


@dataclass(frozen=True)
class RankingFit:
    """Parameters at the end of the fit, and how it ended.

    Attributes:
        parameters: strengths, skills, side biases, tie propensities, effects.
        estimated: which parameters of judges were estimated.
        direction: votes of the judges on the first direction of the fit; None if skills are not estimated.
        flipped: whether the first direction was reversed.
        skill_variance, side_variance: of each judge's estimate [judges], marginal up to `MAX_MARGINAL_ITEMS` items.
        design_effect: by which the evidence of a judge's answers on one task was divided.
        iterations: rounds of EM.
        converged: whether the last round changed no parameter by more than the tolerance.
        strength_precision: prior precision of the strengths.
    """

    parameters: RankingParameters
    estimated: EstimatedParameters
    direction: Direction | None
    flipped: bool
    skill_variance: FloatArray
    side_variance: FloatArray
    design_effect: float
    iterations: int
    converged: bool
    strength_precision: float


def fit_ranking(
    comparisons: Comparisons,
    cells: ComparisonCells,
    *,
    skill: bool = True,
    position: bool = True,
    shrink: bool = True,
    tolerance: float = EM_TOLERANCE,
    gold_direction: "GoldDirection | None" = None,
) -> RankingFit:
    """Fit strengths and judges.

    If a judge answers several comparisons of one task, these answers are correlated. Their design effect is measured
    after a fit, and the evidence of the judges is divided by it in the next fit.

    Args:
        comparisons: rows by task, for the design effect.
        cells: the same rows added up over tasks.
        skill: estimate the skill of each judge (with one judge there is nothing to estimate).
        position: estimate each judge's preference for the left side; the common one is an effect of the cells.
        shrink: estimate the variance of the strengths; otherwise their prior is almost flat.
        tolerance: tolerance of EM.
        gold_direction: known winners, which decide the direction instead of the judges.
    """
    design_effect = 1.0
    fitted = _fit(cells, skill, position, shrink, tolerance, design_effect, gold_direction)
    for _ in range(MAX_DESIGN_EFFECT_ROUNDS):
        if not comparisons.repeats_judge_on_task or cells.n_judges == 1:
            break
        measured = estimate_design_effect(comparisons, row_derivatives(comparisons, cells, fitted.parameters))
        if abs(measured - design_effect) < DESIGN_EFFECT_TOLERANCE:
            break
        design_effect = measured
        fitted = _fit(cells, skill, position, shrink, tolerance, design_effect, gold_direction)
    return fitted


@dataclass(frozen=True)
class GoldDirection:
    """Known winners: pairs of items of which the first is better."""

    better: tuple[int, ...]
    worse: tuple[int, ...]

    def supports(self, strength: FloatArray) -> float:
        """Return the number of known pairs in the right order minus the number in the wrong order."""
        gap = strength[np.array(self.better)] - strength[np.array(self.worse)]
        return float(np.sign(gap).sum())


def _initial(cells: ComparisonCells) -> RankingParameters:
    tied = float(cells.weight[cells.outcome == TIE].sum())
    decided = float(cells.weight[cells.outcome != TIE].sum())
    log_tie = float(np.log(2 * max(tied, 0.5) / max(decided, 0.5))) if cells.has_ties else -np.inf
    return RankingParameters(
        strength=np.zeros(cells.n_items),
        skill=np.ones(cells.n_judges),
        side_bias=np.zeros(cells.n_judges),
        log_tie=np.full(cells.n_judges, log_tie),
        effects=np.zeros(cells.covariates.shape[1]),
        variances=Variances(),
        mean_skill=1.0,
        mean_log_tie=log_tie,
    )


def _fit(
    cells: ComparisonCells,
    skill: bool,
    position: bool,
    shrink: bool,
    tolerance: float,
    design_effect: float,
    gold_direction: GoldDirection | None,
) -> RankingFit:
    has_several_judges = cells.n_judges > 1
    estimated = EstimatedParameters(
        skill=skill and has_several_judges, side=position and has_several_judges, tie=cells.has_ties
    )
    parameters = _initial(cells)
    if not shrink:
        tolerance = min(tolerance, UNSHRUNK_TOLERANCE)
    strength_precision = 1 / parameters.variances.strength if shrink else UNSHRUNK_PRECISION
    direction: Direction | None = None
    flipped = False
    is_decided = not estimated.skill and gold_direction is None
    skill_variance = np.zeros(cells.n_judges)
    side_variance = np.zeros(cells.n_judges)
    is_converged = False
    iteration = 0
    for iteration in range(1, 2 * MAX_ROUNDS + 1):
        report("estimating strengths", iteration, 2 * MAX_ROUNDS)
        before = parameters
        solve: Solver
        for _ in range(2):
            strength, effects, solve = fisher_step(cells, parameters, strength_precision)
            parameters = replace(parameters, strength=centre_by_part(strength, cells.part), effects=effects)
        before_step = parameters
        step = judge_step(cells, parameters, estimated, design_effect)
        parameters = replace(parameters, skill=step.skill, side_bias=step.side_bias, log_tie=step.log_tie)
        before_update = parameters
        skill_variance = step.covariance[:, 0, 0]
        side_variance = step.covariance[:, 1, 1]
        strength_variances: FloatArray | None = None
        if cells.n_items <= MAX_MARGINAL_ITEMS and (has_several_judges or shrink):
            # Conditional variances would make the priors too narrow.
            joint = joint_information(cells, parameters, estimated, strength_precision, derivatives_at=before_step)
            core_inverse = inverse_of(joint.schur())
            strength_variances = np.diag(core_inverse)[: cells.n_items]
            marginal = joint.judge_variances(core_inverse)
            skill_variance = marginal.get(0, skill_variance)
            side_variance = marginal.get(1, side_variance)
        parameters = _update_priors(
            cells,
            parameters,
            estimated,
            step.covariance,
            step.skill_information,
            side_variance,
            has_several_judges=has_several_judges,
        )
        if shrink:
            if strength_variances is None:
                trace = _inverse_trace(solve, cells.n_items)
            else:
                trace = float(strength_variances.sum())
            total = float(parameters.strength @ parameters.strength) + trace
            variance = float(np.clip(total / cells.n_items, 1e-3, 100))
            parameters = replace(parameters, variances=replace(parameters.variances, strength=variance))
            strength_precision = 1 / variance
        largest = max(1.0, float(np.abs(parameters.strength).max()))
        is_converged = _change(before, parameters) < tolerance * largest
        if is_converged or iteration == MAX_ROUNDS:
            if is_decided:
                break
            is_decided = True
            direction = vote_on_direction(
                step.skill, step.skill_information, before_update.mean_skill, before_update.variances.skill
            )
            if gold_direction is not None:
                flipped = gold_direction.supports(parameters.strength) < 0
            else:
                flipped = direction.total < 0
            if not flipped:
                break
            parameters = replace(
                parameters,
                strength=-parameters.strength,
                skill=-parameters.skill,
                mean_skill=-parameters.mean_skill,
            )
            if not estimated.skill:
                break
    return RankingFit(
        parameters,
        estimated,
        direction if estimated.skill else None,
        flipped,
        skill_variance if estimated.skill else np.zeros(cells.n_judges),
        side_variance if estimated.side else np.zeros(cells.n_judges),
        design_effect,
        iteration,
        is_converged,
        strength_precision,
    )


def _update_priors(
    cells: ComparisonCells,
    parameters: RankingParameters,
    estimated: EstimatedParameters,
    covariance: FloatArray,
    skill_information: FloatArray,
    side_variance: FloatArray,
    *,
    has_several_judges: bool,
) -> RankingParameters:
    """Return the parameters with the scale set and the priors of judges estimated (M-step).

    Args:
        cells: the comparisons.
        parameters: parameters after the judges' step.
        estimated: which parameters of judges are estimated.
        covariance: covariance of each judge's parameters given the items [judges, 3, 3].
        skill_information: information of each judge's answers on its skill [judges].
        side_variance: marginal variance of each side bias [judges].
        has_several_judges: whether there is more than one judge.
    """
    variances = parameters.variances
    strength = parameters.strength
    skill = parameters.skill
    mean_skill = parameters.mean_skill
    mean_log_tie = parameters.mean_log_tie
    if estimated.skill:
        mean_skill, spread = skill_moments(skill, skill_information, mean_skill, variances.skill)
        scale = max(skill_scale(skill, covariance[:, 0, 0], cells.by_judge(cells.weight)), MIN_SCALE)
        skill = skill / scale
        strength = strength * scale
        mean_skill = mean_skill / scale
        variances = replace(
            variances,
            strength=variances.strength * scale**2,
            skill=float(np.clip(spread / scale**2, MIN_SKILL_VARIANCE, MAX_VARIANCE)),
        )
    if estimated.side:
        spread = float(np.mean(parameters.side_bias**2 + side_variance))
        variances = replace(variances, side=float(np.clip(spread, 1e-3, MAX_VARIANCE)))
    if estimated.tie:
        mean_log_tie = float(parameters.log_tie.mean())
        spread = float(np.mean((parameters.log_tie - mean_log_tie) ** 2 + covariance[:, 2, 2]))
        variances = replace(
            variances, tie=float(np.clip(spread, 1e-4, MAX_VARIANCE)) if has_several_judges else MAX_VARIANCE
        )
    return replace(
        parameters,
        strength=strength,
        skill=skill,
        variances=variances,
        mean_skill=mean_skill,
        mean_log_tie=mean_log_tie,
    )


def _inverse_trace(solve: Solver, n_items: int) -> float:
    """Estimate the trace of the inverse of the items' system by random signs (Hutchinson)."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_items, N_TRACE_PROBES))
    return float((signs * solve(signs)).sum()) / N_TRACE_PROBES


def _change(before: RankingParameters, after: RankingParameters) -> float:
    """Return the largest change of a strength, a skill or a common effect."""
    changes = [
        np.abs(after.strength - before.strength),
        np.abs(after.skill - before.skill),
        np.abs(after.effects - before.effects),
    ]
    return max(float(change.max(initial=0.0)) for change in changes)
