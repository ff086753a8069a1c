from pathlib import Path
from typing import Any

from quorate.io.options import JUDGES

SAMPLES = Path(__file__).parent / "exports" / "samples"


# Every sample asks three people which animal it is, in its own tool's words.
ANSWERS = {
    ("1", "ann", "cat"),
    ("1", "bob", "cat"),
    ("1", "cy", "dog"),
    ("2", "ann", "dog"),
    ("2", "bob", "dog"),
    ("3", "ann", "cat"),
    ("3", "cy", "cat"),
}


# sample -> its format, the question about the animal, every question, and what does not count
CASES: dict[str, tuple[str, str, tuple[str, ...], dict[str, int]]] = {
    "labelstudio.json": (
        "labelstudio",
        "animal",
        ("animal", "clarity"),
        {"cancelled": 1, "empty answers": 1, "tasks without answers": 1},
    ),
    "labelstudio_min.json": ("labelstudio", "animal", ("animal", "clarity"), {"empty answers": 1}),
    "labelstudio.csv": ("labelstudio", "animal", ("animal",), {"cancelled": 1, "empty answers": 1}),
    "argilla.json": (
        "argilla",
        "animal",
        ("animal", "clarity"),
        {"answers to another question": 2, "empty answers": 1, "tasks without answers": 1},
    ),
    "argilla_flat.json": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1, "tasks without answers": 1}),
    "argilla_server.jsonl": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1}),
    "mturk.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "empty answers": 1}),
    "mturk_options.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "empty answers": 1}),
    "mturk_form.csv": ("mturk", "animal.label", ("animal.label",), {"rejected": 1, "empty answers": 1}),
    "toloka.tsv": ("toloka", "animal", ("animal",), {"rejected": 1, "expired": 1}),
    "figure8.csv": ("figure8", "animal", ("animal",), {"tainted": 1, "empty answers": 1}),
    "zooniverse.csv": ("zooniverse", "animal", ("animal",), {"empty answers": 1}),
    "prodigy_choice.jsonl": ("prodigy", "choice", ("choice",), {"rejected tasks": 1, "ignored tasks": 1}),
    "prodigy_binary.jsonl": ("prodigy", "CAT", ("CAT", "LOUD"), {"ignored tasks": 1, "answers to another question": 2}),
    "crowdkit.tsv": ("crowdkit", "label", ("label",), {}),
    "cleanlab.csv": ("cleanlab", "label", ("label",), {"empty cells": 5, "tasks without answers": 1}),
    "inspect.json": ("inspect", "model_graded_qa", ("model_graded_qa",), {}),
    "inspect.eval": ("inspect", "model_graded_qa", ("model_graded_qa",), {}),
    "promptfoo.json": ("promptfoo", "llm-rubric", ("llm-rubric",), {}),
    "promptfoo.jsonl": ("promptfoo", "llm-rubric", ("llm-rubric",), {}),
    "lm-eval.jsonl": ("lm-eval", "grade", ("grade",), {}),
    "deepeval.json": ("deepeval", "Good [GEval]", ("Good [GEval]",), {}),
    "mlflow.jsonl": ("mlflow", "good", ("good",), {}),
    "langfuse.json": ("langfuse", "quality", ("quality",), {}),
    "langfuse_blob.csv": ("langfuse", "quality", ("quality",), {}),
    "phoenix.json": ("phoenix", "quality", ("quality",), {}),
    "phoenix.csv": ("phoenix", "quality", ("quality",), {}),
    "openai.jsonl": ("openai", "verdict", ("verdict",), {}),
}
# Logs of judges, in all of which two replies hold no verdict: bob's on the third output, cy's on the second.
JUDGED = [sample for sample, (tool, *_) in CASES.items() if tool in JUDGES]


# The binary sample asks: is it a cat? Judges were asked whether an output is good, and the good ones are cats.
CATS, DOGS = ("accept", "C", "pass", "good", "true"), ("reject", "I", "fail", "bad", "false")
BINARY = {**dict.fromkeys(CATS, "cat"), **dict.fromkeys(DOGS, "dog")}
COUNTED_FROM_NOUGHT = ("promptfoo", "lm-eval")


def place(export: Any, task: str) -> str:
    """Which of the three tasks it is, however a tool names them."""
    return str(int(task) + 1) if export.tool in COUNTED_FROM_NOUGHT else task.rpartition("-")[2]


def rows(export: Any) -> list[tuple[str, str, str]]:
    """The rows of an export, its own words put into those of the others."""
    return [
        (
            place(export, row["task"]),
            row["worker"].rpartition("/")[2],
            BINARY.get(row["label"], row["label"]),
        )
        for row in export.table.to_pylist()
    ]
