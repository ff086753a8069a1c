"""estimate(): shares of classes, means and accuracy over all tasks with intervals, and differences between systems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Unpack

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of
from quorate.calibration.confidence import PUBLIC_CROWDS, PUBLIC_PANELS, advised_labels
from quorate.errors import OptionError, check_level, count, for_shell, in_python, listing, shown, unknown_name_error
from quorate.estimation.differences import Difference, difference_lines, differences
from quorate.estimation.estimands import Better, Confused, Prevalence, Right, Value, Wins
from quorate.estimation.means import (
    MIN_KNOWN_LABELS,
    ByEither,
    ByKnown,
    ByModel,
    MeanEstimator,
    Undecided,
    model_estimator,
    recall_of,
)
from quorate.estimation.prediction_powered import KnownSample, MeanEstimates
from quorate.estimation.sampling import (
    RANDOM,
    SAMPLED,
    LabelPlan,
    SamplingName,
    plan_labels,
    probabilities,
    sampling_of,
)
from quorate.io.arguments import check_arguments
from quorate.io.gold import gold_for, known_classes, known_label_columns, one_table
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.predictions import Predictions, read_predictions
from quorate.io.read import Reading, as_reading
from quorate.io.read_table import ModelSources, Source
from quorate.io.systems import system_columns
from quorate.methods.aggregate import aggregate
from quorate.methods.support import missing_evidence
from quorate.notes import expert_command, without_repeated_advice

MAX_CONFUSION_CLASSES = 20  # largest number of classes for a confusion table


@dataclass(frozen=True)
class Estimated:
    """A mean over tasks with its interval, and the interval from the known labels alone; None where not stated."""

    value: float | None
    low: float | None
    high: float | None
    known_only_low: float | None
    known_only_high: float | None
    power: float | None  # factor of the posterior's guess, from 0 (known labels alone) to 1

    def to_dict(self, name: str = "share") -> dict[str, float | None]:
        """Return the object for JSON output, with the value under this name."""
        return {
            name: self.value,
            "low": self.low,
            "high": self.high,
            "known_only_low": self.known_only_low,
            "known_only_high": self.known_only_high,
            "power": self.power,
        }

    def without_interval(self) -> "Estimated":
        """Return the value without intervals and power."""
        return Estimated(self.value, None, None, None, None, None)

    @property
    def ratio(self) -> float | None:
        """The width of the interval divided by that of the interval from the known labels alone; None if not stated."""
        if self.low is None or self.high is None or self.known_only_low is None or self.known_only_high is None:
            return None
        alone = self.known_only_high - self.known_only_low
        return (self.high - self.low) / alone if alone > 0 else None


def estimated(estimates: MeanEstimates) -> list[Estimated]:
    """Return one `Estimated` per row, with None instead of NaN.

    >>> one = np.array([0.5])
    >>> estimated(MeanEstimates(one, one, one, np.array([np.nan]), one, one))[0].known_only_low is None
    True
    """
    columns = (
        estimates.value,
        estimates.low,
        estimates.high,
        estimates.known_low,
        estimates.known_high,
        estimates.power,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Estimated(*(None if np.isnan(value) else value for value in row)) for row in rows]


@dataclass(frozen=True)
class ModelFigures:
    """Accuracy, precision, recall and confusion of a model's predictions."""

    name: str
    n_predicted: int  # tasks with a prediction
    accuracy: Estimated
    precision: dict[Any, Estimated] = field(default_factory=dict)  # by class
    recall: dict[Any, Estimated] = field(default_factory=dict)
    confusion: dict[tuple[Any, Any], Estimated] = field(default_factory=dict)  # by true class and prediction

    def to_dict(self) -> dict[str, Any]:
        """Return the object for JSON output."""
        cells = [
            {"label": true, "predicted": predicted, **figure.to_dict()}
            for (true, predicted), figure in self.confusion.items()
        ]
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
    """Estimates for the tasks with one value of a column, such as one system."""

    value: Any  # of the column
    n_tasks: int
    n_known: int
    prevalence: dict[Any, Estimated]
    accuracy: dict[str, Estimated]  # by model
    mean: Estimated | None

    def to_dict(self) -> dict[str, Any]:
        """Return the object for JSON output."""
        return {
            "value": self.value,
            "n_tasks": self.n_tasks,
            "n_known": self.n_known,
            "prevalence": by_label(self.prevalence),
            "accuracy": [{"model": name, **figure.to_dict()} for name, figure in self.accuracy.items()],
            "mean": None if self.mean is None else self.mean.to_dict("mean"),
        }


