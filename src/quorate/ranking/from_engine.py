"""Pairwise comparisons in an engine, which counts equal rows; the counts are ranked in memory.

The model needs only sums over rows, so grouping changes only the order of additions.
"""

from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from quorate.arrays import to_numpy
from quorate.backends.choose_engine import EngineChoice, chosen_or_default
from quorate.backends.engine import DUCKDB, Engine, EngineOptions, connect
from quorate.backends.engine_options import EngineName
from quorate.backends.expressions import EngineTable
from quorate.backends.input_files import record_engine_inputs
from quorate.backends.source import found_in, most_answers
from quorate.errors import (
    InputError,
    MissingColumnError,
    NoRowsError,
    NotInMemoryError,
    OptionError,
    count,
    listing,
    refuse_unknown_options,
)
from quorate.io.arguments import check_passed_on
from quorate.io.dataframes import names_of, read_object
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.pairs import (
    PairOptions,
    PairRows,
    find_layout,
    find_matrix,
    has_matrix_names,
    read_pair_rows,
)
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.ranking.rank import RankingOptions, rank_rows, read_known_pairs
from quorate.ranking.rank import rank as rank_here
from quorate.ranking.ranking import Ranking

ROW_COUNT = "quorate_rows"  # column of the counts
MAX_MATRIX_COLUMNS = 10_000  # a table with more is not checked for a matrix of wins


