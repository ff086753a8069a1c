"""Majority vote: every vote counts the same. Nothing is estimated."""

import numpy as np

from quorate.blocks.block import Blocks
from quorate.graph.components import identify
from quorate.methods.fit import ByWeights, Fitted, worker_estimates_of


def fit(blocks: Blocks) -> Fitted:
    """Label each task by the class that most of its workers gave; confidence is their share.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(fit(blocks).labels(blocks)).label.tolist()
    [1]
    """
    workers = worker_estimates_of(blocks.per_worker, None)
    return Fitted(vote=ByWeights(np.ones(blocks.n_workers)), skill_estimates=workers, identifiability=identify(blocks))
