"""Opinions -> what they are worth together: how far workers err together, who are a family, whom to follow."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take
from quorate.methods.opinions import Opinions, first_belief, fits, opinions_of
from quorate.skills.evidence import gather
from quorate.skills.notes import LOW_TRUST
from quorate.skills.trust import trust
from quorate.voting.basis import Basis
from quorate.voting.calibration import expected_calibration, identity
from quorate.voting.confusion import check_size
from quorate.voting.dependence import INDEPENDENT, MEASURED, NONE, Dependence, dependence_of, flattening, ratio
from quorate.voting.families import effective_votes, learn_families
from quorate.voting.group_units import one_voice
from quorate.voting.kin import find_kin, own_groups, start_of
from quorate.voting.known_labels import Views
from quorate.voting.opinion_weights import INDEPENDENT as AS_THEY_ARE
from quorate.voting.opinion_weights import opinion_weights


@dataclass(frozen=True)
class Weighed:
    """The opinions with their weights, what they rest on, and how far one skill a worker explains the answers."""

    views: Views
    basis: Basis
    trust: float | None  # None where it was not asked, or nothing is determined


def weigh(
    answers: Answers, opinions: Opinions, *, group: IntArray | None, independent: bool, cautious: bool
) -> Weighed:
    """Measure how far the opinions can be believed, and weigh them.

    Args:
        answers: who answered what.
        opinions: of the tasks, formed without known labels.
        group: of each worker, -1 for none; looked for, if not given, where skills do not explain who agrees with whom.
        independent: workers are said to err independently, so that nothing is measured.
        cautious: follow the plain vote as if skills explained nothing.

    Raises:
        TooLargeError: groups are given, and the matrices that they need would not fit.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> found = weigh(answers, opinions_of(gather(answers), answers), group=None, independent=False, cautious=False)
    >>> found.trust, found.basis.rho < 0.1
    (1.0, True)
    """
    asked = opinions.determined and not independent
    trusted = trust(answers) if asked else None
    families = own_groups(group) if opinions.determined else None
    is_found = False
    if families is None and trusted is not None and trusted < LOW_TRUST and fits(answers):
        kin = find_kin(answers, opinions.belief, first_belief)
        families, is_found = own_groups(kin.group if kin.gain > 0 else None), kin.gain > 0
    scores: tuple[FloatArray, ...]
    if families is None:
        scores = (opinions.by_skill, opinions.by_matrix, opinions.by_majority)
        among, voices, worth = answers, opinions, answers.per_task.astype(np.float64)
        inner = trusted
    else:
        check_size(answers, "quorate with groups of workers")
        among = one_voice(answers, families)
        voices = opinions_of(gather(among), among)
        scores, worth = _by_families(answers, families, opinions, voices)
        inner = trust(among) if asked else None
        trusted = trusted if is_found else inner
    errs = NONE if independent else _dependence(among, voices)
    weights = AS_THEY_ARE if independent else opinion_weights(1.0 if inner is None else inner)
    if cautious:
        weights = opinion_weights(0.0)
    views = Views(
        answers,
        scores,
        flattening(worth, errs.rho),
        weights,
        identity() if independent else expected_calibration(errs.rho),
    )
    votes, low, high = errs.votes(worth)
    basis = Basis(
        INDEPENDENT if independent else MEASURED,
        errs.rho,
        float(answers.per_task.mean()),
        votes,
        low,
        high,
        () if families is None else _names(answers, families),
        is_found,
    )
    return Weighed(views, basis, trusted)


def _by_families(
    answers: Answers, group: IntArray, opinions: Opinions, voices: Opinions
) -> tuple[tuple[FloatArray, ...], FloatArray]:
    """Let the members of each group speak by the model of families; the plain vote is one voice a group.

    The voices' own skills are left out: on a panel of 24 judges of seven families they err .315, the model of families
    .277; on simulated panels both are alike.
    """
    learned = learn_families(answers, group, start_of(answers, group, opinions.belief, first_belief))
    scores = (learned.scores, learned.scores, voices.by_majority)
    return scores, effective_votes(answers, group, learned)


def _dependence(answers: Answers, opinions: Opinions) -> Dependence:
    """Measure how much workers err together; where nothing is determined, take what is typical."""
    if not opinions.determined:
        return ratio(np.zeros(0), np.zeros(0))
    return dependence_of(answers, opinions.belief, opinions.confusion(answers.n_classes))


def _names(answers: Answers, group: IntArray) -> tuple[tuple[str, ...], ...]:
    """Name the members of every group that has several."""
    several = np.flatnonzero(np.bincount(group) > 1)
    members = (take(answers.worker_names, np.flatnonzero(group == k)).to_pylist() for k in several)
    return tuple(sorted(tuple(str(name) for name in names) for names in members))
