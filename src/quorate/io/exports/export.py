"""`Export`: the answers to one question of a tool's export, the gold labels, and counts of what was left out.

`assemble` makes it of the answers that a format finds; several choices in one answer are one text with `JOINT` between.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import quorate.arrow_compute as pc
from quorate.arrays import TEXT, Table, from_strings, table_of
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    MissingColumnError,
    NoRowsError,
    as_sentence,
    count,
    for_shell,
    listing,
    shown,
)
from quorate.io.columns import order_classes, plain
from quorate.io.detect_values import are_different_answers, free_text_problem
from quorate.io.exports.content import Content, Record
from quorate.io.exports.questions import QuestionInfo, choose_question
from quorate.io.options import ReadOptions
from quorate.io.values import BLANKS, id_text

JOINT = "|"  # between the choices of one answer


def check_choices(where: str, chosen: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the choices of one answer and their place in the export.

    Raises:
        ColumnTypeError: the bar stands in one of them.

    >>> check_choices("row 1", ["cat", "dog"])
    ('row 1', ['cat', 'dog'])
    """
    if any(JOINT in name for name in chosen):
        raise ColumnTypeError(
            f"{where} chooses {listing(chosen)}, and one of these labels contains {JOINT!r}, which "
            "Quorate puts between two labels; rename this label"
        )
    return where, chosen


