"""Model of copying workers: each group has one hidden answer per task, which its members often repeat.

Groups are found in `calibration/find_copying.py`, rated in `skills/copying.py`, reported in `diagnostics/copying.py`.

On every task a group has a hidden answer C, with the probabilities phi(C | T) given the true class T, or none (so that
a group can err together on some tasks only). If there is one, each member repeats it with probability s_w and otherwise
answers independently, with the probabilities theta_w. A hundred members who repeat each other then count little more
than one worker; members who answer independently keep their weight. With
boost_w(l, T) = log(1 + s/((1-s) theta_w(l, T))), the answers of a group that always has a hidden answer have the
likelihood

    prod (1-s) theta × (1 + sum over the given classes C of phi(C | T) (exp(sum of boosts of those who gave C) - 1)).

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
    """Answers of groups: a unit is a group of two or more members on a task, a cell is a class that the unit gave.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": list("xyyx")})
    >>> units = Units(answers, np.array([0, 0, 1]))
    >>> units.rows.tolist(), units.cell_starts.tolist(), units.unit_starts.tolist()
    ([0, 1, 3], [0, 1, 2], [0, 2])
    """

    answers: Answers
    group: IntArray  # of each worker, from 0; a worker who is alone in a group is in no unit

    @cached_property
    def n_groups(self) -> int:
        """Number of groups, including groups of one worker."""
        return int(self.group.max()) + 1

    @cached_property
    def is_shared(self) -> BoolArray:
        """Whether each worker's group has several members."""
        is_shared: BoolArray = np.bincount(self.group)[self.group] > 1
        return is_shared

    @cached_property
    def rows(self) -> IntArray:
        """The answers of workers in groups of several members, sorted by task, group and class."""
        a = self.answers
        inside = np.flatnonzero(self.is_shared[a.worker])
        return inside[np.lexsort([a.label[inside], self.group[a.worker[inside]], a.task[inside]])]

    @cached_property
    def own_cells(self) -> IntArray:
        """Each answer as worker·M + class."""
        return self.answers.worker_cells

    @cached_property
    def observed_symbols(self) -> IntArray:
        """All pairs of a worker and a class that it gave, as worker·M + class."""
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
        """Position of the first row of each cell."""
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
        """Position of the first cell of each unit."""
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
        """Return the sums of values of the cells over each unit."""
        sums: FloatArray = np.add.reduceat(values, self.unit_starts, axis=0)
        return sums


