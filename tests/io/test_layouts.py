"""Files as people have them: each layout is written here, parsed here by a few lines of Python, and read by Quorate.

A case is a crowd of known answers, written in one layout. What the bare command refuses must be read by the command
that it proposes; tasks, workers and answers must be those that an independent parse of the file finds.
"""

import csv
import io
import itertools
import json
import random
import shlex
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import quorate
from quorate.cli.app import app
from quorate.errors import MissingColumnError, QuorateError, in_shell
from quorate.io.examine import examine
from quorate.io.json_documents import tabulate
from quorate.io.options import ReadOptions
from quorate.io.read import read_source
from tests.cli.running import quorate as quorate_command

Triples = set[tuple[str, str, str]]  # task, worker, label


def crowd(n_tasks: int = 40, n_workers: int = 7, per_task: int = 4, classes: str = "ABC", seed: int = 0) -> Triples:
    """Answers of workers who are right three times in four."""
    rng = random.Random(seed)
    found = set()
    for t in range(n_tasks):
        truth = rng.choice(classes)
        for w in rng.sample(range(n_workers), per_task):
            found.add((f"t{t}", f"w{w}", truth if rng.random() < 0.75 else rng.choice(classes)))
    return found


CROWD = crowd()
FULL = crowd(per_task=5, n_workers=5)  # everyone answers everything


