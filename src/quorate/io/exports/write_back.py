"""Write labels to a file that an annotation tool imports as predictions or suggestions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.errors import ColumnTypeError, OptionError, shown, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.columns import encode
from quorate.io.exports.content import Record, as_text, look
from quorate.io.exports.export import Export
from quorate.io.inputs import guard_inputs
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table
from quorate.io.values import id_text
from quorate.io.write_table import write_json

TOOLS = ("labelstudio", "argilla")


def results_for(export: Export, labels: Source, *, agent: str = "quorate") -> list[Record]:
    """Return the records of an export with labels: as predictions for Label Studio, as suggestions for Argilla.

    Args:
        export: result of `read_export`; its tool decides the form of the labels.
        labels: one row per task, with the columns task, label and, optionally, confidence: `Result.labels`, or a file
            that `quorate aggregate -o` wrote.
        agent: the origin that the tool shows: `model_version` in Label Studio, `agent` in Argilla.

    Raises:
        OptionError: the tool does not import results, or the export lacks the fields that are needed.

    >>> from quorate.io.exports.detect import read_export
    >>> record = {"id": "7", "fields": {"text": "hi"}, "responses": {"tone": [{"value": "glad", "user_id": "u"}]}}
    >>> labels = {"task": ["7"], "label": ["glad"], "confidence": [0.75]}
    >>> results_for(read_export([record]), labels)[0]["suggestions"]["tone"]["score"]
    0.75
    """
    from quorate.io.exports.argilla import suggestions
    from quorate.io.exports.label_studio import predictions

    writers: dict[str, Callable[..., list[Record]]] = {"labelstudio": predictions, "argilla": suggestions}
    if export.tool not in writers:
        raise OptionError(
            f"Labels cannot be written for {export.tool}. Write a table instead (--to csv, parquet or jsonl)"
        )
    content = look(labels)
    names = ("labels", "mean_confidence") if "labels" in content.fields else ("label", "confidence")
    scored = names[1] in content.fields
    remedy = "Labels to write back have the columns task and label, as `quorate aggregate -o` writes them"
    columns = dict.fromkeys(["task", names[0], *([names[1]] if scored else [])], remedy)
    table = read_table(labels, columns, content.reading, fixed=True)
    values = [_values(table, name) for name in table.column_names]
    rows = zip(*values[:2], values[2] if scored else [None] * table.num_rows, strict=True)
    label_of_task = {}
    for row, (task, label, score) in enumerate(rows, start=1):
        if label is None:  # a task without answers
            continue
        # The value that the tool wrote, such as a number or a list of choices, before it was converted to text.
        value = label if isinstance(label, list) else export.values.get(as_text(label) or "", label)
        label_of_task[id_text(task)] = (value, _score(score, row))
    return writers[export.tool](export, label_of_task, agent)


def _values(table: pa.Table, name: str) -> list[Any]:
    """Return a column of ids, labels or numbers as Python values, None where a field is missing; lists unchanged."""
    if pa.types.is_list(table.column(name).type):
        return list(table.column(name).to_pylist())
    codes, names = encode(table.column(name), name)
    listed = [*names.to_pylist(), None]  # the last element is for the code -1
    return [listed[code] for code in codes.tolist()]


def _score(value: Any, row: int) -> float | None:
    """Return the confidence of a label, a number from 0 to 1 or None, which both tools take."""
    if value is None:
        return None
    try:
        score = float(value)
    except (TypeError, ValueError):
        score = -1.0
    if not 0 <= score <= 1:
        raise ColumnTypeError(
            f"the confidence of the labels is {shown(value)} in row {row:,}; it must be a number from 0 to 1, or empty"
        )
    return score


@check_arguments
@keep_pipes()
def write_back(export: Export, labels: Source, path: str | Path, to: str, *, agent: str = "quorate") -> None:
    """Write labels as a JSON file that the tool imports; the file is written atomically.

    Args:
        export: result of `quorate.read_export`.
        labels: one row per task, with the columns task, label and, optionally, confidence: `Result.labels`, or a file
            that `quorate aggregate -o` wrote.
        path: path of the file; ``-`` is standard output.
        to: ``labelstudio`` or ``argilla``; it must be the tool of the export.
        agent: the origin that the tool shows: `model_version` in Label Studio, `agent` in Argilla.

    >>> from quorate.io.exports.detect import read_export
    >>> record = {"id": "7", "responses": {"tone": [{"value": "glad", "user_id": "u"}]}, "suggestions": {}}
    >>> write_back(read_export([record]), {"task": ["7"], "label": ["glad"]}, "-", "argilla")
    [{"id": "7", "suggestions": {"tone": {"value": "glad", "score": null, "agent": "quorate"}}}]
    """
    if to not in TOOLS:
        raise unknown_name_error(to, TOOLS, "to= (--to)")
    if export.tool != to:
        raise OptionError(
            f"Labels for {to} need an export of {to}, and this export is of {export.tool}. Give the export of {to}"
        )
    with guard_inputs({"path=": path}):
        write_json(results_for(export, labels, agent=agent), path)
