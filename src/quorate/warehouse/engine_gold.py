"""Known labels -> a small table in the engine, of codes that the answers there have."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import from_numpy
from quorate.errors import UnknownGoldClassError, UnknownGoldTaskError, listing
from quorate.gold import MEND_CLASS, read_alike
from quorate.reading.columns import as_type, positions
from quorate.reading.files import Source
from quorate.reading.options import AS_USUAL, ReadOptions
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import EngineTable


@dataclass(frozen=True)
class EngineGold:
    """Known labels, where the answers are."""

    table: EngineTable  # ibis: task, g (class code)
    n_tasks: int


def read_gold(
    engine: Engine, found: Cleaned, source: Source | None, reading: ReadOptions = AS_USUAL
) -> EngineGold | None:
    """Take the known labels to the engine; one query over the answers checks that their tasks are there.

    Args:
        engine: where the answers are.
        found: the answers.
        source: what `quorate.gold.match_truth` takes; None for no gold.
        reading: how the answers are read: gold has the same columns.

    Raises:
        GoldError: a task or a class does not occur in the answers, or a task has two labels.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> engine, source = open_source({"task": [1, 2], "worker": ["ann", "ann"], "label": ["cat", "dog"]})
    >>> read_gold(engine, clean(engine, source), {2: "dog"}).table.to_pyarrow().to_pylist()
    [{'task': 2, 'g': 1}]
    """
    if source is None:
        return None
    tasks, labels = read_alike(source, reading)
    classes = found.roster.classes
    labels = as_type(labels, classes.type, "known labels")
    codes = positions(labels, classes)
    if (codes < 0).any():
        strangers = labels.filter(from_numpy(codes < 0)).unique().to_pylist()
        raise UnknownGoldClassError(
            f"gold has classes that nobody gave: {listing(strangers)}; the classes of the answers are "
            f"{listing(classes.to_pylist(), 12)}. {MEND_CLASS}"
        )
    kind = found.answers.schema()["task"]
    tasks = as_type(tasks, kind.to_pyarrow(), "known tasks")
    table = engine.upload(pa.table({"task": tasks, "g": from_numpy(codes.astype(np.int32))}))
    table = table.mutate(task=table.task.cast(kind))
    named = found.answers.select("task") if found.lost is None else found.answers.select("task").union(found.lost)
    strangers = engine.fetch(table.anti_join(named, "task").select("task"), "looking for gold's tasks")
    if len(strangers):
        raise UnknownGoldTaskError(
            f"gold names tasks that nobody answered: {listing(strangers['task'].to_pylist())}. Check the ids, or take "
            "them out"
        )
    return EngineGold(table, len(tasks))
