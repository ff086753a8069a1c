"""Groups of workers: a column read with the answers, or what a caller says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.cli.app import main
from quorate.errors import BlankFieldError, ConflictingGroupsError, MissingColumnError, OptionError
from quorate.io.groups import groups_of

ROWS: dict[str, list[Any]] = {
    "task": [1, 1, 1, 2, 2, 2],
    "worker": ["ann", "bob", "cem", "ann", "bob", "cem"],
    "label": ["x", "x", "y", "x", "y", "y"],
    "site": ["north", "south", "north", "north", "south", "north"],
}


def test_a_column_names_the_group_of_each_worker() -> None:
    answers = quorate.read(ROWS, group="site")
    assert answers.group is not None
    assert answers.group_names is not None
    assert [answers.group_names[int(code)].as_py() for code in answers.group] == ["north", "south", "north"]
    assert answers.only(np.array([True, False])).group is answers.group
    assert answers.with_worker(np.array([0, -1])).group.tolist() == [0, 1, 0, -1]  # type: ignore[union-attr]
    assert quorate.read(ROWS).group is None


def test_a_worker_in_two_groups_is_an_error_that_names_the_row() -> None:
    rows = ROWS | {"site": ["north", "south", "north", "north", "south", "east"]}
    with pytest.raises(ConflictingGroupsError, match=r"'cem' is in two groups, 'north' and 'east' \(row 6\)"):
        quorate.read(rows, group="site")


def test_a_missing_group_is_an_error_unless_such_rows_are_skipped() -> None:
    rows = ROWS | {"site": ["north", None, "north", "north", "south", "north"]}
    with pytest.raises(BlankFieldError, match=r"no value in 'site' \(row 2\)"):
        quorate.read(rows, group="site")
    assert quorate.read(rows, group="site", skip_missing=True).n_skipped == 1
    with pytest.raises(MissingColumnError, match="team"):
        quorate.read(ROWS, group="team")


def test_a_caller_may_give_a_mapping_or_codes() -> None:
    answers = quorate.read(ROWS)
    assert groups_of({"bob": 7, "cem": 7}, answers).tolist() == [-1, 0, 0]
    assert groups_of([0, 0, 1], answers).tolist() == [0, 0, 1]
    for wrong, says in (
        ({"dan": 1}, "group= names workers who gave no answer: 'dan'"),
        ("site", "names a column, and these answers have been read already"),
        ([0, 1], "a whole number for each of 3 workers"),
        ([0.5, 1.0, 2.0], "a whole number for each of 3 workers"),
    ):
        with pytest.raises(OptionError, match=says):
            groups_of(wrong, answers)


def test_aggregate_reads_the_column_and_takes_a_mapping() -> None:
    by_column, by_mapping = (
        quorate.aggregate(ROWS, group="site"),
        quorate.aggregate(ROWS, group={"ann": "north", "cem": "north", "bob": "south"}),
    )
    assert by_column.confidence_basis is not None
    assert by_column.confidence_basis.families == (("ann", "cem"),)
    assert by_mapping.vote.posterior == pytest.approx(by_column.vote.posterior)


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("aggregate answers.csv --group site --json", 0, '"families": [["ann", "cem"]]'),
        ("aggregate answers.csv --group site --engine duckdb", 0, "which fit into memory"),
        ("diagnose answers.csv --group site", 0, "6 answers"),
        ("diagnose answers.csv --group team", 2, "no column 'team'"),
        ("aggregate answers.csv --dependence independent -o -", 0, "as you declared"),
        ("aggregate answers.csv --group team", 2, "--group"),
    ],
)
def test_the_command_line_takes_a_group(
    command: str,
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    quorate.write_table(quorate.arrays.Table(quorate.arrays.table_of(ROWS)), "answers.csv")
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == code
    printed = capsys.readouterr()
    assert says in (printed.out + printed.err).replace("\n      ", " ")
