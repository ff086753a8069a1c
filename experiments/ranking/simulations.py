"""Print tau, log-loss, coverage and CPU of every simulated set with their targets.

    python -m experiments.ranking.simulations [--repetitions 16] [--first-seed 5000] [--only NAME] [--auto]

Coverage is of the 95% intervals on the scale that `quorate rank` prints, log-odds as the skill-weighted judge sees
them, and also on the scale of the mean judge (strengths times the mean skill). Tolerance of the targets: 0.01 for 16
repetitions.

`known` is tau of the strengths that are estimated with the true skills, side biases and ties: no method that explains
outcomes by strengths and judges does better on average. A method without side biases does, on the set "favoured side":
there strong items are shown on the side that judges prefer, so that the side's wins count for them; on "other side" it
loses as much. Those wins are no evidence on the items, and `quorate rank` does not count them.
"""

import argparse

import numpy as np

from experiments.ranking.figures import Figures, score_quorate
from experiments.ranking.simulated import PANELS, simulate

MIN_COVERAGE = 0.88
MIN_RANK_COVERAGE = 0.93
MEAN_COVERAGE = (0.93, 0.97)
TOLERANCE = 0.01
MAX_TAU_LOSS = 0.03  # against the estimate with known judges; "sparse" and "10 rows per judge" cost about 0.02


def main() -> None:
    """Run the sets and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=5000)
    parser.add_argument("--only", default="")
    parser.add_argument("--auto", action="store_true", help="choose skills by cross-validation, as the command does")
    given = parser.parse_args()
    columns = ("tau", "known", "loss", "cover", "mean", "ranks", "skills", "CPU s")
    print(f"{'set':18} {' '.join(f'{column:>6}' for column in columns)} refused")
    means = []
    for name, panel in PANELS.items():
        if given.only not in name:
            continue
        figures = [
            score_quorate(simulate(panel, given.first_seed + number), judge_skill="auto" if given.auto else "on")
            for number in range(given.repetitions)
        ]
        # An undetermined direction has no interval.
        used = [each for each in figures if not each.refused]
        mean = mean_figures(used)
        means.append(mean.coverage)
        verdict = _verdict(mean.coverage >= MIN_COVERAGE - TOLERANCE, f"coverage below {MIN_COVERAGE}")
        verdict += _verdict(mean.tau >= mean.known_judges_tau - MAX_TAU_LOSS, "tau below that of known judges")
        verdict += _verdict(mean.rank_coverage >= MIN_RANK_COVERAGE - TOLERANCE, f"ranks below {MIN_RANK_COVERAGE}")
        print(
            f"{name:18} {mean.tau:6.3f} {mean.known_judges_tau:6.3f} {mean.log_loss:6.3f} {mean.coverage:6.3f} "
            f"{mean.mean_judge_coverage:6.3f} {mean.rank_coverage:6.3f} {mean.skill_coverage:6.3f} {mean.cpu:6.2f} "
            f"{len(figures) - len(used)}{verdict}"
        )
    average = float(np.mean(means))
    is_held = MEAN_COVERAGE[0] - TOLERANCE <= average <= MEAN_COVERAGE[1] + TOLERANCE
    verdict = "held" if is_held else "MISSED"
    print(f"mean coverage {average:.3f} (target {MEAN_COVERAGE[0]} to {MEAN_COVERAGE[1]}): {verdict}")


def mean_figures(figures: list[Figures]) -> Figures:
    """Average the repetitions of one set."""
    values = {
        name: float(np.mean([getattr(each, name) for each in figures]))
        for name in (
            *("tau", "known_judges_tau", "log_loss", "coverage", "mean_judge_coverage", "rank_coverage"),
            *("skill_coverage", "cpu"),
        )
    }
    return Figures(refused=False, **values)


def _verdict(is_held: bool, text: str) -> str:
    return "" if is_held else f"  MISSED: {text}"


if __name__ == "__main__":
    main()
