"""The same expressions in Spark: on one machine, on a cluster of two workers, and when one of them is killed."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import quorate
from quorate.evaluation.public_sets import SEVEN
from quorate.progress import listening
from quorate.warehouse import aggregate as anywhere
from tests.conftest import RealData, need
from tests.warehouse.alike import aggregate, assert_alike

# Spark warns of the newer pandas at every turn, which is not ours to mend.
pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]
# Small data: what takes the time is starting, planning and compiling, so do less of it.
QUICK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


@contextmanager
def session(master: str) -> Iterator[Any]:
    """One Spark at a time, whichever process of the test run asks for it."""
    java = os.environ.get("JAVA_HOME") or shutil.which("java")
    need("spark", find_spec("pyspark") and java, "pip install 'quorate[spark]', and Java 17")
    import fcntl  # Unix only; elsewhere QUORATE_SKIP names spark

    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with (Path(tempfile.gettempdir()) / "quorate-spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        builder = SparkSession.builder.master(master).appName("quorate tests")
        tables = tempfile.mkdtemp(prefix="quorate-spark-")
        for key, value in {**QUICK, "spark.sql.warehouse.dir": tables}.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            shutil.rmtree(tables, ignore_errors=True)


def all_sets(real: type[RealData], folder: Path) -> Path:
    """The seven public sets as one table; a task or a worker is told apart by the name of its set."""
    parts = []
    for name in SEVEN:
        table = real.load(name).answers.to_table().arrow
        columns = {
            column: pa.array([f"{name} {value}" for value in table[column].to_pylist()])
            for column in ("task", "worker")
        }
        parts.append(pa.table(columns | {"label": [str(label) for label in table["label"].to_pylist()]}))
    pa.parquet.write_table(pa.concat_tables(parts), folder / "all.parquet")
    return folder / "all.parquet"


def test_public_sets_come_out_alike_on_one_machine(real: type[RealData], tmp_path: Path) -> None:
    path = all_sets(real, tmp_path)
    memory = quorate.aggregate(str(path), "rank-one", intervals="fast")
    with session("local[2]") as spark:
        found = aggregate(str(path), "rank-one", engine="spark", output=tmp_path / "labels.parquet")
        assert_alike(found, memory)
        assert (tmp_path / "labels.parquet").is_file()
        assert not list(tmp_path.glob(".labels*"))

        # Few enough to be read: the standard method; whole numbers stay what they are beside nulls.
        read = anywhere(str(path), engine="spark", output_table="labels")
        expected = quorate.aggregate(str(path))
        assert labels_of(read) == labels_of(expected)
        assert spark.table("labels").count() == expected.answers.n_tasks

        # Ids of other types, repeats, conflicts, missing fields, a big task and gold.
        rows = {
            "task": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4],
            "worker": [0.5, 1.5, 2.5, 3.5, 0.5, 0.5, 1.5, 2.5, 0.5, 1.5, 0.5],
            "label": [True, True, False, True, True, True, False, False, True, False, None],
            "place": list(range(11)),
        }
        pa.parquet.write_table(pa.table(rows), tmp_path / "odd.parquet")
        reading: dict[str, Any] = {"on_conflict": "last", "skip_missing": True}
        gold = {1: True}
        expected = quorate.aggregate(quorate.read(rows, **reading), "rank-one", gold=gold, intervals="fast")
        odd = str(tmp_path / "odd.parquet")
        assert_alike(aggregate(odd, "rank-one", engine="spark", order="place", gold=gold, **reading), expected)
        few = anywhere(odd, "rank-one", engine="spark", order="place", gold=gold, **reading)
        assert labels_of(few) == labels_of(expected)


def labels_of(result: quorate.Result) -> dict[Any, Any]:
    return {row["task"]: row["label"] for row in result.labels.to_pylist()}


def test_public_sets_come_out_alike_on_a_cluster_that_loses_an_executor(real: type[RealData], tmp_path: Path) -> None:
    path = all_sets(real, tmp_path)
    memory = quorate.aggregate(str(path), "rank-one", intervals="fast")
    with session("local-cluster[2,1,1024]"):
        assert_alike(aggregate(str(path), "rank-one", engine="spark"), memory)

        before = executors()
        assert len(before) == 2
        killed: list[int] = []

        def hear(stage: str, done: int, total: int | None) -> None:
            if stage == "reading the answers" and done == 0 and not killed:
                killed.append(min(before))
                os.kill(killed[0], signal.SIGKILL)  # as a failing machine would

        with listening(hear):
            found = aggregate(str(path), "rank-one", engine="spark")
        assert killed
        assert killed[0] not in executors()
        assert_alike(found, memory)


def executors() -> list[int]:
    """The executors that this process's cluster runs."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and _is_below(int(folder.name), os.getpid()):
                found.append(int(folder.name))
    return found


def _is_below(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int((Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False
