"""Fit the constants of the dependence and of the calibration laws, leaving one group of related crowds out.

    python -m experiments.default_method.fit_law [--method product|prototype:PATH] [--part people,power,judges]
                                                 [--power-gold 30 --seeds 3 [--first-seed 100]]

people  dependence (scale, typical value, its prior strength) and people's law (spread, failure) on a grid, by mean
        log-loss without gold over the 26 public sets
power   the power of the scaling of prior matrices by skill, 0, 1/2 or 1: for each the same grid, and error and log-loss
        with gold
judges  the four numbers of the judges' law, by maximum likelihood of the truth of 47 panels; equal weights of
        repositories

"Left out" figures are those of each group of related sets (or repository) with constants chosen without it.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.default_method.data import (
    PUBLIC_SETS,
    UNKNOWN,
    Crowd,
    FloatArray,
    choose_gold,
    group_of_set,
    load_panels,
    load_public_set,
)
from experiments.default_method.figures import mean_and_error, score
from experiments.default_method.judge_panels import collect_evidence, left_out_laws, print_laws
from experiments.default_method.law import WIDENING, fit_judge_law, people_log_loss
from experiments.default_method.methods import (
    Constants,
    Method,
    MissingHookError,
    add_method_options,
    fit,
    load_method,
    parse_constants,
)
from experiments.default_method.report import print_row

DEPENDENCE_GRID = tuple(itertools.product((4.0, 5.0, 6.0, 7.0, 8.0), (0.3, 0.4, 0.5), (250.0, 500.0, 1000.0)))
LAW_GRID = tuple(itertools.product((0.3, 0.4, 0.5, 0.6), (0.02, 0.03, 0.05)))
KEPT_DEPENDENCE = (6.0, 0.4, 1000.0)
KEPT_LAW = (0.5, 0.03)
POWERS = (0.0, 0.5, 1.0)
N_PRINTED = 12  # best cells of the grid

# A cell of the grid: scale, typical dependence, its prior strength; spread, failure.
Cell = tuple[tuple[float, float, float], tuple[float, float]]


@dataclass(frozen=True)
class GridLosses:
    """Log-loss of every set (rows) for every cell of the grid, and error, which no law changes."""

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    loss: FloatArray  # (sets, cells)
    error: FloatArray  # of the kept dependence (sets,)

    def kept(self) -> FloatArray:
        """Return the log-loss of each set with the kept constants."""
        kept: FloatArray = self.loss[:, self.cells.index((KEPT_DEPENDENCE, KEPT_LAW))]
        return kept

    def chosen_without(self, group: str) -> int:
        """Return the cell of least mean log-loss over the sets of all other groups."""
        others = [index for index, name in enumerate(self.names) if group_of_set(name) != group]
        return int(self.loss[others].mean(axis=0).argmin())

    def left_out(self) -> tuple[FloatArray, list[Cell]]:
        """Return the log-loss of each set with the cell chosen without its group, and these cells."""
        chosen = [self.chosen_without(group_of_set(name)) for name in self.names]
        losses = np.array([self.loss[index, cell] for index, cell in enumerate(chosen)])
        return losses, [self.cells[cell] for cell in chosen]


def grid_losses(method: Method, crowds: Sequence[Crowd], constants: Constants) -> GridLosses:
    """Run every crowd with every dependence, and calibrate its posterior by every law."""
    grid = [
        replace(constants, dependence_scale=scale, typical_dependence=typical, typical_worth=worth)
        for scale, typical, worth in DEPENDENCE_GRID
    ]
    rows = []
    errors = []
    for crowd in crowds:
        has_truth = crowd.truth != UNKNOWN
        posteriors = method.uncalibrated(crowd, grid)
        losses = [people_log_loss(posterior[has_truth], crowd.truth[has_truth], LAW_GRID) for posterior in posteriors]
        rows.append(np.concatenate(losses))
        errors.append(score(posteriors[DEPENDENCE_GRID.index(KEPT_DEPENDENCE)], crowd.truth).error)
    cells = tuple(itertools.product(DEPENDENCE_GRID, LAW_GRID))
    return GridLosses(tuple(crowd.name for crowd in crowds), cells, np.array(rows), np.array(errors))


def print_people(losses: GridLosses) -> None:
    """Print the best cells, the kept one, and the log-loss of groups left out."""
    mean = losses.loss.mean(axis=0)
    print("\nPeople: dependence (scale, typical, worth) and law (spread, failure), mean log-loss without gold")
    for index in np.argsort(mean)[:N_PRINTED]:
        print(f"  {losses.cells[index]}  {mean[index]:.4f}")
    print(f"kept {(KEPT_DEPENDENCE, KEPT_LAW)}: {losses.kept().mean():.4f}; best {mean.min():.4f}")
    left_out, chosen = losses.left_out()
    print(f"left out: log-loss {left_out.mean():.4f}; chosen without a group:")
    for cell, count in Counter(chosen).most_common(4):
        print(f"  {cell} for {count} sets")


def compare_powers(
    method: Method, crowds: Sequence[Crowd], constants: Constants, n_gold: int, seeds: Sequence[int]
) -> None:
    """Print the figures of each power of the scaling by skill, and what is lost by choosing it on other groups."""
    names = tuple(crowd.name for crowd in crowds)
    grids = []
    gold_figures = []
    print(f"\nPower of the scaling by skill: without gold, and with {n_gold} gold labels ({len(seeds)} seeds)")
    header = ["error", "kept", "best", "left out", f"error@{n_gold}", f"loss@{n_gold}"]
    print_row("power", header)
    for power in POWERS:
        scaled = replace(constants, skill_scaling_power=power)
        grid = grid_losses(method, crowds, scaled)
        gold = with_gold(method, crowds, scaled, n_gold, seeds)
        grids.append(grid)
        gold_figures.append(gold)
        values = [
            float(grid.error.mean()),
            float(grid.kept().mean()),
            float(grid.loss.mean(axis=0).min()),
            float(grid.left_out()[0].mean()),
            *gold.mean(axis=0).tolist(),
        ]
        print_row(f"{power:g}", values)
    measures = {
        "error": np.stack([grid.error for grid in grids], axis=1),
        "log-loss, kept constants": np.stack([grid.kept() for grid in grids], axis=1),
        "log-loss, left out": np.stack([grid.left_out()[0] for grid in grids], axis=1),
        f"error, {n_gold} gold": np.stack([gold[:, 0] for gold in gold_figures], axis=1),
        f"log-loss, {n_gold} gold": np.stack([gold[:, 1] for gold in gold_figures], axis=1),
    }
    for measure, values_of_set in measures.items():
        print_power_choice(measure, names, values_of_set)


def print_power_choice(measure: str, names: Sequence[str], values: FloatArray) -> None:
    """Print a measure (sets, powers) where the power is chosen without each group, and differences between powers."""
    groups = np.array([group_of_set(name) for name in names])
    chosen = [int(values[groups != group].mean(axis=0).argmin()) for group in groups]
    left_out = np.mean([values[index, power] for index, power in enumerate(chosen)])
    counts = Counter(f"{POWERS[power]:g}" for power in chosen)
    choices = ", ".join(f"{power} for {count} sets" for power, count in counts.most_common())
    print(f"{measure}: chosen by the other groups {left_out:.4f} ({choices})")
    for index in range(len(POWERS) - 1):
        difference = values[:, index] - values[:, -1]
        mean, error = mean_and_error(difference.tolist())
        better = int((difference < -1e-9).sum())
        worse = int((difference > 1e-9).sum())
        print(
            f"    power {POWERS[index]:g} less power {POWERS[-1]:g}: {mean:+.4f} ± {error:.4f}, "
            f"{better} sets better, {worse} worse"
        )


def with_gold(
    method: Method, crowds: Sequence[Crowd], constants: Constants, n_gold: int, seeds: Sequence[int]
) -> FloatArray:
    """Return error and log-loss of each set (rows) with gold labels, means over seeds."""
    rows = []
    for crowd in crowds:
        values = []
        for seed in seeds:
            gold = choose_gold(crowd, n_gold, seed)
            figures = score(fit(method, crowd, gold, judges=False, constants=constants).posterior, crowd.truth, gold)
            values.append([figures.error, figures.log_loss])
        rows.append(np.mean(values, axis=0))
    return np.array(rows)


def print_judges(method: Method, constants: Constants) -> None:
    """Print the four numbers on all panels and without each repository."""
    panels = load_panels()
    law = fit_judge_law(collect_evidence(method, panels, constants), widening=1.0)
    print(f"\nJudges: four numbers on {len(panels)} panels (mean and spread of log b, failure, decay)")
    numbers = [law.judge_mean, law.judge_spread, law.judge_failure, law.judge_decay]
    print_row("fitted", [number for number in numbers if number is not None], digits=3)
    if law.judge_spread is not None:
        print(f"spread as used: {WIDENING:g} times the fitted one, {WIDENING * law.judge_spread:.3f}")
    print_laws(left_out_laws(method, panels, constants))
    print("Figures of panels left out: python -m experiments.default_method.judge_panels")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="people,power,judges")
    parser.add_argument("--power-gold", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=100)
    add_method_options(parser)
    options = parser.parse_args(arguments)
    method = load_method(options.method)
    constants = parse_constants(options.set)
    parts = options.part.split(",")
    print(f"Method {method.name}")
    try:
        if "judges" in parts:
            print_judges(method, constants)
        crowds = [load_public_set(name) for name in PUBLIC_SETS] if {"people", "power"} & set(parts) else []
        if "people" in parts:
            print_people(grid_losses(method, crowds, constants))
        if "power" in parts:
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            compare_powers(method, crowds, constants, options.power_gold, seeds)
    except MissingHookError as error:
        raise SystemExit(f"constants cannot be fitted: {error}") from error


if __name__ == "__main__":
    main()
