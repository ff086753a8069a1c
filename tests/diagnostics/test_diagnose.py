import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from experiments.simulation.planted_faults import copying

from quorate.arrays import FloatArray, Table
from quorate.cli.app import main
from quorate.diagnostics.diagnose import MAX_SHOWN, diagnose, diagnose_result
from quorate.diagnostics.finding import KINDS
from quorate.io.write_table import write_table
from quorate.methods.aggregate import aggregate
from quorate.simulate import crowd
from tests.crowds import answers_of
from tests.diagnostics.samples import drifting

TRIANGLE = [(f"t{t}", w, "xy"[(t * k) % 2]) for t in range(12) for k, w in enumerate("abc")]
PAIR = [(f"u{t}", w, "xy"[t % 2]) for t in range(3) for w in "pq"]


def test_every_worker_not_determined_is_in_a_finding_with_its_reason() -> None:
    found = diagnose(answers_of([*TRIANGLE, *PAIR, ("alone", "z", "x"), ("lonely", "y", "x")]))
    listed = found.to_dict()["findings"]
    reasons = {tuple(each["workers"]): each["evidence"] for each in listed if each["kind"] == "cannot-be-judged"}
    assert reasons[("p", "q")]["sides"] == [["p"], ["q"]]
    assert "shares no task" in reasons[("y", "z")]["reason"]
    named = {code for finding in found.of_kind("cannot-be-judged") for code in finding.workers}
    assert named >= set(found.undetermined().tolist())


def test_findings_come_first_and_the_most_serious_of_them_before_the_others() -> None:
    rng = np.random.default_rng(0)
    skills = np.concatenate([np.full(5, -0.6), rng.uniform(0.6, 0.9, 17)])
    busy = np.concatenate([np.ones(20), np.full(2, 0.01)])
    simulated = crowd(600, 22, 10, skills=skills, activity=busy, seed=rng)
    found = diagnose(copying(simulated.answers, np.array([[6, 7]]), 0.9, rng))
    ranks = [KINDS.index(finding.kind) for finding in found.findings]
    assert ranks == sorted(ranks)
    assert {"adversary", "agreeing-pair", "cannot-be-judged"} <= {finding.kind for finding in found.findings}
    lines = list(found.lines())
    assert lines[0].endswith(f"{len(found.problems)} problems, most serious first:")
    assert lines[1] == f"1. {found.findings[0].line}"
    assert len(found.of_kind("adversary")) == 5 > MAX_SHOWN
    assert "   and 2 more (--json lists all)" in lines
    assert not any("Every worker can be rated" in line for line in lines)  # two have too few answers


def test_a_clean_crowd_has_no_findings() -> None:
    found = diagnose(crowd(600, 12, 6, skills=np.linspace(0.4, 0.9, 12), seed=1).answers)
    assert found.findings == ()
    assert "No problems found" in found.summary()


def test_a_ready_result_is_not_solved_again(monkeypatch: Any) -> None:
    answers = crowd(300, 10, 5, seed=0).answers
    result = aggregate(answers, "rank-one")
    complete = diagnose_result(result)
    monkeypatch.setattr(
        "quorate.diagnostics.diagnose.aggregate_in_memory", lambda *_, **__: pytest.fail("solved again")
    )
    assert diagnose_result(result).findings == complete.findings
    assert complete.result is result


@pytest.mark.parametrize("method", ["quorate", "rank-one-centred", "majority", "dawid-skene"])
def test_results_of_any_method_can_be_diagnosed(method: str) -> None:
    found = diagnose_result(aggregate(crowd(300, 10, 5, seed=0).answers, method))
    assert found.result.method == "rank-one"
    if method == "quorate":  # the default: the same findings as without a result
        assert found.findings == diagnose(found.answers).findings


def test_gold_is_taken_from_the_result() -> None:
    """Two workers alone are bipartite; with gold their skills are determined."""
    answers = crowd(60, 2, 2, skills=np.array([0.9, 0.7]), seed=0).answers
    gold = {"task": answers.task_names, "label": answers.classes.take(answers.label[::2])}
    for found in (diagnose(answers, gold=gold), diagnose_result(aggregate(answers, gold=gold))):
        assert found.of_kind("cannot-be-judged") == ()
    assert len(diagnose(answers).of_kind("cannot-be-judged")) == 1


