"""Put small faults into the code, one at a time, and list those that no test notices.

    python -m tools.mutate [skills voting/vote.py ...] [--sample 200 --seed 1] [--jobs 2]

A copy of the tree is made; in it every test is run once, to learn which lines it passes and how long it takes. Then
each fault (see `mutations.py`) gets a process of its own, forked from one that has numpy, scipy and pytest loaded, in
which the faulty file is imported in place of the right one, and the tests that pass its line are run: the room's own
and the file's examples first, then the wider ones, the quickest first, until one fails or the budget is spent. What was
found is kept in --work; a second run goes on from there, and tries survivors again where tests have changed.

The exit status is 1 if a mutant survives.
"""

import argparse
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tools import trial
from tools.mutations import Mutation, mutated, mutations

ROOT = Path(__file__).parent.parent
ROOMS = ("skills", "voting", "meetings", "uncertainty", "blocks")
WIDER = ("methods", "advice")  # rooms whose tests exercise them, too
COPIED = ("src", "tests", "tools", "docs", "pyproject.toml", "README.md")
LOADED = (
    "numpy",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "pyarrow.csv",
    "hypothesis",
    "networkx",
    "typer.testing",
)
KILLED, TIMEOUT, SURVIVED, UNSEEN, TROUBLE = "killed", "timeout", "survived", "no test passes it", "trouble"

Tests = dict[str, dict[str, Any]]


def main() -> int:
    """Read the arguments and do it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("where", nargs="*", default=ROOMS, help="rooms, or files below src/quorate")
    parser.add_argument("--sample", type=int, help="so many faults, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of tests for one fault, as measured")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutants", help="where the copy and records lie")
    chosen = parser.parse_args()
    work = chosen.work.resolve()
    os.chdir(_copy(work))
    for name in LOADED:
        importlib.import_module(name)
    tests = _traced(chosen.jobs, work)
    faults = list(_faults(chosen.where))
    if chosen.sample is not None:
        faults = random.Random(chosen.seed).sample(faults, min(chosen.sample, len(faults)))
    return _tell(list(_outcomes(faults, tests, chosen.jobs, chosen.budget, work / "found.jsonl")))


def _copy(work: Path) -> Path:
    tree = work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tree / name)
    return tree


def _faults(where: Iterable[str]) -> Iterator[tuple[Path, Mutation]]:
    for each in where:
        place = Path("src/quorate", each)
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for mutation in mutations(path.read_text(encoding="utf-8")):
                yield path, mutation


def _digest(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(paths))).hexdigest()[:16]


def _traced(jobs: int, work: Path) -> Tests:
    """Return the lines that each test passes; of a test file that has not changed, as they were found before."""
    kept = work / "traces"
    kept.mkdir(exist_ok=True)
    examples = [path for room in ROOMS for path in sorted(Path("src/quorate", room).glob("*.py"))]
    files = [path for room in (*ROOMS, *WIDER) for path in sorted(Path("tests", room).glob("test_*.py"))]
    code = _digest(path for room in ROOMS for path in Path("src/quorate", room).glob("*.py"))
    records = {path: kept / f"{code}-{_digest([path])}-{path.stem}.json" for path in (*files, *examples)}
    missing = [path for path, record in records.items() if not record.exists()]
    save = lambda record, found: record.write_text(json.dumps(found))  # noqa: E731
    _in_parallel(
        [(path, partial(trial.trace, str(path), ROOMS, partial(save, records[path]))) for path in missing],
        jobs,
        lambda path, status: print(f"looked at {path}", flush=True),
    )
    return {name: test for record in records.values() for name, test in json.loads(record.read_text()).items()}


def _in_parallel(work: Iterable[tuple[Any, Callable[[], int]]], jobs: int, done: Callable[[Any, int], None]) -> None:
    """Run each piece of work in a process of its own, some at a time; tell each one's wait status when it ends."""
    running: dict[int, Any] = {}
    queue = iter(work)
    try:
        while True:
            while len(running) < jobs and (piece := next(queue, None)) is not None:
                running[trial.forked(piece[1])] = piece[0]
            if not running:
                return
            child, status = os.wait()
            done(running.pop(child), status)
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)


