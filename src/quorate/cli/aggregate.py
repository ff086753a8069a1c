"""`quorate aggregate`: labels, skills and posterior from answers.

If there are too many answers for memory, they are packed into blocks on disk (`_aggregate_out_of_core`).
"""

import sys
from typing import TYPE_CHECKING, Any

import typer

from quorate.cli.command import ADVANCED, FILES_AND_DATABASES, MAIN, METHOD, OUTPUT, option
from quorate.cli.options import (
    ExcelSafe,
    Gold,
    Json,
    KnownWorkers,
    Method,
    OutputFormat,
    PlainColumns,
    Quiet,
    Show,
    Verbose,
    flag_of,
    method_options,
    one_source,
    open_answers,
)

if TYPE_CHECKING:
    from quorate.arrays import Table
    from quorate.backends.source import EngineSource
    from quorate.io.extra_columns import TaskTexts
    from quorate.io.read import Reading
    from quorate.result import Result

DEFAULT_MIN_CONFIDENCE = 0.9  # a label of this confidence can be used, unless --min-confidence sets another limit
# Options that need all labels in memory.
MEMORY_ONLY = (
    *("soft_labels_out", "long", "min_confidence", "review_out", "predictions", "output_format", "to"),
    *("plain_columns", "show", "excel_safe"),
)