def rank(
    source: Source = None,
    *,
    engine: EngineName | None = None,
    memory: str | None = None,
    temp: str | None = None,
    master: str | None = None,
    connect: str | None = None,
    table: str | None = None,
    most: int | None = None,
    level: float = 0.95,
    cluster: str = "task",
    judge_skill: Literal["auto", "on", "off"] | bool = "auto",
    position: bool = True,
    shrink: bool = True,
    baseline: str | None = None,
    gold: Source = None,
    adaptive: bool = False,
    seed: int = 0,
    format: str | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> Ranking:
    """Rank comparisons in an engine: `quorate.rank` for files that DuckDB or Spark reads, and tables of databases.

    Args:
        source: a path or a pattern, the URL of an engine, a database file, an ibis table; None with ``table``.
        engine: duckdb or spark.
        memory: memory limit of DuckDB, such as 4GB.
        temp: the folder that DuckDB spills to.
        master: master of Spark.
        connect: an ibis connection string, for any other engine.
        table: a table there, instead of files.
        most: maximum number of different rows that are read into memory.
        level: level of the intervals.
        cluster: ``"task"``, ``"none"`` or a column.
        judge_skill: ``"auto"``, ``"on"`` or ``"off"``.
        position: estimate the preference of judges for the left side.
        shrink: shrink strengths to their mean.
        baseline: item whose strength is zero.
        gold: known comparisons, which decide the direction.
        adaptive: whether pairs were chosen because of earlier answers.
        seed: seed of the draws behind rank intervals.
        format: format of files.
        delimiter: delimiter of CSV files.
        options: how comparisons are read, see `quorate.io.pairs.PairOptions`.

    Raises:
        EngineError: the engine is not available, or failed.
        NotInMemoryError: there are too many different rows.

    >>> votes = {"left": list("aab"), "right": list("bcc"), "winner": ["left", "left", "left"]}
    >>> rank(votes, engine="duckdb").items["item"].to_pylist()
    ['a', 'b', 'c']
    """
    shared: dict[str, Any] = {
        "baseline": baseline,
        "level": level,
        "judge_skill": judge_skill,
        "position": position,
        "shrink": shrink,
        "adaptive": adaptive,
        "seed": seed,
    }
    check_passed_on(rank_here, {"cluster": cluster, **shared, **options})
    model = RankingOptions(by_task=cluster != "none", **shared)
    refuse_unknown_options(options, [field.name for field in fields(PairOptions)], " for reading comparisons")
    if cluster not in ("task", "none"):
        options["task"] = cluster
    pairs = PairOptions(**options)
    engine_options = EngineOptions(
        engine=engine, memory=memory, temp=temp, master=master, connect=connect, table=table, most=most
    )
    rows, _ = read_engine_pairs(source, pairs, engine_options, ReadOptions(format=format, delimiter=delimiter))
    known = None if gold is None else read_known_pairs(gold, pairs)
    return rank_rows(rows, model, gold=known)


@keep_pipes()
def read_engine_pairs(
    source: Source, options: PairOptions, engine_options: EngineOptions = DUCKDB, reading: ReadOptions = AS_USUAL
) -> tuple[PairRows, str]:
    """Return the comparisons of an engine, which counts equal rows, and a line that names the engine.

    Raises:
        MissingColumnError: no columns look like comparisons.
        NoRowsError: there are no comparisons.
    """
    choice = chosen_or_default(source, engine_options)
    engine, table = _open(choice, reading)
    try:
        rows, n_rows = _read(engine, table, options, choice)
    finally:
        engine.close()
    return rows, f"{choice.name} has the comparisons, because {choice.why}: {count(n_rows, 'row')}"


def _open(choice: EngineChoice, reading: ReadOptions) -> tuple[Engine, EngineTable]:
    source = choice.source
    engine_options = choice.engine_options
    if type(source).__module__.partition(".")[0] == "ibis":
        ibis_table: Any = source
        return Engine(ibis_table.get_backend()), ibis_table
    if engine_options.table is not None and source is not None:
        raise OptionError("give files or a table (--table), not both")
    engine = connect(engine_options)
    try:
        if source is None or isinstance(source, str | Path):
            table = found_in(engine, source, reading, engine_options)
        else:
            table = engine.upload(read_object(source, dict.fromkeys(names_of(source) or [], "")))
        record_engine_inputs(engine, table, source)
    except BaseException:
        engine.close()
        raise
    return engine, table


def _read_matrix(engine: Engine, table: EngineTable, options: PairOptions) -> PairRows | None:
    """Return the comparisons of a square matrix of wins; None if the table is no such matrix."""
    names = list(table.columns)
    head = engine.fetch(table.select(names[0]).limit(len(names)), "looking for a matrix of wins")
    row_names = head.column(0).to_pylist()
    if not has_matrix_names(names, row_names) or find_matrix(names, row_names) is None:
        return None
    matrix = engine.fetch(table, "reading the matrix of wins")
    layout = find_matrix(names, matrix.column(0).to_pylist())
    return None if layout is None else read_pair_rows(matrix, layout, options)


def _read(engine: Engine, table: EngineTable, options: PairOptions, choice: EngineChoice) -> tuple[PairRows, int]:
    if options.left is None and not options.winners and len(table.columns) <= MAX_MATRIX_COLUMNS:
        rows = _read_matrix(engine, table, options)
        if rows is not None:
            return rows, rows.n_read
    layout = find_layout(list(table.columns), options)
    if layout is None:
        raise MissingColumnError(
            f"the table has the columns {listing(table.columns, 12)}, and none of them look like two items and a "
            "winner. Name them with left=, right= and winner= (--left, --right and --winner)"
        )
    columns = list(dict.fromkeys([*layout.columns, *options.extra_columns]))
    for name in columns:
        if table[name].type().is_nested():
            raise InputError(f"column {name!r} holds {table[name].type()} values, and not text or numbers")
    grouped = table.group_by(columns).agg(**{ROW_COUNT: table.count()})
    sizes = engine.fetch(table.agg(n=table.count()), "counting the comparisons")
    n_rows = int(sizes.column("n")[0].as_py())
    if n_rows == 0:
        raise NoRowsError("there are columns, but no comparisons under them")
    limit = most_answers(choice.engine_options)
    batches = []
    n_groups = 0
    for batch in engine.stream(grouped, "counting equal comparisons", n_rows):
        n_groups += batch.num_rows
        if n_groups > limit:
            raise NotInMemoryError(
                f"there are more than {limit:,} different rows of comparisons; leave out covariates= (--covariate) and "
                "task= (--task, with --cluster none), or allow more memory= (--engine duckdb:memory=16GB)"
            )
        batches.append(batch)
    result = pa.Table.from_batches(batches)
    weight = to_numpy(result.column(ROW_COUNT).combine_chunks().cast(pa.int64())).astype(np.float64)
    return read_pair_rows(result.select(columns), layout, options, weight=weight), n_rows
