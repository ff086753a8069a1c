"""A result in an engine is what one in memory is: the same keys, and a named error for what it cannot have."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.errors import EngineError, NotInMemoryError, OptionError
from quorate.result import Result
from quorate.warehouse.engine_labels import labels_there
from tests.warehouse.alike import aggregate, diagnose

ANSWERS = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1).answers
METHODS = ("rank-one", "majority", "iwmv")


def keys(told: Any) -> Any:
    """The shape of JSON: its keys, with those of the first entry of every list."""
    if isinstance(told, dict):
        return {name: keys(value) for name, value in told.items()}
    return [keys(told[0])] if isinstance(told, list) and told else None


@pytest.mark.parametrize("method", METHODS)
def test_the_json_has_the_same_keys_in_the_same_order(method: str) -> None:
    here, there = quorate.aggregate(ANSWERS, method), aggregate(ANSWERS.to_table(), method)
    assert isinstance(there, Result)
    assert json.dumps(keys(there.to_dict())) == json.dumps(keys(here.to_dict()))
    assert there.workers.column_names == here.workers.column_names
    assert there.labels.column_names == here.labels.column_names
    assert repr(there) == repr(here).replace(method, f"{method} in duckdb", 1)


def test_a_diagnosis_has_the_same_keys_in_the_same_order() -> None:
    here, there = quorate.diagnose(ANSWERS), diagnose(ANSWERS.to_table())
    assert isinstance(there, quorate.Diagnosis)
    assert list(there.to_dict()) == list(here.to_dict())
    for name in ("components", "repair"):
        ours, theirs = there.to_dict()[name], here.to_dict()[name]
        assert json.dumps(keys(ours)) == json.dumps(keys(theirs)).replace("[]", "null")
    assert there.summary().splitlines()[0] == here.summary().splitlines()[0] + ", in duckdb"
    assert next(there.rows())[:4] == next(here.rows())[:4]


def test_the_summary_tells_the_same() -> None:
    here = quorate.aggregate(ANSWERS, "rank-one", intervals="fast").summary()
    assert aggregate(ANSWERS.to_table(), "rank-one").summary() == here.replace("rank-one:", "rank-one in duckdb:")


def test_a_broken_graph_is_told_with_what_would_mend_it() -> None:
    rows = {"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")}
    here, there = quorate.diagnose(quorate.read(rows)), diagnose(rows)
    assert there.to_dict()["repair"] == {**here.to_dict()["repair"], "assignments": None}
    assert "1 further answer would join everyone" in there.summary()
    two = diagnose({"task": [1, 1], "worker": list("ab"), "label": list("xy")})
    assert not two.repair.possible


@pytest.mark.parametrize("what", ["answers", "ballot", "posterior", "diagnosis"])
def test_what_needs_the_answers_in_memory_says_so(what: str) -> None:
    found = aggregate(ANSWERS.to_table(), "rank-one")
    with pytest.raises(NotInMemoryError, match=r"stay there. Aggregate them in memory, with quorate.aggregate"):
        getattr(found, what)


def test_what_an_engine_did_not_count_says_so_and_is_null_in_json() -> None:
    found = aggregate(ANSWERS.to_table(), "majority")
    with pytest.raises(NotInMemoryError, match="rank-one does"):
        found.identifiability  # noqa: B018
    assert found.to_dict()["components"] is None
    assert found.workers["n_peers"].null_count == 8


def test_full_intervals_and_other_methods_are_refused_by_name() -> None:
    with pytest.raises(NotInMemoryError, match="choose intervals='fast'"):
        aggregate(ANSWERS.to_table(), intervals="full")
    with pytest.raises(
        NotInMemoryError, match="the method 'quorate' needs every answer in memory, and duckdb has 240 rows"
    ):
        aggregate(ANSWERS.to_table(), "quorate")
    with pytest.raises(OptionError, match=r"has no option 'tolerence' inside an engine \(did you mean 'tolerance'\?\)"):
        aggregate(ANSWERS.to_table(), "rank-one", tolerence=0.1)


def test_the_labels_are_read_out_only_when_they_are_asked_for() -> None:
    found = aggregate(ANSWERS.to_table(), "majority")
    journal = labels_there(found).engine.journal
    found.summary(), found.workers, found.to_dict(labels=False)
    assert journal[-1] == "voting"
    assert found.engine_table.count().to_pyarrow().as_py() == 60
    assert len(found.labels) == 60
    assert journal[-1] == "handing out the labels"
    assert found.labels["task"].to_pylist() == sorted(ANSWERS.task_names.to_pylist())
    with pytest.raises(OptionError, match="they are in memory"):
        quorate.majority_vote(ANSWERS).engine_table  # noqa: B018


@pytest.mark.parametrize("method", METHODS)
def test_a_pickled_result_has_everything_but_the_connection(method: str, tmp_path: Path) -> None:
    found = aggregate(ANSWERS.to_table(), method, output=tmp_path / "labels.parquet")
    kept = pickle.loads(pickle.dumps(found))
    assert kept.summary() == found.summary()
    assert kept.workers == found.workers
    assert kept.to_dict(labels=False) == found.to_dict(labels=False)
    with pytest.raises(EngineError, match=r"no connection to duckdb.*written to .*labels.parquet"):
        kept.labels  # noqa: B018
    labels = found.labels
    assert pickle.loads(pickle.dumps(found)).labels == labels  # what was read out travels along
    assert copy.deepcopy(found).engine_table is found.engine_table  # a deep copy shares the connection


def test_a_pickled_diagnosis_of_an_engine_tells_the_same() -> None:
    found = diagnose(ANSWERS.to_table())
    kept = pickle.loads(pickle.dumps(found))
    assert kept.to_dict() == found.to_dict()
    assert kept.summary() == found.summary()
    with pytest.raises(EngineError, match=r"no vote was held: quorate.warehouse.aggregate"):
        kept.result.labels  # noqa: B018
