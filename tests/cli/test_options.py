"""Options: help in panels, old names, labels to use and to review, names of columns, JSON with a version."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.main import get_command

from quorate.cli.app import app
from quorate.cli.command import MORE, PANELS
from quorate.cli.renamed import RENAMED
from quorate.methods.registry import METHODS, describe_options
from tests.cli.command_lines import ANSWERS, LABELS, ROWS, WORKERS, table
from tests.cli.running import quorate

COMMANDS = get_command(app).commands  # type: ignore[attr-defined]
GROUPED = [(group, name) for group, each in COMMANDS.items() for name in getattr(each, "commands", ())]
READING = ["aggregate", "diagnose", "agreement", "estimate", "check", "advise", "report", "compare"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS)
    Path("truth.csv").write_text(LABELS)
    rows = [(f"{task} a", f"{worker}", label, f'the text of {task}, "quoted"') for task, worker, label in ROWS]
    quoted = [(*row[:3], '"' + row[3].replace('"', '""') + '"') for row in rows]
    Path("team.csv").write_text(table("Item ID,Annotator,Sentiment,Text", quoted))
    return tmp_path


MOST_SHOWN = {"aggregate": 25, "diagnose": 12, "advise": 17, "check": 19, "estimate": 18, "report": 15}


def options_listed(text: str) -> set[str]:
    """Return the options that have a line of their own in a help screen."""
    return set(re.findall(r"^│ +\*? *(--[a-z][a-z-]+)(?=[ ,].*  )", text, re.MULTILINE))


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"Examples:.*?╭", "", text, flags=re.DOTALL)))


@pytest.mark.parametrize("command", READING)
def test_help_shows_about_25_options_and_help_all_the_rest(
    command: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    code, brief, _ = quorate(capsys, command, "--help")
    assert code == 0
    assert "Examples:" in brief
    assert f"quorate {command} --help-all" in brief
    code, everything, _ = quorate(capsys, command, "--help-all")
    assert code == 0
    options = [each for each in COMMANDS[command].params if each.param_type_name == "option" and not each.hidden]
    assert {each.opts[-1] for each in options} <= flags_in(everything)
    rare = {
        each.opts[-1]
        for each in options
        if each.rich_help_panel in MORE - COMMANDS[command].shown_panels or each.name in COMMANDS[command].rare_options
    }
    listed = options_listed(brief)
    assert len(listed - {"--help", "--help-all"}) <= MOST_SHOWN.get(command, 19)
    assert rare
    assert not listed & rare
    panels = [line.strip("╭─╮ ") for line in brief.splitlines() if "╭" in line]
    assert [panel for panel in panels if panel in PANELS] == [panel for panel in PANELS if panel in panels]


def test_the_help_of_aggregate_shows_how_labels_are_split(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert {"--min-confidence", "--review-out"} <= options_listed(quorate(capsys, "aggregate", "--help")[1])


SHOWN = [name for name, command in COMMANDS.items() if not command.hidden]


@pytest.mark.parametrize("command", sorted({*SHOWN, *(f"{group} {name}" for group, name in GROUPED)}))
def test_every_command_and_group_accepts_help_all(command: str, capsys: Any) -> None:
    code, out, _ = quorate(capsys, *command.split(), "--help-all")
    assert code == 0
    assert f"quorate {command}" in out


@pytest.mark.parametrize("group", ["datasets", "ledger", "labelstudio"])
def test_a_group_without_a_command_prints_its_help(group: str, capsys: Any) -> None:
    code, out, err = quorate(capsys, group)
    assert code == 0
    assert not err
    assert all(name in out for name in COMMANDS[group].commands)


@pytest.mark.parametrize("method", list(METHODS))
def test_a_method_is_described_with_each_of_its_options(method: str, capsys: Any) -> None:
    code, out, _ = quorate(capsys, "methods", method)
    assert code == 0
    assert METHODS[method].use_if in out
    assert METHODS[method].paper in out
    for option in describe_options(method):
        assert option.meaning, option.name
        assert re.search(rf"^{option.name} +{re.escape(option.default)} +{re.escape(option.meaning)}$", out, re.M)


def test_every_help_has_an_example(capsys: Any) -> None:
    for name, command in COMMANDS.items():
        inner = getattr(command, "commands", {"": command})
        for part, each in inner.items():
            if not each.hidden and part != "list":
                assert "Examples:" in (each.help or "") or name == "datasets", (name, part)


def test_the_main_help_has_panels(capsys: Any) -> None:
    _, out, _ = quorate(capsys, "--help")
    assert [re.sub("[╭─╮ ]+", " ", line).strip() for line in out.splitlines() if "╭" in line] == [
        "Options", "Start here", "Understand your data", "Measure", "Move data", "Research",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (["aggregate", "answers.csv", "--posterior-out", "p.csv"], "--posterior-out is now --soft-labels-out"),
        (["aggregate", "answers.csv", "--skills", "w.csv"], "--skills is now --known-workers"),
        (
            ["aggregate", "answers.csv", "--method", "rank-one", "--tau=3", "--solver", "gradient"],
            "--tau 3 is now --method rank-one:tau=3",
        ),
        (["aggregate", "answers.csv", "--cautious"], "--cautious is now --method quorate:cautious"),
        (["aggregate", "answers.csv", "--level", "0.9", "--intervals", "fast"], "is now --intervals fast,0.9"),
        (["aggregate", "answers.csv", "--input-format", "csv"], "--input-format csv is now --from csv"),
        (["aggregate", "answers.csv", "--format", "jsonl"], "--format is now --output-format"),
        (
            ["aggregate", "answers.csv", "--predictions", "truth.csv", "--predictions-name", "m"],
            "is now --predictions m=truth.csv",
        ),
        (["check", "answers.csv", "--min-alpha", "-1"], "--min-alpha is now --min-agreement alpha=-1"),
        (["check", "answers.csv", "--max-unsure", "1", "--sure", "0.8"], "--sure is now --confident"),
        (["advise", "answers.csv", "--budget", "5", "--workers", "who.csv"], "--workers who.csv is now --available"),
        (["advise", "answers.csv", "--gold", "5"], "--gold 5 is now --expert 5"),
        (["agreement", "answers.csv", "--scale", "ordinal", "--ranked", "c0,c1"], "--ranked is now --classes"),
        (["diagnose", "answers.csv", "--memory", "1GB"], "--memory 1GB is now --engine duckdb:memory=1GB"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_old_options_work_with_a_warning(arguments: list[str], warning: str, folder: Path, capsys: Any) -> None:
    Path("who.csv").write_text(table("worker", [(worker,) for worker in WORKERS]))
    quorate(capsys, "aggregate", "answers.csv", "--workers-out", "w.csv", "-o", "l.csv")
    code, _, err = quorate(capsys, *arguments)
    assert code == 0, err
    assert warning in err


def test_an_old_option_does_what_the_new_one_does(folder: Path, capsys: Any) -> None:
    _, old, _ = quorate(capsys, "aggregate", "answers.csv", "--method", "rank-one", "--tau", "3", "--json")
    _, new, _ = quorate(capsys, "aggregate", "answers.csv", "--method", "rank-one:tau=3", "--json")
    _, usual, _ = quorate(capsys, "aggregate", "answers.csv", "--method", "rank-one", "--json")
    assert old == new != usual
    quorate(capsys, "aggregate", "answers.csv", "--posterior-out", "long.csv")
    assert Path("long.csv").read_text().splitlines()[0] == "task,label,probability"


def test_renamed_options_are_those_of_commands_that_exist_and_not_of_today() -> None:
    for name, renamed in RENAMED.items():
        first, _, second = name.partition(" ")
        command = COMMANDS[first] if not second else COMMANDS[first].commands[second]
        flags = {flag for each in command.params for flag in each.opts}
        assert not flags & set(renamed), name
        for old, change in renamed.items():
            new = [word for word in change.words if word.startswith("--")] or [change.into] * bool(change.into)
            assert set(new) <= flags, (name, old)


WITH_JSON = {
    "advise": ["answers.csv"],
    "aggregate": ["answers.csv"],
    "agreement": ["answers.csv"],
    "check": ["answers.csv", "--min-answers", "1"],
    "compare": ["answers.csv", "--methods", "majority"],
    "convert": ["answers.csv", "-o", "out.csv"],
    "datasets list": [],
    "diagnose": ["answers.csv"],
    "doctor": ["answers.csv"],
    "estimate": ["answers.csv"],
    "ledger aggregate": ["answers.ledger"],
    "ledger show": ["answers.ledger"],
    "methods": [],
    "rank": ["pairs.csv"],
    "rate": ["scores.csv"],
    "score": ["truth.csv", "truth.csv"],
}
OTHER_FORMS = {
    "advise": [["answers.csv", "--budget", "5"], ["answers.csv", "--expert", "5"]],
    "compare": [["scores.csv", "--scores"]],
    "doctor": [["--formats"]],
    "score": [["known.csv", "known.csv"]],
}


def commands_with_json() -> set[str]:
    listed = {name: command for name, command in COMMANDS.items() if not command.hidden}
    listed |= {f"{name} {inner}": deep for name, group in listed.items() for inner, deep in _inner(group).items()}
    return {name for name, command in listed.items() if any("--json" in option.opts for option in command.params)}


def _inner(group: Any) -> dict[str, Any]:
    return getattr(group, "commands", {})


def test_every_command_with_json_is_in_the_table() -> None:
    assert commands_with_json() == WITH_JSON.keys()


@pytest.mark.parametrize(
    ("command", "options"),
    [*WITH_JSON.items(), *((name, form) for name, forms in OTHER_FORMS.items() for form in forms)],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_json_begins_with_the_version_of_its_layout(
    command: str, options: list[str], folder: Path, capsys: Any
) -> None:
    Path("pairs.csv").write_text("left,right,winner\n" + "a,b,a\nb,c,b\na,c,a\nb,a,b\nc,b,c\n" * 4)
    scores = [
        f"{task},{worker},{(task + 2 * number) % 5}\n" for task in range(12) for number, worker in enumerate("abc")
    ]
    Path("scores.csv").write_text("task,worker,score\n" + "".join(scores))
    Path("known.csv").write_text("task,score\n" + "".join(f"{task},{task % 5}.5\n" for task in range(12)))
    if command.startswith("ledger"):
        quorate(capsys, "ledger", "add", "answers.ledger", "answers.csv")
    code, out, err = quorate(capsys, *command.split(), *options, "--json")
    assert code == 0, err
    assert next(iter(json.loads(out).items())) == ("schema_version", 1)


def test_labels_are_split_into_those_to_use_and_those_to_review(folder: Path, capsys: Any) -> None:
    arguments = ["aggregate", "answers.csv", "--min-confidence", "0.8"]
    code, out, _ = quorate(capsys, *arguments, "-o", "labels.csv", "--review-out", "review.csv")
    assert code == 0
    usable = Path("labels.csv").read_text().splitlines()[1:]
    review = Path("review.csv").read_text().splitlines()[1:]
    assert usable
    assert review
    assert len(usable) + len(review) == 40
    assert (
        f"You can use {len(usable)} of 40 labels now (at least 80% confidence); review the other {len(review)}" in out
    )
    assert all(float(row.split(",")[2]) >= 0.8 for row in usable)
    assert all(float(row.split(",")[2]) < 0.8 for row in review)
    quorate(capsys, *arguments, "-o", "all.csv")
    marks = [row.rpartition(",")[2] for row in Path("all.csv").read_text().splitlines()]
    assert (marks[0], marks.count("yes"), marks.count("review")) == ("use", len(usable), len(review))
    code, _, err = quorate(capsys, "aggregate", "answers.csv", "--min-confidence", "90")
    assert (code, "between 0 and 1" in err) == (2, True)


COLUMNS = ["--task", "Item ID", "--worker", "Annotator", "--label", "Sentiment"]


def test_outputs_keep_the_names_of_the_users_columns(folder: Path, capsys: Any) -> None:
    out = ["-o", "labels.csv", "--workers-out", "workers.parquet"]
    assert quorate(capsys, "aggregate", "team.csv", *COLUMNS, *out)[0] == 0
    assert Path("labels.csv").read_text().startswith("Item ID,label,")
    assert pq.read_table("workers.parquet").column_names[0] == "Annotator"
    assert quorate(capsys, "aggregate", "team.csv", *COLUMNS, "-o", "plain.csv", "--plain-columns")[0] == 0
    assert Path("plain.csv").read_text().startswith("task,label,")


def test_the_workers_of_an_earlier_run_are_read_under_the_users_names(folder: Path, capsys: Any) -> None:
    assert quorate(capsys, "aggregate", "team.csv", *COLUMNS, "--workers-out", "workers.csv", "-o", "l.csv")[0] == 0
    code, _, err = quorate(capsys, "aggregate", "team.csv", *COLUMNS, "--known-workers", "workers.csv", "-o", "m.csv")
    assert code == 0, err


def test_files_have_six_significant_digits(folder: Path, capsys: Any) -> None:
    quorate(capsys, "aggregate", "answers.csv", "-o", "labels.csv", "--workers-out", "workers.csv")
    numbers = re.findall(r"(?<=,)-?0\.(\d+)(?=,|\n)", Path("labels.csv").read_text() + Path("workers.csv").read_text())
    assert numbers
    assert max(len(digits.lstrip("0")) for digits in numbers) == 6


def test_a_column_of_the_answers_is_shown_beside_each_task(folder: Path, capsys: Any) -> None:
    code, _, err = quorate(capsys, "aggregate", "team.csv", *COLUMNS, "--show", "Text", "-o", "labels.jsonl")
    assert code == 0, err
    rows = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    assert all(row["Text"] == f'the text of {row["Item ID"].removesuffix(" a")}, "quoted"' for row in rows)
    code, _, err = quorate(capsys, "aggregate", "team.csv", *COLUMNS, "--show", "Words", "-o", "labels.jsonl")
    assert (code, "'Words'" in err) == (2, True)


def test_quiet_prints_nothing_and_verbose_more(folder: Path, capsys: Any) -> None:
    assert quorate(capsys, "aggregate", "answers.csv", "-o", "labels.csv", "--quiet") == (0, "", "")
    _, brief, _ = quorate(capsys, "diagnose", "answers.csv")
    _, everything, _ = quorate(capsys, "diagnose", "answers.csv", "--verbose")
    assert "lambda_min" not in brief
    assert "lambda_min" in everything


def test_compare_names_no_winner_without_truth_and_tests_differences_with_it(folder: Path, capsys: Any) -> None:
    code, out, _ = quorate(capsys, "compare", "answers.csv", "--methods", "quorate,majority,wawa", "-o", "all.csv")
    assert code == 0
    assert "Without known labels, none can be called best." in out
    assert Path("all.csv").read_text().startswith("task,quorate,majority,wawa\n")
    code, out, _ = quorate(
        capsys, "compare", "answers.csv", "--methods", "quorate,majority,wawa", "--truth", "truth.csv"
    )
    assert code == 0
    assert "error interval" in out
    assert "Holm-corrected over 2 methods" in out


def test_methods_shows_the_options_of_one(capsys: Any) -> None:
    code, out, _ = quorate(capsys, "methods", "rank-one")
    assert code == 0
    assert "tau" in out
    assert quorate(capsys, "methods", "rank-two")[0] == 2


def test_spellings_that_differ_by_case_are_pointed_out(folder: Path, capsys: Any) -> None:
    rows = [(task, worker, label.upper() if number % 2 else label) for number, (task, worker, label) in enumerate(ROWS)]
    Path("spelled.csv").write_text(table("task,worker,label", rows))
    _, out, err = quorate(capsys, "diagnose", "spelled.csv")
    assert '"C0" and "c0" count as different labels (1 more such group). Use --merge-spellings' in err
    _, out, err = quorate(capsys, "diagnose", "spelled.csv", "--merge-spellings")
    assert "Use --merge-spellings" not in out + err


def test_labels_alone_need_no_intervals_of_workers(folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> None:
        raise AssertionError("only the table of workers needs this")

    monkeypatch.setattr("quorate.result.Result.intervals", property(refuse))
    monkeypatch.setattr("quorate.result.Result.workers", property(refuse))
    assert quorate(capsys, "aggregate", "answers.csv", "-o", "labels.csv", "--quiet")[0] == 0


def test_a_switch_of_a_method_needs_no_value(folder: Path, capsys: Any) -> None:
    _, cautious, _ = quorate(capsys, "aggregate", "answers.csv", "--method", "quorate:cautious", "--json")
    _, same, _ = quorate(capsys, "aggregate", "answers.csv", "--method", "quorate:cautious=true", "--json")
    assert cautious == same
