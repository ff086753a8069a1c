"""The default method beyond memory."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.blocks.gilded import own_gold
from quorate.blocks.kernels import beliefs, task_scores
from quorate.blocks.memory import answers_in, blocks_of
from quorate.errors import one_of
from quorate.methods.fitted import Fitted
from quorate.methods.opinions import LEAST_MEAN, UNKNOWN_MEAN, learn_voices
from quorate.skills.centred import habits_of
from quorate.skills.evidence import gather
from quorate.skills.notes import BEYOND_MEMORY, LOW_TRUST, Note, orientation_note, undetermined_note
from quorate.skills.scatter import sampled
from quorate.skills.trust import trust
from quorate.uncertainty.centred_workforce import CentredWorkforce, centred_workforce
from quorate.voting.basis import Basis
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.dependence import (
    DEPENDENCES,
    INDEPENDENT,
    MEASURED,
    NONE,
    Dependence,
    Matrices,
    dependence_of,
    enough_of,
    flattening,
    ratio,
)
from quorate.voting.opinion_weights import INDEPENDENT as AS_THEY_ARE
from quorate.voting.opinion_weights import opinion_weights
from quorate.voting.population import expected_calibration, identity, shares_of
from quorate.voting.posterior import softmax
from quorate.voting.voices import Voices
from quorate.voting.vote import Ballot, by_posterior, weight


def standard(blocks: Blocks, *, cautious: bool = False, dependence: str = MEASURED) -> Fitted:
    """Estimate skills and confusion matrices, vote with both, and say how sure the labels are.

    The default method; see `quorate.methods.quorate`. How far workers err together is measured on the same sample of
    tasks as in memory. Known labels anchor the skills and stay fixed; correcting the crowd by them needs memory.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> blocks = blocks_of(crowd.answers)
    >>> labels = np.concatenate([part.label for part in standard(blocks).labels(blocks)])
    >>> bool((labels == crowd.truth).mean() > 0.85)
    True
    """
    independent = one_of(dependence, DEPENDENCES, "dependence") == INDEPENDENT
    gold, m = own_gold(blocks), blocks.n_classes
    evidence = gather(blocks, gold)
    workers = centred_workforce(evidence)
    voices, matrices = _voices(blocks, workers)
    determined = matrices is not None
    errs, trusted = NONE, None
    if not independent:
        errs = ratio(np.zeros(0), np.zeros(0))  # what is typical, where nothing is determined
    if determined and not independent:
        some = sampled(blocks, enough_of(m))
        trusted = trust(some, habits_of(blocks))
        belief = softmax(np.concatenate(list(blocks_of(some).each(task_scores, voices.by_matrix, voices.shifts[1]))))
        assert matrices is not None
        errs = dependence_of(some, belief, Matrices(matrices.theta, workers.skills, m))
    weights = AS_THEY_ARE if independent else opinion_weights(1.0 if trusted is None else trusted)
    calibration = identity() if independent else expected_calibration(errs.rho)
    basis = _basis(blocks, errs, trusted, independent)
    return Fitted(
        vote=ByOpinions(voices, opinion_weights(0.0) if cautious else weights, errs.rho, calibration),
        workforce=workers.workforce,
        graph=evidence.verdict,
        matrices=matrices,
        basis=basis,
        notes=(
            *undetermined_note(workers.workforce.status),
            *orientation_note(evidence),
            *basis.notes(),
            *_left_undone(gold is not None, trusted),
        ),
    )


@dataclass(frozen=True)
class ByOpinions:
    """What three opinions come to, flattened, weighed and calibrated."""

    voices: Voices
    weights: FloatArray
    rho: float
    calibration: FloatArray

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        v, share = self.voices, shares_of(self.calibration)
        numbers = np.concatenate([v.shifts.ravel(), self.weights, [v.vote, self.rho], share])
        return by_posterior(answers_in(block), beliefs(block, v.by_skill, v.by_matrix, numbers, len(share)))


def _voices(blocks: Blocks, workers: CentredWorkforce) -> tuple[Voices, ConfusionMatrices | None]:
    """Let skills and matrices speak, or where nothing is determined the plain vote alone."""
    n, m = blocks.n_workers, blocks.n_classes
    if workers.habits is not None:
        vote = float(weight(np.array([max(workers.mean, LEAST_MEAN)]), m)[0])
        return learn_voices(blocks, workers, vote)
    vote = float(weight(np.array([UNKNOWN_MEAN]), m)[0]) if m > 1 else 1.0
    plain = np.tile(vote * np.eye(m), (n, 1, 1))
    return Voices(plain, plain, np.zeros((2, m)), vote), None


def _basis(blocks: Blocks, errs: Dependence, trusted: float | None, independent: bool) -> Basis:
    ends = (errs.rho, errs.high, errs.low)
    votes, low, high = (float(each) for each in blocks.sums(_worths, ends)[0] / max(blocks.n_tasks, 1))
    return Basis(
        dependence=INDEPENDENT if independent else MEASURED,
        rho=errs.rho,
        answers=blocks.n_answers / max(blocks.n_tasks, 1),
        votes=votes,
        votes_low=low,
        votes_high=high,
        trust=trusted,
    )


def _worths(blocks: Iterable[Block], rhos: tuple[float, ...]) -> Sums:
    """Sum what the tasks' answers are worth in independent ones, for each rho."""
    worth = np.zeros(len(rhos))
    for block in blocks:
        n = block.per_task
        worth += [float((n * flattening(n, rho)).sum()) for rho in rhos]
    return (worth,)


def _left_undone(has_gold: bool, trusted: float | None) -> tuple[Note, ...]:
    """Say what the method would do in memory and does not do beyond it."""
    notes = []
    if has_gold:
        text = "known labels anchor the skills and stay fixed; beyond memory they do not correct the crowd"
        notes.append(Note(BEYOND_MEMORY, text))
    if trusted is not None and trusted < LOW_TRUST:
        text = "families of workers who repeat each other are not looked for beyond memory"
        notes.append(Note(BEYOND_MEMORY, text))
    return tuple(notes)
