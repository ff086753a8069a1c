"""Print tau, log-loss, coverage and CPU of every simulated set beside the figures to hold.

    python -m experiments.ranking.simulations [--repetitions 16] [--first-seed 5000] [--only NAME] [--auto]

Coverage is of the 95% intervals on the scale that `quorate rank` prints. Tolerance of the targets: 0.01 for 16
repetitions.
"""

import argparse

import numpy as np

from experiments.ranking.figures import Figures, score_quorate
from experiments.ranking.simulated import PANELS, simulate

MIN_COVERAGE = 0.88
MIN_RANK_COVERAGE = 0.93
MEAN_COVERAGE = (0.93, 0.97)
TOLERANCE = 0.01


def main() -> None:
    """Run the sets and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=5000)
    parser.add_argument("--only", default="")
    parser.add_argument("--auto", action="store_true", help="choose skills by cross-validation, as the command does")
    given = parser.parse_args()
    print(f"{'set':18} {'tau':>6} {'loss':>6} {'cover':>6} {'ranks':>6} {'skills':>6} {'CPU s':>6} refused")
    means = []
    for name, panel in PANELS.items():
        if given.only not in name:
            continue
        figures = [
            score_quorate(simulate(panel, given.first_seed + number), judge_skill="auto" if given.auto else "on")
            for number in range(given.repetitions)
        ]
        # A direction that is refused gives no interval.
        used = [each for each in figures if not each.refused]
        mean = mean_figures(used)
        means.append(mean.coverage)
        verdict = _verdict(mean.coverage >= MIN_COVERAGE - TOLERANCE, f"coverage below {MIN_COVERAGE}")
        verdict += _verdict(mean.rank_coverage >= MIN_RANK_COVERAGE - TOLERANCE, f"ranks below {MIN_RANK_COVERAGE}")
        print(
            f"{name:18} {mean.tau:6.3f} {mean.log_loss:6.3f} {mean.coverage:6.3f} {mean.rank_coverage:6.3f} "
            f"{mean.skill_coverage:6.3f} {mean.cpu:6.2f} {len(figures) - len(used)}{verdict}"
        )
    average = float(np.mean(means))
    is_held = MEAN_COVERAGE[0] - TOLERANCE <= average <= MEAN_COVERAGE[1] + TOLERANCE
    verdict = "held" if is_held else "MISSED"
    print(f"mean coverage {average:.3f} (target {MEAN_COVERAGE[0]} to {MEAN_COVERAGE[1]}): {verdict}")


def mean_figures(figures: list[Figures]) -> Figures:
    """Average the repetitions of one set."""
    values = {
        name: float(np.mean([getattr(each, name) for each in figures]))
        for name in ("tau", "log_loss", "coverage", "rank_coverage", "skill_coverage", "cpu")
    }
    return Figures(refused=False, **values)


def _verdict(is_held: bool, text: str) -> str:
    return "" if is_held else f"  MISSED: {text}"


if __name__ == "__main__":
    main()
