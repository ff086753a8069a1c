"""Methods for yes/no answers extended to M classes: one class against the rest, or thresholds on an order.

Also the leading singular vector of each component's answers, and its sign, which several of these methods share.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import TooLargeError, unknown
from quorate.graph.components import identify
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.notes import NOT_CONVERGED, Note
from quorate.result import Result
from quorate.voting.vote import Vote, decide, majority

REDUCTIONS = ("one-vs-rest", "ordered")
MOST_QUESTIONS = 500  # runs of a binary method: of 20,000 answers so many take it three to ten seconds
SLOW = "the spectral iteration stopped before it converged; labels near a tie may depend on this"


@dataclass(frozen=True)
class BinaryAnswers:
    """Yes (+1) and no (-1), in the order of the answers that they come from."""

    task: IntArray  # shape (answers,), never decreasing
    worker: IntArray
    value: FloatArray  # +1 or -1
    n_tasks: int
    n_workers: int
    component: IntArray  # of each worker: those of two components share no task, even by way of others

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each task."""
        return np.bincount(self.task, values, self.n_tasks).astype(np.float64, copy=False)

    def by_worker(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, self.n_workers).astype(np.float64, copy=False)


@dataclass(frozen=True)
class BinaryScores:
    """What a binary method finds."""

    scores: FloatArray  # of each task, positive for +1
    cast: FloatArray  # of each task: the score it would have if everything in it spoke one way
    weights: FloatArray  # of each worker's vote
    converged: bool = True


