"""Bytes from outside come in whole, or are refused: streams without an end, headers longer than a first look."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from quorate.errors import TooLargeError, UnreadableFileError
from quorate.io import open_file
from quorate.io.csv_files import HEAD
from quorate.io.open_file import Loaded, hold
from quorate.io.read import read
from quorate.ledger import Ledger

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="devices as Unix has them")


class Endless(io.RawIOBase):
    """Rows that do not end, and how many bytes of them were asked for."""

    asked = 0

    def read(self, size: int = -1) -> bytes:
        assert size > 0, "all of it"
        self.asked += size
        return b"1,a,x\n" * (size // 6)


@UNIX
def test_a_device_that_gives_zeros_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "MAX_UNPACKED_BYTES", 1 << 20)
    with pytest.raises(TooLargeError, match=r"/dev/zero has more than .* GB.*engine="):
        read("/dev/zero", format="csv")


@UNIX
def test_a_device_is_no_ledger() -> None:
    for device in ("/dev/zero", "/dev/full"):
        with pytest.raises(UnreadableFileError, match=r"it is a device\. Name a file"):
            Ledger.load(device)


def test_a_stream_takes_no_more_than_half_of_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Endless()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    monkeypatch.setattr(open_file, "free_memory", lambda: 200 << 20)
    monkeypatch.setattr(open_file, "MAX_UNPACKED_BYTES", 1 << 20)
    with pytest.raises(TooLargeError, match=r"standard input has more than 0\.105 GB"):
        hold("-")
    assert stream.asked <= (100 << 20) + 2 * open_file.PIECE


def test_a_stream_of_several_pieces_is_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytes(range(256)) * 10
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    monkeypatch.setattr(open_file, "PIECE", 1000)
    held = hold("-")
    assert isinstance(held, Loaded)
    assert bytes(held.data) == data


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_header_is_read_to_its_end(tmp_path: Path, end: str) -> None:
    """Columns may stand after the first bytes: none of them is reported as missing."""
    others = [f"{k:04}{'x' * 40}" for k in range(9000)]
    path = tmp_path / "wide.csv"
    path.write_text(end.join([",".join([*others, "task", "worker", "label"]), "," * 9000 + "1,ann,cat"]) + end)
    assert len(",".join(others)) > HEAD
    for tool in ("auto", "table"):
        assert read(path, tool=tool).worker_names.to_pylist() == ["ann"]


def test_every_column_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("task,worker,label" + ",column" * 100_000 + "\n")
    with pytest.raises(TooLargeError, match=r"has 100,003 columns, and at most 10,000"):
        read(path)
