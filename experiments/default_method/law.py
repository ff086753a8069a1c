"""Calibration laws: p = v softmax(b log q) + (1 - v)/M, averaged over laws of temperature b and validity v.

People: log b ~ N(0, spread^2), 1 - v ~ Exponential(failure). Judge panels: log b ~ N(mean, spread^2),
1 - v ~ Exponential(failure exp(-decay alpha)), alpha Krippendorff's. The laws are evaluated on the grids below.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from experiments.default_method.data import OUTSIDE, UNKNOWN, FloatArray, IntArray
from experiments.default_method.figures import LEAST_PROBABILITY
from experiments.default_method.methods import Constants

PEOPLE_LOG_B = np.linspace(np.log(0.1), np.log(3.0), 25)
PEOPLE_VALIDITY = 1 - np.array([0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3])
# The fit of the judges' law uses a finer grid than its application: a panel of 3,000 tasks determines b to less than a
# step of 25 temperatures, and that moves the fitted decay from 4.0 to 3.5.
JUDGE_LOG_B = np.linspace(np.log(0.02), np.log(5.0), 60)
N_JUDGE_VALIDITIES = 61
LEAST_VALIDITY = -0.5  # labels worse than chance; 3 of 78 panels

# The likelihood alone gives a spread that covers .78 of the panels left out; widened by half it covers .87.
WIDENING = 1.5
# Bounds of the fit: mean of log b, log spread, log failure, decay.
BOUNDS = ((-3.0, 2.0), (np.log(0.1), np.log(4.0)), (np.log(0.005), np.log(5.0)), (-2.0, 8.0))
START = (-0.5, np.log(0.8), np.log(0.5), 3.7)


@dataclass(frozen=True)
class PanelEvidence:
    """Likelihood of a panel's truth over the grid of temperature and validity."""

    repository: str
    alpha: float
    validity: FloatArray
    log_likelihood: FloatArray  # (temperatures, validities)


def krippendorff_alpha(votes: IntArray) -> float:
    """Return nominal alpha of votes (tasks, classes); 0 where no disagreement is expected."""
    n = votes.sum(axis=1)
    paired = votes[n > 1]
    if len(paired) == 0:
        return 0.0
    n = paired.sum(axis=1)
    observed = ((paired * (n[:, None] - paired)).sum(axis=1) / (n - 1)).sum()
    totals = paired.sum(axis=0)
    expected = (totals * (totals.sum() - totals)).sum() / (totals.sum() - 1)
    return float(1 - observed / expected) if expected > 0 else 0.0


def judge_validity_grid(n_classes: int) -> FloatArray:
    """Return the validities of a panel's law; below -1/(M - 1) a probability would be negative."""
    return np.linspace(max(LEAST_VALIDITY, -1 / (n_classes - 1)), 1, N_JUDGE_VALIDITIES)


def tempered_truth(posterior: FloatArray, truth: IntArray, log_b: FloatArray) -> FloatArray:
    """Return softmax(b log q) at the true class for each temperature (rows) and task; 0 where the truth is OUTSIDE."""
    logs = np.log(np.maximum(posterior, 1e-12))
    rows = np.arange(len(truth))
    inside = truth != OUTSIDE
    code = np.where(inside, truth, 0)
    return np.stack([np.where(inside, softmax(b * logs, axis=1)[rows, code], 0.0) for b in np.exp(log_b)])


def panel_evidence(repository: str, posterior: FloatArray, truth: IntArray, votes: IntArray) -> PanelEvidence:
    """Return the likelihood of the truth given the uncalibrated posterior.

    A truth that no judge gave has the probability (1 - v)/M of an invalid answer: such tasks speak for low validity, as
    they should, because their labels are wrong.
    """
    has_truth = truth != UNKNOWN
    n_classes = posterior.shape[1]
    validity = judge_validity_grid(n_classes)
    of_truth = tempered_truth(posterior[has_truth], truth[has_truth], JUDGE_LOG_B)
    invalid = ((1 - validity) / n_classes)[:, None]
    rows = []
    for of_temperature in of_truth:
        probability = of_temperature * validity[:, None] + invalid
        rows.append(np.log(np.maximum(probability, LEAST_PROBABILITY)).sum(axis=1))
    return PanelEvidence(repository, krippendorff_alpha(votes), validity, np.stack(rows))


def law_log_weights(log_b: FloatArray, validity: FloatArray, mean: float, spread: float, failure: float) -> FloatArray:
    """Return the normalised log weights of a law on a grid (temperatures, validities)."""
    logs = -0.5 * ((log_b - mean) / spread)[:, None] ** 2 - (1 - validity) / failure
    return np.asarray(logs - logsumexp(logs))


def fit_judge_law(evidence: Sequence[PanelEvidence], widening: float = WIDENING) -> Constants:
    """Maximise the marginal likelihood of the panels' truth over the four numbers, repositories with equal weights."""
    panels_of = {panel.repository: 0 for panel in evidence}
    for panel in evidence:
        panels_of[panel.repository] += 1

    def loss(numbers: FloatArray) -> float:
        mean, log_spread, log_failure, decay = numbers
        total = 0.0
        for panel in evidence:
            failure = np.exp(log_failure - decay * panel.alpha)
            weights = law_log_weights(JUDGE_LOG_B, panel.validity, mean, np.exp(log_spread), failure)
            total -= float(logsumexp(panel.log_likelihood + weights)) / panels_of[panel.repository]
        return total

    best = minimize(loss, np.array(START), method="L-BFGS-B", bounds=BOUNDS)
    mean, log_spread, log_failure, decay = best.x
    return Constants(
        judge_mean=float(mean),
        judge_spread=float(widening * np.exp(log_spread)),
        judge_failure=float(np.exp(log_failure)),
        judge_decay=float(decay),
    )


def people_log_loss(posterior: FloatArray, truth: IntArray, laws: Sequence[tuple[float, float]]) -> FloatArray:
    """Return the log-loss of a posterior calibrated by each law (spread, failure) of people; all tasks have truth."""
    n_classes = posterior.shape[1]
    inside = truth != OUTSIDE
    of_truth = tempered_truth(posterior, truth, PEOPLE_LOG_B)
    losses = []
    for spread, failure in laws:
        weights = np.exp(law_log_weights(PEOPLE_LOG_B, PEOPLE_VALIDITY, 0.0, spread, failure))
        by_temperature = weights @ PEOPLE_VALIDITY
        probability = by_temperature @ of_truth + (1 - by_temperature.sum()) / n_classes
        probability = np.where(inside, probability, 0.0)
        losses.append(-np.log(np.maximum(probability, LEAST_PROBABILITY)).mean())
    return np.array(losses)
