"""The documentation shows what the program does, and the site is complete."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser

import quorate
from quorate.methods.registry import METHODS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REPOSITORY = "https://github.com/quorate/quorate/blob/main"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
PYTHON_BLOCKS = [
    example
    for page in PAGES
    for example in Document.parse(str(page), CodeBlockParser("python", PythonEvaluator())).examples()
]


def tool(name: str) -> ModuleType:
    """A script of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


console = tool("console")
reference = tool("reference")
site_tool = tool("site")
CONSOLE_BLOCKS = {name: examples for name, page in zip(NAMES, PAGES, strict=True) if (examples := console.blocks(page))}


# --- examples ---


def name_of(example: Example) -> str:
    """The page and line of an example."""
    return f"{Path(example.path).relative_to(ROOT).as_posix()}:{example.line}"


@pytest.mark.parametrize("example", PYTHON_BLOCKS, ids=name_of)
def test_every_block_of_python_runs_alone(example: Example, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    console.prepare()
    example.namespace.clear()
    example.evaluate()


@pytest.mark.parametrize("name", CONSOLE_BLOCKS)
def test_every_console_block_shows_real_output(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Every command of a page runs, and the output shown is what it prints; `python tools/console.py` updates it."""
    monkeypatch.chdir(tmp_path)
    console.prepare()
    for example in CONSOLE_BLOCKS[name]:
        example.evaluate()


def test_the_table_of_the_readme_shows_the_result_of_its_example(monkeypatch: Any) -> None:
    monkeypatch.chdir(ROOT)
    result = quorate.aggregate("examples/reviews.csv")
    ratings = dict(zip(result.workers["worker"].to_pylist(), quorate.worker_ratings(result), strict=True))
    expected = [
        f"{task['task']} | {task['label']} | {task['confidence']:.0%} | | "
        f"{worker['worker']} | {worker['right']:.0%} | {worker['right_low']:.0%} to {worker['right_high']:.0%} | "
        f"{worker['n_answers']} | {ratings[worker['worker']]}"
        for task, worker in zip(
            result.labels.to_pylist(),
            sorted(result.workers.to_pylist(), key=lambda row: -row["right"]),
            strict=False,  # 200 tasks, 6 workers
        )
    ]
    assert re.findall(r"^\| (review-\d+ .*) \|$", (ROOT / "README.md").read_text(), re.MULTILINE) == expected


def test_the_comparison_allows_for_dots_and_seconds_and_for_nothing_else() -> None:
    shown = ["method  error  seconds  failed", "er       0.50     0.01"]
    assert console.agrees(shown, ["method  error  seconds  failed", "er       0.50    17.30"])
    assert not console.agrees(shown, ["method  error  seconds  failed", "er       0.51     0.01"])
    assert console.agrees(["a", "...", "z"], ["a", "b", "c", "z"])
    assert not console.agrees(["a", "...", "z"], ["a", "b", "c"])
    assert not console.agrees(["a"], ["a", "b"])
    assert not console.agrees(["a.c"], ["abc"])


def test_a_console_block_is_read_as_a_shell_would() -> None:
    typed = "$ cat > a.csv << END\ntask\n1\nEND\n$ quorate score a.csv \\\n    b.csv  # both\nerror 0\n\nmore\n"
    first, second = console.steps(typed)
    assert (first.typed, first.shown) == ("task\n1\n", [])
    assert second.words == ["quorate", "score", "a.csv", "b.csv"]
    assert second.shown == ["error 0", "", "more"]


def test_a_failing_command_must_be_shown_to_fail(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="exit code 2"):
        console.printed(console.Step("quorate diagnose nowhere.csv", ""))
    with pytest.raises(RuntimeError, match="knows no 'rm'"):
        console.printed(console.Step("rm answers.csv", ""))


# --- commands and options ---


def test_every_command_and_every_option_is_documented() -> None:
    """`python tools/reference.py` updates the page."""
    sections = re.split(r"^## ", (DOCS / "commands.md").read_text(), flags=re.MULTILINE)
    text_of = {section.split("\n", 1)[0]: section for section in sections}
    for name, command in reference.commands().items():
        for parameter in reference.documented(command):
            documented = text_of[name] + text_of["Shared options"]
            assert reference.option_row(parameter) in documented, f"{name} {parameter.name}"


def test_every_option_says_what_it_does() -> None:
    undocumented = [
        f"{name} {parameter.name}"
        for name, command in reference.commands().items()
        for parameter in command.params
        if parameter.name != "help" and not parameter.hidden and not getattr(parameter, "help", None)
    ]
    assert undocumented == []


# --- the site ---


def test_every_page_is_in_the_navigation_once_and_every_entry_is_a_page() -> None:
    pages = [page for _, page in site_tool.pages_of(site_tool.configuration()["nav"])]
    assert sorted(pages) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def anchors(page: Path) -> set[str]:
    """The ids of a page's headings, as the site makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    # The README's links are whole, so that they work on the package index too.
    text = re.sub(r"`[^`\n]*`", "", page.read_text()).replace(REPOSITORY, ROOT.as_posix())  # code holds no links
    for target in re.findall(r"(?:\]\(|^\[[^\]]+\]: )(?!https?:)([^)\s]+)", text, re.MULTILINE):
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), target


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly from a copy: a build writes beside its pages."""
    if importlib.util.find_spec("zensical") is None:
        if os.environ.get("CI"):
            pytest.fail("zensical must be there in CI: pip install 'quorate[docs]'")
        pytest.skip("zensical is not here: pip install 'quorate[docs]'")
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(DOCS, folder / "docs")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)  # without the colours
    site_tool.finish(folder / "site")
    return folder / "site"


def test_the_site_builds_strictly_with_every_page(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        path = page.relative_to(DOCS).with_suffix("")
        built = site / (path.parent if path.name == "index" else path) / "index.html"
        assert built.exists(), path


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    """Links may lead away; scripts, styles, fonts and pictures may not."""
    for page in site.rglob("*.html"):
        text = page.read_text()
        fetched = re.findall(r"<(?:script|img|iframe|source|object|embed)\b[^>]*\b(?:src|data)=[\"']?([^\"' >]+)", text)
        fetched += [
            re.findall(r"href=[\"']?([^\"' >]+)", link)[0]
            for link in re.findall(r"<link\b[^>]*>", text)
            if re.search(r"rel=[\"']?(stylesheet|preload|preconnect|icon|modulepreload|dns-prefetch)", link)
        ]
        assert [target for target in fetched if re.match(r"(https?:)?//", target)] == [], page
        # For these the theme's script would fetch a library when it meets them.
        assert not re.search(r"class=[\"'][^\"']*\b(mermaid|glightbox|pyodide)\b", text), page


def test_old_addresses_lead_to_a_section_that_exists(site: Path) -> None:
    for old, new in site_tool.REDIRECTS.items():
        assert f"url={'../' * (old.count('/') + 1)}{new}" in (site / old / "index.html").read_text()
        folder, _, anchor = new.partition("#")
        target = site / folder / "index.html"
        assert target.exists(), old
        assert not anchor or f'id="{anchor}"' in target.read_text().replace("id=" + anchor, f'id="{anchor}"'), old


def test_llms_txt_lists_every_page_with_a_sentence(site: Path) -> None:
    text = (site / "llms.txt").read_text()
    for title, page in site_tool.pages_of(site_tool.configuration()["nav"]):
        assert re.search(rf"^- \[{re.escape(title)}\]\(https://\S+/\): \S.+", text, re.MULTILINE), page


# --- methods and papers ---


def test_every_method_has_a_section_with_the_year_of_its_paper() -> None:
    sections = re.split(r"^## ", (DOCS / "methods.md").read_text(), flags=re.MULTILINE)
    for name, method in METHODS.items():
        (text,) = [section for section in sections[1:] if f"`{name}`" in section.split("\n", 2)[2][:400]]
        years = re.findall(r"\d{4}", method.paper)
        assert not years or years[-1] in text, name


def test_every_citation_key_is_explained() -> None:
    known = set(re.findall(r"^\| \[(\w+)\]", (DOCS / "references.md").read_text(), re.MULTILINE))
    cited = set()
    for path in [*(ROOT / "src").rglob("*.py"), *PAGES]:
        cited |= set(re.findall(r"\[([A-Z]\w+\d\d[a-z]?)(?:,[^\]]*)?\](?!\()", path.read_text()))
    assert cited <= known
