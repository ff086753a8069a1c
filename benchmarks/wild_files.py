"""Run `quorate aggregate` and `quorate doctor` without options on a folder of real files; print outcomes by layout.

``python -m benchmarks.wild_files FOLDER`` reads ``FOLDER/expected.tsv``. It has a line for each sensible question of a
file (or of several files, separated by " ; ") with the numbers of tasks, workers and answers, counted independently,
and the expected outcome: ``read``, ``propose`` a command, or ``refuse``, with ``|`` between alternatives. Without that
file, the table shows what happened, and no outcome is wrong. The files themselves are not in this repository.

The outcome of a file is

- read at once: the command without options ends with 0, and the counts are those of a line that may be read;
- read after the command: the command ends with an error that proposes a command, which gives such counts;
- refused, true reason: no line may be read, and the message names the reason by one of the words below;
- wrong: any other outcome; these files are listed below the table with the output.
"""

import argparse
import contextlib
import csv
import io
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

COUNTS = ("tasks", "workers", "answers")
OUTCOMES = ("read at once", "read after the command", "refused, true reason", "wrong")
# A message must have one of these words; the keys are the kinds of content in expected.tsv.
REASONS = {
    "gold": ("true labels", "known labels", "gold"),
    "aggregated": ("aggregated",),
    "single": ("one judge", "one worker", "single", "one annotator", "nothing to combine", "unfinished"),
    "part": ("one worker",),
    "ratings": ("numeric",),
    "pairwise": ("pairs", "rank", "position swap"),
    "multi-label": ("several",),
    "not answers": (
        "span", "box", "free text", "drawn", "mark", "no answers", "no samples", "no score", "unfinished", "no column",
        "test report", "one judge", "rules", "nothing was graded", "polygon", "shape",
    ),
}  # fmt: skip


@dataclass
class Line:
    """One line of expected.tsv: one question of a file."""

    kind: str
    tasks: int | None
    workers: int | None
    answers: int | None
    conflicts: int
    outcomes: tuple[str, ...]
    note: str


@dataclass
class Run:
    """Exit code and output of a command."""

    code: int
    out: str
    error: str

    @property
    def counts(self) -> tuple[int, int, int] | None:
        """Numbers of tasks, workers and answers; None if the command printed no result."""
        try:
            found = json.loads(self.out)
            if "n_tasks" in found:  # quorate rate
                return found["n_tasks"], found["n_workers"], found["n_answers"]
            return found["tasks"], found["workers"], found["answers"]
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def proposed(self) -> str:
        """The first command that the message proposes."""
        lines = [line.removeprefix("Run: ") for line in self.error.splitlines() if line.startswith("Run: ")]
        return lines[0] if lines else ""


@dataclass
class Verdict:
    """The outcome of one file, or of several that belong together."""

    files: tuple[str, ...]
    outcome: str
    message: str
    counts: tuple[int, int, int] | None = None
    lines: list[Line] = field(default_factory=list)


def run(arguments: Sequence[str]) -> Run:
    """Run the command line in this process, and return exit code and output."""
    from quorate.cli.app import main

    out = io.StringIO()
    error = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            main(list(arguments))
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return Run(code, out.getvalue(), error.getvalue())


def read_expected(folder: Path) -> dict[tuple[str, ...], list[Line]]:
    """Return the lines of expected.tsv by file or group of files."""
    path = folder / "expected.tsv"
    found: dict[tuple[str, ...], list[Line]] = {}
    if not path.exists():
        return found
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE):
            files = tuple(row["file"].split(" ; "))
            tasks, workers, answers = (int(row[name]) if row[name] else None for name in COUNTS)
            line = Line(
                row["kind"],
                tasks,
                workers,
                answers,
                int(row["conflicts"] or 0),
                tuple(row["outcome"].split("|")),
                row["note"] or "",
            )
            found.setdefault(files, []).append(line)
    return found


def fits(line: Line, counts: tuple[int, int, int], error: str) -> bool:
    """Whether counts are those of a line; conflicting answers may count once, and notes may allow other counts."""
    tasks, workers, answers = counts
    if line.answers is None or not {"read", "propose"} & set(line.outcomes):
        return False
    plain = (tasks, workers) == (line.tasks, line.workers)
    if plain and answers in (line.answers, line.answers - line.conflicts):
        return True
    if plain and f"{answers} records" in line.note:  # repeats count in a mean
        return True
    # Alternative counts in the note, for example "without them 309 tasks, 138 workers, 607 answers".
    stated = all(f"{number} {noun}" in line.note for number, noun in ((workers, "workers"), (answers, "answers")))
    many = f"{workers} workers, {answers} answers" in line.note
    return (stated or many) and ("tasks" not in line.note or f"{tasks} tasks" in line.note or tasks == line.tasks)


