"""Logs of LLM judges, made by the tools themselves offline -> the samples that `tests/io` reads.

    python -m tests.io.exports.make_samples TOOL [FOLDER]

Run it by the Python of an environment that holds the tool (promptfoo: with its `main.js` in PROMPTFOO, and Node). Three
judges, ann, bob and cy, say of three outputs whether they are good; bob's third reply and cy's second hold no verdict.
What a log holds besides (events, prompts, token counts) is cut, so that a sample has a few kilobytes; no field is added
(but `model` to the lines of lm-eval, which name none).

| sample | made by | how |
|---|---|---|
| inspect.json, inspect.eval | inspect_ai 0.3.285 | `eval` with `mockllm` models that grade by rote |
| promptfoo.json, promptfoo.jsonl | promptfoo 0.121.20 | `echo` outputs, `llm-rubric` by a provider by rote |
| lm-eval.jsonl | lm_eval 0.4.13 | three models that answer by rote, `log_samples`; a file each, put together |
| deepeval.json | deepeval 4.3.1 | `GEval` with models that grade by rote, results folder |
| mlflow.jsonl | mlflow-skinny 3.17.2 | traces and `log_feedback` in a folder, `Trace.to_json` |
| langfuse.json | langfuse 5.0.4 | the API's own types, as its client has them; no server was run |
| langfuse_blob.csv | – | by https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields |
| phoenix.json, phoenix.csv | – | by the types of arize-phoenix-client 3.5.0; no server was run |
| openai.jsonl | openai 2 | its `ChatCompletion`, in the lines of a batch's output; no server was run |
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
# judge -> what it says of the outputs 1, 2 and 3; None where its reply holds no verdict
PANEL: dict[str, list[bool | None]] = {
    "ann": [True, False, True],
    "bob": [True, False, None],
    "cy": [False, None, True],
}
NOTHING = "I cannot say."
WHEN = "2026-01-01T00:00:00Z"


def each_verdict() -> Iterator[tuple[int, str, bool | None]]:
    """Give every verdict: the number of the output, the judge, and what it says."""
    for number in (1, 2, 3):
        for judge, verdicts in PANEL.items():
            yield number, judge, verdicts[number - 1]


def without(value: Any, names: set[str]) -> Any:
    """Cut fields, wherever they stand."""
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


def inspect(folder: Path) -> None:
    """Grade by `model_graded_qa`, one scorer a judge."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import model_graded_qa

    def rote(name: str, replies: list[str]) -> Model:
        outputs = [ModelOutput.from_content(f"mockllm/{name}", reply) for reply in replies]
        for output in outputs:
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # or it fetches a tokenizer
        return get_model(f"mockllm/{name}", custom_outputs=outputs, memoize=False)

    replies = {True: "GRADE: C", False: "GRADE: I", None: NOTHING}
    samples = [Sample(id=str(number), input=f"Question {number}?", target="yes") for number in (1, 2, 3)]
    with tempfile.TemporaryDirectory() as place:
        for kind in ("json", "eval"):
            judges = [rote(name, [replies[each] for each in verdicts]) for name, verdicts in PANEL.items()]
            task = Task(name="animals", dataset=samples, scorer=[model_graded_qa(model=judge) for judge in judges])
            evaluate(
                task, model=rote("model", ["yes"] * 3), log_dir=place, log_format=kind, display="none", max_samples=1
            )
        (log,), (packed,) = Path(place).glob("*.json"), Path(place).glob("*.eval")
        cut = {"events", "events_data", "attachments", "messages", "output", "store", "reductions", "results", "plan"}
        cut |= {
            "stats",
            "config",
            "model_args",
            "packages",
            "metrics",
            "model_usage",
            "role_usage",
            "dataset",
            "revision",
        }
        log_content = without(json.loads(log.read_text()), cut)
        for sample in log_content["samples"]:
            for score in sample["scores"].values():
                score["metadata"]["grading"] = score["metadata"]["grading"][1:]  # the prompt is Inspect's own text
        (folder / "inspect.json").write_text(json.dumps(log_content, indent=1) + "\n")
        assert packed.stat().st_size  # what it holds is as here: header.json, and samples/ID_epoch_N.json
    _repack(folder / "inspect.eval", log_content)


