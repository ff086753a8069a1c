"""The post-processing of the theorem for different orders of the workers: its breadth-first tree starts at the first.

Run `python -m experiments.paper.sign_roots`; it takes half a minute.
"""

from dataclasses import replace
from typing import Any

import numpy as np

import quorate
from quorate.answers import Answers
from quorate.arrays import IntArray

SETS = ("rte1", "temp")
N_ORDERS = 12
POST_PROCESSING: dict[str, Any] = {"solver": "gradient", "signs": "breadth-first", "max_iterations": 2000}


def reordered(answers: Answers, new_code: IntArray) -> Answers:
    """Return the answers with worker w coded ``new_code[w]``."""
    worker = new_code[answers.worker].astype(answers.worker.dtype)
    order = np.lexsort([worker, answers.task])
    names = answers.worker_names.take(np.argsort(new_code).tolist())
    return replace(
        answers,
        task=answers.task[order],
        worker=worker[order],
        label=answers.label[order],
        worker_names=names,
    )


def main() -> None:
    """Print the error of each order; the first is that of the data."""
    for name in SETS:
        data = quorate.datasets.load(name)
        n = data.answers.n_workers
        codes = [np.arange(n), *(np.random.default_rng(seed).permutation(n) for seed in range(1, N_ORDERS))]
        results = [quorate.aggregate(reordered(data.answers, code), "rank-one", **POST_PROCESSING) for code in codes]
        errors = sorted(result.score(data.truth).error for result in results[1:])
        first = results[0].score(data.truth).error
        print(f"{name}: {first:.4f} as loaded; {errors[0]:.4f} to {errors[-1]:.4f} over {N_ORDERS - 1} other orders")


if __name__ == "__main__":
    main()
