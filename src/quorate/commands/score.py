"""`quorate score`: labels against the truth."""

from typing import Annotated

import typer

from quorate.commands.options import Json


def score(
    labels: Annotated[str, typer.Argument(help="A file with the columns task and label.")],
    truth: Annotated[str, typer.Argument(help="The same, with the true labels.")],
    task: Annotated[str, typer.Option(metavar="COLUMN", help="Column of task ids, in both.")] = "task",
    label: Annotated[str, typer.Option(metavar="COLUMN", help="Column of labels, in both.")] = "label",
    json: Json = False,
) -> None:
    """Compare labels with the truth."""
    from dataclasses import asdict

    from quorate.output import to_json
    from quorate.score import score_labels
    from quorate.terminal import print_lines

    found = score_labels(labels, truth, task=task, label=label)
    print_lines([to_json(asdict(found))] if json else found.lines())
