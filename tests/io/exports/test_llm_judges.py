"""Logs of LLM judges: a judge is a worker, its family a group, and a reply without a verdict an abstention."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import quorate
from quorate.errors import (
    NoRowsError,
    OptionError,
    TooLargeError,
    UnknownFormatError,
    UnreadableFileError,
    WrongFormatError,
)
from quorate.io.exports import content
from quorate.io.exports.detect import read_export
from quorate.io.exports.llm_judges import family
from quorate.io.exports.openai_batch import verdict_in
from tests.cli.running import quorate as run
from tests.io.exported import JUDGED, SAMPLES, place, rows


@pytest.mark.parametrize("sample", JUDGED)
def test_judges_have_families_and_replies_without_a_verdict_abstain(sample: str) -> None:
    export = read_export(SAMPLES / sample)
    assert export.abstentions is not None
    rows_abstained = export.abstentions.to_pylist()
    abstained = {(place(export, row["task"]), row["worker"].rpartition("/")[2]) for row in rows_abstained}
    assert abstained == {("3", "bob"), ("2", "cy")}
    assert set(export.abstentions["reason"].to_pylist()) == {"no verdict in the reply"}
    answers = quorate.read(SAMPLES / sample)
    assert (answers.n_answers, answers.n_abstained, answers.n_skipped) == (7, 2, 0)
    assert answers.group is not None
    assert answers.group_names is not None
    named = [answers.group_names[int(code)].as_py() for code in answers.group]
    assert named == [name.rpartition("/")[2] for name in answers.worker_names.to_pylist()]  # mocks are of no maker


def test_an_expectation_of_mlflow_is_a_known_label() -> None:
    export = read_export(SAMPLES / "mlflow.jsonl")
    assert export.gold is not None
    assert export.gold.to_pylist() == [{"task": "tr-1", "label": "true"}]


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        ("openai/gpt-4o", "openai"),
        ("openai:/gpt-4.1-mini", "openai"),
        ("anthropic:messages:claude-4", "anthropic"),
        ("openrouter/anthropic/claude-4", "anthropic"),
        ("openrouter:meta-llama/llama-3", "meta-llama"),
        ("together/meta-llama/Llama-3-70b", "meta-llama"),
        ("bedrock:anthropic.claude-4", "anthropic"),
        ("groq/llama-3.1-70b", "llama"),
        ("gpt-4o-2024-08-06", "gpt"),
        ("Claude-4", "claude"),
        ("42", "42"),
    ],
)
def test_the_family_is_the_maker_or_what_the_name_begins_with(judge: str, expected: str) -> None:
    assert family(judge) == expected


def inspect_log(scores: dict[str, Any], **sample: Any) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {}, "samples": [{"id": "1", "scores": scores, **sample}]}


def test_scores_of_several_names_are_questions_or_judges_of_the_same_thing() -> None:
    log = inspect_log(
        {"by_gpt": {"value": "C"}, "by_claude": {"value": "I"}, "length": {"value": {"short": 1, "dry": 0}}}
    )
    with pytest.raises(OptionError, match=r"'by_gpt', 'by_claude', 'length.short', 'length.dry'; choose one .* '\*'"):
        read_export([log])
    assert rows(read_export([log], question="length.short")) == [("1", "length", "1")]
    every = read_export([log], question="*")
    assert [row["worker"] for row in every.table.to_pylist()][:2] == ["by_gpt", "by_claude"]
    assert sum(every.left_out.values()) == 0
    assert read_export([log], question="by_gpt").left_out == {"answers to another question": 3}


def test_the_number_behind_a_verdict_is_read_on_request() -> None:
    numbers = read_export(SAMPLES / "deepeval.json", question="Good [GEval].score")
    assert {row["label"] for row in numbers.table.to_pylist()} == {"0", "1"}
    assert numbers.abstentions is not None
    assert len(numbers.abstentions) == 2


def test_versions_of_inspect_that_made_a_wrong_answer_of_a_reply_without_a_grade() -> None:
    log = inspect_log({"a": {"value": "I", "explanation": "Grade not found in model output: hm"}, "b": {"value": "C"}})
    export = read_export([log], question="*")
    assert export.abstentions is not None
    assert export.abstentions["worker"].to_pylist() == ["a"]


def triples(export: Any) -> list[tuple[str, str, str]]:
    return [(row["task"], row["worker"], row["label"]) for row in export.table.to_pylist()]


def panel_log(votes: Any, n_samples: int = 2) -> dict[str, Any]:
    """A log of ``model_graded_qa(model=[…])``: the majority, and each model's vote in the metadata."""
    score = {"value": "C", "answer": "Paris", "metadata": {"panel": {"votes": votes}}}
    samples = [{"id": str(number), "scores": {"model_graded_qa": score}} for number in range(n_samples)]
    models = {"model": ["openai/gpt-4o", "anthropic/claude-4"]}
    about = {"task": "capitals", "model": "m", "scorers": [{"name": "model_graded_qa", "options": models}]}
    return {"version": 2, "status": "success", "eval": about, "samples": samples}


