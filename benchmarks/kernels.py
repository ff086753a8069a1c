"""Time one pass of every kernel over a crowd like m10, in C and in numpy.

    python benchmarks/kernels.py [ANSWERS]

Prints CPU seconds for 10 million answers by 20,000 workers, 4 classes and 5 answers per task: the best of five passes.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.blocks import kernels
from quorate.blocks.block import Block
from quorate.blocks.memory import MAX_BLOCK_ANSWERS
from quorate.calibration.calibration_law import PEOPLE, calibration_law
from quorate.voting.posterior import softmax
from quorate.voting.vote import LabelRows, by_posterior

WORKERS = 20_000
PER_TASK = 5
CLASSES = 4


def passes(n_answers: int) -> dict[str, Callable[[], Any]]:
    """Return functions that run one pass of each kernel over random answers, by name."""
    rng = np.random.default_rng(0)
    n_tasks = n_answers // PER_TASK
    slot = WORKERS // PER_TASK  # different workers for each answer of a task, so that no worker answers it twice
    worker = (rng.integers(0, slot, (n_tasks, PER_TASK)) + slot * np.arange(PER_TASK)).ravel()
    start = np.arange(n_tasks + 1) * PER_TASK
    all_tasks = Block(start, worker, rng.integers(0, CLASSES, n_tasks * PER_TASK), WORKERS, CLASSES)
    pieces = list(all_tasks.pieces(MAX_BLOCK_ANSWERS))
    x = rng.random(WORKERS)
    shift = np.zeros(CLASSES)
    bias_of_workers = rng.dirichlet(np.ones(CLASSES), WORKERS)
    log_right, log_wrong = np.log(0.25 + 0.75 * x), np.log(0.25 * (1 - x))
    logs = np.log(rng.dirichlet(np.ones(CLASSES), (WORKERS, CLASSES)))
    return {
        "sweep of centred answers": lambda: kernels.centred_products(pieces, x, bias_of_workers),
        "sweep of rank-one": lambda: kernels.agreement_products(pieces, x, CLASSES),
        "step of EM": lambda: kernels.e_step(pieces, logs, shift),
        "step of one-coin EM": lambda: kernels.one_coin_e_step(pieces, log_right, log_wrong, shift),
        "sums of the intervals": lambda: kernels.power_sums(pieces, x, x, False),
        "counting responses": lambda: kernels.response_counts(pieces, WORKERS, CLASSES),
        "joining components": lambda: kernels.component_roots(pieces, WORKERS),
        "votes": lambda: [kernels.vote_sums(piece, x) for piece in pieces],
        "posterior to labels": lambda: [labels(piece, logs, shift) for piece in pieces],
    }


def labels(piece: Block, logs: FloatArray, shift: FloatArray) -> LabelRows:
    """Return the labels of a block, computed as in the default method."""
    posterior = calibration_law(PEOPLE, CLASSES).calibrated(softmax(kernels.task_scores(piece, logs, shift)))
    return LabelRows.of(by_posterior(piece, posterior), piece.per_task)


def best(run: Callable[[], Any], repeats: int) -> float:
    """Return the smallest CPU seconds of several runs."""
    times = []
    for _ in range(repeats):
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return min(times)


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    scale = 10_000_000 / n
    native = kernels.native
    print("| pass over 10 M answers, CPU s | C | numpy |\n|---|---|---|")
    for name, run in passes(n).items():
        in_c = best(run, 5) * scale if native is not None else float("nan")
        kernels.native = None
        print(f"| {name} | {in_c:.3f} | {best(run, 2) * scale:.2f} |")
        kernels.native = native
