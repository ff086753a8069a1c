"""Workers who give one class whatever the task ("one button").

A one-button worker nearly always gives one class, more often than its tasks explain. Two tests decide. The first
compares the number of answers of its favourite class with the number to expect if it answered as the other workers do
on the same tasks, and with the number to expect from the posterior: it must exceed both by the binomial distribution.
The second is that its answer does not depend on the task: neither on the answers of the others nor on the posterior. A
skilled worker also gives one class often if that class is frequent, but its answers depend on the task.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import BoolArray, FloatArray, IntArray
from quorate.blocks.block import Block, Sums
from quorate.blocks.kernels import response_counts
from quorate.blocks.memory import answers_in, memory_blocks
from quorate.diagnostics.finding import CHECK_PROMPT, RETEST, Finding, is_discovery, quoted, subject
from quorate.diagnostics.right_shares import is_language_model, typical_share
from quorate.result import Result
from quorate.statistics import binomial_tail

MIN_ANSWERS = 20  # that a worker needs to be tested for giving one class; a judgement
MIN_FAVOURITE_SHARE = 0.9  # share of a worker's answers that are its favourite class
# Largest dependence of the answers on the task, from guessing (0) to always right (1), of a worker that is named.
# Chosen on 26 public crowds, where the answers of the workers named carry almost no information.
MAX_TASK_DEPENDENCE = 0.15
MIN_RESOLUTION = 0.5  # smallest divisor from the posterior in `_explained_by_tasks`: a smaller one would amplify noise


@dataclass(frozen=True)
class Buttons:
    """Test of every worker for giving one class independent of the task; shapes (workers,)."""

    favourite: IntArray  # the class that the worker gives most
    share: FloatArray  # of its answers that are of this class
    expected: FloatArray  # larger of two shares: by the others' answers to its tasks, by the posterior; NaN: not tested
    dependence: FloatArray  # of the answer on the task, 0 to 1: see `_explained_by_tasks`; NaN: not tested
    p: FloatArray  # probability of at least this number of favourite answers; NaN: not tested
    named: BoolArray
    cost: IntArray  # answers of the favourite class; 0 for workers who are not named

    @property
    def ranked(self) -> IntArray:
        """The codes of the workers who are named, highest cost first."""
        chosen = np.flatnonzero(self.named)
        return chosen[np.lexsort([chosen, -self.cost[chosen]])]


def one_button(answers: Answers, posterior: FloatArray) -> Buttons:
    """Test every worker with enough answers for giving one class independent of the task.

    Args:
        answers: who answered what.
        posterior: probability of each class, tasks × classes.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(500, 10, 5, seed=0)
    >>> int(one_button(crowd.answers, np.eye(2)[crowd.truth]).named.sum())
    0
    """
    return _test_buttons(answers, _favourites(answers), posterior)


@dataclass(frozen=True)
class _Favourites:
    """The class that each worker gives most; shapes (workers,)."""

    label: IntArray
    hits: IntArray  # number of answers of that class
    share: FloatArray  # of the worker's answers that are of that class
    is_tested: BoolArray  # whether the worker has enough answers, and nearly all are of that class


def _favourites(answers: Answers) -> _Favourites:
    counts, _ = memory_blocks(answers).sum(response_counts, answers.n_workers, answers.n_classes)
    n = answers.per_worker
    hits = counts.max(axis=1, initial=0.0).astype(np.int64)
    share = hits / np.maximum(n, 1)
    is_tested = (n >= MIN_ANSWERS) & (share >= MIN_FAVOURITE_SHARE)
    return _Favourites(counts.argmax(axis=1), hits, share, is_tested)


def _test_buttons(answers: Answers, favourites: _Favourites, posterior: FloatArray | None) -> Buttons:
    """Test the workers whose answers are nearly all of one class; without such workers, no posterior is needed."""
    is_tested = favourites.is_tested
    hits = favourites.hits
    expected = np.full(answers.n_workers, np.nan)
    dependence = expected.copy()
    p = expected.copy()
    if posterior is not None and is_tested.any():
        expected[is_tested], dependence[is_tested] = _explained_by_tasks(answers, posterior, favourites)
        chance = np.clip(expected[is_tested], 1e-6, 1 - 1e-6)
        p[is_tested] = binomial_tail(hits[is_tested], answers.per_worker[is_tested], chance)
    is_named = is_tested & is_discovery(p) & (np.nan_to_num(dependence, nan=1.0) < MAX_TASK_DEPENDENCE)
    cost = np.where(is_named, hits, 0)
    return Buttons(favourites.label, favourites.share, expected, dependence, p, is_named, cost)


def one_button_test(result: Result) -> Buttons:
    """Return `one_button` of a result with answers in memory; it is stored with the result for several outputs.

    >>> import quorate
    >>> int(one_button_test(quorate.aggregate(quorate.simulate.crowd(500, 10, 5, seed=0).answers)).named.sum())
    0
    """
    cache: dict[str, Buttons] = result.__dict__
    if "_one_button" not in cache:
        favourites = _favourites(result.answers)
        posterior = result.vote.posterior if favourites.is_tested.any() else None
        cache["_one_button"] = _test_buttons(result.answers, favourites, posterior)
    return cache["_one_button"]


def _explained_by_tasks(
    answers: Answers, posterior: FloatArray, favourites: _Favourites
) -> tuple[FloatArray, FloatArray]:
    """Return the expected share of the favourite class of each tested worker, and its dependence on the task.

    The dependence is the larger of two figures: by the answers of the others, and by the posterior.
    """
    is_tested = favourites.is_tested
    class_frequency = np.bincount(answers.label, minlength=answers.n_classes) / max(answers.n_answers, 1)
    (sums,) = memory_blocks(answers).sum(_favourite_sums, posterior, favourites, class_frequency)
    sums = sums[:, is_tested]
    # Sums of the share of the others, and of the posterior, as `_favourite_sums` describes them.
    by_others, by_others_squared, by_others_where_favourite = sums[:3]
    probable, probable_squared, probable_where_favourite = sums[3:6]
    n_favourite = sums[6]
    n = answers.per_worker[is_tested]
    expected_by_others = by_others / n
    # Slope of the worker's answer on the others' answers: 0 for one button, near 1 for a worker who agrees with them.
    variation = np.maximum(by_others_squared - by_others * expected_by_others, 0.0)
    slope = (by_others_where_favourite - n_favourite * expected_by_others) / (variation + 1.0)
    # How much more often the worker gives its favourite if that class is probable than if it is not. With the others'
    # answers alone, skilled workers of a crowd with one frequent class look like one button; the posterior alone
    # repeats the worker's own vote.
    if_probable = probable_where_favourite / np.maximum(probable, 1e-9)
    if_improbable = (n_favourite - probable_where_favourite) / np.maximum(n - probable, 1e-9)
    # An uncertain posterior makes that difference smaller; the resolution is the same difference for the true class.
    resolution = probable_squared / np.maximum(probable, 1e-9) - (probable - probable_squared) / np.maximum(
        n - probable, 1e-9
    )
    difference = (if_probable - if_improbable) / np.maximum(resolution, MIN_RESOLUTION)
    return np.maximum(expected_by_others, probable / n), np.maximum(slope, difference)


def _favourite_sums(
    blocks: Iterable[Block], posterior: FloatArray, favourites: _Favourites, class_frequency: FloatArray
) -> Sums:
    """Return sums over the answers of each tested worker, shape (7, workers).

    Rows 0 to 2 are sums of v, v² and v where the worker gives its favourite class, v being the share of the others who
    give that class; rows 3 to 5 are the same for its posterior probability; row 6 counts the favourite answers. One
    average answer of the crowd is added to those of the others, because some tasks have no other answers.
    """
    n_workers = len(favourites.label)
    sums = np.zeros((7, n_workers))
    for block in blocks:
        part = answers_in(block)
        rows = np.flatnonzero(favourites.is_tested[part.worker])
        if len(rows) == 0:
            continue
        task = part.task[rows]
        worker = part.worker[rows]
        label = part.label[rows]
        favourite = favourites.label[worker]
        is_favourite = label == favourite
        n_same = part.count_at(part.cells[rows] - label + favourite)
        by_others = (n_same - is_favourite + class_frequency[favourite]) / part.per_task[task]
        probability = posterior[block.tasks][task, favourite]
        for row, values in enumerate((by_others, probability)):
            sums[3 * row] += np.bincount(worker, values, n_workers)
            sums[3 * row + 1] += np.bincount(worker, values * values, n_workers)
            sums[3 * row + 2] += np.bincount(worker, np.where(is_favourite, values, 0.0), n_workers)
        sums[6] += np.bincount(worker, is_favourite, n_workers)
    return (sums,)


def button_findings(buttons: Buttons, result: Result) -> list[Finding]:
    """Return a finding for each worker who gives one class independent of the task, highest cost first.

    >>> import quorate
    >>> result = quorate.aggregate(quorate.simulate.crowd(500, 10, 5, seed=0).answers)
    >>> button_findings(one_button(result.answers, result.vote.posterior), result)
    []
    """
    answers = result.answers
    shares = result.right_answers if buttons.named.any() else None
    findings = []
    for worker in buttons.ranked.tolist():
        label = answers.classes[int(buttons.favourite[worker])].as_py()
        n = int(answers.per_worker[worker])
        cost = int(buttons.cost[worker])
        how_often = "every time" if cost == n else "almost every time"
        about_right = "" if shares is None else f". About {shares.share[worker]:.0%} of the {n:,} answers are right"
        is_as_good = shares is not None and bool(shares.share[worker] >= typical_share(result))
        if is_as_good:
            about_right += f", as of any worker who always gives {quoted(label)}: these answers carry no information"
        own_action = RETEST if is_as_good else None
        if is_language_model(result, worker):
            own_action = CHECK_PROMPT
        findings.append(
            Finding(
                "one-button",
                f"{subject(answers.worker_names, [worker])} gives the same answer {how_often}: {cost:,} of {n:,} are "
                f"{quoted(label)}, whatever the task{about_right}",
                cost / answers.n_answers,
                "share of all answers",
                workers=(worker,),
                evidence={
                    "class": label,
                    "answers": n,
                    "cost": cost,
                    "share": float(buttons.share[worker]),
                    "expected_share": float(buttons.expected[worker]),
                    "moves_with_the_task": float(buttons.dependence[worker]),
                    "p": float(buttons.p[worker]),
                },
                figures=f"{subject(answers.worker_names, [worker])}: {buttons.share[worker]:.0%} of the answers are "
                f"{quoted(label)}; if the answers followed the tasks, about {buttons.expected[worker]:.0%} would be "
                f"(dependence on the task: {buttons.dependence[worker]:.2f} from 0, none, to 1, always right)",
                own_action=own_action,
            )
        )
    return findings
