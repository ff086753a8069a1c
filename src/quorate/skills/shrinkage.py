"""Centred rank-one skills with empirical-Bayes shrinkage: posterior mean and variance of each skill.

A worker knows the class with probability x_i and otherwise answers according to its response bias f_i. With
z_it = e_label - f_i, E[z_it · z_jt] = x_i x_j G, where G = 1 - sum of the squared class prior. The skills have the
prior N(mu, s2), whose mean and variance are estimated together with them (EM, mean field):

    m_i = (sum_j w C_ij m_j / noise + mu / s2) / (sum_j w (m_j² + v_j) / noise + 1 / s2),   v_i = 1 / that denominator.

The peers' variance v_j in the denominator is missing if the peers' skills are treated as known; with it the error in
sparse crowds is a tenth lower (`python -m experiments.default_method.simulations`). Each pair of a task has the weight
w = 1/(R - 1), so that every answer counts once. This treats the R - 1 peers as copies of each other; independent peers
would carry (R - 1)/(1 + (R - 2) mean x²) times the information. The noise is divided by the geometric mean of 1 and
this factor, which is its square root.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import centred_passes, centred_products, response_counts
from quorate.blocks.memory import Answered, MemoryBlocks, blocks_of
from quorate.models.response_bias import ResponseBias
from quorate.skills.anderson import AndersonSteps
from quorate.skills.priors import Priors

BIAS_PSEUDO_ANSWERS = 2.0  # of the response bias; 1 to 5 have the same error on the public sets
# Prior of the skills' mean and variance: four workers of skill 0.5 ± 0.35, the standard deviation in the public sets.
PRIOR_WORKERS = 4.0
PRIOR_MEAN = 0.5
PRIOR_VARIANCE = 0.35**2
MIN_VARIANCE = 0.0025  # of the skills of a crowd: a standard deviation of .05
MIN_SKILL_VARIANCE = 1e-6  # posterior variance of one skill
MARGIN = 0.01  # minimum distance of estimated skills from 1 and from -1/(M-1)
MIN_PASSES = 4  # before convergence is tested, because mean and variance change first
MAX_PASSES = 120
TOLERANCE = 1e-4  # mean change of a skill; the skills are then usually within 1e-4 of the fixed point


@dataclass(frozen=True, eq=False)
class SkillPosterior:
    """Posterior of the skills of all workers."""

    mean: FloatArray  # [workers]
    variance: FloatArray  # [workers]
    prior_mean: float  # mu
    prior_variance: float  # s2
    average: float  # mean skill, weighted by answers; at least zero
    noise: float  # variance of the product of two centred answers, in units of G²
    n_passes: int
    change: float  # mean change of a skill in the last pass
    converged: bool


def response_bias(answers: Answered, priors: Priors | None = None) -> ResponseBias:
    """Return each worker's shrunk answer frequencies, and the class prior from the pluralities of the tasks.

    Args:
        answers: who answered what.
        priors: skills from earlier runs; their pseudo-answers are added.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xxy")})
    >>> bias = response_bias(blocks_of(answers))
    >>> bias.prior.tolist(), bias.frequency.round(2).tolist()
    ([0.5, 0.5], [[0.58, 0.42], [0.78, 0.22]])
    """
    label_counts, plurality = blocks_of(answers).sum(response_counts, answers.n_workers, answers.n_classes)
    prior = (plurality + 1.0) / (plurality + 1.0).sum()
    if priors is not None:
        label_counts = label_counts + priors.answered(prior).sum(axis=2)
    crowd = label_counts.sum(axis=0) / max(label_counts.sum(), 1.0)
    total = label_counts.sum(axis=1, keepdims=True)
    frequency = (label_counts + BIAS_PSEUDO_ANSWERS * crowd) / (total + BIAS_PSEUDO_ANSWERS)
    return ResponseBias(frequency, prior, float(1 - prior @ prior), crowd)


def shrunk_skills(
    blocks: Blocks,
    bias: ResponseBias,
    *,
    is_gold: BoolArray | None = None,
    known: Priors | None = None,
    tolerance: float = TOLERANCE,
) -> SkillPosterior:
    """Estimate the skills of all workers by centred rank-one completion with empirical-Bayes shrinkage.

    Args:
        blocks: blocks of tasks; the gold worker may be one of their workers.
        bias: response bias and class prior.
        is_gold: marks the gold worker, whose skill is one.
        known: skills from earlier runs; their precision replaces that of the prior N(mu, s2), fully if it is higher.
        tolerance: the passes stop when the mean change of a skill is smaller.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(1000, 20, 5, seed=0)
    >>> blocks = blocks_of(crowd.answers)
    >>> bool(np.abs(shrunk_skills(blocks, response_bias(blocks)).mean - crowd.skills).mean() < 0.1)
    True
    """
    n_workers = blocks.n_workers
    m = blocks.n_classes
    gold = np.zeros(n_workers, dtype=bool) if is_gold is None else is_gold
    n_answers = np.where(gold, 0, blocks.per_worker).astype(np.float64)
    has_answers = n_answers > 0
    n_with_answers = int(has_answers.sum())
    n_gold = int(gold.sum())
    (sizes,) = blocks.sum(_task_sizes)
    mean_size = sizes[1] / max(sizes[0], 1.0)  # mean number of answers per task, averaged over answers
    guess_noise, known_noise = _noise_of_pair(bias.prior)
    sums = _centred_sums(blocks, bias.frequency)
    mu = PRIOR_MEAN
    s2 = PRIOR_VARIANCE
    state = np.concatenate([np.where(gold, 1.0, mu), np.where(gold, 0.0, s2)])
    x, v = np.split(state, 2)  # views
    if gold.any():  # start from the agreement with gold, which shows the signs of the skills
        signed, squares = sums(gold.astype(np.float64), None)
        x[:] = np.where(gold, 1.0, (signed / bias.spread + PRIOR_MEAN) / (squares + 1.0))
    if known is not None:
        x[:] = np.where(~gold & (known.precision > 0), known.skill, x)
    lowest = -1 / (m - 1) + MARGIN
    steps = AndersonSteps()
    converged = False
    n_passes = 0
    noise = 1.0
    mean_change = 0.0
    while n_passes < MAX_PASSES and not converged:
        n_passes += 1
        sum_of_squares = float((np.clip(x, 0.0, 1.0) ** 2).sum() - n_gold)
        redundancy = max(mean_size - 2, 0.0) * sum_of_squares / max(n_workers - n_gold, 1)  # (R - 2) mean x²
        information_factor = max(mean_size - 1, 1.0) / (1 + redundancy)
        both_know = float(np.clip(mu, 0.0, 0.9)) ** 2
        noise = ((1 - both_know) * guess_noise + both_know * known_noise - both_know**2) / np.sqrt(information_factor)
        signed, squares = sums(x, x * x + v)
        prior_precision, prior_centre = _prior_of_workers(mu, s2, known, n_workers)
        precision = squares / noise + prior_precision
        target = (signed / (bias.spread * noise) + prior_precision * prior_centre) / precision
        np.clip(target, lowest, 1 - MARGIN, out=target)
        target[gold] = 1.0
        residual = np.concatenate([target, 1 / precision])
        residual -= state
        residual[n_workers:][gold] = 0.0
        mean_change = float(np.abs(residual[:n_workers]).sum() / max(n_workers - n_gold, 1))
        state = steps.next(state, residual)
        x, v = np.split(state, 2)
        np.clip(x, lowest, 1 - MARGIN, out=x)
        np.clip(v, MIN_SKILL_VARIANCE, 1.0, out=v)
        x[gold] = 1.0
        v[gold] = 0.0
        estimated_skill = x
        estimated_variance = v
        if n_with_answers < n_workers:
            estimated_skill = x[has_answers]
            estimated_variance = v[has_answers]
        mu = (estimated_skill.sum() + PRIOR_WORKERS * PRIOR_MEAN) / (n_with_answers + PRIOR_WORKERS)
        squares_around_mu = ((estimated_skill - mu) ** 2).sum() + estimated_variance.sum()
        s2 = max((squares_around_mu + PRIOR_WORKERS * PRIOR_VARIANCE) / (n_with_answers + PRIOR_WORKERS), MIN_VARIANCE)
        converged = n_passes > MIN_PASSES and mean_change < tolerance
    average = max(float(x @ n_answers) / max(n_answers.sum(), 1.0), 0.0)
    return SkillPosterior(x, v, float(mu), float(s2), average, float(noise), n_passes, mean_change, converged)


def _centred_sums(blocks: Blocks, frequency: FloatArray) -> Callable[[FloatArray, FloatArray | None], Sums]:
    """Return a function (x, second moment) -> `centred_products` of all blocks; in memory it reuses its tables."""
    if not isinstance(blocks, MemoryBlocks):
        return lambda x, second_moment: blocks.sum(centred_products, x, frequency, second_moment)
    lanes = [centred_passes(lane, frequency) for lane in blocks.lanes]
    return lambda x, second_moment: blocks.sum_lanes([partial(lane.sums, x, second_moment) for lane in lanes])


def _prior_of_workers(
    mu: float, s2: float, known: Priors | None, n_workers: int
) -> tuple[FloatArray | float, FloatArray | float]:
    """Return precision and centre of each worker's prior, in which a known skill replaces part of the crowd's mean."""
    if known is None:
        return 1 / s2, mu
    toward_mean = np.maximum(1 / s2 - known.precision, 0.0)
    precision = toward_mean + known.precision
    return precision, (toward_mean * mu + known.precision * known.skill) / precision


def _noise_of_pair(class_prior: FloatArray) -> tuple[float, float]:
    """Return the mean square of the product of two centred answers over G²: if both guess, and if both know.

    With M equally frequent classes these are 1/(M-1) and 1.
    """
    squared = float(class_prior @ class_prior)
    gini = 1 - squared
    # ||diag(pi) - pi pi'||² = sum pi² - 2 sum pi³ + (sum pi²)²
    guess = squared - 2 * float((class_prior**3).sum()) + squared**2
    known = float(class_prior @ (1 - 2 * class_prior + squared) ** 2)
    return guess / gini**2, known / gini**2


def _task_sizes(blocks: Iterable[Block]) -> Sums:
    """Return the sums over tasks of the number of answers and of its square."""
    sizes = np.zeros(2)
    for block in blocks:
        n = block.per_task.astype(np.float64)
        sizes += np.array([n.sum(), (n * n).sum()])
    return (sizes,)
