"""What the theory says of a result: how far off its skills are, and a bound on the error of each label [Ma20; BK14]."""

import numpy as np

from quorate.arrays import Table, from_numpy, table_of
from quorate.errors import QuorateError
from quorate.meetings.needs import SkillError, pair_error
from quorate.meetings.pairs import pair_stats
from quorate.result import Result
from quorate.voting.vote import accuracy, weight


def skill_error(result: Result, *, delta: float = 0.05) -> SkillError:
    """Judge how far off the skills of a result are, and so how many tasks are still needed.

    Args:
        result: of `rank-one`, whose estimator it is about, or of `quorate`, for which it is a guide.
        delta: the probability with which the bound may fail.

    Raises:
        QuorateError: the method estimates no skills.
        OptionError: delta is no probability.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(300, 10, 5, seed=1).answers, "rank-one")
    >>> found = skill_error(result)
    >>> found.tasks_needed(300, epsilon=0.02) > 0
    True
    """
    answers = result.answers
    if np.isnan(result.skills).all():
        raise QuorateError(f"the method {result.method!r} has no skills to judge; rank-one and quorate have")
    return pair_error(pair_stats(answers), answers.n_classes, result.skills, answers.per_worker, delta=delta)


def task_bounds(result: Result) -> Table:
    """Bound the error of each task's label, were the estimated skills the true ones, and errors independent.

    With two classes, Phi is the committee potential of the workers who answered, and the best rule errs no more often
    than exp(-Phi/2). With more classes it errs no more often than M-1 times the product over the workers of
    sum_l sqrt(P(l | true) P(l | other)), Bhattacharyya's bound for each other class.

    Returns:
        A table: ``task``, ``potential`` (null for more than two classes), ``error_at_most``.

    Raises:
        QuorateError: the method estimates no skills.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(300, 10, 5, seed=1)
    >>> result = quorate.aggregate(crowd.answers, "rank-one")
    >>> found = task_bounds(result).to_pylist()[0]
    >>> sorted(found), found["error_at_most"] <= 1
    (['error_at_most', 'potential', 'task'], True)
    """
    answers, skills = result.answers, result.skills
    if np.isnan(skills).all():
        raise QuorateError(f"the method {result.method!r} has no skills to bound errors by; rank-one and quorate have")
    m = answers.n_classes
    ours = np.clip(np.nan_to_num(skills), -1 / (m - 1) + 1e-9, 1 - 1e-9)  # a worker not determined adds nothing
    if m == 2:
        parts = np.bincount(answers.task, (ours * weight(ours, 2) / 2)[answers.worker], answers.n_tasks)
        potential, bound = parts, np.exp(-parts / 2)
    else:
        p = accuracy(ours, m)
        other = (1 - p) / (m - 1)
        factor = np.log(2 * np.sqrt(p * other) + (m - 2) * other)
        potential = np.full(answers.n_tasks, np.nan)
        bound = (m - 1) * np.exp(np.bincount(answers.task, factor[answers.worker], answers.n_tasks))
    bound = np.minimum(bound, 1 - 1 / m)  # a guess does as well
    columns = {
        "task": answers.task_names,
        "potential": from_numpy(potential, mask=np.isnan(potential)),
        "error_at_most": bound,
    }
    return Table(table_of(columns))
