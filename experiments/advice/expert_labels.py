"""Error of all labels with thirty known labels, by the choice of their tasks, on the 25 public crowds of people.

    python -m experiments.advice.expert_labels [--labels 30] [--seeds 3] [--sets NAME,...]

Tasks without truth cannot be labelled by the expert, so every crowd is reduced to its tasks with a true class. The
known labels count as right; the error is the share of wrong labels among all tasks.
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

import quorate
from experiments.default_method.data import PEOPLE, Crowd, IntArray, load_public_set
from quorate.advice.gold_tasks import gold_tasks
from quorate.result import Result

Choice = Callable[[Result, int, int], IntArray]  # the result without known labels, number of tasks, seed -> tasks


def no_tasks(result: Result, n: int, seed: int) -> IntArray:
    """Choose no task."""
    return np.empty(0, dtype=np.int64)


def random_tasks(result: Result, n: int, seed: int) -> IntArray:
    """Draw tasks at random."""
    return np.random.default_rng(seed).choice(result.answers.n_tasks, n, replace=False)


def least_certain(result: Result, n: int, seed: int) -> IntArray:
    """Choose the tasks with the lowest confidence, in random order where it is equal."""
    order = np.random.default_rng(seed).permutation(result.answers.n_tasks)
    return order[np.argsort(result.vote.confidence[order], kind="stable")][:n]


def advised(result: Result, n: int, seed: int) -> IntArray:
    """Choose tasks as `quorate advise --expert` does: two thirds least certain, one third at random."""
    return gold_tasks(result, n, seed=seed).task.astype(np.int64)


CHOICES: dict[str, Choice] = {
    "none": no_tasks,
    "drawn at random": random_tasks,
    "the least certain": least_certain,
    "as `advise --expert` chooses them": advised,
}


def with_truth(crowd: Crowd) -> quorate.Answers:
    """Return the answers to the tasks that have a true class."""
    rows = crowd.truth[crowd.task] >= 0
    answers = crowd.answers
    table = {
        "task": answers.task_names.take(pa.array(crowd.task[rows])),
        "worker": answers.worker_names.take(pa.array(crowd.worker[rows])),
        "label": answers.classes.take(pa.array(crowd.label[rows])),
    }
    return quorate.read(table, classes=answers.classes.to_pylist())


def errors(name: str, n: int, seeds: int) -> dict[str, float]:
    """Return the error of one crowd for each choice of tasks, as a mean over seeds."""
    crowd = load_public_set(name)
    answers = with_truth(crowd)
    class_of_task = dict(zip(crowd.answers.task_names.to_pylist(), crowd.truth.tolist(), strict=True))
    truth = np.array([class_of_task[task] for task in answers.task_names.to_pylist()])
    n = min(n, answers.n_tasks // 2)
    result = quorate.aggregate(answers)
    found = {}
    for choice, choose in CHOICES.items():
        errors_of_seeds = []
        for seed in range(seeds if choice != "none" else 1):
            tasks = choose(result, n, seed)
            gold = {
                "task": answers.task_names.take(pa.array(tasks)),
                "label": answers.classes.take(pa.array(truth[tasks])),
            }
            label = quorate.aggregate(answers, gold=gold).vote.label if len(tasks) else result.vote.label
            errors_of_seeds.append(float((label != truth).mean()))
        found[choice] = float(np.mean(errors_of_seeds))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the errors of every crowd, and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=30, help="number of known labels, at most half of the tasks")
    parser.add_argument("--seeds", type=int, default=3, help="draws of each choice")
    parser.add_argument("--sets", help="names, separated by commas; all by default")
    options = parser.parse_args(arguments)
    names = options.sets.split(",") if options.sets else PEOPLE
    print(f"{'set':<20}" + "".join(f"{choice:>36}" for choice in CHOICES))
    rows = []
    for name in names:
        row = errors(name, options.labels, options.seeds)
        rows.append(list(row.values()))
        print(f"{name:<20}" + "".join(f"{value:>36.4f}" for value in row.values()), flush=True)
    print(f"{'mean':<20}" + "".join(f"{value:>36.4f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
