"""What a wrong label costs: a table of what is said, what is true and the cost -> costs by codes."""

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.errors import CostError, listing, rows_phrase, shown
from quorate.io.columns import as_type, encode, positions
from quorate.io.read_table import Source, read_table

SAID, TRUE, COST = "said", "true", "cost"
REMEDY = "Of the costs, the columns 'said', 'true' and 'cost' are read; rename yours"


def read_costs(source: Source, classes: pa.Array) -> FloatArray:
    """Read what each class costs, if said, where each class is true; said × true.

    A right label costs nothing unless the table says so; every other pair must be in it.

    Args:
        source: what `quorate.read` takes, with the columns said, true and cost.
        classes: of the answers.

    Raises:
        CostError: a pair is missing or has two costs, a class is not there, or a cost is no number.

    >>> table = {"said": ["well", "ill"], "true": ["ill", "well"], "cost": [100, 1]}
    >>> read_costs(table, pa.array(["ill", "well"])).tolist()
    [[0.0, 1.0], [100.0, 0.0]]
    """
    table = read_table(source, dict.fromkeys((SAID, TRUE, COST), REMEDY), fixed=True)
    codes = []
    for name in (SAID, TRUE):
        found, names = encode(table.column(name), name)
        if (found < 0).any():
            raise CostError(f"{name!r} is missing in {_rows(found < 0)} of the costs; fill it in")
        place = positions(as_type(names, classes.type, f"classes under {name!r} of the costs"), classes)
        if (place < 0).any():
            stranger = names[int(np.flatnonzero(place < 0)[0])].as_py()
            raise CostError(
                f"the costs name {shown(stranger)} under {name!r}, which is no class of the answers: these are "
                f"{listing(classes.to_pylist(), 12)}. Check the spelling, or list it too (classes=, --classes)"
            )
        codes.append(place[found])
    return _filled(codes[0], codes[1], _numbers(table.column(COST)), classes)


def _numbers(column: pa.ChunkedArray) -> FloatArray:
    try:
        given = column.cast(pa.float64()).to_pylist()
    except pa.ArrowException:
        raise CostError(f"a cost is no number; the column {COST!r} must hold numbers only") from None
    cost = np.array([np.nan if value is None else value for value in given], dtype=np.float64)
    if not np.isfinite(cost).all():
        raise CostError(f"{COST!r} is missing or no finite number in {_rows(~np.isfinite(cost))} of the costs")
    return cost


def _filled(said: IntArray, true: IntArray, cost: FloatArray, classes: pa.Array) -> FloatArray:
    m = len(classes)
    table = np.full((m, m), np.nan)
    np.fill_diagonal(table, 0.0)
    given: dict[tuple[int, int], float] = {}
    for row, pair in enumerate(zip(said.tolist(), true.tolist(), strict=True)):
        if given.setdefault(pair, float(cost[row])) != cost[row]:
            names = [shown(classes[code].as_py()) for code in pair]
            raise CostError(f"saying {names[0]} where {names[1]} is true has two costs: see row {row + 1}; keep one")
        table[pair] = cost[row]
    missing = np.argwhere(np.isnan(table))
    if len(missing):
        names = [shown(classes[int(code)].as_py()) for code in missing[0]]
        more = "" if len(missing) == 1 else f", and of {len(missing) - 1:,} more pairs"
        raise CostError(f"the costs lack that of saying {names[0]} where {names[1]} is true{more}; add it")
    return table


def _rows(which: BoolArray) -> str:
    return rows_phrase(np.flatnonzero(which).tolist())
