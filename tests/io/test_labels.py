"""Abstentions are never classes: they are read beside the answers, and counted by worker and task."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import BlankFieldError, NoRowsError, OptionError
from quorate.io.exports.content import look
from quorate.io.exports.export import FoundAnswer, assemble
from quorate.io.options import ReadOptions
from quorate.io.read import _read_export, read_source

TABLE: dict[str, list[Any]] = {
    "task": [1, 1, 1, 2, 2, 2, 3, 3, 4],
    "worker": ["ann", "bob", "cy", "ann", "bob", "cy", "ann", "bob", "dan"],
    "label": ["cat", "unsure", "cat", "dog", "dog", "cat", "unsure", "skip", "unsure"],
}


def read(**options: Any) -> quorate.Answers:
    given: dict[str, Any] = {"abstain": ["unsure", "skip"], **options}
    return quorate.read(TABLE, **given)


def test_abstentions_are_no_classes_and_their_tasks_and_workers_stay() -> None:
    answers = read()
    assert answers.classes.to_pylist() == ["cat", "dog"]
    assert (answers.n_answers, answers.n_tasks, answers.n_workers, answers.n_abstained) == (5, 4, 4, 4)
    assert answers.abstained_per_task is not None
    assert answers.abstained_per_task.tolist() == [1, 0, 2, 1]
    assert answers.abstained_per_worker is not None
    assert answers.abstained_per_worker.tolist() == [1, 2, 0, 1]
    assert answers.answer_symbols is not None
    assert answers.answer_symbols.reasons() == {"unsure": 3, "skip": 1}


def test_methods_that_cannot_use_abstentions_see_only_answers() -> None:
    kept = [label not in ("unsure", "skip") for label in TABLE["label"]]
    without = quorate.read(
        {name: [v for v, k in zip(values, kept, strict=True) if k] for name, values in TABLE.items()}
    )
    answers = read()
    for method in ("majority", "dawid-skene", "rank-one"):
        alone, beside = quorate.aggregate(without, method), quorate.aggregate(answers, method)
        assert beside.labels["label"].to_pylist()[:2] == alone.labels["label"].to_pylist()


def test_counts_stand_in_every_table_and_only_where_there_are_any() -> None:
    result = quorate.aggregate(read())
    assert result.labels["n_abstained"].to_pylist() == [1, 0, 2, 1]
    assert result.workers["n_abstained"].to_pylist() == [1, 2, 0, 1]
    assert result.to_dict()["abstained"] == 4
    assert "4 abstentions by 3 workers on 3 tasks: skip (1), unsure (3)" in result.summary()
    plain = quorate.aggregate(TABLE)
    assert "n_abstained" not in [*plain.labels.column_names, *plain.workers.column_names]
    assert "abstained" not in plain.to_dict()


def test_a_blank_label_abstains_where_the_caller_says_so() -> None:
    blank = {**TABLE, "label": [label.replace("skip", " ") for label in TABLE["label"]]}
    with pytest.raises(BlankFieldError, match="row 8"):
        quorate.read(blank, abstain=["unsure"])
    chosen: tuple[dict[str, Any], ...] = (
        {"abstain": ["unsure", ""]},
        {"abstain": ["unsure"], "skip_missing": True},
    )
    for options in chosen:
        answers = quorate.read(blank, **options)
        assert answers.answer_symbols is not None
        assert answers.answer_symbols.reasons() == {"unsure": 3, "blank": 1}
    skipped = quorate.read(blank, skip_missing=True)
    assert (skipped.n_skipped, skipped.n_abstained, skipped.n_classes) == (1, 1, 3)


def test_a_missing_task_is_refused_although_the_row_abstains() -> None:
    with pytest.raises(BlankFieldError, match=r"no value in 'task' \(row 2\)"):
        quorate.read({"task": ["1", "", "1"], "worker": list("abc"), "label": ["x", "unsure", "y"]}, abstain=["unsure"])


def test_an_answer_stands_before_an_abstention_of_its_worker() -> None:
    table = {"task": [1, 1, 1, 2, 2], "worker": list("aabaa"), "label": ["unsure", "x", "y", "skip", "unsure"]}
    answers = quorate.read(table, abstain=["unsure", "skip"])
    assert answers.answer_symbols is not None
    assert answers.answer_symbols.reasons() == {"skip": 1}
    assert (answers.n_answers, answers.answer_symbols.n_superseded) == (2, 2)


def test_an_abstention_label_that_never_occurs_is_noted() -> None:
    result = quorate.aggregate(read(abstain=["unsure", "skip", "n/a"]))
    assert [note.text for note in result.notes if note.kind == "unused-abstentions"] == [
        "no answer is 'n/a', which abstain= (--abstain) names; check the spelling"
    ]


def test_numbers_and_other_spellings_are_found() -> None:
    numbers = quorate.read({"task": [1, 1], "worker": list("ab"), "label": [3, -1]}, abstain=["-1", "unsure"])
    assert numbers.classes.to_pylist() == [3]
    assert numbers.n_abstained == 1
    spelled = read(abstain=["UNSURE", "Skip"], merge_spellings=True)
    assert spelled.n_abstained == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"abstain": "unsure"}, "abstain= takes a list, not 'unsure'"),
        ({"abstain": ["cat"], "classes": ["cat", "dog"]}, "'cat' is both a class"),
    ],
)
def test_what_means_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read(**options)


def test_nothing_but_abstentions_is_refused() -> None:
    with pytest.raises(NoRowsError, match="lack a field or abstain"):
        quorate.read({"task": [1], "worker": ["a"], "label": ["unsure"]}, abstain=["unsure"])


def test_parts_and_copies_keep_their_abstentions() -> None:
    answers = read()
    later = answers.only(np.array([False, True, True, True]))
    assert later.answer_symbols is not None
    assert later.answer_symbols.task.tolist() == [1, 1, 2]
    assert later.answer_symbols.symbol.tolist() == later.label.tolist()
    assert answers.where(answers.label == 0).n_abstained == 4
    copy = pickle.loads(pickle.dumps(answers))
    assert copy.n_abstained == 4


def test_a_format_hands_over_abstentions_with_a_reason() -> None:
    found = [
        FoundAnswer(1, "gpt", "yes", "row 1"),
        FoundAnswer(1, "claude", None, "row 2", abstained="no verdict in the reply"),
        FoundAnswer(2, "gpt", "no", "row 3"),
    ]
    export = assemble("mine", look([{}]), ReadOptions(), ["verdict"], lambda _: found)
    assert export.to_dict()["abstained"] == 1
    assert "Not counted as answers: no verdict in the reply (1)." in export.lines()
    answers = _read_export(export, ReadOptions())
    assert answers.n_workers == 2
    assert answers.answer_symbols is not None
    assert answers.answer_symbols.reasons() == {"no verdict in the reply": 1}


def test_the_command_line_takes_a_list() -> None:
    from quorate.cli.options import split_labels

    assert split_labels("unsure, n/a") == ("unsure", "n/a")
    assert split_labels('"yes, but",no') == ("yes, but", "no")
    assert split_labels("") == ("",)


def warnings_of(rows: list[tuple[str, str, str]], **options: Any) -> list[str]:
    table = dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    return read_source(table, ReadOptions(**options)).warnings()


def test_labels_that_mean_no_answer_are_named_with_the_option() -> None:
    rows = [(f"t{k}", worker, "N/A" if k % 5 == 0 else "xy"[k % 2]) for k in range(20) for worker in "ab"]
    (warning,) = (text for text in warnings_of([*rows, ("t1", "c", "y")]) if "no answer" in text)
    assert '"N/A" (8 answers)' in warning
    assert "--abstain N/A" in warning
    assert not any("no answer" in text for text in warnings_of([*rows, ("t1", "c", "y")], abstain=["N/A"]))
    assert not any("no answer" in text for text in warnings_of([*rows, ("t1", "c", "y")], classes=["x", "y", "N/A"]))


def test_a_header_that_counts_as_an_answer_is_named(tmp_path: Path) -> None:
    rows = [(f"t{k}", worker, "xy"[(k + (worker == "b" and k == 3)) % 2]) for k in range(20) for worker in "ab"]
    path = tmp_path / "answers.csv"
    path.write_text("item,who,verdict\n" + "".join(f"{','.join(row)}\n" for row in rows))
    options = ReadOptions(column_names=["task", "worker", "label"])
    (warning,) = (text for text in read_source(path, options).warnings() if "header" in text)
    assert "--task item --worker who --label verdict" in warning
    path.write_text("".join(f"{','.join(row)}\n" for row in rows))
    assert not any("header" in text for text in read_source(path, options).warnings())
