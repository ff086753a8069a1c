"""What the errors of the peers' skills add to the variance of a raw skill.

The contribution of each task to the score is multiplied by a random sign e_t = ±1. The score b = sum_t e_t psi_t moves
the solution by d, with H d = b and H the curvature. It moves the raw estimate of a worker by o = b/D if the skills of
its peers are fixed, and by (b - P d)/D if they move, too, with P the off-diagonal part of H. Over many draws, the
variance of the latter over the variance of the former is f, the variance inflation at the estimated skill. The two are
strongly correlated, so the latter is regressed on o, whose variance is known, and only the variance of the residual is
estimated from the draws.

A raw skill is the quotient of a worker's agreement and its peers' skills. If the worker's skill were u, errors d_j of
the peers' skills would change it by -u E with E = sum_j N_ij x_j d_j / D_i, the relative error of the peers. So the
variance at u contains u² var(E) (Fieller).

Every estimated skill has an error, also at a bound of its box: there the estimate does not move with the data, but
every skill that the worker's own answers allow is possible.

If there are few workers compared with the answers, the off-diagonal part of H is a matrix of workers × workers,
computed in one pass; otherwise each product with it is a pass over the answers.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.block import Block
from quorate.blocks.kernels import answer_pulls, peer_matrix, peer_products, peer_table, signed_sums
from quorate.blocks.memory import memory_blocks
from quorate.progress import tracked
from quorate.skills.conjugate_gradients import block_cg
from quorate.skills.intervals import PeerError

# Share of the mean variance of a worker's error that may be missing from d, in the flattest direction that is used. A
# direction of curvature c has a share c of b and 1/c of the error, so the residual must be small relative to c. With a
# residual of 1 % of b, d did not contain the scale of a star of 400 workers, and only 5 % of the centres of such stars
# were in their interval.
ERROR_TOLERANCE = 0.1
MAX_CG_PRODUCTS = 200  # a star of 31 workers whose scale is determined by one pair takes about 30
# Curvature, relative to the diagonal, below which a direction is not used. The error along it would be 30 times that of
# a worker whose peers are known: any skill is possible there, and `weak_identification` reports the workers.
MIN_CURVATURE = 0.001
MIN_SIGN_ROWS = 2_000  # tasks whose signs are drawn at once; more if there are more workers
# Weight of the skills' prediction in the agreements inside H, without which noise alone could make H singular.
AGREEMENT_SHRINKAGE = 0.05
MAX_ENTRIES = 4_000_000  # of a matrix of workers × draws: 32 MB
# Smaller standard deviations of a skill are rounding: for a worker whose answers are exactly as its skill predicts they
# are 1e-18 to 1e-15, for other workers of the public sets at least 3e-4.
MIN_STANDARD_DEVIATION = 1e-9
# A matrix of workers × workers is made up to 4 entries (32 bytes) per answer, and 30 pairs of answers per answer.
# Above, it takes more time than the passes that it saves; 60 draws take four or more passes.
ENTRIES_PER_ANSWER = 4
PAIRS_PER_ANSWER = 30


class Product(Protocol):
    """A matrix of workers × workers."""

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by workers × draws."""


@dataclass(frozen=True)
class TaskSums:
    """Answers with skills and label frequencies: score contributions and products of peers as sums over tasks.

    With z the answer as a unit vector minus the worker's label frequencies, the agreement of two answers to a task is
    z_i·z_j/G, whose mean is x_i x_j. Even classes without response bias have frequencies 1/M and G = 1 - 1/M.
    """

    block: Block  # all tasks
    x: FloatArray  # [workers]
    frequency: FloatArray  # workers × classes
    spread: float  # G
    even: bool  # every task has weight one; otherwise 1/(R - 1)

    def contributions(self, skill: FloatArray) -> FloatArray:
        """Return psi of each answer: its agreements times the peers' skills, minus their mean at the worker's skill."""
        table = peer_table(self.x, skill, self.frequency)
        return answer_pulls([self.block], table, np.array([0.0, 1 / self.spread]), self.even, len(self.block.worker))

    @cached_property
    def shared(self) -> Product:
        """N: the number of tasks that two workers share, weighted."""
        ones = np.ones(len(self.x))
        return _Passes(self.block, peer_table(ones, ones, self.frequency), np.array([1.0, 0.0]), self.even)

    @cached_property
    def peers(self) -> Product:
        """The off-diagonal part of the curvature, 2 N∘xxᵀ - N∘C, with N∘C shrunk a little toward N∘xxᵀ."""
        passes = _Passes(
            self.block,
            peer_table(self.x, np.zeros(len(self.x)), self.frequency),
            np.array([2 - AGREEMENT_SHRINKAGE, (AGREEMENT_SHRINKAGE - 1) / self.spread]),
            self.even,
        )
        per_task = self.block.per_task.astype(np.float64)
        n_answers = per_task.sum()
        n_pairs = (per_task * (per_task - 1)).sum() / 2
        if len(self.x) ** 2 <= ENTRIES_PER_ANSWER * n_answers and n_pairs <= PAIRS_PER_ANSWER * n_answers:
            return peer_matrix([self.block], passes.table, passes.weights, self.even)
        return passes