def csv_text(header: list[str] | None, rows: list[list[Any]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if header is not None:
        writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def parsed(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream, delimiter=delimiter))


def sorted_rows(answers: Triples) -> list[tuple[str, str, str]]:
    return sorted(answers)


def by_task(answers: Triples) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for task, worker, label in sorted_rows(answers):
        found.setdefault(task, {})[worker] = label
    return found


REASONS = itertools.count()
WORKERS = sorted({worker for _, worker, _ in CROWD})


# --- writers and independent parsers, one pair per layout ---


def _long(names: list[str], delimiter: str = ",", extra: str = "") -> Callable[[Path], Triples]:
    def write(folder: Path) -> Triples:
        header = [*names, *([extra] if extra else [])]
        rows = [[*row, *([k] if extra else [])] for k, row in enumerate(sorted_rows(CROWD))]
        (folder / "file.csv").write_text(csv_text(header, rows, delimiter))
        return {tuple(row[name] for name in names) for row in parsed(folder / "file.csv", delimiter)}  # type: ignore[misc]

    return write


def _padded_header(folder: Path) -> Triples:
    (folder / "file.csv").write_text("task , worker, label\n" + csv_text(None, [list(r) for r in sorted_rows(CROWD)]))
    rows = list(csv.reader((folder / "file.csv").read_text().splitlines()))[1:]
    return {(task, worker, label) for task, worker, label in rows}


def _mturk(columns: dict[str, Callable[[str], str]], question: str) -> Callable[[Path], Triples]:
    def write(folder: Path) -> Triples:
        inputs = ["HITId", "HITTypeId", "Title", "MaxAssignments", "AssignmentId", "WorkerId", "AssignmentStatus"]
        header = [*inputs, "Input.text", *columns, "Approve", "Reject"]
        rows = [
            [
                task,
                "T",
                "Which?",
                "4",
                f"A{k}",
                worker,
                "Submitted",
                f"text {task}",
                *(f(label) for f in columns.values()),
            ]
            for k, (task, worker, label) in enumerate(sorted_rows(CROWD))
        ]
        (folder / "file.csv").write_text(csv_text(header, rows))  # rows stop before Approve and Reject
        found = parsed(folder / "file.csv")
        return {(row["HITId"], row["WorkerId"], row[question].strip()) for row in found if row[question]}

    return write


def _mturk_radio(folder: Path) -> Triples:
    columns: dict[str, Callable[[str], str]] = {
        f"Answer.kind.{c}": partial(lambda c, label: str(label == c).lower(), c) for c in "ABC"
    }
    _mturk(columns, "Answer.kind.A")(folder)
    return {
        (row["HITId"], row["WorkerId"], next(c for c in "ABC" if row[f"Answer.kind.{c}"] == "true"))
        for row in parsed(folder / "file.csv")
    }


def _figure8(folder: Path) -> Triples:
    header = ["_unit_id", "_golden", "_id", "_tainted", "_trust", "_worker_id", "tone", "tone_gold", "text"]
    rows = [
        [task, "false", k, "false", "0.9", worker, label, "", f"text {task}"]
        for k, (task, worker, label) in enumerate(sorted_rows(CROWD))
    ]
    (folder / "file.csv").write_text(csv_text(header, rows))
    return {(row["_unit_id"], row["_worker_id"], row["tone"]) for row in parsed(folder / "file.csv")}


def _figure8_several(folder: Path) -> Triples:
    everything = _figure8(folder)
    text = (folder / "file.csv").read_text().splitlines(keepends=True)
    half = len(text) // 2
    (folder / "file.csv").write_text("".join(text[:half]))
    (folder / "other.csv").write_text("".join([text[0], *text[half:]]))
    return everything


def _zooniverse(folder: Path) -> Triples:
    header = ["classification_id", "user_name", "user_id", "created_at", "annotations", "subject_ids"]
    rows = [
        [k, worker, "", "2026-01-01", json.dumps([{"task": "T0", "task_label": "?", "value": label}]), task]
        for k, (task, worker, label) in enumerate(sorted_rows(CROWD))
    ]
    (folder / "file.csv").write_text(csv_text(header, rows))
    return {
        (row["subject_ids"], row["user_name"], json.loads(row["annotations"])[0]["value"])
        for row in parsed(folder / "file.csv")
    }


def _zooniverse_extract(folder: Path) -> Triples:
    header = ["row_id", "classification_id", "user_name", "user_id", "created_at", "subject_ids", "val"]
    rows = [[k, 100 + k, w, "", "2026-01-01", t, label] for k, (t, w, label) in enumerate(sorted_rows(CROWD))]
    (folder / "file.csv").write_text(csv_text(header, rows))
    return {(row["subject_ids"], row["user_name"], row["val"]) for row in parsed(folder / "file.csv")}


def _wide_rows(answers: Triples) -> list[list[str]]:
    workers = sorted({worker for _, worker, _ in answers})
    return [[task, *(given.get(worker, "") for worker in workers)] for task, given in by_task(answers).items()]


def _wide(prefix: str, answers: Triples = CROWD) -> Callable[[Path], Triples]:
    def write(folder: Path) -> Triples:
        workers = sorted({worker for _, worker, _ in answers})
        rows = [[row[0], f"The text of task {row[0]}, which is long.", *row[1:]] for row in _wide_rows(answers)]
        header = ["item_id", "text", *(f"{prefix}{worker}" for worker in workers)]
        (folder / "file.csv").write_text(csv_text(header, rows))
        return {
            (row["item_id"], name, row[name]) for row in parsed(folder / "file.csv") for name in header[2:] if row[name]
        }

    return write


def _wide_parquet(folder: Path) -> Triples:
    given = by_task(FULL)
    models = dict(
        zip(sorted({w for _, w, _ in FULL}), ("gpt-4o", "claude-3", "gemma-2-9b", "qwen2-7b", "llama-3"), strict=True)
    )
    columns: dict[str, list[Any]] = {"item_id": list(given), "split": ["dev"] * len(given)}
    columns |= {models[w]: [given[t].get(w) for t in given] for w in models}
    pq.write_table(pa.table(columns), folder / "file.parquet")
    table = pq.read_table(folder / "file.parquet").to_pylist()
    return {(row["item_id"], name, row[name]) for row in table for name in models.values() if row[name]}


def _wide_jsonl(folder: Path) -> Triples:
    lines = [
        json.dumps({"id": task, "text": "long " * 20, "verdicts": given}) for task, given in by_task(CROWD).items()
    ]
    (folder / "file.jsonl").write_text("\n".join(lines))
    records = map(json.loads, (folder / "file.jsonl").read_text().splitlines())
    return {(record["id"], w, label) for record in records for w, label in record["verdicts"].items()}


def _matrix(folder: Path) -> Triples:
    rows = [row[1:] for row in _wide_rows(CROWD)]
    codes = {"A": "0", "B": "1", "C": "2", "": ""}
    (folder / "file.csv").write_text(csv_text(None, [[codes[cell] for cell in row] for row in rows]))
    lines = list(csv.reader((folder / "file.csv").read_text().splitlines()))
    return {(str(k), str(j), cell) for k, row in enumerate(lines) for j, cell in enumerate(row) if cell}


def _triples(order: tuple[int, int, int]) -> Callable[[Path], Triples]:
    def write(folder: Path) -> Triples:
        ids = {each: str(100 + k) for k, each in enumerate(sorted({t for t, _, _ in CROWD} | {w for _, w, _ in CROWD}))}
        codes = {"A": "0", "B": "1", "C": "2"}
        rows = [(ids[task], ids[worker], codes[label]) for task, worker, label in sorted_rows(CROWD)]
        (folder / "file.csv").write_text(csv_text(None, [[row[k] for k in order] for row in rows]))
        lines = csv.reader((folder / "file.csv").read_text().splitlines())
        return {tuple(line[order.index(k)] for k in range(3)) for line in lines}  # type: ignore[misc]

    return write


def _json_list(folder: Path) -> Triples:
    records = [{"item": t, "judge": w, "verdict": label} for t, w, label in sorted_rows(CROWD)]
    (folder / "file.json").write_text(json.dumps(records, indent=2))
    return {(r["item"], r["judge"], r["verdict"]) for r in json.loads((folder / "file.json").read_text())}


def _json_nested(folder: Path) -> Triples:
    records = [
        {"meta": {"item_id": t}, "judge": {"name": w}, "parsed": {"verdict": label}}
        for t, w, label in sorted_rows(CROWD)
    ]
    (folder / "file.json").write_text(json.dumps({"run": 7, "results": records}))
    held = json.loads((folder / "file.json").read_text())["results"]
    return {(r["meta"]["item_id"], r["judge"]["name"], r["parsed"]["verdict"]) for r in held}


def _json_votes_inside(folder: Path) -> Triples:
    records = [
        {"id": t, "votes": [{"annotator": w, "label": label} for w, label in given.items()]}
        for t, given in by_task(CROWD).items()
    ]
    (folder / "file.json").write_text(json.dumps(records))
    held = json.loads((folder / "file.json").read_text())
    return {(r["id"], vote["annotator"], vote["label"]) for r in held for vote in r["votes"]}


def _json_parallel(folder: Path) -> Triples:
    given = by_task(FULL)
    workers = sorted({w for _, w, _ in FULL})
    scores = {w: [given[t].get(w) for t in given] for w in workers}
    held = {"item_ids": list(given), "scores_by_judge": scores, "version": "1.2"}
    (folder / "file.json").write_text(json.dumps(held))
    read = json.loads((folder / "file.json").read_text())
    return {
        (task, w, label)
        for w, labels in read["scores_by_judge"].items()
        for task, label in zip(read["item_ids"], labels, strict=True)
        if label
    }


def _lists(folder: Path) -> Triples:
    rows = [
        {"id": t, "text": "some text", "annotators": list(given), "annotations": list(given.values())}
        for t, given in by_task(CROWD).items()
    ]
    (folder / "file.jsonl").write_text("\n".join(map(json.dumps, rows)))
    read = map(json.loads, (folder / "file.jsonl").read_text().splitlines())
    return {(r["id"], w, label) for r in read for w, label in zip(r["annotators"], r["annotations"], strict=True)}


def _lewidi(folder: Path) -> Triples:
    held = {
        t: {"text": "x", "annotators": ",".join(given), "annotations": ",".join(given.values()), "lang": "en"}
        for t, given in by_task(CROWD).items()
    }
    (folder / "file.json").write_text(json.dumps(held, indent=1))
    read = json.loads((folder / "file.json").read_text())
    return {
        (t, w, label)
        for t, r in read.items()
        for w, label in zip(r["annotators"].split(","), r["annotations"].split(","), strict=True)
    }


def _positions(folder: Path) -> Triples:
    lines = [json.dumps({"id": t, "labels": list(given.values())}) for t, given in by_task(CROWD).items()]
    (folder / "file.jsonl").write_text("\n".join(lines))
    read = map(json.loads, (folder / "file.jsonl").read_text().splitlines())
    return {(r["id"], f"position {k}", label) for r in read for k, label in enumerate(r["labels"], start=1)}


def _vote_counts(folder: Path) -> Triples:
    rows = [[t, *(sum(label == c for label in given.values()) for c in "ABC")] for t, given in by_task(CROWD).items()]
    (folder / "file.csv").write_text(csv_text(["item_id", "votes_A", "votes_B", "votes_C"], rows))
    found = set()
    for row in parsed(folder / "file.csv"):
        votes = [c for c in "ABC" for _ in range(int(row[f"votes_{c}"]))]
        found |= {(row["item_id"], f"vote {k}", c) for k, c in enumerate(votes, start=1)}
    return found


def _one_hot(folder: Path) -> Triples:
    rows = [[w, t, *(int(label == c) for c in "ABC")] for t, w, label in sorted_rows(CROWD)]
    (folder / "file.csv").write_text(csv_text(["user_id", "post_id", "topic_1", "topic_2", "topic_3"], rows))
    return {(row["post_id"], row["user_id"], row["topic_1"]) for row in parsed(folder / "file.csv")}


def _yaml(folder: Path) -> Triples:
    held: dict[str, dict[str, str]] = {}
    for task, worker, label in sorted_rows(FULL):
        held.setdefault(worker, {})[task] = label
    (folder / "file.yaml").write_text(yaml.safe_dump(held))
    read = yaml.safe_load((folder / "file.yaml").read_text())
    return {(task, worker, label) for worker, given in read.items() for task, label in given.items()}


def _file_per_judge(has_column: bool) -> Callable[[Path], Triples]:
    def write(folder: Path) -> Triples:
        for worker in WORKERS:
            lines = [
                json.dumps({"item_id": t, **({"judge_id": w} if has_column else {}), "verdict": label, "seconds": 3})
                for t, w, label in sorted_rows(CROWD)
                if w == worker
            ]
            (folder / f"{worker}.jsonl").write_text("\n".join(lines))
        return {
            (r["item_id"], r.get("judge_id", path.stem), r["verdict"])
            for path in folder.iterdir()
            for r in map(json.loads, path.read_text().splitlines())
        }

    return write


def _composite(folder: Path) -> Triples:
    rows = [
        [t[1:], w, f"criterion{k}", "ABC"[("ABC".index(label) + k) % 3] + ".0"[:0]]
        for t, w, label in sorted_rows(CROWD)
        for k in range(3)
    ]
    (folder / "file.csv").write_text(csv_text(["art_id", "ann", "criteriaID", "annotation"], rows))
    return {
        (f"{row['art_id']} / {row['criteriaID']}", row["ann"], row["annotation"]) for row in parsed(folder / "file.csv")
    }


def _excel(folder: Path) -> Triples:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Item ID", "Annotator", "Answer"])
    for row in sorted_rows(CROWD):
        book.active.append(row)
    book.save(folder / "file.xlsx")
    rows = list(openpyxl.load_workbook(folder / "file.xlsx").active.iter_rows(values_only=True))[1:]
    return {(task, worker, label) for task, worker, label in rows}


LAYOUTS: dict[str, Callable[[Path], Triples]] = {
    "usual names": _long(["task", "worker", "label"]),
    "question, worker, answer": _long(["question", "worker", "answer"]),
    "names with spaces": _long(["Item ID", "Annotator", "Sentiment"], extra="Seconds"),
    "participant, unit, rating": _long(["Unit", "Participant", "Rating"]),
    "semicolons": _long(["item", "rater", "label"], ";"),
    "tabs": _long(["item", "rater", "label"], "\t"),
    "blanks around names": _padded_header,
    "mturk, one question": _mturk({"Answer.kind": lambda label: label}, "Answer.kind"),
    "mturk, a choice and free text": _mturk(
        {"Answer.kind": lambda label: label, "Answer.why": lambda label: f"because {next(REASONS)}"},
        "Answer.kind",
    ),
    "mturk, radio buttons": _mturk_radio,
    "figure eight": _figure8,
    "figure eight, two files": _figure8_several,
    "zooniverse": _zooniverse,
    "zooniverse, extracted": _zooniverse_extract,
    "wide, judge_*": _wide("judge_"),
    "wide, annotator1": _wide("annotator", FULL),
    "wide parquet of models": _wide_parquet,
    "wide json lines": _wide_jsonl,
    "matrix without a header": _matrix,
    "triples without a header": _triples((0, 1, 2)),
    "triples, worker first": _triples((1, 0, 2)),
    "json list": _json_list,
    "json, nested": _json_nested,
    "json, votes inside": _json_votes_inside,
    "json, columns of equal length": _json_parallel,
    "lists per item": _lists,
    "lists with commas": _lewidi,
    "lists without names": _positions,
    "vote counts": _vote_counts,
    "one-hot columns": _one_hot,
    "yaml": _yaml,
    "one file per judge": _file_per_judge(has_column=False),
    "one file per judge, named inside": _file_per_judge(has_column=True),
    "composite key": _composite,
    "excel": _excel,
}


def proposed_or_read(source: Any) -> Any:
    """Read a source as it is, or by the options that its refusal proposes."""
    try:
        return read_source(source)
    except QuorateError as error:
        if error.proposal is None:
            raise
        return read_source(source, ReadOptions(**error.proposal))


def sources(folder: Path) -> Any:
    files = sorted(map(str, folder.iterdir()))
    return files[0] if len(files) == 1 else files


@pytest.mark.parametrize("layout", LAYOUTS)
def test_counts_equal_an_independent_parse(layout: str, tmp_path: Path) -> None:
    expected = LAYOUTS[layout](tmp_path)
    answers = proposed_or_read(sources(tmp_path)).answers
    assert answers.n_tasks == len({task for task, _, _ in expected})
    assert answers.n_workers == len({worker for _, worker, _ in expected})
    assert answers.n_answers == len(expected)
    assert answers.n_classes == len({label for _, _, label in expected})


@pytest.mark.parametrize(
    "layout", ["names with spaces", "wide, judge_*", "triples, worker first", "one file per judge"]
)
def test_the_proposed_command_runs_as_it_is_printed(layout: str, tmp_path: Path, capsys: Any) -> None:
    expected = LAYOUTS[layout](tmp_path)
    files = sources(tmp_path)
    code, _, err = quorate_command(capsys, "aggregate", *([files] if isinstance(files, str) else files))
    assert code == 2
    command = next(line.removeprefix("Run: ") for line in err.splitlines() if line.startswith("Run: "))
    assert err.splitlines()[-1].startswith("To see what the file holds: quorate doctor ")
    code, out, _ = quorate_command(capsys, *shlex.split(command)[1:], "--json", "--method", "majority")
    assert code == 0
    assert json.loads(out)["answers"] == len(expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_doctor_counts_the_same_and_proposes_commands_that_exist(layout: str, tmp_path: Path, capsys: Any) -> None:
    expected = LAYOUTS[layout](tmp_path)
    files = sources(tmp_path)
    code, out, _ = quorate_command(capsys, "doctor", *([files] if isinstance(files, str) else files), "--json")
    assert code == 0
    found = json.loads(out)
    assert found["schema_version"] == 1
    assert found["outcome"] in ("read", "proposed")
    assert found["counts"]["answers"] == len(expected)
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert found["can"]
    assert all(shlex.split(step["command"])[1] in names for step in found["can"])


# --- what is refused, and why ---


def _rating_rows() -> Iterator[list[Any]]:
    rng = random.Random(1)
    for t in range(30):
        for w in range(5):
            yield [t, f"w{w}", rng.randrange(101)]


REFUSED: dict[str, tuple[str, str, str]] = {
    "known labels": ("truth.csv", csv_text(["question", "truth"], [[k, k % 3] for k in range(30)]), "known labels"),
    "shares of votes": (
        "file.csv",
        csv_text(["comment", "rude", "kind"], [[f"c{k}", k % 7 / 6, k % 5 / 4] for k in range(40)]),
        "aggregated",
    ),
    "numeric ratings": ("file.csv", csv_text(["item", "rater", "rating"], list(_rating_rows())), "numeric"),
    "free text": (
        "file.csv",
        csv_text(
            ["HITId", "WorkerId", "AssignmentStatus", "Answer.line"],
            [[f"h{k % 20}", f"w{k % 7}", "Approved", f"a line of verse number {k}"] for k in range(60)],
        ),
        "free text",
    ),
    "an aggregated report": (
        "file.csv",
        csv_text(["_unit_id", "_trusted_judgments", "tone", "tone:confidence"], [[k, 5, "A", 0.8] for k in range(9)]),
        "Download the full report",
    ),
    "classes of an evaluation set": (
        "file.jsonl",
        "\n".join(json.dumps({"text": f"t{k}", "cats": {"X": k % 2, "Y": 1 - k % 2}}) for k in range(20)),
        "labels, not answers",
    ),
    "a list of tasks": (
        "file.csv",
        csv_text(["HITId", "Input.text"], [[f"h{k}", f"text {k}"] for k in range(30)]),
        "No column",
    ),
    "drawings": (
        "file.csv",
        csv_text(
            ["classification_id", "user_name", "subject_ids", "annotations"],
            [[k, f"w{k % 3}", k % 9, json.dumps([{"task": "T0", "value": [{"x": 1, "y": k}]}])] for k in range(30)],
        ),
        "drawn",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_holds_no_answers_is_refused_with_the_reason(case: str, tmp_path: Path, capsys: Any) -> None:
    name, text, reason = REFUSED[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(QuorateError) as caught:
        quorate.read(tmp_path / name)
    assert reason in str(caught.value)
    assert caught.value.proposal is None
    code, out, _ = quorate_command(capsys, "doctor", tmp_path / name, "--json")
    assert code == 0
    assert json.loads(out)["outcome"] == "refused"


def test_nearly_every_pair_in_conflict_means_another_task_column(tmp_path: Path) -> None:
    LAYOUTS["composite key"](tmp_path)
    with pytest.raises(QuorateError, match='"art_id", "criteriaID" together are the task') as caught:
        quorate.read(tmp_path / "file.csv")
    assert caught.value.proposal is not None
    assert caught.value.proposal["task"] == "art_id,criteriaID"


def test_a_truth_column_is_proposed_as_gold_and_never_as_an_answer(tmp_path: Path) -> None:
    rows = [[t, w, label, "A"] for t, w, label in sorted_rows(CROWD)]
    (tmp_path / "file.csv").write_text(csv_text(["item", "annotator", "label", "gold_label"], rows))
    with pytest.raises(QuorateError) as caught:
        quorate.read(tmp_path / "file.csv")
    assert caught.value.proposal == {
        "task": "item",
        "worker": "annotator",
        "label": "label",
        "gold_column": "gold_label",
    }
    found = read_source(tmp_path / "file.csv", ReadOptions(**caught.value.proposal))
    assert found.export is not None
    assert found.export.gold is not None
    assert len(found.export.gold) == len({task for task, _, _ in CROWD})


def test_one_and_one_point_nought_are_one_class(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text(["item", "ann", "label"], [[k, "x", f"{k % 2}.0"] for k in range(10)]))
    (tmp_path / "b.csv").write_text(csv_text(["item", "ann", "label"], [[k, "y", k % 2] for k in range(10)]))
    answers = read_source(sources(tmp_path), ReadOptions(task="item", worker="ann", label="label")).answers
    assert answers.classes.to_pylist() == ["0", "1"]
    (tmp_path / "c.csv").write_text("task,worker,label\n1,x,1.0\n2,x,2\n1,y,1\n")
    assert quorate.read(tmp_path / "c.csv").classes.to_pylist() == ["1", "2"]


def test_a_data_frames_index_is_the_task() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame.from_dict(by_task(FULL), orient="index")
    answers = quorate.read(frame, workers=list(frame.columns))
    assert set(answers.task_names.to_pylist()) == {task for task, _, _ in FULL}
    assert answers.n_answers == len(FULL)


WIDE = "item_id,text,ann,bob,cy\nq7,hello,yes,yes,no\nq8,bye,no,no,no\nq9,so long,yes,yes,yes\n"


def test_the_only_id_column_of_a_wide_table_is_the_task(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    named = ("aggregate", path, "--workers", "ann,bob,cy", "--method", "majority")
    code, out, err = quorate_command(capsys, *named)
    assert code == 0, err
    assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [["q7", "yes"], ["q8", "no"], ["q9", "yes"]]
    assert "The task is 'item_id'" in err
    chosen, _, _ = quorate_command(capsys, *named, "--task", "text")
    assert chosen == 0
    assert quorate.read(path, workers="ann,bob,cy", task="text").task_names.to_pylist() == ["bye", "hello", "so long"]


@pytest.mark.parametrize(
    ("header", "reason"),
    [("item_id,example_id", "'item_id', 'example_id' may all identify the task"), ("split,kind", "no column")],
)
def test_tasks_are_numbered_where_no_column_or_several_identify_them(
    header: str, reason: str, tmp_path: Path, capsys: Any
) -> None:
    path = tmp_path / "wide.csv"
    ids = [["7", "1"], ["8", "2"], ["9", "3"]] if "id" in header else [["dev", "a"], ["dev", "a"], ["dev", "b"]]
    answers = [["yes", "yes"], ["no", "no"], ["yes", "no"]]
    path.write_text(csv_text([*header.split(","), "ann", "bob"], [a + b for a, b in zip(ids, answers, strict=True)]))
    code, out, err = quorate_command(capsys, "aggregate", path, "--workers", "ann,bob", "--method", "majority")
    assert code == 0, err
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["1", "2", "3"]
    assert reason in err


def test_answers_whose_task_is_not_named_are_not_a_task_each(tmp_path: Path, capsys: Any) -> None:
    expected = _long(["item", "annotator", "answer"])(tmp_path)
    named = ("--worker", "annotator", "--label", "answer")
    code, _, err = quorate_command(capsys, "aggregate", tmp_path / "file.csv", *named)
    assert code == 2
    assert "--task item --worker annotator --label answer" in err
    answers = quorate.read(tmp_path / "file.csv", task="item", worker="annotator", label="answer")
    assert answers.n_tasks == len({task for task, _, _ in expected})
    rows = [[f"{k // 3}", f"w{k % 3}", "xy"[k % 2]] for k in range(6)]
    (tmp_path / "other.csv").write_text(csv_text(["thing", "annotator", "answer"], rows))
    with pytest.raises(quorate.errors.MissingColumnError, match=r"'thing'.*task="):
        quorate.read(tmp_path / "other.csv", worker="annotator", label="answer")


def test_questions_of_a_survey_are_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text("respondent,q1,q2,q10\nann,x,y,x\nbob,x,x,\ncy,y,y,x\n")
    answers = quorate.read(path, worker="respondent", fold="q*")
    assert answers.task_names.to_pylist() == ["q1", "q2", "q10"]
    assert answers.n_answers == 8
    path.write_text("respondent,q1,q2\nann,x,y\nann,x,x\n")
    with pytest.raises(quorate.errors.MissingColumnError, match="several rows of one worker"):
        quorate.read(path, worker="respondent", fold="q*")


OPEN_QUOTES = {
    "in a field": ('first,second,better\nx,y,x\nx,z,"x\ny,z,y\n', "line 3"),
    "in the header": ('left,right,"winner\nx,y,x\nx,z,x\n', "line 1"),
    "beside known columns": ('task,worker,score\n1,ann,"3\n1,bob,4\n', "line 2"),
}


@pytest.mark.parametrize("command", ["aggregate", "rank", "rate", "doctor"])
@pytest.mark.parametrize("where", OPEN_QUOTES)
def test_an_open_quote_is_named_before_the_columns(command: str, where: str, tmp_path: Path, capsys: Any) -> None:
    text, line = OPEN_QUOTES[where]
    (tmp_path / "file.csv").write_text(text)
    code, _, err = quorate_command(capsys, command, tmp_path / "file.csv")
    assert code == 2
    assert f"{line} of " in err.replace("Line", "line")
    assert "opens a quote that is never closed" in err
    assert "column" not in err.replace("(--columns)", "")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b""),
        ("a.csv", b"task,worker\0,label\n"),
        ("a.csv", b"task,worker,label\n1,ann,x,y\n2,bob,x\n"),
        ("a.csv", "task,worker,label\n1,André,x\n".encode() + b"1,Ren\xe9,y\n"),
        ("a.parquet", b"PAR1 and nothing else"),
        ("a.json", b'[{"task": 1, "worker": '),
        ("a.xlsx", b"PK\x03\x04 and nothing else"),
    ],
)
def test_doctor_fails_on_a_file_that_cannot_be_read(name: str, data: bytes, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / name).write_bytes(data)
    code, _, err = quorate_command(capsys, "doctor", tmp_path / name)
    assert code == 2
    assert err.startswith("quorate: ")
    code, out, _ = quorate_command(capsys, "doctor", tmp_path / name, "--json")
    assert code == 2
    assert json.loads(out)["outcome"] == "unreadable"


def test_doctor_succeeds_on_a_file_that_holds_no_answers(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "gold.csv").write_text(csv_text(["item", "gold_label"], [[k, "xy"[k % 2]] for k in range(9)]))
    code, out, _ = quorate_command(capsys, "doctor", tmp_path / "gold.csv")
    assert code == 0
    assert "cannot be combined" in out


def test_fold_makes_a_task_of_every_numbered_question(tmp_path: Path) -> None:
    rng = random.Random(0)
    columns = {f"Answer.adj_{k}": (lambda label: rng.choice("ABC")) for k in (1, 2, 10)}
    _mturk(columns, "Answer.adj_1")(tmp_path)
    found = quorate.read(tmp_path / "file.csv", fold="adj_*")
    rows = parsed(tmp_path / "file.csv")
    expected = {(row["HITId"], k, row["WorkerId"]) for row in rows for k in (1, 2, 10)}
    assert found.n_answers == len(expected)
    assert found.n_tasks == len({pair[:2] for pair in expected})
    with pytest.raises(QuorateError, match=r"adj_1 \(3 values\), adj_2 \(3 values\), adj_10 \(3 values\)"):
        quorate.read(tmp_path / "file.csv")


def test_a_folder_and_a_pattern_need_no_engine(tmp_path: Path, capsys: Any) -> None:
    expected = LAYOUTS["one file per judge, named inside"](tmp_path)
    named = ["--task", "item_id", "--worker", "judge_id", "--label", "verdict", "--json", "--method", "majority"]
    for source in (tmp_path, f"{tmp_path}/*.jsonl"):
        code, out, err = quorate_command(capsys, "aggregate", source, *named)
        assert code == 0, err
        assert json.loads(out)["answers"] == len(expected)


def test_giving_a_file_to_workers_names_available(tmp_path: Path, capsys: Any) -> None:
    LAYOUTS["usual names"](tmp_path)
    (tmp_path / "there.csv").write_text("worker\nw1\n")
    code, _, err = quorate_command(
        capsys, "advise", tmp_path / "file.csv", "--budget", 3, "--workers", tmp_path / "there.csv"
    )
    assert code == 0
    assert "--available" in err


def test_rows_of_unequal_length_are_not_padded_where_a_value_would_be_lost(tmp_path: Path) -> None:
    (tmp_path / "file.csv").write_text("HITId,WorkerId,Answer.a,Approve\n1,w,x\n2,w,y,z\n")
    with pytest.raises(quorate.errors.RaggedRowsError):
        quorate.read(tmp_path / "file.csv")


def test_answers_with_bars_between_them_are_several_labels(tmp_path: Path) -> None:
    rng = random.Random(0)
    boxes = ["x", "y", "x|y", "z", "y|z"]
    rows = [[f"h{k % 20}", f"w{k % 6}", "Approved", rng.choice(boxes)] for k in range(60)]
    (tmp_path / "file.csv").write_text(csv_text(["HITId", "WorkerId", "AssignmentStatus", "Answer.q"], rows))
    answers = quorate.read(tmp_path / "file.csv")
    assert answers.questions is not None
    assert answers.questions.label_names.to_pylist() == ["x", "y", "z"]


def test_doctor_examines_the_beginning_of_a_large_file_and_says_so(tmp_path: Path, monkeypatch: Any) -> None:
    from quorate.io import examine

    LAYOUTS["usual names"](tmp_path)
    monkeypatch.setattr(examine, "MAX_EXAMINED_BYTES", 500)
    monkeypatch.setattr(examine, "BEGINNING_BYTES", 400)
    found = examine.examine(str(tmp_path / "file.csv"))
    assert "Only the first" in found.sampled
    assert 0 < found.counts["answers"] < len(CROWD)


def test_formats_lists_every_tool_and_layout(capsys: Any) -> None:
    from quorate.io.exports.formats import FORMATS

    code, out, _ = quorate_command(capsys, "doctor", "--formats", "--json")
    assert code == 0
    listed = json.loads(out)
    assert set(listed["tools"]) == set(FORMATS)
    assert "wide" in listed["layouts"]


def test_messages_in_python_name_arguments_and_on_the_command_line_flags(tmp_path: Path) -> None:
    LAYOUTS["names with spaces"](tmp_path)
    with pytest.raises(QuorateError, match=r"Run: quorate\.read\('.*', task='Item ID'"):
        quorate.read(tmp_path / "file.csv")
    token = in_shell.set(True)
    try:
        with pytest.raises(QuorateError) as caught:
            quorate.read(tmp_path / "file.csv")
    finally:
        in_shell.reset(token)
    assert "Run:" not in str(caught.value)
    assert caught.value.commands[0].startswith("quorate aggregate ")


def test_the_end_of_a_path_names_a_nested_field(tmp_path: Path) -> None:
    rows = [{"id": t, "judge": w, "parsed": {"winner": x, "n": 3}} for t, w, x in sorted_rows(CROWD)]
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"run": 1, "rows": rows}, indent=1))
    answers = quorate.read(path, task="id", worker="judge", label="parsed.winner")
    assert (answers.n_tasks, answers.n_answers) == (len({task for task, _, _ in CROWD}), len(CROWD))
    assert quorate.read(path, label="parsed.winner").n_answers == len(CROWD)


