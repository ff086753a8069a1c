"""Crowds who say more than classes: grades that point to one, and abstentions that tell of the truth or do not."""

from typing import Any

import numpy as np
import pyarrow as pa

GRADES = [str(grade) for grade in range(10)]
SCALE = {grade: None if grade == "5" else "toxic" if grade > "5" else "fine" for grade in GRADES}
READING: dict[str, Any] = {"map": SCALE, "abstain": ["unsure", "skip"], "skip_missing": True}
TELLING = [[0.02, 0.15, 0.03], [0.2, 0.02, 0.03]]  # how often one is unsure, skips or leaves blank, by the true class
AT_RANDOM = [[0.1, 0.05, 0.03]] * 2


def judged(
    seed: int = 0, n_tasks: int = 400, abstention_rates: Any = TELLING, n_judges: int = 9
) -> tuple[pa.Table, Any]:
    """Let judges grade from 0 to 9, each on a scale of its own, and abstain; rows in any order, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    scale, offset, noise = rng.uniform(1, 2.5, n_judges), rng.uniform(3, 5, n_judges), rng.uniform(0.6, 1.4, n_judges)
    seen = (2 * truth - 1)[:, None] + rng.normal(0, noise, (n_tasks, n_judges))
    grade = np.clip(np.rint(offset + scale * seen), 0, 9).astype(int)
    ways = np.cumsum(np.array(abstention_rates), axis=1)[truth]
    looks = rng.random(grade.shape) < 0.6
    answer = np.where(looks, (rng.random(grade.shape)[:, :, None] > ways[:, None, :]).sum(axis=2), -1)
    sure = np.arange(n_tasks), np.arange(n_tasks) % n_judges  # every task has an answer
    answer[sure], grade[sure] = 3, grade[sure] + (grade[sure] == 5)
    task, worker = (each.ravel() for each in np.indices(grade.shape))
    words = np.array(["unsure", "skip", "", None], dtype=object)
    label = np.where(answer.ravel() == 3, np.array(GRADES, dtype=object)[grade.ravel()], words[answer.ravel()])
    rows = rng.permutation(np.flatnonzero(answer.ravel() >= 0))
    columns = {"task": [f"t{code:04d}" for code in task[rows]], "worker": [f"judge {code}" for code in worker[rows]]}
    return pa.table({**columns, "label": pa.array(label[rows].tolist(), pa.string())}), truth


def known(truth: Any) -> dict[str, str]:
    """Return the true labels of some tasks."""
    return {f"t{code:04d}": ["fine", "toxic"][truth[code]] for code in range(0, len(truth), 8)}


def cut(table: pa.Table) -> pa.Table:
    """Leave the classes of the grades, and nothing else that was answer."""
    label = [SCALE.get(each) for each in table["label"].to_pylist()]
    is_class = pa.array([each is not None for each in label])
    return table.set_column(2, "label", pa.array(label, pa.string())).filter(is_class)


def abstaining_at_random(seed: int) -> tuple[pa.Table, pa.Table]:
    """Let judges give classes and abstain, whatever is true: all rows, and those that are answers."""
    table, _ = judged(seed, abstention_rates=AT_RANDOM)
    label = [{**SCALE, "5": "fine"}.get(each, each) for each in table["label"].to_pylist()]
    table = table.set_column(2, "label", pa.array(label, pa.string()))
    return table, table.filter(pa.array([each in ("fine", "toxic") for each in label]))


def renamed_grades(table: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
    """Give the grades other names, in the table and in its map."""
    turn = np.random.default_rng(1).permutation(10)
    names = {grade: f"g{other}" for grade, other in zip(GRADES, turn, strict=True)}
    label = [names.get(each, each) for each in table["label"].to_pylist()]
    scale = {names[grade]: point for grade, point in SCALE.items()}
    return table.set_column(2, "label", pa.array(label, pa.string())), {**READING, "map": scale}
