"""Read a model's labels or class probabilities, and match them with the tasks of the answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.addresses import render_address
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import (
    ArgumentError,
    BlankFieldError,
    ColumnTypeError,
    ConflictingGoldError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    about_argument,
    count,
    rows_phrase,
    shown,
)
from quorate.io.arguments import is_table
from quorate.io.columns import as_type, codes_among, encode, number_column, positions
from quorate.io.dataframes import is_series, label_columns
from quorate.io.gold import read_labels
from quorate.io.read_table import ModelSources, Source, read_table

UNKNOWN_CLASS = -2  # code for a predicted class that no worker gave


@dataclass(frozen=True)
class Predictions:
    """The class that a model predicts for each task: -1 for no prediction, -2 for a class that no worker gave."""

    name: str
    label: IntArray
    n_unanswered: int  # number of predictions for tasks without answers
    probability: FloatArray | None = None  # tasks × classes, if given; NaN for a task without prediction

    @property
    def has_prediction(self) -> BoolArray:
        """A mask of the tasks that have a prediction."""
        has_prediction: BoolArray = self.label != -1
        return has_prediction

    def notes(self, *, as_worker: bool = False) -> list[str]:
        """Return sentences on ignored and missing predictions and on unknown classes.

        An unknown class counts as wrong or, with ``as_worker`` (the model is added as a worker), is left out.
        """
        missing = int((~self.has_prediction).sum())
        n_unknown = int((self.label == UNKNOWN_CLASS).sum())
        lines = []
        if self.n_unanswered:
            are = "it is" if self.n_unanswered == 1 else "they are"
            lines.append(
                f"{shown(self.name)} has {count(self.n_unanswered, 'prediction')} for tasks that nobody answered; "
                f"{are} "
                "ignored"
            )
        if missing:
            lines.append(f"{shown(self.name)} has no prediction for {count(missing, 'task')}")
        if n_unknown:
            fate = ("it is" if n_unknown == 1 else "they are") + " left out"
            if not as_worker:
                fate = "it counts as wrong" if n_unknown == 1 else "they count as wrong"
            lines.append(f"{shown(self.name)} has {count(n_unknown, 'prediction')} of a class that nobody gave; {fate}")
        return lines


@about_argument("predictions= (--predictions)")
def read_predictions(
    sources: ModelSources, answers: Answers, task: str = "task", label: str = "label"
) -> list[Predictions]:
    """Read the predictions of one model, or of two.

    Args:
        sources: a source, a list of sources, or a mapping from the name of a model to its source.
        answers: answers to the tasks that are predicted.
        task: name of the column of task ids.
        label: name of the column of labels; without it, there must be a column of probabilities for each class.

    Raises:
        OptionError: there are more than two models.
        InputError: the predictions cannot be read.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> read_predictions({"task": [2, 9], "x": [0.2, 1.0], "y": [0.8, 0.0]}, answers)[0].label.tolist()
    [-1, 1]
    """
    models = _models(sources, task)
    if not models or not all(is_table(source) for _, source in models):
        raise ArgumentError(
            "predictions= (--predictions) takes a table of task and label (or of probabilities), a mapping from task "
            f"to label, or such tables by the model's name; not {shown(sources)}"
        )
    if len(models) > 2:
        raise OptionError(f"two models can be compared, but {len(models)} were given; give two")
    return [_read(name, source, answers, task, label) for name, source in models]


def _models(models: Any, task: str) -> list[tuple[str, Source]]:
    """Return each model's name and source."""
    if isinstance(models, Mapping) and models and task not in models:
        # Whether all values are tables or files, rather than labels of tasks or columns of one table.
        tables = (
            isinstance(value, Path | Mapping) or hasattr(value, "__arrow_c_stream__") or hasattr(value, "columns")
            for value in models.values()
        )
        if all(tables):
            return [(str(name), source) for name, source in models.items()]
    sources = list(models) if isinstance(models, Sequence) and not isinstance(models, str) else [models]
    names = [
        Path(render_address(source)).stem if isinstance(source, str | Path) else f"model {k + 1}"
        for k, source in enumerate(sources)
    ]
    if len(set(names)) < len(names):
        names = [f"{name} ({k + 1})" for k, name in enumerate(names)]
    return list(zip(names, sources, strict=True))


