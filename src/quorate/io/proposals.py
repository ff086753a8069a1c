"""Write the command that reads a table as planned, for a shell or for Python."""

import csv
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from io import StringIO
from itertools import chain
from itertools import count as count_up
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorate.addresses import render_address
from quorate.errors import MissingColumnError, QuorateError, UnknownFormatError, count, in_shell, listing
from quorate.io.options import ReadOptions

if TYPE_CHECKING:
    from quorate.io.frame import Frame
    from quorate.io.plan import Plan

TABLE_OBJECT = "the table"  # name in messages of a table without a name, such as one in memory
ADVISED_GOLD = 30  # largest number of gold labels that a summary suggests
MIN_TASKS_ADVISED = 10  # with fewer tasks, gold labels show almost nothing (10 of 10 right: an accuracy of .72 or more)
# The option of the command line for each reading option.
FLAGS = {
    "column_names": "--columns",
    "task": "--task",
    "worker": "--worker",
    "label": "--label",
    "workers": "--workers",
    "worker_name": "--worker-name",
    "fold": "--fold",
    "gold_column": "--gold-column",
    "question": "--question",
    "tool": "--from",
    "multi": "--multi",
    "skip_missing": "--skip-missing",
    "on_conflict": "--on-conflict",
    "join_choices": "--multi",
    "keep_rejected": "--keep-rejected",
    "abstain": "--abstain",
    "classes": "--classes",
    "map": "--map",
    "merge_spellings": "--merge-spellings",
    "group": "--group",
    "judges": "--judges",
    "delimiter": "--delimiter",
    "encoding": "--encoding",
}
PURPOSES = {
    "rank": "To rank the things that were compared in pairs",
    "rate": "To combine numeric ratings into one score per task",
}
running_command: ContextVar[str] = ContextVar("the command that reads the answers", default="aggregate")


@cache
def has_command(name: str) -> bool:
    """Whether the command line has this command; each command is a module of `quorate.cli`.

    >>> has_command("aggregate"), has_command("no-such-command")
    (True, False)
    """
    return name.isidentifier() and find_spec(f"quorate.cli.{name}") is not None


