"""check(): compare answers with limits from options or a TOML file, and decide pass, fail or undecided for each."""

import tomllib
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from quorate.addresses import render_address
from quorate.answers import Answers
from quorate.arrays import FloatArray, Shown
from quorate.diagnostics.answer_columns import answer_columns
from quorate.diagnostics.diagnose import Diagnosis, behaviour_of, diagnose_result
from quorate.diagnostics.finding import KIND_WORDS, KINDS
from quorate.diagnostics.judge_bias import Covariate
from quorate.errors import (
    OptionError,
    UnreadableFileError,
    WrongFormatError,
    count,
    did_you_mean,
    for_shell,
    in_python,
    listing,
)
from quorate.interrater.agreement import agreement
from quorate.interrater.coefficients import AC1, ALPHA, KAPPA, PERCENT, WORDS
from quorate.io.arguments import check_arguments
from quorate.io.extra_columns import answer_times
from quorate.io.gold import gold_for
from quorate.io.inputs import record_input
from quorate.io.model_names import models_of
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.io.scores import read_scores
from quorate.methods.aggregate import aggregate
from quorate.notes import UNSUPPORTED, command, expert_command, without_repeated_advice
from quorate.result import Result, percent, sizes
from quorate.skills.identification import DETERMINED

# Families: a name for several kinds of findings, which `fail_on` accepts instead of a kind.
FAMILIES = {
    "unreliable": ("adversary", "one-button", "spammer", "likely-guesser"),
    "guessing": ("one-button", "spammer", "likely-guesser"),
    "copying": ("copying-group", "agreeing-pair", "agreeing-cluster"),
    "any": KINDS,
}
# Kinds whose test needs a further column: the option that names the column, and what the column contains.
NEEDED_COLUMN = {
    "position-bias": ("--pair", "the pair"),
    "self-preference": ("--system", "the system that wrote the output"),
    "covariate-bias": ("--covariate", "what answers should not depend on"),
    "answers-very-fast": ("--duration", "the seconds of each answer"),
    "drift": ("--time", "the time of each answer"),
}
LOWEST_LIMIT = {"min_alpha": -1.0, "min_kappa": -1.0, "min_ac1": -1.0}  # 0 for the others, which are shares or counts


