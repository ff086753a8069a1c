"""Error, log-loss and confidence of a default method on simulated crowds.

    python -m experiments.default_method.simulations [--method product|prototype:PATH] [--only TEXT] [--no-sparse]
                                                     [--repeats 6]

Crowds are those of `crowds.py`: independent workers, skewed classes, spammers, many classes, few answers per worker,
copying families with and without groups, errors shared by all workers, inverted and swapped classes; and 120 sparse
crowds of two and of five classes. Figures are means over `--repeats` crowds of each kind: the share of right labels of
one crowd of 200 tasks has a standard error of .02. Spammers are the exception: six crowds are listed one by one.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from experiments.default_method import crowds
from experiments.default_method.data import UNKNOWN, Crowd, IntArray
from experiments.default_method.figures import Figures, score
from experiments.default_method.methods import (
    Constants,
    Method,
    add_method_options,
    fit,
    load_method,
    parse_constants,
)
from experiments.default_method.report import Target, print_row, print_targets

GOLD_SIZES = (0, 30, 100)
SPAMMER_SEEDS = (8, 9, 10, 11, 12, 13)

INDEPENDENT_LARGE = "independent 1000x20x5"
INDEPENDENT_SMALL = "independent 300x10x4"
SKEWED = "skewed .95/.05, 3 answers"
SPAMMERS = "70 % spammers"
SHARED = "shared errors on 25 %"
FAMILY = "family 10 of 18"
FAMILY_GROUPED = "family 10 of 18, groups"
INVERTED = "inverted crowd"
SWAPPED = "two of 4 classes swapped"


def harmonic_prior(n_classes: int) -> list[float]:
    """Return class probabilities in proportion to 1, 1/2, 1/3, ..."""
    weights = 1 / np.arange(1, n_classes + 1)
    return [float(weight) for weight in weights / weights.sum()]


def skewed_poor(seed: int) -> Crowd:
    """Return 2,000 tasks of classes .9 and .1, whose workers have low skill."""
    poor = crowds.uniform_skills(0.0, 0.7)
    answered = crowds.independent(
        2000, 100, 5, class_prior=[0.9, 0.1], response_bias=[0.7, 0.3], skills=poor, seed=seed + 3
    )
    return answered.crowd("skewed .9, poor")


def hundred_classes(seed: int) -> Crowd:
    """Return 1,500 tasks of 100 classes, whose truth and response bias are harmonic."""
    prior = harmonic_prior(100)
    answered = crowds.independent(1500, 60, 5, 100, class_prior=prior, response_bias=prior, seed=seed + 4)
    return answered.crowd("100 classes")


def skewed(seed: int) -> Crowd:
    """Return 3,000 tasks of classes .95 and .05 with three answers each."""
    prior = [0.95, 0.05]
    return crowds.independent(3000, 600, 3, class_prior=prior, response_bias=prior, seed=seed + 2).crowd(SKEWED)


def spammers(seed: int) -> Crowd:
    """Return a crowd of 40 workers, of whom 70 % guess."""
    law = crowds.spammer_skills(0.7, 0.9)
    return crowds.independent(1000, 40, 8, skills=law, seed=seed).crowd(f"{SPAMMERS}, seed {seed}")


def few_answers(n_classes: int, seed: int) -> Crowd:
    """Return 1,000 tasks whose 1,500 workers give two answers each."""
    return crowds.independent(1000, 1500, 3, n_classes, fixed_load=True, seed=seed).crowd("two answers")


def bad_family(seed: int) -> Crowd:
    """Return a family of 10 of 16 with an unskilled leader."""
    return crowds.copying_family(n_others=6, skill=0.4, leader_skill=0.3, seed=seed + 1).crowd("bad family 10 of 16")


def inverted(seed: int) -> Crowd:
    """Return a crowd in which every answer is replaced by the opposite one."""
    return crowds.relabelled(crowds.independent(800, 15, 5, seed=seed + 9), [1, 0]).crowd(INVERTED)


def swapped(seed: int) -> Crowd:
    """Return a crowd that exchanges the first two of four classes."""
    return crowds.relabelled(crowds.independent(1500, 30, 5, 4, seed=seed + 10), [1, 0, 2, 3]).crowd(SWAPPED)


CROWDS: dict[str, Callable[[int], Crowd]] = {
    INDEPENDENT_LARGE: lambda seed: crowds.independent(1000, 20, 5, seed=seed).crowd(INDEPENDENT_LARGE),
    INDEPENDENT_SMALL: lambda seed: crowds.independent(300, 10, 4, seed=seed + 1).crowd(INDEPENDENT_SMALL),
    SKEWED: skewed,
    "skewed .9, poor": skewed_poor,
    "100 classes": hundred_classes,
    "two answers a worker": lambda seed: few_answers(2, seed + 6),
    "two answers, 5 classes": lambda seed: few_answers(5, seed + 7),
    FAMILY: lambda seed: crowds.copying_family(seed=seed).crowd(FAMILY),
    FAMILY_GROUPED: lambda seed: crowds.with_family(crowds.copying_family(seed=seed).crowd(FAMILY_GROUPED), 10),
    "bad family 10 of 16": bad_family,
    "bad family, groups": lambda seed: crowds.with_family(bad_family(seed), 10),
    SHARED: lambda seed: crowds.shared_errors(seed=seed).crowd(SHARED),
    INVERTED: inverted,
    SWAPPED: swapped,
}
REPEAT_SEED = 100  # between the seeds of two repeats


@dataclass(frozen=True)
class Scores:
    """Figures of each simulated crowd and number of gold labels, and the error on sparse crowds."""

    figures: dict[tuple[str, int], Figures]
    spammer_errors: Sequence[float]
    sparse_error: dict[int, float]  # by number of classes


def simulated_gold(crowd: Crowd, n_gold: int) -> IntArray:
    """Return the truth of random tasks, UNKNOWN elsewhere; tasks are named by their number."""
    numbers = np.array([int(str(name)) for name in crowd.answers.task_names.to_pylist()])
    chosen = np.random.default_rng(n_gold).choice(len(numbers), n_gold, replace=False)
    return np.where(np.isin(numbers, chosen), crowd.truth, UNKNOWN)


def run_crowds(
    method: Method, only: str, constants: Constants, n_repeats: int
) -> tuple[dict[tuple[str, int], Figures], list[float]]:
    """Print the mean figures of each kind of crowd; return them, and the error without gold of each spammed crowd."""
    found = {}
    header = [f"{figure}@{n_gold}" for n_gold in GOLD_SIZES for figure in ("error", "loss", "st-r")]
    print_row("crowd", header)
    for name in CROWDS:
        if only in name:
            crowds_of_name = [CROWDS[name](REPEAT_SEED * k) for k in range(n_repeats)]
            found.update(run_kind(method, name, crowds_of_name, constants))
    errors = []
    for seed in SPAMMER_SEEDS if only in SPAMMERS else ():
        crowd = spammers(seed)
        figures = run_kind(method, crowd.name, [crowd], constants)
        errors.append(figures[crowd.name, 0].error)
    return found, errors


def run_kind(
    method: Method, name: str, repeats: Sequence[Crowd], constants: Constants
) -> dict[tuple[str, int], Figures]:
    """Score the crowds of one kind with each number of gold labels, and print the mean figures."""
    found = {}
    values: list[float | str] = []
    for n_gold in GOLD_SIZES:
        figures = []
        for crowd in repeats:
            gold = simulated_gold(crowd, n_gold) if n_gold else None
            fitted = fit(method, crowd, gold, crowd.group, constants=constants)
            figures.append(astuple(score(fitted.posterior, crowd.truth, gold)))
        mean = Figures(*(float(value) for value in np.mean(figures, axis=0)))
        found[name, n_gold] = mean
        values += [mean.error, mean.log_loss, f"{mean.overstated:+.3f}"]
    print_row(name, values, digits=3)
    return found


def run_sparse(method: Method, n_classes: int, constants: Constants) -> float:
    """Print the mean label error of each family of sparse crowds, and return that of all."""
    errors: dict[str, list[float]] = {}
    for graph, crowd in crowds.sparse_crowds(n_classes):
        fitted = fit(method, crowd, constants=constants)
        errors.setdefault(graph, []).append(score(fitted.posterior, crowd.truth).error)
    everything = [error for family in errors.values() for error in family]
    print_row(f"{n_classes} classes", [*errors, "all"], width=21, first=14)
    print_row(
        "label error",
        [*(float(np.mean(family)) for family in errors.values()), float(np.mean(everything))],
        width=21,
        first=14,
    )
    return float(np.mean(everything))


def targets(scores: Scores) -> list[Target]:
    """Return the targets of the crowds that were run."""
    found = []
    figures = scores.figures
    for name in (INDEPENDENT_LARGE, INDEPENDENT_SMALL):
        if (name, 0) in figures:
            found.append(Target(f"understated, no gold: {name}", -figures[name, 0].overstated, most=0.07))
            found.append(Target(f"understated, 100 gold: {name}", -figures[name, 100].overstated, most=0.01))
    spam = scores.spammer_errors
    if spam:
        found.append(Target(f"error, {SPAMMERS}, worst of {len(spam)} seeds", max(spam), most=0.17))
    if (SKEWED, 0) in figures:
        found.append(Target(f"log-loss, {SKEWED}", figures[SKEWED, 0].log_loss, most=0.095))
    if 5 in scores.sparse_error:
        found.append(Target("error, 120 sparse crowds of 5 classes", scores.sparse_error[5], most=0.365))
    for name in (INVERTED, SWAPPED):
        if (name, 30) in figures:
            found.append(Target(f"error, {name}, 30 gold", figures[name, 30].error, most=0.075))
    if (SHARED, 0) in figures:
        for n_gold in (30, 100):
            rise = figures[SHARED, n_gold].error - figures[SHARED, 0].error
            found.append(Target(f"rise of the error by {n_gold} gold, {SHARED}", rise, most=0))
    if (FAMILY_GROUPED, 0) in figures:
        found.append(Target(f"error, {FAMILY_GROUPED}", figures[FAMILY_GROUPED, 0].error, most=0.045))
    if (FAMILY, 0) in figures:
        found.append(Target(f"error, {FAMILY}, not named", figures[FAMILY, 0].error, most=0.06))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="crowds whose name contains this text")
    parser.add_argument("--no-sparse", action="store_true", help="leave the sparse crowds out")
    parser.add_argument("--repeats", type=int, default=6, help="crowds of each kind")
    add_method_options(parser)
    options = parser.parse_args(arguments)
    method = load_method(options.method)
    constants = parse_constants(options.set)
    print(f"Method {method.name}: error, log-loss and stated - right with 0, 30 and 100 gold labels")
    figures, spammer_errors = run_crowds(method, options.only, constants, options.repeats)
    sparse_error = {}
    if not options.no_sparse:
        print("\nSparse crowds: two answers to each task")
        for n_classes in (2, 5):
            sparse_error[n_classes] = run_sparse(method, n_classes, constants)
    print_targets(targets(Scores(figures, spammer_errors, sparse_error)))


if __name__ == "__main__":
    main()
