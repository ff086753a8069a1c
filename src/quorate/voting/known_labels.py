"""Known labels used fully: they turn classes round, correct the crowd's confusion and prior, and weigh the opinions.

No known task is scored by what its own label taught: whether classes are exchanged, corrections, matrices and weights
all come from the other folds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.memory import blocks_of, in_one
from quorate.blocks.scatter import drawn
from quorate.voting.basis import Check, checked, wilson
from quorate.voting.confusion import ENTRIES, Cells, cells_of, most_entries
from quorate.voting.corrections import correction, exchanges, folds_of, mixture_weights, swapped
from quorate.voting.opinion_weights import open_minded
from quorate.voting.population import LEAST_PROBABILITY, calibrated, updated
from quorate.voting.posterior import FLOOR, hold_known, one_more_each, softmax
from quorate.voting.refine import pooled_matrix, shrunk
from quorate.voting.sparse_voices import SparseVoices
from quorate.voting.voices import Voices

# Ways of learning that are averaged: pseudo-answers a column that the crowd's own matrix is worth against the known
# labels (None: no correction), and passes of learning the matrices again. Finer grids (100, 30, 10, 3; 1, 3, 5 passes)
# and choosing one instead of averaging were no better over the 26 public crowds: error .173 against .168 with 30 labels
WAYS: tuple[tuple[float | None, int], ...] = ((None, 0), (30.0, 0), (10.0, 0), (30.0, 3), (10.0, 3))
FOLDS = 10  # of the known tasks, at the most
REFITS = 5  # folds where matrices are learned again; FOLDS is a multiple, so that these are unions of those
ENOUGH = 100_000  # answers that ways of learning are compared on, at the most, besides those of known tasks
NOT_AT_ALL = 0.5  # of the prior is on no correction
LEAST_WAY = 0.01  # a way of learning that counts for less is left out


Turned = tuple[tuple[int, int], ...]  # classes that are exchanged, one pair after the other


@dataclass(frozen=True)
class Views:
    """What is thought of the tasks before known labels speak."""

    answers: Answers
    # By skill, by matrix and by majority: what they know, or their scores.
    opinions: Voices | SparseVoices | tuple[FloatArray, ...]
    factor: FloatArray  # by which each task's scores are flattened
    rho: float  # the dependence that asks for it
    weights: FloatArray  # of the opinions
    calibration: FloatArray  # weights of the calibrations
    added: FloatArray | None = None  # what grades and abstentions add to every score; None where they add nothing

    @property
    def names(self) -> pa.Array | None:
        """Ids of the tasks; None where they were left behind, and the tasks are in the order of their ids."""
        names = self.answers.task_names
        return None if pa.types.is_null(names.type) else names

    @cached_property
    def scores(self) -> tuple[FloatArray, ...]:
        """Log joint probabilities by skill, by matrix and by majority; tasks × classes each."""
        return self.opinions if isinstance(self.opinions, tuple) else self.opinions.all_scores(self.answers)

    @cached_property
    def belief(self) -> FloatArray:
        """The opinions, flattened and averaged; before calibration."""
        if isinstance(self.opinions, SparseVoices):
            return in_one(self.opinions.mixed(blocks_of(self.answers), self.weights, self.rho), self.answers.n_tasks)
        return _mix((self.flat(scores) for scores in self.scores), self.weights)

    def calibrated(self) -> FloatArray:
        """Return the belief, averaged over calibrations."""
        if isinstance(self.opinions, tuple):
            return calibrated(self.belief, self.calibration)
        parts = self.opinions.believe(blocks_of(self.answers), self.weights, self.rho, self.calibration)
        return in_one(parts, self.answers.n_tasks)

    @cached_property
    def cells(self) -> Cells:
        """The answers as a matrix, for learning confusion matrices again."""
        return cells_of(self.answers)

    @cached_property
    def pooled(self) -> FloatArray:
        """The crowd's confusion matrix by its own belief."""
        return pooled_matrix(self.answers.counts.T @ self.belief)[0]

    def turned(self, pairs: Turned) -> "Views":
        """Exchange classes in every opinion."""
        if not pairs:
            return self
        order = swapped(np.arange(self.answers.n_classes), *pairs)
        added = None if self.added is None else self.added[:, order]
        return replace(self, opinions=tuple(scores[:, order] for scores in self.scores), added=added)

    def flat(self, scores: FloatArray, some: IntArray | slice = slice(None)) -> FloatArray:
        """Turn scores, of some tasks or of all, into a posterior as flat as the dependence asks."""
        return softmax(scores * self.factor[some, None])


