"""What these data can and cannot tell: sizes, components, who is not identifiable and why, what would repair it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.bounds import SkillBound, skill_bound
from quorate.estimate import rank_one
from quorate.files import Source
from quorate.graph import Component, grouped
from quorate.pairs import PairStats, pair_stats
from quorate.repair import Repair, repair
from quorate.result import Result, count, left_out, sizes
from quorate.status import IDENTIFIED, STATUSES


@dataclass(frozen=True)
class ComponentFinding:
    """One component: its verdict and witness, and how firmly it determines skills."""

    component: Component
    n_pairs: int
    bound: SkillBound | None  # None for a worker alone


@dataclass(frozen=True)
class Diagnosis:
    """Everything `quorate diagnose` prints."""

    result: Result
    components: tuple[ComponentFinding, ...]
    repair: Repair

    @property
    def answers(self) -> Answers:
        """What was diagnosed."""
        return self.result.answers

    def undetermined(self) -> IntArray:
        """Return the codes of the workers whose skill is not determined."""
        return np.flatnonzero(self.result.status != IDENTIFIED)

    def worker_name(self, code: int) -> Any:
        """Return a worker's id; the known labels are a worker too."""
        known = code < self.answers.n_workers
        return self.answers.worker_names[int(code)].as_py() if known else "(gold)"

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate diagnose --json` prints."""
        a = self.answers
        undetermined = self.undetermined()
        return {
            **sizes(a),
            "components": [self._component_dict(finding) for finding in self.components],
            "unidentifiable_workers": [self.worker_name(code) for code in undetermined],
            "reasons": [STATUSES[self.result.status[code]] for code in undetermined],
            "repair": {
                "possible": self.repair.possible,
                "answers": self.repair.n_answers,
                "assignments": [
                    {"task": a.task_names[int(t)].as_py(), "worker": self.worker_name(w)}
                    for t, w in zip(self.repair.task, self.repair.worker, strict=True)
                ],
            },
            "notes": list(self.result.notes),
        }

    def _component_dict(self, finding: ComponentFinding) -> dict[str, Any]:
        part, bound = finding.component, finding.bound
        return {
            "workers": int((part.workers < self.answers.n_workers).sum()),
            "pairs": finding.n_pairs,
            "bipartite": part.bipartite,
            "identifiable": part.identifiable,
            "witness": self._witness_dict(part),
            "lambda_min": 0.0 if bound is None else bound.smallest,
            "lambda_min_weighted": 0.0 if bound is None else bound.smallest_weighted,
            "n_min": None if bound is None else bound.least_shared,
            "bound": None if bound is None else _bound_dict(bound),
        }

    def _witness_dict(self, part: Component) -> dict[str, Any]:
        if part.odd_cycle:
            return {"odd_cycle": [self.worker_name(code) for code in part.odd_cycle]}
        return {"sides": [[self.worker_name(code) for code in side] for side in part.sides]}

    def summary(self) -> str:
        """Tell the findings in a few lines, what is wrong first."""
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the findings line by line."""
        a, verdict = self.answers, self.result.identifiability
        yield (
            f"{count(a.n_answers, 'answer')} to {count(a.n_tasks, 'task')} by {count(a.n_workers, 'worker')}, "
            f"{count(a.n_classes, 'class')}"
        )
        yield from left_out(a)
        broken = int((~verdict.identifiable).sum())
        if broken or self.result.notes:
            yield from self.result.notes
        else:
            yield "every worker's skill is determined"
        if verdict.n_components > 1:
            parts = count(verdict.n_components, "component")
            yield f"the interaction graph has {parts}, {broken or 'none'} of them not identifiable"
        else:
            shape = "is bipartite" if verdict.bipartite[0] else "has an odd cycle"
            yield f"the interaction graph is connected and {shape}"
        yield from self._repair_lines()

    def columns(self) -> list[str]:
        """Name the columns of `rows`."""
        return ["component", "workers", "pairs", "verdict", "witness", "lambda_min", "N_min", "kappa", "K", "bound"]

    def rows(self, most: int = 10) -> Iterator[list[Any]]:
        """Yield one row a component, the largest first: what the command prints as a table."""
        for number, finding in enumerate(self.components[:most]):
            part, bound = finding.component, finding.bound
            names = [str(self.worker_name(code)) for code in (part.odd_cycle or part.sides[0])[:5]]
            witness = " – ".join([*names, names[0]]) if part.odd_cycle else f"one side: {', '.join(names)}"
            verdict = "identifiable" if part.identifiable else "bipartite" if finding.n_pairs else "alone"
            row = [number, len(part.workers), finding.n_pairs, verdict, witness]
            if bound is None:
                yield [*row, *[None] * 5]
            else:
                limit = bound.finite_task_hoeffding
                yield [*row, bound.smallest, bound.least_shared, bound.kappa, bound.K, limit]

    def _repair_lines(self) -> Iterator[str]:
        a, mended = self.answers, self.repair
        if not mended.possible:
            yield "no assignment of these workers can repair it: an odd cycle needs three workers, or give gold labels"
        elif mended.n_answers:
            task, worker = a.task_names[int(mended.task[0])].as_py(), self.worker_name(mended.worker[0])
            more = f", and {mended.n_answers - 1:,} more workers the same" if mended.n_answers > 1 else ""
            yield (
                f"{count(mended.n_answers, 'further answer')} would join everyone in one identifiable component: let "
                f"worker {worker!r} answer task {task!r}{more}. Fewest is not best: 50 to 100 shared tasks settle "
                "scale and sign"
            )


def diagnose(answers: Answers, *, gold: Source = None, delta: float = 0.05) -> Diagnosis:
    """Judge what these answers determine.

    Args:
        answers: who answered what.
        gold: known labels of some tasks; they anchor their component.
        delta: the probability with which the finite-task bounds may fail.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> print(diagnose(answers).summary())
    3 answers to 2 tasks by 3 workers, 2 classes
    3 of 3 workers' skills are not determined: shares no task with anyone (1), its component is bipartite (2)
    the interaction graph has 2 components, 2 of them not identifiable
    1 further answer would join everyone in one identifiable component: let worker 'c' answer task 1. Fewest is ...
    """
    result = rank_one(answers, gold=gold)
    pairs = pair_stats(answers)
    verdict = result.identifiability
    inside = grouped(verdict.component[pairs.i], verdict.n_components)
    findings = (
        _examine(part, pairs, own, result, delta) for part, own in zip(verdict.components(), inside, strict=True)
    )
    return Diagnosis(result, tuple(findings), repair(answers, verdict))


def _examine(part: Component, pairs: PairStats, inside: IntArray, result: Result, delta: float) -> ComponentFinding:
    members = part.workers[part.workers < result.answers.n_workers]
    if len(inside) == 0:
        return ComponentFinding(part, 0, None)
    own = PairStats(
        np.searchsorted(members, pairs.i[inside]),
        np.searchsorted(members, pairs.j[inside]),
        pairs.shared[inside],
        pairs.agreed[inside],
    )
    bound = skill_bound(own, len(members), result.answers.n_classes, result.skills[members], delta=delta)
    return ComponentFinding(part, len(own), bound)


def _bound_dict(bound: SkillBound) -> dict[str, float]:
    return {
        "kappa": bound.kappa,
        "K": bound.K,
        "delta": bound.delta,
        "mu": bound.mu,
        "per_unit_of_disturbance": bound.perturbation(1.0),
        "finite_task": bound.finite_task,
        "finite_task_hoeffding": bound.finite_task_hoeffding,
    }
