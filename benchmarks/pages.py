"""CPU and wall seconds of `quorate report`, on a public crowd and on a large one: the figures of docs/performance.md.

python benchmarks/pages.py              # dogs, and 2,000 workers on 50,000 tasks; a minute
python benchmarks/pages.py --only dogs
"""

import argparse
import sys
import tempfile
from pathlib import Path

from speed import measure

from quorate.answers import Answers
from quorate.datasets import load
from quorate.io.write_table import write_table
from quorate.simulate import crowd

# Largest acceptable CPU and wall seconds of a page, for a user who renews it after every batch; a judgement.
GOALS = {"dogs": 3.0, "2,000 workers on 50,000 tasks": 8.0}


def answers_of(name: str) -> Answers:
    """Return a public crowd, or one of known size with five answers per task."""
    return load(name).answers if name == "dogs" else crowd(50_000, 2_000, 5, seed=0).answers


def main() -> None:
    """Print a row per crowd: the smallest times of the repeats."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of a crowd's name")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    print("| crowd | answers | CPU s | wall s | goal | page |\n|---|---|---|---|---|---|", flush=True)
    for name, goal in GOALS.items():
        if given.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "crowd.csv"
            page = Path(folder) / "page.html"
            answers = answers_of(name)
            write_table(answers.to_table(), source)
            command = [sys.executable, "-m", "quorate", "report", str(source), "-o", str(page)]
            runs = [measure(command, in_memory=False) for _ in range(given.repeats)]
            cpu, wall = (min(each[k] for each in runs) for k in (0, 1))
            size = f"{page.stat().st_size / 1e6:.1f} MB"
        print(f"| {name} | {answers.n_answers:,} | {cpu:.1f} | {wall:.1f} | {goal:g} | {size} |", flush=True)


if __name__ == "__main__":
    main()
