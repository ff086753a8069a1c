"""`quorate convert`: write an export as a plain table of answers, or labels as a file that the tool imports."""

import typer

from quorate.cli.command import CLEANING, FILES_AND_DATABASES, INPUT, OUTPUT, Command, option
from quorate.cli.options import (
    JOIN,
    Delimiter,
    Encoding,
    ExcelSafe,
    Json,
    KeepRejected,
    Question,
    SkipMissing,
    Tool,
    split_tool,
)


class ConvertCommand(Command):
    """The command whose help also lists the options for cleaning answers."""

    shown_panels = frozenset({CLEANING})


def convert(
    file: str = typer.Argument(..., metavar="FILE", help="An export, or a table of answers; - for standard input."),
    *,
    tool: Tool = "auto",
    question: Question = None,
    task: str | None = option("--task FIELD", INPUT, "The column or field that identifies the task."),
    worker: str | None = option("--worker COLUMN", INPUT, "The column that identifies the worker."),
    label: str | None = option("--label COLUMN", INPUT, "The column that holds the answer."),
    multi: str | None = option(
        "--multi join", CLEANING, "--multi join treats several choices in one answer as one label."
    ),
    skip_missing: SkipMissing = False,
    output: str = option(
        "-o, --output FILE", OUTPUT, "Write the result to this file; - for standard output.", default="-"
    ),
    to: str | None = option(
        "--to FORMAT", OUTPUT, "csv, parquet or jsonl for answers; labelstudio or argilla for --labels."
    ),
    labels: str | None = option(
        "--labels FILE", OUTPUT, "Labels to write back as predictions or suggestions, with --to."
    ),
    gold_out: str | None = option(
        "--gold-out FILE", OUTPUT, "Write the labels that the export marks as known to this file."
    ),
    agent: str = option(
        "--agent NAME",
        FILES_AND_DATABASES,
        "The name shown in the tool as the author of the labels.",
        default="quorate",
    ),
    keep_rejected: KeepRejected = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "auto",
    excel_safe: ExcelSafe = False,
    json: Json = False,
) -> None:
    """Convert an export into a plain table, or labels into a file your annotation tool can import.

    Rows that were left out are listed on standard error, with the reason.

    Examples:
      quorate convert export.json -o answers.csv
      quorate convert export.json --labels labels.csv --to labelstudio -o predictions.json
    """
    from quorate.cli.terminal import json_text, print_data, print_lines, showing_progress, written_line
    from quorate.errors import OptionError
    from quorate.io.atomic import atomic_batch
    from quorate.io.exports.detect import read_export
    from quorate.io.exports.write_back import TOOLS, write_back
    from quorate.io.write_table import write_table

    if multi not in (None, JOIN):
        raise OptionError(
            f"--multi takes only join here, got {multi!r}. To split labels, use --multi with quorate aggregate"
        )
    tool, input_format = split_tool(tool)
    if to in TOOLS and labels is None:
        raise OptionError(f"--to {to} needs --labels FILE: the labels that quorate aggregate -o wrote")
    if labels is not None and to not in TOOLS:
        raise OptionError("--labels needs --to labelstudio or --to argilla")
    if json and output == "-":
        raise OptionError(
            "--json and the answers would both go to standard output. Name a file for the answers with -o"
        )
    with showing_progress():
        export = read_export(
            file,
            tool,
            question=question,
            task=task,
            worker=worker,
            label=label,
            join_choices=multi == JOIN,
            keep_rejected=keep_rejected,
            skip_missing=skip_missing,
            format=input_format,  # type: ignore[arg-type]  # checked there
            delimiter=delimiter,
            encoding=encoding,
        )
    if gold_out is not None and export.gold is None:
        raise OptionError(f"{file} marks no label as known. Leave out --gold-out")
    content = json_text(export.to_dict()) if json else ""
    with atomic_batch():  # all files are written, or none
        if gold_out is not None and export.gold is not None:
            write_table(export.gold, gold_out, excel_safe=excel_safe)
        if labels is not None and to is not None:
            write_back(export, labels, output, to, agent=agent)
        else:
            write_table(export.table, output, to, excel_safe=excel_safe)
    if json:
        print_data(content)
    else:
        print_lines([*export.lines(), *written_line([output, gold_out])], error=True)
