"""Answers in an engine -> labels: read where they are few, packed into blocks where they are many. Start here."""

from pathlib import Path
from typing import Any

from quorate.errors import NotInMemoryError, UnknownMethodError, unknown
from quorate.methods.option_names import check_options
from quorate.methods.registry import METHODS
from quorate.methods.registry import aggregate as aggregate_here
from quorate.reading.files import Source
from quorate.reading.inputs import guard_inputs
from quorate.reading.pipes import keep_pipes
from quorate.result import Result
from quorate.uncertainty import check_level
from quorate.uncertainty.intervals import KINDS, LEVEL, IntervalChoice
from quorate.warehouse.beyond import aggregate_held
from quorate.warehouse.source import split_options
from quorate.warehouse.taken_out import find_answers, take_out
from quorate.warehouse.write import check_table, put_table
from quorate.writing.tables import write_table as write_file_here


@keep_pipes()
def aggregate(
    source: Source = None,
    method: str | None = None,
    *,
    gold: Source = None,
    output: str | Path | None = None,
    output_table: str | None = None,
    intervals: str = "auto",
    level: float = LEVEL,
    costs: Source = None,
    **options: Any,
) -> Result:
    """Turn answers that an engine holds into labels and skills.

    Where they are few enough (20 million, or what ``memory`` holds) they are read, and every method runs as
    `quorate.aggregate` runs it. Beyond, their rows stream into blocks on disk, over which those methods pass that are
    sums over tasks: ``quorate``, ``rank-one``, ``majority``, ``iwmv``, ``one-coin`` and ``dawid-skene``.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table, or a table in memory; None
            with ``table``.
        method: a name from `quorate.methods.registry.METHODS`; by default ``quorate``.
        gold: known labels of some tasks.
        output: a file of the labels: Parquet, CSV or JSON lines.
        output_table: a table that the engine makes of the labels.
        intervals: as `quorate.aggregate`; beyond memory ``fast``, which is what ``auto`` is there, or ``none``.
        level: of the intervals.
        costs: what it costs to say a class where another is true, as `quorate.aggregate`.
        options: where the answers are, see `quorate.warehouse.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order, most; how to read them, as `quorate.read`: task, worker, label, on_conflict,
            skip_missing, classes, format, delimiter, group; all others for the method.

    Raises:
        EngineError: the engine is not there, or failed.
        InputError: the answers cannot be used as they are.
        NotInMemoryError: the method needs every answer in memory, and they are too many.

    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> aggregate(rows, "majority").labels["label"].to_pylist()
    ['x', 'x']
    """
    given: dict[str, Any] = {"gold": gold, "intervals": intervals, "level": level, "costs": costs}
    with guard_inputs({"output=": output}):
        return _aggregate(source, method, output=output, output_table=output_table, **given, **options)


def _aggregate(
    source: Source,
    method: str | None,
    *,
    gold: Source,
    output: str | Path | None,
    output_table: str | None,
    intervals: str,
    level: float,
    costs: Source,
    **options: Any,
) -> Result:
    if method is not None and method not in METHODS:
        raise unknown(method, METHODS, "method", UnknownMethodError)
    if intervals not in KINDS:
        raise unknown(intervals, KINDS, "kind of interval")
    reading, where, options = split_options(options)
    held = find_answers(source, reading, where)
    if not held.is_small:
        choice = interval_choice(intervals, level)
        where_to: dict[str, Any] = {"output": output, "output_table": output_table}
        return aggregate_held(held, method, gold=gold, choice=choice, costs=costs, **where_to, **options)
    try:
        if output_table is not None:
            check_table(held.engine, output_table)
        chosen = method or "quorate"
        check_options(chosen, METHODS[chosen].load(), options)
        found = take_out(held)
        how: dict[str, Any] = {"gold": gold, "level": level, "intervals": intervals, "costs": costs}
        result = aggregate_here(found, chosen, **how, **options)
        if output is not None:
            write_file_here(result.labels, output)
        if output_table is not None:
            put_table(held.engine, result.labels.arrow, output_table)
    finally:
        held.engine.close()
    return result


def interval_choice(intervals: str, level: float) -> IntervalChoice:
    """Return how intervals are computed beyond memory.

    Raises:
        NotInMemoryError: full ones need every answer in memory.

    >>> interval_choice("auto", 0.9)
    IntervalChoice(level=0.9, kind='fast')
    """
    if intervals not in KINDS:
        raise unknown(intervals, KINDS, "kind of interval")
    if intervals == "full":
        raise NotInMemoryError(
            "full intervals need every answer in memory, and these are too many; choose intervals='fast'"
        )
    return IntervalChoice(check_level(level), "none" if intervals == "none" else "fast")
