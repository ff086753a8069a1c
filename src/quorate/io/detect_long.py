"""Detect, in tables with one row per answer, the columns of the worker, of the answer and of the task."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate.arrays import IntArray
from quorate.errors import count
from quorate.io.column_names import (
    columns_named_as,
    compared_columns,
    is_about,
    is_consensus,
    is_gold,
    is_human,
    is_text,
    name_family,
    quoted,
    quoted_names,
    strength,
    words_of,
)
from quorate.io.detect_keys import task_rank
from quorate.io.detect_values import (
    LONG_TEXT,
    MAX_CLASSES,
    MAX_GRADES,
    agreement_within,
    can_be_label,
    combined_codes,
    conflict_share,
    free_text_problem,
    has_shared_tasks,
    is_few,
    is_free_text,
    is_numeric_scale,
    n_code_pairs,
    name_and_count,
    repeat_share,
    short_number,
    varies_within,
)
from quorate.io.frame import Frame, Profile, column_pattern, columns_of_option
from quorate.io.json_documents import KEY
from quorate.io.options import ReadOptions, join_names
from quorate.io.plan import Plan
from quorate.io.values import FROM_FILE, group_by, natural_order

WRONG_TASK_CONFLICTS = 0.5  # share of rows in conflict; from this on, the column is probably not the task
MAX_CONFLICTS = 0.1  # largest share of rows in conflict for a column to be chosen as the task
WORKER_WORDS = ("judge", "annotator", "rater", "worker", "labeler", "grader", "evaluator", "coder", "reviewer")


def find_long(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Return the plan of a table with one row per answer; None if it has no task, worker and answer columns."""
    worker, why_worker = _find_worker(frame, reading, chosen)
    if worker is None:
        return None
    worker_codes = (
        combined_codes(frame, columns_of_option(frame, worker)) if worker else np.zeros(frame.n_rows, dtype=np.int64)
    )
    assigned = {*columns_of_option(frame, worker), *columns_of_option(frame, chosen.get("task")), FROM_FILE}
    labels = label_candidates(frame, chosen, assigned)
    onehot = _onehot_group(frame, assigned)
    if onehot and "label" not in chosen and not any(strength(name, "label") == 3 for name in labels):
        labels = [onehot[0], *(name for name in labels if name != onehot[0])]
    if not labels:
        return _long_without_label(frame)
    label = labels[0]
    label_codes = frame.profiles[label].codes if label in frame.columns else np.zeros(frame.n_rows, dtype=np.int64)
    task, share, why_task = _find_task(frame, chosen, worker, worker_codes, label_codes, labels)
    if task is None:
        return None
    labels = _varying_labels(frame, labels, combined_codes(frame, columns_of_option(frame, task)), worker_codes)
    if "label" not in chosen and labels and labels[0] != label and label not in onehot:
        label = labels[0]
        label_codes = frame.profiles[label].codes
        task, share, why_task = _find_task(frame, chosen, worker, worker_codes, label_codes, labels)
        if task is None:
            return None
    return _long_plan(frame, reading, chosen, (task, worker, label), labels, onehot, share, [*why_task, *why_worker])


