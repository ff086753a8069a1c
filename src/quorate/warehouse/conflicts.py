"""Rows that repeat an answer: which count, which contradict each other, and what stays of them."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from quorate.errors import ConflictingAnswersError, listing
from quorate.warehouse.engine import Engine

BITS, DIGITS = 40, 2  # of the test in `tasks_of`; a sum of so many bits fits in 64 up to eight million rows a task


@dataclass(frozen=True)
class Repeats:
    """How many rows repeat an answer, and how the answers spread over the tasks."""

    tasks: int
    most: int  # rows of the task that has the most
    extra: int  # rows beyond the first of each worker and task
    clashes: int  # workers and tasks with more than one label
    clash_rows: int  # rows of those

    def dropped(self, policy: str) -> bool:
        """Whether answers were left out altogether, and tasks may be without any."""
        return policy == "drop" and self.clashes > 0

    def left_out(self, policy: str) -> tuple[int, int]:
        """Return the rows left out by the policy, and those that repeat an answer exactly."""
        kept = 0 if policy == "drop" else self.clashes
        return self.clash_rows - kept, self.extra - (self.clash_rows - self.clashes)


@dataclass(frozen=True)
class Settled:
    """Answers of which each worker has one a task."""

    answers: Any  # ibis: task, w, c
    tasks: int
    most: int


def by_worker_and_task(coded: Any) -> Any:
    """Group rows by task and worker: how many, and the least and the greatest label among them.

    >>> import ibis
    >>> rows = ibis.memtable(pa.table({"task": [1, 1], "w": [0, 0], "c": [2, 5]}))
    >>> by_worker_and_task(rows).to_pyarrow().to_pylist()
    [{'task': 1, 'w': 0, 'n': 2, 'low': 2, 'high': 5}]
    """
    return coded.group_by(["task", "w"]).agg(n=coded.count(), low=coded.c.min(), high=coded.c.max())


def tasks_of(coded: Any) -> Any:
    """One row a task: how many rows it has, and whether it is certain at a glance that nobody has two of them.

    Each worker sets one of `BITS` bits. Where the sum of the bits is the same number as all of them set at once, no
    two rows set the same, so no two are by one worker. Of five rows, three in four pass; every further digit of the
    worker's code tests those that did not. To group by worker as well would cost four times as much.

    >>> import ibis
    >>> rows = ibis.memtable(pa.table({"task": [1, 1, 2, 2], "w": [0, 1, 5, 5], "c": [0, 0, 0, 0]}))
    >>> tasks_of(rows).order_by("task").to_pyarrow().to_pylist()
    [{'task': 1, 'n': 2, 'is_sure': True}, {'task': 2, 'n': 2, 'is_sure': False}]
    """
    import ibis

    one, w = ibis.literal(1, "int64"), coded.w.cast("int64")
    bits = [one << (w // BITS**digit) % BITS for digit in range(DIGITS)]
    tasks = coded.group_by("task").agg(
        n=coded.count(),
        **{f"sum_{k}": bit.sum() for k, bit in enumerate(bits)},
        **{f"all_{k}": bit.bit_or() for k, bit in enumerate(bits)},
    )
    sure = tasks.sum_0 == tasks.all_0
    for k in range(1, DIGITS):
        sure = sure | (tasks[f"sum_{k}"] == tasks[f"all_{k}"])
    return tasks.select("task", "n", is_sure=sure)


def repeats_of(engine: Engine, coded: Any, tasks: Any) -> Repeats:
    """Count repeats and conflicts, in those of the tasks where that is not certain at a glance.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect("duckdb")
    >>> rows = engine.upload(pa.table({"task": [1, 1, 2], "w": [0, 0, 0], "c": [2, 5, 1]}))
    >>> repeats_of(engine, rows, tasks_of(rows))
    Repeats(tasks=2, most=2, extra=1, clashes=1, clash_rows=2)
    """
    whole = tasks.agg(
        tasks=tasks.count(), most=tasks.n.max(), unsure=(~tasks.is_sure).cast("int64").sum().cast("int64")
    )
    found = engine.backend.to_pyarrow(whole).to_pylist()[0]
    if found["unsure"] == 0:
        return Repeats(found["tasks"], found["most"], 0, 0, 0)
    one = by_worker_and_task(coded.semi_join(tasks.filter(~tasks.is_sure), "task"))
    clash = (one.low != one.high).cast("int64")
    total = one.agg(extra=(one.n - 1).sum(), clashes=clash.sum(), clash_rows=(clash * one.n).sum())
    total = total.cast(dict.fromkeys(total.columns, "int64"))
    return Repeats(found["tasks"], found["most"], **engine.fetch(total, "looking for repeats").to_pylist()[0])


def settle(engine: Engine, coded: Any, repeats: Repeats, policy: str, names: tuple[pa.Array, pa.Array]) -> Settled:
    """Keep one answer of each worker and task, and none where they conflict and are to be dropped.

    Raises:
        ConflictingAnswersError: there are conflicts, and no policy to settle them.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect("duckdb")
    >>> rows = engine.upload(pa.table({"task": [1, 1, 2], "w": [0, 0, 0], "c": [2, 5, 1], "order": [1, 2, 3]}))
    >>> found = repeats_of(engine, rows, tasks_of(rows))
    >>> kept = settle(engine, rows, found, "last", (pa.array(["ann"]), pa.array(list("abcdef"))))
    >>> kept.answers.order_by("task").to_pyarrow()["c"].to_pylist()
    [5, 1]
    """
    if policy == "error" and repeats.clashes:
        _refuse(engine, coded, repeats, *names)
    if repeats.clashes and policy in ("first", "last"):
        group = ["task", "w"]
        edge = coded.order.min() if policy == "first" else coded.order.max()
        at_edge = coded.mutate(edge=edge.over(group_by=group))
        # Two labels at one place in the order: the engine has no further order, so the first class counts.
        one = at_edge.filter(at_edge.order == at_edge.edge).group_by(group).agg(c=lambda t: t.c.min())
    else:
        both = by_worker_and_task(coded)
        one = both.filter(both.low == both.high).select("task", "w", c=both.low)
    kept = engine.keep(one, "leaving repeats out")
    tasks = kept.group_by("task").agg(n=kept.count())
    found = engine.fetch(tasks.agg(tasks=tasks.count(), most=tasks.n.max().fill_null(0)), "counting the tasks")
    return Settled(kept, **{name: int(found[name][0].as_py()) for name in ("tasks", "most")})


def _refuse(engine: Engine, coded: Any, repeats: Repeats, workers: pa.Array, labels: pa.Array) -> None:
    both = by_worker_and_task(coded)
    example = both.filter(both.low != both.high).order_by(["task", "w"]).limit(1)
    rows = engine.fetch(
        coded.semi_join(example, ["task", "w"]).select("task", "w", "c").distinct(), "naming a conflict"
    )
    first = rows.to_pylist()
    given = sorted(row["c"] for row in first)
    raise ConflictingAnswersError(
        f"{repeats.clashes:,} worker{'s' if repeats.clashes > 1 else ''} answered a task in two ways; "
        f"worker {workers[first[0]['w']].as_py()!r} gave task {first[0]['task']!r} "
        f"{listing([labels[k].as_py() for k in given])}. "
        "Choose on_conflict='first', 'last' or 'drop' (--on-conflict)"
    )
