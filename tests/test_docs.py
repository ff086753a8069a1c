"""What the documentation shows is what the program does."""

import re
from pathlib import Path
from typing import Any

import pytest

from quorate.cli import main
from quorate.methods import METHODS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCKS = [
    (page.relative_to(ROOT).as_posix(), number, block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(("page", "number", "block"), BLOCKS, ids=[f"{page}-{number}" for page, number, _ in BLOCKS])
def test_every_block_of_python_runs(page: str, number: int, block: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["simulate", "-o", "answers.csv", "--truth-out", "truth.csv", "--tasks", "200", "--workers", "12"])
    exec(compile(block, f"{page}:{number}", "exec"), {})


def output(capsys: Any, command: str) -> str:
    with pytest.raises(SystemExit):
        main(command.split()[1:])
    return str(capsys.readouterr().out)


def test_the_readme_shows_real_output(capsys: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Every command of the README runs, and what stands below it is what it prints."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, shown in re.findall(r"^\$ ([^\n#]*)[^\n]*\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            if command.startswith(("pip", "make test")) or (command.startswith("make demo") and not shown):
                continue
            printed = output(capsys, "quorate demo" if command.strip() == "make demo" else command.strip())
            if shown:
                assert [line.rstrip() for line in printed.splitlines()] == [
                    line.rstrip() for line in shown.splitlines()
                ]


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_method_has_a_page_that_names_its_paper() -> None:
    pages = {page.stem: page.read_text() for page in (ROOT / "docs" / "methods").glob("*.md")}
    shared = {"rank-one-centred": "quorate", "kos-svd": "kos", "m3v-svm": "m3v", "one-coin": "dawid-skene"}
    for name, method in METHODS.items():
        text = pages[shared.get(name, name)]
        assert f"`{name}`" in text, name
        year = re.findall(r"\d{4}", method.paper)
        assert not year or year[-1] in text, name


def test_every_citation_key_is_explained() -> None:
    known = set(re.findall(r"^\| \[(\w+)\]", (ROOT / "docs" / "references.md").read_text(), re.MULTILINE))
    cited = set()
    for path in [*(ROOT / "src").rglob("*.py"), *PAGES]:
        cited |= set(re.findall(r"\[([A-Z]\w+\d\d[a-z]?)(?:,[^\]]*)?\](?!\()", path.read_text()))
    assert cited <= known