@dataclass(frozen=True)
class ClassVote:
    """What the runs of a binary method come to."""

    task_vote: Vote
    weights: FloatArray  # of each worker's vote: the mean over the runs
    converged: bool

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know."""
        return () if self.converged else (Note(NOT_CONVERGED, SLOW),)


BinaryMethod: TypeAlias = Callable[[BinaryAnswers], BinaryScores]


def weigh(
    binary: BinaryAnswers, weights: FloatArray, offset: FloatArray | None = None, *, converged: bool = True
) -> BinaryScores:
    """Score each task by the weighted sum of its answers, and an offset of its own if there is one.

    >>> one_task = BinaryAnswers(np.array([0, 0]), np.array([0, 1]), np.array([1.0, -1.0]), 1, 2, np.array([0, 0]))
    >>> verdict = weigh(one_task, np.array([3.0, 1.0]))
    >>> verdict.scores.tolist(), verdict.cast.tolist()
    ([2.0], [4.0])
    """
    votes = weights[binary.worker]
    constant = np.zeros(binary.n_tasks) if offset is None else offset
    scores = binary.by_task(binary.value * votes) + constant
    return BinaryScores(scores, binary.by_task(np.abs(votes)) + np.abs(constant), weights, converged)


def aggregate_by_class(name: str, answers: Answers, gold: Source, classes: str, method: BinaryMethod) -> Result:
    """Return the result of a method for yes/no answers that is run by `vote_by_class`.

    Args:
        name: of the method.
        answers: who answered what.
        gold: known labels of some tasks, which they then have.
        classes: how more than two classes are split.
        method: for yes/no answers.
    """
    known = known_classes(gold, answers)
    voted = vote_by_class(answers, method, classes)
    return outcome(name, answers, voted.task_vote, gold=known, weights=voted.weights, notes=voted.notes)


def vote_by_class(answers: Answers, method: BinaryMethod, classes: str) -> ClassVote:
    """Run a binary method once for each question about the classes, and put the verdicts together.

    Args:
        answers: who answered what.
        method: for yes/no answers.
        classes: ``one-vs-rest`` asks of each class "is it this one?" and takes the class with the clearest yes;
            ``ordered`` asks of each class but the last "does it lie above?" and takes the first with a no, or the last
            if there is none. With two classes both ask one question, and are the method itself.

    Raises:
        UnknownNameError: there is no such extension.
        TooLargeError: there are too many classes to ask about one after another.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": [1, 3, 3, 2]})
    >>> even = lambda binary: weigh(binary, np.ones(binary.n_workers))
    >>> vote_by_class(answers, even, "ordered").task_vote.label.tolist()
    [2, 1]
    """
    if classes not in REDUCTIONS:
        raise unknown(classes, REDUCTIONS, "value of classes")
    m = answers.n_classes
    if m < 2:
        return ClassVote(majority(answers), np.ones(answers.n_workers), converged=True)
    if m > MOST_QUESTIONS:
        raise TooLargeError(
            f"a method for yes/no answers runs once per class; there are {m:,} classes, and the limit is "
            f"{MOST_QUESTIONS:,}. Merge rare classes, or use a method that takes all classes at once, such as rank-one "
            "or iwmv"
        )
    answers.check_cells()
    component = identify(answers).component
    if m == 2 or classes == "ordered":
        yes = [answers.label > c for c in range(m - 1)]
    else:
        yes = [answers.label == c for c in range(m)]
    runs = [
        _run(method, BinaryAnswers(answers.task, answers.worker, value, answers.n_tasks, answers.n_workers, component))
        for value in (np.where(is_yes, 1.0, -1.0) for is_yes in yes)
    ]
    scores = _weakest_link(runs) if m == 2 or classes == "ordered" else _clearest_yes(runs, answers)
    weights = np.mean([run.weights for run in runs], axis=0)
    return ClassVote(decide(answers, scores, _shares(scores)), weights, all(run.converged for run in runs))


def _run(method: BinaryMethod, binary: BinaryAnswers) -> BinaryScores:
    """Run the method, and scale each component's weights to a mean size of one: no label of one run hangs on that.

    Where all answers are equal the workers cannot be distinguished, and each vote counts one.
    """
    if np.all(binary.value == binary.value[:1]):
        return weigh(binary, np.ones(binary.n_workers))
    decision = method(binary)
    size = np.bincount(binary.component, np.abs(decision.weights)) / np.bincount(binary.component)
    scale = 1 / np.where(size > 0, size, 1.0)
    of_task = np.zeros(binary.n_tasks, np.int64)
    of_task[binary.task] = binary.component[binary.worker]
    by_task = scale[of_task]
    return BinaryScores(
        decision.scores * by_task,
        decision.cast * by_task,
        decision.weights * scale[binary.component],
        decision.converged,
    )


def _clearest_yes(runs: list[BinaryScores], answers: Answers) -> FloatArray:
    """Score each class by its own run, from -1 to 1.

    The runs weigh workers on scales of their own; `_run` gave them one. (A scale for each task and run, the share of
    the weight there, is no better: the centred vectors have an offset, a clear yes where the workers weigh little.)
    """
    scores, cast = (np.stack([getattr(run, name) for run in runs], axis=1) for name in ("scores", "cast"))
    # A run whose workers on a task have no weight scores it by the plain votes, unless that holds of all runs.
    has_no_weight = (cast <= 0) & ~(cast <= 0).all(axis=1, keepdims=True)
    redundancy = answers.per_task[:, None]
    scores = np.where(has_no_weight, 2 * answers.counts - redundancy, scores)
    cast = np.where(has_no_weight, redundancy, cast)
    # One divisor a task: it changes no order, and makes a tie the same thing however faint the weights.
    return _ratio(scores, cast.max(axis=1, keepdims=True))


def _weakest_link(runs: list[BinaryScores]) -> FloatArray:
    """Score class l by the least of lean 1 .. lean l-1 and -lean l: all that has to hold for the scan to stop there.

    A lean is the score of a threshold as a share of the weight on the task. Only the class of the first negative lean
    can score above zero. A zero on the way does not stop the scan; it leaves its own class level with the one that
    does, and so a tie.
    """
    leans = np.stack([_ratio(run.scores, run.cast) for run in runs], axis=1)
    certain = np.ones((len(leans), 1))
    above = np.minimum.accumulate(np.hstack([certain, leans]), axis=1)
    scores: FloatArray = np.minimum(above, np.hstack([-leans, certain]))
    return scores


def _ratio(scores: FloatArray, cast: FloatArray) -> FloatArray:
    ratio: FloatArray = np.where(cast > 0, scores, 0.0) / np.where(cast > 0, cast, 1.0)
    return ratio


def _shares(scores: FloatArray) -> FloatArray:
    """Turn scores from -1 to 1 into shares: (1 + score)/2 is the share of the weight on the task that speaks for yes.

    For two classes these are the shares of `voting.vote.weighted_majority`. For thresholds each class has the share
    of its weakest link, so that the label is the class of the largest share.
    """
    support = np.clip((1 + scores) / 2, 0.0, 1.0)
    total = support.sum(axis=1, keepdims=True)
    shares: FloatArray = np.where(total > 0, support, 1.0) / np.where(total > 0, total, support.shape[1])
    return shares


STEPS = 60  # Lanczos vectors before a restart, once the first short runs have not done it
RESTARTS = 100
TOLERANCE = 1e-12  # of the residual, relative to the eigenvalue
FAINT = 1e-10  # entries of a singular vector this much below its largest are rounding noise


def side_of(score: FloatArray, plain: FloatArray) -> float:
    """Return the sign of the sum of products, or zero where rounding decides it.

    A component that no rule orients abstains, so that its tasks are ties and no label hangs on the order of the rows.

    >>> side_of(np.array([0.1, 0.2, -0.3]), np.ones(3))
    0.0
    """
    products = score * plain
    total = products.sum()
    return float(np.sign(total)) if abs(total) > FAINT * np.abs(products).sum() else 0.0


def blocks(binary: BinaryAnswers) -> Iterator[tuple[IntArray, IntArray, sparse.csr_array]]:
    """Yield each component's tasks, its workers, and its matrix of ±1 answers, tasks × workers.

    >>> answers = BinaryAnswers(np.array([0, 1]), np.array([1, 0]), np.array([1.0, -1.0]), 2, 2, np.array([0, 1]))
    >>> [(tasks.tolist(), workers.tolist(), block.toarray().tolist()) for tasks, workers, block in blocks(answers)]
    [([1], [0], [[-1.0]]), ([0], [1], [[1.0]])]
    """
    at = binary.component[binary.worker]
    order = np.argsort(at, kind="stable")
    ends = np.cumsum(np.bincount(at, minlength=int(binary.component.max(initial=-1)) + 1))
    for inside in np.split(order, ends[:-1]):
        if len(inside):
            tasks, row = np.unique(binary.task[inside], return_inverse=True)
            workers, column = np.unique(binary.worker[inside], return_inverse=True)
            entries = (binary.value[inside], (row, column))
            yield tasks, workers, sparse.coo_array(entries, shape=(len(tasks), len(workers))).tocsr()


def weigh_by_component(
    binary: BinaryAnswers, weigh_component: Callable[[IntArray, sparse.csr_array], tuple[FloatArray, float, bool]]
) -> BinaryScores:
    """Weigh the workers of each component apart: a leading vector of all answers is zero outside one of them.

    Args:
        binary: the answers.
        weigh_component: workers of a component, and its matrix of ±1 answers, tasks × workers -> weight of each worker,
            offset of the tasks, and whether the vector behind them converged.
    """
    weights = np.zeros(binary.n_workers)
    offset = np.zeros(binary.n_tasks)
    converged = True
    for tasks, workers, block in blocks(binary):
        weights[workers], offset[tasks], has_converged = weigh_component(workers, block)
        converged &= has_converged
    return weigh(binary, weights, offset, converged=converged)


def leading_vector(
    apply: Callable[[FloatArray], FloatArray], n: int, *, scale: float, restarts: int = RESTARTS
) -> tuple[FloatArray, bool]:
    """Find the eigenvector of the eigenvalue of largest size of a symmetric matrix, by Lanczos from all ones.

    Starting from all ones, a repeated eigenvalue gives the vector nearest to them, however the rows are ordered.

    Args:
        apply: multiplies the matrix by a vector.
        n: its rows.
        scale: of its entries, e.g. its trace; an eigenvalue that is zero next to it gives the zero vector.
        restarts: at most, with the best vector so far.

    Returns the vector, of length one, and whether the residual fell below the tolerance.

    >>> vector, converged = leading_vector(lambda x: np.array([[2.0, 1.0], [1.0, 2.0]]) @ x, 2, scale=4)
    >>> vector.round(3).tolist(), converged
    ([0.707, 0.707], True)
    """
    v = np.full(n, 1 / np.sqrt(n))
    converged = False
    for attempt in range(restarts):
        v, value, residual = _lanczos(apply, v, min(n, STEPS, 15 << attempt))
        if abs(value) <= TOLERANCE * scale:
            return np.zeros(n), True
        converged = residual <= TOLERANCE * abs(value)
        if converged:
            break
    return np.where(np.abs(v) > FAINT * np.abs(v).max(), v, 0.0), converged


def _lanczos(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, most: int
) -> tuple[FloatArray, float, float]:
    """Return the best eigenvector in the Krylov space of the start, its eigenvalue and the size of its residual.

    Not scipy's eigsh: the start must stay the one vector that the symmetries of the crowd leave unchanged, and a
    matrix of one or two rows is none that ARPACK takes.
    """
    basis = np.zeros((most, len(start)))
    diagonal = np.zeros(most)
    off_diagonal = np.zeros(most)
    basis[0] = start
    for k in range(most):
        w = apply(basis[k])
        diagonal[k] = w @ basis[k]
        for _ in range(2):  # one pass leaves rounding errors in the old directions, the second takes them out
            w = w - basis[: k + 1].T @ (basis[: k + 1] @ w)
        off_diagonal[k] = np.linalg.norm(w)
        if k + 1 == most or off_diagonal[k] <= 1e-14 * np.abs(diagonal).max():
            break
        basis[k + 1] = w / off_diagonal[k]
    values, vectors = np.linalg.eigh(
        np.diag(diagonal[: k + 1]) + (np.diag(off_diagonal[:k], 1) + np.diag(off_diagonal[:k], -1))
    )
    best = int(np.argmax(np.abs(values)))
    v = vectors[:, best] @ basis[: k + 1] * (1 if vectors[0, best] >= 0 else -1)  # towards the start
    return v / np.linalg.norm(v), float(values[best]), float(off_diagonal[k] * abs(vectors[k, best]))
