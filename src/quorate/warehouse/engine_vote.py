"""Weights -> labels, inside the engine: sum by task and class, and decide by the rules of `quorate.voting.vote`.

With few classes each has a column, and a task is decided within its row (`wide`). With many, only the classes that
somebody gave a task have a row. All others score zero there, which is known without a row: they enter the posterior by
their number, and where none of the classes given scores as well, the first of them wins (`long`).
"""

from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, table_of
from quorate.voting.vote import TIE
from quorate.warehouse.clean import Cleaned
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import EngineGold
from quorate.warehouse.expressions import Column, EngineTable

WIDE = 8  # classes, up to which each has a column
BITS = 62  # classes whose presence one 64-bit number tells


@dataclass(frozen=True)
class Weighing:
    """How votes are weighed: by log-odds, whose posterior is their softmax, or by shares of the weight cast."""

    weights: FloatArray  # of each worker
    log_odds: bool


def decide(engine: Engine, found: Cleaned, vote: Weighing, gold: EngineGold | None = None) -> EngineTable:
    """Return the ballot as an ibis expression: task, c, confidence, margin, n_answers, tied. Nothing is run yet.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> engine, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> ballot = decide(engine, clean(engine, source), Weighing(np.array([2.0, 0.5, 0.25]), log_odds=False))
    >>> ballot.select("c", "confidence", "tied").to_pyarrow().to_pylist()
    [{'c': 0, 'confidence': 0.727..., 'tied': False}]
    """
    m = found.roster.n_classes
    w = np.arange(len(vote.weights), dtype=np.int32)
    weights = engine.upload(table_of({"w": w, "weight": vote.weights.astype(np.float64)}))
    votes = found.answers.join(weights, "w").select("task", "c", "weight")
    tasks = _wide(votes, m) if m <= WIDE else _long(votes, m)
    ballot = _posterior(tasks, m, vote.log_odds)
    if found.lost is not None:
        ballot = ballot.union(_unanswered(found.lost, m).select(*ballot.columns).cast(dict(ballot.schema())))
    return ballot if gold is None else _reveal(ballot, gold)


def named(ballot: EngineTable, found: Cleaned) -> EngineTable:
    """Give the ballot the labels behind its codes, in the columns of `quorate.Result.labels`.

    >>> from quorate.warehouse.clean import clean
    >>> from quorate.warehouse.source import open_source
    >>> engine, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")})
    >>> found = clean(engine, source)
    >>> named(decide(engine, found, Weighing(np.ones(3), log_odds=False)), found).to_pyarrow()["label"].to_pylist()
    ['y']
    """
    joined = ballot.join(found.labels, "c")
    return joined.select("task", "label", "confidence", "margin", "n_answers", "tied")


def _wide(votes: EngineTable, m: int) -> EngineTable:
    """Sum the votes of each task in a column for each class, and decide within the row."""
    import ibis

    def largest(values: list[Column]) -> Column:
        return ibis.greatest(*values) if m > 1 else values[0]

    tasks = votes.group_by("task").agg(
        against=ibis.least(votes.weight, 0.0).sum(),
        **{f"s{k}": ibis.ifelse(votes.c == k, votes.weight, 0.0).sum() for k in range(m)},
        **{f"n{k}": votes.count(where=votes.c == k) for k in range(m)},
    )
    tasks = tasks.mutate(best=largest([tasks[f"s{k}"] for k in range(m)]))
    leads = [tasks[f"s{k}"] >= tasks.best - TIE * ibis.greatest(tasks.best.abs(), 1.0) for k in range(m)]
    # Among the leading classes: the plain majority, then the order of the classes.
    rank = largest([ibis.ifelse(leads[k], tasks[f"n{k}"] * m + (m - 1 - k), -1) for k in range(m)])
    tasks = tasks.mutate(
        c=(m - 1 - rank % m).cast("int32"),
        tied=sum((lead.cast("int32") for lead in leads[1:]), leads[0].cast("int32")) > 1,
        total=_plus([(tasks[f"s{k}"] - tasks.best).exp() for k in range(m)]),
        cast_total=_plus([ibis.greatest(tasks[f"s{k}"] - tasks.against, 0.0) for k in range(m)]),
        n_answers=_plus([tasks[f"n{k}"] for k in range(m)]).cast("int64"),
    )
    others = [ibis.ifelse(tasks.c == k, -np.inf, tasks[f"s{k}"]) for k in range(m)]
    return tasks.mutate(
        score=_plus([ibis.ifelse(tasks.c == k, tasks[f"s{k}"], 0.0) for k in range(m)]),
        other=largest(others) if m > 1 else ibis.null("float64"),
    )


def _plus(values: list[Column]) -> Column:
    return sum(values[1:], values[0])


def _long(votes: EngineTable, m: int) -> EngineTable:
    """Decide each task from rows, one for each class that somebody gave it."""
    import ibis

    tasks = _chosen(_cells(votes, m), m)
    rest = ibis.greatest(-tasks.against, 0.0)
    return tasks.mutate(
        total=tasks.total + tasks.n_rest * (-tasks.best).exp(),
        cast_total=tasks.cast_total - tasks.n_given * tasks.against + tasks.n_rest * rest,
    )


