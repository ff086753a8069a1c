"""A plain table -> `Answers`: columns encoded, rows ordered by task and worker, repeats and conflicts resolved.

`resolve_conflicts` serves every backend; `read_rows` reads a table in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, AnswerSymbols
from quorate.arrays import BoolArray, IntArray
from quorate.blocks.ordering import sort_answers
from quorate.errors import (
    BlankFieldError,
    ConflictingAnswersError,
    NanLabelError,
    NoRowsError,
    count,
    rows_phrase,
    shown,
)
from quorate.io.columns import SKIP_REMEDY, encode, in_order_of_ids, order_classes, positions
from quorate.io.groups import group_of_workers
from quorate.io.labels import NO_ROWS, Grades, abstentions_of, codes_of, grades_of, merged, one_spelling_of_numbers
from quorate.io.multilabel import has_several, read_several
from quorate.io.open_file import Loaded
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.read_table import Source, format_of, read_table
from quorate.progress import tracked


@dataclass(frozen=True, eq=False)
class ResolvedRows:
    """Answers in order, one for each task and worker, and how many rows were left out."""

    task: IntArray
    worker: IntArray
    label: IntArray
    n_repeats: int = 0  # rows that repeat an answer exactly
    n_conflicting: int = 0  # rows left out by the policy
    clashing: IntArray | None = None  # rows, as they were given, of workers and tasks with more than one label


def resolve_conflicts(
    task: IntArray, worker: IntArray, label: IntArray, policy: str, *, overwrite: bool = False
) -> ResolvedRows:
    """Order answers by task and worker, and keep one of those that repeat or contradict each other.

    Args:
        task: code of each row.
        worker: code of each row.
        label: code of each row.
        policy: of rows that contradict each other keep the ``first`` or the ``last``, or ``drop`` them all; ``error``
            drops them too, and leaves it to the caller to refuse what is ``clashing``; ``mean`` keeps every row, for
            scores, which are averaged later.
        overwrite: whether the arrays given may hold the result.

    >>> resolved = resolve_conflicts(np.array([1, 0, 1]), np.array([0, 0, 0]), np.array([2, 1, 3]), "last")
    >>> resolved.task.tolist(), resolved.label.tolist(), resolved.n_conflicting, resolved.clashing.tolist()
    ([0, 1], [1, 3], 1, [0, 2])
    """
    columns, has_repeats = sort_answers(task, worker, label, overwrite=overwrite)
    if not has_repeats or policy == "mean":
        return ResolvedRows(*columns)
    order = np.lexsort([worker, task])  # stable: the rows of a repeat stay in their order
    task = task[order]
    worker = worker[order]
    label = label[order]
    keep, clash = _kept_rows(task, worker, label, policy)
    n_conflicting = int((~keep & clash).sum())
    n_repeats = int((~keep).sum()) - n_conflicting
    return ResolvedRows(task[keep], worker[keep], label[keep], n_repeats, n_conflicting, order[clash])


def _kept_rows(tasks: IntArray, workers: IntArray, labels: IntArray, policy: str) -> tuple[BoolArray, BoolArray]:
    """Which answers stay, and which belong to a worker and task with more than one label."""
    same = (tasks[1:] == tasks[:-1]) & (workers[1:] == workers[:-1])
    first = np.concatenate([[True], ~same])
    group = np.cumsum(first) - 1
    differs = same & (labels[1:] != labels[:-1])
    clash = np.bincount(group[1:][differs], minlength=group[-1] + 1)[group] > 0
    last = np.concatenate([~same, [True]])
    keep = np.where(clash, {"first": first, "last": last}.get(policy, np.zeros_like(first)), first)
    return keep, clash


RowsPhrase: TypeAlias = Callable[[Sequence[int]], str]  # how messages speak of rows


def read_rows(
    source: Source, reading: ReadOptions = AS_USUAL, *, ordered: bool = True, reason: str | None = None
) -> Answers:
    """Read answers from a plain table, one row per answer.

    Args:
        source: what `quorate.io.read_table.read_table` takes.
        reading: how.
        ordered: False for rows whose order means nothing, as a database hands them out: messages then count rows
            instead of numbering them.
        reason: a column that has, where the label is missing, the reason: such a row is an abstention.

    Raises:
        InputError: the data cannot be used; each cause has its own class, and the message names the rows.

    >>> answers = read_rows({"task": [1, 1, 2], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]})
    >>> answers.n_tasks, answers.n_workers, answers.classes.to_pylist()
    (2, 2, ['cat', 'dog'])
    """
    wanted = reading.wanted() if reason is None else {**reading.wanted(), reason: "It says why labels are missing"}
    table = reading.completed(read_table(source, wanted, reading))
    if table.num_rows == 0:
        raise NoRowsError("There is a header, but no answers below it")
    if not reading.is_score and has_several(table.column(reading.columns[2]), reading):
        return read_several(table, reading)
    names = (*reading.columns, *([] if reading.group is None else [reading.group]))
    columns = [
        in_order_of_ids(*encode(table.column(name), name, is_label=k == 2))
        for k, name in tracked("reading columns", [*enumerate(names)])
    ]
    if _is_csv(source, reading):  # where a number is what was written
        columns[2] = one_spelling_of_numbers(*columns[2])
    if reading.merge_spellings:
        columns[2] = merged(*columns[2])
    why = None if reason is None else in_order_of_ids(*encode(table.column(reason), reason))
    has_ids = np.logical_and.reduce([codes >= 0 for k, (codes, _) in enumerate(columns) if k != 2])
    present = has_ids & (columns[2][0] >= 0)
    phrase_rows = rows_phrase if ordered else _rows_counted
    grades = grades_of(*columns[2], reading, codes_of(reading, columns[2][1]), phrase_rows)
    abstentions = abstentions_of(*columns[2], has_ids, reading, why, grades)
    if reading.is_score:
        from quorate.io.scores import as_scores  # which reads by this module

        columns[2] = as_scores(*columns[2], reading, phrase_rows)
        present = has_ids & (columns[2][0] >= 0)
    is_stated = present if abstentions is None else present | abstentions.rows
    if not is_stated.all() and not reading.skip_missing:
        lacking = {name: np.where(is_stated, 0, codes) for name, (codes, _) in zip(names, columns, strict=True)}
        _refuse_missing(table, lacking, phrase_rows)
    counts = present if abstentions is None else present & ~abstentions.rows
    if not counts.any():
        lacking_phrase = "lack a field" if abstentions is None else "lack a field or abstain"
        raise NoRowsError(f"all {table.num_rows:,} rows {lacking_phrase}; no answer is left")
    del table  # the text is the largest thing in memory
    coded = [codes for codes, _ in columns[:3]], [values for _, values in columns[:3]]
    kept = present if why is None else present | (why[0] >= 0)  # what abstains for a reason lacks nothing
    overwrite = abstentions is None and len(columns) == 3  # nobody reads the codes of the rows later
    answers = _answers_of(*coded, counts, reading, phrase_rows, grades, overwrite=overwrite)
    answers = replace(answers, n_skipped=int((~kept).sum()))
    if abstentions is not None and not reading.is_score:
        answers = abstentions.beside(answers, *coded[0][:2])
    if len(columns) == 3:
        return answers
    _, worker, _, group = columns
    return replace(answers, group=group_of_workers(*worker, *group, has_ids, phrase_rows), group_names=group[1])


def _is_csv(source: Source, reading: ReadOptions) -> bool:
    """Whether rows come from a file in which every field is text."""
    name = source.name if isinstance(source, Loaded) else source
    return isinstance(name, str | Path) and (reading.format or format_of(name)) in ("csv", "tsv")


def _rows_counted(rows: Sequence[int]) -> str:
    return count(len(rows), "row")


def _answers_of(
    codes: list[IntArray],
    names: list[pa.Array],
    present: BoolArray,
    reading: ReadOptions,
    phrase_rows: RowsPhrase,
    grades: Grades | None,
    *,
    overwrite: bool,
) -> Answers:
    """Make `Answers` of codes: one answer for each task and worker, classes in order, grades set apart.

    The codes are overwritten where that is allowed and saves memory.
    """
    tasks, workers, labels = codes
    if not present.all():
        tasks = tasks[present]
        workers = workers[present]
        labels = labels[present]
    resolved = resolve_conflicts(tasks, workers, labels, reading.on_conflict, overwrite=overwrite)
    if reading.on_conflict == "error" and resolved.clashing is not None and len(resolved.clashing):
        rows = np.flatnonzero(present)[resolved.clashing]
        clash = resolved.clashing
        policies = "'mean', 'first', 'last' or 'drop'" if reading.is_score else "'first', 'last' or 'drop'"
        _refuse_conflicts(
            rows, phrase_rows, policies, *zip((tasks[clash], workers[clash], labels[clash]), names, strict=True)
        )
    if len(resolved.task) == 0:
        raise NoRowsError(
            f"all {len(present):,} rows conflict; no answer is left. Keep some with on_conflict='first' or 'last' "
            "(--on-conflict)"
        )
    answer_symbols = None
    if grades is None:
        labels, class_names = order_classes(resolved.label, names[2], reading.classes)
    else:
        labels = grades.class_of[resolved.label].astype(np.int32)
        class_names = grades.classes
        symbol, symbols = order_classes(resolved.label, names[2], None)
        answer_symbols = AnswerSymbols(symbols, grades.class_of[positions(symbols, names[2])], symbol, *NO_ROWS)
    return Answers(
        resolved.task,
        resolved.worker,
        labels,
        names[0],
        names[1],
        class_names,
        n_rows=len(present),
        n_repeats=resolved.n_repeats,
        n_conflicting=resolved.n_conflicting,
        answer_symbols=answer_symbols,
    )


def _refuse_missing(table: pa.Table, codes: dict[str, IntArray], phrase_rows: RowsPhrase) -> None:
    """Raise an error that names the column and the rows; rows without numbers are shown by their other fields."""
    name, rows = next((name, np.flatnonzero(column < 0)) for name, column in codes.items() if (column < 0).any())
    value = table.column(name)[int(rows[0])].as_py()
    where = phrase_rows(rows.tolist())
    if phrase_rows is _rows_counted:
        where = other_fields({other: table.column(other)[int(rows[0])].as_py() for other in codes if other != name})
    raise missing_value_error(name, value, len(rows), where)


def other_fields(fields: Mapping[str, Any]) -> str:
    """Describe a row without a number by its other fields.

    >>> other_fields({"task": 1, "worker": "b"})
    "for example the row with task 1, worker 'b'"
    """
    return f"for example the row with {', '.join(f'{name} {value!r}' for name, value in fields.items())}"


def missing_value_error(name: str, value: Any, n_rows: int, where: str) -> BlankFieldError | NanLabelError:
    """Return the error that rows have no value in a column, or NaN.

    >>> missing_value_error("label", None, 1, "row 2")
    BlankFieldError("1 row has no value in 'label' (row 2). Fill it in, or ignore such rows with skip_missing=True")
    """
    has = "has" if n_rows == 1 else "have"
    if value is not None and str(value).strip().lower() == "nan":
        return NanLabelError(f"{count(n_rows, 'row')} {has} NaN in {name!r} ({where}). {SKIP_REMEDY}")
    return BlankFieldError(f"{count(n_rows, 'row')} {has} no value in {name!r} ({where}). {SKIP_REMEDY}")


def conflict_text(
    worker: Any, task: Any, labels: Sequence[Any], n_conflicts: int, policies: str, rows: Sequence[int] = ()
) -> str:
    """Return an error that a worker gave a task different answers, with the number of such cases and what to do.

    Args:
        worker: who.
        task: to which task.
        labels: the answers.
        n_conflicts: how many such cases there are.
        policies: what on_conflict= takes instead of an error, as Python writes it.
        rows: of the answers, from 0; none where rows have no numbers.

    >>> conflict_text("ann", 7, ["cat", "dog"], 3, "'first', 'last' or 'drop'", [0, 4])
    "Worker 'ann' answered task 7 twice: 'cat' (row 1) and 'dog' (row 5). There are 2 more such cases. Choose ...
    """
    places = [f" (row {row + 1:,})" for row in rows[:MOST_LABELS]] or [""] * len(labels)
    labels_given = [f"{shown(label)}{place}" for label, place in zip(labels[:MOST_LABELS], places, strict=False)]
    times = "twice" if len(labels) == 2 else f"{len(labels):,} times"
    first_labels = ", ".join(labels_given[:-1])
    text = f"Worker {shown(worker)} answered task {shown(task)} {times}: {first_labels} and {labels_given[-1]}"
    more = n_conflicts - 1
    cases = ""
    if more:
        cases = " There is 1 more such case." if more == 1 else f" There are {more:,} more such cases."
    return f"{text}.{cases} Choose which answers to keep with on_conflict={policies} (--on-conflict)"


MOST_LABELS = 5  # answers of one worker to one task that a message lists


def _refuse_conflicts(
    rows: IntArray, phrase_rows: RowsPhrase, policies: str, *columns: tuple[IntArray, pa.Array]
) -> None:
    pairs: dict[tuple[Any, Any], list[tuple[int, Any]]] = {}
    (tasks, task_names), (workers, worker_names), (labels, label_names) = columns
    for k in range(len(rows)):
        who = (task_names[int(tasks[k])].as_py(), worker_names[int(workers[k])].as_py())
        pairs.setdefault(who, []).append((int(rows[k]), label_names[int(labels[k])].as_py()))
    (task, worker), answers = min(pairs.items(), key=lambda item: item[1][0])
    places = [] if phrase_rows is _rows_counted else [row for row, _ in answers]
    raise ConflictingAnswersError(
        conflict_text(worker, task, [label for _, label in answers], len(pairs), policies, places)
    )
