"""The report shows what the result says, escapes what it shows, and needs nothing beside it."""

import html
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.cli.app import app
from quorate.diagnostics.finding import KIND_WORDS, Finding
from quorate.errors import OptionError, QuorateError, UnwritableFileError, visible
from quorate.reporting.page_text import arrange, headline, tiles
from quorate.reporting.report import Report, report
from quorate.reporting.tables import MAX_ROWS, Badge, task_sheet, worker_sheet
from tests.reporting.crowd import HOSTILE, SCRIPT, hostile_crowd


@pytest.fixture(scope="module")
def made() -> Report:
    return report(hostile_crowd(), title=HOSTILE[0])


@pytest.fixture(scope="module")
def page(made: Report) -> str:
    return made.html()


def test_hostile_names_appear_only_as_text(page: str) -> None:
    for name in HOSTILE:
        assert name not in page
        assert name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split('"')[0] in page
    assert page.count("<script>") == page.count("</script>") == 1  # ours


def test_the_page_asks_nothing_of_the_network(page: str) -> None:
    asked = re.findall(r"""<[^<>]*\b(?:src|href|action|data)\s*=\s*["']?(?!#)[^\s"'>]+""", page)
    assert asked == []
    assert "url(" not in page
    assert "default-src 'none'" in page
    assert "@import" not in page


def test_the_same_answers_make_the_same_bytes(page: str) -> None:
    assert report(hostile_crowd(), title=HOSTILE[0]).html() == page


def test_the_headline_counts_what_there_is(made: Report) -> None:
    answers = made.result.answers
    figures = [tile.figure for tile in tiles(made.result, 0.9)]
    assert figures[:3] == [f"{n:,}" for n in (answers.n_tasks, answers.n_workers, answers.n_answers)]
    assert figures[4] == f"{sum(p < 0.9 for p in made.result.labels['confidence'].to_pylist()):,}"
    unjudged = [
        row
        for row in made.result.workers.to_pylist()
        if row["skill"] is None
        or (row["skill_low"] <= 0 <= row["skill_high"] and row["skill_high"] - row["skill_low"] > 1)
    ]
    assert figures[5] == f"{len(unjudged):,}"


def test_who_gave_which_label(made: Report) -> None:
    rows = made.result.answers.to_table().to_pylist()
    assert len(task_sheet(made.result).rows) == made.result.answers.n_tasks
    for task, label, _, n_answers, labels_given in task_sheet(made.result).rows:
        given = {(row["label"], row["worker"]) for row in rows if str(row["task"]) == task.text}
        assert {(each, who) for each, names in labels_given.lines for who in names.split(", ")} == given
        assert n_answers.value == len(given)
        assert label.text in made.result.answers.classes.to_pylist()


def test_tasks_come_by_doubt_and_workers_by_need(made: Report) -> None:
    confidence = [row[2].value or 0.0 for row in task_sheet(made.result).rows]
    assert confidence == sorted(confidence)
    assert len(set(confidence)) > 1
    sheet = worker_sheet(made.result, {})
    assert {row[0].text for row in sheet.rows} == set(made.result.answers.worker_names.to_pylist())
    judged = [row for row in sheet.rows if row[1].badges[0].text != "too few answers"]
    assert sheet.rows[: len(judged)] == tuple(judged)
    cost = [row[2].value or 0.0 for row in judged]
    assert cost == sorted(cost, reverse=True)
    assert cost[0] > 0


def test_a_large_crowd_makes_a_page_of_reasonable_size_whose_long_tables_are_cut(tmp_path: Path) -> None:
    crowd = quorate.simulate.crowd(MAX_ROWS + 50, 2 * MAX_ROWS, 4, seed=0)
    made = report(crowd.answers, methods=[])
    written = made.write(tmp_path / "report.html", folder=tmp_path / "my tables")
    text = written[0].read_text()
    assert len(text) < 3_000_000  # every table and chart is cut, so this hardly grows with the crowd
    assert text.count("<tr>") < 2 * MAX_ROWS + 250
    assert f"The first {MAX_ROWS} of {2 * MAX_ROWS:,} rows" in text
    assert f"The first {MAX_ROWS} of {MAX_ROWS + 50} rows" in text
    assert 'href="my%20tables/workers.csv"' in text
    assert len(written[1].read_text().splitlines()) == 2 * MAX_ROWS + 1
    assert len(written[2].read_text().splitlines()) == MAX_ROWS + 51
    assert "--tables FOLDER" not in text


