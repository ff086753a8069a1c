"""Targets and plain tables on the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A figure with its limits."""

    name: str
    value: float
    most: float | None = None
    least: float | None = None

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limits; it is compared exactly, without rounding."""
        if self.most is not None and not self.value <= self.most:
            return False
        return self.least is None or self.value >= self.least

    def line(self) -> str:
        """Return the figure, its limits and whether it is met."""
        limits = []
        if self.least is not None:
            limits.append(f"at least {self.least:g}")
        if self.most is not None:
            limits.append(f"at most {self.most:g}")
        verdict = "met" if self.is_met else "NOT MET"
        return f"  {self.name:58s} {self.value:+8.4f}   {', '.join(limits):24s} {verdict}"


def print_targets(targets: Sequence[Target]) -> None:
    """Print every target and how many are met."""
    print(f"\nTargets: {sum(target.is_met for target in targets)} of {len(targets)} met")
    for target in targets:
        print(target.line())


def parse_numbers(text: str) -> list[int]:
    """Return the integers of a comma-separated option."""
    return [int(part) for part in text.split(",") if part]


def print_row(label: str, values: Sequence[float | str], width: int = 9, digits: int = 4, first: int = 26) -> None:
    """Print a label and its values in columns; text is printed as it is."""
    cells = []
    for value in values:
        text = value if isinstance(value, str) else f"{value:.{digits}f}"
        cells.append(f"{text:>{width}s}")
    print(f"{label:{first}s}" + "".join(cells), flush=True)
