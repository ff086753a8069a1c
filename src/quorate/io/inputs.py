"""The files that one call reads, recorded where they are opened, so that no output of the call replaces one of them.

A call is one command, or one library function that reads and writes. `guard_inputs` opens its scope, whatever opens a
file calls `record_input`, and the writer (`quorate.io.atomic`) calls `refuse_input` before it replaces a file. A
file is recognised by its resolved path and by its device and inode, so that links and other spellings do not matter.
Outputs that are named when the scope opens are refused as soon as their file is read, before anything is computed.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from quorate.addresses import render_address
from quorate.errors import OptionError

FILE_URL = re.compile(r"file:(?://(?:localhost)?)?(?=/)")  # DuckDB's forms: file:///a, file://localhost/a, file:/a

Identity = str | tuple[int, int]  # the resolved path (or the address), or device and inode


@dataclass
class _Call:
    """What one call reads and writes. This object changes while the call runs."""

    inputs: dict[Identity, str] = field(default_factory=dict)  # with the name that the call used
    outputs: dict[Identity, str] = field(default_factory=dict)  # that were announced: option and path
    exempt: set[Identity] = field(default_factory=set)  # written by this call, or updated in place


_current: ContextVar[_Call | None] = ContextVar("inputs of the current call", default=None)


@contextmanager
def guard_inputs(outputs: Mapping[str, str | Path | None] | None = None) -> Iterator[None]:
    """Refuse, within the block, every output that would replace a file which the block has read.

    A block within another one shares its scope.

    Args:
        outputs: option -> path of the outputs that are known now, so that they are refused early.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, guard_inputs({"-o": f"{folder}/../{Path(folder).name}/a.csv"}):
    ...     Path(folder, "a.csv").touch()
    ...     record_input(f"{folder}/a.csv")
    Traceback (most recent call last):
    quorate.errors.OptionError: -o ...a.csv would overwrite ...a.csv, which is an input; choose another name
    """
    token = None if _current.get() is not None else _current.set(_Call())
    try:
        for option, path in (outputs or {}).items():
            if path is not None:
                announce_output(option, path)
        yield
    finally:
        if token is not None:
            _current.reset(token)


@contextmanager
def guard_nothing() -> Iterator[None]:
    """Within the block, record no file as an input: what is read there is a file that the call is to replace.

    >>> with guard_inputs(), guard_nothing():
    ...     is_guarding()
    False
    """
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def is_guarding() -> bool:
    """Whether a call is running whose inputs are recorded.

    >>> is_guarding()
    False
    """
    return _current.get() is not None


def announce_output(option: str, path: str | Path) -> None:
    """Name an output before it is written, so that it is refused as early as its file is known to be read.

    Raises:
        OptionError: the call has read that file.

    >>> announce_output("-o", "labels.csv")
    """
    call = _current.get()
    if call is not None:
        refuse_input(path, option)
        call.outputs |= dict.fromkeys(identities(path), f"{option} {render_address(path)}")


def record_input(path: str | Path, *, folder: bool = False) -> None:
    """Record a file that is about to be read, or the address of one in another place.

    Devices, pipes and files that are not there are not recorded: nothing can replace them.

    Args:
        path: of the file, or its address.
        folder: the input is a folder, which an output could replace.

    Raises:
        OptionError: the call has announced it as an output.

    >>> record_input("answers.csv")
    """
    call = _current.get()
    if call is not None and (folder or is_remote(path) or os.path.isfile(local_path(path))):
        _record(call, identities(path), render_address(path))


def record_stream(stream: IO[Any], name: str) -> None:
    """Record the file behind an open stream, where there is one: standard input may be redirected from a file.

    Raises:
        OptionError: the call has announced it as an output.

    >>> import io
    >>> record_stream(io.StringIO(), "standard input")
    """
    call = _current.get()
    if call is None:
        return
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # a stand-in that is no file
        return
    if stat.S_ISREG(status.st_mode):
        _record(call, {(status.st_dev, status.st_ino)}, name)


def refuse_input(path: str | Path, option: str = "") -> None:
    """Refuse an output that the current call has read as an input.

    Args:
        path: of the output, or its address.
        option: that named it, for the message.

    Raises:
        OptionError: the call has read that file.

    >>> refuse_input("labels.csv")
    """
    call = _current.get()
    if call is not None:
        name = next(
            (call.inputs[identity] for identity in identities(path) - call.exempt if identity in call.inputs), None
        )
        if name is not None:
            raise _refusal(f"{option} {render_address(path)}".strip(), name)


def allow_replacing(path: str | Path) -> None:
    """Allow the current call to replace one of its inputs, which it wrote itself or is to change.

    >>> allow_replacing("answers.ledger")
    """
    call = _current.get()
    if call is not None:
        call.exempt |= identities(path)


def local_path(path: str | Path) -> str:
    """Return the path behind a ``file:`` address, as DuckDB reads it (nothing is decoded); anything else as it is.

    >>> local_path("file:///data/a.csv"), local_path("s3://bucket/a.csv"), local_path("a.csv")
    ('/data/a.csv', 's3://bucket/a.csv', 'a.csv')
    """
    return FILE_URL.sub("", str(path), count=1) if FILE_URL.match(str(path)) else str(path)


def is_remote(path: str | Path) -> bool:
    """Whether a path is the URL of another place.

    >>> is_remote("s3://crowd/labels.parquet"), is_remote("file:///labels.parquet"), is_remote("labels.parquet")
    (True, False, False)
    """
    return "://" in local_path(path)


def _record(call: _Call, identities: set[Identity], name: str) -> None:
    if identities & call.exempt:
        return
    output = next((call.outputs[identity] for identity in identities if identity in call.outputs), None)
    if output is not None:
        raise _refusal(output, name)
    call.inputs |= dict.fromkeys(identities, name)


def _refusal(output: str, name: str) -> OptionError:
    return OptionError(f"{output} would overwrite {name}, which is an input; choose another name")


def identities(path: str | Path) -> set[Identity]:
    """Return the resolved path and the inode of a file; nothing for standard streams, devices and pipes.

    >>> identities("s3://crowd/labels.parquet"), identities("-")
    ({'s3://crowd/labels.parquet'}, set())
    """
    local = local_path(path)
    if local == "-":
        return set()
    if "://" in local:
        return {local}
    try:
        status = os.stat(local)
    except OSError:  # not there yet
        return {os.path.realpath(local)}
    except ValueError:  # no name of a file
        return set()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return set()
    return {os.path.realpath(local), (status.st_dev, status.st_ino)}
