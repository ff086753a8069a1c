"""How many labels must be known for an interval of a given width, and which tasks to label for it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, Table, table_of, take
from quorate.blocks.scatter import scattered
from quorate.errors import OptionError, count
from quorate.evaluation.estimates.meters import FEWEST, ByKnown, Meter
from quorate.evaluation.estimates.quantities import Quantity
from quorate.uncertainty.prediction_powered import powers
from quorate.uncertainty.tilted import UNSEEN, score_ends

LOOKED_AT = 2000  # tasks whose labels are drawn from the posterior, where none is known


@dataclass(frozen=True)
class LabelPlan:
    """Tasks to draw and label, so that every interval is at most so wide on either side."""

    answers: Answers
    half_width: float
    n_needed: int  # known labels, those there are included
    n_known: int
    n_alone: int  # that it would take without the answers' help
    task: IntArray  # to label, drawn at random among those not known

    @cached_property
    def tasks(self) -> Table:
        """One row a task to label: task, inclusion_probability."""
        share = np.full(len(self.task), min(self.n_needed / max(self.answers.n_tasks, 1), 1.0))
        return Table(table_of({"task": take(self.answers.task_names, self.task), "inclusion_probability": share}))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "half_width": self.half_width,
            "n_needed": self.n_needed,
            "n_known": self.n_known,
            "n_more": len(self.task),
            "n_needed_without_answers": self.n_alone,
            "tasks": self.tasks["task"].to_pylist(),
        }

    def lines(self) -> list[str]:
        """Say how many, and which."""
        head = (
            f"for ± {self.half_width:g} about {count(self.n_needed, 'known label')} are needed "
            f"({self.n_alone:,} without the answers' help); {self.n_known:,} are there"
        )
        if len(self.task) == 0:
            return [head]
        first = ", ".join(repr(each) for each in self.tasks["task"].to_pylist()[:5])
        more = f" and {len(self.task) - 5:,} more that -o writes" if len(self.task) > 5 else ""
        return [head, f"label {count(len(self.task), 'task')}, drawn at random: {first}{more}; then give all of them"]


def plan_labels(answers: Answers, meter: Meter, quantity: Quantity, half_width: float, *, seed: int) -> LabelPlan:
    """Say how many labels of a random sample it takes, by what is known now, and draw those that are missing.

    Args:
        answers: who answered what.
        meter: what is known of the tasks.
        quantity: whose rows must all be so exact.
        half_width: of the intervals.
        seed: of the draw.

    Raises:
        OptionError: the width makes no sense.

    >>> import quorate
    >>> from quorate.evaluation.estimates.meters import model_meter
    >>> from quorate.evaluation.estimates.quantities import Prevalence
    >>> answers = quorate.simulate.crowd(1000, 20, 5, seed=0).answers
    >>> plan = plan_labels(answers, model_meter(answers, None, 1.96), Prevalence(2), 0.05, seed=0)
    >>> plan.n_needed < plan.n_alone < 1000
    True
    """
    if not 0 < half_width < 1:
        raise OptionError(f"an interval of ± {half_width:g} makes no sense; give a number between 0 and 1 (--plan)")
    n_tasks = answers.n_tasks
    rng = np.random.default_rng(seed)
    # Shuffled from the order of a hash, so that the draw does not depend on the order of the rows.
    shuffled = rng.permutation(np.argsort(scattered(answers.task_names), kind="stable"))
    y, f, middle = _seen(meter, quantity, shuffled[:LOOKED_AT], rng)
    bottom, top = (np.broadcast_to(np.asarray(end, np.float64), len(y)) for end in (quantity.lowest, quantity.highest))
    left = y - powers(y, f, np.ones(y.shape[1])) * (f - middle)
    ends = np.minimum(left.min(axis=1), bottom), np.maximum(left.max(axis=1), top)
    unaided = _needed(y, (bottom, top), half_width, n_tasks, meter.z)
    needed = min(_needed(left, ends, half_width, n_tasks, meter.z), unaided)
    known = np.zeros(n_tasks, dtype=bool)
    known[meter.sample.rows if isinstance(meter, ByKnown) else []] = True
    drawn = np.sort(shuffled[~known[shuffled]][: max(needed - int(known.sum()), 0)])
    return LabelPlan(answers, half_width, needed, int(known.sum()), unaided, drawn)


def _seen(
    meter: Meter, quantity: Quantity, some: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what known labels are, what they were guessed to be, and the mean guess; by the model, labels as drawn."""
    guess = quantity.expected(meter.posterior)
    middle = guess.mean(axis=1, keepdims=True)
    if isinstance(meter, ByKnown):
        return quantity.at(meter.sample.rows, meter.true), guess[:, meter.sample.rows], middle
    passed = rng.random(len(some))[:, None] > np.cumsum(meter.posterior[some], axis=1)
    drawn = np.minimum(passed.sum(axis=1), meter.posterior.shape[1] - 1)
    return quantity.at(some, drawn), guess[:, some], middle


def _needed(values: FloatArray, ends: tuple[FloatArray, FloatArray], half_width: float, n_tasks: int, z: float) -> int:
    """Return the fewest observations like these whose interval is no wider, by halving."""
    n = values.shape[1]
    few, enough = min(FEWEST, n_tasks), n_tasks
    while few < enough:
        tried = (few + enough) // 2
        as_many = n / tried
        shrink = as_many * (n_tasks - tried) / max(n_tasks - 1, 1)
        low, high = score_ends(values, *ends, shrink=shrink, z=z, unseen=UNSEEN * as_many)
        few, enough = (few, tried) if (high - low).max() <= 2 * half_width else (tried + 1, enough)
    return enough
