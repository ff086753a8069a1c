"""`quorate convert`: another tool's export -> a plain table of answers; labels -> that tool's own file."""

from typing import Annotated

import typer

from quorate.cli.options import Delimiter, Encoding, ExcelSafe, JoinChoices, Json, KeepRejected, Question, Tool


def convert(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="An export, or a table of answers; - for standard input."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="FILE", writable=True, help="Where the answers go; - for standard output."
        ),
    ] = "-",
    tool: Tool = "auto",
    to: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="csv, parquet or jsonl for answers; labelstudio or argilla for --labels."),
    ] = None,
    question: Question = None,
    gold_out: Annotated[
        str | None,
        typer.Option(metavar="FILE", writable=True, help="Where the labels go that the export says are known."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Labels to write back as predictions or suggestions, with --to."),
    ] = None,
    agent: Annotated[str, typer.Option(help="The origin that the tool shows for them.")] = "quorate",
    task: Annotated[str | None, typer.Option(metavar="FIELD", help="The field that tells tasks apart.")] = None,
    worker: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of workers, of a plain table.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of labels, of a plain table.")] = None,
    join_choices: JoinChoices = False,
    keep_rejected: KeepRejected = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out answers without a task or worker.")
    ] = False,
    input_format: Annotated[
        str | None, typer.Option(help="csv, tsv, parquet or jsonl, if the content does not say.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    excel_safe: ExcelSafe = False,
    json: Json = False,
) -> None:
    """Turn another tool's export into a table of answers, or labels into a file that the tool imports.

    What was left out, and why, is said on standard error.
    """
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.errors import OptionError
    from quorate.io.atomic import together
    from quorate.io.exports.detect import read_export
    from quorate.io.exports.write_back import TOOLS, write_back
    from quorate.io.write_table import to_json, write_table

    if to in TOOLS and labels is None:
        raise OptionError(f"--to {to} writes labels back: name them with --labels (quorate aggregate -o writes them)")
    if labels is not None and to not in TOOLS:
        raise OptionError("--labels are written back to a tool: say which with --to labelstudio or --to argilla")
    if json and output == "-":
        raise OptionError("--json and the answers would both go to standard output; name a file with -o")
    with showing_progress():
        export = read_export(
            file,
            tool,
            question=question,
            task=task,
            worker=worker,
            label=label,
            join_choices=join_choices,
            keep_rejected=keep_rejected,
            skip_missing=skip_missing,
            format=input_format,
            delimiter=delimiter,
            encoding=encoding,
        )
    if gold_out is not None and export.gold is None:
        raise OptionError(f"{file} says of no label that it is known; leave out --gold-out")
    told = to_json(export.to_dict()) if json else ""
    with together():  # the files appear all or none
        if gold_out is not None and export.gold is not None:
            write_table(export.gold, gold_out, excel_safe=excel_safe)
        if labels is not None and to is not None:
            write_back(export, labels, output, to, agent=agent)
        else:
            write_table(export.table, output, to, excel_safe=excel_safe)
    if json:
        print_data(told)
    else:
        print_lines(export.lines(), error=True)
