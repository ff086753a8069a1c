"""Information of items and common effects if judges are estimated too: a Schur complement, by sums over cells.

The judges' block is block-diagonal (skill and side bias of each), so it is eliminated judge by judge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from quorate.arrays import FloatArray
from quorate.ranking.bradley_terry import (
    EFFECT_PRECISION,
    RankingParameters,
    cell_derivatives,
    effect_information,
    laplacian,
)
from quorate.ranking.comparisons import ComparisonCells
from quorate.ranking.judges import EstimatedParameters

MAX_DENSE_CROSS = 4_000_000  # items × judges of a dense cross block, 32 MB; larger blocks are sparse
MAX_NUMBERS_PER_CELL = 10  # items × judges per cell; above it most numbers of a dense block are zero
JUDGES_AT_ONCE = 4096  # judges whose marginal variances are computed together


def inverse_of(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


@dataclass(frozen=True)
class JointInformation:
    """Blocks of the information matrix.

    Attributes:
        core: items and common effects [core, core] with their priors, sparse.
        cross: core by judge parameters [core, judges × kept], dense or sparse.
        gain: cross times the inverse of the judges' block [core, judges × kept].
        judge_inverse: inverse block of each judge [judges, kept, kept].
        prior_precision: prior precision of each judge parameter [judges × kept].
        kept: which of skill (0) and side bias (1) are estimated.
    """

    core: sparse.csr_matrix
    cross: Any
    gain: Any
    judge_inverse: FloatArray
    prior_precision: FloatArray
    kept: tuple[int, ...]

    def schur(self) -> FloatArray:
        """Return the information of the core when judges are estimated too; dense."""
        if not self.kept:
            return np.asarray(self.core.toarray())
        product = self.gain @ self.cross.T
        return np.asarray(self.core.toarray() - (product.toarray() if sparse.issparse(product) else product))

    def judge_variances(self, core_inverse: FloatArray) -> dict[int, FloatArray]:
        """Return the marginal variance of each judge's kept parameters, given the inverse of `schur`."""
        n_kept = len(self.kept)
        if not n_kept:
            return {}
        total = np.zeros(self.judge_inverse.shape[0] * n_kept)
        is_sparse = sparse.issparse(self.gain)
        gain = self.gain.T.tocsr() if is_sparse else self.gain
        for start in range(0, len(total), JUDGES_AT_ONCE * n_kept):
            part = slice(start, start + JUDGES_AT_ONCE * n_kept)
            if is_sparse:
                rows = gain[part]
                total[part] = np.asarray(rows.multiply(rows @ core_inverse).sum(axis=1)).ravel()
            else:
                columns = gain[:, part]
                total[part] = np.einsum("ij,ij->j", columns, core_inverse @ columns)
        total = total.reshape(-1, n_kept)
        given_items = np.einsum("kaa->ka", self.judge_inverse)
        return {index: given_items[:, column] + total[:, column] for column, index in enumerate(self.kept)}


