"""Who answered in a Spark table, and what: the ids of workers and classes, as the other engines list them."""

from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import IntArray, from_numpy, to_numpy
from quorate.errors import BlankFieldError, count
from quorate.reading.abstaining import takes_blanks
from quorate.reading.columns import encode, in_order_of_ids
from quorate.reading.options import ROLES, ReadOptions
from quorate.warehouse.alphabet import alphabet_of
from quorate.warehouse.spreading import Coder, Spread


def list_everyone(frame: Any, n_rows: int, reading: ReadOptions) -> Spread:
    """List the workers and classes of a Spark table; two passes over it.

    Args:
        frame: a Spark DataFrame of task, worker, label (and order).
        n_rows: how many rows it has.
        reading: what becomes of missing fields, and the classes.

    Raises:
        InputError: fields are missing, and no row is to be left out for that; or no answer is left.

    >>> list_everyone  # doctest: +ELLIPSIS
    <function list_everyone at ...>
    """
    from pyspark.sql import functions as spark

    if "order" in frame.columns and (missing := frame.where(spark.col("order").isNull()).count()):
        raise BlankFieldError(f"the column that orders the answers is missing in {count(missing, 'row')} or more")
    # Two passes that read a column or two each: one, by both, whose findings are kept for two questions, costs more.
    found = arrow_of(frame.groupBy("worker").agg(spark.count(spark.lit(1)).alias("n")))
    codes, workers = encode(found.column("worker"), reading.columns[1])
    no_worker = _among(found.column("worker"), codes, "worker")
    _refuse_missing(frame, found, codes, "worker", no_worker, reading)
    counts = spark.count(spark.lit(1)).alias("n"), spark.count(spark.when(~no_worker, 1)).alias("held")
    found = arrow_of(frame.groupBy("label").agg(*counts))
    codes, labels = encode(found.column("label"), reading.columns[2], is_label=True)
    _refuse_missing(frame, found, codes, "label", _among(found.column("label"), codes, "label"), reading)
    used = np.bincount(codes[codes >= 0], _numbers(found, "held")[codes >= 0], len(labels))
    _, worker_names = in_order_of_ids(np.arange(len(workers)), workers)
    told = alphabet_of(labels, used, n_rows, reading, blanks=bool((codes < 0).any()))
    everyone = np.arange(len(worker_names))  # numbered by their order from the beginning
    meant = told.given, told.points_to, told.unheard, told.n_silent
    return Spread((), worker_names, told.classes, everyone, told.code, n_rows, 0, *meant, labels)


def arrow_of(frame: Any) -> pa.Table:
    """Take a (small) Spark DataFrame out by way of Arrow.

    >>> arrow_of  # doctest: +ELLIPSIS
    <function arrow_of at ...>
    """
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # before Spark 4
    return pa.Table.from_batches(batches) if batches else pa.table({name: pa.nulls(0) for name in frame.columns})


def _numbers(table: pa.Table, name: str) -> IntArray:
    return to_numpy(table.column(name).combine_chunks()).astype(np.int64)


def _among(values: pa.ChunkedArray, codes: IntArray, role: str) -> Any:
    """Say, in Spark's terms, that a field is missing: null, or one of the values that count as none."""
    from pyspark.sql import functions as spark

    blank = values.filter(from_numpy((codes < 0) & to_numpy(values.combine_chunks().is_valid()))).to_pylist()
    column = spark.col(role)
    return (column.isNull() | column.isin(blank)) if blank else column.isNull()


def _refuse_missing(
    frame: Any, found: pa.Table, codes: IntArray, role: str, is_missing: Any, reading: ReadOptions
) -> None:
    """Show a row that lacks a field, unless such rows are to be left out."""
    lacking = int(_numbers(found, "n")[codes < 0].sum())
    if not lacking or reading.skip_missing or (role == "label" and takes_blanks(reading)):
        return
    row = arrow_of(frame.where(is_missing).limit(1)).to_pylist()[0]
    coder = Coder(reading.columns[ROLES.index(role)])
    coder.note(lacking, {key: row[key] for key in ROLES})
    coder.refuse(role, reading.columns)
