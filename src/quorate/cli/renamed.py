"""Option names of release 0.2, which work for one more release: they are replaced before the arguments are parsed."""

from collections.abc import Sequence
from dataclasses import dataclass

from quorate.errors import OptionError


@dataclass(frozen=True)
class Renamed:
    """The replacement of an old option."""

    words: tuple[str, ...] = ()  # of the new command line, with {value} for the value
    takes_value: bool = True
    into: str = ""  # the option whose value includes the old one: --method in --method rank-one:tau=3
    key: str = ""  # the name of the setting there: tau
    base: str = ""  # the value of `into` before the colon, if the option is not given


def _option(new: str) -> Renamed:
    return Renamed((new, "{value}"))


def _method(key: str, *, takes_value: bool = True) -> Renamed:
    return Renamed(takes_value=takes_value, into="--method", key=key, base="quorate")


_READING = {
    "--input-format": Renamed(into="--from"),
    "--join-choices": Renamed(("--multi", "join"), takes_value=False),
    "--memory": Renamed(into="--engine", key="memory", base="duckdb"),
    "--temp": Renamed(into="--engine", key="temp", base="duckdb"),
    "--master": Renamed(into="--engine", key="master", base="spark"),
    "--connect": Renamed(("{value}",)),
}
_FORMAT = {"--format": _option("--output-format")}
_KNOWN_WORKERS = {"--skills": _option("--known-workers")}
_CONFIDENT = {"--sure": _option("--confident")}

RENAMED: dict[str, dict[str, Renamed]] = {
    "aggregate": {
        **_READING,
        **_FORMAT,
        **_KNOWN_WORKERS,
        "--posterior-out": Renamed(("--soft-labels-out", "{value}", "--long")),
        "--predictions-name": Renamed(into="--predictions"),
        "--cautious": _method("cautious", takes_value=False),
        "--dependence": _method("dependence"),
        **{f"--{name}": _method(name) for name in ("solver", "tau", "weighting", "threshold", "signs")},
        "--level": Renamed(into="--intervals", base="auto"),
    },
    "rate": {**{name: change for name, change in _READING.items() if name != "--join-choices"}, **_FORMAT},
    "rank": {
        **{name: change for name, change in _READING.items() if name != "--join-choices"},
        **_FORMAT,
        "--report": _option("--report-out"),
    },
    "diagnose": {**_READING, **_KNOWN_WORKERS},
    "agreement": {**_READING, **_FORMAT, "--ranked": _option("--classes")},
    "estimate": {**_READING, **_FORMAT},
    "check": {
        **_READING,
        **_CONFIDENT,
        **{f"--min-{name}": Renamed(("--min-agreement", f"{name}={{value}}")) for name in ("alpha", "kappa", "ac1")},
    },
    "advise": {**_READING, **_FORMAT},
    "report": {**_READING, **_CONFIDENT},
    "compare": _READING,
    "convert": {"--input-format": _READING["--input-format"], "--join-choices": _READING["--join-choices"]},
    "doctor": {"--input-format": _READING["--input-format"]},
    "labelstudio push": {"--agent": _option("--model-version")},
    "push": {"--agent": _option("--model-version")},
    "simulate": _FORMAT,
    "ledger add": {"--input-format": _READING["--input-format"]},
    "ledger show": _FORMAT,
}


def current_arguments(command: str, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments with the current option names, and a warning for each old name.

    Raises:
        OptionError: an old option has no value.

    >>> current_arguments("aggregate", ["a.csv", "--method", "rank-one", "--tau", "3"])
    (['a.csv', '--method', 'rank-one:tau=3'], ['--tau 3 is now --method rank-one:tau=3'])
    >>> current_arguments("check", ["a.csv", "--sure=0.8"])
    (['a.csv', '--confident', '0.8'], ['--sure is now --confident'])
    """
    renamed = RENAMED.get(command, {})
    current: list[str] = []
    warnings: list[str] = []
    merged: list[tuple[str, str, Renamed]] = []  # the words that were typed, the value, the replacement
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            current += [word, *rest]
            break
        flag, equals, value = word.partition("=")
        change = renamed.get(flag)
        if change is None:
            current.append(word)
            continue
        if change.takes_value and not equals:
            if not rest:
                raise OptionError(f"{flag} needs a value")
            value = rest.pop(0)
        if change.into:
            merged.append((f"{flag} {value}".strip(), value, change))
            continue
        new = [part.format(value=value) for part in change.words]
        current += new
        is_pair = len(new) == 2 and new[1] == value
        if flag == "--connect":
            warnings.append(f"give {value} in place of FILE; --connect is no longer needed")
        else:
            warnings.append(f"{flag} is now {new[0] if is_pair else ' '.join(new)}")
    for typed, value, change in merged:
        warnings.append(f"{typed} is now {_merge(current, value, change)}")
    return current, warnings


def _merge(words: list[str], value: str, change: Renamed) -> str:
    """Add an old option to the value of `change.into` in ``words``; return the new option with its value."""
    position = next((k for k, word in enumerate(words) if word.partition("=")[0] == change.into), None)
    if position is None:
        words += [change.into, change.base or value]
        if not change.base:
            return f"{change.into} {value}"
        position = len(words) - 2
    elif "=" in words[position]:
        words[position : position + 1] = list(words[position].partition("=")[::2])
    if position + 1 == len(words):
        raise OptionError(f"{change.into} needs a value")
    known = words[position + 1]
    if change.into == "--predictions":  # the name was a separate option
        words[position + 1] = f"{value}={known}"
    elif change.into == "--intervals":
        words[position + 1] = value if known == "auto" else f"{known},{value}"
    elif change.into == "--from":
        words[position + 1] = f"{known}:{value}"
    else:
        between = "," if ":" in known else ":"
        words[position + 1] = f"{known}{between}{change.key}{f'={value}' if change.takes_value else ''}"
    return f"{change.into} {words[position + 1]}"
