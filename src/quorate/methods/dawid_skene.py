"""Dawid and Skene's EM from the majority vote: a confusion matrix for each worker, or one accuracy [Dawid79]."""

from typing import Any

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import Note
from quorate.voting.confusion import check_size
from quorate.voting.em import Fit, expectation_maximisation
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
    options = {"max_iterations": max_iterations, "tolerance": tolerance, "class_prior": class_prior, "zeros": zeros}
    return _from_majority("dawid-skene", answers, gold, **options)


def one_coin(
    answers: Answers,
    *,
    gold: Source = None,
    max_iterations: int = 10,
    tolerance: float = 1e-6,
    class_prior: bool = False,
    zeros: str = "exact",
) -> Result:
    """Fit one accuracy for each worker, wrong answers being alike likely, by EM from the shares of the votes.

    Takes what `dawid_skene` takes.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> one_coin(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    options = {"max_iterations": max_iterations, "tolerance": tolerance, "class_prior": class_prior, "zeros": zeros}
    return _from_majority("one-coin", answers, gold, one_coin=True, **options)


def _from_majority(method: str, answers: Answers, gold: Source, **options: Any) -> Result:
    check_size(answers, method)
    known = known_classes(gold, answers)
    fit = expectation_maximisation(answers, majority(answers).posterior, gold=known, **options)
    return em_outcome(method, answers, fit, decide(answers, fit.scores, fit.posterior), known)


def em_outcome(
    method: str, answers: Answers, fit: Fit, ballot: Ballot, gold: IntArray | None, notes: tuple[Note, ...] = ()
) -> Result:
    """Put together a result of EM: a worker's skill is that of its mean accuracy over the classes.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit = expectation_maximisation(answers, majority(answers).posterior)
    >>> em_outcome("mine", answers, fit, majority(answers), None).method
    'mine'
    """
    if answers.n_classes < 2:
        return outcome(method, answers, ballot, gold=gold, notes=notes)
    skills = skill_of(fit.accuracy, answers.n_classes)
    weights = weight(skills, answers.n_classes)
    return outcome(method, answers, ballot, gold=gold, skills=skills, weights=weights, notes=notes)
