"""MACE: a worker either knows the class or answers by its response bias, which does not depend on the task [Hovy13].

Worker w knows with probability k and else follows its strategy: it answers a with probability θ(a). So an answer a has
probability s·θ(a) + k·[a is the class], s = 1 - k, and a vote for a has weight log(1 + k/(s·θ(a))): one number for
each worker and class. The rest is sums over answers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.numpy_kernels import MAX_CELLS_PER_ANSWER
from quorate.errors import check_positive, unknown_name_error
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.fit import outcome, with_gold_counts
from quorate.models.confusion import check_size
from quorate.models.many_classes import SparseScores
from quorate.progress import report
from quorate.result import Result
from quorate.voting.posterior import clamp_gold, log_likelihood, softmax
from quorate.voting.vote import decide

INFERENCES = ("vb", "em")  # variational Bayes, expectation maximisation
STRATEGY_PRIOR = 10.0  # pseudo-answers per entry of a strategy, in variational inference [Hovy13]
SMOOTHING = 0.01  # pseudo-answers in total over the entries of a strategy, in EM [Hovy13]


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
    """Fit for each worker how often it knows and which classes it gives otherwise; the most probable of several starts.

    A worker's skill is its probability of knowing, and its weight the mean weight of its votes.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        inference: ``vb`` (variational, which shrinks workers of few answers to the prior) or ``em``.
        restarts: number of random starts.
        iterations: number of steps from each start.
        noise: how much the starts differ.
        alpha: prior count of answers by response bias, for vb.
        beta: prior count of answers by knowledge, for vb.
        seed: random seed of the starts.

    Raises:
        OptionError: a number that must be positive is not, or there is no such inference.
        TooLargeError: the posterior would not fit.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=200, n_workers=10, per_task=5, seed=1)
    >>> bool((mace(crowd.answers).vote.label == crowd.truth).mean() > 0.9)
    True
    """
    known = known_classes(gold, answers)
    fit = fit_mace(
        answers,
        known,
        inference=inference,
        restarts=restarts,
        iterations=iterations,
        noise=noise,
        alpha=alpha,
        beta=beta,
        seed=seed,
    )
    return mace_result(answers, fit, known)


@dataclass(frozen=True)
class InferenceRule:
    """How counts become probabilities: the pseudo-counts, and the function that normalises counts."""

    competence_prior: FloatArray  # pseudo-answers by response bias and by knowledge, of each worker
    strategy: float  # pseudo-answers per entry of a strategy
    shares: Callable[[FloatArray], FloatArray]  # counts -> shares, row by row


def inference_of(name: str, n_classes: int, alpha: float = 0.5, beta: float = 0.5) -> InferenceRule:
    """Return an inference by its name.

    Raises:
        UnknownNameError: there is no such inference.

    >>> inference_of("em", 2).shares(np.array([[3.0, 1.0]])).tolist()
    [[0.75, 0.25]]
    >>> inference_of("vb", 2).shares(np.array([[3.0, 1.0]])).round(2).tolist()  # few answers count for less
    [[0.72, 0.16]]
    """
    if name not in INFERENCES:
        raise unknown_name_error(name, INFERENCES, "inference")
    if name == "vb":
        return InferenceRule(np.array([alpha, beta]), STRATEGY_PRIOR, _geometric_mean_shares)
    return InferenceRule(np.full(2, SMOOTHING / n_classes), SMOOTHING / n_classes, _mean_shares)


def _mean_shares(counts: FloatArray) -> FloatArray:
    """Return the maximum likelihood shares of each row of counts."""
    shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _geometric_mean_shares(counts: FloatArray) -> FloatArray:
    """Return the geometric means of shares that have a Dirichlet distribution with these counts, row by row."""
    from scipy.special import digamma

    shares: FloatArray = np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
    return shares


@dataclass(frozen=True)
class Mace:
    """Parameters of each worker from the most probable start, and the posterior of the tasks."""

    bias_rate: FloatArray  # s; by variational inference a geometric mean, so that s and k sum to less than one
    knowledge: FloatArray  # k
    strategy: FloatArray  # θ, workers × classes
    scores: FloatArray  # log joint probability, tasks × classes
    posterior: FloatArray
    log_likelihood: float

    @property
    def competence(self) -> FloatArray:
        """The share of each worker's answers that it gives from knowledge."""
        share: FloatArray = self.knowledge / (self.bias_rate + self.knowledge)
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
    """Alternate, from several starts, between the E-step and the M-step; return the most probable fit.

    The arguments are those of `mace`, except that ``gold`` is the known class of each task, -1 where unknown.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> few, many = (fit_mace(answers, None, inference="em", restarts=n).log_likelihood for n in (1, 5))
    >>> many >= few
    True
    """
    check_positive(noise=noise, alpha=alpha, beta=beta, restarts=restarts, iterations=iterations)
    rule = inference_of(inference, answers.n_classes, alpha, beta)
    check_size(answers, "mace", matrices=False)
    answer_matrix = _answer_matrix(answers)
    rng = np.random.default_rng(seed)
    best: Mace | None = None
    for start in range(1, restarts + 1):
        fit = _from_start(answers, answer_matrix, gold, rule, iterations, _start(answers, noise, rng))
        report("estimating workers", start, restarts)
        if best is None or fit.log_likelihood > best.log_likelihood:
            best = fit
    assert best is not None  # there is a start
    return best