def _warnings(labels: list[Any]) -> list[str]:
    from quorate.io.options import AS_USUAL
    from quorate.io.warnings import answer_warnings

    n = len(labels)
    table = {"task": [k // 3 for k in range(n)], "worker": [f"w{k % 3}" for k in range(n)], "label": labels}
    return answer_warnings(quorate.read(table), AS_USUAL)


def test_numbers_of_a_scale_are_no_free_text() -> None:
    (warning,) = _warnings([str(7 * k % 97) for k in range(90)])
    assert "numbers from 0 to 96" in warning
    assert "quorate rate --help" in warning
    (warning,) = _warnings([f"some words {k}" for k in range(90)])
    assert "free text" in warning


@pytest.mark.parametrize(
    ("classes", "is_pair"),
    [("A B", True), ("[[A]] [[B]] [[C]]", True), ("left right tie", True), ("A B C D", False), ("a b c", False)],
)
def test_only_two_sides_and_a_tie_look_like_pairs(classes: str, is_pair: bool) -> None:
    names = classes.split()
    rng = random.Random(0)
    warnings = _warnings([rng.choice(names) for _ in range(90)])
    assert any("quorate rank --help" in warning for warning in warnings) == is_pair


def test_a_column_with_a_very_long_name_is_read(tmp_path: Path) -> None:
    columns = {"ann": list("xyxy"), "bob": list("yyxy"), "[" * 100_000 + "cy": list("xxxy")}
    (tmp_path / "file.json").write_text(json.dumps({"ids": [1, 2, 3, 4], "by_judge": columns}))
    answers = quorate.read(tmp_path / "file.json", task="ids", workers="by_judge.*")
    assert (answers.n_tasks, answers.n_workers) == (4, 3)
    assert proposed_or_read(tmp_path / "file.json").answers.n_answers == 12


def german_rows() -> list[str]:
    """Three answers to each of 30 tasks, by four workers who mostly agree, under names that no list of names has."""
    lines = ["Kommentar-Nr;Kommentar;Wer;Urteil;Sek."]
    for task in range(30):
        for k, worker in enumerate(("Eva", "Bernd", "Carla", "Dieter")[task % 2 : task % 2 + 3]):
            differs = k == 2 and task % 3 == 0
            label = ("gut", "schlecht", "egal")[(task * 7 + differs) % 3]
            lines.append(f"K-{task:02};Text {task};{worker};{label};{task + k}")
    return lines


def test_columns_of_unknown_names_are_guessed_from_their_counts(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(german_rows()) + "\n")
    with pytest.raises(MissingColumnError, match="This is a guess") as caught:
        quorate.read(path)
    assert caught.value.proposal == {"task": "Kommentar-Nr", "worker": "Wer", "label": "Urteil"}
    answers = quorate.read(path, **caught.value.proposal)
    assert (answers.n_tasks, answers.n_workers, answers.n_classes) == (30, 4, 3)
    assert examine(path).outcome == "proposed"


def test_a_table_without_several_answers_per_task_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    rows = [line for k, line in enumerate(german_rows()) if k == 0 or k % 3 == 1]
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(QuorateError) as caught:
        quorate.read(path)
    assert "guess" not in str(caught.value)


def test_a_column_without_a_name_may_be_the_task(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"": f"x{k}", "rating": "ab"[k % 2], "bob": 1} for k in range(12)]))
    with pytest.raises(MissingColumnError) as caught:
        quorate.read(path)
    assert caught.value.proposal == {"task": "", "label": "rating", "worker_name": "mine"}


