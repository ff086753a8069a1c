"""Whether more answers from the same workers would help: the same decision for advise, the report and next steps."""

from dataclasses import dataclass

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.advise import advice_basis, advise_result
from quorate.advice.expected_error import error_after
from quorate.arrays import FloatArray
from quorate.blocks.sampling import TaskSample, sample_for_plans
from quorate.errors import OptionError
from quorate.notes import change_of
from quorate.result import Result, result_of_sample
from quorate.voting.vote import SURE

MIN_SAVED = 0.02  # smallest share of the wrong labels that a recommended plan corrects; a judgement
MIN_ERROR = 1e-12  # smallest divisor


@dataclass(frozen=True)
class Prospect:
    """A plan of one more answer per uncertain label, and the share of wrong labels before and after it."""

    plan: Advice | str  # a text: why no worker can be asked
    error: FloatArray  # expected error of each label after the plan; NaN where no confidence is stated
    now: float | None  # mean expected error; None if no confidence is stated
    after: float | None  # the same after the plan
    shares_mistakes: bool  # whether correlated errors are the reason why the plan changes little
    sample: TaskSample | None = None  # the tasks that the plan is for, in a large crowd; None: all
    n_planned: int | None = None  # answers of a plan for all tasks, if the plan is for a sample; else None

    @property
    def n_assignments(self) -> int:
        """The number of answers of a plan for all tasks; 0 if no worker can be asked."""
        if isinstance(self.plan, str):
            return 0
        return self.plan.n_assignments if self.n_planned is None else self.n_planned

    @property
    def helps(self) -> bool:
        """Whether more answers are recommended."""
        if isinstance(self.plan, str) or self.plan.n_assignments == 0:
            return False
        if self.plan.reasons or self.now is None or self.after is None:
            return True
        return self.after <= (1 - MIN_SAVED) * self.now

    @property
    def is_possible(self) -> bool:
        """Whether the plan has any assignment."""
        return not isinstance(self.plan, str) and self.plan.n_assignments > 0

    def sentence(self) -> str:
        """Return a sentence on why more answers are not recommended."""
        change = ""
        if self.now is not None and self.after is not None and self.after < 0.9995 * self.now:
            change = f" ({change_of(self.now, self.after)} wrong)"
        why = ", probably because they make the same mistakes" if self.shares_mistakes else ""
        return f"More answers from the same workers would change almost nothing{change}{why}"


def mean_error(error: FloatArray) -> float:
    """Return the mean of the errors that are not NaN; 0 if there are none."""
    stated = error[~np.isnan(error)]
    return float(stated.mean()) if len(stated) else 0.0


def prospect(result: Result, confident: float = SURE) -> Prospect:
    """Plan one more answer per label below a confidence, and compute the share of wrong labels after it.

    Args:
        result: an aggregation with a posterior.
        confident: the confidence below which a label counts as uncertain.

    >>> import quorate
    >>> prospect(quorate.aggregate(quorate.simulate.crowd(200, 10, 2, seed=0).answers)).helps
    True
    """
    error = 1 - result.vote.confidence
    is_stated = result.vote.confidence_stats().mean is not None
    basis = result.confidence_basis
    now = mean_error(error) if is_stated else None
    n_uncertain = int((result.vote.confidence < confident).sum())
    sample = _sample(result)
    planned = result
    if sample is not None:
        planned = result_of_sample(result, sample)
        planned.__dict__["_advice_basis"] = advice_basis(result)  # of all answers
    budget = max(int((planned.vote.confidence < confident).sum()), 1)
    try:
        plan = advise_result(planned, budget)
    except OptionError as refused:
        return Prospect(str(refused), error, now, now, shares_mistakes=False)
    planned_after = error_after(plan, plan.dependence)
    shares_mistakes = basis is not None and basis.shares_mistakes
    if sample is None:
        after = mean_error(planned_after) if is_stated else None
        return Prospect(plan, planned_after, now, after, shares_mistakes=shares_mistakes)
    # The expected error of all tasks falls by the same factor as that of the sample, on average.
    factor = mean_error(planned_after) / max(mean_error(1 - planned.vote.confidence), MIN_ERROR)
    further = round(plan.n_assignments * n_uncertain / budget)
    after_all = error * min(factor, 1.0)
    after = mean_error(after_all) if is_stated else None
    return Prospect(plan, after_all, now, after, shares_mistakes=shares_mistakes, sample=sample, n_planned=further)


def _sample(result: Result) -> TaskSample | None:
    """Return the sample of tasks that the plan of a large crowd uses; None: all tasks.

    All tasks are used also if groups of workers must first be connected.
    """
    sample = sample_for_plans(result.answers)
    if sample is None:
        return None
    basis = advice_basis(result)
    weak = result.skill_estimates.weak
    is_firm = (
        basis.identifiability.n_components == 1
        and not basis.groups
        and (weak is None or not weak.is_weakly_identified.any())
    )
    return sample if is_firm else None
