"""Result of an aggregation: labels, workers and posterior as tables, a summary, and a file of it all."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted, CrowdInfo
from quorate.arrays import FloatArray, IntArray, Table, from_numpy, from_strings, table_of, take
from quorate.blocks.memory import blocks_of
from quorate.calibration.confidence import ConfidenceBasis, advised_labels
from quorate.errors import NotInMemoryError, OptionError, in_python, visible
from quorate.errors import count as count  # results are where most find it
from quorate.graph.components import Identifiability
from quorate.io.dataframes import Source
from quorate.io.labels import spelling_notes
from quorate.models.confusion import ConfusionMatrices
from quorate.notes import (
    DEPENDENT,
    LOW_ONE_FACTOR_FIT,
    TECHNICAL,
    Note,
    command,
    shared_bias_text,
    warning_line,
)
from quorate.notes import percent as percent  # of shares, in every summary
from quorate.skills.identification import STATUSES, WEAKLY_IDENTIFIED
from quorate.skills.intervals import Inference, IntervalChoice, Intervals, skill_intervals
from quorate.skills.objective import Solution
from quorate.skills.signs import Signs
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import SURE, LabelsElsewhere, Vote, accuracy

MAX_ANSWERS_CHECKED = 50_000  # answers up to which a summary tests the workers: about 0.1 CPU seconds
MOST_FINDINGS = 5  # findings that a summary lists
MIN_WORKERS_FOR_QUANTILES = 10  # workers, from which a summary states deciles; conventional


def sizes(answers: Counted) -> dict[str, int]:
    """Count what there is, and what was left out of it.

    >>> import quorate
    >>> sizes(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))["repeats"]
    1
    """
    counted = {
        "tasks": answers.n_tasks,
        "workers": answers.n_workers,
        "answers": answers.n_answers,
        "classes": answers.n_classes,
        "repeats": answers.n_repeats,
        "conflicting": answers.n_conflicting,
        "skipped": answers.n_skipped,
    }
    return {**counted, "abstained": answers.n_abstained} if answers.n_abstained else counted


def left_out(answers: Counted) -> list[str]:
    """Say which rows were not used, and why; nothing is dropped silently.

    >>> import quorate
    >>> left_out(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ['1 row repeats an answer exactly and was counted once']
    """
    phrases = {
        ("row repeats an answer exactly and was counted once", "rows repeat an answer exactly and were counted once"): (
            answers.n_repeats
        ),
        ("row left out by the conflict policy", "rows left out by the conflict policy"): answers.n_conflicting,
        ("row skipped for a missing field", "rows skipped for a missing field"): answers.n_skipped,
    }
    lines = [f"{n:,} {one if n == 1 else many}" for (one, many), n in phrases.items() if n]
    return [*lines, *answers.abstained_lines()]


if TYPE_CHECKING:
    import quorate


@dataclass(frozen=True, repr=False, kw_only=True)
class Result:
    """Labels for the tasks, skills for the workers, and what the data could not tell.

    The same wherever the answers lie. What needs them in memory raises a `NotInMemoryError` where they lie in an
    engine; `labels` are read out of it when they are asked for, and `engine_table` is the table that stays there.
    """

    method: str
    crowd_info: Answers | CrowdInfo  # who answered; the answers themselves, where they are in memory
    vote: Vote | LabelsElsewhere
    skill_estimates: WorkerEstimates  # what was found out of the workers
    graph: Identifiability | None  # who met whom; None where an engine did not count it
    gold: IntArray | None = None  # the known class of each task, -1 where unknown; None without gold, or in an engine
    matrices: ConfusionMatrices | None = None  # where the method fits such
    confidence_basis: ConfidenceBasis | None = None  # None where the confidence is the model's own posterior
    notes: tuple[Note, ...] = ()  # what a reader must know, the most important first
    interval_choice: IntervalChoice = field(default_factory=IntervalChoice)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in _OLD_ATTRIBUTES:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            new = _OLD_ATTRIBUTES[name]
            warnings.warn(f"Result.{name} is now Result.{new}", DeprecationWarning, stacklevel=2)
            return getattr(self, new)

    @property
    def answers(self) -> Answers:
        """Who answered what."""
        if isinstance(self.crowd_info, Answers):
            return self.crowd_info
        raise self._not_here("the answers")

    @property
    def task_vote(self) -> Vote:
        """The scores and the posterior behind the labels, by codes."""
        if isinstance(self.vote, Vote):
            return self.vote
        raise self._not_here("the posterior")

    @property
    def engine_table(self) -> Any:  # an ibis table; ibis itself has no types
        """The labels as a table of the engine that holds them, for results too large to read out."""
        if isinstance(self.vote, Vote):
            raise OptionError("no engine holds these labels: they are in memory, as `labels`")
        return self.vote.table

    @property
    def skills(self) -> FloatArray:
        """The skill of each worker; NaN where not determined."""
        return self.skill_estimates.skills

    @property
    def weights(self) -> FloatArray:
        """What each worker's vote counted."""
        return self.skill_estimates.weights

    @property
    def status(self) -> IntArray:
        """The status of each worker: a position in `quorate.skills.identification.STATUSES`."""
        return self.skill_estimates.full_status

    @property
    def solution(self) -> Solution | None:
        """How the skills were found."""
        return self.skill_estimates.solution

    @property
    def signs(self) -> Signs | None:
        """How much of the evidence contradicts the signs of the skills."""
        return self.skill_estimates.signs

    @property
    def inference(self) -> Inference | None:
        """What intervals need to know of the estimate; None where it has none."""
        return self.skill_estimates.inference

    @property
    def one_factor_weight(self) -> float | None:
        """How well one skill a worker explains who agrees with whom, from 0 to 1; None where it was not asked."""
        return None if self.confidence_basis is None else self.confidence_basis.one_factor_weight

    @property
    def confusion(self) -> FloatArray | None:
        """The confusion matrices, workers × answers × classes, where the method fits such."""
        return None if self.matrices is None else self.matrices.theta

    @property
    def identifiability(self) -> Identifiability:
        """The components of the interaction graph, and which skills they determine."""
        if self.graph is None:
            raise self._not_here("who met whom, which this method does not count in an engine (rank-one does),")
        return self.graph

    def _not_here(self, what: str) -> NotInMemoryError:
        return NotInMemoryError(
            f"{what} cannot be had of a result in {self.crowd_info.engine}: the answers stay there. Aggregate them in "
            "memory, with quorate.aggregate (without --engine)"
        )

    @cached_property
    def labels(self) -> Table:
        """One row a task: task, label, confidence, margin, n_answers, tied.

        Where a task has no answers, its label and confidence are null, and a column ``status`` tells such tasks
        (``no answers``) from the others (``labelled``). Confidence is null everywhere if the answers support none.
        """
        return self.vote.labels(self.answers) if isinstance(self.vote, Vote) else self.vote.labels()

    @property
    def sure_of_task(self) -> FloatArray:
        """How sure the label of each task is; NaN where that is not stated."""
        return self.task_vote.confidence

    @cached_property
    def intervals(self) -> Intervals:
        """An interval for each skill, computed when first asked for; all NaN where the method has none."""
        choice = self.interval_choice
        return skill_intervals(
            self.inference,
            self.crowd_info.n_workers,
            level=choice.level,
            kind=choice.kind,
            gold_counts=self.skill_estimates.gold_counts,
            weak=None if choice.kind == "none" else self.skill_estimates.weak,
        )

    @cached_property
    def diagnosis(self) -> "quorate.Diagnosis":
        """What is wrong with these answers, and what they cannot tell; see `quorate.diagnose`."""
        import quorate  # by the front door: diagnosis lies further on the path of the data

        return quorate.diagnose(self)

    def score(self, truth: Source) -> "quorate.Score":
        """Score the labels against true ones: a table with the columns task and label, or a mapping."""
        import quorate

        return quorate.score(self, truth)

    @property
    def plot(self) -> "quorate.charts.Plots":
        """Charts of this result: ``skills()``, ``graph()``, ``agreement()`` and ``confidence()``."""
        import quorate

        return quorate.charts.Plots(self)

    def __repr__(self) -> str:
        return f"<Result of {self._head()}>"

    def _repr_html_(self) -> str:
        import quorate

        return quorate.charts.result_html(self)

    @cached_property
    def workers(self) -> Table:
        """One row a worker: worker, skill and its interval, accuracy, weight, n_answers, n_peers, component, status.

        Skill, interval and accuracy are null where they are not determined; weight is what the vote used all the same.
        Language models without known labels have the column agreement instead of interval and accuracy.
        """
        crowd_info = self.crowd_info
        sure = self.intervals
        unknown = np.isnan(self.skills)
        agreement = self.skill_estimates.agreement
        # How often a model is right does not follow from its agreement with others (docs/llm-judges.md).
        hidden = np.zeros(len(unknown), dtype=bool) if agreement is None else ~np.isnan(agreement)
        peers = blocks_of(crowd_info).n_peers() if isinstance(crowd_info, Answers) else crowd_info.n_peers()
        component = None if self.graph is None else self.graph.component[: crowd_info.n_workers]
        nothing = from_numpy(np.zeros(crowd_info.n_workers, np.int64), mask=np.ones(crowd_info.n_workers, dtype=bool))
        columns = {
            "worker": crowd_info.worker_names,
            "skill": from_numpy(self.skills, mask=unknown),
            "skill_low": from_numpy(sure.low, mask=hidden | np.isnan(sure.low)),
            "skill_high": from_numpy(sure.high, mask=hidden | np.isnan(sure.high)),
            "standard_error": from_numpy(sure.standard_error, mask=hidden | np.isnan(sure.standard_error)),
            "accuracy": from_numpy(accuracy(self.skills, crowd_info.n_classes), mask=hidden | unknown),
            **({} if agreement is None else {"agreement": from_numpy(agreement, mask=np.isnan(agreement))}),
            "weight": self.weights,
            "n_answers": crowd_info.per_worker,
            **({} if crowd_info.abstained_per_worker is None else {"n_abstained": crowd_info.abstained_per_worker}),
            "n_peers": nothing if peers is None else peers,
            "component": nothing if component is None else component,
            "status": take(from_strings(STATUSES), self.status),
        }
        if isinstance(crowd_info, Answers) and crowd_info.is_model is not None:
            columns["kind"] = take(from_strings(["worker", "model"]), crowd_info.is_model.astype(np.int64))
        if self.matrices is not None:
            columns["class_accuracy"] = self.matrices.class_accuracy(crowd_info.classes)
        return Table(table_of(columns))

    @cached_property
    def posterior(self) -> Table:
        """One row for each task and class: task, label, probability."""
        answers = self.answers
        task_vote = self.task_vote
        n_tasks, n_classes = task_vote.posterior.shape
        columns = {
            "task": take(answers.task_names, np.repeat(np.arange(n_tasks), n_classes)),
            "label": take(answers.classes, np.tile(np.arange(n_classes), n_tasks)),
            "probability": task_vote.posterior.ravel(),
        }
        return Table(table_of(columns))

    def to_dict(self, *, labels: bool = True, workers: bool = True) -> dict[str, Any]:
        """Return what `quorate aggregate --json` prints; the two long lists may be left out.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}
        >>> quorate.aggregate(answers, "majority").to_dict()["labels"][0]["label"]
        'y'
        """
        graph = self.graph
        sure = self.vote.confidence_stats()
        listed: dict[str, Any] = {
            "method": self.method,
            **sizes(self.crowd_info),
            "tasks_without_answers": sure.n_unlabelled,
            "components": None if graph is None else graph.n_components,
            "identifiable_components": None if graph is None else int(graph.identifiable.sum()),
            "notes": [*(note.text for note in self.notes), *spelling_notes(self.crowd_info.classes)],
            "trust": self.one_factor_weight,
            "weakly_identified": int((self.status == WEAKLY_IDENTIFIED).sum()),
        }
        if self.confidence_basis is not None:
            listed["confidence"] = {"mean": sure.mean, **self.confidence_basis.to_dict()}
        if self.solution is not None:
            listed["solution"] = self.solution.to_dict()
        if labels:
            listed["labels"] = self.labels.to_pylist()
        if workers:
            listed["skills"] = self.workers.to_pylist()
            listed["intervals"] = {"level": self.intervals.level, "kind": self.intervals.kind}
        return listed

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file, which `quorate.load` reads; labels that an engine holds are read first.

        Raises:
            UnwritableFileError: the file cannot be written.
        """
        from quorate.saved_results import save_result

        save_result(self, path)

    def summary(self, *, verbose: bool = False) -> str:
        """Say in a few lines what the labels are worth and what is wrong; with ``verbose`` how they were computed, too.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
        >>> print(quorate.aggregate(answers, "majority").summary())
        2 labels from 6 answers by 3 workers (2 classes, method majority).
        Mean confidence 83%, as the method states it; 1 label is below 90% confidence.
        """
        findings = self.worker_findings()
        lines = [
            *(warning_line(note) for note in self.notes if note.kind not in TECHNICAL),
            *self._shared_bias_lines(),
            f"{self._head()}.",
            *self._confidence_lines(),
            *self._skill_lines(),
            *self._problem_lines(findings),
            *left_out(self.crowd_info),
            *spelling_notes(self.crowd_info.classes),
        ]
        if verbose:
            lines += [note.text for note in self.notes if note.kind in TECHNICAL]
            lines += self.technical_lines()
        return in_python("\n".join(lines))

    def worker_findings(self) -> "tuple[quorate.Finding, ...] | None":
        """Return the findings about single workers, as `quorate.diagnose` has them; None where they were not sought.

        They are sought in memory, where the method states intervals, up to MAX_ANSWERS_CHECKED answers.
        """
        if not isinstance(self.crowd_info, Answers) or not isinstance(self.vote, Vote) or self.inference is None:
            return None
        if self.crowd_info.n_answers > MAX_ANSWERS_CHECKED or self.interval_choice.kind == "none":
            return None
        import quorate

        return quorate.unreliable_workers(self)

    def _problem_lines(self, findings: "tuple[quorate.Finding, ...] | None") -> list[str]:
        if findings is None:
            if self.inference is None or self.crowd_info.n_answers <= MAX_ANSWERS_CHECKED:
                return self.weak_lines()
            check = command("diagnose", "", "quorate.diagnose(answers)")
            return [
                f"With more than {MAX_ANSWERS_CHECKED:,} answers, the summary tests neither the workers nor how "
                f"well their skills are determined. To do so: {check}"
            ]
        import quorate

        unsure = quorate.possible_guessers_text(self, findings)
        ends = [unsure] if unsure else []
        if not findings:
            # Of language models without known labels, agreement shows too little to say that none is unreliable.
            is_open = self.weak_lines() or unsure or self.skill_estimates.agreement is not None
            nothing = [] if is_open else ["No unreliable workers found."]
            return [*self.weak_lines(), *nothing, *ends]
        n = sum(len(finding.workers) for finding in findings)
        lines = [f"{count(n, 'unreliable worker')}:"]
        lines += [f"- {finding.line}" for finding in findings[:MOST_FINDINGS]]
        if len(findings) > MOST_FINDINGS:
            more = command("diagnose", "", "quorate.diagnose(answers)")
            lines.append(f"  and {len(findings) - MOST_FINDINGS:,} more: {more}")
        return [*self.weak_lines(), *lines, *ends]

    def weak_lines(self) -> list[str]:
        """Return the sentence on weakly identified workers, or nothing."""
        sentence = self.weak_sentence()
        return [f"Warning: {sentence}."] if sentence else []

    def weak_sentence(self) -> str:
        """Say which workers can be rated only roughly, and why; empty where there are none."""
        is_weak = self.status == WEAKLY_IDENTIFIED
        weak = self.skill_estimates.weak
        if weak is None or not is_weak.any():
            return ""
        names = self.crowd_info.worker_names
        n_weak = int(is_weak.sum())
        who = "1 worker" if n_weak == 1 else f"{n_weak:,} workers"
        if not weak.is_strong.any():
            of_all = f"{who} of {self.crowd_info.n_workers:,}"
            return f"{of_all} cannot be rated yet: too few answers to tell skill from guessing"
        between = np.flatnonzero(weak.is_between)
        if len(between):
            through = f"compared through {_named(names, between)}, whose answers may be random"
        else:
            through = "compared only through workers whose answers may be random"
        subject = "it is" if n_weak == 1 else "they are"
        return (
            f"{who} ({_named(names, np.flatnonzero(is_weak))}) can be rated only roughly: {subject} {through}. Their "
            "intervals show every skill that fits the answers"
        )

    def _head(self) -> str:
        a = self.crowd_info
        n_labels = a.n_tasks - self.vote.confidence_stats().n_unlabelled
        method = "" if self.method == "quorate" else f", method {self.method}"
        where = "" if a.engine is None else f" in {a.engine}"
        return (
            f"{count(n_labels, 'label')} from {count(a.n_answers, 'answer')} by {count(a.n_workers, 'worker')} "
            f"({count(a.n_classes, 'class')}{method}){where}"
        )

    def _shared_bias_lines(self) -> list[str]:
        if self.one_factor_weight is None or self.one_factor_weight >= LOW_ONE_FACTOR_FIT:
            return []
        return [warning_line(Note(DEPENDENT, shared_bias_text(advised_labels(self.crowd_info.n_tasks))))]

    def expected_wrong(self) -> float | None:
        """Return the share of the labels that are probably wrong; None where no confidence is stated."""
        mean = self.vote.confidence_stats().mean
        return None if mean is None else 1 - mean

    def _confidence_lines(self) -> list[str]:
        stats = self.vote.confidence_stats()
        n_labelled = self.crowd_info.n_tasks - stats.n_unlabelled
        ends = unanswered_lines(stats.n_unlabelled)
        if stats.ties:
            was = "was" if stats.ties == 1 else "were"
            ends.append(f"{count(stats.ties, 'label')} {was} decided by breaking a tie.")
        if stats.cost is not None:
            ends.append(f"Expected cost: {stats.cost / n_labelled:.3g} per task, {stats.cost:.3g} in all.")
        if stats.mean is None:
            return ends
        is_below = "is" if stats.doubtful == 1 else "are"
        below = f"{count(stats.doubtful, 'label')} {is_below} below {SURE:.0%} confidence"
        if self.confidence_basis is None:
            stated = f"Mean confidence {percent(stats.mean)}, as the method states it; {below}."
            return [stated, *ends]
        return [*self.confidence_basis.lines(stats.mean, self.crowd_info.n_tasks, below), *ends]

    def _skill_lines(self) -> list[str]:
        """Say how good the workers are: quantiles of accuracy or, for unchecked language models, of agreement."""
        agreement = self.skill_estimates.agreement
        if agreement is not None and not np.isnan(agreement).all():
            what = "Judges agree with these labels"
            values = agreement[~np.isnan(agreement)]
        elif self.solution is not None:
            what = "Workers are right"
            values = accuracy(self.skills[~np.isnan(self.skills)], self.crowd_info.n_classes)
        else:
            return []
        if len(values) == 0:
            return []
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        if len(values) < MIN_WORKERS_FOR_QUANTILES:
            return [f"{what} {middle:.0%} of the time (median; {values.min():.0%} to {values.max():.0%})."]
        return [f"{what} {middle:.0%} of the time (median); 80% of them between {low:.0%} and {high:.0%}."]

    def technical_lines(self) -> list[str]:
        """Return what `--verbose` adds: method, solver, intervals, one-factor weight, components."""
        lines = [f"method: {self.method}", *self.skill_estimates.lines(self.interval_choice)]
        if self.one_factor_weight is not None:
            lines.append(f"trust: {self.one_factor_weight:.2f} (one-factor weight, from 0 to 1)")
        if self.graph is not None:
            identifiable = int(self.graph.identifiable.sum())
            components = count(self.graph.n_components, "component")
            lines.append(f"interaction graph: {components}, {identifiable} identifiable")
        return lines


def _named(names: pa.Array, codes: IntArray, most: int = 5) -> str:
    """Name the first few workers and count the rest."""
    shown = ", ".join(visible(str(names[int(code)].as_py())) for code in codes[:most])
    return f"{shown} and {len(codes) - most:,} more" if len(codes) > most else shown


def unanswered_lines(n: int) -> list[str]:
    """Say how many tasks have no label.

    >>> unanswered_lines(2), unanswered_lines(0)
    (['2 tasks have no answers, and no label.'], [])
    """
    return [f"{count(n, 'task')} {'has' if n == 1 else 'have'} no answers, and no label."] if n else []


# Attributes of 0.2, which warn for one release.
_OLD_ATTRIBUTES = {
    "ballot": "task_vote",
    "roster": "crowd_info",
    "trust": "one_factor_weight",
    "workforce": "skill_estimates",
}
