"""`Plan`: how a table can be read, or why it cannot: what `detect` finds and `proposals` writes as a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plan:
    """How a table can be read, or why it cannot."""

    kind: str = ""  # "long", "wide", "lists", "classes", "matrix"; or "gold", "shares", "ratings", "pairs", "nothing"
    options: Mapping[str, Any] = field(default_factory=dict)  # for `ReadOptions`
    certain: bool = False
    why: tuple[str, ...] = ()  # what each column was taken for, a sentence each
    problem: str = ""  # why the table holds no answers that can be combined
    question: str = ""  # what only the user knows
    warnings: tuple[str, ...] = ()
    alternatives: tuple[Mapping[str, Any], ...] = ()  # further ways to read it
    also: tuple[str, ...] = ()  # other commands that fit: "rank", "rate"

    @property
    def is_readable(self) -> bool:
        """Whether there are options under which answers are read."""
        return bool(self.options) and not self.problem
