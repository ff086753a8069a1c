"""Kill Spark executors in the middle of an aggregation, and see that the labels are those of memory.

    python -m tests.faults.spark                # on a cluster of two executors, which it starts on this machine

One executor is killed (SIGKILL, as a failing machine would end it) while rows are packed, one in the middle of a sweep,
one in the middle of EM and one while labels are written, all in one run of the default method. Prints what was killed
when, and how many labels differ: none.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Steps by their progress messages, and when an executor dies.
MOMENTS = {"packing": "packing", "centred_products": "a sweep", "e_step": "EM", "voting": "writing"}
SOON = 0.15  # seconds after which it dies: the work has begun by then
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "4",
}


class Killer:
    """Listens to how far the work is, and kills an executor at each of some moments, once."""

    def __init__(self, moments: dict[str, str]) -> None:
        self.waiting, self.killed = dict(moments), dict[str, int]()
        self.timers: list[threading.Timer] = []

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Hear of a stage; whoever listens to progress is called so."""
        for word in [word for word in self.waiting if word in stage and done == 0]:
            moment = self.waiting.pop(word)
            self.timers.append(threading.Timer(SOON, self._kill, [moment]))
            self.timers[-1].start()

    def _kill(self, moment: str) -> None:
        there = executors()
        if there:
            os.kill(there[0], signal.SIGKILL)
            self.killed[moment] = there[0]

    def wait(self) -> dict[str, int]:
        """Return who was killed when."""
        for timer in self.timers:
            timer.join()
        return self.killed


def executors() -> list[int]:
    """List the executors that this process's cluster runs, the oldest first."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and _is_below(int(folder.name), os.getpid()):
                found.append(int(folder.name))
    return sorted(found)


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def lose_executors(aggregate: Callable[[], Any], moments: dict[str, str] = MOMENTS) -> tuple[Any, dict[str, int]]:
    """Run something that aggregates in Spark, and kill an executor at each moment."""
    from quorate.progress import listening

    killer = Killer(moments)
    with listening(killer):
        result = aggregate()
    return result, killer.wait()


def main() -> None:
    """Make a crowd, aggregate it while executors die, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=5_000, help="of five answers each")
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyarrow import parquet
    from pyspark.sql import SparkSession

    import quorate

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/answers.parquet"
        parquet.write_table(quorate.simulate.crowd(given.tasks, 500, 5, seed=1).answers.to_table().arrow, path)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.sql.warehouse.dir", folder)
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        try:
            result, killed = lose_executors(
                lambda: quorate.backends.aggregate(path, engine="spark", most=0, output_table="labels")
            )
            ours = {row["task"]: row["label"] for row in result.labels.to_pylist()}
        finally:
            session.stop()
        here = {row["task"]: row["label"] for row in quorate.aggregate(path).labels.to_pylist()}
    for moment in MOMENTS.values():
        print(f"{moment}: executor {killed.get(moment, 'none')} killed")
    differ = sum(ours.get(task) != label for task, label in here.items())
    print(f"{len(here):,} labels, {differ} differ from those of memory")
    if differ or len(killed) < len(MOMENTS) or ours.keys() != here.keys():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
