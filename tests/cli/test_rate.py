"""`quorate rate` and the commands that take scores."""

import csv
import json
from pathlib import Path

import pytest

import quorate as package
from quorate.errors import ScoreError
from tests.cli.running import quorate


@pytest.fixture
def marks(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulated scores of 1 to 5, and the truth beside them."""
    monkeypatch.chdir(tmp_path)
    arguments = ("--tasks", 60, "--workers", 10, "--per-task", 4, "--bounds", "1,5", "--spammers", 0.2)
    done = quorate(
        capsys,
        "simulate",
        "--scores",
        "-o",
        "marks.csv",
        "--truth-out",
        "known.csv",
        "--skills-out",
        "r.csv",
        *arguments,
    )
    assert done[0] == 0, done
    return tmp_path / "marks.csv"


def rows(path: Path | str) -> list[dict[str, str]]:
    with Path(path).open() as file:
        return list(csv.DictReader(file))


def test_files_and_summary(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = quorate(
        capsys, "rate", marks, "-o", "scores.csv", "--workers-out", "raters.csv", "--cut", 3, "--bounds", "1,5"
    )
    assert code == 0
    assert out.startswith("60 scores from 240 answers by 10 raters.")
    assert "(--gold)" in out
    scores = rows("scores.csv")
    assert list(scores[0])[:9] == [
        *("task", "score", "se", "score_low", "score_high", "n_answers", "disagreement", "component", "above")
    ]
    assert all(1 <= float(row["score_low"]) <= float(row["score_high"]) <= 5 for row in scores)
    assert all(0 <= float(row["above"]) <= 1 for row in scores)
    raters = rows("raters.csv")
    assert [row["worker"] for row in raters] == [f"w{k}" for k in range(10)]
    assert {row["status"] for row in raters} <= {
        *("identified", "weakly identified", "not identified", "few answers", "uninformative", "reversed")
    }
    library = package.rate(marks, cut=3, bounds=(1, 5))
    # Files have six significant digits.
    assert [float(row["score"]) for row in scores] == pytest.approx(library.scores["score"].to_pylist(), rel=5e-6)


def test_json_and_standard_input(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = quorate(capsys, "rate", marks, "--json", "--gold", "known.csv")
    assert code == 0
    found = json.loads(out)
    assert found["schema_version"] == 1
    assert found["status"] == "converged"
    assert len(found["scores"]) == 60
    assert found["reliability"]["raters_for_0.9"] >= 1
    assert found["reliability"]["shared_variance"] > 0


def test_a_pipe_gets_the_scores_and_the_summary_goes_to_standard_error(
    marks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = quorate(capsys, "rate", marks)
    assert code == 0
    assert out.splitlines()[0].startswith("task,score,se")
    assert "60 scores" in err


def test_an_engine_gives_the_same_file(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert quorate(capsys, "rate", marks, "-o", "one.csv")[0] == 0
    assert quorate(capsys, "rate", marks, "--engine", "duckdb", "-o", "two.csv")[0] == 0
    one = {row["task"]: float(row["score"]) for row in rows("one.csv")}
    two = {row["task"]: float(row["score"]) for row in rows("two.csv")}
    assert one == pytest.approx(two, abs=1e-9)


def test_the_scores_go_to_a_new_table_of_the_database(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("marks.duckdb") as connection:
        connection.execute("CREATE TABLE marks AS FROM 'marks.csv'")
    command = ("rate", "marks.duckdb", "--table", "marks", "--output-table", "scores")
    code, out, err = quorate(capsys, *command)
    assert code == 0, err
    assert "60 scores from 240 answers" in out
    with duckdb.connect("marks.duckdb") as connection:
        assert connection.execute("SELECT count(*), count(score) FROM scores").fetchall() == [(60, 60)]
    code, out, err = quorate(capsys, *command)
    assert (code, "'scores' exists already" in err) == (2, True)
    assert "--replace" in err  # the remedy, which works
    assert quorate(capsys, *command, "--cut", "3", "--replace")[0] == 0
    with duckdb.connect("marks.duckdb") as connection:
        assert connection.execute("SELECT count(above) FROM scores").fetchall() == [(60,)]
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(2,)]
    code, _, err = quorate(capsys, "rate", marks, "--output-table", "scores")
    assert (code, "--output-table is for databases" in err) == (2, True)


def test_groups_repeats_and_unknown_raters(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = marks.read_text().splitlines()
    Path("family.csv").write_text(
        "\n".join([text[0] + ",family", *(f"{line},{int(line.split(',')[1][1:]) % 3}" for line in text[1:])]) + "\n"
    )
    code, _, _ = quorate(capsys, "rate", "family.csv", "--group", "family", "-o", "s.csv", "--workers-out", "g.csv")
    assert code == 0
    assert {row["group"] for row in rows("g.csv")} == {"0", "1", "2"}
    Path("twice.csv").write_text(marks.read_text() + text[1] + "\n" + text[1].rsplit(",", 1)[0] + ",2.5\n")
    code, _, err = quorate(capsys, "rate", "twice.csv", "-o", "s.csv")
    assert code == 2
    assert "--on-conflict" in err
    assert quorate(capsys, "rate", "twice.csv", "-o", "s.csv", "--on-conflict", "mean")[0] == 0
    code, out, _ = quorate(capsys, "rate", marks, "--worker", "none", "-o", "s.csv")
    assert code == 0
    assert "raters unknown" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("task,worker,score\n1,a,4/5\n1,b,3\n2,a,1\n", "'4/5', which is not a number, in row 1"),
        ("task,worker,score\n1,a,4\n2,a,3\n", "only one rater"),
        ("task,worker,score\n1,a,\n1,b,3\n", "no value in 'score' (row 1)"),
        ("task,worker,points\n1,a,1\n1,b,3\n", "points"),
    ],
)
def test_bad_input_names_the_row_with_exit_code_2(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.csv").write_text(text)
    code, out, err = quorate(capsys, "rate", tmp_path / "bad.csv", "-o", tmp_path / "out.csv")
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (tmp_path / "out.csv").exists()


def test_bounds_must_be_two_numbers(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for bad in ("5", "a,b", "5,1"):
        assert quorate(capsys, "rate", marks, "--bounds", bad, "-o", "s.csv")[0] == 2


def test_score_compare_check_advise_and_agreement_take_scores(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quorate(capsys, "rate", marks, "-o", "scores.csv")
    code, out, _ = quorate(capsys, "score", "scores.csv", "known.csv", "--json")
    assert code == 0
    errors = json.loads(out)
    assert errors["n_scored"] == 60
    assert errors["correlation"] > 0.7
    assert 0.8 < errors["coverage"] <= 1

    code, out, _ = quorate(capsys, "compare", marks, "--scores", "--truth", "known.csv", "--json")
    assert code == 0
    methods = {row["method"]: row for row in json.loads(out)["methods"]}
    assert set(methods) == {"mean", "median", "z-score", "bias-removed", "p910", "rate"}
    assert methods["rate"]["rmse"] == pytest.approx(errors["rmse"], rel=1e-6)
    assert quorate(capsys, "compare", marks, "--scores", "--methods", "mode")[0] == 2

    assert quorate(capsys, "check", marks, "--min-reliability", 0.1, "--max-half-width", 4)[0] == 0
    code, out, _ = quorate(capsys, "check", marks, "--min-reliability", 0.99)
    assert code == 1
    assert "about" in out
    assert quorate(capsys, "check", marks, "--min-reliability", 0.5, "--max-error", 0.1)[0] == 2

    code, _, _ = quorate(capsys, "advise", marks, "--scores", "--budget", 7, "-o", "next.csv", "--tasks-out", "t.csv")
    assert code == 0
    asked = rows("next.csv")
    assert len(asked) == 7
    answered = {(row["task"], row["worker"]) for row in rows(marks)}
    assert not answered & {(row["task"], row["worker"]) for row in asked}
    assert quorate(capsys, "advise", marks, "--scores")[0] == 2

    code, out, _ = quorate(capsys, "agreement", marks, "--label", "score", "--scale", "interval", "--json")
    assert code == 0
    assert 0 < json.loads(out)["intraclass_correlation"]["consistency"] < 1


def test_advice_stops_at_the_half_width(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = "100"
    assert quorate(capsys, "advise", marks, "--budget", 5, "--max-half-width", wide, "-o", "next.csv")[0] == 0
    assert rows("next.csv") == []


def test_aggregate_points_to_rate_and_the_command_runs(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = [(row["task"], row["worker"], float(row["score"]) * 7.5) for row in rows(marks)]
    text = "task,worker,label\n" + "".join(f"{t},{w},{y}\n" for t, w, y in table)
    Path("labels.csv").write_text(text)
    code, out, _ = quorate(capsys, "aggregate", "labels.csv", "-o", "l.csv")
    assert code == 0
    command = out[out.index("quorate rate ") :].splitlines()[0]
    assert command == "quorate rate labels.csv --score label"
    assert quorate(capsys, *command.split()[1:], "-o", "s.csv")[0] == 0


def test_known_scores_of_a_wide_table_are_read(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_task: dict[str, dict[str, str]] = {}
    for row in rows(marks):
        by_task.setdefault(row["task"], {})[row["worker"]] = row["score"]
    lines = ["item," + ",".join(f"w{k}" for k in range(10))]
    lines += [f"{task}," + ",".join(given.get(f"w{k}", "") for k in range(10)) for task, given in by_task.items()]
    Path("wide.csv").write_text("\n".join(lines) + "\n")
    columns = ",".join(f"w{k}" for k in range(10))
    code, out, err = quorate(capsys, "rate", "wide.csv", "--task", "item", "--workers", columns, "-o", "s.csv")
    assert code == 0, err
    assert "known scores of some tasks would show it (--gold)" in out
    known = [f"{row['task']},{row['score']}" for row in rows("known.csv")[:10]]
    Path("some.csv").write_text("item,score\n" + "\n".join(known) + "\n")
    options = ["--task", "item", "--workers", columns, "--gold", "some.csv"]
    code, out, err = quorate(capsys, "rate", "wide.csv", *options, "-o", "s.csv")
    assert code == 0, err
    assert "the scale of the 10 known scores" in out


def test_report_of_scores(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert quorate(capsys, "report", marks, "--scores", "-o", "page.html")[0] == 0
    page = Path("page.html").read_text()
    assert page.count("<svg") >= 3
    assert "Raters needed" in page
    assert quorate(capsys, "rate", marks, "-o", "s.csv", "--report-out", "other.html")[0] == 0
    assert Path("other.html").exists()


def test_consensus_of_one_output_from_a_file_of_raters(marks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quorate(capsys, "rate", marks, "-o", "s.csv", "--workers-out", "raters.csv")
    panel = package.consensus("raters.csv")
    lines = {row["worker"]: row for row in rows("raters.csv")}
    informative = [name for name, row in lines.items() if row["status"] == "identified"]
    exact = {n: float(lines[n]["intercept"]) + float(lines[n]["scale"]) * 4.0 for n in informative}
    found = panel(exact)
    assert found.score == pytest.approx(4.0)
    assert found.score_low < 4 < found.score_high
    assert panel({}).score is None
    with pytest.raises(ScoreError, match="not a number"):
        panel({informative[0]: "good"})


def test_scores_of_tasks_with_several_columns_are_a_valid_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        (page, sound, f"w{k}", 10 * k + len(page)) for page in ("p", "pq", "pqr") for sound in "ab" for k in range(4)
    ]
    path = tmp_path / "scores.csv"
    path.write_text("page,sound,who,points\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    out = tmp_path / "out.csv"
    options = ["--task", "page,sound", "--worker", "who", "--score", "points"]
    code, _, err = quorate(capsys, "rate", path, *options, "-o", out)
    assert code == 0, err
    with out.open() as file:
        table = list(csv.DictReader(file))
    assert {row["task"] for row in table} == {f"{page} / {sound}" for page in ("p", "pq", "pqr") for sound in "ab"}
    assert all(None not in row and None not in row.values() for row in table)
