"""Meaning of labels: class, grade that is mapped to a class (``map=``), or abstention; and spellings of one label.

`grades_of` and `abstentions_of` work on the coded rows of a table, `alphabet_of` on the distinct labels in an engine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, AnswerSymbols
from quorate.arrays import TEXT, BoolArray, IntArray, from_strings, is_among, take
from quorate.errors import (
    ColumnTypeError,
    MapError,
    NoRowsError,
    OptionError,
    about_argument,
    count,
    in_quotes,
    listing,
    rows_phrase,
    shown,
)
from quorate.io.columns import as_type, encode, order_classes, positions, refuse_missing, value_of_each
from quorate.io.options import ReadOptions
from quorate.io.read_table import read_table
from quorate.io.values import integer_text, is_blank, parse_number

MAX_NUMBERS = 1_000  # distinct labels; if there are more, they are not classes, and 1 and 1.0 are not merged
MAX_SPELLINGS = 100_000  # distinct labels; if there are more, they are not classes, and spellings are not compared


def normal_spelling(label: str) -> str:
    """Return a label in lower case with single spaces; all its spellings have the same one.

    >>> normal_spelling(" Hot  Dog") == normal_spelling("hot dog")
    True
    """
    return " ".join(label.casefold().split())


def spelling_groups(classes: pa.Array) -> list[list[str]]:
    """Return groups of labels that differ only by case or spaces.

    >>> spelling_groups(pa.array(["Cat", "cat", "cat ", "dog"]))
    [['Cat', 'cat', 'cat ']]
    """
    if classes.type not in TEXT or len(classes) > MAX_SPELLINGS:
        return []
    spellings: dict[str, list[str]] = {}
    for label in classes.to_pylist():
        spellings.setdefault(normal_spelling(label), []).append(label)
    return [labels for labels in spellings.values() if len(labels) > 1]


def spelling_notes(classes: pa.Array) -> list[str]:
    """Return a note on labels that differ only by case or spaces; an empty list if there are no such labels.

    >>> spelling_notes(pa.array(["cat", "dog"]))
    []
    """
    groups = spelling_groups(classes)
    if not groups:
        return []
    names = " and ".join(in_quotes(name) for name in groups[0][:3])
    more = f" ({count(len(groups) - 1, 'more such group')})" if len(groups) > 1 else ""
    return [
        f"{names} count as different labels{more}. Use merge_spellings=True (--merge-spellings) to treat them as one"
    ]


def one_spelling_of_numbers(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Merge labels such as 1 and 1.0 if all labels are numbers; return the codes and the remaining names.

    >>> codes, names = one_spelling_of_numbers(np.array([0, 1, 2]), pa.array(["1", "1.0", "2"]))
    >>> codes.tolist(), names.to_pylist()
    ([0, 0, 1], ['1', '2'])
    """
    if names.type not in TEXT or len(names) > MAX_NUMBERS:
        return codes, names
    texts = names.to_pylist()
    if any(parse_number(text) is None for text in texts):
        return codes, names
    code_of_text = {text: k for k, text in enumerate(texts)}
    becomes = [code_of_text.get(integer_text(text), k) for k, text in enumerate(texts)]
    if becomes == list(range(len(texts))):
        return codes, names
    remaining = sorted(set(becomes))
    new_code = np.full(len(texts) + 1, -1, np.int32)  # the last element is for the code -1
    new_code[: len(texts)] = [remaining.index(k) for k in becomes]
    return new_code[codes], take(names, np.array(remaining))


