"""A model of the classes, with what grades and abstentions add to its scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks
from quorate.models.abstention import SymbolModel
from quorate.models.scorer import Scorer


@dataclass(frozen=True)
class WithSymbols:
    """A `Scorer` of classes, grades and abstentions."""

    model: Scorer
    symbols: SymbolModel

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers and abstentions, class) of each task."""
        scores: FloatArray = self.model.scores(block) + self.symbols.added(block)
        return scores

    def renamed(self, new_class: IntArray) -> "WithSymbols":
        """Return the model of answers whose class c is renamed ``new_class[c]``; symbols keep their codes."""
        back = np.argsort(new_class)
        symbols = SymbolModel(self.symbols.logs[:, :, back], self.symbols.shift[back])
        return WithSymbols(self.model.renamed(new_class), symbols)

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "WithSymbols":
        """Return it with the model of the classes refitted."""
        return replace(self, model=self.model.refit(blocks, posterior))
