"""The built wheel works in an empty environment: it has its modules, its kernels in C and its command."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy
import pytest

from tests.conftest import need

ROOT = Path(__file__).parent.parent
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
ANSWERS = "task,worker,label\n" + "".join(
    f"t{t},w{w},{'xy'[(t + (w == 2 and t == 1)) % 2]}\n" for t in range(6) for w in range(3)
)


def run(*arguments: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(each) for each in arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; the dependencies are those of the tests."""
    need("compiler", shutil.which("cc") or shutil.which("cl"), "install a C compiler")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__", "*.egg-info")
    )
    for name in ("builder", "empty"):
        made = run(sys.executable, "-m", "venv", name, *([] if name == "builder" else ["--without-pip"]), cwd=folder)
        need("venv", made.returncode == 0, "install the module venv of Python")
    programs = "Scripts" if sys.platform == "win32" else "bin"
    pip = (folder / "builder" / programs / "python", "-m", "pip", "--disable-pip-version-check")
    built = run(*pip, "wheel", "--no-deps", "--wheel-dir", "dist", source, cwd=folder)
    need("package index", "No matching distribution found for setuptools" not in built.stderr, "connect to a network")
    assert built.returncode == 0, built.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name  # one wheel for every Python from 3.11 on
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("quorate/blocks/_native") for name in names)
    assert not any(name.startswith(("experiments", "tests", "benchmarks")) for name in names)
    python = folder / "empty" / programs / "python"
    installed = run(*pip, "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    assert installed.returncode == 0, installed.stderr
    own = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout.strip()
    dependencies = {str(Path(numpy.__file__).parents[1]), sysconfig.get_path("purelib")}
    (Path(own) / "dependencies.pth").write_text("".join(f"{path}\n" for path in sorted(dependencies)))
    return folder / "empty" / programs


def test_the_wheel_has_its_kernels_in_c(environment: Path, tmp_path: Path) -> None:
    where = run(environment / "python", "-c", "import quorate; print(quorate.__file__)", cwd=tmp_path)
    assert str(environment.parent) in where.stdout, where.stderr
    version = run(environment / "quorate", "--version", cwd=tmp_path)
    assert (version.returncode, "kernels in C" in version.stdout) == (0, True), version.stderr


# Prints the functions of the extension that an aggregation calls.
CALLED = """
from quorate.blocks import kernels
import quorate
native, called = kernels.native, set()
class Recorder:
    def __getattr__(self, name):
        called.add(name)
        return getattr(native, name)
kernels.native = Recorder()
quorate.aggregate(quorate.simulate.crowd(300, 10, 5, seed=0).answers)
print(*sorted(called))
"""


def test_an_aggregation_with_the_wheel_calls_the_kernels_in_c(environment: Path, tmp_path: Path) -> None:
    called = run(environment / "python", "-c", CALLED, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    assert len(called.stdout.split()) > 3


def test_commands_of_the_wheel_run(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(ANSWERS)
    labelled = run(environment / "quorate", "aggregate", "answers.csv", "-o", "labels.csv", cwd=tmp_path)
    assert labelled.returncode == 0, labelled.stderr
    labels = [line.split(",")[:2] for line in (tmp_path / "labels.csv").read_text().splitlines()[1:]]
    assert dict(labels) == {f"t{t}": "xy"[t % 2] for t in range(6)}
    added = run(environment / "quorate", "ledger", "add", "a.ledger", "answers.csv", cwd=tmp_path)
    assert "a.ledger now holds 18 answers, 6 tasks, 3 workers" in added.stdout, added.stderr
