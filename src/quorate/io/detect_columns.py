"""Which column of a table is the task, which the worker, which the answer: by names, by values, and by what fits.

The result is a `Plan`: options under which the table can be read, what each column was taken for and why, whether that
is certain enough to read at once, or the reason why the table holds no answers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from quorate.arrays import IntArray
from quorate.errors import count, listing
from quorate.io.column_names import (
    LABEL,
    TASK,
    WORKER,
    is_about,
    is_consensus,
    is_gold,
    is_human,
    is_text,
    quoted,
    strength,
    words_of,
)
from quorate.io.frame import Frame, Profile
from quorate.io.json_documents import CELL, INNER, KEY, OUTER
from quorate.io.options import NO_HEADER, ReadOptions, split_names
from quorate.io.values import FROM_FILE, natural_order
from quorate.io.wide import columns_named

MOST_CLASSES = 50  # of a column that is taken for answers by its values alone; the largest public set has 47
MOST_GRADES = 11  # of a numeric scale that can still be read as classes: 0 to 10
FREE_TEXT = 0.5  # different answers per answer, from which on they are no classes
MOSTLY = 0.5  # share of rows in conflict, from which on the task column is wrong
FEW_CONFLICTS = 0.1  # share of rows in conflict that a task column may leave
MORE_TASKS = 2  # tasks per worker, from which on the number alone tells them apart; 24 of 26 public sets have more
ID_WEIGHT = 2.5  # steps of clearness that "id" in a name is worth: "ID" identifies a row rather than "Sentence"
LONG_TEXT = 60  # characters of a mean value that is a text, not an id
GOLD_WORDS = {"gold", "golden", "truth", "expert", "groundtruth"}
COUNT_WORDS = {"count", "counts", "votes", "vote", "n", "num"}
WORKER_WORDS = ("judge", "annotator", "rater", "worker", "labeler", "grader", "evaluator", "coder", "reviewer")
SWAPPED = {"swapped", "swap", "reversed", "flipped", "original"}
ROLES = ("task", "worker", "label")
# Families of language models, as their names begin.
MODEL = re.compile(
    r"(?i)\b(gpt|claude|gemini|gemma|llama|qwen|mistral|mixtral|deepseek|command|phi|grok|yi|o1|o3|o4|sonnet|opus|haiku|"
    r"palm|bard|falcon|vicuna|nova|glm|kimi|jamba|olmo|granite|nemotron)(?=[\d\W_]|$)"
)


@dataclass(frozen=True)
class Plan:
    """How a table can be read, or why it cannot."""

    kind: str = ""  # "long", "wide", "lists", "classes", "matrix"; or "gold", "shares", "ratings", "pairs", "nothing"
    options: Mapping[str, Any] = field(default_factory=dict)  # for `ReadOptions`
    certain: bool = False
    why: tuple[str, ...] = ()  # what each column was taken for, a sentence each
    problem: str = ""  # why the table holds no answers that can be combined
    question: str = ""  # what only the user can say
    warnings: tuple[str, ...] = ()
    others: tuple[Mapping[str, Any], ...] = ()  # further ways to read it
    also: tuple[str, ...] = ()  # other commands that fit: "rank", "rate"

    @property
    def is_readable(self) -> bool:
        """Whether there are options under which answers are read."""
        return bool(self.options) and not self.problem


def detect(frame: Frame, reading: ReadOptions) -> Plan:
    """Find out how a table is laid out.

    Args:
        frame: the table, or a sample of its rows.
        reading: what the caller has said already; it is kept.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> table = {"question": [1, 1, 2, 2], "worker": list("abab"), "answer": list("xyxx")}
    >>> detect(frame_of(look(table), sample=True), ReadOptions()).options
    {'task': 'question', 'worker': 'worker', 'label': 'answer'}
    """
    if frame.n_rows == 0:
        return Plan("nothing", problem=f"{frame.name} has columns, but no rows")
    given = {role: getattr(reading, role) for role in ROLES if getattr(reading, role) is not None}
    for name, value in given.items():
        given[name] = join_names(columns_named(frame, value, name)) if name != "label" else value
    wide = (_wide_scores, _wide) if reading.is_score else (_wide, _wide_scores)
    finders = (_matrix_of_mappings, _headerless, _lists, _long, _classes_without_workers, *wide, _single)
    for find in finders:
        plan = find(frame, reading, given)
        if plan is None:
            continue
        if find is _long and "worker" not in given and not _is_shared(frame, plan):
            plan = _wide(frame, reading, given) or plan
        return plan
    return _nothing(frame)


def _is_shared(frame: Frame, plan: Plan) -> bool:
    """Whether some task of a plan with one row per answer has answers of two workers."""
    if plan.kind != "long" or "task" not in plan.options or "worker" not in plan.options:
        return True
    tasks = combined(frame, _parts(frame, plan.options["task"]))
    return _has_shared_tasks(tasks, combined(frame, _parts(frame, plan.options["worker"])))


# --- helpers ---


def _roles(frame: Frame, names: Iterable[str] = ()) -> str:
    return ", ".join(quoted(name) for name in names)


def join_names(names: Sequence[str]) -> str:
    """Write columns as one option: with commas between, and quotes around a name that holds one.

    >>> join_names(["page", "sound"]), join_names(["a, b"]), join_names(["a, b", "c"])
    ('page,sound', 'a, b', '"a, b",c')
    """
    if len(names) == 1:
        return names[0]
    return ",".join(f'"{name.replace(chr(34), chr(34) * 2)}"' if re.search('[,"]', name) else name for name in names)


def _parts(frame: Frame, given: Any) -> list[str]:
    """Return the columns that an option names; the reverse of `join_names`."""
    text = str(given or "")
    return [text] if text in frame.columns else list(split_names(text))


def _is_taken(frame: Frame, name: str, given: Mapping[str, Any]) -> bool:
    return any(name in _parts(frame, value) for value in given.values())


def _named_columns(frame: Frame, role: str) -> list[tuple[int, str]]:
    """Return the columns whose name says a role, the clearest first."""
    found = [(strength(name, role), name) for name in frame.columns if name != FROM_FILE]
    return sorted((pair for pair in found if pair[0]), key=lambda pair: -pair[0])


def combined(frame: Frame, names: Sequence[str]) -> IntArray:
    """Return codes for the combinations of several columns; -1 where one is blank."""
    codes = np.zeros(frame.n_rows, dtype=np.int64)
    present = np.ones(frame.n_rows, dtype=bool)
    for name in names:
        profile = frame.profiles[name]
        codes = codes * (profile.n_values + 1) + np.maximum(profile.codes, 0)
        present &= profile.codes >= 0
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return np.where(present, codes, -1)


def conflict_share(tasks: IntArray, workers: IntArray, labels: IntArray) -> float:
    """Return the share of rows whose task and worker occur with another label too.

    >>> conflict_share(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([0, 1, 1]))
    0.6666666666666666
    """
    there = (tasks >= 0) & (workers >= 0) & (labels >= 0)
    if not there.any():
        return 0.0
    pair = tasks[there] * (workers.max() + 1) + workers[there]
    _, pair = np.unique(pair, return_inverse=True)
    n_labels = int(labels.max()) + 1
    triple = np.unique(pair.astype(np.int64) * n_labels + labels[there])
    times = np.bincount(triple // n_labels)
    return float((times[pair] > 1).mean())


def agreement_within(groups: IntArray, labels: IntArray) -> float:
    """Return how often two answers of one group are alike, over all pairs.

    >>> agreement_within(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 1]))
    0.5
    """
    there = (groups >= 0) & (labels >= 0)
    groups = groups[there]
    labels = labels[there]
    if not len(groups):
        return 0.0
    n = np.bincount(groups).astype(float)
    cell = np.unique(groups.astype(np.int64) * (int(labels.max()) + 1) + labels, return_counts=True)[1].astype(float)
    pairs = float((n * (n - 1)).sum())
    return float((cell * (cell - 1)).sum()) / pairs if pairs else 0.0


def is_numeric_scale(profile: Profile) -> bool:
    """Whether the values are measurements or a fine scale, rather than classes.

    >>> from quorate.io.exports.content import look
    >>> from quorate.io.frame import frame_of
    >>> scores = frame_of(look({"score": [k / 7 for k in range(30)]}), sample=True).profiles["score"]
    >>> is_numeric_scale(scores)
    True
    """
    if not profile.is_number or profile.n_values < 3:
        return False
    if not profile.is_whole and not _is_half(profile):
        return profile.n_values > 2
    return profile.n_values > 2 * MOST_GRADES or (profile.n_values > MOST_GRADES and profile.high - profile.low > 20)


def _is_half(profile: Profile) -> bool:
    """Whether the values are grades in halves or quarters, of which there are few."""
    return profile.n_values <= MOST_GRADES and all(float(4 * float(value)).is_integer() for value in profile.values)


def is_free_text(profile: Profile) -> bool:
    """Whether values are so many that they are no classes."""
    n = profile.n_given
    return n >= 20 and not profile.is_number and profile.n_values > max(FREE_TEXT * n, 20)


def can_be_label(profile: Profile) -> bool:
    """Whether the values of a column can be classes."""
    return profile.n_values > 0 and not is_free_text(profile) and not profile.nested and profile.mean_length < 200


def is_few(profile: Profile) -> bool:
    """Whether the values are as few as classes are."""
    return 1 <= profile.n_values <= MOST_CLASSES and (profile.n_values <= profile.n_given / 2 or profile.n_given < 10)


def _values(profile: Profile) -> str:
    return f"{profile.name} ({count(profile.n_values, 'value')})"


def _stem(frame: Frame) -> str:
    return PurePath(frame.name).name.split(".")[0] if "." in PurePath(frame.name).name else PurePath(frame.name).name


def worker_name_of(name: str) -> str:
    """Return what a file of one worker is called: its name without the ending.

    >>> worker_name_of("results/gpt-4o-mini.json"), worker_name_of("judge_claude_opus_4.7.json")
    ('gpt-4o-mini', 'judge_claude_opus_4.7')
    """
    return re.sub(r"\.(csv|tsv|jsonl?|ndjson|parquet|pq|xlsx|ya?ml|gz|zst|bz2)$", "", PurePath(name).name, flags=re.I)


# --- mapping of mappings ---


def _matrix_of_mappings(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    if frame.shape != "mapping of mappings" or given:
        return None
    labels = frame.profiles[CELL].codes
    task, worker = _task_and_worker(frame, OUTER, INNER, labels)
    n_tasks = frame.profiles[task].n_values
    n_workers = frame.profiles[worker].n_values
    return Plan(
        "long",
        {"task": task, "worker": worker, "label": CELL},
        why=(
            f"the values stand under two keys: {n_tasks:,} {task} keys and {n_workers:,} {worker} keys",
            f"{task} looks like the task: there are more of them, or their answers agree more; the "
            "file does not say it",
        ),
    )


def _task_and_worker(frame: Frame, one: str, two: str, labels: IntArray) -> tuple[str, str]:
    """Tell the task from the worker: there are more tasks; or else, answers to one task agree more."""
    n_one = frame.profiles[one].n_values
    n_two = frame.profiles[two].n_values
    if max(n_one, n_two) >= MORE_TASKS * min(n_one, n_two):
        return (one, two) if n_one > n_two else (two, one)
    first = agreement_within(frame.profiles[one].codes, labels)
    second = agreement_within(frame.profiles[two].codes, labels)
    if abs(first - second) < 0.01:  # no difference: there are mostly more tasks than workers
        return (one, two) if frame.profiles[one].n_values >= frame.profiles[two].n_values else (two, one)
    return (one, two) if first > second else (two, one)


# --- no header ---


def _headerless(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    if frame.shape != "no header" or given or reading.column_names not in (None, NO_HEADER):
        return None
    profiles = list(frame.profiles.values())
    filled = [profile for profile in profiles if profile.n_values]
    values = frozenset().union(*(profile.values for profile in filled)) if filled else frozenset()
    small = all(profile.values for profile in filled) and len(values) <= MOST_CLASSES
    if len(filled) > 2 and small and _share_values(filled):
        return Plan(
            "matrix",
            {"column_names": "none", "workers": "*"},
            why=(
                "the first row is data, so there is no header",
                f"all {len(profiles):,} columns hold the same {len(values):,} values: a row per task, "
                "a column per worker",
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
            warnings=_conflict_warning(share, task),
        )
    return Plan(
        "nothing",
        problem=f"the first row of {frame.name} is data, so there is no header, and its {len(profiles):,} columns are "
        "neither task, worker and label nor a matrix of answers. Name them with column_names= (--columns)",
    )


def _share_values(profiles: Sequence[Profile]) -> bool:
    """Whether every column shares a value with another."""
    return all(any(one.values & two.values for two in profiles if two is not one) for one in profiles)


def _conflict_warning(share: float, task: str) -> tuple[str, ...]:
    if share < MOSTLY:
        return ()
    return (f"nearly every worker gave several answers per {quoted(task)}, so that column is probably not the task",)


# --- lists per row ---


def _lists(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    nested = {name: profile for name, profile in frame.profiles.items() if profile.nested and not is_about(name)}
    if not nested or "label" in given:
        return None
    workers = [name for name in nested if strength(name, "worker") >= 2 and nested[name].nested != "object"]
    labels = [name for name in nested if strength(name, "label") >= 2 and not is_consensus(name)]
    labels.sort(key=lambda name: (-strength(name, "label"), list(frame.columns).index(name)))
    for worker in workers:
        for label in labels:
            if label != worker and nested[label].nested != "object" and _as_long(frame, worker, label):
                task, why = _row_key(frame, given, {worker, label})
                certain = strength(worker, "worker") == 3 and strength(label, "label") == 3 and bool(task)
                return Plan(
                    "lists",
                    {**task, "worker": worker, "label": label},
                    certain and nested[label].nested == "listed",
                    (*why, f"{quoted(worker)} lists the workers and {quoted(label)} their answers, in the same order"),
                    others=tuple(
                        {**task, "worker": worker, "label": other}
                        for other in frame.columns
                        if other not in (worker, label)
                        and frame.profiles[other].nested in ("list", "listed")
                        and _as_long(frame, worker, other)
                    ),
                )
    for label in labels:
        if nested[label].nested == "listed" and not is_plural(label):
            continue
        n_classes = _entries(frame, label)
        if n_classes is None or n_classes > MOST_CLASSES:
            continue
        has_worker = any(
            power >= 2 and _repeats(frame, name) and not frame.profiles[name].nested
            for power, name in _named_columns(frame, "worker")
        )
        if has_worker:
            continue
        task, why = _row_key(frame, given, {label})
        what = "by worker" if nested[label].nested == "object" else "without saying whose they are"
        return Plan(
            "lists",
            {**task, "workers": label},
            False,
            (*why, f"{quoted(label)} holds several answers per row, {what}"),
        )
    return None


def is_plural(name: str) -> bool:
    """Whether the last word of a name is a plural."""
    words = words_of(name)
    return bool(words) and words[-1].endswith("s") and not words[-1].endswith("ss")


def _repeats(frame: Frame, name: str) -> bool:
    profile = frame.profiles[name]
    return 0 < profile.n_values < profile.n_given or profile.n_given == 1


def _as_long(frame: Frame, one: str, two: str) -> bool:
    """Whether two columns hold lists of the same length in every row that is looked at."""
    from quorate.io.wide import parse_list

    first = frame.columns[one].slice(0, 300).to_pylist()
    second = frame.columns[two].slice(0, 300).to_pylist()
    sizes = [
        (len(parse_list(str(a)) or []), len(parse_list(str(b)) or []))
        for a, b in zip(first, second, strict=True)
        if a is not None and b is not None
    ]
    return bool(sizes) and all(a == b for a, b in sizes) and max(a for a, _ in sizes) > 1


def _entries(frame: Frame, name: str) -> int | None:
    """Count the different entries of the lists or mappings in a column; None where they are no classes."""
    from quorate.io.wide import parse_list, parse_object

    seen: set[str] = set()
    n = 0
    for text in frame.columns[name].slice(0, 2000).to_pylist():
        if text is None:
            continue
        found: Any = parse_object(str(text)) if str(text).strip()[:1] == "{" else parse_list(str(text))
        entries = list(found.values()) if isinstance(found, dict) else found or []
        for entry in entries:
            if isinstance(entry, dict) or (isinstance(entry, list) and any(isinstance(e, dict | list) for e in entry)):
                return None
            seen |= {str(each) for each in (entry if isinstance(entry, list) else [entry])}
            n += 1
    return len(seen) if n and len(seen) <= n / 2 else None


def _row_key(frame: Frame, given: Mapping[str, Any], not_ids: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Choose what identifies a row: a column of ids, several together, or its number."""
    if "task" in given:
        return {"task": given["task"]}, [f"the task is {given['task']}, as you say"]
    if frame.index and frame.index[0] in frame.columns:
        return {"task": frame.index[0]}, [f"the index {quoted(frame.index[0])} is the task"]
    unique = [
        name
        for name, profile in frame.profiles.items()
        if profile.is_unique and name not in not_ids and not profile.nested
    ]
    ids = [name for name in unique if frame.profiles[name].mean_length <= LONG_TEXT]
    ranked = sorted(ids, key=lambda name: _task_rank(frame, name))
    named = [name for name in ranked if strength(name, "task") or name == KEY]
    first = next(iter(frame.columns))
    if named:
        return {"task": named[0]}, [f"{quoted(named[0])} identifies the row: the task"]
    if first in ids and not is_about(first):
        return {"task": first}, [f"{quoted(first)} has a value of its own in every row: the task"]
    composite = _composite_key(frame, not_ids)
    if composite:
        return {"task": join_names(composite)}, [f"{_roles(frame, composite)} together identify the row: the task"]
    texts = [name for name in unique if strength(name, "task") or is_text(name)]
    if texts:
        return {"task": texts[0]}, [f"{quoted(texts[0])} has a value of its own in every row: the task"]
    return {}, ["no column identifies the row, so tasks are numbered"]


