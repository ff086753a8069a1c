"""Scores in an engine -> `Rating`: read into memory if they are few, packed into blocks if they are many."""

from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import to_numpy
from quorate.backends.engine import EngineOptions
from quorate.backends.group_column import read_groups
from quorate.backends.source import ENGINE_OPTION_NAMES, EngineSource, find_answers, read_into_memory
from quorate.backends.spark import SparkBlocks
from quorate.blocks.block import Block
from quorate.blocks.files import FileBlocks
from quorate.errors import refuse_unknown_options
from quorate.io.arguments import check_passed_on
from quorate.io.groups import groups_of
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.io.scores import KEYWORDS, Scores, score_options
from quorate.methods.from_engine import pack_source
from quorate.rating.rate import RatingOptions, rate_blocks
from quorate.rating.rate import rate as rate_here
from quorate.rating.rating import Rating
from quorate.rating.scores import ScoreBlocks, cells_for, group_codes

RATING = ("gold", "group", *(field.name for field in fields(RatingOptions)))  # options of `quorate.rate`


@keep_pipes()
def rate(source: Source = None, **options: Any) -> Rating:
    """Rate scores in an engine; if they do not fit in memory, they are packed into blocks.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table; None with ``table``.
        options: of the engine (`quorate.backends.engine.EngineOptions`), for reading (`quorate.read_scores`), and all
            others for `quorate.rate`.

    Raises:
        EngineError: the engine is not available, or failed.
        InputError: the scores cannot be used.

    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "score": [1, 2, 1, 4, 5, 4]}
    >>> [round(score) for score in rate(rows, engine="duckdb").scores["score"].to_pylist()]
    [1, 4]
    """
    engine_options = EngineOptions(**{name: options.pop(name) for name in ENGINE_OPTION_NAMES if name in options})
    group = options.pop("group", None)
    reading = {name: options.pop(name) for name in KEYWORDS if name in options}
    refuse_unknown_options(options, (*RATING, *KEYWORDS, *ENGINE_OPTION_NAMES))
    check_passed_on(rate_here, options)
    if isinstance(group, str):
        reading["group"] = group
        group = None
    engine_source = find_answers(source, score_options(reading), engine_options)
    try:
        return rate_engine_source(engine_source, group=group, **options)
    finally:
        engine_source.engine.close()


def rate_engine_source(
    engine_source: EngineSource, *, group: Any = None, gold: Source = None, **options: Any
) -> Rating:
    """Rate the scores of an engine, in memory if they are few enough, else in blocks."""
    rating_options = RatingOptions(**options)
    if engine_source.is_small:
        reading = read_into_memory(engine_source)
        scores = Scores(reading.answers, reading.options.has_workers, reading.name, reading.options)
        return rate_here(scores, group=group, gold=gold, **options)
    return rate_blocks(engine_blocks(engine_source, group), rating_options, gold=gold)


def engine_blocks(engine_source: EngineSource, group: Any = None) -> ScoreBlocks:
    """Return the scores of an engine in blocks, in Spark or on disk."""
    blocks, _ = pack_source(engine_source, None)
    crowd_info = blocks.crowd_info
    named = read_groups(engine_source) if group is None else group
    of_worker = None if named is None else groups_of(named, crowd_info)
    codes, has_groups = group_codes(of_worker, blocks.n_workers)

    def task_ids() -> pa.Array:
        if isinstance(blocks, FileBlocks):
            return pa.concat_arrays(list(blocks.files.task_names()))
        assert isinstance(blocks, SparkBlocks)
        return pa.concat_arrays(list(blocks.each_named(names_only)))

    has_workers = engine_source.reading.has_workers
    return ScoreBlocks(
        blocks=blocks,
        raw_values=to_numpy(crowd_info.classes).astype(np.float64),
        task_ids=task_ids,
        worker_ids=crowd_info.worker_names,
        group=codes,
        cells=cells_for(has_workers, has_groups),
        has_workers=has_workers,
        has_groups=has_groups,
        name=engine_source.name,
        options=engine_source.reading,
    )


def names_only(block: Block, names: pa.Array) -> pa.Array:
    """Return the ids of the tasks of a block."""
    return names
