"""Inter-annotator agreement: coefficients overall, by class, of each worker with the other workers, and by group."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, Unpack, get_args

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.arrays import FloatArray, Shown, Table, from_numpy, table_of
from quorate.blocks.block import Block, Sums, added
from quorate.blocks.memory import answers_in, memory_blocks
from quorate.errors import OptionError, check_level, count, in_python, listing, unknown_name_error
from quorate.interrater.bootstrap import (
    DRAWS,
    MIN_PAIRED_TASKS,
    classes_with_intervals,
    random_weights,
    with_intervals,
)
from quorate.interrater.coefficients import (
    ALPHA,
    PERCENT,
    WORDS,
    Coefficient,
    as_dict,
    rows_of,
    with_coefficients,
)
from quorate.interrater.intraclass import Intraclass, intraclass_of
from quorate.interrater.sums import AgreementSums, Scale, count_answers, sum_over_groups
from quorate.io.arguments import check_arguments
from quorate.io.columns import numbers_in
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.notes import unchecked_models, warning_line

ScaleName: TypeAlias = Literal["nominal", "ordinal", "interval"]
NOMINAL: Literal["nominal"] = "nominal"
INTERVAL: Literal["interval"] = "interval"
SCALES: tuple[str, ...] = get_args(ScaleName)
LEVEL = 0.95


@dataclass(frozen=True)
class WorkerAgreement:
    """How each worker agrees with the others who answered the same tasks; NaN if there are none."""

    shared: FloatArray  # number of the worker's tasks that other workers answered, too
    agreeing_share: FloatArray  # share of the other workers' answers to them that equal the worker's
    kappa: FloatArray  # this share above agreement by chance, with the worker's and the crowd's response bias
    low: FloatArray  # interval of kappa
    high: FloatArray

    @property
    def alike(self) -> FloatArray:
        """Deprecated name of `agreeing_share`."""
        warnings.warn("WorkerAgreement.alike is now WorkerAgreement.agreeing_share", DeprecationWarning, stacklevel=2)
        return self.agreeing_share


@dataclass(frozen=True, repr=False)
class Agreement(Shown):
    """Coefficients of agreement, each with an interval."""

    answers: Answers
    scale: str
    level: float
    overall: dict[str, Coefficient]
    by_group: tuple[dict[str, Coefficient], ...]  # within each group of workers, if they have groups
    sums: AgreementSums  # over groups of tasks
    weights: FloatArray  # random weights of these groups, for the intervals

    @cached_property
    def by_worker(self) -> WorkerAgreement:
        """How each worker agrees with the other workers; computed on first use."""
        return against_rest(self.answers, self.level)

    @cached_property
    def n_paired(self) -> int:
        """Number of tasks with two answers or more; tasks with one answer are not used."""
        return int((self.answers.per_task > 1).sum())

    @cached_property
    def intraclass(self) -> Intraclass | None:
        """Absolute agreement and consistency of numeric answers; None on another scale, or without two raters."""
        numbers = _numbers(self.answers.classes) if self.scale == INTERVAL else None
        if numbers is None or self.n_paired == 0:
            return None
        return intraclass_of(self.answers.task, self.answers.worker, numbers[self.answers.label])

    @cached_property
    def by_class(self) -> tuple[dict[str, Coefficient], ...]:
        """The coefficients of each class against all others; computed on first use."""
        return tuple(classes_with_intervals(self.sums, self.weights, level=self.level))

    @cached_property
    def classes(self) -> Table:
        """One row per class, against all others: label, answers, and each coefficient with its interval."""
        given_to = np.bincount(self.answers.label, minlength=self.answers.n_classes)
        return with_coefficients({"label": self.answers.classes, "n_answers": given_to}, self.by_class)

    @cached_property
    def groups(self) -> Table:
        """One row per group of workers: group, n_workers, n_answers, and each coefficient among them."""
        group = self.answers.group
        names = self.answers.group_names
        if group is None or names is None:
            return with_coefficients({"group": pa.nulls(0, pa.string())}, ())
        member = np.where(group < 0, len(names), group)
        columns = {
            "group": names,
            "n_workers": np.bincount(member, minlength=len(names))[: len(names)],
            "n_answers": np.bincount(member[self.answers.worker], minlength=len(names))[: len(names)],
        }
        return with_coefficients(columns, self.by_group)

    @cached_property
    def workers(self) -> Table:
        """One row per worker: worker, n_shared, percent_agreement with the others, kappa and its interval."""
        by_worker = self.by_worker
        columns: dict[str, Any] = {"worker": self.answers.worker_names, "n_shared": by_worker.shared.astype(np.int64)}
        figures = {
            PERCENT: by_worker.agreeing_share,
            "kappa": by_worker.kappa,
            "kappa_low": by_worker.low,
            "kappa_high": by_worker.high,
        }
        for name, values in figures.items():
            columns[name] = from_numpy(values, mask=np.isnan(values))
        return Table(table_of(columns))

    def to_dict(self) -> dict[str, Any]:
        """Return what `quorate agreement --json` prints.

        >>> result = agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")}).to_dict()
        >>> result["percent_agreement"]["value"], result["by_class"][0]["label"]
        (1.0, 'x')
        """
        return {
            "scale": self.scale,
            "level": self.level,
            "answers": self.answers.n_answers,
            "tasks": self.answers.n_tasks,
            "tasks_with_two_answers": self.n_paired,
            "warnings": self._warnings(),
            **as_dict(self.overall),
            **({} if self.intraclass is None else {"intraclass_correlation": self.intraclass.to_dict()}),
            "by_class": rows_of(self.classes, self.by_class),
            "by_worker": self.workers.to_pylist(),
            "by_group": rows_of(self.groups, self.by_group),
        }

    def brief(self) -> dict[str, Any]:
        """Return only the coefficients of all answers, for JSON."""
        return {"scale": self.scale, "level": self.level, **as_dict(self.overall)}

    def line(self) -> str:
        """Return percent agreement and alpha in one line.

        >>> agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")}).line()
        "Two workers agree on 50% of shared tasks (Krippendorff's alpha 0.00)."
        """
        alpha = self.overall[ALPHA]
        percent_agreement = self.overall[PERCENT]
        if percent_agreement.value is None:
            return "No task has two answers, so agreement cannot be measured."
        text = f"Two workers agree on {percent_agreement.value:.0%} of shared tasks"
        if alpha.value is None:
            return f"{text}; every answer is the same, so this shows nothing about the workers."
        ends = "" if alpha.low is None else f", {self.level:.0%} interval {alpha.low:.2f} to {alpha.high:.2f}"
        return f"{text} ({WORDS[ALPHA]} {alpha.value:.2f}{ends})."

    def _warnings(self) -> list[str]:
        return [in_python(warning_line(note)) for note in unchecked_models(self.answers)]

    def lines(self) -> list[str]:
        """Return the summary: agreement overall, by class and by worker.

        >>> result = agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")})
        >>> result.lines()[1]
        "Krippendorff's alpha (nominal): 1.000"
        """
        warnings = self._warnings()
        if self.n_paired == 0:
            return [*warnings, self.line()]
        single = self.answers.n_tasks - self.n_paired
        alone = f" ({count(single, 'task')} with fewer than two answers not counted)" if single else ""
        head = f"Agreement on {count(self.n_paired, 'task')}{alone}, with {self.level:.0%} intervals:"
        coefficients = [f"{self.named(name)}: {value}" for name, value in self.overall.items()]
        return [*warnings, head, *coefficients, *([] if self.intraclass is None else self.intraclass.lines())]

    def named(self, name: str) -> str:
        """Return the name of a coefficient, with its scale if it depends on one."""
        return f"{WORDS[name]} ({self.scale})" if name == ALPHA else WORDS[name]

    def summary(self) -> str:
        """Return a text with every coefficient and its interval."""
        return "\n".join(self.lines())

    def _tables(self) -> tuple[Table, ...]:
        return (self.classes,)


@check_arguments
@keep_pipes()
def agreement(
    source: Answers | Source,
    *,
    scale: ScaleName = NOMINAL,
    ranked: Sequence[Any] | None = None,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
    **reading: Unpack[ReadKeywords],
) -> Agreement:
    """Compute inter-annotator agreement: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2, percent agreement.

    The time is linear in the answers. Intervals are those of the Bayesian bootstrap over tasks with one unseen task
    added, on which workers may agree or differ, so that the interval is not a point if all tasks are unanimous. The
    intervals of single workers use the limit of the bootstrap, the infinitesimal jackknife, also with an unseen task.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        scale: ``nominal``: answers are equal or different; ``ordinal``: classes have an order; ``interval``: classes
            are numbers. The last two change Krippendorff's alpha and add Gwet's AC2; ``interval`` also adds the
            intraclass correlations for absolute agreement and for consistency.
        ranked: all classes from lowest to highest, for an ordinal scale (``--classes`` on the command line); not needed
            for numbers.
        level: level of the intervals.
        draws: number of bootstrap draws.
        seed: seed of the bootstrap.
        reading: as for `quorate.read`; ``group`` names the column of groups of workers.

    Raises:
        OptionError: the scale needs classes with an order, or numbers.
        InputError: the answers cannot be read.

    >>> result = agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> {name: round(each.value, 3) for name, each in result.overall.items()}
    {'krippendorff_alpha': 0.0, 'fleiss_kappa': -0.333, 'gwet_ac1': 0.2, 'percent_agreement': 0.5}
    """
    check_level(level)
    answers = as_reading(source, reading).answers
    if scale not in SCALES:
        raise unknown_name_error(scale, SCALES, "scale= (--scale)")
    positions = scale_of(scale, answers.classes, ranked)

    def weighted(sums: AgreementSums) -> FloatArray:
        return random_weights(sums, np.random.default_rng(seed), draws)

    sums = sum_over_groups(count_answers(answers), answers.n_classes, positions)
    by_group = []
    if answers.group is not None and answers.group_names is not None:
        for k in range(len(answers.group_names)):
            part = answers.where(answers.group[answers.worker] == k)
            group_sums = sum_over_groups(count_answers(part), part.n_classes, positions)
            by_group.append(with_intervals(group_sums, positions, weighted(group_sums), level=level))
    weights = weighted(sums)
    overall = with_intervals(sums, positions, weights, level=level)
    return Agreement(answers, scale, level, overall, tuple(by_group), sums, weights)


def scale_of(scale: str, classes: pa.Array, order: Sequence[Any] | None) -> Scale | None:
    """Return the positions of the classes on the scale; None for a nominal scale.

    Args:
        scale: one of `SCALES`.
        classes: names of the classes.
        order: all classes, from lowest to highest.

    Raises:
        OptionError: the classes have no order or are not numbers, or the order does not name each class once.

    >>> scale_of("ordinal", pa.array(["high", "low"]), ["low", "high"]).positions.tolist()
    [1.0, 0.0]
    """
    if scale == NOMINAL:
        if order is not None:
            raise OptionError("ranked= has no effect on a nominal scale. Use scale='ordinal' (--scale ordinal)")
        return None
    names = classes.to_pylist()
    numbers = _numbers(classes)
    if scale == INTERVAL:
        if numbers is None or order is not None:
            raise OptionError(
                f"An interval scale needs classes that are numbers; the classes are {listing(names)}. "
                "Use scale='ordinal' (--scale ordinal)"
            )
        return Scale(ranked=False, positions=numbers)
    if order is None:
        if numbers is None:
            raise OptionError(
                f"The classes {listing(names)} are not numbers. Give their order from lowest to highest with ranked= "
                "(--classes a,b,c)"
            )
        return Scale(ranked=True, positions=np.argsort(np.argsort(numbers)).astype(np.float64))
    rank_of = {str(name): rank for rank, name in enumerate(order)}
    missing = [name for name in names if str(name) not in rank_of]
    if missing or len(rank_of) != len(names):
        what = f"{listing(missing)} is not in it" if missing else "it has other classes, or one class twice"
        raise OptionError(f"The order must have each of the classes {listing(names, 12)} once: {what}")
    return Scale(ranked=True, positions=np.array([float(rank_of[str(name)]) for name in names]))


def against_rest(answers: Answers, level: float = LEVEL) -> WorkerAgreement:
    """Compare each worker with all others who answered the same tasks.

    Agreement by chance is that of the worker's answers with independent answers of all workers to tasks with several
    answers. For the lower end of an interval, one task is added on which no other worker agrees with the worker; for
    the upper end, one on which all agree, as in `quorate.interrater.bootstrap`.

    Args:
        answers: who answered what.
        level: level of the intervals.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1, 2, 2], "worker": list("abcab"), "label": list("xxyyy")})
    >>> against_rest(answers).agreeing_share.tolist()
    [0.75, 0.75, 0.0]
    """
    from scipy.special import stdtrit

    blocks = memory_blocks(answers)
    (paired,) = blocks.sum(_paired_labels)
    class_share = paired / max(paired.sum(), 1)
    n, agreed_sum, chance_sum = blocks.sum(_agreement_sums, class_share)
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN where a worker shares no task
        observed = agreed_sum / n
        expected = chance_sum / n
        kappa = np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
        unseen = np.array([0.0, 1.0])  # share of the others that agrees on the added task
        agreed = (agreed_sum + unseen[:, None]) / (n + 1)
        centre = (agreed - expected) / (1 - expected)
        (squares,) = blocks.sum(_squared_changes, class_share, agreed, expected, centre)
        squares += (unseen[:, None] - agreed) ** 2
        half = stdtrit(n, (1 + level) / 2) * np.sqrt(squares / (n * (n + 1))) / (1 - expected)
        low = np.minimum(np.maximum(centre[0] - half[0], -expected / (1 - expected)), kappa)
        high = np.maximum(np.minimum(centre[1] + half[1], 1.0), kappa)
    low[n < MIN_PAIRED_TASKS] = np.nan
    high[n < MIN_PAIRED_TASKS] = np.nan
    return WorkerAgreement(n, observed, kappa, low, high)


def _paired_labels(blocks: Iterable[Block]) -> Sums:
    """Return the number of answers of each class to tasks with several answers."""
    sums: list[Sums] = []
    for block in blocks:
        shared, _ = _answers_with_others(block)
        sums.append((np.bincount(shared.label, minlength=shared.n_classes).astype(np.float64),))
    return added(sums)


def _answers_with_others(block: Block) -> tuple[Answers, FloatArray]:
    """Return the answers of a block to tasks with several answers, and the share of the others that equals each."""
    part = answers_in(block)
    is_shared = part.per_task > 1
    shared = part if is_shared.all() else part.where(is_shared[part.task])
    return shared, (part.count_at(shared.cells) - 1) / (part.per_task[shared.task] - 1)


def _agreement_sums(blocks: Iterable[Block], class_share: FloatArray) -> Sums:
    """Return sums over the shared tasks of each worker: of one, of the share of others that agrees, and of chance."""
    sums: list[Sums] = []
    for block in blocks:
        shared, agreeing_share = _answers_with_others(block)
        chance = class_share[shared.label]
        n = shared.by_worker(np.ones(len(chance)))
        sums.append((n, shared.by_worker(agreeing_share), shared.by_worker(chance)))
    return added(sums)


def _squared_changes(
    blocks: Iterable[Block], class_share: FloatArray, agreed: FloatArray, expected: FloatArray, centre: FloatArray
) -> Sums:
    """Return the sums of the squared changes of kappa by single tasks, for the jackknife."""
    sums: list[Sums] = []
    for block in blocks:
        shared, agreeing_share = _answers_with_others(block)
        worker = shared.worker
        excess = class_share[shared.label] - expected[worker]
        squares = []
        for mean, middle in zip(agreed, centre, strict=True):
            change = agreeing_share - mean[worker] - excess * (1 - middle)[worker]
            squares.append(shared.by_worker(change * change))
        sums.append((np.stack(squares),))
    return added(sums)


def _numbers(classes: pa.Array) -> FloatArray | None:
    """Return the classes as numbers; None if a class is not a number."""
    numbers = numbers_in(classes.cast(pa.int8()) if pa.types.is_boolean(classes.type) else classes)
    return None if np.isnan(numbers).any() else numbers
