"""Errors on ten tasks of a known crowd: with earlier skills, without them, and with all earlier answers.

python benchmarks/known_workers.py [BATCHES]     # the table of docs/accuracy.md; 40 batches per row by default
"""

import sys
from collections.abc import Iterator

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.datasets import load
from quorate.io.gold import match_truth
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd

SETS = ("rte1", "temp", "dogs", "web", "bluebird")
# Numbers of tasks in a batch, and before it.
TASKS = 10
MOST_BEFORE = 600


def batches(name: str, n: int) -> Iterator[tuple[Answers, Answers, Answers, IntArray]]:
    """Yield answers before a batch, in it, in both, and the true classes of the batch (-1: unknown)."""
    for seed in range(n):
        rng = np.random.default_rng(seed)
        if name.startswith("simulated"):
            made = crowd(310, 20, 5, n_classes=int(name.split()[1]), skills=rng.uniform(0.0, 0.9, 20), seed=seed)
            answers = made.answers
            truth = made.truth
        else:
            data = load(name)
            answers = data.answers
            tasks, labels = match_truth(data.truth, answers)
            truth = np.full(answers.n_tasks, -1)
            is_matched = tasks.codes >= 0
            truth[tasks.codes[is_matched]] = labels.codes[is_matched]
        with_truth = np.flatnonzero(truth >= 0)
        batch = np.zeros(answers.n_tasks, dtype=bool)
        batch[rng.choice(with_truth, min(TASKS, len(with_truth) // 5), replace=False)] = True
        before = np.zeros(answers.n_tasks, dtype=bool)
        others = np.flatnonzero(~batch)
        before[rng.choice(others, min(MOST_BEFORE, len(others)), replace=False)] = True
        yield answers.only(before), answers.only(batch), answers.only(before | batch), truth[batch]


def row(name: str, n: int) -> list[float]:
    """Return shares of wrong labels (all answers together, known skills, batch alone, majority) and the task count."""
    wrong = np.zeros(4)
    total = 0
    for before, batch, both, truth in batches(name, n):
        tasks = batch.task_names.to_pylist()
        place = {task: k for k, task in enumerate(both.task_names.to_pylist())}
        found = (
            aggregate(both, intervals="none").vote.label[[place[task] for task in tasks]],
            aggregate(batch, skills=aggregate(before, intervals="fast").workers).vote.label,
            aggregate(batch).vote.label,
            aggregate(batch, "majority").vote.label,
        )
        wrong += [(label != truth).sum() for label in found]
        total += len(truth)
    return [*(wrong / total).tolist(), total]


def main(n: int) -> None:
    """Print the table."""
    print("| crowd | all answers together | ten tasks, skills known | ten tasks alone | majority | tasks |")
    print("|---|---|---|---|---|---|")
    for name in ("simulated 2", "simulated 4", *SETS):
        *errors, total = row(name, n)
        print(f"| {name} | " + " | ".join(f"{100 * error:.1f}" for error in errors) + f" | {total:,.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
