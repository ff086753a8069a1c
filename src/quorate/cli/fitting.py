"""Which columns of a table a terminal has room for: numbers and words are never split, columns are left out instead."""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = 2  # spaces between columns
LONGEST_ID = 28  # characters of a name that is cut before a column is left out for it
# What is left out first: what a reader on a terminal misses least. Then the last columns, from the right.
SPARE = (
    "class_accuracy", "standard_error", "component", "n_peers", "inclusion_probability", "margin", "weight",
    "skill_high", "skill_low", "log-loss", "calibration", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """The columns that are shown, each with its width, and those that are not."""

    widths: dict[int, int]
    dropped: tuple[int, ...]


def fit(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], room: int) -> Fitted:
    """Choose the columns that fit.

    Text of several words is wrapped between words, unless it can be spared; a long name is cut, with a mark.

    Args:
        columns: their names.
        cells: what stands in them, as text.
        numeric: which of them are numbers, which are never cut.
        room: characters in a line.

    >>> cells = [["ann", "0.1234", "0.0200"]]
    >>> fit(["worker", "skill", "standard_error"], cells, [False, True, True], 16)
    Fitted(widths={0: 6, 1: 6}, dropped=(2,))
    """
    needed = {k: max(len(name), *(len(row[k]) for row in cells), 1) for k, name in enumerate(columns)}
    least = dict(needed)
    for k in needed:
        words = [word for row in cells for word in row[k].split()]
        if not numeric[k] and words and columns[k] not in SPARE and any(" " in row[k] for row in cells):
            least[k] = max(len(columns[k]), *map(len, words))
        elif not numeric[k] and needed[k] > LONGEST_ID:
            least[k] = max(len(columns[k]), LONGEST_ID)
    shown = list(needed)
    order = [k for name in SPARE for k, column in enumerate(columns) if column == name]
    order += [k for k in reversed(shown) if k not in order]
    while len(shown) > 1 and _length(least, shown) > room:
        shown.remove(next(k for k in order if k in shown and k != 0))
    widths = {k: least[k] for k in shown}
    for k in shown:  # give back what is left
        widths[k] += max(min(needed[k] - least[k], room - _length(widths, shown)), 0)
    widths = {k: min(width, room) for k, width in widths.items()}
    return Fitted(widths, tuple(k for k in needed if k not in shown))


def _length(widths: dict[int, int], shown: Sequence[int]) -> int:
    return sum(widths[k] for k in shown) + GAP * (len(shown) - 1)
