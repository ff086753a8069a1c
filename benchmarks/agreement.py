"""Time coefficients of agreement on ten million answers, and print them with errors, for docs/agreement.md.

python benchmarks/agreement.py            # ten million simulated answers: seconds
python benchmarks/agreement.py real       # the public sets: coefficients, and the share of wrong labels
python benchmarks/agreement.py coverage   # how often intervals contain the coefficient of the population: five minutes
"""

import sys
import time
from collections import defaultdict
from itertools import product

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.datasets import load
from quorate.datasets.sources import SOURCES
from quorate.evaluation.metrics import expected_error
from quorate.interrater.agreement import agreement
from quorate.interrater.coefficients import AC1, AC2, ALPHA, KAPPA, PERCENT
from quorate.methods.aggregate import aggregate

SHAPES = (
    (2, 2_000_000, 5),
    (10, 2_000_000, 5),
    (1_000, 2_000_000, 5),
    (10, 100_000, 100),
)  # classes, tasks, answers each
N_WORKERS = 10_000


def drawn(n_classes: int, n_tasks: int, per_task: int) -> Answers:
    """Return random answers that are the true class with probability 0.7, and uniform otherwise."""
    rng = np.random.default_rng(0)
    n = n_tasks * per_task
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), per_task)
    truth = rng.integers(0, n_classes, n_tasks)
    label = np.where(rng.random(n) < 0.7, truth[task], rng.integers(0, n_classes, n)).astype(np.int32)
    worker = rng.integers(0, N_WORKERS, n).astype(np.int32)
    return Answers(task, worker, label, *(pa.array(np.arange(k)) for k in (n_tasks, N_WORKERS, n_classes)))


def speed() -> None:
    """Print the wall and CPU seconds of each shape and scale."""
    print(f"{'classes':>8} {'tasks':>10} {'answers':>11} {'scale':>8} {'seconds':>8} {'cpu':>6}")
    for n_classes, n_tasks, per_task in SHAPES:
        answers = drawn(n_classes, n_tasks, per_task)
        for scale in ("nominal", "ordinal"):
            wall = time.perf_counter()
            cpu = time.process_time()
            agreement(answers, scale=scale)
            wall = time.perf_counter() - wall
            cpu = time.process_time() - cpu
            print(
                f"{n_classes:>8,} {n_tasks:>10,} {answers.n_answers:>11,} {scale:>8} {wall:>8.1f} {cpu:>6.1f}",
                flush=True,
            )


def real() -> None:
    """Print coefficients of the public sets with the share of wrong labels."""
    print("| set | percent agreement | alpha | AC1 | wrong labels |\n|---|---|---|---|---|")
    for name in SOURCES:
        data = load(name)
        found = agreement(data.answers, draws=1).overall
        cells = " | ".join(f"{found[each].value:.2f}" for each in (PERCENT, ALPHA, AC1))
        wrong = expected_error(aggregate(data.answers, intervals="none"), data.truth).error
        print(f"| {name} | {cells} | {wrong:.3f} |", flush=True)


def sampled(n_tasks: int, n_workers: int, accuracy: float, prior: FloatArray, seed: list[int]) -> Answers:
    """Simulate workers of one accuracy who all answer all tasks; all wrong classes are equally probable."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(prior), n_tasks, p=prior)[:, None]
    is_right = rng.random((n_tasks, n_workers)) < accuracy
    wrong = (truth + rng.integers(1, len(prior), is_right.shape)) % len(prior)
    names = (pa.array(np.arange(k)) for k in (n_tasks, n_workers, len(prior)))
    return Answers(
        np.repeat(np.arange(n_tasks, dtype=np.int32), n_workers),
        np.tile(np.arange(n_workers, dtype=np.int32), n_tasks),
        np.where(is_right, truth, wrong).ravel().astype(np.int32),
        *names,
    )


def coverage(n_crowds: int = 200) -> None:
    """Print the coverage of 95 % intervals: the lowest over 2, 3 and 5 workers, 2 and 4 classes, and both scales.

    The true value is the coefficient of 400,000 tasks. Samples in which a coefficient is not defined are left out.
    """
    print("| tasks | accuracy | largest class | alpha | kappa | AC1 | AC2 | percent agreement | alpha: mean width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for largest, accuracy, n_tasks in product((0.5, 0.9, 0.97), (0.9, 0.99), (10, 30, 100)):
        lowest: dict[str, float] = defaultdict(lambda: 1.0)
        widths: list[float] = []
        for n_classes, n_workers in product((2, 4), (2, 3, 5)):
            prior = np.full(n_classes, (1 - largest) / (n_classes - 1))
            prior[0] = largest
            if largest == 0.5:
                prior[:] = 1 / n_classes
            for scale in ("nominal", "ordinal"):
                true = agreement(sampled(400_000, n_workers, accuracy, prior, [0]), scale=scale, draws=1).overall
                hits = defaultdict(list)
                for seed in range(1, n_crowds + 1):
                    answers = sampled(n_tasks, n_workers, accuracy, prior, [seed, n_tasks, n_workers])
                    for name, each in agreement(answers, scale=scale, draws=400, seed=seed).overall.items():
                        truth = true[name].value
                        if truth is not None and each.low is not None and each.high is not None:
                            hits[name].append(each.low - 1e-9 <= truth <= each.high + 1e-9)
                            if name == ALPHA:
                                widths.append(each.high - each.low)
                for name, held in hits.items():
                    lowest[name] = min(lowest[name], float(np.mean(held)))
        figures = " | ".join(f"{lowest[name]:.3f}" for name in (ALPHA, KAPPA, AC1, AC2, PERCENT))
        print(f"| {n_tasks} | {accuracy} | {largest} | {figures} | {np.mean(widths):.2f} |", flush=True)


PARTS = {"real": real, "coverage": coverage}

if __name__ == "__main__":
    PARTS.get(sys.argv[-1], speed)()
