"""What is known of workers before they answer: a skill, how sure it is, and how many answers it is worth.

A skill with an interval is a pseudo-estimate. Next to the batch's own it counts by its precision, less that of an
interval over the whole range of skills: such a one says nothing. In units of answers a skill is worth as many as would
have told an accuracy so well; those pseudo-answers stand beside the batch's in habits and in confusion matrices.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray
from quorate.blocks.kernels import power_sums
from quorate.blocks.memory import Answered, blocks_of
from quorate.errors import OptionError, count
from quorate.graph.components import Identifiability
from quorate.io.columns import as_type, positions
from quorate.io.skills import SkillTable, read_skills
from quorate.notes import KNOWN_SKILLS, Note

SIDE = 1.96  # standard errors on each side of the intervals that are written by default, of 95 %
LEAST_ERROR = 0.005  # of a skill: nobody's is known better, however many answers it rests on
LEAST_VARIANCE = 1e-3  # of what one meeting tells, at skills near one


@dataclass(frozen=True)
class Priors:
    """What is known of each worker of a batch, in the order of their codes; nothing where the precision is zero."""

    skill: FloatArray
    precision: FloatArray  # one over the variance that the skill has
    anchors: BoolArray  # whose interval does not hold zero: they tell which way round their group is
    right: FloatArray  # accuracy on each class; workers × classes
    worth: FloatArray  # answers that would tell the accuracy as well
    notes: tuple[Note, ...] = ()

    @property
    def is_known(self) -> BoolArray:
        """Of whom anything is known."""
        known: BoolArray = self.precision > 0
        return known

    def of_first(self, n: int) -> "Priors":
        """Speak of the first n workers; of those who are added, as the known labels are, nothing is known."""
        more = n - len(self.skill)
        if more <= 0:
            skill, precision, anchors = self.skill[:n], self.precision[:n], self.anchors[:n]
            return Priors(skill, precision, anchors, self.right[:n], self.worth[:n], self.notes)
        nothing = np.zeros(more)
        return Priors(
            np.append(self.skill, nothing),
            np.append(self.precision, nothing),
            np.append(self.anchors, nothing > 0),
            np.pad(self.right, ((0, more), (0, 0))),
            np.append(self.worth, nothing),
            self.notes,
        )

    def scaled(self, factor: float) -> "Priors":
        """Turn the skills to another scale."""
        return replace(self, skill=self.skill * factor, precision=self.precision / factor**2)

    def filled(self, mean: float) -> FloatArray:
        """Return the skills, with a mean for everyone else."""
        return np.where(self.is_known, self.skill, mean)

    def pull(self, answers: Answered, skills: FloatArray, n_classes: int) -> FloatArray:
        """Return how strongly each skill is drawn to what is known: meetings with the truth that would tell as much.

        What meetings tell has the variance that `quorate.skills.rank_one_score` states; of uneven classes it is
        an approximation, on which only the balance between batch and prior rests, and no interval.

        Args:
            answers: the batch.
            skills: of everyone who is met, as far as they are known.
            n_classes: M.
        """
        told, one, cube, fourth, both, _ = blocks_of(answers).sum(power_sums, skills, skills, False)[0]
        pairs = both - fourth
        u, m = np.clip(self.skill, -1 / (n_classes - 1), 1.0), n_classes - 1
        spread = (pairs + one) / m + (m - 1) / m * (pairs + cube) * u - both * u * u
        variance = np.divide(spread, told, out=np.ones(len(told)), where=told > 0)
        strength: FloatArray = self.precision * np.maximum(variance, LEAST_VARIANCE)
        return strength

    def answered(self, shares: FloatArray, pooled: FloatArray | None = None) -> FloatArray:
        """Return the pseudo-answers of each worker, workers × answers × classes.

        Args:
            shares: of the classes.
            pooled: the crowd's confusion matrix, whose wrong answers are everyone's; by default all are alike.
        """
        m = len(shares)
        off = np.ones((m, m)) if pooled is None else pooled.copy()
        np.fill_diagonal(off, 0.0)
        off /= np.maximum(off.sum(axis=0), 1e-300)
        matrices = (1 - self.right)[:, None, :] * off
        matrices[:, np.arange(m), np.arange(m)] = self.right
        counted: FloatArray = self.worth[:, None, None] * matrices * shares
        return counted


def priors_of(skills: Any, worker_names: pa.Array, classes: pa.Array) -> Priors | None:
    """Find what is known of workers among those of a batch; None where that is nothing.

    Args:
        skills: what `quorate.io.skills.read_skills` takes; None for nothing.
        worker_names: of the batch.
        classes: of the batch.

    Raises:
        OptionError: it is known of none of these workers.

    >>> known = priors_of({"ann": (0.8, 0.6, 0.9), "zoe": (0.1, 0.0, 0.2)}, pa.array(["bob", "ann"]), pa.array([1, 2]))
    >>> known.skill.tolist(), known.worth.round(1).tolist()
    ([0.0, 0.8], [0.0, 33.2])
    >>> str(known.notes[0])
    'the skill of 1 of 2 workers is known from before; 1 further worker of that table gave no answer here'
    """
    if skills is None or isinstance(skills, Priors) or len(classes) < 2:
        return skills if isinstance(skills, Priors) else None
    table = read_skills(skills)
    place = positions(as_type(table.worker, worker_names.type, "workers of skills="), worker_names)
    here = place >= 0
    if len(place) and not here.any():
        raise OptionError(
            "what is known of workers (skills=) is of none who gave an answer; check that both name workers alike"
        )
    found = _aligned(table, place, here, len(worker_names), [str(name) for name in classes.to_pylist()])
    if not found.is_known.any():
        return None
    return replace(found, notes=(_note(found, table, int((~here).sum())),))


def _aligned(table: SkillTable, place: Any, here: BoolArray, n_workers: int, classes: list[str]) -> Priors:
    m = len(classes)
    skill, precision, worth = (np.zeros(n_workers) for _ in range(3))
    anchors, right = np.zeros(n_workers, dtype=bool), np.zeros((n_workers, m))
    s, low, high = (each[here] for each in (table.skill, table.low, table.high))
    at = place[here]
    # The ends of an interval are cut to the range of skills: the side that is not cut tells how wide it is.
    side = np.maximum(np.maximum(high - s, s - low), (high - low) / 2)
    error = np.maximum(side / SIDE, LEAST_ERROR)
    nothing = m / (m - 1) / 2 / SIDE  # of an interval over the whole range
    told = np.maximum(1 / error**2 - 1 / nothing**2, 0.0)
    skill[at], precision[at] = np.where(told > 0, s, 0.0), told
    anchors[at] = (told > 0) & ((low > 0) | (high < 0))
    off = error * (m - 1) / m  # of the accuracy
    p = np.clip(((m - 1) * s + 1) / m, off / 2, 1 - off / 2)
    worth[at] = p * (1 - p) * told * (m / (m - 1)) ** 2
    right[at] = p[:, None]
    for code, names in zip(
        at.tolist(), [row for row, kept in zip(table.by_class, here, strict=True) if kept], strict=True
    ):
        if set(classes) <= set(names):
            right[code] = [names[name] for name in classes]
    return Priors(skill, precision, anchors, right, worth)


def _note(found: Priors, table: SkillTable, n_absent: int) -> Note:
    known, n = int(found.is_known.sum()), len(found.skill)
    parts = [f"the skill of {known:,} of {count(n, 'worker')} is known from before"]
    if n_absent:
        parts.append(f"{count(n_absent, 'further worker')} of that table gave no answer here")
    if table.n_undetermined:
        parts.append(
            f"{count(table.n_undetermined, 'row')} of it {'has' if table.n_undetermined == 1 else 'have'} no skill"
        )
    return Note(KNOWN_SKILLS, "; ".join(parts))


def oriented_components(verdict: Identifiability, priors: Priors | None) -> BoolArray:
    """Say which components hold a worker whose known skill tells which way round they are.

    >>> import quorate
    >>> from quorate.skills.identification import gather
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> known = priors_of({"b": (0.8, 0.6, 0.9)}, answers.worker_names, answers.classes)
    >>> oriented_components(gather(answers).verdict, known).tolist()
    [True, False]
    """
    if priors is None:
        return np.zeros(verdict.n_components, dtype=bool)
    anchors = verdict.component[: len(priors.anchors)][priors.anchors]
    return np.isin(np.arange(verdict.n_components), anchors)


def determined_by(verdict: Identifiability, priors: Priors) -> BoolArray:
    """Say whose skill is determined: by the graph, by what is known of it, or of one in its component.

    >>> import quorate
    >>> from quorate.skills.identification import gather
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> known = priors_of({"b": (0.8, 0.6, 0.9)}, answers.worker_names, answers.classes)
    >>> determined_by(gather(answers).verdict, known).tolist()
    [True, True, False]
    """
    known = priors.of_first(len(verdict.component)).is_known
    both: BoolArray = verdict.determined | known | oriented_components(verdict, priors)[verdict.component]
    return both