def several_note(multiple: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Return a note on how answers of several choices are read; none without such answers.

    >>> several_note([("row 1", ["cat", "dog"])])[0][:60]
    "1 answer chooses several labels (row 1 has 'cat', 'dog'): ea"
    """
    if not multiple:
        return ()
    (where, chosen) = multiple[0]
    n = len(multiple)
    return (
        (
            f"{count(n, 'answer')} {('chooses' if n == 1 else 'choose')} several labels ({where} has "
            f"{listing(chosen)}): each label becomes a separate yes/no question. With join_choices=True "
            "(--multi join), each combination becomes one class"
        ),
    )


GROUP = "group"  # the column of the workers' groups, in an export that has one
# Why something was left out.
NO_ANSWER = "empty answers"
WITHOUT_ID = "answers without a task or worker"
NEVER = "tasks without answers"
OTHER_QUESTION = "answers to another question"
KNOWN_BEFORE = "repeated known labels"


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """One answer as an export holds it."""

    task: Any
    worker: Any
    value: Any  # a class, or a list of the classes chosen together
    where: str  # for messages: "annotation 7 of task 3"
    left_out: str = ""  # why it does not count, if it does not
    known: bool = False  # a known label, and nobody's answer
    is_row: bool = True  # counts by itself, as a row or an annotation; else it stands in one beside the answer
    abstained: str = ""  # why its worker gave no class, if so: a reason of a few words, of which there are few
    group: str | None = None  # workers whose errors may be correlated; stated for every worker or for none


@dataclass(frozen=True)
class OwnColumns:
    """How the rows of an export name what it holds, so that other files may use the same names."""

    task: str
    worker: str
    labels: tuple[str, ...]  # names of the column of labels, the file's own first
    inputs: tuple[str, ...] = ()  # columns that describe a task, such as its text


@dataclass(frozen=True)
class Export:
    """The answers to one question of an export, as `quorate.read` takes them."""

    table: Table  # task, worker, label and, of judges, group (their family): all text
    gold: Table | None  # task, label: the labels that the export marks as known, of tasks that were answered
    tool: str  # whose export it is
    question: str
    questions: tuple[str, ...]  # every question there is
    left_out: Mapping[str, int]  # why -> how many answers
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)  # label -> the value it was before it became text
    records: Sequence[Record] = ()  # the tasks themselves, for formats that take results back
    task_field: str | None = None  # the field that identifies tasks, if the caller chose it
    several: bool = False  # whether an answer may choose several labels, which stand in `table` with JOINT between two
    abstentions: Table | None = None  # task, worker, reason: all text; of those who gave no class
    columns: OwnColumns | None = None  # of an export in rows

    @property
    def classes(self) -> list[str]:
        """Every class in the answers and the known labels, in order."""
        labels = set(pc.unique(self.table.arrow["label"]).to_pylist())
        labels |= set() if self.gold is None else set(self.gold["label"].to_pylist())
        names = from_strings(sorted(labels))
        return list(order_classes(np.arange(len(names)), names, None)[1].to_pylist())

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate convert --json` prints."""
        return {
            "format": self.tool,
            "question": self.question,
            "questions": list(self.questions),
            "answers": len(self.table),
            "workers": len(pc.unique(self.table.arrow["worker"])),
            "tasks": len(pc.unique(self.table.arrow["task"])),
            "known": 0 if self.gold is None else len(self.gold),
            **({} if self.abstentions is None else {"abstained": len(self.abstentions)}),
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def omissions(self) -> list[str]:
        """Return sentences on what was not read, and why."""
        return [f"Left out of the export: {why} ({n:,})" for why, n in self.left_out.items()]

    def lines(self) -> list[str]:
        """Return what was read and what was left out, a line each."""
        counts = self.to_dict()
        asked = ""
        if len(self.questions) > 1:
            asked = f", question {self.question!r} of {len(self.questions)}"
        lines = [
            f"Read {TOOL_NAMES.get(self.tool, 'a table')}{asked}: {count(counts['answers'], 'answer')} by "
            f"{count(counts['workers'], 'worker')} on {count(counts['tasks'], 'task')}."
        ]
        if self.gold is not None:
            be = "It is" if len(self.gold) == 1 else "They are"
            lines.append(
                for_shell(
                    f"{count(len(self.gold), 'known label')} found in the file. {be} not counted as answers; known "
                    "labels given with gold= (--gold) replace them."
                )
            )
        if self.abstentions is not None:
            reasons = Counter(self.abstentions["reason"].to_pylist())
            lines.append("Not counted as answers: " + ", ".join(f"{why} ({n:,})" for why, n in reasons.items()) + ".")
        if self.left_out:
            lines.append("Ignored: " + ", ".join(f"{why} ({n:,})" for why, n in self.left_out.items()) + ".")
        return [*lines, *(as_sentence(note) for note in self.notes)]


# What messages call the tool that wrote a file; all others are tables.
TOOL_NAMES = {
    "labelstudio": "a Label Studio export",
    "argilla": "Argilla records",
    "mturk": "Mechanical Turk results",
    "toloka": "Toloka results",
    "figure8": "a Figure Eight report",
    "zooniverse": "a Zooniverse export",
    "prodigy": "Prodigy annotations",
    "cleanlab": "a table with one column per worker",
    "inspect": "an Inspect log",
    "promptfoo": "promptfoo results",
    "lm-eval": "lm-evaluation-harness samples",
    "deepeval": "a DeepEval test run",
    "mlflow": "MLflow traces",
    "langfuse": "Langfuse scores",
    "phoenix": "Phoenix annotations",
    "openai": "model replies in OpenAI's batch format",
}


@dataclass(frozen=True)
class Format:
    """A file format: how it is recognised and read."""

    name: str
    about: str
    signs: str  # what it is recognised by, in words
    recognise: Callable[[Content], bool]
    read: Callable[[Content, ReadOptions], Export]


def assemble(
    tool: str,
    content: Content,
    reading: ReadOptions,
    questions: Sequence[str],
    find: Callable[[str], Iterable[FoundAnswer]],
    *,
    notes: tuple[str, ...] = (),
    takes_results: bool = False,
    typed_labels: bool = False,
    about: QuestionInfo | None = None,
) -> Export:
    """Choose a question, gather its answers, and count what does not count.

    Args:
        tool: whose export it is.
        content: the export.
        reading: what the caller chose, where an export leaves a choice.
        questions: every question there is.
        find: question -> what there is about it, in the order of the export.
        notes: what a reader must know.
        takes_results: keep the records, so that results can be written into them.
        about: what is known about the questions, for the error where none was chosen.
        typed_labels: refuse labels of two types that are written alike, as ids are; judges may answer true and "true".

    Raises:
        InputError: an answer has no task or worker, or several classes at once; or no answer is left.

    >>> from quorate.io.exports.content import look
    >>> answers = [FoundAnswer(1, "ann", ["glad"], "row 1")]
    >>> export = assemble("mine", look([{}]), ReadOptions(), ["tone"], lambda q: answers)
    >>> export.table.to_pylist(), export.question
    ([{'task': '1', 'worker': 'ann', 'label': 'glad'}], 'tone')
    """
    question = choose_question(questions, reading.question, content.name, about)
    sorted_out = _sort_out(find(question), reading.join_choices, typed_labels)
    left_out = sorted_out.left_out
    if sorted_out.missing and not reading.skip_missing:
        _refuse_missing(sorted_out, content.name, reading.task)
    if sorted_out.missing:
        left_out[WITHOUT_ID] += len(sorted_out.missing)
    if not sorted_out.answers:
        reasons = ", ".join(f"{why} ({n:,})" for why, n in left_out.items()) or "there were none"
        raise NoRowsError(f"{content.name} has no answers to {shown(question)} that count: {reasons}")
    n_labels = len({label for *_, label in sorted_out.answers})
    _refuse_free_text(n_labels, len(sorted_out.answers), question, content.name)
    gold = _gold(sorted_out.known, {task for task, *_ in sorted_out.answers}, left_out)
    return Export(
        _table(("task", "worker", "label"), sorted_out.answers, sorted_out.groups),
        gold,
        tool,
        question,
        tuple(questions),
        dict(left_out),
        (*notes, *several_note(sorted_out.multiple)),
        sorted_out.values,
        content.records if takes_results else (),
        reading.task,
        bool(sorted_out.multiple),
        _table(("task", "worker", "reason"), sorted_out.abstained, sorted_out.groups) if sorted_out.abstained else None,
    )


def export_of_columns(tool: str, content: Content, reading: ReadOptions, names: tuple[str, str, str]) -> Export | None:
    """Make the export of a table with a column each of tasks, workers and labels, as `assemble` does, in Arrow.

    None where a column has values other than text and whole numbers, or rows that `assemble` refuses.

    >>> from quorate.io.exports.content import look
    >>> content = look({"task": [1, 2], "worker": ["ann", "bob"], "label": ["cat", " "]})
    >>> export = export_of_columns("mine", content, ReadOptions(), ("task", "worker", "label"))
    >>> export.table.to_pylist(), export.left_out
    ([{'task': '1', 'worker': 'ann', 'label': 'cat'}], {'empty answers': 1})
    """
    columns = [content.table.column(name) for name in names]
    if not all(_is_text(column.type) or pa.types.is_integer(column.type) for column in columns):
        return None
    task, worker, label = map(_text_column, columns, names)
    left_out: dict[str, int] = {}
    has_label = pc.is_valid(label)
    has_ids = pc.and_(pc.is_valid(task), pc.is_valid(worker))
    n_empty = label.null_count
    n_missing = pc.sum(pc.and_not(has_label, has_ids), min_count=0).as_py()
    n_answers = len(label) - n_empty - n_missing
    if n_answers == 0 or (n_missing and not reading.skip_missing):
        return None
    if n_empty:
        left_out[NO_ANSWER] = n_empty
    if n_missing:
        left_out[WITHOUT_ID] = n_missing
    values = columns[2] if pa.types.is_integer(columns[2].type) else label
    distinct = (pc.unique(column.drop_null()).to_pylist() for column in (label, values))
    values_of_labels = dict(zip(*distinct, strict=True))
    if n_empty or n_missing:
        is_answer = pc.and_(has_label, has_ids)
        task, worker, label = (column.filter(is_answer) for column in (task, worker, label))
    question = choose_question([names[2]], reading.question, content.name)
    _refuse_free_text(len(pc.unique(label)), n_answers, question, content.name)
    return Export(
        Table(pa.table({"task": task, "worker": worker, "label": label})),
        None,
        tool,
        question,
        (names[2],),
        left_out,
        values=values_of_labels,
        task_field=reading.task,
    )


def _is_text(kind: pa.DataType) -> bool:
    return kind in TEXT or (pa.types.is_dictionary(kind) and kind.value_type in TEXT)


def _text_column(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column as text, null where it is blank."""
    text = plain(column, name).cast(pa.string())
    if pa.types.is_integer(column.type):
        return text
    is_blank = pc.equal(pc.utf8_trim(text, BLANKS), "")
    return pc.if_else(is_blank, pa.scalar(None, pa.string()), text) if pc.any(is_blank).as_py() else text


def _refuse_free_text(n_labels: int, n_answers: int, question: str, name: str) -> None:
    """Refuse answers that are nearly all different."""
    if are_different_answers(n_labels, n_answers):
        raise ColumnTypeError(free_text_problem(n_labels, n_answers, f" to {shown(question)} of {name}"))


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]], groups: Mapping[str, str]) -> Table:
    """Make a table of rows, whose second column names the worker; with the worker's group where there are groups."""
    columns: dict[str, Sequence[str]] = dict(zip(names, zip(*rows, strict=True), strict=True))
    if groups:
        columns[GROUP] = [groups[row[1]] for row in rows]
    return Table(table_of({name: from_strings(column) for name, column in columns.items()}))


@dataclass
class _SortedOut:
    """The answers of an export sorted into answers, abstentions, known labels and what is left out."""

    typed: tuple[str, ...]  # the roles of which values of two types are not written alike
    answers: list[tuple[str, str, str]] = field(default_factory=list)  # task, worker, label
    abstained: list[tuple[str, str, str]] = field(default_factory=list)  # task, worker, reason
    groups: dict[str, str] = field(default_factory=dict)  # worker -> group, the first that was stated
    known: dict[tuple[str, str], None] = field(default_factory=dict)  # task, label
    left_out: Counter[str] = field(default_factory=Counter)
    values: dict[str, Any] = field(default_factory=dict)
    multiple: list[tuple[str, Sequence[str]]] = field(default_factory=list)  # where, the classes chosen at once
    missing: list[tuple[str, str]] = field(default_factory=list)  # where, what is not there
    first: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)  # role, text -> its value, and where

    def text_of(self, role: str, value: Any, where: str) -> str | None:
        """Write an id or a label as text; refuse two values of different types that are written alike."""
        text = id_text(value)
        if text is None or role not in self.typed:
            return text
        before, first_where = self.first.setdefault((role, text), (value, where))
        if isinstance(before, str) is not isinstance(value, str):
            raise ColumnTypeError(
                f"the {role} is {shown(before)} in {first_where} and {shown(value)} in {where}, which would "
                f"be one {role}; write both in the same way"
            )
        return text


def _sort_out(items: Iterable[FoundAnswer], join_choices: bool, typed_labels: bool) -> _SortedOut:
    out = _SortedOut(("task", "worker", "label") if typed_labels else ("task", "worker"))
    for item in items:
        if item.left_out:
            out.left_out[item.left_out] += 1
            continue
        classes = [item.abstained] if item.abstained else _classes_of(item, out)
        if not classes:
            out.left_out[NO_ANSWER] += 1
            continue
        for what, value in (("task", item.task), ("worker", item.worker)):
            if isinstance(value, dict | list | tuple):
                raise ColumnTypeError(
                    f"the {what} of {item.where} is not an id but {shown(value)}. Choose another field"
                )
        task = out.text_of("task", item.task, item.where)
        worker = out.text_of("worker", item.worker, item.where)
        label = JOINT.join(classes)
        _check_text(item.where, task, worker, label)
        if not item.abstained:
            out.values.setdefault(label, item.value)
        if item.group is not None:
            out.groups.setdefault(worker or "", item.group)
        if len(classes) > 1 and not join_choices:
            out.multiple.append(check_choices(item.where, classes))
        if task is None or (worker is None and not item.known):
            out.missing.append((item.where, "task" if task is None else "worker"))
        elif item.abstained:
            out.abstained.append((task, worker or "", label))
        elif item.known:
            if (task, label) in out.known and item.is_row:
                out.left_out[KNOWN_BEFORE] += 1
            out.known[task, label] = None
        else:
            out.answers.append((task, worker or "", label))
    return out


def _check_text(where: str, *texts: str | None) -> None:
    for text in texts:
        try:
            (text or "").encode()
        except UnicodeEncodeError:
            raise ColumnTypeError(
                f"{where} has {shown(text)}, which has an incomplete character and is not valid text; correct it"
            ) from None


def _classes_of(item: FoundAnswer, out: _SortedOut) -> list[str]:
    """Return the classes of an answer as text, each once, in order."""
    values = item.value if isinstance(item.value, list | tuple) else [item.value]
    if any(isinstance(value, dict | list | tuple) for value in values):
        raise ColumnTypeError(f"{item.where} is not a class but {shown(item.value)}. Choose another question")
    texts = (out.text_of("label", value, item.where) for value in values)
    return sorted({text for text in texts if text is not None})


def _gold(known: Collection[tuple[str, str]], answered: set[str], left_out: Counter[str]) -> Table | None:
    """Make the table of known labels; those of tasks that nobody answered can serve nothing, and are counted."""
    kept = [(task, label) for task, label in known if task in answered]
    n_unanswered = len(known) - len(kept)
    if n_unanswered:
        left_out["known labels of tasks without answers"] += n_unanswered
    return _table(("task", "label"), kept, {}) if kept else None


def _refuse_missing(sorted_out: _SortedOut, name: str, task: str | None) -> None:
    where, what = sorted_out.missing[0]
    if task is not None and not sorted_out.answers and all(lacking == "task" for _, lacking in sorted_out.missing):
        raise MissingColumnError(f"No answer of {name} has a field {shown(task)}. Choose another with task= (--task)")
    raise BlankFieldError(
        f"{count(len(sorted_out.missing), 'answer')} of {name} "
        f"{'has' if len(sorted_out.missing) == 1 else 'have'} no task or no worker: {where} has no {what}. "
        "Fill it in, or ignore such answers with skip_missing=True (--skip-missing)"
    )
