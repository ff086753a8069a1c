"""Known labels beyond memory: what they teach is learnt from their tasks and a sample, and applied block by block.

What `quorate.voting.known_labels.learn` decides (which classes are exchanged, which ways of learning count how much,
the calibration) rests on known tasks and a sample of the others, so it is decided as in memory. The ways themselves
need sums over all tasks: the crowd's own matrix, and confusion matrices that are learned again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import expected_counts, task_scores, vote_sums
from quorate.blocks.memory import answers_in
from quorate.voting.corrections import correction, swapped
from quorate.voting.dependence import flattening
from quorate.voting.known_labels import WAYS, Learned
from quorate.voting.lone_votes import LoneVotes
from quorate.voting.population import calibrated
from quorate.voting.posterior import FLOOR, hold_known, softmax
from quorate.voting.refine import pooled_matrix, shrunk
from quorate.voting.spoken import Spoken
from quorate.voting.voices import Telling
from quorate.voting.vote import Ballot, by_posterior

Correction = tuple[FloatArray, FloatArray]  # what is added to every vote's score, and to every class


@dataclass(frozen=True)
class Way:
    """One way of learning, so far: all that the posterior of any block needs; worker-sized."""

    told: Telling
    order: IntArray  # of the classes, where the crowd exchanges some
    rho: float
    spoken: Spoken | None = None  # what grades and abstentions tell, where they tell anything
    matrix: tuple[FloatArray, FloatArray] | None = None  # learned again: log theta and log prior, in the new order
    corrections: tuple[Correction, ...] = ()  # of each opinion

    def scores(self, block: Block) -> list[FloatArray]:
        """Return the opinions' scores of a block, not yet corrected."""
        found = [scores[:, self.order] for scores in self.told.scores(block)]
        if self.matrix is not None:
            found[1] = task_scores(block, *self.matrix)
        if self.spoken is not None:
            added = self.spoken.added(block)[:, self.order]
            found = [scores + added for scores in found]
        return found

    def posteriors(self, block: Block) -> list[FloatArray]:
        """Return the opinions' posteriors of a block, corrected and flattened."""
        factor = flattening(block.per_task, self.rho)[:, None]
        counts = vote_sums(block, np.ones(block.n_workers))
        found = self.scores(block)
        if self.corrections:
            found = [
                scores + counts @ vote + shift for scores, (vote, shift) in zip(found, self.corrections, strict=True)
            ]
        return [softmax(scores * factor) for scores in found]


@dataclass(frozen=True)
class ByTaught:
    """The vote that known labels taught: the ways of learning averaged, and calibrated."""

    ways: tuple[tuple[float, FloatArray, Way], ...]  # a share, the weights of the opinions, and the way
    calibration: FloatArray
    lone: LoneVotes | None = None  # how sure single answers by workers of whom nothing is known may be

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        posterior = np.zeros((block.n_tasks, block.n_classes))
        for share, weights, way in self.ways:
            for weight, part in zip(weights, way.posteriors(block), strict=True):
                posterior += share * weight * part
        posterior = calibrated(posterior, self.calibration)
        if self.lone is not None:
            posterior = self.lone.capped(posterior, block.start, block.worker, block.label)
        return by_posterior(answers_in(block), posterior)


