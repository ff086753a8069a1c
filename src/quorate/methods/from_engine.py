"""aggregate over an engine: read the answers into memory if they are few, else pack them into blocks and fit."""

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.backends.disk import build_file_blocks
from quorate.backends.group_column import read_groups
from quorate.backends.output import (
    KeptLabels,
    LabelTally,
    check_output,
    check_table,
    format_of_labels,
    label_batches,
    put_spark_table,
    put_table,
    write_batches,
    write_remote,
)
from quorate.backends.source import EngineSource, find_answers, read_into_memory, split_options
from quorate.backends.spark import (
    SparkBlocks,
    build_spark_blocks,
    label_frame,
    spark_confidence_stats,
    spark_frame,
    spark_label_batches,
    spark_lacks,
)
from quorate.blocks.block import OUT_OF_CORE_METHODS, BlockCrowdInfo
from quorate.blocks.files import FileBlocks, TemporaryFolder
from quorate.errors import (
    BlankFieldError,
    NotInMemoryError,
    OptionError,
    check_level,
    count,
    unknown_name_error,
)
from quorate.io.arguments import check_arguments
from quorate.io.atomic import atomic_write
from quorate.io.costs import read_costs
from quorate.io.gold import LocalGold, local_gold
from quorate.io.inputs import guard_inputs, is_remote, local_path
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.io.write_table import write_table as write_file_here
from quorate.methods.aggregate import aggregate as aggregate_here
from quorate.methods.fit import Fitted, unused_abstention_notes
from quorate.methods.fit_blocks import block_fit, fit_blocks
from quorate.methods.registry import METHODS, check_option_names, check_states_probabilities, method_name
from quorate.notes import NOT_OUT_OF_CORE, Note
from quorate.result import Result
from quorate.skills.intervals import KINDS, LEVEL, IntervalChoice


def aggregate_source(
    engine_source: EngineSource,
    method: str | None,
    *,
    gold: Source,
    output: str | Path | None,
    output_table: str | None,
    choice: IntervalChoice,
    costs: Source = None,
    **options: Any,
) -> Result:
    """Aggregate answers that do not fit in memory; the options are those of `quorate.backends.aggregate`.

    Raises:
        NotInMemoryError: the method needs every answer in memory.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.backends.engine import EngineOptions
    >>> from quorate.backends.source import find_answers
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> source, choice = find_answers(rows, ReadOptions(), EngineOptions(most=0)), IntervalChoice(kind="none")
    >>> aggregate_source(source, "majority", gold=None, output=None, output_table=None, choice=choice).info.engine
    'duckdb'
    """
    chosen = method_name(method or "quorate")
    if chosen not in OUT_OF_CORE_METHODS:
        raise engine_source.refuse(f"the method {chosen!r}")
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    check_option_names(chosen, block_fit(chosen), options, context=" out of core")
    if costs is not None:
        check_states_probabilities(chosen)
    check_output(engine_source.engine, output, output_table)
    blocks, packing_notes = pack_source(engine_source, local_gold(gold, engine_source.reading))
    crowd_info = blocks.crowd_info
    cost_matrix = None if costs is None else read_costs(costs, crowd_info.classes)
    if chosen == "quorate":
        options = {"judges": engine_source.reading.judges, "group": read_groups(engine_source), **options}
    fitted = replace(fit_blocks(blocks, chosen, crowd_info, **options), costs=cost_matrix)
    labels = _write_labels(engine_source, fitted, blocks, output, output_table)
    return Result(
        method=chosen,
        info=BlockCrowdInfo(
            **{field.name: getattr(crowd_info, field.name) for field in fields(crowd_info)}, blocks=blocks
        ),
        label_source=labels,
        skill_estimates=fitted.skill_estimates,
        identifiability=fitted.identifiability,
        fitted_confusion=fitted.fitted_confusion,
        confidence_basis=fitted.basis,
        notes=(*fitted.notes, *packing_notes, *unused_abstention_notes(crowd_info)),
        interval_choice=choice,
    )


def pack_source(
    engine_source: EngineSource, gold: LocalGold | None
) -> tuple[FileBlocks | SparkBlocks, tuple[Note, ...]]:
    """Pack the answers of an engine into blocks, in Spark if possible, else on this machine; return them and notes."""
    notes: tuple[Note, ...] = ()
    if engine_source.engine.name == "pyspark":
        why_not = spark_lacks(engine_source.engine)
        if why_not is None:
            frame = spark_frame(engine_source.engine, engine_source.by_role())
            return build_spark_blocks(
                engine_source.engine, frame, engine_source.n_rows, engine_source.reading, gold
            ), ()
        notes = (Note(NOT_OUT_OF_CORE, f"the answers were read from Spark to this machine, because {why_not}"),)
    temp = engine_source.engine_options.temp
    engine = engine_source.engine.name
    return build_file_blocks(
        _rows(engine_source), engine_source.n_rows, engine_source.reading, engine=engine, gold=gold, temp=temp
    ), notes


def _rows(engine_source: EngineSource) -> Iterator[pa.RecordBatch]:
    """Yield the rows that the engine streams, task, worker, label (and order)."""
    for batch in engine_source.engine.stream(engine_source.by_role(), "reading the answers", engine_source.n_rows):
        if "order" in batch.schema.names and batch.column("order").null_count:
            missing = count(batch.column("order").null_count, "row")
            raise BlankFieldError(f"the column that orders the answers is missing in {missing} or more")
        yield batch


