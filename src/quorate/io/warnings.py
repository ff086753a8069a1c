"""Warnings about answers, with remedies: numeric scales, pairs, several labels, spans, free text, a single worker."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from quorate.answers import Answers
from quorate.errors import LONGEST_VALUE, count, in_quotes, listing
from quorate.io.columns import numbers_in
from quorate.io.detect_values import MAX_CLASSES, MAX_GRADES, are_different_answers, free_text_problem
from quorate.io.options import ROLES, ReadOptions
from quorate.io.values import as_text

MIN_TASKS = 20  # for a warning about perfect agreement, or about a header that was read as an answer
MIN_FREQUENT = 10  # answers of every other label, for a warning about a label that occurs once; conventional
MAX_RARE = 3  # labels that occur once and are named
MIN_WORD = 3  # letters; shorter labels, such as two-letter codes, are not taken for misspellings of each other
ANSWERS_AT_ONCE = 1 << 20  # compared at a time, until two answers to a task differ, which is usually soon
SPAN = re.compile(r"^\s*[\[{(].*(?:start|end|x|y|width|height|points|offset|left|top).*[\]})]\s*$", re.IGNORECASE)
SIDES = ({"a", "b"}, {"model_a", "model_b"}, {"left", "right"}, {"model_1", "model_2"}, {"a>b", "b>a"})
TIES = {"tie", "ties", "draw", "equal", "same", "both", "neither", "none", "both bad", "tie (bothbad)", "a=b", "a~b"}


# Words that mean "no answer", in lower case; "none" and "unknown" are not listed, because they are often classes.
NO_ANSWER = frozenset(
    {"n/a", "#n/a", "na", "nan", "null", "-", "?", "skip", "skipped", "unsure", "not sure", "don't know", "idk"}
    | {"no answer", "cannot tell", "can't tell"}
)


def answer_warnings(answers: Answers, reading: ReadOptions, *, with_counts: bool = True) -> list[str]:
    """Return the warnings about the answers, each with its remedy.

    Args:
        answers: the answers.
        reading: options with which they were read.
        with_counts: whether to warn also of a single worker or one answer per task, which a result states itself.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> answer_warnings(answers, ReadOptions())[0][:45]
    'Only one worker answered, so there is nothing'
    """
    warnings = []
    texts = [as_text(value) or "" for value in answers.classes.slice(0, 10_000).to_pylist()]
    n_classes = answers.n_classes
    n_answers = answers.n_answers
    if answers.n_workers == 1 and with_counts:
        warnings.append(
            "Only one worker answered, so there is nothing to combine, and no confidence can be given. Add the answers "
            "of other workers (several files can be given), or known labels (gold=, --gold)"
        )
    elif answers.n_answers == answers.n_tasks and answers.n_tasks > 1 and with_counts:
        warnings.append(
            "Every task has a single answer, so there is nothing to combine. Ask more workers about the same tasks"
        )
    elif answers.questions is None and n_classes > 1 and answers.n_tasks >= MIN_TASKS and _all_agree(answers):
        warnings.append(
            "All workers agree on every task, which is rare. Check that the column of answers does not hold a property "
            "of the task"
        )
    if answers.questions is not None:
        return warnings
    warnings += [*_no_answers(answers, texts, reading), *_header_as_answer(answers, reading)]
    warnings += _rare_labels(answers, texts, reading)
    if any(map(_is_span, texts[:20])):
        warnings.append(
            "The answers look like spans, boxes or other marks. Two of them are hardly ever equal, so combining them "
            "as labels is not useful. Choose a question with a limited set of labels"
        )
    elif _is_scale(texts):
        has_many_classes = n_classes > MAX_GRADES
        grades = "" if has_many_classes else "If they are grades, use ordered=True (--ordered). "
        numbers = sorted(texts, key=float)
        warnings.append(
            f"The labels are {n_classes:,} numbers from {numbers[0]} to {numbers[-1]}. {grades}To combine them into "
            "one number per task: quorate rate --help"
        )
    elif free_text := free_text_warning(answers):
        warnings.append(free_text)
    elif n_classes > MAX_CLASSES:
        warnings.append(
            f"There are {n_classes:,} labels among {n_answers:,} answers. If every task has options of its own, "
            "workers cannot be rated; then use method='majority' (--method majority)"
        )
    warnings += _several_labels(texts, reading)
    if are_sides(texts):
        warnings.append(
            f"The labels {listing(texts[:5])} look like the two sides of a comparison. Each label will be the side "
            "that won its task. To rank what was compared: quorate rank --help"
        )
    return warnings


def free_text_warning(answers: Answers) -> str | None:
    """Return the warning about answers that are nearly all different (free text); None for classes.

    >>> import quorate
    >>> free_text_warning(quorate.simulate.crowd(30, 5, 3).answers) is None
    True
    """
    n_classes = answers.n_classes
    n_answers = answers.n_answers
    return free_text_problem(n_classes, n_answers) if are_different_answers(n_classes, n_answers) else None


def _all_agree(answers: Answers) -> bool:
    """Whether all answers to the same task are equal, and a task has two answers; answers are sorted by task."""
    for low in range(0, answers.n_answers, ANSWERS_AT_ONCE):
        task = answers.task[low : low + ANSWERS_AT_ONCE + 1]
        label = answers.label[low : low + ANSWERS_AT_ONCE + 1]
        if ((task[1:] == task[:-1]) & (label[1:] != label[:-1])).any():
            return False
    return answers.n_answers > answers.n_tasks


def _is_scale(texts: Sequence[str]) -> bool:
    """Whether the classes are numbers at equal steps, or many numbers, as on a scale of grades."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return False
    if len(numbers) < 5 and not (len(numbers) > 2 and min(numbers) == 1):
        return len(numbers) > MAX_GRADES
    steps = {round(b - a, 6) for a, b in pairwise(numbers)}
    return len(steps) == 1 or len(numbers) > MAX_GRADES


