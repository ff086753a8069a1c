"""May these answers go on? Each limit against its figure, told to people and to pipelines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from quorate.answers import Answers
from quorate.diagnosis.diagnose import Diagnosis, diagnose_result
from quorate.diagnosis.limits import Limits, flag, limits_of
from quorate.errors import OptionError, count, in_python
from quorate.gold import answers_and_gold
from quorate.meetings.agreements import agreement
from quorate.meetings.coefficients import AC1, ALPHA, KAPPA, PERCENT, WORDS
from quorate.methods.registry import aggregate
from quorate.rating.rate import rate
from quorate.reading.files import Source
from quorate.reading.options import ReadKeywords
from quorate.reading.pipes import keep_pipes
from quorate.reading.scores import read_scores
from quorate.result import Result, sizes
from quorate.skills.evidence import DETERMINED
from quorate.skills.notes import UNSUPPORTED

COEFFICIENTS = {"min_alpha": ALPHA, "min_kappa": KAPPA, "min_ac1": AC1, "min_agreement": PERCENT}
MOST_SENTENCES = 3  # findings of one kind that a line tells
LOOK_CLOSER = "say more plainly what is asked, and see `quorate agreement` for the classes and workers that part"
ASK_MORE = "ask more answers where labels are least sure (`quorate advise --budget N`)"


PASS, FAIL, UNDECIDED = DECISIONS = ("pass", "fail", "undecided")
WORDS_OF_DECISION = {PASS: "holds", FAIL: "FAILS", UNDECIDED: "UNDECIDED"}


@dataclass(frozen=True)
class Checked:
    """One limit, and whether it holds."""

    name: str  # of the limit, as options call it: min-alpha, fail-on spammer
    what: str  # the figure, in words
    figure: float | None  # None where it is not defined
    limit: float
    decision: str  # one of DECISIONS; undecided where there is no figure
    remedy: str  # what to do where it fails, or cannot be decided
    detail: str = ""  # the findings behind the figure
    interval: tuple[float, float] | None = None  # of the figure, where its ends decide

    @property
    def holds(self) -> bool:
        """Whether the limit holds for certain."""
        return self.decision == PASS

    @property
    def sentence(self) -> str:
        """Say figure and limit."""
        figure = "not defined" if self.figure is None else f"{self.figure:.4g}"
        if self.interval is not None:
            figure = f"{figure} ({self.interval[0]:.2f} to {self.interval[1]:.2f})"
        side = "at least" if self.name.startswith("min") else "at most"
        return f"{self.what} is {figure}, and must be {side} {self.limit:g}"

    def line(self) -> str:
        """Say it with its outcome and, where it does not hold, the remedy."""
        told = f"{WORDS_OF_DECISION[self.decision]}  {self.name}: {self.sentence}"
        more = "".join(f". {part[0].upper()}{part[1:]}" for part in (self.detail, self.remedy) if part)
        return told if self.holds else f"{told}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "holds": self.holds,
            "decision": self.decision,
            "what": self.what,
            "figure": self.figure,
            "interval": None if self.interval is None else list(self.interval),
            "limit": self.limit,
            "detail": self.detail,
            "remedy": "" if self.holds else self.remedy,
        }


@dataclass(frozen=True)
class CheckedAnswers:
    """Every limit that was asked for."""

    answers: Answers
    checks: tuple[Checked, ...]

    @property
    def holds(self) -> bool:
        """Whether all hold."""
        return all(each.holds for each in self.checks)

    @property
    def failed(self) -> tuple[Checked, ...]:
        """Those that fail."""
        return self._decided(FAIL)

    @property
    def undecided(self) -> tuple[Checked, ...]:
        """Those that the answers cannot decide."""
        return self._decided(UNDECIDED)

    @property
    def decision(self) -> str:
        """``fail`` if one limit fails; else ``undecided`` if the answers cannot decide one; else ``pass``."""
        return FAIL if self.failed else UNDECIDED if self.undecided else PASS

    def _decided(self, decision: str) -> tuple[Checked, ...]:
        return tuple(each for each in self.checks if each.decision == decision)

    def head(self) -> str:
        """Say in one line how it went."""
        if self.holds:
            return "1 limit holds" if len(self.checks) == 1 else f"all {len(self.checks)} limits hold"
        n_failed, n_undecided = len(self.failed), len(self.undecided)
        parts = []
        if n_failed:
            parts.append(f"{n_failed} of {count(len(self.checks), 'limit')} {'fails' if n_failed == 1 else 'fail'}")
        if n_undecided:
            of_all = "" if n_failed else f" of {count(len(self.checks), 'limit')}"
            parts.append(f"{n_undecided}{of_all} cannot be decided")
        return ", and ".join(parts)

    def lines(self) -> list[str]:
        """Tell every limit."""
        return [self.head(), *(each.line() for each in self.checks)]

    def summary(self) -> str:
        """Tell it in a few lines."""
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate check --json` prints.

        >>> found = check({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, min_agreement=0.5)
        >>> found.to_dict()["decision"], found.to_dict()["checks"][0]["figure"]
        ('pass', 1.0)
        """
        decided = {"decision": self.decision, "holds": self.holds}
        return {**decided, **sizes(self.answers), "checks": [each.to_dict() for each in self.checks]}


