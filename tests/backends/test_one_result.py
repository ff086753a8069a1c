"""A result in an engine is what one in memory is: the same keys, and a named error for what it cannot have."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.backends import diagnose as diagnose_anywhere
from quorate.errors import NotInMemoryError, OptionError
from quorate.result import Result
from tests.backends.alike import aggregate

ANSWERS = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1).answers
METHODS = ("quorate", "rank-one", "majority")


def keys(value: Any) -> Any:
    """The shape of JSON: its keys, with those of the first entry of every list."""
    if isinstance(value, dict):
        return {name: keys(part) for name, part in value.items()}
    return [keys(value[0])] if isinstance(value, list) and value else None


@pytest.mark.parametrize("method", METHODS)
def test_the_json_has_the_same_keys_in_the_same_order(method: str) -> None:
    here, there = quorate.aggregate(ANSWERS, method), aggregate(ANSWERS.to_table(), method)
    assert isinstance(there, Result)
    assert json.dumps(keys(there.to_dict())) == json.dumps(keys(here.to_dict()))
    assert there.workers.column_names == here.workers.column_names
    assert there.labels.column_names == here.labels.column_names
    assert repr(there) == repr(here).replace(")>", ") in duckdb>")


def test_the_summary_tells_the_same() -> None:
    here, there = (
        quorate.aggregate(ANSWERS, "rank-one", intervals="fast").summary(verbose=True),
        aggregate(ANSWERS.to_table(), "rank-one").summary(verbose=True),
    )
    assert "projected gradient below 1e-10" in here  # whose digits would be the rounding of sums, in another order
    expected = here.replace("rank-one).", "rank-one) in duckdb.").splitlines()
    # Single workers are tested in memory only.
    assert there.splitlines() == [line for line in expected if "may be guessing" not in line]


@pytest.mark.parametrize("what", ["answers", "vote", "posterior"])
def test_what_needs_the_answers_in_memory_says_so(what: str) -> None:
    found = aggregate(ANSWERS.to_table(), "rank-one")
    with pytest.raises(NotInMemoryError, match=r"stay there. Aggregate them in memory, with quorate.aggregate"):
        getattr(found, what)


def test_full_intervals_and_other_methods_are_refused_by_name() -> None:
    with pytest.raises(NotInMemoryError, match="choose intervals='fast'"):
        aggregate(ANSWERS.to_table(), intervals="full")
    with pytest.raises(
        NotInMemoryError, match="the method 'kos' needs every answer in memory, and duckdb has 240 rows"
    ):
        aggregate(ANSWERS.to_table(), "kos")
    with pytest.raises(OptionError, match=r"has no option 'tolerence' out of core\. Did you mean 'tolerance'\?"):
        aggregate(ANSWERS.to_table(), "rank-one", tolerence=0.1)


def test_the_labels_are_read_when_they_are_asked_for() -> None:
    found = aggregate(ANSWERS.to_table(), "majority")
    assert found.engine_table.count().to_pyarrow().as_py() == 60
    assert found.labels["task"].to_pylist() == sorted(ANSWERS.task_names.to_pylist())
    with pytest.raises(OptionError, match="they are in memory"):
        quorate.aggregate(ANSWERS, "majority").engine_table  # noqa: B018


@pytest.mark.parametrize("method", METHODS)
def test_a_pickled_result_has_everything_that_was_asked_for(method: str, tmp_path: Path) -> None:
    found = aggregate(ANSWERS.to_table(), method)
    bare = pickle.loads(pickle.dumps(found))
    assert bare.summary() == found.summary()
    with pytest.raises(NotInMemoryError, match="Read the attribute labels before the result is pickled"):
        bare.labels  # noqa: B018
    with pytest.raises(NotInMemoryError, match="Read the attribute workers before the result is pickled"):
        bare.workers  # noqa: B018
    labels, workers = found.labels, found.workers
    kept = pickle.loads(pickle.dumps(found))
    assert (kept.labels, kept.workers) == (labels, workers)
    assert kept.to_dict() == found.to_dict()
    written = aggregate(ANSWERS.to_table(), method, output=tmp_path / "labels.parquet")
    assert pickle.loads(pickle.dumps(written)).labels == labels  # a file that stays can be read again
    assert copy.deepcopy(found).label_source is found.label_source


def test_a_sample_of_whole_tasks_is_diagnosed() -> None:
    found = diagnose_anywhere(
        ANSWERS.to_table(), most=100, gold={ANSWERS.task_names[k].as_py(): "c0" for k in range(60)}
    )
    some = found.result.answers
    assert 40 < some.n_answers < 160
    assert (some.per_task == 4).all()
    assert found.result.gold is not None
