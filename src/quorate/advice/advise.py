"""advise(): which worker should answer which task next, and when to stop.

Answers that make skills identifiable come first, then those with the most information about the labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from quorate.advice.adaptive_skills import (
    WorkerPosterior,
    check_classes,
    fit_worker_posterior,
    identify_crowd,
    with_gold,
)
from quorate.advice.advice import Advice
from quorate.advice.available_workers import (
    ROUNDING,
    WORKER,
    AvailableWorkers,
    gather_available_workers,
    seen_tasks,
)
from quorate.advice.information_gain import AssignmentPlan, plan
from quorate.advice.repair import ComponentRepair, groups_to_tie, repair_component
from quorate.advice.stopping import AnswersNeeded, estimate_answers_needed
from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray, starts_of
from quorate.blocks.sampling import MAX_TESTED_ANSWERS
from quorate.diagnostics.finding import STOP
from quorate.diagnostics.right_shares import typical_accuracy
from quorate.diagnostics.workers import is_unrated, unreliable_workers
from quorate.errors import OptionError, TooLargeError, refuse_with_result
from quorate.graph.components import Identifiability
from quorate.graph.weak_ties import LooseGroup
from quorate.io.arguments import check_arguments
from quorate.io.gold import gold_for
from quorate.io.options import ReadKeywords
from quorate.io.pipes import keep_pipes
from quorate.io.read import as_reading
from quorate.io.read_table import Source
from quorate.methods.aggregate import aggregate
from quorate.notes import UNSUPPORTED
from quorate.result import Result, count, percent
from quorate.voting.vote import accuracy as accuracy_of
from quorate.voting.vote import skill_of

# Limits of the accuracies at which EM starts: it cannot leave 0 or 1.
MIN_START_ACCURACY = 0.01
MAX_START_ACCURACY = 0.99
# Mean change of the accuracies below which EM stops in a large crowd: a hundredth of the standard error of an accuracy
# of 0.75 from 2,000 answers.
LARGE_CROWD_TOLERANCE = 1e-4
UNIFORM_WEIGHT = 1e-6  # weight of a uniform posterior in the mixture: one more answer always has some information
USUAL_TARGET = 0.05  # share of wrong labels that the summary refers to if no target is given; conventional


@check_arguments
@keep_pipes()
def advise(
    source: Answers | Result | Source,
    budget: float,
    *,
    available: Source = None,
    per_worker: int | None = None,
    cost: str | None = None,
    batch: int | None = None,
    target_error: float | None = None,
    gold: Source = None,
    width: float = 0.4,
    dependence: float | None = None,
    **reading: Unpack[ReadKeywords],
) -> Advice:
    """Decide which worker should answer which task next.

    First come the fewest answers after which every worker can be rated, then those that determine sign and scale, then
    those with the most expected information about the labels. No worker gets the same task twice. Workers who guess, or
    who cannot be rated yet, get only tasks that make workers comparable. The confidence of a label is that of
    `quorate.aggregate`.

    Args:
        source: a result, what `quorate.read` returned, or anything that it reads.
        budget: how many further answers there can be; with ``cost``, what they may cost in all.
        available: the workers who can be asked: a table with the column ``worker``, or a list of ids. New workers are
            assumed to have the mean skill of the crowd. By default all workers who have answered.
        per_worker: how many further tasks each may get; by default twice the mean (2 × budget / available workers), and
            more only if answers would remain unassigned.
        cost: the column of ``available`` with the cost of an answer. Answers are then chosen by gain per cost, and
            ``budget`` is in the same unit.
        batch: at most this many tasks per work package, each for one worker; the column ``batch`` numbers the packages,
            the most useful first.
        target_error: target of the expected error: tasks at or below it get no further answers, and no more answers are
            advised than the mean over all tasks needs to reach it.
        gold: known labels of some tasks, as in `quorate.aggregate`.
        width: target width of the interval of the skill of a worker who connects groups that share few tasks.
        dependence: correlation of the errors of two answers to a task, from 0 to 1: the higher it is, the less
            information a further answer has. By default as measured.
        reading: options of `quorate.read`.

    Raises:
        OptionError: an option is out of range, or no worker can take another task.
        InputError: the answers, the workers or the known labels cannot be used.

    >>> import quorate
    >>> answers = quorate.simulate.crowd(n_tasks=100, n_workers=10, per_task=2, seed=0).answers
    >>> advise(answers, budget=3).assignments["worker"].to_pylist()
    ['w9', 'w6', 'w0']
    """
    if isinstance(source, Answers) and "workers" in reading:
        raise OptionError(
            "workers= names the columns of a table with one row per task. To list the workers who can be asked, "
            "use available="
        )
    if isinstance(source, Result):
        refuse_with_result({"gold": gold, **reading})
        result = source
        worker_column = WORKER
    else:
        loaded = as_reading(source, reading)
        worker_column = loaded.options.columns[1]
        _check(budget, target_error, width, dependence or 0.0, batch)
        check_classes(loaded.answers)
        result = default_result(loaded.answers, gold_for(loaded, gold))
    return advise_result(
        result,
        budget,
        available=available,
        per_worker=per_worker,
        cost=cost,
        batch=batch,
        target_error=target_error,
        width=width,
        dependence=dependence,
        worker_column=worker_column,
    )


def default_result(answers: Answers, gold: Source = None) -> Result:
    """Aggregate by the default method or, if its matrices do not fit into memory, by rank-one.

    >>> import quorate
    >>> default_result(quorate.simulate.crowd(50, 8, 2, seed=0).answers).method
    'quorate'
    """
    try:
        return aggregate(answers, gold=gold)
    except TooLargeError:
        return aggregate(answers, "rank-one", gold=gold)


def advise_result(
    result: Result,
    budget: float,
    *,
    available: Source = None,
    per_worker: int | None = None,
    cost: str | None = None,
    batch: int | None = None,
    target_error: float | None = None,
    width: float = 0.4,
    dependence: float | None = None,
    worker_column: str = WORKER,
) -> Advice:
    """Decide which worker should answer which task next, from an existing result.

    The confidence of the labels is that of the result; the information of an answer follows from one-coin EM.

    Args:
        result: of a method with a posterior; its known labels are used.
        budget: as in `advise`, like all other options.
        available: the workers who can be asked.
        per_worker: how many further tasks each may get.
        cost: the column of ``available`` with the cost of an answer.
        batch: tasks per work package.
        target_error: stop at this expected error.
        width: target width of the interval of a bridging worker's skill.
        dependence: correlation of the errors of two answers to a task; by default that of the result, and zero if the
            result has none.
        worker_column: the column of ``available`` with the ids, if there is no column ``worker``.

    Raises:
        OptionError: an option is out of range, or no worker can take another task.
        InputError: the workers cannot be used.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 8, 2, seed=0).answers)
    >>> advice = advise_result(result, 5)
    >>> bool(np.isclose(advice.answers_needed.expected_error, 1 - result.vote.confidence.mean()))
    True
    """
    answers = result.answers
    if dependence is None:
        dependence = 0.0 if result.confidence_basis is None else result.confidence_basis.error_correlation
    _check(budget, target_error, width, dependence, batch)
    check_classes(answers)
    if cost is None and budget != int(budget):
        raise OptionError(
            f"budget= (--budget) must be a whole number of answers, got {budget:g}. With cost= (--cost) it is an amount"
        )
    worker_pool = gather_available_workers(
        answers, budget, available=available, per_worker=per_worker, cost=cost, worker_column=worker_column
    )
    basis = advice_basis(result)
    if available is None:
        worker_pool = worker_pool.without_room(basis.is_not_asked)
    advice = advise_from(
        result,
        budget,
        worker_pool,
        basis.identifiability,
        basis.worker_posterior,
        target_error=target_error,
        width=width,
        dependence=dependence,
        groups=basis.groups,
    )
    return replace(advice, batch=batch)


@dataclass(frozen=True)
class AdviceBasis:
    """What advice about a result needs and what does not depend on the budget and the options."""

    identifiability: Identifiability  # of the crowd, with the known labels as one more worker
    worker_posterior: WorkerPosterior
    is_not_asked: BoolArray  # workers who probably guess or cannot be rated yet
    groups: Sequence[LooseGroup]  # groups of workers that share no tasks, or few, with the rest


def advice_basis(result: Result) -> AdviceBasis:
    """Return the `AdviceBasis` of a result, computed once: `advise` and `prospect` share it.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 8, 2, seed=0).answers)
    >>> advice_basis(result) is advice_basis(result)
    True
    """
    cache: dict[str, Any] = result.__dict__
    if "_advice_basis" not in cache:
        answers = result.answers
        crowd = with_gold(answers, result.gold)
        identifiability = identify_crowd(crowd, answers.n_workers)
        cache["_advice_basis"] = AdviceBasis(
            identifiability,
            fit_worker_posterior(answers, crowd, result.gold, identifiability, **_large_crowd_options(result)),
            _not_to_be_asked(result),
            groups_to_tie(answers, crowd, identifiability),
        )
    basis: AdviceBasis = cache["_advice_basis"]
    return basis


def _large_crowd_options(result: Result) -> dict[str, Any]:
    """Return options of one-coin EM for a large crowd: start at the result's accuracies, and stop earlier."""
    if result.answers.n_answers <= MAX_TESTED_ANSWERS:
        return {}
    right = np.nan_to_num(accuracy_of(result.skills, result.answers.n_classes), nan=typical_accuracy(result))
    return {"start": np.clip(right, MIN_START_ACCURACY, MAX_START_ACCURACY), "tolerance": LARGE_CROWD_TOLERANCE}