@pytest.mark.parametrize(
    "votes",
    [
        [{"model": "openai/gpt-4o", "value": "C"}, {"model": "anthropic/claude-4", "value": "I"}],
        {"openai/gpt-4o": "C", "anthropic/claude-4": "I"},
        {"openai/gpt-4o": {"grade": "C"}, "anthropic/claude-4": {"grade": "I"}},
        {"openai/gpt-4o": "C", "anthropic/claude-4": 0},
        {"openai/gpt-4o": 1.0, "anthropic/claude-4": "I"},
    ],
)
def test_a_panel_of_inspect_is_read_vote_by_vote(votes: Any, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(panel_log(votes)))
    expected = {(str(k), judge, mark) for k in range(2) for judge, mark in EXPECTED_VOTES.items()}
    assert set(triples(read_export(path))) == expected
    answers = quorate.read(path)
    assert (answers.n_tasks, answers.n_workers, answers.n_answers) == (2, 2, 4)
    assert answers.classes.to_pylist() == ["C", "I"]


EXPECTED_VOTES = {"openai/gpt-4o": "C", "anthropic/claude-4": "I"}


def test_a_vote_of_a_panel_without_a_grade_is_an_abstention() -> None:
    export = read_export([panel_log({"openai/gpt-4o": "C", "anthropic/claude-4": None})])
    assert {row[1] for row in triples(export)} == {"openai/gpt-4o"}
    assert export.abstentions is not None
    assert export.abstentions["worker"].to_pylist() == ["anthropic/claude-4"] * 2


@pytest.mark.parametrize(("right", "wrong"), [(1, 0), (1.0, 0.0), (True, False), ("1", "0")])
def test_numbers_and_letters_are_the_same_two_marks(right: Any, wrong: Any) -> None:
    log = inspect_log({"by_gpt": {"value": "C"}, "by_claude": {"value": right}})
    log["samples"].append({"id": "2", "scores": {"by_gpt": {"value": "I"}, "by_claude": {"value": wrong}}})
    assert {row[2] for row in triples(read_export([log], question="*"))} == {"C", "I"}
    assert {row[2] for row in triples(read_export([log], question="by_claude"))} == {
        str(right).lower().removesuffix(".0"),
        str(wrong).lower().removesuffix(".0"),
    }


