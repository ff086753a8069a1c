"""What share, how good: figures over all tasks with intervals, from answers and known labels of some of the tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, Table, from_numpy, from_strings, table_of
from quorate.errors import OptionError, count, listing
from quorate.evaluation.estimates.figures_of import (
    Estimated,
    ModelFigures,
    PartFigures,
    by_class,
    by_label,
    estimated,
    model_figures,
    part_figures,
)
from quorate.evaluation.estimates.known_sample import probabilities, sample_of
from quorate.evaluation.estimates.label_plan import LabelPlan, plan_labels
from quorate.evaluation.estimates.meters import FEWEST, ByKnown, ByModel, model_meter
from quorate.evaluation.estimates.quantities import Better, Prevalence, Value, Wins
from quorate.gold import gold_for, known_classes
from quorate.methods.predictions import read_parts, read_predictions
from quorate.methods.registry import aggregate
from quorate.reading.files import Source
from quorate.reading.options import ReadKeywords
from quorate.reading.pipes import keep_pipes
from quorate.reading.read import Reading, given
from quorate.voting.population import N_CROWDS

POWERED, MODEL = "prediction-powered", "model"
LEVEL = 0.95
CLASSES = "classes"  # as a value: the classes are the numbers
RANDOMLY = "the known labels are a random sample of these tasks"
BY_PROBABILITY = "each known label was drawn with the probability beside it, as `quorate advise --gold` writes it"
ANY_WORKERS = "nothing is assumed of the workers: the posterior has not seen the known labels, and they correct it"
ON_MODEL = (
    f"no random sample of labels is known, so this rests on the model: that these labels are as sure, and their shares "
    f"as far off, as those of {N_CROWDS} public crowds turned out to be (docs/confidence.md)"
)


@dataclass(frozen=True)
class Estimates:
    """Figures over all tasks, each with an interval."""

    answers: Answers
    method: str  # prediction-powered, or model
    level: float
    n_known: int
    n_drawn: int  # of them, those drawn at random
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]  # what was left out
    prevalence: dict[Any, Estimated]  # by class
    mean: Estimated | None  # of the value
    models: tuple[ModelFigures, ...]
    difference: Estimated | None  # of two models' accuracy, the first less the second
    wins: tuple[Estimated, Estimated] | None  # how often only the first is right, and only the second
    by: str | None
    parts: tuple[PartFigures, ...]
    plan: LabelPlan | None

    @property
    def accuracy(self) -> Estimated | None:
        """The accuracy of the first model."""
        return self.models[0].accuracy if self.models else None

    @cached_property
    def table(self) -> Table:
        """One row a figure: what, of whom, label, estimate, low, high, known_only_low, known_only_high."""
        rows = list(self._rows())
        names = ("value", "low", "high", "known_only_low", "known_only_high")
        numbers = {
            name: np.array([np.nan if (v := getattr(row[3], name)) is None else v for row in rows], np.float64)
            for name in names
        }
        columns = {what: from_strings([str(row[k]) for row in rows]) for k, what in enumerate(("what", "of", "label"))}
        titled = {"estimate" if name == "value" else name: each for name, each in numbers.items()}
        return Table(table_of({**columns, **{name: from_numpy(v, mask=np.isnan(v)) for name, v in titled.items()}}))

    def _rows(self) -> Iterator[tuple[str, str, str, Estimated]]:
        yield from (("share", "all tasks", str(label), each) for label, each in self.prevalence.items())
        if self.mean is not None:
            yield "mean value", "all tasks", "", self.mean
        for model in self.models:
            yield "accuracy", model.name, "", model.accuracy
            yield from (("precision", model.name, str(label), each) for label, each in model.precision.items())
            yield from (("recall", model.name, str(label), each) for label, each in model.recall.items())
        if self.difference is not None and self.wins is not None:
            one, two = (model.name for model in self.models)
            yield "accuracy, difference", f"{one} - {two}", "", self.difference
            yield "only it is right", one, "", self.wins[0]
            yield "only it is right", two, "", self.wins[1]
        for part in self.parts:
            of = f"{self.by} {part.value}"
            yield from (("share", of, str(label), each) for label, each in part.prevalence.items())
            yield from (("accuracy", f"{of}, {name}", "", each) for name, each in part.accuracy.items())
            if part.mean is not None:
                yield "mean value", of, "", part.mean

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate estimate --json` prints.

        >>> import quorate
        >>> crowd = quorate.simulate.crowd(100, 8, 4, seed=0)
        >>> sorted(estimate(crowd.answers).to_dict())[:5]
        ['accuracy', 'assumptions', 'by', 'difference', 'level']
        """
        return {
            "method": self.method,
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "level": self.level,
            "n_tasks": self.answers.n_tasks,
            "n_known": self.n_known,
            "n_drawn": self.n_drawn,
            "prevalence": by_label(self.prevalence),
            "mean": None if self.mean is None else self.mean.to_dict("mean"),
            "accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
            "models": [model.to_dict() for model in self.models],
            "difference": None if self.difference is None else self.difference.to_dict("difference"),
            "wins": None if self.wins is None else [each.to_dict() for each in self.wins],
            "by": None if self.by is None else {"column": self.by, "parts": [each.to_dict() for each in self.parts]},
            "plan": None if self.plan is None else self.plan.to_dict(),
        }

    def lines(self) -> list[str]:
        """Say what the figures rest on; `table` has them."""
        known = f"{count(self.n_known, 'known label')} of {count(self.answers.n_tasks, 'task')}"
        drawn = "" if self.n_drawn == self.n_known else f", {self.n_drawn:,} of them drawn at random"
        told = [f"{self.method}: {known}{drawn}; {self.level:.0%} intervals"]
        told += [f"rests on: {each}" for each in self.assumptions]
        if widths := [each.ratio for *_, each in self._rows() if each.ratio is not None]:
            told.append(f"intervals are {np.mean(widths):.2f} times as wide as by the known labels alone")
        if any(each.low is None for *_, each in self._rows()):
            told.append(f"no interval where fewer than {FEWEST} known labels fall; the figure there is the model's")
        return [*told, *self.notes, *([] if self.plan is None else self.plan.lines())]

    def summary(self) -> str:
        """Tell it in a few lines."""
        return "\n".join(self.lines())


