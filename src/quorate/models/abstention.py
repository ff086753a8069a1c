"""Informative grades and abstentions: their likelihood given the class, added to the scores of the classes.

Let s be the symbol (grade or abstention) that worker w gives, c the class that s stands for, and k the true class. Then
P(s | k) = P(answers or abstains | k) · P(c | k) · P(s | c, k) is a confusion matrix of symbols × classes, which need
not be square. Every model of the answers contains the middle factor; this module adds the other two. A worker's factors
are shrunk toward the crowd's, and the crowd's toward independence of k. A factor is used only if a likelihood-ratio
test rejects independence, so that abstaining at random changes no label.

The expected class proportions stay those without symbols (`prior_preserving_shift`): symbols change which tasks have a
class, not how many. Symbols of a task that are correlated only through its class may change the proportions, too. If
they are correlated within a class (some tasks of a class are nearer to the boundary than others), their sum would
overstate the evidence, always in the same direction.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.memory import Answered, blocks_of
from quorate.blocks.worker_rows import rows_at
from quorate.models.accuracy_prior import MIN_PRIOR_STRENGTH
from quorate.models.confusion import max_entries
from quorate.models.scorer import MatrixScorer, Scorer
from quorate.statistics import is_significant
from quorate.voting.posterior import FLOOR, add_one_proportions, softmax, tempering

# Probability that symbols that do not depend on the class are used: one test for the crowd, and one over its workers.
TEST_LEVEL = 0.01


def symbol_log_probabilities(counts: FloatArray, kind_of_symbol: IntArray) -> FloatArray | None:
    """Return log P(symbol | kind, class), workers × symbols × classes; None if no symbol depends on the class.

    Args:
        counts: expected counts, workers × symbols × classes.
        kind_of_symbol: kind of each symbol; a worker chooses among the symbols of one kind.

    The largest entry over the classes is zero.

    >>> often, seldom = [[60.0, 5.0], [0.0, 55.0]], [[3.0, 3.0], [3.0, 3.0]]
    >>> symbol_log_probabilities(np.array([often]), np.zeros(2, int))[0, 1].round(1).tolist()
    [-5.1, 0.0]
    >>> symbol_log_probabilities(np.array([seldom]), np.zeros(2, int)) is None
    True
    """
    logs = np.zeros_like(counts)
    depends_on_class = False
    used = counts.sum(axis=(0, 2)) > 0
    for kind in np.unique(kind_of_symbol):
        symbols = np.flatnonzero((kind_of_symbol == kind) & used)
        if len(symbols) < 2:
            continue
        log_probability = _log_probabilities_of_kind(counts[:, symbols])
        if log_probability is not None:
            depends_on_class = True
            logs[:, symbols] = log_probability
    return logs - logs.max(axis=2, keepdims=True) if depends_on_class else None


def _log_probabilities_of_kind(counts: FloatArray) -> FloatArray | None:
    """Return `symbol_log_probabilities` of symbols of one kind."""
    n_symbols = counts.shape[1]
    strength = MIN_PRIOR_STRENGTH * n_symbols / 2  # in pseudo-answers; MIN_PRIOR_STRENGTH is for two symbols
    symbol_counts = counts.sum(axis=2)
    by_class = counts.sum(axis=1)
    total = np.maximum(symbol_counts.sum(axis=1), FLOOR)
    bias = (symbol_counts + strength * add_one_proportions(symbol_counts.sum(axis=0))) / (total + strength)[:, None]
    # expected counts if the class has no influence
    independent = np.einsum("ws,wk->wsk", symbol_counts / total[:, None], by_class)
    crowd = counts.sum(axis=0)
    crowd_independent = independent.sum(axis=0)
    ratio = np.ones_like(crowd)
    crowd_depends = _rejects_independence(crowd[None], crowd_independent[None], TEST_LEVEL)[0]
    if crowd_depends:
        ratio = (crowd + strength) / (crowd_independent + strength)
    prior = bias[:, :, None] * ratio
    prior /= prior.sum(axis=1, keepdims=True)
    expected = prior * by_class[:, None, :]
    worker_departs = _rejects_independence(counts, expected, TEST_LEVEL / len(counts))
    if not crowd_depends and not worker_departs.any():
        return None
    of_worker = (counts + strength * prior) / (by_class[:, None, :] + strength)
    logs: FloatArray = np.log(np.maximum(np.where(worker_departs[:, None, None], of_worker, prior), FLOOR))
    return logs


def _rejects_independence(counts: FloatArray, expected: FloatArray, level: float) -> BoolArray:
    """Return for each table whether its likelihood-ratio test against the expected counts rejects at this level."""
    terms = counts * np.log(np.maximum(counts, FLOOR) / np.maximum(expected, FLOOR))
    statistic = 2 * (terms - counts + expected).sum(axis=(1, 2))
    n_symbols = (counts.sum(axis=2) > 0).sum(axis=1)
    n_classes = (counts.sum(axis=1) > 0).sum(axis=1)
    freedom = np.maximum(n_symbols - 1, 0) * np.maximum(n_classes - 1, 0)
    return is_significant(statistic, freedom, level)


MAX_SHIFT_STEPS = 60  # Newton steps
SHIFT_TOLERANCE = 1e-6  # length of the last Newton step; the next one would be about its square
MAX_SLOPE_RATIO = 0.5  # of the slopes after and before a step; if it is greater, the step is halved
MIN_RELATIVE_SLOPE = 1e-12  # relative to the largest; an equal shift of all classes has slope zero
# Intraclass correlation of a task's symbol scores, given its class, above which the class proportions are fully
# preserved. It is about 1/10 in panels of similar judges, where grades may change the proportions, and about 1/3 in
# simulated crowds of ordered classes, where they mislead. Thresholds from 1/5 to 1/2 have about the same error.
FULL_CORRECTION_CORRELATION = 1 / 3


def prior_preserving_shift(expected_totals: Callable[[FloatArray], Sums], before: FloatArray) -> FloatArray:
    """Return the shift of the class scores that preserves the expected number of tasks of each class.

    Without it an error in the symbol probabilities would move all doubtful tasks toward the same class.

    Args:
        expected_totals: shift -> expected number of tasks of each class, and its derivative with respect to the shift.
        before: required number of tasks of each class.

    The expected number is the gradient of a convex function of the shift, so damped Newton steps converge.

    >>> scores = np.array([[3.0, 0.0], [2.0, 0.0]])
    >>> shift = prior_preserving_shift(lambda shift: totals_and_slope(scores + shift, np.ones((2, 1))), np.ones(2))
    >>> softmax(scores + shift).sum(axis=0).round(9).tolist()
    [1.0, 1.0]
    """
    shift: FloatArray = np.zeros_like(before)
    step = shift
    gap = None
    for _ in range(MAX_SHIFT_STEPS):
        after, slope = expected_totals(shift + step)
        if gap is not None and (after - before) @ step > -MAX_SLOPE_RATIO * (gap @ step):
            step = step / 2
            continue
        shift = shift + step
        gap = after - before
        step = -np.linalg.lstsq(slope, gap, MIN_RELATIVE_SLOPE)[0].astype(np.float64, copy=False)
        if np.abs(step).max() < SHIFT_TOLERANCE:
            break
    return shift + step


def totals_and_slope(scores: FloatArray, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected number of tasks of each class, and its derivative with respect to a shift of the scores.

    Args:
        scores: tasks × classes.
        factor: tempering factor of each task, as a column.

    >>> [sums.tolist() for sums in totals_and_slope(np.zeros((4, 2)), np.ones((4, 1)))]
    [[2.0, 2.0], [[1.0, -1.0], [-1.0, 1.0]]]
    """
    posterior = softmax(scores * factor)
    slope_of_class = posterior * factor
    return posterior.sum(axis=0), np.diag(slope_of_class.sum(axis=0)) - slope_of_class.T @ posterior


