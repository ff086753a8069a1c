"""Tell whether a column holds classes, a numeric scale or free text, and compare the codes of several columns.

The codes are those of `Profile`: integers from 0, and -1 where the field is blank.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quorate.arrays import IntArray
from quorate.errors import count

if TYPE_CHECKING:
    from quorate.io.frame import Frame, Profile

MAX_CLASSES = 50  # distinct values of a column that may be answers by its values alone; public data sets have up to 47
MAX_GRADES = 11  # distinct values of a numeric scale that may be classes: 0 to 10
FREE_TEXT_SHARE = 0.5  # distinct answers / answers; above this share, the answers are free text
FREE_TEXT_ANSWERS = 20  # with fewer answers, or fewer distinct ones, free text is not concluded
LONG_TEXT = 60  # characters; values with a longer mean length are texts, not ids


def is_numeric_scale(profile: "Profile") -> bool:
    """Whether the values are measurements or a fine scale, rather than classes.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> scores = frame_of(look({"score": [k / 7 for k in range(30)]}), sample=True).profiles["score"]
    >>> is_numeric_scale(scores)
    True
    """
    if not profile.is_number or profile.n_values < 3:
        return False
    has_few = profile.n_values <= MAX_GRADES
    if not profile.is_integer and not (has_few and all((4 * float(value)).is_integer() for value in profile.values)):
        return True  # fractions, other than a few grades in halves or quarters
    return profile.n_values > 2 * MAX_GRADES or (profile.n_values > MAX_GRADES and profile.high - profile.low > 20)


def is_free_text(profile: "Profile") -> bool:
    """Whether a column of texts has so many distinct values that they are free text, not classes."""
    return not profile.is_number and are_different_answers(profile.n_values, profile.n_given)


def are_different_answers(n_values: int, n_answers: int) -> bool:
    """Whether so many answers are distinct that they are free text rather than a choice.

    >>> are_different_answers(60, 100), are_different_answers(3, 100)
    (True, False)
    """
    return n_answers >= FREE_TEXT_ANSWERS and n_values > max(FREE_TEXT_SHARE * n_answers, FREE_TEXT_ANSWERS)


def free_text_problem(n_values: int, n_answers: int, where: str = "") -> str:
    """Return the sentence about answers that are free text; ``where`` is inserted after their number."""
    return (
        f"{n_values:,} different answers among {n_answers:,}{where}: this looks like free text, not a choice. Quorate "
        "needs a limited set of labels"
    )


def can_be_label(profile: "Profile") -> bool:
    """Whether the values of a column can be classes."""
    return profile.n_values > 0 and not is_free_text(profile) and not profile.nested and profile.mean_length < 200


def is_few(profile: "Profile") -> bool:
    """Whether the distinct values are few enough to be classes."""
    return 1 <= profile.n_values <= MAX_CLASSES and (profile.n_values <= profile.n_given / 2 or profile.n_given < 10)


def value_overlap(one: frozenset[str], two: frozenset[str]) -> float:
    """Return the share of the smaller set of values that is also in the other set; 0 if one set is empty."""
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


def name_and_count(profile: "Profile") -> str:
    """Return the name of a column with its number of distinct values: ``Sentiment (3 values)``."""
    return f"{profile.name} ({count(profile.n_values, 'value')})"


def short_number(number: float) -> str:
    """Return a number with at most four significant digits, as text."""
    return f"{number:.4g}"


def combined_codes(frame: "Frame", names: Sequence[str]) -> IntArray:
    """Return a code for the combination of several columns in each row; -1 where one of them is blank."""
    codes = np.zeros(frame.n_rows, dtype=np.int64)
    present = np.ones(frame.n_rows, dtype=bool)
    for name in names:
        profile = frame.profiles[name]
        codes = codes * (profile.n_values + 1) + np.maximum(profile.codes, 0)
        present &= profile.codes >= 0
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return np.where(present, codes, -1)


def conflict_share(tasks: IntArray, workers: IntArray, labels: IntArray) -> float:
    """Return the share of rows whose task and worker also occur with another label.

    >>> conflict_share(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([0, 1, 1]))
    0.6666666666666666
    """
    is_present = (tasks >= 0) & (workers >= 0) & (labels >= 0)
    if not is_present.any():
        return 0.0
    pair = tasks[is_present] * (workers.max() + 1) + workers[is_present]
    _, pair = np.unique(pair, return_inverse=True)
    n_labels = int(labels.max()) + 1
    triple = np.unique(pair.astype(np.int64) * n_labels + labels[is_present])
    times = np.bincount(triple // n_labels)
    return float((times[pair] > 1).mean())


def repeat_share(tasks: IntArray, workers: IntArray) -> float:
    """Return the share of rows whose task and worker occurred before."""
    is_present = (tasks >= 0) & (workers >= 0)
    return 1 - n_code_pairs(tasks[is_present], workers[is_present]) / max(int(is_present.sum()), 1)


def has_shared_tasks(tasks: IntArray, workers: IntArray) -> bool:
    """Whether at least one task has answers of two workers."""
    is_present = (tasks >= 0) & (workers >= 0)
    return n_code_pairs(tasks[is_present], workers[is_present]) > len(np.unique(tasks[is_present]))


def varies_within(codes: IntArray, groups: IntArray) -> bool:
    """Whether a column has two different values in at least one group of rows.

    >>> varies_within(np.array([0, 1, 2]), np.array([0, 0, 1])), varies_within(np.array([0, 0, 2]), np.array([0, 0, 1]))
    (True, False)
    """
    is_present = (codes >= 0) & (groups >= 0)
    return n_code_pairs(groups[is_present], codes[is_present]) > len(np.unique(groups[is_present]))


def n_code_pairs(one: IntArray, two: IntArray) -> int:
    """Return the number of distinct pairs of codes; no code is negative."""
    if not len(one):
        return 0
    return len(np.unique(one.astype(np.int64) * (int(two.max()) + 1) + two))


def agreement_within(groups: IntArray, labels: IntArray) -> float:
    """Return the share of equal labels among all pairs of two rows of the same group; 0 if there are no pairs.

    >>> agreement_within(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]))
    0.5
    """
    is_present = (groups >= 0) & (labels >= 0)
    groups = groups[is_present]
    labels = labels[is_present]
    if not len(groups):
        return 0.0
    n = np.bincount(groups).astype(float)
    cell = np.unique(groups.astype(np.int64) * (int(labels.max()) + 1) + labels, return_counts=True)[1].astype(float)
    pairs = float((n * (n - 1)).sum())
    return float((cell * (cell - 1)).sum()) / pairs if pairs else 0.0
