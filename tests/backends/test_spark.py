"""Blocks in Spark: labels, counts and skills are those of memory, also when processes die on the way."""

import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

import quorate
import quorate.errors
from quorate.backends import aggregate as anywhere
from quorate.backends import spark as spark_blocks
from quorate.backends import spark as spark_labels
from quorate.backends import spark_packing
from quorate.backends.engine import EngineOptions, connect
from quorate.blocks.kernels import response_counts
from quorate.datasets.sources import SEVEN
from quorate.io.options import ReadOptions
from tests.backends.alike import ROUNDING, aggregate, assert_alike, farthest
from tests.backends.crowds_with_symbols import READING, abstaining_at_random, cut, judged, known, renamed_grades
from tests.conftest import RealData, need
from tests.methods.test_ordered import ordered_crowd

# Spark warns of the newer pandas at every turn, which is not ours to repair.
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
    """The seven public sets as one table; a task or a worker is distinguished by the name of its set."""
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


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Two cores, where a part that fails is tried again up to three times, as it is on a cluster."""
    with session("local[2,4]") as running:
        yield running


def test_public_sets_come_out_alike(spark: Any, real: type[RealData], tmp_path: Path) -> None:
    path = all_sets(real, tmp_path)
    memory = quorate.aggregate(str(path), "rank-one", intervals="fast")
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


def generated(path: Path, n_tasks: int = 4000) -> dict[str, str]:
    """Write a crowd with text for ids, rows in any order, some of them twice; return what is known of some tasks."""
    crowd = quorate.simulate.crowd(n_tasks, 60, 4, n_classes=3, seed=5)
    answers = crowd.answers
    rng = np.random.default_rng(7)
    rows = rng.permutation(np.concatenate([np.arange(answers.n_answers), np.arange(0, answers.n_answers, 50)]))
    columns = {
        "task": pa.array([f"task {code:05d}" for code in answers.task[rows]]),
        "worker": pa.array([f"worker {code:03d}" for code in answers.worker[rows]]),
        "label": pa.array([["cat", "dog", "elk"][code] for code in answers.label[rows]]),
    }
    pa.parquet.write_table(pa.table(columns), path)
    return {f"task {t:05d}": ["cat", "dog", "elk"][crowd.truth[t]] for t in range(0, n_tasks, 20)}


@pytest.mark.parametrize("method", ["quorate", "dawid-skene"])
def test_labels_are_those_of_memory_and_duckdb(spark: Any, method: str, tmp_path: Path) -> None:
    path, gold = str(tmp_path / "rows.parquet"), generated(tmp_path / "rows.parquet")
    memory = anywhere(path, method, engine="duckdb", gold=gold, intervals="fast")
    found = aggregate(path, method, engine="spark", gold=gold, output_table=f"of_{method[:2]}")
    assert_alike(found, memory)
    assert labels_of(aggregate(path, method, gold=gold)) == labels_of(found)  # blocks that DuckDB filled
    assert spark.table(f"of_{method[:2]}").count() == memory.answers.n_tasks
    assert found.info.n_repeats == 320
    if method == "quorate":  # a copy has what was asked for before, and says so of the rest
        assert pickle.loads(pickle.dumps(found)).workers == found.workers


def test_grades_and_abstentions_are_used_as_in_memory(spark: Any, tmp_path: Path) -> None:
    path, (table, truth) = tmp_path / "judged.parquet", judged()
    pa.parquet.write_table(table, path)
    costs = {"said": ["fine", "toxic"], "true": ["toxic", "fine"], "cost": [10, 1]}
    options: dict[str, Any] = {**READING, "gold": known(truth), "costs": costs}
    found = aggregate(str(path), engine="spark", output_table="with_symbols", **options)
    assert_alike(found, quorate.aggregate(str(path), **options, intervals="fast"))
    assert "Expected cost" in found.summary()
    assert spark.table("with_symbols").columns[-3:] == ["n_abstained", "tied", "expected_cost"]

    # Labels handed out, no known ones, and grades of other names, which change nothing.
    renamed, reading = renamed_grades(table)
    pa.parquet.write_table(renamed, tmp_path / "renamed.parquet")
    found = aggregate(str(tmp_path / "renamed.parquet"), engine="spark", **reading)
    assert_alike(found, quorate.aggregate(str(path), **READING, intervals="fast"))
    assert farthest(found, aggregate(cut(table))) > 0.1  # symbols have an effect


def test_tasks_without_answers_and_answers_of_one_worker_have_nulls_as_in_memory(spark: Any, tmp_path: Path) -> None:
    label = ["x", "x", "y", "y", "y", "y", "?", "?", "?"]
    rows = pa.table({"task": [1, 1, 1, 2, 2, 2, 3, 3, 3], "worker": list("abcabcabc"), "label": label})
    path = str(tmp_path / "rows.parquet")
    pa.parquet.write_table(rows, path)
    found = aggregate(path, engine="spark", abstain=["?"], output_table="unanswered")
    assert_alike(found, quorate.aggregate(path, abstain=["?"], intervals="fast"))
    assert "1 task has no answers" in found.summary()
    table = {row["task"]: row for row in spark.table("unanswered").collect()}
    assert (table[3]["label"], table[3]["confidence"], table[3]["status"]) == (None, None, "no answers")
    pa.parquet.write_table(rows.filter(pa.compute.equal(rows["worker"], "a")), path)
    one = aggregate(path, "majority", engine="spark", abstain=["?"])
    assert one.labels["confidence"].null_count == 3
    assert "No confidence can be given" in one.summary()


def test_abstaining_at_random_changes_no_label_and_no_confidence(spark: Any, tmp_path: Path) -> None:
    rows, answers = abstaining_at_random(0)
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    found = aggregate(str(tmp_path / "rows.parquet"), engine="spark", abstain=["unsure", "skip", ""])
    assert found.info.n_abstained > 100
    assert farthest(found, quorate.aggregate(answers)) < ROUNDING


def test_classes_in_an_order_are_labelled_as_in_memory(spark: Any, tmp_path: Path) -> None:
    rows, _ = ordered_crowd(1)
    pa.parquet.write_table(pa.table(rows), tmp_path / "rows.parquet")
    found = aggregate(str(tmp_path / "rows.parquet"), engine="spark", ordered=True, output_table="in_order")
    assert_alike(found, quorate.aggregate(rows, ordered=True, intervals="fast"))
    assert spark.table("in_order").columns[-3:] == ["score", "score_low", "score_high"]


def test_sums_are_the_same_bits_wherever_they_are_added(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    generated(tmp_path / "rows.parquet", 400)
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    blocks = spark_blocks.build_spark_blocks(connect(EngineOptions(engine="spark")), frame, 1632, ReadOptions())
    here = [blocks.sum(response_counts, 60, 3), (blocks.n_peers(),)]
    monkeypatch.setattr(spark_blocks, "MAX_COLLECTED_BYTES", 0)  # by the executors, a slice each
    there = [blocks.sum(response_counts, 60, 3), (blocks.n_peers(),)]
    assert [[each.tolist() for each in sums] for sums in here] == [[each.tolist() for each in sums] for sums in there]


class Dies:
    """A step of ours on the executors that takes its process with it, the first time that it runs there."""

    def __init__(self, inner: Any, folder: Path) -> None:
        self.inner, self.folder = inner, folder

    def __call__(self, *given: Any) -> Any:
        name = getattr(self.inner, "step", None) or self.inner.broadcast.value[1].__name__
        with suppress(FileExistsError):
            if name in MOMENTS:
                (self.folder / name).touch(exist_ok=False)
                os._exit(1)
        return self.inner(*given)


MOMENTS = ("numbered", "packed", "centred_products", "model_e_step", "_written_as_stream")


def test_a_process_that_dies_in_any_step_changes_nothing(spark: Any, tmp_path: Path, monkeypatch: Any) -> None:
    from pyspark import cloudpickle as pickling

    cloudpickle: Any = pickling  # has no types
    generated(tmp_path / "rows.parquet")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the executors do not have the tests
    died = tmp_path / "died"
    died.mkdir()
    for module, name in ((spark_packing, "OnExecutor"), (spark_blocks, "Summing"), (spark_labels, "OnEach")):
        step = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, step=step, **named: Dies(step(*given, **named), died))
    found = aggregate(str(tmp_path / "rows.parquet"), engine="spark", output_table="after_deaths")
    assert sorted(path.name for path in died.iterdir()) == sorted(MOMENTS)
    assert_alike(found, quorate.aggregate(str(tmp_path / "rows.parquet"), intervals="fast"))


@pytest.mark.parametrize("pattern", ["{odd,other}*.csv", "", "file:odd*.csv"])
def test_no_output_replaces_what_spark_reads(spark: Any, tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "odd name %.csv"
    path.write_text("task,worker,label\n1,a,x\n1,b,x\n1,c,y\n")
    source = f"{pattern[:5]}//{tmp_path}/{pattern[5:]}" if pattern.startswith("file:") else str(tmp_path / pattern)
    before = path.read_bytes()
    with pytest.raises(quorate.errors.OptionError, match="would overwrite"):
        anywhere(source, "majority", engine="spark", format="csv", output=path)
    assert path.read_bytes() == before


def test_errors_are_ours_and_name_the_rows(spark: Any, tmp_path: Path) -> None:
    rows = {"task": ["a", "a", "b", None], "worker": ["u", "u", "u", "v"], "label": ["x", "y", "x", "x"]}
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table(rows), path)
    with pytest.raises(
        quorate.errors.BlankFieldError, match="1 row has no value in 'task' \\(for example the row with worker 'v'"
    ):
        aggregate(str(path), "majority", engine="spark")
    with pytest.raises(quorate.errors.ConflictingAnswersError, match="Worker 'u' answered task 'a' twice: 'x' and 'y'"):
        aggregate(str(path), "majority", engine="spark", skip_missing=True)
    pa.parquet.write_table(pa.table({**rows, "task": list("aabb"), "worker": ["u", "w", " ", "v"]}), path)
    with pytest.raises(quorate.errors.BlankFieldError, match=r"1 row has no value in 'worker' .*task 'b'"):
        aggregate(str(path), "majority", engine="spark")
    with pytest.raises(
        quorate.errors.UnknownGoldTaskError, match="known labels include tasks that nobody answered: 'z'"
    ):
        aggregate(str(path), "majority", engine="spark", skip_missing=True, gold={"z": "x"})
    assert not spark.sparkContext._jsc.getPersistentRDDs()  # nothing is left behind
