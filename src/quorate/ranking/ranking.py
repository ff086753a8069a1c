"""`Ranking`: strengths, ranks, judges and pairs with their uncertainty, and what could not be determined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from quorate.arrays import FloatArray, Shown, Table, from_numpy, from_strings, table_of
from quorate.errors import OptionError, UnknownNameError, as_sentence, count, listing, shown
from quorate.io.arguments import check_arguments
from quorate.io.write_table import SCHEMA_VERSION
from quorate.ranking.bradley_terry import outcome_moments
from quorate.ranking.comparisons import ComparisonCells, Comparisons
from quorate.ranking.connectivity import Connectivity
from quorate.ranking.cross_validation import MIN_JUDGES_AND_ITEMS, SkillChoice, shows_skill
from quorate.ranking.fit import RankingFit
from quorate.ranking.intervals import Uncertainty
from quorate.ranking.next_pairs import RANDOM_SHARE, Aim, next_pairs
from quorate.ranking.ranks import Ranks, ranks_of, tiers_of
from quorate.ranking.tables import ELO_PER_LOGIT, PairFit, items_table, judges_table, pair_fit, pairs_table

TOP_LINES = 5  # items that a summary names
MIN_P_BEST = 0.5  # an item whose probability of being the best is larger is named alone: all others have less together


@dataclass(frozen=True)
class RankingWarning:
    """Something that a reader of the ranking must know; see `Ranking.warnings`."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, repr=False)