def _not_to_be_asked(result: Result) -> BoolArray:
    """Return which workers probably guess or cannot be rated yet; none if fewer than two other workers are left."""
    if result.inference is None:
        return np.zeros(result.answers.n_workers, dtype=bool)
    intervals = result.intervals
    is_marked = np.isnan(result.skills) | is_unrated(intervals.low, intervals.high, result.answers.n_classes)
    for finding in unreliable_workers(result):
        if finding.action == STOP:
            is_marked[list(finding.workers)] = True
    n_left = int((~is_marked & (result.answers.per_worker > 0)).sum())
    return is_marked if n_left > 1 else np.zeros_like(is_marked)


def advise_from(
    result: Result,
    budget: float,
    worker_pool: AvailableWorkers,
    identifiability: Identifiability,
    worker_posterior: WorkerPosterior,
    *,
    target_error: float | None = None,
    width: float = 0.4,
    dependence: float = 0.0,
    groups: Sequence[LooseGroup] | None = None,
) -> Advice:
    """Advise from fitted skills; `advise_result` calls this after the fit.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(50, 8, 2, seed=0).answers)
    >>> identifiability = identify_crowd(result.answers, 8)
    >>> worker_posterior = fit_worker_posterior(result.answers, result.answers, None, identifiability)
    >>> worker_pool = gather_available_workers(result.answers, 5)
    >>> advise_from(result, 5, worker_pool, identifiability, worker_posterior).n_assignments
    5
    """
    answers = result.answers
    known = result.gold
    posterior = result.vote.posterior
    is_stated = result.vote.is_stated
    if is_stated is not None:  # the posterior of the other tasks is not supported by the answers
        posterior = np.where(is_stated[:, None], posterior, 1 / answers.n_classes)
    n = answers.n_workers
    determined = identifiability.determined[:n] & (answers.per_worker > 0)
    all_workers = worker_posterior.with_newcomers(worker_pool.size - n)
    accuracy = all_workers.accuracy
    weak = result.skill_estimates.weak
    max_answers = worker_pool.most_answers(budget)
    repaired = repair_component(
        answers,
        with_gold(answers, known),
        identifiability,
        worker_pool,
        accuracy,
        posterior,
        max_answers,
        width,
        weak,
        groups,
    )
    if worker_pool.priced:
        repaired = repaired.only(affordable(worker_pool.cost[repaired.worker], budget))
    needed = estimate_answers_needed(
        posterior,
        _accuracy_of_next_answers(accuracy, worker_pool, max_answers, answers.n_classes),
        USUAL_TARGET if target_error is None else target_error,
        answered=answers.per_task,
        dependence=dependence,
    )
    open_tasks = np.ones(answers.n_tasks, dtype=bool) if known is None else known < 0
    money_left = budget - float(worker_pool.cost[repaired.worker].sum())
    limit = worker_pool.most_answers(money_left)
    if target_error is not None:
        open_tasks &= ~needed.is_task_done
        mean_gives = np.average(worker_pool.gives, weights=worker_pool.available)
        limit = int(min(limit, np.ceil(needed.answers_for_mean_error / mean_gives)))
    n_answers_per_task = answers.per_task + np.bincount(repaired.task, minlength=answers.n_tasks)
    tasks, workers = seen_tasks(answers)
    done = (np.concatenate([tasks, repaired.task]), np.concatenate([workers, repaired.worker]))
    mixed_posterior = (1 - UNIFORM_WEIGHT) * posterior
    mixed_posterior += UNIFORM_WEIGHT / answers.n_classes  # in place: with thousands of classes it takes gigabytes

    def plan_of(n_answers: int) -> AssignmentPlan:
        return plan_with_room(
            worker_pool.after(repaired.worker),
            n_answers,
            lambda pool: plan(
                done, mixed_posterior, accuracy, pool, n_answers, open_tasks, n_answers_per_task, dependence
            ),
        )

    chosen = plan_within(plan_of, limit, worker_pool.cost, money_left) if worker_pool.priced else plan_of(limit)
    if limit and len(chosen) == 0 and len(repaired.task) == 0:
        _refuse_if_nobody_is_left(done, worker_pool, open_tasks)
    stops = target_error is not None and needed.is_mean_reached
    notes = [
        *_repair_notes(int((~determined).sum()), n, repaired),
        *_budget_notes(worker_pool, max_answers, limit, len(chosen), needed, target_error, stops),
    ]
    if not worker_posterior.fit.converged:
        notes.append(
            f"The skills had not converged after {worker_posterior.fit.iterations} steps of one-coin EM, "
            "so the plan may be imprecise."
        )
    return Advice(
        answers,
        budget,
        worker_pool,
        np.concatenate([repaired.task, chosen.task]),
        np.concatenate([repaired.worker, chosen.worker]),
        repaired.reason,
        np.concatenate([np.full(len(repaired.task), np.nan), chosen.gain]),
        posterior,
        skill_of(accuracy, answers.n_classes),
        needed,
        stops,
        tuple(notes),
        is_stated,
        next((note.text for note in result.notes if note.kind == UNSUPPORTED), None),
        result,
        worker_pool.size > n,
        dependence,
    )