def aggregate(
    ctx: typer.Context,
    *,
    output: str | None = option(
        "-o, --output FILE",
        OUTPUT,
        "Write the labels to this file (.csv, .parquet, .jsonl, .xlsx). Without it: a table, or CSV in a pipe.",
    ),
    workers_out: str | None = option("--workers-out FILE", OUTPUT, "Write one row per worker to this file."),
    soft_labels_out: str | None = option(
        "--soft-labels-out FILE", OUTPUT, "Write the probability of every class to this file, one row per task."
    ),
    min_confidence: float | None = option(
        "--min-confidence X",
        OUTPUT,
        "Add the column use: yes for labels of at least this confidence (e.g. 0.9), review for the others.",
    ),
    review_out: str | None = option(
        "--review-out FILE", OUTPUT, "Write the labels below --min-confidence to this file, and the others to -o."
    ),
    method: Method = "quorate",
    gold: Gold = None,
    known_workers: KnownWorkers = None,
    predictions: str | None = option(
        "--predictions [NAME=]FILE", METHOD, "A model's predictions, counted as one more worker."
    ),
    ordered: bool = option("--ordered", METHOD, "The classes are grades, in the order of --classes.", default=False),
    costs: str | None = option(
        "--costs FILE", ADVANCED, "The cost of each kind of wrong label: a table with the columns said, true and cost."
    ),
    intervals: str = option(
        "--intervals X",
        ADVANCED,
        "Intervals on skills: their level (0.95), how they are computed (auto, full, fast, none), or both (full,0.9).",
        default="auto",
    ),
    long: bool = option("--long", ADVANCED, "Write --soft-labels-out with one row per task and class.", default=False),
    output_format: OutputFormat = None,
    to: str | None = option("--to TOOL", MAIN, "Now: quorate convert --labels FILE --to TOOL.", hidden=True),
    plain_columns: PlainColumns = False,
    show: Show = None,
    excel_safe: ExcelSafe = False,
    output_table: str | None = option(
        "--output-table NAME",
        FILES_AND_DATABASES,
        "Write the labels to a new table of the database that has the answers.",
    ),
    workers_table: str | None = option(
        "--workers-table NAME", FILES_AND_DATABASES, "Write one row per worker to a new table of that database."
    ),
    replace: bool = option(
        "--replace",
        FILES_AND_DATABASES,
        "Replace the tables of --output-table and --workers-table if they exist, in one step.",
        default=False,
    ),
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Combine the answers into one label per task, and rate every worker.

    Without -o, a terminal gets tables and a summary; a pipe gets the labels, and the summary goes to standard error.

    Examples:
      quorate aggregate answers.csv -o labels.csv --workers-out workers.csv
      quorate aggregate export.csv --task "Item ID" --worker Annotator --label Sentiment -o labels.csv
      quorate aggregate verdicts.jsonl --gold checked.csv -o labels.csv
    """
    from quorate.errors import OptionError
    from quorate.io.read import Reading

    name, options = method_options(method)
    kind, level = _interval_choice(intervals)
    model_name, model_file = _split_name(predictions)
    method_parameters = {
        "ordered": ordered or None,
        "costs": costs,
        "skills": known_workers,
        "predictions": model_file,
        "predictions_name": model_name,
    }
    options |= {option_name: value for option_name, value in method_parameters.items() if value is not None}
    options |= {"level": level, "intervals": kind}
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise OptionError(f"--min-confidence must lie between 0 and 1 (for example 0.9), got {min_confidence:g}")
    if long and soft_labels_out is None:
        raise OptionError("--long needs --soft-labels-out FILE")
    if replace and output_table is None and workers_table is None:
        raise OptionError("--replace needs --output-table NAME or --workers-table NAME")
    with open_answers(ctx, sample=False) as source:
        if isinstance(source, Reading):
            _aggregate_in_memory(source, name, options, ctx.params)
            return
        for unavailable in MEMORY_ONLY:
            if ctx.params[unavailable] not in (None, False):
                raise source.refuse(flag_of(unavailable))
        _aggregate_out_of_core(source, name, options, ctx.params)


def _split_name(predictions: str | None) -> tuple[str | None, str | None]:
    """Return name and file of NAME=FILE; no name if a file with this complete name exists or it is an address."""
    import os

    name, equals, file = (predictions or "").partition("=")
    if not equals or "/" in name or ":" in name or os.path.exists(predictions or ""):
        return None, predictions
    return name, file


def _interval_choice(text: str) -> tuple[str, float]:
    """Return how intervals are computed and their level, from --intervals.

    Raises:
        OptionError: a part is neither a level nor a kind.

    >>> _interval_choice("0.9"), _interval_choice("fast"), _interval_choice("full,0.8")
    (('auto', 0.9), ('fast', 0.95), ('full', 0.8))
    """
    from quorate.errors import OptionError
    from quorate.skills.intervals import KINDS

    kind = "auto"
    level = 0.95
    for part in text.split(","):
        if part.strip() in ("auto", *KINDS):
            kind = part.strip()
            continue
        try:
            level = float(part)
        except ValueError:
            raise OptionError(
                f"--intervals takes a level such as 0.95, or one of auto, full, fast and none; got {text!r}"
            ) from None
        if not 0 < level < 1:
            raise OptionError(f"--intervals: the level must lie between 0 and 1 (for example 0.95), got {part.strip()}")
    return kind, level


def _aggregate_in_memory(reading: "Reading", method: str, options: dict[str, Any], parameters: dict[str, Any]) -> None:
    from quorate.cli.database_tables import writing_tables
    from quorate.cli.outputs import for_files, known_workers_table, with_texts
    from quorate.cli.terminal import (
        json_text,
        print_data,
        print_labels,
        print_lines,
        print_workers,
        showing_progress,
        written_line,
    )
    from quorate.errors import OptionError
    from quorate.io.atomic import atomic_batch
    from quorate.io.write_table import write_table, write_tables
    from quorate.methods.aggregate import aggregate
    from quorate.notes import shell_command, typed_source

    to = parameters["to"]
    output = parameters["output"]
    json = parameters["json"]
    is_written = output is not None or parameters["output_table"] is not None
    if to is not None:
        print_lines(["Warning: --to is now: quorate convert FILE --labels LABELS --to TOOL"], error=True)
        if json and output is None:
            raise OptionError(f"--json and the file for {to} would both go to standard output; name a file with -o")
        if reading.export is None:
            raise OptionError(
                f"--to {to} needs an export of {to}, and {reading.name or 'the file'} is a plain table. To write a "
                "table, use -o FILE"
            )
    if parameters["known_workers"] is not None:
        options = {**options, "skills": known_workers_table(parameters["known_workers"], reading)}
    texts: TaskTexts | None = None
    if parameters["show"] is not None:
        from quorate.io.extra_columns import task_texts

        texts = task_texts(reading, parameters["show"])
    with writing_tables(getattr(reading, "home", None), parameters) as put:
        with showing_progress():
            result = aggregate(reading, method, gold=one_source(parameters["gold"]), **options)
        labels, review = _split_by_confidence(result, parameters)
        listed = {"labels": not is_written, "workers": parameters["workers_out"] is None}
        content = json_text(result.to_dict(**listed)) if json else ""
        lines = [] if json or parameters["quiet"] else result.summary(verbose=parameters["verbose"]).splitlines()
        if parameters["quiet"] and not json:
            print_lines(result.warnings(), error=True)
        outputs = ("output", "workers_out", "soft_labels_out")
        if review is not None and not json and not parameters["quiet"]:
            lines += _review_lines(result, review, parameters)

        def written(table: "Table", *, is_of_tasks: bool = False) -> "Table":
            if is_of_tasks:
                table = with_texts(table, texts, reading.answers)
            return for_files(table, reading, plain_columns=parameters["plain_columns"])

        with atomic_batch():  # all files are written, or none
            if to is not None and reading.export is not None:
                from quorate.io.exports.write_back import write_back

                write_back(reading.export, result.labels, output or "-", to)
            write_tables(
                [
                    (lambda: written(labels, is_of_tasks=True), None if to else output),
                    (
                        lambda: written(review if review is not None else labels, is_of_tasks=True),
                        parameters["review_out"],
                    ),
                    (lambda: written(result.workers), parameters["workers_out"]),
                    (lambda: written(_soft_labels(result, parameters)), parameters["soft_labels_out"]),
                ],
                parameters["output_format"],
                excel_safe=parameters["excel_safe"],
            )
            put("output_table", lambda: result.labels)
            put("workers_table", lambda: result.workers)
    if lines:
        lines += written_line(parameters[name] for name in outputs)
        lines.append(f"Next: {shell_command('report', typed_source.get())}")
    if json:
        print_data(content)
    elif is_written:
        print_lines(lines, error=output == "-")
    elif sys.stdout.isatty() and to is None:
        if not parameters["quiet"]:
            is_warning = [line.startswith("Warning: ") for line in lines]
            print_lines([line for line, warns in zip(lines, is_warning, strict=True) if warns])
            print_labels(result)
            print_workers(result)
            print_lines(["", *(line for line, warns in zip(lines, is_warning, strict=True) if not warns)])
    else:
        if to is None:
            write_table(
                written(labels, is_of_tasks=True), "-", parameters["output_format"], excel_safe=parameters["excel_safe"]
            )
        print_lines(lines, error=True)


def _soft_labels(result: "Result", parameters: dict[str, Any]) -> "Table":
    """Return the probabilities of all classes: one column per class or, with --long, one row per task and class."""
    from quorate.voting.soft_labels import soft_labels_of

    return result.posterior if parameters["long"] else soft_labels_of(result.vote, result.answers).table


def _split_by_confidence(result: "Result", parameters: dict[str, Any]) -> "tuple[Table, Table | None]":
    """Return the labels to write, and those to review; all labels and None without options that split them."""
    import numpy as np
    import pyarrow as pa

    from quorate.arrays import Table

    if parameters["min_confidence"] is None and parameters["review_out"] is None:
        return result.labels, None
    least = DEFAULT_MIN_CONFIDENCE if parameters["min_confidence"] is None else parameters["min_confidence"]
    confidence = result.labels.arrow.column("confidence").to_numpy()
    is_usable = np.nan_to_num(confidence, nan=0.0) >= least
    labels = result.labels.arrow.append_column("use", pa.array(np.where(is_usable, "yes", "review")))
    review = Table(labels.filter(pa.array(~is_usable)))
    if parameters["review_out"] is None:
        return Table(labels), review
    return Table(labels.filter(pa.array(is_usable))), review


def _review_lines(result: "Result", review: "Table", parameters: dict[str, Any]) -> list[str]:
    from quorate.errors import count

    least = DEFAULT_MIN_CONFIDENCE if parameters["min_confidence"] is None else parameters["min_confidence"]
    n_labels = len(result.labels)
    n_usable = n_labels - len(review)
    where = f", written to {parameters['review_out']}" if parameters["review_out"] not in (None, "-") else ""
    return [
        f"You can use {n_usable:,} of {count(n_labels, 'label')} now (at least {least:.0%} confidence); review the "
        f"other {len(review):,}{where}."
    ]


def _aggregate_out_of_core(
    source: "EngineSource", method: str, options: dict[str, Any], parameters: dict[str, Any]
) -> None:
    """Aggregate answers that do not fit in memory, and print what `quorate aggregate` prints."""
    from quorate.backends.output import all_or_none
    from quorate.cli.database_tables import writing_tables
    from quorate.cli.outputs import rounded
    from quorate.cli.terminal import print_json, print_lines, showing_progress
    from quorate.io.write_table import write_table
    from quorate.methods.from_engine import aggregate_source, interval_choice, kept_labels

    output = parameters["output"]
    workers_out = parameters["workers_out"]
    kind = options.pop("intervals")
    level = options.pop("level")
    with writing_tables(source.engine, parameters) as put, showing_progress(), all_or_none(source.engine) as new_tables:
        table = put.name_for("output_table")
        result = aggregate_source(
            source,
            None if method == "quorate" else method,
            gold=one_source(parameters["gold"]),
            output=None if output == "-" else output,
            output_table=table,
            choice=interval_choice(kind, level),
            **options,
        )
        new_tables.append(table)
        if workers_out is not None:
            write_table(rounded(result.workers), workers_out)
        put("workers_table", lambda: result.workers)
    if parameters["json"]:
        content = result.to_dict(labels=output is None and table is None, workers=workers_out is None)
        print_json({**content, **kept_labels(result).run()})
    elif kept_labels(result).output is not None:
        print_lines([] if parameters["quiet"] else result.summary(verbose=parameters["verbose"]).splitlines())
    else:
        _print_engine_labels(result, parameters, is_complete=output == "-" or not sys.stdout.isatty())


def _print_engine_labels(result: "Result", parameters: dict[str, Any], *, is_complete: bool) -> None:
    """Print the first labels on a terminal; in a pipe, write all labels in batches."""
    from quorate.arrays import Table
    from quorate.backends.output import write_batches
    from quorate.cli.terminal import MAX_ROWS, print_head, print_lines, print_workers
    from quorate.io.write_table import to_standard_output
    from quorate.methods.from_engine import kept_labels

    lines = [] if parameters["quiet"] else result.summary(verbose=parameters["verbose"]).splitlines()
    engine_labels = kept_labels(result)
    if not is_complete:
        if not parameters["quiet"]:
            first = Table(engine_labels.table.limit(MAX_ROWS).to_pyarrow())
            print_head("Labels", first, total=result.info.n_tasks)
            print_workers(result)
            print_lines(["", *lines])
        return
    to_standard_output(lambda stream: write_batches(engine_labels.batches(), stream, "csv"))
    print_lines(lines, error=True)
