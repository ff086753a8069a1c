"""What these data can and cannot tell, and what is wrong with them: every finding, and what would repair it.

More than one factor: skilled workers who agree among themselves more than one skill a worker explains.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, Unpack

import numpy as np

from quorate.answers import Answers, CrowdInfo
from quorate.arrays import FloatArray, IntArray, Shown
from quorate.blocks.memory import blocks_of
from quorate.calibration.confidence import advised_labels
from quorate.calibration.one_factor import one_factor_fit
from quorate.diagnostics.class_dependence import held_out, misfit_findings, right_by_class
from quorate.diagnostics.components import WANTED, ComponentFinding, component_row, counted_pairs, examine, parts
from quorate.diagnostics.copying import agreement_findings, agreement_test, copying_findings
from quorate.diagnostics.drift import drift_findings, drift_test
from quorate.diagnostics.finding import Finding, ordered
from quorate.diagnostics.hard_tasks import task_findings, task_test, untested_tasks
from quorate.diagnostics.identifiability import graph_findings, weak_findings
from quorate.diagnostics.workers import about_workers
from quorate.errors import TooLargeError, in_python, refuse_with_result
from quorate.graph.components import Component
from quorate.graph.pairs import PairStats
from quorate.graph.repair import Repair, repair
from quorate.interrater.agreement import Agreement, agreement
from quorate.io.gold import answers_and_gold, named_gold
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read_table import Source
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.notes import LOW_ONE_FACTOR_FIT
from quorate.result import Result, count, left_out, sizes
from quorate.skills.identification import DETERMINED, STATUSES
from quorate.skills.rank_one_score import OneCoinInference
from quorate.skills.shrinkage import response_bias
from quorate.skills.weak_identification import Comparison, comparisons


def factor_findings(one_factor_weight: float, n_tasks: int) -> list[Finding]:
    """Finding that one factor does not explain the agreement between workers, from the one-factor weight.

    >>> factor_findings(1.0, 90), factor_findings(0.4, 90)[0].kind
    ([], 'several-factors')
    """
    if one_factor_weight >= LOW_ONE_FACTOR_FIT:
        return []
    n = advised_labels(n_tasks)
    return [
        Finding(
            "several-factors",
            "some skilled workers agree among themselves more than their skills explain: a group may copy or share a "
            "bias. The default method leans towards the plain vote there; only known labels tell who is right"
            + (f" (quorate advise --expert {n})" if n else ""),
            one_factor_weight,
            "trust, from 0 to 1; low is bad",
            evidence={"trust": one_factor_weight, "least_trusted": LOW_ONE_FACTOR_FIT},
            figures=f"trust {one_factor_weight:.2f}, of 1: more than one factor explains who agrees with whom",
        )
    ]


MOST_SHOWN = 3  # findings of one kind that `lines` tells


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """Everything `quorate diagnose` prints, wherever the answers lie."""

    result: Result
    components: tuple[ComponentFinding, ...]
    repair: Repair
    findings: tuple[Finding, ...] = ()  # the most serious first
    not_asked: tuple[str, ...] = ()  # which questions were left out, and why
    comparisons: tuple[Comparison, ...] = ()  # one for each group of weakly identified workers, that would identify it

    @property
    def answers(self) -> Answers:
        """What was diagnosed."""
        return self.result.answers

    @cached_property
    def agreement(self) -> Agreement | None:
        """How alike the answers are; None where they stay in an engine."""
        return None if isinstance(self.result.crowd_info, CrowdInfo) else agreement(self.answers)

    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one kind; see `quorate.diagnostics.finding.KINDS`."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def undetermined(self) -> IntArray:
        """Return the codes of the workers whose skill is not determined."""
        return np.flatnonzero(~np.isin(self.result.status, DETERMINED))

    def worker_name(self, code: int) -> Any:
        """Return a worker's id; the known labels are a worker too."""
        crowd_info = self.result.crowd_info
        return crowd_info.worker_names[int(code)].as_py() if code < crowd_info.n_workers else "(gold)"

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate diagnose --json` prints."""
        a = self.result.crowd_info
        undetermined = self.undetermined()
        return {
            **sizes(a),
            "agreement": None if self.agreement is None else self.agreement.brief(),
            "findings": [finding.to_dict(a) for finding in self.findings],
            "not_asked": list(self.not_asked),
            "components": [self._component_dict(finding) for finding in self.components],
            "unidentifiable_workers": [self.worker_name(code) for code in undetermined],
            "reasons": [STATUSES[self.result.status[code]] for code in undetermined],
            "repair": {
                "possible": self.repair.possible,
                "answers": self.repair.n_answers,
                "assignments": None if isinstance(a, CrowdInfo) else self._assignments(a),
                "comparisons": [self._comparison_dict(each) for each in self.comparisons],
            },
            "notes": [note.text for note in self.result.notes],
        }

    def _comparison_dict(self, comparison: Comparison) -> dict[str, Any]:
        return {
            "task": self.answers.task_names[comparison.task].as_py(),
            "worker": self.worker_name(comparison.worker),
            "with": self.worker_name(comparison.partner),
            "identifies": [self.worker_name(code) for code in comparison.workers],
        }

    def _assignments(self, answers: Answers) -> list[dict[str, Any]]:
        return [
            {"task": answers.task_names[int(t)].as_py(), "worker": self.worker_name(w)}
            for t, w in zip(self.repair.task, self.repair.worker, strict=True)
        ]

    def _component_dict(self, finding: ComponentFinding) -> dict[str, Any]:
        part, bound = finding.component, finding.bound
        nothing = 0.0 if finding.n_pairs == 0 else None
        return {
            "workers": int((part.workers < self.result.crowd_info.n_workers).sum()),
            "pairs": finding.n_pairs,
            "bipartite": part.bipartite,
            "identifiable": part.identifiable,
            "witness": self._witness_dict(part),
            "lambda_min": nothing if bound is None else bound.smallest,
            "lambda_min_weighted": nothing if bound is None else bound.smallest_weighted,
            "n_min": None if bound is None else bound.least_shared,
            "bound": finding.bound_dict(),
        }

    def _witness_dict(self, part: Component) -> dict[str, Any]:
        if part.odd_cycle:
            return {"odd_cycle": [self.worker_name(code) for code in part.odd_cycle]}
        return {"sides": [[self.worker_name(code) for code in side] for side in part.sides]}

    def summary(self) -> str:
        """Tell the findings in a few lines, what is wrong first."""
        return in_python("\n".join(self.lines()))

    def lines(self) -> Iterator[str]:
        """Yield the findings line by line."""
        a, verdict = self.result.crowd_info, self.result.identifiability
        there = "" if a.engine is None else f", in {a.engine}"
        yield (
            f"{count(a.n_answers, 'answer')} to {count(a.n_tasks, 'task')} by {count(a.n_workers, 'worker')}, "
            f"{count(a.n_classes, 'class')}{there}"
        )
        yield from left_out(a)
        yield from self._finding_lines()
        if self.agreement is not None:
            yield self.agreement.line()
        broken = int((~verdict.identifiable).sum())
        weak_lines = self.result.weak_lines()
        yield from weak_lines
        yield from (note.text for note in self.result.notes)
        if not broken and not weak_lines:
            yield "every worker's skill is determined"
        if verdict.n_components > 1:
            parts = count(verdict.n_components, "component")
            which = f"{broken} of them not" if broken else "all of them"
            yield f"the interaction graph has {parts}, {which} identifiable"
        else:
            shape = "is bipartite" if verdict.bipartite[0] else "has an odd cycle"
            yield f"the interaction graph is connected and {shape}"
        yield from self._repair_lines()

    def _finding_lines(self) -> Iterator[str]:
        if not self.findings:
            yield "nothing was found to be wrong"
        else:
            yield f"{count(len(self.findings), 'finding')}, the most serious first:"
        for _, same in groupby(self.findings, key=lambda finding: finding.kind):
            kind = list(same)
            yield from (f"- {finding.sentence}" for finding in kind[:MOST_SHOWN])
            if len(kind) > MOST_SHOWN:
                yield f"  and {len(kind) - MOST_SHOWN:,} more of this kind; --json lists all"
        yield from (f"not asked: {reason}" for reason in self.not_asked)

    def columns(self) -> list[str]:
        """Name the columns of `rows`."""
        figures = ["lambda_min", "N_min", "kappa", "K", "error", f"tasks for {WANTED:g}"]
        return ["component", "workers", "pairs", "verdict", "witness", *figures]

    def rows(self, most: int = 10) -> Iterator[list[Any]]:
        """Yield one row a component, the largest first: what the command prints as a table."""
        for number, finding in enumerate(self.components[:most]):
            part = finding.component
            names = [str(self.worker_name(code)) for code in (part.odd_cycle or part.sides[0])[:5]]
            yield component_row(number, finding, names, self.result.crowd_info.n_tasks)

    def _repair_lines(self) -> Iterator[str]:
        for comparison in self.comparisons[:MOST_SHOWN]:
            task = self.answers.task_names[comparison.task].as_py()
            worker = self.worker_name(comparison.worker)
            partner = self.worker_name(comparison.partner)
            yield (
                f"comparison: let worker {worker!r} answer task {task!r} and others of worker {partner!r}; 50 to 100 "
                f"shared tasks would identify {count(len(comparison.workers), 'weakly identified worker')}"
            )
        if len(self.comparisons) > MOST_SHOWN:
            yield f"comparisons: {len(self.comparisons) - MOST_SHOWN:,} more; --json lists all"
        a, mended = self.result.crowd_info, self.repair
        joins = f"{count(mended.n_answers, 'further answer')} would join everyone in one identifiable component"
        if not mended.possible:
            yield "no assignment of these workers can repair it: an odd cycle needs three workers, or give gold labels"
        elif mended.n_answers and isinstance(a, CrowdInfo):
            yield f"{joins}; diagnose the answers in memory to be told which"
        elif mended.n_answers:
            task, worker = self.answers.task_names[int(mended.task[0])].as_py(), self.worker_name(mended.worker[0])
            more = (
                f", and {count(mended.n_answers - 1, 'more assignment')} that --json lists"
                if mended.n_answers > 1
                else ""
            )
            yield (
                f"{joins}: let worker {worker!r} answer task {task!r}{more}. Fewest is not best: 50 to 100 shared "
                "tasks settle scale and sign"
            )


@keep_pipes()
def diagnose(
    source: Answers | Result | Source,
    *,
    gold: Source = None,
    times: FloatArray | None = None,
    skills: Any = None,
    delta: float = 0.05,
    **reading: Unpack[ReadKeywords],
) -> Diagnosis:
    """Judge what these answers determine, and what is wrong with them.

    Args:
        source: a result, what `quorate.read` returned, or anything that it reads.
        gold: known labels of some tasks, as in `quorate.aggregate`; they anchor their component.
        times: when each answer was given, as `quorate.io.timestamps.read_times` reads it; without, nobody's drift
            is looked for.
        skills: what is known of workers from before, as in `quorate.aggregate`: who differs from it is told.
        delta: the probability with which the finite-task bounds may fail.
        reading: as `quorate.read` takes it.

    >>> print(diagnose({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")}).summary())
    3 answers to 2 tasks by 3 workers, 2 classes
    2 findings, the most serious first:
    - 2 workers cannot be judged: 'a' only ever shared tasks with 'b' and the reverse, so nothing tells which side ...
    - 1 worker cannot be judged (shares no task with anyone): 'c'
    agreement: two answers to a task are alike 0% of the time; Krippendorff's alpha 0.00
    3 of 3 workers' skills are not determined: shares no task with anyone (1), its component is bipartite (2)
    the interaction graph has 2 components, 2 of them not identifiable
    1 further answer would join everyone in one identifiable component: let worker 'c' answer task 1. Fewest is ...
    """
    if isinstance(source, Result):
        refuse_with_result({"skills": skills, **reading})
        return diagnose_result(source, gold=gold, times=times, delta=delta)
    answers, known = answers_and_gold(source, gold, reading)
    one_coin_skills = aggregate_in_memory("rank-one", answers, gold=known)
    try:
        # What is said of single workers rests on the standard method: it allows for classes that are not alike hard.
        judged = aggregate_in_memory("quorate", answers, gold=known, skills=skills)
    except TooLargeError:
        judged = one_coin_skills
    return _diagnose(one_coin_skills, judged, times, delta)


def diagnose_result(
    result: Result, *, gold: Source = None, times: FloatArray | None = None, delta: float = 0.05
) -> Diagnosis:
    """Judge the answers behind a result, whose own intervals speak of single workers.

    Skills are solved for again only if the method's are no rank-one skills.

    Args:
        result: of any method.
        gold: known labels; those that the result was given by default.
        times: as in `diagnose`.
        delta: as in `diagnose`.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 10, 5, seed=0).answers)
    >>> diagnose_result(result).result.method
    'rank-one'
    """
    one_coin_skills = result
    if not isinstance(result.inference, OneCoinInference):
        known = named_gold(result.gold, result.answers) if gold is None else gold
        one_coin_skills = aggregate_in_memory("rank-one", result.answers, gold=known)
    return _diagnose(one_coin_skills, one_coin_skills if result.inference is None else result, times, delta)


def _diagnose(result: Result, judged: Result, times: FloatArray | None, delta: float) -> Diagnosis:
    """Ask every question: of ``result``, whose skills are rank-one, and of single workers by ``judged``."""
    answers, verdict, inference = result.answers, result.identifiability, result.inference
    crowd = inference.answers if isinstance(inference, OneCoinInference) else answers
    pairs, uncounted = counted_pairs(crowd, verdict)
    everyone = list(parts(verdict, pairs, complete=uncounted is None))
    found = [*graph_findings(result, everyone, crowd), *weak_findings(result)]
    not_asked = untested_tasks(answers)
    if uncounted is not None:
        not_asked.append(
            f"which pairs agree beyond their skills, and which groups are loosely tied by several workers: {uncounted}"
        )
    if isinstance(inference, OneCoinInference):
        found += about_workers(judged)
        found += _about_skills(result, inference, pairs if uncounted is None else None, times)
        found += copying_findings(judged)
        found += factor_findings(
            _one_factor_fit(answers) if judged.one_factor_weight is None else judged.one_factor_weight, answers.n_tasks
        )
        compared = held_out(answers)
        found += misfit_findings(compared, answers, right_by_class(answers, judged.task_vote.posterior, judged.gold))
        if compared is None:
            not_asked.append(
                "whether accuracy depends on the class: too few tasks with two answers, or too many classes"
            )
    components = tuple(examine(everyone, result, delta))
    weak = result.skill_estimates.weak
    proposed = () if weak is None else tuple(comparisons(answers, weak))
    return Diagnosis(result, components, repair(answers, verdict), ordered(found), tuple(not_asked), proposed)


def _about_skills(
    result: Result, inference: OneCoinInference, pairs: PairStats | None, times: FloatArray | None
) -> Iterator[Finding]:
    answers = result.answers
    if pairs is not None:
        yield from agreement_findings(agreement_test(inference, pairs, answers.n_workers), answers)
    if times is not None:
        yield from drift_findings(drift_test(answers, result.skills, times), answers)
    yield from task_findings(task_test(answers, result.skills), result)


def _one_factor_fit(answers: Answers) -> float:
    """Return how far one skill per worker explains who agrees with whom, for methods that do not measure it."""
    blocks = blocks_of(answers)
    return 1.0 if answers.n_classes < 2 else one_factor_fit(blocks, response_bias(blocks))
