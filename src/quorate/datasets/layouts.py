"""Layouts of published files: one function per layout, which returns the tables of the answers and of the truth."""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from quorate.arrays import from_strings, table_of
from quorate.io.read_table import read_table

Rows = Iterable[Sequence[str]]
Tables = tuple[pa.Table, pa.Table]
# Screening of papers: question -> the columns of the paper, the worker, the vote and the truth.
SCREENING = {
    "intervention": ("paper ID", "intervention worker ID", "intervention Vote", "GOLD INTERVENTION"),
    "tech": ("use of tech paper ID", "use of tech worker ID", "use of tech vote", "GOLD USE OF TECH"),
    "older": ("older adult paper ID", "older adult worker ID", "older adult vote", "GOLD OLD"),
}


def _snow(path: Path) -> Tables:
    """Read the tables of Snow et al.: one answer per row, with the truth in each row."""
    table = read_table(path, dict.fromkeys(["orig_id", "!amt_worker_ids", "response", "gold"], ""))
    answers = table.select([0, 1, 2]).rename_columns(["task", "worker", "label"])
    return answers, table.select([0, 3]).rename_columns(["task", "label"])


def _zhang(crowd: Path, truth: Path) -> Tables:
    """Read the files of Zhang et al.: task, worker, label and task, label, separated by white space, no header."""
    return _tables(_words(crowd), _words(truth))


def _get_another_label(crowd: Path, truth: Path) -> Tables:
    """Read the files of Get-Another-Label: worker, task, label and task, label, no header."""
    return _tables(((task, worker, label) for worker, task, label in _words(crowd)), _words(truth))


def _toolkit(path: Path) -> Tables:
    """Read the files of the Active Crowd Toolkit: worker, task, label, truth and optionally a time, no header."""
    rows = _lines(path)
    return _tables(((task, worker, label) for worker, task, label, *_ in rows), ((row[1], row[3]) for row in rows))


def _zheng(crowd: Path, truth: Path) -> Tables:
    """Read the files of Zheng et al.: question, worker, answer and question, truth, with a header."""
    return _tables(_lines(crowd)[1:], _lines(truth)[1:])


def _numbered(crowd: Path, truth: Path) -> Tables:
    """Read answers with a header, and a truth whose row numbers (from 1) are the tasks."""
    known = _lines(truth)[1:]
    return _tables(_lines(crowd)[1:], ((str(number + 1), row[0]) for number, row in enumerate(known)))


def _matrix(crowd: Path, truth: Path) -> Tables:
    """Read a matrix tasks × workers, -1 for no answer, and one truth per line; ids are numbers from 0."""
    rows = (
        (str(task), str(worker), label)
        for task, labels_of_task in enumerate(_words(crowd))
        for worker, label in enumerate(labels_of_task)
        if label != "-1"
    )
    return _tables(rows, ((str(task), row[0]) for task, row in enumerate(_words(truth))))


def _screening(path: Path, question: str) -> Tables:
    """Read the screening of papers: columns for three questions with their truth, some of which are empty in a row."""
    paper, worker, vote, gold = SCREENING[question]
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    answers = ((row[paper], row[worker], row[vote]) for row in rows if row[paper])
    return _tables(answers, ((row["paper ID"], row[gold]) for row in rows if row[gold]))


def _survey(path: Path) -> Tables:
    """Read the log of CIFAR-10S: the class that each subject found most probable, without repeated pictures."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["task"] == "spec_conf"]
    task = [row["img_id"].removesuffix(".0") for row in rows]
    labels = [json.loads(row["response"])["classSelect"].removeprefix("mostProb").lower() for row in rows]
    workers = (row["subject"] for row in rows)
    truth = zip(task, (row["label"].lower() for row in rows), strict=True)
    return _tables(zip(task, workers, labels, strict=True), truth)


def _words(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _lines(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


def _tables(answers: Rows, truth: Rows) -> Tables:
    return _text_table(("task", "worker", "label"), answers), _text_table(("task", "label"), truth)


def _text_table(names: tuple[str, ...], rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True)
    return table_of({name: from_strings(column) for name, column in zip(names, columns, strict=False)})


LAYOUTS: dict[str, Callable[..., tuple[pa.Table, pa.Table]]] = {
    "snow": _snow,
    "zhang": _zhang,
    "get_another_label": _get_another_label,
    "toolkit": _toolkit,
    "zheng": _zheng,
    "numbered": _numbered,
    "matrix": _matrix,
    "screening": _screening,
    "survey": _survey,
}