def several_workers_grade(counts: FloatArray, class_of_symbol: IntArray) -> bool:
    """Return whether more than one worker uses several grades for a class, which a correlation within tasks needs.

    Args:
        counts: of the symbols, workers × symbols × classes.
        class_of_symbol: the class of each symbol, -1 for an abstention.

    >>> counts = np.array([[[1.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]]])
    >>> several_workers_grade(counts, np.array([0, 0, 0])), several_workers_grade(counts, np.array([0, 0, 1]))
    (True, False)
    """
    used = counts.sum(axis=2) > 0
    grades = np.stack(
        [used[:, class_of_symbol == k].sum(axis=1) for k in range(int(class_of_symbol.max(initial=-1)) + 1)], axis=1
    )
    return int((grades > 1).any(axis=1).sum()) > 1


def within_task_sums(task: IntArray, scores: FloatArray, posterior: FloatArray) -> Sums:
    """Return the sums over tasks that `within_task_correlation` needs, by the class of the task.

    Args:
        task: of each symbol.
        scores: of each symbol, symbols × classes.
        posterior: of the tasks, tasks × classes.

    Returns, for each class: the products of the scores of every two symbols of a task, divided by the number of other
    symbols there; the squares of the scores; the number of symbols; and the sums of the scores, classes × classes.
    Tasks with one symbol are left out.

    >>> sums = within_task_sums(np.array([0, 0]), np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 1.0]]))
    >>> [sum_.tolist() for sum_ in sums]
    [[0.0, 8.0], [0.0, 10.0], [0.0, 2.0], [[0.0, 0.0], [-3.0, 3.0]]]
    """
    n = np.bincount(task, minlength=len(posterior)).astype(np.float64)
    centred = scores - scores.mean(axis=1, keepdims=True)
    sums = np.stack([np.bincount(task, column, len(posterior)) for column in centred.T], axis=1)
    squares = np.bincount(task, (centred**2).sum(axis=1), len(posterior)).astype(np.float64, copy=False)
    weight = np.where(n[:, None] > 1, posterior, 0.0)
    products = ((sums**2).sum(axis=1) - squares) / np.maximum(n - 1, 1.0)
    return products @ weight, squares @ weight, n @ weight, weight.T @ sums


