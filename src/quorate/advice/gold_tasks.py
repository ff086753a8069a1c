"""suggest_gold(): which tasks an expert should label: the least certain ones, and some drawn at random.

Labels of the least certain tasks change most, but show nothing about how often the others are right. So a third of the
tasks is drawn at random from the rest, with a known probability. The inclusion probability of the least certain tasks
is 1; that of a task drawn at random is one over the size of its stratum. A mean that weights each label by one over its
inclusion probability is unbiased for all tasks [Horvitz and Thompson 1952].
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from quorate.advice.advise import default_result
from quorate.answers import Answers
from quorate.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Shown,
    Table,
    distinct,
    from_numpy,
    from_strings,
    table_of,
    take,
)
from quorate.errors import MissingColumnError, OptionError, QuorateError, in_python, listing, visible
from quorate.io.arguments import check_arguments
from quorate.io.columns import as_type, encode, positions
from quorate.io.extra_columns import row_columns
from quorate.io.gold import column_names, gold_for
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import Reading, as_reading
from quorate.io.read_table import Source, read_table
from quorate.io.values import as_text
from quorate.methods.support import MIN_GOLD
from quorate.notes import EXPERT_FILE, LABELS_FILE, UNSUPPORTED, command, new_file
from quorate.renamed import renamed_attribute
from quorate.result import Result, count, percent
from quorate.voting.vote import changed_vote

# Share of the tasks that is drawn at random: ten of thirty tasks show an error of 20% to within 25 points.
RANDOM_SHARE = 1 / 3
POOL_FACTOR = 20  # candidates per task to choose, the least certain ones, so that the choice can be diverse
RANDOM_REASON = "random check"  # how the reason of a task that was drawn at random begins
# Mean over the 25 public datasets whose workers are people, with none and with 30 labels:
# `python -m experiments.advice.expert_labels`. The 26 datasets of the calibration (`PUBLIC_CROWDS` in
# calibration/confidence.py) are these and judges_civil, whose workers are language models (docs/accuracy.md).
MEASURED_EFFECT = (
    "On 25 public datasets, labels of 30 tasks chosen like this lowered the share of wrong labels from 17% to 14%."
)


@dataclass(frozen=True)
class TaskForm:
    """The columns of the expert's file: the names of task and label, and the columns that describe a task."""

    task: str = "task"
    label: str = "label"
    shown: dict[str, pa.Array] = field(default_factory=dict)  # by column name: one value per task of the answers


