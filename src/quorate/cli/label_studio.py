"""`quorate labelstudio pull` and `push`: download annotations from a Label Studio server, and upload labels to it."""

from typing import Annotated, Any

import typer

from quorate.cli.command import MAIN, Command, CommandGroup, option, shared_option
from quorate.cli.options import Question

app = typer.Typer(cls=CommandGroup, help="Download annotations from a Label Studio server, and upload labels.")

Url = Annotated[str, shared_option("--url URL", MAIN, "Address of the server, e.g. https://labels.example.com.")]
Token = Annotated[
    str,
    shared_option(
        "--token TEXT",
        MAIN,
        "Your access token. It is safer to set LABEL_STUDIO_API_KEY.",
        envvar="LABEL_STUDIO_API_KEY",
    ),
]
Project = Annotated[int, shared_option("--project N", MAIN, "Number of the project (in its address).")]


@app.command("pull", cls=Command)
def pull(
    *,
    url: Url,
    project: Project,
    token: Token = "",
    output: str = option(
        "-o, --output FILE", MAIN, "Write the tasks to this file, as JSON; - for standard output.", default="-"
    ),
) -> None:
    """Download the annotations of a Label Studio project, as a JSON file that the other commands read.

    Examples:
      quorate labelstudio pull --url https://labels.example.com --project 7 -o export.json
    """
    from quorate.cli.terminal import print_lines, showing_progress, written_line
    from quorate.errors import count
    from quorate.integrations.label_studio import LabelStudio
    from quorate.io.write_table import write_json

    with showing_progress():
        tasks = LabelStudio(url, token, project).pull()
    write_json(tasks, output)
    files = written_line([output])
    print_lines([f"{count(len(tasks), 'task')} of project {project} downloaded.", *files], error=output == "-")


@app.command("push", cls=Command)
def push(
    labels: str = typer.Argument(..., metavar="LABELS", help="The labels: the file that quorate aggregate -o wrote."),
    *,
    url: Url,
    project: Project,
    token: Token = "",
    question: Question = None,
    model_version: str = option(
        "--model-version NAME",
        MAIN,
        "The name that Label Studio shows as the author of the predictions.",
        default="quorate",
    ),
) -> None:
    """Upload labels to a Label Studio project as predictions. Existing annotations are not changed.

    Examples:
      quorate labelstudio push labels.csv --url https://labels.example.com --project 7
    """
    from quorate.cli.terminal import print_lines, showing_progress
    from quorate.errors import OptionError, count
    from quorate.integrations.label_studio import LabelStudio
    from quorate.io.exports.detect import read_export
    from quorate.io.exports.write_back import results_for

    server = LabelStudio(url, token, project)
    with showing_progress():
        export = read_export(server.pull(), "labelstudio", question=question)
        tasks = results_for(export, labels, agent=model_version)
        if not any(task["predictions"] for task in tasks):
            raise OptionError(
                f"No task of {labels} is in project {project}. The column task must hold the task ids of Label Studio"
            )
        sent = server.push(tasks)
    where = f"project {project} ({count(len(tasks), 'task')})"
    print_lines([f"{count(sent, 'prediction')} of {model_version} uploaded to {where}."])


class OldName(Command):
    """`quorate pull` and `quorate push`, the names of release 0.2, which work for one more release."""

    def invoke(self, ctx: Any) -> Any:
        """Print a warning with the new name, then run the command."""
        from quorate.cli.terminal import print_lines

        print_lines([f"Warning: quorate {ctx.info_name} is now quorate labelstudio {ctx.info_name}"], error=True)
        return super().invoke(ctx)
