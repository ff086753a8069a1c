"""Rank-one completion of centred answers: the standard method's first stage on its own."""

from quorate.answers import Answers
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.evidence import gather
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.voting.confusion import check_size
from quorate.voting.habit_vote import habit_scores
from quorate.voting.posterior import softmax
from quorate.voting.vote import by_posterior, majority


def rank_one_centred(answers: Answers, *, gold: Source = None) -> Result:
    """Estimate skills from centred answers, shrunk toward the crowd's mean, and vote with skills and habits.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they act as a worker of skill one.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool((rank_one_centred(crowd.answers).ballot.label == crowd.truth).mean() > 0.85)
    True
    """
    check_size(answers, "rank-one-centred")
    known = known_classes(gold, answers)
    evidence = gather(answers, known)
    workers = centred_workforce(evidence)
    if workers.habits is None:
        posterior = majority(answers).posterior
    else:
        posterior = softmax(habit_scores(answers, workers.skills, workers.habits))
    ballot = by_posterior(answers, posterior)
    return outcome(
        "rank-one-centred",
        answers,
        ballot,
        gold=known,
        workforce=workers.workforce.with_gold(answers, known, centred=True),
        graph=evidence.verdict,
        notes=workers.notes,
    )
