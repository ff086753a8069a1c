"""Evidence -> skills of centred answers, turned the right way round, filled in where they are not determined."""

from dataclasses import dataclass, replace

import numpy as np

from quorate.arrays import FloatArray
from quorate.skills.centred import Habits, centred_skills
from quorate.skills.evidence import IDENTIFIED, AnswerEvidence, statuses
from quorate.skills.signs import orient
from quorate.uncertainty.centred_score import CentredInference
from quorate.uncertainty.workforce import Workforce
from quorate.voting.vote import weight


@dataclass(frozen=True)
class CentredWorkforce:
    """What centred answers say of the workers, and what their vote needs."""

    workforce: Workforce
    skills: FloatArray  # for the vote: the crowd's mean where they are not determined
    mean: float  # the crowd's mean skill
    habits: Habits | None  # None where no skill is determined


def centred_workforce(evidence: AnswerEvidence) -> CentredWorkforce:
    """Solve for the skills of centred answers, and turn every component the right way round.

    Args:
        evidence: of the answers; its last worker is the known labels, if there are any.

    >>> import quorate
    >>> from quorate.skills.evidence import gather
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool(np.abs(centred_workforce(gather(crowd.answers)).skills - crowd.skills).mean() < 0.1)
    True
    """
    n, m = int((~evidence.is_gold).sum()), evidence.n_classes
    status = statuses(evidence)[:n]
    is_known = status == IDENTIFIED
    if not np.any(is_known):
        unknown, even = np.full(n, np.nan), np.zeros(n) if m > 1 else np.ones(n)
        return CentredWorkforce(Workforce(skills=unknown, weights=even, status=status), np.zeros(n), 0.0, None)
    found = centred_skills(evidence.crowd, is_gold=evidence.is_gold)
    anchored = np.isin(np.arange(evidence.verdict.n_components), evidence.gold_component)
    everyone, _ = orient(found.solution.skills, evidence.verdict.component, anchored)
    filled = np.where(is_known, everyone[:n], found.mean)
    own = np.where(is_known, filled, np.nan)
    workforce = Workforce(
        skills=own,
        weights=weight(filled, m) if m > 1 else np.ones(n),
        status=status,
        solution=replace(found.solution, skills=own),
        inference=CentredInference(
            evidence.crowd,
            np.where(evidence.verdict.determined, everyone, np.nan),
            evidence.is_gold,
            found.problem.is_inside(found.solution.skills),
            found.habits,
            found.problem.ridge,
        ),
    )
    return CentredWorkforce(workforce, filled, found.mean, found.habits)