def test_what_was_left_out_is_reported() -> None:
    table = {"task": [1, 1, 1, 1, 2], "worker": ["a", "a", "b", "c", None], "label": ["x", "x", "x", "y", "x"]}
    answers = quorate.read(table, skip_missing=True)
    page = report(answers, methods=[], left_out=["3 drafts were left out"]).html()
    for line in ("3 drafts were left out", "1 row repeats an answer exactly", "1 row skipped for a missing field"):
        assert f"<li>{line}" in page
    assert "Rows that were not used" in page


def test_methods_are_compared_and_scored_where_the_truth_is_known() -> None:
    crowd = quorate.simulate.crowd(300, 8, 3, seed=2)
    made = report(crowd.answers, method="majority", methods=["rank-one"], truth=crowd.truth_table)
    assert made.comparison is not None
    assert [entry.method for entry in made.comparison.entries] == ["majority", "rank-one"]
    page = made.html()
    assert "Wrong labels were counted over 300 tasks" in page
    changed = int(np.sum(made.comparison.labels[1] != made.result.vote.label))
    assert f'data-value="{changed}">{changed}</td>' in page
    assert "this is not a probability" in page  # a share of votes claims nothing


@pytest.mark.parametrize(
    "table",
    [
        {"task": [1], "worker": ["a"], "label": ["x"]},
        {"task": [1, 2, 3], "worker": ["a", "a", "b"], "label": ["x", "x", "x"]},
        {"task": [1, 1, 2, 2], "worker": list("abab"), "label": list("xyxy")},
        {"task": [1, 1, 1], "worker": list("abc"), "label": [1, 2, 3]},
    ],
    ids=["one answer", "one class", "two workers", "all different"],
)
def test_the_smallest_crowds_have_a_page(table: dict[str, Any]) -> None:
    assert "</html>" in report(table).html()


def test_a_missing_extra_is_named_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(QuorateError, match=r"pip install 'quorate\[report\]'"):
        report("no such file")


