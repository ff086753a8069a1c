"""Rename identifiers from the private vocabulary to standard terms, in a checkout that move.py has moved.

    python rename.py CHECKOUT [--dry]

global.tsv: `old <TAB> new`: every identifier `old` (class, function, method, attribute, parameter, variable) in every
Python file. A row is refused, and reported, where a file that has `old` has `new` too, unless a third column says
`force`. module.tsv: `file <TAB> old <TAB> new`: identifiers of one file (locals, private functions).
Also rewritten: expressions in f-strings, names in backticks, examples in docstrings, dotted names and whole-string names
(getattr, monkeypatch), code in Markdown and notebooks. Not touched: prose, values of strings, test names.
"""

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).parent
TOPS = ("src", "tests", "benchmarks", "experiments", "tools")
PATCHERS = ("getattr", "setattr", "hasattr", "delattr")


def rows(name: str) -> list[list[str]]:
    path = HERE / name
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]


def names_in(text: str) -> Counter:
    found: Counter = Counter()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            found[token.string] += 1
    return found


def prose(text: str, names: dict[str, str]) -> str:
    """Rename in backticks; and words that cannot be prose (CamelCase, underscores) anywhere."""
    if not names:
        return text
    every = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = re.sub(rf"(?<=`)({every})(?=[`(.])", lambda m: names[m[1]], text)
    text = re.sub(rf"(?<=\.)({every})(?=`)", lambda m: names[m[1]], text)
    sure = [name for name in names if "_" in name or re.match(r"[A-Z][a-z]+[A-Z]", name)]
    if sure:
        words = "|".join(sorted(map(re.escape, sure), key=len, reverse=True))
        text = re.sub(rf"(?<![\w-])({words})(?![\w-])", lambda m: names[m[1]], text)
    return re.sub(rf"(quorate[\w.]*\.)({every})(?!\w)", lambda m: m[1] + names[m[2]], text)


def examples(text: str, names: dict[str, str]) -> str:
    """Rename in lines of code inside a docstring."""
    every = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    word = re.compile(rf"(?<![\w'\"-])({every})(?![\w'\"-])")

    def line(match: re.Match[str]) -> str:
        return word.sub(lambda m: names[m[1]], match[0])

    return re.sub(r"^\s*(?:[rf]?\"\"\")?(?:>>>|\.\.\.) .*$", line, text, flags=re.M)


def in_braces(text: str, names: dict[str, str]) -> str:
    every = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    word = re.compile(rf"(?<![\w'\"])({every})(?![\w'\"])")
    return re.sub(r"(?<!\{)\{(?!\{)[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", lambda m: word.sub(lambda w: names[w[1]], m[0]), text)


def rename_text(text: str, names: dict[str, str]) -> str:
    lines = text.splitlines(keepends=True)
    edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    previous: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        fresh = None
        if token.type == tokenize.NAME and token.string in names:
            fresh = names[token.string]
        elif token.type == tokenize.STRING:
            changed = token.string
            prefix = re.match(r"[a-zA-Z]*", changed)[0].lower()
            if "f" in prefix:
                changed = in_braces(changed, names)
            inner = re.fullmatch(r"[\"'](\w+)[\"']", changed)
            if inner and inner[1] in names and any(item in PATCHERS for item in previous[-6:]):
                changed = f'"{names[inner[1]]}"'
            elif '"""' in changed:
                changed = prose(examples(changed, names), names)
                every = "|".join(map(re.escape, names))
                changed = re.sub(rf"^(\s+)({every})(?=: )", lambda m: m[1] + names[m[2]], changed, flags=re.M)
            else:
                changed = re.sub(
                    rf"(quorate[\w.]*\.)({'|'.join(map(re.escape, names))})(?!\w)", lambda m: m[1] + names[m[2]], changed
                )
                camel = [name for name in names if re.match(r"[A-Z][a-z]", name)]
                if camel and re.fullmatch(r"[\"'][\w\[\], |.]+[\"']", changed):
                    changed = re.sub(rf"\b({'|'.join(camel)})\b", lambda m: names[m[1]], changed)
            fresh = changed if changed != token.string else None
        elif token.type == tokenize.COMMENT:
            changed = prose(token.string, names)
            fresh = changed if changed != token.string else None
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.STRING):
            previous.append(token.string)
        if fresh is not None:
            edits.append((token.start, token.end, fresh))
    for (row, column), (end_row, end_column), fresh in reversed(edits):
        if row == end_row:
            line = lines[row - 1]
            lines[row - 1] = line[:column] + fresh + line[end_column:]
        else:
            first, last = lines[row - 1][:column], lines[end_row - 1][end_column:]
            lines[row - 1 : end_row] = [first + fresh + last]
    return "".join(lines)


