"""Comparisons of simulated judges as columns, for the tests of ranking."""

from typing import Any

import numpy as np

Columns = dict[str, list[Any]]


def votes(
    n_items: int = 8,
    n_judges: int = 6,
    n_rows: int = 900,
    *,
    skills: list[float] | None = None,
    side: float = 0.0,
    log_tie: float | None = None,
    n_tasks: int | None = None,
    seed: int = 0,
) -> Columns:
    """Draw comparisons by the model; item names are in the order of their strength, i0 the strongest."""
    rng = np.random.default_rng([seed, 5])
    strength = np.sort(rng.standard_normal(n_items))[::-1]
    skill = np.ones(n_judges) if skills is None else np.array(skills)
    left = rng.integers(0, n_items, n_rows)
    right = (left + rng.integers(1, n_items, n_rows)) % n_items
    judge = rng.integers(0, len(skill), n_rows)
    eta = skill[judge] * (strength[left] - strength[right]) + side
    weights = [np.exp(eta / 2), np.exp(-eta / 2)]
    weights.append(np.zeros(n_rows) if log_tie is None else np.full(n_rows, np.exp(log_tie)))
    probability = np.stack(weights) / np.sum(weights, axis=0)
    draw = rng.random(n_rows)
    outcome = np.where(draw < probability[0], "left", np.where(draw < probability[:2].sum(axis=0), "right", "tie"))
    columns: Columns = {
        "left": [f"i{code}" for code in left],
        "right": [f"i{code}" for code in right],
        "winner": outcome.tolist(),
        "judge": [f"j{code}" for code in judge],
    }
    if n_tasks is not None:
        columns["task"] = [f"t{code}" for code in rng.integers(0, n_tasks, n_rows)]
    return columns


def strengths(ranking: Any) -> dict[str, float]:
    """Return the strength of each item by its name."""
    return dict(zip(ranking.comparisons.items, ranking.strengths.tolist(), strict=True))


def swapped(columns: Columns) -> Columns:
    """Exchange the sides of every row, and the answers."""
    other = {"left": "right", "right": "left", "tie": "tie"}
    exchanged = dict(columns)
    exchanged["left"] = columns["right"]
    exchanged["right"] = columns["left"]
    exchanged["winner"] = [other[value] for value in columns["winner"]]
    return exchanged


def rows_of(columns: Columns, order: Any) -> Columns:
    """Take rows by position."""
    return {name: [values[place] for place in order] for name, values in columns.items()}
