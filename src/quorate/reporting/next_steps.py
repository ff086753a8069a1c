"""What to do next: whom to stop or train, what to ask again and whom, what an expert should label; what it brings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quorate.addresses import render_address
from quorate.advice.advice import Advice
from quorate.advice.advise import advise_result, believed
from quorate.advice.expected_error import error_after
from quorate.advice.gold_tasks import GoldAdvice, gold_tasks
from quorate.answers import Answers
from quorate.arrays import FloatArray, take
from quorate.calibration.confidence import ADVISED_GOLD
from quorate.diagnostics.diagnose import Diagnosis
from quorate.diagnostics.finding import Finding
from quorate.diagnostics.workers import below_usual, costs, wrong_answers
from quorate.errors import OptionError, shown
from quorate.io.gold import named_gold
from quorate.io.options import AS_USUAL, ReadOptions
from quorate.io.proposals import FLAGS, command_line
from quorate.methods.registry import METHODS
from quorate.reporting.summary import MOST_SENTENCES
from quorate.result import Result, count

# Words of a file's name that tell nothing of what is in it.
SAYING_NOTHING = frozenset(
    (
        *("all", "annotation", "annotations", "answer", "answers", "at", "crowd", "csv", "data", "dataset", "export"),
        *("file", "final", "input", "json", "label", "labels", "new", "output", "project", "raw", "responses"),
        *("result", "results", "table", "task", "tasks"),
    )
)
NAMED = 5  # workers or tasks that a step names; the commands give them all
SHARE = 0.1  # of the answers there are: so many more are advised at the most, and one for a doubtful task; a judgement
# What to do about a worker, by what was found; the gravest first. Whoever misunderstood can be taught.
BELOW = "below"  # surely less often right than a usual worker
REMEDIES = {"adversary": "train", "one-button": "stop", "spammer": "stop", BELOW: "train"}
FOUND = tuple(kind for kind in REMEDIES if kind != BELOW)  # findings of the diagnosis
WHY = {
    "adversary": "wrong more often than a guess",
    "one-button": "presses one button",
    "spammer": "answers at random",
    BELOW: "wrong more often than usual",
}
ALIKE = 0.1  # the correlation of errors from which it is named as the reason: ten answers are then worth five
LITTLE = 0.05  # of the wrong labels: further answers that mend fewer are not advised; a judgement, not a measurement


@dataclass(frozen=True)
class Step:
    """One thing to do: why, whom or what it names, what it should bring, and the commands."""

    title: str
    why: str
    named: tuple[tuple[str, str], ...] = ()  # a name, and what to do about it
    brings: str = ""
    commands: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()  # the statistics behind it


@dataclass(frozen=True)
class ExpectedErrorAfter:
    """What to do next with a crowd, and the error of the labels before and after."""

    result: Result  # whose confidence is believed
    diagnosis: Diagnosis
    sure: float
    file: str  # as commands name it, with the options that reading it takes

    @cached_property
    def asked(self) -> "Advice | str":
        """Whom to ask what; or why nobody can be asked."""
        doubtful = int((self.result.task_vote.confidence < self.sure).sum())
        budget = max(min(doubtful, round(SHARE * self.result.answers.n_answers)), 1)
        try:
            return advise_result(self.result, budget)
        except OptionError as error:
            return str(error)

    @cached_property
    def expert(self) -> GoldAdvice | None:
        """What an expert should label; None where nothing is left."""
        try:
            return gold_tasks(self.result, ADVISED_GOLD)
        except OptionError:
            return None

    @cached_property
    def now(self) -> FloatArray:
        """The expected error of each label; NaN where no confidence is stated."""
        return 1 - self.result.task_vote.confidence

    @property
    def is_stated(self) -> bool:
        """Whether a confidence is stated, so that an error can be expected."""
        return self.result.task_vote.confidence_stats().mean is not None

    @cached_property
    def asked_after(self) -> FloatArray:
        """The same once the answers that are advised have come."""
        if isinstance(self.asked, str):
            return self.now
        basis = self.result.confidence_basis
        return error_after(self.asked, 0.0 if basis is None else basis.rho)

    @property
    def after(self) -> float:
        """The mean of it once an expert has labelled the others, too."""
        left = self.asked_after.copy()
        if self.expert is not None:
            left[self.expert.task] = 0.0
        return _mean(left)

    def line(self) -> str:
        """Say in one line what all of it should bring."""
        if not self.is_stated:
            return "How many of the labels are wrong cannot be said of these answers."
        return f"{_mean(self.now):.1%} of the labels should be wrong now, and about {self.after:.1%} after all of this."

    def all(self) -> tuple[Step, ...]:
        """Return the steps, in the order to take them."""
        return (*self._workers(), *self._ask(), *self._expert())

    def _workers(self) -> Iterator[Step]:
        """Name whom to stop or train, those that cost most first."""
        answers = self.result.answers
        cost, wrong = costs(self.result), wrong_answers(self.result)
        found: dict[int, str] = {}
        for kind in FOUND:
            for finding in self.diagnosis.of_kind(kind):
                found.update({int(code): kind for code in finding.workers if int(code) not in found})
        found.update({code: BELOW for code in below_usual(self.result, cost) if code not in found})
        for remedy in ("stop", "train"):
            codes = sorted((c for c, kind in found.items() if REMEDIES[kind] == remedy), key=lambda c: (-cost[c], c))
            if not codes:
                continue
            given, extra = int(answers.per_worker[codes].sum()), float(np.nansum(np.maximum(cost[codes], 0)))
            names = take(answers.worker_names, np.array(codes[:NAMED])).to_pylist()
            brings = (
                f"A usual worker in their place gets about {extra:,.0f} more of these answers right. The labels count "
                "theirs for little already: stopping saves what they are paid."
                if remedy == "stop"
                else f"As good as a usual worker they get about {extra:,.0f} more of such answers right."
            )
            yield Step(
                f"{remedy.capitalize()} {count(len(codes), 'worker')}",
                f"They gave {given:,} of {answers.n_answers:,} answers ({given / answers.n_answers:.0%}).",
                tuple(
                    (str(name), f"{WHY[found[c]]}: {count(int(answers.per_worker[c]), 'answer')}{_wrong(wrong[c])}")
                    for name, c in zip(names, codes, strict=False)
                )
                + _more(len(codes)),
                brings,
                (f"quorate diagnose {self.file}",),
                tuple(each.figures for kind in FOUND if REMEDIES[kind] == remedy for each in self._told(kind)),
            )

    def _told(self, kind: str) -> list[Finding]:
        return [each for each in self.diagnosis.of_kind(kind)[:MOST_SENTENCES] if each.figures]

    def _ask(self) -> Iterator[Step]:
        advice = self.asked
        if isinstance(advice, str):
            yield Step("Ask again", f"Nobody can be asked: {advice}.")
            return
        if advice.n_assignments == 0:
            return
        if self.is_stated and _mean(self.asked_after) > (1 - LITTLE) * _mean(self.now):
            yield Step(
                "Ask nobody again",
                f"{count(advice.n_assignments, 'further answer')} of the same workers would bring next to nothing"
                f"{self._together()}.",
                brings=self._brings(self.asked_after),
            )
            return
        n_tasks, n_workers = len(np.unique(advice.task)), len(np.unique(advice.worker))
        rows = advice.assignments.arrow.slice(0, NAMED).to_pylist()
        yield Step(
            f"Ask for {count(advice.n_assignments, 'further answer')}",
            f"To {count(n_tasks, 'task')}, of {count(n_workers, 'worker')}, in this order.",
            tuple((f"task {shown(row['task'])}", f"ask {shown(row['worker'])}") for row in rows)
            + _more(advice.n_assignments),
            self._brings(self.asked_after),
            (f"quorate advise {self.file} --budget {advice.n_assignments} -o next.csv",),
        )

    def _together(self) -> str:
        basis = self.result.confidence_basis
        return "" if basis is None or basis.rho < ALIKE else ": they err alike, and repeat what the others said"

    def _expert(self) -> Iterator[Step]:
        chosen = self.expert
        if chosen is None:
            return
        alone = self.now.copy()
        alone[chosen.task] = 0.0
        rows = chosen.tasks.arrow.slice(0, NAMED).to_pylist()
        n = len(chosen.task)
        wrong = chosen.expected_wrong
        about = "" if wrong is None else f"About {wrong:.0f} of their labels should be wrong now; "
        brings = self._brings(alone)
        yield Step(
            f"Let an expert label {count(n, 'task')}",
            f"{about}{int(chosen.drawn.sum())} were drawn at random, so that they check how sure all the others are.",
            tuple((f"task {shown(row['task'])}", _sure(row["confidence"])) for row in rows) + _more(n),
            brings and f"{brings} by these labels alone; what they teach of the crowd comes on top.",
            (
                f"quorate advise {self.file} --expert {n} -o expert.csv",
                f"quorate aggregate {self.file} --gold expert.csv  # once it has a column label",
            ),
        )

    def _brings(self, after: FloatArray) -> str:
        return f"Wrong labels: from {_mean(self.now):.1%} to about {_mean(after):.1%}" if self.is_stated else ""


def _mean(error: FloatArray) -> float:
    """Average the error of the labels that have one."""
    stated = error[~np.isnan(error)]
    return float(stated.mean()) if len(stated) else 0.0


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f"{confidence:.0%} sure"


def _wrong(wrong: float) -> str:
    return "" if np.isnan(wrong) else f", about {wrong:,.0f} wrong"


def _more(n: int) -> tuple[tuple[str, str], ...]:
    return ((f"and {n - NAMED:,} more", ""),) if n > NAMED else ()


def expected_error_after(result: Result, diagnosis: Diagnosis, sure: float, file: str = "FILE") -> ExpectedErrorAfter:
    """Work out what to do next.

    Args:
        result: what was aggregated. Where its posterior is none, the default method says how sure labels are.
        diagnosis: of the same answers.
        sure: a label of less confidence is doubtful.
        file: what the commands read; see `as_typed`.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 4, 4, skills=[0.8, 0.8, 0.8, -0.7])
    >>> result = quorate.aggregate(crowd.answers)
    >>> [step.title for step in expected_error_after(result, quorate.diagnose(result), 0.9).all()]
    ['Train 1 worker', 'Ask again', 'Let an expert label 30 tasks']
    """
    chosen = METHODS[result.method]
    if not chosen.posterior or result.method == "majority":
        result = believed(result.answers, named_gold(result.gold, result.answers))
    return ExpectedErrorAfter(result, diagnosis, sure, file)


def as_typed(source: object, options: ReadOptions) -> str:
    """Write a file and the columns that were chosen as a shell takes them; FILE where its address holds a secret.

    >>> as_typed("my answers.csv", ReadOptions(task="item"))
    "'my answers.csv' --task item"
    """
    files: list[Any] = source if isinstance(source, list) else [source]
    is_typed = all(isinstance(each, str) and each != "-" and render_address(each) == each for each in files)
    chosen = {name: getattr(options, name) for name in FLAGS if getattr(options, name) != getattr(AS_USUAL, name)}
    return command_line("", files if is_typed else ["FILE"], chosen).removeprefix("quorate '' ")


def title_of(name: str | None, answers: Answers) -> str:
    """Make a title of the name of a file or a table; one that says nothing gives way to what is in it.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> title_of("data/tone_of-reviews.csv.gz", answers), title_of("labels.csv", answers)
    ('Tone of reviews', '3 workers on 2 tasks')
    """
    file = (name or "").replace("\\", "/").rsplit("/", 1)[-1]
    stem = re.split("[.?#*]", file, maxsplit=1)[0]
    words = stem.replace("_", " ").replace("-", " ").split()
    if not words or all(word.lower() in SAYING_NOTHING or word.isdecimal() for word in words):
        return f"{count(answers.n_workers, 'worker')} on {count(answers.n_tasks, 'task')}"
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])
