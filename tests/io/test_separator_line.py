"""A first line `sep=;`, which Excel writes and reads, names the separator and is no row."""

from pathlib import Path

import pytest

import quorate
from quorate.errors import StrayQuoteError

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


@pytest.mark.parametrize("line", ["", "sep=;\n", "sep=;\r\n", "sep=;\r", "\ufeffsep=;\r\n"])
@pytest.mark.parametrize("stray", ['i1;"a;x', 'i1;"a" b;x'])
def test_the_line_counts_in_the_number_of_a_line_with_a_stray_quote(line: str, stray: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    end = line.removeprefix("\ufeff").removeprefix("sep=;") or "\n"
    rows = ["Item;Annotator;Answer", "i0;a;x", stray, "i2;b;y"]
    text = line + "".join(f"{row}{end}" for row in rows)
    file.write_text(text, encoding="utf-8", newline="")
    number = text.replace("\r\n", "\n").replace("\r", "\n").split("\n").index(stray) + 1
    with pytest.raises(StrayQuoteError, match=f"^line {number} of "):
        quorate.read(str(file), task="Item", worker="Annotator", label="Answer")


def test_a_column_of_that_name_is_no_such_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("sep=x,worker,label\n1,a,x\n1,b,y\n")
    answers = quorate.read(str(file), task="sep=x", worker="worker", label="label")
    assert answers.n_answers == 2
