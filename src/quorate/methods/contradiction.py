"""Labels that contradict most votes or the agreement of the crowd: swapped classes, groups of flipped sign.

A model of confusion fits equally well with its classes swapped, and a weakly linked group of workers equally well with
all of them adversaries. Neither lowers the likelihood, so a method does not notice it. The test needs sums over tasks,
on any backend.
"""

from collections.abc import Callable, Iterable

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import coincidences, vote_sums
from quorate.blocks.memory import memory_blocks
from quorate.blocks.numpy_kernels import MAX_CELLS_PER_ANSWER, answers_of, by_row
from quorate.notes import CONTRADICTION, Note
from quorate.voting.vote import Vote, accuracy

METHODS_NEAR_MAJORITY = ("majority", "quorate")  # not checked: the vote, and a method that stays near it in doubt
# Mean skill by the labels over that by the workers' agreement. On 25 public crowds every method whose error is close to
# that of the majority vote is above this, except where the vote is wrong on most tasks (`benchmarks/doubts.py`).
MIN_SKILL_RATIO = 2 / 3


def contradiction(answers: Answers, label: IntArray, method: str) -> tuple[Note, ...]:
    """Return a note if the labels of a method contradict most votes, or the agreement of the crowd.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> print(*contradiction(answers, np.array([0]), "mine"))
    mine: 100% of the labels contradict the majority vote; it may have mixed up the classes
    """
    if method in METHODS_NEAR_MAJORITY:
        return ()
    counts = _agreement_counts(memory_blocks(answers).all_tasks, label)
    return contradiction_notes(counts, answers.n_classes, method)


def contradiction_over_blocks(blocks: Blocks, vote: Callable[[Block], Vote], method: str) -> tuple[Note, ...]:
    """Return the notes of `contradiction` by one pass over blocks.

    >>> from quorate.blocks.memory import blocks_of
    >>> from quorate.methods.fit import ByWeights
    >>> import quorate
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> contradiction_over_blocks(blocks, ByWeights(np.ones(3)), "mine")
    ()
    """
    if method in METHODS_NEAR_MAJORITY:
        return ()
    (counts,) = blocks.sum(_agreement_counts_in, vote)
    return contradiction_notes(counts, blocks.n_classes, method)


def contradiction_counts(block: Block, label: IntArray, method: str) -> FloatArray:
    """Return the five counts of a block for `contradiction_notes`; zeros for `METHODS_NEAR_MAJORITY`.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> contradiction_counts(block, np.array([0]), "majority").tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    if method in METHODS_NEAR_MAJORITY:
        return np.zeros(5)
    return _agreement_counts(block, label)


def implied_skills(answers: Answers, label: IntArray) -> tuple[float, float]:
    """Return the crowd's mean skill by the labels, and by the agreement of its workers.

    The correlation of two answers to a task is the product of their workers' skills [Ma20, Section 4.2]. Its average
    over all pairs is the square of the mean skill, adversaries included; it does not depend on the labels. If the
    errors of workers are correlated, it is larger.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxxyyy")})
    >>> implied_skills(answers, np.array([0, 1])), implied_skills(answers, np.array([0, 0]))
    ((1.0, 1.0), (0.0, 1.0))
    """
    return _implied_skills_of_counts(_agreement_counts(memory_blocks(answers).all_tasks, label), answers.n_classes)


def _agreement_counts(block: Block, label: IntArray) -> FloatArray:
    """Return five counts: tasks with answers, tasks whose label has fewer votes than another, and pairs.

    The pairs are ordered pairs of answers to one task: all, those whose first answer is right, and those that agree.
    """
    n_answers = block.per_task
    n_peers = np.maximum(n_answers - 1, 0)
    agreeing, most = _votes_of_label(block, label)
    (agreed, _), *_ = coincidences([block], block.n_classes)
    pairs = [n_peers @ n_answers, n_peers @ agreeing, 2 * agreed]
    return np.array([(n_answers > 0).sum(), (agreeing < most).sum(), *pairs], np.float64)


def _votes_of_label(block: Block, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Count the votes for the label of each task, and for its class with the most votes."""
    n = block.n_tasks
    m = block.n_classes
    if n * m <= MAX_CELLS_PER_ANSWER * int(block.per_task.sum()):
        votes = vote_sums(block, np.ones(block.n_workers))
        agreeing = np.where(label >= 0, votes[np.arange(n), label], 0.0)
        return agreeing, by_row(np.maximum, votes)
    task, _, label_given = answers_of(block)
    cell, votes = np.unique(task * m + label_given, return_counts=True)
    most = np.zeros(n)
    np.maximum.at(most, cell // m, votes)
    agreeing = np.bincount(task, label[task] == label_given, n).astype(np.float64, copy=False)
    return agreeing, most


def _agreement_counts_in(blocks: Iterable[Block], vote: Callable[[Block], Vote]) -> Sums:
    counts = np.zeros(5)
    for block in blocks:
        counts += _agreement_counts(block, vote(block).label)
    return (counts,)


def _implied_skills_of_counts(counts: FloatArray, n_classes: int) -> tuple[float, float]:
    """Return the two mean skills of `implied_skills` from the counts of pairs; zeros without pairs."""
    _, _, pairs, right, agreeing = counts
    if pairs == 0:
        return 0.0, 0.0
    by_labels, by_agreement = (n_classes * np.array([right, agreeing]) / pairs - 1) / (n_classes - 1)
    return float(by_labels), float(np.sqrt(max(by_agreement, 0.0)))


def contradiction_notes(counts: FloatArray, n_classes: int, method: str) -> tuple[Note, ...]:
    """Return the note that follows from the counts of `contradiction_counts`, summed over all blocks."""
    if counts[0] == 0 or n_classes < 2:
        return ()
    share = counts[1] / counts[0]
    skill_by_labels, skill_by_agreement = _implied_skills_of_counts(counts, n_classes)
    if share > 0.5:
        text = f"{method}: {share:.0%} of the labels contradict the majority vote; it may have mixed up the classes"
    elif skill_by_labels < MIN_SKILL_RATIO * skill_by_agreement:
        by_labels, by_agreement = accuracy(np.array([skill_by_labels, skill_by_agreement]), n_classes)
        text = (
            f"{method}: by its labels {by_labels:.0%} of the answers are right, and by how often workers agree "
            f"{by_agreement:.0%}; it may have mixed up the classes of some tasks"
        )
    else:
        return ()
    return (Note(CONTRADICTION, text),)
