"""Time the default method and rank-one in Spark, and rank-one of an earlier version that counted pairs by a join.

    python benchmarks/spark.py --folder /tmp/warehouse                          # a hundredth: a million answers
    python benchmarks/spark.py --folder /tmp/warehouse --scale 0.1 --before ../quorate-0.1   # 10 million, and before

The answers are those of `benchmarks/warehouse.py` with integer ids; `--before` is a checkout of a version that counted
pairs in the engine (0.1). Each run is a separate process with its own Spark on all cores of this machine, and labels
are written to a table. CPU seconds are those of Python, of the JVM and of its Python workers. A checkout without built
C kernels is an error: the kernels in numpy take several times as long.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from warehouse import make

GOAL = 0.6  # largest ratio to the CPU seconds of the earlier rank-one in Spark
RUN = """
import json, os, sys, time
from pathlib import Path
source, method, tables, few = sys.argv[1:]
from pyspark.sql import SparkSession
settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
            "spark.driver.host": "127.0.0.1", "spark.driver.memory": "4g", "spark.sql.warehouse.dir": tables}
builder = SparkSession.builder.master("local[*]").appName("quorate benchmark")
for key, value in settings.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()

def processes():
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                pass
    return found

def spent():
    # Of this process and all below it, the ended ones included, which are counted with their parents.
    there, mine = processes(), {os.getpid()}
    while True:
        more = {pid for pid, stat in there.items() if int(stat[1]) in mine} - mine
        if not more:
            break
        mine |= more
    return sum(sum(map(int, there[pid][11:15])) for pid in mine if pid in there) / os.sysconf("SC_CLK_TCK")

before, started = spent(), time.perf_counter()
from quorate.backends import aggregate
try:
    from quorate.blocks import in_use
    kernels = in_use()
except ImportError:
    kernels = "none"
if kernels == "numpy" and os.environ.get("QUORATE_KERNELS") != "numpy":
    sys.exit(f"the C kernels of {sys.modules['quorate'].__file__} are not built; run `python setup.py build_ext "
             "--inplace` in that checkout, or set QUORATE_KERNELS=numpy to measure the kernels in numpy")
few = {"most": 0} if few == "blocks" else {}
result = aggregate(source, method, engine="spark", output_table="labels", **few)
figures = {"wall": time.perf_counter() - started, "cpu": spent() - before, "tasks": session.table("labels").count(),
           "kernels": kernels}
print(json.dumps(figures))
session.stop()
"""


def measure(source: Path, method: str, few: str, checkout: Path | None) -> dict[str, Any]:
    """Run one process to its end, with the version of a checkout, and return its figures."""
    root = Path(__file__).parents[1] if checkout is None else checkout
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYSPARK_PYTHON": sys.executable}
    environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    tables = tempfile.mkdtemp(prefix="quorate-spark-")
    try:
        command = [sys.executable, "-W", "ignore", "-c", RUN, str(source), method, tables, few]
        done = subprocess.run(command, env=environment, cwd=tables, stdout=subprocess.PIPE, text=True, check=False)
    finally:
        shutil.rmtree(tables, ignore_errors=True)
    if done.returncode:
        sys.exit(done.returncode)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Create the answers, run all versions, and print their times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the answers")
    parser.add_argument("--scale", type=float, default=0.01, help="of 100 million answers")
    parser.add_argument("--before", type=Path, help="a checkout of a version that counted pairs in the engine")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, alternating; the best counts")
    parser.add_argument("--json", type=Path, help="where the figures go")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    source = given.folder / f"answers-integer-{given.scale:g}.parquet"
    if not source.exists():
        make(source, "integer", given.scale, "4GB")
    runs = {
        "quorate, blocks in Spark": ("quorate", "blocks", None),
        "rank-one, blocks in Spark": ("rank-one", "blocks", None),
    }
    if given.before is not None:
        runs["rank-one, pairs joined (before)"] = ("rank-one", "join", given.before)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for _ in range(given.repeat):
        for name, arguments in runs.items():
            found[name].append(measure(source, *arguments))
    best = {name: min(figures, key=lambda run: run["cpu"]) for name, figures in found.items()}
    print("| | kernels | wall s | CPU s |\n|---|---|---|---|")
    for name, run in best.items():
        print(f"| {name} | {run['kernels']} | {run['wall']:.0f} | {run['cpu']:.0f} |")
    ours, *_, former = best.values()
    if given.before is not None:
        print(f"\nquorate / rank-one before: {ours['cpu'] / former['cpu']:.2f} (goal: {GOAL} at 10 million)")
    if given.json:
        at = time.strftime("%Y-%m-%d")
        given.json.write_text(json.dumps({"scale": given.scale, "at": at, "runs": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
