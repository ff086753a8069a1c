"""Simulated crowds of many kinds, to compare the default method with majority vote.

``python -m experiments.calibration.regimes [SEEDS]`` prints the table of docs/methods.md.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.evaluation.metrics import expected_error
from quorate.methods.aggregate import aggregate
from quorate.simulate import Crowd, collect, crowd, draw_workers, zipf_activity

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "majority": ("majority", {}),
    "quorate": ("quorate", {}),
    "cautious": ("quorate", {"cautious": True}),
    "rank-one": ("rank-one", {}),
    "one-coin": ("one-coin", {}),
    "dawid-skene": ("dawid-skene", {}),
}


def one_coin(rng: np.random.Generator, per_task: int = 5, n_classes: int = 2) -> Crowd:
    """Simulate a crowd with uniform skills from guessing to perfect.

    >>> one_coin(np.random.default_rng(0)).answers.n_workers
    50
    """
    return crowd(1000, max(50, per_task), per_task, n_classes=n_classes, skills=rng.random(max(50, per_task)), seed=rng)


def skewed(rng: np.random.Generator, n_classes: int = 2) -> Crowd:
    """Simulate a crowd in which 90 % of the tasks are of one class.

    >>> skewed(np.random.default_rng(0)).answers.n_classes
    2
    """
    prior = np.full(n_classes, 0.1 / (n_classes - 1))
    prior[0] = 0.9
    return crowd(1000, 50, 5, n_classes=n_classes, prior=prior, seed=rng)


def spammers(rng: np.random.Generator) -> Crowd:
    """Simulate a crowd in which 70 % of the workers guess.

    >>> float((spammers(np.random.default_rng(0)).skills == 0).mean())
    0.7
    """
    return crowd(1000, 50, 7, skills=np.where(np.arange(50) < 35, 0.0, rng.uniform(0.5, 0.95, 50)), seed=rng)


def adversaries(rng: np.random.Generator) -> Crowd:
    """Simulate a crowd in which a third of the workers are wrong more often than right.

    >>> float((adversaries(np.random.default_rng(0)).skills < 0).mean().round(2))
    0.34
    """
    sign = np.where(np.arange(50) < 17, -1, 1)
    return crowd(1000, 50, 7, skills=sign * rng.uniform(0.3, 0.9, 50), seed=rng)


def class_biased(rng: np.random.Generator, n_classes: int = 2) -> Crowd:
    """Simulate workers who have a different accuracy for each class, and a favourite wrong answer.

    >>> class_biased(np.random.default_rng(0)).answers.n_answers
    5000
    """
    n_tasks = 1000
    n_workers = 50
    per_task = 5
    truth = rng.integers(0, n_classes, n_tasks)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = draw_workers(n_tasks, n_workers, per_task, rng=rng).ravel()
    hard = rng.uniform(-0.15, 0.15, n_classes)
    right = np.clip(
        rng.uniform(0.45, 0.95, (n_workers, 1)) + hard + rng.normal(0, 0.15, (n_workers, n_classes)), 0.05, 0.98
    )
    theta = right[:, :, None] * np.eye(n_classes)
    for w in range(n_workers):
        for g in range(n_classes):
            wrong = rng.dirichlet(np.full(n_classes - 1, 0.7)) * (1 - right[w, g])
            theta[w, g, np.arange(n_classes) != g] = wrong
    chance = theta[worker, truth[task]].cumsum(axis=1)
    label = (rng.random(len(task))[:, None] > chance).sum(axis=1).clip(0, n_classes - 1)
    mean = (n_classes * right.mean(axis=1) - 1) / (n_classes - 1)
    return collect(task, worker, label, truth, mean, n_classes)


def heavy_tailed(rng: np.random.Generator, n_tasks: int = 10_000) -> Crowd:
    """Simulate a crowd in which most workers give fewer than three answers.

    >>> answers = heavy_tailed(np.random.default_rng(0)).answers
    >>> bool((answers.per_worker < 3).mean() > 0.5)
    True
    """
    n_workers = int(0.28 * n_tasks)
    activity = zipf_activity(n_workers, 1.5)
    return crowd(n_tasks, n_workers, 5, skills=rng.beta(2, 1.3, n_workers), activity=activity, seed=rng)


def copied(rng: np.random.Generator, share: float = 0.3) -> Crowd:
    """Simulate a group of poor workers who copy 90 % of their answers from one of them.

    >>> copied(np.random.default_rng(0)).answers.n_workers
    50
    """
    n_tasks = 1000
    n_workers = 50
    per_task = 7
    skills = rng.uniform(0.3, 0.9, n_workers)
    group = np.arange(n_workers) < share * n_workers
    skills[group] = 0.2
    honest = crowd(n_tasks, n_workers, per_task, skills=skills, seed=rng)
    a = honest.answers
    leader = np.where(rng.random(n_tasks) < 0.6, honest.truth, 1 - honest.truth)
    label = np.where(group[a.worker] & (rng.random(a.n_answers) < 0.9), leader[a.task], a.label)
    return collect(a.task, a.worker, label, honest.truth, skills, 2)


def shared_bias(rng: np.random.Generator, share: float = 0.3) -> Crowd:
    """Simulate a group that tends to the same wrong answer on a quarter of the tasks, each worker independently.

    >>> shared_bias(np.random.default_rng(0)).answers.n_workers
    50
    """
    n_tasks = 1000
    n_workers = 50
    per_task = 7
    group = np.arange(n_workers) < share * n_workers
    skills = np.where(group, 0.6, rng.uniform(0.2, 0.8, n_workers))
    honest = crowd(n_tasks, n_workers, per_task, skills=skills, seed=rng)
    a = honest.answers
    misleading = rng.random(n_tasks) < 0.25
    fooled = group[a.worker] & misleading[a.task] & (rng.random(a.n_answers) < 0.9)
    label = np.where(fooled, 1 - honest.truth[a.task], a.label)
    return collect(a.task, a.worker, label, honest.truth, skills, 2)


@dataclass(frozen=True)
class Regime:
    """A kind of crowd, and whether the method may be worse there (then it should warn)."""

    name: str
    draw: Callable[[np.random.Generator], Crowd]
    excepted: bool = False


REGIMES = (
    *(Regime(f"one-coin, {r} answers a task", partial(one_coin, per_task=r)) for r in (2, 3, 5, 10, 40)),
    *(Regime(f"one-coin, {m} classes", partial(one_coin, n_classes=m)) for m in (3, 5, 10)),
    *(Regime(f"skewed prior, {m} classes", partial(skewed, n_classes=m)) for m in (2, 4)),
    *(Regime(f"class-biased, {m} classes", partial(class_biased, n_classes=m)) for m in (2, 4, 10)),
    Regime("many spammers", spammers),
    Regime("a third adversaries", adversaries),
    Regime("heavy-tailed activity", heavy_tailed),
    *(Regime(f"copied by {share:.0%}", partial(copied, share=share), excepted=True) for share in (0.2, 0.3, 0.4)),
    *(Regime(f"bias shared by {share:.0%}", partial(shared_bias, share=share), excepted=True) for share in (0.2, 0.4)),
)


def measure(regime: Regime, seeds: Sequence[int]) -> tuple[dict[str, float], float]:
    """Return the mean error of each method in a regime, and the mean trust.

    >>> errors, trusted = measure(REGIMES[2], seeds=[0])
    >>> errors["quorate"] < errors["majority"], trusted
    (True, 1.0)
    """
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    trusts: list[float] = []
    for seed in seeds:
        simulated = regime.draw(np.random.default_rng([seed, len(regime.name)]))
        for name, (method, options) in METHODS.items():
            result = aggregate(simulated.answers, method, **options)
            errors[name].append(expected_error(result, simulated.truth_table).error)
            if name == "quorate" and result.one_factor_weight is not None:
                trusts.append(result.one_factor_weight)
    return {name: float(np.mean(values)) for name, values in errors.items()}, float(np.mean(trusts))


def main(seeds: Sequence[int]) -> None:
    """Print errors in percent, one row per regime, as Markdown."""
    print(f"| regime | {' | '.join(METHODS)} | trust |")
    print(f"|---|{'---|' * (len(METHODS) + 1)}")
    rows: list[FloatArray] = []
    for regime in REGIMES:
        errors, trusted = measure(regime, seeds)
        values = np.array(list(errors.values()))
        rows.append(values)
        print(f"| {regime.name} | {' | '.join(f'{100 * value:.1f}' for value in values)} | {trusted:.2f} |", flush=True)
    fair = [row for row, regime in zip(rows, REGIMES, strict=True) if not regime.excepted]
    print(f"| mean, without copying | {' | '.join(f'{100 * value:.1f}' for value in np.mean(fair, axis=0))} | |")


if __name__ == "__main__":
    main(range(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