@dataclass(frozen=True, repr=False)
class GoldAdvice(Shown):
    """Tasks that an expert should label, in the order to label them."""

    result: Result
    task: IntArray  # codes
    inclusion_probability: FloatArray  # 1 for the least certain tasks, less for those drawn at random
    reasons: tuple[str, ...]
    form: TaskForm = field(default_factory=TaskForm)  # the user's column names, and columns to show the expert

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            return renamed_attribute(self, name, {"drawn": "is_random"})

    @property
    def is_random(self) -> BoolArray:
        """Which tasks were drawn at random."""
        return np.array([reason.startswith(RANDOM_REASON) for reason in self.reasons], dtype=bool)

    @cached_property
    def sheet(self) -> Table:
        """The table that the expert fills in: the user's columns of task and text, and an empty label column.

        The last column is ``inclusion_probability``: 1 for the least certain tasks, less for those drawn at random.
        """
        answers = self.result.answers
        columns: dict[str, Any] = {self.form.task: take(answers.task_names, self.task)}
        for name, values in self.form.shown.items():
            columns[name] = take(values, self.task)
        columns[self.form.label] = from_strings([""] * len(self.task))
        columns["inclusion_probability"] = self.inclusion_probability
        return Table(table_of(columns))

    @cached_property
    def tasks(self) -> Table:
        """One row per task: task, reason, inclusion_probability, current_label, confidence."""
        answers = self.result.answers
        task_vote = self.result.vote
        columns = {
            "task": take(answers.task_names, self.task),
            "reason": from_strings(self.reasons),
            "inclusion_probability": self.inclusion_probability,
            "current_label": take(answers.classes, task_vote.label[self.task]),
            "confidence": from_numpy(task_vote.confidence[self.task], mask=np.isnan(task_vote.confidence[self.task])),
        }
        return Table(table_of(columns))

    @property
    def expected_wrong(self) -> float | None:
        """The expected number of wrong labels among the current labels of these tasks; None without a confidence."""
        wrong = float((1 - self.result.vote.confidence[self.task]).sum())
        return None if np.isnan(wrong) else wrong

    @property
    def expected_error(self) -> float | None:
        """The share of all labels that are expected to be wrong; None if no confidence is stated."""
        mean = self.result.vote.confidence_stats().mean
        return None if mean is None else 1 - mean

    @property
    def use(self) -> str:
        """The command that uses the labels first: ``estimate`` for language models, ``aggregate`` for others."""
        return "estimate" if has_models(self.result) and int(self.is_random.sum()) >= MIN_GOLD else "aggregate"

    def options_of_use(self, file: str) -> str:
        """Return the options of the command in `use` that read the expert's labels from a file and write the result."""
        return f"--gold {file}" if self.use == "estimate" else f"--gold {file} -o {new_file(LABELS_FILE)}"

    def to_dict(self, *, tasks: bool = True) -> dict[str, Any]:
        """Return what `quorate advise --expert N --json` prints; the list may be left out.

        >>> import quorate
        >>> suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6).to_dict(tasks=False)["drawn_at_random"]
        2
        """
        listed: dict[str, Any] = {
            "tasks": self.result.answers.n_tasks,
            "advised": len(self.task),
            "drawn_at_random": int(self.is_random.sum()),
            "expected_wrong_among_them": self.expected_wrong,
            "expected_error": self.expected_error,
            "notes": [] if self.is_random.all() else [MEASURED_EFFECT],
        }
        return {**listed, "gold_tasks": self.tasks.to_pylist()} if tasks else listed

    def _tables(self) -> tuple[Table, ...]:
        return (self.tasks,)

    def summary(self, file: str | None = None) -> str:
        """Return a summary: what to label, why, and what to do with the labels.

        Args:
            file: that the tasks are written to, quoted for a shell; None: the text says how to write it.

        >>> import quorate
        >>> print(suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6).summary())
        6 tasks for an expert: the 4 least certain, and 2 drawn at random to check the rest.
        About ... of these 6 labels are probably wrong now, and ...% of all labels.
        On 25 public datasets, labels of 30 tasks chosen like this lowered the share of wrong labels from 17% to 14%.
        Possible labels: c0, c1.
        To write the file for the expert: chosen.sheet
        Label all 6 in the column label, without looking at the current labels, then run:
          quorate.aggregate(answers, gold=...)
        """
        n = len(self.task)
        n_random = int(self.is_random.sum())
        if n_random == n:
            kinds = "drawn at random"
        elif n_random:
            kinds = f"the {n - n_random:,} least certain, and {n_random:,} drawn at random to check the rest"
        else:
            kinds = "all that have no known label" if n == self._n_open else "the least certain"
        lines = [f"{count(n, 'task')} for an expert: {kinds}."]
        lines += [f"{note.text}." for note in self.result.notes if note.kind == UNSUPPORTED]
        if self.expected_wrong is not None and self.expected_error is not None:
            lines.append(
                f"About {self.expected_wrong:.0f} of these {count(n, 'label')} are probably wrong now, and "
                f"{percent(self.expected_error)} of all labels."
            )
        if n_random < n:
            lines.append(MEASURED_EFFECT)
        lines.append(f"Possible labels: {_listed(self.result.answers.classes.to_pylist())}.")
        options = self.options_of_use(file or new_file(EXPERT_FILE))
        then = command(self.use, options, f"quorate.{self.use}(answers, gold=...)")
        every = "it" if n == 1 else f"all {n:,}"
        if file is None:
            sheet = new_file(EXPERT_FILE)
            lines.append(
                f"To write the file for the expert: {command('advise', f'--expert {n} -o {sheet}', 'chosen.sheet')}"
            )
        lines.append(f"Label {every} in the column {self.form.label}, without looking at the current labels, then run:")
        lines.append(f"  {then}")
        return in_python("\n".join(lines))

    @property
    def _n_open(self) -> int:
        gold = self.result.gold
        has_answers = self.result.answers.per_task > 0
        return int(has_answers.sum() if gold is None else (has_answers & (gold < 0)).sum())


def _listed(classes: Sequence[object], most: int = 12) -> str:
    """Name the first classes, and count the rest.

    >>> _listed(["cat", "dog", "elk"], most=2)
    'cat, dog and 1 more'
    """
    more = f" and {len(classes) - most:,} more" if len(classes) > most else ""
    return visible(", ".join(map(str, classes[:most])) + more)


