"""`quorate rank` on the command line: files written, exit codes, messages."""

import csv
import json
import shlex
from pathlib import Path

import pytest

from quorate.cli.app import main
from tests.cli.running import quorate
from tests.ranking.panels import Columns, votes


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["rank", *words])
    return int(ended.value.code or 0)


def write(path: Path, columns: Columns) -> str:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_items_judges_and_pairs_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "votes.csv", votes(n_rows=400))
    outputs = [str(tmp_path / name) for name in ("items.csv", "judges.csv", "pairs.csv", "next.csv")]
    flags = ("-o", "--workers-out", "--pairs-out", "--next-out")
    words = [word for pair in zip(flags, outputs, strict=True) for word in pair]
    assert run(file, *words, "--next", "5", "--difference", "i0,i7") == 0
    counts = [len(Path(path).read_text().splitlines()) - 1 for path in outputs]
    assert counts == [8, 6, 28, 5]
    assert "The strength of i0 minus that of i7 is" in capsys.readouterr().out


def test_a_pipe_gets_the_items(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(write(tmp_path / "votes.csv", votes(n_rows=300))) == 0
    found = capsys.readouterr()
    assert found.out.startswith("item,rank,strength,")
    assert "300 comparisons of 8 items by 6 judges" in found.err


def test_elo_units_are_centred_at_1000(tmp_path: Path) -> None:
    file = write(tmp_path / "votes.csv", votes(n_rows=300))
    assert run(file, "--units", "elo", "-o", str(tmp_path / "items.csv")) == 0
    rows = list(csv.DictReader((tmp_path / "items.csv").read_text().splitlines()))
    assert sum(float(row["strength"]) for row in rows) / 8 == pytest.approx(1000)
    assert all(float(row["strength"]) == pytest.approx(float(row["elo"])) for row in rows)


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "votes.csv", votes(n_rows=300))
    assert run(file, "--json", "--next", "3") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["schema_version"] == 1
    assert content["determined"] is True
    assert len(content["items"]) == 8
    assert len(content["next"]) == 3


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("left,right,winner\na,b,left\nc,d,left\n", 3, "cannot be put into one ranking"),
        ("left,right,winner\na,b,tie\nb,a,tie\n", 3, "All 2 comparisons are ties"),
        ("left,right,winner\na,a,left\na,a,tie\n", 3, "two different items"),
        ("left,right,winner\na,b,left\na,b,w\n", 2, "is neither one of the two items nor a side nor a tie"),
        ("left,right,winner\na,b,\n", 2, "winner is missing in row 1"),
        ("one,two\na,b\n", 2, "none of them look like two items and a winner"),
    ],
)
def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, message: str) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(text)
    assert run(str(file), "-o", str(tmp_path / "items.csv")) == code
    found = capsys.readouterr()
    assert message in found.out + found.err


def test_separate_parts_are_written_as_separate_lists(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("left,right,winner\na,b,left\nb,a,left\nc,d,left\nd,c,right\n")
    assert run(str(file), "-o", str(tmp_path / "items.csv")) == 3
    rows = list(csv.DictReader((tmp_path / "items.csv").read_text().splitlines()))
    assert [(row["part"], row["rank"]) for row in rows] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]


def test_the_file_that_is_read_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "votes.csv", votes(n_rows=50))
    assert run(file, "-o", file) == 2
    assert "would overwrite" in capsys.readouterr().err


def test_items_of_each_criterion_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["left,right,winner,judge,aspect"]
    for number in range(60):
        for aspect in ("fit", "tone"):
            winner = "left" if (number + (aspect == "tone")) % 3 else "right"
            lines.append(f"{'abc'[number % 3]},{'bca'[number % 3]},{winner},j{number % 4},{aspect}")
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    code, out, _ = quorate(capsys, "rank", path, "--criterion", "aspect", "-o", tmp_path / "items.csv")
    assert code == 0
    assert "Criterion fit: " in out
    with (tmp_path / "items.csv").open() as file:
        found = [(row["criterion"], row["item"]) for row in csv.DictReader(file)]
    assert sorted(found) == sorted((aspect, item) for aspect in ("", "fit", "tone") for item in "abc")
    code, _, err = quorate(capsys, "rank", path, "--criterion", "nothing")
    assert code == 2
    assert "no column 'nothing' for --criterion" in err


def test_duckdb_reads_a_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    write(tmp_path / "votes-1.csv", votes(n_rows=200))
    write(tmp_path / "votes-2.csv", votes(n_rows=200, seed=1))
    assert run(str(tmp_path / "votes-*.csv"), "-o", str(tmp_path / "items.csv")) == 0
    found = capsys.readouterr()
    assert "duckdb has the comparisons" in found.err
    assert "400 comparisons" in found.out


@pytest.mark.parametrize("form", ["folder", "files", "one"])
def test_comparisons_in_json_of_several_judges_are_ranked(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "judges"
    folder.mkdir()
    rows = [(f"m{k % 3}", f"m{(k + 1) % 3}", "A" if (k + k // 3) % 4 else "B") for k in range(60)]
    for judge in ("one", "two"):
        records = [{"id": k, "model_a": a, "model_b": b, "judge_pick": pick} for k, (a, b, pick) in enumerate(rows)]
        (folder / f"{judge}.json").write_text(json.dumps(records))
    names = {"folder": [folder], "files": sorted(folder.iterdir()), "one": [folder / "one.json"]}[form]
    code, out, err = quorate(capsys, "rank", *names, "--winner", "judge_pick", "--json")
    assert code in (0, 3), err
    found = json.loads(out)
    assert {item["item"] for item in found["items"]} == {"m0", "m1", "m2"}
    n_judges = 1 if form == "one" else 2
    assert all(item["comparisons"] == 40 * n_judges for item in found["items"])
    code, _, err = quorate(capsys, "aggregate", *names)
    proposed = [line.removeprefix("Or:  quorate ") for line in err.splitlines() if " rank " in line]
    for line in proposed:
        assert quorate(capsys, *shlex.split(line))[0] in (0, 3)


def test_warnings_keep_the_names_of_items_and_cut_long_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "go to settings, choose security, and follow the link that was sent to you"
    file = tmp_path / "pairs.csv"
    file.write_text("left,right,winner\n" + f'a,"{text}",left\n' * 3 + "a,b,left\n" * 3)
    _, out, err = quorate(capsys, "rank", file, "-o", tmp_path / "items.csv")
    printed = out + err
    assert "This item never lost against the others, so its strength has no upper limit: a." in printed
    assert f'"{text[:40].rstrip()}…"' in printed
    assert text not in printed
