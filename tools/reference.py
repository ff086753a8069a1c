"""Write the parts of docs/ that the code knows best: the options of every command, and the API.

    python tools/reference.py            # rewrite them
    python tools/reference.py --check    # say what is out of date, and exit with 1

A page docs/commands/NAME.md is written by hand, but for its tables of options, which stand between two marks. docs/api.md
is made from the docstrings altogether.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import typer

import quorate
from quorate.cli import app

DOCS = Path(__file__).parent.parent / "docs"
MARKS = re.compile(r"<!-- options of (.+?) -->\n.*?<!-- end -->", re.DOTALL)

# What the API page shows: a heading, a sentence, and names that `quorate` offers.
API = [
    ("Reading and aggregating", ["read", "Answers", "aggregate", "majority_vote", "Result"]),
    ("What is wrong, what next", ["diagnose", "Diagnosis", "advise", "Advice"]),
    ("Streams", ["Ledger"]),
    ("Exports", ["read_export", "Export"]),
    ("Modules", ["simulate", "estimators", "warehouse", "charts"]),
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
    """The page that documents a command; the commands of a group share one."""
    return DOCS / "commands" / f"{command.split()[0]}.md"


def options_table(command: Any) -> str:
    """The arguments and options of a command as a Markdown table."""
    rows = ["| option | what it does | default |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        is_argument = parameter.param_type_name == "argument"
        names = parameter.metavar or parameter.name.upper() if is_argument else ", ".join(parameter.opts)
        takes = "" if is_argument or parameter.is_flag or not parameter.metavar else f" {parameter.metavar}"
        default = parameter.default
        empty = default is None or default is False or default == () or "Sentinel" in type(default).__name__
        shown = "required" if parameter.required else "" if empty else f"`{default}`"
        about = (getattr(parameter, "help", None) or "").replace("|", "\\|")
        rows.append(f"| `{names}{takes}` | {about} | {shown} |")
    return "\n".join(rows)


def with_options(text: str) -> str:
    """Fill in the tables between the marks of a page."""
    known = commands()

    def filled(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"<!-- options of {name} -->\n{options_table(known[name])}\n<!-- end -->"

    return MARKS.sub(filled, text)


def api_page() -> str:
    """The API page."""
    return "\n".join(_api_lines())


def _api_lines() -> Iterator[str]:
    yield "# API"
    yield ""
    yield "Made from the docstrings. Everything here is imported when it is first used: `import quorate` costs nothing."
    for heading, names in API:
        yield from ["", f"## {heading}"]
        for name in names:
            yield from _entry(f"quorate.{name}", getattr(quorate, name))


def _entry(name: str, thing: Any) -> Iterator[str]:
    if inspect.ismodule(thing):
        yield from ["", f"### {name}", "", dedent(thing.__doc__ or "").strip()]
        for member, value in sorted(vars(thing).items()):
            ours = getattr(value, "__module__", "").startswith(thing.__name__)
            if not member.startswith("_") and ours and (inspect.isfunction(value) or inspect.isclass(value)):
                summary = (inspect.getdoc(value) or "").split("\n")[0]
                yield f"\n- `{name}.{member}`: {summary}"
        return
    yield from ["", f"### {name}", ""]
    if inspect.isfunction(thing):
        yield from ["```text", f"{name}{_signature(thing)}", "```", ""]
    yield from _docstring(thing)
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            what = getattr(value, "func", getattr(value, "fget", getattr(value, "__func__", value)))
            if member.startswith("_") or not inspect.isfunction(what):
                continue
            called = _signature(what) if what is value or isinstance(value, classmethod | staticmethod) else ""
            yield f"- `.{member}{called}`: {(inspect.getdoc(what) or '').split(chr(10))[0]}"


def _signature(function: Any) -> str:
    text = str(inspect.signature(function))
    text = re.sub(r"\bself, |\bself\b|\bcls, ", "", text)
    return re.sub(r"(quorate\.[a-z_.]*\.|pyarrow\.lib\.|collections\.abc\.|typing\.)", "", text)


def _docstring(thing: Any) -> Iterator[str]:
    """A docstring as Markdown: its example in a block of its own, its arguments as a list."""
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
    wanted = {path: with_options(path.read_text()) for path in sorted((DOCS / "commands").glob("*.md"))}
    wanted[DOCS / "api.md"] = api_page().rstrip() + "\n"
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" not in sys.argv:
        for path in stale:
            path.write_text(wanted[path])
    for path in stale:
        sys.stdout.write(f"{path.relative_to(DOCS.parent)} {'is out of date' if '--check' in sys.argv else 'rewritten'}\n")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
