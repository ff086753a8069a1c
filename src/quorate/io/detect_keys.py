"""Find the columns that identify a row of a table: one column of ids, several together, or none."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from quorate.io.column_names import TASK, is_about, is_gold, is_text, quoted, quoted_names, strength, words_of
from quorate.io.detect_values import LONG_TEXT, combined_codes, is_numeric_scale
from quorate.io.frame import Frame
from quorate.io.json_documents import KEY
from quorate.io.options import join_names
from quorate.io.values import FROM_FILE

ID_WEIGHT = 2.5  # added to the `strength` of a name with "id", so that "ID" (1 + 2.5) precedes "Sentence" (3)


def row_key(frame: Frame, chosen: Mapping[str, Any], not_ids: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the option ``task`` with the columns that identify a row (empty: the row number), and the reasons."""
    if "task" in chosen:
        return {"task": chosen["task"]}, [f"the task is {chosen['task']}, as you specified"]
    if frame.index and frame.index[0] in frame.columns:
        return {"task": frame.index[0]}, [f"the index {quoted(frame.index[0])} is the task"]
    unique = [
        name
        for name, profile in frame.profiles.items()
        if profile.is_unique and name not in not_ids and not profile.nested
    ]
    ids = [name for name in unique if frame.profiles[name].mean_length <= LONG_TEXT]
    ranked = sorted(ids, key=lambda name: task_rank(frame, name))
    named = [name for name in ranked if strength(name, "task") or name == KEY]
    first = next(iter(frame.columns))
    if named:
        return {"task": named[0]}, [f"{quoted(named[0])} identifies the row, so it is the task"]
    candidates = [first] if first in ids and not is_about(first) else []
    composite = [] if candidates else composite_key(frame, not_ids)
    if composite:
        reason = f"{quoted_names(composite)} together identify the row, so they are the task"
        return {"task": join_names(composite)}, [reason]
    candidates += [name for name in unique if strength(name, "task") or is_text(name)]
    candidates += ids if len(ids) == 1 else []
    if candidates:
        task = candidates[0]
        return {"task": task}, [f"{quoted(task)} has a different value in every row, so it is the task"]
    return {}, ["no column identifies the row, so tasks are numbered"]


def id_columns(frame: Frame, not_ids: Collection[str]) -> list[str]:
    """Return the columns that may identify a row of a table with one row per task.

    The values of such a column are all different. If some of these columns are called an id or a key, only they are
    returned; otherwise, if some are called a task, only they.

    Args:
        frame: the table, with all its rows.
        not_ids: columns that hold something else, for example the answers.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> frame = frame_of(look({"text": ["a", "b"], "item_id": [7, 8], "ann": ["x", "y"]}), sample=False)
    >>> id_columns(frame, ["ann"])
    ['item_id']
    """
    unique = [
        name
        for name, profile in frame.profiles.items()
        if profile.is_unique and name not in not_ids and name != FROM_FILE and not profile.nested and not is_gold(name)
    ]
    named = [name for name in unique if strength(name, "task") or name == KEY]
    ids = [name for name in named if _is_called_id(name)]
    unnamed = [name for name in unique if not is_about(name) and not is_numeric_scale(frame.profiles[name])]
    return ids or [name for name in named if not is_about(name)] or unnamed


def _is_called_id(name: str) -> bool:
    return name == KEY or any(word in ("id", "ids", "uuid", "key") for word in words_of(name))


def task_rank(frame: Frame, name: str) -> tuple[Any, ...]:
    """Return the sort key of a column: columns that identify a task most clearly (short ids, clear names) first."""
    words = words_of(name)
    order = min((TASK.index(word) for word in words if word in TASK), default=len(TASK))
    is_long = frame.profiles[name].mean_length > LONG_TEXT
    clear = strength(name, "task") + ID_WEIGHT * _is_called_id(name)
    return is_long, "url" in words, -clear, order, list(frame.columns).index(name)


def composite_key(frame: Frame, not_ids: set[str]) -> list[str]:
    """Return up to five columns that together identify a row, the one that is most clearly named a task included.

    Columns are added one by one, each time the one that distinguishes most rows. Empty if no such set is found.
    """
    usable = [
        name
        for name, profile in frame.profiles.items()
        if name not in not_ids
        and not profile.nested
        and profile.n_blank == 0
        and profile.n_values > 1
        and profile.mean_length <= LONG_TEXT
        and name != FROM_FILE
        and not is_numeric_scale(profile)
    ]
    start = [name for name in usable if strength(name, "task")]
    if not start:
        return []
    key = [min(start, key=lambda name: task_rank(frame, name))]
    n = len(np.unique(combined_codes(frame, key)))
    while n < frame.n_rows and len(key) < 5:
        rest = [name for name in usable if name not in key]
        sizes = [(len(np.unique(combined_codes(frame, [*key, name]))), name) for name in rest]
        best, name = max(sizes, key=lambda pair: pair[0], default=(n, ""))
        if best <= n:
            return []
        key.append(name)
        n = best
    return key if n == frame.n_rows else []
