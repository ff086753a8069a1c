"""A source that is no plain table of task, worker and label, and no tool's export -> its answers.

The caller's column options are used; the others are detected (`detect_columns`). Where that leaves a
doubt, nothing is read, and the error proposes the command that would read it.
"""

from dataclasses import dataclass, replace

from quorate.errors import MissingColumnError, QuorateError, listing
from quorate.io.column_names import match_name, quoted_names, strength
from quorate.io.detect_columns import detect
from quorate.io.exports.content import Content
from quorate.io.exports.detect import lists_workers
from quorate.io.exports.export import Export
from quorate.io.frame import Frame, columns_named, columns_of_option, frame_of
from quorate.io.options import ReadOptions, layout_is_plain
from quorate.io.plan import Plan
from quorate.io.proposals import refusal
from quorate.io.wide import read_layout


@dataclass(frozen=True)
class LayoutReading:
    """How a source is to be read: as a plain table under these options, or as the answers that were found."""

    options: ReadOptions
    export: Export | None  # None: `quorate.io.rows` can read the source itself
    notes: tuple[str, ...] = ()


def is_explicit(reading: ReadOptions, *, several: bool = False) -> bool:
    """Whether the options name the columns of the answers and of the workers; of several files, each may be a worker.

    >>> is_explicit(ReadOptions(workers="judge_*")), is_explicit(ReadOptions(task="item"))
    (True, False)
    """
    if reading.workers is not None or reading.fold is not None:
        return True
    if reading.label is not None and any(mark in reading.label for mark in "*?[,"):  # a column per class
        return True
    worker = several or reading.worker is not None or reading.worker_name is not None
    return worker and reading.label is not None


def _lacks_task(content: Content, reading: ReadOptions) -> bool:
    """Whether rows are answers of several tasks, and neither an option nor a name shows which column is the task."""
    one_row_per_task = reading.workers is not None
    if reading.label is not None and reading.worker is None and reading.worker_name is None:
        one_row_per_task = True  # a column per class, with counts of votes
    has_task = reading.task is not None or match_name("task", list(content.fields)) in content.fields
    return not (one_row_per_task or has_task or content.index)


def read_unknown_layout(content: Content, reading: ReadOptions) -> LayoutReading:
    """Read a source by the caller's options, and by what its columns look like.

    Args:
        content: the source.
        reading: the options of the caller.

    Raises:
        MissingColumnError: the layout is not certain; the error proposes the command.
        UnknownFormatError: there are no answers in it; the error names what there is instead.
    """
    notes: tuple[str, ...] = ()
    if is_explicit(reading, several=bool(content.parts) and reading.task is not None):
        if _lacks_task(content, reading):
            _propose_task(content, reading)
        options = reading
    else:
        frame = frame_of(content, sample=True)
        plan = detect(frame, reading)
        if plan.kind == "ratings" and getattr(reading, "is_score", False):
            plan = replace(plan, problem="", also=())
        if not plan.is_readable or not plan.certain:
            raise refused(content, frame, plan)
        options = replace(reading, **plan.options)
        notes = tuple(f"{sentence[0].upper()}{sentence[1:]}." for sentence in plan.why)
    simple = layout_is_plain(options) and set(options.columns) <= set(content.fields)
    is_table = (content.layout == "rows" or content.json_lines) and not lists_workers(content, options)
    if simple and is_table and not content.parts and not content.is_joined and not content.headerless:
        known = replace(
            options,
            format=content.reading.format or options.format,
            delimiter=content.reading.delimiter,
            encoding=content.reading.encoding,
        )
        return LayoutReading(known, None, (*content.notes, *notes))
    export = read_layout(frame_of(content, sample=False), options)
    return LayoutReading(options, replace(export, notes=(*notes, *export.notes)))


def _propose_task(content: Content, reading: ReadOptions) -> None:
    """Refuse a table of answers whose task is not named, where a column can be the task; with it as a proposal.

    Raises:
        MissingColumnError: some column can be the task, or every row would be a task of its own.
    """
    frame = frame_of(content, sample=True)
    if frame.index:
        return
    taken = {*columns_of_option(frame, reading.worker), *columns_of_option(frame, reading.label)}
    if reading.fold is not None:
        taken |= set(columns_named(frame, reading.fold, "fold"))
    named = [name for name in frame.columns if strength(name, "task") and name not in taken]
    if reading.fold is None:
        plan = detect(frame, reading)
        if plan.is_readable and "task" in plan.options:
            raise refused(content, frame, plan)
    if reading.worker is None or (reading.fold is not None and not named):
        return  # the rows of one worker are numbered; columns that are a task each need no other
    hint = f" {quoted_names(named[:4])} may be it." if named else ""
    raise MissingColumnError(
        f"{content.name} has no column 'task', which tells which rows answer the same task; it has "
        f"{listing(content.fields, 12)}.{hint} Name the column of the task with task= (--task)"
    )


def refused(content: Content, frame: Frame, plan: Plan) -> QuorateError:
    """Return the error for a source that is not read as it stands."""
    files = content.files or (content.name,)
    return refusal(frame, plan, files)
