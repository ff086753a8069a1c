"""`quorate doctor`: the format of a file, the role of each column, and the commands that can be run on it."""

import typer

from quorate.cli.command import MAIN, Command, option
from quorate.cli.options import Json, declare_reading_options, one_source, read_options_of


class DoctorCommand(Command):
    """The command with the reading options that determine format and columns; the others need the answers."""

    shared = (declare_reading_options,)
    left_out = frozenset(
        {
            *("group", "judges", "on_conflict", "skip_missing", "abstain", "classes", "multi", "merge_spellings"),
            *("map", "keep_rejected"),
        }
    )


def doctor(
    ctx: typer.Context,
    *,
    formats: bool = option(
        "--formats", MAIN, "List the tools and layouts that Quorate reads, and stop.", default=False
    ),
    json: Json = False,
) -> None:
    """Look at a file: its format, the role of each column, what you can do with it, and the commands.

    A large file is sampled, and the output says so. A file that cannot be read ends with exit code 2.

    Examples:
      quorate doctor answers.csv
      quorate doctor --formats
    """
    from quorate.cli.terminal import print_json, print_lines, showing_progress
    from quorate.errors import OptionError, UnreadableFileError, for_shell
    from quorate.io.examine import FILE_TYPES, LAYOUTS, examine
    from quorate.io.exports.formats import FORMATS

    if formats:
        if json:
            listed = {name: {"about": tool.about, "recognised_by": tool.signs} for name, tool in FORMATS.items()}
            print_json({"tools": listed, "layouts": LAYOUTS, "files": FILE_TYPES})
            return
        width = max(map(len, (*FORMATS, *LAYOUTS)))
        print_lines(["Tools (use --from NAME if a file is not recognised):"])
        print_lines(
            f"  {name.ljust(width)}  {tool.about}. Recognised by {tool.signs}." for name, tool in FORMATS.items()
        )
        print_lines(["", "Layouts of tables:"])
        print_lines(f"  {name.ljust(width)}  {about}" for name, about in LAYOUTS.items())
        print_lines(["", f"Files: {FILE_TYPES}"])
        return
    source = one_source(ctx.obj["file"])
    if source is None:
        raise OptionError("No file is given. Example: quorate doctor answers.csv (--formats lists what Quorate reads)")
    with showing_progress():
        examination = examine(source, read_options_of(ctx.obj))
    if json:
        print_json(examination.to_dict())
    else:
        print_lines(map(for_shell, examination.lines()))
    if examination.outcome == "unreadable":
        raise UnreadableFileError(examination.reason)
