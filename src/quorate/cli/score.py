"""`quorate score`: compare labels with true labels."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from quorate.cli.command import INPUT, option
from quorate.cli.options import Json

if TYPE_CHECKING:
    from quorate.rating.metrics import ScoreErrors


def score(
    labels: str = typer.Argument(..., metavar="LABELS", help="The labels: the file that quorate aggregate -o wrote."),
    truth: str = typer.Argument(..., metavar="TRUTH", help="The true labels: a table with one row per task."),
    task: str = option(
        "--task COLUMN",
        INPUT,
        "The column that identifies the task, in both files. A file without this column must have a column task.",
        default="task",
    ),
    label: str = option(
        "--label COLUMN",
        INPUT,
        "The column that holds the label, in both files. A file without this column must have a column label.",
        default="label",
    ),
    truth_task: str | None = option("--truth-task COLUMN", INPUT, "The column of tasks in TRUTH, if it differs."),
    truth_label: str | None = option(
        "--truth-label COLUMN", INPUT, "The column of true labels in TRUTH, if it differs."
    ),
    scores: bool | None = option(
        "--scores/--labels",
        INPUT,
        "Whether the labels are numeric scores of quorate rate. Default: scores if there is a column score.",
        show_default=False,
    ),
    json: Json = False,
) -> None:
    """Count how many labels are wrong, given the true ones.

    Prints the share of wrong labels with a 95% interval, and how often each label was given for each true label. For
    scores of quorate rate: root mean square error, correlation, and how many intervals hold the true score.

    Examples:
      quorate score labels.csv truth.csv
      quorate score labels.csv truth.csv --task "Item ID" --truth-label Sentiment
    """
    from quorate.cli.terminal import MAX_ROWS, print_json, print_lines, print_table
    from quorate.evaluation.metrics import score_labels

    errors = _score_errors(labels, truth, task, label, scores)
    if errors is not None:
        if json:
            print_json(asdict(errors))
        else:
            print_lines(errors.lines())
        return
    result = score_labels(labels, truth, task=task, label=label, truth_task=truth_task, truth_label=truth_label)
    if json:
        print_json(result.to_dict())
        return
    print_lines(result.lines())
    names, rows = result.confusion_table()
    if not rows:
        return
    is_list = names[-1] == "tasks"
    title = (
        "Confused labels, most frequent first" if is_list else "Tasks by true label (rows) and label given (columns)"
    )
    print_lines([""])
    print_table(title, names, rows[:MAX_ROWS] if is_list else rows)
    if is_list and len(rows) > MAX_ROWS:
        print_lines([f"{len(rows) - MAX_ROWS:,} more pairs: --json lists all."])


def _score_errors(labels: str, truth: str, task: str, label: str, scores: bool | None) -> "ScoreErrors | None":
    """Return the errors of scores compared with known scores; None if the file has labels."""
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