def _stages(path: Path, mutation: Mutation, tests: Tests, budget: float) -> list[dict[str, float]]:
    """Choose the tests that pass this line (of what runs at import, the file): the room's own, then the wider ones."""
    name = str(path)
    chosen = {
        test
        for test, seen in tests.items()
        if name in seen["lines"] and (mutation.on_import or mutation.line in seen["lines"][name])
    }
    own = (f"tests/{path.parent.name}/", f"src/quorate/{path.parent.name}/")
    spent, stages = 0.0, [{}, {}]  # type: tuple[float, list[dict[str, float]]]
    for test in sorted(chosen, key=lambda test: (not test.startswith(own), tests[test]["seconds"])):
        spent += tests[test]["seconds"]
        if spent > budget:
            break
        stages[not test.startswith(own)][test] = tests[test]["seconds"]
    return [stage for stage in stages if stage]


def _outcomes(
    faults: list[tuple[Path, Mutation]], tests: Tests, jobs: int, budget: float, record: Path
) -> Iterator[dict[str, Any]]:
    """Try every fault that the record does not settle; add to the record as they end."""
    written = _digest(Path("tests").rglob("*.py"))
    known = {}
    for line in record.read_text().splitlines() if record.exists() else ():
        found = json.loads(line)
        again = found["outcome"] == TROUBLE or (found["tests"], found["budget"]) != (written, budget)
        if found["outcome"] in {KILLED, TIMEOUT} or not again:
            known[found["key"]] = found
    keys = {(path, each.number): f"{path}:{each.number}:{_digest([path])}" for path, each in faults}
    work = []
    for path, each in faults:
        if keys[path, each.number] not in known:
            stages = _stages(path, each, tests, budget)
            tree = partial(mutated, path.read_text(encoding="utf-8"), each.number)
            work.append(((path, each, bool(stages)), partial(_try, str(path), tree, stages)))
    print(f"{len(faults):,} faults, {len(work):,} to try, with {len(tests):,} tests", flush=True)
    with record.open("a", encoding="utf-8") as book:

        def done(fault: tuple[Path, Mutation, bool], status: int) -> None:
            path, each, seen = fault
            key, outcome = keys[path, each.number], _outcome(status) if seen else UNSEEN
            known[key] = {"key": key, "outcome": outcome, "tests": written, "budget": budget} | _described(path, each)
            book.write(json.dumps(known[key]) + "\n")
            book.flush()
            if outcome not in {KILLED, TIMEOUT}:
                print(_line(known[key]), flush=True)

        _in_parallel(work, jobs, done)
    yield from (known[key] for key in keys.values())


def _described(path: Path, mutation: Mutation) -> dict[str, Any]:
    name = str(path.relative_to("src/quorate"))
    return {"file": name, "line": mutation.line, "statement": mutation.statement, "mutation": str(mutation)}


def _try(path: str, tree: Callable[[], Any], stages: list[dict[str, float]]) -> int:
    return trial.survives(path, tree(), stages)


def _outcome(status: int) -> str:
    if os.WIFSIGNALED(status):
        return TIMEOUT if os.WTERMSIG(status) == signal.SIGPROF else KILLED
    # 1: a test failed. 2: a test file could not be imported. Anything else says nothing about the tests.
    return {0: SURVIVED, 1: KILLED, 2: KILLED}.get(os.WEXITSTATUS(status), TROUBLE)


def _line(found: dict[str, Any]) -> str:
    return f"{found['outcome']}: {found['file']}:{found['line']}: {found['mutation']} in `{found['statement']}`"


def _tell(found: list[dict[str, Any]]) -> int:
    """Print how many mutants of each file were detected, and those that survived."""
    counts: dict[str, Counter[str]] = {}
    open_ones = [each for each in found if each["outcome"] not in {KILLED, TIMEOUT}]
    for each in found:
        outcome = "detected" if each["outcome"] in {KILLED, TIMEOUT} else "survived"
        for name in (each["file"], "all"):
            counts.setdefault(name, Counter())[outcome] += 1
    print(f"\n{'':32}{'detected':>9}{'survived':>9}")
    for name, count in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{name:32}{count['detected']:9}{count['survived']:9}")
    print("", *sorted(map(_line, open_ones)), sep="\n")
    return int(bool(open_ones))


if __name__ == "__main__":
    sys.exit(main())
