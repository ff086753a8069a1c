"""Cost of wrong labels: from a table of the label given, the true label and the cost to a cost matrix."""

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, IntArray
from quorate.errors import CostError, about_argument, listing, shown
from quorate.io.columns import codes_among, encode, number_column, refuse_missing
from quorate.io.read_table import Source, read_table

GIVEN = "said"
TRUE = "true"
COST = "cost"
REMEDY = "The table of costs needs the columns 'said', 'true' and 'cost'; rename your columns"


@about_argument("costs= (--costs)")
def read_costs(source: Source, classes: pa.Array) -> FloatArray:
    """Return the cost matrix (classes given × true classes): the cost of giving one class where another is true.

    A right label costs 0 unless the table has another cost for it; every other pair must be in the table.

    Args:
        source: what `quorate.read` takes, with the columns ``said`` (the label given), ``true`` and ``cost``.
        classes: classes of the answers.

    Raises:
        CostError: a pair is missing or has two costs, a class is not one of the answers', or a cost is not a number.

    >>> table = {"said": ["well", "ill"], "true": ["ill", "well"], "cost": [100, 1]}
    >>> read_costs(table, pa.array(["ill", "well"])).tolist()
    [[0.0, 1.0], [100.0, 0.0]]
    """
    table = read_table(source, dict.fromkeys((GIVEN, TRUE, COST), REMEDY), fixed=True)
    codes = []
    for name in (GIVEN, TRUE):
        label_codes, names = encode(table.column(name), name)
        refuse_missing(label_codes, name, "the costs", error=CostError)
        class_codes = codes_among(names, classes, f"classes under {name!r} of the costs")
        if (class_codes < 0).any():
            unknown_class = names[int(np.flatnonzero(class_codes < 0)[0])].as_py()
            raise CostError(
                f"the table of costs has {shown(unknown_class)} in its column {name!r}, which is not a class "
                f"of the answers; these are {listing(classes.to_pylist(), 12)}. Check the spelling, or add it "
                "to the classes (classes=, --classes)"
            )
        codes.append(class_codes[label_codes])
    cost = number_column(table.column(COST), COST, "the costs", error=CostError)
    return _cost_matrix(codes[0], codes[1], cost, classes)


def _cost_matrix(assigned: IntArray, true: IntArray, cost: FloatArray, classes: pa.Array) -> FloatArray:
    m = len(classes)
    table = np.full((m, m), np.nan)
    np.fill_diagonal(table, 0.0)
    cost_of_pair: dict[tuple[int, int], float] = {}
    for row, pair in enumerate(zip(assigned.tolist(), true.tolist(), strict=True)):
        if cost_of_pair.setdefault(pair, float(cost[row])) != cost[row]:
            names = [shown(classes[code].as_py()) for code in pair]
            raise CostError(
                f"The table of costs has two costs for the label {names[0]} if {names[1]} is true (row "
                f"{row + 1}). Keep one"
            )
        table[pair] = cost[row]
    missing = np.argwhere(np.isnan(table))
    if len(missing):
        names = [shown(classes[int(code)].as_py()) for code in missing[0]]
        more = "" if len(missing) == 1 else f", and of {len(missing) - 1:,} more pairs"
        raise CostError(f"The table of costs has no row for the label {names[0]} if {names[1]} is true{more}. Add it")
    return table
