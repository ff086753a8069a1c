"""MACE: a worker either knows the class or answers by a habit of its own, whatever the task [Hovy13].

Worker w knows with probability k and else follows its strategy: it answers a with probability θ(a). So an answer a has
probability s·θ(a) + k·[a is the class], s = 1 - k, and a vote for a counts log(1 + k/(s·θ(a))): one number for each
worker and answer. All the rest is sums over answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.kernels import SPARSE
from quorate.errors import unknown
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome, with_gold_counts
from quorate.methods.m3v import check_positive
from quorate.models.confusion import check_size
from quorate.progress import report
from quorate.result import Result
from quorate.voting.posterior import clamp_gold, log_likelihood, softmax
from quorate.voting.vote import decide

INFERENCES = ("vb", "em")  # variational Bayes, expectation maximisation
STRATEGY_PRIOR = 10.0  # answers that each entry of a strategy is counted beforehand, by variational inference [Hovy13]
SMOOTHING = 0.01  # answers that are shared out over the entries of a strategy, by EM [Hovy13]


def mace(
    answers: Answers,
    *,
    gold: Source = None,
    inference: str = "vb",
    restarts: int = 10,
    iterations: int = 50,
    noise: float = 0.5,
    alpha: float = 0.5,
    beta: float = 0.5,
    seed: int = 0,
) -> Result:
    """Fit for each worker how often it knows and what it says when it does not; the likeliest of some starts.

    A worker's skill is its probability of knowing, and its weight the mean of what its votes counted.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        inference: ``vb``, variational, which draws workers of few answers to what is likely beforehand, or ``em``.
        restarts: from how many random starts.
        iterations: steps from each.
        noise: how far the starts are spread.
        alpha: answers by habit that each worker is counted beforehand, by variational inference.
        beta: answers by knowledge, likewise.
        seed: of the starts; the same seed gives the same result.

    Raises:
        OptionError: a number that must be positive is not, or there is no such inference.
        TooLargeError: the posterior would not fit.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((mace(crowd.answers).task_vote.label == crowd.truth).mean() > 0.9)
    True
    """
    known = known_classes(gold, answers)
    how: dict[str, Any] = {"inference": inference, "restarts": restarts, "iterations": iterations}
    how |= {"noise": noise, "alpha": alpha, "beta": beta, "seed": seed}
    return mace_result(answers, fit_mace(answers, known, **how), known)


@dataclass(frozen=True)
class Inference:
    """How counts become probabilities: what is counted beforehand, and the mean that is taken."""

    chances: FloatArray  # answers by habit and by knowledge, of each worker
    strategy: float  # answers, of each entry of a strategy
    shares: Callable[[FloatArray], FloatArray]  # counts -> shares, row by row


def inference_of(name: str, n_classes: int, alpha: float = 0.5, beta: float = 0.5) -> Inference:
    """Return an inference by its name.

    Raises:
        UnknownNameError: there is no such inference.

    >>> inference_of("em", 2).shares(np.array([[3.0, 1.0]])).tolist()
    [[0.75, 0.25]]
    >>> inference_of("vb", 2).shares(np.array([[3.0, 1.0]])).round(2).tolist()  # few answers count for less
    [[0.72, 0.16]]
    """
    if name not in INFERENCES:
        raise unknown(name, INFERENCES, "inference")
    if name == "vb":
        return Inference(np.array([alpha, beta]), STRATEGY_PRIOR, _geometric)
    return Inference(np.full(2, SMOOTHING / n_classes), SMOOTHING / n_classes, _arithmetic)


def _arithmetic(counts: FloatArray) -> FloatArray:
    """Return the shares that make the counts likeliest."""
    shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _geometric(counts: FloatArray) -> FloatArray:
    """Return the geometric means of shares whose law is Dirichlet's."""
    from scipy.special import digamma

    shares: FloatArray = np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
    return shares


@dataclass(frozen=True)
class Mace:
    """What was found out of each worker, from the likeliest start, and what it makes of the tasks."""

    habit: FloatArray  # s; by variational inference a geometric mean, so that s and k sum to less than one
    knowledge: FloatArray  # k
    strategy: FloatArray  # θ, workers × classes
    scores: FloatArray  # log joint probability, tasks × classes
    posterior: FloatArray
    log_likelihood: float

    @property
    def competence(self) -> FloatArray:
        """The share of each worker's answers that it gives from knowledge."""
        share: FloatArray = self.knowledge / (self.habit + self.knowledge)
        return share


def fit_mace(
    answers: Answers,
    gold: IntArray | None,
    *,
    inference: str = "vb",
    restarts: int = 10,
    iterations: int = 50,
    noise: float = 0.5,
    alpha: float = 0.5,
    beta: float = 0.5,
    seed: int = 0,
) -> Mace:
    """Alternate, from several starts, between the posterior and what it says of the workers; keep the likeliest.

    Takes what `mace` takes, but ``gold``: the known class of each task, -1 where unknown.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> few, many = (fit_mace(answers, None, inference="em", restarts=n).log_likelihood for n in (1, 5))
    >>> many >= few
    True
    """
    check_positive(noise=noise, alpha=alpha, beta=beta, restarts=restarts, iterations=iterations)
    way = inference_of(inference, answers.n_classes, alpha, beta)
    check_size(answers, "mace", matrices=False)
    places, rng = _places(answers), np.random.default_rng(seed)
    best: Mace | None = None
    for start in range(1, restarts + 1):
        fit = _from_start(answers, places, gold, way, iterations, _start(answers, noise, rng))
        report("starts", start, restarts)
        if best is None or fit.log_likelihood > best.log_likelihood:
            best = fit
    assert best is not None  # there is a start
    return best


