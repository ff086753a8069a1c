"""Krippendorff's alpha (nominal) over blocks of any backend; the calibration law of panels of models depends on it.

`quorate.interrater.coefficients` has it for every scale with intervals, for answers in memory.
"""

from collections.abc import Iterable

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import vote_sums


def krippendorff_alpha(blocks: Blocks) -> float:
    """Return Krippendorff's alpha (nominal) of all answers; 0 where it is not defined.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")})
    >>> krippendorff_alpha(blocks_of(answers))
    1.0
    """
    label_counts, disagreement = blocks.sum(_coincidences, blocks.n_classes)
    n = float(label_counts.sum())
    expected = float((label_counts * (n - label_counts)).sum()) / max(n - 1, 1.0)
    return 0.0 if expected <= 0 else 1 - float(disagreement[0]) / expected


def _coincidences(blocks: Iterable[Block], n_classes: int) -> Sums:
    """Count pairable labels by class, and disagreeing pairs over the number of other labels of their task."""
    label_counts: FloatArray = np.zeros(n_classes)
    disagreement = np.zeros(1)
    for block in blocks:
        votes = vote_sums(block, np.ones(block.n_workers))
        total = votes.sum(axis=1, keepdims=True)
        label_counts += (votes * (total > 1)).sum(axis=0)
        disagreement += ((votes * (total - votes)).sum(axis=1) / np.maximum(total[:, 0] - 1, 1)).sum()
    return label_counts, disagreement
