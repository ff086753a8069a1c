"""Errors of methods that depend on the order of the workers or on a seed, for docs/accuracy.md and docs/methods.md.

    python -m benchmarks.random_orders [--repeats 20]

`opt-ds` divides the workers into three groups by the order of their ids, so the workers are renamed at random. `m3v`
draws random numbers, so it is run with different seeds.
"""

import argparse
import sys

import numpy as np
import pyarrow as pa

import quorate
from quorate.datasets import load
from quorate.evaluation.metrics import expected_error


def renamed(answers: quorate.Answers, seed: int) -> quorate.Answers:
    """Return the answers with workers in random order."""
    names = np.random.default_rng(seed).permutation(answers.n_workers)
    table = {
        "task": answers.task_names.take(pa.array(np.asarray(answers.task))),
        "worker": pa.array([f"w{name:05}" for name in names[np.asarray(answers.worker)]]),
        "label": answers.classes.take(pa.array(np.asarray(answers.label))),
    }
    return quorate.read(table, classes=answers.classes.to_pylist())


def main(arguments: list[str]) -> None:
    """Print the sorted errors of each method and dataset, in percent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args(arguments)
    for method, name in (("opt-ds", "rte1"), ("opt-ds", "web"), ("m3v", "bluebird")):
        data = load(name)
        errors = []
        for seed in range(options.repeats):
            if method == "opt-ds":
                result = quorate.aggregate(renamed(data.answers, seed), method)
            else:
                result = quorate.aggregate(data.answers, method, seed=seed)
            errors.append(expected_error(result, data.truth).error)
        print(f"{method} on {name}: " + " ".join(f"{100 * error:.1f}" for error in sorted(errors)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
