"""The commands that read answers, where an engine holds them; and where they are too many for memory."""

import json
import re
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pytest

import quorate
from quorate.backends.engine import EngineOptions
from quorate.backends.source import find_answers, read_into_memory
from quorate.blocks.sampling import hash_ids
from quorate.cli.app import app
from quorate.errors import EngineError, MissingColumnError, NotInMemoryError, OptionError, UnwritableFileError
from quorate.io.options import ReadOptions
from quorate.io.read_table import read_table
from quorate.io.write_table import write_table
from tests.backends.alike import by_id


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    crowd = quorate.simulate.crowd(n_tasks=60, n_workers=8, per_task=4, seed=1)
    write_table(crowd.answers.to_table(), "answers.csv")
    write_table(crowd.answers.to_table(), "answers.parquet")
    return tmp_path


@pytest.fixture
def few(monkeypatch: Any) -> None:
    """Memory that holds no answers at all."""
    monkeypatch.setattr("quorate.backends.source.MAX_ANSWERS", 0)


def run(command: str) -> None:
    """Run a command; its errors are raised."""
    app(command.split(), standalone_mode=False)


def labels_of(path: str) -> dict[Any, Any]:
    table = read_table(path, {"task": "", "label": ""})
    return {task: row["label"] for task, row in by_id(table, "task").items()}


@pytest.mark.usefixtures("folder")
def test_a_pattern_of_small_files_needs_no_engine(capsys: Any) -> None:
    run("aggregate answers*.parquet -o labels.parquet --workers-out workers.csv --posterior-out posterior.csv")
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "60 labels from 240 answers by 8 workers (2 classes)."
    run("aggregate answers.csv -o expected.csv")
    assert labels_of("labels.parquet") == labels_of("expected.csv")
    assert len(Path("workers.csv").read_text().splitlines()) == 9
    assert len(Path("posterior.csv").read_text().splitlines()) == 121


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("aggregate answers.csv --engine duckdb -o labels.csv", "because --engine was given"),
        (
            "aggregate answers.csv --engine duckdb:memory=1GB -o labels.csv --method dawid-skene",
            "because --engine was given",
        ),
        ("aggregate lake.duckdb -o labels.csv --method iwmv", "because lake.duckdb is a database of this engine"),
        ("aggregate duckdb://lake.duckdb -o labels.csv", "because its URL was given"),
        ("aggregate duckdb://lake.duckdb --table judged -o labels.csv", "because its URL was given"),
        ("diagnose answers*.csv --engine duckdb", "because --engine was given"),
        ("report lake.duckdb --table judged --compare majority", "because lake.duckdb is a database of this engine"),
        ("compare answers*.csv --engine duckdb --methods majority,quorate", "because --engine was given"),
        ("advise answers*.csv --engine duckdb --budget 3 -o next.csv", "because --engine was given"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_first_line_says_which_engine_and_why(command: str, says: str, capsys: Any) -> None:
    if "lake" in command:
        con = ibis.duckdb.connect("lake.duckdb")
        con.con.execute("CREATE TABLE judged AS FROM 'answers.parquet'")
        con.disconnect()
    run(command)
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"Read with duckdb, {says}: 240 rows, which fit into memory."


@pytest.mark.usefixtures("folder")
def test_a_pipe_gets_the_labels_and_nothing_else(capsys: Any) -> None:
    run("aggregate answers*.csv --engine duckdb --method majority")
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "task,label,confidence,margin,n_answers,tied"
    assert len(captured.out.splitlines()) == 61
    assert captured.err.startswith("Read with duckdb, because --engine was given")
    run("aggregate answers*.csv --engine duckdb --json")
    assert json.loads(capsys.readouterr().out)["method"] == "quorate"


@pytest.mark.usefixtures("folder")
def test_times_and_groups_come_along(capsys: Any) -> None:
    lines = Path("answers.csv").read_text().splitlines()
    with_more = [f"{line},{number},site {int(line.split(',')[1][1:]) % 2}" for number, line in enumerate(lines[1:])]
    Path("more.csv").write_text("\n".join([f"{lines[0]},when,site", *with_more]) + "\n")
    lines = []
    for file in ("more.csv", "more.csv --engine duckdb"):
        run(f"diagnose {file} --time when --group site")
        lines.append(capsys.readouterr().out.replace(" --engine duckdb", "").splitlines())
    assert lines[1][1:] == lines[0]
    families = []
    for file in ("more.csv", "more.csv --engine duckdb"):
        run(f"aggregate {file} --group site --json")
        families.append(sorted(sorted(each) for each in json.loads(capsys.readouterr().out)["confidence"]["families"]))
    assert (
        families[0] == families[1] == [["w0", "w2", "w4", "w6"], ["w1", "w3", "w5", "w7"]]
    )  # the workers of each site
    with pytest.raises(MissingColumnError, match="no column 'then'"):
        run("diagnose more.csv --engine duckdb --time then")


@pytest.mark.usefixtures("folder")
def test_labels_go_back_as_a_table(capsys: Any) -> None:
    con = ibis.duckdb.connect("lake.duckdb")
    con.con.execute("CREATE SCHEMA crowd; CREATE TABLE crowd.judged AS FROM 'answers.parquet'")
    con.disconnect()
    run("aggregate lake.duckdb --table crowd.judged --output-table crowd.labels")
    assert "60 labels from" in capsys.readouterr().out
    con = ibis.duckdb.connect("lake.duckdb")
    assert con.con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall() == [
        ("judged",),
        ("labels",),
    ]
    assert con.con.execute("SELECT count(*) FROM crowd.labels").fetchone() == (60,)
    con.disconnect()
    with pytest.raises(EngineError, match=r"The table 'crowd.labels' exists already"):
        run("aggregate lake.duckdb --table crowd.judged --output-table crowd.labels")


@pytest.mark.usefixtures("folder", "few")
def test_too_many_for_memory_are_aggregated_where_they_lie(capsys: Any) -> None:
    run("aggregate answers*.parquet --engine duckdb:memory=500MB -o labels.parquet --workers-out workers.csv")
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].endswith("because --engine was given: 240 rows, which do not fit into memory.")
    assert "60 labels from 240 answers by 8 workers" in printed
    run("aggregate answers.csv -o expected.csv")
    assert labels_of("labels.parquet") == labels_of("expected.csv")
    assert len(Path("workers.csv").read_text().splitlines()) == 9


