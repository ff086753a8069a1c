"""Detect the layout of tables with one row per task: a column per worker, or a column per class."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.arrays import FloatArray
from quorate.errors import count, listing
from quorate.io.column_names import (
    LABEL,
    WORKER,
    compared_columns,
    is_about,
    is_consensus,
    is_gold,
    is_human,
    is_judge,
    is_text,
    mentions_model,
    name_family,
    quoted,
    quoted_names,
    strength,
    words_of,
)
from quorate.io.detect_keys import row_key
from quorate.io.detect_long import is_pairwise
from quorate.io.detect_values import LONG_TEXT, is_few, is_numeric_scale, name_and_count, short_number, value_overlap
from quorate.io.frame import Frame, column_pattern, columns_of_option
from quorate.io.json_documents import KEY
from quorate.io.options import ReadOptions
from quorate.io.plan import Plan
from quorate.io.values import FROM_FILE, group_by

COUNT_WORDS = {"count", "counts", "votes", "vote", "n", "num"}
SWAPPED = {"swapped", "swap", "reversed", "flipped", "original"}


def find_wide(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Return the plan for columns with common values that look like one worker each; None if there are none."""
    if "worker" in chosen or "label" in chosen or reading.worker_name is not None:
        return None
    assigned = {*columns_of_option(frame, chosen.get("task")), *frame.index, FROM_FILE, KEY}
    candidates = [
        name
        for name, profile in frame.profiles.items()
        if name not in assigned
        and profile.n_values
        and not profile.nested
        and is_few(profile)
        and profile.values
        and not is_about(name)
        and not is_consensus(name)
        and not is_gold(name)
        and not is_numeric_scale(profile)
        and not (strength(name, "task") and not strength(name, "label"))
        and name not in compared_columns(frame.columns)
    ]
    candidates = [name for name in candidates if not _contains_worker_names(frame, name, candidates)]
    group = _answer_columns(frame, candidates)
    if not _are_workers(frame, group):
        return None
    group = _with_siblings(frame, group)
    people = [name for name in group if is_human(name)]
    other_columns = [name for name in group if name not in people]
    # A column of one judge and one of a person: the person's labels are known labels, not those of a second worker.
    is_checked_judge = len(people) == 1 and len(other_columns) == 1 and is_judge(other_columns[0])
    if people and (len(other_columns) >= 2 or is_checked_judge):
        group = other_columns
    if len(group) < 2 and not is_checked_judge:
        return None
    task, why = row_key(frame, chosen, set(group))
    classes = frozenset().union(*(frame.profiles[name].values for name in group))
    options: dict[str, Any] = {**task, "workers": column_pattern(frame, group)}
    gold = _gold_in_wide(frame, group, people)
    warnings = []
    if gold:
        options["gold_column"] = gold
        why.append(f"{quoted(gold)} looks like known labels")
    else:
        unused = [name for name in frame.columns if is_gold(name) or is_human(name) or words_of(name) == ("label",)]
        for name in unused:
            if name not in group and not frame.profiles[name].values & classes and is_few(frame.profiles[name]):
                warnings.append(
                    f"{quoted(name)} looks like known labels, but it has no value in common with the answers ("
                    f"{', '.join(sorted(classes)[:4])}). Give known labels that have the same values as the "
                    "answers (--gold), unless the answers mean right and wrong"
                )
    if any(word in SWAPPED for name in group for word in words_of(name)):
        warnings.append(
            "the columns look like one judge who was asked twice, with the positions swapped; they are not two workers"
        )
    shown = ", ".join(name_and_count(frame.profiles[name]) for name in group[:6])
    why.append(f"{count(len(group), 'column')} have the same values, so each is one worker: {shown}")
    pairwise = is_pairwise(frame, group[0])
    return Plan(
        "wide", options, False, tuple(why), warnings=tuple(warnings), other_commands=("rank",) if pairwise else ()
    )


