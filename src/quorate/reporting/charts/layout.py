"""Where to draw the workers of the interaction graph: each component in a disc of its own, the discs side by side.

Everything starts from fixed places and takes a fixed number of steps, so the same graph is always drawn alike.
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.meetings.graph import grouped

STEPS = 150
GOLDEN = np.pi * (3 - np.sqrt(5))  # turning by this angle spreads points evenly over a disc
ASPECT = 1.5  # a drawing is this much wider than high


@dataclass(frozen=True)
class Layout:
    """Places of workers, and a disc around each component."""

    at: FloatArray  # shape (workers, 2)
    centre: FloatArray  # shape (components, 2)
    radius: FloatArray

    def fitted(self, width: float, most_height: float) -> tuple["Layout", int]:
        """Scale and move everything into a rectangle; return its height as well."""
        low = (self.centre - self.radius[:, None]).min(axis=0)
        size = (self.centre + self.radius[:, None]).max(axis=0) - low
        scale = min(width / size[0], most_height / size[1])
        shift = np.array([(width - scale * size[0]) / 2, 0.0])
        at, centre = ((places - low) * scale + shift for places in (self.at, self.centre))
        return Layout(at, centre, self.radius * scale), int(np.ceil(scale * size[1]))


def place(component: IntArray, i: IntArray, j: IntArray, weight: FloatArray) -> Layout:
    """Place workers so that those who share many tasks are near each other.

    Args:
        component: of each worker, numbered from 0, the largest first.
        i: one end of each edge.
        j: the other end.
        weight: how strongly each edge pulls.

    >>> triangle_and_loner = place(np.array([0, 0, 0, 1]), np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3))
    >>> triangle_and_loner.radius.round(2).tolist()
    [2.23, 1.5]
    """
    n_components = int(component.max(initial=-1)) + 1
    members = grouped(component, n_components)
    edges = grouped(component[i], n_components)
    radius = 0.5 + np.sqrt(np.array([len(own) for own in members], np.float64))
    centre = _pack(radius)
    at = np.zeros((len(component), 2))
    for number, (own, inside) in enumerate(zip(members, edges, strict=True)):
        one, two = (np.searchsorted(own, end[inside]) for end in (i, j))
        at[own] = centre[number] + (radius[number] - 0.5) * _relax(len(own), one, two, weight[inside])
    return Layout(at, centre, radius)


def _relax(n: int, i: IntArray, j: IntArray, weight: FloatArray) -> FloatArray:
    """Let edges pull and all nodes push (Fruchterman and Reingold 1991) until they rest; within the unit disc."""
    if n == 1:
        return np.zeros((1, 2))
    turn = GOLDEN * np.arange(n)
    at = np.sqrt((np.arange(n) + 0.5) / n)[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    pull = np.zeros((n, n))
    pull[i, j] = pull[j, i] = weight / weight.max(initial=1e-9)
    ideal = np.sqrt(np.pi / n)
    for step in range(STEPS):
        x, y = (each - each[:, None] for each in at.T.copy())  # to whoever is in the column, from whoever is in the row
        distance = np.sqrt(x * x + y * y) + 1e-9
        force = ideal**2 / distance**2 - pull * distance / ideal
        np.fill_diagonal(force, 0.0)
        move = np.stack([(force * x).sum(axis=0), (force * y).sum(axis=0)], axis=1)
        length = np.sqrt((move**2).sum(axis=1)) + 1e-9
        most = 0.3 * (1 - step / STEPS) ** 2 + 1e-3  # ever smaller steps
        at += move * (np.minimum(length, most) / length)[:, None]
    at -= (at.max(axis=0) + at.min(axis=0)) / 2
    spread: FloatArray = at / np.sqrt((at**2).sum(axis=1)).max()
    return spread


def _pack(radius: FloatArray) -> FloatArray:
    """Put discs side by side: each as near to the middle as it finds room."""
    centre = np.zeros((len(radius), 2))
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    around = np.stack([ASPECT * np.cos(angles), np.sin(angles)], axis=1)
    for k in range(1, len(radius)):
        distance = 0.0
        while True:
            distance += 0.25 * radius[k]
            tried = centre[0] + distance * around
            gaps = np.sqrt(((tried[:, None] - centre[None, :k]) ** 2).sum(axis=2)) - radius[:k]
            free = np.flatnonzero(gaps.min(axis=1) >= radius[k])
            if len(free):
                centre[k] = tried[free[0]]
                break
    return centre