@pytest.mark.usefixtures("folder", "few")
def test_a_pipe_gets_labels_that_stay_in_the_engine(capsys: Any) -> None:
    run("aggregate answers.csv --engine duckdb --method majority")
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "task,label,confidence,margin,n_answers,tied"
    assert len(lines) == 61
    assert "method majority" in captured.err


@pytest.mark.usefixtures("folder", "few")
def test_json_tells_which_queries_ran(capsys: Any) -> None:
    run("aggregate answers.csv --engine duckdb --json")
    printed = json.loads(capsys.readouterr().out)
    assert printed["engine"] == "duckdb"
    assert printed["queries"] == ["counting the rows", "reading the answers"]
    assert len(printed["labels"]) == 60
    assert len(printed["skills"]) == 8


@pytest.mark.parametrize("command", ["diagnose", "compare --methods majority", "report", "advise --budget 3"])
@pytest.mark.usefixtures("folder")
def test_other_commands_look_at_a_sample(command: str, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("quorate.backends.source.MAX_ANSWERS", 150)
    name, _, options = command.partition(" ")
    run(f"{name} answers*.csv --engine duckdb {options}")
    captured = capsys.readouterr()
    first = (captured.err + captured.out).splitlines()[0]
    size = "240 rows, which do not fit into memory"
    sentence = rf"{size}; the output describes a sample of complete tasks, .* of their ids: (\d+)"
    drawn = re.search(sentence, first)
    assert drawn is not None, first
    if name == "report":
        assert " (a sample of " in Path("report.html").read_text()
        return
    run(f"{name} answers*.csv --engine duckdb {options} --json")
    sample = json.loads(capsys.readouterr().out)["sample"]
    assert sample["of_rows"] == 240
    assert sample["n_answers"] == int(drawn[1]) <= 150


@pytest.mark.usefixtures("folder")
def test_a_sample_is_drawn_by_the_ids_and_not_by_the_rows() -> None:
    rows = read_table("answers.csv", {"task": "", "worker": "", "label": ""})
    drawn = []
    for order in (range(240), range(239, -1, -1)):
        engine_source = find_answers(rows.take(list(order)), ReadOptions(), EngineOptions(most=150))
        drawn.append(sorted(read_into_memory(engine_source, sample=True).answers.task_names.to_pylist()))
    assert drawn[0] == drawn[1]
    hashes = hash_ids(quorate.read("answers.csv").task_names)
    names = quorate.read("answers.csv").task_names.to_pylist()
    first = np.argsort(hashes)[: len(drawn[0])]
    assert drawn[0] == sorted(names[k] for k in first)  # those of the least hashes, whole


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("aggregate answers.csv --engine duckdb --soft-labels-out p.csv", "--soft-labels-out needs every answer"),
    ],
)
@pytest.mark.usefixtures("folder", "few")
def test_what_needs_the_answers_in_memory_says_so(command: str, says: str) -> None:
    with pytest.raises(NotInMemoryError, match=says):
        run(command)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("aggregate answers.csv --engine duckdb --from argilla", "--from does not work where duckdb reads the answers"),
        ("aggregate answers*.csv --engine duckdb --encoding latin-1", "--encoding does not work where duckdb reads"),
        ("aggregate answers.csv --output-table labels", "--output-table is for databases"),
        ("aggregate answers.csv --order task", "--order is for databases"),
        ("aggregate answers.csv --table judged", "--table needs a database"),
        ("aggregate answers*.csv --engine duckdb --on-conflict last", "Name the column that has it with --order"),
        ("aggregate", "No file is given"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_that_mean_nothing_there_say_so(command: str, says: str) -> None:
    with pytest.raises(OptionError, match=says.replace("?", r"\?")):
        run(command)


@pytest.mark.usefixtures("few")
def test_labels_and_workers_appear_together_or_not_at_all(folder: Path, monkeypatch: Any) -> None:
    Path("labels.csv").write_text("yesterday's labels")

    def full(*_: Any, **__: Any) -> None:
        raise UnwritableFileError("cannot write workers.csv: the disk is full")

    monkeypatch.setattr("quorate.io.write_table.write_table", full)
    with pytest.raises(UnwritableFileError, match="the disk is full"):
        run("aggregate answers.csv --engine duckdb -o labels.csv --workers-out workers.csv")
    assert Path("labels.csv").read_text() == "yesterday's labels"
    con = ibis.duckdb.connect("crowd.duckdb")
    con.con.execute("CREATE TABLE answers AS SELECT * FROM 'answers.csv'")
    con.disconnect()
    with pytest.raises(UnwritableFileError, match="the disk is full"):
        run("aggregate crowd.duckdb --table answers --output-table labels --workers-out workers.csv")
    con = ibis.duckdb.connect("crowd.duckdb")
    assert con.list_tables() == ["answers"]
    con.disconnect()
    assert not list(folder.glob("workers*"))


def make_lake() -> None:
    con = ibis.duckdb.connect("lake.duckdb")
    con.con.execute("CREATE TABLE judged AS FROM 'answers.parquet'")
    con.disconnect()


def tables_of_lake() -> dict[str, int]:
    """Return the number of rows of every table."""
    con = ibis.duckdb.connect("lake.duckdb")
    sizes = {name: len(con.table(name).to_pyarrow()) for name in con.list_tables()}
    con.disconnect()
    return sizes


@pytest.mark.parametrize("in_memory", [True, False])
def test_replace_exchanges_both_tables_and_leaves_no_other(
    in_memory: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.setattr("quorate.backends.source.MAX_ANSWERS", 0)
    make_lake()
    command = "aggregate lake.duckdb --table judged --output-table labels --workers-table workers"
    run(command)
    with pytest.raises(EngineError, match="The table 'labels' exists already"):
        run(command)
    run(f"{command} --replace --method majority")
    assert tables_of_lake() == {"judged": 240, "labels": 60, "workers": 8}
    with pytest.raises(OptionError, match="name the same table"):
        run("aggregate lake.duckdb --table judged --output-table labels --workers-table labels --replace")


def test_a_failed_run_leaves_the_tables_that_were_to_be_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_lake()
    run("aggregate lake.duckdb --table judged --output-table labels")

    def fail(*_: object) -> None:
        raise OptionError("no")

    monkeypatch.setattr("quorate.backends.transfer.rename_table", fail)
    with pytest.raises(OptionError, match="no"):
        run("aggregate lake.duckdb --table judged --output-table labels --replace --method majority")
    assert tables_of_lake() == {"judged": 240, "labels": 60}


def test_tables_of_other_schemas_are_named(folder: Path) -> None:
    make_lake()
    con = ibis.duckdb.connect("lake.duckdb")
    con.con.execute("CREATE SCHEMA crowd; CREATE TABLE crowd.verdicts AS SELECT * FROM judged")
    con.disconnect()
    with pytest.raises(EngineError, match=r"Other schemas have 'crowd\.verdicts'"):
        run("aggregate lake.duckdb --table verdicts -o labels.csv")
    run("aggregate lake.duckdb --table crowd.verdicts -o labels.csv")


@pytest.mark.usefixtures("folder", "few")
def test_a_terminal_shows_the_first_labels_of_all(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    run("aggregate answers.csv --engine duckdb")
    assert "Labels (the first 10 of 60)" in capsys.readouterr().out
