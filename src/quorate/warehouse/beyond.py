"""Answers beyond memory: rows stream out of their engine into blocks on disk, over which the methods pass."""

from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.errors import BlankFieldError, OptionError, UnknownMethodError, count, one_of
from quorate.methods.beyond_memory import METHODS_BEYOND, fit_blocks
from quorate.methods.fitted import Fitted
from quorate.methods.option_names import check_options
from quorate.methods.registry import METHODS
from quorate.reading.files import Source
from quorate.result import Result
from quorate.skills.priors import priors_of
from quorate.uncertainty.intervals import IntervalChoice
from quorate.warehouse.block_files import BlockRoster, FileBlocks, pack_blocks
from quorate.warehouse.label_files import LabelTally, label_batches, write_batches
from quorate.warehouse.labels_kept import KeptLabels
from quorate.warehouse.local_gold import local_gold
from quorate.warehouse.source import by_role
from quorate.warehouse.taken_out import Held
from quorate.warehouse.write import check_output, format_of_labels, is_remote, put_table, write_remote
from quorate.writing.whole import write_whole


def aggregate_held(
    held: Held,
    method: str | None,
    *,
    gold: Source,
    output: str | Path | None,
    output_table: str | None,
    choice: IntervalChoice,
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
    chosen = one_of(method or "quorate", METHODS, "method", UnknownMethodError)
    if chosen not in METHODS_BEYOND:
        raise held.refuse(f"the method {chosen!r}")
    if held.reading.group is not None:
        raise held.refuse("what workers may err together by (--group)")
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    check_options(chosen, METHODS_BEYOND[chosen], options, where=" beyond memory")
    check_output(held.engine, output, output_table)
    known = local_gold(gold, held.reading)
    blocks = pack_blocks(
        _rows(held),
        held.n_rows,
        held.reading,
        engine=held.engine.name,
        gold=known,
        temp=held.choice.where.temp,
    )
    roster = blocks.packed.roster
    if "skills" in options:
        options["skills"] = priors_of(options["skills"], roster.worker_names, roster.classes)
    fitted = fit_blocks(blocks, chosen, **options)
    kept = _written(held, fitted, blocks, output, output_table)
    return Result(
        method=chosen,
        roster=BlockRoster(**{each.name: getattr(roster, each.name) for each in fields(roster)}, blocks=blocks),
        vote=kept,
        workforce=fitted.workforce,
        graph=fitted.graph,
        matrices=fitted.matrices,
        confidence_basis=fitted.basis,
        notes=fitted.notes,
        interval_choice=choice,
    )


def _rows(held: Held) -> Iterator[pa.RecordBatch]:
    """Take the rows out of the engine: task, worker, label, and order where that decides."""
    table = by_role(held.table, held.reading, held.choice.where)
    order = held.choice.where.order
    if order is not None and held.reading.on_conflict not in ("first", "last"):
        table = table.drop("order")
    for batch in held.engine.stream(table, "reading the answers", held.n_rows):
        if "order" in batch.schema.names and batch.column("order").null_count:
            missing = count(batch.column("order").null_count, "row")
            raise BlankFieldError(f"the column that orders the answers is missing in {missing} or more")
        yield batch


def _written(
    held: Held, fitted: Fitted, blocks: FileBlocks, output: str | Path | None, output_table: str | None
) -> KeptLabels:
    """Vote block by block, and write the labels where they are wanted; else beside the blocks, for the time being."""
    tally = LabelTally()
    batches = label_batches(fitted, blocks, tally)
    if output_table is not None:
        first = next(batches)
        put_table(held.engine, pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)), output_table)
        return KeptLabels(held.engine, tally.sureness(), output_table, in_table=True)
    if output is not None and not is_remote(output):
        written_as = format_of_labels(output)
        write_whole(output, lambda stream: write_batches(batches, stream, written_as))
        return KeptLabels(held.engine, tally.sureness(), output, file=Path(output).absolute())
    place = blocks.folder.path / "labels.parquet"
    with place.open("wb") as stream:
        write_batches(batches, stream, "parquet")
    if output is not None:
        write_remote(held.engine, place, str(output))
    return KeptLabels(held.engine, tally.sureness(), output, file=place, keeper=blocks.folder)
