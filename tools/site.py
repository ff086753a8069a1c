"""Finish the documentation site that `zensical build` wrote: redirects of old addresses, llms.txt, notebooks as pages.

    python tools/site.py [SITE]    # site/ by default

Zensical has no redirects, so that an old address is a small page that forwards. Notebooks are rendered by nbconvert, if
it is installed.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

REMOTE_SCRIPT = re.compile(r"<script[^>]*src=[\"']https?://[^>]*>\s*</script>")

# Addresses of 0.2.0 and where their content is now, relative to the root of the site.
REDIRECTS = {
    "comparison": "accuracy/#wrong-labels-on-21-public-datasets",
    "diagnosis": "annotators/#what-each-finding-means-and-what-to-do",
    "guarantees": "architecture/#promises",
    "intervals": "confidence/#intervals-on-skills",
    "known-workers": "answers/#reusing-worker-ratings",
    "ledger": "advice/#answers-that-arrive-over-time",
    "method": "theory/",
    "models": "answers/#a-model-as-one-more-worker",
    "notebooks": "soft-labels/#a-notebook",
    "notebooks/crowd": "soft-labels/#a-notebook",
    "notebooks/judges": "llm-judges/",
    "other-tools": "coming-from-crowd-kit/#comparison-with-other-tools",
    "releasing": "testing/#making-a-release",
    "report": "results/#the-report",
    "several-labels": "answers/#several-labels-per-task",
    "sizes": "warehouse/#costs",
    **{
        f"commands/{name}": f"commands/#{name}"
        for name in (
            *("doctor", "aggregate", "rate", "diagnose", "agreement", "estimate", "rank", "check", "advise", "report"),
            *("convert", "compare", "methods", "simulate", "score", "demo"),
        )
    },
    "commands/pull": "commands/#labelstudio-pull",
    "commands/push": "commands/#labelstudio-push",
    "commands/ledger": "commands/#ledger-add",
    "commands/datasets": "commands/#datasets-list",
    "commands/reproduce": "reproduction/",
    **{
        f"methods/{name}": f"methods/#{name}"
        for name in ("quorate", "rank-one", "majority", "iwmv", "opt-ds", "ghosh-svd", "er", "m-msr", "glad", "mace")
    },
    "methods/wawa": "methods/#wawa-zero-based-skill-gold-majority",
    "methods/dawid-skene": "methods/#dawid-skene-one-coin",
    "methods/kos": "methods/#kos-kos-svd",
    "methods/m3v": "methods/#m3v-m3v-svm",
}


def configuration() -> dict[str, Any]:
    """Return the table `project` of zensical.toml."""
    project: dict[str, Any] = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    return project


def pages_of(nav: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield title and file of every page of a navigation; links that lead away are left out."""
    for entry in nav:
        for title, target in entry.items():
            if isinstance(target, list):
                yield from pages_of(target)
            elif not target.startswith("http"):
                yield title, target


def address_of(page: str) -> str:
    """Return the address of a page on the site.

    >>> address_of("index.md"), address_of("answers.md")
    ('', 'answers/')
    """
    return "" if page == "index.md" else page.removesuffix(".md") + "/"


def first_sentence(page: str) -> str:
    """Return the first sentence of a page's text, without markup."""
    text = (DOCS / page).read_text(encoding="utf-8").split("\n\n")[1]
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", lambda match: match[1] or "", text.replace("\n", " "))
    return re.split(r"(?<=[.?!]) ", plain)[0]


def llms_text() -> str:
    """Return llms.txt: what the project is, and every page with its address and first sentence."""
    project = configuration()
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", ""]
    lines += ["Install with `pip install git+https://github.com/quorate/quorate`.", ""]
    lines += ["The command is `quorate`, the Python package `quorate`.", ""]
    for section in project["nav"]:
        for heading, target in section.items():
            if isinstance(target, str) and target.startswith("http"):
                continue
            lines += [f"## {heading}", ""]
            for title, page in pages_of(target if isinstance(target, list) else [section]):
                lines.append(f"- [{title}]({project['site_url']}{address_of(page)}): {first_sentence(page)}")
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def redirect_page(depth: int, target: str) -> str:
    """Return a page that forwards to another page of the site, from a folder of the given depth."""
    address = escape("../" * depth + target, quote=True)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Moved</title>'
        f'<meta http-equiv="refresh" content="0; url={address}"><link rel="canonical" href="{address}"></head>'
        f'<body><p>This page has moved: <a href="{address}">{address}</a></p></body></html>\n'
    )


def finish(site: Path) -> None:
    """Write redirects and llms.txt into a built site, and render the notebooks."""
    for old, new in REDIRECTS.items():
        place = site / old / "index.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(redirect_page(old.count("/") + 1, new), encoding="utf-8")
    (site / "llms.txt").write_text(llms_text(), encoding="utf-8")
    notebooks = sorted((DOCS / "notebooks").glob("*.ipynb"))
    if find_spec("nbconvert") is not None:
        command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output-dir", str(site / "notebooks")]
        subprocess.run([*command, *map(str, notebooks)], check=True)
        for page in (site / "notebooks").glob("*.html"):  # the site needs no other host; the notebooks have no formulas
            page.write_text(REMOTE_SCRIPT.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    finish(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
