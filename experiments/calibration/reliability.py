"""Confidence of labels compared with the share of right labels: on simulated crowds and on seven public sets.

Not in the paper. docs/confidence.md has the results.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from experiments.calibration.judged import BINS, LEAST_TASKS, Judged, judge, pooled, reliability
from experiments.calibration.regimes import (
    adversaries,
    class_biased,
    copied,
    heavy_tailed,
    one_coin,
    shared_bias,
    skewed,
    spammers,
)
from experiments.runner.experiment import Claim, Experiment, Figure, Tabulation, verdict
from experiments.runner.figures import axis, lines
from quorate.datasets import load
from quorate.evaluation.metrics import LEAST_PROBABILITY
from quorate.methods.aggregate import aggregate
from quorate.progress import report
from quorate.result import count
from quorate.simulate import Crowd, collect, crowd, draw_workers

METHODS = ("quorate", "rank-one-centred", "rank-one", "majority", "one-coin", "dawid-skene")
SETS = ("bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web")
ALONE = "Independent workers"
FEW = "Independent, 2 to 5 answers a worker"
TOGETHER = "Workers who err together"
REAL = "Seven public sets"
IDEAL = "as it should be"


def few_answers(rng: np.random.Generator, per_task: int = 5, n_classes: int = 2) -> Crowd:
    """Simulate workers with two to five answers each, and uniform skills from guessing to perfect.

    >>> float(np.median(few_answers(np.random.default_rng(0)).answers.per_worker))
    3.0
    """
    n_tasks = 1000
    n_workers = round(n_tasks * per_task / 3.5)
    activity = rng.integers(2, 6, n_workers).astype(np.float64)
    skills = rng.random(n_workers)
    return crowd(n_tasks, n_workers, per_task, n_classes=n_classes, skills=skills, activity=activity, seed=rng)


def hard_tasks(rng: np.random.Generator, share: float = 0.3) -> Crowd:
    """Simulate a crowd with hard tasks, on which all workers guess, and easy tasks.

    >>> hard_tasks(np.random.default_rng(0)).answers.n_answers
    7000
    """
    n_tasks = 1000
    n_workers = 50
    per_task = 7
    truth = rng.integers(0, 2, n_tasks)
    skills = rng.uniform(0.5, 0.95, n_workers)
    task = np.repeat(np.arange(n_tasks), per_task)
    worker = draw_workers(n_tasks, n_workers, per_task, rng=rng).ravel()
    hard = rng.random(n_tasks) < share
    right = rng.random(len(task)) < (1 + np.where(hard[task], 0.0, skills[worker])) / 2
    return collect(task, worker, np.where(right, truth[task], 1 - truth[task]), truth, skills, 2)


Draw = Callable[[np.random.Generator], Crowd]
CROWDS: dict[str, dict[str, Draw]] = {
    ALONE: {
        **{f"{r} answers a task": partial(one_coin, per_task=r) for r in (3, 5, 10)},
        "4 classes": partial(one_coin, n_classes=4),
        "10 classes": partial(one_coin, n_classes=10),
        "nine in ten of one class": skewed,
        "accuracy by class, 4 classes": partial(class_biased, n_classes=4),
        "seven in ten guess": spammers,
        "a third adversaries": adversaries,
        "heavy-tailed activity": partial(heavy_tailed, n_tasks=3_000),
    },
    FEW: {
        **{f"2 to 5 answers a worker, {r} a task": partial(few_answers, per_task=r) for r in (3, 5, 10)},
        "2 to 5 answers a worker, 4 classes": partial(few_answers, n_classes=4),
    },
    TOGETHER: {
        "three tasks in ten too hard": hard_tasks,
        "copied by 30%": copied,
        "bias shared by 40%": partial(shared_bias, share=0.4),
    },
}


@dataclass(frozen=True)
class Settings:
    """How much to run."""

    trials: int
    per_group: int = 99  # crowds of each kind
    sets: tuple[str, ...] = SETS


FULL = Settings(10)
QUICK = Settings(1)


Found = dict[tuple[str, str, str], Judged]  # (group, crowd, method)


def run(*, quick: bool, seed: int) -> Experiment:
    """Evaluate every method on every crowd and set."""
    settings = QUICK if quick else FULL
    data = {name: load(name) for name in settings.sets}  # loaded first, so that missing data raise an error at once
    chosen = [
        (group, name, draw)
        for group, crowds in CROWDS.items()
        for name, draw in list(crowds.items())[: settings.per_group]
    ]
    found: Found = {}
    for number, (group, name, draw) in enumerate(chosen):
        report("calibration", number, len(chosen) + len(data))
        runs: dict[str, list[Judged]] = {method: [] for method in METHODS}
        for trial in range(settings.trials):
            simulated = draw(np.random.default_rng([seed, 17, number, trial]))
            for method in METHODS:
                runs[method].append(judge(aggregate(simulated.answers, method), simulated.truth_table))
        found |= {(group, name, method): pooled(parts) for method, parts in runs.items()}
    for number, (name, each) in enumerate(data.items()):
        report("calibration", len(chosen) + number, len(chosen) + len(data))
        found |= {(REAL, name, method): judge(aggregate(each.answers, method), each.truth) for method in METHODS}
    report("calibration", len(chosen) + len(data), len(chosen) + len(data))
    beside = tuple(_beside(found, group) for group in (*CROWDS, REAL))
    return Experiment(_table(found), beside, (_figure(found),), _claims(found), _notes(settings))


def _table(found: Found) -> Tabulation:
    columns = (
        "group",
        "crowd",
        "method",
        "tasks",
        "error",
        "calibration_error",
        "log_loss",
        "confidence_less_accuracy",
    )
    rows = [
        (*key, len(each.sure), each.error, each.calibration_error, each.log_loss, each.gap)
        for key, each in found.items()
    ]
    return Tabulation("Confidence and accuracy", columns, tuple(rows))


def _beside(found: Found, group: str) -> Tabulation:
    crowds = list(dict.fromkeys(name for of, name, _ in found if of == group))
    rows = [(name, *(_cell(found[group, name, method]) for method in METHODS)) for name in crowds]
    means = [_means([found[group, name, method] for name in crowds]) for method in METHODS]
    rows.append(("mean", *(f"{gap:+.3f}, {calibration:.3f}, {loss:.3f}" for gap, calibration, loss in means)))
    title = f"{group}: confidence less accuracy, expected calibration error, log-loss"
    return Tabulation(title, ("crowd", *METHODS), tuple(rows))


def _cell(each: Judged) -> str:
    return f"{each.gap:+.3f}, {each.calibration_error:.3f}, {each.log_loss:.3f}"


def _means(parts: Sequence[Judged]) -> tuple[float, float, float]:
    """Return means over crowds: confidence minus accuracy, calibration error, log-loss."""
    gap, calibration, loss = np.mean([(part.gap, part.calibration_error, part.log_loss) for part in parts], axis=0)
    return float(gap), float(calibration), float(loss)


def _figure(found: Found) -> Figure:
    rows = []
    for group in (*CROWDS, REAL):
        for method in METHODS:
            of_group = [each for (of, _, by), each in found.items() if (of, by) == (group, method)]
            rows += [{"group": group, "method": method, **point} for point in reliability(pooled(of_group))]
        rows += [{"group": group, "method": IDEAL, "confidence": x, "right": x} for x in (0.0, 1.0)]
    spec = lines(
        rows,
        axis("x", "confidence", "confidence of the label", domain=(0, 1)),
        axis("y", "right", "share that is right", domain=(0, 1)),
        "method",
        order=(*METHODS, IDEAL),
        panels="group",
        panel_order=(*CROWDS, REAL),
        dashed=(IDEAL,),
    )
    caption = (
        "Of the labels that were given a confidence, how many are right. Below the dashed line a method is too sure, "
        "above it not sure enough."
    )
    return Figure("calibration", caption, spec)


def _claims(found: Found) -> tuple[Claim, ...]:
    def means(group: str, method: str) -> tuple[float, float, float]:
        return _means([each for (of, _, by), each in found.items() if (of, by) == (group, method)])

    rivals = [method for method in METHODS if method != "quorate"]
    real, few = ({method: means(group, method) for method in METHODS} for group in (REAL, FEW))
    plug_in = ("rank-one", "one-coin", "dawid-skene")
    alone = means(ALONE, "quorate")
    return (
        Claim(
            "On the public sets no other method's confidence means more.",
            verdict(
                real["quorate"][1] <= min(real[each][1] for each in rivals),
                real["quorate"][2] <= min(real[each][2] for each in rivals),
            ),
            "mean calibration error and log-loss: "
            + "; ".join(f"{method} {real[method][1]:.3f}, {real[method][2]:.3f}" for method in METHODS),
        ),
        Claim(
            "Skills shrunk toward the mean account for uncertain skills: with 2 to 5 answers a worker they do not make "
            "the labels too sure, and skills taken at face value do.",
            verdict(few["rank-one-centred"][1] <= min(few[each][1] for each in plug_in) / 2, few["quorate"][0] <= 0),
            "confidence less accuracy and calibration error: "
            + "; ".join(f"{method} {few[method][0]:+.3f}, {few[method][1]:.3f}" for method in METHODS),
        ),
        Claim(
            "Where workers are independent, the standard method is not sure enough: its caution is for real crowds.",
            verdict(alone[0] < 0),
            f"confidence less accuracy {alone[0]:+.3f} on average, and {real['quorate'][0]:+.3f} on the public sets",
        ),
    )


def _notes(settings: Settings) -> tuple[str, ...]:
    return (
        f"{count(settings.trials, 'simulated crowd')} of each kind, their tasks judged together; the public sets as "
        f"they are. Calibration error over {BINS} even bins of confidence; a probability below {LEAST_PROBABILITY:g} "
        "counts as it in the log-loss. Exact ties have their share of being right.",
        "`rank-one-centred` is the standard method's first stage: skills shrunk toward the crowd's mean, without the "
        "flattening that allows for workers who err together. `majority` gives shares of votes, which nobody claims "
        "to be probabilities.",
        f"A point is drawn where a bin has {LEAST_TASKS} tasks or more, over all crowds of a panel.",
    )
