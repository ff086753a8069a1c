"""A block keeps its codes as small as they can be, divides at tasks, and names what is out of range."""

import numpy as np
import pyarrow as pa
import pytest

from quorate.blocks import in_use, kernels
from quorate.blocks.block import Block, check_codes, in_order_of_hash
from quorate.blocks.numpy_kernels import MAX_CELLS_PER_ANSWER, by_row


def single_answers(n: int, n_classes: int = 2) -> Block:
    """Tasks of one answer each."""
    return Block(np.arange(n + 1), np.arange(n), np.zeros(n, int), n_workers=n, n_classes=n_classes)


@pytest.mark.parametrize(("n_classes", "kind"), [(2, "uint8"), (256, "uint8"), (257, "int32")])
def test_a_label_takes_one_byte_as_long_as_it_can(n_classes: int, kind: str) -> None:
    block = Block(np.array([0, 1]), np.array([0]), np.array([n_classes - 1]), n_workers=1, n_classes=n_classes)
    assert block.label.dtype.name == kind
    assert block.label.tolist() == [n_classes - 1]


@pytest.mark.parametrize("n_answers", [0, 1])
def test_the_smallest_pieces_are_single_tasks(n_answers: int) -> None:
    assert [piece.n_tasks for piece in single_answers(5).pieces(n_answers)] == [1] * 5


@pytest.mark.parametrize(("workers", "wrong"), [([0, 3, 1], 3), ([1, -1, 0], -1), ([-2, 5, 0], -2)])
def test_a_worker_that_is_none_is_named(workers: list[int], wrong: int) -> None:
    block = Block(np.array([0, 3]), np.array(workers), np.array([0, 1, 1]), n_workers=2, n_classes=2)
    with pytest.raises(ValueError, match=f"^a block names worker {wrong} of 2$"):
        check_codes(block)


def test_no_label_is_known_that_nobody_gave() -> None:
    assert not single_answers(3).is_known.any()
    assert in_order_of_hash([(single_answers(0), pa.array([], pa.string()))] * 2).gold.tolist() == []  # type: ignore[union-attr]


def test_known_labels_go_with_their_tasks() -> None:
    parts = [
        (Block(np.arange(3), np.array([0, 1]), np.array([0, 1]), 4, 3, gold=np.array([0, 1])), pa.array(["d", "a"])),
        (Block(np.arange(3), np.array([2, 3]), np.array([2, 2]), 4, 3, gold=np.array([2, 0])), pa.array(["b", "c"])),
    ]
    found = in_order_of_hash(parts)
    assert found.gold is not None
    assert dict(zip(found.worker.tolist(), found.gold.tolist(), strict=True)) == {0: 0, 1: 1, 2: 2, 3: 0}
    again = in_order_of_hash(parts[::-1])
    assert (again.worker.tolist(), again.label.tolist()) == (found.worker.tolist(), found.label.tolist())


def test_the_kernels_in_use_are_those_that_run() -> None:
    assert in_use() == ("numpy" if kernels.native is None else "C")


def test_a_table_begins_where_a_line_of_the_cache_does() -> None:
    """Several at a time, so that they lie in several places."""
    tables = [kernels._aligned(rows, kernels.LINE_NUMBERS) for rows in range(1, 60)]
    assert [table.ctypes.data % (8 * kernels.LINE_NUMBERS) for table in tables] == [0] * len(tables)
    assert not any(table.any() for table in tables)


@pytest.mark.parametrize("columns", [0, 1, 8, 9])
def test_columns_are_combined_however_many_there_are(columns: int) -> None:
    table = np.arange(3.0 * columns).reshape(3, columns)
    assert by_row(np.add, table).tolist() == [sum(row) for row in table.tolist()]


def test_answers_alike_are_counted_also_where_classes_are_very_many() -> None:
    """Of a million classes three are used: what a table of tasks and classes would hold is found without one."""
    rng = np.random.default_rng(0)
    start, label = np.arange(0, 201, 5), rng.choice([0, 7, 999_999], 200)
    block = Block(start, np.tile(np.arange(5), 40), label, n_workers=5, n_classes=1_000_000)
    assert block.n_tasks * block.n_classes > MAX_CELLS_PER_ANSWER * len(label)
    counts = np.zeros(2)
    for labels in label.reshape(40, 5).tolist():
        for i in range(5):
            for j in range(i):
                counts[int(labels[i] != labels[j])] += 1
    assert kernels.coincidences([block], 1_000_000)[0].tolist() == counts.tolist()
