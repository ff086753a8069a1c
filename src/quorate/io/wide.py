"""A table of any layout whose columns are named -> one row per answer: task, worker, label.

Layouts: a column of answers (long); a column per worker (wide), or one that holds a list or a mapping of answers; a
column per question, each a task of its own (folded); a column per class (marks or counts of votes).
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from quorate.arrays import Table, table_of
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    ConflictingGoldError,
    MissingColumnError,
    NoRowsError,
    OptionError,
    TooLargeError,
    count,
    listing,
    rows_phrase,
    shown,
)
from quorate.io.column_names import match_name
from quorate.io.columns import SKIP_REMEDY
from quorate.io.detect_keys import id_columns
from quorate.io.exports.export import JOINT, NEVER, Export
from quorate.io.frame import Frame, columns_named, one_column
from quorate.io.json_documents import cell_text
from quorate.io.options import ReadOptions
from quorate.io.values import FROM_FILE, integer_text, natural_order

LONGEST_CELL = 1_000_000  # characters of a field that is parsed as a list
MOST_VOTES = 1_000  # of one class in one row, where fields count votes
MOST_ANSWERS = 200_000_000  # that are made of one table


@dataclass
class LongRows:
    """One row per answer. This object is filled while a table is read."""

    task: list[str] = field(default_factory=list)
    worker: list[str] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    group: list[str | None] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    several: bool = False  # whether an answer may hold several labels, with JOINT between two

    def add(self, task: str, worker: str, label: str | None, group: str | None = None) -> None:
        """Add one answer."""
        self.task.append(task)
        self.worker.append(worker)
        self.label.append(label)
        self.group.append(group)


def read_layout(frame: Frame, reading: ReadOptions) -> Export:
    """Read the answers of a table whose layout the options state.

    Args:
        frame: the table, with all its rows.
        reading: ``task`` (one column or several), and ``worker`` and ``label``, or ``workers``, or ``fold``, ...

    Raises:
        InputError: a column is missing, or a field that is needed is blank.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> frame = frame_of(look({"item": [1, 2], "ann": ["x", "y"], "bob": ["x", None]}), sample=False)
    >>> read_layout(frame, ReadOptions(task="item", workers="ann,bob")).table.to_pylist()[-1]
    {'task': '2', 'worker': 'ann', 'label': 'y'}
    """
    rows = LongRows()
    if reading.workers is not None and reading.fold is not None:
        raise OptionError("workers= (--workers) and fold= (--fold) are two layouts; give one of them")
    if reading.workers is not None:
        names = columns_named(frame, reading.workers, "workers")
        tasks = _tasks_of_rows(frame, reading, names, rows)
        _read_wide(frame, reading, tasks, names, rows)
    elif reading.fold is not None:
        names = natural_order(columns_named(frame, reading.fold, "fold"))
        tasks = _tasks_of_surveys(frame, reading) or _tasks_of_answers(frame, reading, rows)
        _read_folded(frame, reading, tasks, names, rows)
    else:
        names = columns_named(frame, reading.label or "label", "label")
        if len(names) == 1:
            tasks = _tasks_of_answers(frame, reading, rows)
            _read_long(frame, reading, tasks, names[0], rows)
        elif _has_workers(frame, reading):
            tasks = _tasks_of_answers(frame, reading, rows)
            _read_marks(frame, reading, tasks, names, rows)
        else:
            tasks = _tasks_of_rows(frame, reading, names, rows)
            _read_votes(frame, tasks, names, rows)
    if not rows.task:
        raise NoRowsError(f"{frame.name} has columns, but no answers in them")
    return _export(frame, reading, tasks, rows)


# --- tasks ---


def _tasks_of_answers(frame: Frame, reading: ReadOptions, rows: LongRows) -> list[str | None]:
    """Return the task of each row of a table with one row per answer: a column of ids, or the number of the row."""
    default = match_name("task", list(frame.columns))
    if reading.task is not None:
        return _ids(frame, columns_named(frame, reading.task, "task"))
    if default in frame.columns:
        return frame.texts(default)
    return _numbered(frame, rows, "no column is named as the task")


def _tasks_of_surveys(frame: Frame, reading: ReadOptions) -> list[str | None]:
    """Return blank ids where every row is another worker who answered the same questions; nothing for other tables."""
    has_task = reading.task is not None or match_name("task", list(frame.columns)) in frame.columns
    workers, column = _workers_of_rows(frame, reading)
    if has_task or frame.index or column is None:
        return []
    if len(set(workers)) < len(workers):
        raise MissingColumnError(
            f"{shown(column)} has several rows of one worker, and no column of {frame.name} is named as the task that "
            "each row is about; name it with task= (--task)"
        )
    return [""] * frame.n_rows


def _tasks_of_rows(frame: Frame, reading: ReadOptions, answers: Sequence[str], rows: LongRows) -> list[str | None]:
    """Return the task of each row of a table with one row per task: the only column that identifies it, or its number.

    Args:
        frame: the table.
        reading: may name the columns of the task.
        answers: the columns that hold answers, and no ids.
        rows: gets a note of what was taken for the task.
    """
    if reading.task is not None:
        return _ids(frame, columns_named(frame, reading.task, "task"))
    if frame.index:
        return frame.texts(frame.index[0])
    gold = [] if reading.gold_column is None else columns_named(frame, reading.gold_column, "gold_column")
    candidates = id_columns(frame, [*answers, *gold])
    if len(candidates) == 1:
        rows.notes.append(
            f"the task is {shown(candidates[0])}, which has a different value in every row; task= "
            "(--task) names another column"
        )
        return _ids(frame, candidates)
    if candidates:
        return _numbered(frame, rows, f"{listing(candidates, 4)} may all identify the task")
    return _numbered(frame, rows, "no column identifies a row")


def _numbered(frame: Frame, rows: LongRows, why: str) -> list[str | None]:
    if frame.index:
        return frame.texts(frame.index[0])
    rows.notes.append(f"tasks are numbered by row, because {why}; task= (--task) names the column of the task")
    return [str(number) for number in range(1, frame.n_rows + 1)]


def _ids(frame: Frame, names: Sequence[str]) -> list[str | None]:
    """Return the ids in one column, or those that several columns make together; None where they are blank."""
    if len(names) == 1:
        return _plain_texts(frame, names[0])
    parts = [_plain_texts(frame, name) for name in names]
    keys = list(zip(*parts, strict=True))
    joined = [None if None in key else " / ".join(part or "" for part in key) for key in keys]
    if len(set(joined)) < len(set(keys)):  # a part holds the separator, or is blank
        joined = [None if all(part is None for part in key) else json.dumps(key, ensure_ascii=False) for key in keys]
    return joined


def _plain_texts(frame: Frame, name: str) -> list[str | None]:
    """Return a column as text, in which 1.0 is 1; None where it is blank."""
    return [None if text is None else integer_text(text) for text in frame.texts(name)]


# --- layouts ---


def _read_long(frame: Frame, reading: ReadOptions, tasks: list[str | None], label: str, rows: LongRows) -> None:
    labels = _plain_texts(frame, label)
    workers, worker = _workers_of_rows(frame, reading)
    nested = frame.profiles[label].nested
    if worker is not None and nested and frame.profiles[worker].nested:
        _read_parallel(frame, reading, tasks, workers, labels, (worker, label), rows)
        return
    groups = _groups(frame, reading)
    missing = []
    for k, (task, who, value) in enumerate(zip(tasks, workers, labels, strict=True)):
        if task is None or who is None or (value is None and not reading.abstain):
            missing.append(k)
            continue
        rows.add(task, who, value, groups[k])
    if missing:
        if not reading.skip_missing:
            raise BlankFieldError(
                f"the task, the worker or {shown(label)} is missing in {rows_phrase(missing)} of {frame.name}. "
                f"{SKIP_REMEDY}"
            )
        rows.left_out["with a blank field"] += len(missing)


def _workers_of_rows(frame: Frame, reading: ReadOptions) -> tuple[list[str | None], str | None]:
    """Return the worker of each row, and the column of the workers; None where an option or the file names it."""
    if reading.worker_name is not None:
        return [reading.worker_name] * frame.n_rows, None
    columns = list(frame.columns)
    name = match_name(reading.worker or "worker", columns)
    if reading.worker is None and name not in columns and FROM_FILE in frame.columns:
        return list(frame.texts(FROM_FILE)), None
    names = columns_named(frame, reading.worker or "worker", "worker")
    if len(names) == 1:
        return _plain_texts(frame, names[0]), names[0]
    parts = [_plain_texts(frame, column) for column in names]
    return [None if None in key else " / ".join(map(str, key)) for key in zip(*parts, strict=True)], None


def _groups(frame: Frame, reading: ReadOptions) -> list[str | None]:
    if reading.group is None:
        return [None] * frame.n_rows
    return frame.texts(one_column(frame, reading.group, "group"))


def _read_parallel(
    frame: Frame,
    reading: ReadOptions,
    tasks: list[str | None],
    workers: list[str | None],
    labels: list[str | None],
    names: tuple[str, str],
    rows: LongRows,
) -> None:
    """Read two lists per row, of workers and of their labels in the same order."""
    for k, (task, who, value) in enumerate(zip(tasks, workers, labels, strict=True)):
        if who is None and value is None:
            continue
        people = parse_list(who)
        answers = parse_list(value)
        if task is None or people is None or answers is None or len(people) != len(answers):
            raise ColumnTypeError(
                f"row {k + 1:,} of {frame.name}: {shown(names[0])} has {_size(people)} and {shown(names[1])} "
                f"{_size(answers)} entries; both must have the same number"
            )
        for person, answer in zip(people, answers, strict=True):
            _add_entry(rows, task, cell_text(person), answer)


def _size(entries: list[Any] | None) -> str:
    return "no" if entries is None else f"{len(entries):,}"


def _add_entry(rows: LongRows, task: str, worker: str | None, answer: Any) -> None:
    """Add one entry of a list: a label, or a list of those that were chosen together."""
    chosen = answer if isinstance(answer, list) else [answer]
    texts = [integer_text(text) for text in map(cell_text, chosen) if text is not None]
    if not texts or worker is None:
        rows.left_out["blank"] += 1
        return
    if len(texts) > 1:
        rows.several = True
    rows.add(task, worker, JOINT.join(sorted(set(texts))))


def parse_list(text: str | None) -> list[Any] | None:
    """Parse a field that holds a list: as JSON, as Python writes it, or with commas between.

    >>> parse_list("['a', 'b']"), parse_list('["a", null]'), parse_list("0,1"), parse_list(None)
    (['a', 'b'], ['a', None], ['0', '1'], None)
    """
    if text is None:
        return None
    text = text.strip()
    if text[:1] not in ("[", "("):
        return [part.strip() for part in text.split(",")]
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = _literal(text)
    return list(parsed) if isinstance(parsed, list | tuple) else None


def parse_object(text: str | None) -> dict[str, Any] | None:
    """Parse a field that holds a mapping: as JSON, or as Python writes it.

    >>> parse_object("{'ann': 1}"), parse_object("x")
    ({'ann': 1}, None)
    """
    if text is None or text.strip()[:1] != "{":
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = _literal(text.strip())
    return parsed if isinstance(parsed, dict) else None


def _literal(text: str) -> Any:
    if len(text) > LONGEST_CELL:
        return None
    try:
        return ast.literal_eval(re.sub(r"\bnan\b", "None", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _read_wide(
    frame: Frame, reading: ReadOptions, tasks: list[str | None], names: Sequence[str], rows: LongRows
) -> None:
    for role in ("worker", "label", "worker_name"):
        if getattr(reading, role) is not None:
            raise OptionError(
                f"{role}= (--{role}) has no effect with workers= (--workers), which names one column per "
                "worker. Leave it out"
            )
    _check_tasks(frame, reading, tasks)
    if len(names) == 1 and frame.profiles[names[0]].nested:
        _read_entries(frame, tasks, names[0], rows)
        return
    titles = worker_titles(names)
    answers = [_plain_texts(frame, name) for name in names]
    for k, task in enumerate(tasks):
        answered = False
        for title, column in zip(titles, answers, strict=True):
            value = column[k]
            if value is None:
                rows.left_out["blank"] += 1
            else:
                rows.add(task or "", title, value)
                answered = True
        if not answered:
            rows.left_out[NEVER] += 1
    rows.notes.append(f"read as one row per task and one column per worker: {listing(titles, 8)}")


def worker_titles(names: Sequence[str]) -> list[str]:
    """Name workers by their columns, without the path that all of them have in common.

    >>> worker_titles(["scores.gpt-4", "scores.gemma 2.5"]), worker_titles(["ann", "bob"])
    (['gpt-4', 'gemma 2.5'], ['ann', 'bob'])
    """
    first = names[0]
    shared = len(first)
    for name in names[1:]:
        same = next(
            (k for k, (a, b) in enumerate(zip(first, name, strict=False)) if a != b), min(len(first), len(name))
        )
        shared = min(shared, same)
    dot = first[:shared].rfind(".") if len(names) > 1 else -1
    titles = [name[dot + 1 :] for name in names]
    return titles if all(titles) and len(set(titles)) == len(titles) else list(names)


def _read_entries(frame: Frame, tasks: list[str | None], name: str, rows: LongRows) -> None:
    """Read a column whose fields hold several answers: a mapping from worker to answer, or a list without names."""
    is_mapping = frame.profiles[name].nested == "object"
    for k, (task, text) in enumerate(zip(tasks, frame.texts(name), strict=True)):
        if text is None:
            rows.left_out[NEVER] += 1
            continue
        entries: Mapping[Any, Any] | None = parse_object(text)
        if not is_mapping:
            answers = parse_list(text)
            entries = (
                None if answers is None else {f"position {n}": answer for n, answer in enumerate(answers, start=1)}
            )
        if entries is None:
            kind = "mapping" if is_mapping else "list"
            raise ColumnTypeError(f"row {k + 1:,} of {frame.name}: {shown(name)} is not a {kind}: {shown(text)}")
        for worker, entry in entries.items():
            _add_entry(rows, task or "", cell_text(worker), entry)
    if is_mapping:
        rows.notes.append(f"each entry of {shown(name)} is one worker's answer")
        return
    rows.notes.append(
        f"{shown(name)} does not name who answered, so answers are distinguished by their position in the list: a "
        "position is not a person. Use the labels, not the workers' skills"
    )


def _check_tasks(frame: Frame, reading: ReadOptions, tasks: list[str | None]) -> None:
    """Refuse ids that are blank or come twice: a wide table has one row per task."""
    seen: dict[str | None, int] = {}
    for number, task in enumerate(tasks, start=1):
        if task is None or task in seen:
            why = "is blank" if task is None else f"is the same as in row {seen[task]:,} ({shown(task)})"
            column = reading.task or (frame.index[0] if frame.index else "the row number")
            raise OptionError(
                f"in row {number:,} of {frame.name}, the task ({column}) {why}; a wide table has one row per task. "
                "Name the columns that identify a row with task= (--task), separated by commas"
            )
        seen[task] = number


def _read_folded(
    frame: Frame, reading: ReadOptions, tasks: list[str | None], names: Sequence[str], rows: LongRows
) -> None:
    """Read columns that are a question each: every one is a task of its own."""
    if reading.label is not None:
        raise OptionError(
            "label= (--label) has no effect with fold= (--fold), which names the columns of answers. Leave it out"
        )
    workers, _ = _workers_of_rows(frame, reading)
    groups = _groups(frame, reading)
    titles = worker_titles(names)
    for title, name in zip(titles, names, strict=True):
        for k, value in enumerate(_plain_texts(frame, name)):
            task = tasks[k]
            who = workers[k]
            if value is None:
                rows.left_out["blank"] += 1
            elif task is None or who is None:
                raise BlankFieldError(f"the task or the worker is missing in row {k + 1:,} of {frame.name}; fill it in")
            else:
                task_id = f"{task} / {title}" if task else title
                rows.add(task_id, who, value, groups[k])
    rows.notes.append(f"{count(len(names), 'column')} folded into tasks: {listing(names, 8)}")


def _has_workers(frame: Frame, reading: ReadOptions) -> bool:
    """Whether a column or an option names who gave the answers of a row."""
    if reading.worker is not None or reading.worker_name is not None:
        return True
    return match_name("worker", list(frame.columns)) in frame.columns


def _read_marks(
    frame: Frame, reading: ReadOptions, tasks: list[str | None], names: Sequence[str], rows: LongRows
) -> None:
    """Read a column per class in which a worker marks the classes of a task."""
    titles = worker_titles(names)
    marks = _mark_columns(frame, names)
    workers, _ = _workers_of_rows(frame, reading)
    groups = _groups(frame, reading)
    for k, task in enumerate(tasks):
        marked = [title for title, column in zip(titles, marks, strict=True) if column[k]]
        worker = workers[k]
        if task is None or worker is None:
            raise BlankFieldError(f"the task or the worker is missing in row {k + 1:,} of {frame.name}; fill it in")
        if not marked:
            rows.left_out["without a class"] += 1
            continue
        rows.several = rows.several or len(marked) > 1
        rows.add(task, worker, JOINT.join(sorted(marked)), groups[k])
    rows.notes.append(f"read as one column per class: {listing(titles, 8)}")


def _read_votes(frame: Frame, tasks: list[str | None], names: Sequence[str], rows: LongRows) -> None:
    """Read a column per class that counts its votes, one row per task; the voters are unknown."""
    titles = worker_titles(names)
    votes = _mark_columns(frame, names)
    total = 0
    for k, task in enumerate(tasks):
        place = 0
        for title, column in zip(titles, votes, strict=True):
            total += column[k]
            if total > MOST_ANSWERS:
                raise TooLargeError(f"{frame.name} counts more than {MOST_ANSWERS:,} votes; give it in parts")
            for _ in range(column[k]):
                place += 1
                rows.add(task or "", f"vote {place}", title)
        if not place:
            rows.left_out[NEVER] += 1
    rows.notes.append(
        f"read as counts of votes for {listing(titles, 8)}: the file does not show who voted, so use "
        "the labels, not the workers' skills"
    )


def _mark_columns(frame: Frame, names: Sequence[str]) -> list[list[int]]:
    """Return how often a class is marked in each row, for each of its columns."""
    return [[_marks(text, name, k) for k, text in enumerate(frame.texts(name))] for name in names]


def _marks(text: str | None, name: str, row: int) -> int:
    """Return how often a class is marked in a field."""
    plain = (text or "0").strip().lower()
    plain = {"true": "1", "yes": "1", "x": "1", "false": "0", "no": "0", "na": "0"}.get(plain, plain)
    number = integer_text(plain)
    if not number.isdecimal() or int(number) > MOST_VOTES:
        raise ColumnTypeError(
            f"{shown(name)} holds {shown(text)} in row {row + 1:,}. Where each class has a column, it must "
            "hold 0 and 1, or counts of votes"
        )
    return int(number)


# --- the answers and the known labels ---


def _export(frame: Frame, reading: ReadOptions, tasks: list[str | None], rows: LongRows) -> Export:
    columns: dict[str, pa.Array] = {
        "task": pa.array(rows.task, pa.string()),
        "worker": pa.array(rows.worker, pa.string()),
        "label": pa.array(rows.label, pa.string()),
    }
    if reading.group is not None and reading.workers is None:
        columns["group"] = pa.array(rows.group, pa.string())
    gold = None if reading.gold_column is None else _gold(frame, reading, tasks, set(rows.task))
    return Export(
        Table(table_of(columns)),
        gold,
        "table",
        reading.label or "label",
        (reading.label or "label",),
        {why: n for why, n in rows.left_out.items() if n},
        (*frame.notes, *rows.notes),
        several=rows.several,
    )


def _gold(frame: Frame, reading: ReadOptions, tasks: list[str | None], answered: set[str]) -> Table | None:
    """Read the known label of each task."""
    assert reading.gold_column is not None  # or there are none
    name = one_column(frame, reading.gold_column, "gold_column")
    known: dict[str, str] = {}
    for k, (task, label) in enumerate(zip(tasks, _plain_texts(frame, name), strict=True)):
        if task is None or label is None:
            continue
        if known.setdefault(task, label) != label:
            raise ConflictingGoldError(
                f"{shown(name)} gives task {shown(task)} the known labels {shown(known[task])} and {shown(label)} "
                f"(row {k + 1:,}). Keep one per task"
            )
    known = {task: label for task, label in known.items() if task in answered}
    if not known:
        raise NoRowsError(
            f"{shown(name)} holds no known label of a task that was answered; leave out gold_column= (--gold-column)"
        )
    columns = {"task": pa.array(list(known), pa.string()), "label": pa.array(list(known.values()), pa.string())}
    return Table(table_of(columns))
