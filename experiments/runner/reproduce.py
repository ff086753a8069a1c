"""Reproduce every table and figure of the paper; the command line calls `reproduce`."""

import ast
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import quorate
from experiments.advice import advising
from experiments.calibration import coverage, reliability
from experiments.estimation import estimate_coverage
from experiments.paper import (
    benchmark_sets,
    error_bound,
    gradients,
    graph_sizes,
    graph_types,
    learnability,
    skill_distributions,
    sparsification,
    time_complexity,
    trajectories,
    weightings,
)
from experiments.runner.contents import failure, index
from experiments.runner.experiment import Claim, Experiment
from experiments.runner.figures import altair
from experiments.runner.render import converter, write
from quorate.errors import QuorateError, UnwritableFileError, unknown_name_error
from quorate.methods.registry import METHODS
from quorate.progress import tracked

PACKAGE = Path(str(quorate.__file__)).parent
HERE = Path(__file__).parent
ROOTS = {"quorate": PACKAGE, "experiments": HERE.parent}
WRITTEN = "written"
UNCHANGED = "unchanged"
FAILED = "failed"


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper, or a further experiment."""

    title: str
    section: str  # where the paper has it
    module: ModuleType

    def run(self, *, quick: bool, seed: int) -> Experiment:
        """Run the experiment."""
        found: Experiment = self.module.run(quick=quick, seed=seed)
        return found


@dataclass(frozen=True)
class Outcome:
    """The outcome of an item."""

    name: str
    title: str
    status: str  # WRITTEN, UNCHANGED (an earlier run with the same inputs is there) or FAILED
    files: tuple[Path, ...] = ()
    reason: str = ""  # of a failure


# In the paper's order.
ITEMS = {
    "graph-types": Item(
        "Three graphs: clique, star, ring",
        "Experimental Results, Impact of Graph Type and Noise Robustness; Figures 1 (comparison) and 2 (GraphType)",
        graph_types,
    ),
    "skill-distributions": Item(
        "Five distributions of skill",
        "Experimental Results, Influence of Different Skill-Distribution; Table 1 (beta)",
        skill_distributions,
    ),
    "graph-sizes": Item(
        "Stars of 21 to 91 workers",
        "Experimental Results, Influence of Graph Size; Table 2 (graphsize)",
        graph_sizes,
    ),
    "weightings": Item(
        "Three weightings of the pairs",
        "Experimental Results, Influence of Weighting Function; Table 3 (weighting)",
        weightings,
    ),
    "benchmark-sets": Item(
        "Five public datasets",
        "Experimental Results, Benchmark Dataset Experiments; Tables 4 (realdata) and 5 (errorrate)",
        benchmark_sets,
    ),
    "trajectories": Item(
        "The way to the solution",
        "Beyond the paper: errors along the iterations, where its figures are not reached",
        trajectories,
    ),
    "sparsification": Item(
        "Fewer interactions on RTE1 and Temp",
        "Experimental Results, Influence of Graph Sparsification; Figure 3 (Sparsity)",
        sparsification,
    ),
    "gradients": Item(
        "Plain against exponentiated gradient",
        "Experimental Results, Normal gradient descent; Figures 4 (expvsnormal) and 5 (expvsnormalpert)",
        gradients,
    ),
    "time-complexity": Item(
        "The cost of an iteration",
        "Experimental Results, Time Complexity; Table 6 (timecomplexity)",
        time_complexity,
    ),
    "learnability": Item(
        "One edge decides what can be learnt",
        "Beyond the paper: Theorem 8 (learnability), seen",
        learnability,
    ),
    "error-bound": Item(
        "The bound and the error",
        "Beyond the paper: Theorem 12 (pert) and the finite-task bound, evaluated",
        error_bound,
    ),
    "advice": Item(
        "Fewer answers for the same error",
        "Beyond the paper: whom to ask next, and when to stop",
        advising,
    ),
    "coverage": Item(
        "Intervals that hold as often as they say",
        "Beyond the paper: intervals on skills, on simulated crowds",
        coverage,
    ),
    "calibration": Item(
        "Confidence that means what it says",
        "Beyond the paper: how often a label is right, next to its confidence",
        reliability,
    ),
    "estimates": Item(
        "Shares and accuracies with error bars",
        "Beyond the paper: prediction-powered intervals from known labels and answers, on the public sets",
        estimate_coverage,
    ),
}


def reproduce(
    items: Sequence[str] = ("all",), folder: Path = Path("reproduction"), *, quick: bool = False, seed: int = 0
) -> list[Outcome]:
    """Run experiments and write their files, and one page that shows all that is in the folder.

    An item whose files are there, from the same code, settings and seed, is not run again. One that fails, for want of
    its data for instance, is marked, and the others go on.

    Args:
        items: names from `ITEMS`, or ``all``.
        folder: where to write; made if it is not there.
        quick: fewer trials and sizes, for a first look.
        seed: the same seed gives the same bytes, but for what is measured in seconds.

    Raises:
        UnknownNameError: there is no such item.
        QuorateError: altair or vl-convert is not installed.
        UnwritableFileError: the folder cannot be written to.
    """
    for each in items:
        if each not in [*ITEMS, "all"]:
            raise unknown_name_error(each, [*ITEMS, "all"], "item")
    chosen = [name for name in ITEMS if "all" in items or name in items]
    altair(), converter()  # raise import errors before hours of work
    folder = Path(folder)
    outcomes = []
    for name in tracked("items", chosen):
        outcomes.append(_reproduce(name, folder, quick, seed))
    _write_index(folder, {each.name: each.reason for each in outcomes if each.status == FAILED})
    return outcomes


def _reproduce(name: str, folder: Path, quick: bool, seed: int) -> Outcome:
    item = ITEMS[name]
    place = folder / name
    inputs = inputs_of(item, quick, seed)
    stamp = read_stamp(place)
    if stamp is not None and stamp["inputs"] == inputs:
        return Outcome(name, item.title, UNCHANGED, tuple(place / file for file in stamp["files"]))
    try:
        _clear(place)
        began = time.process_time()
        experiment = item.run(quick=quick, seed=seed)
        seconds = time.process_time() - began
        if quick:
            experiment = replace(experiment, claims=())  # a few trials do not decide claims
    except UnwritableFileError:
        raise
    except QuorateError as error:
        return Outcome(name, item.title, FAILED, reason=str(error))
    files = write(experiment, name, item.title, item.section, place)
    claims = [asdict(claim) for claim in experiment.claims]
    # Measured times, which differ between runs, are in a separate file.
    (folder / f"{name}-measured.json").write_text(json.dumps({"seconds": round(seconds, 1)}) + "\n", encoding="utf-8")
    # The stamp is written last: without it the item counts as not run.
    content = {"inputs": inputs, "files": [file.name for file in files], "claims": claims}
    (place / "stamp.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return Outcome(name, item.title, WRITTEN, tuple(files))


def _clear(place: Path) -> None:
    """Create the folder of the item, and remove the stamp of an earlier run."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        (place / "stamp.json").unlink(missing_ok=True)
    except OSError as error:
        raise UnwritableFileError(f"cannot write into {place}: {error.strerror or error}") from None


