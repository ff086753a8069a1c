"""Detect which columns of a table are the task, the worker and the answer, from names, values and how they fit.

`detect` tries the layouts in turn. Mappings, tables without a header and lists are detected here, one row per answer
in `detect_long`, and one row per task in `detect_wide`. The result is a `Plan`.
"""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from quorate.arrays import IntArray
from quorate.errors import count
from quorate.io.column_names import (
    columns_named_as,
    is_about,
    is_consensus,
    is_gold,
    quoted,
    strength,
    words_of,
)
from quorate.io.detect_keys import composite_key, row_key
from quorate.io.detect_long import (
    conflict_warning,
    find_by_counts,
    find_gold_column,
    find_long,
    is_pairwise,
    label_candidates,
)
from quorate.io.detect_values import (
    MAX_CLASSES,
    agreement_within,
    can_be_label,
    combined_codes,
    conflict_share,
    has_shared_tasks,
    is_numeric_scale,
    name_and_count,
)
from quorate.io.detect_wide import find_classes, find_wide, find_wide_scores
from quorate.io.frame import Frame, columns_named, columns_of_option
from quorate.io.json_documents import CELL, INNER, OUTER, parse_list, parse_object
from quorate.io.options import NO_HEADER, ROLES, ReadOptions, join_names
from quorate.io.plan import Plan
from quorate.io.several_files import worker_name_of
from quorate.io.values import FROM_FILE

# From this ratio on, of two columns of ids the one with more values is the task; 24 of 26 public data sets have more
# than two tasks per worker.
MIN_TASKS_PER_WORKER = 2
GOLD_WORDS = {"gold", "golden", "truth", "expert", "groundtruth"}


def detect(frame: Frame, reading: ReadOptions) -> Plan:
    """Detect the layout of a table: which columns are task, worker and answer.

    Args:
        frame: the table, or a sample of its rows.
        reading: options of the caller; the columns that they name are used.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> table = {"question": [1, 1, 2, 2], "worker": list("abab"), "answer": list("xyxx")}
    >>> detect(frame_of(look(table), sample=True), ReadOptions()).options
    {'task': 'question', 'worker': 'worker', 'label': 'answer'}
    """
    if frame.n_rows == 0:
        return Plan("nothing", problem=f"{frame.name} has columns, but no rows")
    chosen = {role: getattr(reading, role) for role in ROLES if getattr(reading, role) is not None}
    for role, option in chosen.items():
        names = columns_named(frame, option, role)
        if role != "label" or len(names) == 1:  # several label columns are one per class, and remain a pattern
            chosen[role] = join_names(names)
    wide = (find_wide_scores, find_wide) if reading.is_score else (find_wide, find_wide_scores)
    by_names = (_find_mappings, _find_headerless, _find_lists, find_long, find_classes, *wide)
    finders = (*by_names, find_by_counts, _find_single)
    for find in finders:
        plan = find(frame, reading, chosen)
        if plan is None:
            continue
        if find is find_long and "worker" not in chosen and not _is_shared(frame, plan):
            plan = find_wide(frame, reading, chosen) or plan
        return plan
    columns = [name_and_count(profile) for profile in list(frame.profiles.values())[:12]]
    return Plan(
        "nothing",
        problem=f"{frame.name} has {count(frame.n_rows, 'row')} and "
        f"{'the columns ' + ', '.join(columns) if columns else 'no columns'}. No column looks like answers of several "
        "workers. Each row needs a task, a worker and an answer; or a task, and a column of answers for each worker",
    )


def _is_shared(frame: Frame, plan: Plan) -> bool:
    """Whether two workers answered the same task, in a plan with one row per answer; true for any other plan."""
    if plan.kind != "long" or "task" not in plan.options or "worker" not in plan.options:
        return True
    tasks = combined_codes(frame, columns_of_option(frame, plan.options["task"]))
    return has_shared_tasks(tasks, combined_codes(frame, columns_of_option(frame, plan.options["worker"])))


