"""Print which methods have a much larger error than majority vote on public crowds, and which of them warn about it.

    python benchmarks/doubts.py [--more FOLDER] [SETS]    # the seven sets by default; FOLDER has the nineteen others

Much larger means: twice the error of majority vote and ten points above it. `left` is the mean skill by the labels
divided by that by the workers' agreement (`implied_skills`); `least` is its minimum over the other methods.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from experiments.calibration.public_crowds import NAMES, SEVEN, PublicCrowd, public_crowd

from quorate.errors import QuorateError
from quorate.methods.aggregate import aggregate
from quorate.methods.contradiction import implied_skills
from quorate.methods.registry import METHODS
from quorate.notes import CONTRADICTION, NOT_CONVERGED
from quorate.result import Result

SKIPPED = {"majority", "gold-majority"}
SLOW = {"m3v", "m3v-svm", "opt-ds", "mace", "glad", "m-msr"}
MANY = 20_000  # answers above which the slow methods are left out


def main(sets: list[str], more: Path) -> None:
    """Print a line for each result with a much larger error or with a warning, and one for each set."""
    for name in sets:
        crowd = public_crowd(name, more)
        vote = _error(crowd, aggregate(crowd.answers, "majority"))
        least = 1.0
        for method in sorted(set(METHODS) - SKIPPED - (SLOW if crowd.answers.n_answers > MANY else set())):
            try:
                result = aggregate(crowd.answers, method)
            except QuorateError as refused:
                print(f"{name:17}{method:18}{str(refused)[:80]}")
                continue
            error = _error(crowd, result)
            left = _left(result)
            is_far = error > max(2 * vote, vote + 0.1)
            warnings = [note.kind for note in result.notes if note.kind in (CONTRADICTION, NOT_CONVERGED)]
            least = least if is_far else min(least, left)
            if is_far or CONTRADICTION in warnings:
                print(f"{name:17}{method:18}error {error:.3f}  left {left:5.2f}  says {', '.join(warnings) or 'none'}")
        print(f"{name:17}{'the vote':18}error {vote:.3f}  least {least:.2f}", flush=True)


def _error(crowd: PublicCrowd, result: Result) -> float:
    scored = crowd.truth != -1
    return float(np.mean((result.vote.label != crowd.truth)[scored]))


def _left(result: Result) -> float:
    by_labels, by_agreement = implied_skills(result.answers, result.vote.label)
    return by_labels / by_agreement if by_agreement > 0 else 1.0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", choices=[*NAMES, []], help="which; the seven by default")
    parser.add_argument("--more", type=Path, default=Path("more"), help="the folder of the nineteen others")
    given = parser.parse_args()
    try:
        main(given.sets or list(SEVEN), given.more)
    except QuorateError as error:
        sys.exit(str(error))
