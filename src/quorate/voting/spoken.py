"""What answers tell beside their class: which grade was given, and that a worker abstained; where it tells anything.

With s what worker w says, c the class that s points to and k the truth, P(s | k) = P(answers or abstains | k) ·
P(c | k) · P(s | c, k): a confusion matrix of answers × classes that need not be square. The opinions have the middle
factor, for every method's matrices are of it; here are the others, which are added to the scores of each opinion. A
worker's factors are shrunk toward the crowd's, and the crowd's toward saying nothing of k; and nothing is what they say
unless the answers speak against it, so that abstaining at random changes no label.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Sums
from quorate.blocks.kernels import task_scores
from quorate.blocks.memory import Answered, blocks_of
from quorate.voting.chances import chances
from quorate.voting.confusion import most_entries
from quorate.voting.kept_shares import alike_sums, balancing, leaning_of, several_grade, shares_kept, told_alike
from quorate.voting.posterior import softmax


@dataclass(frozen=True)
class Believed:
    """What the classes of the answers make likely; worker-sized, but for a factor of each task in memory."""

    logs: FloatArray  # of the confusion matrices, workers × answers × classes
    prior: FloatArray  # its logarithm, of each class
    factor: FloatArray | float  # by which each task's scores are flattened, or the dependence that asks for it

    def scores(self, block: Block) -> FloatArray:
        """Return log joint probabilities of a block's tasks, tasks × classes."""
        return task_scores(block, self.logs, self.prior)

    def flat(self, block: Block) -> FloatArray:
        """Return the factor of each of a block's tasks, as a column."""
        if isinstance(self.factor, np.ndarray):
            return self.factor[block.tasks][:, None]
        tempering: FloatArray = 1 / (1 + self.factor * np.maximum(block.per_task - 1.0, 0.0))
        return tempering[:, None]


@dataclass(frozen=True)
class Spoken:
    """What each symbol of each worker tells of a task's class, where symbols tell anything; worker-sized.

    >>> spoken = Spoken(np.array([[[0.0, -2.0], [-3.0, 0.0]]]), np.zeros(2))
    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), 1, 2, symbol=np.array([1]))
    >>> spoken.added(block).tolist()
    [[-3.0, 0.0]]
    """

    logs: FloatArray  # log P(abstains or not | k) + log P(s | c, k), workers × symbols × classes
    shift: FloatArray  # of each class, so that as many tasks are of it as before

    def told(self, block: Block) -> tuple[IntArray, FloatArray]:
        """Return the task of each thing that was said in a block, and what that tells of each class."""
        n_symbols, m = self.logs.shape[1:]
        task, cell = _rows(block, n_symbols)
        return task, self.logs.reshape(-1, m)[cell]

    def added(self, block: Block) -> FloatArray:
        """Return what is added to the scores of a block's tasks, tasks × classes."""
        task, told = self.told(block)
        sums = [np.bincount(task, column, block.n_tasks) for column in told.T]
        added: FloatArray = np.stack(sums, axis=1) + self.shift
        return added


def listen(answers: Answered, believed: Believed) -> Spoken | None:
    """Learn what grades and abstentions tell beside the classes; None where they tell nothing.

    Args:
        answers: of all tasks, with what was said.
        believed: what the classes make likely. No row is judged by a belief that it took part in.

    >>> import quorate
    >>> table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "unsure", "y", "y"]}
    >>> listen(quorate.read(table, abstain=["unsure"]), Believed(np.zeros((2, 2, 2)), np.zeros(2), 0.0)) is None
    True
    """
    blocks = blocks_of(answers)
    points_to = blocks.points_to
    if points_to is None:
        return None
    m, n_entries = blocks.n_classes, blocks.n_workers * len(points_to) * blocks.n_classes
    if n_entries > most_entries(blocks.n_answers):  # too much for a matrix a worker
        return None
    counts, before = blocks.sums(counted, believed, len(points_to))
    counts = counts.reshape(blocks.n_workers, -1, m)
    logs, kept = _told(counts, points_to), 1.0
    if logs is None:
        return None
    unbalanced = Spoken(logs, np.zeros(m))
    if several_grade(counts, points_to):
        # Flattened, every sure task would hold a little of each other class, and where grades make it surer, the tasks
        # in doubt would get that.
        believed = replace(believed, factor=0.0)
        before, *told = blocks.sums(_alike, believed, unbalanced)
        kept = shares_kept(told_alike(*told))
    return Spoken(logs, kept * balancing(lambda shift: blocks.sums(_leaning, believed, unbalanced, shift), before))


