"""Where outputs go: refused before anything is read or computed, where they would destroy something."""

import os
from collections.abc import Mapping
from pathlib import Path

from quorate.errors import OptionError, UnwritableFileError
from quorate.writing.whole import naming

STREAM = "-"  # standard input or output


def check_places(outputs: Mapping[str, str | Path | None], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that would replace an input or each other, or could not be written.

    Args:
        outputs: what the user calls each (``-o``) and where it goes; None for one that was not asked for.
        inputs: the same of the files that are read.

    Raises:
        OptionError: two outputs have one place, or one has the place of an input.
        UnwritableFileError: the place is a folder, or there is no folder for it.

    >>> check_places({"-o": "labels.csv", "--workers-out": None}, {"FILE answers.csv": "answers.csv"})
    """
    read = {_identity(path): name for name, path in inputs.items() if path not in (None, STREAM)}
    taken: dict[tuple[object, ...], str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if not str(path):
            raise OptionError(f"{name} names no file: what it was given is empty")
        place = _identity(path)
        if place in read:
            raise OptionError(f"{name} {path} would replace what is read, {read[place]}; choose another name")
        if place in taken:
            what = "standard output" if path == STREAM else str(path)
            raise OptionError(
                f"{taken[place]} and {name} would both be written to {what}; give each a place of its own"
            )
        taken[place] = name
        if path != STREAM:
            _check(path)


def _check(path: str | Path) -> None:
    with naming(path):  # a name may be too long even to ask
        if Path(path).is_dir():
            raise UnwritableFileError(f"cannot write {path}: it is a folder. Name a file")
        has_folder = Path(os.path.realpath(path)).parent.is_dir()
    if not has_folder:
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")


def _identity(path: str | Path | None) -> tuple[object, ...]:
    """Tell files apart, whatever names and links lead to them; what can be written twice is never the same."""
    if path is None or str(path) == STREAM:
        return (STREAM,)
    try:
        found = os.stat(path)
    except OSError:
        return (os.path.realpath(path),)
    if not Path(path).is_file() and not Path(path).is_dir():  # /dev/null and its like
        return (object(),)
    return found.st_dev, found.st_ino
