"""What the diagnosis found, as the page shows it: sentences by kind, flags beside workers, pairs to mark in charts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quorate.answers import Answers
from quorate.diagnosis.finding import Finding, ids
from quorate.reporting.charts.standing import short_names
from quorate.reporting.sheet import Badge

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