def merge_spellings(codes: IntArray, names: pa.Array) -> tuple[IntArray, pa.Array]:
    """Merge labels that differ only by case or spaces; the most frequent spelling is used.

    >>> codes, names = merge_spellings(np.array([0, 1, 1, 2]), pa.array(["Cat", "cat", "dog"]))
    >>> codes.tolist(), names.to_pylist()
    ([0, 0, 0, 1], ['cat', 'dog'])
    """
    if names.type not in TEXT or not len(names):
        return codes, names
    times = np.bincount(codes[codes >= 0], minlength=len(names)).tolist()
    chosen_spelling: dict[str, tuple[int, str]] = {}
    labels: list[str] = names.to_pylist()
    for label, n_answers in sorted(zip(labels, times, strict=True), key=lambda row: (-row[1], row[0])):
        chosen_spelling.setdefault(normal_spelling(label), (n_answers, label))
    code_of_key = {key: number for number, key in enumerate(dict.fromkeys(map(normal_spelling, labels)))}
    # The last element is for the code -1.
    new: IntArray = np.array([*(code_of_key[normal_spelling(label)] for label in labels), -1], dtype=np.int32)
    return new[codes], from_strings([chosen_spelling[key][1] for key in code_of_key])


def spell_as_classes(labels: pa.Array, classes: pa.Array) -> pa.Array:
    """Replace labels by the class that differs from them only by case or spaces; other labels are unchanged.

    >>> spell_as_classes(pa.array(["CAT", "elk"]), pa.array(["cat", "dog"])).to_pylist()
    ['cat', 'elk']
    """
    if classes.type not in TEXT or labels.type not in TEXT:
        return labels
    known = {normal_spelling(name): name for name in classes.to_pylist()}
    return from_strings([known.get(normal_spelling(label), label) for label in labels.to_pylist()])


# Columns of the table for map=.
ANSWER = "answer"
CLASS = "class"
REMEDY = "The map needs the columns 'answer' and 'class'; rename your columns"


@dataclass(frozen=True, eq=False)
class Grades:
    """The class to which the map assigns each label."""

    class_of: IntArray  # class code of each distinct label, or -1 for none
    classes: pa.Array


def grades_of(
    labels: IntArray,
    names: pa.Array,
    reading: ReadOptions,
    ignored: IntArray,
    phrase_rows: Callable[[Sequence[int]], str] = rows_phrase,
) -> Grades | None:
    """Return the class of each distinct label by the map; None if there is no map.

    Args:
        labels: code of each row, -1 where the label is missing.
        names: the distinct labels, by code.
        reading: the map (a mapping, or what `quorate.read` takes with the columns answer and class) and the classes.
        ignored: codes that need not be in the map, because they mean "no answer".
        phrase_rows: function that names rows in messages.

    Raises:
        MapError: the map lacks an answer, gives one two classes, or has a class that is not listed.

    >>> scale = ReadOptions(map={"1": "bad", "2": None, "3": "good"})
    >>> grades = grades_of(np.array([0, 1]), pa.array(["3", "2"]), scale, np.zeros(0, int))
    >>> grades.class_of.tolist(), grades.classes.to_pylist()
    ([1, -1], ['bad', 'good'])
    """
    if reading.map is None:
        return None
    answers, class_of_answer, class_names = _read(reading.map)
    answers = as_type(answers, names.type, "answers of the map")
    if reading.merge_spellings:
        answers = spell_as_classes(answers, names)
    row_of_map = positions(names, answers)
    used = np.setdiff1d(np.unique(labels[labels >= 0]), ignored)
    not_in_map = used[row_of_map[used] < 0]
    if len(not_in_map):
        rows = np.flatnonzero(labels == not_in_map[0])
        more = "" if len(not_in_map) == 1 else f", and {count(len(not_in_map) - 1, 'more answer')}"
        raise MapError(
            f"The map (map=, --map) has no row for the answer {shown(names[int(not_in_map[0])].as_py())} in "
            f"{phrase_rows(rows.tolist())}{more}. Add a row. If its class is empty, the answer is ignored"
        )
    codes, classes = _recode_classes(class_of_answer, class_names, reading)
    return Grades(np.append(codes, -1)[row_of_map].astype(np.int64), classes)


