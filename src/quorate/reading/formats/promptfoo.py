"""promptfoo: the results of an evaluation, as JSON or JSON lines. The judge is the provider that graded an assertion.

Field names: https://www.promptfoo.dev/docs/configuration/outputs and
https://www.promptfoo.dev/docs/configuration/reference (GradingResult); what a failed grader writes was seen in results
of version 0.121.20 (``tools/judge_samples.py``).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from quorate.reading.formats.content import Content, Record, as_text
from quorate.reading.formats.export import Export, Format
from quorate.reading.formats.judging import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, part, passed
from quorate.reading.formats.shape import ANYTHING, VALUE, Each, Either, check_records
from quorate.reading.options import ReadOptions

# What promptfoo writes, of what is read here.
PROVIDER = Either(VALUE, Each(ANYTHING))
ASSERTION = {"type": VALUE, "metric": VALUE, "provider": PROVIDER}
GRADED = {"pass": VALUE, "score": VALUE, "reason": VALUE, "assertion": ASSERTION, "metadata": Each(ANYTHING)}
RESULT = {
    **dict.fromkeys(("testIdx", "promptIdx", "id"), VALUE),
    "vars": Each(ANYTHING),
    "testCase": {"options": {"provider": PROVIDER}},
    "gradingResult": {"componentResults": [GRADED]},
}
FILE = {"results": {"results": [RESULT]}}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    whole = "results" in fields and bool({"evalId", "shareableUrl"} & fields)
    return content.layout == "records" and (whole or {"promptIdx", "gradingResult"} <= fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    whole = "results" in content.fields
    check_records(content.records, FILE if whole else RESULT, "promptfoo", "record")
    results: list[Record] = content.records
    if whole:
        results = [result for record in content.records for result in part(record, "results", "results") or []]
    return judged("promptfoo", content, reading, list(_verdicts(results, reading)))


FORMAT = Format(
    "promptfoo",
    "promptfoo results: JSON or JSON lines",
    "'results' beside 'evalId', or lines with 'promptIdx' and 'gradingResult'",
    _recognise,
    _read,
)


def _verdicts(results: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    prompts = len({as_text(result.get("promptIdx")) for result in results}) > 1
    for number, result in enumerate(results):
        usual = as_text(result.get("testIdx"))
        usual = str(number) if usual is None else usual
        if prompts:  # an output of each prompt and provider
            usual = f"{usual}:{as_text(result.get('promptIdx'))}"
        task = first_of(reading.task, usual, result, result.get("vars"))
        graded = part(result, "gradingResult", "componentResults") or []
        if not graded:
            yield Verdict("", task, None, None, f"result {usual}", left_out=UNJUDGED)
        seen: Counter[tuple[str, str]] = Counter()
        for each in graded:
            kind = as_text(part(each, "assertion", "type")) or "assertion"
            model = _provider(part(each, "assertion", "provider")) or _provider(
                part(result, "testCase", "options", "provider")
            )
            judge = model or kind
            question = as_text(part(each, "assertion", "metric") or kind) or kind
            seen[question, judge] += 1  # a judge that is asked again is asked something else
            again = seen[question, judge]
            yield Verdict(
                question if again == 1 else f"{question} {again}",
                task,
                judge,
                passed(each.get("pass")),
                f"an assertion {kind!r} of result {usual}",
                score=each.get("score"),
                abstained=_abstained(each),
                alone=model is None,
            )


def _provider(given: Any) -> str | None:
    """Return the name of a provider, which is its id, or a record that has one."""
    if isinstance(given, dict):
        given = next((given[name] for name in ("label", "id", "text") if given.get(name)), None)
        return _provider(given) if isinstance(given, dict) else as_text(given)
    return as_text(given) if isinstance(given, str) else None


def _abstained(graded: Record) -> str:
    if not part(graded, "metadata", "graderError"):
        return ""
    return UNPARSED if "JSON" in str(graded.get("reason")) else FAILED