def _cells(votes: EngineTable, m: int) -> EngineTable:
    """Sum the votes of each task and class given, and set beside each the best and the least needed of its task."""
    import ibis

    cells = votes.group_by(["task", "c"]).agg(
        score=votes.weight.sum(),
        n=votes.count(),
        against=ibis.least(votes.weight, 0.0).sum(),
    )
    of_task = ibis.window(group_by="task")
    cells = cells.mutate(best_given=cells.score.max().over(of_task), n_given=cells.count().over(of_task))
    # A class that nobody gave scores zero.
    best = ibis.ifelse(cells.n_given < m, ibis.greatest(cells.best_given, 0.0), cells.best_given)
    least = best - TIE * ibis.greatest(best.abs(), 1.0)
    leads = cells.score >= least
    return cells.mutate(
        best=best,
        leads=leads,
        rest_leads=(cells.n_given < m) & (least <= 0.0),
        # Among the leading classes: the plain majority, then the order of the classes.
        rank=ibis.ifelse(leads, cells.n * m + (m - 1 - cells.c), -1),
    )


def _chosen(cells: EngineTable, m: int) -> EngineTable:
    """Decide each task: its class, and the score of that class and of the best other one."""
    import ibis

    is_best = cells.score == cells.best_given
    tasks = cells.group_by("task").agg(
        n_answers=cells.n.sum().cast("int64"),
        n_given=cells.n_given.max(),
        against=cells.against.sum(),
        best_given=cells.best_given.max(),
        best=cells.best.max(),
        n_leading=cells.leads.cast("int64").sum(),
        rest_leads=cells.rest_leads.cast("int64").max(),
        rank=cells.rank.max(),
        score=cells.score.argmax(cells.rank),
        n_best=is_best.cast("int64").sum(),
        second=ibis.ifelse(is_best, ibis.null("float64"), cells.score).max(),
        total=(cells.score - cells.best).exp().sum(),
        cast_total=cells.score.sum(),
        **{f"given_{b}": bits.sum() for b, bits in enumerate(_presence(cells.c, m))},
    )
    n_rest = m - tasks.n_given
    none_given = tasks.n_leading == 0  # a class that nobody gave beats all that somebody did
    other = ibis.ifelse((tasks.score < tasks.best_given) | (tasks.n_best > 1), tasks.best_given, tasks.second)
    other = ibis.ifelse(none_given, tasks.best_given, other)
    n_other_rest = n_rest - none_given.cast("int64")
    other = ibis.ifelse(n_other_rest > 0, ibis.greatest(other.fill_null(0.0), 0.0), other)
    return tasks.mutate(
        c=ibis.ifelse(none_given, _first_absent(tasks, m), m - 1 - tasks["rank"] % m).cast("int32"),
        score=ibis.ifelse(none_given, 0.0, tasks.score),
        other=other,
        n_rest=n_rest,
        tied=tasks.n_leading + tasks.rest_leads * n_rest > 1,
    )


def _posterior(tasks: EngineTable, m: int, log_odds: bool) -> EngineTable:
    """Turn scores to probabilities: the softmax of log-odds, or shares of the weight cast."""
    import ibis

    if log_odds:
        confidence = (tasks.score - tasks.best).exp() / tasks.total
        beside = (tasks.other - tasks.best).exp() / tasks.total
    else:
        # A vote of negative weight against a class is a vote of that size for every other class.
        some = tasks.cast_total > 0
        confidence = ibis.ifelse(some, ibis.greatest(tasks.score - tasks.against, 0.0) / tasks.cast_total, 1 / m)
        beside = ibis.ifelse(some, ibis.greatest(tasks.other - tasks.against, 0.0) / tasks.cast_total, 1 / m)
    # With one class there is no other.
    margin = confidence - ibis.ifelse(tasks.other.isnull(), 0.0, beside)
    return tasks.select("task", "c", confidence=confidence, margin=margin, n_answers="n_answers", tied="tied")


def _presence(code: Column, m: int) -> list[Column]:
    """Write which classes there are as bits of one or more integers."""
    import ibis

    one = ibis.literal(1, "int64")
    if m <= BITS:
        return [one << code.cast("int64")]
    return [
        ibis.ifelse((code >= start) & (code < start + BITS), one << ((code.cast("int64") - start) % BITS), 0)
        for start in range(0, m, BITS)
    ]


def _first_absent(tasks: EngineTable, m: int) -> Column:
    """Find the first class that nobody gave; 0 if there is none, which is not asked for."""
    import ibis

    bits = [(tasks[f"given_{c // BITS}"] & (1 << (c % BITS)), c) for c in range(m)]
    first: Column = ibis.cases(*((bit == 0, c) for bit, c in bits), else_=0)
    return first


def _unanswered(lost: EngineTable, m: int) -> EngineTable:
    """Label the tasks whose answers were all left out: every class ties, and the first is taken."""
    import ibis

    return lost.mutate(
        c=ibis.literal(0, "int32"),
        confidence=ibis.literal(1 / m, "float64"),
        margin=ibis.literal(0.0 if m > 1 else 1.0, "float64"),
        n_answers=ibis.literal(0, "int64"),
        tied=ibis.literal(m > 1),
    )


def _reveal(ballot: EngineTable, gold: EngineGold) -> EngineTable:
    """Give the tasks whose label is known that label, for certain."""
    import ibis

    known = gold.table.select(known="task", g="g")
    joined = ballot.left_join(known, ballot.task == known.known).select(*ballot.columns, "g")
    is_known = joined.g.notnull()
    return joined.mutate(
        c=ibis.coalesce(joined.g, joined.c),
        confidence=ibis.ifelse(is_known, 1.0, joined.confidence),
        margin=ibis.ifelse(is_known, 1.0, joined.margin),
        tied=joined.tied & ~is_known,
    ).drop("g")