def plan_with_room(
    pool: AvailableWorkers, limit: int, plan_of: Callable[[AvailableWorkers], AssignmentPlan]
) -> AssignmentPlan:
    """Plan with the default room; double the room as long as answers stay unassigned and it limits some worker."""
    chosen = plan_of(pool)
    while pool.may_grow and len(chosen) < limit and (pool.room < limit)[pool.room > 0].any():
        pool = pool.with_twice_the_room()
        chosen = plan_of(pool)
    return chosen


def plan_within(plan_of: Callable[[int], AssignmentPlan], limit: int, cost: FloatArray, money: float) -> AssignmentPlan:
    """Return the affordable plan with the largest total gain, among plans for a decreasing number of answers.

    Args:
        plan_of: returns a plan for a number of answers, those with most gain per cost first.
        limit: number of answers that the amount pays for if all are of the cheapest worker.
        cost: of one answer of each worker.
        money: largest total cost.
    """
    best: AssignmentPlan | None = None
    while limit > 0:
        unlimited = plan_of(limit)
        is_paid = affordable(cost[unlimited.worker], money)
        paid = AssignmentPlan(unlimited.task[is_paid], unlimited.worker[is_paid], unlimited.gain[is_paid])
        if best is None or paid.gain.sum() > best.gain.sum():
            best = paid
        if len(paid) >= len(unlimited):
            break
        limit = len(paid)
    return plan_of(0) if best is None else best