def _answer_matrix(answers: Answers) -> Any:
    """Return the answers as a sparse matrix, (tasks × classes, workers × classes), with a one for each answer."""
    from scipy import sparse

    m = answers.n_classes
    shape = (answers.n_tasks * m, answers.n_workers * m)
    return sparse.csr_array((np.ones(answers.n_answers), (answers.cells, answers.worker_cells)), shape=shape)


def _start(answers: Answers, noise: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Sample how often each worker answers by response bias and by knowledge (rows 0 and 1), and its strategy."""
    rows = [rng.uniform(1, 2 + noise, (answers.n_workers, n)) for n in (2, answers.n_classes)]
    rates, strategy = (row / row.sum(axis=1, keepdims=True) for row in rows)
    return rates.T, strategy


def _expected_right(answers: Answers, cells: SparseScores, gold: IntArray | None, gain: FloatArray) -> FloatArray:
    """Return the expected number of right answers of each worker and class, by the cells that have answers."""
    q, _ = cells.posterior(cells.sum_answers(gain[answers.worker, answers.label]))
    if gold is not None:
        gold_of_cell = gold[cells.task]
        q = np.where(gold_of_cell >= 0, gold_of_cell == cells.label, q)
    right = np.bincount(answers.worker_cells, q[cells.cell_of_answer], answers.n_workers * answers.n_classes)
    return right.astype(np.float64, copy=False)


def _from_start(
    answers: Answers,
    answer_matrix: Any,
    gold: IntArray | None,
    inference: InferenceRule,
    iterations: int,
    start: tuple[FloatArray, FloatArray],
) -> Mace:
    """Return the fit from one start. The E-step needs only the gains of votes; the rest is equal for all classes."""
    shape = (answers.n_tasks, answers.n_classes)
    label_counts = answer_matrix.sum(axis=0).reshape(-1, answers.n_classes)  # how often each worker gave each answer
    cells = SparseScores.of(answers) if shape[0] * shape[1] > MAX_CELLS_PER_ANSWER * answers.n_answers else None
    (bias_rate, knowledge), strategy = start
    for step in range(iterations + 1):
        by_bias = bias_rate[:, None] * strategy
        gain = np.log1p(knowledge[:, None] / by_bias)
        if cells is None or step == iterations:
            scores = (answer_matrix @ gain.ravel()).reshape(shape)
            q = clamp_gold(softmax(scores), gold)
        if step == iterations:
            break
        # Expected number of right ones among these answers.
        right = answer_matrix.T @ q.ravel() if cells is None else _expected_right(answers, cells, gold, gain)
        right = right.reshape(label_counts.shape)
        known = right * (knowledge[:, None] / (by_bias + knowledge[:, None]))
        guessed = label_counts - known
        counts = np.stack([guessed.sum(axis=1), known.sum(axis=1)], axis=1)
        bias_rate, knowledge = inference.shares(counts + inference.competence_prior).T
        strategy = inference.shares(guessed + inference.strategy)
    base = np.log(by_bias)
    scores += answers.by_task(base[answers.worker, answers.label])[:, None] - np.log(answers.n_classes)
    return Mace(bias_rate, knowledge, strategy, scores, q, log_likelihood(scores, gold))


def mace_result(answers: Answers, fit: Mace, gold: IntArray | None) -> Result:
    """Return the result of a fit.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> mace_result(answers, fit_mace(answers, None, restarts=1), None).method
    'mace'
    """
    gain = np.log1p(fit.knowledge[:, None] / (fit.bias_rate[:, None] * fit.strategy))
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
