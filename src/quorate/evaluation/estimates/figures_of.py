"""Estimates as they are told: one figure with its interval, all figures of a model, of a part of the tasks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quorate.uncertainty.prediction_powered import Powered


@dataclass(frozen=True)
class Estimated:
    """A mean over tasks with its interval, and the interval from the known labels alone; None where not stated."""

    value: float | None
    low: float | None
    high: float | None
    known_only_low: float | None
    known_only_high: float | None
    power: float | None  # how much of the posterior was used, from 0 to 1

    def to_dict(self, name: str = "share") -> dict[str, float | None]:
        """Return it as JSON has it, the value under this name."""
        return {
            name: self.value,
            "low": self.low,
            "high": self.high,
            "known_only_low": self.known_only_low,
            "known_only_high": self.known_only_high,
            "power": self.power,
        }

    @property
    def ratio(self) -> float | None:
        """How wide the interval is, as a share of the one from the known labels alone."""
        if self.low is None or self.high is None or self.known_only_low is None or self.known_only_high is None:
            return None
        alone = self.known_only_high - self.known_only_low
        return (self.high - self.low) / alone if alone > 0 else None


def estimated(found: Powered) -> list[Estimated]:
    """Turn rows into figures.

    >>> one = np.array([0.5])
    >>> estimated(Powered(one, one, one, np.array([np.nan]), one, one))[0].known_only_low is None
    True
    """
    columns = (found.value, found.low, found.high, found.known_low, found.known_high, found.power)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Estimated(*(None if np.isnan(each) else each for each in row)) for row in rows]


@dataclass(frozen=True)
class ModelFigures:
    """How good a model's predictions are."""

    name: str
    n_predicted: int  # tasks with a prediction
    accuracy: Estimated
    precision: dict[Any, Estimated] = field(default_factory=dict)  # by class
    recall: dict[Any, Estimated] = field(default_factory=dict)
    confusion: dict[tuple[Any, Any], Estimated] = field(default_factory=dict)  # by true class and prediction

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        cells = [{"label": true, "predicted": said, **each.to_dict()} for (true, said), each in self.confusion.items()]
        return {
            "model": self.name,
            "n_predicted": self.n_predicted,
            "accuracy": self.accuracy.to_dict(),
            "precision": by_label(self.precision),
            "recall": by_label(self.recall),
            "confusion": cells,
        }


@dataclass(frozen=True)
class PartFigures:
    """The same of the tasks that a column of the table of tasks parts from the others."""

    value: Any  # of the column
    n_tasks: int
    n_known: int
    prevalence: dict[Any, Estimated]
    accuracy: dict[str, Estimated]  # by model
    mean: Estimated | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "value": self.value,
            "n_tasks": self.n_tasks,
            "n_known": self.n_known,
            "prevalence": by_label(self.prevalence),
            "accuracy": [{"model": name, **each.to_dict()} for name, each in self.accuracy.items()],
            "mean": None if self.mean is None else self.mean.to_dict("mean"),
        }


def by_label(found: dict[Any, Estimated]) -> list[dict[str, Any]]:
    """List figures of classes.

    >>> by_label({"x": Estimated(0.5, 0.4, 0.6, None, None, None)})[0]["label"]
    'x'
    """
    return [{"label": label, **each.to_dict()} for label, each in found.items()]
