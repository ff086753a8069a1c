"""Accidents, in hundreds: `make faults`. Processes killed at random moments, full disks, two writers at once, bombs.

    python -m tests.faults              # all of them, with the numbers that docs/testing.md states
    python -m tests.faults --kills 40   # fewer

Every command runs in a process of its own, forked from this one, so that a random moment falls into its work and not
into the start of Python.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from quorate.cli.app import main
from quorate.ledger import Ledger
from quorate.ledger.batch_files import to_stream
from quorate.ledger.entries import Batch
from quorate.ledger.storage import load_entries
from tests.fuzz.targets import SAMPLES

ROWS = "task,worker,label\n" + "".join(
    f"t{t},w{(t * 7 + k * 3) % 23},{'xyz'[(t * k) % 3]}\n" for t in range(400) for k in range(5)
)
Act = Callable[[], object]
Chosen = Callable[[Path], dict[str, tuple[list[str], list[str]]]]


def forked(act: Act, *, kill_after: float | None = None, patience: float = 120.0) -> int:
    """Run something in a process of its own, killed after a while if asked; its exit code, or minus a signal."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # for as long as the process lives
            act()
            code = 0
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        finally:
            os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM  # it hung


def quorate(*arguments: str) -> Act:
    """Return what runs a command."""
    return lambda: main(list(arguments))


def content(path: Path) -> bytes:
    """Return what a file holds; of a ledger, the entries of all its batches."""
    return bytes(to_stream(Batch(load_entries(path), "error"))) if path.is_dir() else path.read_bytes()


