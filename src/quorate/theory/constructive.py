"""The estimator in the proof that skills are learnable: an odd cycle gives one |s|, and paths give the others.

It uses only the correlations on the cycle and the paths, so it has the noise of each of them. It is a reference for
exact correlations, not an estimate for votes.
"""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.graph.components import breadth_first_tree, identify_pairs
from quorate.graph.pairs import PairStats
from quorate.io.arguments import check_arguments


@check_arguments
def constructive_skills(n_workers: int, i: IntArray, j: IntArray, correlation: FloatArray) -> FloatArray:
    """Return |s| of every worker; NaN in bipartite components, and where a skill on the cycle or the path is zero.

    This is the construction of [Ma20, Lemma 9, asylearn].

    >>> s = np.array([0.8, -0.6, 0.5, 0.4])
    >>> i, j = np.array([0, 0, 1, 2]), np.array([1, 2, 2, 3])
    >>> constructive_skills(4, i, j, s[i] * s[j]).round(9).tolist()
    [0.8, 0.6, 0.5, 0.4]
    """
    identifiability = identify_pairs(PairStats.linked(i, j), n_workers)
    entry = {}
    for a, b, c in zip(i.tolist(), j.tolist(), np.abs(correlation).tolist(), strict=True):
        entry[a, b] = entry[b, a] = c
    skills = np.full(n_workers, np.nan)
    for component in identifiability.components():
        cycle = component.odd_cycle
        if not cycle:
            continue
        # s_1² = C_12 C_23⁻¹ C_34 ... C_n1 around an odd cycle: the entries alternate between factor and divisor.
        around = [entry[pair] for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        if min(around) == 0:
            continue
        skills[cycle[0]] = np.sqrt(np.prod(around[::2]) / np.prod(around[1::2]))
        tree = breadth_first_tree(n_workers, i, j, root=cycle[0])
        for worker, parent in tree.items():
            if parent >= 0 and skills[parent] > 0:
                skills[worker] = entry[worker, parent] / skills[parent]
    return skills