def test_too_many_answer_pairs_are_left_out_and_it_says_so(monkeypatch: Any) -> None:
    answers = answers_of([*TRIANGLE, *PAIR])
    complete = diagnose(answers)
    monkeypatch.setattr("quorate.graph.pairs.MAX_ANSWER_PAIRS", 10)
    found = diagnose(answers)
    assert "which pairs agree" in found.not_asked[0]
    assert any(line.startswith("Not tested: which pairs agree") for line in found.lines())
    parts = found.to_dict()["components"]
    assert [(part["pairs"], part["lambda_min"]) for part in parts] == [(None, None), (1, 0.0)]
    assert found.of_kind("cannot-be-judged") == complete.of_kind("cannot-be-judged")
    assert [row[3] for row in found.rows()] == ["identifiable", "bipartite"]


@pytest.mark.parametrize("rows", [[("t", "a", "x")], [("t", "a", "x"), ("t", "b", "x")], TRIANGLE[:3]])
def test_the_smallest_crowds_are_diagnosed(rows: list[tuple[Any, Any, Any]]) -> None:
    found = diagnose(answers_of(rows), times=np.arange(len(rows), dtype=float))
    json.dumps(found.to_dict())
    assert list(found.lines())


def written(tmp_path: Path, times: FloatArray | None = None) -> Path:
    answers, drift = drifting(1, np.random.default_rng(0))
    columns = answers.to_table().to_pydict()
    columns["when"] = (drift if times is None else times).tolist()
    path = tmp_path / "answers.parquet"
    write_table(Table(pa.table(columns)), path)
    return path


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    return int(left.value.code or 0), shown.out, shown.err


def test_the_command_finds_drift_where_it_is_given_times(capsys: Any, tmp_path: Path) -> None:
    path = written(tmp_path)
    _, out, _ = run(capsys, "diagnose", path, "--time", "when", "--json")
    drift = [finding for finding in json.loads(out)["findings"] if finding["kind"] == "drift"]
    assert [finding["workers"] for finding in drift] == [["w0"]]
    assert {"sentence", "strength", "measure", "tasks", "evidence"} <= set(drift[0])
    _, out, _ = run(capsys, "diagnose", path, "--time", "when")
    assert "w0 got worse" in out
    assert "Components" not in out
    _, out, _ = run(capsys, "diagnose", path, "--time", "when", "--verbose")
    assert out.index("w0 got worse") < out.index("Components")
    _, out, _ = run(capsys, "diagnose", path)
    assert "got worse" not in out


def test_times_are_read_from_standard_input_too(capsys: Any, monkeypatch: Any) -> None:
    import io
    import sys

    text = b"task,worker,label,when\n1,a,x,1\n1,b,x,2\n1,c,y,3\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, _ = run(capsys, "diagnose", "-", "--time", "when")
    assert code == 0
    assert "3 answers" in out


def test_renaming_changes_names_only() -> None:
    answers = crowd(300, 12, 6, skills=np.linspace(-0.5, 0.9, 12), seed=3).answers
    renamed = replace(answers, worker_names=answers.worker_names[::-1], task_names=answers.task_names[::-1])
    one, two = (
        [(each.kind, each.workers, each.tasks, each.strength) for each in diagnose(each_way).findings]
        for each_way in (answers, renamed)
    )
    assert one
    assert one == two


def test_a_crowd_of_many_small_components_has_the_findings_of_each() -> None:
    """One task each: nobody is loosely tied, and one finding covers all components."""
    n = 300
    found = diagnose({"task": [k // 5 for k in range(n)], "worker": range(n), "label": [k % 5 % 2 for k in range(n)]})
    assert found.of_kind("loosely-tied") == found.of_kind("near-bipartite") == ()
    assert len(found.components) == n // 5
    assert {part.n_pairs for part in found.components} == {10}
