"""Which workers might be a family: directions in which agreements point beyond the one that skill explains.

The centred agreements of a crowd of independent workers have one direction, their skills. A family adds one. The
leading eigenvectors, by products that are linear in the answers, place each worker in a few dimensions: families lie
along different rays. Second moments cannot say which ray is the truth; the likelihood of `quorate.models.copying` can,
because those who repeat each other still know something of the truth, and the others nothing of what is repeated.
"""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.skills.centred import centred_moments, habits_of

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
    found: dict[bytes, IntArray] = {}
    for n in range(2, place.shape[1] + 1):
        ray = rays(place[:, :n])
        parts = [np.flatnonzero((ray == k) & eligible) for k in range(n)]
        for families in [*([part] for part in parts), parts]:
            group = np.arange(answers.n_workers)
            for family in families:
                group[family] = family[:1].sum()  # the number of its first member
            group = np.unique(group, return_inverse=True)[1].astype(np.int64)
            if 0 < group.max() < answers.n_workers - 1:
                found[group.tobytes()] = group
    return list(found.values())


def directions(answers: Answers) -> FloatArray:
    """Place each worker along the leading directions of the agreements; shape (workers, directions).

    >>> import quorate
    >>> directions(quorate.simulate.crowd(200, 8, 4, seed=0).answers).shape
    (8, 3)
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    moments = centred_moments(answers, habits_of(answers))
    scale = 1 / np.sqrt(np.maximum(moments.degree, 1.0))  # a worker who met many does not lie farther out for it
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
        before, ray = ray, np.argmax(unit @ centres.T, axis=1)
        if np.array_equal(before, ray):
            break
        for k in np.unique(ray):
            total = (place[ray == k] * length[ray == k, None]).sum(axis=0)
            centres[k] = total / max(np.linalg.norm(total), 1e-12)
    return ray