@keep_pipes()
def check(
    source: Answers | Source,
    *,
    min_alpha: float | None = None,
    min_kappa: float | None = None,
    min_ac1: float | None = None,
    min_agreement: float | None = None,
    min_answers: float | None = None,
    max_error: float | None = None,
    max_unsure: float | None = None,
    max_undetermined: float | None = None,
    min_reliability: float | None = None,
    max_half_width: float | None = None,
    sure: float | None = None,
    fail_on: Sequence[str] = (),
    config: str | Path | None = None,
    gold: Source = None,
    **reading: Unpack[ReadKeywords],
) -> CheckedAnswers:
    """Compare answers with limits, for a pipeline that goes on only where they hold.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        min_alpha: least Krippendorff's alpha.
        min_kappa: least Fleiss' kappa.
        min_ac1: least Gwet's AC1.
        min_agreement: how often two answers to a task must be alike.
        min_answers: a task, on average.
        max_error: largest share of labels that may be wrong. Holds if the upper end of the 90 % interval of that share
            is at most the limit, fails if the lower end is above it, and is undecided otherwise.
        max_unsure: largest share of labels that are missing, or less than ``sure``.
        max_undetermined: largest share of workers whose skill is not determined.
        min_reliability: least reliability of the scores, where labels are numbers (see `quorate.rate`): the consistency
            of the mean of what a task has.
        max_half_width: largest median half-width of the intervals of such scores.
        sure: how sure a label must be; 0.9 by default.
        fail_on: kinds of findings that there must be none of, as `quorate.diagnose` names them; ``copying`` for
            agreeing pairs and clusters, ``any`` for all.
        config: a TOML file of limits; those given here count before it.
        gold: known labels of some tasks, as in `quorate.aggregate`.
        reading: as `quorate.read` takes it.

    Raises:
        OptionError: a limit makes no sense, or there is none.
        InputError: something cannot be read.

    >>> found = check({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")}, min_alpha=0.6)
    >>> print(found.summary())
    1 of 1 limit fails
    FAILS  min-alpha: Krippendorff's alpha is 0, and must be at least 0.6. Say more plainly what is asked, and see ...
    """
    said = {
        "min_alpha": min_alpha,
        "min_kappa": min_kappa,
        "min_ac1": min_ac1,
        "min_agreement": min_agreement,
        "min_answers": min_answers,
        "max_error": max_error,
        "max_unsure": max_unsure,
        "max_undetermined": max_undetermined,
        "min_reliability": min_reliability,
        "max_half_width": max_half_width,
        "sure": sure,
        "fail_on": tuple(fail_on),
    }
    limits = limits_of(said, config)
    if limits.any_of("min_reliability", "max_half_width"):
        return _check_scores(source, limits, gold, reading)
    answers, known = answers_and_gold(source, gold, reading)
    found = [*_alike(answers, limits)]
    if limits.any_of("max_error", "max_unsure", "max_undetermined") or limits.fail_on:
        result = aggregate(answers, gold=known)
        found += _labels(result, limits)
        if limits.fail_on:
            found += _findings(diagnose_result(result, gold=known), limits)
    return CheckedAnswers(answers, tuple(found))


def _check_scores(source: Any, limits: Limits, gold: Source, reading: Any) -> CheckedAnswers:
    """Compare answers that are scores with limits."""
    for name in ("max_error", "max_unsure", "max_undetermined"):
        if getattr(limits, name) is not None:
            raise OptionError(
                f"{flag(name)} is a limit of labels, and --min-reliability and --max-half-width of scores"
            )
    if limits.fail_on:
        raise OptionError("--fail-on is about findings in labels, and --min-reliability and --max-half-width of scores")
    scores = read_scores(source, **reading)
    found = rate(scores, gold=gold)
    checks = [*_alike(scores.answers, limits)]
    more = "collect more answers per task"
    if limits.min_reliability is not None:
        needed = found.reliability.raters_needed(limits.min_reliability)
        remedy = more if needed is None else f"{more}: about {needed:,} are needed"
        value = found.reliability.consistency(found.reliability.k)
        checks.append(_least("min_reliability", "the reliability of the scores", value, limits, remedy))
    if limits.max_half_width is not None:
        tasks = found.tasks
        rated = tasks.n_answers > 0
        value = float(np.median((tasks.high - tasks.low)[rated])) / 2
        remedy = f"{more} (`quorate advise --scores --budget N --max-half-width {limits.max_half_width:g}`)"
        checks.append(_most("max_half_width", "the median half-width of the intervals", value, limits, remedy))
    return CheckedAnswers(scores.answers, tuple(checks))


