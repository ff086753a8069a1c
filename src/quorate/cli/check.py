"""`quorate check`: a gate for pipelines.

Outcomes of checks for pipelines: JUnit XML, which every CI service reads, and Markdown for a GitHub summary.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from xml.sax.saxutils import quoteattr

import typer

from quorate.cli.exit_codes import LIMIT_FAILS, UNDECIDED
from quorate.cli.options import Gold, Json, reads_answers

if TYPE_CHECKING:
    from quorate.io.read import Reading


@reads_answers
def check(
    reading: "Reading",
    *,
    min_alpha: Annotated[float | None, typer.Option(metavar="X", help="Least Krippendorff's alpha.")] = None,
    min_kappa: Annotated[float | None, typer.Option(metavar="X", help="Least Fleiss' kappa.")] = None,
    min_ac1: Annotated[float | None, typer.Option(metavar="X", help="Least Gwet's AC1.")] = None,
    min_agreement: Annotated[
        float | None, typer.Option(metavar="X", help="How often two answers to a task must be alike, at the least.")
    ] = None,
    min_answers: Annotated[
        float | None, typer.Option(metavar="N", help="Answers a task, on average, at the least.")
    ] = None,
    max_error: Annotated[
        float | None,
        typer.Option(metavar="X", help="Largest share of wrong labels; undecided if its 90 % interval includes X."),
    ] = None,
    max_unsure: Annotated[
        float | None, typer.Option(metavar="X", help="Largest share of labels less than --sure.")
    ] = None,
    max_undetermined: Annotated[
        float | None, typer.Option(metavar="X", help="Largest share of workers whose skill is not determined.")
    ] = None,
    min_reliability: Annotated[
        float | None, typer.Option(metavar="X", help="Labels are scores: their least reliability (see `quorate rate`).")
    ] = None,
    max_half_width: Annotated[
        float | None, typer.Option(metavar="X", help="Labels are scores: largest median half-width of the intervals.")
    ] = None,
    sure: Annotated[float | None, typer.Option(help="How sure a label must be.", show_default="0.9")] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="Findings that there must be none of, separated by commas: spammer, copying, ... or any.",
        ),
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Limits in a TOML file; options count first.")
    ] = None,
    gold: Gold = None,
    junit: Annotated[str | None, typer.Option(metavar="FILE", writable=True, help="Where JUnit XML goes.")] = None,
    summary: Annotated[
        str | None,
        typer.Option(metavar="FILE", writable=True, help="Where a Markdown summary is added, as $GITHUB_STEP_SUMMARY."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare answers with limits: exit code 0 if all hold, 1 if one fails, 3 if the answers cannot decide one."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.diagnostics.check import FAIL, PASS, check, kinds_of
    from quorate.io.atomic import together
    from quorate.io.write_table import append_text, to_json, write_text

    with showing_progress():
        found = check(
            reading,
            min_alpha=min_alpha,
            min_kappa=min_kappa,
            min_ac1=min_ac1,
            min_agreement=min_agreement,
            min_answers=min_answers,
            max_error=max_error,
            max_unsure=max_unsure,
            max_undetermined=max_undetermined,
            min_reliability=min_reliability,
            max_half_width=max_half_width,
            sure=sure,
            fail_on=() if fail_on is None else kinds_of(fail_on),
            config=config,
            gold=gold,
        )
    outcomes = [
        Outcome(
            each.name,
            ". ".join(part for part in (each.sentence, each.detail) if part),
            {PASS: True, FAIL: False}.get(each.decision),
            "" if each.holds else each.remedy,
        )
        for each in found.checks
    ]
    with together():  # the files appear all or none
        if junit is not None:
            write_text(as_junit(outcomes, reading.name or "answers") + "\n", junit)
        if summary is not None:
            append_text(as_markdown(outcomes, found.head()) + "\n", summary)
    if json:
        typer.echo(to_json(found.to_dict()))
    else:
        print_lines(found.lines())
    if found.decision != PASS:
        raise typer.Exit(LIMIT_FAILS if found.decision == FAIL else UNDECIDED)


# What XML 1.0 has no way to write.
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Outcome:
    """One check: its name, what was seen, and whether it passed."""

    name: str
    told: str
    passed: bool | None  # None where that cannot be decided
    remedy: str = ""


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Write outcomes as JUnit XML; a check that cannot be decided is an error there, which no service counts as passed.

    Args:
        outcomes: one test case each.
        suite: what they are checks of.

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
    failures = sum(each.passed is False for each in outcomes)
    errors = sum(each.passed is None for each in outcomes)
    counts = f'tests="{len(outcomes)}" failures="{failures}" errors="{errors}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f"  <testsuite name={_attribute(f'quorate check {suite}')} {counts}>")
    for each in outcomes:
        case = f'    <testcase classname="quorate.check" name={_attribute(each.name)}'
        if each.passed:
            lines.append(f"{case}/>")
            continue
        message = ". ".join(part for part in (each.told, each.remedy) if part)
        kind = "error" if each.passed is None else "failure"
        lines += [f"{case}>", f"      <{kind} message={_attribute(message)}></{kind}>", "    </testcase>"]
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"])


def as_markdown(outcomes: Sequence[Outcome], head: str) -> str:
    """Write outcomes as a Markdown table, for GitHub's summary of a job or a comment.

    Args:
        outcomes: one row each.
        head: how it went.

    >>> print(as_markdown([Outcome("min-alpha", "alpha is 0.2", False, "ask again")], "1 of 1 limit fails"))
    ### Quorate: 1 of 1 limit fails
    <BLANKLINE>
    | | limit | what was seen | what to do |
    |---|---|---|---|
    | ❌ | min-alpha | alpha is 0.2 | ask again |
    """
    signs = {True: "✅", False: "❌", None: "❔"}
    rows = [
        f"| {signs[each.passed]} | {_cell(each.name)} | {_cell(each.told)} | {_cell(each.remedy)} |"
        for each in outcomes
    ]
    head_row = ["| | limit | what was seen | what to do |", "|---|---|---|---|"]
    return "\n".join([f"### Quorate: {_cell(head)}", "", *head_row, *rows])


def _attribute(text: str) -> str:
    return quoteattr(UNWRITABLE.sub("\ufffd", text))


def _cell(text: str) -> str:
    """Keep ids and labels from being read as markup, mentions or links."""
    escaped = re.sub(r"([\\|*_<>\[\]#~`&])", r"\\\1", " ".join(text.split()))
    # Nobody is called by the id of a worker, and no address in one becomes a link.
    return re.sub(r"(?i)(@|:(?=//)|www(?=\.))", "\\1\u200b", escaped)
