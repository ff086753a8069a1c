"""The default method beyond memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.blocks.block import Block, Blocks, Sampled, Sums
from quorate.blocks.gilded import own_gold
from quorate.blocks.kernels import beliefs, task_scores
from quorate.blocks.memory import answers_in, blocks_of
from quorate.blocks.scatter import drawn, sampled
from quorate.errors import unknown
from quorate.methods.fitted import Fitted
from quorate.methods.opinions import LEAST_MEAN, UNKNOWN_MEAN, learn_voices
from quorate.skills.evidence import IDENTIFIED, gather
from quorate.skills.notes import BEYOND_MEMORY, LOW_TRUST, Note
from quorate.skills.priors import Priors
from quorate.skills.trust import trust
from quorate.uncertainty.centred_workforce import CentredWorkforce, centred_workforce
from quorate.voting.basis import Basis, Check
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
from quorate.voting.in_order import WEIGHTS as IN_ORDER
from quorate.voting.in_order import InOrder, learn_in_order, learn_knowing
from quorate.voting.known_labels import ENOUGH, Views, check_of, learn
from quorate.voting.lone_votes import LoneVotes
from quorate.voting.opinion_weights import INDEPENDENT as AS_THEY_ARE
from quorate.voting.opinion_weights import opinion_weights
from quorate.voting.population import expected_calibration, identity, shares_of
from quorate.voting.posterior import softmax
from quorate.voting.spoken import Believed, Spoken, listen
from quorate.voting.taught import ByTaught, Way, taught_vote, together
from quorate.voting.voices import Telling, Voices
from quorate.voting.vote import Ballot, by_posterior, weight


def standard(
    blocks: Blocks,
    *,
    cautious: bool = False,
    dependence: str = MEASURED,
    classes: pa.Array | None = None,
    skills: Priors | None = None,
    ordered: bool = False,
) -> Fitted:
    """Estimate skills and confusion matrices, vote with both, and say how sure the labels are.

    The default method; see `quorate.methods.quorate`. How far workers err together is measured on the same sample of
    tasks as in memory, and known labels teach the same; families of workers are not looked for.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> blocks = blocks_of(crowd.answers)
    >>> labels = np.concatenate([part.label for part in standard(blocks).labels(blocks)])
    >>> bool((labels == crowd.truth).mean() > 0.85)
    True
    """
    if dependence not in DEPENDENCES:
        raise unknown(dependence, DEPENDENCES, "dependence")
    independent = dependence == INDEPENDENT
    gold = own_gold(blocks)
    alone = gather(blocks)
    evidence = alone if gold is None else gather(blocks, gold)
    workers = centred_workforce(evidence, skills)
    unaided = centred_workforce(alone, skills)
    anchored = gold is not None and unaided.habits is None  # without known labels, nothing is determined
    voices, matrices = _voices(blocks, workers if anchored else unaided, hold=anchored)
    some, errs, trusted = _measured(blocks, voices, matrices, unaided, independent)
    told = _told(blocks, workers if anchored else unaided, voices, errs.rho, ordered=ordered)
    said = AS_THEY_ARE if independent else opinion_weights(1.0 if trusted is None else trusted)
    weights = opinion_weights(0.0) if cautious else IN_ORDER if isinstance(told, InOrder) else said
    calibration = identity() if independent else expected_calibration(errs.rho)
    basis = _basis(blocks, errs, trusted, independent)
    lone = LoneVotes(workers.status != IDENTIFIED, voices.vote, voices.shifts, weights, errs.rho, calibration)
    determined = matrices is not None
    spoken = listen(blocks, Believed(voices.by_matrix, voices.shifts[1], errs.rho)) if determined else None
    names = pa.array([str(k) for k in range(blocks.n_classes)]) if classes is None else classes
    vote: Callable[[Block], Ballot] = ByOpinions(told, lone, spoken)
    if gold is not None and not anchored:
        vote, check = _taught(blocks, some, ByOpinions(told, lone, spoken), names)
        basis = replace(basis, known=check)
    return Fitted(
        vote=vote,
        workforce=workers.workforce.with_gold(blocks, gold, centred=True),
        graph=evidence.verdict,
        matrices=matrices,
        basis=basis,
        notes=(
            *workers.notes,
            *basis.notes(),
            *_left_undone(trusted),
        ),
        in_order=names if ordered else None,
    )


def _measured(
    blocks: Blocks, voices: Voices, matrices: ConfusionMatrices | None, workers: CentredWorkforce, independent: bool
) -> tuple[Sampled, Dependence, float | None]:
    """Measure, on a sample, how far workers err together and whether skills explain who agrees with whom."""
    m = blocks.n_classes
    some = blocks.sample(enough_of(m))
    if independent:
        return some, NONE, None
    if matrices is None or workers.habits is None:
        return some, ratio(np.zeros(0), np.zeros(0)), None  # what is typical
    looked_at = sampled(some.answers, enough_of(m))
    trusted = trust(looked_at, workers.habits)
    belief = softmax(np.concatenate(list(blocks_of(looked_at).each(task_scores, voices.by_matrix, voices.shifts[1]))))
    return some, dependence_of(looked_at, belief, Matrices(matrices.theta, workers.skills, m)), trusted


def _taught(blocks: Blocks, some: Sampled, untaught: "ByOpinions", classes: pa.Array) -> tuple[ByTaught, Check]:
    """Let known labels speak, by their tasks and a sample of the others; then over all blocks."""
    known, others, lone, spoken = blocks.known_tasks(), _drawn(some), untaught.lone, untaught.spoken
    answers, label = together(known, others)
    added = None
    if spoken is not None:
        added = np.concatenate([spoken.added(known), *blocks_of(others).each(spoken.added)])
    learned = learn(untaught.views(answers, added), label)
    check = check_of(learned, label, classes)
    first = Way(untaught.told, np.arange(blocks.n_classes), lone.rho, spoken)
    taught = taught_vote(blocks, known, learned, first, lone.weights)
    return replace(taught, lone=replace(lone, calibration=learned.calibration)), check


def _drawn(some: Sampled) -> Answers:
    """Keep as many tasks of unknown class as ways of learning are compared on."""
    kept, answers = drawn(some.answers, ENOUGH), some.answers
    unknown = np.ones(answers.n_tasks, dtype=bool) if some.known is None else some.known < 0
    return answers.only(unknown if kept is None else kept & unknown)


@dataclass(frozen=True)
class ByOpinions:
    """What three opinions come to, flattened, weighed and calibrated."""

    told: Telling
    lone: LoneVotes
    spoken: Spoken | None = None  # what grades and abstentions tell, where they tell anything

    def __call__(self, block: Block) -> Ballot:
        """Vote on a block."""
        answers = answers_in(block)
        if isinstance(self.told, Voices) and self.spoken is None:
            posterior = self._believed(block, self.told)
        else:
            added = None if self.spoken is None else self.spoken.added(block)
            posterior = self.views(answers, added).calibrated()
        return by_posterior(answers, self.lone.capped(posterior, block.start, block.worker, block.label))

    def _believed(self, block: Block, v: Voices) -> FloatArray:
        share = shares_of(self.lone.calibration)
        numbers = np.concatenate([v.shifts.ravel(), self.lone.weights, [v.vote, self.lone.rho], share])
        return beliefs(block, v.by_skill, v.by_matrix, numbers, len(share))

    def views(self, answers: Answers, added: FloatArray | None) -> Views:
        """Return what is thought of some tasks, with what grades and abstentions add to the scores."""
        opinions: Voices | tuple[FloatArray, ...]
        if isinstance(self.told, Voices) and added is None:
            opinions = self.told
        else:
            scores = self.told.all_scores(answers)
            opinions = scores if added is None else tuple(each + added for each in scores)
        factor, lone = flattening(answers.per_task, self.lone.rho), self.lone
        return Views(answers, opinions, factor, lone.rho, lone.weights, lone.calibration, added)


def _voices(blocks: Blocks, workers: CentredWorkforce, *, hold: bool) -> tuple[Voices, ConfusionMatrices | None]:
    """Let skills and matrices speak, or where nothing is determined the plain vote alone."""
    n, m = blocks.n_workers, blocks.n_classes
    if workers.habits is not None:
        vote = float(weight(np.array([max(workers.mean, LEAST_MEAN)]), m)[0])
        return learn_voices(blocks, workers, vote, hold=hold)
    vote = float(weight(np.array([UNKNOWN_MEAN]), m)[0]) if m > 1 else 1.0
    plain = np.tile(vote * np.eye(m), (n, 1, 1))
    return Voices(plain, plain, np.zeros((2, m)), vote), None


def _told(blocks: Blocks, workers: CentredWorkforce, voices: Voices, rho: float, *, ordered: bool) -> Telling:
    """Let classes in an order speak as such, where there are more than two and something is determined."""
    if not ordered or blocks.n_classes < 3 or workers.habits is None:
        return voices
    return learn_in_order(blocks, learn_knowing(blocks, workers.skills, workers.habits), rho)


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


def _left_undone(trusted: float | None) -> tuple[Note, ...]:
    """Say what the method would do in memory and does not do beyond it."""
    if trusted is None or trusted >= LOW_TRUST:
        return ()
    return (Note(BEYOND_MEMORY, "families of workers who repeat each other are not looked for beyond memory"),)
