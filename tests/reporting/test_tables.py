"""The tables of the report: one rating per worker, and headings that hold."""

import numpy as np

import quorate
from quorate.diagnostics.finding import KIND_WORDS
from quorate.reporting.page_text import arrange
from quorate.reporting.tables import worker_sheet


def test_a_worker_has_one_rating_and_it_is_that_of_its_finding() -> None:
    """A finding that rates a worker ("probably guessing") stands in place of the rating ("may be guessing")."""
    skills = np.array([0.8, 0.8, 0.8, 0.8, 0.0, -0.7])
    result = quorate.aggregate(quorate.simulate.crowd(600, 6, 5, skills=skills, seed=0).answers)
    found = arrange(quorate.diagnose(result).findings, result.answers)
    sheet = worker_sheet(result, found.flags)
    rows = {row[0].text: row for row in sheet.rows}
    for finding in quorate.unreliable_workers(result):
        word = KIND_WORDS[finding.kind].badge
        for code in finding.workers:
            row = rows[str(result.answers.worker_names[code].as_py())]
            assert [badge.text for badge in row[1].badges] == [word]
            assert word not in [badge.text for badge in row[0].marks]
    assert [badge.text for badge in rows["w0"][1].badges] == ["reliable"]
    assert "right (95% interval)" in [column.title for column in sheet.columns]


def test_judges_without_an_interval_have_no_column_that_promises_one() -> None:
    crowd = quorate.simulate.crowd(200, 4, 4, seed=0)
    rows = {"task": crowd.answers.task.tolist(), "label": crowd.answers.label.tolist()}
    names = ["gpt-4o", "claude-3-opus", "llama-3.1-8b-instruct", "mistral-7b-instruct"]
    result = quorate.aggregate({**rows, "worker": [names[code] for code in crowd.answers.worker]})
    assert [column.title for column in worker_sheet(result, {}).columns if "agreement" in column.title] == ["agreement"]
