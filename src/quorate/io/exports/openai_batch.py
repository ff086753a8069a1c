"""Lines of replies, as OpenAI's Batch API writes them: a verdict is looked for in each. The judge is the model.

Field names: https://platform.openai.com/docs/api-reference/batch/request-output, .../chat/object, .../responses/object.
A line may also hold the verdict itself, beside ``custom_id`` and ``model``, where somebody has taken it out before.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from quorate.errors import NoRowsError, shown
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import FAILED, REFUSED, UNPARSED, Verdict, first_of, judged, part
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.options import ReadOptions
from quorate.io.values import first_filled

# What a verdict is called in a reply, the surest first.
CALLED = (
    "verdict",
    "label",
    "grade",
    "judgment",
    "judgement",
    "decision",
    "choice",
    "winner",
    "rating",
    "score",
    "answer",
)
WORDS = "|".join(CALLED)
STATED_VERDICT = re.compile(
    rf"(?:{WORDS})\W{{0,3}}(?:is\s+|[:=]\s*)[\[\"'*`(]*([\w.+-]*[\w+])|\[\[([^\[\]\n]{{1,40}})\]\]", re.IGNORECASE
)
FENCE = re.compile(r"^```\w*\s*|\s*```$")
FEWEST_LINES = 10  # below which the share of replies with a verdict is not checked
LEAST_SHARE = 0.5  # of the replies that must hold a verdict
VERDICT = "verdict"  # the question of lines, which ask one thing
# What is written, of what is read here.
CONTENT = Either(VALUE, [{"text": VALUE, "refusal": VALUE}])
MESSAGE = {"content": CONTENT, "refusal": VALUE}
BODY = {"model": VALUE, "choices": [{"message": MESSAGE}], "output": [Either({"content": CONTENT}, VALUE)]}
LINE = {
    **dict.fromkeys(("custom_id", "model", "judge", *CALLED), VALUE),
    "response": {"status_code": VALUE, "body": BODY},
    "error": ANYTHING,
    "metadata": Each(ANYTHING),
}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    extracted = bool(fields & {"model", "judge"}) and bool(fields & set(CALLED))
    return "custom_id" in fields and ("response" in fields or extracted)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, LINE, "OpenAI", "line")
    verdicts = list(_verdicts(content.records, reading))
    n_verdicts = sum(not verdict.abstained for verdict in verdicts)
    if len(verdicts) >= FEWEST_LINES and n_verdicts < LEAST_SHARE * len(verdicts):
        raise NoRowsError(
            f"only {n_verdicts:,} of {len(verdicts):,} replies in {content.name} hold a verdict (a field "
            "verdict, label, grade, …, or one word): the replies seem to be free text, which cannot be "
            "combined. Let the judges answer with a verdict"
        )
    return judged("openai", content, reading, verdicts)


FORMAT = Format(
    "openai",
    "replies of models in the format of OpenAI's Batch API: JSON lines",
    "'custom_id' beside 'response', or beside 'model' and 'verdict' (or 'label', 'grade', 'score', …)",
    _recognise,
    _read,
)


def _verdicts(lines: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    for number, line in enumerate(lines, start=1):
        body = part(line, "response", "body")
        judge = next(
            (candidate for candidate in (line.get("judge"), line.get("model"), part(body, "model")) if candidate), None
        )
        value, reason = _verdict(line, body)
        task = first_of(reading.task, line.get("custom_id"), line, line.get("metadata"))
        yield Verdict(VERDICT, task, judge, value, f"line {number:,}, {shown(line.get('custom_id'))}", abstained=reason)


def _verdict(line: Record, body: Record) -> tuple[Any, str]:
    """Return the verdict of a line, or why it has none."""
    extracted = [line[name] for name in CALLED if as_text(line.get(name)) is not None]
    if extracted:
        return extracted[0], ""
    if line.get("error") or not body:
        return None, FAILED
    message = part((body.get("choices") or [{}])[0], "message")
    messages = [message, *(entry for entry in body.get("output") or [] if isinstance(entry, dict))]
    texts = []
    refused = bool(message.get("refusal"))
    for entry in messages:
        content = entry.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [piece["text"] for piece in parts if isinstance(piece.get("text"), str)]
        refused = refused or any(piece.get("refusal") for piece in parts)
    value = verdict_in("\n".join(texts))
    if value is not None:
        return value, ""
    return None, REFUSED if refused else UNPARSED


def verdict_in(text: str) -> Any:
    """Find a judge's verdict in its reply: a field of a JSON object, a single word, or the last that is called one.

    >>> [verdict_in(text) for text in ('{"reason": "so", "verdict": "good"}', "B", "It is so. Grade: **C**", "[[A]]")]
    ['good', 'B', 'C', 'A']
    >>> verdict_in("I cannot say.") is None
    True
    """
    text = FENCE.sub("", text.strip())
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        named = {str(name).lower(): value for name, value in document.items()}
        scalar = (named[name] for name in CALLED if name in named and not isinstance(named[name], dict | list))
        return first_filled(scalar)
    if document is not None and not isinstance(document, list):
        return document
    stated = [first or second for first, second in STATED_VERDICT.findall(text)]
    if stated:
        return stated[-1]
    word = text.strip(" .*[]()\"'`")
    return word if word and len(word.split()) == 1 and len(word) <= 40 else None
