"""The standard method, `method="quorate"`: labels by skills and shrunk confusion matrices, and confidence that holds.

It starts from moments, whose estimate has guarantees, and lets the data speak where they are plentiful; then it says
how sure that makes it, by what is measured in the crowd, what other crowds teach, and known labels;
docs/methods/quorate.md tells each part in a paragraph.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.errors import unknown
from quorate.gold import known_classes
from quorate.methods.opinions import opinions_of
from quorate.methods.outcome import outcome
from quorate.methods.views import weigh
from quorate.reading.files import Source
from quorate.reading.groups import groups_of
from quorate.result import Result
from quorate.skills.evidence import IDENTIFIED, AnswerEvidence, gather
from quorate.skills.priors import Priors, determined_by, priors_of
from quorate.uncertainty.centred_workforce import centred_workforce
from quorate.uncertainty.copying import copying_workforce
from quorate.voting.confusion import check_size
from quorate.voting.dependence import DEPENDENCES, INDEPENDENT, MEASURED
from quorate.voting.known_labels import check_of, learn
from quorate.voting.least_cost import in_the_middle
from quorate.voting.lone_votes import LoneVotes
from quorate.voting.population import calibrated
from quorate.voting.refine import matrices_of
from quorate.voting.vote import by_posterior


def standard(
    answers: Answers,
    *,
    gold: Source = None,
    cautious: bool = False,
    group: Any = None,
    dependence: str = MEASURED,
    ordered: bool = False,
    skills: Any = None,
) -> Result:
    """Estimate skills and confusion matrices, vote with both, and say how sure the labels are.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they correct the crowd, set how sure the labels are, and stay fixed.
        cautious: follow the plain majority nearly alone. Where skills do not explain who agrees with whom, the method
            leans that way by itself.
        group: who belongs together (model family, vendor, site) and may err together: a mapping from worker to group,
            or a code for each worker (-1: none); by default what was read with the answers (``--group``).
        dependence: ``measured`` in the answers, or ``independent``, if you know that workers err independently.
        ordered: the classes are grades, in their order (numbers by value, or as ``classes`` lists them): a neighbour is
            likelier than a class far off, and the label is the class of least expected distance.
        skills: what is known of workers from before: the table that ``--workers-out`` wrote, `Result.workers` of an
            earlier batch, or a mapping from worker to (skill, low, high).

    Raises:
        TooLargeError: the posterior, or with groups the confusion matrices, would not fit.
        OptionError: there is no such dependence, or the groups name no worker.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool((standard(crowd.answers).ballot.label == crowd.truth).mean() > 0.85)
    True
    """
    check_size(answers, "quorate", matrices=False)
    if dependence not in DEPENDENCES:
        raise unknown(dependence, DEPENDENCES, "dependence")
    independent = dependence == INDEPENDENT
    known = known_classes(gold, answers)
    priors = priors_of(skills, answers.worker_names, answers.classes)

    alone = gather(answers)
    anchors, free = _anchors(alone, answers, known, priors)
    unaided = centred_workforce(alone if anchors is None else gather(answers, anchors), priors)
    evidence = alone if known is None else gather(answers, known)
    workers = unaided if known is None else centred_workforce(evidence, priors)
    opinions = opinions_of(answers, unaided, anchors)
    groups = answers.group if group is None else groups_of(group, answers)
    habits = unaided.habits if ordered and answers.n_classes > 2 else None
    views, basis = weigh(answers, opinions, group=groups, independent=independent, cautious=cautious, habits=habits)
    matrices = opinions.matrices
    shifts = None if opinions.voices is None else opinions.voices.shifts
    lone = LoneVotes(workers.status != IDENTIFIED, opinions.vote, shifts, views.weights, views.rho, views.calibration)
    if free is None:
        posterior = views.calibrated()
    else:
        learned = learn(views, free)
        posterior = calibrated(learned.posterior, learned.calibration)
        lone = replace(lone, calibration=learned.calibration)
        basis = replace(basis, known=check_of(learned, free, answers.classes))
    if matrices is not None and (known is not None or basis.families):
        matrices = matrices_of(answers, views.belief if free is None else learned.posterior, known)

    workforce = None if basis.clusters is None else copying_workforce(answers, basis.clusters, known, priors)
    if workforce is None:
        workforce = workers.workforce
    result = outcome(
        "quorate",
        answers,
        by_posterior(answers, lone.capped(posterior, answers.start, answers.worker, answers.label)),
        gold=known,
        workforce=workforce.with_gold(answers, known, centred=True),
        graph=evidence.verdict,
        matrices=matrices,
        basis=basis,
        notes=(*workers.notes, *basis.notes()),
    )
    return replace(result, vote=in_the_middle(result.ballot, answers.classes)) if ordered else result


def _anchors(
    alone: AnswerEvidence, answers: Answers, known: IntArray | None, priors: Priors | None
) -> tuple[IntArray | None, IntArray | None]:
    """Part known labels: those that workers need who cannot be told without them, and those free to teach and check.

    The first act as a worker of skill one, so their own tasks have seen them, and can check nothing.
    """
    if known is None or not (known >= 0).any():
        return None, None
    first = answers.worker[np.minimum(answers.start[:-1], max(answers.n_answers - 1, 0))]
    determined = alone.verdict.determined if priors is None else determined_by(alone.verdict, priors)
    told = determined[first] & (answers.per_task > 0)
    parts = [np.where(kept, known, -1) for kept in (~told, told)]
    anchors, free = (part if (part >= 0).any() else None for part in parts)
    return anchors, free
