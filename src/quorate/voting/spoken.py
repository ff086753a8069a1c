"""What answers tell beside their class: which grade was given, and that a worker abstained; where it tells anything.

With s what worker w says, c the class that s points to and k the truth, P(s | k) = P(answers or abstains | k) ·
P(c | k) · P(s | c, k): a confusion matrix of answers × classes that need not be square. The opinions have the middle
factor, for every method's matrices are of it; here are the others, which are added to the scores of each opinion. A
worker's factors are shrunk toward the crowd's, and the crowd's toward saying nothing of k; and nothing is what they say
unless the answers speak against it, so that abstaining at random changes no label.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.said import Said
from quorate.voting.confusion import most_entries
from quorate.voting.posterior import FLOOR, softmax
from quorate.voting.shrinkage import LEAST_WORTH

BALANCING, BALANCED = 200, 1e-6  # steps at the most, and the shift at which they end
# Of what a task's rows tell, the part that they tell alike beyond its class, from which on classes keep their shares.
# Of judges who see alike by a little (a tenth) the grades may say how many; where a class has tasks that are near the
# cut and others that are not (a third, of simulated crowds with an order), they mislead. 1/2 to 1/5 do about as well.
ALIKE = 1 / 3
CHANCE = 0.01  # that one of the factors is heard at all where nothing is said, over the crowd and over its workers


@dataclass(frozen=True)
class Rows:
    """All that was said: the answers, then the abstentions."""

    answers: Answers
    said: Said

    @cached_property
    def task(self) -> IntArray:
        """Of each row."""
        return np.concatenate([self.answers.task, self.said.task])

    @cached_property
    def worker(self) -> IntArray:
        """Of each row."""
        return np.concatenate([self.answers.worker, self.said.worker]).astype(np.int64)

    @cached_property
    def symbol(self) -> IntArray:
        """Of each row."""
        return np.concatenate([self.said.symbol, self.said.silence]).astype(np.int64)

    @cached_property
    def abstains(self) -> IntArray:
        """1 for an abstention, 0 for an answer."""
        return (np.arange(len(self.task)) >= self.answers.n_answers).astype(np.int64)

    def counted(self, symbol: IntArray, n_symbols: int, belief: FloatArray) -> FloatArray:
        """Count rows by what their tasks are believed to be; workers × symbols × classes."""
        cell, n = self.worker * n_symbols + symbol, self.answers.n_workers * n_symbols
        columns = [np.bincount(cell, column, n) for column in belief.T]
        counts: FloatArray = np.stack(columns, axis=1).astype(np.float64, copy=False)
        return counts.reshape(self.answers.n_workers, n_symbols, -1)


def tells_nothing(answers: Answers) -> bool:
    """Whether what was said is all in the classes, or too much for a matrix a worker.

    >>> import quorate
    >>> tells_nothing(quorate.simulate.crowd(10, 5, 3).answers)
    True
    """
    said = answers.said
    if said is None or (not said.n_abstained and not said.has_grades):
        return True
    return answers.n_workers * len(said.symbols) * answers.n_classes > most_entries(answers.n_answers)


def spoken_scores(answers: Answers, scores: FloatArray, logs: FloatArray, factor: FloatArray) -> FloatArray | None:
    """Return what grades and abstentions add to the log joint probability of each task; None where they add nothing.

    Args:
        answers: who answered what, with what they said.
        scores: log joint probabilities by confusion matrices of the classes, tasks × classes.
        logs: of those matrices, workers × answers × classes.
        factor: by which each task's scores are flattened to be believed.

    No row is judged by a belief that it took part in.

    >>> import quorate
    >>> table = {"task": [1, 1, 2, 2], "worker": list("abab"), "label": ["x", "unsure", "y", "y"]}
    >>> answers = quorate.read(table, abstain=["unsure"])
    >>> spoken_scores(answers, np.zeros((2, 2)), np.zeros((2, 2, 2)), np.ones(2)) is None
    True
    """
    assert answers.said is not None
    rows = Rows(answers, answers.said)
    own = np.zeros((len(rows.task), answers.n_classes))  # what each row added to the scores
    own[: answers.n_answers] = logs[answers.worker, answers.label]
    told = _told(rows, softmax((scores[rows.task] - own) * factor[rows.task][:, None]))
    if told is None:
        return None
    sums = [np.bincount(rows.task, column, answers.n_tasks) for column in told.T]
    added = np.stack(sums, axis=1).astype(np.float64, copy=False)
    if not _several_grade(rows):
        return balanced(added, scores, factor[:, None])
    # Flattened, every sure task would hold a little of each other class, and where grades make it surer, the tasks in
    # doubt would get that.
    kept = min(told_alike(rows.task, told, softmax(scores)) / ALIKE, 1.0)
    return (1 - kept) * added + kept * balanced(added, scores, np.ones((1, 1)))


def balanced(added: FloatArray, scores: FloatArray, factor: FloatArray) -> FloatArray:
    """Shift what is added so that as many tasks are believed to be of each class as before.

    The classes are what the map makes them: a grade tells which tasks are of a class, not how many. Without this,
    whatever the tables have wrong turns the tasks in doubt all one way.

    >>> shifted = balanced(np.array([[3.0, 0.0], [2.0, 0.0]]), np.zeros((2, 2)), np.ones((2, 1)))
    >>> softmax(shifted).sum(axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    before = softmax(scores * factor).sum(axis=0)
    for _ in range(BALANCING):
        after = softmax((scores + added) * factor).sum(axis=0)
        shift = np.log(np.maximum(before, FLOOR) / np.maximum(after, FLOOR))
        added = added + shift
        if np.abs(shift).max() < BALANCED:
            break
    return added


def told_alike(task: IntArray, told: FloatArray, belief: FloatArray) -> float:
    """Return how far the rows of a task tell alike beyond what its class makes them tell: an intraclass correlation.

    Args:
        task: of each row.
        told: by each row of each class.
        belief: what the tasks are thought to be, tasks × classes.

    >>> told, sure = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 3.0], [0.0, 3.0]]), np.array([[0.0, 1.0]] * 2)
    >>> told_alike(np.array([0, 0, 1, 1]), told, sure), told_alike(np.array([0, 1, 0, 1]), told, sure)
    (1.0, 0.0)
    """
    others = np.bincount(task, minlength=len(belief)) - 1.0
    rows = np.flatnonzero(others[task] > 0)
    at, apart = task[rows], told[rows] - told[rows].mean(axis=1, keepdims=True)
    alike = total = 0.0
    for weight in belief.T:
        off = apart - weight[at] @ apart / max(weight[at].sum(), FLOOR)
        sums = np.stack([np.bincount(at, column, len(belief)) for column in off.T], axis=1)
        own = np.bincount(at, (off**2).sum(axis=1), len(belief))
        alike += float(weight @ (((sums**2).sum(axis=1) - own) / np.maximum(others, 1.0)))
        total += float(weight @ own)
    return max(alike / total, 0.0) if total > 0 else 0.0


def _several_grade(rows: Rows) -> bool:
    """Whether more than one worker has several grades for a class: one alone cannot repeat what the others tell."""
    said, n_classes = rows.said, rows.answers.n_classes
    n_symbols, answered = len(said.points_to), slice(rows.answers.n_answers)
    worker, symbol = np.divmod(np.unique(rows.worker[answered] * n_symbols + rows.symbol[answered]), n_symbols)
    kinds, grades = np.unique(worker * n_classes + said.points_to[symbol], return_counts=True)
    return len(np.unique(kinds[grades > 1] // n_classes)) > 1


def _told(rows: Rows, belief: FloatArray) -> FloatArray | None:
    """Return log P(abstains or not | k) + log P(s | c, k) of each row; None where neither tells anything."""
    said, heard = rows.said, False
    told = np.zeros_like(belief)
    parts = [(rows.symbol, said.points_to)]
    if said.n_abstained:
        parts.append((rows.abstains, np.zeros(2, np.int64)))
    for symbol, among in parts:
        counts = rows.counted(symbol, len(among), belief)
        logs = chances(counts, among)
        if logs is not None:
            heard = True
            told += logs[rows.worker, symbol]
    return told if heard else None


def chances(counts: FloatArray, among: IntArray) -> FloatArray | None:
    """Return how likely each symbol of a worker is among its kind, given the class; None where no class matters.

    Args:
        counts: expected rows, workers × symbols × classes.
        among: the kind of each symbol, which the other symbols of that kind are the alternatives to.

    Returns logarithms, less what is the same for every class.

    >>> often, seldom = [[60.0, 5.0], [0.0, 55.0]], [[3.0, 3.0], [3.0, 3.0]]
    >>> chances(np.array([often]), np.zeros(2, int))[0, 1].round(1).tolist()
    [-5.1, 0.0]
    >>> chances(np.array([seldom]), np.zeros(2, int)) is None
    True
    """
    logs, heard = np.zeros_like(counts), False
    for kind in np.unique(among):
        here = np.flatnonzero(among == kind)
        if len(here) < 2:
            continue
        found = _of_kind(counts[:, here])
        if found is not None:
            heard = True
            logs[:, here] = found
    return logs - logs.max(axis=2, keepdims=True) if heard else None


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