def inputs_of(item: Item, quick: bool, seed: int) -> dict[str, Any]:
    """Return everything that an item's files depend on: code, settings, seed and version."""
    return {"version": quorate.__version__, "quick": quick, "seed": seed, "source": source_hash(item.module)}


def source_hash(module: ModuleType) -> str:
    """Hash the source of an experiment, of all that it imports, of all methods and of what draws and writes."""
    digest = hashlib.sha256()
    methods = [PACKAGE / "methods" / f"{method.home.split(':')[0]}.py" for method in METHODS.values()]
    for file in imported([Path(str(module.__file__)), HERE / "render.py", *methods]):
        root = PACKAGE if file.is_relative_to(PACKAGE) else HERE.parent
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def imported(files: Sequence[Path]) -> list[Path]:
    """List these files and those of the package and of the experiments that they import, directly or not."""
    waiting = list(files)
    found = set(files)
    while waiting:
        new = _imports(waiting.pop().read_text(encoding="utf-8")) - found
        found |= new
        waiting += sorted(new)
    return sorted(found)


@cache
def _imports(source: str) -> frozenset[Path]:
    """Find the files of the package and of the experiments that a source imports."""
    candidates: list[Path] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ROOTS:
            root, *rest = node.module.split(".")
            home = ROOTS[root].joinpath(*rest)
            named = [home / alias.name for alias in node.names]  # a module of a package, or a name in a module
            candidates += [each.with_suffix(".py") for each in (home, *named)] + [home / "__init__.py"]
    return frozenset(each for each in candidates if each.is_file())


def read_stamp(place: Path) -> dict[str, Any] | None:
    """Return the stamp of an earlier run; None if the run is not complete."""
    try:
        stamp: dict[str, Any] = json.loads((place / "stamp.json").read_text(encoding="utf-8"))
        is_complete = all((place / file).is_file() for file in stamp["files"]) and "inputs" in stamp
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stamp if is_complete else None


def _write_index(folder: Path, failures: dict[str, str]) -> None:
    """Show every item that the folder holds, from this run or an earlier one, and what failed now."""
    sections: list[tuple[str, str, str]] = []
    claims: list[tuple[str, Claim]] = []
    settings: dict[str, list[str]] = {}
    for name, item in ITEMS.items():
        stamp = read_stamp(folder / name)
        if name in failures:
            sections.append((name, item.title, failure(name, item.title, item.section, failures[name])))
        elif stamp is not None:
            html = (folder / name / "section.html").read_text(encoding="utf-8")
            sections.append((name, item.title, html))
            claims += [(name, Claim(**each)) for each in stamp["claims"]]
            settings.setdefault(_settings(item, stamp["inputs"]), []).append(name)
    parts = [how if len(settings) == 1 else f"{how}: {', '.join(names)}" for how, names in settings.items()]
    try:
        (folder / "index.html").write_text(index(sections, claims, ". ".join([*parts, ""]).strip()), encoding="utf-8")
    except OSError as error:
        raise UnwritableFileError(f"cannot write into {folder}: {error.strerror or error}") from None


def _settings(item: Item, inputs: dict[str, Any]) -> str:
    """Return a sentence on how an item was run, and whether the code has changed since."""
    length = "a quick look with few trials" if inputs["quick"] else "in full"
    older = "" if inputs["source"] == source_hash(item.module) else ", by an earlier state of the code"
    return f"Version {inputs['version']}, seed {inputs['seed']}, {length}{older}"
