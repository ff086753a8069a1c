"""A ledger equals one batch, however the answers were divided into batches."""

from collections.abc import Sequence
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import simulate
from quorate.answers import Answers
from quorate.errors import ConflictingAnswersError, NoRowsError
from quorate.io.options import ReadOptions
from quorate.io.read import read
from quorate.ledger import Ledger, append, compact, index
from quorate.ledger import ledger as book
from quorate.ledger.pair_counts import PairTally
from quorate.methods.aggregate import aggregate
from tests.crowds import rows
from tests.ledger.batches import Row, filled, handed_out, stored, stream_of, table_of

POLICIES = ["first", "last", "drop"]


def textual(batch: Sequence[Row]) -> list[Row]:
    return [(f"t{task}", worker, label) for task, worker, label in batch]


def by_names(answers: Answers) -> tuple[dict[Any, Any], list[list[Any]], list[int]]:
    """Answers without their codes: labels by task and worker, ids, and row counts."""
    table = answers.to_table().to_pylist()
    labels = {(row["task"], row["worker"]): row["label"] for row in table}
    names = [sorted(each.to_pylist()) for each in (answers.task_names, answers.worker_names, answers.classes)]
    counts = [answers.n_rows, answers.n_repeats, answers.n_conflicting, answers.n_skipped]
    return labels, names, counts


def naive_pairs(answers: Answers) -> dict[tuple[Any, Any], tuple[int, int]]:
    """Count pairs of names with a double loop over each task."""
    counts: dict[tuple[Any, Any], tuple[int, int]] = {}
    labels, (tasks, *_), _ = by_names(answers)
    for task in tasks:
        here = sorted((worker, label) for (of, worker), label in labels.items() if of == task)
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


@settings(max_examples=60)
@given(shuffled(), st.booleans())
def test_batches_in_any_order_give_the_bytes_of_one(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[Row], list[list[Row]]], watched: bool
) -> None:
    table, batches = case
    folder = tmp_path_factory.mktemp("ledgers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MAX_RATIO", 0)  # every answer is added by itself
        parts = filled(batches, watched=watched)
        assert handed_out(parts) == handed_out(filled([table]))
        assert stored(parts, folder) == stored(filled([table]), folder)


@given(shuffled())
def test_the_counts_are_those_of_a_double_loop_over_all_answers(case: tuple[list[Row], list[list[Row]]]) -> None:
    table, batches = case
    assert named_pairs(filled(batches)) == naive_pairs(read(table_of(table)))


@settings(max_examples=150)
@given(streamed(), st.sampled_from(POLICIES))
def test_a_stream_is_resolved_as_one_reading_of_all_its_rows(batches: list[list[Row]], policy: str) -> None:
    """Repeats, conflicts and missing fields: what stands, what is counted, and the pairs of what stands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MAX_RATIO", 0)
        parts = filled(batches, watched=True, on_conflict=policy, skip_missing=True)
        try:
            at_once = read(table_of([*chain(*batches)]), on_conflict=policy, skip_missing=True)  # type: ignore[arg-type]
        except NoRowsError:
            assert len(parts) == 0
            return
        assert by_names(parts.answers) == by_names(at_once)
        assert named_pairs(parts) == naive_pairs(at_once)
        assert len(parts) == at_once.n_answers


@settings(max_examples=100)
@given(streamed(), st.integers(0, 5), st.sampled_from(POLICIES))
def test_merging_is_adding_the_others_rows(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Row]], cut_at: int, policy: str
) -> None:
    folder = tmp_path_factory.mktemp("ledgers")
    options: dict[str, Any] = {"on_conflict": policy, "skip_missing": True}
    one, two = filled(batches[:cut_at], **options), filled(batches[cut_at:], **options)
    other = stored(two, folder)
    one.merge(two, on_conflict=policy)  # type: ignore[arg-type]
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

    def watched(self: PairTally, label_of_worker: dict[int, int], *rest: int) -> None:
        looked.append(len(label_of_worker))
        count(self, label_of_worker, *rest)

    monkeypatch.setattr(PairTally, "count", watched)
    monkeypatch.setattr("quorate.graph.pairs.pair_stats", lambda _: pytest.fail("all pairs were counted again"))
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
    at_once, halves = filled([table]), [table[:15], table[15:]]
    assert named_pairs(filled(halves, watched=True)) == named_pairs(at_once)
    assert calls == []
    monkeypatch.setattr(book, "MAX_RATIO", 0)
    assert named_pairs(filled(halves, watched=True)) == named_pairs(at_once)
    assert len(calls) == len(halves[1])


def test_workers_keep_their_counts_whatever_order_they_come_in() -> None:
    """Orders of three that are not their own inverse: by then a mixed-up code would show."""
    batch = [("1", "c", "x"), ("1", "a", "x"), ("2", "a", "x"), ("2", "b", "y"), ("3", "a", "y"), ("3", "c", "y")]
    later = [("3", "b", "y")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "MAX_RATIO", 0)
        assert named_pairs(filled([batch, later], watched=True)) == naive_pairs(read(table_of(batch + later)))


@settings(max_examples=100)
@given(
    streamed(), st.sampled_from(["error", *POLICIES]), st.sampled_from([1, 2, 3, 190]), st.sampled_from([1, 4, 1000])
)
def test_a_ledger_on_disk_equals_one_in_memory(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Row]], policy: str, per_row: int, at_once: int
) -> None:
    """Counts of each batch, refusals, and everything that is kept, however the index divides entries into rows."""
    folder = tmp_path_factory.mktemp("ledgers")
    ledger = Ledger()
    options: dict[str, Any] = {"on_conflict": policy, "skip_missing": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr(book, "MAX_RATIO", 0)
        patch.setattr(index, "MAX_ENTRIES", per_row)
        patch.setattr(index, "ROWS_AT_ONCE", at_once)
        for batch in batches:
            try:
                expected: Any = ledger.add(table_of(batch), **options)
            except ConflictingAnswersError as error:
                expected = str(error)
            try:
                found: Any = append(folder / "a.ledger", [table_of(batch)], ReadOptions(**options)).batches[0]
            except ConflictingAnswersError as error:
                found = str(error)
            assert found == expected
        if (folder / "a.ledger").exists():
            assert stored(Ledger.load(folder / "a.ledger"), folder) == stored(ledger, folder)
            compact(folder / "a.ledger")
            assert stream_of(folder / "a.ledger") == stored(ledger, folder)
