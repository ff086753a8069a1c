"""Tasks drawn by hash: the same ones every time, as many as asked for, and no pattern in their numbers."""

import numpy as np

from quorate.evaluation import simulate
from quorate.skills.scatter import sampled_tasks, scattered


def test_the_hash_is_splitmix64_of_the_task_number() -> None:
    mask = 2**64 - 1
    step = 0x9E3779B97F4A7C15

    def slow(k: int) -> int:
        z = ((k + 1) * step & mask) ^ step
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return z ^ (z >> 31)

    assert scattered(200).tolist() == [slow(k) for k in range(200)]


def test_residues_and_halves_are_independent_of_each_other() -> None:
    hashed = scattered(100_000)
    for modulus in (2, 4, 7):
        shares = np.bincount((hashed % np.uint64(modulus)).astype(np.int64)) / len(hashed)
        assert np.abs(shares - 1 / modulus).max() < 0.01
    high = hashed >= np.uint64(2**63)
    assert abs(high[hashed % np.uint64(4) == 0].mean() - 0.5) < 0.01


def test_a_sample_has_about_the_answers_asked_for() -> None:
    answers = simulate.crowd(4000, 20, 5, seed=0).answers
    kept = sampled_tasks(answers, 5000)
    assert abs(answers.per_task[kept].sum() - 5000) < 500
    assert sampled_tasks(answers, 20_000).all()
