"""Result of an aggregation: labels, workers and posterior as tables, a summary, and saving to a file."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.answers import Answers, Counted, CrowdInfo
from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, quantiles, table_of, take
from quorate.blocks.memory import memory_blocks
from quorate.blocks.sampling import TaskSample
from quorate.calibration.confidence import ConfidenceBasis, advised_labels
from quorate.calibration.right_answers import RightAnswers, right_answers, weighted_median
from quorate.calibration.share_right import ShareEstimate
from quorate.errors import NotInMemoryError, OptionError, in_python, with_full_stop
from quorate.errors import count as count  # other modules import it from here
from quorate.graph.components import Identifiability
from quorate.io.arguments import check_arguments
from quorate.io.dataframes import Source
from quorate.io.labels import spelling_notes
from quorate.models.confusion import ConfusionMatrices
from quorate.notes import (
    DEPENDENT,
    JUDGES,
    LOW_ONE_FACTOR_FIT,
    TECHNICAL,
    Note,
    command,
    shared_bias_text,
    warning_line,
    without_repeated_advice,
)
from quorate.notes import percent as percent  # other modules import it from here
from quorate.renamed import renamed_attribute
from quorate.skills.identification import STATUSES, WEAKLY_IDENTIFIED
from quorate.skills.intervals import Inference, IntervalChoice, Intervals, skill_intervals
from quorate.skills.skill_notes import weakly_identified_sentence
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.ties import tie_sentence
from quorate.voting.vote import SURE, LabelsElsewhere, Vote, accuracy

MAX_ANSWERS_CHECKED = 50_000  # with more answers, a summary does not test the workers (about 0.1 CPU seconds)
MAX_FINDINGS = 5  # findings that a summary lists
MIN_WORKERS_FOR_QUANTILES = 10  # with fewer workers, a summary does not state deciles; conventional


def sizes(answers: Counted) -> dict[str, int]:
    """Return the numbers of tasks, workers, answers and classes, and of the rows that were left out.

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
    """Return sentences on the rows that were not used, and on abstentions.

    >>> import quorate
    >>> left_out(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ['1 row repeats an answer exactly and was counted once.']
    """
    phrases = {
        ("row repeats an answer exactly and was counted once", "rows repeat an answer exactly and were counted once"): (
            answers.n_repeats
        ),
        ("row left out by the conflict policy", "rows left out by the conflict policy"): answers.n_conflicting,
        ("row skipped for a missing field", "rows skipped for a missing field"): answers.n_skipped - answers.n_blank,
    }
    lines = [f"{n:,} {(one if n == 1 else many)}." for (one, many), n in phrases.items() if n]
    return [*lines, *answers.abstained_lines()]


if TYPE_CHECKING:
    import quorate
    from quorate.skills.objective import Solution
    from quorate.skills.signs import Signs


