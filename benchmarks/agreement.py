"""Time coefficients of agreement on ten million answers, and show them beside errors, as docs/agreement.md does.

python benchmarks/agreement.py            # ten million simulated answers: seconds
python benchmarks/agreement.py real       # the public sets: coefficients, and how many labels are wrong
"""

import sys
import time

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.evaluation.datasets import load
from quorate.evaluation.public_sets import SOURCES
from quorate.evaluation.score import expected_error
from quorate.meetings.agreements import agreement
from quorate.meetings.coefficients import AC1, ALPHA, PERCENT
from quorate.methods.registry import aggregate

SHAPES = (
    (2, 2_000_000, 5),
    (10, 2_000_000, 5),
    (1_000, 2_000_000, 5),
    (10, 100_000, 100),
)  # classes, tasks, answers each
N_WORKERS = 10_000


def drawn(n_classes: int, n_tasks: int, per_task: int) -> Answers:
    """Draw answers that are right seven times in ten."""
    rng, n = np.random.default_rng(0), n_tasks * per_task
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), per_task)
    truth = rng.integers(0, n_classes, n_tasks)
    label = np.where(rng.random(n) < 0.7, truth[task], rng.integers(0, n_classes, n)).astype(np.int32)
    worker = rng.integers(0, N_WORKERS, n).astype(np.int32)
    return Answers(task, worker, label, *(pa.array(np.arange(k)) for k in (n_tasks, N_WORKERS, n_classes)))


def speed() -> None:
    """Print the seconds that each shape and scale takes, of the clock and of the processor."""
    print(f"{'classes':>8} {'tasks':>10} {'answers':>11} {'scale':>8} {'seconds':>8} {'cpu':>6}")
    for n_classes, n_tasks, per_task in SHAPES:
        answers = drawn(n_classes, n_tasks, per_task)
        for scale in ("nominal", "ordinal"):
            wall, cpu = time.perf_counter(), time.process_time()
            agreement(answers, scale=scale)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(
                f"{n_classes:>8,} {n_tasks:>10,} {answers.n_answers:>11,} {scale:>8} {wall:>8.1f} {cpu:>6.1f}",
                flush=True,
            )


def real() -> None:
    """Print coefficients of the public sets beside the share of wrong labels."""
    print("| set | percent agreement | alpha | AC1 | wrong labels |\n|---|---|---|---|---|")
    for name in SOURCES:
        data = load(name)
        found = agreement(data.answers, draws=1).overall
        told = " | ".join(f"{found[each].value:.2f}" for each in (PERCENT, ALPHA, AC1))
        wrong = expected_error(aggregate(data.answers, intervals="none"), data.truth).error
        print(f"| {name} | {told} | {wrong:.3f} |", flush=True)


if __name__ == "__main__":
    (real if "real" in sys.argv else speed)()
