"""Methods for yes/no answers extended to M classes: one class against the rest, or thresholds on an order.

Also the leading singular vector of each component's answers and its sign, which several of these methods use.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import TooLargeError, unknown_name_error
from quorate.graph.components import identify
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome
from quorate.notes import NOT_CONVERGED, Note
from quorate.result import Result
from quorate.voting.vote import Vote, decide, majority

REDUCTIONS = ("one-vs-rest", "ordered")
MAX_RUNS = 500  # of a binary method, one per question; 500 runs over 20,000 answers take 3 to 10 seconds
SLOW = "the spectral iteration stopped before it converged; labels near a tie may depend on this"


@dataclass(frozen=True)
class BinaryAnswers:
    """Yes (+1) and no (-1), in the order of the answers that they come from."""

    task: IntArray  # shape (answers,), never decreasing
    worker: IntArray
    value: FloatArray  # +1 or -1
    n_tasks: int
    n_workers: int
    component: IntArray  # component of the interaction graph of each worker

    def by_task(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each task."""
        return np.bincount(self.task, values, self.n_tasks).astype(np.float64, copy=False)

    def by_worker(self, values: FloatArray) -> FloatArray:
        """Sum a value of each answer over the answers of each worker."""
        return np.bincount(self.worker, values, self.n_workers).astype(np.float64, copy=False)


@dataclass(frozen=True)
class BinaryScores:
    """Scores of the tasks and weights of the workers by a method for yes/no answers."""

    scores: FloatArray  # of each task, positive for +1
    cast: FloatArray  # of each task: the score it would have if all its votes agreed
    weights: FloatArray  # of each worker's vote
    converged: bool = True


@dataclass(frozen=True)
class ClassVote:
    """The vote that follows from the runs of a binary method."""

    task_vote: Vote
    weights: FloatArray  # of each worker's vote: the mean over the runs
    converged: bool

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if a run did not converge."""
        return () if self.converged else (Note(NOT_CONVERGED, SLOW),)


BinaryMethod: TypeAlias = Callable[[BinaryAnswers], BinaryScores]


def weigh(
    binary: BinaryAnswers, weights: FloatArray, offset: FloatArray | None = None, *, converged: bool = True
) -> BinaryScores:
    """Score each task by the weighted sum of its answers, plus the offset of the task if offsets are given.

    >>> one_task = BinaryAnswers(np.array([0, 0]), np.array([0, 1]), np.array([1.0, -1.0]), 1, 2, np.array([0, 0]))
    >>> decision = weigh(one_task, np.array([3.0, 1.0]))
    >>> decision.scores.tolist(), decision.cast.tolist()
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
        gold: known labels of some tasks; these tasks get them.
        classes: how more than two classes are split.
        method: for yes/no answers.
    """
    known = known_classes(gold, answers)
    voted = vote_by_class(answers, method, classes)
    return outcome(name, answers, voted.task_vote, gold=known, weights=voted.weights, notes=voted.notes)


def vote_by_class(answers: Answers, method: BinaryMethod, classes: str) -> ClassVote:
    """Run a binary method once for each question about the classes, and combine the scores into one vote.

    Args:
        answers: who answered what.
        method: for yes/no answers.
        classes: ``one-vs-rest`` asks for each class "is it this class?" and chooses the class with the highest score;
            ``ordered`` asks for each class but the last "is it a higher class?" and chooses the first class with the
            answer no, or the last class if there is none. With two classes, both ask one question and give the result
            of the method itself.

    Raises:
        UnknownNameError: ``classes`` has another value.
        TooLargeError: there are more than 500 classes.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2], "worker": list("abca"), "label": [1, 3, 3, 2]})
    >>> even = lambda binary: weigh(binary, np.ones(binary.n_workers))
    >>> vote_by_class(answers, even, "ordered").task_vote.label.tolist()
    [2, 1]
    """
    if classes not in REDUCTIONS:
        raise unknown_name_error(classes, REDUCTIONS, "value of classes")
    m = answers.n_classes
    if m < 2:
        return ClassVote(majority(answers), np.ones(answers.n_workers), converged=True)
    if m > MAX_RUNS:
        raise TooLargeError(
            f"a method for yes/no answers runs once per class; there are {m:,} classes, and the limit is "
            f"{MAX_RUNS:,}. Merge rare classes, or use a method that takes all classes at once, such as rank-one "
            "or iwmv"
        )
    answers.check_cells()
    component = identify(answers).component
    if m == 2 or classes == "ordered":
        yes = [answers.label > c for c in range(m - 1)]
    else:
        yes = [answers.label == c for c in range(m)]
    runs = []
    for is_yes in yes:
        value = np.where(is_yes, 1.0, -1.0)
        binary = BinaryAnswers(answers.task, answers.worker, value, answers.n_tasks, answers.n_workers, component)
        runs.append(_run(method, binary))
    scores = _scores_by_threshold(runs) if m == 2 or classes == "ordered" else _scores_by_class(runs, answers)
    weights = np.mean([run.weights for run in runs], axis=0)
    return ClassVote(decide(answers, scores, _shares(scores)), weights, all(run.converged for run in runs))


def _run(method: BinaryMethod, binary: BinaryAnswers) -> BinaryScores:
    """Run the method once, and scale the weights of each component to a mean absolute value of one.

    The scale changes no label of this run; it makes several runs comparable. If all answers are equal, the workers
    cannot be distinguished, and each vote has weight one.
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


