"""`quorate compare` and `quorate methods`: several methods side by side, and the list of them."""

import typer

from quorate.cli.command import ADVANCED, METHOD, OUTPUT, option
from quorate.cli.options import Gold, Json, OutputFormat, Quiet, Seed, open_sample

# Methods without --methods and --all: the default method, the baseline, and one method of each family.
USUAL_METHODS = ("quorate", "majority", "dawid-skene", "rank-one", "glad", "wawa")


def compare(
    ctx: typer.Context,
    *,
    truth: str | None = option(
        "--truth FILE", METHOD, "True labels of some tasks, to score the methods: your column names, or task and label."
    ),
    methods: str | None = option(
        "--methods NAMES",
        METHOD,
        "Comma-separated, e.g. quorate,majority,dawid-skene; options follow a colon: er:classes=ordered.",
    ),
    all: bool = option("--all", METHOD, "Compare all methods (list: quorate methods).", default=False),
    scores: bool = option("--scores", ADVANCED, "The labels are scores: compare methods for scores.", default=False),
    gold: Gold = None,
    labels_out: str | None = option(
        "-o, --output FILE", OUTPUT, "Write the labels of every method to this file, one row per task."
    ),
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
    from quorate.cli.terminal import print_json, print_lines, print_table, showing_progress, written_line
    from quorate.errors import OptionError
    from quorate.evaluation.compare import MAX_COMPARED_ANSWERS, compare
    from quorate.io.write_table import write_table

    if all and methods is not None:
        raise OptionError("--all compares every method, and --methods some of them. Give one of the two")
    chosen = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    if chosen == []:
        raise OptionError("--methods names no method. Example: --methods quorate,majority (list: quorate methods)")
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
            # All answers are used with true labels, of which there may be few, and for a file of labels of every task.
            most = MAX_COMPARED_ANSWERS if truth is None and labels_out is None else None
            comparison = compare(reading, truth, methods=chosen, gold=gold, seed=seed, most_answers=most)
        if labels_out is not None:
            labels = comparison.label_table(reading.answers)
            write_table(for_files(labels, reading), labels_out, output_format)
    if json:
        print_json({**comparison.to_dict(), **reading.sample_fields()})
        return
    is_data = labels_out == "-"
    scored = "" if comparison.n_scored is None else f", {comparison.n_scored:,} of them with a known label"
    if not is_data and not quiet:
        print_table(f"Methods on {comparison.n_tasks:,} tasks{scored}", comparison.columns(), comparison.rows())
    files = [] if quiet else written_line([labels_out])
    print_lines([*comparison.sample_line(), *comparison.lines(), *comparison.doubts(), *files], error=is_data)


def methods(
    name: str | None = typer.Argument(
        None, metavar="[NAME]", show_default=False, help="Show when to use this method, its paper and its options."
    ),
    json: Json = False,
) -> None:
    """List the available methods; with NAME, describe one: when to use it, its paper, its options.

    Examples:
      quorate methods
      quorate methods rank-one
    """
    from quorate.cli.terminal import print_json, print_lines, print_table
    from quorate.methods.registry import METHODS, describe_options, method_name

    name = None if name is None else method_name(name)
    chosen = METHODS if name is None else {name: METHODS[name]}
    rows = [[listed_name, method.about, method.paper or "–"] for listed_name, method in chosen.items()]
    if name is None:
        if json:
            print_json({"methods": [_method_fields(listed_name) for listed_name in chosen]})
        else:
            print_table("Methods", ["method", "what it does", "paper"], rows)
        return
    options = describe_options(name)
    if json:
        fields = {option.name: {"default": option.default, "meaning": option.meaning} for option in options}
        print_json({"methods": [_method_fields(name)], "options": fields})
        return
    described = METHODS[name]
    lines = [f"{name}: {described.about}.", f"When to use it: {described.use_if}."]
    if described.paper:
        lines.append(f"Paper: {described.paper}. Details: https://quorate.github.io/quorate/methods/")
    if not options:
        print_lines([*lines, "It has no options."])
        return
    example = f"quorate aggregate answers.csv --method {name}:{options[0].name}={options[0].default}"
    print_lines([*lines, "", "Options follow a colon, for example:", f"  {example}"])
    print_table(
        "", ["option", "default", "meaning"], [[option.name, option.default, option.meaning] for option in options]
    )


def _method_fields(name: str) -> dict[str, str]:
    """Return the object for a method that --json prints."""
    from quorate.methods.registry import METHODS

    method = METHODS[name]
    return {"method": name, "about": method.about, "use_if": method.use_if, "paper": method.paper}
