"""Write the parts of docs/ that the code knows best: the options of every command, and the API.

    python tools/reference.py            # rewrite them
    python tools/reference.py --check    # say what is out of date, and exit with 1

A page docs/commands/NAME.md is written by hand, but for its tables of options, which stand between two marks.
docs/api.md is made from the docstrings altogether. A page about a command, or a name of the API, that the code does not
have is an error that says where to mend it, and nothing is written.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args, get_type_hints

import typer

import quorate
from quorate.cli.app import app
from quorate.io.options import ReadOptions

DOCS = Path(__file__).parent.parent / "docs"
MARKS = re.compile(r"<!-- options of (.+?) -->\n.*?<!-- end -->", re.DOTALL)

# What the API page shows: a heading, a sentence, and names that `quorate` offers.
API = [
    (
        "Reading and aggregating",
        ["read", "Answers", "aggregate", "Result", "load", "consensus", "Consensus", "inspect_reducer"],
    ),
    ("Numeric scores", ["rate", "Rating", "read_scores", "Scores", "compare_scores", "advise_scores"]),
    ("What is wrong, what next", ["diagnose", "Diagnosis", "read_times"]),
    (
        "How alike, what share, may it go on",
        ["agreement", "Agreement", "estimate", "Estimates", "check", "CheckReport"],
    ),
    ("Ranking by pairwise comparisons", ["rank", "Ranking"]),
    ("Whom to ask, what to label", ["advise", "Advice", "suggest_gold", "GoldAdvice"]),
    ("Collected by advice", ["adaptive_skills"]),
    (
        "Comparing and reporting",
        ["compare", "Comparison", "score", "Score", "log_loss", "calibration_error", "report", "Report"],
    ),
    ("Rank-one completion", ["complete_rank_one", "Completion"]),
    ("Streams", ["Ledger"]),
    ("Exports", ["read_export", "Export", "write_back", "write_table"]),
    ("Modules", ["simulate", "estimators", "backends", "charts", "theory"]),
]


def commands() -> dict[str, Any]:
    """Every command by its full name: 'aggregate', 'ledger add'."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            found |= {f"{name} {inner}": each for inner, each in command.commands.items()}
        else:
            found[name] = command
    return found


def page_of(command: str) -> Path:
    """Name the page that documents a command; the commands of a group share one."""
    return DOCS / "commands" / f"{command.split()[0]}.md"


def options_table(command: Any) -> str:
    """Show the arguments and options of a command as a Markdown table."""
    rows = ["| option | what it does | default |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        is_argument = parameter.param_type_name == "argument"
        names = parameter.metavar or parameter.name.upper() if is_argument else ", ".join(parameter.opts)
        kind = "NUMBER" if parameter.type.name.startswith(("int", "float")) else "TEXT"
        takes = "" if is_argument or parameter.is_flag else f" {parameter.metavar or kind}"
        default = parameter.default
        empty = default is None or default is False or default == () or "Sentinel" in type(default).__name__
        shown = "required" if parameter.required else "" if empty else f"`{default}`"
        told = getattr(parameter, "show_default", None)
        shown = told if isinstance(told, str) else shown  # a sentence, where the default depends
        about = (getattr(parameter, "help", None) or "").replace("|", "\\|")
        rows.append(f"| `{names}{takes}` | {about} | {shown} |")
    return "\n".join(rows)


class UnknownNameError(LookupError):
    """The documentation names what the code does not have."""


def with_options(text: str) -> str:
    """Fill in the tables between the marks of a page.

    Raises:
        UnknownNameError: a mark names a command that is not registered.
    """
    known = commands()

    def filled(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in known:
            raise UnknownNameError(
                f"there is no command {name!r}; register it in src/quorate/cli/app.py, or mend the mark"
            )
        return f"<!-- options of {name} -->\n{options_table(known[name])}\n<!-- end -->"

    return MARKS.sub(filled, text)


def api_page() -> str:
    """Make the API page."""
    return "\n".join(_api_lines()).rstrip() + "\n"


def _api_lines() -> Iterator[str]:
    yield "# API"
    yield ""
    yield "Made from the docstrings. Everything here is imported when it is first used: `import quorate` costs nothing."
    for heading, names in API:
        yield from ["", f"## {heading}"]
        for name in names:
            if not hasattr(quorate, name):
                raise UnknownNameError(f"quorate has no {name!r}; add it to src/quorate/__init__.py, or mend API here")
            yield from _entry(f"quorate.{name}", getattr(quorate, name))


def _entry(name: str, thing: Any) -> Iterator[str]:
    if inspect.ismodule(thing):
        yield from ["", f"### {name}", "", dedent(thing.__doc__ or "").strip(), ""]
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
    depth, lines, line = 0, [], ""
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
        elif part.startswith(("Args:", "Raises:", "Returns:")):
            kind, *lines = part.split("\n")
            entries = re.sub(r"\n\s{4,}", " ", "\n".join(line[4:] for line in lines)).split("\n")
            yield from [f"**{kind}**", ""]
            yield from (f"- `{e.split(':', 1)[0]}`:{e.split(':', 1)[1]}" if ":" in e else f"- {e}" for e in entries)
            yield ""
        else:
            yield from [part, ""]


def main() -> int:
    """Rewrite what is out of date, or only say so."""
    check, problems = "--check" in sys.argv, 0
    makers = {
        path: lambda path=path: with_options(path.read_text()) for path in sorted((DOCS / "commands").glob("*.md"))
    }
    for path, make in {**makers, DOCS / "api.md": api_page}.items():
        name = path.relative_to(DOCS.parent)
        try:
            wanted = make()
        except UnknownNameError as error:
            sys.stdout.write(f"{name}: {error}\n")
            problems += 1
            continue
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
