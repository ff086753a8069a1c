"""Print the errors of every method on the public data sets as Markdown.

    make accuracy        # the tables of docs/accuracy.md: the seven sets of the papers, the others, addresses
    python benchmarks/accuracy.py quorate majority    # some methods only

Methods that draw random numbers are run with several seeds, and the range of their errors is shown.
"""

import sys
from collections.abc import Sequence

import numpy as np

from quorate.datasets import load
from quorate.datasets.sources import SEVEN, SOURCES
from quorate.errors import QuorateError
from quorate.evaluation.compare import compare

SEVEN_AS_SHOWN = ["bluebird", "rte1", "temp", "wsd", "trec", "dogs", "web"]
OTHERS = [name for name in SOURCES if name not in SEVEN]
SEEDS = range(3)
RANDOM = {"kos", "opt-ds", "m3v", "mace"}
Errors = dict[str, list[float]]  # by method: errors on one set in percent, several if it draws random numbers
METHODS = [
    "quorate",
    "rank-one-centred",
    "majority",
    "rank-one",
    "iwmv",
    "wawa",
    "zero-based-skill",
    "one-coin",
    "one-coin:zeros=skip",
    "dawid-skene",
    "dawid-skene:zeros=skip",
    "opt-ds",
    "opt-ds:zeros=skip",
    "m3v",
    "m3v-svm",
    "glad",
    "mace",
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
    """Print a table of the seven sets, one of the other sets, one of the means, and one of all sets with addresses."""
    every: dict[str, Errors] = {}
    for sets in (SEVEN_AS_SHOWN, OTHERS):
        every |= {name: _errors(name, methods) for name in sets}
        print(f"\n| method | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
        for method in methods:
            print(f"| {method} | {' | '.join(_cell(every[name][method]) for name in sets)} |", flush=True)
    print(f"\n| method | mean over all {len(every)} | loses more than two points to majority vote on |\n|---|---|---|")
    means = {method: _mean(every, method) for method in methods}
    for method in sorted(methods, key=lambda name: means[name]):
        print(f"| {method} | {means[method]:.1f} | {_lost(every, method)} |")
    print("\n| set | tasks | workers | answers | classes | published by | address |\n|---|---|---|---|---|---|---|")
    for source in SOURCES.values():
        a = load(source.name).answers
        where = ", ".join(f"[{address.rpartition('/')[2]}]({address})" for address in source.addresses)
        sizes = f"{a.n_tasks:,} | {a.n_workers:,} | {a.n_answers:,} | {a.n_classes}"
        print(f"| {source.name} | {sizes} | {source.citation} | {where} |")


def _mean(every: dict[str, Errors], method: str) -> float:
    """Return the mean over all sets of the means over seeds; infinite if the method failed on a set."""
    return float(np.mean([np.mean(errors[method]) if errors[method] else np.inf for errors in every.values()]))


def _lost(every: dict[str, Errors], method: str) -> int:
    """Return the number of sets on which a method is more than two points worse than majority vote."""
    if "majority" not in next(iter(every.values())):
        return 0
    return sum(
        not errors[method] or float(np.mean(errors[method])) > errors["majority"][0] + 2 for errors in every.values()
    )


def _errors(name: str, methods: Sequence[str]) -> Errors:
    """Return the errors of each method on a set, in percent; several if it draws random numbers."""
    data = load(name)
    found: Errors = {method: [] for method in methods}
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
    low = f"{min(errors):.2f}"
    high = f"{max(errors):.2f}"
    return low if low == high else f"{low}–{high}"


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or METHODS)
    except QuorateError as error:
        sys.exit(str(error))
