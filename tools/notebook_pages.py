"""Render the notebooks as pages of the documentation, with their output.

python -m tools.notebook_pages            # rewrite docs/notebooks/*.md and their pictures
python -m tools.notebook_pages --check    # say which are out of date, and exit with 1
"""

import base64
import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"


def rendered(notebook: Path) -> dict[Path, bytes]:
    """Return the page of a notebook and its pictures, by where they go."""
    files: dict[Path, bytes] = {}
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        if text:
            parts.append(
                f"```py\n{text}\n```"
            )  # not ```python: the blocks run as one, and the notebook's test runs them
        for output in cell.get("outputs", []):
            parts.append(_output(output, notebook, files))
    source = f"*This page is the notebook [{notebook.name}]({notebook.name}), with its output.*"
    page = "\n\n".join([parts[0], source, *parts[1:]]) + "\n"
    return {notebook.with_suffix(".md"): page.encode(), **files}


def _output(output: dict[str, Any], notebook: Path, files: dict[Path, bytes]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        path = DOCS / "pictures" / f"notebook-{notebook.stem}-{len(files) + 1}.png"
        files[path] = base64.b64decode("".join(data["image/png"]))
        return f"![What the cell above draws.](../pictures/{path.name})"
    if "text/html" in data:
        return "".join(data["text/html"]).replace("\n", " ")  # one line: Markdown leaves such HTML alone
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    return f"```text\n{text}\n```"


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are out of date."""
    stale = 0
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        for path, content in rendered(notebook).items():
            if path.exists() and path.read_bytes() == content:
                continue
            stale += 1
            if "--check" in arguments:
                print(f"{path.relative_to(DOCS)} is out of date: run python -m tools.notebook_pages")
            else:
                path.write_bytes(content)
    return int("--check" in arguments and stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
