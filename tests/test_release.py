"""What a release says of itself agrees: version, date, extras, and links that work on the package index."""

import re
import tomllib
from pathlib import Path

from quorate import __version__

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_wherever_it_stands() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)$", changelog, re.MULTILINE)[0] == "Unreleased"
    version, date = re.findall(r"^## (\S+) \((\S+)\)$", changelog, re.MULTILINE)[0]
    cited = dict(re.findall(r"^(version|date-released): (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert (version, {"version": version, "date-released": date}) == (__version__, cited)


def test_every_extra_that_is_named_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = {
        name
        for path in pages
        for names in re.findall(r"quorate\[([a-z,]+)\]", path.read_text())
        for name in names.split(",")
    }
    assert named <= set(PROJECT["optional-dependencies"])


def test_the_readme_reads_as_well_on_the_package_index() -> None:
    text = (ROOT / "README.md").read_text()
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", text) == []
    defined = re.findall(r"^\[([^\]]+)\]: https://", text, re.MULTILINE)
    prose = re.sub(r"^(?:```.*?^```|\[[^\]]+\]: .*?$)", "", text, flags=re.DOTALL | re.MULTILINE)
    assert sorted(re.findall(r"\[([^\]`]+)\](?!\()", prose)) == sorted(defined)
