"""Labels that are numbers on a scale: recognised, with the command that rates them."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray
from quorate.io.columns import numbers_in
from quorate.io.options import ROLES, ReadOptions

FEW_VALUES = 12  # distinct whole numbers up to which labels may well be classes
MIN_SCALE_ANSWERS = 8  # answers, below which nothing is concluded from their labels
MAX_SHARE_OF_IDS = 0.5  # of answers with a value of their own, above which whole numbers may be identifiers


@dataclass(frozen=True)
class ScaleProposal:
    """Labels that are numbers on a scale, and the command that rates them."""

    n_values: int
    low: float
    high: float
    command: str  # complete: it runs as it is
    text: str  # what was recognised, and the command


def looks_like_scores(
    labels: pa.Array, n_answers: int, *, file: str | None = None, options: ReadOptions | None = None
) -> ScaleProposal | None:
    """Recognise labels that are scores: numbers of which some are fractions, or more than 12 different ones.

    Args:
        labels: the distinct labels.
        n_answers: how many answers there are.
        file: for the command.
        options: how the answers were read, whose columns the command names.

    Returns None for classes: text, few whole numbers, or whole numbers of which most occur once, as identifiers do.

    >>> looks_like_scores(pa.array(["83.5", "20", "71", "33"]), 8, file="marks.csv").command
    'quorate rate marks.csv --score label'
    >>> looks_like_scores(pa.array(["1", "2", "3"]), 90) is None
    True
    """
    if len(labels) < 3 or n_answers < MIN_SCALE_ANSWERS or pa.types.is_boolean(labels.type):
        return None
    values = _all_numbers(labels)
    if values is None:
        return None
    is_integer = bool((values == np.round(values)).all())
    if is_integer and (len(values) <= FEW_VALUES or len(values) > MAX_SHARE_OF_IDS * n_answers):
        return None
    command = rate_command(file, options or ReadOptions())
    low = float(values.min())
    high = float(values.max())
    text = (
        f"the labels are {len(values):,} different numbers from {low:g} to {high:g}, and each counts "
        f"as a class; if they are scores on a scale, run: {command}"
    )
    return ScaleProposal(len(values), low, high, command, text)


def rate_command(file: str | None, options: ReadOptions) -> str:
    """Return the command that rates a file which was read with these options, with every option that it needs.

    >>> rate_command("marks.csv", ReadOptions(task="item", workers=("ann", "bob")))
    'quorate rate marks.csv --task item --workers ann,bob'
    """
    from quorate.io.proposals import FLAGS, command_line
    from quorate.io.scores import NO_WORKER, ScoreOptions

    usual = ScoreOptions()
    names = (*FLAGS, "format")
    chosen = {name: getattr(options, name) for name in names if getattr(options, name) != getattr(usual, name)}
    for role, column, default in zip(ROLES, options.columns, usual.columns, strict=True):
        chosen.pop(role, None)
        if column != default:
            chosen[role] = column
    if options.workers is not None or options.fold is not None:  # the columns of scores are those of workers or tasks
        chosen.pop("label", None)
        chosen.pop("worker", None)
    if not options.has_workers:
        chosen["worker"] = NO_WORKER
        chosen.pop("on_conflict", None)
    if options.tool == "table":
        chosen.pop("tool")
    if options.delimiter == ",":  # as found, or as it would be
        chosen.pop("delimiter")
    return command_line("rate", [file or "FILE"], chosen)


def _all_numbers(labels: pa.Array) -> FloatArray | None:
    if np.isnan(numbers_in(labels[:100])).any():  # before all of them are parsed
        return None
    values = numbers_in(labels)
    return None if np.isnan(values).any() else values
