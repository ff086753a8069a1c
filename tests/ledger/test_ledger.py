"""A ledger equals one batch, however the answers came; a batch or a file is taken whole or not at all."""

import datetime
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.answers import Answers
from quorate.cli.ledger import app
from quorate.errors import (
    BlankFieldError,
    ColumnTypeError,
    ConflictingAnswersError,
    LedgerFileError,
    NoRowsError,
    OptionError,
    QuorateError,
    UnreadableFileError,
    UnwritableFileError,
)
from quorate.evaluation import simulate
from quorate.ledger import Ledger, book
from quorate.ledger.tally import PairTally
from quorate.meetings.pairs import PairStats
from quorate.methods.registry import aggregate
from quorate.reading.read import read
from tests.crowds import rows

Row = tuple[Any, Any, Any]
POLICIES = ["first", "last", "drop"]


def table_of(batch: Sequence[Row]) -> dict[str, Any]:
    """Rows as a table; None is a missing field."""
    columns = list(zip(*batch, strict=True)) or [(), (), ()]
    return {
        name: pa.array(column, pa.string()) for name, column in zip(("task", "worker", "label"), columns, strict=True)
    }


def textual(batch: Sequence[Row]) -> list[Row]:
    return [(f"t{task}", worker, label) for task, worker, label in batch]


def filled(batches: Sequence[Sequence[Row]], *, watched: bool = False, **options: Any) -> Ledger:
    """A ledger of these batches; where it is watched, the pairs are asked for at once and then kept up to date."""
    ledger = Ledger()
    for batch in batches:
        ledger.add(table_of(batch), **options)
        if watched and len(ledger):
            assert ledger.pairs is not None
    return ledger


def stored(ledger: Ledger, folder: Path) -> bytes:
    """All that a ledger knows, as bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # hundreds of them take longer than all the rest
        ledger.save(folder / "stored.ledger")
    return (folder / "stored.ledger").read_bytes()


def handed_out(ledger: Ledger) -> list[bytes]:
    """Everything a ledger hands out that could depend on how it was filled, as bytes."""
    answers, pairs, result = ledger.answers, ledger.pairs, ledger.aggregate("rank-one")
    numbers: list[Any] = [answers.task, answers.worker, answers.label, pairs.i, pairs.j, pairs.shared, pairs.agreed]
    numbers += [result.skills, result.ballot.posterior, result.ballot.label, ledger.aggregate().ballot.posterior]
    names = [answers.task_names, answers.worker_names, answers.classes]
    return [each.tobytes() for each in numbers] + [
        repr(each.to_pylist()).encode() for each in (*names, ledger.skills())
    ]


def by_names(answers: Answers) -> tuple[dict[Any, Any], list[list[Any]], list[int]]:
    """Answers without their codes: who said what, which names there are, and what was left out."""
    table = answers.to_table().to_pylist()
    said = {(row["task"], row["worker"]): row["label"] for row in table}
    names = [sorted(each.to_pylist()) for each in (answers.task_names, answers.worker_names, answers.classes)]
    counts = [answers.n_rows, answers.n_repeats, answers.n_conflicting, answers.n_skipped]
    return said, names, counts


def naive_pairs(answers: Answers) -> dict[tuple[Any, Any], tuple[int, int]]:
    """Count pairs of names with a double loop over each task."""
    counts: dict[tuple[Any, Any], tuple[int, int]] = {}
    said, (tasks, *_), _ = by_names(answers)
    for task in tasks:
        here = sorted((worker, label) for (of, worker), label in said.items() if of == task)
        for (one, a), (two, b) in combinations(here, 2):
            shared, agreed = counts.get((one, two), (0, 0))
            counts[one, two] = (shared + 1, agreed + int(a == b))
    return counts


def named_pairs(ledger: Ledger) -> dict[tuple[Any, Any], tuple[int, int]]:
    pairs, names = ledger.pairs, ledger.answers.worker_names.to_pylist()
    columns = (pairs.i.tolist(), pairs.j.tolist(), pairs.shared.tolist(), pairs.agreed.tolist())
    return {
        (min(names[i], names[j]), max(names[i], names[j])): (shared, agreed)
        for i, j, shared, agreed in zip(*columns, strict=True)
    }


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[list[Row], list[list[Row]]]:
    """Rows without conflict, some of them repeated; and the same rows in another order, cut into batches."""
    table = textual(draw(rows()))
    table += draw(st.lists(st.sampled_from(table), max_size=3))
    return table, cut(draw, draw(st.permutations(table)))


@st.composite
def streamed(draw: st.DrawFn) -> list[list[Row]]:
    """Batches whose rows may repeat, contradict one another and lack fields."""
    fields = [st.sampled_from([*letters, *letters, None]) for letters in ("st", "vw", "xyz")]
    table = draw(st.lists(st.tuples(*fields), min_size=1, max_size=14))
    return cut(draw, table)


def cut(draw: st.DrawFn, table: Sequence[Row]) -> list[list[Row]]:
    at = sorted(draw(st.sets(st.integers(1, max(len(table) - 1, 1)))))
    return [list(table[a:b]) for a, b in zip([0, *at], [*at, len(table)], strict=True)]


# --- a ledger equals one batch ---


@settings(max_examples=60)
@given(shuffled(), st.booleans())
def test_batches_in_any_order_give_the_bytes_of_one(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[Row], list[list[Row]]], watched: bool
) -> None:
    table, batches = case
    folder = tmp_path_factory.mktemp("ledgers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MANY", 0)  # every answer is counted in by itself
        parts = filled(batches, watched=watched)
        assert handed_out(parts) == handed_out(filled([table]))
        assert stored(parts, folder) == stored(filled([table]), folder)


@given(shuffled())
def test_the_counts_are_those_of_a_double_loop_over_all_answers(case: tuple[list[Row], list[list[Row]]]) -> None:
    table, batches = case
    assert named_pairs(filled(batches)) == naive_pairs(read(table_of(table)))


@settings(max_examples=150)
@given(streamed(), st.sampled_from(POLICIES))
def test_a_stream_is_settled_as_one_reading_of_all_its_rows(batches: list[list[Row]], policy: str) -> None:
    """Repeats, conflicts and missing fields: what stands, what is counted, and the pairs of what stands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MANY", 0)
        parts = filled(batches, watched=True, on_conflict=policy, skip_missing=True)
        try:
            whole = read(table_of([*chain(*batches)]), on_conflict=policy, skip_missing=True)
        except NoRowsError:
            assert len(parts) == 0
            return
        assert by_names(parts.answers) == by_names(whole)
        assert named_pairs(parts) == naive_pairs(whole)
        assert len(parts) == whole.n_answers


