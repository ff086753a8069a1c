"""DeepEval: a test run from its results folder, or the result of `evaluate`. The judge is the evaluation model.

Field names: https://deepeval.com/docs/evaluation-introduction and https://deepeval.com/docs/evaluation-flags-and-configs
(results_folder); seen in a run of version 4.3.1 (``tests/io/exports/make_samples.py``).
"""

from collections.abc import Iterator

from quorate.errors import NoRowsError, count
from quorate.io.exports.content import Content, Record, as_text
from quorate.io.exports.export import Export, Format
from quorate.io.exports.llm_judges import FAILED, UNJUDGED, UNPARSED, Verdict, first_of, judged, passed
from quorate.io.exports.schema import ANYTHING, VALUE, Each, check_records
from quorate.io.options import ReadOptions
from quorate.io.values import first_filled

# The fields that are read here; a file has the names of DeepEval's service, a Python object those of its attributes.
METRIC = dict.fromkeys(("name", "success", "score", "error", "evaluationModel", "evaluation_model"), VALUE)
CASE = {
    "name": VALUE,
    "order": VALUE,
    "metricsData": [METRIC],
    "metrics_data": [METRIC],
    "metadata": Each(ANYTHING),
    "additionalMetadata": Each(ANYTHING),
}
METRICS = ("metricsData", "metrics_data")
CACHE = "test_cases_lookup_map"
CASES = ("testCases", "conversationalTestCases", "test_results")
LISTS = {name: [CASE] for name in CASES}
RUN = {**LISTS, "testRunData": LISTS}


def _recognise(content: Content) -> bool:
    fields = set(content.fields)
    return content.layout == "records" and (
        bool({"testCases", "test_results", "testRunData"} & fields) or _is_cache(content)
    )


def _is_cache(content: Content) -> bool:
    """Whether the content is DeepEval's cache, whose keys are test cases written as JSON."""
    fields = content.fields
    return CACHE in fields or (bool(fields) and all(name.startswith("{") and '"input"' in name for name in fields))


def _read(content: Content, reading: ReadOptions) -> Export:
    if _is_cache(content):
        cases = _cases_of_cache(content.records)
    else:
        check_records(content.records, RUN, "DeepEval", "test run")
        runs = [record.get("testRunData") or record for record in content.records]
        cases = [case for run in runs for name in CASES for case in run.get(name) or []]
    metrics = [metric for case in cases for name in METRICS for metric in case.get(name) or []]
    if metrics and all(metric.get("score") is None and not metric.get("error") for metric in metrics):
        raise NoRowsError(
            f"{content.name} is an unfinished run of DeepEval: none of its "
            f"{count(len(metrics), 'metric')} has a score, and "
            "success is only the initial value"
        )
    verdicts = list(_verdicts(cases, reading))
    return judged("deepeval", content, reading, verdicts, needs_panel=True, can_pool=False)


def _cases_of_cache(records: list[Record]) -> list[Record]:
    """Return the test cases of a cache in the form of those of a run."""
    cases = []
    for record in records:
        inside = record.get(CACHE) if isinstance(record.get(CACHE), dict) else record
        for key, case in (inside or {}).items():
            listed = case.get("cached_metrics_data") if isinstance(case, dict) else None
            metrics = [entry.get("metric_data") for entry in listed or [] if isinstance(entry, dict)]
            cases.append({"name": key, "metricsData": [metric for metric in metrics if isinstance(metric, dict)]})
    return cases


FORMAT = Format("deepeval", "DeepEval test runs: JSON", "'testCases', or 'test_results'", _recognise, _read)


def _verdicts(cases: list[Record], reading: ReadOptions) -> Iterator[Verdict]:
    for number, case in enumerate(cases):
        default_task = first_filled((case.get("name"), case.get("order"), number))
        task = first_of(reading.task, default_task, case, case.get("metadata"), case.get("additionalMetadata"))
        metrics = [*(case.get("metricsData") or []), *(case.get("metrics_data") or [])]
        if not metrics:
            yield Verdict("", task, None, None, f"test case {number + 1:,}", left_out=UNJUDGED)
        for metric in metrics:
            name = as_text(metric.get("name")) or "metric"
            model = as_text(metric.get("evaluationModel") or metric.get("evaluation_model"))
            abstained = ""
            if metric.get("error") is not None:
                abstained = UNPARSED if "JSON" in str(metric["error"]) else FAILED
            yield Verdict(
                name,
                task,
                model or name,  # a metric without a model is a rule
                passed(metric.get("success")),
                f"metric {name!r} of test case {number + 1:,}",
                score=metric.get("score"),
                abstained=abstained,
                alone=model is None,
            )
