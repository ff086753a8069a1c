"""Every method that runs over blocks, with every option, gives the same result in memory, on disk and in Spark."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import quorate
from quorate import simulate
from quorate.blocks.block import OUT_OF_CORE_METHODS
from quorate.methods.registry import METHODS
from quorate.result import Result
from tests.backends import test_spark
from tests.backends.alike import aggregate, assert_alike
from tests.backends.crowds_with_symbols import READING, judged, known

pytestmark = [pytest.mark.filterwarnings("ignore")]
ROUNDING = 1e-9  # of a confusion matrix, as of a confidence (tests/backends/alike.py)
ROWS_PER_FILE = 150
ANSWERS_PER_BLOCK = 60
MORE_THAN_A_SAMPLE = 160_000  # answers; the default method samples 150,000
BACKENDS = ("several blocks in memory", "disk", "spark")


@dataclass(frozen=True)
class Case:
    """A crowd and options."""

    table: pa.Table
    options: dict[str, Any] = field(default_factory=dict)


def two_components() -> tuple[pa.Table, list[str]]:
    """Twelve workers who share tasks, and two whose skills only gold identifies; 3 classes; and the truth."""
    one = simulate.crowd(150, 12, 4, n_classes=3, seed=0)
    two = simulate.crowd(40, 2, 2, n_classes=3, seed=1)
    parts = []
    truth: list[str] = []
    for name, crowd in (("a", one), ("b", two)):
        rows = crowd.answers.to_table().arrow
        ids = [pa.array([f"{name}{value}" for value in rows[column].to_pylist()]) for column in ("task", "worker")]
        parts.append(pa.table({"task": ids[0], "worker": ids[1], "label": rows["label"]}))
        truth += [f"c{code}" for code in crowd.truth]
    return pa.concat_tables(parts), truth


TABLE, TRUTH = two_components()
TASKS = [f"at{k}" for k in range(150)] + [f"bt{k}" for k in range(40)]
NEXT = {"c0": "c1", "c1": "c2", "c2": "c0"}
COSTS = {
    "said": [label for label in NEXT for _ in NEXT],
    "true": [*NEXT] * 3,
    "cost": [0.0, 1.0, 5.0, 1.0, 0.0, 1.0, 2.0, 1.0, 0.0],
}


def gold(chosen: slice, wrong: bool = False) -> dict[str, str]:
    labels = [NEXT[label] for label in TRUTH] if wrong else TRUTH
    return dict(zip(TASKS[chosen], labels[chosen], strict=True))


def with_groups() -> pa.Table:
    site = [f"s{int(worker[2:]) % 5}" for worker in TABLE["worker"].to_pylist()]
    return TABLE.append_column("site", pa.array(site))


FOR_ALL = {
    "as usual": Case(TABLE),
    "gold": Case(TABLE, {"gold": gold(slice(0, 150, 5))}),
    "gold where nothing else identifies": Case(TABLE, {"gold": gold(slice(150, 190, 2))}),
    "gold against the crowd": Case(TABLE, {"gold": gold(slice(0, 190, 4), wrong=True)}),
    "everything known": Case(TABLE, {"gold": gold(slice(0, 190))}),
    "abstentions and grades": Case(judged()[0], READING),
    "abstentions, grades and gold": Case(judged()[0], {**READING, "gold": known(judged()[1])}),
}
SKILLS = {"aw0": (0.9, 0.8, 0.95), "bw0": (0.7, 0.6, 0.8)}
OF_THE_DEFAULT = {
    "cautious": Case(TABLE, {"cautious": True}),
    "independent": Case(TABLE, {"dependence": "independent", "gold": gold(slice(0, 150, 5))}),
    "ordered": Case(TABLE, {"ordered": True}),
    "ordered, with gold": Case(TABLE, {"ordered": True, "gold": gold(slice(0, 190, 5))}),
    "skills from before": Case(TABLE, {"skills": SKILLS}),
    "a column of groups": Case(with_groups(), {"group": "site"}),
    "groups and gold": Case(TABLE, {"group": {"aw0": 1, "aw1": 1, "aw2": 1}, "gold": gold(slice(0, 190, 5))}),
    "judges": Case(TABLE, {"judges": True}),
    "judges and gold": Case(TABLE, {"judges": True, "gold": gold(slice(0, 190, 5))}),
}
# In a partition or a block few pairs of a worker and a label occur, so that tables of workers are sent by rows.
FEW = simulate.crowd(90, 16, 3, n_classes=8, seed=2).answers.to_table().arrow
STAR = simulate.crowd_on_graph(simulate.star(12), np.array([0.0, *np.linspace(0.3, 0.9, 11)]), 600, seed=0)
CASES = {
    ("rank-one", "a star around a guesser"): Case(STAR.answers.to_table().arrow),
    **{(method, "few answers per worker and label"): Case(FEW) for method in ("quorate", "dawid-skene")},
    ("dawid-skene", "few answers, zeros skipped"): Case(FEW, {"zeros": "skip", "class_prior": True}),
    **{(method, name): case for method in OUT_OF_CORE_METHODS for name, case in FOR_ALL.items()},
    **{
        (method, "costs"): Case(TABLE, {"costs": COSTS, "gold": gold(slice(0, 190, 5))})
        for method in OUT_OF_CORE_METHODS
        if METHODS[method].posterior
    },
    **{("quorate", name): case for name, case in OF_THE_DEFAULT.items()},
}


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks and files so small that every crowd has several."""
    monkeypatch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", ANSWERS_PER_BLOCK)
    monkeypatch.setattr("quorate.backends.partition.MAX_FILE_ROWS", ROWS_PER_FILE)