def affordable(costs: FloatArray, money: float) -> IntArray:
    """Return the indices of the items to buy: in their order, each item that the remaining amount pays for.

    >>> affordable(np.array([2.0, 5.0, 1.0]), 4.0).tolist()
    [0, 2]
    """
    bought = []
    left = money * (1 + ROUNDING)
    for index, cost in enumerate(costs.tolist()):
        if cost <= left:
            bought.append(index)
            left -= cost
    return np.array(bought, np.int64)


def _check(
    budget: float, target_error: float | None, width: float, dependence: float, batch: int | None = None
) -> None:
    if not 0 < budget < np.inf:
        raise OptionError(f"budget= (--budget) must be at least 1, got {budget:g}")
    if batch is not None and batch < 1:
        raise OptionError(f"batch= (--batch) must be at least one task, got {batch}")
    if target_error is not None and not 0 < target_error < 1:
        raise OptionError(f"target_error= (--target-error) must lie between 0 and 1, got {target_error:g}")
    if not 0 < width <= 2:
        raise OptionError(f"width= must lie between 0 and 2, got {width:g}")
    if not 0 <= dependence <= 1:
        raise OptionError(f"dependence= must lie between 0 and 1, got {dependence:g}")


def _accuracy_of_next_answers(
    accuracy: FloatArray, worker_pool: AvailableWorkers, budget: int, n_classes: int
) -> float:
    """Return the mean accuracy of the next answers, if the most accurate workers take all that they have room for.

    If no worker has room, it is the plain mean over the workers.
    """
    free = np.flatnonzero(worker_pool.available & (worker_pool.room > 0))
    order = free[np.argsort(-accuracy[free], kind="stable")]
    before = starts_of(worker_pool.room[order])[:-1]
    n_answers = np.zeros(worker_pool.size)
    n_answers[order] = np.clip(budget - before, 0, worker_pool.room[order])
    weights = n_answers if n_answers.sum() > 0 else np.ones(len(n_answers))
    return float(np.clip(np.average(accuracy, weights=weights), 1.01 / n_classes, 1 - 1e-6))