def command_line(command: str, files: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a command line, quoted for a shell.

    >>> command_line("aggregate", ["my team.csv"], {"task": "Item ID", "skip_missing": True})
    "quorate aggregate 'my team.csv' --task 'Item ID' --skip-missing"
    """
    options = {**options, "join_choices": "join" if options.get("join_choices") else None}
    if options.get("format"):
        options["tool"] = ":".join(
            name for name in (options.get("tool"), options["format"]) if name not in (None, "auto")
        )
    words = ["quorate", command, *(f"./{name}" if name.startswith("-") and name != "-" else name for name in files)]
    for name, usual_flag in FLAGS.items():
        value = options.get(name)
        flag = "--score" if (command, name) == ("rate", "label") else usual_flag
        if value is True:
            words.append(flag)
        elif value is False and name == "judges":
            words.append("--no-judges")
        elif value not in (None, False, ()):
            text = value if isinstance(value, str) else join_labels(value)
            words += [f"{flag}={text}"] if text.startswith("-") else [flag, text]
    return shlex.join(words)


def join_labels(values: Iterable[Any]) -> str:
    """Return labels or names as a text separated by commas; a label with a comma is quoted.

    >>> join_labels(["yes, but", "no"])
    '"yes, but",no'
    """
    text = StringIO()
    csv.writer(text, lineterminator="").writerow([str(value) for value in values])
    return text.getvalue()


def source_as_typed(source: object, options: ReadOptions) -> str:
    """Return files and reading options, quoted for a shell; FILE instead of sources that cannot be typed again.

    >>> source_as_typed("my answers.csv", ReadOptions(task="item"))
    "'my answers.csv' --task item"
    """
    files: list[Any] = source if isinstance(source, list) else [source]
    is_typed = all(isinstance(file, str) and file != "-" and render_address(file) == file for file in files)
    chosen = options.non_default((*FLAGS, "format"))
    if chosen.get("delimiter") == ",":  # which is detected without the option
        del chosen["delimiter"]
    if not isinstance(chosen.get("map", ""), str):  # a Python mapping, which cannot be written as an option
        del chosen["map"]
    return command_line("", files if is_typed else ["FILE"], chosen).removeprefix("quorate '' ")


def python_call(files: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return the call of `quorate.read` that reads the files with these options.

    >>> python_call(["team.csv"], {"task": "Item ID"})
    "quorate.read('team.csv', task='Item ID')"
    """
    source = repr(files[0]) if len(files) == 1 else repr(list(files))
    if list(files) == [TABLE_OBJECT]:
        source = "table"
    return f"quorate.read({', '.join([source, *(f'{name}={value!r}' for name, value in options.items())])})"


def with_command(error: QuorateError, files: Sequence[str], options: Mapping[str, Any]) -> QuorateError:
    """Return an error that proposes how to read the files.

    >>> str(with_command(UnknownFormatError("a.csv is unclear"), ["a.csv"], {"task": "id"}))
    "a.csv is unclear. Run: quorate.read('a.csv', task='id')"
    """
    if not in_shell.get():
        error = type(error)(f"{error}. Run: {python_call(files, options)}".replace("?.", "?").replace("..", "."))
    error.commands = (command_line(running_command.get(), files, options),)
    error.proposal = dict(options)
    return error


def other_commands(plan: "Plan", files: Sequence[str], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands for other purposes that can be run on a table.

    Args:
        plan: how the table can be read.
        files: names of its files, as the user typed them.
        options: reading options; scores are read from the columns that they name.

    >>> from quorate.io.plan import Plan
    >>> plan = Plan("ratings", {"task": "item", "label": "rating"}, other_commands=("rate",))
    >>> list(other_commands(plan, ["a.csv"], plan.options))
    ['quorate rate a.csv --task item --score rating']
    >>> list(other_commands(Plan("long", other_commands=("rank",)), ["a.csv"], {"label": "judge_pick"}))
    ['quorate rank a.csv --winner judge_pick']
    """
    for name in plan.other_commands:
        if not has_command(name):
            continue
        if name != "rank":
            yield command_line(name, files, options)
            continue
        command = command_line("rank", files, {})
        winner = options.get("label")  # the column of answers has the winners
        yield f"{command} --winner {shlex.quote(winner)}" if isinstance(winner, str) else command


def refusal(frame: "Frame", plan: "Plan", files: Sequence[str]) -> QuorateError:
    """Return the error that describes the content of a table, and how to read it if it can be read.

    Args:
        frame: the table.
        plan: how the table can be read.
        files: names of its files, as the user typed them.

    >>> from quorate.io.plan import Plan
    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> print(refusal(frame_of(look({"a": [1]}), sample=True), Plan("nothing", problem="It is empty"), ["a.csv"]))
    It is empty
    """
    commands = tuple(other_commands(plan, files, plan.options))
    if plan.problem:
        error: QuorateError = UnknownFormatError(plan.problem)
        error.commands = commands
        return error
    what = "a table" if frame.shape in ("table", "no header") else f"JSON ({frame.shape})"
    subject = f"{frame.name} has" if frame.name == TABLE_OBJECT else f"{frame.name} is {what} with"
    parts = [
        f"{subject} "
        f"{count(frame.n_rows, 'row')}{' or more' if frame.is_sample else ''} and the columns "
        f"{listing(frame.columns, 8)}",
        *(f"{sentence[0].upper()}{sentence[1:]}" for sentence in plan.why),
        *(f"Warning: {warning}" for warning in plan.warnings),
    ]
    if plan.question:
        parts.append(plan.question)
    text = ". ".join(part.rstrip(".") for part in parts).replace("?. ", "? ")
    error = with_command(MissingColumnError(text), files, plan.options)
    error.commands = (*error.commands, *commands)
    return error


def advised_labels(n_tasks: int, *, has_models: bool = False) -> int:
    """Return the number of tasks that a summary suggests to label: a tenth, between 10 and 30; 0 for few tasks.

    If workers are language models, the number is 30 (or all tasks, if there are fewer), because with fewer labels the
    interval of the share of right labels is hardly narrower.

    >>> advised_labels(400), advised_labels(46), advised_labels(46, has_models=True), advised_labels(3)
    (30, 10, 30, 0)
    """
    if n_tasks < MIN_TASKS_ADVISED:
        return 0
    if has_models:
        return min(n_tasks, ADVISED_GOLD)
    return min(max(n_tasks // 10, MIN_TASKS_ADVISED), ADVISED_GOLD)


def new_file(name: str) -> str:
    """Return this name of a file or, if such a file exists, the first of name-2, name-3, ... that does not exist.

    >>> new_file("no-such-file.csv")
    'no-such-file.csv'
    """
    path = Path(name)
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count_up(2))
    return str(next(other for other in chain([path], numbered) if not other.exists()))