def is_sum(lines: list[Line], counts: tuple[int, int, int]) -> bool:
    """Whether all questions of a file were read together, with one task per task and question."""
    workers = {line.workers for line in lines}
    sums = sum(line.tasks or 0 for line in lines), sum(line.answers or 0 for line in lines)
    return len(lines) > 1 and workers == {counts[1]} and sums == (counts[0], counts[2])


def judge(folder: Path, files: tuple[str, ...], lines: list[Line]) -> Verdict:
    """Run the command without options on files, then the command that it proposes, and return the outcome."""
    paths = [str(folder / name) for name in files]
    first = run(["aggregate", *paths, "--json"])
    readable = [line for line in lines if {"read", "propose"} & set(line.outcomes)]
    if first.code == 0:
        return _judge_counts(files, lines, first, "read at once")
    if first.proposed:
        second = run([*shlex.split(first.proposed)[1:], "--json"])
        is_ranked = shlex.split(first.proposed)[1] == "rank" and any("pairwise" in line.kind for line in lines)
        if second.code in (0, 3) and is_ranked:  # 3: the comparisons do not determine a ranking
            return Verdict(files, "read after the command", second.error, None, lines)
        if second.code == 0:
            return _judge_counts(files, lines, second, "read after the command")
        return Verdict(files, "wrong", f"the proposed command fails: {second.error}", None, lines)
    kinds = {part for line in lines for part in line.kind.split("|")}
    is_true = any(word in first.error.lower() for kind in kinds for word in REASONS.get(kind, ()))
    may_refuse = not lines or not any("categorical" in line.kind for line in readable)
    outcome = "refused, true reason" if (is_true and may_refuse) or not lines else "wrong"
    return Verdict(files, outcome, first.error, None, lines)


def _judge_counts(files: tuple[str, ...], lines: list[Line], done: Run, outcome: str) -> Verdict:
    counts = done.counts
    if counts is None:
        return Verdict(files, "wrong", f"no counts in {done.out[:200]}", None, lines)
    # The answers of one judge and one person may be read with the person's labels as known labels.
    wanted = [line for line in lines if "categorical" in line.kind or "propose" in line.outcomes] or lines
    right = not lines or any(fits(line, counts, done.error) for line in wanted) or is_sum(lines, counts)
    return Verdict(files, outcome if right else "wrong", done.error, counts, lines)


def main() -> None:
    """Print the table, and the files with a wrong outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="layouts that begin so")
    parser.add_argument("--verbose", action="store_true", help="print the message about every file")
    parser.add_argument("--no-doctor", action="store_true", help="leave out quorate doctor")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    expected = read_expected(folder)
    files = sorted(str(path.relative_to(folder)) for path in folder.glob("*/*") if path.is_file())
    groups = dict.fromkeys([(name,) for name in files]) | dict.fromkeys(group for group in expected if len(group) > 1)
    table: dict[str, Counter[str]] = {}
    wrong: list[Verdict] = []
    for group in groups:
        layout = group[0].partition("/")[0] + (" (several)" if len(group) > 1 else "")
        if not layout.startswith(arguments.only):
            continue
        verdict = judge(folder, group, expected.get(group, []))
        if not arguments.no_doctor:
            seen = run(["doctor", *(str(folder / name) for name in group)])
            if seen.code != 0:
                verdict = Verdict(group, "wrong", f"doctor ends with {seen.code}: {seen.error}", None, verdict.lines)
        table.setdefault(layout, Counter())[verdict.outcome] += 1
        if verdict.outcome == "wrong":
            wrong.append(verdict)
        if arguments.verbose:
            print(f"{verdict.outcome}: {' '.join(group)} {verdict.counts or ''}\n  {verdict.message.strip()[:700]}\n")
    width = max(map(len, table), default=10)
    print(f"{'layout'.ljust(width)}  " + "  ".join(OUTCOMES))
    for layout, counts in table.items():
        print(f"{layout.ljust(width)}  " + "  ".join(str(counts[each]).rjust(len(each)) for each in OUTCOMES))
    total = sum(table.values(), Counter[str]())
    print(f"{'all'.ljust(width)}  " + "  ".join(str(total[each]).rjust(len(each)) for each in OUTCOMES))
    for verdict in wrong:
        print(f"\nwrong: {' '.join(verdict.files)} {verdict.counts or ''}\n  {verdict.message.strip()[:600]}")
        for line in verdict.lines[:4]:
            print(f"  expected {line.kind}: {line.tasks}, {line.workers}, {line.answers}; {'|'.join(line.outcomes)}")


if __name__ == "__main__":
    main()
