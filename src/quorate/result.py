"""What an aggregation returns: labels, workers and posterior as tables, and a summary that a person can read."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from quorate.answers import Answers, Counted
from quorate.arrays import BoolArray, FloatArray, IntArray, Table, from_numpy, from_strings, null_where, table_of, take
from quorate.errors import count as count  # results are where most find it
from quorate.meetings.graph import Identifiability
from quorate.meetings.pairs import pair_stats
from quorate.skills.evidence import STATUSES
from quorate.skills.signs import Signs
from quorate.skills.solution import Solution
from quorate.uncertainty.intervals import LEVEL, Inference, Intervals, skill_intervals
from quorate.voting.vote import Ballot, accuracy

if TYPE_CHECKING:
    import quorate

LOW_TRUST = 0.8  # below this, the summary tells


@dataclass(frozen=True, repr=False)
class Result:
    """Labels for the tasks, skills for the workers, and what the data could not tell."""

    method: str
    answers: Answers
    ballot: Ballot
    skills: FloatArray  # NaN where not determined
    weights: FloatArray  # what each worker's vote counted
    status: IntArray  # of each worker: a position in STATUSES
    identifiability: Identifiability
    solution: Solution | None = None  # how the skills were found
    signs: Signs | None = None  # how much of the evidence contradicts the signs of the skills
    notes: tuple[str, ...] = ()  # what a reader must know, the most important first
    confusion: FloatArray | None = None  # workers × answers × classes, where the method fits such matrices
    confusion_counts: FloatArray | None = None  # the expected answers behind each entry
    trust: float | None = None  # how well one skill a worker explains who agrees with whom; see `quorate.skills.trust`
    inference: Inference | None = None  # what intervals need to know of the estimate; None where it has none
    level: float = LEVEL  # of the intervals
    interval_kind: str = "auto"  # full, fast, none, or auto: full where that is quick

    @cached_property
    def labels(self) -> Table:
        """One row a task: task, label, confidence, margin, n_answers, tied."""
        answers, ballot = self.answers, self.ballot
        columns = {
            "task": answers.task_names,
            "label": take(answers.classes, ballot.label),
            "confidence": ballot.confidence,
            "margin": ballot.margin,
            "n_answers": answers.per_task,
            "tied": ballot.tied,
        }
        return Table(table_of(columns))

    @cached_property
    def intervals(self) -> Intervals:
        """An interval for each skill, computed when first asked for; all NaN where the method has none."""
        return skill_intervals(self.inference, self.answers.n_workers, level=self.level, kind=self.interval_kind)

    @cached_property
    def diagnosis(self) -> "quorate.Diagnosis":
        """What is wrong with these answers, and what they cannot tell; see `quorate.diagnose`."""
        import quorate  # by the front door: diagnosis lies further on the path of the data

        return quorate.diagnose_result(self)

    @property
    def plot(self) -> "quorate.charts.Plots":
        """Charts of this result: ``skills()``, ``graph()``, ``agreement()`` and ``confidence()``."""
        import quorate

        return quorate.charts.Plots(self)

    def __repr__(self) -> str:
        return f"<Result of {self._head()}>"

    def _repr_html_(self) -> str:
        import quorate

        return quorate.charts.result_html(self)

    @cached_property
    def workers(self) -> Table:
        """One row a worker: worker, skill and its interval, accuracy, weight, n_answers, n_peers, component, status.

        Skill, interval and accuracy are null where they are not determined; weight is what the vote used all the same.
        """
        answers = self.answers
        pairs = pair_stats(answers)
        unknown = np.isnan(self.skills)
        sure = self.intervals
        columns = {
            "worker": answers.worker_names,
            "skill": from_numpy(self.skills, mask=unknown),
            "skill_low": from_numpy(sure.low, mask=np.isnan(sure.low)),
            "skill_high": from_numpy(sure.high, mask=np.isnan(sure.high)),
            "standard_error": from_numpy(sure.standard_error, mask=np.isnan(sure.standard_error)),
            "accuracy": from_numpy(accuracy(self.skills, answers.n_classes), mask=unknown),
            "weight": self.weights,
            "n_answers": answers.per_worker,
            "n_peers": pairs.n_peers(answers.n_workers),
            "component": self.identifiability.component[: answers.n_workers],
            "status": take(from_strings(STATUSES), self.status),
        }
        if self.confusion is not None and self.confusion_counts is not None:
            columns["class_accuracy"] = self._class_accuracy(self.confusion, self.confusion_counts)
        return Table(table_of(columns))

    def _class_accuracy(self, confusion: FloatArray, counts: FloatArray) -> pa.Array:
        """Tell each worker's accuracy on each class, where it differs between classes; null where it does not."""
        right = np.einsum("wcc->wc", confusion)
        differs = accuracy_differs(counts)
        names = [str(name) for name in self.answers.classes.to_pylist()]
        texts = [
            ", ".join(f"{name} {p:.2f}" for name, p in zip(names, row, strict=True)) if told else ""
            for row, told in zip(right.tolist(), differs.tolist(), strict=True)
        ]
        return null_where(from_strings(texts), ~differs)

    @cached_property
    def posterior(self) -> Table:
        """One row for each task and class: task, label, probability."""
        n_tasks, n_classes = self.ballot.posterior.shape
        columns = {
            "task": take(self.answers.task_names, np.repeat(np.arange(n_tasks), n_classes)),
            "label": take(self.answers.classes, np.tile(np.arange(n_classes), n_tasks)),
            "probability": self.ballot.posterior.ravel(),
        }
        return Table(table_of(columns))

    def to_dict(self, *, labels: bool = True, workers: bool = True) -> dict[str, Any]:
        """Return what `quorate aggregate --json` prints; the two long lists may be left out.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1], "worker": list("abc"), "label": list("xyy")}
        >>> quorate.majority_vote(answers).to_dict()["labels"][0]["label"]
        'y'
        """
        a, verdict = self.answers, self.identifiability
        listed: dict[str, Any] = {
            "method": self.method,
            **sizes(a),
            "components": verdict.n_components,
            "identifiable_components": int(verdict.identifiable.sum()),
            "notes": list(self.notes),
            "trust": self.trust,
        }
        if self.solution is not None:
            listed["solution"] = self.solution.to_dict()
        if labels:
            listed["labels"] = self.labels.to_pylist()
        if workers:
            listed["skills"] = self.workers.to_pylist()
            listed["intervals"] = {"level": self.intervals.level, "kind": self.intervals.kind}
        return listed

    def summary(self) -> str:
        """Tell the result in a few lines; what is not determined comes first.

        >>> import quorate
        >>> answers = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abcabc"), "label": list("xxyxxx")}
        >>> print(quorate.majority_vote(answers).summary())
        majority: 2 tasks labelled from 6 answers by 3 workers, 2 classes
        confidence: mean 0.83, 1 task below 0.9; no ties
        """
        a, head = self.answers, self._head()
        lines = [*self.notes, *self._trust_lines(), head, *self._skill_lines(), self._confidence_line(), *left_out(a)]
        return "\n".join(lines)

    def _head(self) -> str:
        a = self.answers
        return (
            f"{self.method}: {count(a.n_tasks, 'task')} labelled from {count(a.n_answers, 'answer')} "
            f"by {count(a.n_workers, 'worker')}, {count(a.n_classes, 'class')}"
        )

    def _trust_lines(self) -> list[str]:
        if self.trust is None or self.trust >= LOW_TRUST:
            return []
        return [
            f"trust {self.trust:.2f}: skilled workers agree among themselves more than their skills explain; a group "
            "may copy or share a bias. Compare with the cautious vote (--cautious)"
        ]

    def _skill_lines(self) -> list[str]:
        if self.solution is None:
            return []
        known = self.skills[~np.isnan(self.skills)]
        lines = [f"solver {self.solution}"]
        if len(known):
            low, middle, high = np.quantile(known, [0.1, 0.5, 0.9])
            spread = f"skills: median {middle:.2f}, nine in ten above {low:.2f}, one in ten above {high:.2f}"
            lines.insert(0, spread + self._interval_phrase())
        if self.signs is not None and self.signs.contradicted >= 0.005:
            lines.append(f"signs: {self.signs.contradicted:.0%} of the evidence of the pairs contradicts them")
        return lines

    def _interval_phrase(self) -> str:
        """Say what intervals there are, if anyone asked for them; the summary alone does not compute them."""
        found: Intervals | None = self.__dict__.get("intervals")
        return "" if found is None or found.kind == "none" else f"; {found.level:.4g} intervals, {found.kind}"

    def _confidence_line(self) -> str:
        sure = self.ballot.confidence
        ties = int(self.ballot.tied.sum())
        return (
            f"confidence: mean {sure.mean():.2f}, {count(int((sure < 0.9).sum()), 'task')} below 0.9; "
            f"{count(ties, 'tie') if ties else 'no ties'}"
        )


