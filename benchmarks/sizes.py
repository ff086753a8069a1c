"""CPU seconds and peak memory of every command for different sizes and shapes: the tables of docs/warehouse.md.

    make bench TABLES=answers,workers,classes,per-task,shapes        # after the table of speed: over an hour
    python benchmarks/sizes.py --tables answers --crowds e4,e5,m1    # one table, up to 10^6 answers

Each command runs several times in a separate process, including the start of Python; the commands take turns. A cell
has the smallest and the median CPU seconds and the peak memory. The outputs of all runs of a command are compared;
labels of `--engine duckdb` are compared with those of the file. "Refused" means that the command raises an error that
names a limit before it uses the memory.
"""

import argparse
import csv
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from data import CROWDS, ODD_SHAPES, further_paths, paths

# Crowds are created in other processes, so that this one stays small: a child's peak memory starts at its parent's.
HERE = Path(__file__).parent
TIMEOUT = 3600  # seconds of wall time for one run
MEMORY = 8 << 30  # bytes that one command may allocate; more is an error
TOLERANCE = 1e-9  # largest difference of a confidence between a file and an engine, as in docs/architecture.md
REFUSED = 2  # exit code of an error; 0, 1 and 3 are outcomes of `check`

LABELS = ["aggregate", "{source}", "-o", "{target}"]
COMMANDS: dict[str, list[str]] = {
    "aggregate": LABELS,
    "with --workers-out": [*LABELS, "--workers-out", "{target}.workers.csv"],
    "majority": [*LABELS, "--method", "majority"],
    "rank-one": [*LABELS, "--method", "rank-one"],
    "one-coin": [*LABELS, "--method", "one-coin"],
    "dawid-skene": [*LABELS, "--method", "dawid-skene"],
    "--engine duckdb": [*LABELS, "--engine", "duckdb"],
    "diagnose": ["diagnose", "{source}", "--json"],
    "report": ["report", "{source}", "-o", "{target}"],
    "advise": ["advise", "{source}", "--json"],
    "advise --budget 1000": ["advise", "{source}", "--budget", "1000", "--anyway", "-o", "{target}"],
    "agreement": ["agreement", "{source}", "--json"],
    "estimate": ["estimate", "{source}", "--json"],
    "compare": ["compare", "{source}", "--json"],
    "check": ["check", "{source}", "--max-error", "0.2", "--fail-on", "copying", "--json"],
    "doctor": ["doctor", "{source}", "--json"],
    "convert": ["convert", "{source}", "-o", "{target}"],
    "score": ["score", "{folder}/labels.csv", "{truth}", "--json"],
    "rate": ["rate", "{scores}", "-o", "{target}"],
    "rank": ["rank", "{pairs}", "--json"],
    "ledger add": ["ledger", "add", "{folder}/ledger", "{source}"],
    "ledger add of 1,000": ["ledger", "add", "{folder}/ledger", "{folder}/batch.csv"],
    "ledger show": ["ledger", "show", "{folder}/ledger"],
}
USES_LABELS = {"--engine duckdb", "score"}  # commands that need the labels of `aggregate`, or are compared with them
GROWING = ("ledger add of 1,000", "ledger show")  # commands whose output changes with every batch
VOTES = ("aggregate", "with --workers-out", "majority", "rank-one", "dawid-skene")
SHAPES = (*VOTES, "diagnose", "report")
# Columns of a table by the name of a crowd, and the commands in its rows.
TABLES: dict[str, tuple[dict[str, str], Sequence[str]]] = {
    "answers": ({"e4": "10^4 answers", "e5": "10^5", "m1": "10^6", "m10": "10^7"}, tuple(COMMANDS)),
    "workers": (
        {"w1000": "10^3 workers", "w10000": "10^4", "w100000": "10^5", "w1000000": "10^6"},
        SHAPES,
    ),
    "classes": (
        {"c2": "2 classes", "c10": "10", "c100": "100", "c1000": "1,000", "c5000": "5,000"},
        SHAPES,
    ),
    "shapes": (
        {
            "one-task-5000": "one task, 5,000 answers",
            "one-task-20000": "one task, 20,000",
            "in-pairs": "50,000 workers in pairs",
            "two-answers": "25,000 workers, two answers",
            "one-answer": "200,000 workers, one answer",
            "free-text": "free text, 20,000 answers",
        },
        (*SHAPES, "advise --budget 1000", "compare", "ledger add"),
    ),
    "per-task": ({"r2": "2 answers per task", "r5": "5", "r20": "20", "r100": "100"}, SHAPES),
}
CHANGING = ("seconds", "version", "wall")  # fields of --json that differ from run to run


@dataclass(frozen=True)
class Cost:
    """CPU seconds, memory and exit code of one run, and a digest of its output."""

    cpu: float
    megabytes: float
    code: int
    digest: str