def _refuse_if_nobody_is_left(
    done: tuple[IntArray, IntArray], worker_pool: AvailableWorkers, open_tasks: BoolArray
) -> None:
    """Raise an error if a plan is empty because no worker can be asked, not because all labels are certain.

    Raises:
        OptionError: no available worker can take any open task.
    """
    free = worker_pool.available & (worker_pool.room > 0)
    if not free.any():
        raise OptionError(
            f"None of the {count(int(worker_pool.available.sum()), 'available worker')} may take another task. List "
            "other workers with available= (--available), or allow more tasks with per_worker= (--per-worker)"
        )
    n_done = int((free[done[1]] & open_tasks[done[0]]).sum())
    if open_tasks.any() and n_done >= int(free.sum()) * int(open_tasks.sum()):
        who = f"All {free.sum():,} available workers have" if free.sum() > 1 else "The available worker has"
        raise OptionError(
            f"{who} already answered all {count(int(open_tasks.sum()), 'task')}. To get more answers, list other "
            "workers with available= (--available), or have an expert label some tasks"
        )


def _repair_notes(n_undetermined: int, n_workers: int, repaired: ComponentRepair) -> list[str]:
    """Return notes on the workers who cannot be rated, and on the answers that make them comparable."""
    notes = []
    if n_undetermined:
        verb = "has" if n_undetermined == 1 else "have"
        notes.append(
            f"{n_undetermined:,} of {n_workers:,} workers {verb} too few shared tasks for a rating; the plan treats "
            "them as average."
        )
    if not repaired.possible:
        notes.append(
            "More answers from the available workers cannot make them comparable. Add a third worker (--available), or "
            "known labels (--gold)."
        )
    n_sign = len(repaired.task) - repaired.n_repair
    if repaired.n_repair:
        makes = "makes" if repaired.n_repair == 1 else "make"
        notes.append(f"{count(repaired.n_repair, 'answer')} {makes} everyone comparable.")
    if n_sign:
        makes = "makes" if n_sign == 1 else "make"
        notes.append(f"{count(n_sign, 'answer')} on shared tasks {makes} groups with few shared tasks comparable.")
    if repaired.n_left_out:
        verb = "is" if repaired.n_left_out == 1 else "are"
        notes.append(f"At least {count(repaired.n_left_out, 'more answer')} {verb} needed for reliable comparisons.")
    return notes


def _budget_notes(
    pool: AvailableWorkers,
    budget: int,
    limit: int,
    n_chosen: int,
    needed: AnswersNeeded,
    target_error: float | None,
    stops: bool,
) -> list[str]:
    """Return notes on why fewer answers are advised than the budget allows."""
    if stops:
        return [
            f"You can stop: about {percent(needed.expected_error)} of the labels are probably wrong, below your target "
            f"of {percent(needed.target_error)}."
        ]
    notes = []
    is_limited_by_target = limit < budget and limit >= np.ceil(needed.answers_for_mean_error)
    if target_error is not None and n_chosen == limit and is_limited_by_target:
        notes.append(f"About {limit:,} answers, fewer than the budget, will probably reach the target.")
    if n_chosen < limit and not pool.priced:
        notes.append(
            f"Only {n_chosen:,} of {limit:,} answers could be assigned: the available workers already "
            "have enough tasks, have already answered, or would add nothing."
        )
    return notes
