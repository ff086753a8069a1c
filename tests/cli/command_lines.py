"""Command lines that are written from the signatures of the commands: one parameter has a value, the rest is usual."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import quorate
from quorate.cli.app import app

CROWD = quorate.simulate.crowd(40, 6, 3, seed=3)
TASKS = CROWD.answers.task_names.to_pylist()
TRUTH = {row["task"]: row["label"] for row in CROWD.truth_table.to_pylist()}
CLASSES = CROWD.answers.classes.to_pylist()
WORKERS = CROWD.answers.worker_names.to_pylist()


def table(header: str, rows: Any) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


ROWS = [tuple(row.values()) for row in CROWD.answers.to_table().to_pylist()]
ANSWERS = table("task,worker,label,time", [(*row, number) for number, row in enumerate(ROWS)])
LABELS = table("task,label", TRUTH.items())
EXPORT = json.dumps(
    [
        {
            "id": number,
            "data": {"text": task},
            "annotations": [
                {
                    "id": 10 * number + k,
                    "completed_by": k,
                    "result": [{"type": "choices", "from_name": "q", "value": {"choices": [CLASSES[k % 2]]}}],
                }
                for k in range(3)
            ],
        }
        for number, task in enumerate(TASKS[:5])
    ]
)
PAIRS = table(
    "left,right,winner,judge",
    [("a", "b", "left", "j"), ("b", "c", "left", "k"), ("c", "a", "left", "j"), ("a", "c", "left", "k")] * 3,
)
SCORES = table(
    "task,worker,score", [(task, worker, 1 + (len(task + worker) + k) % 5) for k, (task, worker, _) in enumerate(ROWS)]
)
KNOWN_SCORES = table("task,score", [(task, 1 + number % 5) for number, task in enumerate(TASKS[:30])])
EXPORT_LABELS = table("task,label", enumerate(["c0"] * 5))
# What each input of that name holds; options that are needed beside it.
CONTENT = {
    "file": ANSWERS,
    "files": ANSWERS,
    "source": ANSWERS,
    "answers": ANSWERS,
    "gold": table("task,label", list(TRUTH.items())[:30]),
    "truth": LABELS,
    "labels": LABELS,
    "predictions": table("task,c0,c1", [(task, 0.9, 0.1) for task in TASKS]),
    "tasks": table("task,part", [(task, f"p{number % 2}") for number, task in enumerate(TASKS)]),
    "available": table("worker,cost", [(worker, 2) for worker in WORKERS]),
    "costs": table("said,true,cost", [("c0", "c1", 5), ("c1", "c0", 1)]),
    "known_workers": table("worker,skill,skill_low,skill_high", [(worker, 0.5, 0.2, 0.8) for worker in WORKERS]),
    "skills": table("worker,skill,skill_low,skill_high", [(worker, 0.5, 0.2, 0.8) for worker in WORKERS]),
    "map": table("answer,class", [("c0", "no"), ("c1", "yes")]),
    "config": 'min-answers = 1\nfail-on = "any"\n',
}
ALSO: dict[Any, list[str]] = {
    "advise": ["--budget", "5", "--json"],
    "aggregate": ["--json"],
    "check": ["--min-answers", "1"],
    "compare": ["--methods", "majority,quorate", "--json"],
    "report": ["--compare", ""],
    ("estimate", "tasks"): ["--by", "part"],
    ("convert", "labels"): ["--to", "labelstudio", "-o", "-"],
}


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, by the words that call it."""

    def walk(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
        for name, each in getattr(command, "commands", {}).items():
            yield from walk(each, (*path, name))
        if not hasattr(command, "commands"):
            yield path, command

    return walk(typer.main.get_command(app), ())


def text_parameters() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every parameter of every command that takes text, as the name of a file or of a method."""
    for path, command in commands():
        for each in command.params:
            if str(each.type).lower().startswith("str"):
                yield path, each


def is_output(parameter: Any) -> bool:
    return bool(
        parameter.name.endswith(("output", "_out")) or parameter.name in ("junit", "summary", "tables", "report")
    )


def arguments(path: tuple[str, ...], folder: Path, parameter: Any, value: str) -> list[str]:
    """Write a command line on which one parameter is ``value`` and the others that it needs are files."""
    files = {}
    for name, content in CONTENT.items():
        files[name] = folder / name
        files[name].write_text(content)
    if path[0] == "convert":
        files["file"].write_text(EXPORT)
        files["labels"].write_text(EXPORT_LABELS)
    if path[0] == "rank":
        files["file"].write_text(PAIRS)
        files["gold"].write_text(PAIRS)
    if path[0] == "rate":
        files["file"].write_text(SCORES)
        files["gold"].write_text(KNOWN_SCORES)
    if path in (("ledger", "show"), ("ledger", "aggregate")):
        files["ledger"] = folder / "answers.ledger"
        book = quorate.Ledger()
        book.add(folder / "answers")
        book.save(files["ledger"])
    words: list[str] = []
    options = [*ALSO.get(path[0], []), *ALSO.get((path[0], parameter.name), [])]
    for each in dict(commands())[path].params:
        given = str(files.get(each.name, folder / f"{each.name}.out"))
        if str(each.type).lower().startswith("int"):
            given = "3"
        if each.name == parameter.name:
            given = value
        if each.param_type_name == "argument":
            words.append(given)
        elif each.name == parameter.name or each.required or (path[0] == "report" and each.name == "output"):
            options += [each.opts[0], given]
    return [*path, *words, *options]
