"""Haste: who answers much faster than the others is named, whoever is merely quick or has few answers is not."""

import numpy as np
import pytest

import quorate
from quorate.answers import Answers
from quorate.arrays import FloatArray
from quorate.diagnostics.haste import gaps_between, haste_findings, is_duration_name
from quorate.simulate import crowd
from tests.cli.running import quorate as run

ANSWERS = crowd(200, 10, 4, seed=0).answers


def durations(medians: FloatArray, seed: int = 0, answers: Answers = ANSWERS) -> FloatArray:
    """Log-normal durations with these medians; a worker's own spread is a factor of two."""
    rng = np.random.default_rng(seed)
    return medians[answers.worker] * rng.lognormal(0, 0.7, answers.n_answers)


def test_a_hasty_worker_is_named_with_its_figures() -> None:
    medians = np.full(10, 30.0)
    medians[3] = 3.0
    (finding,) = haste_findings(ANSWERS, durations(medians))
    assert finding.workers == (3,)
    assert finding.kind == "answers-very-fast"
    own = ANSWERS.worker == 3
    assert finding.evidence["median"] == pytest.approx(np.median(durations(medians)[own]))
    assert "w3 answers much faster than the others" in finding.sentence


def test_a_quick_worker_is_not_named() -> None:
    medians = np.full(10, 30.0)
    medians[3] = 15.0
    assert list(haste_findings(ANSWERS, durations(medians))) == []


def test_false_findings_are_rare() -> None:
    n_named = sum(bool(list(haste_findings(ANSWERS, durations(np.full(10, 30.0), seed)))) for seed in range(40))
    assert n_named == 0


def test_few_timed_answers_name_nobody() -> None:
    values = durations(np.where(np.arange(10) == 3, 1.0, 30.0))
    own = np.flatnonzero(ANSWERS.worker == 3)
    values[own[9:]] = np.nan
    assert list(haste_findings(ANSWERS, values)) == []


def test_breaks_do_not_hide_haste() -> None:
    medians = np.full(10, 30.0)
    medians[3] = 3.0
    values = durations(medians)
    values[np.flatnonzero(ANSWERS.worker == 3)[::10]] = 1e6
    assert [finding.workers for finding in haste_findings(ANSWERS, values)] == [(3,)]


def test_times_count_by_their_differences() -> None:
    """The seconds between two answers of a worker are the durations, whatever the order of the rows."""
    medians = np.where(np.arange(10) == 3, 2.0, 60.0)
    spent = durations(medians)
    times = np.zeros(ANSWERS.n_answers)
    for worker in range(10):
        own = ANSWERS.worker == worker
        times[own] = np.cumsum(spent[own])
    gaps = gaps_between(ANSWERS, times)
    assert np.isnan(gaps).sum() == 10
    found = quorate.diagnose(ANSWERS, times=times)
    assert [finding.workers for finding in found.of_kind("answers-very-fast")] == [(3,)]


@pytest.mark.parametrize("name", ["WorkTimeInSeconds", "lead_time", "Seconds", "duration (s)", "time_spent"])
def test_usual_names_of_durations(name: str) -> None:
    assert is_duration_name(name) is (name != "duration (s)")


def test_a_column_of_seconds_is_found_by_its_name(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    file = f"{tmp_path}/answers.csv"
    values = durations(np.where(np.arange(10) == 3, 2.0, 60.0))
    rows = zip(ANSWERS.to_table().to_pylist(), values, strict=True)
    lines = [f"{row['task']},{row['worker']},{row['label']},{value:.0f}" for row, value in rows]
    with open(file, "w") as out:
        out.write("\n".join(["task,worker,label,Seconds", *lines]) + "\n")
    code, out_text, _ = run(capsys, "diagnose", file)
    assert code == 0
    assert "w3 answers much faster" in out_text
    code, out_text, _ = run(capsys, "diagnose", file, "--duration", "Seconds")
    assert "w3 answers much faster" in out_text
    code, _, error = run(capsys, "diagnose", file, "--duration", "minutes")
    assert code == 2
    assert "'Seconds'" in error