def within_task_correlation(products: FloatArray, squares: FloatArray, n: FloatArray, sums: FloatArray) -> float:
    """Return the intraclass correlation of the symbol scores of a task, given its class, from `within_task_sums`.

    >>> scores = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]])
    >>> posterior = np.array([[0.0, 1.0]] * 2)
    >>> def correlation(task): return within_task_correlation(*within_task_sums(np.array(task), scores, posterior))
    >>> [correlation([0, 0, 1, 1]), correlation([0, 1, 0, 1])]
    [1.0, 0.0]
    """
    by_class = float(((sums**2).sum(axis=1) / np.maximum(n, FLOOR)).sum())  # the part that the class explains
    total = float(squares.sum()) - by_class
    return max((float(products.sum()) - by_class) / total, 0.0) if total > 0 else 0.0


@dataclass(frozen=True, eq=False)
class ClassModel(MatrixScorer):
    """Parameters of the posterior given the classes alone: log confusion matrices, log class prior, tempering."""

    rho: FloatArray | float  # correlation of errors; or, for answers in memory, the tempering factor of each task

    def tempering_factor(self, block: Block) -> FloatArray:
        """Return the tempering factor of each task of a block (1 / design effect), as a column."""
        if isinstance(self.rho, np.ndarray):
            return self.rho[block.tasks][:, None]
        return tempering(block.per_task, self.rho)[:, None]


