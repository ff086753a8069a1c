"""Record the files that a call reads, so that no output of the call replaces one of them.

A call is one command, or one library function that reads and writes. `guard_inputs` opens its scope. Every function
that opens a file calls `record_input`, and the writer (`quorate.io.atomic`) calls `refuse_input` before it replaces a
file. A file is identified by its resolved path and by its device and inode, so that links and different spellings of a
path are recognised. An output that is announced at the start is refused as soon as its file is read, before anything is
computed.
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
    """The files that one call reads and writes; filled while the call runs."""

    inputs: dict[Identity, str] = field(default_factory=dict)  # identity -> the name that the call used
    outputs: dict[Identity, str] = field(default_factory=dict)  # announced outputs: identity -> option and path
    exempt: set[Identity] = field(default_factory=set)  # written by this call, or updated in place


_current: ContextVar[_Call | None] = ContextVar("inputs of the current call", default=None)


@contextmanager
def guard_inputs(outputs: Mapping[str, str | Path | None] | None = None) -> Iterator[None]:
    """Within the block, refuse every output that would replace a file that the block has read.

    A block inside another one shares its scope.

    Args:
        outputs: option -> path of the outputs that are known already, so that they are refused early.

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
    """Within the block, record no file as an input, because the call will replace the files that it reads there.

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
    """Whether inputs are recorded now, within `guard_inputs`.

    >>> is_guarding()
    False
    """
    return _current.get() is not None


def announce_output(option: str, path: str | Path) -> None:
    """Announce an output before it is written, so that it is refused as soon as its file is read.

    Raises:
        OptionError: the call has read that file.

    >>> announce_output("-o", "labels.csv")
    """
    call = _current.get()
    if call is not None:
        refuse_input(path, option)
        call.outputs |= dict.fromkeys(identities(path), f"{option} {render_address(path)}")


def record_input(path: str | Path, *, folder: bool = False) -> None:
    """Record a file that is about to be read, by its path or remote address.

    Devices, pipes and files that do not exist are not recorded, because an output cannot replace them.

    Args:
        path: path or address of the file.
        folder: whether the input is a folder, which an output could replace.

    Raises:
        OptionError: the call has announced this file as an output.

    >>> record_input("answers.csv")
    """
    call = _current.get()
    if call is not None and (folder or is_remote(path) or os.path.isfile(local_path(path))):
        _record(call, identities(path), render_address(path))


def record_stream(stream: IO[Any], name: str) -> None:
    """Record the file of an open stream, if it has one: standard input may be redirected from a file.

    Raises:
        OptionError: the call has announced this file as an output.

    >>> import io
    >>> record_stream(io.StringIO(), "standard input")
    """
    call = _current.get()
    if call is None:
        return
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # a stream object without a file
        return
    if stat.S_ISREG(status.st_mode):
        _record(call, {(status.st_dev, status.st_ino)}, name)


def refuse_input(path: str | Path, option: str = "") -> None:
    """Refuse an output that the current call has read as an input.

    Args:
        path: path or address of the output.
        option: the option that named it, for the message.

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
    """Allow the current call to replace one of its inputs, because it wrote the file itself or updates it.

    >>> allow_replacing("answers.ledger")
    """
    call = _current.get()
    if call is not None:
        call.exempt |= identities(path)


def local_path(path: str | Path) -> str:
    """Return the path in a ``file:`` address, without decoding, as DuckDB does; any other path unchanged.

    >>> local_path("file:///data/a.csv"), local_path("s3://bucket/a.csv"), local_path("a.csv")
    ('/data/a.csv', 's3://bucket/a.csv', 'a.csv')
    """
    return FILE_URL.sub("", str(path), count=1) if FILE_URL.match(str(path)) else str(path)


def is_remote(path: str | Path) -> bool:
    """Whether a path is the URL of a file that is not local.

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
    """Return the resolved path (or the URL), and device and inode if the file exists; empty for streams and devices.

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
    except OSError:  # the file does not exist yet
        return {os.path.realpath(local)}
    except ValueError:  # not a valid file name
        return set()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return set()
    return {os.path.realpath(local), (status.st_dev, status.st_ino)}
