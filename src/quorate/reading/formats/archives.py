"""What holds several files -> the records in them: the archive of an Inspect log, and a folder of logs."""

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from quorate.errors import QuorateError, TooLargeError, WrongFormatError, reason, shown
from quorate.reading.loading import Loaded, room_for

ZIP = b"PK\x03\x04"
MARK = b"\xef\xbb\xbf"
ZSTANDARD = 93  # the number of the method in a ZIP file, which Python knows from 3.14 on
LOCAL = struct.Struct("<4s5H3I2H")  # what stands before a member's name: the last two are the lengths of name and extra
HEADER, START, SAMPLES = "header.json", "_journal/start.json", "samples/"
LOGS = (".json", ".jsonl", ".ndjson", ".eval")  # how the names of logs end


def is_archive(raw: bytes) -> bool:
    r"""Tell whether the first bytes are those of a ZIP file.

    >>> is_archive(b"PK\x03\x04..."), is_archive(b"task,worker")
    (True, False)
    """
    return raw.removeprefix(MARK).startswith(ZIP)


def is_workbook(loaded: Loaded) -> bool:
    """Tell whether a ZIP file is a workbook of Excel.

    >>> is_workbook(Loaded("a.xlsx", pa.py_buffer(b"PK")))
    False
    """
    try:
        with zipfile.ZipFile(io.BytesIO(loaded.data)) as archive:
            return any(name.startswith("xl/") for name in archive.namelist())
    except DAMAGES:
        return False


def log_in(loaded: Loaded) -> dict[str, Any]:
    """Return the log that an archive holds, as its JSON file would have it.

    A run that was cut short has no header yet; what it began with serves.

    Raises:
        WrongFormatError: it is damaged, or no log.
        TooLargeError: it unpacks to too much.

    >>> log_in(Loaded("a.eval", pa.py_buffer(b"PK")))
    Traceback (most recent call last):
    quorate.errors.WrongFormatError: a.eval is a damaged archive: File is not a zip file
    """
    try:
        with zipfile.ZipFile(io.BytesIO(loaded.data)) as archive:
            members = {info.filename: info for info in archive.infolist()}
            head = next((members[name] for name in (HEADER, START) if name in members), None)
            if "content.xml" in members:
                raise WrongFormatError(
                    f"{loaded.name} is an OpenDocument spreadsheet, which is not read: save its sheet of answers as "
                    "CSV or .xlsx, and give that"
                )
            if head is None:
                raise WrongFormatError(
                    f"{loaded.name} is a ZIP archive without {HEADER}, so it is no Inspect log; unpack it, and give a "
                    "file that is in it"
                )
            samples = [info for name, info in members.items() if name.startswith(SAMPLES)]
            _check_room([head, *samples], loaded)
            log = _parsed(archive, head, loaded)
            if not isinstance(log, dict):
                raise WrongFormatError(f"{loaded.name}: {head.filename} is no JSON object: {shown(log)}")
            return {"status": "started", **log, "samples": [_parsed(archive, info, loaded) for info in samples]}
    except QuorateError:  # some are ValueErrors, and have said what is wrong
        raise
    except DAMAGES as error:
        raise WrongFormatError(f"{loaded.name} is a damaged archive: {reason(error)}") from None


# What Python and Arrow raise over archives that are none, are cut, locked, or lie about themselves.
DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    pa.ArrowException,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    OverflowError,
    MemoryError,
)


def _check_room(members: list[zipfile.ZipInfo], loaded: Loaded) -> None:
    size, most = sum(info.file_size for info in members), room_for(len(loaded.data))
    if size > most:
        raise TooLargeError(f"{loaded.name} unpacks to more than {most / 1e9:.3g} GB, far more than a log does")


def _parsed(archive: zipfile.ZipFile, info: zipfile.ZipInfo, loaded: Loaded) -> Any:
    data = _unpacked(info, loaded) if info.compress_type == ZSTANDARD else archive.read(info)
    try:
        return json.loads(bytes(data).decode())
    except (ValueError, RecursionError) as error:
        raise WrongFormatError(f"{loaded.name}: {shown(info.filename)} is not JSON: {reason(error)}") from None


def _unpacked(info: zipfile.ZipInfo, loaded: Loaded) -> Any:
    """Unpack a member by Arrow's Zstandard; the archive says how long it will be."""
    start = info.header_offset
    *_, name, extra = LOCAL.unpack(bytes(loaded.data[start : start + LOCAL.size]))
    start += LOCAL.size + name + extra
    packed = loaded.data[start : start + info.compress_size]
    return pa.decompress(packed, decompressed_size=info.file_size, codec="zstd") if info.file_size else b""


def logs_in(folder: Path) -> list[Path]:
    """Name the logs in a folder and those in it, in order.

    >>> logs_in(Path("no such folder"))
    []
    """
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in LOGS and path.is_file())
