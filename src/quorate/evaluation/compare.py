"""Many methods on one reading of the data, side by side."""

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import IntArray, Shown, Table
from quorate.errors import OptionError, QuorateError, UnknownMethodError, count, unknown
from quorate.evaluation.metrics import calibration_error, expected_error, log_loss
from quorate.io.gold import gold_for, labels_for
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import given
from quorate.io.read_table import Source
from quorate.methods.registry import METHODS, aggregate
from quorate.notes import CONTRADICTION, NOT_CONVERGED
from quorate.progress import report
from quorate.result import Result

CANNOT_STAND = (NOT_CONVERGED, CONTRADICTION)  # notes of a method that ended where it cannot stand
ALONE = 0.5  # of the tasks: with fewer labels alike, two methods oppose each other


@dataclass(frozen=True)
class Entry:
    """How one method fared; None where it does not apply."""

    method: str
    error: float | None = None  # expected error over tasks with truth, exact ties split evenly
    log_loss: float | None = None
    calibration_error: float | None = None
    agreement: float | None = None  # mean share of tasks on which the other methods give the same label
    seconds: float | None = None
    failed: str | None = None  # the reason
    doubts: tuple[str, ...] = ()  # why its labels cannot be relied on


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Every method's entry, and how often each two give the same label."""

    entries: tuple[Entry, ...]
    labels: tuple[IntArray | None, ...]  # of each method; None where it failed
    n_tasks: int
    n_scored: int | None  # tasks with truth; None without a truth

    def summary(self) -> str:
        """Say how many methods ran on how many tasks, and which comes first.

        >>> import quorate
        >>> compare(quorate.simulate.crowd(50, 5, 3).answers, methods=["majority", "rank-one"])
        <Comparison: 2 methods on 50 tasks; most like the others: majority>
        """
        first = next(self.rows(), [None])[0]
        best = "most like the others" if self.n_scored is None else "fewest errors"
        return f"{count(len(self.entries), 'method')} on {count(self.n_tasks, 'task')}; {best}: {first}"

    def _tables(self) -> tuple[Table, ...]:
        rows = [[str(cell) if k in (0, len(row) - 1) else cell for k, cell in enumerate(row)] for row in self.rows()]
        columns = zip(*rows, strict=True)
        return (Table(pa.table({name: list(cells) for name, cells in zip(self.columns(), columns, strict=True)})),)

    def agreement(self) -> list[list[float | None]]:
        """Return the share of tasks on which each two methods agree."""
        return [[_alike(one, two) for two in self.labels] for one in self.labels]

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate compare --json` prints."""
        return {
            "tasks": self.n_tasks,
            "scored": self.n_scored,
            "methods": [asdict(entry) for entry in self.entries],
            "agreement": self.agreement(),
        }

    def doubts(self) -> list[str]:
        """Say which methods ended where they cannot stand, a line each.

        >>> import quorate
        >>> compare(quorate.simulate.crowd(50, 5, 3).answers, methods=["majority", "rank-one"]).doubts()
        []
        """
        return [text for entry in self.entries for text in entry.doubts]

    def columns(self) -> list[str]:
        """Name the columns of `rows`."""
        figures = ["agreement"] if self.n_scored is None else ["error", "log-loss", "calibration"]
        return ["method", *figures, "seconds", "failed"]

    def rows(self) -> Iterator[list[Any]]:
        """Yield one row a method, the best first: by error or, without truth, by agreement with the others."""

        def rank(entry: Entry) -> float:
            best = entry.error if self.n_scored is not None else -(entry.agreement or 0.0)
            return np.inf if entry.failed or best is None else best

        for entry in sorted(self.entries, key=rank):
            figures = [entry.error, entry.log_loss, entry.calibration_error]
            shown = [entry.agreement] if self.n_scored is None else figures
            yield [entry.method, *shown, entry.seconds, entry.failed or ""]


@keep_pipes()
def compare(
    source: Answers | Source,
    truth: Source = None,
    *,
    methods: Sequence[str] | None = None,
    gold: Source = None,
    seed: int = 0,
    results: Mapping[str, Result] | None = None,
    **reading: Unpack[ReadKeywords],
) -> Comparison:
    """Run several methods on the same answers; one that fails is marked, and the others go on.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        truth: true labels of some or all tasks, to score against, in the columns that the answers have; not shown to
            the methods.
        methods: names, each with options if wanted, as ``er:classes=ordered``; all methods by default.
        gold: known labels that the methods may use, as in `quorate.aggregate`.
        seed: for those that draw random numbers.
        results: of methods that have run on the same answers already, by name; they are not run again, nor timed.
        reading: as `quorate.read` takes it.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 10, 4, skills=np.linspace(-0.2, 0.9, 10), seed=0)
    >>> found = compare(crowd.answers, crowd.truth_table, methods=["majority", "rank-one"])
    >>> found.entries[1].error < found.entries[0].error
    True
    """
    chosen = list(METHODS) if methods is None else list(methods)
    parsed = [parse_method(each) for each in chosen]
    found = given(source, reading)
    answers = found.answers
    known = gold_for(found, gold)
    true = labels_for(found, truth, "the truth")
    entries = []
    labels = []
    for number, (spec, (name, options)) in enumerate(zip(chosen, parsed, strict=True)):
        report("methods", number, len(chosen))
        there = (results or {}).get(spec)
        entry, label = (
            _run(spec, name, options, answers, true, known, seed)
            if there is None
            else _scored(Entry(spec), there, true)
        )
        entries.append(entry)
        labels.append(label)
    report("methods", len(chosen), len(chosen))
    agreements = [_mean_agreement(number, labels) for number in range(len(labels))]
    entries = [replace(entry, agreement=value) for entry, value in zip(entries, agreements, strict=True)]
    entries = [replace(entry, doubts=(*entry.doubts, *_opposed(k, chosen, labels))) for k, entry in enumerate(entries)]
    n_scored = None if true is None else expected_error(aggregate(answers, "majority"), true).n_scored
    return Comparison(tuple(entries), tuple(labels), answers.n_tasks, n_scored)


def parse_method(spec: str) -> tuple[str, dict[str, Any]]:
    """Read a method's name and options: ``name`` or ``name:option=value:option=value``.

    Raises:
        UnknownMethodError: there is no such method.
        OptionError: an option has no value.

    >>> parse_method("kos:classes=ordered:iterations=20")
    ('kos', {'classes': 'ordered', 'iterations': 20})
    """
    name, *options = spec.split(":")
    if name not in METHODS:
        raise unknown(name, METHODS, "method", UnknownMethodError)
    for option in options:
        if "=" not in option:
            raise OptionError(f"write the options of {name!r} as {name}:option=value, not {spec!r}")
    return name, {key: _value(text) for key, text in (option.split("=", 1) for option in options)}


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)


def _run(
    spec: str, name: str, options: dict[str, Any], answers: Answers, truth: Source, gold: Source, seed: int
) -> tuple[Entry, IntArray | None]:
    if "seed" in inspect.signature(METHODS[name].load()).parameters:
        options = {"seed": seed, **options}
    started = time.perf_counter()
    try:
        result = aggregate(answers, name, gold=gold, **options)
    except QuorateError as error:
        return Entry(spec, failed=str(error)), None
    except (ArithmeticError, ValueError, np.linalg.LinAlgError, MemoryError) as error:
        return Entry(spec, failed=f"{type(error).__name__}: {error}"), None
    seconds = time.perf_counter() - started
    return _scored(Entry(spec, seconds=seconds), result, truth)


def _scored(entry: Entry, result: Result, truth: Source) -> tuple[Entry, IntArray | None]:
    posterior = METHODS[result.method].posterior
    entry = replace(entry, doubts=tuple(note.text for note in result.notes if note.kind in CANNOT_STAND))
    return (entry if truth is None else _score(entry, result, truth, posterior)), result.task_vote.label


def _score(entry: Entry, result: Result, truth: Source, posterior: bool) -> Entry:
    entry = replace(entry, error=expected_error(result, truth).error)
    if not posterior:
        return entry
    calibration = calibration_error(result, truth)
    if np.isnan(calibration):  # no confidence is stated
        return entry
    return replace(entry, log_loss=log_loss(result, truth), calibration_error=calibration)


def _alike(one: IntArray | None, two: IntArray | None) -> float | None:
    """Return the share of labels that are the same, over the tasks that have one."""
    if one is None or two is None:
        return None
    has_labels = (one >= 0) & (two >= 0)
    return float((one == two)[has_labels].mean()) if has_labels.any() else None


def _opposed(number: int, names: Sequence[str], labels: Sequence[IntArray | None]) -> tuple[str, ...]:
    """Tell of a method that is alone: every other gives other labels to most tasks, and they agree among themselves."""
    shares = [_alike(labels[number], other) for k, other in enumerate(labels) if k != number]
    others = [_alike(one, two) for one, two in combinations([x for k, x in enumerate(labels) if k != number], 2)]
    known, among = ([share for share in each if share is not None] for each in (shares, others))
    if len(known) < 2 or max(known) >= ALONE or float(np.mean(among)) < ALONE:
        return ()
    return (f"{names[number]}: every other method gives most tasks other labels; its own cannot be relied on",)


def _mean_agreement(number: int, labels: Sequence[IntArray | None]) -> float | None:
    own = labels[number]
    shares = [_alike(own, other) for k, other in enumerate(labels) if k != number]
    known = [share for share in shares if share is not None]
    return float(np.mean(known)) if known else None