def has_models(result: Result) -> bool:
    """Whether some workers are language models.

    >>> import quorate
    >>> has_models(quorate.aggregate(quorate.simulate.crowd(50, 8, 3, seed=0).answers))
    False
    """
    return result.confidence_basis is not None and result.confidence_basis.n_models > 0


SHOW = "show= (--show)"  # as messages name the option


def task_form(loaded: Reading, show: Sequence[str] = ()) -> TaskForm:
    """Return the user's column names, and the columns that describe a task, such as its text.

    Without ``show`` these are the columns of a plain table that have one value per task, except known labels and
    columns that contain only names of classes, which could be labels.

    Args:
        loaded: the answers as they were read.
        show: columns to show.

    Raises:
        MissingColumnError: a column of ``show`` is missing.

    >>> from quorate.io.options import ReadOptions
    >>> from quorate.io.read import read_source
    >>> rows = {"item": [1, 1, 2], "text": ["a", "a", "b"], "worker": list("xyx"), "label": list("cdc")}
    >>> form = task_form(read_source(rows, ReadOptions(task="item")))
    >>> form.task, form.label, form.shown["text"].to_pylist()
    ('item', 'label', ['a', 'b'])
    """
    answers = loaded.answers
    if loaded.export is not None or loaded.source is None or "," in (loaded.options.task or ""):
        export_columns = None if loaded.export is None or answers.questions is not None else loaded.export.columns
        inputs = () if export_columns is None else export_columns.inputs
        to_show = list(show) or [name for name in inputs if export_columns is None or name != export_columns.task]
        shown_texts: dict[str, pa.Array] = {}
        try:
            columns = row_columns(loaded, SHOW) if to_show else None
            if columns is not None:
                shown_texts = {name: pa.array(columns.by_task(name, SHOW), pa.string()) for name in to_show}
        except QuorateError:
            if show:  # otherwise the columns are optional
                raise
        if export_columns is not None:
            return TaskForm(export_columns.task, export_columns.labels[0], shown_texts)
        return TaskForm(label=loaded.options.columns[2] if loaded.export is None else "label", shown=shown_texts)
    task, worker, label = loaded.options.columns
    try:
        names = column_names(loaded.source, loaded.options)
    except QuorateError:
        return TaskForm(task, label)
    reserved = {task, worker, label, loaded.options.gold_column, loaded.options.group}
    to_show = list(show) or [name for name in names if name not in reserved]
    for name in show:
        if name not in names:
            raise MissingColumnError(
                f"There is no column {name!r}; the columns are {listing(names, 12)}. Choose one with show= (--show)"
            )
    if not to_show or task not in names:
        return TaskForm(task, label)
    table = read_table(loaded.source, dict.fromkeys([task, *to_show], ""), loaded.options)
    codes, ids = encode(table.column(task), task)
    position = positions(as_type(ids, answers.task_names.type, "tasks"), answers.task_names)
    task_of_row = np.where(codes >= 0, position[codes], -1)
    classes = {str(name) for name in answers.classes.to_pylist()}
    shown = {}
    for name in to_show:
        texts = np.array([as_text(value) for value in table.column(name).to_pylist()], dtype=object)
        of_task = np.full(answers.n_tasks, None, dtype=object)
        has_task = np.flatnonzero(task_of_row >= 0)[::-1]  # reversed: the first row of a task is assigned last
        of_task[task_of_row[has_task]] = texts[has_task]
        is_constant = bool((of_task[task_of_row[task_of_row >= 0]] == texts[task_of_row >= 0]).all())
        may_be_label = {text for text in texts if text is not None} <= classes
        if name in show or (is_constant and not may_be_label):
            shown[name] = pa.array(of_task.tolist(), pa.string())
    return TaskForm(task, label, shown)


