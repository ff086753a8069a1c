"""`Export`: the answers to one question of a tool's export, known labels, and counts of what was left out.

`assemble` makes it from the answers that the module of a format yields. Several choices in one answer are joined by
`JOINT`.
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
    """Return the place of an answer in the export and its choices; refuse choices that contain `JOINT`.

    Raises:
        ColumnTypeError: a choice contains `JOINT`.

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
    """Return a note on how answers with several choices are read; empty if there are none.

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


GROUP = "group"  # column of the workers' groups, if the export has groups
# Reasons why something was left out.
NO_ANSWER = "empty answers"
WITHOUT_ID = "answers without a task or worker"
NEVER = "tasks without answers"
OTHER_QUESTION = "answers to another question"
KNOWN_BEFORE = "repeated known labels"


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """One answer of an export, before it is checked."""

    task: Any
    worker: Any
    value: Any  # a class, or a list of the classes chosen together
    where: str  # for messages: "annotation 7 of task 3"
    left_out: str = ""  # why it does not count; empty if it counts
    known: bool = False  # whether it is a known label, not an answer of a worker
    is_row: bool = True  # whether it is a row or an annotation by itself, not a further field of an answer
    abstained: str = ""  # short reason why the worker gave no class; empty otherwise
    group: str | None = None  # workers whose errors may be correlated; stated for every worker or for none


@dataclass(frozen=True)
class OwnColumns:
    """Names of the columns in an export, which other files, such as known labels, may use as well."""

    task: str
    worker: str
    labels: tuple[str, ...]  # possible names of the column of labels, that of the file first
    inputs: tuple[str, ...] = ()  # columns that describe a task, such as its text


@dataclass(frozen=True)
class Export:
    """The answers to one question of an export, in the form that `quorate.read` takes."""

    table: Table  # task, worker, label and, for judges, group (model family): all text
    gold: Table | None  # task, label: labels that the export marks as known, for tasks with answers
    tool: str  # the tool that wrote the export
    question: str
    questions: tuple[str, ...]  # all questions of the export
    left_out: Mapping[str, int]  # reason -> number of answers
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)  # label -> its value before conversion to text
    records: Sequence[Record] = ()  # the records of the export, for formats into which results can be written
    task_field: str | None = None  # the field that identifies tasks, if the caller chose it
    several: bool = False  # whether an answer may choose several labels, joined by JOINT in `table`
    abstentions: Table | None = None  # task, worker, reason, for abstentions: all text
    columns: OwnColumns | None = None  # names of columns, for an export in rows

    @property
    def classes(self) -> list[str]:
        """The classes in the answers and the known labels, in order."""
        labels = set(pc.unique(self.table.arrow["label"]).to_pylist())
        labels |= set() if self.gold is None else set(self.gold["label"].to_pylist())
        names = from_strings(sorted(labels))
        return list(order_classes(np.arange(len(names)), names, None)[1].to_pylist())

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `quorate convert --json` prints."""
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
        """Return sentences on what was read and what was left out."""
        counts = self.to_dict()
        of_question = ""
        if len(self.questions) > 1:
            of_question = f", question {self.question!r} of {len(self.questions)}"
        lines = [
            f"Read {TOOL_NAMES.get(self.tool, 'a table')}{of_question}: {count(counts['answers'], 'answer')} by "
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


# Tool -> name of its export in messages; the others are tables.
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
    signs: str  # how it is recognised, in words
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
    """Return the `Export` with the answers to one question, and the numbers of answers that were left out.

    Args:
        tool: the tool that wrote the export.
        content: the export.
        reading: options of the caller.
        questions: all questions of the export.
        find: function from a question to its answers, in the order of the export.
        notes: notes for the reader of the result.
        takes_results: whether to store the records, so that results can be written into them.
        about: information on the questions, for the error if no question was chosen.
        typed_labels: whether to refuse labels of two types with the same text, as for ids; judges may answer both true
            and "true".

    Raises:
        InputError: an answer has no task or worker, or several classes at once; or no answer is left.

    >>> from quorate.io.exports.content import look
    >>> answers = [FoundAnswer(1, "ann", ["glad"], "row 1")]
    >>> export = assemble("mine", look([{}]), ReadOptions(), ["tone"], lambda q: answers)
    >>> export.table.to_pylist(), export.question
    ([{'task': '1', 'worker': 'ann', 'label': 'glad'}], 'tone')
    """
    question = choose_question(questions, reading.question, content.name, about)
    sorted_out = _sort_answers(find(question), reading.join_choices, typed_labels)
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
    """Return the `Export` of a table with columns of tasks, workers and labels, as `assemble` does, but with Arrow.

    None if a column has values other than text and integers, or if `assemble` would refuse rows.

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
    """Return a column of text or integers as text, null where it is blank."""
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
    """Return a table of rows whose second column is the worker; if there are groups, with the group of each worker."""
    columns: dict[str, Sequence[str]] = dict(zip(names, zip(*rows, strict=True), strict=True))
    if groups:
        columns[GROUP] = [groups[row[1]] for row in rows]
    return Table(table_of({name: from_strings(column) for name, column in columns.items()}))


@dataclass
class _SortedAnswers:
    """The entries of an export, sorted into answers, abstentions, known labels and entries that are left out."""

    typed: tuple[str, ...]  # roles whose values of different types must not have the same text
    answers: list[tuple[str, str, str]] = field(default_factory=list)  # task, worker, label
    abstained: list[tuple[str, str, str]] = field(default_factory=list)  # task, worker, reason
    groups: dict[str, str] = field(default_factory=dict)  # worker -> the first group that the export states
    known: dict[tuple[str, str], None] = field(default_factory=dict)  # task, label
    left_out: Counter[str] = field(default_factory=Counter)
    values: dict[str, Any] = field(default_factory=dict)
    multiple: list[tuple[str, Sequence[str]]] = field(default_factory=list)  # place, classes chosen together
    missing: list[tuple[str, str]] = field(default_factory=list)  # place, missing role
    first: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)  # (role, text) -> first value, place

    def text_of(self, role: str, value: Any, where: str) -> str | None:
        """Return an id or a label as text; refuse two values of different types with the same text."""
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


def _sort_answers(items: Iterable[FoundAnswer], join_choices: bool, typed_labels: bool) -> _SortedAnswers:
    out = _SortedAnswers(("task", "worker", "label") if typed_labels else ("task", "worker"))
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


def _classes_of(item: FoundAnswer, out: _SortedAnswers) -> list[str]:
    """Return the distinct classes of an answer as text, sorted."""
    values = item.value if isinstance(item.value, list | tuple) else [item.value]
    if any(isinstance(value, dict | list | tuple) for value in values):
        raise ColumnTypeError(f"{item.where} is not a class but {shown(item.value)}. Choose another question")
    texts = (out.text_of("label", value, item.where) for value in values)
    return sorted({text for text in texts if text is not None})


def _gold(known: Collection[tuple[str, str]], answered: set[str], left_out: Counter[str]) -> Table | None:
    """Return the table of known labels (None if empty); those of tasks without answers are left out and counted."""
    usable = [(task, label) for task, label in known if task in answered]
    n_unanswered = len(known) - len(usable)
    if n_unanswered:
        left_out["known labels of tasks without answers"] += n_unanswered
    return _table(("task", "label"), usable, {}) if usable else None


def _refuse_missing(sorted_out: _SortedAnswers, name: str, task: str | None) -> None:
    where, what = sorted_out.missing[0]
    if task is not None and not sorted_out.answers and all(lacking == "task" for _, lacking in sorted_out.missing):
        raise MissingColumnError(f"No answer of {name} has a field {shown(task)}. Choose another with task= (--task)")
    raise BlankFieldError(
        f"{count(len(sorted_out.missing), 'answer')} of {name} "
        f"{'has' if len(sorted_out.missing) == 1 else 'have'} no task or no worker: {where} has no {what}. "
        "Fill it in, or ignore such answers with skip_missing=True (--skip-missing)"
    )
