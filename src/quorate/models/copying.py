"""Groups of workers who copy: each group has one hidden answer per task, which its members often repeat.

On every task a group draws an answer C of its own, by the matrix phi given the true class, or none (so that a group may
err together on some tasks only). Each member repeats C with probability s_w and otherwise answers by itself, by
theta_w. A hundred members who repeat each other then count little more than one, and members who do not lose nothing.
With boost_w(l, T) = log(1 + s/((1-s) theta_w(l, T))), the answers of a group have the likelihood

    prod (1-s) theta × (1 + sum over the classes C given of phi(C | T) (exp(sum of boosts of those who gave C) - 1)).

The expected counts of EM are sums over tasks, so the model is fitted over blocks.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, from_strings, sum_rows
from quorate.blocks.block import Block, Blocks, Sums, added
from quorate.blocks.memory import answers_in, memory_blocks
from quorate.blocks.transform import GroupMajority
from quorate.models.confusion import fit_matrices
from quorate.models.scorer import Scorer
from quorate.voting.posterior import FLOOR, clamp_gold, log_likelihood, softmax


@dataclass(frozen=True)
class Units:
    """A unit is a group of two members or more on a task; a cell is a class that it gave there.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> units = Units(answers, np.array([0, 0, 1]))
    >>> units.rows.tolist(), units.cell_starts.tolist(), units.unit_starts.tolist()
    ([0, 1, 3], [0, 1, 2], [0, 2])
    """

    answers: Answers
    group: IntArray  # of each worker, from 0; whoever is alone in a group is in no unit

    @cached_property
    def n_groups(self) -> int:
        """How many groups there are, those of one worker included."""
        return int(self.group.max()) + 1

    @cached_property
    def is_shared(self) -> BoolArray:
        """Whether each worker's group has several members."""
        several: BoolArray = np.bincount(self.group)[self.group] > 1
        return several

    @cached_property
    def rows(self) -> IntArray:
        """The answers of workers in groups, in the order of their task, group and class."""
        a = self.answers
        inside = np.flatnonzero(self.is_shared[a.worker])
        return inside[np.lexsort([a.label[inside], self.group[a.worker[inside]], a.task[inside]])]

    @cached_property
    def own_cells(self) -> IntArray:
        """Each answer as worker·M + class."""
        return self.answers.worker_cells

    @cached_property
    def observed_symbols(self) -> IntArray:
        """Every worker with every class that it ever gave, as worker·M + class."""
        a = self.answers
        return np.flatnonzero(np.bincount(self.own_cells, minlength=a.n_workers * a.n_classes))

    @cached_property
    def symbol_of_answer(self) -> IntArray:
        """The position of each answer among `observed_symbols`."""
        position = np.zeros(self.answers.n_workers * self.answers.n_classes, np.int64)
        position[self.observed_symbols] = np.arange(len(self.observed_symbols))
        return position[self.own_cells]

    @cached_property
    def symbol_of_row(self) -> IntArray:
        """The position of each row's answer among `observed_symbols`."""
        return self.symbol_of_answer[self.rows]

    @cached_property
    def row_groups(self) -> IntArray:
        """The group of each row."""
        return self.group[self.answers.worker[self.rows]]

    @cached_property
    def cell_starts(self) -> IntArray:
        """Where each cell begins among the rows."""
        a = self.answers
        unit = a.task[self.rows].astype(np.int64) * self.n_groups + self.row_groups
        return _starts(unit * a.n_classes + a.label[self.rows])

    @cached_property
    def first(self) -> IntArray:
        """The first answer of each cell."""
        return self.rows[self.cell_starts]

    @cached_property
    def cell_groups(self) -> IntArray:
        """The group of each cell."""
        return self.row_groups[self.cell_starts]

    @cached_property
    def unit_starts(self) -> IntArray:
        """Where each unit begins among the cells."""
        return _starts(self.answers.task[self.first].astype(np.int64) * self.n_groups + self.cell_groups)

    @cached_property
    def unit_groups(self) -> IntArray:
        """The group of each unit."""
        return self.cell_groups[self.unit_starts]

    @cached_property
    def unit_tasks(self) -> IntArray:
        """The task of each unit."""
        tasks: IntArray = self.answers.task[self.first[self.unit_starts]]
        return tasks

    @cached_property
    def cell_of_row(self) -> IntArray:
        """The cell of each row."""
        return np.repeat(np.arange(len(self.cell_starts)), np.diff(np.append(self.cell_starts, len(self.rows))))

    @cached_property
    def unit_of_cell(self) -> IntArray:
        """The unit of each cell."""
        return np.repeat(np.arange(len(self.unit_starts)), np.diff(np.append(self.unit_starts, len(self.cell_starts))))

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Sum values of the cells over each unit."""
        sums: FloatArray = np.add.reduceat(values, self.unit_starts, axis=0)
        return sums


def majority_of_group(answers: Answers, group: IntArray) -> Answers:
    """Let each group answer as one worker: the class that most of its members gave; where two are alike, the others'.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 1], "worker": list("abcd"), "label": list("xxyy")})
    >>> grouped = majority_of_group(answers, np.array([0, 0, 0, 1]))
    >>> grouped.worker.tolist(), grouped.label.tolist()
    ([0, 1], [0, 1])
    """
    change = GroupMajority(group)
    grouped = answers_in(change(memory_blocks(answers).all_tasks))
    names = from_strings([f"group {k}" for k in range(change.n_groups)])
    return replace(grouped, task_names=answers.task_names, worker_names=names, classes=answers.classes)


def _starts(key: IntArray) -> IntArray:
    """Where each run of the same key begins."""
    if len(key) == 0:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))


MAX_STEPS = 15  # of EM
TOLERANCE = 1e-5  # relative gain of the log-likelihood at which EM stops
FIRST_REPEAT = 0.8  # how often a member repeats its group when EM begins: from below, it would stay with the crowd
# Prior pseudo-counts; chosen on simulated groups (`python -m experiments.default_method.simulations`).
PRIOR_REPEAT = 0.2  # how often a member repeats its group
PRIOR_REPEAT_ANSWERS = 10.0
MAX_REPEAT = 0.995  # so that a member can always answer by itself
DRAWN_ANSWERS = 4.0  # answers per column with which a group's matrix starts: the pooled one
PRIOR_IDLE = 0.2  # share of tasks on which a group draws nothing
IDLE_TASKS = 4.0
MIN_PROBABILITY = 1e-9  # of an answer


@dataclass(frozen=True)
class CopyingModel:
    """What EM learned of groups of copying workers; a `Scorer`."""

    group: IntArray  # [workers], from 0; a worker alone in its group copies nobody
    theta: FloatArray  # workers × answers × classes: what each answers by itself
    drawn: FloatArray  # groups × (answers, and nothing) × classes: what the group draws
    repeats: FloatArray  # [workers]: s, how often each repeats its group
    log_prior: FloatArray
    log_likelihood: float

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        return self.e_step(block).scores(self.log_prior)

    def renamed(self, new_class: IntArray) -> "CopyingModel":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""
        back = np.argsort(new_class)
        no_label = len(back)
        with_nothing = np.append(back, no_label)
        return replace(
            self,
            theta=self.theta[:, back][:, :, back],
            drawn=self.drawn[:, with_nothing][:, :, back],
            log_prior=self.log_prior[back],
        )

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "CopyingModel":
        """Return the model after one M-step from a posterior; gold that the blocks carry is clamped."""
        counts = _Counts(*blocks.sum(_counts_given_posterior, self, posterior))
        return _m_step(self.group, counts, self.log_likelihood)

    @property
    def copy_rate(self) -> FloatArray:
        """Probability that two members of each group both repeat what the group drew; [groups]."""
        n_groups = len(self.drawn)
        members = np.maximum(np.bincount(self.group, minlength=n_groups), 1)
        mean_repeat = np.bincount(self.group, self.repeats, n_groups) / members
        rate: FloatArray = self.draws * mean_repeat**2
        return rate

    @property
    def draws(self) -> FloatArray:
        """Share of tasks on which each group draws an answer; [groups]."""
        share: FloatArray = 1 - self.drawn[:, -1].mean(axis=1)
        return share

    def effective_votes(self, block: Block) -> FloatArray:
        """Return the votes of each task, those of a group counted n/(1 + c (n - 1)), c its copy rate."""
        n_groups = len(self.drawn)
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        unit = task * n_groups + self.group[block.worker[block.answers]]
        units, size = np.unique(unit, return_counts=True)
        worth = size / (1 + self.copy_rate[units % n_groups] * (size - 1.0))
        return np.bincount(units // n_groups, worth, block.n_tasks).astype(np.float64, copy=False)

    def e_step(self, block: Block) -> "_EStep":
        """Return the E-step of a block: its scores and, given a posterior, the expected counts."""
        return _EStep(Units(answers_in(block), self.group), self.theta, self.drawn, self.repeats)


def fit_copying(
    blocks: Blocks, group: IntArray, start: Callable[[Block], FloatArray], *, max_steps: int = MAX_STEPS
) -> CopyingModel:
    """Fit the model by EM from a posterior; gold that the blocks carry is clamped.

    Args:
        blocks: blocks of tasks.
        group: of each worker, from 0.
        start: posterior of each block's tasks to start from.
        max_steps: of EM.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> from quorate.models.confusion import ModelPosterior
    >>> from quorate.models.scorer import PluralityScorer
    >>> blocks = blocks_of(quorate.simulate.crowd(200, 6, 4, seed=0).answers)
    >>> model = fit_copying(blocks, np.array([0, 0, 0, 1, 2, 3]), ModelPosterior(PluralityScorer(1.0)))
    >>> model.repeats[3:].tolist()  # a worker alone in its group copies nobody
    [0.0, 0.0, 0.0]
    """
    counts = _Counts(*blocks.sum(_first_counts, group, start))
    model = _m_step(group, counts, -np.inf, first=True)
    for _ in range(max_steps):
        *sums, value = blocks.sum(_em_counts, model)
        before = model.log_likelihood
        model = replace(model, log_likelihood=float(value[0]))
        if abs(model.log_likelihood - before) < TOLERANCE * abs(model.log_likelihood):
            break
        model = _m_step(group, _Counts(*sums), model.log_likelihood)
    return model


@dataclass(frozen=True)
class GroupedScorer:
    """A model of groups that answer as one worker each; a `Scorer` of the blocks of single workers."""

    model: Scorer
    groups: GroupMajority

    def scores(self, block: Block) -> FloatArray:
        """Return the model's scores of the groups' majority answers."""
        return self.model.scores(self.groups(block))

    def renamed(self, new_class: IntArray) -> "GroupedScorer":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""
        return replace(self, model=self.model.renamed(new_class))

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "GroupedScorer":
        """Return itself: only the model of single workers is refitted."""
        return self

    @property
    def group(self) -> IntArray:
        """Group of each worker, from 0."""
        return self.groups.group

    def effective_votes(self, block: Block) -> FloatArray:
        """Return the votes of each task: one per group."""
        return self.groups(block).per_task.astype(np.float64)


@dataclass(frozen=True)
class _Counts:
    """Expected counts behind the parameters."""

    by_worker: FloatArray  # workers × answers × classes: given by each worker itself
    drawn: FloatArray  # groups × (answers, and nothing) × classes
    repeated: FloatArray  # [workers]: answers that repeat the group's
    could_repeat: FloatArray  # [workers]: answers that could have
    class_counts: FloatArray  # [classes]


def _m_step(group: IntArray, counts: _Counts, value: float, *, first: bool = False) -> CopyingModel:
    """Return the parameters with the largest posterior given expected counts."""
    model = fit_matrices(counts.by_worker, counts.class_counts, np.ones(len(group)))
    m = len(model.log_prior)
    idle = np.full((1, m), PRIOR_IDLE * IDLE_TASKS)
    group_answer = counts.drawn + np.vstack([DRAWN_ANSWERS * model.pooled, idle])
    group_answer = group_answer / group_answer.sum(axis=1, keepdims=True)
    shares_group = np.bincount(group)[group] > 1
    total = counts.could_repeat.sum() + PRIOR_REPEAT_ANSWERS
    mean = (counts.repeated.sum() + PRIOR_REPEAT * PRIOR_REPEAT_ANSWERS) / total
    repeats = (counts.repeated + PRIOR_REPEAT_ANSWERS * mean) / (counts.could_repeat + PRIOR_REPEAT_ANSWERS)
    repeats = np.full(len(group), FIRST_REPEAT) if first else np.minimum(repeats, MAX_REPEAT)
    repeats = np.where(shares_group, repeats, 0.0)
    return CopyingModel(group, model.theta(), group_answer, repeats, model.log_prior, value)


def _first_counts(blocks: Iterable[Block], group: IntArray, start: Callable[[Block], FloatArray]) -> Sums:
    """Count answers by the first posterior; a group draws what its members gave, on most tasks."""
    n_groups = int(group.max()) + 1
    zeros = np.zeros(len(group))

    def counts(block: Block) -> Sums:
        units = Units(answers_in(block), group)
        q = clamp_gold(start(block), block.gold)
        group_counts = _drawn_counts(units, q[units.answers.task[units.first]] / 2, n_groups)
        group_counts[:, -1] = PRIOR_IDLE / (1 - PRIOR_IDLE) * group_counts.sum(axis=1)
        own_counts = _own_counts(units, q[units.answers.task])
        return own_counts, group_counts, zeros, zeros, q.sum(axis=0)

    return added(counts(block) for block in blocks)


def _em_counts(blocks: Iterable[Block], model: CopyingModel) -> Sums:
    """E-step: expected counts under the model's own posterior, and the log-likelihood."""

    def counts(block: Block) -> Sums:
        step = model.e_step(block)
        scores = step.scores(model.log_prior)
        q = clamp_gold(softmax(scores), block.gold)
        return (*step.counts(q), q.sum(axis=0), np.array([log_likelihood(scores, block.gold)]))

    return added(counts(block) for block in blocks)