@settings(max_examples=100)
@given(streamed(), st.integers(0, 5), st.sampled_from(POLICIES))
def test_merging_is_adding_the_others_rows(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Row]], cut_at: int, policy: str
) -> None:
    folder = tmp_path_factory.mktemp("ledgers")
    options: dict[str, Any] = {"on_conflict": policy, "skip_missing": True}
    one, two = filled(batches[:cut_at], **options), filled(batches[cut_at:], **options)
    other = stored(two, folder)
    one.merge(two, on_conflict=policy)
    assert stored(one, folder) == stored(filled(batches, **options), folder)
    assert stored(two, folder) == other


@settings(max_examples=40)
@given(shuffled())
def test_the_sum_of_two_ledgers_has_no_order(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[Row], list[list[Row]]]
) -> None:
    table, (first, *rest) = case
    folder = tmp_path_factory.mktemp("ledgers")
    one, two = filled([first]), filled(rest)
    before = stored(one, folder), stored(two, folder)
    assert stored(one + two, folder) == stored(two + one, folder) == stored(filled([table]), folder)
    assert (stored(one, folder), stored(two, folder)) == before


def test_skills_from_the_pairs_alone_are_those_of_rank_one() -> None:
    crowd = simulate.crowd(300, 15, 4, n_classes=3, seed=2)
    ledger = Ledger()
    ledger.add(crowd.answers.to_table())
    found = {row["worker"]: row["skill"] for row in ledger.skills().to_pylist()}
    expected = aggregate(crowd.answers, "rank-one").skills
    names = crowd.answers.worker_names.to_pylist()
    # Both stop when the mean distance from each worker's own best is 1e-5; a skill may be off by a few times that.
    assert [found[name] for name in names] == pytest.approx(expected.tolist(), abs=1e-3)
    assert ledger.skills()["n_answers"].to_pylist() == ledger.answers.per_worker.tolist()