def _answer_columns(frame: Frame, candidates: Sequence[str]) -> list[str]:
    """Return the largest set of columns with common values; of these, the ones with a common name if there are any."""
    best: list[str] = []
    for name in candidates:
        values = frame.profiles[name].values
        group = [other for other in candidates if value_overlap(values, frame.profiles[other].values) >= 0.5]
        if len(group) > len(best):
            best = group
    families: dict[str, list[str]] = {}
    for name in best:
        for dot in [k for k, letter in enumerate(name) if letter == "."]:
            families.setdefault(name[: dot + 1], []).append(name)
        families.setdefault(name_family(name), []).append(name)
        families.setdefault("*" + " ".join(words_of(name)[-1:]), []).append(name)
    named = max(families.values(), key=len, default=[])
    if len(named) >= 2 and (2 * len(named) >= len(best) or len(named) > 2):
        best = named
    return [name for name in frame.columns if name in best]


def _contains_worker_names(frame: Frame, name: str, candidates: Sequence[str]) -> bool:
    """Whether a column contains the names of workers, rather than the answers of one worker like other columns."""
    if strength(name, "worker") < 3 or "." in name or re.search(r"\d", name):
        return False
    profile = frame.profiles[name]
    similar = [other for other in candidates if value_overlap(profile.values, frame.profiles[other].values) >= 0.5]
    return profile.is_number or len(similar) < 3


def _with_siblings(frame: Frame, group: Sequence[str]) -> list[str]:
    """Return the columns of a group, and those with the same name prefix, or under the same path with its classes."""
    family = {name_family(name) for name in group}
    if len(family) == 1 and strength(next(iter(family)), "worker") > 0:
        is_number = frame.profiles[group[0]].is_number
        group = [
            name
            for name, profile in frame.profiles.items()
            if name in group or (name_family(name) in family and profile.is_number == is_number and profile.n_values)
        ]
    above = {name[: name.find(".") + 1] for name in group}
    path = next(iter(above)) if len(above) == 1 else ""
    if not path:
        return list(group)
    classes = frozenset().union(*(frame.profiles[name].values for name in group))
    return [
        name
        for name, profile in frame.profiles.items()
        if name in group or (name.startswith(path) and profile.values and profile.values <= classes)
    ]


def _are_workers(frame: Frame, group: Sequence[str]) -> bool:
    """Whether columns with common values are answers: by their names, or because the table has few other columns."""
    if len(group) < 2:
        return False
    paths = [part for name in group for part in name.split(".")]
    known = {*LABEL, *WORKER[:-3]}
    n_named = sum(
        any(word in known or word.rstrip("s") in known for part in name.split(".") for word in words_of(part))
        for name in group
    )
    if n_named > 1 and 2 * n_named >= len(group):
        return True
    if any(mentions_model(part) for part in paths):
        return True
    numbered = [name for name in group if re.search(r"\d$", name)]
    ungrouped = [name for name in frame.columns if name not in group and not _is_id_or_text(frame, name)]
    if len(numbered) == len(group) and len({name_family(name) for name in group}) == 1:
        return len(ungrouped) <= len(group)
    nested = any("." in name for name in frame.columns)
    return len(group) > 2 and not ungrouped and not nested


def _is_id_or_text(frame: Frame, name: str) -> bool:
    profile = frame.profiles[name]
    if profile.is_unique or profile.mean_length > LONG_TEXT or name == FROM_FILE or not profile.n_values:
        return True
    return is_about(name) or is_text(name) or is_gold(name) or strength(name, "task") > 0 or is_consensus(name)


def _gold_in_wide(frame: Frame, group: Sequence[str], people: Sequence[str]) -> str:
    classes = {value.removesuffix(".0") for name in group for value in frame.profiles[name].values}
    for name, profile in frame.profiles.items():
        if name in group or not profile.values:
            continue
        if (is_gold(name) or name in people or is_human(name)) and profile.n_values:
            values = {value.removesuffix(".0") for value in profile.values}
            if values <= classes:
                return name
    return ""


