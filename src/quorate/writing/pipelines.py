"""Outcomes of checks for pipelines: JUnit XML, which every CI service reads, and Markdown for a GitHub summary."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

# What XML 1.0 has no way to write.
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Outcome:
    """One check: its name, what was seen, and whether it passed."""

    name: str
    told: str
    passed: bool | None  # None where that cannot be decided
    remedy: str = ""


def junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Write outcomes as JUnit XML; a check that cannot be decided is an error there, which no service counts as passed.

    Args:
        outcomes: one test case each.
        suite: what they are checks of.

    >>> print(junit([Outcome("min-alpha", "alpha is 0.2", False, "ask again")], "answers.csv"))
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


def markdown(outcomes: Sequence[Outcome], head: str) -> str:
    """Write outcomes as a Markdown table, for GitHub's summary of a job or a comment.

    Args:
        outcomes: one row each.
        head: how it went.

    >>> print(markdown([Outcome("min-alpha", "alpha is 0.2", False, "ask again")], "1 of 1 limit fails"))
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
