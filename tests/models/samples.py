"""The posterior of all tasks by a fitted model."""

from quorate.arrays import FloatArray
from quorate.blocks.block import Blocks
from quorate.blocks.memory import MemoryBlocks
from quorate.models.confusion import ModelPosterior
from quorate.models.scorer import HasScores
from quorate.voting.posterior import clamp_gold


def posterior_of(model: HasScores, blocks: Blocks) -> FloatArray:
    """Return the posterior of each task, gold clamped."""
    assert isinstance(blocks, MemoryBlocks)
    return clamp_gold(ModelPosterior(model)(blocks.all_tasks), blocks.all_tasks.gold)
