"""Consensus of a few verdicts on one output from stored skills, for programs that ask judges."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, Shown, from_strings
from quorate.calibration.calibration_law import PEOPLE, calibration_law
from quorate.calibration.dependence import dependence_of
from quorate.errors import ColumnTypeError, NoRowsError, OptionError, count, listing, shown
from quorate.io.columns import order_classes
from quorate.io.exports.content import as_text
from quorate.io.read_table import Source
from quorate.io.skills import read_panel_skills
from quorate.io.values import id_text
from quorate.result import Result
from quorate.voting.posterior import softmax, tempering
from quorate.voting.vote import plug_in_vote, weight


@dataclass(frozen=True, slots=True)
class Agreed:
    """The label that a panel gives one output."""

    label: Any  # as the judges gave it; None without verdicts
    confidence: float  # that the label is right, calibrated for crowds of unknown dependence; 0 without a label
    tied: bool  # several labels had the best score, and the majority or the order of the classes decided
    n_verdicts: int  # that were weighed


@dataclass(frozen=True, repr=False)
class Consensus(Shown):
    """A panel whose skills are known; call it with the verdicts of one output."""

    skills: Mapping[str, float]  # of each judge
    mean: float  # skill of a judge without a stored one: the mean over the stored answers, at least zero
    n_classes: int
    classes: tuple[Any, ...] | None = None

    def summary(self) -> str:
        """State how many judges there are, and their skills."""
        skills = list(self.skills.values())
        ends = f", skills {min(skills):.2f} to {max(skills):.2f}" if skills else ""
        classes = count(self.n_classes, "class")
        return f"Consensus of {count(len(skills), 'judge')}{ends}; {classes}. Call it with the verdicts on one output"

    def __call__(self, verdicts: Mapping[Any, Any]) -> Agreed:
        """Weigh verdicts by log-odds, as `aggregate` does; verdicts that are None, blank or NaN are left out.

        Args:
            verdicts: judge -> label.

        Raises:
            OptionError: a label is none of the classes, or the most probable class has no name.

        >>> panel = label_consensus({"worker": ["a", "b", "c"], "skill": [0.9, 0.2, 0.2]}, classes=["good", "bad"])
        >>> panel({"a": "good", "b": "bad", "c": "bad"}).label
        'good'
        """
        named_verdicts = [
            (id_text(judge) or "", value) for judge, value in verdicts.items() if as_text(value) is not None
        ]
        given_verdicts = dict(named_verdicts)
        if len(given_verdicts) < len(named_verdicts):
            twice = Counter(judge for judge, _ in named_verdicts).most_common(1)[0][0]
            raise OptionError(f"judge {shown(twice)} has two verdicts, under names of two types; keep one")
        if not given_verdicts:
            return Agreed(None, 0.0, False, 0)
        classes = self._classes(list(given_verdicts.values()))
        code_of_text = {as_text(name): code for code, name in enumerate(classes) if name is not None}
        label = np.array([code_of_text[as_text(value)] for value in given_verdicts.values()], np.int32)
        n = len(given_verdicts)
        names = [from_strings(list(map(str, range(k)))) for k in (1, n, len(classes))]
        answers = Answers(np.zeros(n, np.int32), np.arange(n, dtype=np.int32), label, *names)
        skills = np.array([self.skills.get(judge, self.mean) for judge in given_verdicts])
        task_vote = plug_in_vote(answers, weight(skills, len(classes)))
        chosen = int(task_vote.label[0])
        if classes[chosen] is None:
            raise OptionError(
                f"judges who are mostly wrong answered {listing(list(given_verdicts.values()))}, so another class is "
                "likelier; name all classes with classes="
            )
        # The posterior that the default method states if it cannot measure the dependence.
        rho = dependence_of(np.zeros(0), np.zeros(0)).rho
        posterior = softmax(task_vote.scores * tempering(np.array([n]), rho)[:, None])
        confidence = calibration_law(PEOPLE, len(classes)).calibrated(posterior)[0, chosen]
        return Agreed(classes[chosen], float(confidence), bool(task_vote.tied[0]), n)

    def _classes(self, given_verdicts: list[Any]) -> list[Any]:
        """Return the names of the classes in order; None for a class that is neither named nor in the verdicts."""
        value_of_text = {as_text(value): value for value in given_verdicts}
        if self.classes is not None:
            unknown_labels = [value for text, value in value_of_text.items() if text not in map(as_text, self.classes)]
            if unknown_labels:
                raise OptionError(f"{shown(unknown_labels[0])} is none of the classes {listing(self.classes, 12)}")
            return list(self.classes)
        texts = from_strings([text or "" for text in value_of_text])
        ordered = [value_of_text[text] for text in order_classes(np.arange(len(texts)), texts, None)[1].to_pylist()]
        return [*ordered, *[None] * (max(self.n_classes, 2) - len(ordered))]


def label_consensus(skills: Source | Result, *, classes: Sequence[Any] | None = None) -> Consensus:
    """Return the consensus of a panel from stored skills; call it with the verdicts of one output at a time.

    Weights are those of `aggregate`: the log-odds of each judge's skill; a judge who is not in the table, or whose
    skill is not determined, has the mean skill. One output does not show how strongly the errors of judges are
    correlated, so a typical value of public crowds is assumed; in a batch `aggregate` measures it.

    Args:
        skills: the file that `quorate aggregate --workers-out` wrote, such a table, a result, or a mapping from judge
            to skill, or to (skill, low, high).
        classes: every class, in order; by default their number follows from the skills and accuracies of the table, and
            their names are those in the verdicts.

    Raises:
        InputError: the table has no workers or skills.

    >>> panel = label_consensus({"openai/gpt-4o": 0.8, "mistral": 0.3, "llama": 0.3})
    >>> agreed = panel({"openai/gpt-4o": "C", "mistral": "I", "llama": "I"})
    >>> agreed.label, agreed.tied, agreed.n_verdicts
    ('C', False, 3)
    """
    if classes is not None and (isinstance(classes, str) or len(set(map(as_text, classes))) < max(len(classes), 2)):
        raise OptionError(f"classes= must list at least two classes, each once; got {shown(classes)}")
    columns = read_panel_skills(skills.workers if isinstance(skills, Result) else skills)
    skill = columns["skill"]
    n_answers = columns["n_answers"]
    known = ~np.isnan(skill)
    if not known.any():
        raise NoRowsError("no skill is determined in the table of workers; a consensus needs some")
    if (skill[known] > 1).any() or (skill[known] < -1).any():
        raise ColumnTypeError("a skill lies between -1 and 1; the table of workers has other values")
    # As in `vote_weights`: the vote of a judge without a skill must not count against its label.
    counts = np.where(n_answers[known] > 0, n_answers[known], 0.0)
    mean = max(float(np.average(skill[known], weights=counts if counts.sum() else None)), 0.0)
    skill_of_judge = dict(zip(np.array(columns["worker"], object)[known], skill[known].tolist(), strict=True))
    n_classes = len(classes) if classes is not None else _n_classes(skill[known], columns["accuracy"][known])
    return Consensus(skill_of_judge, mean, n_classes, None if classes is None else tuple(classes))


def _n_classes(skill: FloatArray, accuracy: FloatArray) -> int:
    """Return M by p = ((M-1)s + 1)/M, the median over the workers; two if no accuracy is given."""
    shows_n_classes = (accuracy - skill) > 1e-6  # a skill of one does not determine M
    if not shows_n_classes.any():
        return 2
    return max(
        2, round(float(np.median((1 - skill[shows_n_classes]) / (accuracy[shows_n_classes] - skill[shows_n_classes]))))
    )
