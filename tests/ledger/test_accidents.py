"""Adding, compacting and converting, killed or out of space after any number of bytes: the ledger is old or new."""

import multiprocessing
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from quorate.errors import QuorateError
from quorate.io.options import ReadOptions
from quorate.ledger import Ledger, append, compact
from quorate.ledger.batch_files import read_batch
from tests.ledger.batches import filled, single_file, stored, table_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and limits as Unix has them")

FIRST = [(f"t{t}", f"w{(t + k) % 40}", "xyz"[(t * k) % 3]) for t in range(300) for k in range(3)]
SECOND = [(f"t{t}", f"w{(t + k) % 40}", "xyz"[(t * k) % 3]) for t in range(250, 400) for k in range(4)]
REFUSED = 7  # exit code of a child whose command was refused
RAN_OUT = 8  # exit code of a child that could not write


def with_limit(act: Callable[[], object], limit: int, kill: bool) -> int:
    """Run something in a process that is killed, or can write no more, once a file reaches so many bytes."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kill else signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            act()
            code = 0
        except QuorateError:
            code = REFUSED
        except OSError:
            code = RAN_OUT
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "full disk"])
@pytest.mark.parametrize("what", ["append", "compact", "convert", "create", "save"])
def test_an_accident_after_any_number_of_bytes_loses_nothing(tmp_path: Path, what: str, kill: bool) -> None:
    original = tmp_path / "original.ledger"
    path = tmp_path / "a.ledger"
    old = filled([FIRST])
    new = filled([FIRST, SECOND])
    if what == "convert":
        original.write_bytes(single_file(old))
    elif what != "create":
        append(original, [table_of(FIRST[:400]), table_of(FIRST[400:])], ReadOptions())
    act: Callable[[], object] = {
        "append": lambda: append(path, [table_of(SECOND[:9]), table_of(SECOND[9:])], ReadOptions()),
        "compact": lambda: compact(path),
        "convert": lambda: append(path, [table_of(SECOND)], ReadOptions()),
        "create": lambda: append(path, [table_of(SECOND)], ReadOptions()),
        "save": lambda: new.save(path),
    }[what]
    expected = {
        "compact": stored(old, tmp_path),
        "create": stored(filled([SECOND]), tmp_path),
    }.get(what, stored(new, tmp_path))
    before = None if what == "create" else stored(old, tmp_path)
    outcomes = set()
    for limit in [*range(0, 130_000, 6_000), 1 << 30]:
        if original.is_dir():
            shutil.copytree(original, path)
        elif original.exists():
            shutil.copy(original, path)
        code = with_limit(act, limit, kill)
        state = stored(Ledger.load(path), tmp_path) if path.exists() or what != "create" else None
        outcomes.add(code)
        assert state in (before, expected), (limit, code)
        if code == 0:
            assert state == expected, limit
        elif not kill:
            assert (state, code in (REFUSED, RAN_OUT)) == (before, True), (limit, code)
        if state == expected and what != "compact":
            append(path, [], ReadOptions())  # removes what the accident left
        else:
            act()
        assert stored(Ledger.load(path), tmp_path) == expected, limit
        assert {each.name for each in tmp_path.iterdir()} <= {"original.ledger", "a.ledger", "stored.ledger"}
        assert len(list(path.iterdir())) == 1 + len({"append": [1, 2, 3, 4], "convert": [1, 2]}.get(what, [1])), limit
        shutil.rmtree(path)
    assert 0 in outcomes
    assert len(outcomes) > 1


def add_one_by_one(path: Path, who: int) -> None:
    for task in range(5):
        append(path, [table_of([(f"{task}", f"w{who}", "x")])], ReadOptions())


@pytest.mark.parametrize("locks", [True, False], ids=["folder locks", "only the lock of the index"])
def test_no_batch_of_several_writers_is_lost(tmp_path: Path, locks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ledger"
    if not locks:  # as on Windows
        monkeypatch.setattr("quorate.ledger.storage.lock", lambda _: None)
        append(path, [], ReadOptions())
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=add_one_by_one, args=(path, who)) for who in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):  # readers see a state that was committed
        if path.exists():
            assert len(Ledger.load(path)) <= 20
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert len(Ledger.load(path)) == 20
    assert [each.name for each in tmp_path.iterdir()] == ["a.ledger"]
    assert len(list(path.iterdir())) == 21


def test_a_reader_survives_a_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ledger"
    append(path, [table_of(FIRST[:9]), table_of(FIRST[9:])], ReadOptions())
    read = read_batch
    calls = []

    def read_slowly(file: Path) -> object:
        calls.append(file)
        if len(calls) == 2:  # between the list of batches and the second of them
            monkeypatch.setattr("quorate.ledger.storage.read_batch", read)
            compact(path)
            monkeypatch.setattr("quorate.ledger.storage.read_batch", read_slowly)
        return read(file)

    monkeypatch.setattr("quorate.ledger.storage.read_batch", read_slowly)
    assert len(Ledger.load(path)) == len(FIRST)
    assert len(calls) > 2