def _write_labels(
    engine_source: EngineSource,
    fitted: Fitted,
    blocks: FileBlocks | SparkBlocks,
    output: str | Path | None,
    output_table: str | None,
) -> KeptLabels:
    """Vote block by block, and write the labels to the output; without an output, to a temporary file."""
    engine = engine_source.engine
    tally = LabelTally()
    if isinstance(blocks, SparkBlocks):
        if output_table is not None:
            stats = spark_confidence_stats(fitted.labelling, blocks, has_costs=fitted.costs is not None)
            with label_frame(fitted.labelling, blocks) as frame:
                put_spark_table(engine, frame, output_table)
            return KeptLabels(engine, stats, output_table, in_table=True, summed_chances=fitted.chances)
        batches = spark_label_batches(fitted.labelling, blocks, tally)
        keeper = TemporaryFolder(engine_source.engine_options.temp)
    else:
        batches = label_batches(fitted.labels(blocks), blocks, tally)
        keeper = blocks.folder
    if output_table is not None:
        put_table(engine, batches, output_table)
        return KeptLabels(engine, tally.confidence_stats(), output_table, in_table=True, summed_chances=fitted.chances)
    if output is not None and not is_remote(output):
        written_as = format_of_labels(output)
        atomic_write(output, lambda stream: write_batches(batches, stream, written_as))
        return KeptLabels(
            engine,
            tally.confidence_stats(),
            output,
            file=Path(local_path(output)).absolute(),
            columns=tally.columns,
            summed_chances=fitted.chances,
        )
    labels_file = keeper.path / "labels.parquet"
    with labels_file.open("wb") as stream:
        write_batches(batches, stream, "parquet")
    if output is not None:
        write_remote(engine, labels_file, str(output))
    return KeptLabels(
        engine, tally.confidence_stats(), output, file=labels_file, keeper=keeper, summed_chances=fitted.chances
    )


@check_arguments
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
    """Turn answers in an engine into labels and skills.

    Up to 20 million answers (or as many as fit in ``memory``) are read into memory, and every method runs as in
    `quorate.aggregate`. More answers are streamed into blocks on disk; then only the methods that are sums over tasks
    run: ``quorate``, ``rank-one``, ``rank-one-centred``, ``majority``, ``iwmv``, ``one-coin`` and ``dawid-skene``.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table, or a table in memory; None
            with ``table``.
        method: a name from `quorate.methods.registry.METHODS`; by default ``quorate``.
        gold: known labels of some tasks.
        output: a file of the labels: Parquet, CSV or JSON lines.
        output_table: name of a table for the labels, which the engine creates.
        intervals: as in `quorate.aggregate`; out of core only ``fast``, which ``auto`` means there, or ``none``.
        level: level of the intervals.
        costs: cost of assigning one class if another is true, as in `quorate.aggregate`.
        options: where the answers are, see `quorate.backends.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order, most; how to read them, as `quorate.read`: task, worker, label, on_conflict,
            skip_missing, classes, format, delimiter, group; all others for the method.

    Raises:
        EngineError: the engine is not available, or failed.
        InputError: the answers cannot be used as they are.
        NotInMemoryError: the method needs every answer in memory, and they are too many.

    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> aggregate(rows, "majority").labels["label"].to_pylist()
    ['x', 'x']
    """
    with guard_inputs({"output=": output}):
        if method is not None:
            method = method_name(method)
        if intervals not in KINDS:
            raise unknown_name_error(intervals, KINDS, "intervals= (--intervals)")
        reading, engine_options, options = split_options(options)
        engine_source = find_answers(source, reading, engine_options)
        if not engine_source.is_small:
            choice = interval_choice(intervals, level)
            where_to: dict[str, Any] = {"output": output, "output_table": output_table}
            return aggregate_source(engine_source, method, gold=gold, choice=choice, costs=costs, **where_to, **options)
        try:
            if output_table is not None:
                check_table(engine_source.engine, output_table)
            chosen = method or "quorate"
            check_option_names(chosen, METHODS[chosen].load(), options)
            engine_reading = read_into_memory(engine_source)
            how: dict[str, Any] = {"gold": gold, "level": level, "intervals": intervals, "costs": costs}
            result = aggregate_here(engine_reading, chosen, **how, **options)
            if output is not None:
                write_file_here(result.labels, output)
            if output_table is not None:
                put_table(engine_source.engine, result.labels.arrow, output_table)
        finally:
            engine_source.engine.close()
    return result


def interval_choice(intervals: str, level: float) -> IntervalChoice:
    """Return the kind of intervals out of core.

    Raises:
        NotInMemoryError: full ones need every answer in memory.

    >>> interval_choice("auto", 0.9)
    IntervalChoice(level=0.9, kind='fast')
    """
    if intervals not in KINDS:
        raise unknown_name_error(intervals, KINDS, "intervals= (--intervals)")
    if intervals == "full":
        raise NotInMemoryError(
            "full intervals need every answer in memory, and these are too many; choose intervals='fast'"
        )
    return IntervalChoice(check_level(level), "none" if intervals == "none" else "fast")


def kept_labels(result: Result) -> KeptLabels:
    """Return the labels of a result that an engine or a file holds.

    Raises:
        OptionError: the labels are in memory.

    >>> import quorate
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> kept_labels(quorate.backends.aggregate(rows, "majority", most=0)).run()["queries"]
    ['counting the rows', 'reading the answers']
    """
    if not isinstance(result.label_source, KeptLabels):
        raise OptionError("no engine holds these labels: they are in memory")
    return result.label_source
