"""Skills of workers from earlier runs as priors: a skill, its precision, and its strength in pseudo-answers.

A skill with an interval is used like an estimate from other data. Its weight is its precision, minus the precision of
an interval over the whole range of skills. Its strength in pseudo-answers is the number of answers that would give an
accuracy of this precision; these pseudo-answers enter the response bias and the confusion matrices.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from quorate.arrays import BoolArray, FloatArray
from quorate.errors import OptionError, count
from quorate.graph.components import Identifiability
from quorate.io.columns import as_type, positions
from quorate.notes import KNOWN_SKILLS, Note
from quorate.statistics import Z_95

if TYPE_CHECKING:
    from quorate.io.skills import SkillTable

MIN_STANDARD_ERROR = 0.005  # of a prior skill


@dataclass(frozen=True, eq=False)
class Priors:
    """Prior skills of the workers of a batch, by code; a worker with precision zero has none."""

    skill: FloatArray
    precision: FloatArray  # inverse variance of the skill
    anchors: BoolArray  # workers whose interval excludes zero: they determine the sign of their component
    right: FloatArray  # accuracy on each class; workers × classes
    pseudo_answers: FloatArray  # number of answers that would give an accuracy of this precision
    notes: tuple[Note, ...] = ()

    @property
    def is_known(self) -> BoolArray:
        """Mask of the workers with a prior skill."""
        is_known: BoolArray = self.precision > 0
        return is_known

    def of_first(self, n: int) -> "Priors":
        """Return priors of n workers: those of the first n, and none for additional workers such as gold."""
        more = n - len(self.skill)
        if more <= 0:
            skill = self.skill[:n]
            precision = self.precision[:n]
            anchors = self.anchors[:n]
            return Priors(skill, precision, anchors, self.right[:n], self.pseudo_answers[:n], self.notes)
        zeros = np.zeros(more)
        return Priors(
            np.append(self.skill, zeros),
            np.append(self.precision, zeros),
            np.append(self.anchors, zeros > 0),
            np.pad(self.right, ((0, more), (0, 0))),
            np.append(self.pseudo_answers, zeros),
            self.notes,
        )

    def scaled(self, factor: float) -> "Priors":
        """Return the priors with the skills multiplied by a factor."""
        return replace(self, skill=self.skill * factor, precision=self.precision / factor**2)

    def answered(self, shares: FloatArray, pooled: FloatArray | None = None) -> FloatArray:
        """Return the expected pseudo-answers of each worker, workers × answers × true classes.

        Args:
            shares: proportions of the true classes.
            pooled: the crowd's confusion matrix, for the proportions of wrong answers; by default equal ones.
        """
        m = len(shares)
        wrong_shares = np.ones((m, m)) if pooled is None else pooled.copy()
        np.fill_diagonal(wrong_shares, 0.0)
        wrong_shares /= np.maximum(wrong_shares.sum(axis=0), 1e-300)
        matrices = (1 - self.right)[:, None, :] * wrong_shares
        matrices[:, np.arange(m), np.arange(m)] = self.right
        counts: FloatArray = self.pseudo_answers[:, None, None] * matrices * shares
        return counts


def priors_of(skills: Any, worker_names: pa.Array, classes: pa.Array) -> Priors | None:
    """Return the priors of the workers of a batch from a table of skills; None if no worker has an informative skill.

    Args:
        skills: what `quorate.io.skills.read_skills` takes, or priors, which are returned; None for no priors.
        worker_names: of the batch.
        classes: of the batch.

    Raises:
        OptionError: no worker of the table is in the batch.

    >>> known = priors_of({"ann": (0.8, 0.6, 0.9), "zoe": (0.1, 0.0, 0.2)}, pa.array(["bob", "ann"]), pa.array([1, 2]))
    >>> known.skill.tolist(), known.pseudo_answers.round(1).tolist()
    ([0.0, 0.8], [0.0, 33.2])
    >>> str(known.notes[0])
    'The skills of 1 of 2 workers were read from the file of known workers; 1 other worker of that file gave no ...
    """
    if skills is None or isinstance(skills, Priors) or len(classes) < 2:
        return skills if isinstance(skills, Priors) else None
    from quorate.io.skills import read_skills  # most runs have no prior skills

    table = read_skills(skills)
    code_of_row = positions(as_type(table.worker, worker_names.type, "workers of skills="), worker_names)
    is_present = code_of_row >= 0
    if len(code_of_row) and not is_present.any():
        raise OptionError(
            "no worker of the table of known workers (skills=, --known-workers) gave an answer; check that both use "
            "the same ids"
        )
    class_names = [str(name) for name in classes.to_pylist()]
    priors = _priors_by_code(table, code_of_row, is_present, len(worker_names), class_names)
    if not priors.is_known.any():
        return None
    return replace(priors, notes=(_note(priors, table, int((~is_present).sum())),))


def _priors_by_code(
    table: "SkillTable", code_of_row: Any, is_present: BoolArray, n_workers: int, classes: list[str]
) -> Priors:
    """Return the priors by the codes of the workers."""
    m = len(classes)
    skill = np.zeros(n_workers)
    precision = np.zeros(n_workers)
    pseudo_answers = np.zeros(n_workers)
    anchors = np.zeros(n_workers, dtype=bool)
    right = np.zeros((n_workers, m))
    s = table.skill[is_present]
    low = table.low[is_present]
    high = table.high[is_present]
    code = code_of_row[is_present]
    # The ends of an interval are clipped to the range of skills, so the longer side determines the standard error.
    side = np.maximum(np.maximum(high - s, s - low), (high - low) / 2)
    error = np.maximum(side / Z_95, MIN_STANDARD_ERROR)
    largest_error = m / (m - 1) / 2 / Z_95  # with an interval over the whole range of skills
    added_precision = np.maximum(1 / error**2 - 1 / largest_error**2, 0.0)
    skill[code] = np.where(added_precision > 0, s, 0.0)
    precision[code] = added_precision
    anchors[code] = (added_precision > 0) & ((low > 0) | (high < 0))
    accuracy_error = error * (m - 1) / m
    p = np.clip(((m - 1) * s + 1) / m, accuracy_error / 2, 1 - accuracy_error / 2)
    pseudo_answers[code] = p * (1 - p) * added_precision * (m / (m - 1)) ** 2
    right[code] = p[:, None]
    for row in np.flatnonzero(is_present).tolist():
        accuracy_of_class = table.by_class[row]
        if set(classes) <= set(accuracy_of_class):
            right[code_of_row[row]] = [accuracy_of_class[name] for name in classes]
    return Priors(skill, precision, anchors, right, pseudo_answers)


def _note(priors: Priors, table: "SkillTable", n_absent: int) -> Note:
    n_known = int(priors.is_known.sum())
    n = len(priors.skill)
    parts = [f"The skills of {n_known:,} of {count(n, 'worker')} were read from the file of known workers"]
    if n_absent:
        parts.append(f"{count(n_absent, 'other worker')} of that file gave no answer here")
    if table.n_undetermined:
        parts.append(
            f"{count(table.n_undetermined, 'row')} of it {'has' if table.n_undetermined == 1 else 'have'} no skill"
        )
    return Note(KNOWN_SKILLS, "; ".join(parts))


def oriented_components(identifiability: Identifiability, priors: Priors | None) -> BoolArray:
    """Return which components contain a worker whose prior skill fixes their sign.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> known = priors_of({"b": (0.8, 0.6, 0.9)}, answers.worker_names, answers.classes)
    >>> oriented_components(identify_workers(answers).graph, known).tolist()
    [True, False]
    """
    if priors is None:
        return np.zeros(identifiability.n_components, dtype=bool)
    anchors = identifiability.component[: len(priors.anchors)][priors.anchors]
    return np.isin(np.arange(identifiability.n_components), anchors)


def determined_by(identifiability: Identifiability, priors: Priors) -> BoolArray:
    """Return which workers have a determined skill: by the graph, or by a prior of their own or in their component.

    >>> import quorate
    >>> from quorate.skills.identification import identify_workers
    >>> answers = quorate.read({"task": [1, 1, 2], "worker": list("abc"), "label": list("xyx")})
    >>> known = priors_of({"b": (0.8, 0.6, 0.9)}, answers.worker_names, answers.classes)
    >>> determined_by(identify_workers(answers).graph, known).tolist()
    [True, True, False]
    """
    has_prior = priors.of_first(len(identifiability.component)).is_known
    is_oriented = oriented_components(identifiability, priors)[identifiability.component]
    determined: BoolArray = identifiability.determined | has_prior | is_oriented
    return determined