def commands(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Make the inputs, and name the commands that are killed and what each writes."""
    answers, book, sample = folder / "a.csv", folder / "a.ledger", str(SAMPLES / "labelstudio.json")
    answers.write_text(ROWS)
    (folder / "more.csv").write_text("task,worker,label\nlate,w1,x\n")
    (folder / "labels.csv").write_text("task,label,confidence\n1,cat,0.9\n")
    ledger = Ledger()
    ledger.add(answers)
    ledger.save(book)
    out = {name: str(folder / name) for name in ("o.csv", "w.parquet", "r.html", "c.csv", "p.json")}
    asked = ["--question", "animal"]
    back = ["--labels", str(folder / "labels.csv"), "--to", "labelstudio"]
    return {
        "aggregate": (
            ["aggregate", str(answers), "-o", out["o.csv"], "--workers-out", out["w.parquet"]],
            ["o.csv", "w.parquet"],
        ),
        "ledger add": (["ledger", "add", str(book), str(folder / "more.csv")], ["a.ledger"]),
        "report": (["report", str(answers), "-o", out["r.html"], "--compare", ""], ["r.html"]),
        "convert": (["convert", sample, *asked, "-o", out["c.csv"]], ["c.csv"]),
        "labels back": (
            ["convert", sample, *asked, *back, "-o", out["p.json"]],
            ["p.json"],
        ),
    }  # fmt: skip


def quick(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Return the commands that take a fraction of a second: all but the report."""
    return {name: each for name, each in commands(folder).items() if name != "report"}


def kills(folder: Path, times: int, rng: random.Random, chosen: Chosen = commands) -> dict[str, int]:
    """Kill commands at random moments: what they write is old or new, and the next run leaves nothing else."""
    counts = {
        "killed": 0,
        "finished first": 0,
        "half a file": 0,
        "left for ever": 0,
        "folders that the next run swept": 0,
        "one new beside one old": 0,  # between two names: counted, and no fault
    }
    every = chosen(folder)
    for arguments, outputs in every.values():
        before = {name: f"the old {name}".encode() for name in outputs if name != "a.ledger"}
        for name in outputs:
            if name == "a.ledger":
                shutil.copytree(folder / name, folder / "kept", dirs_exist_ok=True)
                before[name] = content(folder / name)

        def restore(before: dict[str, bytes] = before) -> None:
            for name, data in before.items():
                if name == "a.ledger":
                    shutil.rmtree(folder / name)
                    shutil.copytree(folder / "kept", folder / name)
                else:
                    (folder / name).write_bytes(data)

        began = time.monotonic()
        forked(quorate(*arguments))
        took = time.monotonic() - began
        after = {name: content(folder / name) for name in outputs}
        expected = {path.name for path in folder.iterdir()}
        for _ in range(times // len(every)):
            restore()
            code = forked(quorate(*arguments), kill_after=rng.uniform(0, took))
            counts["killed" if code == -signal.SIGKILL else "finished first"] += 1
            found = {name: content(folder / name) for name in outputs}
            counts["one new beside one old"] += len({found[name] == after[name] for name in outputs}) > 1
            counts["half a file"] += any(found[name] not in (before[name], after[name]) for name in outputs)
            counts["folders that the next run swept"] += len(list(folder.glob(".quorate-*")))
        restore()
        forked(quorate(*arguments))
        counts["left for ever"] += len({path.name for path in folder.iterdir()} - expected)
    return counts


def full_disks(folder: Path, chosen: Chosen = commands) -> dict[str, int]:
    """Let every command find that the disk is full after so many bytes: it says so, and the old files stay."""
    counts = {"tried": 0, "reported": 0, "old files changed": 0, "left behind": 0}

    def limited(arguments: list[str], size: int) -> Act:
        def act() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            main(arguments)

        return act

    for arguments, outputs in chosen(folder).values():
        for name in outputs:
            if name != "a.ledger":
                (folder / name).write_text("the old one")
        before = {path.name: content(path) for path in folder.iterdir()}
        for size in (0, 1, 50):  # bytes, fewer than any of them writes
            counts["tried"] += 1
            counts["reported"] += forked(limited(arguments, size)) == 2
            now = {path.name: content(path) for path in folder.iterdir()}
            counts["old files changed"] += any(now.get(name) != data for name, data in before.items())
            counts["left behind"] += len({path.name for path in folder.iterdir()} - set(before))
    return counts


def two_at_once(folder: Path, rounds: int) -> dict[str, int]:
    """Let two processes add to one ledger at the same moment: both batches are there, or one was refused."""
    counts = {"rounds": rounds, "answers added": 0, "refused": 0, "lost": 0}
    for number in range(rounds):
        book = folder / f"{number}.ledger"
        batches = []
        for who in ("ann", "bob"):
            batches.append(folder / f"{who}.csv")
            batches[-1].write_text("task,worker,label\n" + "".join(f"{t},{who},x\n" for t in range(50)))
        children = []
        for batch in batches:
            child = os.fork()
            if child == 0:
                os._exit(forked(quorate("ledger", "add", str(book), str(batch))) & 0xFF)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        found = len(Ledger.load(book))
        counts["answers added"] += found
        counts["refused"] += sum(code != 0 for code in codes)
        counts["lost"] += 50 * codes.count(0) - found
        shutil.rmtree(book)
    return counts


def main_program() -> int:
    """Run all of it, and print the counts."""
    import quorate.reporting.report  # noqa: F401  # here, so that no child has to
    from tests.faults.bombs import bombs
    from tests.faults.pushes import killed_pushes

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=70)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    bad = 0
    for title, run in (
        ("killed at random moments", lambda folder: kills(folder, given.kills, random.Random(given.seed))),
        ("pushes killed", lambda folder: killed_pushes(folder, given.kills // 5, random.Random(given.seed))),
        ("a full disk", full_disks),
        ("two processes add to one ledger", lambda folder: two_at_once(folder, given.rounds)),
        ("bombs", bombs),
    ):
        with tempfile.TemporaryDirectory() as folder:
            counts = run(Path(folder))
        print(f"{title}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items()), flush=True)
        bad += sum(counts.get(what, 0) for what in FAULTS)
    return 1 if bad else 0


FAULTS = (
    "half a file",
    "left for ever",
    "old files changed",
    "left behind",
    "pieces torn or twice",
    "lost",
    "too slow",
    "too large",
    "not named",
)

if __name__ == "__main__":
    sys.exit(main_program())
