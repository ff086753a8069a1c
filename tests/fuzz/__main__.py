"""Hostile input, in thousands: `make fuzz`. Every case must end in a result or a named line, and leave nothing half.

    python -m tests.fuzz                     # three minutes over all targets, from a seed that it prints
    python -m tests.fuzz --cases 100000 --seed 1
    python -m tests.fuzz --only jsonl,ledger --minutes 60

Each piece of work runs in a process of its own, so that a native fault or a hang is a case like any other. What ends
badly is made smaller and written down in `fuzz-found/`; moved to tests/io/corpus it is a test for ever.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.endings import end_of
from tests.fuzz.targets import TARGETS, Case

ROUND = 2500  # cases of a target in one process
PATIENCE = 180  # seconds without a sign before a process is taken to hang, on a machine that may be busy
MEMORY = 6 << 30  # bytes of address space that a case may take: more ends in a MemoryError
FOUND = Path("fuzz-found")


def case_of(target: str, seed: str) -> Case:
    """Return the case that a target makes of a seed; always the same.

    >>> case_of("csv", "1:0").arguments == case_of("csv", "1:0").arguments
    True
    """
    return TARGETS[target](random.Random(f"{target}:{seed}"))


def smaller(case: Case, end: str) -> Case:
    """Take away what is not needed for the same bad end."""
    tries = 400
    for name in [*case.files, None]:
        step = max(len(_part(case, name)) // 2, 1)
        while step and tries:
            data = _part(case, name)
            for at in range(0, len(data), step):
                tries -= 1
                if tries <= 0:
                    break
                shorter = _with(case, name, data[:at] + data[at + step :])
                if _same(end_of(shorter), end):
                    case = shorter
                    break
            else:
                step //= 2
    return case


def _same(one: str, two: str) -> bool:
    return one.split(":")[0] == two.split(":")[0]


def _part(case: Case, name: str | None) -> bytes:
    return (case.stdin or b"") if name is None else case.files[name]


def _with(case: Case, name: str | None, data: bytes) -> Case:
    files = case.files if name is None else {**case.files, name: data}
    return Case(case.arguments, files, data if name is None and case.stdin is not None else case.stdin, case.outputs)


def work(target: str, seed: str, first: int, count: int, status: Path) -> None:
    """Run cases in this process, saying before each which it is, and at the end how they ended."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # of this process, which does nothing else
    ends: Counter[str] = Counter()
    for number in range(first, first + count):
        status.write_text(str(number))
        case = case_of(target, f"{seed}:{number}")
        end = end_of(case)
        ends["bad" if end not in ("read", "refused") else end] += 1
        if end not in ("read", "refused"):
            _keep(target, f"{seed}:{number}", smaller(case, end), end)
    print(json.dumps(ends), flush=True)


def _keep(target: str, seed: str, case: Case, end: str) -> None:
    FOUND.mkdir(exist_ok=True)
    name = f"{target}-{seed.replace(':', '-')}"
    (FOUND / f"{name}.json").write_text(case.to_json())
    with (FOUND / "ends.txt").open("a") as stream:
        stream.write(f"{name}\t{end[:300]!r}\n")


def round_of(target: str, seed: str, first: int, count: int) -> Counter[str]:
    """Run cases in processes of their own; one that dies or hangs is counted, and the rest goes on in another."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        status = Path(folder) / "status"
        while count > 0:
            status.write_text(str(first))
            done, seen, code = _watched(target, seed, first, count, status)
            ends.update(done)
            if code == 0:
                return ends
            at = int(seen or first)
            ends["bad"] += 1
            ends["read or refused"] += at - first  # before it; the two counts are lost with the process
            why = "hang" if code is None else f"signal {-code}"
            _keep(target, f"{seed}:{at}", case_of(target, f"{seed}:{at}"), why)
            count -= at + 1 - first
            first = at + 1
    return ends


def _watched(target: str, seed: str, first: int, count: int, status: Path) -> tuple[Counter[str], str, int | None]:
    command = [sys.executable, "-m", "tests.fuzz", "--work", target, seed, str(first), str(count), str(status)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    seen, since = "", time.monotonic()
    while True:
        try:
            out, _ = process.communicate(timeout=2)
            break
        except subprocess.TimeoutExpired:
            now = status.read_text()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE:
                process.kill()
                process.communicate()
                return Counter(), now, None
    counts = json.loads(out.splitlines()[-1]) if process.returncode == 0 else {}
    return Counter(counts), status.read_text(), process.returncode


def main() -> int:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(TARGETS), help="targets, separated by commas")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--cases", type=int, help="so many in all, instead of minutes")
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        target, seed, first, count, status = given.work
        work(target, seed, int(first), int(count), Path(status))
        return 0
    targets = given.only.split(",")
    ends = {target: Counter[str]() for target in targets}
    end, left, number = time.monotonic() + 60 * given.minutes, given.cases, 0
    print(f"seed {given.seed}, {os.cpu_count()} processors", flush=True)
    while (left > 0) if given.cases else (time.monotonic() < end):
        size = min(ROUND, -(-left // len(targets))) if given.cases else ROUND // 10
        for target in targets:
            ends[target] += round_of(target, given.seed, number, size)
        number += size
        left = left - size * len(targets) if given.cases else None
    return _print(ends)


def _print(ends: dict[str, Counter[str]]) -> int:
    print(f"{'target':<15}{'cases':>9}{'read':>9}{'refused':>9}{'bad end':>9}")
    for name, each in [*ends.items(), ("all", sum(ends.values(), Counter()))]:
        print(f"{name:<15}{sum(each.values()):>9,}{each['read']:>9,}{each['refused']:>9,}{each['bad']:>9,}")
    bad = sum(each["bad"] for each in ends.values())
    if bad:
        print(f"see {FOUND}/ends.txt")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
