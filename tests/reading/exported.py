from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "formats" / "samples"


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
        {"cancelled": 1, "without an answer": 1, "never answered": 1},
    ),
    "labelstudio_min.json": ("labelstudio", "animal", ("animal", "clarity"), {"without an answer": 1}),
    "labelstudio.csv": ("labelstudio", "animal", ("animal",), {"cancelled": 1, "without an answer": 1}),
    "argilla.json": (
        "argilla",
        "animal",
        ("animal", "clarity"),
        {"to another question": 2, "without an answer": 1, "never answered": 1},
    ),
    "argilla_flat.json": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1, "never answered": 1}),
    "argilla_server.jsonl": ("argilla", "animal", ("animal",), {"draft": 1, "discarded": 1}),
    "mturk.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "without an answer": 1}),
    "mturk_options.csv": ("mturk", "animal", ("animal",), {"rejected": 1, "without an answer": 1}),
    "mturk_form.csv": ("mturk", "animal.label", ("animal.label",), {"rejected": 1, "without an answer": 1}),
    "toloka.tsv": ("toloka", "animal", ("animal",), {"rejected": 1, "expired": 1}),
    "prodigy_choice.jsonl": ("prodigy", "choice", ("choice",), {"rejected": 1, "ignored": 1}),
    "prodigy_binary.jsonl": ("prodigy", "CAT", ("CAT", "LOUD"), {"ignored": 1, "to another question": 2}),
    "crowdkit.tsv": ("crowdkit", "label", ("label",), {}),
    "cleanlab.csv": ("cleanlab", "label", ("label",), {"blank": 5, "never answered": 1}),
}


BINARY = {"accept": "cat", "reject": "dog"}  # the binary sample asks: is it a cat?


def rows(export: Any) -> list[tuple[str, str, str]]:
    return [(row["task"], row["worker"], BINARY.get(row["label"], row["label"])) for row in export.table.to_pylist()]
