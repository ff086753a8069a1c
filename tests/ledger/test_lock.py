"""Writers of a ledger wait for one another, for a limited time."""

import sys
import threading
from pathlib import Path

import pytest

from quorate.errors import LedgerFileError, UnwritableFileError
from quorate.io.options import ReadOptions
from quorate.ledger import Ledger, append
from quorate.ledger.index import Index
from quorate.ledger.storage import alone_with
from tests.ledger.batches import table_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks on folders, as Unix has them")


def test_no_update_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"

    def add(who: int) -> None:
        for task in range(5):
            append(path, [table_of([(f"{task}", f"w{who}", "x")])], ReadOptions())

    threads = [threading.Thread(target=add, args=[who]) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Ledger.load(path)) == 30
    assert [each.name for each in tmp_path.iterdir()] == ["a.ledger"]


def test_a_writer_without_folder_locks_waits_for_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ledger"
    append(path, [table_of([("1", "a", "x")])], ReadOptions())
    monkeypatch.setattr("quorate.ledger.storage.lock", lambda _: None)
    monkeypatch.setattr("quorate.ledger.storage.PATIENCE", 0.05)
    with Index.open(path, 0.0) as index, index.transaction():
        assert len(Ledger.load(path)) == 1  # readers need not wait
        with pytest.raises(LedgerFileError, match=r"another command is writing.*run this one again"):
            append(path, [table_of([("2", "a", "x")])], ReadOptions())
    assert append(path, [table_of([("2", "a", "x")])], ReadOptions()).n_answers == 2


def test_waiting_for_another_command_ends_with_an_error(tmp_path: Path) -> None:
    refused = pytest.raises(LedgerFileError, match=r"another command.*run this one again")
    with alone_with(tmp_path / "a.ledger"), refused:
        alone_with(tmp_path / "a.ledger", patience=0.05).__enter__()
    with pytest.raises(UnwritableFileError, match="no such folder"):
        alone_with(tmp_path / "no" / "a.ledger").__enter__()
