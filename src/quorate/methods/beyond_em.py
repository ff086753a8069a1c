"""Expectation maximisation beyond memory: the posterior of each task is found anew in every pass, and never kept."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.kernels import expected_counts
from quorate.meetings.graph import identify
from quorate.methods.fitted import ByMatrices, ByWeights, Fitted
from quorate.methods.outcome import fit_notes, workforce_of
from quorate.skills.notes import Note
from quorate.voting.em import column_shares
from quorate.voting.posterior import FLOOR, hold_known, log_likelihood, logarithm
from quorate.voting.vote import Ballot, skill_of, weight


def dawid_skene(
    blocks: Blocks,
    *,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Fitted:
    """Fit a confusion matrix for each worker by EM from the shares of the votes; see `quorate.methods.dawid_skene`.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(dawid_skene(blocks).labels(blocks)).label.tolist()
    [1]
    """
    empty = 0.0 if zeros == "skip" else 1 / blocks.n_classes
    theta, vote, notes = _alternate(
        "dawid-skene",
        blocks,
        lambda counts: column_shares(counts, empty),
        max_iterations,
        tolerance,
        class_prior,
        zeros,
    )
    return _of_em(blocks, theta, vote, notes)


def one_coin(
    blocks: Blocks,
    *,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Fitted:
    """Fit one accuracy for each worker by EM from the shares of the votes; see `quorate.methods.one_accuracy`.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(one_coin(blocks).labels(blocks)).label.tolist()
    [1]
    """
    m, n = blocks.n_classes, blocks.per_worker

    def tied(counts: FloatArray) -> FloatArray:
        """Write how often each worker is expected to be right as a matrix, wrong answers being alike likely."""
        right = np.einsum("wcc->w", counts)
        p = np.divide(right, n, out=np.full(len(n), 1 / m), where=n > 0)[:, None, None]
        theta: FloatArray = np.where(np.eye(m, dtype=bool), p, (1 - p) / max(m - 1, 1))
        return theta

    theta, vote, notes = _alternate("one-coin", blocks, tied, max_iterations, tolerance, class_prior, zeros)
    return _of_em(blocks, theta, vote, notes)


def _alternate(
    method: str,
    blocks: Blocks,
    matrices: Callable[[FloatArray], FloatArray],
    max_iterations: int,
    tolerance: float,
    class_prior: bool,
    zeros: str,
) -> tuple[FloatArray, ByMatrices, tuple[Note, ...]]:
    """Alternate between matrices and posterior until the posterior stands still; one pass over the answers a step."""
    m = blocks.n_classes
    vote: ByWeights | ByMatrices = ByWeights(np.ones(blocks.n_workers))
    counts, total, _ = blocks.sums(_believed_counts, vote, None)
    history: list[float] = []
    converged = False
    for _ in range(max_iterations):
        theta = matrices(counts)
        prior = total / max(blocks.n_tasks, 1) if class_prior else np.full(m, 1 / m)
        before, vote = vote, ByMatrices(logarithm(theta, zeros), np.log(np.maximum(prior, FLOOR)))
        counts, total, (change, likelihood) = blocks.sums(_believed_counts, vote, before)
        history.append(float(likelihood))
        if converged := bool(change <= tolerance * blocks.n_tasks):
            break
    assert isinstance(vote, ByMatrices)  # there was a step
    return theta, vote, fit_notes(method, history, converged, blocks.n_answers)


def _believed_counts(
    blocks: Iterable[Block], vote: Callable[[Block], Ballot], before: Callable[[Block], Ballot] | None
) -> Sums:
    """Count answers and tasks by what a vote makes of them; how far that is from before, and its log-likelihood."""
    counts: FloatArray | None = None
    total, change = np.zeros(0), np.zeros(2)
    for block in blocks:
        ballot = vote(block)
        q = hold_known(ballot.posterior, block.known)
        change[1] += log_likelihood(ballot.scores, block.known)
        (added,) = expected_counts([replace(block, first=0)], q)
        counts, total = (added, q.sum(axis=0)) if counts is None else (counts + added, total + q.sum(axis=0))
        if before is not None:
            change[0] += np.abs(q - hold_known(before(block).posterior, block.known)).sum()
    assert counts is not None  # there is a block, if an empty one
    return counts, total, change


def _of_em(blocks: Blocks, theta: FloatArray, vote: ByMatrices, notes: tuple[Note, ...]) -> Fitted:
    m = blocks.n_classes
    skills = skill_of(np.einsum("wcc->w", theta) / m, m) if m > 1 else None
    workforce = workforce_of(blocks.per_worker, skills, None if skills is None else weight(skills, m))
    return Fitted(vote=vote, workforce=workforce, graph=identify(blocks), notes=notes)