@dataclass(frozen=True)
class Limits:
    """Limits of a batch of answers; None for no limit.

    >>> Limits(min_alpha=0.6, fail_on=("copying",)).kinds
    ('copying-group', 'agreeing-cluster', 'agreeing-pair')
    """

    min_alpha: float | None = None  # Krippendorff's alpha
    min_kappa: float | None = None  # Fleiss' kappa
    min_ac1: float | None = None  # Gwet's AC1
    min_agreement: float | None = None  # percent agreement
    min_answers: float | None = None  # per task, on average
    max_error: float | None = None  # share of labels that are probably wrong
    max_unsure: float | None = None  # share of labels with a confidence below `confident`
    max_undetermined: float | None = None  # workers whose skill is not determined
    min_reliability: float | None = None  # of the scores, where labels are numbers: consistency of the mean
    max_half_width: float | None = None  # of the intervals of scores, median
    confident: float = 0.9  # the confidence from which a label counts as reliable
    fail_on: tuple[str, ...] = ()  # kinds of findings, or families of them

    def __post_init__(self) -> None:
        for name in NUMERIC_LIMITS:
            value = getattr(self, name)
            if value is None:
                continue
            most = float("inf") if name in ("min_answers", "max_half_width") else 1.0
            least = LOWEST_LIMIT.get(name, 0.0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                between = f"between {least:g} and {most:g}" if most < 2 else f"of {least:g} or more"
                raise OptionError(f"{name}= ({flag(name)}) must be a number {between}, got {value!r}")
        for kind in self.fail_on:
            if kind not in (*KINDS, *FAMILIES):
                raise OptionError(
                    f"fail_on= (--fail-on) has an unknown kind {kind!r}. The kinds are {', '.join((*KINDS, *FAMILIES))}"
                )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of findings that make the check fail, in the order of KINDS."""
        named = {kind for kind_or_family in self.fail_on for kind in FAMILIES.get(kind_or_family, (kind_or_family,))}
        return tuple(kind for kind in KINDS if kind in named)

    @property
    def required_kinds(self) -> frozenset[str]:
        """The kinds that ``fail_on`` names other than by ``any``: if such a kind is not tested, it is undecided."""
        families = (
            FAMILIES.get(kind_or_family, (kind_or_family,))
            for kind_or_family in self.fail_on
            if kind_or_family != "any"
        )
        return frozenset(kind for family in families for kind in family)

    def any_of(self, *names: str) -> bool:
        """Whether at least one of these limits is set."""
        return any(getattr(self, name) is not None for name in names)

    @property
    def is_empty(self) -> bool:
        """Whether no limit is set."""
        return not self.fail_on and not self.any_of(*(name for name in NUMERIC_LIMITS if name != "confident"))


NUMERIC_LIMITS = tuple(field.name for field in fields(Limits) if field.name != "fail_on")


def flag(name: str) -> str:
    """Return the command-line option of a limit.

    >>> flag("min_alpha")
    '--min-alpha'
    """
    return f"--{name.replace('_', '-')}"


def limits_of(options: Mapping[str, Any], file: str | Path | None = None) -> Limits:
    """Combine the limits of a file and of options; options override the file.

    Args:
        options: limits by name; None where not given.
        file: a TOML file, its limits at the top or below ``[check]``.

    Raises:
        OptionError: a limit is unknown or out of range, or no limit is given.
        InputError: the file cannot be read.

    >>> limits_of({"min_alpha": 0.6, "max_error": None}).min_alpha
    0.6
    """
    limits = Limits() if file is None else _named(_read(file), render_address(file))
    limits = replace(limits, **{name: value for name, value in options.items() if value is not None and value != ()})
    if limits.is_empty:
        example = command(
            "check", "--max-error 0.1 --fail-on unreliable,copying", "quorate.check(answers, max_error=0.1)"
        )
        raise OptionError(f"No limits are given. Example: {example}")
    return limits


def _read(file: str | Path) -> dict[str, Any]:
    record_input(file)
    name = render_address(file)
    try:
        content = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFileError(f"the file {name} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongFormatError(f"{name} is not a valid TOML file: {error}") from None
    table = content.get("check", content)
    if not isinstance(table, dict):
        raise WrongFormatError(f"{name}: [check] must be a table of limits, such as min-alpha = 0.6")
    return table


def _named(table: dict[str, Any], file: str) -> Limits:
    options: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name == "sure":  # the name in version 0.2
            message = f"the limit sure in {file} is now confident"
            warnings.warn(message, DeprecationWarning, stacklevel=6)  # at the line that calls `quorate.check`
            name = "confident"
        if name not in (*NUMERIC_LIMITS, "fail_on"):
            names = [limit.replace("_", "-") for limit in (*NUMERIC_LIMITS, "fail_on")]
            suggestion = did_you_mean(key.replace("_", "-"), names)
            meant = f"{suggestion} " if suggestion else ""
            raise OptionError(f"{file} has {key!r}, which is not a limit. {meant}The limits are {listing(names, 20)}")
        options[name] = kinds_of(value) if name == "fail_on" else value
    return Limits(**options)


def kinds_of(value: Any) -> tuple[str, ...]:
    """Read kinds of findings from a list, or from text with commas.

    >>> kinds_of("spammer, copying")
    ('spammer', 'copying')
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise OptionError(f"fail_on= (--fail-on) must be a list of kinds such as unreliable,copying; got {value!r}")
    return tuple(part.strip() for part in parts if part.strip())


COEFFICIENTS = {"min_alpha": ALPHA, "min_kappa": KAPPA, "min_ac1": AC1, "min_agreement": PERCENT}
MAX_SENTENCES = 3  # findings of one kind that a line lists


PASS = "pass"
FAIL = "fail"
UNDECIDED = "undecided"
WORDS_OF_DECISION = {PASS: "PASS", FAIL: "FAIL", UNDECIDED: "UNDECIDED"}


@dataclass(frozen=True)
class Checked:
    """One limit, and whether it holds."""

    name: str  # of the limit, as options call it: min-alpha, fail-on spammer
    what: str  # the figure, in words
    figure: float | None  # None where it is not defined
    limit: float
    decision: str  # PASS, FAIL or UNDECIDED
    remedy: str  # what to do if it fails or cannot be decided
    detail: str = ""  # the findings behind the figure
    interval: tuple[float, float] | None = None  # of the figure, if the interval decides
    n_known: int = 0  # known labels on which the share of wrong labels was counted; 0 where it is an estimate

    @property
    def holds(self) -> bool:
        """Whether the limit holds for certain."""
        return self.decision == PASS

    @property
    def sentence(self) -> str:
        """A sentence with the figure and the limit."""
        if self.name.startswith("fail-on "):
            phrase = KIND_WORDS[self.name.removeprefix("fail-on ")].phrase
            if self.figure is None:
                return f"not tested: {phrase}"
            n_more = "" if self.figure <= 1 else f" ({int(self.figure):,})"
            return f"found {phrase}{n_more}" if self.figure else f"found no {_singular(phrase)}"
        if self.is_share:
            side = "limit"
            about = "about " if self.name == "max-error" else ""  # the other shares are counted
            figure = "unknown" if self.figure is None else f"{about}{percent(self.figure)}"
            limit = percent(self.limit)
        else:
            side = "at least" if self.name.startswith("min") else "at most"
            limit = f"{self.limit:g}"
            figure = "not defined" if self.figure is None else _figure_text(self.figure, self.limit)
        if self.interval is not None:
            figure = f"{figure} (90% interval {percent(self.interval[0])} to {percent(self.interval[1])})"
        if self.n_known and self.figure is not None:
            share = percent(self.figure)
            known = count(self.n_known, "known label")
            return f"by the answers alone, {share} of the labels are wrong ({known}; {side} {limit})"
        if self.name == "max-error" and self.figure is not None:
            return f"{figure} of the labels are probably wrong ({side} {limit})"
        return f"{self.what} is {figure} ({side} {limit})"

    def line(self) -> str:
        """Return the decision and the sentence; if the limit does not hold, also the details and the remedy."""
        name = "" if self.name.startswith("fail-on ") else f"{self.name}: "
        line = f"{WORDS_OF_DECISION[self.decision]}  {name}{self.sentence}."
        more = "".join(f" {part}" for part in (self.detail, self.remedy) if part)
        return line if self.holds else f"{line}{more}"

    @property
    def is_share(self) -> bool:
        """Whether figure and limit are shares, written in percent."""
        return self.name in ("max-error", "max-unsure", "max-undetermined")

    def to_dict(self) -> dict[str, Any]:
        """Return the object for this limit that `quorate check --json` prints."""
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


@dataclass(frozen=True, repr=False)
class CheckReport(Shown):
    """The limits that were given, each with its decision."""

    answers: Answers
    checks: tuple[Checked, ...]
    diagnosis: Diagnosis | None = None  # where --fail-on asked for findings
    warnings: tuple[str, ...] = ()  # of the labels that were tested
    not_tested: tuple[str, ...] = ()  # kinds of findings that ``any`` includes, but that need a column

    @property
    def holds(self) -> bool:
        """Whether all limits hold."""
        return all(limit.holds for limit in self.checks)

    @property
    def failed(self) -> tuple[Checked, ...]:
        """The limits that fail."""
        return self._decided(FAIL)

    @property
    def undecided(self) -> tuple[Checked, ...]:
        """The limits that the answers cannot decide."""
        return self._decided(UNDECIDED)

    @property
    def decision(self) -> str:
        """``fail`` if one limit fails; else ``undecided`` if the answers cannot decide one; else ``pass``."""
        if self.failed:
            return FAIL
        return UNDECIDED if self.undecided else PASS

    def _decided(self, decision: str) -> tuple[Checked, ...]:
        return tuple(limit for limit in self.checks if limit.decision == decision)

    def head(self) -> str:
        """Count the limits that hold, fail or cannot be decided; all kinds of ``fail_on`` are one limit."""
        decisions: dict[str, str] = {}
        for check in self.checks:
            limit = check.name.split()[0]
            decisions[limit] = max(decisions.get(limit, PASS), check.decision, key=(PASS, UNDECIDED, FAIL).index)
        n = len(decisions)
        if self.holds:
            return "The limit holds" if n == 1 else f"All {n} limits hold"
        n_failed = sum(decision == FAIL for decision in decisions.values())
        n_undecided = sum(decision == UNDECIDED for decision in decisions.values())
        if n == 1:
            return "The limit fails" if n_failed else "The limit cannot be decided"
        parts = []
        if n_failed:
            parts.append(f"{n_failed} of {n} limits {'fails' if n_failed == 1 else 'fail'}")
        if n_undecided:
            of_all = "" if n_failed else f" of {n} limits"
            parts.append(f"{n_undecided}{of_all} cannot be decided")
        return ", and ".join(parts)

    def lines(self) -> list[str]:
        """Return the warnings, and one line per limit."""
        sample = [] if self.diagnosis is None else self.diagnosis.sample_lines()
        left_out = []
        if self.not_tested:
            kinds = ", ".join(
                f"{KIND_WORDS[kind].phrase} ({NEEDED_COLUMN[kind][0]} COLUMN)" for kind in self.not_tested
            )
            left_out = [f"Not tested, because no column is named: {kinds}."]
        limits = (limit.line() for limit in self.checks)
        return without_repeated_advice([*self.warnings, f"{self.head()}.", *limits, *sample, *left_out])

    def __repr__(self) -> str:
        return f"<CheckReport: {self.head()}>"

    def summary(self) -> str:
        """Return `lines` as one text."""
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate check --json` prints.

        >>> found = check({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x"]}, min_agreement=0.5)
        >>> found.to_dict()["decision"], found.to_dict()["checks"][0]["figure"]
        ('pass', 1.0)
        """
        decided = {"decision": self.decision, "holds": self.holds}
        sample = {} if self.diagnosis is None else self.diagnosis.sample_fields()
        checks = [limit.to_dict() for limit in self.checks]
        notes = {"warnings": list(self.warnings), "not_tested": list(self.not_tested)}
        return {**decided, **sizes(self.answers), **notes, "checks": checks, **sample}


@check_arguments
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
    confident: float | None = None,
    fail_on: Sequence[str] = (),
    config: str | Path | None = None,
    gold: Source = None,
    time: str | None = None,
    durations: str | FloatArray | None = None,
    covariates: str | Sequence[str | Covariate] = (),
    systems: str | Sequence[Any] | None = None,
    pairs: str | Sequence[Any] | None = None,
    **reading: Unpack[ReadKeywords],
) -> CheckReport:
    """Compare answers with limits, for a pipeline that stops if one fails.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        min_alpha: least Krippendorff's alpha.
        min_kappa: least Fleiss' kappa.
        min_ac1: least Gwet's AC1.
        min_agreement: least share of pairs of answers to the same task that are equal.
        min_answers: least mean number of answers per task.
        max_error: largest share of labels that may be wrong. Holds if the upper end of the 90 % interval of that share
            is at most the limit, fails if the lower end is above it, and is undecided otherwise.
        max_unsure: largest share of labels that are missing, or have a confidence below ``confident``.
        max_undetermined: largest share of workers whose skill is not determined.
        min_reliability: least reliability of the scores, if labels are numbers (see `quorate.rate`): the consistency of
            the mean of a task's answers.
        max_half_width: largest median half-width of the intervals of such scores.
        confident: the confidence from which a label counts as reliable; 0.9 by default.
        fail_on: kinds of findings of `quorate.diagnose` that fail, or families of kinds: ``unreliable``, ``guessing``,
            ``copying``, ``any``.
        config: a TOML file of limits; the arguments override it.
        gold: known labels of some tasks, as in `quorate.aggregate`.
        time: the column with the time of each answer, which the kind ``drift`` needs.
        durations: as in `quorate.diagnose`; the kind ``answers-very-fast`` needs them.
        covariates: as in `quorate.diagnose`, for the kind ``covariate-bias``.
        systems: as in `quorate.diagnose`, for the kind ``self-preference``.
        pairs: as in `quorate.diagnose`, for the kind ``position-bias``.
        reading: options of `quorate.read`.

    Raises:
        OptionError: a limit is out of range, or no limit is given.
        InputError: the answers or a file cannot be read.

    >>> found = check({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")}, min_alpha=0.6)
    >>> print(found.summary())
    The limit fails.
    FAIL  min-alpha: Krippendorff's alpha is 0.00 (at least 0.6). Clarify the instructions or the prompt. To see ...
    """
    options = {
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
        "confident": confident,
        "fail_on": kinds_of(fail_on) if isinstance(fail_on, str) else tuple(fail_on),
    }
    for name in reading:
        if name not in ReadKeywords.__annotations__:
            suggestion = did_you_mean(name, options, are_arguments=True)
            raise OptionError(f"check has no argument {name}=. {suggestion or 'Its limits are ' + ', '.join(options)}")
    limits = limits_of(options, config)
    if limits.any_of("min_reliability", "max_half_width"):
        return _check_scores(source, limits, gold, reading)
    content = as_reading(source, reading)
    answers = content.answers
    known = gold_for(content, gold)
    checks = [*_agreement_checks(answers, limits)]
    is_about_labels = limits.any_of("max_error", "max_unsure", "max_undetermined") or bool(limits.fail_on)
    if not is_about_labels and models_of(answers, answers.judges) is None:
        return CheckReport(answers, tuple(checks))
    result = aggregate(answers, gold=known)
    checks += _label_checks(result, limits)
    diagnosis = None
    left_out: tuple[str, ...] = ()
    if limits.fail_on:
        times = None if time is None else answer_times(content, time)
        diagnosis = diagnose_result(result, gold=known, times=times)
        columns = answer_columns(content, durations=durations, covariates=covariates, systems=systems, pairs=pairs)
        diagnosis = diagnosis.with_behaviour(behaviour_of(result, times, columns))
        # If labels name the sides of a comparison, a preferred side can be found without a column, too.
        tested = {"drift"} if times is not None else set()
        tested |= diagnosis.kinds_tested | {finding.kind for finding in diagnosis.findings}
        untested = [kind for kind in NEEDED_COLUMN if kind in limits.kinds and kind not in tested]
        checks += _finding_checks(diagnosis, limits, untested)
        left_out = tuple(kind for kind in untested if kind not in limits.required_kinds)
    return CheckReport(answers, tuple(checks), diagnosis, tuple(result.judge_warnings()), left_out)


def _check_scores(source: Any, limits: Limits, gold: Source, reading: Any) -> CheckReport:
    """Compare answers that are scores with limits."""
    for name in ("max_error", "max_unsure", "max_undetermined"):
        if getattr(limits, name) is not None:
            raise OptionError(
                f"{flag(name)} is a limit for labels, but --min-reliability and --max-half-width are for scores. "
                "Give limits of one kind"
            )
    if limits.fail_on:
        raise OptionError(
            "--fail-on is for labels, but --min-reliability and --max-half-width are for scores. "
            "Give limits of one kind"
        )
    scores = read_scores(source, **reading)
    import quorate  # by its public name: ratings are a later layer

    rating = quorate.rate(scores, gold=gold)
    checks = [*_agreement_checks(scores.answers, limits)]
    more = "Collect more answers per task"
    if limits.min_reliability is not None:
        needed = rating.reliability.raters_needed(limits.min_reliability)
        remedy = more if needed is None else f"{more}: about {needed:,} are needed"
        value = rating.reliability.consistency(rating.reliability.k)
        checks.append(_at_least("min_reliability", "the reliability of the scores", value, limits, remedy))
    if limits.max_half_width is not None:
        tasks = rating.tasks
        rated = tasks.n_answers > 0
        value = float(np.median((tasks.high - tasks.low)[rated])) / 2
        advice = command(
            "advise", f"--scores --budget 100 --max-half-width {limits.max_half_width:g}", "quorate.advise_scores"
        )
        remedy = f"{more}: {advice}"
        checks.append(_at_most("max_half_width", "the median half-width of the intervals", value, limits, remedy))
    return CheckReport(scores.answers, tuple(checks))


def _agreement_checks(answers: Answers, limits: Limits) -> Iterator[Checked]:
    """Compare the number of answers, and agreement, with their limits."""
    if limits.min_answers is not None:
        mean = answers.n_answers / max(answers.n_tasks, 1)
        yield _at_least("min_answers", "the mean number of answers per task", mean, limits, "Collect more answers.")
    if not limits.any_of(*COEFFICIENTS):
        return
    coefficients = agreement(answers, draws=1).overall  # one draw: the intervals are not used
    for name, coefficient in COEFFICIENTS.items():
        if getattr(limits, name) is not None:
            value = coefficients[coefficient].value
            remedy = "Let several workers answer the same tasks."
            if value is not None:
                look = command("agreement", "", "quorate.agreement(answers)")
                remedy = f"Clarify the instructions or the prompt. To see who disagrees: {look}"
            yield _at_least(name, WORDS[coefficient], value, limits, remedy)


def _label_checks(result: Result, limits: Limits) -> Iterator[Checked]:
    """Compare the confidence of the labels, and the workers without a rating, with their limits."""
    stats = result.vote.confidence_stats()
    unsupported = [in_python(note.text) for note in result.notes if note.kind == UNSUPPORTED]
    remedy = f"What to do next: {command('advise', '', 'quorate.next_steps(answers)')}"
    if unsupported:
        remedy = unsupported[0]
    if limits.max_error is not None:
        yield _error_check(result, limits.max_error, remedy)
    if limits.max_unsure is not None:
        unsure = None
        if stats.mean is not None:
            n_unsure = int((result.vote.confidence < limits.confident).sum()) + stats.n_unlabelled
            unsure = n_unsure / result.answers.n_tasks
        missing = "missing or " if stats.n_unlabelled else ""
        what = f"the share of labels {missing}below {limits.confident:.0%} confidence"
        yield _at_most("max_unsure", what, unsure, limits, remedy)
    if limits.max_undetermined is not None:
        unknown = float((~np.isin(result.status, DETERMINED)).mean()) if len(result.status) else None
        what = "the share of workers who cannot be rated"
        which = command("diagnose", "", "quorate.diagnose(answers)")
        remedy = f"Let them answer tasks that others answer, too. To see which ones: {which}"
        yield _at_most("max_undetermined", what, unknown, limits, remedy)


def _error_check(result: Result, limit: float, remedy: str) -> Checked:
    """Compare the interval of the share of wrong labels with the limit: undecided if the limit is inside."""
    name = "max-error"
    what = "the share of labels expected to be wrong"
    basis = result.confidence_basis
    if basis is not None and basis.wrong_alone is not None:  # every label is known: nothing is left to estimate
        decision = PASS if basis.wrong_alone <= limit else FAIL
        return Checked(name, what, basis.wrong_alone, limit, decision, remedy, n_known=basis.n_gold)
    wrong = result.share_wrong()
    if basis is None or wrong is None:
        return Checked(name, what, None, limit, UNDECIDED, remedy)
    if basis.is_chance:  # no interval can rest on answers that agree no more than chance
        return Checked(name, what, None, limit, UNDECIDED, remedy)
    if wrong.high <= limit:
        decision = PASS
    elif wrong.low > limit:
        decision = FAIL
    else:
        decision = UNDECIDED
        n = basis.labels_to_decide(limit)
        more = "known labels" if basis.n_gold == 0 else "more known labels"
        if n is not None:
            remedy = (
                f"About {n:,} {more} would decide this limit, if about {percent(wrong.mean)} of the labels are indeed "
                f"wrong: {expert_command(n)}"
            )
        else:
            to_pass = basis.labels_to_pass(limit)
            remedy = (
                "The limit is so close to the share that even known labels for half of the tasks would not decide it."
            )
            if to_pass is not None:
                remedy += f" About {to_pass:,} {more} would correct enough labels to meet it: {expert_command(to_pass)}"
            elif basis.n_gold == 0 and basis.n_advised:
                n_first = basis.n_advised
                remedy += f" {n_first} known labels would check the estimate: {expert_command(n_first)}"
    return Checked(name, what, wrong.mean, limit, decision, remedy, interval=(wrong.low, wrong.high))


def _finding_checks(diagnosis: Diagnosis, limits: Limits, untested: Collection[str]) -> Iterator[Checked]:
    """Yield a check for each kind of ``fail_on``: it fails if there are findings of that kind.

    A kind that was not tested is undecided if ``fail_on`` names it, and left out if it is only part of ``any``.
    """
    for kind in limits.kinds:
        what = f"the number of findings of the kind {kind}"
        if kind in untested:
            if kind in limits.required_kinds:
                yield Checked(f"fail-on {kind}", what, None, 0.0, UNDECIDED, _needed_column(kind))
            continue
        findings = diagnosis.of_kind(kind)
        more = f" And {len(findings) - MAX_SENTENCES:,} more." if len(findings) > MAX_SENTENCES else ""
        detail = " ".join(finding.line for finding in findings[:MAX_SENTENCES]) + more
        yield Checked(
            f"fail-on {kind}",
            what,
            float(len(findings)),
            0.0,
            FAIL if findings else PASS,
            f"Details: {command('diagnose', '', 'quorate.diagnose(answers)')}",
            detail,
        )


def _needed_column(kind: str) -> str:
    """Explain how to name the column that the test of a kind needs."""
    option, content = NEEDED_COLUMN[kind]
    argument = "time" if kind == "drift" else f"{option[2:]}s"
    return f"Name the column with {content}: {for_shell(f'{argument}= ({option} COLUMN)')}."


def _singular(phrase: str) -> str:
    """Return a phrase in the form that follows "no".

    >>> _singular("two groups that share tasks"), _singular("a bias that workers share")
    ('groups that share tasks', 'bias that workers share')
    """
    return phrase.removeprefix("two ").removeprefix("a ")


def _figure_text(figure: float, limit: float) -> str:
    """Return a figure as text with two decimals (one if it is 1 or more), or with more until it differs from its limit.

    >>> _figure_text(0.1255, 0.6), _figure_text(0.5996, 0.6), _figure_text(5.84, 3), _figure_text(39.0, 3)
    ('0.13', '0.5996', '5.8', '39')
    """
    fewest = 2 if abs(figure) < 1 else 1
    for decimals in range(fewest, 6):
        text = f"{figure:.{decimals}f}"
        if figure == limit or float(text) != limit:
            break
    return text.removesuffix(".0")


def _at_least(name: str, what: str, figure: float | None, limits: Limits, remedy: str) -> Checked:
    limit = float(getattr(limits, name))
    return Checked(name.replace("_", "-"), what, figure, limit, _decide(figure, lambda value: value >= limit), remedy)


def _at_most(name: str, what: str, figure: float | None, limits: Limits, remedy: str) -> Checked:
    limit = float(getattr(limits, name))
    return Checked(name.replace("_", "-"), what, figure, limit, _decide(figure, lambda value: value <= limit), remedy)


def _decide(figure: float | None, holds: Callable[[float], bool]) -> str:
    if figure is None:
        return UNDECIDED
    return PASS if holds(figure) else FAIL
