"""Notes on scores, each with its figure and its remedy."""

from collections.abc import Iterator

import numpy as np

from quorate.arrays import take
from quorate.errors import count, for_shell, listing
from quorate.io.model_names import is_panel_by_names
from quorate.notes import JUDGES, Note
from quorate.rating.fit import RatingFit
from quorate.rating.gold import MIN_KNOWN, MIN_KNOWN_FOR_RESIDUALS, GoldFit
from quorate.rating.rating import RaterLines, TaskScores
from quorate.rating.scores import ScoreBlocks
from quorate.rating.shared_error import SharedError

NOT_CONVERGED = "not-converged"
SIMPLER_MODEL = "simpler-model"
CORRELATED_ERRORS = "correlated-errors"
NO_KNOWN_SCORES = "no-known-scores"
COMPONENTS = "components"
SCALES_NOT_IDENTIFIED = "scales-not-identified"
TASKS_ALIKE = "tasks-hardly-differ"
PILED_UP = "scores-at-one-end"
MIXED_SCALES = "mixed-scales"
FEW_KNOWN = "few-known-scores"
TWO_RATERS = "two-raters"
NO_WORKERS = "raters-unknown"
REPEATS = "repeats"
LEFT_OUT = "left-out"
MIN_TASK_SHARE = 0.02  # of the variance of the answers; if tasks explain less, they hardly differ
MAX_END_SHARE = 0.3  # of the answers at one end of the scale
RANGE_RATIO = 5.0  # of raters' ranges; above it they may use different scales
# Coverage of 95% intervals on the three criteria of ASSET, scored by 11 models (`quorate rate`, then `quorate score`).
PANELS_HELD = "18% to 38%"
MIN_RANGE_ANSWERS = 8  # of a rater, for its range to be compared


def rating_notes(
    table: ScoreBlocks,
    fit: RatingFit,
    tasks: TaskScores,
    raters: RaterLines,
    shared: SharedError,
    gold: GoldFit | None,
    *,
    n_known: int,
    restriction: str,
) -> Iterator[Note]:
    """Yield every note, the most serious first."""
    unit = table.unit
    if restriction:
        yield Note(
            SIMPLER_MODEL,
            f"Warning: {restriction}, because the fit with a scale per rater did not converge or predicts worse. "
            "The column mean has the plain mean for comparison.",
        )
    elif not fit.converged:
        yield Note(
            NOT_CONVERGED,
            f"Warning: The scores did not converge after {fit.passes:,} passes (last change {fit.residual:.1g} "
            "standard deviations). Use the column mean (the plain mean), or give more answers per task.",
        )
    if shared.is_present and shared.size is not None:
        names = [
            f"{table.worker_ids[i].as_py()} and {table.worker_ids[j].as_py()} ({value:.2f})"
            for i, j, value in shared.pairs[:3]
        ]
        wider = np.sqrt(np.median(shared.widening(tasks.n_answers)))
        remedy = ""
        if gold is None:
            remedy = (
                f" Name the column of the groups with {for_shell('group= (--group)')}, or give known scores with "
                f"{for_shell('gold= (--gold)')}."
            )
        yield Note(
            CORRELATED_ERRORS,
            f"Warning: Some raters make the same errors, most of all {', '.join(names)}. The intervals are "
            f"{wider:.1f} times as wide because of this.{remedy}",
        )
    yield from _level_notes(table, fit, gold, n_known, unit)
    yield from _identifiability_notes(table, fit)
    part = fit.raters.variance
    if part < MIN_TASK_SHARE:
        yield Note(
            TASKS_ALIKE,
            f"Warning: The tasks hardly differ: they explain {part:.1%} of the variance of the answers, so all "
            "scores are near the overall mean. Give more answers per task.",
        )
    counts = table.value_counts
    at_end = max(counts[0], counts[-1]) / counts.sum()
    if piled_up(table):
        end = table.raw_values[0] if counts[0] >= counts[-1] else table.raw_values[-1]
        yield Note(
            PILED_UP,
            f"Warning: {at_end:.0%} of the answers are {end:g}, one end of the scale, so the intervals are "
            f"approximate. Compare with the column mean and with {for_shell('same_scale=True (--same-scale)')}.",
        )
    yield from _range_notes(table)
    if table.counts.n_repeats:
        yield Note(
            REPEATS,
            (
                f"{count(table.counts.n_repeats, 'answer')} "
                f"{'is a further answer' if table.counts.n_repeats == 1 else 'are further answers'} of a "
                "rater to the same task. Such answers do not count as answers of several raters (correlation "
                f"of their errors {fit.raters.rho:.2f})."
            ),
        )


def piled_up(table: ScoreBlocks) -> bool:
    """Return whether many answers are at one end of the scale."""
    counts = table.value_counts
    return len(counts) > 2 and bool(max(counts[0], counts[-1]) > MAX_END_SHARE * counts.sum())


