"""Opinions -> what they are worth together: how far workers err together, who are a family, whom to follow."""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, take
from quorate.blocks.memory import blocks_of
from quorate.blocks.scatter import sampled
from quorate.methods.opinions import Opinions, first_belief, fits, opinions_of
from quorate.skills.centred import Habits
from quorate.skills.evidence import gather
from quorate.skills.notes import LOW_TRUST
from quorate.skills.trust import trust
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.voting.basis import Basis
from quorate.voting.confusion import check_size
from quorate.voting.dependence import (
    INDEPENDENT,
    MEASURED,
    NONE,
    Dependence,
    dependence_of,
    enough_of,
    flattening,
    ratio,
)
from quorate.voting.families import effective_votes, learn_families
from quorate.voting.group_units import one_voice
from quorate.voting.in_order import WEIGHTS as IN_ORDER
from quorate.voting.in_order import learn_in_order, learn_knowing
from quorate.voting.kin import find_kin, own_groups, start_of
from quorate.voting.known_labels import Views
from quorate.voting.left_out import left_out_scores
from quorate.voting.opinion_weights import INDEPENDENT as AS_THEY_ARE
from quorate.voting.opinion_weights import opinion_weights
from quorate.voting.population import expected_calibration, identity
from quorate.voting.sparse_voices import SparseVoices
from quorate.voting.spoken import Believed, listen
from quorate.voting.voices import Voices


def weigh(
    answers: Answers,
    opinions: Opinions,
    *,
    group: IntArray | None,
    independent: bool,
    cautious: bool,
    habits: Habits | None = None,
) -> tuple[Views, Basis]:
    """Measure how far the opinions can be believed, weigh them, and say what that rests on.

    Args:
        answers: who answered what.
        opinions: of the tasks, formed without known labels.
        group: of each worker, -1 for none; looked for, if not given, where skills do not explain who agrees with whom.
        independent: workers are said to err independently, so that nothing is measured.
        cautious: follow the plain vote as if skills explained nothing.
        habits: of the workers, where the classes are in an order that is to be used; not where a family is heard.

    Raises:
        TooLargeError: groups are given, and the matrices that they need would not fit.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1).answers
    >>> opinions = opinions_of(answers, centred_workforce(gather(answers)))
    >>> _, basis = weigh(answers, opinions, group=None, independent=False, cautious=False)
    >>> basis.trust, basis.rho < 0.1
    (1.0, True)
    """
    asked = opinions.determined and not independent
    given = None if group is None or not opinions.determined else own_groups(group)
    heard = _as_groups(answers, given, opinions)
    trusted = believed = trust(heard.answers) if asked else None
    is_found = False
    if heard.group is None and trusted is not None and trusted < LOW_TRUST and fits(answers):
        kin = find_kin(answers, opinions.belief(), first_belief)
        if is_found := kin.gain > 0:
            heard = _as_groups(answers, own_groups(kin.group), opinions)
            believed = trust(heard.answers)
    if independent and heard.group is None:
        heard = _unvouched(answers, opinions, heard)
    errs = NONE if independent else _dependence(heard.opinions)
    weights = AS_THEY_ARE if independent else opinion_weights(1.0 if believed is None else believed)
    votes, low, high = errs.votes(heard.worth)
    factor = flattening(heard.worth, errs.rho)
    if habits is not None and heard.group is None and opinions.voices is not None:
        in_order = learn_in_order(answers, learn_knowing(answers, opinions.skills, habits), factor)
        heard = replace(heard, told=in_order.all_scores(answers))
        weights = IN_ORDER
    told, added = _with_grades(answers, opinions, heard.told, factor)
    views = Views(
        answers,
        told,
        factor,
        errs.rho,
        opinion_weights(0.0) if cautious else weights,
        identity() if independent else expected_calibration(errs.rho),
        added,
    )
    basis = Basis(
        dependence=INDEPENDENT if independent else MEASURED,
        rho=errs.rho,
        answers=float(answers.per_task.mean()),
        votes=votes,
        votes_low=low,
        votes_high=high,
        trust=trusted,
        families=() if heard.group is None else _names(answers, heard.group),
        found=is_found,
        clusters=heard.group if is_found else None,
    )
    return views, basis


@dataclass(frozen=True)
class _Heard:
    """Who speaks: workers, or groups with one voice each."""

    answers: Answers  # of the voices
    opinions: Opinions  # by the voices
    told: (
        Voices | SparseVoices | tuple[FloatArray, ...]
    )  # what they say of the tasks: by skill, by matrix and by majority
    worth: FloatArray  # of each task's answers in voices, before those err together
    group: IntArray | None  # of each worker; None where all speak for themselves


def _as_groups(answers: Answers, group: IntArray | None, opinions: Opinions) -> _Heard:
    """Let the members of each group speak by the model of families; the plain vote is one voice a group.

    The voices' own skills are left out: on a panel of 24 judges of seven families they err .315, the model of families
    .277; on simulated panels both are alike.
    """
    if group is None:
        return _Heard(answers, opinions, opinions.told, answers.per_task.astype(np.float64), None)
    check_size(answers, "quorate with groups of workers")
    among = one_voice(answers, group)
    voices = opinions_of(among, centred_workforce(gather(among)))
    learned = learn_families(answers, group, start_of(answers, group, opinions.belief(), first_belief))
    told = (learned.scores, learned.scores, voices.scores[2])
    return _Heard(among, voices, told, effective_votes(answers, group, learned), group)


def _unvouched(answers: Answers, opinions: Opinions, heard: _Heard) -> _Heard:
    """Let no answer vouch for itself in the opinion by matrix, where the model's own posterior is what is stated.

    Elsewhere the population sees to it: over the 26 public crowds the log-loss is .522 so and .523 as it is, the error
    .178 and .177.
    """
    if opinions.matrices is None:
        return heard
    by_skill, _, by_majority = opinions.scores
    return replace(heard, told=(by_skill, left_out_scores(answers, opinions.belief(), opinions.skills), by_majority))


def _with_grades(
    answers: Answers, opinions: Opinions, told: Voices | SparseVoices | tuple[FloatArray, ...], factor: FloatArray
) -> tuple[Voices | SparseVoices | tuple[FloatArray, ...], FloatArray | None]:
    """Add to every opinion what grades and abstentions tell beside the classes, if they tell anything."""
    if opinions.voices is None:
        return told, None
    voices = opinions.voices
    spoken = listen(answers, Believed(voices.by_matrix, voices.shifts[1], factor))
    if spoken is None:
        return told, None
    added = np.concatenate(list(blocks_of(answers).each(spoken.added)))
    scores = told if isinstance(told, tuple) else opinions.scores
    return tuple(each + added for each in scores), added


def _dependence(opinions: Opinions) -> Dependence:
    """Measure how much workers err together; where nothing is determined, take what is typical."""
    if not opinions.determined:
        return ratio(np.zeros(0), np.zeros(0))
    enough = enough_of(opinions.answers.n_classes)
    believed, looked_at = opinions.belief(enough), sampled(opinions.answers, enough)
    return dependence_of(looked_at, believed, opinions.confusion(looked_at.n_classes))


def _names(answers: Answers, group: IntArray) -> tuple[tuple[str, ...], ...]:
    """Name the members of every group that has several."""
    several = np.flatnonzero(np.bincount(group) > 1)
    members = (take(answers.worker_names, np.flatnonzero(group == k)).to_pylist() for k in several)
    return tuple(sorted(tuple(str(name) for name in names) for names in members))