def _alike(answers: Answers, limits: Limits) -> Iterator[Checked]:
    """Compare how many answers there are, and how alike."""
    if limits.min_answers is not None:
        mean = answers.n_answers / max(answers.n_tasks, 1)
        yield _least("min_answers", "the mean number of answers a task", mean, limits, "collect more answers")
    if not limits.any_of(*COEFFICIENTS):
        return
    found = agreement(answers, draws=1).overall  # intervals are not asked for
    for name, coefficient in COEFFICIENTS.items():
        if getattr(limits, name) is not None:
            value = found[coefficient].value
            remedy = LOOK_CLOSER if value is not None else "let several workers answer the same tasks"
            yield _least(name, WORDS[coefficient], value, limits, remedy)


def _labels(result: Result, limits: Limits) -> Iterator[Checked]:
    """Compare how sure the labels are, and of how many workers anything is known."""
    sure = result.ballot.sureness()
    remedy = next((note.text for note in result.notes if note.kind == UNSUPPORTED), ASK_MORE)
    if limits.max_error is not None:
        yield _error(result, limits.max_error, remedy)
    if limits.max_unsure is not None:
        unsure = None
        if sure.mean is not None:
            n_unsure = int((result.ballot.confidence < limits.sure).sum()) + sure.n_unlabelled
            unsure = n_unsure / result.answers.n_tasks
        missing = "missing or " if sure.n_unlabelled else ""
        what = f"the share of labels {missing}less than {limits.sure:.0%} sure"
        yield _most("max_unsure", what, unsure, limits, remedy)
    if limits.max_undetermined is not None:
        unknown = float((~np.isin(result.status, DETERMINED)).mean()) if len(result.status) else None
        what = "the share of workers whose skill is not determined"
        remedy = "let them answer tasks that others answer, too (`quorate diagnose` says which)"
        yield _most("max_undetermined", what, unknown, limits, remedy)


def _error(result: Result, limit: float, remedy: str) -> Checked:
    """Compare the interval of the share of wrong labels with the largest share: undecided if the limit is inside."""
    name = "max-error"
    what = "the share of labels expected to be wrong"
    basis = result.confidence_basis
    wrong = None if basis is None or result.ballot.sureness().mean is None else basis.share_wrong
    if basis is None or wrong is None:
        return Checked(name, what, None, limit, UNDECIDED, remedy)
    decision = PASS if wrong.high <= limit else FAIL if wrong.low > limit else UNDECIDED
    if decision == UNDECIDED:
        n = basis.labels_to_decide(limit)
        if n is None:
            remedy = "known labels of nearly all tasks would be needed to decide it: change the limit"
        else:
            remedy = f"about {n:,} known labels would decide it (`quorate advise --expert {n}`, then --gold)"
    return Checked(name, what, wrong.mean, limit, decision, in_python(remedy), interval=(wrong.low, wrong.high))


def _findings(diagnosis: Diagnosis, limits: Limits) -> Iterator[Checked]:
    """Count the findings of each kind that there must be none of."""
    for kind in limits.kinds:
        found = diagnosis.of_kind(kind)
        more = f"; and {len(found) - MOST_SENTENCES:,} more" if len(found) > MOST_SENTENCES else ""
        detail = "; ".join(each.sentence for each in found[:MOST_SENTENCES]) + more
        yield Checked(
            f"fail-on {kind}",
            f"the number of findings of the kind {kind}",
            float(len(found)),
            0.0,
            FAIL if found else PASS,
            "look at who and what is named (`quorate diagnose`, `quorate report`) before these answers are used",
            detail,
        )


def _least(name: str, what: str, figure: float | None, limits: Limits, remedy: str) -> Checked:
    limit = float(getattr(limits, name))
    return Checked(name.replace("_", "-"), what, figure, limit, _decide(figure, lambda each: each >= limit), remedy)


def _most(name: str, what: str, figure: float | None, limits: Limits, remedy: str) -> Checked:
    limit = float(getattr(limits, name))
    return Checked(name.replace("_", "-"), what, figure, limit, _decide(figure, lambda each: each <= limit), remedy)


def _decide(figure: float | None, holds: Callable[[float], bool]) -> str:
    if figure is None:
        return UNDECIDED
    return PASS if holds(figure) else FAIL
