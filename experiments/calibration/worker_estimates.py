"""Coverage of the intervals of the worker table if workers copy, gold contradicts the crowd, or a class is rare.

``python -m experiments.calibration.worker_estimates`` prints the figures of docs/accuracy.md; a minute.
"""

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.methods.aggregate import aggregate
from quorate.result import Result
from quorate.simulate import Crowd, collect, crowd
from quorate.skills.gold_counts import count_gold

Z = 1.96  # standard errors of a 95 % interval


def everyone_answers(labels: IntArray, truth: IntArray, skills: FloatArray, n_classes: int = 2) -> Crowd:
    """Return a crowd in which all workers answer all tasks, from a table of tasks × workers.

    >>> everyone_answers(np.array([[0, 1]]), np.array([0]), np.ones(2)).answers.n_answers
    2
    """
    n_tasks, n_workers = labels.shape
    task = np.repeat(np.arange(n_tasks), n_workers)
    worker = np.tile(np.arange(n_workers), n_tasks)
    return collect(task, worker, labels.ravel(), truth, skills, n_classes)


def opposite_crowd(seed: int, n_tasks: int = 200, accuracy: float = 0.15) -> Crowd:
    """Simulate eight workers who mostly answer the opposite of the truth.

    >>> opposite_crowd(0).skills[0].round(2).item()
    -0.7
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    right = rng.random((n_tasks, 8)) < accuracy
    labels = np.where(right, truth[:, None], 1 - truth[:, None])
    return everyone_answers(labels, truth, np.full(8, 2 * accuracy - 1))


def copying_crowd(seed: int, repeated: float = 1.0, n_tasks: int = 300) -> Crowd:
    """Simulate four workers who repeat one answer that is right on 55 % of the tasks, and six others of 80 %.

    >>> copying_crowd(0).skills.round(1).tolist()
    [0.1, 0.1, 0.1, 0.1, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6]
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    accuracy = np.array([0.55] * 4 + [0.8] * 6)
    labels = np.where(rng.random((n_tasks, 10)) < accuracy, truth[:, None], 1 - truth[:, None])
    source = np.where(rng.random(n_tasks) < accuracy[0], truth, 1 - truth)
    repeats = rng.random((n_tasks, 4)) < repeated
    labels[:, :4] = np.where(repeats, source[:, None], labels[:, :4])
    return everyone_answers(labels, truth, 2 * accuracy - 1)


def some_gold(simulated: Crowd, share: float, seed: int = 0) -> dict[str, str]:
    """Return the true labels of a random share of the tasks.

    >>> len(some_gold(opposite_crowd(0), 1.0))
    200
    """
    kept = np.random.default_rng(seed).random(len(simulated.truth)) < share
    return {f"t{t}": f"c{simulated.truth[t]}" for t in np.flatnonzero(kept)}


def is_covered(result: Result, skills: FloatArray) -> FloatArray:
    """Return 1 for each worker whose interval contains its skill, else 0.

    >>> simulated = opposite_crowd(0)
    >>> is_covered(aggregate(simulated.answers, gold=some_gold(simulated, 1.0)), simulated.skills).sum() > 5
    np.True_
    """
    return ((result.intervals.low <= skills) & (skills <= result.intervals.high)).astype(np.float64)


def counts_covered(prior: tuple[float, ...], skills: tuple[float, float], n: int, trials: int = 20) -> float:
    """Return the coverage of centred skills by counts alone, of 200 workers with n known answers each.

    >>> counts_covered((0.5, 0.5), (0.0, 1.0), 10, trials=1) > 0.9
    True
    """
    held: list[float] = []
    m = len(prior)
    for trial in range(trials):
        rng = np.random.default_rng([trial, 1])
        drawn = rng.uniform(*skills, 200)
        truth = rng.choice(m, 200 * n, p=prior)
        worker = np.repeat(np.arange(200), n)
        right = rng.random(200 * n) < ((m - 1) * drawn[worker] + 1) / m
        label = np.where(right, truth, (truth + rng.integers(1, m, 200 * n)) % m)
        answers = collect(np.arange(200 * n), worker, label, truth, drawn, m).answers
        counts = count_gold(answers, truth, skills=drawn, centred=True)
        assert counts is not None
        low, high = counts.interval(Z, -1 / (m - 1))
        held += ((low <= drawn) & (drawn <= high))[counts.weight > 0].tolist()
    return float(np.mean(held))


def main() -> None:
    """Print the coverage of 95 % intervals, one line per setting."""
    for repeated in (1.0, 0.85):
        crowds = [copying_crowd(seed, repeated) for seed in range(50)]
        held = np.array([is_covered(aggregate(each.answers), each.skills) for each in crowds])
        all_four = int(held[:, :4].all(axis=1).sum())
        copies = f"{held[:, :4].mean():.3f} of the copies (all four in {all_four} of 50 crowds)"
        print(f"{repeated:.0%} repeated: {copies}, {held[:, 4:].mean():.3f} of the others")
    for method in ("quorate", "rank-one"):
        for share in (0.05, 0.1, 0.3, 0.6, 0.9, 1.0):
            held_of: list[float] = []
            means: list[float] = []
            for seed in range(12):
                simulated = opposite_crowd(seed)
                result = aggregate(simulated.answers, method, gold=some_gold(simulated, share))
                held_of += is_covered(result, simulated.skills).tolist()
                means.append(float(result.skills.mean()))
            print(f"opposite, {method}, {share:.0%} known: {np.mean(held_of):.3f}, mean skill {np.mean(means):.2f}")
    for n_tasks, n_workers, per_task in ((300, 10, 5), (300, 6, 6), (200, 12, 3), (2000, 40, 5)):
        for rare in (0.5, 0.1, 0.03):
            held_of = []
            for seed in range(30):
                rng = np.random.default_rng([0, seed])
                skills = rng.uniform(0.4, 0.9, n_workers)
                shares = np.array([1 - rare, rare])
                simulated = crowd(n_tasks, n_workers, per_task, skills=skills, prior=shares, seed=rng)
                held_of += is_covered(aggregate(simulated.answers, "rank-one-centred"), skills).tolist()
            print(f"{rare:.0%} of the rarer class, {n_tasks:,} tasks, {n_workers} workers: {np.mean(held_of):.3f}")
    designs: tuple[tuple[tuple[float, ...], tuple[float, float], int], ...] = (
        ((0.5, 0.5), (0.95, 1.0), 8),
        ((0.5, 0.5), (0.0, 1.0), 10),
        ((0.5, 0.5), (-0.8, -0.2), 30),
        ((0.9, 0.1), (0.0, 1.0), 10),
        ((0.97, 0.03), (0.4, 0.9), 200),
        ((0.5, 0.3, 0.2), (0.0, 1.0), 10),
        ((0.7, 0.1, 0.1, 0.1), (0.0, 1.0), 30),
        ((0.1,) * 10, (0.0, 1.0), 15),
    )
    for prior, skills_range, n in designs:
        print(f"{n} known answers, prior {prior}, skills {skills_range}: {counts_covered(prior, skills_range, n):.3f}")


if __name__ == "__main__":
    main()
