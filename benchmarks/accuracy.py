"""Print the errors of every method on the public data sets as Markdown, beside those that others reached.

    make accuracy        # what docs/comparison.md shows: the seven sets of the papers, the fourteen others, addresses
    python benchmarks/accuracy.py quorate majority    # some methods only

Random methods are run with several seeds, and their range is shown.
"""

import sys
from collections.abc import Sequence

import numpy as np

from quorate.errors import QuorateError
from quorate.evaluation.compare import compare
from quorate.evaluation.datasets import load
from quorate.evaluation.public_sets import SEVEN, SOURCES

SEVEN_AS_SHOWN = ["bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web"]
OTHERS = [name for name in SOURCES if name not in SEVEN]
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
    """Print a table of the seven sets, one of the others, and where all of them are."""
    for sets in (SEVEN_AS_SHOWN, OTHERS):
        errors = {name: _errors(name, methods) for name in sets}
        print(f"\n| method | {' | '.join(sets)} |{' mean |' if sets is OTHERS else ''}")
        print(f"|---|{'---|' * (len(sets) + (sets is OTHERS))}")
        for method in methods:
            cells = [_cell(errors[name][method]) for name in sets]
            found = [np.mean(errors[name][method]) for name in sets if errors[name][method]]
            mean = [f"{np.mean(found):.2f}" if len(found) == len(sets) else "–"] if sets is OTHERS else []
            print(f"| {method} | {' | '.join([*cells, *mean])} |", flush=True)
    print("\n| set | tasks | workers | answers | classes | published by | address |\n|---|---|---|---|---|---|---|")
    for source in SOURCES.values():
        a = load(source.name).answers
        where = ", ".join(f"[{address.rpartition('/')[2]}]({address})" for address in source.addresses)
        sizes = f"{a.n_tasks:,} | {a.n_workers:,} | {a.n_answers:,} | {a.n_classes}"
        print(f"| {source.name} | {sizes} | {source.citation} | {where} |")


def _errors(name: str, methods: Sequence[str]) -> dict[str, list[float]]:
    """Return the errors of each method on a set, in percent; several where it draws random numbers."""
    data = load(name)
    found: dict[str, list[float]] = {method: [] for method in methods}
    for seed in SEEDS:
        wanted = [each for each in methods if seed == SEEDS[0] or each.split(":")[0] in RANDOM]
        for entry in compare(data.answers, data.truth, methods=wanted, seed=seed).entries if wanted else ():
            if entry.error is not None:
                found[entry.method].append(100 * entry.error)
    print(f"{name} done", file=sys.stderr, flush=True)
    return found


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
