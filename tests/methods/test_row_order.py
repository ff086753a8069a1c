"""No result depends on the order of the rows, the type of the ids, or how the answers are divided into files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import quorate
from quorate import simulate
from quorate.arrays import canonical_order, take
from quorate.backends import aggregate as aggregate_anywhere
from quorate.backends import partition
from quorate.blocks import memory
from quorate.blocks.block import OUT_OF_CORE_METHODS
from quorate.methods.registry import METHODS

# Options that lead to other code, and small settings for the methods that take their time.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "quorate": [{}, {"cautious": True}, {"dependence": "independent"}, {"ordered": True}],
    "rank-one": [
        {},
        {"solver": "gradient"},
        {"solver": "exponentiated"},
        {"weighting": "squared"},
        {"signs": "weighed"},
    ],
    "er": [{}, {"classes": "ordered"}],
    "kos": [{}, {"classes": "ordered"}, {"seed": 1}],
    "kos-svd": [{}, {"classes": "ordered"}],
    "ghosh-svd": [{}, {"classes": "ordered"}],
    "opt-ds": [{"starts": 10, "power_steps": 20}, {"starts": 10, "one_coin": True, "zeros": "skip", "seed": 1}],
    "m3v": [{"sweeps": 12, "burn_in": 2}, {"sweeps": 12, "burn_in": 2, "seed": 1}],
    "dawid-skene": [{}, {"class_prior": True}, {"zeros": "skip"}],
    "one-coin": [{}, {"class_prior": True}],
    "glad": [{"max_iterations": 20}],
    "mace": [{"restarts": 2, "iterations": 20}, {"restarts": 2, "iterations": 20, "inference": "em", "seed": 1}],
    "m-msr": [{}, {"trim": 1, "seed": 1}],
}
CASES = [(name, options) for name in METHODS for options in OPTIONS.get(name, [{}])]
COLUMNS = ("task", "worker", "label")
# Out of core, sums are taken in another order; the solver of rank-one passes their rounding on to skills and weights.
ROUNDING = {"task": 1e-8, "worker": 1e-6}


def crowd(seed: int) -> tuple[pa.Table, dict[str, Any]]:
    """Rows of a small sparse crowd with integer ids, in random order, and the labels of every fifth task."""
    rng = np.random.default_rng(seed)
    n_tasks = int(rng.integers(25, 60))
    n_classes = int(rng.integers(2, 4))
    simulated = simulate.crowd(n_tasks, int(rng.integers(6, 20)), 3, n_classes=n_classes, seed=seed)
    answers = simulated.answers
    task_id = rng.permutation(200)[:n_tasks]
    worker_id = rng.permutation(300)[: answers.n_workers] - 50
    columns = (task_id[answers.task], worker_id[answers.worker], answers.label)
    table = pa.table(dict(zip(COLUMNS, columns, strict=True)))
    known = np.arange(0, n_tasks, 5)
    return shuffled(table, rng), {"task": task_id[known].tolist(), "label": simulated.truth[known].tolist()}


def shuffled(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    return table.take(pa.array(rng.permutation(table.num_rows)))


def as_text(table: pa.Table, columns: tuple[str, ...] = COLUMNS) -> pa.Table:
    return pa.table({name: table[name].cast(pa.string()) if name in columns else table[name] for name in COLUMNS})


def variants(table: pa.Table, rng: np.random.Generator) -> Iterator[pa.Table]:
    yield table.sort_by([("label", "ascending"), ("worker", "descending")])
    yield shuffled(as_text(table), rng)
    yield shuffled(as_text(table, ("task",)), rng)


def figures(result: quorate.Result, *, intervals: bool = True) -> dict[str, Any]:
    """All columns of the tables of tasks and workers, by id; ids, labels and classes as text."""
    dropped = set() if intervals else {"skill_low", "skill_high"}
    found: dict[str, Any] = {}
    for key, rows in (("task", result.labels), ("worker", result.workers)):
        for row in rows.to_pylist():
            kept = {name: value for name, value in row.items() if name not in {*dropped, key}}
            found[f"{key} {row[key]}"] = kept | {name: str(kept[name]) for name in {"label"} & kept.keys()}
    return found


@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_results_are_the_same_in_any_order_of_rows_and_with_any_type_of_ids(
    method: str, options: dict[str, Any]
) -> None:
    """To the last bit: whatever the rows, the method sees the same arrays."""
    for seed, with_gold in enumerate([method == "gold-majority", True]):
        table, gold = crowd(seed)
        reversed_gold = {name: values[::-1] for name, values in gold.items()}
        expected = figures(quorate.aggregate(table, method, gold=gold if with_gold else None, **options))
        for rows in variants(table, np.random.default_rng(seed)):
            found = quorate.aggregate(rows, method, gold=reversed_gold if with_gold else None, **options)
            assert figures(found) == expected


@pytest.mark.parametrize(("method", "options"), CASES, ids=str)
def test_simulated_answers_are_numbered_as_their_table_is_read(method: str, options: dict[str, Any]) -> None:
    simulated = simulate.crowd(40, 12, 3, n_classes=3, seed=1)
    known = {"task": simulated.answers.task_names[:8], "label": simulated.answers.classes.take(simulated.truth[:8])}
    table = shuffled(simulated.answer_table.arrow, np.random.default_rng(1))
    expected = figures(quorate.aggregate(simulated.answers, method, gold=known, **options))
    assert figures(quorate.aggregate(table, method, gold=known, **options)) == expected


def test_trust_is_the_same_with_any_type_of_ids() -> None:
    found = set()
    for kind in ("int64", "int32", "string", "large_string"):
        table = crowd(7)[0]
        found.add(quorate.aggregate(table.set_column(0, "task", table["task"].cast(kind))).one_factor_weight)
    assert len(found) == 1


@pytest.mark.parametrize("method", ["quorate", "kos", "mace"])
def test_a_file_and_a_ledger_of_any_batches_say_what_a_table_says(method: str, tmp_path: Path) -> None:
    table = crowd(3)[0]
    expected = figures(quorate.aggregate(as_text(table), method))
    pa.csv.write_csv(shuffled(table, np.random.default_rng(1)), tmp_path / "answers.csv")
    assert figures(quorate.aggregate(tmp_path / "answers.csv", method)) == expected
    for seed in range(3):
        ledger = quorate.Ledger()
        rows = shuffled(table, np.random.default_rng(seed))
        for low in range(0, rows.num_rows, 37):
            ledger.add(rows.slice(low, 37))
        assert figures(ledger.aggregate(method)) == expected


def test_groups_abstentions_and_several_labels_are_the_same_in_any_order() -> None:
    table = crowd(5)[0]
    rng = np.random.default_rng(5)
    group = pa.array([f"group {worker % 3}" for worker in table["worker"].to_pylist()])
    label = ["n/a" if rng.random() < 0.1 else f"label {code}" for code in table["label"].to_pylist()]
    pairs = [f"a{code},b{code}" for code in table["label"].to_pylist()]
    grouped = table.append_column("group", group)
    cases: list[tuple[pa.Table, dict[str, Any]]] = [
        (grouped, {"group": "group"}),
        (table.set_column(2, "label", pa.array(label)), {"abstain": ["n/a"]}),
        (table.set_column(2, "label", pa.array(pairs)), {"multi": ","}),
    ]
    for rows, options in cases:
        expected = figures(quorate.aggregate(rows, **options))
        for seed in range(3):
            other = shuffled(rows, np.random.default_rng(seed))
            assert figures(quorate.aggregate(other, **options)) == expected
            text = other.set_column(0, "task", other["task"].cast("string"))
            assert figures(quorate.aggregate(text, **options)) == expected
    mapping = dict(zip(table["worker"].to_pylist(), group.to_pylist(), strict=True))
    expected = figures(quorate.aggregate(grouped, group="group"))
    assert figures(quorate.aggregate(table, group=mapping)) == expected
    assert figures(quorate.aggregate(table, group=dict(reversed(mapping.items())))) == expected


@pytest.mark.parametrize("method", OUT_OF_CORE_METHODS)
def test_results_out_of_core_are_the_same_however_the_tasks_are_divided(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2):
        table, gold = crowd(seed)
        known = gold if seed else None
        divisions = [(1000, 1000), (40, 30), (10, 15)]  # rows of a file, answers of a block
        results = []
        for (size, piece), rows in zip(divisions, variants(table, np.random.default_rng(seed)), strict=True):
            monkeypatch.setattr(partition, "MAX_FILE_ROWS", size)
            monkeypatch.setattr(memory, "MAX_BLOCK_ANSWERS", piece)
            found = aggregate_anywhere(rows, method=method, gold=known, most=0, engine="duckdb")
            results.append(figures(found, intervals=False))
        for result in results[1:]:
            assert_close(result, results[0])


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        for name, value in row.items():
            if isinstance(value, float):
                assert found[key][name] == pytest.approx(value, abs=ROUNDING[key.split()[0]]), (key, name)
            elif name != "component":  # components of one size may change places
                assert found[key][name] == value, (key, name)


@pytest.mark.parametrize(
    "ascending",
    [
        ["-10", "-2", "0", "9", "10"],
        ["w-2", "w0", "w9", "w010", "w10"],
        ["1.5", "2.25", "10"],
        ["9007199254740992", "9007199254740993", "18446744073709551615"],
        ["B", "a", "a10", "a9", "é"],
        ["a 1", "a 2", "a 2b"],
    ],
)
def test_numbers_are_ordered_by_value_and_other_ids_by_their_text(ascending: list[str]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        names = pa.array(ascending).take(pa.array(rng.permutation(len(ascending))))
        assert take(names, canonical_order(names)).to_pylist() == ascending


def test_tables_list_tasks_and_workers_in_canonical_order() -> None:
    rows = {"task": ["q10", "q9", "q10"], "worker": ["bo", "bo", "al"], "label": ["x", "y", "x"]}
    result = quorate.aggregate(rows, "majority")
    assert result.labels["task"].to_pylist() == ["q9", "q10"]
    assert result.workers["worker"].to_pylist() == ["al", "bo"]
