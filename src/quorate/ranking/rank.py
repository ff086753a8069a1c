"""`rank`: pairwise comparisons by judges -> strengths with intervals, and warnings of what is not determined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quorate.arrays import FloatArray, from_strings
from quorate.blocks.sampling import hash_ids
from quorate.errors import GoldError, OptionError, UndeterminedError, check_level, listing, shown, unknown_name_error
from quorate.io.arguments import check_arguments
from quorate.io.exports.pairwise import read_pairs
from quorate.io.options import AS_USUAL, FileFormat, ReadOptions
from quorate.io.pairs import PairOptions, PairRows
from quorate.io.read_table import Source
from quorate.ranking.bradley_terry import RankingParameters, fisher_step
from quorate.ranking.comparisons import LEFT, TIE, ComparisonCells, Comparisons, canonical_comparisons, make_cells
from quorate.ranking.connectivity import Connectivity, connectivity
from quorate.ranking.cross_validation import SkillChoice, choose_skill, shows_skill
from quorate.ranking.fit import GoldDirection, RankingFit, fit_ranking
from quorate.ranking.information import joint_information
from quorate.ranking.intervals import uncertainty
from quorate.ranking.judges import EstimatedParameters
from quorate.ranking.ranking import Ranking, RankingWarning
from quorate.ranking.warnings import ranking_warnings

SKILL_CHOICES = ("auto", "on", "off")
MIN_FREE_SHARE = 1e-6  # of an effect; below it, only rounding separates the effect from the items
MAX_GROUP_ROUNDS = 30  # Fisher steps of the fit of a group


@check_arguments
def rank(
    data: Source,
    *,
    left: str | None = None,
    right: str | None = None,
    winner: str | Sequence[str] | None = None,
    judge: str | None = None,
    task: str | None = None,
    tie: Sequence[str] = (),
    abstain: Sequence[str] = (),
    covariates: Sequence[str] = (),
    by: str | None = None,
    criterion: str | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    cluster: str = "task",
    judge_skill: Literal["auto", "on", "off"] | bool = "auto",
    position: bool = True,
    shrink: bool = True,
    gold: Source = None,
    tie_below: float = 0.0,
    skip_missing: bool = False,
    drop_self: bool = False,
    adaptive: bool = False,
    format: FileFormat | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    seed: int = 0,
) -> Ranking:
    """Rank items by pairwise comparisons, with intervals, judges' skills and what cannot be determined.

    Args:
        data: a path, ``"-"``, a mapping of columns, a list of records or a table; an export of Label Studio or Argilla.
            Layouts: left/right/winner, model_a/model_b/winner, one winner column per judge, preferences from 1 to 2,
            chosen/rejected, winner/loser, win counts, both orders asked, rankings, scores of both items.
        left: column of the item shown on the left, if the names of the columns do not show it.
        right: column of the item shown on the right.
        winner: column of the winner (an item's name, a side or a tie), or one column per judge.
        judge: column of judges. Without it, all comparisons count as those of one judge.
        task: column of tasks (questions); comparisons of one task are not assumed to be independent.
        tie: further labels that mean a tie.
        abstain: labels that mean "no answer"; such rows are counted and left out.
        covariates: numeric columns, left minus right; ``"len_a,len_b"`` is the difference of two.
        by: a column; each of its values gets a separate ranking, shrunk to the common one (`Ranking.groups`).
        criterion: a column of criteria (accuracy, style, ...), if items were compared by several. Each gets a
            separate ranking, judges included (`Ranking.criteria`). The common ranking uses all comparisons.
            Comparisons of one task (or, without tasks, of one pair by one judge) are not assumed independent.
        baseline: item whose strength is zero.
        level: level of the intervals.
        cluster: ``"task"``, ``"none"`` (comparisons are independent) or a column to use instead of the task.
        judge_skill: ``"on"``, ``"off"`` or ``"auto"``: estimate skills if that predicts held-out tasks better.
        position: estimate the preference of judges for the left side.
        shrink: shrink strengths to their mean, by as much as the data suggest.
        gold: known comparisons in the same layout; they decide the direction instead of the judges.
        tie_below: scores that differ by no more are a tie.
        skip_missing: leave out rows with a missing field, and count them, instead of raising an error.
        drop_self: leave out comparisons in which the judge is one of the items.
        adaptive: pairs were chosen because of earlier answers; the result then warns that intervals are too narrow.
        format: format of a file, as in `quorate.read`.
        delimiter: separator of a CSV file.
        encoding: encoding of a CSV file.
        seed: seed of the draws behind rank intervals.

    Raises:
        InputError: the comparisons cannot be used; the message names the rows.
        OptionError: an option does not apply; a covariate cannot be separated from the items.
        UndeterminedError: fewer than two items, only ties, or a direction that a single judge decides.

    >>> votes = {"left": list("aab"), "right": list("bcc"), "winner": ["left", "left", "left"]}
    >>> ranking = rank(votes)
    >>> ranking.items["item"].to_pylist(), ranking.is_determined
    (['a', 'b', 'c'], True)
    """
    model = RankingOptions(
        baseline=baseline,
        level=level,
        by_task=cluster != "none",
        judge_skill=judge_skill,
        position=position,
        shrink=shrink,
        adaptive=adaptive,
        source=data if isinstance(data, str) else None,
        seed=seed,
    )
    options = PairOptions(
        left=left,
        right=right,
        winner=winner,
        judge=judge,
        task=cluster if cluster not in ("task", "none") else task,
        tie=tuple(tie),
        abstain=tuple(abstain),
        covariates=tuple([covariates] if isinstance(covariates, str) else covariates),
        tie_below=tie_below,
        by=by,
        criterion=criterion,
        skip_missing=skip_missing,
        drop_self=drop_self,
    )
    reading = ReadOptions(format=format, delimiter=delimiter, encoding=encoding)
    # The rows have no name here, so that `rank_rows` can free them.
    return rank_rows(
        data if isinstance(data, PairRows) else read_pairs(data, options, reading),
        model,
        gold=None if gold is None else read_known_pairs(gold, options, reading),
    )


def read_known_pairs(gold: Source, options: PairOptions, reading: ReadOptions = AS_USUAL) -> PairRows:
    """Read known comparisons, in the layout of the comparisons but without judges, tasks, groups and covariates."""
    return read_pairs(gold, replace(options, covariates=(), by=None, criterion=None, judge=None, task=None), reading)


@dataclass(frozen=True)
class RankingOptions:
    """Options of `rank`, except the known comparisons and those for reading; see `rank`.

    Attributes:
        by_task: whether comparisons of one task are not independent.
        source: path of the file, for reports.

    Raises:
        OptionError: an option has an invalid value.
    """

    baseline: str | None = None
    level: float = 0.95
    by_task: bool = True
    judge_skill: Literal["auto", "on", "off"] | bool = "auto"
    position: bool = True
    shrink: bool = True
    adaptive: bool = False
    source: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        if not isinstance(self.judge_skill, bool) and self.judge_skill not in SKILL_CHOICES:
            raise unknown_name_error(self.judge_skill, SKILL_CHOICES, "judge_skill= (--judge-skill)")


def rank_rows(rows: PairRows, options: RankingOptions, *, gold: PairRows | None = None) -> Ranking:
    """Rank comparisons that were read from a file or an engine; see `rank`."""
    judge_skill = options.judge_skill
    if isinstance(judge_skill, bool):
        judge_skill = "on" if judge_skill else "off"
    baseline = options.baseline
    by_task = options.by_task
    shrink = options.shrink
    if rows.criterion is not None and rows.task is None:
        rows = _with_pair_tasks(rows)
    comparisons, scale = comparisons_of(rows)
    if rows.group is None and rows.criterion is None:
        rows = rows.select(np.zeros(rows.n_rows, dtype=bool))  # only their counts are needed below
    if baseline is not None and baseline not in comparisons.items:
        raise OptionError(
            f"baseline= (--baseline) must be one of the items {listing(comparisons.items)}, got {shown(baseline)}"
        )
    if (comparisons.outcome == TIE).all():
        n = round(comparisons.n_comparisons)
        ties = "the only comparison is a tie" if n == 1 else f"all {n:,} comparisons are ties"
        raise UndeterminedError(f"{ties}, so there is no ranking. Collect comparisons that name a winner")
    connected = connectivity(comparisons)
    if baseline is not None and connected.n_parts > 1:
        raise UndeterminedError(
            f"No comparison connects the {connected.n_parts} groups of items, so not every item can be compared "
            f"with the baseline {shown(baseline)}. Leave out baseline= (--baseline)"
        )
    _refuse_covariates(comparisons, connected)
    position_possible = comparisons.has_sides and connected.free_share[0] > MIN_FREE_SHARE
    has_position = options.position and position_possible
    cells = make_cells(comparisons, connected.part, position=has_position)
    choice = _choose(comparisons, cells, judge_skill, has_position, shrink)
    direction = None if gold is None else _gold_direction(gold, comparisons)
    fit = fit_ranking(
        comparisons, cells, skill=choice.used, position=has_position, shrink=shrink, gold_direction=direction
    )
    if direction is None:
        _refuse_direction(fit, comparisons)
    uncertainty_of_fit = uncertainty(comparisons, cells, fit, by_task=by_task, seed=options.seed)
    ranking = Ranking(
        comparisons=comparisons,
        cells=cells,
        connectivity=connected,
        fit=fit,
        uncertainty=uncertainty_of_fit,
        choice=choice,
        level=options.level,
        has_position=has_position,
        covariate_scale=scale,
        baseline=baseline,
        left_out=rows.left_out,
        n_read=rows.n_read,
        n_both_bad=rows.n_both_bad,
        seed=options.seed,
        source=options.source,
    )
    position_dropped = options.position and comparisons.has_sides and not position_possible
    n_self = 0 if "a judge compared itself" in rows.left_out else rows.n_self
    warnings = ranking_warnings(
        ranking, by_task=by_task, position_dropped=position_dropped, n_self=n_self, adaptive=options.adaptive
    )
    ranking = replace(ranking, warnings=tuple(warnings))
    if rows.group is not None:
        ranking = replace(ranking, groups=_rank_groups(rows, ranking, by_task=by_task))
    if rows.criterion is None:
        return ranking
    criteria = {}
    for number, name in enumerate(rows.criteria):
        part = rows.select(rows.criterion == number).drop_unused()
        try:
            criteria[name] = rank_rows(
                replace(part, criterion=None, criteria=(), group=None, groups=(), left_out={}),
                replace(options, baseline=baseline if baseline in part.items else None),
                gold=None if gold is None else _gold_between(gold, part.items),
            )
        except (UndeterminedError, OptionError) as error:
            warning = RankingWarning("criterion", f"{shown(name)} has no separate ranking: {error}")
            ranking = replace(ranking, warnings=(*ranking.warnings, warning))
    return replace(ranking, criteria=criteria)


def _with_pair_tasks(rows: PairRows) -> PairRows:
    """Return the rows with a task for each pair and judge: answers by several criteria are not independent."""
    low = np.minimum(rows.left, rows.right)
    high = np.maximum(rows.left, rows.right)
    n_items = len(rows.items)
    keys, task = np.unique((rows.judge.astype(np.int64) * n_items + low) * n_items + high, return_inverse=True)
    names = [
        "\x1f".join([rows.judges[key // n_items**2], rows.items[key // n_items % n_items], rows.items[key % n_items]])
        for key in keys.tolist()
    ]
    return replace(rows, task=task.reshape(-1), tasks=from_strings(names))


def _gold_between(gold: PairRows, items: Sequence[str]) -> PairRows | None:
    """Return the known comparisons between the items; None if there are none."""
    is_item = np.isin(np.array(gold.items), np.array(items))
    keep = is_item[gold.left] & is_item[gold.right]
    return gold.select(keep).drop_unused() if keep.any() else None


def comparisons_of(rows: PairRows) -> tuple[Comparisons, FloatArray]:
    """Return the rows as codes, with covariates divided by their root mean square; also return this scale."""
    size = rows.weight @ rows.covariates**2 / rows.weight.sum()
    scale = np.where(size > 0, np.sqrt(size), 1.0)
    return _coded(rows, scale), scale


def _coded(rows: PairRows, covariate_scale: FloatArray) -> Comparisons:
    return canonical_comparisons(
        rows.left,
        rows.right,
        rows.outcome,
        rows.judge,
        items=rows.items,
        judges=rows.judges,
        task=rows.task,
        task_hash=hash_ids(rows.tasks),
        weight=rows.weight,
        covariates=rows.covariates / covariate_scale,
        covariate_names=rows.covariate_names,
        has_sides=rows.has_sides,
    )


def _refuse_covariates(comparisons: Comparisons, connected: Connectivity) -> None:
    shares = connected.free_share[1:]
    refused = [name for name, share in zip(comparisons.covariate_names, shares, strict=True) if share <= MIN_FREE_SHARE]
    if refused:
        raise OptionError(
            f"the covariate {listing(refused)} cannot be separated from the items: each item always has the same "
            "value, so its effect and the strengths explain the same wins; leave it out of covariates= (--covariate)"
        )


def _choose(
    comparisons: Comparisons, cells: ComparisonCells, judge_skill: str, has_position: bool, shrink: bool
) -> SkillChoice:
    if comparisons.n_judges == 1:
        return SkillChoice(False)
    if judge_skill == "auto" and not shows_skill(comparisons):
        return SkillChoice(False)
    if judge_skill == "auto":
        return choose_skill(comparisons, cells, position=has_position, shrink=shrink)
    return SkillChoice(judge_skill == "on")


def _refuse_direction(fit: RankingFit, comparisons: Comparisons) -> None:
    """Raise an error if the judges are divided on the direction, so that a single one would decide it."""
    direction = fit.direction
    if direction is None or direction.is_decided:
        return
    votes = direction.votes * (-1 if fit.flipped else 1)
    supporter = comparisons.judges[int(votes.argmax())]
    opponent = comparisons.judges[int(votes.argmin())]
    example = ""
    if votes.max() > 0 > votes.min():
        example = f" (for example {shown(supporter)} against {shown(opponent)})"
    raise UndeterminedError(
        f"The judges contradict each other{example}, so the direction of the ranking is unknown. Give known "
        "comparisons with gold= (--gold), add judges, or count all judges the same with judge_skill='off' "
        "(--judge-skill off)"
    )


def _gold_direction(gold: PairRows, comparisons: Comparisons) -> GoldDirection:
    code_of_item = {item: code for code, item in enumerate(comparisons.items)}
    missing = [item for item in gold.items if item not in code_of_item]
    if missing:
        raise GoldError(
            f"the known comparisons include items that nobody compared: {listing(missing)}. Check the names, or "
            "remove these comparisons"
        )
    is_decided = gold.outcome != TIE
    is_left = gold.outcome == LEFT
    code = np.array([code_of_item[item] for item in gold.items], np.int64)
    better = np.where(is_left, gold.left, gold.right)[is_decided]
    worse = np.where(is_left, gold.right, gold.left)[is_decided]
    if not len(better):
        raise GoldError("all known comparisons are ties, so they decide no direction; give some with a winner")
    return GoldDirection(tuple(code[better].tolist()), tuple(code[worse].tolist()))


def _rank_groups(rows: PairRows, common: Ranking, *, by_task: bool) -> Mapping[str, Ranking]:
    """Return the ranking of each group: strengths shrunk to the common ones, judges as in the common fit."""
    assert rows.group is not None
    rankings = {}
    for number, name in enumerate(rows.groups):
        comparisons = _coded(rows.select(rows.group == number), common.covariate_scale)
        rankings[name] = _rank_group(comparisons, common, by_task=by_task)
    return rankings


def _rank_group(comparisons: Comparisons, common: Ranking, *, by_task: bool) -> Ranking:
    cells = make_cells(comparisons, common.connectivity.part, position=common.has_position)
    base = common.fit.parameters
    effects = base.effects
    parameters: RankingParameters = base
    variance = base.variances.strength / 4
    no_judges = EstimatedParameters(skill=False, side=False, tie=False)
    for _ in range(MAX_GROUP_ROUNDS):
        before = parameters.strength
        strength, _, _ = fisher_step(cells, parameters, 1 / variance, base.strength)
        parameters = replace(parameters, strength=strength, effects=effects)
        joint = joint_information(cells, parameters, no_judges, 1 / variance)
        n = cells.n_items
        trace = float(np.trace(np.linalg.inv(joint.core[:n, :n].toarray())))
        gap = parameters.strength - base.strength
        variance = float(np.clip((gap @ gap + trace) / n, 1e-3, 100))
        if np.abs(parameters.strength - before).max() < 1e-6:
            break
    parameters = replace(parameters, variances=replace(base.variances, strength=variance))
    fit = replace(
        common.fit,
        parameters=parameters,
        estimated=replace(common.fit.estimated, skill=False, side=False),
        strength_precision=1 / variance,
    )
    uncertainty_of_group = uncertainty(comparisons, cells, fit, by_task=by_task, seed=common.seed)
    return replace(
        common,
        comparisons=comparisons,
        cells=cells,
        fit=fit,
        uncertainty=uncertainty_of_group,
        warnings=(),
        left_out={},
        groups={},
        criteria={},
    )
