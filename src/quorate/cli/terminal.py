"""Output for people: tables on a terminal, plain text in a pipe, and a progress bar.

rich is imported only if standard output is a terminal. If a terminal is too narrow for a table, columns are left out:
numbers, words and intervals are never split.
"""

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from quorate.addresses import render_given
from quorate.arrays import FloatArray, Table
from quorate.errors import visible
from quorate.progress import listening

# Columns of files and of --json that tables on a terminal leave out: they are for programs.
FOR_PROGRAMS = frozenset(
    {"standard_error", "component", "n_peers", "margin", "tied", "weight", "gain", "inclusion_probability"}
)
# Headings of tables for people, by column name of files.
HEADINGS = {
    "n_answers": "answers",
    "n_shared": "shared tasks",
    "krippendorff_alpha": "Krippendorff's alpha",
    "fleiss_kappa": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
    "percent_agreement": "percent agreement",
    "specific_agreement": "specific agreement",
    "class_accuracy": "accuracy per class",
    "p_best": "probability of being best",
    "tie_rate": "share of ties",
}
GAP = 2  # spaces between columns
MAX_CUT_NAME = 28  # characters to which a name may be cut so that more columns fit
# Columns that are left out first, because a reader on a terminal needs them least; then the others from the right.
DROPPED_FIRST = ("accuracy per class", "standard_error", "log-loss", "calibration error", "seconds")


@dataclass(frozen=True)
class ColumnFit:
    """The columns that are shown, each with its width, and those that are not."""

    widths: dict[int, int]
    dropped: tuple[int, ...]


def fit(columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool], room: int) -> ColumnFit:
    """Return the columns that fit into a line, with their widths.

    Text of several words is wrapped between words, except in the columns of DROPPED_FIRST. A long name is cut, with a
    mark.

    Args:
        columns: their names.
        cells: texts, rows × columns.
        numeric: which columns are numbers, which are never cut.
        room: characters per line.

    >>> cells = [["ann", "0.1234", "0.0200"]]
    >>> fit(["worker", "skill", "standard_error"], cells, [False, True, True], 16)
    ColumnFit(widths={0: 6, 1: 6}, dropped=(2,))
    """
    needed = {k: max(len(name), *(len(row[k]) for row in cells), 1) for k, name in enumerate(columns)}
    least = dict(needed)
    for k in needed:
        words = [word for row in cells for word in row[k].split()]
        if not numeric[k] and words and columns[k] not in DROPPED_FIRST and any(" " in row[k] for row in cells):
            least[k] = max(len(columns[k]), *map(len, words))
        elif not numeric[k] and needed[k] > MAX_CUT_NAME:
            least[k] = max(len(columns[k]), MAX_CUT_NAME)
    shown = list(needed)
    order = [k for name in DROPPED_FIRST for k, column in enumerate(columns) if column == name]
    order += [k for k in reversed(shown) if k not in order]
    while len(shown) > 1 and _length(least, shown) > room:
        shown.remove(next(k for k in order if k in shown and k != 0))
    widths = {k: least[k] for k in shown}
    for k in shown:  # distribute the remaining characters
        widths[k] += max(min(needed[k] - least[k], room - _length(widths, shown)), 0)
    widths = {k: min(width, room) for k, width in widths.items()}
    return ColumnFit(widths, tuple(k for k in needed if k not in shown))


def _length(widths: dict[int, int], shown: Sequence[int]) -> int:
    return sum(widths[k] for k in shown) + GAP * (len(shown) - 1)


if TYPE_CHECKING:
    import pyarrow as pa

    from quorate.result import Result

MAX_ROWS = 10


