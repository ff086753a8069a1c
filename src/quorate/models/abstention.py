"""What answers tell beside their class: which grade was given, and that a worker abstained; where it tells anything.

With s what worker w says, c the class that s points to and k the truth, P(s | k) = P(answers or abstains | k) ·
P(c | k) · P(s | c, k): a confusion matrix of answers × classes that need not be square. The opinions have the middle
factor, for every method's matrices are of it; here are the others, which are added to the scores of each opinion. A
worker's factors are shrunk toward the crowd's, and the crowd's toward saying nothing of k; and nothing is what they say
unless the answers speak against it, so that abstaining at random changes no label.

How likely each symbol of a worker is given the class, learnt where that is more than chance.

How many tasks are of each class stays what the classes say; grades and abstentions tell which tasks those are.

Unless what is said tells it: where the things that are said of a task are alike only as far as its class makes them,
the grades may say how many, too. Where they are alike beyond that, some tasks of a class are nearer the cut than
others, and sums of what each tells would be too sure, all one way.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Sums
from quorate.blocks.kernels import task_scores
from quorate.blocks.memory import Answered, blocks_of
from quorate.models.confusion import most_entries
from quorate.models.prior_strength import LEAST_WORTH
from quorate.voting.posterior import FLOOR, softmax

CHANCE = 0.01  # that one of the factors is heard at all where nothing is said, over the crowd and over its workers


def chances(counts: FloatArray, among: IntArray) -> FloatArray | None:
    """Return how likely each symbol of a worker is among its kind, given the class; None where no class matters.

    Args:
        counts: expected rows, workers × symbols × classes.
        among: the kind of each symbol, which the other symbols of that kind are the alternatives to; one that nobody
            said is none.

    Returns logarithms, less what is the same for every class.

    >>> often, seldom = [[60.0, 5.0], [0.0, 55.0]], [[3.0, 3.0], [3.0, 3.0]]
    >>> chances(np.array([often]), np.zeros(2, int))[0, 1].round(1).tolist()
    [-5.1, 0.0]
    >>> chances(np.array([seldom]), np.zeros(2, int)) is None
    True
    """
    logs, voters = np.zeros_like(counts), False
    used = counts.sum(axis=(0, 2)) > 0
    for kind in np.unique(among):
        here = np.flatnonzero((among == kind) & used)
        if len(here) < 2:
            continue
        found = _of_kind(counts[:, here])
        if found is not None:
            voters = True
            logs[:, here] = found
    return logs - logs.max(axis=2, keepdims=True) if voters else None


def _of_kind(counts: FloatArray) -> FloatArray | None:
    """Do it for symbols that are alternatives to each other."""
    n_symbols = counts.shape[1]
    worth = LEAST_WORTH * n_symbols / 2  # rows, as `quorate.voting.refine.pooled_matrix` has it of two classes
    given, by_class = counts.sum(axis=2), counts.sum(axis=1)
    total = np.maximum(given.sum(axis=1), FLOOR)
    habit = (given + worth * _shares(given.sum(axis=0))) / (total + worth)[:, None]
    alike = np.einsum("ws,wk->wsk", given / total[:, None], by_class)  # as often as if the class did not matter
    crowd, crowd_alike = counts.sum(axis=0), alike.sum(axis=0)
    ratio = np.ones_like(crowd)
    matters = _matters(crowd[None], crowd_alike[None], CHANCE)[0]
    if matters:
        ratio = (crowd + worth) / (crowd_alike + worth)
    prior = habit[:, :, None] * ratio
    prior /= prior.sum(axis=1, keepdims=True)
    expected = prior * by_class[:, None, :]
    speaks = _matters(counts, expected, CHANCE / len(counts))
    if not matters and not speaks.any():
        return None
    own = (counts + worth * prior) / (by_class[:, None, :] + worth)
    logs: FloatArray = np.log(np.maximum(np.where(speaks[:, None, None], own, prior), FLOOR))
    return logs


def _shares(counts: FloatArray) -> FloatArray:
    shares: FloatArray = (counts + 1) / (counts + 1).sum()
    return shares


def _matters(counts: FloatArray, expected: FloatArray, chance: float) -> BoolArray:
    """Test by likelihood ratio whether tables depart from what is expected of them; one answer a table."""
    from scipy.special import chdtrc

    terms = counts * np.log(np.maximum(counts, FLOOR) / np.maximum(expected, FLOOR))
    statistic = 2 * (terms - counts + expected).sum(axis=(1, 2))
    symbols, classes = (counts.sum(axis=axis) > 0 for axis in (2, 1))
    freedom = np.maximum(symbols.sum(axis=1) - 1, 0) * np.maximum(classes.sum(axis=1) - 1, 0)
    significant: BoolArray = (freedom > 0) & (chdtrc(np.maximum(freedom, 1), np.maximum(statistic, 0.0)) < chance)
    return significant


BALANCING, BALANCED = 60, 1e-6  # steps at the most, and the one that is the last: Newton's next would be its square
TOO_FAR = 0.5  # of the slope that a step began with, by which it may rise beyond the least point; else half the step
LEAST_SLOPE = 1e-12  # of the largest, below which a direction changes nothing, as a shift of all classes does
# Of what a task's rows tell, the part that they tell alike beyond its class, from which on classes keep their shares.
# Of judges who see alike by a little (a tenth) the grades may say how many; where a class has tasks that are near the
# cut and others that are not (a third, of simulated crowds with an order), they mislead. 1/2 to 1/5 do about as well.
ALIKE = 1 / 3


def prior_preserving_shift(leaning: Callable[[FloatArray], Sums], before: FloatArray) -> FloatArray:
    """Find the shift of each class at which as many tasks are believed to be of it as before.

    The classes are what the map makes them: a grade tells which tasks are of a class, not how many. Without this,
    whatever the tables have wrong turns the tasks in doubt all one way.

    Args:
        leaning: at a shift, how many tasks are believed to be of each class, and how fast that changes with the shift.
        before: how many there are to be.

    How many there are is the slope of a convex function of the shift, so that Newton's steps lead there.

    >>> scores = np.array([[3.0, 0.0], [2.0, 0.0]])
    >>> shift = prior_preserving_shift(lambda shift: leaning_of(scores + shift, np.ones((2, 1))), np.ones(2))
    >>> softmax(scores + shift).sum(axis=0).round(9).tolist()
    [1.0, 1.0]
    """
    shift: FloatArray = np.zeros_like(before)
    step, gap = shift, None
    for _ in range(BALANCING):
        after, slope = leaning(shift + step)
        if gap is not None and (after - before) @ step > -TOO_FAR * (gap @ step):
            step = step / 2
            continue
        shift, gap = shift + step, after - before
        step = -np.linalg.lstsq(slope, gap, LEAST_SLOPE)[0].astype(np.float64, copy=False)
        if np.abs(step).max() < BALANCED:
            break
    return shift + step


def leaning_of(scores: FloatArray, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum what tasks of these scores are believed to be, and how fast that changes with a shift of each class.

    >>> [sums.tolist() for sums in leaning_of(np.zeros((4, 2)), np.ones((4, 1)))]
    [[2.0, 2.0], [[1.0, -1.0], [-1.0, 1.0]]]
    """
    belief = softmax(scores * flat)
    moved = belief * flat
    return belief.sum(axis=0), np.diag(moved.sum(axis=0)) - moved.T @ belief


