"""Opt-D&S: confusion matrices from the moments of three groups of workers, then a few rounds of EM [Zhang16]."""

from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.errors import OptionError
from quorate.gold import known_classes
from quorate.methods.given import given_classes
from quorate.methods.outcome import fit_notes, outcome, with_gold_counts
from quorate.methods.spectral import spectral_start
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import OTHER_START, Note
from quorate.voting.confusion import check_size
from quorate.voting.em import Fit, column_shares, expectation_maximisation
from quorate.voting.one_coin import OneCoin, fit_one_coin
from quorate.voting.vote import decide, majority, skill_of, weight

LEAST_PROBABILITY = 1e-6  # of a start: EM could not leave zero
IMPOSSIBLE = -1e300  # the score of a class that nobody gave


def opt_ds(
    answers: Answers,
    *,
    gold: Source = None,
    rounds: int = 10,
    starts: int = 100,
    power_steps: int = 100,
    seed: int = 0,
    one_coin: bool = False,
    zeros: str = "exact",
) -> Result:
    """Estimate a confusion matrix a worker by the method of moments, and improve it by EM with a uniform class prior.

    The skill of a worker is that of its mean accuracy over the classes. Where the moments are singular, EM starts from
    the majority vote, and a note says so.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; every round of EM holds to them.
        rounds: of EM.
        starts: random starts of the tensor power method for each class.
        power_steps: steps from each of them.
        seed: of the starts; the same seed gives the same result.
        one_coin: one accuracy a worker, alike for all classes, instead of a confusion matrix.
        zeros: ``exact``, or ``skip`` as in the authors' code (see `quorate.voting.em`).

    Raises:
        OptionError: no rounds, no starts or no steps.
        TooLargeError: the confusion matrices or the posterior would not fit.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxx")}
    >>> opt_ds(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    for name, value in (("rounds", rounds), ("starts", starts), ("power_steps", power_steps)):
        if value < 1:
            raise OptionError(f"opt-ds needs at least one of {name}, not {value}")
    known = known_classes(gold, answers)
    given = given_classes(answers, known)
    check_size(given.answers, "opt-ds")
    rng = np.random.default_rng(seed)
    start = spectral_start(given.answers, starts=starts, power_steps=power_steps, rng=rng)
    notes: tuple[Note, ...] = ()
    if isinstance(start, str):
        text = f"opt-ds: {start}, so EM started from the majority vote instead of the spectral estimate"
        notes = (Note(OTHER_START, text),)
    counts = None if isinstance(start, str) else np.maximum(start, LEAST_PROBABILITY)
    votes = majority(given.answers).posterior
    options: dict[str, Any] = {"gold": given.known, "zeros": zeros, "max_iterations": rounds, "tolerance": 0.0}
    fit: OneCoin | Fit
    if one_coin:
        coins = None if counts is None else np.einsum("wcc->w", counts) / counts.sum(axis=(1, 2))
        fit = fit_one_coin(given.answers, votes, accuracy=coins, **options)
    else:
        matrices = None if counts is None else column_shares(counts)
        fit = expectation_maximisation(given.answers, votes, confusion=matrices, **options)
    ballot = decide(answers, given.spread(fit.scores, IMPOSSIBLE), given.spread(fit.posterior, 0.0))
    notes += fit_notes("opt-ds", fit.log_likelihoods, fit.converged, answers.n_answers)
    skills = None
    weights = None
    if answers.n_classes > 1:
        skills = skill_of(fit.accuracy, answers.n_classes)
        weights = weight(skills, answers.n_classes)
    result = outcome("opt-ds", answers, ballot, gold=known, skills=skills, weights=weights, notes=notes)
    return with_gold_counts(result)
