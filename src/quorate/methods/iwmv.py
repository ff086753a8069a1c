"""IWMV, iterative weighted majority vote: vote, score each worker against the vote, weigh, and vote again [Li14]."""

from collections.abc import Iterable

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import equal_answers
from quorate.graph.components import identify
from quorate.methods.fit import ByWeights, Fitted, worker_estimates_of
from quorate.notes import NOT_CONVERGED, Note
from quorate.voting.posterior import hold_labels
from quorate.voting.vote import skill_of


def fit(blocks: Blocks, *, max_iterations: int = 100) -> Fitted:
    """Weigh each worker by M·w - 1, w its share of agreement with the labels, until the agreements stop changing.

    Args:
        blocks: blocks of tasks; workers are scored against the gold that they carry.
        max_iterations: maximum number of votes.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(fit(blocks).labels(blocks)).label.tolist()
    [1]
    """
    m = blocks.n_classes
    n = blocks.per_worker
    weights = np.ones(blocks.n_workers)
    agreement = np.ones(blocks.n_workers)
    agreed = np.full(blocks.n_workers, -1.0)
    text = f"iwmv: the labels had not converged after {max_iterations} votes"
    notes: tuple[Note, ...] = (Note(NOT_CONVERGED, text),)
    for _ in range(max_iterations):
        before = agreed
        (agreed,) = blocks.sum(_agreements, weights)
        if np.array_equal(agreed, before) or m < 2:
            notes = ()
            break
        agreement = np.where(n > 0, agreed / np.maximum(n, 1), 1 / m)
        weights = m * agreement - 1
    workers = worker_estimates_of(n, skill_of(agreement, m) if m > 1 else None, weights)
    return Fitted(vote=ByWeights(weights), skill_estimates=workers, identifiability=identify(blocks), notes=notes)


def _agreements(blocks: Iterable[Block], weights: FloatArray) -> Sums:
    """Count each worker's answers that agree with the labels, gold clamped."""
    agreed = np.zeros(len(weights))
    for block in blocks:
        agreed += equal_answers(block, hold_labels(ByWeights(weights)(block).label, block.gold))
    return (agreed,)


def agreement_with(answers: Answers, label: IntArray) -> FloatArray:
    """Return each worker's share of answers that agree with the labels; 1/M where there is no answer.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")})
    >>> agreement_with(answers, np.array([0, 1])).tolist()
    [0.5, 0.0]
    """
    n_equal = answers.alike(label)
    n = answers.per_worker
    share: FloatArray = np.where(n > 0, n_equal / np.maximum(n, 1), 1 / answers.n_classes)
    return share