@pytest.mark.parametrize("label", ["a,b", "class_*"])
def test_columns_of_classes_without_a_task_are_refused(label: str, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_text("who,a,b,class_x,class_y\nann,1,0,1,0\nbob,0,1,1,0\ncem,1,0,0,1\n")
    with pytest.raises(MissingColumnError, match="has no column 'task'"):
        quorate.read(path, worker="who", label=label)


def nested(depth: int, name: str) -> Any:
    return {name: nested(depth - 1, name)} if depth else "end"


@pytest.mark.parametrize(("depth", "name"), [(40, "a"), (12, "One sentence. And another. And a third one.")])
def test_each_value_of_a_deep_document_is_in_one_column(depth: int, name: str) -> None:
    entry = {"worker": "ann", "label": "x", "more": nested(depth, name)}
    records = [{"id": 1, "answers": [entry]}, {"id": 2, "label": "x", "more": nested(depth, name)}]
    for document in ([records[0]], [records[1]]):
        columns = tabulate(document, "deep.json").columns
        assert sum("end" in str(values) for values in columns.values()) == 1


def test_the_longest_list_is_read_where_two_have_one_path() -> None:
    document = {"a.b": [{"task": k, "label": "x"} for k in range(3)], "a": {"b": [{"task": 9, "label": "y"}]}}
    assert tabulate(document, "deep.json").n_rows == 3


@pytest.mark.parametrize(
    "options",
    [{"fold": "", "worker": "id"}, {"task": "", "worker_name": "ann", "label": "a"}, {"label": ","}],
)
def test_an_option_that_names_no_column_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(MissingColumnError, match="has no column ''; it has 'id', 'a', 'b'"):
        quorate.read({"id": [1, 2], "a": ["x", "y"], "b": ["y", "y"]}, **options)
