"""Read a file or a stream into memory, uncompressed. All files and streams are read here, and their size is limited."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from quorate.addresses import render_address
from quorate.errors import QuorateError, TooLargeError, UnreadableFileError, WrongFormatError, reason
from quorate.io.inputs import record_input, record_stream
from quorate.io.pipes import pipes_read

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
# Largest size of an unpacked file: 1 GB, or 50 times the size of the packed file. CSV files of answers are compressed
# to 1/10 or 1/20 of their size, compression bombs to 1/1000 or less.
MAX_UNPACKED_BYTES = 1 << 30
MAX_UNPACKED_RATIO = 50
# Bytes of a file with a suspicious ratio that are stored before its size is measured: MAX_UNPACKED_BYTES / 8.
MAX_UNMEASURED_BYTES = 1 << 27
PIECE = 1 << 24  # bytes that are read or unpacked at a time


class OpenedSource:
    """Base class of sources that are already open, so that they are read only once."""


@dataclass(frozen=True)
class Loaded(OpenedSource):
    """The content of a file in memory, which is used instead of its path, for example of standard input or a pipe."""

    name: str  # for messages
    data: pa.Buffer


def hold(source: Any) -> Any:
    """Read a source that can be read only once (standard input or a pipe); return any other source unchanged.

    Raises:
        UnreadableFileError: the source cannot be read.
        TooLargeError: the content is too large for the memory, or has no end.

    >>> hold("answers.csv"), hold({"task": [1]})
    ('answers.csv', {'task': [1]})
    """
    if not isinstance(source, str | Path):
        return source
    if not str(source):
        raise UnreadableFileError("The name of the file is empty. Give a file")
    if str(source) == "-":
        if sys.stdin is None:
            raise UnreadableFileError("Standard input is closed. Give a file")
        record_stream(sys.stdin, "standard input")
        standard_input = sys.stdin.buffer
        return _read_once(_identity(standard_input), "standard input", lambda: nullcontext(standard_input))
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError):  # the reader reports the error later
        return source
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return source
    return _read_once(_identity(source), render_address(source), lambda: open(source, "rb"))


def _read_once(key: object, name: str, open_stream: Callable[[], AbstractContextManager[BinaryIO]]) -> Loaded:
    """Read a stream to its end, or return its content if the current call has read it before.

    A pipe that was read is not opened again, because opening a named pipe waits until a process writes to it.
    """
    pipes = pipes_read.get()
    if pipes is not None and key in pipes:
        known: Loaded = pipes[key]
        return known
    with reading_from(name), open_stream() as stream:
        loaded = Loaded(name, _read_stream(stream, name))
    if pipes is not None:
        pipes[key] = loaded
    return loaded


def _identity(source: str | Path | BinaryIO) -> object:
    """Return the device and inode of a path or a stream; the source itself if it has none."""
    try:
        status = os.stat(source) if isinstance(source, str | Path) else os.fstat(source.fileno())
    except (OSError, ValueError):
        return source
    return status.st_dev, status.st_ino


def _read_stream(stream: BinaryIO, name: str) -> pa.Buffer:
    """Read a stream to its end; refuse more than half of the free memory, because the content is copied once."""
    free = free_memory()
    most = float("inf") if free is None else max(free // 2, MAX_UNPACKED_BYTES)
    with suppress(OSError, ValueError):  # a stream object without a file
        if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):  # a device, which may have no end, such as /dev/zero
            most = MAX_UNPACKED_BYTES
    pieces = []
    size = 0
    while piece := stream.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise TooLargeError(
                f"{name} has more than {most / 1e9:.3g} GB, too much for memory. Write it to a file, and use "
                "engine='duckdb' (--engine duckdb)"
            )
    return pa.py_buffer(b"".join(pieces))


def free_memory() -> int | None:
    """Return the free memory in bytes; None if the system does not report it.

    >>> (free_memory() or 1) > 0
    True
    """
    try:
        with open("/proc/meminfo") as memory_info:
            kilobytes = next(line.split()[1] for line in memory_info if line.startswith("MemAvailable"))
        return int(kilobytes) * 1024
    except (OSError, StopIteration):
        return None


def load(source: str | Path | Loaded) -> Loaded:
    """Return the content of a file, uncompressed; a file that is not compressed is mapped into memory, not copied.

    Raises:
        UnreadableFileError: the file does not exist, is a folder, or is not readable.
        WrongFormatError: the file is not compressed in the format of its name.
        TooLargeError: the unpacked content is too large.

    >>> load("nothing.csv")
    Traceback (most recent call last):
    quorate.errors.UnreadableFileError: There is no file nothing.csv
    """
    source_or_bytes = hold(source)
    if isinstance(source_or_bytes, Loaded):
        return source_or_bytes
    path = Path(source_or_bytes)
    name = render_address(source_or_bytes)
    record_input(path)
    compression = compression_of(path)
    with reading_from(name, compression):
        if path.is_dir():
            raise UnreadableFileError(f"{name} is a folder. Give a file")
        if path.stat().st_size == 0:
            return Loaded(name, pa.py_buffer(b""))
        if compression is None:
            return Loaded(name, pa.memory_map(str(path)).read_buffer())
        return Loaded(name, _unpack(path, name, compression))


def head(source: str | Path | Loaded, size: int) -> bytes:
    """Return the first bytes of a file, uncompressed; b"" if they cannot be read (the reader reports the error).

    >>> head("nothing.csv", 100)
    b''
    """
    if isinstance(source, Loaded):
        return bytes(source.data[:size])
    record_input(source)
    compression = compression_of(Path(source))
    try:
        with open(source, "rb") if compression is None else pa.input_stream(str(source), compression) as stream:
            return bytes(stream.read(size))
    except (OSError, ValueError, pa.ArrowException):
        return b""


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its extension; None for a file that is not compressed.

    >>> compression_of(Path("answers.csv.gz"))
    'gzip'
    """
    return COMPRESSIONS.get(path.suffix.lower())


