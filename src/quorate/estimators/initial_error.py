"""What is known of the workers before: crowd-kit's ``initial_error``, from which Dawid and Skene's EM then starts."""

from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray
from quorate.errors import InputError, OptionError, listing
from quorate.voting.confusion import cells_of
from quorate.voting.em import column_shares
from quorate.voting.posterior import hold_known
from quorate.voting.vote import majority

STRATEGIES = ("assign", "addition")
LEAST = 1e-10  # of an entry of the first matrices, as in crowd-kit: nothing is impossible because it was not yet seen


def first_matrices(answers: Answers, gold: IntArray | None, initial_error: Any, strategy: str | None) -> FloatArray:
    """Return the confusion matrices that EM starts from; workers × answers × classes.

    Args:
        answers: who answered what.
        gold: the known class of each task, -1 where unknown.
        initial_error: a frame with a row for each worker and answer (its index has the names worker and label) and a
            column for each true class: probabilities, or counts of answers.
        strategy: ``assign`` takes the frame for the matrices; ``addition`` adds it to the counts that the vote gives.

    Raises:
        OptionError: there is no strategy, so that it is not said what the frame is for.
        InputError: the frame lacks a worker or a class, or has numbers that mean nothing.

    >>> import pandas, quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["ann", "ann"], "label": ["x", "x"]}, classes=["x", "y"])
    >>> rows = pandas.MultiIndex.from_product([["ann"], ["x", "y"]], names=["worker", "label"])
    >>> known = pandas.DataFrame([[8.0, 1.0], [2.0, 4.0]], index=rows, columns=["x", "y"])
    >>> first_matrices(answers, None, known, "assign").tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    >>> first_matrices(answers, None, known, "addition").round(2).tolist()
    [[[0.82, 0.2], [0.18, 0.8]]]
    """
    if strategy is None:
        raise OptionError(f"initial_error needs an initial_error_strategy: {' or '.join(STRATEGIES)}")
    given = _matrices(answers, initial_error, complete=strategy == "assign")
    if strategy == "addition":
        given = given + cells_of(answers).expected_counts(hold_known(majority(answers).posterior, gold))
    else:
        _check_sums(answers, given)
    return column_shares(np.maximum(given, LEAST))


def _matrices(answers: Answers, frame: Any, *, complete: bool) -> FloatArray:
    """Lay the frame out by codes; what it does not have counts nothing, where it need not be complete."""
    names = list(getattr(getattr(frame, "index", None), "names", []))
    if names != ["worker", "label"]:
        raise InputError(f"the index of initial_error must be worker and label, not {listing(names) or 'none'}")
    workers, classes = answers.worker_names.to_pylist(), answers.classes.to_pylist()
    if lacking := [name for name in classes if name not in frame.columns]:
        raise InputError(f"initial_error has no column for {listing(lacking)}; it needs one for each class")
    there = set(frame.index)
    given = {(workers[w], classes[c]) for w, c in zip(answers.worker.tolist(), answers.label.tolist(), strict=True)}
    strangers = sorted({str(worker) for worker, _ in given - there}) if complete else []
    if strangers:
        raise InputError(
            f"initial_error has no row for some answers of {len(strangers):,} workers: {listing(strangers)}. Add them, "
            "or take initial_error_strategy='addition'"
        )
    rows = [(worker, label) for worker in workers for label in classes]
    values: FloatArray = frame.reindex(index=frame.index.__class__.from_tuples(rows), columns=classes).to_numpy(
        np.float64
    )
    values = np.where(np.isnan(values), 0.0, values).reshape(len(workers), len(classes), len(classes))
    if (values < 0).any() or not np.isfinite(values).all():
        raise InputError("initial_error has negative or infinite numbers; it takes probabilities, or counts of answers")
    return values


def _check_sums(answers: Answers, given: FloatArray) -> None:
    """Refuse probabilities that do not sum to one over the answers of a worker; counts may sum to anything."""
    sums = given.sum(axis=1)
    wrong = np.flatnonzero((np.abs(sums - 1) > 1e-6).any(axis=1))
    if len(wrong) and (given <= 1).all():
        names = listing(answers.worker_names[int(worker)].as_py() for worker in wrong)
        raise InputError(
            f"the probabilities in initial_error must sum to one over each worker's answers; not so for {names}"
        )
