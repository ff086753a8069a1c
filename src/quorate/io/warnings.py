"""Warnings about answers, with remedies: numeric scales, pairs, several labels, spans, free text, a single worker."""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from quorate.answers import Answers
from quorate.errors import count, listing
from quorate.io.options import ReadOptions
from quorate.io.values import as_text

FREE_TEXT = 0.5  # different answers per answer, from which on they are no classes
FEWEST_TASKS = 20  # on which perfect agreement is remarkable
MANY_CLASSES = 50  # classes, from which on the words of the answers are looked at
MOST_GRADES = 11  # classes of a numeric scale that is still read as classes
SPAN = re.compile(r"^\s*[\[{(].*(?:start|end|x|y|width|height|points|offset|left|top).*[\]})]\s*$", re.IGNORECASE)
SIDES = ({"a", "b"}, {"model_a", "model_b"}, {"left", "right"}, {"model_1", "model_2"}, {"a>b", "b>a"})
TIES = {"tie", "ties", "draw", "equal", "same", "both", "neither", "none", "both bad", "tie (bothbad)", "a=b", "a~b"}
JOINED = {"|": "|", "\n": "\n"}


def answer_warnings(answers: Answers, reading: ReadOptions, *, with_counts: bool = True) -> list[str]:
    """Return what a reader of the result must know about the answers, with what to do.

    Args:
        answers: that were read.
        reading: how.
        with_counts: also say that there is one worker or one answer per task; a result says that itself.

    >>> import quorate
    >>> answers = quorate.read({"task": [1, 2], "worker": ["a", "a"], "label": ["x", "y"]})
    >>> answer_warnings(answers, ReadOptions())[0][:45]
    'only one worker answered, so there is nothing'
    """
    found = []
    texts = [as_text(value) or "" for value in answers.classes.slice(0, 10_000).to_pylist()]
    n_classes = answers.n_classes
    n_answers = answers.n_answers
    if answers.n_workers == 1 and with_counts:
        found.append(
            "only one worker answered, so there is nothing to combine, and no confidence can be given. Add the answers "
            "of other workers (several files can be given), or known labels (--gold)"
        )
    elif answers.n_answers == answers.n_tasks and answers.n_tasks > 1 and with_counts:
        found.append(
            "every task has a single answer, so there is nothing to combine. Ask further workers about the same tasks"
        )
    elif answers.asked is None and n_classes > 1 and answers.n_tasks >= FEWEST_TASKS and _all_agree(answers):
        found.append(
            "all workers agree on every task, which real workers rarely do. Check that the column of answers is not a "
            "property of the task"
        )
    if answers.asked is not None:
        return found
    if any(map(_is_span, texts[:20])):
        found.append(
            "the answers look like spans, boxes or other marks, not classes: two of them are hardly ever equal"
        )
    elif _is_scale(texts):
        many = n_classes > MOST_GRADES
        remedy = (
            "the command rate combines them into one score per task"
            if many
            else "say --ordered; the command rate combines numbers"
        )
        numbers = sorted(texts, key=float)
        found.append(
            f"the {n_classes:,} classes are numbers from {numbers[0]} to {numbers[-1]}: if they are a scale, {remedy}"
        )
    elif n_answers >= 20 and n_classes > max(FREE_TEXT * n_answers, 20):
        found.append(
            f"{n_classes:,} different answers among {n_answers:,}: this looks like free text, not a choice. Quorate "
            "needs a limited set of labels"
        )
    elif n_classes > MANY_CLASSES:
        found.append(
            f"{n_classes:,} classes among {n_answers:,} answers: if every task has options of its own, workers' errors "
            "cannot be compared across tasks"
        )
    found += _several_labels(texts, reading)
    found += _pairs(texts)
    return found


def _all_agree(answers: Answers) -> bool:
    first = np.r_[True, np.diff(answers.task) != 0]
    of_task = answers.label[first][np.cumsum(first) - 1]
    return bool(np.all(of_task == answers.label)) and answers.n_answers > answers.n_tasks


def _is_scale(texts: Sequence[str]) -> bool:
    """Whether the classes are numbers in a row, of which there are so many that they are grades."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return False
    if len(numbers) < 5 and not (len(numbers) > 2 and min(numbers) == 1):
        return len(numbers) > MOST_GRADES
    steps = {round(b - a, 6) for a, b in pairwise(numbers)}
    return len(steps) == 1 or len(numbers) > MOST_GRADES


def _is_span(text: str) -> bool:
    """Whether a text is a record of a span, a box or a shape: by its first characters and its last."""
    return SPAN.match(text if len(text) <= 1_000 else f"{text[:500]}{text[-500:]}") is not None


def _several_labels(texts: Sequence[str], reading: ReadOptions) -> list[str]:
    if reading.multi is not None:
        return []
    listed = [text for text in texts if re.match(r"^\s*\[.*\]\s*$", text, re.DOTALL)]
    if len(listed) > 1 and not any(map(_is_span, listed[:20])):
        return [
            f"some labels are lists ({listing(listed[:2])}): write several labels with one separator, and use --multi"
        ]
    for mark, name in JOINED.items():
        joined = [text for text in texts if mark in text.strip()]
        parts = {part.strip() for text in joined for part in text.split(mark)}
        if joined and parts & set(texts):
            written = "a line end" if mark == "\n" else f'"{name}"'
            return [
                f"{count(len(joined), 'label')} hold {written} between other labels ({listing(joined[:1])}): if an "
                f"answer may give several labels, say --multi {name!r}"
            ]
    return []


def _pairs(texts: Sequence[str]) -> list[str]:
    """Warn where the classes are two sides, and perhaps a tie; further options, as in A to D, are no sides."""
    plain = {text.strip().lower() for text in texts}
    plain = {"tie" if text == "[[c]]" else text.strip("[]") for text in plain}  # as judges of MT-bench write it
    if not any(sides <= plain <= sides | TIES for sides in SIDES):
        return []
    return [
        f"the classes {listing(texts[:5])} look like choices between two things. The labels say which side won each "
        "task; look at the order in which the sides were shown; the command rank estimates which thing is best"
    ]
