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
    OptionError,
)
from quorate.ledger import Ledger
from tests.ledger.batches import contents, stream_of


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
    out = ledger_command("add", "single.ledger", "all.csv")
    assert out == "all.csv: 24 rows, 24 answers added.\nsingle.ledger now holds 24 answers, 8 tasks, 3 workers.\n"
    ledger_command("add", "parts.ledger", "two.csv", "one.csv")
    ledger_command("add", "one.ledger", "one.csv")
    ledger_command("add", "two.ledger", "two.csv")
    ledger_command("merge", "one.ledger", "two.ledger", "-o", "merged.ledger")
    out = ledger_command("compact", "parts.ledger")
    assert out == "2 batches of parts.ledger were put into one; it holds 24 answers, 8 tasks, 3 workers.\n"
    ledger_command("compact", "single.ledger")
    streams = {stream_of(Path(name)) for name in ("single.ledger", "parts.ledger", "merged.ledger")}
    assert len(streams) == 1
    out = ledger_command(
        "aggregate", "single.ledger", "-o", "labels.csv", "--workers-out", "w.csv", "--answers-out", "a.csv"
    )
    assert "single.ledger: 24 answers, 8 tasks, 3 workers" in out
    assert "8 labels from" in out
    assert len(Path("labels.csv").read_text().splitlines()) == 9
    assert len(Path("w.csv").read_text().splitlines()) == 4
    assert sorted(Path("a.csv").read_text().splitlines()) == sorted(Path("all.csv").read_text().splitlines())
    assert '"method": "majority"' in ledger_command("aggregate", "single.ledger", "--json", "--method", "majority")


def test_all_files_are_added_or_none(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    before = contents(Path("x.ledger"))
    Path("bad.csv").write_text("task,worker,label\nt0,a,elk\nt0,,x\n")
    with pytest.raises(BlankFieldError):
        ledger_command("add", "x.ledger", "two.csv", "bad.csv")
    assert contents(Path("x.ledger")) == before
    with pytest.raises(BlankFieldError):
        ledger_command("add", "new.ledger", "bad.csv")
    assert not Path("new.ledger").exists()
    out = ledger_command("add", "x.ledger", "bad.csv", "--skip-missing", "--on-conflict", "last")
    assert "1 left out because a field is empty" in out


def test_a_ledger_that_another_command_changes_meanwhile_keeps_both(
    ledger_command: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who loads a ledger to save it later replaces it; who adds to it by the command or by append does not."""
    ledger_command("add", "x.ledger", "one.csv")
    loaded = Ledger.load("x.ledger")
    ledger_command("add", "x.ledger", "two.csv")
    assert len(Ledger.load("x.ledger")) == 24
    loaded.save("x.ledger")
    assert len(Ledger.load("x.ledger")) == 10


def test_one_ledger_alone_is_not_merged(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    with pytest.raises(OptionError, match="Give two or more"):
        ledger_command("merge", "x.ledger", "-o", "y.ledger")


def test_a_ledger_does_without_pandas(ledger_command: Callable[..., str]) -> None:
    script = (
        "import sys; from quorate.ledger import Ledger; a = Ledger(); a.add('one.csv'); a.save('x.ledger'); "
        "b = Ledger.load('x.ledger'); b.pairs; b.add('two.csv'); b.skills(); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert len(Ledger.load("x.ledger")) == 10  # of the first batch, as it was saved


def test_show_lists_every_unreliable_worker_that_its_heading_counts(ledger_command: Callable[..., str]) -> None:
    rng = random.Random(1)
    right = {"ann": 0.95, "bob": 0.9, "cy": 0.9, "dee": 0.85, "eve": 0.5, "finn": 0.0}
    rows = []
    for task in range(300):
        true = rng.choice("xy")
        for worker, share in right.items():
            label = "x" if worker == "finn" else true if rng.random() < share else "xy".replace(true, "")
            rows.append(f"{task},{worker},{label}\n")
    Path("crowd.csv").write_text("task,worker,label\n" + "".join(rows))
    ledger_command("add", "crowd.ledger", "crowd.csv")
    lines = ledger_command("show", "crowd.ledger").splitlines()
    (heading,) = [k for k, line in enumerate(lines) if "unreliable worker" in line and line.endswith(":")]
    n_listed = sum(line.startswith("- ") for line in lines[heading + 1 :])
    assert n_listed == int(lines[heading].split()[0]) >= 2
    assert len(lines) <= 9
