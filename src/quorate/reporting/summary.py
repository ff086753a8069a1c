"""The figures at the top of the page, and the few sentences to know first.

What the diagnosis found, as the page shows it: sentences by kind, flags beside workers, pairs to mark in charts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import IntArray
from quorate.calibration.confidence import advised_labels
from quorate.calibration.dependence import INDEPENDENT
from quorate.charts.vega import GUESSING, UNKNOWN, WORSE, short_names, standings
from quorate.diagnostics.finding import Finding, ids
from quorate.evaluation.metrics import Score
from quorate.methods.registry import METHODS
from quorate.notes import LOW_ONE_FACTOR_FIT, UNDETERMINED
from quorate.reporting.tables import Badge
from quorate.result import Result, count, left_out


@dataclass(frozen=True)
class Tile:
    """One figure, what it counts, and a word more; the tone colours it."""

    figure: str
    what: str
    more: str = ""
    tone: str = "plain"


def headline(result: Result, sure: float, score: Score | None = None) -> tuple[Tile, ...]:
    """Tell in figures how much there is, how sure it is, and how much is missing.

    Args:
        result: what was aggregated.
        sure: a label of less confidence needs more answers.
        score: of the labels, where the truth is known; it stands beside what should be right.

    >>> import quorate
    >>> result = quorate.aggregate({"task": [1, 1, 2], "worker": list("aba"), "label": list("xyx")}, "majority")
    >>> [(tile.figure, tile.what) for tile in headline(result, 0.9)][3:5]
    [('75%', 'of the votes back their label'), ('1', 'task needs more answers')]
    """
    a = result.answers
    confidence = result.task_vote.confidence
    doubtful = int((confidence < sure).sum())
    standing = standings(result)
    unknown = int((standing == UNKNOWN).sum())
    claims = METHODS[result.method].posterior and result.method != "majority"
    mean = result.task_vote.confidence_stats().mean
    return (
        Tile(f"{a.n_tasks:,}", _noun(a.n_tasks, "task"), count(a.n_classes, "class")),
        Tile(f"{a.n_workers:,}", _noun(a.n_workers, "worker"), _middle(a.per_worker, "answers each")),
        Tile(f"{a.n_answers:,}", _noun(a.n_answers, "answer"), f"{a.n_answers / max(a.n_tasks, 1):.1f} a task"),
        _how_sure(result, mean, claims=claims),
        *(() if score is None else (_is_right(score),)),
        Tile(
            f"{doubtful:,}",
            "task needs more answers" if doubtful == 1 else "tasks need more answers",
            f"less than {sure:.0%} sure",
            "good" if doubtful == 0 else "doubt",
        ),
        Tile(
            f"{unknown:,}",
            f"{_noun(unknown, 'worker')} cannot be judged",
            "too few answers, or too few shared tasks" if unknown else "",
            "unknown" if unknown else "good",
        ),
    )


def _how_sure(result: Result, mean: float | None, *, claims: bool) -> Tile:
    """State the mean confidence; or that none is stated, as what to know first says why."""
    if mean is None:
        return Tile("–", "no confidence is stated", "the answers do not support any", "unknown")
    if claims:
        return _should_be_right(result, mean)
    return Tile(_share(mean), "of the votes back their label", "which is no probability", "unknown")


def _should_be_right(result: Result, mean: float) -> Tile:
    """State the mean confidence, in the colour of what it rests on."""
    what, basis = "of the labels should be right", result.confidence_basis
    if basis is None:
        return Tile(
            _share(mean), what, "by the model's own account, which is too sure where workers err alike", "unknown"
        )
    if basis.known is not None:
        known = basis.known
        checked = f"checked on {count(known.n, 'known label')}: between {known.low:.0%} and {known.high:.0%}"
        return Tile(_share(mean), what, checked, "good")
    if basis.dependence == INDEPENDENT:
        return Tile(_share(mean), what, "if workers err independently, as you say", "doubt")
    share = basis.share_right
    between = "" if share is None else f"between {share.low:.0%} and {share.high:.0%}; "
    return Tile(_share(mean), what, f"{between}as in comparable crowds, not checked on yours", "doubt")


def _is_right(score: Score) -> Tile:
    return Tile(_share(1 - score.error), "of the labels are right", f"by {count(score.n_scored, 'true label')}")


def first_things(result: Result, *, is_told: bool = False, told: Collection[str] = ()) -> tuple[str, ...]:
    """Say what a reader must know before trusting any figure.

    Args:
        result: what was aggregated.
        is_told: whether a finding tells already whose skill is not determined.
        told: the kinds of what was found; nothing is said twice.

    >>> import quorate
    >>> answers = {"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")}
    >>> first_things(quorate.aggregate(answers))[0][:41]
    "3 of 3 workers' skills are not determined"
    """
    lines = [note.text for note in result.notes if not (is_told and note.kind == UNDETERMINED)]
    if (
        result.one_factor_weight is not None
        and result.one_factor_weight < LOW_ONE_FACTOR_FIT
        and "several-factors" not in told
    ):
        n = advised_labels(result.crowd_info.n_tasks)
        lines.append(
            f"Trust {result.one_factor_weight:.2f}: skilled workers agree among themselves more than their skills "
            "explain. A group may copy or share a bias, so the labels lean towards the plain vote; "
            "only known labels show who is right"
            f"{f' (quorate advise --expert {n})' if n else ''}."
        )
    if result.solution is not None and result.solution.status != "converged":
        lines.append(f"The solver stopped before it was done: {result.solution}.")
    ties = int(result.task_vote.tied.sum())
    if ties:
        lines.append(f"{count(ties, 'label')} {'was' if ties == 1 else 'were'} decided by breaking a tie.")
    return tuple(lines)


def nothing_found(result: Result) -> str:
    """Say what it means that the diagnosis has no finding; some workers may stand low all the same.

    >>> import quorate
    >>> nothing_found(quorate.aggregate(quorate.simulate.crowd(300, 3, 3, skills=np.full(3, 0.8)).answers))
    'Nothing stands out that could not be chance.'
    """
    kinds = standings(result)
    low = int(((kinds == GUESSING) | (kinds == WORSE)).sum())
    line = "Nothing stands out that could not be chance."
    if low == 0:
        return line
    return (
        f"{line} Judged alone, {count(low, 'worker')} may be guessing or worse; too few answers, or too many "
        "workers looked at, to name anyone."
    )


def omissions(answers: Answers, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Say which rows, tasks and workers did not count, and why.

    >>> import quorate
    >>> omissions(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ('1 row repeats an answer exactly and was counted once',)
    """
    empty = {"task": int((answers.per_task == 0).sum()), "worker": int((answers.per_worker == 0).sum())}
    lines = [f"{count(n, noun)} {'has' if n == 1 else 'have'} no answer left" for noun, n in empty.items() if n]
    return (*others, *left_out(answers), *lines)


