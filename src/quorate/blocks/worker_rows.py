"""Tables of workers × answers × classes that are not stored in full: for large crowds, and for what Spark sends.

A row belongs to a worker and an answer class. In a crowd of many workers or classes few rows are observed, and in a
partition of Spark still fewer. A pass reads and changes only the rows that its tasks observe.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from quorate.arrays import FloatArray, IntArray, runs

if TYPE_CHECKING:
    from quorate.blocks.block import Block

ROW_BYTES = 4  # for the number of a row, in addition to its values


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """The observed rows of a table of workers × answers × classes; all other rows are zero.

    >>> table = ObservedRows(np.array([1]), np.array([[3.0, 4.0]]), (2, 2, 2))
    >>> dense(table).tolist()
    [[[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """

    row: IntArray  # ascending, worker · answers + answer
    values: FloatArray  # rows × classes
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.row.nbytes + self.values.nbytes

    def at(self, row: IntArray) -> FloatArray:
        """Return the values of some rows."""
        if len(self.row) == 0:
            return np.zeros((len(row), self.shape[-1]))
        position = np.minimum(np.searchsorted(self.row, row), len(self.row) - 1)
        values: FloatArray = self.values[position]
        values[self.row[position] != row] = 0.0
        return values

    def renamed(self, order: IntArray) -> "ObservedRows":
        """Return the table with class c renamed ``order[c]``, both of answers and of tasks."""
        m = self.shape[-1]
        row = self.row // m * m + order[self.row % m]
        ascending = np.argsort(row)
        return replace(self, row=row[ascending], values=self.values[ascending][:, np.argsort(order)])


@dataclass(frozen=True, eq=False)
class OwnClassRows:
    """A table in which an answer has a value for its own class only; workers × answers × classes.

    >>> OwnClassRows(np.array([[3.0, 4.0]])).at(np.array([0, 1])).tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """

    own: FloatArray  # workers × classes

    @property
    def shape(self) -> tuple[int, ...]:
        """Workers, answers, classes."""
        n, m = self.own.shape
        return n, m, m

    def at(self, row: IntArray) -> FloatArray:
        """Return the values of some rows."""
        m = self.own.shape[1]
        values = np.zeros((len(row), m))
        values[np.arange(len(row)), row % m] = self.own.ravel()[row]
        return values


WorkerRows: TypeAlias = FloatArray | ObservedRows | OwnClassRows


def rows_at(table: WorkerRows, row: IntArray) -> FloatArray:
    """Return the values of some rows of a table, rows × classes.

    >>> rows_at(np.arange(8.0).reshape(2, 2, 2), np.array([3])).tolist()
    [[6.0, 7.0]]
    """
    if isinstance(table, np.ndarray):
        flat: FloatArray = table.reshape(-1, table.shape[-1])[row]
        return flat
    return table.at(row)


def dense(table: WorkerRows) -> FloatArray:
    """Return a table as a full array.

    >>> dense(OwnClassRows(np.array([[3.0, 4.0]]))).tolist()
    [[[3.0, 0.0], [0.0, 4.0]]]
    """
    if isinstance(table, np.ndarray):
        return table
    full = np.zeros(table.shape)
    flat = full.reshape(-1, table.shape[-1])
    if isinstance(table, ObservedRows):
        flat[table.row] = table.values
    else:
        m = table.shape[2]
        full[:, np.arange(m), np.arange(m)] = table.own
    return full


def column_totals(table: FloatArray | ObservedRows) -> FloatArray:
    """Return the sums over the answers of each worker, workers × classes.

    >>> column_totals(ObservedRows(np.array([0, 1]), np.array([[3.0, 4.0], [1.0, 0.0]]), (2, 2, 2))).tolist()
    [[4.0, 4.0], [0.0, 0.0]]
    """
    totals: FloatArray
    if isinstance(table, np.ndarray):
        totals = table.sum(axis=1)
        return totals
    n, n_answers, m = table.shape
    totals = np.zeros((n, m))
    workers, first = np.unique(table.row // n_answers, return_index=True)
    if len(workers):
        totals[workers] = np.add.reduceat(table.values, first)
    return totals


def diagonals(table: FloatArray | ObservedRows) -> FloatArray:
    """Return the entries in which the answer is the class, workers × classes.

    >>> diagonals(ObservedRows(np.array([1]), np.array([[3.0, 4.0]]), (2, 2, 2))).tolist()
    [[0.0, 4.0], [0.0, 0.0]]
    """
    entries: FloatArray
    if isinstance(table, np.ndarray):
        entries = np.einsum("wcc->wc", table)
        return entries
    n, n_answers, m = table.shape
    own = table.row % n_answers
    entries = np.zeros((n, m))
    entries[table.row // n_answers, own] = table.values[np.arange(len(own)), own]
    return entries


def parts(table: FloatArray | ObservedRows) -> Iterator[tuple[slice, FloatArray]]:
    """Yield slices of workers and their part of a table as a full array; a full table is yielded as one part.

    >>> [(workers.stop, part.tolist()) for workers, part in parts(np.ones((1, 1, 1)))]
    [(1, [[[1.0]]])]
    """
    if isinstance(table, np.ndarray):
        yield slice(0, len(table)), table
        return
    n, n_answers, m = table.shape
    for workers in runs(n, n_answers * m):
        span = slice(*np.searchsorted(table.row, [workers.start * n_answers, workers.stop * n_answers]).tolist())
        part = np.zeros(((workers.stop - workers.start) * n_answers, m))
        part[table.row[span] - workers.start * n_answers] = table.values[span]
        yield workers, part.reshape(-1, n_answers, m)


def map_parts(
    function: Callable[[FloatArray, slice], FloatArray], table: FloatArray | ObservedRows
) -> FloatArray | ObservedRows:
    """Apply a function of a full table and its workers to some workers at a time; return the rows that are stored.

    >>> map_parts(lambda part, workers: part + 1, ObservedRows(np.array([1]), np.array([[3.0]]), (1, 2, 1))).values
    array([[4.]])
    """
    if isinstance(table, np.ndarray):
        return function(table, slice(0, len(table)))
    n_answers = table.shape[1]
    values = np.empty_like(table.values)
    done = 0
    for workers, part in parts(table):
        stop = int(np.searchsorted(table.row, workers.stop * n_answers))
        changed = function(part, workers).reshape(-1, table.shape[2])
        values[done:stop] = changed[table.row[done:stop] - workers.start * n_answers]
        done = stop
    return replace(table, values=values)


def distance(one: FloatArray | ObservedRows, other: FloatArray | ObservedRows) -> float:
    """Return the sum of the absolute differences of two tables.

    >>> distance(np.zeros((1, 2, 2)), ObservedRows(np.array([1]), np.array([[3.0, -4.0]]), (1, 2, 2)))
    7.0
    """
    if isinstance(one, ObservedRows) and isinstance(other, ObservedRows) and np.array_equal(one.row, other.row):
        return float(np.abs(one.values - other.values).sum())
    return float(np.abs(dense(one) - dense(other)).sum())


def is_smaller(n_observed: int, shape: Sequence[int]) -> bool:
    """Return whether a table takes fewer bytes if only `n_observed` of its rows are stored.

    >>> is_smaller(80, (25, 4, 4)), is_smaller(90, (25, 4, 4))
    (True, False)
    """
    of_row = 8 * shape[-1]
    return n_observed * (of_row + ROW_BYTES) < shape[0] * shape[1] * of_row


def sum_tables(tables: Sequence[FloatArray | ObservedRows]) -> FloatArray | ObservedRows:
    """Add up tables, of which at least one stores observed rows; the sum is in the form that takes fewer bytes.

    >>> one = ObservedRows(np.array([1]), np.array([[3.0, 4.0]]), (2, 2, 2))
    >>> both = sum_tables([one, one])
    >>> both.row.tolist(), both.values.tolist()
    ([1], [[6.0, 8.0]])
    """
    shape = tables[0].shape
    n_rows = shape[0] * shape[1]
    is_observed = np.zeros(n_rows, dtype=bool)
    for table in tables:
        is_observed[slice(None) if isinstance(table, np.ndarray) else table.row] = True
    observed = np.flatnonzero(is_observed).astype(np.int32)
    if not is_smaller(len(observed), shape):
        full = np.zeros((n_rows, shape[2]))
        for table in tables:
            if isinstance(table, np.ndarray):
                full += table.reshape(full.shape)
            else:
                full[table.row] += table.values
        return full.reshape(shape)
    position = np.cumsum(is_observed, dtype=np.int32) - 1
    values = np.zeros((len(observed), shape[2]))
    for table in tables:
        assert isinstance(table, ObservedRows)  # else every row is observed
        values[position[table.row]] += table.values
    return ObservedRows(observed, values, shape)


@dataclass(frozen=True, eq=False)
class RowNumbers:
    """The rows that some blocks observe, numbered from 0; and the blocks with these numbers instead of their codes."""

    observed: IntArray  # the rows, ascending
    blocks: "list[Block]"  # worker · classes + label is a position in `observed`


def observed_rows(
    blocks: "Iterable[Block]", shape: Sequence[int], *, always: bool = False
) -> "RowNumbers | Iterable[Block]":
    """Number the rows that some blocks observe, if that takes fewer bytes; otherwise return the blocks.

    All blocks are in memory together only while they have fewer answers than the table has rows.

    Args:
        blocks: blocks of tasks.
        shape: shape of the table, workers × answers × classes.
        always: number the rows even if their table takes more bytes, but not if there are as many answers as rows.

    >>> from quorate.blocks.block import Block
    >>> block = Block(np.array([0, 1]), np.array([7]), np.array([1]), n_workers=9, n_classes=2)
    >>> numbers = observed_rows([block], (9, 2, 2))
    >>> numbers.observed.tolist(), numbers.blocks[0].worker.tolist(), numbers.blocks[0].label.tolist()
    ([15], [0], [0])
    """
    m = shape[-1]
    n_rows = shape[0] * m
    n_answers = 0
    listed: list[Block] = []
    rest = iter(blocks)
    for block in rest:
        listed.append(block)
        n_answers += int(block.start[-1] - block.start[0])
        if n_answers >= n_rows:
            return _chained(listed, rest)
    is_observed = np.zeros(n_rows, dtype=bool)
    rows_of_blocks = []
    for block in listed:
        rows = block.worker[block.answers].astype(np.int64) * m + block.label[block.answers]
        is_observed[rows] = True
        rows_of_blocks.append(rows)
    observed = np.flatnonzero(is_observed).astype(np.int32)
    if not always and not is_smaller(len(observed), shape):
        return listed
    position = np.cumsum(is_observed, dtype=np.int32) - 1
    numbered = []
    for block, rows in zip(listed, rows_of_blocks, strict=True):
        number = position[rows]
        start = block.start - block.start[0]
        numbered.append(replace(block, start=start, worker=number // m, label=number % m, symbol=None))
    return RowNumbers(observed, numbered)


def _chained(listed: "list[Block]", rest: "Iterator[Block]") -> "Iterator[Block]":
    """Yield the listed blocks, which are removed from the list, and then the rest."""
    while listed:
        yield listed.pop(0)
    yield from rest


def slices_of(table: Any, n: int) -> list[Any]:
    """Return an array, or a table of observed rows, in n slices of consecutive rows.

    >>> [part.tolist() for part in slices_of(np.arange(3), 2)]
    [[0, 1], [2]]
    >>> [part.row.tolist() for part in slices_of(ObservedRows(np.array([1, 2]), np.ones((2, 2)), (2, 2, 2)), 2)]
    [[1], [0]]
    """
    if not isinstance(table, ObservedRows):
        if table.ndim != 3:
            return np.array_split(table.ravel(), n)
        return [part[None] for part in np.array_split(table.reshape(-1, table.shape[-1]), n)]
    n_rows = table.shape[0] * table.shape[1]
    sizes = [len(part) for part in np.array_split(np.empty(n_rows, dtype=bool), n)]
    first = np.cumsum([0, *sizes])
    cuts = np.searchsorted(table.row, first)
    return [
        ObservedRows(
            table.row[cuts[k] : cuts[k + 1]] - np.int32(first[k]),
            table.values[cuts[k] : cuts[k + 1]],
            (1, sizes[k], table.shape[2]),
        )
        for k in range(n)
    ]


def joined_slices(slices: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return the array or table whose slices these are; the inverse of `slices_of`.

    >>> joined_slices(slices_of(np.arange(4).reshape(2, 2), 3), (2, 2)).tolist()
    [[0, 1], [2, 3]]
    >>> table = ObservedRows(np.array([1, 2]), np.ones((2, 2)), (2, 2, 2))
    >>> joined_slices(slices_of(table, 2), (2, 2, 2)).row.tolist()
    [1, 2]
    """
    if all(isinstance(part, np.ndarray) for part in slices):
        return np.concatenate([part.ravel() for part in slices]).reshape(shape)
    first = 0
    rows = []
    values = []
    for part in slices:
        n_rows = part.shape[1]
        if isinstance(part, np.ndarray):
            rows.append(np.arange(first, first + n_rows, dtype=np.int32))
            values.append(part[0])
        else:
            rows.append(part.row + np.int32(first))
            values.append(part.values)
        first += n_rows
    observed = ObservedRows(np.concatenate(rows), np.concatenate(values), tuple(shape))
    return observed if is_smaller(len(observed.row), shape) else dense(observed)
