"""One-coin EM: one accuracy per worker, wrong classes being equally likely [Dawid79].

There are three functions, with the same steps:

- `fit_one_coin_em` is the method ``one-coin`` (`quorate.methods.one_coin`). It works on blocks of any backend, from the
  vote shares, shrinks nothing, and stops on the mean change of the expected right answers per answer.
- `fit_one_coin` works on answers in memory. It starts from a posterior or from accuracies, can shrink accuracies toward
  the crowd's mean, and returns the posterior. `quorate.methods.opt_ds` and `quorate.diagnostics.class_dependence` use
  it.
- `fit_accuracies` is `fit_one_coin` from accuracies, without a table of the posterior. `quorate.advice` uses it.

The E-step is `quorate.blocks.kernels.one_coin_e_step` over blocks, and `log_joint` with a softmax in memory. The M-step
is `one_coin_m_step`.

A worker is right with probability p. A task's scores are one sum over its answers and one over those that gave each
class, and a worker's p is a mean over its answers, so no matrices are formed. With a uniform prior the classes that
nobody gave a task are equally likely, and one column stands for all of them (`Condensed`): the cost is then linear in
the answers, whatever the number of classes, and the result is the same.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums, added
from quorate.blocks.kernels import one_coin_e_step, vote_sums
from quorate.blocks.memory import blocks_of
from quorate.errors import unknown
from quorate.models.em import EMLoop, log_class_prior, with_vote_shares
from quorate.models.many_classes import SparseScores
from quorate.models.prior_strength import above_guessing, prior_strength_of_crowd
from quorate.voting.posterior import FLOOR, clamp_gold, log_likelihood, logarithm, softmax, uniform_prior
from quorate.voting.vote import tally

MIN_CONDENSATION = 4  # classes per column from which on condensing is faster


@dataclass(frozen=True)
class Condensed:
    """Answers coded by their position among the classes given to their task; the last column stands for all others."""

    answers: Answers
    code: IntArray  # the class of each place, tasks × places; -1 where a task has fewer
    open: FloatArray  # logarithm of how many classes each column stands for, tasks × (places + 1)
    n_classes: int  # M, as it was

    def lost(self, known: IntArray | None) -> float:
        """Return the log-likelihood that gold loses by standing for all other classes of its task together."""
        if known is None:
            return 0.0
        return float(self.open[known == self.code.shape[1], -1].sum())

    def known(self, gold: IntArray | None) -> IntArray | None:
        """Return the column of each gold class; -1 where unknown."""
        if gold is None:
            return None
        at = self.code == gold[:, None]
        rest = self.code.shape[1]
        return np.where(gold < 0, -1, np.where(at.any(axis=1), at.argmax(axis=1), rest))

    def gathered(self, posterior: FloatArray) -> FloatArray:
        """Return a posterior over all classes in these columns."""
        observed = np.where(self.code >= 0, np.take_along_axis(posterior, np.maximum(self.code, 0), axis=1), 0.0)
        return np.concatenate([observed, np.maximum(1 - observed.sum(axis=1, keepdims=True), 0.0)], axis=1)

    def spread(self, scores: FloatArray) -> FloatArray:
        """Return log joint probabilities of these columns for all classes."""
        single = scores - np.where(np.isfinite(self.open), self.open, 0.0)
        full = np.repeat(single[:, -1:], self.n_classes, axis=1)
        task, place = np.nonzero(self.code >= 0)
        full[task, self.code[task, place]] = single[task, place]
        return full


def condensed(answers: Answers) -> Condensed | None:
    """Condense the classes of each task to those given; None where that is not faster.

    >>> import quorate
    >>> answers = quorate.read({"task": range(50), "worker": ["a"] * 50, "label": range(50)})
    >>> condensed(answers).open.round(3)[0].tolist()  # the class given, and 49 others
    [0.0, 3.892]
    >>> condensed(quorate.read({"task": [1, 1], "worker": list("ab"), "label": list("xy")})) is None
    True
    """
    m = answers.n_classes
    if m < 2 * MIN_CONDENSATION:  # one class given and the others are two columns: the least that there are
        return None
    cells = SparseScores.of(answers)
    first = np.searchsorted(cells.task, np.arange(answers.n_tasks))
    column = np.arange(len(cells.task)) - first[cells.task]
    n_columns = int(column.max(initial=-1)) + 1
    if (n_columns + 1) * MIN_CONDENSATION > m:
        return None
    code = np.full((answers.n_tasks, n_columns), -1)
    code[cells.task, column] = cells.label
    n_given = (code >= 0).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_rest = np.log(m - n_given.astype(np.float64))
    stands = np.concatenate([np.where(code >= 0, 0.0, -np.inf), log_rest[:, None]], axis=1)
    label = column[cells.cell_of_answer].astype(answers.label.dtype)
    fewer = replace(answers, label=label, classes=pa.nulls(n_columns + 1))
    return Condensed(fewer, code, stands, m)


@dataclass(frozen=True)
class OneCoinFit:
    """Where EM over one accuracy per worker ended."""

    accuracy: FloatArray  # [workers]; 1/M for a worker without answers
    log_right: FloatArray  # log p
    log_wrong: FloatArray  # log((1 - p)/(M - 1))
    log_prior: FloatArray
    log_likelihoods: tuple[float, ...]
    converged: bool

    def scores(self, block: Block) -> FloatArray:
        """Return log P(answers, class) of each task."""
        return one_coin_scores(block, self.log_right, self.log_wrong, self.log_prior)


def fit_one_coin_em(
    blocks: Blocks,
    *,
    class_prior: bool = False,
    zeros: str = "exact",
    max_iterations: int = 10,
    tolerance: float = 1e-6,
) -> OneCoinFit:
    """Fit one accuracy per worker by EM from the vote shares, wrong classes being equally likely; gold is clamped.

    Takes what `quorate.models.em.fit_confusion_em` takes.
    """
    m = blocks.n_classes
    n = blocks.per_worker
    right, class_counts = blocks.sum(_right_by_votes, blocks.n_workers)
    accuracy = np.full(blocks.n_workers, 1 / m)
    log_right = log_wrong = np.zeros(blocks.n_workers)
    log_prior = np.zeros(m)
    mean = (1 + 1 / m) / 2  # as in `fit_one_coin`
    loop = EMLoop(max_iterations, tolerance)
    for _ in loop:
        accuracy, mean = one_coin_m_step(right, n, m, mean)
        log_right = logarithm(accuracy, zeros)
        log_wrong = logarithm((1 - accuracy) / max(m - 1, 1), zeros)
        log_prior = log_class_prior(class_counts, blocks.n_tasks, estimate=class_prior)
        before = right
        right, class_counts, value = blocks.sum(one_coin_e_step, log_right, log_wrong, log_prior)
        change = float(np.abs(right - before).sum())
        loop.record(float(value[0]), change / max(blocks.n_answers, 1))
    return OneCoinFit(accuracy, log_right, log_wrong, log_prior, tuple(loop.log_likelihoods), loop.converged)


def one_coin_scores(block: Block, log_right: FloatArray, log_wrong: FloatArray, log_prior: FloatArray) -> FloatArray:
    """Return log P(answers, class): every worker wrong, and those who gave the class right instead."""
    wrong = vote_sums(block, log_wrong).sum(axis=1, keepdims=True)
    scores: FloatArray = vote_sums(block, log_right - log_wrong) + wrong + log_prior
    return scores


def _right_by_votes(blocks: Iterable[Block], n_workers: int) -> Sums:
    """Count each worker's expected right answers, and tasks, by the vote shares."""
    return added((_expected_right(block, q, n_workers), q.sum(axis=0)) for block, q in with_vote_shares(blocks))


