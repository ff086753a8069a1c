"""Answers in the order of task, worker and label: a counting sort in C (`order.h`), or numpy's sort."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from quorate.arrays import IntArray, starts_of
from quorate.blocks import n_threads, native_kernels

native = native_kernels()
MIN_SPAN_ROWS = 1 << 20  # rows per thread; for fewer, a thread takes as long to start as to sort
MAX_CODES_PER_ROW = 16  # task codes per row; above it, a table of all codes would cost more than numpy's sort
Columns = tuple[IntArray, IntArray, IntArray]


def sort_answers(
    task: IntArray, worker: IntArray, label: IntArray, *, overwrite: bool = False, n_spans: int | None = None
) -> tuple[Columns, bool]:
    """Sort answers by task, then worker, then label; and return whether a worker answered a task more than once.

    Args:
        task: code of each answer, not negative.
        worker: code of each answer, not negative.
        label: code of each answer, not negative.
        overwrite: whether the result may be written to the arguments; not if a worker answered a task twice.
        n_spans: number of parts, one thread each; by default it depends on the numbers of rows and threads.

    >>> columns, has_repeats = sort_answers(np.array([1, 0, 1]), np.array([3, 0, 2]), np.array([0, 1, 1]))
    >>> [codes.tolist() for codes in columns], has_repeats
    ([[0, 1, 1], [0, 2, 3], [1, 1, 0]], False)
    """
    n = len(task)
    bits = [max(int(codes.max(initial=0)).bit_length(), 1) for codes in (task, worker, label)]
    n_tasks = int(task.max(initial=-1)) + 1
    if native is None or n >= 1 << 31 or n_tasks > MAX_CODES_PER_ROW * n or max(bits) > 31:
        return _sort_by_numpy(task, worker, label, bits)
    columns = [np.ascontiguousarray(codes, np.int32) for codes in (task, worker, label)]
    order = native.rows_in_order(columns[0], columns[1])
    if order:
        return (task, worker, label), order == 2
    if n_spans is None:
        n_spans = max(1, min(n_threads(), n // MIN_SPAN_ROWS))
    counts = np.zeros(n_tasks, np.int32)
    native.order_count(columns[0], counts)
    start = starts_of(counts)
    following = start[:-1].astype(np.int32)
    is_wide = sum(bits[1:]) > 32
    keys: NDArray[np.uint32 | np.uint64] = np.empty(n, np.uint64 if is_wide else np.uint32)
    marks = np.searchsorted(start, [n * k // n_spans for k in range(n_spans)]).tolist()
    spans = list(zip([0, *marks[1:]], [*marks[1:], n_tasks], strict=True))

    def sort_span(span: tuple[int, int]) -> bool:
        assert native is not None
        native.order_scatter(*columns, following, keys, bits[2], *span)
        return bool(native.order_sort(start, keys, is_wide, bits[2], *span))

    def unpack_span(span: tuple[int, int]) -> None:
        assert native is not None
        native.order_unpack(start, keys, bits[2], *span, *columns)

    with ThreadPoolExecutor(n_spans) as pool:
        has_repeats = any(list(pool.map(sort_span, spans)))
        is_own = [codes is not column for codes, column in zip(columns, (task, worker, label), strict=True)]
        for k, codes in enumerate(columns):
            if not is_own[k] and (has_repeats or not overwrite or not codes.flags.writeable):
                columns[k] = np.empty(n, np.int32)
        list(pool.map(unpack_span, spans))
    return (columns[0], columns[1], columns[2]), has_repeats


def _sort_by_numpy(task: IntArray, worker: IntArray, label: IntArray, bits: list[int]) -> tuple[Columns, bool]:
    """Do `sort_answers` in numpy, with one 64-bit number per answer if that is enough, which is fastest."""
    step = task[1:] - task[:-1]
    if np.all((step > 0) | ((step == 0) & (worker[1:] >= worker[:-1]))):
        columns = task, worker, label
    elif sum(bits) > 63:
        order = np.lexsort([label, worker, task])
        columns = task[order], worker[order], label[order]
    else:
        packed = task.astype(np.int64)
        for codes, width in ((worker, bits[1]), (label, bits[2])):
            packed <<= width
            packed |= codes
        packed.sort()
        labels = (packed & ((1 << bits[2]) - 1)).astype(np.int32)
        packed >>= bits[2]
        workers = (packed & ((1 << bits[1]) - 1)).astype(np.int32)
        packed >>= bits[1]
        columns = packed.astype(np.int32), workers, labels
    has_repeats = np.any((columns[0][1:] == columns[0][:-1]) & (columns[1][1:] == columns[1][:-1]))
    return columns, bool(has_repeats)
