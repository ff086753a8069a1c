"""Basis of the confidence of the labels (dependence, comparable crowds, gold labels), and the text that states it.

The confidence itself is computed elsewhere: the correlation of errors in `dependence.py`; the posterior tempered by it
in `tempered_scorer.py` (`tempering` is in `voting/posterior.py`); its calibration in `calibration_law.py`; corrections
by gold labels in `gold_correction.py`; the interval of the share of right labels in `share_right.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, runs
from quorate.calibration.dependence import INDEPENDENT
from quorate.calibration.share_right import (
    SHARE_LEVEL,
    ShareEstimate,
    equivalent_checked_labels,
    equivalent_checked_labels_of_gold,
    is_interval_on_side,
)
from quorate.errors import count
from quorate.io.model_names import who_are_models
from quorate.io.proposals import ADVISED_GOLD, MIN_TASKS_ADVISED
from quorate.io.proposals import advised_labels as advised_labels
from quorate.notes import DEPENDENT, FAMILY, JUDGES, UNSUPPORTED, Note, copying_text, expert_command, percent
from quorate.renamed import renamed_attribute
from quorate.statistics import Z_90, wilson_interval
from quorate.voting.vote import SURE

if TYPE_CHECKING:
    from quorate.calibration.gold_correction import GoldCorrected

HIGH_RHO = 0.4  # rho of a typical crowd (dependence.py): if rho_low is at least this, a note warns of shared mistakes
LOW_VOTES_PER_ANSWER = 0.5  # with fewer effective votes per answer, the summary states their number
RANDOM_SHARE_OF_ADVISED = 1 / 3  # random tasks among those that an expert is asked to label (advice/gold_tasks.py)
Z_POWER = 0.8416  # conventional: quantile of the normal distribution for a power of 80 %
# Distance of a limit from the share, in half-widths of the interval, at which it is decided with this power.
DECISION_DISTANCE = (Z_90 + Z_POWER) / Z_90
MAX_NUMBERS_AT_ONCE = 1_000  # of known labels, of which the fewest are searched
MIN_TASKS_ALPHA = 30  # conventional: with fewer tasks an agreement below chance is not reported
LOW_ALPHA = 0.1  # of a panel of models: labels were right 5 % of the way from guessing to perfect in 18 such panels


@dataclass(frozen=True)
class GoldCheck:
    """How often gold tasks were labelled right without their own gold label, and what gold changed."""

    n: int  # number of gold labels, without those that identify workers
    right: float  # number of right labels; a tie counts as a fraction
    low: float  # Wilson interval (95 %) of the share of right labels
    high: float
    stated: float  # mean confidence of the same labels
    swapped: tuple[tuple[str, str], ...]  # pairs of classes that the crowd swaps
    correction_weights: tuple[float, ...]  # see `quorate.calibration.gold_correction.CORRECTIONS`
    gain: float  # in the log-likelihood of all gold labels by the corrections, in nats
    n_sure: int  # number of these labels with a confidence of at least SURE
    right_sure: float  # number of right labels among them; a tie counts as a fraction
    right_alone: float  # number of right labels by the answers alone, without corrections; a tie counts as a fraction
    evidence: float  # number of randomly checked labels with the same information on the labels of the other tasks

    @property
    def accuracy(self) -> float:
        """The share of right labels."""
        return self.right / self.n

    @property
    def line(self) -> str:
        """Sentence that compares the labels with the known ones, separately for high and low confidence.

        Known labels are often those of the least certain tasks, whose labels are right less often than the others, so
        their share of right labels gives no interval for all labels.
        """
        n_below = self.n - self.n_sure
        of_sure = f"{self.right_sure:.0f} of {self.n_sure:,} with at least {SURE:.0%} confidence"
        of_others = f"{self.right - self.right_sure:.0f} of {n_below:,} with less"
        parts = f"{of_sure}, {of_others}"
        if n_below == 0 or self.n_sure == 0:
            parts = f"all with {'less than' if n_below else 'at least'} {SURE:.0%} confidence"
        labels = f"your {count(self.n, 'known label')}" if self.n > 1 else "your known label"
        without = "if each of them is left out in turn" if self.n > 1 else "without it"
        return (
            f"Checked on {labels}: {without}, {self.right:.0f} of {count(self.n, 'label')} "
            f"{'is' if self.n == 1 else 'are'} right ({parts}). The confidence of the other labels was adjusted."
        )


def gold_check(corrected: "GoldCorrected", classes: Sequence[str], other_confidence: FloatArray) -> GoldCheck:
    """Compare the labels of gold tasks, estimated without their own gold label, with this label.

    Args:
        corrected: the corrections by gold labels.
        classes: names of the classes.
        other_confidence: confidence of tasks without gold.
    """
    posterior = corrected.law.calibrated(corrected.out_of_fold)
    right, stated = count_right(posterior, corrected.label)
    n = len(corrected.label)
    low, high = wilson_interval(right, n)
    is_sure = corrected.confidence >= SURE
    right_sure = count_right(posterior[is_sure], corrected.label[is_sure])[0] if is_sure.any() else 0.0
    n_checked = float(n)
    if len(other_confidence):
        n_checked = equivalent_checked_labels_of_gold(other_confidence, corrected.confidence)
    return GoldCheck(
        n=n,
        right=right,
        low=low,
        high=high,
        stated=stated,
        swapped=tuple((classes[one], classes[other]) for one, other in corrected.swaps),
        correction_weights=tuple(float(weight) for weight in corrected.correction_weights),
        gain=corrected.gain,
        n_sure=int(is_sure.sum()),
        right_sure=right_sure,
        right_alone=count_right(corrected.without_gold, corrected.label)[0],
        evidence=n_checked,
    )


@dataclass(frozen=True)
class ConfidenceBasis:
    """The data on which the confidence of the labels is based."""

    dependence: str  # measured, or declared independent
    rho: float  # by which the scores are tempered: correlation of two workers (or of two groups, if there are groups)
    rho_low: float  # lower end of its interval (95 %); 0 if it was not measured
    answers_per_task: float
    effective_votes: float  # per task, by the correlation of errors
    effective_votes_low: float  # interval (90 %)
    effective_votes_high: float
    error_correlation: float = 0.0  # of two workers' errors, given the truth
    error_correlation_low: float = 0.0  # lower end of its interval (90 %)
    one_factor_weight: float | None = None  # one-factor fit; None if it was not measured
    families: tuple[tuple[str, ...], ...] = ()  # groups of several workers
    is_detected: bool = False  # whether the groups were detected in the answers, not given by the user
    known: GoldCheck | None = None
    share_right: ShareEstimate | None = None  # of the tasks without gold: expected share of right labels, with interval
    n_models: int = 0  # number of workers that are models
    n_workers: int = 0
    models_by_name: bool = False  # whether models were recognised by the names of the workers
    alpha: float | None = None  # Krippendorff's alpha
    n_tasks: int = 0
    n_gold: int = 0  # number of tasks with a gold label
    right_alone: float | None = None  # number of gold labels that the answers alone give; a tie counts as a fraction

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, OLD_ATTRIBUTES)

    @property
    def is_all_known(self) -> bool:
        """Whether every task has a known label, so that all labels are known ones."""
        return self.right_alone is not None and self.n_gold >= self.n_tasks > 0

    @property
    def wrong_alone(self) -> float | None:
        """Share of wrong labels by the answers alone, if every task has a known label; otherwise None."""
        return 1 - self.right_alone / self.n_gold if self.right_alone is not None and self.is_all_known else None

    @property
    def is_chance(self) -> bool:
        """Whether people agree less than by chance, so that nothing shows how many labels are right."""
        has_alpha = self.alpha is not None and self.n_tasks >= MIN_TASKS_ALPHA
        return has_alpha and self.n_models == 0 and self.n_gold == 0 and (self.alpha or 0.0) < 0

    @property
    def n_advised(self) -> int:
        """Number of tasks that a summary suggests to label; zero if too few are left."""
        n_left = self.n_tasks - self.n_gold
        if n_left < MIN_TASKS_ADVISED:
            return 0
        return min(advised_labels(self.n_tasks, has_models=self.n_models > 0), n_left)

    @property
    def share_wrong(self) -> ShareEstimate | None:
        """Expected share of wrong labels among all tasks, with its interval; gold labels are right."""
        if self.share_right is None:
            return None
        rest = (self.n_tasks - self.n_gold) / max(self.n_tasks, 1)
        share = self.share_right
        return ShareEstimate(rest * (1 - share.mean), rest * (1 - share.high), rest * (1 - share.low))

    def labels_to_decide(self, max_error: float) -> int | None:
        """Return about how many more known labels would decide a limit, if the share of wrong labels does not change.

        This number decides the limit with probability 80 %: a limit above the expected share would be met, one below it
        would fail. The farther the limit is from the share, the fewer labels are needed. None if more than half of the
        tasks without known label are needed.
        """
        wrong = self.share_wrong
        if wrong is None:
            return None
        return self._fewest_labels(max_error, is_met=wrong.mean <= max_error)

    def labels_to_pass(self, max_error: float) -> int | None:
        """Return about how many more known labels would meet a limit, because known labels correct wrong ones."""
        return self._fewest_labels(max_error, is_met=True)

    def _fewest_labels(self, max_error: float, *, is_met: bool) -> int | None:
        """Return the smallest number of known labels after which the interval lies on one side of a limit, or None.

        Known labels make the interval narrower and also correct wrong labels, which moves it down, so there is no
        simple formula. Numbers are tried in steps of 10 %, and then all numbers in the last step.
        """
        share = self.share_right
        n_open = self.n_tasks - self.n_gold
        if share is None or n_open < 1:
            return None
        checked_by_gold = 0.0 if self.known is None else self.known.evidence
        random_share = 1.0 if self.n_models else RANDOM_SHARE_OF_ADVISED

        def is_decided(n: IntArray) -> BoolArray:
            left = n_open - n
            # Tasks that `quorate advise --expert` chooses because they are uncertain show little about the share.
            n_checked = np.maximum(equivalent_checked_labels(share), checked_by_gold + n * random_share)
            # The share that the labels will show differs from this one by chance, so a wider interval is used.
            excess = 1 - share.mean - max_error * self.n_tasks / left
            return is_interval_on_side(
                share.mean, n_checked, left, share.mean + excess / DECISION_DISTANCE, above=is_met
            )

        steps = [0]
        while steps[-1] < n_open // 2:
            steps.append(min(steps[-1] + max(steps[-1] // 10, 1), n_open // 2))
        deciding = np.flatnonzero(is_decided(np.array(steps[1:], np.int64)))
        if len(deciding) == 0:
            return None
        first = int(deciding[0])
        within_step = np.arange(steps[first] + 1, steps[first + 1] + 1)
        parts = (within_step[part] for part in runs(len(within_step), 1, MAX_NUMBERS_AT_ONCE))
        return next(int(part[is_enough.argmax()]) for part in parts if (is_enough := is_decided(part)).any())

    def lines(self, mean: float, n_tasks: int, below: str) -> list[str]:
        """Return sentences on how many labels are probably wrong, the basis of this, and unusual facts of this crowd.

        Args:
            mean: mean confidence of all labels.
            n_tasks: number of tasks.
            below: text that states how many labels have low confidence.
        """
        wrong = self.share_wrong_of(mean)
        if self.is_chance and self.dependence != INDEPENDENT:
            return []
        lines = [f"About {percent(1 - mean)} of the labels are probably wrong{self._interval(wrong)}; {below}."]
        if self.right_alone is not None and self.is_all_known:
            low, high = wilson_interval(self.right_alone, self.n_gold)
            lines = [
                f"Every task has a known label, so the {count(n_tasks, 'label')} are the known ones.",
                f"By the answers alone, {self.right_alone:,.0f} of {self.n_gold:,} labels are right "
                f"({self.right_alone / self.n_gold:.0%}; 95% interval {low:.0%} to {high:.0%}).",
            ]
        elif self.known is not None:
            lines.append(self.known.line)
        elif self.dependence == INDEPENDENT:
            lines.append("This assumes that workers make mistakes independently, as you declared.")
        else:
            n = self.n_advised
            check = f" To check: {expert_command(n)}" if n else ""
            data = calibration_data(has_models=self.n_models > 0)
            lines.append(f"Calibrated on {data}, not yet on yours.{check}")
        if self.n_models and (self.n_gold or self.dependence == INDEPENDENT):
            lines.append(f"{self._who_are_models()}. The confidence is based on panels of such judges.")
        if self.known is not None and self.known.swapped:
            pairs = ", ".join(f'"{one}" and "{two}"' for one, two in self.known.swapped)
            lines.append(
                f"The known labels show that most workers swap {pairs}. Quorate has corrected the labels of "
                "the other tasks."
            )
        if (
            self.answers_per_task > 1
            and self.rho_low < HIGH_RHO
            and self.effective_votes < LOW_VOTES_PER_ANSWER * self.answers_per_task
        ):
            lines.append(f"Workers probably share mistakes: {self.effective_votes_text()}.")
        return lines

    def share_wrong_of(self, mean: float) -> ShareEstimate | None:
        """Return the share of wrong labels, 1 - mean confidence, with its interval.

        With many tasks the interval is computed from a sample, so it is extended to contain this share if needed.
        """
        share = self.share_wrong
        if share is None:
            return None
        return ShareEstimate(1 - mean, min(share.low, 1 - mean), max(share.high, 1 - mean))

    def _interval(self, wrong: ShareEstimate | None) -> str:
        if wrong is None or self.dependence == INDEPENDENT:
            return ""
        return f" ({SHARE_LEVEL:.0%} interval {percent(wrong.low)} to {percent(wrong.high)})"

    def notes(self) -> tuple[Note, ...]:
        """Return notes if workers are models, errors are correlated, or workers copy."""
        notes = []
        if self.is_chance and self.dependence != INDEPENDENT:
            n = self.n_advised
            remedy = f"Check the question, or label {count(n, 'task')} yourself: {expert_command(n)}" if n else ""
            notes.append(
                Note(
                    UNSUPPORTED,
                    (
                        "Do not use these labels yet. Two workers agree no more often than by chance (Krippendorff's "
                        f"alpha {self.alpha:.2f}), so nothing shows how many labels are right. {remedy}"
                    ).rstrip(),
                )
            )
        if self.n_models and self.n_gold == 0 and self.share_right is not None:
            notes.append(Note(JUDGES, self._judges()))
        elif self.answers_per_task > 1 and self.rho_low >= HIGH_RHO:
            notes.append(Note(DEPENDENT, f"workers share mistakes: {self.effective_votes_text()}"))
        for family in self.families if self.is_detected else ():
            names = ", ".join(family[:5]) + (f" and {len(family) - 5} more" if len(family) > 5 else "")
            notes.append(Note(FAMILY, f"{copying_text(len(family), names)}. Their answers have less weight"))
        return tuple(notes)

    def _who_are_models(self) -> str:
        return who_are_models(self.n_models, self.n_workers, by_name=self.models_by_name)

    def _judges(self) -> str:
        assert self.share_right is not None
        n = min(ADVISED_GOLD, max(self.n_tasks, 1))
        remedy = f"Label {count(n, 'task')} yourself: {expert_command(n)}"
        if self.n_workers == 1:
            return f"All answers are by one LLM judge, so nothing shows how often it is right. {remedy}"
        if self.alpha is not None and self.alpha < LOW_ALPHA:
            return (
                f"Do not use these labels yet. The {self.n_models} judges agree little more often than by "
                f"chance (alpha {self.alpha:.2f}). In 18 such panels, labels were hardly better than guesses. "
                f"{remedy}"
            )
        low = self.share_right.low
        high = self.share_right.high
        return (
            f"{self._who_are_models()}. Judges often share mistakes, so agreement shows little about accuracy: in 9 of "
            f"10 comparable panels, between {low:.0%} and {high:.0%} of the labels were right. {remedy}"
        )

    @property
    def shares_mistakes(self) -> bool:
        """Whether workers share mistakes: the interval of the error correlation lies above zero."""
        return self.error_correlation_low > 0

    def effective_votes_text(self) -> str:
        """Return a text on the number of independent answers with the same information as the answers to a task."""
        low = f"{self.effective_votes_low:.1f}"
        high = f"{self.effective_votes_high:.1f}"
        interval = "" if low == high else f" (90% interval {low} to {high})"
        n_answers = f"{self.answers_per_task:.3g} answers per task"
        return f"{n_answers} are worth about {self.effective_votes:.1f} independent ones{interval}"

    def to_dict(self) -> dict[str, Any]:
        """Return the content for JSON."""
        known = self.known
        share = self.share_right
        return {
            "dependence": self.dependence,
            "rho": self.rho,
            "rho_low": self.rho_low,
            "error_correlation": self.error_correlation,
            "answers_per_task": self.answers_per_task,
            "effective_votes": {
                "mean": self.effective_votes,
                "low": self.effective_votes_low,
                "high": self.effective_votes_high,
            },
            "share_right": None
            if share is None
            else {"mean": share.mean, "low": share.low, "high": share.high, "level": SHARE_LEVEL},
            "models": self.n_models,
            "alpha": self.alpha,
            "families": [list(family) for family in self.families],
            "families_found": self.is_detected,
            "right_without_known_labels": self.right_alone,
            "known_labels": None
            if known is None
            else {
                "n": known.n,
                "right": known.right,
                "accuracy": known.accuracy,
                "low": known.low,
                "high": known.high,
                "stated": known.stated,
                "confident": known.n_sure,
                "right_confident": known.right_sure,
                "right_without_known_labels": known.right_alone,
                "exchanged_classes": [list(pair) for pair in known.swapped],
                "corrections": list(known.correction_weights),
                "gain_nats": known.gain,
            },
        }


# Attributes of version 0.2 -> present names; their use gives a warning for one release.
OLD_ATTRIBUTES = {
    "answers": "answers_per_task",
    "votes": "effective_votes",
    "votes_low": "effective_votes_low",
    "votes_high": "effective_votes_high",
}


# The data on which the constants `PEOPLE` and `MODELS` of calibration_law.py were fitted.
PUBLIC_CROWDS = "26 public datasets"
PUBLIC_PANELS = "47 public panels of language models"


def calibration_data(*, has_models: bool) -> str:
    """Return the name of the public data on which the confidence was calibrated.

    >>> calibration_data(has_models=False)
    '26 public datasets'
    """
    return PUBLIC_PANELS if has_models else PUBLIC_CROWDS


def count_right(posterior: FloatArray, label: IntArray) -> tuple[float, float]:
    """Return the number of right labels of a posterior that was computed without them, and its mean confidence.

    A tie of k classes that contains the right label counts as 1/k.

    >>> count_right(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1]))
    (1.5, 0.7)
    """
    best = posterior.max(axis=1)
    leading = posterior >= best[:, None] * (1 - 1e-9)
    right = leading[np.arange(len(label)), label] / leading.sum(axis=1)
    return float(right.sum()), float(best.mean())
