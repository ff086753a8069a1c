"""Findings of `quorate diagnose` in a million answers, by the size of the sample that the tests use.

    python -m experiments.diagnostics.sample_sizes [--repetitions 5]

Ten workers answer each task. In the crowds with faults, five workers copy another one's answer on 60% of the tasks
that both answered, 5% of the tasks are answered at random, and tasks of the last class are harder. The crowds without
faults count what is named wrongly. The sizes of samples in `quorate.blocks.sampling` and in
`quorate.diagnostics.class_dependence` rest on the table that this prints.
"""

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, IntArray
from quorate.blocks import sampling
from quorate.diagnostics import class_dependence
from quorate.diagnostics.diagnose import Diagnosis, diagnose
from quorate.simulate import Crowd, crowd

N_TASKS = 100_000
PER_TASK = 10
N_CLASSES = 4
N_COPIERS = 5
COPIED_SHARE = 0.6  # of the tasks that a copier shares with its source
RANDOM_SHARE = 0.05  # of the tasks
HARDER_SHARE = 0.2  # of the right answers to tasks of the last class that become wrong
SIZES = (250_000, 100_000, 50_000, 25_000)  # answers of the sample


@dataclass(frozen=True)
class Faults:
    """A crowd with faults, and which workers and tasks have them."""

    answers: Answers
    is_random: BoolArray  # tasks that are answered at random


def with_faults(simulated: Crowd, rng: np.random.Generator) -> Faults:
    """Return a crowd in which workers 1, 3, 5, … copy 0, 2, 4, …, some tasks are random, and the last class is harder.

    >>> faults = with_faults(crowd(400, 12, 4, n_classes=3, seed=0), np.random.default_rng(0))
    >>> faults.answers.n_answers, bool(abs(faults.is_random.mean() - RANDOM_SHARE) < 0.03)
    (1600, True)
    """
    answers = simulated.answers
    label = answers.label.astype(np.int64)
    is_hard = (simulated.truth == answers.n_classes - 1)[answers.task]
    is_changed = is_hard & (rng.random(len(label)) < HARDER_SHARE)
    label[is_changed] = rng.integers(answers.n_classes - 1, size=int(is_changed.sum()))
    is_random = rng.random(answers.n_tasks) < RANDOM_SHARE
    of_random_task = is_random[answers.task]
    label[of_random_task] = rng.integers(answers.n_classes, size=int(of_random_task.sum()))
    for source in range(0, 2 * N_COPIERS, 2):
        label_of_source = np.full(answers.n_tasks, -1)
        is_source = answers.worker == source
        label_of_source[answers.task[is_source]] = label[is_source]
        copied = label_of_source[answers.task]
        is_copied = (answers.worker == source + 1) & (copied >= 0) & (rng.random(len(label)) < COPIED_SHARE)
        label[is_copied] = copied[is_copied]
    return Faults(replace(answers, label=label.astype(answers.label.dtype)), is_random)


def print_row(*cells: str) -> None:
    """Print one row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def copying_pairs(diagnosis: Diagnosis) -> set[tuple[int, ...]]:
    """Return the pairs that are named as agreeing or copying."""
    named = (*diagnosis.of_kind("agreeing-pair"), *diagnosis.of_kind("copying-group"))
    return {tuple(sorted(finding.workers)) for finding in named}


def hard_tasks(diagnosis: Diagnosis) -> IntArray:
    """Return the tasks that are named as hard."""
    return np.array([finding.tasks[0] for finding in diagnosis.of_kind("hard-task")], dtype=np.int64)


def measure(n_workers: int, size: int, repetitions: int) -> None:
    """Print one row of the table."""
    sampling.MAX_PAIR_TEST_ANSWERS = size
    sampling.MAX_TESTED_ANSWERS = size
    class_dependence.MAX_CLASS_TEST_ANSWERS = size
    planted = {(source, source + 1) for source in range(0, 2 * N_COPIERS, 2)}
    pairs_found = []
    pairs_wrong = []
    tasks_named = []
    tasks_right = []
    classes_found = []
    classes_wrong = []
    seconds = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        simulated = crowd(
            N_TASKS, n_workers, PER_TASK, n_classes=N_CLASSES, skills=rng.uniform(0.3, 0.9, n_workers), seed=seed
        )
        faults = with_faults(simulated, rng)
        start = time.process_time()
        diagnosis = diagnose(faults.answers)
        seconds.append(time.process_time() - start)
        pairs = copying_pairs(diagnosis)
        pairs_found.append(len(pairs & planted) / N_COPIERS)
        hard = hard_tasks(diagnosis)
        tasks_named.append(len(hard))
        tasks_right.append(faults.is_random[hard].sum())
        classes_found.append(len(diagnosis.of_kind("class-dependent-accuracy")))
        clean = diagnose(simulated.answers)
        pairs_wrong.append(len(copying_pairs(clean)))
        classes_wrong.append(len(clean.of_kind("class-dependent-accuracy")))
    print_row(
        f"{n_workers:,}",
        f"{size:,}",
        f"{np.mean(pairs_found):.0%}",
        f"{np.mean(pairs_wrong):.1f}",
        f"{np.mean(classes_found):.0%}",
        f"{np.mean(classes_wrong):.0%}",
        f"{np.mean(tasks_named):,.0f}",
        f"{np.sum(tasks_right) / max(np.sum(tasks_named), 1):.0%}",
        f"{min(seconds):.2f}",
    )


def main() -> None:
    """Print a row per number of workers and size of the sample, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    print_row(
        "workers",
        "answers of the sample",
        "copying pairs found",
        "pairs named without faults",
        "class dependence found",
        "named without faults",
        "hard tasks named",
        "of these, answered at random",
        "CPU s",
    )
    print_row(*["---"] * 9)
    for n_workers in (100, 200, 1_000):
        for size in SIZES:
            measure(n_workers, size, repetitions)


if __name__ == "__main__":
    main()
