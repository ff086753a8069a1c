"""The standard method, `method="quorate"`: rank-one skills of centred answers, refined by shrunk confusion matrices.

It starts from moments, whose estimate has guarantees, and lets the data speak where they are plentiful;
docs/methods/quorate.md tells each part in a paragraph.
"""

from quorate.answers import Answers
from quorate.gold import known_classes
from quorate.methods.outcome import outcome
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.evidence import gather
from quorate.skills.notes import orientation_note, undetermined_note
from quorate.skills.trust import trust
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.voting.class_accuracy import ConfusionMatrices
from quorate.voting.confusion import check_size
from quorate.voting.habit_vote import habit_scores
from quorate.voting.posterior import softmax
from quorate.voting.refine import refine
from quorate.voting.temper import leaning_to_the_majority, tempered
from quorate.voting.vote import by_posterior, majority


def standard(answers: Answers, *, gold: Source = None, cautious: bool = False) -> Result:
    """Estimate skills and confusion matrices, and vote with both.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they act as a worker of skill one, and stay fixed.
        cautious: where a group of workers agrees among itself beyond its skills, lean towards the majority.

    Raises:
        TooLargeError: the confusion matrices would not fit.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool((standard(crowd.answers).ballot.label == crowd.truth).mean() > 0.85)
    True
    """
    check_size(answers, "quorate")
    known = known_classes(gold, answers)

    evidence = gather(answers, known)
    workers = centred_workforce(evidence)
    if workers.habits is None:  # no skill is determined: nothing is left but to count votes
        matrices, trusted, posterior = None, None, majority(answers).posterior
    else:
        first = habit_scores(answers, workers.skills, workers.habits)
        refined = refine(answers, softmax(first), workers.skills, gold=known)
        matrices = ConfusionMatrices(refined.confusion, refined.counts)
        posterior = (tempered(first, answers) + tempered(refined.scores, answers)) / 2
        trusted = trust(answers)
        if cautious:
            posterior = leaning_to_the_majority(posterior, answers, trust=trusted, mean_skill=workers.mean)

    return outcome(
        "quorate",
        answers,
        by_posterior(answers, posterior),
        gold=known,
        workforce=workers.workforce,
        graph=evidence.verdict,
        matrices=matrices,
        trust=trusted,
        notes=(*undetermined_note(workers.workforce.status), *orientation_note(evidence)),
    )