def _level_notes(table: ScoreBlocks, fit: RatingFit, gold: GoldFit | None, n_known: int, unit: float) -> Iterator[Note]:
    if not table.has_workers:
        yield Note(
            NO_WORKERS,
            "The raters are unknown, so their bias, scale and noise are not estimated. A column of rater ids "
            f"{for_shell('(worker=, --worker)')} would make the scores more precise.",
        )
    if gold is not None:
        shared = np.sqrt(gold.shared_variance) * unit
        text = (
            f"The scores are on the scale of the {count(gold.n_known, 'known score')}. The error that all raters share "
            f"(standard deviation {shared:.2g}) is part of the intervals."
        )
        yield Note(NO_KNOWN_SCORES, text)
        if not gold.uses_residuals:
            yield Note(
                FEW_KNOWN,
                f"{gold.n_known} known scores calibrate level and scale only. With {MIN_KNOWN_FOR_RESIDUALS} or more, "
                "the deviations of single raters are corrected, too.",
            )
        return
    if n_known:
        yield Note(
            FEW_KNOWN,
            f"{count(n_known, 'known score')} cannot calibrate the scale; only the scores of these tasks are "
            f"replaced. At least {MIN_KNOWN} are needed, {MIN_KNOWN_FOR_RESIDUALS} are better.",
        )
    if table.has_workers and is_panel_by_names(table.worker_ids.to_pylist()):
        yield Note(
            JUDGES,
            (
                "Warning: The raters look like LLM judges by their names. Judges often share mistakes, and "
                "the intervals do not include such mistakes: on 3 public sets of judges' scores, 95% "
                f"intervals contained only {PANELS_HELD} of the known scores. Score some tasks yourself and "
                f"give them with {for_shell('gold= (--gold)')}."
            ),
        )
    n_raters = max(int((fit.design.n_answers > 0).sum()), 1)
    level = np.sqrt(fit.raters.bias_variance / n_raters) * unit
    other = f": other raters would give scores that are about {level:.2g} higher or lower" if table.has_workers else ""
    yield Note(
        NO_KNOWN_SCORES,
        f"Without known scores, the overall level may be off{other}. An error that all raters share cannot be "
        f"measured; known scores of some tasks would show it {for_shell('(gold=, --gold)')}.",
    )


def _identifiability_notes(table: ScoreBlocks, fit: RatingFit) -> Iterator[Note]:
    if not table.has_workers:
        return
    component, bipartite = table.graph
    used = fit.design.n_answers > 0
    n_components = len(np.unique(component[used]))
    if int(used.sum()) == 2:
        yield Note(
            TWO_RATERS,
            "There are only two raters, so their scales and noise cannot be distinguished: both have scale 1 and "
            "the same noise. A third rater on some tasks would distinguish them.",
        )
        return
    if n_components > 1:
        yield Note(
            COMPONENTS,
            f"Warning: {n_components:,} groups of raters share no task, so their scores are not comparable (column "
            f"component). At least {count(n_components - 1, 'more answer')} by raters of one group to tasks of "
            "another would make them comparable.",
        )
    undetermined = used & bipartite[component]
    sizes = np.bincount(component[used], minlength=len(bipartite))
    n_undetermined = int((undetermined & (sizes[component] > 1)).sum())
    if n_undetermined:
        yield Note(
            SCALES_NOT_IDENTIFIED,
            f"Warning: The scores do not determine the scales of {count(n_undetermined, 'rater')}; they are set "
            "to 1 and have no standard error. Let a third rater score some tasks that two of them scored.",
        )


def _range_notes(table: ScoreBlocks) -> Iterator[Note]:
    if not table.has_workers:
        return
    low, high = table.ranges
    enough = np.asarray(table.blocks.per_worker) >= MIN_RANGE_ANSWERS
    largest = np.maximum(np.abs(low), np.abs(high))
    reach = np.maximum(high - low, 0.0)
    usable = enough & (reach > 0) & np.isfinite(reach)
    if usable.sum() < 2:
        return
    widest = reach[usable].max()
    narrow = usable & (reach * RANGE_RATIO < widest) & (largest * RANGE_RATIO < largest[usable].max())
    if not narrow.any():
        return
    named = listing(take(table.worker_ids, np.flatnonzero(narrow)).to_pylist(), 3)
    yield Note(
        MIXED_SCALES,
        f"Warning: {count(int(narrow.sum()), 'rater')} ({named}) {'uses' if int(narrow.sum()) == 1 else 'use'} a "
        f"range more than {RANGE_RATIO:g} times smaller than others, for example 0 to 1 instead of 0 to 100. If "
        "they scored on another scale, convert their scores first.",
    )
