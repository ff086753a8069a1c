"""Run the ```console blocks of the documentation, and compare what they show with what the program prints.

    python tools/console.py            # rewrite what they show
    python tools/console.py --check    # name the pages that are out of date, and exit with 1
    python tools/console.py README.md  # only these pages

A page runs from its top to its end, in a folder of its own that has answers.csv and truth.csv (200 tasks, 12 workers)
and a copy of examples/.
A line of three dots stands for any lines; the column `seconds` may hold any figures; a long fraction counts to ten
places, for another processor adds in another order; a command below which nothing stands may print what it likes, but
must succeed. Besides `quorate` a block may use `head -N FILE`, also with `> FILE`,
`cat FILE`, and `cat > FILE << END` and `python << END` up to a line that says END. `pip` and `make` are not run, but
for `make demo`.
"""

import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser

ROOT = Path(__file__).parent.parent
STEP = re.compile(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
DOTS = "..."
LONG = re.compile(r"\d+\.\d{11,}(?:e-\d+)?")
CROWD = "simulate -o answers.csv --truth-out truth.csv --tasks 200 --workers 12"


@dataclass(frozen=True)
class Step:
    """One command of a block, and what stands below it."""

    command: str  # as it stands, comment and all
    below: str

    @property
    def words(self) -> list[str]:
        """The command in words, without its comment."""
        return shlex.split(self.command.replace("\\\n", " "), comments=True)

    @property
    def typed(self) -> str:
        """What the reader types below the command, up to END."""
        return self.below[: self.below.index("\nEND\n") + 1] if self.words[-2:] == ["<<", "END"] else ""

    @property
    def shown(self) -> list[str]:
        """The lines shown as the output of the command."""
        rest = self.below.split("\nEND\n", 1)[1] if self.typed else self.below
        return [line.rstrip() for line in rest.splitlines()]


def pages() -> list[Path]:
    """List every page that may have blocks."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def blocks(page: Path) -> list[Example]:
    """List the console blocks of a page; `parsed` is the text of each."""
    return list(Document.parse(str(page), CodeBlockParser("console", evaluate)).examples())


def steps(block: str) -> Iterator[Step]:
    """Yield the commands of a block in order."""
    yield from (Step(command, below) for command, below in STEP.findall(block))


def evaluate(example: Example) -> str | None:
    """Run the commands of a block in the current folder; return the first output that differs from the one shown.

    Sybil calls this function, and reports the text that it returns as a failure.
    """
    for step in steps(example.parsed):
        real = printed(step)
        if real is not None and step.shown and not agrees(step.shown, real):
            return f"$ {step.command}\n" + "\n".join(real)
    return None


def prepare() -> None:
    """Put what every page may use into the current folder: a simulated crowd and the example files."""
    with redirect_stdout(io.StringIO()):
        _quorate(CROWD.split())
    shutil.copytree(ROOT / "examples", "examples")


def printed(step: Step) -> list[str] | None:
    """Run a command in the current folder and return the lines it prints; None if it is one that is not run.

    Raises:
        RuntimeError: it fails, and the page does not show how.
    """
    words = step.words
    if words[:2] == ["make", "demo"] and step.shown:
        words = ["quorate", "demo"]
    if words[0] in ("pip", "make"):
        return None
    out = io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(out):
        if words[0] == "quorate":
            code = _quorate(words[1:])
        elif words[0] == "head":
            first = "".join(Path(words[2]).read_text().splitlines(keepends=True)[: int(words[1][1:])])
            (Path(words[4]).write_text if words[3:4] == [">"] else out.write)(first)
        elif words[0] == "cat" and words[1] == ">":
            Path(words[2]).write_text(step.typed)
        elif words[0] == "cat":
            out.write(Path(words[1]).read_text())
        elif words[:2] == ["python", "<<"]:
            exec(compile(step.typed, "typed", "exec"), {})
        else:
            raise RuntimeError(f"$ {step.command}: the documentation's runner knows no {words[0]!r}")
    if code and not step.shown:
        raise RuntimeError(f"$ {step.command}: exit code {code}: {out.getvalue()}")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def _quorate(arguments: list[str]) -> int:
    from quorate.cli.app import main

    try:
        main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def agrees(shown: list[str], real: list[str]) -> bool:
    """Whether the lines shown are the lines printed, dots, seconds and last digits allowed for.

    >>> agrees(["a", "...", "d"], ["a", "b", "c", "d"]), agrees(["a", "..."], ["b"])
    (True, False)
    >>> agrees(["x,0.583834421391915"], ["x,0.5838344213919232"]), agrees(["x,0.58383"], ["x,0.58384"])
    (True, False)
    """
    pattern = [".*" if line == DOTS else re.escape(line) + "\n" for line in _shortened(_untimed(shown))]
    text = "".join(line + "\n" for line in _shortened(_untimed(real)))
    return re.fullmatch("".join(pattern), text, re.DOTALL) is not None


def _shortened(lines: list[str]) -> list[str]:
    """Write fractions of more than ten places with ten."""
    return [LONG.sub(lambda found: f"{float(found[0]):.10f}", line) for line in lines]


def _untimed(lines: list[str]) -> list[str]:
    """Blank out the figures below a heading `seconds`."""
    out = []
    last = -1
    for line in lines:
        found = re.search(r" seconds\b", line)
        last = found.end() if found else last if line else -1
        out.append(line[: last - 8] + line[last:] if last > 0 and not found else line)
    return out


def up_to_date(step: Step) -> str:
    """Run a command and return what should stand below it."""
    real = printed(step)
    if real is None or not step.shown or agrees(step.shown, real):
        return step.below
    if DOTS in step.shown:
        first = step.shown.index(DOTS)
        after = len(step.shown) - step.shown.index(DOTS) - 1
        real = [*real[:first], DOTS, *real[len(real) - after :]]
    blank = "\n" if step.below.endswith("\n\n") else ""
    head = step.typed + "END\n" if step.typed else ""
    return head + "".join(f"{line}\n" for line in real) + blank


def rewritten(page: Path) -> str:
    """Run a page in a folder of its own, and return its text with what its commands print."""
    text = page.read_text()
    examples = blocks(page)
    if not examples:
        return text
    parts = []
    end = 0
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        prepare()
        for example in examples:
            start = text.index(example.parsed, example.start)
            parts.append(text[end:start])
            parts.append(STEP.sub(lambda m: f"$ {m[1]}\n{up_to_date(Step(m[1], m[2]))}", example.parsed))
            end = start + len(example.parsed)
    return "".join(parts) + text[end:]


def main() -> int:
    """Rewrite the pages that are out of date, or only name them."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    check = "--check" in sys.argv
    chosen = [Path(name).resolve() for name in sys.argv[1:] if not name.startswith("--")]
    stale = 0
    problems = 0
    for page in chosen or pages():
        text = page.read_text()
        try:
            wanted = rewritten(page)
        except (RuntimeError, OSError) as error:
            problems += 1
            sys.stdout.write(f"{page.relative_to(ROOT)}: {error}\n")
            continue
        if wanted != text:
            stale += 1
            sys.stdout.write(f"{page.relative_to(ROOT)} {'is out of date' if check else 'rewritten'}\n")
            if not check:
                page.write_text(wanted)
    return int(problems > 0 or (check and stale > 0))


if __name__ == "__main__":
    sys.exit(main())