@dataclass(frozen=True, repr=False, kw_only=True)
class Result:
    """Labels for the tasks, skills for the workers, and what the answers do not determine.

    Results are the same for every backend. If the answers are in an engine, members that need them in memory raise
    `NotInMemoryError`; `labels` are read from the engine at the first access, and `engine_table` is the table in the
    engine.
    """

    method: str
    info: Answers | CrowdInfo  # the answers, or their counts and names if they are in an engine
    label_source: Vote | LabelsElsewhere  # labels and posterior, or their table in an engine
    skill_estimates: WorkerEstimates  # skills, weights and status of the workers
    identifiability: Identifiability  # components of the interaction graph, and which skills they determine
    gold: IntArray | None = None  # known class of each task, -1 if unknown; None without gold, or in an engine
    fitted_confusion: ConfusionMatrices | None = None  # matrices, counts and prior, if the method fits them
    confidence_basis: ConfidenceBasis | None = None  # None if the confidence is the model's own posterior
    notes: tuple[Note, ...] = ()  # remarks on the result, the most important first
    interval_choice: IntervalChoice = field(default_factory=IntervalChoice)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, OLD_ATTRIBUTES)

    @property
    def answers(self) -> Answers:
        """The answers, if they are in memory."""
        if isinstance(self.info, Answers):
            return self.info
        raise self._not_in_memory_error("the answers")

    @property
    def vote(self) -> Vote:
        """Scores and posterior of the labels, by codes."""
        if isinstance(self.label_source, Vote):
            return self.label_source
        raise self._not_in_memory_error("the posterior")

    @property
    def engine_table(self) -> Any:  # an ibis table; ibis itself has no types
        """The labels as a table in the engine, for results that are too large for memory."""
        if isinstance(self.label_source, Vote):
            raise OptionError("no engine holds these labels: they are in memory, as `labels`")
        return self.label_source.table

    @property
    def skills(self) -> FloatArray:
        """The skill of each worker; NaN if not determined."""
        return self.skill_estimates.skills

    @property
    def weights(self) -> FloatArray:
        """The weight of each worker's vote."""
        return self.skill_estimates.weights

    @property
    def status(self) -> IntArray:
        """The status of each worker: an index into `quorate.skills.identification.STATUSES`."""
        return self.skill_estimates.full_status

    @property
    def solution(self) -> "Solution | None":
        """The solver's status: iterations, loss, convergence."""
        return self.skill_estimates.solution

    @property
    def signs(self) -> "Signs | None":
        """How much of the agreement between workers contradicts the signs of the skills."""
        return self.skill_estimates.signs

    @property
    def inference(self) -> Inference | None:
        """Quantities that the intervals need; None if the method has no intervals."""
        return self.skill_estimates.inference

    @property
    def one_factor_weight(self) -> float | None:
        """How well one skill per worker explains which workers agree, from 0 to 1; None if not computed."""
        return None if self.confidence_basis is None else self.confidence_basis.one_factor_weight

    @property
    def confusion_matrices(self) -> FloatArray | None:
        """The confusion matrices (workers × answers × classes); None if the method fits none."""
        return None if self.fitted_confusion is None else self.fitted_confusion.theta

    @property
    def class_prior(self) -> FloatArray | None:
        """The class prior of the confusion matrices; None if the method fits none."""
        return None if self.fitted_confusion is None else self.fitted_confusion.class_prior

    @property
    def posterior_matrix(self) -> FloatArray:
        """The probability of each class for each task (tasks × classes), in the order of `info.classes`."""
        return self.vote.posterior

    def _not_in_memory_error(self, what: str) -> NotInMemoryError:
        return NotInMemoryError(
            f"{what} is not available for a result in {self.info.engine}, because the answers stay there. "
            "Aggregate them in memory, with quorate.aggregate (without --engine)"
        )

    @cached_property
    def labels(self) -> Table:
        """One row per task: task, label, confidence, margin, n_answers, tied.

        If a task has no answers, its label and confidence are null, and a column ``status`` distinguishes such tasks
        (``no answers``) from the others (``labelled``). All confidences are null if the answers support none.
        """
        return (
            self.label_source.labels(self.answers)
            if isinstance(self.label_source, Vote)
            else self.label_source.labels()
        )

    @property
    def label_confidence(self) -> FloatArray:
        """The probability that the label of each task is right; NaN if none is stated."""
        return self.vote.confidence

    @cached_property
    def intervals(self) -> Intervals:
        """An interval for each skill, computed at the first access; all NaN if the method has none."""
        choice = self.interval_choice
        return skill_intervals(
            self.inference,
            self.info.n_workers,
            level=choice.level,
            kind=choice.kind,
            gold_counts=self.skill_estimates.gold_counts,
            weak=None if choice.kind == "none" else self.skill_estimates.weak,
            stated_skills=self.skills,
        )

    @cached_property
    def diagnosis(self) -> "quorate.Diagnosis":
        """Problems in the answers, and what they do not determine; see `quorate.diagnose`."""
        import quorate  # imported here, because the package `diagnostics` imports this module

        return quorate.diagnose(self)

    @check_arguments
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
        """One row per worker: worker, skill, right, accuracy, weight, n_answers, n_peers, component, status.

        Skill and right (the share of right answers) have intervals. With known labels, n_known and n_right are the
        numbers of answers, and of right answers, to tasks with a known label. Skill, right and accuracy are null if
        they are not determined; weight is the weight in the vote. Language models without known labels have the column
        agreement instead of right and accuracy.
        """
        info = self.info
        intervals = self.intervals
        unknown = np.isnan(self.skills)
        agreement = self.skill_estimates.agreement
        # The agreement of a model with others does not show how often it is right (docs/llm-judges.md).
        hidden = np.zeros(len(unknown), dtype=bool) if agreement is None else ~np.isnan(agreement)
        peers = memory_blocks(info).n_peers() if isinstance(info, Answers) else info.n_peers()
        nulls = from_numpy(np.zeros(info.n_workers, np.int64), mask=np.ones(info.n_workers, dtype=bool))
        columns = {
            "worker": info.worker_names,
            "skill": from_numpy(self.skills, mask=unknown),
            "skill_low": from_numpy(intervals.low, mask=hidden | np.isnan(intervals.low)),
            "skill_high": from_numpy(intervals.high, mask=hidden | np.isnan(intervals.high)),
            "standard_error": from_numpy(intervals.standard_error, mask=hidden | np.isnan(intervals.standard_error)),
            **self._right_columns(hidden | unknown),
            "accuracy": from_numpy(accuracy(self.skills, info.n_classes), mask=hidden | unknown),
            **({} if agreement is None else {"agreement": from_numpy(agreement, mask=np.isnan(agreement))}),
            "weight": self.weights,
            "n_answers": info.per_worker,
            **({} if info.abstained_per_worker is None else {"n_abstained": info.abstained_per_worker}),
            "n_peers": nulls if peers is None else peers,
            "component": self.identifiability.component[: info.n_workers],
            "status": take(from_strings(STATUSES), self.status),
        }
        if isinstance(info, Answers) and info.is_model is not None:
            columns["kind"] = take(from_strings(["worker", "model"]), info.is_model.astype(np.int64))
        if self.fitted_confusion is not None:
            columns["class_accuracy"] = self.fitted_confusion.class_accuracy(info.classes, hidden)
        return Table(table_of(columns))

    def _right_columns(self, hidden: BoolArray) -> dict[str, Any]:
        """Return the share of right answers with its interval and, with known labels, the counts on their tasks."""
        columns: dict[str, Any] = {}
        right = self.right_answers
        if right is not None:
            for name, values in (("right", right.share), ("right_low", right.low), ("right_high", right.high)):
                columns[name] = from_numpy(values, mask=hidden | np.isnan(values))
        if self.gold is not None and isinstance(self.info, Answers):
            known = self.gold[self.info.task]
            columns["n_known"] = self.info.by_worker((known >= 0).astype(np.float64)).astype(np.int64)
            columns["n_right"] = self.info.by_worker((known == self.info.label).astype(np.float64)).astype(np.int64)
        return columns

    @cached_property
    def posterior(self) -> Table:
        """One row per task and class: task, label, probability."""
        answers = self.answers
        vote = self.vote
        n_tasks, n_classes = vote.posterior.shape
        columns = {
            "task": take(answers.task_names, np.repeat(np.arange(n_tasks), n_classes)),
            "label": take(answers.classes, np.tile(np.arange(n_classes), n_tasks)),
            "probability": vote.posterior.ravel(),
        }
        return Table(table_of(columns))

    def soft_labels(self) -> Any:
        """Return the probability of every class (tasks × classes), as a `pandas.DataFrame` if pandas is installed.

        The index has the tasks and the columns are the classes, in the order of ``result.info.classes``. Rows are NaN
        if the answers support no confidence. ``soft_labels().weights()`` returns one weight per task, for training on
        hard labels: 1 for a certain label, 0 for a label at chance. Without pandas, the result is an object with the
        same method, and with ``tasks``, ``classes`` and ``probabilities`` as arrays.

        >>> import quorate
        >>> result = quorate.aggregate({"task": [1, 1, 1], "worker": list("abc"), "label": list("xxy")}, "majority")
        >>> soft = result.soft_labels()
        >>> soft.to_numpy().round(2).tolist(), [round(float(weight), 2) for weight in soft.weights()]
        ([[0.67, 0.33]], [0.33])
        """
        from quorate.voting.soft_labels import soft_labels_of  # imported here, because few calls need it

        soft = soft_labels_of(self.vote, self.answers)
        return soft if find_spec("pandas") is None else soft.to_pandas()

    @check_arguments
    def to_dict(self, *, labels: bool = True, workers: bool = True) -> dict[str, Any]:
        """Return the object that `quorate aggregate --json` prints; the lists of labels and workers may be left out.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}
        >>> quorate.aggregate(answers, "majority").to_dict()["labels"][0]["label"]
        'y'
        """
        stats = self.label_source.confidence_stats()
        listed: dict[str, Any] = {
            "method": self.method,
            **sizes(self.info),
            "tasks_without_answers": stats.n_unlabelled,
            "components": self.identifiability.n_components,
            "identifiable_components": int(self.identifiability.identifiable.sum()),
            "notes": [*(note.text for note in self.notes), *spelling_notes(self.info.classes)],
            "trust": self.one_factor_weight,
            "weakly_identified": int((self.status == WEAKLY_IDENTIFIED).sum()),
        }
        if self.confidence_basis is not None:
            listed["confidence"] = {"mean": stats.mean, **self.confidence_basis.to_dict()}
        if self.solution is not None:
            listed["solution"] = self.solution.to_dict()
        if labels:
            listed["labels"] = self.labels.to_pylist()
        if workers:
            listed["skills"] = self.workers.to_pylist()
            listed["intervals"] = {"level": self.intervals.level, "kind": self.intervals.kind}
        return listed

    @check_arguments
    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file, which `quorate.load` reads; labels in an engine are read first.

        Raises:
            UnwritableFileError: the file cannot be written.
        """
        from quorate.saved_results import save_result

        save_result(self, path)

    def summary(self, *, verbose: bool = False) -> str:
        """Return a summary of labels, workers and problems as text; with ``verbose``, also how they were computed.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
        >>> print(quorate.aggregate(answers, "majority").summary())
        2 labels from 6 answers by 3 workers (2 classes, method majority).
        Mean confidence 83%, as stated by the method; 1 label is below 90% confidence.
        """
        findings = self.worker_findings()
        lines = [
            *(f"Warning: {with_full_stop(note)}" for note in spelling_notes(self.info.classes)),
            *self.warnings(),
            f"{self._head()}.",
            *self._confidence_lines(),
            *self._skill_lines(),
            *self._problem_lines(findings),
            *map(with_full_stop, left_out(self.info)),
        ]
        if verbose:
            lines += [note.text for note in self.notes if note.kind in TECHNICAL]
            lines += self.technical_lines()
        return in_python("\n".join(without_repeated_advice(lines)))

    def warnings(self) -> list[str]:
        """Return the warnings at the beginning of a summary, which do not depend on estimates of single workers."""
        notes = [note for note in self.notes if note.kind not in TECHNICAL]
        if self.one_factor_weight is not None and self.one_factor_weight < LOW_ONE_FACTOR_FIT:
            notes.append(Note(DEPENDENT, shared_bias_text(self.n_advised)))
        return [in_python(warning_line(note)) for note in notes]

    def judge_warnings(self) -> list[str]:
        """Return the warning about language models without known labels; empty for other workers."""
        return [in_python(warning_line(note)) for note in self.notes if note.kind == JUDGES]

    def worker_findings(self) -> "tuple[quorate.Finding, ...] | None":
        """Return the findings about single workers, as in `quorate.diagnose`; None if they were not computed.

        They are computed if the answers are in memory and at most `MAX_ANSWERS_CHECKED`, and the method has intervals.
        """
        if not isinstance(self.info, Answers) or not isinstance(self.label_source, Vote) or self.inference is None:
            return None
        if self.info.n_answers > MAX_ANSWERS_CHECKED or self.interval_choice.kind == "none":
            return None
        import quorate

        return quorate.unreliable_workers(self)

    def _problem_lines(self, findings: "tuple[quorate.Finding, ...] | None") -> list[str]:
        if findings is None:
            if self.inference is None or self.info.n_answers <= MAX_ANSWERS_CHECKED:
                return self.weak_lines()
            check = command("diagnose", "", "quorate.diagnose(answers)")
            return [
                f"With more than {MAX_ANSWERS_CHECKED:,} answers, the summary does not test the workers. To test them: "
                f"{check}"
            ]
        ratings = import_module("quorate.diagnostics.ratings")  # imported here, because it imports this module
        unsure = ratings.possible_guessers_text(self, findings)
        ends = [unsure] if unsure else []
        other_lines = [finding.line for finding in findings if not finding.action]
        findings = tuple(finding for finding in findings if finding.action)
        if not findings:
            # The agreement of language models without known labels cannot show that none of them is unreliable.
            is_open = self.weak_lines() or unsure or other_lines or self.skill_estimates.agreement is not None
            no_problem = [] if is_open else ["No unreliable workers found."]
            return [*self.weak_lines(), *no_problem, *other_lines, *ends]
        n = sum(len(finding.workers) for finding in findings)
        lines = [f"{count(n, 'unreliable worker')}:"]
        lines += [f"- {finding.line}" for finding in findings[:MAX_FINDINGS]]
        if len(findings) > MAX_FINDINGS:
            more = command("diagnose", "", "quorate.diagnose(answers)")
            lines.append(f"  and {len(findings) - MAX_FINDINGS:,} more: {more}")
        return [*self.weak_lines(), *lines, *other_lines, *ends]

    def weak_lines(self) -> list[str]:
        """Return the warning about weakly identified workers as a list; empty if there are none."""
        sentence = self.weak_sentence()
        return [f"Warning: {sentence}."] if sentence else []

    def weak_sentence(self) -> str:
        """Return the sentence on workers who can be rated only roughly; empty if there are none."""
        weak = self.skill_estimates.weak
        if weak is None:
            return ""
        return weakly_identified_sentence(weak, self.status == WEAKLY_IDENTIFIED, self.info.worker_names)

    def _head(self) -> str:
        a = self.info
        n_labels = a.n_tasks - self.label_source.confidence_stats().n_unlabelled
        method = "" if self.method == "quorate" else f", method {self.method}"
        where = "" if a.engine is None else f" in {a.engine}"
        return (
            f"{count(n_labels, 'label')} from {count(a.n_answers, 'answer')} by {count(a.n_workers, 'worker')} "
            f"({count(a.n_classes, 'class')}{method}){where}"
        )

    @property
    def n_advised(self) -> int:
        """Number of tasks that a message suggests to label; 0 if too few tasks have no known label."""
        basis = self.confidence_basis
        if basis is not None:
            return basis.n_advised
        has_models = any(note.kind == JUDGES for note in self.notes)
        return advised_labels(self.info.n_tasks, has_models=has_models)

    def expected_wrong(self) -> float | None:
        """Return the share of the labels that are probably wrong; None if nothing shows it.

        For language models, who share mistakes, the posterior of a method without a calibration law does not show it.
        """
        if self.confidence_basis is None and any(note.kind == JUDGES for note in self.notes):
            return None
        mean = self.label_source.confidence_stats().mean
        return None if mean is None else 1 - mean

    def share_wrong(self) -> ShareEstimate | None:
        """Return the share of the labels that are probably wrong, with its 90 % interval; None if none is stated.

        >>> import quorate
        >>> wrong = quorate.aggregate(quorate.simulate.crowd(300, 6, 6, seed=0).answers).share_wrong()
        >>> wrong.low <= wrong.mean <= wrong.high
        True
        """
        mean = self.label_source.confidence_stats().mean
        if mean is None or self.confidence_basis is None:
            return None
        return self.confidence_basis.share_wrong_of(mean)

    @cached_property
    def right_answers(self) -> RightAnswers | None:
        """The share of right answers of each worker, by the confidence of the labels; None if it cannot be computed.

        >>> import quorate
        >>> crowd = quorate.simulate.crowd(400, 4, 4, skills=[0.8, 0.8, 0.8, 0.0], seed=0)
        >>> quorate.aggregate(crowd.answers).right_answers.share.round(1).tolist()
        [0.9, 0.8, 0.9, 0.5]
        """
        wrong = self.share_wrong()
        if wrong is None:
            return None
        if isinstance(self.label_source, Vote):
            chances = self.label_source.chances(self.answers) if isinstance(self.info, Answers) else None
        else:
            chances = self.label_source.summed_chances
        return None if chances is None else right_answers(self.info, chances, wrong)

    def _confidence_lines(self) -> list[str]:
        stats = self.label_source.confidence_stats()
        n_labelled = self.info.n_tasks - stats.n_unlabelled
        ends = unanswered_lines(stats.n_unlabelled)
        if stats.ties:
            ends.append(tie_sentence(stats.ties))
        if stats.cost is not None:
            ends.append(f"Expected cost: {stats.cost / n_labelled:.3g} per task, {stats.cost:.3g} in all.")
        if stats.mean is None:
            return ends
        below = below_sentence(stats.doubtful, n_labelled)
        if self.confidence_basis is None:
            stated = f"Mean confidence {percent(stats.mean)}, as stated by the method; {below}."
            return [stated, *ends]
        return [*self.confidence_basis.lines(stats.mean, self.info.n_tasks, below), *ends]

    def _skill_lines(self) -> list[str]:
        """Return the sentence on quantiles of the share right or, for unchecked language models, of agreement."""
        agreement = self.skill_estimates.agreement
        if agreement is not None and not np.isnan(agreement).all():
            what = "Judges agree with these labels"
            is_rated = ~np.isnan(agreement)
            values = agreement[is_rated]
        elif self.solution is not None:
            what = "Workers are right about"
            is_rated = ~np.isnan(self.skills) & (self.info.per_worker > 0)
            values = accuracy(self.skills[is_rated], self.info.n_classes)
            if self.right_answers is not None:
                values = self.right_answers.share[is_rated]
            else:
                what = "By their skills, workers are right"
        else:
            return []
        if len(values) == 0 or self.info.n_workers == 1:  # a single worker is always right by the worker's own labels
            return []
        weak = self.skill_estimates.weak
        if weak is not None and weak.is_weakly_identified.any() and not weak.is_informative.any():
            return []  # no worker can be rated
        n_answers = self.info.per_worker[is_rated]
        low, high = quantiles(values, [0.1, 0.9])
        middle = weighted_median(values, n_answers)
        if len(values) < MIN_WORKERS_FOR_QUANTILES:
            ends = f"lowest {values.min():.0%}, highest {values.max():.0%}"
            return [f"{what} {middle:.0%} of the time (median; {ends})."]
        return [f"{what} {middle:.0%} of the time (median); 80% of them between {low:.0%} and {high:.0%}."]

    def technical_lines(self) -> list[str]:
        """Return the lines that `--verbose` adds: method, solver, intervals, one-factor weight, components."""
        lines = [f"method: {self.method}", *self.skill_estimates.lines(self.interval_choice)]
        if self.one_factor_weight is not None:
            lines.append(f"trust: {self.one_factor_weight:.2f} (one-factor weight, from 0 to 1)")
        components = count(self.identifiability.n_components, "component")
        n_identifiable = int(self.identifiability.identifiable.sum())
        lines.append(f"interaction graph: {components}, {n_identifiable} identifiable")
        return lines


def below_sentence(n_below: int, n_labels: int) -> str:
    """Return the phrase on the number of labels below 90% confidence.

    >>> below_sentence(0, 5), below_sentence(1, 5), below_sentence(5, 5)
    ('all labels have at least 90% confidence', '1 label is below 90% confidence', 'all 5 labels are below 90% ...')
    """
    if n_below == 0:
        return f"all labels have at least {SURE:.0%} confidence"
    quantifier = "all " if n_below == n_labels > 1 else ""
    return f"{quantifier}{count(n_below, 'label')} {'is' if n_below == 1 else 'are'} below {SURE:.0%} confidence"


def unanswered_lines(n: int) -> list[str]:
    """Return the sentence on the number of tasks without a label, as a list; empty if there are none.

    >>> unanswered_lines(2), unanswered_lines(0)
    (['2 tasks have no answers and no label.'], [])
    """
    if n == 0:
        return []
    verb = "has" if n == 1 else "have"
    return [f"{count(n, 'task')} {verb} no answers and no label."]


# Attributes of version 0.2 -> present names; their use gives a warning for one release.
OLD_ATTRIBUTES = {
    "ballot": "vote",
    "confusion": "confusion_matrices",
    "graph": "identifiability",
    "matrices": "fitted_confusion",
    "roster": "info",
    "sure_of_task": "label_confidence",
    "trust": "one_factor_weight",
    "workforce": "skill_estimates",
}


def result_of_sample(result: Result, sample: TaskSample) -> Result:
    """Return the result for a sample of tasks: their labels from a result of all answers, with the same skills.

    >>> import quorate
    >>> from quorate.blocks.sampling import sample_of_tasks
    >>> result = quorate.aggregate(quorate.simulate.crowd(200, 10, 5, seed=0).answers)
    >>> few = result_of_sample(result, sample_of_tasks(result.answers, 500))
    >>> len(few.vote.label), bool((few.skills == result.skills).all())
    (100, True)
    """
    chosen = np.flatnonzero(sample.is_chosen)
    return replace(
        result,
        info=sample.answers,
        label_source=result.vote.of_tasks(chosen),
        gold=None if result.gold is None else result.gold[chosen],
    )