@dataclass(frozen=True)
class _Passes:
    """A matrix of workers × workers; each product with it is a pass over the answers."""

    block: Block
    table: FloatArray
    weights: FloatArray
    even: bool

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return peer_products([self.block], self.table, self.weights, self.even, v)


def task_sums(answers: Answers, x: FloatArray, frequency: FloatArray, spread: float, *, even: bool) -> TaskSums:
    """Return the answers as one block with the tables for sums over tasks.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> sums = task_sums(answers, np.array([0.5, 1.0]), np.full((2, 2), 0.5), 0.5, even=True)
    >>> sums.contributions(np.zeros(2)).tolist(), (sums.peers @ np.eye(2)).round(3).tolist()
    ([1.0, 0.5], [[0.0, 0.025], [0.025, 0.0]])
    """
    return TaskSums(memory_blocks(answers).all_tasks, x, frequency, spread, even)


@dataclass(frozen=True)
class ScoreContributions:
    """b = sum_t e_t psi_t with random signs e: one sign per task, and one per worker with a prior skill."""

    block: Block  # all tasks
    psi: FloatArray  # contribution of each answer to the score, D·(r - x)
    # [workers]: error of a prior skill, in units of b; empty without prior skills
    prior_errors: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def variance(self) -> FloatArray:
        """The sum of squares of each worker's contributions, prior skill included."""
        inside = self.block.answers
        squares = np.bincount(self.block.worker[inside], self.psi[inside] ** 2, self.block.n_workers)
        total: FloatArray = squares.astype(np.float64, copy=False)
        return total + self.prior_errors**2 if len(self.prior_errors) else total

    def draw(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Return b for k draws; workers × draws."""
        n_workers = self.block.n_workers
        with_prior = np.flatnonzero(self.prior_errors)
        b = np.zeros((n_workers, k))
        n_tasks = self.block.n_tasks
        n_rows = n_tasks + len(with_prior)  # a sign per task, then one per worker with a prior skill
        batch = max(MIN_SIGN_ROWS, n_workers)  # rows of signs that take little memory
        for start in range(0, n_rows, batch):
            stop = min(start + batch, n_rows)
            signs = rng.integers(0, 2, (stop - start, k), dtype=np.int8)
            signs += signs
            signs -= 1
            n_tasks_in_batch = max(min(stop, n_tasks) - start, 0)
            if n_tasks_in_batch:
                tasks = self.block.span(start, start + n_tasks_in_batch)
                signed_sums(tasks, self.psi, signs[:n_tasks_in_batch], b)
            workers = with_prior[max(start - n_tasks, 0) : max(stop - n_tasks, 0)]
            b[workers] += self.prior_errors[workers, None] * signs[n_tasks_in_batch:]
        return b


@dataclass(frozen=True)
class Curvature:
    """Hessian of the least squares at their solution: H = diag(D + ridge) + peers, over the free workers."""

    diagonal: FloatArray  # D
    peers: Product  # off-diagonal part; its diagonal is zero
    is_free: BoolArray  # workers whose skill is an estimate
    ridge: float | FloatArray = 0.0  # strength of the shrinkage of the skills toward their mean


def peer_error(
    curvature: Curvature, contributions: ScoreContributions, shared: Product, x: FloatArray, *, draws: int, seed: int
) -> PeerError:
    """Return f and var(E) of each worker.

    Args:
        curvature: of the least squares at their solution.
        contributions: psi of the answers.
        shared: N, with the weights of the tasks.
        x: the solution.
        draws: number of draws of random signs.
        seed: of the draws.

    >>> tasks = Block(np.array([0, 1, 2]), np.array([0, 1]), np.zeros(2, int), n_workers=2, n_classes=2)
    >>> alone = Curvature(np.full(2, 1e9), np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones(2, dtype=bool))
    >>> error = peer_error(alone, ScoreContributions(tasks, np.ones(2)), np.zeros((2, 2)), np.ones(2), draws=4, seed=0)
    >>> error.inflation.round(6).tolist(), error.relative_variance.tolist()
    ([1.0, 1.0], [0.0, 0.0])
    """
    rng = np.random.default_rng(seed)
    n_workers = len(curvature.diagonal)
    is_informed = curvature.diagonal > 0
    scale = np.where(is_informed, curvature.diagonal, 1.0)[:, None]
    fixed_variance = contributions.variance / scale[:, 0] ** 2  # of o
    at_once = max(1, min(draws, MAX_ENTRIES // max(n_workers, 1)))
    # Sums over the draws, for each worker: o², o times the move if the peers move, too, its square, and E².
    fixed_squares = np.zeros(n_workers)
    products = np.zeros(n_workers)
    moving_squares = np.zeros(n_workers)
    relative_squares = np.zeros(n_workers)
    for done in tracked("estimating intervals", range(0, draws, at_once)):
        b = contributions.draw(min(at_once, draws - done), rng)
        d, from_peers = displacements(curvature, b)
        move_if_fixed = b / scale  # o, of each raw estimate if its peers are fixed
        move = (b - from_peers) / scale  # if its peers move, too
        relative_error = (shared @ (x[:, None] * d)) / scale  # E
        products += np.einsum("wk,wk->w", move, move_if_fixed)
        fixed_squares += np.einsum("wk,wk->w", move_if_fixed, move_if_fixed)
        moving_squares += np.einsum("wk,wk->w", move, move)
        relative_squares += np.einsum("wk,wk->w", relative_error, relative_error)
    is_moved = fixed_squares > draws * MIN_STANDARD_DEVIATION**2
    slope = np.divide(products, fixed_squares, out=np.ones(n_workers), where=is_moved)
    residual_variance = np.maximum(moving_squares - slope * products, 0.0) / max(draws - 1, 1)
    is_variable = fixed_variance > MIN_STANDARD_DEVIATION**2
    f = slope**2 + np.divide(residual_variance, fixed_variance, out=np.zeros(n_workers), where=is_variable)
    return PeerError(
        np.where(is_informed, np.maximum(f, 1.0), 1.0), np.where(is_informed, relative_squares / draws, 0.0)
    )


def displacements(curvature: Curvature, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return d with H d = b over the free workers, for all draws at once, without directions of little curvature.

    The second array is the off-diagonal part of H d for all workers, free or not.

    >>> pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> curvature = Curvature(np.array([2.0, 2.0]), pair, np.ones(2, dtype=bool))
    >>> [part.round(6).tolist() for part in displacements(curvature, np.array([[3.0], [3.0]]))]
    [[[1.0], [1.0]], [[1.0], [1.0]]]
    """
    is_free = curvature.is_free & (curvature.diagonal + curvature.ridge > 0)
    diagonal = np.where(is_free, curvature.diagonal + curvature.ridge, 1.0)

    def product(directions: FloatArray) -> FloatArray:
        among_peers = np.where(is_free[:, None], curvature.peers @ directions, 0.0)
        image: FloatArray = diagonal[:, None] * directions + among_peers
        return image

    right_sides = np.where(is_free[:, None], b, 0.0)
    tolerance = float(np.sqrt(ERROR_TOLERANCE * MIN_CURVATURE / max(int(is_free.sum()), 1)))
    d, residual = block_cg(
        product, right_sides, diagonal, tolerance=tolerance, max_products=MAX_CG_PRODUCTS, min_curvature=MIN_CURVATURE
    )
    # The residual has H d for the free workers, which saves one product of about five.
    return d, right_sides - residual - diagonal[:, None] * d if is_free.all() else curvature.peers @ d
