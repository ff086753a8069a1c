"""A first line `sep=;`, which Excel writes and reads, names the separator and is no row."""

from pathlib import Path

import pytest

import quorate

HEADER = ["Item", "Annotator", "Answer"]
ROWS = [[f"i{k // 3}", "abc"[k % 3], "xy"[k % 7 % 2]] for k in range(30)]


def text_of(mark: str, end: str) -> str:
    return end.join([mark.join(row) for row in [HEADER, *ROWS]]) + end


@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
@pytest.mark.parametrize("line", ["sep={}\r\n", '"sep={}"\n', "SEP={}\n", "\ufeffsep={}\r\n"])
def test_the_line_names_the_separator(mark: str, line: str, tmp_path: Path) -> None:
    plain = tmp_path / "plain.csv"
    plain.write_text(text_of(",", "\n"))
    marked = tmp_path / "marked.csv"
    marked.write_text(line.format(mark) + text_of(mark, "\r\n" if "\r" in line else "\n"), encoding="utf-8", newline="")
    assert quorate.read(str(marked)).to_table().equals(quorate.read(str(plain)).to_table())


def test_a_column_of_that_name_is_no_such_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("sep=x,worker,label\n1,a,x\n1,b,y\n")
    answers = quorate.read(str(file), task="sep=x", worker="worker", label="label")
    assert answers.n_answers == 2
