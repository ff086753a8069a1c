"""Write the files of an experiment: CSV, Markdown, SVG, PNG, and its part of the page."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.runner.contents import section
from experiments.runner.experiment import Experiment, Figure, Tabulation, cell_text
from quorate.errors import QuorateError, UnwritableFileError

PNG_SCALE = 2  # pixels of the image per pixel of the chart


def converter() -> Any:
    """Return the module that converts charts to images.

    Raises:
        QuorateError: it is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise QuorateError("drawing charts needs altair and vl-convert: pip install 'quorate[report]'") from None
    return vl_convert


def write(experiment: Experiment, name: str, title: str, source: str, folder: Path) -> list[Path]:
    """Write all files of an experiment to its folder.

    Args:
        experiment: what was found.
        name: of the item; begins the names of its files.
        title: for a reader.
        source: where the paper has it.
        folder: where to write; made if it is not there.

    Returns:
        The files.

    Raises:
        UnwritableFileError: the folder cannot be written to.
    """
    files: dict[str, bytes] = {
        f"{name}.csv": to_csv(experiment.table).encode(),
        f"{name}.md": to_markdown(experiment, title, source).encode(),
    }
    drawings = {figure.name: to_svg(figure) for figure in experiment.figures}
    for figure in experiment.figures:
        files[f"{figure.name}.svg"] = drawings[figure.name].encode()
        files[f"{figure.name}.png"] = to_png(figure)
    if experiment.measured is not None:
        measured = experiment.measured
        files[f"{name}-measured.csv"] = to_csv(measured.table).encode()
        files[f"{name}-measured.md"] = (f"# {title}\n\n" + _markdown_table(measured.beside)).encode()
        files[f"{measured.figure.name}.svg"] = to_svg(measured.figure).encode()
        files[f"{measured.figure.name}.png"] = to_png(measured.figure)
    files["section.html"] = section(experiment, name, title, source, drawings).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
    except OSError as error:
        raise UnwritableFileError(f"cannot write into {folder}: {error.strerror or error}") from None
    return [folder / file for file in files]


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG."""
    drawn: str = converter().vegalite_to_svg(figure.spec)
    return drawn


def to_png(figure: Figure) -> bytes:
    """Return a figure as PNG."""
    drawn: bytes = converter().vegalite_to_png(figure.spec, scale=PNG_SCALE)
    return drawn


def to_csv(sheet: Tabulation) -> str:
    r"""Return a table as CSV with six digits, more than the precision of any figure here.

    >>> to_csv(Tabulation("", ("graph", "error"), (("star", 1 / 3), ("ring", None))))
    'graph,error\nstar,0.333333\nring,\n'
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(sheet.columns)
    for row in sheet.rows:
        writer.writerow(["" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    return stream.getvalue()


def to_markdown(experiment: Experiment, title: str, source: str) -> str:
    """Return tables, claims and notes as Markdown."""
    parts = [f"# {title}\n", f"{source}.\n"]
    parts += [f"## {sheet.title}\n\n{_markdown_table(sheet)}" for sheet in experiment.beside]
    if experiment.claims:
        parts.append("## Claims\n")
        parts += _bullets(f"**{claim.text}** {claim.verdict}: {claim.evidence}." for claim in experiment.claims)
    parts.append("## Settings\n")
    parts += _bullets(experiment.notes)
    return "\n".join(parts)


def _markdown_table(sheet: Tabulation) -> str:
    lines = [sheet.columns, ["---"] * len(sheet.columns), *(map(cell_text, row) for row in sheet.rows)]
    return "".join(f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |\n" for line in lines)


def _bullets(texts: Iterable[str]) -> list[str]:
    return ["".join(f"- {text}\n" for text in texts)]
