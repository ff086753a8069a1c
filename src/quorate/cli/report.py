"""`quorate report`: one HTML page for people."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT
from quorate.cli.options import ExcelSafe, Gold, Quiet, open_sample

# Reads one chart per line and writes one SVG per line, until its input ends.
DRAWING_PROGRAM = """
import json, sys
sys.path.append(sys.argv[1])
from vl_convert import vegalite_to_svg
vegalite_to_svg({"data": {"values": []}, "mark": "point"})
for line in sys.stdin.buffer:
    print(json.dumps(vegalite_to_svg(json.loads(line))), flush=True)
"""


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
        typer.Option("--title", rich_help_panel=OUTPUT, help="Title of the page (default: from the name of the file)."),
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
            "--confident", rich_help_panel=METHOD, help="The confidence from which a label counts as reliable."
        ),
    ] = 0.9,
    method: Annotated[
        str,
        typer.Option("--method", rich_help_panel=ADVANCED, help="How to combine the answers (list: quorate methods)."),
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
        typer.Option("--scores", rich_help_panel=ADVANCED, help="The labels are scores: the page of quorate rate."),
    ] = False,
    excel_safe: ExcelSafe = False,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report: what to do next, which labels to trust, how good each worker is.

    Examples:
      quorate report answers.csv
      quorate report answers.csv --gold checked.csv -o team.html --title "Sentiment, week 12"
    """
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.io.inputs import announce_output

    with open_sample(ctx) as reading:
        if scores:
            from quorate.rating.rate import rate
            from quorate.reporting.rating_page import write_rating_report

            with drawing_process(), showing_progress():
                write_rating_report(rate(reading, gold=gold), output, title)
            print_lines([] if output == "-" or quiet else [f"wrote {output}"])
            return
        if tables is not None:
            for name in ("workers", "labels"):
                announce_output("--tables", Path(tables, f"{name}.csv"))
        with drawing_process(), showing_progress():
            from quorate.reporting.report import FAST, report

            chosen = FAST if compare is None else [name.strip() for name in compare.split(",") if name.strip()]
            page = report(reading, method=method, gold=gold, truth=truth, methods=chosen, sure=confident, title=title)
            written = page.write(output, folder=tables, excel_safe=excel_safe)
    if not quiet:
        print_lines((f"wrote {path}" for path in written if str(path) != "-"), error=output == "-")


class ChartProcess:
    """Draws charts as vl-convert does, in another process as long as that runs.

    vl-convert takes a second to start; in its own process it starts while this one imports, reads and aggregates.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._one_at_a_time = Lock()

    def vegalite_to_svg(self, chart: dict[str, Any]) -> str:
        """Return the chart as SVG."""
        with self._one_at_a_time, suppress(OSError, ValueError):
            charts = self.process.stdin
            drawings = self.process.stdout
            if charts is not None and drawings is not None:
                charts.write(json.dumps(chart).encode() + b"\n")
                charts.flush()
                return str(json.loads(drawings.readline()))
        import vl_convert

        return str(vl_convert.vegalite_to_svg(chart))


@contextmanager
def drawing_process() -> Iterator[ChartProcess | None]:
    """Let charts be drawn in another process, which ends with this block; None where it cannot start."""
    process = _start_drawing()
    if process is None:
        yield None
        return
    try:
        from quorate.reporting.html import drawn_by  # and all that a report needs, while the other process starts

        drawer = ChartProcess(process)
        with drawn_by(drawer):
            yield drawer
    finally:
        process.kill()
        with suppress(OSError), process:  # charts that were not sent any more
            pass


def _start_drawing() -> "subprocess.Popen[bytes] | None":
    """Start vl-convert with this Python, isolated: nothing of the current folder is imported."""
    module = find_spec("vl_convert")
    if module is None or module.origin is None or not sys.executable:
        return None
    command = [sys.executable, "-I", "-c", DRAWING_PROGRAM, str(Path(module.origin).parents[1])]
    with suppress(OSError):
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return None
