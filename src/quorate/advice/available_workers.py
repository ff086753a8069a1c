"""Workers who can get further tasks: how many, at what cost, and how probably they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, from_numpy, to_numpy
from quorate.errors import BlankFieldError, ColumnTypeError, NoRowsError, OptionError, about_argument, rows_phrase
from quorate.io.columns import as_type, encode, positions
from quorate.io.gold import column_names
from quorate.io.read_table import Source, read_table
from quorate.models.accuracy_prior import MIN_PRIOR_STRENGTH

WORKER = "worker"  # the column of ids in a table of workers
ROUNDING = 1e-12  # relative rounding error that is allowed in sums of costs


@dataclass(frozen=True)
class AvailableWorkers:
    """The workers of the answers, then those who have not answered yet; shapes (workers,)."""

    names: pa.Array
    available: BoolArray
    load: IntArray  # answers so far
    room: IntArray  # largest number of further tasks
    cost: FloatArray  # of one answer; 1 by default
    priced: bool  # whether costs were given
    gives: FloatArray  # probability that the worker answers and does not abstain
    may_grow: bool = False  # whether the room is a default, which may be exceeded
    for_repair_only: BoolArray | None = None  # workers who get assignments only for repair

    @property
    def size(self) -> int:
        """Number of workers, including those who have not answered yet."""
        return len(self.names)

    def most_answers(self, budget: float) -> int:
        """Return the largest number of answers that a budget pays for; without costs, the budget itself."""
        can_be_asked = self.available & (self.room > 0)
        if not self.priced or not can_be_asked.any():
            return int(budget)
        return int(budget * (1 + ROUNDING) / self.cost[can_be_asked].min())

    def without_room(self, is_excluded: BoolArray) -> "AvailableWorkers":
        """Return the pool in which these workers are asked only for repair; unchanged if no other can be asked."""
        excluded = np.zeros(self.size, dtype=bool)
        excluded[: len(is_excluded)] = is_excluded
        if not (self.available & ~excluded & (self.room > 0)).any():
            return self
        return replace(self, for_repair_only=excluded)

    def with_twice_the_room(self) -> "AvailableWorkers":
        """Return the pool with twice the room."""
        return replace(self, room=2 * self.room)

    def after(self, workers: IntArray) -> "AvailableWorkers":
        """Return the pool for assignments other than repair, after the repair assignments of these workers."""
        asked = np.bincount(workers, minlength=self.size)
        room = np.maximum(self.room - asked, 0)
        if self.for_repair_only is not None:
            room = np.where(self.for_repair_only, 0, room)
        return replace(self, room=room)


def gather_available_workers(
    answers: Answers,
    budget: float,
    *,
    available: Source = None,
    per_worker: int | None = None,
    cost: str | None = None,
    worker_column: str = WORKER,
) -> AvailableWorkers:
    """Return the workers who can be asked.

    Args:
        answers: who answered what.
        budget: number of further answers; with costs, their largest total cost.
        available: a table with the column ``worker``, or a list of ids; by default all workers who have answered.
        per_worker: how many further tasks each may get; by default a number for which half of the workers suffice.
        cost: the column of ``available`` with the cost of an answer.
        worker_column: the column of ``available`` with their ids, if there is no column ``worker``.

    Raises:
        OptionError: ``per_worker`` is below 1, or ``cost`` is given without a table of workers.
        InputError: the table of workers cannot be used.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "y"]})
    >>> worker_pool = gather_available_workers(answers, 3, available=["bob", "eve"])
    >>> worker_pool.names.to_pylist(), worker_pool.available.tolist(), worker_pool.room.tolist()
    (['ann', 'bob', 'eve'], [False, True, True], [0, 3, 3])
    """
    if per_worker is not None and per_worker < 1:
        raise OptionError(f"per_worker= (--per-worker) must be at least one task, got {per_worker}")
    if available is None:
        if cost is not None:
            raise OptionError(
                "cost= (--cost) needs a table of workers that has the column of costs: available= (--available)"
            )
        codes: IntArray = np.arange(answers.n_workers)
        names = answers.worker_names
        costs = np.ones(answers.n_workers)
    else:
        names, codes, costs = _read_workers(available, answers, cost, worker_column)
    is_available = np.zeros(len(names), dtype=bool)
    is_available[codes] = True
    load: IntArray = np.concatenate([answers.per_worker, np.zeros(len(names) - answers.n_workers, np.int64)])
    price = np.ones(len(names))
    price[codes] = costs
    if per_worker is None:
        better_half = max((int(is_available.sum()) + 1) // 2, 1)
        room_each = int(np.ceil(budget / price[is_available].mean() / better_half))
    else:
        room_each = per_worker
    room = np.where(is_available, room_each, 0)
    gives = _answer_probability(answers, len(names))
    return AvailableWorkers(names, is_available, load, room, price, cost is not None, gives, per_worker is None)


def seen_tasks(answers: Answers) -> tuple[IntArray, IntArray]:
    """Return tasks and workers of all answers and abstentions: no worker gets one of these tasks again.

    >>> import quorate
    >>> table = {"task": [1, 1], "worker": ["ann", "bob"], "label": ["x", "n/a"]}
    >>> [codes.tolist() for codes in seen_tasks(quorate.read(table, abstain=["n/a"]))]
    [[0, 0], [0, 1]]
    """
    if answers.answer_symbols is None:
        return answers.task, answers.worker
    symbols = answers.answer_symbols
    return np.concatenate([answers.task, symbols.task]), np.concatenate([answers.worker, symbols.worker])


def _answer_probability(answers: Answers, n: int) -> FloatArray:
    """Return the share of tasks that each worker answers and does not abstain from, shrunk to the mean of the crowd.

    New workers have the mean.
    """
    n_abstained = answers.abstained_per_worker
    if n_abstained is None:
        return np.ones(n)
    n_seen = answers.per_worker + n_abstained
    mean = answers.n_answers / max(int(n_seen.sum()), 1)
    shrunk = (answers.per_worker + MIN_PRIOR_STRENGTH * mean) / (n_seen + MIN_PRIOR_STRENGTH)
    return np.concatenate([shrunk, np.full(n - answers.n_workers, mean)])


@about_argument("available= (--available)")
def _read_workers(
    source: Source, answers: Answers, cost: str | None, worker_column: str
) -> tuple[pa.Array, IntArray, FloatArray]:
    """Return the names of all workers (of the answers, then new ones), and codes and costs of those listed."""
    if isinstance(source, Sequence) and not isinstance(source, str) and not isinstance(source, Mapping):
        source = {WORKER: list(source)}
    names = column_names(source)
    column = worker_column if worker_column in names and WORKER not in names else WORKER
    either = "" if worker_column == WORKER else f" {worker_column!r} or"
    columns = {column: f"A table of workers needs the column{either} 'worker'; rename your column"}
    if cost is not None:
        columns[cost] = "Choose one with cost= (--cost)"
    table = read_table(source, columns, fixed=True)
    table = table.rename_columns([WORKER if name == column else name for name in table.column_names])
    if table.num_rows == 0:
        raise NoRowsError("The table of available workers is empty. List the workers who can be asked")
    codes, listed = encode(table.column(WORKER), WORKER)
    if (codes < 0).any():
        rows = rows_phrase(np.flatnonzero(codes < 0).tolist())
        raise BlankFieldError(f"'worker' is missing in {rows} of the table of workers; fill it in")
    listed = as_type(listed, answers.worker_names.type, "available workers")
    code_of_listed = positions(listed, answers.worker_names)
    is_new = code_of_listed < 0
    code_of_listed[is_new] = answers.n_workers + np.arange(int(is_new.sum()))
    names = pa.concat_arrays([answers.worker_names, listed.filter(from_numpy(is_new))])
    costs = np.ones(len(listed))
    if cost is not None:
        costs = _costs(table.column(cost), cost, codes, len(listed))
    return names, code_of_listed, costs


def _costs(column: pa.ChunkedArray, name: str, codes: IntArray, n: int) -> FloatArray:
    """Return the cost of an answer of each listed worker: a positive number."""
    try:
        values = column.combine_chunks().cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ColumnTypeError(
            f"{name!r} of the table of workers has a value that is not a number; correct it"
        ) from None
    if isinstance(values, pa.ChunkedArray):
        values = values.chunk(0)
    numbers = to_numpy(values.fill_null(float("nan")))
    wrong = np.flatnonzero(~(numbers > 0) | np.isinf(numbers))
    if len(wrong):
        raise ColumnTypeError(
            f"{name!r} is not a positive number in {rows_phrase(wrong.tolist())} of the table of workers; correct it"
        )
    costs = np.zeros(n)
    costs[codes] = numbers
    clash = np.flatnonzero(costs[codes] != numbers)
    if len(clash):
        raise ColumnTypeError(
            f"a worker is listed with two costs in {rows_phrase(clash.tolist())} of the table of workers; keep one"
        )
    return costs
