"""Read skills of workers from an earlier run (the table of `aggregate --workers-out`, or a mapping)."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from quorate.arrays import FloatArray, Table, from_numpy, take
from quorate.errors import (
    ColumnTypeError,
    ConflictingGoldError,
    MissingColumnError,
    OptionError,
    about_argument,
    count,
    listing,
    rows_phrase,
    shown,
)
from quorate.io.columns import encode, number_column, numbers_in, refuse_missing
from quorate.io.exports.content import look
from quorate.io.open_file import hold
from quorate.io.read_table import read_table
from quorate.io.values import id_text

INTERVAL_COLUMNS = ("skill", "skill_low", "skill_high")
BY_CLASS = "class_accuracy"
REMEDY = "The table of known workers needs the columns of the file that `quorate aggregate --workers-out` writes"
PANEL_REMEDY = "It is the table of workers that `quorate aggregate --workers-out` writes"
PANEL_OPTIONAL = ("accuracy", "n_answers")  # optional columns of the table of a panel
# "cat 0.91, dog 0.64", written by `quorate.models.confusion`; names of classes may contain spaces and commas.
CLASS_ACCURACY = re.compile(r"(?:^|, )(.+?) ([01]\.\d\d)(?=, |$)")


@dataclass(frozen=True)
class SkillTable:
    """Skills of workers with their intervals."""

    worker: pa.Array  # workers whose skill was determined
    skill: FloatArray
    low: FloatArray
    high: FloatArray
    by_class: tuple[dict[str, float], ...]  # class name -> accuracy on this class; empty if it is not given
    n_undetermined: int  # number of rows with a worker but without a skill


@about_argument("skills= (--known-workers)")
def read_skills(source: Any) -> SkillTable:
    """Read the skills of workers with their intervals.

    Args:
        source: a path or a table with the columns worker, skill, skill_low, skill_high and, optionally,
            class_accuracy; or a mapping from worker to (skill, low, high).

    Raises:
        OptionError: a skill has no interval.
        InputError: the table cannot be read, or a number in it is not a skill.

    >>> known = read_skills({"ann": (0.8, 0.6, 0.9)})
    >>> known.worker.to_pylist(), known.skill.tolist()
    (['ann'], [0.8])
    """
    source = _columns_of(source)
    columns = dict.fromkeys(["worker", *INTERVAL_COLUMNS], REMEDY)
    try:
        table = read_table(source, {**columns, BY_CLASS: ""}, fixed=True)
    except MissingColumnError:
        table = read_table(source, columns, fixed=True)
    codes, names = encode(table.column("worker"), "worker")
    refuse_missing(codes, "worker", "what is known of workers")
    if len(names) < len(codes):
        twice = np.flatnonzero(np.bincount(codes)[codes] > 1)
        name = names[int(codes[twice[0]])].as_py()
        raise ConflictingGoldError(f"worker {shown(name)} has two skills, in {rows_phrase(twice.tolist())}; keep one")
    skill, low, high = (_numbers(table, name) for name in INTERVAL_COLUMNS)
    known = ~np.isnan(skill)
    without_interval = np.flatnonzero(known & (np.isnan(low) | np.isnan(high)))
    if len(without_interval):
        who = listing(take(names, codes[without_interval]).to_pylist())
        raise OptionError(
            f"{count(len(without_interval), 'worker')} of known skill "
            f"{('has' if len(without_interval) == 1 else 'have')} no interval: "
            f"{who}. Fill in skill_low and skill_high, or write the table again with --intervals auto (for "
            "language models also with --gold)"
        )
    reversed_ends = np.flatnonzero(known & (low > high))
    if len(reversed_ends):
        raise ColumnTypeError(
            f"'skill_low' lies above 'skill_high' in {rows_phrase(reversed_ends.tolist())}; correct it"
        )
    texts = table.column(BY_CLASS).to_pylist() if BY_CLASS in table.column_names else [None] * len(codes)
    by_class = tuple(
        {name: float(share) for name, share in CLASS_ACCURACY.findall(str(text or ""))}
        for text, is_known in zip(texts, known.tolist(), strict=True)
        if is_known
    )
    workers = take(names, codes).filter(from_numpy(known))
    return SkillTable(workers, skill[known], low[known], high[known], by_class, int((~known).sum()))


@about_argument("skills=")
def read_panel_skills(source: Any) -> dict[str, Any]:
    """Read skills of a panel; intervals are not required.

    Args:
        source: a path or a table with the columns worker, skill and, optionally, accuracy and n_answers; or a mapping
            from worker to skill, or to (skill, low, high).

    Returns:
        columns by name: ``worker`` as text; ``skill``, ``accuracy`` and ``n_answers`` as numbers, NaN where missing.

    Raises:
        ConflictingGoldError: a worker has two skills.

    >>> read_panel_skills({"ann": 0.8})["skill"].tolist()
    [0.8]
    """
    if isinstance(source, Mapping) and not {"worker", "skill"} <= set(source):
        skills = [value[0] if isinstance(value, tuple | list) and value else value for value in source.values()]
        source = {"worker": [id_text(name) or "" for name in source], "skill": skills}
    source = hold(source.arrow if isinstance(source, Table) else source)
    fields = look(source).fields
    remedies = {"worker": PANEL_REMEDY, "skill": PANEL_REMEDY}
    remedies |= {name: PANEL_REMEDY for name in PANEL_OPTIONAL if name in fields}
    table = read_table(source, remedies, fixed=True)
    columns: dict[str, Any] = {"worker": [id_text(name) or "" for name in table.column("worker").to_pylist()]}
    if len(set(columns["worker"])) < len(table):
        twice = Counter(columns["worker"]).most_common(1)[0][0]
        raise ConflictingGoldError(f"judge {shown(twice)} has two skills in the table of workers; keep one")
    for name in ("skill", *PANEL_OPTIONAL):
        columns[name] = np.full(len(table), np.nan)
        if name in remedies:
            columns[name] = number_column(table.column(name), name, "the table of workers", allow_missing=True)
    return columns


def _columns_of(source: Any) -> Any:
    """Convert a mapping from worker to (skill, low, high) to columns; return any other source unchanged.

    Raises:
        OptionError: the value of a worker is not a skill with both ends of its interval.
    """
    if not isinstance(source, Mapping) or {"worker", "skill"} <= set(source):
        return source
    for name, value in source.items():
        if not isinstance(value, tuple | list) or len(value) != 3:
            raise OptionError(f"skills= has {shown(value)} for worker {shown(name)}. Give (skill, low, high)")
    values = [tuple(value) for value in source.values()]
    ends = {name: [value[k] for value in values] for k, name in enumerate(INTERVAL_COLUMNS)}
    return {"worker": list(source), **ends}


def _numbers(table: pa.Table, name: str) -> FloatArray:
    """Return a column as numbers, NaN where it is empty.

    Raises:
        ColumnTypeError: a value is not a number from -1 to 1.
    """
    codes, values = encode(table.column(name), name, is_label=True, is_quantity=True)
    numbers = numbers_in(values)
    wrong = np.flatnonzero(~((numbers >= -1) & (numbers <= 1)))
    if len(wrong):
        value = values[int(wrong[0])].as_py()
        raise ColumnTypeError(f"{name!r} holds {shown(value)}; a skill is a number from -1 to 1, or empty")
    return np.append(numbers, np.nan)[codes]
