"""The two products that every solver needs, N v and (N∘C) v: from answers in linear time, or from pairs.

With a_ijt = M/(M-1)·[same class] - 1/(M-1), the sum of a_ijt over the tasks that i and j share is N_ij C_ij. So
(N∘C) v needs only the sum of v over the workers of each task, and over those of them who gave each class, but no pairs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.kernels import agreement_products, coincidences, power_sums
from quorate.blocks.memory import Answered, blocks_of
from quorate.errors import OptionError
from quorate.graph.laplacian import symmetric_table
from quorate.graph.pairs import correlations, pair_stats, sums_of_ends

WEIGHTINGS: dict[str, Callable[[IntArray], FloatArray]] = {
    "shared": lambda shared: shared.astype(np.float64),  # N_ij, the inverse variance of C_ij; the default
    "binary": lambda shared: np.ones(len(shared)),
    "squared": lambda shared: shared.astype(np.float64) ** 2,
}
Weighting: TypeAlias = str | Callable[[IntArray], FloatArray]  # a name, or N_ij of the pairs -> their weights


def weights_of(weighting: Weighting, shared: IntArray) -> FloatArray:
    """Return the weight of each pair.

    Raises:
        OptionError: a function returned a wrong number of weights, or a weight that is not finite and above zero.

    >>> weights_of("binary", np.array([4, 9])).tolist(), weights_of(np.sqrt, np.array([4, 9])).tolist()
    ([1.0, 1.0], [2.0, 3.0])
    """
    if isinstance(weighting, str):
        return WEIGHTINGS[weighting](shared)
    weights = np.asarray(weighting(shared), dtype=np.float64)
    if weights.shape != shared.shape:
        raise OptionError(f"weighting must return one weight for each of {len(shared):,} pairs, got {weights.shape}")
    is_wrong = ~(np.isfinite(weights) & (weights > 0))
    if is_wrong.any():
        first = int(np.flatnonzero(is_wrong)[0])
        raise OptionError(
            f"weighting must return finite weights above zero, got {weights[first]} for {shared[first]:,} shared tasks"
        )
    return weights


class Operator(Protocol):
    """A symmetric workers × workers matrix with zero diagonal, accessible only through products with vectors."""

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The statistics of the answers on which the least-squares objective depends."""

    shared: Operator  # N, or the weights of the pairs
    signed: Operator  # N∘C, or weights∘C
    degree: FloatArray  # row sums of N
    # constant of the objective: sum over pairs of workers of N_ij C_ij², or over pairs of answers of a_ijt²
    energy: float
    # (low, high) -> sum_j N_ij·clip(|C_ij|, low, high); None if only sums over tasks can be computed
    absolute_sums: Callable[[float, float], FloatArray] | None = None

    # x -> (N∘C) x and N x² in one pass over the answers; None if N and N∘C are matrices
    signed_and_squares: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None
    # all pairs: i, j, weight, correlation; None if a table of pairs is too large
    table: Callable[[], tuple[IntArray, IntArray, FloatArray, FloatArray]] | None = None

    @property
    def n_workers(self) -> int:
        """W."""
        return len(self.degree)

    def products(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x², from which loss, gradient and each worker's best skill are computed."""
        if self.signed_and_squares is not None:
            return self.signed_and_squares(x)
        return self.signed @ x, self.shared @ (x * x)


@dataclass(frozen=True)
class SharedTasks:
    """N, multiplied by sums over the workers of each task, without the worker itself."""

    blocks: Blocks
    even: bool = True  # every task has weight one; otherwise 1/(R - 1)

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        product: FloatArray = self.blocks.sum(power_sums, np.zeros(len(v)), v, self.even)[0][-1]
        return product


@dataclass(frozen=True)
class Agreements:
    """N∘C, multiplied by sums over the workers of each task, and over those of them who gave each class."""

    blocks: Blocks

    def __matmul__(self, v: FloatArray, /) -> FloatArray:
        """Multiply by a vector in O(answers)."""
        return self.signed_and_squares(v)[0]

    def signed_and_squares(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N∘C) x and N x²."""
        signed, squares = self.blocks.sum(agreement_products, x, self.blocks.n_classes)
        return signed, squares


def from_answers(answers: Answered) -> Moments:
    """Return the moments with the weights N_ij, computed without a table of pairs.

    >>> import quorate
    >>> moments = from_answers(quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxxy")}))
    >>> (moments.shared @ np.array([1.0, 10.0])).tolist(), (moments.signed @ np.array([1.0, 10.0])).tolist()
    ([20.0, 2.0], [0.0, 0.0])
    """
    m = answers.n_classes
    blocks = blocks_of(answers)
    agreed, disagreed = (int(total) for total in blocks.sum(coincidences, m)[0])
    shared = SharedTasks(blocks)
    signed = Agreements(blocks)

    def absolute_sums(low: float, high: float) -> FloatArray:
        assert isinstance(answers, Answers)
        pairs = pair_stats(answers)
        entries = pairs.shared * np.clip(np.abs(correlations(pairs, m)), low, high)
        return pairs.by_worker(answers.n_workers, entries)

    return Moments(
        shared,
        signed,
        shared @ np.ones(answers.n_workers),
        energy=float(agreed + disagreed / (m - 1) ** 2),  # a_ijt is 1, or -1/(M-1)
        absolute_sums=absolute_sums if isinstance(answers, Answers) else None,
        signed_and_squares=signed.signed_and_squares,
    )


def from_pairs(n_workers: int, i: IntArray, j: IntArray, weights: FloatArray, correlation: FloatArray) -> Moments:
    """Return the moments of given pairs with any weights and correlations.

    >>> moments = from_pairs(2, np.array([0]), np.array([1]), np.array([4.0]), np.array([0.5]))
    >>> (moments.signed @ np.array([1.0, 10.0])).tolist()
    [20.0, 2.0]
    """

    def absolute_sums(low: float, high: float) -> FloatArray:
        entries = weights * np.clip(np.abs(correlation), low, high)
        return sums_of_ends(n_workers, i, j, entries)

    return Moments(
        symmetric_table(n_workers, i, j, weights),
        symmetric_table(n_workers, i, j, weights * correlation),
        sums_of_ends(n_workers, i, j, weights),
        energy=float((weights * correlation**2).sum()),
        absolute_sums=absolute_sums,
        table=lambda: (i, j, weights, correlation),
    )
