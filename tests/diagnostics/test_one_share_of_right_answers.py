"""One figure for how often a worker is right: in the table, the sentences, the findings and the rating."""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest

import quorate
from quorate.diagnostics.ratings import RATINGS, WEAK, ratings
from quorate.diagnostics.right_shares import typical_share

DATASETS = Path(os.environ.get("QUORATE_DATASETS", Path(__file__).parents[2].parent / "shared" / "datasets"))
REVIEWS = Path(__file__).parents[2] / "examples" / "reviews.csv"
needs_datasets = pytest.mark.skipif(not DATASETS.is_dir(), reason="the datasets are not beside this checkout")


def truth_of(folder: Path) -> dict[str, str]:
    with (folder / "truth.csv").open(newline="") as file:
        return {row["task"]: row["label"] for row in csv.DictReader(file)}


@needs_datasets
@pytest.mark.parametrize("name", ["asukul_covid_grades", "guban_jb500", "llmbar_natural", "composo_models"])
def test_with_all_labels_known_the_table_has_the_counts(name: str) -> None:
    folder = DATASETS / "panels" / name
    truth = truth_of(folder)
    answers = quorate.read(folder / "labels.csv")
    known = {task: label for task, label in truth.items() if label in {str(c) for c in answers.classes.to_pylist()}}
    result = quorate.aggregate(answers, gold=known, judges=True)
    right: dict[str, list[bool]] = {}
    for row in answers.to_table().to_pylist():
        if str(row["task"]) in known:
            right.setdefault(row["worker"], []).append(str(row["label"]) == known[str(row["task"])])
    for row in result.workers.to_pylist():
        counted = right[row["worker"]]
        assert (row["n_known"], row["n_right"]) == (len(counted), sum(counted))
        if row["right"] is not None and row["n_known"] == row["n_answers"]:
            assert row["right"] == pytest.approx(np.mean(counted), abs=0.02)


@needs_datasets
@pytest.mark.parametrize("name", ["dogs", "bluebird", "web"])
def test_no_worker_is_called_good_who_is_surely_less_often_right_than_a_typical_one(name: str) -> None:
    result = quorate.aggregate(DATASETS / name / "labels.csv")
    typical = typical_share(result)
    named = {worker for finding in quorate.diagnose(result).findings if finding.action for worker in finding.workers}
    m = result.info.n_classes
    for code, (row, rating) in enumerate(zip(result.workers.to_pylist(), ratings(result), strict=True)):
        if row["right_high"] is not None and RATINGS[rating] in ("good", "reliable"):
            # Intervals are of one worker, the test is adjusted over all: a margin of one half-width.
            margin = (row["right_high"] - row["right_low"]) / 2
            assert row["right_high"] + margin > typical or row["right"] > (0.4 * (m - 1) + 1) / m, row
        if rating == WEAK and code in named:
            assert row["right"] < typical
    summary = result.summary()
    stated = re.search(r"Workers are right about (\d+)%", summary)
    assert stated is not None
    assert int(stated.group(1)) == round(100 * typical)


def test_a_weak_worker_is_a_finding_in_every_output() -> None:
    result = quorate.aggregate(REVIEWS)
    (finding,) = (each for each in quorate.diagnose(result).findings if each.kind == "below-typical")
    assert [result.info.worker_names[code].as_py() for code in finding.workers] == ["elif"]
    assert finding.line in result.summary()
    row = next(each for each in result.workers.to_pylist() if each["worker"] == "elif")
    assert f"about {row['right']:.0%} of the time" in finding.sentence
    found = quorate.check(REVIEWS, fail_on=["any"])
    assert "fail-on below-typical" in [limit.name for limit in found.failed]
    assert "Train 1 worker" in [step.title for step in quorate.next_steps(REVIEWS).all()]