@about_argument("map= (--map)")
def _read(source: Any) -> tuple[pa.Array, IntArray, pa.Array]:
    """Read the map; return its distinct answers, the code of the class of each (-1: none), and the classes."""
    if isinstance(source, Mapping) and set(source) != {ANSWER, CLASS}:
        source = {ANSWER: list(source.keys()), CLASS: list(source.values())}
    table = read_table(source, {ANSWER: REMEDY, CLASS: REMEDY}, fixed=True)
    answers, answer_names = encode(table.column(ANSWER), ANSWER)
    classes, class_names = encode(table.column(CLASS), CLASS, is_label=True)
    refuse_missing(answers, ANSWER, "the map", error=MapError)
    class_of_answer = value_of_each(
        answers,
        classes.astype(np.int64),
        answer_names,
        lambda answer, rows: MapError(f"the map gives {answer} two different classes ({rows}); keep one"),
    )
    return answer_names, class_of_answer, class_names


def _recode_classes(codes: IntArray, names: pa.Array, reading: ReadOptions) -> tuple[IntArray, pa.Array]:
    """Recode the classes by the caller's order or, without one, numbers by value and text alphabetically."""
    has_class = codes >= 0
    if not has_class.any():
        raise MapError("The map has no class in its column 'class'. Fill it in")
    try:
        new, classes = order_classes(codes[has_class], names, reading.classes)
    except OptionError:
        listed = as_type(reading.classes or (), names.type, "classes")
        unlisted = take(names, np.flatnonzero(positions(names, listed) < 0)).to_pylist()
        raise MapError(
            f"The map has classes that are not listed: {listing(unlisted)}; the classes (classes=, --classes) "
            f"are {listing(listed.to_pylist(), 12)}"
        ) from None
    numbered = np.full(len(codes), -1, np.int64)
    numbered[has_class] = new
    return numbered, classes


NO_ROWS = (np.zeros(0, np.int32),) * 3  # codes of tasks, workers and symbols, for no abstentions


@dataclass(frozen=True, eq=False)
class AbstainingRows:
    """The rows of a table that abstain, and the symbol (abstention label) of each."""

    rows: BoolArray  # mask of the rows of the table
    symbol: IntArray  # index among `names`, for each of these rows
    names: pa.Array  # null for a blank field
    unused_abstention_labels: tuple[str, ...] = ()  # abstention labels that no answer has

    def add_to(self, answers: Answers, task: IntArray, worker: IntArray) -> Answers:
        """Return the answers with the abstentions added, except where the worker also answered the task.

        Args:
            answers: answers of the other rows.
            task: code of the task of each row of the table.
            worker: code of the worker of each row of the table.
        """
        task = task[self.rows]
        worker = worker[self.rows]
        n = answers.n_workers
        # The grades, or the classes if there are no grades.
        base = answers.answer_symbols or AnswerSymbols(
            answers.classes, np.arange(answers.n_classes), answers.label, *NO_ROWS
        )
        key = task.astype(np.int64) * n + worker
        unique_key, first = np.unique(key, return_index=True)  # of several abstentions, the first
        first = first[~is_among(unique_key, answers.task.astype(np.int64) * n + answers.worker)]
        answer_symbols = replace(
            base,
            symbols=_concatenate_names(base.symbols, self.names),
            class_of_symbol=np.concatenate([base.class_of_symbol, np.full(len(self.names), -1)]),
            task=task[first],
            worker=worker[first],
            abstention_symbol=(self.symbol[first] + len(base.symbols)).astype(np.int32),
            n_superseded=len(key) - len(first),
            unused_abstention_labels=self.unused_abstention_labels,
        )
        return replace(answers, answer_symbols=answer_symbols)


