"""Two who add to one ledger at once both find their answers there afterwards, or one is told that it must wait."""

import sys
import threading
from pathlib import Path

import pytest

from quorate.errors import LedgerFileError, UnwritableFileError
from quorate.ledger import Ledger
from quorate.ledger.storage import alone_with
from tests.ledger.batches import table_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks on folders, as Unix has them")


def test_no_update_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.ledger"

    def add(who: int) -> None:
        for task in range(5):
            with alone_with(path):
                ledger = Ledger.load(path) if path.exists() else Ledger()
                ledger.add(table_of([(f"{task}", f"w{who}", "x")]))
                ledger.save(path)

    threads = [threading.Thread(target=add, args=[who]) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Ledger.load(path)) == 30
    assert [each.name for each in tmp_path.iterdir()] == ["a.ledger"]


def test_one_who_waits_too_long_is_told(tmp_path: Path) -> None:
    told = pytest.raises(LedgerFileError, match=r"another command.*run this one again")
    with alone_with(tmp_path / "a.ledger"), told:
        alone_with(tmp_path / "a.ledger", patience=0.05).__enter__()
    with pytest.raises(UnwritableFileError, match="no such folder"):
        alone_with(tmp_path / "no" / "a.ledger").__enter__()
