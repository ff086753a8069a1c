"""What the errors of the peers' skills add to the variance of a raw skill.

The contribution of each task is multiplied by a random sign e_t = ±1: the score b = sum_t e_t psi_t moves the solution
by d, with H d = b and H the curvature, while a worker whose peers stood still would move by o = b/D. Over many draws
the variance of the former over that of the latter is f, the variance inflation at the estimated skill. Most of the two
is common chance, so d is first explained by o, whose variance is known, and only the rest is estimated from the draws.

A raw skill is the quotient of a worker's agreement and its peers' skills. If the worker's skill were u, an error d_j of
the peers' skills would change it by -u E with E = sum_j N_ij x_j d_j / D_i, the relative error of the peers. So its
variance grows with u² var(E), the larger the skill that is tried (Fieller).

Every skill that is an estimate has an error, also one at an end of its box: there the estimate does not move with the
data, but the skill may be any that its own answers allow.

Where workers are few beside the answers, the part of H outside its diagonal is a matrix of workers × workers, summed in
one pass; otherwise each product with it is a pass over the answers.
"""

from collections.abc import Iterator
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

# Share of the mean variance of a worker's error that the solution may lack, in the flattest direction that is followed.
# A direction of curvature c has a share c of b and 1/c of the error, so that the residual must be small against it: at
# 1 % of b nothing of the scale of a star of 400 workers was in d, and of their centres 5 % were in their interval.
TOLERANCE = 0.1
STEPS = 200  # of conjugate gradients at the most; a star of 31 workers whose scale rests on one pair takes about 30
# Curvature, relative to the diagonal, below which a direction is not followed. Along it an error would be 30 times that
# of a worker whose peers are known: no skill is out of range there, and `weak_identification` names its workers.
FLAT = 0.001
SIGNED_TASKS = 2_000  # whose signs are drawn at a time, or as many as there are workers
DRAWN = (
    0.05  # how far the agreements inside H are shrunk toward what the skills predict, lest noise alone make H singular
)
ENTRIES = 4_000_000  # of a matrix of workers × draws: 32 MB
# Standard deviation of a skill below which it is rounding: of a worker whose answers are exactly as its skill predicts
# it is 1e-18 to 1e-15, of other workers of the public sets at least 3e-4.
ROUNDING = 1e-9
# A matrix of workers × workers is made up to 4 entries (32 bytes) per answer, and 30 pairs of answers per answer:
# above, its sums cost more than the passes that it saves, of which 60 draws take four or more.
ENTRIES_PER_ANSWER = 4
PAIRS_PER_ANSWER = 30