def find_by_counts(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> Plan | None:
    """Guess task, worker and answer from the values alone, if no column has a usual name.

    Assumed are one answer per worker and task, several answers per task, more tasks than workers, and few distinct
    answers, which differ within tasks and within workers. Of several such triples of columns, the one is chosen whose
    agreement within tasks most exceeds the agreement of two rows drawn at random.
    """
    if reading.worker_name is not None or frame.is_sample:
        return None
    options = {
        role: columns_of_option(frame, chosen[role]) if role in chosen else _usable_by_counts(frame, role)
        for role in ("task", "worker", "label")
    }
    best: tuple[tuple[float, int, float], tuple[str, str, str]] | None = None
    for task in options["task"]:
        tasks = frame.profiles[task].codes
        for worker in options["worker"]:
            workers = frame.profiles[worker].codes
            n_tasks = frame.profiles[task].n_values
            if worker == task or ("task" not in chosen and n_tasks <= frame.profiles[worker].n_values):
                continue
            n_pairs = n_code_pairs(*(codes[(tasks >= 0) & (workers >= 0)] for codes in (tasks, workers)))
            if repeat_share(tasks, workers) > MAX_CONFLICTS or n_pairs < MIN_ANSWERS_PER_TASK * n_tasks:
                continue
            for label in options["label"]:
                labels = frame.profiles[label].codes
                if label in (task, worker) or not varies_within(labels, tasks) or not varies_within(labels, workers):
                    continue
                by_chance = agreement_within(np.zeros(frame.n_rows, dtype=np.int64), labels)
                above_chance = round(agreement_within(tasks, labels) - by_chance, 6)
                rank = (above_chance, -list(frame.columns).index(task), -frame.profiles[task].mean_length)
                if best is None or rank > best[0]:
                    best = (rank, (task, worker, label))
    if best is None:
        return None
    codes = [frame.profiles[name].codes.astype(np.int64) for name in best[1]]
    named = [f"{quoted(name)} ({count(frame.profiles[name].n_values, 'value')})" for name in best[1]]
    why = [
        f"by the counts of their values, {named[0]} may be the task, {named[1]} the worker and {named[2]} the answer"
    ]
    plan = _long_plan(frame, reading, chosen, best[1], [best[1][2]], [], conflict_share(*codes), why)
    question = (
        "This is a guess, because the names of the columns are not usual ones. If it is wrong, name the columns with "
        "task=, worker= and label= (--task, --worker and --label)"
    )
    return replace(plan, certain=False, question=question)


MIN_ANSWERS_PER_TASK = 1.5  # on average, for a table to look like answers of several workers


def _usable_by_counts(frame: Frame, role: str) -> list[str]:
    """Return the columns whose values may be tasks, workers or answers."""
    usable = []
    for name, profile in frame.profiles.items():
        if name == FROM_FILE or profile.nested or profile.n_values < 2 or 2 * profile.n_blank > profile.n_rows:
            continue
        if is_gold(name) or is_consensus(name) or is_about(name) or profile.is_unique:
            continue
        repeats = 2 * profile.n_values <= profile.n_given
        if role == "label" and not (can_be_label(profile) and is_few(profile) and not is_numeric_scale(profile)):
            continue
        if role == "worker" and (not repeats or profile.mean_length > LONG_TEXT or is_numeric_scale(profile)):
            continue
        usable.append(name)
    return usable


def _find_worker(frame: Frame, reading: ReadOptions, chosen: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    if "worker" in chosen:
        return str(chosen["worker"]), []
    if reading.worker_name is not None:
        return "", [f"the worker is {quoted(reading.worker_name)}, as you specified"]
    for power, name in columns_named_as(frame.columns, "worker"):
        profile = frame.profiles[name]
        is_chosen = any(name in columns_of_option(frame, option) for option in chosen.values())
        if is_chosen or profile.nested or is_about(name) or not profile.n_values:
            continue
        if power < 2 or profile.n_blank > profile.n_rows / 2:
            continue
        if profile.n_values == 1 and power < 3 and "." in name:  # a configuration value
            continue
        if strength(name, "label") > power or profile.mean_length > LONG_TEXT:
            continue
        if profile.n_values < profile.n_given or profile.n_given == 1:
            return name, [f"{quoted(name)} looks like the worker ({count(profile.n_values, 'value')})"]
    for name, profile in frame.profiles.items():
        words = words_of(name)
        if words[:1] and words[0] in WORKER_WORDS and len(words) > 1 and _is_of_file(frame, profile):
            return name, [f"{quoted(name)} names the worker of the file"]
    if frame.files and frame.profiles[FROM_FILE].n_values > 1 and _same_tasks_in_files(frame):
        return FROM_FILE, ["no column names the worker, so each file is one worker"]
    return None, []


def _is_of_file(frame: Frame, profile: Profile) -> bool:
    """Whether a column has one text per file, and no blanks; with several files, they must not all have the same."""
    if profile.n_blank or not profile.n_values or profile.mean_length > LONG_TEXT or profile.is_number:
        return False
    if FROM_FILE not in frame.profiles:
        return profile.n_values == 1
    return profile.n_values > 1 and not varies_within(profile.codes, frame.profiles[FROM_FILE].codes)


def _same_tasks_in_files(frame: Frame) -> bool:
    """Whether the values of a column named like a task occur in several files, on average in more than 1.5."""
    files = frame.profiles[FROM_FILE].codes
    for power, name in columns_named_as(frame.columns, "task"):
        codes = frame.profiles[name].codes
        pairs = len(np.unique(codes.astype(np.int64) * (files.max() + 1) + files))
        if power and pairs > 1.5 * max(frame.profiles[name].n_values, 1):
            return True
    return False


def label_candidates(frame: Frame, chosen: Mapping[str, Any], assigned: set[str]) -> list[str]:
    """Return the columns that may be the answer, the most probable first."""
    if "label" in chosen:
        return [str(chosen["label"])]
    candidates = []
    for position, (name, profile) in enumerate(frame.profiles.items()):
        if name in assigned or not can_be_label(profile) or is_gold(name) or is_consensus(name) or is_about(name):
            continue
        power = strength(name, "label")
        if not power and (strength(name, "task") == 3 or is_text(name) or not is_few(profile) or profile.n_values < 2):
            continue
        if is_human(name):
            power = min(power, 1)
        if profile.n_values < 2 and power < 3:
            continue
        continuous = is_numeric_scale(profile)
        candidates.append(
            ((profile.n_values < 2, -power, continuous, strength(name, "task") > 0, profile.n_values, position), name)
        )
    return [name for _, name in sorted(candidates)]


def _onehot_group(frame: Frame, assigned: set[str]) -> list[str]:
    """Return three or more columns of 0 and 1 with a common name prefix: one class each, or one question each."""
    binary = [
        name
        for name, profile in frame.profiles.items()
        if name not in assigned and profile.values and profile.values <= {"0", "1", "true", "false", "TRUE", "FALSE"}
    ]
    best = max(group_by(binary, name_family).values(), key=len, default=[])
    return natural_order(best) if len(best) > 2 else []


def _varying_labels(frame: Frame, labels: Sequence[str], tasks: IntArray, workers: IntArray) -> list[str]:
    """Return the labels without columns that describe the task or the worker, which never vary within one."""
    has_task = tasks >= 0
    n_tasks = len(np.unique(tasks[has_task]))
    n_workers = len(np.unique(workers[workers >= 0]))
    if n_tasks in (0, int(has_task.sum())):  # every task has one answer
        varying = list(labels)
    else:
        varying = [
            name for name in labels if name not in frame.profiles or varies_within(frame.profiles[name].codes, tasks)
        ]
        varying = varying or list(labels)
    if n_workers > 1:
        varying_for_workers = [
            name for name in varying if name not in frame.profiles or varies_within(frame.profiles[name].codes, workers)
        ]
        varying = varying_for_workers or varying
    return varying


def _find_task(
    frame: Frame,
    chosen: Mapping[str, Any],
    worker: str,
    workers: IntArray,
    label_codes: IntArray,
    labels: Sequence[str],
) -> tuple[str | None, float, list[str]]:
    """Return the column or columns of the task, the share of rows in conflict, and why."""

    def share_of(names: Sequence[str]) -> float:
        return conflict_share(combined_codes(frame, names), workers, label_codes)

    if "task" in chosen:
        return str(chosen["task"]), share_of(columns_of_option(frame, chosen["task"])), []
    assigned = {*columns_of_option(frame, worker), *(labels[:1]), FROM_FILE}
    usable = [
        name
        for name, profile in frame.profiles.items()
        if name not in assigned
        and not profile.nested
        and profile.n_values > 1
        and profile.n_blank < profile.n_rows
        and not is_gold(name)
    ]
    if frame.n_rows == 1:
        usable = [name for name, profile in frame.profiles.items() if name not in assigned and profile.n_values]
    named = [name for name in usable if strength(name, "task") or name in (KEY, *frame.index)]
    named = [name for name in named if not is_about(name) or strength(name, "task") == 3]
    if not named:
        named = [name for name in usable if not is_about(name) and frame.profiles[name].n_values > MAX_GRADES]
    if not named:
        return None, 0.0, []
    ranked = sorted(named, key=lambda name: task_rank(frame, name))
    several = len(np.unique(workers[workers >= 0])) > 1
    scored = []
    for position, name in enumerate(ranked):
        codes = frame.profiles[name].codes.astype(np.int64)
        share = conflict_share(codes, workers, label_codes)
        shared = has_shared_tasks(codes, workers) if several else True
        scored.append(((share > MAX_CONFLICTS, not shared, position), share, name))
    (is_bad, _, _), share, best = min(scored)
    two_columns = _with_second_column(frame, best, share, workers, usable) if not is_bad else []
    if two_columns:
        reason = (
            f"workers gave several answers per {quoted(best)}, so {quoted_names(two_columns)} together are the task"
        )
        return join_names(two_columns), share_of(two_columns), [reason]
    if not is_bad:
        return best, share, [f"{quoted(best)} looks like the task ({count(frame.profiles[best].n_values, 'value')})"]
    key = [ranked[0]]
    share = share_of(key)
    candidates = [
        name
        for name in usable
        if not is_numeric_scale(frame.profiles[name])
        and not (is_about(name) and strength(name, "task") == 0)
        and frame.profiles[name].mean_length <= LONG_TEXT
        and frame.profiles[name].n_blank == 0
        and not frame.profiles[name].is_unique
    ]
    while share > MAX_CONFLICTS and len(key) < 4:
        tried = [
            (round(share_of([*key, name]), 3), not strength(name, "task"), frame.profiles[name].n_values, name)
            for name in candidates
            if name not in key
        ]
        best_share, _, _, name = min(tried, default=(share, False, 0, ""))
        if best_share >= share - 0.01:
            break
        key.append(name)
        share = best_share
    named_key = join_names([name for name in frame.columns if name in key])
    if len(key) == 1:
        return named_key, share, [f"{quoted(key[0])} looks like the task"]
    reason = f"workers gave several answers per {quoted(key[0])}, so {quoted_names(key)} together are the task"
    return named_key, share, [reason]


def _with_second_column(frame: Frame, task: str, share: float, workers: IntArray, usable: Sequence[str]) -> list[str]:
    """Return the task's column and a second one, if together they leave at most 2% of the repeats; otherwise []."""
    codes = frame.profiles[task].codes.astype(np.int64)
    repeats = repeat_share(codes, workers)
    if not repeats or (len(np.unique(workers)) > 1 and not share):
        return []
    for name in usable:
        profile = frame.profiles[name]
        if name == task or not strength(name, "task") or profile.n_blank or profile.mean_length > LONG_TEXT:
            continue
        if profile.is_unique or is_numeric_scale(profile):
            continue
        key = combined_codes(frame, [task, name])
        if repeat_share(key, workers) <= 0.02 * repeats:
            return [column for column in frame.columns if column in (task, name)]
    return []


def _long_plan(
    frame: Frame,
    reading: ReadOptions,
    chosen: Mapping[str, Any],
    columns: tuple[str, str, str],
    labels: Sequence[str],
    onehot: Sequence[str],
    share: float,
    why: list[str],
) -> Plan:
    task, worker, label = columns
    profile = frame.profiles.get(label)
    options: dict[str, Any] = {"task": task}
    if worker not in ("", FROM_FILE):
        options["worker"] = worker
    elif reading.worker_name is not None:
        options["worker_name"] = reading.worker_name
    options["label"] = label
    other_commands: tuple[str, ...] = ()
    names = [
        name for name in (task, worker, label) for name in columns_of_option(frame, name) if name in frame.profiles
    ]
    n_blank = int(np.logical_or.reduce([frame.profiles[name].codes < 0 for name in names]).sum()) if names else 0
    if n_blank:
        options["skip_missing"] = True
        why.append(f"{count(n_blank, 'row')} without a task, a worker or an answer: left out")
    is_scale = profile is not None and is_numeric_scale(profile)
    share_text = f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
    if 0 < share < WRONG_TASK_CONFLICTS and (is_scale or reading.is_score):
        options["on_conflict"] = "mean"
        why.append(f"{share_text} of the rows are second scores of a worker for one task: the mean of both is used")
    elif 0 < share < WRONG_TASK_CONFLICTS:
        options["on_conflict"] = "first"
        why.append(f"{share_text} of the rows are second, different answers of a worker to one task: the first is used")
    if profile is not None and is_scale and not reading.is_score:
        low = short_number(profile.low)
        high = short_number(profile.high)
        return Plan(
            "ratings",
            options,
            why=(*why, f"{quoted(label)} holds numbers from {low} to {high}, {profile.n_values:,} different ones"),
            problem=f"{quoted(label)} is a numeric scale from {low} to {high} with {profile.n_values:,} different "
            "values (numeric ratings), not a set of classes",
            other_commands=("rate",),
        )
    n_workers = (
        len(np.unique(combined_codes(frame, columns_of_option(frame, worker)))) if worker in frame.columns else 1
    )
    gold = find_gold_column(frame, label, {task, worker, label})
    if gold:
        options["gold_column"] = gold
        why.append(f"{quoted(gold)} holds known labels")
    if is_pairwise(frame, label):
        other_commands = ("rank",)
    answer_columns = [name for name in labels if name not in onehot or name == label]
    question = ""
    if profile is not None:
        if "label" not in chosen and strength(label, "label") < 3 and not onehot:
            answer_columns += [
                name for name in frame.columns if _is_listed(frame, name, {task, worker, *answer_columns})
            ]
        if "label" not in chosen and strength(label, "label") < 3 and len(answer_columns) > 1 and not onehot:
            shown = [name_and_count(frame.profiles[name]) for name in answer_columns[:4]]
            question = f"Which column is the answer: {', '.join(shown[:-1])} or {shown[-1]}?"
        else:
            why.append(f"{quoted(label)} looks like the answer ({count(profile.n_values, 'value')})")
    if onehot and label in onehot:
        question = (
            f"{len(onehot)} columns hold 0 or 1 ({', '.join(onehot[:3])}, …), and each is one question: "
            "choose one with label= (--label), or read each as a separate task with fold= (--fold "
            f"{column_pattern(frame, onehot)!r})"
        )
    strong = all(strength(name, role) == 3 for name, role in ((task, "task"), (worker, "worker"), (label, "label")))
    certain = (
        strong
        and profile is not None
        and n_workers > 1
        and share == 0
        and n_blank == 0
        and not gold
        and not other_commands
        and profile.n_values <= MAX_CLASSES
        and 3 * profile.n_values <= profile.n_given
        and sum(strength(name, "label") == 3 for name in labels) == 1
    )
    return Plan(
        "long",
        options,
        certain or bool(chosen and len(chosen) == 3),
        tuple(why),
        question=question,
        warnings=conflict_warning(share, task),
        alternatives=tuple({**options, "label": name} for name in labels[1:8]),
        other_commands=other_commands,
    )


def _is_listed(frame: Frame, name: str, assigned: set[str]) -> bool:
    """Whether a less probable column of answers is listed in the question: not an id, a text or a known label."""
    profile = frame.profiles[name]
    if (
        name in assigned
        or name == FROM_FILE
        or profile.nested
        or profile.n_values < 2
        or profile.mean_length > LONG_TEXT
    ):
        return False
    return not (
        is_gold(name) or is_text(name) or strength(name, "task") or (profile.is_unique and not profile.is_number)
    )


def find_gold_column(frame: Frame, label: str, assigned: set[str]) -> str:
    """Return the column of known labels whose values are classes of the answers; empty if there is none."""
    classes = frame.profiles[label].values if label in frame.profiles else frozenset()
    plain = {value.removesuffix(".0") for value in classes}
    for name, profile in frame.profiles.items():
        is_named = is_gold(name) or (is_human(name) and not is_human(label))
        if name in assigned or not is_named or not profile.values or not profile.n_given:
            continue
        if {value.removesuffix(".0") for value in profile.values} <= plain:
            return name
    return ""


def is_pairwise(frame: Frame, label: str) -> bool:
    """Whether answers are pairwise preferences: two columns of compared items, and an answer that names a side."""
    compared = [frame.profiles[name] for name in compared_columns(frame.columns) if name in frame.profiles]
    # Items that are compared only once, such as texts of answers, cannot be ranked.
    twice = any(profile.n_values < profile.n_given for profile in compared)
    values = {value.lower().strip("[]") for value in frame.profiles[label].values} if label in frame.profiles else set()
    sides = values <= {"a", "b", "tie", "c", "left", "right", "both", "neither", "model_a", "model_b", "equal"}
    return twice and len(values) <= 5 and (sides or "win" in label.lower())


def _long_without_label(frame: Frame) -> Plan | None:
    """Return a plan with the problem that a column of answers holds free text; None if there is no such column."""
    for name, profile in frame.profiles.items():
        if strength(name, "label") and is_free_text(profile) and not is_about(name):
            return Plan("nothing", problem=free_text_problem(profile.n_values, profile.n_given, f" in {quoted(name)}"))
    return None


def conflict_warning(share: float, task: str) -> tuple[str, ...]:
    """Return a warning if so many rows are in conflict that the task column is probably wrong; otherwise ()."""
    if share < WRONG_TASK_CONFLICTS:
        return ()
    return (f"nearly every worker gave several answers per {quoted(task)}, so that column is probably not the task",)
