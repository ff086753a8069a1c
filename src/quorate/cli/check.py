"""`quorate check`: a gate for pipelines."""

from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.arguments import reads_answers
from quorate.cli.options import Gold, Json
from quorate.cli.start import LIMIT_FAILS, UNDECIDED

if TYPE_CHECKING:
    from quorate.reading.read import Reading


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
    from quorate.diagnosis.gate import FAIL, PASS, check
    from quorate.diagnosis.limits import kinds_of
    from quorate.writing.pipelines import Outcome
    from quorate.writing.pipelines import junit as as_junit
    from quorate.writing.pipelines import markdown as as_markdown
    from quorate.writing.tables import append_text, to_json, write_text
    from quorate.writing.whole import together

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
