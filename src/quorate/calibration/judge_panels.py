"""Agreement of panels of models, on which their calibration law depends.

Models share mistakes, so their agreement shows less about how often they are right than that of people; the calibration
law of panels is a function of Krippendorff's alpha.
"""

from quorate.blocks.block import Blocks
from quorate.blocks.kernels import coincidences


def panel_alpha(blocks: Blocks) -> float:
    """Return Krippendorff's alpha (nominal) of all answers; 0 where it is not defined.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")})
    >>> panel_alpha(blocks_of(answers))
    1.0
    """
    _, disagreement, label_counts = blocks.sum(coincidences, blocks.n_classes)
    n = float(label_counts.sum())
    expected = float((label_counts * (n - label_counts)).sum()) / max(n - 1, 1.0)
    return 0.0 if expected <= 0 else 1 - float(disagreement[0]) / expected