def _places(answers: Answers) -> Any:
    """Lay the answers out as (tasks × classes) × (workers × classes), sparse, one at the place of each answer."""
    from scipy import sparse

    m = answers.n_classes
    shape = (answers.n_tasks * m, answers.n_workers * m)
    return sparse.csr_array((np.ones(answers.n_answers), (answers.cells, answers.worker_cells)), shape=shape)


def _start(answers: Answers, noise: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw how often each worker answers by habit and by knowledge (rows 0 and 1), and its strategy."""
    rows = [rng.uniform(1, 2 + noise, (answers.n_workers, n)) for n in (2, answers.n_classes)]
    chances, strategy = (each / each.sum(axis=1, keepdims=True) for each in rows)
    return chances.T, strategy


@dataclass(frozen=True)
class _SparseAnswers:
    """The classes that somebody gave each task: where classes are many, a step needs no others."""

    answers: Answers
    gold: IntArray | None
    task: IntArray  # of each cell that somebody gave
    label: IntArray
    place: IntArray  # the cell of each answer

    @staticmethod
    def of(answers: Answers, gold: IntArray | None) -> "_SparseAnswers":
        cells, place = np.unique(answers.cells, return_inverse=True)
        return _SparseAnswers(answers, gold, cells // answers.n_classes, cells % answers.n_classes, place)

    def right(self, gain: FloatArray) -> FloatArray:
        """Return how many of each worker's answers of each class are right, in one row."""
        a, n = self.answers, self.answers.n_tasks
        scores = np.bincount(self.place, gain[a.worker, a.label], len(self.task))  # of any other class, zero
        most = np.zeros(n)
        np.maximum.at(most, self.task, scores)
        odds = np.exp(scores - most[self.task])
        others = (a.n_classes - np.bincount(self.task, minlength=n)) * np.exp(-most)
        q = odds / (others + np.bincount(self.task, odds, n))[self.task]
        if self.gold is not None:
            known = self.gold[self.task]
            q = np.where(known >= 0, known == self.label, q)
        return np.bincount(a.worker_cells, q[self.place], a.n_workers * a.n_classes).astype(np.float64, copy=False)


def _from_start(
    answers: Answers,
    places: Any,
    gold: IntArray | None,
    inference: Inference,
    iterations: int,
    start: tuple[FloatArray, FloatArray],
) -> Mace:
    """Alternate from one start. Only the gain of a vote differs between classes, and each step needs no more of it."""
    shape = (answers.n_tasks, answers.n_classes)
    given = places.sum(axis=0).reshape(-1, answers.n_classes)  # how often each worker gave each answer
    sparse_answers = _SparseAnswers.of(answers, gold) if shape[0] * shape[1] > SPARSE * answers.n_answers else None
    (habit, knowledge), strategy = start
    for step in range(iterations + 1):
        by_habit = habit[:, None] * strategy
        gain = np.log1p(knowledge[:, None] / by_habit)
        if sparse_answers is None or step == iterations:
            scores = (places @ gain.ravel()).reshape(shape)
            q = clamp_gold(softmax(scores), gold)
        if step == iterations:
            break
        # Of those answers, how many are the class.
        right = (places.T @ q.ravel() if sparse_answers is None else sparse_answers.right(gain)).reshape(given.shape)
        known = right * (knowledge[:, None] / (by_habit + knowledge[:, None]))
        guessed = given - known
        counts = np.stack([guessed.sum(axis=1), known.sum(axis=1)], axis=1)
        habit, knowledge = inference.shares(counts + inference.chances).T
        strategy = inference.shares(guessed + inference.strategy)
    base = np.log(by_habit)
    scores += answers.by_task(base[answers.worker, answers.label])[:, None] - np.log(answers.n_classes)
    return Mace(habit, knowledge, strategy, scores, q, log_likelihood(scores, gold))


def mace_result(answers: Answers, fit: Mace, gold: IntArray | None) -> Result:
    """Put a result together from the likeliest start.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> mace_result(answers, fit_mace(answers, None, restarts=1), None).method
    'mace'
    """
    gain = np.log1p(fit.knowledge[:, None] / (fit.habit[:, None] * fit.strategy))
    cast = answers.by_worker(gain[answers.worker, answers.label])
    result = outcome(
        "mace",
        answers,
        decide(answers, fit.scores, fit.posterior),
        gold=gold,
        skills=fit.competence if answers.n_classes > 1 else None,
        weights=cast / np.maximum(answers.per_worker, 1),
    )
    return with_gold_counts(result, centred=True)
