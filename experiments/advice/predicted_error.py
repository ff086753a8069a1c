"""Expected error after further answers, as `quorate advise` states it, against the error that they leave.

    python -m experiments.advice.predicted_error

Simulated crowds: the advised answers are drawn from the true skills. Public crowds: a share of the answers is hidden,
and as many again are added to those that are left, by the workers who gave them.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from experiments.calibration.public_crowds import NAMES, folder_of_more, public_crowd
from quorate.advice.advise import advise_result
from quorate.advice.expected_error import error_after
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.methods.aggregate import aggregate
from quorate.result import Result
from quorate.simulate import Crowd, collect, crowd
from quorate.voting.vote import accuracy

SIMULATED = {"300 tasks, 20 workers, 3 answers": (300, 20, 3, 2), "500, 30, 3, three classes": (500, 30, 3, 3)}
# Public crowds that are thinned.
MOST_TASKS = 2500
FEWEST_PER_TASK = 3.5
SEEDS = 5


def share_wrong(result: Result, truth: IntArray) -> float:
    """Return the share of wrong labels among the tasks whose truth is known."""
    known = truth >= 0
    return float(np.mean(result.vote.label[known] != truth[known]))


def with_answers(now: Crowd, task: IntArray, worker: IntArray, rng: np.random.Generator) -> Crowd:
    """Add answers that are drawn from the true skills."""
    answers = now.answers
    m = answers.n_classes
    is_right = rng.random(len(task)) < accuracy(now.skills[worker], m)
    label = np.where(is_right, now.truth[task], (now.truth[task] + rng.integers(1, m, len(task))) % m)
    task = np.concatenate([answers.task, task])
    worker = np.concatenate([answers.worker, worker])
    label = np.concatenate([answers.label, label])
    return collect(task, worker, label, now.truth, now.skills, m)


def simulated(n_tasks: int, n_workers: int, per_task: int, n_classes: int, seed: int) -> FloatArray:
    """Return expected and true share of wrong labels, before and after one more answer per task."""
    now: Crowd = crowd(n_tasks, n_workers, per_task, n_classes=n_classes, seed=seed)
    result = aggregate(now.answers)
    advice = advise_result(result, n_tasks)
    later = with_answers(now, advice.task, advice.worker, np.random.default_rng(seed))
    return np.array(
        [
            advice.answers_needed.expected_error,
            float(error_after(advice, advice.dependence).mean()),
            share_wrong(result, now.truth),
            share_wrong(aggregate(later.answers), later.truth),
        ]
    )


def thinned(answers: Answers, truth: IntArray, share: float, seed: int) -> FloatArray | None:
    """Return the same for a public crowd, whose hidden answers are the further ones."""
    rng = np.random.default_rng(seed)
    order = np.lexsort([rng.random(answers.n_answers), answers.task])
    rank = np.empty(answers.n_answers, np.int64)
    rank[order] = np.arange(answers.n_answers) - np.searchsorted(answers.task, answers.task)
    n_first = max(2, round(answers.n_answers / answers.n_tasks * share))
    is_first = rank < n_first
    is_later = (rank >= n_first) & (rank < 2 * n_first) & np.isin(answers.worker, answers.worker[is_first])
    before = answers.where(is_first)
    result = aggregate(before)
    if result.vote.confidence_stats().mean is None or is_later.sum() == 0:
        return None
    task = answers.task[is_later]
    worker = answers.worker[is_later]
    advice = replace(advise_result(result, 1), task=task, worker=worker, reasons=())
    return np.array(
        [
            advice.answers_needed.expected_error,
            float(error_after(advice, advice.dependence).mean()),
            share_wrong(result, truth),
            share_wrong(aggregate(answers.where(is_first | is_later)), truth),
        ]
    )


def public() -> Iterator[tuple[str, FloatArray]]:
    """Yield the means over seeds and shares of each public crowd that is large enough to be thinned."""
    more = folder_of_more()
    for name in NAMES:
        data = public_crowd(name, more)
        answers = data.answers
        if answers.n_tasks > MOST_TASKS or answers.n_answers < FEWEST_PER_TASK * answers.n_tasks:
            continue
        runs = [thinned(answers, data.truth, share, seed) for share in (0.3, 0.5) for seed in range(2)]
        found = [run for run in runs if run is not None]
        if found:
            yield name, np.mean(found, axis=0)


def main() -> None:
    """Print expected and true error before and after, per crowd and on average."""
    print("crowd: wrong labels expected now, after; true now, after")
    for name, sizes in SIMULATED.items():
        print(f"{name}: {np.mean([simulated(*sizes, seed) for seed in range(SEEDS)], axis=0).round(3).tolist()}")
    rows = []
    for name, row in public():
        rows.append(row)
        print(f"{name}: {row.round(3).tolist()}", flush=True)
    table = np.array(rows)
    expected_fall = table[:, 0] - table[:, 1]
    true_fall = table[:, 2] - table[:, 3]
    print(f"{len(rows)} public crowds: expected fall {expected_fall.mean():.3f}, true fall {true_fall.mean():.3f}")
    print(f"root mean squared difference of the falls {np.sqrt(np.mean((expected_fall - true_fall) ** 2)):.3f}")


if __name__ == "__main__":
    main()