def test_workers_whose_skill_no_pair_determines_say_so() -> None:
    ledger = filled([[("1", "a", "x"), ("1", "b", "y"), ("2", "c", "x")]])
    assert ledger.skills()["skill"].to_pylist() == [None] * 3
    assert all(status.startswith("undetermined") for status in ledger.skills()["status"].to_pylist())


def test_adding_an_answer_looks_at_its_own_task_only(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = simulate.crowd(200, 20, 5, seed=0)
    ledger = Ledger()
    ledger.add(crowd.answers.to_table())
    assert len(ledger.pairs) > 0
    looked: list[int] = []
    count = PairTally.count

    def watched(self: PairTally, said: dict[int, int], *rest: int) -> None:
        looked.append(len(said))
        count(self, said, *rest)

    monkeypatch.setattr(PairTally, "count", watched)
    monkeypatch.setattr("quorate.ledger.book.pair_stats", lambda _: pytest.fail("all pairs were counted again"))
    ledger.add({"task": ["t7"], "worker": ["new"], "label": ["c1"]})
    assert looked == [6]  # the five who were there, and the new one
    assert len(ledger.pairs) > 0


def test_a_large_batch_is_counted_anew_and_comes_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [(f"t{t}", f"w{w}", "xy"[(t * w) % 2]) for t in range(12) for w in range(t % 4 + 1)]
    calls: list[int] = []
    count = PairTally.count

    def watched(self: PairTally, *given: Any) -> None:
        calls.append(1)
        count(self, *given)

    monkeypatch.setattr(PairTally, "count", watched)
    whole, halves = filled([table]), [table[:15], table[15:]]
    assert named_pairs(filled(halves, watched=True)) == named_pairs(whole)
    assert calls == []
    monkeypatch.setattr(book, "MANY", 0)
    assert named_pairs(filled(halves, watched=True)) == named_pairs(whole)
    assert len(calls) == len(halves[1])


def test_workers_keep_their_counts_whatever_order_they_come_in() -> None:
    """Orders of three that are not their own inverse: by then a mixed-up code would show."""
    batch = [("1", "c", "x"), ("1", "a", "x"), ("2", "a", "x"), ("2", "b", "y"), ("3", "a", "y"), ("3", "c", "y")]
    later = [("3", "b", "y")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MANY", 0)
        assert named_pairs(filled([batch, later], watched=True)) == naive_pairs(read(table_of(batch + later)))


# --- repeats and conflicts ---


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


def test_what_was_dropped_stays_dropped_and_is_told() -> None:
    ledger = filled([[("1", "a", "x"), ("1", "b", "x")]])
    ledger.add(table_of([("1", "b", "y")]), on_conflict="drop")
    assert len(ledger.pairs) == 0
    with pytest.raises(ConflictingAnswersError, match="'b' gave task '1' several labels, which were dropped"):
        ledger.add(table_of([("1", "b", "x")]))
    ledger.add(table_of([("1", "b", "x")]), on_conflict="drop")
    assert (len(ledger), ledger.answers.n_conflicting) == (1, 3)


REFUSED: dict[str, tuple[type[QuorateError], str]] = {
    "contradiction": (ConflictingAnswersError, "1 answer.*worker 'a' gave task '1' 'x' before and now 'z'"),
    "conflict within": (ConflictingAnswersError, "rows 1, 2"),
    "another type": (ColumnTypeError, "tasks of this batch are of type int64, those of the ledger string"),
    "missing": (BlankFieldError, "'worker' is missing in row 2"),
    "no such policy": (OptionError, "error, first, last, drop"),
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
        ledger.add(batch, on_conflict="newest" if why == "no such policy" else "error")
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


# --- files ---

DAY = datetime.date(2026, 3, 1)
IDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["10", "9", "é"]),
    "large text": (pa.large_string(), ["b", "a", "c"]),
    "whole numbers": (pa.int64(), [10, 9, -1]),
    "small numbers": (pa.int16(), [10, 9, -1]),
    "hashes": (pa.uint64(), [2**64 - 1, 5, 0]),
    "numbers": (pa.float64(), [0.5, 1e300, -2.0]),
    "days": (pa.date32(), [DAY, DAY.replace(day=2), DAY.replace(year=1)]),
    "nanoseconds": (pa.timestamp("ns"), [1, 10**18 + 1, -5]),
    "times of day": (pa.time32("s"), [1, 2, 3]),
    "decimals": (pa.decimal128(6, 2), [Decimal("1.50"), Decimal("-2.25"), Decimal("9.00")]),
    "bytes": (pa.binary(), [b"\xff", b"", b"a"]),
    "booleans": (pa.bool_(), [True, False, True]),
    "categories": (pa.dictionary(pa.int32(), pa.string()), ["b", "a", "b"]),
}


@pytest.mark.parametrize("kind", IDS)
def test_ids_of_any_type_survive_the_file(kind: str, tmp_path: Path) -> None:
    values = pa.array(IDS[kind][1], IDS[kind][0])
    table = {"task": values, "worker": values, "label": values}
    ledger = Ledger()
    ledger.add(pa.table(table))
    first = stored(ledger, tmp_path)
    again = Ledger.load(tmp_path / "stored.ledger")
    assert stored(again, tmp_path) == first
    plain = values.dictionary_decode() if kind == "categories" else values
    found = again.answers.task_names
    assert sorted(map(str, found)) == sorted(set(map(str, plain)))
    again.add(pa.table(table))
    assert (len(again), again.answers.n_repeats) == (len(ledger), again.answers.n_rows - len(ledger))


def test_batches_may_write_text_and_numbers_with_more_or_fewer_bits() -> None:
    ledger = Ledger()
    for text, number in ((pa.string(), pa.int64()), (pa.large_string(), pa.int32())):
        ledger.add(
            pa.table({"task": pa.array([7], number), "worker": pa.array(["a"], text), "label": pa.array(["x"], text)})
        )
    assert (len(ledger), ledger.answers.n_repeats) == (1, 1)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    filled([[("1", "a", "x"), ("1", "b", "y"), ("2", "a", "x")]]).save(tmp_path / "kept.ledger")
    return tmp_path / "kept.ledger"


def test_a_file_that_is_cut_short_anywhere_is_refused(kept: Path) -> None:
    whole = kept.read_bytes()
    for length in range(len(whole)):
        kept.write_bytes(whole[:length])
        with pytest.raises(LedgerFileError, match="cut short" if length else "is empty"):
            Ledger.load(kept)


def test_a_file_with_a_flipped_bit_is_refused(kept: Path) -> None:
    whole = kept.read_bytes()
    for place in [*range(0, len(whole), 7), len(whole) - 1]:
        kept.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(LedgerFileError):
            Ledger.load(kept)
    kept.write_bytes(whole + b" ")
    with pytest.raises(LedgerFileError, match="damaged"):
        Ledger.load(kept)


def test_other_files_are_refused_and_told_apart(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("task,worker,label\n")
    with pytest.raises(LedgerFileError, match=r"no ledger: it begins with b'task,worker"):
        Ledger.load(tmp_path / "answers.csv")
    newer = kept.read_bytes().replace(b"quorate ledger 1 ", b"quorate ledger 2 with more fields ", 1)
    kept.write_bytes(newer)
    with pytest.raises(LedgerFileError, match=r"newer version.*format 2; this one reads 1.*upgrade"):
        Ledger.load(kept)
    with pytest.raises(UnreadableFileError, match="there is no ledger"):
        Ledger.load(tmp_path / "nowhere")
    with pytest.raises(UnreadableFileError, match="cannot read"):
        Ledger.load(tmp_path)


@pytest.mark.parametrize("accident", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    kept: Path, when: str, accident: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept.read_bytes()
    ledger = Ledger.load(kept)
    ledger.add(table_of([("3", "c", "x")]))

    def fail(*_: Any) -> None:
        raise accident

    monkeypatch.setattr(os, when, fail)
    with pytest.raises(UnwritableFileError if accident is OSError else accident):
        ledger.save(kept)
    assert kept.read_bytes() == before
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]


def test_a_link_and_its_permissions_stay(kept: Path, tmp_path: Path) -> None:
    kept.chmod(0o640)
    link = tmp_path / "link.ledger"
    link.symlink_to(kept.name)
    ledger = Ledger.load(link)
    ledger.add(table_of([("3", "c", "x")]))
    ledger.save(link)
    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert len(Ledger.load(kept)) == 4


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFileError, match="nowhere"):
        filled([[("1", "a", "x")]]).save(tmp_path / "nowhere" / "x.ledger")


# --- the command line ---


@pytest.fixture
def ledger_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    table = [f"t{t},{w},{'xy'[(t * k) % 2]}\n" for t in range(8) for k, w in enumerate("abc")]
    random.Random(0).shuffle(table)
    for name, part in (("all", table), ("one", table[:10]), ("two", table[10:])):
        Path(f"{name}.csv").write_text("task,worker,label\n" + "".join(part))

    def run(*arguments: str) -> str:
        app(list(arguments), standalone_mode=False)
        return str(capsys.readouterr().out)

    return run


def test_add_show_and_merge(ledger_command: Callable[..., str]) -> None:
    out = ledger_command("add", "whole.ledger", "all.csv")
    assert out == "all.csv: 24 rows, +24 answers\nwhole.ledger: 24 answers, 8 tasks, 3 workers\n"
    ledger_command("add", "parts.ledger", "two.csv", "one.csv")
    ledger_command("add", "one.ledger", "one.csv")
    ledger_command("add", "two.ledger", "two.csv")
    ledger_command("merge", "one.ledger", "two.ledger", "-o", "merged.ledger")
    assert Path("whole.ledger").read_bytes() == Path("parts.ledger").read_bytes() == Path("merged.ledger").read_bytes()
    out = ledger_command("show", "whole.ledger", "-o", "labels.csv", "--workers-out", "w.csv", "--answers-out", "a.csv")
    assert "whole.ledger: 24 answers, 8 tasks, 3 workers" in out
    assert "8 tasks labelled" in out
    assert len(Path("labels.csv").read_text().splitlines()) == 9
    assert len(Path("w.csv").read_text().splitlines()) == 4
    assert sorted(Path("a.csv").read_text().splitlines()) == sorted(Path("all.csv").read_text().splitlines())
    assert '"method": "majority"' in ledger_command("show", "whole.ledger", "--json", "--method", "majority")


def test_all_files_are_added_or_none(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    before = Path("x.ledger").read_bytes()
    Path("bad.csv").write_text("task,worker,label\nt0,a,elk\nt0,,x\n")
    with pytest.raises(BlankFieldError):
        ledger_command("add", "x.ledger", "two.csv", "bad.csv")
    assert Path("x.ledger").read_bytes() == before
    with pytest.raises(BlankFieldError):
        ledger_command("add", "new.ledger", "bad.csv")
    assert not Path("new.ledger").exists()
    out = ledger_command("add", "x.ledger", "bad.csv", "--skip-missing", "--on-conflict", "last")
    assert "1 without a field" in out


def test_a_ledger_that_another_command_has_written_is_not_overwritten(
    ledger_command: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    add = Ledger.add

    def slow(self: Ledger, *given: Any, **options: Any) -> Any:
        other = Ledger.load("x.ledger")
        add(other, {"task": ["new"], "worker": ["a"], "label": ["x"]})
        other.save("x.ledger")
        return add(self, *given, **options)

    monkeypatch.setattr(Ledger, "add", slow)
    with pytest.raises(LedgerFileError, match="has changed while this command ran"):
        ledger_command("add", "x.ledger", "two.csv")
    assert "new" in Ledger.load("x.ledger").answers.task_names.to_pylist()


def test_one_ledger_alone_is_not_merged(ledger_command: Callable[..., str]) -> None:
    ledger_command("add", "x.ledger", "one.csv")
    with pytest.raises(OptionError, match="two ledgers"):
        ledger_command("merge", "x.ledger", "-o", "y.ledger")


def test_a_ledger_does_without_pandas(ledger_command: Callable[..., str]) -> None:
    script = (
        "import sys; from quorate.ledger import Ledger; a = Ledger(); a.add('one.csv'); a.save('x.ledger'); "
        "b = Ledger.load('x.ledger'); b.pairs; b.add('two.csv'); b.skills(); sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
    assert isinstance(Ledger.load("x.ledger").pairs, PairStats)
    assert np.all(Ledger.load("x.ledger").pairs.shared > 0)
