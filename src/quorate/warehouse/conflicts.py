"""Rows that repeat an answer: which count, which contradict each other, and what stays of them."""

from dataclasses import dataclass

import pyarrow as pa

from quorate.errors import ConflictingAnswersError, listing
from quorate.warehouse.engine import Engine
from quorate.warehouse.expressions import EngineTable


@dataclass(frozen=True)
class Repeats:
    """How many rows repeat an answer, and how the answers spread over the tasks."""

    tasks: int
    most: int  # answers of the task that has the most, each worker counted once
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

    answers: EngineTable  # ibis: task, w, c
    tasks: int
    most: int


def by_worker_and_task(coded: EngineTable) -> EngineTable:
    """Group rows by task and worker: how many, and the least and the greatest label among them.

    >>> import ibis
    >>> rows = ibis.memtable(pa.table({"task": [1, 1], "w": [0, 0], "c": [2, 5]}))
    >>> by_worker_and_task(rows).to_pyarrow().to_pylist()
    [{'task': 1, 'w': 0, 'n': 2, 'low': 2, 'high': 5}]
    """
    return coded.group_by(["task", "w"]).agg(n=coded.count(), low=coded.c.min(), high=coded.c.max())


def repeats_of(engine: Engine, coded: EngineTable) -> Repeats:
    """Count repeats, conflicts and tasks in one query.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> rows = engine.upload(pa.table({"task": [1, 1, 2], "w": [0, 0, 0], "c": [2, 5, 1]}))
    >>> repeats_of(engine, rows)
    Repeats(tasks=2, most=1, extra=1, clashes=1, clash_rows=2)
    """
    one = by_worker_and_task(coded)
    clash = (one.low != one.high).cast("int64")
    tasks = one.group_by("task").agg(
        workers=one.count(), rows=one.n.sum(), clashes=clash.sum(), clash_rows=(clash * one.n).sum()
    )
    total = tasks.agg(
        tasks=tasks.count(),
        most=tasks.workers.max(),
        extra=(tasks.rows - tasks.workers).sum(),
        clashes=tasks.clashes.sum(),
        clash_rows=tasks.clash_rows.sum(),
    )
    return Repeats(
        **engine.fetch(total.cast(dict.fromkeys(total.columns, "int64")), "looking for repeats").to_pylist()[0]
    )


def no_repeats(engine: Engine, coded: EngineTable) -> Repeats:
    """Count the tasks only, as if there were no repeats: a quarter of what it costs to look for them.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> no_repeats(engine, engine.upload(pa.table({"task": [1, 1, 2], "w": [0, 1, 0], "c": [2, 5, 1]})))
    Repeats(tasks=2, most=2, extra=0, clashes=0, clash_rows=0)
    """
    tasks = coded.group_by("task").agg(n=coded.count())
    found = engine.fetch(tasks.agg(tasks=tasks.count(), most=tasks.n.max()), "counting the tasks").to_pylist()[0]
    return Repeats(int(found["tasks"]), int(found["most"]), 0, 0, 0)


def settle_conflicts(
    engine: Engine, coded: EngineTable, repeats: Repeats, policy: str, names: tuple[pa.Array, pa.Array]
) -> Settled:
    """Keep one answer of each worker and task, and none where they conflict and are to be dropped.

    Raises:
        ConflictingAnswersError: there are conflicts, and no policy to settle_conflicts them.

    >>> from quorate.warehouse.engine import connect
    >>> engine = connect()
    >>> rows = engine.upload(pa.table({"task": [1, 1, 2], "w": [0, 0, 0], "c": [2, 5, 1], "order": [1, 2, 3]}))
    >>> names = (pa.array(["ann"]), pa.array(list("abcdef")))
    >>> kept = settle_conflicts(engine, rows, repeats_of(engine, rows), "last", names)
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
    if not repeats.dropped(policy):
        return Settled(kept, repeats.tasks, repeats.most)
    tasks = kept.group_by("task").agg(n=kept.count())
    found = engine.fetch(tasks.agg(tasks=tasks.count(), most=tasks.n.max().fill_null(0)), "counting the tasks")
    return Settled(kept, **{name: int(found[name][0].as_py()) for name in ("tasks", "most")})


def _refuse(engine: Engine, coded: EngineTable, repeats: Repeats, workers: pa.Array, labels: pa.Array) -> None:
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
