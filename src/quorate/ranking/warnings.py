"""Warnings of a ranking, each with the figure and the remedy."""

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaincinv

from quorate.errors import count, listing
from quorate.io.model_names import is_panel, model_names
from quorate.ranking.bradley_terry import cell_derivatives, row_derivatives
from quorate.ranking.comparisons import sum_by
from quorate.ranking.ranking import Ranking, RankingWarning

# Conventional limits: shares below which an effect rests on few comparisons, and dispersions of twice (by pair) or 1.3
# times (by task) the value for independent answers.
MIN_SIDE_SHARE = 0.05
MIN_COVARIATE_SHARE = 0.1
MAX_JUDGE_SHARE = 0.5
MIN_EFFECTIVE_JUDGES = 3.0
MAX_PAIR_DISPERSION = 2.0
MAX_TASK_DISPERSION = 1.3
MIN_CLUSTERS = 10
MAX_NAMED = 5
MAX_NAME_CHARACTERS = 40  # of an item's name in a warning
MAX_MODELS = 1000  # judges; larger crowds are not checked for models


def ranking_warnings(
    ranking: Ranking, *, by_task: bool, position_dropped: bool, n_self: int, adaptive: bool
) -> Iterator[RankingWarning]:
    """Yield every warning, the most serious first."""
    comparisons = ranking.comparisons
    connected = ranking.connectivity
    if connected.n_parts > 1:
        sizes = ", ".join(f"{len(part):,}" for part in ranking.parts[:MAX_NAMED])
        n_others = connected.n_parts - MAX_NAMED
        others = f" and {n_others:,} more groups" if n_others > 0 else ""
        yield RankingWarning(
            "several parts",
            f"no comparison connects the {connected.n_parts:,} groups of items (of {sizes} items{others}), so each "
            "group has its own ranking. --next proposes pairs that connect them",
        )
    for chosen, verb, bound in (
        (connected.never_loses, "lost", "upper"),
        (connected.never_wins, "won", "lower"),
    ):
        if chosen.any():
            is_one = chosen.sum() == 1
            subject = "this item" if is_one else "these items"
            strength = "its strength has" if is_one else "their strengths have"
            yield RankingWarning(
                "open bound",
                f"{subject} never {verb} against the others, so {strength} no {bound} limit: {_named(ranking, chosen)}"
                f". Compare {'it' if is_one else 'them'} with more items of similar strength",
            )
    if ranking.fit.flipped:
        yield RankingWarning(
            "direction",
            "most judges disagree with most comparisons, because a busy judge answers the opposite of the others. The "
            "ranking follows the majority of the judges",
        )
    if position_dropped:
        yield RankingWarning(
            "left side",
            "each item was shown on one side only, so a preference for the left side cannot be estimated. Shuffle the "
            "sides",
        )
    yield from _unchecked_models(ranking)
    yield from _effect_warnings(ranking)
    yield from _judge_warnings(ranking)
    yield from _covariate_warnings(ranking)
    if np.isfinite(ranking.dispersion) and ranking.dispersion > MAX_PAIR_DISPERSION:
        yield RankingWarning(
            "misfit",
            f"the wins of single pairs vary {ranking.dispersion:.1f} times as much as one strength per item explains "
            "(cycles such as A above B above C above A). --pairs-out lists the pairs",
        )
    if comparisons.task is not None and not by_task:
        dispersion = task_dispersion(ranking)
        if dispersion > MAX_TASK_DISPERSION:
            yield RankingWarning(
                "dependent rows",
                f"comparisons of one task vary {dispersion:.1f} times as much as independent ones, so the intervals "
                "are too narrow. Use --cluster task",
            )
    if by_task and comparisons.task is not None and ranking.uncertainty.n_clusters < MIN_CLUSTERS:
        yield RankingWarning(
            "few tasks",
            f"the intervals rest on {count(ranking.uncertainty.n_clusters, 'task')}; with fewer than {MIN_CLUSTERS} "
            "tasks they are too narrow. Compare on more tasks",
        )
    if n_self:
        yield RankingWarning(
            "self-preference",
            f"in {count(n_self, 'comparison')} the judge is one of the two items. --drop-self leaves them out",
        )
    if adaptive:
        yield RankingWarning(
            "adaptive choice",
            (
                "some pairs were chosen because of earlier answers, so the intervals are too narrow: in "
                "simulations, 95% intervals contained the true strength in 93% of the cases with --aim "
                "information and in 82% with --aim order"
            ),
        )


