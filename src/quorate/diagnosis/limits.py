"""What must hold of answers before they may go on: limits, given one by one or in a TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from quorate.addresses import render_address
from quorate.diagnosis.finding import KINDS
from quorate.errors import OptionError, UnreadableFileError, WrongFormatError, listing
from quorate.reading.inputs import record_input

# What a limit on findings may name besides a kind: several kinds that are one to a user.
FAMILIES = {
    "copying": ("copying-group", "agreeing-pair", "agreeing-cluster"),
    "any": KINDS,
}
LEAST = {"min_alpha": -1.0, "min_kappa": -1.0, "min_ac1": -1.0}  # the others are shares, or counts


@dataclass(frozen=True)
class Limits:
    """Limits of a batch of answers; None for what may be as it is.

    >>> Limits(min_alpha=0.6, fail_on=("copying",)).kinds
    ('copying-group', 'agreeing-cluster', 'agreeing-pair')
    """

    min_alpha: float | None = None  # Krippendorff's alpha
    min_kappa: float | None = None  # Fleiss' kappa
    min_ac1: float | None = None  # Gwet's AC1
    min_agreement: float | None = None  # percent agreement
    min_answers: float | None = None  # a task, on average
    max_error: float | None = None  # labels expected to be wrong
    max_unsure: float | None = None  # labels less sure than `sure`
    max_undetermined: float | None = None  # workers whose skill is not determined
    min_reliability: float | None = None  # of the scores, where labels are numbers: consistency of the mean
    max_half_width: float | None = None  # of the intervals of scores, median
    sure: float = 0.9
    fail_on: tuple[str, ...] = ()  # kinds of findings, or families of them

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            if value is None:
                continue
            most = float("inf") if name in ("min_answers", "max_half_width") else 1.0
            least = LEAST.get(name, 0.0)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                between = f"between {least:g} and {most:g}" if most < 2 else f"of {least:g} or more"
                raise OptionError(f"{flag(name)} is a number {between}, not {value!r}")
        for kind in self.fail_on:
            if kind not in (*KINDS, *FAMILIES):
                raise OptionError(
                    f"{flag('fail_on')} knows no finding {kind!r}; there are {', '.join((*KINDS, *FAMILIES))}"
                )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind of finding that fails."""
        named = {kind for each in self.fail_on for kind in FAMILIES.get(each, (each,))}
        return tuple(kind for kind in KINDS if kind in named)

    def any_of(self, *names: str) -> bool:
        """Whether one of these is set."""
        return any(getattr(self, name) is not None for name in names)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.fail_on and not self.any_of(*(name for name in NUMBERS if name != "sure"))


NUMBERS = tuple(field.name for field in fields(Limits) if field.name != "fail_on")


def flag(name: str) -> str:
    """Return how the command line calls a limit.

    >>> flag("min_alpha")
    '--min-alpha'
    """
    return f"--{name.replace('_', '-')}"


def limits_of(given: Mapping[str, Any], file: str | Path | None = None) -> Limits:
    """Put limits together: those given one by one count before those of a file.

    Args:
        given: by name; None for what was not said.
        file: a TOML file, its limits at the top or below ``[check]``.

    Raises:
        OptionError: there is no such limit, it makes no sense, or there is none at all.
        InputError: the file cannot be read.

    >>> limits_of({"min_alpha": 0.6, "max_error": None}).min_alpha
    0.6
    """
    found = Limits() if file is None else _named(_read(file), render_address(file))
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    found = replace(found, **said)
    if found.is_empty:
        raise OptionError(
            "say what must hold: --min-alpha .6, --max-error .1, --max-unsure .2, --fail-on spammer,copying, ... or a "
            "TOML file of such limits (--config)"
        )
    return found


def _read(file: str | Path) -> dict[str, Any]:
    record_input(file)
    name = render_address(file)
    try:
        content = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableFileError(f"cannot read {name}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongFormatError(f"{name} is no TOML file: {error}") from None
    table = content.get("check", content)
    if not isinstance(table, dict):
        raise WrongFormatError(f"{name}: [check] must be a table of limits, such as min-alpha = 0.6")
    return table


def _named(table: dict[str, Any], file: str) -> Limits:
    said: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in (*NUMBERS, "fail_on"):
            near = get_close_matches(name, (*NUMBERS, "fail_on"), 1)
            meant = f"; did you mean {near[0].replace('_', '-')}?" if near else ""
            known = listing([each.replace("_", "-") for each in (*NUMBERS, "fail_on")], 20)
            raise OptionError(f"{file} has {key!r}, which is no limit{meant} There are {known}")
        said[name] = kinds_of(value) if name == "fail_on" else value
    return Limits(**said)


def kinds_of(value: Any) -> tuple[str, ...]:
    """Read kinds of findings from a list, or from text with commas.

    >>> kinds_of("spammer, copying")
    ('spammer', 'copying')
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(each, str) for each in parts):
        raise OptionError(f"fail-on lists kinds of findings, such as spammer,copying; {value!r} is no such list")
    return tuple(each.strip() for each in parts if each.strip())
