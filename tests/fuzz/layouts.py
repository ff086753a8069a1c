"""Tables of other layouts than one row per answer, for `make fuzz`: each with the options under which it is read."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

ANSWERS = [(t, w, "xyz"[(t * k + k) % 3]) for t in range(8) for k, w in enumerate(("ann", "bob", "cy é"))]
GIVEN = {t: {w: label for task, w, label in ANSWERS if task == t} for t in range(8)}


def _csv(rows: list[list[Any]], delimiter: str = ",") -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _lines(records: list[Any]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def _workbook() -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Item ID", "Annotator", "Answer"])
    for row in ANSWERS:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


# layout -> file name, its bytes, and the options that read it
Layout = tuple[str, Callable[[], bytes], list[str]]
LAYOUTS: dict[str, Layout] = {
    "names": ("a.csv", lambda: _csv([["Item ID", "Annotator", "Mood", "Seconds"], *([*r, 3] for r in ANSWERS)]), []),
    "semicolon": ("a.csv", lambda: _csv([["item", "rater", "label"], *map(list, ANSWERS)], ";"), []),
    "headerless": ("a.csv", lambda: _csv([[t, k % 3, k % 2] for k, (t, _, _) in enumerate(ANSWERS)]), []),
    "matrix": (
        "a.csv",
        lambda: _csv([["" if k == t % 3 else (t + k) % 2 for k in range(4)] for t in range(9)]),
        ["--columns", "none", "--workers", "*"],
    ),
    "wide": (
        "a.csv",
        lambda: _csv(
            [["item", *(f"judge_{w}" for w in GIVEN[0])], *([t, *given.values()] for t, given in GIVEN.items())]
        ),
        ["--task", "item", "--workers", "judge_*"],
    ),
    "composite": (
        "a.csv",
        lambda: _csv([["page", "sound", "ann", "annotation"], *([t, k, w, x] for t, w, x in ANSWERS for k in "pq")]),
        ["--task", "page,sound", "--worker", "ann", "--label", "annotation"],
    ),
    "votes": (
        "a.csv",
        lambda: _csv([["id", "votes_x", "votes_y"], *([t, t % 3, 3 - t % 3] for t in range(9))]),
        ["--task", "id", "--label", "votes_*"],
    ),
    "fold": (
        "a.csv",
        lambda: _csv([["item", "worker", "q_1", "q_2"], *([t, w, x, "x"] for t, w, x in ANSWERS)]),
        ["--task", "item", "--fold", "q_*"],
    ),
    "lists": (
        "a.csv",
        lambda: _csv(
            [["id", "annotators", "annotations"], *([t, list(g), list(g.values())] for t, g in GIVEN.items())]
        ),
        ["--task", "id", "--worker", "annotators", "--label", "annotations"],
    ),
    "list": ("a.json", lambda: json.dumps([{"item": t, "judge": w, "verdict": x} for t, w, x in ANSWERS]).encode(), []),
    "nested": (
        "a.json",
        lambda: json.dumps(
            {"run": 1, "rows": [{"i": t, "votes": [{"judge": w, "label": x}]} for t, w, x in ANSWERS]}
        ).encode(),
        ["--task", "rows.i", "--worker", "rows.votes.judge", "--label", "rows.votes.label"],
    ),
    "by id": (
        "a.json",
        lambda: json.dumps(
            {t: {"annotators": ",".join(g), "annotations": ",".join(g.values())} for t, g in GIVEN.items()}
        ).encode(),
        [],
    ),
    "columns": (
        "a.json",
        lambda: json.dumps(
            {"ids": list(GIVEN), "by_judge": {w: [g[w] for g in GIVEN.values()] for w in GIVEN[0]}}
        ).encode(),
        ["--task", "ids", "--workers", "by_judge.*"],
    ),
    "mapping": ("a.json", lambda: json.dumps({w: {t: g[w] for t, g in GIVEN.items()} for w in GIVEN[0]}).encode(), []),
    "positions": (
        "a.jsonl",
        lambda: _lines([{"id": t, "labels": list(g.values())} for t, g in GIVEN.items()]),
        ["--task", "id", "--workers", "labels"],
    ),
    "one judge": (
        "a.jsonl",
        lambda: _lines([{"item_id": t, "verdict": x} for t, w, x in ANSWERS if w == "ann"]),
        ["--task", "item_id", "--label", "verdict", "--worker-name", "ann"],
    ),
    "yaml": (
        "a.yaml",
        lambda: "\n".join(f"{w}: {{{', '.join(f'{t}: {g[w]}' for t, g in GIVEN.items())}}}" for w in GIVEN[0]).encode(),
        [],
    ),
    "excel": ("a.xlsx", _workbook, []),
}


# Pairwise comparisons, as file name and bytes: one row each, one judge a column, counts, rankings, scores.
_PAIRS = [("abc"[k % 3], "abc"[(k + 1) % 3], f"judge {k % 2}", f"q{k % 7}") for k in range(24)]
COMPARISONS: dict[str, tuple[str, bytes]] = {
    "winner": (
        "a.csv",
        _csv(
            [
                ["left", "right", "winner", "judge", "task"],
                *([a, b, ("left", "right", "tie")[k % 3], j, q] for k, (a, b, j, q) in enumerate(_PAIRS)),
            ]
        ),
    ),
    "records": (
        "a.jsonl",
        _lines([{"model_a": a, "model_b": b, "winner": a, "judge": j} for a, b, j, _ in _PAIRS]),
    ),
    "wide": (
        "a.csv",
        _csv([["model_a", "model_b", "winner_1", "winner_2"], *([a, b, "a", "b"] for a, b, _, _ in _PAIRS)]),
    ),
    "chosen": ("a.csv", _csv([["chosen", "rejected"], *([a, b] for a, b, _, _ in _PAIRS)])),
    "counts": ("a.csv", _csv([["a", "b", "a_wins", "b_wins", "ties"], ["x", "y", 3, 2, 1], ["y", "z", 4, 0, 2]])),
    "rankings": (
        "a.csv",
        _csv([["item1", "item2", "item3", "rank1", "rank2", "rank3"], *(["x", "y", "z", 1, 2, 3] for _ in range(9))]),
    ),
    "scores": (
        "a.csv",
        _csv([["model_a", "model_b", "score_a", "score_b"], *([a, b, len(q), 1.5] for a, b, _, q in _PAIRS)]),
    ),
}
SCORES = _csv([["task", "worker", "score"], *([t, w, (t * 7 + len(w)) % 10 / 2] for t, w, _ in ANSWERS)])