def by_label(figures: dict[Any, Estimated]) -> list[dict[str, Any]]:
    """Return a list of objects for JSON output, one per class.

    >>> by_label({"x": Estimated(0.5, 0.4, 0.6, None, None, None)})[0]["label"]
    'x'
    """
    return [{"label": label, **figure.to_dict()} for label, figure in figures.items()]


def by_class(answers: Answers, figures: list[Estimated]) -> dict[Any, Estimated]:
    """Return the estimates by class name.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})
    >>> list(by_class(answers, [Estimated(None, None, None, None, None, None)] * 2))
    ['x', 'y']
    """
    return dict(zip(answers.classes.to_pylist(), figures, strict=True))


def model_figures(estimator: MeanEstimator, answers: Answers, model: Predictions) -> ModelFigures:
    """Estimate a model's accuracy, its precision and recall for each class, and the confusion table.

    Args:
        estimator: of means.
        answers: to the predicted tasks.
        model: its predictions.

    >>> import quorate
    >>> from quorate.estimation.means import model_estimator
    >>> crowd = quorate.simulate.crowd(200, 8, 4, seed=0)
    >>> estimator = model_estimator(crowd.answers, None, 1.96)
    >>> result = model_figures(estimator, crowd.answers, Predictions("m", crowd.truth, 0))
    >>> result.n_predicted, len(result.confusion)
    (200, 4)
    """
    names = answers.classes.to_pylist()
    has_prediction = model.has_prediction
    predicted = model.label
    precision = {}
    recall = {}
    confusion = {}
    for c, name in enumerate(names):
        if (predicted == c).any():
            precision[name] = estimated(estimator.means(Right(predicted), predicted == c))[0]
        recall[name] = estimated(recall_of(estimator, predicted, c, has_prediction))[0]
    if len(names) <= MAX_CONFUSION_CLASSES:
        cells = estimated(estimator.means(Confused(predicted, len(names)), has_prediction))
        confusion = {
            (true, guess): cells[i * len(names) + j] for i, true in enumerate(names) for j, guess in enumerate(names)
        }
    accuracy = estimated(estimator.means(Right(predicted), has_prediction))[0]
    return ModelFigures(model.name, int(has_prediction.sum()), accuracy, precision, recall, confusion)


def part_figures(
    estimator: MeanEstimator,
    answers: Answers,
    models: list[Predictions],
    class_values: Value | None,
    code: IntArray,
    values: list[Any],
) -> Iterator[PartFigures]:
    """Estimate class shares, accuracies and the mean value for each part of the tasks.

    Args:
        estimator: of means.
        answers: to the tasks.
        models: predictions whose accuracy is estimated.
        class_values: the number of each class, if a mean is estimated.
        code: the part of each task, -1 for none.
        values: names of the parts.

    >>> import quorate
    >>> from quorate.estimation.means import model_estimator
    >>> answers = quorate.simulate.crowd(200, 8, 4, seed=0).answers
    >>> estimator = model_estimator(answers, None, 1.96)
    >>> parts = part_figures(estimator, answers, [], None, np.arange(200) % 2, ["even", "odd"])
    >>> [part.n_tasks for part in parts]
    [100, 100]
    """
    for number, value in enumerate(values):
        is_in_part: BoolArray = code == number
        if not is_in_part.any():
            continue
        yield PartFigures(
            value,
            int(is_in_part.sum()),
            int((is_in_part & estimator.is_known).sum()),
            by_class(answers, estimated(estimator.means(Prevalence(answers.n_classes), is_in_part))),
            {
                model.name: estimated(estimator.means(Right(model.label), is_in_part & model.has_prediction))[0]
                for model in models
            },
            None if class_values is None else estimated(estimator.means(class_values, is_in_part))[0],
        )


