"""`quorate pull` and `quorate push`: annotations from a running Label Studio, and labels onto its tasks."""

from typing import Annotated

import typer

from quorate.cli.options import Question

Url = Annotated[str, typer.Option(help="Of the Label Studio server, as https://labels.example.com.")]
Token = Annotated[
    str, typer.Option(envvar="LABEL_STUDIO_API_KEY", help="Of your account there; better in the environment.")
]
Project = Annotated[int, typer.Option(metavar="N", help="The number of the project, as its address has it.")]


def pull(
    url: Url,
    project: Project,
    token: Token = "",
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the tasks go, as JSON; - for standard output."
        ),
    ] = "-",
) -> None:
    """Read the annotations of a Label Studio project: the JSON that every other command takes as FILE."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import count
    from quorate.integrations.label_studio import LabelStudio
    from quorate.io.write_table import write_json

    with showing_progress():
        tasks = LabelStudio(url, token, project).pull()
    write_json(tasks, output)
    print_lines([f"{count(len(tasks), 'task')} of project {project}"], error=output == "-")


def push(
    labels: Annotated[str, typer.Argument(metavar="LABELS", help="What `quorate aggregate -o` wrote.")],
    url: Url,
    project: Project,
    token: Token = "",
    question: Question = None,
    agent: Annotated[str, typer.Option(help="The origin that Label Studio shows: the model version.")] = "quorate",
) -> None:
    """Write labels onto the tasks of a Label Studio project, as predictions; annotations stay as they are."""
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import OptionError, count
    from quorate.integrations.label_studio import LabelStudio
    from quorate.io.exports.detect import read_export
    from quorate.io.exports.write_back import results_for

    there = LabelStudio(url, token, project)
    with showing_progress():
        export = read_export(there.pull(), "labelstudio", question=question)
        tasks = results_for(export, labels, agent=agent)
        if not any(task["predictions"] for task in tasks):
            raise OptionError(f"no task of {labels} is in project {project}: labels name tasks by Label Studio's id")
        sent = there.push(tasks)
    print_lines([f"{count(sent, 'prediction')} of {agent} on {count(len(tasks), 'task')} of project {project}"])
