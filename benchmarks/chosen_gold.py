"""Known labels that were not drawn at random: how often `estimate` detects this, and the coverage of its interval.

    python benchmarks/chosen_gold.py [--draws N] [DESIGN...]    # all designs by default, 40 draws of each

For each crowd and each way of choosing the known labels, prints how often the test rejects them as a random sample, and
how often they are not rejected but contradict the answers, so that the interval contains both estimates. Then the
coverage of the interval for the share of the first class if they always count as a random sample (as in release 0.2.0),
the coverage now, and the half-width now.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from experiments.calibration.public_crowds import class_codes

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.datasets import load
from quorate.estimation.estimands import Prevalence
from quorate.estimation.estimate import contradiction
from quorate.estimation.gold_sample_check import find_imbalance
from quorate.estimation.means import ByEither, ByKnown, ByModel, MeanEstimator, model_estimator
from quorate.estimation.prediction_powered import KnownSample
from quorate.methods.aggregate import aggregate
from quorate.result import Result
from quorate.simulate import crowd

Z = 1.959963984540054
PUBLIC = ("bluebird", "rte1", "temp", "wsd")
N_KNOWN = 50


@dataclass(frozen=True)
class TruthCrowd:
    """A crowd with the true class of every task."""

    name: str
    answers: Answers
    truth: IntArray


Design = Callable[[TruthCrowd, FloatArray, np.random.Generator], IntArray]


def simulated_crowds(seed: int) -> Iterator[TruthCrowd]:
    """Yield simulated crowds: good, weak, guessing, with skewed classes, with four classes, mostly wrong."""
    rng = np.random.default_rng([seed, 26])
    options: dict[str, dict[str, Any]] = {
        "good": {"per_task": 5, "skills": rng.uniform(0.3, 0.9, 15)},
        "weak": {"per_task": 3, "skills": rng.uniform(0.1, 0.4, 15)},
        "guessing": {"per_task": 3, "skills": np.zeros(15)},
        "skewed": {"per_task": 5, "skills": rng.uniform(0.3, 0.9, 15), "prior": np.array([0.9, 0.1])},
        "four classes": {"per_task": 5, "skills": rng.uniform(0.2, 0.8, 15), "n_classes": 4},
        "wrong, skewed": {"per_task": 5, "skills": rng.uniform(-0.8, -0.2, 15), "prior": np.array([0.8, 0.2])},
    }
    for name, own in options.items():
        made = crowd(n_tasks=600, n_workers=15, **own, seed=rng)
        yield TruthCrowd(name, made.answers, made.truth)


def public_crowds(names: tuple[str, ...]) -> Iterator[TruthCrowd]:
    """Yield public crowds, restricted to tasks with a true label."""
    for name in names:
        data = load(name)
        truth = class_codes(data.truth, data.answers)
        yield TruthCrowd(name, data.answers.only(truth >= 0), truth[truth >= 0])


def right_share(crowd: TruthCrowd) -> FloatArray:
    """Return the share of right answers to each task."""
    right = crowd.answers.by_task((crowd.answers.label == crowd.truth[crowd.answers.task]).astype(np.float64))
    share: FloatArray = right / np.maximum(crowd.answers.per_task, 1)
    return share


def _some(tasks: IntArray, rng: np.random.Generator) -> IntArray:
    return rng.permutation(tasks)[:N_KNOWN]


def _half(values: FloatArray, rng: np.random.Generator, *, upper: bool) -> IntArray:
    """Return random tasks from the half with the larger, or the smaller, values; ties are broken at random."""
    order = np.lexsort([rng.random(len(values)), values])
    half = len(values) // 2
    return _some(order[half:] if upper else order[:half], rng)


DESIGNS: dict[str, Design] = {
    "random": lambda crowd, _, rng: _some(np.arange(len(crowd.truth)), rng),
    "first class only": lambda crowd, _, rng: _some(np.flatnonzero(crowd.truth == 0), rng),
    "last class only": lambda crowd, _, rng: _some(np.flatnonzero(crowd.truth == crowd.truth.max()), rng),
    "sorted by class": lambda crowd, _, rng: np.lexsort([rng.random(len(crowd.truth)), crowd.truth])[:N_KNOWN],
    "easy half": lambda crowd, _, rng: _half(right_share(crowd), rng, upper=True),
    "hard half": lambda crowd, _, rng: _half(right_share(crowd), rng, upper=False),
    "surest half": lambda _, sure, rng: _half(sure, rng, upper=True),
    "least sure half": lambda _, sure, rng: _half(sure, rng, upper=False),
}


def design_rows(
    crowds: Iterable[TruthCrowd], designs: Iterable[str], draws: int, seed: int = 0
) -> Iterator[tuple[str | float, ...]]:
    """Yield for each crowd and design the names and the mean figures over the draws."""
    for each in crowds:
        result = aggregate(each.answers, intervals="none")
        by_model = model_estimator(each.answers, None, Z)
        sure = result.vote.posterior.max(axis=1)
        for name in designs:
            design = DESIGNS[name]
            rng = np.random.default_rng([seed, 26])
            found = np.array([_one(each, result, by_model, design(each, sure, rng)) for _ in range(draws)])
            yield each.name, name, *found.mean(axis=0).tolist()


def _one(crowd: TruthCrowd, result: Result, by_model: ByModel, tasks: IntArray) -> tuple[float, ...]:
    quantity = Prevalence(crowd.answers.n_classes)
    truth = float((crowd.truth == 0).mean())
    tasks = np.sort(tasks)
    sample = KnownSample.random(tasks, crowd.answers.n_tasks)
    as_random = ByKnown(result.vote.posterior, crowd.truth[tasks], sample, Z)
    is_chosen = find_imbalance(tasks, result) is not None
    known = np.full(crowd.answers.n_tasks, -1)
    known[tasks] = crowd.truth[tasks]
    now: MeanEstimator = as_random
    if is_chosen:
        now = ByModel(by_model.raw_posterior, by_model.law, known, Z)
    elif contradiction(crowd.answers, as_random, by_model) is not None:
        now = ByEither(as_random.posterior, as_random.true, sample, Z, by_model)

    def ends(meter: MeanEstimator) -> tuple[float, float]:
        found = meter.means(quantity)
        return float(found.low[0]), float(found.high[0])

    before = ends(as_random)
    after = ends(now)
    covers = [low - 1e-9 <= truth <= high + 1e-9 for low, high in (before, after)]
    figures = is_chosen, isinstance(now, ByEither), *covers, (after[1] - after[0]) / 2
    return tuple(float(each) for each in figures)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("designs", nargs="*", default=list(DESIGNS), metavar="DESIGN", help=", ".join(DESIGNS))
    options = parser.parse_args()
    every_crowd = chain(simulated_crowds(0), public_crowds(PUBLIC))
    print(f"{'crowd':15s}{'known labels':18s}{'refused':>9s}{'both':>9s}{'before':>9s}{'now':>9s}{'half width':>12s}")
    for crowd_name, design_name, *figures in design_rows(every_crowd, options.designs, options.draws):
        print(f"{crowd_name:15s}{design_name:18s}{''.join(f'{each:9.2f}' for each in figures)}", flush=True)
