"""The products of centred answers by passes over memory that share one table: laid out once for all sweeps.

A pass over blocks that may lie anywhere takes worker-sized tables with it and brings sums back. Where the answers are
in memory and summed in one part, the table can stay where it is: where workers are many, laying it out is a good part
of a sweep.
"""

from dataclasses import dataclass

from quorate.arrays import FloatArray
from quorate.blocks.kernels import Passes, centred_passes
from quorate.blocks.memory import Answered, MemoryBlocks, blocks_of


@dataclass(frozen=True)
class KeptPass:
    """A table, and the passes that add to it."""

    table: FloatArray
    passes: Passes  # one for each block, in their order

    def both(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Do what `quorate.blocks.kernels.centred_products` does."""
        self.table[:, 0] = x
        self.table[:, 2:4] = 0.0
        self.table[:, 4] = x * x
        for add in self.passes:
            add()
        signed, squares = self.table[:, 2:4].T.copy()
        return signed, squares


def kept_pass(answers: Answered, frequency: FloatArray) -> KeptPass | None:
    """Lay the table out; None where the answers are not in memory, or their sums are formed in several parts.

    Args:
        answers: who answered what.
        frequency: the habits f, workers × classes.

    >>> import numpy as np, quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> kept = kept_pass(answers, np.full((2, 2), 0.5))
    >>> [sums.tolist() for sums in kept.both(np.ones(2))]
    [[0.5, 0.5], [1.0, 1.0]]
    """
    blocks = blocks_of(answers)
    if not isinstance(blocks, MemoryBlocks) or len(blocks.lanes) > 1:
        return None
    return KeptPass(*centred_passes(blocks.lanes[0], frequency))
