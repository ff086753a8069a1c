"""The methods that run over blocks, for answers that lie beyond memory.

The mathematics is that of the methods themselves (`quorate.methods.quorate` and its siblings); here it is asked for in
an order that never needs all tasks at once.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from quorate.blocks.block import Blocks
from quorate.errors import UnknownMethodError
from quorate.methods.beyond_em import dawid_skene, one_coin
from quorate.methods.beyond_quorate import standard
from quorate.methods.beyond_votes import iwmv, majority, rank_one
from quorate.methods.contradiction import contradiction_beyond
from quorate.methods.fitted import Fitted
from quorate.methods.support import support_of_blocks

METHODS_BEYOND: dict[str, Callable[..., Fitted]] = {
    "quorate": standard,
    "rank-one": rank_one,
    "majority": majority,
    "iwmv": iwmv,
    "one-coin": one_coin,
    "dawid-skene": dawid_skene,
}


def fit_blocks(blocks: Blocks, method: str = "quorate", *, classes: pa.Array | None = None, **options: Any) -> Fitted:
    """Learn what a method says of the workers, and how it votes, from blocks wherever they lie.

    Args:
        blocks: of all tasks; known classes are with them.
        method: one of `METHODS_BEYOND`.
        classes: their names, for what is said of them; numbers by default.
        options: of the method.

    Raises:
        UnknownMethodError: the method needs every answer in memory.

    >>> import numpy as np, quorate
    >>> from quorate.blocks.memory import blocks_of
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=4, seed=1)
    >>> fitted = fit_blocks(blocks_of(crowd.answers), "rank-one")
    >>> labels = np.concatenate([part.label for part in fitted.labels(blocks_of(crowd.answers))])
    >>> bool((labels == quorate.aggregate(crowd.answers, "rank-one").ballot.label).all())
    True
    """
    if method not in METHODS_BEYOND:
        names = ", ".join(METHODS_BEYOND)
        raise UnknownMethodError(f"{method} needs every answer in memory; beyond it there are {names}")
    named = {"classes": classes} if method == "quorate" else {}
    fitted = METHODS_BEYOND[method](blocks, **named, **options)
    support = support_of_blocks(blocks, fitted.workforce)
    notes = (*fitted.notes, *contradiction_beyond(blocks, fitted.vote, method), *support.notes)
    return replace(fitted, notes=notes, support=support)
