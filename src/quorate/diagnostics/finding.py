"""A finding: one problem of the data, with a sentence, its workers or tasks, its statistics, and what to do.

`aggregate`, `diagnose`, `advise`, `check`, `report` and the notebook view print these objects, so that all of them
state the same problems in the same words.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray
from quorate.errors import LONGEST_VALUE, visible, with_full_stop
from quorate.statistics import benjamini_hochberg


@dataclass(frozen=True)
class KindWords:
    """The words of all outputs for the findings of one kind."""

    phrase: str  # in a line of `quorate check`
    heading: str  # in the report
    badge: str  # next to the name of a worker; empty if the rating states it
    tone: str  # the colour of heading and badge: good, doubt, bad, copy or unknown


# All kinds, causes before their effects: ratings that depend on few tasks, workers who answer badly, workers who are
# not independent, then effects on the answers as a whole and on classes, and last workers and tasks that cannot be
# judged.
KIND_WORDS = {
    "loosely-tied": KindWords(
        "groups that share few tasks with the others",
        "Few shared tasks",
        "few shared tasks",
        "unknown",
    ),
    "near-bipartite": KindWords(
        "two groups that share tasks almost only with each other",
        "Few shared tasks",
        "few shared tasks",
        "unknown",
    ),
    "weakly-identified": KindWords(
        "workers who can be rated only roughly",
        "Rated only roughly",
        "rated only roughly",
        "unknown",
    ),
    "adversary": KindWords(
        "workers who are wrong more often than chance",
        "Wrong more often than chance",
        "often opposite",
        "bad",
    ),
    "one-button": KindWords(
        "workers who give the same answer almost every time",
        "Same answer almost every time",
        "same answer almost every time",
        "bad",
    ),
    "spammer": KindWords("workers who answer at random", "Random answers", "answers at random", "bad"),
    "likely-guesser": KindWords("workers who are probably guessing", "Probably guessing", "probably guessing", "bad"),
    "below-typical": KindWords(
        "workers who are far less often right than the others",
        "Less often right than others",
        "less often right than others",
        "doubt",
    ),
    "copying-group": KindWords("workers who copy", "Copying", "same answers as others", "copy"),
    "agreeing-cluster": KindWords(
        "groups of workers with unusually similar answers",
        "Unusual agreement",
        "in a group that agrees",
        "copy",
    ),
    "agreeing-pair": KindWords(
        "pairs of workers with unusually similar answers",
        "Unusual agreement",
        "agrees with another",
        "copy",
    ),
    "position-bias": KindWords(
        "workers who prefer one position",
        "Prefers one position",
        "prefers one position",
        "doubt",
    ),
    "self-preference": KindWords(
        "judges who prefer outputs of their own model",
        "Prefers its own outputs",
        "prefers its own outputs",
        "doubt",
    ),
    "covariate-bias": KindWords(
        "workers whose answers depend on something other than the task",
        "Answers depend on something else",
        "depends on something else",
        "doubt",
    ),
    "answers-very-fast": KindWords(
        "workers who answer much faster than the others",
        "Very fast answers",
        "answers very fast",
        "doubt",
    ),
    "drift": KindWords("workers who got better or worse", "Changed over time", "changed over time", "doubt"),
    "several-factors": KindWords(
        "signs of a shared bias in the answers as a whole", "Shared bias", "shared bias", "doubt"
    ),
    "class-dependent-accuracy": KindWords(
        "classes that are harder than others",
        "Harder classes",
        "better on some classes",
        "doubt",
    ),
    "cannot-be-judged": KindWords("workers who cannot be rated", "Not rated", "", "unknown"),
    "hard-task": KindWords("unclear tasks", "Unclear tasks", "", "doubt"),
}
KINDS = tuple(KIND_WORDS)
STOP = "stop or retest"
TRAIN = "train"
RETEST = "test with tasks that have another answer"  # for a worker who gives one answer and is right as often as others
CHECK_PROMPT = "check its prompt"  # for a language model, which cannot be trained here
# What to do about a worker: one who guesses can be replaced, one who is systematically wrong can be taught.
ACTIONS = {
    "adversary": TRAIN,
    "one-button": STOP,
    "spammer": STOP,
    "likely-guesser": STOP,
    "below-typical": TRAIN,
}


@dataclass(frozen=True)
class Finding:
    """One problem of the data, or one quantity that they do not determine.

    >>> finding = Finding("spammer", "w7 answers almost at random", 0.003, "adjusted p-value", workers=(7,))
    >>> finding.rank, finding.action
    (5, 'stop or retest')
    """

    kind: str  # one of KINDS
    sentence: str
    strength: float
    measure: str  # what the strength is: an adjusted p-value, a number of tasks, ...
    workers: tuple[int, ...] = ()  # codes
    tasks: tuple[int, ...] = ()  # codes
    evidence: Mapping[str, Any] = field(default_factory=dict)  # figures by name
    figures: str = ""  # the statistics behind the sentence, for --verbose and the report's details
    own_action: str | None = None  # what to do, if it differs from the action of the kind

    @property
    def rank(self) -> int:
        """The position of its kind in KINDS."""
        return KINDS.index(self.kind)

    @property
    def action(self) -> str:
        """What to do about the workers: STOP, TRAIN, RETEST, CHECK_PROMPT, or nothing (an empty text)."""
        return ACTIONS.get(self.kind, "") if self.own_action is None else self.own_action

    @property
    def line(self) -> str:
        """The sentence with its full stop and the action: the same text in every output."""
        text = with_full_stop(self.sentence)
        return f"{text} [{self.action}]" if self.action else text

    def to_dict(self, answers: Counted) -> dict[str, Any]:
        """Return the object that `quorate diagnose --json` prints, with ids instead of codes."""
        names = answers.task_names if isinstance(answers, Answers) else pa.nulls(0)  # an engine's findings name none
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "action": self.action or None,
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


def plain(value: object) -> str:
    """Return an id as text, without quotes, cut to LONGEST_VALUE characters and without control characters.

    >>> plain("ann"), plain(7)
    ('ann', '7')
    """
    text = visible(" ".join(str(value).split()))
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def quoted(label: object) -> str:
    """Return a label in double quotes.

    >>> quoted("neutral")
    '"neutral"'
    """
    return f'"{plain(label)}"'


def named(names: pa.Array, codes: Iterable[int], most: int = 5) -> str:
    """Return the first few ids as text, and the number of the others.

    >>> named(pa.array(["ann", "bob", "cy"]), [0, 2]), named(pa.array(["ann", "bob", "cy"]), [0, 1, 2], most=2)
    ('ann and cy', 'ann, bob and 1 more')
    """
    chosen = list(codes)
    shown = [plain(name) for name in ids(names, chosen[:most])]
    if len(chosen) > most:
        return f"{', '.join(shown)} and {len(chosen) - most:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def subject(names: pa.Array, codes: Iterable[int], noun: str = "worker") -> str:
    """Return ids as text for the beginning of a sentence; a number is preceded by the noun.

    >>> subject(pa.array(["ann", "bob"]), [0, 1]), subject(pa.array([17, 27]), [0, 1]), subject(pa.array([17]), [0])
    ('ann and bob', 'Workers 17 and 27', 'Worker 17')
    """
    chosen = list(codes)
    text = mention(names, chosen, noun)
    return text if text == named(names, chosen) else f"{text[0].upper()}{text[1:]}"


def mention(names: pa.Array, codes: Iterable[int], noun: str = "worker") -> str:
    """Return ids as text within a sentence; a number is preceded by the noun.

    >>> mention(pa.array(["ann", "bob"]), [0, 1]), mention(pa.array([17, 27]), [0, 1])
    ('ann and bob', 'workers 17 and 27')
    """
    chosen = list(codes)
    text = named(names, chosen)
    if not text[:1].isdigit():
        return text
    return f"{noun} {text}" if len(chosen) == 1 else f"{noun}s {text}"


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort findings by kind, causes before effects; within a kind they keep their order.

    >>> one, two = (Finding(kind, "", 0.0, "") for kind in ("hard-task", "adversary"))
    >>> [finding.kind for finding in ordered([one, two])]
    ['adversary', 'hard-task']
    """
    return tuple(sorted(findings, key=lambda finding: finding.rank))


MAX_FALSE_DISCOVERIES = 0.05  # conventional: expected share of findings of one test that are false


def is_discovery(p: FloatArray) -> BoolArray:
    """Whether each p-value, adjusted over all, is at most MAX_FALSE_DISCOVERIES; False where it is NaN.

    >>> is_discovery(np.array([0.001, np.nan, 0.04])).tolist()
    [True, False, True]
    """
    return np.nan_to_num(benjamini_hochberg(p), nan=1.0) <= MAX_FALSE_DISCOVERIES
