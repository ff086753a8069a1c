"""diagnose(): the problems of the data, what the data do not determine, and which answers would repair it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Unpack

import numpy as np

from quorate.answers import Answers, CrowdInfo
from quorate.arrays import FloatArray, IntArray, Shown
from quorate.blocks.memory import blocks_of
from quorate.blocks.sampling import TaskSample, sample_for_pair_tests, sample_for_tests
from quorate.calibration.one_factor import one_factor_fit
from quorate.diagnostics.answer_columns import AnswerColumns, answer_columns
from quorate.diagnostics.class_dependence import held_out, misfit_findings, right_by_class, sample_for_class_test
from quorate.diagnostics.components import (
    TARGET_SKILL_ERROR,
    ComponentFinding,
    component_row,
    counted_pairs,
    examine,
    parts,
)
from quorate.diagnostics.copying import agreement_findings, agreement_test, copying_findings
from quorate.diagnostics.drift import drift_findings, drift_test
from quorate.diagnostics.finding import ACTIONS, STOP, Finding, ordered, plain
from quorate.diagnostics.hard_tasks import task_findings, task_test
from quorate.diagnostics.haste import gaps_between, haste_findings
from quorate.diagnostics.identifiability import graph_findings, weak_findings
from quorate.diagnostics.judge_bias import (
    Covariate,
    covariate_findings,
    covariate_line,
    position_findings,
    position_line,
    self_preference_findings,
    self_preference_line,
)
from quorate.diagnostics.one_factor import factor_findings
from quorate.diagnostics.ratings import possible_guessers_text
from quorate.diagnostics.right_shares import shows_agreement_only
from quorate.diagnostics.workers import about_workers
from quorate.errors import TooLargeError, in_python, refuse_with_result
from quorate.graph.components import Component, components_with_triangles
from quorate.graph.pairs import pair_stats, too_many_pairs
from quorate.graph.repair import Repair, repair
from quorate.interrater.agreement import Agreement, agreement
from quorate.io.arguments import check_arguments
from quorate.io.extra_columns import TaskTexts, task_texts
from quorate.io.gold import gold_for, named_gold
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import Reading, as_reading
from quorate.io.read_table import Source
from quorate.methods.fit_blocks import aggregate_in_memory
from quorate.notes import (
    FAMILY,
    TECHNICAL,
    UNDETERMINED,
    Note,
    command,
    new_file,
    warning_line,
)
from quorate.result import Result, count, left_out, sizes
from quorate.skills.identification import DETERMINED, STATUSES
from quorate.skills.rank_one_score import OneCoinInference
from quorate.skills.shrinkage import response_bias
from quorate.skills.weak_identification import ProposedComparison, comparisons

# Names of the samples in ``--json``, by what they are used to test.
SAMPLE_FIELDS = {
    "pairs": "pair_test_sample",
    "copying groups": "pair_test_sample",
    "groups and tasks": "test_sample",
    "groups": "test_sample",
    "tasks": "test_sample",
    "classes": "class_test_sample",
}
MAX_SHOWN = 3  # findings of one kind that a summary lists
# Kinds of notes, each with the kind of finding that states the same.
FINDING_OF_NOTE = {UNDETERMINED: "cannot-be-judged", FAMILY: "copying-group"}


def uncovered_notes(notes: Iterable[Note], findings: Iterable[Finding]) -> list[Note]:
    """Return the notes that no finding states, without technical ones.

    >>> uncovered_notes([Note(FAMILY, "3 workers ...")], [Finding("copying-group", "3 workers ...", 3.0, "workers")])
    []
    """
    kinds = {finding.kind for finding in findings}
    return [note for note in notes if FINDING_OF_NOTE.get(note.kind) not in kinds and note.kind not in TECHNICAL]


@dataclass(frozen=True, repr=False)
class Diagnosis(Shown):
    """Everything `quorate diagnose` prints, on any backend."""

    result: Result  # of rank-one
    components: tuple[ComponentFinding, ...]
    repair: Repair
    findings: tuple[Finding, ...] = ()  # causes before effects
    not_asked: tuple[str, ...] = ()  # tests that were not made, and why
    comparisons: tuple[ProposedComparison, ...] = ()  # each would identify one group of weakly identified workers
    judged: Result | None = None  # the result by which single workers are rated; None for ``result``
    sample: TaskSample | None = None  # the tasks that tests of groups and tasks use; None: all
    samples: Mapping[str, TaskSample] = field(default_factory=dict)  # of tests that use a sample, by what they test
    texts: TaskTexts | None = None  # of the tasks; None unless a column is shown
    tested: tuple[str, ...] = ()  # tests of further columns that found nothing, with the largest effect
    kinds_tested: frozenset[str] = frozenset()  # kinds of findings that such tests looked for

    @property
    def answers(self) -> Answers:
        """The answers that were diagnosed."""
        return self.result.answers

    @cached_property
    def agreement(self) -> Agreement | None:
        """Inter-annotator agreement; None if the answers stay in an engine."""
        return None if isinstance(self.result.info, CrowdInfo) else agreement(self.answers)

    @check_arguments
    def of_kind(self, kind: str) -> tuple[Finding, ...]:
        """Return the findings of one kind; see `quorate.diagnostics.finding.KINDS`."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    @property
    def aggregated(self) -> Result:
        """The result by which single workers are rated."""
        return self.result if self.judged is None else self.judged

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings other than hard tasks, which a summary counts in one line."""
        return tuple(finding for finding in self.findings if finding.kind != "hard-task")

    def undetermined(self) -> IntArray:
        """Return the codes of the workers whose skill is not determined."""
        return np.flatnonzero(~np.isin(self.result.status, DETERMINED))

    def worker_name(self, code: int) -> Any:
        """Return a worker's id; "(gold)" for the known labels, which count as one more worker."""
        crowd_info = self.result.info
        return crowd_info.worker_names[int(code)].as_py() if code < crowd_info.n_workers else "(gold)"

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate diagnose --json` prints."""
        a = self.result.info
        undetermined = self.undetermined()
        return {
            **sizes(a),
            "agreement": None if self.agreement is None else self.agreement.brief(),
            "findings": [finding.to_dict(a) for finding in self.findings],
            "not_asked": list(self.not_asked),
            "tested": list(self.tested),
            "components": [self._component_dict(finding) for finding in self.components],
            "unidentifiable_workers": [self.worker_name(code) for code in undetermined],
            "reasons": [STATUSES[self.result.status[code]] for code in undetermined],
            "repair": {
                "possible": self.repair.possible,
                "answers": self.repair.n_answers,
                "assignments": None if isinstance(a, CrowdInfo) else self._assignments(a),
                "comparisons": [self._comparison_dict(comparison) for comparison in self.comparisons],
            },
            "notes": [note.text for note in self.aggregated.notes],
            **self.sample_fields(),
        }

    def _comparison_dict(self, comparison: ProposedComparison) -> dict[str, Any]:
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
        part = finding.component
        bound = finding.bound
        no_pairs = 0.0 if finding.n_pairs == 0 else None
        return {
            "workers": int((part.workers < self.result.info.n_workers).sum()),
            "pairs": finding.n_pairs,
            "bipartite": part.bipartite,
            "identifiable": part.identifiable,
            "witness": self._witness_dict(part),
            "lambda_min": no_pairs if bound is None else bound.smallest,
            "lambda_min_weighted": no_pairs if bound is None else bound.smallest_weighted,
            "n_min": None if bound is None else bound.least_shared,
            "bound": finding.bound_dict(),
        }

    def _witness_dict(self, part: Component) -> dict[str, Any]:
        if part.odd_cycle:
            return {"odd_cycle": [self.worker_name(code) for code in part.odd_cycle]}
        return {"sides": [[self.worker_name(code) for code in side] for side in part.sides]}

    def with_behaviour(self, behaviour: "Behaviour") -> "Diagnosis":
        """Return the diagnosis with the findings of the tests of further columns added, and all findings sorted.

        If pairs in both orders measure the position bias, this replaces the finding from the shares of the two sides.
        """
        other_findings = [
            finding for finding in self.findings if finding.kind != "position-bias" or not behaviour.measures_position
        ]
        return replace(
            self,
            findings=ordered([*other_findings, *behaviour.findings]),
            tested=behaviour.tested,
            kinds_tested=behaviour.kinds,
        )

    def summary(self, *, verbose: bool = False) -> str:
        """Return a summary of the problems; with ``verbose`` also the statistics."""
        return in_python("\n".join(self.lines(verbose=verbose)))

    def lines(self, *, verbose: bool = False) -> Iterator[str]:
        """Yield the summary line by line."""
        crowd_info = self.result.info
        where = "" if crowd_info.engine is None else f" in {crowd_info.engine}"
        yield from (warning_line(note) for note in uncovered_notes(self.aggregated.notes, self.findings))
        yield (
            f"{count(crowd_info.n_answers, 'answer')} to {count(crowd_info.n_tasks, 'task')} by "
            f"{count(crowd_info.n_workers, 'worker')} ({count(crowd_info.n_classes, 'class')}){where}. "
            f"{self.headline()}"
        )
        yield from problem_lines(self.findings, self.n_tasks_tested, verbose=verbose, texts=self.texts)
        unsure = "" if self.aggregated.inference is None else possible_guessers_text(self.aggregated, self.findings)
        if unsure:
            yield unsure
        yield from left_out(crowd_info)
        if self.agreement is not None:
            yield self.agreement.line()
        if not self.of_kind("cannot-be-judged") and not self.of_kind("weakly-identified"):
            yield "Every worker can be rated: they share enough tasks."
        yield from self._repair_lines()
        yield from self.sample_lines()
        yield from self.tested
        yield from (f"Not tested: {reason}." for reason in self.not_asked)
        if verbose:
            yield from self._graph_lines()
            yield from (note.text for note in self.aggregated.notes if note.kind in TECHNICAL)
            yield from self.aggregated.technical_lines()[:-1]  # without the line on the interaction graph

    @property
    def n_tasks_tested(self) -> int:
        """The number of tasks that were tested one by one."""
        return self.result.info.n_tasks if self.sample is None else self.sample.answers.n_tasks

    def sample_lines(self) -> list[str]:
        """Return a sentence on the samples that tests use; empty if they use all tasks."""
        samples = [f"of {what} use {sample.size_text()}" for what, sample in self.samples.items()]
        if not samples:
            return []
        tests = f"Tests {', '.join(samples)}"
        return [f"{tests}, chosen by a hash of the task ids; single workers are rated by all answers."]

    def sample_fields(self) -> dict[str, Any]:
        """Return the samples that tests use, for ``--json``; empty if they use all tasks."""
        return {SAMPLE_FIELDS[what]: sample.to_dict() for what, sample in self.samples.items()}

    def headline(self) -> str:
        """Return the number of problems in a few words: the same text in every output."""
        return headline_of(self.findings)

    def _graph_lines(self) -> Iterator[str]:
        """State the shape of the interaction graph."""
        identifiability = self.result.identifiability
        n_broken = int((~identifiability.identifiable).sum())
        if identifiability.n_components > 1:
            which = f"{n_broken} of them not" if n_broken else "all of them"
            components = count(identifiability.n_components, "component")
            yield f"interaction graph: {components}, {which} identifiable"
        else:
            shape = "bipartite" if identifiability.bipartite[0] else "with an odd cycle"
            yield f"interaction graph: connected, {shape}"

    def columns(self) -> list[str]:
        """Name the columns of `rows`."""
        figures = ["lambda_min", "N_min", "kappa", "K", "error", f"tasks for {TARGET_SKILL_ERROR:g}"]
        return ["component", "workers", "pairs", "verdict", "witness", *figures]

    def rows(self, most: int = 10) -> Iterator[list[Any]]:
        """Yield one row per component, the largest first: the table that the command prints."""
        for number, finding in enumerate(self.components[:most]):
            part = finding.component
            names = [str(self.worker_name(code)) for code in (part.odd_cycle or part.sides[0])[:5]]
            yield component_row(number, finding, names, self.result.info.n_tasks)

    def _repair_lines(self) -> Iterator[str]:
        for comparison in self.comparisons[:MAX_SHOWN]:
            task = plain(self.answers.task_names[comparison.task].as_py())
            worker = plain(self.worker_name(comparison.worker))
            partner = plain(self.worker_name(comparison.partner))
            yield (
                f"To rate {count(len(comparison.workers), 'worker')} more precisely, let {worker} answer task "
                f"{task} and 50 to 100 other tasks of {partner}."
            )
        if len(self.comparisons) > MAX_SHOWN:
            yield f"And {len(self.comparisons) - MAX_SHOWN:,} more such steps (--json lists all)."
        crowd_info = self.result.info
        repair = self.repair
        if not repair.possible:
            yield "More answers from these workers cannot help. Add a third worker, or known labels (--gold)."
        elif repair.n_answers:
            sentence = f"{count(repair.n_answers, 'more answer')} would make everyone comparable"
            if isinstance(crowd_info, CrowdInfo):  # the tasks are in an engine
                yield f"{sentence}."
                return
            task = plain(self.answers.task_names[int(repair.task[0])].as_py())
            worker = plain(self.worker_name(repair.worker[0]))
            starting_with = ":" if repair.n_answers == 1 else ", starting with"
            yield (
                f"{sentence}{starting_with} {worker} on task {task}. For reliable ratings, plan 50 to 100 shared tasks."
            )


def headline_of(findings: Sequence[Finding]) -> str:
    """Return the number of problems in a few words; hard tasks are not counted.

    >>> headline_of([]), headline_of([Finding("spammer", "w7 answers almost at random", 0.0, "")])
    ('No problems found.', '1 problem:')
    """
    n_problems = sum(finding.kind != "hard-task" for finding in findings)
    if n_problems:
        return (
            f"{count(n_problems, 'problem')}:" if n_problems == 1 else f"{n_problems:,} problems, most serious first:"
        )
    return "No problems found." if not findings else "No problems with the workers found."


def problem_lines(
    findings: Sequence[Finding], n_tasks: int, *, verbose: bool = False, texts: TaskTexts | None = None
) -> Iterator[str]:
    """Yield the findings as numbered lines, at most MAX_SHOWN of each kind; hard tasks are counted, not numbered.

    Args:
        findings: in their order.
        n_tasks: number of tasks that were tested one by one.
        verbose: whether each finding is followed by its statistics.
        texts: of the tasks; a finding about one task is followed by its text.
    """
    number = 0
    for kind, group in groupby(findings, key=lambda finding: finding.kind):
        same = list(group)
        if kind == "hard-task":
            yield hard_tasks_line(len(same), n_tasks)
        for finding in same[:MAX_SHOWN]:
            number += kind != "hard-task"
            yield f"- {finding.line}" if kind == "hard-task" else f"{number}. {finding.line}"
            if texts is not None and len(finding.tasks) == 1 and texts.short(finding.tasks[0]):
                yield f"   {texts.name}: {texts.short(finding.tasks[0])}"
            if verbose and finding.figures:
                yield f"   {finding.figures}"
        if len(same) > MAX_SHOWN:
            yield f"   and {len(same) - MAX_SHOWN:,} more (--json lists all)"
            number += 0 if kind == "hard-task" else len(same) - MAX_SHOWN


SOFT_LABELS_FILE = "soft_labels.csv"  # what printed commands call the file of probabilities, if there is none yet


def hard_tasks_line(n: int, n_tasks: int) -> str:
    """Return a sentence on how many tasks are hard, and what that means.

    >>> hard_tasks_line(1, 100)
    '1 of 100 tasks is hard for these workers: their answers differ. This is normal for subjective questions; ...'
    """
    verb = "is" if n == 1 else "are"
    file = new_file(SOFT_LABELS_FILE)
    soft = command("aggregate", f"--soft-labels-out {file}", "quorate.aggregate(answers).soft_labels()")
    return (
        f"{n:,} of {count(n_tasks, 'task')} {verb} hard for these workers: their answers differ. This is normal for "
        f"subjective questions; consider soft labels: {soft}"
    )


@check_arguments
@keep_pipes()
def diagnose(
    source: Answers | Result | Source,
    *,
    gold: Source = None,
    times: FloatArray | None = None,
    durations: str | FloatArray | None = None,
    covariates: str | Sequence[str | Covariate] = (),
    systems: str | Sequence[Any] | None = None,
    pairs: str | Sequence[Any] | None = None,
    skills: Source | Result = None,
    show: str | None = None,
    delta: float = 0.05,
    **reading: Unpack[ReadKeywords],
) -> Diagnosis:
    """Find the problems of the answers: unreliable or copying workers, unclear tasks, what is not determined.

    Args:
        source: a result, what `quorate.read` returned, or anything that it reads.
        gold: known labels of some tasks, as in `quorate.aggregate`; they determine the sign of the skills of their
            component.
        times: when each answer was given, as `quorate.io.timestamps.read_times` reads it; without them, no worker is
            tested for a change of skill over time.
        durations: the column with the seconds that each answer took, or one number per answer, NaN if not known; a
            column with a common name is found. Without durations, differences of ``times`` are used.
        covariates: columns on which verdicts should not depend, such as the length of the output: numbers, or texts,
            whose length is used.
        systems: the column with the system that wrote the output, or its name for each answer, to test whether judges
            prefer their own family.
        pairs: the column with the pair, or the pair of each answer, if pairs were shown in both orders, to test for a
            preferred position.
        skills: skills from an earlier run, as in `quorate.aggregate`; a worker who differs from them is a finding.
        show: a column of the answers, such as the text, whose value is printed below each finding about a task.
        delta: the probability with which the finite-task bounds may fail.
        reading: options of `quorate.read`.

    >>> print(diagnose({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")}).summary())
    3 answers to 2 tasks by 3 workers (2 classes). 2 problems, most serious first:
    1. a and b cannot be rated: they share tasks only with each other, so nothing shows which one is right.
    2. c cannot be rated: no other worker answered the same tasks.
    Two workers agree on 0% of shared tasks (Krippendorff's alpha 0.00).
    1 more answer would make everyone comparable: c on task 1. For reliable ratings, plan 50 to 100 shared tasks.
    """
    named_columns: Any = {"durations": durations, "covariates": covariates, "systems": systems, "pairs": pairs}
    if isinstance(source, Result):
        refuse_with_result({"skills": skills, "show": show, **reading})
        diagnosis = diagnose_result(source, gold=gold, times=times, delta=delta)
        columns = answer_columns(Reading(source.answers), **named_columns)
        return diagnosis.with_behaviour(behaviour_of(diagnosis.aggregated, times, columns))
    loaded = as_reading(source, reading)
    columns = answer_columns(loaded, **named_columns)
    answers = loaded.answers
    known = gold_for(loaded, gold)
    texts = task_texts(loaded, show)
    one_coin_skills = aggregate_in_memory("rank-one", answers, gold=known)
    try:
        # Single workers are rated by the default method, which allows for an accuracy per class.
        judged = aggregate_in_memory("quorate", answers, gold=known, skills=skills)
    except TooLargeError:
        judged = one_coin_skills
    diagnosis = replace(_diagnose(one_coin_skills, judged, times, delta), texts=texts)
    return diagnosis.with_behaviour(behaviour_of(judged, times, columns))


@dataclass(frozen=True)
class Behaviour:
    """Findings of the tests that need further columns, and a line for each test that found nothing."""

    findings: tuple[Finding, ...] = ()
    tested: tuple[str, ...] = ()  # with the largest effect and its interval
    kinds: frozenset[str] = frozenset()  # of findings that were looked for
    measures_position: bool = False  # whether pairs were shown in both orders


def behaviour_of(result: Result, times: FloatArray | None, columns: AnswerColumns) -> Behaviour:
    """Test for very fast answers, and for verdicts that depend on covariates, on the author or on the position.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 4, 4, seed=0).answers)
    >>> behaviour_of(result, None, AnswerColumns())
    Behaviour(findings=(), tested=(), kinds=frozenset(), measures_position=False)
    """
    answers = result.answers
    findings: list[Finding] = []
    tested: list[str] = []
    kinds: set[str] = set()

    def add(kind: str, findings_of_test: Iterable[Finding], line: str) -> None:
        """Add the findings or, if there are none, the line that states what was tested."""
        n_before = len(findings)
        kinds.add(kind)
        findings.extend(findings_of_test)
        if line and len(findings) == n_before:
            tested.append(line)

    if columns.durations is not None:
        add("answers-very-fast", haste_findings(answers, columns.durations), "")
    elif times is not None:
        add("answers-very-fast", haste_findings(answers, gaps_between(answers, times), unit=""), "")
    for covariate in columns.covariates:
        line = covariate_line(result, covariate)
        add("covariate-bias", covariate_findings(result, covariate), line)
    if columns.systems is not None:
        line = self_preference_line(result, columns.systems)
        add("self-preference", self_preference_findings(result, columns.systems), line)
    if columns.pairs is not None:
        add("position-bias", position_findings(answers, columns.pairs), position_line(answers, columns.pairs))
    return Behaviour(tuple(findings), tuple(tested), frozenset(kinds), columns.pairs is not None)


def diagnose_result(
    result: Result, *, gold: Source = None, times: FloatArray | None = None, delta: float = 0.05
) -> Diagnosis:
    """Diagnose the answers of a result; single workers are rated by the intervals of this result.

    Rank-one skills are fitted only if the result is of another method.

    Args:
        result: of any method.
        gold: known labels; by default those of the result.
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
        one_coin_skills = rank_one_result(result.answers, gold=known)
    return _diagnose(one_coin_skills, one_coin_skills if result.inference is None else result, times, delta)


def rank_one_result(answers: Answers, *, gold: Source = None) -> Result:
    """Return the rank-one result. Without known labels it is stored with the answers: diagnosis and advice share it.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(50, 5, 3, seed=0).answers
    >>> rank_one_result(answers) is rank_one_result(answers)
    True
    """
    if gold is not None:
        return aggregate_in_memory("rank-one", answers, gold=gold)
    cache: dict[str, Result] = answers.__dict__
    if "_rank_one_result" not in cache:
        cache["_rank_one_result"] = aggregate_in_memory("rank-one", answers)
    return cache["_rank_one_result"]


def _diagnose(result: Result, judged: Result, times: FloatArray | None, delta: float) -> Diagnosis:
    """Return the diagnosis: tests on the rank-one skills of ``result``, and for single workers on ``judged``."""
    answers = result.answers
    identifiability = result.identifiability
    inference = result.inference
    crowd = answers
    if isinstance(inference, OneCoinInference) and inference.crowd.n_workers > answers.n_workers:
        crowd = inference.answers  # with the known labels as one more worker
    pair_sample = sample_for_pair_tests(answers)
    pair_crowd = None if pair_sample is None else pair_sample.of(crowd)
    pairs, uncounted = counted_pairs(crowd, identifiability, is_large=pair_sample is not None)
    sample = sample_for_tests(answers)
    tested_crowd = None if sample is None else sample.of(crowd)
    witnessed = None if tested_crowd is None else components_with_triangles(crowd, identifiability)
    components_of_graph = list(parts(identifiability, pairs, complete=uncounted is None, components=witnessed))
    findings = [*graph_findings(result, components_of_graph, crowd, tested_crowd), *weak_findings(judged)]
    why_no_pairs = _too_many_pairs(crowd, pair_crowd)
    why_no_groups = _too_many_pairs(crowd, tested_crowd)
    not_asked = _untested(why_no_pairs, why_no_groups)
    samples: dict[str, TaskSample | None] = {"groups": sample if why_no_groups is None else None}
    if isinstance(inference, OneCoinInference):
        samples = {
            "pairs" if why_no_pairs is None else "copying groups": pair_sample,
            "groups and tasks" if why_no_groups is None else "tasks": sample,
        }
        findings += about_workers(judged)
        if why_no_pairs is None:
            pair_inference = inference
            tested_pairs = pairs
            if pair_crowd is not None:
                pair_inference = replace(inference, crowd=pair_crowd)
                tested_pairs = pair_stats(pair_crowd)
            agreement_of_pairs = agreement_test(pair_inference, tested_pairs, answers.n_workers)
            findings += agreement_findings(agreement_of_pairs, answers, judged.skills)
        if times is not None:
            findings += drift_findings(drift_test(answers, result.skills, times), answers)
        findings += task_findings(task_test(answers, result.skills), result)
        pair_answers = answers if pair_sample is None else pair_sample.answers
        findings += copying_findings(judged, pair_answers)
        one_factor_weight = judged.one_factor_weight
        if one_factor_weight is None:  # not every method computes it
            blocks = blocks_of(pair_answers)
            one_factor_weight = 1.0 if answers.n_classes < 2 else one_factor_fit(blocks, response_bias(blocks))
        findings += factor_findings(one_factor_weight, judged.n_advised)
        class_sample = sample_for_class_test(answers)
        class_answers = answers if class_sample is None else class_sample.answers
        # Workers who do not look at the task make accuracy depend on the class, so the test leaves them out. The
        # figures of the finding use all answers.
        guessers = [code for finding in findings if ACTIONS.get(finding.kind) == STOP for code in finding.workers]
        if guessers:
            class_answers = class_answers.where(~np.isin(class_answers.worker, guessers))
        class_test = held_out(class_answers)
        right = right_by_class(answers, judged.vote.posterior, judged.gold)
        findings += misfit_findings(
            class_test, class_answers, right, is_agreement=bool(shows_agreement_only(judged).any())
        )
        if class_test is None:
            not_asked.append(
                "whether accuracy depends on the class: too few tasks with two answers, or too many classes"
            )
        else:
            samples["classes"] = class_sample
    components = tuple(examine(components_of_graph, result, delta))
    weak = judged.skill_estimates.weak
    proposed = () if weak is None else tuple(comparisons(answers, weak))
    return Diagnosis(
        result,
        components,
        repair(answers, identifiability),
        ordered(findings),
        tuple(not_asked),
        proposed,
        judged=judged,
        sample=sample,
        samples={what: used for what, used in samples.items() if used is not None},
    )


def _too_many_pairs(crowd: Answers, sample: Answers | None) -> str | None:
    """Return why no table of pairs is made of the crowd or, if there is one, of its sample."""
    if sample is None:
        return too_many_pairs(crowd)
    reason = too_many_pairs(sample)
    return None if reason is None else f"in the sample, {reason}"


def _untested(why_no_pairs: str | None, why_no_groups: str | None) -> list[str]:
    """Return what is not tested because there are too many pairs, and why.

    >>> _untested(None, "there are 9 pairs")
    ['which groups share few tasks: there are 9 pairs']
    """
    pairs = "which pairs agree more than their skills explain"
    groups = "which groups share few tasks"
    if why_no_pairs is not None and why_no_pairs == why_no_groups:
        return [f"{pairs}, and {groups}: {why_no_pairs}"]
    reasons = ((pairs, why_no_pairs), (groups, why_no_groups))
    return [f"{what}: {why}" for what, why in reasons if why is not None]
