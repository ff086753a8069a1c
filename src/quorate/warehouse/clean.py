"""Rows in an engine -> answers there, as integers: missing fields, repeats and conflicts settled as in memory."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Roster
from quorate.arrays import IntArray, from_numpy, table_of, take, to_numpy
from quorate.errors import BlankFieldError, NanLabelError, NoRowsError
from quorate.reading.columns import order_classes
from quorate.reading.options import AS_USUAL, ReadOptions
from quorate.result import count
from quorate.warehouse.conflicts import Settled, no_repeats, repeats_of, settle_conflicts
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import Column, EngineTable


@dataclass(frozen=True)
class Cleaned:
    """Answers as they count: in the engine, one row an answer."""

    roster: Roster
    answers: EngineTable  # ibis: task as it was, w (worker code), c (class code); a table of its own
    labels: EngineTable  # ibis: c, label
    lost: EngineTable | None  # ibis: the tasks whose answers were all left out
    most: int  # answers of the task that has the most
    is_settled: bool  # whether repeats were looked for


def clean(engine: Engine, source: EngineTable, reading: ReadOptions = AS_USUAL, *, settled: bool = True) -> Cleaned:
    """Give workers and classes codes, and settle_conflicts missing fields, repeats and conflicts inside the engine.

    Four queries over the source, of which the last writes the answers as integers; whatever follows reads those. One
    query over them, four or five and a copy where there are repeats; one over the source where tasks were lost.

    Args:
        engine: where the answers are.
        source: the answers: task, worker, label, and order where there is one.
        reading: what becomes of conflicts and missing fields, and the classes.
        settled: look for repeats. Without, it is for the caller to notice them (`quorate.warehouse.counted_pairs`).

    Raises:
        InputError: the answers cannot be used as they are; each cause has its own class.

    >>> from quorate.warehouse.source import open_source
    >>> found = clean(*open_source({"task": [1, 1, 1], "worker": list("abb"), "label": list("xyy")}))
    >>> found.roster.n_answers, found.roster.n_repeats
    (2, 1)
    """
    on_conflict, classes = reading.on_conflict, reading.classes
    marked = source.mutate(
        no_task=is_missing(source.task),
        no_worker=is_missing(source.worker),
        no_label=is_missing(source.label, label=True),
    )
    marked = marked.mutate(lacking=marked.no_task | marked.no_worker | marked.no_label)
    n_rows, n_skipped = _count_missing(engine, marked, reading.skip_missing)
    present = marked.filter(~marked.lacking)

    workers = marked.filter(~marked.no_worker).group_by("worker").agg(n=_times(~marked.lacking))
    workers, worker_names, per_worker = _table(engine, workers, "worker", "w", "listing the workers")
    labels = present.group_by("label").agg(n=lambda t: t.count())
    labels, label_names, per_label = _table(engine, labels, "label", "k", "listing the labels")
    code_of, class_names = order_classes(np.arange(len(per_label)), label_names, classes)
    classed = _class_table(engine, labels, code_of, class_names)

    # A table of its own: joined to themselves through the lists of workers, they would lead an optimiser astray.
    coded = present.join(workers.select("worker", "w"), "worker").join(classed, "label")
    coded = coded.select("task", "w", "c", *(["order"] if "order" in source.columns else []))
    coded = engine.keep(coded, "writing the answers as integers")
    repeats = repeats_of(engine, coded) if settled else no_repeats(engine, coded)
    kept = Settled(coded.select("task", "w", "c"), repeats.tasks, repeats.most)
    if repeats.extra:
        kept = settle_conflicts(engine, coded, repeats, on_conflict, (worker_names, class_names))
        per_worker = _recount(engine, kept.answers, "w", len(worker_names), "counting the workers' answers")
        if per_worker.sum() == 0:
            raise NoRowsError(f"all {n_rows:,} rows conflict; no answer is left. Keep the 'first' or the 'last'")
        if repeats.dropped(on_conflict) and classes is None:
            kept, classed, class_names = _without_unused(engine, kept, classed, class_names)
    lost, n_lost = None, 0
    if n_skipped or repeats.dropped(on_conflict):
        named = marked.filter(~marked.no_task).select("task").distinct()
        lost = engine.keep(named.anti_join(kept.answers, "task"), "looking for tasks without an answer")
        n_lost = int(engine.backend.to_pyarrow(lost.count()).as_py())
    conflicting, repeated = repeats.left_out(on_conflict)
    roster = Roster(
        engine=engine.name,
        worker_names=worker_names,
        classes=class_names,
        per_worker=per_worker,
        n_tasks=kept.tasks + n_lost,
        n_rows=n_rows,
        n_repeats=repeated,
        n_conflicting=conflicting,
        n_skipped=n_skipped,
    )
    return Cleaned(roster, kept.answers, classed, lost if n_lost else None, kept.most, settled)


def is_missing(column: Column, *, label: bool = False) -> Column:
    """Whether a field is null, blank text or NaN; in a label also the text ``nan``, as `reading.columns` has it.

    >>> import ibis
    >>> table = ibis.memtable(pa.table({"label": ["cat", " ", None, "NaN"]}))
    >>> table.mutate(gone=is_missing(table.label, label=True)).gone.to_pyarrow().to_pylist()
    [False, True, True, True]
    """
    gone, kind = column.isnull(), column.type()
    if kind.is_string():
        bare = column.strip()
        gone = gone | (bare == "")
        if label:
            gone = gone | (bare.lower() == "nan")
    elif kind.is_floating():
        gone = gone | column.isnan()
    return gone.fill_null(True)


def _times(flag: Column) -> Column:
    """Count how often a flag is set."""
    import ibis

    number: Column = ibis.ifelse(flag, 1, 0)  # not every engine turns a flag into a number by itself
    return number.sum().fill_null(0).cast("int64")


def _count_missing(engine: Engine, marked: EngineTable, skip: bool) -> tuple[int, int]:
    """Return the rows, and those that lack a field; refuse those unless they may be skipped."""
    flags = {"no_task": "task", "no_worker": "worker", "no_label": "label"}
    sums = {name: _times(marked[name]) for name in (*flags, "lacking")}
    if "order" in marked.columns:
        sums["no_order"] = _times(marked.order.isnull())
    found = engine.fetch(marked.agg(rows=marked.count(), **sums), "looking for missing fields").to_pylist()[0]
    if found["rows"] == 0:
        raise NoRowsError("there are columns, but no answers under them")
    if found.get("no_order"):
        raise BlankFieldError(f"the column that orders the answers is missing in {count(found['no_order'], 'row')}")
    if found["lacking"] and not skip:
        flag, name = next((flag, name) for flag, name in flags.items() if found[flag])
        _refuse_missing(engine, marked.filter(marked[flag]), name, found[flag])
    if found["lacking"] == found["rows"]:
        raise NoRowsError(f"all {found['rows']:,} rows lack a field; no answer is left")
    return found["rows"], found["lacking"]


def _refuse_missing(engine: Engine, rows: EngineTable, name: str, n: int) -> None:
    """Say which column lacks a value, and show one such row by what it has: an engine's rows have no numbers."""
    row = engine.fetch(rows.select("task", "worker", "label").limit(1), "naming a row").to_pylist()[0]
    value = row.pop(name)
    remedy = "fill it in, or leave such rows out with skip_missing=True (--skip-missing)"
    text = f"in {count(n, 'row')}, one of them with " + ", ".join(f"{key} {item!r}" for key, item in row.items())
    if value is not None and str(value).strip().lower() == "nan":
        raise NanLabelError(f"{name!r} is NaN {text}; {remedy}")
    raise BlankFieldError(f"{name!r} is missing {text}; {remedy}")