def _task_rank(frame: Frame, name: str) -> tuple[Any, ...]:
    words = words_of(name)
    order = min((TASK.index(word) for word in words if word in TASK), default=len(TASK))
    has_id = any(word in ("id", "ids", "uuid", "key") for word in words) or name == KEY
    is_long = frame.profiles[name].mean_length > LONG_TEXT
    clear = strength(name, "task") + ID_WEIGHT * has_id
    return is_long, "url" in words, -clear, order, list(frame.columns).index(name)


def _composite_key(frame: Frame, not_ids: set[str]) -> list[str]:
    """Find few columns that together identify a row, beginning with the one whose name says so."""
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
    key = [min(start, key=lambda name: _task_rank(frame, name))]
    n = len(np.unique(combined(frame, key)))
    while n < frame.n_rows and len(key) < 5:
        rest = [name for name in usable if name not in key]
        sizes = [(len(np.unique(combined(frame, [*key, name]))), name) for name in rest]
        best, name = max(sizes, key=lambda pair: pair[0], default=(n, ""))
        if best <= n:
            return []
        key.append(name)
        n = best
    return key if n == frame.n_rows else []


# --- one row per answer ---


def _long(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    worker, why_worker = _find_worker(frame, reading, given)
    if worker is None:
        return None
    worker_codes = combined(frame, _parts(frame, worker)) if worker else np.zeros(frame.n_rows, dtype=np.int64)
    taken = {*_parts(frame, worker), *_parts(frame, given.get("task")), FROM_FILE}
    labels = _label_candidates(frame, given, taken, worker_codes)
    onehot = _onehot_group(frame, taken)
    if onehot and "label" not in given and not any(strength(name, "label") == 3 for name in labels):
        labels = [onehot[0], *(name for name in labels if name != onehot[0])]
    if not labels:
        return _long_without_label(frame, given, worker)
    label = labels[0]
    label_codes = frame.profiles[label].codes if label in frame.columns else np.zeros(frame.n_rows, dtype=np.int64)
    task, share, why_task = _find_task(frame, given, worker, worker_codes, label_codes, labels)
    if task is None:
        return None
    labels = _varying(frame, labels, combined(frame, _parts(frame, task)), worker_codes)
    if "label" not in given and labels and labels[0] != label and label not in onehot:
        label = labels[0]
        label_codes = frame.profiles[label].codes
        task, share, why_task = _find_task(frame, given, worker, worker_codes, label_codes, labels)
        if task is None:
            return None
    return _long_plan(frame, reading, given, (task, worker, label), labels, onehot, share, [*why_task, *why_worker])


def _find_worker(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> tuple[str | None, list[str]]:
    if "worker" in given:
        return str(given["worker"]), []
    if reading.worker_name is not None:
        return "", [f"the worker is {shown_name(reading.worker_name)}, as you say"]
    for power, name in _named_columns(frame, "worker"):
        profile = frame.profiles[name]
        if _is_taken(frame, name, given) or profile.nested or is_about(name) or not profile.n_values:
            continue
        if power < 2 or profile.n_blank > profile.n_rows / 2:
            continue
        if profile.n_values == 1 and power < 3 and "." in name:  # a setting
            continue
        if strength(name, "label") > power or profile.mean_length > LONG_TEXT:
            continue
        if profile.n_values < profile.n_given or profile.n_given == 1:
            return name, [f"{quoted(name)} looks like the worker ({count(profile.n_values, 'value')})"]
    for name, profile in frame.profiles.items():
        words = words_of(name)
        if words[:1] and words[0] in WORKER_WORDS and len(words) > 1 and _is_of_file(frame, profile):
            return name, [f"{quoted(name)} names the worker of the file"]
    if frame.files and frame.profiles[FROM_FILE].n_values > 1 and _same_tasks_in_files(frame, given):
        return FROM_FILE, ["no column names the worker, so each file is one worker"]
    return None, []


def _is_of_file(frame: Frame, profile: Profile) -> bool:
    """Whether a column has one value per file, and no blanks."""
    if profile.n_blank or not profile.n_values or profile.mean_length > LONG_TEXT or profile.is_number:
        return False
    if FROM_FILE not in frame.profiles:
        return profile.n_values == 1
    return profile.n_values > 1 and not _differs(profile.codes, frame.profiles[FROM_FILE].codes)


def shown_name(name: str) -> str:
    """Write the name of a worker in a sentence."""
    return quoted(name)


def _same_tasks_in_files(frame: Frame, given: Mapping[str, Any]) -> bool:
    """Whether some column of ids has the same values in several files."""
    files = frame.profiles[FROM_FILE].codes
    for power, name in _named_columns(frame, "task"):
        codes = frame.profiles[name].codes
        pairs = len(np.unique(codes.astype(np.int64) * (files.max() + 1) + files))
        if power and pairs > 1.5 * max(frame.profiles[name].n_values, 1):
            return True
    return False


def _label_candidates(frame: Frame, given: Mapping[str, Any], taken: set[str], workers: IntArray) -> list[str]:
    """Return the columns that may be the answer, the likeliest first."""
    if "label" in given:
        return [str(given["label"])]
    found = []
    for place, (name, profile) in enumerate(frame.profiles.items()):
        if name in taken or not can_be_label(profile) or is_gold(name) or is_consensus(name) or is_about(name):
            continue
        power = strength(name, "label")
        if not power and (strength(name, "task") == 3 or is_text(name) or not is_few(profile) or profile.n_values < 2):
            continue
        if is_human(name):
            power = min(power, 1)
        if profile.n_values < 2 and power < 3:
            continue
        continuous = is_numeric_scale(profile)
        found.append(
            ((profile.n_values < 2, -power, continuous, strength(name, "task") > 0, profile.n_values, place), name)
        )
    return [name for _, name in sorted(found)]


def _onehot_group(frame: Frame, taken: set[str]) -> list[str]:
    """Return the columns that are 0 or 1 each and have a name in common: one class each, or one question each."""
    binary = [
        name
        for name, profile in frame.profiles.items()
        if name not in taken and profile.values and profile.values <= {"0", "1", "true", "false", "TRUE", "FALSE"}
    ]
    groups: dict[str, list[str]] = {}
    for name in binary:
        groups.setdefault(_family_of(name), []).append(name)
    best = max(groups.values(), key=len, default=[])
    return natural_order(best) if len(best) > 2 else []


def _family_of(name: str) -> str:
    """Return what the names of columns that belong together have in common: all but the last word or number."""
    found = re.match(r"(.*?)[\W_]*([^\W_]+|\d+)$", re.sub(r"([A-Za-z])(\d+)$", r"\1_\2", name))
    return found[1] if found else name


def _varying(frame: Frame, labels: Sequence[str], tasks: IntArray, workers: IntArray) -> list[str]:
    """Leave out columns that say something of the task or of the worker: they never differ within one."""
    there = tasks >= 0
    n_tasks = len(np.unique(tasks[there]))
    n_workers = len(np.unique(workers[workers >= 0]))
    if n_tasks in (0, int(there.sum())):  # every task has one answer
        kept = list(labels)
    else:
        kept = [name for name in labels if name not in frame.profiles or _differs(frame.profiles[name].codes, tasks)]
        kept = kept or list(labels)
    if n_workers > 1:
        varied = [name for name in kept if name not in frame.profiles or _differs(frame.profiles[name].codes, workers)]
        kept = varied or kept
    return kept


def _differs(codes: IntArray, groups: IntArray) -> bool:
    there = (codes >= 0) & (groups >= 0)
    return _n_pairs(groups[there], codes[there]) > len(np.unique(groups[there]))


def _find_task(
    frame: Frame, given: Mapping[str, Any], worker: str, workers: IntArray, label_codes: IntArray, labels: Sequence[str]
) -> tuple[str | None, float, list[str]]:
    """Return the column or columns of the task, the share of rows in conflict, and why."""
    if "task" in given:
        names = _parts(frame, given["task"])
        return str(given["task"]), conflict_share(combined(frame, names), workers, label_codes), []
    taken = {*_parts(frame, worker), *(labels[:1]), FROM_FILE}
    usable = [
        name
        for name, profile in frame.profiles.items()
        if name not in taken
        and not profile.nested
        and profile.n_values > 1
        and profile.n_blank < profile.n_rows
        and not is_gold(name)
    ]
    if frame.n_rows == 1:
        usable = [name for name, profile in frame.profiles.items() if name not in taken and profile.n_values]
    named = [name for name in usable if strength(name, "task") or name in (KEY, *frame.index)]
    named = [name for name in named if not is_about(name) or strength(name, "task") == 3]
    if not named:
        named = [name for name in usable if not is_about(name) and frame.profiles[name].n_values > MOST_GRADES]
    if not named:
        return None, 0.0, []
    ranked = sorted(named, key=lambda name: _task_rank(frame, name))
    several = len(np.unique(workers[workers >= 0])) > 1
    scored = []
    for place, name in enumerate(ranked):
        codes = frame.profiles[name].codes.astype(np.int64)
        share = conflict_share(codes, workers, label_codes)
        shared = _has_shared_tasks(codes, workers) if several else True
        scored.append(((share > FEW_CONFLICTS, not shared, place), share, name))
    (is_bad, _, _), share, best = min(scored)
    refined = _refined(frame, best, share, workers, label_codes, usable) if not is_bad else []
    if refined:
        key_codes = combined(frame, refined)
        reason = f"workers gave several answers per {quoted(best)}, so {_roles(frame, refined)} together are the task"
        return join_names(refined), conflict_share(key_codes, workers, label_codes), [reason]
    if not is_bad:
        return best, share, [f"{quoted(best)} looks like the task ({count(frame.profiles[best].n_values, 'value')})"]
    key = [ranked[0]]
    share = conflict_share(combined(frame, key), workers, label_codes)
    candidates = [name for name in usable if not is_numeric_scale(frame.profiles[name]) and not _is_derived(name)]
    candidates = [name for name in candidates if frame.profiles[name].mean_length <= LONG_TEXT]
    while share > FEW_CONFLICTS and len(key) < 4:
        rest = [name for name in candidates if name not in key and frame.profiles[name].n_blank == 0]
        tried = [
            (
                round(conflict_share(combined(frame, [*key, name]), workers, label_codes), 3),
                not strength(name, "task"),
                frame.profiles[name].n_values,
                name,
            )
            for name in rest
            if not frame.profiles[name].is_unique
        ]
        if not tried:
            break
        best_share, _, _, name = min(tried)
        if best_share >= share - 0.01:
            break
        key.append(name)
        share = best_share
    named_key = join_names([name for name in frame.columns if name in key])
    if len(key) == 1:
        return named_key, share, [f"{quoted(key[0])} looks like the task"]
    reason = f"workers gave several answers per {quoted(key[0])}, so {_roles(frame, key)} together are the task"
    return named_key, share, [reason]


def _refined(
    frame: Frame, task: str, share: float, workers: IntArray, labels: IntArray, usable: Sequence[str]
) -> list[str]:
    """Return the task's column with a second one, where that ends nearly all repetitions of a worker."""
    codes = frame.profiles[task].codes.astype(np.int64)
    repeats = _repeat_share(codes, workers)
    if not repeats or (len(np.unique(workers)) > 1 and not share):
        return []
    for name in usable:
        profile = frame.profiles[name]
        if name == task or not strength(name, "task") or profile.n_blank or profile.mean_length > LONG_TEXT:
            continue
        if profile.is_unique or is_numeric_scale(profile):
            continue
        key = combined(frame, [task, name])
        if _repeat_share(key, workers) <= 0.02 * repeats:
            return [each for each in frame.columns if each in (task, name)]
    return []


def _repeat_share(tasks: IntArray, workers: IntArray) -> float:
    """Return the share of rows whose task and worker occurred before."""
    there = (tasks >= 0) & (workers >= 0)
    return 1 - _n_pairs(tasks[there], workers[there]) / max(int(there.sum()), 1)


def _is_derived(name: str) -> bool:
    return is_about(name) and strength(name, "task") == 0


def _has_shared_tasks(tasks: IntArray, workers: IntArray) -> bool:
    """Whether some task has answers of two workers."""
    there = (tasks >= 0) & (workers >= 0)
    return _n_pairs(tasks[there], workers[there]) > len(np.unique(tasks[there]))


def _n_pairs(one: IntArray, two: IntArray) -> int:
    """Count the different pairs of codes, which are not negative."""
    if not len(one):
        return 0
    return len(np.unique(one.astype(np.int64) * (int(two.max()) + 1) + two))


def _long_plan(
    frame: Frame,
    reading: ReadOptions,
    given: Mapping[str, Any],
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
    options["label"] = label
    also: tuple[str, ...] = ()
    names = [name for name in (task, worker, label) for name in _parts(frame, name) if name in frame.profiles]
    n_blank = int(np.logical_or.reduce([frame.profiles[name].codes < 0 for name in names]).sum()) if names else 0
    if n_blank:
        options["skip_missing"] = True
        why.append(f"{count(n_blank, 'row')} without a task, a worker or an answer: left out")
    is_scale = profile is not None and is_numeric_scale(profile)
    if 0 < share < MOSTLY and (is_scale or reading.is_score):
        options["on_conflict"] = "mean"
        why.append(f"{share:.1%} of the rows are second scores of a worker for one task: their mean counts")
    elif 0 < share < MOSTLY:
        options["on_conflict"] = "first"
        why.append(f"{share:.1%} of the rows are second, different answers of a worker to one task: the first counts")
    if profile is not None and is_scale and not reading.is_score:
        low, high = _short(profile.low), _short(profile.high)
        if 0 < share < MOSTLY:
            options["on_conflict"] = "mean"
        return Plan(
            "ratings",
            options,
            why=(*why, f"{quoted(label)} holds numbers from {low} to {high}, {profile.n_values:,} different ones"),
            problem=f"{quoted(label)} is a numeric scale from {low} to {high} with {profile.n_values:,} different "
            "values (numeric ratings), not a set of classes",
            also=("rate",),
        )
    n_workers = len(np.unique(combined(frame, _parts(frame, worker)))) if worker in frame.columns else 1
    gold = _gold_column(frame, label, {task, worker, label})
    if gold:
        options["gold_column"] = gold
        why.append(f"{quoted(gold)} holds known labels")
    if is_pairwise(frame, label):
        also = ("rank",)
    rivals = [name for name in labels if name not in onehot or name == label]
    question = ""
    if profile is not None:
        if "label" not in given and strength(label, "label") < 3 and not onehot:
            rivals += [name for name in frame.columns if _may_be_asked(frame, name, {task, worker, *rivals})]
        if "label" not in given and strength(label, "label") < 3 and len(rivals) > 1 and not onehot:
            shown = [_values(frame.profiles[name]) for name in rivals[:4]]
            question = f"Which column is the answer: {', '.join(shown[:-1])} or {shown[-1]}?"
        else:
            why.append(f"{quoted(label)} looks like the answer ({count(profile.n_values, 'value')})")
    if onehot and label in onehot:
        question = (
            f"{len(onehot)} columns hold 0 or 1 ({', '.join(onehot[:3])}, …), a question each: choose one with label= "
            f"(--label), or take all as tasks of their own with fold= (--fold {_pattern(frame, onehot)!r})"
        )
    strong = all(strength(name, role) == 3 for name, role in ((task, "task"), (worker, "worker"), (label, "label")))
    certain = (
        strong
        and profile is not None
        and n_workers > 1
        and share == 0
        and n_blank == 0
        and not gold
        and not also
        and profile.n_values <= max(MOST_CLASSES, 0)
        and 3 * profile.n_values <= profile.n_given
        and sum(strength(name, "label") == 3 for name in labels) == 1
    )
    return Plan(
        "long",
        options,
        certain or bool(given and len(given) == 3),
        tuple(why),
        question=question,
        warnings=_conflict_warning(share, task),
        others=tuple({**options, "label": name} for name in labels[1:8]),
        also=also,
    )


def _may_be_asked(frame: Frame, name: str, taken: set[str]) -> bool:
    """Whether a column that is hardly the answer is named beside the likely one: no id, no text, no known label."""
    profile = frame.profiles[name]
    if name in taken or name == FROM_FILE or profile.nested or profile.n_values < 2 or profile.mean_length > LONG_TEXT:
        return False
    return not (
        is_gold(name) or is_text(name) or strength(name, "task") or (profile.is_unique and not profile.is_number)
    )


def _short(number: float) -> str:
    return f"{number:.4g}"


def _gold_column(frame: Frame, label: str, taken: set[str]) -> str:
    """Return the column of known labels, if its values are classes of the answers."""
    classes = frame.profiles[label].values if label in frame.profiles else frozenset()
    plain = {value.removesuffix(".0") for value in classes}
    for name, profile in frame.profiles.items():
        if name in taken or not is_gold(name) or not profile.values or not profile.n_given:
            continue
        if {value.removesuffix(".0") for value in profile.values} <= plain:
            return name
    return ""


def is_pairwise(frame: Frame, label: str) -> bool:
    """Whether answers say which of two things is better: two columns of the same things, or classes A and B."""
    twice = bool(compared(frame))
    values = {value.lower().strip("[]") for value in frame.profiles[label].values} if label in frame.profiles else set()
    sides = values <= {"a", "b", "tie", "c", "left", "right", "both", "neither", "model_a", "model_b", "equal"}
    return twice and len(values) <= 5 and (sides or "win" in label.lower())


def _is_shown(stem: str) -> bool:
    words = words_of(stem)
    return any(word in ("model", "answer", "response", "system", "output", "option", "candidate") for word in words)


def _long_without_label(frame: Frame, given: Mapping[str, Any], worker: str) -> Plan | None:
    texts = [
        name
        for name, profile in frame.profiles.items()
        if strength(name, "label") and is_free_text(profile) and not is_about(name)
    ]
    if not texts:
        return None
    profile = frame.profiles[texts[0]]
    return Plan(
        "nothing",
        problem=f"{profile.n_values:,} different answers among {profile.n_given:,} in {quoted(texts[0])}: this looks "
        "like free text, not a choice. Quorate needs a limited set of labels",
    )


# --- one row per task ---


def _classes_without_workers(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    """Tell columns of shares, of vote counts, and of known classes, which all stand without any worker."""
    if "worker" in given or reading.worker_name is not None:
        return None
    shares = [
        name
        for name, profile in frame.profiles.items()
        if profile.is_number and not profile.is_whole and profile.low >= 0 and profile.high <= 1 and not is_about(name)
    ]
    ones = [
        name
        for name, profile in frame.profiles.items()
        if profile.is_number and profile.is_whole and profile.low >= 0 and profile.high <= 1 and not is_about(name)
    ]
    shares = [name for name in shares if "." not in name]
    numbers = [name for name, profile in frame.profiles.items() if profile.is_number and not is_about(name)]
    if len(shares) >= 2 and 2 * len(shares) >= len(numbers):
        return Plan(
            "shares",
            problem=f"{_roles(frame, shares[:3])} hold shares between 0 and 1: the answers were counted before "
            "(aggregated), and the file no longer has the individual answers. Quorate needs those",
        )
    groups: dict[str, list[str]] = {}
    for name, profile in frame.profiles.items():
        if profile.is_whole and profile.low >= 0 and profile.n_blank == 0:
            groups.setdefault(_count_family(name), []).append(name)
    for family, names in groups.items():
        if family and len(names) > 1:
            return _count_plan(frame, given, names)
    families: dict[str, list[str]] = {}
    for name in ones:
        families.setdefault(_family_of(name), []).append(name)
    for names in families.values():
        if len(names) > 1 and _one_each(frame, names):
            return Plan(
                "gold",
                problem=f"{_roles(frame, names[:4])} mark one class per row, and no column names a worker: these are "
                "labels, not answers of several workers. They can serve as known labels (gold=, --gold) beside answers",
            )
    return None


def _count_family(name: str) -> str:
    """Name what columns of vote counts have in common; nothing for other columns."""
    path = name.rpartition(".")[0]
    if path and set(words_of(path)) & COUNT_WORDS:
        return path
    words = words_of(name)
    if len(words) > 1 and words[0] in COUNT_WORDS:
        return f"{words[0]} *"
    return f"* {words[-1]}" if len(words) > 1 and words[-1] in COUNT_WORDS - {"num", "n"} else ""


def _count_plan(frame: Frame, given: Mapping[str, Any], names: list[str]) -> Plan | None:
    totals = sum(_numbers(frame, name) for name in names)
    if float(np.max(totals)) < 2:
        return None
    task, why = _row_key(frame, given, set(names))
    return Plan(
        "classes",
        {**task, "label": _pattern(frame, names)},
        why=(*why, f"{_roles(frame, names[:6])} count the votes for each class; nobody says who voted"),
    )


def _numbers(frame: Frame, name: str) -> Any:
    return np.array([float(text or 0) for text in frame.texts(name)])


def _one_each(frame: Frame, names: Sequence[str]) -> bool:
    return bool(np.all(sum(_numbers(frame, name) for name in names) == 1))


def _wide(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    if "worker" in given or "label" in given or reading.worker_name is not None:
        return None
    taken = {*_parts(frame, given.get("task")), *frame.index, FROM_FILE, KEY}
    candidates = [
        name
        for name, profile in frame.profiles.items()
        if name not in taken
        and profile.n_values
        and not profile.nested
        and is_few(profile)
        and profile.values
        and not is_about(name)
        and not is_consensus(name)
        and not is_gold(name)
        and not is_numeric_scale(profile)
        and not (strength(name, "task") and not strength(name, "label"))
        and name not in compared(frame)
    ]
    candidates = [name for name in candidates if not _names_people(frame, name, candidates)]
    group = _answer_columns(frame, candidates)
    if not _are_workers(frame, group, candidates):
        return None
    group = _with_siblings(frame, group)
    people = [name for name in group if is_human(name)]
    if len(group) - len(people) >= 2 and people:
        group = [name for name in group if name not in people]
    if len(group) < 2:
        return None
    task, why = _row_key(frame, given, set(group))
    classes = frozenset().union(*(frame.profiles[name].values for name in group))
    options: dict[str, Any] = {**task, "workers": _pattern(frame, group)}
    gold = _gold_in_wide(frame, group, people)
    warnings = []
    if gold:
        options["gold_column"] = gold
        why.append(f"{quoted(gold)} looks like known labels")
    else:
        unused = [name for name in frame.columns if is_gold(name) or name in people or words_of(name) == ("label",)]
        for name in unused:
            if name not in group and not frame.profiles[name].values & classes and is_few(frame.profiles[name]):
                warnings.append(
                    f"{quoted(name)} looks like known labels, but it has no value in common with the answers "
                    f"({', '.join(sorted(classes)[:4])}): the answers may be marks of right and wrong"
                )
    if any(word in SWAPPED for name in group for word in words_of(name)):
        warnings.append(
            "the columns look like one judge asked twice, in two orders (position swap): they are not two workers"
        )
    shown = ", ".join(_values(frame.profiles[name]) for name in group[:6])
    why.append(f"{count(len(group), 'column')} share their values, a column per worker: {shown}")
    pairwise = is_pairwise(frame, group[0])
    return Plan("wide", options, False, tuple(why), warnings=tuple(warnings), also=("rank",) if pairwise else ())


def _wide_scores(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    """Find columns of numbers that have a name in common and overlapping ranges: one rater each."""
    if "worker" in given or "label" in given or reading.worker_name is not None:
        return None
    taken = {*_parts(frame, given.get("task")), *frame.index, FROM_FILE, KEY}
    families: dict[str, list[str]] = {}
    for name, profile in frame.profiles.items():
        is_score = is_numeric_scale(profile) or (reading.is_score and profile.is_number and profile.n_values > 1)
        is_other = is_about(name) or is_consensus(name) or is_gold(name) or strength(name, "task") > 0
        if name not in taken and is_score and not is_other:
            families.setdefault(_family_of(name), []).append(name)
    names_rater = {family: strength(family, "worker") > 0 for family in families}
    group = max(families.values(), key=lambda names: (names_rater[_family_of(names[0])], len(names)), default=[])
    if len(group) < 2 or not (reading.is_score or names_rater[_family_of(group[0])]):
        return None
    low = max(frame.profiles[name].low for name in group)
    high = min(frame.profiles[name].high for name in group)
    if low >= high:
        return None
    task, why = _row_key(frame, given, set(group))
    options: dict[str, Any] = {**task, "workers": _pattern(frame, group)}
    least = _short(min(frame.profiles[name].low for name in group))
    most = _short(max(frame.profiles[name].high for name in group))
    why.append(f"{count(len(group), 'column')} hold numbers from {least} to {most}, a column per rater")
    if reading.is_score:
        return Plan("wide", options, False, tuple(why))
    problem = (
        f"the columns {listing(group, 4)} hold a numeric scale from {least} to {most} (numeric ratings), not a set of "
        "classes"
    )
    return Plan("ratings", options, why=tuple(why), problem=problem, also=("rate",))


def _answer_columns(frame: Frame, candidates: Sequence[str]) -> list[str]:
    """Return the largest set of columns that share their values; those with a common name where there are some."""
    best: list[str] = []
    for name in candidates:
        mine = frame.profiles[name].values
        group = [other for other in candidates if _overlap(mine, frame.profiles[other].values) >= 0.5]
        if len(group) > len(best):
            best = group
    families: dict[str, list[str]] = {}
    for name in best:
        for dot in [k for k, letter in enumerate(name) if letter == "."]:
            families.setdefault(name[: dot + 1], []).append(name)
        families.setdefault(_family_of(name), []).append(name)
        families.setdefault("*" + " ".join(words_of(name)[-1:]), []).append(name)
    named = max(families.values(), key=len, default=[])
    if len(named) >= 2 and (2 * len(named) >= len(best) or len(named) > 2):
        best = named
    return [name for name in frame.columns if name in best]


def _names_people(frame: Frame, name: str, candidates: Sequence[str]) -> bool:
    """Whether a column says who answered, rather than holding one person's answers as others do."""
    if strength(name, "worker") < 3 or "." in name or re.search(r"\d", name):
        return False
    profile = frame.profiles[name]
    alike = [other for other in candidates if _overlap(profile.values, frame.profiles[other].values) >= 0.5]
    return profile.is_number or len(alike) < 3


def _with_siblings(frame: Frame, group: Sequence[str]) -> list[str]:
    """Add columns that are named as workers like these, or that hold the same classes under the same path."""
    family = {_family_of(name) for name in group}
    if len(family) == 1 and strength(next(iter(family)), "worker") > 0:
        is_number = frame.profiles[group[0]].is_number
        group = [
            name
            for name, profile in frame.profiles.items()
            if name in group or (_family_of(name) in family and profile.is_number == is_number and profile.n_values)
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


def _are_workers(frame: Frame, group: Sequence[str], candidates: Sequence[str]) -> bool:
    """Whether columns that share their values are answers: by their names, or because there is nothing else."""
    if len(group) < 2:
        return False
    paths = [part for name in group for part in name.split(".")]
    known = {*LABEL, *WORKER[:-3]}
    said = sum(
        any(word in known or word.rstrip("s") in known for part in name.split(".") for word in words_of(part))
        for name in group
    )
    if said > 1 and 2 * said >= len(group):
        return True
    if any(is_model_name(part) for part in paths):
        return True
    numbered = [name for name in group if re.search(r"\d$", name)]
    others = [name for name in frame.columns if name not in group and not _is_id_or_text(frame, name)]
    if len(numbered) == len(group) and len({_family_of(name) for name in group}) == 1:
        return len(others) <= len(group)
    nested = any("." in name for name in frame.columns)
    return len(group) > 2 and not others and not nested


def _is_id_or_text(frame: Frame, name: str) -> bool:
    profile = frame.profiles[name]
    if profile.is_unique or profile.mean_length > LONG_TEXT or name == FROM_FILE or not profile.n_values:
        return True
    return is_about(name) or is_text(name) or is_gold(name) or strength(name, "task") > 0 or is_consensus(name)


def is_model_name(name: str) -> bool:
    """Whether a name is that of a language model.

    >>> is_model_name("qwen2-5-7b-instruct"), is_model_name("GPT-4o (chat)"), is_model_name("gender")
    (True, True, False)
    """
    return MODEL.search(name) is not None


def compared(frame: Frame) -> list[str]:
    """Return the columns of the two things that are compared: ``model_a``, ``model_b``, ``answer_1``, ``answer_2``."""
    sides = (("a",), ("b",), ("1",), ("2",), ("left",), ("right",))
    pairs = [name for name in frame.columns if words_of(name)[-1:] in sides]
    stems = [_family_of(name) for name in pairs]
    return [name for name, stem in zip(pairs, stems, strict=True) if stems.count(stem) == 2 and _is_shown(stem)]


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / min(len(one), len(two)) if one and two else 0.0


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


def _pattern(frame: Frame, names: Sequence[str]) -> str:
    """Write columns as an option takes them: a pattern that means just these, or a list."""
    first = names[0]
    shared = first
    for name in names[1:]:
        while not name.startswith(shared):
            shared = shared[:-1]
    ending = first
    for name in names[1:]:
        while not name.endswith(ending):
            ending = ending[1:]
    for pattern in (f"{shared}*", f"*{ending}"):
        if len(pattern) > 2 and not re.search(r"[\[\]?,\"]", pattern) and _means(frame, pattern, names):
            return pattern
    return join_names(names)


def _means(frame: Frame, pattern: str, names: Sequence[str]) -> bool:
    return set(columns_named(frame, pattern, "workers")) == set(names)


# --- one worker, or none ---


def _single(frame: Frame, reading: ReadOptions, given: Mapping[str, Any]) -> Plan | None:
    """Tell a file of one worker from known labels, where no column names a worker."""
    known = [name for name, profile in frame.profiles.items() if is_gold(name) and can_be_label(profile)]
    no_workers = np.zeros(frame.n_rows, dtype=np.int64)
    labels = _label_candidates(frame, given, {FROM_FILE, *_parts(frame, given.get("task"))}, no_workers)
    labels = [name for name in labels if strength(name, "label") >= 2 or "label" in given]
    file_words = set(words_of(PurePath(frame.name).name.replace(".", "_")))
    is_gold_file = bool(file_words & GOLD_WORDS)
    if (known and not labels) or (labels and is_gold_file and "worker" not in given):
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
    task, why = _row_key(frame, given, {label})
    if not task and "task" not in given:
        key = _composite_key(frame, {label})
        task = {"task": join_names(key)} if key else {}
    if not task:
        return None
    title = worker_name_of(frame.name)
    options: dict[str, Any] = {**task, "label": label, "worker_name": title}
    if frame.profiles[label].n_blank:
        options["skip_missing"] = True
    gold = _gold_column(frame, label, {label})
    if gold:
        options["gold_column"] = gold
    return Plan(
        "long",
        options,
        False,
        (*why, f"{quoted(label)} looks like the answer ({count(frame.profiles[label].n_values, 'value')})"),
        question="No column says which worker this is. If the file holds one worker (judge), name it with worker_name= "
        "(--worker-name); or give all files at once: the file name is then the worker",
        warnings=("one worker alone gives nothing to combine: give the files of the other workers too",),
        also=("rank",) if is_pairwise(frame, label) else (),
        others=tuple({**options, "label": name} for name in labels[1:6]),
    )


def _nothing(frame: Frame) -> Plan:
    columns = [_values(profile) for profile in list(frame.profiles.values())[:12]]
    return Plan(
        "nothing",
        problem=f"{frame.name} is a table with {count(frame.n_rows, 'row')} and the columns {', '.join(columns)}. No "
        "column looks like answers of several workers",
    )
