"""Search for clusters of copying workers: the grouping that the answers support, among none and some candidates.

The centred agreements of a crowd of independent workers have one direction, their skills; a cluster adds one. The
leading eigenvectors, by products that are linear in the answers, give each worker a position in a few dimensions, where
clusters lie along different rays. Second moments do not show which ray is the truth; the likelihood of
`quorate.models.copying` does, because members still know something of the truth, and others nothing of what is copied.
A grouping is adopted if its likelihood exceeds that of no grouping by the cost of its parameters (half a log(tasks)
each, BIC), and its members repeat each other often.
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

DIRECTIONS = 3  # of agreement that are looked at: up to three rays, one of which is the truth's
ROUNDS = 30  # of moving workers between rays
LEAST_ANSWERS = 10  # of a worker that may belong to a family
FEWEST = 4  # workers: of fewer, no family leaves anybody to contradict it


def groupings(answers: Answers) -> list[IntArray]:
    """Return the groupings worth trying, each a group number for every worker: one ray as a family, or all.

    >>> import quorate
    >>> groupings(quorate.simulate.crowd(50, 3, 3, seed=0).answers)
    []
    """
    if answers.n_workers < FEWEST:
        return []
    place = directions(answers)
    eligible = answers.per_worker >= LEAST_ANSWERS
    distinct: dict[bytes, IntArray] = {}
    for n in range(2, place.shape[1] + 1):
        ray = rays(place[:, :n])
        parts = [np.flatnonzero((ray == k) & eligible) for k in range(n)]
        for families in [*([part] for part in parts), parts]:
            group = np.arange(answers.n_workers)
            for family in families:
                group[family] = family[:1].sum()  # the number of its first member
            group = np.unique(group, return_inverse=True)[1].astype(np.int64)
            if 0 < group.max() < answers.n_workers - 1:
                distinct[group.tobytes()] = group
    return list(distinct.values())


def directions(answers: Answers) -> FloatArray:
    """Place each worker along the leading directions of the agreements; shape (workers, directions).

    >>> import quorate
    >>> directions(quorate.simulate.crowd(200, 8, 4, seed=0).answers).shape
    (8, 3)
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    moments = centred_moments(answers, response_bias(answers))
    scale = 1 / np.sqrt(np.maximum(moments.degree, 1.0))  # so that many peers alone do not move a worker out
    n = answers.n_workers
    product = LinearOperator((n, n), matvec=lambda v: scale * (moments.signed @ (scale * v.ravel())), dtype=np.float64)
    start = np.random.default_rng(0).random(n) + 0.5  # the same every time
    value, vector = eigsh(product, k=min(DIRECTIONS, n - 1), which="LA", v0=start, tol=1e-3)
    order = np.argsort(-value)
    place: FloatArray = vector[:, order] * np.sqrt(np.maximum(value[order], 0.0))
    return place


def rays(place: FloatArray) -> IntArray:
    """Group workers by the direction that they lie in: k-means on angles, starting from those farthest apart.

    Args:
        place: of each worker; as many rays are looked for as there are dimensions.

    >>> rays(np.array([[1.0, 0.1], [2.0, 0.0], [0.1, 1.0]])).tolist()
    [0, 0, 1]
    """
    n = place.shape[1]
    length = np.linalg.norm(place, axis=1)
    unit = place / np.maximum(length, 1e-12)[:, None]
    centres = unit[[np.argmax(length)]]
    while len(centres) < n:
        nearest = np.abs(unit @ centres.T).max(axis=1)
        centres = np.vstack([centres, unit[np.argmin(nearest - 1e-3 * length)]])  # of two alike, the longer
    ray = np.full(len(place), -1)
    for _ in range(ROUNDS):
        before = ray
        ray = np.argmax(unit @ centres.T, axis=1)
        if np.array_equal(before, ray):
            break
        for k in np.unique(ray):
            total = (place[ray == k] * length[ray == k, None]).sum(axis=0)
            centres[k] = total / max(np.linalg.norm(total), 1e-12)
    return ray


MAX_SAMPLE_ANSWERS = 50_000  # on which groupings are compared
MEMBER_COST = 1.1  # nats: one worker in four belongs to some group, log 3
# Share of a group's answers that must repeat the group's own. Simulated groups (70 to 90 % copied) repeat .65 to .9;
# the groups that public crowds fall into by skill or kind of task repeat .2 to .58.
MIN_REPEATED = 0.6
MIN_OUTSIDE = 3  # workers outside any group: two groups alone would only contradict each other


def find_copying(blocks: Blocks, model: Scorer, fit_groups: Callable[[Blocks], Scorer]) -> IntArray | None:
    """Return the group of each worker, from 0; None where no grouping is supported.

    Args:
        blocks: blocks of tasks.
        model: of the answers if nobody copies.
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
    nobody = fit_copying(sample, np.arange(sample.n_workers), ModelPosterior(model))
    best: IntArray | None = None
    best_gain = 0.0
    for group in groupings(answers):
        if int((np.bincount(group) == 1).sum()) < MIN_OUTSIDE:
            continue
        groups = GroupMajority(group)
        start = model
        if groups.n_groups >= MIN_OUTSIDE:
            start = GroupedScorer(fit_groups(TransformedBlocks(sample, groups)), groups)
        fitted = fit_copying(sample, group, ModelPosterior(start))
        cost = grouping_cost(group, sample.n_classes, sample.n_tasks)
        gain = fitted.log_likelihood - nobody.log_likelihood - cost
        if gain > best_gain and repeated_share(fitted, sample.per_worker) >= MIN_REPEATED:
            best = group
            best_gain = gain
    return best


def grouping_cost(group: IntArray, n_classes: int, n_tasks: int) -> float:
    """Return what a grouping costs in nats: half a log(tasks) per parameter of a group, and MEMBER_COST per member.

    >>> grouping_cost(np.array([0, 1, 2]), 2, 100)
    0.0
    """
    size = np.bincount(group)
    n_groups = int((size > 1).sum())
    n_members = int(size[size > 1].sum())
    return float(n_groups * (n_classes**2 + 1) * 0.5 * np.log(max(n_tasks, 2)) + MEMBER_COST * n_members)


def repeated_share(model: CopyingModel, answers_per_worker: IntArray) -> float:
    """Return the share of the answers of the loosest group that repeat the group's own.

    >>> nothing = np.zeros((1, 1, 1))
    >>> group, repeats = np.array([0, 0, 1]), np.array([1.0, 0.5, 0.0])
    >>> model = CopyingModel(group, nothing, np.zeros((2, 3, 2)), repeats, np.zeros(2), 0.0)
    >>> repeated_share(model, np.array([3, 1, 9]))
    0.875
    """
    shares = []
    for k in np.flatnonzero(np.bincount(model.group) > 1):
        members = model.group == k
        weights = np.maximum(answers_per_worker[members], 1)
        shares.append(float(np.average(model.repeats[members], weights=weights) * model.answer_rate[k]))
    return min(shares)
