"""How other crowds' labels turned out: a population of calibrations, averaged, and updated by known labels.

A calibration (beta, v) makes of a posterior p the posterior v·softmax(beta·log p) + (1-v)/M: less sure by beta, and
with a share 1-v of tasks on which the crowd says nothing. Each public crowd with truth votes for the calibrations that
suit it; their average is what is known of a new crowd before any of its labels is. `population.csv` has that average;
``python -m quorate.evaluation.experiments.honesty --rebuild`` makes it again.
"""

import csv
from functools import cache
from importlib.resources import files

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.plain import STEP, averaged
from quorate.voting.posterior import FLOOR, softmax

TABLE = "population.csv"
N_CROWDS = 26  # public crowds behind the table
BETAS = np.arange(1, 16) * STEP  # multiples of the first, so that `averaged` needs one product for each
VALIDITIES = np.array([0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 1.0])
SHARPNESS = 200.0  # tasks that a crowd's mean log-loss counts for, so that every crowd has the same say; 100 to 300 are
# alike by leaving out one group of crowds at a time, 10 and 30 too broad
ALONE, NEAR = 0.4, 0.17  # the say that simulated independent crowds have where no dependence is measured, and the rho
# (its standard deviation over public crowds) at which it has fallen by 40 %. The public crowds do not mind: log-loss
# .522 to .523 for .3 to .5 and .1 to .25; independent crowds would be stated .05 too low without it
LEAST_PROBABILITY = 1e-4  # a probability below this counts as this


def calibrated(posterior: FloatArray, weights: FloatArray) -> FloatArray:
    """Average a posterior over calibrations.

    Args:
        posterior: tasks × classes.
        weights: betas × validities, summing to one.

    >>> calibrated(np.array([[0.25, 0.75]]), identity()).round(9).tolist()
    [[0.25, 0.75]]
    """
    return averaged(posterior, shares_of(weights))


def shares_of(weights: FloatArray) -> FloatArray:
    """Return what each beta adds, the validity entering linearly.

    >>> float(shares_of(identity()).sum())
    1.0
    """
    shares: FloatArray = weights @ VALIDITIES
    return shares


def identity() -> FloatArray:
    """Return the calibration that leaves a posterior as it is, for workers known to be independent.

    >>> float(identity().sum()), float(identity()[9, -1])
    (1.0, 1.0)
    """
    weights = np.zeros((len(BETAS), len(VALIDITIES)))
    weights[int(np.argmin(np.abs(BETAS - 1.0))), -1] = 1.0
    return weights


@cache
def population() -> tuple[FloatArray, FloatArray]:
    """Read what public crowds, and what simulated independent ones, speak for; each betas × validities.

    >>> [round(float(part.sum()), 3) for part in population()]
    [1.0, 1.0]
    """
    rows = list(csv.DictReader((files("quorate.voting") / TABLE).read_text(encoding="utf-8").splitlines()))
    public, alone = (
        np.array([float(row[name]) for row in rows]).reshape(len(BETAS), len(VALIDITIES))
        for name in ("public", "independent")
    )
    return public / public.sum(), alone / alone.sum()


def expected_calibration(rho: float, parts: tuple[FloatArray, FloatArray] | None = None) -> FloatArray:
    """Mix what public crowds and what independent ones teach, by the dependence that was measured.

    Args:
        rho: the dependence between workers.
        parts: what either teaches; by default the table that ships.

    >>> float(expected_calibration(0.0, (np.zeros((1, 1)), np.ones((1, 1))))[0, 0])
    0.4
    """
    public, alone = population() if parts is None else parts
    share = ALONE * np.exp(-0.5 * (rho / NEAR) ** 2)
    weights: FloatArray = (1 - share) * public + share * alone
    return weights


def updated(weights: FloatArray, posterior: FloatArray, label: IntArray) -> FloatArray:
    """Multiply the weights of calibrations by the likelihood of known labels.

    Args:
        weights: betas × validities.
        posterior: of the known tasks, as if their labels were not known.
        label: their classes.

    >>> even = np.full((len(BETAS), len(VALIDITIES)), 1 / (len(BETAS) * len(VALIDITIES)))
    >>> wrong = updated(even, np.tile([[0.9, 0.1]], (50, 1)), np.ones(50, dtype=int))
    >>> bool(wrong.sum(axis=1)[:3].sum() > 0.9)  # as flat as can be
    True
    """
    if len(label) == 0:
        return weights
    with np.errstate(divide="ignore"):  # what is impossible stays so
        total = np.log(weights) + log_probabilities(posterior, label).sum(axis=0)
    return _shares(total)


def vote_of_crowd(posterior: FloatArray, truth: IntArray) -> FloatArray:
    """Return how much one crowd with truth speaks for each calibration; betas × validities, summing to one.

    Args:
        posterior: of the tasks with truth, before calibration.
        truth: their classes; -2 for one that nobody gave.

    >>> vote = vote_of_crowd(np.tile([[0.9, 0.1]], (100, 1)), np.array([0] * 70 + [1] * 30))
    >>> bool((vote.sum(axis=1) @ BETAS) < 0.6)
    True
    """
    return _shares(SHARPNESS * log_probabilities(posterior, truth).mean(axis=0))


def log_probabilities(posterior: FloatArray, truth: IntArray) -> FloatArray:
    """Return log p(truth) of each task under each calibration; tasks × betas × validities.

    >>> float(np.exp(log_probabilities(np.array([[0.25, 0.75]]), np.array([1]))[0, 9, -1]).round(9))
    0.75
    """
    m, rows = posterior.shape[1], np.arange(len(truth))
    logs = np.log(np.maximum(posterior, FLOOR))
    met = truth >= 0
    of_beta = np.stack([softmax(beta * logs)[rows, np.maximum(truth, 0)] * met for beta in BETAS], axis=1)
    p = of_beta[:, :, None] * VALIDITIES + (1 - VALIDITIES) / m * met[:, None, None]
    logs_p: FloatArray = np.log(np.maximum(p, LEAST_PROBABILITY))
    return logs_p


def _shares(logs: FloatArray) -> FloatArray:
    lifted = np.exp(logs - logs.max())
    shares: FloatArray = lifted / lifted.sum()
    return shares