@dataclass(frozen=True)
class Learned:
    """What the known labels made of the opinions."""

    posterior: FloatArray  # before calibration, tasks × classes; known tasks as if their own label were not known
    calibration: FloatArray  # the weights of the calibrations, updated
    turned: Turned  # classes that were exchanged
    ways: FloatArray  # how much each of WAYS counted
    gain: float  # nats that the known labels' likelihood gained over using none of this, cross-fitted
    mixtures: tuple[FloatArray, ...] = ()  # in each of WAYS, the weights of the opinions


def learn(views: Views, known: IntArray) -> Learned:
    """Use known labels on a crowd's opinions: turn round, correct, weigh, learn again, averaged by their likelihood.

    Args:
        views: the opinions, formed without the known labels.
        known: the known class of each task, -1 where unknown; one at least.

    >>> import quorate
    >>> from quorate.voting.population import identity
    >>> answers = quorate.simulate.crowd(200, 6, 4, seed=0).answers
    >>> views = Views(answers, (answers.counts,) * 3, np.ones(200), 0.0, np.ones(3) / 3, identity())
    >>> learn(views, np.where(np.arange(200) < 9, 1 - answers.counts.argmax(axis=1), -1)).turned
    ((0, 1),)
    """
    rows = np.flatnonzero(known >= 0)
    label, believed = known[rows], calibrated(views.belief[rows], views.calibration)
    chosen = ways_for(views.answers)
    small, mine = _sample(views, known)

    @cache
    def tried(turned: Turned) -> list[_Crossed]:
        return [_crossed(small.turned(turned), mine, pseudo, passes) for pseudo, passes in chosen]

    turned = exchanges(believed, label)
    ways = _way_weights(np.array([each.logs.sum() for each in tried(turned)]))
    views, posterior = views.turned(turned), np.zeros_like(views.scores[0])
    for share, each, (pseudo, passes) in zip(ways, tried(turned), chosen, strict=True):
        if share > 0:
            posterior += share * _mix(_opinions(views, known, pseudo, passes), each.weights)
    fold, fit = folds_of(known, FOLDS, views.names)[rows] % REFITS, np.zeros(len(chosen))
    for k in np.unique(fold):
        held = fold == k
        crossed = tried(exchanges(believed[~held], label[~held]))
        others = _way_weights(np.array([each.logs[~held].sum() for each in crossed]))
        posterior[rows[held]] = _mix([each.posterior[held] for each in crossed], others)
        fit += [each.logs[held].sum() for each in crossed]
    calibration = updated(views.calibration, posterior[rows], label)
    gain = float(np.logaddexp.reduce(fit - fit[0]) - np.log(len(fit)))
    return Learned(posterior, calibration, turned, ways, gain, tuple(each.weights for each in tried(turned)))


def check_of(learned: Learned, known: IntArray, classes: pa.Array) -> Check:
    """Tell what known labels changed, and how the labels of their tasks fare without them.

    Args:
        learned: from the known labels.
        known: the known class of each task, -1 where unknown.
        classes: their names.

    >>> from quorate.voting.population import identity
    >>> learned = Learned(np.array([[0.9, 0.1]]), identity(), ((0, 1),), np.ones(1), 0.0)
    >>> check_of(learned, np.array([0]), pa.array(["x", "y"])).turned
    (('x', 'y'),)
    """
    rows = np.flatnonzero(known >= 0)
    right, stated = checked(calibrated(learned.posterior[rows], learned.calibration), known[rows])
    names = [str(name) for name in classes.to_pylist()]
    turned = tuple((names[i], names[j]) for i, j in learned.turned)
    ways = tuple(float(way) for way in learned.ways)
    return Check(len(rows), right, *wilson(right, len(rows)), stated, turned, ways, learned.gain)


def ways_for(answers: Answers) -> list[tuple[float | None, int]]:
    """List the ways of learning whose matrices fit in memory.

    >>> import quorate
    >>> len(ways_for(quorate.simulate.crowd(20, 6, 4, seed=0).answers))
    5
    """
    of_crowd = answers.n_classes**2
    matrices, pooled = of_crowd * answers.n_workers <= most_entries(answers.n_answers), of_crowd <= ENTRIES
    return [(pseudo, passes) for pseudo, passes in WAYS if (pseudo is None or pooled) and (not passes or matrices)]


@dataclass(frozen=True)
class _Crossed:
    """The known tasks, each scored by what the other folds taught, in one way."""

    posterior: FloatArray
    logs: FloatArray  # log-probability of each known label
    weights: FloatArray  # of the opinions, by all known labels