def several_grade(counts: FloatArray, class_of_symbol: IntArray) -> bool:
    """Whether more than one worker has several grades for a class: one alone cannot repeat what the others tell.

    Args:
        counts: of what was said, workers × symbols × classes.
        class_of_symbol: the class of each symbol, -1 for one by which workers abstain.

    >>> said = np.array([[[1.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]]])
    >>> several_grade(said, np.array([0, 0, 0])), several_grade(said, np.array([0, 0, 1]))
    (True, False)
    """
    used = counts.sum(axis=2) > 0
    grades = np.stack(
        [used[:, class_of_symbol == k].sum(axis=1) for k in range(int(class_of_symbol.max(initial=-1)) + 1)], axis=1
    )
    return int((grades > 1).any(axis=1).sum()) > 1


def alike_sums(task: IntArray, told: FloatArray, belief: FloatArray) -> Sums:
    """Sum over tasks, and for each class that they may be of, what `told_alike` needs of what is said.

    Args:
        task: of each thing that is said.
        told: by each, of each class.
        belief: what the tasks are thought to be, tasks × classes.

    Returns, each by class: the products of every two things that are said of a task, divided by the others there; their
    squares; how many there are; and their sums, classes × classes.

    >>> found = alike_sums(np.array([0, 0]), np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 1.0]]))
    >>> [each.tolist() for each in found]
    [[0.0, 8.0], [0.0, 10.0], [0.0, 2.0], [[0.0, 0.0], [-3.0, 3.0]]]
    """
    n = np.bincount(task, minlength=len(belief)).astype(np.float64)
    apart = told - told.mean(axis=1, keepdims=True)
    sums = np.stack([np.bincount(task, column, len(belief)) for column in apart.T], axis=1)
    squares = np.bincount(task, (apart**2).sum(axis=1), len(belief)).astype(np.float64, copy=False)
    weight = np.where(n[:, None] > 1, belief, 0.0)  # who speaks alone agrees with nobody
    products = ((sums**2).sum(axis=1) - squares) / np.maximum(n - 1, 1.0)
    return products @ weight, squares @ weight, n @ weight, weight.T @ sums


