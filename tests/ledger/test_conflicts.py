from pathlib import Path
from typing import Any

import pytest

from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    ConflictingAnswersError,
    NoRowsError,
    OptionError,
    QuorateError,
)
from quorate.io.options import ReadOptions
from quorate.ledger import Ledger, append
from tests.ledger.batches import filled, handed_out, stored, table_of


def test_an_exact_repeat_counts_once_and_is_counted() -> None:
    ledger = filled([[("1", "a", "x")]])
    added = ledger.add(table_of([("1", "a", "x"), ("1", "b", "x")]))
    assert (added.n_rows, added.n_answers, added.n_repeats, added.n_conflicting) == (2, 1, 1, 0)
    assert ledger.answers.n_repeats == 1


def test_a_later_answer_replaces_and_the_pairs_follow() -> None:
    ledger = filled([[("1", "a", "x"), ("1", "b", "x")]])
    assert ledger.pairs.agreed.tolist() == [1]
    ledger.add(table_of([("1", "b", "y")]), on_conflict="last")
    assert (ledger.pairs.shared.tolist(), ledger.pairs.agreed.tolist()) == ([1], [0])


def test_what_was_dropped_stays_dropped_and_is_named() -> None:
    ledger = filled([[("1", "a", "x"), ("1", "b", "x")]])
    ledger.add(table_of([("1", "b", "y")]), on_conflict="drop")
    assert len(ledger.pairs) == 0
    with pytest.raises(ConflictingAnswersError, match="'b' gave task '1' several labels, which were dropped"):
        ledger.add(table_of([("1", "b", "x")]))
    ledger.add(table_of([("1", "b", "x")]), on_conflict="drop")
    assert (len(ledger), ledger.answers.n_conflicting) == (1, 3)


REFUSED: dict[str, tuple[type[QuorateError], str]] = {
    "contradiction": (ConflictingAnswersError, "1 answer.*worker 'a' gave task '1' 'x' before and now 'z'"),
    "conflict within": (ConflictingAnswersError, r"'x' \(row 1\) and 'y' \(row 2\)"),
    "another type": (ColumnTypeError, "tasks of this batch are of type int64, those of the ledger string"),
    "missing": (BlankFieldError, "no value in 'worker' \\(row 2\\)"),
    "no such policy": (OptionError, "'error', 'first', 'last' or 'drop'"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_batch_changes_nothing(why: str, tmp_path: Path) -> None:
    kind, message = REFUSED[why]
    good = ("9", "new", "w")
    batch: Any = {
        "contradiction": table_of([good, ("1", "a", "z")]),
        "conflict within": table_of([("8", "v", "x"), ("8", "v", "y"), good]),
        "another type": {"task": [9], "worker": ["new"], "label": ["w"]},
        "missing": table_of([good, ("8", None, "x")]),
        "no such policy": table_of([good]),
    }[why]
    ledger = filled([[("1", "a", "x"), ("1", "b", "y"), ("2", "a", "x")]])
    before = handed_out(ledger), stored(ledger, tmp_path), repr(ledger)
    with pytest.raises(kind, match=message):
        ledger.add(batch, on_conflict="newest" if why == "no such policy" else "error")  # type: ignore[arg-type]
    assert (handed_out(ledger), stored(ledger, tmp_path), repr(ledger)) == before


def test_two_ledgers_that_contradict_each_other_are_not_merged(tmp_path: Path) -> None:
    one, two = filled([[("1", "a", "x")]]), filled([[("1", "a", "y"), ("2", "a", "y")]])
    before = stored(one, tmp_path)
    with pytest.raises(ConflictingAnswersError, match="'a' gave task '1' 'x' before and now 'y'"):
        one.merge(two)
    assert stored(one, tmp_path) == before


def test_an_empty_ledger_says_that_it_is_empty(tmp_path: Path) -> None:
    ledger = Ledger()
    with pytest.raises(NoRowsError, match="no answers yet"):
        ledger.aggregate()
    ledger.save(tmp_path / "empty.ledger")
    assert len(Ledger.load(tmp_path / "empty.ledger")) == 0
    assert ledger.add(table_of([])).n_rows == 0


@pytest.mark.parametrize(("policy", "standing", "other"), [("first", "x", "y"), ("last", "y", "x")])
def test_the_index_keeps_the_label_that_stands(tmp_path: Path, policy: str, standing: str, other: str) -> None:
    path = tmp_path / "a.ledger"
    append(path, [table_of([("1", "a", "x")])], ReadOptions())
    append(path, [table_of([("1", "a", "y")])], ReadOptions(on_conflict=policy))
    with pytest.raises(ConflictingAnswersError, match=f"'a' gave task '1' '{standing}' before and now '{other}'"):
        append(path, [table_of([("1", "a", other)])], ReadOptions())
    assert append(path, [table_of([("1", "a", standing)])], ReadOptions()).n_answers == 1