def find_wide_scores(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Return the plan for columns of numbers with a common name and overlapping ranges (one rater each), or None."""
    if "worker" in chosen or "label" in chosen or reading.worker_name is not None:
        return None
    assigned = {*columns_of_option(frame, chosen.get("task")), *frame.index, FROM_FILE, KEY}
    scores = []
    for name, profile in frame.profiles.items():
        is_score = is_numeric_scale(profile) or (reading.is_score and profile.is_number and profile.n_values > 1)
        is_other = is_about(name) or is_consensus(name) or is_gold(name) or strength(name, "task") > 0
        if name not in assigned and is_score and not is_other:
            scores.append(name)
    families = group_by(scores, name_family)
    names_rater = {family: strength(family, "worker") > 0 for family in families}
    group = max(families.values(), key=lambda names: (names_rater[name_family(names[0])], len(names)), default=[])
    if len(group) < 2 or not (reading.is_score or names_rater[name_family(group[0])]):
        return None
    low = max(frame.profiles[name].low for name in group)
    high = min(frame.profiles[name].high for name in group)
    if low >= high:
        return None
    task, why = row_key(frame, chosen, set(group))
    options: dict[str, Any] = {**task, "workers": column_pattern(frame, group)}
    least = short_number(min(frame.profiles[name].low for name in group))
    most = short_number(max(frame.profiles[name].high for name in group))
    why.append(f"{count(len(group), 'column')} hold numbers from {least} to {most}, so each is one rater")
    if reading.is_score:
        return Plan("wide", options, False, tuple(why))
    problem = (
        f"the columns {listing(group, 4)} hold a numeric scale from {least} to {most} (numeric ratings), not a set of "
        "classes"
    )
    return Plan("ratings", options, why=tuple(why), problem=problem, other_commands=("rate",))


def find_classes(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Return the plan for columns of shares, of vote counts or of known classes, without workers; None for others."""
    if "worker" in chosen or reading.worker_name is not None:
        return None
    numbers = {name: profile for name, profile in frame.profiles.items() if profile.is_number and not is_about(name)}
    in_unit = [name for name, profile in numbers.items() if profile.low >= 0 and profile.high <= 1]
    shares = [name for name in in_unit if not numbers[name].is_integer and "." not in name]
    if len(shares) >= 2 and 2 * len(shares) >= len(numbers):
        return Plan(
            "shares",
            problem=f"{quoted_names(shares[:3])} hold shares between 0 and 1: the answers were counted before "
            "(aggregated), and the file no longer has the individual answers. Quorate needs those",
        )
    counts = [name for name, p in frame.profiles.items() if p.is_integer and p.low >= 0 and p.n_blank == 0]
    for family, names in group_by(counts, _count_family).items():
        if family and len(names) > 1:
            return _count_plan(frame, chosen, names)
    ones = [name for name in in_unit if numbers[name].is_integer]
    for names in group_by(ones, name_family).values():
        if len(names) > 1 and (_row_sums(frame, names) == 1).all():
            return Plan(
                "gold",
                problem=f"{quoted_names(names[:4])} mark one class per row, and no column names a worker: these are "
                "labels, not answers of several workers. They can serve as known labels (gold=, --gold) beside answers",
            )
    return None


def _count_family(name: str) -> str:
    """Return the part of a name that columns of vote counts share; empty for other columns."""
    path = name.rpartition(".")[0]
    if path and set(words_of(path)) & COUNT_WORDS:
        return path
    words = words_of(name)
    if len(words) > 1 and words[0] in COUNT_WORDS:
        return f"{words[0]} *"
    return f"* {words[-1]}" if len(words) > 1 and words[-1] in COUNT_WORDS - {"num", "n"} else ""


def _count_plan(frame: Frame, chosen: Mapping[str, Any], names: list[str]) -> Plan | None:
    if _row_sums(frame, names).max() < 2:
        return None
    task, why = row_key(frame, chosen, set(names))
    return Plan(
        "classes",
        {**task, "label": column_pattern(frame, names)},
        why=(*why, f"{quoted_names(names[:6])} count the votes for each class; the file does not show who voted"),
    )


def _row_sums(frame: Frame, names: Sequence[str]) -> FloatArray:
    """Return the sum of these columns in each row."""
    columns = [[float(text or 0) for text in frame.texts(name)] for name in names]
    sums: FloatArray = np.sum(columns, axis=0)
    return sums
