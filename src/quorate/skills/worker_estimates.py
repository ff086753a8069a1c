"""Estimates of every worker: skill, weight and status, how the skills were computed, and data for intervals."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.memory import Answered
from quorate.skills.gold_counts import GoldCounts, count_gold
from quorate.skills.identification import IDENTIFIED, WEAKLY_IDENTIFIED
from quorate.skills.intervals import Inference, IntervalChoice, interval_kind

if TYPE_CHECKING:
    from quorate.skills.objective import Solution
    from quorate.skills.signs import Signs
    from quorate.skills.weak_identification import WeakIdentification


@dataclass(frozen=True, kw_only=True)
class WorkerEstimates:
    """One entry per worker, in the order of their codes; gold is not among them.

    >>> workers = WorkerEstimates(skills=np.array([0.5, np.nan]), weights=np.ones(2), status=np.array([0, 1]))
    >>> list(workers.lines(IntervalChoice()))  # a method without a solution has no further lines
    []
    """

    skills: FloatArray  # NaN where not determined
    weights: FloatArray  # weight of each worker's vote
    status: IntArray  # a position in `quorate.skills.identification.STATUSES`, by the graph of all workers
    solution: "Solution | None" = None  # how the skills were computed
    signs: "Signs | None" = None  # how much of the evidence contradicts the signs of the skills
    inference: Inference | None = None  # the data from which intervals are computed; None for methods without intervals
    gold_counts: GoldCounts | None = None  # skills by known labels, with which the estimates are averaged
    # For language models without answers to known labels: share of the answers that equal the label of their task; NaN
    # for all other workers. None if there is no such model.
    agreement: FloatArray | None = None

    @cached_property
    def weak(self) -> "WeakIdentification | None":
        """Which workers are weakly identified, by a test of a few passes over the answers; None without inference."""
        if self.inference is None or self.inference.n_classes < 2:
            return None
        return self.inference.weak(len(self.status))

    @cached_property
    def full_status(self) -> IntArray:
        """The status of each worker, including weakly identified workers."""
        if self.weak is None:
            return self.status
        return np.where((self.status == IDENTIFIED) & self.weak.is_weakly_identified, WEAKLY_IDENTIFIED, self.status)

    def __getstate__(self) -> dict[str, Any]:
        """Compute which workers are weakly identified before pickling: a copy may have no access to the answers."""
        _ = self.weak
        return self.__dict__

    def with_gold(
        self, answers: Answered, gold: IntArray | None, *, centred: bool, is_model: BoolArray | None = None
    ) -> "WorkerEstimates":
        """Average the skills with those from answers to tasks of known label; the weights of the vote stay the same.

        Args:
            answers: who answered what.
            gold: the known class of each task, -1 where unknown; for blocks their own gold is used.
            centred: whether skills are centred; see `quorate.skills.gold_counts.count_gold`.
            is_model: marks language models; they share mistakes, so only known labels are used if they have any.
        """
        if isinstance(answers, Answers) and gold is None:
            return self
        counts = count_gold(answers, gold, skills=self.skills, centred=centred)
        if counts is None:
            return self
        if is_model is not None:
            counts = replace(counts, weight=np.where(is_model & (counts.weight > 0), 1.0, counts.weight))
        newly_determined = np.isnan(self.skills) & (counts.weight > 0)
        return replace(
            self,
            skills=counts.averaged(self.skills),
            status=np.where(newly_determined, IDENTIFIED, self.status),
            gold_counts=counts,
        )

    def lines(self, choice: IntervalChoice) -> Iterator[str]:
        """Yield lines on the quantiles of the skills, their intervals, and how they were computed."""
        if self.solution is None:
            return
        known = self.skills[~np.isnan(self.skills)]
        if len(known):
            low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
            spread = f"skills: median {middle:.2f}, 80% of them between {low:.2f} and {high:.2f}"
            kind = interval_kind(self.inference, choice.kind)
            yield spread if kind == "none" else f"{spread}; {choice.level:.4g} intervals ({kind})"
        yield f"solver {self.solution}"
        if self.signs is not None and self.signs.contradicted >= 0.005:
            yield f"signs: {self.signs.contradicted:.0%} of the evidence of the pairs contradicts them"