def batch_lines(replies: list[str]) -> str:
    lines = [
        {
            "custom_id": f"item-{k}",
            "response": {"status_code": 200, "body": {"model": "gpt-4o", "choices": [{"message": {"content": reply}}]}},
        }
        for k, reply in enumerate(replies)
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_batch_in_which_few_replies_hold_a_verdict_is_refused(tmp_path: Path, capsys: Any) -> None:
    essays = ["The first answer explains the cause, while the second one only names it."] * 9
    path = tmp_path / "batch.jsonl"
    path.write_text(batch_lines([*essays, "Verdict: A", "Verdict: B"]))
    with pytest.raises(NoRowsError, match=r"only 2 of 11 replies in .*batch\.jsonl hold a verdict.*free text"):
        quorate.read(path)
    assert run(capsys, "aggregate", path)[0] == 2
    path.write_text(batch_lines([*essays[:5], *["Verdict: A"] * 3, *["Verdict: B"] * 3]))  # as many as not
    answers = quorate.read(path)
    assert (answers.n_answers, answers.n_abstained) == (6, 5)


def test_epochs_and_runs_are_outputs_of_their_own() -> None:
    log = inspect_log({"a": {"value": "C"}})
    log["samples"].append({"id": "1", "epoch": 2, "scores": {"a": {"value": "I"}}})
    assert read_export([log]).table["task"].to_pylist() == ["1#None", "1#2"]
    other = {**inspect_log({"a": {"value": "I"}}), "eval": {"task": "t", "model": "m"}}
    assert read_export([inspect_log({"a": {"value": "C"}}), other]).table["task"].to_pylist() == [
        "None/None/1",
        "t/m/1",
    ]


def test_a_judge_that_is_asked_twice_is_asked_two_questions() -> None:
    graded = [
        {"pass": good, "assertion": {"type": "llm-rubric", "provider": "openai:gpt-4o"}} for good in (True, False)
    ]
    line = {"testIdx": 0, "promptIdx": 0, "gradingResult": {"componentResults": graded}}
    assert read_export([line], question="llm-rubric 2").table["label"].to_pylist() == ["fail"]
    assert read_export([line, {"promptIdx": 0, "gradingResult": None}], question="llm-rubric").left_out == {
        "answers to another question": 1,
        "outputs without any score": 1,
    }


def test_choices_of_lm_eval_are_numbers_and_its_files_name_models_by_their_folders(tmp_path: Path) -> None:
    for model, likely in (("openai__a", -1.0), ("mistral", -9.0)):
        folder = tmp_path / model
        folder.mkdir()
        for task in ("arc_easy", "boolq"):
            file = folder / f"samples_{task}_2026-01-01T00-00-00.000001.jsonl"
            sample = {"doc_id": 0, "filter": "none", "filtered_resps": [["-5.5", "False"], [likely, "True"]]}
            file.write_text(json.dumps(sample) + "\n")
        (folder / "results_2026-01-01.json").write_text('{"results": {}}')
    with pytest.raises(OptionError, match="'arc_easy', 'boolq'"):  # each benchmark asks something else
        read_export(tmp_path)
    found = read_export(tmp_path, question="boolq")
    triples_found = sorted(tuple(row.values()) for row in found.table.to_pylist())
    assert triples_found == [("0", "mistral", "0", "mistral"), ("0", "openai/a", "1", "openai")]


def test_a_folder_without_logs_or_with_logs_of_two_tools_is_refused(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(UnreadableFileError, match="is a folder"):
        quorate.read(tmp_path)
    for sample in ("inspect.eval", "deepeval.json"):
        shutil.copy(SAMPLES / sample, tmp_path)
    with pytest.raises(UnknownFormatError, match=r"'deepeval', 'inspect'.*tool="):
        quorate.read(tmp_path)
    code, out, err = run(capsys, "convert", tmp_path, "--from", "inspect", "-o", "-")
    assert code == 0
    assert out.splitlines()[0] == "task,worker,label,group"
    assert "Not counted as answers: no verdict in the reply (2)." in err


@pytest.mark.parametrize(
    "reply", ["", "{}", '{"reason": "so"}', "It may be good or bad.", "[1, 2]", '{"verdict": {"a": 1}}']
)
def test_a_reply_without_a_verdict_has_none(reply: str) -> None:
    assert verdict_in(reply) is None


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('```json\n{"verdict": "B", "score": 3}\n```', "B"),
        ("The first is better.\n\nVerdict: [[A]]", "A"),
        ("Rating: 4. On reflection, rating: 3.", "3"),
        ("**yes**", "yes"),
        ('"good"', "good"),
        ("true", True),
    ],
)
def test_the_verdict_is_found_in_a_reply(reply: str, verdict: Any) -> None:
    assert verdict_in(reply) == verdict


def test_a_batch_states_why_a_reply_has_no_verdict() -> None:
    def line(k: int, **body: Any) -> dict[str, Any]:
        return {"custom_id": str(k), "model": "gpt-4o", "response": {"body": {"model": "gpt-4o", **body}}}

    refused = {"choices": [{"message": {"content": None, "refusal": "no"}}]}
    responses = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Grade: C"}]}]}
    lines = [line(1, **responses), line(2, **refused), {**line(3), "response": None, "error": {"code": "x"}}]
    export = read_export(lines)
    assert rows(export) == [("1", "gpt-4o", "cat")]
    assert export.abstentions is not None
    assert export.abstentions["reason"].to_pylist() == ["the judge refused", "the judge failed"]
    assert read_export([{"custom_id": "1", "judge": "a", "verdict": "x"}]).table["label"].to_pylist() == ["x"]


def test_archives_that_are_no_logs_have_their_own_errors(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(WrongFormatError, match=r"without header\.json"):
        quorate.read(path)
    data = (SAMPLES / "inspect.eval").read_bytes()
    path.write_bytes(data[:-40])
    with pytest.raises(WrongFormatError, match="damaged archive"):
        quorate.read(path)
    monkeypatch.setattr(content, "max_unpacked_size", lambda size: 100)
    with pytest.raises(TooLargeError, match="unpacks to more than"):
        quorate.read(SAMPLES / "inspect.eval")
