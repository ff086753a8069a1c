"""Answers beyond memory: packed into blocks, in Spark or on this disk, over which the methods pass."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.answers import Roster
from quorate.errors import BlankFieldError, OptionError, UnknownMethodError, count, unknown
from quorate.methods.fitted import Fitted
from quorate.methods.option_names import check_options
from quorate.methods.over_blocks import BLOCK_METHODS, block_fit, fit_blocks
from quorate.methods.registry import METHODS, check_states_probabilities
from quorate.reading.cost_table import read_costs
from quorate.reading.files import Source
from quorate.reading.inputs import local_path
from quorate.result import Result
from quorate.said import unheard_line
from quorate.skills.notes import BEYOND_MEMORY, UNHEARD, Note
from quorate.uncertainty.intervals import IntervalChoice
from quorate.warehouse.block_files import BlockRoster, FileBlocks, PassingFolder, pack_blocks
from quorate.warehouse.expressions import EngineTable
from quorate.warehouse.group_column import group_of_each
from quorate.warehouse.label_files import LabelTally, label_batches, write_batches
from quorate.warehouse.labels_kept import KeptLabels
from quorate.warehouse.local_gold import LocalGold, local_gold
from quorate.warehouse.source import by_role
from quorate.warehouse.spark_blocks import SparkBlocks, pack_blocks_in_spark, spark_frame, spark_lacks
from quorate.warehouse.spark_labels import label_frame, spark_label_batches, spark_sureness
from quorate.warehouse.taken_out import Held
from quorate.warehouse.write import check_output, format_of_labels, is_remote, put_spark_table, put_table, write_remote
from quorate.writing.whole import write_whole


def aggregate_held(
    held: Held,
    method: str | None,
    *,
    gold: Source,
    output: str | Path | None,
    output_table: str | None,
    choice: IntervalChoice,
    costs: Source = None,
    **options: Any,
) -> Result:
    """Turn answers that are too many for memory into labels and skills; takes what `quorate.warehouse.aggregate` takes.

    Raises:
        NotInMemoryError: the method needs every answer in memory.

    >>> from quorate.reading.options import ReadOptions
    >>> from quorate.warehouse.engine import EngineOptions
    >>> from quorate.warehouse.taken_out import find_answers
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> held, choice = find_answers(rows, ReadOptions(), EngineOptions(most=0)), IntervalChoice(kind="none")
    >>> aggregate_held(held, "majority", gold=None, output=None, output_table=None, choice=choice).roster.engine
    'duckdb'
    """
    chosen = method or "quorate"
    if chosen not in METHODS:
        raise unknown(chosen, METHODS, "method", UnknownMethodError)
    if chosen not in BLOCK_METHODS:
        raise held.refuse(f"the method {chosen!r}")
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    check_options(chosen, block_fit(chosen), options, where=" beyond memory")
    if costs is not None:
        check_states_probabilities(chosen)
    check_output(held.engine, output, output_table)
    blocks, apart = pack_held(held, local_gold(gold, held.reading))
    roster = blocks.roster
    priced = None if costs is None else read_costs(costs, roster.classes)
    if chosen == "quorate":
        options = {"judges": held.reading.judges, "group": group_of_each(held), **options}
    fitted = replace(fit_blocks(blocks, chosen, roster, **options), costs=priced)
    kept = _written(held, fitted, blocks, output, output_table)
    return Result(
        method=chosen,
        roster=BlockRoster(**{each.name: getattr(roster, each.name) for each in fields(roster)}, blocks=blocks),
        vote=kept,
        workforce=fitted.workforce,
        graph=fitted.graph,
        matrices=fitted.matrices,
        confidence_basis=fitted.basis,
        notes=(*fitted.notes, *apart, *_unheard(roster)),
        interval_choice=choice,
    )


def _unheard(roster: Roster) -> tuple[Note, ...]:
    """Say which of the abstentions named never occur."""
    return (Note(UNHEARD, unheard_line(roster.unheard)),) if roster.unheard else ()


def pack_held(held: Held, gold: LocalGold | None) -> tuple[FileBlocks | SparkBlocks, tuple[Note, ...]]:
    """Pack answers into blocks: in Spark where they lie there and it can, else here; with notes on that."""
    notes: tuple[Note, ...] = ()
    if held.engine.name == "pyspark":
        why_not = spark_lacks(held.engine)
        if why_not is None:
            frame = spark_frame(held.engine, _by_role(held))
            return pack_blocks_in_spark(held.engine, frame, held.n_rows, held.reading, gold), ()
        notes = (Note(BEYOND_MEMORY, f"the answers were brought here out of Spark, because {why_not}"),)
    temp, engine = held.choice.where.temp, held.engine.name
    return pack_blocks(_rows(held), held.n_rows, held.reading, engine=engine, gold=gold, temp=temp), notes


def _by_role(held: Held) -> EngineTable:
    """Name the columns task, worker, label, and order where that decides."""
    table, order = by_role(held.table, held.reading, held.choice.where), held.choice.where.order
    return table.drop("order") if order is not None and held.reading.on_conflict not in ("first", "last") else table


def _rows(held: Held) -> Iterator[pa.RecordBatch]:
    """Take the rows out of the engine."""
    for batch in held.engine.stream(_by_role(held), "reading the answers", held.n_rows):
        if "order" in batch.schema.names and batch.column("order").null_count:
            missing = count(batch.column("order").null_count, "row")
            raise BlankFieldError(f"the column that orders the answers is missing in {missing} or more")
        yield batch


def _written(
    held: Held,
    fitted: Fitted,
    blocks: FileBlocks | SparkBlocks,
    output: str | Path | None,
    output_table: str | None,
) -> KeptLabels:
    """Vote block by block, and write the labels where they are wanted; else to a file for the time being."""
    engine, tally = held.engine, LabelTally()
    if isinstance(blocks, SparkBlocks):
        if output_table is not None:
            figures = spark_sureness(fitted, blocks)
            with label_frame(fitted, blocks) as frame:
                put_spark_table(engine, frame, output_table)
            return KeptLabels(engine, figures, output_table, in_table=True)
        batches, keeper = spark_label_batches(fitted, blocks, tally), PassingFolder(held.choice.where.temp)
    else:
        batches, keeper = label_batches(fitted, blocks, tally), blocks.folder
    if output_table is not None:
        put_table(engine, batches, output_table)
        return KeptLabels(engine, tally.sureness(), output_table, in_table=True)
    if output is not None and not is_remote(output):
        written_as = format_of_labels(output)
        write_whole(output, lambda stream: write_batches(batches, stream, written_as))
        return KeptLabels(
            engine, tally.sureness(), output, file=Path(local_path(output)).absolute(), columns=tally.columns
        )
    place = keeper.path / "labels.parquet"
    with place.open("wb") as stream:
        write_batches(batches, stream, "parquet")
    if output is not None:
        write_remote(engine, place, str(output))
    return KeptLabels(engine, tally.sureness(), output, file=place, keeper=keeper)
