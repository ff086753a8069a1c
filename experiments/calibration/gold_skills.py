"""Coverage of the intervals on skills on real data: the skill by true labels, and the interval without them.

``python -m experiments.calibration.gold_skills`` prints the table of docs/accuracy.md.
"""

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.datasets import load
from quorate.datasets.sources import SEVEN
from quorate.io.gold import match_truth
from quorate.methods.aggregate import aggregate

LEAST_ANSWERS = 5  # answers to tasks with a known label that a worker needs


def gold_skills(answers: Answers, truth: IntArray, *, centred: bool) -> tuple[FloatArray, IntArray]:
    """Return each worker's skill by the true labels, and the number of its answers to tasks with a true label.

    Args:
        answers: who answered what.
        truth: the class of each task, -1 where unknown.
        centred: whether skill is that of centred answers; else it is accuracy above guessing.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2, 3, 4], "worker": list("aaaa"), "label": list("xxyy")})
    >>> gold_skills(answers, np.array([0, 0, 1, 0]), centred=False)[0].tolist()
    [0.5]
    >>> gold_skills(answers, np.array([0, 0, 1, 1]), centred=True)[0].tolist()
    [1.0]
    """
    m = answers.n_classes
    has_truth = truth[answers.task] >= 0
    worker = answers.worker[has_truth]
    label = answers.label[has_truth]
    true = truth[answers.task][has_truth]
    n = np.bincount(worker, minlength=answers.n_workers)
    right = np.bincount(worker, label == true, answers.n_workers)
    share = right / np.maximum(n, 1)
    if not centred:
        skill: FloatArray = (m * share - 1) / (m - 1)
        return skill, n
    given_share, true_share = (
        np.bincount(worker.astype(np.int64) * m + code, minlength=answers.n_workers * m).reshape(-1, m)
        / np.maximum(n, 1)[:, None]
        for code in (label, true)
    )
    moved = share - (given_share * true_share).sum(axis=1)
    spread = 1 - (true_share * true_share).sum(axis=1)
    return np.divide(moved, spread, out=np.full(len(n), np.nan), where=spread > 0), n


def inside(name: str, method: str) -> tuple[float, float, int]:
    """Return the coverage, the mean overestimation, and the number of workers of a set.

    The share inside, the mean of the estimate less the skill by true labels, and the number of workers.
    """
    data = load(name)
    tasks, labels = match_truth(data.truth, data.answers)
    truth = np.full(data.answers.n_tasks, -1)
    known = (tasks.codes >= 0) & (labels.codes >= 0)
    truth[tasks.codes[known]] = labels.codes[known]
    result = aggregate(data.answers, method)
    skills, n = gold_skills(data.answers, truth, centred=method != "rank-one")
    found = result.intervals
    counted = (n >= LEAST_ANSWERS) & ~np.isnan(found.low) & ~np.isnan(skills)
    held = (found.low <= skills) & (skills <= found.high)
    return float(held[counted].mean()), float((result.skills - skills)[counted].mean()), int(counted.sum())


def main() -> None:
    """Print a row per set, as Markdown."""
    print("| set | workers | rank-one: inside | skill over gold | quorate: inside | skill over gold |")
    print("|---|---|---|---|---|---|")
    for name in SEVEN:
        (one, over_one, n), (two, over_two, _) = (inside(name, method) for method in ("rank-one", "rank-one-centred"))
        print(f"| {name} | {n} | {one:.2f} | {over_one:+.2f} | {two:.2f} | {over_two:+.2f} |")


if __name__ == "__main__":
    main()
