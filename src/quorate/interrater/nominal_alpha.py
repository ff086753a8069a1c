"""Krippendorff's alpha (nominal) over blocks of any backend; the calibration law of panels of models depends on it.

For answers in memory, `quorate.interrater.coefficients` has alpha for all scales and with intervals.
"""

from quorate.blocks.block import Blocks
from quorate.blocks.kernels import coincidences


def nominal_alpha(blocks: Blocks) -> float:
    """Return Krippendorff's alpha (nominal) of all answers; 0 if it is not defined.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")})
    >>> nominal_alpha(blocks_of(answers))
    1.0
    """
    _, disagreement, label_counts = blocks.sum(coincidences, blocks.n_classes)
    n = float(label_counts.sum())
    expected = float((label_counts * (n - label_counts)).sum()) / max(n - 1, 1.0)
    return 0.0 if expected <= 0 else 1 - float(disagreement[0]) / expected
