"""Time of intervals on skills for a million answers, fast and with 60 draws. Prints CPU seconds, one thread.

``python benchmarks/intervals.py [TASKS WORKERS PER_TASK CLASSES]``
"""

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import resource

from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd


def main(tasks: int = 200_000, workers: int = 2_000, per_task: int = 5, classes: int = 4) -> None:
    """Simulate a crowd, estimate its skills by both methods, and time their intervals."""
    answers = crowd(tasks, workers, per_task, n_classes=classes, seed=0).answers
    print(f"{answers.n_answers:,} answers, {workers:,} workers, {classes} classes: CPU seconds")
    for method in ("rank-one", "rank-one-centred"):
        for kind in ("fast", "full"):
            start = time.process_time()
            result = aggregate(answers, method, intervals=kind)
            estimated = time.process_time()
            width = result.intervals.width.mean()
            seconds = time.process_time() - estimated
            print(f"{method:17} estimate {estimated - start:6.2f}  {kind} intervals {seconds:6.2f}  width {width:.4f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
