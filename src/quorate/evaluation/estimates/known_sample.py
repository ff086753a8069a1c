"""Known labels -> a sample whose probabilities are known; or what shows that they are none."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, to_numpy
from quorate.errors import ColumnTypeError, MissingColumnError, OptionError, count, rows_phrase, unknown
from quorate.evaluation.estimates.imbalance import Imbalance, find_imbalance
from quorate.evaluation.estimates.meters import FEWEST
from quorate.reading.columns import as_type, encode, positions
from quorate.reading.files import Source, read_table
from quorate.result import Result
from quorate.uncertainty.prediction_powered import KnownSample

RANDOM, ADVISED, UNKNOWN = SAMPLED = ("random", "advised", "unknown")
PROBABILITY = "inclusion_probability"


@dataclass(frozen=True)
class Sampling:
    """What the known labels are a sample of, and what speaks against it."""

    sample: KnownSample | None  # None where it is not known how they were chosen, so that they speak for themselves
    imbalance: Imbalance | None = None  # what no random sample has; only where they might be one
    is_assumed: bool = False  # whether nobody said that they are one


def sampling_of(
    answers: Answers, known: IntArray, result: Result, sampled: str | None, probability: FloatArray | None
) -> Sampling:
    """Say what the known labels are a sample of.

    Whoever says how they were chosen is believed. Otherwise they are a random sample, unless a test says that they
    cannot be one.

    Args:
        answers: who answered what.
        known: the known class of each task, -1 where unknown.
        result: of an aggregation that has not seen them.
        sampled: ``random``, ``advised`` or ``unknown``; None if nobody said.
        probability: of each task to be known, NaN where that was not written.

    Raises:
        OptionError: they are too few, or what they are said to be lacks a column.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(100, 5, 3).answers
    >>> known = np.where(np.arange(100) % 10 == 0, 0, -1)
    >>> sampling_of(answers, known, quorate.aggregate(answers), None, None).sample.n_drawn
    10
    """
    rows = np.flatnonzero(known >= 0)
    if sampled is not None and sampled not in SAMPLED:
        raise unknown(sampled, SAMPLED, "way of sampling")
    written = probability is not None and bool(np.isfinite(probability[rows]).all())
    if sampled == UNKNOWN:
        return Sampling(None)
    if sampled == ADVISED and not written:
        raise OptionError(
            f"--sampled advised needs the column {PROBABILITY} of `quorate advise --expert` beside every known label; "
            "join it, or say --sampled random or unknown"
        )
    has_design = written and sampled != RANDOM
    found = KnownSample.random(rows, answers.n_tasks)
    if has_design and probability is not None:
        found = KnownSample(rows, probability[rows], answers.n_tasks)
    if found.n_drawn < FEWEST and len(rows) < answers.n_tasks:
        drawn = " drawn at random" if found.n_drawn < len(rows) else ""
        raise OptionError(
            f"{count(found.n_drawn, 'known label')}{drawn} are too few to state an interval: {FEWEST} are the least, "
            "and 30 or more are worth it. Label more (--plan 0.05 says how many, and which), or leave them out "
            "(--sampled unknown) for what the model says alone"
        )
    if has_design:
        return Sampling(found)
    imbalance = find_imbalance(rows, result)
    if sampled == RANDOM:
        return Sampling(found, imbalance)
    return Sampling(found if imbalance is None else None, imbalance, is_assumed=True)


def probabilities(source: Source, answers: Answers, task: str = "task") -> FloatArray | None:
    """Read with what probability each known task was to be known; None where no such column is there.

    Args:
        source: the known labels.
        answers: that they go with.
        task: the column of task ids.

    Raises:
        ColumnTypeError: it holds what is no probability.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> probabilities({"task": [2], "label": ["y"], "inclusion_probability": [0.5]}, answers).tolist()
    [nan, 0.5]
    """
    try:
        table = read_table(source, {task: "", PROBABILITY: ""}, fixed=True)
    except (MissingColumnError, ColumnTypeError):  # a mapping from task to label has no columns
        return None
    try:
        values = table.column(PROBABILITY).combine_chunks().cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ColumnTypeError(f"the column {PROBABILITY!r} of the known labels holds what is no number") from None
    if isinstance(values, pa.ChunkedArray):  # what older versions give
        values = values.chunk(0) if values.num_chunks else pa.array([], pa.float64())
    numbers = to_numpy(values.fill_null(float("nan")))
    wrong = np.flatnonzero(~((numbers > 0) & (numbers <= 1)))
    if len(wrong):
        raise ColumnTypeError(
            f"{PROBABILITY!r} lies above 0 and at most at 1, but not so in {rows_phrase(wrong.tolist())} of the known "
            "labels; mend it"
        )
    codes, names = encode(table.column(task), task)
    place = positions(as_type(names, answers.task_names.type, "known tasks"), answers.task_names)
    found = np.full(answers.n_tasks, np.nan)
    met = (codes >= 0) & (place[codes] >= 0)
    found[place[codes[met]]] = numbers[met]
    return found
