"""The questions of an export: classify their answers, and choose the question to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quorate.errors import AnyError, NoRowsError, OptionError, QuorateError, count, listing, shown
from quorate.io.detect_values import MAX_CLASSES
from quorate.io.values import natural_order, parse_number

MAX_PER_TASK = 5  # distinct answers to one task, if the options are different for each task
MAX_WORDS = 12  # of an answer that is a choice, because options of forms are short


@dataclass(frozen=True)
class QuestionKind:
    """The kind of the answers to a question."""

    kind: str  # "choice", "boxes", "joined", "scale" or "text"
    about: str  # description in a few words
    n_values: int

    @property
    def is_class(self) -> bool:
        """Whether the answers are labels from a limited set."""
        return self.kind != "text"


def describe_question(values: Sequence[Any], tasks: Sequence[Any] = ()) -> QuestionKind:
    """Classify the answers to a question: a choice, tick-boxes, a scale, or free text.

    Args:
        values: the answers.
        tasks: task of each answer, to recognise choices whose options are different for each task.

    >>> describe_question(["yes", "no", "yes"]).about, describe_question([["a"], ["a", "b"]]).kind
    ('2 values', 'boxes')
    """
    answered = [value for value in values if value is not None]
    lists = [value for value in answered if isinstance(value, list)]
    if lists:
        options = natural_order(list({option for chosen in lists for option in chosen}))
        if all(len(chosen) == 1 for chosen in lists):
            return QuestionKind("choice", f"one of {', '.join(options[:4])}", len(options))
        return QuestionKind("boxes", f"tick-boxes {', '.join(options[:4])}", len(options))
    different = {str(value).strip() for value in answered}
    different.discard("{}")
    parts = {part for value in different for part in value.split("|")}
    if any("|" in value for value in different) and parts & different and len(parts) <= MAX_CLASSES:
        return QuestionKind("joined", f'{len(parts)} labels joined by "|"', len(parts))
    n = len(answered)
    words = max((len(value.split()) for value in different), default=0)
    if len(different) > 10 and len(different) <= n / 3 and _has_few_per_task(values, tasks):
        return QuestionKind(
            "choice", f"{count(len(different), 'value')}, at most {MAX_PER_TASK} per task", len(different)
        )
    if len(different) > MAX_CLASSES or (n >= 10 and len(different) > n / 3) or words > MAX_WORDS:
        return QuestionKind("text", "free text", len(different))
    if len(different) > 4 and all(parse_number(value) is not None for value in different):
        return QuestionKind("scale", f"numbers, {count(len(different), 'value')}", len(different))
    return QuestionKind("choice", count(len(different), "value"), len(different))


def _has_few_per_task(values: Sequence[Any], tasks: Sequence[Any]) -> bool:
    """Whether every task has at most `MAX_PER_TASK` distinct answers."""
    per_task: dict[Any, set[str]] = {}
    for task, value in zip(tasks, values, strict=False):
        if value is not None:
            per_task.setdefault(task, set()).add(str(value).strip())
    return len(per_task) > 1 and max(map(len, per_task.values())) <= MAX_PER_TASK


def differs_within(tasks: Sequence[Any], values: Sequence[Any]) -> bool:
    """Whether at least one task has two different values; None is not a value.

    >>> differs_within([1, 1, 2], ["a", "b", "c"]), differs_within([1, 1, 2], ["a", None, "c"])
    (True, False)
    """
    first: dict[Any, Any] = {}
    rows = zip(tasks, values, strict=True)
    return any(value is not None and first.setdefault(task, value) != value for task, value in rows)


@dataclass(frozen=True)
class QuestionInfo:
    """Information about the questions of an export, for the error that asks to choose one."""

    details: Mapping[str, str] = field(default_factory=dict)  # question -> description of its answers
    options: Mapping[str, Any] = field(default_factory=dict)  # reading options to propose; may be empty
    files: tuple[str, ...] = ()
    note: str = ""
    alternatives: tuple[Mapping[str, Any], ...] = ()  # other reading options to propose


def question_named(chosen: str, questions: Sequence[str]) -> str | None:
    """Return the question with this name, number (from 1) or unambiguous beginning; None if there is none.

    >>> names = ["tone of voice", "tone", "length"]
    >>> [question_named(chosen, names) for chosen in ("tone", "3", "Len", "to")]
    ['tone', 'length', 'length', None]
    """
    if chosen in questions:
        return chosen
    if chosen.isdecimal() and 1 <= int(chosen) <= len(questions):
        return questions[int(chosen) - 1]
    matches = [name for name in questions if name.lower().startswith(chosen.strip().lower())]
    return matches[0] if len(matches) == 1 and chosen.strip() else None


def with_questions(error: AnyError, questions: Sequence[str]) -> AnyError:
    """Return the error with the questions that can be chosen, in their order."""
    error.questions = tuple(questions)
    return error


def choose_question(questions: Sequence[str], chosen: str | None, name: str, about: QuestionInfo | None = None) -> str:
    """Return the question that the caller chose or, without a choice, the only question.

    Args:
        questions: all questions of the export.
        chosen: the question that the caller chose.
        name: name of the export, for messages.
        about: information about the questions, and options to propose.

    Raises:
        OptionError: there are several questions and none was chosen, or the chosen one does not exist.

    >>> choose_question(["tone"], None, "export.json")
    'tone'
    """
    named = None if chosen is None else question_named(chosen, questions)
    if named is not None:
        return named
    overview = f"{name} has the question{'s' if len(questions) > 1 else ''} {listing(questions, 30)}"
    if about is not None and questions:
        listed = [
            f"{question} ({about.details[question]})" if question in about.details else question
            for question in questions
        ]
        more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
        overview = f"{name} asks {count(len(questions), 'question')}: {', '.join(listed[:12])}{more}"
        if about.note:
            overview = f"{about.note} {overview}"
    if not questions:
        raise NoRowsError(
            f"{name} has no multiple-choice answers (but free text, spans or boxes), so there is nothing to combine"
        )
    if chosen is not None:
        raise with_questions(OptionError(f"There is no question {shown(chosen)}. {overview}"), questions)
    if len(questions) > 1:
        error: QuorateError = OptionError(f"{overview}; choose one with question= (--question)")
        error.questions = tuple(questions)
        if about is not None and about.options:
            from quorate.io.proposals import command_line, running_command, with_command

            error = with_command(error, about.files or (name,), about.options)
            commands = [
                command_line(running_command.get(), about.files or (name,), options) for options in about.alternatives
            ]
            error.commands = (*error.commands, *commands)
        raise error
    return questions[0]