@keep_pipes()
def estimate(
    source: Answers | Source,
    *,
    gold: Source = None,
    sampled: str | None = None,
    predictions: Any = None,
    value: Mapping[Any, float] | str | None = None,
    tasks: Source = None,
    by: str | None = None,
    plan: float | None = None,
    method: str = "quorate",
    level: float = LEVEL,
    seed: int = 0,
    **reading: Unpack[ReadKeywords],
) -> Estimates:
    """Estimate shares of classes, a model's accuracy, means of scores over all tasks, with intervals.

    With known labels of a random part of the tasks the intervals hold whatever the workers do: prediction-powered
    inference on the posterior, which has not seen them. Without, they rest on the model, and that is said.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        gold: known labels of some tasks, as in `quorate.aggregate`; a column ``inclusion_probability`` says with what
            probability each was drawn.
        sampled: how they were: ``random``; ``advised``, by `quorate.advise_gold`; ``unknown``. By default advised
            where that column is there, and random where they look so.
        predictions: a model's labels or probabilities: a table with ``task`` and ``label``, or with a column for each
            class; a list of two, or a mapping from names, compares two models.
        value: the number that each class stands for, or ``"classes"`` where they are numbers: its mean is estimated.
        tasks: a table with a column of task ids, for ``by``.
        by: a column of it: the same for each of its values.
        plan: say how many labels make every interval at most ± so wide, and draw them.
        method: whose posterior is used; without known labels it must be the default.
        level: of the intervals.
        seed: of the plan's draw.
        reading: as `quorate.read` takes it.

    Raises:
        OptionError: known labels are too few, or it must be said how they were sampled; an option makes no sense.
        InputError: something cannot be read.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 10, 5, seed=0)
    >>> found = estimate(crowd.answers, gold=crowd.truth_table.slice(0, 50)).prevalence["c1"]
    >>> bool(found.low < (crowd.truth == 1).mean() < found.high)
    True
    """
    if not 0 < level < 1:
        raise OptionError(f"the level of an interval lies between 0 and 1, not at {level:g}")
    if (tasks is None) != (by is None):
        raise OptionError("a table of tasks and one of its columns go together: tasks= and by= (--tasks, --by)")
    read = given(source, reading)
    answers, (task, _, label) = read.answers, read.options.columns
    meter, sampling = _meter(read, gold, sampled, method, level)
    worth = None if value is None else Value(_values(value, answers))
    models = [] if predictions is None else read_predictions(predictions, answers, task, label)
    parts = (
        [] if by is None else list(part_figures(meter, answers, models, worth, *read_parts(tasks, by, answers, task)))
    )
    pair = [model.label for model in models]
    both = models[0].is_there & models[1].is_there if len(models) == 2 else None
    wins = None if both is None else estimated(meter.means(Wins(*pair), both))
    shares = Prevalence(answers.n_classes)
    return Estimates(
        answers=answers,
        method=MODEL if isinstance(meter, ByModel) else POWERED,
        level=level,
        n_known=sampling.n_known,
        n_drawn=meter.sample.n_drawn if isinstance(meter, ByKnown) else 0,
        assumptions=sampling.assumptions,
        notes=tuple(note for model in models for note in model.notes()),
        prevalence=by_class(answers, estimated(meter.means(shares))),
        mean=None if worth is None else estimated(meter.means(worth))[0],
        models=tuple(model_figures(meter, answers, model) for model in models),
        difference=None if both is None else estimated(meter.means(Better(*pair), both))[0],
        wins=None if wins is None else (wins[0], wins[1]),
        by=by,
        parts=tuple(parts),
        plan=None if plan is None else plan_labels(answers, meter, shares, plan, seed=seed),
    )


