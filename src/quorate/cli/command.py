"""The class of every command: help in panels with `--help-all`, old option names, early checks of outputs."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from quorate.errors import in_shell

MAIN = None  # the first panel of every command, which is named Options
INPUT = "Input"
CLEANING = "Cleaning"
PLAN = "What to plan"
LIMITS = "Limits"
METHOD = "Method"
OUTPUT = "Output"
ADVANCED = "Advanced"
FILES_AND_DATABASES = "Files and databases"
# The order of the panels in every help screen.
PANELS = (MAIN, INPUT, CLEANING, PLAN, LIMITS, METHOD, OUTPUT, ADVANCED, FILES_AND_DATABASES)
# Panels that only `--help-all` shows.
MORE = frozenset({CLEANING, ADVANCED, FILES_AND_DATABASES})


def option(usage: str, panel: str | None, help: str | None = None, *, default: Any = None, **settings: Any) -> Any:
    """Declare an option as the default of a parameter.

    Args:
        usage: how it is typed, as its help shows it: ``"--task COLUMN"``, or ``"-o, --output FILE"``.
        panel: of the help screen.
        help: what it does; None for an option that is hidden.
        default: its value if it was not given; ``...`` if it must be given.
        settings: others of ``typer.Option``.
    """
    *short, long = usage.split(", ")
    flag, _, metavar = long.partition(" ")
    return typer.Option(default, *short, flag, metavar=metavar or None, rich_help_panel=panel, help=help, **settings)


# An option of several commands, for an Annotated type. Its default is in the signature of each command.
shared_option = partial(option, default=...)


def declared(function: Callable[..., None]) -> list[Any]:
    """Return the options that a function declares, as typer makes them for a command."""
    holder = typer.Typer(add_completion=False)
    holder.command()(function)
    return list(typer.main.get_command(holder).params)


@cache
def _declared_once(function: Callable[..., None]) -> list[Any]:
    """Return the options that a function declares for several commands, which share these objects."""
    return declared(function)


def _print_help_all(ctx: typer.Context, is_asked: bool) -> None:
    if is_asked:
        command = ctx.command
        if isinstance(command, Command):
            command.shows_all = True
        typer.echo(command.get_help(ctx))
        raise typer.Exit


def _panel(parameter: Any) -> str | None:
    """Return the panel of the help screen that has an option; None for arguments and for the help options."""
    return getattr(parameter, "rich_help_panel", None)


def _declare_help_options(
    help_all: bool = option(
        "--help-all",
        MAIN,
        "Show all options and exit.",
        default=False,
        is_eager=True,
        expose_value=False,
        callback=_print_help_all,
    ),
) -> None:
    """Declare the option `--help-all`, which every command and group has."""


def _help_all(*, is_listed: bool) -> list[Any]:
    """Return the option `--help-all`; a help screen that shows all options does not list it."""
    parameters = declared(_declare_help_options)
    for parameter in parameters:
        parameter.hidden = not is_listed
    return parameters


class CommandGroup(TyperGroup):
    """A group of commands; without a command it prints its help, and it accepts `--help-all` as every command does."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        settings["params"] = [*(settings.get("params") or ()), *_help_all(is_listed=False)]
        super().__init__(*arguments, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without arguments, print the help."""
        return super().parse_args(ctx, args or ["--help"])


class Command(TyperCommand):
    """A command of `quorate`.

    A command has the options of its function and those of the functions in ``shared``, whose values are in ``ctx.obj``
    (a dict). Options of the panels in `MORE` and those in ``rare`` are listed by ``--help-all`` only.
    """

    shared: ClassVar[tuple[Callable[..., None], ...]] = ()
    left_out: ClassVar[frozenset[str]] = frozenset()  # names of shared options that this command does not take
    shown_panels: ClassVar[frozenset[str]] = frozenset()  # panels of `MORE` that its help shows
    # Whether it has the cleaning options of `quorate aggregate`; its help then refers to that command.
    cleans_as_aggregate: ClassVar[bool] = False
    rare_options: ClassVar[frozenset[str]] = frozenset()  # names of options of other panels that its help does not show

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        own_options = settings["params"]
        # If two functions declare an option, the later function overrides the earlier one.
        by_name = {parameter.name: parameter for function in self.shared for parameter in _declared_once(function)}
        shared = [parameter for name, parameter in by_name.items() if name not in self.left_out]
        self.shared_names = tuple(parameter.name for parameter in shared)
        self.shows_all = False
        options = sorted((*shared, *own_options), key=lambda option: PANELS.index(_panel(option)))
        self.hides_some = any(self._is_rare(option) for option in options)
        settings["params"] = [*options, *_help_all(is_listed=self.hides_some)]
        settings["help"] = _with_examples(settings["help"] or "")
        super().__init__(*arguments, **settings)

    def _is_rare(self, parameter: Any) -> bool:
        return _panel(parameter) in MORE - self.shown_panels or parameter.name in self.rare_options

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replace option names of earlier releases, with a warning for each; then parse."""
        from quorate.cli.renamed import current_arguments

        names: list[str] = []
        level = ctx
        while level.parent is not None:  # the program itself has none
            names.insert(0, str(level.info_name))
            level = level.parent
        arguments, warnings = current_arguments(" ".join(names), args)
        if warnings and "--help" not in args:
            from quorate.cli.terminal import print_lines

            print_lines([f"Warning: {warning}" for warning in warnings], error=True)
        return super().parse_args(ctx, arguments)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, with the rare options only for ``--help-all``."""
        if self.shows_all or not self.hides_some:
            super().format_help(ctx, formatter)
            return
        hidden: list[Any] = [
            parameter
            for parameter in self.params
            if self._is_rare(parameter) and not getattr(parameter, "hidden", False)
        ]
        cleaning = "\n\nOptions for cleaning the answers: quorate aggregate --help"
        epilog = self.epilog
        for parameter in hidden:
            parameter.hidden = True
        self.epilog = f"All options: {ctx.command_path} --help-all{cleaning if self.cleans_as_aggregate else ''}"
        try:
            super().format_help(ctx, formatter)
        finally:
            self.epilog = epilog
            for parameter in hidden:
                parameter.hidden = False

    def invoke(self, ctx: Any) -> Any:
        """Check the outputs, move the shared options to ``ctx.obj``, and run the command."""
        from quorate.cli.outputs import guarded_outputs

        # A repeatable option that was not given is an empty tuple; the function gets None.
        ctx.params = {name: None if value == () else value for name, value in ctx.params.items()}
        ctx.obj = {name: ctx.params.pop(name) for name in self.shared_names}
        token = in_shell.set(True)
        try:
            with guarded_outputs(self.params, {**ctx.obj, **ctx.params}):
                return super().invoke(ctx)
        finally:
            in_shell.reset(token)


def _with_examples(text: str) -> str:
    """Return a help text with the lines of each paragraph joined, and those of the examples unchanged."""
    description, mark, examples = text.partition("Examples:\n")
    before = "\n\n".join(" ".join(paragraph.split()) for paragraph in description.strip().split("\n\n"))
    if not mark:
        return before
    return f"{before}\n\n\b\nExamples:\n{examples.replace('[', chr(92) + '[')}"
