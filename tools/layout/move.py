"""Move every module of a Quorate checkout to the target layout and rewrite all references.

    python move.py CHECKOUT [--no-format]

Tables beside this file: extra.tsv (modules that MODULES.tsv lacks, or that go elsewhere), tests.tsv (test files),
docstrings.tsv (module docstrings of merged files), edits.tsv (literal replacements after the move), overlay/ (files
that replace or join what is there). A report is written to CHECKOUT/../move_report.txt.
"""

import argparse
import ast
import builtins
import keyword
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
MODULES = HERE / "MODULES.tsv"  # a copy of the table of the issue
TEXT_SUFFIXES = {".md", ".ipynb", ".toml", ".yml", ".yaml", ".cfg", ".in", ".txt", ".j2", ".h", ".c", ".cff"}
ROOTS = ("src", "tests", "benchmarks", "experiments", "tools", "docs", ".github", ".ci")
BUILTINS = set(dir(builtins))
# Packages that dissolve: where mentions of the package itself point.
DISSOLVED = {"quorate.uncertainty": "quorate.skills", "quorate.writing": "quorate.io"}
PACKAGE_DOCSTRINGS = {
    "graph": "The interaction graph: workers are joined where they share a task.",
    "interrater": "Inter-annotator agreement: coefficients and their intervals.",
    "io": "Reading and writing: files, data frames and exports of other tools.",
    "io/exports": None,
    "theory": "What the paper proves: bounds on the error of skills and labels.",
    "datasets": None,
    "integrations": "Other programs that are running: Label Studio servers and Inspect.",
    "charts": None,
    "estimation": None,
    "diagnostics": None,
    "backends": None,
}
EXPERIMENT_DOCSTRINGS = {
    "paper": "The experiments of the paper.",
    "calibration": "Coverage and calibration: intervals, confidence, public crowds.",
    "advice": "What advice on the next answers brings.",
    "diagnostics": "Findings of the diagnosis on crowds with planted faults.",
    "estimation": "Coverage of estimated statistics, and their constants.",
    "ordinal": "Ordered classes and grades.",
    "simulation": "Simulated crowds with planted faults.",
    "runner": "Running experiments and rendering their pages.",
}


