"""How many tasks are of each class stays what the classes say; grades and abstentions tell which tasks those are.

Unless what is said tells it: where the things that are said of a task are alike only as far as its class makes them,
the grades may say how many, too. Where they are alike beyond that, some tasks of a class are nearer the cut than
others, and sums of what each tells would be too sure, all one way.
"""

from collections.abc import Callable

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Sums
from quorate.voting.posterior import FLOOR, softmax

BALANCING, BALANCED = 60, 1e-6  # steps at the most, and the one that is the last: Newton's next would be its square
TOO_FAR = 0.5  # of the slope that a step began with, by which it may rise beyond the least point; else half the step
LEAST_SLOPE = 1e-12  # of the largest, below which a direction changes nothing, as a shift of all classes does
# Of what a task's rows tell, the part that they tell alike beyond its class, from which on classes keep their shares.
# Of judges who see alike by a little (a tenth) the grades may say how many; where a class has tasks that are near the
# cut and others that are not (a third, of simulated crowds with an order), they mislead. 1/2 to 1/5 do about as well.
ALIKE = 1 / 3


def balancing(leaning: Callable[[FloatArray], Sums], before: FloatArray) -> FloatArray:
    """Find the shift of each class at which as many tasks are believed to be of it as before.

    The classes are what the map makes them: a grade tells which tasks are of a class, not how many. Without this,
    whatever the tables have wrong turns the tasks in doubt all one way.

    Args:
        leaning: at a shift, how many tasks are believed to be of each class, and how fast that changes with the shift.
        before: how many there are to be.

    How many there are is the slope of a convex function of the shift, so that Newton's steps lead there.

    >>> scores = np.array([[3.0, 0.0], [2.0, 0.0]])
    >>> shift = balancing(lambda shift: leaning_of(scores + shift, np.ones((2, 1))), np.ones(2))
    >>> softmax(scores + shift).sum(axis=0).round(9).tolist()
    [1.0, 1.0]
    """
    shift: FloatArray = np.zeros_like(before)
    step, gap = shift, None
    for _ in range(BALANCING):
        after, slope = leaning(shift + step)
        if gap is not None and (after - before) @ step > -TOO_FAR * (gap @ step):
            step = step / 2
            continue
        shift, gap = shift + step, after - before
        step = -np.linalg.lstsq(slope, gap, LEAST_SLOPE)[0].astype(np.float64, copy=False)
        if np.abs(step).max() < BALANCED:
            break
    return shift + step


def leaning_of(scores: FloatArray, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum what tasks of these scores are believed to be, and how fast that changes with a shift of each class.

    >>> [sums.tolist() for sums in leaning_of(np.zeros((4, 2)), np.ones((4, 1)))]
    [[2.0, 2.0], [[1.0, -1.0], [-1.0, 1.0]]]
    """
    belief = softmax(scores * flat)
    moved = belief * flat
    return belief.sum(axis=0), np.diag(moved.sum(axis=0)) - moved.T @ belief


def several_grade(counts: FloatArray, points_to: IntArray) -> bool:
    """Whether more than one worker has several grades for a class: one alone cannot repeat what the others tell.

    Args:
        counts: of what was said, workers × symbols × classes.
        points_to: the class of each symbol, -1 for one by which workers abstain.

    >>> said = np.array([[[1.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]]])
    >>> several_grade(said, np.array([0, 0, 0])), several_grade(said, np.array([0, 0, 1]))
    (True, False)
    """
    used = counts.sum(axis=2) > 0
    grades = np.stack([used[:, points_to == k].sum(axis=1) for k in range(int(points_to.max(initial=-1)) + 1)], axis=1)
    return int((grades > 1).any(axis=1).sum()) > 1


def alike_sums(task: IntArray, told: FloatArray, belief: FloatArray) -> Sums:
    """Sum over tasks, and for each class that they may be of, what `told_alike` needs of what is said.

    Args:
        task: of each thing that is said.
        told: by each, of each class.
        belief: what the tasks are thought to be, tasks × classes.

    Returns, each by class: the products of every two things that are said of a task, divided by the others there; their
    squares; how many there are; and their sums, classes × classes.

    >>> found = alike_sums(np.array([0, 0]), np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 1.0]]))
    >>> [each.tolist() for each in found]
    [[0.0, 8.0], [0.0, 10.0], [0.0, 2.0], [[0.0, 0.0], [-3.0, 3.0]]]
    """
    n = np.bincount(task, minlength=len(belief)).astype(np.float64)
    apart = told - told.mean(axis=1, keepdims=True)
    sums = np.stack([np.bincount(task, column, len(belief)) for column in apart.T], axis=1)
    squares = np.bincount(task, (apart**2).sum(axis=1), len(belief)).astype(np.float64, copy=False)
    weight = np.where(n[:, None] > 1, belief, 0.0)  # who speaks alone agrees with nobody
    products = ((sums**2).sum(axis=1) - squares) / np.maximum(n - 1, 1.0)
    return products @ weight, squares @ weight, n @ weight, weight.T @ sums


def told_alike(products: FloatArray, squares: FloatArray, n: FloatArray, sums: FloatArray) -> float:
    """Return how far what is said of a task is alike beyond what its class makes it: an intraclass correlation.

    >>> told, sure = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]]), np.array([[0.0, 1.0]] * 2)
    >>> [told_alike(*alike_sums(np.array(task), told, sure)) for task in ([0, 0, 1, 1], [0, 1, 0, 1])]
    [1.0, 0.0]
    """
    by_class = float(((sums**2).sum(axis=1) / np.maximum(n, FLOOR)).sum())  # of the mean, which the class makes
    total = float(squares.sum()) - by_class
    return max((float(products.sum()) - by_class) / total, 0.0) if total > 0 else 0.0


def shares_kept(alike: float) -> float:
    """Return how far the classes keep their shares, from 0 to 1, by how far what is said is alike.

    >>> shares_kept(0.0), shares_kept(0.5)
    (0.0, 1.0)
    """
    return min(alike / ALIKE, 1.0)
