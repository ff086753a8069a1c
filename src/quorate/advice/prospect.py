"""Whether more answers from the same workers would help: one decision for advise, the report and next steps."""

from dataclasses import dataclass

import numpy as np

from quorate.advice.advice import Advice
from quorate.advice.advise import advise_result
from quorate.advice.expected_error import error_after
from quorate.arrays import FloatArray
from quorate.errors import OptionError
from quorate.notes import change_of
from quorate.result import Result
from quorate.voting.vote import SURE

MIN_SAVED = 0.02  # of the wrong labels: a plan that corrects fewer is not recommended; a judgement
CORRELATED = 0.1  # correlation of errors from which it is named as the reason: ten answers are then worth five


@dataclass(frozen=True)
class Prospect:
    """A plan of one more answer per uncertain label, and the share of wrong labels before and after it."""

    plan: Advice | str  # or why nobody can be asked
    error: FloatArray  # of each label after the plan; NaN where no confidence is stated
    now: float | None  # mean share of wrong labels; None where no confidence is stated
    after: float | None
    shares_mistakes: bool  # whether correlated errors are the reason why the plan does little

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
        """Whether anybody can be asked anything."""
        return not isinstance(self.plan, str) and self.plan.n_assignments > 0

    def sentence(self) -> str:
        """Say why more answers are not recommended."""
        change = "" if self.now is None or self.after is None else f" ({change_of(self.now, self.after)} wrong)"
        why = ", because they make the same mistakes" if self.shares_mistakes else ""
        return f"More answers from the same workers would change almost nothing{change}{why}"


def mean_error(error: FloatArray) -> float:
    """Average the error of the labels that have one."""
    stated = error[~np.isnan(error)]
    return float(stated.mean()) if len(stated) else 0.0


def prospect(result: Result, confident: float = SURE) -> Prospect:
    """Plan one more answer per label below a confidence, and compute what that changes.

    Args:
        result: an aggregation with a posterior.
        confident: the confidence below which a label counts as uncertain.

    >>> import quorate
    >>> prospect(quorate.aggregate(quorate.simulate.crowd(200, 10, 2, seed=0).answers)).helps
    True
    """
    error = 1 - result.task_vote.confidence
    is_stated = result.task_vote.confidence_stats().mean is not None
    n_uncertain = int((result.task_vote.confidence < confident).sum())
    budget = max(n_uncertain, 1)
    rho = 0.0 if result.confidence_basis is None else result.confidence_basis.rho
    now = mean_error(error) if is_stated else None
    try:
        plan = advise_result(result, budget)
    except OptionError as refused:
        return Prospect(str(refused), error, now, now, shares_mistakes=False)
    after = error_after(plan, rho)
    return Prospect(plan, after, now, mean_error(after) if is_stated else None, shares_mistakes=rho >= CORRELATED)
