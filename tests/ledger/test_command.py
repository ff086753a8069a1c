import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quorate.cli.ledger import app
from quorate.errors import (
    BlankFieldError,
    LedgerFileError,
    OptionError,
)
from quorate.ledger import Ledger


@pytest.fixture
def ledger_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    table = [f"t{t},{w},{'xy'[(t * k) % 2]}\n" for t in range(8) for k, w in enumerate("abc")]
    random.Random(0).shuffle(table)
    for name, part in (("all", table), ("one", table[:10]), ("two", table[10:])):
        Path(f"{name}.csv").write_text("task,worker,label\n" + "".join(part))

    def run(*arguments: str) -> str:
        app(list(arguments), standalone_mode=False)
        return str(capsys.readouterr().out)

    return run


def test_add_show_and_merge(ledger_command: Callable[..., str]) -> None:
    out = ledger_command("add", "whole.ledger", "all.csv")
    assert out == "all.csv: 24 rows, +24 answers\nwhole.ledger: 24 answers, 8 tasks, 3 workers\n"
    ledger_command("add", "parts.ledger", "two.csv", "one.csv")
    ledger_command("add", "one.ledger", "one.csv")
    ledger_command("add", "two.ledger", "two.csv")
    ledger_command("merge", "one.ledger", "two.ledger", "-o", "merged.ledger")
    assert Path("whole.ledger").read_bytes() == Path("parts.ledger").read_bytes() == Path("merged.ledger").read_bytes()
    out = ledger_command("show", "whole.ledger", "-o", "labels.csv", "--workers-out", "w.csv", "--answers-out", "a.csv")
    assert "whole.ledger: 24 answers, 8 tasks, 3 workers" in out
    assert "8 labels from" in out
    assert len(Path("labels.csv").read_text().splitlines()) == 9
    assert len(Path("w.csv").read_text().splitlines()) == 4
    assert sorted(Path("a.csv").read_text().splitlines()) == sorted(Path("all.csv").read_text().splitlines())
    assert '"method": "majority"' in ledger_command("show", "whole.ledger", "--json", "--method", "majority")


def test_all_files_are_added_or_none(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    before = Path("x.ledger").read_bytes()
    Path("bad.csv").write_text("task,worker,label\nt0,a,elk\nt0,,x\n")
    with pytest.raises(BlankFieldError):
        ledger_command("add", "x.ledger", "two.csv", "bad.csv")
    assert Path("x.ledger").read_bytes() == before
    with pytest.raises(BlankFieldError):
        ledger_command("add", "new.ledger", "bad.csv")
    assert not Path("new.ledger").exists()
    out = ledger_command("add", "x.ledger", "bad.csv", "--skip-missing", "--on-conflict", "last")
    assert "1 without a field" in out


def test_a_ledger_that_another_command_has_written_is_not_overwritten(
    ledger_command: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    add = Ledger.add

    def slow(self: Ledger, *given: Any, **options: Any) -> Any:
        other = Ledger.load("x.ledger")
        add(other, {"task": ["new"], "worker": ["a"], "label": ["x"]})
        other.save("x.ledger")
        return add(self, *given, **options)

    monkeypatch.setattr(Ledger, "add", slow)
    with pytest.raises(LedgerFileError, match="has changed while this command ran"):
        ledger_command("add", "x.ledger", "two.csv")
    assert "new" in Ledger.load("x.ledger").answers.task_names.to_pylist()


def test_one_ledger_alone_is_not_merged(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    with pytest.raises(OptionError, match="two ledgers"):
        ledger_command("merge", "x.ledger", "-o", "y.ledger")


def test_a_ledger_does_without_pandas(ledger_command: Callable[..., str]) -> None:
    script = (
        "import sys; from quorate.ledger import Ledger; a = Ledger(); a.add('one.csv'); a.save('x.ledger'); "
        "b = Ledger.load('x.ledger'); b.pairs; b.add('two.csv'); b.skills(); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert len(Ledger.load("x.ledger")) == 10  # of the first batch, as it was saved
