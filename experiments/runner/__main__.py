"""Run the paper's experiments: python -m experiments.runner [ITEM]... [-o FOLDER] [--quick] [--seed N] [--list]."""

import sys
from argparse import ArgumentParser
from pathlib import Path

from experiments.runner.reproduce import ITEMS, reproduce
from quorate.cli.terminal import print_lines, print_table, showing_progress


def main() -> None:
    """Parse the arguments, run the items, and print how each ended."""
    parser = ArgumentParser(prog="python -m experiments.runner", description="Run the paper's experiments.")
    parser.add_argument("items", nargs="*", metavar="ITEM", help="all by default; see --list")
    parser.add_argument("-o", "--output", metavar="FOLDER", default="reproduction", help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="fewer trials: minutes instead of half an hour")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    parser.add_argument("--list", action="store_true", dest="show", help="list the items and stop")
    options = parser.parse_args()
    if options.show:
        print_table("Items", ["item", "what it shows"], [[name, item.title] for name, item in ITEMS.items()])
        return
    folder = Path(options.output)
    with showing_progress():
        outcomes = reproduce(options.items or ("all",), folder, quick=options.quick, seed=options.seed)
    lines = [f"{item.name}: {item.status}{f' ({item.reason})' if item.reason else ''}" for item in outcomes]
    print_lines([*lines, f"open {folder / 'index.html'}"])
    if any(item.status == "failed" for item in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main()
