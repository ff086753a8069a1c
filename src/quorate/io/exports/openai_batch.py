"""Lines with replies of models, as OpenAI's Batch API writes them. The judge is the model; its verdict is extracted.

Field names: https://platform.openai.com/docs/api-reference/batch/request-output, .../chat/object, .../responses/object.
A line may also contain the verdict itself, with ``custom_id`` and ``model``, if it was extracted before.
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

# Names of a verdict in a reply, the clearest first.
VERDICT_NAMES = (
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
WORDS = "|".join(VERDICT_NAMES)
STATED_VERDICT = re.compile(
    rf"(?:{WORDS})\W{{0,3}}(?:is\s+|[:=]\s*)[\[\"'*`(]*([\w.+-]*[\w+])|\[\[([^\[\]\n]{{1,40}})\]\]", re.IGNORECASE
)
FENCE = re.compile(r"^```\w*\s*|\s*```$")
MIN_LINES = 10  # with fewer replies, the share of those with a verdict is not checked
MIN_VERDICT_SHARE = 0.5  # of the replies must contain a verdict
VERDICT = "verdict"  # name of the only question
# The fields of a line that are read here.
CONTENT = Either(VALUE, [{"text": VALUE, "refusal": VALUE}])
MESSAGE = {"content": CONTENT, "refusal": VALUE}
BODY = {"model": VALUE, "choices": [{"message": MESSAGE}], "output": [Either({"content": CONTENT}, VALUE)]}
LINE = {
    **dict.fromkeys(("custom_id", "model", "judge", *VERDICT_NAMES), VALUE),
    "response": {"status_code": VALUE, "body": BODY},
    "error": ANYTHING,
    "metadata": Each(ANYTHING),
}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    extracted = bool(fields & {"model", "judge"}) and bool(fields & set(VERDICT_NAMES))
    return "custom_id" in fields and ("response" in fields or extracted)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, LINE, "OpenAI", "line")
    verdicts = list(_verdicts(content.records, reading))
    n_verdicts = sum(not verdict.abstained for verdict in verdicts)
    if len(verdicts) >= MIN_LINES and n_verdicts < MIN_VERDICT_SHARE * len(verdicts):
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
    """Return the verdict of a line and "", or None and the reason why it has none."""
    extracted = [line[name] for name in VERDICT_NAMES if as_text(line.get(name)) is not None]
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
    """Return the verdict in the reply of a judge, or None.

    It is a field of a JSON object, the last word after a name such as "verdict:" or in [[ ]], or a reply of one word.

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
        scalar = (named[name] for name in VERDICT_NAMES if name in named and not isinstance(named[name], dict | list))
        return first_filled(scalar)
    if document is not None and not isinstance(document, list):
        return document
    stated = [first or second for first, second in STATED_VERDICT.findall(text)]
    if stated:
        return stated[-1]
    word = text.strip(" .*[]()\"'`")
    return word if word and len(word.split()) == 1 and len(word) <= 40 else None
