"""Simulated crowds with ordered classes, of several kinds and with two definitions of the true class.

In the first definition the true class exists, and every answer is a noisy measurement of it. In the second it is the
median of the answers of experts, which are among the answers.
"""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.io.read import read

N_TASKS = 600
TYPICAL = 5  # number of classes for which widths are stated; widths are proportional to the number of classes


@dataclass(frozen=True)
class Kind:
    """How the workers of a crowd perceive tasks, answer and are chosen."""

    name: str
    width: tuple[float, float] = (-0.3, 0.5)  # mean and standard deviation of its logarithm, in classes
    experts: float = 0.0  # share of workers of a width of .35; the others' is then 2
    shift: float = 0.0  # standard deviation of the offset of a worker's scale, in classes
    guesses: float = 0.0  # share of workers who answer by their response bias
    no_order: bool = False  # whether workers know the class or give any other class, independent of the distance
    placed: bool = False  # whether tasks have a position within their class, the same for all workers
    skewed: float = 1.0  # frequency of a class divided by that of the class below
    n_workers: int = 40
    per_task: int = 5
    uneven: float = 0.0  # standard deviation of the logarithm of the activity
    diligent: float = 0.0  # how fast that falls with the width; below 0 for those who guess, if any do
    n_deciding: tuple[int, ...] = ()  # how many experts decide a task, one of these numbers drawn for each; () for none
    best: bool = False  # whether they are the best who answer the task, instead of a panel of eight


READ = (
    Kind("widths of their own"),
    Kind("shifted scales", shift=0.6),
    Kind("a few experts", experts=0.2),
    Kind("few answers each", n_workers=500),
    Kind("skewed classes", skewed=0.55),
    Kind("guessers", guesses=0.4),
    Kind("uneven work", uneven=1.3),
    Kind("diligent experts", uneven=0.5, diligent=1.5),
    Kind("diligent guessers", uneven=0.7, guesses=0.3, diligent=-1.0),
    Kind("no order in errors", no_order=True),
    Kind("hard tasks", placed=True),
    Kind("hard tasks, shifted scales", placed=True, shift=0.6),
    Kind("hard tasks, uneven work", placed=True, uneven=1.3),
)
DECIDED_BY_EXPERTS = (
    Kind("three experts, three others", width=(0.4, 0.4), placed=True, n_deciding=(3,), per_task=6, uneven=1.0),
    Kind("one or three experts", width=(0.4, 0.4), placed=True, n_deciding=(1, 3), per_task=6, uneven=1.0),
    Kind("five experts, two others", width=(0.4, 0.4), placed=True, n_deciding=(5,), per_task=7),
    Kind("the best three of six", width=(-0.1, 0.5), placed=True, n_deciding=(3,), best=True, per_task=6),
)
PANEL = 8  # experts, of whom those who decide a task are drawn
PANEL_WIDTHS = (0.4, 0.8)


@dataclass(frozen=True)
class Workers:
    """Parameters of each worker; shapes (workers,)."""

    width: FloatArray
    shift: FloatArray
    guesses: FloatArray  # 1 for workers who guess
    drawn: FloatArray  # relative activity


def workers_of(kind: Kind, n_classes: int, rng: np.random.Generator) -> Workers:
    """Draw the workers; if a panel decides the true class, its members come first."""
    n = kind.n_workers
    scale = n_classes / TYPICAL
    width = np.exp(rng.normal(*kind.width, n))
    if kind.experts:
        width = np.where(rng.random(n) < kind.experts, 0.35, 2.0)
    if kind.n_deciding and not kind.best:
        width[:PANEL] = rng.uniform(*PANEL_WIDTHS, PANEL)
    guesses = (rng.random(n) < kind.guesses).astype(np.float64)
    by_kind = guesses if kind.guesses else np.log(width)
    drawn = np.exp(rng.normal(0, kind.uneven, n) - kind.diligent * by_kind)
    return Workers(width * scale, rng.normal(0, kind.shift * scale, n), guesses, drawn)


def ordered_crowd(kind: Kind, n_classes: int, seed: int) -> tuple[Answers, IntArray]:
    """Simulate a crowd: its answers, and the class code of each task's truth.

    >>> answers, truth = ordered_crowd(DECIDED_BY_EXPERTS[0], 5, seed=0)
    >>> answers.n_answers, bool((answers.counts[np.arange(len(truth)), truth] > 0).all())  # someone gave it
    (3600, True)
    """
    rng = np.random.default_rng([seed, n_classes, sum(kind.name.encode())])
    workers = workers_of(kind, n_classes, rng)
    prior = kind.skewed ** np.arange(n_classes)
    truth = rng.choice(n_classes, N_TASKS, p=prior / prior.sum())
    place = truth + (rng.uniform(-0.5, 0.5, N_TASKS) if kind.placed else 0.0)
    task, worker, settles = _asked(kind, workers, rng)
    seen = np.rint(place[task] + workers.shift[worker] + workers.width[worker] * rng.normal(size=len(task)))
    label = np.clip(seen, 0, n_classes - 1).astype(np.int64)
    if kind.no_order:
        knows = rng.random(len(task)) < rng.beta(2, 1.5, kind.n_workers)[worker]
        label = np.where(knows, truth[task], rng.integers(0, n_classes, len(task)))
    bias = np.cumsum(rng.dirichlet(np.full(n_classes, 0.5), kind.n_workers), axis=1)[worker]
    guessed = (rng.random(len(task))[:, None] > bias[:, :-1]).sum(axis=1)
    label = np.where(workers.guesses[worker] > 0, guessed, label)
    for t in range(N_TASKS) if kind.n_deciding else ():
        truth[t] = int(np.median(label[settles & (task == t)]))
    answers = read({"task": task, "worker": worker, "label": label}, classes=[str(c) for c in range(n_classes)])
    return answers, truth


def _asked(kind: Kind, workers: Workers, rng: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
    """Draw who is asked each task, and who of them decide it; those of a panel as many as the task asks for."""
    chosen = []
    decide = []
    others = np.arange(PANEL if kind.n_deciding and not kind.best else 0, kind.n_workers)
    share = workers.drawn[others] / workers.drawn[others].sum()
    for _ in range(N_TASKS):
        n_experts = int(rng.choice(kind.n_deciding)) if kind.n_deciding else 0
        from_panel = 0 if kind.best else n_experts
        most = max(kind.n_deciding, default=0) if from_panel else 0
        asked = rng.choice(others, kind.per_task - most, replace=False, p=share)
        asked = np.concatenate([rng.choice(PANEL, from_panel, replace=False), asked])
        rank = np.argsort(np.argsort(workers.width[asked])) if kind.best else np.arange(len(asked))
        chosen.append(asked)
        decide.append(rank < n_experts)
    task = np.repeat(np.arange(N_TASKS), [len(asked) for asked in chosen])
    return task, np.concatenate(chosen), np.concatenate(decide)
