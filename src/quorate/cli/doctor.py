"""`quorate doctor`: what a file is, which column is what, what can be done with it, and the commands."""

from typing import Annotated, Any

import typer

from quorate.cli.options import COLUMNS, FLAGS, Json, offering, one_source, read_options_of

# The options of reading that say which column is what; the others are for commands that use the answers.
OFFERED = (
    *("task", "worker", "label", "workers", "worker_name", "fold", "gold_column", "columns", "tool", "question"),
    *("input_format", "delimiter", "encoding"),
)
OWN = {
    "json": Json,
    "formats": Annotated[bool, typer.Option("--formats", help="List the tools and layouts that are read, and stop.")],
}


def _doctor(**given: Any) -> None:
    """Look at a file: what it is, which column is what, what you can do with it, and the commands.

    A large file is sampled, and the output says so. A file that cannot be read ends with exit code 2.
    """
    from quorate.cli.terminal import print_data, print_lines, showing_progress
    from quorate.errors import OptionError, UnreadableFileError
    from quorate.io.examine import FILE_TYPES, LAYOUTS, examine
    from quorate.io.exports.formats import FORMATS
    from quorate.io.write_table import to_json

    if given["formats"]:
        if given["json"]:
            listed = {name: {"about": each.about, "recognised_by": each.signs} for name, each in FORMATS.items()}
            print_data(to_json({"schema_version": 1, "tools": listed, "layouts": LAYOUTS, "files": FILE_TYPES}))
            return
        width = max(map(len, (*FORMATS, *LAYOUTS)))
        print_lines(["Tools (--from NAME if a file is not recognised):"])
        print_lines(
            f"  {name.ljust(width)}  {each.about}; recognised by {each.signs}" for name, each in FORMATS.items()
        )
        print_lines(["", "Layouts of tables:"])
        print_lines(f"  {name.ljust(width)}  {about}" for name, about in LAYOUTS.items())
        print_lines(["", f"Files: {FILE_TYPES}"])
        return
    source = one_source(given["file"])
    if source is None:
        raise OptionError("give FILE: the file to look at; --formats lists what can be read")
    with showing_progress():
        found = examine(source, read_options_of(given))
    if given["json"]:
        print_data(to_json(found.to_dict()))
    else:
        print_lines(found.lines())
    if found.outcome == "unreadable":
        raise UnreadableFileError(found.reason)


def _parameters() -> list[Any]:
    import inspect

    own = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in OWN.items()
    ]
    assert set(COLUMNS) <= set(OFFERED)
    return [FLAGS["file"], *(FLAGS[name] for name in OFFERED), *own]


_doctor.__name__ = "doctor"
doctor = offering(_parameters(), _doctor)
