"""The whole path inside an engine: answers -> codes -> pairs -> skills -> weights -> vote -> labels. Start here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from quorate.errors import OptionError, one_of
from quorate.methods.rank_one import solve, vote_weights
from quorate.methods.registry import METHODS
from quorate.reading.files import Source
from quorate.skills import SOLVERS, WEIGHTINGS
from quorate.skills.evidence import IDENTIFIED, NO_ANSWERS, NOT_ESTIMATED, orientation_note, undetermined_note
from quorate.skills.signs import SIGN_RULES
from quorate.uncertainty import check_level, skill_intervals
from quorate.uncertainty.intervals import KINDS, LEVEL
from quorate.voting.vote import skill_of
from quorate.warehouse.clean import Cleaned, check_order, clean
from quorate.warehouse.engine import Engine
from quorate.warehouse.evidence import evidence_of
from quorate.warehouse.gold import Gold, read_gold
from quorate.warehouse.inference import PairInference, square_sums
from quorate.warehouse.iwmv import VOTES, iwmv
from quorate.warehouse.pairs import BIG_TASK, RepeatsFound, count_pairs
from quorate.warehouse.result import Confidence, WarehouseResult
from quorate.warehouse.source import open_source, split_options
from quorate.warehouse.vote import Vote, decide, named
from quorate.warehouse.write import check_output, write_file, write_table

T = TypeVar("T")
METHODS_HERE = ("rank-one", "majority", "iwmv")


def aggregate(
    source: Source = None,
    method: str | None = None,
    *,
    gold: Source = None,
    output: str | Path | None = None,
    output_table: str | None = None,
    big_task: int = BIG_TASK,
    intervals: str = "auto",
    level: float = LEVEL,
    **options: Any,
) -> WarehouseResult:
    """Turn answers into labels and skills inside the engine that holds them.

    Args:
        source: a path or a pattern, an ibis table, or a table in memory; None with ``table``.
        method: ``rank-one`` (the default here), ``majority`` or ``iwmv``.
        gold: known labels of some tasks.
        output: a Parquet or CSV file that the engine writes.
        output_table: a table that the engine makes.
        big_task: tasks with more answers stay out of the join; see `quorate.warehouse.pairs`.
        intervals: ``fast`` (what ``auto`` is here: two more reads of the answers) or ``none``.
        level: of the intervals.
        options: where the answers are, see `quorate.warehouse.engine.EngineOptions`: engine, memory, temp, master,
            connect, table, order; how to read them, as `quorate.read`: task, worker, label, on_conflict, skip_missing,
            classes, format, delimiter; for rank-one: solver, tau, weighting, threshold, signs and the solver's own; for
            iwmv: max_iterations.

    Raises:
        EngineError: the engine is not there, or failed.
        InputError: the answers cannot be used as they are.

    >>> rows = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
    >>> aggregate(rows, "majority").labels.order_by("task").to_pyarrow()["label"].to_pylist()
    ['x', 'x']
    """
    chosen = check_method(method)
    check_level(level)
    if one_of(intervals, KINDS, "kind of interval") == "full":
        raise OptionError("full intervals need many passes over the answers; in an engine choose intervals='fast'")
    reading, where, options = split_options(options)
    _check_options(chosen, options)
    home, answers = open_source(source, reading, where)
    check_order(reading.on_conflict, answers)
    check_output(home, output, output_table)
    try:
        kind = "none" if intervals == "none" else "fast"

        def attempt(settled: bool) -> tuple[Cleaned, Gold | None, dict[str, Any]]:
            found = clean(home, answers, reading, settled=settled)
            known = read_gold(home, found, gold, reading)
            return found, known, _run(chosen, home, found, known, big_task, kind, level, dict(options))

        found, known, parts = once_or_twice(attempt) if chosen == "rank-one" else attempt(True)
        labels = named(decide(home, found, parts.pop("vote"), known), found)
        written = _write(home, labels, output, output_table)
        result = WarehouseResult(
            chosen,
            found.crowd,
            written,
            confidence=_confidence(home, written),
            engine=home,
            output=output if output is not None else output_table,
            **parts,
        )
    except BaseException:
        home.release()
        raise
    home.release(*([written] if output is None and output_table is None else []))
    if method is not None:
        return result
    used = "rank-one was used: the standard method, quorate, needs every answer in memory"
    return replace(result, notes=(*result.notes, used))


def once_or_twice(attempt: Callable[[bool], T]) -> T:
    """Try without looking for repeats; where some come to light while the pairs are counted, settle them and go again.

    >>> once_or_twice(lambda settled: settled)
    False
    """
    try:
        return attempt(False)
    except RepeatsFound:
        return attempt(True)


def check_method(method: str | None) -> str:
    """Return the method, rank-one where none is named.

    Raises:
        OptionError: it cannot run inside an engine.

    >>> check_method(None)
    'rank-one'
    """
    chosen = method or "rank-one"
    one_of(chosen, METHODS, "method")
    if chosen not in METHODS_HERE:
        raise OptionError(
            f"the method {chosen!r} needs every answer in memory, and cannot run inside an engine; choose rank-one, "
            "majority or iwmv (--method), or read the answers into memory (quorate.aggregate, or no --engine)"
        )
    return chosen


def _check_options(method: str, options: dict[str, Any]) -> None:
    accepted = {
        "rank-one": {"solver", "tau", "weighting", "threshold", "signs", "max_iterations", "tolerance", "record"}
        | {"step", "kappa", "K"},
        "iwmv": {"max_iterations"},
        "majority": set(),
    }[method]
    for name in options:
        if name not in accepted:
            raise OptionError(
                f"the method {method!r} has no option {name!r} inside an engine; it takes "
                f"{', '.join(sorted(accepted)) or 'none'}"
            )
    for name, allowed in (("solver", SOLVERS), ("weighting", WEIGHTINGS), ("signs", SIGN_RULES)):
        if name in options:
            one_of(options[name], allowed, name)
    if not options.get("tau", 1.0) >= 0:
        raise OptionError(f"tau must be zero or more, not {options['tau']}")


def _run(
    method: str,
    home: Engine,
    found: Cleaned,
    gold: Gold | None,
    big_task: int,
    kind: str,
    level: float,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Find the weights of the votes, and what there is to say of the workers."""
    if method == "rank-one":
        return rank_one(home, found, gold, big_task, kind, level, options)
    n = found.crowd.n_workers
    skills, weights = np.full(n, np.nan), np.ones(n)
    vote = Vote(weights, log_odds=False)
    notes: tuple[str, ...] = ()
    if method == "iwmv":
        last = iwmv(home, found, gold, **options)
        vote = last.vote
        if found.crowd.n_classes > 1:
            weights = found.crowd.n_classes * last.agreement - 1
            skills = skill_of(last.agreement, found.crowd.n_classes)
        if not last.settled:
            notes = (f"iwmv: the labels had not settled after {options.get('max_iterations', VOTES)} votes",)
    status = np.where(np.isnan(skills), NOT_ESTIMATED, IDENTIFIED)
    status[found.crowd.per_worker == 0] = NO_ANSWERS
    skills = np.where(found.crowd.per_worker == 0, np.nan, skills)
    nothing = skill_intervals(None, n, level=level)
    return {"vote": vote, "skills": skills, "weights": weights, "status": status, "intervals": nothing, "notes": notes}


