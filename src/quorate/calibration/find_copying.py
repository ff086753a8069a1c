"""Search for groups of copying workers: compare some candidate groupings with no grouping by their likelihood.

The groups are fitted in `models/copying.py`, rated in `skills/copying.py` and reported in `diagnostics/copying.py`.

The centred agreements of a crowd of independent workers have one direction, their skills; each cluster adds one. The
leading eigenvectors, computed by products that are linear in the answers, give each worker a position in a few
dimensions, where clusters lie along different rays. Second moments do not show which ray is that of the truth. The
likelihood of `quorate.models.copying` shows it, because the members of a cluster have some knowledge of the truth, but
the other workers have none of the copied answers. A grouping is adopted if its log-likelihood exceeds that of no
grouping by more than its cost (BIC, half a log(tasks) per parameter, and a cost per member), and if its members repeat
the group often enough.
"""

from collections.abc import Callable

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.memory import memory_blocks
from quorate.blocks.transform import GroupMajority, TransformedBlocks
from quorate.models.confusion import ModelPosterior
from quorate.models.copying import CopyingModel, GroupedScorer, fit_copying
from quorate.models.scorer import Scorer
from quorate.skills.centred import centred_moments
from quorate.skills.shrinkage import response_bias

N_DIRECTIONS = 3  # leading directions of agreement, so at most three rays, one of which is that of the truth
MAX_ROUNDS = 30  # of k-means
MIN_MEMBER_ANSWERS = 10  # of a worker who may belong to a group
MIN_WORKERS = 4  # in a smaller crowd, too few workers would be outside of a group


def groupings(answers: Answers) -> list[IntArray]:
    """Return candidate groupings, each with a group number per worker: the workers of one ray as a group, or of all.

    >>> import quorate
    >>> groupings(quorate.simulate.crowd(50, 3, 3, seed=0).answers)
    []
    """
    if answers.n_workers < MIN_WORKERS:
        return []
    coordinates = directions(answers)
    eligible = answers.per_worker >= MIN_MEMBER_ANSWERS
    distinct: dict[bytes, IntArray] = {}
    for n in range(2, coordinates.shape[1] + 1):
        ray = rays(coordinates[:, :n])
        clusters = [np.flatnonzero((ray == k) & eligible) for k in range(n)]
        for grouping in [*([cluster] for cluster in clusters), clusters]:
            group = np.arange(answers.n_workers)
            for members in grouping:
                group[members] = members[:1].sum()  # the number of its first member; zero members change nothing
            group = np.unique(group, return_inverse=True)[1].astype(np.int64)
            if 0 < group.max() < answers.n_workers - 1:
                distinct[group.tobytes()] = group
    return list(distinct.values())


