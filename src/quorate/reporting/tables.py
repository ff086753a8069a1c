"""The tables of the report: cells with a text and a value to sort by; rows that need attention come first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.arrays import FloatArray, IntArray, take
from quorate.charts.result import MAX_MAP_WORKERS, confidence_rows
from quorate.charts.vega import choose_workers, pairs_among
from quorate.diagnostics.diagnose import Diagnosis
from quorate.diagnostics.finding import KIND_WORDS
from quorate.diagnostics.ratings import NO_ESTIMATE, NOT_CHECKED, RATINGS, TOO_FEW, ratings
from quorate.diagnostics.right_shares import extra_wrong_answers, share_of_right_answers, shows_agreement_only
from quorate.evaluation.compare import Comparison
from quorate.interrater.agreement import Agreement
from quorate.io.extra_columns import TaskTexts
from quorate.methods.registry import METHODS
from quorate.result import Result
from quorate.skills.identification import STATUSES
from quorate.voting.vote import UNANSWERED

MAX_ROWS = 500  # a longer table is cut, and a sentence says so


@dataclass(frozen=True)
class Badge:
    """A short text about a row, with a tone: good, doubt, bad, copy or unknown."""

    text: str
    tone: str


@dataclass(frozen=True)
class Cell:
    """The content of a cell."""

    text: str = ""
    value: float | None = None  # the rows are sorted by this value
    badges: tuple[Badge, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()  # labels, each with the workers who gave it
    note: str = ""  # in small print below the text
    marks: tuple[Badge, ...] = ()  # below the text


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    number: bool = False  # whether cells are aligned to the right
    spare: bool = False  # whether the column is hidden on small screens


@dataclass(frozen=True)
class Sheet:
    """A table of the page."""

    name: str  # its id on the page
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    n_rows: int  # of the complete table
    file: str | None = None  # the address of the complete table, if it was written

    @property
    def is_cut(self) -> bool:
        """Whether rows are missing."""
        return len(self.rows) < self.n_rows


def number(value: float | None, digits: int = 2) -> Cell:
    """Return a cell with a number, or with a dash for None and NaN.

    >>> number(0.1234).text, number(None).text, number(float("nan")).text, number(12000, 0).text
    ('0.12', '–', '–', '12,000')
    """
    if value is None or value != value:
        return Cell("–")
    return Cell(f"{value:,.{digits}f}", float(value))


def percent(value: float | None, digits: int = 0) -> Cell:
    """Return a cell with a share in percent; shares that round to 0% or 100% are shown as "<" or ">".

    >>> percent(0.123).text, percent(0.999).text, percent(1.0).text, percent(None).text
    ('12%', '>99%', '100%', '–')
    """
    if value is None or value != value:
        return Cell("–")
    shown = f"{value:.{digits}%}"
    if value < 1 and shown == f"{1:.{digits}%}":
        shown = f">{1 - 10 ** -(digits + 2):.{digits}%}"
    elif value > 0 and shown == f"{0:.{digits}%}":
        shown = f"<{10 ** -(digits + 2):.{digits}%}"
    return Cell(shown, float(value))


def name_list(names: Sequence[str], most: int = 8) -> str:
    """Return the first names with commas, and the number of the others.

    >>> name_list(["ann", "bob", "eve"], most=2)
    'ann, bob and 1 more'
    """
    head = ", ".join(names[:most])
    return f"{head} and {len(names) - most:,} more" if len(names) > most else head


TONES = ("good", "good", "doubt", "doubt", "bad", "unknown", "unknown", "unknown", "bad")  # of RATINGS
# Sort values of RATINGS: ratings that need action first, workers without a rating last.
URGENCY = (4, 3, 2, 1, 0, 5, 6, 7, 0)
# Badges of findings that rate a worker: they replace the rating, so that a worker has only one of the two.
RATING_WORDS = frozenset(KIND_WORDS[kind].badge for kind in ("adversary", "one-button", "spammer", "likely-guesser"))
MAX_PAIRS = 100
Flags = Mapping[int, Sequence[Badge]]


def worker_sheet(result: Result, flags: Flags, file: str | None = None) -> Sheet:
    """List the workers by the wrong answers that a typical worker would not have given, most first.

    Args:
        result: what was aggregated.
        flags: badges of the findings about each worker, by code.
        file: the address of the complete table.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 5, 3, skills=[0.8, 0.8, 0.8, 0.0, 0.7])
    >>> sheet = worker_sheet(quorate.aggregate(crowd.answers), {3: [Badge("slow", "doubt")]})
    >>> sheet.rows[0][0].text, sheet.n_rows
    ('w3', 5)
    """
    answers = result.answers
    rating = ratings(result)
    extra = extra_wrong_answers(result)
    is_unrated = np.isin(rating, [TOO_FEW, NO_ESTIMATE])
    order = np.lexsort([np.arange(answers.n_workers), -answers.per_worker, -extra, is_unrated])
    names = answers.worker_names.to_pylist()
    is_judge = shows_agreement_only(result)
    agreement = result.skill_estimates.agreement
    shares = share_of_right_answers(result)
    right = shares.share
    if agreement is not None:
        right = np.where(is_judge, agreement, right)
    low = np.where(is_judge, np.nan, shares.low)
    high = np.where(is_judge, np.nan, shares.high)
    rows = []
    for k in order[:MAX_ROWS].tolist():
        share = percent(float(right[k]))
        if not np.isnan(low[k]):
            share = Cell(share.text, share.value, note=f"{low[k]:.0%} to {high[k]:.0%}")
        marks = tuple(badge for badge in flags.get(k, ()) if badge.text not in RATING_WORDS)
        rated = Cell("", float(URGENCY[rating[k]]), badges=(Badge(RATINGS[rating[k]], TONES[rating[k]]),))
        of_finding = [badge for badge in flags.get(k, ()) if badge.text in RATING_WORDS]
        if of_finding:
            rated = Cell("", 0.0, badges=(of_finding[0],))
        why = STATUSES[result.status[k]].removeprefix("undetermined: ") if np.isnan(result.skills[k]) else ""
        rows.append(
            (
                Cell(str(names[k]), note=why, marks=marks),
                rated,
                number(None if is_unrated[k] or rating[k] == NOT_CHECKED else max(float(extra[k]), 0.0), 0),
                share,
                number(int(answers.per_worker[k]), 0),
            )
        )
    if is_judge.all():
        what = "agreement"
    elif is_judge.any():
        what = "right or agreement"
    else:
        what = "right"
    columns = (
        Column("worker"),
        Column("rating"),
        Column("extra wrong answers", number=True),
        Column(f"{what} (95% interval)" if (low <= high).any() else what, number=True),
        Column("answers", number=True, spare=True),
    )
    has_extra = bool((~is_unrated & (rating != NOT_CHECKED)).any())
    caption = "Workers, most extra wrong answers first" if has_extra else "Workers"
    return Sheet("workers-table", caption, columns, tuple(rows), answers.n_workers, file)


def _smallest(values: FloatArray, n: int) -> IntArray:
    """Return the indices of the n smallest values in ascending order; equal values by index, NaN last.

    >>> _smallest(np.array([0.5, np.nan, 0.1, 0.5]), 3).tolist()
    [2, 0, 3]
    """
    indices = np.arange(len(values))
    if n < len(values):
        last = np.partition(values, n - 1)[n - 1]
        if not np.isnan(last):
            indices = np.flatnonzero(values <= last)  # only these can be among the first n
    return indices[np.lexsort([indices, values[indices]])][:n]


def task_sheet(result: Result, file: str | None = None, texts: TaskTexts | None = None) -> Sheet:
    """List the tasks, least certain first, each with its answers and the workers who gave them.

    >>> import quorate
    >>> answers = {"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}
    >>> sheet = task_sheet(quorate.aggregate(answers, "majority"))
    >>> sheet.rows[0][0].text, sheet.rows[0][-1].lines
    ('1', (('x', 'a'), ('y', 'b')))
    """
    answers = result.answers
    task_vote = result.vote
    confidence = task_vote.confidence
    order = _smallest(confidence, MAX_ROWS)
    tasks = answers.task_names
    workers = answers.worker_names
    classes = [str(name) for name in answers.classes.to_pylist()]
    rows = []
    for t in order.tolist():
        workers_of: dict[int, list[str]] = {}
        for a in range(answers.start[t], answers.start[t + 1]):
            workers_of.setdefault(int(answers.label[a]), []).append(str(workers[int(answers.worker[a])].as_py()))
        ranked = sorted(workers_of.items(), key=lambda item: (item[0] != task_vote.label[t], -len(item[1]), item[0]))
        badges = (Badge("tied", "doubt"),) if task_vote.tied[t] else ()
        label = Cell("", badges=(Badge(UNANSWERED, "unknown"),))
        if task_vote.label[t] >= 0:
            label = Cell(classes[task_vote.label[t]], badges=badges)
        rows.append(
            (
                Cell(str(tasks[t].as_py())),
                *(() if texts is None else (Cell(texts.values[t] or ""),)),
                label,
                percent(float(confidence[t])),
                number(int(answers.per_task[t]), 0),
                Cell(lines=tuple((classes[c], name_list(who)) for c, who in ranked)),
            )
        )
    columns = (
        Column("task"),
        *(() if texts is None else (Column(texts.name),)),
        Column("label"),
        Column("confidence", number=True),
        Column("answers", number=True, spare=True),
        Column("who answered what"),
    )
    return Sheet("tasks-table", "Tasks, least certain first", columns, tuple(rows), answers.n_tasks, file)


def component_sheet(diagnosis: Diagnosis) -> Sheet:
    """List the groups of workers who share tasks, the largest first.

    >>> import quorate
    >>> from quorate.diagnostics.diagnose import diagnose
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> [row[1].text for row in component_sheet(diagnose(answers)).rows]
    ['too few shared tasks', 'shares no task with anyone']
    """
    components = diagnosis.components
    rows = []
    for number_of, component in enumerate(components[:MAX_ROWS]):
        part = component.component
        names = [str(diagnosis.worker_name(code)) for code in part.workers[:9].tolist()]
        if part.identifiable:
            verdict = Cell("", 1.0, badges=(Badge("can be rated", "good"),))
        else:
            alone = len(part.workers) == 1
            why = "shares no task with anyone" if alone else "too few shared tasks"
            verdict = Cell(why, 0.0, badges=(Badge("cannot be rated", "unknown"),))
        who = name_list(names + [""] * (len(part.workers) - len(names)))
        rows.append(
            (number(number_of, 0), verdict, number(len(part.workers), 0), number(component.n_pairs, 0), Cell(who))
        )
    columns = (
        Column("group"),
        Column("rating possible"),
        Column("workers", number=True),
        Column("pairs", number=True, spare=True),
        Column("who"),
    )
    return Sheet("components-table", "Groups of workers who share tasks", columns, tuple(rows), len(components))


def pair_sheet(result: Result, first: Sequence[int] = ()) -> Sheet:
    """List the pairs of the agreement map, highest agreement first.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}, "majority")
    >>> [cell.text for cell in pair_sheet(result).rows[0]]
    ['a', 'b', '1', '0%']
    """
    answers = result.answers
    component = result.identifiability.component[: answers.n_workers]
    workers = choose_workers(answers, component, MAX_MAP_WORKERS, first)
    pairs = pairs_among(answers, workers)
    names = take(answers.worker_names, workers).to_pylist()
    rows = []
    share = pairs.agreed / np.maximum(pairs.shared, 1)
    for e in np.lexsort([np.arange(len(pairs)), -pairs.shared, -share])[:MAX_PAIRS].tolist():
        one, two = (Cell(str(names[end[e]])) for end in (pairs.i, pairs.j))
        rows.append((one, two, number(int(pairs.shared[e]), 0), percent(float(pairs.agreed[e] / pairs.shared[e]))))
    columns = (Column("worker"), Column("other"), Column("shared tasks", number=True), Column("agreement", number=True))
    return Sheet("pairs-table", "Pairs of workers, most similar first", columns, tuple(rows), len(pairs))


def coefficient_sheet(agreement: Agreement) -> Sheet:
    """List the coefficients of agreement, with their intervals.

    >>> import quorate
    >>> found = quorate.agreement({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> [cell.text for cell in coefficient_sheet(found).rows[3]]
    ['percent agreement', '0.50', '–']
    """
    rows = [
        (
            Cell(agreement.named(name)),
            number(coefficient.value),
            Cell("–" if coefficient.low is None else f"{coefficient.low:.2f} to {coefficient.high:.2f}"),
        )
        for name, coefficient in agreement.overall.items()
    ]
    columns = (
        Column("coefficient"),
        Column("value", number=True),
        Column(f"{agreement.level:.0%} interval", number=True),
    )
    return Sheet("coefficients-table", "Agreement of all answers", columns, tuple(rows), len(rows))


def confidence_sheet(result: Result, confident: float) -> Sheet:
    """List the bars of the chart of confidence as rows.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyy")}, "majority")
    >>> [cell.text for cell in confidence_sheet(result, 0.9).rows[0]]
    ['95% to 100%', '2', 'confident']
    """
    rows = [
        (Cell(f"{row['low']:.0%} to {row['high']:.0%}", row["low"]), number(row["tasks"], 0), Cell(row["verdict"]))
        for row in confidence_rows(result, confident)
    ]
    columns = (Column("confidence", number=True), Column("tasks", number=True), Column("use"))
    return Sheet("confidence-table", "Tasks by confidence", columns, tuple(rows), len(rows))


def method_sheet(comparison: Comparison, result: Result) -> Sheet:
    """List other methods with the number of labels that each would change.

    >>> import quorate
    >>> from quorate.evaluation.compare import compare
    >>> answers = quorate.simulate.crowd(100, 5, 3).answers
    >>> sheet = method_sheet(compare(answers, methods=["majority"]), quorate.aggregate(answers, "majority"))
    >>> [cell.text for cell in sheet.rows[0]]
    ['majority', '0', '0%', 'takes the most frequent answer; every vote counts the same']
    """
    scored = comparison.n_scored is not None
    reference_label = result.vote.label if comparison.sample is None else result.vote.label[comparison.sample.is_chosen]
    rows = []
    for entry, label in zip(comparison.entries, comparison.labels, strict=True):
        name = entry.method.split(":")[0]
        changed = None if label is None else int((label != reference_label).sum())
        share = None if changed is None else changed / max(len(reference_label), 1)
        errors = (percent(entry.error, 1),) if scored else ()
        about = METHODS[name].about if entry.failed is None else f"failed: {entry.failed}"
        rows.append((Cell(entry.method), number(changed, 0), percent(share, 0), *errors, Cell(about)))
    columns = (
        Column("method"),
        Column("labels it would change", number=True),
        Column("share", number=True, spare=True),
        *((Column("wrong labels", number=True),) if scored else ()),
        Column("what it does"),
    )
    caption = f"Other methods against {result.method}"
    return Sheet("methods-table", caption, columns, tuple(rows), len(rows))
