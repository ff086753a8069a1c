"""Many methods on one reading of the data, side by side."""

import inspect
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import IntArray, Shown, Table
from quorate.blocks.sampling import TaskSample, sample_of_tasks
from quorate.errors import OptionError, QuorateError, count, in_python
from quorate.evaluation.metrics import calibration_error, expected_error, log_loss, true_classes
from quorate.io.arguments import check_arguments
from quorate.io.gold import gold_for, labels_for
from quorate.io.options import ReadKeywords, names_listed
from quorate.io.pipes import keep_pipes
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.methods.aggregate import aggregate
from quorate.methods.registry import METHODS, method_name
from quorate.notes import CONTRADICTION, NOT_CONVERGED, unchecked_models, warning_line
from quorate.progress import report
from quorate.result import Result, result_of_sample
from quorate.statistics import binomial_tail, holm, wilson_interval

UNRELIABLE_NOTES = (NOT_CONVERGED, CONTRADICTION)  # notes after which the labels of a method cannot be relied on
DEFAULT_METHOD = "quorate"  # the others are tested against it, if it ran
SIGNIFICANCE = 0.05  # conventional
# Answers above which commands compare methods on a sample of complete tasks. The sample is larger than that of tests,
# because the accuracy of a method depends on the number of answers per worker. GLAD takes most of the time.
MAX_COMPARED_ANSWERS = 500_000
MIN_AGREEMENT = 0.5  # share of tasks; two methods whose labels agree on fewer contradict each other


