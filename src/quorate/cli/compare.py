"""`quorate compare` and `quorate methods`: several methods side by side, and the list of them."""

from typing import Annotated

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT
from quorate.cli.options import Gold, Json, OutputFormat, Quiet, Seed, open_sample

# What is compared unless --methods or --all is given: the default, the baseline, and one method of each family.
USUAL_METHODS = ("quorate", "majority", "dawid-skene", "rank-one", "glad", "wawa")


def compare(
    ctx: typer.Context,
    *,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            metavar="FILE",
            rich_help_panel=METHOD,
            help="True labels of some tasks, to score the methods: your column names, or task and label.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAMES",
            rich_help_panel=METHOD,
            help="Comma-separated, e.g. quorate,majority,dawid-skene; options follow a colon: er:classes=ordered.",
        ),
    ] = None,
    all: Annotated[
        bool, typer.Option("--all", rich_help_panel=METHOD, help="Compare all methods (list: quorate methods).")
    ] = False,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            rich_help_panel=ADVANCED,
            help="The labels are scores: compare mean, median, z-score, bias-removed, p910 and rate.",
        ),
    ] = False,
    gold: Gold = None,
    labels_out: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write the labels of every method to this file, one row per task.",
        ),
    ] = None,
    output_format: OutputFormat = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods on your data and see where their labels differ; with --truth, which is more accurate.

    Examples:
      quorate compare answers.csv --truth truth.csv
      quorate compare answers.csv --methods quorate,majority,dawid-skene -o labels.csv
    """
    from quorate.cli.outputs import for_files
    from quorate.cli.terminal import print_json, print_lines, print_table, showing_progress
    from quorate.errors import OptionError
    from quorate.evaluation.compare import MAX_COMPARED_ANSWERS, compare
    from quorate.io.write_table import write_table

    if all and methods is not None:
        raise OptionError("--all compares every method and --methods some of them; give one")
    chosen = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if chosen == []:
        raise OptionError("--methods names no method; write e.g. --methods quorate,majority (list: quorate methods)")
    with open_sample(ctx) as reading:
        if scores:
            from quorate.rating.metrics import compare_scores

            with showing_progress():
                compared = compare_scores(reading, truth, methods=chosen, gold=gold)
            if json:
                print_json({**compared.to_dict(), **reading.sample_fields()})
                return
            table = compared.table
            known = "" if compared.n_scored is None else f", {compared.n_scored:,} of them with known scores"
            rows = [list(row.values()) for row in table.to_pylist()]
            print_table(f"Methods for scores on {compared.n_tasks:,} tasks{known}", table.column_names, rows)
            print_lines(compared.failures)
            return
        if chosen is None and not all:
            chosen = list(USUAL_METHODS)
        with showing_progress():
            # True labels may be few, and a file of labels has every task: both take all answers.
            most = MAX_COMPARED_ANSWERS if truth is None and labels_out is None else None
            comparison = compare(reading, truth, methods=chosen, gold=gold, seed=seed, most_answers=most)
        if labels_out is not None:
            labels = comparison.label_table(reading.answers)
            write_table(for_files(labels, reading), labels_out, output_format)
    if json:
        print_json({**comparison.to_dict(), **reading.sample_fields()})
        return
    is_data = labels_out == "-"
    scored = "" if comparison.n_scored is None else f", {comparison.n_scored:,} of them with truth"
    if not is_data and not quiet:
        print_table(f"Methods on {comparison.n_tasks:,} tasks{scored}", comparison.columns(), comparison.rows())
    print_lines([*comparison.sample_line(), *comparison.lines(), *comparison.doubts()], error=is_data)


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show the options of this method.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the available methods; with NAME, the options of one.

    Examples:
      quorate methods
      quorate methods rank-one
    """
    from quorate.cli.terminal import print_json, print_lines, print_table
    from quorate.methods.registry import METHODS, method_name, option_names

    name = None if name is None else method_name(name)
    chosen = METHODS if name is None else {name: METHODS[name]}
    rows = [[listed_name, method.about, method.paper] for listed_name, method in chosen.items()]
    options = [] if name is None else [option for option in option_names(METHODS[name].load(), {}) if option != "gold"]
    if json:
        listed = [dict(zip(("method", "about", "paper"), row, strict=True)) for row in rows]
        print_json({"methods": listed, **({} if name is None else {"options": options})})
    elif name is None:
        print_table("Methods", ["method", "what it does", "paper"], rows)
    else:
        about = METHODS[name]
        lines = [f"{name}: {about.about}.", f"Paper: {about.paper}." if about.paper else ""]
        if options:
            lines.append(f"Options, after a colon: {', '.join(options)}. They are described in the documentation.")
        else:
            lines.append("It has no options.")
        print_lines(line for line in lines if line)