def read_table(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    lines = path.read_text().splitlines()[1:]
    return [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]


def dotted_of(path: str) -> str:
    """Return the module name of a path relative to the repository."""
    parts = path.removesuffix(".py").split("/")
    if parts[0] == "src":
        parts = parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


# ---- scopes


class Scopes(ast.NodeVisitor):
    """Names of a module that refer to its global scope, with their nodes; and names bound in functions around a node."""

    def __init__(self, tree: ast.Module) -> None:
        self.stack: list[tuple[str, set[str], set[str]]] = []
        self.global_refs: dict[str, list[ast.AST]] = defaultdict(list)
        self.around: dict[ast.AST, list[set[str]]] = {}
        self.all_bound: set[str] = set()
        for statement in tree.body:
            self.visit(statement)

    def _bound(self, body: list[ast.AST], arguments: ast.arguments | None) -> tuple[set[str], set[str]]:
        names: set[str] = set()
        declared: set[str] = set()
        if arguments is not None:
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
            names |= {item.arg for item in every}

        def walk(node: ast.AST, in_comprehension: bool = False) -> None:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
                return
            if isinstance(node, ast.Lambda):
                return
            if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                for child in ast.walk(node):
                    if isinstance(child, ast.NamedExpr):
                        names.add(child.target.id)
                return
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                names.add(node.id)
            if isinstance(node, ast.Import | ast.ImportFrom):
                names.update((alias.asname or alias.name.split(".")[0]) for alias in node.names)
            if isinstance(node, ast.ExceptHandler) and node.name:
                names.add(node.name)
            if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
                names.add(node.name)
            if isinstance(node, ast.MatchMapping) and node.rest:
                names.add(node.rest)
            if isinstance(node, ast.Global):
                declared.update(node.names)
            for child in ast.iter_child_nodes(node):
                walk(child)

        for statement in body:
            walk(statement)
        names -= declared
        self.all_bound |= names
        return names, declared

    def _is_global(self, name: str) -> bool:
        for depth, (kind, names, declared) in enumerate(reversed(self.stack)):
            if name in declared:
                return True
            if kind == "class" and depth > 0:
                continue
            if name in names:
                return False
        return True

    def visit_Name(self, node: ast.Name) -> None:
        self.around[node] = [names for kind, names, _ in self.stack if kind != "class"]
        if self._is_global(node.id):
            self.global_refs[node.id].append(node)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.global_refs[name].append(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if self._is_global(node.name) and not self.stack:
            self.global_refs[node.name].append(node)
        for decorator in node.decorator_list:
            self.visit(decorator)
        self._arguments(node.args)
        if node.returns:
            self.visit(node.returns)
        self.stack.append(("function", *self._bound(node.body, node.args)))
        for statement in node.body:
            self.visit(statement)
        self.stack.pop()

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def _arguments(self, arguments: ast.arguments) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
        for item in every:
            if item.annotation:
                self.visit(item.annotation)
        for default in [*arguments.defaults, *[item for item in arguments.kw_defaults if item is not None]]:
            self.visit(default)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._arguments(node.args)
        self.stack.append(("function", *self._bound([node.body], node.args)))
        self.visit(node.body)
        self.stack.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not self.stack:
            self.global_refs[node.name].append(node)
        for item in [*node.decorator_list, *node.bases, *[word.value for word in node.keywords]]:
            self.visit(item)
        self.stack.append(("class", *self._bound(node.body, None)))
        for statement in node.body:
            self.visit(statement)
        self.stack.pop()

    def _comprehension(self, node: ast.AST) -> None:
        generators = node.generators
        self.visit(generators[0].iter)
        names: set[str] = set()
        for generator in generators:
            names |= {item.id for item in ast.walk(generator.target) if isinstance(item, ast.Name)}
        self.all_bound |= names
        self.stack.append(("function", names, set()))
        for position, generator in enumerate(generators):
            self.visit(generator.target)
            if position:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                self.visit(getattr(node, part))
        self.stack.pop()

    visit_ListComp = _comprehension
    visit_SetComp = _comprehension
    visit_DictComp = _comprehension
    visit_GeneratorExp = _comprehension


# ---- one Python file


@dataclass
class Source:
    """A Python file as bytes with its tree and the edits to make."""

    path: str
    text: bytes
    tree: ast.Module = field(init=False)
    scopes: Scopes = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)
        self.scopes = Scopes(self.tree)
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
        self.module = dotted_of(self.path)
        self.is_package = self.path.endswith("__init__.py")

    def span(self, node: ast.AST) -> tuple[int, int]:
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def line_span(self, node: ast.AST) -> tuple[int, int]:
        return self.starts[node.lineno - 1], self.starts[node.end_lineno]

    def name_span(self, node: ast.AST, name: str) -> tuple[int, int]:
        """Return where a def or class statement names what it defines."""
        start = self.starts[node.lineno - 1] + node.col_offset
        match = re.compile(rb"(?:async\s+)?(?:def|class)\s+" + name.encode()).match(self.text, start)
        assert match, (self.path, node.lineno, name)
        return match.end() - len(name.encode()), match.end()

    def bound_globals(self) -> dict[str, ast.stmt]:
        """Names bound at the top by statements other than imports."""
        bound: dict[str, ast.stmt] = {}

        def collect(statements: list[ast.stmt]) -> None:
            for statement in statements:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    bound.setdefault(statement.name, statement)
                elif isinstance(statement, ast.Import | ast.ImportFrom):
                    continue
                elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
                    for name in ("body", "orelse", "finalbody"):
                        collect(getattr(statement, name, []))
                    for handler in getattr(statement, "handlers", []):
                        collect(handler.body)
                    for node in ast.walk(statement):
                        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and isinstance(statement, ast.For | ast.With):
                            bound.setdefault(node.id, statement)
                else:
                    for node in ast.walk(statement):
                        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                            bound.setdefault(node.id, statement)

        collect(self.tree.body)
        return bound

    def top_imports(self) -> list[ast.Import | ast.ImportFrom]:
        return [item for item in self.tree.body if isinstance(item, ast.Import | ast.ImportFrom)]


class Mover:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.report: list[str] = []
        self.paths: dict[str, str] = {}  # old path in the repository -> new path
        self.actions: dict[str, str] = {}
        self.gone: set[str] = set()
        self._read_tables()
        self._pre_edits()
        self.sources: dict[str, Source] = {}
        for top in ("src", "tests", "benchmarks", "experiments", "tools", "docs"):
            for path in sorted((root / top).rglob("*.py")):
                name = str(path.relative_to(root))
                self.sources[name] = Source(name, path.read_bytes())
        self.sources_by_module = {item.module: item for item in self.sources.values()}
        self.split_homes: dict[tuple[str, str], str] = {}
        self._split()
        self._test_paths()
        self.modules: dict[str, str] = {}
        for old in self.sources:
            new = self.paths.get(old, old)
            self.modules[dotted_of(old)] = dotted_of(new)
        for old, new in DISSOLVED.items():
            if old in self.modules:
                self.modules[old] = new
        self.modules.setdefault("quorate.evaluation.experiments", "experiments")
        self.old_packages = {item.module for item in self.sources.values() if item.is_package}
        self.groups: dict[str, list[str]] = defaultdict(list)
        for old in self.sources:
            if old not in self.gone:
                self.groups[self.paths.get(old, old)].append(old)
        self.renames: dict[tuple[str, str], str] = {}
        for row in read_table(HERE / "names.tsv"):
            if row[0] in self.sources_by_module and row[1] in self.sources_by_module[row[0]].bound_globals():
                self.renames[row[0], row[1]] = row[2]
        self.plain = self._plain_packages()
        self.public = set(re.findall(r'^    "(\w+)": "', (root / "src/quorate/__init__.py").read_text(), re.M))
        self.dropped: dict[str, set[str]] = defaultdict(set)  # old module -> names whose duplicate goes
        self.import_aliases: dict[str, dict[str, str]] = defaultdict(dict)
        for new, olds in self.groups.items():
            if len(olds) > 1:
                self._order(new)
                self._find_collisions(new)

    def _plain_packages(self) -> set[str]:
        """Packages whose exports would be hidden by modules of the same name: they export nothing any more."""
        plain = set()
        news = set(self.modules.values())
        for source in self.sources.values():
            if source.is_package and source.module.startswith("quorate.") and source.module in self.modules:
                for node in source.top_imports():
                    if isinstance(node, ast.ImportFrom):
                        for alias in node.names:
                            if f"{self.modules[source.module]}.{alias.asname or alias.name}" in news:
                                plain.add(source.module)
        self.say(f"packages that export nothing any more: {sorted(plain)}")
        return plain

    def say(self, line: str) -> None:
        self.report.append(line)

    # -- tables

    def _read_tables(self) -> None:
        rows = {row[0]: (row[1], row[2]) for row in read_table(MODULES)}
        rows |= {row[0]: (row[1], row[2]) for row in read_table(HERE / "extra.tsv")}
        for path in sorted((self.root / "src/quorate").rglob("*.py")):
            old = str(path.relative_to(self.root / "src/quorate"))
            if old not in rows:
                first = old.split("/")[0]
                if first not in ("ranking", "rating", "theory", "models", "calibration", "blocks", "skills"):
                    self.say(f"no row: {old} stays")
                continue
            new, action = rows[old]
            full = f"src/quorate/{old}"
            if new == "-":
                self.gone.add(full)
                continue
            if action.startswith("moves out"):
                if new == "experiments/__init__.py":
                    self.gone.add(full)
                    continue
                self.paths[full] = new
            else:
                self.paths[full] = f"src/quorate/{new}"
            self.actions[full] = action

    def _pre_edits(self) -> None:
        """Replace identifiers in Python files before anything else: aliases that the move would make circular."""
        rows = read_table(HERE / "before.tsv")
        for top in ("src", "tests", "benchmarks", "experiments", "tools"):
            for path in (self.root / top).rglob("*.py"):
                text = before = path.read_text()
                for row in rows:
                    text = re.sub(row[0], row[1].replace("\\n", "\n") if len(row) > 1 else "", text, flags=re.M)
                if text != before:
                    path.write_text(text)

    def _test_paths(self) -> None:
        """Let test files follow the modules they test."""
        table = {row[0]: row[1] for row in read_table(HERE / "tests.tsv")}
        folders = {
            "reading/formats": "io/exports", "reading": "io", "diagnosis": "diagnostics", "meetings": "graph",
            "uncertainty": "skills", "warehouse": "backends", "writing": "io", "evaluation/experiments": "experiments",
            "reporting/charts": "charts",
        }
        taken: set[str] = set()
        stems = defaultdict(list)
        for old, new in self.paths.items():
            stems[old.removeprefix("src/quorate/")].append(new)
        for path in sorted((self.root / "tests").rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            name = str(path.relative_to(self.root))
            inside = name.removeprefix("tests/")
            if inside in table:
                if table[inside] == "-":
                    self.gone.add(name)
                else:
                    self.paths[name] = f"tests/{table[inside]}"
                continue
            folder, _, file = inside.rpartition("/")
            target = folder
            for old, new in folders.items():
                if folder == old or folder.startswith(old + "/"):
                    target = new + folder[len(old):]
                    break
            match = re.fullmatch(r"test_(\w+)\.py", file)
            if match and folder:
                hit = stems.get(f"{folder}/{match[1]}.py")
                if hit and hit[0].startswith("src/quorate/"):
                    package, _, stem = hit[0].removeprefix("src/quorate/").rpartition("/")
                    target = package
                    primary = self.actions.get(f"src/quorate/{folder}/{match[1]}.py", "").startswith("moves")
                    if primary and stem != "__init__.py":
                        file = f"test_{stem}"
                elif hit:
                    target = "experiments"
            new = f"tests/{target}/{file}" if target else f"tests/{file}"
            if file == "__init__.py" and new != name:
                if (self.root / new).exists() or new in taken:
                    self.gone.add(name)
                    continue
            if new != name:
                if new in taken or (self.root / new).exists() and new not in self.paths:
                    kept = f"tests/{target}/{Path(inside).name}"
                    if kept in taken or (self.root / kept).exists():
                        self.say(f"test file {name}: {new} is taken, and so is {kept}; stays")
                        continue
                    new = kept
                self.paths[name] = new
                taken.add(new)

    # -- definitions that go to another module before the move

    def _split(self) -> None:
        jobs: dict[tuple[str, str], list[str]] = defaultdict(list)
        summaries: dict[str, str] = {}
        for row in read_table(HERE / "splits.tsv"):
            jobs[row[0], row[2]].append(row[1])
            if len(row) > 3 and row[3]:
                summaries[row[2]] = row[3]
        for (first, second), names in jobs.items():
            a, b = f"src/quorate/{first}", f"src/quorate/{second}"
            if a in self.sources:
                self._split_module(a, b, names, summaries.get(second, ""))
        for row in read_table(HERE / "aliases.tsv"):
            self.split_homes[row[0], row[1]] = row[2]

    def _split_module(self, a: str, b: str, names: list[str], summary: str) -> None:
        source = self.sources[a]
        bound = source.bound_globals()
        names = [name for name in names if name in bound]
        if not names:
            return
        cuts: list[tuple[int, int]] = []
        used: set[str] = set()
        statements = sorted({id(bound[name]): bound[name] for name in names}.values(), key=lambda item: item.lineno)
        lines = source.text.splitlines(keepends=True)
        for statement in statements:
            first = statement.lineno
            if getattr(statement, "decorator_list", None):
                first = statement.decorator_list[0].lineno
            while first > 1 and lines[first - 2].startswith(b"#"):
                first -= 1
            cuts.append((source.starts[first - 1], source.starts[statement.end_lineno]))
            used |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            for node in ast.walk(statement):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    examples = re.findall(r"(?:>>>|[.][.][.]) (.*)", ast.get_docstring(node) or "")
                    used |= set(re.findall(r"[A-Za-z_]\w+", " ".join(examples)))
        separator = b"\n" if all(isinstance(item, ast.Assign | ast.AnnAssign) for item in statements) else b"\n\n\n"
        moved = separator.join(source.text[start:end].rstrip() for start, end in cuts)
        imports: list[bytes] = []
        for node in source.top_imports():
            kept = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in used]
            if kept:
                words = ", ".join(f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in kept)
                head = f"from {node.module} import " if isinstance(node, ast.ImportFrom) else "import "
                imports.append((head + words).encode())
        b_module = dotted_of(b)
        own = sorted(name for name in used if name in bound and name not in names)
        own = [name for name in own if not (b in self.sources and name in self.sources[b].bound_globals())]
        if own:
            imports.append(f"from {source.module} import {', '.join(own)}".encode())
        text = source.text
        for start, end in reversed(cuts):
            text = text[:start] + text[end:]
        tree = ast.parse(text)
        needed = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & set(names))
        if needed:
            position = Source(a, text).line_span(tree.body[0])[1] if ast.get_docstring(tree) is not None else 0
            text = text[:position] + f"\nfrom {b_module} import {', '.join(needed)}\n".encode() + text[position:]
        self.sources[a] = Source(a, text)
        if b in self.sources:
            target = self.sources[b]
            here = target.line_span(target.tree.body[0])[1] if ast.get_docstring(target.tree) is not None else 0
            imports = [item for item in imports if not item.startswith(f"from {b_module} import".encode())]
            body = target.text[here:].rstrip() + b"\n\n\n" + moved + b"\n"
            if any(isinstance(item, ast.ClassDef) for item in statements):  # before whatever names it
                last = max((target.line_span(node)[1] for node in target.top_imports()), default=here)
                body = target.text[here:last] + b"\n\n" + moved + b"\n\n\n" + target.text[last:]
            fresh = target.text[:here] + b"\n" + b"\n".join(imports) + b"\n" + body
            fresh = self._without_import(Source(b, fresh), source.module, set(names))
        else:
            fresh = f'"""{summary}"""\n\n'.encode() + b"\n".join(imports) + b"\n\n" + moved + b"\n"
            (self.root / b).write_bytes(fresh)
            subprocess.run(["git", "add", b], cwd=self.root, check=True)
        self.sources[b] = Source(b, fresh)
        self.sources_by_module[source.module] = self.sources[a]
        self.sources_by_module[b_module] = self.sources[b]
        for name in names:
            self.split_homes[source.module, name] = b_module
        self.say(f"split: {', '.join(names)} from {source.module} to {b_module}")

    def _without_import(self, source: Source, module: str, names: set[str]) -> bytes:
        """Remove imports of names that the module holds itself by now."""
        aliases = {row[0] for row in read_table(HERE / "aliases.tsv") if row[1] in names}
        edits = []
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module in {module, *aliases}:
                rest = [item for item in node.names if item.name not in names]
                if len(rest) < len(node.names):
                    words = ", ".join(f"{item.name} as {item.asname}" if item.asname else item.name for item in rest)
                    edits.append((*source.span(node), f"from {node.module} import {words}".encode() if rest else b""))
        return apply_edits(source.text, edits, source.path)

    # -- merges

    def _order(self, new: str) -> None:
        """Put the modules of a file in dependency order; the first to report is the one that gives its name."""
        olds = self.groups[new]
        modules = {dotted_of(old): old for old in olds}
        needs = {old: set() for old in olds}
        for old in olds:
            for node in self.sources[old].top_imports():
                if isinstance(node, ast.ImportFrom) and node.module:
                    for alias in node.names:
                        for candidate in (node.module, f"{node.module}.{alias.name}"):
                            if candidate in modules and modules[candidate] != old:
                                needs[old].add(modules[candidate])
        ordered: list[str] = []
        waiting = sorted(olds, key=lambda old: (old != self.primary(new), old))
        while waiting:
            ready = [old for old in waiting if needs[old] <= set(ordered)]
            if not ready:
                self.say(f"cycle among {waiting} -> {new}")
                ready = [waiting[0]]
            # Whoever the primary needs comes before; others after it.
            ordered.append(ready[0])
            waiting.remove(ready[0])
        self.groups[new] = ordered

    def primary(self, new: str) -> str:
        olds = self.groups[new]
        if new in olds:
            return new
        movers = [old for old in olds if self.actions.get(old, "").startswith("moves")]
        return movers[0] if movers else olds[0]

    def _import_target(self, source: Source, node: ast.ImportFrom | ast.Import, alias: ast.alias) -> tuple[str, ...]:
        """Return what an alias stands for after the move."""
        if isinstance(node, ast.Import):
            return ("module", self.resolve_dotted(alias.name))
        module = node.module or ""
        full = f"{module}.{alias.name}"
        if full in self.modules:
            return ("module", self.modules[full])
        home, name = self.home_of(module, alias.name)
        return ("name", self.modules.get(home, home), self.renames.get((home, name), name))

    def home_of(self, module: str, name: str) -> tuple[str, str]:
        """Follow names through packages that dissolve."""
        seen = set()
        while (module in DISSOLVED or module in self.plain) and module in self.sources_by_module and module not in seen:
            seen.add(module)
            for node in self.sources_by_module[module].top_imports():
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        if (alias.asname or alias.name) == name:
                            module, name = node.module or "", alias.name
        return self.split_homes.get((module, name), module), name

    def _find_collisions(self, new: str) -> None:
        olds = self.groups[new]
        primary = self.primary(new)
        members = {dotted_of(old) for old in olds}
        bound: dict[str, list[tuple[str, str, object]]] = defaultdict(list)
        used_builtins: dict[str, set[str]] = {}
        for old in olds:
            source = self.sources[old]
            own = source.bound_globals()
            for name, statement in own.items():
                if (source.module, name) not in self.renames:
                    bound[name].append((old, "def", statement))
            imported = set()
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Import | ast.ImportFrom) and self._is_top(source, node):
                    for alias in node.names:
                        local = alias.asname or alias.name.split(".")[0]
                        imported.add(local)
                        if isinstance(node, ast.ImportFrom):
                            home, _ = self.home_of(node.module or "", alias.name)
                            if home in members or f"{node.module}.{alias.name}" in members:
                                continue
                        bound[local].append((old, "import", self._import_target(source, node, alias)))
            used_builtins[old] = {
                name for name in source.scopes.global_refs if name in BUILTINS and name not in own and name not in imported
            }
        for name, entries in bound.items():
            stems = {entry[0] for entry in entries}
            shadowing = [old for old in olds if name in used_builtins[old]]
            if shadowing and any(entry[0] not in shadowing for entry in entries):
                for old, kind, _ in entries:
                    self._rename(old, name, kind)
                continue
            if len(stems) < 2:
                continue
            if all(kind == "import" for _, kind, _ in entries):
                if len({target for _, _, target in entries}) == 1:
                    continue
            elif all(kind == "def" for _, kind, _ in entries):
                texts = {ast.dump(statement) for _, _, statement in entries}
                simple = all(isinstance(s, ast.Assign | ast.AnnAssign | ast.FunctionDef) for _, _, s in entries)
                if len(texts) == 1 and simple and not name.startswith("__"):
                    first = [old for old in olds if old in stems][0]
                    for old, _, _ in entries:
                        if old != first:
                            self.dropped[old].add(name)
                    self.say(f"merge {new}: {name} is defined alike in {len(entries)} modules; kept once")
                    continue
            for old, kind, _ in entries:
                if old != primary and name != "__all__":
                    self._rename(old, name, kind)
                elif kind == "import" and not any(entry[0] == primary and entry[1] == "def" for entry in entries):
                    pass
        # Module objects of members: what they lend must not be hidden by locals.
        for old in olds:
            source = self.sources[old]
            for local, target in self._member_modules(source, members).items():
                for node in source.scopes.global_refs.get(local, []):
                    parent = source.parents.get(node)
                    if isinstance(parent, ast.Attribute):
                        if any(parent.attr in names for names in source.scopes.around.get(node, [])):
                            self._rename(self.sources_by_module[target].path, parent.attr, "def")

    def _is_top(self, source: Source, node: ast.AST) -> bool:
        parent = source.parents.get(node)
        while parent is not None and not isinstance(parent, ast.Module):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
                return False
            parent = source.parents.get(parent)
        return True

    def _member_modules(self, source: Source, members: set[str]) -> dict[str, str]:
        found = {}
        for node in source.top_imports():
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if f"{node.module}.{alias.name}" in members:
                        found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found

    def _rename(self, old: str, name: str, kind: str) -> None:
        module = dotted_of(old)
        stem = module.rsplit(".", 1)[-1]
        fresh = f"{name}_{stem.upper()}" if name.isupper() else f"{name}_{stem}"
        if name[0].isupper() and not name.isupper():
            fresh = name + "".join(word.capitalize() for word in stem.split("_"))
        if kind == "def":
            if (module, name) not in self.renames:
                self.renames[module, name] = fresh
                self.say(f"collision: {module}.{name} -> {fresh}")
        else:
            if name not in self.import_aliases[module]:
                self.import_aliases[module][name] = fresh
                self.say(f"collision of imports: in {module}, {name} -> {fresh}")

    # -- references

    def resolve_dotted(self, dotted: str) -> str:
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            module = ".".join(parts[:length])
            if module in self.modules:
                rest = parts[length:]
                if rest:
                    home, name = self.home_of(module, rest[0])
                    if home != module and name in self.public:
                        return ".".join(["quorate", *rest])
                    if home in self.modules:
                        return ".".join([self.modules[home], self.renames.get((home, name), name), *rest[1:]])
                return ".".join([self.modules[module], *rest])
        return dotted

    def new_import(self, module: str, name: str, asname: str | None) -> tuple[str, str, str | None, str]:
        """Return the new module, the new name, the new alias, and what is imported: module or name."""
        full = f"{module}.{name}"
        if full in self.modules and not (module in self.sources_by_module and self._binds(module, name)):
            # A module of the old layout, unless its package exports a function of that name.
            target = self.modules[full]
            package, _, stem = target.rpartition(".")
            return package, stem, asname, "module"
        home, found = self.home_of(module, name)
        return self.modules.get(home, home), self.renames.get((home, found), found), asname, "name"

    def _binds(self, module: str, name: str) -> bool:
        """Whether a package binds a name itself (a function that has the name of a module)."""
        source = self.sources_by_module[module]
        if not source.is_package:
            return False
        if name in source.bound_globals():
            return True
        for node in source.top_imports():
            if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
                return True
        return False

    def edit(self, old: str) -> tuple[bytes, list[bytes], str | None]:
        """Return the text of a file after the move, its imports if it is merged, and its docstring if it is merged."""
        source = self.sources[old]
        new = self.paths.get(old, old)
        merged = len(self.groups[new]) > 1
        members = {dotted_of(item) for item in self.groups[new]} if merged else set()
        module = source.module
        edits: list[tuple[int, int, bytes]] = []
        imports: list[bytes] = []
        local_renames: dict[str, str] = {name: fresh for (home, name), fresh in self.renames.items() if home == module}
        local_renames |= self.import_aliases.get(module, {})
        module_locals: dict[str, str] = {}  # local name of a module object -> old module
        member_locals: dict[str, str] = {}

        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ImportFrom) or node.level:
                continue
            if (node.module or "").split(".")[0] not in ("quorate", "tests", "experiments"):
                top = merged and node in source.tree.body
                aliased = [a for a in node.names if (a.asname or a.name) in self.import_aliases.get(module, {})]
                if aliased and self._is_top(source, node):
                    words = []
                    for alias in node.names:
                        local = alias.asname or alias.name
                        fresh = self.import_aliases[module].get(local)
                        words.append(f"{alias.name} as {fresh or local}" if (fresh or local) != alias.name else alias.name)
                    text = f"from {node.module} import {', '.join(words)}\n".encode()
                    if top:
                        imports.append(text)
                        edits.append((*source.line_span(node), b""))
                    else:
                        edits.append((*source.span(node), text.strip()))
                elif top:
                    start, end = source.line_span(node)
                    imports.append(source.text[start:end])
                    edits.append((start, end, b""))
                continue
            self._edit_import(source, node, members, merged, edits, imports, local_renames, module_locals, member_locals)
        if merged:
            for node in source.tree.body:
                if isinstance(node, ast.Import):
                    start, end = source.line_span(node)
                    imports.append(source.text[start:end])
                    edits.append((start, end, b""))

        # Module objects: attributes and patched names.
        for local, target in {**module_locals, **member_locals}.items():
            refs = [item for item in ast.walk(source.tree) if isinstance(item, ast.Name) and item.id == local]
            for node in refs:
                parent = source.parents.get(node)
                if isinstance(parent, ast.Attribute):
                    fresh = self.renames.get((target, parent.attr))
                    if local in member_locals:
                        edits.append((*source.span(parent), (fresh or parent.attr).encode()))
                        continue
                    if fresh:
                        end = source.span(parent)[1]
                        edits.append((end - len(parent.attr.encode()), end, fresh.encode()))
                elif isinstance(parent, ast.Call) and len(parent.args) > 1 and parent.args[0] is node:
                    second = parent.args[1]
                    if isinstance(second, ast.Constant) and isinstance(second.value, str):
                        fresh = self.renames.get((target, second.value))
                        if fresh:
                            edits.append((*source.span(second), f'"{fresh}"'.encode()))
                    if local in member_locals:
                        self.say(f"{old}:{node.lineno}: module object of a merged module is passed on")
                elif local in member_locals and not isinstance(parent, ast.alias):
                    self.say(f"{old}:{node.lineno}: module object {local} of a merged module is used as a value")
        edits += self._rename_globals(source, local_renames)
        docstring = None
        if merged:
            docstring = ast.get_docstring(source.tree, clean=False)
            if docstring is not None:
                edits.append((*source.line_span(source.tree.body[0]), b""))
            for name in self.dropped.get(module, ()):
                statement = source.bound_globals()[name]
                start, end = source.line_span(statement)
                if getattr(statement, "decorator_list", None):
                    start = source.starts[statement.decorator_list[0].lineno - 1]
                edits.append((start, end, b""))
                edits[:] = [e for e in edits if not (start <= e[0] and e[1] <= end) or e == (start, end, b"")]
        if source.is_package:
            edits += self._lazy_table(source)
        if module in self.plain:
            for node in source.tree.body:
                names = [getattr(item, "id", "") for item in getattr(node, "targets", [])]
                if isinstance(node, ast.ImportFrom) or names == ["__all__"]:
                    edits = [item for item in edits if item[0] != source.span(node)[0]]
                    edits.append((*source.line_span(node), b""))
        text = self._apply(source, edits)
        if docstring is not None:
            docstring = self._text_edits(docstring, old)
        return text, imports, docstring

    def _edit_import(self, source, node, members, merged, edits, imports, local_renames, module_locals, member_locals):
        top = merged and node in source.tree.body
        aliases_here = self.import_aliases.get(source.module, {})
        lines: dict[str, list[str]] = {}
        assignments: list[str] = []
        is_top = self._is_top(source, node)
        changed = False
        for alias in node.names:
            package, name, asname, kind = self.new_import(node.module or "", alias.name, alias.asname)
            local = alias.asname or alias.name
            full = f"{node.module}.{alias.name}"
            home, found = self.home_of(node.module or "", alias.name)
            if kind == "module" and full in members:
                member_locals[local] = full
                changed = True
                continue
            if kind == "name" and home in members:
                changed = True
                if name != local:
                    if is_top:
                        local_renames[local] = name
                    else:
                        assignments.append(f"{local} = {name}")
                continue
            if kind == "module":
                module_locals[local] = full
                if self._shadowed(package, name):
                    self.say(f"{source.path}:{node.lineno}: {package}.{name} is also a function of the package")
            fresh = local
            if is_top and local in aliases_here:
                fresh = aliases_here[local]
            elif kind == "module" and is_top and alias.asname is None and name != alias.name and not source.path.endswith("quorate/__init__.py"):
                clash = name in source.scopes.all_bound or name in source.bound_globals()
                clash = clash or any(
                    (a.asname or a.name) == name
                    for other in ast.walk(source.tree) if isinstance(other, ast.ImportFrom | ast.Import)
                    for a in other.names
                )
                if not clash or self._same_target(source, name, f"{package}.{name}"):
                    fresh = name
                    local_renames[local] = name
            explicit = alias.asname is not None and alias.asname == alias.name and fresh == name
            word = name if fresh == name and not explicit else f"{name} as {fresh}"
            lines.setdefault(package, []).append(word)
            changed = changed or (package, name, fresh) != (node.module, alias.name, local)
        start, end = source.line_span(node)
        trailing = re.search(rb"#.*", source.text[source.span(node)[1]:end])
        comment = b"  " + trailing.group(0).strip() if trailing else b""
        if not changed:
            if top:
                imports.append(source.text[start:end])
                edits.append((start, end, b""))
            else:
                edits.append((*source.span(node), source.text[slice(*source.span(node))]))
            return
        statements = [f"from {package} import {', '.join(words)}" for package, words in lines.items()]
        if top:
            imports.extend(item.encode() + comment + b"\n" for item in statements)
            edits.append((start, end, b""))
            return
        statements += assignments
        indent = source.text[start:source.span(node)[0]]
        if not statements:
            body = source.parents[node]
            for part in ("body", "orelse", "finalbody"):
                siblings = getattr(body, part, None)
                if isinstance(siblings, list) and node in siblings:
                    rest = [s for s in siblings if s is not node and not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
                    all_imports = all(isinstance(s, ast.ImportFrom) for s in rest)
                    if rest and not all_imports:
                        edits.append((start, end, b""))
                    else:
                        edits.append((*source.span(node), b"pass"))
                    return
        text = (b"\n" + indent).join(item.encode() for item in statements)
        edits.append((*source.span(node), text))

    def _same_target(self, source: Source, local: str, target: str) -> bool:
        """Whether a name is bound by imports alone, and they all mean the same module after the move."""
        if local in source.scopes.all_bound or local in source.bound_globals():
            return False
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Import):
                if any((a.asname or a.name.split(".")[0]) == local for a in node.names):
                    return False
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == local:
                        package, name, _, kind = self.new_import(node.module or "", alias.name, alias.asname)
                        if kind != "module" or f"{package}.{name}" != target:
                            return False
        return True

    def _shadowed(self, package: str, name: str) -> bool:
        for old, new in self.modules.items():
            if new == package and old in self.sources_by_module and self.sources_by_module[old].is_package:
                if self._binds(old, name):
                    return True
        return False

    def _rename_globals(self, source: Source, renames: dict[str, str]) -> list[tuple[int, int, bytes]]:
        edits = []
        if not renames:
            return edits
        for name, fresh in renames.items():
            for node in source.scopes.global_refs.get(name, []):
                if isinstance(node, ast.Name):
                    if source.text[slice(*source.span(node))] != name.encode():
                        self.say(f"{source.path}:{node.lineno}: position of {name} unknown (f-string); rename it by hand to {fresh}")
                        continue
                    if any(fresh in names for names in source.scopes.around.get(node, [])):
                        self.say(f"{source.path}:{node.lineno}: {fresh} is hidden by a local name")
                    edits.append((*source.span(node), fresh.encode()))
                elif isinstance(node, ast.Global):
                    start, end = source.span(node)
                    edits.append((start, end, re.sub(rb"\b%s\b" % name.encode(), fresh.encode(), source.text[start:end])))
                else:
                    edits.append((*source.name_span(node, name), fresh.encode()))
        pattern = re.compile(r"(?<![\w.])(%s)(?!\w)" % "|".join(map(re.escape, renames)))
        for node in ast.walk(source.tree):
            annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
            if annotation is not None:
                for child in ast.walk(annotation):
                    if isinstance(child, ast.Constant) and isinstance(child.value, str):
                        start, end = source.span(child)
                        text = source.text[start:end].decode()
                        changed = pattern.sub(lambda m: renames[m[1]], text)
                        if changed != text:
                            edits.append((start, end, changed.encode()))
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                for child in ast.walk(node.value):
                    if isinstance(child, ast.Constant) and child.value in renames:
                        edits.append((*source.span(child), f'"{renames[child.value]}"'.encode()))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                start, end = source.span(node)
                position = start
                for line in source.text[start:end].splitlines(keepends=True):
                    text = line.decode()
                    if re.match(r"\s*(>>>|\.\.\.) ", text):
                        for match in pattern.finditer(text):
                            # A keyword argument keeps its name.
                            if re.match(r"\s*=(?!=)", text[match.end():]) and re.search(r"[(,]\s*$", text[:match.start()]):
                                continue
                            at = position + len(text[:match.start()].encode())
                            edits.append((at, at + len(match[1].encode()), renames[match[1]].encode()))
                    else:
                        for match in re.finditer(r"`(%s)`" % "|".join(map(re.escape, renames)), text):
                            at = position + len(text[:match.start(1)].encode())
                            edits.append((at, at + len(match[1].encode()), renames[match[1]].encode()))
                    position += len(line)
        return edits

    def _lazy_table(self, source: Source) -> list[tuple[int, int, bytes]]:
        """Rewrite tables of lazily imported names: values become relative to `quorate`."""
        edits = []
        for node in source.tree.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
                continue
            if getattr(node.targets[0], "id", "") not in ("_HOMES", "_MODULES"):
                continue
            for key, value in zip(node.value.keys, node.value.values, strict=True):
                if not isinstance(value, ast.Constant):
                    continue
                module = f"{source.module}.{value.value}"
                if getattr(node.targets[0], "id", "") == "_HOMES":
                    home, _ = self.home_of(module, key.value)
                else:
                    home = module
                fresh = self.modules.get(home, home).removeprefix("quorate.")
                edits.append((*source.span(value), f'"{fresh}"'.encode()))
        if edits and source.module != "quorate":
            for match in re.finditer(rf'f"{re.escape(source.module)}\.\{{'.encode(), source.text):
                edits.append((match.start(), match.end(), b'f"quorate.{'))
        return edits

    # -- text

    def _apply(self, source: Source, edits: list[tuple[int, int, bytes]]) -> bytes:
        covered = sorted({(start, end) for start, end, _ in edits})
        text = source.text.decode()
        offsets = [0]
        for character in text:
            offsets.append(offsets[-1] + len(character.encode()))
        code_imports = {source.span(node) for node in ast.walk(source.tree) if isinstance(node, ast.ImportFrom)}
        back = {offset: number for number, offset in enumerate(offsets)}
        spans = [(back[a], back[b]) for a, b in code_imports]
        for start, end, fresh in self._text_matches(text, source.path, spans):
            first, last = offsets[start], offsets[end]
            if any(a < last and first < b for a, b in covered):
                continue
            edits.append((first, last, fresh.encode()))
        return apply_edits(source.text, edits, source.path)

    def _text_edits(self, text: str, path: str) -> str:
        edits = [(a, b, c.encode()) for a, b, c in self._text_matches(text, path)]
        encoded = text.encode()
        if len(encoded) != len(text):
            for start, end, fresh in sorted(self._text_matches(text, path), reverse=True):
                text = text[:start] + fresh + text[end:]
            return text
        return apply_edits(encoded, edits, path).decode()

    def _text_matches(self, text: str, path: str, code: list[tuple[int, int]] = []) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []

        def add(start: int, end: int, fresh: str) -> None:
            if text[start:end] != fresh and not any(a < end and start < b for a, b, _ in found):
                found.append((start, end, fresh))

        taken: list[tuple[int, int]] = []
        pattern = re.compile(r"from ((?:quorate|tests|experiments)[\w.]*) import ((?:\w+(?: as \w+)?)(?:, *\w+(?: as \w+)?)*)")
        for match in pattern.finditer(text):
            taken.append(match.span())
            if any(a <= match.start() < b for a, b in code):
                continue
            if match[1] not in self.modules and match[1] not in DISSOLVED:
                continue
            lines: dict[str, list[str]] = {}
            for word in match[2].split(","):
                name, _, asname = word.strip().partition(" as ")
                package, fresh, _, kind = self.new_import(match[1], name, asname or None)
                local = asname or name
                if kind == "module" and not asname and fresh != name:
                    local = fresh
                    for use in re.finditer(rf"(?<![\w./`]){name}\.(?=[a-z_A-Z])", text):
                        add(use.start(), use.start() + len(name), fresh)
                lines.setdefault(package, []).append(fresh if fresh == local else f"{fresh} as {local}")
            line_start = text.rfind("\n", 0, match.start()) + 1
            prefix = text[line_start:match.start()]
            separator = "\n" + prefix if not prefix.strip() or prefix.strip() == ">>>" else "; "
            add(*match.span(), separator.join(f"from {p} import {', '.join(w)}" for p, w in lines.items()))
        for match in re.finditer(r"(?<![\w./-])(?:quorate|tests|experiments)(?:\.\w+)+", text):
            if any(a < match.end() and match.start() < b for a, b in taken):
                continue
            add(*match.span(), self.resolve_dotted(match[0]))
        for match in re.finditer(r"(?<![\w.-])((?:\.\./)*)((?:src/quorate/|tests/|[a-z_]+/)?(?:[a-z_0-9]+/)*[a-z_0-9]+\.(?:py|csv|jsonl?|zip|parquet|eval|sqlite|html\.j2))\b", text):
            fresh = self.new_path(match[2])
            if fresh is not None:
                add(match.start(2), match.end(2), fresh)
        folders = {
            "reading/formats": "io/exports", "reading": "io", "diagnosis": "diagnostics", "meetings": "graph",
            "uncertainty": "skills", "warehouse": "backends", "writing": "io", "reporting/charts": "charts",
            "evaluation/estimates": "estimation", "evaluation/experiments": "experiments",
        }
        for match in re.finditer(r"(?<![\w.-])(`?)(src/quorate/|tests/)?((?:[a-z_]+/)*[a-z_]+)/(?=[`*\s\"',)])", text):
            inside = match[3].removeprefix("quorate/")
            if inside in folders and (match[1] or match[2]):
                prefix = match[2] or ""
                if inside == "evaluation/experiments" and prefix == "src/quorate/":
                    prefix = ""
                add(match.start(2) if match[2] else match.start(3), match.end(3), prefix + folders[inside])
        package = Path(path).parent
        if path.startswith("src/"):
            for match in re.finditer(r"`([a-z_0-9]+\.py)`", text):
                old = f"{package}/{match[1]}"
                if old in self.paths:
                    add(match.start(1), match.end(1), Path(self.paths[old]).name)
        return found

    def new_path(self, path: str) -> str | None:
        if path in self.paths:
            return self.paths[path]
        if "/" in path and f"src/quorate/{path}" in self.paths:
            return self.paths[f"src/quorate/{path}"].removeprefix("src/quorate/")
        if "/" in path and f"tests/{path}" in self.paths:
            return self.paths[f"tests/{path}"].removeprefix("tests/")
        return None

    # -- the move itself

    def run(self) -> None:
        contents: dict[str, bytes] = {}
        for new, olds in self.groups.items():
            if len(olds) == 1:
                text, _, _ = self.edit(olds[0])
                contents[new] = text
                continue
            contents[new] = self._merge(new, olds)
        texts: dict[str, bytes] = {}
        for path in self._text_files():
            name = str(path.relative_to(self.root))
            try:
                before = path.read_text()
            except UnicodeDecodeError:
                continue
            after = self._text_edits(before, name)
            if after != before:
                texts[self.paths.get(name, name)] = after.encode()
        moved = {old: new for old, new in self.paths.items() if old != new}
        for old, new in moved.items():
            target = self.root / new
            target.parent.mkdir(parents=True, exist_ok=True)
            is_primary = new not in self.groups or self.primary(new) == old
            if not (self.root / old).exists():
                continue
            if is_primary and not (new in self.paths and self.paths[new] != new) and not target.exists():
                self._git("mv", old, new)
            else:
                self._git("rm", "-q", "--cached", old)
                (self.root / old).unlink()
        for old in self.gone:
            if (self.root / old).exists():
                self._git("rm", "-q", "-f", old)
        for new, text in {**contents, **texts}.items():
            target = self.root / new
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text)
        self._packages()
        for path in sorted((HERE / "overlay").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                target = self.root / path.relative_to(HERE / "overlay")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        self._edits()
        self._contracts()
        self._prune()

    def _text_files(self) -> list[Path]:
        found = [item for item in self.root.iterdir() if item.is_file() and (item.suffix in TEXT_SUFFIXES or item.name in ("Makefile", "setup.py"))]
        found += [item for item in (self.root / ".pre-commit-config.yaml",) if item.exists() and item not in found]
        for top in ROOTS:
            for path in (self.root / top).rglob("*"):
                if path.is_file() and path.suffix in TEXT_SUFFIXES and "samples" not in path.parts and "corpus" not in path.parts:
                    found.append(path)
        return [item for item in found if item.name != "CHANGELOG.md"]

    def _merge(self, new: str, olds: list[str]) -> bytes:
        primary = self.primary(new)
        imports: list[bytes] = []
        bodies: list[bytes] = []
        docstrings: dict[str, str] = {}
        for old in olds:
            text, own, docstring = self.edit(old)
            imports += own
            if docstring:
                docstrings[old] = docstring
            body = text.strip()
            if body:
                bodies.append(body)
        table = {row[0]: row[1].replace("\\n", "\n") for row in read_table(HERE / "docstrings.tsv")}
        inside = new.removeprefix("src/quorate/")
        if inside in table:
            docstring = table[inside]
        else:
            parts = [docstrings[primary].strip()] if primary in docstrings else []
            if not Path(new).name.startswith("__"):
                parts += [text.strip() for old, text in docstrings.items() if old != primary]
            docstring = "\n\n".join(parts)
        if "\n" in docstring:
            docstring += "\n"
        quotes = b'"""'
        raw = b"r" if "\\" in docstring else b""
        unique = list(dict.fromkeys(item.strip() for item in imports))
        return raw + quotes + docstring.encode() + quotes + b"\n\n" + b"\n".join(unique) + b"\n\n\n" + b"\n\n\n".join(bodies) + b"\n"

    def _packages(self) -> None:
        base = self.root / "src/quorate"
        for folder in sorted({path.parent for path in base.rglob("*.py")}):
            name = str(folder.relative_to(base))
            if name != "." and not (folder / "__init__.py").exists():
                text = PACKAGE_DOCSTRINGS.get(name) or f"{name}."
                (folder / "__init__.py").write_text(f'"""{text}"""\n')
                self.say(f"new package {name}")
        for name, text in EXPERIMENT_DOCSTRINGS.items():
            folder = self.root / "experiments" / name
            if folder.exists() and not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text(f'"""{text}"""\n')
        for folder in {path.parent for path in (self.root / "tests").rglob("test_*.py")}:
            if not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text("")

    def _edits(self) -> None:
        for row in read_table(HERE / "edits.tsv"):
            name, before, after = (row + [""])[:3]
            before, after = (item.replace("\\n", "\n").replace("\\t", "\t") for item in (before, after))
            path = self.root / name
            text = path.read_text() if path.exists() else ""
            if before not in text:
                self.say(f"edit not applied: {name}: {before[:60]!r}")
                continue
            path.write_text(text.replace(before, after))

    def _contracts(self) -> None:
        """Put the contracts of contracts.toml into pyproject.toml, without modules that this tree does not have."""
        path = self.root / "pyproject.toml"
        new = (HERE / "contracts.toml").read_text()
        for name in sorted(set(re.findall(r"quorate\.\w+", new))):
            relative = name.removeprefix("quorate.")
            base = self.root / "src/quorate"
            if not (base / relative).exists() and not (base / f"{relative}.py").exists():
                new = re.sub(rf'  "{re.escape(name)}",\n', "", new)
                new = re.sub(rf" \| {re.escape(name)}\b|{re.escape(name)} \| ", "", new)
        for line in re.findall(r'  "quorate[.\w]+ -> quorate[.\w]+",\n', new):
            importer, imported = re.findall(r"quorate[.\w]+", line)
            path_of = base / (importer.removeprefix("quorate.").replace(".", "/") + ".py")
            if not path_of.exists() or f"from {imported} import" not in path_of.read_text():
                new = new.replace(line, "")
        pattern = r"\[\[tool\.importlinter\.contracts\]\].*?(?=\n\[tool\.ruff\])"
        path.write_text(re.sub(pattern, lambda _: new, path.read_text(), count=1, flags=re.S))

    def _prune(self) -> None:
        for top in ("src/quorate", "tests", "experiments"):
            for folder in sorted((self.root / top).rglob("*"), reverse=True):
                if folder.is_dir() and folder.name != "__pycache__":
                    rest = [item for item in folder.iterdir() if item.name != "__pycache__"]
                    if not rest:
                        shutil.rmtree(folder)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)


