"""What the labels of an engine's rows mean: classes, grades that point to one, or abstentions; as in memory."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray
from quorate.errors import NoRowsError
from quorate.reading.abstaining import codes_of, is_blank, takes_blanks
from quorate.reading.columns import order_classes, positions
from quorate.reading.grades import grades_of
from quorate.reading.options import ReadOptions

# Instead of a code: no answer has the label; whoever gives it abstains, and SILENT - k by the k-th of such labels.
UNUSED, SILENT = -1, -2


@dataclass(frozen=True)
class Alphabet:
    """The labels by their numbers as they came in."""

    code: IntArray  # of each label: among those given, UNUSED, or SILENT and below
    given: pa.Array  # the labels that are answers, in order
    classes: pa.Array
    points_to: IntArray | None = None  # the class of each label given; None where labels are classes
    unheard: tuple[str, ...] = ()  # what would have been an abstention, and nobody said
    n_silent: int = 0  # labels by which workers abstain; a blank, where there is one, is the last of them


def alphabet_of(
    labels: pa.Array, used: IntArray, n_rows: int, reading: ReadOptions, *, blanks: bool = False
) -> Alphabet:
    """Tell what labels mean.

    Args:
        labels: each once.
        used: how many rows with a worker have each.
        n_rows: all of them.
        reading: what is no answer, the map, and the classes.
        blanks: whether rows lack a label.

    Raises:
        NoRowsError: no answer is left.
        InputError: the map cannot be used.

    >>> found = alphabet_of(pa.array(["n/a", "y", "x"]), np.array([1, 1, 1]), 3, ReadOptions(abstain=["n/a"]))
    >>> found.code.tolist(), found.classes.to_pylist()
    ([-2, 1, 0], ['x', 'y'])
    """
    there: IntArray = np.flatnonzero(used)
    if reading.is_score:
        return _numbers(labels, there, n_rows, reading)
    named = codes_of(reading, labels)
    grades = grades_of(there, labels, reading, named, lambda _: "the answers")
    pointless = named if grades is None else np.concatenate([named, np.flatnonzero(grades.class_of < 0)])
    code = np.full(len(labels), UNUSED, np.int32)
    silent = np.unique(pointless[pointless >= 0])
    if len(silent):  # by name, for the labels came in whatever order the rows have
        code[silent] = SILENT - order_classes(silent, labels, None)[0]
    answers = np.setdiff1d(there, pointless)
    if len(answers) == 0:
        said = "lack a field" if len(there) == 0 else "lack a field or abstain"
        raise NoRowsError(f"all {n_rows:,} rows {said}; no answer is left")
    code[answers], given = order_classes(answers, labels, None if grades else reading.classes)
    pairs = zip(reading.abstain, named, strict=True)
    unheard = tuple(str(value) for value, place in pairs if not is_blank(value) and place not in there)
    n_silent = len(silent) + (blanks and takes_blanks(reading))
    if grades is None:
        return Alphabet(code, given, given, None, unheard, n_silent)
    return Alphabet(code, given, grades.classes, grades.class_of[positions(given, labels)], unheard, n_silent)


def _numbers(labels: pa.Array, there: IntArray, n_rows: int, reading: ReadOptions) -> Alphabet:
    """Return labels that are scores: the classes are the distinct numbers, ascending."""
    from quorate.arrays import take
    from quorate.reading.scores import as_scores

    code = np.full(len(labels), UNUSED, np.int32)
    code[there], values = as_scores(np.arange(len(there)), take(labels, there), reading, lambda _: "the answers")
    if (code < 0).all():
        raise NoRowsError(f"all {n_rows:,} rows lack a field or abstain; no score is left")
    return Alphabet(code, values, values)