def joint_information(
    cells: ComparisonCells,
    parameters: RankingParameters,
    estimated: EstimatedParameters,
    strength_precision: float,
    *,
    derivatives_at: RankingParameters | None = None,
) -> JointInformation:
    """Return the information of strengths, common effects, skills and side biases.

    Args:
        cells: the comparisons.
        parameters: parameters whose skills multiply the information of the items.
        estimated: which parameters of judges are estimated.
        strength_precision: prior precision of the strengths.
        derivatives_at: parameters at which the derivatives are taken, if others.
    """
    n = cells.n_items
    n_judges = cells.n_judges
    n_effects = cells.covariates.shape[1]
    kept = tuple(index for index, used in enumerate((estimated.skill, estimated.side)) if used)
    is_dense = n * n_judges <= min(MAX_DENSE_CROSS, MAX_NUMBERS_PER_CELL * len(cells.left))
    by_pair = np.zeros(len(cells.pair_low))
    border = np.zeros((n, n_effects))
    of_effects = EFFECT_PRECISION * np.eye(n_effects)
    block = np.zeros((n_judges, len(kept), len(kept)))
    # By item and judge if they are dense; otherwise the values of the cells, of which a sparse matrix is made.
    by_item = [np.zeros((n, n_judges)) if is_dense else np.zeros(len(cells.left)) for _ in kept]
    by_effect = [np.zeros((n_effects, n_judges)) for _ in kept]
    begin = 0
    for piece, judges in cells.pieces():
        information, gap = _information_of(piece, (derivatives_at or parameters).of_judges(judges))
        skill = piece.of_judge(parameters.skill[judges])
        by_pair += piece.by_pair(information * skill**2)
        if n_effects:
            piece_border, piece_effects = effect_information(piece, information, skill)
            border += piece_border
            of_effects += piece_effects
        design = {0: gap, 1: np.ones(len(gap))}
        end = begin + len(gap)
        for row, first in enumerate(kept):
            values = information * design[first]
            for column, second in enumerate(kept[: row + 1]):
                sums = piece.by_judge(values * design[second])
                block[judges, row, column] += sums
                if column < row:
                    block[judges, column, row] += sums
            if is_dense:
                by_item[row][:, judges] += piece.by_item_and_judge(values * skill)
            else:
                by_item[row][begin:end] = values * skill
            for effect, covariate in enumerate(piece.covariates.T):
                by_effect[row][effect, judges] += piece.by_judge(values * covariate)
        begin = end
    core, _ = laplacian(cells, by_pair, strength_precision)
    if n_effects:
        core = sparse.bmat([[core, border], [border.T, of_effects]], format="csr")
    if not kept:
        empty = np.zeros((n + n_effects, 0))
        return JointInformation(core, empty, empty, np.zeros((n_judges, 0, 0)), np.zeros(0), kept)

    variance = {0: parameters.variances.skill, 1: parameters.variances.side}
    for row, first in enumerate(kept):
        block[:, row, row] += 1 / variance[first]
    inverse: FloatArray = np.linalg.inv(block).astype(np.float64)
    crosses = []
    for of_items, of_effect in zip(by_item, by_effect, strict=True):
        cross_of_kind = of_items if is_dense else _item_judge_sums(cells, of_items)
        if n_effects:
            stack = np.vstack if is_dense else sparse.vstack
            cross_of_kind = stack([cross_of_kind, of_effect])
        crosses.append(cross_of_kind)
    cross = _interleave(crosses)
    gain = _apply(cross, inverse) if is_dense else cross @ _block_diagonal(inverse)
    precision = np.tile([1 / variance[index] for index in kept], n_judges)
    return JointInformation(core, cross, gain, inverse, precision, kept)


def _information_of(cells: ComparisonCells, parameters: RankingParameters) -> tuple[FloatArray, FloatArray]:
    derivatives = cell_derivatives(cells, parameters)
    return derivatives.information, derivatives.gap


def _item_judge_sums(cells: ComparisonCells, values: FloatArray) -> Any:
    """Return sums by item and judge, left minus right, as a sparse matrix [items, judges]."""
    rows = np.concatenate([cells.left, cells.right])
    columns = np.concatenate([cells.judge, cells.judge])
    return sparse.csr_matrix(
        (np.concatenate([values, -values]), (rows, columns)), shape=(cells.n_items, cells.n_judges)
    )


def _interleave(matrices: list[Any]) -> Any:
    """Return the matrices side by side, with the columns of one judge next to each other."""
    if len(matrices) == 1:
        return matrices[0]
    n_judges = matrices[0].shape[1]
    order = np.arange(len(matrices) * n_judges).reshape(len(matrices), n_judges).T.ravel()
    if sparse.issparse(matrices[0]):
        return sparse.hstack(matrices, format="csc")[:, order].tocsr()
    return np.hstack(matrices)[:, order]


def _block_diagonal(blocks: FloatArray) -> sparse.csr_matrix:
    """Return the block-diagonal matrix of blocks of one size [blocks, size, size]."""
    n_blocks, size, _ = blocks.shape
    return sparse.bsr_matrix(
        (blocks, np.arange(n_blocks), np.arange(n_blocks + 1)), shape=(n_blocks * size, n_blocks * size)
    ).tocsr()


def _apply(cross: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the product of a dense cross block and the block-diagonal inverse."""
    n_judges, n_kept, _ = inverse.shape
    blocks = cross.reshape(len(cross), n_judges, n_kept)
    product = np.zeros_like(blocks)
    for column in range(n_kept):
        for row in range(n_kept):  # einsum takes several times as long for blocks of one or two rows
            product[:, :, column] += blocks[:, :, row] * inverse[:, row, column]
    return product.reshape(len(cross), n_judges * n_kept)