def test_a_page_needs_neither_altair_nor_vl_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing them takes longer than drawing."""
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert report({"task": [1], "worker": ["a"], "label": ["x"]}, methods=[]).html().count("<svg") == 4


def test_bad_options_are_refused(tmp_path: Path) -> None:
    table = {"task": [1], "worker": ["a"], "label": ["x"]}
    with pytest.raises(OptionError, match="got 90"):
        report(table, confident=90)
    with pytest.raises(UnwritableFileError, match="No such file"):
        report(table, methods=[]).write(tmp_path / "no" / "such" / "report.html")


def test_formulas_in_the_tables_are_neutralised_on_request(tmp_path: Path) -> None:
    table = {"task": [1, 1, 1], "worker": ["=1+2", "b", "c"], "label": list("xxy")}
    made = report(table, methods=[])
    plain = made.write(tmp_path / "r.html", folder=tmp_path)[1].read_text()
    safe = made.write(tmp_path / "r.html", folder=tmp_path, excel_safe=True)[1].read_text()
    assert "\n=1+2" in plain
    assert "\n=1+2" not in safe


def test_the_command_writes_what_it_says(tmp_path: Path, capsys: Any) -> None:
    answers = tmp_path / "answers.csv"
    answers.write_text("task,worker,label\n" + "".join(f"{t},{w},{'xy'[t % 2]}\n" for t in range(9) for w in "abc"))
    truth = tmp_path / "truth.csv"
    truth.write_text("task,label\n" + "".join(f"{t},{'xy'[t % 2]}\n" for t in range(9)))
    page, folder = tmp_path / "report.html", tmp_path / "tables"
    options = ["-o", page, "--tables", folder, "--compare", "majority", "--truth", truth, "--sure", "0.8"]
    app(["report", str(answers), *map(str, options), "--title", "Mine"], standalone_mode=False)
    files = f"{page}, {folder / 'workers.csv'} and {folder / 'labels.csv'}"
    assert capsys.readouterr().out == f"Written to {files}.\n"
    assert "<h1>Mine</h1>" in page.read_text()


def test_findings_are_shown_by_kind_and_beside_the_workers_they_name(made: Report) -> None:
    answers = made.result.answers
    names = answers.worker_names.to_pylist()
    spammers = [Finding("spammer", f"worker {names[k]!r} guesses", 0.01, "p-value", workers=(k,)) for k in range(1, 6)]
    assert names.index(SCRIPT) not in range(1, 6)
    pair = Finding("agreeing-pair", f"{SCRIPT} and another agree", 0.001, "p-value", workers=(1, names.index(SCRIPT)))
    found = arrange([*spammers, pair], answers)
    assert [(group.kind, len(group.sentences), group.more) for group in found.groups] == [
        ("spammer", 3, 2),
        ("agreeing-pair", 1, 0),
    ]
    assert found.copying == ((1, names.index(SCRIPT)),)
    assert [badge.tone for badge in found.flags[1]] == ["bad", "copy"]
    rows = {row[0].text: row for row in worker_sheet(made.result, found.flags).rows}
    assert [mark.text for mark in rows[SCRIPT][0].marks] == [f"agrees with {names[1]}"]


def test_the_headline_states_what_can_be_used(made: Report) -> None:
    confidence = made.result.vote.confidence
    text = headline(made.result, 0.9)
    assert text.startswith(f"You can use {int((confidence >= 0.9).sum()):,} of {len(confidence):,} labels now")
    page = made.html()
    assert html.escape(text) in page
    order = ["At a glance", "What to do next", "Labels", "Workers", "Problems found", "Agreement between workers"]
    places = [page.index(f"{heading}</h2>") for heading in [*order, "Details", "Glossary"]]
    assert places == sorted(places)


def test_every_command_of_the_page_has_a_copy_button(made: Report) -> None:
    page = made.html()
    commands = [command for step in made.next.all() for command in step.commands]
    assert commands
    assert page.count('data-copy="command-') == len(commands)
    assert 'data-copy="for-manager"' in page


def test_every_kind_of_finding_has_a_word_and_a_colour() -> None:
    assert {words.tone for words in KIND_WORDS.values()} <= {"good", "doubt", "bad", "copy", "unknown"}
    assert all(words.phrase and words.heading for words in KIND_WORDS.values())


def test_the_figures_stand_behind_a_fold_and_not_in_the_sentence(made: Report) -> None:
    groups = made.arranged_findings.groups
    assert any(group.figures for group in groups)
    page = made.html()
    folds = [html.unescape(fold) for fold in re.findall(r'<details class="figures">.*?</details>', page, re.DOTALL)]
    for group in groups:
        for line in group.figures:
            assert any(f"<p>{line}.</p>" in fold for fold in folds)
            assert line not in " ".join(group.sentences)


def test_a_worker_with_one_answer_never_heads_those_that_need_a_look() -> None:
    table = quorate.simulate.crowd(100, 8, 4, skills=np.linspace(0.2, 0.9, 8), seed=1).answer_table.to_pydict()
    columns = {name: list(values) for name, values in table.items()}
    for k in range(6):
        columns["task"].append(f"t{k}")
        columns["worker"].append(f"once{k}")
        columns["label"].append(f"c{k % 2}")
    made = report(columns, methods=[])
    for flags in (made.arranged_findings.flags, {8: [Badge("looks odd", "bad")]}):
        rows = worker_sheet(made.result, flags).rows
        assert not any(row[0].text.startswith("once") for row in rows[:8])


def test_one_notion_of_who_cannot_be_judged() -> None:
    crowd = quorate.simulate.crowd(60, 20, 2, seed=0)
    made = report(crowd.answers, methods=[])
    too_few, rough = (
        {worker for finding in made.diagnosis.of_kind(kind) for worker in finding.workers}
        for kind in ("cannot-be-judged", "weakly-identified")
    )
    rows = worker_sheet(made.result, {}).rows
    names = crowd.answers.worker_names.to_pylist()
    unrated = {names.index(row[0].text) for row in rows if row[1].badges[0].text == "too few answers"}
    assert unrated
    assert too_few <= unrated <= too_few | rough  # every worker has one of the two findings, and none has both
    assert not too_few & rough
    tile = next(tile for tile in tiles(made.result, 0.9) if "not rated" in tile.what)
    assert tile.figure == f"{len(unrated):,}"


@pytest.mark.parametrize(
    "names", [["constructor", "toString", "valueOf"], ["__proto__", "[red]x", "\x1b]0;x\x07\u202ey"]]
)
def test_names_that_mean_something_to_javascript_or_a_terminal_are_names(names: list[str]) -> None:
    rows = [(f"{names[t % 3]}{t}", name, names[t * k % 3]) for t in range(20) for k, name in enumerate(names)]
    answers = dict(zip(("task", "worker", "label"), map(list, zip(*rows, strict=True)), strict=True))
    page = report(answers, methods=("majority",)).html()
    shown = quorate.aggregate(answers)._repr_html_()
    for text in (page, shown):
        assert "\x1b" not in text
        for name in names:  # in a cell of its own: the page's script says "constructor" too
            assert re.search(rf"<t[dh][^>]*>(<[^>]*>)*{re.escape(visible(name))}<", text), name