class Product(Protocol):
    """A matrix of workers × workers."""

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by workers × draws."""


@dataclass(frozen=True)
class TaskSums:
    """Answers with skills and label frequencies: pulls and products among peers as sums over tasks.

    With z the answer as a unit vector less the worker's label frequencies, two answers to a task agree by z_i·z_j/G,
    whose mean is x_i x_j. Even classes without response bias have frequencies 1/M and G = 1 - 1/M.
    """

    block: Block  # all tasks
    x: FloatArray  # [workers]
    frequency: FloatArray  # workers × classes
    spread: float  # G
    even: bool  # every task weighs one; otherwise 1/(R - 1)

    def pulls(self, tried: FloatArray) -> FloatArray:
        """Return psi of each answer: its agreements times the peers' skills, less what a skill ``tried`` predicts."""
        table = peer_table(self.x, tried, self.frequency)
        return answer_pulls([self.block], table, np.array([0.0, 1 / self.spread]), self.even, len(self.block.worker))

    @cached_property
    def shared(self) -> Product:
        """N: the tasks that two workers share, by their weight."""
        ones = np.ones(len(self.x))
        return _Passes(self.block, peer_table(ones, ones, self.frequency), np.array([1.0, 0.0]), self.even)

    @cached_property
    def peers(self) -> Product:
        """The curvature among peers, 2 N∘xxᵀ - N∘C, the latter drawn a little to N∘xxᵀ."""
        passes = _Passes(
            self.block,
            peer_table(self.x, np.zeros(len(self.x)), self.frequency),
            np.array([2 - DRAWN, (DRAWN - 1) / self.spread]),
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
    """The same matrix, each product being a pass over the answers."""

    block: Block
    table: FloatArray
    weights: FloatArray
    even: bool

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        return peer_products([self.block], self.table, self.weights, self.even, v)


def task_sums(answers: Answers, x: FloatArray, frequency: FloatArray, spread: float, *, even: bool) -> TaskSums:
    """Lay answers out for sums over tasks.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> sums = task_sums(answers, np.array([0.5, 1.0]), np.full((2, 2), 0.5), 0.5, even=True)
    >>> sums.pulls(np.zeros(2)).tolist(), (sums.peers @ np.eye(2)).round(3).tolist()
    ([1.0, 0.5], [[0.0, 0.025], [0.025, 0.0]])
    """
    return TaskSums(memory_blocks(answers).all_tasks, x, frequency, spread, even)


@dataclass(frozen=True)
class Pulls:
    """b = sum_t e_t psi_t of random signs e: a sign for each task, and for what is known of a worker from before."""

    block: Block  # all tasks
    psi: FloatArray  # of each answer: its contribution to the score, D·(r - x)
    known: FloatArray = field(default_factory=lambda: np.zeros(0))  # [workers]: by how much that may be off, as a pull

    @property
    def variance(self) -> FloatArray:
        """The sum of squares of each worker's pulls."""
        inside = self.block.answers
        squares = np.bincount(self.block.worker[inside], self.psi[inside] ** 2, self.block.n_workers)
        total: FloatArray = squares.astype(np.float64, copy=False)
        return total + self.known**2 if len(self.known) else total

    def draw(self, k: int, rng: np.random.Generator) -> FloatArray:
        """Return b for k draws; workers × draws."""
        n_workers = self.block.n_workers
        known = np.flatnonzero(self.known)
        b = np.zeros((n_workers, k))
        for start, stop in _spans(self.block.n_tasks + len(known), n_workers):
            signs = rng.integers(0, 2, (stop - start, k), dtype=np.int8)
            signs += signs
            signs -= 1
            n_here = max(min(stop, self.block.n_tasks) - start, 0)
            if n_here:
                signed_sums(self.block.span(start, start + n_here), self.psi, signs[:n_here], b)
            of_known = known[max(start - self.block.n_tasks, 0) : max(stop - self.block.n_tasks, 0)]
            b[of_known] += self.known[of_known, None] * signs[n_here:]
        return b


@dataclass(frozen=True)
class Curvature:
    """The least squares near their solution: H = diag(D + ridge) + peers, over the workers that are free to move."""

    diagonal: FloatArray  # D
    peers: Product  # whose diagonal is zero
    is_free: BoolArray  # whose skill is an estimate
    ridge: float | FloatArray = 0.0  # by which skills are shrunk toward their mean; raw estimates are not


def peer_error(
    curvature: Curvature, pulls: Pulls, shared: Product, x: FloatArray, *, draws: int, seed: int
) -> PeerError:
    """Return f and var(E) of each worker.

    Args:
        curvature: of the least squares at their solution.
        pulls: psi of the answers.
        shared: N, by the weight of the tasks.
        x: the solution.
        draws: of random signs.
        seed: of those.

    >>> tasks = Block(np.array([0, 1, 2]), np.array([0, 1]), np.zeros(2, int), n_workers=2, n_classes=2)
    >>> alone = Curvature(np.full(2, 1e9), np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones(2, dtype=bool))
    >>> error = peer_error(alone, Pulls(tasks, np.ones(2)), np.zeros((2, 2)), np.ones(2), draws=4, seed=0)
    >>> error.inflation.round(6).tolist(), error.relative_variance.tolist()
    ([1.0, 1.0], [0.0, 0.0])
    """
    rng = np.random.default_rng(seed)
    n_workers = len(curvature.diagonal)
    is_informed = curvature.diagonal > 0
    scale = np.where(is_informed, curvature.diagonal, 1.0)[:, None]
    known = pulls.variance / scale[:, 0] ** 2  # the variance of o
    at_once = max(1, min(draws, ENTRIES // max(n_workers, 1)))
    both, squared, total, relative = (np.zeros(n_workers) for _ in range(4))
    for done in tracked("estimating intervals", range(0, draws, at_once)):
        b = pulls.draw(min(at_once, draws - done), rng)
        d = displacements(curvature, b)
        moved = (b - curvature.peers @ d) / scale  # of each raw estimate, everyone moving at once
        alone = b / scale
        of_peers = (shared @ (x[:, None] * d)) / scale
        both += np.einsum("wk,wk->w", moved, alone)
        squared += np.einsum("wk,wk->w", alone, alone)
        total += np.einsum("wk,wk->w", moved, moved)
        relative += np.einsum("wk,wk->w", of_peers, of_peers)
    slope = np.divide(both, squared, out=np.ones(n_workers), where=squared > draws * ROUNDING**2)
    rest = np.maximum(total - slope * both, 0.0) / max(draws - 1, 1)
    f = slope**2 + np.divide(rest, known, out=np.zeros(n_workers), where=known > ROUNDING**2)
    return PeerError(np.where(is_informed, np.maximum(f, 1.0), 1.0), np.where(is_informed, relative / draws, 0.0))


def displacements(curvature: Curvature, b: FloatArray) -> FloatArray:
    """Solve H d = b over the free workers, all draws at once; directions that the data hardly determine are left.

    >>> pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> curvature = Curvature(np.array([2.0, 2.0]), pair, np.ones(2, dtype=bool))
    >>> displacements(curvature, np.array([[3.0], [3.0]])).round(6).tolist()
    [[1.0], [1.0]]
    """
    is_free = curvature.is_free & (curvature.diagonal + curvature.ridge > 0)
    diagonal = np.where(is_free, curvature.diagonal + curvature.ridge, 1.0)

    def product(directions: FloatArray) -> FloatArray:
        among_peers = np.where(is_free[:, None], curvature.peers @ directions, 0.0)
        image: FloatArray = diagonal[:, None] * directions + among_peers
        return image

    right_sides = np.where(is_free[:, None], b, 0.0)
    tolerance = float(np.sqrt(TOLERANCE * FLAT / max(int(is_free.sum()), 1)))
    return block_cg(product, right_sides, diagonal, tolerance=tolerance, max_products=STEPS, min_curvature=FLAT)


def _spans(n_rows: int, n_workers: int) -> Iterator[tuple[int, int]]:
    """Divide the rows of signs into runs that take little memory."""
    size = max(SIGNED_TASKS, n_workers)
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)
