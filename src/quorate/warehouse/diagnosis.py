"""What answers in an engine can and cannot tell: every question of `diagnosis` that pairs can answer."""

from typing import Any

from quorate.diagnosis.agreement import agreement_findings, agreement_test
from quorate.diagnosis.components import PartPairs, examine, parts
from quorate.diagnosis.diagnose import Diagnosis
from quorate.diagnosis.diagnose import diagnose as diagnose_here
from quorate.diagnosis.finding import ordered
from quorate.diagnosis.interaction import graph_findings
from quorate.diagnosis.workers import worker_findings
from quorate.errors import OptionError
from quorate.meetings.repair import counted_repair
from quorate.reading.files import Source
from quorate.uncertainty.intervals import IntervalChoice
from quorate.warehouse.clean import clean
from quorate.warehouse.counted_pairs import BIG_TASK, MOST_PAIRS
from quorate.warehouse.engine import Engine
from quorate.warehouse.engine_gold import read_gold
from quorate.warehouse.engine_labels import EngineLabels
from quorate.warehouse.engine_methods import Judged, rank_one
from quorate.warehouse.estimate import once_or_twice
from quorate.warehouse.roster import MetRoster
from quorate.warehouse.source import MEANINGFUL, WHERE, by_role, split_options
from quorate.warehouse.taken_out import Held, find_answers, take_out

NEEDS_ANSWERS = (
    "which tasks are hard, whose skill drifts, whether accuracy depends on the class or a group shares a bias: these "
    "need every answer in memory: ask them of a sample of whole tasks"
)


def diagnose(
    source: Source = None,
    *,
    gold: Source = None,
    big_task: int = BIG_TASK,
    delta: float = 0.05,
    **options: Any,
) -> Diagnosis:
    """Judge what answers in an engine determine, and what is wrong with them: beyond memory, as far as pairs can tell.

    Args:
        source: as `quorate.warehouse.aggregate`.
        gold: known labels of some tasks.
        big_task: tasks with more answers stay out of the join.
        delta: the probability with which the finite-task bounds may fail.
        options: where the answers are and how to read them, as `quorate.warehouse.aggregate`.

    >>> found = diagnose({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> found.repair.n_answers, [finding.kind for finding in found.findings]
    (1, ['cannot-be-judged', 'cannot-be-judged'])
    """
    reading, where, others = split_options(options)
    if others:
        raise OptionError(f"there is no option {next(iter(others))!r}; there are {', '.join((*MEANINGFUL, *WHERE))}")
    held = find_answers(source, reading, where)
    if held.is_small:
        try:
            return diagnose_here(take_out(held), gold=gold, delta=delta)
        finally:
            held.engine.close()
    return diagnose_held(held, gold=gold, big_task=big_task, delta=delta)


def diagnose_held(held: Held, *, gold: Source, delta: float, big_task: int = BIG_TASK) -> Diagnosis:
    """Judge answers inside the engine that holds them; takes what `diagnose` takes.

    >>> from quorate.reading.options import ReadOptions
    >>> from quorate.warehouse.engine import EngineOptions
    >>> rows = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}
    >>> diagnose_held(find_answers(rows, ReadOptions(), EngineOptions()), gold=None, delta=0.05).not_asked[0][:16]
    'which tasks are '
    """
    engine, answers = held.engine, by_role(held.table, held.reading, held.choice.where)
    try:

        def attempt(settled: bool) -> Judged:
            found = clean(engine, answers, held.reading, settled=settled)
            return rank_one(engine, found, read_gold(engine, found, gold, held.reading), big_task=big_task)

        return _examined(engine, once_or_twice(attempt), delta)
    finally:
        engine.release()


def _examined(engine: Engine, judged: Judged, delta: float) -> Diagnosis:
    result = judged.result("rank-one", EngineLabels(engine, None), IntervalChoice(kind="fast"))
    roster, verdict, inference = judged.roster, result.identifiability, judged.inference
    pairs = roster.pairs if isinstance(roster, MetRoster) else None
    not_asked = [NEEDS_ANSWERS]
    if pairs is None or not pairs.is_small:
        not_asked.append(f"which pairs agree beyond their skills, and bounds: there are more than {MOST_PAIRS:,} pairs")
        everyone = [PartPairs(part, part.workers, None) for part in verdict.components()]
        found = [*graph_findings(result, everyone)]
    else:
        everyone = list(parts(verdict, pairs.table, complete=True))
        found = [*graph_findings(result, everyone)]
        if inference is not None:
            found += agreement_findings(agreement_test(inference, pairs.table, roster.n_workers), roster)
    if inference is not None:
        found += worker_findings(result)
    components = tuple(examine(each, result, delta) for each in everyone)
    return Diagnosis(result, components, counted_repair(verdict, roster.n_workers), ordered(found), tuple(not_asked))
