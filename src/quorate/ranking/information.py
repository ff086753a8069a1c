"""Information of items and common effects if judges are estimated too: a Schur complement, by sums over cells.

The judges' block is block-diagonal (skill and side bias of each), so it is eliminated judge by judge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from quorate.arrays import FloatArray
from quorate.ranking.bradley_terry import Derivatives, RankingParameters, effect_information, laplacian
from quorate.ranking.comparisons import ComparisonCells
from quorate.ranking.judges import EstimatedParameters

MAX_DENSE_CROSS = 4_000_000  # items × judges of a dense cross block, 32 MB; larger blocks are sparse
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
        for start in range(0, len(total), JUDGES_AT_ONCE * n_kept):
            columns = slice(start, start + JUDGES_AT_ONCE * n_kept)
            gain = self.gain[:, columns]
            gain = gain.toarray() if sparse.issparse(gain) else gain
            total[columns] = np.einsum("ij,ij->j", gain, core_inverse @ gain)
        total = total.reshape(-1, n_kept)
        given_items = np.einsum("kaa->ka", self.judge_inverse)
        return {index: given_items[:, column] + total[:, column] for column, index in enumerate(self.kept)}


def joint_information(
    cells: ComparisonCells,
    derivatives: Derivatives,
    parameters: RankingParameters,
    estimated: EstimatedParameters,
    strength_precision: float,
) -> JointInformation:
    """Return the information of strengths, common effects, skills and side biases at the parameters."""
    n = cells.n_items
    n_judges = cells.n_judges
    n_effects = cells.covariates.shape[1]
    skill = cells.of_judge(parameters.skill)
    items, _ = laplacian(cells, derivatives.information * skill**2, strength_precision)
    weighted = derivatives.information * skill
    core = items
    if n_effects:
        border, of_effects = effect_information(cells, derivatives.information, skill)
        core = sparse.bmat([[items, border], [border.T, of_effects]], format="csr")
    kept = tuple(index for index, used in enumerate((estimated.skill, estimated.side)) if used)
    if not kept:
        empty = np.zeros((n + n_effects, 0))
        return JointInformation(core, empty, empty, np.zeros((n_judges, 0, 0)), np.zeros(0), kept)

    design = {0: derivatives.gap, 1: np.ones(len(derivatives.gap))}
    variance = {0: parameters.variances.skill, 1: parameters.variances.side}
    block = np.zeros((n_judges, len(kept), len(kept)))
    for row, first in enumerate(kept):
        for column, second in enumerate(kept):
            block[:, row, column] = cells.by_judge(derivatives.information * design[first] * design[second])
        block[:, row, row] += 1 / variance[first]
    inverse: FloatArray = np.linalg.inv(block).astype(np.float64)
    crosses = []
    for index in kept:
        by_item = _item_judge_sums(cells, weighted * design[index])
        if n_effects:
            values = derivatives.information * design[index]
            by_effect = np.stack([cells.by_judge(values * column) for column in cells.covariates.T])
            stack = sparse.vstack if sparse.issparse(by_item) else np.vstack
            by_item = stack([by_item, by_effect])
        crosses.append(by_item)
    cross = _interleave(crosses)
    gain = cross @ sparse.block_diag(list(inverse), format="csr") if sparse.issparse(cross) else _apply(cross, inverse)
    precision = np.tile([1 / variance[index] for index in kept], n_judges)
    return JointInformation(core, cross, gain, inverse, precision, kept)


def _item_judge_sums(cells: ComparisonCells, values: FloatArray) -> Any:
    """Return sums by item and judge, left minus right [items, judges]; dense if it is small."""
    n = cells.n_items
    n_judges = cells.n_judges
    if n * n_judges <= MAX_DENSE_CROSS:
        return cells.by_item_and_judge(values)
    rows = np.concatenate([cells.left, cells.right])
    columns = np.concatenate([cells.judge, cells.judge])
    return sparse.csr_matrix((np.concatenate([values, -values]), (rows, columns)), shape=(n, n_judges))


def _interleave(matrices: list[Any]) -> Any:
    """Return the matrices side by side, with the columns of one judge next to each other."""
    if len(matrices) == 1:
        return matrices[0]
    n_judges = matrices[0].shape[1]
    order = np.arange(len(matrices) * n_judges).reshape(len(matrices), n_judges).T.ravel()
    if sparse.issparse(matrices[0]):
        return sparse.hstack(matrices, format="csc")[:, order].tocsr()
    return np.hstack(matrices)[:, order]


def _apply(cross: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the product of a dense cross block and the block-diagonal inverse."""
    n_judges, n_kept, _ = inverse.shape
    blocks = cross.reshape(len(cross), n_judges, n_kept)
    product = np.zeros_like(blocks)
    for column in range(n_kept):
        for row in range(n_kept):  # einsum takes several times as long for blocks of one or two rows
            product[:, :, column] += blocks[:, :, row] * inverse[:, row, column]
    return product.reshape(len(cross), n_judges * n_kept)