@check_arguments
@keep_pipes()
def suggest_gold(
    source: Answers | Source,
    n: int,
    *,
    gold: Source = None,
    seed: int = 0,
    show: Sequence[str] = (),
    random: bool | None = None,
    **reading: Unpack[ReadKeywords],
) -> GoldAdvice:
    """Choose tasks for an expert to label.

    Two thirds are those with the least certain labels, diverse in labels, workers and components; one third is drawn
    at random among the rest, one from each stratum of confidence, so that it represents all tasks. If the workers
    are language models, all are drawn at random, as `quorate.estimate` requires.

    Args:
        source: what `quorate.read` returned, or anything that it reads.
        n: how many tasks.
        gold: labels that are already known; their tasks are not chosen.
        seed: seed of the draw.
        show: columns of the answers that the expert's file shows, such as the text; by default those with one value
            per task.
        random: whether all tasks are drawn at random; by default only if the workers are language models.
        reading: options of `quorate.read`.

    Raises:
        OptionError: n is below 1, or every label is known.
        InputError: the answers or the known labels cannot be used.

    >>> import quorate
    >>> chosen = suggest_gold(quorate.simulate.crowd(50, 8, 3, seed=0).answers, 6)
    >>> chosen.tasks["inclusion_probability"].to_pylist().count(1.0), int(chosen.is_random.sum())
    (4, 2)
    """
    loaded = as_reading(source, reading)
    result = default_result(loaded.answers, gold_for(loaded, gold))
    return gold_tasks(result, n, seed=seed, form=task_form(loaded, show), random=random)


def gold_tasks(
    result: Result, n: int, *, seed: int = 0, form: TaskForm | None = None, random: bool | None = None
) -> GoldAdvice:
    """Choose tasks of a result for an expert to label; `suggest_gold` calls this with the result of the default method.

    Args:
        result: of a method with a posterior; tasks with a known label are not chosen.
        n: how many tasks.
        seed: seed of the draw.
        form: how the expert's file names its columns.
        random: whether all tasks are drawn at random; by default only if the workers are language models.

    Raises:
        OptionError: n is below 1, or every label is known.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 8, 3, seed=0).answers)
    >>> len(gold_tasks(result, 50).task), int(gold_tasks(result, 50).is_random.sum())
    (50, 0)
    """
    if n < 1:
        raise OptionError(f"The number of tasks for an expert (n=, --expert) must be at least 1, got {n}")
    answers = result.answers
    # A task without answers shows nothing about the workers.
    open_tasks = (answers.per_task > 0) & (True if result.gold is None else result.gold < 0)
    if not open_tasks.any():
        raise OptionError("Every task with answers has a known label, so nothing is left to label")
    n = min(n, int(open_tasks.sum()))
    is_all_random = has_models(result) if random is None else random
    if n == open_tasks.sum():
        n_random = 0
    elif is_all_random:
        n_random = n
    else:
        n_random = round(n * RANDOM_SHARE)
    # The posterior probability of the label orders the tasks, also where no confidence is stated.
    vote = result.vote
    confidence = vote.confidence if vote.is_stated is None else changed_vote(vote, is_stated=None).confidence
    chosen, why = _least_certain(result, confidence, np.flatnonzero(open_tasks), n - n_random)
    open_tasks[chosen] = False
    sampled_tasks, probability, reasons = _draw_from_strata(
        confidence, np.flatnonzero(open_tasks), n_random, np.random.default_rng(seed)
    )
    # Mixed evenly, so that an expert who stops early has labelled some of both kinds.
    positions_of_kinds = [
        (np.arange(n_of_kind) + 0.5) / max(n_of_kind, 1) for n_of_kind in (len(chosen), len(sampled_tasks))
    ]
    order = np.argsort(np.concatenate(positions_of_kinds), kind="stable")
    all_reasons = [*why, *reasons]
    return GoldAdvice(
        result,
        np.concatenate([chosen, sampled_tasks])[order],
        np.concatenate([np.ones(len(chosen)), probability])[order],
        tuple(all_reasons[k] for k in order.tolist()),
        TaskForm() if form is None else form,
    )


def _least_certain(result: Result, confidence: FloatArray, tasks: IntArray, n: int) -> tuple[IntArray, list[str]]:
    """Return n tasks with reasons: the least certain, with preference for tasks that differ from those chosen."""
    if n == 0:
        return np.zeros(0, np.int64), []
    doubt = np.round(1 - confidence[tasks], 12)
    most = min(n * POOL_FACTOR, len(tasks))
    if most < len(tasks):  # only the candidates are sorted
        is_candidate = doubt >= np.partition(doubt, len(tasks) - most)[len(tasks) - most]
        tasks = tasks[is_candidate]
        doubt = doubt[is_candidate]
    first = np.lexsort([tasks, -doubt])[:most]
    pool = tasks[first]
    doubt = doubt[first]
    coverage = _Coverage(result, pool)
    chosen: list[int] = []
    why: list[str] = []
    is_left = np.ones(len(pool), dtype=bool)
    for _ in range(n):
        unlike = coverage.unlike()
        score = np.where(is_left, doubt * (1 + np.mean(list(unlike.values()), axis=0)) / 2, -1.0)
        at = int(score.argmax())
        ahead = int((is_left & (doubt > doubt[at])).sum())
        new = max(unlike, key=lambda name: float(unlike[name][at]))
        why.append(_why(result, int(pool[at]), f"; chosen for its {new}" if ahead else ""))
        chosen.append(int(pool[at]))
        is_left[at] = False
        coverage.take(at)
    return np.array(chosen, np.int64), why


