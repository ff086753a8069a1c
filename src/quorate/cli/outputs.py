"""Outputs of a command: checks before anything is read, and tables in the form in which they are written to files.

Files have the user's column names for tasks and workers, and numbers with six significant digits.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from quorate.errors import OptionError, count
from quorate.io.atomic import STREAM, check_outputs
from quorate.io.inputs import guard_inputs, guard_nothing

if TYPE_CHECKING:
    from quorate.answers import Answers
    from quorate.arrays import Table
    from quorate.io.extra_columns import TaskTexts
    from quorate.io.options import ReadOptions
    from quorate.io.read import Reading

# Parameters that name a file to write; those with the metavar FOLDER name a folder and are not checked here.
OUTPUT_NAMES = frozenset(
    {
        "output",
        "labels_out",
        "workers_out",
        "soft_labels_out",
        "review_out",
        "key",
        "tasks_out",
        "gold_out",
        "truth_out",
        "skills_out",
        "answers_out",
        "pairs_out",
        "next_out",
        "report_out",
        "junit",
        "summary",
    }
)


@contextmanager
def guarded_outputs(parameters: Sequence[Any], values: Mapping[str, Any]) -> Iterator[None]:
    """Raise errors, before anything is computed, for outputs that would replace each other or an input of the command.

    Other problems are found when the output is written.

    Args:
        parameters: of the command.
        values: of its parameters, by name.
    """
    outputs = {
        parameter.opts[0]: values[parameter.name]
        for parameter in parameters
        if parameter.name in OUTPUT_NAMES
        and parameter.metavar != "FOLDER"
        and parameter.param_type_name == "option"
        and values.get(parameter.name) is not None
    }
    if outputs:
        check_outputs(outputs)
        streamed = [flag for flag, path in outputs.items() if path == STREAM]
        if values.get("json") and streamed:
            raise OptionError(
                f"--json and {streamed[0]} would both go to standard output; name a file with {streamed[0]}"
            )
    with guard_inputs(outputs):
        yield


def rounded(table: "Table") -> "Table":
    """Return a table with its numbers rounded to six significant digits.

    >>> import pyarrow as pa
    >>> from quorate.arrays import Table
    >>> rounded(Table(pa.table({"task": [1], "confidence": [0.6760585299531466]}))).arrow.to_pylist()
    [{'task': 1, 'confidence': 0.676059}]
    """
    import numpy as np
    import pyarrow as pa

    import quorate.arrow_compute as pc
    from quorate.arrays import Table, from_numpy, to_numpy
    from quorate.io.write_csv import six_digits

    arrow = table.arrow
    for k, field in enumerate(arrow.schema):
        if not pa.types.is_floating(field.type):
            continue
        column = arrow.column(k).combine_chunks()
        is_null = to_numpy(pc.is_null(column)) if column.null_count else None
        numbers = to_numpy(pc.cast(column, pa.float64()))
        digits = six_digits(numbers if is_null is None else np.where(is_null, 0.0, numbers))
        arrow = arrow.set_column(k, field, pc.cast(from_numpy(digits, mask=is_null), field.type))
    return Table(arrow)


def for_files(table: "Table", reading: "Reading", *, plain_columns: bool = False) -> "Table":
    """Return a table as it is written to a file: with the user's names for task and worker, and rounded."""
    from quorate.io.options import ReadOptions

    export_columns = None if reading.export is None else reading.export.columns
    if plain_columns or (reading.export is not None and export_columns is None):  # an export without columns
        return rounded(table)
    return in_user_columns(
        table,
        reading.options
        if export_columns is None
        else ReadOptions(task=export_columns.task, worker=export_columns.worker),
    )


def in_user_columns(table: "Table", options: "ReadOptions") -> "Table":
    """Return a table rounded, with the columns of tasks and workers named as in the reading options."""
    from quorate.arrays import Table
    from quorate.io.options import split_names

    table = rounded(table)
    names = list(table.column_names)
    for usual in ("task", "worker"):
        chosen = getattr(options, usual, None)
        # Not if another column of the output, such as label, has this name already.
        is_one_column = chosen is not None and len(split_names(chosen)) == 1
        if is_one_column and usual in names and chosen not in names:
            names[names.index(usual)] = chosen
    return Table(table.arrow.rename_columns(names))


def with_texts(table: "Table", texts: "TaskTexts | None", answers: "Answers") -> "Table":
    """Return the table with a column of the texts of the tasks after the column of tasks."""
    import pyarrow as pa

    from quorate.arrays import Table

    if texts is None or "task" not in table.column_names:
        return table
    by_task = dict(zip(answers.task_names.to_pylist(), texts.values, strict=True))
    arrow = table.arrow
    values = [by_task.get(task) for task in arrow.column("task").to_pylist()]
    index = arrow.column_names.index("task") + 1
    return Table(arrow.add_column(index, texts.name, pa.array(values, pa.string())))


def known_workers_table(path: str | None, reading: "Reading") -> Any:
    """Return the file of known workers; if it has the user's column of workers, a table with the column ``worker``."""
    from quorate.io.exports.content import look
    from quorate.io.read_table import read_table

    name = reading.options.columns[1]
    if path is None or name == "worker" or not os.path.isfile(path):  # a pipe can be read only once
        return path
    fields = look(path).fields
    if "worker" in fields or name not in fields:
        return path
    table = read_table(path, dict.fromkeys(fields, ""), fixed=True)
    return table.rename_columns(["worker" if column == name else column for column in table.column_names])


def refuse_filled_in(output: str | None, reading: "Reading") -> None:
    """Raise an error if the output would overwrite a file with labels that were filled in.

    Raises:
        OptionError: the file has a column of labels that is not empty.
    """
    from quorate.io.gold import column_names, known_label_columns
    from quorate.io.read_table import read_table
    from quorate.io.values import is_blank
    from quorate.notes import new_file

    if output is None or output == STREAM or not os.path.isfile(output):
        return
    with guard_nothing():
        _, label = known_label_columns(output, reading.options)
        if label not in column_names(output):
            return
        labels = read_table(output, {label: ""}, fixed=True).column(label).to_pylist()
    n_labels = sum(not is_blank(value) for value in labels)
    if n_labels:
        raise OptionError(
            f"-o {output} would overwrite a file with {count(n_labels, 'label')} in its column {label!r}. Choose "
            f"another name, such as -o {new_file(output)}; to use these labels, add --gold {output}"
        )
