"""Coefficients of agreement: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2, percent agreement.

All compare how often two answers to a task differ with how often they would differ by chance; they define chance
differently. Krippendorff's alpha pairs all answers at random; Fleiss' kappa does the same with shares, so that all
tasks have equal weight; Gwet's AC1 assumes that agreement by chance is rare if one class prevails [Krippendorff19],
[Fleiss71], [Gwet08].

They are functions of the sums over tasks in `quorate.interrater.sums`. Their intervals are in
`quorate.interrater.bootstrap`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from quorate.arrays import FloatArray, Table, from_numpy, table_of
from quorate.interrater.sums import AgreementSums, Scale

ALPHA = "krippendorff_alpha"
KAPPA = "fleiss_kappa"
AC1 = "gwet_ac1"
AC2 = "gwet_ac2"
PERCENT = "percent_agreement"
SPECIFIC = "specific_agreement"
WORDS = {
    ALPHA: "Krippendorff's alpha",
    KAPPA: "Fleiss' kappa",
    AC1: "Gwet's AC1",
    AC2: "Gwet's AC2",
    PERCENT: "percent agreement",
    SPECIFIC: "specific agreement",
}
MIN_CHANCE_DISAGREEMENT = 1e-12  # a smaller disagreement by chance is rounding, and the coefficient not defined
Values: TypeAlias = dict[str, FloatArray]


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its interval; None if not defined."""

    value: float | None
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, float | None]:
        """Return the value and its interval for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        if self.value is None:
            return "not defined"
        return f"{self.value:.3f}" + ("" if self.low is None else f" ({self.low:.3f} to {self.high:.3f})")


def overall(sums: AgreementSums, scale: Scale | None = None) -> Values:
    """Return every coefficient by name, with one value for each row of the sums.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = sum_over_groups(count_answers(answers), 2).of(np.ones((1, 2)))
    >>> {name: float(value[0].round(3)) for name, value in overall(sums).items()}
    {'krippendorff_alpha': 0.0, 'fleiss_kappa': -0.333, 'gwet_ac1': 0.2, 'percent_agreement': 0.5}
    """
    n = sums.answers.sum(axis=-1)
    m = sums.answers.shape[-1]
    if scale is None:
        observed = sums.unlike.sum(axis=-1)
        chance = n**2 - (sums.answers**2).sum(axis=-1)
    else:
        observed = sums.squared_distance
        chance = 2 * (n * sums.position_square_sum - sums.position_sum**2)
    agreement = 1 - _ratio(sums.unlike_share.sum(axis=-1), sums.n_paired_tasks)
    pi = sums.share / np.maximum(sums.n_answered_tasks, 1)[..., None]
    differs_by_chance = (pi * (1 - pi)).sum(axis=-1)  # probability that two random answers differ
    values = {
        ALPHA: 1 - _ratio((n - 1) * observed, chance),
        KAPPA: 1 - _ratio(1 - agreement, differs_by_chance),
        AC1: 1 - _ratio(1 - agreement, 1 - differs_by_chance / (m - 1) if m > 1 else differs_by_chance),
        PERCENT: agreement,
    }
    if scale is not None:
        by_chance = scale.gwet_total * differs_by_chance / max(m * (m - 1), 1)
        values[AC2] = 1 - _ratio(_ratio(sums.gwet_distance, sums.n_paired_tasks), 1 - by_chance)
    return values


def by_class(sums: AgreementSums, total: FloatArray | None = None) -> Values:
    """Return the coefficients of each class against all others as one class; rows of the sums × classes.

    Args:
        sums: of all classes, or of some.
        total: numbers of answers of all classes, as a column, if the sums are of some classes.

    >>> import quorate
    >>> from quorate.interrater.sums import count_answers, sum_over_groups
    >>> answers = quorate.read({"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xxyx")})
    >>> sums = sum_over_groups(count_answers(answers), 2).of(np.ones((1, 2)))
    >>> by_class(sums)["fleiss_kappa"].round(3).tolist()
    [[-0.333, -0.333]]
    """
    n = sums.answers.sum(axis=-1, keepdims=True) if total is None else total
    agreement = 1 - _ratio(2 * sums.unlike_share, sums.n_paired_tasks[..., None])
    pi = sums.share / np.maximum(sums.n_answered_tasks, 1)[..., None]
    differs_by_chance = 2 * pi * (1 - pi)
    return {
        ALPHA: 1 - _ratio((n - 1) * sums.unlike, sums.answers * (n - sums.answers)),
        KAPPA: 1 - _ratio(1 - agreement, differs_by_chance),
        AC1: 1 - _ratio(1 - agreement, 1 - differs_by_chance),
        PERCENT: agreement,
        SPECIFIC: 1 - _ratio(sums.unlike, sums.answers),
    }


def _ratio(part: FloatArray, total: FloatArray) -> FloatArray:
    """Return part / total; NaN where no answers can differ by chance."""
    part, total = np.broadcast_arrays(part, total)
    share: FloatArray = np.divide(
        part, total, out=np.full(part.shape, np.nan), where=np.abs(total) > MIN_CHANCE_DISAGREEMENT
    )
    return share


def as_dict(coefficients: dict[str, Coefficient]) -> dict[str, Any]:
    """Return coefficients by their names, for JSON.

    >>> as_dict({"gwet_ac1": Coefficient(0.5, 0.4, 0.6)})
    {'gwet_ac1': {'value': 0.5, 'low': 0.4, 'high': 0.6}}
    """
    return {name: value.to_dict() for name, value in coefficients.items()}


def rows_of(table: Table, coefficients: Sequence[dict[str, Coefficient]]) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON: its label, group and counts, and the coefficients as objects.

    >>> rows_of(Table(table_of({"n_answers": np.array([3])})), [{"gwet_ac1": Coefficient(0.5, None, None)}])
    [{'n_answers': 3, 'gwet_ac1': {'value': 0.5, 'low': None, 'high': None}}]
    """
    names = [name for name in table.column_names if name in ("label", "group", "n_workers", "n_answers")]
    return [
        row | as_dict(row_coefficients)
        for row, row_coefficients in zip(table.select(names).to_pylist(), coefficients, strict=True)
    ]


def with_coefficients(columns: dict[str, Any], coefficients: Sequence[dict[str, Coefficient]]) -> Table:
    """Return a table of the columns and, for each coefficient, columns for its value and its interval.

    >>> with_coefficients({"n_answers": np.array([3])}, [{"gwet_ac1": Coefficient(0.5, 0.4, None)}]).to_pylist()
    [{'n_answers': 3, 'gwet_ac1': 0.5, 'gwet_ac1_low': 0.4, 'gwet_ac1_high': None}]
    """
    columns = dict(columns)
    for name in coefficients[0] if coefficients else ():
        for ending, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            values = np.array(
                [
                    np.nan if (v := getattr(row_coefficients[name], part)) is None else v
                    for row_coefficients in coefficients
                ]
            )
            columns[name + ending] = from_numpy(values, mask=np.isnan(values))
    return Table(table_of(columns))
