"""Every public function refuses an argument of a wrong type by an error of ours that names the argument."""

import inspect
import re
import uuid
import warnings
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quorate
from quorate.errors import QuorateError, TooLargeError
from quorate.io.options import ReadKeywords

CROWD = quorate.simulate.crowd(24, 5, 3, seed=0)
ANSWERS = CROWD.answers
ROWS = ANSWERS.to_table().to_pydict()
RESULT = quorate.aggregate(ANSWERS)
MARKS = {"task": list("aabbcc"), "worker": list("xyxyxy"), "label": [1.0, 2.0, 3.0, 3.5, 2.0, 2.5]}
PAIRS = {"left": list("abcab"), "right": list("bcacc"), "winner": ["left", "right", "left", "left", "right"]}
TRUTH = CROWD.truth_table
WRONG: dict[str, Any] = {
    "None": None,
    "int": 3,
    "list": [],
    "dict": {},
    "object": object(),
    "text": "x",
    "class": quorate.Result,
    "set": {1, 2},
    "numbers": [1, 2],
    "float": 0.5,
    "array": np.array([1.0, 2.0]),
    "frame": pd.DataFrame({"x": [1, 2]}),
}
# What the functions need to run; the argument under test takes the place of one of these, or is added.
CALLS: dict[str, dict[str, Any]] = {
    "adaptive_skills": {"answers": ANSWERS},
    "advise": {"source": ROWS, "budget": 3},
    "advise_scores": {"source": MARKS, "budget": 2},
    "aggregate": {"source": ROWS},
    "agreement": {"source": ROWS, "draws": 20},
    "calibration_error": {"result": RESULT, "truth": TRUTH},
    "check": {"source": ROWS, "max_error": 0.5},
    "compare": {"source": ROWS, "methods": ["majority"]},
    "compare_scores": {"answers": MARKS},
    "complete_rank_one": {"i": [0, 1, 2], "j": [1, 2, 0], "values": [0.5, 0.5, 0.5]},
    "consensus": {"skills": RESULT},
    "diagnose": {"source": ROWS},
    "estimate": {"source": ROWS},
    "inspect_reducer": {"skills": RESULT.workers},
    "load": {"path": "missing.quorate"},
    "log_loss": {"result": RESULT, "truth": TRUTH},
    "next_steps": {"source": ROWS},
    "rank": {"data": PAIRS},
    "rate": {"answers": MARKS, "passes": 20},
    "read": {"source": ROWS},
    "read_export": {"source": ROWS},
    "read_scores": {"source": MARKS},
    "read_times": {"source": {**ROWS, "time": list(range(len(ROWS["task"])))}, "answers": ANSWERS},
    "report": {"source": ROWS, "methods": []},
    "score": {"labels": RESULT, "truth": TRUTH},
    "suggest_gold": {"source": ROWS, "n": 3},
    "unreliable_workers": {"result": RESULT},
    "worker_ratings": {"result": RESULT},
    "write_back": {"export": None, "labels": RESULT.labels, "path": "out.json", "to": "labelstudio"},
    "write_table": {"table": RESULT.labels, "path": "out.csv"},
}


READING = frozenset(ReadKeywords.__optional_keys__)


def public_functions() -> list[str]:
    return [name for name in quorate.__all__ if inspect.isfunction(getattr(quorate, name))]


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_every_public_function_is_here() -> None:
    assert sorted(CALLS) == sorted(public_functions())


