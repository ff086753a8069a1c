"""What a finding is: whom it concerns, how strong it is, the figures behind it, and a plain sentence.

Many tests at once: how often what is named is named wrongly (Benjamini and Hochberg 1995).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted
from quorate.arrays import FloatArray
from quorate.errors import listing

# Every kind, the most serious first: what hangs by a thread, what makes the model wrong, who is wrong, what to look at.
KINDS = (
    "loosely-tied",
    "near-bipartite",
    "weakly-identified",
    "class-dependent-accuracy",
    "copying-group",
    "several-factors",
    "adversary",
    "one-button",
    "spammer",
    "agreeing-cluster",
    "agreeing-pair",
    "drift",
    "cannot-be-judged",
    "hard-task",
)


@dataclass(frozen=True)
class Finding:
    """One thing that the data say is wrong, or that they cannot say.

    >>> finding = Finding("spammer", "worker 'w7' answers at random", 0.003, "adjusted p-value", workers=(7,))
    >>> finding.rank
    8
    """

    kind: str  # one of KINDS
    sentence: str
    strength: float
    measure: str  # what the strength is: an adjusted p-value, a number of tasks, ...
    workers: tuple[int, ...] = ()  # codes
    tasks: tuple[int, ...] = ()  # codes
    evidence: Mapping[str, Any] = field(default_factory=dict)  # figures by name
    figures: str = ""  # the statistics behind the sentence, for whoever wants them

    @property
    def rank(self) -> int:
        """The place of its kind in the order of seriousness, 0 for the most serious."""
        return KINDS.index(self.kind)

    def to_dict(self, answers: Counted) -> dict[str, Any]:
        """Return what `quorate diagnose --json` prints of it, with ids for codes."""
        names = answers.task_names if isinstance(answers, Answers) else pa.nulls(0)  # an engine's findings name none
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "strength": self.strength,
            "measure": self.measure,
            "workers": ids(answers.worker_names, self.workers),
            "tasks": ids(names, self.tasks),
            "evidence": dict(self.evidence),
        }


def ids(names: pa.Array, codes: Iterable[int]) -> list[Any]:
    """Return the ids behind codes.

    >>> ids(pa.array(["ann", "bob"]), [1])
    ['bob']
    """
    return [names[int(code)].as_py() for code in codes]


def named(names: pa.Array, codes: Iterable[int], most: int = 5) -> str:
    """Name the first few ids and count the rest.

    >>> named(pa.array(["ann", "bob", "cy"]), [0, 2])
    "'ann', 'cy'"
    """
    chosen = list(codes)
    shown = listing(ids(names, chosen[:most]), most)
    return f"{shown} and {len(chosen) - most:,} more" if len(chosen) > most else shown


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by kind, the most serious kind first; within a kind they stay in their order.

    >>> one, two = (Finding(kind, "", 0.0, "") for kind in ("hard-task", "adversary"))
    >>> [finding.kind for finding in ordered([one, two])]
    ['adversary', 'hard-task']
    """
    return tuple(sorted(findings, key=lambda finding: finding.rank))


LEVEL = 0.05  # the share of what is named that may be named wrongly, on average


def adjusted(p: FloatArray) -> FloatArray:
    """Adjust p-values by Benjamini and Hochberg: naming all at most q keeps the false-discovery rate at q.

    NaN stands for what was not tested: it stays NaN, and does not count as a test.

    >>> adjusted(np.array([0.01, np.nan, 0.04, 0.03])).round(3).tolist()
    [0.03, nan, 0.04, 0.04]
    """
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    found = np.full(len(p), np.nan)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found
