"""Estimates as they are told: one figure with its interval, all figures of a model, of a part of the tasks."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.evaluation.estimates.meters import Meter, recall_of
from quorate.evaluation.estimates.quantities import Confused, Prevalence, Right, Value
from quorate.methods.predictions import Predictions
from quorate.uncertainty.prediction_powered import Powered

MOST_CLASSES = 20  # for a table of confusion


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


def by_class(answers: Answers, found: list[Estimated]) -> dict[Any, Estimated]:
    """Name figures by the classes that they are of.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> list(by_class(answers, [Estimated(None, None, None, None, None, None)] * 2))
    ['x', 'y']
    """
    return dict(zip(answers.classes.to_pylist(), found, strict=True))


def model_figures(meter: Meter, answers: Answers, model: Predictions) -> ModelFigures:
    """Estimate accuracy, precision and recall of each class, and the table of confusion.

    Args:
        meter: estimates means.
        answers: whose tasks are predicted.
        model: what it predicts.

    >>> import quorate
    >>> from quorate.evaluation.estimates.meters import model_meter
    >>> crowd = quorate.simulate.crowd(200, 8, 4, seed=0)
    >>> found = model_figures(model_meter(crowd.answers, None, 1.96), crowd.answers, Predictions("m", crowd.truth, 0))
    >>> found.n_predicted, len(found.confusion)
    (200, 4)
    """
    names, there, said = answers.classes.to_pylist(), model.is_there, model.label
    precision, recall, confusion = {}, {}, {}
    for c, name in enumerate(names):
        if (said == c).any():
            precision[name] = estimated(meter.means(Right(said), said == c))[0]
        recall[name] = estimated(recall_of(meter, said, c, there))[0]
    if len(names) <= MOST_CLASSES:
        cells = estimated(meter.means(Confused(said, len(names)), there))
        confusion = {
            (true, guess): cells[i * len(names) + j] for i, true in enumerate(names) for j, guess in enumerate(names)
        }
    accuracy = estimated(meter.means(Right(said), there))[0]
    return ModelFigures(model.name, int(there.sum()), accuracy, precision, recall, confusion)


def part_figures(
    meter: Meter,
    answers: Answers,
    models: list[Predictions],
    worth: Value | None,
    code: IntArray,
    values: list[Any],
) -> Iterator[PartFigures]:
    """Estimate the same for parts of the tasks.

    Args:
        meter: estimates means.
        answers: whose tasks they are.
        models: whose accuracy is asked for.
        worth: the number of each class, if a mean is asked for.
        code: the part of each task, -1 for none.
        values: what the parts are called.

    >>> import quorate
    >>> from quorate.evaluation.estimates.meters import model_meter
    >>> answers = quorate.simulate.crowd(200, 8, 4, seed=0).answers
    >>> parts = part_figures(model_meter(answers, None, 1.96), answers, [], None, np.arange(200) % 2, ["even", "odd"])
    >>> [part.n_tasks for part in parts]
    [100, 100]
    """
    for number, value in enumerate(values):
        here: BoolArray = code == number
        if not here.any():
            continue
        yield PartFigures(
            value,
            int(here.sum()),
            int((here & meter.is_known).sum()),
            by_class(answers, estimated(meter.means(Prevalence(answers.n_classes), here))),
            {model.name: estimated(meter.means(Right(model.label), here & model.is_there))[0] for model in models},
            None if worth is None else estimated(meter.means(worth, here))[0],
        )
