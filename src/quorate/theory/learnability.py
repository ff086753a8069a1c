"""The conditions of learnability as the paper states them, and a check for skills of zero, for which they fail.

[Ma20, Theorem 8, learnability]: with a connected interaction graph, a rich, truth-complete set of instances is
learnable if and only if (i) any two of its skill vectors with the same absolute values and the same partition into
positive and negative workers are equal, and (ii) the graph is not bipartite. According to [Ma20, Lemma 9, asylearn],
|s| can then be recovered for *any* s in [-1, 1]^W. But its proof divides by correlations along the odd cycle and along
paths, so the skills there must not be zero. `learnability_conditions` returns the conditions as stated, and which
skills are determined if zeros are taken into account.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError
from quorate.graph.components import identify_pairs
from quorate.graph.pairs import PairStats
from quorate.io.arguments import check_arguments


@dataclass(frozen=True)
class Learnability:
    """The paper's conditions on a graph and a skill vector, and which skills exact correlations determine."""

    is_connected: bool
    is_nonbipartite: bool  # condition (ii), of every component
    sum_is_positive: bool  # of the skills of every component; sufficient for condition (i)
    is_determined: BoolArray  # of each worker: whether exact correlations determine |s_i|, also with skills of zero

    @property
    def as_stated(self) -> bool:
        """Whether the theorem calls the instance learnable: condition (ii), and a positive sum for the signs."""
        return self.is_nonbipartite and self.sum_is_positive

    @property
    def holds(self) -> bool:
        """Whether every skill is determined, also with skills of zero."""
        return self.sum_is_positive and bool(self.is_determined.all())


@check_arguments
def learnability_conditions(n_workers: int, i: IntArray, j: IntArray, skills: FloatArray) -> Learnability:
    """Return the conditions of the theorem for workers who share tasks along the edges (i, j).

    Args:
        n_workers: W.
        i: first worker of each edge.
        j: second worker of each edge.
        skills: s, one per worker.

    Raises:
        OptionError: the number of skills is not the number of workers.

    >>> i, j = np.array([0, 0, 0, 1, 2]), np.array([1, 2, 3, 2, 3])
    >>> skills = np.array([0.0, 0.9, 0.3, 0.7])  # every odd cycle passes through the guesser
    >>> conditions = learnability_conditions(4, i, j, skills)
    >>> conditions.as_stated, conditions.holds, conditions.is_determined.tolist()
    (True, False, [True, False, False, False])
    """
    if len(skills) != n_workers:
        raise OptionError(f"skills must be one for each of {n_workers:,} workers, got {len(skills):,}")
    graph = identify_pairs(PairStats.linked(i, j), n_workers)
    is_nonzero = skills != 0
    is_nonzero_pair = is_nonzero[i] & is_nonzero[j]
    without_zeros = identify_pairs(PairStats.linked(i[is_nonzero_pair], j[is_nonzero_pair]), n_workers)
    shares_with_nonzero = np.zeros(n_workers, dtype=bool)
    shares_with_nonzero[i[is_nonzero[j]]] = True
    shares_with_nonzero[j[is_nonzero[i]]] = True
    is_determined = np.where(is_nonzero, without_zeros.determined, shares_with_nonzero)
    total = np.bincount(graph.component, skills, minlength=graph.n_components)
    return Learnability(
        is_connected=graph.n_components == 1,
        is_nonbipartite=bool((~graph.bipartite).all()),
        sum_is_positive=bool((total > 0).all()),
        is_determined=is_determined,
    )
