"""Convert gold labels to codes of tasks and classes, for all tasks at once (`read_gold`) or by part (`LocalGold`).

A column of the answers that has known labels (`gold_column`) is read by `quorate.io.layouts`.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray, from_numpy, take
from quorate.errors import (
    BlankFieldError,
    ConflictingGoldError,
    GoldError,
    OptionError,
    QuorateError,
    UnknownGoldClassError,
    UnknownGoldTaskError,
    about_argument,
    listing,
    shown,
)
from quorate.io.columns import as_type, codes_among, encode, positions, refuse_missing, value_of_each
from quorate.io.dataframes import is_series, label_columns
from quorate.io.exports.detect import TABLE
from quorate.io.gold_files import INCLUSION_PROBABILITY, KnownColumns, combine_files, listed_files
from quorate.io.inputs import local_path
from quorate.io.labels import spell_as_classes
from quorate.io.multilabel import several_gold
from quorate.io.options import AS_USUAL, ReadOptions, split_names
from quorate.io.read import Reading
from quorate.io.read_table import Source, read_table
from quorate.io.values import id_text, join_keys, keys_among


@dataclass(frozen=True, eq=False)
class Matched:
    """Values and their codes among the tasks or classes of the answers; -1 for a value that is not one of them."""

    values: pa.Array
    codes: IntArray

    def unmatched(self) -> str:
        """Return the list of values that the answers do not have, as text for a message."""
        return listing(self.values.filter(from_numpy(self.codes < 0)).unique().to_pylist())


def match_truth(
    source: Source, answers: Answers, *, task: str = "task", label: str = "label", what: str = "the known labels"
) -> tuple[Matched, Matched]:
    """Return the tasks and the labels of a truth table, with their codes among the tasks and classes of the answers.

    Args:
        source: what `quorate.read` takes, with the columns ``task`` and ``label``; or a mapping from task to label.
        answers: answers that define the codes.
        task: name of the column of task ids.
        label: name of the column of labels.
        what: name of the table in messages.

    Raises:
        ConflictingGoldError: a task has two labels.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["ann", "ann"], "label": ["cat", "dog"]})
    >>> tasks, labels = match_truth({2: "dog", 7: "elk"}, answers)
    >>> tasks.codes.tolist(), labels.codes.tolist()
    ([1, -1], [1, -1])
    """
    with about_labels(what):
        check_labels_given(source, answers.task_names, what)
        tasks, labels = read_labels(source, task=task, label=label, what=what)
        return _match(tasks, answers.task_names, what, "tasks"), _match(labels, answers.classes, what)


def read_labels(
    source: Source,
    *,
    task: str = "task",
    label: str = "label",
    what: str = "the labels",
    skip_blank_labels: bool = False,
) -> tuple[pa.Array, pa.Array]:
    """Read one label per task; a task may be listed several times if its label is always the same.

    The arguments are those of `match_truth`, and whether rows without a label (tasks not labelled yet) are left out.

    Raises:
        BlankFieldError: a task or a label is missing.
        ConflictingGoldError: a task has two labels.

    >>> tasks, labels = read_labels({"task": [7, 7, 8], "label": ["elk", "elk", "fox"]})
    >>> tasks.to_pylist(), labels.to_pylist()
    ([7, 8], ['elk', 'fox'])
    """
    source = label_columns(source, task, label)
    usual = AS_USUAL.columns
    or_usual = " (or task and label)" if (task, label) != (usual[0], usual[2]) else ""
    remedy = f"{what[0].upper()}{what[1:]} need the columns {task!r} and {label!r}{or_usual}; rename your columns"
    table = read_table(source, {task: remedy, label: remedy}, fixed=True)
    tasks, task_names = encode(table.column(task), task)
    labels, label_names = encode(table.column(label), label, is_label=True)
    rows: IntArray | None = None
    if skip_blank_labels:
        refuse_missing(np.where(labels >= 0, tasks, 0), task, what)
        rows = np.flatnonzero(labels >= 0)
        tasks = tasks[rows]
        labels = labels[rows]
        used, tasks = np.unique(tasks, return_inverse=True)
        task_names = take(task_names, used)
    refuse_missing(tasks, task, what)
    refuse_missing(labels, label, what)
    label_of_task = value_of_each(
        tasks,
        labels,
        task_names,
        lambda task, rows: ConflictingGoldError(f"Task {task} has two labels ({rows}). Keep one label per task"),
        rows=rows,
    )
    return task_names, take(label_names, label_of_task)


# The argument that messages name, for each kind of labels.
ARGUMENTS = {"the known labels": "gold= (--gold)", "the true labels": "truth= (--truth)"}


def check_labels_given(source: Any, task_names: pa.Array | None, what: str) -> None:
    """Refuse labels without task ids: a list of labels, an empty collection, or a Series with the index 0, 1, 2, ...

    Args:
        source: what `match_truth` takes.
        task_names: ids of the tasks, with which the index of a Series is compared; None if they are not known.
        what: name of the labels in messages.

    Raises:
        GoldError: the labels cannot be matched with tasks.

    >>> check_labels_given(["cat", "dog"], None, "the known labels")
    Traceback (most recent call last):
    quorate.errors.GoldError: gold= takes a table of task and label, a mapping from task to label, or a Series ...
    """
    argument = ARGUMENTS.get(what, what)
    if isinstance(source, Mapping | list | tuple) and not source:
        raise GoldError(f"{argument} is empty; give labels of some tasks, or leave it out")
    is_list = isinstance(source, list | tuple) and not all(isinstance(row, Mapping) for row in source)
    if is_list or isinstance(source, np.ndarray):
        files = listed_files(source)
        if files is None or not any(os.path.exists(local_path(name)) or os.path.splitext(name)[1] for name in files):
            raise GoldError(
                f"{argument} takes a table of task and label, a mapping from task to label, or a Series with the tasks "
                f"as its index; a list of labels does not name their tasks: {shown(source)}"
            )
    if task_names is None or not is_series(source) or type(source.index).__name__ != "RangeIndex":
        return
    known = {str(name) for name in task_names.to_pylist()}
    if known.isdisjoint(str(number) for number in source.index):
        raise GoldError(
            f"{argument} is a Series with the index 0, 1, 2, …, and the tasks are "
            f"{listing(task_names.to_pylist(), 3)}. "
            'Use the tasks as its index, for example frame.set_index("task")["label"]'
        )


def about_labels(what: str) -> AbstractContextManager[None]:
    """Return a context that adds the argument (``gold=`` or ``truth=``) to errors; none for other labels.

    Args:
        what: name of the labels in messages.

    >>> with about_labels("the true labels"):
    ...     raise GoldError("task 1 has two labels")
    Traceback (most recent call last):
    quorate.errors.GoldError: truth=: task 1 has two labels
    """
    argument = ARGUMENTS.get(what)
    return nullcontext() if argument is None else about_argument(argument)


def _match(values: pa.Array, known: pa.Array, what: str, part: str = "") -> Matched:
    noun = what.removeprefix("the ")
    values = as_type(values, known.type, f"{part} of the {noun}" if part else noun)
    return Matched(values, positions(values, known))


def known_classes(source: Source | None, answers: Answers) -> IntArray | None:
    """Return `read_gold` of the source; None if there is no gold.

    >>> import quorate
    >>> known_classes(None, quorate.read({"task": [1], "worker": ["ann"], "label": ["cat"]})) is None
    True
    """
    return None if source is None else read_gold(source, answers)


def named_gold(gold: IntArray | None, answers: Answers) -> Source:
    """Convert gold from codes to a table of tasks and labels, which `read_gold` takes; None if there is no gold.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["ann", "ann"], "label": ["cat", "dog"]})
    >>> {name: values.to_pylist() for name, values in named_gold(np.array([-1, 1]), answers).items()}
    {'task': [2], 'label': ['dog']}
    """
    if gold is None:
        return None
    known = np.flatnonzero(gold >= 0)
    return {"task": take(answers.task_names, known), "label": take(answers.classes, gold[known])}


def read_gold(source: Source, answers: Answers) -> IntArray:
    """Return the code of the known class of each task, -1 if none is known.

    The arguments are those of `match_truth`.

    Raises:
        GoldError: a task or a class does not occur in the answers, or a task has two labels.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["ann", "ann"], "label": ["cat", "dog"]})
    >>> read_gold({2: "dog"}, answers).tolist()
    [-1, 1]
    """
    tasks, labels = match_truth(source, answers)
    with about_labels("the known labels"):
        _refuse_unknown(tasks, labels, answers.classes)
    gold = np.full(answers.n_tasks, -1, np.int32)
    gold[tasks.codes] = labels.codes
    return gold


def _refuse_unknown(tasks: Matched, labels: Matched, classes: pa.Array) -> None:
    """Refuse gold labels of tasks without answers, and gold labels that no worker gave."""
    if (tasks.codes < 0).any():
        raise UnknownGoldTaskError(
            f"The known labels include tasks that nobody answered: {tasks.unmatched()}. Check the ids, or remove them"
        )
    if (labels.codes < 0).any():
        raise UnknownGoldClassError(
            f"The known labels include {labels.unmatched()}, which no worker gave; the labels in the answers are "
            f"{listing(classes.to_pylist(), 12)}. Check the spelling, or list all labels (classes=, --classes)"
        )


def read_known_labels(
    source: Source,
    reading: ReadOptions = AS_USUAL,
    what: str = "the known labels",
    task_names: pa.Array | None = None,
) -> tuple[pa.Array, pa.Array]:
    """Read labels from a table that has the same column names as the answers.

    Args:
        source: what `match_truth` takes.
        reading: options with which the answers are read.
        what: name of the labels in messages.
        task_names: ids of the tasks of answers that were read before.

    >>> tasks, labels = read_known_labels({"item": [1], "label": ["cat"]}, ReadOptions(task="item"))
    >>> tasks.to_pylist()
    [1]
    """
    check_labels_given(source, None, what)
    source = with_joined_key(one_table(source, reading, task_names), reading, task_names)
    task, label = known_label_columns(source, reading)
    # In a file that an expert fills in, tasks that are not labelled yet are left out.
    is_expert_file = INCLUSION_PROBABILITY in (column_names(source) or ())
    labels = read_labels(source, task=task, label=label, what=what, skip_blank_labels=is_expert_file)
    if is_expert_file and len(labels[0]) == 0:
        raise BlankFieldError(f"No task of {what} has a label yet. Fill in the column {label!r}")
    return labels


def one_table(source: Source, reading: ReadOptions = AS_USUAL, task_names: pa.Array | None = None) -> Source:
    """Return the known labels of several files as one table, any other source unchanged; see `combine_files`.

    >>> one_table({1: "cat"})
    {1: 'cat'}
    """

    def columns_of(file: Source) -> KnownColumns:
        table = with_joined_key(file, reading, task_names)
        return KnownColumns(table, *known_label_columns(table, reading), INCLUSION_PROBABILITY in column_names(table))

    return combine_files(source, columns_of)


def column_names(source: Source, reading: ReadOptions = AS_USUAL) -> list[str]:
    """Return the names of the columns of a table; an empty list for a mapping from task to label.

    >>> column_names({"task": [1], "label": ["cat"]}), column_names({1: "cat"})
    (['task', 'label'], [])
    """
    if isinstance(source, Mapping):
        return [name for name, values in source.items() if isinstance(name, str) and not isinstance(values, str)]
    if is_series(source):  # labels, with the tasks as index
        return []
    from quorate.io.several_files import content_of

    try:
        return [str(name) for name in content_of(source, reading).fields]
    except OptionError:  # an output would replace this table
        raise
    except QuorateError:  # reading the table later reports what is wrong with it
        return []


def with_joined_key(source: Source, reading: ReadOptions, task_names: pa.Array | None = None) -> Source:
    """Return known labels with one column ``task`` instead of several columns that together identify a task.

    Args:
        source: a table of known labels.
        reading: options that name the columns.
        task_names: ids of the tasks, whose form the result has (JSON if a part of an id is blank); None if not known.

    >>> table = {"page": ["1"], "sound": ["a"], "label": ["cat"]}
    >>> with_joined_key(table, ReadOptions(task="page,sound"))["task"]
    ['1 / a']
    """
    names = column_names(source)
    if reading.task is None or reading.task in names or "task" in names:
        return source
    key = split_names(reading.task)
    if len(key) < 2 or not set(key) <= set(names):
        return source
    other_columns = [name for name in names if name not in key]
    table = read_table(source, dict.fromkeys([*key, *other_columns], ""), fixed=True)
    parts = [[id_text(value) for value in table.column(name).to_pylist()] for name in key]
    joined = join_keys(parts) if task_names is None else keys_among(parts, task_names)
    return {"task": joined, **{name: table.column(name).to_pylist() for name in other_columns}}


def known_label_columns(source: Source, reading: ReadOptions = AS_USUAL) -> tuple[str, str]:
    """Return the task and the label column of known labels: named as in the answers, or else ``task`` and ``label``.

    >>> known_label_columns({"task": [1], "label": ["cat"]}, ReadOptions(task="item"))
    ('task', 'label')
    """
    task, _, label = reading.columns
    names = column_names(source)
    if task not in names and AS_USUAL.columns[0] in names:
        task = AS_USUAL.columns[0]
    if label not in names and AS_USUAL.columns[2] in names:
        label = AS_USUAL.columns[2]
    return task, label


def labels_for(reading: Reading, source: Source | None, what: str = "the known labels") -> Any:
    """Read known labels of the tasks of answers that were read before; None if there are none.

    The arguments are those of `read_known_labels`.

    >>> from quorate.io.read import read_source
    >>> answers = read_source({"item": [1], "worker": ["ann"], "label": ["cat"]}, ReadOptions(task="item"))
    >>> labels_for(answers, {1: "cat"})["task"].to_pylist()
    [1]
    """
    if source is None:
        return None
    with about_labels(what):
        check_labels_given(source, reading.answers.task_names, what)
        if reading.answers.questions is not None:
            options = AS_USUAL if reading.export else reading.options
            task, _, label = options.columns
            table = one_table(source, options)
            return several_gold(table, reading.answers.questions, task=task, label=label, what=what)
        options = _gold_options(reading, source)
        tasks, labels = read_known_labels(source, options, what, reading.answers.task_names)
        if reading.options.merge_spellings:
            labels = spell_as_classes(labels, reading.answers.classes)
        if reading.is_sample:
            is_known_task = from_numpy(_match(tasks, reading.answers.task_names, what, "tasks").codes >= 0)
            tasks = tasks.filter(is_known_task)
            labels = labels.filter(is_known_task)
        return {"task": tasks, "label": labels}


def _gold_options(reading: Reading, source: Source) -> ReadOptions:
    """Return the options that name the columns of known labels: as in the answers, or as in the tool's exports."""
    if reading.export is None or reading.export.tool == TABLE:
        return reading.options
    export_columns = reading.export.columns
    if export_columns is None:
        return AS_USUAL
    names = column_names(source)
    return ReadOptions(
        task=export_columns.task,
        label=next((name for name in export_columns.labels if name in names), export_columns.labels[0]),
    )