def _leaning(blocks: Iterable[Block], believed: Believed, spoken: Spoken, shift: FloatArray) -> Sums:
    """Do that for some blocks, with what grades and abstentions add."""
    after, slope = np.zeros(len(shift)), np.zeros((len(shift), len(shift)))
    for block in blocks:
        scores = believed.scores(block) + spoken.added(block) + shift
        own = leaning_of(scores, believed.flat(block))
        after, slope = after + own[0], slope + own[1]
    return after, slope


def _alike(blocks: Iterable[Block], believed: Believed, spoken: Spoken) -> Sums:
    """Sum what the tasks of some blocks are believed to be, and what `told_alike` needs of what is said there."""
    m = len(believed.prior)
    total: Sums = (np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros((m, m)))
    for block in blocks:
        belief = softmax(believed.scores(block) * believed.flat(block))
        own = (belief.sum(axis=0), *alike_sums(*spoken.told(block), belief))
        total = tuple(before + each for before, each in zip(total, own, strict=True))
    return total


def _rows(block: Block, n_symbols: int) -> tuple[IntArray, IntArray]:
    """List all that was said in a block, answers before abstentions: the task, and worker·symbols + symbol."""
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    cell = block.worker[block.answers].astype(np.int64) * n_symbols + block.symbols(n_symbols)
    if block.silent is None:
        return task, cell
    silent, rows = block.silent, block.silent.rows
    others = np.repeat(np.arange(block.n_tasks), silent.per_task)
    other = silent.worker[rows].astype(np.int64) * n_symbols + silent.symbol[rows]
    return np.concatenate([task, others]), np.concatenate([cell, other])


def counted(blocks: Iterable[Block], believed: Believed, n_symbols: int) -> Sums:
    """Count what was said by what its tasks are believed to be without it, workers·symbols × classes; and the tasks.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> believed = Believed(np.log([[[3.0, 1.0], [1.0, 1.0]]]), np.zeros(2), 0.0)
    >>> [sums.round(9).tolist() for sums in counted([block], believed, 2)]
    [[[0.5, 0.5], [0.0, 0.0]], [0.75, 0.25]]
    """
    n, m = len(believed.logs), len(believed.prior)
    counts, before = np.zeros((m, n * n_symbols)), np.zeros(m)
    for block in blocks:
        scores, flat = believed.scores(block), believed.flat(block)
        before += softmax(scores * flat).sum(axis=0)
        task, cell = _rows(block, n_symbols)
        others = scores[task]
        inside = block.answers
        others[: inside.stop - inside.start] -= believed.logs[block.worker[inside], block.label[inside]]
        for column, belief in zip(counts, softmax(others * flat[task]).T, strict=True):
            if len(cell) < len(column):  # a table of all would cost more than the rows
                np.add.at(column, cell, belief)
            else:
                column += np.bincount(cell, belief, len(column))
    return np.ascontiguousarray(counts.T), before


def _told(counts: FloatArray, points_to: IntArray) -> FloatArray | None:
    """Return log P(abstains or not | k) + log P(s | c, k), workers × symbols × classes; None where neither tells."""
    silent = points_to < 0
    logs = chances(counts, points_to)
    answers, abstentions = counts[:, ~silent].sum(axis=1), counts[:, silent].sum(axis=1)
    whether = chances(np.stack([answers, abstentions], axis=1), np.zeros(2, np.int64))
    if whether is None:
        return logs
    whether = whether[:, silent.astype(np.int64)]
    return whether if logs is None else logs + whether
