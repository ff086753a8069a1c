"""Several labels per task, simulated: the effect of sharing skills and of a prior for each label.

python benchmarks/several_labels.py [CROWDS]     # the table of docs/accuracy.md; 10 crowds per row by default
"""

import sys
from collections.abc import Callable
from unittest.mock import patch

import numpy as np

import quorate
from quorate.arrays import BoolArray, FloatArray
from quorate.methods import multilabel

N_WORKERS = 25
PER_TASK = 5
CROWDS = {
    "8 labels alike frequent, 200 tasks": (np.full(8, 0.2), 200),
    "8 labels from 0.02 to 0.5, 200 tasks": (np.geomspace(0.02, 0.5, 8), 200),
    "8 labels from 0.02 to 0.5, 40 tasks": (np.geomspace(0.02, 0.5, 8), 40),
    "30 labels from 0.01 to 0.5, 100 tasks": (np.geomspace(0.01, 0.5, 30), 100),
}


def drawn(shares: FloatArray, n_tasks: int, seed: int) -> tuple[dict[str, list[object]], BoolArray]:
    """Return simulated answers and the true labels.

    Each worker gives a true label with one probability, and a false label with another.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random((n_tasks, len(shares))) < shares
    finds = rng.uniform(0.4, 0.95, N_WORKERS)
    invents = rng.uniform(0.01, 0.2, N_WORKERS)
    rows: dict[str, list[object]] = {"task": [], "worker": [], "label": []}
    for task in range(n_tasks):
        for worker in rng.choice(N_WORKERS, PER_TASK, replace=False):
            is_given = rng.random(len(shares)) < np.where(truth[task], finds[worker], invents[worker])
            rows["task"].append(task)
            rows["worker"].append(int(worker))
            rows["label"].append([f"l{k:02}" for k in np.flatnonzero(is_given)])
    return rows, truth


def figures(yes: FloatArray, truth: BoolArray) -> tuple[float, float]:
    """Return the share of wrong yes/no decisions, and their mean log-loss."""
    p = np.clip(np.where(truth, yes, 1 - yes), 1e-6, 1)
    return float(((yes > 0.5) != truth).mean()), float(-np.log(p).mean())


def with_worth(worth: float) -> Callable[..., FloatArray]:
    """Return a function that runs the default method with this value of `multilabel.PSEUDO_TASKS`."""

    def run(answers: quorate.Answers) -> FloatArray:
        with patch.object(multilabel, "PSEUDO_TASKS", worth):
            return _yes(quorate.aggregate(answers))

    return run


def one_by_one(answers: quorate.Answers) -> FloatArray:
    """Return the probabilities of yes with each label aggregated alone, so that no skills are shared."""
    questions = answers.questions
    assert questions is not None
    found = np.zeros(len(questions.task))
    for label in range(questions.n_labels):
        kept = questions.label == label
        found[kept] = quorate.aggregate(answers.only(kept)).vote.posterior[:, 1]
    return found


def _yes(result: quorate.Result) -> FloatArray:
    yes: FloatArray = result.vote.posterior[:, 1]
    return yes


WAYS: dict[str, Callable[..., FloatArray]] = {
    "majority": lambda answers: _yes(quorate.aggregate(answers, "majority")),
    "each label alone": one_by_one,
    "skills shared, one prior": with_worth(1e9),
    "and a prior a label": with_worth(multilabel.PSEUDO_TASKS),
    "worth 3": with_worth(3.0),
    "worth 30": with_worth(30.0),
}


def main(n: int) -> None:
    """Print the table: wrong decisions in percent, and log-loss."""
    print(f"| crowd | {' | '.join(WAYS)} |\n|{'---|' * (len(WAYS) + 1)}")
    for name, (shares, n_tasks) in CROWDS.items():
        total = np.zeros((len(WAYS), 2))
        for seed in range(n):
            rows, truth = drawn(shares, n_tasks, seed)
            answers = quorate.read(rows, classes=[f"l{k:02}" for k in range(len(shares))])
            total += [figures(way(answers).reshape(truth.shape), truth) for way in WAYS.values()]
        cells = (f"{100 * error:.2f} / {loss:.3f}" for error, loss in total / n)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
