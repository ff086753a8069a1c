"""Read a file, a table or an export into `Answers`: `read` is the public function, `read_source` does the work."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from quorate.addresses import render_address
from quorate.answers import Answers
from quorate.errors import OptionError
from quorate.io.arguments import check_arguments
from quorate.io.exports.content import Content
from quorate.io.exports.detect import LAYOUT, TABLE, export_of, recognise_content
from quorate.io.open_file import Loaded, OpenedSource, hold
from quorate.io.options import (
    AS_USUAL,
    JUDGES,
    ReadKeywords,
    ReadOptions,
    TableKeywords,
    layout_is_plain,
    names_resolved,
    read_options,
    without_layout,
)
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.io.rows import read_rows
from quorate.io.several_files import content_of, expand_files

if TYPE_CHECKING:
    from quorate.io.exports.export import Export
    from quorate.io.layouts import LayoutReading

PLAIN = TableKeywords.__optional_keys__ | {"tool"}  # options that apply to plain tables


@dataclass(frozen=True)
class Reading(OpenedSource):
    """Answers with their source and reading options and, for another tool's export, its further content."""

    answers: Answers
    source: Source = field(default=None, repr=False)
    options: ReadOptions = AS_USUAL
    export: "Export | None" = None
    notes: tuple[str, ...] = ()  # sentences on how the source was read, if it is not a plain table
    is_sample: bool = False  # whether the answers are a sample, so that known labels may be for other tasks

    @property
    def name(self) -> str | None:
        """The file from which the answers were read, for messages and reports; None for a stream or an object."""
        return render_address(self.source) if isinstance(self.source, str | Path) else None

    def warnings(self, *, with_counts: bool = True) -> list[str]:
        """Return warnings about the answers, each with its remedy."""
        from quorate.io.warnings import answer_warnings

        return answer_warnings(self.answers, self.options, with_counts=with_counts)

    def sample_fields(self) -> dict[str, Any]:
        """Return the fields for ``--json`` that describe the sample; empty if the answers are not a sample."""
        return {}