def abstentions_of(
    labels: IntArray,
    names: pa.Array,
    has_ids: BoolArray,
    reading: ReadOptions,
    reasons: tuple[IntArray, pa.Array] | None = None,
    grades: Grades | None = None,
) -> AbstainingRows | None:
    """Return the rows that abstain; None if the options and the data allow no abstentions.

    Args:
        labels: code of each row, -1 where the label is missing.
        names: the distinct labels, by code.
        has_ids: mask of the rows that have a task, a worker and, if there are groups, a group.
        reading: the labels that mean "no answer" (``abstain``), and how missing fields are treated.
        reasons: code of each row (-1: none) and the texts by code, for labels that are missing for a stated reason.
        grades: class of each distinct label; a label without a class is an abstention.

    Raises:
        OptionError: a label that means "no answer" is among the classes that the caller lists.

    >>> labels, names, reading = np.array([0, 1, -1]), pa.array(["cat", "n/a"]), ReadOptions(abstain=["n/a"])
    >>> abstentions = abstentions_of(labels, names, np.ones(3, bool), reading)
    >>> abstentions.rows.tolist(), abstentions.names.to_pylist()
    ([False, True, False], ['n/a'])
    """
    blanks = takes_blanks(reading) and bool((labels < 0).any())
    without_class = np.zeros(0, np.int64) if grades is None else np.flatnonzero(grades.class_of < 0)
    if not reading.abstain and reasons is None and not blanks and not len(without_class):
        return None
    code = codes_of(reading, names)
    used = np.flatnonzero(np.bincount(labels[labels >= 0], minlength=len(names)))
    named = np.intersect1d(np.concatenate([code, without_class]), used)
    unused_abstention_labels = tuple(
        str(value)
        for value, label_code in zip(reading.abstain, code, strict=True)
        if label_code not in named and not is_blank(value)
    )
    symbol_of_label = np.full(len(names) + 1, -1, np.int64)  # the last element is for a missing label
    symbol_of_label[named] = np.arange(len(named))
    symbol = symbol_of_label[labels]
    symbols = take(names, named)
    if reasons is not None and len(reasons[1]):
        has_reason = (labels < 0) & (reasons[0] >= 0)
        symbol = np.where(has_reason, len(symbols) + reasons[0], symbol)
        symbols = _concatenate_names(symbols, reasons[1])
    if blanks:
        blank = (labels < 0) & (symbol < 0) & has_ids
        if blank.any():
            symbol = np.where(blank, len(symbols), symbol)
            symbols = pa.concat_arrays([symbols, pa.nulls(1, symbols.type)])
    rows = has_ids & (symbol >= 0)
    return AbstainingRows(rows, symbol[rows], symbols, unused_abstention_labels)


def takes_blanks(reading: ReadOptions) -> bool:
    """Whether a row without a label is an abstention; otherwise it is refused.

    >>> takes_blanks(ReadOptions()), takes_blanks(ReadOptions(abstain=["", "n/a"]))
    (False, True)
    """
    return reading.skip_missing or any(is_blank(value) for value in reading.abstain)


def codes_of(reading: ReadOptions, names: pa.Array) -> IntArray:
    """Return the code of each abstention label among the names; -1 for a label that is not there.

    Raises:
        OptionError: an abstention label is among the classes that the caller lists.

    >>> codes_of(ReadOptions(abstain=["n/a", "skip"]), pa.array(["cat", "n/a"])).tolist()
    [1, -1]
    """
    listed = {str(value) for value in reading.classes or ()}
    both = [value for value in reading.abstain if str(value) in listed]
    if both:
        raise OptionError(
            f"{shown(both[0])} is both a class (classes=, --classes) and no answer (abstain=, --abstain); choose one"
        )
    codes = np.full(len(reading.abstain), -1, np.int64)
    for k, value in enumerate(reading.abstain):
        if is_blank(value):
            continue
        try:
            one = as_type([value], names.type, "labels that mean no answer")
        except ColumnTypeError:
            continue  # the names are of another type and cannot include it
        codes[k] = positions(spell_as_classes(one, names) if reading.merge_spellings else one, names)[0]
    return codes


def _concatenate_names(names: pa.Array, more: pa.Array) -> pa.Array:
    """Concatenate two arrays of names, as text if their types differ."""
    if names.type == more.type:
        return pa.concat_arrays([names, more])
    return pa.concat_arrays([_as_text(names), _as_text(more)])


