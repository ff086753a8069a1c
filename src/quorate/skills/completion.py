"""Rank-one completion of any symmetric matrix, of which some entries are known [Ma20, contributions; Thm learnability].

Nothing here is about workers: x xᵀ is fitted to the given entries, weighted, and the graph of the entries decides
which others follow from them. In a component with an odd cycle x is determined up to one sign, and every entry with it.
In one without, x is not, but the entries between its two sides are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import OptionError, unknown
from quorate.meetings.graph import Identifiability, identify_pairs
from quorate.meetings.pairs import PairStats
from quorate.skills import SOLVERS, Problem, from_pairs
from quorate.skills.optima import PairTable, least, logarithms
from quorate.skills.solution import Rival

SAME = 1e-6  # share of the entries' mean square: optima closer than that are as good, whatever the noise
REACH = 10.0  # how many times the first fit of its logarithm an x may be


@dataclass(frozen=True)
class Completion:
    """The vector, what of it is determined, and how it was reached."""

    x: FloatArray  # NaN where not determined; in each component the sign is such that it sums to more than zero
    verdict: Identifiability  # of the graph of the entries: components, and a witness for each
    side: IntArray  # of each row in a component without an odd cycle: 0 or 1; elsewhere 0
    status: str  # `converged`, or why not
    loss: float  # 1/2 sum of weight·(value - x_i x_j)²
    distance: float  # of x from the optimum, relative to its size, on average: the certificate
    sweeps: int
    rival: Rival | None  # another optimum that is nearly as good, if weights are inverse variances
    fitted: FloatArray  # x, with one of many solutions where it is not determined

    @property
    def converged(self) -> bool:
        """Whether the certificate was met."""
        return self.status == "converged"

    @property
    def known(self) -> BoolArray:
        """Which entries of the matrix follow from those given."""
        component = self.verdict.component
        same = component[:, None] == component
        across = self.side[:, None] != self.side
        found: BoolArray = same & (self.verdict.determined[:, None] | across)
        return found

    def matrix(self) -> FloatArray:
        """Return x xᵀ, NaN where nothing follows."""
        return np.where(self.known, np.outer(self.fitted, self.fitted), np.nan)


def complete(
    i: Sequence[int] | IntArray,
    j: Sequence[int] | IntArray,
    values: Sequence[float] | FloatArray,
    weights: Sequence[float] | FloatArray | None = None,
    *,
    size: int | None = None,
    solver: str = "coordinate",
    tolerance: float = 1e-5,
) -> Completion:
    """Find x such that x_i x_j comes nearest to the given entries of a symmetric matrix, and say what is determined.

    Args:
        i: rows of the entries, from 0.
        j: their columns; an entry off the diagonal is given once, in either triangle.
        values: the entries.
        weights: how much each counts, best the inverse of its variance; alike by default.
        size: how many rows the matrix has; by default as many as the largest position needs.
        solver: ``coordinate`` or ``gradient``.
        tolerance: for the distance to the optimum, relative to the size of x.

    Raises:
        OptionError: lengths differ, a position is negative, on the diagonal or given twice, a weight is not positive.

    >>> import quorate
    >>> x = np.array([30.0, -0.2, 5.0, 0.01])
    >>> found = quorate.complete([0, 0, 1, 2], [1, 2, 2, 3], [-6.0, 150.0, -1.0, 0.05])
    >>> found.x.round(6).tolist(), found.status
    ([30.0, -0.2, 5.0, 0.01], 'converged')
    >>> quorate.complete([0, 1], [1, 2], [2.0, 3.0]).matrix().round(6).tolist()  # no odd cycle: two sides
    [[nan, 2.0, nan], [2.0, nan, 3.0], [nan, 3.0, nan]]
    """
    if solver not in [name for name in SOLVERS if name != "exponentiated"]:
        raise unknown(solver, [name for name in SOLVERS if name != "exponentiated"], "solver")
    rows, columns, entries, weight = _checked(i, j, values, weights)
    n = max(int(max(rows.max(initial=-1), columns.max(initial=-1))) + 1, size or 0)
    verdict = identify_pairs(PairStats.linked(rows, columns), n)
    # x = d y turns weights w into w d_i² d_j² and values v into v / (d_i d_j), of size one, whatever the scale was.
    scale = np.exp(logarithms(n, rows, columns, weight * entries**2, np.log(np.maximum(np.abs(entries), 1e-300))))
    product = scale[rows] * scale[columns]
    energy = float(np.mean(weight * entries**2)) if len(rows) else 1.0
    noise = SAME * max(energy, 1e-300) if weights is None else 1.0  # without weights nothing is said of the noise
    unit = PairTable(rows, columns, weight * product**2, entries / product, noise=noise)
    moments = from_pairs(n, unit.i, unit.j, unit.weights, unit.correlation)
    problem = Problem(moments, np.full(n, -REACH), np.full(n, REACH), np.ones(n))
    found = least(problem, unit, lambda start: SOLVERS[solver](problem, start, tolerance=tolerance))
    fitted = found.skills * scale
    fitted *= np.where(np.bincount(verdict.component, fitted) < 0, -1.0, 1.0)[verdict.component]
    return Completion(
        np.where(verdict.determined, fitted, np.nan),
        verdict,
        _sides(verdict, n),
        found.status,
        float(weight @ (entries - fitted[rows] * fitted[columns]) ** 2) / 2,
        found.distance or 0.0,
        found.iterations,
        found.rival,
        fitted,
    )


def _sides(verdict: Identifiability, n: int) -> IntArray:
    side = np.zeros(n, dtype=np.int64)
    for component in verdict.components():
        side[list(component.sides[1])] = 1
    return side


def _checked(
    i: Sequence[int] | IntArray,
    j: Sequence[int] | IntArray,
    values: Sequence[float] | FloatArray,
    weights: Sequence[float] | FloatArray | None,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Refuse what is no set of entries off the diagonal, and name the first that is not."""
    rows, columns = (np.asarray(each, dtype=np.int64).reshape(-1) for each in (i, j))
    entries = np.asarray(values, dtype=np.float64).reshape(-1)
    weight = np.ones(len(entries)) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    if not len(rows) == len(columns) == len(entries) == len(weight):
        raise OptionError(
            f"i, j, values and weights must be alike long, not {len(rows)}, {len(columns)}, {len(entries)} and "
            f"{len(weight)}"
        )
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    order = np.lexsort([high, low])
    twice = np.zeros(len(rows), dtype=bool)
    twice[order[1:]] = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    for wrong, why in (
        (low < 0, "a position is below zero"),
        (low == high, "it is on the diagonal; leave it out, or give its root as a known value elsewhere"),
        (twice, "it was given already; give each entry once, in one triangle"),
        (~np.isfinite(entries), "its value is no finite number"),
        (~((weight > 0) & np.isfinite(weight)), "its weight is not above zero"),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise OptionError(f"entry {at}, ({rows[at]}, {columns[at]}): {why}")
    return low, high, entries, weight
