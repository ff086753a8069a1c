"""The standard method, `method="quorate"`: rank-one skills of centred answers, refined by shrunk confusion matrices.

It starts from moments, whose estimate has guarantees, and lets the data speak where they are plentiful;
docs/methods/quorate.md tells each part in a paragraph.
"""

from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.gold import known_classes
from quorate.reading.files import Source
from quorate.result import LOW_TRUST, Result
from quorate.skills.centred import Habits, centred_skills
from quorate.skills.evidence import IDENTIFIED, Evidence, gather, orientation_note, statuses, undetermined_note
from quorate.skills.signs import orient
from quorate.skills.solution import Solution
from quorate.skills.trust import trust
from quorate.uncertainty import CentredInference
from quorate.voting.confusion import cells_of, check_size
from quorate.voting.posterior import FLOOR, softmax
from quorate.voting.refine import refine
from quorate.voting.vote import decide, majority, reveal, tally, weight

DEPENDENCE = 0.2  # how much of each further answer repeats what the others said: workers err together
LEAST_CHANCE = 1e-3  # of any answer, whatever the skill and the habit


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
    first = _first_stage(answers, known)
    if first.solution is None:
        return first.result("quorate", majority(answers).posterior)
    refined = refine(answers, softmax(first.scores), first.skills, gold=known)
    posterior = (_tempered(first.scores, answers) + _tempered(refined.scores, answers)) / 2
    trusted = trust(answers)
    if cautious:
        share = np.clip((trusted - 0.5) / (LOW_TRUST - 0.5), 0.0, 1.0)
        even = tally(answers, np.full(answers.n_workers, weight(np.array([first.mean]), answers.n_classes)[0]))
        posterior = share * posterior + (1 - share) * _tempered(even, answers)
    result = first.result("quorate", posterior)
    return replace(result, confusion=refined.confusion, confusion_counts=refined.counts, trust=trusted)


def rank_one_centred(answers: Answers, *, gold: Source = None) -> Result:
    """Estimate skills from centred answers, drawn to the crowd's mean, and vote with skills and habits.

    The standard method's first stage on its own.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they act as a worker of skill one.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> bool((rank_one_centred(crowd.answers).ballot.label == crowd.truth).mean() > 0.85)
    True
    """
    check_size(answers, "rank-one-centred")
    first = _first_stage(answers, known_classes(gold, answers))
    posterior = majority(answers).posterior if first.solution is None else softmax(first.scores)
    return first.result("rank-one-centred", posterior)


@dataclass(frozen=True)
class _FirstStage:
    """Skills, and the vote with skills and habits."""

    answers: Answers
    known: IntArray | None
    evidence: Evidence
    status: IntArray
    skills: FloatArray  # the crowd's mean where they are not determined
    mean: float
    scores: FloatArray  # log joint probability, tasks × classes
    solution: Solution | None  # None where no skill is determined
    inference: CentredInference | None

    def result(self, method: str, posterior: FloatArray) -> Result:
        """Decide by a posterior, and put the result together."""
        answers = self.answers
        ballot = decide(answers, np.log(np.maximum(posterior, FLOOR)), posterior)
        skills = np.where(self.status == IDENTIFIED, self.skills, np.nan)
        return Result(
            method,
            answers,
            ballot if self.known is None else reveal(ballot, self.known),
            skills,
            weight(self.skills, answers.n_classes) if answers.n_classes > 1 else np.ones(answers.n_workers),
            self.status,
            self.evidence.verdict,
            None if self.solution is None else replace(self.solution, skills=skills),
            notes=(*undetermined_note(self.status), *orientation_note(self.evidence)),
            inference=self.inference,
        )


def _first_stage(answers: Answers, known: IntArray | None) -> _FirstStage:
    evidence = gather(answers, known)
    status = statuses(evidence)[: answers.n_workers]
    if not np.any(status == IDENTIFIED):
        nothing = np.zeros((answers.n_tasks, answers.n_classes))
        return _FirstStage(answers, known, evidence, status, np.zeros(answers.n_workers), 0.0, nothing, None, None)
    found = centred_skills(evidence.crowd, is_gold=evidence.is_gold)
    anchored = np.isin(np.arange(evidence.verdict.n_components), evidence.gold_component)
    everyone, _ = orient(found.solution.skills, evidence.verdict.component, anchored)
    skills = np.where(status == IDENTIFIED, everyone[: answers.n_workers], found.mean)
    scores = _habit_scores(answers, skills, found.habits)
    determined = np.where(evidence.verdict.determined, everyone, np.nan)
    is_free = found.problem.is_inside(found.solution.skills)
    inference = CentredInference(
        evidence.crowd, determined, evidence.is_gold, is_free, found.habits, found.problem.ridge
    )
    return _FirstStage(answers, known, evidence, status, skills, found.mean, scores, found.solution, inference)


def _habit_scores(answers: Answers, skills: FloatArray, habits: Habits) -> FloatArray:
    """Score each class by a model in which a worker knows with probability x, and else answers by habit."""
    m = answers.n_classes
    x, habit = skills[:, None, None], habits.frequency[: answers.n_workers, :, None]
    theta = np.maximum(x * np.eye(m) + (1 - x) * habit, LEAST_CHANCE)
    theta /= theta.sum(axis=1, keepdims=True)
    return cells_of(answers).log_joint(np.log(theta), habits.prior)


def _tempered(scores: FloatArray, answers: Answers) -> FloatArray:
    """Turn scores into a posterior, less sure the more answers there are: workers are not independent."""
    beta = 1 / (1 + DEPENDENCE * np.maximum(answers.per_task - 1.0, 0.0))
    return softmax(scores * beta[:, None])
