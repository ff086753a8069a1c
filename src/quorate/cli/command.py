"""The class of every command: help in panels with `--help-all`, old option names, outputs that are refused in time."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from quorate.errors import in_shell

INPUT = "Input"
CLEANING = "Cleaning"
METHOD = "Method"
LIMITS = "Limits"
OUTPUT = "Output"
ADVANCED = "Advanced"
DATABASES = "Files and databases"
# Panels that only `--help-all` shows.
MORE = frozenset({CLEANING, ADVANCED, DATABASES})


def declared(function: Callable[..., None]) -> list[Any]:
    """Return the options that a function declares, as typer makes them for a command."""
    holder = typer.Typer(add_completion=False)
    holder.command()(function)
    return list(typer.main.get_command(holder).params)


def _print_help_all(ctx: typer.Context, is_asked: bool) -> None:
    if is_asked:
        command = ctx.command
        assert isinstance(command, Command)
        command.shows_all = True
        typer.echo(command.get_help(ctx))
        raise typer.Exit


def _help_options(
    help_all: Annotated[
        bool,
        typer.Option(
            "--help-all",
            is_eager=True,
            expose_value=False,
            callback=_print_help_all,
            help="Show all options and exit.",
        ),
    ] = False,
) -> None:
    """Options of every command that has more options than its help shows."""


class Command(TyperCommand):
    """A command of `quorate`.

    The options of the functions in ``shared`` stand beside those of the command's function, which finds their values
    in ``ctx.obj`` (a dict). Options of the panels in `MORE` are listed by ``--help-all`` only.
    """

    shared: ClassVar[tuple[Callable[..., None], ...]] = ()
    left_out: ClassVar[frozenset[str]] = frozenset()  # names of shared options that this command does not take
    shown: ClassVar[frozenset[str]] = frozenset()  # panels of `MORE` that its help shows

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        own_options = settings["params"]
        # Of two functions that declare an option, the later one is right.
        by_name = {parameter.name: parameter for function in self.shared for parameter in declared(function)}
        shared = [parameter for name, parameter in by_name.items() if name not in self.left_out]
        self.shared_names = tuple(parameter.name for parameter in shared)
        self.shows_all = False
        self.hides_some = any(
            getattr(option, "rich_help_panel", None) in MORE - self.shown for option in (*own_options, *shared)
        )
        settings["params"] = [*shared, *own_options, *(declared(_help_options) if self.hides_some else ())]
        settings["help"] = _with_examples(settings["help"] or "")
        super().__init__(*arguments, **settings)

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
        """Print the help, with the panels of `MORE` only for ``--help-all``."""
        if self.shows_all or not self.hides_some:
            super().format_help(ctx, formatter)
            return
        hidden: list[Any] = [
            parameter
            for parameter in self.params
            if getattr(parameter, "rich_help_panel", None) in MORE - self.shown
            and not getattr(parameter, "hidden", False)
        ]
        cleaning = "" if CLEANING in self.shown else "\n\nOptions for cleaning the answers: quorate aggregate --help"
        epilog = self.epilog
        for parameter in hidden:
            parameter.hidden = True
        self.epilog = f"All options: {ctx.command_path} --help-all{cleaning if self._cleans() else ''}"
        try:
            super().format_help(ctx, formatter)
        finally:
            self.epilog = epilog
            for parameter in hidden:
                parameter.hidden = False

    def _cleans(self) -> bool:
        return any(getattr(parameter, "rich_help_panel", None) == CLEANING for parameter in self.params)

    def invoke(self, ctx: Any) -> Any:
        """Refuse outputs that would destroy something, hand the shared options on in ``ctx.obj``, and run."""
        from quorate.cli.outputs import guarded_outputs

        # A repeatable option that was not given is an empty tuple, and None as an argument of the function.
        ctx.params = {name: None if value == () else value for name, value in ctx.params.items()}
        ctx.obj = {name: ctx.params.pop(name) for name in self.shared_names}
        token = in_shell.set(True)
        try:
            with guarded_outputs(self.params, {**ctx.obj, **ctx.params}):
                return super().invoke(ctx)
        finally:
            in_shell.reset(token)


def _with_examples(text: str) -> str:
    """Join the lines of each paragraph of a help text, and keep the lines of its examples apart."""
    description, mark, examples = text.partition("Examples:\n")
    before = "\n\n".join(" ".join(paragraph.split()) for paragraph in description.strip().split("\n\n"))
    if not mark:
        return before
    return f"{before}\n\n\b\nExamples:\n{examples.replace('[', chr(92) + '[')}"