@dataclass(frozen=True)
class Entry:
    """The figures of one method; None where a figure does not apply."""

    method: str
    error: float | None = None  # expected error over tasks with truth, exact ties split evenly
    error_low: float | None = None  # Wilson interval of the error, 95 %
    error_high: float | None = None
    p_value: float | None = None  # exact McNemar test against `Comparison.reference`, Holm-corrected
    log_loss: float | None = None
    calibration_error: float | None = None
    agreement: float | None = None  # mean share of tasks on which the other methods give the same label
    seconds: float | None = None
    failed: str | None = None  # the reason
    doubts: tuple[str, ...] = ()  # why its labels cannot be relied on


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """The result of each method, and how often every two methods give the same label."""

    entries: tuple[Entry, ...]
    labels: tuple[IntArray | None, ...]  # of each method; None where it failed
    n_tasks: int
    n_scored: int | None  # tasks with truth; None without a truth
    reference: str | None = None  # the method that the others are tested against; None without a truth
    sample: TaskSample | None = None  # the tasks on which the methods were compared; None: all
    warnings: tuple[str, ...] = ()  # warnings that are shown before the figures

    def summary(self) -> str:
        """Return the number of tasks on which labels differ and, with a truth, which differences may be chance.

        >>> import quorate
        >>> compare(quorate.simulate.crowd(50, 5, 3).answers, methods=["majority", "rank-one"])
        <Comparison: 2 methods; their labels differ on ... of 50 tasks. Without known labels, none can be called best.>
        """
        lines = self.lines()
        n_warnings = sum(line in self.warnings for line in lines)
        return "\n".join([*lines[:n_warnings], " ".join([*lines[n_warnings:], *self.sample_line()])])

    def sample_line(self) -> list[str]:
        """Return a sentence on the sample on which the methods were compared; empty if on all tasks."""
        return [] if self.sample is None else [f"The methods were compared on {self.sample.text()}."]

    def n_differing(self) -> int:
        """Return the number of tasks to which at least two methods give different labels."""
        ran = [labels for labels in self.labels if labels is not None]
        return int(np.any([labels != ran[0] for labels in ran[1:]], axis=0).sum()) if len(ran) > 1 else 0

    def lines(self) -> list[str]:
        """Return the comparison as sentences.

        >>> import quorate
        >>> crowd = quorate.simulate.crowd(400, 9, 4, skills=np.linspace(-0.2, 0.9, 9), seed=1)
        >>> for line in compare(crowd.answers, crowd.truth_table, methods=["quorate", "majority"]).lines():
        ...     print(line)
        2 methods; their labels differ on ... of 400 tasks.
        majority is clearly worse: ... of 400 labels are wrong, quorate ... (paired test).
        """
        head = (
            f"{count(len(self.entries), 'method')}; their labels differ on {self.n_differing():,} of "
            f"{count(self.n_tasks, 'task')}."
        )
        if self.n_scored is None:
            return [*self.warnings, f"{head} Without known labels, none can be called best."]
        errors = {entry.method: entry.error for entry in self.entries}
        reference = None if self.reference is None else errors[self.reference]
        tested = [entry for entry in self.entries if entry.p_value is not None and entry.error is not None]
        if reference is None or not tested:
            return [head]
        lines = [head]
        chance = []
        for entry in tested:
            assert entry.error is not None
            assert entry.p_value is not None
            if entry.p_value >= SIGNIFICANCE:
                chance.append(f"{entry.method} {_wrong(entry.error, self.n_scored)}")
                continue
            side = "better" if entry.error < reference else "worse"
            lines.append(
                f"{entry.method} is clearly {side}: {entry.error * self.n_scored:g} of {self.n_scored:,} labels are "
                f"wrong, {self.reference} {reference * self.n_scored:g} ({_test_name(len(tested))})."
            )
        if chance:
            noun = "label" if round(reference * self.n_scored) == 1 else "labels"
            lines.append(
                f"{self.reference} has {_wrong(reference, self.n_scored)} wrong {noun} of {self.n_scored:,}. For these "
                f"methods, the difference may be chance ({_test_name(len(tested))}): {', '.join(chance)}."
            )
        return lines

    def label_table(self, answers: Answers) -> Table:
        """Return the label of every method for every task that was compared; a method that failed has no column.

        >>> import quorate
        >>> crowd = quorate.simulate.crowd(5, 3, 3, seed=0)
        >>> compare(crowd.answers, methods=["majority", "wawa"]).label_table(crowd.answers).column_names
        ['task', 'majority', 'wawa']
        """
        columns = {"task": answers.task_names if self.sample is None else self.sample.answers.task_names}
        for entry, labels in zip(self.entries, self.labels, strict=True):
            if labels is not None:
                columns[entry.method] = answers.classes.take(pa.array(labels, mask=labels < 0))
        return Table(pa.table(columns))

    def _tables(self) -> tuple[Table, ...]:
        rows = [[str(cell) if k in (0, len(row) - 1) else cell for k, cell in enumerate(row)] for row in self.rows()]
        columns = zip(*rows, strict=True)
        return (Table(pa.table({name: list(cells) for name, cells in zip(self.columns(), columns, strict=True)})),)

    def agreement(self) -> list[list[float | None]]:
        """Return the share of tasks on which two methods agree; methods × methods, None for a method that failed."""
        return _agreement(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate compare --json` prints."""
        return {
            "tasks": self.n_tasks,
            "scored": self.n_scored,
            "methods": [asdict(entry) for entry in self.entries],
            "agreement": self.agreement(),
            "warnings": list(self.warnings),
            **({} if self.sample is None else {"test_sample": self.sample.to_dict()}),
        }

    def doubts(self) -> list[str]:
        """Return the methods whose result cannot be trusted, one line each.

        >>> import quorate
        >>> compare(quorate.simulate.crowd(50, 5, 3).answers, methods=["majority", "rank-one"]).doubts()
        []
        """
        return [text for entry in self.entries for text in entry.doubts]

    def columns(self) -> list[str]:
        """Return the column names of `rows`."""
        scored = ["error", "error_low", "error_high", "log-loss", "calibration error"]
        figures = ["agrees with the others"] if self.n_scored is None else scored
        return ["method", *figures, "seconds", *(["failed"] if self._has_failures else [])]

    @property
    def _has_failures(self) -> bool:
        return any(entry.failed for entry in self.entries)

    def rows(self) -> Iterator[list[Any]]:
        """Yield one row per method: the fewest errors first; without truth, in the order in which they were named."""

        def rank(entry: Entry) -> float:
            return np.inf if entry.failed else entry.error or 0.0

        for entry in sorted(self.entries, key=rank):
            figures = [entry.error, entry.error_low, entry.error_high, entry.log_loss, entry.calibration_error]
            shown = [entry.agreement] if self.n_scored is None else figures
            yield [entry.method, *shown, entry.seconds, *([entry.failed or ""] if self._has_failures else [])]


@check_arguments
@keep_pipes()
def compare(
    source: Answers | Source,
    truth: Source = None,
    *,
    methods: Sequence[str] | str | None = None,
    gold: Source = None,
    seed: int = 0,
    results: Mapping[str, Result] | None = None,
    most_answers: int | None = None,
    **reading: Unpack[ReadKeywords],
) -> Comparison:
    """Run several methods on the same answers; a method that fails is marked, and the others continue.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        truth: true labels of some or all tasks, to score against, with the column names of the answers; the methods do
            not use them.
        methods: names, each with options if needed, such as ``er:classes=ordered``; all methods by default.
        gold: known labels that the methods may use, as in `quorate.aggregate`.
        seed: seed of the methods that draw random numbers.
        results: results of methods that have already run on the same answers, by name; they are neither run again nor
            timed. With a sample, their labels of its tasks are compared.
        most_answers: above this number of answers, the methods run on a sample of complete tasks; None: always on all.
        reading: options of `quorate.read`.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(1000, 10, 4, skills=np.linspace(-0.2, 0.9, 10), seed=0)
    >>> comparison = compare(crowd.answers, crowd.truth_table, methods=["majority", "rank-one"])
    >>> comparison.entries[1].error < comparison.entries[0].error
    True
    """
    chosen = names_listed(methods, METHODS)
    parsed = [parse_method(text) for text in chosen]
    chosen = [":".join([name, *text.split(":")[1:]]) for text, (name, _) in zip(chosen, parsed, strict=True)]
    loaded = as_reading(source, reading)
    results = {} if results is None else results
    for spec, result in results.items():
        if not result.answers.task_names.equals(loaded.answers.task_names):
            raise OptionError(f"results= has a result of {spec} on other answers; give results on the answers compared")
    is_plain = loaded.export is None and loaded.answers.questions is None
    sample = None if most_answers is None or not is_plain else sample_of_tasks(loaded.answers, most_answers)
    if sample is not None:
        loaded = replace(loaded, answers=sample.answers, is_sample=True)
        results = {spec: result_of_sample(result, sample) for spec, result in results.items()}
    answers = loaded.answers
    gold_of_task = gold_for(loaded, gold)
    true = labels_for(loaded, truth, "the true labels")
    entries = []
    labels = []
    for number, (spec, (name, options)) in enumerate(zip(chosen, parsed, strict=True)):
        report("methods", number, len(chosen))
        earlier = results.get(spec)
        if earlier is None:
            entry, label = _run(spec, name, options, answers, true, gold_of_task, seed)
        else:
            entry, label = _scored(Entry(spec), earlier, true)
        entries.append(entry)
        labels.append(label)
    report("methods", len(chosen), len(chosen))
    agreement = _agreement(labels)
    for number, entry in enumerate(entries):
        other_numbers = [other for other in range(len(entries)) if other != number]
        with_others = _known_shares(agreement[number][other] for other in other_numbers)
        among_others = _known_shares(agreement[one][two] for one, two in combinations(other_numbers, 2))
        doubts = entry.doubts
        if len(with_others) > 1 and max(with_others) < MIN_AGREEMENT <= float(np.mean(among_others)):
            alone = "on most tasks its labels differ from those of every other method; do not rely on them"
            doubts = (*doubts, f"{chosen[number]}: {alone}")
        mean = float(np.mean(with_others)) if with_others else None
        entries[number] = replace(entry, agreement=mean, doubts=doubts)
    if true is None:
        notes = unchecked_models(answers) if gold_of_task is None else ()
        warnings = tuple(in_python(warning_line(note)) for note in notes)
        return Comparison(tuple(entries), tuple(labels), answers.n_tasks, None, sample=sample, warnings=warnings)
    plain = aggregate(answers, "majority")
    is_scored = true_classes(plain, true) != -1
    n_scored = int(is_scored.sum())
    ran = [entry.method for entry in entries if entry.error is not None]
    reference = DEFAULT_METHOD if DEFAULT_METHOD in ran else next(iter(ran), None)
    tested = _paired_tests(entries, labels, true_classes(plain, true), reference)
    return Comparison(tuple(tested), tuple(labels), answers.n_tasks, n_scored, reference, sample)


def _wrong(error: float, n: int) -> str:
    """Return the number of wrong labels as text; ties count as fractions, so it may be rounded ("about 3").

    >>> _wrong(0.2, 10), _wrong(0.25, 10)
    ('2', 'about 3')
    """
    wrong = error * n
    is_whole = abs(wrong - round(wrong)) < 1e-6
    return f"{round(wrong):,}" if is_whole else f"about {np.floor(wrong + 0.5):,.0f}"


def _test_name(n_tests: int) -> str:
    return "paired test" if n_tests == 1 else f"paired test, Holm-corrected over {n_tests:,} methods"


def _paired_tests(
    entries: Sequence[Entry], labels: Sequence[IntArray | None], true: IntArray, reference: str | None
) -> list[Entry]:
    """Add to each entry the interval of its error, and the exact McNemar test against the reference method.

    Args:
        entries: the entry of each method.
        labels: the labels of each method; None where it failed.
        true: the class of each task, -1 where it is not known, -2 where it is a class without answers.
        reference: the method that the others are tested against.
    """
    is_scored = true != -1
    n_scored = int(is_scored.sum())
    wrong = [None if codes is None else (codes != true)[is_scored] for codes in labels]
    names = [entry.method for entry in entries]
    base = None if reference is None else wrong[names.index(reference)]
    p_values: dict[int, float] = {}
    for k, errors in enumerate(wrong):
        if errors is None or base is None or names[k] == reference:
            continue
        only_this = int((errors & ~base).sum())
        only_reference = int((base & ~errors).sum())
        discordant = only_this + only_reference
        p_values[k] = _sign_test(only_this, discordant)
    corrected = dict(zip(p_values, holm(np.array(list(p_values.values()))).tolist(), strict=True))
    tested = []
    for k, entry in enumerate(entries):
        if entry.error is None:
            tested.append(entry)
            continue
        low, high = wilson_interval(n_scored * entry.error, n_scored)
        tested.append(replace(entry, error_low=low, error_high=high, p_value=corrected.get(k)))
    return tested


def parse_method(spec: str) -> tuple[str, dict[str, Any]]:
    """Read a method's name and options: ``name`` or ``name:option=value:option=value``.

    Raises:
        UnknownMethodError: there is no such method.
        OptionError: an option has no value.

    >>> parse_method("kos:classes=ordered:iterations=20")
    ('kos', {'classes': 'ordered', 'iterations': 20})
    """
    name, *options = spec.split(":")
    name = method_name(name)
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
    """Return the entry with the figures of a result, and its labels."""
    entry = replace(entry, doubts=tuple(note.text for note in result.notes if note.kind in UNRELIABLE_NOTES))
    label = result.vote.label
    if truth is None:
        return entry, label
    entry = replace(entry, error=expected_error(result, truth).error)
    if not METHODS[result.method].posterior:
        return entry, label
    calibration = calibration_error(result, truth)
    if np.isnan(calibration):  # no confidence is stated
        return entry, label
    return replace(entry, log_loss=log_loss(result, truth), calibration_error=calibration), label


def _agreement(labels: Sequence[IntArray | None]) -> list[list[float | None]]:
    """Return the share of tasks to which two methods give the same label; methods × methods."""
    return [[_share_equal(one, two) for two in labels] for one in labels]


def _share_equal(one: IntArray | None, two: IntArray | None) -> float | None:
    """Return the share of equal labels over the tasks that have both; None without such tasks or if a method failed."""
    if one is None or two is None:
        return None
    has_labels = (one >= 0) & (two >= 0)
    return float((one == two)[has_labels].mean()) if has_labels.any() else None


def _known_shares(shares: Iterable[float | None]) -> list[float]:
    return [share for share in shares if share is not None]


def _sign_test(k: int, n: int) -> float:
    """Return the two-sided p-value of k successes in n fair trials.

    >>> round(_sign_test(1, 6), 5), _sign_test(3, 6), _sign_test(0, 0)
    (0.21875, 1.0, 1.0)
    """
    if n == 0:
        return 1.0
    tail = binomial_tail(np.array([max(k, n - k)]), np.array([n]), np.array([0.5]))
    return min(1.0, 2 * float(tail[0]))
