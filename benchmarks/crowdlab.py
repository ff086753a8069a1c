"""Compare a model as one more worker with cleanlab's CROWDLAB, on the same answers and the same probabilities.

python benchmarks/crowdlab.py PYTHON [CROWDS]    # PYTHON has cleanlab; the tables of docs/accuracy.md

Two kinds of data. Simulated: each class is a normal distribution of points; a softmax regression is fitted to the
majority labels of four fifths of the tasks and predicts the other fifth (cross-validation). Real: answers of public
sets; as their features are not available, the model is simulated from the true class with noise in the log-odds.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.datasets import load
from quorate.io.gold import match_truth
from quorate.voting.posterior import softmax

FOLDS = 5
SIMULATED = {
    "2 classes, good model": (2, 1.8, (0.1, 0.8)),
    "2 classes, poor model": (2, 0.6, (0.1, 0.8)),
    "5 classes, good model": (5, 2.0, (0.1, 0.8)),
    "5 classes, poor crowd": (5, 2.0, (0.0, 0.4)),
}
REAL = ("rte1", "temp", "dogs", "web")
NOISE = 1.5  # standard deviation of the log-odds, whose mean is 2 for the true class: with two classes about 80 % right


def regression(x: FloatArray, label: IntArray, n_classes: int, steps: int = 300) -> FloatArray:
    """Return the weights of a softmax regression, fitted by gradient descent."""
    inputs = np.column_stack([x, np.ones(len(x))])
    wanted = np.eye(n_classes)[label]
    weights = np.zeros((inputs.shape[1], n_classes))
    for _ in range(steps):
        weights -= 0.5 * (inputs.T @ (softmax(inputs @ weights) - wanted) / len(x) + 1e-3 * weights)
    return weights


def out_of_sample(x: FloatArray, label: IntArray, n_classes: int, seed: int) -> FloatArray:
    """Return the probabilities of every task by a regression that was fitted without it."""
    fold = np.random.default_rng(seed).permutation(len(x)) % FOLDS
    p = np.zeros((len(x), n_classes))
    for k in range(FOLDS):
        weights = regression(x[fold != k], label[fold != k], n_classes)
        p[fold == k] = softmax(np.column_stack([x, np.ones(len(x))])[fold == k] @ weights)
    return p


def simulated(name: str, seed: int) -> tuple[Answers, IntArray, FloatArray]:
    """Return a simulated crowd, its true classes and a model's probabilities."""
    m, apart, skills = SIMULATED[name]
    rng = np.random.default_rng(seed)
    crowd = quorate.simulate.crowd(500, 25, 3, n_classes=m, skills=rng.uniform(*skills, 25), seed=seed)
    x = rng.normal(size=(500, m)) + apart * np.eye(m)[crowd.truth]
    vote = quorate.aggregate(crowd.answers, "majority").vote.label
    return crowd.answers, crowd.truth, out_of_sample(x, vote, m, seed)


def real(name: str, seed: int) -> tuple[Answers, IntArray, FloatArray]:
    """Return a public set, its true classes and a simulated model's probabilities; only tasks with a true label."""
    data = load(name)
    tasks, labels = match_truth(data.truth, data.answers)
    truth = np.full(data.answers.n_tasks, -1)
    is_matched = (tasks.codes >= 0) & (labels.codes >= 0)
    truth[tasks.codes[is_matched]] = labels.codes[is_matched]
    known = truth >= 0
    answers = data.answers.only(known)
    truth = truth[known]
    m = answers.n_classes
    odds = 2 * np.eye(m)[truth] + np.random.default_rng(seed).normal(0, NOISE, (len(truth), m))
    return answers, truth, softmax(odds)


def crowdlab(python: str, answers: Answers, p: FloatArray) -> IntArray:
    """Return the labels of cleanlab's CROWDLAB."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("answers.csv", "p.csv", "labels.csv")]
        csv.write_csv(pa.table({"task": answers.task, "worker": answers.worker, "label": answers.label}), paths[0])
        columns = {"task": np.arange(len(p)), **{str(k): p[:, k] for k in range(p.shape[1])}}
        csv.write_csv(pa.table(columns), paths[1])
        subprocess.run([python, str(Path(__file__).with_name("contender_cleanlab.py")), *paths], check=True)
        labels: IntArray = csv.read_csv(paths[2]).column("label").to_numpy()
    return labels


def errors(python: str, answers: Answers, truth: IntArray, p: FloatArray) -> list[float]:
    """Return the share of wrong labels of each method, in the order of the table."""
    tasks = answers.task_names
    names = [str(name) for name in answers.classes.to_pylist()]
    wide = pa.table({"task": tasks, **{name: p[:, k] for k, name in enumerate(names)}})
    best = pa.table({"task": tasks, "label": answers.classes.take(pa.array(p.argmax(axis=1)))})
    found = (
        p.argmax(axis=1),
        quorate.aggregate(answers, "majority").vote.label,
        quorate.aggregate(answers).vote.label,
        quorate.aggregate(answers, predictions={"model": best}).vote.label,
        quorate.aggregate(answers, predictions={"model": wide}).vote.label,
        crowdlab(python, answers, p),
    )
    return [float((label != truth).mean()) for label in found]


def main(python: str, n: int) -> None:
    """Print the table."""
    print(
        "| answers and model | model alone | majority | quorate | with the model's class | with its bands | CROWDLAB |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in (*SIMULATED, *REAL):
        draw = simulated if name in SIMULATED else real
        mean = np.mean([errors(python, *draw(name, seed)) for seed in range(n)], axis=0)
        print(f"| {name} | " + " | ".join(f"{100 * error:.1f}" for error in mean) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
