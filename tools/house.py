"""Draw the house: the rooms of the package, in the order of the data's path, and who imports whom.

    python -m tools.house            # draw docs/pictures/house.svg
    python -m tools.house --check    # say whether the picture is that of today's house, and exit with 1 if not

A room is a file at the top of the package, or a folder with everything below it. An arrow leads from a room to one that
is built on it; arrows that follow from others are left out. `tests/test_house.py` holds that there is an order.
"""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "quorate"
PICTURE = SOURCE.parent.parent / "docs" / "pictures" / "house.svg"
PACKAGE = "__init__"
# Files that import the package itself, and why they may: what they need of it lies later on the path, is imported when
# it is used, and is asked for by the name that a user would say.
FRONT_DOOR = {
    "result.py": "a result diagnoses and draws itself",
    "cli/app.py": "the version",
    "reporting/build.py": "the version",
    "evaluation/experiments/reproduce.py": "the version, and the folder whose files are hashed",
}
WIDE, HIGH, GAP = 122, 34, 26  # of a room in the picture, and between two


def room(path: Path) -> str:
    """Return the room of a file: its folder below the package, or itself."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def edges(source: Path) -> dict[str, set[str]]:
    """Return the rooms that each room imports from, at the top of files or inside functions."""
    found: dict[str, set[str]] = {}
    for path in sorted(source.rglob("*.py")):
        here = found.setdefault(room(path), set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "quorate":
                here.update((node.module or "").split(".")[1:2])
            elif isinstance(node, ast.Import):
                here.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("quorate."))
    return {name: uses - {name} for name, uses in found.items() if name != PACKAGE}


def order(uses: dict[str, set[str]]) -> list[str]:
    """Return the rooms in an order in which each imports only from earlier ones.

    Raises:
        graphlib.CycleError: there is none; the error names the rooms that go round.
    """
    return list(TopologicalSorter({name: sorted(uses[name]) for name in sorted(uses)}).static_order())


def without_shortcuts(uses: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out what follows: A needs C where A needs B and B needs C."""
    reach: dict[str, set[str]] = {}
    for name in order(uses):
        reach[name] = uses[name].union(*(reach[used] for used in uses[name]))
    return {name: {used for used in own if all(used not in reach[o] for o in own)} for name, own in uses.items()}


def draw(uses: dict[str, set[str]]) -> str:
    """Draw the rooms in rows, each below everything that it is built on."""
    kept = without_shortcuts(uses)
    row: dict[str, int] = {}
    for name in order(uses):
        row[name] = 1 + max((row[used] for used in uses[name]), default=-1)
    rows = [[name for name in order(uses) if row[name] == k] for k in range(max(row.values()) + 1)]
    wide = max(len(names) for names in rows) * (WIDE + GAP) + GAP
    place = {
        name: (wide / 2 + (k - (len(names) - 1) / 2) * (WIDE + GAP), GAP + HIGH / 2 + number * (HIGH + GAP))
        for number, names in enumerate(rows)
        for k, name in enumerate(names)
    }
    high = len(rows) * (HIGH + GAP) + GAP
    lines = [
        f'<path class="way" d="M{x:g} {y + HIGH / 2:g}C{x:g} {y + HIGH / 2 + GAP:g} {u:g} {v - HIGH / 2 - GAP:g} '
        f'{u:g} {v - HIGH / 2:g}"/>'
        for name, used in sorted((name, used) for name, own in kept.items() for used in own)
        for (x, y), (u, v) in [(place[used], place[name])]
    ]
    for name, (x, y) in place.items():
        is_folder = (SOURCE / name).is_dir()
        lines.append(
            f'<rect class="{"room" if is_folder else "file"}" x="{x - WIDE / 2:g}" y="{y - HIGH / 2:g}" '
            f'width="{WIDE}" height="{HIGH}" rx="6"/>'
            f'<text x="{x:g}" y="{y + 5:g}">{name}{"/" if is_folder else ""}</text>'
        )
    style = (
        ".way{fill:none;stroke:#8893a5;stroke-width:1.3}.room{fill:#dbe7f6;stroke:#3f6fb0}"
        ".file{fill:#f3f0e6;stroke:#a3946a}text{font:14px sans-serif;text-anchor:middle;fill:#1d2733}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img" '
        f'aria-label="The rooms of the package; each is built on those above it">\n<style>{style}</style>\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def main() -> None:
    """Draw the picture, or compare it."""
    picture = draw(edges(SOURCE))
    if "--check" not in sys.argv:
        PICTURE.write_text(picture, encoding="utf-8")
    elif not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != picture:
        raise SystemExit("docs/pictures/house.svg is not that of today's house: run `python -m tools.house`")


if __name__ == "__main__":
    main()
