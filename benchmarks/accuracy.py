"""Print the errors of every method on the public data sets as Markdown, beside those that others reached.

    make accuracy        # what docs/comparison.md shows

Random methods are run with several seeds, and their range is shown.
"""

import sys
from collections.abc import Sequence

from quorate.errors import QuorateError
from quorate.evaluation.compare import compare
from quorate.evaluation.datasets import load

SETS = ["bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web"]
SEEDS = range(3)
RANDOM = {"kos", "opt-ds", "m3v"}
METHODS = [
    "quorate",
    "rank-one-centred",
    "majority",
    "rank-one",
    "iwmv",
    "one-coin",
    "one-coin:zeros=skip",
    "dawid-skene",
    "dawid-skene:zeros=skip",
    "opt-ds",
    "opt-ds:zeros=skip",
    "m3v",
    "m3v-svm",
    "m-msr",
    "er",
    "er:classes=ordered",
    "kos",
    "kos:classes=ordered",
    "kos-svd",
    "kos-svd:classes=ordered",
    "ghosh-svd",
    "ghosh-svd:classes=ordered",
]


def main(methods: Sequence[str]) -> None:
    """Print the table."""
    cells: dict[str, dict[str, str]] = {method: {} for method in methods}
    for name in SETS:
        data = load(name)
        found: dict[str, list[float]] = {method: [] for method in methods}
        for seed in SEEDS:
            wanted = [each for each in methods if seed == SEEDS[0] or each.split(":")[0] in RANDOM]
            for entry in compare(data.answers, data.truth, methods=wanted, seed=seed).entries:
                if entry.error is not None:
                    found[entry.method].append(100 * entry.error)
        for method, errors in found.items():
            cells[method][name] = _cell(errors)
    print(f"| method | {' | '.join(SETS)} |")
    print(f"|---|{'---|' * len(SETS)}")
    for method in methods:
        print(f"| {method} | {' | '.join(cells[method][name] for name in SETS)} |")


def _cell(errors: Sequence[float]) -> str:
    if not errors:
        return "failed"
    low, high = f"{min(errors):.2f}", f"{max(errors):.2f}"
    return low if low == high else f"{low}–{high}"


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or METHODS)
    except QuorateError as error:
        sys.exit(str(error))