def directions(answers: Answers) -> FloatArray:
    """Return the coordinates of each worker in the leading directions of the agreements; shape (workers, directions).

    >>> import quorate
    >>> directions(quorate.simulate.crowd(200, 8, 4, seed=0).answers).shape
    (8, 3)
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    moments = centred_moments(answers, response_bias(answers))
    scale = 1 / np.sqrt(np.maximum(moments.degree, 1.0))  # otherwise coordinates would grow with the number of peers
    n = answers.n_workers
    product = LinearOperator((n, n), matvec=lambda v: scale * (moments.signed @ (scale * v.ravel())), dtype=np.float64)
    start = np.random.default_rng(0).random(n) + 0.5  # fixed, so that results can be reproduced
    value, vector = eigsh(product, k=min(N_DIRECTIONS, n - 1), which="LA", v0=start, tol=1e-3)
    order = np.argsort(-value)
    coordinates: FloatArray = vector[:, order] * np.sqrt(np.maximum(value[order], 0.0))
    return coordinates


def rays(coordinates: FloatArray) -> IntArray:
    """Return the ray of each worker: k-means on angles, starting from workers with the greatest angles between them.

    Args:
        coordinates: of each worker; the number of rays is the number of dimensions.

    >>> rays(np.array([[1.0, 0.1], [2.0, 0.0], [0.1, 1.0]])).tolist()
    [0, 0, 1]
    """
    n = coordinates.shape[1]
    length = np.linalg.norm(coordinates, axis=1)
    unit = coordinates / np.maximum(length, 1e-12)[:, None]
    centres = unit[[np.argmax(length)]]
    while len(centres) < n:
        nearest = np.abs(unit @ centres.T).max(axis=1)
        centres = np.vstack([centres, unit[np.argmin(nearest - 1e-3 * length)]])  # for equal angles, the longer vector
    ray = np.full(len(coordinates), -1)
    for _ in range(MAX_ROUNDS):
        before = ray
        ray = np.argmax(unit @ centres.T, axis=1)
        if np.array_equal(before, ray):
            break
        for k in np.unique(ray):
            total = (coordinates[ray == k] * length[ray == k, None]).sum(axis=0)
            centres[k] = total / max(np.linalg.norm(total), 1e-12)
    return ray


MAX_SAMPLE_ANSWERS = 50_000  # size of the sample on which groupings are compared
MEMBER_COST = 1.1  # nats per member: log 3, the log odds against membership if one worker in four is a member
# Minimum share of a group's answers that repeat the group. In simulated groups (70 to 90 % copied) it is .65 to .9; in
# the groups into which public crowds divide by skill or kind of task it is .2 to .58.
MIN_REPEATED_SHARE = 0.6
MIN_OUTSIDE = 3  # workers outside all groups; with two groups only, nothing shows which of them is right


def find_copying(blocks: Blocks, model: Scorer, fit_groups: Callable[[Blocks], Scorer]) -> IntArray | None:
    """Return the group of each worker, from 0; None if no grouping is supported.

    Args:
        blocks: blocks of tasks.
        model: of the answers without copying.
        fit_groups: fits a model to blocks whose workers are groups.

    >>> import quorate
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = memory_blocks(quorate.simulate.crowd(300, 10, 5, seed=0).answers)
    >>> vote = PluralityScorer(1.0)
    >>> find_copying(blocks, vote, lambda groups: vote) is None
    True
    """
    answers = blocks.sample(MAX_SAMPLE_ANSWERS).answers
    sample = memory_blocks(answers)
    without_groups = fit_copying(sample, np.arange(sample.n_workers), ModelPosterior(model))
    best: IntArray | None = None
    best_gain = 0.0
    for group in groupings(answers):
        size = np.bincount(group)
        if int((size == 1).sum()) < MIN_OUTSIDE:
            continue
        groups = GroupMajority(group)
        start = model
        if groups.n_groups >= MIN_OUTSIDE:
            start = GroupedScorer(fit_groups(TransformedBlocks(sample, groups)), groups)
        fitted = fit_copying(sample, group, ModelPosterior(start))
        # BIC: half a log(tasks) per parameter of a group; in addition, MEMBER_COST per member.
        sizes = size[size > 1]
        n_parameters = len(sizes) * (sample.n_classes**2 + 1)
        cost = n_parameters * 0.5 * float(np.log(max(sample.n_tasks, 2))) + MEMBER_COST * int(sizes.sum())
        gain = fitted.log_likelihood - without_groups.log_likelihood - cost
        if gain > best_gain and repeated_share(fitted, sample.per_worker) >= MIN_REPEATED_SHARE:
            best = group
            best_gain = gain
    return best


def repeated_share(model: CopyingModel, answers_per_worker: IntArray) -> float:
    """Return the share of the answers that repeat the hidden answer of their group, in the group where it is lowest.

    >>> no_counts = np.zeros((1, 1, 1))
    >>> group, repeats = np.array([0, 0, 1]), np.array([1.0, 0.5, 0.0])
    >>> model = CopyingModel(group, no_counts, np.zeros((2, 3, 2)), repeats, np.zeros(2), 0.0)
    >>> repeated_share(model, np.array([3, 1, 9]))
    0.875
    """
    shares = []
    for k in np.flatnonzero(np.bincount(model.group) > 1):
        members = model.group == k
        weights = np.maximum(answers_per_worker[members], 1)
        shares.append(float(np.average(model.repeats[members], weights=weights) * model.answer_rate[k]))
    return min(shares)
