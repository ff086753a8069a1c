"""Blocks seen through a change: the same as if the answers had been changed before."""

import numpy as np

from quorate import simulate
from quorate.blocks.kernels import response_counts
from quorate.blocks.memory import blocks_of
from quorate.blocks.transform import GoldAsWorker, GoldOfWorkers, GroupMajority, RenamedClasses, TransformedBlocks
from quorate.graph.components import identify


def test_renamed_classes_are_counted_under_their_new_names() -> None:
    answers = simulate.crowd(50, 6, 3, n_classes=3, seed=0).answers
    order = np.array([2, 0, 1])
    renamed = TransformedBlocks(blocks_of(answers), RenamedClasses(order))
    counts, _ = renamed.sum(response_counts, 6, 3)
    expected, _ = blocks_of(answers).sum(response_counts, 6, 3)
    assert (counts[:, order] == expected).all()


def test_a_group_answers_with_its_majority() -> None:
    answers = simulate.crowd(80, 6, 5, n_classes=3, seed=1).answers
    group = np.array([0, 0, 0, 1, 1, 2])
    blocks = TransformedBlocks(blocks_of(answers), GroupMajority(group))
    assert blocks.n_workers == 3
    (block,) = blocks.map(lambda block: block)
    for task in range(80):
        rows = slice(answers.start[task], answers.start[task + 1])
        for k in range(block.start[task], block.start[task + 1]):
            members = group[answers.worker[rows]] == block.worker[k]
            votes = np.bincount(answers.label[rows][members], minlength=3)
            assert votes[block.label[k]] == votes.max()
    assert blocks.n_answers == len(block.worker)


def test_gold_is_kept_for_the_tasks_of_chosen_workers_only() -> None:
    answers = simulate.crowd(40, 6, 1, seed=0).answers  # one answer per task: its worker is its component
    chosen = np.array([True, True, False, False, False, True])
    known = np.zeros(40, np.int32)
    blocks = TransformedBlocks(blocks_of(answers, known), GoldOfWorkers(chosen))
    assert blocks.gold_tasks().n_tasks == int(chosen[answers.worker].sum())
    sample = blocks.sample(10**6)
    assert sample.gold is not None
    assert (sample.gold >= 0).tolist() == chosen[answers.worker].tolist()


def test_a_sample_in_memory_is_nested_and_keeps_ids() -> None:
    answers = simulate.crowd(500, 10, 4, seed=0).answers
    small, large = (blocks_of(answers).sample(n).answers for n in (200, 800))
    assert 150 < small.n_answers <= 200
    assert set(small.task_names.to_pylist()) < set(large.task_names.to_pylist())


def test_gold_as_a_worker_equals_answers_to_which_it_was_added() -> None:
    crowd = simulate.crowd(60, 6, 3, n_classes=3, seed=3)
    gold = np.where(np.arange(60) % 4 == 0, crowd.truth, -1).astype(np.int32)
    changed = TransformedBlocks(blocks_of(crowd.answers, gold), GoldAsWorker())
    expected = blocks_of(crowd.answers.with_worker(gold))
    assert (changed.n_workers, changed.n_answers) == (expected.n_workers, expected.n_answers)
    assert changed.per_worker.tolist() == expected.per_worker.tolist()
    for counts, expected_counts in zip(
        changed.sum(response_counts, 7, 3), expected.sum(response_counts, 7, 3), strict=True
    ):
        assert (counts == expected_counts).all()
    assert changed.sample(10**6).answers.worker.tolist() == expected.sample(10**6).answers.worker.tolist()
    assert changed.gold_tasks().n_tasks == 0


def test_components_of_changed_blocks_have_witnesses() -> None:
    crowd = simulate.crowd(60, 6, 3, seed=3)
    chosen = GoldOfWorkers(np.ones(6, dtype=bool))
    blocks = TransformedBlocks(TransformedBlocks(blocks_of(crowd.answers, crowd.truth), chosen), GoldAsWorker())
    (component,) = identify(blocks).components()
    assert len(component.odd_cycle) % 2 == 1
