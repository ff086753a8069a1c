"""Databases in files: none is created by reading, and printed commands name the one that was read."""

from pathlib import Path

import pytest

import quorate
from tests.cli.running import quorate as quorate_command


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_a_database_that_is_not_there_is_not_created(
    scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = tmp_path / "nowhere.db"
    code, _, err = quorate_command(capsys, "aggregate", f"{scheme}://{database}", "--table", "answers")
    assert code == 2
    assert f"There is no database file {database}" in err
    assert not database.exists()


def test_commands_that_outputs_print_name_the_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    database = tmp_path / "crowd.duckdb"
    rows = quorate.simulate.crowd(40, 5, 4, seed=0).answers.to_table().to_arrow()
    with duckdb.connect(str(database)) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE SCHEMA prod; CREATE TABLE prod.answers AS SELECT * FROM rows")
    address = f"duckdb://{database}"
    code, out, err = quorate_command(capsys, "aggregate", address, "--table", "answers")
    assert code == 2
    assert "The engine duckdb has no table" in err
    assert "it has no tables. Other schemas have 'prod.answers'" in err
    code, out, err = quorate_command(capsys, "aggregate", address, "--table", "prod.answers", "--workers-table", "w")
    assert code == 0
    assert f"Next: quorate report {address} --table prod.answers" in out + err
