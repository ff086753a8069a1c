"""Every command with nothing installed but the package and what it cannot do without: `make bare`."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = "task,worker,label\n" + "".join(
    f"t{t},w{(t + k * 3) % 7},{'xyz'[(t * k) % 3]}\n" for t in range(40) for k in range(4)
)
# A command, and what it says where something is missing; nothing where it must work.
COMMANDS = {
    "aggregate a.csv -o labels.csv --workers-out workers.parquet --soft-labels-out posterior.jsonl": "",
    "aggregate a.csv --method rank-one --json": "",
    "aggregate a.csv --method dawid-skene -o again.parquet": "",
    "aggregate again.jsonl -o from-json.csv": "",
    "diagnose a.csv": "",
    "advise a.csv --budget 10 -o next.csv": "",
    "compare a.csv --methods majority,rank-one,quorate": "",
    "convert a.csv -o answers.parquet": "",
    "ledger add a.ledger a.csv": "",
    "ledger aggregate a.ledger --method majority": "",
    "simulate -o crowd.csv --tasks 50": "",
    "score labels.csv labels.csv": "",
    "report a.csv": "quorate[report]",
    "aggregate a.csv --engine duckdb": "quorate[warehouse]",
    "demo": "",
}


def main() -> int:
    """Run them; a traceback, a failure without a message or an unexpected success is a fault."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.csv").write_text(ROWS)
        names = ("task", "worker", "label")
        rows = [dict(zip(names, line.split(","), strict=True)) for line in ROWS.splitlines()[1:]]
        (Path(folder) / "again.jsonl").write_text("".join(f"{row}\n".replace("'", '"') for row in rows))
        for command, missing in COMMANDS.items():
            done = subprocess.run(
                [sys.executable, "-W", "error", "-m", "quorate", *command.split()],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            well = (
                done.returncode == (2 if missing else 0) and missing in done.stderr and "Traceback" not in done.stderr
            )
            faults += not well
            print(f"{'ok  ' if well else 'FAIL'} quorate {command}", flush=True)
            if not well:
                print(done.stderr[-2000:])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
