"""One-coin EM from the majority vote: one accuracy for each worker, wrong answers being alike likely [Dawid79]."""

from quorate.answers import Answers
from quorate.gold import known_classes
from quorate.methods.dawid_skene import em_outcome
from quorate.methods.outcome import fit_notes
from quorate.reading.files import Source
from quorate.result import Result
from quorate.voting.confusion import check_size
from quorate.voting.one_coin import fit_one_coin
from quorate.voting.posterior import alike_shares, class_shares
from quorate.voting.vote import decide, majority


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
    check_size(answers, "one-coin", matrices=False)
    known = known_classes(gold, answers)
    fit = fit_one_coin(
        answers,
        majority(answers).posterior,
        prior=class_shares if class_prior else alike_shares,
        gold=known,
        zeros=zeros,
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    notes = fit_notes("one-coin", fit.log_likelihoods, fit.converged, answers.n_answers)
    return em_outcome("one-coin", answers, fit.accuracy, decide(answers, fit.scores, fit.posterior), known, notes)
