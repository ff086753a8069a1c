"""`quorate check`: tests a batch of answers against limits, for pipelines.

The outcomes are also written as JUnit XML, which every CI service reads, and as Markdown for a GitHub summary.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import typer

from quorate.cli.command import ADVANCED, INPUT, LIMITS, OUTPUT, option
from quorate.cli.exit_codes import LIMIT_FAILS, UNDECIDED
from quorate.cli.options import AnswersCommand, CovariateColumns, Duration, Gold, Json, Pair, Quiet, System, open_sample

COEFFICIENTS = ("alpha", "kappa", "ac1")  # coefficients that --min-agreement takes by name


class CheckCommand(AnswersCommand):
    """The command whose help lists the options that most people need."""

    rare_options = AnswersCommand.rare_options | {"covariate", "duration", "system", "pair"}


def check(
    ctx: typer.Context,
    *,
    max_error: float | None = option(
        "--max-error X", LIMITS, "At most this share of wrong labels; undecided if its 90% interval includes X."
    ),
    max_unsure: float | None = option("--max-unsure X", LIMITS, "At most this share of labels below --confident."),
    confident: float | None = option(
        "--confident X", LIMITS, "The confidence from which a label counts as reliable (default 0.9)."
    ),
    min_agreement: list[str] | None = option(
        "--min-agreement X",
        LIMITS,
        "At least this agreement: alpha=0.6 (Krippendorff), kappa=0.6 (Fleiss), ac1=0.6 (Gwet), or a number "
        "for the share of equal answers. Repeatable.",
    ),
    min_answers: float | None = option("--min-answers N", LIMITS, "At least this many answers per task, on average."),
    fail_on: str | None = option(
        "--fail-on KINDS", LIMITS, "Fail if any of these problems is found, e.g. unreliable,copying (or any)."
    ),
    max_undetermined: float | None = option(
        "--max-undetermined X", ADVANCED, "At most this share of workers who cannot be rated."
    ),
    min_reliability: float | None = option(
        "--min-reliability X", ADVANCED, "For scores: at least this reliability (see quorate rate)."
    ),
    max_half_width: float | None = option(
        "--max-half-width X", ADVANCED, "For scores: at most this median half-width of the intervals."
    ),
    config: str | None = option(
        "--config FILE", LIMITS, "Read limits from this TOML file. Limits on the command line override them."
    ),
    gold: Gold = None,
    time: str | None = option(
        "--time COLUMN", INPUT, "The column with the time of each answer: needed for --fail-on drift."
    ),
    duration: Duration = None,
    covariate: CovariateColumns = None,
    system: System = None,
    pair: Pair = None,
    junit: str | None = option("--junit FILE", OUTPUT, "Write JUnit XML to this file."),
    summary: str | None = option(
        "--summary FILE", OUTPUT, "Append a Markdown summary to this file (e.g. $GITHUB_STEP_SUMMARY)."
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test a batch against limits, for CI. Exit code 0: pass; 1: fail; 3: undecided.

    Examples:
      quorate check answers.csv --max-error 0.1 --fail-on unreliable,copying
      quorate check verdicts.jsonl --gold checked.csv --max-error 0.1 --junit check.xml
    """
    from quorate.cli.terminal import print_json, print_lines, showing_deprecations, showing_progress
    from quorate.diagnostics.check import FAIL, PASS, check, kinds_of
    from quorate.errors import OptionError
    from quorate.io.atomic import atomic_batch
    from quorate.io.write_table import append_text, write_text

    agreement_limits = _agreement_limits(min_agreement or [])
    limits = (max_error, max_unsure, min_answers, fail_on, max_undetermined, min_reliability, max_half_width, config)
    if not agreement_limits and all(limit is None for limit in limits):
        raise OptionError(
            "No limits are given. Example: quorate check answers.csv --max-error 0.1 --fail-on unreliable,copying"
        )
    with open_sample(ctx) as reading:
        with showing_progress(), showing_deprecations():
            report = check(
                reading,
                min_alpha=agreement_limits.get("min_alpha"),
                min_kappa=agreement_limits.get("min_kappa"),
                min_ac1=agreement_limits.get("min_ac1"),
                min_agreement=agreement_limits.get("min_agreement"),
                min_answers=min_answers,
                max_error=max_error,
                max_unsure=max_unsure,
                max_undetermined=max_undetermined,
                min_reliability=min_reliability,
                max_half_width=max_half_width,
                confident=confident,
                fail_on=() if fail_on is None else kinds_of(fail_on),
                config=config,
                gold=gold,
                time=time,
                durations=duration,
                covariates=covariate or [],
                systems=system,
                pairs=pair,
            )
        suite = reading.name or "answers"
    outcomes = [
        Outcome(
            limit.name,
            ". ".join(part for part in (limit.sentence, limit.detail) if part),
            {PASS: True, FAIL: False}.get(limit.decision),
            "" if limit.holds else limit.remedy,
        )
        for limit in report.checks
    ]
    with atomic_batch():  # all files are written, or none
        if junit is not None:
            write_text(as_junit(outcomes, suite) + "\n", junit)
        if summary is not None:
            append_text(as_markdown(outcomes, report.head(), report.warnings) + "\n", summary)
    if json:
        print_json(report.to_dict())
    elif not quiet or report.decision != PASS:
        print_lines(report.lines())
    if report.decision != PASS:
        raise typer.Exit(LIMIT_FAILS if report.decision == FAIL else UNDECIDED)


