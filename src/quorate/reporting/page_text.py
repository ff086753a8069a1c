"""Texts of the HTML page of `quorate report`: headline, tiles, problems, title, and the paragraph for a manager.

`Result.summary`, which `quorate aggregate` prints, is in `quorate.result`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.advice.next_steps import NextSteps
from quorate.answers import Answers
from quorate.calibration.confidence import calibration_data
from quorate.calibration.dependence import INDEPENDENT
from quorate.charts.vega import short_names
from quorate.diagnostics.diagnose import hard_tasks_line, uncovered_notes
from quorate.diagnostics.finding import KIND_WORDS, STOP, TRAIN, Finding, ids, named
from quorate.diagnostics.ratings import TOO_FEW, possible_guessers_text, ratings
from quorate.errors import as_sentence, in_python
from quorate.evaluation.metrics import Score
from quorate.methods.registry import METHODS
from quorate.reporting.tables import Badge
from quorate.result import Result, count, left_out, percent
from quorate.voting.ties import tie_sentence


@dataclass(frozen=True)
class Tile:
    """One figure, what it counts, and a note; the tone determines its colour."""

    figure: str
    what: str
    more: str = ""
    tone: str = "plain"


def n_to_use(result: Result, confident: float) -> int:
    """Return the number of labels with at least this confidence."""
    return int((result.vote.confidence >= confident).sum())


def headline(result: Result, confident: float) -> str:
    """Return one or two sentences on how many labels can be used, and how many are probably wrong.

    >>> import quorate
    >>> headline(quorate.aggregate(quorate.simulate.crowd(300, 6, 6, seed=0).answers), 0.9)
    'You can use ... of 300 labels now (90% confidence or more). About ... of all labels are probably wrong.'
    """
    n_tasks = result.answers.n_tasks
    wrong = result.expected_wrong()
    if wrong is None:
        return "These answers do not show how many labels are right."
    if not states_probabilities(result):
        return (
            f"{count(n_tasks, 'label')} by the method {result.method}, which does not estimate how many "
            "labels are right."
        )
    judges = result.confidence_basis
    if judges is not None and judges.n_models and judges.known is None and judges.share_right is not None:
        share = judges.share_right
        return (
            f"Check these labels before you use them: in 9 of 10 panels of LLM judges like this one, {share.low:.0%} "
            f"to {share.high:.0%} of the labels are right."
        )
    return (
        f"You can use {n_to_use(result, confident):,} of {count(n_tasks, 'label')} now ({confident:.0%} confidence or "
        f"more). About {percent(wrong)} of all labels are probably wrong."
    )


def states_probabilities(result: Result) -> bool:
    """Whether the confidence of the method is a probability, and not a share of votes."""
    return METHODS[result.method].posterior and result.method != "majority"


def tiles(result: Result, confident: float, score: Score | None = None) -> tuple[Tile, ...]:
    """Return the figures at the top of the page.

    Args:
        result: what was aggregated.
        confident: the confidence from which a label counts as reliable.
        score: of the labels, if true labels are given.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}, "majority")
    >>> [(tile.figure, tile.what) for tile in tiles(result, 0.9)][3:5]
    [('75%', 'of votes agree with the label'), ('1', 'label to review')]
    """
    a = result.answers
    n_review = int((result.vote.confidence < confident).sum())
    n_unrated = int((ratings(result) == TOO_FEW).sum())
    per_task = a.n_answers / max(a.n_tasks, 1)
    per_worker = f"median {np.median(a.per_worker):,.0f} answers each" if a.n_workers else ""
    scored: tuple[Tile, ...] = ()
    if score is not None:
        scored = (Tile(_share(1 - score.error), "of labels right", f"by {count(score.n_scored, 'true label')}"),)
    return (
        Tile(f"{a.n_tasks:,}", _noun(a.n_tasks, "task"), count(a.n_classes, "class")),
        Tile(f"{a.n_workers:,}", _noun(a.n_workers, "worker"), per_worker),
        Tile(f"{a.n_answers:,}", _noun(a.n_answers, "answer"), f"{per_task:.3g} per task"),
        _right_tile(result),
        *scored,
        Tile(
            f"{n_review:,}",
            f"{_noun(n_review, 'label')} to review",
            f"below {confident:.0%} confidence",
            "good" if n_review == 0 else "doubt",
        ),
        Tile(
            f"{n_unrated:,}",
            f"{_noun(n_unrated, 'worker')} not rated",
            "too few answers" if n_unrated else "",
            "unknown" if n_unrated else "good",
        ),
    )


def _right_tile(result: Result) -> Tile:
    """Return the tile with the share of labels that are probably right, and how it was estimated."""
    wrong = result.expected_wrong()
    if wrong is None:
        return Tile("–", "no confidence is stated", "the answers do not support any", "unknown")
    right = _share(1 - wrong)
    basis = result.confidence_basis
    if not states_probabilities(result):
        return Tile(right, "of votes agree with the label", "this is not a probability", "unknown")
    what = "of labels probably right"
    if basis is None:
        return Tile(right, what, "as stated by the method; too high if workers share mistakes", "unknown")
    if basis.known is not None:
        return Tile(right, what, f"{_between(result)}estimated with {count(basis.known.n, 'known label')}", "good")
    if basis.dependence == INDEPENDENT:
        return Tile(right, what, "if workers make mistakes independently, as you declared", "doubt")
    data = calibration_data(has_models=basis.n_models > 0)
    return Tile(right, what, f"{_between(result)}estimated from {data}, not checked on yours", "doubt")


def _between(result: Result) -> str:
    """Return the interval of the share of right labels as text, with a semicolon and a blank at the end; or ""."""
    wrong = result.share_wrong()
    return "" if wrong is None else f"90% interval {_share(1 - wrong.high)} to {_share(1 - wrong.low)}; "


def for_manager(result: Result, steps: NextSteps, confident: float) -> str:
    """Return a paragraph for a manager: how many answers there are, how many labels can be used, what to do.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 6, 6, seed=0).answers)
    >>> from quorate.advice.next_steps import steps_of
    >>> for_manager(result, steps_of(result, quorate.diagnose(result)), 0.9)
    '6 workers gave 1,800 answers. About ...% of the 300 labels are right (estimate; not yet checked). ...
    """
    a = result.answers
    basis = result.confidence_basis
    sentences = [f"{count(a.n_workers, 'worker')} gave {count(a.n_answers, 'answer')}."]
    wrong = result.expected_wrong()
    if basis is not None and basis.is_chance:
        sentences.append("They agree no more than chance, so nothing shows how many labels are right.")
    elif wrong is not None and states_probabilities(result):
        if basis is not None and basis.known is not None:
            how = f"{_between(result)}estimated with {count(basis.known.n, 'known label')}"
        else:
            how = "estimate; not yet checked"
        sentences.append(f"About {_share(1 - wrong)} of the {count(a.n_tasks, 'label')} are right ({how}).")
        n_now = n_to_use(result, confident)
        sentences.append(f"{n_now:,} can be used now." if n_now else f"None has {confident:.0%} confidence yet.")
    for action, plural_verb in ((STOP, "should stop or be tested again"), (TRAIN, "need training")):
        codes = [code for finding in steps.workers_with(action) for code in finding.workers]
        if codes:
            verb = plural_verb if len(codes) > 1 or action == STOP else "needs training"
            sentences.append(f"{count(len(codes), 'worker')} ({named(a.worker_names, codes)}) {verb}.")
    n_unrated = int((ratings(result) == TOO_FEW).sum())
    if n_unrated:
        verb = "has" if n_unrated == 1 else "have"
        sentences.append(f"{count(n_unrated, 'worker')} {verb} answered too little to be rated.")
    if steps.expert is not None and steps.is_stated:
        n = len(steps.expert.task)
        after = percent(steps.after_expert)
        effect = f"lower the share of wrong labels to about {after} and check"
        if wrong is not None and after == percent(wrong):
            effect = "mainly check"
        sentences.append(f"Having an expert label {count(n, 'task')} would {effect} this estimate.")
    return " ".join(sentences)


def first_things(result: Result, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the notes that no finding states, and other remarks to read before using the labels.

    >>> import quorate
    >>> first_things(quorate.aggregate(quorate.simulate.crowd(100, 5, 3, seed=0).answers), ())
    ()
    """
    lines = [in_python(as_sentence(note.text)) for note in uncovered_notes(result.notes, findings)]
    guessers = "" if result.inference is None else possible_guessers_text(result, findings)
    if guessers:
        lines.append(guessers)
    if result.solution is not None and result.solution.status != "converged":
        lines.append("The computation of the skills stopped early; ratings may be imprecise.")
    n_ties = int(result.vote.tied.sum())
    if n_ties:
        lines.append(tie_sentence(n_ties))
    return tuple(lines)


