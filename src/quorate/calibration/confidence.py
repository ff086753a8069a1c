"""What the confidence of the labels rests on: dependence, comparable crowds, gold labels; and how it is stated."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.calibration.calibration_law import GOLD_WORTH, LEVEL, Z_90, ShareRight
from quorate.calibration.dependence import INDEPENDENT, Z_95
from quorate.calibration.gold_correction import GoldCorrected, names_of_swaps
from quorate.errors import count
from quorate.notes import DEPENDENT, FAMILY, JUDGES, Note, copying_text, expert_command, percent

HIGH_RHO = 0.4  # above which a reader is warned: more than in a typical crowd (calibration/dependence.py)
LOW_EFFECTIVE = 0.5  # independent votes per answer, below which the summary states how many they are
ADVISED_GOLD = 30  # gold labels that a summary suggests
MIN_TASKS_ADVISED = 10  # tasks: with fewer, gold labels show next to nothing (10 of 10 right: .72 and more)
LOW_ALPHA = 0.1  # of a panel of models: labels were right 5 % of the way from guessing to perfect in 18 such panels


@dataclass(frozen=True)
class GoldCheck:
    """How often gold tasks were labelled right without their own gold label, and what gold changed."""

    n: int  # gold labels; those that identify workers are not among them
    right: float  # ties split
    low: float  # Wilson interval (95 %) of the share
    high: float
    stated: float  # mean confidence of the same labels
    swapped: tuple[tuple[str, str], ...]  # classes that the crowd exchanges
    correction_weights: tuple[float, ...]  # see `quorate.calibration.gold_correction.CORRECTIONS`
    gain: float  # nats by which gold labels are likelier than without correction

    @property
    def accuracy(self) -> float:
        """The share of right labels."""
        return self.right / self.n


def gold_check(corrected: GoldCorrected, classes: Sequence[str]) -> GoldCheck:
    """Compare the labels of gold tasks, found without their own gold label, with that label."""
    right, stated = count_right(corrected.law.calibrated(corrected.out_of_fold), corrected.label)
    n = len(corrected.label)
    low, high = wilson(right, n)
    swapped = names_of_swaps(corrected.swaps, classes)
    weights = tuple(float(w) for w in corrected.correction_weights)
    return GoldCheck(n, right, low, high, stated, swapped, weights, corrected.gain)


@dataclass(frozen=True)
class ConfidenceBasis:
    """What the confidence of the labels rests on."""

    dependence: str  # measured, or declared independent
    rho: float  # intraclass correlation of two workers' errors (of two groups', where there are any)
    rho_low: float  # lower end of its interval (95 %); 0 where nothing was measured
    answers: float  # per task
    votes: float  # independent votes that they are worth, per task
    votes_low: float  # interval (95 %)
    votes_high: float
    one_factor_weight: float | None = None  # one-factor fit; None where it was not measured
    families: tuple[tuple[str, ...], ...] = ()  # groups of several workers
    found: bool = False  # whether the groups were found in the answers, rather than given
    known: GoldCheck | None = None
    share_right: ShareRight | None = None  # of the tasks without gold: expected share of right labels, with interval
    n_models: int = 0  # workers that are models
    n_workers: int = 0
    models_by_name: bool = False  # whether the names of the workers decided that they are models
    alpha: float | None = None  # Krippendorff's alpha of a panel of models
    n_tasks: int = 0
    n_gold: int = 0  # tasks with a gold label

    @property
    def share_wrong(self) -> ShareRight | None:
        """Expected share of wrong labels among all tasks, with its interval; gold labels are right."""
        if self.share_right is None:
            return None
        rest = (self.n_tasks - self.n_gold) / max(self.n_tasks, 1)
        share = self.share_right
        return ShareRight(rest * (1 - share.mean), rest * (1 - share.high), rest * (1 - share.low))

    def labels_to_decide(self, max_error: float) -> int | None:
        """Return about how many known labels, drawn at random, would decide a limit; None if more than there are tasks.

        The number at which the interval of a share that stays as expected ends at the limit.
        """
        wrong = self.share_wrong
        if wrong is None:
            return None
        distance = abs(wrong.mean - max_error)
        if distance == 0:
            return None
        n = math.ceil(Z_90**2 * wrong.mean * (1 - wrong.mean) / (GOLD_WORTH * distance**2))
        n = max(n, ADVISED_GOLD)
        return n if n < self.n_tasks else None

    def lines(self, mean: float, n_tasks: int, below: str) -> list[str]:
        """Say how many labels are probably wrong, what that rests on, and what is unusual about this crowd.

        Args:
            mean: confidence of all labels.
            n_tasks: of the answers.
            below: how many labels are below the usual confidence, in words.
        """
        lines = [f"About {percent(1 - mean)} of the labels are probably wrong{self._interval()}; {below}."]
        if self.known is not None:
            known = self.known
            right = f"{known.right:.0f}"
            are = "is" if right == "1" else "are"
            lines.append(
                f"Checked on your {known.n:,} known label{'s' * (known.n != 1)}: {right} {are} right "
                f"({known.accuracy:.0%}; 95% interval {known.low:.0%} to {known.high:.0%}). The confidence of the "
                "other labels was adjusted."
            )
        elif self.dependence == INDEPENDENT:
            lines.append("This assumes that workers make mistakes independently, as you declared.")
        else:
            where = "panels of language models" if self.n_models else "public datasets"
            n = advised_labels(n_tasks)
            check = f" To check: {expert_command(n)}" if n else ""
            lines.append(f"Calibrated on comparable {where}, not yet on your data.{check}")
        if self.n_models and (self.known is not None or self.dependence == INDEPENDENT):
            lines.append(f"{self._who_are_models()}.")
        if self.known is not None and self.known.swapped:
            pairs = ", ".join(f'"{one}" and "{two}"' for one, two in self.known.swapped)
            lines.append(f"The known labels show that these workers exchange {pairs}; their labels were swapped back.")
        if self.answers > 1 and self.votes < LOW_EFFECTIVE * self.answers and self.rho_low < HIGH_RHO:
            lines.append(f"Workers share mistakes: {self._effective_votes()}.")
        return lines

    def _interval(self) -> str:
        wrong = self.share_wrong
        if wrong is None or self.dependence == INDEPENDENT:
            return ""
        return f" ({LEVEL:.0%} interval {percent(wrong.low)} to {percent(wrong.high)})"

    def notes(self) -> tuple[Note, ...]:
        """Warn where workers are models, errors are correlated, or workers copy."""
        notes = []
        if self.n_models and self.known is None and self.share_right is not None:
            notes.append(Note(JUDGES, self._judges()))
        elif self.answers > 1 and self.rho_low >= HIGH_RHO:
            notes.append(Note(DEPENDENT, f"workers share mistakes: {self._effective_votes()}"))
        for family in self.families if self.found else ():
            names = ", ".join(family[:5]) + (f" and {len(family) - 5} more" if len(family) > 5 else "")
            notes.append(Note(FAMILY, f"{copying_text(len(family), names)}. Their answers count for less"))
        return tuple(notes)

    def _who_are_models(self) -> str:
        """State the decision that workers are models, and how to change it."""
        these = f"These {self.n_workers}" if self.n_models == self.n_workers else f"{self.n_models} of {self.n_workers}"
        if self.models_by_name:
            return f"{these} workers look like LLM judges, by their names (use --no-judges if they are people)"
        return f"{these} workers are LLM judges"

    def _judges(self) -> str:
        assert self.share_right is not None
        n = min(ADVISED_GOLD, max(self.n_tasks, 1))
        remedy = f"Label {count(n, 'task')} yourself, then estimate: {expert_command(n)}"
        if self.alpha is not None and self.alpha < LOW_ALPHA:
            return (
                f"Do not use these labels yet. The {self.n_models} judges agree little more than chance (alpha "
                f"{self.alpha:.2f}). In 18 such panels, labels were hardly better than guesses. {remedy}"
            )
        low = self.share_right.low
        high = self.share_right.high
        return (
            f"{self._who_are_models()}. Judges often share mistakes, so agreement shows little about accuracy: in 9 of "
            f"10 panels like this one, {low:.0%} to {high:.0%} of the labels are right. {remedy}"
        )

    def _effective_votes(self) -> str:
        return (
            f"{self.answers:.3g} answers per task are worth about {self.votes:.1f} independent ones (95% interval "
            f"{self.votes_low:.1f} to {self.votes_high:.1f})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        known = self.known
        share = self.share_right
        return {
            "dependence": self.dependence,
            "rho": self.rho,
            "rho_low": self.rho_low,
            "answers_per_task": self.answers,
            "effective_votes": {"mean": self.votes, "low": self.votes_low, "high": self.votes_high},
            "share_right": None
            if share is None
            else {"mean": share.mean, "low": share.low, "high": share.high, "level": LEVEL},
            "models": self.n_models,
            "alpha": self.alpha,
            "families": [list(family) for family in self.families],
            "families_found": self.found,
            "known_labels": None
            if known is None
            else {
                "n": known.n,
                "right": known.right,
                "accuracy": known.accuracy,
                "low": known.low,
                "high": known.high,
                "stated": known.stated,
                "exchanged_classes": [list(pair) for pair in known.swapped],
                "corrections": list(known.correction_weights),
                "gain_nats": known.gain,
            },
        }


def advised_labels(n_tasks: int) -> int:
    """Return how many tasks a summary suggests to label: a tenth, between 10 and 30; none where there are few tasks.

    >>> advised_labels(400), advised_labels(46), advised_labels(3)
    (30, 10, 0)
    """
    if n_tasks < MIN_TASKS_ADVISED:
        return 0
    return min(max(n_tasks // 10, MIN_TASKS_ADVISED), ADVISED_GOLD)


def wilson(right: float, n: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's interval for a proportion; 95 % by default.

    >>> tuple(round(end, 2) for end in wilson(26, 30))
    (0.7, 0.95)
    """
    proportion = right / n
    middle = (proportion + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(proportion * (1 - proportion) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))


def count_right(posterior: FloatArray, label: IntArray) -> tuple[float, float]:
    """Return how many labels a posterior that has not seen them gets right, ties split, and its mean confidence.

    >>> count_right(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1]))
    (1.5, 0.7)
    """
    best = posterior.max(axis=1)
    leading = posterior >= best[:, None] * (1 - 1e-9)
    right = leading[np.arange(len(label)), label] / leading.sum(axis=1)
    return float(right.sum()), float(best.mean())
