"""Draw the figure of docs/accuracy.md: the share of copying pairs that are found, by their number of shared tasks.

python -m benchmarks.power_picture [CROWDS A SETTING]
"""

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from experiments.runner.figures import axis, lines
from experiments.runner.render import converter
from experiments.simulation.planted_faults import copying
from tests.diagnostics.samples import named_pairs

from quorate.simulate import crowd

PICTURE = Path(__file__).parent.parent / "docs" / "diagnosis.svg"


def power_curve(n_crowds: int) -> Iterator[dict[str, Any]]:
    """Yield the power of the pair test by shared tasks: 30 workers, ten answers per task."""
    for m, share, tasks in product((2, 4), (0.3, 0.6, 0.9), (250, 400, 800, 1600, 3200)):
        hits = []
        for seed in range(n_crowds):
            rng = np.random.default_rng([seed, tasks, int(10 * share), m])
            simulated = crowd(tasks, 30, 10, n_classes=m, skills=rng.uniform(0, 1, 30), seed=rng)
            chosen = np.sort(rng.permutation(30)[:8].reshape(-1, 2), axis=1)
            named, _ = named_pairs(copying(simulated.answers, chosen, share, rng))
            hits += [(int(i), int(j)) in named for i, j in chosen]
        shared = tasks * (10 * 9) / (30 * 29)  # on average
        yield {
            "classes": f"{m} classes",
            "copied": f"{share:.0%} of answers copied",
            "shared": shared,
            "found": float(np.mean(hits)),
        }


def main(n_crowds: int) -> None:
    """Draw the share of copying pairs that are found, by shared tasks."""
    order = [f"{share} of answers copied" for share in ("90%", "60%", "30%")]
    x = axis("x", "shared", "tasks that both answered", log=True)
    y = axis("y", "found", "copying pairs that are named", domain=(0, 1))
    panels = ["2 classes", "4 classes"]
    rows = list(power_curve(n_crowds))
    chart = lines(rows, x, y, "copied", order=order, panels="classes", panel_order=panels)
    PICTURE.write_text(converter().vegalite_to_svg(chart))
    print(f"drew {PICTURE.name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