@dataclass(frozen=True)
class SymbolModel:
    """Log-likelihood of each symbol of each worker given the true class, in addition to that of the symbol's class.

    >>> symbols = SymbolModel(np.array([[[0.0, -2.0], [-3.0, 0.0]]]), np.zeros(2))
    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), 1, 2, symbol=np.array([1]))
    >>> symbols.symbol_totals(block).tolist()
    [[-3.0, 0.0]]
    """

    logs: FloatArray  # log P(abstains or not | k) + log P(s | c, k), workers × symbols × classes
    shift: FloatArray  # [classes], by `prior_preserving_shift`

    def symbol_scores(self, block: Block) -> tuple[IntArray, FloatArray]:
        """Return the task of each symbol in a block, and its scores, symbols × classes."""
        n_symbols, m = self.logs.shape[1:]
        task, cell = _rows(block, n_symbols)
        return task, self.logs.reshape(-1, m)[cell]

    def symbol_totals(self, block: Block) -> FloatArray:
        """Return what the symbols add to the scores of a block's tasks, tasks × classes."""
        task, scores = self.symbol_scores(block)
        sums = [np.bincount(task, column, block.n_tasks) for column in scores.T]
        totals: FloatArray = np.stack(sums, axis=1) + self.shift
        return totals


def fit_symbols(answers: Answered, model: ClassModel) -> SymbolModel | None:
    """Fit the likelihood of grades and abstentions given the class; None if they do not depend on it.

    Args:
        answers: of all tasks, with their symbols.
        model: of the classes. Each symbol is weighted by the posterior of its task without its own answer.

    >>> import quorate
    >>> table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "unsure", "y", "y"]}
    >>> fit_symbols(quorate.read(table, abstain=["unsure"]), ClassModel(np.zeros((2, 2, 2)), np.zeros(2), 0)) is None
    True
    """
    blocks = blocks_of(answers)
    class_of_symbol = blocks.class_of_symbol
    if class_of_symbol is None:
        return None
    m = blocks.n_classes
    n_entries = blocks.n_workers * len(class_of_symbol) * blocks.n_classes
    if n_entries > max_entries(blocks.n_answers):  # too many for a matrix per worker
        return None
    counts, before = blocks.sum(expected_symbol_counts, model, len(class_of_symbol))
    counts = counts.reshape(blocks.n_workers, -1, m)
    logs = _symbol_logs(counts, class_of_symbol)
    if logs is None:
        return None
    correction = 1.0  # share of the shift that is used
    unbalanced = SymbolModel(logs, np.zeros(m))
    if several_workers_grade(counts, class_of_symbol):
        # Without tempering: a tempered posterior of a certain task leaves some mass on the other classes; if grades
        # make such tasks more certain, the shift would move that mass to the doubtful tasks.
        model = replace(model, rho=0.0)
        before, *sums = blocks.sum(_within_task_sums_of_blocks, model, unbalanced)
        correction = min(within_task_correlation(*sums) / FULL_CORRECTION_CORRELATION, 1.0)
    shift = prior_preserving_shift(lambda shift: blocks.sum(_totals_of_blocks, model, unbalanced, shift), before)
    return SymbolModel(logs, correction * shift)


def _totals_of_blocks(blocks: Iterable[Block], model: ClassModel, symbols: SymbolModel, shift: FloatArray) -> Sums:
    """Sum `totals_and_slope` over blocks, for the scores of classes and symbols."""
    after = np.zeros(len(shift))
    slope = np.zeros((len(shift), len(shift)))
    for block in blocks:
        scores = model.scores(block) + symbols.symbol_totals(block) + shift
        block_totals, block_slope = totals_and_slope(scores, model.tempering_factor(block))
        after = after + block_totals
        slope = slope + block_slope
    return after, slope


def _within_task_sums_of_blocks(blocks: Iterable[Block], model: ClassModel, symbols: SymbolModel) -> Sums:
    """Sum the posterior and `within_task_sums` over blocks."""
    m = len(model.log_prior)
    total: Sums = (np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m), np.zeros((m, m)))
    for block in blocks:
        posterior = softmax(model.scores(block) * model.tempering_factor(block))
        of_block = (posterior.sum(axis=0), *within_task_sums(*symbols.symbol_scores(block), posterior))
        total = tuple(sums + block_sums for sums, block_sums in zip(total, of_block, strict=True))
    return total


