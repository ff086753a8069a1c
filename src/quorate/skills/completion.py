"""Rank-one completion of a symmetric matrix from some of its entries [Ma20, Theorem 8, learnability].

x xᵀ is fitted to the given entries by weighted least squares. The graph of the **non-zero** entries decides what is
determined. In a component with an odd cycle, x is determined up to one sign, and every entry of the matrix is
determined. In a component without an odd cycle, x is determined up to a factor a on one side and 1/a on the other; the
entries between the two sides are determined. A row whose given entries are all zero is zero, if one of them is with a
row that is not zero.

The loss is not coercive. If the product of the entries along an odd cycle is negative, or if a zero is given between
two rows that are not zero, the loss can fall as some entries of x grow like t and their neighbours fall like 1/t. Then
there is no finite minimiser, and the result states it.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorate.arrays import BoolArray, FloatArray, IntArray, Shown, Table, from_numpy, from_strings, table_of
from quorate.errors import OptionError, count, unknown_name_error
from quorate.graph.components import Identifiability, identify_pairs
from quorate.graph.pairs import PairStats
from quorate.io.arguments import check_arguments
from quorate.skills.alternative_optimum import fit_logarithms
from quorate.skills.moments import from_pairs
from quorate.skills.objective import CONVERGED, Problem, Solution
from quorate.skills.signs import tree_signs
from quorate.skills.solvers import SOLVERS, SolverName

# Bound of the scaled x. Divided by the scale from the fit of the logarithms, entries of x are usually close to one.
MAX_SCALED = 1e3
MIN_GROWING = 3.0  # smaller scaled entries of x are not tested for growth without bound
N_DOUBLINGS = 10  # of the growing entries in this test; each of them must lower the loss
EXACT_FIT_LOSS = 1e-18  # a smaller scaled loss is rounding
MIN_LOG_WEIGHT = 1e-4  # of an entry in the fit of the logarithms, relative to the greatest weight in its component
IDENTIFIED = "identified"
UP_TO_A_FACTOR = "not identified: up to a factor, its component is bipartite"
NO_NEIGHBOUR = "not identified: no entry with a row that is not zero"
NOT_FINITE = "not identified: its component has no finite minimiser"
NO_MINIMISER = "no finite minimiser: the loss falls as some entries grow without bound"


@dataclass(frozen=True, repr=False)
class Completion(Shown):
    """The fitted vector, which of its entries are determined, and how the search ended."""

    x: FloatArray  # NaN where not identified; without bounds, each component has the sign with a sum above zero
    row_status: tuple[str, ...]  # of each row: `identified`, or `not identified: ` and the reason
    identifiability: Identifiability  # of the graph of the non-zero entries
    side: IntArray  # of each row in a component without an odd cycle: 0 or 1; elsewhere 0
    status: str  # `converged`; the solver's reason why not; or `no finite minimiser: ...`
    loss: float  # 1/2 sum of weight·(value - x_i x_j)²; infinite where it exceeds floating point
    distance: float  # of x from the optimum, relative to its size, on average; NaN where the solver states none
    sweeps: int
    fitted: FloatArray  # x, with one of many solutions where it is not identified
    known: BoolArray  # (rows, rows): which entries of the matrix the given entries determine

    @property
    def converged(self) -> bool:
        """Whether the optimum was reached; False if there is none."""
        return self.status == CONVERGED

    @property
    def verdict(self) -> Identifiability:
        """Deprecated name of `identifiability`."""
        warnings.warn("Completion.verdict is now Completion.identifiability", DeprecationWarning, stacklevel=2)
        return self.identifiability

    def summary(self) -> str:
        """State how many entries of the vector are determined, and how the search ended."""
        n_identified = sum(status == IDENTIFIED for status in self.row_status)
        return f"{n_identified:,} of {count(len(self.x), 'row')} identified; {self.status}"

    def _tables(self) -> tuple[Table, ...]:
        return (
            Table(
                table_of(
                    {"x": from_numpy(self.x, mask=np.isnan(self.x)), "status": from_strings(list(self.row_status))}
                )
            ),
        )

    def matrix(self) -> FloatArray:
        """Return x xᵀ, NaN for entries that are not determined."""
        return np.where(self.known, np.outer(self.fitted, self.fitted), np.nan)


@check_arguments
def complete_rank_one(
    i: Sequence[int] | IntArray,
    j: Sequence[int] | IntArray,
    values: Sequence[float] | FloatArray,
    weights: Sequence[float] | FloatArray | None = None,
    *,
    size: int | None = None,
    solver: SolverName = "coordinate",
    tolerance: float = 1e-5,
    lower: float | FloatArray | None = None,
    upper: float | FloatArray | None = None,
    start: float | FloatArray | None = None,
    step: float | None = None,
) -> Completion:
    """Return x such that x_i x_j fits given entries of a symmetric matrix best, and which entries are determined.

    Args:
        i: rows of the entries, from 0.
        j: their columns; an entry off the diagonal is given once, in either triangle.
        values: the entries.
        weights: weights of the entries, ideally the inverse of their variances; equal by default.
        size: number of rows; by default as many as the largest position needs.
        solver: ``coordinate``, ``flow``, ``gradient`` (fixed step) or ``exponentiated`` (of the absolute values, signs
            along the strongest spanning tree).
        tolerance: for the distance to the optimum, relative to the size of x.
        lower: lower bound of x, one value for all rows or one per row; none by default.
        upper: upper bound of x, in the same form.
        start: x(0), one value for all rows or one per row; by default the fit of the logarithms of the entries.
        step: of ``gradient``, in units of the entries; by default one with which the loss does not rise.

    Raises:
        OptionError: no entry is given; lengths differ; a position is negative, on the diagonal or given twice; a value
            is not finite; a weight is not positive; bounds or start have a wrong length or are NaN, or lower exceeds
            upper; an option does not apply to the solver.

    >>> import quorate
    >>> completion = quorate.complete_rank_one([0, 0, 1, 2], [1, 2, 2, 3], [-6.0, 150.0, -1.0, 0.05])
    >>> completion.x.round(6).tolist(), completion.status
    ([30.0, -0.2, 5.0, 0.01], 'converged')
    >>> quorate.complete_rank_one([0, 1], [1, 2], [2.0, 3.0]).matrix().round(6).tolist()  # no odd cycle: two sides
    [[nan, 2.0, nan], [2.0, nan, 3.0], [nan, 3.0, nan]]
    >>> quorate.complete_rank_one([0, 0, 1], [1, 2, 2], [-0.5, -0.5, -0.5]).status
    'no finite minimiser: the loss falls as some entries grow without bound'
    """
    if solver not in SOLVERS:
        raise unknown_name_error(solver, SOLVERS, "solver")
    rows, columns, entries, weight = _checked(i, j, values, weights)
    n = max(int(max(rows.max(), columns.max())) + 1, size or 0)
    bounds = _row_values("lower", lower, n, -np.inf), _row_values("upper", upper, n, np.inf)
    if not (bounds[0] <= bounds[1]).all():
        raise OptionError("lower must not exceed upper")
    if step is not None and solver != "gradient":
        raise OptionError(f"step applies to solver='gradient', got solver={solver!r}")
    is_nonzero = entries != 0
    is_live = np.zeros(n, dtype=bool)
    is_live[rows[is_nonzero]] = True
    is_live[columns[is_nonzero]] = True
    graph = identify_pairs(PairStats.linked(rows[is_nonzero], columns[is_nonzero]), n)
    has_live_neighbour = np.zeros(n, dtype=bool)
    has_live_neighbour[rows[is_live[columns]]] = True
    has_live_neighbour[columns[is_live[rows]]] = True
    is_zero = ~is_live & has_live_neighbour

    used = is_live[rows] & is_live[columns]
    scaled = _scale(n, rows[used], columns[used], entries[used], weight[used], graph.component)
    solution = _solve(scaled, solver, tolerance, bounds, start, step)
    y = np.where(is_live, solution.skills, 0.0)
    descended = y
    if solver == "exponentiated":  # its limit is always finite, so the test for a minimiser needs a descent from there
        problem = _problem(scaled, bounds)
        descended = SOLVERS["coordinate"](problem, problem.clip(y), tolerance=tolerance).skills
    is_unbounded = _is_unbounded(scaled, descended, bounds, graph.component)[graph.component]
    status = NO_MINIMISER if is_unbounded.any() else solution.status
    fitted = y * np.exp(scaled.log_scale)
    if lower is None and upper is None:
        fitted *= np.where(np.bincount(graph.component, fitted) < 0, -1.0, 1.0)[graph.component]
    is_identified = is_zero | (is_live & graph.determined & ~is_unbounded)
    row_status = np.where(is_live, UP_TO_A_FACTOR, NO_NEIGHBOUR).astype(object)
    row_status[is_unbounded & is_live] = NOT_FINITE
    row_status[is_identified] = IDENTIFIED
    sides = _sides(graph, n)
    with np.errstate(over="ignore"):
        loss = float(weight @ (entries - fitted[rows] * fitted[columns]) ** 2) / 2
    return Completion(
        x=np.where(is_identified, fitted, np.nan),
        row_status=tuple(str(status) for status in row_status),
        identifiability=graph,
        side=sides,
        status=status,
        loss=loss,
        distance=np.nan if solution.distance is None else solution.distance,
        sweeps=solution.iterations,
        fitted=fitted,
        known=_known_entries(graph, sides, is_live & ~is_unbounded, is_zero),
    )


@dataclass(frozen=True)
class _Scaled:
    """The given entries, scaled such that the entries of x are usually close to one in absolute value."""

    n: int
    i: IntArray
    j: IntArray
    values: FloatArray
    weights: FloatArray  # relative to the greatest of the component, to avoid overflow
    log_scale: FloatArray  # x = y exp(log_scale)
    start: FloatArray  # y by the fit of the logarithms, signs along the strongest spanning tree


def _scale(n: int, i: IntArray, j: IntArray, values: FloatArray, weights: FloatArray, component: IntArray) -> _Scaled:
    """Scale x = y d, with ln d fitted to ln|v_ij| = ln d_i + ln d_j; computed in logarithms to avoid overflow."""
    is_nonzero = values != 0
    log_values = np.log(np.abs(np.where(is_nonzero, values, 1.0)))
    log_weight = np.log(weights) + 2 * log_values
    greatest = np.full(n, -np.inf)
    np.maximum.at(greatest, component[i[is_nonzero]], log_weight[is_nonzero])
    fit_weight = np.exp(np.maximum(log_weight - greatest[component[i]], np.log(MIN_LOG_WEIGHT)))[is_nonzero]
    log_scale = fit_logarithms(n, i[is_nonzero], j[is_nonzero], fit_weight, log_values[is_nonzero])
    log_product = log_scale[i] + log_scale[j]
    scaled_values = np.where(is_nonzero, np.sign(values) * np.exp(np.clip(log_values - log_product, -700, 700)), 0.0)
    scaled_log_weight = np.log(weights) + 2 * log_product
    greatest = np.full(n, -np.inf)
    np.maximum.at(greatest, component[i], scaled_log_weight)
    scaled_weights = np.exp(scaled_log_weight - greatest[component[i]])
    # The square root of the weight, but above zero, so that every non-zero entry can be on the tree.
    sign_strength = np.where(scaled_values != 0, np.maximum(np.sqrt(scaled_weights), 1e-150), 0.0)
    start = tree_signs(n, i, j, scaled_values * sign_strength)
    return _Scaled(n, i, j, scaled_values, scaled_weights, log_scale, start)


def _solve(
    scaled: _Scaled,
    solver: str,
    tolerance: float,
    bounds: tuple[FloatArray, FloatArray],
    start: float | FloatArray | None,
    step: float | None,
) -> Solution:
    """Return the minimiser in scaled units; with a fixed step, the descent uses the units of the caller."""
    scale = np.exp(scaled.log_scale)
    problem = _problem(scaled, bounds)
    first_y = scaled.start if start is None else _row_values("start", start, scaled.n, 0.0) / scale
    options: dict[str, Any] = {"tolerance": tolerance}
    if solver == "exponentiated":
        solution = SOLVERS[solver](problem, np.abs(first_y), kappa=1 / MAX_SCALED, K=MAX_SCALED, **options)
        return replace(solution, skills=problem.clip(solution.skills * scaled.start))
    if step is not None:
        return _fixed_step(scaled, problem, first_y, step, tolerance)
    return SOLVERS[solver](problem, first_y, **options)


def _problem(scaled: _Scaled, bounds: tuple[FloatArray, FloatArray]) -> Problem:
    """Return the least-squares problem in scaled units."""
    scale = np.exp(scaled.log_scale)
    lower = np.maximum(bounds[0] / scale, -MAX_SCALED)
    upper = np.minimum(bounds[1] / scale, MAX_SCALED)
    moments = from_pairs(scaled.n, scaled.i, scaled.j, scaled.weights, scaled.values)
    return Problem(moments, lower, upper, np.ones(scaled.n))


def _fixed_step(scaled: _Scaled, problem: Problem, first_y: FloatArray, step: float, tolerance: float) -> Solution:
    """Run projected gradient descent with the caller's step in the caller's units; return scaled x."""
    scale = np.exp(scaled.log_scale)
    product = scale[scaled.i] * scale[scaled.j]
    moments = from_pairs(scaled.n, scaled.i, scaled.j, scaled.weights / product**2, scaled.values * product)
    unscaled = Problem(moments, problem.lower * scale, problem.upper * scale, np.ones(scaled.n))
    solution = SOLVERS["gradient"](unscaled, first_y * scale, step=step, tolerance=tolerance, max_iterations=100_000)
    return replace(solution, skills=solution.skills / scale)


def _is_unbounded(
    scaled: _Scaled, y: FloatArray, bounds: tuple[FloatArray, FloatArray], component: IntArray
) -> BoolArray:
    """Return for each component whether its loss falls each time its large entries double and the others halve."""
    n_components = int(component.max()) + 1
    is_large = np.abs(y) > MIN_GROWING
    can_grow = is_large & ~(np.isfinite(bounds[0]) & np.isfinite(bounds[1]))
    has_growing = np.bincount(component, can_grow, n_components) > 0
    exponent = np.where(is_large, 1.0, -1.0)
    losses = []
    for k in range(N_DOUBLINGS + 1):
        grown = y * 2.0 ** (k * exponent)
        squares = scaled.weights * (scaled.values - grown[scaled.i] * grown[scaled.j]) ** 2
        losses.append(np.bincount(component[scaled.i], squares, n_components))
    is_falling = (np.diff(np.stack(losses), axis=0) < 0).all(axis=0)
    is_unbounded: BoolArray = has_growing & is_falling & (losses[0] > EXACT_FIT_LOSS)
    return is_unbounded


def _known_entries(graph: Identifiability, sides: IntArray, is_live: BoolArray, is_zero: BoolArray) -> BoolArray:
    """Return which entries of the matrix are determined: products within a component, and rows that are zero."""
    same = graph.component[:, None] == graph.component
    across = sides[:, None] != sides
    product_known = same & is_live[:, None] & is_live & (graph.determined[:, None] | across)
    known: BoolArray = product_known | is_zero[:, None] | is_zero
    return known


def _sides(graph: Identifiability, n: int) -> IntArray:
    side = np.zeros(n, dtype=np.int64)
    for component in graph.components():
        side[list(component.sides[1])] = 1
    return side


def _row_values(name: str, row_values: float | FloatArray | None, n: int, default: float) -> FloatArray:
    """Return one value per row.

    Raises:
        OptionError: there is neither one value nor one per row, or a value is NaN.
    """
    if row_values is None:
        return np.full(n, default)
    values = np.asarray(row_values, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n):
        raise OptionError(f"{name} must be one number or one for each of the {n:,} rows, got {values.size:,}")
    if np.isnan(values).any():
        raise OptionError(f"{name} must be numbers, got nan")
    return np.broadcast_to(values, (n,)).astype(np.float64)


def _checked(
    i: Sequence[int] | IntArray,
    j: Sequence[int] | IntArray,
    values: Sequence[float] | FloatArray,
    weights: Sequence[float] | FloatArray | None,
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Return rows, columns, values and weights as arrays, each entry in the upper triangle.

    Raises:
        OptionError: no entry is given, lengths differ, or an entry is not valid; the message names the entry.
    """
    rows = np.asarray(i, dtype=np.int64).reshape(-1)
    columns = np.asarray(j, dtype=np.int64).reshape(-1)
    entries = np.asarray(values, dtype=np.float64).reshape(-1)
    weight = np.ones(len(entries)) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
    if not len(rows) == len(columns) == len(entries) == len(weight):
        raise OptionError(
            f"i, j, values and weights must have equal lengths, got {len(rows)}, {len(columns)}, {len(entries)} and "
            f"{len(weight)}"
        )
    if len(rows) == 0:
        raise OptionError("no entry is given: i, j and values are empty")
    low = np.minimum(rows, columns)
    high = np.maximum(rows, columns)
    order = np.lexsort([high, low])
    is_repeated = np.zeros(len(rows), dtype=bool)
    is_repeated[order[1:]] = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    for is_wrong, reason in (
        (low < 0, "a position is below zero"),
        (low == high, "it is on the diagonal; leave it out"),
        (is_repeated, "it was given already; give each entry once, in one triangle"),
        (~np.isfinite(entries), "its value is not a finite number"),
        (~((weight > 0) & np.isfinite(weight)), "its weight is not above zero"),
    ):
        if is_wrong.any():
            first = int(np.flatnonzero(is_wrong)[0])
            raise OptionError(f"entry {first}, ({rows[first]}, {columns[first]}): {reason}")
    return low, high, entries, weight
