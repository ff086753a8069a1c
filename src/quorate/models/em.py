"""EM over confusion matrices [Dawid79], and `EMLoop`, which also runs the EM of `quorate.models.one_coin`.

There are two functions, with the same steps:

- `fit_confusion_em` is the method ``dawid-skene``. It works on blocks of any backend: an iteration is one pass over the
  blocks, the posterior is not kept, and EM stops on the mean change of the expected counts per answer.
- `expectation_maximisation` works on answers in memory. It starts from a posterior, returns the last one, and stops on
  its mean change. `quorate.methods.opt_ds` and `quorate.diagnostics.class_dependence` use it.

The E-step is `quorate.blocks.kernels.e_step` over blocks, and `EMSteps.log_joint` with a softmax in memory. The M-step
is `m_step`. EM with one accuracy per worker instead of a matrix is in `quorate.models.one_coin`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.blocks.block import Block, Blocks, Sums, added
from quorate.blocks.kernels import e_step, expected_counts, vote_sums
from quorate.blocks.worker_rows import ObservedRows, distance, map_parts, parts
from quorate.models.confusion import em_steps
from quorate.progress import report
from quorate.voting.posterior import FLOOR, clamp_gold, class_shares, log_likelihood, logarithm, softmax, uniform_prior


@dataclass
class EMLoop:
    """Counts the iterations of EM and stops it; changes as it runs.

    >>> loop = EMLoop(max_iterations=10, tolerance=0.1)
    >>> for iteration in loop:
    ...     loop.record(log_likelihood=-1.0 / iteration, change=1.0 / iteration**2)
    >>> len(loop.log_likelihoods), loop.converged
    (4, True)
    """

    max_iterations: int
    tolerance: float  # change at which EM stops
    log_likelihoods: list[float] = field(default_factory=list)  # after each iteration
    converged: bool = False

    def __iter__(self) -> Iterator[int]:
        for iteration in range(1, self.max_iterations + 1):
            yield iteration
            report("estimating workers", iteration, self.max_iterations)
            if self.converged:
                return

    def record(self, log_likelihood: float, change: float) -> None:
        """Keep the log-likelihood of an iteration, and stop if the change is within the tolerance."""
        self.log_likelihoods.append(log_likelihood)
        self.converged = change <= self.tolerance


@dataclass(frozen=True)
class ConfusionFit:
    """Where EM over confusion matrices ended."""

    theta: FloatArray | ObservedRows  # workers × answers × classes; columns sum to one
    log_theta: FloatArray | ObservedRows
    accuracy: FloatArray  # [workers]: the mean of the diagonal of theta
    log_prior: FloatArray  # [classes]
    log_likelihoods: tuple[float, ...]  # after each iteration
    converged: bool


def fit_confusion_em(
    blocks: Blocks,
    *,
    class_prior: bool = False,
    zeros: str = "exact",
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    start: FloatArray | None = None,
) -> ConfusionFit:
    """Fit a confusion matrix per worker by EM; gold that the blocks carry is clamped.

    Args:
        blocks: blocks of tasks.
        class_prior: estimate the frequency of the classes instead of taking them as equal.
        zeros: what an answer of estimated probability zero does: ``exact`` or ``skip``.
        max_iterations: of EM.
        tolerance: mean change of the expected counts per answer at which EM stops.
        start: first matrices, workers × answers × classes; by default from the vote shares.
    """
    m = blocks.n_classes
    counts, class_counts = blocks.sum(_counts_by_votes)
    m_step_of_part = partial(_m_step_of_part, zeros=zeros)
    log_of_part = partial(_log_of_part, zeros=zeros)
    theta: FloatArray | ObservedRows = np.zeros((0, m, m))
    log_theta = theta
    log_prior = np.zeros(m)
    before = counts
    loop = EMLoop(max_iterations, tolerance)
    for iteration in loop:
        theta = start if iteration == 1 and start is not None else map_parts(m_step_of_part, counts)
        log_theta = map_parts(log_of_part, theta)
        log_prior = log_class_prior(class_counts, blocks.n_tasks, estimate=class_prior)
        before = counts
        counts, class_counts, value = blocks.sum(e_step, log_theta, log_prior, True, True)
        loop.record(float(value[0]), distance(counts, before) / max(blocks.n_answers, 1))
    if isinstance(theta, ObservedRows):  # with the rows that nobody observed, which have their share of a column, too
        diagonals = [np.einsum("wcc->w", m_step(part, zeros)) for _, part in parts(before)]
    else:
        diagonals = [np.einsum("wcc->w", theta)]
    accuracy = np.concatenate(diagonals) / m
    return ConfusionFit(theta, log_theta, accuracy, log_prior, tuple(loop.log_likelihoods), loop.converged)


def _m_step_of_part(counts: FloatArray, workers: slice, zeros: str) -> FloatArray:
    return m_step(counts, zeros)


def _log_of_part(theta: FloatArray, workers: slice, zeros: str) -> FloatArray:
    return logarithm(theta, zeros)


def m_step(counts: FloatArray, zeros: str) -> FloatArray:
    """M-step of the confusion matrices: each worker's expected counts, divided by the expected number of each class.

    Args:
        counts: workers × answers × classes.
        zeros: as in `fit_confusion_em`; for a class that a worker never had, ``exact`` takes equal probabilities.

    >>> m_step(np.array([[[3.0, 0.0], [1.0, 0.0]]]), "exact").tolist()
    [[[0.75, 0.5], [0.25, 0.5]]]
    """
    return normalise_columns(counts, 0.0 if zeros == "skip" else 1 / counts.shape[1])


def normalise_columns(counts: FloatArray, empty: float = 0.0) -> FloatArray:
    """Make the columns of each matrix sum to one; a column without counts is filled with ``empty``.

    >>> normalise_columns(np.array([[[3.0, 0.0], [1.0, 0.0]]]), empty=0.5).tolist()
    [[[0.75, 0.5], [0.25, 0.5]]]
    """
    total = counts.sum(axis=1, keepdims=True)
    normalised = np.full(counts.shape, empty)
    np.divide(counts, total, out=normalised, where=total > 0)
    return normalised


def vote_shares(block: Block) -> FloatArray:
    """Return the share of the votes of each class; equal shares for a task without answers.

    >>> vote_shares(Block(np.array([0, 2, 2]), np.array([0, 1]), np.array([0, 0]), n_workers=2, n_classes=2)).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    votes = vote_sums(block, np.ones(block.n_workers))
    total = votes.sum(axis=1, keepdims=True)
    shares: FloatArray = np.where(total > 0, votes / np.maximum(total, 1.0), 1 / block.n_classes)
    return shares


