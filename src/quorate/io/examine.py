"""Examine a file for `quorate doctor`: its format, the role of each column, its counts, and the possible next steps."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.errors import (
    EmptyFileError,
    InputError,
    NotUtf8Error,
    OptionError,
    QuorateError,
    RaggedRowsError,
    StrayQuoteError,
    TooLargeError,
    UnreadableFileError,
    WrongFormatError,
    count,
    shown,
)
from quorate.io.column_names import quoted
from quorate.io.detect_columns import detect
from quorate.io.exports.content import Content
from quorate.io.exports.detect import LAYOUT, TABLE, recognise_content
from quorate.io.exports.formats import FORMATS
from quorate.io.exports.pairwise import propose_rank
from quorate.io.frame import frame_of
from quorate.io.model_names import models_of
from quorate.io.open_file import Loaded, compression_of, head, hold
from quorate.io.options import AS_USUAL, ReadOptions, names_resolved
from quorate.io.plan import Plan
from quorate.io.proposals import (
    PURPOSES,
    TABLE_OBJECT,
    advised_labels,
    command_line,
    has_command,
    new_file,
    other_commands,
)
from quorate.io.read import Reading, read_source
from quorate.io.read_table import Source, format_of
from quorate.io.several_files import content_of
from quorate.io.write_table import SCHEMA_VERSION

MAX_EXAMINED_BYTES = 1 << 26  # of a larger file, only the beginning is examined
BEGINNING_BYTES = 1 << 23  # of a larger file that are examined
# Errors that mean that a file cannot be parsed, whichever columns it has.
BROKEN_FILE = (
    EmptyFileError,
    NotUtf8Error,
    RaggedRowsError,
    StrayQuoteError,
    TooLargeError,
    UnreadableFileError,
    WrongFormatError,
)
LAYOUT_OPTIONS = (
    *("task", "worker", "label", "workers", "worker_name", "fold", "gold_column", "column_names", "question"),
)
MIN_WORKERS = 3  # needed to rate workers without known labels
# Layouts of plain tables, for `quorate doctor --formats`.
LAYOUTS = {
    "long": "one row per answer: columns of the task, the worker and the answer, whatever their names",
    "wide": "one row per task and a column per worker: --workers 'judge_*'",
    "matrix": "the same without a header, blank where nobody answered (MACE): --columns none --workers '*'",
    "triples": "three columns without a header: --columns task,worker,label",
    "lists": "a list of workers and a list of their answers per row: --worker annotators --label annotations",
    "positions": "a list of answers per row without names: --workers labels",
    "classes": "a column per class, marked 0 or 1, or with counts of votes: --label 'votes_*'",
    "folded": "a column per question, each of which is a separate task: --fold 'adj_*'",
    "one file per worker": "several files; the file name is the worker if no column has the worker: --worker-name",
    "composite key": "several columns that identify the task together: --task page,sound",
}
FILE_TYPES = (
    "CSV, TSV, Parquet, JSON, JSON lines, Excel (pip install 'quorate[excel]'), YAML (pip install 'quorate[yaml]'); "
    "also compressed: .gz, .bz2, .zst, .lz4"
)


@dataclass(frozen=True)
class NextStep:
    """A command that works on the file."""

    purpose: str
    command: str


@dataclass(frozen=True)
class Examination:
    """Result of `quorate doctor` for a file."""

    files: tuple[str, ...]
    what: str  # the format or layout, in words
    outcome: str  # "read": as it is; "proposed": with the options that the first command has; "refused"; "unreadable"
    reason: str = ""  # why it is refused
    columns: tuple[str, ...] = ()  # sentences: the role of each column, and why
    counts: Mapping[str, int] = field(default_factory=dict)
    can: tuple[NextStep, ...] = ()
    missing: tuple[str, ...] = ()  # sentences: what the file lacks for other steps
    warnings: tuple[str, ...] = ()
    sampled: str = ""  # sentence: which part was examined; empty for the complete file

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `quorate doctor --json` prints."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    def lines(self) -> list[str]:
        """Return the lines that `quorate doctor` prints."""
        more = "" if len(self.files) == 1 else f" and {count(len(self.files) - 1, 'other file')}"
        lines = [f"{self.files[0]}{more}: {self.what}"]
        if self.sampled:
            lines.append(f"  {self.sampled}")
        lines += [f"  {sentence}" for sentence in self.columns]
        if self.reason and self.outcome != "unreadable":  # this reason is the error with which the command ends
            lines += ["", f"These answers cannot be combined. {self.reason}"]
        if self.counts:
            has = "The file has" if len(self.files) == 1 else "The files have"
            lines += ["", f"{has} {_counts_text(self.counts)}."]
        lines += [f"Warning: {warning}" for warning in self.warnings]
        if self.can:
            width = max(len(step.purpose) for step in self.can)
            lines += ["", "What you can do:"]
            lines += [f"  {step.purpose.ljust(width)}  {step.command}" for step in self.can]
        if self.missing:
            lines += ["", "What is missing for more:"]
            lines += [f"  {sentence}" for sentence in self.missing]
        return lines


def _counts_text(counts: Mapping[str, int]) -> str:
    nouns = {"tasks": "task", "workers": "worker", "answers": "answer", "classes": "class"}
    main = ", ".join(count(counts[name], noun) for name, noun in nouns.items())
    other_counts = [
        count(counts[name], text)
        for name, text in (
            ("gold", "known label"),
            ("repeats", "repeated answer"),
            ("conflicts", "conflicting answer"),
            ("blanks", "empty or ignored row"),
        )
        if counts[name]
    ]
    return f"{main}; {', '.join(other_counts)}" if other_counts else main


def examine(source: Source, reading: ReadOptions = AS_USUAL) -> Examination:
    """Examine a file: its format, the role of each column, and the commands that work on it.

    Args:
        source: what `quorate.read` takes; of a large file, only the beginning is examined.
        reading: options of the caller, such as the columns to use.

    Raises:
        UnreadableFileError: the file does not exist or is not readable.

    >>> table = {"item": [1, 1, 2, 2] * 3, "annotator": list("abab") * 3, "answer": list("xyxx") * 3}
    >>> examination = examine(table)
    >>> examination.outcome, examination.counts["tasks"], examination.counts["workers"]
    ('read', 2, 2)
    """
    _refuse_missing_files(source)
    files = _file_names(source)
    source = hold(source)
    part, sampled = _beginning(source)
    what = "unreadable"
    columns: tuple[str, ...] = ()
    plan: Plan | None = None
    try:
        content = content_of(part, reading)
        files = content.files or files
        pairs = propose_rank(content) if reading == AS_USUAL and not content.parts else None
        if pairs is not None:
            what = "a file of pairwise comparisons"
            can = (NextStep(PURPOSES["rank"], pairs.command),)
            return Examination(files, what, "refused", f"The file holds {pairs.sentence}", can=can, sampled=sampled)
        resolved = names_resolved(reading, content.fields)
        tool = recognise_content(content, resolved) if reading.tool == "auto" else reading.tool
        what = _describe(content, tool)
        if tool in (LAYOUT, TABLE):
            plan = detect(frame_of(content, sample=True), resolved)
            columns = _columns(resolved, plan, tool)
        elif tool in FORMATS:
            columns = (f"Recognised by {FORMATS[tool].signs}.",)
        result, options, refused, questions, listed = _read(part, reading)
        columns = (*columns, *listed)
    except BROKEN_FILE as error:
        return Examination(files, what, "unreadable", str(error), columns, sampled=sampled)
    except InputError as error:
        return Examination(files, what, "refused", str(error), columns, sampled=sampled)
    if result is None:
        steps = [] if plan is None else _other_steps(plan, files, plan.options)
        for number, question in enumerate(questions, 1):
            command = command_line("aggregate", files, {"question": str(number)})
            steps.append(NextStep(f"{number}. {question}", command))
        return Examination(files, what, "refused", refused, columns, can=tuple(steps), sampled=sampled)
    outcome = "proposed" if options else "read"
    chosen = {**reading.non_default(LAYOUT_OPTIONS), **options}
    warnings = tuple(dict.fromkeys([*(plan.warnings if plan is not None else ()), *result.warnings()]))
    return Examination(
        files,
        what,
        outcome,
        "",
        (*columns, *result.notes, *(() if result.export is None else result.export.notes)),
        _counts(result),
        tuple(_next_steps(result, files, chosen, plan)),
        tuple(_missing_inputs(result, files, chosen)),
        warnings,
        sampled,
    )


def _refuse_missing_files(source: Source) -> None:
    if (
        isinstance(source, str | Path)
        and "://" not in str(source)
        and str(source) != "-"
        and not any(mark in str(source) for mark in "*?[")
    ):
        if not os.path.exists(source):
            raise UnreadableFileError(f"There is no file {source}")
    elif isinstance(source, list | tuple):
        for part in source:
            if isinstance(part, str | Path):
                _refuse_missing_files(part)


def _file_names(source: Source) -> tuple[str, ...]:
    if isinstance(source, list | tuple) and source and isinstance(source[0], str | Path):
        return tuple(map(str, source))
    return (str(source),) if isinstance(source, str | Path) else (TABLE_OBJECT,)


def _beginning(source: Source) -> tuple[Source, str]:
    """Return the beginning of a large file of lines, and the sentence about it; other sources as they are, and ""."""
    if not isinstance(source, str | Path) or not os.path.isfile(source):
        return source, ""
    size = os.path.getsize(source)
    is_lines = format_of(source) in ("csv", "tsv", "jsonl") and compression_of(Path(source)) is None
    if size <= MAX_EXAMINED_BYTES or not is_lines:
        return source, ""
    raw = head(source, BEGINNING_BYTES)
    data = raw[: raw.rfind(b"\n") + 1] or raw
    note = (
        f"Only the first {len(data) / 1000000.0:.0f} of {size / 1000000.0:,.0f} MB were examined; the "
        "counts are for this part."
    )
    return Loaded(str(source), pa.py_buffer(data)), note


def _describe(content: Content, tool: str) -> str:
    if tool in FORMATS:
        return FORMATS[tool].about
    if content.parts:
        return f"{count(len(content.parts), 'file')} of one layout"
    if content.headerless:
        return "a table without a header"
    if content.layout == "rows":
        return f"a table with {count(len(content.fields), 'column')}"
    if content.json_lines:
        return "JSON: one object per line, or one object"
    return "JSON" if content.layout == "records" else "a file of unknown content"


def _columns(reading: ReadOptions, plan: Plan, tool: str) -> tuple[str, ...]:
    if tool == TABLE:
        task, worker, label = reading.columns
        roles = f"{quoted(task)} is the task, {quoted(worker)} the worker and {quoted(label)} the answer"
        named = [role for role, column in reading.chosen.items() if column is not None]
        if not named:
            by = "recognised by their names"
        elif len(named) == 3:
            by = "as you named them"
        else:
            by = "as you named them, or recognised by their names"
        return (f"{roles} ({by})",)
    sentences = [f"{sentence[0].upper()}{sentence[1:]}" for sentence in plan.why]
    return (*sentences, *([plan.question] if plan.question else []))


def _read(
    source: Source, reading: ReadOptions
) -> tuple[Reading | None, dict[str, Any], str, tuple[str, ...], tuple[str, ...]]:
    """Read a file with the caller's options or, if it is refused, with the options that the error proposes.

    Returns:
        the answers read, or None; the proposed options that were used; why the file is refused; the questions of which
        the user must choose one; the sentence that lists the questions of the file, if one was chosen here.
    """
    options: dict[str, Any] = {}
    questions_listed: tuple[str, ...] = ()
    error: QuorateError | None = None
    for _ in range(3):  # one proposal may lead to another, about conflicts
        try:
            return read_source(source, replace(reading, **options)), options, "", (), questions_listed
        except BROKEN_FILE:
            raise
        except (InputError, OptionError) as refusal:
            error = refusal
            if not refusal.proposal or set(refusal.proposal.items()) <= set(options.items()):
                break
            options |= refusal.proposal
            if refusal.proposal.get("question"):
                questions_listed = (f"{refusal}. Counted here: {shown(refusal.proposal['question'])}",)
    if error is not None and error.proposal is None:
        for lenient in (
            {"on_conflict": "first"},
            {"skip_missing": True},
            {"on_conflict": "first", "skip_missing": True},
        ):
            try:
                read = read_source(source, replace(reading, **options, **lenient))
            except (InputError, OptionError, TypeError):
                continue
            return read, {**options, **lenient}, "", (), questions_listed
    return None, {}, str(error), () if error is None else error.questions, ()


def _counts(result: Reading) -> dict[str, int]:
    answers = result.answers
    gold = result.export.gold if result.export is not None else None
    left_out = sum(result.export.left_out.values()) if result.export is not None else 0
    return {
        "tasks": answers.n_tasks,
        "workers": answers.n_workers,
        "answers": answers.n_answers,
        "classes": answers.n_classes,
        "gold": 0 if gold is None else len(gold),
        "repeats": answers.n_repeats,
        "conflicts": answers.n_conflicting,
        "blanks": answers.n_skipped + left_out,
    }


def _has_overlap(answers: Answers) -> bool:
    return bool(np.any(np.bincount(answers.task, minlength=answers.n_tasks) > 1))


def _next_steps(result: Reading, files: Sequence[str], options: Mapping[str, Any], plan: Plan | None) -> list[NextStep]:
    """Return the commands that can be run on the answers, the most useful first."""
    steps = [("aggregate", "Get one label per task, and rate every worker")]
    if result.answers.n_workers == 1:
        steps = [("aggregate", "Get the answers as a table, without confidence")]
    if _has_overlap(result.answers):
        steps.append(("agreement", "Measure how much the workers agree"))
        steps.append(("diagnose", "Find unreliable workers and unclear tasks"))
    if result.export is not None and result.export.gold is not None:
        steps.append(("estimate", "Estimate class shares and accuracy, with intervals"))
    done = [NextStep(purpose, command_line(name, files, options)) for name, purpose in steps if has_command(name)]
    return done if plan is None else [*done, *_other_steps(plan, files, {**options, **plan.options})]


def _other_steps(plan: Plan, files: Sequence[str], options: Mapping[str, Any]) -> list[NextStep]:
    """Return the commands for other purposes that fit the table."""
    return [NextStep(PURPOSES[line.split()[1]], line) for line in other_commands(plan, files, options)]


def _missing_inputs(result: Reading, files: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    answers = result.answers
    lacking = []
    if answers.n_workers < MIN_WORKERS:
        lacking.append(
            f"To rate workers, at least {MIN_WORKERS} must answer the same tasks; there "
            f"{'is' if answers.n_workers == 1 else 'are'} {answers.n_workers}."
        )
    if not _has_overlap(answers):
        lacking.append("To combine answers, several per task are needed; every task has one.")
    has_models = models_of(answers, answers.judges) is not None
    n_labels = advised_labels(answers.n_tasks, has_models=has_models)
    if n_labels and (result.export is None or result.export.gold is None):
        advise = command_line("advise", files, options)
        lacking.append(
            "To check accuracy, known labels of some tasks are needed. To choose the tasks: "
            f"{advise} --expert {n_labels} -o {new_file('expert.csv')}"
        )
    return lacking