def _read(name: str, source: Source, answers: Answers, task: str, label: str) -> Predictions:
    what = f"the predictions of {name}"
    p = None
    if is_series(source):
        source = label_columns(source, task, label)
    if isinstance(source, Mapping) and task in source:  # columns: `read_labels` would read the keys as tasks
        source = read_table(source, dict.fromkeys(map(str, source), ""), fixed=True)
    try:
        listed = _read_long(source, answers, task, label, what)
        if listed is not None:
            return _by_task(name, *listed, answers, what)
        tasks, labels = read_labels(source, task=task, label=label, what=what)
        values = as_type(labels, answers.classes.type, "predicted labels")
        classes = positions(values, answers.classes)
        classes = np.where(classes < 0, UNKNOWN_CLASS, classes)
    except MissingColumnError as error:
        tasks, classes, p = _most_probable(source, answers, task, error, what)
    except ConflictingGoldError as error:
        raise ConflictingGoldError(f"{what}: {error}") from None
    return _by_task(name, tasks, classes, p, answers, what)


def _by_task(
    name: str, tasks: pa.Array, classes: IntArray, p: FloatArray | None, answers: Answers, what: str
) -> Predictions:
    """Return the predictions in the order of the tasks of the answers."""
    task_codes = codes_among(tasks, answers.task_names, "predicted tasks")
    is_matched = task_codes >= 0
    if not is_matched.any():
        raise NoRowsError(f"{what} and the answers have no task in common. Check that both use the same task ids")
    class_of_task = np.full(answers.n_tasks, -1, np.int64)
    class_of_task[task_codes[is_matched]] = classes[is_matched]
    if p is None:
        return Predictions(name, class_of_task, int((~is_matched).sum()))
    probability = np.full((answers.n_tasks, answers.n_classes), np.nan)
    probability[task_codes[is_matched]] = p[is_matched]
    return Predictions(name, class_of_task, int((~is_matched).sum()), probability)


def _read_long(
    source: Source, answers: Answers, task: str, label: str, what: str
) -> tuple[pa.Array, IntArray, FloatArray] | None:
    """Read a table with one row per task and class, as ``--long`` writes it; None if a column is missing.

    A class that is not listed for a task has probability 0. A class that no worker gave is left out.

    Returns:
        the tasks, the code of the most probable class of each, and the probabilities (tasks × classes).
    """
    try:
        table = read_table(source, dict.fromkeys([task, label, "probability"], ""), fixed=True)
    except MissingColumnError:
        return None
    (codes, tasks), (labels, names) = (
        encode(table.column(column), column, is_label=column == label) for column in (task, label)
    )
    wrong = np.flatnonzero((codes < 0) | (labels < 0))
    if len(wrong):
        raise BlankFieldError(f"a task or a label of {what} is missing in {rows_phrase(wrong.tolist())}; fill it in")
    value = _probabilities(table, ["probability"], what)[0]
    at = codes_among(names, answers.classes, "predicted labels")[labels]
    p = np.zeros((len(tasks), answers.n_classes))
    known = at >= 0
    np.maximum.at(p, (codes[known], at[known]), value[known])
    return tasks, np.where(p.max(axis=1) > 0, p.argmax(axis=1), UNKNOWN_CLASS), p


def _probabilities(table: pa.Table, names: list[str], what: str) -> FloatArray:
    """Return columns of probabilities as an array (columns × rows)."""
    p = np.array([number_column(table.column(name), name, what, allow_missing=True) for name in names])
    wrong = np.flatnonzero(~((p >= 0) & (p <= 1)).all(axis=0))
    if len(wrong):
        raise ColumnTypeError(
            f"in {what}, {rows_phrase(wrong.tolist())} has a probability that is missing or not between 0 and 1; "
            "correct it"
        )
    return p


def _most_probable(
    source: Source, answers: Answers, task: str, error: MissingColumnError, what: str
) -> tuple[pa.Array, IntArray, FloatArray]:
    """Read a table with a column of probabilities for each class.

    Returns:
        the tasks, the code of the most probable class of each, and the probabilities (tasks × classes).
    """
    names = [str(name) for name in answers.classes.to_pylist()]
    try:
        table = read_table(source, dict.fromkeys([task, *names], ""), fixed=True)
    except MissingColumnError:
        raise MissingColumnError(f"{error}. Or give the probability of each class in a column of its name") from None
    codes, tasks = encode(table.column(task), task)
    if (codes < 0).any() or len(tasks) < len(codes):
        twice = np.flatnonzero((codes < 0) | (np.bincount(np.maximum(codes, 0))[codes] > 1))
        raise BlankFieldError(f"each task may have only one row among {what}; see {rows_phrase(twice.tolist())}")
    p = _probabilities(table, names, what).T
    return tasks, p.argmax(axis=1), p