def _is_span(text: str) -> bool:
    """Whether a text is a record of a span, a box or a shape; of a long text, only both ends are searched."""
    return SPAN.match(text if len(text) <= 1_000 else f"{text[:500]}{text[-500:]}") is not None


def _several_labels(texts: Sequence[str], reading: ReadOptions) -> list[str]:
    if reading.multi is not None:
        return []
    listed = [text for text in texts if re.match(r"^\s*\[.*\]\s*$", text, re.DOTALL)]
    if len(listed) > 1 and not any(map(_is_span, listed[:20])):
        return [
            f"Some labels are lists, such as {listing(listed[:2])}. If an answer may give several labels, write "
            "them with one separator and use --multi"
        ]
    for mark in ("|", "\n"):
        joined = [text for text in texts if mark in text.strip()]
        parts = {part.strip() for text in joined for part in text.split(mark)}
        if joined and parts & set(texts):
            written = "a line end" if mark == "\n" else f'"{mark}"'
            return [
                f"{count(len(joined), 'label')} {'contains' if len(joined) == 1 else 'contain'} {written} between "
                f"other labels, such as {listing(joined[:1])}. If an "
                f"answer may give several labels, use --multi {mark!r}"
            ]
    return []


def are_sides(texts: Sequence[str]) -> bool:
    """Whether the classes are the two sides of a comparison, and perhaps a tie.

    >>> are_sides(["A", "B"]), are_sides(["left", "right", "tie"]), are_sides(["A", "B", "C", "D"])
    (True, True, False)
    """
    plain = {text.strip().lower() for text in texts}
    plain = {"tie" if text == "[[c]]" else text.strip("[]") for text in plain}  # the format of MT-bench judges
    return any(sides <= plain <= sides | TIES for sides in SIDES)


def _no_answers(answers: Answers, texts: Sequence[str], reading: ReadOptions) -> list[str]:
    """Return a warning about labels that probably mean "no answer", unless the user has listed the classes."""
    codes = [code for code, text in enumerate(texts) if text.strip().lower() in NO_ANSWER]
    if not codes or reading.classes or len(codes) == answers.n_classes:
        return []
    n_answers = np.bincount(answers.label, minlength=answers.n_classes)
    names = [texts[code] for code in codes]
    counts = [count(int(n_answers[code]), "answer") for code in codes]
    counted = " and ".join(f'"{name}" ({number})' for name, number in zip(names, counts, strict=True))
    option = shlex.quote(",".join(names))
    return [
        (
            f"{counted} probably means that there is no answer, but counts as a label. If so, declare it "
            f"(abstain=, --abstain {option})"
        )
    ]


def _rare_labels(answers: Answers, texts: Sequence[str], reading: ReadOptions) -> list[str]:
    """Return warnings about labels that occur once, if all others are frequent: misspellings, or "no answer"."""
    if reading.classes or not 2 < len(texts) == answers.n_classes <= MAX_CLASSES:
        return []
    n_answers = np.bincount(answers.label, minlength=answers.n_classes)
    frequent = [code for code in range(len(texts)) if n_answers[code] >= MIN_FREQUENT]
    once = [code for code in range(len(texts)) if n_answers[code] == 1 and not texts[code].strip().isdecimal()]
    if len(frequent) + len(once) < len(texts) or len(frequent) < 2:  # then rare labels are usual in these answers
        return []
    warnings = []
    for code in once[:MAX_RARE]:
        near = [other for other in frequent if _one_letter_apart(texts[code].strip(), texts[other].strip())]
        if near:
            warnings.append(
                f"{in_quotes(texts[code])} occurs once, and {in_quotes(texts[near[0]])} {n_answers[near[0]]:,} times. "
                "If it is a misspelling, correct it in the file, or map it (map=, --map)"
            )
        elif texts[code].strip().lower() not in NO_ANSWER:  # `_no_answers` warns of these
            named = f" {shlex.quote(texts[code])}" if len(texts[code]) <= LONGEST_VALUE else ""
            warnings.append(
                f"{in_quotes(texts[code])} occurs once. If it means that there is no answer, declare it (abstain=, "
                f"--abstain{named})"
            )
    return warnings