def majority_of_group(answers: Answers, group: IntArray) -> Answers:
    """Return answers in which each group is one worker, who gives the class that most of its members gave.

    If classes have equal numbers of votes, the votes of the workers outside the group decide.

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
    """Return the first position of each run of equal keys."""
    if len(key) == 0:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))


MAX_STEPS = 15  # of EM
TOLERANCE = 1e-5  # relative change of the log-likelihood at which EM stops
START_REPEAT_RATE = 0.8  # first s of all members; from lower values EM would stay near the model without copying
# Prior pseudo-counts; chosen on simulated groups (`python -m experiments.default_method.simulations`).
PRIOR_REPEAT_RATE = 0.2  # prior mean of s
PRIOR_REPEAT_ANSWERS = 10.0  # pseudo-answers of the prior of s
MAX_REPEAT_RATE = 0.995  # so that an independent answer is always possible
PRIOR_GROUP_ANSWERS = 4.0  # pseudo-answers per column of a group's phi, distributed as in the pooled matrix
PRIOR_NO_ANSWER = 0.2  # prior probability that a group has no hidden answer on a task
# Pseudo-tasks per class, of which the share PRIOR_NO_ANSWER has no hidden answer; PRIOR_GROUP_ANSWERS more have one.
PRIOR_NO_ANSWER_TASKS = 4.0
MIN_PROBABILITY = 1e-9  # of an answer


@dataclass(frozen=True)
class CopyingModel:
    """Parameters of the model of groups of copying workers; a `Scorer`."""

    group: IntArray  # [workers], from 0; a worker who is alone in its group is independent
    theta: FloatArray  # workers × answers × classes: probabilities of independent answers
    phi: FloatArray  # groups × (answers, and no answer) × classes: probabilities of the hidden answer
    repeats: FloatArray  # [workers]: s, probability that the worker repeats the hidden answer
    log_prior: FloatArray
    log_likelihood: float

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        return self.e_step(block).scores(self.log_prior)

    def renamed(self, new_class: IntArray) -> "CopyingModel":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""
        back = np.argsort(new_class)
        no_label = len(back)
        with_no_answer = np.append(back, no_label)
        return replace(
            self,
            theta=self.theta[:, back][:, :, back],
            phi=self.phi[:, with_no_answer][:, :, back],
            log_prior=self.log_prior[back],
        )

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "CopyingModel":
        """Return the model after one M-step from a posterior; gold in the blocks is clamped."""
        counts = _Counts(*blocks.sum(_counts_given_posterior, self, posterior))
        return _m_step(self.group, counts, self.log_likelihood)

    @property
    def copy_rate(self) -> FloatArray:
        """Probability that two members of each group both repeat its hidden answer; [groups]."""
        n_groups = len(self.phi)
        members = np.maximum(np.bincount(self.group, minlength=n_groups), 1)
        mean_repeat = np.bincount(self.group, self.repeats, n_groups) / members
        rate: FloatArray = self.answer_rate * mean_repeat**2
        return rate

    @property
    def answer_rate(self) -> FloatArray:
        """Probability that each group has a hidden answer on a task, averaged over the classes; [groups]."""
        share: FloatArray = 1 - self.phi[:, -1].mean(axis=1)
        return share

    def effective_votes(self, block: Block) -> FloatArray:
        """Return the effective votes of each task; n votes of a group with copy rate c count n/(1 + c (n - 1))."""
        n_groups = len(self.phi)
        task = np.repeat(np.arange(block.n_tasks), block.per_task)
        unit = task * n_groups + self.group[block.worker[block.answers]]
        units, size = np.unique(unit, return_counts=True)
        votes_of_unit = size / (1 + self.copy_rate[units % n_groups] * (size - 1.0))
        return np.bincount(units // n_groups, votes_of_unit, block.n_tasks).astype(np.float64, copy=False)

    def e_step(self, block: Block) -> "_EStep":
        """Return the E-step of a block: its scores and, given a posterior, the expected counts."""
        return _EStep(Units(answers_in(block), self.group), self.theta, self.phi, self.repeats)


def fit_copying(
    blocks: Blocks, group: IntArray, start: Callable[[Block], FloatArray], *, max_steps: int = MAX_STEPS
) -> CopyingModel:
    """Fit the model by EM from a posterior; gold in the blocks is clamped.

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
    >>> model.repeats[3:].tolist()  # a worker who is alone in its group is independent
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
    """A model of groups as single workers; a `Scorer` of blocks in which the workers are not grouped."""

    model: Scorer
    groups: GroupMajority

    def scores(self, block: Block) -> FloatArray:
        """Return the model's scores of the groups' majority answers."""
        return self.model.scores(self.groups(block))

    def renamed(self, new_class: IntArray) -> "GroupedScorer":
        """Return the model of answers whose class c is renamed ``new_class[c]``."""
        return replace(self, model=self.model.renamed(new_class))

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "GroupedScorer":
        """Return this model unchanged: only models of ungrouped workers are refitted."""
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
    """Expected counts from which the parameters are computed."""

    by_worker: FloatArray  # workers × answers × classes: independent answers
    by_group: FloatArray  # groups × (answers, and no answer) × classes: hidden answers
    repeated: FloatArray  # [workers]: answers that repeat the hidden answer of the group
    could_repeat: FloatArray  # [workers]: answers to tasks on which the group has a hidden answer
    class_counts: FloatArray  # [classes]


def _m_step(group: IntArray, counts: _Counts, value: float, *, first: bool = False) -> CopyingModel:
    """Return the parameters with the largest posterior given expected counts."""
    model = fit_matrices(counts.by_worker, counts.class_counts, np.ones(len(group)))
    m = len(model.log_prior)
    no_answer = np.full((1, m), PRIOR_NO_ANSWER * PRIOR_NO_ANSWER_TASKS)
    phi = counts.by_group + np.vstack([PRIOR_GROUP_ANSWERS * model.pooled, no_answer])
    phi = phi / phi.sum(axis=1, keepdims=True)
    shares_group = np.bincount(group)[group] > 1
    total = counts.could_repeat.sum() + PRIOR_REPEAT_ANSWERS
    mean = (counts.repeated.sum() + PRIOR_REPEAT_RATE * PRIOR_REPEAT_ANSWERS) / total
    repeats = (counts.repeated + PRIOR_REPEAT_ANSWERS * mean) / (counts.could_repeat + PRIOR_REPEAT_ANSWERS)
    repeats = np.full(len(group), START_REPEAT_RATE) if first else np.minimum(repeats, MAX_REPEAT_RATE)
    repeats = np.where(shares_group, repeats, 0.0)
    return CopyingModel(group, model.theta(), phi, repeats, model.log_prior, value)


def _first_counts(blocks: Iterable[Block], group: IntArray, start: Callable[[Block], FloatArray]) -> Sums:
    """Return expected counts by the first posterior; the hidden answers are those of the members, on most tasks."""
    n_groups = int(group.max()) + 1
    zeros = np.zeros(len(group))

    def counts(block: Block) -> Sums:
        units = Units(answers_in(block), group)
        q = clamp_gold(start(block), block.gold)
        group_counts = _group_counts(units, q[units.answers.task[units.first]] / 2, n_groups)
        group_counts[:, -1] = PRIOR_NO_ANSWER / (1 - PRIOR_NO_ANSWER) * group_counts.sum(axis=1)
        own_counts = _own_counts(units, q[units.answers.task])
        return own_counts, group_counts, zeros, zeros, q.sum(axis=0)

    return added(counts(block) for block in blocks)


