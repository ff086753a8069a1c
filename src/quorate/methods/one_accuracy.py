"""One-coin EM from the majority vote: one accuracy for each worker, wrong answers being alike likely [Dawid79]."""

from typing import Any

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.gold import known_classes
from quorate.methods.dawid_skene import em_result
from quorate.reading.files import Source
from quorate.result import Result
from quorate.voting.confusion import check_size
from quorate.voting.one_coin import OneCoin, fit_one_coin
from quorate.voting.posterior import alike_shares, class_shares
from quorate.voting.vote import majority


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

    Takes what `quorate.methods.dawid_skene.dawid_skene` takes.

    >>> import quorate
    >>> answers = {"task": [1, 1, 1, 2, 2, 2, 3, 3], "worker": list("abcabcab"), "label": list("xxyyyxxy")}
    >>> one_coin(quorate.read(answers)).labels["label"].to_pylist()
    ['x', 'y', 'x']
    """
    known = known_classes(gold, answers)
    how: dict[str, Any] = {"class_prior": class_prior, "zeros": zeros}
    how |= {"max_iterations": max_iterations, "tolerance": tolerance}
    return em_result("one-coin", answers, fit_one_accuracy(answers, known, **how), known)


def fit_one_accuracy(answers: Answers, gold: IntArray | None, *, class_prior: bool = False, **how: Any) -> OneCoin:
    """Run EM from the shares of the votes; takes what `quorate.voting.one_coin.fit_one_coin` takes.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 6, 3, seed=0).answers
    >>> fit_one_accuracy(answers, None, max_iterations=2).steps
    2
    """
    check_size(answers, "one-coin", matrices=False)
    prior = class_shares if class_prior else alike_shares
    return fit_one_coin(answers, majority(answers).posterior, prior=prior, gold=gold, **how)