def _unchecked_models(ranking: Ranking) -> Iterator[RankingWarning]:
    """Yield a warning that one judge, or language models, may prefer other items than people do."""
    judges = ranking.comparisons.judges
    is_model = model_names(judges[:MAX_MODELS])
    if len(judges) == 1 and is_model.all():
        yield RankingWarning(
            "one judge",
            f"all comparisons are by one LLM judge ({judges[0]}), so the intervals show what this judge prefers; "
            "another judge may differ",
        )
    elif len(judges) <= MAX_MODELS and is_panel(is_model):
        yield RankingWarning(
            "language models",
            f"{int(is_model.sum()):,} of {len(judges):,} judges look like LLM judges, who often share preferences: the "
            "intervals show what they prefer, not what people would. Compare some pairs yourself to check",
        )


def _short(name: str) -> str:
    """Return a name, cut if it is long; in quotes if it is cut, has a comma or ends with a period."""
    cut = name if len(name) <= MAX_NAME_CHARACTERS else f"{name[:MAX_NAME_CHARACTERS].rstrip()}…"
    return f'"{cut}"' if "," in cut or cut.endswith(".") or cut != name else cut


def _named(ranking: Ranking, chosen: np.ndarray) -> str:
    names = [_short(str(ranking.comparisons.items[item])) for item in np.flatnonzero(chosen)]
    if len(names) > MAX_NAMED:
        return listing(names, MAX_NAMED, str)
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _effect_warnings(ranking: Ranking) -> Iterator[RankingWarning]:
    for row in ranking.effects.to_arrow().to_pylist():
        limit = MIN_SIDE_SHARE if row["effect"] == "left side" else MIN_COVARIATE_SHARE
        if row["free_share"] < limit:
            effect = "the left side" if row["effect"] == "left side" else f"the covariate {row['effect']}"
            yield RankingWarning(
                "weak effect",
                (
                    f"{effect} depends almost only on which items were compared (only "
                    f"{row['free_share']:.0%} of it does not), so its effect rests on few comparisons"
                ),
            )


def _judge_warnings(ranking: Ranking) -> Iterator[RankingWarning]:
    comparisons = ranking.comparisons
    if comparisons.n_judges == 1:
        return
    total = sum_by(comparisons.judge, comparisons.weight, comparisons.n_judges)
    share = total / total.sum()
    effective = 1 / float((share**2).sum())
    busiest = int(share.argmax())
    if share[busiest] > MAX_JUDGE_SHARE:
        yield RankingWarning(
            "one judge",
            f"judge {_short(str(comparisons.judges[busiest]))} made {share[busiest]:.0%} of the comparisons, so the "
            "ranking is mostly that of this judge",
        )
    elif effective < MIN_EFFECTIVE_JUDGES:
        yield RankingWarning(
            "few judges",
            f"a few judges made most comparisons (as if there were {effective:.1f} judges), so the intervals may be "
            "too narrow",
        )
    status = ranking.judges["status"].to_pylist()
    poor = sum(value in ("uninformative", "reversed") for value in status)
    if poor:
        n_reversed = status.count("reversed")
        opposite = f" ({n_reversed:,} of them the opposite)" if n_reversed else ""
        yield RankingWarning(
            "judges",
            f"{poor:,} of {comparisons.n_judges:,} judges {'is' if poor == 1 else 'are'} no better than chance or "
            f"{'answers' if poor == 1 else 'answer'} the opposite{opposite}. The ranking already gives them little or "
            "negative weight; --workers-out lists the judges",
        )


def _covariate_warnings(ranking: Ranking) -> Iterator[RankingWarning]:
    """Yield a warning for each covariate whose effect varies more between judges than one common effect explains."""
    cells = ranking.cells
    if cells.n_judges == 1:
        return
    derivatives = cell_derivatives(cells, ranking.fit.parameters)
    first = int(ranking.has_position)
    for index, name in enumerate(ranking.comparisons.covariate_names):
        values = cells.covariates[:, first + index]
        score = cells.by_judge(derivatives.score * values)
        information = np.maximum(cells.by_judge(derivatives.information * values**2), 1e-12)
        dispersion = float((score**2 / information).sum()) / (cells.n_judges - 1)
        limit = float(2 * gammaincinv((cells.n_judges - 1) / 2, 0.99)) / (cells.n_judges - 1)
        if dispersion > limit:
            yield RankingWarning(
                "covariate by judge",
                f"the effect of {name} differs between judges ({dispersion:.1f} times the variation of one common "
                "effect); the figure is an average over judges",
            )


def task_dispersion(ranking: Ranking) -> float:
    """Return the squared sum of scores by task over the information: 1 for independent comparisons."""
    comparisons = ranking.comparisons
    if comparisons.task is None:
        return 1.0
    derivatives = row_derivatives(comparisons, ranking.cells, ranking.fit.parameters)
    direction = derivatives.gap
    by_task = np.bincount(comparisons.task, derivatives.score * direction)
    expected = float((derivatives.information * direction**2).sum())
    return float((by_task**2).sum()) / max(expected, 1e-12)
