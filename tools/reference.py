"""Write the pages of docs/ that follow from the code: commands.md from the help texts, api.md from the docstrings.

    python tools/reference.py            # rewrite them
    python tools/reference.py --check    # name the pages that are out of date, and exit with 1

Names that the package exports and no heading of the API lists are at the end of that page.
"""

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

import quorate
from quorate.cli.app import app
from quorate.io.options import ReadOptions

DOCS = Path(__file__).parent.parent / "docs"
OLD_NAME = re.compile("deprecated|is now|^Now", re.IGNORECASE)  # help of an option that was renamed
SHARED_BY = 5  # commands that have an option in common before it is listed once, at the end of the page

COMMANDS_INTRODUCTION = """# Commands

Every command and option, as `quorate COMMAND --help` shows them; this page is generated from the help texts.

[Checks in CI](pipelines.md#exit-codes) lists the exit codes. An error is one line on standard error. If standard
output is a file or a pipe, tables are written as CSV, and summaries go to standard error.
"""

# The headings of the API page, and names that `quorate` offers.
API = [
    ("Read and aggregate", ["read", "Answers", "aggregate", "Result", "load"]),
    ("Consensus from stored skills", ["consensus", "Consensus", "inspect_reducer"]),
    ("Problems in the data", ["diagnose", "Diagnosis", "read_times"]),
    ("Agreement, estimates, limits", ["agreement", "Agreement", "estimate", "Estimates", "check", "CheckReport"]),
    ("What to ask next", ["advise", "Advice", "suggest_gold", "GoldAdvice", "adaptive_skills"]),
    (
        "Compare and report",
        ["compare", "Comparison", "score", "Score", "log_loss", "calibration_error", "report", "Report"],
    ),
    ("Rankings from pairwise comparisons", ["rank", "Ranking"]),
    ("Numeric scores", ["rate", "Rating", "read_scores", "Scores", "compare_scores", "advise_scores"]),
    ("Answers that arrive over time", ["Ledger"]),
    ("Exports and tables", ["read_export", "Export", "write_back", "write_table"]),
    ("Rank-one completion", ["complete_rank_one", "Completion"]),
    ("Modules", ["simulate", "datasets", "estimators", "backends", "charts", "theory"]),
]


def commands() -> dict[str, Any]:
    """Return every visible command by its full name: 'aggregate', 'ledger add'."""
    visible: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if getattr(command, "hidden", False):
            continue
        if hasattr(command, "commands"):
            visible |= {f"{name} {inner}": subcommand for inner, subcommand in command.commands.items()}
        else:
            visible[name] = command
    return visible


