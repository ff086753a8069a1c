"""Several files appear together or not at all, and what a killed writer left goes with the next one."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from quorate.errors import UnwritableFileError
from quorate.io.atomic import PREFIX, SUFFIX, atomic_batch, atomic_write, check_outputs, fill_atomically

UNIX = pytest.mark.skipif(sys.platform == "win32", reason="links, permissions and locks as Unix has them")


def writing(text: str) -> Callable[[BinaryIO], object]:
    return lambda stream: stream.write(text.encode())


def write_all(files: dict[Path, Callable[[BinaryIO], object]]) -> None:
    with atomic_batch():
        for path, write in files.items():
            atomic_write(path, write)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_appear_together(tmp_path: Path) -> None:
    with atomic_batch():
        for name in ("a", "b"):
            atomic_write(tmp_path / name, writing(name))
        assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
    assert contents(tmp_path) == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "Make room"),
        (errno.EROFS, "can be written to"),
        (errno.EACCES, "can be written to"),
        (errno.ENAMETOOLONG, "a shorter name"),
        (errno.ENOENT, "Make the folder"),
        (errno.EIO, "choose another"),
    ],
)
def test_the_remedy_fits_the_cause(tmp_path: Path, number: int, remedy: str) -> None:
    def fail(_: BinaryIO) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(UnwritableFileError, match=f"{os.strerror(number)}.*{remedy}"):
        atomic_write(tmp_path / "a", fail)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("accident", [KeyboardInterrupt, ValueError, OSError])
def test_where_one_fails_none_appears(tmp_path: Path, accident: type[BaseException]) -> None:
    (tmp_path / "a").write_text("before")

    def fail(_: BinaryIO) -> None:
        raise accident

    with pytest.raises(UnwritableFileError if accident is OSError else accident):
        write_all({tmp_path / "a": writing("new"), tmp_path / "b": fail})
    assert contents(tmp_path) == {"a": "before"}


@pytest.mark.parametrize("which", [1, 2])
def test_where_a_name_cannot_be_had_those_before_it_are_given_back(
    tmp_path: Path, which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("before")
    replace, calls = os.replace, []

    def full(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == which + 1:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UnwritableFileError, match="No space left"):
        write_all({tmp_path / name: writing("new") for name in ("a", "b", "c")})
    assert contents(tmp_path) == {"a": "before"}


KILLED = """
import sys, time
from quorate.io.atomic import atomic_write

def write(stream):
    stream.write(b"half of it")
    stream.flush()
    print("half", flush=True)
    time.sleep(60)

atomic_write(sys.argv[1], write)
"""


@UNIX
def test_what_a_killed_writer_left_is_taken_away_by_the_next_and_what_a_living_one_has_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "a")]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "half\n"
    assert len(list(tmp_path.glob(f"{PREFIX}*{SUFFIX}"))) == 2
    writers[0].kill()
    writers[0].wait()
    atomic_write(tmp_path / "b", writing("complete"))
    assert len(list(tmp_path.glob(f"{PREFIX}*{SUFFIX}"))) == 1
    writers[1].kill()
    writers[1].wait()
    atomic_write(tmp_path / "b", writing("complete"))
    assert contents(tmp_path) == {"b": "complete"}
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()


@UNIX
def test_a_link_stays_a_link_and_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("before")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    atomic_write(tmp_path / "link", writing("new"))
    fill_atomically(tmp_path / "link", lambda part: part.write_text("newer"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "newer"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


@UNIX
def test_a_device_and_a_folder() -> None:
    atomic_write("/dev/null", writing("into the void"))
    if Path("/dev/full").exists():
        with pytest.raises(UnwritableFileError, match="No space left"):
            atomic_write("/dev/full", writing("x" * 100_000))
    with pytest.raises(UnwritableFileError, match="is a folder"):
        atomic_write("/tmp", writing("x"))


def test_places_that_would_destroy_something_are_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("x")
    (tmp_path / "other.csv").symlink_to("answers.csv")
    answers, other = str(tmp_path / "answers.csv"), str(tmp_path / "other.csv")
    for outputs, says in (
        ({"-o": answers, "--workers-out": other}, "would both be written to"),
        ({"-o": str(tmp_path / "x"), "--workers-out": str(tmp_path / "." / "x")}, "would both be written to"),
        ({"-o": "-", "--workers-out": "-"}, "would both be written to standard output"),
        ({"-o": str(tmp_path)}, "is a folder"),
        ({"-o": str(tmp_path / "no" / "x")}, "no such folder"),
    ):
        with pytest.raises((UnwritableFileError, ValueError), match=says):
            check_outputs(outputs)
    check_outputs({"-o": "/dev/null", "--workers-out": "/dev/null"})