def told_alike(products: FloatArray, squares: FloatArray, n: FloatArray, sums: FloatArray) -> float:
    """Return how far what is said of a task is alike beyond what its class makes it: an intraclass correlation.

    >>> told, sure = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]]), np.array([[0.0, 1.0]] * 2)
    >>> [told_alike(*alike_sums(np.array(task), told, sure)) for task in ([0, 0, 1, 1], [0, 1, 0, 1])]
    [1.0, 0.0]
    """
    by_class = float(((sums**2).sum(axis=1) / np.maximum(n, FLOOR)).sum())  # of the mean, which the class makes
    total = float(squares.sum()) - by_class
    return max((float(products.sum()) - by_class) / total, 0.0) if total > 0 else 0.0


def shares_kept(alike: float) -> float:
    """Return how far the classes keep their shares, from 0 to 1, by how far what is said is alike.

    >>> shares_kept(0.0), shares_kept(0.5)
    (0.0, 1.0)
    """
    return min(alike / ALIKE, 1.0)


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
class SymbolModel:
    """What each symbol of each worker tells of a task's class, where symbols tell anything; worker-sized.

    >>> spoken = SymbolModel(np.array([[[0.0, -2.0], [-3.0, 0.0]]]), np.zeros(2))
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


def fit_symbols(answers: Answered, believed: Believed) -> SymbolModel | None:
    """Learn what grades and abstentions tell beside the classes; None where they tell nothing.

    Args:
        answers: of all tasks, with what was said.
        believed: what the classes make likely. No row is judged by a belief that it took part in.

    >>> import quorate
    >>> table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "unsure", "y", "y"]}
    >>> fit_symbols(quorate.read(table, abstain=["unsure"]), Believed(np.zeros((2, 2, 2)), np.zeros(2), 0.0)) is None
    True
    """
    blocks = blocks_of(answers)
    class_of_symbol = blocks.class_of_symbol
    if class_of_symbol is None:
        return None
    m, n_entries = blocks.n_classes, blocks.n_workers * len(class_of_symbol) * blocks.n_classes
    if n_entries > most_entries(blocks.n_answers):  # too much for a matrix a worker
        return None
    counts, before = blocks.sum(counted, believed, len(class_of_symbol))
    counts = counts.reshape(blocks.n_workers, -1, m)
    logs, kept = _told(counts, class_of_symbol), 1.0
    if logs is None:
        return None
    unbalanced = SymbolModel(logs, np.zeros(m))
    if several_grade(counts, class_of_symbol):
        # Flattened, every sure task would hold a little of each other class, and where grades make it surer, the tasks
        # in doubt would get that.
        believed = replace(believed, factor=0.0)
        before, *told = blocks.sum(_alike, believed, unbalanced)
        kept = shares_kept(told_alike(*told))
    return SymbolModel(
        logs, kept * prior_preserving_shift(lambda shift: blocks.sum(_leaning, believed, unbalanced, shift), before)
    )


def _leaning(blocks: Iterable[Block], believed: Believed, spoken: SymbolModel, shift: FloatArray) -> Sums:
    """Do that for some blocks, with what grades and abstentions add."""
    after, slope = np.zeros(len(shift)), np.zeros((len(shift), len(shift)))
    for block in blocks:
        scores = believed.scores(block) + spoken.added(block) + shift
        own = leaning_of(scores, believed.flat(block))
        after, slope = after + own[0], slope + own[1]
    return after, slope


def _alike(blocks: Iterable[Block], believed: Believed, spoken: SymbolModel) -> Sums:
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
    if block.abstentions is None:
        return task, cell
    abstentions, rows = block.abstentions, block.abstentions.rows
    others = np.repeat(np.arange(block.n_tasks), abstentions.per_task)
    other = abstentions.worker[rows].astype(np.int64) * n_symbols + abstentions.symbol[rows]
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


def _told(counts: FloatArray, class_of_symbol: IntArray) -> FloatArray | None:
    """Return log P(abstains or not | k) + log P(s | c, k), workers × symbols × classes; None where neither tells."""
    abstentions = class_of_symbol < 0
    logs = chances(counts, class_of_symbol)
    answers, abstentions = counts[:, ~abstentions].sum(axis=1), counts[:, abstentions].sum(axis=1)
    whether = chances(np.stack([answers, abstentions], axis=1), np.zeros(2, np.int64))
    if whether is None:
        return logs
    whether = whether[:, abstentions.astype(np.int64)]
    return whether if logs is None else logs + whether