def _repack(target: Path, log_content: dict[str, Any]) -> None:
    """Write the cut log as the archive that Inspect makes of it, with its Zstandard."""
    import zipfile

    from inspect_ai._util.zipfile import zipfile_compress_kwargs

    header = {key: value for key, value in log_content.items() if key != "samples"}
    with zipfile.ZipFile(target, "w", **zipfile_compress_kwargs) as archive:
        for sample in log_content["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(header))


JUDGE = """
const PANEL = %s;
module.exports = class {
  constructor(options) { this.options = options; }
  id() { return this.options.id; }
  async callApi(prompt) {
    const pass = PANEL[this.options.config.name][Number(prompt.match(/output (\\d)/)[1]) - 1];
    return { output: pass === null ? '%s' : JSON.stringify({ pass, score: pass ? 1 : 0, reason: 'by rote' }) };
  }
};
"""


def promptfoo(folder: Path) -> None:
    """Grade by `llm-rubric`, one assertion a judge."""
    judges = [{"id": "file://judge.js", "label": f"mock/{name}", "config": {"name": name}} for name in PANEL]
    config = {
        "prompts": ["output {{number}}"],
        "providers": ["echo"],
        "tests": [{"vars": {"number": str(number)}} for number in (1, 2, 3)],
        "defaultTest": {"assert": [{"type": "llm-rubric", "value": "is good", "provider": each} for each in judges]},
    }
    with tempfile.TemporaryDirectory() as place:
        Path(place, "judge.js").write_text(JUDGE % (json.dumps(PANEL), NOTHING))
        Path(place, "config.json").write_text(json.dumps(config))
        quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": place}
        command = ["node", os.environ["PROMPTFOO"], "eval", "-c", "config.json", "-j", "1", "--no-cache", "--no-table"]
        run = [*command, "-o", "out.json", "-o", "out.jsonl"]
        subprocess.run(
            run, cwd=place, env={**os.environ, **quiet}, check=False, capture_output=True
        )  # 100: some failed
        cut = {"tokensUsed", "tokenUsage", "renderedGradingPrompt", "raw", "assert", "prompts", "config", "stats"}
        log_content = without(json.loads(Path(place, "out.json").read_text()), cut)
        log_content["metadata"] = {}  # which machine it was
        lines = [without(json.loads(line), cut) for line in Path(place, "out.jsonl").read_text().splitlines()]
    (folder / "promptfoo.json").write_text(json.dumps(log_content, indent=1) + "\n")
    (folder / "promptfoo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def deepeval(folder: Path) -> None:
    """Grade by `GEval`, one metric a judge, all of one name."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_DISABLE_DOTENV": "1"}
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig
    from deepeval.metrics import GEval
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase, LLMTestCaseParams

    class Rote(DeepEvalBaseLLM):
        def __init__(self, name: str) -> None:
            self.who = name
            super().__init__(name)

        def load_model(self) -> "Rote":
            return self

        def get_model_name(self) -> str:
            return f"mock/{self.who}"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            number = next(number for number in (1, 2, 3) if f"output {number}" in prompt)
            good = PANEL[self.who][number - 1]
            text = NOTHING if good is None else json.dumps({"score": 10 if good else 0, "reason": "by rote"})
            if schema is None:
                return text
            raise TypeError("no schemas")  # so that the reply is parsed

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    shown = [LLMTestCaseParams.INPUT, LLMTestCaseParams.ACTUAL_OUTPUT]
    metrics = [
        GEval(
            name="Good", evaluation_steps=["Is it good?"], evaluation_params=shown, model=Rote(name), async_mode=False
        )
        for name in PANEL
    ]
    cases = [LLMTestCase(name=str(k), input=f"question {k}", actual_output=f"output {k}") for k in (1, 2, 3)]
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        evaluate(
            cases,
            metrics,
            async_config=AsyncConfig(run_async=False),
            display_config=DisplayConfig(results_folder=place, show_indicator=False, print_results=False),
            error_config=ErrorConfig(ignore_errors=True),
        )
        (run,) = Path(place).glob("test_run_*.json")
        log_content = without(json.loads(run.read_text()), {"verboseLogs", "trace"})
        os.chdir("/")
    (folder / "deepeval.json").write_text(json.dumps(log_content, indent=1) + "\n")


def lm_eval(folder: Path) -> None:
    """Let three models answer by rote; a regular expression takes the grade out of a reply."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker

    class Rote(LM):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.who = name

        def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
            replies = {True: "GRADE: good", False: "GRADE: bad", None: NOTHING}
            return [replies[PANEL[self.who][int(each.arguments[0][-1]) - 1]] for each in requests]

        def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    with tempfile.TemporaryDirectory() as place:
        data = Path(place, "docs.jsonl")
        data.write_text("".join(json.dumps({"text": f"output {k}", "grade": "good"}) + "\n" for k in (1, 2, 3)))
        task = {
            "task": "animals",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}, "cache_dir": place},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{text}}",
            "doc_to_target": "{{grade}}",
            "filter_list": [{"name": "grade", "filter": GRADE}],
            "metric_list": [{"metric": "exact_match"}],
        }
        lines = []
        for name in PANEL:
            tracker = EvaluationTracker(output_path=place)
            tracker.date_id = WHEN.replace(":", "-")
            tracker.general_config_tracker.model_name_sanitized = f"mock__{name}"
            found = simple_evaluate(Rote(name), tasks=[task], bootstrap_iters=0)
            tracker.save_results_samples("animals", found["samples"]["animals"])
            (file,) = Path(place, f"mock__{name}").glob("samples_*.jsonl")
            lines += [json.loads(line) | {"model": f"mock/{name}"} for line in file.read_text().splitlines()]
    (folder / "lm-eval.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


GRADE = [{"function": "regex", "regex_pattern": "GRADE: (good|bad)"}, {"function": "take_first"}]
TOOLS: dict[str, Callable[[Path], None]] = {
    "inspect": inspect,
    "promptfoo": promptfoo,
    "deepeval": deepeval,
    "lm_eval": lm_eval,
}

if __name__ == "__main__":
    TOOLS[sys.argv[1]](Path(sys.argv[2]).absolute() if len(sys.argv) > 2 else SAMPLES)
