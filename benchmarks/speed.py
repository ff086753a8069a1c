"""Time quorate, crowd-kit and the lower bound of `contender_floor.py`, each in a separate process and several times.

    make bench                              # the small crowds, all programs
    make bench SETS=m10,zipf5 REPEATS=1     # the large crowds take a quarter of an hour

Prints CPU seconds (smallest and median of the repeats), wall seconds, peak memory, accuracy and the ratios that have
goals; writes them as JSON and as a plot.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from data import CROWDS, paths

# Crowds are created and scored in other processes, so that this one stays small: a child's peak memory starts at its
# parent's.
HERE = Path(__file__).parent
TIMEOUT = 1200  # seconds of wall time for one run


@dataclass(frozen=True)
class Contender:
    """A program that reads FILE and writes OUTPUT."""

    name: str
    command: tuple[str, ...]  # {python}, {crowdkit}, {source} and {target} are filled in
    in_memory: bool = False  # whether it prints its own times
    kernels: str = ""  # "numpy": the kernels in C are not used


def cli(method: str, *more: str) -> tuple[str, ...]:
    """Return the command line of quorate for a method."""
    return ("{python}", "-m", "quorate", "aggregate", "{source}", "-o", "{target}", "--method", method, *more)


def crowdkit(name: str) -> tuple[str, ...]:
    """Return the command of a crowd-kit class."""
    return ("{crowdkit}", str(HERE / "contender_crowdkit.py"), name, "{source}", "{target}")


def memory(method: str, kind: str) -> tuple[str, ...]:
    """Return the command that aggregates a table in memory."""
    return ("{python}", str(HERE / "contender_memory.py"), method, kind, "{source}", "{target}")


METHODS = ("rank-one", "quorate", "majority", "iwmv", "one-coin", "dawid-skene")
CONTENDERS = [
    Contender("floor", ("{python}", str(HERE / "contender_floor.py"), "{source}", "{target}")),
    *(Contender(f"quorate {m}", cli(m)) for m in METHODS),
    Contender("quorate quorate with workers", cli("quorate", "--workers-out", "{target}.workers.csv")),
    *(Contender(f"quorate {m} in numpy", cli(m), kernels="numpy") for m in ("quorate", "rank-one")),
    *(Contender(f"quorate rank-one from {k}", memory("rank-one", k), in_memory=True) for k in ("pandas", "arrow")),
    *(Contender(f"crowd-kit {c}", crowdkit(c)) for c in ("MajorityVote", "OneCoinDawidSkene", "DawidSkene", "MMSR")),
]
# Goals for the ratio of the CPU seconds of the first program to those of the second, on these crowds: at least (GOALS)
# and at most (CEILINGS).
GOALS: list[tuple[str, str, float, tuple[str, ...]]] = [
    ("crowd-kit OneCoinDawidSkene", "quorate rank-one", 12, ("m1",)),
    ("crowd-kit OneCoinDawidSkene", "quorate rank-one", 25, ("m10",)),
    ("crowd-kit DawidSkene", "quorate quorate", 15, ("m1",)),
    ("crowd-kit DawidSkene", "quorate quorate", 45, ("zipf5",)),
    ("crowd-kit DawidSkene", "quorate rank-one", 60, ("zipf5",)),
    ("crowd-kit DawidSkene", "quorate rank-one", 8, ("dense1",)),
    ("crowd-kit MajorityVote", "quorate rank-one", 3, ("m1", "m10")),
    ("crowd-kit MajorityVote", "quorate majority", 5, ("m1",)),
    ("crowd-kit OneCoinDawidSkene", "quorate one-coin", 5, ("m1",)),
    ("crowd-kit DawidSkene", "quorate dawid-skene", 5, ("m1",)),
]
CEILINGS: list[tuple[str, str, float, tuple[str, ...]]] = [
    ("quorate rank-one", "floor", 2.5, ("m1",)),
    ("quorate rank-one", "floor", 1.6, ("m10",)),
    ("quorate rank-one", "floor", 2.0, ("dense1",)),
    ("quorate quorate", "floor", 1.0, ("m1",)),
    ("quorate quorate", "floor", 1.3, ("m10",)),
    ("quorate quorate", "floor", 1.5, ("zipf5",)),
    ("quorate quorate with workers", "floor", 1.6, ("m1",)),
    ("quorate quorate with workers", "quorate quorate", 1.2, ("m10",)),
]


@dataclass(frozen=True)
class Run:
    """The figures of one program on one crowd: the run with the smallest CPU seconds."""

    crowd: str
    contender: str
    cpu: float | None = None
    wall: float | None = None
    megabytes: float | None = None
    accuracy: float | None = None
    median: float | None = None  # CPU seconds
    failed: str | None = None


def measure(command: Sequence[str], in_memory: bool, kernels: str = "") -> tuple[float, float, float]:
    """Run a command to its end; return CPU seconds, wall seconds and peak megabytes."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        environment = {**os.environ, **({"QUORATE_KERNELS": kernels} if kernels else {})}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: compiled once
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment)
        alarm = threading.Timer(TIMEOUT, process.kill)
        alarm.start()
        _, status, used = os.wait4(process.pid, 0)  # with the resource usage of this process
        alarm.cancel()
        wall = time.perf_counter() - started
        output.seek(0), errors.seek(0)
        if status:
            last = errors.read().decode().strip().splitlines()[-1:] or ["failed"]
            raise RuntimeError(f"> {TIMEOUT} s" if wall >= TIMEOUT else last[0][:100])
        if in_memory:
            own = json.loads(output.read())
            return own["cpu"], own["wall"], used.ru_maxrss / 1024
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024


