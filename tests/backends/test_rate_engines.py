"""Scores in engines: packed into blocks on disk or in Spark, the result is that of memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import quorate
from quorate.backends import partition
from quorate.backends import rate as rate_anywhere
from quorate.backends.spark import SparkBlocks
from quorate.errors import ConflictingAnswersError, MissingFieldError, OptionError, ScoreError
from quorate.rating import from_engine
from quorate.rating.rating import Rating
from tests.backends.test_spark import spark as spark  # a fixture
from tests.rating.crowds import crowd

ROUNDING = 1e-9
NUMBERS = ("score", "se", "score_low", "score_high", "disagreement", "n_answers")
LINES = ("bias", "bias_se", "scale", "scale_se", "intercept", "noise", "weight", "n_answers", "n_peers")


def write(path: Path, **options: Any) -> tuple[Path, dict[str, float], dict[str, str]]:
    """Scores of text ids in a Parquet file, some known scores, and a group of each rater."""
    task, rater, score, truth = crowd(40, n_tasks=120, n_raters=15, **options)
    names = {"task": [f"t{t}" for t in task], "worker": [f"w{r}" for r in rater], "score": score}
    group = [f"g{r % 5}" for r in rater]
    pa.parquet.write_table(pa.table({**names, "family": group}), path)
    gold = {f"t{t}": float(truth[t]) for t in range(0, 120, 5)}
    return path, gold, {f"w{r}": f"g{r % 5}" for r in range(15)}


def assert_same(found: Rating, memory: Rating) -> None:
    for rows, key, columns in (("scores", "task", NUMBERS), ("workers", "worker", LINES)):
        ours = {row[key]: row for row in getattr(found, rows).to_pylist()}
        theirs = {row[key]: row for row in getattr(memory, rows).to_pylist()}
        assert ours.keys() == theirs.keys()
        for name, row in theirs.items():
            for column in columns:
                one, two = ours[name][column], row[column]
                assert (one is None) == (two is None), (name, column)
                assert one is None or abs(one - two) <= ROUNDING * max(1.0, abs(two)), (name, column, one, two)
            if rows == "workers":
                assert ours[name]["status"] == row["status"]
                assert ours[name].get("group") == row.get("group")
    assert found.reliability.to_dict() == pytest.approx(memory.reliability.to_dict(), abs=1e-9, nan_ok=True)
    assert [note.kind for note in found.notes] == [note.kind for note in memory.notes]


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "gold": {"gold": True, "cut": 0.5},
    "groups": {"group": True},
    "unknown raters": {"worker": "none"},
    "same scale": {"same_scale": True, "bounds": (-1.0, 1.0)},
}


def options_of(case: str, gold: dict[str, float], group: dict[str, str]) -> dict[str, Any]:
    options = dict(CASES[case])
    if options.get("gold"):
        options["gold"] = gold
    if options.get("group"):
        options["group"] = group
    return options


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("points", [None, 5])
def test_blocks_on_disk_equal_memory(
    case: str, points: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, gold, group = write(tmp_path / "scores.parquet", points=points)
    options = options_of(case, gold, group)
    monkeypatch.setattr(partition, "MAX_FILE_ROWS", 100)  # several files, so that tasks come in another order
    assert_same(rate_anywhere(str(path), engine="duckdb", most=0, **options), quorate.rate(path, **options))


def test_group_column_and_repeats_on_disk_equal_memory(tmp_path: Path) -> None:
    path, _, _ = write(tmp_path / "scores.parquet")
    table = pa.parquet.read_table(path)
    again = table.slice(0, 40)
    again = again.set_column(2, "score", pa.array(np.array(again["score"].to_pylist()) + 0.1))
    pa.parquet.write_table(pa.concat_tables([table, again]), path)
    options: dict[str, Any] = {"group": "family", "on_conflict": "mean"}
    found = rate_anywhere(str(path), engine="duckdb", most=0, **options)
    assert found.n_answers == table.num_rows + 40
    memory = quorate.rate(path, **options)
    for column in ("score", "se"):
        ours = dict(zip(found.scores["task"].to_pylist(), found.scores[column].to_pylist(), strict=True))
        for task, value in zip(memory.scores["task"].to_pylist(), memory.scores[column].to_pylist(), strict=True):
            assert ours[task] == pytest.approx(value, abs=ROUNDING)
    with pytest.raises(ConflictingAnswersError):
        rate_anywhere(str(path), engine="duckdb", most=0)


def test_bad_scores_in_an_engine_have_the_same_errors(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("task,worker,score\n1,a,3\n1,b,4/5\n2,a,1\n2,b,2\n")
    with pytest.raises(ScoreError, match="'4/5'"):
        rate_anywhere(str(path), engine="duckdb", most=0)
    path.write_text("task,worker,score\n1,a,3\n1,b,nan\n2,a,1\n2,b,2\n")
    with pytest.raises(MissingFieldError):
        rate_anywhere(str(path), engine="duckdb", most=0)
    found = rate_anywhere(str(path), engine="duckdb", most=0, skip_missing=True)
    assert found.n_answers == 3


def test_usual_column_names_are_found_in_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("task,worker,rating\n1,a,3\n1,b,4\n2,a,1\n2,b,2.5\n3,a,1\n")
    assert rate_anywhere(str(path), engine="duckdb", most=0).n_answers == 5


@pytest.mark.parametrize("most", [None, 0])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": (1, 5)}, "there is no option 'bound'; there are .*bounds"),
        ({"bounds": 5}, "bounds= takes .*not 5"),
        ({"level": "high"}, "level= takes a number, not 'high'"),
        ({"passes": 0}, "passes= must be at least 1, got 0"),
    ],
)
def test_options_without_meaning_are_refused_by_name(most: int | None, options: dict[str, Any], message: str) -> None:
    rows = {"task": [1, 1, 2, 2], "worker": list("abab"), "score": [1, 2, 4, 5]}
    with pytest.raises(OptionError, match=message):
        rate_anywhere(rows, engine="duckdb", most=most, **options)


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore")
def test_blocks_in_spark_equal_memory(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, gold, group = write(tmp_path / "scores.parquet")
    seen = []
    blocks_of = from_engine.engine_blocks

    def spied(*arguments: Any) -> Any:
        seen.append(blocks_of(*arguments))
        return seen[-1]

    monkeypatch.setattr(from_engine, "engine_blocks", spied)
    options = {**options_of("gold", gold, group), "tol": 0.05}  # a few passes: each is a job
    assert_same(rate_anywhere(str(path), engine="spark", most=0, **options), quorate.rate(path, **options))
    assert isinstance(seen[0].blocks, SparkBlocks)