def max_unpacked_size(size: int) -> int:
    """Return the largest number of bytes to which a packed file of this size may unpack.

    >>> max_unpacked_size(1000) == MAX_UNPACKED_BYTES
    True
    """
    return max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * size)


def _unpack(path: Path, name: str, compression: str, *, measured: bool = False) -> pa.Buffer:
    """Unpack a file into memory; if the ratio is suspicious, first measure the size, without storing the content."""
    packed = path.stat().st_size
    size = 0
    most = max_unpacked_size(packed)
    content = pa.BufferOutputStream()
    with pa.input_stream(str(path), compression=compression) as stream:
        while piece := stream.read(PIECE):
            size += len(piece)
            if size > most:
                raise TooLargeError(
                    f"{name} unpacks to more than {most / 1e9:.3g} GB, which is unusual for answers. If this is "
                    "right, unpack it first and give the unpacked file"
                )
            if size > max(MAX_UNMEASURED_BYTES, MAX_UNPACKED_RATIO * packed) and not measured:
                content = None
            if content is not None:
                content.write(piece)
    return _unpack(path, name, compression, measured=True) if content is None else content.getvalue()


@contextmanager
def reading_from(name: str, compression: str | None = None) -> Iterator[None]:
    """Convert an error while reading into one that names the file and the reason.

    >>> with reading_from("a.csv"):
    ...     raise FileNotFoundError
    Traceback (most recent call last):
    quorate.errors.UnreadableFileError: There is no file a.csv
    """
    try:
        yield
    except QuorateError:
        raise
    except FileNotFoundError:
        raise UnreadableFileError(f"There is no file {name}") from None
    except PermissionError:
        raise UnreadableFileError(f"You have no permission to read {name}") from None
    except MemoryError:
        raise TooLargeError(
            f"{name} does not fit into memory. Give it in parts, or use engine='duckdb' (--engine duckdb)"
        ) from None
    except (pa.ArrowException, OSError, ValueError) as error:
        if compression is None:
            why = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
            raise UnreadableFileError(f"{name} cannot be read: {why}") from None
        raise WrongFormatError(
            f"{name} is not {compression} data, or is incomplete. Check its name, or write it again"
        ) from None
