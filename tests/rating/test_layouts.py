"""Tables with so each is one rater: recognised as scores, and read by the command that is proposed."""

import csv
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import MissingColumnError, UnknownFormatError
from tests.cli import running


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    scores = rng.normal(60, 15, (40, 1)) + rng.normal(0, 8, (40, 3))
    path = tmp_path / "clips.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["clip", "rater_1", "rater_2", "rater_3"])
        writer.writerows([f"c{k}", *(f"{value:.1f}" for value in row)] for k, row in enumerate(scores))
    return path


def test_aggregate_proposes_rate_for_numbers_of_raters(wide: Path) -> None:
    with pytest.raises(UnknownFormatError, match="numeric scale") as refused:
        quorate.aggregate(wide)
    assert refused.value.commands == (f"quorate rate {wide} --task clip --workers 'rater_*'",)


def test_the_proposed_command_reads_every_score(wide: Path, capsys: Any) -> None:
    with pytest.raises(MissingColumnError, match="so each is one rater") as refused:
        quorate.rate(wide)
    words = shlex.split(refused.value.commands[0])
    _, out, err = running.quorate(capsys, *["rate", *words[2:]])
    rows = list(csv.DictReader(out.splitlines()))
    means = {
        row["clip"]: np.mean([float(row[f"rater_{k}"]) for k in (1, 2, 3)])
        for row in csv.DictReader(wide.read_text().splitlines())
    }
    assert {row["clip"] for row in rows} == set(means)
    assert all(row["n_answers"] == "3" for row in rows)
    assert "40 scores from 120 answers by 3 raters" in err
    assert np.corrcoef([float(row["score"]) for row in rows], [means[row["clip"]] for row in rows])[0, 1] > 0.98


def test_a_rater_with_other_values_is_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("item,judge_a,judge_b,judge_c\nx1,3,4,2\nx2,1,2,1\nx3,5,4,5\nx4,2,3,2\n")
    with pytest.raises(MissingColumnError) as refused:
        quorate.read(path)
    assert refused.value.proposal == {"task": "item", "workers": "judge_*"}