@pytest.fixture(scope="module")
def spark() -> Iterator[None]:
    with test_spark.session("local[2,4]"):
        yield


def run(backend: str, table: pa.Table, method: str, options: dict[str, Any]) -> Result:
    if backend == BACKENDS[0]:
        return quorate.aggregate(table, method, intervals="fast", **options)
    engine = None if backend == "disk" else "spark"
    return aggregate(table, method, engine=engine, **options)


def assert_equal(found: Result, reference: Result) -> None:
    assert_alike(found, reference)
    assert [note.text for note in found.notes] == [note.text for note in reference.notes]
    assert (found.confusion_matrices is None) == (reference.confusion_matrices is None)
    if found.confusion_matrices is not None and reference.confusion_matrices is not None:
        assert found.confusion_matrices == pytest.approx(reference.confusion_matrices, abs=ROUNDING)
    assert share_right(found) == pytest.approx(share_right(reference))


def share_right(result: Result) -> tuple[float, ...]:
    share = None if result.confidence_basis is None else result.confidence_basis.share_right
    return () if share is None else (share.low, share.mean, share.high)


REFERENCES: dict[tuple[str, str], Result] = {}


def reference_of(method: str, case: str) -> Result:
    """Return the result of one block in memory."""
    if (method, case) not in REFERENCES:
        chosen = CASES[method, case]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("quorate.blocks.memory.MAX_BLOCK_ANSWERS", 1 << 18)
            REFERENCES[method, case] = quorate.aggregate(chosen.table, method, intervals="fast", **chosen.options)
    return REFERENCES[method, case]


NAMES = [f"{method}: {case}" for method, case in CASES]


@pytest.mark.parametrize("backend", BACKENDS[:2])
@pytest.mark.parametrize(("method", "case"), CASES, ids=NAMES)
def test_backends_are_equal(backend: str, method: str, case: str) -> None:
    chosen = CASES[method, case]
    assert_equal(run(backend, chosen.table, method, chosen.options), reference_of(method, case))


# A pass takes a tenth of a second in Spark, so only some combinations are tried there.
LEFT_OUT = ("as usual", "cautious", "ordered", "judges")
IN_SPARK = [
    ("majority", "gold"),
    ("rank-one", "a star around a guesser"),
    ("dawid-skene", "gold"),
    ("one-coin", "costs"),
    *(
        ("quorate", case)
        for _, case in CASES
        if _ == "quorate" and case not in ("as usual", "cautious", "ordered", "judges")
    ),
]


@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("method", "case"), IN_SPARK, ids=[f"{method}: {case}" for method, case in IN_SPARK])
def test_spark_is_equal(method: str, case: str) -> None:
    chosen = CASES[method, case]
    assert_equal(run("spark", chosen.table, method, chosen.options), reference_of(method, case))


@pytest.mark.parametrize("options", [{}, {"gold": 200}, {"dependence": "independent"}], ids=str)
def test_more_answers_than_a_sample_are_the_same_on_disk(options: dict[str, Any]) -> None:
    crowd = simulate.crowd(MORE_THAN_A_SAMPLE // 4, 200, 4, n_classes=3, seed=5)
    table = crowd.answers.to_table().arrow
    chosen = dict(options)
    if "gold" in chosen:
        chosen["gold"] = {f"t{task}": f"c{crowd.truth[task]}" for task in range(options["gold"])}
    memory = quorate.aggregate(table, intervals="none", **chosen)
    disk = aggregate(table, **chosen)
    ours = {row["task"]: (row["label"], row["confidence"]) for row in disk.labels.to_pylist()}
    theirs = {row["task"]: (row["label"], row["confidence"]) for row in memory.labels.to_pylist()}
    assert [ours[task][0] for task in theirs] == [label for label, _ in theirs.values()]
    confidence = np.array([[ours[task][1], stated] for task, (_, stated) in theirs.items()])
    assert np.abs(confidence[:, 0] - confidence[:, 1]).max() < ROUNDING
    np.testing.assert_allclose(disk.skills, memory.skills, atol=1e-6)