def option_row(parameter: Any) -> str:
    """Return an argument or option as a row of a Markdown table."""
    is_argument = parameter.param_type_name == "argument"
    names = parameter.metavar or parameter.name.upper() if is_argument else ", ".join(parameter.opts)
    if not is_argument and parameter.secondary_opts:
        names += ", " + ", ".join(parameter.secondary_opts)
    kind = "NUMBER" if parameter.type.name.startswith(("int", "float")) else "TEXT"
    value = "" if is_argument or parameter.is_flag else f" {parameter.metavar or kind}"
    default = parameter.default
    is_empty = default is None or default is False or default in ((), []) or "Sentinel" in type(default).__name__
    shown = "required" if parameter.required else "" if is_empty else f"`{default}`"
    sentence = getattr(parameter, "show_default", None)
    if isinstance(sentence, str):  # where the default depends on something
        shown = sentence
    about = " ".join((getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
    return f"| `{names}{value}` | {about} | {shown} |"


def documented(command: Any) -> list[Any]:
    """Return the parameters of a command that the page lists: all but help and deprecated names."""
    return [
        parameter
        for parameter in command.params
        if not parameter.name.startswith("help")
        and not (
            getattr(parameter, "hidden", False)
            and (not parameter.help or re.search("deprecated|is now|^Now", parameter.help, re.I))
        )
    ]


def commands_page() -> str:
    """Return the page of all commands."""
    return "\n".join(_command_lines()).rstrip() + "\n"


def _command_lines() -> Iterator[str]:
    known = commands()
    rows = Counter(option_row(parameter) for command in known.values() for parameter in documented(command))
    shared = {row for row, count in rows.items() if count >= SHARED_BY}
    yield COMMANDS_INTRODUCTION
    yield from ["| command | what it does |", "|---|---|"]
    for name, command in known.items():
        yield f"| [`{name}`](#{name.replace(' ', '-')}) | {_first_sentence(command)} |"
    for name, command in known.items():
        yield from ["", f"## {name}", "", *_help_text(command), ""]
        listed = documented(command)
        own = [option_row(parameter) for parameter in listed if option_row(parameter) not in shared]
        if own:
            yield from ["| option | what it does | default |", "|---|---|---|", *own, ""]
        others = [f"`{_name(parameter)}`" for parameter in listed if option_row(parameter) in shared]
        if others:
            yield f"Also the [shared options](#shared-options) {', '.join(others)}."
    yield from ["", "## Shared options", "", "These options mean the same in every command that has them.", ""]
    yield from ["| option | what it does | default |", "|---|---|---|"]
    yield from (row for row in rows if row in shared)


def _name(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper() if parameter.param_type_name == "argument" else parameter.opts[0]


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split()).replace("|", "\\|")


def _help_text(command: Any) -> Iterator[str]:
    """Yield the help of a command, its examples in a block of their own."""
    text = inspect.cleandoc(command.help or "")
    if command.epilog:
        text += "\n\n" + inspect.cleandoc(command.epilog)
    for part in text.replace("\b\n", "").split("\n\n"):
        examples = [line.strip() for line in part.splitlines() if line.strip().startswith("quorate ")]
        if examples:
            yield from ["```sh", *examples, "```", ""]
        elif not part.strip().lower().startswith("example"):
            yield from [part.strip(), ""]


def api_page() -> str:
    """Make the API page."""
    return "\n".join(_api_lines()).rstrip() + "\n"


def _api_lines() -> Iterator[str]:
    yield "# Python API"
    yield ""
    yield (
        "Generated from the docstrings. Every name is imported when it is first used, so `import quorate` is fast. "
        "Tables are Arrow tables with `.to_pandas()` and `.to_polars()`."
    )
    listed = {name for _, names in API for name in names}
    others = sorted(set(quorate.__all__) - listed - {"__version__"})
    for heading, names in [*API, ("Other names", others)]:
        exported = [name for name in names if name in quorate.__all__]
        if exported:
            yield from ["", f"## {heading}"]
        for name in exported:
            yield from _entry(f"quorate.{name}", getattr(quorate, name))


def _entry(name: str, thing: Any) -> Iterator[str]:
    if inspect.ismodule(thing):
        yield from ["", f"### {name}", ""]
        yield from _docstring(thing)
        for member, value in sorted(vars(thing).items()):
            ours = getattr(value, "__module__", "").startswith(thing.__name__)
            if not member.startswith("_") and ours and (inspect.isfunction(value) or inspect.isclass(value)):
                yield f"- `{name}.{member}`: {_summary(value)}"
        return
    yield from ["", f"### {name}", ""]
    if inspect.isfunction(thing):
        yield from ["```text", _folded(f"{name}{_signature(thing)}"), "```", ""]
    yield from _docstring(thing)
    if inspect.isclass(thing):
        yield from _members(thing)


def _members(thing: type) -> Iterator[str]:
    """List the fields of a class in a line, and its methods and properties one by one."""
    if is_dataclass(thing):
        named = ", ".join(f"`{field.name}`" for field in fields(thing) if not field.name.startswith("_"))
        yield from [f"Fields: {named}.", ""]
    for member, value in vars(thing).items():
        what = getattr(value, "func", getattr(value, "fget", getattr(value, "__func__", value)))
        if not member.startswith("_") and inspect.isfunction(what):
            called = _signature(what) if what is value or isinstance(value, classmethod | staticmethod) else ""
            yield f"- `.{member}{called}`: {_summary(what)}"


def _summary(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def _signature(function: Any) -> str:
    """Write a signature with short names, the same on every version of Python."""
    text = str(_with_keywords(function))
    text = re.sub(r"\bself, |\bself\b|\bcls, |\bcls\b", "", text)
    text = re.sub(r"numpy\.ndarray\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]", "array", text)
    text = re.sub(r"(quorate\.[a-z_.]*\.|pyarrow\.lib\.|collections\.abc\.|typing\.|pathlib\.(_local\.)?)", "", text)
    text = re.sub(r"Union\[str, os\.PathLike\[str\], .*?NoneType\]", "Source", text)
    return re.sub(r"(-> )'([\w.]+)'", r"\1\2", text)


def _with_keywords(function: Any) -> inspect.Signature:
    """Show the keywords that a function takes as one TypedDict, where its docstring explains each of them."""
    signature = inspect.signature(function)
    *others, last = list(signature.parameters.values()) or [None]
    if last is None or last.kind is not inspect.Parameter.VAR_KEYWORD or last.annotation is Any:
        return signature
    if "\n    task: " not in (inspect.getdoc(function) or ""):
        return signature.replace(parameters=[*others, last.replace(annotation=inspect.Parameter.empty)])
    hints = get_type_hints(get_args(last.annotation)[0])
    keywords = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(ReadOptions)
        if field.name in hints
    ]
    return signature.replace(parameters=[*others, *keywords])


def _folded(text: str, width: int = 88) -> str:
    """Write a long signature one argument a line."""
    if len(text) <= width:
        return text
    arguments = inspect.cleandoc(text)
    depth = 0
    lines = []
    line = ""
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        line += letter
        if (letter == "(" and depth == 1) or (letter == "," and depth == 1):
            lines.append(line.strip())
            line = ""
    body, end = line.rsplit(")", 1)
    inside = [*lines[1:], body.strip() + ","]
    return "\n".join([lines[0], *(f"    {each}" for each in inside), f"){end}"])


def _docstring(thing: Any) -> Iterator[str]:
    """Turn a docstring into Markdown: its example in a block of its own, its arguments as a list."""
    for part in (inspect.getdoc(thing) or "").split("\n\n"):
        if part.lstrip().startswith(">>>"):
            yield from ["```pycon", part, "```", ""]
        elif part.startswith(("Args:", "Attributes:", "Raises:", "Returns:")):
            kind, *lines = part.split("\n")
            entries = re.sub(r"\n\s{4,}", " ", "\n".join(line[4:] for line in lines)).split("\n")
            yield from [f"**{kind}**", ""]
            yield from (f"- `{e.split(':', 1)[0]}`:{e.split(':', 1)[1]}" if ":" in e else f"- {e}" for e in entries)
            yield ""
        else:
            yield from [part, ""]


def main() -> int:
    """Rewrite what is out of date, or only say so."""
    check = "--check" in sys.argv
    problems = 0
    for path, make in {DOCS / "commands.md": commands_page, DOCS / "api.md": api_page}.items():
        name = path.relative_to(DOCS.parent)
        wanted = make()
        if path.exists() and path.read_text() == wanted:
            continue
        sys.stdout.write(f"{name} {'is out of date' if check else 'rewritten'}\n")
        if check:
            problems += 1
        else:
            path.write_text(wanted)
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
