"""Votes beyond memory: the majority, votes weighed by how far they agree with the labels, and the paper's method."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.gilded import own_gold
from quorate.blocks.memory import answers_in
from quorate.meetings.graph import identify
from quorate.methods.fitted import ByLogOdds, ByWeights, Fitted
from quorate.methods.iwmv import not_settled
from quorate.methods.outcome import workforce_of
from quorate.methods.rank_one import check_choices, judge_workers
from quorate.skills.evidence import gather
from quorate.skills.notes import Note
from quorate.voting.vote import check_prior, skill_of


def majority(blocks: Blocks) -> Fitted:
    """Give every vote the same weight.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(majority(blocks).labels(blocks)).label.tolist()
    [1]
    """
    workforce = workforce_of(blocks.per_worker, None)
    return Fitted(vote=ByWeights(np.ones(blocks.n_workers)), workforce=workforce, graph=identify(blocks))


def iwmv(blocks: Blocks, *, max_iterations: int = 100) -> Fitted:
    """Vote, weigh the workers by how far they agree with the labels, and vote again, until the labels stand still.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> blocks = blocks_of(quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}))
    >>> next(iwmv(blocks).labels(blocks)).label.tolist()
    [1]
    """
    m, n = blocks.n_classes, blocks.per_worker
    weights, before, agreement = np.ones(blocks.n_workers), None, np.ones(blocks.n_workers)
    notes: tuple[Note, ...] = (not_settled(max_iterations),)
    for _ in range(max_iterations):
        alike, changed = blocks.sums(_agreements, weights, before)
        if changed[0] == 0 or m < 2:
            notes = ()
            break
        agreement = np.where(n > 0, alike / np.maximum(n, 1), 1 / m)
        before, weights = weights, m * agreement - 1
    workforce = workforce_of(n, skill_of(agreement, m) if m > 1 else None, weights)
    return Fitted(vote=ByWeights(weights), workforce=workforce, graph=identify(blocks), notes=notes)


def _agreements(blocks: Iterable[Block], weights: FloatArray, before: FloatArray | None) -> Sums:
    """Count each worker's answers that agree with the labels, and the labels that differ from those of before."""
    alike, changed = np.zeros(len(weights)), np.zeros(1)
    for block in blocks:
        answers, label = answers_in(block), ByWeights(weights)(block).label
        changed += len(label) if before is None else (ByWeights(before)(block).label != label).sum()
        held = label if block.known is None else np.where(block.known >= 0, block.known, label)
        alike += answers.alike(held)
    return alike, changed


def rank_one(
    blocks: Blocks,
    *,
    solver: str = "coordinate",
    tau: float = 1.0,
    weighting: str = "shared",
    threshold: float | None = None,
    signs: str = "descent",
    prior: FloatArray | None = None,
    start: float | FloatArray | None = None,
    **solver_options: Any,
) -> Fitted:
    """Estimate skills by rank-one completion, and vote by log-odds; see `quorate.methods.rank_one`.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool(np.abs(rank_one(blocks_of(crowd.answers)).workforce.skills - crowd.skills).mean() < 0.1)
    True
    """
    check_choices(solver=solver, tau=tau, weighting=weighting, signs=signs)
    prior = None if prior is None else check_prior(prior, blocks.n_classes)
    evidence = gather(blocks, own_gold(blocks), weighting=weighting, threshold=threshold)
    workforce, notes = judge_workers(
        blocks, evidence, solver=solver, tau=tau, signs=signs, start=start, **solver_options
    )
    nothing = bool(np.isnan(workforce.skills).all())
    vote = ByWeights(np.ones(blocks.n_workers)) if nothing else ByLogOdds(workforce.weights, prior)
    workforce = workforce.with_gold(blocks, None, centred=False)
    return Fitted(vote=vote, workforce=workforce, graph=evidence.verdict, notes=notes)
