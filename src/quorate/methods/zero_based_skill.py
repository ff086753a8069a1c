"""Zero-based skill: vote, move each worker's weight toward its agreement with the vote, and repeat in smaller steps."""

import numpy as np

from quorate.answers import Answers
from quorate.errors import OptionError, check_positive
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.iwmv import agreement_with
from quorate.methods.wawa import by_shares
from quorate.result import Result
from quorate.voting.posterior import hold_labels
from quorate.voting.vote import decide, tally


def zero_based_skill(
    answers: Answers,
    *,
    gold: Source = None,
    iterations: int = 100,
    rate: float = 1.0,
    slower_every: int = 20,
    slower_by: float = 0.5,
    head_start: float = 1e-5,
) -> Result:
    """Start all workers just above guessing, and move each toward its share of agreement with the labels.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; the workers are scored against them.
        iterations: maximum number of votes.
        rate: the share of its distance that a weight moves in a step.
        slower_every: the number of votes after which the rate is reduced.
        slower_by: the factor of the reduction.
        head_start: how much the first weights exceed the accuracy of guessing.

    Raises:
        OptionError: a number that must be positive is not.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcac"), "label": list("xxyxy")})
    >>> zero_based_skill(answers).weights.tolist()
    [1.0, 1.0, 0.0]
    """
    check_positive(iterations=iterations, rate=rate, slower_every=slower_every, slower_by=slower_by)
    if head_start < 0:
        raise OptionError(f"The option head_start must not be negative, got {head_start}")
    known = known_classes(gold, answers)
    share = np.full(answers.n_workers, 1 / answers.n_classes + head_start)
    for vote in range(1, iterations + 1):
        if vote % slower_every == 0:
            rate *= slower_by
        scores = tally(answers, share)
        label = decide(answers, scores, scores).label
        new_share = share + rate * (agreement_with(answers, hold_labels(label, known)) - share)
        if np.array_equal(new_share, share):
            break
        share = new_share
    return by_shares("zero-based-skill", answers, share, known)
