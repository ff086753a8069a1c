"""A case -> how it ended: "read", "refused", or what was bad about it."""

import io
import json
import re
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import quorate.cli.app
from quorate.errors import MAX_MESSAGE, UNSHOWN, QuorateError
from quorate.io.exports.content import Content, look
from tests.fuzz.judge_logs import verdicts_in
from tests.fuzz.targets import Case

SECONDS = 20.0  # of CPU that no case of a few kilobytes may take
MEMORY_FILES = Path("/dev/shm")  # files that are gone in a moment need no disk

HINTS = ("Run: quorate ", "Or:  quorate ", "To see what the file holds: quorate doctor ")


def end_of(case: Case) -> str:
    r"""Run a case in this process.

    >>> end_of(Case(["aggregate", "{a.csv}"], {"a.csv": b"task,worker,label\n1,a,x\n"}))
    'read'
    >>> end_of(Case(["aggregate", "{a.csv}"], {"a.csv": b""}))
    'refused'
    """
    place = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        return _end_in(case, Path(folder))


def _end_in(case: Case, folder: Path) -> str:
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    arguments = [re.sub(r"^\{(.+)\}$", lambda found: str(folder / found[1]), each) for each in case.arguments]
    began = time.process_time()
    code, out, err, raised = _run(arguments, case.stdin)
    if raised:
        return raised
    if time.process_time() - began > SECONDS:
        return f"slow: {time.process_time() - began:.0f} s"
    return (
        _fault_of_files(case, folder, code)
        or _fault_of_messages(0 if code == 3 and case.arguments[0] in ("rank", "rate") else code, err)
        or (_fault_of_json(case, folder, out) if code == 0 else "")
        or ("refused" if code == 2 else "read")
    )


def _run(arguments: list[str], stdin: bytes | None) -> tuple[int, str, str, str]:
    """Run the command line: its code, output and messages, and what it raised if it should not have."""
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin or b""))
    sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    code, raised = 0, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quorate.cli.app.main(arguments)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f"{Path(frame.filename).name}:{frame.name}" for frame in frames if "quorate" in frame.filename][-2:]
        raised = f"{type(error).__name__} in {' > '.join(ours)}: {str(error)[:200]}"
    texts = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", errors="replace"))
    sys.stdin, sys.stdout, sys.stderr = before
    return code, texts[0], texts[1], raised


def _fault_of_files(case: Case, folder: Path, code: int) -> str:
    there = {path.name for path in folder.iterdir()}
    if code == 0 and not set(case.outputs) <= there:
        return f"no output: {sorted(set(case.outputs) - there)}"
    if code != 0 and there & set(case.outputs):
        return f"output left: {sorted(there & set(case.outputs))}"
    if strays := there - set(case.outputs) - set(case.files):
        return f"stray files: {sorted(strays)}"
    # A ledger of 0.2, which is one file, becomes a folder when something is added.
    changed = [
        name for name, data in case.files.items() if (folder / name).is_dir() or (folder / name).read_bytes() != data
    ]
    return f"input changed: {changed}" if changed and not (code == 0 and case.arguments[0] == "ledger") else ""


def _fault_of_messages(code: int, err: str) -> str:
    lines = err.splitlines()
    while code == 2 and lines and lines[-1].startswith(HINTS):  # the commands that a refusal proposes
        lines.pop()
    if code not in (0, 2):
        return f"exit code: {code}"
    if code == 2 and not (lines and lines[-1].startswith("quorate: ")):
        return f"no message: {err[:200]}"
    if any(len(line) > MAX_MESSAGE + 100 for line in lines):
        return f"long message: {max(map(len, lines))}"
    return "unshown characters: " + err[:200] if UNSHOWN.search(err.replace("\n", "")) else ""


def _fault_of_json(case: Case, folder: Path, out: str) -> str:
    if "--json" not in case.arguments:
        return ""
    try:
        report = json.loads(out)
    except ValueError:
        return f"no JSON: {out[:100]}"
    return _fault_of_account(report, case, folder) if case.arguments[0] == "convert" else ""


def _fault_of_account(report: Mapping[str, Any], case: Case, folder: Path) -> str:
    """Everything in an export is used or counted as left out."""
    (name,) = case.files
    try:
        content = look(folder / name)
        held = _held(content, report)
    except QuorateError:
        return ""
    left_out = dict(report["left_out"])
    known = report["known"]
    if report["format"] == "toloka":  # a known label stands in a row beside the answer
        known = 0
        left_out.pop("known labels of tasks without answers", None)
    n_accounted = report["answers"] + known + report.get("abstained", 0) + sum(left_out.values())
    return "" if n_accounted == held else f"not all accounted for: {n_accounted} of {held}"


def _held(content: Content, report: Mapping[str, Any]) -> int:
    """Count by hand what there is to account for."""
    tool, records = report["format"], content.records
    if tool == "labelstudio" and "annotator" not in content.fields:
        parts = [[*(task.get("annotations") or []), *(task.get("completions") or [])] for task in records]
        return sum(len(each) or 1 for each in parts)  # a task without any counts too
    if tool == "argilla":
        return sum(_responses(record, report["question"]) for record in records)
    if tool == "cleanlab":
        columns = len(content.fields) - any(
            note.startswith("Read as one row per task: ids in") for note in report["notes"]
        )
        return len(records) * columns + int(report["left_out"].get("tasks without answers", 0))
    verdicts = verdicts_in(tool, records)
    return len(records) if verdicts is None else verdicts


def _responses(record: Mapping[str, Any], question: str) -> int:
    given = record.get("responses")
    asked: list[str] = []
    if isinstance(given, Mapping):
        asked += [name for name, each in given.items() for _ in each or []]
    elif given:
        asked += [name for each in given for name in (each.get("values") or {"": None})]
    for name in record:
        if isinstance(name, str) and name.endswith(".responses") and f"{name}.users" in record:
            asked += [name.removesuffix(".responses")] * len(record[name] or [])
    return len(asked) + (not any(each in (question, "") for each in asked))