def refused(call: Callable[[], Any]) -> str | None:
    """Return what is wrong with how a call fails; None where it succeeds or an error of ours refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except QuorateError as error:
        text = str(error)
        if "Traceback" in text or re.search(r"(?<![\w'-])--[a-z]", text):
            return f"{type(error).__name__} names options of the command line: {text}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    return None


# Functions that read answers share the keywords of reading, which one function of each kind stands for.
TESTED_READING = ("read", "read_export", "read_scores", "aggregate", "rank")


@pytest.mark.parametrize("name", public_functions())
def test_a_wrong_argument_is_refused_by_an_error_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function = getattr(quorate, name)
    failures = []
    for argument in parameters(function):
        if argument in READING and name not in TESTED_READING:
            continue
        for kind, value in WRONG.items():
            problem = refused(partial(function, **{**CALLS[name], argument: value}))
            if problem is not None:
                failures.append(f"{name}({argument}={kind}): {problem}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", sorted(set(quorate.estimators.__all__) - {"Estimator"}))
def test_a_wrong_option_of_an_estimator_is_refused_by_an_error_of_ours(name: str) -> None:
    estimator = getattr(quorate.estimators, name)
    data = pd.DataFrame(
        MARKS if name == "RaterModel" else PAIRS | {"label": list("abcab")} if "Terry" in name else ROWS
    )
    options = set(inspect.signature(estimator).parameters) - {"options"}
    failures = []
    for argument in sorted(options | {"n_iter", "tol", "random_state"}):
        for kind, value in WRONG.items():
            problem = refused(partial(_made_and_fitted, estimator, data, {argument: value}))
            if problem is not None:
                failures.append(f"{name}({argument}={kind}): {problem}")
    for kind, value in WRONG.items():
        problem = refused(partial(estimator().fit, value))
        if problem is not None:
            failures.append(f"{name}().fit({kind}): {problem}")
    assert not failures, "\n".join(failures)


def _made_and_fitted(estimator: Any, data: pd.DataFrame, options: dict[str, Any]) -> None:
    estimator(**options).fit(data)


@pytest.mark.parametrize(
    ("name", "call", "text"),
    [
        ("aggregate", lambda f: f(ROWS, 3), "method= takes text such as 'quorate', not 3"),
        ("aggregate", lambda f: f(ROWS, quorate.estimators.DawidSkene), "method= .* not the class DawidSkene"),
        ("aggregate", lambda f: f(ROWS, task=["task", "worker"]), "task= takes text, not \\['task', 'worker'\\]"),
        ("aggregate", lambda f: f(ROWS, classes="neutral"), "classes= must be a list of all classes"),
        ("aggregate", lambda f: f(ROWS, truth=TRUTH), "no argument truth=. Did you mean gold="),
        ("aggregate", lambda f: f(ROWS, gold=["c0", "c1"]), "gold= takes a table of task and label"),
        ("aggregate", lambda f: f(ROWS, gold={}), "gold= is empty"),
        ("aggregate", lambda f: f(ROWS, gold=pd.Series(["c0", "c1"])), "gold= is a Series with the index 0, 1, 2"),
        ("score", lambda f: f(RESULT, [1, 2]), "truth= takes a table of task and label"),
        ("check", lambda f: f(ROWS, max_error=3), "max_error= must be a number between 0 and 1"),
        ("advise", lambda f: f(ROWS, "3"), "budget= takes a number, not '3'"),
        ("estimate", lambda f: f({**ROWS, "system": ROWS["worker"]}, by="sytem"), "Did you mean 'system'"),
        ("diagnose", lambda f: f(ROWS, durations=[1.0]), "durations= needs a column name, or one value per answer"),
        ("estimators.DawidSkene", lambda f: f(n_iter="x"), "n_iter= takes a whole number, not 'x'"),
    ],
)
def test_the_error_names_the_argument_and_what_it_takes(name: str, call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(QuorateError, match=text) as caught:
        call(attrgetter(name)(quorate))
    assert "--" not in str(caught.value)


def test_one_method_may_be_named_alone() -> None:
    assert [entry.method for entry in quorate.compare(ROWS, methods="majority").entries] == ["majority"]


@pytest.mark.parametrize("method", ["quorate", "majority", "rank-one", "one-coin", "dawid-skene", "wawa"])
def test_classes_by_the_hundred_thousand_are_refused_before_memory_is_taken(method: str) -> None:
    n = 50_000
    rows = {"task": np.repeat(np.arange(n), 2), "worker": np.tile([0, 1], n), "label": np.arange(2 * n).astype(str)}
    with pytest.raises(TooLargeError, match="limit is"):
        quorate.aggregate(rows, method)


def test_free_text_is_warned_of_in_python() -> None:
    rows = {"task": list(range(60)) * 2, "worker": ["a"] * 60 + ["b"] * 60, "label": [f"text {k}" for k in range(120)]}
    assert "looks like free text" in quorate.aggregate(rows).summary()


def test_tables_are_taken_by_other_libraries(tmp_path: Path) -> None:
    labels = RESULT.labels
    arrow = pa.table(labels)
    assert arrow.equals(labels.to_arrow())
    assert labels.equals(RESULT.labels)
    assert labels.equals(arrow)
    assert not labels.equals(3)
    pq.write_table(pa.table(labels), tmp_path / "labels.parquet")
    assert pq.read_table(tmp_path / "labels.parquet").num_rows == len(labels)
    assert pl.DataFrame(labels).equals(labels.to_polars())
    assert repr(labels).startswith("<quorate Table: 24 rows")


TABLES: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("gold=", "aggregate", lambda table: quorate.aggregate(ROWS, gold=table)),
    ("gold=", "rate", lambda table: quorate.rate(MARKS, gold=table)),
    ("truth=", "compare", lambda table: quorate.compare(ROWS, methods="majority", truth=table)),
    ("truth=", "score", lambda table: quorate.score(RESULT, table)),
    ("truth=", "log_loss", lambda table: quorate.log_loss(RESULT, table)),
    ("labels=", "score", lambda table: quorate.score(table, TRUTH)),
    ("predictions=", "estimate", lambda table: quorate.estimate(ROWS, predictions=table)),
    ("costs=", "aggregate", lambda table: quorate.aggregate(ROWS, costs=table)),
    ("map=", "read", lambda table: quorate.read(ROWS, map=table)),
    ("skills=", "aggregate", lambda table: quorate.aggregate(ROWS, skills=table)),
    ("skills=", "consensus", lambda table: quorate.consensus(table)),
    ("available=", "advise", lambda table: quorate.advise(ROWS, 2, available=table)),
    ("true_labels=", "fit", lambda table: quorate.estimators.Quorate().fit(pd.DataFrame(ROWS), true_labels=table)),
]


@pytest.mark.parametrize(("argument", "function", "call"), TABLES, ids=[f"{f}({a})" for a, f, _ in TABLES])
def test_errors_in_a_table_name_its_argument(argument: str, function: str, call: Callable[[Any], Any]) -> None:
    for table in (
        pd.DataFrame({"x": [1, 2], "y": [3, 4]}),
        pd.DataFrame({"task": ["t0", "t1"]}).assign(label=[object()] * 2).set_index("task"),
        pd.DataFrame([[1, 2, 3, 4]], columns=["task", "label", "task", "label"]),
    ):
        with pytest.raises(QuorateError) as caught:
            call(table)
        assert argument in str(caught.value), f"{function}: {caught.value}"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["x", "y"], r"different numbers of values \('task' 4, 'worker' 4, 'label' 2\)"),
        ("x", "column 'label' is one value, 'x'; give one value per row"),
        (None, "column 'label' is one value, None"),
        (np.zeros((4, 2)), "column 'label' holds float64 values in 2 dimensions"),
        (np.array([1j] * 4), "column 'label' holds complex128 values"),
        (["x", "y", "x", "\ud800"], r"column 'label' holds '\\ud800' in row 4, which has half a character"),
        ([object()] * 4, r"column 'label' holds <object .* in row 1 \(object\); an id or a label must be text"),
    ],
)
def test_a_column_that_cannot_be_used_is_named(values: Any, text: str) -> None:
    with pytest.raises(QuorateError, match=text):
        quorate.read({"task": list("aabb"), "worker": list("xyxy"), "label": values})


def test_sparse_columns_and_uuids_are_read() -> None:
    ids = [uuid.UUID(int=k // 2) for k in range(4)]
    frame = pd.DataFrame({"task": ids, "worker": list("xyxy"), "label": pd.arrays.SparseArray([1, 0, 0, 1])})
    answers = quorate.read(frame)
    assert answers.task_names.to_pylist() == [str(ids[0]), str(ids[2])]
    assert answers.classes.to_pylist() == [0, 1]
    assert quorate.aggregate(answers, gold={ids[0]: 1}).labels["label"].to_pylist()[0] == 1
    stored = pa.array([each.bytes for each in ids], pa.uuid())
    assert quorate.read({"task": stored, "worker": list("xyxy"), "label": [0] * 4}).task_names.equals(
        answers.task_names
    )


@pytest.mark.parametrize("name", ["classes", "abstain"])
def test_lists_of_labels_are_of_any_kind_and_not_nested(name: str) -> None:
    labels = sorted(set(ROWS["label"]))
    for values in (labels, tuple(labels), np.array(labels), pd.Series(labels), pl.Series(labels), pa.array(labels)):
        given = values if name == "classes" else values[:1]
        options: dict[str, Any] = {name: given}
        assert quorate.read(ROWS, **options).n_classes == (len(labels) if name == "classes" else len(labels) - 1)
    for nested in ([["c0"], ["c1"]], [{"c0": 1}], np.array("c0")):
        with pytest.raises(QuorateError, match=f"{name}="):
            quorate.read(ROWS, **dict[str, Any]({name: nested}))
