"""Methods that run over blocks: the same code for answers in memory, on disk and in Spark.

The default method still has a second implementation in memory (`quorate.methods.quorate`).
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.blocks.block import Blocks
from quorate.blocks.memory import blocks_of
from quorate.errors import UnknownMethodError
from quorate.gold import known_classes
from quorate.methods import dawid_skene, iwmv, majority, one_accuracy, rank_one, rank_one_centred
from quorate.methods.beyond_quorate import standard
from quorate.methods.contradiction import contradiction_beyond
from quorate.methods.fitted import Fitted
from quorate.methods.outcome import outcome
from quorate.methods.support import support_of_blocks
from quorate.reading.files import Source
from quorate.result import Result
from quorate.voting.confusion import check_size
from quorate.voting.vote import Ballot

METHODS_BEYOND: dict[str, Callable[..., Fitted]] = {
    "quorate": standard,
    "rank-one": rank_one.fit,
    "rank-one-centred": rank_one_centred.fit,
    "majority": majority.fit,
    "iwmv": iwmv.fit,
    "one-coin": one_accuracy.fit,
    "dawid-skene": dawid_skene.fit,
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

    >>> import quorate
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


def aggregate_in_memory(method: str, answers: Answers, *, gold: Source = None, **options: Any) -> Result:
    """Run a method that works over blocks on answers in memory.

    Args:
        method: its name.
        answers: who answered what.
        gold: known labels of some tasks.
        options: of the method.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> aggregate_in_memory("majority", answers).labels["label"].to_pylist()
    ['y']
    """
    check_size(answers, method, matrices=method == "dawid-skene")
    known = known_classes(gold, answers)
    return result_in_memory(method, answers, known, METHODS_BEYOND[method](blocks_of(answers, known), **options))


def result_in_memory(method: str, answers: Answers, known: IntArray | None, fitted: Fitted) -> Result:
    """Label all tasks of answers in memory by a fitted method.

    Args:
        method: its name.
        answers: who answered what.
        known: gold class of each task, -1 where unknown; None without gold.
        fitted: what the method learned.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> result_in_memory("majority", answers, None, majority.fit(blocks_of(answers))).method
    'majority'
    """
    parts = list(blocks_of(answers, known).each(fitted.vote))
    vote = parts[0]
    if len(parts) > 1:
        vote = Ballot(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.posterior for part in parts]),
            np.concatenate([part.label for part in parts]),
            np.concatenate([part.tied for part in parts]),
        )
    return outcome(
        method, answers, vote, gold=known, workforce=fitted.workforce, graph=fitted.graph, notes=fitted.notes
    )
