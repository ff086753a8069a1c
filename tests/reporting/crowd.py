"""A crowd with everything that a report must show: spammers, a copier, an island, a loner, and hostile names."""

from typing import Any

import numpy as np

from quorate import simulate

SCRIPT, IMAGE, BREAK = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</script><script>alert(3)</script>",
)
HOSTILE = (SCRIPT, IMAGE, BREAK)


def hostile_crowd(n_tasks: int = 150, seed: int = 3) -> dict[str, Any]:
    """Return answers in three columns; a worker, a task and a class have hostile names."""
    rng = np.random.default_rng(seed)
    skills = np.array([0.9, 0.8, 0.85, 0.7, 0.75, 0.6, 0.9, 0.8, 0.0, 0.0, -0.6, 0.5])
    table = simulate.crowd(n_tasks, 12, 4, skills=skills, seed=seed).answer_table.to_pydict()
    rows = list(zip(table["task"], table["worker"], table["label"], strict=True))
    rows += [(task, "copier", label) for task, worker, label in rows if worker == "w2"]
    for k in range(20):
        rows += [(f"far{k}", f"left{k % 2}", f"c{k % 2}"), (f"far{k}", f"right{rng.integers(3)}", f"c{k % 2}")]
    rows += [(f"solo{k}", "loner", "c1") for k in range(5)]
    named = {"w5": SCRIPT, "t7": IMAGE, "c1": BREAK}
    task, worker, label = zip(*((named.get(t, t), named.get(w, w), named.get(c, c)) for t, w, c in rows), strict=True)
    return {"task": list(task), "worker": list(worker), "label": list(label)}
