"""`quorate report`: one HTML page for people."""

from pathlib import Path
from typing import Annotated

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT
from quorate.cli.options import ExcelSafe, Gold, Quiet, Show, open_sample


def report(
    ctx: typer.Context,
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the page to this file; - for standard output.",
        ),
    ] = "report.html",
    title: Annotated[
        str | None,
        typer.Option(
            "--title",
            metavar="TEXT",
            rich_help_panel=OUTPUT,
            help="Title of the page (default: from the name of the file).",
        ),
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option(
            "--tables",
            metavar="FOLDER",
            rich_help_panel=OUTPUT,
            help="Also write all workers and labels as CSV files into this folder.",
        ),
    ] = None,
    gold: Gold = None,
    truth: Annotated[
        str | None,
        typer.Option("--truth", metavar="FILE", rich_help_panel=METHOD, help="True labels, to score the methods."),
    ] = None,
    confident: Annotated[
        float,
        typer.Option(
            "--confident",
            metavar="X",
            rich_help_panel=METHOD,
            help="The confidence from which a label counts as reliable.",
        ),
    ] = 0.9,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            rich_help_panel=ADVANCED,
            help="How to combine the answers (list: quorate methods).",
        ),
    ] = "quorate",
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="METHODS",
            rich_help_panel=ADVANCED,
            help="Other methods to compare with, separated by commas; '' for none.",
        ),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", rich_help_panel=ADVANCED, help="The labels are scores: write the page of quorate rate."
        ),
    ] = False,
    excel_safe: ExcelSafe = False,
    show: Show = None,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report: what to do next, which labels to trust, how good each worker is.

    Examples:
      quorate report answers.csv
      quorate report answers.csv --gold checked.csv -o team.html --title "Sentiment, week 12"
    """
    from quorate.cli.terminal import print_lines, showing_progress, written_line
    from quorate.io.inputs import announce_output

    with open_sample(ctx) as reading:
        if scores:
            from quorate.rating.rate import rate
            from quorate.reporting.rating_page import write_rating_report

            with showing_progress():
                write_rating_report(rate(reading, gold=gold), output, title)
            print_lines([] if quiet else written_line([output]))
            return
        if tables is not None:
            for name in ("workers", "labels"):
                announce_output("--tables", Path(tables, f"{name}.csv"))
        with showing_progress():
            from quorate.reporting.report import FAST, report

            chosen = FAST if compare is None else [name.strip() for name in compare.split(",") if name.strip()]
            page = report(
                reading, method=method, gold=gold, truth=truth, methods=chosen, sure=confident, title=title, show=show
            )
            written = page.write(output, folder=tables, excel_safe=excel_safe)
    print_lines(page.result.judge_warnings(), error=True)
    if not quiet:
        print_lines(written_line(map(str, written)), error=output == "-")
