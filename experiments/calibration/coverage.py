"""Coverage of the intervals on skills: simulated crowds of many shapes, two methods.

Not in the paper, which gives no intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from experiments.runner.experiment import Claim, Experiment, Figure, Row, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.arrays import FloatArray, IntArray
from quorate.methods.aggregate import aggregate
from quorate.progress import tracked
from quorate.simulate import Crowd, collect, crowd, draw_workers

METHODS = ("rank-one", "rank-one-centred")  # the standard method's skills are those of the second
KINDS = ("fast", "full")
LEVEL = 0.95
LEAST_ANSWERS = 5  # answers that a worker needs to be included
BINS = ((5, 10), (11, 20), (21, 50), (51, 10**9))
EVEN = "uniform on [0, 1]"
LOW = "uniform on [0.05, 0.6]"
LAWS = {EVEN: (0.0, 1.0), LOW: (0.05, 0.6)}
# Crowds with response bias: class prior, and the Dirichlet parameter of the label frequencies.
RESPONSE_BIASES = {
    "two classes, even": ((0.5, 0.5), 2.0),
    "two classes, 7 : 3": ((0.7, 0.3), 2.0),
    "two classes, 9 : 1": ((0.9, 0.1), 2.0),
    "four classes, even": ((0.25, 0.25, 0.25, 0.25), 1.0),
    "four classes, 7 : 1 : 1 : 1": ((0.7, 0.1, 0.1, 0.1), 1.0),
}
MORE_ANSWERS = (1, 10)  # factors of the answers per worker: a bias shows if intervals are narrow
ASKED = {EVEN: (0.94, 0.965), LOW: (0.92, 1.0)}  # coverage at 95 %


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    intervals: int  # smallest number per shape
    classes: tuple[int, ...] = (2, 4, 10)
    per_task: tuple[int, ...] = (3, 5, 10)
    workers: tuple[int, ...] = (30, 100, 500)
    per_worker: int = 40  # answers, on average


FULL = Settings(3_000)
QUICK = Settings(400)


@dataclass(frozen=True)
class Shape:
    """A kind of crowd."""

    law: str
    n_classes: int
    per_task: int
    n_workers: int


@dataclass(frozen=True)
class Covered:
    """The intervals of all crowds of one shape, by one method and kind; one entry per worker."""

    shape: Shape
    method: str
    kind: str
    held: FloatArray  # 1 where the interval contains the true skill
    width: FloatArray
    n_answers: IntArray
    skills: FloatArray


def shapes(settings: Settings) -> list[Shape]:
    """Return all shapes: skills from guessing to perfect in each, and low skills in the hardest ones."""
    every = [Shape(EVEN, *each) for each in product(settings.classes, settings.per_task, settings.workers)]
    return every + [Shape(LOW, 2, 3, n) for n in settings.workers]


def measure(shape: Shape, settings: Settings, seed: int) -> list[Covered]:
    """Simulate crowds of a shape until there are enough workers, and test which intervals contain the true skill.

    >>> found = measure(Shape(EVEN, 2, 3, 30), Settings(30), seed=0)
    >>> len(found), bool(found[1].held.mean() > 0.7)
    (4, True)
    """
    crowds = []
    for trial in range(-(-settings.intervals // shape.n_workers)):
        stream = [seed, 12, list(LAWS).index(shape.law), shape.n_classes, shape.per_task, shape.n_workers, trial]
        rng = np.random.default_rng(stream)
        simulated = crowd(
            settings.per_worker * shape.n_workers // shape.per_task,
            shape.n_workers,
            shape.per_task,
            n_classes=shape.n_classes,
            skills=rng.uniform(*LAWS[shape.law], shape.n_workers),
            activity=_activity(shape.n_workers, rng),
            seed=rng,
        )
        crowds.append(simulated)
    return _look(shape, crowds, KINDS)


def with_response_bias(
    name: str, n_workers: int, per_worker: int, rng: np.random.Generator, per_task: int = 5
) -> Crowd:
    """Simulate workers who know the answer with probability skill, and otherwise answer by their response bias.

    >>> with_response_bias("two classes, 7 : 3", 20, 10, np.random.default_rng(0)).answers.n_answers
    200
    """
    prior, alike = RESPONSE_BIASES[name]
    m = len(prior)
    n_tasks = per_worker * n_workers // per_task
    skills = rng.random(n_workers)
    bias_of_workers = rng.dirichlet(np.full(m, alike), n_workers)
    truth = rng.choice(m, n_tasks, p=prior)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = draw_workers(n_tasks, n_workers, per_task, activity=_activity(n_workers, rng), rng=rng).ravel()
    biased_label = (
        (rng.random(len(worker))[:, None] > bias_of_workers[worker].cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
    )
    label = np.where(rng.random(len(worker)) < skills[worker], truth[task], biased_label)
    return collect(task, worker, label, truth, skills, m)


def _activity(n_workers: int, rng: np.random.Generator) -> FloatArray:
    """Return relative activities, mostly from a third to three times the typical one."""
    return np.exp(rng.uniform(-1.5, 1.0, n_workers))


def _look(shape: Shape, crowds: Sequence[Crowd], kinds: Sequence[str]) -> list[Covered]:
    """Estimate by every method and kind, and test which intervals contain the true skill."""
    parts: dict[tuple[str, str], list[FloatArray]] = {each: [] for each in product(METHODS, kinds)}
    for simulated in crowds:
        n = simulated.answers.per_worker
        true = simulated.skills
        for method, kind in parts:
            found = aggregate(simulated.answers, method, intervals=kind, level=LEVEL).intervals  # type: ignore[arg-type]
            held = ((found.low <= true) & (true <= found.high)).astype(np.float64)
            counted = (n >= LEAST_ANSWERS) & ~np.isnan(found.low)
            parts[method, kind].append(np.stack([held, found.width, n, true])[:, counted])
    pooled = {each: np.concatenate(rows, axis=1) for each, rows in parts.items()}
    return [
        Covered(shape, method, kind, held, width, n.astype(np.int64), true)
        for (method, kind), (held, width, n, true) in pooled.items()
    ]


def run(*, quick: bool, seed: int) -> Experiment:
    """Measure coverage in every shape, by every method and kind."""
    settings = QUICK if quick else FULL
    found: list[Covered] = []
    every = shapes(settings)
    for shape in tracked("coverage", every):
        found += measure(shape, settings, seed)
    bias_of_workers = _with_response_bias(settings, seed)
    columns = ("skills", "classes", "per_task", "workers", "method", "kind", "intervals", "coverage", "mean_width")
    return Experiment(
        Tabulation("Coverage at 95 %", columns, tuple(_row(each) for each in found)),
        (_by_answers(found), _by_shape(found), bias_of_workers),
        (_figure(found),),
        _claims(found),
        _notes(settings),
    )


def _row(found: Covered) -> Row:
    shape = found.shape
    sizes = (shape.law, shape.n_classes, shape.per_task, shape.n_workers)
    covered = float(found.held.mean())
    width = float(found.width.mean())
    return (*sizes, found.method, found.kind, len(found.held), round(covered, 4), round(width, 4))


def _pooled(found: Sequence[Covered], method: str, kind: str, law: str = EVEN) -> list[Covered]:
    return [each for each in found if (each.method, each.kind, each.shape.law) == (method, kind, law)]


def _in_bin(found: Sequence[Covered], low: float, high: float, of: str = "n_answers") -> tuple[float, float, int]:
    """Return coverage, mean width and number of the intervals of workers with a quantity between two values."""
    kept = [(getattr(each, of) >= low) & (getattr(each, of) <= high) for each in found]
    held = np.concatenate([each.held[mask] for each, mask in zip(found, kept, strict=True)])
    width = np.concatenate([each.width[mask] for each, mask in zip(found, kept, strict=True)])
    return (float(held.mean()), float(width.mean()), len(held)) if len(held) else (np.nan, np.nan, 0)


def _bin_name(low: int, high: int) -> str:
    return f"{low}–{high}" if high < 10**9 else f"over {low - 1}"


def _by_answers(found: Sequence[Covered]) -> Tabulation:
    rows = []
    for method, kind in product(METHODS, KINDS):
        pooled = _pooled(found, method, kind)
        cells = [_in_bin(pooled, *each) for each in BINS] + [_in_bin(pooled, 0.95, 1.0, "skills")]
        shown = [f"{covered:.3f} / {width:.2f}" if n else "–" for covered, width, n in cells]
        rows.append((method, kind, *shown))
    columns = ("method", "kind", *(f"{_bin_name(*each)} answers" for each in BINS), "skill over 0.95")
    return Tabulation(
        "Coverage at 95 % and mean width, by answers of the worker, over all shapes", columns, tuple(rows)
    )


def _by_shape(found: Sequence[Covered]) -> Tabulation:
    rows = []
    for shape in dict.fromkeys(each.shape for each in found):
        covered = [float(each.held.mean()) for each in found if each.shape == shape]
        n = max(len(each.held) for each in found if each.shape == shape)
        rows.append((shape.law, shape.n_classes, shape.per_task, shape.n_workers, n, *(f"{c:.3f}" for c in covered)))
    names = [f"{method}, {kind}" for method, kind in product(METHODS, KINDS)]
    return Tabulation("Coverage in each shape", ("skills", "classes", "per task", "workers", "n", *names), tuple(rows))


def _with_response_bias(settings: Settings, seed: int) -> Tabulation:
    n_workers = 2 * max(settings.workers) // 5
    rows = []
    for (number, name), times in product(enumerate(RESPONSE_BIASES), MORE_ANSWERS):
        per_worker = times * settings.per_worker
        trials = -(-settings.intervals // (n_workers * times))  # for the same total number of answers
        streams = (np.random.default_rng([seed, 13, number, k, times]) for k in range(trials))
        crowds = [with_response_bias(name, n_workers, per_worker, rng) for rng in streams]
        found = _look(Shape(name, 0, 5, n_workers), crowds, ["full"])
        shown = (f"{x.held.mean():.3f} / {x.width.mean():.2f}" for x in found)
        rows.append((name, per_worker, len(found[0].held), *shown))
    title = "Workers with response bias: coverage at 95 % and mean width, full intervals"
    return Tabulation(title, ("crowd", "answers a worker", "n", *METHODS), tuple(rows))


def _figure(found: Sequence[Covered]) -> Figure:
    order = [f"{method}, {kind}" for method, kind in product(METHODS, KINDS)]
    edges = [5, 7, 10, 14, 20, 28, 40, 56, 80, 113, 160]
    rows = []
    for law, (method, kind) in product(LAWS, product(METHODS, KINDS)):
        pooled = _pooled(found, method, kind, law)
        for low, high in pairwise(edges):
            covered, _, n = _in_bin(pooled, low, high - 1)
            if n >= 50:
                point = {"answers": float(np.sqrt(low * high)), "coverage": round(covered, 4)}
                rows.append({"series": f"{method}, {kind}", "skills": f"skills {law}", **point})
    spec = lines(
        rows,
        axis("x", "answers", "answers of the worker", log=True),
        axis("y", "coverage", "share of intervals that hold the skill"),
        "series",
        order=order,
        panels="skills",
        panel_order=[f"skills {law}" for law in LAWS],
        dashed=[name for name in order if name.endswith("fast")],
        rules=[{"panel": f"skills {law}", "value": LEVEL} for law in LAWS],
    )
    caption = (
        "Coverage at 95 % by the worker's number of answers. Fast intervals take the peers' skills for known, which is "
        "harmless in a good crowd and not in a poor one; full ones do not."
    )
    return Figure("coverage", caption, spec)


def _claims(found: Sequence[Covered]) -> tuple[Claim, ...]:
    claims = []
    for law, method in product(LAWS, METHODS):
        low, high = ASKED[law]
        each = _pooled(found, method, "full", law)
        covered = np.array([one.held.mean() for one in each])
        slack = 2.6 * np.sqrt(LEVEL * (1 - LEVEL) / np.array([len(one.held) for one in each]))  # 99 %, two-sided
        inside = (covered >= low - slack) & (covered <= high + slack)
        total = float(np.concatenate([one.held for one in each]).mean())
        text = f"at least {low:g}" if high == 1 else f"{low:g} to {high:g}"
        claims.append(
            Claim(
                f"Intervals of 95 % by {method}, skills {law}: coverage {text} for workers of "
                f"{LEAST_ANSWERS} answers or more.",
                verdict(low <= total <= high, bool(inside.all())),
                f"{total:.3f} over all; {covered.min():.3f} to {covered.max():.3f} in {len(each)} shapes, of "
                f"{min(len(one.held) for one in each):,} intervals or more each",
            )
        )
    return tuple(claims)


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        f"Workers answer {settings.per_worker} tasks on average, from a third to three times that; all are one-coin "
        f"workers but in the last table. Workers of fewer than {LEAST_ANSWERS} answers are left out.",
        "The standard method's skills, and so its intervals, are those of its first stage, rank-one-centred.",
        "A shape is inside if it is within sampling error (99 %) of what is asked for.",
        "This is coverage under the model. On public data, where workers err together or find some classes harder, "
        "fewer intervals hold the skill on gold labels: docs/accuracy.md has those figures.",
    )
