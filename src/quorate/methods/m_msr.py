"""M-MSR: rank-one completion of the absolute correlations by trimmed means, robust to a few adversaries [Ma20b]."""

from dataclasses import dataclass

import numpy as np

from quorate.answers import Answers
from quorate.arrays import FloatArray, IntArray, starts_of
from quorate.errors import OptionError
from quorate.graph.pairs import correlations
from quorate.io.gold import known_classes
from quorate.io.read_table import Source
from quorate.methods.er import count_pairs
from quorate.methods.fit import outcome, with_gold_counts
from quorate.notes import NOT_CONVERGED, Note
from quorate.result import Result
from quorate.skills.identification import IDENTIFIED, UNINFORMED, identify_workers, statuses
from quorate.skills.objective import CAPPED, CONVERGED, box
from quorate.skills.signs import orient, weighed_signs
from quorate.skills.skill_notes import undetermined_note
from quorate.skills.worker_estimates import WorkerEstimates
from quorate.voting.vote import majority, plug_in_vote, vote_weights

# Trimming is discontinuous, so the iteration may have no fixed point; then the mean over the cycle is returned.
CYCLING = "the trimming repeats a cycle instead of converging; the skills are the mean over this cycle"
CYCLE_WINDOW = 100  # rounds; if the smallest change does not fall from one window to the next, it is a cycle
MIN_SIZE = 1e-12  # of a skill; smaller ones count as zero: correlations are divided by skills


@dataclass(frozen=True)
class TrimmedCompletion:
    """Absolute values of the skills, and how the iteration ended."""

    size: FloatArray  # |s| of each worker; NaN for workers without an informative pair
    iterations: int
    status: str  # CONVERGED, CYCLING or CAPPED


def m_msr(
    answers: Answers,
    *,
    gold: Source = None,
    trim: int | None = None,
    max_iterations: int = 10_000,
    tolerance: float = 1e-10,
    seed: int = 0,
) -> Result:
    """Estimate skills by trimmed rank-one completion of the agreement matrix, then vote by log-odds [Ma20b].

    Args:
        answers: who answered what.
        gold: known labels of some tasks; these tasks get them.
        trim: how many coworkers' estimates of a skill are dropped above the current estimate, and as many below it;
            by default half the smallest number of coworkers, less one.
        max_iterations: maximum number of rounds.
        tolerance: stop when the skills change by less per round, on average over answers.
        seed: random seed of the start.

    Raises:
        OptionError: ``trim`` is negative.
        TooLargeError: too many pairs of workers share a task.

    >>> import quorate
    >>> crowd = quorate.simulate.crowd(n_tasks=300, n_workers=10, per_task=5, seed=1)
    >>> result = m_msr(crowd.answers)
    >>> bool(np.abs(result.skills - crowd.skills).mean() < 0.1)
    True
    """
    if trim is not None and trim < 0:
        raise OptionError(f"The option trim must be zero or more, got {trim}")
    known = known_classes(gold, answers)
    if answers.n_classes < 2:
        return outcome("m-msr", answers, majority(answers), gold=known)
    identification = identify_workers(answers)
    graph = identification.graph
    status = statuses(identification)
    all_pairs = count_pairs(answers, "m-msr")
    # A component without an odd cycle determines no skills; its pairs are left out.
    pairs = all_pairs.among(graph.determined[all_pairs.i])
    correlation = correlations(pairs, answers.n_classes)
    completion = complete(
        pairs.i,
        pairs.j,
        np.abs(correlation),
        graph.component,
        n_answers=answers.per_worker,
        trim=trim,
        max_iterations=max_iterations,
        tolerance=tolerance,
        seed=seed,
    )
    status[(status == IDENTIFIED) & np.isnan(completion.size)] = UNINFORMED
    lower, upper = box(answers.per_worker, answers.n_classes, tau=1.0)
    size = np.minimum(np.where(status == IDENTIFIED, completion.size, 0.0), upper)
    signs = weighed_signs(len(size), pairs.i, pairs.j, pairs.shared * correlation * size[pairs.i] * size[pairs.j])
    oriented, _ = orient(signs.sign * size, graph.component, np.zeros(graph.n_components, dtype=bool))
    skills = np.where(status == IDENTIFIED, np.clip(oriented, lower, upper), np.nan)
    weights = vote_weights(answers, skills)
    task_vote = majority(answers) if np.isnan(skills).all() else plug_in_vote(answers, weights)
    notes = tuple(undetermined_note(status, graph.component))
    if completion.status != CONVERGED:
        notes += (Note(NOT_CONVERGED, f"m-msr: {completion.status} (after {completion.iterations:,} rounds)"),)
    skill_estimates = WorkerEstimates(skills=skills, weights=weights, status=status, signs=signs)
    result = outcome(
        "m-msr",
        answers,
        task_vote,
        gold=known,
        skill_estimates=skill_estimates,
        identifiability=graph,
        notes=notes,
    )
    return with_gold_counts(result)