def omissions(answers: Answers, first_lines: Sequence[str] = ()) -> tuple[str, ...]:
    """Return sentences on the rows, tasks and workers that were not used, and why.

    >>> import quorate
    >>> omissions(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ('1 row repeats an answer exactly and was counted once.',)
    """
    empty = {"task": int((answers.per_task == 0).sum()), "worker": int((answers.per_worker == 0).sum())}
    lines = [f"{count(n, noun)} {'has' if n == 1 else 'have'} no answer left" for noun, n in empty.items() if n]
    return (*first_lines, *left_out(answers), *lines)


def _noun(n: int, noun: str) -> str:
    return count(n, noun).split(" ", 1)[1]


def _share(value: float) -> str:
    return ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


MAX_SENTENCES = 3  # findings of one kind that the page lists
PAIR = "agreeing-pair"


@dataclass(frozen=True)
class FindingGroup:
    """Findings of one kind: a heading, the first few sentences, and how many more there are."""

    kind: str
    heading: str
    tone: str
    sentences: tuple[str, ...]
    more: int
    figures: tuple[str, ...] = ()  # the statistics behind the sentences


@dataclass(frozen=True)
class ArrangedFindings:
    """All findings, causes before effects, with the badges of workers and the pairs to mark in charts."""

    groups: tuple[FindingGroup, ...]
    flags: Mapping[int, tuple[Badge, ...]]  # of each worker, by code
    copying: tuple[tuple[int, int], ...]  # pairs of codes that agree more than their skills explain

    @property
    def copiers(self) -> list[int]:
        """The codes of all workers in these pairs."""
        return [code for pair in self.copying for code in pair]


