"""Crowds of two groups that share little."""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.simulate import answer, draw_workers


def two_halves(n_workers: int, joined: int, seed: int) -> Answers:
    """Two crowds, of the workers with even codes and of those with odd, that share a few tasks of two workers each."""
    rng, half, tasks = np.random.default_rng(seed), n_workers // 2, 20 * n_workers
    own = [2 * draw_workers(tasks, half, 3, rng=rng) + side for side in (0, 1)]
    bridges = 2 * rng.integers(0, half, (joined, 2)) + [0, 1]
    task = np.concatenate([np.repeat(np.arange(2 * tasks), 3), np.repeat(2 * tasks + np.arange(joined), 2)])
    worker = np.concatenate([own[0].ravel(), own[1].ravel(), bridges.ravel()])
    return answer(task, worker, np.full(n_workers, 0.7), 2 * tasks + joined, 2, None, rng).answers


def bridged(bridges: IntArray, seed: int, *, n_rest: int = 10, n_group: int = 5) -> Answers:
    """Ten workers on 200 tasks and five on 100 others, three answers each; the bridges of the five answer 200's too."""
    rng = np.random.default_rng(seed)
    own = [draw_workers(200, n_rest, 3, rng=rng), n_rest + draw_workers(100, n_group, 3, rng=rng)]
    tied = rng.permutation(200)[: len(bridges)]
    task = np.concatenate([np.repeat(np.arange(300), 3), tied])
    worker = np.concatenate([own[0].ravel(), own[1].ravel(), n_rest + bridges])
    order = np.lexsort([worker, task])
    skills = rng.uniform(0.4, 0.9, n_rest + n_group)
    return answer(task[order], worker[order], skills, 300, 2, None, rng).answers
