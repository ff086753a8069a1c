"""Outputs of one run: refused before anything is read where two have one path, or one cannot be written."""

import os
from collections.abc import Mapping
from pathlib import Path

from quorate.errors import OptionError, UnwritableFileError
from quorate.reading.inputs import local_path
from quorate.writing.whole import check_target, naming

STREAM = "-"  # standard output


def check_places(outputs: Mapping[str, str | Path | None]) -> None:
    """Refuse outputs that would replace each other, or could not be written.

    That no output replaces an input is for the writer to see to, which knows what was read.

    Args:
        outputs: what the user calls each (``-o``) and where it goes; None for one that was not asked for.

    Raises:
        OptionError: two outputs have one place.
        UnwritableFileError: the place is a folder or a read-only file, or there is no folder for it.

    >>> check_places({"-o": "labels.csv", "--workers-out": None})
    """
    taken: dict[tuple[object, ...], str] = {}
    for name, path in outputs.items():
        if path is None:
            continue
        if not str(path):
            raise OptionError(f"{name} names no file: what it was given is empty")
        place = _identity(path)
        if place in taken:
            what = "standard output" if path == STREAM else str(path)
            raise OptionError(
                f"{taken[place]} and {name} would both be written to {what}; give each a place of its own"
            )
        taken[place] = name
        if path != STREAM and "://" not in local_path(path):
            _check(path)


def _check(path: str | Path) -> None:
    with naming(path):  # a name may be too long even to ask
        check_target(path)
        has_folder = Path(os.path.realpath(local_path(path))).parent.is_dir()
    if not has_folder:
        raise UnwritableFileError(f"cannot write {path}: there is no such folder. Make it, or choose another")


def _identity(path: str | Path) -> tuple[object, ...]:
    """Tell files apart, whatever names and links lead to them; what can be written twice is never the same."""
    local = local_path(path)
    if local == STREAM or "://" in local:
        return (local,)
    try:
        found = os.stat(local)
    except OSError:
        return (os.path.realpath(local),)
    if not Path(local).is_file() and not Path(local).is_dir():  # /dev/null and its like
        return (object(),)
    return found.st_dev, found.st_ino
