"""`quorate report`: one page for people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.options import ExcelSafe, Gold, reads_answers

if TYPE_CHECKING:
    from quorate.io.read import Reading


@reads_answers
def report(
    reading: "Reading",
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the page goes; - for standard output."
        ),
    ] = "report.html",
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            writable=True,
            file_okay=False,
            help="Where workers.csv and labels.csv go, whole; linked to.",
        ),
    ] = None,
    excel_safe: ExcelSafe = False,
    title: Annotated[str | None, typer.Option(help="Of the page; by default what the name of the file says.")] = None,
    method: Annotated[str, typer.Option(help="See `quorate methods`.")] = "quorate",
    compare: Annotated[
        str | None, typer.Option(metavar="METHODS", help="To compare with, separated by commas; '' for none.")
    ] = None,
    sure: Annotated[float, typer.Option(help="A label of less confidence needs more answers.")] = 0.9,
    scores: Annotated[
        bool, typer.Option("--scores", help="The labels are scores: the page of `quorate rate`.")
    ] = False,
    gold: Gold = None,
    truth: Annotated[
        str | None, typer.Option(metavar="FILE", help="True labels to score methods by, in the same columns.")
    ] = None,
) -> None:
    """Write one page that tells who answered how well, how sure the labels are, and what stands out."""
    from quorate.cli.beside import drawing_beside
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.inputs import announce_output

    if scores:
        from quorate.rating.rate import rate
        from quorate.reporting.rating_page import write_rating_report

        with drawing_beside(), showing_progress():
            write_rating_report(rate(reading, gold=gold), output, title)
        print_lines([] if output == "-" else [f"wrote {output}"])
        return
    if tables is not None:
        for name in ("workers", "labels"):
            announce_output("--tables", Path(tables, f"{name}.csv"))
    with drawing_beside(), showing_progress():
        from quorate.reporting.report import FAST, report

        chosen = FAST if compare is None else [name.strip() for name in compare.split(",") if name.strip()]
        made = report(reading, method=method, gold=gold, truth=truth, methods=chosen, sure=sure, title=title)
        written = made.write(output, folder=tables, excel_safe=excel_safe)
    print_lines((f"wrote {path}" for path in written if str(path) != "-"), error=output == "-")