def _table(
    engine: Engine, counts: EngineTable, name: str, code: str, stage: str
) -> tuple[EngineTable, pa.Array, IntArray]:
    """Give the ids numbers, by their order in the engine; return the table there, and ids and counts here."""
    import ibis

    place = ibis.row_number().over(ibis.window(order_by=counts[name])).cast("int32")
    kept = engine.keep(counts.mutate(**{code: place}), stage)
    rows = engine.backend.to_pyarrow(kept.order_by(code)).combine_chunks()
    names, n = (rows.column(key).combine_chunks() for key in (name, "n"))
    if isinstance(names, pa.ChunkedArray):
        names, n = names.chunk(0), n.chunk(0)
    return kept, names, to_numpy(n.cast(pa.int64())).copy()


def _recount(engine: Engine, answers: EngineTable, code: str, n: int, stage: str) -> IntArray:
    rows = engine.fetch(answers.group_by(code).agg(n=lambda t: t.count()), stage)
    counts = np.zeros(n, np.int64)
    codes, found = (to_numpy(rows.column(name).combine_chunks().cast(pa.int64())) for name in (code, "n"))
    counts[codes] = found
    return counts


def _class_table(engine: Engine, labels: EngineTable, code_of: IntArray, class_names: pa.Array) -> EngineTable:
    """Return label and c: the code of each class, in the order of the classes, where the engine's own is another."""
    small = "int16" if len(class_names) < 1 << 15 else "int32"
    if len(code_of) == len(class_names) and np.array_equal(code_of, np.arange(len(code_of))):
        return labels.select("label", c=labels.k.cast(small))
    places = engine.upload(table_of({"k": np.arange(len(code_of), dtype=np.int32), "c": code_of.astype(np.int32)}))
    table = labels.join(places, "k").select("label", c=places.c.cast(small))
    unseen = np.setdiff1d(np.arange(len(class_names)), code_of).astype(np.int32)
    if len(unseen):  # classes that the caller lists and nobody gave
        extra = engine.upload(pa.table({"label": take(class_names, unseen), "c": from_numpy(unseen)}))
        table = table.union(extra.cast(dict(table.schema())))
    return table


def _without_unused(
    engine: Engine, kept: Settled, classed: EngineTable, class_names: pa.Array
) -> tuple[Settled, EngineTable, pa.Array]:
    """Renumber the classes, where every answer of some of them was dropped."""
    used = np.flatnonzero(_recount(engine, kept.answers, "c", len(class_names), "counting the labels"))
    if len(used) == len(class_names):
        return kept, classed, class_names
    new, listed = order_classes(np.arange(len(used)), take(class_names, used), None)
    places = engine.upload(table_of({"c": used.astype(np.int32), "new": new.astype(np.int32)}))

    def renumbered(table: EngineTable, *others: str) -> EngineTable:
        joined = table.join(places, table.c.cast("int32") == places.c)
        return joined.select(*others, c=places.new.cast("int16"))

    return replace(kept, answers=renumbered(kept.answers, "task", "w")), renumbered(classed, "label"), listed