def taught_vote(blocks: Blocks, known: Block, learned: Learned, untaught: Way, weights: FloatArray) -> ByTaught:
    """Carry out, over all blocks, the ways of learning that known labels speak for.

    Args:
        blocks: of all tasks.
        known: the tasks of known class.
        learned: what known labels decide.
        untaught: the opinions, formed without them.
        weights: of the opinions, before known labels spoke.

    >>> import quorate
    >>> from quorate.methods.beyond_memory import fit_blocks
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(200, 8, 4, seed=0)
    >>> known = np.where(np.arange(200) < 30, crowd.truth, -1)
    >>> type(fit_blocks(blocks_of(crowd.answers, known)).vote).__name__
    'ByTaught'
    """
    first = replace(untaught, order=swapped(untaught.order, *learned.turned))
    told, believed = blocks.sums(_crowd, first, weights)
    prior = (believed + 1) / (believed + 1).sum()
    pooled = pooled_matrix(told)[0]
    ways = []
    for (pseudo, passes), share, mixture in zip(WAYS, learned.ways, learned.mixtures, strict=False):
        if share <= 0:
            continue
        way = _corrected(first, known, pooled, prior, pseudo)
        for _ in range(passes):
            counts, total = blocks.sums(_again, way, weights)
            shares = (total + 1) / (total + 1).sum()
            logs = np.log(np.maximum(shrunk(counts)[0], FLOOR)), np.log(np.maximum(shares, FLOOR))
            way = _corrected(replace(way, matrix=logs, corrections=()), known, pooled, prior, pseudo)
        ways.append((float(share), mixture, way))
    return ByTaught(tuple(ways), learned.calibration)


def _corrected(way: Way, known: Block, pooled: FloatArray, prior: FloatArray, pseudo: float | None) -> Way:
    """Compare the known tasks' answers by true class with the same by believed class."""
    if pseudo is None or known.n_tasks == 0:
        return way
    assert known.known is not None
    factor = flattening(known.per_task, way.rho)[:, None]
    worth = vote_sums(known, np.ones(known.n_workers)) * factor
    label = known.known
    found = (correction(worth, softmax(each * factor), label, pooled, prior, pseudo) for each in way.scores(known))
    return replace(way, corrections=tuple(found))


def _crowd(blocks: Iterable[Block], way: Way, weights: FloatArray) -> Sums:
    """Count answers by what their tasks are believed to be, answers × classes, and tasks by the same."""
    m = len(way.order)
    told, believed = np.zeros((m, m)), np.zeros(m)
    for block in blocks:
        q = _mixed(way, block, weights)
        told += vote_sums(block, np.ones(block.n_workers)).T @ q
        believed += q.sum(axis=0)
    return told, believed


def _again(blocks: Iterable[Block], way: Way, weights: FloatArray) -> Sums:
    """Count each worker's answers by what the tasks are believed to be, known ones for certain; and the tasks."""
    counts: FloatArray | None = None
    total = np.zeros(len(way.order))
    for block in blocks:
        q = hold_known(_mixed(way, block, weights), block.known)
        (added,) = expected_counts([replace(block, first=0)], q)
        counts = added if counts is None else counts + added
        total += q.sum(axis=0)
    assert counts is not None  # there is a block, if an empty one
    return counts, total


def _mixed(way: Way, block: Block, weights: FloatArray) -> FloatArray:
    mixed = np.zeros((block.n_tasks, block.n_classes))
    for weight, part in zip(weights, way.posteriors(block), strict=True):
        mixed += weight * part
    return mixed


def together(known: Block, others: Answers) -> tuple[Answers, IntArray]:
    """Put known tasks and some others side by side; returns the answers, and the known classes.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.simulate.crowd(20, 5, 3).answers
    >>> given = np.where(np.arange(20) < 4, 1, -1)
    >>> both, known = together(blocks_of(answers, given).known_tasks(), answers.only(given < 0))
    >>> both.n_tasks, int((known >= 0).sum())
    (20, 4)
    """
    mine = answers_in(known)
    assert known.known is not None
    task = np.concatenate([mine.task, others.task + mine.n_tasks]).astype(np.int32)
    worker, label = (np.concatenate([getattr(each, name) for each in (mine, others)]) for name in ("worker", "label"))
    names = answers_in(replace(known, start=np.zeros(mine.n_tasks + others.n_tasks + 1, np.int64)))
    both = replace(names, task=task, worker=worker, label=label)
    return both, np.concatenate([known.known, np.full(others.n_tasks, -1)])
