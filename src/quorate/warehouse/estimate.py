"""Answers in an engine -> labels: read where they are few, else counted and voted on there. Start here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from quorate.errors import OptionError, UnknownMethodError, one_of
from quorate.methods.option_names import check_options
from quorate.methods.rank_one import check_choices
from quorate.methods.registry import METHODS
from quorate.methods.registry import aggregate as aggregate_here
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import OTHER_METHOD, Note
from quorate.uncertainty import check_level
from quorate.uncertainty.intervals import KINDS, LEVEL, IntervalChoice
from quorate.warehouse.clean import Cleaned, clean
from quorate.warehouse.counted_pairs import BIG_TASK, RepeatsFound
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold, read_gold
from quorate.warehouse.engine_labels import labels_in
from quorate.warehouse.engine_methods import Judged, iwmv, majority, rank_one
from quorate.warehouse.engine_vote import decide, named
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.inference import no_full_intervals
from quorate.warehouse.source import by_role, split_options
from quorate.warehouse.taken_out import Held, find_answers, take_out
from quorate.warehouse.write import check_output, check_table, put_table, write_file, write_table
from quorate.writing.tables import write_table as write_file_here

T = TypeVar("T")
METHODS_HERE = {"rank-one": rank_one, "majority": majority, "iwmv": iwmv}
NOT_HERE = ("gold", "prior")  # options of the methods: the one is given by itself, the other has no meaning there yet
CHOICES = ("solver", "tau", "weighting", "signs")


def aggregate(
    source: Source = None,
    method: str | None = None,
    *,
    gold: Source = None,
    output: str | Path | None = None,
    output_table: str | None = None,
    big_task: int = BIG_TASK,
    intervals: str = "auto",
    level: float = LEVEL,
    **options: Any,
) -> Result:
    """Turn answers that an engine holds into labels and skills.

    Where they are few enough (20 million, or what ``memory`` holds) they are read, and every method runs as
    `quorate.aggregate` runs it. Beyond, ``rank-one``, ``majority`` and ``iwmv`` count and vote inside the engine.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table, or a table in memory; None
            with ``table``.
        method: a name from `quorate.methods.registry.METHODS`; by default ``quorate``, inside the engine ``rank-one``.
        gold: known labels of some tasks.
        output: a file of the labels; one that the engine writes is Parquet or CSV.
        output_table: a table that the engine makes of the labels.
        big_task: inside the engine, tasks with more answers stay out of the join (`quorate.warehouse.counted_pairs`).
        intervals: as `quorate.aggregate`; inside the engine ``fast`` (what ``auto`` is there: two more reads of the
            answers) or ``none``.
        level: of the intervals.
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
    one_of(method or "quorate", METHODS, "method", UnknownMethodError)
    one_of(intervals, KINDS, "kind of interval")
    reading, where, options = split_options(options)
    held = find_answers(source, reading, where)
    if not held.is_small:
        choice = interval_choice(intervals, level)
        where_to: dict[str, Any] = {"output": output, "output_table": output_table}
        return aggregate_held(held, method, gold=gold, choice=choice, big_task=big_task, **where_to, **options)
    try:
        if output_table is not None:
            check_table(held.engine, output_table)
        chosen = method or "quorate"
        check_options(chosen, METHODS[chosen].load(), options)
        found = take_out(held)
        result = aggregate_here(found, chosen, gold=gold, level=level, intervals=intervals, **options)
        if output is not None:
            write_file_here(result.labels, output)
        if output_table is not None:
            put_table(held.engine, result.labels.arrow, output_table)
    finally:
        held.engine.close()
    return result


def aggregate_held(
    held: Held,
    method: str | None,
    *,
    gold: Source,
    output: str | Path | None,
    output_table: str | None,
    choice: IntervalChoice,
    big_task: int = BIG_TASK,
    **options: Any,
) -> Result:
    """Turn answers into labels and skills inside the engine that holds them; takes what `aggregate` takes.

    >>> from quorate.reading.options import ReadOptions
    >>> from quorate.warehouse.engine import EngineOptions
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> held, choice = find_answers(rows, ReadOptions(), EngineOptions(most=0)), IntervalChoice(kind="none")
    >>> aggregate_held(held, "majority", gold=None, output=None, output_table=None, choice=choice).roster.engine
    'duckdb'
    """
    chosen = check_method(held, method)
    check_options(chosen, METHODS[chosen].load(), options, but=NOT_HERE, where=" inside an engine")
    check_choices(**{name: value for name, value in options.items() if name in CHOICES})
    home, answers = held.engine, by_role(held.table, held.reading, held.choice.where)
    if held.reading.group is not None:
        raise held.refuse("what workers may err together by (--group)")
    check_output(home, output, output_table)
    try:

        def attempt(settled: bool) -> tuple[Cleaned, EngineGold | None, Judged]:
            found = clean(home, answers, held.reading, settled=settled)
            known = read_gold(home, found, gold, held.reading)
            asked = {"big_task": big_task, "with_intervals": choice.kind != "none"} if chosen == "rank-one" else {}
            return found, known, METHODS_HERE[chosen](home, found, known, **asked, **options)

        found, known, judged = once_or_twice(attempt) if chosen == "rank-one" else attempt(True)
        labels = named(decide(home, found, judged.weighing, known), found)
        written = _write(home, labels, output, output_table)
        result = judged.result(chosen, labels_in(home, written, output_table if output is None else output), choice)
    except BaseException:
        home.release()
        raise
    home.release(*([written] if output is None and output_table is None else []))
    if method is not None:
        return result
    used = (
        f"rank-one was used: the standard method, quorate, needs every answer in memory, and they are {held.n_rows:,}"
    )
    return replace(result, notes=(*result.notes, Note(OTHER_METHOD, used)))


def interval_choice(intervals: str, level: float) -> IntervalChoice:
    """Return how intervals are computed inside an engine.

    Raises:
        NotInMemoryError: full ones need every answer in memory.

    >>> interval_choice("auto", 0.9)
    IntervalChoice(level=0.9, kind='fast')
    """
    if one_of(intervals, KINDS, "kind of interval") == "full":
        raise no_full_intervals()
    return IntervalChoice(check_level(level), "none" if intervals == "none" else "fast")


def once_or_twice(attempt: Callable[[bool], T]) -> T:
    """Try without looking for repeats; where some come to light while the pairs are counted, settle them and go again.

    >>> once_or_twice(lambda settled: settled)
    False
    """
    try:
        return attempt(False)
    except RepeatsFound:
        return attempt(True)


def check_method(held: Held, method: str | None) -> str:
    """Return the method that runs inside an engine, rank-one where none is named.

    Raises:
        NotInMemoryError: it cannot run there.

    >>> check_method(None, None)
    'rank-one'
    """
    chosen = method or "rank-one"
    if chosen not in METHODS_HERE:
        raise held.refuse(f"the method {chosen!r}")
    return chosen


def _write(home: Engine, labels: EngineTable, output: str | Path | None, output_table: str | None) -> EngineTable:
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    if output is not None:
        return write_file(home, labels, output)
    if output_table is not None:
        return write_table(home, labels, output_table)
    return home.keep(labels, "voting")
