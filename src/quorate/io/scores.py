"""Read a table of scores (numbers instead of classes) into `Scores`, with the functions that read answers.

Each distinct score has a code, as a class has, so that exports, engines, groups and blocks work as for labels. The
values of the codes are float64.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, Unpack, get_args

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import TEXT, FloatArray, IntArray, Shown, Table, from_numpy, table_of, take, to_numpy
from quorate.errors import (
    ColumnTypeError,
    ConflictingGoldError,
    OptionError,
    ScoreError,
    UnknownFormatError,
    UnknownGoldTaskError,
    count,
    listing,
    refuse_unknown_options,
    rows_phrase,
    shown,
)
from quorate.io.arguments import check_arguments
from quorate.io.columns import codes_among, encode, numbers_in, refuse_missing, value_of_each
from quorate.io.dataframes import is_series, label_columns
from quorate.io.gold_files import KnownColumns, combine_files
from quorate.io.labels import codes_of
from quorate.io.open_file import hold
from quorate.io.options import ExportKeywords, ReadOptions
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source, read_table
from quorate.io.warnings import NO_ANSWER

NO_WORKER = "none"  # value of worker= (--worker) for a table without a column of raters
ANYBODY = "anybody"  # name of the only worker of such a table
COLUMN_NAMES = ("score", "label", "rating")  # usual names of the column of scores; the first one in the table is used
MEAN = "mean"
ScorePolicy: TypeAlias = Literal["mean", "error", "first", "last", "drop"]
SCORE_POLICIES: tuple[str, ...] = get_args(ScorePolicy)
FRACTION = re.compile(r"^\s*[-+]?\d+(?:[.,]\d+)?\s*/\s*\d+(?:[.,]\d+)?\s*$")
DECIMAL_COMMA = re.compile(r"^\s*[-+]?\d*,\d+\s*$")
PERCENT = re.compile(r"^\s*[-+]?\d+(?:[.,]\d+)?\s*%\s*$")


class ScoreFileKeywords(ExportKeywords, total=False):
    """Options for reading scores from a file of any layout."""

    score: str | None
    on_conflict: ScorePolicy
    tool: str
    judges: bool | None
    abstain: Sequence[Any]
    worker_name: str | None
    fold: str | None
    gold_column: str | None


class WideScoreKeywords(ScoreFileKeywords, total=False):
    """Options for reading scores, also from a table with one column per worker."""

    workers: Sequence[str] | str | None


class GroupedScoreKeywords(ScoreFileKeywords, total=False):
    """Options for reading scores, also from a table with a column of groups."""

    group: str | None


class ScoreKeywords(WideScoreKeywords, GroupedScoreKeywords, total=False):
    """All options of `quorate.read_scores`."""


KEYWORDS = tuple(dict.fromkeys(("task", "worker", "score", *ScoreKeywords.__annotations__)))


@dataclass(frozen=True)
class ScoreOptions(ReadOptions):
    """Options for reading scores: as `ReadOptions`, with numbers instead of labels.

    >>> ScoreOptions(task="item").columns
    ('item', 'worker', 'score')
    """

    is_score: ClassVar[bool] = True
    policies: ClassVar[tuple[str, ...]] = SCORE_POLICIES
    label_name: ClassVar[str] = "score"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("classes", "multi", "map", "merge_spellings"):
            if getattr(self, name) not in (None, False):
                raise OptionError(f"{name}= is for labels that are classes; leave it out for scores")
        if not self.has_workers:
            if self.group is not None:
                raise OptionError(
                    "group= (--group) has no effect with worker='none' (--worker none), because the raters are "
                    "unknown. Leave it out"
                )
            object.__setattr__(self, "on_conflict", MEAN)  # every row is an answer of a different rater

    @property
    def has_workers(self) -> bool:
        """Whether the table has a column of raters."""
        return self.worker != NO_WORKER

    @property
    def columns(self) -> tuple[str, str, str]:
        """The columns of tasks, workers and scores of a plain table."""
        worker = (self.worker or "worker") if self.has_workers else ANYBODY
        return self.task or "task", worker, self.label or "score"

    def required_columns(self) -> dict[str, str]:
        """Return required column -> the remedy that an error names if it is missing."""
        required_columns = super().required_columns()
        if not self.has_workers:
            del required_columns[ANYBODY]
        elif self.worker is None:
            hint = "Choose one with worker= (--worker), or use worker='none' (--worker none) if the raters are unknown"
            required_columns[self.columns[1]] = hint
        return required_columns

    def completed(self, table: pa.Table) -> pa.Table:
        """Return the table; without raters, a column with one worker for all rows is added."""
        if self.has_workers:
            return table
        anybody = pa.array([ANYBODY]).take(pa.array(np.zeros(table.num_rows, np.int64)))
        return table.append_column(ANYBODY, anybody)


@dataclass(frozen=True, repr=False)
class Scores(Shown):
    """Scores of tasks by workers: codes as in `Answers`, and the scores as float64.

    >>> scores = read_scores({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "score": [3.5, 4, 2]})
    >>> scores
    <Scores: 3 scores by 2 workers of 2 tasks, from 2 to 4>
    >>> scores.score.tolist()
    [3.5, 4.0, 2.0]
    """

    answers: Answers  # with the distinct scores, ascending, as classes
    has_workers: bool = True
    name: str | None = None  # name of the file, for proposed commands
    options: ReadOptions = field(default_factory=ScoreOptions)

    @cached_property
    def values(self) -> FloatArray:
        """The distinct scores, ascending."""
        return to_numpy(self.answers.classes).astype(np.float64)

    @property
    def task(self) -> IntArray:
        """Task code of each answer."""
        return self.answers.task

    @property
    def worker(self) -> IntArray:
        """Worker code of each answer."""
        return self.answers.worker

    @cached_property
    def score(self) -> FloatArray:
        """Score of each answer."""
        return self.values[self.answers.label]

    @property
    def n_answers(self) -> int:
        """Number of scores."""
        return self.answers.n_answers

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return self.answers.n_tasks

    @property
    def n_workers(self) -> int:
        """Number of workers; 0 if they are unknown."""
        return self.answers.n_workers if self.has_workers else 0

    def summary(self) -> str:
        """Return the numbers of scores, workers and tasks, and the range of the scores, as text."""
        who = f" by {count(self.n_workers, 'worker')}" if self.has_workers else ""
        low, high = self.values[[0, -1]]
        return f"{count(self.n_answers, 'score')}{who} of {count(self.n_tasks, 'task')}, from {low:g} to {high:g}"

    def to_table(self) -> Table:
        """Return a table with one row per score and the columns task, worker (if known) and score."""
        columns = {"task": take(self.answers.task_names, self.task)}
        if self.has_workers:
            columns["worker"] = take(self.answers.worker_names, self.worker)
        columns["score"] = from_numpy(self.score)
        return Table(table_of(columns))

    def _tables(self) -> tuple[Table, ...]:
        return (Table(self.to_table().arrow.slice(0, 11)),)


def score_options(keywords: Mapping[str, Any]) -> ScoreOptions:
    """Return the `ScoreOptions` for the keyword arguments of `read_scores`.

    Raises:
        OptionError: an option does not exist, or its value is not allowed.
    """
    remaining = dict(keywords)
    refuse_unknown_options(remaining, KEYWORDS, " for reading scores")
    score = remaining.pop("score", None)
    if score is not None:
        remaining["label"] = score
    return ScoreOptions(**remaining)


@check_arguments
@keep_pipes()
def read_scores(source: "Source | Scores", **reading: Unpack[ScoreKeywords]) -> Scores:
    """Read scores from a file, a table, or another tool's export.

    Args:
        source: what `quorate.read` takes.
        reading: ``task``, ``worker`` and ``score`` name the columns; by default, the scores are in the column
            ``score``, ``label`` or ``rating``. ``worker="none"`` is for a table without raters, in which every row is
            taken for a different rater. ``on_conflict`` decides when a worker gave one task two scores: ``error``,
            ``mean`` (all are kept, as repeated scores of this rater), ``first``, ``last`` or ``drop``. The other
            options are those of `quorate.read`: skip_missing, abstain, group, judges, tool, question, format,
            delimiter, encoding, workers, worker_name, fold, column_names.

    Raises:
        ScoreError: a score is not a number; the message names the rows.
        InputError: the data cannot be used; each cause has its own class.
        OptionError: an option has an invalid value.

    >>> read_scores({"task": [1, 1], "worker": ["ann", "bob"], "rating": ["3", "4.5"]}).score.tolist()
    [3.0, 4.5]
    """
    from quorate.io.read import Reading

    if isinstance(source, Scores | Answers | Reading):
        if reading:
            named = ", ".join(f"{name}=" for name in reading)
            raise OptionError(f"these scores have been read already; give {named} to quorate.read_scores")
        return source if isinstance(source, Scores) else _from_answers(source)
    return read_score_source(source, score_options(reading))


def _from_answers(source: Any) -> Scores:
    """Convert answers whose classes are numbers to scores."""
    answers = source if isinstance(source, Answers) else source.answers
    options = getattr(source, "options", None)
    if options is None or not options.is_score:
        options = ScoreOptions()

    def rows_of(code: int) -> Sequence[int]:
        rows: list[int] = np.flatnonzero(answers.label == code).tolist()
        return rows

    values = numbers_of(answers.classes, options.columns[2], rows_of, lambda rows: count(len(rows), "answer"))
    distinct, inverse = np.unique(values, return_inverse=True)
    numbered = replace(answers, label=inverse[answers.label].astype(np.int32), classes=from_numpy(distinct))
    return Scores(numbered, options.has_workers, getattr(source, "name", None), options)


def read_score_source(source: Source, options: ScoreOptions) -> Scores:
    """Read scores with options that are already checked."""
    from quorate.io.read import read_source

    source = hold(source)
    resolved = resolve_score_column(source, options)
    try:
        result = read_source(source, resolved)
    except UnknownFormatError as error:
        if resolved.label is None:
            raise
        raise UnknownFormatError(
            f"{error}. Name the column of the raters with worker= (--worker), or state worker='none' (--worker none) "
            "if nothing names them"
        ) from None
    name = str(source) if isinstance(source, str | Path) else None
    return Scores(result.answers, options.has_workers, name, result.options)


def resolve_score_column(source: Source, options: ScoreOptions) -> ScoreOptions:
    """Return the options with the column of scores: by default, the first of `COLUMN_NAMES` that the table has."""
    from quorate.io.exports.detect import fields_of

    if options.tool not in ("auto", "table") or (options.label is not None and options.has_workers):
        return options
    fields = fields_of(source, options)
    label = options.label or next((name for name in COLUMN_NAMES if name in fields), None)
    tool = options.tool
    if not options.has_workers and {options.task or "task", label} <= set(fields):
        tool = "table"  # only the column of workers is missing
    return replace(options, label=label, tool=tool)


def numbers_of(
    names: pa.Array, column: str, rows_of: Callable[[int], Sequence[int]], phrase_rows: Callable[[Sequence[int]], str]
) -> FloatArray:
    """Return the distinct values of a column as numbers.

    Args:
        names: the distinct values.
        column: name of the column, for messages.
        rows_of: function from the index of a distinct value to the rows that contain it.
        phrase_rows: function that names rows in messages.

    Raises:
        ScoreError: a value is not a finite number; the message shows it, its rows and the remedy.
    """
    kind = names.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and kind not in TEXT:
        raise ColumnTypeError(f"column {column!r} holds {kind} values, and a score is a number")
    values = numbers_in(names)
    wrong = np.flatnonzero(np.isnan(values))
    if len(wrong):
        first = int(wrong[0])
        value = names[first].as_py()
        are = "is not a number" if len(wrong) == 2 else "are not numbers"
        more = "" if len(wrong) == 1 else f"; {count(len(wrong) - 1, 'other value')} {are} either"
        raise ScoreError(
            f"column {column!r} holds {shown(value)}, which is not a number, in {phrase_rows(list(rows_of(first)))}"
            f"{more}. {_remedy(value)}"
        )
    return values


def _remedy(value: Any) -> str:
    text = str(value)
    if FRACTION.match(text):
        return "In every row, write only the score (4), or the quotient (0.8)"
    if DECIMAL_COMMA.match(text):
        return "Write a decimal point instead of the comma: 4.5"
    if PERCENT.match(text):
        return "Write the number without the percent sign in every row"
    if text.strip().lower().lstrip("+-") in ("inf", "infinity"):
        return "Write the end of the scale instead, or leave the row out"
    if text.strip().lower() in (*NO_ANSWER, "none"):
        word = text.strip()
        return f"If it stands for no score, name it with abstain=[{word!r}] (--abstain {shlex.quote(word)})"
    return "Name the column of the scores with score= (--score); for classes in words use quorate aggregate"


def as_scores(
    codes: IntArray, names: pa.Array, options: ReadOptions, phrase_rows: Callable[[Sequence[int]], str] = rows_phrase
) -> tuple[IntArray, pa.Array]:
    """Recode a column by the numbers in its texts, ascending; equal numbers get the same code.

    >>> codes, values = as_scores(np.array([0, 1, 2]), pa.array(["4.0", "3", "4"]), ScoreOptions())
    >>> codes.tolist(), values.to_pylist()
    ([1, 0, 1], [3.0, 4.0])
    """
    new_code = np.full(len(names) + 1, -1, np.int32)  # the last element is for a missing field
    abstains = np.isin(np.arange(len(names)), codes_of(options, names))
    scored = np.flatnonzero(~abstains)

    def rows_of(position: int) -> Sequence[int]:
        rows: list[int] = np.flatnonzero(codes == scored[position]).tolist()
        return rows

    values = numbers_of(take(names, scored), options.columns[2], rows_of, phrase_rows)
    distinct, inverse = np.unique(values, return_inverse=True)
    new_code[scored] = inverse
    return new_code[codes], from_numpy(distinct)


def _known_columns(source: Any, options: ReadOptions) -> KnownColumns:
    """Return a table of known scores with the names of its task and score columns."""
    from quorate.io.exports.detect import fields_of

    task_name, _, score_name = options.columns
    source = hold(source)
    plain = ReadOptions(tool="table", format=options.format, delimiter=options.delimiter)
    fields = list(source) if isinstance(source, Mapping) else list(fields_of(source, plain))
    task_name = task_name if task_name in fields else "task"
    if score_name not in fields:
        score_name = next((name for name in COLUMN_NAMES if name in fields), score_name)
    return KnownColumns(source, task_name, score_name, has_probability=False)


def read_known_scores(source: Any, task_ids: pa.Array, options: ReadOptions) -> tuple[IntArray, FloatArray]:
    """Read known scores; return the index of each known task in `task_ids`, ascending, and its score.

    Args:
        source: a mapping from task to score, or what `quorate.read` takes, with the column names of the answers.
        task_ids: ids of all tasks.
        options: options with which the answers were read.

    Raises:
        ScoreError: a known score is not a number.
        UnknownGoldTaskError: a task has no answers.
        ConflictingGoldError: a task has two known scores.
    """
    task_name, _, score_name = options.columns
    if is_series(source) or (isinstance(source, Mapping) and task_name not in source and "task" not in source):
        source = label_columns(source, task_name, score_name)
    chosen = _known_columns(combine_files(source, lambda file: _known_columns(file, options)), options)
    source = chosen.source
    task_name = chosen.task
    score_name = chosen.label
    remedy = f"The known scores need the columns {task_name!r} and {score_name!r}; rename your columns"
    table = read_table(source, {task_name: remedy, score_name: remedy}, fixed=True)
    tasks, names = encode(table.column(task_name), task_name)
    codes, scores = encode(table.column(score_name), score_name, is_label=True)
    for code, name in ((tasks, task_name), (codes, score_name)):
        refuse_missing(code, name, "the known scores", remedy="fill it in, or leave the row out", error=ScoreError)

    def phrase_rows(rows: Sequence[int]) -> str:
        return f"{rows_phrase(rows)} of the known scores"

    value = numbers_of(scores, score_name, lambda code: np.flatnonzero(codes == code).tolist(), phrase_rows)[codes]
    score_of_task = value_of_each(
        tasks,
        value,
        names,
        lambda task, rows: ConflictingGoldError(
            f"task {task} has two known scores (see {rows}); keep one score per task"
        ),
    )
    task_codes = codes_among(names, task_ids, "known tasks")
    if (task_codes < 0).any():
        missing = names.filter(from_numpy(task_codes < 0)).to_pylist()
        raise UnknownGoldTaskError(
            f"The known scores include tasks that nobody rated: {listing(missing)}. Check the ids, or remove them"
        )
    order = np.argsort(task_codes, kind="stable")
    return task_codes[order], score_of_task[order]
