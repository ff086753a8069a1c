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
from quorate.errors import listing
from quorate.notes import DEPENDENT, FAMILY, JUDGES, Note

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

    def line(self, mean: float, n_tasks: int) -> str:
        """Say in one line how sure the labels of so many tasks are, and what that rests on."""
        text = f"confidence: mean {mean:.2f}"
        wrong = self.share_wrong
        if wrong is not None:
            low = 1 - wrong.high
            high = 1 - wrong.low
            text += f"; between {low:.0%} and {high:.0%} of the labels are expected to be right"
        if self.known is not None:
            plural = "s" * (self.known.n != 1)
            return f"{text}, checked on {self.known.n:,} known label{plural}: {self.known.right:.0f} right"
        if self.dependence == INDEPENDENT:
            return f"confidence: mean {mean:.2f}, if workers err independently, as you declared"
        where = "panels of models" if self.n_models else "comparable crowds"
        n = advised_labels(n_tasks)
        command = f"; label {n} tasks yourself to narrow this (`quorate advise --expert {n}`)" if n else ""
        return f"{text} (in {LEVEL:.0%} of {where}){command}"

    def lines(self, mean: float, n_tasks: int) -> list[str]:
        """Say how sure the labels are, and what is unusual about this crowd."""
        lines = [self.line(mean, n_tasks)]
        if self.n_models and (self.known is not None or self.dependence == INDEPENDENT):
            lines.append(f"judges: {self._who_are_models()}")
        if self.known is not None and self.known.swapped:
            pairs = ", ".join(f"{one!r} and {two!r}" for one, two in self.known.swapped)
            lines.append(f"known labels: the crowd exchanges {pairs}; its labels were swapped back")
        if self.answers > 1 and self.votes < LOW_EFFECTIVE * self.answers and self.rho_low < HIGH_RHO:
            lines.append(f"votes: {self._effective_votes()}")
        return lines

    def notes(self) -> tuple[Note, ...]:
        """Warn where workers are models, errors are correlated, or workers copy."""
        notes = []
        if self.n_models and self.known is None and self.share_right is not None:
            notes.append(Note(JUDGES, self._judges()))
        elif self.answers > 1 and self.rho_low >= HIGH_RHO:
            correlated = f"workers' errors are correlated: {self._effective_votes()}"
            text = f"{correlated}; asking the same workers more adds little"
            notes.append(Note(DEPENDENT, text))
        for family in self.families if self.found else ():
            text = (
                f"{len(family)} workers repeat each other beyond what they know, and count for less: {listing(family)}"
            )
            notes.append(Note(FAMILY, text))
        return tuple(notes)

    def _who_are_models(self) -> str:
        """State the decision that workers are models, and how to change it."""
        all_of = f"the {self.n_workers}" if self.n_models == self.n_workers else f"{self.n_models} of {self.n_workers}"
        if self.models_by_name:
            return f"{all_of} workers are taken for language models, by their names (--no-judges if they are people)"
        return f"{all_of} workers are language models"

    def _judges(self) -> str:
        assert self.share_right is not None
        if self.alpha is not None and self.alpha < LOW_ALPHA:
            return (
                f"the {self.n_models} judges agree little more than by chance (alpha {self.alpha:.2f}). In 18 such "
                "panels, labels were right 5% of the way from guessing to perfect. Do not use these labels unchecked"
            )
        low = self.share_right.low
        high = self.share_right.high
        return (
            f"{self._who_are_models()}. Models share mistakes, so their agreement shows little about how often they "
            f"are right: in 9 of 10 panels like this one, between {low:.0%} and {high:.0%} of the labels. Label "
            f"{ADVISED_GOLD} tasks yourself: quorate advise FILE --expert {ADVISED_GOLD}"
        )

    def _effective_votes(self) -> str:
        return (
            f"{self.answers:.3g} answers per task carry the information of about {self.votes:.1f} independent ones "
            f"({self.votes_low:.1f} to {self.votes_high:.1f})"
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
    """Return how many tasks a summary suggests to label: no more than there are, and none where those are few.

    >>> advised_labels(400), advised_labels(12), advised_labels(3)
    (30, 12, 0)
    """
    return min(ADVISED_GOLD, n_tasks) if n_tasks >= MIN_TASKS_ADVISED else 0


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