def log_class_prior(class_counts: FloatArray, n_tasks: int, *, estimate: bool) -> FloatArray:
    """M-step of the class prior: the logarithm of the expected proportions, or of equal ones where it is not estimated.

    >>> np.exp(log_class_prior(np.array([3.0, 1.0]), 4, estimate=True)).round(9).tolist()
    [0.75, 0.25]
    """
    m = len(class_counts)
    prior = class_counts / max(n_tasks, 1) if estimate else np.full(m, 1 / m)
    return np.log(np.maximum(prior, FLOOR))


def _counts_by_votes(blocks: Iterable[Block]) -> Sums:
    """Count answers and tasks by the vote shares."""
    return added(
        (expected_counts([replace(block, first=0)], q)[0], q.sum(axis=0)) for block, q in with_vote_shares(blocks)
    )


def with_vote_shares(blocks: Iterable[Block]) -> Iterable[tuple[Block, FloatArray]]:
    """Yield each block with the posterior that EM starts from: the vote shares, gold clamped.

    >>> block = Block(np.array([0, 1, 2]), np.array([0, 0]), np.array([0, 1]), 1, 2, gold=np.array([-1, 0]))
    >>> [posterior.tolist() for _, posterior in with_vote_shares([block])]
    [[[1.0, 0.0], [1.0, 0.0]]]
    """
    for block in blocks:
        yield block, clamp_gold(vote_shares(block), block.gold)


@dataclass(frozen=True)
class ConfusionFitInMemory:
    """Where EM over confusion matrices ended, with the posterior."""

    posterior: FloatArray  # tasks × classes
    scores: FloatArray  # log joint probability, tasks × classes
    confusion: FloatArray  # workers × answers × classes; columns sum to one
    log_likelihoods: tuple[float, ...]  # after each step
    converged: bool

    @property
    def accuracy(self) -> FloatArray:
        """Each worker's probability of the right class, for classes of equal frequency."""
        mean: FloatArray = np.einsum("wcc->w", self.confusion) / self.confusion.shape[2]
        return mean


def expectation_maximisation(
    answers: Answers,
    posterior: FloatArray,
    *,
    confusion: FloatArray | None = None,
    gold: IntArray | None = None,
    class_prior: bool = False,
    zeros: str = "exact",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
) -> ConfusionFitInMemory:
    """Alternate between confusion matrices and posterior until the posterior no longer changes.

    Args:
        answers: who answered what.
        posterior: where to start, tasks × classes.
        confusion: where to start instead, workers × answers × classes.
        gold: gold class of each task, -1 where unknown.
        class_prior: estimate the class prior, instead of a uniform one.
        zeros: what an answer of estimated probability zero does: ``exact`` makes the class (next to) impossible;
            ``skip`` leaves the answer out, as the code behind the published figures does; that is not EM, and the
            likelihood may fall.
        max_iterations: steps at the most.
        tolerance: for the mean change of the posterior.

    >>> import quorate
    >>> from quorate.voting.vote import majority
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = expectation_maximisation(answers, majority(answers).posterior)
    >>> bool(np.all(np.diff(fit.log_likelihoods) >= -1e-9))
    True
    """
    em = em_steps(answers)
    q = clamp_gold(posterior, gold)
    theta = m_step(em.expected_counts(q), zeros) if confusion is None else confusion
    loop = EMLoop(max_iterations, tolerance)
    for step in loop:
        if step > 1:
            theta = m_step(em.expected_counts(q), zeros)
        prior = class_shares(q) if class_prior else uniform_prior(q)
        scores = em.log_joint(logarithm(theta, zeros), prior)
        before = q
        q = clamp_gold(softmax(scores), gold)
        loop.record(log_likelihood(scores, gold), float(np.abs(q - before).sum(axis=1).mean()))
    return ConfusionFitInMemory(q, scores, theta, tuple(loop.log_likelihoods), loop.converged)