def _find_mappings(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    if frame.shape != "mapping of mappings" or chosen:
        return None
    labels = frame.profiles[CELL].codes
    task, worker = _task_and_worker(frame, OUTER, INNER, labels)
    n_tasks = frame.profiles[task].n_values
    n_workers = frame.profiles[worker].n_values
    return Plan(
        "long",
        {"task": task, "worker": worker, "label": CELL},
        why=(
            f"each value has two keys: {n_tasks:,} {task} keys and {n_workers:,} {worker} keys",
            (
                f"{task} looks like the task: there are more of them, or their answers agree more; the file "
                "does not state this"
            ),
        ),
    )


def _task_and_worker(frame: Frame, one: str, two: str, labels: IntArray) -> tuple[str, str]:
    """Return (task, worker): the task has more values or, if the numbers are similar, its answers agree more."""
    n_one = frame.profiles[one].n_values
    n_two = frame.profiles[two].n_values
    if max(n_one, n_two) >= MIN_TASKS_PER_WORKER * min(n_one, n_two):
        return (one, two) if n_one > n_two else (two, one)
    first = agreement_within(frame.profiles[one].codes, labels)
    second = agreement_within(frame.profiles[two].codes, labels)
    if abs(first - second) < 0.01:  # no difference: usually there are more tasks than workers
        return (one, two) if frame.profiles[one].n_values >= frame.profiles[two].n_values else (two, one)
    return (one, two) if first > second else (two, one)


def _find_headerless(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    if frame.shape != "no header" or chosen or reading.column_names not in (None, NO_HEADER):
        return None
    profiles = list(frame.profiles.values())
    filled = [profile for profile in profiles if profile.n_values]
    values = frozenset().union(*(profile.values for profile in filled)) if filled else frozenset()
    small = all(profile.values for profile in filled) and len(values) <= MAX_CLASSES
    share_values = all(any(one.values & two.values for two in filled if two is not one) for one in filled)
    if len(filled) > 2 and small and share_values:
        return Plan(
            "matrix",
            {"column_names": "none", "workers": "*"},
            why=(
                "the first row is data, so there is no header",
                (
                    f"all {len(profiles):,} columns hold the same {len(values):,} values: one row per task, one "
                    "column per worker"
                ),
            ),
        )
    ids = [profile for profile in profiles if not profile.is_number or profile.n_values > 2]
    if len(profiles) == 3 and len(ids) >= 2:
        label = min(profiles[::-1], key=lambda profile: profile.n_values)
        one, two = (profile.name for profile in profiles if profile is not label)
        task, worker = _task_and_worker(frame, one, two, label.codes)
        roles = {task: "task", worker: "worker", label.name: "label"}
        names = [roles[profile.name] for profile in profiles]
        share = conflict_share(frame.profiles[task].codes, frame.profiles[worker].codes, label.codes)
        return Plan(
            "long",
            {"column_names": ",".join(names)},
            why=(
                "the first row is data, so there is no header",
                f"{label.name} has the fewest values ({label.n_values:,}): the answer",
                f"{task} ({frame.profiles[task].n_values:,} values) looks like the task, {worker} "
                f"({frame.profiles[worker].n_values:,} values) like the worker: there are mostly more "
                "tasks, and answers to "
                "one task agree more",
            ),
            warnings=conflict_warning(share, task),
        )
    return Plan(
        "nothing",
        problem=f"the first row of {frame.name} is data, so there is no header, and its {len(profiles):,} columns are "
        "neither task, worker and label nor a matrix of answers. Name them with column_names= (--columns)",
    )


def _find_lists(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    nested = {name: profile for name, profile in frame.profiles.items() if profile.nested and not is_about(name)}
    if not nested or "label" in chosen:
        return None
    workers = [name for name in nested if strength(name, "worker") >= 2 and nested[name].nested != "object"]
    labels = [name for name in nested if strength(name, "label") >= 2 and not is_consensus(name)]
    labels.sort(key=lambda name: (-strength(name, "label"), list(frame.columns).index(name)))
    for worker in workers:
        for label in labels:
            if label != worker and nested[label].nested != "object" and _have_equal_lengths(frame, worker, label):
                task, why = row_key(frame, chosen, {worker, label})
                certain = strength(worker, "worker") == 3 and strength(label, "label") == 3 and bool(task)
                return Plan(
                    "lists",
                    {**task, "worker": worker, "label": label},
                    certain and nested[label].nested == "listed",
                    (*why, f"{quoted(worker)} lists the workers and {quoted(label)} their answers, in the same order"),
                    alternatives=tuple(
                        {**task, "worker": worker, "label": other}
                        for other in frame.columns
                        if other not in (worker, label)
                        and frame.profiles[other].nested in ("list", "listed")
                        and _have_equal_lengths(frame, worker, other)
                    ),
                )
    for label in labels:
        last_word = (words_of(label) or ("",))[-1]
        is_plural = last_word.endswith("s") and not last_word.endswith("ss")
        if nested[label].nested == "listed" and not is_plural:
            continue
        n_classes = _n_classes_in_lists(frame, label)
        if n_classes is None or n_classes > MAX_CLASSES:
            continue
        clear = [frame.profiles[name] for power, name in columns_named_as(frame.columns, "worker") if power >= 2]
        has_worker = any(0 < profile.n_values < max(profile.n_given, 2) and not profile.nested for profile in clear)
        if has_worker:
            continue
        task, why = row_key(frame, chosen, {label})
        what = "by worker" if nested[label].nested == "object" else "without naming the workers"
        return Plan(
            "lists",
            {**task, "workers": label},
            False,
            (*why, f"{quoted(label)} holds several answers per row, {what}"),
        )
    return None


def _have_equal_lengths(frame: Frame, one: str, two: str) -> bool:
    """Whether two columns hold lists of the same length in each of the first 300 rows, and some list has two items."""
    first = frame.columns[one].slice(0, 300).to_pylist()
    second = frame.columns[two].slice(0, 300).to_pylist()
    sizes = [
        (len(parse_list(str(a)) or []), len(parse_list(str(b)) or []))
        for a, b in zip(first, second, strict=True)
        if a is not None and b is not None
    ]
    return bool(sizes) and all(a == b for a, b in sizes) and max(a for a, _ in sizes) > 1


def _n_classes_in_lists(frame: Frame, name: str) -> int | None:
    """Count the distinct entries of the lists or mappings in a column; None if the entries are not classes."""
    seen: set[str] = set()
    n = 0
    for text in frame.columns[name].slice(0, 2000).to_pylist():
        if text is None:
            continue
        parsed: Any = parse_object(str(text)) if str(text).strip()[:1] == "{" else parse_list(str(text))
        entries = list(parsed.values()) if isinstance(parsed, dict) else parsed or []
        for entry in entries:
            if isinstance(entry, dict) or (isinstance(entry, list) and any(isinstance(e, dict | list) for e in entry)):
                return None
            seen |= {str(part) for part in (entry if isinstance(entry, list) else [entry])}
            n += 1
    return len(seen) if n and len(seen) <= n / 2 else None


def _find_single(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Read a table without a worker column as the answers of one worker; report one of known labels as a problem."""
    if "label" in chosen and chosen["label"] not in frame.columns:  # a column per class
        return None
    known = [name for name, profile in frame.profiles.items() if is_gold(name) and can_be_label(profile)]
    labels = label_candidates(frame, chosen, {FROM_FILE, *columns_of_option(frame, chosen.get("task"))})
    labels = [name for name in labels if strength(name, "label") >= 2 or "label" in chosen]
    file_words = set(words_of(PurePath(frame.name).name.replace(".", "_")))
    is_gold_file = bool(file_words & GOLD_WORDS)
    if (known and not labels) or (labels and is_gold_file and "worker" not in chosen):
        name = (known or labels)[0]
        return Plan(
            "gold",
            problem=f"no column names a worker, and {quoted(name)} looks like true labels: there are no answers to "
            "combine. Use the file as known labels beside the answers (gold=, --gold)",
        )
    if not labels:
        return None
    numeric = [name for name in labels if is_numeric_scale(frame.profiles[name])]
    labels = [name for name in labels if name not in numeric] or labels
    label = labels[0]
    task, why = row_key(frame, chosen, {label})
    if not task and "task" not in chosen:
        key = composite_key(frame, {label})
        task = {"task": join_names(key)} if key else {}
    if not task:
        return None
    title = worker_name_of(frame.name)
    options: dict[str, Any] = {**task, "label": label, "worker_name": title}
    if frame.profiles[label].n_blank:
        options["skip_missing"] = True
    gold = find_gold_column(frame, label, {label})
    if gold:
        options["gold_column"] = gold
    return Plan(
        "long",
        options,
        False,
        (*why, f"{quoted(label)} looks like the answer ({count(frame.profiles[label].n_values, 'value')})"),
        question="No column names the worker. If the file holds one worker (judge), name it with worker_name= "
        "(--worker-name); or give all files at once: the file name is then the worker",
        other_commands=("rank",) if is_pairwise(frame, label) else (),
        alternatives=tuple({**options, "label": name} for name in labels[1:6]),
    )