def _why(result: Result, task: int, more: str) -> str:
    """Return the two most probable classes of a task with their probabilities, as text."""
    classes = result.answers.classes
    posterior = result.vote.posterior[task]
    best = np.argsort(-posterior, kind="stable")[:2]
    probable = ", ".join(f"{classes[int(k)].as_py()} {posterior[k]:.0%}" for k in best)
    return f"least certain: {probable}{more}"


class _Coverage:
    """How much each task of a pool differs from the tasks chosen so far. `take` changes the object."""

    def __init__(self, result: Result, pool: IntArray) -> None:
        answers = result.answers
        self.n_answers = answers.per_task[pool]
        self.at = np.repeat(np.arange(len(pool)), self.n_answers)
        before = np.cumsum(self.n_answers) - self.n_answers  # answers to earlier tasks of the pool
        self.worker = answers.worker[(answers.start[pool] - before)[self.at] + np.arange(len(self.at))]
        self.label = result.vote.label[pool]
        graph = result.identifiability
        part = np.zeros(answers.n_workers, np.int64) if graph is None else graph.component[: answers.n_workers]
        self.component = part[answers.worker[answers.start[pool]]]  # all workers of a task are in the same component
        self.seen = np.zeros(answers.n_workers, dtype=bool)
        self.taken: list[int] = []

    def unlike(self) -> dict[str, FloatArray]:
        """Return three differences of each task from the chosen ones, from 0 to 1, by name.

        They are the share of its workers who answered no chosen task, and the shares of the chosen tasks with another
        label and in another component.
        """
        new = np.bincount(self.at, ~self.seen[self.worker], len(self.label)) / np.maximum(self.n_answers, 1)
        distance = {"workers": new}
        for name, codes in (("label", self.label), ("part of the crowd", self.component)):
            same = np.bincount(codes[self.taken], minlength=int(codes.max()) + 1)[codes]
            distance[name] = 1 - same / max(len(self.taken), 1)
        return distance

    def take(self, at: int) -> None:
        """Add the task at this index of the pool to the chosen ones."""
        self.taken.append(at)
        self.seen[self.worker[self.at == at]] = True


def _draw_from_strata(
    confidence: FloatArray, tasks: IntArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, list[str]]:
    """Draw one task from each of ``n`` strata of nearly equal size, in order of confidence, the least certain first.

    Returns:
        The tasks, their inclusion probabilities, and the reasons.
    """
    if n == 0:
        return np.zeros(0, np.int64), np.zeros(0), []
    tie_breaker = rng.random(len(tasks))  # tasks of equal confidence are in random order
    size = np.full(n, len(tasks) // n)
    size[: len(tasks) % n] += 1
    first = np.cumsum(size) - size
    drawn_rank = first + np.array([rng.integers(n_tasks) for n_tasks in size.tolist()])
    of_task = confidence[tasks]
    in_order = np.sort(of_task)
    reasons = []
    for low, high, n_tasks in zip(in_order[first], in_order[first + size - 1], size.tolist(), strict=True):
        between = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
        reasons.append(f"{RANDOM_REASON} (1 of {count(n_tasks, 'task')} with {between} confidence)")
    # Only tasks with the same confidence as a drawn task are sorted by the random numbers.
    drawn_confidence = in_order[drawn_rank]
    values = distinct(drawn_confidence)
    candidates = np.flatnonzero(values[np.minimum(np.searchsorted(values, of_task), len(values) - 1)] == of_task)
    candidates = candidates[np.lexsort([tie_breaker[candidates], of_task[candidates]])]
    rank_in_ties = drawn_rank - np.searchsorted(in_order, drawn_confidence)
    sampled_tasks = tasks[candidates[np.searchsorted(of_task[candidates], drawn_confidence) + rank_in_ties]]
    return sampled_tasks, 1 / size, reasons
