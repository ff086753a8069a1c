"""Evidence -> skills of centred answers, turned the right way round, filled in where they are not determined."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.skills.centred import Centred, Habits, centred_skills
from quorate.skills.evidence import IDENTIFIED, AnswerEvidence, statuses
from quorate.skills.notes import Note, orientation_note, sign_note, undetermined_note
from quorate.skills.signs import orient
from quorate.uncertainty.centred_score import CentredInference
from quorate.uncertainty.class_prior import rescaled, settled_habits
from quorate.uncertainty.workforce import Workforce
from quorate.voting.vote import weight


@dataclass(frozen=True)
class CentredWorkforce:
    """What centred answers say of the workers, and what their vote needs."""

    evidence: AnswerEvidence
    status: IntArray  # of each worker without gold
    skills: FloatArray  # for the vote: the crowd's mean where they are not determined
    mean: float  # the crowd's mean skill
    found: Centred | None  # None where no skill is determined

    @property
    def habits(self) -> Habits | None:
        """Of the workers, with the class prior that the vote starts from; None where no skill is determined."""
        return None if self.found is None else self.found.habits

    @cached_property
    def workforce(self) -> Workforce:
        """What is told of the workers, on the scale that the settled class prior gives."""
        n, m = len(self.status), self.evidence.n_classes
        if self.found is None:
            return Workforce(
                skills=np.full(n, np.nan), weights=np.zeros(n) if m > 1 else np.ones(n), status=self.status
            )
        own = np.where(self.status == IDENTIFIED, self.inference.skills[:n], np.nan)
        return Workforce(
            skills=own,
            weights=weight(self.skills, m) if m > 1 else np.ones(n),
            status=self.status,
            solution=replace(self.found.solution, skills=own),
            inference=self.inference,
        )

    @cached_property
    def inference(self) -> CentredInference:
        """What the answers tell of the skills, on the scale that the settled class prior gives.

        The vote keeps the plurality's prior: over the 26 public crowds it errs no more so (.180 by either), and the
        settled one, which follows the model further, changes the labels of single crowds by up to a point either way.
        """
        assert self.found is not None  # something is determined
        x, problem = self.found.solution.skills, self.found.problem
        habits = settled_habits(self._inference(x, self.found.habits, problem.ridge))
        before, after = self.found.habits.spread, habits.spread
        # On another scale the least squares stay the same, with a ridge to match.
        return self._inference(problem.clip(rescaled(x, before, after)), habits, problem.ridge * before / after)

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What a reader of the skills must know: who is not determined, and which signs rest on what."""
        told = (*undetermined_note(self.status), *orientation_note(self.evidence))
        if self.found is None or not self._may_be_turned():
            return told
        information = 1 / np.maximum(self.inference.noise(), 1e-12)
        component, free = self.evidence.verdict.component, self.evidence.free
        return (*told, *sign_note(self.inference.skills, information, component, free))

    def _may_be_turned(self) -> bool:
        """Whether a group's skills sum to less than their error can be: one each, which takes no pass to tell."""
        skills, component, n = self.inference.skills, self.evidence.verdict.component, len(self.evidence.free)
        known = ~np.isnan(skills)
        count = np.bincount(component[known], minlength=n)
        total = np.bincount(component[known], skills[known], minlength=n)
        return bool((np.abs(total) < np.sqrt(count))[self.evidence.free].any())

    def _inference(self, skills: FloatArray, habits: Habits, ridge: float) -> CentredInference:
        assert self.found is not None
        everyone = np.where(self.evidence.verdict.determined, _oriented(self.evidence, skills), np.nan)
        moves = self.found.problem.is_inside(self.found.solution.skills)
        return CentredInference(self.evidence.crowd, everyone, self.evidence.is_gold, moves, habits, ridge)


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
    n = int((~evidence.is_gold).sum())
    status = statuses(evidence)[:n]
    is_known: BoolArray = status == IDENTIFIED
    if not np.any(is_known):
        return CentredWorkforce(evidence, status, np.zeros(n), 0.0, None)
    found = centred_skills(evidence.crowd, is_gold=evidence.is_gold)
    filled = np.where(is_known, _oriented(evidence, found.solution.skills)[:n], found.mean)
    return CentredWorkforce(evidence, status, filled, found.mean, found)


def _oriented(evidence: AnswerEvidence, skills: FloatArray) -> FloatArray:
    """Turn every component the right way round; those with known labels are."""
    return orient(skills, evidence.verdict.component, evidence.anchored)[0]
