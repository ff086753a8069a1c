"""Common code for logs of LLM judges: each verdict becomes an answer of the judge, with its model family as group.

For each judged output, a log has scores under one or several names. Each name is a question, and the judges of a
question are distinguished by their models. If a log has a different name for each judge instead, the question ``*``
reads all of them as judges of one question. The question ``NAME.score`` reads the number of a verdict instead of its
label.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quorate.errors import NoRowsError, OptionError, count, listing, shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import (
    OTHER_QUESTION,
    Export,
    FoundAnswer,
    assemble,
)
from quorate.io.exports.questions import question_named, with_questions
from quorate.io.options import ReadOptions
from quorate.io.proposals import with_command
from quorate.io.values import first_filled

ALL_QUESTIONS = "*"
SCORE = ".score"
# Reasons why a judge gave no verdict; there are few, because each is a separate abstention label.
UNPARSED = "no verdict in the reply"
FAILED = "the judge failed"
REFUSED = "the judge refused"
UNJUDGED = "outputs without any score"
# Services that run models of other vendors, so that their names do not show a family; mockllm is Inspect's test model.
HOSTS = frozenset({
    "mockllm", "mock", "azure", "azureai", "azureopenai", "bedrock", "vertex", "vertexai", "vertex_ai", "sagemaker",
    "openrouter", "together", "together_ai", "fireworks", "fireworks_ai", "groq", "replicate", "deepinfra",
    "cloudflare", "databricks", "litellm", "litellm_proxy", "portkey", "hf", "huggingface", "hf_inference", "ollama",
    "ollama_chat", "vllm", "hosted_vllm", "sglang", "lmstudio", "llamafile", "localai", "exec", "file", "http",
    "https", "python",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """One score of one output in a log."""

    question: str
    task: Any
    judge: Any  # the model, the person, or the name of a rule
    value: Any
    where: str  # for messages
    score: Any = None  # the number, if a log has both a value and a number
    abstained: str = ""  # why there is no value
    left_out: str = ""  # why it does not count
    known: bool = False  # whether it is a known label
    alone: bool = False  # whether the judge has no family, because it is a person or a rule


def family(judge: str) -> str:
    """Return the family of a model: its vendor or, if the name does not have one, the first letters of the model.

    The vendor is the last part before the last slash or, in names with colons, the part before the first colon. If this
    is a service that runs models of others, or is empty, the family is the letters with which the model's name begins.

    >>> [family(name) for name in ("openai/gpt-4o", "openai:chat:gpt-4o", "openrouter/anthropic/claude-4", "gpt-4o")]
    ['openai', 'openai', 'anthropic', 'gpt']
    >>> family("groq/llama-3.1-70b"), family("llama3"), family("7")
    ('llama', 'llama', '7')
    """
    maker, slash, model = judge.rpartition("/")
    if slash:
        maker = re.split(r"[/:]", maker.rstrip(":/"))[-1]
    else:
        maker, _, model = judge.partition(":") if ":" in judge else ("", "", judge)
        model = model.rpartition(":")[2]
    if maker and maker.lower() not in HOSTS:
        return maker
    letters = re.match(r"[^\W\d_]+", model)
    return letters[0].lower() if letters else judge


def judged(
    tool: str,
    content: Content,
    reading: ReadOptions,
    verdicts: Sequence[Verdict],
    notes: tuple[str, ...] = (),
    *,
    needs_panel: bool = False,
    can_pool: bool = True,
) -> Export:
    """Return the `Export` with the verdicts on one question as answers.

    Args:
        tool: the tool that wrote the log.
        content: the log.
        reading: options of the caller.
        verdicts: all verdicts of the log.
        notes: notes for the reader of the result.
        needs_panel: whether to refuse a log with one judge per question, unless the caller chose a question.
        can_pool: whether scores with different names may be read as judges of one question.

    Raises:
        OptionError: there are several questions, and none was chosen.
        NoRowsError: there are no verdicts, or only those of one judge.

    >>> from quorate.io.exports.content import look
    >>> verdicts = [Verdict("tone", 1, "openai/gpt-4o", "glad", "line 1")]
    >>> judged("mine", look([{}]), ReadOptions(), verdicts).table.to_pylist()
    [{'task': '1', 'worker': 'openai/gpt-4o', 'label': 'glad', 'group': 'openai'}]
    """
    questions = list(dict.fromkeys(verdict.question for verdict in verdicts if verdict.question and not verdict.known))
    chosen = reading.question
    if chosen is not None and chosen != ALL_QUESTIONS:
        chosen = question_named(chosen, [*questions, *(f"{name}{SCORE}" for name in questions)]) or chosen
        reading = replace(reading, question=chosen)
    if not questions:
        unjudged = sum(verdict.left_out == UNJUDGED for verdict in verdicts)
        raise NoRowsError(f"{content.name} holds no verdicts: nothing was graded ({count(unjudged, 'output')})")
    judges = _judges_of(verdicts)
    if chosen is None and needs_panel and max(len(judges[name]) for name in questions) < 2:
        listed = ", ".join(f"{shown(name, 40)} (by {listing(judges[name], 1) or 'nobody'})" for name in questions[:6])
        no_panel = NoRowsError(
            f"{content.name} has one judge only for each question: {listed}. There is nothing to combine; a panel has "
            "several judges of the same outputs. To read one question anyway, choose it by its number with question= "
            "(--question)"
        )
        raise with_questions(no_panel, questions)
    if chosen is None and len(questions) > 1:
        pooled = f", or read each as one judge of a common question with {ALL_QUESTIONS!r}" if can_pool else ""
        error = OptionError(
            f"{content.name} has scores with the names {listing(questions, 30)}; choose one with "
            f"question= (--question){pooled}"
        )
        error = with_questions(error, questions)
        best = max(questions, key=lambda name: len(judges[name]))
        if len(judges[best]) < 2:
            raise error
        raise with_command(error, content.files or (content.name,), {"question": best})
    if chosen == ALL_QUESTIONS and not can_pool:
        raise OptionError(
            f"the metrics of {content.name} measure different things, and cannot be pooled; choose one of "
            f"{listing(questions, 12)} with question= (--question)"
        )
    if questions and chosen is not None and (chosen == ALL_QUESTIONS or chosen.removesuffix(SCORE) in questions):
        questions += [] if chosen in questions else [chosen]
    return assemble(tool, content, reading, questions, lambda q: _answers(verdicts, q, questions), notes=notes)


def _judges_of(verdicts: Iterable[Verdict]) -> dict[str, list[str]]:
    """Return question -> its judges, in the order of the log."""
    judges: dict[str, dict[str, None]] = {}
    for verdict in verdicts:
        people = judges.setdefault(verdict.question, {})
        if not verdict.known and not verdict.left_out and not isinstance(verdict.judge, dict | list | tuple):
            people |= {as_text(verdict.judge) or "": None}
    return {name: list(people) for name, people in judges.items()}


def _answers(verdicts: Iterable[Verdict], question: str, questions: Sequence[str]) -> Iterator[FoundAnswer]:
    """Yield every verdict as an answer to the question, or with the reason why it is left out."""
    scores = question.endswith(SCORE) and question.removesuffix(SCORE) in questions
    name = question.removesuffix(SCORE) if scores else question
    for verdict in verdicts:
        if verdict.question not in (name, "") and question != ALL_QUESTIONS:
            yield FoundAnswer(None, None, None, verdict.where, OTHER_QUESTION)
            continue
        judge = as_text(verdict.judge) if not isinstance(verdict.judge, dict | list | tuple) else verdict.judge
        worker: Any = judge
        if question == ALL_QUESTIONS and verdict.question:
            worker = verdict.question if judge in (None, verdict.question) else f"{verdict.question} by {judge}"
        group = as_text(worker)
        if isinstance(judge, str):
            group = judge if verdict.alone else family(judge)
        value = verdict.score if scores else verdict.value
        is_blank = as_text(value) is None or (isinstance(value, list | tuple | dict) and not value)
        reason = verdict.abstained or (UNPARSED if is_blank else "")
        yield FoundAnswer(
            verdict.task,
            worker,
            None if reason else value,
            verdict.where,
            verdict.left_out,
            verdict.known,
            abstained="" if verdict.left_out or verdict.known else reason,
            group=group,
        )


def first_of(name: str | None, default_task: Any, *parts: Any) -> Any:
    """Return the id of the task: the field that the caller named, from the first record with it, or the usual id.

    >>> first_of("number", 7, {"id": 1}, {"number": 2}), first_of(None, 7)
    (2, 7)
    """
    if name is None:
        return default_task
    return next((part[name] for part in parts if isinstance(part, dict) and name in part), None)


def passed(value: Any) -> Any:
    """Return ``pass`` for true and ``fail`` for false, as in test reports; any other value unchanged.

    >>> passed(True), passed(None)
    ('pass', None)
    """
    if not isinstance(value, bool):
        return value
    return "pass" if value else "fail"


def part(record: Any, *names: str) -> Any:
    """Return the value at a path in nested records; an empty record if a field is missing.

    >>> part({"info": {"id": 7}}, "info", "id"), part({}, "info", "id")
    (7, {})
    """
    for name in names:
        record = record.get(name) if isinstance(record, dict) else None
    return {} if record is None else record


def model_in(record: Record) -> Any:
    """Return the judge in the metadata of a score; None if they do not name one.

    >>> model_in({"metadata": {"model": "openai/gpt-4o"}}), model_in({})
    ('openai/gpt-4o', None)
    """
    named = (part(record, "metadata", name) for name in ("judge", "model", "evaluator"))
    return first_filled(candidate for candidate in named if not isinstance(candidate, dict | list))
