"""What a confidence rests on: how much workers err together, how other crowds turned out, known labels."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quorate.arrays import FloatArray, IntArray
from quorate.errors import listing
from quorate.skills.notes import DEPENDENT, FAMILY, Note
from quorate.voting.dependence import INDEPENDENT, SIDE
from quorate.voting.population import N_CROWDS

STRONG = 0.4  # rho from which a reader is warned: 7 of the 26 public crowds, a panel of 24 LLM judges among them
FAR = 0.5  # independent answers for each answer: below this, a summary tells what the answers are worth
ADVISED = 30  # known labels that a summary suggests, of so many tasks or more
WORTH_ADVISING = 10  # tasks: of fewer, known labels tell next to nothing (of ten, all right: .72 and more)


@dataclass(frozen=True)
class Check:
    """What known labels changed, and how often the labels of their tasks are right when those are left out."""

    n: int  # known labels; those that had to anchor skills are not among them
    right: float  # tasks whose label, found without their own known label, is the known one; ties split
    low: float  # an interval for the share that is right (Wilson, 95 %)
    high: float
    stated: float  # the mean confidence of the same labels
    turned: tuple[tuple[str, str], ...]  # classes that the crowd exchanged
    ways: tuple[float, ...]  # how much each way of learning counted; see `quorate.voting.known_labels.WAYS`
    gain: float  # nats by which the known labels are likelier than without using them

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return self.right / self.n


@dataclass(frozen=True)
class Basis:
    """What the confidence of the labels rests on."""

    dependence: str  # measured, or said to be independent
    rho: float  # the correlation of two workers' errors on a task (of two groups', where there are any)
    answers: float  # a task, on average
    votes: float  # what they are worth in independent ones
    votes_low: float  # an interval (95 %), by the tasks that were looked at
    votes_high: float
    trust: float | None = None  # how well one skill a worker explains who agrees with whom; None: not asked
    families: tuple[tuple[str, ...], ...] = ()  # groups of several workers
    found: bool = False  # whether the families were found in the answers, rather than given
    known: Check | None = None
    clusters: IntArray | None = field(default=None, compare=False, repr=False)  # of each worker, where they were found

    def line(self, mean: float, n_tasks: int) -> str:
        """Say in one line how sure the labels of so many tasks are and what that rests on."""
        said = f"confidence: mean {mean:.2f}"
        if self.known is not None:
            right = f"{self.known.right:.0f} right, between {self.known.low:.2f} and {self.known.high:.2f}"
            return f"{said}; checked on {self.known.n:,} known label{'s' * (self.known.n != 1)}: {right}"
        if self.dependence == INDEPENDENT:
            return f"{said}, if workers err independently, as you say"
        n = advised_labels(n_tasks)
        check = f"; label {n} tasks yourself (`quorate advise --gold {n}`) to check it on yours" if n else ""
        return f"{said}, as labels of {N_CROWDS} public crowds turned out{check}"

    def lines(self, mean: float, n_tasks: int) -> list[str]:
        """Say it all: how sure, and what is unusual about this crowd."""
        told = [self.line(mean, n_tasks)]
        if self.known is not None and self.known.turned:
            pairs = ", ".join(f"{one!r} and {two!r}" for one, two in self.known.turned)
            told.append(f"known labels: the crowd exchanges {pairs}; its labels were turned round")
        if self.answers > 1 and self.votes < FAR * self.answers and self.rho < STRONG:
            told.append(f"votes: {self._worth()}")
        return told

    def notes(self) -> tuple[Note, ...]:
        """Warn where workers err together, or a family of them was found."""
        found = []
        if self.answers > 1 and self.rho >= STRONG:
            text = f"workers err together: {self._worth()}; more answers of the same workers will tell little"
            found.append(Note(DEPENDENT, text))
        for family in self.families if self.found else ():
            text = (
                f"{len(family)} workers repeat each other beyond what they know, and count for less: {listing(family)}"
            )
            found.append(Note(FAMILY, text))
        return tuple(found)

    def _worth(self) -> str:
        return (
            f"{self.answers:.3g} answers a task are worth about {self.votes:.1f} "
            f"({self.votes_low:.1f} to {self.votes_high:.1f}) independent ones"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        known = self.known
        return {
            "dependence": self.dependence,
            "public_crowds": N_CROWDS,
            "rho": self.rho,
            "answers_per_task": self.answers,
            "effective_votes": {"mean": self.votes, "low": self.votes_low, "high": self.votes_high},
            "families": [list(family) for family in self.families],
            "families_found": self.found,
            "known_labels": None
            if known is None
            else {
                "n": known.n,
                "right": known.right,
                "accuracy": known.accuracy,
                "low": known.low,
                "high": known.high,
                "stated": known.stated,
                "exchanged_classes": [list(pair) for pair in known.turned],
                "ways": list(known.ways),
                "gain_nats": known.gain,
            },
        }


def advised_labels(n_tasks: int) -> int:
    """Return how many tasks a summary suggests to label: no more than there are, and none where those are few.

    >>> advised_labels(400), advised_labels(12), advised_labels(3)
    (30, 12, 0)
    """
    return min(ADVISED, n_tasks) if n_tasks >= WORTH_ADVISING else 0


def wilson(right: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval (95 %) for a share of which so many of n were seen.

    >>> tuple(round(end, 2) for end in wilson(26, 30))
    (0.7, 0.95)
    """
    share, z2 = right / n, SIDE**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = SIDE * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))


def checked(posterior: FloatArray, label: IntArray) -> tuple[float, float]:
    """Return how many known labels a posterior that has not seen them gets right, ties split, and its mean confidence.

    >>> checked(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1]))
    (1.5, 0.7)
    """
    best = posterior.max(axis=1)
    leading = posterior >= best[:, None] * (1 - 1e-9)
    right = leading[np.arange(len(label)), label] / leading.sum(axis=1)
    return float(right.sum()), float(best.mean())