def _as_text(names: pa.Array) -> pa.Array:
    if names.type in TEXT:
        return names.cast(pa.string())
    return pa.array([None if name is None else str(name) for name in names.to_pylist()], pa.string())


# Values instead of a code: UNUSED for a label that no row has, ABSTAINS - k for the k-th abstention label (from 0).
UNUSED = -1
ABSTAINS = -2


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The meaning of each distinct label of an engine's table: an answer, an abstention or unused."""

    code: IntArray  # of each label: its index among `answer_names`, UNUSED, or ABSTAINS and below
    answer_names: pa.Array  # the labels that are answers, in order
    classes: pa.Array
    class_of_symbol: IntArray | None = None  # class of each label in `answer_names`; None if labels are classes
    unused_abstention_labels: tuple[str, ...] = ()  # abstention labels that no answer has
    n_abstentions: int = 0  # number of abstention labels; a blank label, if it is one, is the last


def alphabet_of(
    labels: pa.Array, used: IntArray, n_rows: int, reading: ReadOptions, *, blanks: bool = False
) -> Alphabet:
    """Return the meaning of each distinct label: an answer and its class, an abstention, or unused.

    Args:
        labels: the distinct labels.
        used: number of rows with a worker for each label.
        n_rows: number of rows of the table.
        reading: the abstention labels, the map, and the classes.
        blanks: whether some rows have no label.

    Raises:
        NoRowsError: no answer is left.
        InputError: the map cannot be used.

    >>> alphabet = alphabet_of(pa.array(["n/a", "y", "x"]), np.array([1, 1, 1]), 3, ReadOptions(abstain=["n/a"]))
    >>> alphabet.code.tolist(), alphabet.classes.to_pylist()
    ([-2, 1, 0], ['x', 'y'])
    """
    used_labels: IntArray = np.flatnonzero(used)
    if reading.is_score:
        return _numbers(labels, used_labels, n_rows, reading)
    named = codes_of(reading, labels)
    grades = grades_of(used_labels, labels, reading, named, lambda _: "the answers")
    without_class = named if grades is None else np.concatenate([named, np.flatnonzero(grades.class_of < 0)])
    code = np.full(len(labels), UNUSED, np.int32)
    abstaining = np.unique(without_class[without_class >= 0])
    if len(abstaining):  # sorted, because the order of the labels depends on that of the rows
        code[abstaining] = ABSTAINS - order_classes(abstaining, labels, None)[0]
    answers = np.setdiff1d(used_labels, without_class)
    if len(answers) == 0:
        lacking = "lack a field" if len(used_labels) == 0 else "lack a field or abstain"
        raise NoRowsError(f"all {n_rows:,} rows {lacking}; no answer is left")
    code[answers], answer_names = order_classes(answers, labels, None if grades else reading.classes)
    pairs = zip(reading.abstain, named, strict=True)
    unused_abstention_labels = tuple(
        str(value) for value, label_code in pairs if not is_blank(value) and label_code not in used_labels
    )
    n_abstentions = len(abstaining) + (blanks and takes_blanks(reading))
    if grades is None:
        return Alphabet(code, answer_names, answer_names, None, unused_abstention_labels, n_abstentions)
    return Alphabet(
        code,
        answer_names,
        grades.classes,
        grades.class_of[positions(answer_names, labels)],
        unused_abstention_labels,
        n_abstentions,
    )


def _numbers(labels: pa.Array, used_labels: IntArray, n_rows: int, reading: ReadOptions) -> Alphabet:
    """Return the alphabet of labels that are scores: its classes are the distinct numbers, ascending."""
    from quorate.io.scores import as_scores

    code = np.full(len(labels), UNUSED, np.int32)
    code[used_labels], values = as_scores(
        np.arange(len(used_labels)), take(labels, used_labels), reading, lambda _: "the answers"
    )
    if (code < 0).all():
        raise NoRowsError(f"all {n_rows:,} rows lack a field or abstain; no score is left")
    return Alphabet(code, values, values)
