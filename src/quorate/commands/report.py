"""`quorate report`: one page for people."""

from typing import Annotated

import typer

from quorate.commands.options import Gold
from quorate.commands.reading import Reading, reads_answers


@reads_answers
def report(
    reading: Reading,
    *,
    output: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where the page goes.")] = "report.html",
    tables: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where workers.csv and labels.csv go, whole; linked to.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page; by default the name of the file.")] = None,
    method: Annotated[str, typer.Option(help="See `quorate methods`.")] = "quorate",
    compare: Annotated[
        str | None, typer.Option(metavar="METHODS", help="To compare with, parted by commas; '' for none.")
    ] = None,
    sure: Annotated[float, typer.Option(help="A label of less confidence needs more answers.")] = 0.9,
    gold: Gold = None,
    truth: Annotated[
        str | None, typer.Option(metavar="FILE", help="True labels to score methods by, in the same columns.")
    ] = None,
) -> None:
    """Write one page that tells who answered how well, how sure the labels are, and what stands out."""
    from pathlib import Path

    from quorate.report.build import FAST, make_report
    from quorate.terminal import print_lines, showing_progress

    chosen = FAST if compare is None else [name.strip() for name in compare.split(",") if name.strip()]
    source = getattr(reading, "source", "")
    with showing_progress():
        made = make_report(
            reading.answers,
            method=method,
            gold=reading.gold(gold),
            truth=reading.gold(truth),
            methods=chosen,
            sure=sure,
            title=title or (Path(source).name if source not in ("", "-") else "The answers"),
            left_out=getattr(reading, "left_out", ()),
        )
        written = made.write(output, folder=tables)
    print_lines(f"wrote {path}" for path in written)
