"""Convert a table of another layout, which is not a tool's export, to one row per answer: task, worker, label.

Layouts: a column of answers (long); a column per worker (wide), or one column with a list or a mapping of answers; a
column per question, each of which is a task (folded); a column per class (marks or counts of votes). The columns that
the caller names are used, and the others are detected (`detect_columns`). If the layout is not certain, nothing is
read, and the error proposes the command that would read the table.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

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
from quorate.io.column_names import match_name, quoted_names, strength
from quorate.io.columns import SKIP_REMEDY
from quorate.io.detect_columns import detect
from quorate.io.detect_keys import id_columns
from quorate.io.exports.content import Content
from quorate.io.exports.detect import lists_workers
from quorate.io.exports.export import JOINT, NEVER, Export
from quorate.io.frame import Frame, columns_named, columns_of_option, frame_of, one_column
from quorate.io.json_documents import cell_text, parse_list, parse_object
from quorate.io.options import ReadOptions, layout_is_plain
from quorate.io.proposals import refusal
from quorate.io.values import (
    FROM_FILE,
    common_prefix,
    exact_keys,
    integer_text,
    integer_texts,
    join_keys,
    natural_order,
)

MAX_VOTES = 1_000  # for one class in one row, if fields count votes
MAX_ANSWERS = 200_000_000  # that one table of vote counts may contain


@dataclass(frozen=True)
class LayoutReading:
    """How to read a source: as a plain table with these options, or as the answers in ``export``."""

    options: ReadOptions
    export: Export | None  # None: `quorate.io.rows` can read the source itself
    notes: tuple[str, ...] = ()


def read_unknown_layout(content: Content, reading: ReadOptions) -> LayoutReading:
    """Read a source with the caller's options; columns that they do not name are detected.

    Args:
        content: the source.
        reading: the options of the caller.

    Raises:
        MissingColumnError: the layout is not certain; the error proposes the command.
        UnknownFormatError: the source contains no answers; the error states what it contains.
    """
    notes: tuple[str, ...] = ()
    if is_explicit(reading, several=bool(content.parts) and reading.task is not None):
        one_row_per_task = reading.workers is not None or (reading.label is not None and not _names_worker(reading))
        has_task = reading.task is not None or match_name("task", list(content.fields)) in content.fields
        if not (one_row_per_task or has_task or content.index):
            _propose_task(content, reading)
        options = reading
    else:
        frame = frame_of(content, sample=True)
        plan = detect(frame, reading)
        if plan.kind == "ratings" and reading.is_score:
            plan = replace(plan, problem="", other_commands=())
        if not plan.is_readable or not plan.certain:
            raise refusal(frame, plan, content.files or (content.name,))
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


def is_explicit(reading: ReadOptions, *, several: bool = False) -> bool:
    """Whether the options name the columns of the answers and the workers; each of several files may be a worker.

    >>> is_explicit(ReadOptions(workers="judge_*")), is_explicit(ReadOptions(task="item"))
    (True, False)
    """
    if reading.workers is not None or reading.fold is not None:
        return True
    if reading.label is not None and any(mark in reading.label for mark in "*?[,"):  # a column per class
        return True
    return reading.label is not None and (several or _names_worker(reading))


def _names_worker(reading: ReadOptions) -> bool:
    return reading.worker is not None or reading.worker_name is not None


def _propose_task(content: Content, reading: ReadOptions) -> None:
    """Refuse a table whose task column is not named, and propose the column that may be the task.

    Raises:
        MissingColumnError: a column may be the task, or every row would be a different task.
    """
    frame = frame_of(content, sample=True)
    if frame.index:
        return
    assigned = {*columns_of_option(frame, reading.worker), *columns_of_option(frame, reading.label)}
    if reading.fold is not None:
        assigned |= set(columns_named(frame, reading.fold, "fold"))
    named = [name for name in frame.columns if strength(name, "task") and name not in assigned]
    if reading.fold is None:
        plan = detect(frame, reading)
        if plan.is_readable and "task" in plan.options:
            raise refusal(frame, plan, content.files or (content.name,))
    if reading.worker is None or (reading.fold is not None and not named):
        return  # rows of one worker are numbered as tasks; with fold=, each column is a task
    hint = f" {quoted_names(named[:4])} may be it." if named else ""
    raise MissingColumnError(
        f"{content.name} has no column 'task', which identifies the task; it has "
        f"{listing(content.fields, 12)}.{hint} Name the column of the task with task= (--task)"
    )


def read_layout(frame: Frame, reading: ReadOptions) -> Export:
    """Read the answers of a table whose layout the options state.

    Args:
        frame: the table, with all its rows.
        reading: ``task`` (one column or several), and ``worker`` and ``label``, or ``workers``, or ``fold``, ...

    Raises:
        InputError: a column is missing, or a required field is blank.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> frame = frame_of(look({"item": [1, 2], "ann": ["x", "y"], "bob": ["x", None]}), sample=False)
    >>> read_layout(frame, ReadOptions(task="item", workers="ann,bob")).table.to_pylist()[-1]
    {'task': '2', 'worker': 'ann', 'label': 'y'}
    """
    return _LayoutReader(frame, reading).export()


class _LayoutReader:
    """The rows of a table and the answers read from them so far; filled while the table is read."""

    def __init__(self, frame: Frame, reading: ReadOptions) -> None:
        self.frame = frame
        self.reading = reading
        self.tasks: Sequence[str | None] = ()  # task of each row of the table
        self.answers: list[tuple[str, str, str | None, str | None]] = []  # task, worker, label, group
        self.left_out: Counter[str] = Counter()
        self.notes: list[str] = []
        self.several = False  # whether an answer may consist of several labels, joined by JOINT

    def export(self) -> Export:
        """Read the table by the layout that the options state."""
        reading = self.reading
        if reading.workers is not None and reading.fold is not None:
            raise OptionError("workers= (--workers) and fold= (--fold) are two layouts; give one of them")
        if reading.workers is not None:
            names = columns_named(self.frame, reading.workers, "workers")
            self.tasks = self.tasks_of_rows(names)
            self.read_wide(names)
        elif reading.fold is not None:
            names = natural_order(columns_named(self.frame, reading.fold, "fold"))
            self.tasks = self.tasks_of_surveys() or self.tasks_of_answers()
            self.read_folded(names)
        else:
            names = columns_named(self.frame, reading.label or "label", "label")
            has_workers = _names_worker(reading) or self.usual_column("worker") is not None
            if len(names) == 1:
                self.tasks = self.tasks_of_answers()
                self.read_long(names[0])
            elif has_workers:
                self.tasks = self.tasks_of_answers()
                self.read_marks(names)
            else:
                self.tasks = self.tasks_of_rows(names)
                self.read_votes(names)
        if not self.answers:
            raise NoRowsError(f"{self.frame.name} has columns, but no answers in them")
        tasks, workers, labels, groups = zip(*self.answers, strict=True)
        columns = {"task": tasks, "worker": workers, "label": labels}
        if reading.group is not None and reading.workers is None:
            columns["group"] = groups
        return Export(
            _text_table(columns),
            self.gold(set(tasks)),
            "table",
            reading.label or "label",
            (reading.label or "label",),
            {why: n for why, n in self.left_out.items() if n},
            (*self.frame.notes, *self.notes),
            several=self.several,
        )

    def texts(self, name: str) -> list[str | None]:
        """Return the text of each row in a column, with 1.0 as 1; None where it is blank."""
        return integer_texts(self.frame.texts(name))

    def usual_column(self, role: str) -> str | None:
        """Return the column that is named like a role; None if there is none."""
        name = match_name(role, list(self.frame.columns))
        return name if name in self.frame.columns else None

    # --- the task, the worker and the group of each row ---

    def tasks_of_answers(self) -> list[str | None]:
        """Return the task of each row of a table with one row per answer, from a column of ids or the row number."""
        if self.reading.task is not None:
            return self.ids(columns_named(self.frame, self.reading.task, "task"))
        usual = self.usual_column("task")
        return self.row_numbers("no column is named as the task") if usual is None else self.frame.texts(usual)

    def tasks_of_surveys(self) -> list[str | None]:
        """Return blank ids if each row is a different worker who answered the same questions; otherwise []."""
        workers, column = self.workers_of_rows()
        has_task = self.reading.task is not None or self.usual_column("task") is not None
        if has_task or self.frame.index or column is None:
            return []
        if len(set(workers)) < len(workers):
            raise MissingColumnError(
                f"{shown(column)} has several rows of one worker, and no column of {self.frame.name} is named as the "
                "task that each row is about; name it with task= (--task)"
            )
        return [""] * self.frame.n_rows

    def tasks_of_rows(self, answers: Sequence[str]) -> list[str | None]:
        """Return the task of each row of a table with one row per task, from the only column of ids or the row number.

        Args:
            answers: columns that contain answers, not ids.
        """
        frame = self.frame
        if self.reading.task is not None:
            return self.ids(columns_named(frame, self.reading.task, "task"))
        if frame.index:
            return frame.texts(frame.index[0])
        gold = self.reading.gold_column
        candidates = id_columns(frame, [*answers, *([] if gold is None else columns_named(frame, gold, "gold_column"))])
        if len(candidates) == 1:
            self.notes.append(
                f"the task is {shown(candidates[0])}, which has a different value in every row; task= "
                "(--task) names another column"
            )
            return self.ids(candidates)
        if candidates:
            return self.row_numbers(f"{listing(candidates, 4)} may all identify the task")
        return self.row_numbers("no column identifies a row")

    def row_numbers(self, why: str) -> list[str | None]:
        """Return the index of a data frame as the tasks or, without one, the row numbers, and note the reason."""
        if self.frame.index:
            return self.frame.texts(self.frame.index[0])
        self.notes.append(f"tasks are numbered by row, because {why}; task= (--task) names the column of the task")
        return [str(number) for number in range(1, self.frame.n_rows + 1)]

    def ids(self, names: Sequence[str]) -> list[str | None]:
        """Return the ids in one column, or in several columns joined; None where they are blank."""
        if len(names) == 1:
            return self.texts(names[0])
        columns = [self.frame.texts(name) for name in names]
        joined = join_keys(columns)
        exact = exact_keys(columns)
        # Different keys are equal when joined if a part contains the separator or is blank.
        return exact if len(set(joined)) < len(set(exact)) else joined

    def workers_of_rows(self) -> tuple[list[str | None], str | None]:
        """Return the worker of each row, and the column of workers; None if an option, the file or a key names them."""
        frame = self.frame
        if self.reading.worker_name is not None:
            return [self.reading.worker_name] * frame.n_rows, None
        if self.reading.worker is None and self.usual_column("worker") is None and FROM_FILE in frame.columns:
            return frame.texts(FROM_FILE), None
        names = columns_named(frame, self.reading.worker or "worker", "worker")
        if len(names) == 1:
            return self.texts(names[0]), names[0]
        return join_keys(map(self.frame.texts, names)), None

    def groups_of_rows(self) -> list[str | None]:
        """Return the group of the worker of each row."""
        if self.reading.group is None:
            return [None] * self.frame.n_rows
        return self.frame.texts(one_column(self.frame, self.reading.group, "group"))

    # --- layouts ---

    def read_long(self, label: str) -> None:
        """Read one answer per row or, if workers and labels are lists, one list of answers per row."""
        workers, worker = self.workers_of_rows()
        profiles = self.frame.profiles
        if worker is not None and profiles[label].nested and profiles[worker].nested:
            self.read_parallel(workers, worker, label)
            return
        missing = []
        rows = zip(self.tasks, workers, self.texts(label), self.groups_of_rows(), strict=True)
        for row, (task, who, value, group) in enumerate(rows):
            if task is None or who is None or (value is None and not self.reading.abstain):
                missing.append(row)
            else:
                self.answers.append((task, who, value, group))
        if missing and not self.reading.skip_missing:
            raise BlankFieldError(
                f"the task, the worker or {shown(label)} is missing in {rows_phrase(missing)} of {self.frame.name}. "
                f"{SKIP_REMEDY}"
            )
        self.left_out["with a blank field"] += len(missing)

    def read_parallel(self, workers: list[str | None], worker: str, label: str) -> None:
        """Read two lists per row: workers, and their labels in the same order."""
        for row, (task, who, value) in enumerate(zip(self.tasks, workers, self.texts(label), strict=True), start=1):
            if who is None and value is None:
                continue
            people = parse_list(who)
            answers = parse_list(value)
            if task is None or people is None or answers is None or len(people) != len(answers):
                n_people = "no" if people is None else f"{len(people):,}"
                n_answers = "no" if answers is None else f"{len(answers):,}"
                raise ColumnTypeError(
                    f"row {row:,} of {self.frame.name}: {shown(worker)} has {n_people} and {shown(label)} {n_answers} "
                    "entries; both must have the same number"
                )
            for person, answer in zip(people, answers, strict=True):
                self.add_entry(task, cell_text(person), answer)

    def add_entry(self, task: str, worker: str | None, answer: Any) -> None:
        """Add one entry of a list: a label, or a list of labels that the worker chose together."""
        chosen = answer if isinstance(answer, list) else [answer]
        texts = {integer_text(text) for text in map(cell_text, chosen) if text is not None}
        if not texts or worker is None:
            self.left_out["blank"] += 1
            return
        self.several |= len(texts) > 1
        self.answers.append((task, worker, JOINT.join(sorted(texts)), None))

    def read_wide(self, names: Sequence[str]) -> None:
        """Read a table with one row per task, and a column per worker or one column of lists."""
        for role in ("worker", "label", "worker_name"):
            if getattr(self.reading, role) is not None:
                raise OptionError(
                    f"{role}= (--{role}) has no effect with workers= (--workers), which names one column per "
                    "worker. Leave it out"
                )
        self.check_tasks()
        if len(names) == 1 and self.frame.profiles[names[0]].nested:
            self.read_entries(names[0])
            return
        titles = worker_titles(names)
        for task, values in zip(self.tasks, zip(*map(self.texts, names), strict=True), strict=True):
            answers = [(task or "", title, value, None) for title, value in zip(titles, values, strict=True) if value]
            self.answers += answers
            self.left_out["blank"] += len(values) - len(answers)
            self.left_out[NEVER] += not answers
        self.notes.append(f"read as one row per task and one column per worker: {listing(titles, 8)}")

    def read_entries(self, name: str) -> None:
        """Read a column whose fields hold several answers: a mapping from worker to answer, or a list without names."""
        is_mapping = self.frame.profiles[name].nested == "object"
        for row, (task, text) in enumerate(zip(self.tasks, self.frame.texts(name), strict=True), start=1):
            if text is None:
                self.left_out[NEVER] += 1
                continue
            entries: Iterable[tuple[Any, Any]] | None = None
            if is_mapping:
                by_worker = parse_object(text)
                entries = None if by_worker is None else by_worker.items()
            else:
                answers = parse_list(text)
                entries = None if answers is None else ((f"position {n}", a) for n, a in enumerate(answers, start=1))
            if entries is None:
                kind = "mapping" if is_mapping else "list"
                raise ColumnTypeError(f"row {row:,} of {self.frame.name}: {shown(name)} is not a {kind}: {shown(text)}")
            for worker, entry in entries:
                self.add_entry(task or "", cell_text(worker), entry)
        if is_mapping:
            self.notes.append(f"each entry of {shown(name)} is one worker's answer")
            return
        self.notes.append(
            f"{shown(name)} does not name who answered, so answers are distinguished by their position in the list: a "
            "position is not a person. Use the labels, not the workers' skills"
        )

    def check_tasks(self) -> None:
        """Refuse blank and repeated task ids: a wide table has one row per task."""
        row_of: dict[str | None, int] = {}
        for row, task in enumerate(self.tasks, start=1):
            if task is None or task in row_of:
                why = "is blank" if task is None else f"is the same as in row {row_of[task]:,} ({shown(task)})"
                column = self.reading.task or (self.frame.index[0] if self.frame.index else "the row number")
                raise OptionError(
                    f"in row {row:,} of {self.frame.name}, the task ({column}) {why}; a wide table has one row per "
                    "task. Name the columns that identify a row with task= (--task), separated by commas"
                )
            row_of[task] = row

    def read_folded(self, names: Sequence[str]) -> None:
        """Read a column per question; each of them is a task."""
        if self.reading.label is not None:
            raise OptionError(
                "label= (--label) has no effect with fold= (--fold), which names the columns of answers. Leave it out"
            )
        workers, _ = self.workers_of_rows()
        groups = self.groups_of_rows()
        for title, name in zip(worker_titles(names), names, strict=True):
            for row, value in enumerate(self.texts(name)):
                task = self.tasks[row]
                who = workers[row]
                if value is None:
                    self.left_out["blank"] += 1
                elif task is None or who is None:
                    self.refuse_blank_id(row)
                else:
                    self.answers.append((f"{task} / {title}" if task else title, who, value, groups[row]))
        self.notes.append(f"{count(len(names), 'column')} folded into tasks: {listing(names, 8)}")

    def refuse_blank_id(self, row: int) -> NoReturn:
        raise BlankFieldError(f"the task or the worker is missing in row {row + 1:,} of {self.frame.name}; fill it in")

    def read_marks(self, names: Sequence[str]) -> None:
        """Read a column per class, where each row has the marks of a worker for a task."""
        titles = worker_titles(names)
        workers, _ = self.workers_of_rows()
        groups = self.groups_of_rows()
        for row, marks in enumerate(zip(*map(self.marks_in, names), strict=True)):
            marked = [title for title, mark in zip(titles, marks, strict=True) if mark]
            task = self.tasks[row]
            worker = workers[row]
            if task is None or worker is None:
                self.refuse_blank_id(row)
            if marked:
                self.several |= len(marked) > 1
                self.answers.append((task, worker, JOINT.join(sorted(marked)), groups[row]))
            else:
                self.left_out["without a class"] += 1
        self.notes.append(f"read as one column per class: {listing(titles, 8)}")

    def read_votes(self, names: Sequence[str]) -> None:
        """Read a column per class with the number of its votes, one row per task; the voters are unknown."""
        titles = worker_titles(names)
        n_votes = 0
        for task, votes in zip(self.tasks, zip(*map(self.marks_in, names), strict=True), strict=True):
            n_votes += sum(votes)
            if n_votes > MAX_ANSWERS:
                raise TooLargeError(f"{self.frame.name} counts more than {MAX_ANSWERS:,} votes; give it in parts")
            voted = [title for title, n in zip(titles, votes, strict=True) for _ in range(n)]
            self.answers += [(task or "", f"vote {number}", title, None) for number, title in enumerate(voted, start=1)]
            self.left_out[NEVER] += not voted
        self.notes.append(
            f"read as counts of votes for {listing(titles, 8)}: the file does not show who voted, so use "
            "the labels, not the workers' skills"
        )

    def marks_in(self, name: str) -> list[int]:
        """Return the number of votes (or 0 and 1 for marks) in each row of the column of a class."""
        marks = []
        for row, text in enumerate(self.frame.texts(name), start=1):
            plain = (text or "0").strip().lower()
            number = integer_text(MARKS.get(plain, plain))
            if not number.isdecimal() or int(number) > MAX_VOTES:
                raise ColumnTypeError(
                    f"{shown(name)} holds {shown(text)} in row {row:,}. Where each class has a column, it must "
                    "hold 0 and 1, or counts of votes"
                )
            marks.append(int(number))
        return marks

    # --- the known labels ---

    def gold(self, answered: set[str]) -> Table | None:
        """Return a table with the known labels of the tasks that were answered; None without a gold column."""
        if self.reading.gold_column is None:
            return None
        name = one_column(self.frame, self.reading.gold_column, "gold_column")
        known: dict[str, str] = {}
        for row, (task, label) in enumerate(zip(self.tasks, self.texts(name), strict=True), start=1):
            if task is None or label is None:
                continue
            if known.setdefault(task, label) != label:
                raise ConflictingGoldError(
                    f"{shown(name)} gives task {shown(task)} the known labels {shown(known[task])} and {shown(label)} "
                    f"(row {row:,}). Keep one per task"
                )
        known = {task: label for task, label in known.items() if task in answered}
        if not known:
            raise NoRowsError(
                f"{shown(name)} holds no known label of a task that was answered; leave out gold_column= "
                "(--gold-column)"
            )
        return _text_table({"task": list(known), "label": list(known.values())})


MARKS = {"true": "1", "yes": "1", "x": "1", "false": "0", "no": "0", "na": "0"}


def _text_table(columns: Mapping[str, Sequence[str | None]]) -> Table:
    return Table(table_of({name: pa.array(values, pa.string()) for name, values in columns.items()}))


def worker_titles(names: Sequence[str]) -> list[str]:
    """Return the names of the columns without their common dotted path, as names of the workers.

    >>> worker_titles(["scores.gpt-4", "scores.gemma 2.5"]), worker_titles(["ann", "bob"])
    (['gpt-4', 'gemma 2.5'], ['ann', 'bob'])
    """
    dot = common_prefix(names).rfind(".") if len(names) > 1 else -1
    titles = [name[dot + 1 :] for name in names]
    return titles if all(titles) and len(set(titles)) == len(titles) else list(names)
