"""promptfoo: the results of an evaluation, as JSON or JSON lines. The judge is the provider that graded an assertion.

Field names: https://www.promptfoo.dev/docs/configuration/outputs and
https://www.promptfoo.dev/docs/configuration/reference (GradingResult); the output of a failed grader was seen in
results of version 0.121.20 (``tests/io/exports/make_samples.py``).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from quorate.errors import NoRowsError, listing
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, part, passed
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.options import ReadOptions

# The fields of a result that are read here.
PROVIDER = Either(VALUE, Each(ANYTHING))
ASSERTION = {"type": VALUE, "metric": VALUE, "provider": PROVIDER}
GRADED = {"pass": VALUE, "score": VALUE, "reason": VALUE, "assertion": ASSERTION, "metadata": Each(ANYTHING)}
RESULT = {
    **dict.fromkeys(("testIdx", "promptIdx", "id"), VALUE),
    "vars": Each(ANYTHING),
    "testCase": {"options": {"provider": PROVIDER}},
    "gradingResult": {"componentResults": [GRADED]},
}
MODEL_GRADED = (
    "llm-rubric",
    "model-graded",
    "factuality",
    "answer-relevance",
    "context-",
    "g-eval",
    "agent-rubric",
    "select-best",
    "similar",
    "moderation",
    "pi",
    "promptfoo:",
)
METRIC_TYPES = ("cost", "latency", "perplexity", "perplexity-score")
MAX_RUBRICS = 12  # distinct rubrics that may be questions; if there are more, they were written for single tests
MAX_RUBRIC_NAME = 60  # characters of a rubric that are the name of its question
RULE = "outputs graded by a rule"
FILE = {"results": {"results": [RESULT]}}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    is_complete = "results" in fields and bool({"evalId", "shareableUrl", "createdAt"} & fields)
    return content.layout == "records" and (is_complete or {"promptIdx", "gradingResult"} <= fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    is_complete = "results" in content.fields
    check_records(content.records, FILE if is_complete else RESULT, "promptfoo", "record")
    results: list[Record] = content.records
    if is_complete:
        results = [
            {"evalId": record.get("evalId"), **result}
            for record in content.records
            for result in part(record, "results", "results") or []
        ]
    verdicts = list(_verdicts(results, reading))
    graded = [verdict for verdict in verdicts if not verdict.left_out]
    judges = {verdict.question for verdict in graded if not verdict.alone or is_model_graded(verdict.question)}
    if reading.question is None and graded and not judges:
        rules = sorted({verdict.question for verdict in graded})
        raise NoRowsError(
            f"{content.name} is a test report of promptfoo whose assertions are rules "
            f"({listing(rules, 4)}), and no judge "
            "graded an output. There is nothing to combine"
        )
    if reading.question is None and judges:
        verdicts = [
            verdict if verdict.question in judges or verdict.left_out else replace(verdict, left_out=RULE, question="")
            for verdict in verdicts
        ]
    # Questions that judges graded come first, so that their numbers are the same with and without rules.
    verdicts.sort(key=lambda verdict: verdict.question not in judges)
    return judged("promptfoo", content, reading, verdicts, needs_panel=True)


FORMAT = Format(
    "promptfoo",
    "promptfoo results: JSON or JSON lines",
    "'results' beside 'evalId', or lines with 'promptIdx' and 'gradingResult'",
    _recognise,
    _read,
)


def is_model_graded(kind: str) -> bool:
    """Whether assertions of a type are graded by a model, not by a rule.

    >>> is_model_graded("llm-rubric"), is_model_graded("promptfoo:redteam:harmful"), is_model_graded("regex")
    (True, True, False)
    """
    return kind.startswith(MODEL_GRADED)


def _rubrics(results: list[Record]) -> dict[str, list[str]]:
    """Return type -> texts of its rubrics, for types with 2 to `MAX_RUBRICS` rubrics, each of which is a question."""
    texts: dict[str, dict[str, None]] = {}
    for result in results:
        for component in part(result, "gradingResult", "componentResults") or []:
            kind = as_text(part(component, "assertion", "type")) or "assertion"
            text = as_text(part(component, "assertion", "value"))
            if is_model_graded(kind) and text is not None:
                texts.setdefault(kind, {})[" ".join(text.split())] = None
    return {kind: list(rubrics) for kind, rubrics in texts.items() if 1 < len(rubrics) <= MAX_RUBRICS}


def _verdicts(results: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    prompts = len({as_text(result.get("promptIdx")) for result in results}) > 1
    rubrics = _rubrics(results)
    evals = len({as_text(result.get("evalId")) for result in results}) > 1
    providers = len({_provider(result.get("provider")) for result in results}) > 1
    for number, result in enumerate(results):
        default_task = as_text(result.get("testIdx"))
        default_task = str(number) if default_task is None else default_task
        if prompts:  # each prompt has a separate output
            default_task = f"{default_task}:{as_text(result.get('promptIdx'))}"
        if providers:
            default_task = f"{default_task}:{_provider(result.get('provider'))}"
        if evals:
            default_task = f"{as_text(result.get('evalId'))}/{default_task}"
        task = first_of(reading.task, default_task, result, result.get("vars"))
        graded = part(result, "gradingResult", "componentResults") or []
        if not graded:
            yield Verdict("", task, None, None, f"result {default_task}", left_out=UNJUDGED)
        seen: Counter[tuple[str, str]] = Counter()
        for component in graded:
            kind = as_text(part(component, "assertion", "type")) or "assertion"
            if kind in METRIC_TYPES:  # cost and latency are not verdicts
                continue
            model = _provider(part(component, "assertion", "provider")) or _provider(
                part(result, "testCase", "options", "provider")
            )
            judge = model or kind
            question = as_text(part(component, "assertion", "metric") or kind) or kind
            if kind in rubrics and question == kind:
                text = " ".join((as_text(part(component, "assertion", "value")) or "").split())
                question = f"{kind}: {text[:MAX_RUBRIC_NAME]}"
            seen[question, judge] += 1  # a second verdict of the same judge is about another question
            again = seen[question, judge]
            yield Verdict(
                question if again == 1 else f"{question} {again}",
                task,
                judge,
                passed(component.get("pass")),
                f"an assertion {kind!r} of result {default_task}",
                score=component.get("score"),
                abstained=_abstained(component),
                alone=model is None and not is_model_graded(kind),
            )


def _provider(provider: Any) -> str | None:
    """Return the name of a provider, which is given as its id or as a record with a name; None without a name."""
    if isinstance(provider, dict):
        provider = next((provider[name] for name in ("label", "id", "text") if provider.get(name)), None)
        return _provider(provider) if isinstance(provider, dict) else as_text(provider)
    return as_text(provider) if isinstance(provider, str) else None


def _abstained(graded: Record) -> str:
    if not part(graded, "metadata", "graderError"):
        return ""
    return UNPARSED if "JSON" in str(graded.get("reason")) else FAILED
