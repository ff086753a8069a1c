"""Answers in memory that pretend to lie elsewhere."""

from typing import Any

import quorate
from quorate.blocks.block import Sampled
from quorate.blocks.memory import blocks_of


class Elsewhere:
    """Blocks that pretend to lie elsewhere: a sample is drawn from the answers that they came from."""

    def __init__(self, answers: quorate.Answers, known: Any = None) -> None:
        self.answers, self.known, self.blocks = answers, known, blocks_of(answers, known)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def sample(self, enough: int) -> Any:
        return Sampled(self.answers, self.known)
