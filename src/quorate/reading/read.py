"""Anything that holds answers -> `Answers`. Start here."""

from dataclasses import dataclass, replace
from typing import Any, Unpack

from quorate.answers import Answers
from quorate.errors import OptionError
from quorate.reading.exports import TABLE, export_of, recognise
from quorate.reading.files import Source
from quorate.reading.formats.export import Export
from quorate.reading.loading import hold
from quorate.reading.options import AS_USUAL, ReadKeywords, ReadOptions, read_options
from quorate.reading.rows import read_rows


@dataclass(frozen=True)
class Reading:
    """Answers, from where and how they were read and, of another tool's export, what else it held."""

    answers: Answers
    source: Source = None
    options: ReadOptions = AS_USUAL
    export: Export | None = None
    is_sample: bool = False  # whether the answers are some of those there are, so that labels may be for others

    def told(self) -> dict[str, Any]:
        """Return what a program must be told of them besides: nothing, unless they are a sample."""
        return {}


def read(source: Source, **reading: Unpack[ReadKeywords]) -> Answers:
    """Read answers from a file, a table, or another tool's export.

    Args:
        source: a path (CSV, TSV, Parquet, JSON lines, also compressed, or the export of an annotation tool), ``"-"``
            for standard input, a mapping of columns, or a table of pandas, polars, pyarrow, DuckDB or Hugging Face.
        task: the column of task ids, ``task`` by default; of an export, the field that tells tasks apart.
        worker: the column of worker ids, ``worker`` by default.
        label: the column of labels, ``label`` by default.
        on_conflict: when a worker gave one task two different labels: ``error``, keep the ``first`` or the ``last``,
            or ``drop`` them all. An exact repeat always counts once.
        skip_missing: leave out rows with a missing field, and count them, instead of refusing.
        classes: every class there is, in order, if some may not occur in the answers.
        format: ``csv``, ``tsv``, ``parquet`` or ``jsonl``, where the name does not say.
        delimiter: what separates the fields of a CSV file, if it is no comma.
        encoding: of a CSV file.
        tool: whose export it is: ``labelstudio``, ``argilla``, ``mturk``, ``toloka``, ``prodigy``, ``crowdkit``,
            ``cleanlab``, or ``table`` for a plain table; by default the content tells.
        question: of an export that asks several.
        join_choices: of an export, take several classes chosen at once for a class of their own, ``a|b``.
        keep_rejected: of an export, count assignments that the requester rejected.
        merge_spellings: make one label of those that differ only by case or spaces, spelled as most answers do.
        group: the column that says which workers belong together (model family, vendor, site) and may err together.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.
        OptionError: an option has a value that means nothing.

    >>> answers = read({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    return read_source(source, read_options(reading)).answers


def read_source(source: Source, reading: ReadOptions = AS_USUAL) -> Reading:
    """Read answers from a plain table or an export; for an export, also keep what else it held.

    Of a plain table only the first bytes are looked at before it is read.

    >>> found = read_source({"task": [1], "worker": ["ann"], "label": ["cat"]})
    >>> found.answers.n_answers, found.export
    (1, None)
    """
    source = hold(source)
    tool = recognise(source, reading) if reading.tool == "auto" else reading.tool
    if tool == TABLE:
        return Reading(read_rows(source, reading), source, reading)
    if reading.group is not None:
        raise OptionError(
            "group= (--group) names a column of a plain table, and this is another tool's export; say it with "
            "quorate.aggregate(..., group={worker: group})"
        )
    export = export_of(source, replace(reading, tool=tool))
    merging = reading.merge_spellings
    classes = export.classes if reading.classes is None and not merging else reading.classes
    plain = ReadOptions(on_conflict=reading.on_conflict, classes=classes, merge_spellings=merging)
    return Reading(read_rows(export.table, plain), source, reading, export)


def given(source: Answers | Reading | Source, reading: ReadKeywords) -> Reading:
    """Take answers as they are, and read anything else.

    Raises:
        OptionError: the answers were read before, so that nothing can be said any more about how.

    >>> given({"item": [1], "worker": ["ann"], "label": ["cat"]}, {"task": "item"}).answers.n_tasks
    1
    """
    if not isinstance(source, Answers | Reading):
        return read_source(source, read_options(reading))
    if reading:
        named = ", ".join(f"{name}=" for name in reading)
        raise OptionError(f"these answers have been read already, so {named} comes too late; give it to quorate.read")
    return source if isinstance(source, Reading) else Reading(source)
