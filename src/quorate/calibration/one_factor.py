"""One-factor fit: how well one skill per worker explains which workers agree.

Under one factor the agreement of two workers is the product of their skills. Let u_i be the skill minus its mean. With
sums over tasks and over pairs of different workers, a0 = sum z_i·z_j, a1 = sum u_i z_i·z_j and
a2 = sum u_i u_j z_i·z_j then satisfy a0 a2 = a1² (a tetrad). A group that agrees more than its skills explain makes
a0 a2 larger. Skills are fitted on one half of the tasks and the sums are computed on the other, and vice versa.
"""

from dataclasses import replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import tetrad_sums
from quorate.blocks.memory import blocks_of, memory_blocks
from quorate.blocks.sampling import folds_by_id
from quorate.models.response_bias import ResponseBias
from quorate.skills.shrinkage import shrunk_skills

ONE_FACTOR_SLACK = 1.5  # standard errors of the tetrad excess that are attributed to sampling
MAX_SAMPLE_ANSWERS = 150_000
MAX_SAMPLE_ENTRIES = 10_000_000  # answers × classes, 80 MB
TOLERANCE = 1e-3  # of the skills of each fold
N_FOLDS = 2
MAX_DIVISIONS = 5  # divisions into folds over which the sums are averaged; fewer for large samples


def one_factor_fit(blocks: Blocks, bias: ResponseBias) -> float:
    """Return the one-factor fit from 0 to 1; 1 if the tetrad excess is within its sampling error.

    >>> import quorate
    >>> from quorate.skills.shrinkage import response_bias
    >>> blocks = blocks_of(quorate.simulate.crowd(500, 20, 5, seed=0).answers)
    >>> one_factor_fit(blocks, response_bias(blocks))
    1.0
    """
    n_answers = min(MAX_SAMPLE_ANSWERS, MAX_SAMPLE_ENTRIES // max(blocks.n_classes, 1))
    answers = blocks.sample(n_answers).answers
    if answers.n_classes < 2 or answers.per_task.max(initial=0) < 2:
        return 1.0
    answers, frequency = _present_workers(answers, bias.frequency)
    bias = replace(bias, frequency=frequency)
    n_divisions = int(np.clip(n_answers // max(answers.n_answers, 1), 1, MAX_DIVISIONS))
    folds = [folds_by_id(answers, N_FOLDS, division) for division in range(n_divisions)]
    sums = np.mean([_cross_fitted_sums(answers, bias, fold) for fold in folds], axis=0)
    a0, a1, a2 = sums.sum(axis=0)
    influence = sums @ np.array([a2, -2 * a1, a0])  # delta method over tasks
    error = np.sqrt(max(float(influence @ influence - influence.sum() ** 2 / len(influence)), 0.0))
    excess = float(a0 * a2 - a1**2 - ONE_FACTOR_SLACK * error)
    return 1.0 if excess <= 0 else float(a1**2 / (a1**2 + excess))


def _present_workers(answers: Answers, frequency: FloatArray) -> tuple[Answers, FloatArray]:
    """Return answers and frequencies without workers who have no answer in the sample (most of a large crowd)."""
    is_present = answers.per_worker > 0
    present = np.flatnonzero(is_present)
    code = (np.cumsum(is_present) - 1).astype(answers.worker.dtype)
    names = take(answers.worker_names, present)
    return replace(answers, worker=code[answers.worker], worker_names=names), frequency[present]


def _cross_fitted_sums(answers: Answers, bias: ResponseBias, fold: IntArray) -> FloatArray:
    """Return the tetrad sums of each task, with skills fitted on the tasks of the other folds."""
    deviation = np.zeros((N_FOLDS, answers.n_workers))
    for k in range(N_FOLDS):
        training_answers = answers.only(fold != k)
        skills = shrunk_skills(blocks_of(training_answers), bias, tolerance=TOLERANCE).mean
        n_in_fold = np.bincount(answers.worker[fold[answers.task] == k], minlength=answers.n_workers)
        deviation[k] = skills - skills @ n_in_fold / max(n_in_fold.sum(), 1)
    u = deviation[fold[answers.task], answers.worker]
    return tetrad_sums(memory_blocks(answers).all_tasks, bias.frequency, u)
