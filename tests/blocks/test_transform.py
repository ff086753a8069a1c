"""Blocks seen through a change: the same as if the answers had been changed before."""

import numpy as np

from quorate import simulate
from quorate.blocks.kernels import response_counts
from quorate.blocks.memory import blocks_of
from quorate.blocks.transform import GoldOfWorkers, GroupMajority, RenamedClasses, TransformedBlocks


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