def _noun(n: int, noun: str) -> str:
    return count(n, noun).split(" ", 1)[1]


def _middle(values: IntArray, what: str) -> str:
    return f"median {np.median(values):,.0f} {what}" if len(values) else ""


def _share(value: float) -> str:
    return ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


MOST_SENTENCES = 3  # sentences of one kind
PAIR = "agreeing-pair"
# A word for each kind beside a worker's name, and the colour of both.
FLAGS = {
    "loosely-tied": ("loosely tied", "unknown"),
    "near-bipartite": ("nearly two sides", "unknown"),
    "weakly-identified": ("weakly identified", "unknown"),
    "class-dependent-accuracy": ("better on some classes", "doubt"),
    "copying-group": ("copying group", "doubt"),
    "several-factors": ("several factors", "doubt"),
    "adversary": ("worse than guessing", "bad"),
    "one-button": ("one button", "bad"),
    "spammer": ("answers at random", "bad"),
    "agreeing-cluster": ("in a cluster that agrees", "copy"),
    PAIR: ("agrees with another", "copy"),
    "drift": ("changed over time", "doubt"),
    "cannot-be-judged": ("", "unknown"),  # the standing says it
    "hard-task": ("", "doubt"),
}


@dataclass(frozen=True)
class Group:
    """Findings of one kind: the first few sentences, and how many more there are."""

    kind: str
    tone: str
    sentences: tuple[str, ...]
    more: int
    figures: tuple[str, ...] = ()  # the statistics behind the sentences


@dataclass(frozen=True)
class Arranged:
    """All findings, the most serious kind first, and what they say of whom."""

    groups: tuple[Group, ...]
    flags: Mapping[int, tuple[Badge, ...]]  # of each worker, by code
    copying: tuple[tuple[int, int], ...]  # pairs of codes that agree beyond their skills

    @property
    def copiers(self) -> list[int]:
        """Everyone in such a pair."""
        return [code for pair in self.copying for code in pair]


def arrange(findings: Iterable[Finding], answers: Answers) -> Arranged:
    """Sort findings for the page.

    Args:
        findings: of a diagnosis, in its order.
        answers: that were diagnosed.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 1, 1], "worker": ["ann", "bob", "eve"], "label": list("xxy")})
    >>> pair = Finding("agreeing-pair", "'ann' and 'eve' agree beyond their skills", 0.01, "p-value", workers=(0, 2))
    >>> found = arrange([pair], answers)
    >>> found.copying, found.flags[2][0].text, found.groups[0].kind
    (((0, 2),), 'agrees with ann', 'agreeing pair')
    """
    by_kind: dict[str, list[Finding]] = {}
    flags: dict[int, dict[Badge, None]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
        word, tone = FLAGS.get(finding.kind, (finding.kind.replace("-", " "), "doubt"))
        for code in finding.workers if word else ():
            if finding.kind == PAIR:
                others = ids(answers.worker_names, (other for other in finding.workers if other != code))
                word = f"agrees with {', '.join(short_names(others))}"
            flags.setdefault(int(code), {})[Badge(word, tone)] = None
    groups = (
        Group(
            kind.replace("-", " "),
            FLAGS.get(kind, ("", "doubt"))[1],
            tuple(each.sentence for each in own[:MOST_SENTENCES]),
            max(len(own) - MOST_SENTENCES, 0),
            tuple(each.figures for each in own[:MOST_SENTENCES] if each.figures),
        )
        for kind, own in by_kind.items()
    )
    pairs = (finding.workers for finding in by_kind.get(PAIR, []))
    return Arranged(
        tuple(groups),
        {code: tuple(badges) for code, badges in flags.items()},
        tuple((int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2),
    )
