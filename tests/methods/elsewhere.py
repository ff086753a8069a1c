"""Answers in memory that pretend to lie elsewhere."""

from typing import Any

import numpy as np
import pyarrow as pa

import quorate
from quorate.blocks.block import Sampled, in_order_of_names
from quorate.blocks.memory import blocks_of


class Elsewhere:
    """Blocks that pretend to lie elsewhere: a sample is drawn from the answers that they came from."""

    def __init__(self, answers: quorate.Answers, known: Any = None) -> None:
        self.answers, self.known, self.blocks = answers, known, blocks_of(answers, known)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.blocks, name)

    def known_tasks(self) -> Any:
        found = self.blocks.known_tasks()
        names = self.answers.task_names.filter(pa.array(np.asarray(self.known) >= 0)) if found.n_tasks else pa.nulls(0)
        return in_order_of_names([(found, names)])

    def sample(self, enough: int) -> Any:
        return Sampled(self.answers, self.known)
