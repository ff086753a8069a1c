"""Blocks in memory: pieces are complete tasks, sums do not depend on threads, and every worker is counted."""

import os

import numpy as np
import pytest

from quorate import simulate
from quorate.blocks import memory
from quorate.blocks.block import Block
from quorate.blocks.kernels import agreement_products, e_step, task_scores
from quorate.blocks.memory import MemoryBlocks, blocks_of, memory_blocks
from quorate.graph.pairs import pair_stats


def itself(block: Block) -> Block:
    return block


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and lanes as a large crowd has them."""
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", 50)
    monkeypatch.setattr(memory, "MIN_LANE_ANSWERS", 1)
    monkeypatch.setattr(memory, "MIN_THREADED_ANSWERS", 0)


@pytest.mark.usefixtures("small_pieces")
def test_pieces_are_complete_tasks_in_order() -> None:
    answers = simulate.crowd(200, 12, 4, seed=0).answers
    blocks = blocks_of(answers)
    assert isinstance(blocks, MemoryBlocks)
    pieces = blocks.pieces
    assert len(pieces) > 10
    assert [piece.first for piece in pieces] == np.cumsum([0, *(piece.n_tasks for piece in pieces)])[:-1].tolist()
    assert sum(piece.n_tasks for piece in pieces) == 200
    assert np.concatenate([piece.worker[piece.answers] for piece in pieces]).tolist() == answers.worker.tolist()
    assert np.concatenate([piece.label[piece.answers] for piece in pieces]).tolist() == answers.label.tolist()


@pytest.mark.usefixtures("small_pieces")
def test_sums_are_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, x = simulate.crowd(300, 12, 4, seed=0).answers, np.linspace(-0.3, 0.9, 12)
    logs = np.log(np.random.default_rng(0).dirichlet([1, 1], (12, 2)))
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("QUORATE_THREADS", threads)
        blocks = blocks_of(answers)
        sums = (*blocks.sum(agreement_products, x, 2), *blocks.sum(e_step, logs, np.zeros(2)))
        each = np.concatenate(list(blocks.map(task_scores, logs, np.zeros(2))))
        found.append(b"".join(np.ascontiguousarray(array).tobytes() for array in (*sums, each)))
    assert len(set(found)) == 1


def test_peers_are_those_of_the_pairs_however_few_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = simulate.crowd(100, 70, 3, seed=0).answers
    expected = pair_stats(answers).n_peers(70)
    assert memory_blocks(answers).n_peers().tolist() == expected.tolist()
    monkeypatch.setattr(memory, "MAX_PEER_BITS", 70 * 8)
    assert memory_blocks(answers).n_peers().tolist() == expected.tolist()  # by stamps, where the kernels are in C
    monkeypatch.setattr("quorate.blocks.kernels.native", None)
    assert memory_blocks(answers).n_peers().tolist() == expected.tolist()


def test_a_crowd_keeps_its_blocks_and_known_labels_do_not_enter_those() -> None:
    answers = simulate.crowd(20, 5, 3, seed=0).answers
    assert blocks_of(answers) is blocks_of(answers)
    assert [block.gold is None for block in blocks_of(answers, np.zeros(20, int)).map(itself)] == [False]
    assert [block.gold is None for block in blocks_of(answers).map(itself)] == [True]


def test_the_environment_says_how_many_threads_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORATE_THREADS", "3")
    assert memory.n_threads() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)  # of many, two are ours
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for setting in ("none", "0", "-1", ""):
        monkeypatch.setenv("QUORATE_THREADS", setting)
        assert memory.n_threads() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    assert memory.n_threads() == 64


def test_without_known_labels_there_are_no_known_tasks() -> None:
    found = blocks_of(simulate.crowd(20, 5, 3, seed=0).answers).gold_tasks()
    assert found.gold is not None
    assert (found.n_tasks, len(found.worker), len(found.gold)) == (0, 0, 0)


def test_a_lane_has_answers_enough_for_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane's tables have a row for each worker: with few answers per worker, few lanes; all blocks, in order."""
    monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", 20)
    for n_workers in (5, 40, 400):
        blocks = MemoryBlocks(blocks_of(simulate.crowd(200, n_workers, 4, seed=0).answers).all_tasks)  # type: ignore[attr-defined]
        assert [piece for lane in blocks.lanes for piece in lane] == blocks.pieces
        assert all(blocks.lanes)
        smallest = min(sum(piece.per_task.sum() for piece in lane) for lane in blocks.lanes)
        is_single = len(blocks.lanes) == 1
        assert is_single or smallest >= 0.8 * memory.MIN_LANE_ANSWERS * n_workers  # lanes consist of whole blocks
        assert is_single == (blocks.n_answers < 2 * memory.MIN_LANE_ANSWERS * n_workers)
