"""Time the passes over answers in memory with one thread and with two: ten sweeps and ten steps of EM.

    python benchmarks/threads.py [ANSWERS]

Prints wall seconds, the smallest of five, and their ratio: at most 0.65 if two processors are free.
"""

import json
import os
import subprocess
import sys

GOAL = 0.65
ONE = """
import json, sys, time
import quorate
tasks = int(sys.argv[1]) // 5
answers = quorate.simulate.crowd(tasks, max(tasks // 100, 10), 5, n_classes=4, seed=0).answers
from quorate.blocks.kernels import centred_products, e_step
from quorate.blocks.memory import blocks_of
import numpy as np
blocks = blocks_of(answers)
n, m = answers.n_workers, 4
x, f, logs = np.full(n, 0.5), np.full((n, m), 1 / m), np.log(np.full((n, m, m), 1 / m))
def passes():
    for _ in range(10):
        blocks.sum(centred_products, x, f)
        blocks.sum(e_step, logs, np.zeros(m))
times = []
for _ in range(5):
    started = time.perf_counter()
    passes()
    times.append(time.perf_counter() - started)
print(json.dumps(min(times)))
"""


def wall(threads: int, answers: str) -> float:
    """Return the wall seconds of ten sweeps and ten steps of EM."""
    environment = {**os.environ, "QUORATE_THREADS": str(threads)}
    found = subprocess.run([sys.executable, "-c", ONE, answers], env=environment, capture_output=True, check=True)
    return float(json.loads(found.stdout))


if __name__ == "__main__":
    answers = sys.argv[1] if len(sys.argv) > 1 else "5000000"
    one = wall(1, answers)
    two = wall(2, answers)
    print("| threads | wall s |\n|---|---|")
    print(f"| 1 | {one:.2f} |\n| 2 | {two:.2f} |\n| ratio, at most {GOAL} | {two / one:.2f} |")