def _expected_right(block: Block, q: FloatArray, n_workers: int) -> FloatArray:
    task = np.repeat(np.arange(block.n_tasks), block.per_task)
    inside = block.answers
    return np.bincount(block.worker[inside], q[task, block.label[inside]], n_workers).astype(np.float64, copy=False)


STOP_RULES = ("posterior", "accuracy")  # quantity whose change stops EM


@dataclass(frozen=True)
class OneCoinFitInMemory:
    """Where EM over one accuracy per worker ended, with the posterior."""

    accuracy: FloatArray  # p of each worker; 1/M for one without answers, where nothing is shrunk
    mean: float  # the crowd's, each worker counted by its answers
    prior: FloatArray  # the share of each class
    scores: FloatArray  # log joint probability by those, tasks × classes
    posterior: FloatArray
    log_likelihoods: tuple[float, ...]  # after each step
    converged: bool

    @property
    def steps(self) -> int:
        """Number of E-steps."""
        return len(self.log_likelihoods)


def fit_one_coin(
    answers: Answers,
    posterior: FloatArray | None = None,
    *,
    accuracy: FloatArray | None = None,
    prior: Callable[[FloatArray], FloatArray] = uniform_prior,
    strength: float | None = 0.0,
    among: BoolArray | None = None,
    gold: IntArray | None = None,
    zeros: str = "exact",
    standing: str = "posterior",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> OneCoinFitInMemory:
    """Alternate between accuracies and posterior until one of them no longer changes.

    Args:
        answers: who answered what.
        posterior: where to start, tasks × classes; even by default.
        accuracy: of each worker: start instead; the posterior then gives the first class prior only.
        prior: class prior as a function of the posterior: `uniform_prior`, `class_shares` or `add_one_smoothing`.
        strength: pseudo-answers of the crowd's mean, toward which each accuracy is shrunk; None: by
            `quorate.models.prior_strength`.
        among: the workers over whom the crowd's mean is taken; all by default.
        gold: gold class of each task, -1 where unknown.
        zeros: what an answer of estimated probability zero does: ``exact`` makes the class (next to) impossible;
            ``skip`` leaves the answer out, as the code behind the published figures does; that is not EM, and the
            likelihood may fall.
        standing: stop on the mean change of the ``posterior`` over tasks, or of the ``accuracy`` over answers.
        max_iterations: most iterations.
        tolerance: for that mean change.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=2000, n_workers=8, per_task=4, seed=0)
    >>> fit = fit_one_coin(crowd.answers, quorate.voting.vote.majority(crowd.answers).posterior)
    >>> bool(np.abs(2 * fit.accuracy - 1 - crowd.skills).max() < 0.1)
    True
    """
    if standing not in STOP_RULES:
        raise unknown(standing, STOP_RULES, "rule to stop by")
    m = answers.n_classes
    all_known = gold
    q = np.full((answers.n_tasks, m), 1 / m) if posterior is None else posterior
    few = condensed(answers) if prior is uniform_prior else None
    if few is not None:
        answers = few.answers
        gold = few.known(gold)
        q = few.gathered(q)
    lost = 0.0 if few is None else few.lost(gold)
    q = clamp_gold(q, gold)
    p = accuracy
    mean = (1 + 1 / m) / 2  # half way between guessing and always right, if no worker counts
    loop = EMLoop(max_iterations, tolerance)
    for step in loop:
        p_before = p
        if p is None or step > 1:
            right = answers.by_worker(q.ravel()[answers.cells])
            p, mean = one_coin_m_step(right, answers.per_worker, m, mean, strength, among)
        shares = prior(q) if few is None else np.full(m, 1 / m)
        if few is None:
            scores = log_joint(answers, p, shares, zeros=zeros)
        else:
            scores = _log_likelihoods(answers, m, p, zeros) + few.open - np.log(m)
        q_before = q
        q = clamp_gold(softmax(scores), gold)
        change = _change(answers, (p_before, p), (q_before, q), standing)
        loop.record(log_likelihood(scores, gold) - lost, change)
    assert p is not None  # max_iterations is positive
    if few is not None:
        scores = few.spread(scores)
        q = clamp_gold(softmax(scores), all_known)
    return OneCoinFitInMemory(p, mean, shares, scores, q, tuple(loop.log_likelihoods), loop.converged)


@dataclass(frozen=True)
class Accuracies:
    """Where EM ended, without the posterior."""

    accuracy: FloatArray  # p of each worker
    mean: float  # the crowd's, each worker counted by its answers
    steps: int  # number of E-steps
    converged: bool


def fit_accuracies(
    answers: Answers,
    *,
    accuracy: FloatArray,
    strength: float = 0.0,
    among: BoolArray | None = None,
    gold: IntArray | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> Accuracies:
    """Fit accuracies as `fit_one_coin` does with ``standing="accuracy"``, block by block, without a posterior table.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=2000, n_workers=8, per_task=4, seed=0)
    >>> options = {"accuracy": np.full(8, 0.75), "strength": 5.0, "max_iterations": 4}
    >>> one = fit_accuracies(crowd.answers, **options).accuracy
    >>> bool(np.allclose(one, fit_one_coin(crowd.answers, standing="accuracy", **options).accuracy))
    True
    """
    if condensed(answers) is not None:
        fit = fit_one_coin(
            answers,
            accuracy=accuracy,
            strength=strength,
            among=among,
            gold=gold,
            standing="accuracy",
            max_iterations=max_iterations,
            tolerance=tolerance,
        )
        return Accuracies(fit.accuracy, fit.mean, fit.steps, fit.converged)
    m = answers.n_classes
    blocks = blocks_of(answers, gold)
    log_prior = np.full(m, -np.log(m))
    n = answers.per_worker
    right = np.zeros(answers.n_workers)
    p = accuracy
    mean = (1 + 1 / m) / 2  # as in `fit_one_coin`
    loop = EMLoop(max_iterations, tolerance)
    for step in loop:
        before = p
        if step > 1:
            p, mean = one_coin_m_step(right, n, m, mean, strength, among)
        log_right, log_wrong = (logarithm(chance, "exact") for chance in (p, (1 - p) / max(m - 1, 1)))
        right, _, value = blocks.sum(one_coin_e_step, log_right, log_wrong, log_prior)
        change = float("inf") if step == 1 else float(np.abs(p - before) @ n / max(answers.n_answers, 1))
        loop.record(float(value[0]), change)
    return Accuracies(p, mean, len(loop.log_likelihoods), loop.converged)


def one_coin_m_step(
    right: FloatArray,
    n: IntArray,
    m: int,
    mean: float,
    strength: float | None = 0.0,
    among: BoolArray | None = None,
) -> tuple[FloatArray, float]:
    """M-step: each worker's expected accuracy, shrunk toward the crowd's mean, and that mean.

    Args:
        right: expected right answers of each worker.
        n: answers of each worker.
        m: number of classes; a worker without answers has the accuracy 1/m where nothing is shrunk.
        mean: the crowd's mean that is taken if nobody counts.
        strength: pseudo-answers of the mean; None: by `quorate.models.prior_strength`.
        among: the workers over whom the mean is taken; all by default.

    >>> accuracy, mean = one_coin_m_step(np.array([3.0, 1.0, 0.0]), np.array([4, 4, 0]), 2, 0.75)
    >>> accuracy.tolist(), mean
    ([0.75, 0.25, 0.5], 0.5)
    """
    counted = n if among is None else np.where(among, n, 0)
    if counted.any():
        mean = float((right if among is None else np.where(among, right, 0.0)).sum() / counted.sum())
    if strength is None:
        mean = above_guessing(mean, m)
        strength = prior_strength_of_crowd(mean, m)
    p = np.divide(right + strength * mean, n + strength, out=np.full(len(n), 1 / m), where=n + strength > 0)
    return p, mean


def log_joint(answers: Answers, accuracy: FloatArray, prior: FloatArray, *, zeros: str = "exact") -> FloatArray:
    """Return log P(answers, class) of each task and class.

    Args:
        answers: who answered what.
        accuracy: of each worker.
        prior: the share of each class.
        zeros: as in `fit_one_coin`.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> np.exp(log_joint(answers, np.array([0.9, 0.6]), np.array([0.5, 0.5]))).round(3).tolist()  # .5·.9·.4, .5·.1·.6
    [[0.18, 0.03]]
    """
    scores = _log_likelihoods(answers, answers.n_classes, accuracy, zeros)
    scores += np.log(np.maximum(prior, FLOOR))
    return scores


def _log_likelihoods(answers: Answers, m: int, accuracy: FloatArray, zeros: str) -> FloatArray:
    """Return log P(answers | class) for each column of the answers; there are m classes in all."""
    right, wrong = (logarithm(p, zeros) for p in (accuracy, (1 - accuracy) / max(m - 1, 1)))
    return tally(answers, right - wrong) + answers.by_task(wrong[answers.worker])[:, None]


def _change(
    answers: Answers, p: tuple[FloatArray | None, FloatArray], q: tuple[FloatArray, FloatArray], standing: str
) -> float:
    if standing == "posterior":
        return float(np.abs(q[1] - q[0]).sum(axis=1).mean())
    if p[0] is None or p[0] is p[1]:  # the accuracies that it started from have not moved yet
        return float("inf")
    return float(np.abs(p[1] - p[0]) @ answers.per_worker / max(answers.n_answers, 1))