def _rows(block: Block, n_symbols: int) -> tuple[IntArray, IntArray]:
    """Return the task of each symbol in a block, and worker·n_symbols + symbol; answers come before abstentions."""
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    cell = block.worker[block.answers].astype(np.int64) * n_symbols + block.symbols(n_symbols)
    if block.abstentions is None:
        return task, cell
    abstentions = block.abstentions
    rows = abstentions.rows
    abstained_task = np.repeat(np.arange(block.n_tasks), abstentions.per_task)
    abstained_cell = abstentions.worker[rows].astype(np.int64) * n_symbols + abstentions.symbol[rows]
    return np.concatenate([task, abstained_task]), np.concatenate([cell, abstained_cell])


def expected_symbol_counts(blocks: Iterable[Block], model: ClassModel, n_symbols: int) -> Sums:
    """Return expected counts of symbols (workers·symbols × classes) and expected tasks of each class.

    The weight of a symbol is the posterior of its task without its own answer.

    >>> block = Block(np.array([0, 1]), np.array([0]), np.array([0]), n_workers=1, n_classes=2)
    >>> model = ClassModel(np.log([[[3.0, 1.0], [1.0, 1.0]]]), np.zeros(2), 0.0)
    >>> [sums.round(9).tolist() for sums in expected_symbol_counts([block], model, 2)]
    [[[0.5, 0.5], [0.0, 0.0]], [0.75, 0.25]]
    """
    n = model.log_theta.shape[0]
    m = len(model.log_prior)
    counts = np.zeros((m, n * n_symbols))
    before = np.zeros(m)
    for block in blocks:
        scores = model.scores(block)
        factor = model.tempering_factor(block)
        before += softmax(scores * factor).sum(axis=0)
        task, cell = _rows(block, n_symbols)
        scores_without_row = scores[task]
        inside = block.answers
        row = block.worker[inside].astype(np.int64) * m + block.label[inside]
        scores_without_row[: inside.stop - inside.start] -= rows_at(model.log_theta, row)
        posterior_without_row = softmax(scores_without_row * factor[task])
        for column, weight in zip(counts, posterior_without_row.T, strict=True):
            if len(cell) < len(column):  # bincount would make a table of all cells
                np.add.at(column, cell, weight)
            else:
                column += np.bincount(cell, weight, len(column))
    return np.ascontiguousarray(counts.T), before


def _symbol_logs(counts: FloatArray, class_of_symbol: IntArray) -> FloatArray | None:
    """Return log P(answers or abstains | k) + log P(s | c, k), workers × symbols × classes; None if k has no effect."""
    abstains = class_of_symbol < 0
    log_symbol = symbol_log_probabilities(counts, class_of_symbol)
    n_answered = counts[:, ~abstains].sum(axis=1)
    n_abstained = counts[:, abstains].sum(axis=1)
    log_abstains = symbol_log_probabilities(np.stack([n_answered, n_abstained], axis=1), np.zeros(2, np.int64))
    if log_abstains is None:
        return log_symbol
    log_abstains = log_abstains[:, abstains.astype(np.int64)]
    return log_abstains if log_symbol is None else log_symbol + log_abstains


@dataclass(frozen=True)
class WithSymbols:
    """A `Scorer` whose scores are those of a model of the classes, plus those of grades and abstentions."""

    model: Scorer
    symbols: SymbolModel

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers and abstentions, class) of each task."""
        scores: FloatArray = self.model.scores(block) + self.symbols.symbol_totals(block)
        return scores

    def renamed(self, new_class: IntArray) -> "WithSymbols":
        """Return the model of answers whose class c is renamed ``new_class[c]``; symbols keep their codes."""
        back = np.argsort(new_class)
        symbols = SymbolModel(self.symbols.logs[:, :, back], self.symbols.shift[back])
        return WithSymbols(self.model.renamed(new_class), symbols)

    def refit(self, blocks: Blocks, posterior: Callable[[Block], FloatArray]) -> "WithSymbols":
        """Return the model with the model of the classes refitted."""
        return replace(self, model=self.model.refit(blocks, posterior))
