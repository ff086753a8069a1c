"""What answers in an engine can and cannot tell: every question of `diagnosis` that pairs can answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from quorate.diagnosis.agreement import agreement_findings, agreement_test
from quorate.diagnosis.components import ComponentFinding, component_row, examine, parts
from quorate.diagnosis.diagnose import MOST_SHOWN
from quorate.diagnosis.finding import Finding, ids, ordered
from quorate.diagnosis.identification import identification_findings
from quorate.diagnosis.loose import tie_findings
from quorate.diagnosis.workers import worker_findings
from quorate.meetings.graph import Identifiability
from quorate.reading.files import Source
from quorate.result import count, left_out, sizes
from quorate.skills.evidence import IDENTIFIED, STATUSES
from quorate.uncertainty.intervals import LEVEL
from quorate.warehouse.clean import check_order, clean
from quorate.warehouse.crowd import Crowd
from quorate.warehouse.engine import Engine
from quorate.warehouse.estimate import once_or_twice, rank_one
from quorate.warehouse.gold import read_gold
from quorate.warehouse.pairs import BIG_TASK, MOST_PAIRS
from quorate.warehouse.source import open_source

NEEDS_ANSWERS = (
    "which tasks are hard, whose skill drifts, whether accuracy depends on the class or a group shares a bias: these "
    "need every answer in memory; leave out --engine to ask them"
)


@dataclass(frozen=True)
class Solved:
    """Rank-one skills from an engine, in the shape that the findings read."""

    answers: Crowd
    skills: Any
    status: Any
    intervals: Any
    inference: Any
    identifiability: Identifiability
    notes: tuple[str, ...]


@dataclass(frozen=True)
class WarehouseDiagnosis:
    """Everything `quorate diagnose --engine …` prints."""

    result: Solved
    engine: Engine
    components: tuple[ComponentFinding, ...]
    findings: tuple[Finding, ...]  # the most serious first
    not_asked: tuple[str, ...]

    def worker_name(self, code: int) -> Any:
        """Return a worker's id; the known labels are a worker too."""
        crowd = self.result.answers
        return crowd.worker_names[int(code)].as_py() if code < crowd.n_workers else "(gold)"

    @property
    def n_repairs(self) -> int | None:
        """The fewest further answers that would join everyone in one identifiable component; None if none can."""
        verdict = self.result.identifiability
        if verdict.identifiable.all() and verdict.n_components == 1:
            return 0
        if self.result.answers.n_workers < 3:
            return None
        return max(verdict.n_components - 1, 1)

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate diagnose --engine … --json` prints."""
        crowd, status = self.result.answers, self.result.status
        undetermined = np.flatnonzero(status != IDENTIFIED)
        return {
            "engine": self.engine.name,
            **sizes(crowd),
            "findings": [
                {
                    "kind": each.kind,
                    "sentence": each.sentence,
                    "strength": each.strength,
                    "measure": each.measure,
                    "workers": ids(crowd.worker_names, each.workers),
                    "evidence": dict(each.evidence),
                }
                for each in self.findings
            ],
            "not_asked": list(self.not_asked),
            "components": [
                {
                    "workers": int((each.component.workers < crowd.n_workers).sum()),
                    "pairs": each.n_pairs,
                    "bipartite": each.component.bipartite,
                    "identifiable": each.component.identifiable,
                    "bound": each.bound_dict(),
                }
                for each in self.components
            ],
            "unidentifiable_workers": ids(crowd.worker_names, undetermined),
            "reasons": [STATUSES[status[code]] for code in undetermined],
            "repair": {"possible": self.n_repairs is not None, "answers": self.n_repairs},
            "notes": list(self.result.notes),
            "queries": list(self.engine.journal),
        }

    def lines(self) -> Iterator[str]:
        """Yield the findings line by line, what is wrong first."""
        crowd, verdict = self.result.answers, self.result.identifiability
        yield (
            f"{count(crowd.n_answers, 'answer')} to {count(crowd.n_tasks, 'task')} by "
            f"{count(crowd.n_workers, 'worker')}, {count(crowd.n_classes, 'class')}, in {self.engine.name}"
        )
        yield from left_out(crowd)
        yield (
            f"{count(len(self.findings), 'finding')}, the most serious first:"
            if self.findings
            else "nothing was found to be wrong"
        )
        for _, same in groupby(self.findings, key=lambda finding: finding.kind):
            kind = list(same)
            yield from (f"- {finding.sentence}" for finding in kind[:MOST_SHOWN])
            if len(kind) > MOST_SHOWN:
                yield f"  and {len(kind) - MOST_SHOWN:,} more of this kind; --json lists all"
        yield from (f"not asked: {reason}" for reason in self.not_asked)
        yield from self.result.notes
        broken = int((~verdict.identifiable).sum())
        graph = count(verdict.n_components, "component")
        yield f"the interaction graph has {graph}, {f'{broken} of them not' if broken else 'all of them'} identifiable"
        if self.n_repairs:
            yield f"{count(self.n_repairs, 'further answer')} would join everyone in one identifiable component"

    def columns(self) -> list[str]:
        """Name the columns of `rows`."""
        return ["component", "workers", "pairs", "verdict", "witness", "lambda_min", "N_min", "kappa", "K", "bound"]

    def rows(self, most: int = 10) -> Iterator[list[Any]]:
        """Yield one row a component, the largest first."""
        for number, finding in enumerate(self.components[:most]):
            part = finding.component
            names = [str(self.worker_name(code)) for code in (part.odd_cycle or part.sides[0])[:5]]
            yield component_row(number, finding, names)


def diagnose(
    source: Source = None,
    *,
    gold: Source = None,
    on_conflict: str = "error",
    skip_missing: bool = False,
    big_task: int = BIG_TASK,
    delta: float = 0.05,
    **where: Any,
) -> WarehouseDiagnosis:
    """Judge what answers in an engine determine, and what is wrong with them as far as pairs can tell.

    Args:
        source: as `quorate.warehouse.aggregate`.
        gold: known labels of some tasks.
        on_conflict: as `quorate.read`.
        skip_missing: as `quorate.read`.
        big_task: tasks with more answers stay out of the join.
        delta: the probability with which the finite-task bounds may fail.
        where: as `quorate.warehouse.source.open_source`: engine, memory, temp, master, url, table, the columns.

    >>> found = diagnose({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> found.n_repairs, [finding.kind for finding in found.findings]
    (1, ['unidentifiable', 'unidentifiable'])
    """
    engine, answers = open_source(source, **where)
    check_order(on_conflict, answers)
    try:

        def attempt(settled: bool) -> tuple[Crowd, dict[str, Any]]:
            found = clean(engine, answers, on_conflict=on_conflict, skip_missing=skip_missing, settled=settled)
            known = read_gold(engine, found, gold)
            return found.crowd, rank_one(engine, found, known, big_task, "fast", LEVEL, {})

        return _examined(engine, *once_or_twice(attempt), delta)
    finally:
        engine.release()


def _examined(engine: Engine, crowd: Crowd, solved: dict[str, Any], delta: float) -> WarehouseDiagnosis:
    counted, verdict, inference = solved["pairs"], solved["identifiability"], solved["inference"]
    # The findings read a result of the memory path; this has the same names where they look.
    result: Any = Solved(
        crowd, solved["skills"], solved["status"], solved["intervals"], inference, verdict, solved["notes"]
    )
    not_asked = [NEEDS_ANSWERS]
    if not counted.is_small:
        not_asked.append(f"which pairs agree beyond their skills, and bounds: there are more than {MOST_PAIRS:,} pairs")
        found = [*identification_findings(result, verdict.components())]
        components = tuple(ComponentFinding(part, None, None) for part in verdict.components())
    else:
        everyone = list(parts(verdict, counted.table, complete=True))
        found = [*identification_findings(result, (each.part for each in everyone))]
        found += tie_findings(everyone, verdict, None, result.answers)
        if inference is not None:
            found += agreement_findings(agreement_test(inference, counted.table, crowd.n_workers), result.answers)
        components = tuple(examine(each, result, delta) for each in everyone)
    if inference is not None:
        found += worker_findings(result)
    return WarehouseDiagnosis(result, engine, components, ordered(found), tuple(not_asked))