def _scores_by_class(runs: list[BinaryScores], answers: Answers) -> FloatArray:
    """Score each class by its own run; (tasks, classes), from -1 to 1.

    `_run` has brought the weights of all runs to one scale. To divide by the weight on the task in each run is no
    better: the offset of centred vectors would be a certain yes on tasks whose workers have little weight.
    """
    scores = np.stack([run.scores for run in runs], axis=1)
    cast = np.stack([run.cast for run in runs], axis=1)
    # If the workers of a task have no weight in a run, plain votes score it; not if they have none in any run.
    has_no_weight = (cast <= 0) & ~(cast <= 0).all(axis=1, keepdims=True)
    redundancy = answers.per_task[:, None]
    scores = np.where(has_no_weight, 2 * answers.counts - redundancy, scores)
    cast = np.where(has_no_weight, redundancy, cast)
    # One divisor per task: it keeps the order of classes, and the tolerance of ties becomes relative to the weights.
    return _ratio(scores, cast.max(axis=1, keepdims=True))


def _scores_by_threshold(runs: list[BinaryScores]) -> FloatArray:
    """Score class l by the smallest of r_1, .., r_(l-1) and -r_l; (tasks, classes), from -1 to 1.

    r_k is the score of the question "is it above class k?", as a share of the weight on the task. Only the class of the
    first negative r_k can score above zero. Where an earlier r_k is zero, its class and this one both score zero: a
    tie.
    """
    ratios = np.stack([_ratio(run.scores, run.cast) for run in runs], axis=1)
    certain = np.ones((len(ratios), 1))
    above = np.minimum.accumulate(np.hstack([certain, ratios]), axis=1)
    scores: FloatArray = np.minimum(above, np.hstack([-ratios, certain]))
    return scores


def _ratio(scores: FloatArray, cast: FloatArray) -> FloatArray:
    ratio: FloatArray = np.where(cast > 0, scores, 0.0) / np.where(cast > 0, cast, 1.0)
    return ratio


def _shares(scores: FloatArray) -> FloatArray:
    """Turn scores from -1 to 1 into shares that sum to one: (1 + score)/2 is the share of the weight with answer yes.

    For two classes these are the shares of `voting.vote.weighted_majority`. The label has the largest share.
    """
    support = np.clip((1 + scores) / 2, 0.0, 1.0)
    total = support.sum(axis=1, keepdims=True)
    shares: FloatArray = np.where(total > 0, support, 1.0) / np.where(total > 0, total, support.shape[1])
    return shares


MAX_LANCZOS_VECTORS = 60  # per run; the first two runs have 15 and 30
MAX_RESTARTS = 100
TOLERANCE = 1e-12  # of the residual, relative to the eigenvalue
ROUNDING_LEVEL = 1e-10  # entries of a singular vector below this share of the largest are rounding errors


def side_of(score: FloatArray, plain: FloatArray) -> float:
    """Return the sign of the sum of products, or zero if the sum is only a rounding error.

    A component with sign zero gets weight zero: its tasks are ties, and no label depends on the order of the rows.

    >>> side_of(np.array([0.1, 0.2, -0.3]), np.ones(3))
    0.0
    """
    products = score * plain
    total = products.sum()
    return float(np.sign(total)) if abs(total) > ROUNDING_LEVEL * np.abs(products).sum() else 0.0