def _em_counts(blocks: Iterable[Block], model: CopyingModel) -> Sums:
    """E-step: return expected counts under the model's own posterior, and the log-likelihood."""

    def counts(block: Block) -> Sums:
        step = model.e_step(block)
        scores = step.scores(model.log_prior)
        q = clamp_gold(softmax(scores), block.gold)
        return (*step.counts(q), q.sum(axis=0), np.array([log_likelihood(scores, block.gold)]))

    return added(counts(block) for block in blocks)


def _counts_given_posterior(
    blocks: Iterable[Block], model: CopyingModel, posterior: Callable[[Block], FloatArray]
) -> Sums:
    """Return expected counts with a given posterior of the classes; probabilities of copying are the model's."""

    def counts(block: Block) -> Sums:
        q = clamp_gold(posterior(block), block.gold)
        return (*model.e_step(block).counts(q), q.sum(axis=0))

    return added(counts(block) for block in blocks)


class _EStep:
    """Scores of the classes of a block's tasks and, given a posterior, the expected counts."""

    def __init__(self, units: Units, theta: FloatArray, phi: FloatArray, repeats: FloatArray) -> None:
        answers = units.answers
        symbol = units.symbol_of_row
        self.units = units
        self.n_groups = len(phi)
        # A worker has few classes and many answers, so logarithms are computed once per worker and given class.
        # theta_w(l, T)
        probability = np.maximum(theta.reshape(-1, answers.n_classes)[units.observed_symbols], MIN_PROBABILITY)
        s = repeats[units.observed_symbols // answers.n_classes][:, None]
        self.logs = np.log(probability) + np.log1p(-s)
        self.repeats = s / (s + (1 - s) * probability)
        if len(symbol) == 0:
            return
        # Without a hidden answer the members answer with the probabilities theta, not (1-s) theta.
        without_factor = units.by_unit(np.add.reduceat(-np.log1p(-s)[symbol], units.cell_starts, axis=0))
        boosts = np.add.reduceat(np.log1p(s / ((1 - s) * probability))[symbol], units.cell_starts, axis=0)
        self.top = np.maximum(np.maximum.reduceat(boosts, units.unit_starts, axis=0), without_factor)
        phi_of_cell = phi[units.cell_groups, answers.label[units.first]]
        boosted = phi_of_cell * np.exp(boosts - self.top[units.unit_of_cell])
        phi_no_answer = phi[units.unit_groups, -1]
        no_answer = phi_no_answer * np.exp(without_factor - self.top)
        not_given = np.maximum(1 - units.by_unit(phi_of_cell) - phi_no_answer, 0.0)
        self.z = np.maximum(units.by_unit(boosted) + no_answer + not_given * np.exp(-self.top), FLOOR)
        self.p_hidden = boosted / self.z[units.unit_of_cell]  # probability that this class is the hidden answer
        self.p_no_answer = no_answer / self.z  # probability that there is no hidden answer

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
        """Return the expected counts given a posterior: the first four fields of `_Counts`."""
        answers = self.units.answers
        units = self.units
        rows = units.rows
        of_answer = q[answers.task]
        if len(rows) == 0:
            zeros = np.zeros(answers.n_workers)
            by_group = np.zeros((self.n_groups, answers.n_classes + 1, answers.n_classes))
            return _own_counts(units, of_answer), by_group, zeros, zeros
        copied = self.p_hidden[units.cell_of_row] * self.repeats[units.symbol_of_row] * of_answer[rows]
        not_copied = of_answer.copy()
        not_copied[rows] -= copied
        by_group = _group_counts(units, self.p_hidden * of_answer[units.first], self.n_groups)
        no_answer = self.p_no_answer * q[units.unit_tasks]
        by_group[:, -1] = sum_rows(units.unit_groups, no_answer, self.n_groups)
        could_copy = 1 - no_answer.sum(axis=1)[units.unit_of_cell[units.cell_of_row]]
        repeated_and_could = np.stack([copied.sum(axis=1), could_copy], axis=1)
        of_worker = sum_rows(answers.worker[rows], repeated_and_could, answers.n_workers)
        return _own_counts(units, not_copied), by_group, of_worker[:, 0], of_worker[:, 1]


def _own_counts(units: Units, weight: FloatArray) -> FloatArray:
    """Return the sums of weights (answers × classes) as workers × answers × classes."""
    m = units.answers.n_classes
    return sum_rows(units.own_cells, weight, units.answers.n_workers * m).reshape(-1, m, m)


def _group_counts(units: Units, weight: FloatArray, n_groups: int) -> FloatArray:
    """Return the sums of weights (cells × classes) as groups × (answers, and no answer) × classes."""
    m = units.answers.n_classes
    sums = sum_rows(units.cell_groups * m + units.answers.label[units.first], weight, n_groups * m)
    return np.concatenate([sums.reshape(n_groups, m, m), np.zeros((n_groups, 1, m))], axis=1)
