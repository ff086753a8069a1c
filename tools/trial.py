"""One run of tests in a forked process: with a fault in one file, or with a look at which lines each test passes."""

import ast
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

MEMORY = 6 << 30  # bytes of address space that a faulty program may take
ALONE = 5.0  # seconds that a test may take beyond FACTOR times what it took when it was measured
FACTOR = 5.0
IMPORTS = 60.0  # seconds for the imports, a fault in which may be an endless loop
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is loaded before the fork


def forked(work: Callable[[], int]) -> int:
    """Start some work in a process of its own, whose exit status is the work's result; return its id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.setsid()
        said = os.open("../said.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)  # the last one's words are enough
        for stream in range(3):
            os.dup2(said, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.path[:0] = [str(Path.cwd() / "src"), str(Path.cwd())]
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def survives(path: str, tree: ast.Module, stages: Sequence[dict[str, float]]) -> int:
    """Run the tests of each stage with this syntax tree in place of a file; 0 if all pass."""
    faulty = Faulty(path, tree)
    sys.meta_path.insert(0, faulty)
    _allow(IMPORTS)
    try:
        importlib.import_module(faulty.module)  # at once: pytest would load a file whose examples it runs by itself
    except Exception:
        return int(pytest.ExitCode.INTERRUPTED)
    _leave_failures_large()
    for seconds in stages:
        status = pytest.main([*OPTIONS, "--hypothesis-profile=mutating", *_files(seconds)], plugins=[Only(seconds)])
        if status != pytest.ExitCode.OK:
            return int(status)
    return 0


def trace(test_file: str, rooms: Sequence[str], save: Callable[[dict[str, Any]], None]) -> int:
    """Run the tests of one file, and save what each of them passes."""
    tracer = Tracer(rooms)
    pytest.main([*OPTIONS[1:], test_file], plugins=[tracer])
    save(tracer.tests)
    return 0


def _files(tests: dict[str, float]) -> list[str]:
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))


def _leave_failures_large() -> None:
    """Let hypothesis stop at the first failure: making it small is for people."""
    settings.register_profile(
        "mutating",
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.explicit, Phase.generate],
        report_multiple_bugs=False,
    )


class Faulty(PathFinder, SourceFileLoader):  # type: ignore[misc]
    """Finds one file, and loads a changed syntax tree in its place."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self.module = ".".join(Path(path).with_suffix("").parts[1:]).removesuffix(".__init__")
        self.tree = tree
        SourceFileLoader.__init__(self, self.module, str(Path(path).absolute()))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # type: ignore[override]
        """Find the one module."""
        spec = PathFinder.find_spec(name, path) if name == self.module else None
        if spec is not None:
            spec.loader = self
        return spec

    def get_code(self, fullname: str) -> CodeType:
        """Compile the changed tree."""
        return compile(self.tree, self.path, "exec")


class Only:
    """A pytest plugin that runs the given tests, the quickest first, and ends the process if one takes too long."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        _allow(IMPORTS)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and order."""
        items[:] = [item for item in items if item.nodeid in self.seconds]
        items.sort(key=lambda item: self.seconds[item.nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Set the test its time."""
        _allow(ALONE + FACTOR * self.seconds[item.nodeid])


def _allow(seconds: float) -> None:
    """End this process once it has computed for so long: by the processor's time, since machines are shared."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


class Tracer:
    """A pytest plugin that notes, for each test that passes, the lines of the rooms that it runs and its time."""

    def __init__(self, rooms: Sequence[str]) -> None:
        self.rooms = tuple(str(Path.cwd() / "src" / "quorate" / room) + os.sep for room in rooms)
        self.tests: dict[str, dict[str, Any]] = {}
        self.lines: set[tuple[str, int]] = set()
        self.passed, self.began = False, 0.0

    def pytest_runtest_setup(self) -> None:
        """Begin to look."""
        self.lines, self.passed, self.began = set(), False, time.process_time()
        sys.settrace(self.enter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether the test passed."""
        self.passed = report.passed if report.when == "call" else self.passed

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Keep what was seen."""
        sys.settrace(None)
        by_file: dict[str, list[int]] = {}
        for name, line in sorted(self.lines):
            by_file.setdefault(os.path.relpath(name), []).append(line)
        if self.passed:
            self.tests[item.nodeid] = {"seconds": time.process_time() - self.began, "lines": by_file}

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Look into the functions of the rooms."""
        return self.step if frame.f_code.co_filename.startswith(self.rooms) else None

    def step(self, frame: FrameType, event: str, argument: object) -> Any:
        """Note the line."""
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.step