def accuracy_differs(counts: FloatArray, *, most: float = 0.01) -> BoolArray:
    """Test, for each worker, whether accuracy differs between classes, by chi-square over the expected counts.

    Args:
        counts: expected answers, workers × answers × classes.
        most: the probability with which a worker alike on all classes may be named.

    >>> alike, unlike = [[40.0, 10.0], [10.0, 40.0]], [[50.0, 30.0], [0.0, 20.0]]
    >>> accuracy_differs(np.array([alike, unlike])).tolist()
    [False, True]
    """
    from scipy.special import chdtrc

    n, right = counts.sum(axis=1), np.einsum("wcc->wc", counts)
    told = n >= 5  # the usual least count for the test
    n, right = np.where(told, n, 0.0), np.where(told, right, 0.0)
    total = np.maximum(n.sum(axis=1), 1e-300)
    mean = right.sum(axis=1) / total
    share = np.divide(right, n, out=np.zeros_like(right), where=n > 0)
    statistic = (n * (share - mean[:, None]) ** 2).sum(axis=1) / np.maximum(mean * (1 - mean), 1e-300)
    freedom = told.sum(axis=1) - 1
    significant: BoolArray = (freedom > 0) & (chdtrc(np.maximum(freedom, 1), statistic) < most)
    return significant


def sizes(answers: Counted) -> dict[str, int]:
    """Count what there is, and what was left out of it.

    >>> import quorate
    >>> sizes(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))["repeats"]
    1
    """
    return {
        "tasks": answers.n_tasks,
        "workers": answers.n_workers,
        "answers": answers.n_answers,
        "classes": answers.n_classes,
        "repeats": answers.n_repeats,
        "conflicting": answers.n_conflicting,
        "skipped": answers.n_skipped,
    }


def left_out(answers: Counted) -> list[str]:
    """Say which rows did not count, and why; nothing is dropped silently.

    >>> import quorate
    >>> left_out(quorate.read({"task": [1, 1], "worker": ["a", "a"], "label": ["x", "x"]}))
    ['1 row repeats an answer exactly and was counted once']
    """
    phrases = {
        ("row repeats an answer exactly and was counted once", "rows repeat an answer exactly and were counted once"): (
            answers.n_repeats
        ),
        ("row left out by the conflict policy", "rows left out by the conflict policy"): answers.n_conflicting,
        ("row skipped for a missing field", "rows skipped for a missing field"): answers.n_skipped,
    }
    return [f"{n:,} {one if n == 1 else many}" for (one, many), n in phrases.items() if n]