OLD_ATTRIBUTES = ("ballot", "roster", "trust", "workforce")


def keep_old_attributes(root: Path, accepted: dict[str, str]) -> None:
    """Let attributes of Result that users knew work for one release, with a warning."""
    path = root / "src/quorate/result.py"
    text = path.read_text()
    table = {old: accepted[old] for old in OLD_ATTRIBUTES if old in accepted}
    start = re.search(r"^class Result\b.*?(?=^    @)", text, re.M | re.S)
    if start is None or "_OLD_ATTRIBUTES" in text or not table:
        return
    method = (
        "    if not TYPE_CHECKING:\n\n        def __getattr__(self, name: str) -> object:\n"
        "            if name not in _OLD_ATTRIBUTES:\n"
        "                raise AttributeError(f\"{type(self).__name__!r} object has no attribute {name!r}\")\n"
        "            new = _OLD_ATTRIBUTES[name]\n"
        "            warnings.warn(f\"Result.{name} is now Result.{new}\", DeprecationWarning, stacklevel=2)\n"
        "            return getattr(self, new)\n\n"
    )
    text = text[: start.end()] + method + text[start.end() :]
    text = text.rstrip() + "\n\n\n# Attributes of 0.2, which warn for one release.\n_OLD_ATTRIBUTES = " + repr(table) + "\n"
    text = re.sub(r"^(from|import) ", r"import warnings\nfrom typing import TYPE_CHECKING\n\1 ", text, count=1, flags=re.M)
    path.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--dry", action="store_true")
    given = parser.parse_args()
    root = given.checkout.resolve()
    files = {path: path.read_text() for top in TOPS for path in sorted((root / top).rglob("*.py"))}
    names = {path: names_in(text) for path, text in files.items()}
    accepted: dict[str, str] = {}
    for row in rows("global.tsv"):
        old, new = row[0], row[1]
        where = [path for path in files if names[path][old]]
        clash = [str(path.relative_to(root)) for path in where if names[path][new]]
        if not where:
            print(f"absent: {old}")
        elif clash and "force" not in row[2:]:
            print(f"refused: {old} -> {new}: {len(clash)} of {len(where)} files have both: {', '.join(clash[:4])}")
        else:
            accepted[old] = new
            print(f"{old} -> {new}: {sum(names[path][old] for path in where)} in {len(where)} files")
    local: dict[str, dict[str, str]] = defaultdict(dict)
    for file, old, new in (row[:3] for row in rows("module.tsv")):
        path = root / file
        if path not in files or not names[path][old]:
            print(f"absent: {old} in {file}")
        elif names[path][new]:
            print(f"refused: {old} -> {new} in {file}, which has both")
        else:
            local[file][old] = new
    if given.dry:
        return
    for path, text in files.items():
        mapping = accepted | local.get(str(path.relative_to(root)), {})
        mapping = {old: new for old, new in mapping.items() if re.search(rf"\b{old}\b", text)}
        if mapping:
            changed = rename_text(text, mapping)
            try:
                ast.parse(changed)
            except SyntaxError as error:
                print(f"not renamed, would not parse: {path}: {error}")
                continue
            if changed != text:
                path.write_text(changed)
    for path in [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.ipynb")]:
        if path.name == "CHANGELOG.md":
            continue
        text = path.read_text()
        changed = prose(text, accepted)
        changed = re.sub(
            r"^```python\n.*?^```", lambda m: re.sub(rf"(?<=\.)({'|'.join(accepted)})\b", lambda w: accepted[w[1]], m[0]),
            changed, flags=re.M | re.S,
        )
        if changed != text:
            path.write_text(changed)
    keep_old_attributes(root, accepted)
    ruff = str(root / ".venv/bin/ruff")
    import sys

    sys.path.insert(0, str(HERE))
    from move import break_long_lines

    subprocess.run([ruff, "format", "-q", "."], cwd=root, check=False)
    break_long_lines(root, ruff)
    subprocess.run([ruff, "check", "--fix", "-q", "."], cwd=root, check=False)
    subprocess.run([ruff, "format", "-q", "."], cwd=root, check=False)


if __name__ == "__main__":
    main()