def gold_for(reading: Reading, source: Source | None) -> Any:
    """Read the known labels of answers; without a source, return those that another tool's export marks as known.

    >>> import quorate
    >>> from quorate.io.read import Reading
    >>> gold_for(Reading(quorate.read({"task": [1], "worker": ["ann"], "label": ["cat"]})), None) is None
    True
    """
    if source is None and reading.export is not None:
        return labels_for(reading, reading.export.gold) if reading.export.several else reading.export.gold
    return labels_for(reading, source)


@dataclass(frozen=True, eq=False)
class LocalGold:
    """Known labels that are matched with parts of the tasks in turn, and which of them were matched so far."""

    tasks: pa.Array
    labels: pa.Array
    seen: BoolArray = field(repr=False)

    def codes_of(self, names: pa.Array) -> IntArray:
        """Return the index of the known label of each of these tasks, -1 for none; mark these labels as matched."""
        indices = codes_among(self.tasks, names, "known tasks")
        known: IntArray = np.flatnonzero(indices >= 0)
        self.seen[known] = True
        codes = np.full(len(names), -1, np.int32)
        codes[indices[known]] = known
        return codes

    def check(self, classes: pa.Array) -> None:
        """Refuse known labels of tasks that were not matched, and known labels that are not a class.

        Raises:
            GoldError: a task or a class does not occur in the answers.
        """
        tasks = Matched(self.tasks, np.where(self.seen, 0, -1))
        with about_labels("the known labels"):
            _refuse_unknown(tasks, _match(self.labels, classes, "the known labels"), classes)

    def classed(self, codes: IntArray, classes: pa.Array) -> IntArray:
        """Return the class code of known labels, given by their index (-1: no known label)."""
        indices = np.append(codes_among(self.labels, classes, "known labels"), -1)
        return indices.astype(np.int32)[codes]


def local_gold(source: Source | None, reading: ReadOptions = AS_USUAL) -> LocalGold | None:
    """Read known labels that are matched with parts of the tasks in turn; None if there are none.

    Args:
        source: what `quorate.io.gold.match_truth` takes.
        reading: options with which the answers are read; gold has the same column names.

    >>> gold = local_gold({2: "dog"})
    >>> gold.codes_of(pa.array([1, 2])).tolist()
    [-1, 0]
    """
    if source is None:
        return None
    with about_labels("the known labels"):
        tasks, labels = read_known_labels(source, reading)
    return LocalGold(tasks, labels, np.zeros(len(tasks), bool))
