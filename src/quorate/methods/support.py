"""Whether the answers support a confidence at all, and which tasks have a label.

How often labels are wrong can be estimated if several workers answer the same tasks, or by gold. The answers of a
single worker, or of a single class, do not show it, with any method; nor does a task without answers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.blocks.block import Block, Blocks, Sums
from quorate.notes import UNSUPPORTED, Note
from quorate.skills.identification import IDENTIFIED
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import Vote, changed_vote

# Gold labels from which the accuracy of a single worker counts as known; conventional: `estimate` asks for as many
# before it states an interval.
MIN_GOLD = 5


@dataclass(frozen=True)
class Support:
    """What answers support: a confidence or, for a reason, none; and how many tasks have no label."""

    missing: str | None = None  # why no confidence is stated, and what is needed; None where one is stated
    n_unanswered: int = 0  # tasks without answers and without gold

    @property
    def notes(self) -> tuple[Note, ...]:
        """Explain why there is no confidence."""
        return () if self.missing is None else (Note(UNSUPPORTED, f"No confidence can be given: {self.missing}"),)

    def apply(self, task_vote: Vote, per_task: IntArray, gold: IntArray | None) -> Vote:
        """Remove the labels and the confidences that the answers do not support; gold stays as it is.

        >>> task_vote = Vote(np.zeros((2, 2)), np.full((2, 2), 0.5), np.zeros(2, int), np.ones(2, bool))
        >>> applied = Support().apply(task_vote, np.array([3, 0]), None)
        >>> applied.label.tolist(), applied.confidence.tolist(), applied.tied.tolist()
        ([0, -1], [0.5, nan], [True, False])
        """
        is_gold = np.zeros(len(per_task), dtype=bool) if gold is None else gold >= 0
        is_labelled = is_gold | (per_task > 0)
        is_stated = is_labelled if self.missing is None else is_gold
        if is_stated.all():
            return task_vote
        label = np.where(is_labelled, task_vote.label, -1)
        return changed_vote(task_vote, label=label, tied=task_vote.tied & is_labelled, is_stated=is_stated)


ALL_SUPPORTED = Support()


def support_of_answers(answers: Answers, gold: IntArray | None, skill_estimates: WorkerEstimates) -> Support:
    """Return what answers in memory support.

    Args:
        answers: who answered what.
        gold: the class of each task, -1 where unknown; None without gold.
        skill_estimates: estimates of the workers by a method.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> support_of_answers(answers, None, quorate.aggregate(answers, "majority").skill_estimates).missing
    'only one worker answered. Quorate needs at least three workers on the same tasks, or ...
    """
    n_classes = answers.n_classes
    if answers.questions is not None and answers.questions.n_labels < 2:  # one label, to which all answers may be yes
        n_classes = len(np.unique(answers.label))
    n_gold, n_unanswered = _count_tasks(answers.per_task, gold)
    if n_gold and n_gold == answers.n_tasks:  # every label is known
        return Support(None, n_unanswered)
    n_workers = int((answers.per_worker > 0).sum())
    n_shared = int((answers.per_task > 1).sum())
    missing = missing_evidence(n_workers, n_classes, n_gold, _is_skill_known(skill_estimates), n_shared)
    return Support(missing, n_unanswered)


def support_of_blocks(blocks: Blocks, skill_estimates: WorkerEstimates) -> Support:
    """Return what answers in blocks support; one pass over them.

    Args:
        blocks: the answers.
        skill_estimates: estimates of the workers by a method.

    >>> import quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> support_of_blocks(blocks_of(answers), quorate.aggregate(answers, "majority").skill_estimates)
    Support(missing=None, n_unanswered=0)
    """
    n_workers = int((blocks.per_worker > 0).sum())
    n_gold, n_unanswered, n_shared = (int(total) for total in blocks.sum(_count_tasks_in)[0])
    if n_gold and n_gold == blocks.n_tasks:
        return Support(None, n_unanswered)
    return Support(
        missing_evidence(n_workers, blocks.n_classes, n_gold, _is_skill_known(skill_estimates), n_shared), n_unanswered
    )


def missing_evidence(
    n_workers: int, n_classes: int, n_gold: int = 0, skill_known: bool = False, n_shared: int | None = None
) -> str | None:
    """Explain why these numbers of workers and classes support no confidence, and what is needed; None where they do.

    Args:
        n_workers: workers who gave an answer.
        n_classes: observed or declared.
        n_gold: gold labels of tasks that were answered.
        skill_known: whether the method knows the skill of the only worker, by gold or from an earlier batch.
        n_shared: tasks with two answers or more; None where they were not counted.

    >>> missing_evidence(3, 1)
    'every answer is the same. Quorate needs the list of all possible labels (classes=, --classes)'
    >>> missing_evidence(3, 2) is None, missing_evidence(1, 2, n_gold=30, skill_known=True) is None
    (True, True)
    """
    if n_workers == 0:
        return "nobody answered. Quorate needs the answers of several workers, or known labels (gold=, --gold)"
    reasons = []
    needs = []
    if n_workers == 1 and not (skill_known and (n_gold == 0 or n_gold >= MIN_GOLD)):
        reasons.append("only one worker answered")
        needs.append(f"at least three workers on the same tasks, or {MIN_GOLD} known labels (gold=, --gold)")
    elif n_shared == 0 and not (skill_known and (n_gold == 0 or n_gold >= MIN_GOLD)):
        reasons.append("every task has only one answer")
        needs.append(f"several answers per task, or {MIN_GOLD} known labels (gold=, --gold)")
    if n_classes < 2:
        reasons.append("every answer is the same")
        needs.append("the list of all possible labels (classes=, --classes)")
    if not reasons:
        return None
    return f"{', and '.join(reasons)}. Quorate needs {'. It also needs '.join(needs)}"


def _is_skill_known(skill_estimates: WorkerEstimates) -> bool:
    """Whether a solver determined some skill; methods without a solver state a skill even for a single worker."""
    return skill_estimates.solution is not None and bool((skill_estimates.status == IDENTIFIED).any())


def _count_tasks(per_task: IntArray, gold: IntArray | None) -> tuple[int, int]:
    """Count the gold tasks that were answered, and the other tasks that were not."""
    is_gold = np.zeros(len(per_task), dtype=bool) if gold is None else gold >= 0
    return int((is_gold & (per_task > 0)).sum()), int((~is_gold & (per_task == 0)).sum())


def _count_tasks_in(blocks: Iterable[Block]) -> Sums:
    total = np.zeros(3)
    for block in blocks:
        total += (*_count_tasks(block.per_task, block.gold), int((block.per_task > 1).sum()))
    return (total,)