@check_arguments
@keep_pipes()
def read(source: Source, **reading: Unpack[ReadKeywords]) -> Answers:
    """Read answers from a file, a table, or another tool's export.

    Args:
        source: a path (CSV, TSV, Parquet, JSON lines, also compressed, or the export of an annotation tool), ``"-"``
            for standard input, a mapping of columns, a list of records, or a table of pandas, polars, pyarrow, DuckDB
            or Hugging Face.
        task: the column of task ids, ``task`` by default; for an export, the field that identifies a task.
        worker: the column of worker ids, ``worker`` by default.
        label: the column of labels, ``label`` by default.
        on_conflict: when a worker gave one task two different labels: ``error``, keep the ``first`` or the ``last``,
            or ``drop`` them all. An exact repeat always counts once.
        skip_missing: leave out rows with a missing field, and count them, instead of refusing them.
        classes: all classes, in order, if some of them may not occur in the answers.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, if the file name does not show it.
        delimiter: separator of the fields of a CSV file; detected by default.
        encoding: encoding of a CSV file; ``auto`` detects UTF-8, UTF-16 (by its byte order mark) and cp1252.
        tool: the tool that wrote the export: ``labelstudio``, ``argilla``, ``mturk``, ``toloka``, ``prodigy``,
            ``crowdkit``, ``cleanlab``; for LLM judges ``inspect``, ``promptfoo``, ``lm-eval``, ``deepeval``,
            ``mlflow``, ``langfuse``, ``phoenix``, ``openai``; or ``table`` for a plain table. By default it is detected
            from the content.
        question: which question to read, if an export has several.
        join_choices: for an export, treat several ticked classes as one combined class, ``a|b``.
        keep_rejected: for an export, count assignments that the requester rejected.
        multi: separator between labels, if one answer can have several, for example ``","``; each label becomes a
            yes/no question. A column of lists needs no separator.
        merge_spellings: merge labels that differ only by case or spaces, with the most frequent spelling.
        group: the column of groups of workers who may share mistakes (model family, vendor, site).
        judges: whether the workers are language models. Their agreement shows less about how often they are right than
            the agreement of people. By default, the file format and the names of the workers decide.
        abstain: labels that mean "no answer", for example ``["unsure", "n/a"]``. They are never classes; they are
            counted by worker and task, and the default method uses them if a worker abstains more often on one class
            than on another. With an empty name in the list, or with ``skip_missing``, a missing label counts as an
            abstention.
        map: the class of each answer, if workers give grades: a mapping such as ``{"1": "bad", "3": "good"}``, or a
            table with the columns ``answer`` and ``class``; an answer without a class is an abstention. The default
            method estimates the weight of each grade of each worker.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.
        OptionError: an option has an invalid value.

    >>> answers = read({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    return read_source(source, read_options(reading)).answers


def read_source(source: Source, reading: ReadOptions = AS_USUAL) -> Reading:
    """Read answers from a plain table or an export; for an export, also return its further content.

    To recognise a plain table, only its first bytes are read.

    >>> result = read_source({"task": [1], "worker": ["ann"], "label": ["cat"]})
    >>> result.answers.n_answers, result.export
    (1, None)
    """
    source = hold(source)
    files = expand_files(source)
    if files is not None and len(files) == 1 and not os.path.isdir(source if isinstance(source, str | Path) else ""):
        source = files[0]
    notes: tuple[str, ...] = ()
    tool = reading.tool
    content: Content | None = None
    if tool == "auto" or (tool == TABLE and not layout_is_plain(reading)):
        content = content_of(source, reading)
        reading = names_resolved(reading, content.fields)
        tool = recognise_content(content, reading) if tool == "auto" else LAYOUT
    if tool == LAYOUT and content is not None:
        from quorate.io.layouts import read_unknown_layout  # not needed for a plain table

        layout = read_unknown_layout(content, reading)
        if layout.export is not None:
            return _read_layout(layout, source, reading)
        tool = TABLE
        reading = layout.options
        notes = layout.notes
    elif tool == TABLE and content is not None and content.layout == "rows":
        notes = content.notes
        if isinstance(source, str | Path | Loaded):
            delimiter = reading.delimiter or content.reading.delimiter
            reading = replace(reading, delimiter=delimiter, encoding=content.reading.encoding)
    if tool == TABLE:
        reading.refuse_but(PLAIN, "in a plain table")
        table = source if content is None or content.ready is None else content.ready  # a workbook is opened once
        return Reading(replace(read_rows(table, reading), judges=reading.judges), source, reading, notes=notes)
    if reading.group is not None:
        raise OptionError(
            "group= (--group) names a column of a plain table, and this is another tool's export. Convert it to a "
            "table with quorate convert, and add the column; in Python, quorate.aggregate takes group={worker: group}"
        )
    if reading.multi is not None:
        raise OptionError(
            "multi= (--multi) splits the labels of a plain table, and this is another tool's export, which already "
            "lists several choices. Leave it out"
        )
    from quorate.io.exports.export import GROUP, JOINT  # not needed for a plain table

    export = export_of(source, replace(reading, tool=tool))
    merging = reading.merge_spellings
    classes = reading.classes
    if classes is None and not merging and reading.map is None and not export.several:
        classes = [name for name in export.classes if name not in reading.abstain]
    other_options = {name: getattr(reading, name) for name in ("on_conflict", "merge_spellings", "abstain", "map")}
    group = GROUP if GROUP in export.table.arrow.column_names else None
    multi = JOINT if export.several else None
    if reading.is_score and export.several:
        raise OptionError("answers that choose several labels at once have no score; choose another question")
    if reading.is_score:
        worker = None if reading.has_workers else reading.worker
        plain = replace(without_layout(reading), worker=worker, group=group)
    else:
        plain = ReadOptions(classes=classes, group=group, multi=multi, **other_options)
    judges = True if reading.judges is None and tool in JUDGES else reading.judges
    return Reading(replace(_read_export(export, plain), judges=judges), source, reading, export)


def _read_layout(layout: "LayoutReading", source: Source, reading: ReadOptions) -> Reading:
    """Return the answers of a table that was converted from another layout to one row per answer."""
    assert layout.export is not None  # the caller has checked it
    from quorate.io.exports.export import JOINT

    plain = without_layout(layout.options)
    if layout.export.several and plain.multi is None:
        plain = replace(plain, multi=JOINT)
    if plain.is_score:
        plain = replace(plain, label="label")  # the name of the column of answers after the conversion
    answers = read_rows(layout.export.table, plain)
    return Reading(replace(answers, judges=reading.judges), source, reading, layout.export)


def _read_export(export: "Export", reading: ReadOptions) -> Answers:
    """Return the answers of an export, with its abstentions: rows without a label and with a reason."""
    if export.abstentions is None or export.several:
        return read_rows(export.table, reading)
    answered = export.table.to_arrow()
    abstained = export.abstentions.to_arrow()
    rows = pa.concat_tables([answered, abstained], promote_options="default")
    return read_rows(rows, reading, reason="reason")


def as_reading(source: Answers | Reading | Source, reading: ReadKeywords) -> Reading:
    """Return answers that were read before; read any other source.

    Raises:
        OptionError: the answers were read before, and reading options are given.

    >>> as_reading({"item": [1], "worker": ["ann"], "label": ["cat"]}, {"task": "item"}).answers.n_tasks
    1
    """
    if not isinstance(source, Answers | Reading):
        return read_source(source, read_options(reading))
    if set(reading) == {"judges"}:  # this option describes the workers, not how the answers are read
        result = source if isinstance(source, Reading) else Reading(source)
        return replace(result, answers=replace(result.answers, judges=reading["judges"]))
    if reading:
        named = ", ".join(f"{name}=" for name in reading)
        raise OptionError(f"these answers have been read already, so {named} comes too late; give it to quorate.read")
    return source if isinstance(source, Reading) else Reading(source)
