"""The result of an experiment: its figures, those of the paper, charts, and notes for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Row: TypeAlias = tuple[Any, ...]  # text, whole numbers, floats, or None where there is nothing

HOLDS = "holds"
FAILS = "does not hold"
PARTLY = "holds in part"


@dataclass(frozen=True)
class Tabulation:
    """A table of figures for a CSV file or for Markdown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Figure:
    """A chart, as a Vega-Lite specification."""

    name: str  # of its files
    caption: str
    spec: dict[str, Any]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the verdict of our runs."""

    text: str
    verdict: str  # HOLDS, FAILS or PARTLY
    evidence: str


@dataclass(frozen=True)
class Measured:
    """Seconds: they differ between machines and runs, so they are in separate files."""

    table: Tabulation
    beside: Tabulation
    figure: Figure


@dataclass(frozen=True)
class Experiment:
    """An experiment that was run."""

    table: Tabulation  # every figure, for the CSV
    beside: tuple[Tabulation, ...]  # the paper's figures and ours
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()  # what the paper left open, what we chose, and how much it matters
    measured: Measured | None = None


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over trials; failed trials are counted and left out."""

    mean: float | None
    deviation: float | None
    n: int
    n_failed: int

    def __str__(self) -> str:
        if self.mean is None or self.deviation is None:
            return "failed"
        return f"{self.mean:.4f} ± {self.deviation:.4f}"


def spread(values: Sequence[float | None]) -> Spread:
    """Summarise trials.

    >>> str(spread([0.1, 0.3, None]))
    '0.2000 ± 0.1414'
    """
    known = np.array([value for value in values if value is not None])
    n_failed = len(values) - len(known)
    if len(known) == 0:
        return Spread(None, None, 0, n_failed)
    deviation = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return Spread(float(known.mean()), deviation, len(known), n_failed)


def difference(ours: float | None, paper: float | None) -> str:
    """Return our figure minus that of the paper as text with a sign; a dash if one is missing.

    >>> difference(0.0725, 0.07), difference(0.1, None)
    ('+0.0025', '–')
    """
    return "–" if ours is None or paper is None else f"{round(ours - paper, 4) + 0.0:+.4f}"  # never -0.0000


def verdict(*parts: bool) -> str:
    """Return whether a claim of several parts holds in all, some or none of them.

    >>> verdict(True, False)
    'holds in part'
    """
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def cell_text(cell: Any) -> str:
    """Return a cell as text for people.

    >>> cell_text(0.07254), cell_text(12000), cell_text(None), cell_text(1495.2)
    ('0.0725', '12,000', '–', '1,495')
    """
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}" if abs(cell) >= 1 else f"{cell:.4f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