def print_lines(lines: Iterable[str], *, error: bool = False) -> None:
    """Print lines for people: without markup, with control characters made visible.

    Addresses of the command line are printed without passwords.
    """
    stream = sys.stderr if error else sys.stdout
    stream.writelines([f"{visible(render_given(line))}\n" for line in lines])
    stream.flush()


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object with the version of its layout, for programs."""
    print_data(json_text(content))


def json_text(content: Mapping[str, Any]) -> str:
    """Return the text that `print_json` prints; a command that writes files calls it first, because it may fail."""
    from quorate.io.write_table import SCHEMA_VERSION, to_json

    return to_json({"schema_version": SCHEMA_VERSION, **content})


def print_data(text: str) -> None:
    """Print text for programs, unchanged."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table: fitted to the width of a terminal; in a pipe, plain and of full width."""
    columns, rows = _join_intervals(columns, rows)
    columns = [HEADINGS.get(name, name) for name in columns]
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [bool(cells) and all(_is_number(row[k]) for row in cells) for k in range(len(columns))]
    if sys.stdout.isatty():
        _draw_table(title, columns, cells, numeric)
        return
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    print_lines([title])
    for row in (columns, *cells):
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        print_lines(["  ".join(padded).rstrip()])


def _join_intervals(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return the table with the two ends of intervals joined: skill_low and skill_high become "skill interval".

    >>> _join_intervals(["worker", "skill_low", "skill_high"], [["ann", 0.1, 0.25], ["bob", None, None]])
    (['worker', 'skill interval'], [['ann', '0.100 to 0.250'], ['bob', None]])
    """
    names = list(columns)
    lists = [list(row) for row in rows]
    for name in columns:
        if not name.endswith("low") or f"{name[:-3]}high" not in names:
            continue
        low = names.index(name)
        high = names.index(f"{name[:-3]}high")
        for row in lists:
            ends = [row[low], row[high]]
            row[low] = None if None in ends else " to ".join(map(_cell, ends))
            del row[high]
        names[low] = f"{name[:-3].replace('_', ' ')}interval"
        del names[high]
    return names, lists


def _draw_table(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text  # text without markup and emoji codes

    console = Console(highlight=False)
    fitted = fit(columns, cells, numeric, console.width)
    table = RichTable(box=None, pad_edge=False)
    for k, width in fitted.widths.items():
        table.add_column(
            Text(visible(columns[k])), justify="right" if numeric[k] else "left", width=width, overflow="ellipsis"
        )
    for row in cells:
        table.add_row(*(Text(row[k]) for k in fitted.widths))
    console.print(Text(visible(title), style="bold"))
    console.print(table)
    if fitted.dropped:
        named = ", ".join(columns[k] for k in fitted.dropped)
        verb = "column is" if len(fitted.dropped) == 1 else "columns are"
        print_lines([f"{len(fitted.dropped)} {verb} not shown ({named}): use a wider terminal, a file (-o) or --json."])


def written_line(paths: Iterable[str | None]) -> list[str]:
    """Return a sentence that names the files that were written; empty if there are none.

    >>> written_line(["labels.csv", None, "workers.csv", "-"]), written_line(["-"])
    (['Written to labels.csv and workers.csv.'], [])
    """
    files = [str(path) for path in paths if path not in (None, "-")]
    if not files:
        return []
    return [f"Written to {', '.join(files[:-1])}{' and ' if files[1:] else ''}{files[-1]}."]


def print_head(
    title: str,
    table: Table,
    most: int = MAX_ROWS,
    *,
    by: FloatArray | None = None,
    how: str = "",
    total: int | None = None,
) -> None:
    """Print the first rows of a table, or those with the smallest ``by``, and the number of all rows.

    Args:
        title: of the table: what its rows are.
        table: the rows.
        most: largest number of rows that are printed.
        by: a number for each row; the rows are sorted by it.
        how: the name of this order, such as "least certain".
        total: the number of all rows, if the table has only the first of them.
    """
    rows = table.arrow
    n = len(table) if total is None else total
    remark = ""
    if by is None:
        head = rows.slice(0, most)
        if n > most:
            remark = f" (the first {most} of {n:,})"
    else:
        head = rows.take(np.argsort(by, kind="stable")[:most])
        if n > most:
            remark = f" (the {most} {how}, of {n:,})"
        elif n > 1:
            remark = f" ({how.removeprefix('with the ')} first)"
    names = [name for name in rows.column_names if _is_shown(name, rows.column(name))]
    print_table(title + remark, names, [list(row.values()) for row in head.select(names).to_pylist()])


def _is_shown(name: str, column: "pa.ChunkedArray") -> bool:
    """Whether a table for people has a column: not one for programs, and not one without information."""
    if name in FOR_PROGRAMS or (len(column) and column.null_count == len(column)):
        return False
    return not (name == "status" and set(column.unique().to_pylist()) <= {"identified"})


def print_labels(result: "Result") -> None:
    """Print the least certain labels; the first labels if no confidence is stated."""
    if result.label_source.confidence_stats().mean is None:
        print_head("Labels", result.labels)
        return
    print_head("Labels", result.labels, by=result.label_confidence, how="least certain")


def print_workers(result: "Result") -> None:
    """Print the workers with the most extra wrong answers (see `extra_wrong_answers`).

    For language models without known labels, those with the lowest agreement with the labels are printed.
    """
    from quorate.diagnostics.right_shares import extra_wrong_answers

    agreement = result.skill_estimates.agreement
    if agreement is not None and not np.isnan(agreement).all():
        by = np.nan_to_num(agreement, nan=2.0)
        print_head("Workers", result.workers, by=by, how="with the lowest agreement")
        return
    workers = result.workers
    if "right" in workers.arrow.column_names:
        # The table has the share right, as the sentences do; files also have the accuracy.
        workers = Table(workers.arrow.drop_columns(["accuracy"]))
    print_head("Workers", workers, by=-extra_wrong_answers(result), how="with the most extra wrong answers")


@contextmanager
def showing_deprecations() -> Iterator[None]:
    """Print the `DeprecationWarning` of an old name in a file, which Python hides, as a line on standard error."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def print_warning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category is DeprecationWarning:
                print_lines([f"Warning: {message}"], error=True)
            else:
                show(message, category, filename, lineno, file, line)

        warnings.filterwarnings("always", "the limit ", DeprecationWarning)
        warnings.showwarning = print_warning
        yield


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show a progress bar on standard error while the block runs, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    speed = TextColumn("{task.fields[speed]}")
    shown = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), speed)
    with Progress(*shown, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        stages: dict[str, Any] = {}

        def on_progress(stage: str, done: int, total: int | None) -> None:
            if stage not in stages:
                stages[stage] = bars.add_task(visible(stage), total=total, speed="")
            # A finished bar is removed: otherwise the program seems to hang.
            bars.update(stages[stage], completed=done, total=total, visible=total is None or done < total)
            rate = bars.tasks[stages[stage]].speed
            bars.update(stages[stage], speed=f"{rate:,.1f}/s" if rate else "")

        with listening(on_progress):
            yield


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _number(value)
    return f"{value:,}" if isinstance(value, int) else visible(str(value))


def _number(value: float) -> str:
    """Return a number as text with three significant digits, or three decimals below one.

    >>> [_number(x) for x in (0.84712, 2.345, 17.29, 1234567.0, float("inf"))]
    ['0.847', '2.35', '17.3', '1,234,567', '∞']
    """
    if value == float("inf"):
        return "∞"
    size = abs(value)
    decimals = 0
    if size < 1:
        decimals = 3
    elif size < 10:
        decimals = 2
    elif size < 100:
        decimals = 1
    return f"{value:,.{decimals}f}"


def _is_number(cell: str) -> bool:
    """Whether a cell is a number, an interval of two, or empty: it is never cut or wrapped."""
    parts = cell.replace(" to ", "").replace("%", "")
    return cell == "–" or parts.replace(",", "").replace(".", "").replace("-", "").isdigit()
