"""CPU seconds of `quorate.rate` for different numbers of answers: the growth should be linear.

    python benchmarks/rating.py [ANSWERS ...]     # by default 10,000 to 1,000,000, in C and in numpy

Prints answers, seconds, passes, and seconds per million answers and pass; each size is a separate process. The last
line is the exponent of the growth (1 is linear) for sizes of at least 100,000.
"""

import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
PER_TASK = 5
ANSWERS_PER_RATER = 500


def scores(n_answers: int) -> dict[str, Any]:
    """Simulate scores from 1 to 5 by raters with 500 answers each."""
    rng = np.random.default_rng(0)
    n_tasks = n_answers // PER_TASK
    n_raters = max(n_answers // ANSWERS_PER_RATER, 20)
    truth = rng.normal(size=n_tasks)
    bias = 0.4 * rng.normal(size=n_raters)
    scale = 1 + 0.3 * rng.normal(size=n_raters)
    noise = 0.7 * np.exp(0.4 * rng.normal(size=n_raters))
    task = np.repeat(np.arange(n_tasks), PER_TASK)
    first = rng.integers(0, n_raters, (n_tasks, 1))
    rater = ((first + np.array([0, 1, 3, 7, 12])) % n_raters).ravel()
    y = bias[rater] + scale[rater] * truth[task] + noise[rater] * rng.normal(size=len(task))
    return {"task": task, "worker": rater, "score": np.clip(np.round(3 + y), 1, 5)}


def run(n_answers: int) -> None:
    """Rate this number of answers in this process, and print CPU seconds and passes."""
    import quorate

    quorate.rate(scores(1000))  # imports and first calls are not timed
    read = quorate.read_scores(scores(n_answers))
    begun = time.process_time()
    found = quorate.rate(read)
    print(time.process_time() - begun, found.passes)


def main() -> None:
    """Time every size with the kernels in C and in numpy."""
    if sys.argv[1:2] == ["--run"]:
        run(int(sys.argv[2]))
        return
    sizes = [int(text.replace(",", "")) for text in sys.argv[1:]] or list(SIZES)
    for form in ("C", "numpy"):
        environment = os.environ | {"QUORATE_KERNELS": "numpy" if form == "numpy" else "", "QUORATE_THREADS": "1"}
        print(f"kernels in {form}\n{'answers':>12}{'seconds':>10}{'passes':>8}{'s per 1e6 and pass':>20}")
        timed = []
        for n in sizes:
            command = [sys.executable, __file__, "--run", str(n)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            seconds, passes = (float(word) for word in done.stdout.split())
            timed.append((n, seconds / passes))
            print(f"{n:12,}{seconds:10.2f}{passes:8.0f}{seconds / passes / n * 1e6:20.3f}", flush=True)
        large = np.array([(np.log(n), np.log(each)) for n, each in timed if n >= 100_000])
        if len(large) > 1:
            slope = np.polyfit(large[:, 0], large[:, 1], 1)[0]
            print(f"exponent of the growth per pass: {slope:.2f}")


if __name__ == "__main__":
    main()
