"""Figures of a ranking compared with the true parameters of the simulation, or with held-out rows."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit
from scipy.stats import kendalltau, norm

from experiments.ranking.simulated import Simulation
from quorate.arrays import FloatArray
from quorate.ranking.bradley_terry import RankingParameters, Variances, fisher_step, mean_log_loss
from quorate.ranking.comparisons import LEFT, TIE, ComparisonCells, Comparisons, make_cells
from quorate.ranking.connectivity import connectivity
from quorate.ranking.cross_validation import choose_skill
from quorate.ranking.fit import RankingFit, fit_ranking
from quorate.ranking.intervals import uncertainty
from quorate.ranking.ranks import ranks_of

LEVEL = 0.95
KNOWN_JUDGES_STEPS = 30  # of Fisher scoring, which converges in fewer than ten


@dataclass(frozen=True)
class Figures:
    """Of one repetition of one set; NaN where a figure does not apply."""

    tau: float
    log_loss: float
    coverage: float = float("nan")
    rank_coverage: float = float("nan")
    skill_coverage: float = float("nan")
    mean_judge_coverage: float = float("nan")
    known_judges_tau: float = float("nan")
    cpu: float = float("nan")
    refused: bool = False


def score_quorate(simulation: Simulation, *, judge_skill: str = "on") -> Figures:
    """Fit a simulated set and compare it with the truth.

    Strengths are compared on the scale that is printed, log-odds of the skill-weighted judge (of the mean judge where
    skills are not used), and, multiplied by the mean of the fitted skills, on that of the mean judge.
    """
    train = simulation.train
    start = time.process_time()
    connected = connectivity(train)
    cells = make_cells(train, connected.part, position=True)
    skill = judge_skill == "on" or (judge_skill == "auto" and choose_skill(train, cells, position=True).used)
    fit = fit_ranking(train, cells, skill=skill)
    spread = uncertainty(train, cells, fit)
    ranks = ranks_of(fit.parameters.strength, spread.draws, connected.part, LEVEL)
    cpu = time.process_time() - start
    z = norm.ppf(0.5 + LEVEL / 2)
    counts = np.bincount(train.judge, train.weight, len(simulation.skill))
    if fit.estimated.skill:
        scale = float(counts @ simulation.skill**2 / (counts @ np.abs(simulation.skill)))
    else:
        scale = float(simulation.skill.mean())  # every judge counts the same
    truth = (simulation.strength - simulation.strength.mean()) * scale
    covered = np.abs(fit.parameters.strength - truth) <= z * spread.standard_error
    mean_skill = float(fit.parameters.skill.mean())
    by_mean_judge = (simulation.strength - simulation.strength.mean()) * simulation.skill.mean()
    mean_judge_error = np.abs(fit.parameters.strength * mean_skill - by_mean_judge)
    variance = (mean_skill * spread.standard_error) ** 2
    variance = variance + fit.parameters.strength**2 * np.sum(spread.skill_error**2) / len(simulation.skill) ** 2
    true_rank = np.argsort(np.argsort(-simulation.strength)) + 1
    rank_covered = (ranks.low <= true_rank) & (true_rank <= ranks.high)
    skill_covered = np.full(1, np.nan)
    if fit.estimated.skill:
        skill_covered = np.abs(fit.parameters.skill - simulation.skill / scale) <= z * spread.skill_error
    test_cells = make_cells(simulation.test, connected.part, position=True)
    return Figures(
        tau=float(kendalltau(fit.parameters.strength, simulation.strength)[0]),
        log_loss=decided_log_loss(simulation.test, test_cells, fit),
        coverage=float(covered.mean()),
        rank_coverage=float(rank_covered.mean()),
        skill_coverage=float(skill_covered.mean()),
        mean_judge_coverage=float((mean_judge_error <= z * np.sqrt(variance)).mean()),
        known_judges_tau=float(kendalltau(_strength_of_known_judges(simulation), simulation.strength)[0]),
        cpu=cpu,
        refused=fit.direction is not None and not fit.direction.is_decided,
    )


def _strength_of_known_judges(simulation: Simulation) -> FloatArray:
    """Estimate the strengths with the true skills, side biases, ties and prior: the optimum for these outcomes."""
    train = simulation.train
    n_judges = len(simulation.skill)
    cells = make_cells(train, connectivity(train).part, position=False)
    parameters = RankingParameters(
        strength=np.zeros(train.n_items),
        skill=simulation.skill,
        side_bias=np.zeros(n_judges) if simulation.side is None else simulation.side,
        log_tie=np.full(n_judges, simulation.log_tie),
        effects=np.zeros(0),
        variances=Variances(),
        mean_skill=1.0,
        mean_log_tie=simulation.log_tie,
    )
    for _ in range(KNOWN_JUDGES_STEPS):
        strength, _, _ = fisher_step(cells, parameters, prior_precision=1.0)
        parameters = replace(parameters, strength=strength)
    return parameters.strength


def decided_log_loss(test: Comparisons, cells: ComparisonCells, fit: RankingFit) -> float:
    """Mean log-loss of the decided rows, given that they are decided."""
    parameters = fit.parameters
    gap = parameters.strength[cells.left] - parameters.strength[cells.right]
    eta = parameters.skill[cells.judge] * gap + parameters.side_bias[cells.judge]
    if cells.covariates.shape[1]:
        eta = eta + cells.covariates @ parameters.effects
    return _binary_loss(eta, cells.outcome, cells.weight)


def _binary_loss(eta: FloatArray, outcome: np.ndarray, weight: FloatArray) -> float:
    is_decided = outcome != TIE
    loss = np.logaddexp(0.0, -outcome * eta)
    return float((loss * weight)[is_decided].sum() / weight[is_decided].sum())


def three_way_loss(cells: ComparisonCells, fit: RankingFit) -> float:
    """Mean log-loss of all rows, including ties."""
    return mean_log_loss(cells, fit.parameters)


def score_peer(
    simulation: Simulation,
    scores: Mapping[str, float],
    cpu: float,
    workers: Mapping[str, tuple[float, float]] | None = None,
) -> Figures:
    """Compare the scores of another library, in log-odds, with the true strengths and the held-out rows.

    Args:
        simulation: the truth and the rows.
        scores: of the items.
        cpu: seconds that it took.
        workers: skill and bias of each worker, of a peer that mixes the sigmoid of the gap with the bias by the skill.
    """
    strength = np.array([scores.get(item, 0.0) for item in simulation.train.items])
    test = simulation.test
    eta = strength[test.left] - strength[test.right]
    if workers is not None:
        known = np.array([workers.get(judge, (1.0, 0.5)) for judge in test.judges])[test.judge]
        left = np.clip(known[:, 0] * expit(eta) + (1 - known[:, 0]) * known[:, 1], 1e-9, 1 - 1e-9)
        eta = np.log(left / (1 - left))
    return Figures(
        tau=float(kendalltau(strength, simulation.strength)[0]),
        log_loss=_binary_loss(eta, test.outcome, test.weight),
        cpu=cpu,
    )


def winners(comparisons: Comparisons) -> list[tuple[str, str, str, str]]:
    """Return rows as crowd-kit takes them: worker, left, right and the winner's name; blank for a tie."""
    rows = []
    repeats = np.rint(comparisons.weight).astype(int)
    for place in np.repeat(np.arange(comparisons.n_rows), repeats):
        left = comparisons.items[comparisons.left[place]]
        right = comparisons.items[comparisons.right[place]]
        outcome = comparisons.outcome[place]
        label = "" if outcome == TIE else left if outcome == LEFT else right
        rows.append((comparisons.judges[comparisons.judge[place]], left, right, label))
    return rows
