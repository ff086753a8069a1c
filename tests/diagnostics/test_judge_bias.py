"""Bias of judges: simulated effects are found with intervals that hold them; without an effect, nobody is named."""

import json
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.diagnostics.judge_bias import Covariate, covariate_effects, side_findings
from tests.cli.running import quorate as run


def panel(n_tasks: int, shift: float, seed: int) -> tuple[dict[str, list[object]], np.ndarray]:
    """Five judges of skill .7 on two sides; the first answers B more often, the longer the output."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n_tasks)
    length = rng.normal(size=n_tasks)
    rows: dict[str, list[object]] = {"task": [], "worker": [], "label": [], "length": []}
    for task in range(n_tasks):
        for judge in range(5):
            p = 0.15 + 0.7 * truth[task]
            p += shift * length[task] if judge == 0 else 0.0
            rows["task"].append(task)
            rows["worker"].append(f"j{judge}")
            rows["label"].append("B" if rng.random() < p else "A")
            rows["length"].append(float(length[task]))
    return rows, length


def test_a_length_effect_is_found_and_measured() -> None:
    rows, length = panel(1500, 0.12, 0)
    answers = quorate.read({name: rows[name] for name in ("task", "worker", "label")})
    covariate = Covariate("length", length[answers.task_names.to_numpy()[answers.task]])
    effects = {effect.worker: effect for effect in covariate_effects(quorate.aggregate(answers), covariate)}
    assert effects[0].low < 0.12 < effects[0].high or abs(effects[0].estimate) == pytest.approx(0.12, abs=0.04)
    found = quorate.diagnose(answers, covariates=[covariate]).of_kind("covariate-bias")
    assert [finding.workers for finding in found] == [(0,)]


def test_without_an_effect_nobody_is_named() -> None:
    n_named = 0
    for seed in range(10):
        rows, length = panel(400, 0.0, seed)
        answers = quorate.read({name: rows[name] for name in ("task", "worker", "label")})
        covariate = Covariate("length", length[answers.task_names.to_numpy()[answers.task]])
        n_named += len(quorate.diagnose(answers, covariates=[covariate]).of_kind("covariate-bias"))
        n_named += len(list(side_findings(answers)))
    assert n_named <= 2  # each test names anybody in 5% of panels at the most


def test_sides_that_workers_prefer_are_stated() -> None:
    rng = np.random.default_rng(0)
    labels = [("B" if rng.random() < p else "A") for _ in range(300) for p in (0.8, 0.8, 0.4, 0.4)]
    rows = {"task": np.repeat(range(300), 4), "worker": list("wxyz") * 300, "label": labels}
    answers = quorate.read(rows)
    (finding,) = side_findings(answers)
    assert finding.kind == "position-bias"
    assert finding.workers == (0, 1, 2, 3)
    assert finding in quorate.diagnose(answers).findings
    failed = [check.name for check in quorate.check(answers, fail_on=["any"]).failed]
    assert "fail-on position-bias" in failed
    other = quorate.read({**rows, "label": ["yes" if label == "A" else "no" for label in labels]})
    assert list(side_findings(other)) == []


def test_the_command_reads_covariates_systems_and_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = panel(1000, 0.12, 1)
    rows["text"] = ["x" * int(200 + 60 * float(str(value))) for value in rows["length"]]
    file = tmp_path / "verdicts.jsonl"
    lines = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run(capsys, "diagnose", file, "--covariate", "text", "--json")
    assert code == 0
    found = [finding for finding in json.loads(out)["findings"] if finding["kind"] == "covariate-bias"]
    assert [finding["workers"] for finding in found] == [["j0"]]
    assert found[0]["evidence"]["low"] < found[0]["evidence"]["effect"] < found[0]["evidence"]["high"]
    assert "length bias" in found[0]["sentence"]


def test_a_pair_in_both_orders_shows_a_preferred_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(2)
    lines = ["task,worker,label,pair"]
    for pair in range(120):
        better = rng.integers(0, 2)
        for order in range(2):
            for judge, bias in (("j0", 0.5), ("j1", 0.0), ("j2", 0.0)):
                right = "AB"[better ^ order]
                label = "A" if rng.random() < bias else right
                lines.append(f"{pair}-{order},{judge},{label},{pair}")
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(lines) + "\n")
    code, out, _ = run(capsys, "diagnose", file, "--pair", "pair")
    assert code == 0
    assert "j0 gives the same answer in both orders for" in out
    assert "j1 gives the same answer" not in out
