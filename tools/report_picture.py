"""Take the pictures of docs/report.md: the report of a simulated crowd, on a desk, in the dark and on a phone.

    python -m tools.report_picture [FOLDER]    # docs/pictures by default; needs chromium

The crowd has spammers, one who turned the classes round, one who copies another, and an island of two sides.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.reporting.browser import Browser

from quorate import simulate
from quorate.reporting.report import report

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
LOOKS: dict[str, dict[str, Any]] = {
    "report-desk": {"width": 1180, "height": 1330},
    "report-dark": {"width": 1180, "height": 1330, "dark": True},
    "report-phone": {"width": 390, "height": 1330},
}


def crowd() -> dict[str, list[str]]:
    """Return answers in three columns."""
    rng = np.random.default_rng(3)
    skills = np.concatenate([rng.uniform(0.5, 0.95, 18), [0.02, -0.03, 0.0], [-0.45], rng.uniform(0.3, 0.6, 3)])
    activity = simulate.zipf_activity(len(skills), 0.4)[rng.permutation(len(skills))]
    made = simulate.crowd(600, len(skills), 5, n_classes=3, skills=skills, activity=activity, seed=3)
    rows = [tuple(row.values()) for row in made.answer_table.to_pylist()]
    rows += [(task, "w99", label) for task, worker, label in rows if worker == "w2" and rng.random() < 0.9]
    for k in range(60):
        for worker in (f"x{rng.integers(2)}", f"y{rng.integers(3)}"):
            rows.append((f"u{k}", worker, f"c{k % 3 if rng.random() < 0.8 else 1}"))
    rows += [(f"v{k}", "z0", "c2") for k in range(9)]
    tone = {"c0": "glad", "c1": "flat", "c2": "cross"}
    tasks, workers, labels = zip(*rows, strict=True)
    return {"task": list(tasks), "worker": list(workers), "label": [tone[each] for each in labels]}


def main(folder: Path) -> None:
    """Write one picture for each look."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, Browser() as browser:
        page = report(crowd(), title="Tone of reviews, March").write(Path(place) / "report.html")[0]
        for name, look in LOOKS.items():
            browser.look(**look)
            browser.open(page)
            browser.screenshot(folder / f"{name}.png", whole=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