POWERED = "prediction-powered"
MODEL = "model"
UNDECIDED = "undecided"
LEVEL = 0.95
CLASSES = "classes"  # as a value: the classes are the numbers
ALL_KNOWN = "Every task has a known label ({} in all): these shares are exact."
RANDOMLY = "Valid however wrong the workers are, if the known labels are a random sample of the tasks."
BY_PROBABILITY = (
    "Valid however wrong the workers are: each known label was drawn with the probability that `quorate advise "
    "--expert` wrote beside it."
)
ON_MODEL = (
    "No random sample of known labels was given, so these intervals assume that your {} are as good as those in {}. {}"
)
NOT_RANDOM = (
    "The known labels do not look like a random sample of these tasks, so they are not used as "
    "one. The reason: {}. If you drew them at random, use sampled='random' (--sampled random)."
)
IN_DOUBT = (
    "The intervals assume that the known labels are a random sample, as you declared. But {}, which happens in 1 of "
    "100 random samples."
)
MIN_SUM_OFF = 0.005  # smallest difference between the sum of the shares and 1 that is stated: visible in two decimals
CONTRADICT = (
    "The known labels contradict the answers: the share of {} is {:.0%} to {:.0%} by the known labels, and {:.0%} to "
    "{:.0%} by the answers alone. Either the known labels are not a random sample, or workers share mistakes; the "
    "intervals include both. If you drew the labels at random, use sampled='random' (--sampled random) for narrower "
    "intervals."
)
# Mean ratio of interval widths, with the workers' answers and with the known labels alone, from which the workers are
# said to add nothing.
NO_GAIN_RATIO = 0.995