def apply_edits(text: bytes, edits: list[tuple[int, int, bytes]], path: str) -> bytes:
    """Replace spans; a span inside another that is replaced is dropped."""
    unique = sorted(set(edits), key=lambda item: (item[0], -item[1]))
    out: list[bytes] = []
    position = 0
    for start, end, fresh in unique:
        if start < position:
            continue
        out += [text[position:start], fresh]
        position = end
    out.append(text[position:])
    return b"".join(out)


def break_long_lines(root: Path, ruff: str) -> None:
    """Break lines of prose (comments, docstrings) that longer names have made too long."""
    for _ in range(3):
        found = subprocess.run(
            [ruff, "check", "--select", "E501", "--output-format", "concise", "."], cwd=root, capture_output=True, text=True
        ).stdout
        places = re.findall(r"^(.+?\.py):(\d+):\d+: E501", found, re.M)
        by_file: dict[str, list[int]] = defaultdict(list)
        for name, line in places:
            by_file[name].append(int(line))
        for name, numbers in by_file.items():
            path = root / name
            lines = path.read_text().split("\n")
            source = Source(name, path.read_bytes())
            prose: set[int] = set()
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                    prose |= set(range(node.lineno, node.end_lineno + 1))
            for number in sorted(numbers, reverse=True):
                text = lines[number - 1]
                is_comment = text.lstrip().startswith("#")
                if not is_comment and (number not in prose or re.match(r"\s*(>>>|[.][.][.]|\"\"\")", text)):
                    continue
                indent = re.match(r"\s*(?:# )?", text)[0]
                cut = text.rfind(" ", 0, 120)
                if cut <= len(indent):
                    continue
                rest = text[cut + 1:]
                following = lines[number] if number < len(lines) else ""
                joins = following.startswith(indent) and following.strip() and not re.match(
                    r"\s*(>>>|[.][.][.]|[A-Z][a-z]+:$|\w+: |- |\"\"\")", following
                ) and len(following) + len(rest) < 119 and (is_comment or number + 1 in prose)
                lines[number - 1] = text[:cut]
                if joins:
                    lines[number] = indent + rest + " " + following[len(indent):]
                else:
                    lines.insert(number, indent + rest)
            path.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--no-format", action="store_true")
    parser.add_argument("--ruff", default=None)
    given = parser.parse_args()
    root = given.checkout.resolve()
    mover = Mover(root)
    mover.run()
    report = root.parent / "move_report.txt"
    report.write_text("\n".join(mover.report) + "\n")
    print("\n".join(mover.report))
    bad = []
    for path in [*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py"), *(root / "experiments").rglob("*.py")]:
        try:
            ast.parse(path.read_bytes())
        except SyntaxError as error:
            bad.append(f"{path}: {error}")
    print("\n".join(bad) or "every file parses")
    if not given.no_format and not bad:
        ruff = given.ruff or str(root / ".venv/bin/ruff")
        subprocess.run([ruff, "format", "-q", "."], cwd=root, check=False)
        break_long_lines(root, ruff)
        for words in (["check", "--fix", "-q", "."], ["format", "-q", "."], ["check", "--fix", "-q", "."], ["format", "-q", "."]):
            subprocess.run([ruff, *words], cwd=root, check=False)
    done = subprocess.run(
        [str(root / ".venv/bin/python"), "-m", "tools.reference"], cwd=root, check=False, capture_output=True, text=True
    )
    print("tools.reference:", done.returncode, done.stderr[-300:])
    subprocess.run(["git", "add", "-A"], cwd=root, check=False)


if __name__ == "__main__":
    main()