def arrange(findings: Iterable[Finding], answers: Answers, n_tasks_tested: int | None = None) -> ArrangedFindings:
    """Return the findings grouped for the page.

    Args:
        findings: of a diagnosis, in its order.
        answers: that were diagnosed.
        n_tasks_tested: the number of tasks that were tested one by one; None: all.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": ["ann", "bob", "eve"], "label": list("xxy")})
    >>> pair = Finding("agreeing-pair", "ann and eve give the same answer", 0.01, "p-value", workers=(0, 2))
    >>> arranged = arrange([pair], answers)
    >>> arranged.copying, arranged.flags[2][0].text, arranged.groups[0].heading
    (((0, 2),), 'agrees with ann', 'Unusual agreement')
    """
    by_kind: dict[str, list[Finding]] = {}
    flags: dict[int, dict[Badge, None]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
        word = KIND_WORDS[finding.kind].badge
        tone = KIND_WORDS[finding.kind].tone
        for code in finding.workers if word else ():
            if finding.kind == PAIR:
                partners = ids(answers.worker_names, (other for other in finding.workers if other != code))
                word = f"agrees with {', '.join(short_names(partners))}"
            flags.setdefault(int(code), {})[Badge(word, tone)] = None
    groups = []
    for kind, same in by_kind.items():
        heading = KIND_WORDS[kind].heading
        tone = KIND_WORDS[kind].tone
        lines = [finding.line for finding in same[:MAX_SENTENCES]]
        if kind == "hard-task":
            lines.insert(0, hard_tasks_line(len(same), answers.n_tasks if n_tasks_tested is None else n_tasks_tested))
        figures = tuple(finding.figures for finding in same[:MAX_SENTENCES] if finding.figures)
        groups.append(FindingGroup(kind, heading, tone, tuple(lines), max(len(same) - MAX_SENTENCES, 0), figures))
    pairs = (finding.workers for finding in by_kind.get(PAIR, []))
    return ArrangedFindings(
        tuple(groups),
        {code: tuple(badges) for code, badges in flags.items()},
        tuple((int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2),
    )


# Words in the name of a file that do not describe its content.
MEANINGLESS = frozenset(
    (
        *("all", "annotation", "annotations", "answer", "answers", "at", "crowd", "csv", "data", "dataset", "export"),
        *("file", "final", "input", "json", "label", "labels", "new", "output", "project", "raw", "responses"),
        *("result", "results", "table", "task", "tasks"),
    )
)


def title_of(name: str | None, answers: Answers) -> str:
    """Return a title from the name of a file or a table; for a name without meaning, the numbers of workers and tasks.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> title_of("data/tone_of-reviews.csv.gz", answers), title_of("labels.csv", answers)
    ('Tone of reviews', '3 workers on 2 tasks')
    >>> title_of("team+PILOT__output.csv", answers)
    'team+PILOT__output.csv'
    """
    file = (name or "").replace("\\", "/").rsplit("/", 1)[-1]
    stem = re.split("[.?#*]", file, maxsplit=1)[0]
    words = stem.replace("_", " ").replace("-", " ").split()
    if not words or all(word.lower() in MEANINGLESS or word.isdecimal() for word in words):
        return f"{count(answers.n_workers, 'worker')} on {count(answers.n_tasks, 'task')}"
    if not re.fullmatch(r"[^\W_]+(?:[ _-][^\W_]+)*", stem):  # a name made by a program is not changed
        return file
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])
