"""`quorate score`: labels against the truth."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorate.cli.options import Json

if TYPE_CHECKING:
    from quorate.rating.metrics import ScoreErrors


def score(
    labels: Annotated[str, typer.Argument(help="The labels: a file with the columns task and label.")],
    truth: Annotated[str, typer.Argument(help="The true labels, in the same columns.")],
    task: Annotated[
        str, typer.Option("--task", metavar="COLUMN", help="The column that identifies the task, in both files.")
    ] = "task",
    label: Annotated[
        str, typer.Option("--label", metavar="COLUMN", help="The column that holds the label, in both files.")
    ] = "label",
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
    """Count how many labels are wrong, given the true ones; or compare the scores of quorate rate with known ones.

    Examples:
      quorate score labels.csv truth.csv
      quorate score labels.csv truth.csv --task "Item ID"
    """
    from dataclasses import asdict

    from quorate.cli.terminal import print_json, print_lines
    from quorate.evaluation.metrics import score_labels

    errors: Any = _score_errors(labels, truth, task, label, scores)
    if errors is None:
        errors = score_labels(labels, truth, task=task, label=label)
    if json:
        print_json(asdict(errors))
    else:
        print_lines(errors.lines())


def _score_errors(labels: str, truth: str, task: str, label: str, scores: bool | None) -> "ScoreErrors | None":
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
