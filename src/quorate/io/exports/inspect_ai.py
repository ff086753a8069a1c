"""Inspect: the log of an evaluation, as JSON or as a ``.eval`` archive. The judge is the model that graded.

Field names: https://inspect.aisi.org.uk/eval-logs.html and https://inspect.aisi.org.uk/reference/inspect_ai.log.html;
what `model_graded_qa` writes was seen in logs of version 0.3.285 (``tests/io/exports/make_samples.py``).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from quorate.errors import NoRowsError
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, part
from quorate.io.exports.schema import ANYTHING, VALUE, Each, Either, check_records
from quorate.io.options import ReadOptions

# The fields of a log that are read here.
VALUES = Either(VALUE, [VALUE], Each(VALUE))
GRADED = {"value": VALUES, "reason": VALUE, "explanation": VALUE, "metadata": Each(ANYTHING)}
SAMPLE = {"id": VALUE, "epoch": VALUE, "scores": Each(GRADED), "metadata": Each(ANYTHING)}
SCORER = {"name": VALUE, "options": {"model": ANYTHING}}
LOG = {"eval": {"task": VALUE, "model": VALUE, "scorers": [SCORER], "model_roles": ANYTHING}, "samples": [SAMPLE]}
ANSWER_SCORERS = ("match", "choice", "pattern", "answer", "exact")  # scorers that extract an answer from the reply
MAX_CLASS_LENGTH = 40  # characters; a longer answer is not a class
# Numbers and truth values, as text, -> the grade that they mean: C (correct) or I (incorrect).
GRADES = {"1": "C", "1.0": "C", "true": "C", "0": "I", "0.0": "I", "false": "I"}
UNGRADED = "Grade not found"  # start of the explanation, if a version before 0.3.200 wrote "incorrect" for no grade


def _recognise(content: Content) -> bool:
    return content.layout == "records" and {"eval", "version", "status"} <= set(content.fields)


def _read(content: Content, reading: ReadOptions) -> Export:
    check_records(content.records, LOG, "Inspect", "log")
    unfinished = [log for log in content.records if log.get("status") not in ("success", "started", None)]
    notes = tuple(f"the run {_run(log)} ended as {as_text(log.get('status'))!r}" for log in unfinished)
    if not any(log.get("samples") for log in content.records):
        why = f": {notes[0]}" if notes else ""
        raise NoRowsError(f"{content.name} holds no samples{why}. Run the evaluation to its end, and give that log")
    verdicts = _with_same_grades(list(_verdicts(content.records, reading)), pooled=reading.question == "*")
    return judged("inspect", content, reading, verdicts, (*content.notes, *notes))


FORMAT = Format(
    "inspect",
    "Inspect logs: .eval or JSON",
    "'eval', 'version' and 'status', or an archive that holds header.json",
    _recognise,
    _read,
)


def _with_same_grades(verdicts: list[Verdict], pooled: bool) -> list[Verdict]:
    """Replace 1 and 0 by C and I, if scorers of one question use both.

    Args:
        verdicts: verdicts of all scorers.
        pooled: whether all scorers are judges of the same question, although their names differ.
    """
    with_letters = {"" if pooled else verdict.question for verdict in verdicts if verdict.value in GRADES.values()}
    unified = []
    for verdict in verdicts:
        value = verdict.value
        if ("" if pooled else verdict.question) in with_letters:
            number = as_text(value)
            mark = GRADES.get(number) if number is not None else None
            value = value if mark is None else mark
        unified.append(replace(verdict, value=value))
    return unified


def _verdicts(logs: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    samples = [(log, sample) for log in logs for sample in log.get("samples") or []]
    several = len({_run(log) for log in logs}) > 1
    several_tasks = len({as_text(part(log, "eval", "task")) for log in logs}) > 1
    epochs = any(sample.get("epoch") not in (None, 1) for _, sample in samples)
    for log, sample in samples:
        default_task = as_text(sample.get("id"))
        if default_task is not None and epochs:  # each epoch has a separate output
            default_task = f"{default_task}#{as_text(sample.get('epoch'))}"
        id_in_task = default_task
        if default_task is not None and several_tasks:
            id_in_task = f"{as_text(part(log, 'eval', 'task'))}/{default_task}"
        if default_task is not None and several:
            default_task = f"{_run(log)}/{default_task}"
        task = first_of(reading.task, default_task, sample, sample.get("metadata"))
        scorers = _scorers(log)
        scores = sample.get("scores") or {}
        if not scores:
            yield Verdict("", task, None, None, f"sample {default_task}", left_out=UNJUDGED)
        for key, score in scores.items():
            name, model = scorers.get(key, (key, None))
            if _has_answer(name, score or {}):
                task_id = first_of(reading.task, id_in_task, sample, sample.get("metadata"))
                yield from _of_answer(
                    log, name, task_id, score or {}, sample, f"score {key!r} of sample {default_task}"
                )
                continue
            yield from _of_score(log, name, model, task, score or {}, f"score {key!r} of sample {default_task}")


def _has_answer(name: str, score: Record) -> bool:
    """Whether a scorer compares a short answer with the target; then the answer is the label, the model the worker."""
    answer = score.get("answer")
    if name not in ANSWER_SCORERS or not isinstance(answer, str):
        return False
    return 0 < len(answer.strip()) <= MAX_CLASS_LENGTH and "\n" not in answer.strip()


def _of_answer(log: Record, name: str, task: Any, score: Record, sample: Record, where: str) -> Iterator[Verdict]:
    """Yield the answer of the model under test as its label, and the target as a known label."""
    model = as_text(part(log, "eval", "model"))
    yield Verdict(name, task, model, score["answer"].strip(), where)
    targets = sample.get("target")
    target = targets[0] if isinstance(targets, list) and len(targets) == 1 else targets
    if isinstance(target, str) and target.strip():
        yield Verdict(name, task, None, target.strip(), where, known=True)


def _run(log: Record) -> str:
    """Return the name of the evaluation: task and model."""
    about = log.get("eval") or {}
    return f"{as_text(about.get('task'))}/{as_text(about.get('model'))}"


def _scorers(log: Record) -> dict[str, tuple[str, Any]]:
    """Return key of scores -> (name, model) of the scorer; in the keys, a repeated name has a number."""
    scorers: dict[str, tuple[str, Any]] = {}
    seen: Counter[str] = Counter()
    for scorer in part(log, "eval", "scorers") or []:
        name = (as_text(part(scorer, "name")) or "").removeprefix("inspect_ai/")
        model = part(scorer, "options", "model") or None
        if isinstance(model, dict):
            model = model.get("model")
        scorers[f"{name}{seen[name] or ''}"] = (name, None if isinstance(model, list | dict) else model)
        seen[name] += 1
    return scorers


def _of_score(log: Record, name: str, model: Any, task: Any, score: Record, where: str) -> Iterator[Verdict]:
    """Yield the verdicts of one score: several, if a panel voted or if the value is a record of several values."""
    votes = _votes(score)
    if votes:
        for voter, vote in votes:
            yield Verdict(name, task, voter, vote, where, abstained="" if as_text(vote) is not None else UNPARSED)
        return
    graded = part(score, "metadata", "grading")
    grader = part(graded[-1], "model") if isinstance(graded, list) and graded else None
    bound = part(log, "eval", "model_roles", "grader", "model") if grader or graded else None
    judge = next((candidate for candidate in (grader, model, bound) if isinstance(candidate, str) and candidate), None)
    value = score.get("value")
    for inner, inner_value in value.items() if isinstance(value, dict) and value else [("", value)]:
        yield Verdict(
            f"{name}.{inner}" if inner else name,
            task,
            judge or name,
            inner_value,
            where,
            abstained=_abstained(score, inner_value),
            alone=judge is None,
        )


def _votes(score: Record) -> list[tuple[str, Any]]:
    """Return (model, vote) of a panel's votes, which are a list of records or a mapping; empty if there are none."""
    votes = part(score, "metadata", "panel", "votes")
    pairs: Iterable[tuple[Any, Any]] = ()
    if isinstance(votes, dict):
        pairs = votes.items()
    elif isinstance(votes, list):
        pairs = enumerate(votes)
    votes_by_model = []
    for key, vote in pairs:
        judge: Any = key if isinstance(votes, dict) else f"judge {int(key) + 1}"
        value = vote
        if isinstance(vote, dict):
            named = (vote.get(field) for field in ("model", "judge", "grader", "name"))
            judge = next((candidate for candidate in named if isinstance(candidate, str) and candidate), judge)
            value = next((vote[field] for field in ("value", "grade", "vote", "score") if field in vote), None)
        if not isinstance(value, dict | list):
            votes_by_model.append((str(judge), value))
    return votes_by_model


def _abstained(score: Record, value: Any) -> str:
    explanation = score.get("explanation")
    if isinstance(explanation, str) and explanation.startswith(UNGRADED):
        return UNPARSED
    if value is not None and value == value:  # Inspect writes NaN for "unscored"
        return ""
    return UNPARSED if score.get("reason") in (None, "grader_failed") else FAILED
