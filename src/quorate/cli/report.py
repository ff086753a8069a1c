"""`quorate report`: one HTML page for people."""

from pathlib import Path

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT, option
from quorate.cli.options import ExcelSafe, Gold, Quiet, Show, open_sample


def report(
    ctx: typer.Context,
    *,
    output: str = option(
        "-o, --output FILE", OUTPUT, "Write the page to this file; - for standard output.", default="report.html"
    ),
    title: str | None = option("--title TEXT", OUTPUT, "Title of the page (default: from the name of the file)."),
    tables: str | None = option(
        "--tables FOLDER", OUTPUT, "Also write all workers and labels as CSV files into this folder."
    ),
    gold: Gold = None,
    truth: str | None = option("--truth FILE", METHOD, "True labels, to score the methods."),
    confident: float = option(
        "--confident X", METHOD, "The confidence from which a label counts as reliable.", default=0.9
    ),
    method: str = option(
        "--method NAME", ADVANCED, "How to combine the answers (list: quorate methods).", default="quorate"
    ),
    compare: str | None = option(
        "--compare METHODS", ADVANCED, "Other methods to compare with, separated by commas; '' for none."
    ),
    scores: bool = option(
        "--scores", ADVANCED, "The labels are scores: write the page of quorate rate.", default=False
    ),
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
            from quorate.reporting.report import FAST_METHODS, report

            chosen = FAST_METHODS if compare is None else [name.strip() for name in compare.split(",") if name.strip()]
            page = report(
                reading,
                method=method,
                gold=gold,
                truth=truth,
                methods=chosen,
                confident=confident,
                title=title,
                show=show,
            )
            written = page.write(output, folder=tables, excel_safe=excel_safe)
    print_lines(page.result.judge_warnings(), error=True)
    if not quiet:
        print_lines(written_line(map(str, written)), error=output == "-")
