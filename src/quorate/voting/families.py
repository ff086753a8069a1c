"""Workers of one family err together: each group has one hidden answer a task, which its members often repeat.

On every task a group draws an answer C of its own, by the matrix phi given the truth, or none (so that a family may err
together on some tasks only); each of its members repeats it with probability s_w, and else answers by itself, by
theta_w. So a hundred members who repeat each other are worth little more than one, and members who do not lose nothing.
EM over answers, linear in them: with boost_w(l, T) = log(1 + s/((1-s) theta_w(l, T))), a group's answers have the
likelihood prod (1-s) theta × (1 + sum over the classes C given of phi(C | T) (exp(sum of boosts of those who gave C) -
1)).
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.voting.group_units import Units
from quorate.voting.posterior import FLOOR, hold_known, log_likelihood, one_more_each, softmax
from quorate.voting.refine import pooled_matrix, shrunk

STEPS = 15  # of EM at the most
SETTLED = 1e-5  # of the log-likelihood: EM stops where a step gains less
START = 0.8  # how often a member repeats its group when EM begins: from below, it would stay with the crowd
SHARED, SHARED_WORTH = 0.2, 10.0  # how often a member repeats its group before its answers speak, and their worth
MOST_SHARED = 0.995  # so that a member can always answer by itself
DRAWN_WORTH = 4.0  # answers a column that a group's own matrix starts with: the crowd's
NOTHING, NOTHING_WORTH = 0.2, 4.0  # on what share of tasks a group draws nothing, before its answers speak; their worth
LEAST_CHANCE = 1e-9  # of an answer


@dataclass(frozen=True)
class Families:
    """What EM learned of groups."""

    scores: FloatArray  # log joint probability, tasks × classes
    theta: FloatArray  # workers × answers × classes: what each answers by itself
    drawn: FloatArray  # groups × (answers, and nothing) × classes: what the group draws
    shared: FloatArray  # s: how often each worker repeats its group
    log_likelihood: float

    @property
    def draws(self) -> FloatArray:
        """On what share of tasks each group draws an answer."""
        share: FloatArray = 1 - self.drawn[:, -1].mean(axis=1)
        return share


def learn_families(
    answers: Answers, group: IntArray, posterior: FloatArray, *, gold: IntArray | None = None, steps: int = STEPS
) -> Families:
    """Fit the model from a posterior.

    Args:
        answers: who answered what.
        group: the group of each worker, from 0; whoever is alone in a group is an ordinary worker.
        posterior: where to start, tasks × classes.
        gold: the known class of each task, -1 where unknown.
        steps: of EM at the most.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(200, 6, 4, seed=0)
    >>> found = learn_families(crowd.answers, np.array([0, 0, 0, 1, 2, 3]), np.eye(2)[crowd.truth])
    >>> found.shared[3:].tolist()  # whoever is alone repeats nobody
    [0.0, 0.0, 0.0]
    """
    units = Units(answers, group)
    q = hold_known(posterior, gold)
    counts = _Counts.at_the_start(units, q)
    shared = np.where(units.is_shared, START, 0.0)
    before = -np.inf
    for _ in range(steps):
        theta, _ = shrunk(counts.own)
        pooled, _ = pooled_matrix(counts.own.sum(axis=0))
        idle = np.full((1, answers.n_classes), NOTHING * NOTHING_WORTH)
        drawn = counts.drawn + np.vstack([DRAWN_WORTH * pooled, idle])
        drawn /= drawn.sum(axis=1, keepdims=True)
        model = _Model(units, theta, drawn, shared)
        scores = model.scores(one_more_each(q))
        q = hold_known(softmax(scores), gold)
        value = log_likelihood(scores, gold)
        counts = model.counts(q)
        mean = (counts.repeated.sum() + SHARED * SHARED_WORTH) / (counts.chances.sum() + SHARED_WORTH)
        found = (counts.repeated + SHARED_WORTH * mean) / (counts.chances + SHARED_WORTH)
        shared = np.where(units.is_shared, np.minimum(found, MOST_SHARED), 0.0)
        if abs(value - before) < SETTLED * abs(value):
            break
        before = value
    return Families(scores, theta, drawn, shared, value)


def effective_votes(answers: Answers, group: IntArray, families: Families) -> FloatArray:
    """Count each task's votes, those of a group by how far its members repeat each other: n/(1 + c·(n-1)).

    c is the chance that two members both repeat what the group drew.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> alike = Families(*(np.zeros((1, 1)),) * 2, np.zeros((2, 3, 2)), np.array([1.0, 1.0, 0.0]), 0.0)
    >>> effective_votes(answers, np.array([0, 0, 1]), alike).tolist()  # the two who repeat each other count once
    [2.0]
    """
    n = int(group.max()) + 1
    keys, size = np.unique(answers.task.astype(np.int64) * n + group[answers.worker], return_counts=True)
    members = np.maximum(np.bincount(group, minlength=n), 1)
    together = families.draws * (np.bincount(group, families.shared, n) / members) ** 2
    worth = size / (1 + together[keys % n] * (size - 1.0))
    return np.bincount(keys // n, worth, answers.n_tasks).astype(np.float64, copy=False)


@dataclass(frozen=True)
class _Counts:
    """Expected answers behind the parameters."""

    own: FloatArray  # workers × answers × classes: given by each worker itself
    drawn: FloatArray  # groups × (answers, and nothing) × classes
    repeated: FloatArray  # of each worker's answers, those that repeat its group
    chances: FloatArray  # of them, those that could have

    @staticmethod
    def at_the_start(units: Units, q: FloatArray) -> "_Counts":
        a = units.answers
        drawn = _drawn_counts(units, q[a.task[units.first]] / 2)
        drawn[:, -1] = NOTHING / (1 - NOTHING) * drawn.sum(axis=1)
        none = np.zeros(a.n_workers)
        return _Counts(_own_counts(units, q[a.task]), drawn, none, none)


class _Model:
    """One step of EM: the scores of the classes and, given a posterior, the next counts."""

    def __init__(self, units: Units, theta: FloatArray, drawn: FloatArray, shared: FloatArray) -> None:
        a, at = units.answers, units.spoken_of_row
        self.units, self.n_drawn = units, drawn.shape
        # A worker has few classes and many answers: logarithms are taken of what was spoken, not of every answer.
        said = np.maximum(theta.reshape(-1, a.n_classes)[units.spoken], LEAST_CHANCE)  # spoken × classes: theta_w(l, T)
        s = shared[units.spoken // a.n_classes][:, None]
        self.logs = np.log(said) + np.log1p(-s)
        self.repeats = s / (s + (1 - s) * said)
        if len(at) == 0:
            return
        # Where the group draws nothing, its members answer by theta, not by (1-s) theta.
        freed = units.by_unit(np.add.reduceat(-np.log1p(-s)[at], units.cell_starts, axis=0))
        boosts = np.add.reduceat(np.log1p(s / ((1 - s) * said))[at], units.cell_starts, axis=0)
        self.top = np.maximum(np.maximum.reduceat(boosts, units.unit_starts, axis=0), freed)
        phi = drawn[units.cell_groups, a.label[units.first]]
        lifted = phi * np.exp(boosts - self.top[units.unit_of_cell])
        nothing = drawn[units.unit_groups, -1]
        idle = nothing * np.exp(freed - self.top)
        unsaid = np.maximum(1 - units.by_unit(phi) - nothing, 0.0)
        self.z = np.maximum(units.by_unit(lifted) + idle + unsaid * np.exp(-self.top), FLOOR)
        self.drew = lifted / self.z[units.unit_of_cell]  # the chance that the group drew this class
        self.idle = idle / self.z

    def scores(self, prior: FloatArray) -> FloatArray:
        """Return log P(answers, class) of each task and class."""
        a, units = self.units.answers, self.units
        scores = np.tile(np.log(np.maximum(prior, FLOOR)), (a.n_tasks, 1))
        answered = np.flatnonzero(a.per_task)
        scores[answered] += np.add.reduceat(self.logs[units.spoken_of], a.start[answered], axis=0)
        if len(units.rows):
            np.add.at(scores, units.unit_tasks, np.log(self.z) + self.top)
        return scores

    def counts(self, q: FloatArray) -> _Counts:
        """Return the expected answers behind the next parameters."""
        a, units, rows = self.units.answers, self.units, self.units.rows
        belief = q[a.task]
        if len(rows) == 0:
            none = np.zeros(a.n_workers)
            return _Counts(_own_counts(units, belief), np.zeros(self.n_drawn), none, none)
        copied = self.drew[units.cell_of_row] * self.repeats[units.spoken_of_row] * belief[rows]
        own = belief.copy()
        own[rows] -= copied
        drawn = _drawn_counts(units, self.drew * belief[units.first])
        idle = self.idle * q[units.unit_tasks]
        drawn[:, -1] = _sums(units.unit_groups, idle, units.n_groups)
        could = 1 - idle.sum(axis=1)[units.unit_of_cell[units.cell_of_row]]
        both = _sums(a.worker[rows], np.stack([copied.sum(axis=1), could], axis=1), a.n_workers)
        return _Counts(_own_counts(units, own), drawn, both[:, 0], both[:, 1])


def _own_counts(units: Units, weight: FloatArray) -> FloatArray:
    """Sum answers × classes of weights into workers × answers × classes."""
    m = units.answers.n_classes
    return _sums(units.own_cells, weight, units.answers.n_workers * m).reshape(-1, m, m)


def _drawn_counts(units: Units, weight: FloatArray) -> FloatArray:
    """Sum cells × classes of weights into groups × (answers, and nothing) × classes."""
    m, n = units.answers.n_classes, units.n_groups
    sums = _sums(units.cell_groups * m + units.answers.label[units.first], weight, n * m)
    return np.concatenate([sums.reshape(n, m, m), np.zeros((n, 1, m))], axis=1)


def _sums(place: IntArray, weight: FloatArray, n: int) -> FloatArray:
    return np.stack([np.bincount(place, column, n) for column in weight.T], axis=1)