class Ranking(Shown):
    """Items in order of strength, with intervals; one list per part of the comparison graph.

    Attributes:
        comparisons: what was read.
        connectivity: parts, blocks and the share of each effect that items do not explain.
        choice: whether judges' skills are used, with the held-out log-losses.
        level: level of the intervals.
        baseline: item whose strength is zero; None if the mean of each part is zero.
        warnings: what a reader must know before using the ranking.
        left_out: rows that were not used, by reason.
        groups: the ranking of each group, with ``by``.
        criteria: the ranking by each criterion, with ``criterion``.
    """

    comparisons: Comparisons
    cells: ComparisonCells = field(repr=False)
    connectivity: Connectivity = field(repr=False)
    fit: RankingFit = field(repr=False)
    uncertainty: Uncertainty = field(repr=False)
    choice: SkillChoice
    level: float
    has_position: bool
    covariate_scale: FloatArray = field(repr=False)
    baseline: str | None = None
    warnings: tuple[RankingWarning, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    n_read: int = 0
    n_both_bad: int = 0
    seed: int = 0
    source: str | None = None
    groups: Mapping[str, "Ranking"] = field(default_factory=dict)
    criteria: Mapping[str, "Ranking"] = field(default_factory=dict)

    @property
    def strengths(self) -> FloatArray:
        """Strength of each item of ``comparisons.items``: log-odds for the typical judge, mean zero."""
        return self.fit.parameters.strength

    @property
    def mean_skill(self) -> float:
        """Mean skill of the judges. Strengths times the mean skill are log-odds for the mean judge.

        Strengths are log-odds for a judge of skill-weighted mean skill, so that judges who answer at random, or
        reversed, do not shrink them; see `quorate.ranking.judges.skill_scale`.
        """
        return float(self.fit.parameters.skill.mean())

    @property
    def parts(self) -> list[list[str]]:
        """Items of each part, best first; items of different parts cannot be ranked against each other."""
        lists: list[list[str]] = [[] for _ in range(self.connectivity.n_parts)]
        for item in np.argsort(self._ranks.rank, kind="stable"):
            lists[self.connectivity.part[item]].append(self.comparisons.items[item])
        return lists

    @property
    def is_determined(self) -> bool:
        """Whether all items can be put into one list."""
        return self.connectivity.n_parts == 1

    @cached_property
    def _ranks(self) -> Ranks:
        return ranks_of(self.strengths, self.uncertainty.draws, self.connectivity.part, self.level)

    @cached_property
    def items(self) -> Table:
        """One row per item: rank, strength and bounds, rank interval, tier, probability of being best, status."""
        tier = tiers_of(self.strengths, self.connectivity.part, self.uncertainty.gap_error, self.level)
        return items_table(
            self.comparisons,
            self.cells,
            self.connectivity,
            self.strengths,
            self.uncertainty,
            self._ranks,
            tier,
            level=self.level,
            baseline=None if self.baseline is None else self._code_of_item(self.baseline),
        )

    @check_arguments
    def by_criterion(self, name: str) -> Table:
        """Return ``items``, ``judges`` or ``pairs`` of all comparisons and of each criterion, one below the other.

        Without criteria it is the table itself; with them, the first column is ``criterion``, null for all comparisons.
        """
        table: Table = getattr(self, name)
        if not self.criteria:
            return table
        parts = []
        for criterion, ranking in [(None, self), *self.criteria.items()]:
            rows = getattr(ranking, name).to_arrow()
            column = pa.array([criterion] * rows.num_rows, pa.string())
            parts.append(rows.add_column(0, "criterion", column))
        return Table(pa.concat_tables(parts, promote_options="permissive"))

    @cached_property
    def judges(self) -> Table:
        """One row per judge: skill, preference for the left, ties, agreement with the ranking and after swapping."""
        return judges_table(
            self.comparisons,
            self.cells,
            self.fit,
            self.uncertainty,
            level=self.level,
            has_position=self.has_position,
        )

    @cached_property
    def pair_fit(self) -> PairFit:
        """Observed and expected wins of every compared pair."""
        return pair_fit(self.cells, self.fit)

    @cached_property
    def pairs(self) -> Table:
        """One row per compared pair: observed and expected wins, the gap with its interval, what is still needed."""
        return pairs_table(self.comparisons, self.pair_fit, self.strengths, self.uncertainty, level=self.level)

    @cached_property
    def effects(self) -> Table:
        """One row per common effect (the left side, covariates): estimate with bounds, share not due to items."""
        z = ndtri(0.5 + self.level / 2)
        names = [*(["left side"] if self.has_position else []), *self.comparisons.covariate_names]
        scale = np.concatenate([np.ones(int(self.has_position)), self.covariate_scale])
        estimate = self.fit.parameters.effects
        error = self.uncertainty.effect_error
        first = 0 if self.has_position else 1
        columns = {
            "effect": from_strings(names),
            "estimate": estimate / scale,
            "low": (estimate - z * error) / scale,
            "high": (estimate + z * error) / scale,
            "per_standard_deviation": estimate,
            "free_share": self.connectivity.free_share[first:],
        }
        return Table(table_of(columns))

    @cached_property
    def dispersion(self) -> float:
        """Squared misfit by pair per degree of freedom: about 1 if one strength per item suffices."""
        n_parameters = self.comparisons.n_items - self.connectivity.n_parts
        return self.pair_fit.dispersion(n_parameters)

    @check_arguments
    def probability(self, x: str, y: str) -> float:
        """Return the probability that x is truly above y, given the comparisons.

        Raises:
            OptionError: the two were never compared, even indirectly.
        """
        return float(self.difference(x, y)["p_above"])

    @check_arguments
    def difference(self, x: str, y: str) -> dict[str, float]:
        """Return how much stronger x is than y: gap, low, high (log-odds), elo, p_above, p_win.

        ``p_above`` is the probability that x is truly above y; ``p_win`` that the typical judge prefers x to y.

        Raises:
            OptionError: the two were never compared, even indirectly.
        """
        i = self._code_of_item(x)
        j = self._code_of_item(y)
        if self.connectivity.part[i] != self.connectivity.part[j]:
            raise OptionError(
                f"{shown(x)} and {shown(y)} cannot be compared: no chain of comparisons connects them. Compare the "
                "two directly, or compare an item of one group with an item of the other"
            )
        z = float(ndtri(0.5 + self.level / 2))
        gap = float(self.strengths[i] - self.strengths[j])
        error = float(self.uncertainty.gap_error(np.array([i]), np.array([j]))[0])
        above = float(ndtr(gap / error)) if error > 0 else 0.5
        return {
            "gap": gap,
            "low": gap - z * error,
            "high": gap + z * error,
            "elo": gap * float(ELO_PER_LOGIT),
            "p_above": above,
            "p_win": 1 / (1 + float(np.exp(-gap))),
        }

    @check_arguments
    def predict(self, left: str, right: str, judge: str | None = None) -> dict[str, float]:
        """Return the probabilities of the answers left, tie and right when these items are shown, covariates at zero.

        Args:
            left: item on the left.
            right: item on the right.
            judge: the judge who answers; None for the typical judge.
        """
        i = self._code_of_item(left)
        j = self._code_of_item(right)
        parameters = self.fit.parameters
        skill = 1.0
        side = float(parameters.effects[0]) if self.has_position else 0.0
        log_tie = parameters.mean_log_tie
        if judge is not None:
            if judge not in self.comparisons.judges:
                raise UnknownNameError(
                    f"There is no judge {shown(judge)}. The judges are {listing(self.comparisons.judges)}"
                )
            judge_code = self.comparisons.judges.index(judge)
            skill = float(parameters.skill[judge_code])
            side += float(parameters.side_bias[judge_code])
            log_tie = float(parameters.log_tie[judge_code])
        eta = np.array([skill * (self.strengths[i] - self.strengths[j]) + side])
        mean, tie = outcome_moments(eta, np.array([log_tie]) if self.cells.has_ties else None)
        undecided = float(tie[0])
        return {
            "left": (1 - undecided + float(mean[0])) / 2,
            "tie": undecided,
            "right": (1 - undecided - float(mean[0])) / 2,
        }

    @check_arguments
    def next(self, n: int = 10, aim: Aim = "information", random_share: float = RANDOM_SHARE) -> Table:
        """Return the pairs to compare next, best first: item_x, item_y, gain, chosen.

        Args:
            n: number of pairs.
            aim: ``information``, ``order`` (which of two is better) or ``best`` (which is first).
            random_share: share of the pairs that are chosen at random. Adaptive choice lowers the coverage of later
                intervals: from 0.96 to 0.88 for ``information``, 0.89 for ``order`` (0.80 without random pairs) and not
                for ``best``, in 8 simulated panels (`python -m experiments.ranking.adaptive`).
        """
        i, j, gain, is_random = next_pairs(
            self.strengths,
            self.uncertainty.draws,
            self.connectivity.part,
            n,
            aim=aim,
            random_share=random_share,
            seed=self.seed,
        )
        chosen = np.where(np.isnan(gain), "joins parts", np.where(is_random, "at random", aim))
        columns = {
            "item_x": from_strings([self.comparisons.items[item] for item in i]),
            "item_y": from_strings([self.comparisons.items[item] for item in j]),
            "gain": from_numpy(np.nan_to_num(gain), mask=np.isnan(gain)),
            "chosen": from_strings([str(value) for value in chosen]),
        }
        return Table(table_of(columns))

    def diagnose(self) -> list[RankingWarning]:
        """Return the warnings, most serious first."""
        return list(self.warnings)

    @check_arguments
    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write an HTML page: the result in one sentence, charts of items and judges, pairs, what is undetermined."""
        page = import_module("quorate.reporting.ranking_page")  # a later layer
        page.write_ranking_page(self, path, title)

    def _code_of_item(self, item: str) -> int:
        try:
            return self.comparisons.items.index(item)
        except ValueError:
            raise UnknownNameError(
                f"There is no item {shown(item)}. The items are {listing(self.comparisons.items)}"
            ) from None

    @property
    def headline(self) -> str:
        """The result in one sentence: a winner, a tie at the top, or not determined."""
        items = self.items.to_arrow().to_pylist()
        if not self.is_determined:
            return (
                f"The {count(len(items), 'item')} cannot be put into one ranking: no comparison connects the "
                f"{self.connectivity.n_parts:,} groups of items."
            )
        first = items[0]
        second = items[1]
        gap = self.difference(first["item"], second["item"])
        leaders = [row["item"] for row in items if row["tier"] == 1]
        if gap["low"] > 0:
            p_above = "more than 99%" if gap["p_above"] > 0.995 else f"{gap['p_above']:.0%}"
            return (
                f"{first['item']} is first; the probability that it is above the second, {second['item']}, is "
                f"{p_above}."
            )
        if len(leaders) == len(items):
            return f"No item is clearly better than another; {first['item']} leads, but not by more than chance."
        p_best = first.get("p_best")
        if p_best is not None and p_best > MIN_P_BEST:
            rest = listing([item for item in leaders if item != first["item"]], TOP_LINES, str)
            return f"{first['item']} is probably the best ({p_best:.0%}); {rest} cannot be excluded."
        named = listing(leaders, TOP_LINES, str)
        return f"{count(len(leaders), 'item')} share the top; the comparisons do not separate them: {named}."

    def lines(self) -> list[str]:
        """Return the summary line by line."""
        comparisons = self.comparisons
        n = self.comparisons.n_comparisons
        number = f"{n:,.0f}" if abs(n - round(n)) < 1e-6 else f"{n:,.1f}"
        n_tasks = "" if comparisons.task is None else f" on {count(len(np.unique(comparisons.task)), 'task')}"
        text = [
            self.headline,
            f"{number} {'comparison' if number == '1' else 'comparisons'} of {count(comparisons.n_items, 'item')} by "
            f"{count(comparisons.n_judges, 'judge')}{n_tasks}.",
        ]
        left_out = ", ".join(f"{reason}: {n:,}" for reason, n in self.left_out.items())
        if left_out:
            text.append(f"Rows that were not used: {left_out}.")
        text.append(self._skill_line())
        if self.n_both_bad:
            text.append(f"{count(self.n_both_bad, 'answer')} that both items are bad: counted as ties.")
        for row in self.effects.to_arrow().to_pylist():
            text.append(self._effect_line(row))
        text += [f"Warning: {as_sentence(warning.text)}" for warning in self.warnings]
        return text

    def _effect_line(self, row: Mapping[str, Any]) -> str:
        """State the preference for the left side in percent, and the effect of a covariate in log-odds."""
        ends = [row[name] for name in ("estimate", "low", "high")]
        is_clear = row["low"] > 0 or row["high"] < 0
        if row["effect"] == "left side":
            share, low, high = (f"{1 / (1 + np.exp(-value)):.0%}" for value in ends)
            what = f"The left side wins {share} of comparisons of equal items"
            clear = "a clear preference" if is_clear else "no clear preference"
        else:
            estimate, low, high = (f"{value:.3g}" for value in ends)
            what = f"The effect of {row['effect']} is {estimate} log-odds per unit"
            clear = "a clear effect" if is_clear else "no clear effect"
        return f"{what} ({self.level:.0%} interval {low} to {high}): {clear}."

    def _skill_line(self) -> str:
        choice = self.choice
        if choice.used:
            return "The judges differ in skill, and the ranking takes this into account."
        why = ""
        if self.comparisons.n_judges == 1:
            return "There is one judge, so judges cannot be compared."
        if choice.loss_with is None and not shows_skill(self.comparisons):
            why = f": with fewer than {MIN_JUDGES_AND_ITEMS} judges or items, nothing shows which judge is better"
        elif choice.loss_with is not None:
            why = ": weights by skill would not predict other comparisons better"
        return f"Every judge has the same weight{why}."

    def summary(self) -> str:
        """Return the summary, a few lines."""
        return "\n".join(self.lines())

    def _tables(self) -> tuple[Table, ...]:
        return (self.items, self.judges)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "determined": self.is_determined,
            "headline": self.headline,
            "level": self.level,
            "n_comparisons": self.comparisons.n_comparisons,
            "parts": self.parts,
            "items": self.items.to_arrow().to_pylist(),
            "judges": self.judges.to_arrow().to_pylist(),
            "effects": self.effects.to_arrow().to_pylist(),
            "judge_skill": {
                "used": self.choice.used,
                "loss_with": self.choice.loss_with,
                "loss_without": self.choice.loss_without,
            },
            "mean_skill": self.mean_skill,
            "flipped": self.fit.flipped,
            "dispersion": None if np.isnan(self.dispersion) else self.dispersion,
            "left_out": dict(self.left_out),
            "warnings": [{"kind": warning.kind, "text": warning.text} for warning in self.warnings],
        } | {
            kind: {name: ranking.to_dict() for name, ranking in rankings.items()}
            for kind, rankings in (("groups", self.groups), ("criteria", self.criteria))
            if rankings
        }
