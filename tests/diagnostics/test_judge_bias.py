"""Bias of judges: simulated effects are found with intervals that hold them; without an effect, nobody is named."""

import json
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.diagnostics.judge_bias import Covariate, covariate_effects, covariate_findings, side_findings
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


def simulated(
    seed: int,
    n_tasks: int,
    *,
    slope: float = 0.0,
    bias: tuple[float, ...] = (0.0,) * 5,
    accuracy: tuple[float, ...] = (0.62, 0.69, 0.76, 0.83, 0.9),
    shares_mistakes: bool = False,
) -> tuple[quorate.Answers, Covariate, np.ndarray]:
    """Five judges; the true class depends on x by ``slope`` (log-odds)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_tasks)
    truth = rng.random(n_tasks) < 1 / (1 + np.exp(-slope * x))
    p = np.where(truth[:, None], accuracy, 1 - np.array(accuracy)) + np.array(bias) * x[:, None]
    label = rng.random((n_tasks, 5)) < p
    if shares_mistakes:  # in 30% of the tasks most judges give the same answer, whatever the class
        shared = rng.random(n_tasks) < 0.3
        follows = shared[:, None] & (rng.random((n_tasks, 5)) < 0.8)
        label = np.where(follows, (rng.random(n_tasks) < 0.5)[:, None], label)
    rows = {"task": np.repeat(np.arange(n_tasks), 5), "worker": list("abcde") * n_tasks, "label": label.ravel() * 1}
    answers = quorate.read(rows)
    return answers, Covariate("x", x[answers.task_names.to_numpy()[answers.task]]), truth * 1


def test_no_judge_is_named_where_the_true_class_depends_on_the_covariate() -> None:
    """Long outputs may be better: then every judge prefers them, and accurate judges most."""
    n_named = 0
    for shares_mistakes in (False, True):
        for seed in range(15):
            answers, x, _ = simulated(seed, 1500, slope=1.0, shares_mistakes=shares_mistakes)
            n_named += bool(list(covariate_findings(quorate.aggregate(answers), x)))
    assert n_named <= 4  # 5% of 30, and three standard errors less


def test_effects_are_found_and_their_intervals_hold_them() -> None:
    n_found = n_others = n_covered = 0
    for seed in range(15):
        answers, x, _ = simulated(seed, 1000, bias=(0.0, 0.0, 0.09, 0.0, 0.0))
        result = quorate.aggregate(answers)
        named = {finding.workers[0] for finding in covariate_findings(result, x)}
        n_found += 2 in named
        n_others += bool(named - {2})
        effect = next(effect for effect in covariate_effects(result, x) if effect.worker == 2)
        n_covered += effect.low <= 0.09 <= effect.high
    assert n_found >= 13
    assert n_others <= 3
    assert n_covered >= 13


def test_a_bias_of_all_judges_is_found_with_known_labels_only() -> None:
    n_found = 0
    for seed in range(5):
        answers, x, truth = simulated(seed, 800, bias=(0.09,) * 5, accuracy=(0.8,) * 5)
        assert not list(covariate_findings(quorate.aggregate(answers), x))
        gold = {task: int(truth[task]) for task in range(200)}
        found = list(covariate_findings(quorate.aggregate(answers, gold=gold), x))
        n_found += len({finding.workers[0] for finding in found}) >= 3
        assert all("compared with the known labels" in finding.sentence for finding in found)
    assert n_found >= 4


def test_an_accuracy_that_depends_on_the_covariate_is_no_preference() -> None:
    """With known labels: judges are worse on long outputs, of which more are good."""
    rng = np.random.default_rng(0)
    n_named = 0
    for _ in range(10):
        x = rng.normal(size=600)
        truth = rng.random(600) < 1 / (1 + np.exp(-x))
        right = rng.random((600, 3)) < np.where(x > 0, 0.65, 0.9)[:, None]
        label = np.where(right, truth[:, None], ~truth[:, None]) * 1
        rows = {"task": np.repeat(np.arange(600), 3), "worker": list("abc") * 600, "label": label.ravel()}
        answers = quorate.read(rows)
        result = quorate.aggregate(answers, gold={task: int(truth[task]) for task in range(600)})
        of_answer = Covariate("x", x[answers.task_names.to_numpy()[answers.task]])
        n_named += bool(list(covariate_findings(result, of_answer)))
    assert n_named <= 2


def test_own_outputs_that_are_better_are_no_self_preference() -> None:
    rng = np.random.default_rng(1)
    judges = ["gpt-4o", "claude-opus", "gemini-pro", "mistral-large"]
    named = []
    for preference in (0.0, 0.15):
        rows: dict[str, list[object]] = {"task": [], "worker": [], "label": []}
        for task in range(1200):
            author = ["gpt-4o-mini", "claude-haiku"][task % 2]
            good = rng.random() < (0.6 if author == "gpt-4o-mini" else 0.5)
            for judge in judges:
                p = (0.85 if good else 0.15) + preference * (judge == "claude-opus" and author == "claude-haiku")
                rows["task"].append(task)
                rows["worker"].append(judge)
                rows["label"].append("good" if rng.random() < p else "bad")
        answers = quorate.read(rows)
        tasks = answers.task_names.to_numpy()[answers.task]
        in_order = [["gpt-4o-mini", "claude-haiku"][int(task) % 2] for task in tasks]
        found = quorate.diagnose(answers, systems=in_order).of_kind("self-preference")
        named.append([answers.worker_names[finding.workers[0]].as_py() for finding in found])
    assert named == [[], ["claude-opus"]]


def test_two_judges_are_not_tested_without_known_labels() -> None:
    answers, x, truth = simulated(0, 300)
    two = answers.where(answers.worker < 2)
    values = Covariate("x", x.values[answers.worker < 2])
    assert "without known labels, it needs 3 judges" in "\n".join(quorate.diagnose(two, covariates=[values]).tested)
    gold = {task: int(truth[task]) for task in range(200)}
    assert "was tested" in "\n".join(quorate.diagnose(two, gold=gold, covariates=[values]).tested)
