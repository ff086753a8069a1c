"""Crowds with something wrong, and how far a measured rate may be from the true one."""

from dataclasses import replace

import numpy as np
from experiments.simulation.planted_faults import relabelled

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.diagnostics.copying import agreement_test
from quorate.graph.pairs import pair_stats
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.simulate import answer, crowd, draw_workers
from quorate.skills.rank_one_score import OneCoinInference


def at_most(rate: float, n: int) -> float:
    """What n trials of this rate exceed once in a thousand times: more says that the rate is larger."""
    from scipy.stats import binom

    return float(binom.ppf(0.999, n, rate))


def at_least(rate: float, n: int) -> float:
    """What n trials of this rate fall below once in a thousand times."""
    from scipy.stats import binom

    return float(binom.ppf(0.001, n, rate))


def named_pairs(answers: Answers) -> tuple[set[tuple[int, int]], dict[tuple[int, int], int]]:
    """The pairs named, and the shared tasks of all pairs tested."""
    inference = aggregate_in_memory("rank-one", answers).inference
    assert isinstance(inference, OneCoinInference)
    test = agreement_test(inference, pair_stats(answers), answers.n_workers)
    pairs = list(zip(test.pairs.i.tolist(), test.pairs.j.tolist(), strict=True))
    return {pairs[k] for k in test.flagged}, dict(zip(pairs, test.pairs.shared.tolist(), strict=True))


def drifting(n_drift: int, rng: np.random.Generator, *, rising: bool = False) -> tuple[Answers, FloatArray]:
    """1,000 tasks, 20 workers, 10 answers per task; the skill of the first few goes from 0.9 to 0.1, or the reverse."""
    n_tasks, n_workers, per_task = 1000, 20, 10
    worker = np.sort(draw_workers(n_tasks, n_workers, per_task, rng=rng), axis=1).ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    times = rng.permutation(n_tasks)[task] / n_tasks
    skill = np.where(
        worker < n_drift,
        0.1 + 0.8 * times if rising else 0.9 - 0.8 * times,
        rng.uniform(0.1, 0.95, n_workers)[worker],
    )
    truth = rng.integers(0, 2, n_tasks)
    right = rng.random(len(task)) < (1 + skill) / 2
    blank = crowd(n_tasks, n_workers, per_task, seed=0).answers
    label = np.where(right, truth[task], 1 - truth[task])
    return replace(relabelled(blank, label), worker=worker.astype(np.int32), task=task.astype(np.int32)), times


# Of any size, for benchmarks/findings.py.


def class_dependent(t: int, w: int, r: int, m: int, gap: float, rng: np.random.Generator) -> Answers:
    """Simulate workers who give up a share of their right answers on the first class."""
    workers = draw_workers(t, w, r, rng=rng).ravel()
    tasks = np.repeat(np.arange(t), r)
    drawn = answer(tasks, workers, rng.uniform(0.4, 0.9, w), t, m, None, rng)
    a, truth = drawn.answers, drawn.truth
    slips = (truth[a.task] == 0) & (a.label == 0) & (rng.random(a.n_answers) < gap)
    return replace(a, label=np.where(slips, rng.integers(1, m, a.n_answers), a.label).astype(a.label.dtype))


def falling(
    t: int, w: int, r: int, m: int, n_drift: int, rng: np.random.Generator, *, step: bool = False
) -> tuple[Answers, FloatArray]:
    """Simulate a crowd in which the first few workers fall from skill 0.9 to 0.1, evenly or at half time."""
    workers = draw_workers(t, w, r, rng=rng).ravel()
    tasks = np.repeat(np.arange(t), r)
    order = np.lexsort([workers, tasks])
    tasks, workers = tasks[order], workers[order]
    times = rng.permutation(t)[tasks] / t
    skills = rng.uniform(0.1, 0.95, w)[workers]
    late = np.where(times > 0.5, 0.1, 0.9) if step else 0.9 - 0.8 * times
    skills = np.where(workers < n_drift, late, skills)
    # One worker per answer, so that each answer has a skill of its own; then they are put together again.
    drawn = answer(tasks, np.arange(len(tasks)), skills, t, m, None, rng)
    names = crowd(1, w, 1, n_classes=m).answers
    a = replace(drawn.answers, worker=workers.astype(np.int32), worker_names=names.worker_names)
    return a, times
