"""The whole path inside an engine: answers -> codes -> pairs -> skills -> weights -> vote -> labels. Start here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from quorate.errors import NotInMemoryError, OptionError, UnknownMethodError, one_of
from quorate.methods.option_names import check_options
from quorate.methods.rank_one import check_choices
from quorate.methods.registry import METHODS
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.notes import OTHER_METHOD, Note
from quorate.uncertainty import check_level
from quorate.uncertainty.intervals import KINDS, LEVEL, IntervalChoice
from quorate.warehouse.clean import Cleaned, check_order, clean
from quorate.warehouse.counted_pairs import BIG_TASK, RepeatsFound
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold, read_gold
from quorate.warehouse.engine_labels import labels_in
from quorate.warehouse.engine_methods import Judged, iwmv, majority, rank_one
from quorate.warehouse.engine_vote import decide, named
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.inference import no_full_intervals
from quorate.warehouse.source import open_source, split_options
from quorate.warehouse.write import check_output, write_file, write_table

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
    """Turn answers into labels and skills inside the engine that holds them.

    Args:
        source: a path or a pattern, an ibis table, or a table in memory; None with ``table``.
        method: ``rank-one`` (the default here), ``majority`` or ``iwmv``.
        gold: known labels of some tasks.
        output: a Parquet or CSV file that the engine writes.
        output_table: a table that the engine makes.
        big_task: tasks with more answers stay out of the join; see `quorate.warehouse.counted_pairs`.
        intervals: ``fast`` (what ``auto`` is here: two more reads of the answers) or ``none``.
        level: of the intervals.
        options: where the answers are, see `quorate.warehouse.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order; how to read them, as `quorate.read`: task, worker, label, on_conflict, skip_missing,
            classes, format, delimiter; for rank-one: solver, tau, weighting, threshold, signs and the solver's own; for
            iwmv: max_iterations.

    Raises:
        EngineError: the engine is not there, or failed.
        InputError: the answers cannot be used as they are.

    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> aggregate(rows, "majority").labels["label"].to_pylist()
    ['x', 'x']
    """
    chosen = check_method(method)
    choice = IntervalChoice(check_level(level), _kind(intervals))
    reading, where, options = split_options(options)
    check_options(chosen, METHODS[chosen].load(), options, but=NOT_HERE, where=" inside an engine")
    check_choices(**{name: value for name, value in options.items() if name in CHOICES})
    home, answers = open_source(source, reading, where)
    check_order(reading.on_conflict, answers)
    check_output(home, output, output_table)
    try:

        def attempt(settled: bool) -> tuple[Cleaned, EngineGold | None, Judged]:
            found = clean(home, answers, reading, settled=settled)
            known = read_gold(home, found, gold, reading)
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
    used = "rank-one was used: the standard method, quorate, needs every answer in memory"
    return replace(result, notes=(*result.notes, Note(OTHER_METHOD, used)))


def _kind(intervals: str) -> str:
    if one_of(intervals, KINDS, "kind of interval") == "full":
        raise no_full_intervals()
    return "none" if intervals == "none" else "fast"


def once_or_twice(attempt: Callable[[bool], T]) -> T:
    """Try without looking for repeats; where some come to light while the pairs are counted, settle them and go again.

    >>> once_or_twice(lambda settled: settled)
    False
    """
    try:
        return attempt(False)
    except RepeatsFound:
        return attempt(True)


def check_method(method: str | None) -> str:
    """Return the method, rank-one where none is named.

    Raises:
        NotInMemoryError: it cannot run inside an engine.

    >>> check_method(None)
    'rank-one'
    """
    chosen = method or "rank-one"
    one_of(chosen, METHODS, "method", UnknownMethodError)
    if chosen not in METHODS_HERE:
        raise NotInMemoryError(
            f"the method {chosen!r} needs every answer in memory, and cannot run inside an engine; choose rank-one, "
            "majority or iwmv (--method), or read the answers into memory (quorate.aggregate, or no --engine)"
        )
    return chosen


def _write(home: Engine, labels: EngineTable, output: str | Path | None, output_table: str | None) -> EngineTable:
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    if output is not None:
        return write_file(home, labels, output)
    if output_table is not None:
        return write_table(home, labels, output_table)
    return home.keep(labels, "voting")
