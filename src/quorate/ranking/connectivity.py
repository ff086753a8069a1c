"""What the comparisons cannot determine, computed before the fit, in linear time in the rows."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from quorate.arrays import FloatArray, IntArray
from quorate.ranking.comparisons import LEFT, TIE, Comparisons, numbered, sum_by

MAX_LSMR_ITERATIONS = 300


@dataclass(frozen=True)
class Connectivity:
    """The comparison graph: which items can be placed on one scale, and whether estimates are finite.

    Attributes:
        part: connected component of each item [items]; items of two parts were never compared, even indirectly.
        n_parts: number of components.
        block: strongly connected component of each item in the graph "beats or ties" [items]. The plain maximum
            likelihood estimate is finite only within a block (Ford, 1957).
        never_loses: whether no item outside its block beat or tied an item of the block [items].
        never_wins: whether no item of its block beat or tied an item outside it [items].
        free_share: share of each common effect that differences of items do not explain [effects]; the side is first.
            If it is 0, the effect cannot be separated from the strengths.
    """

    part: IntArray
    n_parts: int
    block: IntArray
    never_loses: np.ndarray
    never_wins: np.ndarray
    free_share: FloatArray


def connectivity(comparisons: Comparisons) -> Connectivity:
    """Return parts, strongly connected blocks, and the share of each effect that items do not explain."""
    n = comparisons.n_items
    left = comparisons.left
    right = comparisons.right
    is_left = comparisons.outcome == LEFT
    is_tie = comparisons.outcome == TIE
    won = np.where(is_left, left, right)
    lost = np.where(is_left, right, left)
    rows = np.concatenate([won, lost[is_tie]])
    columns = np.concatenate([lost, won[is_tie]])
    beats = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    n_parts, part = connected_components(beats, directed=False)
    n_blocks, block = connected_components(beats, directed=True, connection="strong")
    edges = beats.tocoo()
    is_between = block[edges.row] != block[edges.col]
    loses = np.zeros(n_blocks, dtype=bool)
    wins = np.zeros(n_blocks, dtype=bool)
    loses[block[edges.col[is_between]]] = True
    wins[block[edges.row[is_between]]] = True
    is_split = np.bincount(part, minlength=n_parts)[part] > np.bincount(block, minlength=n_blocks)[block]
    return Connectivity(
        part=part.astype(np.int64),
        n_parts=int(n_parts),
        block=block.astype(np.int64),
        never_loses=is_split & ~loses[block],
        never_wins=is_split & ~wins[block],
        free_share=_free_shares(comparisons),
    )


def _free_shares(comparisons: Comparisons) -> FloatArray:
    """Return, for the side and each covariate, the share of its sum of squares outside the span of item differences."""
    left = comparisons.left
    right = comparisons.right
    weight = comparisons.weight
    covariates = comparisons.covariates
    n_items = comparisons.n_items
    if not covariates.shape[1]:  # the side alone: one row per ordered pair is enough
        pairs, pair = numbered(left, right, n_items)
        weight = sum_by(pair, weight, len(pairs))
        left = pairs // n_items
        right = pairs % n_items
        covariates = np.zeros((len(pairs), 0))
    n_rows = len(left)
    root = np.sqrt(weight)
    row = np.arange(n_rows)
    values = np.concatenate([root, -root])
    positions = (np.concatenate([row, row]), np.concatenate([left, right]))
    differences = sparse.csr_matrix((values, positions), shape=(n_rows, n_items))
    effects = np.column_stack([np.ones(n_rows), covariates])
    shares = []
    for column in effects.T:
        target = column * root
        total = float(target @ target)
        if total == 0:
            shares.append(0.0)
            continue
        solution = lsmr(differences, target, atol=1e-12, btol=1e-12, maxiter=MAX_LSMR_ITERATIONS)[0]
        residual = target - differences @ solution
        shares.append(float(residual @ residual) / total)
    return np.array(shares)
