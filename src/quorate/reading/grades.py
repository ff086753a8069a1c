"""Which class an answer points to: a table of answers and classes, which says of grades what they mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, take
from quorate.errors import MapError, OptionError, count, listing, rows_phrase, shown
from quorate.reading.columns import as_type, encode, order_classes, positions
from quorate.reading.files import read_table
from quorate.reading.options import ReadOptions
from quorate.reading.spelling import respelled

ANSWER, CLASS = "answer", "class"  # the columns of such a table
REMEDY = "Of the map, the columns 'answer' and 'class' are read; rename yours"


@dataclass(frozen=True)
class Grades:
    """What each answer points to."""

    class_of: IntArray  # of each name among the labels: a class, or -1 for none
    classes: pa.Array


def grades_of(
    labels: IntArray,
    names: pa.Array,
    reading: ReadOptions,
    ignored: IntArray,
    tell: Callable[[Sequence[int]], str] = rows_phrase,
) -> Grades | None:
    """Look every answer up in the map; None where there is no map.

    Args:
        labels: code of each row, -1 where the label is missing.
        names: the labels behind the codes.
        reading: the map, a mapping or what `quorate.read` takes with the columns answer and class, and the classes.
        ignored: codes that need not be in the map, for they are no answers.
        tell: how messages speak of rows.

    Raises:
        MapError: it misses an answer, names one twice, or points to a class that is not listed.

    >>> scale = ReadOptions(map={"1": "bad", "2": None, "3": "good"})
    >>> found = grades_of(np.array([0, 1]), pa.array(["3", "2"]), scale, np.zeros(0, int))
    >>> found.class_of.tolist(), found.classes.to_pylist()
    ([1, -1], ['bad', 'good'])
    """
    if reading.map is None:
        return None
    answers, pointed, pointed_names = _read(reading.map)
    answers = as_type(answers, names.type, "answers of the map")
    if reading.merge_spellings:
        answers = respelled(answers, names)
    place = positions(names, answers)
    used = np.setdiff1d(np.unique(labels[labels >= 0]), ignored)
    missed = used[place[used] < 0]
    if len(missed):
        rows = np.flatnonzero(labels == missed[0])
        more = "" if len(missed) == 1 else f", and {count(len(missed) - 1, 'more answer')}"
        raise MapError(
            f"the map (map=, --map) does not say what {shown(names[int(missed[0])].as_py())} in "
            f"{tell(rows.tolist())} points to{more}; add it, with no class if it points to none"
        )
    codes, classes = _ordered(pointed, pointed_names, reading)
    return Grades(np.append(codes, -1)[place].astype(np.int64), classes)


def _read(source: Any) -> tuple[pa.Array, IntArray, pa.Array]:
    """Read the map: answers, each once, the code of the class that each points to (-1: none), and the classes."""
    if isinstance(source, Mapping) and set(source) != {ANSWER, CLASS}:
        source = {ANSWER: list(source.keys()), CLASS: list(source.values())}
    table = read_table(source, {ANSWER: REMEDY, CLASS: REMEDY}, fixed=True)
    answers, answer_names = encode(table.column(ANSWER), ANSWER)
    classes, class_names = encode(table.column(CLASS), CLASS, is_label=True)
    if (answers < 0).any():
        rows = rows_phrase(np.flatnonzero(answers < 0).tolist())
        raise MapError(f"'answer' is missing in {rows} of the map; fill it in")
    found = np.full(len(answer_names), -1, np.int64)
    found[answers[::-1]] = classes[::-1]
    clash = np.flatnonzero(found[answers] != classes)
    if len(clash):
        name = answer_names[int(answers[clash[0]])].as_py()
        raise MapError(f"the map says twice, and otherwise, what {shown(name)} points to: see {rows_phrase(clash.tolist())}")
    return answer_names, found, class_names


def _ordered(codes: IntArray, names: pa.Array, reading: ReadOptions) -> tuple[IntArray, pa.Array]:
    """Give the classes codes in their order: as the caller lists them, or numbers by value and text by alphabet."""
    given = codes >= 0
    if not given.any():
        raise MapError("no answer of the map points to a class; name the classes in its column 'class'")
    try:
        new, classes = order_classes(codes[given], names, reading.classes)
    except OptionError:
        listed = as_type(reading.classes or (), names.type, "classes")
        strangers = take(names, np.flatnonzero(positions(names, listed) < 0)).to_pylist()
        raise MapError(
            f"the map points to classes that are not listed: {listing(strangers)}; the classes (classes=, --classes) "
            f"are {listing(listed.to_pylist(), 12)}"
        ) from None
    numbered = np.full(len(codes), -1, np.int64)
    numbered[given] = new
    return numbered, classes