def error_of(labels: Path, truth: Path) -> float:
    """Return the share of wrong labels, computed in a separate process."""
    command = [sys.executable, "-m", "quorate", "score", str(labels), str(truth), "--json"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(found.stdout)["error"])


def race(crowd: str, contenders: Sequence[Contender], repeats: int, folder: Path, crowdkit_python: str) -> list[Run]:
    """Run every program in turn, several times, so that noise affects all equally; return the best runs."""
    source, truth = paths(crowd, folder)
    if not (source.exists() and truth.exists()):
        subprocess.run([sys.executable, str(HERE / "data.py"), crowd, str(folder)], check=True)
    target = folder / "labels.csv"
    best: dict[str, Run] = {}
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for _ in range(repeats):
        for contender in contenders:
            known = best.get(contender.name)
            if known is not None and known.failed:
                continue
            fill = {"python": sys.executable, "crowdkit": crowdkit_python, "source": str(source), "target": str(target)}
            try:
                command = [part.format(**fill) for part in contender.command]
                cpu, wall, megabytes = measure(command, contender.in_memory, contender.kernels)
                accuracy = 1 - error_of(target, truth)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                best[contender.name] = Run(crowd, contender.name, failed=str(error))
                continue
            if known is None or known.cpu is None or cpu < known.cpu:
                best[contender.name] = Run(crowd, contender.name, cpu, wall, megabytes, accuracy)
            seconds[contender.name].append(cpu)
            print(f"  {crowd} {contender.name}: {cpu:.2f} CPU s", file=sys.stderr, flush=True)
    return [replace(run, median=median(seconds[run.contender])) if not run.failed else run for run in best.values()]


def report(runs: Sequence[Run]) -> None:
    """Print the table, and every goal with the ratio that was measured."""
    print("| crowd | contender | CPU s | median | wall s | peak MB | accuracy |\n|---|---|---|---|---|---|---|")
    for run in runs:
        cells = [run.failed, "", "", "", ""]
        if run.cpu is not None and run.wall is not None and run.accuracy is not None:
            cells = [
                f"{run.cpu:.2f}",
                f"{run.median:.2f}",
                f"{run.wall:.2f}",
                f"{run.megabytes:.0f}",
                f"{run.accuracy:.4f}",
            ]
        print(f"| {run.crowd} | {run.contender} | {' | '.join(str(cell) for cell in cells)} |")
    cpu = {(run.crowd, run.contender): run.cpu for run in runs if run.cpu is not None}
    print("\n| ratio of CPU seconds | crowd | goal | reached |\n|---|---|---|---|")
    for goals, sign in ((GOALS, "≥"), (CEILINGS, "≤")):
        for upper, lower, goal, crowds in goals:
            for crowd in crowds:
                one = cpu.get((crowd, upper))
                two = cpu.get((crowd, lower))
                if one is not None and two is not None:
                    print(f"| {upper} / {lower} | {crowd} | {sign} {goal:g} | {one / two:.2f} |")
    one = cpu.get(("m10", "quorate rank-one"))
    two = cpu.get(("m1", "quorate rank-one"))
    if one is not None and two is not None:
        print(f"| quorate rank-one, m10 / m1 | | ≤ 11 | {one / two:.1f} |")
    one = cpu.get(("m1x2", "quorate rank-one"))
    two = cpu.get(("m1", "quorate rank-one"))
    if one is not None and two is not None:
        print(f"| quorate rank-one, twice the answers a task | m1x2 / m1 | 0.8 to 1.2 | {one / two:.2f} |")


def plot(runs: Sequence[Run], path: Path) -> None:
    """Draw the CPU seconds of every program, one panel per crowd."""
    import altair as alt

    rows = [{"crowd": run.crowd, "contender": run.contender, "cpu": run.cpu} for run in runs if run.cpu]
    names = [contender.name for contender in CONTENDERS]
    # Points, not bars: a logarithmic axis has no zero at which bars could start.
    points = alt.Chart(alt.InlineData(values=rows)).mark_circle(size=90, color="#3b6ea5", opacity=1)
    chart = points.encode(
        x=alt.X("cpu", type="quantitative", title="CPU seconds", scale=alt.Scale(type="log", zero=False)),
        y=alt.Y("contender", type="nominal", sort=names, title=None, axis=alt.Axis(grid=True)),
        row=alt.Row("crowd", type="nominal", sort=list(CROWDS), title=None),
    )
    chart.properties(width=420).save(path)


def main() -> None:
    """Parse the arguments, run the programs, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="s10k,m1,m1x2,dense1", help=f"of {', '.join(CROWDS)}")
    parser.add_argument("--only", default="", help="contenders whose names contain one of these, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=HERE / "results")
    parser.add_argument("--crowdkit", default=".venv-crowdkit/bin/python", help="a Python that has crowd-kit")
    given = parser.parse_args()
    wanted = [word for word in given.only.split(",") if word]
    contenders = [each for each in CONTENDERS if not wanted or any(word in each.name for word in wanted)]
    runs: list[Run] = []
    for crowd in given.sets.split(","):
        runs += race(crowd, contenders, given.repeats, given.folder, given.crowdkit)
        (given.folder / "speed.json").write_text(json.dumps([asdict(run) for run in runs], indent=1))
    report(runs)
    plot(runs, given.folder / "speed.svg")


if __name__ == "__main__":
    main()