def _one_letter_apart(one: str, two: str) -> bool:
    """Whether two words differ by one letter that is missing, added, changed or swapped with the next letter.

    >>> _one_letter_apart("gutt", "gut"), _one_letter_apart("neutrla", "neutral"), _one_letter_apart("a", "b")
    (True, True, False)
    """
    one, two = sorted((one.casefold(), two.casefold()), key=len)
    if len(one) < MIN_WORD or one == two or not (one + two).replace(" ", "").isalpha() or len(two) - len(one) > 1:
        return False
    at = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
    if len(one) < len(two):
        return one[at:] == two[at + 1 :]
    swapped = one[:at] + one[at : at + 2][::-1] + one[at + 2 :]
    return one[at + 1 :] == two[at + 1 :] or swapped == two


def _header_as_answer(answers: Answers, reading: ReadOptions) -> list[str]:
    """Return a warning if one row shares no value with others: probably a header, although column names are given."""
    if reading.column_names is None or reading.column_names == ("header",) or answers.n_answers < MIN_TASKS:
        return []
    is_alone = (answers.per_worker[answers.worker] == 1) & (answers.per_task[answers.task] == 1)
    is_alone &= (np.bincount(answers.label, minlength=answers.n_classes) == 1)[answers.label]
    if is_alone.sum() != 1:
        return []
    row = int(np.flatnonzero(is_alone)[0])
    names = (answers.task_names[int(answers.task[row])], answers.worker_names[int(answers.worker[row])])
    cells = [as_text(value.as_py()) or "" for value in (*names, answers.classes[int(answers.label[row])])]
    row_text = ", ".join(cell[:LONGEST_VALUE] for cell in cells)
    names_cells = all(len(cell) <= LONGEST_VALUE for cell in cells)
    task, worker, label = map(shlex.quote, cells) if names_cells else ("COLUMN", "COLUMN", "COLUMN")
    return [
        f"The row {row_text} shares no value with other rows and is probably a header, but counts as an "
        f"answer. Leave out --columns, and use --task {task} --worker {worker} --label {label}"
    ]


MAX_INTEGER_CLASSES = 12  # distinct integers; so few labels may be classes
MIN_SCALE_ANSWERS = 8  # with fewer answers, nothing is concluded from their labels
MAX_DISTINCT_SHARE = 0.5  # distinct values / answers; above this share, integers may be ids


def looks_like_scores(
    labels: pa.Array, n_answers: int, *, file: str | None = None, options: ReadOptions | None = None
) -> str | None:
    """Return a warning if labels look like scores: numbers with fractions, or more than 12 distinct integers.

    Args:
        labels: the distinct labels.
        n_answers: number of answers.
        file: name of the file, for the proposed command.
        options: options with which the answers were read, for the proposed command.

    Returns:
        the sentence; None for classes, which are text, few integers, or integers of which most occur once (ids).

    >>> looks_like_scores(pa.array(["83.5", "20", "71", "33"]), 8, file="marks.csv")[-36:]
    'quorate rate marks.csv --score label'
    >>> looks_like_scores(pa.array(["1", "2", "3"]), 90) is None
    True
    """
    if len(labels) < 3 or n_answers < MIN_SCALE_ANSWERS or pa.types.is_boolean(labels.type):
        return None
    if np.isnan(numbers_in(labels[:100])).any():  # the first ones, before all are parsed
        return None
    values = numbers_in(labels)
    if np.isnan(values).any():
        return None
    is_integer = bool((values == np.round(values)).all())
    if is_integer and (len(values) <= MAX_INTEGER_CLASSES or len(values) > MAX_DISTINCT_SHARE * n_answers):
        return None
    command = rate_command(file, options or ReadOptions())
    return (
        f"the labels are {len(values):,} different numbers from {values.min():g} to {values.max():g}, and each counts "
        f"as a class; if they are scores on a scale, run: {command}"
    )


def rate_command(file: str | None, options: ReadOptions) -> str:
    """Return the ``quorate rate`` command for a file that was read with these options.

    >>> rate_command("marks.csv", ReadOptions(task="item", workers=("ann", "bob")))
    'quorate rate marks.csv --task item --workers ann,bob'
    """
    from quorate.io.proposals import FLAGS, command_line
    from quorate.io.scores import NO_WORKER, ScoreOptions

    chosen = options.non_default((*FLAGS, "format"))
    for role, column, default in zip(ROLES, options.columns, ScoreOptions().columns, strict=True):
        chosen.pop(role, None)
        if column != default:
            chosen[role] = column
    if options.workers is not None or options.fold is not None:  # then these options name the columns of scores
        chosen.pop("label", None)
        chosen.pop("worker", None)
    if not options.has_workers:
        chosen["worker"] = NO_WORKER
        chosen.pop("on_conflict", None)
    if options.tool == "table":
        chosen.pop("tool")
    if options.delimiter == ",":  # it is detected
        chosen.pop("delimiter")
    return command_line("rate", [file or "FILE"], chosen)
