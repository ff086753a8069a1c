"""What an aggregation in an engine returns: workers here, labels there, and a summary that a person can read."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray, Table, from_numpy, from_strings, table_of, take
from quorate.meetings.graph import Identifiability
from quorate.result import count, left_out, sizes
from quorate.skills.evidence import STATUSES
from quorate.skills.signs import Signs
from quorate.skills.solution import Solution
from quorate.uncertainty import Inference, Intervals
from quorate.voting.vote import accuracy
from quorate.warehouse.crowd import Crowd
from quorate.warehouse.engine import Engine
from quorate.warehouse.pairs import Counted


@dataclass(frozen=True)
class Confidence:
    """How sure the labels are, all together."""

    mean: float
    below: int  # tasks below 0.9
    ties: int


@dataclass(frozen=True)
class WarehouseResult:
    """Labels in the engine, skills here, and what the data could not tell."""

    method: str
    crowd: Crowd
    labels: Any  # an ibis table: task, label, confidence, margin, n_answers, tied
    skills: FloatArray  # NaN where not determined
    weights: FloatArray  # what each worker's vote counted
    status: IntArray  # of each worker: a position in `quorate.skills.evidence.STATUSES`
    confidence: Confidence
    intervals: Intervals
    engine: Engine
    identifiability: Identifiability | None = None  # None where the method counts no pairs
    pairs: Counted | None = None
    inference: Inference | None = None  # what intervals need to know of the estimate
    solution: Solution | None = None  # how the skills were found
    signs: Signs | None = None
    notes: tuple[str, ...] = ()  # what a reader must know, the most important first
    output: str | Path | None = None  # where the labels were written

    @cached_property
    def workers(self) -> Table:
        """One row a worker, as `quorate.Result.workers`; what the method does not count is null."""
        crowd, unknown, sure = self.crowd, np.isnan(self.skills), self.intervals
        n, nothing = crowd.n_workers, np.ones(crowd.n_workers, dtype=bool)
        peers = None if self.pairs is None else self.pairs.n_peers()
        component = None if self.identifiability is None else self.identifiability.component[:n]
        if peers is not None and self.pairs is not None and self.pairs.n_workers > n:
            peers = peers[:n] - self._met_gold()
        columns = {
            "worker": crowd.worker_names,
            "skill": from_numpy(self.skills, mask=unknown),
            "skill_low": from_numpy(sure.low, mask=np.isnan(sure.low)),
            "skill_high": from_numpy(sure.high, mask=np.isnan(sure.high)),
            "standard_error": from_numpy(sure.standard_error, mask=np.isnan(sure.standard_error)),
            "accuracy": from_numpy(accuracy(self.skills, crowd.n_classes), mask=unknown),
            "weight": self.weights,
            "n_answers": crowd.per_worker,
            "n_peers": from_numpy(np.zeros(n, np.int64), mask=nothing) if peers is None else peers,
            "component": from_numpy(np.zeros(n, np.int64), mask=nothing) if component is None else component,
            "status": take(from_strings(STATUSES), self.status),
        }
        return Table(table_of(columns))

    def _met_gold(self) -> IntArray:
        """Whether each worker answered a task of known label: gold is no peer."""
        assert self.pairs is not None
        gold = self.crowd.n_workers
        met = np.zeros(gold, np.int64)
        for block in self.pairs.blocks:
            met[block.i[block.j == gold]] = 1
        return met

    def to_dict(self, *, workers: bool = True) -> dict[str, Any]:
        """Return what `quorate aggregate --engine … --json` prints; the labels stay where they are."""
        listed: dict[str, Any] = {
            "method": self.method,
            "engine": self.engine.name,
            **sizes(self.crowd),
            "notes": list(self.notes),
            "output": None if self.output is None else str(self.output),
            "queries": list(self.engine.journal),
        }
        if self.identifiability is not None:
            listed["components"] = self.identifiability.n_components
            listed["identifiable_components"] = int(self.identifiability.identifiable.sum())
        if self.solution is not None:
            listed["solution"] = self.solution.to_dict()
        if workers:
            listed["skills"] = self.workers.to_pylist()
            listed["intervals"] = {"level": self.intervals.level, "kind": self.intervals.kind}
        return listed

    def summary(self) -> str:
        """Tell the result in a few lines; what is not determined comes first."""
        a, sure = self.crowd, self.confidence
        head = (
            f"{self.method} in {self.engine.name}: {count(a.n_tasks, 'task')} labelled from "
            f"{count(a.n_answers, 'answer')} by {count(a.n_workers, 'worker')}, {count(a.n_classes, 'class')}"
        )
        ties = count(sure.ties, "tie") if sure.ties else "no ties"
        told = f"confidence: mean {sure.mean:.2f}, {count(sure.below, 'task')} below 0.9; {ties}"
        return "\n".join([*self.notes, head, *self._skill_lines(), told, *left_out(a)])

    def _skill_lines(self) -> list[str]:
        known = self.skills[~np.isnan(self.skills)]
        if self.solution is None or not len(known):
            return []
        low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
        lines = [
            f"skills: median {middle:.2f}, nine in ten above {low:.2f}, one in ten above {high:.2f}",
            f"solver {self.solution}",
        ]
        if self.signs is not None and self.signs.contradicted >= 0.005:
            lines.append(f"signs: {self.signs.contradicted:.0%} of the evidence of the pairs contradicts them")
        return lines
