"""next_steps(): whom to stop or train, whether to collect more answers, what an expert should label, and the effect."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from quorate.advice.advise import default_result
from quorate.advice.gold_tasks import GoldAdvice, gold_tasks
from quorate.advice.prospect import Prospect, mean_error, prospect
from quorate.answers import Answers
from quorate.arrays import FloatArray, Shown, distinct
from quorate.diagnostics.diagnose import Diagnosis, diagnose_result
from quorate.diagnostics.finding import CHECK_PROMPT, RETEST, STOP, TRAIN, Finding, mention, named, plain
from quorate.diagnostics.right_shares import extra_wrong_answers
from quorate.errors import OptionError
from quorate.io.arguments import check_arguments
from quorate.io.extra_columns import TaskTexts, task_texts
from quorate.io.gold import gold_for, named_gold
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.proposals import source_as_typed
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.methods.registry import METHODS
from quorate.notes import EXPERT_FILE, change_of, new_file, shell_command, without_later_advice
from quorate.result import Result, count
from quorate.voting.vote import SURE

ASSIGNMENTS_FILE = "next.csv"  # name of the file of assignments in printed commands, if there is none yet
MAX_NAMED = 5  # number of workers or tasks that a step names; the commands list all


@dataclass(frozen=True)
class Step:
    """One recommended action: why, the workers or tasks, the effect, and the commands."""

    title: str
    why: str
    named: tuple[tuple[str, str], ...] = ()  # a worker or task, and what to do about it
    effect: str = ""
    commands: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()  # the statistics

    def to_dict(self) -> dict[str, Any]:
        """Return the object for this step that `quorate advise --json` prints."""
        return {
            "title": self.title,
            "why": self.why,
            "named": [{"name": name, "what": what} for name, what in self.named],
            "effect": self.effect,
            "commands": list(self.commands),
        }


# The title of a step for each action, with the number of workers.
TITLES = {
    STOP: "Stop or retest {}",
    RETEST: "Test {} with tasks that have another answer",
    TRAIN: "Train {}",
    CHECK_PROMPT: "Check the prompt of {}",
}


@dataclass(frozen=True, repr=False)
class NextSteps(Shown):
    """What to do next with a crowd, and the share of wrong labels before and after."""

    result: Result  # with the confidence of the labels
    diagnosis: Diagnosis
    confident: float  # the confidence from which a label counts as reliable
    file: str  # the answers as printed commands name them, with the options of reading them
    texts: TaskTexts | None = None  # of the tasks; None unless a column is shown

    @cached_property
    def prospect(self) -> Prospect:
        """Whether more answers would help."""
        return prospect(self.result, self.confident)

    @cached_property
    def expert(self) -> GoldAdvice | None:
        """What an expert should label; None if no task is left."""
        try:
            return gold_tasks(self.result, self.result.n_advised)
        except OptionError:
            return None

    @cached_property
    def now(self) -> FloatArray:
        """The expected error of each label; NaN if no confidence is stated."""
        return 1 - self.result.vote.confidence

    @property
    def is_stated(self) -> bool:
        """Whether an expected error of the labels exists."""
        return self.result.expected_wrong() is not None

    @property
    def after(self) -> float:
        """The mean error after the answers that are recommended and the expert's labels."""
        error = self.prospect.error.copy() if self.prospect.helps else self.now.copy()
        if self.expert is not None:
            error[self.expert.task] = 0.0
        return mean_error(error)

    @property
    def after_expert(self) -> float:
        """The mean error after the expert's labels alone."""
        error = self.now.copy()
        if self.expert is not None:
            error[self.expert.task] = 0.0
        return mean_error(error)

    def line(self) -> str:
        """Return one line on the effect of all steps together."""
        if not self.is_stated:
            return "These answers do not show how many labels are wrong."
        now, after = self._change(self.after)
        return f"About {now} of the labels are probably wrong now; about {after} after these steps."

    def all(self) -> tuple[Step, ...]:
        """Return the steps in order; for language models without known labels, known labels come first."""
        if self.result.judge_warnings():
            return (*self._expert(), *self._workers(), *self._more_answers())
        return (*self._workers(), *self._more_answers(), *self._expert())

    def summary(self) -> str:
        """Return the steps as text, each with its effect and command."""
        lines = [self.line()]
        for number, step in enumerate(self.all(), 1):
            lines.append(f"{number}. {step.title}. {step.why}")
            lines += [f"   {what or name}" for name, what in step.named]
            if step.effect:
                lines.append(f"   Effect: {step.effect}")
            lines += [f"   {command}" for command in step.commands]
        lines += self.diagnosis.sample_lines()
        return "\n".join([*without_later_advice(self.result.judge_warnings(), lines), *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate advise --json` prints without a budget."""
        return {
            "expected_error": mean_error(self.now) if self.is_stated else None,
            "expected_error_after": self.after if self.is_stated else None,
            "more_answers_help": self.prospect.helps,
            "warnings": self.result.judge_warnings(),
            "steps": [step.to_dict() for step in self.all()],
            **self.diagnosis.sample_fields(),
        }

    def workers_with(self, action: str) -> list[Finding]:
        """Return the findings with this action, the workers with the most extra wrong answers first."""
        extra = extra_wrong_answers(self.result)
        chosen = [finding for finding in self.diagnosis.findings if finding.action == action]
        return sorted(chosen, key=lambda finding: (-extra[finding.workers[0]], finding.workers[0]))

    def _workers(self) -> Iterator[Step]:
        answers = self.result.answers
        extra = extra_wrong_answers(self.result)
        for action in (STOP, RETEST, TRAIN, CHECK_PROMPT):
            findings = self.workers_with(action)
            if not findings:
                continue
            codes = [code for finding in findings for code in finding.workers]
            n_answers = int(answers.per_worker[codes].sum())
            n_extra = float(np.nansum(np.maximum(extra[codes], 0)))
            if action == STOP:
                who = mention(answers.worker_names, codes) if len(codes) == 1 else "these workers"
                effect = (
                    f"A typical worker would get about {n_extra:,.0f} more of these answers right. The labels already "
                    f"give {who} little weight, so stopping saves money but changes few labels."
                )
            elif action == RETEST:
                effect = "The test shows whether these workers look at the task."
            elif action == CHECK_PROMPT:
                effect = f"A judge of the typical level would give about {n_extra:,.0f} more right answers."
            else:
                effect = (
                    f"After training to the level of a typical worker, about {n_extra:,.0f} more answers are right."
                )
            yield Step(
                TITLES[action].format(count(len(codes), "judge" if action == CHECK_PROMPT else "worker")),
                f"{'This one gave' if len(codes) == 1 else 'They gave'} {n_answers:,} of {answers.n_answers:,} answers "
                f"({n_answers / answers.n_answers:.0%}).",
                tuple((named(answers.worker_names, finding.workers), finding.line) for finding in findings[:MAX_NAMED])
                + _more(len(findings)),
                effect,
                (shell_command("diagnose", self.file),),
                tuple(finding.figures for finding in findings[:MAX_NAMED] if finding.figures),
            )

    def _more_answers(self) -> Iterator[Step]:
        prospect = self.prospect
        if isinstance(prospect.plan, str):
            reason, _, remedy = prospect.plan.partition(". ")
            is_in_title = bool(remedy) and "already answered all" in reason
            yield Step("Everyone has answered every task", f"{remedy if is_in_title else prospect.plan}.")
            return
        if prospect.plan.n_assignments == 0:
            return
        if not prospect.helps:
            yield Step(
                "More answers will not help",
                f"{prospect.sentence()}. Have an expert label tasks, or add workers who differ.",
            )
            return
        plan = prospect.plan
        n_tasks = len(distinct(plan.task))
        n_workers = len(distinct(plan.worker))
        rows = plan.assignments.arrow.slice(0, MAX_NAMED).to_pylist()
        why = f"{count(n_tasks, 'task')}, {count(n_workers, 'worker')}, most useful first."
        tasks = plan.task[:MAX_NAMED]
        if prospect.sample is not None:
            tasks = np.flatnonzero(prospect.sample.is_chosen)[tasks]
        shown = tuple(
            (f"{_id(row['task'], 'task')} → {_id(row['worker'], 'worker')}{self._text(task)}", "")
            for row, task in zip(rows, tasks.tolist(), strict=True)
        )
        if prospect.sample is not None:
            why = f"Planned for {prospect.sample.text()}; the command plans for all tasks."
        yield Step(
            f"Collect {count(prospect.n_assignments, 'more answer')}",
            why,
            shown + _more(prospect.n_assignments),
            self._effect(prospect.error),
            (shell_command("advise", self.file, f"--budget {prospect.n_assignments} -o {new_file(ASSIGNMENTS_FILE)}"),),
        )

    def _expert(self) -> Iterator[Step]:
        chosen = self.expert
        if chosen is None:
            return
        alone = self.now.copy()
        alone[chosen.task] = 0.0
        n = len(chosen.task)
        n_random = int(chosen.is_random.sum())
        wrong = chosen.expected_wrong
        about = (
            "" if wrong is None or not self.is_stated else f"About {wrong:.0f} of these {n} labels are probably wrong. "
        )
        check = ""
        if n_random == n:
            check = "All are drawn at random, to estimate shares of all tasks."
        elif n_random:
            check = f"{n - n_random} are the least certain, and {n_random} are drawn at random to check the rest."
        rows = chosen.tasks.arrow.slice(0, MAX_NAMED).to_pylist()
        names = [
            f"{plain(row['task'])}{self._text(task)}"
            for row, task in zip(rows, chosen.task[:MAX_NAMED].tolist(), strict=True)
        ]
        effect = self._effect(alone)
        labels = new_file(EXPERT_FILE)
        yield Step(
            f"Have an expert label {count(n, 'task')}",
            f"{about}{check}".strip(),
            tuple((name, "") for name in names) + _more(n),
            effect and f"{effect[:-1]} or lower, because the labels also show how good each worker is.",
            (
                shell_command("advise", self.file, f"--expert {n} -o {labels}"),
                shell_command(chosen.use, self.file, chosen.options_of_use(labels)),
            ),
        )

    def _text(self, task: int) -> str:
        text = "" if self.texts is None else self.texts.short(task)
        return f": {text}" if text else ""

    def _effect(self, after: FloatArray) -> str:
        if not self.is_stated:
            return ""
        now, then = self._change(mean_error(after))
        return f"The share of wrong labels goes from {now} to about {then}."

    def _change(self, after: float) -> tuple[str, str]:
        """Return the share of wrong labels now and after a step as texts, with enough digits to distinguish them."""
        now, _, then = change_of(mean_error(self.now), after).partition(" to ")
        return now, then


def _more(n: int) -> tuple[tuple[str, str], ...]:
    return ((f"and {n - MAX_NAMED:,} more", ""),) if n > MAX_NAMED else ()


def steps_of(
    result: Result,
    diagnosis: Diagnosis,
    confident: float = SURE,
    file: str = "FILE",
    texts: TaskTexts | None = None,
) -> NextSteps:
    """Return the next steps for a result.

    Args:
        result: an aggregation. If its method has no posterior, the default method is run.
        diagnosis: of the same answers.
        confident: the confidence from which a label counts as reliable.
        file: the answers as commands name them; see `quorate.io.proposals.source_as_typed`.
        texts: of the tasks, shown next to their ids.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.7])
    >>> result = quorate.aggregate(crowd.answers)
    >>> [step.title for step in steps_of(result, quorate.diagnose(result)).all()]
    ['Train 1 worker', 'Everyone has answered every task', 'Have an expert label 30 tasks']
    """
    if not METHODS[result.method].posterior or result.method == "majority":
        result = default_result(result.answers, named_gold(result.gold, result.answers))
    return NextSteps(result, diagnosis, confident, file, texts)


def _id(value: object, what: str) -> str:
    """Return an id as text; an id that is a number is preceded by the noun.

    >>> _id("review-7", "task"), _id(7, "task"), _id("7", "worker")
    ('review-7', 'task 7', 'worker 7')
    """
    text = plain(value)
    return f"{what} {text}" if text.isdecimal() else text


@check_arguments
@keep_pipes()
def next_steps(
    source: Answers | Source,
    *,
    gold: Source = None,
    confident: float = SURE,
    show: str | None = None,
    **reading: Unpack[ReadKeywords],
) -> NextSteps:
    """Return what to do next: whom to stop or train, whether to collect more answers, what an expert should label.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        gold: known labels of some tasks, as in `quorate.aggregate`.
        confident: the confidence from which a label counts as reliable.
        show: a column of the answers, such as the text, that is shown next to each task.
        reading: options of `quorate.read`.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 6, 4, skills=[0.8, 0.8, 0.8, 0.8, 0.8, 0.0], seed=0)
    >>> next_steps(crowd.answers).all()[0].title
    'Stop or retest 1 worker'
    """
    loaded = as_reading(source, reading)
    texts = task_texts(loaded, show)
    result = default_result(loaded.answers, gold_for(loaded, gold))
    return steps_of(result, diagnose_result(result), confident, source_as_typed(loaded.source, loaded.options), texts)
