"""Tables as the page shows them: cells with a text to read and a value to sort by."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST_ROWS = 500  # a longer table is cut, with a word about it


@dataclass(frozen=True)
class Badge:
    """A short word about a row, with a tone: good, doubt, bad, copy or unknown."""

    text: str
    tone: str


@dataclass(frozen=True)
class Cell:
    """What a cell shows: text, badges or lines of a label and who gave it; the value is what it sorts by."""

    text: str = ""
    value: float | None = None
    badges: tuple[Badge, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Column:
    """A heading; numbers stand to the right, and a spare column is left out on a phone."""

    title: str
    number: bool = False
    spare: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table of the page."""

    name: str  # its id on the page
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_rows: int  # before it was cut
    file: str | None = None  # the address of the whole table, where it was written

    @property
    def is_cut(self) -> bool:
        """Whether rows are missing."""
        return len(self.rows) < self.n_rows


def number(value: float | None, digits: int = 2) -> Cell:
    """Show a number, or a dash where there is none.

    >>> number(0.1234).text, number(None).text, number(float("nan")).text, number(12000, 0).text
    ('0.12', '–', '–', '12,000')
    """
    if value is None or value != value:
        return Cell("–")
    return Cell(f"{value:,.{digits}f}", float(value))


def percent(value: float | None, digits: int = 0) -> Cell:
    """Show a share in percent; what rounds to all or nothing without being so says it.

    >>> percent(0.123).text, percent(0.999).text, percent(1.0).text, percent(None).text
    ('12%', '>99%', '100%', '–')
    """
    if value is None or value != value:
        return Cell("–")
    shown = f"{value:.{digits}%}"
    if value < 1 and shown == f"{1:.{digits}%}":
        shown = f">{1 - 10 ** -(digits + 2):.{digits}%}"
    elif value > 0 and shown == f"{0:.{digits}%}":
        shown = f"<{10 ** -(digits + 2):.{digits}%}"
    return Cell(shown, float(value))


def name_list(names: Sequence[str], most: int = 8) -> str:
    """List names with commas, and count those that are too many.

    >>> name_list(["ann", "bob", "eve"], most=2)
    'ann, bob and 1 more'
    """
    head = ", ".join(names[:most])
    return f"{head} and {len(names) - most:,} more" if len(names) > most else head
