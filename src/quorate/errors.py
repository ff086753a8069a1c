"""Exceptions, and functions that write messages: each names the rows, what is wrong with them, and the remedy."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, TypeVar

from quorate.addresses import hide_secrets, render_addresses

MAX_MESSAGE = 800  # characters: ten lines of a terminal
# Smallest `difflib` ratio of two names for which one is suggested for the other; 'noise' and 'nonsense' have .62.
MIN_SIMILARITY = 0.65
LONGEST_VALUE = 60  # characters of a value in a message, which are enough to find it
# Characters that a terminal does not show: control characters, changes of direction, incomplete characters.
UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


class QuorateError(Exception):
    """Base class of all errors that this package raises."""

    commands: tuple[str, ...] = ()  # shell commands to run next; the command line prints them
    proposal: dict[str, Any] | None = None  # reading options in the first command
    questions: tuple[str, ...] = ()  # questions of an export, if one must be chosen, by name or number (from 1)
    look_at: str = ""  # command that examines the file of the error

    def __init__(self, message: str = "", *arguments: object) -> None:
        # Passwords are replaced before the message is cut, because a part of an address may not be recognised.
        message = render_addresses(in_python(message))
        # The code that writes messages shortens values; this is for the other cases, such as a long file name.
        super().__init__(message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…", *arguments)


AnyError = TypeVar("AnyError", bound=QuorateError)


class OptionError(QuorateError, ValueError):
    """An option has an invalid value, or has no effect here."""


class ArgumentError(OptionError, TypeError):
    """An argument of a function has a wrong type, or does not exist."""


class UnknownNameError(OptionError):
    """A name is not in the list of allowed names."""


class UnknownMethodError(UnknownNameError):
    """No method has this name."""


class UnknownDatasetError(UnknownNameError):
    """No data set has this name."""


class NotInMemoryError(OptionError):
    """The answers are in an engine, and the operation needs them in memory."""


class ServiceError(QuorateError):
    """The server of another program cannot be reached, or refuses the request."""


class InputError(QuorateError, ValueError):
    """The data cannot be used in this form."""


class UnreadableFileError(InputError):
    """The file does not exist, is a folder, or is not readable."""


class EmptyFileError(InputError):
    """The file is empty (0 bytes)."""


class NoRowsError(InputError):
    """There are no rows or no answers that can be used."""


class UnknownFormatError(InputError):
    """The format of a file or object is not clear from its name or content."""


class PairwiseFileError(UnknownFormatError):
    """The file has pairwise comparisons, which `quorate rank` takes, not one label per task."""


class WrongFormatError(InputError):
    """The file is not in the format of its name."""


class NotUtf8Error(InputError):
    """The file has bytes that are not text in the expected encoding."""


class StrayQuoteError(InputError):
    """A quoted field is never closed, or has text after its closing quote."""


class RaggedRowsError(InputError):
    """Some rows have more or fewer fields than the header."""


class MissingColumnError(InputError):
    """A named column is missing or occurs twice, or it is not clear which column to use."""


class ColumnTypeError(InputError):
    """A column has values that cannot be used, such as lists or records as ids."""


class MissingFieldError(InputError):
    """Some rows have no task, worker or label."""


class BlankFieldError(MissingFieldError):
    """A field is empty, or contains only white space."""


class NanLabelError(MissingFieldError):
    """A label is NaN."""


class ConflictingAnswersError(InputError):
    """A worker gave two different labels to one task."""


class GoldError(InputError):
    """The known labels do not fit the answers."""


class UnknownGoldTaskError(GoldError):
    """A known label is for a task without answers."""


class UnknownGoldClassError(GoldError):
    """A known label is a class that no worker gave."""


class ConflictingGoldError(GoldError):
    """A task has two different known labels."""


class ScoreError(InputError):
    """A score is not a number, or the scores do not determine the result."""


class MapError(InputError):
    """The table that maps answers to classes cannot be used."""


class CostError(InputError):
    """The table of costs of wrong labels cannot be used."""


class ConflictingGroupsError(InputError):
    """A worker is in two groups."""


class UndeterminedError(InputError):
    """The data are readable, but do not determine the result (exit code 3)."""


class UnwritableFileError(QuorateError):
    """A result cannot be written to its file."""


class TooLargeError(QuorateError):
    """The data or the method would need more memory than is allowed."""


class LedgerFileError(InputError):
    """The file is not a ledger, is incomplete or damaged, or was written by a newer version."""


class EngineError(QuorateError):
    """A database or cluster with the answers is not installed, does not respond, or failed."""


@contextmanager
def about_argument(argument: str) -> Iterator[None]:
    """Within the block, add the name of a Python argument to errors that do not name it.

    On the command line, nothing is added, because messages name the file.

    >>> with about_argument("truth= (--truth)"):
    ...     raise InputError("column 'label' holds lists")
    Traceback (most recent call last):
    quorate.errors.InputError: truth=: column 'label' holds lists
    """
    try:
        yield
    except QuorateError as error:
        name = in_python(argument)
        if not in_shell.get() and name not in str(error):
            error.args = (f"{name}: {error}", *error.args[1:])
        raise


@contextmanager
def argument_called(argument: str, name: str) -> Iterator[None]:
    """Within the block, replace the name of an argument in errors by its name in the function that the user called.

    >>> with argument_called("gold=", "true_labels="):
    ...     raise InputError("gold= is empty")
    Traceback (most recent call last):
    quorate.errors.InputError: true_labels= is empty
    """
    try:
        yield
    except QuorateError as error:
        error.args = (str(error).replace(argument, name), *error.args[1:])
        raise


def shown(value: object, most: int = LONGEST_VALUE) -> str:
    r"""Return a value for a message: text in quotes, with invisible characters escaped; a long value is cut.

    >>> print(shown("cat\x1b[2J"), shown(7), shown("a" * 1000, 5))
    'cat\x1b[2J' 7 'aaaaa'… (1,000 characters)
    """
    if isinstance(value, str):
        value = render_addresses(value)  # before it is cut
    if isinstance(value, str | bytes):
        if len(value) <= most:
            return repr(value)
        unit = "characters" if isinstance(value, str) else "bytes"
        return f"{value[:most]!r}… ({len(value):,} {unit})"
    try:
        text = repr(value)
    except ValueError:  # a number with more digits than Python converts to text
        text = f"a {type(value).__name__} of many digits"
    return text if len(text) <= most else f"{text[:most]}…"


def in_quotes(text: str, most: int = LONGEST_VALUE) -> str:
    """Return a label in quotes without escapes; a long one is cut.

    >>> in_quotes("cat"), in_quotes("a" * 1000, 5)
    ('"cat"', '"aaaaa…"')
    """
    return f'"{text}"' if len(text) <= most else f'"{text[:most]}…"'


# The error about an unknown option of a method.
NO_ARGUMENT = re.compile(r"\w+\(\) has no argument (\w+)=; did you mean (\w+)=\?")


def visible(text: str) -> str:
    r"""Return a text with control and other invisible characters escaped, so that ids cannot control a terminal.

    >>> print(visible("ann\x1b]0;x\x07, été"))
    ann\x1b]0;x\x07, été
    """
    return UNSHOWN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def reason(error: BaseException, most: int = 150) -> str:
    r"""Return the message of another library's error as one short line, without secrets.

    >>> reason(ValueError("no number\nat all"))
    'no number'
    """
    lines = str(error).strip().splitlines()
    text = visible(hide_secrets(lines[0].strip())) if lines else type(error).__name__
    return text if len(text) <= most else f"{text[:most]}…"


def listing(items: Iterable[object], most: int = 5, write: Callable[[object], str] = shown) -> str:
    """Return the first items separated by commas, and the number of the others.

    >>> listing(["a", "b", "c"], most=2), listing(["a", "b"], write=str)
    ("'a', 'b' and 1 more", 'a, b')
    """
    items = list(items)
    text = ", ".join(write(item) for item in items[:most])
    return f"{text} and {len(items) - most:,} more" if len(items) > most else text


# Pattern of a command or an option in a message -> the Python call or argument that replaces it.
IN_PYTHON = (
    (r"`quorate (?:aggregate|rate) --workers-out`", "`quorate.write_table(result.workers, path)`"),
    (r"\(--engine duckdb\)", "(`quorate.backends`)"),
    (r"`quorate advise --expert`", "`quorate.suggest_gold`"),
    (r"`?quorate advise(?: FILE)? --expert (\d+)`?", r"`quorate.suggest_gold(answers, \1)`"),
    (r"`quorate advise --budget N`", "`quorate.advise(answers, N)`"),
    (r"`quorate (diagnose|report|aggregate)`", r"`quorate.\1(answers)`"),
    (r"--json lists all", "`findings` lists all"),
    (r"that --json lists", "that `repair` lists"),
    (r"--gold FILE, with", "gold=, with"),
)
# Any other command: its name, a file, and options with at most one value each.
WORD = r"(?:'[^']*'|[^\s`'\",;:()]*[^\s`'\",;:().])"
COMMAND = re.compile(
    r"`?\bquorate (aggregate|rate|rank|estimate|diagnose|advise|agreement|compare|check|report)"
    rf"( (?!--){WORD})?((?: --[a-z-]+(?: (?!--){WORD})?)+)`?"
)
# Options whose Python argument is not the option's name with underscores.
ARGUMENT_OF = {
    "from": "tool=",
    "columns": "column_names=",
    "known-workers": "skills=",
    "json": "to_dict()",
    "no-judges": "judges=False",
    "skip-missing": "skip_missing=True",
    "merge-spellings": "merge_spellings=True",
    "keep-rejected": "keep_rejected=True",
    "ordered": "ordered=True",
    "same-scale": "same_scale=True",
    "drop-self": "drop_self=True",
    "covariate": "covariates=",
    "system": "systems=",
    "pair": "pairs=",
    "duration": "durations=",
    "time": "times=",
}
in_shell: ContextVar[bool] = ContextVar("in_shell", default=False)  # whether messages are for the command line


# Python arguments before the same options: "skip_missing=True (--skip-missing)", "task=, worker= (--task, --worker)";
# and both in one pair of brackets: "(gold=, --gold)".
ARGUMENT = r"[a-z_]+=(?:'[^'\s]*'|True|False)?"
ARGUMENT_BEFORE_OPTION = re.compile(rf"\b{ARGUMENT}(?:(?:, | or | and ){ARGUMENT})* \((--[a-z][^()]*)\)")
# An argument with its values: "on_conflict='first' or 'last' (--on-conflict)".
CHOICES = re.compile(r"\b[a-z_]+=((?:'\w+'(?:, | or ))+'\w+') \((--[a-z-]+)\)")
ARGUMENT_IN_BRACKETS = re.compile(rf"\({ARGUMENT}, (--[a-z])")
# The same patterns, of which the arguments remain and the options are removed; and options without an argument.
OPTION_AFTER_ARGUMENT = re.compile(
    rf"(\b{ARGUMENT}(?:(?:, | or | and ){ARGUMENT})*|\b[a-z_]+=(?:'\w+'(?:, | or ))+'\w+'|\b[a-z_]+=\[[^][]*\])"
    r" \(--[a-z][^()]*\)"
)
OPTION_IN_BRACKETS = re.compile(rf"\(({ARGUMENT}), --[a-z][^()]*\)")
OPTION_ALONE = re.compile(r"(?<![\w'\"=-])--([a-z][a-z0-9-]*[a-z0-9]|[a-z])(?![\w'\"-])(?: (?=\d))?")


def for_shell(text: str) -> str:
    """Return a text with either the Python arguments or the command-line options, where it names both.

    >>> text = "leave such rows out with skip_missing=True (--skip-missing), or give known labels (gold=, --gold)"
    >>> for_shell(text)
    'leave such rows out with skip_missing=True, or give known labels (gold=)'
    >>> token = in_shell.set(True)
    >>> for_shell(text)
    'leave such rows out with --skip-missing, or give known labels (--gold)'
    >>> in_shell.reset(token)
    """
    if not in_shell.get():
        return OPTION_IN_BRACKETS.sub(r"(\1)", OPTION_AFTER_ARGUMENT.sub(r"\1", text))
    text = text.replace(" or True or False", "")  # on the command line, the value is a word
    text = NO_ARGUMENT.sub(r"there is no option '\1'; did you mean \2?", text)
    text = CHOICES.sub(lambda match: f"{match[2]} {match[1].replace(chr(39), '')}", text)
    return ARGUMENT_IN_BRACKETS.sub(r"(\1", ARGUMENT_BEFORE_OPTION.sub(r"\1", text))


def in_python(text: str) -> str:
    """Return a text with Python functions and arguments instead of commands and options, except on the command line.

    >>> in_python("label some yourself (`quorate advise --expert 30`)")
    'label some yourself (`quorate.suggest_gold(answers, 30)`)'
    >>> in_python("leave such rows out with skip_missing=True (--skip-missing), or give 5 known labels (gold=, --gold)")
    'leave such rows out with skip_missing=True, or give 5 known labels (gold=)'
    >>> in_python("--max-error is a number; --plan 0.05 says how many; run: quorate rate FILE --score label")
    "max_error= is a number; plan=0.05 says how many; run: `quorate.rate(answers, score='label')`"
    """
    if in_shell.get():
        return for_shell(text)
    if "--" not in text and "quorate " not in text:
        return text
    for pattern, replacement in IN_PYTHON:
        text = re.sub(pattern, replacement, text)
    text = OPTION_IN_BRACKETS.sub(r"(\1)", OPTION_AFTER_ARGUMENT.sub(r"\1", text))
    text = COMMAND.sub(_as_call, text)
    return OPTION_ALONE.sub(lambda match: ARGUMENT_OF.get(match[1], f"{match[1].replace('-', '_')}="), text)


def _as_call(match: re.Match[str]) -> str:
    """Return a matched command as a call of the function with the same name."""
    name, file, options = match.groups()
    values = []
    for option, value in re.findall(rf" --([a-z-]+)(?: (?!--)({WORD}))?", options):
        if option != "help":
            argument = ARGUMENT_OF.get(option, f"{option.replace('-', '_')}=")
            number = re.fullmatch(r"[\d.]+", value)
            if not value:
                values.append(f"{argument}True")
            else:
                values.append(f"{argument}{value if number else repr(value.strip(chr(39)))}")
    if file is None:
        source = ["answers"] if values else []
    else:
        source = ["answers" if file.strip() == "FILE" else repr(file.strip().strip("'"))]
    return f"`quorate.{name}({', '.join([*source, *values])})`" if source or values else f"`quorate.{name}`"


def refuse_with_result(options: Mapping[str, object]) -> None:
    """Refuse options for reading or aggregating, if a result is given instead of answers.

    Raises:
        OptionError: an option is not None.

    >>> refuse_with_result({"task": None, "gold": None})
    """
    options_set = [name for name, value in options.items() if value is not None]
    if options_set:
        raise OptionError(
            f"{options_set[0]}= has no effect on a result that is already aggregated. Leave it out, or give the answers"
        )


def refuse_unknown_options(names: Iterable[str], allowed: Sequence[str], purpose: str = "") -> None:
    """Refuse names of options that are not known.

    Args:
        names: names of options.
        allowed: all allowed names.
        purpose: what the options are for, with a space before it, for the message.

    Raises:
        OptionError: a name is not known.

    >>> refuse_unknown_options(["task"], ["task", "worker"])
    """
    for name in names:
        if name not in allowed:
            raise OptionError(f"there is no option {name!r}{purpose}; there are {', '.join(allowed)}")


def not_installed(
    purpose: str,
    package: str,
    install: str,
    *,
    instead: str = "",
    error: type[AnyError] = QuorateError,  # type: ignore[assignment]
) -> AnyError:
    """Return the error about an optional package, with the command that installs it.

    Args:
        purpose: what needs the package, as the subject of a sentence.
        package: name of the package.
        install: the extra of Quorate in brackets, or the name for pip.
        instead: what the user can do without the package.
        error: class of the error.

    >>> not_installed("drawing", "altair", "[report]")
    QuorateError("drawing needs altair, which is not installed: pip install 'quorate[report]'")
    """
    target = f"'quorate{install}'" if install.startswith("[") else install
    otherwise = f". Or {instead}" if instead else ""
    return error(f"{purpose} needs {package}, which is not installed: pip install {target}{otherwise}")


def check_level(level: float) -> float:
    """Return the level of an interval; refuse a level that is not between 0 and 1.

    Raises:
        OptionError: the level is not between 0 and 1.

    >>> check_level(0.9)
    0.9
    """
    if not 0 < level < 1:
        raise OptionError(f"level= (--level) must lie between 0 and 1 (for example 0.95), got {level:g}")
    return float(level)


def check_positive(**options: float) -> None:
    """Refuse options of a method that are not positive numbers.

    Raises:
        OptionError: an option is not positive and finite.

    >>> check_positive(margin=1.0)
    """
    for name, value in options.items():
        if not 0 < value < float("inf"):
            raise OptionError(f"The option {name} must be a positive number, got {value}")


def check_at_least_one(**options: int) -> None:
    """Refuse options of a method that are less than 1, such as numbers of rounds or starts.

    Raises:
        OptionError: an option is less than 1.

    >>> check_at_least_one(rounds=1)
    """
    for name, value in options.items():
        if value < 1:
            raise OptionError(f"The option {name} must be at least 1, got {value}")


def check_delta(delta: float) -> None:
    """Refuse a failure probability of a bound that is not between 0 and 1.

    Raises:
        OptionError: it is not between 0 and 1.

    >>> check_delta(0.05)
    """
    if not 0 < delta < 1:
        raise OptionError(f"delta= (--delta) must be between 0 and 1, got {delta}")


def count(n: int, noun: str) -> str:
    """Return a number with its noun: '1 task', '2 tasks', '3 classes'.

    >>> count(1, "class"), count(1200, "class")
    ('1 class', '1,200 classes')
    """
    if n == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith(("s", "ch")) else "s"
    return f"{n:,} {noun}{ending}"


def as_sentence(text: str) -> str:
    """Return a text with a capital letter (unless the first word is a name) and a full stop (unless after a command).

    A first word with other characters than small letters is taken for a name. A name of the user's data may be a plain
    word: put it in quotes or after a noun ("judge ann"), so that it is not changed.

    >>> as_sentence("there is no item 'z'"), as_sentence("answers.csv is empty")
    ("There is no item 'z'.", 'answers.csv is empty.')
    """
    first = text.partition(" ")[0]
    is_word = first.isalpha() and first.islower()
    return with_full_stop(f"{text[:1].upper()}{text[1:]}" if is_word else text)


def with_full_stop(text: str) -> str:
    """Return a text with a full stop, unless it ends with a command, which users copy.

    >>> with_full_stop("w7 guesses"), with_full_stop("To check: quorate advise a.csv --expert 10 -o expert.csv")
    ('w7 guesses.', 'To check: quorate advise a.csv --expert 10 -o expert.csv')
    """
    ends_with_command = text.rpartition(": ")[2].startswith(("quorate ", "quorate."))
    return text if text.endswith((".", "!", "?")) or ends_with_command else f"{text}."


def rows_phrase(rows: Sequence[int], most: int = 5) -> str:
    """Return 'row 3' or 'rows 3, 17 and 40 more'; rows are numbered from 0 here, and from 1 in the text.

    >>> rows_phrase([2])
    'row 3'
    >>> rows_phrase([2, 16, 30], most=2)
    'rows 3, 17 and 1 more'
    """
    head = ", ".join(f"{row + 1:,}" for row in rows[:most])
    rest = f" and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"row{'s' if len(rows) > 1 else ''} {head}{rest}"


def did_you_mean(name: str, names: Iterable[str], *, are_arguments: bool = False) -> str:
    """Return the question "Did you mean ...?" for a message, without regard to case; empty if no name is similar.

    Args:
        name: the name given.
        names: all allowed names.
        are_arguments: whether the names are Python arguments, written as ``seed=``; other names are in quotes.

    >>> did_you_mean("frist", ["first", "last"]), did_you_mean("XLS", ["csv", "xlsx"]), did_you_mean("x", ["first"])
    ("Did you mean 'first'?", "Did you mean 'xlsx'?", '')
    >>> did_you_mean("seeds", ["seed"], are_arguments=True)
    'Did you mean seed=?'
    """
    by_lower_case = {allowed.lower(): allowed for allowed in names}
    matches = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=MIN_SIMILARITY)
    if not matches:
        return ""
    nearest = by_lower_case[matches[0]]
    return f"Did you mean {nearest}=?" if are_arguments else f"Did you mean {shown(nearest)}?"


def unknown_name_error(
    value: str,
    allowed: Iterable[str],
    what: str,
    error: type[UnknownNameError] = UnknownNameError,
    *,
    lister: str = "",
) -> UnknownNameError:
    """Return the error about an unknown name, with the list of allowed names.

    Args:
        value: the name given.
        allowed: all allowed names.
        what: what the names denote: a noun, or a Python argument with its command-line option.
        error: class of the error.
        lister: command that lists the names, if they are too many for a message.

    >>> raise unknown_name_error("newest", ["first", "last"], "on_conflict= (--on-conflict)")
    Traceback (most recent call last):
    quorate.errors.UnknownNameError: on_conflict= has an unknown value 'newest'. Choose from first, last
    >>> raise unknown_name_error("frist", ["first", "last"], "order")
    Traceback (most recent call last):
    quorate.errors.UnknownNameError: Unknown order 'frist'. Did you mean 'first'? Choose from first, last
    """
    names = list(allowed)
    suggestion = did_you_mean(value, names)
    problem = f"{what} has an unknown value {shown(value)}" if "=" in what else f"Unknown {what} {shown(value)}"
    meant = f"{suggestion} " if suggestion else ""
    choices = f"To list all: {lister}" if lister else f"Choose from {', '.join(names)}"
    return error(f"{problem}. {meant}{choices}")
