"""`Plan`: how a table can be read, or why it cannot. `detect` returns it, and `proposals` writes it as a command."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Plan:
    """How a table can be read, or why it cannot."""

    kind: str = ""  # "long", "wide", "lists", "classes", "matrix"; or "gold", "shares", "ratings", "pairs", "nothing"
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments for `ReadOptions`
    certain: bool = False
    why: tuple[str, ...] = ()  # sentences: the role of each column, and the reason
    problem: str = ""  # why the table has no answers that can be combined
    question: str = ""  # question that only the user can answer
    warnings: tuple[str, ...] = ()
    alternatives: tuple[Mapping[str, Any], ...] = ()  # other options with which it may be read
    other_commands: tuple[str, ...] = ()  # commands for which the table is suitable, too: "rank", "rate"

    @property
    def is_readable(self) -> bool:
        """Whether answers can be read with ``options``."""
        return bool(self.options) and not self.problem
