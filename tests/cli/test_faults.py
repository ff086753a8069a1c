"""Accidents in small numbers; `make faults` runs them by the hundred, and bombs besides."""

import gzip
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

if sys.platform == "win32":
    pytest.skip("processes are forked, as Unix has it", allow_module_level=True)

from quorate import errors
from quorate.io import open_file
from quorate.io.read import read
from tests.faults.__main__ import full_disks, kills, quick, two_at_once
from tests.faults.bombs import packed_zeros
from tests.faults.pushes import killed_pushes


def test_killed_commands_leave_the_old_or_the_new_and_nothing_for_ever(tmp_path: Path) -> None:
    counts = kills(tmp_path, 16, random.Random(1), quick)
    assert counts["killed"] + counts["finished first"] == 16
    assert (counts["half a file"], counts["left for ever"]) == (0, 0)


def test_a_killed_push_has_sent_whole_pieces_each_once(tmp_path: Path) -> None:
    counts = killed_pushes(tmp_path, 4, random.Random(1))
    assert counts["killed"] + counts["finished first"] == 4
    assert (counts["pieces torn or twice"], counts["left behind"]) == (0, 0)


def test_a_full_disk_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    counts = full_disks(tmp_path, quick)
    assert counts == {"tried": 12, "reported": 12, "old files changed": 0, "left behind": 0}


def test_two_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    counts = two_at_once(tmp_path, 4)
    assert (counts["lost"], counts["answers added"] + 50 * counts["refused"]) == (0, 400)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed_zeros(tmp_path / "a.csv.gz", 1 << 25)
    monkeypatch.setattr(open_file, "MAX_UNPACKED_BYTES", 1 << 24)
    with pytest.raises(errors.TooLargeError, match="unpack it first"):
        read(tmp_path / "a.csv.gz")


def test_a_file_of_very_many_columns_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,worker,label" + ",x" * 20_000 + "\n")
    with pytest.raises(errors.TooLargeError, match=r"20,003 columns, and at most 10,000"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_so_is_one_of_lines_or_of_columns(ending: str, tmp_path: Path) -> None:
    """Before anything is made of them: of a hundred thousand fields, a pattern of the line alone took ten seconds."""
    row = {"task": 1, "worker": "a", "label": "x"} | {f"c{k}": k for k in range(12_000)}
    file = tmp_path / f"a.{ending}"
    if ending == "jsonl":
        file.write_text(f"{json.dumps(row)}\n" * 3)
    else:
        parquet.write_table(pa.Table.from_pylist([row]), file)
    with pytest.raises(errors.TooLargeError, match=r"12,003 columns, and at most 10,000"):
        read(file)


def test_what_looks_like_a_bomb_and_is_none_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "task,worker,label\n" + "".join(f"{k},a,x\n" for k in range(50_000))
    with gzip.open(tmp_path / "a.csv.gz", "wt") as stream:
        stream.write(text)
    monkeypatch.setattr(open_file, "MAX_UNPACKED_RATIO", 2)
    monkeypatch.setattr(open_file, "PIECE", 1 << 12)
    monkeypatch.setattr(open_file, "MAX_UNMEASURED_BYTES", 1 << 13)
    assert open_file.load(tmp_path / "a.csv.gz").data.to_pybytes().decode() == text
