"""`quorate score`: labels against the truth."""

from typing import Annotated

import typer

from quorate.cli.options import Json


def score(
    labels: Annotated[str, typer.Argument(help="A file with the columns task and label.")],
    truth: Annotated[str, typer.Argument(help="The same, with the true labels.")],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids, in both.")] = "task",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels, in both.")] = "label",
    json: Json = False,
) -> None:
    """Compare labels with the truth."""
    from dataclasses import asdict

    from quorate.cli.terminal import print_data, print_lines
    from quorate.evaluation.score import score_labels
    from quorate.writing.tables import to_json

    found = score_labels(labels, truth, task=task, label=label)
    if json:
        print_data(to_json(asdict(found)))
    else:
        print_lines(found.lines())