def _counts_given_posterior(
    blocks: Iterable[Block], model: CopyingModel, posterior: Callable[[Block], FloatArray]
) -> Sums:
    """Count answers by another posterior of the classes; who repeats whom, by the model."""

    def counts(block: Block) -> Sums:
        q = clamp_gold(posterior(block), block.gold)
        return (*model.e_step(block).counts(q), q.sum(axis=0))

    return added(counts(block) for block in blocks)


class _EStep:
    """Scores of the classes of a block's tasks and, given a posterior, the expected counts."""

    def __init__(self, units: Units, theta: FloatArray, drawn: FloatArray, repeats: FloatArray) -> None:
        answers = units.answers
        at = units.symbol_of_row
        self.units = units
        self.n_groups = len(drawn)
        # A worker has few classes and many answers: logarithms are taken once per worker and class given.
        probability = np.maximum(
            theta.reshape(-1, answers.n_classes)[units.observed_symbols], MIN_PROBABILITY
        )  # theta_w(l, T)
        s = repeats[units.observed_symbols // answers.n_classes][:, None]
        self.logs = np.log(probability) + np.log1p(-s)
        self.repeats = s / (s + (1 - s) * probability)
        if len(at) == 0:
            return
        # Where the group draws nothing, its members answer by theta, not by (1-s) theta.
        freed = units.by_unit(np.add.reduceat(-np.log1p(-s)[at], units.cell_starts, axis=0))
        boosts = np.add.reduceat(np.log1p(s / ((1 - s) * probability))[at], units.cell_starts, axis=0)
        self.top = np.maximum(np.maximum.reduceat(boosts, units.unit_starts, axis=0), freed)
        phi = drawn[units.cell_groups, answers.label[units.first]]
        lifted = phi * np.exp(boosts - self.top[units.unit_of_cell])
        no_copy = drawn[units.unit_groups, -1]
        idle = no_copy * np.exp(freed - self.top)
        not_given = np.maximum(1 - units.by_unit(phi) - no_copy, 0.0)
        self.z = np.maximum(units.by_unit(lifted) + idle + not_given * np.exp(-self.top), FLOOR)
        self.drew = lifted / self.z[units.unit_of_cell]  # probability that the group drew this class
        self.idle = idle / self.z

    def scores(self, log_prior: FloatArray) -> FloatArray:
        """Return log P(answers, class) of each task and class."""
        answers = self.units.answers
        units = self.units
        scores = np.tile(log_prior, (answers.n_tasks, 1))
        answered = np.flatnonzero(answers.per_task)
        if len(answered):
            scores[answered] += np.add.reduceat(self.logs[units.symbol_of_answer], answers.start[answered], axis=0)
        if len(units.rows):
            np.add.at(scores, units.unit_tasks, np.log(self.z) + self.top)
        return scores

    def counts(self, q: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the expected counts: own, drawn, repeated, could repeat."""
        answers = self.units.answers
        units = self.units
        rows = units.rows
        of_answer = q[answers.task]
        if len(rows) == 0:
            zeros = np.zeros(answers.n_workers)
            drawn = np.zeros((self.n_groups, answers.n_classes + 1, answers.n_classes))
            return _own_counts(units, of_answer), drawn, zeros, zeros
        copied = self.drew[units.cell_of_row] * self.repeats[units.symbol_of_row] * of_answer[rows]
        not_copied = of_answer.copy()
        not_copied[rows] -= copied
        drawn = _drawn_counts(units, self.drew * of_answer[units.first], self.n_groups)
        idle = self.idle * q[units.unit_tasks]
        drawn[:, -1] = sum_rows(units.unit_groups, idle, self.n_groups)
        could = 1 - idle.sum(axis=1)[units.unit_of_cell[units.cell_of_row]]
        both = sum_rows(answers.worker[rows], np.stack([copied.sum(axis=1), could], axis=1), answers.n_workers)
        return _own_counts(units, not_copied), drawn, both[:, 0], both[:, 1]


def _own_counts(units: Units, weight: FloatArray) -> FloatArray:
    """Sum answers × classes of weights into workers × answers × classes."""
    m = units.answers.n_classes
    return sum_rows(units.own_cells, weight, units.answers.n_workers * m).reshape(-1, m, m)


def _drawn_counts(units: Units, weight: FloatArray, n_groups: int) -> FloatArray:
    """Sum cells × classes of weights into groups × (answers, and nothing) × classes."""
    m = units.answers.n_classes
    sums = sum_rows(units.cell_groups * m + units.answers.label[units.first], weight, n_groups * m)
    return np.concatenate([sums.reshape(n_groups, m, m), np.zeros((n_groups, 1, m))], axis=1)