def component_matrices(binary: BinaryAnswers) -> Iterator[tuple[IntArray, IntArray, sparse.csr_array]]:
    """Yield each component's tasks, its workers, and its matrix of ±1 answers, tasks × workers.

    >>> answers = BinaryAnswers(np.array([0, 1]), np.array([1, 0]), np.array([1.0, -1.0]), 2, 2, np.array([0, 1]))
    >>> for tasks, workers, matrix in component_matrices(answers):
    ...     print(tasks.tolist(), workers.tolist(), matrix.toarray().tolist())
    [1] [0] [[-1.0]]
    [0] [1] [[1.0]]
    """
    component_of_answer = binary.component[binary.worker]
    order = np.argsort(component_of_answer, kind="stable")
    ends = np.cumsum(np.bincount(component_of_answer, minlength=int(binary.component.max(initial=-1)) + 1))
    for members in np.split(order, ends[:-1]):
        if len(members):
            tasks, row = np.unique(binary.task[members], return_inverse=True)
            workers, column = np.unique(binary.worker[members], return_inverse=True)
            entries = (binary.value[members], (row, column))
            yield tasks, workers, sparse.coo_array(entries, shape=(len(tasks), len(workers))).tocsr()


def weigh_by_component(
    binary: BinaryAnswers, weigh_component: Callable[[IntArray, sparse.csr_array], tuple[FloatArray, float, bool]]
) -> BinaryScores:
    """Compute the weights of each component separately: a leading vector of all answers is zero outside one component.

    Args:
        binary: the answers.
        weigh_component: workers of a component, and its matrix of ±1 answers, tasks × workers -> weight of each worker,
            offset of the tasks, and whether the vector behind them converged.
    """
    weights = np.zeros(binary.n_workers)
    offset = np.zeros(binary.n_tasks)
    converged = True
    for tasks, workers, block in component_matrices(binary):
        weights[workers], offset[tasks], has_converged = weigh_component(workers, block)
        converged &= has_converged
    return weigh(binary, weights, offset, converged=converged)


def leading_vector(
    apply: Callable[[FloatArray], FloatArray], n: int, *, scale: float, restarts: int = MAX_RESTARTS
) -> tuple[FloatArray, bool]:
    """Find the eigenvector of a symmetric matrix whose eigenvalue is largest in absolute value, by Lanczos.

    The start is all ones. If the eigenvalue is repeated, the result is its eigenvector nearest to all ones, for any
    order of the rows.

    Args:
        apply: multiplies the matrix by a vector.
        n: number of rows.
        scale: size of the matrix, e.g. its trace; if all eigenvalues are at most 1e-12 of it, the result is zero.
        restarts: maximum number of runs, each from the best vector so far.

    Returns the vector, of length one, and whether the residual fell below the tolerance.

    >>> vector, converged = leading_vector(lambda x: np.array([[2.0, 1.0], [1.0, 2.0]]) @ x, 2, scale=4)
    >>> vector.round(3).tolist(), converged
    ([0.707, 0.707], True)
    """
    v = np.full(n, 1 / np.sqrt(n))
    converged = False
    for attempt in range(restarts):
        v, value, residual = _lanczos(apply, v, min(n, MAX_LANCZOS_VECTORS, 15 << attempt))
        if abs(value) <= TOLERANCE * scale:
            return np.zeros(n), True
        converged = residual <= TOLERANCE * abs(value)
        if converged:
            break
    return np.where(np.abs(v) > ROUNDING_LEVEL * np.abs(v).max(), v, 0.0), converged


def _lanczos(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, n_vectors: int
) -> tuple[FloatArray, float, float]:
    """Return the best eigenvector in the Krylov space of the start, its eigenvalue and the size of its residual.

    scipy's eigsh is not used: the result must follow from this start alone, which the symmetries of the crowd leave
    unchanged, and ARPACK does not take matrices of one or two rows.
    """
    basis = np.zeros((n_vectors, len(start)))
    diagonal = np.zeros(n_vectors)
    off_diagonal = np.zeros(n_vectors)
    basis[0] = start
    for k in range(n_vectors):
        w = apply(basis[k])
        diagonal[k] = w @ basis[k]
        for _ in range(2):  # the second pass removes the rounding errors that the first leaves in the old directions
            w = w - basis[: k + 1].T @ (basis[: k + 1] @ w)
        off_diagonal[k] = np.linalg.norm(w)
        if k + 1 == n_vectors or off_diagonal[k] <= 1e-14 * np.abs(diagonal).max():
            break
        basis[k + 1] = w / off_diagonal[k]
    tridiagonal = np.diag(diagonal[: k + 1]) + (np.diag(off_diagonal[:k], 1) + np.diag(off_diagonal[:k], -1))
    values, vectors = np.linalg.eigh(tridiagonal)
    best = int(np.argmax(np.abs(values)))
    sign = 1 if vectors[0, best] >= 0 else -1  # so that the product with the start is positive
    v = vectors[:, best] @ basis[: k + 1] * sign
    return v / np.linalg.norm(v), float(values[best]), float(off_diagonal[k] * abs(vectors[k, best]))