def _agreement_limits(limits: Sequence[str]) -> dict[str, float]:
    """Return the limits of alpha=0.6, kappa=0.6, ac1=0.6, or of a number for the share of equal answers.

    Raises:
        OptionError: a limit is none of these.

    >>> _agreement_limits(["alpha=0.6", "0.7"])
    {'min_alpha': 0.6, 'min_agreement': 0.7}
    """
    from quorate.errors import OptionError

    numbers: dict[str, float] = {}
    for limit in limits:
        name, equals, value = limit.rpartition("=")
        key = f"min_{name.strip().lower()}" if equals else "min_agreement"
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if number != number or key not in ("min_agreement", *(f"min_{name}" for name in COEFFICIENTS)):
            raise OptionError(
                f"--min-agreement takes alpha=0.6, kappa=0.6, ac1=0.6, or a number such as 0.8; got {limit!r}"
            )
        numbers[key] = number
    return numbers


# Characters that XML 1.0 does not allow.
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Outcome:
    """One check: its name, a sentence on the figure, and whether it passed."""

    name: str
    observed: str
    passed: bool | None  # None if undecided
    remedy: str = ""


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Return outcomes as JUnit XML; an undecided check is an error, so that no service counts it as passed.

    Args:
        outcomes: one test case each.
        suite: the name of the answers that were checked.

    >>> print(as_junit([Outcome("min-alpha", "alpha is 0.2", False, "ask again")], "answers.csv"))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites tests="1" failures="1" errors="0">
      <testsuite name="quorate check answers.csv" tests="1" failures="1" errors="0">
        <testcase classname="quorate.check" name="min-alpha">
          <failure message="alpha is 0.2. ask again"></failure>
        </testcase>
      </testsuite>
    </testsuites>
    """
    failures = sum(outcome.passed is False for outcome in outcomes)
    errors = sum(outcome.passed is None for outcome in outcomes)
    counts = f'tests="{len(outcomes)}" failures="{failures}" errors="{errors}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f"  <testsuite name={_attribute(f'quorate check {suite}')} {counts}>")
    for outcome in outcomes:
        case = f'    <testcase classname="quorate.check" name={_attribute(outcome.name)}'
        if outcome.passed:
            lines.append(f"{case}/>")
            continue
        message = ". ".join(part for part in (outcome.observed, outcome.remedy) if part)
        kind = "error" if outcome.passed is None else "failure"
        lines += [f"{case}>", f"      <{kind} message={_attribute(message)}></{kind}>", "    </testcase>"]
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"])


def as_markdown(outcomes: Sequence[Outcome], head: str, warnings: Sequence[str] = ()) -> str:
    """Return outcomes as a Markdown table, for GitHub's summary of a job or a comment.

    Args:
        outcomes: one row each.
        head: the result in one sentence.
        warnings: sentences that are printed before the table.

    >>> print(as_markdown([Outcome("min-alpha", "alpha is 0.2", False, "ask again")], "1 of 1 limit fails"))
    ### Quorate: 1 of 1 limit fails
    <BLANKLINE>
    | | limit | what was seen | what to do |
    |---|---|---|---|
    | ❌ | min-alpha | alpha is 0.2 | ask again |
    """
    signs = {True: "✅", False: "❌", None: "❔"}
    rows = [
        f"| {signs[outcome.passed]} | {_cell(outcome.name)} | {_cell(outcome.observed)} | {_cell(remedy)} |"
        for outcome, remedy in zip(outcomes, _remedies(outcomes, warnings), strict=True)
    ]
    head_row = ["| | limit | what was seen | what to do |", "|---|---|---|---|"]
    before = [line for warning in warnings for line in (_cell(warning), "")]
    return "\n".join([f"### Quorate: {_cell(head)}", "", *before, *head_row, *rows])


def _remedies(outcomes: Sequence[Outcome], warnings: Sequence[str]) -> list[str]:
    """Return the remedies without sentences that propose the same command as one of the warnings."""
    from quorate.notes import without_repeated_advice

    n_warnings = len(warnings)
    return [
        " ".join(without_repeated_advice([*warnings, outcome.remedy])[n_warnings:]) if outcome.remedy else ""
        for outcome in outcomes
    ]


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # imported here: it imports urllib, which takes 30 ms

    return quoteattr(UNWRITABLE.sub("\ufffd", text))


def _cell(text: str) -> str:
    """Return a text escaped for Markdown, so that ids and labels are not read as markup, mentions or links."""
    escaped = re.sub(r"([\\|*_<>\[\]#~`&])", r"\\\1", " ".join(text.split()))
    # A zero-width space prevents that an id notifies a GitHub user or becomes a link.
    return re.sub(r"(?i)(@|:(?=//)|www(?=\.))", "\\1\u200b", escaped)
