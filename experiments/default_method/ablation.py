"""Switch parts of a default method off, one at a time, and print what changes on the public sets.

    python -m experiments.default_method.ablation [--gold 0,30] [--seeds 3 [--first-seed 100]] [--only TEXT]
                                                  [--method product|prototype:PATH]

Differences are means over the 26 public sets; a positive one is worse. Over 26 sets, differences below .002 of error or
.005 of log-loss are noise.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.default_method.data import PUBLIC_SETS, Crowd, FloatArray, choose_gold, load_public_set
from experiments.default_method.figures import score
from experiments.default_method.methods import (
    Constants,
    Method,
    MissingHookError,
    add_method_options,
    fit,
    load_method,
    parse_constants,
)
from experiments.default_method.report import parse_numbers, print_row

LARGE = 1e6
NO_CORRECTION = (("none", 0.0),)
ALL_CORRECTIONS = (
    *(("none", 0.0), ("vote", 30.0), ("vote", 10.0), ("vote", 3.0)),
    *(("task", 10.0), ("task", 3.0), ("refit", 3.0)),
)


def corrections_without(kind: str) -> tuple[tuple[str, float], ...]:
    """Return all candidate corrections but those of one kind."""
    return tuple(correction for correction in ALL_CORRECTIONS if correction[0] != kind)


VARIANTS = {
    "one response bias for all": Constants(bias_counts=LARGE),
    "skills not shrunk": Constants(least_skill_variance=LARGE),
    "EM starts with one skill": Constants(skill_start=False),
    "1 EM step": Constants(em_steps=1),
    "3 EM steps": Constants(em_steps=3),
    "10 EM steps": Constants(em_steps=10),
    "no workers' own matrices": Constants(own_matrices=False),
    "no scaling by skill": Constants(skill_scaling_power=0.0),
    "scaling to the power 1/2": Constants(skill_scaling_power=0.5),
    "one-factor fit taken as 1": Constants(one_factor_slack=math.inf),
    "no tempering (rho 0)": Constants(dependence_scale=0.0, typical_dependence=0.0),
    "fixed dependence .25": Constants(dependence_scale=0.0, typical_dependence=0.25, typical_worth=1e15),
    "no calibration": Constants(calibrate=False),
    "law not updated by gold": Constants(law_learns_from_gold=False),
    "no correction by gold": Constants(corrections=NO_CORRECTION),
    "no vote corrections": Constants(corrections=corrections_without("vote")),
    "no task corrections": Constants(corrections=corrections_without("task")),
    "no refit after gold": Constants(corrections=corrections_without("refit")),
}
ONLY_WITH_GOLD = {name for name in VARIANTS if "gold" in name or "corrections" in name}
HEADER = ("error", "log-loss", "calib.", "|st-right|")


def mean_figures(
    method: Method, crowds: Sequence[Crowd], n_gold: int, seeds: Sequence[int], constants: Constants
) -> FloatArray:
    """Return the mean error, log-loss, calibration error and stated - right over sets and seeds."""
    rows = []
    for crowd in crowds:
        for seed in seeds if n_gold else seeds[:1]:
            gold = choose_gold(crowd, n_gold, seed) if n_gold else None
            figures = score(fit(method, crowd, gold, judges=None, constants=constants).posterior, crowd.truth, gold)
            rows.append([figures.error, figures.log_loss, figures.calibration_error, figures.overstated])
    mean: FloatArray = np.mean(rows, axis=0)
    return mean


def differences(figures: FloatArray, reference: FloatArray) -> list[str]:
    """Return the changes of error, log-loss, calibration error and |stated - right| of the means."""
    changes = [*(figures[:3] - reference[:3]).tolist(), abs(figures[3]) - abs(reference[3])]
    return [f"{change:+.4f}" for change in changes]


def merged(constants: Constants, variant: Constants) -> Constants:
    """Return constants with those of a variant in place."""
    return replace(constants, **variant.replaced())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold", type=parse_numbers, default=[0, 30])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--sets", default=",".join(PUBLIC_SETS))
    parser.add_argument("--only", default="", help="variants whose name contains this text")
    add_method_options(parser)
    options = parser.parse_args(arguments)
    method = load_method(options.method)
    constants = parse_constants(options.set)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    crowds = [load_public_set(name) for name in options.sets.split(",")]
    missing = []
    for n_gold in options.gold:
        print(f"\nMethod {method.name}, {n_gold} gold labels")
        print_row("", HEADER, width=11, first=30)
        reference = mean_figures(method, crowds, n_gold, seeds, constants)
        print_row("complete", [f"{value:+.4f}" for value in reference.tolist()], width=11, first=30)
        for name, variant in VARIANTS.items():
            if options.only not in name or (n_gold == 0 and name in ONLY_WITH_GOLD):
                continue
            try:
                figures = mean_figures(method, crowds, n_gold, seeds, merged(constants, variant))
            except MissingHookError as error:
                missing.append(f"{name}: {error}")
                continue
            print_row(name, differences(figures, reference), width=11, first=30)
    for line in dict.fromkeys(missing):
        print(f"left out, {line}")


if __name__ == "__main__":
    main()
