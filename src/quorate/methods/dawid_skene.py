"""Dawid and Skene's EM from the majority vote: a confusion matrix for each worker [Dawid79]."""

from typing import Any

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.gold import known_classes
from quorate.methods.outcome import fit_notes, outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import Note
from quorate.voting.confusion import check_size
from quorate.voting.em import Fit, expectation_maximisation
from quorate.voting.one_coin import OneCoin
from quorate.voting.vote import Ballot, decide, majority, skill_of, weight


def dawid_skene(
    answers: Answers,
    *,
    gold: Source = None,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Result:
    """Fit a confusion matrix for each worker and a class for each task, by EM from the shares of the votes.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they stay fixed.
        max_iterations: EM steps at the most; ten are what the literature reports, and more rarely help.
        tolerance: stop when the posterior changes by less, on average over tasks.
        class_prior: estimate the share of each class, instead of taking them all for alike.
        zeros: ``exact``, or ``skip`` as in the code behind the published figures (see `quorate.voting.em`).

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> dawid_skene(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    known = known_classes(gold, answers)
    how: dict[str, Any] = {"class_prior": class_prior, "zeros": zeros}
    how |= {"max_iterations": max_iterations, "tolerance": tolerance}
    return em_result("dawid-skene", answers, fit_dawid_skene(answers, known, **how), known)


def fit_dawid_skene(answers: Answers, gold: IntArray | None, **how: Any) -> Fit:
    """Run EM from the shares of the votes; takes what `quorate.voting.em.expectation_maximisation` takes.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit_dawid_skene(answers, None, max_iterations=2).confusion.shape
    (6, 2, 2)
    """
    check_size(answers, "dawid-skene")
    return expectation_maximisation(answers, majority(answers).posterior, gold=gold, **how)


def em_result(method: str, answers: Answers, fit: Fit | OneCoin, gold: IntArray | None) -> Result:
    """Put together the result of EM over all classes.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> em_result("mine", answers, fit_dawid_skene(answers, None), None).method
    'mine'
    """
    ballot = decide(answers, fit.scores, fit.posterior)
    notes = fit_notes(method, fit.log_likelihoods, fit.converged, answers.n_answers)
    return em_outcome(method, answers, fit.accuracy, ballot, gold, notes)


def em_outcome(
    method: str,
    answers: Answers,
    accuracy: FloatArray,
    ballot: Ballot,
    gold: IntArray | None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Put together a result of EM: a worker's skill is that of its mean accuracy over the classes.

    >>> import numpy as np
    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> em_outcome("mine", answers, np.full(6, 0.8), majority(answers), None).method
    'mine'
    """
    if answers.n_classes < 2:
        return outcome(method, answers, ballot, gold=gold, notes=notes)
    skills = skill_of(accuracy, answers.n_classes)
    weights = weight(skills, answers.n_classes)
    return outcome(method, answers, ballot, gold=gold, skills=skills, weights=weights, notes=notes)