def rank_one(
    home: Engine, found: Cleaned, gold: Gold | None, big_task: int, kind: str, level: float, options: dict[str, Any]
) -> dict[str, Any]:
    """Count the pairs in the engine, and solve here; returns the parts of a `WarehouseResult`, and the vote to hold.

    >>> home, source = open_source({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")})
    >>> parts = rank_one(home, clean(home, source), None, BIG_TASK, "fast", LEVEL, {})
    >>> parts["identifiability"].identifiable.tolist()
    [True]
    """
    crowd, n_gold = found.crowd, 0 if gold is None else gold.n_tasks
    chosen = {name: options.pop(name) for name in ("weighting", "threshold") if name in options}
    counted = count_pairs(home, found, gold, big_task=big_task)
    evidence = evidence_of(crowd, counted, n_gold, **chosen)
    estimate = solve(evidence, **options)
    skills, status = estimate.skills[: crowd.n_workers], estimate.status[: crowd.n_workers]
    weights = vote_weights(crowd, skills)
    inference = None
    if estimate.solution is not None and kind != "none":
        inference = PairInference(
            estimate.skills,
            evidence.moments if evidence.chosen is None else evidence.all_moments(),
            evidence.per_worker,
            lambda skills: square_sums(home, found, skills, gold),
            crowd.n_classes,
            crowd.n_answers + n_gold,
        )
    return {
        # Where no skill is determined, the plain majority decides.
        "vote": Vote(np.ones(crowd.n_workers), log_odds=False)
        if np.isnan(skills).all()
        else Vote(weights, log_odds=True),
        "skills": skills,
        "weights": weights,
        "status": status,
        "intervals": skill_intervals(inference, crowd.n_workers, level=level, kind=kind),
        "identifiability": evidence.verdict,
        "pairs": counted,
        "inference": inference,
        "solution": estimate.solution,
        "signs": estimate.signs,
        "notes": (*undetermined_note(status), *orientation_note(evidence)),
    }


def _write(home: Engine, labels: Any, output: str | Path | None, output_table: str | None) -> Any:
    if output is not None and output_table is not None:
        raise OptionError("write a file or a table, not both")
    if output is not None:
        return write_file(home, labels, output)
    if output_table is not None:
        return write_table(home, labels, output_table)
    return home.keep(labels, "voting")


def _confidence(home: Engine, labels: Any) -> Confidence:
    figures = labels.agg(
        mean=labels.confidence.mean(),
        below=(labels.confidence < 0.9).cast("int64").sum(),
        ties=labels.tied.cast("int64").sum(),
    )
    row = home.backend.to_pyarrow(figures).to_pylist()[0]
    return Confidence(float(row["mean"]), int(row["below"]), int(row["ties"]))
