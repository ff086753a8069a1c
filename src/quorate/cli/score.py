"""`quorate score`: labels against the truth."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import Json

if TYPE_CHECKING:
    from quorate.rating.metrics import ScoreErrors


def score(
    labels: Annotated[str, typer.Argument(help="A file with the columns task and label.")],
    truth: Annotated[str, typer.Argument(help="The same, with the true labels.")],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids, in both.")] = "task",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels, in both.")] = "label",
    scores: Annotated[
        bool | None,
        typer.Option(
            "--scores/--labels",
            help="The labels are scores: root mean square error, correlation and coverage. By default so for a file "
            "with the column score.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare labels, or the scores of `quorate rate`, with the truth."""
    from dataclasses import asdict

    from quorate.cli.terminal import print_data, print_lines
    from quorate.evaluation.metrics import score_labels
    from quorate.io.write_table import to_json

    found: Any = _scored(labels, truth, task, label, scores)
    if found is None:
        found = score_labels(labels, truth, task=task, label=label)
    if json:
        print_data(to_json(asdict(found)))
    else:
        print_lines(found.lines())


def _scored(labels: str, truth: str, task: str, label: str, scores: bool | None) -> "ScoreErrors | None":
    """Compare scores with known scores; None where the file holds labels."""
    from quorate.io.exports.detect import fields_of
    from quorate.io.open_file import hold
    from quorate.io.options import ReadOptions
    from quorate.rating.metrics import score_scores

    if scores is None:
        fields = fields_of(hold(labels), ReadOptions(tool="table"))
        scores = "score" in fields and "label" not in fields
    if not scores:
        return None
    return score_scores(labels, truth, task=task, score=None if label == "label" else label)