def complete(
    i: IntArray,
    j: IntArray,
    size: FloatArray,
    component: IntArray,
    *,
    n_answers: IntArray | None = None,
    trim: int | None = None,
    max_iterations: int = 10_000,
    tolerance: float = 1e-10,
    seed: int = 0,
) -> TrimmedCompletion:
    """Find x with x_i x_j close to most of the given values, each pair i < j listed once [Ma20b].

    Pairs that are not listed are missing, not zero.

    Args:
        i: one worker of each pair.
        j: the other.
        size: the absolute correlation of each pair.
        component: of each worker.
        n_answers: weight of each worker in the stopping rule; equal by default.
        trim: see `m_msr`.
        max_iterations: maximum number of rounds.
        tolerance: stop when x changes by less than this, on average.
        seed: random seed of the start.

    >>> i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    >>> complete(i, j, np.array([0.4, 0.72, 0.45]), np.zeros(3, int)).size.round(6).tolist()
    [0.8, 0.5, 0.9]
    """
    n = len(component)
    target = np.concatenate([i, j])
    source = np.concatenate([j, i])
    order = np.argsort(target, kind="stable")
    target = target[order]
    source = source[order]
    value = np.concatenate([size, size])[order]
    drop = _to_drop(np.bincount(target, minlength=n), component, trim)
    share = np.ones(n) if n_answers is None else n_answers.astype(np.float64)
    share = share / max(share.sum(), 1.0)

    # One factor for the rows and one for the columns, as in the paper; both converge to the same vector up to scale.
    rng = np.random.default_rng(seed)
    row = rng.uniform(size=n)
    column = rng.uniform(size=n)
    x = np.sqrt(row * column)
    total = np.zeros(n)
    status = CAPPED
    smallest_change = np.inf
    smallest_before = np.inf
    iterations = 0
    while iterations < max_iterations:
        column = _update(target, source, value, row, column, drop)
        row = _update(target, source, value, column, row, drop)
        row, column = _balance(row, column, component)
        before = x
        x = np.sqrt(row * column)
        change = float(share @ np.abs(x - before))
        iterations = iterations + 1
        if change <= tolerance:
            status = CONVERGED
            break
        smallest_change = min(smallest_change, change)
        total = total + x
        if iterations % CYCLE_WINDOW == 0:
            if smallest_change > 0.99 * smallest_before:
                status = CYCLING
                x = total / CYCLE_WINDOW
                break
            smallest_before = smallest_change
            smallest_change = np.inf
            total = np.zeros(n)
    has_peer = np.bincount(target, x[source] > MIN_SIZE, n) > 0
    return TrimmedCompletion(np.where(has_peer, x, np.nan), iterations, status)


def trimmed_means(target: IntArray, ratio: FloatArray, estimate: FloatArray, drop: IntArray) -> FloatArray:
    """Return the mean of each worker's ratios without the largest above its estimate and the smallest below it.

    Args:
        target: the worker of each ratio, never decreasing.
        ratio: estimate of the worker's skill by one peer.
        estimate: of each worker so far; it stays where there is no ratio.
        drop: how many ratios of each worker are dropped on each side, at most.

    >>> ratio = np.array([0.1, 0.5, 0.6, 0.7, 9.0])
    >>> trimmed_means(np.zeros(5, int), ratio, np.array([0.5]), np.array([1])).round(3).tolist()
    [0.6]
    """
    n = len(estimate)
    if drop.any():
        low = np.minimum(drop, np.bincount(target, ratio < estimate[target], n).astype(np.int64))
        high = np.minimum(drop, np.bincount(target, ratio > estimate[target], n).astype(np.int64))
        ratio = _sorted_within(target, ratio)
        degree = np.bincount(target, minlength=n)
        rank = np.arange(len(target)) - starts_of(degree)[target]
        is_kept = (rank >= low[target]) & (rank < (degree - high)[target])
        target = target[is_kept]
        ratio = ratio[is_kept]
    number = np.bincount(target, minlength=n)
    means: FloatArray = np.where(number > 0, np.bincount(target, ratio, n) / np.maximum(number, 1), estimate)
    return means


def _sorted_within(target: IntArray, ratio: FloatArray) -> FloatArray:
    """Return the ratios, sorted within each worker.

    As complex numbers, which sort by their real part first, they are sorted in place, without an array of indices.
    """
    key = np.empty(len(ratio), np.complex128)
    key.real = target
    key.imag = ratio
    key.sort(kind="stable")
    return key.imag


def _update(
    target: IntArray, source: IntArray, value: FloatArray, current: FloatArray, estimate: FloatArray, drop: IntArray
) -> FloatArray:
    """Estimate one factor from the other: each peer of nonzero size gives |C_ij| divided by its size."""
    is_positive = current[source] > MIN_SIZE
    if not is_positive.all():
        target = target[is_positive]
        source = source[is_positive]
        value = value[is_positive]
    return trimmed_means(target, value / current[source], estimate, drop)


def _balance(row: FloatArray, column: FloatArray, component: IntArray) -> tuple[FloatArray, FloatArray]:
    """Scale both factors to the same sum in each component, and limit their entries to one.

    The paper has no such limit. Without it, if the pairs of nonzero correlation have no odd cycle, the entries of some
    workers diverge, and those of their peers go to zero.
    """
    sums = [np.maximum(np.bincount(component, factor), MIN_SIZE) for factor in (row, column)]
    balance = np.sqrt(sums[0] / sums[1])[component]
    return np.minimum(row / balance, 1.0), np.minimum(column * balance, 1.0)


def _to_drop(degree: IntArray, component: IntArray, trim: int | None) -> IntArray:
    """Return how many peers each worker drops on each side.

    By default half the smallest degree of the component, minus one, as in the authors' code. At least one peer is kept:
    a worker without peers would keep its random start.
    """
    if trim is None:
        min_degree = np.full(int(component.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(min_degree, component, degree)
        wanted = np.maximum(min_degree // 2 - 1, 0)[component]
    else:
        wanted = np.full(len(degree), trim)
    number: IntArray = np.minimum(wanted, np.maximum(degree - 1, 0) // 2)
    return number