@dataclass(frozen=True, repr=False)
class Estimates(Shown):
    """Figures over all tasks, each with an interval."""

    answers: Answers
    method: str  # prediction-powered; model; or undecided, where nothing can be stated
    level: float
    n_known: int
    n_drawn: int  # known labels that were drawn at random
    assumptions: tuple[str, ...]
    imbalance: str | None  # what shows that the known labels are not a random sample
    notes: tuple[str, ...]  # what was left out
    prevalence: dict[Any, Estimated]  # by class
    mean: Estimated | None  # of the value
    models: tuple[ModelFigures, ...]
    difference: Estimated | None  # accuracy of the first model minus that of the second
    wins: tuple[Estimated, Estimated] | None  # share of tasks on which only the first is right, and only the second
    by: str | None
    parts: tuple[PartFigures, ...]
    plan: LabelPlan | None
    differences: tuple[Difference, ...] = ()  # between the parts
    warnings: tuple[str, ...] = ()  # what a reader must know before the figures

    @property
    def accuracy(self) -> Estimated | None:
        """The accuracy of the first model."""
        return self.models[0].accuracy if self.models else None

    @property
    def is_exact(self) -> bool:
        """Whether every task has a known label, so that shares and means have no interval."""
        return self.method == POWERED and self.n_known == self.answers.n_tasks

    @cached_property
    def table(self) -> Table:
        """One row per figure: what, of whom, label, estimate, low, high, known_only_low, known_only_high."""
        rows = list(self._rows())
        if self.is_exact:
            rows = [(*row[:3], row[3] if "difference" in row[0] else row[3].without_interval()) for row in rows]
        names = ("value", "low", "high", "known_only_low", "known_only_high")
        columns = {
            title: from_strings([str(row[k]) for row in rows]) for k, title in enumerate(("what", "of", "label"))
        }
        for name in names:
            numbers = np.array([getattr(row[3], name) for row in rows], np.float64)  # None becomes NaN
            title = "estimate" if name == "value" else name
            columns[title] = from_numpy(numbers, mask=np.isnan(numbers))
        return Table(table_of(columns))

    def for_terminal(self) -> Table:
        """Return the table with column names in words for the intervals from the known labels alone."""
        names = {f"known_only_{end}": f"known labels alone:_{end}" for end in ("low", "high")}
        return Table(self.table.arrow.rename_columns([names.get(name, name) for name in self.table.column_names]))

    def _rows(self) -> Iterator[tuple[str, str, str, Estimated]]:
        yield from (("share", "all tasks", str(label), value) for label, value in self.prevalence.items())
        if self.mean is not None:
            yield "mean value", "all tasks", "", self.mean
        for model in self.models:
            yield "accuracy", model.name, "", model.accuracy
            yield from (("precision", model.name, str(label), value) for label, value in model.precision.items())
            yield from (("recall", model.name, str(label), value) for label, value in model.recall.items())
        if self.difference is not None and self.wins is not None:
            one, two = (model.name for model in self.models)
            yield "accuracy, difference", f"{one} - {two}", "", self.difference
            yield "only this one is right", one, "", self.wins[0]
            yield "only this one is right", two, "", self.wins[1]
        for part in self.parts:
            of = f"{self.by} {part.value}"
            yield from (("share", of, str(label), value) for label, value in part.prevalence.items())
            yield from (("accuracy", f"{of}, {name}", "", value) for name, value in part.accuracy.items())
            if part.mean is not None:
                yield "mean value", of, "", part.mean
        for difference in self.differences:
            what = "mean value, difference" if difference.label is None else "share, difference"
            known_only = difference.known_only_low, difference.known_only_high
            figure = Estimated(difference.value, difference.low, difference.high, *known_only, None)
            yield (
                what,
                f"{difference.one} - {difference.two}",
                "" if difference.label is None else str(difference.label),
                figure,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate estimate --json` prints.

        >>> import quorate
        >>> crowd = quorate.simulate.crowd(100, 8, 4, seed=0)
        >>> sorted(estimate(crowd.answers).to_dict())[:5]
        ['accuracy', 'assumptions', 'by', 'difference', 'differences']
        """
        return {
            "method": self.method,
            "assumptions": list(self.assumptions),
            "imbalance": self.imbalance,
            "warnings": list(self.warnings),
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
            "wins": None if self.wins is None else [figure.to_dict() for figure in self.wins],
            "by": None if self.by is None else {"column": self.by, "parts": [part.to_dict() for part in self.parts]},
            "differences": [difference.to_dict() for difference in self.differences],
            "plan": None if self.plan is None else self.plan.to_dict(),
        }

    def lines(self) -> list[str]:
        """Return the differences between systems, and the assumptions; `table` has the figures."""
        n_tasks = count(self.answers.n_tasks, "task")
        known = count(self.n_known, "known label")
        random_part = "" if self.n_drawn == self.n_known else f", {self.n_drawn:,} of them drawn at random"
        lines = [*self.warnings, *difference_lines(self.differences, self.level)]
        if self.is_exact:
            lines += [*self.assumptions, *self.notes, *([] if self.plan is None else self.plan.lines())]
            return without_repeated_advice(lines)
        if self.method == POWERED:
            lines.append(f"Estimated from {n_tasks}, corrected with {known}{random_part}; {self.level:.0%} intervals.")
        elif self.method == MODEL:
            with_known = f" and {known}" if self.n_known else ""
            lines.append(f"Estimated from the answers to {n_tasks}{with_known}; {self.level:.0%} intervals.")
        else:
            lines.append(f"Nothing can be estimated from the answers to {n_tasks}.")
        lines += [] if self.imbalance is None else [self.imbalance]
        lines += list(self.assumptions)
        lines += self._gain_lines()
        lines += self._sum_lines()
        if self.method != UNDECIDED and any(figure.low is None for *_, figure in self._rows()):
            lines.append(f"No interval is stated if there are fewer than {MIN_KNOWN_LABELS} known labels.")
        return without_repeated_advice([*lines, *self.notes, *([] if self.plan is None else self.plan.lines())])

    def _sum_lines(self) -> list[str]:
        """Return a sentence if the shares of the classes, as printed, do not add up to one."""
        shares = [estimated.value for estimated in self.prevalence.values()]
        values = [value for value in shares if value is not None]
        if len(values) < max(len(shares), 1) or abs(sum(values) - 1) < MIN_SUM_OFF:
            return []
        return [
            f"Each share is estimated separately, so the shares add up to {sum(values):.2f}. More known labels bring "
            "the sum closer to 1."
        ]

    def _gain_lines(self) -> list[str]:
        """Return a sentence on how much narrower the intervals are than from the known labels alone; or none."""
        ratios = [figure.ratio for *_, figure in self._rows() if figure.ratio is not None]
        if not ratios:
            return []
        ratio = float(np.mean(ratios))
        if ratio >= NO_GAIN_RATIO:
            return [
                f"The workers add nothing here: the {count(self.n_known, 'known label')} alone give the same intervals."
            ]
        return [f"The intervals are {1 - ratio:.0%} narrower than with the known labels alone."]

    def summary(self) -> str:
        """Return the main figures and the assumptions."""
        figures = [
            f"{label}: {_interval_text(figure)}"
            for label, figure in self.prevalence.items()
            if figure.value is not None
        ]
        if self.mean is not None and self.mean.value is not None:
            figures.append(f"mean value: {self.mean.value:.3g}{_ends(self.mean, '.3g')}")
        figures += [f"accuracy of {model.name}: {_interval_text(model.accuracy)}" for model in self.models]
        head, *rest = self.lines()
        return in_python("\n".join([head, *figures, *rest]))

    def _tables(self) -> tuple[Table, ...]:
        return (self.table,)


def _interval_text(estimated: Estimated) -> str:
    return "not stated" if estimated.value is None else f"{estimated.value:.1%}{_ends(estimated, '.1%')}"


def _ends(estimated: Estimated, form: str) -> str:
    if estimated.low is None or estimated.high is None:
        return ""
    return f" ({format(estimated.low, form)} to {format(estimated.high, form)})"


@check_arguments
@keep_pipes()
def estimate(
    source: Answers | Source,
    *,
    gold: Source = None,
    sampled: SamplingName | None = None,
    predictions: ModelSources = None,
    value: Mapping[Any, float] | Literal["classes"] | None = None,
    tasks: Source = None,
    by: str | None = None,
    pair_by: str | None = None,
    plan: float | None = None,
    method: str = "quorate",
    level: float = LEVEL,
    seed: int = 0,
    **reading: Unpack[ReadKeywords],
) -> Estimates:
    """Estimate shares of classes, a model's accuracy, means of scores over all tasks, with intervals.

    If the known labels are a random sample of the tasks, the intervals are valid however wrong the workers are
    (prediction-powered inference). Otherwise they depend on the model, and the result states this. If all answers are
    by one worker or of one class, and there are no known labels, every figure is None, and the method is ``undecided``.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        gold: known labels of some tasks, as in `quorate.aggregate`; the column ``inclusion_probability`` has the
            probability with which each task was drawn.
        sampled: how the tasks with known labels were chosen: ``random``; ``advised``, by `quorate.suggest_gold`;
            ``unknown``. The default is advised if there is a column ``inclusion_probability``, and otherwise random,
            unless a test shows that they are not a random sample.
        predictions: a model's labels or probabilities: a table with ``task`` and ``label``, or with a column for each
            class; a list of two, or a mapping from names, compares two models.
        value: the number of each class, or ``"classes"`` if the classes are numbers; the mean is estimated.
        tasks: a table with a column of task ids, for ``by``; by default the table of answers.
        by: a column of ``tasks``, or of the answers: estimates for each value of this column, and the differences
            between the values.
        pair_by: the column that identifies the item that several values of ``by`` share, such as the question that
            several systems answered; by default the other columns of a composite task, such as ``item`` in
            ``task="item,system"``.
        plan: half-width to reach: the result has the number of known labels that this needs, and the tasks to label.
        method: method whose posterior is used; without known labels it must be the default.
        level: level of the intervals.
        seed: seed of the draw of the plan.
        reading: options of `quorate.read`.

    Raises:
        OptionError: there are too few known labels, or an option is out of range.
        InputError: the answers or a file cannot be read.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(400, 10, 5, seed=0)
    >>> result = estimate(crowd.answers, gold=crowd.truth_table.slice(0, 50)).prevalence["c1"]
    >>> bool(result.low < (crowd.truth == 1).mean() < result.high)
    True
    """
    check_level(level)
    if tasks is not None and by is None:
        raise OptionError("tasks= (--tasks) needs by= (--by): the column of that table whose values are compared")
    read = as_reading(source, reading)
    answers = read.answers
    task, _, label = read.options.columns
    if sampled is not None and sampled not in SAMPLED:
        raise unknown_name_error(sampled, SAMPLED, "sampled= (--sampled)")
    estimator, basis = _choose_estimator(read, gold, sampled, method, level)
    class_values = None if value is None else Value(_values(value, answers))
    models = [] if predictions is None else read_predictions(predictions, answers, task, label)
    parts = []
    group_differences: tuple[Difference, ...] = ()
    if by is not None:
        code, values, item = system_columns(read, tasks, by, pair_by)
        parts = list(part_figures(estimator, answers, models, class_values, code, values))
        group_differences = differences(estimator, answers.classes.to_pylist(), class_values, code, values, item)
    pair = [model.label for model in models]
    both = models[0].has_prediction & models[1].has_prediction if len(models) == 2 else None
    wins = None if both is None else estimated(estimator.means(Wins(*pair), both))
    shares = Prevalence(answers.n_classes)
    can_plan = plan is not None and answers.n_classes > 1
    return Estimates(
        answers=answers,
        method=basis.method,
        level=level,
        n_known=basis.n_known,
        n_drawn=estimator.sample.n_drawn if isinstance(estimator, ByKnown) else 0,
        assumptions=basis.assumptions,
        imbalance=basis.imbalance,
        warnings=basis.warnings,
        notes=tuple(note for model in models for note in model.notes()),
        prevalence=by_class(answers, estimated(estimator.means(shares))),
        mean=None if class_values is None else estimated(estimator.means(class_values))[0],
        models=tuple(model_figures(estimator, answers, model) for model in models),
        difference=None if both is None else estimated(estimator.means(Better(*pair), both))[0],
        wins=None if wins is None else (wins[0], wins[1]),
        by=by,
        parts=tuple(parts),
        plan=plan_labels(answers, estimator, shares, plan, seed=seed) if plan is not None and can_plan else None,
        differences=group_differences,
    )


@dataclass(frozen=True)
class _Basis:
    """How the figures were estimated, and what they assume."""

    method: str
    n_known: int
    assumptions: tuple[str, ...]
    imbalance: str | None = None
    warnings: tuple[str, ...] = ()  # what a reader must know before the figures


def _choose_estimator(
    read: Reading, gold: Source, sampled: str | None, method: str, level: float
) -> tuple[ByKnown | ByModel | Undecided, _Basis]:
    """Return the estimator: by known labels if they are a random sample, else by the model."""
    from scipy.special import ndtri

    answers = read.answers
    z = float(ndtri((1 + level) / 2))
    gold = one_table(gold, read.options)
    gold_codes = known_classes(gold_for(read, gold), answers)
    known = np.full(answers.n_tasks, -1) if gold_codes is None else gold_codes
    n_known = int((known >= 0).sum())
    missing = missing_evidence(int((answers.per_worker > 0).sum()), answers.n_classes)
    if answers.n_classes < 2:  # known labels of one class do not help
        return Undecided(known, answers.n_classes, z), _Basis(UNDECIDED, n_known, (f"Reason: {missing}.",))
    imbalance = None
    if n_known:
        result = aggregate(answers, method, intervals="none")
        if n_known == answers.n_tasks:
            all_known = KnownSample(np.arange(n_known), np.ones(n_known), n_known)
            exact = ByKnown(result.vote.posterior, known, all_known, z)
            return exact, _Basis(POWERED, n_known, (ALL_KNOWN.format(f"{n_known:,}"),))
        probability = None if gold is None else probabilities(gold, answers, known_label_columns(gold, read.options)[0])
        sampling = sampling_of(answers, known, result, sampled, probability)
        if sampling.imbalance is not None:
            imbalance = for_shell((IN_DOUBT if sampled == RANDOM else NOT_RANDOM).format(sampling.imbalance.sentence()))
        sample = sampling.sample
        if sample is not None:
            design = BY_PROBABILITY if (sample.probability != sample.probability[0]).any() else RANDOMLY
            estimator = ByKnown(result.vote.posterior, known[sample.rows], sample, z)
            # A stated sampling is not tested, and other methods have no model-based interval.
            if sampling.is_assumed and missing is None and method == "quorate":
                model = model_estimator(answers, None, z)
                imbalance = contradiction(answers, estimator, model)
                if imbalance is not None:
                    estimator = ByEither(estimator.posterior, estimator.true, sample, z, model)
            return estimator, _Basis(POWERED, n_known, (design,), imbalance)
    if method != "quorate":
        why = "" if imbalance is None else f" ({imbalance})"
        raise OptionError(
            "Without a random sample of known labels, only the default method has intervals, not "
            f"{method!r}{why}. Leave out method= (--method), or give known labels of randomly chosen tasks "
            "(gold=, --gold)"
        )
    if missing is not None:
        return Undecided(known, answers.n_classes, z), _Basis(UNDECIDED, n_known, (f"Reason: {missing}.",), imbalance)
    # Labels that were chosen by class or by difficulty would bias the model: they are used for their own tasks only.
    by_model = model_estimator(answers, known, z, learns=imbalance is None)
    comparable = PUBLIC_PANELS if by_model.has_models else PUBLIC_CROWDS
    who = "judges" if by_model.has_models else "workers"
    n_labels = advised_labels(answers.n_tasks, has_models=by_model.has_models)
    is_random = None if by_model.has_models else True  # of models, all are drawn at random by default
    remedy = f"Known labels remove this assumption: {expert_command(n_labels, is_random=is_random)}" if n_labels else ""
    assumptions = (ON_MODEL.format(who, comparable, remedy).rstrip(),)
    return by_model, _Basis(MODEL, n_known, assumptions, imbalance, by_model.warnings)


def contradiction(answers: Answers, by_known: ByKnown, by_model: ByModel) -> str | None:
    """Return a text if the share of a class by the known labels and by the model differs significantly; else None.

    Two independent estimates differ by more than the root of the sum of their squared half-widths with the probability
    with which one interval fails. The level is that of the intervals, with Bonferroni's correction over classes.
    """
    from scipy.special import ndtr, ndtri

    shares = Prevalence(answers.n_classes)
    known = by_known.means(shares)
    model = by_model.means(shares)
    above = known.value > model.value
    half_known = np.where(above, known.value - known.low, known.high - known.value)
    half_model = np.where(above, model.high - model.value, model.value - model.low)
    n_tests = max(answers.n_classes - 1, 1)
    strictness = ndtri(ndtr(-by_known.z) / n_tests) / -by_known.z
    excess = np.abs(known.value - model.value) - strictness * np.hypot(half_known, half_model)
    if not (excess > 0).any():
        return None
    c = int(np.nanargmax(excess))
    ends = (known.low[c], known.high[c], model.low[c], model.high[c])
    return for_shell(CONTRADICT.format(shown(answers.classes[c].as_py()), *ends))


def _values(value: Mapping[Any, float] | str, answers: Answers) -> FloatArray:
    """Return the number of each class."""
    names = answers.classes.to_pylist()
    class_values = {str(name): name for name in names} if value == CLASSES else value
    if isinstance(class_values, str):
        raise OptionError(
            f"value= (--value) must give a number for every class, or be {CLASSES!r} if the classes are numbers"
        )
    class_values = {str(name): number for name, number in class_values.items()}
    missing = [name for name in names if str(name) not in class_values]
    if missing:
        raise OptionError(
            f"value= (--value) lacks {listing(missing)}. Give a number for every class, for example a=1,b=0"
        )
    try:
        numbers = np.array([float(class_values[str(name)]) for name in names])
    except (TypeError, ValueError):
        raise OptionError(
            f"value= (--value) must give a number for each of the classes {listing(names)}, for example a=1,b=0"
        ) from None
    if not np.isfinite(numbers).all():
        raise OptionError("value= (--value) must give finite numbers")
    return numbers
