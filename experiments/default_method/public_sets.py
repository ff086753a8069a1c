"""Error, log-loss and calibration of a default method on the 25 public crowds of people and judges_civil.

    python -m experiments.default_method.public_sets [--gold 0,10,30,100] [--seeds 10 [--first-seed 100]]
                                                     [--method product|prototype:PATH] [--sets NAME,...]

Gold labels are drawn at random, at most half of the tasks with truth; all other tasks with truth are scored. Seeds 0 to
9 were used when the method was chosen, so the default begins at 100.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.default_method.data import JUDGES_CIVIL, PUBLIC_SETS, choose_gold, load_public_set
from experiments.default_method.figures import Figures, majority_error, mean_and_error, score
from experiments.default_method.figures import covers as interval_covers
from experiments.default_method.methods import (
    Constants,
    Method,
    ShareInterval,
    add_method_options,
    fit,
    load_method,
    parse_constants,
)
from experiments.default_method.report import Target, parse_numbers, print_row, print_targets

# By number of gold labels: what the issue of the default method demands.
MAX_ERROR = {0: 0.177, 10: 0.169, 30: 0.158, 100: 0.156}
MAX_LOG_LOSS = {0: 0.508, 10: 0.460, 30: 0.430, 100: 0.403}
MAX_CALIBRATION_ERROR = {0: 0.096, 10: 0.077, 30: 0.061, 100: 0.046}
MAX_OVERSTATED = {0: 0.01, 10: 0.032, 30: 0.027, 100: 0.01}
MAX_ABOVE_MAJORITY = {0: 0.03, 30: 0.02}


@dataclass(frozen=True)
class Run:
    """One set with the gold labels of one seed."""

    name: str
    n_gold: int
    seed: int
    figures: Figures
    majority: float  # error of majority vote on the same tasks
    share_right: ShareInterval | None


def run_set(
    method: Method, name: str, sizes: Sequence[int], seeds: Sequence[int], judges: bool | None, constants: Constants
) -> list[Run]:
    """Score one set for every number of gold labels and seed; without gold there is nothing to draw."""
    crowd = load_public_set(name)
    votes = crowd.votes()
    runs = []
    for n_gold in sizes:
        for seed in seeds if n_gold else seeds[:1]:
            gold = choose_gold(crowd, n_gold, seed) if n_gold else None
            fitted = fit(method, crowd, gold, judges=judges, constants=constants)
            figures = score(fitted.posterior, crowd.truth, gold)
            majority = majority_error(votes, crowd.truth, gold)
            runs.append(Run(name, n_gold, seed, figures, majority, fitted.share_right))
    return runs


def set_means(runs: Sequence[Run], n_gold: int) -> dict[str, list[float]]:
    """Return of each set the means over seeds: error, log-loss, calibration error, overstated, error - majority."""
    rows: dict[str, list[list[float]]] = {}
    for run in runs:
        if run.n_gold == n_gold:
            rows.setdefault(run.name, []).append(run_values(run))
    return {name: np.mean(values, axis=0).tolist() for name, values in rows.items()}


def run_values(run: Run) -> list[float]:
    """Return error, log-loss, calibration error, overstated and error - majority."""
    figures = run.figures
    above = figures.error - run.majority
    return [figures.error, figures.log_loss, figures.calibration_error, figures.overstated, above]


def overall(runs: Sequence[Run], n_gold: int) -> list[tuple[float, float]]:
    """Return mean and standard error over seeds of each figure's mean over sets."""
    by_seed: dict[int, list[list[float]]] = {}
    for run in runs:
        if run.n_gold == n_gold:
            by_seed.setdefault(run.seed, []).append(run_values(run))
    seed_means = np.array([np.mean(values, axis=0) for values in by_seed.values()])
    return [mean_and_error(column) for column in seed_means.T.tolist()]


def targets(runs: Sequence[Run], sizes: Sequence[int]) -> list[Target]:
    """Return the targets of each number of gold labels that has some."""
    found = []
    for n_gold in sizes:
        if n_gold in MAX_ERROR:
            means = [mean for mean, _ in overall(runs, n_gold)]
            found += [
                Target(f"error, {n_gold} gold", means[0], most=MAX_ERROR[n_gold]),
                Target(f"log-loss, {n_gold} gold", means[1], most=MAX_LOG_LOSS[n_gold]),
                Target(f"calibration error, {n_gold} gold", means[2], most=MAX_CALIBRATION_ERROR[n_gold]),
                Target(f"|stated - right| of the mean, {n_gold} gold", abs(means[3]), most=MAX_OVERSTATED[n_gold]),
            ]
        if n_gold in MAX_ABOVE_MAJORITY:
            worst, row = max(set_means(runs, n_gold).items(), key=lambda item: item[1][4])
            name = f"largest error - majority, {n_gold} gold ({worst})"
            found.append(Target(name, row[4], most=MAX_ABOVE_MAJORITY[n_gold]))
    return found


def print_runs(runs: Sequence[Run], sizes: Sequence[int]) -> None:
    """Print the table of sets for every number of gold labels, and the means."""
    header = ["error", "log-loss", "calib.", "st-right", "-majority"]
    for n_gold in sizes:
        print(f"\n{n_gold} gold labels")
        print_row("set", header)
        for name, values in set_means(runs, n_gold).items():
            print_row(name, values)
        summary = overall(runs, n_gold)
        print_row("mean", [mean for mean, _ in summary])
        print_row("standard error (seeds)", ["-" if np.isnan(error) else error for _, error in summary])
        print_share_of_right(runs, n_gold)


def print_share_of_right(runs: Sequence[Run], n_gold: int) -> None:
    """Print how often the method's 90 % interval of the share of right labels covers it, where it states one."""
    stated = [
        (run.share_right, run.figures.right) for run in runs if run.n_gold == n_gold and run.share_right is not None
    ]
    if not stated:
        return
    coverage = np.mean([interval_covers(interval, right) for interval, right in stated])
    width = np.mean([interval[2] - interval[1] for interval, _ in stated])
    print(f"90 % interval of the share of right labels: covers {coverage:.3f} of {len(stated)} runs, width {width:.3f}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold", type=parse_numbers, default=[0, 10, 30, 100])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--sets", default=",".join(PUBLIC_SETS))
    parser.add_argument(
        "--judges-civil",
        choices=("auto", "people", "judges"),
        default="auto",
        help="law of judges_civil; auto: as the method decides",
    )
    add_method_options(parser)
    options = parser.parse_args(arguments)
    method = load_method(options.method)
    law = {"auto": None, "people": False, "judges": True}[options.judges_civil]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    constants = parse_constants(options.set)
    runs = []
    for name in options.sets.split(","):
        runs += run_set(method, name, options.gold, seeds, law if name == JUDGES_CIVIL else None, constants)
    print(f"Method {method.name}, seeds {seeds.start} to {seeds.stop - 1}")
    print_runs(runs, options.gold)
    print_targets(targets(runs, options.gold))


if __name__ == "__main__":
    main()