def limit_memory() -> None:
    """Limit the memory of this process, so that an allocation fails before the machine runs out of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def write_batch(path: Path) -> None:
    """Write 1,000 answers of new workers to existing tasks."""
    stamp = time.time_ns()
    rows = "".join(f"t{k},n{stamp}-{k % 50},c0\n" for k in range(1_000))
    path.write_text(f"task,worker,label\n{rows}")


def run(command: str, source: Path, folder: Path) -> Cost:
    """Run a command in a separate process, and return its cost."""
    target = folder / ("report.html" if command == "report" else "output.csv")
    subprocess.run(["rm", "-rf", str(folder / "ledger" if command == "ledger add" else target)], check=True)
    crowd = source.stem
    (_, truth), (scores, pairs) = paths(crowd, folder), further_paths(crowd, folder)
    files = {"source": source, "target": target, "folder": folder, "truth": truth, "scores": scores, "pairs": pairs}
    arguments = [part.format(**files) for part in COMMANDS[command]]
    if command == "ledger add of 1,000":
        write_batch(folder / "batch.csv")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: compiled once
    printed = folder / "printed.json"
    # The drawing engine of a report reserves more memory than it uses.
    limit = None if command == "report" else limit_memory
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "quorate", *arguments],
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=environment,
            preexec_fn=limit,  # this process has one thread when it forks
        )
        alarm = threading.Timer(TIMEOUT, process.kill)
        alarm.start()
        _, status, used = os.wait4(process.pid, 0)
        alarm.cancel()
    code = os.waitstatus_to_exitcode(status)
    digest = "" if command in GROWING else digest_of(printed, target)
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, code, digest)


def digest_of(printed: Path, target: Path) -> str:
    """Return a digest of the output of a command, without fields that measure time."""
    text = printed.read_text()
    if text.startswith("{"):
        text = json.dumps(without_times(json.loads(text)), sort_keys=True)
    digest = hashlib.sha256(text.encode())
    if target.is_file():
        with target.open("rb") as written:
            for block in iter(lambda: written.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()


def without_times(value: object) -> object:
    """Return the value without the fields that differ from run to run."""
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items() if name not in CHANGING}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def unlike_labels(one: Path, other: Path) -> int:
    """Return the number of rows in which two files of labels differ by more than the tolerance."""
    with one.open() as first, other.open() as second:
        rows = zip(csv.reader(first), csv.reader(second), strict=True)
        return sum(not alike(left, right) for left, right in rows)


def alike(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two rows have the same texts, and numbers within the tolerance."""
    return all(a == b or is_near(a, b) for a, b in zip(left, right, strict=True))


def is_near(a: str, b: str) -> bool:
    """Whether two texts are numbers within the tolerance."""
    try:
        return abs(float(a) - float(b)) <= TOLERANCE
    except ValueError:
        return False


def text_of(costs: Sequence[Cost], reference: float | None) -> str:
    """Return a cell: smallest and median CPU seconds, peak memory, and the ratio to ``aggregate``."""
    if any(cost.code < 0 or cost.code > 3 for cost in costs):
        return "failed"
    seconds = [cost.cpu for cost in costs]
    memory = max(cost.megabytes for cost in costs)
    figures = f"{min(seconds):.1f} ({statistics.median(seconds):.1f}) s, {memory:.0f} MB"
    if costs[0].code == REFUSED:
        return f"refused ({figures})"
    return figures if reference is None else f"{figures}, {min(seconds) / reference:.1f}×"


def measure(crowd: str, commands: Sequence[str], repeats: int, folder: Path) -> dict[str, list[Cost]]:
    """Run all commands on one crowd in turn, several times, so that noise affects all equally; return their costs."""
    source, _ = paths(crowd, folder)
    further = ["--further"] if {"rate", "rank"} & set(commands) else []
    if not source.exists() or (further and not further_paths(crowd, folder)[0].exists()):
        subprocess.run([sys.executable, str(HERE / "data.py"), crowd, str(folder), *further], check=True)
    found: dict[str, list[Cost]] = {command: [] for command in commands}
    for _ in range(repeats):
        for command in commands:
            found[command].append(run(command, source, folder))
            print(f"  {crowd} {command}: {found[command][-1].cpu:.2f} CPU s", file=sys.stderr, flush=True)
            output = folder / "output.csv"
            if command == "aggregate" and output.exists():
                output.replace(folder / "labels.csv")
            elif command == "--engine duckdb" and (n := unlike_labels(folder / "labels.csv", output)):
                sys.exit(f"{crowd}: {n:,} labels of --engine duckdb differ from those of the file")
    for command, costs in found.items():
        if len({cost.digest for cost in costs}) > 1:
            sys.exit(f"{crowd}: the outputs of {command} differ from run to run")
    return found


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES), help=f"of {', '.join(TABLES)}")
    parser.add_argument("--commands", default="", help="only these, separated by commas")
    parser.add_argument("--crowds", default="", help="only these crowds, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=HERE / "results")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    kept: dict[str, dict[str, list[dict[str, object]]]] = {}
    for table in given.tables.split(","):
        crowds, commands = TABLES[table]
        chosen = [name for name in commands if not given.commands or name in given.commands.split(",")]
        if "aggregate" not in chosen and USES_LABELS & set(chosen):
            chosen.insert(0, "aggregate")
        names = [name for name in crowds if not given.crowds or name in given.crowds.split(",")]
        columns = {}
        for crowd in names:
            columns[crowd] = measure(crowd, chosen, given.repeats, given.folder)
            kept[crowd] = {name: [asdict(cost) for cost in costs] for name, costs in columns[crowd].items()}
            (given.folder / "sizes.json").write_text(json.dumps(kept, indent=1))
        print("| command | " + " | ".join(crowds[name] for name in names) + " |")
        print("|---|" + "---|" * len(names))
        for command in chosen:
            cells = []
            for crowd in names:
                base = columns[crowd].get("aggregate")
                reference = None if base is None or command == "aggregate" else min(cost.cpu for cost in base)
                cells.append(text_of(columns[crowd][command], reference))
            print(f"| {command} | " + " | ".join(cells) + " |")
        print(flush=True)


if __name__ == "__main__":
    assert {*CROWDS, *ODD_SHAPES} >= {crowd for crowds, _ in TABLES.values() for crowd in crowds}
    main()
