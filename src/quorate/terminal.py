"""What people see: tables on a terminal, plain text in a pipe, and a bar while they wait."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from rich.text import Text

from quorate.progress import listening
from quorate.table import Table

MOST_ROWS = 10


def print_lines(lines: Iterable[str], *, error: bool = False) -> None:
    """Print lines as they are: ids and labels are data, never markup."""
    console = Console(stderr=error, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(escape(line), markup=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; in a pipe without colours, and as wide as it needs to be."""
    console = Console(highlight=False)
    table = RichTable(box=None, pad_edge=False)
    cells = [[_cell(value) for value in row] for row in rows]
    for number, column in enumerate(columns):
        numeric = bool(cells) and all(_is_number(row[number]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(escape(cell) for cell in row))
    console.print(f"[bold]{escape(title)}[/]")
    if console.is_terminal:
        console.print(table)
    else:
        wide = Console(highlight=False, width=10_000)
        with wide.capture() as text:
            wide.print(table)
        print_lines(line.rstrip() for line in text.get().splitlines())


def print_head(title: str, table: Table, most: int = MOST_ROWS) -> None:
    """Print the first rows of a table, and say how many more there are."""
    head = table.arrow.slice(0, most)
    more = f" (the first {most} of {len(table):,})" if len(table) > most else ""
    print_table(title + more, table.column_names, [list(row.values()) for row in head.to_pylist()])


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show a bar on standard error while the block runs, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        stages: dict[str, Any] = {}

        def hear(stage: str, done: int, total: int | None) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(stage, total=total)
            bars.update(stages[stage], completed=done, total=total)

        with listening(hear):
            yield


class _Rate(TextColumn):
    """How many steps a second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        """Show the speed, once there is one."""
        return Text(f"{task.speed:,.1f}/s" if task.speed else "")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4f}" if abs(value) < 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_number(cell: str) -> bool:
    return cell == "–" or cell.replace(",", "").replace(".", "").replace("-", "").isdigit()
