"""Estimators of means over all tasks: from known labels and the posterior, or from the model alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.memory import blocks_of
from quorate.calibration.calibration_law import TEMPERATURES, CalibrationLaw
from quorate.estimation.estimands import Estimand, RecallTest
from quorate.estimation.prediction_powered import KnownSample, MeanEstimates, ppi_mean
from quorate.methods.fit_blocks import fit_blocks
from quorate.methods.quorate import Prediction
from quorate.models.confusion import check_size
from quorate.notes import JUDGES, warning_line
from quorate.voting.posterior import FLOOR, clamp_gold, softmax

MIN_KNOWN_LABELS = 5  # known labels drawn at random that an interval needs
# Bias of class shares that the calibration does not explain, divided by the share of tasks that may have a wrong label.
# With this value the intervals contain 95 % of the class shares of 26 public crowds, each estimated with the value from
# the other crowds. `python -m experiments.runner estimates` prints both.
SHARE_BIAS = 0.6
MAX_STORED_ENTRIES = 20_000_000  # of the posteriors by beta, 160 MB; larger ones are computed again at each use
N_RECALL_VALUES = 501  # number of values of a recall that are tested


class MeanEstimator(Protocol):
    """Estimates means over tasks."""

    @property
    def posterior(self) -> FloatArray:
        """The posterior of each task, tasks × classes: the guess."""

    @property
    def z(self) -> float:
        """The quantile of the normal distribution for the intervals."""

    @property
    def is_known(self) -> BoolArray:
        """Which tasks have a known label."""

    def means(self, quantity: Estimand, within: BoolArray | None = None) -> MeanEstimates:
        """Estimate the rows of a quantity over all tasks, or over those in ``within``; NaN where not stated."""


@dataclass(frozen=True)
class ByKnown:
    """Known labels of a random sample, with the posterior of every task, computed without them, as the guess."""

    posterior: FloatArray
    true: IntArray  # classes of the sample's tasks
    sample: KnownSample
    z: float

    @cached_property
    def is_known(self) -> BoolArray:
        """Which tasks have a known label."""
        is_known = np.zeros(len(self.posterior), dtype=bool)
        is_known[self.sample.rows] = True
        return is_known

    def means(self, quantity: Estimand, within: BoolArray | None = None) -> MeanEstimates:
        """Estimate by prediction-powered inference."""
        guess = quantity.expected(self.posterior)
        y = quantity.at(self.sample.rows, self.true)
        sample = self.sample
        if within is not None:
            guess = guess[:, within]
            y = y[:, within[sample.rows]]
            sample = sample.within(within)
        if len(sample.rows) == sample.n_tasks > 0:  # every label is known: both ends are the mean
            mean = y.mean(axis=1)
            return MeanEstimates(mean, mean, mean, mean, mean, np.zeros(len(mean)))
        if sample.n_drawn < MIN_KNOWN_LABELS and sample.n_drawn < (~sample.is_chosen).sum():  # no interval is stated
            unknown = np.full(len(guess), np.nan)
            mean_guess = guess.mean(axis=1) if guess.shape[1] else unknown
            return MeanEstimates(mean_guess, unknown, unknown, unknown, unknown, unknown)
        return ppi_mean(
            y, guess, sample, lowest=quantity.lowest, highest=quantity.highest, z=self.z, is_count=quantity.is_count
        )


@dataclass(frozen=True)
class ByModel:
    """The posterior alone; the errors of confidence and of class shares are those of public crowds."""

    raw_posterior: FloatArray  # before calibration
    law: CalibrationLaw
    known: IntArray  # known classes, -1 elsewhere; not from a random sample
    z: float
    has_models: bool = False  # whether workers are language models, whose calibration law is that of judge panels
    warnings: tuple[str, ...] = ()  # of language models without known labels

    @property
    def is_known(self) -> BoolArray:
        """Which tasks have a known label."""
        return self.known >= 0

    @cached_property
    def posterior(self) -> FloatArray:
        """The raw posterior, averaged over calibrations."""
        return clamp_gold(self.law.calibrated(self.raw_posterior), self.known)

    @cached_property
    def calibrated_by(self) -> Iterable[FloatArray]:
        """The raw posterior tempered with each beta, without the validity, which is applied later; stored if small."""
        posteriors = _ByBeta(self.raw_posterior, self.known)
        return list(posteriors) if len(TEMPERATURES) * self.raw_posterior.size <= MAX_STORED_ENTRIES else posteriors

    def means(self, quantity: Estimand, within: BoolArray | None = None) -> MeanEstimates:
        """Estimate by the posterior; the interval includes the errors of calibration, chance, and a bias of shares."""
        parts = self.parts(quantity, within)
        half = self.z * np.sqrt(parts.variance + (SHARE_BIAS * parts.label_gap) ** 2)
        low = np.maximum(parts.value - half, quantity.lowest)
        high = np.minimum(parts.value + half, quantity.highest)
        unknown = np.full(len(half), np.nan)
        return MeanEstimates(parts.value, low, high, unknown, unknown, unknown)

    def parts(self, quantity: Estimand, within: BoolArray | None = None) -> "ModelParts":
        """Return the estimate by the posterior, its variance, and the bound of its bias."""
        tasks = slice(None) if within is None else within
        guess = quantity.expected(self.posterior)[:, tasks]
        uniform = np.full_like(self.raw_posterior, 1 / self.raw_posterior.shape[1])
        by_uniform = quantity.expected(uniform)[:, tasks].mean(axis=1)
        by_beta = np.stack(
            [quantity.expected(posterior)[:, tasks].mean(axis=1) for posterior in self.calibrated_by], axis=1
        )
        # v·by_beta + (1-v)·by_uniform for every calibration, and the variance over calibrations by their weights.
        calibrated = by_beta[:, :, None] * self.law.validity + by_uniform[:, None, None] * (1 - self.law.validity)
        middle = (calibrated * self.law.weights).sum(axis=(1, 2))
        between = ((calibrated - middle[:, None, None]) ** 2 * self.law.weights).sum(axis=(1, 2))
        lowest, highest = (np.reshape(end, (-1, 1)) for end in (quantity.lowest, quantity.highest))
        chance = ((guess - lowest) * (highest - guess)).sum(axis=1) / max(guess.shape[1], 1) ** 2
        labels = self.posterior.argmax(axis=1)
        label_gap = np.abs(quantity.at(np.arange(len(labels)), labels)[:, tasks] - guess).mean(axis=1)
        return ModelParts(guess.mean(axis=1), between + chance, label_gap)


@dataclass(frozen=True)
class Undecided:
    """Answers that support no estimate, without a random sample of known labels."""

    known: IntArray  # known classes, -1 elsewhere
    n_classes: int
    z: float

    @property
    def is_known(self) -> BoolArray:
        """Which tasks have a known label."""
        return self.known >= 0

    @cached_property
    def posterior(self) -> FloatArray:
        """Equal probabilities of all classes: a plan of labels then assumes the largest variance."""
        return np.full((len(self.known), self.n_classes), 1 / self.n_classes)

    def means(self, quantity: Estimand, within: BoolArray | None = None) -> MeanEstimates:
        """Return NaN for every figure."""
        unknown = np.full(len(quantity.expected(self.posterior)), np.nan)
        return MeanEstimates(unknown, unknown, unknown, unknown, unknown, unknown)


@dataclass(frozen=True)
class _ByBeta:
    """The posterior tempered with each beta, computed again at each iteration because it is too large to store."""

    raw_posterior: FloatArray
    known: IntArray

    def __iter__(self) -> Iterator[FloatArray]:
        logs = np.log(np.maximum(self.raw_posterior, FLOOR))
        return (clamp_gold(softmax(beta * logs), self.known) for beta in TEMPERATURES)


@dataclass(frozen=True)
class ByEither(ByKnown):
    """Known labels and answers that contradict each other: each interval contains the intervals of both estimates.

    Either the known labels are not a random sample, or the workers share more mistakes than the model assumes. In both
    cases one of the two intervals is valid, so the coverage of the union is at least as large.
    """

    model: ByModel

    def means(self, quantity: Estimand, within: BoolArray | None = None) -> MeanEstimates:
        """Estimate by the known labels; the interval contains that of the known labels and that of the model."""
        by_known = super().means(quantity, within)
        if within is not None and self.is_known[within].all():
            return by_known
        by_model = self.model.means(quantity, within)
        low = np.fmin(by_known.low, by_model.low)
        high = np.fmax(by_known.high, by_model.high)
        return replace(by_known, low=low, high=high)


@dataclass(frozen=True)
class ModelParts:
    """Parts of an estimate by the model; one entry per row of the quantity."""

    value: FloatArray
    variance: FloatArray  # over calibrations, plus that of chance
    label_gap: FloatArray  # mean over tasks of |value of the label - expected value|


def model_estimator(answers: Answers, known: IntArray | None, z: float, *, learns: bool = True) -> ByModel:
    """Fit the default method and return the estimator with its posterior of every task and the known labels.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown; None for none.
        z: the quantile of the normal distribution.
        learns: whether the known labels are used in the fit; otherwise they are used for their own tasks only.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(200, 8, 4, seed=0)
    >>> model_estimator(crowd.answers, None, 1.96).posterior.shape
    (200, 2)
    """
    check_size(answers, "quorate", matrices=False)
    if known is None:
        known = np.full(answers.n_tasks, -1)
    has_gold = bool((known >= 0).any())
    blocks = blocks_of(answers, known if has_gold and learns else None)
    fitted = fit_blocks(blocks, "quorate", answers)
    prediction = fitted.vote
    assert isinstance(prediction, Prediction)
    raw_posterior = np.concatenate(list(blocks.map(prediction.uncalibrated)))
    has_models = fitted.basis is not None and fitted.basis.n_models > 0
    notes = () if fitted.basis is None else fitted.basis.notes()
    warnings = tuple(warning_line(note) for note in notes if note.kind == JUDGES)
    return ByModel(raw_posterior, prediction.law, known, z, has_models, warnings)


def recall_of(estimator: MeanEstimator, predicted: IntArray, of_class: int, within: BoolArray | None) -> MeanEstimates:
    """Estimate a model's recall of a class; the interval contains every recall that a test does not reject.

    Args:
        estimator: of means.
        predicted: the model's class for every task.
        of_class: the class.
        within: the tasks that are included; None for all.

    >>> posterior, true = np.tile([[0.9, 0.1], [0.1, 0.9]], (50, 1)), np.tile([0, 1], 50)
    >>> estimator = ByKnown(posterior, true[:30], KnownSample.random(np.arange(30), 100), 1.96)
    >>> result = recall_of(estimator, true, 1, None)
    >>> float(result.high[0]), bool(result.low[0] > 0.7)
    (1.0, True)
    """
    shares = np.linspace(0.0, 1.0, N_RECALL_VALUES)
    tested = estimator.means(RecallTest(predicted, of_class, shares), within)
    best = np.nan
    if np.isfinite(tested.value).all():
        best = shares[np.argmin(np.abs(tested.value))]
    low, high = _not_rejected(shares, tested.low, tested.high)
    known_low, known_high = _not_rejected(shares, tested.known_low, tested.known_high)
    power = float(np.mean(tested.power))
    return MeanEstimates(*(np.array([value]) for value in (best, low, high, known_low, known_high, power)))


def _not_rejected(shares: FloatArray, low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest share whose interval includes zero; NaN if none does."""
    not_rejected = shares[(low <= 0) & (high >= 0)]
    if len(not_rejected) == 0:
        return np.nan, np.nan
    return float(not_rejected.min()), float(not_rejected.max())