def _crossed(views: Views, known: IntArray, pseudo: float | None, passes: int) -> _Crossed:
    """Score each known task by what the other folds teach."""
    rows = np.flatnonzero(known >= 0)
    fold = folds_of(known, FOLDS, views.names)
    if passes:
        fold = np.where(fold >= 0, fold % REFITS, -1)
    parts = [np.zeros((len(rows), views.answers.n_classes)) for _ in views.scores]
    for k in range(fold.max(initial=-1) + 1):
        held = fold[rows] == k
        learned = _opinions(views, np.where(fold == k, -1, known), pseudo, passes, rows[held])
        for part, p in zip(parts, learned, strict=True):
            part[held] = p
    own, start = (np.arange(len(rows)), known[rows]), open_minded(views.weights)
    p_true = np.stack([part[own] for part in parts], axis=1)
    crossed = np.zeros_like(parts[0])
    for k in range(fold.max(initial=-1) + 1):
        held = fold[rows] == k
        crossed[held] = _mix([part[held] for part in parts], mixture_weights(p_true[~held], start))
    believed = calibrated(crossed, views.calibration)[own]
    return _Crossed(crossed, np.log(np.maximum(believed, LEAST_PROBABILITY)), mixture_weights(p_true, start))


def _opinions(
    views: Views, known: IntArray, pseudo: float | None, passes: int, rows: IntArray | None = None
) -> list[FloatArray]:
    """Return the flattened posterior of each opinion, of some tasks or of all, as the known labels correct it."""
    scores = list(views.scores)
    some = slice(None) if rows is None or passes else rows
    posteriors = _corrected(views, scores, known, pseudo, some)
    for _ in range(passes):
        scores[1] = _learned_again(views.cells, hold_known(_mix(posteriors, views.weights), known))
        scores[1] += 0.0 if views.added is None else views.added
        posteriors = _corrected(views, scores, known, pseudo, some)
    return [p[rows] for p in posteriors] if passes and rows is not None else posteriors


def _corrected(
    views: Views, scores: list[FloatArray], known: IntArray, pseudo: float | None, some: IntArray | slice
) -> list[FloatArray]:
    posteriors, at = [], np.flatnonzero(known >= 0)
    counts, prior = views.answers.counts, one_more_each(views.belief)
    # Answers to one task err together: they teach no more than the independent ones they are worth. Over the public
    # crowds five labels so lower the error by .0023 instead of .0022, two by nothing instead of raising it by .0006.
    worth = counts[at] * views.factor[at, None]
    for each in scores:
        new = each[some]
        if pseudo is not None and len(at):
            belief = views.flat(each[at], at)
            vote, shift = correction(worth, belief, known[at], views.pooled, prior, pseudo)
            new = new + counts[some] @ vote + shift
        posteriors.append(views.flat(new, some))
    return posteriors


def _learned_again(cells: Cells, q: FloatArray) -> FloatArray:
    """One step of the refinement: matrices from a posterior, shrunk toward the crowd's, and their scores."""
    theta, _ = shrunk(cells.expected_counts(q))
    return cells.log_joint(np.log(np.maximum(theta, FLOOR)), one_more_each(q))


def _sample(views: Views, known: IntArray) -> tuple[Views, IntArray]:
    """Keep the known tasks and, of a large crowd, a sample of the others: enough to compare ways of learning by."""
    kept = drawn(views.answers, ENOUGH)
    if kept is None:
        return views, known
    kept |= known >= 0
    scores = tuple(each[kept] for each in views.scores)
    added = None if views.added is None else views.added[kept]
    small = replace(views, answers=views.answers.only(kept), opinions=scores, factor=views.factor[kept], added=added)
    return small, known[kept]


def _way_weights(fit: FloatArray) -> FloatArray:
    """Weigh ways of learning by the likelihood of the known labels; not to correct is the first, and as likely as all.

    With an equal prior a handful of labels would correct at once: on bluebird and web five raise the error by .016 and
    .010 so, by .006 and .004 as it is (three draws); over the public crowds 30 gain as much either way (.014).
    """
    prior = np.full(len(fit), (1 - NOT_AT_ALL) / max(len(fit) - 1, 1))
    prior[0] = NOT_AT_ALL
    ways = prior * np.exp(fit - fit.max())
    ways = np.where(ways < LEAST_WAY * ways.sum(), 0.0, ways)
    weights: FloatArray = ways / ways.sum()
    return weights


def _mix(parts: Iterable[FloatArray], weights: FloatArray) -> FloatArray:
    """Average tables, of which no more than one need be there at a time."""
    mixed: FloatArray | None = None
    for part, weight in zip(parts, weights, strict=True):
        own: FloatArray = weight * part
        mixed = own if mixed is None else np.add(mixed, own, out=mixed)
    assert mixed is not None  # there are opinions
    return mixed