@dataclass(frozen=True)
class _Sampling:
    n_known: int
    assumptions: tuple[str, ...]


def _meter(
    read: Reading, gold: Source, sampled: str | None, method: str, level: float
) -> tuple[ByKnown | ByModel, _Sampling]:
    """Choose how to estimate: by known labels of a random sample where there are any, else by the model."""
    from scipy.special import ndtri

    answers, z = read.answers, float(ndtri((1 + level) / 2))
    known = known_classes(gold_for(read, gold), answers)
    if known is not None and (known >= 0).any():
        result = aggregate(answers, method, intervals="none")
        probability = None if gold is None else probabilities(gold, answers, read.options.columns[0])
        sample = sample_of(answers, known, result.ballot.confidence, sampled, probability)
        if sample is not None:
            drawn = BY_PROBABILITY if (sample.probability != sample.probability[0]).any() else RANDOMLY
            meter = ByKnown(result.ballot.posterior, known[sample.rows], sample, z)
            return meter, _Sampling(len(sample.rows), (drawn, ANY_WORKERS))
    if method != "quorate":
        raise OptionError(f"without a random sample of known labels only the default method can speak, not {method!r}")
    n = 0 if known is None else int((known >= 0).sum())
    return model_meter(answers, known, z), _Sampling(n, (ON_MODEL,))


def _values(value: Mapping[Any, float] | str, answers: Answers) -> FloatArray:
    """Return the number of each class."""
    names = answers.classes.to_pylist()
    worth = {str(name): name for name in names} if value == CLASSES else value
    if isinstance(worth, str):
        raise OptionError(f"value= maps every class to a number, or is {CLASSES!r} where they are numbers")
    worth = {str(name): number for name, number in worth.items()}
    missing = [name for name in names if str(name) not in worth]
    if missing:
        raise OptionError(f"no value is given for {listing(missing)}; give one for every class (--value a=1,b=0)")
    try:
        numbers = np.array([float(worth[str(name)]) for name in names])
    except (TypeError, ValueError):
        raise OptionError(f"the values of the classes {listing(names)} must be numbers (--value a=1,b=0)") from None
    if not np.isfinite(numbers).all():
        raise OptionError("the values of the classes must be finite numbers")
    return numbers
